/*
 * What the algorithms of a provider work with: the functions of the core that loaded it, errors, counters, and the state of a
 * network under a message.
 */
#ifndef HEADRACE_PROVIDER_H
#define HEADRACE_PROVIDER_H

#include "served.h"

#include <stdatomic.h>

/* So many messages and bytes of a context may be missing in them as long as it lives. */
#define HEADRACE_UNCOUNTED_MESSAGES 1024
#define HEADRACE_UNCOUNTED_BYTES (1u << 20)

struct headrace_count {
    _Atomic uint64_t messages; /* that were begun */
    _Atomic uint64_t bytes;    /* that went in */
};

struct headrace_elsewhere;

struct headrace_provider {
    const OSSL_CORE_HANDLE *core;
    OSSL_FUNC_core_new_error_fn *new_error;
    OSSL_FUNC_core_set_error_debug_fn *set_error_debug;
    OSSL_FUNC_core_vset_error_fn *vset_error;
    OSSL_FUNC_CRYPTO_zalloc_fn *zalloc;
    OSSL_FUNC_CRYPTO_clear_free_fn *clear_free;
    OSSL_FUNC_OPENSSL_cleanse_fn *cleanse;
    const OSSL_DISPATCH *offered; /* what the core can do for a provider */
    _Atomic(struct headrace_elsewhere *) elsewhere; /* see elsewhere.h; null: nothing was looked for there */
    bool releases_unverified;
    OSSL_ALGORITHM *ciphers, *digests, *macs;
    struct headrace_count *counts; /* one for each algorithm */
    char information[32];
};

/* What went wrong. `provider.c` has the sentences. */
enum headrace_reason {
    HEADRACE_REASON_KEY = 1,
    HEADRACE_REASON_KEY_BYTES,
    HEADRACE_REASON_IV,
    HEADRACE_REASON_IV_BYTES,
    HEADRACE_REASON_DIRECTION,
    HEADRACE_REASON_CHOICE,
    HEADRACE_REASON_PARAMETER,
    HEADRACE_REASON_ROOM,
    HEADRACE_REASON_ORDER,
    HEADRACE_REASON_BLOCKS,
    HEADRACE_REASON_PADDING,
    HEADRACE_REASON_ONE_PIECE,
    HEADRACE_REASON_LENGTH,
    HEADRACE_REASON_TAG,
    HEADRACE_REASON_TAG_BYTES,
    HEADRACE_REASON_NO_TAG,
    HEADRACE_REASON_FORGED,
    HEADRACE_REASON_TLS,
    HEADRACE_REASON_MEMORY,
    HEADRACE_REASON_ENTROPY,
    HEADRACE_REASON_NETWORK
};

/* Puts an error on OpenSSL's queue. Returns 0, which is what functions that fail return. */
int headrace_raise_at(struct headrace_provider *provider, enum headrace_reason reason, const char *file, int line,
                      const char *function);
#define headrace_raise(provider, reason) headrace_raise_at(provider, reason, __FILE__, __LINE__, __func__)

/* Bytes that nobody can foresee, at most 256 of them. */
int headrace_arbitrary(struct headrace_provider *provider, uint8_t *bytes, size_t n_bytes);

#define headrace_allocate(provider, bytes) (provider)->zalloc(bytes, __FILE__, __LINE__)
#define headrace_release(provider, memory, bytes) (provider)->clear_free(memory, bytes, __FILE__, __LINE__)

/* A network under the messages of one context. The memory is enough for every operation of the algorithm. */
struct headrace_running {
    struct headrace_provider *provider;
    const struct headrace_algorithm *algorithm;
    const struct headrace_operation *operation; /* whose state it is; null: none yet */
    struct headrace_message message;
    void *memory;
    size_t memory_bytes;
    void *network; /* in that memory, aligned */
    uint64_t messages, bytes; /* that the provider has not counted yet */
};

/* Ciphers, hashes and codes begin their contexts with it. */
int headrace_running_make(struct headrace_running *running, struct headrace_provider *provider,
                          const struct headrace_algorithm *algorithm);
/* Of a context that was copied byte by byte: memory of its own with the same state. */
int headrace_running_copy(struct headrace_running *running, const struct headrace_running *from);
void headrace_running_clear(struct headrace_running *running);
/* Goes over to an operation; a message of another one is forgotten. */
void headrace_running_turn(struct headrace_running *running, const struct headrace_operation *operation);
/* Whether a message may begin under the key that the network has. What has left its control automaton comes back to it with the
   key given again. */
bool headrace_running_has_key(const struct headrace_running *running);
/* Forgets a message that is under way. */
void headrace_running_stop(struct headrace_running *running);
/* Tells the provider of messages and bytes. */
void headrace_running_count(struct headrace_running *running);
/* Puts the error of what an operation returned, and returns 0. */
int headrace_running_failed(struct headrace_running *running, uint32_t result);
/* Input that goes on in the same chunk, or in a chunk of its own. What overlaps goes through a buffer. */
uint32_t headrace_running_pump(struct headrace_running *running, const uint8_t *in, size_t in_bytes, struct headrace_room out);
uint32_t headrace_running_update(struct headrace_running *running, const uint8_t *in, size_t in_bytes, struct headrace_room out);

/* A message has begun. What threads share is counted in rarely: a locked addition takes as long as many bytes. */
static inline void headrace_running_began(struct headrace_running *running) {
    if (++running->messages == HEADRACE_UNCOUNTED_MESSAGES) {
        headrace_running_count(running);
    }
}

static inline void headrace_running_took(struct headrace_running *running, size_t bytes) {
    running->bytes += bytes;
    if (running->bytes >= HEADRACE_UNCOUNTED_BYTES) {
        headrace_running_count(running);
    }
}

/* Whether a string of an operation may have so many bytes; those that it does not have have none. */
bool headrace_allows(const struct headrace_operation *operation, enum headrace_role role, size_t bytes);
/* The least and the greatest length of a string, at most `bound`. */
void headrace_bounds(const struct headrace_operation *operation, enum headrace_role role, size_t bound, size_t *least, size_t *most);
bool headrace_has(const struct headrace_operation *operation, enum headrace_role role);
/* Whether a name is among names with colons between them, without regard to case. */
bool headrace_is_among(const char *names, const char *name, size_t name_bytes);
/* Whether the first of the names of an algorithm has this part between its hyphens. */
bool headrace_has_part(const struct headrace_algorithm *algorithm, const char *part);

#endif
