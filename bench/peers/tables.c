/* The table reference: a round of AES as sixteen look-ups in four tables of words, each S-box and column of the mixing matrix in
 * one (Daemen and Rijmen, AES Proposal: Rijndael, section 5.2.1); decryption by the equivalent inverse cipher of FIPS 197,
 * section 5.3.5. */
#include "aes.h"

#include <string.h>

struct keyed {
    uint32_t encrypt[4 * (MAX_ROUNDS + 1)], decrypt[4 * (MAX_ROUNDS + 1)];
    int n_rounds;
};

static uint32_t forward[4][256], backward[4][256];

static uint32_t word(const uint8_t *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static void put(uint8_t *bytes, uint32_t word)
{
    for (int i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(word >> 8 * i);
}

static void make_tables(void)
{
    for (int x = 0; x < 256; x++) {
        uint8_t s = sbox[x], i = inverse_sbox[x];
        uint8_t column[4] = {times2(s), s, s, (uint8_t)(times2(s) ^ s)};
        uint8_t inverse_column[4] = {times(i, 14), times(i, 9), times(i, 13), times(i, 11)};
        uint32_t f = word(column), b = word(inverse_column);
        for (int row = 0; row < 4; row++) {
            forward[row][x] = f;
            backward[row][x] = b;
            f = f << 8 | f >> 24;
            b = b << 8 | b >> 24;
        }
    }
}

static void set_key(struct keyed *keyed, const uint8_t *key, size_t key_bytes)
{
    uint8_t w[BLOCK * (MAX_ROUNDS + 1)];
    int n_rounds = expand_key(key, key_bytes, w);
    make_tables();
    keyed->n_rounds = n_rounds;
    for (int i = 0; i < 4 * (n_rounds + 1); i++)
        keyed->encrypt[i] = word(w + 4 * i);
    for (int round = 0; round <= n_rounds; round++)
        for (int i = 0; i < 4; i++) {
            uint32_t k = keyed->encrypt[4 * (n_rounds - round) + i];
            if (round > 0 && round < n_rounds)
                k = backward[0][sbox[k & 255]] ^ backward[1][sbox[k >> 8 & 255]] ^ backward[2][sbox[k >> 16 & 255]]
                    ^ backward[3][sbox[k >> 24]];
            keyed->decrypt[4 * round + i] = k;
        }
}

/* Both directions differ in tables and in where the columns of a row come from. */
static inline __attribute__((always_inline)) void transform(const uint32_t *key, int n_rounds, uint32_t (*table)[256],
                                                            const uint8_t last[256], int step, const uint8_t *in,
                                                            uint8_t *out)
{
    uint32_t s[4], t[4];
    for (int i = 0; i < 4; i++)
        s[i] = word(in + 4 * i) ^ key[i];
    for (int round = 1; round < n_rounds; round++) {
        key += 4;
        for (int i = 0; i < 4; i++)
            t[i] = table[0][s[i] & 255] ^ table[1][s[(i + step) & 3] >> 8 & 255] ^ table[2][s[(i + 2) & 3] >> 16 & 255]
                ^ table[3][s[(i + 3 * step) & 3] >> 24] ^ key[i];
        memcpy(s, t, sizeof s);
    }
    key += 4;
    for (int i = 0; i < 4; i++) {
        uint32_t word = last[s[i] & 255] | (uint32_t)last[s[(i + step) & 3] >> 8 & 255] << 8
            | (uint32_t)last[s[(i + 2) & 3] >> 16 & 255] << 16 | (uint32_t)last[s[(i + 3 * step) & 3] >> 24] << 24;
        put(out + 4 * i, word ^ key[i]);
    }
}

static void encrypt_block(const struct keyed *keyed, const uint8_t *in, uint8_t *out)
{
    transform(keyed->encrypt, keyed->n_rounds, forward, sbox, 1, in, out);
}

static void decrypt_block(const struct keyed *keyed, const uint8_t *in, uint8_t *out)
{
    transform(keyed->decrypt, keyed->n_rounds, backward, inverse_sbox, 3, in, out);
}

#include "aes_modes.h"

const char *peer_version(void)
{
    return "1";
}

void *peer_open(const char *operation, const struct peer_strings *strings)
{
    return aes_open(operation, strings);
}

size_t peer_run(void *context, const uint8_t *in, uint8_t *out, size_t n_bytes)
{
    return aes_run(context, in, out, n_bytes);
}

void peer_close(void *context)
{
    free(context);
}
