/*
 * Whether round keys of AES-128 stay on the stack after `_message`, or `_update` and `_final`, and `_clear`: one gives the key.
 * OP and HEADER are those of an operation with a key and an initial block of 16 bytes each. Round keys that are left there on
 * purpose are found first: a search that sees nothing proves nothing.
 */
#include HEADER
#include <stdio.h>
#include <stdlib.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define CALL(name) JOIN(OP, JOIN(_, name))

enum { DEPTH = 1 << 17, MOST = 100000 };

static uint8_t keys[11][16];

static uint8_t times(uint8_t a, uint8_t b) {
    uint8_t product = 0;
    for (; b != 0; b >>= 1, a = (uint8_t)((a << 1) ^ (a >> 7) * 0x1b)) {
        product = (uint8_t)(product ^ (b & 1) * a);
    }
    return product;
}

static uint8_t substituted(uint8_t byte) {
    uint8_t inverse = 0, all = 0x63;
    for (unsigned i = 1; i < 256; i++) {
        inverse = times(byte, (uint8_t)i) == 1 ? (uint8_t)i : inverse;
    }
    for (int i = 0; i < 5; i++) {
        all = (uint8_t)(all ^ (inverse << i | inverse >> (8 - i)));
    }
    return all;
}

/* The round keys, bytes in turn (FIPS 197, 5.2). */
static void expand(const uint8_t *key) {
    uint8_t constant = 1, *const all = &keys[0][0];
    memcpy(all, key, 16);
    for (int i = 16; i < 176; i += 4) {
        uint8_t word[4];
        memcpy(word, all + i - 4, 4);
        if (i % 16 == 0) {
            const uint8_t first = word[0];
            word[0] = (uint8_t)(substituted(word[1]) ^ constant);
            word[1] = substituted(word[2]);
            word[2] = substituted(word[3]);
            word[3] = substituted(first);
            constant = times(constant, 2);
        }
        for (int j = 0; j < 4; j++) {
            all[i + j] = (uint8_t)(all[i + j - 16] ^ word[j]);
        }
    }
}

/* How many round keys lie below the caller. */
static __attribute__((noinline)) int found(void) {
    uint8_t below[DEPTH];
    int n = 0;
    __asm__ volatile("" : : "r"(below) : "memory");
    for (int i = 0; i + 16 <= DEPTH; i++) {
        for (int round = 0; round < 11; round++) {
            n += memcmp(below + i, keys[round], 16) == 0;
        }
    }
    return n;
}

/* Leaves all round keys below the caller, at places that are no multiples of anything. */
static __attribute__((noinline)) void plant(void) {
    uint8_t below[DEPTH / 2];
    for (int round = 0; round < 11; round++) {
        memcpy(below + 1000 + 2003 * round, keys[round], 16);
    }
    __asm__ volatile("" : : "r"(below) : "memory");
}

static __attribute__((noinline)) void clean(void) {
    uint8_t below[2 * DEPTH];
    memset(below, 0x55, sizeof below);
    __asm__ volatile("" : : "r"(below) : "memory");
}

static struct CALL(context) context;
static uint8_t in[MOST], out[MOST + 64];

int main(void) {
    const size_t lengths[] = {16, 100, 5000, MOST};
    int all = 0, before = 0;
    uint8_t key[16], iv[16] = {1};
    for (int i = 0; i < 16; i++) {
        key[i] = (uint8_t)(37 * i + 11);
    }
    expand(key);
    clean();
    if (found() != 0) {
        printf("round keys are found where none are\n");
        return 3;
    }
    plant();
    if (found() < 11) {
        printf("round keys on the stack are not found\n");
        return 3;
    }
    for (size_t i = 0; i < 2 * sizeof lengths / sizeof *lengths; i++) {
        const size_t length = lengths[i / 2];
        size_t n = 0, rest = 0;
        clean();
        if (CALL(key)(&context, key, 16) != HEADRACE_OK) {
            return 3;
        }
        if (i % 2 == 0) {
            if (CALL(message)(&context, iv, 16, in, length, out, sizeof out, &n) != HEADRACE_OK) {
                return 3;
            }
        } else if (CALL(init)(&context, iv, 16) != HEADRACE_OK ||
                   CALL(update)(&context, in, length, out, sizeof out, &n) != HEADRACE_OK ||
                   CALL(final)(&context, out + n, sizeof out - n, &rest) != HEADRACE_OK) {
            return 3;
        }
        before += found();
        CALL(clear)(&context);
        all += found();
    }
    printf("%d round keys on the stack before they are wiped, %d after\n", before, all);
    return all != 0;
}
