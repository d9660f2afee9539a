/* Calls on ciphers; see model.h. */
#ifndef HEADRACE_MODEL_CIPHERS_H
#define HEADRACE_MODEL_CIPHERS_H

#include "model.h"

#define KEY_MOST 64
#define IV_MOST 128
#define EXPLICIT 8

enum side { OURS, THEIRS };

static inline bool is_mode(const EVP_CIPHER *cipher, int mode) {
    return EVP_CIPHER_get_mode(cipher) == mode;
}

static inline bool does_seal(const EVP_CIPHER *cipher) {
    return (EVP_CIPHER_get_flags(cipher) & EVP_CIPH_FLAG_AEAD_CIPHER) != 0;
}

/* `a`, `b`, `c` of each stand behind it; what is not named is not looked at. */
enum cipher_call {
    INIT,    /* bits: with the cipher, key, nonce; 1: to encrypt, 2: to decrypt, 0: as before; which key, which nonce */
    UPDATE,  /* bytes; bits: arbitrary ones, in place */
    AD,      /* bytes; arbitrary ones */
    LENGTH,  /* of the text, as CCM wants it; 0: of the one that is prepared */
    FINAL,
    PADDING, /* on or off */
    KEYLEN,
    IVLEN,
    SET_TAG, /* bytes; 0: the right one, 1: only how long it is, 2: another one */
    GET_TAG, /* bytes */
    GET,     /* which parameter */
    COPY,    /* to the other context */
    SWAP,    /* goes on with the other context */
    FIXED,   /* bytes of a nonce that are fixed; 0: restores all of it */
    IV_GEN,  /* bytes */
    IV_INV,  /* bytes */
    TLS_AD,  /* bytes of the record's text; which number it has */
    RECORD,  /* bytes of the text; whether a record is an arbitrary one */
    NUM,
    FORM,    /* of ciphertext stealing */
    TLS_SET, /* version of TLS; bytes of the code behind the text */
    TLS_MAC, /* that code */
    DIRECT,  /* as `UPDATE`, by EVP_Cipher */
    LISTS,   /* of parameters */
    RESET
};

/* A message that is right: what a decryption is given, if not something arbitrary. */
struct prepared {
    uint8_t key[KEY_MOST], iv[IV_MOST];
    uint8_t text[TEXT_MOST], sealed[ROOM], tag[16], ad[64];
    size_t n_sealed;
    uint8_t record[ROOM]; /* of TLS */
    size_t n_record;
};

extern struct prepared prepared;

void prepare(const struct sequence *sequence, const EVP_CIPHER *cipher);
void model_key(unsigned number, uint8_t *key);
void model_iv(unsigned number, uint8_t *iv);
/* The head of a record of TLS; bytes before its text and behind it. */
void record_ad(uint8_t *ad, unsigned number, size_t bytes);
size_t record_front(const EVP_CIPHER *cipher);
size_t record_tag(const EVP_CIPHER *cipher);
void set_records(EVP_CIPHER_CTX *context, unsigned version, size_t mac, bool *good);

void run_cipher(const struct sequence *sequence, EVP_CIPHER *mine, EVP_CIPHER *other, struct difference *difference);

/* What is known of a context: the same on both sides, as long as they do the same. */
struct seen {
    bool has_cipher, encrypts, is_keyed, has_iv;
    bool is_lost;        /* a message that had begun got another key or direction, and no nonce */
    bool is_continued;   /* the message got another beginning with nothing in it */
    bool has_head;       /* a record of TLS is announced */
    bool is_head_spoilt; /* and a tag was set since */
    bool was_tag_lost;   /* the tag that was made was fetched, or is of another message */
    bool has_begun;      /* text or associated data since the last nonce */
    bool has_text;
    bool is_over;        /* the message has ended well */
    bool is_forged;      /* it has not */
    bool has_turned;     /* the direction is not that of the last key */
    bool is_num_set;
    bool is_tag_made, is_tag_set;
    bool has_records;    /* something of TLS was set */
    size_t text_at, ad_at;
    size_t n_since;      /* bytes of text since the last nonce or key */
    unsigned tag_bytes, form, iv_bytes;
};

static inline bool takes_text(unsigned kind) {
    return kind == UPDATE || kind == DIRECT || kind == RECORD;
}

/* Both have done the same. */
void learn_cipher(struct seen *seen, const struct call *call, const EVP_CIPHER *cipher, bool good, size_t given_bytes);

/* The name of a difference that is known, or null. */
const char *known_cipher(const struct sequence *sequence, const EVP_CIPHER *cipher, const struct call *call, const struct seen *before,
                         const struct outcome *mine, const struct outcome *other);

#endif
