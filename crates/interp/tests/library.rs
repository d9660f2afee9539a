//! The actors of `std` on files.

mod text;

use headrace_engine::{CollectingHost, Engine, Outcome};
use headrace_frontend::{Session, SourceKind, SourceText, Top, elaborate};
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

#[test]
fn nothing_is_wrong_with_any_entity() {
    let mut folders = vec![text::repository().join("std")];
    let mut n = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if let Some(name) = path.to_string_lossy().strip_suffix(".cal") {
                let parts: Vec<&str> = name.split('/').collect();
                let start = parts.iter().rposition(|part| *part == "std").expect("below std");
                let name = parts[start..].join(".");
                assert_eq!(text::checked(vec![text::repository()], &name), "", "{name}");
                n += 1;
            }
        }
    }
    assert!(n >= 10, "only {n} entities were found");
}

/// The units that only declare natives are declared as the platform supplies them.
#[test]
fn declarations_agree_with_the_platform() {
    for (unit, calls) in [
        (
            "std.video.Display",
            "displayYUV_init(); compareYUV_init(); fpsPrintInit(); fpsPrintNewPicDecoded(); f := displayYUV_getFlags();
             displayYUV_displayPicture(y, y, y, 2, 2); compareYUV_comparePicture(y, y, y, 2, 2);
             n := displayYUV_getNbFrames(); displayYUV_getEvent(); displayYUV444_init(1, 1, 1, 1);
             displayYUV444_displayPicture(y, y, y, 2, 2); displayRGB_init(1, 1, 1, 1); f := displayRGB_getFlags();
             n := displayRGB_getNbFrames(); displayRGB_getEvent(); displayRGB_displayPicture(y, y, y, 2, 2);
             displayRGB_displayRect(y, y, y, 2, 2); displayRGB444_init(1, 1, 1, 1);
             displayRGB444_displayPicture(y, y, y, 2, 2); compareRGB_init(); compareRGB_comparePicture(y, y, y, 2, 2);",
        ),
        ("std.util.Simulation", "throw_away(3); print_cyclecount();"),
        (
            "std.audio.Audio",
            "audio_initAudioFormat(8000, 8, 1); audio_play(); audio_receive(3); audio_close();
             if audio_bufferFull() then f := 1; end",
        ),
        (
            "std.stdio.Source",
            "source_init(); source_readNBytes(y, 4); f := source_readByte(); n := source_sizeOfFile(); source_rewind(); source_close();
             source_decrementNbLoops(); n := source_getNbLoop();
             if source_isMaxLoopsReached() then source_exit(0); end",
        ),
        ("std.stdio.Exit", "source_exit(0);"),
        ("std.stdio.Writer", "Writer_init(); Writer_write(3); Writer_close();"),
        (
            "std.util.Compare",
            "compare_init(); compare_readByte(1); compare_byte(1); compare_NBytes(y, 2); compare_NBytesNext(y, 2, 0); compare_close();",
        ),
    ] {
        let text = format!(
            "import {unit}.*; actor Calls() ==> : uint(size=8) y[16]; uint(size=8) f; int(size=32) n;
             action ==> do {calls} end end"
        );
        let source = SourceText { display: "Calls.cal".into(), text, kind: SourceKind::Cal };
        let mut session = Session::new();
        let folders = text::Folders(vec![text::repository()]);
        let network = elaborate(&mut session, &folders, &Top::Source(source, None), &[]);
        let network = network.unwrap_or_else(|| panic!("{unit}: {:?}", session.take_diagnostics()));
        assert!(!network.actors[0].natives.is_empty(), "{unit} declares no natives");
        assert_eq!(headrace_natives::check(&network, &[]), [], "{unit}");
    }
}

#[test]
fn every_native_is_declared_where_the_table_says() {
    for native in headrace_natives::table() {
        let path = text::repository().join(native.unit.replace('.', "/")).with_extension("cal");
        let unit = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(unit.contains(&format!(" {}(", native.name)), "{} does not declare {}", native.unit, native.name);
    }
}
