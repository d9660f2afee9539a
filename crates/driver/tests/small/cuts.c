/* Messages in random pieces, some of them in place, against the same messages whole: OP is the beginning of the names of an
 * operation with a key and an initial block, or without both where HASHES is defined. Lengths are LEAST and more, in steps of
 * STEP. IN_PLACE is 0 where input is read in two places, so that output must not go over it. */
#include SET

#include <stdio.h>
#include <string.h>

#define JOINED(a, b) a##b
#define NAMED(op, function) JOINED(op, function)
#define CALL(function) NAMED(OP, function)

enum { MOST = 704, MESSAGES = 4000 };

static struct NAMED(OP, _context) whole, pieces;
static uint8_t in[MOST], out[MOST + 64], got[MOST + 64];
#ifndef HASHES
static uint8_t there[MOST + 64];
#endif
static uint32_t state = 1;

static uint32_t arbitrary(uint32_t below) {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
}

int main(void) {
    const uint8_t key[KEY_BYTES + 3] = {1, 2, 3};
    (void)key;
    for (int message = 0; message < MESSAGES; message++) {
        const size_t n = LEAST + arbitrary((MOST - LEAST) / STEP + 1) * STEP;
        size_t n_out = 0, n_got = 0, made = 0, at = 0;
        uint32_t result = 0;
        for (size_t i = 0; i < n; i++) {
            in[i] = (uint8_t)arbitrary(256);
        }
#ifdef HASHES
        result |= CALL(_message)(&whole, in, n, out, sizeof out, &n_out);
        result |= CALL(_init)(&pieces);
#else
        if (message % 3 == 0) {
            result |= CALL(_key)(&whole, key, KEY_BYTES);
            result |= CALL(_key)(&pieces, key, KEY_BYTES);
        }
        result |= CALL(_message)(&whole, in, IV_BYTES, in, n, out, sizeof out, &n_out);
        result |= CALL(_init)(&pieces, in, IV_BYTES);
#endif
        while (result == 0 && at < n) {
            const size_t most = n - at < 150 ? n - at : 150;
            const size_t piece = arbitrary(4) == 0 ? arbitrary((uint32_t)most + 1) : most < 20 ? most : arbitrary(20);
#ifdef HASHES
            result |= CALL(_update)(&pieces, in + at, piece);
#else
            if (message % 2 == 0 || IN_PLACE == 0) {
                result |= CALL(_update)(&pieces, in + at, piece, got + n_got, sizeof got - n_got, &made);
            } else {
                /* With the room that is always enough, and no more. */
                memcpy(there, in + at, piece);
                result |= CALL(_update)(&pieces, there, piece, there, piece + at - n_got, &made);
                memcpy(got + n_got, there, made);
            }
            n_got += made;
#endif
            at += piece;
        }
        result |= CALL(_final)(&pieces, got + n_got, sizeof got - n_got, &made);
        n_got += made;
        if (result != 0 || n_got != n_out || memcmp(out, got, n_out) != 0) {
            printf("message %d of %zu bytes: result %u, %zu bytes for %zu\n", message, n, (unsigned)result, n_got, n_out);
            return 1;
        }
#ifndef HASHES
        if (IN_PLACE == 0) {
            continue;
        }
        memcpy(got, in, n);
        result = CALL(_message)(&whole, in, IV_BYTES, got, n, got, sizeof got, &made);
        if (result != 0 || made != n_out || memcmp(out, got, n_out) != 0) {
            printf("message %d of %zu bytes in place: result %u, %zu bytes\n", message, n, (unsigned)result, made);
            return 1;
        }
#endif
    }
    puts("the same in any pieces");
    return 0;
}
