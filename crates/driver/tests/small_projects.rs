//! Projects in C for microcontrollers: known answers, messages in any pieces, and budgets of flash and memory that hold for a
//! Cortex-M4 where its compiler is here.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::Command;

/// Runs a command and gives what it said; it must succeed.
fn said(command: &[&str], folder: &Path) -> String {
    let (program, arguments) = command.split_first().expect("a command");
    let output = Command::new(program).args(arguments).current_dir(folder).output().expect(program);
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} ended with {}:\n{text}", output.status);
    text
}

fn is_here(tool: &str) -> bool {
    Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Makes a small project, whose known answers must come out.
fn built(arguments: &[&str]) -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("a temporary folder can be made");
    let headrace = env!("CARGO_BIN_EXE_headrace");
    said(&[&[headrace, "build"], arguments, &["--target", "c", "--small", "-o", "."]].concat(), place.path());
    said(&["make", "-s", "CFLAGS=-O1", "test"], place.path());
    place
}

/// A source of these tests.
fn source(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/small").join(name).display().to_string()
}

/// What a program for a Cortex-M4 takes: bytes of flash beside its own function, and of the contexts that it has.
fn sizes(folder: &Path, program: &str, contexts: &[&str], defined: &[&str]) -> Option<(u64, u64)> {
    const COMPILER: &str = "arm-none-eabi-gcc";
    if !is_here(COMPILER) {
        eprintln!("not run: no {COMPILER}");
        return None;
    }
    let flags = ["-std=c11", "-Os", "-mcpu=cortex-m4", "-mthumb", "-ffunction-sections", "-fdata-sections"];
    let sources: Vec<String> = std::fs::read_dir(folder.join("src"))
        .expect("a folder of sources")
        .filter_map(|entry| Some(entry.ok()?.path().display().to_string()))
        .filter(|path| path.ends_with(".c"))
        .chain([source(program), source("../../../../bench/embedded/bare/libc.c")])
        .collect();
    let sources: Vec<&str> = sources.iter().map(String::as_str).collect();
    let alone = ["-ffreestanding", "-fno-tree-loop-distribute-patterns", "-nostdlib", "-Isrc", "-Wl,--gc-sections"];
    let entry = ["-Wl,-e,main", "-lgcc", "-o", "program.elf"];
    said(&[&[COMPILER], &flags[..], &alone, defined, &sources, &entry].concat(), folder);
    let listed = said(&["arm-none-eabi-size", "-A", "program.elf"], folder);
    let size = |section: &str| {
        let lines = listed.lines().filter(|line| line.split_whitespace().next() == Some(section));
        lines.filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).sum::<u64>()
    };
    let symbols = said(&["arm-none-eabi-nm", "-S", "program.elf"], folder);
    let of_symbol = |name: &&str| -> u64 {
        let line = symbols.lines().find(|line| line.split_whitespace().nth(3) == Some(name));
        let bytes = line.and_then(|line| u64::from_str_radix(line.split_whitespace().nth(1)?, 16).ok());
        bytes.unwrap_or_else(|| panic!("no `{name}` in {symbols}"))
    };
    let flash = size(".text") + size(".rodata") + size(".data") - of_symbol(&"main");
    Some((flash, contexts.iter().map(of_symbol).sum()))
}

/// Sizes that are at most so large.
fn within(sizes: Option<(u64, u64)>, flash: u64, memory: u64) {
    if let Some((is_flash, is_memory)) = sizes {
        println!("{is_flash} bytes of flash, {is_memory} of memory");
        assert!(is_flash <= flash && is_memory <= memory, "{is_flash} > {flash} or {is_memory} > {memory}");
    }
}

/// Messages in random pieces are the same as whole. `lengths`: the least, and the step from one to the next.
fn cut(folder: &Path, set: &str, operation: &str, key: u32, iv: Option<u32>, lengths: (u32, u32)) {
    let source_text = std::fs::read_to_string(folder.join(format!("src/{set}.h"))).expect("it has a header");
    let update = source_text.split(&format!("{operation}_update(")).next().unwrap_or_default();
    // What is said right above the function.
    let apart = update.rsplit("/*").next().is_some_and(|said| said.contains("do not overlap"));
    let in_place = format!("-DIN_PLACE={}", u8::from(!apart));
    let header = format!("-DSET=\"{set}.h\"");
    let name = format!("-DOP={operation}");
    let key = format!("-DKEY_BYTES={key}");
    let (least, step) = (format!("-DLEAST={}", lengths.0), format!("-DSTEP={}", lengths.1));
    let iv = iv.map_or("-DHASHES".to_owned(), |iv| format!("-DIV_BYTES={iv}"));
    let library = format!("lib{set}.a");
    let cuts = source("cuts.c");
    let program = [&cuts, &library, "-lm", "-o", "cuts"];
    said(
        &[
            &[
                "cc", "-std=c11", "-O1", "-Wall", "-Werror", "-Isrc", &header, &name, &key, &iv, &least, &step,
                &in_place,
            ],
            &program[..],
        ]
        .concat(),
        folder,
    );
    assert!(said(&["./cuts"], folder).contains("the same"));
}

#[test]
fn sha256_is_small() {
    let place = built(&["sha256"]);
    within(sizes(place.path(), "uses_sha256.c", &["context"], &[]), 4096, 400);
    cut(place.path(), "sha256", "sha256_hash", 0, None, (0, 1));
}

#[test]
fn constant_time_aes_is_small() {
    let place = built(&["aes128", "--operation", "ctr", "--variant", "boolean"]);
    within(sizes(place.path(), "uses_aes128.c", &["context"], &[]), 4096, 400);
    cut(place.path(), "aes128", "aes128_ctr", 16, Some(16), (0, 1));
}

#[test]
fn chacha20_poly1305_is_small() {
    let place = built(&["chacha20-poly1305"]);
    within(sizes(place.path(), "uses_chacha20_poly1305.c", &["context"], &[]), 4608, 320);
    // Decryption shares what is the same.
    let both = sizes(place.path(), "uses_chacha20_poly1305.c", &["context", "back"], &["-DDECRYPTS"]);
    within(both, 6656, 640);
}

#[test]
fn ascon_is_small() {
    let place = built(&["ascon-aead128"]);
    within(sizes(place.path(), "uses_ascon_aead128.c", &["context"], &[]), 4096, 300);
    within(sizes(place.path(), "uses_ascon_aead128.c", &["context", "back"], &["-DDECRYPTS"]), 6144, 600);
}

/// What networks hold back of a piece comes out with the next one, over input that must have been read by then; and messages
/// may be longer than those that say how long FIFOs get.
#[test]
fn blocks_go_in_any_pieces_and_in_place() {
    let operations = [
        ("cbc-encrypt", (0, 16)),
        ("cbc-decrypt", (0, 16)),
        ("cbc-pad-encrypt", (0, 1)),
        ("cbc-cs3-encrypt", (16, 1)),
        ("cbc-cs3-decrypt", (16, 1)),
    ];
    let names = operations.iter().flat_map(|(name, _)| ["--operation", *name]);
    let place = built(&["aes128"].into_iter().chain(names).collect::<Vec<&str>>());
    for (name, lengths) in operations {
        cut(place.path(), "aes128", &format!("aes128_{}", name.replace('-', "_")), 16, Some(16), lengths);
    }
}

/// Each set has a context as large as it has alone, whatever else is in its project, and C++ takes the header.
#[test]
fn several_sets_make_one_project() {
    let place = built(&["aes128-gcm", "sha256", "hmac-sha256", "--name", "several"]);
    std::fs::write(
        place.path().join("sizes.cpp"),
        "#include \"several.h\"\nstatic_assert(sizeof(sha256_hash_context) <= 176, \"a context of its own\");\n\
         int main() {\n    sha256_hash_context context;\n    return static_cast<int>(sha256_hash_init(&context));\n}\n",
    )
    .expect("a file can be written");
    let flags = ["-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Isrc"];
    said(&[&["c++"], &flags[..], &["sizes.cpp", "libseveral.a", "-lm", "-o", "sizes"]].concat(), place.path());
    said(&["./sizes"], place.path());
}

/// Paddings, ciphertext stealing, generators, cores, codecs: whatever a network has.
#[test]
fn operations_of_every_kind_give_their_known_answers() {
    for arguments in [
        &["aes128", "--operation", "cbc-pad-encrypt", "--operation", "cbc-pad-decrypt", "--operation", "encrypt"][..],
        &["hmac-sha256"],
        &["aes128-gcm"],
        &["base64"],
        &["ctr-drbg-aes128"],
        &["chacha20"],
    ] {
        built(arguments);
    }
}

#[test]
fn what_cannot_be_small_is_said() {
    let place = tempfile::tempdir().expect("a temporary folder can be made");
    let refused = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_headrace"))
            .args(["build", "--small", "-o", "."])
            .args(arguments)
            .current_dir(place.path())
            .output()
            .expect("the command starts");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(refused(&["sha256", "--target", "rust"]).contains("makes nothing small"));
    assert!(refused(&["ctl.hash.sha2.Sha256", "--target", "c"]).contains("operations of the library"));
}
