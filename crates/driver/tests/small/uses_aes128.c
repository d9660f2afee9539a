/* A program that encrypts in pieces. */
#include "aes128.h"

static struct aes128_ctr_context context;
static volatile uint8_t in[64], key[16];
static uint8_t out[64];

int main(void) {
    size_t n, rest;
    uint32_t result = aes128_ctr_key(&context, (const uint8_t *)key, sizeof key);
    result |= aes128_ctr_init(&context, (const uint8_t *)key, sizeof key);
    result |= aes128_ctr_update(&context, (const uint8_t *)in, sizeof in, out, sizeof out, &n);
    result |= aes128_ctr_final(&context, out, sizeof out - n, &rest);
    return (int)result + out[0];
}
