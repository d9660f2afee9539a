//! Projects of several parameter sets that `headrace build --target c` makes: one header and one archive, which a program
//! uses all of, and clear words where sets do not go together. What other languages make of several stands in their tests.

#[expect(dead_code, reason = "each test uses a part of it")]
mod projects;

use projects::{Folder, is_here, refused};
use std::path::Path;
use std::process::Command;

/// A program that uses three sets of one project.
const PROGRAM: &str = r#"#include "three.h"
#include <stdio.h>

static struct aes128_gcm_aead_encrypt_context gcm;
static struct sha256_hash_context sha;
static struct hmac_sha256_mac_context hmac;

int main(void) {
    static uint8_t key[16], nonce[12], out[3], tag[16], digest[SHA256_HASH_OUT_BYTES];
    const uint8_t abc[] = {'a', 'b', 'c'};
    size_t n, n_tag;
    uint32_t failed = aes128_gcm_aead_encrypt_key(&gcm, key, sizeof key);
    failed |= aes128_gcm_aead_encrypt_message(&gcm, nonce, sizeof nonce, NULL, 0, abc, sizeof abc, out, sizeof out, &n, tag,
                                              sizeof tag, &n_tag);
    failed |= hmac_sha256_mac_key(&hmac, key, sizeof key);
    failed |= hmac_sha256_mac_message(&hmac, abc, sizeof abc, digest, sizeof digest, &n);
    failed |= sha256_hash_message(&sha, abc, sizeof abc, digest, sizeof digest, &n);
    printf("%u %02x%02x\n", (unsigned)failed, digest[0], digest[31]);
    return (int)failed;
}
"#;

/// Files below a folder whose names have an ending.
fn n_files(folder: &Path, ending: &str) -> usize {
    let files = std::fs::read_dir(folder).expect("the folder is there");
    files.filter(|file| file.as_ref().is_ok_and(|file| file.file_name().to_string_lossy().ends_with(ending))).count()
}

#[test]
fn a_program_uses_three_sets_of_one_archive() {
    if !is_here("make") || !is_here("cc") {
        return;
    }
    let folder = Folder::new();
    let sets = ["aes128-gcm", "sha256", "hmac-sha256", "--name", "three", "--unfused"];
    let project = folder.build("c", &sets);
    let source = project.join("src");
    assert_eq!(n_files(&source, "headrace_message.c"), 1);
    // The project's, one for each set, one for each network, and those of the run time.
    assert_eq!(n_files(&source, ".h"), 1 + 3 + 5 + 5);
    let said = folder.run(Command::new("make").args(["-s", "CFLAGS=-O1", "-C"]).arg(&project).arg("test"));
    for operation in ["aes128-gcm-aead-encrypt", "aes128-gcm-aead-decrypt", "sha256-hash", "hmac-sha256-mac"] {
        assert!(said.contains(&format!("operation {operation}: ")), "{said}");
    }
    assert!(said.contains(" passed, 0 failed") && !said.contains("warning"), "{said}");
    folder.write("program.c", PROGRAM);
    let mut compile = Command::new("cc");
    compile.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "program.c", "-o", "program", "-I"]).arg(&source);
    folder.run(compile.arg(project.join("libthree.a")).arg("-lm"));
    let said = folder.run(&mut Command::new(folder.path().join("program")));
    assert_eq!(said, "0 baad\n");
}

#[test]
fn one_set_may_have_another_name() {
    let folder = Folder::new();
    let project = folder.build("c", &["sha256", "--name", "digests", "--unfused"]);
    let whole = std::fs::read_to_string(project.join("src/digests.h")).expect("the project has its header");
    assert!(whole.contains("#include \"sha256.h\""), "{whole}");
    let makefile = std::fs::read_to_string(project.join("Makefile")).expect("the project has a Makefile");
    assert!(makefile.contains("libdigests.a"), "{makefile}");
}

#[test]
fn what_does_not_go_together_says_why() {
    refused(&["aes128", "sha256", "--target", "xlim"], "target xlim makes a project of one parameter set at a time");
    refused(&["aes128", "sha256", "--target", "xlim"], "c, llvm, rust");
    refused(&["aes128", "nothing", "--target", "c"], "`nothing` is no primitive");
    refused(&["aes", "sha256", "--target", "c"], "`aes` has several parameter sets; say which are wanted: aes128");
    refused(&["aes128", "sha256", "--operation", "ctr", "--target", "rust"], "`sha256` has no operation `ctr`");
    refused(&["aes128", "sha256", "--operation", "ctr", "--target", "rust"], "another --operation (hash)");
    refused(&["aes128", "sha256", "--operation", "none", "--target", "c"], "has no operation `none`");
    refused(&["aes128", "sha256", "--variant", "none", "--target", "c"], "has a variant `none`; there are standard");
    refused(&["aes128", "sha256", "--name", "sha-256", "--target", "c"], "cannot be called like `sha256`");
    refused(&["aes128", "sha256", "--name", "headrace-x", "--target", "c"], "begin with `headrace` are taken");
    refused(&["aes128", "sha256", "--name", "a/b", "--target", "c"], "a name begins with a letter");
    refused(&["aes128", "--name", "x", "--target", "openssl"], "has a name of its own");
    refused(&["ctl.block.aes.AesEncrypt(NK = 4)", "--name", "x", "--target", "c"], "a network has its own name");
}
