/* Ciphers that authenticate. Of a message to be verified nothing comes out before it was, unless the program wants pieces. */
#include "parameters.h"
#include "provider.h"

#include "headrace_whole.h"

#include <openssl/core_names.h>

#define KEY_MOST 64
#define IV_MOST 128
#define TAG_MOST 16
/* Associated data that waits for more of it, so that what is short is one chunk. */
#define AD_MOST 256

enum stage {
    NOT_BEGUN, /* what comes before the text may still be set */
    IN_AD,     /* the network has taken key and nonce */
    IN_TEXT,
    OVER,  /* the tag was made or verified */
    FAILED /* nothing more comes of this message */
};

struct aead {
    struct headrace_running running;
    const struct headrace_operation *operation; /* of the message that is under way */
    enum stage stage;
    bool chosen;
    bool decrypts;
    bool is_keyed;
    bool has_iv;
    bool has_tag;       /* a tag to be verified was given, or one was made */
    bool knows_length;  /* that of the text */
    bool has_ad;
    bool releases_unverified;
    size_t key_bytes;
    size_t iv_bytes;
    size_t tag_bytes;
    size_t text_bytes; /* of the whole text, where it is known */
    size_t n_ad;
    uint8_t key[KEY_MOST];
    uint8_t iv[IV_MOST];
    uint8_t tag[TAG_MOST];
    uint8_t ad[AD_MOST];
};

static const struct headrace_operation *any(const struct aead *c) {
    const struct headrace_row *const row = c->running.algorithm->rows;
    return row->forward != NULL ? row->forward : row->backward;
}

static enum headrace_role iv_role(const struct headrace_operation *operation) {
    return headrace_has(operation, HEADRACE_NONCE) ? HEADRACE_NONCE : HEADRACE_IV;
}

/* Text and associated data are in one piece each. */
static bool in_one_piece(const struct aead *c) {
    return any(c)->single_chunk;
}

static int fail(struct aead *c, uint32_t result) {
    c->stage = FAILED;
    c->running.message.state = HR_NO_KEY;
    return headrace_running_failed(&c->running, result);
}

static int raise_here(struct aead *c, enum headrace_reason reason) {
    return headrace_raise(c->running.provider, reason);
}

void *headrace_aead_new(void *provider, const struct headrace_algorithm *algorithm) {
    struct aead *const c = headrace_allocate((struct headrace_provider *)provider, sizeof *c);
    size_t least, most, key_least;
    if (c == NULL || !headrace_running_make(&c->running, provider, algorithm)) {
        headrace_aead_free(c);
        return NULL;
    }
    headrace_bounds(any(c), HEADRACE_KEY, KEY_MOST, &key_least, &c->key_bytes);
    headrace_bounds(any(c), iv_role(any(c)), IV_MOST, &least, &most);
    /* As OpenSSL has it: a field of 8 bytes for the length, and with it the shortest nonce and a tag of 12 bytes. */
    c->iv_bytes = in_one_piece(c) ? least : least <= 12 && most >= 12 ? 12 : most;
    c->tag_bytes = in_one_piece(c) ? 12 : TAG_MOST;
    c->releases_unverified = ((struct headrace_provider *)provider)->releases_unverified;
    return c;
}

void headrace_aead_free(void *context) {
    struct aead *const c = context;
    if (c != NULL) {
        headrace_running_clear(&c->running);
        headrace_release(c->running.provider, c, sizeof *c);
    }
}

void *headrace_aead_dup(void *context) {
    const struct aead *const from = context;
    struct aead *const c = headrace_allocate(from->running.provider, sizeof *c);
    if (c == NULL) {
        return NULL;
    }
    *c = *from;
    if (!headrace_running_copy(&c->running, &from->running)) {
        headrace_aead_free(c);
        return NULL;
    }
    return c;
}

static bool has_direction(const struct aead *c) {
    const struct headrace_row *const row = c->running.algorithm->rows;
    return c->chosen && (c->decrypts ? row->backward : row->forward) != NULL;
}

static int init(struct aead *c, bool decrypts, const uint8_t *key, size_t key_bytes, const uint8_t *iv, size_t iv_bytes,
                const OSSL_PARAM params[]) {
    headrace_running_stop(&c->running);
    if (c->stage != NOT_BEGUN && !c->decrypts) {
        /* A nonce is for one message. */
        c->has_iv = false;
    }
    if (c->stage != NOT_BEGUN) {
        c->has_tag = false;
    }
    c->stage = NOT_BEGUN;
    c->decrypts = decrypts;
    c->chosen = true;
    c->chosen = has_direction(c);
    if (!c->chosen) {
        return raise_here(c, HEADRACE_REASON_DIRECTION);
    }
    c->knows_length = c->has_ad = false;
    c->n_ad = 0;
    if (iv != NULL) {
        if (iv_bytes != c->iv_bytes) {
            return raise_here(c, HEADRACE_REASON_IV_BYTES);
        }
        memcpy(c->iv, iv, iv_bytes);
        c->has_iv = true;
    }
    if (key != NULL) {
        if (key_bytes != c->key_bytes) {
            return raise_here(c, HEADRACE_REASON_KEY_BYTES);
        }
        memcpy(c->key, key, key_bytes);
        c->is_keyed = true;
        c->running.message.state = HR_NO_KEY;
    }
    return headrace_aead_set(c, params);
}

int headrace_aead_encrypt_init(void *context, const unsigned char *key, size_t key_bytes, const unsigned char *iv, size_t iv_bytes,
                               const OSSL_PARAM params[]) {
    return init(context, false, key, key_bytes, iv, iv_bytes, params);
}

int headrace_aead_decrypt_init(void *context, const unsigned char *key, size_t key_bytes, const unsigned char *iv, size_t iv_bytes,
                               const OSSL_PARAM params[]) {
    return init(context, true, key, key_bytes, iv, iv_bytes, params);
}

/* The operation that makes, or verifies, tags of this length. */
static const struct headrace_operation *operation_for(const struct aead *c) {
    const struct headrace_algorithm *const algorithm = c->running.algorithm;
    for (size_t i = 0; i < algorithm->n_rows; i++) {
        const struct headrace_operation *const operation = c->decrypts ? algorithm->rows[i].backward : algorithm->rows[i].forward;
        if (operation != NULL && headrace_allows(operation, c->decrypts ? HEADRACE_TAG_IN : HEADRACE_TAG, c->tag_bytes)) {
            return operation;
        }
    }
    return NULL;
}

/* Key and nonce; of what has one piece its length too. */
static int begin(struct aead *c) {
    struct headrace_running *const running = &c->running;
    const struct headrace_operation *op;
    enum headrace_role role;
    uint32_t result = HEADRACE_OK;
    if (c->stage != NOT_BEGUN) {
        return c->stage == OVER || c->stage == FAILED ? raise_here(c, HEADRACE_REASON_ORDER) : 1;
    }
    if (!has_direction(c)) {
        return raise_here(c, HEADRACE_REASON_DIRECTION);
    }
    if (!c->is_keyed) {
        return raise_here(c, HEADRACE_REASON_KEY);
    }
    if (!c->has_iv) {
        return raise_here(c, HEADRACE_REASON_IV);
    }
    op = operation_for(c);
    if (op == NULL) {
        return raise_here(c, HEADRACE_REASON_TAG_BYTES);
    }
    role = iv_role(op);
    if (!headrace_allows(op, role, c->iv_bytes)) {
        return raise_here(c, HEADRACE_REASON_IV_BYTES);
    }
    headrace_running_turn(running, op);
    if (running->message.state != HR_NEW_KEY && running->message.state != HR_KEYED) {
        result = headrace_message_key(op, &running->message, running->network, c->key, c->key_bytes);
    }
    if (result == HEADRACE_OK && running->message.state == HR_KEYED) {
        result = hr_message_put_flag(op, running->network, op->rekey, false);
    }
    if (result == HEADRACE_OK) {
        result = hr_message_put_flag(op, running->network, op->decrypt, op->decrypts);
    }
    if (result == HEADRACE_OK && op->single_chunk) {
        result = hr_message_put_word(op, running->network, op->strings[HEADRACE_INPUT].size_port, HR_LAST_CHUNK | (uint32_t)c->text_bytes);
    }
    if (result == HEADRACE_OK) {
        result = hr_message_put_string(op, running->network, role, c->iv, c->iv_bytes);
    }
    if (result != HEADRACE_OK) {
        return fail(c, result);
    }
    running->message.state = HR_OPEN;
    running->message.input_bytes = 0;
    c->operation = op;
    c->stage = IN_AD;
    headrace_running_began(running);
    return 1;
}

/* A chunk of associated data. */
static int put_ad(struct aead *c, const uint8_t *ad, size_t bytes, uint32_t last) {
    const struct headrace_string *const string = &c->operation->strings[HEADRACE_AD];
    void *const network = c->running.network;
    do {
        const uint32_t size = bytes < HR_CHUNK_MOST ? (uint32_t)bytes : HR_CHUNK_MOST;
        uint32_t result = hr_message_put_word(c->operation, network, string->size_port, size | (size == bytes ? last : 0));
        if (result == HEADRACE_OK) {
            result = hr_message_put(c->operation, network, string->port, ad, size, 1);
        }
        if (result != HEADRACE_OK) {
            return fail(c, result);
        }
        ad += size;
        bytes -= size;
    } while (bytes != 0);
    return 1;
}

static int take_ad(struct aead *c, const uint8_t *ad, size_t bytes) {
    if (c->stage != NOT_BEGUN && c->stage != IN_AD) {
        return raise_here(c, HEADRACE_REASON_ORDER);
    }
    if (in_one_piece(c) && (c->has_ad || !c->knows_length)) {
        return raise_here(c, c->has_ad ? HEADRACE_REASON_ONE_PIECE : HEADRACE_REASON_LENGTH);
    }
    if (!begin(c)) {
        return 0;
    }
    headrace_running_took(&c->running, bytes);
    if (in_one_piece(c)) {
        c->has_ad = true;
        return put_ad(c, ad, bytes, HR_LAST_CHUNK);
    }
    if (bytes > AD_MOST - c->n_ad) {
        if (c->n_ad != 0 && !put_ad(c, c->ad, c->n_ad, 0)) {
            return 0;
        }
        c->n_ad = 0;
        if (bytes > AD_MOST) {
            return put_ad(c, ad, bytes, 0);
        }
    }
    memcpy(c->ad + c->n_ad, ad, bytes);
    c->n_ad += bytes;
    return 1;
}

/* From here on there is text. */
static int begin_text(struct aead *c) {
    if (!begin(c)) {
        return 0;
    }
    if (c->stage == IN_AD) {
        if (!c->has_ad && !put_ad(c, c->ad, c->n_ad, HR_LAST_CHUNK)) {
            return 0;
        }
        c->stage = IN_TEXT;
    }
    return 1;
}

/* Ends the message: makes the tag, or verifies it. What was held back goes to `out`, behind the `*made` bytes there. */
static int finish(struct aead *c, uint8_t *out, size_t room, size_t *made) {
    struct headrace_running *const running = &c->running;
    size_t tag_bytes = 0, rest = 0;
    struct headrace_bytes strings[HEADRACE_ROLES] = {[HEADRACE_TAG_IN] = {c->tag, c->tag_bytes}};
    struct headrace_room rooms[HEADRACE_ROLES] = {
        [HEADRACE_OUTPUT] = {out == NULL ? NULL : out + *made, out == NULL ? 0 : room - *made, &rest},
        [HEADRACE_TAG] = {c->tag, c->tag_bytes, &tag_bytes},
    };
    const uint32_t result = hr_message_finish(c->operation, running->network, strings, rooms, false);
    if (result != HEADRACE_OK) {
        c->has_tag = false;
        if (result != HEADRACE_REFUSED) {
            return fail(c, result);
        }
        hr_message_ended(c->operation, &running->message, result);
        c->stage = FAILED;
        running->provider->cleanse(c->tag, sizeof c->tag);
        return raise_here(c, HEADRACE_REASON_FORGED);
    }
    hr_message_ended(c->operation, &running->message, result);
    *made += rest;
    c->stage = OVER;
    c->has_tag = true;
    return 1;
}

/* Text that is all there is, or that ends a message which could not be verified before. */
static int take_all(struct aead *c, uint8_t *out, size_t *out_bytes, size_t room, const uint8_t *in, size_t in_bytes) {
    struct headrace_running *const running = &c->running;
    const struct headrace_operation *op;
    size_t made = 0;
    uint32_t result;
    int good;
    c->text_bytes = in_bytes;
    if (in_bytes > HR_CHUNK_MOST || !headrace_allows(any(c), HEADRACE_INPUT, in_bytes)) {
        return raise_here(c, HEADRACE_REASON_LENGTH);
    }
    if (room < in_bytes) {
        return raise_here(c, HEADRACE_REASON_ROOM);
    }
    if (!begin_text(c)) {
        return 0;
    }
    op = c->operation;
    result = op->single_chunk ? HEADRACE_OK
                              : hr_message_put_word(op, running->network, op->strings[HEADRACE_INPUT].size_port,
                                                    HR_LAST_CHUNK | (uint32_t)in_bytes);
    if (result == HEADRACE_OK) {
        headrace_running_took(running, in_bytes);
        result = headrace_running_pump(running, in, in_bytes, (struct headrace_room){out, in_bytes, &made});
    }
    good = result == HEADRACE_OK ? finish(c, out, in_bytes, &made) : fail(c, result);
    if (good && made == in_bytes) {
        *out_bytes = made;
        return 1;
    }
    if (in_bytes != 0) {
        running->provider->cleanse(out, in_bytes);
    }
    return good ? fail(c, HEADRACE_STUCK) : 0;
}

static int take_piece(struct aead *c, uint8_t *out, size_t *out_bytes, size_t room, const uint8_t *in, size_t in_bytes) {
    uint32_t result;
    if (!begin_text(c)) {
        return 0;
    }
    /* What is held back is less than a block. */
    if (room < in_bytes) {
        return raise_here(c, HEADRACE_REASON_ROOM);
    }
    result = headrace_running_update(&c->running, in, in_bytes, (struct headrace_room){out, room, out_bytes});
    return result == HEADRACE_OK ? 1 : fail(c, result);
}

/* Whether pieces may come out before the tag is verified. */
static bool streams(const struct aead *c) {
    return !in_one_piece(c) && (!c->decrypts || c->releases_unverified);
}

int headrace_aead_update(void *context, unsigned char *out, size_t *out_bytes, size_t room, const unsigned char *in, size_t in_bytes) {
    struct aead *const c = context;
    *out_bytes = 0;
    if (out == NULL && in == NULL && in_one_piece(c)) {
        /* The length of the text. */
        if (c->stage != NOT_BEGUN || in_bytes > HR_CHUNK_MOST) {
            return raise_here(c, c->stage != NOT_BEGUN ? HEADRACE_REASON_ORDER : HEADRACE_REASON_LENGTH);
        }
        c->text_bytes = in_bytes;
        c->knows_length = true;
        *out_bytes = in_bytes;
        return 1;
    }
    if (in == NULL) {
        return in_bytes == 0 ? 1 : raise_here(c, HEADRACE_REASON_PARAMETER);
    }
    if (out == NULL) {
        if (!take_ad(c, in, in_bytes)) {
            return 0;
        }
        *out_bytes = in_bytes;
        return 1;
    }
    if (streams(c)) {
        return take_piece(c, out, out_bytes, room, in, in_bytes);
    }
    if (in_bytes == 0 && !in_one_piece(c)) {
        return 1;
    }
    if (c->stage == OVER) {
        return raise_here(c, HEADRACE_REASON_ONE_PIECE);
    }
    if (c->decrypts && !c->has_tag) {
        return raise_here(c, HEADRACE_REASON_TAG);
    }
    if (c->knows_length && in_bytes != c->text_bytes) {
        return raise_here(c, HEADRACE_REASON_LENGTH);
    }
    return take_all(c, out, out_bytes, room, in, in_bytes);
}

int headrace_aead_final(void *context, unsigned char *out, size_t *out_bytes, size_t room) {
    struct aead *const c = context;
    uint32_t result;
    *out_bytes = 0;
    if (c->stage == OVER) {
        return 1;
    }
    if (c->stage == FAILED) {
        return raise_here(c, c->decrypts ? HEADRACE_REASON_FORGED : HEADRACE_REASON_ORDER);
    }
    if (c->decrypts && !c->has_tag) {
        return raise_here(c, HEADRACE_REASON_TAG);
    }
    if (in_one_piece(c)) {
        /* A text that was announced and did not come is none. */
        return c->knows_length && c->text_bytes != 0 ? raise_here(c, HEADRACE_REASON_LENGTH)
                                                     : take_all(c, out, out_bytes, room, NULL, 0);
    }
    if (!begin_text(c)) {
        return 0;
    }
    if (!headrace_allows(c->operation, HEADRACE_INPUT, c->running.message.input_bytes)) {
        return fail(c, HEADRACE_INPUT_LENGTH);
    }
    result = hr_message_put_word(c->operation, c->running.network, c->operation->strings[HEADRACE_INPUT].size_port, HR_LAST_CHUNK);
    return result == HEADRACE_OK ? finish(c, out, room, out_bytes) : fail(c, result);
}

int headrace_aead_direct(void *context, unsigned char *out, size_t *out_bytes, size_t room, const unsigned char *in, size_t in_bytes) {
    return in == NULL ? headrace_aead_final(context, out, out_bytes, room)
                      : headrace_aead_update(context, out, out_bytes, room, in, in_bytes);
}

/* A tag is given out as it is; what has several lengths of it makes each in its own way. */
static bool write_tag(const struct aead *c, OSSL_PARAM *tag) {
    const bool of_any_length = !in_one_piece(c) && c->running.algorithm->n_rows == 1 && c->running.algorithm->rows->block_bytes == 1;
    const size_t bytes = tag->data == NULL ? c->tag_bytes : tag->data_size;
    if (c->decrypts || c->stage != OVER || bytes == 0 || bytes > c->tag_bytes || (bytes != c->tag_bytes && !of_any_length)) {
        return false;
    }
    return headrace_write_bytes(tag, c->tag, bytes);
}

int headrace_aead_get(void *context, OSSL_PARAM params[]) {
    struct aead *const c = context;
    OSSL_PARAM *const tag = headrace_find(params, OSSL_CIPHER_PARAM_AEAD_TAG);
    if (tag != NULL && !write_tag(c, tag)) {
        return raise_here(c, HEADRACE_REASON_TAG_BYTES);
    }
    return headrace_write_number(headrace_find(params, OSSL_CIPHER_PARAM_KEYLEN), c->key_bytes) &&
           headrace_write_number(headrace_find(params, OSSL_CIPHER_PARAM_IVLEN), c->iv_bytes) &&
           headrace_write_number(headrace_find(params, OSSL_CIPHER_PARAM_AEAD_TAGLEN), c->tag_bytes) &&
           headrace_write_bytes(headrace_find(params, OSSL_CIPHER_PARAM_IV), c->iv, c->iv_bytes) &&
           headrace_write_bytes(headrace_find(params, OSSL_CIPHER_PARAM_UPDATED_IV), c->iv, c->iv_bytes);
}

static int set_tag(struct aead *c, const OSSL_PARAM *tag) {
    const size_t bytes = tag->data_size;
    const size_t before = c->tag_bytes;
    if (tag->data_type != OSSL_PARAM_OCTET_STRING || bytes == 0 || bytes > TAG_MOST || (tag->data != NULL && !c->decrypts)) {
        return raise_here(c, HEADRACE_REASON_TAG_BYTES);
    }
    if (c->stage == OVER || c->stage == FAILED || (c->stage != NOT_BEGUN && bytes != c->tag_bytes)) {
        return raise_here(c, HEADRACE_REASON_ORDER);
    }
    c->tag_bytes = bytes;
    if (has_direction(c) && operation_for(c) == NULL) {
        c->tag_bytes = before;
        return raise_here(c, HEADRACE_REASON_TAG_BYTES);
    }
    if (tag->data != NULL) {
        memcpy(c->tag, tag->data, bytes);
        c->has_tag = true;
    }
    return 1;
}

int headrace_aead_set(void *context, const OSSL_PARAM params[]) {
    struct aead *const c = context;
    const OSSL_PARAM *const tag = headrace_given(params, OSSL_CIPHER_PARAM_AEAD_TAG);
    const OSSL_PARAM *const iv_bytes = headrace_given(params, OSSL_CIPHER_PARAM_IVLEN);
    const OSSL_PARAM *const key_bytes = headrace_given(params, OSSL_CIPHER_PARAM_KEYLEN);
    const OSSL_PARAM *const unverified = headrace_given(params, "release-unverified");
    size_t number = 0;
    if (headrace_given(params, OSSL_CIPHER_PARAM_AEAD_TLS1_AAD) != NULL || headrace_given(params, OSSL_CIPHER_PARAM_AEAD_TLS1_IV_FIXED) != NULL ||
        headrace_given(params, OSSL_CIPHER_PARAM_AEAD_TLS1_SET_IV_INV) != NULL) {
        return raise_here(c, HEADRACE_REASON_TLS);
    }
    if (key_bytes != NULL && (!headrace_read_number(key_bytes, &number) || number != c->key_bytes)) {
        return raise_here(c, HEADRACE_REASON_KEY_BYTES);
    }
    if (unverified != NULL) {
        if (!headrace_read_number(unverified, &number) || c->stage != NOT_BEGUN) {
            return raise_here(c, HEADRACE_REASON_PARAMETER);
        }
        c->releases_unverified = number != 0;
    }
    if (iv_bytes != NULL) {
        if (!headrace_read_number(iv_bytes, &number) || number > IV_MOST || !headrace_allows(any(c), iv_role(any(c)), number)) {
            return raise_here(c, HEADRACE_REASON_IV_BYTES);
        }
        if (number != c->iv_bytes) {
            c->iv_bytes = number;
            c->has_iv = false;
        }
    }
    return tag == NULL ? 1 : set_tag(c, tag);
}

const OSSL_PARAM *headrace_aead_gettable_here(void *context, void *provider) {
    static const OSSL_PARAM list[] = {
        HEADRACE_NUMBER(OSSL_CIPHER_PARAM_KEYLEN),      HEADRACE_NUMBER(OSSL_CIPHER_PARAM_IVLEN),
        HEADRACE_NUMBER(OSSL_CIPHER_PARAM_AEAD_TAGLEN), HEADRACE_BYTES(OSSL_CIPHER_PARAM_AEAD_TAG),
        HEADRACE_BYTES(OSSL_CIPHER_PARAM_IV),           HEADRACE_BYTES(OSSL_CIPHER_PARAM_UPDATED_IV),
        HEADRACE_LAST,
    };
    (void)context;
    (void)provider;
    return list;
}

const OSSL_PARAM *headrace_aead_settable(void *context, void *provider) {
    static const OSSL_PARAM list[] = {
        HEADRACE_NUMBER(OSSL_CIPHER_PARAM_KEYLEN), HEADRACE_NUMBER(OSSL_CIPHER_PARAM_IVLEN),
        HEADRACE_BYTES(OSSL_CIPHER_PARAM_AEAD_TAG), HEADRACE_NUMBER("release-unverified"),
        HEADRACE_LAST,
    };
    (void)context;
    (void)provider;
    return list;
}
