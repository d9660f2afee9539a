//! The actors of `std` on files.

mod text;

use headrace_engine::{CollectingHost, Engine, Outcome};
use headrace_interp::{Interpreter, Options};

/// Runs an entity of `std` to its end and returns its first output.
fn run(name: &str, parameters: &[(&str, &str)], input: &[u8], host: &mut CollectingHost) -> (Outcome, Vec<u8>) {
    let network =
        text::network(vec![text::repository()], name, parameters).unwrap_or_else(|problem| panic!("{problem}"));
    let mut engine = Interpreter::new(network, Options::default()).unwrap_or_else(|problems| panic!("{problems:?}"));
    engine.write(0, input);
    let outcome = engine.run(None, host).unwrap_or_else(|trap| panic!("{trap:?}"));
    let mut output = Vec::new();
    engine.read(0, &mut output);
    (outcome, output)
}

#[test]
fn sources_give_the_input_file() {
    let mut host = CollectingHost { source: vec![1, 2, 3, 4, 5], ..CollectingHost::default() };
    assert_eq!(run("std.io.ByteSource", &[], &[], &mut host), (Outcome::Idle, vec![1, 2, 3, 4, 5]));
    let little = run("std.io.WordSource", &[("BYTES", "2")], &[], &mut host);
    assert_eq!(little, (Outcome::Idle, vec![1, 2, 3, 4]));
    let big = run("std.io.WordSource", &[("BYTES", "2"), ("BIG_ENDIAN", "true")], &[], &mut host);
    assert_eq!(big, (Outcome::Idle, vec![2, 1, 4, 3]));
    let empty = run("std.io.ByteSource", &[], &[], &mut CollectingHost::default());
    assert_eq!(empty, (Outcome::Idle, vec![]));
}

#[test]
fn sinks_write_the_output_file() {
    let mut host = CollectingHost::default();
    run("std.io.ByteSink", &[], &[1, 2, 3], &mut host);
    run("std.io.WordSink", &[("BYTES", "4")], &[1, 2, 3, 4, 5, 6, 7, 8], &mut host);
    run("std.io.WordSink", &[("BYTES", "2"), ("BIG_ENDIAN", "true")], &[1, 2], &mut host);
    assert_eq!(host.written, [1, 2, 3, 1, 2, 3, 4, 5, 6, 7, 8, 2, 1]);
}

#[test]
fn comparison_tells_the_first_difference() {
    let mut host = CollectingHost { golden: vec![1, 2, 3], ..CollectingHost::default() };
    assert_eq!(run("std.io.ByteCompare", &[], &[1, 2, 3], &mut host).0, Outcome::Idle);
    assert_eq!(run("std.io.ByteCompare", &[], &[1, 9, 3], &mut host).0, Outcome::Exited(1));
    assert_eq!(host.complaints.len(), 1);
}

#[test]
fn the_console_prints_tokens() {
    let mut host = CollectingHost::default();
    run("std.io.Console", &[], &[1, 255], &mut host);
    run("std.io.Console", &[("WIDTH", "16"), ("HEX", "true")], &[0xef, 0xbe, 7, 0], &mut host);
    assert_eq!(String::from_utf8_lossy(&host.printed), "1\n255\nbeef\n0007\n");
}
