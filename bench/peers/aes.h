/* What both references in plain C share: the S-boxes and the key expansion of FIPS 197, sections 4.2, 5.1.1 and 5.2, and the
 * way through a message. A reference defines `encrypt_block` and `decrypt_block` before it includes `aes_modes.h`. */
#ifndef HEADRACE_PEER_AES_H
#define HEADRACE_PEER_AES_H

#include "peer.h"

enum { BLOCK = 16, MAX_ROUNDS = 14 };

static uint8_t sbox[256], inverse_sbox[256];

static inline uint8_t times2(uint8_t a)
{
    return (uint8_t)((a << 1) ^ ((a >> 7) * 0x1b));
}

/* The product in GF(2^8). */
static inline uint8_t times(uint8_t a, uint8_t b)
{
    uint8_t product = 0;
    for (; b != 0; b >>= 1, a = times2(a))
        product ^= (uint8_t)(a & -(b & 1));
    return product;
}

static void make_sboxes(void)
{
    for (int a = 0; a < 256; a++) {
        uint8_t inverse = 0;
        for (int b = 1; b < 256 && a != 0; b++)
            if (times((uint8_t)a, (uint8_t)b) == 1)
                inverse = (uint8_t)b;
        uint8_t mapped = 0x63;
        for (int shift = 0; shift < 5; shift++)
            mapped ^= (uint8_t)(inverse << shift | inverse >> (8 - shift));
        sbox[a] = mapped;
        inverse_sbox[mapped] = (uint8_t)a;
    }
}

/* Bytes of the round keys, in the order in which they meet the state. Returns the number of rounds. */
static int expand_key(const uint8_t *key, size_t key_bytes, uint8_t w[BLOCK * (MAX_ROUNDS + 1)])
{
    int n_rounds = (int)key_bytes / 4 + 6;
    uint8_t rcon = 1;
    for (size_t i = 0; i < key_bytes; i++)
        w[i] = key[i];
    for (size_t i = key_bytes; i < (size_t)BLOCK * (n_rounds + 1); i += 4) {
        uint8_t t[4] = {w[i - 4], w[i - 3], w[i - 2], w[i - 1]};
        if (i % key_bytes == 0) {
            uint8_t first = t[0];
            t[0] = (uint8_t)(sbox[t[1]] ^ rcon);
            t[1] = sbox[t[2]];
            t[2] = sbox[t[3]];
            t[3] = sbox[first];
            rcon = times2(rcon);
        } else if (key_bytes > 24 && i % key_bytes == BLOCK) {
            for (int j = 0; j < 4; j++)
                t[j] = sbox[t[j]];
        }
        for (int j = 0; j < 4; j++)
            w[i + j] = w[i + j - key_bytes] ^ t[j];
    }
    return n_rounds;
}

#endif
