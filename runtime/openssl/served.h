/*
 * The table of what a provider offers: algorithms by the names that OpenSSL has for them, with the operations that are called
 * so. `served.c` has the table; it is all that differs from one provider to another.
 */
#ifndef HEADRACE_SERVED_H
#define HEADRACE_SERVED_H

#include "headrace_message.h"

#include <openssl/core.h>
#include <openssl/core_dispatch.h>

enum headrace_kind {
    HEADRACE_STREAM,    /* a cipher that gives as much as it takes, byte by byte */
    HEADRACE_BLOCKS,    /* a cipher of whole blocks, to which programs may want padding */
    HEADRACE_ONE_PIECE, /* a cipher that takes its message in one piece */
    HEADRACE_AEAD,      /* a cipher that authenticates */
    HEADRACE_DIGEST,
    HEADRACE_MAC
};

/* One of the ways to be what an algorithm is called: a length of keys or tags, a hash or cipher that it is made of. */
struct headrace_row {
    const char *of;                            /* names of the hash, cipher or form that programs choose; null: nothing to choose */
    const struct headrace_operation *forward;  /* encrypts, hashes or authenticates; null: not here */
    const struct headrace_operation *backward; /* decrypts */
    size_t key_bytes;                          /* the only length of keys; 0: all that the operation allows */
    size_t block_bytes;                        /* what OpenSSL is told of blocks */
    size_t output_bytes;                       /* of a hash; of one of any length what comes unasked */
};

struct headrace_algorithm {
    enum headrace_kind kind;
    const char *names; /* with colons between them */
    const struct headrace_row *rows;
    size_t n_rows;
    const OSSL_DISPATCH *functions;
};

extern const struct headrace_algorithm headrace_algorithms[];
extern const size_t headrace_n_algorithms;
extern const char headrace_version[];

void *headrace_cipher_new(void *provider, const struct headrace_algorithm *algorithm);
void *headrace_aead_new(void *provider, const struct headrace_algorithm *algorithm);
void *headrace_digest_new(void *provider, const struct headrace_algorithm *algorithm);
void *headrace_mac_new(void *provider, const struct headrace_algorithm *algorithm);
int headrace_cipher_get_params(const struct headrace_algorithm *algorithm, OSSL_PARAM params[]);
const OSSL_PARAM *headrace_cipher_gettable_here(const struct headrace_algorithm *algorithm);
const OSSL_PARAM *headrace_cipher_settable(const struct headrace_algorithm *algorithm);
const OSSL_PARAM *headrace_aead_gettable_here(const struct headrace_algorithm *algorithm);
const OSSL_PARAM *headrace_aead_settable(const struct headrace_algorithm *algorithm);
int headrace_digest_get_params(const struct headrace_algorithm *algorithm, OSSL_PARAM params[]);

OSSL_FUNC_cipher_encrypt_init_fn headrace_cipher_encrypt_init, headrace_aead_encrypt_init;
OSSL_FUNC_cipher_decrypt_init_fn headrace_cipher_decrypt_init, headrace_aead_decrypt_init;
OSSL_FUNC_cipher_update_fn headrace_cipher_update, headrace_aead_update;
OSSL_FUNC_cipher_final_fn headrace_cipher_final, headrace_aead_final;
OSSL_FUNC_cipher_cipher_fn headrace_cipher_direct, headrace_aead_direct;
OSSL_FUNC_cipher_freectx_fn headrace_cipher_free, headrace_aead_free;
OSSL_FUNC_cipher_dupctx_fn headrace_cipher_dup, headrace_aead_dup;
OSSL_FUNC_cipher_get_ctx_params_fn headrace_cipher_get, headrace_aead_get;
OSSL_FUNC_cipher_set_ctx_params_fn headrace_cipher_set, headrace_aead_set;
OSSL_FUNC_cipher_gettable_params_fn headrace_cipher_gettable;
OSSL_FUNC_digest_init_fn headrace_digest_init;
OSSL_FUNC_digest_update_fn headrace_digest_update;
OSSL_FUNC_digest_final_fn headrace_digest_final;
OSSL_FUNC_digest_freectx_fn headrace_digest_free;
OSSL_FUNC_digest_dupctx_fn headrace_digest_dup;
OSSL_FUNC_digest_gettable_params_fn headrace_digest_gettable;
OSSL_FUNC_digest_set_ctx_params_fn headrace_digest_set;
OSSL_FUNC_digest_settable_ctx_params_fn headrace_digest_settable;
OSSL_FUNC_mac_init_fn headrace_mac_init;
OSSL_FUNC_mac_update_fn headrace_mac_update;
OSSL_FUNC_mac_final_fn headrace_mac_final;
OSSL_FUNC_mac_freectx_fn headrace_mac_free;
OSSL_FUNC_mac_dupctx_fn headrace_mac_dup;
OSSL_FUNC_mac_get_ctx_params_fn headrace_mac_get;
OSSL_FUNC_mac_set_ctx_params_fn headrace_mac_set;
OSSL_FUNC_mac_gettable_ctx_params_fn headrace_mac_gettable;
OSSL_FUNC_mac_settable_ctx_params_fn headrace_mac_settable;

#define HEADRACE_ENTRY(id, function) {id, (void (*)(void))(function)}
#define HEADRACE_END {0, NULL}

/* OpenSSL makes a context, and asks for what holds of an algorithm, without saying which: each has functions of its own. */
#define HEADRACE_NAMELESS(number, family)                                                                                \
    static void *new_##number(void *provider) {                                                                          \
        return headrace_##family##_new(provider, &headrace_algorithms[number]);                                          \
    }

#define HEADRACE_CIPHER_FAMILY(number, family)                                                                           \
    HEADRACE_NAMELESS(number, family)                                                                                    \
    static int get_params_##number(OSSL_PARAM params[]) {                                                                \
        return headrace_cipher_get_params(&headrace_algorithms[number], params);                                         \
    }                                                                                                                    \
    static const OSSL_PARAM *gettable_##number(void *context, void *provider) {                                          \
        (void)context;                                                                                                   \
        (void)provider;                                                                                                  \
        return headrace_##family##_gettable_here(&headrace_algorithms[number]);                                          \
    }                                                                                                                    \
    static const OSSL_PARAM *settable_##number(void *context, void *provider) {                                          \
        (void)context;                                                                                                   \
        (void)provider;                                                                                                  \
        return headrace_##family##_settable(&headrace_algorithms[number]);                                               \
    }                                                                                                                    \
    static const OSSL_DISPATCH functions_##number[] = {                                                                  \
        HEADRACE_ENTRY(OSSL_FUNC_CIPHER_NEWCTX, new_##number),                                                           \
        HEADRACE_ENTRY(OSSL_FUNC_CIPHER_GET_PARAMS, get_params_##number),                                                \
        HEADRACE_ENTRY(OSSL_FUNC_CIPHER_ENCRYPT_INIT, headrace_##family##_encrypt_init),                                 \
        HEADRACE_ENTRY(OSSL_FUNC_CIPHER_DECRYPT_INIT, headrace_##family##_decrypt_init),                                 \
        HEADRACE_ENTRY(OSSL_FUNC_CIPHER_UPDATE, headrace_##family##_update),                                             \
        HEADRACE_ENTRY(OSSL_FUNC_CIPHER_FINAL, headrace_##family##_final),                                               \
        HEADRACE_ENTRY(OSSL_FUNC_CIPHER_CIPHER, headrace_##family##_direct),                                             \
        HEADRACE_ENTRY(OSSL_FUNC_CIPHER_FREECTX, headrace_##family##_free),                                              \
        HEADRACE_ENTRY(OSSL_FUNC_CIPHER_DUPCTX, headrace_##family##_dup),                                                \
        HEADRACE_ENTRY(OSSL_FUNC_CIPHER_GET_CTX_PARAMS, headrace_##family##_get),                                        \
        HEADRACE_ENTRY(OSSL_FUNC_CIPHER_SET_CTX_PARAMS, headrace_##family##_set),                                        \
        HEADRACE_ENTRY(OSSL_FUNC_CIPHER_GETTABLE_PARAMS, headrace_cipher_gettable),                                      \
        HEADRACE_ENTRY(OSSL_FUNC_CIPHER_GETTABLE_CTX_PARAMS, gettable_##number),                                         \
        HEADRACE_ENTRY(OSSL_FUNC_CIPHER_SETTABLE_CTX_PARAMS, settable_##number),                                         \
        HEADRACE_END,                                                                                                    \
    };

#define HEADRACE_CIPHER(number) HEADRACE_CIPHER_FAMILY(number, cipher)
#define HEADRACE_SEALING_CIPHER(number) HEADRACE_CIPHER_FAMILY(number, aead)

#define HEADRACE_HASH(number)                                                                                            \
    HEADRACE_NAMELESS(number, digest)                                                                                    \
    static int get_params_##number(OSSL_PARAM params[]) {                                                                \
        return headrace_digest_get_params(&headrace_algorithms[number], params);                                         \
    }                                                                                                                    \
    static const OSSL_DISPATCH functions_##number[] = {                                                                  \
        HEADRACE_ENTRY(OSSL_FUNC_DIGEST_NEWCTX, new_##number),                                                           \
        HEADRACE_ENTRY(OSSL_FUNC_DIGEST_GET_PARAMS, get_params_##number),                                                \
        HEADRACE_ENTRY(OSSL_FUNC_DIGEST_INIT, headrace_digest_init),                                                     \
        HEADRACE_ENTRY(OSSL_FUNC_DIGEST_UPDATE, headrace_digest_update),                                                 \
        HEADRACE_ENTRY(OSSL_FUNC_DIGEST_FINAL, headrace_digest_final),                                                   \
        HEADRACE_ENTRY(OSSL_FUNC_DIGEST_FREECTX, headrace_digest_free),                                                  \
        HEADRACE_ENTRY(OSSL_FUNC_DIGEST_DUPCTX, headrace_digest_dup),                                                    \
        HEADRACE_ENTRY(OSSL_FUNC_DIGEST_GETTABLE_PARAMS, headrace_digest_gettable),                                      \
        HEADRACE_ENTRY(OSSL_FUNC_DIGEST_SET_CTX_PARAMS, headrace_digest_set),                                            \
        HEADRACE_ENTRY(OSSL_FUNC_DIGEST_SETTABLE_CTX_PARAMS, headrace_digest_settable),                                  \
        HEADRACE_END,                                                                                                    \
    };

#define HEADRACE_CODE(number)                                                                                            \
    HEADRACE_NAMELESS(number, mac)                                                                                       \
    static const OSSL_DISPATCH functions_##number[] = {                                                                  \
        HEADRACE_ENTRY(OSSL_FUNC_MAC_NEWCTX, new_##number),                                                              \
        HEADRACE_ENTRY(OSSL_FUNC_MAC_INIT, headrace_mac_init),                                                           \
        HEADRACE_ENTRY(OSSL_FUNC_MAC_UPDATE, headrace_mac_update),                                                       \
        HEADRACE_ENTRY(OSSL_FUNC_MAC_FINAL, headrace_mac_final),                                                         \
        HEADRACE_ENTRY(OSSL_FUNC_MAC_FREECTX, headrace_mac_free),                                                        \
        HEADRACE_ENTRY(OSSL_FUNC_MAC_DUPCTX, headrace_mac_dup),                                                          \
        HEADRACE_ENTRY(OSSL_FUNC_MAC_GET_CTX_PARAMS, headrace_mac_get),                                                  \
        HEADRACE_ENTRY(OSSL_FUNC_MAC_SET_CTX_PARAMS, headrace_mac_set),                                                  \
        HEADRACE_ENTRY(OSSL_FUNC_MAC_GETTABLE_CTX_PARAMS, headrace_mac_gettable),                                        \
        HEADRACE_ENTRY(OSSL_FUNC_MAC_SETTABLE_CTX_PARAMS, headrace_mac_settable),                                        \
        HEADRACE_END,                                                                                                    \
    };

#endif
