/* intel-ipsec-mb: jobs, one after another for one message, all together for many. */
#include "peer.h"

#include <intel-ipsec-mb.h>
#include <stdlib.h>
#include <string.h>

/* Jobs carry lengths in 16 bits in places; long messages of modes go in pieces. */
enum { PIECE_BYTES = 1 << 15, MAX_IV = 16 };

enum chain { NONE, COUNTER, FROM_INPUT, FROM_OUTPUT };

struct known {
    const char *operation;
    IMB_CIPHER_MODE cipher;
    IMB_CIPHER_DIRECTION direction;
    IMB_HASH_ALG hash;
    /* How the initial block of the next piece comes about. */
    enum chain chain;
    unsigned tag_bytes;
};

/* Version 1 has no CFB among its jobs. */
#if IMB_VERSION_NUM >= IMB_VERSION(2, 0, 0)
#define CFB(set)                                                                                                     \
    MODE(set " cfb-encrypt", IMB_CIPHER_CFB, ENCRYPT, FROM_OUTPUT),                                                  \
        MODE(set " cfb-decrypt", IMB_CIPHER_CFB, DECRYPT, FROM_INPUT),
#else
#define CFB(set)
#endif
#define MODE(name, cipher, direction, chain) {name, cipher, IMB_DIR_##direction, IMB_AUTH_NULL, chain, 0}
#define AES(set)                                                                                                     \
    MODE(set " ecb-encrypt", IMB_CIPHER_ECB, ENCRYPT, NONE), MODE(set " ecb-decrypt", IMB_CIPHER_ECB, DECRYPT, NONE), \
        MODE(set " ctr", IMB_CIPHER_CNTR, ENCRYPT, COUNTER),                                                         \
        MODE(set " cbc-encrypt", IMB_CIPHER_CBC, ENCRYPT, FROM_OUTPUT),                                              \
        MODE(set " cbc-decrypt", IMB_CIPHER_CBC, DECRYPT, FROM_INPUT),                                               \
        CFB(set) {set "-gcm aead-encrypt", IMB_CIPHER_GCM, IMB_DIR_ENCRYPT, IMB_AUTH_AES_GMAC, NONE, PEER_TAG_BYTES},         \
        {set "-gcm aead-decrypt", IMB_CIPHER_GCM, IMB_DIR_DECRYPT, IMB_AUTH_AES_GMAC, NONE, PEER_TAG_BYTES},         \
        {set "-ccm aead-encrypt", IMB_CIPHER_CCM, IMB_DIR_ENCRYPT, IMB_AUTH_AES_CCM, NONE, PEER_TAG_BYTES},          \
        {set "-ccm aead-decrypt", IMB_CIPHER_CCM, IMB_DIR_DECRYPT, IMB_AUTH_AES_CCM, NONE, PEER_TAG_BYTES}
#define HASH(name, hash, tag) {name, IMB_CIPHER_NULL, IMB_DIR_ENCRYPT, hash, NONE, tag}

static const struct known all[] = {
    AES("aes128"),
    AES("aes256"),
    MODE("des cbc-encrypt", IMB_CIPHER_DES, ENCRYPT, FROM_OUTPUT),
    MODE("des cbc-decrypt", IMB_CIPHER_DES, DECRYPT, FROM_INPUT),
    MODE("tdes cbc-encrypt", IMB_CIPHER_DES3, ENCRYPT, FROM_OUTPUT),
    MODE("tdes cbc-decrypt", IMB_CIPHER_DES3, DECRYPT, FROM_INPUT),
    HASH("sha1 hash", IMB_AUTH_SHA_1, 20),
    HASH("sha256 hash", IMB_AUTH_SHA_256, 32),
    HASH("hmac-sha1 mac", IMB_AUTH_HMAC_SHA_1, 20),
    HASH("hmac-sha256 mac", IMB_AUTH_HMAC_SHA_256, 32),
};

struct context {
    _Alignas(64) uint32_t encrypt_keys[64];
    _Alignas(64) uint32_t decrypt_keys[64];
    _Alignas(64) struct gcm_key_data gcm;
    uint64_t des[3][16];
    const void *des_keys[3];
    _Alignas(64) uint8_t inner[64], outer[64];
    const struct known *known;
    IMB_MGR *manager;
    uint8_t iv[MAX_IV];
    size_t iv_bytes, key_bytes;
};

const char *peer_version(void)
{
    return imb_get_version_str();
}

void peer_close(void *given)
{
    free_mb_mgr(((struct context *)given)->manager);
    free(given);
}

static void set_key(struct context *context, const struct peer_strings *strings)
{
    IMB_MGR *manager = context->manager;
    switch (context->known->cipher) {
    case IMB_CIPHER_DES:
    case IMB_CIPHER_DES3:
        for (int i = 0; i < 3; i++) {
            const uint8_t *key = strings->key + (strings->key_bytes == 24 ? 8 * i : 0);
            context->des_keys[i] = context->des[i];
            IMB_DES_KEYSCHED(manager, context->des[i], key);
        }
        break;
    case IMB_CIPHER_NULL:
        if (strings->key_bytes > 0)
            imb_hmac_ipad_opad(manager, context->known->hash, strings->key, strings->key_bytes, context->inner,
                               context->outer);
        break;
    case IMB_CIPHER_GCM:
        if (strings->key_bytes == 16)
            IMB_AES128_GCM_PRE(manager, strings->key, &context->gcm);
        else
            IMB_AES256_GCM_PRE(manager, strings->key, &context->gcm);
        break;
    default:
        if (strings->key_bytes == 16)
            IMB_AES_KEYEXP_128(manager, strings->key, context->encrypt_keys, context->decrypt_keys);
        else
            IMB_AES_KEYEXP_256(manager, strings->key, context->encrypt_keys, context->decrypt_keys);
    }
}

void *peer_open(const char *operation, const struct peer_strings *strings)
{
    const struct known *known = NULL;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].operation, operation) == 0)
            known = &all[i];
    void *made = NULL;
    if (!known || strings->iv_bytes > MAX_IV || posix_memalign(&made, 64, sizeof(struct context)) != 0)
        return NULL;
    struct context *context = made;
    memset(context, 0, sizeof *context);
    context->known = known;
    context->iv_bytes = strings->iv_bytes;
    context->key_bytes = strings->key_bytes;
    if (strings->iv_bytes > 0)
        memcpy(context->iv, strings->iv, strings->iv_bytes);
    context->manager = alloc_mb_mgr(0);
    if (!context->manager) {
        free(context);
        return NULL;
    }
    init_mb_mgr_auto(context->manager, NULL);
    set_key(context, strings);
    return context;
}

static void fill(struct context *context, IMB_JOB *job, const uint8_t *in, uint8_t *out, size_t n_bytes,
                 const uint8_t *iv)
{
    const struct known *known = context->known;
    memset(job, 0, sizeof *job);
    job->cipher_mode = known->cipher;
    job->cipher_direction = known->direction;
    job->hash_alg = known->hash;
    job->chain_order = known->direction == IMB_DIR_ENCRYPT ? IMB_ORDER_CIPHER_HASH : IMB_ORDER_HASH_CIPHER;
    if (known->cipher == IMB_CIPHER_CCM)
        job->chain_order = known->direction == IMB_DIR_ENCRYPT ? IMB_ORDER_HASH_CIPHER : IMB_ORDER_CIPHER_HASH;
    job->src = in;
    job->dst = out;
    job->msg_len_to_cipher_in_bytes = known->cipher == IMB_CIPHER_NULL ? 0 : n_bytes;
    job->msg_len_to_hash_in_bytes = known->hash == IMB_AUTH_NULL ? 0 : n_bytes;
    job->iv = iv;
    job->iv_len_in_bytes = context->iv_bytes;
    job->key_len_in_bytes = context->key_bytes;
    job->auth_tag_output = known->cipher == IMB_CIPHER_NULL ? out : out + n_bytes;
    job->auth_tag_output_len_in_bytes = known->tag_bytes;
    switch (known->cipher) {
    case IMB_CIPHER_DES:
        job->enc_keys = job->dec_keys = context->des[0];
        break;
    case IMB_CIPHER_DES3:
        job->enc_keys = job->dec_keys = context->des_keys;
        break;
    case IMB_CIPHER_GCM:
        job->enc_keys = job->dec_keys = &context->gcm;
        break;
    default:
        job->enc_keys = context->encrypt_keys;
        job->dec_keys = context->decrypt_keys;
    }
    if (known->cipher == IMB_CIPHER_ECB)
        job->iv_len_in_bytes = 0;
#if IMB_VERSION_NUM >= IMB_VERSION(2, 0, 0)
    /* Both directions of this mode encrypt. */
    if (known->cipher == IMB_CIPHER_CFB)
        job->dec_keys = context->encrypt_keys;
#endif
    if (known->hash == IMB_AUTH_HMAC_SHA_1 || known->hash == IMB_AUTH_HMAC_SHA_256) {
        job->u.HMAC._hashed_auth_key_xor_ipad = context->inner;
        job->u.HMAC._hashed_auth_key_xor_opad = context->outer;
    }
}

/* A message of at most a piece. */
static int one(struct context *context, const uint8_t *in, uint8_t *out, size_t n_bytes, const uint8_t *iv)
{
    IMB_MGR *manager = context->manager;
    fill(context, IMB_GET_NEXT_JOB(manager), in, out, n_bytes, iv);
    IMB_JOB *job = IMB_SUBMIT_JOB(manager);
    if (!job)
        job = IMB_FLUSH_JOB(manager);
    return job && job->status == IMB_STATUS_COMPLETED;
}

static void next_block(const struct context *context, uint8_t *iv, const uint8_t *in, const uint8_t *out, size_t n)
{
    size_t bytes = context->iv_bytes;
    if (context->known->chain == FROM_INPUT)
        memcpy(iv, in + n - bytes, bytes);
    if (context->known->chain == FROM_OUTPUT)
        memcpy(iv, out + n - bytes, bytes);
    if (context->known->chain != COUNTER)
        return;
    size_t carry = n / 16;
    for (size_t i = bytes; i-- > 0; carry >>= 8) {
        carry += iv[i];
        iv[i] = (uint8_t)carry;
    }
}

size_t peer_run(void *given, const uint8_t *in, uint8_t *out, size_t n_bytes)
{
    struct context *context = given;
    const struct known *known = context->known;
    if (known->tag_bytes > 0) {
        int opens = known->direction == IMB_DIR_DECRYPT;
        size_t text = opens ? n_bytes - known->tag_bytes : n_bytes;
        if ((known->cipher != IMB_CIPHER_GCM && n_bytes > 2 * PIECE_BYTES - 64)
            || !one(context, in, out, text, context->iv))
            return PEER_FAILED;
        if (opens)
            return memcmp(out + text, in + text, known->tag_bytes) == 0 ? text : PEER_FAILED;
        return known->cipher == IMB_CIPHER_NULL ? known->tag_bytes : text + known->tag_bytes;
    }
    uint8_t iv[MAX_IV];
    memcpy(iv, context->iv, sizeof iv);
    for (size_t at = 0; at < n_bytes; at += PIECE_BYTES) {
        size_t n = n_bytes - at < PIECE_BYTES ? n_bytes - at : PIECE_BYTES;
        if (!one(context, in + at, out + at, n, iv))
            return PEER_FAILED;
        next_block(context, iv, in + at, out + at, n);
    }
    return n_bytes;
}

size_t peer_run_many(void *given, const uint8_t *const *in, uint8_t *const *out, size_t n_bytes, unsigned n_messages)
{
    struct context *context = given;
    IMB_MGR *manager = context->manager;
    unsigned done = 0;
    if (n_bytes > PIECE_BYTES || context->known->direction == IMB_DIR_DECRYPT)
        return PEER_FAILED;
    for (unsigned i = 0; i < n_messages; i++) {
        fill(context, IMB_GET_NEXT_JOB(manager), in[i], out[i], n_bytes, context->iv);
        for (IMB_JOB *job = IMB_SUBMIT_JOB_NOCHECK(manager); job; job = IMB_GET_COMPLETED_JOB(manager))
            done += job->status == IMB_STATUS_COMPLETED;
    }
    for (IMB_JOB *job = IMB_FLUSH_JOB(manager); job; job = IMB_FLUSH_JOB(manager))
        done += job->status == IMB_STATUS_COMPLETED;
    if (done != n_messages)
        return PEER_FAILED;
    return context->known->cipher == IMB_CIPHER_NULL ? context->known->tag_bytes : n_bytes + context->known->tag_bytes;
}
