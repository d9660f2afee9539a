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
