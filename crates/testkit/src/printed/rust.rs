//! Programs in Rust.

use super::{Language, One, refused, rounds_before};
use headrace_program::language::RUST as RUST_WORDS;
use headrace_program::{Module, effects};
use headrace_targets::project::Files;
use headrace_targets::rust::project::of_network;
use headrace_targets::toolchain::{Step, Toolchain};
use std::fmt::Write as _;

pub(super) const RUST: Language = Language { name: "rust", files, build, run };

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

/// The function that runs a network, begins anew, and shows what came of it.
fn runner(at: usize, one: &One) -> String {
    let module = &one.module;
    let Module { interface, .. } = module;
    let host = if effects::reach_host(module)[interface.run.index()] { ", &mut host" } else { "" };
    let (mut begin, mut moves, mut shows) = (String::new(), String::new(), String::new());
    for (number, port) in interface.inputs.iter().enumerate() {
        let bytes = one.input(number);
        let values = bytes.chunks_exact(port.element.bytes() as usize).map(|bytes| {
            let value = port.element.extend(bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)));
            if port.element.is_signed() { (value as i64).to_string() } else { value.to_string() }
        });
        let values: Vec<String> = values.collect();
        let _ = writeln!(begin, "        let mut in_{number}: &[{}] = &[{}];", port.element, values.join(", "));
        let write = RUST_WORDS.spelled(&module.function(port.write).name);
        let _ = write!(
            moves,
            "            let n = context.{write}(in_{number});\n            in_{number} = &in_{number}[n * {}..];\n            moved += n;\n",
            port.words
        );
    }
    let _ = writeln!(moves, "            assert_eq!(context.run(u64::MAX{host}), host::Status::Idle);");
    for (number, port) in interface.outputs.iter().enumerate() {
        let _ = writeln!(begin, "        let mut out_{number}: Vec<u8> = Vec::new();");
        let read = RUST_WORDS.spelled(&module.function(port.read).name);
        let _ = write!(
            moves,
            "            let mut tokens = [0; {0} * 40];\n            let n = context.{read}(&mut tokens);\n            \
             tokens[..n * {0}].iter().for_each(|token| out_{number}.extend(token.to_le_bytes()));\n            moved += n;\n",
            port.words
        );
        let _ = writeln!(shows, "        println!(\"{at} {number} {{}}\", hex(&out_{number}));");
    }
    let before = rounds_before(at);
    format!(
        "\nfn run_{at}() {{\n    let mut context = Box::new(network_{at}::Context::new());\n    for rounds in [{before}, usize::MAX] {{\n        \
         context.restart();\n        let mut host = Collected(Vec::new());\n        let _ = &mut host;\n{begin}        for _ in 0..rounds {{\n            \
         let mut moved = 0;\n{moves}            if moved == 0 {{\n                break;\n            }}\n        }}\n        \
         if rounds < usize::MAX {{\n            continue;\n        }}\n{shows}        println!(\"{at} printed {{}}\", hex(&host.0));\n    }}\n}}\n"
    )
}

fn files(all: &[One]) -> Result<Files, String> {
    let mut program = Files::new();
    let mut main = format!("mod host;\n{HARNESS}");
    let mut calls = String::new();
    for (at, one) in all.iter().enumerate() {
        let files = of_network(&one.network, None, &one.options()).map_err(|problems| refused(one, &problems))?;
        for (path, text) in files {
            match path.as_str() {
                "src/network.rs" => _ = program.insert(format!("src/network_{at}.rs"), text),
                "src/host.rs" => _ = program.insert(path, text),
                _ => {}
            }
        }
        main = format!("mod network_{at};\n{main}{}", runner(at, one));
        let _ = writeln!(calls, "        run_{at}();");
    }
    let _ = write!(
        main,
        "\nfn main() {{\n    let all = || {{\n{calls}    }};\n    std::thread::Builder::new().stack_size(1 << 28).spawn(all).unwrap().join().unwrap();\n}}\n"
    );
    // Of the harness, not of what is printed.
    main.insert_str(0, "#![allow(unused_mut)]\n");
    program.insert("src/main.rs".into(), main.into_bytes());
    let manifest = "[package]\nname = \"networks\"\nedition = \"2024\"\n\n[workspace]\n\n[profile.dev]\ndebug = false\nincremental = false\n";
    program.insert("Cargo.toml".into(), manifest.into());
    Ok(program)
}

/// With checks of overflows, which printed code must never meet, and no warning.
fn build(tools: &[String]) -> Vec<Step> {
    let words = [tools[0].as_str(), "build", "--offline", "--quiet", "--jobs", "1"];
    vec![Step::new(words).with("RUSTFLAGS", "-D warnings").with("CARGO_TARGET_DIR", "target")]
}

fn run(_: &Toolchain, _: &[String]) -> Step {
    Step::new(["./target/debug/networks"])
}
