//! Sealed files: round trips at lengths about whole segments, and everything that can be done to one on its way.

#[expect(dead_code, reason = "each test uses a part of it")]
mod outcomes;

use outcomes::{folder, headrace, status, stderr, write};
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Output, Stdio};

const HEADER: usize = 87;
const SEGMENT: usize = 65_536;
const SEALED_SEGMENT: usize = SEGMENT + 16;

/// Little work for the key: what it costs is not what is tested.
const CHEAP: [&str; 4] = ["--memory", "1", "--passes", "1"];

fn text(length: usize) -> Vec<u8> {
    (0..length as u32).map(|at| (at.wrapping_mul(at) >> 5) as u8).collect()
}

/// Seals what is given, by a pipe.
fn sealed(folder: &tempfile::TempDir, text: &[u8]) -> Vec<u8> {
    write(folder, "passphrase", b"right\n");
    let output = headrace(folder.path(), &[&["seal", "--passphrase-file", "passphrase"][..], &CHEAP].concat(), text);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    output.stdout
}

/// Opens what is given, by a pipe.
fn opened(folder: &tempfile::TempDir, sealed: &[u8]) -> Output {
    write(folder, "passphrase", b"right\n");
    headrace(folder.path(), &["open", "--passphrase-file", "passphrase"], sealed)
}

#[test]
fn what_is_sealed_opens_at_all_lengths_about_segments() {
    let folder = folder();
    for length in [0, 1, 15, 16, 17, SEGMENT - 1, SEGMENT, SEGMENT + 1, 2 * SEGMENT - 1, 2 * SEGMENT, 3 * SEGMENT + 5] {
        let text = text(length);
        let sealed = sealed(&folder, &text);
        let n_segments = length.div_ceil(SEGMENT).max(1);
        assert_eq!(sealed.len(), HEADER + length + 16 * n_segments, "{length}");
        let output = opened(&folder, &sealed);
        assert!(status(&output) == 0 && output.stdout == text, "{length}: {}", stderr(&output));
    }
    // Twice the same is never the same twice.
    assert_ne!(sealed(&folder, b"same"), sealed(&folder, b"same"));
}

#[test]
fn what_was_cut_off_moved_or_changed_is_refused() {
    let folder = folder();
    let text = text(3 * SEGMENT + 100);
    let whole = sealed(&folder, &text);
    let segment = |number: usize| {
        let begin = HEADER + number * SEALED_SEGMENT;
        whole[begin..whole.len().min(begin + SEALED_SEGMENT)].to_vec()
    };
    let header = whole[..HEADER].to_vec();
    // A pipe gets what was verified before, and nothing else.
    let refused = |what: &str, changed: &[u8], good_segments: usize| {
        let output = opened(&folder, changed);
        assert_eq!(status(&output), 1, "{what}: {}", stderr(&output));
        assert!(output.stdout == text[..good_segments * SEGMENT], "{what}: {} bytes came out", output.stdout.len());
        assert_eq!(stderr(&output).contains("was passed on"), good_segments > 0, "{what}: {}", stderr(&output));
        // A file is not there at all.
        write(&folder, "changed", changed);
        let arguments = ["open", "changed", "--out", "text", "--passphrase-file", "passphrase"];
        let output = headrace(folder.path(), &arguments, b"");
        assert_eq!((status(&output), folder.path().join("text").exists()), (1, false), "{what}");
    };
    for number in 0..=3 {
        let border = HEADER + number * SEALED_SEGMENT;
        refused(&format!("cut off before segment {number}"), &whole[..border], number.saturating_sub(1));
        refused(&format!("cut off in segment {number}"), &whole[..border + 20], number);
        refused(
            &format!("cut off in the tag of segment {number}"),
            &whole[..whole.len().min(border + SEALED_SEGMENT) - 1],
            number,
        );
        for at in [border, whole.len().min(border + SEALED_SEGMENT) - 1] {
            let mut changed = whole.clone();
            changed[at] ^= 0x10;
            refused(&format!("changed in segment {number}"), &changed, number);
        }
    }
    let joined = |order: &[usize]| {
        let mut joined = header.clone();
        order.iter().for_each(|number| joined.extend(segment(*number)));
        joined
    };
    assert!(joined(&[0, 1, 2, 3]) == whole);
    refused("swapped", &joined(&[1, 0, 2, 3]), 0);
    refused("swapped", &joined(&[0, 2, 1, 3]), 1);
    refused("repeated", &joined(&[0, 0, 1, 2, 3]), 1);
    refused("left out", &joined(&[0, 2, 3]), 1);
    refused("the first left out", &joined(&[1, 2, 3]), 0);
    refused("the last one first", &joined(&[3]), 0);
    refused("appended", &[&whole[..], b"x"].concat(), 3);
    refused("appended", &[whole.clone(), segment(3)].concat(), 3);
    let other = sealed(&folder, &text);
    let of_other = |number: usize| other[HEADER + number * SEALED_SEGMENT..][..SEALED_SEGMENT].to_vec();
    refused("of another file", &[header.clone(), segment(0), of_other(1), segment(2), segment(3)].concat(), 1);
    refused("under the header of another file", &[&other[..HEADER], &whole[HEADER..]].concat(), 0);
}

#[test]
fn headers_that_were_changed_and_wrong_passphrases_are_refused() {
    let folder = folder();
    let whole = sealed(&folder, b"text");
    for at in 0..HEADER {
        let mut changed = whole.clone();
        // A bit that makes no key that costs much.
        changed[at] ^= if (20..32).contains(&at) { 2 } else { 1 };
        let output = opened(&folder, &changed);
        assert_eq!((status(&output), output.stdout.len()), (1, 0), "{at}: {}", stderr(&output));
    }
    for length in [0, 1, 16, 50, HEADER - 1, HEADER] {
        let output = opened(&folder, &whole[..length]);
        assert_eq!((status(&output), output.stdout.len()), (1, 0), "{length}: {}", stderr(&output));
    }
    assert!(stderr(&opened(&folder, b"some other file\n")).contains("is no sealed file"));
    let with = |passphrase: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_headrace"));
        write(&folder, "file.sealed", &whole);
        let command = command.args(["open", "file.sealed", "--force"]).env("HEADRACE_PASSPHRASE", passphrase);
        command.current_dir(folder.path()).output().expect("the command starts")
    };
    let output = with("wrong");
    assert_eq!((status(&output), folder.path().join("file").exists()), (1, false));
    assert!(stderr(&output).contains("the passphrase is wrong"), "{}", stderr(&output));
    assert_eq!(status(&with("")), 1);
    let output = with("right");
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert_eq!(fs::read(folder.path().join("file")).expect("it was written"), b"text");
}

#[test]
fn nothing_is_replaced_unless_that_is_wanted() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    write(&folder, "passphrase", b"right\n");
    write(&folder, "letter", b"first");
    let run = |arguments: &[&str]| {
        headrace(folder.path(), &[arguments, &["--passphrase-file", "passphrase"]].concat(), b"from a pipe")
    };
    let seal = |more: &[&str]| run(&[&["seal", "letter"], &CHEAP[..], more].concat());
    assert_eq!(status(&seal(&[])), 0);
    let first = fs::read(path("letter.sealed")).expect("it was written");
    assert_eq!(fs::read(path("letter")).expect("it stays"), b"first");
    let output = seal(&[]);
    assert_eq!(status(&output), 1);
    assert!(stderr(&output).contains("letter.sealed is there already; --force"), "{}", stderr(&output));
    let output = run(&["open", "letter.sealed"]);
    assert_eq!(status(&output), 1);
    assert!(stderr(&output).contains("letter is there already"), "{}", stderr(&output));
    assert_eq!(fs::read(path("letter.sealed")).expect("it stays"), first);
    assert_eq!(status(&seal(&["--force"])), 0);
    assert_ne!(fs::read(path("letter.sealed")).expect("it was written"), first);
    write(&folder, "letter", b"second");
    assert_eq!(status(&run(&["open", "letter.sealed", "--force"])), 0);
    assert_eq!(fs::read(path("letter")).expect("it was written"), b"first");
    fs::rename(path("letter.sealed"), path("other")).expect("the folder is writable");
    let output = run(&["open", "other"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("--out must say"), "{}", stderr(&output));
    assert_eq!(run(&["open", "other", "--out", "-"]).stdout, b"first");
    assert_eq!(status(&run(&["seal", "missing"])), 1);
    assert_eq!(status(&run(&["seal", "."])), 1);
    assert_eq!(status(&run(&["seal", "letter", "--memory", "4096", "--passes", "1024", "--out", "-"])), 2);
}

#[test]
fn without_a_terminal_the_passphrase_comes_from_elsewhere() {
    use std::os::unix::process::CommandExt as _;
    let folder = folder();
    write(&folder, "letter", b"text");
    let mut command = Command::new("setsid");
    command.arg("--wait").arg(env!("CARGO_BIN_EXE_headrace")).args(["seal", "letter"]);
    let command =
        command.env_remove("HEADRACE_PASSPHRASE").current_dir(folder.path()).stdin(Stdio::null()).process_group(0);
    let Ok(output) = command.output() else {
        eprintln!("not run: no setsid");
        return;
    };
    assert_eq!(status(&output), 1);
    assert!(stderr(&output).contains("--passphrase-file or HEADRACE_PASSPHRASE"), "{}", stderr(&output));
    assert!(!Path::new(&folder.path().join("letter.sealed")).exists());
}

#[test]
fn what_is_typed_is_asked_for_twice_and_not_shown() {
    let folder = folder();
    write(&folder, "letter", b"text");
    // `script` gives a command a terminal.
    let typed = |arguments: &str, lines: &[(&str, &str)]| {
        let child = Command::new("script")
            .args(["-qec", &format!("'{}' {arguments}", env!("CARGO_BIN_EXE_headrace")), "/dev/null"])
            .env_remove("HEADRACE_PASSPHRASE")
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let Ok(mut child) = child else { return None };
        let (mut keys, mut screen) = (child.stdin.take()?, child.stdout.take()?);
        let mut shown = Vec::new();
        for (prompt, line) in lines {
            let mut byte = [0];
            while !shown.ends_with(prompt.as_bytes()) && screen.read(&mut byte).is_ok_and(|n_bytes| n_bytes > 0) {
                shown.push(byte[0]);
            }
            keys.write_all(line.as_bytes()).expect("it is asked for");
        }
        screen.read_to_end(&mut shown).expect("it can be read");
        let status = child.wait().expect("it ends").code();
        Some((status, String::from_utf8_lossy(&shown).into_owned()))
    };
    let seal = "seal letter --memory 1 --passes 1";
    let Some((status, shown)) = typed(seal, &[("Passphrase: ", "right\n"), ("again: ", "wrong\n")]) else {
        eprintln!("not run: no script");
        return;
    };
    assert!(status == Some(1) && shown.contains("the two passphrases differ"), "{status:?} {shown}");
    assert!(!folder.path().join("letter.sealed").exists());
    let (status, shown) =
        typed(seal, &[("Passphrase: ", "right\n"), ("again: ", "right\n")]).expect("it was there before");
    assert!(status == Some(0) && !shown.contains("right"), "{status:?} {shown}");
    let (status, shown) =
        typed("open letter.sealed --force", &[("Passphrase: ", "right\n")]).expect("it was there before");
    assert!(status == Some(0) && !shown.contains("right") && !shown.contains("again"), "{status:?} {shown}");
    assert_eq!(fs::read(folder.path().join("letter")).expect("it was written"), b"text");
}

#[test]
fn where_there_is_no_memory_for_the_key_it_is_said() {
    let folder = folder();
    write(&folder, "letter", b"text");
    let command = format!("ulimit -v 2000000 && exec '{}' seal letter --memory 4096", env!("CARGO_BIN_EXE_headrace"));
    let mut command = Command::new("sh")
        .args(["-c", &command])
        .env("HEADRACE_PASSPHRASE", "right")
        .current_dir(folder.path())
        .output();
    let output = command.as_mut().expect("there is a shell");
    assert_eq!(status(output), 1, "{}", stderr(output));
    assert!(stderr(output).contains("there is not enough memory"), "{}", stderr(output));
    assert!(!folder.path().join("letter.sealed").exists());
}

#[test]
fn the_reader_of_the_documentation_opens_what_is_sealed() {
    let folder = folder();
    let document = include_str!("../../../docs/sealed-files.md");
    let reader =
        document.split_once("```python\n").and_then(|(_, rest)| rest.split("```").next()).expect("it is there");
    write(&folder, "reader.py", reader);
    let python = |arguments: &[&str], passphrase: &str| {
        let mut command = Command::new("python3");
        let output = command.args(arguments).env("HEADRACE_PASSPHRASE", passphrase).current_dir(folder.path()).output();
        output.ok().filter(|output| status(output) == 0).map(|output| output.stdout)
    };
    if python(&["-c", "import cryptography.hazmat.primitives.kdf.argon2"], "").is_none() {
        eprintln!("not run: no python3 with Argon2id of the package cryptography");
        return;
    }
    for length in [0, 5, SEGMENT, SEGMENT + 1] {
        let text = text(length);
        let mut whole = sealed(&folder, &text);
        write(&folder, "file.sealed", &whole);
        assert!(python(&["reader.py", "file.sealed"], "right").is_some_and(|out| out == text), "{length}");
        assert_eq!(python(&["reader.py", "file.sealed"], "wrong"), None, "{length}");
        whole.pop();
        write(&folder, "file.sealed", &whole);
        assert_eq!(python(&["reader.py", "file.sealed"], "right"), None, "{length}");
    }
}
