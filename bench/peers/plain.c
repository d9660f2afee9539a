/* The plain reference: AES as FIPS 197 and SHA-256 as FIPS 180-4 write them, step by step, byte by byte or word by word, with
 * no table but the S-boxes and the constants. */
#include "aes.h"

struct keyed {
    uint8_t w[BLOCK * (MAX_ROUNDS + 1)];
    int n_rounds;
};

static void set_key(struct keyed *keyed, const uint8_t *key, size_t key_bytes)
{
    keyed->n_rounds = expand_key(key, key_bytes, keyed->w);
}

static void add_round_key(uint8_t state[BLOCK], const uint8_t *w)
{
    for (int i = 0; i < BLOCK; i++)
        state[i] ^= w[i];
}

/* SubBytes and ShiftRows of section 5.1, or what undoes both of section 5.3: row r goes r columns to the left or right. */
static void substitute_and_shift(uint8_t state[BLOCK], const uint8_t table[256], int columns)
{
    uint8_t shifted[BLOCK];
    for (int row = 0; row < 4; row++)
        for (int column = 0; column < 4; column++)
            shifted[4 * column + row] = table[state[4 * ((column + columns * row) & 3) + row]];
    for (int i = 0; i < BLOCK; i++)
        state[i] = shifted[i];
}

static void mix_columns(uint8_t state[BLOCK])
{
    for (uint8_t *column = state; column < state + BLOCK; column += 4) {
        uint8_t a = column[0], all = column[0] ^ column[1] ^ column[2] ^ column[3];
        column[0] ^= all ^ times2(column[0] ^ column[1]);
        column[1] ^= all ^ times2(column[1] ^ column[2]);
        column[2] ^= all ^ times2(column[2] ^ column[3]);
        column[3] ^= all ^ times2(column[3] ^ a);
    }
}

/* The inverse matrix is the matrix after one with 5, 0, 4, 0 in its first row. */
static void inverse_mix_columns(uint8_t state[BLOCK])
{
    for (uint8_t *column = state; column < state + BLOCK; column += 4) {
        uint8_t even = times2(times2(column[0] ^ column[2])), odd = times2(times2(column[1] ^ column[3]));
        column[0] ^= even;
        column[1] ^= odd;
        column[2] ^= even;
        column[3] ^= odd;
    }
    mix_columns(state);
}

static void encrypt_block(const struct keyed *keyed, const uint8_t *in, uint8_t *out)
{
    for (int i = 0; i < BLOCK; i++)
        out[i] = in[i];
    add_round_key(out, keyed->w);
    for (int round = 1; round <= keyed->n_rounds; round++) {
        substitute_and_shift(out, sbox, 1);
        if (round < keyed->n_rounds)
            mix_columns(out);
        add_round_key(out, keyed->w + BLOCK * round);
    }
}

static void decrypt_block(const struct keyed *keyed, const uint8_t *in, uint8_t *out)
{
    for (int i = 0; i < BLOCK; i++)
        out[i] = in[i];
    for (int round = keyed->n_rounds; round >= 1; round--) {
        add_round_key(out, keyed->w + BLOCK * round);
        if (round < keyed->n_rounds)
            inverse_mix_columns(out);
        substitute_and_shift(out, inverse_sbox, -1);
    }
    add_round_key(out, keyed->w);
}

#include "aes_modes.h"

/* FIPS 180-4, section 4.2.2: the fractional parts of the cube roots of the first primes, found by integers alone. */
static uint32_t sha_constants[64], sha_initial[8];

/* A number in limbs of 32 bits, the lowest first, times another. */
static void multiply(uint32_t limbs[5], uint64_t factor)
{
    uint32_t product[5] = {0};
    for (int half = 0; half < 2; half++) {
        uint64_t carry = 0, part = (uint32_t)(factor >> 32 * half);
        for (int i = half; i < 5; i++) {
            carry += product[i] + part * limbs[i - half];
            product[i] = (uint32_t)carry;
            carry >>= 32;
        }
    }
    memcpy(limbs, product, sizeof product);
}

/* The first 32 fractional bits of the root of degree 2 or 3 of a small number: the largest r with r^degree <= n, r in units of
 * 2^-32. */
static uint32_t root_bits(uint32_t n, int degree)
{
    uint64_t root = 0;
    for (int bit = 36; bit >= 0; bit--) {
        uint64_t tried = root | (uint64_t)1 << bit;
        uint32_t power[5] = {1, 0, 0, 0, 0}, above;
        for (int i = 0; i < degree; i++)
            multiply(power, tried);
        /* What is above the point, rounded up; it has no more than 15 bits. */
        above = power[degree] + (power[0] != 0 || power[1] != 0 || (degree == 3 && power[2] != 0));
        if (above <= n)
            root = tried;
    }
    return (uint32_t)root;
}

static void make_sha_constants(void)
{
    int found = 0;
    for (uint32_t n = 2; found < 64; n++) {
        int is_prime = 1;
        for (uint32_t d = 2; d * d <= n; d++)
            is_prime &= n % d != 0;
        if (!is_prime)
            continue;
        if (found < 8)
            sha_initial[found] = root_bits(n, 2);
        sha_constants[found++] = root_bits(n, 3);
    }
}

static inline uint32_t right(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

/* Section 6.2.2. */
static void sha_block(uint32_t h[8], const uint8_t *block)
{
    uint32_t w[64], s[8];
    for (int t = 0; t < 64; t++) {
        if (t < 16) {
            w[t] = (uint32_t)block[4 * t] << 24 | (uint32_t)block[4 * t + 1] << 16 | (uint32_t)block[4 * t + 2] << 8
                | block[4 * t + 3];
        } else {
            uint32_t a = w[t - 15], b = w[t - 2];
            w[t] = (right(b, 17) ^ right(b, 19) ^ b >> 10) + w[t - 7] + (right(a, 7) ^ right(a, 18) ^ a >> 3) + w[t - 16];
        }
    }
    memcpy(s, h, sizeof s);
    for (int t = 0; t < 64; t++) {
        uint32_t a = s[0], e = s[4];
        uint32_t t1 = s[7] + (right(e, 6) ^ right(e, 11) ^ right(e, 25)) + ((e & s[5]) ^ (~e & s[6])) + sha_constants[t] + w[t];
        uint32_t t2 = (right(a, 2) ^ right(a, 13) ^ right(a, 22)) + ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += t1;
        s[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++)
        h[i] += s[i];
}

static size_t sha256(const uint8_t *in, uint8_t *out, size_t n_bytes)
{
    uint32_t h[8];
    uint8_t last[128] = {0};
    size_t whole = n_bytes / 64 * 64, rest = n_bytes - whole, end = rest < 56 ? 64 : 128;
    memcpy(h, sha_initial, sizeof h);
    for (size_t at = 0; at < whole; at += 64)
        sha_block(h, in + at);
    memcpy(last, in + whole, rest);
    last[rest] = 0x80;
    for (int i = 0; i < 8; i++)
        last[end - 1 - i] = (uint8_t)((uint64_t)n_bytes * 8 >> 8 * i);
    for (size_t at = 0; at < end; at += 64)
        sha_block(h, last + at);
    for (int i = 0; i < 32; i++)
        out[i] = (uint8_t)(h[i / 4] >> (24 - 8 * (i % 4)));
    return 32;
}

/* Stands for the hash, which has no key. */
static char hash_context;

const char *peer_version(void)
{
    return "1";
}

void *peer_open(const char *operation, const struct peer_strings *strings)
{
    if (strcmp(operation, "sha256 hash") != 0)
        return aes_open(operation, strings);
    make_sha_constants();
    return &hash_context;
}

size_t peer_run(void *context, const uint8_t *in, uint8_t *out, size_t n_bytes)
{
    return context == &hash_context ? sha256(in, out, n_bytes) : aes_run(context, in, out, n_bytes);
}

void peer_close(void *context)
{
    if (context != &hash_context)
        free(context);
}
