/* Ciphers that do not authenticate: what the files of their functions share. */
#ifndef HEADRACE_CIPHER_H
#define HEADRACE_CIPHER_H

#include "provider.h"

#define KEY_MOST 256
#define BLOCK_MOST 32

/* What is fed back, and what an initial block becomes while a message goes on. */
enum feedback {
    FEEDBACK_NONE,    /* ECB */
    FEEDBACK_CBC,
    FEEDBACK_CFB,
    FEEDBACK_CFB8,
    FEEDBACK_OFB,
    FEEDBACK_COUNTER, /* CTR */
    FEEDBACK_OWN      /* a stream cipher's own affair */
};

struct cipher {
    struct headrace_running running;
    const struct headrace_row *row;
    enum feedback feedback;
    bool chosen;   /* the direction is */
    bool decrypts;
    bool is_padded; /* what has whole blocks */
    bool is_keyed;
    bool has_iv;
    bool is_used; /* a message was begun with what there is of key and initial block */
    bool is_open; /* a message is under way in the network */
    bool is_over; /* a message in one piece was given */
    size_t key_bytes;
    size_t iv_bytes;
    size_t n_held;
    size_t number; /* `num` of OpenSSL: bytes of the current block that are used up */
    unsigned tls_version; /* 0: no records of TLS */
    size_t tls_mac_bytes;
    bool has_tls_mac; /* `tls_held` has the code of the last record */
    uint8_t key[KEY_MOST];
    uint8_t iv[BLOCK_MOST];  /* as it was given */
    uint8_t now[BLOCK_MOST]; /* with which a message would go on; see feedback.c */
    uint8_t held[BLOCK_MOST]; /* input that does not make a block yet, or the last one that padding may be in */
    uint8_t tls_held[64];
};

static inline const struct headrace_operation *headrace_any(const struct headrace_row *row) {
    return row->forward != NULL ? row->forward : row->backward;
}

static inline enum headrace_role headrace_iv_role(const struct headrace_operation *operation) {
    return headrace_has(operation, HEADRACE_NONCE) ? HEADRACE_NONCE : HEADRACE_IV;
}

/* Lengths of keys and initial blocks where a program has not said another. */
size_t headrace_usual_key(const struct headrace_row *row);
size_t headrace_usual_iv(const struct headrace_algorithm *algorithm);

/* What of the input must be remembered before it is overwritten in its own place, and what follows from it: `before` is
   called with input that is about to go in, `after` with the output. */
struct headrace_fed {
    uint8_t tail[BLOCK_MOST];
};
void headrace_feedback_before(const struct cipher *c, const uint8_t *in, size_t bytes, struct headrace_fed *fed);
void headrace_feedback_after(struct cipher *c, const uint8_t *out, size_t bytes, const struct headrace_fed *fed);
/* The initial block with which the message would go on, as OpenSSL tells it: in the middle of a block with what is left of
   the key stream. Takes memory; returns 0 where there is none. */
int headrace_feedback_now(const struct cipher *c, uint8_t now[BLOCK_MOST]);
/* Of text that was stolen from: its last whole block of ciphertext. */
void headrace_feedback_stolen(const struct cipher *c, const uint8_t *ciphertext, size_t bytes, uint8_t now[BLOCK_MOST]);

/* Ends a message, so that the key is good for the next one. */
void headrace_cipher_close(struct cipher *c);
/* What gives as much as it takes. */
int headrace_cipher_feed(struct cipher *c, const uint8_t *in, size_t in_bytes, uint8_t *out);
/* A record of TLS, in its own place; `room` has what padding adds. */
int headrace_cipher_record(struct cipher *c, uint8_t *record, size_t *out_bytes, size_t room, size_t bytes);
/* Takes the code from behind the text of a decrypted record of a stream cipher. */
int headrace_cipher_split(struct cipher *c, const uint8_t *record, size_t *bytes);

#endif
