//! Designs written by hand: what they do, what is said of wrong ones (`xlim-error`, `xml-error`), and that no text makes the
//! reader or a run panic.

use headrace_engine::{CollectingHost, Engine, Outcome};
use headrace_ir::{Int, IntType};
use headrace_source::{FileId, SourceMap, Span};
use headrace_xlim::{Options, XlimEngine, XlimNetwork, read};

const SUMS: &str = include_str!("../../../tests/xlim/Sums.xlim");
const SHIFTS: &str = include_str!("../../../tests/xlim/Shifts.xlim");

fn engine(text: &str, fifo_tokens: u32) -> Result<XlimEngine, String> {
    let mut sources = SourceMap::default();
    let file = sources.add("a.xlim", text);
    let (design, problems) = read(file, text);
    let shown: Vec<String> = problems
        .iter()
        .map(|problem| {
            let (line, column) = problem.primary.as_ref().map_or((0, 0), |label| sources.position(label.span));
            format!("{line}:{column} {}: {}", problem.slug, problem.message)
        })
        .collect();
    let design = design.ok_or(shown.join("\n"))?;
    let network = XlimNetwork::of_design(design, Span::default())
        .map_err(|problems| problems.iter().map(|problem| problem.message.clone()).collect::<Vec<_>>().join("\n"))?;
    Ok(XlimEngine::new(network, Options { fifo_tokens, step_limit: Some(100_000) }))
}

/// Feeds streams of integers and gives what comes out of the first output, of a type.
fn run(text: &str, fifo_tokens: u32, inputs: &[(IntType, &[i64])], output: IntType) -> Result<Vec<i64>, String> {
    let mut engine = engine(text, fifo_tokens)?;
    let size = |ty: IntType| headrace_ir::Scalar::Int(ty).storage_bytes();
    let mut left: Vec<Vec<u8>> = inputs
        .iter()
        .map(|(ty, values)| values.iter().flat_map(|value| Int::from(*value).to_le_bytes(size(*ty))).collect())
        .collect();
    let mut out = Vec::new();
    loop {
        let mut moved = 0;
        for (at, stream) in left.iter_mut().enumerate() {
            let n = engine.write(at, stream);
            stream.drain(..n * size(inputs[at].0));
            moved += n;
        }
        match engine.run(None, &mut CollectingHost::default()) {
            Ok(Outcome::Idle) => {}
            Ok(other) => return Err(format!("{other:?}")),
            Err(trap) => return Err(trap.message),
        }
        moved += engine.read(0, &mut out);
        if moved == 0 {
            break;
        }
    }
    let value = |bytes: &[u8]| Int::from_le_bytes(bytes, output.signed).to_i64().unwrap_or(0);
    Ok(out.chunks_exact(size(output)).map(value).collect())
}

#[test]
fn sums_are_those_of_the_description() {
    let int = IntType::signed(16);
    for fifo_tokens in [4, 512] {
        let inputs: [(IntType, &[i64]); 2] = [(int, &[3, 0, 2, 1, 1]), (int, &[1, 2, -10, 32767, 1, -32768, 5])];
        let found = run(SUMS, fifo_tokens, &inputs, int);
        assert_eq!(found, Ok(vec![-7, 0, 32767, -32768, 5]), "FIFOs of {fifo_tokens}");
    }
}

#[test]
fn a_run_that_lacks_room_says_so() {
    let mut engine = engine(SHIFTS, 2).expect("it is sound");
    engine.write(0, &[1, 0]);
    engine.run(None, &mut CollectingHost::default()).expect("nothing is wrong");
    assert!(engine.report().lacks_room(), "{:?}", engine.report());
    assert_eq!(engine.firings(), vec![Vec::<u64>::new()]);
}

#[test]
fn operations_compute_exactly_and_wrap_at_their_output() {
    let shifts = |x: i64| {
        let wrap = |value: i64, bits: u32| (value << (64 - bits)) >> (64 - bits);
        let e = !(wrap(x * 7, 17)) ^ x;
        vec![
            wrap(x << 3, 12),
            x >> 3,
            (x & 0xfff) >> 3,
            wrap(x, 4),
            x / -7,
            wrap(e, 17),
            if x < 3 { x & 31 } else { 3 },
        ]
    };
    for x in [0, 1, -1, 7, -8, 2047, -2048, 1234] {
        let found = run(SHIFTS, 512, &[(IntType::signed(12), &[x])], IntType::signed(24));
        assert_eq!(found, Ok(shifts(x)), "{x}");
    }
}

#[test]
fn what_goes_wrong_while_it_runs_is_told() {
    let shifts =
        |from: &str, to: &str| run(&SHIFTS.replace(from, to), 512, &[(IntType::signed(12), &[5])], IntType::signed(24));
    assert_eq!(shifts("value=\"-7\"", "value=\"0\""), Err("division by zero".to_owned()));
    assert_eq!(
        shifts(
            "value=\"3\"><port dir=\"out\" source=\"three\" typeName=\"int\" size=\"4\"",
            "value=\"13\"><port dir=\"out\" source=\"three\" typeName=\"int\" size=\"5\""
        ),
        Err("shift of 12 bits by 13".to_owned())
    );
    let int = IntType::signed(16);
    let out =
        SUMS.replace("value=\"3\"><port dir=\"out\" source=\"mask\"", "value=\"-1\"><port dir=\"out\" source=\"mask\"");
    let five = run(&out, 512, &[(int, &[0; 5]), (int, &[])], int);
    assert_eq!(five, Err("index -4 is outside 0..3".to_owned()));
}

#[test]
fn wrong_designs_are_told_what_is_wrong_and_where() {
    let cases = [
        ("kind=\"$gt\"", "kind=\"$greater\"", "69:9 xlim-error: `$greater` is no operation that is known"),
        ("source=\"sum2\" typeName", "source=\"sum\" typeName", "`sum` is assigned twice"),
        (
            "<port dir=\"in\" source=\"x\"/>",
            "<port dir=\"in\" source=\"y\"/>",
            "the source `y` is not defined before this",
        ),
        (
            "<port dir=\"in\" source=\"sum\"/>\n          <port dir=\"in\" source=\"most\"/>",
            "<port dir=\"in\" source=\"sum2\"/>\n          <port dir=\"in\" source=\"most\"/>",
            "the source `sum2` is not seen here",
        ),
        (
            "source=\"more\" typeName=\"bool\"",
            "source=\"more\" typeName=\"int\"",
            "`$lt` does not give int(size=1) here",
        ),
        ("target=\"start\"", "target=\"begin\"", "there is no module `begin`"),
        ("target=\"start\"", "target=\"action-scheduler\"", "the module `action-scheduler` starts by itself"),
        ("portName=\"Count\" removable", "portName=\"Out\" removable", "there is no port `Out` for `pinRead`"),
        ("value=\"32767\"", "value=\"32768\"", "the type int(size=16) does not hold this value"),
        (
            "source=\"x\" typeName=\"int\" size=\"16\"",
            "source=\"x\" typeName=\"int\"",
            "`port` needs the attribute `size`",
        ),
        (
            "source=\"x\" typeName=\"int\" size=\"16\"",
            "source=\"x\" typeName=\"real\" size=\"16\"",
            "`real` is no type of an operation",
        ),
        ("<module kind=\"mutex\">", "<module kind=\"fork\">", "`fork` is no kind of an inner module"),
        ("<config_option ", "<internal-port ", "`internal-port` is not supported"),
        ("target=\"last\"", "target=\"n\"", "the state variable `n` is no list"),
        ("<design name=\"Sums\">", "<design name=\"Sums\"><typeDef/>", "`design` has no element `typeDef`"),
        ("</design>", "", "xml-error: not well-formed XML"),
        ("<design name", "<!DOCTYPE design [<!ENTITY a \"b\">]><design name", "xml-error: not well-formed XML"),
    ];
    for (from, to, message) in cases {
        let text = SUMS.replacen(from, to, 1);
        assert_ne!(text, SUMS, "{from}");
        let told = engine(&text, 512).expect_err(message);
        assert!(told.contains(message), "{from} -> {to}:\n{told}");
    }
    let circle = SUMS.replace(
        "<note kind=\"consumptionRates\" name=\"Count\" value=\"1\"/>",
        "<operation kind=\"taskCall\" target=\"start\"/>",
    );
    assert!(engine(&circle, 512).expect_err("it calls itself").contains("in a circle"));
    let deep = format!("<design name=\"D\">{}", "<module kind=\"block\">".repeat(100_000));
    assert!(engine(&deep, 512).expect_err("it is deep").contains("nesting-too-deep"));
}

/// Texts that differ from good ones in a few places, or in which elements stand elsewhere.
#[test]
fn no_text_makes_the_reader_or_a_run_panic() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |n: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % n.max(1) as u64) as usize
    };
    let mut n_sound = 0;
    for round in 0..1500 {
        let good = if round % 2 == 0 { SUMS } else { SHIFTS };
        let mut text = good.to_owned();
        for _ in 0..1 + random(3) {
            let words: Vec<(usize, &str)> = text.match_indices('"').collect();
            match random(4) {
                // The content of one attribute takes the place of another's.
                0 | 1 => {
                    let value = |at: usize| (words[at & !1].0 + 1, words[at | 1].0);
                    let ((from, to), (begin, end)) = (value(random(words.len())), value(random(words.len())));
                    let other = text[begin..end].to_owned();
                    text.replace_range(from..to, &other);
                }
                // A line is lost, or comes twice.
                2 => {
                    let mut lines: Vec<&str> = text.lines().collect();
                    let at = random(lines.len());
                    if random(2) == 0 {
                        lines.remove(at);
                    } else {
                        lines.insert(random(lines.len()), lines[at]);
                    }
                    text = lines.join("\n");
                }
                _ => {
                    let at = random(text.len());
                    if text.is_char_boundary(at) && text.is_char_boundary(at + 1) {
                        text.replace_range(at..=at, ["<", "\"", "9", "/", ""][random(5)]);
                    }
                }
            }
            if text.matches('"').count() % 2 == 1 {
                break;
            }
        }
        if let Ok(mut engine) = engine(&text, 3) {
            n_sound += 1;
            let n_inputs = if round % 2 == 0 { 2 } else { 1 };
            for input in 0..n_inputs {
                engine.write(input, &[2, 0, 1, 0, 255, 255, 3, 0]);
            }
            let _ = engine.run(Some(100), &mut CollectingHost::default());
            let _ = engine.report();
        }
    }
    assert!(n_sound > 20, "only {n_sound} texts were sound");
    let _ = read(FileId(0), "");
}
