//! What holds for every `.cal` and `.nl` text: problems have places, a tree or a reason comes out, and formatting
//! neither changes what a text says nor its own result.

use crate::checks;
use headrace_source::FileId;
use headrace_syntax::ast::{Entity, File};
use headrace_syntax::format::format;
use headrace_syntax::{erase_spans, nl, parse};

/// Checks a text; returns its tree if there is nothing wrong with it.
pub fn check(text: &str) -> Option<File> {
    let (tree, problems) = parse(FileId(0), text);
    let wrong = checks::problems(text, &problems);
    assert!(tree.is_some() || wrong, "no tree and no reason");
    let laid_out = format(FileId(0), text);
    if wrong {
        assert!(laid_out.is_err(), "wrong text was formatted");
        return None;
    }
    let laid_out = laid_out.expect("right text is formatted");
    let mut tree = tree?;
    erase_spans(&mut tree);
    assert_eq!(tree, read(&laid_out), "formatting changed the text:\n{laid_out}");
    let twice = format(FileId(0), &laid_out).expect("formatted text is right");
    assert_eq!(laid_out, twice, "formatting again changes the layout");
    if let Entity::Network(_) = &tree.entity {
        let written = nl::write(&tree);
        assert_eq!(tree, read(&written), "writing NL changed the network:\n{written}");
    }
    Some(tree)
}

fn read(text: &str) -> File {
    let (tree, problems) = parse(FileId(0), text);
    assert!(!checks::problems(text, &problems), "{problems:?}\n{text}");
    let mut tree = tree.expect("read without errors");
    erase_spans(&mut tree);
    tree
}
