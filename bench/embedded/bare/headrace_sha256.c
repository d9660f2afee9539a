/* SHA-256 of a small project as a contender. */
#include "contender.h"
#include "sha256.h"

static struct sha256_hash_context context;

size_t contender(const uint8_t *secrets, uint8_t *data, size_t n)
{
    size_t n_out;
    uint32_t failed = sha256_hash_init(&context);
    failed |= sha256_hash_update(&context, data, n);
    failed |= sha256_hash_final(&context, data, 32, &n_out);
    return failed ? 0 : n_out;
}
