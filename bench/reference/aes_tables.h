/* FIPS 197, sections 4.2 and 5.1: the S-box, multiplication by x, and the key expansion, computed once at setup. */
#ifndef HEADRACE_AES_TABLES_H
#define HEADRACE_AES_TABLES_H

#include <stdint.h>

enum { AES_ROUNDS = 10, AES_BLOCK = 16, AES_KEY_BYTES = 16 };

static uint8_t aes_sbox[256];

static inline uint8_t aes_xtime(uint8_t a)
{
    return (uint8_t)((a << 1) ^ ((a >> 7) * 0x1b));
}

/* Section 5.1.1: the inverse in GF(2^8), found by walking the powers of 3 and of 1/3, then the affine map. */
static void aes_make_sbox(void)
{
    uint8_t p = 1, q = 1;
    do {
        p = (uint8_t)(p ^ aes_xtime(p));
        q ^= (uint8_t)(q << 1);
        q ^= (uint8_t)(q << 2);
        q ^= (uint8_t)(q << 4);
        if (q & 0x80)
            q ^= 0x09;
        uint8_t r1 = (uint8_t)(q << 1 | q >> 7), r2 = (uint8_t)(q << 2 | q >> 6);
        uint8_t r3 = (uint8_t)(q << 3 | q >> 5), r4 = (uint8_t)(q << 4 | q >> 4);
        aes_sbox[p] = (uint8_t)(q ^ r1 ^ r2 ^ r3 ^ r4 ^ 0x63);
    } while (p != 1);
    aes_sbox[0] = 0x63;
}

/* Section 5.2, as bytes in the order in which AddRoundKey takes them. */
static void aes_expand_key(const uint8_t key[AES_KEY_BYTES], uint8_t w[AES_BLOCK * (AES_ROUNDS + 1)])
{
    uint8_t rcon = 1;
    for (int i = 0; i < AES_KEY_BYTES; i++)
        w[i] = key[i];
    for (int i = AES_KEY_BYTES; i < AES_BLOCK * (AES_ROUNDS + 1); i += 4) {
        uint8_t t[4] = {w[i - 4], w[i - 3], w[i - 2], w[i - 1]};
        if (i % AES_KEY_BYTES == 0) {
            uint8_t first = t[0];
            t[0] = (uint8_t)(aes_sbox[t[1]] ^ rcon);
            t[1] = aes_sbox[t[2]];
            t[2] = aes_sbox[t[3]];
            t[3] = aes_sbox[first];
            rcon = aes_xtime(rcon);
        }
        for (int j = 0; j < 4; j++)
            w[i + j] = (uint8_t)(w[i + j - AES_KEY_BYTES] ^ t[j]);
    }
}

#endif
