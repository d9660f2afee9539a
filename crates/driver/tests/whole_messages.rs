//! Operations without a key in C: a whole message in one call, whatever its context holds, and in place, is what its pieces
//! come to.

#[expect(dead_code, reason = "each test uses a part of it")]
mod projects;

use projects::{Folder, is_here};
use std::process::Command;

/// All lengths around several blocks, pieces of many sizes, and contexts that nobody has prepared.
const PROGRAM: &str = r#"#include "two.h"
#include <stdio.h>
#include <string.h>

static struct sha256_hash_context whole_hash, hash;
static struct base64_encode_context whole_encode, encode;
static uint8_t in[700], digest[32], of_pieces[32], text[1000], in_pieces[1000];

static size_t piece(size_t at, size_t length, size_t most) {
    const size_t wanted = (at * 7 + length) % most + 1;
    return wanted < length - at ? wanted : length - at;
}

int main(void) {
    for (size_t i = 0; i < sizeof in; i++) {
        in[i] = (uint8_t)(i * 37 + i / 256);
    }
    for (size_t length = 0; length < sizeof in; length++) {
        size_t n, n_digest, made = 0;
        uint32_t failed = 0;
        memset(&whole_hash, (int)(0xaa + length), sizeof whole_hash);
        memset(&whole_encode, (int)(0x55 + length), sizeof whole_encode);
        failed |= sha256_hash_message(&whole_hash, in, length, digest, sizeof digest, &n);
        failed |= sha256_hash_init(&hash);
        for (size_t at = 0; at < length; at += piece(at, length, 90)) {
            failed |= sha256_hash_update(&hash, in + at, piece(at, length, 90));
        }
        failed |= sha256_hash_final(&hash, of_pieces, sizeof of_pieces, &n_digest);
        if (failed || n != n_digest || memcmp(digest, of_pieces, n) != 0) {
            return printf("a digest of %zu bytes differs\n", length), 1;
        }
        memcpy(text, in, length);
        failed |= sha256_hash_message(&whole_hash, text, length, text, sizeof text, &n);
        if (failed || memcmp(text, digest, n) != 0) {
            return printf("a digest in place of %zu bytes differs\n", length), 1;
        }
        failed |= base64_encode_message(&whole_encode, in, length, text, sizeof text, &n);
        failed |= base64_encode_init(&encode);
        for (size_t at = 0; at < length; at += piece(at, length, 70)) {
            size_t came;
            failed |= base64_encode_update(&encode, in + at, piece(at, length, 70), in_pieces + made, sizeof in_pieces - made, &came);
            made += came;
        }
        size_t rest;
        failed |= base64_encode_final(&encode, in_pieces + made, sizeof in_pieces - made, &rest);
        if (failed || n != made + rest || memcmp(text, in_pieces, n) != 0) {
            return printf("the text of %zu bytes differs\n", length), 1;
        }
    }
    return puts("equal"), 0;
}
"#;

#[test]
fn whole_messages_without_a_key_are_what_their_pieces_come_to() {
    if !is_here("make") || !is_here("cc") {
        return;
    }
    let folder = Folder::new();
    let project = folder.build("c", &["sha256", "base64", "--name", "two"]);
    folder.run(Command::new("make").args(["-s", "CFLAGS=-O2", "-C"]).arg(&project).arg("libtwo.a"));
    folder.write("program.c", PROGRAM);
    let mut compile = Command::new("cc");
    compile
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "program.c", "-o", "program", "-I"])
        .arg(project.join("src"));
    folder.run(compile.arg(project.join("libtwo.a")).arg("-lm"));
    assert_eq!(folder.run(&mut Command::new(folder.path().join("program"))), "equal\n");
}
