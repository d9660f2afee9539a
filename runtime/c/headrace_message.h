/*
 * Messages through generated networks: what stands between the functions that a project in C offers for an operation and
 * the ports of its network.
 *
 * An operation is described by a table (`struct headrace_operation`): which string stands on which port, what lengths it
 * may have. The functions here are the same for all of them. Tokens go in as there is room for them and out as there is
 * room in the caller's buffer, so no memory is needed beyond the network's own.
 */
#ifndef HEADRACE_MESSAGE_H
#define HEADRACE_MESSAGE_H

#include "headrace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* For tests under valgrind that count secrets as undefined values, so that it reports every branch and address that depends
   on them: from here on a value may be known. The walk over machine code knows the two functions by name; they stand
   nowhere. */
#ifdef HEADRACE_CONSTANT_TIME
#include <valgrind/memcheck.h>
#define HEADRACE_PUBLIC(bytes, n_bytes) VALGRIND_MAKE_MEM_DEFINED(bytes, n_bytes)
#define HEADRACE_SECRET(bytes, n_bytes) VALGRIND_MAKE_MEM_UNDEFINED(bytes, n_bytes)
#elif defined HEADRACE_TAINT_WALK
void headrace_walk_public(const void *bytes, size_t n_bytes);
void headrace_walk_secret(const void *bytes, size_t n_bytes);
#define HEADRACE_PUBLIC(bytes, n_bytes) headrace_walk_public(bytes, n_bytes)
#define HEADRACE_SECRET(bytes, n_bytes) headrace_walk_secret(bytes, n_bytes)
#else
#define HEADRACE_PUBLIC(bytes, n_bytes) ((void)0)
#define HEADRACE_SECRET(bytes, n_bytes) ((void)0)
#endif

/* What the functions of an operation return, and what is then. Unless more is said, nothing happened: the context is as it
   was, key and message go on, and the call may be made again. Strings of no bytes may be NULL; what counts output may not.
   A context is any memory: its first call makes it ready; `_copy` makes it one like another, from where both go on; `_clear`
   wipes it, and what calls left on the stack below that of `_clear`. */
enum headrace_result {
    HEADRACE_OK = 0,
    HEADRACE_KEY_LENGTH = 1,    /* the key has a length that is not allowed */
    HEADRACE_STRING_LENGTH = 2, /* the initial block, nonce, associated data, seed or tag has */
    HEADRACE_INPUT_LENGTH = 3,  /* the input has; of `final`: has so far, a message goes on; or more words are asked for than a
                                   request may */
    HEADRACE_ROOM = 4,          /* a buffer for output is too small. `message`: the key is kept, there is no output, and where its
                                   length depends on the message, it says how much room is needed. `update` and `final`: what is
                                   counted came out; the same call, with the same input and more room, gives what follows */
    HEADRACE_ORDER = 5,         /* no key or seed yet, a message under a key that was not ended before the next, `update` or
                                   `final` without `init`, or anything but the same call after HEADRACE_ROOM */
    HEADRACE_STUCK = 6,         /* the network stopped: a mistake of the network; the message and its key are lost */
    HEADRACE_REFUSED = 7        /* the message is not authentic or not well-formed, or the generator must be seeded anew: there
                                   is no output, the message is over, its key is kept */
};

/* What a result means, in English. */
const char *headrace_result_text(uint32_t result);

/* Bytes of the stack that `_clear` overwrites, where there is an operating system: below it lies what was computed. */
#ifndef HEADRACE_STACK_BYTES
#if defined __unix__ || defined __APPLE__ || defined _WIN32
#define HEADRACE_STACK_BYTES 32768
#else
#define HEADRACE_STACK_BYTES 0
#endif
#endif

/* The strings of a message. The order is the one in which they are given. */
enum headrace_role {
    HEADRACE_KEY,
    HEADRACE_NONCE,
    HEADRACE_IV,
    HEADRACE_SECRET_NONCE,
    HEADRACE_AD,
    HEADRACE_SEED,
    HEADRACE_ENTROPY,
    HEADRACE_INPUT,
    HEADRACE_TAG_IN,
    HEADRACE_SECRET_NONCE_OUT,
    HEADRACE_OUTPUT,
    HEADRACE_TAG,
    HEADRACE_ROLES
};

/* Stands for a port that a network does not have. */
#define HEADRACE_NO_PORT UINT32_MAX

/* One legal range of lengths in bytes: from `min` to `max` in multiples of `multiple`. */
struct headrace_lengths {
    uint64_t min;
    uint64_t max;
    uint64_t multiple;
};

/* A string at the edge of a network. */
struct headrace_string {
    uint32_t port;
    uint32_t size_port; /* where its chunk sizes go, when its length can vary */
    uint32_t n_lengths;
    const struct headrace_lengths *lengths; /* a length must be in one of these */
};

struct headrace_bytes;
struct headrace_message;
struct headrace_room;
/* Takes a whole message, all of it up to the first piece of its input, or its end by one call where that is all there is to it; false:
   nothing was done. */
typedef bool headrace_one_call(struct headrace_message *message, void *network, const struct headrace_bytes *strings,
                               const struct headrace_room *rooms, uint32_t *result);

/* An operation: its network and what the ports are for. */
struct headrace_operation {
    const struct headrace_network *network;
    struct headrace_string strings[HEADRACE_ROLES];
    uint32_t roles; /* whose strings there are, as bits */
    uint32_t rekey;
    uint32_t decrypt;
    uint32_t reseed;
    uint32_t blocks;
    uint32_t verified;
    uint32_t most_words;  /* that a generator makes at once */
    uint32_t block_bytes; /* of a core */
    bool decrypts;        /* what `decrypt` is told */
    bool single_chunk;    /* the input must be one chunk */
    bool withholds;       /* output is only for messages that are verified */
    uint32_t key_at;      /* where a context holds its key, behind the start of its `struct headrace_message` */
    uint32_t key_room;    /* how many bytes it can have there; 0: it is not kept */
    headrace_one_call *whole; /* for those who have operations as tables; null: there is none */
    headrace_one_call *first; /* the same of a first piece */
    headrace_one_call *end;   /* and of an end without text */
};

/* What a context holds beside its network. */
struct headrace_message {
    uint64_t input_bytes;
    uint32_t state;
    /* Of a piece for which there was no room: how much of its chunk is left, whether there is a byte that came out already, that
       byte, the length of the piece, how much of it went in. */
    uint32_t chunk;
    bool holds;
    uint8_t held;
    uint8_t key_is_there; /* whether the context holds its key, of which it has `key_bytes` */
    uint8_t key_bytes;
    uint64_t asked;
    uint64_t taken;
};

/* A string that is given. A generator that goes on takes neither seed nor entropy where `bytes` is null. */
struct headrace_bytes {
    const uint8_t *bytes;
    size_t n_bytes;
};

/* Room for a string that comes out; `*n_bytes` is set to its length. */
struct headrace_room {
    uint8_t *bytes;
    size_t room;
    size_t *n_bytes;
};

/* Contexts that lie one beside the other: each begins with that of the network. */
struct headrace_contexts {
    void *first;
    size_t count;
    size_t size;    /* of one */
    size_t message; /* where its `struct headrace_message` is */
};

/* A string of each of many messages, and room for one. */
struct headrace_bytes_of_many {
    const uint8_t *const *bytes;
    const size_t *n_bytes;
};

struct headrace_room_of_many {
    uint8_t *const *bytes;
    const size_t *room;
    size_t *n_bytes;
};

/* `network` is the context of the operation's network; `strings` and `rooms` are indexed by role. */
uint32_t headrace_message_key(const struct headrace_operation *operation, struct headrace_message *message, void *network,
                              const uint8_t *key, size_t key_bytes);
/* The same again, with the key that the context holds: of a network that has left its control automaton, which so comes back to
   it. Others are as they were. */
uint32_t headrace_message_renew(const struct headrace_operation *operation, struct headrace_message *message, void *network);
uint32_t headrace_message_init(const struct headrace_operation *operation, struct headrace_message *message, void *network,
                               const struct headrace_bytes *strings);
uint32_t headrace_message_update(const struct headrace_operation *operation, struct headrace_message *message,
                                 void *network, const uint8_t *in, size_t in_bytes, struct headrace_room out);
uint32_t headrace_message_final(const struct headrace_operation *operation, struct headrace_message *message,
                                void *network, const struct headrace_bytes *strings, const struct headrace_room *rooms);
uint32_t headrace_message_whole(const struct headrace_operation *operation, struct headrace_message *message,
                                void *network, const struct headrace_bytes *strings, const struct headrace_room *rooms);
/* The same, in which helpers do a part of the work; null: none. */
uint32_t headrace_message_helped(const struct headrace_operation *operation, struct headrace_message *message,
                                 void *network, const struct headrace_helpers *helpers,
                                 const struct headrace_bytes *strings, const struct headrace_room *rooms);
uint32_t headrace_message_blocks(const struct headrace_operation *operation, struct headrace_message *message,
                                 void *network, const uint8_t *in, uint8_t *out, uint32_t n_blocks);
uint32_t headrace_message_words(const struct headrace_operation *operation, struct headrace_message *message,
                                void *network, const struct headrace_bytes *strings, uint32_t n_words,
                                struct headrace_room out);
void headrace_message_clear(const struct headrace_operation *operation, struct headrace_message *message, void *network);
/* Makes a context one like another, and `network` like `from`. */
void headrace_message_copy(const struct headrace_operation *operation, struct headrace_message *message, void *network,
                           const struct headrace_message *other, const void *from);

#ifdef __cplusplus
}
#endif

#endif
