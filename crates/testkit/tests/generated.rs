//! What the generator promises whatever the engines say: its text is read without complaint, a seed means one
//! program, and every construct of the language turns up.

use headrace_source::SourceMap;
use headrace_testkit::generate::{Cuts, Knobs, generate};

#[test]
fn every_file_is_read_without_complaint() {
    for seed in 0..400 {
        let case = generate(seed, &Knobs::default());
        for (path, text) in case.texts(&Cuts::default()) {
            let mut sources = SourceMap::default();
            let file = sources.add(path.clone(), text.clone());
            let (tree, problems) = if path.ends_with(".xdf") {
                headrace_syntax::xdf::read(file, "Top", &text)
            } else {
                headrace_syntax::parse(file, &text)
            };
            assert!(tree.is_some() && problems.is_empty(), "seed {seed}, {path}: {problems:?}");
        }
    }
}

#[test]
fn a_seed_means_one_program() {
    let text = |seed| generate(seed, &Knobs::default()).texts(&Cuts::default());
    for seed in 0..20 {
        assert_eq!(text(seed), text(seed));
    }
    assert_ne!(text(1), text(2));
}

#[test]
fn every_construct_turns_up() {
    const CONSTRUCTS: &[&str] = &[
        "actor ",
        "unit ",
        "network ",
        "<XDF ",
        "import ",
        ".*;",
        "package ",
        "@note",
        "function ",
        "procedure ",
        "initialize ==>",
        "initialize",
        "schedule fsm",
        "schedule regexp",
        "priority",
        " > ",
        ".deep:",
        "guard ",
        " repeat ",
        "var ",
        "foreach ",
        "while ",
        "elsif ",
        "else",
        " and ",
        " && ",
        " or ",
        " || ",
        "not ",
        " + ",
        " - ",
        " * ",
        " / ",
        " div ",
        " mod ",
        " & ",
        " | ",
        " ^ ",
        " << ",
        " >> ",
        "~",
        "#",
        " = ",
        " != ",
        " < ",
        " <= ",
        " >= ",
        "List(type:List(",
        "List(type:",
        "][",
        "bool ",
        "uint ",
        "int ",
        "uint(size=",
        "int(size=",
        "println(",
        "print(",
        "println()",
        "true",
        "false",
        "0x",
        "0X",
        " : for ",
        "size=C",
        "size=k",
        "[C",
        "[k",
        "{bufferSize",
        "kind=\"Param\"",
        "kind=\"Variable\"",
        "BinOpSeq",
        "\"bufferSize\"",
        "entities",
        "foreach int j",
        "if V",
        " : for int e",
        "halt",
        "left",
        "pend",
        "Loop",
        "4096)",
        "repeat C",
        "repeat k",
        "repeat 1",
        "(rec",
        "gen.lib.",
        "(k",
        "entity E",
        "String text",
    ];
    let mut missing: Vec<&str> = CONSTRUCTS.to_vec();
    for seed in 0..3000 {
        let case = generate(seed, &Knobs::default());
        for (_, text) in case.texts(&Cuts::default()) {
            missing.retain(|c| !text.contains(c));
        }
        if missing.is_empty() {
            return;
        }
    }
    panic!("never generated: {missing:?}");
}
