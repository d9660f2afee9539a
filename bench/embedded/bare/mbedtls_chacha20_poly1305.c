/* Encryption by ChaCha20-Poly1305 of mbedTLS as a contender. */
#include "contender.h"
#include "mbedtls/chachapoly.h"

static mbedtls_chachapoly_context context;

size_t contender(const uint8_t *secrets, uint8_t *data, size_t n)
{
    int failed;
    mbedtls_chachapoly_init(&context);
    failed = mbedtls_chachapoly_setkey(&context, secrets);
    failed |= mbedtls_chachapoly_encrypt_and_tag(&context, n, secrets + 32, secrets, 5, data, data, data + n);
    return failed ? 0 : n + 16;
}
