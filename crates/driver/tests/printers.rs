//! What printers of programs decide, they decide on the form that they print: no printer takes apart or measures a text that
//! it has printed. Where one does, it stands here with what its text decides, and no longer when it does not. Where lines of
//! C end is settled of parts that are printed (`c/layout.rs`), since it is white space that depends on it and nothing else.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// What looks into a text, or measures it.
const LOOKS: &[&str] = &[
    "words_of(&",
    "words_of(rest",
    "words_of(text",
    "words_of(line",
    "text.contains(",
    ".contains(&self.unit.base)",
    ".contains('",
    ".contains(\"",
    ".contains(&format!",
    "text.len()",
    "definitions.len()",
    "statements.len()",
    "whole.0.len()",
    "text.find(",
    ".find('",
    ".find(\"",
    ".rfind(",
    ".matches(",
    ".starts_with(",
    ".ends_with(",
    ".strip_prefix(",
    ".strip_suffix(",
    ".trim_start",
    ".trim_end",
    ".split(",
    ".split_once(",
    ".split_whitespace(",
    ".replace('#'",
    ".replace(\"static",
    ".replace(\"__builtin",
    ".replacen(",
    ".lines()",
    "argument == \"",
    "supported == ",
    "supported.is_empty()",
    "entry(unnumbered",
];

/// Printers that look into their own text, and what that decides.
const LEFT: &[(&str, &str)] = &[];

/// Files whose texts are no programs that they have printed, and what those are.
const OTHERS: &[(&str, &str)] = &[
    ("c/natives.rs", "types"),
    ("c/network/mod.rs", "types"),
    ("c/project/build_files.rs", "paths"),
    ("c/project/mod.rs", "names"),
    ("c/project/program.rs", "paths"),
    ("codesign/project.rs", "paths"),
    ("contender.rs", "paths"),
    ("cpp/network.rs", "strings of networks"),
    ("device/contender.rs", "paths"),
    ("hdl/litex.rs", "the name of a module, which is that of a class in another form"),
    ("hdl/lwc.rs", "scripts for a test bench, which is told of how many lines they are"),
    ("hdl/project.rs", "paths"),
    ("hdl/tokens.rs", "names of ports"),
    ("java/differences.rs", "a table"),
    ("java/network.rs", "empty lines at the end"),
    ("java/project.rs", "names"),
    ("java/provider.rs", "names of operations"),
    ("java/runtime.rs", "paths"),
    ("java/toolchain.rs", "paths"),
    ("llvm/contender.rs", "paths"),
    ("llvm/module.rs", "strings of networks"),
    ("llvm/spelled.rs", "spellings of instructions, as data has them"),
    ("llvm/types.rs", "a blank at the end"),
    ("opencl/mod.rs", "a program as a string of another"),
    ("openssl/build_files.rs", "paths, names and a table"),
    ("openssl/mod.rs", "paths and names"),
    ("rust/contender.rs", "a manifest"),
    ("rust/project.rs", "names"),
    ("toolchain.rs", "what tools say"),
    ("verilog/bench.rs", "names and paths"),
    ("verilog/mod.rs", "where long lines are broken, which is white space"),
    ("verilog/module.rs", "empty lines at the end"),
    ("vhdl/names.rs", "names"),
    ("wasm/memory.rs", "strings of networks"),
    ("wasm/module.rs", "strings of networks"),
    ("wasm/project.rs", "names"),
    ("wasm/shape.rs", "names"),
    ("xlim/network.rs", "names, and a network as XDF, which gets a remark"),
];

fn looking(folder: &Path, root: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("a folder of sources").flatten() {
        let path = entry.path();
        if path.is_dir() {
            looking(&path, root, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(&path).expect("a source");
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            // Room for another text is none of its business, nor where lines go.
            let others = ["with_capacity(", "self.lines()"];
            let is_code =
                |line: &&str| !line.trim_start().starts_with("//") && !others.iter().any(|other| line.contains(other));
            let mut lines = code.lines().filter(is_code);
            if lines.any(|line| LOOKS.iter().any(|look| line.contains(look))) {
                let path = path.strip_prefix(root).expect("it is below");
                found.insert(path.to_string_lossy().replace('\\', "/"));
            }
        }
    }
}

#[test]
fn no_printer_but_those_listed_reads_its_own_output() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../targets/src");
    let mut found = BTreeSet::new();
    looking(&root, &root, &mut found);
    let known = || LEFT.iter().chain(OTHERS).map(|file| file.0);
    let new: Vec<&String> = found.iter().filter(|path| !known().any(|known| known == *path)).collect();
    assert!(new.is_empty(), "these look into texts; decide on what is printed instead: {new:?}");
    let mended: Vec<&str> = known().filter(|path| !found.contains(*path)).collect();
    assert!(mended.is_empty(), "these do not any more, and need no line here: {mended:?}");
}
