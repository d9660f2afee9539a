/* Runs one message of as many bytes as the argument says through a contender of the referee, and shows a digest of what comes
 * out. The strings beside it stand in strings.h. */
#include "peer.h"
#include "strings.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST = 1 << 16 };

static _Alignas(64) uint8_t in[MOST];
static _Alignas(64) uint8_t out[2 * MOST + 64];

int main(int argc, char **argv)
{
    const struct peer_strings strings = {key, KEY_BYTES, iv, IV_BYTES};
    const size_t n_bytes = argc == 2 ? (size_t)atoi(argv[1]) : 0;
    uint32_t state = 1;
    uint64_t digest = UINT64_C(0xcbf29ce484222325);
    void *context = peer_open(OPERATION, &strings);
    size_t n;
    if (context == NULL || n_bytes > MOST)
        return 2;
    for (size_t i = 0; i < MOST; i++) {
        state = state * 1664525u + 1013904223u;
        in[i] = (uint8_t)(state >> 24);
    }
    n = peer_run(context, in, out, n_bytes);
    if (n == PEER_FAILED)
        return 1;
    /* Of all the room, so that its instructions do not depend on the length. */
    for (size_t i = 0; i < sizeof out; i++)
        digest = (digest ^ out[i]) * UINT64_C(0x100000001b3);
    printf("%016llx %08lx\n", (unsigned long long)digest, (unsigned long)n);
    peer_close(context);
    return 0;
}
