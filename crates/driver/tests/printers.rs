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
    "text.len()",
    "definitions.len()",
    "statements.len()",
    "whole.0.len()",
    "text.find(",
    "text.matches(",
    "text.starts_with(",
    "text.ends_with(",
    ".replace(\"static",
    ".replace(\"__builtin",
    ".replacen(",
    ".lines()",
];

/// Printers that look into their own text, and what that decides.
const LEFT: &[(&str, &str)] = &[];

/// Files whose texts are no programs that they have printed: strings of networks, read-mes, lists, what tools say.
const OTHERS: &[&str] = &[
    "cpp/network.rs",
    "hdl/lwc.rs",
    "java/differences.rs",
    "llvm/module.rs",
    "llvm/spelled.rs",
    "opencl/mod.rs",
    "openssl/build_files.rs",
    "rust/contender.rs",
    "toolchain.rs",
    "wasm/memory.rs",
    "wasm/module.rs",
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
    let known = || LEFT.iter().map(|left| left.0).chain(OTHERS.iter().copied());
    let new: Vec<&String> = found.iter().filter(|path| !known().any(|known| known == *path)).collect();
    assert!(new.is_empty(), "these look into texts; decide on what is printed instead: {new:?}");
    let mended: Vec<&str> = known().filter(|path| !found.contains(*path)).collect();
    assert!(mended.is_empty(), "these do not any more, and need no line here: {mended:?}");
}
