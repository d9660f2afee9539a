/*
 * The test of a provider: each algorithm that it offers, beside that of OpenSSL's own providers under the same name. Lengths,
 * keys and pieces are arbitrary, the same each time.
 */
#ifndef HEADRACE_TEST_H
#define HEADRACE_TEST_H

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/provider.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The longest message that is tried, with room for what is added to it. */
#define TEXT_MOST 20000
#define ROOM (TEXT_MOST + 64)

/* What is tested and what it is compared with. */
extern OSSL_LIB_CTX *ours, *theirs;

/* Counts a failure and says what it is; returns whether all was well. */
bool expect(bool holds, const char *algorithm, const char *what);

/* Arbitrary numbers below a bound that is not 0, and bytes. */
size_t below(size_t bound);
void fill(uint8_t *bytes, size_t n_bytes);
/* Lengths that are worth a try: those about blocks more often than long ones. */
size_t some_length(void);

/* Takes part of what is left, some of it now and then all. */
size_t some_piece(size_t left);

/* Each compares the algorithms of a kind; returns how many there are, and counts those that nobody else has. */
unsigned test_ciphers(unsigned *alone);
unsigned test_digests(unsigned *alone);
unsigned test_macs(unsigned *alone);
/* Calls in the wrong order, with wrong lengths, without keys: they fail, and nothing else happens. */
void test_wrong_use(void);

/* One cipher that authenticates, beside another under the same name. */
void compare_sealing(const EVP_CIPHER *mine, const EVP_CIPHER *other);
/* What all wrong uses of a cipher have in common. */
void misuse_cipher(const EVP_CIPHER *cipher);
void misuse_digest(const EVP_MD *digest);
void misuse_mac(EVP_MAC *mac);

#endif
