/* See headrace_small.h and headrace_message.h. */
#include "headrace_small.h"

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
