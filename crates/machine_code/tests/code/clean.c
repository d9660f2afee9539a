/* The same shapes without a leak. `secret` is secret with all that it points to, the rest is public. */
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static const uint8_t table[64] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};

void table_in_registers(const uint8_t *secret, uint8_t *out, size_t n) {
    const __m512i values = _mm512_loadu_si512(table);
    for (size_t i = 0; i < n; i++) {
        const __m512i at = _mm512_loadu_si512(secret + 64 * i);
        _mm512_storeu_si512(out + 64 * i, _mm512_permutexvar_epi8(at, values));
    }
}

void tail_by_mask(const uint8_t *secret, uint8_t *out, size_t n) {
    const __mmask64 rest = (__mmask64)(((uint64_t)1 << (n & 63)) - 1);
    const __m512i block = _mm512_maskz_loadu_epi8(rest, secret);
    _mm512_mask_storeu_epi8(out, rest, _mm512_gf2p8mul_epi8(block, block));
}

/* A table read as a whole, the wanted entry kept. */
uint8_t scan(const uint8_t *secret) {
    uint8_t found = 0;
    for (uint32_t i = 0; i < 64; i++) {
        const uint32_t differs = i ^ (secret[0] & 63);
        found |= table[i] & (uint8_t)((differs - 1) >> 8);
    }
    return found;
}

uint64_t select(const uint64_t *secret, uint64_t a, uint64_t b) {
    const uint64_t mask = 0 - (secret[0] & 1);
    return (a & mask) | (b & ~mask);
}

uint32_t compare(const uint8_t *secret, const uint8_t *tag) {
    uint32_t differs = 0;
    for (size_t i = 0; i < 16; i++) {
        differs |= (uint32_t)(secret[i] ^ tag[i]);
    }
    return (differs - 1) >> 31;
}

/* Bits of many blocks side by side: the 4-bit S-box of the cipher PRESENT as a circuit, found by nobody's hand. */
void bitsliced(const uint64_t *secret, uint64_t *out, size_t n) {
    for (size_t i = 0; i < n; i++) {
        __m512i x[4], t[8];
        for (size_t k = 0; k < 4; k++) {
            x[k] = _mm512_loadu_si512(secret + 32 * i + 8 * k);
        }
        t[0] = _mm512_xor_si512(x[1], x[2]);
        t[1] = _mm512_and_si512(x[2], t[0]);
        t[2] = _mm512_xor_si512(x[3], t[1]);
        t[3] = _mm512_ternarylogic_epi64(t[0], t[2], x[0], 0x6a);
        t[4] = _mm512_xor_si512(t[3], x[1]);
        t[5] = _mm512_ternarylogic_epi64(t[4], x[0], t[2], 0xd8);
        t[6] = _mm512_or_si512(t[5], t[3]);
        t[7] = _mm512_xor_si512(t[6], _mm512_set1_epi64(-1));
        for (size_t k = 0; k < 4; k++) {
            _mm512_storeu_si512(out + 32 * i + 8 * k, t[4 + k]);
        }
    }
}

void aes_rounds(const uint8_t *secret, uint8_t *out, size_t n) {
    __m512i key[11];
    for (size_t k = 0; k < 11; k++) {
        key[k] = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(secret + 16 * k)));
    }
    for (size_t i = 0; i < n; i++) {
        __m512i block = _mm512_xor_si512(_mm512_loadu_si512(secret + 256 + 64 * i), key[0]);
        for (size_t k = 1; k < 10; k++) {
            block = _mm512_aesenc_epi128(block, key[k]);
        }
        _mm512_storeu_si512(out + 64 * i, _mm512_aesenclast_epi128(block, key[10]));
    }
}

void carryless(const uint8_t *secret, uint8_t *out) {
    __m128i h = _mm_loadu_si128((const __m128i *)secret);
    __m128i x = _mm_loadu_si128((const __m128i *)(secret + 16));
    const __m128i low = _mm_clmulepi64_si128(h, x, 0x00);
    const __m128i high = _mm_clmulepi64_si128(h, x, 0x11);
    _mm_storeu_si128((__m128i *)out, _mm_xor_si128(low, _mm_shuffle_epi32(high, 0x4e)));
}

void sha_rounds(const uint8_t *secret, uint8_t *out) {
    __m128i a = _mm_loadu_si128((const __m128i *)secret), b = _mm_loadu_si128((const __m128i *)(secret + 16));
    for (int i = 0; i < 8; i++) {
        const __m128i w = _mm_loadu_si128((const __m128i *)(secret + 32 + 16 * i));
        b = _mm_sha256rnds2_epu32(b, a, w);
        a = _mm_sha256rnds2_epu32(a, b, _mm_shuffle_epi32(w, 0x0e));
    }
    _mm_storeu_si128((__m128i *)out, a);
    _mm_storeu_si128((__m128i *)(out + 16), b);
}

/* A block that waits for more bytes, in an array on the stack, under a length that is public. */
void buffered(const uint8_t *secret, uint8_t *out, size_t n) {
    uint8_t block[64];
    memset(block, 0, sizeof block);
    memcpy(block, secret, n & 63);
    block[n & 63] = 0x80;
    for (size_t i = 0; i < 64; i += 8) {
        uint64_t word;
        memcpy(&word, block + i, 8);
        word = (word << 13) | (word >> 51);
        memcpy(out + i, &word, 8);
    }
}

struct context {
    uint32_t rounds;
    uint8_t key[32];
    uint32_t position;
    uint32_t buffer[16];
};

uint32_t from_a_context(struct context *secret) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < secret->rounds; i++) {
        sum += secret->buffer[i & 15] * secret->key[i & 31];
    }
    secret->buffer[secret->position & 15] = sum;
    secret->position++;
    return secret->buffer[(secret->position + 1) & 15];
}

/* What control is made of lies beside what is secret, and goes through the same registers. */
uint32_t state_machine(const uint8_t *secret, uint32_t *out, uint32_t state) {
    uint32_t sum = 0;
    for (uint32_t steps = 0; steps < 12; steps++) {
        switch (state) {
        case 0:
            sum += secret[0];
            state = 3;
            break;
        case 1:
            sum ^= secret[1] << 3;
            state = 4;
            break;
        case 2:
            sum = (sum << 5) | (sum >> 27);
            state = 0;
            break;
        case 3:
            sum -= secret[2];
            state = 5;
            break;
        case 4:
            sum *= secret[3];
            state = 2;
            break;
        case 5:
            out[steps] = sum;
            state = 1;
            break;
        default:
            return 0;
        }
    }
    return sum;
}

/* Many messages, each with its own pointer. */
void many(const uint8_t *const *secrets, uint8_t *const *outs, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const __m256i block = _mm256_loadu_si256((const __m256i *)secrets[i]);
        _mm256_storeu_si256((__m256i *)outs[i], _mm256_add_epi32(block, _mm256_rol_epi32(block, 7)));
    }
}

/* A status that is spread over a word by its borrow; what would leak is behind the one that is not given. */
static __attribute__((noinline)) uint32_t failure(uint32_t status) {
    return status == 0 ? 0 : 6;
}

void unless_it_failed(const uint64_t *secret, uint64_t *out, uint32_t status) {
    if (failure(status) != 0 && secret[0] > 5) {
        out[secret[1] & 7] = secret[2];
    }
    out[0] = secret[0] + 1;
}
