//! Files of platforms: that each says what it is, what is said of a wrong one, and that numbers have sources.

use headrace_platform::{Figure, File, built_in, find};
use serde::Deserialize;

#[test]
fn every_file_says_what_it_is() {
    for file in built_in() {
        let head = file.head().unwrap_or_else(|wrong| panic!("{wrong}"));
        assert!(!head.about.is_empty(), "{}: `about` is empty", file.path);
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Small {
    depth: Figure<u32>,
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let right = File::new("here/mine.toml", "depth = { value = 4, source = \"measured\" }\n").parse::<Small>();
    assert_eq!(*right.expect("it is right").depth, 4);
    let said = |text: &str| File::new("here/mine.toml", text).parse::<Small>().expect_err("it is wrong").to_string();
    let unknown = said("depth = { value = 4, source = \"measured\" }\n  width = 3\n");
    assert!(unknown.starts_with("here/mine.toml:2:3: unknown field `width`"), "{unknown}");
    assert!(said("depth = { value = 4, source = \" \" }").contains("say where the number comes from"));
    assert!(said("depth = 4").starts_with("here/mine.toml:1:9: "), "{}", said("depth = 4"));
    let absent = find("absent").expect_err("there is none").to_string();
    assert!(absent.contains("there is no platform of that name; there are "), "{absent}");
}
