/* What the machine can do at most: the instructions that a mode of AES needs for each block and nothing else, with loads and
 * stores where the mode has them. What comes out is not AES. Empty where the machine lacks the instructions. */
#include "peer.h"

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>

struct context {
    int n_rounds;
    int is_serial;
};

const char *peer_version(void)
{
    return "1";
}

void *peer_open(const char *operation, const struct peer_strings *strings)
{
    static const char *const serial[] = {"cbc-encrypt", "cfb-encrypt", "ofb"};
    static const char *const parallel[] = {"ecb-encrypt", "ecb-decrypt", "ctr", "cbc-decrypt", "cfb-decrypt"};
    int kind = -1;
    const char *mode = strchr(operation, ' ');
    if (!mode || strncmp(operation, "aes", 3) != 0 || !__builtin_cpu_supports("vaes")
        || !__builtin_cpu_supports("avx512f"))
        return NULL;
    for (size_t i = 0; i < sizeof serial / sizeof *serial; i++)
        if (strcmp(mode + 1, serial[i]) == 0)
            kind = 1;
    for (size_t i = 0; i < sizeof parallel / sizeof *parallel; i++)
        if (strcmp(mode + 1, parallel[i]) == 0)
            kind = 0;
    struct context *context = kind < 0 ? NULL : malloc(sizeof *context);
    if (!context)
        return NULL;
    context->n_rounds = (int)strings->key_bytes / 4 + 6;
    context->is_serial = kind;
    return context;
}

void peer_close(void *context)
{
    free(context);
}

/* Rounds of one block, each of which waits for the one before. */
__attribute__((target("aes"))) static void in_turn(const uint8_t *in, uint8_t *out, size_t n_bytes, int n_rounds)
{
    __m128i state = _mm_loadu_si128((const __m128i *)in), key = _mm_set1_epi8(1);
    for (size_t at = 0; at < n_bytes; at += 16) {
        for (int i = 0; i < n_rounds; i++)
            state = _mm_aesenc_si128(state, key);
        _mm_storeu_si128((__m128i *)(out + at), state);
    }
}

/* Rounds of 32 blocks at a time: as many as keep the unit busy. */
__attribute__((target("vaes,avx512f"))) static void at_once(const uint8_t *in, uint8_t *out, size_t n_bytes,
                                                            int n_rounds)
{
    enum { WIDTH = 8 };
    __m512i key = _mm512_set1_epi8(1), state[WIDTH];
    for (size_t at = 0; at < n_bytes; at += sizeof state) {
        size_t left = (n_bytes - at) / 64;
        size_t n = left < WIDTH ? left : WIDTH;
        if (n == WIDTH) {
            for (int i = 0; i < WIDTH; i++)
                state[i] = _mm512_loadu_si512(in + at + 64 * i);
            for (int round = 0; round < n_rounds; round++)
                for (int i = 0; i < WIDTH; i++)
                    state[i] = _mm512_aesenc_epi128(state[i], key);
            for (int i = 0; i < WIDTH; i++)
                _mm512_storeu_si512(out + at + 64 * i, state[i]);
            continue;
        }
        for (size_t i = 0; i < n; i++) {
            __m512i one = _mm512_loadu_si512(in + at + 64 * i);
            for (int round = 0; round < n_rounds; round++)
                one = _mm512_aesenc_epi128(one, key);
            _mm512_storeu_si512(out + at + 64 * i, one);
        }
    }
}

size_t peer_run(void *given, const uint8_t *in, uint8_t *out, size_t n_bytes)
{
    const struct context *context = given;
    (context->is_serial ? in_turn : at_once)(in, out, n_bytes, context->n_rounds);
    return n_bytes;
}

#else

const char *peer_version(void)
{
    return "1";
}

void *peer_open(const char *operation, const struct peer_strings *strings)
{
    (void)operation;
    (void)strings;
    return NULL;
}

size_t peer_run(void *context, const uint8_t *in, uint8_t *out, size_t n_bytes)
{
    (void)context;
    (void)in;
    (void)out;
    (void)n_bytes;
    return PEER_FAILED;
}

void peer_close(void *context)
{
    (void)context;
}

#endif
