//! Providers that `headrace build --target openssl` makes: their own test, which compares them with OpenSSL's, and the command
//! `openssl`, which they serve without a difference but in their counters.

#[expect(dead_code, reason = "other targets print networks, too")]
mod projects;

use projects::Folder;
use std::path::Path;
use std::process::Command;

const HEADERS: &str = "/usr/include/openssl/core_dispatch.h";

/// Whether OpenSSL 3 is there with its headers; says so where it is not.
fn tools_are_here() -> bool {
    let version = Command::new("openssl").arg("version").output().map(|output| output.stdout).unwrap_or_default();
    let found = version.starts_with(b"OpenSSL 3.") && Path::new(HEADERS).exists() && projects::is_here("make");
    if !found {
        eprintln!("not run: no OpenSSL 3, or no headers of it");
    }
    found
}

/// The parameter sets with a name in OpenSSL, which no test has to know.
fn sets() -> Vec<String> {
    let list = Command::new(env!("CARGO_BIN_EXE_headrace")).args(["list", "primitives", "--json"]).output();
    let rows: serde_json::Value = serde_json::from_slice(&list.expect("the command starts").stdout).expect("JSON");
    let operations = rows.as_array().into_iter().flatten().filter_map(|row| row["details"]["operations"].as_array());
    let named =
        operations.flatten().filter(|operation| operation["openssl"].as_array().is_some_and(|names| !names.is_empty()));
    let mut sets: Vec<String> =
        named.map(|operation| operation["set"].as_str().unwrap_or_default().to_owned()).collect();
    sets.dedup();
    sets
}

/// A provider, compiled quickly and without a warning, and what its own test said.
fn built_and_tested(folder: &Folder, what: &[&str]) -> (std::path::PathBuf, String) {
    let project = folder.build("openssl", what);
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let mut make = Command::new("make");
    make.args(["-s", "CFLAGS=-O1 -Wpedantic", &format!("-j{jobs}"), "-C"]).arg(&project).arg("test");
    let said = folder.run(&mut make);
    assert!(!said.contains("warning"), "{what:?}:\n{said}");
    assert!(said.contains(" 0 failures"), "{said}");
    (project, said)
}

#[test]
fn the_command_of_openssl_is_served() {
    if !tools_are_here() {
        return;
    }
    let folder = Folder::new();
    let operations = ["ctr", "cbc-encrypt", "cbc-decrypt", "hash", "mac"].map(|operation| ["--operation", operation]);
    let mut what = vec!["aes128", "sha256", "hmac-sha256", "--unfused"];
    what.extend(operations.as_flattened());
    let (project, _) = built_and_tested(&folder, &what);
    let text: Vec<u8> = (0..100_003_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    std::fs::write(project.join("text"), text).expect("the folder is writable");
    let served = project.join("served");
    let openssl = |arguments: &[&str], is_ours: bool| {
        let mut command = Command::new("openssl");
        command.args(arguments).env("HEADRACE_SERVED", &served);
        if is_ours {
            command.args(["-provider-path", ".", "-provider", "headrace", "-provider", "default"]);
            command.args(["-propquery", "provider=headrace"]);
        }
        // The digest of a file is asked for behind all options.
        if arguments[0] == "dgst" {
            command.arg("text");
        }
        folder.run_in(&project, &mut command)
    };
    let key = ["-K", "2b7e151628aed2a6abf7158809cf4f3c", "-iv", "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"];
    for cipher in ["-aes-128-ctr", "-aes-128-cbc"] {
        let run = |direction: &'static str, from: &'static str, to: &'static str, is_ours: bool| {
            let mut arguments = vec!["enc", direction, cipher, "-in", from, "-out", to];
            arguments.extend(key);
            openssl(&arguments, is_ours);
        };
        run("-e", "text", "theirs", false);
        run("-e", "text", "ours", true);
        run("-d", "ours", "back", true);
        let bytes = |name: &str| std::fs::read(project.join(name)).expect("OpenSSL has written it");
        assert!(bytes("ours") == bytes("theirs"), "{cipher}");
        assert!(bytes("back") == bytes("text"), "{cipher}");
    }
    assert_eq!(
        openssl(&["dgst", "-sha256"], true),
        openssl(&["dgst", "-sha256"], false).replace("SHA256(", "SHA2-256(")
    );
    let mac = ["mac", "-digest", "SHA256", "-macopt", "hexkey:000102030405", "-in", "text"];
    let asked = |is_ours: bool| {
        let mut command = Command::new("openssl");
        command.args(mac).env("HEADRACE_SERVED", &served);
        if is_ours {
            command.args(["-provider-path", ".", "-provider", "headrace", "-propquery", "provider=headrace"]);
        }
        folder.run_in(&project, command.arg("HMAC"))
    };
    assert_eq!(asked(true), asked(false));
    // The configuration that the README shows, for programs that have no such options.
    let readme = std::fs::read_to_string(project.join("README.md")).expect("it has a README");
    let shown = readme.split("```ini\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a configuration");
    let module = project.join("headrace.so").display().to_string();
    std::fs::write(project.join("openssl.cnf"), shown.replace("/path/to/headrace.so", &module)).expect("writable");
    let mut list = Command::new("openssl");
    list.args(["list", "-providers"]).env("OPENSSL_CONF", project.join("openssl.cnf"));
    let listed = folder.run_in(&project, &mut list);
    assert!(listed.contains("name: Headrace") && listed.contains("name: OpenSSL Default Provider"), "{listed}");
    let counted = std::fs::read_to_string(&served).expect("the provider counts");
    for (name, times) in [("AES-128-CTR", 2), ("AES-128-CBC", 2), ("SHA2-256", 1), ("HMAC", 1)] {
        let lines = counted.lines().filter(|line| line.split(' ').next() == Some(name)).count();
        assert_eq!(lines, times, "{name} in\n{counted}");
    }
}

#[test]
fn a_sample_gives_what_openssl_gives() {
    if !tools_are_here() {
        return;
    }
    let folder = Folder::new();
    let all = sets();
    assert!(all.len() > 50, "{all:?}");
    // Two that the seed chooses; all of them have the same test in `headrace build --target openssl`.
    let seed: usize = std::env::var("OPENSSL_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let sample: Vec<&str> = (0..2).map(|n| all[(seed * 31 + n * 17) % all.len()].as_str()).collect();
    let mut what = sample.clone();
    what.push("--unfused");
    let (_, said) = built_and_tested(&folder, &what);
    println!("{sample:?}: {said}");
}

#[test]
fn fused_code_serves_too() {
    if !tools_are_here() {
        return;
    }
    let folder = Folder::new();
    if !projects::is_here("cmake") {
        built_and_tested(&folder, &["sha1", "sha256"]);
        return;
    }
    // By the other of the two ways that its README has, and installed where it is told to.
    let project = folder.build("openssl", &["sha1", "sha256"]);
    let cmake = |arguments: &[&str]| {
        let mut command = Command::new("cmake");
        command.args(arguments).env("CFLAGS", "-O1 -Wall -Wextra -Wpedantic -Werror").env("CMAKE_BUILD_TYPE", "None");
        folder.run_in(&project, &mut command)
    };
    cmake(&["-S", ".", "-B", "build"]);
    cmake(&["--build", "build"]);
    let said = folder.run_in(&project, Command::new("ctest").args(["--output-on-failure", "--test-dir", "build"]));
    assert!(said.contains("100% tests passed, 0 tests failed out of 1"), "{said}");
    cmake(&["--install", "build", "--prefix", "prefix"]);
    assert!(project.join("prefix/lib/ossl-modules/headrace.so").exists());
}

#[test]
fn what_has_no_name_is_refused() {
    let refused = |arguments: &[&str], why: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_headrace"));
        let output = command.arg("build").args(arguments).args(["-o", "nowhere"]).output().expect("the command starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}:\n{said}");
        assert!(said.contains(why), "{arguments:?}:\n{said}");
    };
    refused(&["hex", "--target", "openssl"], "no operation of `hex` has an interface in this target");
    refused(&["Nothing.cal", "--target", "openssl"], "is no primitive and no parameter set of the library");
    refused(&["aes128", "nothing", "--target", "openssl"], "`nothing` is no primitive");
    refused(&["aes128", "sha256", "--target", "c"], "target c makes a project of one network at a time");
    refused(&["--target", "c"], "NETWORK is missing");
}
