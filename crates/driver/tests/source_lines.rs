//! What every target prints of an actor says in which line of which source its actions and functions are written.

#[expect(dead_code, reason = "each test uses a part of it")]
mod projects;

use projects::Folder;
use std::path::Path;

const TRIPLES: &str = "import lib.Sums.triple;
actor Triples() uint(size=8) In ==> uint(size=8) Out:
    int(size=9) sum := 0;

    many: action In:[x] ==> Out:[triple(sum) & 255]
    guard x > 3 do
        sum := triple(sum) + triple(x) + once(x);
    end

    few: action In:[x] ==> do sum := x; end

    function once(int(size=9) x) --> int(size=9):
        x + 1
    end
end
";

const SUMS: &str = "package lib;
unit Sums:

    function triple(int(size=9) x) --> int(size=9):
        3 * x
    end
end
";

/// All texts below a folder.
fn texts(folder: &Path) -> String {
    let entries = std::fs::read_dir(folder).expect("the folder is there").map(|entry| entry.expect("an entry").path());
    let text = |path: std::path::PathBuf| match path.is_dir() {
        true => texts(&path),
        false => std::fs::read_to_string(path).unwrap_or_default(),
    };
    entries.map(text).collect()
}

#[test]
fn actions_and_functions_are_found_again() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path().join("lib")).expect("the folder is writable");
    folder.write("lib/Sums.cal", SUMS);
    folder.write("Triples.cal", TRIPLES);
    for target in ["c", "rust", "llvm", "wasm", "cpp", "java"] {
        let text = texts(&folder.build(target, &["Triples.cal"]));
        for place in ["line 5", "line 10"] {
            assert!(text.contains(place), "{target}: an action is written in {place}");
        }
        assert!(text.contains("line 4 of Sums.cal"), "{target}: a function is written in Sums.cal");
        std::fs::remove_dir_all(folder.path().join("projects")).expect("the folder is writable");
    }
}
