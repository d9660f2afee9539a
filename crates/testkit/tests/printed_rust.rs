//! Random networks printed in Rust: compiled together into one program, they must show what the interpreter shows.

#[path = "support/printed.rs"]
mod printed;

use headrace_program::{Module, effects};
use headrace_targets::c::Options;
use headrace_targets::rust::project::of_network;
use printed::{One, judge, networks, run};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// Random networks, unless `HEADRACE_PRINTED_CASES` asks for more.
const CASES: u64 = 30;

/// What every program has beside its networks.
const HARNESS: &str = r#"
struct Collected(Vec<u8>);

impl host::Host for Collected {
    fn print(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
    }
    fn print_real(&mut self, _: f64, _: u32) {}
    fn native(&mut self, _: &str, _: &mut [host::Argument<'_>]) -> Option<i64> {
        None
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
"#;

/// The function that runs a network and shows what came of it.
fn runner(at: usize, one: &One) -> String {
    let module = &one.module;
    let Module { interface, .. } = module;
    let host = if effects::reach_host(module)[interface.run.index()] { ", &mut host" } else { "" };
    let mut text = format!(
        "\nfn run_{at}() {{\n    let mut context = Box::new(network_{at}::Context::new());\n    let mut host = Collected(Vec::new());\n    let _ = &mut host;\n"
    );
    let (mut moves, mut shows) = (String::new(), String::new());
    for (number, port) in interface.inputs.iter().enumerate() {
        let bytes = one.input(number);
        let values = bytes.chunks_exact(port.element.bytes() as usize).map(|bytes| {
            let value = port.element.extend(bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)));
            if port.element.is_signed() { (value as i64).to_string() } else { value.to_string() }
        });
        let values: Vec<String> = values.collect();
        let _ = writeln!(text, "    let mut in_{number}: &[{}] = &[{}];", port.element, values.join(", "));
        let write = &module.function(port.write).name;
        let _ = write!(
            moves,
            "        let n = context.{write}(in_{number});\n        in_{number} = &in_{number}[n * {}..];\n        moved += n;\n",
            port.words
        );
    }
    let _ = writeln!(moves, "        assert_eq!(context.run(u64::MAX{host}), host::Status::Idle);");
    for (number, port) in interface.outputs.iter().enumerate() {
        let _ = writeln!(text, "    let mut out_{number}: Vec<u8> = Vec::new();");
        let read = &module.function(port.read).name;
        let _ = write!(
            moves,
            "        let mut tokens = [0; {0} * 40];\n        let n = context.{read}(&mut tokens);\n        \
             tokens[..n * {0}].iter().for_each(|token| out_{number}.extend(token.to_le_bytes()));\n        moved += n;\n",
            port.words
        );
        let _ = writeln!(shows, "    println!(\"{at} {number} {{}}\", hex(&out_{number}));");
    }
    let _ = write!(
        text,
        "    loop {{\n        let mut moved = 0;\n{moves}        if moved == 0 {{\n            break;\n        }}\n    }}\n{shows}    println!(\"{at} printed {{}}\", hex(&host.0));\n}}\n"
    );
    text
}

#[test]
fn printed_rust_shows_what_the_interpreter_shows() {
    let all = networks(CASES);
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let write = |name: &str, text: &[u8]| std::fs::write(folder.path().join(name), text).expect("it is writable");
    let mut main = format!("mod host;\n{HARNESS}");
    let mut calls = String::new();
    for (at, one) in all.iter().enumerate() {
        let files =
            of_network(&one.network, None, &Options::default()).unwrap_or_else(|problems| panic!("{problems:?}"));
        write(&format!("network_{at}.rs"), &files["src/network.rs"]);
        write("host.rs", &files["src/host.rs"]);
        main = format!("mod network_{at};\n{main}{}", runner(at, one));
        let _ = writeln!(calls, "        run_{at}();");
    }
    let _ = write!(
        main,
        "\nfn main() {{\n    let all = || {{\n{calls}    }};\n    std::thread::Builder::new().stack_size(1 << 28).spawn(all).unwrap().join().unwrap();\n}}\n"
    );
    // Of the harness, not of what is printed.
    main.insert_str(0, "#![allow(unused_mut)]\n");
    write("main.rs", main.as_bytes());
    judge(&all, &compiled_and_run(folder.path()));
}

/// With checks of overflows, which printed code must never meet, and no warning.
fn compiled_and_run(folder: &Path) -> String {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let mut compile = Command::new(rustc);
    compile.current_dir(folder).args(["--edition", "2024", "-C", "debug-assertions", "-D", "warnings", "main.rs"]);
    run(&mut compile);
    run(&mut Command::new(folder.join("main")))
}
