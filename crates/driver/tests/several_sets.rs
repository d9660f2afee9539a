//! Projects of several parameter sets that `headrace build --target c` makes: one header and one archive, which a program
//! uses all of, and clear words where sets do not go together. What other languages make of several stands in their tests.

#[expect(dead_code, reason = "each test uses a part of it")]
mod projects;

use projects::{Folder, is_here, refused};
use std::path::Path;
use std::process::Command;

/// Bytes of text that three sets may take, beside those of a C library.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
const TEXT: u64 = 400 * 1024;

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

/// A program that uses every function of three sets but those for many messages at once, and tells how large contexts are.
const ALL: &str = r#"#include "three.h"
#include <stdio.h>

static struct aes128_gcm_aead_encrypt_context seal, seal_2;
static struct aes128_gcm_aead_decrypt_context open, open_2;
static struct sha256_hash_context hash, hash_2;
static struct hmac_sha256_mac_context mac, mac_2;
static struct hmac_sha256_verify_context verify, verify_2;

int main(void) {
    static uint8_t key[16], nonce[12], in[100], out[116], tag[16], digest[32];
    size_t n = 0, n_tag = 0;
    uint32_t failed = 0;
    failed |= aes128_gcm_aead_encrypt_key(&seal, key, 16);
    failed |= aes128_gcm_aead_encrypt_init(&seal, nonce, 12, key, 3);
    failed |= aes128_gcm_aead_encrypt_update(&seal, in, 100, out, 116, &n);
    failed |= aes128_gcm_aead_encrypt_final(&seal, out, 116, &n, tag, 16, &n_tag);
    failed |= aes128_gcm_aead_encrypt_message(&seal, nonce, 12, key, 3, in, 100, out, 116, &n, tag, 16, &n_tag);
    failed |= aes128_gcm_aead_encrypt_message_helped(&seal, NULL, nonce, 12, key, 3, in, 100, out, 116, &n, tag, 16, &n_tag);
    aes128_gcm_aead_encrypt_copy(&seal_2, &seal);
    aes128_gcm_aead_encrypt_clear(&seal);
    failed |= aes128_gcm_aead_decrypt_key(&open, key, 16);
    failed |= aes128_gcm_aead_decrypt_message(&open, nonce, 12, key, 3, out, n, tag, n_tag, in, 100, &n);
    failed |= aes128_gcm_aead_decrypt_message_helped(&open, NULL, nonce, 12, key, 3, out, n, tag, n_tag, in, 100, &n);
    aes128_gcm_aead_decrypt_copy(&open_2, &open);
    aes128_gcm_aead_decrypt_clear(&open);
    failed |= sha256_hash_init(&hash);
    failed |= sha256_hash_update(&hash, in, 100);
    failed |= sha256_hash_final(&hash, digest, 32, &n);
    failed |= sha256_hash_message(&hash, in, 100, digest, 32, &n);
    failed |= sha256_hash_message_helped(&hash, NULL, in, 100, digest, 32, &n);
    sha256_hash_copy(&hash_2, &hash);
    sha256_hash_clear(&hash);
    failed |= hmac_sha256_mac_key(&mac, key, 16);
    failed |= hmac_sha256_mac_init(&mac);
    failed |= hmac_sha256_mac_update(&mac, in, 100);
    failed |= hmac_sha256_mac_final(&mac, digest, 32, &n);
    failed |= hmac_sha256_mac_message(&mac, in, 100, digest, 32, &n);
    failed |= hmac_sha256_mac_message_helped(&mac, NULL, in, 100, digest, 32, &n);
    hmac_sha256_mac_copy(&mac_2, &mac);
    hmac_sha256_mac_clear(&mac);
    failed |= hmac_sha256_verify_key(&verify, key, 16);
    failed |= hmac_sha256_verify_init(&verify);
    failed |= hmac_sha256_verify_update(&verify, in, 100);
    failed |= hmac_sha256_verify_final(&verify, digest, 32);
    failed |= hmac_sha256_verify_message(&verify, in, 100, digest, 32);
    failed |= hmac_sha256_verify_message_helped(&verify, NULL, in, 100, digest, 32);
    hmac_sha256_verify_copy(&verify_2, &verify);
    hmac_sha256_verify_clear(&verify);
    printf("%u %zu %zu %zu %zu\n", (unsigned)failed, sizeof seal, sizeof open, sizeof hash, sizeof mac);
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

/// Bytes of text and constants of a program that is linked statically, without what it does not use.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn text_of(folder: &Folder, program: &str, more: &[&Path]) -> u64 {
    folder.write("measured.c", program);
    let mut compile = Command::new("cc");
    compile.args([
        "-std=c11",
        "-O2",
        "-ffunction-sections",
        "-static",
        "-Wl,--gc-sections",
        "measured.c",
        "-o",
        "measured",
    ]);
    if let Some(source) = more.first() {
        compile.arg("-I").arg(source);
    }
    folder.run(compile.args(more.iter().skip(1)).arg("-lm"));
    let listed = folder.run(Command::new("size").arg("measured"));
    let text = listed.lines().nth(1).and_then(|line| line.split_whitespace().next()?.parse().ok());
    text.expect("a size in bytes")
}

/// What is fast is small, too: all networks share what is the same in them, and contexts hold little beside the state.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn three_sets_have_little_text_and_small_contexts() {
    if !["make", "cc", "size"].into_iter().all(is_here) {
        return;
    }
    let folder = Folder::new();
    let project = folder.build("c", &["aes128-gcm", "sha256", "hmac-sha256", "--name", "three"]);
    folder.run(Command::new("make").args(["-s", "CFLAGS=-O2", "-C"]).arg(&project).arg("libthree.a"));
    let (source, archive) = (project.join("src"), project.join("libthree.a"));
    let whole = text_of(&folder, ALL, &[&source, &archive]);
    let said = folder.run(&mut Command::new(folder.path().join("measured")));
    let sizes: Vec<u64> = said.split_whitespace().filter_map(|size| size.parse().ok()).collect();
    let own = whole - text_of(&folder, "int main(void) { return 0; }\n", &[]);
    assert!(own <= TEXT, "{own} bytes of text, {said}");
    let [0, seal, open, hash, mac] = sizes[..] else { panic!("{said}") };
    // What is for many messages at once is left out where nothing calls it, flags or not.
    let members = folder.run(Command::new("ar").arg("t").arg(&archive));
    let of_many: Vec<&str> = members.lines().filter(|member| member.ends_with("_many.o")).collect();
    assert_eq!(of_many.len(), 3, "{members}");
    folder.run(Command::new("ar").arg("d").arg(&archive).args(&of_many));
    assert_eq!(text_of(&folder, ALL, &[&source, &archive]), whole);
    // Among them is the key, of at most 64 bytes, with which a context comes back to fast code.
    assert!(seal <= 4096 && open <= 4096 && hash <= 600 && mac <= 6752, "{said}");
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
