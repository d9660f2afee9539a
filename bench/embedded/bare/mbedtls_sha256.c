/* SHA-256 of mbedTLS as a contender. */
#include "contender.h"
#include "mbedtls/sha256.h"

static mbedtls_sha256_context context;

size_t contender(const uint8_t *secrets, uint8_t *data, size_t n)
{
    int failed;
    mbedtls_sha256_init(&context);
    failed = mbedtls_sha256_starts_ret(&context, 0);
    failed |= mbedtls_sha256_update_ret(&context, data, n);
    failed |= mbedtls_sha256_finish_ret(&context, data);
    return failed ? 0 : 32;
}
