/* The table reference: a round of AES as sixteen look-ups in four tables of words, each S-box and column of the mixing matrix in
 * one (Daemen and Rijmen, AES Proposal: Rijndael, section 5.2.1); decryption by the equivalent inverse cipher of FIPS 197,
 * section 5.3.5. */
#include "aes.h"

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

/* Both directions differ in tables and in where the columns of a row come from: `b` and `d` are the columns of the second and
 * the fourth row. */
#define COLUMN(a, b, c, d) (t0[a & 255] ^ t1[b >> 8 & 255] ^ t2[c >> 16 & 255] ^ t3[d >> 24])
#define LAST(a, b, c, d)                                                                                             \
    ((uint32_t)last[a & 255] | (uint32_t)last[b >> 8 & 255] << 8 | (uint32_t)last[c >> 16 & 255] << 16               \
     | (uint32_t)last[d >> 24] << 24)

static inline __attribute__((always_inline)) void transform(const uint32_t *key, int n_rounds, uint32_t (*table)[256],
                                                            const uint8_t last[256], int is_forward,
                                                            const uint8_t *in, uint8_t *out)
{
    const uint32_t *t0 = table[0], *t1 = table[1], *t2 = table[2], *t3 = table[3];
    uint32_t a = word(in) ^ key[0], b = word(in + 4) ^ key[1], c = word(in + 8) ^ key[2], d = word(in + 12) ^ key[3];
    for (int round = 1; round < n_rounds; round++) {
        key += 4;
        uint32_t e = (is_forward ? COLUMN(a, b, c, d) : COLUMN(a, d, c, b)) ^ key[0];
        uint32_t f = (is_forward ? COLUMN(b, c, d, a) : COLUMN(b, a, d, c)) ^ key[1];
        uint32_t g = (is_forward ? COLUMN(c, d, a, b) : COLUMN(c, b, a, d)) ^ key[2];
        uint32_t h = (is_forward ? COLUMN(d, a, b, c) : COLUMN(d, c, b, a)) ^ key[3];
        a = e;
        b = f;
        c = g;
        d = h;
    }
    key += 4;
    put(out, (is_forward ? LAST(a, b, c, d) : LAST(a, d, c, b)) ^ key[0]);
    put(out + 4, (is_forward ? LAST(b, c, d, a) : LAST(b, a, d, c)) ^ key[1]);
    put(out + 8, (is_forward ? LAST(c, d, a, b) : LAST(c, b, a, d)) ^ key[2]);
    put(out + 12, (is_forward ? LAST(d, a, b, c) : LAST(d, c, b, a)) ^ key[3]);
}

static void encrypt_block(const struct keyed *keyed, const uint8_t *in, uint8_t *out)
{
    transform(keyed->encrypt, keyed->n_rounds, forward, sbox, 1, in, out);
}

static void decrypt_block(const struct keyed *keyed, const uint8_t *in, uint8_t *out)
{
    transform(keyed->decrypt, keyed->n_rounds, backward, inverse_sbox, 0, in, out);
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
