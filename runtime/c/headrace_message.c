/* See headrace_message.h. */

/* What is here serves all operations by their tables: nothing is known of them that would fold. */
#define HR_FOLDED static inline
#if defined(__GNUC__)
#define HR_REPEATED static __attribute__((noinline, unused))
#endif
#include "headrace_whole.h"

static void wipe(void *bytes, size_t n_bytes) {
    volatile uint8_t *const at = bytes;
    for (size_t i = 0; i < n_bytes; i++) {
        at[i] = 0;
    }
}

/* Bytes of input that are copied before output goes over them. What stays on the stack is what `_clear` overwrites there. */
#define COPIED 1024

uint32_t headrace_message_flow_over(const struct headrace_operation *op, void *c, const uint8_t *in, size_t n_in, size_t *sent,
                                    uint8_t *out, size_t n_out, size_t *got, struct hr_message_flow *flowed) {
    const struct headrace_network *const n = op->network;
    const uint32_t input = op->strings[HEADRACE_INPUT].port, output = op->strings[HEADRACE_OUTPUT].port;
    uint32_t status;
    size_t taken, made = n_out - *got;
    if (n->stream != NULL) {
        uint8_t copy[COPIED];
        const size_t n_copied = n_in - *sent < COPIED ? n_in - *sent : COPIED;
        const bool is_last = n_copied == n_in - *sent;
        if (n_copied != 0) {
            memcpy(copy, in + *sent, n_copied);
        }
        /* Not over what has not been copied. */
        if (!is_last && (uintptr_t)(out + *got) <= (uintptr_t)(in + *sent + n_copied)) {
            const size_t free = (size_t)((uintptr_t)(in + *sent + n_copied) - (uintptr_t)(out + *got));
            made = made < free ? made : free;
        }
        taken = n->stream(c, input, copy, n_copied, made == 0 ? HEADRACE_NO_PORT : output, made == 0 ? NULL : out + *got, &made,
                          &status);
        status = status == HEADRACE_DRY && !is_last ? HEADRACE_IDLE : status;
    } else {
        taken = *sent < n_in ? n->write(c, input, in + *sent, n_in - *sent) : 0;
        status = n->run(c, UINT64_MAX);
        made = *got < n_out ? n->read(c, output, out + *got, made) : 0;
    }
    *sent += taken;
    *got += made;
    flowed->moved = taken + made;
    flowed->is_dry = status == HEADRACE_DRY;
    return status == HEADRACE_IDLE || status == HEADRACE_DRY ? HEADRACE_OK : HEADRACE_STUCK;
}

uint32_t headrace_message_put_rest(const struct headrace_operation *op, void *c, uint32_t port, const uint8_t *tokens,
                                   size_t n_tokens, size_t token_bytes) {
    while (n_tokens != 0) {
        size_t written;
        if (op->network->run(c, UINT64_MAX) != HEADRACE_IDLE) {
            return HEADRACE_STUCK;
        }
        written = op->network->write(c, port, tokens, n_tokens);
        if (written == 0) {
            return HEADRACE_STUCK;
        }
        tokens += written * token_bytes;
        n_tokens -= written;
    }
    return HEADRACE_OK;
}

uint32_t headrace_message_put_long(const struct headrace_operation *op, void *c, enum headrace_role role,
                                   const uint8_t **bytes, size_t *n_bytes) {
    const struct headrace_string *const string = &op->strings[role];
    uint32_t result = HEADRACE_OK;
    while (result == HEADRACE_OK && *n_bytes > HR_CHUNK_MOST) {
        result = hr_message_put_word(op, c, string->size_port, HR_CHUNK_MOST);
        if (result == HEADRACE_OK) {
            result = hr_message_put(op, c, string->port, *bytes, HR_CHUNK_MOST, 1);
        }
        *bytes += HR_CHUNK_MOST;
        *n_bytes -= HR_CHUNK_MOST;
    }
    return result;
}

uint32_t headrace_message_long(const struct headrace_operation *op, void *c, struct headrace_bytes *input,
                               const struct headrace_room *out) {
    uint32_t result = HEADRACE_OK;
    while ((result == HEADRACE_OK || result == HEADRACE_ROOM) && input->n_bytes > HR_CHUNK_MOST) {
        result = hr_message_chunk(op, c, input->bytes, HR_CHUNK_MOST, 0, out);
        input->bytes += HR_CHUNK_MOST;
        input->n_bytes -= HR_CHUNK_MOST;
    }
    return result;
}

/* Where a context holds its key. */
static uint8_t *key_of(const struct headrace_operation *op, struct headrace_message *message) {
    return (uint8_t *)message + op->key_at;
}

/* A key that there is no room for is not held. Nothing is left of the one before. */
static void hold_key(const struct headrace_operation *op, struct headrace_message *message, const uint8_t *key, size_t key_bytes) {
    if (op->key_room == 0) {
        return;
    }
    message->key_is_there = key_bytes <= op->key_room;
    message->key_bytes = message->key_is_there ? (uint8_t)key_bytes : 0;
    for (size_t i = 0; i < op->key_room; i++) {
        key_of(op, message)[i] = i < message->key_bytes ? key[i] : 0;
    }
}

uint32_t headrace_message_key(const struct headrace_operation *op, struct headrace_message *message, void *c,
                              const uint8_t *key, size_t key_bytes) {
    uint32_t result;
    if (!hr_message_allows(&op->strings[HEADRACE_KEY], key_bytes)) {
        return HEADRACE_KEY_LENGTH;
    }
    message->state = HR_NO_KEY;
    op->network->init(c, NULL);
    result = hr_message_put_flag(op, c, op->rekey, true);
    if (result == HEADRACE_OK && op->block_bytes != 0) {
        /* The key of a core comes with a burst: an empty one. */
        result = hr_message_put_flag(op, c, op->decrypt, op->decrypts);
    }
    if (result == HEADRACE_OK) {
        result = hr_message_put_string(op, c, HEADRACE_KEY, key, key_bytes);
    }
    if (result == HEADRACE_OK && op->block_bytes != 0) {
        result = hr_message_put_word(op, c, op->blocks, 0);
    }
    if (result == HEADRACE_OK) {
        message->state = op->block_bytes != 0 ? HR_KEYED : HR_NEW_KEY;
    }
    hold_key(op, message, key, key_bytes);
    return result;
}

uint32_t headrace_message_renew(const struct headrace_operation *op, struct headrace_message *message, void *c) {
    const bool can = message->state == HR_KEYED && op->key_room != 0 && message->key_is_there;
    return can && op->network->has_left(c) ? headrace_message_key(op, message, c, key_of(op, message), message->key_bytes)
                                           : HEADRACE_OK;
}

uint32_t headrace_message_init(const struct headrace_operation *op, struct headrace_message *message, void *c,
                               const struct headrace_bytes *strings) {
    return hr_message_begin(op, message, c, strings, 0);
}

/* Moves on with a message whose pieces come one by one. What there was no room for is kept: a byte that has come out already,
   and how much of the input went in. */
static uint32_t move_on(const struct headrace_operation *op, struct headrace_message *message, void *c, const uint8_t *in,
                        size_t in_bytes, const struct headrace_room *out) {
    size_t sent = 0;
    uint32_t result;
    if (message->holds) {
        if (out->room == 0) {
            return HEADRACE_ROOM;
        }
        out->bytes[0] = message->held;
        *out->n_bytes = 1;
        message->held = 0;
        message->holds = false;
    }
    result = hr_message_pump_on(op, c, in, in_bytes, &sent, out, &message->held);
    message->holds = result == HEADRACE_ROOM;
    message->taken += sent;
    message->chunk -= (uint32_t)sent;
    return result;
}

uint32_t headrace_message_update(const struct headrace_operation *op, struct headrace_message *message, void *c,
                                 const uint8_t *in, size_t in_bytes, struct headrace_room out) {
    if (out.n_bytes != NULL) {
        *out.n_bytes = 0;
    }
    /* What there was no room for must be asked for again. */
    if (message->state != HR_OPEN || (message->holds && in_bytes != message->asked)) {
        return HEADRACE_ORDER;
    }
    if (!message->holds) {
        message->asked = in_bytes;
        message->taken = 0;
        message->chunk = 0;
    }
    while (message->taken < in_bytes || message->holds) {
        uint32_t result = HEADRACE_OK;
        if (message->chunk == 0 && !message->holds) {
            const size_t left = in_bytes - (size_t)message->taken;
            message->chunk = left < HR_CHUNK_MOST ? (uint32_t)left : HR_CHUNK_MOST;
            message->input_bytes += message->chunk;
            result = hr_message_put_word(op, c, op->strings[HEADRACE_INPUT].size_port, message->chunk);
        }
        if (result == HEADRACE_OK) {
            result = move_on(op, message, c, message->taken == 0 ? in : in + message->taken, message->chunk, &out);
        }
        if (result != HEADRACE_OK) {
            return result == HEADRACE_ROOM ? result : hr_message_ended(op, message, result);
        }
    }
    return HEADRACE_OK;
}

uint32_t headrace_message_update_on(const struct headrace_operation *op, struct headrace_message *message, void *c,
                                    const uint8_t *in, size_t in_bytes, size_t left, struct headrace_room out) {
    uint32_t result;
    message->taken = in_bytes - left;
    message->chunk = (uint32_t)left;
    result = move_on(op, message, c, in + (in_bytes - left), left, &out);
    return result == HEADRACE_OK || result == HEADRACE_ROOM ? result : hr_message_ended(op, message, result);
}

uint32_t headrace_message_final(const struct headrace_operation *op, struct headrace_message *message, void *c,
                                const struct headrace_bytes *strings, const struct headrace_room *rooms) {
    uint32_t result = HEADRACE_OK;
    hr_message_empty(&rooms[HEADRACE_SECRET_NONCE_OUT]);
    hr_message_empty(&rooms[HEADRACE_OUTPUT]);
    hr_message_empty(&rooms[HEADRACE_TAG]);
    if (message->state != HR_ENDING && (message->state != HR_OPEN || message->holds)) {
        return HEADRACE_ORDER;
    }
    if (!hr_message_allows(&op->strings[HEADRACE_INPUT], message->input_bytes)) {
        return HEADRACE_INPUT_LENGTH;
    }
    if (!hr_message_tag_fits(op, strings)) {
        return HEADRACE_STRING_LENGTH;
    }
    if (!hr_message_has_room(op, rooms)) {
        return HEADRACE_ROOM;
    }
    if (message->state == HR_OPEN) {
        message->state = HR_ENDING;
        result = hr_message_put_word(op, c, op->strings[HEADRACE_INPUT].size_port, HR_LAST_CHUNK);
        if (result == HEADRACE_OK && hr_message_is_there(op->strings[HEADRACE_TAG_IN].port)) {
            const struct headrace_bytes tag = strings[HEADRACE_TAG_IN];
            result = hr_message_put_string(op, c, HEADRACE_TAG_IN, tag.bytes, tag.n_bytes);
        }
    }
    if (result == HEADRACE_OK) {
        result = move_on(op, message, c, NULL, 0, &rooms[HEADRACE_OUTPUT]);
        if (result == HEADRACE_ROOM) {
            return result;
        }
    }
    return hr_message_ended(op, message, hr_message_take_all(op, c, rooms, result));
}

uint32_t headrace_message_go_on(const struct headrace_operation *op, void *c, const uint8_t *in, size_t in_bytes, size_t sent,
                                struct headrace_room out) {
    return hr_message_pump_whole(op, c, in, in_bytes, sent, &out);
}

uint32_t headrace_message_drain(const struct headrace_operation *op, void *c, const uint8_t *in, size_t in_bytes, size_t sent,
                                const struct headrace_room *out) {
    uint8_t scratch[128];
    struct hr_message_flow flowed;
    uint32_t result;
    do {
        size_t n_tokens, got = 0;
        uint32_t sizes[16];
        result = hr_message_flow(op, c, in, in_bytes, &sent, scratch, sizeof scratch, &got, &flowed);
        *out->n_bytes += got;
        do {
            n_tokens = op->network->read(c, op->strings[HEADRACE_OUTPUT].size_port, sizes, 16);
            flowed.moved += n_tokens;
        } while (n_tokens == 16);
    } while (result == HEADRACE_OK && flowed.moved != 0);
    wipe(scratch, sizeof scratch);
    return result == HEADRACE_OK && sent == in_bytes ? HEADRACE_ROOM : HEADRACE_STUCK;
}

uint32_t headrace_message_drop(const struct headrace_operation *op, void *c, const struct headrace_room *rooms) {
    const uint32_t result = hr_message_take_all(op, c, rooms, HEADRACE_OK);
    for (int role = HEADRACE_SECRET_NONCE_OUT; role < HEADRACE_ROLES; role++) {
        if (hr_message_is_there(op->strings[role].port) && role != HEADRACE_OUTPUT) {
            wipe(rooms[role].bytes, *rooms[role].n_bytes);
            *rooms[role].n_bytes = 0;
        }
    }
    return result == HEADRACE_OK ? HEADRACE_ROOM : result;
}

void headrace_message_withhold(const struct headrace_operation *op, const struct headrace_room *rooms, uint32_t result) {
    for (int role = HEADRACE_SECRET_NONCE_OUT; role < HEADRACE_ROLES; role++) {
        if (hr_message_is_there(op->strings[role].port)) {
            const size_t n_bytes = *rooms[role].n_bytes;
            wipe(rooms[role].bytes, n_bytes < rooms[role].room ? n_bytes : rooms[role].room);
            *rooms[role].n_bytes = result == HEADRACE_ROOM && role == HEADRACE_OUTPUT ? n_bytes : 0;
        }
    }
}

uint32_t headrace_message_end_whole(const struct headrace_operation *op, struct headrace_message *message, void *c,
                                    const struct headrace_windows *windows, const uint8_t *in, size_t in_bytes,
                                    struct headrace_room secret_nonce, struct headrace_room output, struct headrace_room tag,
                                    uint8_t verified, uint32_t began, uint32_t result) {
    const struct headrace_room rooms[HEADRACE_ROLES] = {
        [HEADRACE_SECRET_NONCE_OUT] = secret_nonce,
        [HEADRACE_OUTPUT] = output,
        [HEADRACE_TAG] = tag,
    };
    if (began == HEADRACE_WHOLE_ON) {
        const size_t left = (op->roles >> HEADRACE_INPUT & 1u) != 0 ? windows->n_in[op->strings[HEADRACE_INPUT].port] : 0;
        result = headrace_message_go_on(op, c, in, in_bytes, in_bytes - left, output);
        result = hr_message_take_whole(op, c, windows, false, rooms, verified, result);
    }
    return hr_message_ended_whole(op, message, rooms, result);
}

uint32_t headrace_message_helped(const struct headrace_operation *op, struct headrace_message *message, void *c,
                                 const struct headrace_helpers *helpers, const struct headrace_bytes *strings,
                                 const struct headrace_room *rooms) {
    return hr_message_whole_helped(op, message, c, helpers, strings, rooms);
}

uint32_t headrace_message_whole(const struct headrace_operation *op, struct headrace_message *message, void *c,
                                const struct headrace_bytes *strings, const struct headrace_room *rooms) {
    return headrace_message_helped(op, message, c, NULL, strings, rooms);
}

uint32_t headrace_message_one_of_many(const struct headrace_operation *op, const struct headrace_contexts *contexts,
                                      const struct headrace_bytes_of_many *strings,
                                      const struct headrace_room_of_many *rooms, size_t number) {
    struct hr_message_one one = {0};
    void *const c = hr_message_one_of_many(op, contexts, strings, rooms, number, &one);
    return headrace_message_whole(op, one.message, c, one.strings, one.rooms);
}

uint32_t headrace_message_blocks(const struct headrace_operation *op, struct headrace_message *message, void *c,
                                 const uint8_t *in, uint8_t *out, uint32_t n_blocks) {
    const size_t n_bytes = (size_t)n_blocks * op->block_bytes;
    size_t sent = 0, got = 0;
    struct hr_message_flow flowed = {1, false};
    uint32_t result;
    if (message->state != HR_KEYED) {
        return HEADRACE_ORDER;
    }
    result = hr_message_put_flag(op, c, op->rekey, false);
    if (result == HEADRACE_OK) {
        result = hr_message_put_flag(op, c, op->decrypt, op->decrypts);
    }
    if (result == HEADRACE_OK) {
        result = hr_message_put_word(op, c, op->blocks, n_blocks);
    }
    while (result == HEADRACE_OK && got < n_bytes && !flowed.is_dry && flowed.moved != 0) {
        result = hr_message_flow(op, c, in, n_bytes, &sent, out, n_bytes, &got, &flowed);
    }
    return hr_message_ended(op, message, result == HEADRACE_OK && got < n_bytes ? HEADRACE_STUCK : result);
}

uint32_t headrace_message_words(const struct headrace_operation *op, struct headrace_message *message, void *c,
                                const struct headrace_bytes *strings, uint32_t n_words, struct headrace_room out) {
    size_t moved = 1;
    uint8_t token;
    uint32_t result;
    *out.n_bytes = 0;
    if (n_words > op->most_words) {
        return HEADRACE_INPUT_LENGTH;
    }
    if (op->strings[HEADRACE_OUTPUT].n_lengths == 1 && out.room / op->strings[HEADRACE_OUTPUT].lengths[0].multiple < n_words) {
        return HEADRACE_ROOM;
    }
    result = hr_message_begin(op, message, c, strings, 0);
    if (result == HEADRACE_ORDER || result == HEADRACE_STRING_LENGTH) {
        return result;
    }
    if (result == HEADRACE_OK) {
        result = hr_message_put_word(op, c, op->blocks, n_words);
    }
    while (result == HEADRACE_OK && moved != 0) {
        if (op->network->run(c, UINT64_MAX) != HEADRACE_IDLE) {
            result = HEADRACE_STUCK;
        } else if (*out.n_bytes == out.room) {
            moved = 0;
            if (op->network->read(c, op->strings[HEADRACE_OUTPUT].port, &token, 1) == 1) {
                result = HEADRACE_ROOM;
            }
        } else {
            moved = op->network->read(c, op->strings[HEADRACE_OUTPUT].port, out.bytes + *out.n_bytes, out.room - *out.n_bytes);
            *out.n_bytes += moved;
        }
    }
    if (result == HEADRACE_OK && hr_message_is_there(op->verified)) {
        result = op->network->read(c, op->verified, &token, 1) == 1 ? HEADRACE_OK : HEADRACE_STUCK;
        HEADRACE_PUBLIC(&token, sizeof token);
        if (result == HEADRACE_OK && !token) {
            result = HEADRACE_REFUSED;
        }
    }
    return hr_message_ended(op, message, result);
}

/* What was computed lay on the stack, too. */
#if HEADRACE_STACK_BYTES > 0
#ifdef __GNUC__
__attribute__((noinline))
#endif
static void wipe_stack(void) {
    uint64_t below[HEADRACE_STACK_BYTES / sizeof(uint64_t)];
    volatile uint64_t *const at = below;
    for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
        at[i] = 0;
    }
}
#endif

void headrace_message_clear(const struct headrace_operation *op, struct headrace_message *message, void *c) {
    op->network->clear(c);
    if (op->key_room != 0) {
        wipe(key_of(op, message), op->key_room);
    }
    wipe(message, sizeof *message);
#if HEADRACE_STACK_BYTES > 0
    wipe_stack();
#endif
}

void headrace_message_copy(const struct headrace_operation *op, struct headrace_message *message, void *c,
                           const struct headrace_message *other, const void *from) {
    *message = *other;
    if (op->key_room != 0) {
        memcpy(key_of(op, message), (const uint8_t *)other + op->key_at, op->key_room);
    }
    if (op->network->copy != NULL) {
        op->network->copy(c, from);
    } else {
        memcpy(c, from, op->network->size);
    }
}

const char *headrace_result_text(uint32_t result) {
    switch (result) {
    case HEADRACE_OK:
        return "done";
    case HEADRACE_KEY_LENGTH:
        return "the key has a length that is not allowed";
    case HEADRACE_STRING_LENGTH:
        return "an initial block, nonce, seed or tag, or the associated data, has a length that is not allowed";
    case HEADRACE_INPUT_LENGTH:
        return "the input has a length that is not allowed";
    case HEADRACE_ROOM:
        return "a buffer for output is too small";
    case HEADRACE_ORDER:
        return "something else must be called first";
    case HEADRACE_STUCK:
        return "the network stopped, which is a mistake of the network";
    case HEADRACE_REFUSED:
        return "the message is not authentic or not well-formed, or the generator must be seeded anew";
    default:
        return "no result of a message";
    }
}
