//! Texts that are not programs: nothing panics, hangs or is lost without a word.

mod generate;

use generate::{Generator, Random};
use headrace_source::{FileId, Severity};
use headrace_syntax::{format::format, nl, parse, xdf};

/// Reads a text in every way there is.
fn try_everything(text: &str) {
    let (file, diagnostics) = parse(FileId(0), text);
    let wrong = diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
    assert!(file.is_some() || wrong, "neither a tree nor an error: {text}");
    for diagnostic in &diagnostics {
        assert!(headrace_source::describe(diagnostic.slug).is_some(), "{}", diagnostic.slug);
        let span = diagnostic.primary.as_ref().unwrap().span;
        assert!(span.start <= span.end && span.end as usize <= text.len());
        assert!(text.is_char_boundary(span.start as usize), "{diagnostic:?}");
    }
    if let Some(file) = file {
        nl::write(&file);
        if let headrace_syntax::ast::Entity::Network(network) = &file.entity {
            let _ = xdf::write(network);
        }
    }
    assert_eq!(format(FileId(0), text).is_err(), wrong, "{text}");
    xdf::read(FileId(0), "Top", text);
}

/// Changes a text at a few places: deletes, doubles, swaps or inserts a piece.
fn mutate(text: &str, random: &mut Random) -> String {
    let mut pieces: Vec<&str> = text.split_inclusive(|c: char| !c.is_alphanumeric()).collect();
    for _ in 0..1 + random.below(6) {
        if pieces.is_empty() {
            break;
        }
        let at = random.below(pieces.len());
        match random.below(4) {
            0 => {
                pieces.remove(at);
            }
            1 => pieces.insert(at, pieces[at]),
            2 => {
                let other = random.below(pieces.len());
                pieces.swap(at, other);
            }
            _ => {
                let junk = random.pick(&[
                    "\"",
                    "'",
                    "/*",
                    "*/",
                    "//",
                    "end ",
                    "if ",
                    "(",
                    ")",
                    "[",
                    "]",
                    "{",
                    "}",
                    ";",
                    "..",
                    "1..",
                    ".5",
                    "0x",
                    "08",
                    "é",
                    "\u{0}",
                    "==",
                    "==>",
                    "-->",
                    "@",
                    "\\",
                    "action ",
                    "do ",
                    "half ",
                    "€",
                    "%",
                    "<",
                    "</",
                    "&",
                    "<Expr kind='List'>",
                    "\n",
                    "begin ",
                    "var ",
                    "delay ",
                    "old ",
                    "endif ",
                    "foreach ",
                ]);
                pieces.insert(at, junk);
            }
        }
    }
    pieces.concat()
}

#[test]
fn mutated_programs() {
    for seed in 1..1000 {
        let mut generator = Generator::new(seed);
        generator.file();
        let text = generator.littered(seed % 2 == 0);
        try_everything(&mutate(&text, &mut generator.random));
    }
}

#[test]
fn mutated_xdf() {
    let text = "<?xml version=\"1.0\"?><XDF name=\"N\"><Port kind=\"Input\" name=\"In\"><Type name=\"int\"><Entry \
                kind=\"Expr\" name=\"size\"><Expr kind=\"Literal\" literal-kind=\"Integer\" value=\"8\"/></Entry>\
                </Type></Port><Instance id=\"a\"><Class name=\"A\"/><Parameter name=\"k\"><Expr kind=\"BinOpSeq\">\
                <Expr kind=\"Var\" name=\"x\"/><Op name=\"+\"/><Expr kind=\"Var\" name=\"y\"/></Expr></Parameter>\
                </Instance><Connection src=\"\" src-port=\"In\" dst=\"a\" dst-port=\"x\"><Attribute kind=\"Custom\" \
                name=\"c\"><a>t</a></Attribute></Connection></XDF>";
    let mut random = Random::new(7);
    for _ in 0..1000 {
        try_everything(&mutate(text, &mut random));
    }
}

#[test]
fn random_bytes() {
    let mut random = Random::new(11);
    for _ in 0..500 {
        let bytes: Vec<u8> = (0..random.below(400)).map(|_| random.below(256) as u8).collect();
        try_everything(&String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn random_lexemes() {
    let mut random = Random::new(13);
    let words = [
        "actor",
        "A",
        "(",
        ")",
        "==>",
        ":",
        "int",
        "x",
        "=",
        ":=",
        "1",
        ";",
        "end",
        "action",
        "In",
        "[",
        "]",
        ",",
        "do",
        "if",
        "then",
        "else",
        "elsif",
        "while",
        "foreach",
        "in",
        "..",
        "guard",
        "var",
        "schedule",
        "fsm",
        "regexp",
        "priority",
        ">",
        "network",
        "entities",
        "structure",
        "-->",
        "{",
        "}",
        ".",
        "@",
        "unit",
        "function",
        "procedure",
        "begin",
        "repeat",
        "not",
        "-",
        "+",
        "*",
        "initialize",
        "for",
        "List",
        "type",
        "size",
        "entity",
        "\"s\"",
        "flag",
    ];
    for _ in 0..2000 {
        let start = random.pick(&["actor A() ==> : ", "unit U : ", "network N() ==> : ", ""]);
        let mut text = start.to_string();
        for _ in 0..random.below(120) {
            text.push_str(random.pick(&words));
            text.push(if random.chance(5) { '\n' } else { ' ' });
        }
        try_everything(&text);
    }
}

#[test]
fn every_prefix_of_a_program() {
    let mut generator = Generator::new(3);
    generator.file();
    let text = generator.littered(true);
    for end in (0..text.len().min(6000)).filter(|end| text.is_char_boundary(*end)) {
        try_everything(&text[..end]);
    }
}

#[test]
fn long_texts_take_linear_time() {
    // Each would take minutes if anything were quadratic.
    for piece in [
        "/*",
        "\"",
        "a ",
        "( ",
        ") ",
        "é",
        "x := 1;\n",
        "int x = ;\n",
        "@a ",
        "a.",
        "a: action ==> end\n",
        "[1,",
        "end ",
        "if x then ",
        "1 + ",
        "// c\n",
        "/* c */",
        "a.b.",
        "<a>",
        "<!-- ",
        "&a;",
        "<",
        "{ x = 1; ",
    ] {
        for head in ["", "actor A() ==> : ", "network N() ==> : structure ", "actor A() ==> : action ==> do "] {
            let text = format!("{head}{}", piece.repeat(50_000));
            parse(FileId(0), &text);
            xdf::read(FileId(0), "Top", &text);
        }
    }
}
