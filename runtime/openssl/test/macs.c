/* Message authentication codes beside those of others, with every hash and cipher that both have. */
#include "test.h"

#include <openssl/core_names.h>

/* What codes may be made of, and lengths of their keys; others are not asked for. */
static const char *const digests[] = {"SHA1",     "SHA2-224", "SHA2-256", "SHA2-384", "SHA2-512", "SHA3-224",
                                      "SHA3-256", "SHA3-384", "SHA3-512", "WHIRLPOOL", NULL};
static const char *const ciphers[] = {"AES-128-CBC", "AES-192-CBC", "AES-256-CBC", "DES-EDE3-CBC",
                                      "AES-128-GCM", "AES-192-GCM", "AES-256-GCM", NULL};
static const size_t keys[] = {4, 16, 24, 32, 63, 200};

static bool made(EVP_MAC *mac, const OSSL_PARAM *params, const uint8_t *key, size_t key_bytes, const uint8_t *text, size_t length,
                 bool in_pieces, uint8_t *tag, size_t *tag_bytes) {
    EVP_MAC_CTX *context = EVP_MAC_CTX_new(mac);
    bool good = context != NULL && EVP_MAC_init(context, key, key_bytes, params);
    for (size_t at = 0, piece; at < length && good; at += piece) {
        piece = in_pieces ? some_piece(length - at) : length;
        good = EVP_MAC_update(context, text + at, piece);
        if (good && in_pieces && below(4) == 0) {
            EVP_MAC_CTX *const copy = EVP_MAC_CTX_dup(context);
            EVP_MAC_CTX_free(context);
            context = copy;
            good = copy != NULL;
        }
    }
    good = good && EVP_MAC_final(context, tag, tag_bytes, 128);
    if (good && in_pieces) {
        /* Again under the same key, of nothing else than the beginning; what that gives shows elsewhere. A nonce is not used again. */
        const bool has_nonce = params != NULL && params->key != NULL && strcmp(params->key, OSSL_MAC_PARAM_IV) == 0;
        uint8_t other[128];
        size_t other_bytes;
        if (EVP_MAC_init(context, NULL, 0, NULL)) {
            good = has_nonce ? !EVP_MAC_final(context, other, &other_bytes, sizeof other)
                             : EVP_MAC_update(context, text, length / 2) && EVP_MAC_final(context, other, &other_bytes, sizeof other) &&
                                   (length < 2 || memcmp(other, tag, *tag_bytes) != 0);
        }
        ERR_clear_error();
    }
    EVP_MAC_CTX_free(context);
    return good;
}

/* With these parameters, where both take them. */
static bool compare(EVP_MAC *mine, EVP_MAC *other, const OSSL_PARAM *params) {
    static uint8_t text[ROOM];
    const char *const name = EVP_MAC_get0_name(mine);
    bool compared = false;
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
        uint8_t key[256], wanted[128], got[128];
        size_t n_wanted, n_got;
        fill(key, keys[k]);
        if (!made(other, params, key, keys[k], text, 0, false, wanted, &n_wanted) ||
            !made(mine, params, key, keys[k], text, 0, false, got, &n_got)) {
            ERR_clear_error();
            continue;
        }
        compared = true;
        for (unsigned i = 0; i < 15; i++) {
            const size_t length = some_length();
            fill(text, length);
            expect(made(other, params, key, keys[k], text, length, false, wanted, &n_wanted), name, "another one");
            expect(made(mine, params, key, keys[k], text, length, false, got, &n_got) && n_got == n_wanted &&
                       memcmp(got, wanted, n_got) == 0,
                   name, "in one piece");
            expect(made(mine, params, key, keys[k], text, length, true, got, &n_got) && n_got == n_wanted &&
                       memcmp(got, wanted, n_got) == 0,
                   name, "in pieces, copied");
        }
    }
    return compared;
}

struct counts {
    unsigned n, alone;
};

static void one(EVP_MAC *mine, void *argument) {
    struct counts *const counts = argument;
    const char *const name = EVP_MAC_get0_name(mine);
    EVP_MAC *const other = EVP_MAC_fetch(theirs, name, NULL);
    uint8_t iv[16];
    unsigned ways = 0;
    OSSL_PARAM params[3] = {OSSL_PARAM_construct_end(), OSSL_PARAM_construct_end(), OSSL_PARAM_construct_end()};
    counts->n++;
    ERR_clear_error();
    if (other == NULL) {
        counts->alone++;
        printf("%s: not compared, nobody else here has it\n", name);
        return;
    }
    ways += compare(mine, other, NULL);
    fill(iv, sizeof iv);
    params[0] = OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_CUSTOM, iv, sizeof iv);
    ways += OSSL_PARAM_locate_const(EVP_MAC_settable_ctx_params(other), OSSL_MAC_PARAM_CUSTOM) != NULL && compare(mine, other, params);
    for (size_t i = 0; digests[i] != NULL; i++) {
        params[0] = OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)digests[i], 0);
        params[1] = OSSL_PARAM_construct_end();
        ways += OSSL_PARAM_locate_const(EVP_MAC_settable_ctx_params(other), OSSL_MAC_PARAM_DIGEST) != NULL && compare(mine, other, params);
    }
    for (size_t i = 0; ciphers[i] != NULL; i++) {
        for (size_t iv_bytes = 0; iv_bytes <= 16; iv_bytes += 4) {
            const bool takes_iv = OSSL_PARAM_locate_const(EVP_MAC_settable_ctx_params(other), OSSL_MAC_PARAM_IV) != NULL;
            params[0] = OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_IV, iv, iv_bytes);
            params[iv_bytes == 0 ? 0 : 1] = OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_CIPHER, (char *)ciphers[i], 0);
            params[iv_bytes == 0 ? 1 : 2] = OSSL_PARAM_construct_end();
            ways += takes_iv == (iv_bytes != 0) &&
                    OSSL_PARAM_locate_const(EVP_MAC_settable_ctx_params(other), OSSL_MAC_PARAM_CIPHER) != NULL &&
                    compare(mine, other, params);
        }
    }
    printf("%s: %u ways of it\n", name, ways);
    expect(ways != 0, name, "something can be compared");
    misuse_mac(mine);
    EVP_MAC_free(other);
}

unsigned test_macs(unsigned *alone) {
    struct counts counts = {0, 0};
    EVP_MAC_do_all_provided(ours, one, &counts);
    *alone += counts.alone;
    return counts.n;
}
