/* Functions that leak, each on the line that names how. `secret` is secret with all that it points to, the rest is public. */
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static uint32_t changeable[256];
static const uint8_t fixed[256] = {7, 1, 4, 9, 3, 250, 17, 99};
volatile uint32_t sink;

/* A table of which the compiler cannot tell what it holds. */
void set_table(uint32_t at, uint32_t to) {
    changeable[at & 255] = to;
}

void table_by_secret_byte(const uint8_t *secret, uint8_t *out, size_t n) {
    for (size_t i = 0; i < n; i++) {
        out[i] = fixed[secret[i]]; /* leak: address */
    }
}

void table_after_vector_work(const uint8_t *secret, uint32_t *out) {
    __m512i block = _mm512_loadu_si512(secret);
    block = _mm512_ternarylogic_epi64(block, _mm512_slli_epi64(block, 3), _mm512_set1_epi8(0x1b), 0x96);
    const uint64_t word = (uint64_t)_mm_extract_epi64(_mm512_extracti32x4_epi32(block, 2), 1);
    out[0] = changeable[word & 255]; /* leak: address */
}

void branch_on_vector_test(const uint8_t *secret, uint32_t *out) {
    const __m512i block = _mm512_loadu_si512(secret);
    const __mmask64 zero = _mm512_testn_epi8_mask(block, block);
    if (zero != 0) { /* leak: branch */
        out[0] = 1;
        sink = 1;
    }
}

void branch_on_mask(const uint8_t *secret, uint32_t *out) {
    const __m512i block = _mm512_loadu_si512(secret);
    const __mmask64 high = _mm512_movepi8_mask(block);
    if (_kortestz_mask64_u8(high, high)) { /* leak: branch */
        sink = out[1];
    }
}

void branch_on_avx_test(const uint8_t *secret, uint32_t *out) {
    const __m256i block = _mm256_loadu_si256((const __m256i *)secret);
    if (_mm256_testz_si256(block, block)) { /* leak: branch */
        sink = out[2];
    }
}

void gather(const uint8_t *secret, uint32_t *out) {
    const __m512i at = _mm512_and_si512(_mm512_loadu_si512(secret), _mm512_set1_epi32(255));
    _mm512_storeu_si512(out, _mm512_i32gather_epi32(at, changeable, 4)); /* leak: address */
}

void gather_avx2(const uint8_t *secret, uint32_t *out) {
    const __m256i at = _mm256_srli_epi32(_mm256_loadu_si256((const __m256i *)secret), 24);
    _mm256_storeu_si256((__m256i *)out, _mm256_i32gather_epi32((const int *)changeable, at, 4)); /* leak: address */
}

void scatter(const uint8_t *secret, uint32_t *out) {
    const __m512i at = _mm512_srli_epi32(_mm512_loadu_si512(secret), 24);
    _mm512_i32scatter_epi32(out, at, _mm512_set1_epi32(1), 4); /* leak: address */
}

uint32_t early_exit(const uint8_t *secret, const uint8_t *tag) {
    for (size_t i = 0; i < 16; i++) {
        if (secret[i] != tag[i]) { /* leak: branch */
            return 0;
        }
    }
    return 1;
}

uint32_t shift_loop(const uint8_t *secret, uint32_t *out) {
    uint32_t n = secret[0];
    uint32_t sum = 0;
    while (n-- > 0) { /* leak: branch */
        sum = sum * 3 + out[n & 3];
    }
    return sum;
}

uint32_t division(const uint32_t *secret, uint32_t by) {
    return secret[0] / by; /* leak: division */
}

uint64_t remainder_by_secret(const uint64_t *secret, uint64_t of) {
    return of % (secret[1] | 1); /* leak: division */
}

typedef uint32_t (*step)(uint32_t);
static uint32_t twice(uint32_t x) {
    return 2 * x;
}
static uint32_t thrice(uint32_t x) {
    return 3 * x;
}
static uint32_t fourth(uint32_t x) {
    return 4 * x;
}
static uint32_t fifth(uint32_t x) {
    return 5 * x;
}
step steps[4] = {twice, thrice, fourth, fifth};

uint32_t call_by_secret(const uint8_t *secret) {
    return 1 + steps[secret[0] & 3](7); /* leak: address */
}

void masked_store(const uint8_t *secret, uint32_t *out) {
    const __m512i block = _mm512_loadu_si512(secret);
    const __mmask16 odd = _mm512_test_epi32_mask(block, _mm512_set1_epi32(1));
    _mm512_mask_storeu_epi32(out, odd, block); /* leak: masked-access */
}

/* Through the stack, where the secret lies between public numbers. */
uint32_t through_the_stack(const uint32_t *secret, const uint32_t *order, size_t n) {
    volatile uint32_t mixed[8];
    for (size_t i = 0; i < 8; i++) {
        mixed[i] = i == 5 ? secret[0] : (uint32_t)i;
    }
    return changeable[mixed[order[n & 3] & 7] & 255]; /* leak: address */
}

struct context {
    uint32_t rounds;
    uint8_t key[32];
    uint32_t position;
    uint32_t buffer[16];
};

/* Only the key is secret of a context; the number of rounds is a bound that may be seen. */
uint32_t from_a_context(struct context *secret) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < secret->rounds; i++) {
        sum += secret->buffer[i & 15];
    }
    secret->buffer[secret->position & 15] = sum;
    return fixed[secret->key[3]]; /* leak: address */
}

/* What a callee gets, and what it gives back. */
__attribute__((noinline)) static uint32_t mix(uint32_t a, uint32_t b) {
    return (a ^ (b << 7)) + 5;
}

uint32_t through_calls(const uint32_t *secret, uint32_t *out) {
    const uint32_t seen = mix(out[0], out[1]);
    const uint32_t hidden = mix(secret[0], seen);
    out[2] = changeable[seen & 255];
    return changeable[hidden & 255]; /* leak: address */
}

/* A flag that survives instructions which leave it alone. */
uint64_t carries(const uint64_t *secret, uint64_t *out) {
    unsigned long long sum;
    const unsigned char carry = _addcarry_u64(0, secret[0], out[0], &sum);
    out[1] = sum;
    if (carry) { /* leak: branch */
        sink = 3;
    }
    return sum;
}

/* The library's comparison ends at the first difference. */
int compare_by_library(const uint8_t *secret, const uint8_t *tag, size_t n) {
    const int order = memcmp(secret, tag, n); /* leak: library-call */
    sink = 4;
    return order;
}

/* Products of public numbers and a borrow from a secret one, which is spread over a word. */
uint64_t borrow(const uint64_t *secret, uint64_t *out, uint64_t n) {
    unsigned long long difference;
    const unsigned char less = _subborrow_u64(0, secret[0], n * 24, &difference);
    const uint64_t mask = 0 - (uint64_t)less;
    out[0] = difference & mask;
    return changeable[mask & 128]; /* leak: address */
}
