/* A program that hashes in pieces. */
#include "sha256.h"

static struct sha256_hash_context context;
static volatile uint8_t in[64];
static uint8_t out[SHA256_HASH_OUT_BYTES];

int main(void) {
    size_t n;
    uint32_t result = sha256_hash_init(&context);
    result |= sha256_hash_update(&context, (const uint8_t *)in, sizeof in);
    result |= sha256_hash_final(&context, out, sizeof out, &n);
    return (int)result + out[0];
}
