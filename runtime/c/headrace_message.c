/* See headrace_message.h. */
#include "headrace_whole.h"

/* Messages that are under way together. */
enum { TOGETHER = 64 };

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

/* One of many messages. */
struct one {
    struct headrace_message *message;
    struct headrace_bytes strings[HEADRACE_ROLES];
    struct headrace_room rooms[HEADRACE_ROLES];
};

/* Gives the strings of a message and returns the context of its network. */
static void *one_of_many(const struct headrace_contexts *contexts, const struct headrace_bytes_of_many *strings,
                         const struct headrace_room_of_many *rooms, size_t number, struct one *one) {
    uint8_t *const context = (uint8_t *)contexts->first + number * contexts->size;
    one->message = (struct headrace_message *)(void *)(context + contexts->message);
    for (int role = 0; role < HEADRACE_ROLES; role++) {
        const bool given = strings[role].n_bytes != NULL, taken = rooms[role].n_bytes != NULL;
        one->strings[role].bytes = given ? strings[role].bytes[number] : NULL;
        one->strings[role].n_bytes = given ? strings[role].n_bytes[number] : 0;
        one->rooms[role].bytes = taken ? rooms[role].bytes[number] : NULL;
        one->rooms[role].room = taken ? rooms[role].room[number] : 0;
        one->rooms[role].n_bytes = taken ? rooms[role].n_bytes + number : NULL;
    }
    return context;
}

/* Whether the input can go in beside that of others, without copies. */
static bool goes_along(const struct headrace_operation *op, const struct one *one) {
    const struct headrace_bytes input = one->strings[HEADRACE_INPUT];
    const struct headrace_room output = one->rooms[HEADRACE_OUTPUT];
    return op->network->streams != NULL && input.n_bytes <= HR_CHUNK_MOST &&
           !(hr_message_streams(op) && hr_message_overlap(input.bytes, input.n_bytes, output.bytes, output.room));
}

/* Opens a message that goes along with others and gives what its network must be told. */
static uint32_t join(const struct headrace_operation *op, const struct one *one, void *c, struct headrace_stream *stream) {
    const struct headrace_bytes input = one->strings[HEADRACE_INPUT];
    const struct headrace_room output = one->rooms[HEADRACE_OUTPUT];
    uint32_t result = hr_message_open_whole(op, one->message, c, one->strings, one->rooms);
    if (result != HEADRACE_OK) {
        return result;
    }
    if (!op->single_chunk) {
        result = hr_message_put_word(op, c, op->strings[HEADRACE_INPUT].size_port, (uint32_t)input.n_bytes | HR_LAST_CHUNK);
    }
    stream->context = c;
    stream->in = input.bytes;
    stream->n_in = input.n_bytes;
    stream->out = hr_message_streams(op) ? output.bytes : NULL;
    stream->n_out = hr_message_streams(op) ? output.room : 0;
    return result == HEADRACE_OK ? result : hr_message_ended(op, one->message, result);
}

uint32_t headrace_message_many(const struct headrace_operation *op, struct headrace_contexts contexts,
                               const struct headrace_bytes_of_many *strings, const struct headrace_room_of_many *rooms,
                               uint32_t *results) {
    const uint32_t input = op->strings[HEADRACE_INPUT].port;
    const uint32_t output = hr_message_streams(op) ? op->strings[HEADRACE_OUTPUT].port : HEADRACE_NO_PORT;
    struct headrace_stream together[TOGETHER];
    size_t numbers[TOGETHER];
    struct one one;
    uint32_t all = HEADRACE_OK;
    for (size_t next = 0; next < contexts.count;) {
        size_t n_together = 0;
        for (; next < contexts.count && n_together < TOGETHER; next++) {
            void *const c = one_of_many(&contexts, strings, rooms, next, &one);
            if (!goes_along(op, &one)) {
                results[next] = headrace_message_whole(op, one.message, c, one.strings, one.rooms);
                continue;
            }
            results[next] = join(op, &one, c, &together[n_together]);
            if (results[next] == HEADRACE_OK) {
                numbers[n_together++] = next;
            }
        }
        if (n_together != 0) {
            op->network->streams(input, output, together, n_together);
        }
        for (size_t i = 0; i < n_together; i++) {
            const struct headrace_stream *const stream = &together[i];
            void *const c = one_of_many(&contexts, strings, rooms, numbers[i], &one);
            uint32_t result = stream->status == HEADRACE_IDLE ? HEADRACE_OK : HEADRACE_STUCK;
            if (result == HEADRACE_OK && hr_message_streams(op)) {
                *one.rooms[HEADRACE_OUTPUT].n_bytes = stream->made;
            }
            if (result == HEADRACE_OK) {
                result = hr_message_pump(op, c, stream->in, stream->n_in, stream->taken, &one.rooms[HEADRACE_OUTPUT]);
            }
            results[numbers[i]] = hr_message_close_whole(op, one.message, c, one.strings, one.rooms, result);
        }
    }
    for (size_t i = 0; i < contexts.count && all == HEADRACE_OK; i++) {
        all = results[i];
    }
    return all;
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
