/* Message authentication codes. */
#include "elsewhere.h"
#include "parameters.h"
#include "provider.h"

#include "headrace_whole.h"

#include <openssl/core_names.h>

/* A string of any length that is kept for further messages. */
struct kept {
    uint8_t *bytes; /* null: none was given */
    size_t n_bytes;
};

/* What libssl gives before the text of a record. */
#define RECORD_HEAD 13
/* Of a record as many blocks are hashed as the length has that a program tells, so that length has a bound, well above those of
   TLS (2^14 + 2048 bytes: RFC 5246, section 6.2.3). */
#define RECORD_MOST ((size_t)1 << 20)
/* As many as OpenSSL makes: a length of 24 bits. */
#define MOST_BYTES (0xffffffu / 8)

struct mac {
    struct headrace_running running;
    const struct headrace_row *row; /* null: programs must choose one */
    void *elsewhere; /* what it is made of is another provider's; see elsewhere.h */
    struct kept key, iv;
    bool is_ready;       /* a message may be given */
    bool is_key_new;     /* it is for the next message */
    bool is_key_used;    /* of a key for one message */
    bool extends;        /* of a code of any length: it does not depend on that length */
    size_t output_bytes; /* of a code of any length */
    size_t record_bytes; /* of a record of TLS with its padding, whose length is a secret; 0: none */
};

/* A code of any length; its message ends in that length. */
static bool has_any_length(const struct mac *c) {
    return c->row != NULL && c->row->output_bytes != 0;
}

/* Two messages under one of its keys give the key away. */
static bool is_key_for_one(const struct mac *c) {
    return headrace_has_part(c->running.algorithm, "POLY1305");
}

static void forget(struct headrace_provider *provider, struct kept *kept) {
    if (kept->bytes != NULL) {
        headrace_release(provider, kept->bytes, kept->n_bytes + 1);
    }
    kept->bytes = NULL;
    kept->n_bytes = 0;
}

static int keep(struct headrace_provider *provider, struct kept *kept, const uint8_t *bytes, size_t n_bytes) {
    /* An empty string is there, too. */
    uint8_t *const own = headrace_allocate(provider, n_bytes + 1);
    if (own == NULL) {
        return headrace_raise(provider, HEADRACE_REASON_MEMORY);
    }
    if (n_bytes != 0) {
        memcpy(own, bytes, n_bytes);
    }
    forget(provider, kept);
    *kept = (struct kept){own, n_bytes};
    return 1;
}

void *headrace_mac_new(void *provider, const struct headrace_algorithm *algorithm) {
    struct mac *const c = headrace_allocate((struct headrace_provider *)provider, sizeof *c);
    if (c == NULL || !headrace_running_make(&c->running, provider, algorithm)) {
        headrace_mac_free(c);
        return NULL;
    }
    c->row = algorithm->rows->of == NULL ? algorithm->rows : NULL;
    c->output_bytes = algorithm->rows->output_bytes;
    return c;
}

void headrace_mac_free(void *context) {
    struct mac *const c = context;
    if (c != NULL) {
        headrace_elsewhere_free(c->running.provider, c->elsewhere);
        forget(c->running.provider, &c->key);
        forget(c->running.provider, &c->iv);
        headrace_running_clear(&c->running);
        headrace_release(c->running.provider, c, sizeof *c);
    }
}

static int keep_copy(struct headrace_provider *provider, struct kept *kept, const struct kept *from) {
    return from->bytes == NULL || keep(provider, kept, from->bytes, from->n_bytes);
}

void *headrace_mac_dup(void *context) {
    const struct mac *const from = context;
    struct headrace_provider *const provider = from->running.provider;
    struct mac *const c = headrace_allocate(provider, sizeof *c);
    if (c == NULL) {
        return NULL;
    }
    *c = *from;
    c->running.memory = NULL;
    c->key = c->iv = (struct kept){NULL, 0};
    c->elsewhere = from->elsewhere == NULL ? NULL : headrace_elsewhere_dup(provider, from->elsewhere);
    if ((from->elsewhere != NULL && c->elsewhere == NULL) || !headrace_running_copy(&c->running, &from->running) ||
        !keep_copy(provider, &c->key, &from->key) || !keep_copy(provider, &c->iv, &from->iv)) {
        headrace_mac_free(c);
        return NULL;
    }
    return c;
}

static enum headrace_role iv_role(const struct headrace_operation *operation) {
    return headrace_has(operation, HEADRACE_NONCE) ? HEADRACE_NONCE : HEADRACE_IV;
}

static int begin(struct mac *c) {
    struct headrace_running *const running = &c->running;
    struct headrace_provider *const provider = running->provider;
    struct headrace_bytes strings[HEADRACE_ROLES] = {{0}};
    const struct headrace_operation *operation;
    uint32_t result = HEADRACE_OK;
    if (c->row == NULL) {
        return headrace_raise(provider, HEADRACE_REASON_CHOICE);
    }
    operation = c->row->forward;
    if (c->key.bytes == NULL) {
        return headrace_raise(provider, HEADRACE_REASON_KEY);
    }
    if ((c->row->key_bytes != 0 && c->key.n_bytes != c->row->key_bytes) || !headrace_allows(operation, HEADRACE_KEY, c->key.n_bytes)) {
        return headrace_raise(provider, HEADRACE_REASON_KEY_BYTES);
    }
    if (headrace_has(operation, iv_role(operation))) {
        if (c->iv.bytes == NULL && !headrace_allows(operation, iv_role(operation), 0)) {
            return headrace_raise(provider, HEADRACE_REASON_IV);
        }
        strings[iv_role(operation)] = (struct headrace_bytes){c->iv.bytes, c->iv.n_bytes};
    }
    headrace_running_turn(running, operation);
    headrace_running_stop(running);
    if (c->is_key_new) {
        running->message.state = HR_NO_KEY;
        c->is_key_new = false;
    }
    if (!headrace_running_has_key(running)) {
        result = headrace_message_key(operation, &running->message, running->network, c->key.bytes, c->key.n_bytes);
    }
    if (result == HEADRACE_OK) {
        result = headrace_message_init(operation, &running->message, running->network, strings);
    }
    if (result != HEADRACE_OK) {
        return headrace_running_failed(running, result);
    }
    if (headrace_has(operation, HEADRACE_NONCE)) {
        /* It is for one message. */
        forget(provider, &c->iv);
    }
    c->is_key_used = false;
    headrace_running_began(running);
    return 1;
}

/* Forgets a message; the next one begins with its first bytes, or at once. */
static void make_ready(struct mac *c) {
    headrace_running_stop(&c->running);
    c->is_ready = true;
}

static int set_key(struct mac *c, const uint8_t *key, size_t key_bytes) {
    const struct headrace_row *const row = c->row;
    if (row != NULL && ((row->key_bytes != 0 && key_bytes != row->key_bytes) || !headrace_allows(row->forward, HEADRACE_KEY, key_bytes))) {
        return headrace_raise(c->running.provider, HEADRACE_REASON_KEY_BYTES);
    }
    c->is_key_new = true;
    c->is_key_used = false;
    return keep(c->running.provider, &c->key, key, key_bytes);
}

static int choose(struct mac *c, const OSSL_PARAM *what) {
    const struct headrace_algorithm *const algorithm = c->running.algorithm;
    size_t bytes = 0;
    const char *const name = headrace_read_text(what, &bytes);
    for (size_t i = 0; name != NULL && i < algorithm->n_rows; i++) {
        if (headrace_is_among(algorithm->rows[i].of, name, bytes)) {
            c->row = &algorithm->rows[i];
            headrace_elsewhere_free(c->running.provider, c->elsewhere);
            c->elsewhere = NULL;
            if (headrace_has(c->row->forward, HEADRACE_NONCE)) {
                /* As OpenSSL has it, a cipher comes without key and nonce. */
                forget(c->running.provider, &c->key);
                forget(c->running.provider, &c->iv);
                headrace_running_stop(&c->running);
            }
            return 1;
        }
    }
    if (name != NULL && c->elsewhere == NULL) {
        c->elsewhere = headrace_elsewhere_new(c->running.provider, algorithm->names);
    }
    return name != NULL && c->elsewhere != NULL ? 1 : headrace_raise(c->running.provider, HEADRACE_REASON_CHOICE);
}

/* What it is made of, if that is said: something of this provider, or of another one. */
static int decide(struct mac *c, const OSSL_PARAM params[]) {
    static const char *const choices[] = {OSSL_MAC_PARAM_DIGEST, OSSL_MAC_PARAM_CIPHER};
    for (size_t i = 0; i < 2; i++) {
        const OSSL_PARAM *const what = headrace_given(params, choices[i]);
        if (what != NULL && c->running.algorithm->rows->of != NULL && !choose(c, what)) {
            return 0;
        }
    }
    return 1;
}

/* A nonce may come after the key, and a key for one message too. */
static bool may_wait(const struct mac *c) {
    const struct headrace_operation *const operation = c->row->forward;
    return headrace_has(operation, HEADRACE_NONCE) || (is_key_for_one(c) && c->key.bytes == NULL);
}

int headrace_mac_init(void *context, const unsigned char *key, size_t key_bytes, const OSSL_PARAM params[]) {
    struct mac *const c = context;
    if (!decide(c, params)) {
        return 0;
    }
    if (c->elsewhere != NULL) {
        return headrace_elsewhere_init(c->running.provider, c->elsewhere, key, key_bytes, params);
    }
    if (!headrace_mac_set(c, params) || (key != NULL && !set_key(c, key, key_bytes))) {
        return 0;
    }
    if (c->row == NULL) {
        return headrace_raise(c->running.provider, HEADRACE_REASON_CHOICE);
    }
    if (is_key_for_one(c) && c->is_key_used) {
        return headrace_raise(c->running.provider, HEADRACE_REASON_KEY);
    }
    make_ready(c);
    return may_wait(c) || begin(c);
}

/* A message that is under way, or begins now. */
static int go_on(struct mac *c) {
    if (c->running.message.state == HR_OPEN) {
        return 1;
    }
    return c->is_ready ? begin(c) : headrace_raise(c->running.provider, HEADRACE_REASON_ORDER);
}

static int feed(struct mac *c, const uint8_t *in, size_t in_bytes) {
    size_t none = 0;
    const uint32_t result = headrace_running_update(&c->running, in, in_bytes, (struct headrace_room){NULL, 0, &none});
    return result == HEADRACE_OK ? 1 : headrace_running_failed(&c->running, result);
}

/* How many blocks a hash takes for so many bytes, with the end that it puts behind them. */
static size_t blocks_for(size_t bytes, size_t block) {
    return (bytes + 1 + (block == 128 ? 16 : 8) + block - 1) / block;
}

/* The text of a record whose padding is a secret: a copy takes as many blocks as padding has, so that as many are hashed for
   each record of the same length. */
static int feed_record(struct mac *c, const uint8_t *in, size_t in_bytes) {
    const size_t block = c->row->block_bytes;
    const size_t most = blocks_for(RECORD_HEAD + c->record_bytes, block), least = blocks_for(RECORD_HEAD + in_bytes, block);
    struct headrace_running other;
    uint8_t nothing[128] = {0};
    size_t none = 0;
    if (!feed(c, in, in_bytes) || !headrace_running_copy(&other, &c->running)) {
        return 0;
    }
    for (size_t i = least; i < most; i++) {
        headrace_running_update(&other, nothing, block < sizeof nothing ? block : sizeof nothing, (struct headrace_room){NULL, 0, &none});
    }
    headrace_running_clear(&other);
    return 1;
}

int headrace_mac_update(void *context, const unsigned char *in, size_t in_bytes) {
    struct mac *const c = context;
    if (c->elsewhere != NULL) {
        return headrace_elsewhere_update(c->running.provider, c->elsewhere, in, in_bytes);
    }
    if (in_bytes == 0 && c->is_ready && c->row != NULL && c->key.bytes != NULL && may_wait(c) &&
        (c->iv.bytes == NULL || c->key.bytes == NULL)) {
        return 1;
    }
    if (!go_on(c)) {
        return 0;
    }
    c->is_key_used = true;
    if (c->record_bytes != 0 && c->running.message.input_bytes == 0 && in_bytes != RECORD_HEAD) {
        return headrace_raise(c->running.provider, HEADRACE_REASON_TLS);
    }
    if (c->record_bytes != 0 && c->running.message.input_bytes != 0) {
        return in_bytes > c->record_bytes ? headrace_raise(c->running.provider, HEADRACE_REASON_LENGTH) : feed_record(c, in, in_bytes);
    }
    return feed(c, in, in_bytes);
}

static size_t size(const struct mac *c) {
    size_t least = 0, most = 0;
    if (has_any_length(c)) {
        return c->output_bytes;
    }
    if (c->row != NULL) {
        headrace_bounds(c->row->forward, HEADRACE_TAG, SIZE_MAX, &least, &most);
    }
    return most;
}

/* The first bytes of a code of any length. The message ends in right_encode of that length (SP 800-185, section 2.3.1), or of 0
   where it does not depend on it. */
static uint32_t squeeze(struct mac *c, uint8_t *out, size_t *out_bytes) {
    struct headrace_running *const running = &c->running;
    const struct headrace_operation *const op = running->operation;
    const struct headrace_network *const network = op->network;
    const uint64_t bits = c->extends ? 0 : 8 * (uint64_t)c->output_bytes;
    uint8_t end[9];
    size_t n_end = 0, none = 0, before;
    uint32_t result;
    for (unsigned shift = 64; shift != 0;) {
        shift -= 8;
        if (n_end != 0 || (bits >> shift) != 0 || shift == 0) {
            end[n_end++] = (uint8_t)(bits >> shift);
        }
    }
    end[n_end] = (uint8_t)n_end;
    result = headrace_running_update(running, end, n_end + 1, (struct headrace_room){NULL, 0, &none});
    if (result == HEADRACE_OK) {
        result = hr_message_put_word(op, running->network, op->strings[HEADRACE_INPUT].size_port, HR_LAST_CHUNK);
    }
    do {
        before = *out_bytes;
        network->run(running->network, UINT64_MAX);
        *out_bytes += network->read(running->network, op->strings[HEADRACE_TAG].port, out + before, c->output_bytes - before);
    } while (result == HEADRACE_OK && *out_bytes != c->output_bytes && *out_bytes != before);
    running->message.state = HR_NO_KEY;
    return result == HEADRACE_OK && *out_bytes != c->output_bytes ? HEADRACE_STUCK : result;
}

int headrace_mac_final(void *context, unsigned char *out, size_t *out_bytes, size_t room) {
    struct mac *const c = context;
    struct headrace_running *const running = &c->running;
    const struct headrace_bytes strings[HEADRACE_ROLES] = {{0}};
    const struct headrace_room rooms[HEADRACE_ROLES] = {[HEADRACE_TAG] = {out, size(c), out_bytes}};
    uint32_t result;
    *out_bytes = 0;
    if (c->elsewhere != NULL) {
        return headrace_elsewhere_final(running->provider, c->elsewhere, out, out_bytes, room);
    }
    if (!go_on(c)) {
        return 0;
    }
    if (room < size(c)) {
        return headrace_raise(running->provider, HEADRACE_REASON_ROOM);
    }
    c->is_key_used = true;
    c->is_ready = false;
    result = has_any_length(c) ? squeeze(c, out, out_bytes)
                               : headrace_message_final(running->operation, &running->message, running->network, strings, rooms);
    return result == HEADRACE_OK ? 1 : headrace_running_failed(running, result);
}

int headrace_mac_get(void *context, OSSL_PARAM params[]) {
    const struct mac *const c = context;
    if (c->elsewhere != NULL) {
        return headrace_elsewhere_get(c->running.provider, c->elsewhere, params);
    }
    /* What is made of no blocks tells nothing of them. */
    OSSL_PARAM *const block = c->row != NULL && c->row->block_bytes > 1 ? headrace_find(params, OSSL_MAC_PARAM_BLOCK_SIZE) : NULL;
    return headrace_write_number(headrace_find(params, OSSL_MAC_PARAM_SIZE), size(c)) &&
           headrace_write_number(block, block == NULL ? 0 : c->row->block_bytes);
}

static bool is_string(const OSSL_PARAM *given) {
    return given->data != NULL && (given->data_type == OSSL_PARAM_OCTET_STRING || given->data_type == OSSL_PARAM_UTF8_STRING);
}

/* A nonce begins a message anew; other strings are for the next one. */
static int set_string(struct mac *c, const OSSL_PARAM *given, bool is_nonce) {
    if (!is_string(given)) {
        return headrace_raise(c->running.provider, HEADRACE_REASON_PARAMETER);
    }
    if (is_nonce) {
        make_ready(c);
    }
    return keep(c->running.provider, &c->iv, given->data, given->data_size);
}

/* What only a code of any length looks at. */
static int set_length(struct mac *c, const OSSL_PARAM *length, const OSSL_PARAM *extends) {
    size_t number = 0;
    if (length != NULL) {
        if (!headrace_read_number(length, &number) || number > MOST_BYTES) {
            return headrace_raise(c->running.provider, HEADRACE_REASON_TAG_BYTES);
        }
        c->output_bytes = number;
    }
    if (extends != NULL) {
        if (!headrace_read_number(extends, &number)) {
            return headrace_raise(c->running.provider, HEADRACE_REASON_PARAMETER);
        }
        c->extends = number != 0;
    }
    return 1;
}

int headrace_mac_set(void *context, const OSSL_PARAM params[]) {
    struct mac *const c = context;
    struct headrace_provider *const provider = c->running.provider;
    const OSSL_PARAM *const key = headrace_given(params, OSSL_MAC_PARAM_KEY);
    const OSSL_PARAM *const record = headrace_given(params, OSSL_MAC_PARAM_TLS_DATA_SIZE);
    if (!decide(c, params)) {
        return 0;
    }
    if (c->elsewhere != NULL) {
        return headrace_elsewhere_set(provider, c->elsewhere, params);
    }
    if (c->row != NULL && headrace_has(c->row->forward, iv_role(c->row->forward))) {
        const bool is_nonce = headrace_has(c->row->forward, HEADRACE_NONCE);
        const OSSL_PARAM *const string = headrace_given(params, is_nonce ? OSSL_MAC_PARAM_IV : OSSL_MAC_PARAM_CUSTOM);
        if (string != NULL && !set_string(c, string, is_nonce)) {
            return 0;
        }
    }
    if (record != NULL && (!headrace_read_number(record, &c->record_bytes) || c->record_bytes > RECORD_MOST || c->row == NULL ||
                           c->row->block_bytes <= 1)) {
        c->record_bytes = 0;
        return headrace_raise(provider, HEADRACE_REASON_TLS);
    }
    if (has_any_length(c) &&
        !set_length(c, headrace_given(params, OSSL_MAC_PARAM_SIZE), headrace_given(params, OSSL_MAC_PARAM_XOF))) {
        return 0;
    }
    if (key != NULL) {
        if (!is_string(key)) {
            return headrace_raise(provider, HEADRACE_REASON_PARAMETER);
        }
        if (!set_key(c, key->data, key->data_size)) {
            return 0;
        }
        /* As OpenSSL has it, one of any length goes on with the key that it has. */
        if (c->row != NULL && !has_any_length(c)) {
            c->is_ready = c->is_ready || !headrace_has(c->row->forward, HEADRACE_NONCE);
            headrace_running_stop(&c->running);
        }
    }
    return 1;
}

const OSSL_PARAM *headrace_mac_gettable(void *context, void *provider) {
    static const OSSL_PARAM list[] = {HEADRACE_NUMBER(OSSL_MAC_PARAM_SIZE), HEADRACE_NUMBER(OSSL_MAC_PARAM_BLOCK_SIZE), HEADRACE_LAST};
    (void)context;
    (void)provider;
    return list;
}

const OSSL_PARAM *headrace_mac_settable(void *context, void *provider) {
    static const OSSL_PARAM list[] = {
        HEADRACE_TEXT(OSSL_MAC_PARAM_DIGEST), HEADRACE_TEXT(OSSL_MAC_PARAM_CIPHER), HEADRACE_TEXT(OSSL_MAC_PARAM_PROPERTIES),
        HEADRACE_BYTES(OSSL_MAC_PARAM_KEY),   HEADRACE_BYTES(OSSL_MAC_PARAM_IV),    HEADRACE_BYTES(OSSL_MAC_PARAM_CUSTOM),
        HEADRACE_NUMBER(OSSL_MAC_PARAM_SIZE), HEADRACE_NUMBER(OSSL_MAC_PARAM_XOF),
        HEADRACE_NUMBER(OSSL_MAC_PARAM_TLS_DATA_SIZE), HEADRACE_LAST,
    };
    (void)context;
    (void)provider;
    return list;
}
