/* Ciphers that authenticate: what the files of their functions share. */
#ifndef HEADRACE_AEAD_H
#define HEADRACE_AEAD_H

#include "provider.h"

#define AEAD_KEY_MOST 64
#define AEAD_IV_MOST 128
#define AEAD_TAG_MOST 16
/* Associated data that waits for more of it, so that what is short is one chunk. */
#define AEAD_AD_MOST 256
/* A text of at most so many bytes is taken for the whole one: see `take_ahead` in aead.c. */
#define AEAD_AHEAD_MOST 2048
/* What stands for the head of a record of TLS: number, type, version, length. */
#define AEAD_RECORD_AD 13

/* How programs talk to a cipher differs by its mode. */
enum protocol {
    PROTOCOL_USUAL,
    PROTOCOL_GCM, /* makes nonces; the length of a tag is no part of the message */
    PROTOCOL_CCM, /* wants the length of the text first, and the text at once */
    PROTOCOL_OCB  /* the length of the tag comes first */
};

enum stage {
    NOT_BEGUN, /* what comes before the text may still be set */
    IN_AD,     /* key and nonce are settled */
    IN_TEXT,
    AHEAD, /* the same, but the network has ended the message as if there came no more text */
    OVER,  /* the tag was made or verified; the nonce is used up */
    FAILED /* nothing more comes of this message */
};

/* What operation it is that has these lengths. */
struct aead_known {
    const struct headrace_operation *operation;
    size_t tag_bytes, iv_bytes;
};

struct aead {
    struct headrace_running running;
    struct aead_known known[2]; /* for encryption and decryption */
    const struct headrace_operation *operation; /* of the message that is under way */
    enum protocol protocol;
    enum stage stage;
    bool chosen;
    bool decrypts;
    bool is_keyed;
    bool has_iv;        /* there is a nonce for the message */
    bool had_iv;        /* there was one before */
    bool has_tag;       /* one to be verified was given */
    bool is_tag_made;
    bool knows_length;  /* that of the text */
    bool has_ad;
    bool is_sent; /* nonce and all before it are in the network */
    bool ends_later; /* all of it was verified at once, and its end is still to be called */
    bool releases_unverified;
    bool has_pieces; /* the text of the message before this one came in several */
    bool makes_iv;  /* its end counts; see aead_records.c */
    bool is_record; /* `record_ad` was given for the record that comes */
    size_t key_bytes;
    size_t iv_bytes;
    size_t tag_bytes;
    size_t text_bytes; /* of the whole text, where it is known */
    size_t n_ad;
    size_t n_pieces; /* of text, of the message that is under way */
    size_t record_pad;
    uint8_t key[AEAD_KEY_MOST];
    uint8_t iv[AEAD_IV_MOST];    /* as programs see it */
    uint8_t nonce[AEAD_IV_MOST]; /* of the message */
    uint8_t tag[AEAD_TAG_MOST];
    uint8_t ad[AEAD_AD_MOST];
    uint8_t record_ad[AEAD_RECORD_AD];
    uint8_t *aside; /* the text of a message that is ahead, or one whose place is written to; null: there was none yet */
    size_t n_aside;
};

/* Whether a message is under way. */
static inline bool headrace_aead_has_begun(const struct aead *c) {
    return c->stage == IN_AD || c->stage == IN_TEXT || c->stage == AHEAD;
}

static inline const struct headrace_operation *headrace_aead_any(const struct aead *c) {
    const struct headrace_row *const row = c->running.algorithm->rows;
    return row->forward != NULL ? row->forward : row->backward;
}

static inline enum headrace_role headrace_aead_iv_role(const struct aead *c) {
    return headrace_has(headrace_aead_any(c), HEADRACE_NONCE) ? HEADRACE_NONCE : HEADRACE_IV;
}

static inline int headrace_aead_raise(struct aead *c, enum headrace_reason reason, const char *file, int line, const char *function) {
    return headrace_raise_at(c->running.provider, reason, file, line, function);
}
#define raise_here(c, reason) headrace_aead_raise(c, reason, __FILE__, __LINE__, __func__)

/* That of the direction and of the length of tags; null where there is none. */
const struct headrace_operation *headrace_aead_operation(struct aead *c);
/* A nonce for a message that has not begun; what was under way is forgotten. */
void headrace_aead_renew(struct aead *c, const uint8_t *nonce);
/* A whole message with the nonce of the context: the tag goes to `tag`, or is taken from there. */
int headrace_aead_whole(struct aead *c, const uint8_t *ad, size_t ad_bytes, uint8_t *out, const uint8_t *in, size_t bytes, uint8_t *tag,
                        size_t tag_bytes);

/* A nonce that nobody has given, before it is told or used; fails where there must be one. */
int headrace_aead_need_iv(struct aead *c);
/* What libssl sets for records, and asks. */
int headrace_aead_set_record_ad(struct aead *c, const uint8_t *ad, size_t bytes);
int headrace_aead_set_fixed(struct aead *c, const uint8_t *fixed, size_t bytes);
int headrace_aead_set_rest(struct aead *c, const uint8_t *rest, size_t bytes);
int headrace_aead_next_iv(struct aead *c, uint8_t *rest, size_t bytes);
int headrace_aead_record(struct aead *c, uint8_t *out, size_t *out_bytes, size_t room, const uint8_t *in, size_t bytes);

#endif
