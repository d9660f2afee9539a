/*
 * Run time of C for microcontrollers (`headrace build --small`): windows on strings of the caller, and the few functions
 * that operations share.
 */
#ifndef HEADRACE_SMALL_H
#define HEADRACE_SMALL_H

#include "headrace_message.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is no longer than its calls, and iterations of loops that are better in a row. */
#ifdef __GNUC__
#define HR_SMALL_FOLDED static inline __attribute__((always_inline))
#define HR_SMALL_UNROLLED _Pragma("GCC unroll 8")
#else
#define HR_SMALL_FOLDED static inline
#define HR_SMALL_UNROLLED
#endif

/* Whether words may be read and written at any address. */
#if defined(__ARM_FEATURE_UNALIGNED) || defined(__x86_64__) || defined(__i386__) || defined(__aarch64__)
#define HR_SMALL_UNALIGNED 1
#else
#define HR_SMALL_UNALIGNED 0
#endif

/* Stores a word of 32 bits, the least significant byte first. */
static inline void hr_small_store(uint8_t *to, uint32_t word) {
#if HR_SMALL_UNALIGNED && defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(to, &word, sizeof word);
#else
    to[0] = (uint8_t)word;
    to[1] = (uint8_t)(word >> 8);
    to[2] = (uint8_t)(word >> 16);
    to[3] = (uint8_t)(word >> 24);
#endif
}

/* Bytes of the caller that are still to be read. */
struct hr_small_in {
    const uint8_t *at;
    size_t n;
};

/* Room of the caller that is still to be filled. */
struct hr_small_out {
    uint8_t *at;
    size_t n;
};

/* Where a context stands: see headrace_message.h for what may be called when. */
enum { HR_SMALL_NO_KEY = 0, HR_SMALL_NEW_KEY = 1, HR_SMALL_KEYED = 2, HR_SMALL_OPEN = 3 };

/* The top bit of the size of a chunk marks the last chunk of its string. */
#define HR_SMALL_LAST 0x80000000u
/* The most bytes of a string that one call takes. */
#define HR_SMALL_MOST 0x3fffffffu

/* Fills a FIFO that holds `n` bytes as far as there are more and it has room; returns how many it holds then. */
size_t hr_small_refill(struct hr_small_in *from, uint8_t *tokens, size_t n, size_t capacity);
/* Drops the first bytes of a FIFO; `n_left` bytes are behind them. */
void hr_small_shift(void *tokens, size_t n_dropped, size_t n_left);
/* Whether any byte is not zero. */
bool hr_small_any(const void *bytes, size_t n_bytes);
/* out = a ^ b. `out` may be one of them, and overlaps with them in no other way. */
void hr_small_xor(uint8_t *out, const uint8_t *a, const uint8_t *b, size_t n_bytes);
/* Overwrites bytes so that compilers do not leave it out. */
void hr_small_wipe(void *bytes, size_t n_bytes);
/* Overwrites what calls left on the stack, as far as headrace_message.h says. */
#if HEADRACE_STACK_BYTES > 0
void hr_small_wipe_stack(void);
#else
#define hr_small_wipe_stack() ((void)0)
#endif

#ifdef __cplusplus
}
#endif

#endif
