/* Run time of C for microcontrollers: FIFOs in arrays, and wiping. See headrace_small.h. */
#include "headrace_small.h"

size_t hr_small_refill(struct hr_small_in *from, uint8_t *tokens, size_t n, size_t capacity) {
    for (; from->n != 0 && n < capacity; from->n--) {
        tokens[n++] = *from->at++;
    }
    return n;
}

void hr_small_shift(void *tokens, size_t n_dropped, size_t n_left) {
    uint8_t *to = tokens;
    const uint8_t *from = to + n_dropped;
    uint32_t word;
    for (; n_left >= sizeof word; n_left -= sizeof word) {
        memcpy(&word, from, sizeof word);
        memcpy(to, &word, sizeof word);
        from += sizeof word;
        to += sizeof word;
    }
    for (; n_left != 0; n_left--) {
        *to++ = *from++;
    }
}

bool hr_small_any(const void *bytes, size_t n_bytes) {
    const uint8_t *at = bytes;
    uint8_t all = 0;
    for (; n_bytes != 0; n_bytes--) {
        all = (uint8_t)(all | *at++);
    }
    return all != 0;
}

/* What is read of bytes at once. */
#if !defined(__GNUC__)
typedef uint8_t hr_small_word;
#elif HR_SMALL_UNALIGNED
typedef uint32_t __attribute__((may_alias, aligned(1))) hr_small_word;
#else
typedef uint32_t __attribute__((may_alias)) hr_small_word;
#endif

void hr_small_xor(uint8_t *out, const uint8_t *a, const uint8_t *b, size_t n_bytes) {
#if !HR_SMALL_UNALIGNED
    /* Words where all three begin at one. */
    if ((((uintptr_t)out | (uintptr_t)a | (uintptr_t)b) & (sizeof(hr_small_word) - 1)) == 0)
#endif
    {
        hr_small_word *to = (void *)out;
        const hr_small_word *x = (const void *)a, *y = (const void *)b;
        /* Several in a row: compilers for size make of one at a time a loop that counts more than it computes. */
        for (; n_bytes >= 4 * sizeof *to; n_bytes -= 4 * sizeof *to) {
            to[0] = (hr_small_word)(x[0] ^ y[0]);
            to[1] = (hr_small_word)(x[1] ^ y[1]);
            to[2] = (hr_small_word)(x[2] ^ y[2]);
            to[3] = (hr_small_word)(x[3] ^ y[3]);
            to += 4;
            x += 4;
            y += 4;
        }
        out = (void *)to;
        a = (const void *)x;
        b = (const void *)y;
    }
    for (; n_bytes != 0; n_bytes--) {
        *out++ = (uint8_t)(*a++ ^ *b++);
    }
}

void hr_small_wipe(void *bytes, size_t n_bytes) {
    volatile uint8_t *at = bytes;
    while (n_bytes != 0) {
        *at++ = 0;
        n_bytes--;
    }
}

#if HEADRACE_STACK_BYTES > 0
#ifdef __GNUC__
__attribute__((noinline))
#endif
void hr_small_wipe_stack(void) {
    uint64_t below[HEADRACE_STACK_BYTES / sizeof(uint64_t)];
    hr_small_wipe(below, sizeof below);
}
#endif
