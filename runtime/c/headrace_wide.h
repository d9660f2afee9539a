/*
 * Integers beyond 64 bits: two's complement in 32-bit words, least significant first, on arrays of the caller.
 *
 * Results may be the same array as an operand where the comment does not say otherwise. Written for being right: sums
 * and logic take a pass over the words, products and quotients are quadratic.
 */
#ifndef HEADRACE_WIDE_H
#define HEADRACE_WIDE_H

#include "headrace.h"

static inline void hr_wide_from_u64(uint32_t *r, size_t words, uint64_t value) {
    for (size_t i = 0; i < words; i++) {
        r[i] = i == 0 ? (uint32_t)value : i == 1 ? (uint32_t)(value >> 32) : 0u;
    }
}

static inline void hr_wide_from_i64(uint32_t *r, size_t words, int64_t value) {
    hr_wide_from_u64(r, words, (uint64_t)value);
    for (size_t i = 2; i < words; i++) {
        r[i] = value < 0 ? UINT32_MAX : 0u;
    }
}

/* Low 64 bits; `words` is at least 1. */
static inline uint64_t hr_wide_low(const uint32_t *a, size_t words) {
    return words < 2 ? a[0] : a[0] | (uint64_t)a[1] << 32;
}

static inline bool hr_wide_negative(const uint32_t *a, size_t words) {
    return (a[words - 1] >> 31) != 0;
}

/* The value as int64_t, held at its limits when it is outside. */
static inline int64_t hr_wide_saturated(const uint32_t *a, size_t words) {
    const bool negative = hr_wide_negative(a, words);
    const uint32_t fill = negative ? UINT32_MAX : 0u;
    for (size_t i = 2; i < words; i++) {
        if (a[i] != fill) {
            return negative ? INT64_MIN : INT64_MAX;
        }
    }
    const int64_t low = (int64_t)hr_wide_low(a, words);
    if ((low < 0) != negative) {
        return negative ? INT64_MIN : INT64_MAX;
    }
    return low;
}

/* Changes the number of words: cuts, or extends by the sign when `is_signed`, else by zero. `r` is not `a`. */
static inline void hr_wide_resize(uint32_t *r, size_t words, const uint32_t *a, size_t a_words, bool is_signed) {
    const uint32_t fill = is_signed && hr_wide_negative(a, a_words) ? UINT32_MAX : 0u;
    for (size_t i = 0; i < words; i++) {
        r[i] = i < a_words ? a[i] : fill;
    }
}

/* Wraps in place to `bits` bits: sign- or zero-extends from there to all words. */
static inline void hr_wide_wrap(uint32_t *r, size_t words, size_t bits, bool is_signed) {
    const size_t top = (bits - 1u) / 32u;
    const unsigned used = (unsigned)((bits - 1u) % 32u) + 1u;
    if (top >= words) {
        return;
    }
    const uint32_t mask = used == 32u ? UINT32_MAX : ((uint32_t)1 << used) - 1u;
    const bool negative = is_signed && (r[top] >> (used - 1u) & 1u) != 0;
    r[top] = negative ? r[top] | ~mask : r[top] & mask;
    for (size_t i = top + 1; i < words; i++) {
        r[i] = negative ? UINT32_MAX : 0u;
    }
}

static inline void hr_wide_copy(uint32_t *r, const uint32_t *a, size_t words) {
    if (r != a) {
        memcpy(r, a, words * sizeof *r);
    }
}

static inline void hr_wide_add(uint32_t *r, const uint32_t *a, const uint32_t *b, size_t words) {
    uint64_t carry = 0;
    for (size_t i = 0; i < words; i++) {
        carry += (uint64_t)a[i] + b[i];
        r[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

static inline void hr_wide_sub(uint32_t *r, const uint32_t *a, const uint32_t *b, size_t words) {
    uint64_t carry = 1;
    for (size_t i = 0; i < words; i++) {
        carry += (uint64_t)a[i] + (uint32_t)~b[i];
        r[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

static inline void hr_wide_not(uint32_t *r, const uint32_t *a, size_t words) {
    for (size_t i = 0; i < words; i++) {
        r[i] = ~a[i];
    }
}

static inline void hr_wide_neg(uint32_t *r, const uint32_t *a, size_t words) {
    uint64_t carry = 1;
    for (size_t i = 0; i < words; i++) {
        carry += (uint32_t)~a[i];
        r[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

static inline void hr_wide_and(uint32_t *r, const uint32_t *a, const uint32_t *b, size_t words) {
    for (size_t i = 0; i < words; i++) {
        r[i] = a[i] & b[i];
    }
}

static inline void hr_wide_or(uint32_t *r, const uint32_t *a, const uint32_t *b, size_t words) {
    for (size_t i = 0; i < words; i++) {
        r[i] = a[i] | b[i];
    }
}

static inline void hr_wide_xor(uint32_t *r, const uint32_t *a, const uint32_t *b, size_t words) {
    for (size_t i = 0; i < words; i++) {
        r[i] = a[i] ^ b[i];
    }
}

/* Product modulo 2^(32 words). `r` is neither operand. */
static inline void hr_wide_mul(uint32_t *r, const uint32_t *a, const uint32_t *b, size_t words) {
    memset(r, 0, words * sizeof *r);
    for (size_t i = 0; i < words; i++) {
        uint64_t carry = 0;
        for (size_t j = 0; i + j < words; j++) {
            carry += (uint64_t)a[i] * b[j] + r[i + j];
            r[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
    }
}

/* Left shift by any count. */
static inline void hr_wide_shl(uint32_t *r, const uint32_t *a, size_t words, uint64_t count) {
    const uint64_t skip = count / 32u;
    const unsigned rest = (unsigned)(count % 32u);
    for (size_t i = words; i-- > 0;) {
        uint32_t word = 0;
        if (skip <= i) {
            const size_t from = i - (size_t)skip;
            word = a[from] << rest;
            if (rest != 0 && from > 0) {
                word |= a[from - 1] >> (32u - rest);
            }
        }
        r[i] = word;
    }
}

/* Arithmetic right shift by any count. */
static inline void hr_wide_shr(uint32_t *r, const uint32_t *a, size_t words, uint64_t count) {
    const uint32_t fill = hr_wide_negative(a, words) ? UINT32_MAX : 0u;
    const uint64_t skip = count / 32u;
    const unsigned rest = (unsigned)(count % 32u);
    for (size_t i = 0; i < words; i++) {
        const uint32_t low = skip < words - i ? a[i + (size_t)skip] : fill;
        const uint32_t high = skip + 1u < words - i ? a[i + (size_t)skip + 1u] : fill;
        r[i] = rest == 0 ? low : low >> rest | high << (32u - rest);
    }
}

/* Left shift by any count; a negative one shifts to the right. */
static inline void hr_wide_shift(uint32_t *r, const uint32_t *a, size_t words, int64_t count) {
    if (count >= 0) {
        hr_wide_shl(r, a, words, (uint64_t)count);
    } else {
        hr_wide_shr(r, a, words, (uint64_t)0 - (uint64_t)count);
    }
}

/* Negative, zero or positive as a is less than, equal to or greater than b. */
static inline int hr_wide_compare(const uint32_t *a, const uint32_t *b, size_t words) {
    const bool a_negative = hr_wide_negative(a, words);
    if (a_negative != hr_wide_negative(b, words)) {
        return a_negative ? -1 : 1;
    }
    for (size_t i = words; i-- > 0;) {
        if (a[i] != b[i]) {
            return a[i] < b[i] ? -1 : 1;
        }
    }
    return 0;
}

static inline bool hr_wide_zero(const uint32_t *a, size_t words) {
    for (size_t i = 0; i < words; i++) {
        if (a[i] != 0) {
            return false;
        }
    }
    return true;
}

/* Quotient and remainder of magnitudes, bit by bit. `q` and `r` are neither operands nor each other. */
static inline void hr_wide_divide(uint32_t *q, uint32_t *r, const uint32_t *a, const uint32_t *b, size_t words) {
    memset(q, 0, words * sizeof *q);
    memset(r, 0, words * sizeof *r);
    for (size_t bit = words * 32u; bit-- > 0;) {
        uint32_t carry = a[bit / 32u] >> (bit % 32u) & 1u;
        for (size_t i = 0; i < words; i++) {
            const uint32_t out = r[i] >> 31;
            r[i] = r[i] << 1 | carry;
            carry = out;
        }
        bool less = false;
        for (size_t i = words; i-- > 0;) {
            if (r[i] != b[i]) {
                less = r[i] < b[i];
                break;
            }
        }
        if (!less) {
            hr_wide_sub(r, r, b, words);
            q[bit / 32u] |= (uint32_t)1 << (bit % 32u);
        }
    }
}

/* Quotient truncated toward zero; 0 for a zero divisor. `scratch` has 3 * words words; nothing overlaps. */
static inline void hr_wide_div(uint32_t *q, const uint32_t *a, const uint32_t *b, size_t words, uint32_t *scratch) {
    uint32_t *const x = scratch;
    uint32_t *const y = scratch + words;
    if (hr_wide_zero(b, words)) {
        memset(q, 0, words * sizeof *q);
        return;
    }
    const bool a_negative = hr_wide_negative(a, words);
    const bool b_negative = hr_wide_negative(b, words);
    if (a_negative) {
        hr_wide_neg(x, a, words);
    } else {
        hr_wide_copy(x, a, words);
    }
    if (b_negative) {
        hr_wide_neg(y, b, words);
    } else {
        hr_wide_copy(y, b, words);
    }
    hr_wide_divide(q, scratch + 2 * words, x, y, words);
    if (a_negative != b_negative) {
        hr_wide_neg(q, q, words);
    }
}

/* Residue in 0..b-1; 0 for a modulus that is not positive. `scratch` has 2 * words words; nothing overlaps. */
static inline void hr_wide_mod(uint32_t *r, const uint32_t *a, const uint32_t *b, size_t words, uint32_t *scratch) {
    uint32_t *const x = scratch;
    if (hr_wide_negative(b, words) || hr_wide_zero(b, words)) {
        memset(r, 0, words * sizeof *r);
        return;
    }
    const bool negative = hr_wide_negative(a, words);
    if (negative) {
        hr_wide_neg(x, a, words);
    } else {
        hr_wide_copy(x, a, words);
    }
    hr_wide_divide(scratch + words, r, x, b, words);
    if (negative && !hr_wide_zero(r, words)) {
        hr_wide_sub(r, b, r, words);
    }
}

/* Nearest real with `precision` bits (24 or 53), ties to even; infinite beyond the range of double. */
static inline double hr_wide_real(const uint32_t *a, size_t words, unsigned precision, uint32_t *scratch) {
    const bool negative = hr_wide_negative(a, words);
    if (negative) {
        hr_wide_neg(scratch, a, words);
    } else {
        hr_wide_copy(scratch, a, words);
    }
    size_t top = words;
    while (top > 0 && scratch[top - 1] == 0) {
        top--;
    }
    if (top == 0) {
        return 0.0;
    }
    size_t bits = (top - 1) * 32u;
    for (uint32_t word = scratch[top - 1]; word != 0; word >>= 1) {
        bits++;
    }
    uint64_t kept = 0;
    size_t exponent = 0;
    if (bits <= precision) {
        kept = hr_wide_low(scratch, words);
    } else {
        exponent = bits - precision;
        bool sticky = false;
        for (size_t bit = 0; bit + 1 < exponent; bit++) {
            sticky = sticky || (scratch[bit / 32u] >> (bit % 32u) & 1u) != 0;
        }
        const bool half = (scratch[(exponent - 1) / 32u] >> ((exponent - 1) % 32u) & 1u) != 0;
        for (size_t bit = bits; bit-- > exponent;) {
            kept = kept << 1 | (scratch[bit / 32u] >> (bit % 32u) & 1u);
        }
        if (half && (sticky || (kept & 1u) != 0)) {
            kept++;
        }
    }
    double value = (double)kept;
    for (size_t i = 0; i < exponent; i++) {
        value *= 2.0;
    }
    return negative ? -value : value;
}

/* Prints in decimal. `scratch` has words words, `digits` has 10 * words + 2 bytes. */
static inline void hr_wide_print(const struct headrace_control *control, const uint32_t *a, size_t words,
                                 uint32_t *scratch, char *digits) {
    const bool negative = hr_wide_negative(a, words);
    size_t at = 10u * words + 2u;
    const size_t end = at;
    if (negative) {
        hr_wide_neg(scratch, a, words);
    } else {
        hr_wide_copy(scratch, a, words);
    }
    do {
        uint64_t rest = 0;
        for (size_t i = words; i-- > 0;) {
            rest = rest << 32 | scratch[i];
            scratch[i] = (uint32_t)(rest / 10u);
            rest %= 10u;
        }
        digits[--at] = (char)('0' + (int)rest);
    } while (!hr_wide_zero(scratch, words));
    if (negative) {
        digits[--at] = '-';
    }
    hr_print(control, digits + at, end - at);
}

#endif
