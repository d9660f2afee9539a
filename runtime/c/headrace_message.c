/* See headrace_message.h. */
#include "headrace_whole.h"

static void wipe(void *bytes, size_t n_bytes) {
    volatile uint8_t *const at = bytes;
    for (size_t i = 0; i < n_bytes; i++) {
        at[i] = 0;
    }
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
    while (result == HEADRACE_OK && input->n_bytes > HR_CHUNK_MOST) {
        result = hr_message_chunk(op, c, input->bytes, HR_CHUNK_MOST, 0, out);
        input->bytes += HR_CHUNK_MOST;
        input->n_bytes -= HR_CHUNK_MOST;
    }
    return result;
}

uint32_t headrace_message_key(const struct headrace_operation *op, struct headrace_message *message, void *c,
                              const uint8_t *key, size_t key_bytes) {
    uint32_t result;
    message->state = HR_NO_KEY;
    if (!hr_message_allows(&op->strings[HEADRACE_KEY], key_bytes)) {
        return HEADRACE_KEY_LENGTH;
    }
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
    return result;
}

uint32_t headrace_message_init(const struct headrace_operation *op, struct headrace_message *message, void *c,
                               const struct headrace_bytes *strings) {
    return hr_message_begin(op, message, c, strings, 0);
}

uint32_t headrace_message_update(const struct headrace_operation *op, struct headrace_message *message, void *c,
                                 const uint8_t *in, size_t in_bytes, struct headrace_room out) {
    if (out.n_bytes != NULL) {
        *out.n_bytes = 0;
    }
    if (message->state != HR_OPEN) {
        return HEADRACE_ORDER;
    }
    while (in_bytes > 0) {
        const uint32_t size = in_bytes < HR_CHUNK_MOST ? (uint32_t)in_bytes : HR_CHUNK_MOST;
        const uint32_t result = hr_message_chunk(op, c, in, size, 0, &out);
        if (result != HEADRACE_OK) {
            return hr_message_ended(op, message, result);
        }
        in += size;
        in_bytes -= size;
        message->input_bytes += size;
    }
    return HEADRACE_OK;
}

uint32_t headrace_message_final(const struct headrace_operation *op, struct headrace_message *message, void *c,
                                const struct headrace_bytes *strings, const struct headrace_room *rooms) {
    uint32_t result;
    hr_message_empty(&rooms[HEADRACE_SECRET_NONCE_OUT]);
    hr_message_empty(&rooms[HEADRACE_OUTPUT]);
    hr_message_empty(&rooms[HEADRACE_TAG]);
    if (message->state != HR_OPEN) {
        return HEADRACE_ORDER;
    }
    if (!hr_message_allows(&op->strings[HEADRACE_INPUT], message->input_bytes)) {
        return hr_message_ended(op, message, HEADRACE_INPUT_LENGTH);
    }
    if (!hr_message_tag_fits(op, strings)) {
        return hr_message_ended(op, message, HEADRACE_STRING_LENGTH);
    }
    result = hr_message_put_word(op, c, op->strings[HEADRACE_INPUT].size_port, HR_LAST_CHUNK);
    if (result == HEADRACE_OK) {
        result = hr_message_finish(op, c, strings, rooms, false);
    }
    return hr_message_ended(op, message, result);
}

uint32_t headrace_message_go_on(const struct headrace_operation *op, void *c, const uint8_t *in, size_t in_bytes, size_t sent,
                                struct headrace_room out) {
    return hr_message_pump(op, c, in, in_bytes, sent, &out);
}

void headrace_message_withhold(const struct headrace_operation *op, const struct headrace_room *rooms) {
    for (int role = HEADRACE_SECRET_NONCE_OUT; role < HEADRACE_ROLES; role++) {
        if (hr_message_is_there(op->strings[role].port)) {
            wipe(rooms[role].bytes, *rooms[role].n_bytes);
            *rooms[role].n_bytes = 0;
        }
    }
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

void headrace_message_clear(const struct headrace_operation *op, struct headrace_message *message, void *c) {
    op->network->clear(c);
    wipe(message, sizeof *message);
}
