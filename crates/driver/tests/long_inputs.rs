//! Inputs that are longer than what is moved at once: they come out whole and right in every way, and memory does not grow with
//! them. Fused code that is there is taken for inputs of any length.

#[expect(dead_code, reason = "each test uses a part of it")]
mod outcomes;

use outcomes::{folder, headrace, status, stderr, write};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

const CTR: [&str; 7] = [
    "use",
    "aes128",
    "ctr",
    "--key",
    "hex:2b7e151628aed2a6abf7158809cf4f3c",
    "--iv",
    "hex:f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff",
];

const HEX: [&str; 3] = ["use", "hex", "encode"];

/// More than twice of what goes in and comes out at once, and no multiple of anything.
const LENGTH: u32 = 1_200_007;

fn text() -> Vec<u8> {
    (0..LENGTH).map(|at| (at.wrapping_mul(at) >> 7) as u8).collect()
}

/// What came out, unless there is no compiler, which is told.
fn made(output: Output) -> Option<Vec<u8>> {
    if status(&output) == 4 {
        eprintln!("not run: {}", stderr(&output));
        return None;
    }
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    Some(output.stdout)
}

#[test]
fn what_is_longer_than_buffers_is_whole_in_every_way() {
    let folder = folder();
    let text = text();
    write(&folder, "text", &text);
    let digits: String = text.iter().map(|byte| format!("{byte:02x}")).collect();
    let run = |arguments: &[&[&str]]| headrace(folder.path(), &arguments.concat(), &text);
    let (file, pipe) = (["--in", "text"], ["--in", "-"]);
    for way in [["--engine", "interp"], ["--fused", "never"], ["--fused", "always"]] {
        for from in [file, pipe] {
            let Some(out) = made(run(&[&HEX, &from, &way])) else { continue };
            assert!(out == digits.as_bytes(), "{way:?} {from:?}");
        }
    }
    let Some(cipher) = made(run(&[&CTR, &file, &["--fused", "never"]])) else { return };
    assert_eq!((cipher.len(), cipher == text), (text.len(), false));
    for from in [file, pipe] {
        assert!(made(run(&[&CTR, &from, &["--fused", "always"]])).is_some_and(|out| out == cipher), "{from:?}");
        let to_file = run(&[&CTR, &from, &["--fused", "always", "--out", "cipher"]]);
        assert_eq!(status(&to_file), 0, "{}", stderr(&to_file));
        assert!(fs::read(folder.path().join("cipher")).is_ok_and(|out| out == cipher), "{from:?}");
    }
    let back = headrace(folder.path(), &[&CTR[..], &["--in", "cipher", "--fused", "always"]].concat(), b"");
    assert!(made(back).is_some_and(|out| out == text));
}

#[test]
fn networks_take_and_give_files_that_are_longer_than_buffers() {
    let folder = folder();
    let text = text();
    write(&folder, "text", &text);
    let digits: String = text.iter().map(|byte| format!("{byte:02x}")).collect();
    for how in [&["--fused", "never"][..], &["--fused", "always"], &["--fused", "always", "--threads", "2"]] {
        for (from, to) in [("Input=text", "Output=-"), ("Input=-", "Output=digits")] {
            let arguments = ["run", "ctl.codec.hex.HexEncode", "--engine", "native", "--in", from, "--out", to];
            let output = headrace(folder.path(), &[&arguments, how, &["--out", "OutputSize=sizes"]].concat(), &text);
            let Some(mut out) = made(output) else { return };
            if to.ends_with("digits") {
                out = fs::read(folder.path().join("digits")).expect("it was written");
            }
            assert!(out == digits.as_bytes(), "{how:?} {from} {to}");
        }
    }
}

/// The command with a cache of its own.
fn command(cache: &Path, arguments: &[&[&str]]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headrace"));
    command.args(arguments.concat()).env("XDG_CACHE_HOME", cache).current_dir(cache);
    command
}

fn n_libraries(cache: &Path) -> usize {
    let Ok(entries) = fs::read_dir(cache.join("headrace")) else { return 0 };
    entries.flatten().filter(|entry| entry.path().extension() == Some("so".as_ref())).count()
}

#[test]
fn fused_code_that_is_there_is_taken_for_the_shortest_input() {
    let folder = folder();
    let run = |more: &[&str]| {
        let mut command = command(folder.path(), &[&HEX, &["--in", "text:abc", "--engine", "native"], more]);
        made(command.output().expect("the command starts"))
    };
    let Some(first) = run(&["--fused", "always"]) else { return };
    assert_eq!((first.as_slice(), n_libraries(folder.path())), (&b"616263"[..], 1));
    // A scheduler would have to be compiled.
    assert_eq!((run(&[]).as_deref(), n_libraries(folder.path())), (Some(&b"616263"[..]), 1));
    assert_eq!((run(&["--fused", "never"]).as_deref(), n_libraries(folder.path())), (Some(&b"616263"[..]), 2));
}

#[test]
fn what_is_short_compiles_no_fused_code() {
    let folder = folder();
    for _ in 0..2 {
        let mut command = command(folder.path(), &[&HEX, &["--in", "text:abc", "--engine", "native"]]);
        let Some(out) = made(command.output().expect("the command starts")) else { return };
        assert_eq!((out.as_slice(), n_libraries(folder.path())), (&b"616263"[..], 1));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_grow_with_the_input() {
    use std::io::Read as _;
    use std::process::Stdio;
    let folder = folder();
    let once = [&CTR[..], &["--in", "text:abc", "--fused", "always"]].concat();
    if made(headrace(folder.path(), &once, b"")).is_none() {
        return;
    }
    // Most memory so far, in KiB, after half of the output was read: the command waits with the other half.
    let most = |mebibytes: u64| {
        let zeros = fs::File::create(folder.path().join("zeros")).expect("the folder is writable");
        zeros.set_len(mebibytes << 20).expect("the folder is writable");
        let mut child = Command::new(env!("CARGO_BIN_EXE_headrace"))
            .args(CTR)
            .args(["--in", "zeros", "--out", "-", "--fused", "always"])
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let mut out = child.stdout.take().expect("it was asked for");
        let mut half = vec![0; (mebibytes << 19) as usize];
        out.read_exact(&mut half).expect("so much comes out");
        let about = fs::read_to_string(format!("/proc/{}/status", child.id())).expect("it waits");
        let line = about.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("it is told");
        let most: u64 = line.trim().trim_end_matches("kB").trim().parse().expect("a number");
        out.read_to_end(&mut half).expect("it can be read");
        assert!(child.wait().is_ok_and(|status| status.success()));
        assert_eq!(half.len() as u64, mebibytes << 20);
        most
    };
    let (short, long) = (most(2), most(64));
    assert!(long < short + (4 << 10), "{short} KiB for 2 MiB, {long} KiB for 64 MiB");
}

#[test]
fn what_was_compiled_once_starts_without_asking_a_compiler() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    // A compiler that counts how often it is called.
    write(&folder, "cc", "#!/bin/sh\necho >>\"${0%/*}/calls\"\nexec gcc \"$@\"\n");
    fs::set_permissions(path("cc"), fs::Permissions::from_mode(0o755)).expect("the file is ours");
    let calls = || fs::read(path("calls")).map_or(0, |calls| calls.len());
    let run = |more: &[&str]| {
        let mut command = command(folder.path(), &[&HEX, &["--in", "text:abc"], more]);
        made(command.env("CC", path("cc")).output().expect("the command starts"))
    };
    let Some(first) = run(&["--fused", "always"]) else { return };
    let before = calls();
    assert!(first == b"616263" && before > 0);
    assert_eq!((run(&[]).as_deref(), calls()), (Some(&b"616263"[..]), before));
    assert_eq!((run(&["--variant", "standard"]).map(|_| ()), calls() > before), (Some(()), true), "that is asked anew");
    // What was changed, and what is of another compiler, is not taken.
    let shortcuts = || {
        let entries = fs::read_dir(path("headrace")).expect("it is there").flatten();
        entries
            .map(|entry| entry.path())
            .filter(|path| path.extension() == Some("shortcut".as_ref()))
            .collect::<Vec<_>>()
    };
    for shortcut in shortcuts() {
        let text = fs::read(&shortcut).expect("it is ours");
        fs::write(&shortcut, &text[1..]).expect("it is ours");
    }
    let before = calls();
    assert_eq!((run(&[]).as_deref(), calls() > before), (Some(&b"616263"[..]), true));
    write(&folder, "cc", "#!/bin/sh\necho >>\"${0%/*}/calls\"\n# another\nexec gcc \"$@\"\n");
    let before = calls();
    assert_eq!((run(&[]).as_deref(), calls() > before), (Some(&b"616263"[..]), true));
}

#[test]
fn many_inputs_count_as_a_long_one() {
    let folder = folder();
    let zeros = fs::File::create(folder.path().join("zeros")).expect("the folder is writable");
    zeros.set_len(65 << 20).expect("the folder is writable");
    let run = || {
        let mut command = command(folder.path(), &[&CTR, &["--in", "zeros", "--out", "cipher", "--engine", "native"]]);
        made(command.output().expect("the command starts")).map(|_| n_libraries(folder.path()))
    };
    let Some(first) = run() else { return };
    let cipher = fs::read(folder.path().join("cipher")).expect("it was written");
    assert_eq!((first, run()), (1, Some(2)));
    assert!(cipher == fs::read(folder.path().join("cipher")).expect("it was written"));
}

#[test]
fn what_is_installed_runs_without_a_compiler_where_nobody_else_can_change_it() {
    let folder = folder();
    let program = folder.path().join("bin/headrace");
    let place = folder.path().join("lib/headrace");
    fs::create_dir(folder.path().join("bin")).expect("the folder is writable");
    fs::copy(env!("CARGO_BIN_EXE_headrace"), &program).expect("there is room");
    let run = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        command.args(arguments).env("XDG_CACHE_HOME", folder.path().join("cache")).current_dir(folder.path());
        command
    };
    let prepared = run(&["prepare", "hex-encode", "--into", "lib/headrace"]).output().expect("the command starts");
    if status(&prepared) == 4 {
        eprintln!("not run: {}", stderr(&prepared));
        return;
    }
    assert_eq!(status(&prepared), 0, "{}", stderr(&prepared));
    assert!(stderr(&prepared).contains("1 operation ready"), "{}", stderr(&prepared));
    assert!(!folder.path().join("cache").exists(), "what is installed is nobody's");
    let used = || {
        let mut command = run(&["use", "hex", "encode", "--in", "text:abc", "--engine", "native"]);
        let output = command.env("PATH", "").env_remove("CC").output().expect("the command starts");
        (status(&output), output.stdout)
    };
    assert_eq!(used(), (0, b"616263".to_vec()));
    let set = |mode: u32| fs::set_permissions(&place, fs::Permissions::from_mode(mode)).expect("the folder is ours");
    set(0o777);
    assert_eq!(used().0, 4, "others may put something there");
    set(0o755);
    assert_eq!(used().0, 0);
    let refused = |arguments: &[&str]| {
        let output = run(arguments).output().expect("the command starts");
        assert_eq!(status(&output), 2, "{arguments:?}: {}", stderr(&output));
    };
    refused(&["prepare", "no-such-thing"]);
    // What other roots say is found by nobody who has them not.
    refused(&["prepare", "hex-encode", "--into", "elsewhere", "-L", "bin"]);
    assert!(!folder.path().join("elsewhere").exists());
    // A folder that was there stays as open as it was.
    let own = folder.path().join("own");
    fs::create_dir(&own).expect("the folder is writable");
    let open = |mode: u32| fs::set_permissions(&own, fs::Permissions::from_mode(mode)).expect("the folder is ours");
    open(0o770);
    let prepared = run(&["prepare", "hex-encode", "--into", "own"]).output().expect("the command starts");
    assert_eq!(status(&prepared), 0, "{}", stderr(&prepared));
    assert!(stderr(&prepared).contains("no command will take what is put there"), "{}", stderr(&prepared));
    assert_eq!(fs::metadata(&own).expect("it is there").permissions().mode() & 0o777, 0o770);
}

#[test]
fn what_is_compiled_of_another_library_is_not_taken_for_the_one_of_the_command() {
    let folder = folder();
    fs::create_dir(folder.path().join("roots")).expect("the folder is writable");
    let run = |arguments: &[&str]| {
        let mut command = command(folder.path(), &[arguments]);
        command.output().expect("the command starts")
    };
    let n_shortcuts = || {
        let entries = fs::read_dir(folder.path().join("headrace")).expect("it is there");
        entries.flatten().filter(|entry| entry.path().extension() == Some("shortcut".as_ref())).count()
    };
    let prepared = run(&["prepare", "hex-encode", "-L", "roots"]);
    if status(&prepared) == 4 {
        eprintln!("not run: {}", stderr(&prepared));
        return;
    }
    assert_eq!((status(&prepared), n_shortcuts()), (0, 0), "{}", stderr(&prepared));
    let prepared = run(&["prepare", "hex-encode"]);
    assert_eq!((status(&prepared), n_shortcuts()), (0, 1), "{}", stderr(&prepared));
}
