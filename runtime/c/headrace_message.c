/* See headrace_message.h. */
#include "headrace_message.h"

/* Where a context stands. A key is sent as soon as it is given; `Rekey` says of the next message that it is there already. */
enum { NO_KEY = 0, NEW_KEY = 1, KEYED = 2, OPEN = 3 };

/* The top bit of a chunk size marks the last chunk of its string. */
static const uint32_t last_chunk = 0x80000000u;
static const uint32_t chunk_most = 0x40000000u;

/* Messages that are under way together. */
enum { TOGETHER = 64 };

static bool is_there(uint32_t port) {
    return port != HEADRACE_NO_PORT;
}

/* Without the long division of 64 bits where that can be. */
static bool is_multiple(uint64_t length, uint64_t of) {
    return (of & (of - 1)) == 0 ? (length & (of - 1)) == 0 : length % of == 0;
}

static bool allows(const struct headrace_string *string, uint64_t length) {
    for (uint32_t i = 0; i < string->n_lengths; i++) {
        const struct headrace_lengths range = string->lengths[i];
        if (length >= range.min && length <= range.max && is_multiple(length, range.multiple)) {
            return true;
        }
    }
    return false;
}

/* Writes all tokens, running the network where there is no room. Tokens have one byte, or four for sizes and counts. */
static uint32_t put(const struct headrace_operation *op, void *c, uint32_t port, const void *tokens, size_t n_tokens,
                    size_t token_bytes) {
    const uint8_t *from = tokens;
    size_t written = n_tokens == 0 ? 0 : op->network->write(c, port, from, n_tokens);
    while (written < n_tokens) {
        size_t more;
        if (op->network->run(c, UINT64_MAX) != HEADRACE_IDLE) {
            return HEADRACE_STUCK;
        }
        more = op->network->write(c, port, from + written * token_bytes, n_tokens - written);
        if (more == 0) {
            return HEADRACE_STUCK;
        }
        written += more;
    }
    return HEADRACE_OK;
}

static uint32_t put_flag(const struct headrace_operation *op, void *c, uint32_t port, bool value) {
    const uint8_t token = value;
    return is_there(port) ? put(op, c, port, &token, 1, 1) : HEADRACE_OK;
}

static uint32_t put_word(const struct headrace_operation *op, void *c, uint32_t port, uint32_t token) {
    return is_there(port) ? put(op, c, port, &token, 1, 4) : HEADRACE_OK;
}

/* A string that is known whole. */
static uint32_t put_string(const struct headrace_operation *op, void *c, enum headrace_role role, const uint8_t *bytes,
                           size_t n_bytes) {
    const struct headrace_string *const string = &op->strings[role];
    uint32_t result = HEADRACE_OK;
    if (!is_there(string->size_port)) {
        return put(op, c, string->port, bytes, n_bytes, 1);
    }
    while (result == HEADRACE_OK && n_bytes > chunk_most) {
        result = put_word(op, c, string->size_port, chunk_most);
        if (result == HEADRACE_OK) {
            result = put(op, c, string->port, bytes, chunk_most, 1);
        }
        bytes += chunk_most;
        n_bytes -= chunk_most;
    }
    if (result == HEADRACE_OK) {
        result = put_word(op, c, string->size_port, last_chunk | (uint32_t)n_bytes);
    }
    return result == HEADRACE_OK ? put(op, c, string->port, bytes, n_bytes, 1) : result;
}

/* Output that streams has a size port: it comes while input goes in. A digest comes when all is in. */
static bool streams(const struct headrace_operation *op) {
    return is_there(op->strings[HEADRACE_OUTPUT].size_port);
}

static bool overlap(const uint8_t *a, size_t n_a, const uint8_t *b, size_t n_b) {
    return n_a != 0 && n_b != 0 && a < b + n_b && b < a + n_a;
}

/* What comes of moving bytes. */
struct flow {
    size_t moved; /* bytes in and out */
    bool is_dry;  /* nothing more would move without further input */
};

/* Moves input in and output out, in place where the network can. `*sent` and `*got` grow by as many as went in and came
   out. */
static uint32_t flow(const struct headrace_operation *op, void *c, const uint8_t *in, size_t n_in, size_t *sent, uint8_t *out,
                     size_t n_out, size_t *got, struct flow *flowed) {
    const struct headrace_network *const n = op->network;
    const uint32_t input = op->strings[HEADRACE_INPUT].port, output = op->strings[HEADRACE_OUTPUT].port;
    uint32_t status;
    size_t taken, made = n_out - *got;
    if (n->stream != NULL && !overlap(in, n_in, out, n_out)) {
        taken = n->stream(c, input, in + *sent, n_in - *sent, n_out == 0 ? HEADRACE_NO_PORT : output,
                          n_out == 0 ? NULL : out + *got, &made, &status);
        made = n_out == 0 ? 0 : made;
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

/* Moves input in, from byte `sent` on, and output out until all of `in` is taken and nothing moves any more. What comes out
   is put behind the `*out->n_bytes` bytes that came before. */
static uint32_t pump(const struct headrace_operation *op, void *c, const uint8_t *in, size_t in_bytes, size_t sent,
                     const struct headrace_room *out) {
    const struct headrace_network *const n = op->network;
    const struct headrace_string *const output = &op->strings[HEADRACE_OUTPUT];
    struct flow flowed;
    uint8_t more;
    if (!streams(op)) {
        size_t none = 0;
        do {
            const uint32_t result = flow(op, c, in, in_bytes, &sent, NULL, 0, &none, &flowed);
            if (result != HEADRACE_OK) {
                return result;
            }
        } while (!flowed.is_dry && flowed.moved != 0 && sent < in_bytes);
        return sent == in_bytes ? HEADRACE_OK : HEADRACE_STUCK;
    }
    do {
        size_t n_tokens;
        uint32_t sizes[16];
        const uint32_t result = flow(op, c, in, in_bytes, &sent, out->bytes, out->room, out->n_bytes, &flowed);
        if (result != HEADRACE_OK) {
            return result;
        }
        do {
            n_tokens = n->read(c, output->size_port, sizes, 16);
            flowed.moved += n_tokens;
        } while (n_tokens == 16);
    } while (!flowed.is_dry && flowed.moved != 0);
    if (*out->n_bytes == out->room && n->read(c, output->port, &more, 1) == 1) {
        return HEADRACE_ROOM;
    }
    return sent == in_bytes ? HEADRACE_OK : HEADRACE_STUCK;
}

/* A string that came out whole. */
static uint32_t take(const struct headrace_operation *op, void *c, enum headrace_role role, const struct headrace_room *to) {
    const struct headrace_string *const string = &op->strings[role];
    uint32_t size;
    uint8_t more;
    *to->n_bytes = op->network->read(c, string->port, to->bytes, to->room);
    if (*to->n_bytes == to->room && op->network->read(c, string->port, &more, 1) == 1) {
        return HEADRACE_ROOM;
    }
    while (is_there(string->size_port) && op->network->read(c, string->size_port, &size, 1) == 1) {
    }
    return allows(string, *to->n_bytes) ? HEADRACE_OK : HEADRACE_STUCK;
}

static void wipe(void *bytes, size_t n_bytes) {
    volatile uint8_t *const at = bytes;
    for (size_t i = 0; i < n_bytes; i++) {
        at[i] = 0;
    }
}

/* A message that is not authentic was processed to its end like any other, so its key is still good. */
static uint32_t ended(const struct headrace_operation *op, struct headrace_message *message, uint32_t result) {
    const bool whole = result == HEADRACE_OK || result == HEADRACE_REFUSED;
    message->state = whole && is_there(op->rekey) ? KEYED : NO_KEY;
    return result;
}

uint32_t headrace_message_key(const struct headrace_operation *op, struct headrace_message *message, void *c,
                              const uint8_t *key, size_t key_bytes) {
    uint32_t result;
    message->state = NO_KEY;
    if (!allows(&op->strings[HEADRACE_KEY], key_bytes)) {
        return HEADRACE_KEY_LENGTH;
    }
    op->network->init(c, NULL);
    result = put_flag(op, c, op->rekey, true);
    if (result == HEADRACE_OK && op->block_bytes != 0) {
        /* The key of a core comes with a burst: an empty one. */
        result = put_flag(op, c, op->decrypt, op->decrypts);
    }
    if (result == HEADRACE_OK) {
        result = put_string(op, c, HEADRACE_KEY, key, key_bytes);
    }
    if (result == HEADRACE_OK && op->block_bytes != 0) {
        result = put_word(op, c, op->blocks, 0);
    }
    if (result == HEADRACE_OK) {
        message->state = op->block_bytes != 0 ? KEYED : NEW_KEY;
    }
    return result;
}

/* Whether a string that there is goes with this message. */
static bool is_sent(const struct headrace_operation *op, const struct headrace_bytes *strings, int role) {
    const bool goes_on = is_there(op->reseed) && (role == HEADRACE_SEED || role == HEADRACE_ENTROPY);
    return !goes_on || strings[role].bytes != NULL;
}

/* All that comes before the input. What must have its input in one chunk may want to know its size before it takes the
   strings ahead of it: `input_size` is that chunk's token. */
static uint32_t begin(const struct headrace_operation *op, struct headrace_message *message, void *c,
                      const struct headrace_bytes *strings, uint32_t input_size) {
    const bool keyed = is_there(op->rekey);
    const uint32_t before = op->roles & ((1u << HEADRACE_INPUT) - 1u);
    const bool seeds = keyed && is_there(op->strings[HEADRACE_SEED].port) && strings[HEADRACE_SEED].bytes != NULL;
    uint32_t result = HEADRACE_OK;
    if (keyed && !seeds && message->state != NEW_KEY && message->state != KEYED) {
        return HEADRACE_ORDER;
    }
    for (int role = HEADRACE_NONCE; before >> role != 0; role++) {
        if ((before >> role & 1u) != 0 && is_sent(op, strings, role) && !allows(&op->strings[role], strings[role].n_bytes)) {
            return HEADRACE_STRING_LENGTH;
        }
    }
    if (!keyed || seeds) {
        op->network->init(c, NULL);
    }
    if (keyed && message->state != NEW_KEY) {
        result = put_flag(op, c, op->rekey, seeds);
    }
    if (result == HEADRACE_OK) {
        result = put_flag(op, c, op->decrypt, op->decrypts);
    }
    if (result == HEADRACE_OK) {
        result = put_flag(op, c, op->reseed, strings[HEADRACE_ENTROPY].bytes != NULL);
    }
    if (result == HEADRACE_OK && op->single_chunk) {
        result = put_word(op, c, op->strings[HEADRACE_INPUT].size_port, input_size);
    }
    for (int role = HEADRACE_NONCE; result == HEADRACE_OK && before >> role != 0; role++) {
        if ((before >> role & 1u) != 0 && is_sent(op, strings, role)) {
            result = put_string(op, c, (enum headrace_role)role, strings[role].bytes, strings[role].n_bytes);
        }
    }
    message->input_bytes = 0;
    message->state = result == HEADRACE_OK ? OPEN : NO_KEY;
    return result;
}

uint32_t headrace_message_init(const struct headrace_operation *op, struct headrace_message *message, void *c,
                               const struct headrace_bytes *strings) {
    return begin(op, message, c, strings, 0);
}

/* A further chunk of input. */
static uint32_t chunk(const struct headrace_operation *op, void *c, const uint8_t *in, uint32_t size, uint32_t last,
                      const struct headrace_room *out) {
    const uint32_t result = put_word(op, c, op->strings[HEADRACE_INPUT].size_port, size | last);
    return result == HEADRACE_OK ? pump(op, c, in, size, 0, out) : result;
}

/* All that follows the last input; `is_pumped` says that nothing has been put in since output was taken. */
static uint32_t finish(const struct headrace_operation *op, void *c, const struct headrace_bytes *strings,
                       const struct headrace_room *rooms, bool is_pumped) {
    const bool has_tag = is_there(op->strings[HEADRACE_TAG_IN].port);
    uint32_t result = HEADRACE_OK;
    if (has_tag) {
        const struct headrace_bytes tag = strings[HEADRACE_TAG_IN];
        result = put_string(op, c, HEADRACE_TAG_IN, tag.bytes, tag.n_bytes);
    }
    if (result == HEADRACE_OK && (has_tag || !is_pumped)) {
        result = pump(op, c, NULL, 0, 0, &rooms[HEADRACE_OUTPUT]);
    }
    for (int role = HEADRACE_SECRET_NONCE_OUT; result == HEADRACE_OK && op->roles >> role != 0; role++) {
        if ((op->roles >> role & 1u) != 0 && !(role == HEADRACE_OUTPUT && streams(op))) {
            result = take(op, c, (enum headrace_role)role, &rooms[role]);
        }
    }
    if (result == HEADRACE_OK && is_there(op->verified)) {
        uint8_t verified = 0;
        if (op->network->read(c, op->verified, &verified, 1) != 1) {
            return HEADRACE_STUCK;
        }
        HEADRACE_PUBLIC(&verified, sizeof verified);
        result = verified ? HEADRACE_OK : HEADRACE_REFUSED;
    }
    return result;
}

/* Whether the tag to be verified has a legal length, where there is one. */
static bool tag_fits(const struct headrace_operation *op, const struct headrace_bytes *strings) {
    const struct headrace_string *const tag = &op->strings[HEADRACE_TAG_IN];
    return !is_there(tag->port) || allows(tag, strings[HEADRACE_TAG_IN].n_bytes);
}

uint32_t headrace_message_update(const struct headrace_operation *op, struct headrace_message *message, void *c,
                                 const uint8_t *in, size_t in_bytes, struct headrace_room out) {
    if (out.n_bytes != NULL) {
        *out.n_bytes = 0;
    }
    if (message->state != OPEN) {
        return HEADRACE_ORDER;
    }
    while (in_bytes > 0) {
        const uint32_t size = in_bytes < chunk_most ? (uint32_t)in_bytes : chunk_most;
        const uint32_t result = chunk(op, c, in, size, 0, &out);
        if (result != HEADRACE_OK) {
            return ended(op, message, result);
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
    for (int role = HEADRACE_SECRET_NONCE_OUT; role < HEADRACE_ROLES; role++) {
        if (rooms[role].n_bytes != NULL) {
            *rooms[role].n_bytes = 0;
        }
    }
    if (message->state != OPEN) {
        return HEADRACE_ORDER;
    }
    if (!allows(&op->strings[HEADRACE_INPUT], message->input_bytes)) {
        return ended(op, message, HEADRACE_INPUT_LENGTH);
    }
    if (!tag_fits(op, strings)) {
        return ended(op, message, HEADRACE_STRING_LENGTH);
    }
    result = put_word(op, c, op->strings[HEADRACE_INPUT].size_port, last_chunk);
    if (result == HEADRACE_OK) {
        result = finish(op, c, strings, rooms, false);
    }
    return ended(op, message, result);
}

/* Forgets output that is for verified messages only. */
static void withhold(const struct headrace_operation *op, const struct headrace_room *rooms) {
    for (int role = HEADRACE_SECRET_NONCE_OUT; role < HEADRACE_ROLES; role++) {
        if (is_there(op->strings[role].port)) {
            wipe(rooms[role].bytes, *rooms[role].n_bytes);
            *rooms[role].n_bytes = 0;
        }
    }
}

/* All of a whole message that comes before its input. */
static uint32_t open_whole(const struct headrace_operation *op, struct headrace_message *message, void *c,
                           const struct headrace_bytes *strings, const struct headrace_room *rooms) {
    const struct headrace_bytes input = strings[HEADRACE_INPUT];
    for (int role = HEADRACE_SECRET_NONCE_OUT; role < HEADRACE_ROLES; role++) {
        if (rooms[role].n_bytes != NULL) {
            *rooms[role].n_bytes = 0;
        }
    }
    if (!allows(&op->strings[HEADRACE_INPUT], input.n_bytes) || (op->single_chunk && input.n_bytes >= last_chunk)) {
        return HEADRACE_INPUT_LENGTH;
    }
    if (!tag_fits(op, strings)) {
        return HEADRACE_STRING_LENGTH;
    }
    return begin(op, message, c, strings, last_chunk | (uint32_t)input.n_bytes);
}

/* All of a whole message that follows its input, if that went well. */
static uint32_t close_whole(const struct headrace_operation *op, struct headrace_message *message, void *c,
                            const struct headrace_bytes *strings, const struct headrace_room *rooms, uint32_t result) {
    if (result == HEADRACE_OK) {
        result = finish(op, c, strings, rooms, true);
    }
    if (result != HEADRACE_OK && op->withholds) {
        withhold(op, rooms);
    }
    return ended(op, message, result);
}

uint32_t headrace_message_helped(const struct headrace_operation *op, struct headrace_message *message, void *c,
                                 const struct headrace_helpers *helpers, const struct headrace_bytes *strings,
                                 const struct headrace_room *rooms) {
    const struct headrace_bytes input = strings[HEADRACE_INPUT];
    const bool helped = helpers != NULL && op->network->help != NULL;
    size_t sent = 0;
    uint32_t result = open_whole(op, message, c, strings, rooms);
    if (result != HEADRACE_OK) {
        return result;
    }
    if (helped) {
        op->network->help(c, helpers);
    }
    if (op->single_chunk) {
        result = pump(op, c, input.bytes, input.n_bytes, 0, &rooms[HEADRACE_OUTPUT]);
    }
    while (result == HEADRACE_OK && !op->single_chunk && input.n_bytes - sent > chunk_most) {
        result = chunk(op, c, input.bytes + sent, chunk_most, 0, &rooms[HEADRACE_OUTPUT]);
        sent += chunk_most;
    }
    if (result == HEADRACE_OK && !op->single_chunk) {
        result = chunk(op, c, input.n_bytes == 0 ? NULL : input.bytes + sent, (uint32_t)(input.n_bytes - sent), last_chunk,
                       &rooms[HEADRACE_OUTPUT]);
    }
    if (helped) {
        op->network->help(c, NULL);
    }
    return close_whole(op, message, c, strings, rooms, result);
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
    return op->network->streams != NULL && input.n_bytes <= chunk_most &&
           !(streams(op) && overlap(input.bytes, input.n_bytes, output.bytes, output.room));
}

/* Opens a message that goes along with others and gives what its network must be told. */
static uint32_t join(const struct headrace_operation *op, const struct one *one, void *c, struct headrace_stream *stream) {
    const struct headrace_bytes input = one->strings[HEADRACE_INPUT];
    const struct headrace_room output = one->rooms[HEADRACE_OUTPUT];
    uint32_t result = open_whole(op, one->message, c, one->strings, one->rooms);
    if (result != HEADRACE_OK) {
        return result;
    }
    if (!op->single_chunk) {
        result = put_word(op, c, op->strings[HEADRACE_INPUT].size_port, (uint32_t)input.n_bytes | last_chunk);
    }
    stream->context = c;
    stream->in = input.bytes;
    stream->n_in = input.n_bytes;
    stream->out = streams(op) ? output.bytes : NULL;
    stream->n_out = streams(op) ? output.room : 0;
    return result == HEADRACE_OK ? result : ended(op, one->message, result);
}

uint32_t headrace_message_many(const struct headrace_operation *op, struct headrace_contexts contexts,
                               const struct headrace_bytes_of_many *strings, const struct headrace_room_of_many *rooms,
                               uint32_t *results) {
    const uint32_t input = op->strings[HEADRACE_INPUT].port;
    const uint32_t output = streams(op) ? op->strings[HEADRACE_OUTPUT].port : HEADRACE_NO_PORT;
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
            if (result == HEADRACE_OK && streams(op)) {
                *one.rooms[HEADRACE_OUTPUT].n_bytes = stream->made;
            }
            if (result == HEADRACE_OK) {
                result = pump(op, c, stream->in, stream->n_in, stream->taken, &one.rooms[HEADRACE_OUTPUT]);
            }
            results[numbers[i]] = close_whole(op, one.message, c, one.strings, one.rooms, result);
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
    struct flow flowed = {1, false};
    uint32_t result;
    if (message->state != KEYED) {
        return HEADRACE_ORDER;
    }
    result = put_flag(op, c, op->rekey, false);
    if (result == HEADRACE_OK) {
        result = put_flag(op, c, op->decrypt, op->decrypts);
    }
    if (result == HEADRACE_OK) {
        result = put_word(op, c, op->blocks, n_blocks);
    }
    while (result == HEADRACE_OK && got < n_bytes && !flowed.is_dry && flowed.moved != 0) {
        result = flow(op, c, in, n_bytes, &sent, out, n_bytes, &got, &flowed);
    }
    return ended(op, message, result == HEADRACE_OK && got < n_bytes ? HEADRACE_STUCK : result);
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
    result = begin(op, message, c, strings, 0);
    if (result == HEADRACE_ORDER || result == HEADRACE_STRING_LENGTH) {
        return result;
    }
    if (result == HEADRACE_OK) {
        result = put_word(op, c, op->blocks, n_words);
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
    if (result == HEADRACE_OK && is_there(op->verified)) {
        result = op->network->read(c, op->verified, &token, 1) == 1 ? HEADRACE_OK : HEADRACE_STUCK;
        HEADRACE_PUBLIC(&token, sizeof token);
        if (result == HEADRACE_OK && !token) {
            result = HEADRACE_REFUSED;
        }
    }
    return ended(op, message, result);
}

void headrace_message_clear(const struct headrace_operation *op, struct headrace_message *message, void *c) {
    op->network->clear(c);
    wipe(message, sizeof *message);
}
