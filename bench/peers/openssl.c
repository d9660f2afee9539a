/* OpenSSL's libcrypto through EVP, version 3 or later. */
#include "peer.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/provider.h>
#include <stdlib.h>
#include <string.h>

enum kind { ENCRYPT, DECRYPT, SEAL, OPEN, DIGEST, MAC, ENCODE, DECODE };

struct known {
    const char *operation;
    const char *algorithm;
    enum kind kind;
};

static const struct known all[] = {
#define MODES(set, name)                                                                                             \
    {set " ecb-encrypt", name "-ECB", ENCRYPT}, {set " ecb-decrypt", name "-ECB", DECRYPT},                          \
        {set " cbc-encrypt", name "-CBC", ENCRYPT}, {set " cbc-decrypt", name "-CBC", DECRYPT},                      \
        {set " cfb-encrypt", name "-CFB", ENCRYPT}, {set " cfb-decrypt", name "-CFB", DECRYPT},                      \
        {set " ofb", name "-OFB", ENCRYPT}
#define AES(bits)                                                                                                    \
    MODES("aes" bits, "AES-" bits), {"aes" bits " ctr", "AES-" bits "-CTR", ENCRYPT},                                \
        {"aes" bits "-gcm aead-encrypt", "AES-" bits "-GCM", SEAL},                                                  \
        {"aes" bits "-gcm aead-decrypt", "AES-" bits "-GCM", OPEN},                                                  \
        {"aes" bits "-ccm aead-encrypt", "AES-" bits "-CCM", SEAL},                                                  \
        {"aes" bits "-ccm aead-decrypt", "AES-" bits "-CCM", OPEN},                                                  \
        {"aes" bits "-ocb3 aead-encrypt", "AES-" bits "-OCB", SEAL},                                                 \
        {"aes" bits "-ocb3 aead-decrypt", "AES-" bits "-OCB", OPEN},                                                 \
        {"aes" bits "-gcm-siv aead-encrypt", "AES-" bits "-GCM-SIV", SEAL},                                          \
        {"aes" bits "-gcm-siv aead-decrypt", "AES-" bits "-GCM-SIV", OPEN},                                          \
        {"aes" bits "-xts xts-encrypt", "AES-" bits "-XTS", ENCRYPT},                                                \
        {"aes" bits "-xts xts-decrypt", "AES-" bits "-XTS", DECRYPT}
    AES("128"),
    AES("192"),
    AES("256"),
    MODES("des", "DES"),
    MODES("tdes", "DES-EDE3"),
    MODES("blowfish", "BF"),
    {"chacha20 stream", "ChaCha20", ENCRYPT},
    {"chacha20-poly1305 aead-encrypt", "ChaCha20-Poly1305", SEAL},
    {"chacha20-poly1305 aead-decrypt", "ChaCha20-Poly1305", OPEN},
    {"arc4 stream", "RC4", ENCRYPT},
    {"sha1 hash", "SHA1", DIGEST},
    {"sha256 hash", "SHA256", DIGEST},
    {"sha512 hash", "SHA512", DIGEST},
    {"whirlpool hash", "WHIRLPOOL", DIGEST},
    {"hmac-sha256 mac", "SHA256", MAC},
    {"hmac-sha1 mac", "SHA1", MAC},
    {"base64 encode", "", ENCODE},
    {"base64 decode", "", DECODE},
};

struct context {
    const struct known *known;
    EVP_CIPHER *cipher;
    EVP_CIPHER_CTX *cipher_context;
    EVP_MD *digest;
    EVP_MD_CTX *digest_context;
    EVP_MAC *mac;
    EVP_MAC_CTX *mac_context;
    uint8_t iv[16];
    size_t iv_bytes;
    int is_ccm;
    /* Of a stream cipher whose state goes on until it gets its key again. */
    uint8_t key[32];
    const uint8_t *key_again;
};

const char *peer_version(void)
{
    return OpenSSL_version(OPENSSL_VERSION_STRING);
}

void peer_close(void *given)
{
    struct context *context = given;
    EVP_CIPHER_CTX_free(context->cipher_context);
    EVP_CIPHER_free(context->cipher);
    EVP_MD_CTX_free(context->digest_context);
    EVP_MD_free(context->digest);
    EVP_MAC_CTX_free(context->mac_context);
    EVP_MAC_free(context->mac);
    free(context);
}

static int set_key(struct context *context, const struct peer_strings *strings)
{
    EVP_CIPHER_CTX *to = context->cipher_context;
    enum kind kind = context->known->kind;
    int encrypts = kind == ENCRYPT || kind == SEAL;
    if (EVP_CipherInit_ex(to, context->cipher, NULL, NULL, NULL, encrypts) != 1)
        return 0;
    if (kind == SEAL || kind == OPEN) {
        context->is_ccm = EVP_CIPHER_get_mode(context->cipher) == EVP_CIPH_CCM_MODE;
        int is_ocb = EVP_CIPHER_get_mode(context->cipher) == EVP_CIPH_OCB_MODE;
        if (EVP_CIPHER_CTX_ctrl(to, EVP_CTRL_AEAD_SET_IVLEN, (int)strings->iv_bytes, NULL) != 1)
            return 0;
        if ((context->is_ccm || is_ocb)
            && EVP_CIPHER_CTX_ctrl(to, EVP_CTRL_AEAD_SET_TAG, PEER_TAG_BYTES, NULL) != 1)
            return 0;
    } else if ((size_t)EVP_CIPHER_CTX_get_key_length(to) != strings->key_bytes
               && EVP_CIPHER_CTX_set_key_length(to, (int)strings->key_bytes) != 1) {
        return 0;
    }
    return EVP_CipherInit_ex(to, NULL, NULL, strings->key, context->iv, encrypts) == 1
        && EVP_CIPHER_CTX_set_padding(to, 0) == 1;
}

void *peer_open(const char *operation, const struct peer_strings *strings)
{
    const struct known *known = NULL;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].operation, operation) == 0)
            known = &all[i];
    struct context *context = known ? calloc(1, sizeof *context) : NULL;
    if (!context)
        return NULL;
    context->known = known;
    /* What is out of use lies in a provider of its own, which is not loaded unless asked for. */
    OSSL_PROVIDER_load(NULL, "default");
    OSSL_PROVIDER_load(NULL, "legacy");
    /* The counter of ChaCha20 stands before its nonce, little-endian, from zero. */
    size_t counter = strcmp(known->algorithm, "ChaCha20") == 0 ? 4 : 0;
    context->iv_bytes = strings->iv_bytes;
    if (strings->iv_bytes + counter <= sizeof context->iv && strings->iv_bytes > 0)
        memcpy(context->iv + counter, strings->iv, strings->iv_bytes);
    if (strcmp(known->algorithm, "RC4") == 0 && strings->key_bytes <= sizeof context->key) {
        memcpy(context->key, strings->key, strings->key_bytes);
        context->key_again = context->key;
    }
    int is_ready = 0;
    switch (known->kind) {
    case DIGEST:
        context->digest = EVP_MD_fetch(NULL, known->algorithm, NULL);
        context->digest_context = EVP_MD_CTX_new();
        is_ready = context->digest && EVP_DigestInit_ex(context->digest_context, context->digest, NULL) == 1;
        break;
    case MAC:
        context->mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
        context->mac_context = context->mac ? EVP_MAC_CTX_new(context->mac) : NULL;
        if (context->mac_context) {
            OSSL_PARAM parameters[] = {
                OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)known->algorithm, 0),
                OSSL_PARAM_construct_end(),
            };
            is_ready = EVP_MAC_init(context->mac_context, strings->key, strings->key_bytes, parameters) == 1;
        }
        break;
    case ENCODE:
    case DECODE:
        is_ready = 1;
        break;
    default:
        context->cipher = EVP_CIPHER_fetch(NULL, known->algorithm, NULL);
        context->cipher_context = EVP_CIPHER_CTX_new();
        is_ready = context->cipher && set_key(context, strings);
    }
    if (is_ready)
        return context;
    peer_close(context);
    return NULL;
}

static size_t seal(struct context *context, const uint8_t *in, uint8_t *out, size_t n_bytes)
{
    EVP_CIPHER_CTX *with = context->cipher_context;
    int n = 0, rest = 0;
    if (EVP_EncryptInit_ex(with, NULL, NULL, NULL, context->iv) != 1)
        return PEER_FAILED;
    if (EVP_EncryptUpdate(with, out, &n, in, (int)n_bytes) != 1 || EVP_EncryptFinal_ex(with, out + n, &rest) != 1)
        return PEER_FAILED;
    if (EVP_CIPHER_CTX_ctrl(with, EVP_CTRL_AEAD_GET_TAG, PEER_TAG_BYTES, out + n + rest) != 1)
        return PEER_FAILED;
    return (size_t)(n + rest) + PEER_TAG_BYTES;
}

static size_t open_sealed(struct context *context, const uint8_t *in, uint8_t *out, size_t n_bytes)
{
    EVP_CIPHER_CTX *with = context->cipher_context;
    size_t text = n_bytes - PEER_TAG_BYTES;
    int n = 0, rest = 0;
    if (EVP_DecryptInit_ex(with, NULL, NULL, NULL, context->iv) != 1)
        return PEER_FAILED;
    if (EVP_CIPHER_CTX_ctrl(with, EVP_CTRL_AEAD_SET_TAG, PEER_TAG_BYTES, (void *)(in + text)) != 1)
        return PEER_FAILED;
    if (EVP_DecryptUpdate(with, out, &n, in, (int)text) != 1)
        return PEER_FAILED;
    /* CCM has given its verdict with the text. */
    if (!context->is_ccm && EVP_DecryptFinal_ex(with, out + n, &rest) != 1)
        return PEER_FAILED;
    return (size_t)(n + rest);
}

/* How much of a message a call is given. */
static int piece_at(size_t at, size_t n_bytes, size_t piece_bytes)
{
    return (int)(n_bytes - at < piece_bytes ? n_bytes - at : piece_bytes);
}

size_t peer_run_pieces(void *given, const uint8_t *in, uint8_t *out, size_t n_bytes, size_t piece_bytes)
{
    struct context *context = given;
    EVP_CIPHER_CTX *with = context->cipher_context;
    enum kind kind = context->known->kind;
    size_t text = kind == OPEN ? n_bytes - PEER_TAG_BYTES : n_bytes, got = 0, tag_bytes = 0;
    unsigned digest_bytes = 0;
    int n = 0;
    switch (kind) {
    case ENCRYPT:
    case DECRYPT:
    case SEAL:
    case OPEN:
        /* CCM takes a message whole. */
        if (context->is_ccm || EVP_CipherInit_ex(with, NULL, NULL, context->key_again, context->iv, -1) != 1)
            return PEER_FAILED;
        for (size_t at = 0; at < text; at += piece_bytes) {
            if (EVP_CipherUpdate(with, out + got, &n, in + at, piece_at(at, text, piece_bytes)) != 1)
                return PEER_FAILED;
            got += (size_t)n;
        }
        if (kind == OPEN && EVP_CIPHER_CTX_ctrl(with, EVP_CTRL_AEAD_SET_TAG, PEER_TAG_BYTES, (void *)(in + text)) != 1)
            return PEER_FAILED;
        if (EVP_CipherFinal_ex(with, out + got, &n) != 1)
            return PEER_FAILED;
        got += (size_t)n;
        if (kind == SEAL && EVP_CIPHER_CTX_ctrl(with, EVP_CTRL_AEAD_GET_TAG, PEER_TAG_BYTES, out + got) != 1)
            return PEER_FAILED;
        return kind == SEAL ? got + PEER_TAG_BYTES : got;
    case DIGEST:
        if (EVP_DigestInit_ex(context->digest_context, NULL, NULL) != 1)
            return PEER_FAILED;
        for (size_t at = 0; at < n_bytes; at += piece_bytes)
            if (EVP_DigestUpdate(context->digest_context, in + at, (size_t)piece_at(at, n_bytes, piece_bytes)) != 1)
                return PEER_FAILED;
        return EVP_DigestFinal_ex(context->digest_context, out, &digest_bytes) == 1 ? digest_bytes : PEER_FAILED;
    case MAC:
        if (EVP_MAC_init(context->mac_context, NULL, 0, NULL) != 1)
            return PEER_FAILED;
        for (size_t at = 0; at < n_bytes; at += piece_bytes)
            if (EVP_MAC_update(context->mac_context, in + at, (size_t)piece_at(at, n_bytes, piece_bytes)) != 1)
                return PEER_FAILED;
        return EVP_MAC_final(context->mac_context, out, &tag_bytes, 64) == 1 ? tag_bytes : PEER_FAILED;
    default:
        return PEER_FAILED;
    }
}

size_t peer_run(void *given, const uint8_t *in, uint8_t *out, size_t n_bytes)
{
    struct context *context = given;
    int n = 0;
    unsigned digest_bytes = 0;
    size_t tag_bytes = 0;
    switch (context->known->kind) {
    case ENCRYPT:
    case DECRYPT:
        if (EVP_CipherInit_ex(context->cipher_context, NULL, NULL, context->key_again, context->iv, -1) != 1
            || EVP_CipherUpdate(context->cipher_context, out, &n, in, (int)n_bytes) != 1)
            return PEER_FAILED;
        return (size_t)n;
    case SEAL:
        return seal(context, in, out, n_bytes);
    case OPEN:
        return open_sealed(context, in, out, n_bytes);
    case DIGEST:
        if (EVP_DigestInit_ex(context->digest_context, NULL, NULL) != 1
            || EVP_DigestUpdate(context->digest_context, in, n_bytes) != 1
            || EVP_DigestFinal_ex(context->digest_context, out, &digest_bytes) != 1)
            return PEER_FAILED;
        return digest_bytes;
    case MAC:
        if (EVP_MAC_init(context->mac_context, NULL, 0, NULL) != 1
            || EVP_MAC_update(context->mac_context, in, n_bytes) != 1
            || EVP_MAC_final(context->mac_context, out, &tag_bytes, 64) != 1)
            return PEER_FAILED;
        return tag_bytes;
    case ENCODE:
        return (size_t)EVP_EncodeBlock(out, in, (int)n_bytes);
    case DECODE:
        n = EVP_DecodeBlock(out, in, (int)n_bytes);
        if (n < 0 || n_bytes < 4)
            return PEER_FAILED;
        /* It counts the padding as bytes. */
        return (size_t)n - (in[n_bytes - 1] == '=') - (in[n_bytes - 2] == '=');
    }
    return PEER_FAILED;
}
