/* A program that encrypts whole messages with associated data, and decrypts them where DECRYPTS is defined. */
#include "ascon_aead128.h"

static struct ascon_aead128_aead_encrypt_context context;
static volatile uint8_t in[64], key[16], nonce[16];
static uint8_t out[64], tag[16];
#ifdef DECRYPTS
static struct ascon_aead128_aead_decrypt_context back;
#endif

int main(void) {
    size_t n, n_tag;
    uint32_t result = ascon_aead128_aead_encrypt_key(&context, (const uint8_t *)key, sizeof key);
    result |= ascon_aead128_aead_encrypt_message(&context, (const uint8_t *)nonce, sizeof nonce, (const uint8_t *)key, 5,
                                      (const uint8_t *)in, sizeof in, out, sizeof out, &n, tag, sizeof tag, &n_tag);
#ifdef DECRYPTS
    result |= ascon_aead128_aead_decrypt_key(&back, (const uint8_t *)key, sizeof key);
    result |= ascon_aead128_aead_decrypt_message(&back, (const uint8_t *)nonce, sizeof nonce, (const uint8_t *)key, 5, out, n, tag, n_tag,
                                      (uint8_t *)in, sizeof in, &n);
#endif
    return (int)result + out[0];
}
