/* Ciphers beside those of others: with and without padding, whole, in pieces, in place, copied on the way. */
#include "test.h"

#include <openssl/core_names.h>

#define KEY_MOST 64
#define IV_MOST 16

/* How a message is given. */
struct way {
    bool encrypts;
    bool is_padded;
    bool in_pieces;
    bool in_place;
    size_t key_bytes;    /* 0: as many as the cipher says */
    const char *form;    /* of ciphertext stealing; null: none is said */
};

/* A message through a cipher; false where it refuses, or `out` would not have room. */
static bool through(const EVP_CIPHER *cipher, const struct way *way, const uint8_t *key, const uint8_t *iv, const uint8_t *in,
                    size_t in_bytes, uint8_t *out, size_t *out_bytes) {
    static uint8_t here[ROOM];
    const uint8_t *const given = in;
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    OSSL_PARAM form[2] = {OSSL_PARAM_construct_end(), OSSL_PARAM_construct_end()};
    int n = 0;
    bool good;
    *out_bytes = 0;
    if (way->form != NULL) {
        form[0] = OSSL_PARAM_construct_utf8_string(OSSL_CIPHER_PARAM_CTS_MODE, (char *)way->form, 0);
    }
    good = EVP_CipherInit_ex2(context, cipher, NULL, NULL, way->encrypts, form) &&
           (way->key_bytes == 0 || EVP_CIPHER_CTX_set_key_length(context, (int)way->key_bytes) > 0) &&
           EVP_CipherInit_ex2(context, NULL, key, iv, -1, NULL) && EVP_CIPHER_CTX_set_padding(context, way->is_padded);
    if (way->in_place) {
        memcpy(here, in, in_bytes);
        in = here;
        out = here;
    }
    for (size_t at = 0, piece; at < in_bytes && good; at += piece) {
        piece = way->in_pieces ? some_piece(in_bytes - at) : in_bytes;
        good = EVP_CipherUpdate(context, out + *out_bytes, &n, in + at, (int)piece);
        *out_bytes += (size_t)n;
        if (good && way->in_pieces && below(5) == 0) {
            EVP_CIPHER_CTX *const copy = EVP_CIPHER_CTX_new();
            good = EVP_CIPHER_CTX_copy(copy, context);
            EVP_CIPHER_CTX_free(context);
            context = copy;
        }
    }
    good = good && EVP_CipherFinal_ex(context, out + *out_bytes, &n);
    *out_bytes += good ? (size_t)n : 0;
    if (good && way->in_pieces && key != NULL && below(3) == 0) {
        /* The same again, with what the context still knows. */
        size_t again = 0;
        if (way->in_place) {
            memcpy(here, given, in_bytes);
        }
        good = EVP_CipherInit_ex2(context, NULL, iv == NULL ? key : NULL, iv, -1, NULL) &&
               EVP_CipherUpdate(context, out, &n, in, (int)in_bytes);
        again = (size_t)n;
        good = good && EVP_CipherFinal_ex(context, out + again, &n) && again + (size_t)n == *out_bytes;
    }
    EVP_CIPHER_CTX_free(context);
    return good;
}

static bool has_blocks(const EVP_CIPHER *cipher) {
    return EVP_CIPHER_get_mode(cipher) == EVP_CIPH_ECB_MODE || EVP_CIPHER_get_mode(cipher) == EVP_CIPH_CBC_MODE;
}

/* Decrypts with padding, which is switched off before the end: the last block comes out as it is. */
static bool late(const EVP_CIPHER *cipher, const uint8_t *key, const uint8_t *iv, const uint8_t *in, size_t in_bytes, uint8_t *out) {
    EVP_CIPHER_CTX *const context = EVP_CIPHER_CTX_new();
    int n = 0, rest = 0;
    const bool good = context != NULL && EVP_DecryptInit_ex2(context, cipher, key, iv, NULL) &&
                      EVP_DecryptUpdate(context, out, &n, in, (int)in_bytes) && EVP_CIPHER_CTX_set_padding(context, 0) &&
                      EVP_DecryptFinal_ex(context, out + n, &rest) && (size_t)(n + rest) == in_bytes;
    EVP_CIPHER_CTX_free(context);
    return good;
}

/* One message, in every way there is. */
static void compare_message(const EVP_CIPHER *mine, const EVP_CIPHER *other, struct way way) {
    static uint8_t text[ROOM], wanted[ROOM], got[ROOM], back[ROOM];
    const char *const name = EVP_CIPHER_get0_name(mine);
    const size_t length = some_length(), block = (size_t)EVP_CIPHER_get_block_size(mine);
    uint8_t key[KEY_MOST], iv_bytes[IV_MOST], ones[2];
    const uint8_t *const iv = EVP_CIPHER_get_iv_length(mine) == 0 ? NULL : iv_bytes;
    size_t n_wanted, n_got, n_back;
    bool good;
    fill(text, length);
    fill(key, sizeof key);
    fill(iv_bytes, sizeof iv_bytes);
    fill(ones, sizeof ones);
    if (ones[0] % 3 == 0) {
        /* Counters that come to their end carry as the other one's do. */
        memset(iv_bytes, 0xff, ones[1] % (sizeof iv_bytes + 1));
    }
    way.encrypts = true;
    good = through(other, &way, key, iv, text, length, wanted, &n_wanted);
    ERR_clear_error();
    if (!good) {
        /* Not whole blocks, too short to steal from: neither does ours. */
        expect(!through(mine, &way, key, iv, text, length, got, &n_got), name, "refuses what the other one refuses");
        return;
    }
    expect(through(mine, &way, key, iv, text, length, got, &n_got) && n_got == n_wanted && memcmp(got, wanted, n_got) == 0, name,
           "encrypts a message in one piece");
    way.encrypts = false;
    expect(through(mine, &way, key, iv, wanted, n_wanted, back, &n_back) && n_back == length && memcmp(back, text, length) == 0, name,
           "decrypts a message in one piece");
    if ((EVP_CIPHER_get_flags(mine) & EVP_CIPH_FLAG_CTS) != 0) {
        return;
    }
    way.in_pieces = true;
    expect(through(mine, &way, key, iv, wanted, n_wanted, back, &n_back) && n_back == length && memcmp(back, text, length) == 0, name,
           "decrypts a message in pieces");
    way.encrypts = true;
    expect(through(mine, &way, key, iv, text, length, got, &n_got) && n_got == n_wanted && memcmp(got, wanted, n_got) == 0, name,
           "encrypts a message in pieces");
    if (has_blocks(mine) && way.is_padded && n_wanted != 0) {
        expect(way.key_bytes != 0 || (late(other, key, iv, wanted, n_wanted, back) && late(mine, key, iv, wanted, n_wanted, got) && memcmp(got, back, n_wanted) == 0),
               name, "gives the last block when padding is switched off");
        /* What ends in no padding, or in the middle of a block. */
        way.in_pieces = way.encrypts = false;
        wanted[n_wanted - block] ^= 1;
        good = through(other, &way, key, iv, wanted, n_wanted, back, &n_back);
        ERR_clear_error();
        expect(through(mine, &way, key, iv, wanted, n_wanted, got, &n_got) == good && (!good || n_got == n_back), name, "tells wrong padding");
        expect(!through(mine, &way, key, iv, wanted, n_wanted - 1, got, &n_got), name, "refuses a part of a block");
    }
}

/* In its own place, which only leaves the same length. */
static void compare_in_place(const EVP_CIPHER *mine, const EVP_CIPHER *other, bool is_padded) {
    static uint8_t text[ROOM], wanted[ROOM];
    uint8_t key[KEY_MOST], iv[IV_MOST];
    struct way way = {.encrypts = true, .is_padded = is_padded};
    /* Nothing can be stolen from nothing. */
    const size_t length = 64 * (EVP_CIPHER_get_flags(mine) & EVP_CIPH_FLAG_CTS ? 1 : 0) + some_length() / 64 * 64;
    size_t n_wanted, n_got;
    EVP_CIPHER_CTX *const context = EVP_CIPHER_CTX_new();
    int n = 0;
    fill(text, length);
    fill(key, sizeof key);
    fill(iv, sizeof iv);
    if (!through(other, &way, key, EVP_CIPHER_get_iv_length(mine) == 0 ? NULL : iv, text, length, wanted, &n_wanted)) {
        ERR_clear_error();
        EVP_CIPHER_CTX_free(context);
        return;
    }
    expect(EVP_EncryptInit_ex2(context, mine, key, iv, NULL) && EVP_CIPHER_CTX_set_padding(context, is_padded) &&
               EVP_EncryptUpdate(context, text, &n, text, (int)length),
           EVP_CIPHER_get0_name(mine), "takes a message in its place");
    n_got = (size_t)n;
    expect(EVP_EncryptFinal_ex(context, text + n_got, &n) && n_got + (size_t)n == n_wanted && memcmp(text, wanted, n_wanted) == 0,
           EVP_CIPHER_get0_name(mine), "encrypts a message in its place");
    EVP_CIPHER_CTX_free(context);
}

static void compare(const EVP_CIPHER *mine, const EVP_CIPHER *other) {
    static const size_t keys[] = {1, 5, 8, 17, 24, 32, 56};
    static const char *const forms[] = {OSSL_CIPHER_CTS_MODE_CS1, OSSL_CIPHER_CTS_MODE_CS2, OSSL_CIPHER_CTS_MODE_CS3};
    const bool steals = (EVP_CIPHER_get_flags(mine) & EVP_CIPH_FLAG_CTS) != 0;
    for (unsigned i = 0; i < 30; i++) {
        compare_message(mine, other, (struct way){.is_padded = i % 2 == 0});
        compare_in_place(mine, other, i % 2 == 0 && has_blocks(mine));
    }
    for (size_t i = 0; i < 3 && steals; i++) {
        for (unsigned j = 0; j < 15; j++) {
            compare_message(mine, other, (struct way){.form = forms[i]});
        }
    }
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        EVP_CIPHER_CTX *const context = EVP_CIPHER_CTX_new();
        bool has;
        has = EVP_CipherInit_ex2(context, other, NULL, NULL, 1, NULL) && EVP_CIPHER_CTX_set_key_length(context, (int)keys[i]) > 0 &&
              EVP_CIPHER_CTX_get_key_length(context) == (int)keys[i];
        EVP_CIPHER_CTX_free(context);
        ERR_clear_error();
        for (unsigned j = 0; j < 5 && has; j++) {
            compare_message(mine, other, (struct way){.is_padded = true, .key_bytes = keys[i]});
        }
    }
}

/* Whether a provider was built with both directions of a cipher: one that it lacks cannot be begun. */
static bool has_both(const EVP_CIPHER *cipher) {
    EVP_CIPHER_CTX *const context = EVP_CIPHER_CTX_new();
    const bool both = EVP_EncryptInit_ex2(context, cipher, NULL, NULL, NULL) && EVP_DecryptInit_ex2(context, cipher, NULL, NULL, NULL);
    EVP_CIPHER_CTX_free(context);
    ERR_clear_error();
    return both;
}

struct counts {
    unsigned n, alone;
};

static void one(EVP_CIPHER *mine, void *argument) {
    struct counts *const counts = argument;
    const char *const name = EVP_CIPHER_get0_name(mine);
    EVP_CIPHER *const other = EVP_CIPHER_fetch(theirs, name, NULL);
    counts->n++;
    ERR_clear_error();
    if (other == NULL || !has_both(mine)) {
        counts->alone++;
        printf("%s: not compared, %s\n", name, other == NULL ? "nobody else here has it" : "one direction is not there");
        EVP_CIPHER_free(other);
        return;
    }
    expect(EVP_CIPHER_get_key_length(mine) == EVP_CIPHER_get_key_length(other), name, "length of keys");
    expect(EVP_CIPHER_get_iv_length(mine) == EVP_CIPHER_get_iv_length(other), name, "length of initial blocks");
    expect(EVP_CIPHER_get_block_size(mine) == EVP_CIPHER_get_block_size(other), name, "size of blocks");
    expect(EVP_CIPHER_get_mode(mine) == EVP_CIPHER_get_mode(other), name, "mode");
    if ((EVP_CIPHER_get_flags(other) & EVP_CIPH_FLAG_AEAD_CIPHER) != 0) {
        expect((EVP_CIPHER_get_flags(mine) & EVP_CIPH_FLAG_AEAD_CIPHER) != 0, name, "authenticates");
        compare_sealing(mine, other);
    } else {
        compare(mine, other);
    }
    misuse_cipher(mine);
    EVP_CIPHER_free(other);
}

unsigned test_ciphers(unsigned *alone) {
    struct counts counts = {0, 0};
    EVP_CIPHER_do_all_provided(ours, one, &counts);
    *alone += counts.alone;
    return counts.n;
}
