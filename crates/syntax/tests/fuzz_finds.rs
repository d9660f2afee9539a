//! Inputs that fuzzing found. Each once made a reader hang or panic, or lost something on the way through the
//! formatter or a writer; what each is about stands in its name.

use headrace_source::{FileId, Severity};
use headrace_syntax::ast::{Entity, File};
use headrace_syntax::format::format;
use headrace_syntax::{erase_spans, nl, parse, xdf};
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Duration;

#[test]
fn finds_stay_fixed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz_finds");
    let mut n = 0;
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("a readable folder").path();
        let text = std::fs::read_to_string(&path).expect("a text");
        let name = path.display().to_string();
        let (send, receive) = channel();
        let work = std::thread::Builder::new().stack_size(8 << 20).spawn(move || {
            let of_xdf = path.extension().is_some_and(|e| e == "xdf");
            if of_xdf {
                through_xdf(&text)
            } else {
                through_formatter(&text)
            }
            let _ = send.send(());
        });
        let in_time = receive.recv_timeout(Duration::from_secs(30));
        assert!(in_time.is_ok(), "{name} hangs or panics");
        work.expect("a thread").join().expect("no panic");
        n += 1;
    }
    assert!(n > 0);
}

/// The tree without places, if nothing is wrong with the text.
fn read(text: &str, of_xdf: bool) -> Option<File> {
    let (tree, problems) = if of_xdf { xdf::read(FileId(0), "Find", text) } else { parse(FileId(0), text) };
    let wrong = problems.iter().any(|problem| problem.severity == Severity::Error);
    assert!(tree.is_some() || wrong);
    let mut tree = tree.filter(|_| !wrong)?;
    erase_spans(&mut tree);
    Some(tree)
}

fn through_formatter(text: &str) {
    let laid_out = format(FileId(0), text);
    let Some(tree) = read(text, false) else {
        assert!(laid_out.is_err());
        return;
    };
    let laid_out = laid_out.expect("right text is formatted");
    assert_eq!(Some(&tree), read(&laid_out, false).as_ref(), "{laid_out}");
    assert_eq!(Ok(&laid_out), format(FileId(0), &laid_out).as_ref());
    if let Entity::Network(_) = &tree.entity {
        let written = nl::write(&tree);
        assert_eq!(Some(&tree), read(&written, false).as_ref(), "{written}");
    }
}

fn through_xdf(text: &str) {
    let Some(tree) = read(text, true) else { return };
    let Entity::Network(network) = &tree.entity else { return };
    let written = xdf::write(network).expect("what XDF said, XDF can say");
    assert_eq!(Some(&tree), read(&written, true).as_ref(), "{written}");
    let written = nl::write(&tree);
    assert_eq!(Some(&tree), read(&written, false).as_ref(), "{written}");
}
