//! Crates that `headrace build --target rust` makes: they compile without a warning and give the known answers.

#[expect(dead_code, reason = "each test uses a part of it")]
mod projects;

use projects::{Folder, refused, sample};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds a crate and runs its test, in a target folder for all; gives it, and what the test said.
fn built_and_run(folder: &Folder, what: &[&str]) -> (PathBuf, String) {
    let project = folder.build("rust", what);
    pin(&project);
    let said = cargo(folder, &project, &["test", "--offline"]);
    assert!(!said.contains("warning"), "{what:?}:\n{said}");
    (project, said)
}

/// Crates of traits have the versions that the workspace has, which are there when its tests run.
fn pin(project: &Path) {
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock");
    std::fs::copy(lock, project.join("Cargo.lock")).expect("the workspace has a lock file");
}

/// What the README of a crate shows does what it is shown for.
fn run_examples(folder: &Folder, project: &Path) {
    let readme = std::fs::read_to_string(project.join("README.md")).expect("it has a README");
    let mut tests = String::from("#![allow(unused)]\n");
    for (at, rest) in readme.split("```rust\n").skip(1).enumerate() {
        let (example, _) = rest.split_once("```").expect("examples end");
        let _ = write!(tests, "\n#[test]\nfn example_{at}() {{\n{example}}}\n");
    }
    std::fs::write(project.join("tests/readme.rs"), tests).expect("the folder is writable");
    let said = cargo(folder, project, &["test", "--offline", "--test", "readme"]);
    assert!(said.contains("test result: ok. 2 passed") && !said.contains("warning"), "{readme}\n{said}");
}

fn cargo(folder: &Folder, project: &Path, arguments: &[&str]) -> String {
    let target = project.with_file_name("target");
    let mut cargo = Command::new(env!("CARGO"));
    folder.run_in(project, cargo.args(arguments).env("CARGO_TARGET_DIR", target))
}

/// The same, which must test something.
fn built_and_tested(folder: &Folder, what: &[&str]) -> PathBuf {
    let (project, said) = built_and_run(folder, what);
    let passed = |line: &&str| line.starts_with("test result: ok. ") && !line.contains(" 0 passed");
    assert!(said.lines().any(|line| passed(&line)), "{what:?} tests nothing:\n{said}");
    project
}

#[test]
fn operations_of_every_shape_give_known_answers() {
    let folder = Folder::new();
    for what in sample(&[
        &["aes128", "--operation", "encrypt", "--operation", "ctr", "--operation", "cbc-decrypt"][..],
        &["chacha20"],
        &["sha256"],
        &["ascon-aead128"],
        // The same crates around networks with their scheduler, which are compiled sooner.
        &["aes128-cmac", "--unfused"],
        &["ctr-drbg-aes128", "--unfused"],
    ]) {
        let project = built_and_tested(&folder, what);
        if !what[0].contains("drbg") {
            run_examples(&folder, &project);
        }
    }
}

/// Operations of the other shapes that have traits; that crates need no others, and say that they clear themselves.
#[test]
fn known_answers_hold_through_traits() {
    let folder = Folder::new();
    let through_traits = |said: &str| said.lines().any(|line| line.starts_with("test rustcrypto::"));
    for what in sample(&[
        &["aes128", "--operation", "encrypt", "--operation", "decrypt", "--operation", "ecb-encrypt"][..],
        &["rabbit-no-iv"],
        &["aes128-gmac", "--unfused"],
        &["aes128-ccm", "--unfused"],
    ]) {
        let (project, said) = built_and_run(&folder, what);
        assert!(through_traits(&said), "{what:?}:\n{said}");
        run_examples(&folder, &project);
    }
    let project = folder.build("rust", &["hmac-sha256", "--unfused"]);
    pin(&project);
    let said = cargo(&folder, &project, &["test", "--offline", "--no-default-features"]);
    assert!(said.contains("test mac ... ok") && !through_traits(&said), "{said}");
    let tree = cargo(&folder, &project, &["tree", "--offline", "--no-default-features", "--prefix", "none"]);
    assert_eq!(tree.lines().count(), 1, "{tree}");
    let said = cargo(&folder, &project, &["test", "--offline", "--features", "zeroize"]);
    assert!(through_traits(&said), "{said}");
    run_examples(&folder, &project);
}

/// A program whose codes and keys other crates make of a generated hash.
const DERIVES: &str = r#"
use hkdf::SimpleHkdf;
use hmac::{KeyInit, Mac, SimpleHmac};
use sha256::Sha256;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn main() {
    let mut mac = SimpleHmac::<Sha256>::new_from_slice(b"Jefe").expect("any length will do");
    mac.update(b"what do ya want for nothing?");
    println!("{}", hex(&mac.finalize().into_bytes()));
    let salt: Vec<u8> = (0..=12).collect();
    let info: Vec<u8> = (0xf0..=0xf9).collect();
    let mut key = [0; 42];
    SimpleHkdf::<Sha256>::new(Some(&salt), &[0x0b; 22]).expand(&info, &mut key).expect("it is short");
    println!("{}", hex(&key));
    let mut key = [0; 64];
    pbkdf2::pbkdf2::<SimpleHmac<Sha256>>(b"passwd", b"salt", 1, &mut key).expect("any length will do");
    println!("{}", hex(&key));
}
"#;

const DERIVES_CARGO: &str = r#"
[package]
name = "derives"
version = "0.1.0"
edition = "2024"

[dependencies]
hkdf = { version = "0.13", default-features = false }
hmac = { version = "0.13", default-features = false }
own-sha256 = { path = "sha256" }
pbkdf2 = { version = "0.13", default-features = false }

[[bin]]
name = "derives"
path = "derives.rs"

[workspace]
members = ["sha256"]
"#;

/// What other crates build on a hash, in a workspace that the crate is a member of, under a name that somebody chose.
#[test]
fn other_crates_take_hashes() {
    let folder = Folder::new();
    let project = folder.build("rust", &["sha256", "--unfused", "--prefix", "own-"]);
    let workspace = project.parent().expect("projects stand in a folder");
    std::fs::write(workspace.join("derives.rs"), DERIVES).expect("the folder is writable");
    std::fs::write(workspace.join("Cargo.toml"), DERIVES_CARGO).expect("the folder is writable");
    pin(workspace);
    let said = cargo(&folder, workspace, &["run", "--offline"]);
    assert!(!said.contains("warning"), "{said}");
    // RFC 4231, case 2; RFC 5869, case 1; RFC 7914, section 11.
    for known in [
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
        "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865",
        "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc\
         49ca9cccf179b645991664b39d77ef317c71b845b1e30bd509112041d3a19783",
    ] {
        assert!(said.contains(known), "{known}\n{said}");
    }
}

/// Names of packages that cargo would not take, and prefixes where nothing has one.
#[test]
fn prefixes_are_of_packages() {
    refused(&["sha256", "--target", "rust", "--prefix", "Own-"], "begins with a small letter");
    refused(&["sha256", "--target", "rust", "--prefix", "own/"], "begins with a small letter");
    refused(&["sha256", "--target", "c", "--prefix", "own-"], "--prefix: what target c makes is no package");
    let folder = Folder::new();
    for (prefix, package) in [(&[][..], "headrace-sha256"), (&["--prefix", ""], "sha256")] {
        let project = folder.build("rust", &[&["sha256", "--unfused"], prefix].concat());
        let manifest = std::fs::read_to_string(project.join("Cargo.toml")).expect("it has a manifest");
        assert!(manifest.contains(&format!("name = \"{package}\"\n")) && manifest.contains("name = \"sha256\"\n"));
        std::fs::remove_dir_all(project).expect("it can be removed");
    }
}

/// Strict lints of a workspace find nothing in a crate that is printed.
#[test]
fn strict_lints_are_quiet() {
    let clippy = Command::new(env!("CARGO")).args(["clippy", "--version"]).output();
    if !clippy.is_ok_and(|output| output.status.success()) {
        eprintln!("not run: no clippy");
        return;
    }
    let folder = Folder::new();
    let pedantic = ["clippy", "--offline", "--all-targets", "--all-features", "--", "-W", "clippy::pedantic"];
    for what in [&["sha256", "--unfused"][..], &["chacha20"], &folder.write_tells()] {
        let project = folder.build("rust", what);
        pin(&project);
        let said = cargo(&folder, &project, &pedantic);
        assert!(!said.contains("warning"), "{what:?}:\n{said}");
    }
}

#[test]
fn several_sets_are_one_crate() {
    let folder = Folder::new();
    let said = built_and_run(&folder, &["aes128-ccm", "aes192-ccm", "sha256", "--name", "three", "--unfused"]);
    for tested in ["test aes128_ccm_aead_encrypt ... ok", "test sha256_hash ... ok", "test rustcrypto::"] {
        assert!(said.1.contains(tested), "{}", said.1);
    }
    // What has both directions of a set is made of those of that set.
    let types = std::fs::read_to_string(folder.path().join("projects/aes128-ccm/README.md")).expect("it has a README");
    for name in ["`Aes128Ccm`", "`Aes192Ccm`", "`Sha256`"] {
        assert!(types.contains(name), "{types}");
    }
}

/// What no trait can say is left out, and the README says why.
#[test]
fn operations_without_traits_say_why() {
    let folder = Folder::new();
    for (what, reason) in [
        (&["aes128", "--operation", "cfb8-encrypt"][..], "* `cfb8-encrypt`: its messages are neither"),
        (&["ghash"], "* `mac`: its message has a multiple of 16 bytes"),
        (&["sha256-tree4"], "* `hash`: its message must be there as a whole"),
        (&["shake128"], "* `hash`: the length of its output"),
        (&["aes128-gcm", "--operation", "aead-encrypt"], "* `aead-encrypt`: the crate has only one of its directions"),
        (&["aes128-gcm"], "`Nonce` has 12 bytes; the operation takes at least 1 byte"),
        (&["lcg32"], "* `generate`: there is no trait for its shape"),
    ] {
        // What traits say is the same around networks with their scheduler, which are printed sooner.
        let project = folder.build("rust", &[what, &["--unfused"]].concat());
        let readme = std::fs::read_to_string(project.join("README.md")).expect("it has a README");
        assert!(readme.contains(reason), "{what:?}:\n{readme}");
        std::fs::remove_dir_all(project).expect("it can be removed");
    }
}

/// The example program, which knows traits only.
#[test]
fn a_program_written_against_traits_uses_generated_crates() {
    let folder = Folder::new();
    let project = folder.build("rust", &["aes128", "--operation", "encrypt", "--operation", "decrypt"]);
    for set in ["aes128-gcm", "chacha20", "hmac-sha256", "sha256"] {
        folder.build("rust", &[set, "--unfused"]);
    }
    let generated = project.parent().expect("projects stand in a folder");
    let example = generated.with_file_name("example");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/rustcrypto");
    std::fs::create_dir_all(example.join("src")).expect("the folder is writable");
    for file in ["Cargo.toml", "src/main.rs", "src/letters.rs"] {
        std::fs::copy(source.join(file), example.join(file)).expect("the example is there");
    }
    std::fs::rename(generated, example.join("generated")).expect("it can be moved");
    pin(&example);
    let said = cargo(&folder, &example, &["run", "--offline"]);
    assert!(!said.contains("warning"), "{said}");
    // FIPS 180-4, RFC 4231, FIPS 197, RFC 8439 and the specification of GCM.
    for line in [
        "fingerprint ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        "seal        5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
        "seal        923598ca6d64af2a5dba79dcd021a8a0fe5c5f557519adaaf0ad532d4506dd30",
        "the same    5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
        "the same    923598ca6d64af2a5dba79dcd021a8a0fe5c5f557519adaaf0ad532d4506dd30",
        "scrambled   69c4e0d86a7b0430d8cdb78070b4c55a, read again: true",
        "noise       76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7",
        "envelope    0388dace60b6a392f328c2b971b2fe78ab6e47d42cec13bdf53a67b21257bddf",
        "opened      true, with another address: false",
    ] {
        assert!(said.contains(line), "{line}\n{said}");
    }
}

#[test]
fn networks_do_what_the_interpreter_does() {
    let folder = Folder::new();
    built_and_tested(&folder, &folder.write_wide());
}

#[test]
fn natives_and_prints_reach_the_host() {
    let folder = Folder::new();
    built_and_tested(&folder, &folder.write_tells());
    for program in projects::conformance() {
        built_and_run(&folder, &[&program]);
    }
}

#[test]
fn nothing_is_tuned_where_nothing_is_fused() {
    refused(&["chacha20", "--target", "rust", "--tune"], "target rust prints no loops");
}
