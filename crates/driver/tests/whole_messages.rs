//! Whole messages and pieces in C. Without a key: a whole message in one call, whatever its context holds, and in place, is what
//! its pieces come to. With keys that change in one context: what is kept of the key before is not taken for the next one, and
//! tags that are not a message's own are refused.

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

/// One context for all messages, whose keys change or stay, in pieces that are long enough for lanes; beside it one that begins anew.
const KEYED: &str = r#"#include "two.h"
#include <stdio.h>
#include <string.h>

enum { MOST = 5000 };
static uint8_t in[MOST], ad[40], anew[MOST + 64], kept[MOST + 64], back[MOST + 64];
static struct chacha20_poly1305_aead_encrypt_context fresh_c, seal_c, copy_c;
static struct chacha20_poly1305_aead_decrypt_context open_c;
static struct aes128_gcm_aead_encrypt_context fresh_g, seal_g, copy_g;
static struct aes128_gcm_aead_decrypt_context open_g;

#define MESSAGES(SET, KEY, FRESH, SEAL, COPY, OPEN) \
    for (unsigned number = 0; number < 120; number++) { \
        const size_t length = (size_t)number * 41 % MOST, piece = number % 3 == 0 ? 1024 : 300 + number * 5; \
        uint8_t key[32], nonce[12], tag[16], other[16]; \
        size_t n, n_tag, made = 0; \
        uint32_t failed = 0; \
        memset(key, (int)(number / 2), sizeof key); \
        memset(nonce, (int)number, sizeof nonce); \
        memset(&FRESH, 0, sizeof FRESH); \
        failed |= SET##_aead_encrypt_key(&FRESH, key, KEY); \
        failed |= SET##_aead_encrypt_message(&FRESH, nonce, 12, ad, number % 40, in, length, anew, sizeof anew, &n, tag, 16, &n_tag); \
        if (number % 2 == 0) failed |= SET##_aead_encrypt_key(&SEAL, key, KEY); \
        failed |= SET##_aead_encrypt_init(&SEAL, nonce, 12, ad, number % 40); \
        for (size_t at = 0; at < length; at += piece) { \
            size_t came, now = length - at < piece ? length - at : piece; \
            failed |= SET##_aead_encrypt_update(&SEAL, in + at, now, kept + made, sizeof kept - made, &came); \
            made += came; \
            if (number % 5 == 0) { \
                SET##_aead_encrypt_copy(&COPY, &SEAL); \
                SET##_aead_encrypt_clear(&SEAL); \
                SET##_aead_encrypt_copy(&SEAL, &COPY); \
            } \
        } \
        size_t rest, n_other; \
        failed |= SET##_aead_encrypt_final(&SEAL, kept + made, sizeof kept - made, &rest, other, 16, &n_other); \
        if (failed || made + rest != n || memcmp(anew, kept, n) != 0 || memcmp(tag, other, 16) != 0) \
            return printf(#SET ": message %u differs\n", number), 1; \
        if (number % 2 == 0) failed |= SET##_aead_decrypt_key(&OPEN, key, KEY); \
        failed |= SET##_aead_decrypt_message(&OPEN, nonce, 12, ad, number % 40, kept, n, tag, 16, back, sizeof back, &rest); \
        if (failed || rest != length || memcmp(back, in, length) != 0) \
            return printf(#SET ": message %u does not come back\n", number), 1; \
        tag[number % 16] ^= (uint8_t)(1 + number); \
        if (SET##_aead_decrypt_message(&OPEN, nonce, 12, ad, number % 40, kept, n, tag, 16, back, sizeof back, &rest) != HEADRACE_REFUSED) \
            return printf(#SET ": message %u comes back with a tag that is not its own\n", number), 1; \
    }

/* Test case 2 of McGrew and Viega, The Galois/Counter Mode of Operation: all is zero. */
static const uint8_t sealed[] = {0x03, 0x88, 0xda, 0xce, 0x60, 0xb6, 0xa3, 0x92, 0xf3, 0x28, 0xc2, 0xb9, 0x71, 0xb2, 0xfe, 0x78,
                                 0xab, 0x6e, 0x47, 0xd4, 0x2c, 0xec, 0x13, 0xbd, 0xf5, 0x3a, 0x67, 0xb2, 0x12, 0x57, 0xbd, 0xdf};

int main(void) {
    for (size_t i = 0; i < sizeof in; i++) {
        in[i] = (uint8_t)(i * 37 + i / 256);
    }
    MESSAGES(chacha20_poly1305, 32, fresh_c, seal_c, copy_c, open_c)
    MESSAGES(aes128_gcm, 16, fresh_g, seal_g, copy_g, open_g)
    static const uint8_t zero[16];
    size_t n, n_tag;
    uint32_t failed = aes128_gcm_aead_encrypt_key(&seal_g, zero, 16);
    failed |= aes128_gcm_aead_encrypt_message(&seal_g, zero, 12, NULL, 0, zero, 16, anew, 16, &n, anew + 16, 16, &n_tag);
    if (failed || memcmp(anew, sealed, sizeof sealed) != 0) {
        return puts("zeros are not sealed as published"), 1;
    }
    return puts("equal"), 0;
}
"#;

/// A program with the library of these sets, and what it says.
fn said(sets: &[&str], program: &str) -> Option<String> {
    if !is_here("make") || !is_here("cc") {
        return None;
    }
    let folder = Folder::new();
    let project = folder.build("c", &[sets, &["--name", "two"]].concat());
    folder.run(Command::new("make").args(["-s", "CFLAGS=-O2", "-C"]).arg(&project).arg("libtwo.a"));
    folder.write("program.c", program);
    let mut compile = Command::new("cc");
    compile
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "program.c", "-o", "program", "-I"])
        .arg(project.join("src"));
    folder.run(compile.arg(project.join("libtwo.a")).arg("-lm"));
    Some(folder.run(&mut Command::new(folder.path().join("program"))))
}

#[test]
fn whole_messages_without_a_key_are_what_their_pieces_come_to() {
    if let Some(said) = said(&["sha256", "base64"], PROGRAM) {
        assert_eq!(said, "equal\n");
    }
}

#[test]
fn keys_that_change_in_a_context_leave_nothing_behind() {
    if let Some(said) = said(&["chacha20-poly1305", "aes128-gcm"], KEYED) {
        assert_eq!(said, "equal\n");
    }
}
