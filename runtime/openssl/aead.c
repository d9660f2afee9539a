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
        if (c->aside != NULL) {
            headrace_release(c->running.provider, c->aside, AEAD_AHEAD_MOST);
        }
        headrace_release(c->running.provider, c, sizeof *c);
    }
}

/* Whether there is room for a text aside. */
static bool has_aside(struct aead *c) {
    if (c->aside == NULL) {
        c->aside = headrace_allocate(c->running.provider, AEAD_AHEAD_MOST);
    }
    return c->aside != NULL;
}

void *headrace_aead_dup(void *context) {
    const struct aead *const from = context;
    struct aead *const c = headrace_allocate(from->running.provider, sizeof *c);
    if (c == NULL) {
        return NULL;
    }
    *c = *from;
    c->aside = NULL;
    if (!headrace_running_copy(&c->running, &from->running) || (from->stage == AHEAD && !has_aside(c))) {
        headrace_aead_free(c);
        return NULL;
    }
    if (from->stage == AHEAD) {
        memcpy(c->aside, from->aside, from->n_aside);
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
    if (headrace_aead_has_begun(c) && (key != NULL || decrypts != c->decrypts)) {
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
const struct headrace_operation *headrace_aead_operation(struct aead *c) {
    const struct headrace_algorithm *const algorithm = c->running.algorithm;
    const size_t bytes = tag_bytes(c);
    struct aead_known *const known = &c->known[c->decrypts];
    if (known->operation != NULL && known->tag_bytes == bytes) {
        return known->operation;
    }
    for (size_t i = 0; i < algorithm->n_rows; i++) {
        const struct headrace_operation *const operation = c->decrypts ? algorithm->rows[i].backward : algorithm->rows[i].forward;
        if (operation != NULL && headrace_allows(operation, c->decrypts ? HEADRACE_TAG_IN : HEADRACE_TAG, bytes)) {
            *known = (struct aead_known){operation, bytes, 0};
            return operation;
        }
    }
    return NULL;
}

/* Whether nonces of this length go with the operation of the context. */
static bool allows_iv(struct aead *c) {
    struct aead_known *const known = &c->known[c->decrypts];
    if (known->iv_bytes == 0 && headrace_allows(known->operation, headrace_aead_iv_role(c), c->iv_bytes)) {
        known->iv_bytes = c->iv_bytes;
    }
    return known->iv_bytes == c->iv_bytes || headrace_allows(known->operation, headrace_aead_iv_role(c), c->iv_bytes);
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

/* The network has the key. */
static int give_key(struct aead *c) {
    struct headrace_running *const running = &c->running;
    const uint32_t result = headrace_running_has_key(running)
                                ? HEADRACE_OK
                                : headrace_message_key(c->operation, &running->message, running->network, c->key, c->key_bytes);
    return result == HEADRACE_OK ? 1 : fail(c, result);
}

/* All that a message needs before its associated data is there, and the network has the key. */
static int begin(struct aead *c) {
    struct headrace_running *const running = &c->running;
    const struct headrace_operation *op;
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
    if (!allows_iv(c)) {
        return raise_here(c, HEADRACE_REASON_IV_BYTES);
    }
    headrace_running_turn(running, op);
    c->operation = op;
    if (!give_key(c)) {
        return 0;
    }
    c->n_pieces = 0;
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

/* A whole message, or one up to its first piece of text, by one call, where the network has a function for it and nothing of the message
   yet; false: there is none. */
static bool take_at_once(struct aead *c, headrace_one_call *call, struct headrace_room out, const uint8_t *in, size_t in_bytes,
                         uint32_t *result) {
    size_t made_bytes = 0;
    struct headrace_bytes strings[HEADRACE_ROLES];
    struct headrace_room rooms[HEADRACE_ROLES];
    if (call == NULL || c->is_sent) {
        return false;
    }
    /* Nothing of other roles is looked at: these are all that such an operation has. */
    strings[HEADRACE_SECRET_NONCE] = (struct headrace_bytes){NULL, 0};
    strings[headrace_aead_iv_role(c)] = (struct headrace_bytes){c->nonce, c->iv_bytes};
    strings[HEADRACE_AD] = (struct headrace_bytes){c->ad, c->n_ad};
    strings[HEADRACE_INPUT] = (struct headrace_bytes){in, in_bytes};
    strings[HEADRACE_TAG_IN] = (struct headrace_bytes){c->tag, c->tag_bytes};
    rooms[HEADRACE_SECRET_NONCE_OUT] = (struct headrace_room){NULL, 0, &made_bytes};
    rooms[HEADRACE_OUTPUT] = out;
    rooms[HEADRACE_TAG] = (struct headrace_room){c->tag, tag_bytes(c), &made_bytes};
    return call(&c->running.message, c->running.network, strings, rooms, result);
}

/* The end of a message whose text is over, by one call where the network has a function for it; false: there is none. */
static bool end_at_once(struct aead *c, uint8_t *out, size_t room, size_t *made, uint32_t *result) {
    size_t made_bytes = 0;
    struct headrace_room rooms[HEADRACE_ROLES];
    if (c->operation->end == NULL) {
        return false;
    }
    rooms[HEADRACE_SECRET_NONCE_OUT] = (struct headrace_room){NULL, 0, &made_bytes};
    rooms[HEADRACE_OUTPUT] = (struct headrace_room){out, out == NULL ? 0 : room, made};
    rooms[HEADRACE_TAG] = (struct headrace_room){c->tag, tag_bytes(c), &made_bytes};
    return c->operation->end(&c->running.message, c->running.network, NULL, rooms, result);
}

/* Text that may lie where the other one goes: a short one is put aside, so that it can be taken by one call. */
static const uint8_t *put_aside(struct aead *c, const uint8_t *in, size_t in_bytes, const uint8_t *out) {
    if (in_bytes == 0 || in_bytes > AEAD_AHEAD_MOST || !hr_message_overlap(in, in_bytes, out, in_bytes) || !has_aside(c)) {
        return in;
    }
    memcpy(c->aside, in, in_bytes);
    return c->aside;
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
    if (take_at_once(c, c->operation->whole, (struct headrace_room){out, in_bytes, &made}, put_aside(c, in, in_bytes, out), in_bytes,
                     &result)) {
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

/* Speculation: takes a text as if it were whole, by one call, as most short ones are. It is kept for the case that there comes more, which `step_back`
   is for; a program whose last message came in pieces is not trusted. Only of ciphers that give as many bytes as they get: what they
   gave stays right then. */
static bool take_ahead(struct aead *c, struct headrace_room out, const uint8_t *in, size_t in_bytes, uint32_t *result) {
    if (c->decrypts || c->has_pieces || in_bytes > AEAD_AHEAD_MOST || c->running.algorithm->rows->block_bytes != 1 ||
        c->operation->whole == NULL || c->is_sent || !has_aside(c)) {
        return false;
    }
    memcpy(c->aside, in, in_bytes);
    if (!take_at_once(c, c->operation->whole, out, c->aside, in_bytes, result)) {
        return false;
    }
    c->n_aside = in_bytes;
    c->stage = AHEAD;
    return true;
}

/* Replay: there comes more text than the network has ended its message with, and what there was of it goes in once more. */
static int step_back(struct aead *c) {
    struct headrace_running *const running = &c->running;
    const struct headrace_operation *const op = c->operation;
    size_t made = 0;
    uint32_t result;
    running->provider->cleanse(c->tag, sizeof c->tag);
    if (!give_key(c) || !put_ad(c, c->ad, c->n_ad, HR_LAST_CHUNK)) {
        return 0;
    }
    c->stage = IN_TEXT;
    result = hr_message_put_word(op, running->network, op->strings[HEADRACE_INPUT].size_port, (uint32_t)c->n_aside);
    if (result == HEADRACE_OK) {
        result = headrace_running_pump(running, c->aside, c->n_aside, (struct headrace_room){c->aside, c->n_aside, &made});
    }
    running->message.input_bytes = c->n_aside;
    running->provider->cleanse(c->aside, c->n_aside);
    return result == HEADRACE_OK && made == c->n_aside ? 1 : fail(c, result == HEADRACE_OK ? HEADRACE_STUCK : result);
}

static int take_piece(struct aead *c, uint8_t *out, size_t *out_bytes, size_t room, const uint8_t *in, size_t in_bytes) {
    uint32_t result;
    if (!begin(c)) {
        return 0;
    }
    /* What is held back is less than a block. */
    if (room < in_bytes) {
        return raise_here(c, HEADRACE_REASON_ROOM);
    }
    c->n_pieces++;
    if (c->stage == IN_AD) {
        const struct headrace_room to = {out, room, out_bytes};
        bool taken = take_ahead(c, to, in, in_bytes, &result);
        if (!taken && take_at_once(c, c->operation->first, to, in, in_bytes, &result)) {
            c->is_sent = taken = true;
            c->stage = IN_TEXT;
        }
        if (taken) {
            headrace_running_took(&c->running, in_bytes);
            return result == HEADRACE_OK ? 1 : fail(c, result);
        }
    }
    if (c->stage == AHEAD ? !step_back(c) : !begin_text(c)) {
        return 0;
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
    c->has_pieces = c->n_pieces > 1;
    if (c->stage == AHEAD) {
        return ended(c, HEADRACE_OK);
    }
    if (!begin_text(c)) {
        return 0;
    }
    if (!headrace_allows(c->operation, HEADRACE_INPUT, c->running.message.input_bytes)) {
        return fail(c, HEADRACE_INPUT_LENGTH);
    }
    if (end_at_once(c, out, room, out_bytes, &result)) {
        return ended(c, result);
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
