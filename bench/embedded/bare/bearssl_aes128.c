/* AES-128-CTR of BearSSL, bitsliced in 32-bit words, as a contender: it counts in the last four bytes. */
#include "contender.h"
#include "bearssl_block.h"

static br_aes_ct_ctr_keys context;

size_t contender(const uint8_t *secrets, uint8_t *data, size_t n)
{
    const uint8_t *iv = secrets + 32;
    const uint32_t counter = (uint32_t)iv[12] << 24 | (uint32_t)iv[13] << 16 | (uint32_t)iv[14] << 8 | iv[15];
    br_aes_ct_ctr_init(&context, secrets, 16);
    br_aes_ct_ctr_run(&context, iv, counter, data, n);
    return n;
}
