/* Ascon-AEAD128 of ascon-c, the implementation of Ascon's authors: its variant for processors of 64 bits. */
#include "peer.h"

#include <ascon_c_version.h>
#include <crypto_aead.h>
#include <stdlib.h>
#include <string.h>

struct context {
    int seals;
    uint8_t key[16], nonce[16];
};

const char *peer_version(void)
{
    return ASCON_C_VERSION;
}

void *peer_open(const char *operation, const struct peer_strings *strings)
{
    const int seals = strcmp(operation, "ascon-aead128 aead-encrypt") == 0;
    if (!seals && strcmp(operation, "ascon-aead128 aead-decrypt") != 0) return NULL;
    struct context *context = malloc(sizeof *context);
    if (context == NULL || strings->key_bytes != sizeof context->key || strings->iv_bytes != sizeof context->nonce) {
        free(context);
        return NULL;
    }
    context->seals = seals;
    memcpy(context->key, strings->key, sizeof context->key);
    memcpy(context->nonce, strings->iv, sizeof context->nonce);
    return context;
}

size_t peer_run(void *given, const uint8_t *in, uint8_t *out, size_t n_bytes)
{
    const struct context *context = given;
    unsigned long long n_out = 0;
    const int failed =
        context->seals ? crypto_aead_encrypt(out, &n_out, in, n_bytes, NULL, 0, NULL, context->nonce, context->key)
                       : crypto_aead_decrypt(out, &n_out, NULL, in, n_bytes, NULL, 0, context->nonce, context->key);
    return failed ? PEER_FAILED : (size_t)n_out;
}

void peer_close(void *context)
{
    free(context);
}
