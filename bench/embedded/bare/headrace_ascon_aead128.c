/* Encryption by Ascon-AEAD128 of a small project as a contender. */
#include "contender.h"
#include "ascon_aead128.h"

static struct ascon_aead128_aead_encrypt_context context;

size_t contender(const uint8_t *secrets, uint8_t *data, size_t n)
{
    size_t n_out, n_tag;
    uint32_t failed = ascon_aead128_aead_encrypt_key(&context, secrets, 16);
    failed |= ascon_aead128_aead_encrypt_message(&context, secrets + 32, 16, secrets, 5, data, n, data, n, &n_out, data + n, 16, &n_tag);
    return failed ? 0 : n_out + n_tag;
}
