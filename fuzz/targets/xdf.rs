//! Reads any text as XDF; what was read survives the way through XDF and through NL.
#![no_main]

#[path = "checks.rs"]
mod checks;

use headrace_source::FileId;
use headrace_syntax::ast::Entity;
use headrace_syntax::{erase_spans, nl, parse, xdf};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let (tree, problems) = xdf::read(FileId(0), "Fuzz", text);
    let wrong = checks::problems(text, &problems);
    let Some(mut tree) = tree else {
        assert!(wrong, "no tree and no reason");
        return;
    };
    if wrong {
        return;
    }
    erase_spans(&mut tree);
    let Entity::Network(network) = &tree.entity else { panic!("XDF gives networks only") };

    let written = xdf::write(network).expect("what XDF said, XDF can say");
    let (again, problems) = xdf::read(FileId(0), "Fuzz", &written);
    assert!(!checks::problems(&written, &problems), "{problems:?}\n{written}");
    let mut again = again.expect("read without errors");
    erase_spans(&mut again);
    assert_eq!(tree, again, "through XDF:\n{written}");

    let written = nl::write(&tree);
    let (again, problems) = parse(FileId(0), &written);
    assert!(!checks::problems(&written, &problems), "{problems:?}\n{written}");
    let mut again = again.expect("read without errors");
    erase_spans(&mut again);
    assert_eq!(tree, again, "through NL:\n{written}");
});
