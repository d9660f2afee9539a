/* What programs do wrong: nothing of it works, and nothing of it does harm. */
#include "test.h"

#include <openssl/core_names.h>

static void refused(bool good, const char *name, const char *what) {
    expect(!good, name, what);
}

void misuse_cipher(const EVP_CIPHER *cipher) {
    const char *const name = EVP_CIPHER_get0_name(cipher);
    const bool seals = (EVP_CIPHER_get_flags(cipher) & EVP_CIPH_FLAG_AEAD_CIPHER) != 0;
    const bool counts_on = EVP_CIPHER_get_mode(cipher) == EVP_CIPH_CTR_MODE || EVP_CIPHER_get_mode(cipher) == EVP_CIPH_STREAM_CIPHER;
    static const uint8_t key[64] = {1}, iv[16] = {2}, in[64] = {3};
    uint8_t out[128], tag[16] = {0};
    int n = 0;
    size_t number = 65000;
    OSSL_PARAM of_tls[] = {OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_AEAD_TLS1_AAD, out, 12), OSSL_PARAM_construct_end()};
    OSSL_PARAM of_length[] = {OSSL_PARAM_construct_size_t(OSSL_CIPHER_PARAM_KEYLEN, &number), OSSL_PARAM_construct_end()};
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new(), *copy = EVP_CIPHER_CTX_new();
    for (int encrypts = 0; encrypts < 2; encrypts++) {
        EVP_CIPHER_CTX_reset(context);
        expect(EVP_CipherInit_ex2(context, cipher, NULL, NULL, encrypts, NULL), name, "can be begun without a key");
        refused(EVP_CipherUpdate(context, out, &n, in, 32), name, "needs a key");
        refused(EVP_CIPHER_CTX_set_params(context, of_length) > 0, name, "refuses keys of absurd lengths");
        refused(seals && EVP_CIPHER_get_mode(cipher) != EVP_CIPH_OCB_MODE && EVP_CIPHER_CTX_set_params(context, of_tls) > 0, name, "refuses what no record of TLS begins with");
        expect(EVP_CIPHER_CTX_copy(copy, context), name, "can be copied before there is a key");
        /* OpenSSL's GCM makes a nonce itself. */
        if (EVP_CIPHER_get_iv_length(cipher) != 0 && !(encrypts && EVP_CIPHER_get_mode(cipher) == EVP_CIPH_GCM_MODE)) {
            expect(EVP_CipherInit_ex2(context, NULL, key, NULL, -1, NULL), name, "can be begun without an initial block");
            refused(EVP_CipherUpdate(context, out, &n, in, 32), name, "needs an initial block");
        }
    }
    EVP_CIPHER_CTX_reset(context);
    if (seals) {
        refused(EVP_DecryptInit_ex2(context, cipher, key, iv, NULL) && EVP_DecryptUpdate(context, out, &n, in, 32), name,
                "needs the tag before the text");
        EVP_CIPHER_CTX_reset(context);
        refused(EVP_DecryptInit_ex2(context, cipher, key, iv, NULL) && EVP_DecryptFinal_ex(context, out, &n), name, "needs a tag at the end");
        EVP_CIPHER_CTX_reset(context);
        refused(EVP_EncryptInit_ex2(context, cipher, key, iv, NULL) && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, tag) > 0, name,
                "has no tag before the end");
        refused(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, 16, tag) > 0, name, "takes no tag to encrypt");
        refused(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_IVLEN, 0, NULL) > 0, name, "refuses empty nonces");
        refused(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_IVLEN, 5000, NULL) > 0, name, "refuses nonces of absurd lengths");
        EVP_CIPHER_CTX_reset(context);
        expect(EVP_EncryptInit_ex2(context, cipher, key, iv, NULL) && EVP_EncryptUpdate(context, out, &n, in, 32) &&
                   EVP_EncryptFinal_ex(context, out + n, &n),
               name, "encrypts");
        refused(EVP_EncryptUpdate(context, NULL, &n, in, 8), name, "takes no associated data when all is over");
        expect(EVP_EncryptInit_ex2(context, NULL, key, NULL, NULL), name, "can be begun again");
        refused(EVP_EncryptUpdate(context, out, &n, in, 32), name, "takes a nonce for one message");
    } else {
        expect(EVP_EncryptInit_ex2(context, cipher, key, iv, NULL) && EVP_EncryptUpdate(context, out, &n, in, 32), name, "encrypts");
        if (counts_on) {
            expect(EVP_EncryptInit_ex2(context, NULL, NULL, NULL, NULL), name, "can be begun again");
            memcpy(out + 64, out, 32);
            expect(EVP_EncryptUpdate(context, out, &n, in, 32) && memcmp(out, out + 64, 32) != 0, name, "does not repeat its key stream");
        }
    }
    EVP_CIPHER_CTX_free(context);
    EVP_CIPHER_CTX_free(copy);
}

void misuse_digest(const EVP_MD *digest) {
    const char *const name = EVP_MD_get0_name(digest);
    EVP_MD_CTX *const context = EVP_MD_CTX_new(), *const copy = EVP_MD_CTX_new();
    uint8_t out[EVP_MAX_MD_SIZE];
    unsigned n;
    refused(EVP_DigestUpdate(context, "x", 1), name, "must be begun");
    expect(EVP_DigestInit_ex2(context, digest, NULL) && EVP_DigestFinal_ex(context, out, &n), name, "takes the empty message");
    refused(EVP_DigestUpdate(context, "x", 1), name, "takes nothing when all is over");
    refused(EVP_DigestFinal_ex(context, out, &n), name, "gives one digest");
    expect(EVP_MD_CTX_copy_ex(copy, context), name, "can be copied when all is over");
    EVP_MD_CTX_free(context);
    EVP_MD_CTX_free(copy);
}

void misuse_mac(EVP_MAC *mac) {
    const char *const name = EVP_MAC_get0_name(mac);
    EVP_MAC_CTX *const context = EVP_MAC_CTX_new(mac);
    static const uint8_t key[32] = {1};
    uint8_t out[128];
    size_t n;
    OSSL_PARAM wrong[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, "NOTHING", 0),
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_CIPHER, "NOTHING", 0),
        OSSL_PARAM_construct_end(),
    };
    refused(EVP_MAC_update(context, key, 1), name, "must be begun");
    refused(EVP_MAC_final(context, out, &n, sizeof out), name, "must be begun to end");
    refused(EVP_MAC_init(context, NULL, 0, NULL) && EVP_MAC_final(context, out, &n, sizeof out), name, "needs a key");
    if (!EVP_MAC_init(context, key, sizeof key, NULL)) {
        /* What it is made of must be said, and must be there. */
        ERR_clear_error();
        refused(EVP_MAC_init(context, key, sizeof key, wrong), name, "is made of what there is");
    } else {
        refused(EVP_MAC_final(context, out, &n, 1), name, "needs room");
    }
    ERR_clear_error();
    EVP_MAC_CTX_free(context);
}

void test_wrong_use(void) {
    EVP_CIPHER *const nothing = EVP_CIPHER_fetch(ours, "NOTHING", NULL);
    refused(nothing != NULL, "provider", "has no cipher of that name");
    ERR_clear_error();
}
