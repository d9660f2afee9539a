/* nettle. */
#include "peer.h"

#include <nettle/aes.h>
#include <nettle/arcfour.h>
#include <nettle/base64.h>
#include <nettle/blowfish.h>
#include <nettle/cbc.h>
#include <nettle/cfb.h>
#include <nettle/chacha.h>
#include <nettle/ctr.h>
#include <nettle/des.h>
#include <nettle/gcm.h>
#include <nettle/hmac.h>
#include <nettle/nettle-meta.h>
#include <nettle/serpent.h>
#include <nettle/sha.h>
#include <nettle/twofish.h>
#include <nettle/version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum what { ECB_ENCRYPT, ECB_DECRYPT, CBC_ENCRYPT, CBC_DECRYPT, CFB_ENCRYPT, CFB_DECRYPT, CTR, N_MODES };

static const char *const modes[N_MODES] = {
    "ecb-encrypt", "ecb-decrypt", "cbc-encrypt", "cbc-decrypt", "cfb-encrypt", "cfb-decrypt", "ctr",
};

typedef void crypt_function(const void *context, size_t n_bytes, uint8_t *to, const uint8_t *from);
typedef int key_function(void *context, const struct peer_strings *strings);

struct cipher {
    const char *set;
    size_t block_bytes;
    key_function *encrypt_key, *decrypt_key;
    crypt_function *encrypt, *decrypt;
};

#define KEY(name, type, call)                                                                                        \
    static int name(void *context, const struct peer_strings *strings)                                               \
    {                                                                                                                \
        struct type *keyed = context;                                                                                \
        (void)keyed;                                                                                                 \
        call;                                                                                                        \
        return 1;                                                                                                    \
    }
KEY(aes128_e, aes128_ctx, aes128_set_encrypt_key(keyed, strings->key))
KEY(aes128_d, aes128_ctx, aes128_set_decrypt_key(keyed, strings->key))
KEY(aes256_e, aes256_ctx, aes256_set_encrypt_key(keyed, strings->key))
KEY(aes256_d, aes256_ctx, aes256_set_decrypt_key(keyed, strings->key))
KEY(des_k, des_ctx, des_set_key(keyed, strings->key))
KEY(des3_k, des3_ctx, des3_set_key(keyed, strings->key))
KEY(blowfish_k, blowfish_ctx, blowfish_set_key(keyed, strings->key_bytes, strings->key))
KEY(twofish_k, twofish_ctx, twofish_set_key(keyed, strings->key_bytes, strings->key))
KEY(serpent_k, serpent_ctx, serpent_set_key(keyed, strings->key_bytes, strings->key))

#define CRYPT(function) ((crypt_function *)(void (*)(void))(function))

static const struct cipher ciphers[] = {
    {"aes128", 16, aes128_e, aes128_d, CRYPT(aes128_encrypt), CRYPT(aes128_decrypt)},
    {"aes256", 16, aes256_e, aes256_d, CRYPT(aes256_encrypt), CRYPT(aes256_decrypt)},
    {"des", 8, des_k, des_k, CRYPT(des_encrypt), CRYPT(des_decrypt)},
    {"tdes", 8, des3_k, des3_k, CRYPT(des3_encrypt), CRYPT(des3_decrypt)},
    {"blowfish", 8, blowfish_k, blowfish_k, CRYPT(blowfish_encrypt), CRYPT(blowfish_decrypt)},
    {"twofish128", 16, twofish_k, twofish_k, CRYPT(twofish_encrypt), CRYPT(twofish_decrypt)},
    {"serpent128", 16, serpent_k, serpent_k, CRYPT(serpent_encrypt), CRYPT(serpent_decrypt)},
};

struct context {
    size_t (*run)(struct context *, const uint8_t *in, uint8_t *out, size_t n_bytes);
    const struct cipher *cipher;
    enum what what;
    uint8_t iv[16], key[32];
    size_t key_bytes;
    union {
        uint8_t bytes[8192];
        uint64_t aligned;
        struct gcm_aes128_ctx gcm;
        struct hmac_sha1_ctx hmac_sha1;
        struct hmac_sha256_ctx hmac_sha256;
    } keyed;
};

const char *peer_version(void)
{
    static char text[32];
    snprintf(text, sizeof text, "%d.%d", nettle_version_major(), nettle_version_minor());
    return text;
}

void peer_close(void *context)
{
    free(context);
}

static size_t in_mode(struct context *context, const uint8_t *in, uint8_t *out, size_t n_bytes)
{
    const struct cipher *cipher = context->cipher;
    size_t block = cipher->block_bytes;
    uint8_t iv[16];
    memcpy(iv, context->iv, sizeof iv);
    switch (context->what) {
    case ECB_ENCRYPT:
        cipher->encrypt(&context->keyed, n_bytes, out, in);
        break;
    case ECB_DECRYPT:
        cipher->decrypt(&context->keyed, n_bytes, out, in);
        break;
    case CBC_ENCRYPT:
        cbc_encrypt(&context->keyed, (nettle_cipher_func *)cipher->encrypt, block, iv, n_bytes, out, in);
        break;
    case CBC_DECRYPT:
        cbc_decrypt(&context->keyed, (nettle_cipher_func *)cipher->decrypt, block, iv, n_bytes, out, in);
        break;
    case CFB_ENCRYPT:
        cfb_encrypt(&context->keyed, (nettle_cipher_func *)cipher->encrypt, block, iv, n_bytes, out, in);
        break;
    case CFB_DECRYPT:
        cfb_decrypt(&context->keyed, (nettle_cipher_func *)cipher->encrypt, block, iv, n_bytes, out, in);
        break;
    default:
        ctr_crypt(&context->keyed, (nettle_cipher_func *)cipher->encrypt, block, iv, n_bytes, out, in);
    }
    return n_bytes;
}

static size_t gcm_seal(struct context *context, const uint8_t *in, uint8_t *out, size_t n_bytes)
{
    gcm_aes128_set_iv(&context->keyed.gcm, 12, context->iv);
    gcm_aes128_encrypt(&context->keyed.gcm, n_bytes, out, in);
    gcm_aes128_digest(&context->keyed.gcm, PEER_TAG_BYTES, out + n_bytes);
    return n_bytes + PEER_TAG_BYTES;
}

static size_t gcm_open(struct context *context, const uint8_t *in, uint8_t *out, size_t n_bytes)
{
    size_t text = n_bytes - PEER_TAG_BYTES;
    uint8_t tag[PEER_TAG_BYTES];
    gcm_aes128_set_iv(&context->keyed.gcm, 12, context->iv);
    gcm_aes128_decrypt(&context->keyed.gcm, text, out, in);
    gcm_aes128_digest(&context->keyed.gcm, PEER_TAG_BYTES, tag);
    return memcmp(tag, in + text, sizeof tag) == 0 ? text : PEER_FAILED;
}

#define HASH(name, SIZE)                                                                                             \
    static size_t run_##name(struct context *context, const uint8_t *in, uint8_t *out, size_t n_bytes)               \
    {                                                                                                                \
        struct name##_ctx state;                                                                                     \
        (void)context;                                                                                               \
        name##_init(&state);                                                                                         \
        name##_update(&state, n_bytes, in);                                                                          \
        name##_digest(&state, SIZE, out);                                                                            \
        return SIZE;                                                                                                 \
    }                                                                                                                \
    static size_t run_hmac_##name(struct context *context, const uint8_t *in, uint8_t *out, size_t n_bytes)          \
    {                                                                                                                \
        hmac_##name##_update(&context->keyed.hmac_##name, n_bytes, in);                                              \
        hmac_##name##_digest(&context->keyed.hmac_##name, SIZE, out);                                                \
        return SIZE;                                                                                                 \
    }
HASH(sha1, SHA1_DIGEST_SIZE)
HASH(sha256, SHA256_DIGEST_SIZE)

static size_t arc4(struct context *context, const uint8_t *in, uint8_t *out, size_t n_bytes)
{
    struct arcfour_ctx state;
    arcfour_set_key(&state, context->key_bytes, context->key);
    arcfour_crypt(&state, n_bytes, out, in);
    return n_bytes;
}

static size_t chacha(struct context *context, const uint8_t *in, uint8_t *out, size_t n_bytes)
{
    struct chacha_ctx state;
    chacha_set_key(&state, context->key);
    chacha_set_nonce96(&state, context->iv);
    chacha_crypt32(&state, n_bytes, out, in);
    return n_bytes;
}

static size_t encode(struct context *context, const uint8_t *in, uint8_t *out, size_t n_bytes)
{
    (void)context;
    base64_encode_raw((char *)out, n_bytes, in);
    return BASE64_ENCODE_RAW_LENGTH(n_bytes);
}

static size_t decode(struct context *context, const uint8_t *in, uint8_t *out, size_t n_bytes)
{
    struct base64_decode_ctx state;
    size_t n = BASE64_DECODE_LENGTH(n_bytes);
    (void)context;
    base64_decode_init(&state);
    if (!base64_decode_update(&state, &n, out, n_bytes, (const char *)in) || !base64_decode_final(&state))
        return PEER_FAILED;
    return n;
}

static int set_up(struct context *context, const char *operation, const struct peer_strings *strings)
{
    static const struct {
        const char *operation;
        size_t (*run)(struct context *, const uint8_t *, uint8_t *, size_t);
    } others[] = {
        {"sha1 hash", run_sha1},           {"sha256 hash", run_sha256},
        {"hmac-sha1 mac", run_hmac_sha1},  {"hmac-sha256 mac", run_hmac_sha256},
        {"arc4 stream", arc4},             {"chacha20 stream", chacha},
        {"base64 encode", encode},         {"base64 decode", decode},
        {"aes128-gcm aead-encrypt", gcm_seal}, {"aes128-gcm aead-decrypt", gcm_open},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(others[i].operation, operation) == 0)
            context->run = others[i].run;
    if (context->run == gcm_seal || context->run == gcm_open)
        gcm_aes128_set_key(&context->keyed.gcm, strings->key);
    if (context->run == run_hmac_sha1)
        hmac_sha1_set_key(&context->keyed.hmac_sha1, strings->key_bytes, strings->key);
    if (context->run == run_hmac_sha256)
        hmac_sha256_set_key(&context->keyed.hmac_sha256, strings->key_bytes, strings->key);
    if (context->run)
        return 1;
    const char *mode = strchr(operation, ' ');
    size_t set_bytes = mode ? (size_t)(mode - operation) : 0;
    for (size_t i = 0; i < sizeof ciphers / sizeof *ciphers; i++)
        if (strlen(ciphers[i].set) == set_bytes && memcmp(ciphers[i].set, operation, set_bytes) == 0)
            context->cipher = &ciphers[i];
    for (int i = 0; context->cipher && i < N_MODES; i++) {
        if (strcmp(modes[i], mode + 1) != 0)
            continue;
        context->what = (enum what)i;
        context->run = in_mode;
        int decrypts = i == ECB_DECRYPT || i == CBC_DECRYPT;
        return (decrypts ? context->cipher->decrypt_key : context->cipher->encrypt_key)(&context->keyed, strings);
    }
    return 0;
}

void *peer_open(const char *operation, const struct peer_strings *strings)
{
    struct context *context = calloc(1, sizeof *context);
    if (!context)
        return NULL;
    context->key_bytes = strings->key_bytes;
    if (strings->key_bytes > 0 && strings->key_bytes <= sizeof context->key)
        memcpy(context->key, strings->key, strings->key_bytes);
    if (strings->iv_bytes > 0 && strings->iv_bytes <= sizeof context->iv)
        memcpy(context->iv, strings->iv, strings->iv_bytes);
    if (set_up(context, operation, strings))
        return context;
    free(context);
    return NULL;
}

size_t peer_run(void *context, const uint8_t *in, uint8_t *out, size_t n_bytes)
{
    return ((struct context *)context)->run(context, in, out, n_bytes);
}
