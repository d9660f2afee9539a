/* The random bit generators of OpenSSL 3 on strings that a test says, for CTR_DRBG and Hash_DRBG to be held against.
 *
 *     cc -O2 -o openssl_drbg tests/peers/openssl_drbg.c -lcrypto
 *
 * Entropy and nonce come through OpenSSL's TEST-RAND. Reads one command a line from standard input and answers each with
 * one line; strings are hexadecimal, `-` is the empty one.
 *
 *     new ctr AES-256-CTR 1            a CTR-DRBG, with (1) or without (0) the derivation function: `ok`
 *     new hash SHA256                  a HASH-DRBG: `ok`
 *     instantiate ENTROPY NONCE PERS   `ok`, or `failed`
 *     reseed ENTROPY ADDITIONAL        `ok`, or `failed`
 *     generate N ADDITIONAL            N bytes, or `failed`
 */
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 1 << 17, MAX_LINE = 1 << 20 };

struct bytes {
    unsigned char data[MAX_BYTES];
    size_t n;
};

static EVP_RAND_CTX *source, *generator;
static struct bytes strings[3];
static char line[MAX_LINE];

static int read_hex(const char *text, struct bytes *to) {
    const size_t n_digits = strcmp(text, "-") == 0 ? 0 : strlen(text);
    to->n = n_digits / 2;
    if (n_digits % 2 != 0 || to->n > MAX_BYTES) {
        return 0;
    }
    for (size_t i = 0; i < to->n; i++) {
        unsigned value;
        if (sscanf(text + 2 * i, "%2x", &value) != 1) {
            return 0;
        }
        to->data[i] = (unsigned char)value;
    }
    return 1;
}

/* What the source gives when it is asked next. */
static int feed(struct bytes *entropy, struct bytes *nonce) {
    OSSL_PARAM params[3], *p = params;
    *p++ = OSSL_PARAM_construct_octet_string(OSSL_RAND_PARAM_TEST_ENTROPY, entropy->data, entropy->n);
    if (nonce != NULL) {
        *p++ = OSSL_PARAM_construct_octet_string(OSSL_RAND_PARAM_TEST_NONCE, nonce->data, nonce->n);
    }
    *p = OSSL_PARAM_construct_end();
    return EVP_RAND_CTX_set_params(source, params);
}

static EVP_RAND_CTX *context(const char *name, EVP_RAND_CTX *parent) {
    EVP_RAND *method = EVP_RAND_fetch(NULL, name, NULL);
    EVP_RAND_CTX *made = method == NULL ? NULL : EVP_RAND_CTX_new(method, parent);
    EVP_RAND_free(method);
    return made;
}

static int start(const char *mechanism, char *algorithm, int derive) {
    const int is_ctr = strcmp(mechanism, "ctr") == 0;
    unsigned strength = 256;
    OSSL_PARAM of_source[2] = {OSSL_PARAM_construct_uint(OSSL_RAND_PARAM_STRENGTH, &strength), OSSL_PARAM_construct_end()};
    OSSL_PARAM params[3] = {
        OSSL_PARAM_construct_utf8_string(is_ctr ? OSSL_DRBG_PARAM_CIPHER : OSSL_DRBG_PARAM_DIGEST, algorithm, 0),
        is_ctr ? OSSL_PARAM_construct_int(OSSL_DRBG_PARAM_USE_DF, &derive) : OSSL_PARAM_construct_end(),
        OSSL_PARAM_construct_end(),
    };
    EVP_RAND_CTX_free(generator);
    EVP_RAND_CTX_free(source);
    source = context("TEST-RAND", NULL);
    generator = source == NULL ? NULL : context(is_ctr ? "CTR-DRBG" : "HASH-DRBG", source);
    return generator != NULL && EVP_RAND_CTX_set_params(source, of_source) && EVP_RAND_CTX_set_params(generator, params);
}

static int instantiate(void) {
    const struct bytes *personalization = &strings[2];
    EVP_RAND_uninstantiate(generator);
    EVP_RAND_uninstantiate(source);
    return feed(&strings[0], &strings[1]) && EVP_RAND_instantiate(source, 256, 0, NULL, 0, NULL) &&
           EVP_RAND_instantiate(generator, 0, 0, personalization->data, personalization->n, NULL);
}

static int reseed(void) {
    return feed(&strings[0], NULL) && EVP_RAND_reseed(generator, 0, NULL, 0, strings[1].data, strings[1].n);
}

static int generate(size_t n) {
    static unsigned char out[MAX_BYTES];
    if (n > MAX_BYTES || !EVP_RAND_generate(generator, out, n, 0, 0, strings[0].data, strings[0].n)) {
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        printf("%02x", out[i]);
    }
    printf("\n");
    return 1;
}

int main(void) {
    while (fgets(line, sizeof line, stdin) != NULL) {
        char *word[5];
        int n = 0, done = 0;
        for (char *next = strtok(line, " \n"); next != NULL && n < 5; next = strtok(NULL, " \n")) {
            word[n++] = next;
        }
        if (n >= 3 && strcmp(word[0], "new") == 0) {
            done = start(word[1], word[2], n == 4 && word[3][0] == '1');
        } else if (n == 4 && strcmp(word[0], "instantiate") == 0) {
            done = read_hex(word[1], &strings[0]) && read_hex(word[2], &strings[1]) && read_hex(word[3], &strings[2]) &&
                   instantiate();
        } else if (n == 3 && strcmp(word[0], "reseed") == 0) {
            done = read_hex(word[1], &strings[0]) && read_hex(word[2], &strings[1]) && reseed();
        } else if (n == 3 && strcmp(word[0], "generate") == 0 && read_hex(word[2], &strings[0]) &&
                   generate((size_t)strtoul(word[1], NULL, 10))) {
            fflush(stdout);
            continue;
        }
        printf("%s\n", done ? "ok" : "failed");
        fflush(stdout);
    }
    EVP_RAND_CTX_free(generator);
    EVP_RAND_CTX_free(source);
    return 0;
}
