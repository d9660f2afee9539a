//! Sources as others publish them: files of any name, types of inner ports, large lists, texts as tokens.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("it is below the folder")).expect("the folder is writable");
        fs::write(path, text).expect("the folder is writable");
    }
    folder
}

fn headrace(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_headrace"))
        .args(arguments)
        .current_dir(folder)
        .stdin(std::process::Stdio::null())
        .output()
        .expect("the command starts")
}

fn seen(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

const ADD: &str =
    "package p; actor Add(int N = 1) uint(size=8) In ==> uint(size=8) Out : action In:[x] ==> Out:[x + N] end end";

fn network(class: &str) -> String {
    format!(
        r#"<?xml version="1.0"?><XDF name="N"><Decl kind="Param" name="N"><Type name="int"/><Expr kind="Literal" literal-kind="Integer" value="1"/></Decl>
<Port kind="Input" name="In"><Type name="uint"><Entry kind="Expr" name="size"><Expr kind="Literal" literal-kind="Integer" value="8"/></Entry></Type></Port>
<Port kind="Output" name="Out"><Type name="uint"><Entry kind="Expr" name="size"><Expr kind="Literal" literal-kind="Integer" value="8"/></Entry></Type></Port>
<Instance id="a-1"><Class name="{class}"/></Instance>
<Connection src="" src-port="In" dst="a-1" dst-port="In"/><Connection src="a-1" src-port="Out" dst="" dst-port="Out"/></XDF>"#
    )
}

/// Base names of files that are no identifiers.
const NAMES: [&str; 7] = ["Add-er_testbed", "1st", "two words", "größer", "v1.2", "class", "a+b"];

#[test]
fn networks_of_any_file_name_are_found_and_run() {
    for name in NAMES {
        let file = format!("src/p/{name}.xdf");
        let folder = folder(&[
            ("src/p/Add.cal", ADD),
            (&file, &network("p.Add")),
            ("src/p/Top.xdf", &network(&format!("p.{name}"))),
        ]);
        let absolute = folder.path().join(&file).display().to_string();
        let qualified = format!("p.{name}");
        let ways: [&[&str]; 6] = [
            &["-L", "src", &qualified],
            &["-L", "src", &file],
            &[&file],
            &[&absolute],
            &["-L", "src", "p.Top"],
            &["src/p/Top.xdf"],
        ];
        for way in ways {
            let (top, roots) = way.split_last().expect("a network is named");
            let run = [roots, &["run", top, "--engine", "interp", "--in", "In=int:1,2", "--out", "Out=int:"]].concat();
            assert_eq!(seen(&headrace(folder.path(), &run)).1, "2,3\n", "{name}: {run:?}");
            for command in ["check", "analyze"] {
                let (status, _, said) = seen(&headrace(folder.path(), &[roots, &[command, top]].concat()));
                assert_eq!(status, 0, "{command} {top}: {said}");
            }
            let (status, _, said) = seen(&headrace(folder.path(), &[roots, &["graph", top, "-o", "N.svg"]].concat()));
            assert_eq!(status, 0, "graph {top}: {said}");
        }
        let set = ["-L", "src", "run", &qualified, "--set", "N=3", "--engine", "interp", "--in", "In=int:1"];
        assert_eq!(seen(&headrace(folder.path(), &set)).0, 0, "{name}");
        let (status, _, said) = seen(&headrace(folder.path(), &["convert", &file, "N.nl"]));
        assert_eq!(status, 0, "convert {name}: {said}");
    }
}

#[test]
fn an_entity_is_called_as_its_file_is() {
    for name in NAMES.iter().chain(&["shout"]) {
        let file = format!("{name}.cal");
        for text in
            ["actor Shout() ==> : end", "package q; actor Shout() ==> : end", "package p; actor Shout() ==> : end"]
        {
            let folder = folder(&[(&file, text), (&format!("p/{file}"), text)]);
            let absolute = folder.path().join(&file).display().to_string();
            for path in [file.as_str(), &absolute, &format!("p/{file}")] {
                for command in [&["check"][..], &["run"], &["analyze"], &["graph", "-o", "x.svg"]] {
                    let (status, _, said) = seen(&headrace(folder.path(), &[command, &[path]].concat()));
                    assert!(said.contains("error[wrong-entity-name]"), "{command:?} {path} ({text}): {said}");
                    assert_eq!(status, 1, "{command:?} {path}");
                }
            }
            // What a text looks like has nothing to do with where it lies.
            assert_eq!(seen(&headrace(folder.path(), &["fmt", &file])).0, 0, "fmt {name}");
        }
    }
}

#[test]
fn ports_of_inner_networks_carry_nothing() {
    let inner = |ty: &str| {
        format!("network Inner() {ty} In ==> {ty} Out : entities w = W(); structure In --> w.In; w.Out --> Out; end")
    };
    let top = "network Top() uint(size=16) In ==> uint(size=16) Out : entities a = Inner(); b = Inner(); structure In --> a.In; a.Out --> b.In; b.Out --> Out; end";
    let actor = "actor W() uint(size=16) In ==> uint(size=16) Out : action In:[x] ==> Out:[x] end end";
    for ty in ["uint(size=8)", "bool", "float", "int(size=3)", "String"] {
        let folder = folder(&[("Inner.nl", &inner(ty)), ("Top.nl", top), ("W.cal", actor)]);
        let run = ["run", "Top.nl", "--engine", "interp", "--in", "In=int:1001,65535", "--out", "Out=int:"];
        let (status, out, said) = seen(&headrace(folder.path(), &run));
        assert_eq!((status, out.as_str()), (0, "1001,65535\n"), "{ty}: {said}");
        assert_eq!(said.matches("warning[inner-port-type]").count(), if ty == "float" { 0 } else { 2 }, "{ty}: {said}");
        assert!(!said.contains("narrowing-connection"), "{said}");
        assert_eq!(seen(&headrace(folder.path(), &["check", "Inner.nl"])).0, 0, "{ty}");
    }
    // Between two actors it is still wrong.
    let wrong = "network Wrong() bool In ==> uint(size=16) Out : entities a = B(); b = Inner(); structure In --> a.In; a.Out --> b.In; b.Out --> Out; end";
    let truth = "actor B() bool In ==> bool Out : action In:[x] ==> Out:[x] end end";
    let folder = folder(&[("Inner.nl", &inner("bool")), ("Wrong.nl", wrong), ("W.cal", actor), ("B.cal", truth)]);
    for command in [&["check"][..], &["run"], &["graph", "-o", "x.svg"]] {
        let (status, _, said) = seen(&headrace(folder.path(), &[command, &["Wrong.nl"]].concat()));
        assert!(status == 1 && said.contains("error[type-mismatch]"), "{command:?}: {said}");
    }
}

#[test]
fn large_lists_run_where_there_is_memory() {
    let frames = "actor Frames() uint(size=8) In ==> uint(size=8) Out :
        uint(size=8) frames[17][1920][1088];
        action In:[x] ==> Out:[frames[16][1919][x]] do frames[16][1919][x] := x; frames[16][1919][x] := frames[16][1919][x] + 1; end end";
    let folder = folder(&[
        ("Frames.cal", frames),
        ("Many.nl", "network Many() ==> : entities f = [Frames() : for i in 0 .. 150]; structure end"),
    ]);
    let run = ["run", "Frames.cal", "--engine", "interp", "--in", "In=int:7,9", "--out", "Out=int:"];
    assert_eq!(seen(&headrace(folder.path(), &run)).1, "8,10\n");
    for command in ["check", "run"] {
        let (status, _, said) = seen(&headrace(folder.path(), &[command, "Many.nl"]));
        assert!(
            status == 1 && said.contains("list-too-large") && said.contains("HEADRACE_STATE_MIB"),
            "{command}: {said}"
        );
    }
    let allowed = Command::new(env!("CARGO_BIN_EXE_headrace"))
        .args(["check", "Many.nl"])
        .current_dir(folder.path())
        .env("HEADRACE_STATE_MIB", "8000")
        .output()
        .expect("the command starts");
    assert_eq!(seen(&allowed).0, 0);
}

#[test]
fn texts_are_tokens() {
    let greet = r#"actor Greet() String Name, uint(size=8) Code ==> String Message, bool Known :
        List(type: String, size=3) MESSAGES := ["Unknown", "Hello", "a \"b\""];
        String last := "";
        action Name:[n], Code:[c] repeat 2 ==> Message:[n, MESSAGES[c[0]], last], Known:[n = last]
        do last := if c[1] = 0 then n else MESSAGES[c[1]] end; end
    end"#;
    let pass = "actor Pass() String In ==> String Out : action In:[a, b, c] ==> Out:[d] repeat 3 var List(type: String, size=3) d = [a, b, c] do end end";
    let net = "network Net() String Name, uint(size=8) Code ==> String Message, bool Known : entities g = Greet(); p = Pass(); structure
        Name --> g.Name; Code --> g.Code; g.Message --> p.In; p.Out --> Message; g.Known --> Known; end";
    let folder = folder(&[("Greet.cal", greet), ("Pass.cal", pass), ("Net.nl", net), ("names", "Ann\nBob\n\nAnn")]);
    for engine in ["interp", "native"] {
        let lines = [
            "run",
            "Net.nl",
            "--engine",
            engine,
            "--in",
            "Name=names",
            "--in",
            "Code=int:1,0,0,2,2,0,1,1",
            "--out",
            "Message=-",
            "--out",
            "Known=known",
        ];
        let (status, out, said) = seen(&headrace(folder.path(), &lines));
        assert_eq!(status, 0, "{engine}: {said}");
        assert_eq!(out, "Ann\nHello\nAnn\nBob\nUnknown\na \"b\"\n\na \"b\"\n\nAnn\nHello\nHello\n", "{engine}");
        let texts = [
            "run",
            "Net.nl",
            "--engine",
            engine,
            "--in",
            "Name=text:two words",
            "--in",
            "Code=int:1,0",
            "--out",
            "Message=int:",
            "--out",
            "Known=int:",
        ];
        let (status, out, said) = seen(&headrace(folder.path(), &texts));
        assert_eq!(status, 0, "{engine}: {said}");
        assert!(out.contains("two words,Hello,two words"), "{engine}: {out}");
    }
    let trace = [
        "run",
        "Net.nl",
        "--engine",
        "interp",
        "--in",
        "Name=text:x",
        "--in",
        "Code=int:1,0",
        "--out",
        "Message=m",
        "--trace",
        "t.jsonl",
    ];
    assert_eq!(seen(&headrace(folder.path(), &trace)).0, 0);
    let traced = fs::read_to_string(folder.path().join("t.jsonl")).expect("it was written");
    assert!(traced.contains(r#""Message":["x","Hello","x"]"#), "{traced}");
    let vcd = [
        "run",
        "Net.nl",
        "--engine",
        "interp",
        "--in",
        "Name=text:x",
        "--in",
        "Code=int:1,0",
        "--out",
        "Message=m",
        "--trace",
        "t.vcd",
    ];
    assert_eq!(seen(&headrace(folder.path(), &vcd)).0, 0);
    let built = headrace(folder.path(), &["build", "Net.nl", "--target", "c", "-o", "c"]);
    assert_eq!(seen(&built).0, 0, "{}", seen(&built).2);
    for target in ["rust", "java", "cpp", "llvm", "wasm", "xlim"] {
        let (status, _, said) = seen(&headrace(folder.path(), &["build", "Net.nl", "--target", target, "-o", target]));
        assert_eq!(status, 1, "{target}: {said}");
        assert!(said.contains("String"), "{target}: {said}");
    }
}
