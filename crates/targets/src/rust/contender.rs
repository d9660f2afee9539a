//! Benchmark adapter for crates. Crates in measurements: a shared object over the methods of the type of an operation.

use super::shape::type_name;
use crate::contender::{Argument, Contender, Made, PROJECT, Subject, call};
use crate::project::Files;
use crate::toolchain::Step;
use headrace_library::Role;

pub(crate) const CONTENDER: Contender =
    Contender { files, build, made: Made::Object("target/release/libcontender.so") };

/// The functions of `peer.h` come by `bench/rust-peers/abi.rs`.
fn files(subject: &Subject<'_>) -> Result<Files, String> {
    let spec = subject.spec;
    let given = call(spec, |argument| match argument {
        Argument::Iv => "&iv",
        Argument::Input => "input",
        Argument::Output => "output",
    })?;
    let key = spec.input(Role::Key).map_or("", |_| "    context.key(key).ok()?;\n");
    let own = type_name(spec);
    let library = format!(
        "include!(\"../abi.rs\");\n\nconst VERSION: &CStr = c\"{}\";\n\n\
         fn output_bytes(n_bytes: usize) -> usize {{\n    2 * n_bytes\n}}\n\n\
         #[allow(unused_variables)]\nfn open(_: &str, key: &[u8], iv: &[u8]) -> Option<Operation> {{\n    \
         let mut context = Box::new(project::{own}::new());\n{key}    let iv = iv.to_vec();\n    \
         Some(Box::new(move |input, output| context.message({given}).ok()))\n}}\n",
        env!("CARGO_PKG_VERSION")
    );
    let manifest = String::from_utf8_lossy(subject.project.get("Cargo.toml").map_or(&[], Vec::as_slice));
    let name = manifest.lines().find_map(|line| line.strip_prefix("name = ")).unwrap_or_default();
    // Dispatch at run time belongs to what is measured, traits of others do not.
    let simd = if manifest.lines().any(|line| line.starts_with("simd = ")) { ", features = [\"simd\"]" } else { "" };
    let cargo = format!(
        "[package]\nname = \"contender\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[lib]\ncrate-type = [\"cdylib\"]\npath = \"contender.rs\"\n\n\
         [dependencies]\nproject = {{ package = {name}, path = \"../{PROJECT}\", default-features = false{simd} }}\n\n[workspace]\n\n\
         [profile.release]\ncodegen-units = 1\nlto = true\npanic = \"abort\"\n"
    );
    // A crate that belongs to no workspace may not lie in one.
    Ok(Files::from([
        ("contender/contender.rs".to_owned(), library.into_bytes()),
        ("contender/Cargo.toml".to_owned(), cargo.into_bytes()),
    ]))
}

/// For no processor in particular, as the peers.
fn build(subject: &Subject<'_>) -> Vec<Step> {
    let words = ["build", "--release", "--offline", "--quiet", "--manifest-path", "contender/Cargo.toml"];
    let step = Step::new([subject.tool(0)].into_iter().chain(words));
    vec![step.with("CARGO_TARGET_DIR", "target").with("RUSTFLAGS", "")]
}
