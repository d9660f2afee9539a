//! The command from outside: what it prints, which files it leaves, and how it exits.

mod outcomes;

use outcomes::{folder, headrace, status, stderr, stdout, write};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

const KEY: &str = "hex:2b7e151628aed2a6abf7158809cf4f3c";
const IV: &str = "hex:f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff";

const SHOUT: &str = "actor Shout() uint(size=8) In ==> uint(size=8) Out : action In:[c] ==> Out:[c - 32] end end";
const PAIRS: &str = "actor Pairs() uint(size=16) In ==> uint(size=16) Sum, bool Odd :
    action In:[a, b] ==> Sum:[a + b], Odd:[((a + b) & 1) = 1] end end";

#[test]
fn an_actor_runs_on_both_engines() {
    let folder = folder();
    write(&folder, "Shout.cal", SHOUT);
    for engine in ["interp", "native"] {
        let output = headrace(folder.path(), &["run", "Shout.cal", "--engine", engine, "--in", "In=text:abc"], b"");
        if status(&output) == 4 {
            eprintln!("not run: {}", stderr(&output));
            continue;
        }
        assert_eq!((status(&output), stdout(&output).as_str()), (0, "ABC"), "{}", stderr(&output));
    }
}

#[test]
fn an_operation_as_one_program_does_what_its_scheduler_does() {
    let folder = folder();
    let text: Vec<u8> = (0..300_000_u32).map(|at| (at.wrapping_mul(at) >> 7) as u8).collect();
    write(&folder, "text", &text);
    let run = |fused: &str, threads: &str, strings: &[&str]| {
        let named = ["run", "ctl.codec.base64.Base64Encode", "--engine", "native"];
        let how = ["--fused", fused, "--threads", threads];
        let output = headrace(folder.path(), &[&named[..], &how, strings].concat(), &text);
        let said = stderr(&output);
        (status(&output), output.stdout.clone(), said.lines().next().unwrap_or_default().to_owned(), said)
    };
    let file = ["--in", "Input=text"];
    let cases: [&[&str]; 5] = [
        &file,
        &["--in", "Input=-"],
        &["--in", "Input=text", "--in", "Input=text:more"],
        &["--in", "Input=text:"],
        // What is more than FIFOs hold is not delivered.
        &["--in", "Input=text", "--in", "InputSize=int:2147483748"],
    ];
    for strings in cases {
        let scheduled = run("never", "1", strings);
        if scheduled.0 == 4 {
            eprintln!("not run: {}", scheduled.2);
            return;
        }
        for (fused, threads) in [("always", "1"), ("auto", "1"), ("always", "2")] {
            let whole = run(fused, threads, strings);
            assert_eq!((whole.0, &whole.1, &whole.2), (scheduled.0, &scheduled.1, &scheduled.2), "{strings:?}");
        }
    }
    // Who asks for firings gets a scheduler that counts them.
    let (plain, counted) = (run("always", "1", &file), run("always", "1", &["--stats", "--in", "Input=text"]));
    assert_eq!((plain.0, counted.0, plain.1.len()), (0, 0, 400_000));
    assert_eq!(counted.1, plain.1);
    assert!(counted.3.lines().any(|line| line.contains("firings")), "{}", counted.3);
    assert_eq!(run("always", "1", cases[4]).0, 3);
}

#[test]
fn what_native_code_cannot_be_made_of_runs_on_the_interpreter() {
    let folder = folder();
    let text = "actor Join() bool In ==> : String s := \"\"; action In:[x] ==> do s := s + \"a\"; println(s); end end";
    write(&folder, "Join.cal", text);
    let output = headrace(folder.path(), &["run", "Join.cal", "--in", "In=int:1,1"], b"");
    assert_eq!((status(&output), stdout(&output).as_str()), (0, "a\naa\n"), "{}", stderr(&output));
    let output = headrace(folder.path(), &["run", "Join.cal", "--engine", "native", "--in", "In=int:1,1"], b"");
    assert!([1, 4].contains(&status(&output)), "{}", stderr(&output));
}

#[test]
fn tokens_have_the_forms_that_are_asked_for() {
    let folder = folder();
    write(&folder, "Pairs.cal", PAIRS);
    let run = |arguments: &[&str]| {
        let all = [&["run", "Pairs.cal", "--engine", "interp"], arguments].concat();
        let output = headrace(folder.path(), &all, b"");
        assert_eq!(status(&output), 0, "{}", stderr(&output));
        stdout(&output)
    };
    assert_eq!(run(&["--in", "In=int:1,2,300,65535", "--out", "Sum=int:", "--out", "Odd=odd"]), "3,299\n");
    assert_eq!(run(&["--in", "In=int:1,2", "--out", "Sum=hex:", "--out", "Odd=int:"]), "Sum=0300\nOdd=1\n");
    assert_eq!(run(&["--in", "In:be=hex:00010002", "--out", "Sum:be=hex:", "--out", "Odd=odd"]), "0003\n");
    let odd = ["--in", "In=int:1,2,1,1,1,2,1,1,1,1,1,1,1,1,1,2", "--out", "Odd=hex:", "--out", "Sum=sum"];
    assert_eq!(run(&odd), "a1\n");
    // The one output that is not named goes to standard output as it is.
    assert_eq!(run(&["--in", "In=int:64,1", "--out", "Odd=odd"]), "A\0");
}

#[test]
fn leftover_tokens_are_a_note_and_undelivered_input_is_an_error() {
    let folder = folder();
    write(&folder, "Pairs.cal", PAIRS);
    let run = |numbers: &str| {
        headrace(folder.path(), &["run", "Pairs.cal", "--engine", "interp", "--in", numbers, "--out", "Sum=s.bin"], b"")
    };
    let output = run("In=int:1,2,3");
    assert_eq!(status(&output), 0);
    assert!(stderr(&output).contains("tokens left over"), "{}", stderr(&output));
    write(
        &folder,
        "Stop.cal",
        "actor Stop() uint(size=8) In ==> uint(size=8) Out : a: action In:[c] ==> Out:[c] end
        schedule fsm s : s (a) --> t; end end",
    );
    let output = headrace(
        folder.path(),
        &["run", "Stop.cal", "--engine", "interp", "--fifo", "2", "--in", "In=text:abcdefgh", "--out", "Out=o.bin"],
        b"",
    );
    assert_eq!(status(&output), 3, "{}", stderr(&output));
    assert!(stderr(&output).contains("undelivered"), "{}", stderr(&output));
    assert!(!folder.path().join("o.bin").exists(), "a stopped run leaves no file");
}

#[test]
fn statuses_of_wrong_use_and_wrong_input() {
    let folder = folder();
    write(&folder, "Shout.cal", SHOUT);
    write(&folder, "Wrong.cal", "actor Wrong() ==> : action ==> X:[1] end end");
    write(&folder, "junk.cal", [0xff_u8, 0xfe, 0, 1, 2]);
    let cases: &[(&[&str], i32)] = &[
        (&["nonsense"], 2),
        (&["run", "Shout.cal", "--in", "Nope=text:a"], 2),
        (&["run", "Shout.cal", "--in", "In"], 2),
        (&["run", "Shout.cal", "--in", "In=missing.bin"], 1),
        (&["run", "Shout.cal", "--out", "Out=x", "--out", "Out=y"], 2),
        (&["run", "missing.cal"], 1),
        (&["run", "no.such.Network"], 1),
        (&["check", "Wrong.cal"], 1),
        (&["check", "junk.cal"], 1),
        (&["check", "Shout.cal"], 0),
        (&["use", "aes128", "ctr", "--key", "hex:00", "--iv", IV], 2),
        (&["use", "aes128", "nope"], 2),
        (&["use", "nope", "ctr"], 2),
        (&["test", "nope"], 2),
        (&["test", "--on", "nope"], 2),
        (&["explain", "no-such-slug"], 2),
        (&["convert", "a.cal", "b.xdf"], 2),
        (&["list", "engines"], 0),
        (&["list", "primitives", "--json"], 0),
    ];
    for (arguments, expected) in cases {
        let output = headrace(folder.path(), arguments, b"");
        assert_eq!(status(&output), *expected, "{arguments:?}: {}", stderr(&output));
        if *expected != 0 {
            assert!(!output.stderr.is_empty(), "{arguments:?} says nothing");
        }
    }
}

#[test]
fn all_problems_of_a_folder_come_at_once() {
    let folder = folder();
    write(&folder, "A.cal", "actor A() ==> uint Out : action ==> Out:[one] end end");
    write(&folder, "B.cal", "actor B() ==> uint Out : action ==> Out:[two] end end");
    let output = headrace(folder.path(), &["check", "."], b"");
    let text = stderr(&output);
    assert_eq!(status(&output), 1);
    assert!(text.contains("A.cal:1:") && text.contains("B.cal:1:"), "{text}");
    assert!(text.contains("2 errors in 2 files"), "{text}");
    fs::create_dir_all(folder.path().join("ctl/hash/mine")).expect("the folder is writable");
    write(&folder, "ctl/hash/mine/primitive.toml", "title = \"Mine\"\nshape = \"hush\"\n");
    let output = headrace(folder.path(), &["check", "ctl"], b"");
    let text = stderr(&output);
    assert!(status(&output) == 1 && text.contains("manifest-value") && text.contains("in 1 file"), "{text}");
}

#[test]
fn the_library_encrypts_files_and_pipes() {
    let folder = folder();
    // SP 800-38A, F.5.1.
    let plain = "hex:6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51";
    let cipher = "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff\n";
    for variant in ["standard", "lut"] {
        let arguments = ["use", "aes128", "ctr", "--engine", "interp", "--variant", variant, "--key", KEY, "--iv", IV];
        let output = headrace(folder.path(), &[&arguments[..], &["--in", plain, "--out", "hex:"]].concat(), b"");
        assert_eq!((status(&output), stdout(&output).as_str()), (0, cipher), "{}", stderr(&output));
    }
    let message: Vec<u8> = (0..100_003u32).map(|at| (at % 253) as u8).collect();
    write(&folder, "message", &message);
    let both = ["use", "aes128", "ctr", "--engine", "interp", "--variant", "lut", "--key", KEY, "--iv", IV];
    let from_file = headrace(folder.path(), &[&both[..], &["--in", "message", "--out", "sealed"]].concat(), b"");
    assert_eq!(status(&from_file), 0, "{}", stderr(&from_file));
    let sealed = fs::read(folder.path().join("sealed")).expect("it was written");
    let from_pipe = headrace(folder.path(), &both, &message);
    assert!(from_pipe.stdout == sealed, "a pipe gives the same as a file");
    let back = headrace(folder.path(), &both, &sealed);
    assert!(back.stdout == message, "counter mode undoes itself");
}

#[test]
fn a_forbidden_length_leaves_no_file() {
    let folder = folder();
    let arguments = ["use", "aes128", "cbc-encrypt", "--engine", "interp", "--key", KEY, "--iv", IV, "--out", "out"];
    for input in [&b"abc"[..], &[0; 40]] {
        let output = headrace(folder.path(), &arguments, input);
        assert_eq!(status(&output), 1);
        assert!(stderr(&output).contains("multiple of 16"), "{}", stderr(&output));
        assert_eq!(fs::read_dir(folder.path()).expect("it is there").count(), 0, "no file is left, hidden or not");
    }
}

#[test]
fn a_forged_message_leaves_nothing() {
    let message: Vec<u8> = (0..5_003u32).map(|at| (at % 251) as u8).collect();
    for set in ["aes128-gcm", "aes128-ccm", "aes128-ocb3"] {
        let folder = folder();
        write(&folder, "ad", vec![0x5a; 9_001]);
        let both = |operation, rest: &[&str], input: &[u8]| {
            let common = ["use", set, operation, "--engine", "interp", "--variant", "lut", "--key", KEY];
            let strings = ["--nonce", "hex:000102030405060708090a0b", "--ad", "file:ad"];
            headrace(folder.path(), &[&common[..], &strings[..], rest].concat(), input)
        };
        let sealed = both("aead-encrypt", &[], &message);
        assert_eq!(status(&sealed), 0, "{set}: {}", stderr(&sealed));
        let sealed = sealed.stdout;
        assert_eq!(sealed.len(), message.len() + 16, "{set}");
        let opened = both("aead-decrypt", &[], &sealed);
        assert!(opened.stdout == message, "{set}: {}", stderr(&opened));
        for at in [0, message.len() - 1, message.len(), sealed.len() - 1] {
            let mut forged = sealed.clone();
            forged[at] ^= 0x40;
            for rest in [&["--out", "opened"][..], &[][..]] {
                let refused = both("aead-decrypt", rest, &forged);
                assert_eq!((status(&refused), refused.stdout.len()), (1, 0), "{set}, byte {at}: {}", stderr(&refused));
            }
        }
        assert_eq!(fs::read_dir(folder.path()).expect("it is there").count(), 1, "only `ad` is there, {set}");
    }
}

#[test]
fn the_receiver_says_how_long_a_tag_is() {
    let folder = folder();
    let gcm = |operation, rest: &[&str], input: &[u8]| {
        let common = ["use", "aes128-gcm", operation, "--engine", "interp", "--variant", "lut", "--key", KEY];
        headrace(folder.path(), &[&common[..], &["--nonce", "hex:0001"], rest].concat(), input)
    };
    let sealed = gcm("aead-encrypt", &["--set", "TAG_BYTES=12"], b"abc");
    assert_eq!((status(&sealed), sealed.stdout.len()), (0, 15), "{}", stderr(&sealed));
    let opened = gcm("aead-decrypt", &["--set", "TAG_BYTES=12"], &sealed.stdout);
    assert_eq!((status(&opened), stdout(&opened).as_str()), (0, "abc"), "{}", stderr(&opened));
    let short = gcm("aead-decrypt", &["--tag", "hex:000102030405060708090a0b"], b"abc");
    assert_eq!((status(&short), short.stdout.len()), (2, 0));
    assert!(stderr(&short).contains("it must have 16 bytes"), "{}", stderr(&short));
    let refused = gcm("aead-encrypt", &["--set", "TAG_BYTES=5"], b"abc");
    assert_eq!((status(&refused), refused.stdout.len()), (2, 0));
    assert!(stderr(&refused).contains("must be 4, 8, 12"), "{}", stderr(&refused));
}

#[test]
fn a_tag_of_any_length_must_be_given() {
    let folder = folder();
    let manifest = "title = \"Mark\"\nshape = \"mac\"\nstandard = \"own\"\n[sets.mark]\nkey = 4\ntag = { min = 1 }\n\
                    operations.mac.network = \"Mark\"\noperations.verify.network = \"Verify\"\n";
    fs::create_dir_all(folder.path().join("own/mark")).expect("the folder is writable");
    write(&folder, "own/mark/primitive.toml", manifest);
    let verify =
        ["-L", ".", "use", "mark", "verify", "--engine", "interp", "--key", "hex:00000000", "--in", "text:abc"];
    let refused = headrace(folder.path(), &verify, b"");
    assert_eq!((status(&refused), refused.stdout.len()), (2, 0), "{}", stderr(&refused));
    let said = stderr(&refused);
    assert!(said.contains("`mark-verify` may have any length") && said.contains("--tag gives it"), "{said}");
    // With a tag, it is looked for what verifies it.
    let given = headrace(folder.path(), &[&verify[..], &["--tag", "hex:00"]].concat(), b"");
    assert!(status(&given) == 1 && stderr(&given).contains("own.mark.Verify"), "{}", stderr(&given));
}

#[test]
fn keys_come_from_files_and_the_environment() {
    let folder = folder();
    write(
        &folder,
        "key",
        [0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6, 0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f, 0x3c],
    );
    let arguments = [
        "use",
        "aes128",
        "ctr",
        "--engine",
        "interp",
        "--variant",
        "lut",
        "--iv",
        IV,
        "--in",
        "text:x",
        "--out",
        "hex:",
        "--key",
    ];
    let plain = headrace(folder.path(), &[&arguments[..], &[KEY]].concat(), b"");
    let file = headrace(folder.path(), &[&arguments[..], &["file:key"]].concat(), b"");
    let variable = Command::new(env!("CARGO_BIN_EXE_headrace"))
        .args(arguments)
        .arg("env:HEADRACE_TEST_KEY")
        .env("HEADRACE_TEST_KEY", KEY.trim_start_matches("hex:"))
        .output()
        .expect("the command starts");
    assert_eq!(status(&plain), 0, "{}", stderr(&plain));
    assert_eq!(stdout(&plain), stdout(&file));
    assert_eq!(stdout(&plain), stdout(&variable));
    let missing = headrace(folder.path(), &[&arguments[..], &["env:HEADRACE_NO_SUCH"]].concat(), b"");
    assert_eq!(status(&missing), 2);
}

#[test]
fn formatting_is_whole_or_nothing() {
    let folder = folder();
    write(&folder, "Good.cal", SHOUT);
    write(&folder, "Bad.cal", "actor Bad( ==> : end");
    let output = headrace(folder.path(), &["fmt", "."], b"");
    assert_eq!(status(&output), 1);
    assert_eq!(fs::read_to_string(folder.path().join("Good.cal")).expect("it is there"), SHOUT);
    fs::remove_file(folder.path().join("Bad.cal")).expect("it is there");
    assert_eq!(status(&headrace(folder.path(), &["fmt", "--check", "."], b"")), 1);
    assert_eq!(status(&headrace(folder.path(), &["fmt", "."], b"")), 0);
    assert_eq!(status(&headrace(folder.path(), &["fmt", "--check", "."], b"")), 0);
}

#[test]
fn networks_are_converted_and_drawn() {
    let folder = folder();
    write(&folder, "Shout.cal", SHOUT);
    let twice = "network Twice() uint(size=8) In ==> uint(size=8) Out : entities a = Shout(); b = Shout();
        structure In --> a.In; a.Out --> b.In; b.Out --> Out; end";
    write(&folder, "Twice.nl", twice);
    fs::create_dir(folder.path().join("xdf")).expect("the folder is writable");
    let output = headrace(folder.path(), &["convert", "Twice.nl", "xdf/Twice.xdf"], b"");
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let run = |network: &str| {
        headrace(folder.path(), &["-L", ".", "run", network, "--engine", "interp", "--in", "In=int:100"], b"")
    };
    let (nl, xdf) = (run("Twice.nl"), run("xdf/Twice.xdf"));
    assert_eq!((status(&nl), nl.stdout.as_slice()), (0, &b"$"[..]), "{}", stderr(&nl));
    assert_eq!((status(&xdf), xdf.stdout.as_slice()), (0, &b"$"[..]), "{}", stderr(&xdf));
    let output = headrace(folder.path(), &["graph", "Twice.nl", "-o", "t.svg"], b"");
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let picture = fs::read_to_string(folder.path().join("t.svg")).expect("it was written");
    assert!(picture.starts_with("<svg ") && picture.matches("class=\"actor\"").count() == 2);
}

#[test]
fn firings_and_tokens_are_traced() {
    let folder = folder();
    write(&folder, "Shout.cal", SHOUT);
    for (file, expected) in [("t.json", "\"action\""), ("t.vcd", "$timescale")] {
        let output = headrace(folder.path(), &["run", "Shout.cal", "--in", "In=text:ab", "--trace", file], b"");
        assert_eq!((status(&output), stdout(&output).as_str()), (0, "AB"), "{}", stderr(&output));
        let trace = fs::read_to_string(folder.path().join(file)).expect("it was written");
        assert!(trace.contains(expected), "{trace}");
    }
    let output =
        headrace(folder.path(), &["run", "Shout.cal", "--engine", "interp", "--in", "In=text:ab", "--stats"], b"");
    assert!(stderr(&output).contains("Shout.action@1"), "{}", stderr(&output));
}

#[test]
fn a_run_time_error_is_shown_at_its_place() {
    let folder = folder();
    write(
        &folder,
        "Div.cal",
        "actor Div() uint(size=8) In ==> uint(size=8) Out : action In:[c] ==> Out:[8 / c] end end",
    );
    for engine in ["interp", "native"] {
        let output = headrace(folder.path(), &["run", "Div.cal", "--engine", engine, "--in", "In=int:2,0"], b"");
        if status(&output) != 4 {
            assert_eq!(status(&output), 1, "{}", stderr(&output));
            assert!(stderr(&output).contains("Div.cal:1:"), "{}", stderr(&output));
        }
    }
}

#[test]
fn known_answers_pass_and_wrong_ones_fail() {
    let folder = folder();
    let record = |cipher: &str| {
        format!(
            "Count = 1\nKey = 000102030405060708090a0b0c0d0e0f\nPT = 00112233445566778899aabbccddeeff\nCT = {cipher}\n"
        )
    };
    write(&folder, "aes128_ecb.rsp", record("69c4e0d86a7b0430d8cdb78070b4c55a"));
    let run = || {
        headrace(
            folder.path(),
            &["test", "aes128", "--on", "interp", "--vectors", "aes128_ecb.rsp", "--json", "r.json"],
            b"",
        )
    };
    let output = run();
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert!(stdout(&output).ends_with("1 passed, 0 failed, 0 skipped\n"), "{}", stdout(&output));
    write(&folder, "aes128_ecb.rsp", record("69c4e0d86a7b0430d8cdb78070b4c55b"));
    let output = run();
    assert_eq!(status(&output), 1);
    assert!(stdout(&output).ends_with("0 passed, 1 failed, 0 skipped\n"), "{}", stdout(&output));
    let rows = fs::read_to_string(folder.path().join("r.json")).expect("it was written");
    assert!(rows.contains("\"result\": \"failed\""), "{rows}");
}

#[test]
fn a_reader_that_goes_away_ends_the_command_quietly() {
    let folder = folder();
    write(&folder, "Copy.cal", "actor Copy() uint(size=8) In ==> uint(size=8) Out : action In:[c] ==> Out:[c] end end");
    write(&folder, "big", vec![b'x'; 4 << 20]);
    let line = format!("{} run Copy.cal --engine interp --in In=big | head -c 10", env!("CARGO_BIN_EXE_headrace"));
    let output = Command::new("sh").args(["-c", &line]).current_dir(folder.path()).output().expect("there is a shell");
    assert_eq!(stdout(&output), "xxxxxxxxxx");
    assert_eq!(stderr(&output), "");
}

/// True when the command answers to `--version`.
fn is_there(tool: &str) -> bool {
    Command::new(tool)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

#[test]
fn a_project_in_c_builds_and_passes_its_own_test() {
    if !is_there("make") || !is_there("cc") {
        eprintln!("not run: no make or no cc");
        return;
    }
    let folder = folder();
    write(&folder, "Shout.cal", SHOUT);
    let cases = [
        ("build Shout.cal --target c -o project", "the streams are those of the interpreter"),
        (
            "build aes128 --operation encrypt --operation ctr --operation cbc-pad-decrypt --target c --variant lut -o aes",
            " 0 failed",
        ),
    ];
    for (arguments, expected) in cases {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let output = headrace(folder.path(), &arguments, b"");
        assert_eq!(status(&output), 0, "{}", stderr(&output));
        let project = folder.path().join(arguments[arguments.len() - 1]);
        let made = Command::new("make")
            .args(["CC=cc", "CFLAGS=-O1", "test"])
            .current_dir(&project)
            .output()
            .expect("make runs");
        let text = format!("{}{}", stdout(&made), stderr(&made));
        assert!(made.status.success() && text.contains(expected), "{text}");
        for file in ["CMakeLists.txt", "README.md", "Makefile", "test/test.c"] {
            assert!(project.join(file).exists(), "{file} is missing");
        }
    }
    let again = headrace(folder.path(), &["build", "Shout.cal", "--target", "c", "-o", "again"], b"");
    assert_eq!(status(&again), 0);
    let read = |name: &str| fs::read(folder.path().join(name).join("CMakeLists.txt")).expect("it was written");
    assert!(read("project") == read("again"), "the same input gives the same files");
    assert_eq!(status(&headrace(folder.path(), &["build", "--target", "list"], b"")), 0);
    assert_eq!(status(&headrace(folder.path(), &["build", "Shout.cal", "--target", "nope", "-o", "x"], b"")), 2);
    assert_eq!(status(&headrace(folder.path(), &["build", "aes", "--target", "c", "-o", "x"], b"")), 2);
}

#[test]
fn a_project_says_why_an_own_unit_keeps_its_scheduler() {
    let folder = folder();
    fs::create_dir_all(folder.path().join("own/sum")).unwrap();
    let sum = |bits: u32| {
        format!(
            "package own.sum;\nactor Sum() uint(size=32) InputSize, uint(size=8) Input ==> uint(size=8) Output :\n\
             uint(size={bits}) sum;\nuint(size=32) left;\nbool last;\n\
             chunk: action InputSize:[n] ==> do left := n & 0x7fffffff; last := n >= 0x80000000; end\n\
             byte: action Input:[x] ==> guard left > 0 do sum := 257 * sum + x; left := left - 1; end\n\
             more: action ==> guard left = 0, not last end\n\
             finish: action ==> Output:[sum >> ({bits} - 8)] guard left = 0, last do sum := 0; end\n\
             schedule fsm message : message (chunk) --> bytes; bytes (byte) --> bytes;\n\
             bytes (more) --> message; bytes (finish) --> message; end\nend\n"
        )
    };
    let manifest = "title = \"Sum\"\nshape = \"hash\"\nstandard = \"own\"\n[sets.sum]\noutput = 1\n\
                    [sets.sum.operations.hash]\nnetwork = \"Sum\"\n";
    write(&folder, "own/sum/primitive.toml", manifest);
    let build = |bits: u32| {
        write(&folder, "own/sum/Sum.cal", sum(bits));
        let words = ["-L", ".", "build", "sum", "--operation", "hash", "--target", "c", "-o"];
        let output = headrace(folder.path(), &[&words[..], &[&*format!("of{bits}")]].concat(), b"");
        assert_eq!(status(&output), 0, "{}", stderr(&output));
        stderr(&output)
    };
    assert!(!build(64).contains("keeps the scheduler"));
    let said = build(200);
    assert!(said.contains("`sum-hash` keeps the scheduler") && said.contains("Sum.cal:3:"), "{said}");
}

#[test]
fn a_cipher_in_the_words_of_its_paper_becomes_a_loop_and_what_does_not_says_why() {
    let folder = folder();
    // PRESENT-80 (Bogdanov et al., CHES 2007), nibble by nibble and bit by bit; `steps` are those of its permutation.
    let cipher = |steps: &str| {
        format!(
            "package own.p;\nactor P() bool Rekey, uint(size=8) Key, uint(size=32) Blocks, uint(size=8) Input\n\
             ==> uint(size=8) Output :\n\
             List(type:uint(size=4), size=16) SBOX = [12, 5, 6, 11, 9, 0, 10, 13, 3, 14, 15, 8, 4, 7, 1, 2];\n\
             List(type:uint(size=64), size=32) keys;\nuint(size=32) left;\n\
             keep: action Rekey:[r] ==> guard not r end\n\
             renew: action Rekey:[r], Key:[key] repeat 10 ==> guard r var uint(size=80) k := 0 do\n\
             foreach int i in 0 .. 9 do k := (k << 8) | key[i]; end\n\
             foreach int i in 1 .. 32 do keys[i - 1] := k >> 16; k := (k << 61) | (k >> 19);\n\
             k := (k & 0x0fffffffffffffffffff) | (SBOX[(k >> 76) & 15] << 76); k := k ^ (i << 15); end end\n\
             burst: action Blocks:[n] ==> do left := n; end\n\
             block: action Input:[x] repeat 8 ==> Output:[y] repeat 8 guard left > 0\n\
             var uint(size=64) s := 0, uint(size=64) t, uint(size=64) z, uint(size=8) i, List(type:uint(size=8), size=8) y do\n\
             foreach int b in 0 .. 7 do s := (s << 8) | x[b]; end\n\
             foreach int r in 0 .. 30 do s := s ^ keys[r]; t := 0; z := 0;\n\
             foreach int n in 0 .. 15 do t := t | (SBOX[(s >> (4 * n)) & 15] << (4 * n)); end\n{steps}\ns := z; end\n\
             s := s ^ keys[31]; foreach int b in 0 .. 7 do y[b] := s >> (56 - 8 * b); end left := left - 1; end\n\
             finish: action ==> guard left = 0 end\n\
             schedule fsm idle : idle (keep) --> keyed; idle (renew) --> keyed; keyed (burst) --> blocks;\n\
             blocks (block) --> blocks; blocks (finish) --> idle; end\nend\n"
        )
    };
    let manifest = "title = \"P\"\nshape = \"block-cipher\"\nstandard = \"own\"\n[sets.p]\nkey = { bytes = 10 }\n\
                    block_bytes = 8\n[sets.p.operations.encrypt]\nnetwork = \"P()\"\n";
    fs::create_dir_all(folder.path().join("own/p")).unwrap();
    write(&folder, "own/p/primitive.toml", manifest);
    let loops = |steps: &str| {
        write(&folder, "own/p/P.cal", cipher(steps));
        let output = headrace(folder.path(), &["-L", ".", "analyze", "p", "ecb-encrypt", "--loops"], b"");
        assert_eq!(status(&output), 0, "{}", stderr(&output));
        stdout(&output)
    };
    let counted =
        "foreach int n in 0 .. 63 do z := z | (((t >> n) & 1) << if n = 63 then 63 else 16 * n mod 63 end); end";
    let said = loops(counted);
    assert!(said.contains("iterations in any order: 8 Input ==> 8 Output"), "{said}");
    let words = ["-L", ".", "use", "p", "ecb-encrypt", "--key", "hex:00000000000000000000", "--in"];
    let output = headrace(folder.path(), &[&words[..], &["hex:0000000000000000", "--out", "hex:"]].concat(), b"");
    assert_eq!(stdout(&output).trim(), "5579c1387b228445", "{}", stderr(&output));
    // How often this goes round is not known before the data are.
    let open = "i := 0; while i < 200 do z := z ^ (t >> (i & 63)); i := i + 1 + (z & 7); end";
    let said = loops(open);
    assert!(said.contains("no loop: ") && said.contains("P.cal:"), "{said}");
}

#[test]
fn measuring_goes_on_where_it_ended() {
    let folder = folder();
    let bench = |more: &[&str]| {
        let words = ["bench", "base64", "encode", "--sizes", "64", "--pairs", "1", "--json", "r.json"];
        headrace(folder.path(), &[&words, more].concat(), b"")
    };
    if !is_there("cc") {
        return;
    }
    let first = bench(&["--resume"]);
    assert_eq!(status(&first), 0, "{}", stderr(&first));
    let read = || fs::read_to_string(folder.path().join("r.json")).expect("results were written");
    let mut results: serde_json::Value = serde_json::from_str(&read()).expect("results are JSON");
    assert_eq!(results["verdicts"][0]["primitive"], "base64");
    results["verdicts"][0]["note"] = "of the first session".into();
    write(&folder, "r.json", results.to_string());
    assert_eq!(status(&bench(&["--resume"])), 0);
    let resumed: serde_json::Value = serde_json::from_str(&read()).expect("results are JSON");
    assert_eq!(resumed["verdicts"], results["verdicts"]);
    assert_eq!(resumed["rows"], results["rows"]);

    results["machine"]["commit"] = "0123".into();
    write(&folder, "r.json", results.to_string());
    let refused = bench(&["--resume"]);
    assert_eq!(status(&refused), 1);
    assert!(stderr(&refused).contains("another version"), "{}", stderr(&refused));
    assert_eq!(read(), results.to_string(), "what was there stays");
}

#[test]
fn messages_in_pieces_are_measured_beside_the_same_of_others() {
    if !is_there("cc") {
        return;
    }
    let folder = folder();
    let output = headrace(folder.path(), &["bench", "chacha20", "stream", "--pairs", "1", "--json", "r.json"], b"");
    assert!([0, 1].contains(&status(&output)), "{}", stderr(&output));
    let text = fs::read_to_string(folder.path().join("r.json")).expect("results were written");
    let results: serde_json::Value = serde_json::from_str(&text).expect("results are JSON");
    let rows = results["rows"].as_array().expect("there are rows");
    for piece in [64, 1024, 16384] {
        let of_piece: Vec<_> = rows.iter().filter(|row| row["pieces"] == piece).collect();
        assert!(of_piece.iter().any(|row| row["implementation"] == "headrace"), "{piece}");
        // Two variants of ours at least: their outputs are the same.
        assert!(of_piece.iter().all(|row| row["verified"].is_string()), "{piece}: {text}");
        let verdicts = results["verdicts"].as_array().expect("there are verdicts");
        assert!(verdicts.iter().any(|verdict| verdict["pieces"] == piece && verdict["status"] != "error"), "{piece}");
    }
}

#[test]
fn loops_say_how_they_were_shown_to_be_right() {
    let folder = folder();
    let text = headrace(folder.path(), &["analyze", "base64", "encode", "--loops"], b"");
    assert_eq!(status(&text), 0, "{}", stderr(&text));
    let json = headrace(folder.path(), &["analyze", "base64", "encode", "--loops", "--json"], b"");
    let all: serde_json::Value = serde_json::from_str(&stdout(&json)).expect("it is JSON");
    let loops = all[0]["loops"].as_array().expect("there are loops");
    assert!(!loops.is_empty());
    for way in loops.iter().flat_map(|one| one["ways"].as_array().expect("ways")) {
        let name = way["name"].as_str().expect("a name");
        let evidence = way["evidence"].as_array().expect("evidence");
        assert!(!evidence.is_empty(), "{name}");
        assert!(stdout(&text).contains(name), "{name}");
        for one in evidence {
            assert!(stdout(&text).contains(one["text"].as_str().expect("a text")), "{name}");
        }
    }
}

#[test]
fn automata_are_shown_as_text() {
    let folder = folder();
    let shown = |words: &[&str]| {
        let output = headrace(folder.path(), &[&["analyze"], words, &["--automaton"]].concat(), b"");
        assert_eq!(status(&output), 0, "{}", stderr(&output));
        stdout(&output)
    };
    // An operation in the states of typical messages, and an actor in all of its own.
    let of_operation = shown(&["base64", "encode"]);
    assert!(of_operation.starts_with("automaton {") && of_operation.contains("  loop "), "{of_operation}");
    write(
        &folder,
        "Doubles.cal",
        "actor Doubles() uint(size=8) In ==> uint(size=8) Out:\n    action In:[x] ==> Out:[2 * x] end\nend\n",
    );
    let of_actor = shown(&["Doubles.cal"]);
    assert!(of_actor.contains("output 0 0 v") && !of_actor.contains("deoptimize"), "{of_actor}");
    let refused = headrace(folder.path(), &["analyze", "base64", "encode", "--automaton", "--json"], b"");
    assert_eq!(status(&refused), 2);
}

#[test]
fn passes_are_listed_shown_and_left_out() {
    let folder = folder();
    let run = |words: &[&str]| headrace(folder.path(), words, b"");
    let listed = stdout(&run(&["list", "passes"]));
    for name in ["reassociate-by-arrival", "gives up    sums in the order of the network", "scalar-iteration"] {
        assert!(listed.contains(name), "{listed}");
    }
    let shown = |words: &[&str]| {
        let output = run(&[&["analyze", "base64", "encode", "--automaton", "--passes"], words].concat());
        assert_eq!(status(&output), 0, "{}", stderr(&output));
        stdout(&output)
    };
    let split = shown(&["split-iteration", "--print-before", "all"]);
    for part in
        [", loop 0, before split-iteration\nloop {", "after split-iteration\npieces: loop {", "pieces an iteration"]
    {
        assert!(split.contains(part), "{split}");
    }
    let both = shown(&["scalar-loop,scalar-iteration+short", "--stop-after", "shift-registers"]);
    assert!(both.contains(", loop 0, an iteration, "), "{both}");
    for (wrong, status_of, reason) in [
        (&["peeling"][..], 2, "`peeling` is no pass and no pipeline"),
        (&["majority-cse", "--stop-after", "sink-copies"], 2, "`sink-copies` is none of the passes that run"),
        (&["split-iteration,shift-registers"], 1, "comes behind a pass that makes parts"),
    ] {
        let output = run(&[&["analyze", "base64", "encode", "--automaton", "--passes"], wrong].concat());
        assert_eq!(status(&output), status_of, "{wrong:?}");
        assert!(stderr(&output).contains(reason), "{wrong:?}: {}", stderr(&output));
    }
    let build = ["build", "base64", "--operation", "encode", "--target", "c"];
    let with = |more: &[&str]| run(&[&build[..], more].concat());
    let without = with(&["-o", "without", "--passes=-split-iteration,-tabulate"]);
    assert_eq!(status(&without), 0, "{}", stderr(&without));
    let limited = with(&["-o", "limited", "--pass-limit", "1"]);
    assert!(stderr(&limited).contains("; change 1 is by "), "{}", stderr(&limited));
    assert_eq!(status(&with(&["-o", "wrong", "--passes=split-iteration"])), 2);
}

#[test]
fn machines_are_listed_with_their_figures() {
    let folder = folder();
    let run = |words: &[&str]| stdout(&headrace(folder.path(), words, b""));
    let listed = run(&["list", "machines"]);
    for line in ["avx2       ", "SIMD level: x86-64 with AVX2", "zen4 ", "cost model: AMD Zen 4"] {
        assert!(listed.contains(line), "{listed}");
    }
    let details: serde_json::Value = serde_json::from_str(&run(&["list", "machines", "--json"])).expect("it is JSON");
    let of = |name: &str| {
        let rows = details.as_array().into_iter().flatten();
        rows.map(|row| (&row["name"], &row["details"])).find(|row| row.0 == name).expect("it is listed").1
    };
    assert_eq!(of("avx2")["costs"], "zen4");
    let gate = &of("zen4")["bitslice"]["gate"];
    assert!(gate["value"].as_f64().is_some() && gate["source"].as_str().is_some(), "{gate}");
}

#[test]
fn manual_pages_completions_and_reference_pages_are_written() {
    let folder = folder();
    assert_eq!(status(&headrace(folder.path(), &["man", "-o", "man"], b"")), 0);
    assert!(folder.path().join("man/headrace-use.1").exists());
    for shell in ["bash", "zsh", "fish"] {
        let output = headrace(folder.path(), &["completions", shell], b"");
        assert!(status(&output) == 0 && stdout(&output).contains("headrace"), "{shell}");
    }
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/results/referee.json");
    let results = results.to_str().expect("the path is a text");
    let output = headrace(folder.path(), &["doc", "-o", "doc", "--results", results], b"");
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let read = |page: &str| fs::read_to_string(folder.path().join("doc").join(page)).expect("it was written");
    let page = read("ctl-block-aes.html");
    assert!(page.contains("headrace use aes128 encrypt --key") && page.contains("<svg "));
    assert!(page.contains("constant-time") && page.contains("FIPS 197") && page.contains("Weaknesses"));
    assert!(page.contains("<code>aes128 ctr</code>") && page.contains("<th>fastest other library</th>"));
    let page = read("ctl-mode-ctr.html");
    assert!(page.contains("headrace use aes128 ctr --key") && page.contains("<svg "));
    assert!(page.contains("MB/s, one core") && page.contains("the fastest other library"));
    let page = read("ctl-aead-gcm.html");
    assert!(page.contains("but for the variant <code>boolean</code>"), "weaknesses are sentences with code");
    let index = read("index.html");
    assert!(
        index.contains("<input id=\"filter\"") && index.contains("<td>standard, lut, boolean (constant-time)</td>")
    );
    for page in fs::read_dir(folder.path().join("doc")).expect("it is there") {
        let page = fs::read_to_string(page.expect("it can be listed").path()).unwrap_or_default();
        assert_eq!(page.matches("<table>").count(), page.matches("<div class=\"scroll\"><table>").count());
    }
    let output = headrace(folder.path(), &["doc", "-o", "other", "--results", "no.json"], b"");
    assert!(status(&output) != 0 && stderr(&output).contains("no.json") && !folder.path().join("other").exists());
}

#[test]
fn a_network_is_written_out_plainly() {
    let folder = folder();
    let output = headrace(folder.path(), &["convert", "--expand", "ctl.block.aes.Aes128Ctr", "xdf"], b"");
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let run = |arguments: &[&str]| headrace(folder.path(), arguments, b"");
    let message = [
        "--engine",
        "interp",
        "--in",
        "Key=hex:2b7e151628aed2a6abf7158809cf4f3c",
        "--in",
        "IV=hex:f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff",
        "--in",
        "Input=hex:6bc1bee22e409f96e93d7e117393172a",
        "--out",
        "Output=hex:",
    ];
    let plain = run(&[&["-L", "xdf", "run", "xdf/ctl/block/aes/Aes128Ctr.xdf"], &message[..]].concat());
    assert_eq!(status(&plain), 0, "{}", stderr(&plain));
    assert_eq!(stdout(&plain), "874d6191b620e3261bef6864990db6ce\n");
    // Without --out, the string goes to standard output and its chunk sizes go nowhere.
    let bare = run(&[&["run", "ctl.block.aes.Aes128Ctr"], &message[..message.len() - 2]].concat());
    assert_eq!((status(&bare), bare.stdout.len()), (0, 16), "{}", stderr(&bare));
}

#[test]
fn diagnostics_are_explained() {
    let folder = folder();
    let all = headrace(folder.path(), &["explain"], b"");
    let slugs: Vec<String> =
        stdout(&all).lines().filter_map(|line| line.split_whitespace().next().map(str::to_owned)).collect();
    assert!(slugs.len() > 20);
    for slug in slugs {
        let page = headrace(folder.path(), &["explain", &slug], b"");
        assert!(status(&page) == 0 && stdout(&page).starts_with(&format!("# {slug}\n")), "`{slug}` has no page");
    }
}
