/* Ciphers that do not authenticate: streams, whole blocks with or without padding, messages in one piece. */
#include "parameters.h"
#include "provider.h"

#include "headrace_whole.h"

#include <openssl/core_names.h>

#define KEY_MOST 256
#define BLOCK_MOST 32

struct cipher {
    struct headrace_running running;
    const struct headrace_row *row;
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
    uint8_t key[KEY_MOST];
    uint8_t iv[BLOCK_MOST];
    uint8_t held[BLOCK_MOST]; /* input that does not make a block yet, or the last one that padding may be in */
};

static const struct headrace_operation *any(const struct headrace_row *row) {
    return row->forward != NULL ? row->forward : row->backward;
}

static enum headrace_role iv_role(const struct headrace_operation *operation) {
    return headrace_has(operation, HEADRACE_NONCE) ? HEADRACE_NONCE : HEADRACE_IV;
}

/* Length of keys where a program has not said another. */
static size_t usual_key(const struct headrace_row *row) {
    size_t least, most;
    headrace_bounds(any(row), HEADRACE_KEY, KEY_MOST, &least, &most);
    return row->key_bytes != 0 ? row->key_bytes : least < 16 && most >= 16 ? 16 : most;
}

static size_t usual_iv(const struct headrace_algorithm *algorithm) {
    const struct headrace_operation *const operation = any(algorithm->rows);
    size_t least, most;
    headrace_bounds(operation, iv_role(operation), SIZE_MAX, &least, &most);
    /* What all authenticated ciphers of any length of nonces are used with. */
    return algorithm->kind == HEADRACE_AEAD && least <= 12 && most >= 12 ? 12 : most;
}

/* Numbers that OpenSSL has for modes. */
static unsigned mode(const struct headrace_algorithm *algorithm) {
    static const struct {
        const char *part;
        unsigned number;
    } modes[] = {
        {"ECB", 1}, {"CBC", 2}, {"CFB", 3}, {"CFB8", 3}, {"OFB", 4}, {"CTR", 5}, {"GCM", 6}, {"CCM", 7}, {"OCB", 0x10003},
    };
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        if (headrace_has_part(algorithm, modes[i].part)) {
            return modes[i].number;
        }
    }
    return 0;
}

int headrace_cipher_get_params(const struct headrace_algorithm *algorithm, OSSL_PARAM params[]) {
    const bool seals = algorithm->kind == HEADRACE_AEAD;
    return headrace_write_number(headrace_find(params, OSSL_CIPHER_PARAM_MODE), mode(algorithm)) &&
           headrace_write_number(headrace_find(params, OSSL_CIPHER_PARAM_KEYLEN), usual_key(algorithm->rows)) &&
           headrace_write_number(headrace_find(params, OSSL_CIPHER_PARAM_IVLEN), usual_iv(algorithm)) &&
           headrace_write_number(headrace_find(params, OSSL_CIPHER_PARAM_BLOCK_SIZE), algorithm->rows->block_bytes) &&
           headrace_write_number(headrace_find(params, OSSL_CIPHER_PARAM_AEAD), seals) &&
           headrace_write_number(headrace_find(params, OSSL_CIPHER_PARAM_CUSTOM_IV), seals) &&
           headrace_write_number(headrace_find(params, OSSL_CIPHER_PARAM_CTS), algorithm->kind == HEADRACE_ONE_PIECE) &&
           headrace_write_number(headrace_find(params, OSSL_CIPHER_PARAM_TLS1_MULTIBLOCK), 0) &&
           headrace_write_number(headrace_find(params, OSSL_CIPHER_PARAM_HAS_RAND_KEY), 0);
}

const OSSL_PARAM *headrace_cipher_gettable(void *provider) {
    static const OSSL_PARAM list[] = {
        HEADRACE_NUMBER(OSSL_CIPHER_PARAM_MODE),       HEADRACE_NUMBER(OSSL_CIPHER_PARAM_KEYLEN),
        HEADRACE_NUMBER(OSSL_CIPHER_PARAM_IVLEN),      HEADRACE_NUMBER(OSSL_CIPHER_PARAM_BLOCK_SIZE),
        HEADRACE_NUMBER(OSSL_CIPHER_PARAM_AEAD),       HEADRACE_NUMBER(OSSL_CIPHER_PARAM_CUSTOM_IV),
        HEADRACE_NUMBER(OSSL_CIPHER_PARAM_CTS),        HEADRACE_NUMBER(OSSL_CIPHER_PARAM_TLS1_MULTIBLOCK),
        HEADRACE_NUMBER(OSSL_CIPHER_PARAM_HAS_RAND_KEY), HEADRACE_LAST,
    };
    (void)provider;
    return list;
}

void *headrace_cipher_new(void *provider, const struct headrace_algorithm *algorithm) {
    struct cipher *const c = headrace_allocate((struct headrace_provider *)provider, sizeof *c);
    if (c == NULL || !headrace_running_make(&c->running, provider, algorithm)) {
        headrace_cipher_free(c);
        return NULL;
    }
    c->row = algorithm->rows;
    c->is_padded = true;
    c->key_bytes = usual_key(c->row);
    c->iv_bytes = usual_iv(algorithm);
    return c;
}

void headrace_cipher_free(void *context) {
    struct cipher *const c = context;
    if (c != NULL) {
        headrace_running_clear(&c->running);
        headrace_release(c->running.provider, c, sizeof *c);
    }
}

void *headrace_cipher_dup(void *context) {
    const struct cipher *const from = context;
    struct cipher *const c = headrace_allocate(from->running.provider, sizeof *c);
    if (c == NULL) {
        return NULL;
    }
    *c = *from;
    if (!headrace_running_copy(&c->running, &from->running)) {
        headrace_cipher_free(c);
        return NULL;
    }
    return c;
}

/* What counts on must not begin anew from where it began: a message under the same key stream would give both away. */
static bool counts_on(const struct cipher *c) {
    const struct headrace_algorithm *const algorithm = c->running.algorithm;
    return algorithm->kind == HEADRACE_STREAM && !headrace_has_part(algorithm, "CFB") && !headrace_has_part(algorithm, "CFB8") &&
           !headrace_has_part(algorithm, "OFB");
}

/* Ends a message, so that the key is good for the next one. */
static void close_message(struct cipher *c) {
    if (c->is_open && c->running.message.state == HR_OPEN) {
        const struct headrace_bytes strings[HEADRACE_ROLES] = {{0}};
        size_t none = 0;
        const struct headrace_room rooms[HEADRACE_ROLES] = {[HEADRACE_OUTPUT] = {NULL, 0, &none}};
        headrace_message_final(c->running.operation, &c->running.message, c->running.network, strings, rooms);
    }
    headrace_running_stop(&c->running);
    c->is_open = false;
    c->is_over = false;
    c->n_held = 0;
}

static int init(struct cipher *c, bool decrypts, const uint8_t *key, size_t key_bytes, const uint8_t *iv, size_t iv_bytes,
                const OSSL_PARAM params[]) {
    struct headrace_provider *const provider = c->running.provider;
    const bool needs_iv = headrace_has(any(c->row), iv_role(any(c->row)));
    close_message(c);
    if ((decrypts ? c->row->backward : c->row->forward) == NULL) {
        c->chosen = false;
        return headrace_raise(provider, HEADRACE_REASON_DIRECTION);
    }
    if (c->is_used && counts_on(c)) {
        c->has_iv = false;
        c->is_keyed = c->is_keyed && needs_iv;
    }
    c->is_used = false;
    c->chosen = true;
    c->decrypts = decrypts;
    if (!headrace_cipher_set(c, params)) {
        return 0;
    }
    if (iv != NULL && needs_iv) {
        if (iv_bytes != c->iv_bytes) {
            return headrace_raise(provider, HEADRACE_REASON_IV_BYTES);
        }
        memcpy(c->iv, iv, iv_bytes);
        c->has_iv = true;
    }
    if (key != NULL) {
        if (key_bytes != c->key_bytes) {
            return headrace_raise(provider, HEADRACE_REASON_KEY_BYTES);
        }
        memcpy(c->key, key, key_bytes);
        c->is_keyed = true;
        c->running.message.state = HR_NO_KEY;
    }
    return 1;
}

int headrace_cipher_encrypt_init(void *context, const unsigned char *key, size_t key_bytes, const unsigned char *iv, size_t iv_bytes,
                                 const OSSL_PARAM params[]) {
    return init(context, false, key, key_bytes, iv, iv_bytes, params);
}

int headrace_cipher_decrypt_init(void *context, const unsigned char *key, size_t key_bytes, const unsigned char *iv, size_t iv_bytes,
                                 const OSSL_PARAM params[]) {
    return init(context, true, key, key_bytes, iv, iv_bytes, params);
}

/* Begins a message, if none is under way. */
static int begin(struct cipher *c) {
    struct headrace_running *const running = &c->running;
    const struct headrace_operation *const operation = c->decrypts ? c->row->backward : c->row->forward;
    struct headrace_bytes strings[HEADRACE_ROLES] = {{0}};
    uint32_t result = HEADRACE_OK;
    if (c->is_open && running->message.state == HR_OPEN) {
        return 1;
    }
    if (!c->chosen || operation == NULL) {
        return headrace_raise(running->provider, HEADRACE_REASON_DIRECTION);
    }
    if (!c->is_keyed) {
        return headrace_raise(running->provider, HEADRACE_REASON_KEY);
    }
    if (headrace_has(operation, iv_role(operation))) {
        if (!c->has_iv) {
            return headrace_raise(running->provider, HEADRACE_REASON_IV);
        }
        strings[iv_role(operation)] = (struct headrace_bytes){c->iv, c->iv_bytes};
    }
    headrace_running_turn(running, operation);
    if (running->message.state != HR_NEW_KEY && running->message.state != HR_KEYED) {
        result = headrace_message_key(operation, &running->message, running->network, c->key, c->key_bytes);
    }
    if (result == HEADRACE_OK) {
        result = headrace_message_init(operation, &running->message, running->network, strings);
    }
    if (result != HEADRACE_OK) {
        return headrace_running_failed(running, result);
    }
    c->is_open = c->is_used = true;
    headrace_running_began(running);
    return 1;
}

/* Takes what gives as much as it is. */
static int feed(struct cipher *c, const uint8_t *in, size_t in_bytes, uint8_t *out) {
    size_t made = 0;
    uint32_t result;
    if (in_bytes == 0) {
        return 1;
    }
    if (!begin(c)) {
        return 0;
    }
    result = headrace_running_update(&c->running, in, in_bytes, (struct headrace_room){out, in_bytes, &made});
    if (result != HEADRACE_OK || made != in_bytes) {
        return headrace_running_failed(&c->running, result);
    }
    return 1;
}

static int update_blocks(struct cipher *c, uint8_t *out, size_t *out_bytes, size_t room, const uint8_t *in, size_t in_bytes) {
    const size_t block = c->row->block_bytes, total = c->n_held + in_bytes, over = total % block;
    uint8_t tail[BLOCK_MOST];
    size_t whole = total - over, n_tail, taken = 0, made = 0;
    if (c->decrypts && c->is_padded && over == 0 && whole != 0) {
        whole -= block;
    }
    if (whole == 0) {
        memcpy(c->held + c->n_held, in, in_bytes);
        c->n_held = total;
        return 1;
    }
    if (room < whole) {
        return headrace_raise(c->running.provider, HEADRACE_REASON_ROOM);
    }
    n_tail = total - whole;
    memcpy(tail, in + in_bytes - n_tail, n_tail);
    if (c->n_held != 0) {
        taken = block - c->n_held;
        memcpy(c->held + c->n_held, in, taken);
        if (!feed(c, c->held, block, out)) {
            return 0;
        }
        made = block;
    }
    if (!feed(c, in + taken, whole - made, out + made)) {
        return 0;
    }
    memcpy(c->held, tail, n_tail);
    c->running.provider->cleanse(tail, sizeof tail);
    c->n_held = n_tail;
    *out_bytes = whole;
    return 1;
}

static int update_one_piece(struct cipher *c, uint8_t *out, size_t *out_bytes, size_t room, const uint8_t *in, size_t in_bytes) {
    struct headrace_running *const running = &c->running;
    const struct headrace_bytes strings[HEADRACE_ROLES] = {{0}};
    struct headrace_room rooms[HEADRACE_ROLES] = {{0}};
    size_t made = 0, rest = 0;
    uint32_t result;
    if (c->is_over) {
        return headrace_raise(running->provider, HEADRACE_REASON_ONE_PIECE);
    }
    if (room < in_bytes) {
        return headrace_raise(running->provider, HEADRACE_REASON_ROOM);
    }
    if (!headrace_allows(any(c->row), HEADRACE_INPUT, in_bytes)) {
        return headrace_raise(running->provider, HEADRACE_REASON_LENGTH);
    }
    if (!begin(c)) {
        return 0;
    }
    result = headrace_running_update(running, in, in_bytes, (struct headrace_room){out, in_bytes, &made});
    if (result == HEADRACE_OK) {
        rooms[HEADRACE_OUTPUT] = (struct headrace_room){out + made, in_bytes - made, &rest};
        result = headrace_message_final(running->operation, &running->message, running->network, strings, rooms);
    }
    if (result != HEADRACE_OK || made + rest != in_bytes) {
        return headrace_running_failed(running, result);
    }
    c->is_open = false;
    c->is_over = true;
    *out_bytes = in_bytes;
    return 1;
}

int headrace_cipher_update(void *context, unsigned char *out, size_t *out_bytes, size_t room, const unsigned char *in,
                           size_t in_bytes) {
    struct cipher *const c = context;
    *out_bytes = 0;
    if (in_bytes == 0) {
        return 1;
    }
    if (in == NULL || out == NULL) {
        return headrace_raise(c->running.provider, HEADRACE_REASON_PARAMETER);
    }
    switch (c->running.algorithm->kind) {
    case HEADRACE_BLOCKS:
        /* Before anything is held: who has given no key wants to know it now. */
        return begin(c) && update_blocks(c, out, out_bytes, room, in, in_bytes);
    case HEADRACE_ONE_PIECE:
        return update_one_piece(c, out, out_bytes, room, in, in_bytes);
    default:
        return headrace_cipher_direct(c, out, out_bytes, room, in, in_bytes);
    }
}

/* Without padding, and nothing is held. */
int headrace_cipher_direct(void *context, unsigned char *out, size_t *out_bytes, size_t room, const unsigned char *in,
                           size_t in_bytes) {
    struct cipher *const c = context;
    const bool has_blocks = c->running.algorithm->kind == HEADRACE_BLOCKS;
    *out_bytes = 0;
    if (in == NULL || in_bytes == 0) {
        return 1;
    }
    if (c->running.algorithm->kind == HEADRACE_ONE_PIECE) {
        return update_one_piece(c, out, out_bytes, room, in, in_bytes);
    }
    if (has_blocks && (in_bytes % c->row->block_bytes != 0 || c->n_held != 0)) {
        return headrace_raise(c->running.provider, HEADRACE_REASON_BLOCKS);
    }
    if (room < in_bytes) {
        return headrace_raise(c->running.provider, HEADRACE_REASON_ROOM);
    }
    if (!feed(c, in, in_bytes, out)) {
        return 0;
    }
    *out_bytes = in_bytes;
    return 1;
}

/* How many bytes of a block are no padding; more than there are if it is wrong. Looks at all of it, whatever stands there. */
static size_t unpadded(const uint8_t *block, size_t block_bytes) {
    const size_t n = block[block_bytes - 1];
    size_t wrong = (n - 1) / block_bytes; /* none, or too many; 0 wraps */
    for (size_t i = 0; i < block_bytes; i++) {
        /* All ones from where padding begins. */
        const size_t within = (size_t)0 - (size_t)(i + n >= block_bytes);
        wrong |= within & (block[i] ^ n);
    }
    return wrong == 0 ? block_bytes - n : block_bytes + 1;
}

int headrace_cipher_final(void *context, unsigned char *out, size_t *out_bytes, size_t room) {
    struct cipher *const c = context;
    struct headrace_provider *const provider = c->running.provider;
    const size_t block = c->row->block_bytes;
    uint8_t last[BLOCK_MOST];
    size_t n = block;
    *out_bytes = 0;
    if (c->running.algorithm->kind != HEADRACE_BLOCKS) {
        return 1;
    }
    /* Of a decryption the last block is held; when padding has been switched off since, it comes out as it is. */
    if (!c->is_padded && !(c->decrypts && c->n_held == block)) {
        return c->n_held == 0 ? 1 : headrace_raise(provider, HEADRACE_REASON_BLOCKS);
    }
    if (c->decrypts && c->n_held != block) {
        return headrace_raise(provider, HEADRACE_REASON_BLOCKS);
    }
    if (!c->decrypts) {
        const size_t filled = block - c->n_held;
        if (room < block) {
            return headrace_raise(provider, HEADRACE_REASON_ROOM);
        }
        memset(c->held + c->n_held, (int)filled, filled);
    }
    if (!feed(c, c->held, block, last)) {
        provider->cleanse(last, sizeof last);
        return 0;
    }
    if (c->decrypts && c->is_padded) {
        n = unpadded(last, block);
    }
    if (n <= block && n <= room) {
        memcpy(out, last, n);
        *out_bytes = n;
    }
    c->n_held = 0;
    provider->cleanse(last, sizeof last);
    return n > block ? headrace_raise(provider, HEADRACE_REASON_PADDING)
           : n > room ? headrace_raise(provider, HEADRACE_REASON_ROOM)
                      : 1;
}

int headrace_cipher_get(void *context, OSSL_PARAM params[]) {
    const struct cipher *const c = context;
    OSSL_PARAM *const updated = headrace_find(params, OSSL_CIPHER_PARAM_UPDATED_IV);
    if (updated != NULL && c->is_used) {
        /* It is in the network. */
        return headrace_raise(c->running.provider, HEADRACE_REASON_PARAMETER);
    }
    return headrace_write_number(headrace_find(params, OSSL_CIPHER_PARAM_KEYLEN), c->key_bytes) &&
           headrace_write_number(headrace_find(params, OSSL_CIPHER_PARAM_IVLEN), c->iv_bytes) &&
           headrace_write_number(headrace_find(params, OSSL_CIPHER_PARAM_PADDING), c->is_padded) &&
           headrace_write_number(headrace_find(params, OSSL_CIPHER_PARAM_NUM), 0) &&
           headrace_write_bytes(headrace_find(params, OSSL_CIPHER_PARAM_IV), c->iv, c->iv_bytes) &&
           headrace_write_bytes(updated, c->iv, c->iv_bytes) &&
           (c->running.algorithm->kind != HEADRACE_ONE_PIECE ||
            headrace_write_text(headrace_find(params, OSSL_CIPHER_PARAM_CTS_MODE), c->row->of));
}

static bool set_form(struct cipher *c, const OSSL_PARAM *form) {
    size_t bytes = 0;
    const char *const name = headrace_read_text(form, &bytes);
    for (size_t i = 0; name != NULL && i < c->running.algorithm->n_rows; i++) {
        const struct headrace_row *const row = &c->running.algorithm->rows[i];
        if (headrace_is_among(row->of, name, bytes)) {
            if (row != c->row) {
                close_message(c);
            }
            c->row = row;
            return true;
        }
    }
    return false;
}

int headrace_cipher_set(void *context, const OSSL_PARAM params[]) {
    struct cipher *const c = context;
    struct headrace_provider *const provider = c->running.provider;
    const OSSL_PARAM *const padding = headrace_given(params, OSSL_CIPHER_PARAM_PADDING);
    const OSSL_PARAM *const key_bytes = headrace_given(params, OSSL_CIPHER_PARAM_KEYLEN);
    const OSSL_PARAM *const form = headrace_given(params, OSSL_CIPHER_PARAM_CTS_MODE);
    size_t number = 0;
    if (headrace_given(params, OSSL_CIPHER_PARAM_TLS_VERSION) != NULL || headrace_given(params, OSSL_CIPHER_PARAM_TLS_MAC_SIZE) != NULL) {
        return headrace_raise(provider, HEADRACE_REASON_TLS);
    }
    if (headrace_given(params, OSSL_CIPHER_PARAM_ROUNDS) != NULL || headrace_given(params, OSSL_CIPHER_PARAM_USE_BITS) != NULL ||
        headrace_given(params, OSSL_CIPHER_PARAM_NUM) != NULL) {
        return headrace_raise(provider, HEADRACE_REASON_PARAMETER);
    }
    if (padding != NULL) {
        if (!headrace_read_number(padding, &number)) {
            return headrace_raise(provider, HEADRACE_REASON_PARAMETER);
        }
        c->is_padded = number != 0;
    }
    if (form != NULL && (c->running.algorithm->kind != HEADRACE_ONE_PIECE || !set_form(c, form))) {
        return headrace_raise(provider, HEADRACE_REASON_CHOICE);
    }
    if (key_bytes != NULL) {
        if (!headrace_read_number(key_bytes, &number) || number > KEY_MOST || (c->row->key_bytes != 0 && number != c->row->key_bytes) ||
            !headrace_allows(any(c->row), HEADRACE_KEY, number)) {
            return headrace_raise(provider, HEADRACE_REASON_KEY_BYTES);
        }
        if (number != c->key_bytes) {
            c->key_bytes = number;
            c->is_keyed = false;
        }
    }
    return 1;
}

const OSSL_PARAM *headrace_cipher_gettable_here(void *context, void *provider) {
    static const OSSL_PARAM list[] = {
        HEADRACE_NUMBER(OSSL_CIPHER_PARAM_KEYLEN), HEADRACE_NUMBER(OSSL_CIPHER_PARAM_IVLEN),
        HEADRACE_NUMBER(OSSL_CIPHER_PARAM_PADDING), HEADRACE_NUMBER(OSSL_CIPHER_PARAM_NUM),
        HEADRACE_BYTES(OSSL_CIPHER_PARAM_IV),      HEADRACE_BYTES(OSSL_CIPHER_PARAM_UPDATED_IV),
        HEADRACE_TEXT(OSSL_CIPHER_PARAM_CTS_MODE), HEADRACE_LAST,
    };
    (void)context;
    (void)provider;
    return list;
}

const OSSL_PARAM *headrace_cipher_settable(void *context, void *provider) {
    static const OSSL_PARAM list[] = {
        HEADRACE_NUMBER(OSSL_CIPHER_PARAM_PADDING),
        HEADRACE_NUMBER(OSSL_CIPHER_PARAM_KEYLEN),
        HEADRACE_TEXT(OSSL_CIPHER_PARAM_CTS_MODE),
        HEADRACE_LAST,
    };
    (void)context;
    (void)provider;
    return list;
}
