/* The plain loop: AES-128 over a buffer with four 1 KiB tables (SubBytes, ShiftRows and MixColumns of a column merged),
 * the expanded key in an array, one block after another. */
#include "aes_tables.h"
#include "reference.h"

static uint32_t te[4][256];
static uint32_t round_keys[4 * (AES_ROUNDS + 1)];

static inline uint32_t load_be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline void store_be32(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 24);
    p[1] = (uint8_t)(v >> 16);
    p[2] = (uint8_t)(v >> 8);
    p[3] = (uint8_t)v;
}

static inline uint32_t round_column(uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t key)
{
    return te[0][a >> 24] ^ te[1][b >> 16 & 255] ^ te[2][c >> 8 & 255] ^ te[3][d & 255] ^ key;
}

static inline uint32_t last_column(uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t key)
{
    uint32_t v = (uint32_t)aes_sbox[a >> 24] << 24 | (uint32_t)aes_sbox[b >> 16 & 255] << 16;
    return (v | (uint32_t)aes_sbox[c >> 8 & 255] << 8 | aes_sbox[d & 255]) ^ key;
}

int reference_setup(const uint8_t key[16], const uint8_t iv[16])
{
    uint8_t w[AES_BLOCK * (AES_ROUNDS + 1)];
    (void)iv;
    aes_make_sbox();
    for (int x = 0; x < 256; x++) {
        uint32_t s = aes_sbox[x], s2 = aes_xtime((uint8_t)s), s3 = s2 ^ s;
        te[0][x] = s2 << 24 | s << 16 | s << 8 | s3;
        te[1][x] = s3 << 24 | s2 << 16 | s << 8 | s;
        te[2][x] = s << 24 | s3 << 16 | s2 << 8 | s;
        te[3][x] = s << 24 | s << 16 | s3 << 8 | s2;
    }
    aes_expand_key(key, w);
    for (int i = 0; i < 4 * (AES_ROUNDS + 1); i++)
        round_keys[i] = load_be32(w + 4 * i);
    return 0;
}

int reference_run(const uint8_t *in, uint8_t *out, size_t n_bytes)
{
    for (; n_bytes >= AES_BLOCK; n_bytes -= AES_BLOCK, in += AES_BLOCK, out += AES_BLOCK) {
        const uint32_t *k = round_keys;
        uint32_t s0 = load_be32(in) ^ k[0], s1 = load_be32(in + 4) ^ k[1];
        uint32_t s2 = load_be32(in + 8) ^ k[2], s3 = load_be32(in + 12) ^ k[3];
        for (int round = 1; round < AES_ROUNDS; round++) {
            k += 4;
            uint32_t t0 = round_column(s0, s1, s2, s3, k[0]), t1 = round_column(s1, s2, s3, s0, k[1]);
            uint32_t t2 = round_column(s2, s3, s0, s1, k[2]), t3 = round_column(s3, s0, s1, s2, k[3]);
            s0 = t0, s1 = t1, s2 = t2, s3 = t3;
        }
        k += 4;
        store_be32(out, last_column(s0, s1, s2, s3, k[0]));
        store_be32(out + 4, last_column(s1, s2, s3, s0, k[1]));
        store_be32(out + 8, last_column(s2, s3, s0, s1, k[2]));
        store_be32(out + 12, last_column(s3, s0, s1, s2, k[3]));
    }
    return 0;
}

const char *reference_version(void)
{
    return "plain loop, four 1 KiB tables";
}
