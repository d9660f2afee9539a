//! Providers that `headrace build --target openssl` makes: their own test, which compares them with OpenSSL's, and the command
//! `openssl`, which they serve without a difference but in their counters.

#[expect(dead_code, reason = "other targets print networks, too")]
mod projects;

use projects::{Folder, refused};
use std::io::Write as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

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

/// A provider of one of each kind of cipher and code, compiled as quickly as can be: most of the time of its tests is that.
#[test]
fn one_of_each_kind_answers_as_openssl_does() {
    if !tools_are_here() {
        return;
    }
    let folder = Folder::new();
    let mut what = vec!["aes128", "des", "blowfish", "chacha20", "arc4", "aes128-gcm", "aes128-ccm", "aes128-ocb3"];
    what.extend(["chacha20-poly1305", "sha1", "sha256", "shake128", "hmac-sha1", "hmac-sha256", "aes128-cmac"]);
    what.extend(["aes128-gmac", "poly1305", "kmac128", "--unfused"]);
    let project = folder.build("openssl", &what);
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let mut make = Command::new("make");
    make.args(["-s", "CFLAGS=-O0", &format!("-j{jobs}"), "headrace.so"]);
    folder.run_in(&project, &mut make);
    random_calls_are_answered_as_openssl_answers_them(&folder, &project);
    tls_works_on_one_side_and_on_both(&folder, &project);
}

fn random_calls_are_answered_as_openssl_answers_them(folder: &Folder, project: &Path) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let sources = std::fs::read_dir(root.join("tests/models/openssl")).expect("the model is there");
    let mut compile = Command::new("cc");
    compile.args([
        "-std=c11",
        "-D_POSIX_C_SOURCE=200809L",
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Werror",
        "-O1",
        "-o",
        "model",
    ]);
    let sources = sources.map(|entry| entry.expect("a folder").path());
    compile.args(sources.filter(|path| path.extension().is_some_and(|ending| ending == "c"))).arg("-lcrypto");
    folder.run_in(project, &mut compile);
    // So many that each difference of the table shows.
    let sequences = std::env::var("OPENSSL_SEQUENCES").unwrap_or_else(|_| "12000".into());
    let seed = std::env::var("OPENSSL_SEED").unwrap_or_else(|_| "1".into());
    let mut model = Command::new("./model");
    model.arg(".").arg(root.join("runtime/openssl/differences.txt")).args(["--sequences", &sequences, "--seed", &seed]);
    let said = folder.run_in(project, &mut model);
    assert!(said.contains(&format!("\n{sequences} sequences, 0 differences")), "{said}");
    // What the model knows, the README says.
    let table = std::fs::read_to_string(root.join("runtime/openssl/differences.txt")).expect("the table is there");
    let readme = std::fs::read_to_string(project.join("README.md")).expect("it has a README");
    let sentences = table.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.splitn(3, ' ').nth(2));
    assert!(sentences.clone().count() > 10);
    sentences.for_each(|sentence| assert!(readme.contains(&format!("\n* {sentence}\n")), "{sentence}"));
}

/// The configuration that the README shows, and one without the provider.
fn configurations(project: &Path) -> [PathBuf; 2] {
    let readme = std::fs::read_to_string(project.join("README.md")).expect("it has a README");
    let shown = readme.split("```ini\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a configuration");
    let module = project.join("headrace.so").display().to_string();
    let [ours, theirs] = ["ours.cnf", "theirs.cnf"].map(|name| project.join(name));
    std::fs::write(&ours, shown.replace("/path/to/headrace.so", &module)).expect("the folder is writable");
    std::fs::write(&theirs, "").expect("the folder is writable");
    [ours, theirs]
}

/// Where providers tell what they have served under TLS.
const SERVED_TLS: &str = "served-tls";

/// A process that does not outlive the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Lines that a server of TLS turns round come back turned round; `arguments` choose the suite.
fn answered(project: &Path, [server, client]: [&Path; 2], arguments: &[&str]) -> String {
    let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port is free").port();
    let address = format!("127.0.0.1:{port}");
    let openssl = |what: &str, configuration: &Path| {
        let mut command = Command::new("openssl");
        command.arg(what).args(["-quiet"]).args(arguments).env("OPENSSL_CONF", configuration).current_dir(project);
        command.env("HEADRACE_SERVED", project.join(SERVED_TLS));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        command
    };
    let mut serve = openssl("s_server", server);
    serve.args(["-accept", &address, "-cert", "cert.pem", "-key", "key.pem", "-rev", "-naccept", "1"]);
    let _serving = Ended(serve.spawn().expect("the server starts"));
    for _ in 0..40 {
        let mut ask = openssl("s_client", client);
        let mut asking = ask.args(["-connect", &address]).spawn().expect("the client starts");
        let mut lines = "what is sent is turned round, and this line is longer than a block\n".repeat(300);
        lines.push_str("CLOSE\n");
        let mut input = asking.stdin.take().expect("it reads");
        let writer = std::thread::spawn(move || {
            let _ = input.write_all(lines.as_bytes());
            input
        });
        let mut asking = Ended(asking);
        for _ in 0..200 {
            if asking.0.try_wait().expect("it can be asked").is_some() {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = asking.0.kill();
        let mut said = String::new();
        let mut output = asking.0.stdout.take().expect("it writes");
        let _ = std::io::Read::read_to_string(&mut output, &mut said);
        drop(writer.join());
        if !said.is_empty() {
            return said;
        }
        // The server did not listen yet.
        std::thread::sleep(Duration::from_millis(50));
    }
    String::new()
}

fn tls_works_on_one_side_and_on_both(folder: &Folder, project: &Path) {
    let mut certify = Command::new("openssl");
    certify.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]);
    certify.args(["-subj", "/CN=localhost", "-keyout", "key.pem", "-out", "cert.pem"]);
    folder.run_in(project, &mut certify);
    let [ours, theirs] = configurations(project);
    let wanted = "kcolb a naht regnol si enil siht dna ,dnuor denrut si tnes si tahw\n".repeat(300);
    // Each with what the provider must have served under it.
    let suites: [(&[&str], &[&str]); 12] = [
        (&["-tls1_3", "-ciphersuites", "TLS_AES_128_GCM_SHA256"], &["AES-128-GCM"]),
        (&["-tls1_3", "-ciphersuites", "TLS_CHACHA20_POLY1305_SHA256"], &["ChaCha20-Poly1305"]),
        (&["-tls1_3", "-ciphersuites", "TLS_AES_128_CCM_SHA256"], &["AES-128-CCM"]),
        (&["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-GCM-SHA256"], &["AES-128-GCM"]),
        (&["-tls1_2", "-cipher", "ECDHE-ECDSA-CHACHA20-POLY1305"], &["ChaCha20-Poly1305"]),
        (&["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-CCM"], &["AES-128-CCM"]),
        (&["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-CCM8"], &["AES-128-CCM"]),
        (&["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA256"], &["AES-128-CBC", "HMAC"]),
        (&["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA"], &["AES-128-CBC", "HMAC"]),
        // OpenSSL may have this cipher and its code in one.
        (&["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA", "-no_etm"], &["HMAC"]),
        // Of hashes that are not built in: another provider's, though the name of the code is here.
        (&["-tls1_2", "-cipher", "ECDHE-ECDSA-AES256-SHA384", "-no_etm"], &[]),
        (&["-tls1_2", "-cipher", "ECDHE-ECDSA-AES256-GCM-SHA384"], &[]),
    ];
    let served = project.join(SERVED_TLS);
    for (number, (suite, names)) in suites.into_iter().enumerate() {
        // Each suite with the provider on both sides, and on one of them.
        let alone = if number % 2 == 0 { [&ours, &theirs] } else { [&theirs, &ours] };
        for [server, client] in [[&ours, &ours], alone] {
            let _ = std::fs::remove_file(&served);
            let said = answered(project, [server, client], suite);
            assert!(said == wanted, "{server:?} {client:?} {suite:?}: {said}");
            // The client has ended by itself; the server may have been ended before it told anything.
            if client == &ours {
                let told = std::fs::read_to_string(&served).unwrap_or_default();
                for name in names {
                    let is_served = told.lines().any(|line| line.split(' ').next() == Some(*name));
                    assert!(is_served, "{name} under {suite:?} in\n{told}");
                }
            }
        }
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
    refused(&["hex", "--target", "openssl"], "no operation of `hex` has an interface in this target");
    refused(&["Nothing.cal", "--target", "openssl"], "is no primitive and no parameter set of the library");
    refused(&["aes128", "nothing", "--target", "openssl"], "`nothing` is no primitive");
    refused(&["--target", "c"], "NETWORK is missing");
}
