/* AES-128-CTR of a small project as a contender. */
#include "contender.h"
#include "aes128.h"

static struct aes128_ctr_context context;

size_t contender(const uint8_t *secrets, uint8_t *data, size_t n)
{
    size_t n_out, rest;
    uint32_t failed = aes128_ctr_key(&context, secrets, 16);
    failed |= aes128_ctr_init(&context, secrets + 32, 16);
    failed |= aes128_ctr_update(&context, data, n, data, n, &n_out);
    failed |= aes128_ctr_final(&context, data + n_out, n - n_out, &rest);
    return failed ? 0 : n_out + rest;
}
