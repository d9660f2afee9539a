/*
 * Model-based test of a provider for OpenSSL: random sequences of calls on the provider and on OpenSSL's own. After each call
 * both must have returned and made the same, or differ as the table of known differences says. A sequence that shows
 * anything else is made as short as it can be, and printed.
 *
 * What is tried follows from what the provider offers; no algorithm is known here by name but where OpenSSL itself treats one
 * in a way of its own.
 */
#ifndef HEADRACE_MODEL_H
#define HEADRACE_MODEL_H

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/provider.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLS_MOST 28
#define TEXT_MOST 1200
#define ROOM (TEXT_MOST + 128)
#define N_SLOTS 2

/* A call with up to three arguments, which each call takes as it needs them. */
struct call {
    unsigned kind;
    unsigned a, b, c;
};

struct sequence {
    size_t algorithm;
    unsigned lengths[4]; /* of tag, nonce, text and associated data of the message that is prepared */
    bool verifies_first; /* ours does, as it does where programs do not want anything else */
    size_t n;
    struct call calls[CALLS_MOST];
};

/* What came of a call on one side. */
struct outcome {
    bool good;
    bool has_reason; /* the queue of errors has one, with a sentence */
    size_t n;
    uint8_t bytes[ROOM];
};

/* The first difference of a sequence. */
struct difference {
    bool is_there;
    size_t at;
    const char *known; /* its name in the table; null: none is */
    struct outcome mine, other;
};

/* A family of algorithms. */
struct family {
    const char *name;
    size_t (*collect)(void); /* returns how many algorithms there are */
    const char *(*algorithm)(size_t number);
    void (*make)(struct sequence *sequence);
    void (*run)(const struct sequence *sequence, struct difference *difference);
    const char *const *calls; /* their names */
};

extern const struct family ciphers, digests, macs;
extern OSSL_LIB_CTX *ours, *theirs;

/* Arbitrary numbers below a bound that is not 0. */
unsigned below(unsigned bound);
unsigned some_length(void);
/* Bytes that a number stands for. */
void bytes_of(unsigned number, uint8_t *bytes, size_t n_bytes);
void add_call(struct sequence *sequence, unsigned kind, unsigned a, unsigned b, unsigned c);
void begin_outcome(struct outcome *outcome);
void end_outcome(struct outcome *outcome, bool good);
void put_number(struct outcome *outcome, uint64_t number);
/* For each parameter of the list that is wanted whether the other one has it, and its type there, if types count. */
void put_list(struct outcome *outcome, const OSSL_PARAM *own, const OSSL_PARAM *wanted, bool has_types);
/* The outcome of a call that no program may make, and with which OpenSSL's own crashes: it is refused. */
void refuse(struct outcome *outcome);
/* Notes whether both did the same in the call of that number. */
void compare(struct difference *difference, size_t at);
/* Bytes of text that a call gives. */
static inline size_t n_of(const struct call *call) {
    return call->a < TEXT_MOST ? call->a : TEXT_MOST;
}

#endif
