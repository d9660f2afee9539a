/* Encryption by ChaCha20-Poly1305 of a small project as a contender. */
#include "contender.h"
#include "chacha20_poly1305.h"

static struct chacha20_poly1305_aead_encrypt_context context;

size_t contender(const uint8_t *secrets, uint8_t *data, size_t n)
{
    size_t n_out, n_tag;
    uint32_t failed = chacha20_poly1305_aead_encrypt_key(&context, secrets, 32);
    failed |= chacha20_poly1305_aead_encrypt_message(&context, secrets + 32, 12, secrets, 5, data, n, data, n, &n_out, data + n, 16, &n_tag);
    return failed ? 0 : n_out + n_tag;
}
