/* The part of the C library that every freestanding program must have: four functions, as short as toolchains for microcontrollers have them. */
#include <stddef.h>
#include <stdint.h>

void *memcpy(void *restrict to, const void *restrict from, size_t n) {
    uint8_t *a = to;
    const uint8_t *b = from;
    while (n-- != 0) {
        *a++ = *b++;
    }
    return to;
}

void *memmove(void *to, const void *from, size_t n) {
    uint8_t *a = to;
    const uint8_t *b = from;
    if (a < b) {
        while (n-- != 0) {
            *a++ = *b++;
        }
    } else {
        while (n-- != 0) {
            a[n] = b[n];
        }
    }
    return to;
}

void *memset(void *to, int byte, size_t n) {
    uint8_t *a = to;
    while (n-- != 0) {
        *a++ = (uint8_t)byte;
    }
    return to;
}

int memcmp(const void *a, const void *b, size_t n) {
    const uint8_t *x = a, *y = b;
    for (; n != 0; n--, x++, y++) {
        if (*x != *y) {
            return *x - *y;
        }
    }
    return 0;
}
