/* Ciphers that do not authenticate: streams, whole blocks with or without padding, messages in one piece. */
#include "cipher.h"

#include "headrace_whole.h"

/* Overlapping blocks go through so many bytes. */
#define ASIDE 1024

static enum feedback feedback_of(const struct headrace_algorithm *algorithm) {
    static const struct {
        const char *part;
        enum feedback feedback;
    } kinds[] = {
        {"ECB", FEEDBACK_NONE}, {"CBC", FEEDBACK_CBC}, {"CFB", FEEDBACK_CFB}, {"CFB8", FEEDBACK_CFB8},
        {"OFB", FEEDBACK_OFB}, {"CTR", FEEDBACK_COUNTER},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (headrace_has_part(algorithm, kinds[i].part)) {
            return kinds[i].feedback;
        }
    }
    return algorithm->kind == HEADRACE_STREAM ? FEEDBACK_OWN : FEEDBACK_NONE;
}

void *headrace_cipher_new(void *provider, const struct headrace_algorithm *algorithm) {
    struct cipher *const c = headrace_allocate((struct headrace_provider *)provider, sizeof *c);
    if (c == NULL || !headrace_running_make(&c->running, provider, algorithm)) {
        headrace_cipher_free(c);
        return NULL;
    }
    c->row = algorithm->rows;
    c->feedback = feedback_of(algorithm);
    c->is_padded = true;
    c->key_bytes = headrace_usual_key(c->row);
    c->iv_bytes = headrace_usual_iv(algorithm);
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

void headrace_cipher_close(struct cipher *c) {
    if (c->is_open && c->running.message.state == HR_OPEN) {
        const struct headrace_bytes strings[HEADRACE_ROLES] = {{0}};
        size_t none = 0;
        const struct headrace_room rooms[HEADRACE_ROLES] = {[HEADRACE_OUTPUT] = {NULL, 0, &none}};
        headrace_message_final(c->running.operation, &c->running.message, c->running.network, strings, rooms);
    }
    headrace_running_stop(&c->running);
    c->is_open = false;
    c->is_over = false;
}

/* A new message as OpenSSL begins one: with what is given, and where neither key nor initial block is, CTR and stream ciphers
   go on, so that no key stream comes twice, and others begin with the initial block that they had. */
static int init(struct cipher *c, bool decrypts, const uint8_t *key, size_t key_bytes, const uint8_t *iv, size_t iv_bytes,
                const OSSL_PARAM params[]) {
    struct headrace_provider *const provider = c->running.provider;
    const bool needs_iv = headrace_has(headrace_any(c->row), headrace_iv_role(headrace_any(c->row)));
    const bool goes_on = c->feedback == FEEDBACK_OWN && key == NULL && (iv == NULL || !needs_iv);
    if ((decrypts ? c->row->backward : c->row->forward) == NULL) {
        c->chosen = false;
        return headrace_raise(provider, HEADRACE_REASON_DIRECTION);
    }
    if (!goes_on) {
        headrace_cipher_close(c);
        if (c->feedback == FEEDBACK_OWN && c->is_used && iv == NULL && needs_iv) {
            /* Where its counter stands is not known. */
            c->has_iv = false;
        }
        c->is_used = false;
    }
    c->n_held = 0;
    c->number = 0;
    c->chosen = true;
    c->decrypts = decrypts;
    if (iv != NULL && needs_iv) {
        if (iv_bytes != c->iv_bytes) {
            return headrace_raise(provider, HEADRACE_REASON_IV_BYTES);
        }
        memcpy(c->iv, iv, iv_bytes);
        memcpy(c->now, iv, iv_bytes);
        c->has_iv = true;
    } else if (c->has_iv && c->feedback != FEEDBACK_COUNTER) {
        memcpy(c->now, c->iv, sizeof c->now);
    }
    if (key != NULL) {
        if (key_bytes != c->key_bytes) {
            return headrace_raise(provider, HEADRACE_REASON_KEY_BYTES);
        }
        memcpy(c->key, key, key_bytes);
        c->is_keyed = true;
        c->running.message.state = HR_NO_KEY;
    }
    return headrace_cipher_set(c, params);
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
    if (!c->chosen || operation == NULL) {
        return headrace_raise(running->provider, HEADRACE_REASON_DIRECTION);
    }
    if (c->is_open && running->message.state == HR_OPEN && running->operation == operation) {
        return 1;
    }
    if (!c->is_keyed) {
        return headrace_raise(running->provider, HEADRACE_REASON_KEY);
    }
    if (headrace_has(operation, headrace_iv_role(operation))) {
        if (!c->has_iv) {
            return headrace_raise(running->provider, HEADRACE_REASON_IV);
        }
        strings[headrace_iv_role(operation)] = (struct headrace_bytes){c->now, c->iv_bytes};
    }
    if (c->feedback == FEEDBACK_OWN && c->is_used) {
        /* It failed on the way, or goes on in another direction. */
        return headrace_raise(running->provider, HEADRACE_REASON_ORDER);
    }
    headrace_running_turn(running, operation);
    if (!headrace_running_has_key(running)) {
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

int headrace_cipher_feed(struct cipher *c, const uint8_t *in, size_t in_bytes, uint8_t *out) {
    struct headrace_fed fed;
    size_t made = 0;
    uint32_t result;
    bool good;
    if (in_bytes == 0) {
        return 1;
    }
    if (!begin(c)) {
        return 0;
    }
    headrace_feedback_before(c, in, in_bytes, &fed);
    result = headrace_running_update(&c->running, in, in_bytes, (struct headrace_room){out, in_bytes, &made});
    good = result == HEADRACE_OK && made == in_bytes;
    if (good) {
        headrace_feedback_after(c, out, in_bytes, &fed);
    }
    /* It may be text. */
    c->running.provider->cleanse(&fed, sizeof fed);
    return good ? 1 : headrace_running_failed(&c->running, result);
}

/* Blocks of which the first bytes are held, in their own place: each is read before the one that is written over it. */
static int feed_shifted(struct cipher *c, const uint8_t *in, size_t whole, uint8_t *out) {
    const size_t block = c->row->block_bytes, held = c->n_held;
    uint8_t aside[ASIDE + BLOCK_MOST];
    int good = 1;
    memcpy(aside, c->held, held);
    while (good && whole != 0) {
        const size_t piece = whole < ASIDE ? whole : ASIDE - ASIDE % block;
        /* As much as is written; behind the last block nothing is read. */
        const size_t bytes = piece == whole ? piece - held : piece;
        memcpy(aside + held, in, bytes);
        good = headrace_cipher_feed(c, aside, piece, out);
        memmove(aside, aside + piece, held);
        in += bytes;
        out += piece;
        whole -= piece;
    }
    c->running.provider->cleanse(aside, sizeof aside);
    return good;
}

static int update_blocks(struct cipher *c, uint8_t *out, size_t *out_bytes, size_t room, const uint8_t *in, size_t in_bytes) {
    const size_t block = c->row->block_bytes, total = c->n_held + in_bytes, over = total % block;
    uint8_t tail[BLOCK_MOST];
    size_t whole = total - over, n_tail;
    int good;
    if (c->decrypts && c->is_padded && over == 0 && whole != 0) {
        whole -= block;
    }
    if (whole == 0) {
        if (in_bytes != 0) {
            memcpy(c->held + c->n_held, in, in_bytes);
        }
        c->n_held = total;
        return 1;
    }
    if (room < whole) {
        return headrace_raise(c->running.provider, HEADRACE_REASON_ROOM);
    }
    n_tail = total - whole;
    if (n_tail != 0) {
        memcpy(tail, in + in_bytes - n_tail, n_tail);
    }
    if (c->n_held == 0) {
        good = headrace_cipher_feed(c, in, whole, out);
    } else if (in_bytes != 0 && hr_message_overlap(in, in_bytes, out, whole)) {
        good = feed_shifted(c, in, whole, out);
    } else {
        const size_t taken = block - c->n_held;
        if (taken != 0) {
            memcpy(c->held + c->n_held, in, taken);
        }
        good = headrace_cipher_feed(c, c->held, block, out) && headrace_cipher_feed(c, in + taken, whole - block, out + block);
    }
    if (!good) {
        c->running.provider->cleanse(tail, sizeof tail);
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
    uint8_t now[BLOCK_MOST] = {0};
    if (c->is_over) {
        return headrace_raise(running->provider, HEADRACE_REASON_ONE_PIECE);
    }
    if (room < in_bytes) {
        return headrace_raise(running->provider, HEADRACE_REASON_ROOM);
    }
    if (!headrace_allows(headrace_any(c->row), HEADRACE_INPUT, in_bytes)) {
        return headrace_raise(running->provider, HEADRACE_REASON_LENGTH);
    }
    if (!begin(c)) {
        return 0;
    }
    if (c->decrypts) {
        /* Before it is overwritten in its own place. */
        headrace_feedback_stolen(c, in, in_bytes, now);
    }
    result = headrace_running_update(running, in, in_bytes, (struct headrace_room){out, in_bytes, &made});
    if (result == HEADRACE_OK) {
        rooms[HEADRACE_OUTPUT] = (struct headrace_room){out + made, in_bytes - made, &rest};
        result = headrace_message_final(running->operation, &running->message, running->network, strings, rooms);
    }
    if (result != HEADRACE_OK || made + rest != in_bytes) {
        return headrace_running_failed(running, result);
    }
    if (c->decrypts) {
        memcpy(c->now, now, c->iv_bytes);
    } else {
        headrace_feedback_stolen(c, out, in_bytes, c->now);
    }
    c->is_open = false;
    c->is_over = true;
    *out_bytes = in_bytes;
    return 1;
}

int headrace_cipher_update(void *context, unsigned char *out, size_t *out_bytes, size_t room, const unsigned char *in,
                           size_t in_bytes) {
    struct cipher *const c = context;
    const enum headrace_kind kind = c->running.algorithm->kind;
    *out_bytes = 0;
    /* Before anything is held: who has given no key wants to know it now. */
    if (!c->is_keyed) {
        return headrace_raise(c->running.provider, HEADRACE_REASON_KEY);
    }
    if (kind == HEADRACE_BLOCKS && c->tls_version != 0) {
        return in == NULL || in != out || !c->is_padded ? headrace_raise(c->running.provider, HEADRACE_REASON_PARAMETER)
                                                         : headrace_cipher_record(c, out, out_bytes, room, in_bytes);
    }
    if (in_bytes == 0) {
        return kind == HEADRACE_BLOCKS  ? update_blocks(c, out, out_bytes, room, in, 0)
               : kind == HEADRACE_STREAM ? 1
                                         : headrace_raise(c->running.provider, HEADRACE_REASON_LENGTH);
    }
    if (in == NULL || out == NULL) {
        return headrace_raise(c->running.provider, HEADRACE_REASON_PARAMETER);
    }
    switch (kind) {
    case HEADRACE_BLOCKS:
        return begin(c) && update_blocks(c, out, out_bytes, room, in, in_bytes);
    case HEADRACE_ONE_PIECE:
        return update_one_piece(c, out, out_bytes, room, in, in_bytes);
    default:
        return headrace_cipher_direct(c, out, out_bytes, room, in, in_bytes) &&
               (!c->decrypts || c->tls_version == 0 || headrace_cipher_split(c, out, out_bytes));
    }
}

/* Without padding, and beside what is held. */
int headrace_cipher_direct(void *context, unsigned char *out, size_t *out_bytes, size_t room, const unsigned char *in,
                           size_t in_bytes) {
    struct cipher *const c = context;
    const bool has_blocks = c->running.algorithm->kind == HEADRACE_BLOCKS;
    *out_bytes = 0;
    if (!c->is_keyed) {
        return headrace_raise(c->running.provider, HEADRACE_REASON_KEY);
    }
    if (in == NULL || in_bytes == 0) {
        return 1;
    }
    if (c->running.algorithm->kind == HEADRACE_ONE_PIECE) {
        return update_one_piece(c, out, out_bytes, room, in, in_bytes);
    }
    if (has_blocks && in_bytes % c->row->block_bytes != 0) {
        return headrace_raise(c->running.provider, HEADRACE_REASON_BLOCKS);
    }
    if (room < in_bytes) {
        return headrace_raise(c->running.provider, HEADRACE_REASON_ROOM);
    }
    if (!headrace_cipher_feed(c, in, in_bytes, out)) {
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
    if (c->running.algorithm->kind == HEADRACE_ONE_PIECE) {
        return 1;
    }
    if (!c->is_keyed) {
        return headrace_raise(provider, HEADRACE_REASON_KEY);
    }
    if (c->running.algorithm->kind == HEADRACE_STREAM) {
        return 1;
    }
    if (c->tls_version != 0) {
        /* Each record is a message. */
        return headrace_raise(provider, HEADRACE_REASON_ORDER);
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
    if (!headrace_cipher_feed(c, c->held, block, last)) {
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
    if (n > block) {
        /* As OpenSSL has it: the block stays, decrypted. */
        memcpy(c->held, last, block);
    } else {
        c->n_held = 0;
    }
    provider->cleanse(last, sizeof last);
    return n > block ? headrace_raise(provider, HEADRACE_REASON_PADDING)
           : n > room ? headrace_raise(provider, HEADRACE_REASON_ROOM)
                      : 1;
}
