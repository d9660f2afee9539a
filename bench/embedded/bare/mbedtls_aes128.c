/* AES-128-CTR of mbedTLS, which looks up tables in addresses that depend on secrets, as a contender. */
#include "contender.h"
#include "mbedtls/aes.h"

#include <string.h>

static struct {
    mbedtls_aes_context aes;
    unsigned char counter[16], block[16];
    size_t used;
} context;

size_t contender(const uint8_t *secrets, uint8_t *data, size_t n)
{
    int failed;
    mbedtls_aes_init(&context.aes);
    context.used = 0;
    memcpy(context.counter, secrets + 32, 16);
    failed = mbedtls_aes_setkey_enc(&context.aes, secrets, 128);
    failed |= mbedtls_aes_crypt_ctr(&context.aes, n, &context.used, context.counter, context.block, data, data);
    return failed ? 0 : n;
}
