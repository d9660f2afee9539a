/* A program that encrypts whole messages with associated data, and decrypts them where DECRYPTS is defined. */
#include "chacha20_poly1305.h"

static struct chacha20_poly1305_aead_encrypt_context context;
static volatile uint8_t in[64], key[32], nonce[12];
static uint8_t out[64], tag[16];
#ifdef DECRYPTS
static struct chacha20_poly1305_aead_decrypt_context back;
#endif

int main(void) {
    size_t n, n_tag;
    uint32_t result = chacha20_poly1305_aead_encrypt_key(&context, (const uint8_t *)key, sizeof key);
    result |= chacha20_poly1305_aead_encrypt_message(&context, (const uint8_t *)nonce, sizeof nonce, (const uint8_t *)key, 5,
                                      (const uint8_t *)in, sizeof in, out, sizeof out, &n, tag, sizeof tag, &n_tag);
#ifdef DECRYPTS
    result |= chacha20_poly1305_aead_decrypt_key(&back, (const uint8_t *)key, sizeof key);
    result |= chacha20_poly1305_aead_decrypt_message(&back, (const uint8_t *)nonce, sizeof nonce, (const uint8_t *)key, 5, out, n, tag, n_tag,
                                      (uint8_t *)in, sizeof in, &n);
#endif
    return (int)result + out[0];
}
