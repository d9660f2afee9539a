/* ECB and CTR over a reference's `struct keyed`, `set_key`, `encrypt_block` and `decrypt_block`. */
#ifndef HEADRACE_PEER_AES_MODES_H
#define HEADRACE_PEER_AES_MODES_H

#include "aes.h"

#include <stdlib.h>
#include <string.h>

enum mode { ECB_ENCRYPT, ECB_DECRYPT, CTR };

struct aes_context {
    struct keyed keyed;
    enum mode mode;
    uint8_t iv[BLOCK];
};

static void *aes_open(const char *operation, const struct peer_strings *strings)
{
    static const char *const modes[] = {"ecb-encrypt", "ecb-decrypt", "ctr"};
    const char *mode = strchr(operation, ' ');
    if (!mode || (strncmp(operation, "aes128 ", 7) != 0 && strncmp(operation, "aes256 ", 7) != 0))
        return NULL;
    for (int i = 0; i < 3; i++) {
        if (strcmp(mode + 1, modes[i]) != 0)
            continue;
        struct aes_context *context = calloc(1, sizeof *context);
        if (!context)
            return NULL;
        context->mode = (enum mode)i;
        memcpy(context->iv, strings->iv, strings->iv_bytes < BLOCK ? strings->iv_bytes : BLOCK);
        make_sboxes();
        set_key(&context->keyed, strings->key, strings->key_bytes);
        return context;
    }
    return NULL;
}

static size_t aes_run(const struct aes_context *context, const uint8_t *in, uint8_t *out, size_t n_bytes)
{
    uint8_t counter[BLOCK], mask[BLOCK];
    memcpy(counter, context->iv, BLOCK);
    for (size_t at = 0; at + BLOCK <= n_bytes; at += BLOCK) {
        switch (context->mode) {
        case ECB_ENCRYPT:
            encrypt_block(&context->keyed, in + at, out + at);
            break;
        case ECB_DECRYPT:
            decrypt_block(&context->keyed, in + at, out + at);
            break;
        case CTR:
            encrypt_block(&context->keyed, counter, mask);
            for (int i = 0; i < BLOCK; i++)
                out[at + i] = in[at + i] ^ mask[i];
            for (int i = BLOCK - 1; i >= 0 && ++counter[i] == 0; i--)
                ;
        }
    }
    return n_bytes;
}

#endif
