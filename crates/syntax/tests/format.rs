//! The formatter: same lexemes, same comments, same tree, and a second run changes nothing.

mod generate;

use generate::Generator;
use headrace_source::FileId;
use headrace_syntax::{ast::File, erase_spans, format::format, parse};

fn tree(text: &str) -> File {
    let (file, diagnostics) = parse(FileId(0), text);
    assert!(diagnostics.is_empty(), "{diagnostics:#?}\n{text}");
    let mut file = file.unwrap_or_else(|| panic!("no tree\n{text}"));
    erase_spans(&mut file);
    file
}

fn formatted(text: &str) -> String {
    format(FileId(0), text).unwrap_or_else(|problems| {
        let at = problems[0].primary.as_ref().map_or(0, |label| label.span.start as usize);
        let from = (0..=at.saturating_sub(100)).rev().find(|from| text.is_char_boundary(*from));
        panic!("{}: {}", problems[0].message, &text[from.unwrap_or(0)..])
    })
}

/// Formatting again changes nothing; a failure shows the first difference.
fn assert_settled(once: &str, seed: u64) {
    let twice = formatted(once);
    let pairs = once.lines().zip(twice.lines());
    if let Some(at) = pairs.clone().position(|(first, second)| first != second) {
        let around: Vec<_> = pairs.skip(at.saturating_sub(6)).take(12).collect();
        panic!("seed {seed}, line {at}, once and twice: {around:#?}");
    }
    assert_eq!(once, twice, "seed {seed}");
}

#[test]
fn random_texts_keep_their_meaning_and_settle_at_once() {
    for seed in 1..400 {
        let mut generator = Generator::new(seed);
        generator.file();
        let text = generator.littered(seed % 3 != 0);
        let once = formatted(&text);
        assert_eq!(tree(&text), tree(&once), "seed {seed}");
        assert_settled(&once, seed);
        let comments = |text: &str| text.matches("note").count() + text.matches("inside").count();
        assert_eq!(comments(&text), comments(&once), "seed {seed}");
    }
}

#[test]
fn lines_end_without_blanks() {
    for seed in 1..300 {
        let mut generator = Generator::new(seed);
        generator.file();
        let text = formatted(&generator.littered(true));
        assert!(text.lines().all(|line| line == line.trim_end()), "seed {seed}\n{text}");
        assert!(!text.contains("\n\n\n"), "seed {seed}\n{text}");
        assert!(text.ends_with("end\n") || text.contains("end"), "{text}");
    }
}

#[test]
fn layout_of_an_actor() {
    let text = "actor A(int n=3)int(size=8)In==>int Out:int x:=0;// state\n\n\n\
                a:action In:[v]==>Out:[v+x]guard v>0,x<n do x:=x+1;if x=n then x:=0;else p(x);end end\
                /* last */ b:action In:[v]==>end\nschedule fsm s:s(a)-->s;end end";
    let expected = "\
actor A(int n = 3) int(size=8) In ==> int Out :
    int x := 0; // state

    a: action In:[v] ==> Out:[v + x]
    guard
        v > 0,
        x < n
    do
        x := x + 1;
        if x = n then
            x := 0;
        else
            p(x);
        end
    end

    /* last */ b: action In:[v] ==> end

    schedule fsm s :
        s (a) --> s;
    end
end
";
    assert_eq!(formatted(text), expected);
}

#[test]
fn layout_of_a_network() {
    let text = "network N(int n=2)int In==>int Out:var int m=n-1;entities a=A(k=n){partition=\"hw\";};\
                bank=[B(i=i):for int i in 0..m];structure In-->a.x;foreach int i in 0..m do \
                a.y-->bank[i].x{bufferSize=64;};end end";
    let expected = "\
network N(int n = 2) int In ==> int Out :
var
    int m = n - 1;
entities
    a = A(k = n) { partition = \"hw\"; };
    bank = [B(i = i) : for int i in 0 .. m];
structure
    In --> a.x;
    foreach int i in 0 .. m do
        a.y --> bank[i].x { bufferSize = 64; };
    end
end
";
    assert_eq!(formatted(text), expected);
}

#[test]
fn rows_of_a_table_are_kept() {
    let text = "unit U:\nint t[6] = [\n1,2,\n  3,4, // row\n5,6\n];\nend";
    let expected = "\
unit U :
    int t[6] = [
        1, 2,
        3, 4, // row
        5, 6
    ];
end
";
    assert_eq!(formatted(text), expected);
}

#[test]
fn long_lines_break() {
    let sum = vec!["someVariable"; 30].join("+");
    let args = vec!["another"; 30].join(",");
    let numbers = vec!["0x12345678"; 40].join(",");
    let text =
        format!("actor A() ==> int Out : int t[40]=[{numbers}]; action ==> Out:[x] do x := {sum}; p({args}); end end");
    let output = formatted(&text);
    assert!(output.lines().all(|line| line.chars().count() <= 100), "{output}");
    assert_eq!(tree(&text), tree(&output));
}

#[test]
fn comments_before_a_closing_word_stay_inside() {
    let text = "actor A() ==> : action ==> do\nx := 1;\n// inside\nend\n// at the end\nend\n// behind";
    let expected = "\
actor A() ==> :
    action ==>
    do
        x := 1;
        // inside
    end
    // at the end
end
// behind
";
    assert_eq!(formatted(text), expected);
}

#[test]
fn native_without_a_sign() {
    assert_eq!(formatted("unit U:native procedure p()end end"), "unit U :\n    native procedure p() end\nend\n");
}

#[test]
fn wrong_texts_are_not_touched() {
    for text in ["", "actor A( ==> : end", "unit U : int x = ; end", "\"", "/*"] {
        assert!(format(FileId(0), text).is_err(), "{text}");
    }
}
