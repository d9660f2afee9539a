/* libgcrypt. */
#include "peer.h"

#include <gcrypt.h>
#include <stdlib.h>
#include <string.h>

enum kind { ENCRYPT, DECRYPT, SEAL, OPEN, DIGEST, MAC };

struct known {
    const char *operation;
    int algorithm, mode;
    enum kind kind;
};

static const struct known all[] = {
#define MODES(set, algorithm)                                                                                        \
    {set " ecb-encrypt", algorithm, GCRY_CIPHER_MODE_ECB, ENCRYPT},                                                  \
        {set " ecb-decrypt", algorithm, GCRY_CIPHER_MODE_ECB, DECRYPT},                                              \
        {set " cbc-encrypt", algorithm, GCRY_CIPHER_MODE_CBC, ENCRYPT},                                              \
        {set " cbc-decrypt", algorithm, GCRY_CIPHER_MODE_CBC, DECRYPT},                                              \
        {set " cfb-encrypt", algorithm, GCRY_CIPHER_MODE_CFB, ENCRYPT},                                              \
        {set " cfb-decrypt", algorithm, GCRY_CIPHER_MODE_CFB, DECRYPT},                                              \
        {set " ofb", algorithm, GCRY_CIPHER_MODE_OFB, ENCRYPT}, {set " ctr", algorithm, GCRY_CIPHER_MODE_CTR, ENCRYPT}
#define AES(bits, algorithm)                                                                                         \
    MODES("aes" bits, algorithm), {"aes" bits "-gcm aead-encrypt", algorithm, GCRY_CIPHER_MODE_GCM, SEAL},           \
        {"aes" bits "-gcm aead-decrypt", algorithm, GCRY_CIPHER_MODE_GCM, OPEN},                                     \
        {"aes" bits "-ccm aead-encrypt", algorithm, GCRY_CIPHER_MODE_CCM, SEAL},                                     \
        {"aes" bits "-ccm aead-decrypt", algorithm, GCRY_CIPHER_MODE_CCM, OPEN},                                     \
        {"aes" bits "-ocb3 aead-encrypt", algorithm, GCRY_CIPHER_MODE_OCB, SEAL},                                    \
        {"aes" bits "-ocb3 aead-decrypt", algorithm, GCRY_CIPHER_MODE_OCB, OPEN}
    AES("128", GCRY_CIPHER_AES128),
    AES("192", GCRY_CIPHER_AES192),
    AES("256", GCRY_CIPHER_AES256),
    MODES("des", GCRY_CIPHER_DES),
    MODES("tdes", GCRY_CIPHER_3DES),
    MODES("blowfish", GCRY_CIPHER_BLOWFISH),
    MODES("twofish128", GCRY_CIPHER_TWOFISH128),
    MODES("twofish256", GCRY_CIPHER_TWOFISH),
    MODES("serpent128", GCRY_CIPHER_SERPENT128),
    MODES("serpent256", GCRY_CIPHER_SERPENT256),
    {"chacha20 stream", GCRY_CIPHER_CHACHA20, GCRY_CIPHER_MODE_STREAM, ENCRYPT},
    {"arc4 stream", GCRY_CIPHER_ARCFOUR, GCRY_CIPHER_MODE_STREAM, ENCRYPT},
    {"sha1 hash", GCRY_MD_SHA1, 0, DIGEST},
    {"sha256 hash", GCRY_MD_SHA256, 0, DIGEST},
    {"sha512 hash", GCRY_MD_SHA512, 0, DIGEST},
    {"whirlpool hash", GCRY_MD_WHIRLPOOL, 0, DIGEST},
    {"hmac-sha1 mac", GCRY_MAC_HMAC_SHA1, 0, MAC},
    {"hmac-sha256 mac", GCRY_MAC_HMAC_SHA256, 0, MAC},
};

struct context {
    const struct known *known;
    gcry_cipher_hd_t cipher;
    gcry_md_hd_t digest;
    gcry_mac_hd_t mac;
    uint8_t key[64], iv[16];
    size_t key_bytes, iv_bytes, digest_bytes;
};

const char *peer_version(void)
{
    return gcry_check_version(NULL);
}

void peer_close(void *given)
{
    struct context *context = given;
    gcry_cipher_close(context->cipher);
    gcry_md_close(context->digest);
    if (context->mac)
        gcry_mac_close(context->mac);
    free(context);
}

static int is_ready(struct context *context)
{
    const struct known *known = context->known;
    switch (known->kind) {
    case DIGEST:
        context->digest_bytes = gcry_md_get_algo_dlen(known->algorithm);
        return gcry_md_open(&context->digest, known->algorithm, 0) == 0;
    case MAC:
        context->digest_bytes = gcry_mac_get_algo_maclen(known->algorithm);
        return gcry_mac_open(&context->mac, known->algorithm, 0, NULL) == 0
            && gcry_mac_setkey(context->mac, context->key, context->key_bytes) == 0;
    default:
        return gcry_cipher_open(&context->cipher, known->algorithm, known->mode, 0) == 0
            && gcry_cipher_setkey(context->cipher, context->key, context->key_bytes) == 0;
    }
}

void *peer_open(const char *operation, const struct peer_strings *strings)
{
    const struct known *known = NULL;
    if (!gcry_control(GCRYCTL_INITIALIZATION_FINISHED_P)) {
        gcry_check_version(NULL);
        gcry_control(GCRYCTL_DISABLE_SECMEM, 0);
        gcry_control(GCRYCTL_INITIALIZATION_FINISHED, 0);
    }
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].operation, operation) == 0)
            known = &all[i];
    struct context *context = known ? calloc(1, sizeof *context) : NULL;
    if (!context)
        return NULL;
    if (strings->key_bytes > sizeof context->key || strings->iv_bytes > sizeof context->iv) {
        free(context);
        return NULL;
    }
    context->known = known;
    context->key_bytes = strings->key_bytes;
    context->iv_bytes = strings->iv_bytes;
    if (strings->key_bytes > 0)
        memcpy(context->key, strings->key, strings->key_bytes);
    if (strings->iv_bytes > 0)
        memcpy(context->iv, strings->iv, strings->iv_bytes);
    if (is_ready(context))
        return context;
    peer_close(context);
    return NULL;
}

/* Begins the message: initial block, counter or nonce, and lengths where they must be known. */
static int begin(struct context *context, size_t text)
{
    gcry_cipher_hd_t cipher = context->cipher;
    if (context->known->mode == GCRY_CIPHER_MODE_CTR)
        return gcry_cipher_setctr(cipher, context->iv, context->iv_bytes) == 0;
    if (context->known->algorithm == GCRY_CIPHER_ARCFOUR)
        return gcry_cipher_setkey(cipher, context->key, context->key_bytes) == 0;
    if (gcry_cipher_reset(cipher) != 0)
        return 0;
    if (context->known->mode != GCRY_CIPHER_MODE_ECB && gcry_cipher_setiv(cipher, context->iv, context->iv_bytes) != 0)
        return 0;
    uint64_t lengths[] = {text, 0, PEER_TAG_BYTES};
    if (context->known->mode == GCRY_CIPHER_MODE_CCM
        && gcry_cipher_ctl(cipher, GCRYCTL_SET_CCM_LENGTHS, lengths, sizeof lengths) != 0)
        return 0;
    return 1;
}

size_t peer_run(void *given, const uint8_t *in, uint8_t *out, size_t n_bytes)
{
    struct context *context = given;
    gcry_cipher_hd_t cipher = context->cipher;
    size_t text = context->known->kind == OPEN ? n_bytes - PEER_TAG_BYTES : n_bytes;
    switch (context->known->kind) {
    case DIGEST:
        gcry_md_reset(context->digest);
        gcry_md_write(context->digest, in, n_bytes);
        memcpy(out, gcry_md_read(context->digest, 0), context->digest_bytes);
        return context->digest_bytes;
    case MAC: {
        size_t room = context->digest_bytes;
        if (gcry_mac_reset(context->mac) != 0 || gcry_mac_write(context->mac, in, n_bytes) != 0
            || gcry_mac_read(context->mac, out, &room) != 0)
            return PEER_FAILED;
        return room;
    }
    case ENCRYPT:
        return begin(context, text) && gcry_cipher_encrypt(cipher, out, n_bytes, in, n_bytes) == 0 ? n_bytes
                                                                                                   : PEER_FAILED;
    case DECRYPT:
        return begin(context, text) && gcry_cipher_decrypt(cipher, out, n_bytes, in, n_bytes) == 0 ? n_bytes
                                                                                                   : PEER_FAILED;
    case SEAL:
        if (!begin(context, text) || gcry_cipher_final(cipher) != 0
            || gcry_cipher_encrypt(cipher, out, text, in, text) != 0
            || gcry_cipher_gettag(cipher, out + text, PEER_TAG_BYTES) != 0)
            return PEER_FAILED;
        return text + PEER_TAG_BYTES;
    case OPEN:
        if (!begin(context, text) || gcry_cipher_final(cipher) != 0
            || gcry_cipher_decrypt(cipher, out, text, in, text) != 0
            || gcry_cipher_checktag(cipher, in + text, PEER_TAG_BYTES) != 0)
            return PEER_FAILED;
        return text;
    }
    return PEER_FAILED;
}
