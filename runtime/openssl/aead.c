/* Ciphers that authenticate. Of a message to be verified nothing comes out before it was, unless the program wants pieces. */
#include "aead.h"

#include "headrace_whole.h"

static enum protocol protocol_of(const struct headrace_algorithm *algorithm) {
    return headrace_has_part(algorithm, "GCM")   ? PROTOCOL_GCM
           : headrace_has_part(algorithm, "CCM") ? PROTOCOL_CCM
           : headrace_has_part(algorithm, "OCB") ? PROTOCOL_OCB
                                                 : PROTOCOL_USUAL;
}

/* Text and associated data are in one piece each. */
static bool in_one_piece(const struct aead *c) {
    return headrace_aead_any(c)->single_chunk;
}

static int fail(struct aead *c, uint32_t result) {
    c->stage = FAILED;
    c->has_iv = false;
    c->running.message.state = HR_NO_KEY;
    return headrace_running_failed(&c->running, result);
}

void *headrace_aead_new(void *provider, const struct headrace_algorithm *algorithm) {
    struct aead *const c = headrace_allocate((struct headrace_provider *)provider, sizeof *c);
    size_t least, most, key_least;
    if (c == NULL || !headrace_running_make(&c->running, provider, algorithm)) {
        headrace_aead_free(c);
        return NULL;
    }
    headrace_bounds(headrace_aead_any(c), HEADRACE_KEY, AEAD_KEY_MOST, &key_least, &c->key_bytes);
    headrace_bounds(headrace_aead_any(c), headrace_aead_iv_role(c), AEAD_IV_MOST, &least, &most);
    c->protocol = protocol_of(algorithm);
    /* As OpenSSL has it: a field of 8 bytes for the length, and with it the shortest nonce and a tag of 12 bytes. */
    c->iv_bytes = in_one_piece(c) ? least : least <= 12 && most >= 12 ? 12 : most;
    c->tag_bytes = in_one_piece(c) ? 12 : AEAD_TAG_MOST;
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

void headrace_aead_renew(struct aead *c, const uint8_t *nonce) {
    headrace_running_stop(&c->running);
    memcpy(c->nonce, nonce, c->iv_bytes);
    c->has_iv = c->had_iv = true;
    c->stage = NOT_BEGUN;
    c->knows_length = c->has_ad = c->ends_later = false;
    c->n_ad = 0;
}

/* A message goes on where nothing is given. One that has begun cannot turn into another with the same nonce: neither by a key
   nor by another direction. */
static int init(struct aead *c, bool decrypts, const uint8_t *key, size_t key_bytes, const uint8_t *iv, size_t iv_bytes,
                const OSSL_PARAM params[]) {
    const bool has_begun = c->stage == IN_AD || c->stage == IN_TEXT;
    if (has_begun && (key != NULL || decrypts != c->decrypts)) {
        c->stage = FAILED;
        c->has_iv = false;
    }
    c->decrypts = decrypts;
    c->chosen = true;
    c->chosen = has_direction(c);
    if (!c->chosen) {
        return raise_here(c, HEADRACE_REASON_DIRECTION);
    }
    if (c->protocol == PROTOCOL_USUAL && (iv != NULL || key != NULL)) {
        c->is_record = false;
    }
    if (iv != NULL) {
        if (iv_bytes != c->iv_bytes) {
            return raise_here(c, HEADRACE_REASON_IV_BYTES);
        }
        memcpy(c->iv, iv, iv_bytes);
        headrace_aead_renew(c, c->iv);
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

/* How long the tag is that is made or verified; where its length is no part of the message, it is made whole. */
static size_t tag_bytes(const struct aead *c) {
    return !c->decrypts && (c->protocol == PROTOCOL_GCM || c->protocol == PROTOCOL_USUAL) ? AEAD_TAG_MOST : c->tag_bytes;
}

/* The operation that makes, or verifies, tags of this length. */
const struct headrace_operation *headrace_aead_operation(const struct aead *c) {
    const struct headrace_algorithm *const algorithm = c->running.algorithm;
    for (size_t i = 0; i < algorithm->n_rows; i++) {
        const struct headrace_operation *const operation = c->decrypts ? algorithm->rows[i].backward : algorithm->rows[i].forward;
        if (operation != NULL && headrace_allows(operation, c->decrypts ? HEADRACE_TAG_IN : HEADRACE_TAG, tag_bytes(c))) {
            return operation;
        }
    }
    return NULL;
}

/* Gives the network the nonce, and what stands before it: with the associated data, not before, since a message whose text comes whole
   goes to the network by one call. */
static int put_nonce(struct aead *c) {
    struct headrace_running *const running = &c->running;
    const struct headrace_operation *const op = c->operation;
    uint32_t result = HEADRACE_OK;
    if (c->is_sent) {
        return 1;
    }
    if (running->message.state == HR_KEYED) {
        result = hr_message_put_flag(op, running->network, op->rekey, false);
    }
    if (result == HEADRACE_OK) {
        result = hr_message_put_flag(op, running->network, op->decrypt, op->decrypts);
    }
    if (result == HEADRACE_OK && op->single_chunk) {
        result = hr_message_put_word(op, running->network, op->strings[HEADRACE_INPUT].size_port, HR_LAST_CHUNK | (uint32_t)c->text_bytes);
    }
    if (result == HEADRACE_OK) {
        result = hr_message_put_string(op, running->network, headrace_aead_iv_role(c), c->nonce, c->iv_bytes);
    }
    if (result != HEADRACE_OK) {
        return fail(c, result);
    }
    running->message.state = HR_OPEN;
    running->message.input_bytes = 0;
    c->is_sent = true;
    return 1;
}

/* All that a message needs before its associated data is there, and the network has the key. */
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
    if (!headrace_aead_need_iv(c)) {
        return 0;
    }
    if (!c->has_iv) {
        return raise_here(c, HEADRACE_REASON_IV);
    }
    op = headrace_aead_operation(c);
    if (op == NULL) {
        return raise_here(c, HEADRACE_REASON_TAG_BYTES);
    }
    role = headrace_aead_iv_role(c);
    if (!headrace_allows(op, role, c->iv_bytes)) {
        return raise_here(c, HEADRACE_REASON_IV_BYTES);
    }
    headrace_running_turn(running, op);
    if (!headrace_running_has_key(running)) {
        result = headrace_message_key(op, &running->message, running->network, c->key, c->key_bytes);
    }
    if (result != HEADRACE_OK) {
        return fail(c, result);
    }
    c->operation = op;
    c->is_sent = false;
    c->stage = IN_AD;
    headrace_running_began(running);
    return 1;
}

/* A chunk of associated data. */
static int put_ad(struct aead *c, const uint8_t *ad, size_t bytes, uint32_t last) {
    const struct headrace_string *const string = &c->operation->strings[HEADRACE_AD];
    void *const network = c->running.network;
    if (!put_nonce(c)) {
        return 0;
    }
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
    if (in_one_piece(c) && bytes == 0 && c->is_keyed && c->has_iv) {
        return 1;
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
    if (bytes > AEAD_AD_MOST - c->n_ad) {
        if (c->n_ad != 0 && !put_ad(c, c->ad, c->n_ad, 0)) {
            return 0;
        }
        c->n_ad = 0;
        if (bytes > AEAD_AD_MOST) {
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

/* What is left of a message whose tag was made, or verified. */
static int ended(struct aead *c, uint32_t result) {
    if (result != HEADRACE_OK && result != HEADRACE_REFUSED) {
        return fail(c, result);
    }
    c->has_iv = false;
    if (result == HEADRACE_REFUSED) {
        c->stage = FAILED;
        return raise_here(c, HEADRACE_REASON_FORGED);
    }
    c->stage = OVER;
    c->is_tag_made = c->is_tag_made || !c->decrypts;
    c->has_tag = !(c->decrypts && c->protocol == PROTOCOL_CCM);
    return 1;
}

/* Ends the message: makes the tag, or verifies it. What was held back goes to `out`, behind the `*made` bytes there. */
static int finish(struct aead *c, uint8_t *out, size_t room, size_t *made) {
    struct headrace_running *const running = &c->running;
    size_t made_bytes = 0, rest = 0;
    struct headrace_bytes strings[HEADRACE_ROLES] = {[HEADRACE_TAG_IN] = {c->tag, c->tag_bytes}};
    struct headrace_room rooms[HEADRACE_ROLES] = {
        [HEADRACE_OUTPUT] = {out == NULL ? NULL : out + *made, out == NULL ? 0 : room - *made, &rest},
        [HEADRACE_TAG] = {c->tag, tag_bytes(c), &made_bytes},
    };
    uint32_t result = HEADRACE_OK;
    if (!c->decrypts) {
        /* What is still in the network; a decryption waits for the tag. */
        result = hr_message_pump(c->operation, running->network, NULL, 0, 0, &rooms[HEADRACE_OUTPUT]);
    }
    result = hr_message_finish(c->operation, running->network, strings, rooms, result);
    if (result == HEADRACE_OK || result == HEADRACE_REFUSED) {
        hr_message_ended(c->operation, &running->message, result);
    }
    *made += result == HEADRACE_OK ? rest : 0;
    return ended(c, result);
}

/* A whole message by one call, where the network has a function for it and nothing of the message yet; false: there is none. */
static bool take_at_once(struct aead *c, uint8_t *out, size_t *made, const uint8_t *in, size_t in_bytes, uint32_t *result) {
    size_t made_bytes = 0;
    struct headrace_bytes strings[HEADRACE_ROLES] = {
        [HEADRACE_AD] = {c->ad, c->n_ad},
        [HEADRACE_INPUT] = {in, in_bytes},
        [HEADRACE_TAG_IN] = {c->tag, c->tag_bytes},
    };
    const struct headrace_room rooms[HEADRACE_ROLES] = {
        [HEADRACE_OUTPUT] = {out, in_bytes, made},
        [HEADRACE_TAG] = {c->tag, tag_bytes(c), &made_bytes},
    };
    strings[headrace_aead_iv_role(c)] = (struct headrace_bytes){c->nonce, c->iv_bytes};
    return c->operation->whole != NULL && !c->is_sent &&
           c->operation->whole(&c->running.message, c->running.network, strings, rooms, result);
}

/* Text that is all there is, or that ends a message which could not be verified before. */
static int take_all(struct aead *c, uint8_t *out, size_t *out_bytes, size_t room, const uint8_t *in, size_t in_bytes) {
    struct headrace_running *const running = &c->running;
    const struct headrace_operation *op;
    size_t made = 0;
    uint32_t result;
    int good;
    c->text_bytes = in_bytes;
    if (in_bytes > HR_CHUNK_MOST || !headrace_allows(headrace_aead_any(c), HEADRACE_INPUT, in_bytes)) {
        return raise_here(c, HEADRACE_REASON_LENGTH);
    }
    if (room < in_bytes) {
        return raise_here(c, HEADRACE_REASON_ROOM);
    }
    if (!begin(c)) {
        return 0;
    }
    if (take_at_once(c, out, &made, in, in_bytes, &result)) {
        headrace_running_took(running, in_bytes);
        good = ended(c, result);
    } else {
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
    }
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

int headrace_aead_whole(struct aead *c, const uint8_t *ad, size_t ad_bytes, uint8_t *out, const uint8_t *in, size_t bytes, uint8_t *tag,
                        size_t n_tag) {
    const size_t usual = c->tag_bytes;
    size_t made = 0;
    int good;
    c->tag_bytes = n_tag;
    c->knows_length = true;
    c->text_bytes = bytes;
    if (c->decrypts) {
        memcpy(c->tag, tag, n_tag);
        c->has_tag = true;
    }
    good = take_ad(c, ad, ad_bytes) && take_all(c, out, &made, bytes, in, bytes);
    if (good && !c->decrypts) {
        memcpy(tag, c->tag, n_tag);
    }
    c->tag_bytes = usual;
    return good;
}

/* The length of a text, which CCM wants first. */
static int take_length(struct aead *c, size_t *out_bytes, size_t bytes) {
    if (!c->is_keyed || !c->has_iv) {
        return raise_here(c, c->is_keyed ? HEADRACE_REASON_IV : HEADRACE_REASON_KEY);
    }
    if (c->stage != NOT_BEGUN || bytes > HR_CHUNK_MOST) {
        return raise_here(c, c->stage != NOT_BEGUN ? HEADRACE_REASON_ORDER : HEADRACE_REASON_LENGTH);
    }
    c->text_bytes = bytes;
    c->knows_length = true;
    *out_bytes = bytes;
    return 1;
}

int headrace_aead_update(void *context, unsigned char *out, size_t *out_bytes, size_t room, const unsigned char *in, size_t in_bytes) {
    struct aead *const c = context;
    *out_bytes = 0;
    if (c->is_record && (in_bytes != 0 || c->protocol == PROTOCOL_CCM)) {
        return headrace_aead_record(c, out, out_bytes, room, in, in_bytes);
    }
    if (out == NULL && in == NULL && in_one_piece(c)) {
        return take_length(c, out_bytes, in_bytes);
    }
    if (in_bytes == 0 && !in_one_piece(c)) {
        /* Only OCB looks whether there could be more. */
        return c->protocol != PROTOCOL_OCB || begin(c);
    }
    if (in == NULL) {
        return raise_here(c, HEADRACE_REASON_PARAMETER);
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
    if (c->stage == OVER) {
        return raise_here(c, HEADRACE_REASON_ONE_PIECE);
    }
    if (c->decrypts && !c->has_tag) {
        return raise_here(c, HEADRACE_REASON_TAG);
    }
    if (c->knows_length && in_bytes != c->text_bytes) {
        return raise_here(c, HEADRACE_REASON_LENGTH);
    }
    /* What was verified ends once more. */
    c->ends_later = take_all(c, out, out_bytes, room, in, in_bytes) != 0;
    return c->ends_later;
}

/* CCM ends with its text; an encryption that had none has no tag, and nothing is right of a decryption before it was seen. */
static int final_of_one_piece(struct aead *c, uint8_t *out, size_t *out_bytes, size_t room) {
    if (!c->is_keyed) {
        return raise_here(c, HEADRACE_REASON_KEY);
    }
    if (!c->decrypts || c->stage == OVER) {
        return 1;
    }
    if (!c->has_tag || (c->knows_length && c->text_bytes != 0)) {
        return raise_here(c, c->has_tag ? HEADRACE_REASON_LENGTH : HEADRACE_REASON_TAG);
    }
    return take_all(c, out, out_bytes, room, NULL, 0);
}

int headrace_aead_final(void *context, unsigned char *out, size_t *out_bytes, size_t room) {
    struct aead *const c = context;
    uint32_t result;
    *out_bytes = 0;
    if (c->is_record) {
        /* A record has no end of its own. */
        return headrace_aead_record(c, out, out_bytes, room, NULL, 0);
    }
    if (c->stage == FAILED) {
        return raise_here(c, c->decrypts ? HEADRACE_REASON_FORGED : HEADRACE_REASON_ORDER);
    }
    if (in_one_piece(c)) {
        return final_of_one_piece(c, out, out_bytes, room);
    }
    if (c->stage == OVER) {
        const bool ends_now = c->ends_later;
        c->ends_later = false;
        return ends_now ? 1 : raise_here(c, HEADRACE_REASON_ORDER);
    }
    if (c->decrypts && !c->has_tag) {
        return raise_here(c, HEADRACE_REASON_TAG);
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
    struct aead *const c = context;
    *out_bytes = 0;
    if (in != NULL && in_bytes == 0 && c->protocol == PROTOCOL_GCM) {
        return c->is_record ? headrace_aead_record(c, out, out_bytes, room, in, 0) : begin(c);
    }
    return in == NULL ? headrace_aead_final(context, out, out_bytes, room)
                      : headrace_aead_update(context, out, out_bytes, room, in, in_bytes);
}
