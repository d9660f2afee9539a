/*
 * A whole message, or many of them, through a generated network: what `headrace_message_whole` does, as functions that become
 * part of the one that calls them. Where the table of the operation is known, compilers leave what it needs and nothing else,
 * so that a message costs little beyond its bytes.
 */
#ifndef HEADRACE_WHOLE_H
#define HEADRACE_WHOLE_H

#include "headrace_message.h"

#ifdef HR_FOLDED
#elif defined(__GNUC__)
#define HR_FOLDED static inline __attribute__((always_inline))
#else
#define HR_FOLDED static inline
#endif

/* For what stands several times in a function: folded where its operation is known, else called, as it is long. */
#ifndef HR_REPEATED
#define HR_REPEATED HR_FOLDED
#endif

/* For what would make the function that it is a part of slower. */
#ifdef __GNUC__
#define HR_ELSEWHERE static __attribute__((noinline))
#else
#define HR_ELSEWHERE static
#endif

/* Where a context stands. A key is sent as soon as it is given; `Rekey` says of the next message that it is there already. A
   message whose end is in, but for which there was no room, is ending. */
enum { HR_NO_KEY = 0, HR_NEW_KEY = 1, HR_KEYED = 2, HR_OPEN = 3, HR_ENDING = 4 };

/* The top bit of a chunk size marks the last chunk of its string. */
#define HR_LAST_CHUNK 0x80000000u
#define HR_CHUNK_MOST 0x40000000u

/* What is rare stands in headrace_message.c. The rest of some tokens, for which the network must make room: */
uint32_t headrace_message_put_rest(const struct headrace_operation *op, void *c, uint32_t port, const uint8_t *tokens,
                                   size_t n_tokens, size_t token_bytes);
/* All chunks but the last of a string that is too long for one. */
uint32_t headrace_message_put_long(const struct headrace_operation *op, void *c, enum headrace_role role,
                                   const uint8_t **bytes, size_t *n_bytes);
/* The same of the input. */
uint32_t headrace_message_long(const struct headrace_operation *op, void *c, struct headrace_bytes *input,
                               const struct headrace_room *out);
/* The rest of a piece of a whole message for which there is no room: it goes through the network like any other, so that the key
   stays good, and is counted in `*out->n_bytes`. */
uint32_t headrace_message_drain(const struct headrace_operation *op, void *c, const uint8_t *in, size_t in_bytes, size_t sent,
                                const struct headrace_room *out);
/* All that comes out at the end of such a message. */
uint32_t headrace_message_drop(const struct headrace_operation *op, void *c, const struct headrace_room *rooms);
/* Forgets output that is for verified messages only; how much there would have been stays said where there was no room. */
void headrace_message_withhold(const struct headrace_operation *op, const struct headrace_room *rooms, uint32_t result);

HR_FOLDED bool hr_message_is_there(uint32_t port) {
    return port != HEADRACE_NO_PORT;
}

/* Without the long division of 64 bits where that can be. */
HR_FOLDED bool hr_message_is_multiple(uint64_t length, uint64_t of) {
    return (of & (of - 1)) == 0 ? (length & (of - 1)) == 0 : length % of == 0;
}

HR_REPEATED bool hr_message_allows(const struct headrace_string *string, uint64_t length) {
    for (uint32_t i = 0; i < string->n_lengths; i++) {
        const struct headrace_lengths range = string->lengths[i];
        if (length >= range.min && length <= range.max && hr_message_is_multiple(length, range.multiple)) {
            return true;
        }
    }
    return false;
}

/* Writes all tokens, running the network where there is no room. Tokens have one byte, or four for sizes and counts. */
HR_REPEATED uint32_t hr_message_put(const struct headrace_operation *op, void *c, uint32_t port, const void *tokens,
                                    size_t n_tokens, size_t token_bytes) {
    const size_t written = n_tokens == 0 ? 0 : op->network->write(c, port, tokens, n_tokens);
    return written == n_tokens ? HEADRACE_OK
                               : headrace_message_put_rest(op, c, port, (const uint8_t *)tokens + written * token_bytes,
                                                           n_tokens - written, token_bytes);
}

HR_REPEATED uint32_t hr_message_put_flag(const struct headrace_operation *op, void *c, uint32_t port, bool value) {
    const uint8_t token = value;
    return hr_message_is_there(port) ? hr_message_put(op, c, port, &token, 1, 1) : HEADRACE_OK;
}

HR_REPEATED uint32_t hr_message_put_word(const struct headrace_operation *op, void *c, uint32_t port, uint32_t token) {
    return hr_message_is_there(port) ? hr_message_put(op, c, port, &token, 1, 4) : HEADRACE_OK;
}

/* A string that is known whole. */
HR_REPEATED uint32_t hr_message_put_string(const struct headrace_operation *op, void *c, enum headrace_role role,
                                           const uint8_t *bytes, size_t n_bytes) {
    const struct headrace_string *const string = &op->strings[role];
    uint32_t result = HEADRACE_OK;
    if (!hr_message_is_there(string->size_port)) {
        return hr_message_put(op, c, string->port, bytes, n_bytes, 1);
    }
    if (n_bytes > HR_CHUNK_MOST) {
        const uint8_t *rest = bytes;
        size_t n_rest = n_bytes;
        result = headrace_message_put_long(op, c, role, &rest, &n_rest);
        bytes = rest;
        n_bytes = n_rest;
    }
    if (result == HEADRACE_OK) {
        result = hr_message_put_word(op, c, string->size_port, HR_LAST_CHUNK | (uint32_t)n_bytes);
    }
    return result == HEADRACE_OK ? hr_message_put(op, c, string->port, bytes, n_bytes, 1) : result;
}

/* Output that streams has a size port: it comes while input goes in. A digest comes when all is in. */
HR_FOLDED bool hr_message_streams(const struct headrace_operation *op) {
    return hr_message_is_there(op->strings[HEADRACE_OUTPUT].size_port);
}

HR_REPEATED bool hr_message_overlap(const uint8_t *a, size_t n_a, const uint8_t *b, size_t n_b) {
    return n_a != 0 && n_b != 0 && a < b + n_b && b < a + n_a;
}

/* What comes of moving bytes. */
struct hr_message_flow {
    size_t moved; /* bytes in and out */
    bool is_dry;  /* nothing more would move without further input */
};

/* The same as below, where output goes over input, or through the FIFOs of the network. */
uint32_t headrace_message_flow_over(const struct headrace_operation *op, void *c, const uint8_t *in, size_t n_in, size_t *sent,
                                    uint8_t *out, size_t n_out, size_t *got, struct hr_message_flow *flowed);

/* Moves input in and output out, in place where the network can. `*sent` and `*got` grow by as many as went in and came
   out. */
HR_REPEATED uint32_t hr_message_flow(const struct headrace_operation *op, void *c, const uint8_t *in, size_t n_in,
                                     size_t *sent, uint8_t *out, size_t n_out, size_t *got, struct hr_message_flow *flowed) {
    const struct headrace_network *const n = op->network;
    const uint32_t input = op->strings[HEADRACE_INPUT].port, output = op->strings[HEADRACE_OUTPUT].port;
    uint32_t status;
    size_t taken, made = n_out - *got;
    if (n->stream == NULL || hr_message_overlap(in, n_in, out, n_out)) {
        return headrace_message_flow_over(op, c, in, n_in, sent, out, n_out, got, flowed);
    }
    taken = n->stream(c, input, in + *sent, n_in - *sent, n_out == 0 ? HEADRACE_NO_PORT : output,
                      n_out == 0 ? NULL : out + *got, &made, &status);
    made = n_out == 0 ? 0 : made;
    *sent += taken;
    *got += made;
    flowed->moved = taken + made;
    flowed->is_dry = status == HEADRACE_DRY;
    return status == HEADRACE_IDLE || status == HEADRACE_DRY ? HEADRACE_OK : HEADRACE_STUCK;
}

/* Moves input in, from byte `*sent` on, and output out until all of `in` is taken and nothing moves any more. What comes out
   is put behind the `*out->n_bytes` bytes that came before. Where there is no more room, one byte more has come out: `*more`. */
HR_REPEATED uint32_t hr_message_pump_on(const struct headrace_operation *op, void *c, const uint8_t *in, size_t in_bytes,
                                        size_t *sent, const struct headrace_room *out, uint8_t *more) {
    const struct headrace_network *const n = op->network;
    const struct headrace_string *const output = &op->strings[HEADRACE_OUTPUT];
    struct hr_message_flow flowed;
    if (!hr_message_streams(op)) {
        size_t none = 0;
        do {
            const uint32_t result = hr_message_flow(op, c, in, in_bytes, sent, NULL, 0, &none, &flowed);
            if (result != HEADRACE_OK) {
                return result;
            }
        } while (!flowed.is_dry && flowed.moved != 0 && *sent < in_bytes);
        return *sent == in_bytes ? HEADRACE_OK : HEADRACE_STUCK;
    }
    do {
        size_t n_tokens;
        uint32_t sizes[16];
        const uint32_t result = hr_message_flow(op, c, in, in_bytes, sent, out->bytes, out->room, out->n_bytes, &flowed);
        if (result != HEADRACE_OK) {
            return result;
        }
        do {
            n_tokens = n->read(c, output->size_port, sizes, 16);
            flowed.moved += n_tokens;
        } while (n_tokens == 16);
    } while (!flowed.is_dry && flowed.moved != 0);
    if (*out->n_bytes == out->room && n->read(c, output->port, more, 1) == 1) {
        return HEADRACE_ROOM;
    }
    return *sent == in_bytes ? HEADRACE_OK : HEADRACE_STUCK;
}

/* The same, for those who give up where there is no more room. */
HR_FOLDED uint32_t hr_message_pump(const struct headrace_operation *op, void *c, const uint8_t *in, size_t in_bytes,
                                   size_t sent, const struct headrace_room *out) {
    uint8_t more;
    return hr_message_pump_on(op, c, in, in_bytes, &sent, out, &more);
}

/* The same for a piece of a whole message, of which nothing is kept once there is no more room; then `*out->n_bytes` grows
   beyond it. */
HR_FOLDED uint32_t hr_message_pump_whole(const struct headrace_operation *op, void *c, const uint8_t *in, size_t in_bytes,
                                         size_t sent, const struct headrace_room *out) {
    uint8_t more;
    uint32_t result;
    if (hr_message_streams(op) && *out->n_bytes > out->room) {
        return headrace_message_drain(op, c, in, in_bytes, sent, out);
    }
    result = hr_message_pump_on(op, c, in, in_bytes, &sent, out, &more);
    if (result == HEADRACE_ROOM) {
        ++*out->n_bytes;
        result = headrace_message_drain(op, c, in, in_bytes, sent, out);
    }
    return result;
}

/* A string that came out, of whatever length. */
HR_REPEATED uint32_t hr_message_take_any(const struct headrace_operation *op, void *c, enum headrace_role role,
                                         const struct headrace_room *to) {
    const struct headrace_string *const string = &op->strings[role];
    uint32_t size;
    uint8_t more;
    *to->n_bytes = op->network->read(c, string->port, to->bytes, to->room);
    if (*to->n_bytes == to->room && op->network->read(c, string->port, &more, 1) == 1) {
        return HEADRACE_ROOM;
    }
    while (hr_message_is_there(string->size_port) && op->network->read(c, string->size_port, &size, 1) == 1) {
    }
    return HEADRACE_OK;
}

/* A string that came out whole, if there is one and all went well before. */
HR_REPEATED uint32_t hr_message_take(const struct headrace_operation *op, void *c, enum headrace_role role,
                                     const struct headrace_room *to, uint32_t result) {
    if ((op->roles >> role & 1u) == 0 || result != HEADRACE_OK) {
        return result;
    }
    result = hr_message_take_any(op, c, role, to);
    return result != HEADRACE_OK || hr_message_allows(&op->strings[role], *to->n_bytes) ? result : HEADRACE_STUCK;
}

/* What the network says of a message that it verifies. */
HR_FOLDED uint32_t hr_message_judged(uint8_t verified) {
    HEADRACE_PUBLIC(&verified, sizeof verified);
    return verified ? HEADRACE_OK : HEADRACE_REFUSED;
}

/* A message that is not authentic was processed to its end like any other, so its key is still good. */
HR_FOLDED uint32_t hr_message_ended(const struct headrace_operation *op, struct headrace_message *message, uint32_t result) {
    const bool whole = result == HEADRACE_OK || result == HEADRACE_REFUSED;
    message->state = whole && hr_message_is_there(op->rekey) ? HR_KEYED : HR_NO_KEY;
    return result;
}

/* Whether a string that there is goes with this message. */
HR_FOLDED bool hr_message_is_sent(const struct headrace_operation *op, const struct headrace_bytes *strings, enum headrace_role role) {
    const bool goes_on = hr_message_is_there(op->reseed) && (role == HEADRACE_SEED || role == HEADRACE_ENTROPY);
    return !goes_on || strings[role].bytes != NULL;
}

/* Roles are named one by one here and below: a list that is indexed by what compilers do not know stays in memory. Whether
   a string that comes before the input has a legal length, if it goes with this message. */
HR_REPEATED bool hr_message_fits(const struct headrace_operation *op, const struct headrace_bytes *strings, enum headrace_role role) {
    return (op->roles >> role & 1u) == 0 || !hr_message_is_sent(op, strings, role) ||
           hr_message_allows(&op->strings[role], strings[role].n_bytes);
}

/* Sends it, if all went well before. */
HR_REPEATED uint32_t hr_message_send(const struct headrace_operation *op, void *c, const struct headrace_bytes *strings,
                                     enum headrace_role role, uint32_t result) {
    return (op->roles >> role & 1u) == 0 || result != HEADRACE_OK || !hr_message_is_sent(op, strings, role)
               ? result
               : hr_message_put_string(op, c, role, strings[role].bytes, strings[role].n_bytes);
}

/* All that comes before the input. What must have its input in one chunk may want to know its size before it takes the
   strings ahead of it: `input_size` is that chunk's token. */
HR_REPEATED uint32_t hr_message_begin(const struct headrace_operation *op, struct headrace_message *message, void *c,
                                      const struct headrace_bytes *strings, uint32_t input_size) {
    const bool keyed = hr_message_is_there(op->rekey);
    const bool seeds = keyed && hr_message_is_there(op->strings[HEADRACE_SEED].port) && strings[HEADRACE_SEED].bytes != NULL;
    uint32_t result = HEADRACE_OK;
    if (keyed && !seeds && message->state != HR_NEW_KEY && message->state != HR_KEYED) {
        return HEADRACE_ORDER;
    }
    if (!hr_message_fits(op, strings, HEADRACE_NONCE) || !hr_message_fits(op, strings, HEADRACE_IV) ||
        !hr_message_fits(op, strings, HEADRACE_SECRET_NONCE) || !hr_message_fits(op, strings, HEADRACE_AD) ||
        !hr_message_fits(op, strings, HEADRACE_SEED) || !hr_message_fits(op, strings, HEADRACE_ENTROPY)) {
        return HEADRACE_STRING_LENGTH;
    }
    if (!keyed || seeds) {
        op->network->init(c, NULL);
    } else if (op->key_room != 0) {
        result = headrace_message_renew(op, message, c);
        if (result != HEADRACE_OK) {
            return result;
        }
    }
    if (keyed && message->state != HR_NEW_KEY) {
        result = hr_message_put_flag(op, c, op->rekey, seeds);
    }
    if (result == HEADRACE_OK) {
        result = hr_message_put_flag(op, c, op->decrypt, op->decrypts);
    }
    if (result == HEADRACE_OK) {
        result = hr_message_put_flag(op, c, op->reseed, strings[HEADRACE_ENTROPY].bytes != NULL);
    }
    if (result == HEADRACE_OK && op->single_chunk) {
        result = hr_message_put_word(op, c, op->strings[HEADRACE_INPUT].size_port, input_size);
    }
    result = hr_message_send(op, c, strings, HEADRACE_NONCE, result);
    result = hr_message_send(op, c, strings, HEADRACE_IV, result);
    result = hr_message_send(op, c, strings, HEADRACE_SECRET_NONCE, result);
    result = hr_message_send(op, c, strings, HEADRACE_AD, result);
    result = hr_message_send(op, c, strings, HEADRACE_SEED, result);
    result = hr_message_send(op, c, strings, HEADRACE_ENTROPY, result);
    message->input_bytes = 0;
    message->holds = false;
    message->state = result == HEADRACE_OK ? HR_OPEN : HR_NO_KEY;
    return result;
}

/* How many tokens came out at a port into a window. */
HR_FOLDED size_t hr_message_made(const struct headrace_windows *windows, uint32_t port, size_t n_tokens) {
    return windows != NULL && hr_message_is_there(port) ? n_tokens - windows->n_out[port] : 0;
}

/* Whether a string comes out behind all input, so that it may be written where nothing is read any more. */
HR_FOLDED bool hr_message_is_last(const struct headrace_operation *op, enum headrace_role role) {
    return (op->roles >> role & 1u) != 0 && (role == HEADRACE_TAG || (role == HEADRACE_OUTPUT && !hr_message_streams(op)));
}

/* A string that came out, or the rest of it. */
HR_REPEATED uint32_t hr_message_take_rest(const struct headrace_operation *op, void *c, const struct headrace_windows *windows,
                                          bool whole, enum headrace_role role, const struct headrace_room *to, uint32_t result) {
    const struct headrace_string *const string = &op->strings[role];
    struct headrace_room rest = *to;
    size_t made;
    if (!hr_message_is_last(op, role) || result != HEADRACE_OK) {
        return hr_message_is_last(op, role) ? result : hr_message_take(op, c, role, to, result);
    }
    made = hr_message_made(windows, string->port, to->room);
    if (whole) {
        *to->n_bytes = made;
        return hr_message_allows(string, made) ? HEADRACE_OK : HEADRACE_STUCK;
    }
    rest.bytes += made;
    rest.room -= made;
    result = hr_message_take_any(op, c, role, &rest);
    *to->n_bytes += made;
    return result != HEADRACE_OK || hr_message_allows(string, *to->n_bytes) ? result : HEADRACE_STUCK;
}

/* All strings that come out when the input is over, if all went well before; if there was no room, they are dropped. `windows`:
   where some of them lie already, null if nothing does; `whole`: all of them do. */
HR_FOLDED uint32_t hr_message_take_whole(const struct headrace_operation *op, void *c, const struct headrace_windows *windows,
                                         bool whole, const struct headrace_room *rooms, uint8_t verified, uint32_t result) {
    if (result == HEADRACE_ROOM) {
        return headrace_message_drop(op, c, rooms);
    }
    result = hr_message_take(op, c, HEADRACE_SECRET_NONCE_OUT, &rooms[HEADRACE_SECRET_NONCE_OUT], result);
    result = hr_message_streams(op) ? result
                                    : hr_message_take_rest(op, c, windows, whole, HEADRACE_OUTPUT, &rooms[HEADRACE_OUTPUT], result);
    result = hr_message_take_rest(op, c, windows, whole, HEADRACE_TAG, &rooms[HEADRACE_TAG], result);
    if (result == HEADRACE_OK && hr_message_is_there(op->verified)) {
        if (hr_message_made(windows, op->verified, 1) != 1 && op->network->read(c, op->verified, &verified, 1) != 1) {
            return HEADRACE_STUCK;
        }
        result = hr_message_judged(verified);
    }
    return result;
}

/* The same of strings of which nothing has come out yet. */
HR_FOLDED uint32_t hr_message_take_all(const struct headrace_operation *op, void *c, const struct headrace_room *rooms,
                                       uint32_t result) {
    return hr_message_take_whole(op, c, NULL, false, rooms, 0, result);
}

/* All that follows the last input of a whole message, if all went well before or there was no room. */
HR_FOLDED uint32_t hr_message_finish(const struct headrace_operation *op, void *c, const struct headrace_bytes *strings,
                                     const struct headrace_room *rooms, uint32_t result) {
    if ((result == HEADRACE_OK || result == HEADRACE_ROOM) && hr_message_is_there(op->strings[HEADRACE_TAG_IN].port)) {
        const struct headrace_bytes tag = strings[HEADRACE_TAG_IN];
        result = hr_message_put_string(op, c, HEADRACE_TAG_IN, tag.bytes, tag.n_bytes);
        result = result == HEADRACE_OK ? hr_message_pump_whole(op, c, NULL, 0, 0, &rooms[HEADRACE_OUTPUT]) : result;
    }
    return hr_message_take_all(op, c, rooms, result);
}

/* Whether there is room for what comes out at the end and always has the same length. */
HR_FOLDED bool hr_message_has_room_for(const struct headrace_operation *op, const struct headrace_room *rooms,
                                       enum headrace_role role) {
    return (op->roles >> role & 1u) == 0 || op->strings[role].n_lengths == 0 ||
           rooms[role].room >= op->strings[role].lengths[0].min;
}

HR_FOLDED bool hr_message_has_room(const struct headrace_operation *op, const struct headrace_room *rooms) {
    return hr_message_has_room_for(op, rooms, HEADRACE_SECRET_NONCE_OUT) && hr_message_has_room_for(op, rooms, HEADRACE_TAG) &&
           (hr_message_streams(op) || hr_message_has_room_for(op, rooms, HEADRACE_OUTPUT));
}

/* Whether the tag to be verified has a legal length, where there is one. */
HR_FOLDED bool hr_message_tag_fits(const struct headrace_operation *op, const struct headrace_bytes *strings) {
    const struct headrace_string *const tag = &op->strings[HEADRACE_TAG_IN];
    return !hr_message_is_there(tag->port) || hr_message_allows(tag, strings[HEADRACE_TAG_IN].n_bytes);
}

HR_FOLDED void hr_message_empty(const struct headrace_room *room) {
    if (room->n_bytes != NULL) {
        *room->n_bytes = 0;
    }
}

/* All of a whole message that comes before its input. */
HR_FOLDED uint32_t hr_message_open_whole(const struct headrace_operation *op, struct headrace_message *message, void *c,
                                         const struct headrace_bytes *strings, const struct headrace_room *rooms) {
    const struct headrace_bytes input = strings[HEADRACE_INPUT];
    hr_message_empty(&rooms[HEADRACE_SECRET_NONCE_OUT]);
    hr_message_empty(&rooms[HEADRACE_OUTPUT]);
    hr_message_empty(&rooms[HEADRACE_TAG]);
    if (!hr_message_allows(&op->strings[HEADRACE_INPUT], input.n_bytes) || (op->single_chunk && input.n_bytes >= HR_LAST_CHUNK)) {
        return HEADRACE_INPUT_LENGTH;
    }
    if (!hr_message_tag_fits(op, strings)) {
        return HEADRACE_STRING_LENGTH;
    }
    if (!hr_message_has_room(op, rooms)) {
        return HEADRACE_ROOM;
    }
    return hr_message_begin(op, message, c, strings, HR_LAST_CHUNK | (uint32_t)input.n_bytes);
}

/* What a whole message comes to. Where there was no room, it went through the network all the same, and the key is good. */
HR_FOLDED uint32_t hr_message_ended_whole(const struct headrace_operation *op, struct headrace_message *message,
                                          const struct headrace_room *rooms, uint32_t result) {
    if (result != HEADRACE_OK && op->withholds) {
        headrace_message_withhold(op, rooms, result);
    }
    (void)hr_message_ended(op, message, result == HEADRACE_ROOM ? HEADRACE_OK : result);
    return result;
}

/* All of a whole message that follows its input, if that went well. */
HR_FOLDED uint32_t hr_message_close_whole(const struct headrace_operation *op, struct headrace_message *message, void *c,
                                          const struct headrace_bytes *strings, const struct headrace_room *rooms,
                                          uint32_t result) {
    result = hr_message_finish(op, c, strings, rooms, result);
    return hr_message_ended_whole(op, message, rooms, result);
}

/* A further chunk of the input of a whole message. */
HR_FOLDED uint32_t hr_message_chunk(const struct headrace_operation *op, void *c, const uint8_t *in, uint32_t size,
                                    uint32_t last, const struct headrace_room *out) {
    const uint32_t result = hr_message_put_word(op, c, op->strings[HEADRACE_INPUT].size_port, size | last);
    return result == HEADRACE_OK ? hr_message_pump_whole(op, c, in, size, 0, out) : result;
}

/* A whole message, in which helpers do a part of the work; null: none. */
HR_FOLDED uint32_t hr_message_whole_helped(const struct headrace_operation *op, struct headrace_message *message, void *c,
                                           const struct headrace_helpers *helpers, const struct headrace_bytes *strings,
                                           const struct headrace_room *rooms) {
    const bool helped = helpers != NULL && op->network->help != NULL;
    struct headrace_bytes input = strings[HEADRACE_INPUT];
    uint32_t result = hr_message_open_whole(op, message, c, strings, rooms);
    if (result != HEADRACE_OK) {
        return result;
    }
    if (helped) {
        op->network->help(c, helpers);
    }
    if (op->single_chunk) {
        result = hr_message_pump_whole(op, c, input.bytes, input.n_bytes, 0, &rooms[HEADRACE_OUTPUT]);
    } else {
        if (input.n_bytes > HR_CHUNK_MOST) {
            struct headrace_bytes rest = input;
            const struct headrace_room out = rooms[HEADRACE_OUTPUT];
            result = headrace_message_long(op, c, &rest, &out);
            input = rest;
        }
        if (result == HEADRACE_OK || result == HEADRACE_ROOM) {
            result = hr_message_chunk(op, c, input.bytes, (uint32_t)input.n_bytes, HR_LAST_CHUNK, &rooms[HEADRACE_OUTPUT]);
        }
    }
    if (helped) {
        op->network->help(c, NULL);
    }
    return hr_message_close_whole(op, message, c, strings, rooms, result);
}

/* Whether a message of an operation may be given to a network all at once, if that has a function for it: it says nothing but
   that the key is kept, or there is none. */
HR_FOLDED bool hr_message_is_plain(const struct headrace_operation *op) {
    return (op->roles >> HEADRACE_KEY & 1u) == hr_message_is_there(op->rekey) && !hr_message_is_there(op->reseed) &&
           !hr_message_is_there(op->blocks) && !hr_message_is_there(op->strings[HEADRACE_SEED].port) &&
           !hr_message_is_there(op->strings[HEADRACE_ENTROPY].port);
}

/* Whether a string of a message lies where output goes. */
HR_FOLDED bool hr_message_lies_in(const struct headrace_operation *op, const struct headrace_bytes *strings,
                                  enum headrace_role role, const struct headrace_room *to) {
    return (op->roles >> role & 1u) != 0 &&
           hr_message_overlap(strings[role].bytes, strings[role].n_bytes, to->bytes, to->room);
}

/* Whether there is nothing to complain of in what comes before the end of a message, nor a reason to take pieces or copies. */
HR_FOLDED bool hr_message_begins_as_usual(const struct headrace_operation *op, const struct headrace_message *message,
                                          const struct headrace_bytes *strings, const struct headrace_room *output) {
    return (message->state == HR_KEYED || !hr_message_is_there(op->rekey)) && strings[HEADRACE_INPUT].n_bytes <= HR_CHUNK_MOST &&
           hr_message_fits(op, strings, HEADRACE_NONCE) && hr_message_fits(op, strings, HEADRACE_IV) &&
           hr_message_fits(op, strings, HEADRACE_SECRET_NONCE) && hr_message_fits(op, strings, HEADRACE_AD) &&
           !(hr_message_streams(op) && (hr_message_lies_in(op, strings, HEADRACE_INPUT, output) ||
                                        hr_message_lies_in(op, strings, HEADRACE_NONCE, output) ||
                                        hr_message_lies_in(op, strings, HEADRACE_IV, output) ||
                                        hr_message_lies_in(op, strings, HEADRACE_SECRET_NONCE, output) ||
                                        hr_message_lies_in(op, strings, HEADRACE_AD, output) ||
                                        hr_message_lies_in(op, strings, HEADRACE_TAG_IN, output)));
}

/* The same of a whole message. */
HR_FOLDED bool hr_message_is_usual(const struct headrace_operation *op, const struct headrace_message *message,
                                   const struct headrace_bytes *strings, const struct headrace_room *rooms) {
    return hr_message_allows(&op->strings[HEADRACE_INPUT], strings[HEADRACE_INPUT].n_bytes) && hr_message_tag_fits(op, strings) &&
           hr_message_has_room(op, rooms) && hr_message_begins_as_usual(op, message, strings, &rooms[HEADRACE_OUTPUT]);
}

HR_FOLDED void hr_message_offer(struct headrace_windows *windows, uint32_t port, const void *tokens, size_t n_tokens) {
    if (hr_message_is_there(port)) {
        windows->in[port] = tokens;
        windows->n_in[port] = n_tokens;
    }
}

HR_FOLDED void hr_message_make_room(struct headrace_windows *windows, uint32_t port, void *tokens, size_t n_tokens) {
    if (hr_message_is_there(port)) {
        windows->out[port] = tokens;
        windows->n_out[port] = n_tokens;
    }
}

/* Room for a string that comes out; what says how long its chunks are is dropped. */
HR_FOLDED void hr_message_room_string(const struct headrace_operation *op, struct headrace_windows *windows,
                                      enum headrace_role role, const struct headrace_room *to, uint32_t *dropped) {
    const bool now = hr_message_is_last(op, role) || (role == HEADRACE_OUTPUT && hr_message_streams(op));
    if ((op->roles >> role & 1u) != 0) {
        hr_message_make_room(windows, op->strings[role].size_port, now ? dropped : NULL, now ? 16 : 0);
        hr_message_make_room(windows, op->strings[role].port, now ? to->bytes : NULL, now ? to->room : 0);
    }
}

/* A string and its size, which is one chunk: longer ones are not for `whole`. `last`: HR_LAST_CHUNK, or 0 where more may follow. */
HR_FOLDED void hr_message_offer_string(const struct headrace_operation *op, struct headrace_windows *windows,
                                       const struct headrace_bytes *strings, enum headrace_role role, uint32_t last, uint32_t *size) {
    if ((op->roles >> role & 1u) != 0) {
        *size = last | (uint32_t)strings[role].n_bytes;
        hr_message_offer(windows, op->strings[role].size_port, size, 1);
        hr_message_offer(windows, op->strings[role].port, strings[role].bytes, strings[role].n_bytes);
    }
}

HR_FOLDED void hr_message_same_window(uint32_t port, const struct headrace_windows *from, struct headrace_windows *to) {
    if (hr_message_is_there(port)) {
        to->n_out[port] = from->n_out[port];
    }
}

HR_FOLDED struct headrace_room hr_message_room(const struct headrace_operation *op, enum headrace_role role,
                                               const struct headrace_room *rooms) {
    const struct headrace_room none = {0};
    return (op->roles >> role & 1u) != 0 ? rooms[role] : none;
}

/* The rest of a message that `whole` began. */
uint32_t headrace_message_go_on(const struct headrace_operation *op, void *c, const uint8_t *in, size_t in_bytes, size_t sent,
                                struct headrace_room out);

/* The same to its end, if `began` says that there is more to it than `result`: what has come out lies in `windows` already. */
uint32_t headrace_message_end_whole(const struct headrace_operation *op, struct headrace_message *message, void *c,
                                    const struct headrace_windows *windows, const uint8_t *in, size_t in_bytes,
                                    struct headrace_room secret_nonce, struct headrace_room output, struct headrace_room tag,
                                    uint8_t verified, uint32_t began, uint32_t result);

/* What words and flags of a message lie in while the network takes them. */
struct hr_message_words {
    uint8_t rekey, decrypts;
    uint32_t sizes[6];
};

/* All that there is of a message under the key that the network has; with `last` == 0 more input may follow. Every port gets its
   tokens: to have nothing is to be told so. */
HR_FOLDED void hr_message_offer_all(const struct headrace_operation *op, struct headrace_windows *windows,
                                    const struct headrace_bytes *strings, uint32_t last, struct hr_message_words *words) {
    words->rekey = 0;
    words->decrypts = op->decrypts;
    hr_message_offer(windows, op->rekey, &words->rekey, 1);
    hr_message_offer(windows, op->decrypt, &words->decrypts, 1);
    hr_message_offer(windows, op->strings[HEADRACE_KEY].size_port, NULL, 0);
    hr_message_offer(windows, op->strings[HEADRACE_KEY].port, NULL, 0);
    hr_message_offer_string(op, windows, strings, HEADRACE_NONCE, HR_LAST_CHUNK, &words->sizes[0]);
    hr_message_offer_string(op, windows, strings, HEADRACE_IV, HR_LAST_CHUNK, &words->sizes[1]);
    hr_message_offer_string(op, windows, strings, HEADRACE_SECRET_NONCE, HR_LAST_CHUNK, &words->sizes[2]);
    hr_message_offer_string(op, windows, strings, HEADRACE_AD, HR_LAST_CHUNK, &words->sizes[3]);
    hr_message_offer_string(op, windows, strings, HEADRACE_INPUT, last, &words->sizes[4]);
    hr_message_offer_string(op, windows, strings, HEADRACE_TAG_IN, HR_LAST_CHUNK, &words->sizes[5]);
    windows->input = op->strings[HEADRACE_INPUT].port;
}

/* What comes of a message that a network has taken as far as `began` says, with what came out of it in `windows`; of its input there
   are `n_in`. */
HR_FOLDED uint32_t hr_message_took(const struct headrace_operation *op, struct headrace_message *message, void *c,
                                   const struct headrace_windows *windows, const uint8_t *in, size_t n_in,
                                   const struct headrace_room *rooms, uint8_t verified, uint32_t began) {
    uint32_t result = HEADRACE_OK;
    hr_message_empty(&rooms[HEADRACE_SECRET_NONCE_OUT]);
    hr_message_empty(&rooms[HEADRACE_OUTPUT]);
    hr_message_empty(&rooms[HEADRACE_TAG]);
    if (hr_message_streams(op)) {
        *rooms[HEADRACE_OUTPUT].n_bytes =
            hr_message_made(windows, op->strings[HEADRACE_OUTPUT].port, rooms[HEADRACE_OUTPUT].room);
    }
    if (began == HEADRACE_WHOLE_DONE) {
        result = hr_message_take_whole(op, c, windows, true, rooms, verified, HEADRACE_OK);
    }
    if (began == HEADRACE_WHOLE_DONE && (result == HEADRACE_OK || !op->withholds)) {
        (void)hr_message_ended(op, message, result);
    } else {
        /* Windows of its own, and room by room: the lists of most messages are in no memory then. */
        struct headrace_windows others;
        hr_message_same_window(op->strings[HEADRACE_SECRET_NONCE_OUT].port, windows, &others);
        hr_message_same_window(op->strings[HEADRACE_OUTPUT].port, windows, &others);
        hr_message_same_window(op->strings[HEADRACE_TAG].port, windows, &others);
        hr_message_same_window(op->verified, windows, &others);
        if (hr_message_is_there(windows->input)) {
            others.n_in[windows->input] = windows->n_in[windows->input];
        }
        result = headrace_message_end_whole(op, message, c, &others, in, n_in, hr_message_room(op, HEADRACE_SECRET_NONCE_OUT, rooms),
                                             hr_message_room(op, HEADRACE_OUTPUT, rooms), hr_message_room(op, HEADRACE_TAG, rooms),
                                             verified, began, result);
    }
    return result;
}

/* A whole message at once, if the network takes it so. */
HR_FOLDED bool hr_message_at_once(const struct headrace_operation *op, headrace_take_whole *take,
                                  struct headrace_message *message, void *c, const struct headrace_bytes *strings,
                                  const struct headrace_room *rooms, uint32_t *result) {
    /* Field by field: processors wait where two stores become one load. */
    const uint8_t *const in = strings[HEADRACE_INPUT].bytes;
    const size_t n_in = strings[HEADRACE_INPUT].n_bytes;
    struct headrace_windows windows;
    struct hr_message_words words;
    uint8_t verified = 0;
    uint32_t dropped[16], began;
    hr_message_offer_all(op, &windows, strings, HR_LAST_CHUNK, &words);
    hr_message_room_string(op, &windows, HEADRACE_SECRET_NONCE_OUT, &rooms[HEADRACE_SECRET_NONCE_OUT], dropped);
    hr_message_room_string(op, &windows, HEADRACE_OUTPUT, &rooms[HEADRACE_OUTPUT], dropped);
    hr_message_room_string(op, &windows, HEADRACE_TAG, &rooms[HEADRACE_TAG], dropped);
    hr_message_make_room(&windows, op->verified, &verified, 1);
    if (!hr_message_is_there(op->rekey)) {
        op->network->init(c, NULL);
    }
    began = take(c, &windows);
    if (began == HEADRACE_WHOLE_NOT) {
        return false;
    }
    *result = hr_message_took(op, message, c, &windows, in, n_in, rooms, verified, began);
    return true;
}

/* A whole message that is none of the usual ones. */
HR_FOLDED uint32_t hr_message_whole_other(const struct headrace_operation *op, struct headrace_message *message, void *c,
                                          const struct headrace_bytes *strings, const struct headrace_room *rooms) {
    return hr_message_whole_helped(op, message, c, NULL, strings, rooms);
}

/* Whether a whole message is one of those that are code of their own, and what comes of it then. Of operations that have no
   usual ones, for which `take` is null, all are. Who calls this goes on elsewhere with the others: lists of strings that another
   function gets lie in memory. */
HR_FOLDED bool hr_message_whole(const struct headrace_operation *op, headrace_take_whole *take, struct headrace_message *message,
                                void *c, const struct headrace_bytes *strings, const struct headrace_room *rooms,
                                uint32_t *result) {
    if (take != NULL && hr_message_is_plain(op)) {
        return hr_message_is_usual(op, message, strings, rooms) &&
               hr_message_at_once(op, take, message, c, strings, rooms, result);
    }
    *result = hr_message_whole_other(op, message, c, strings, rooms);
    return true;
}

/* The rest of a piece that `take` began: so many bytes of it are left. */
uint32_t headrace_message_update_on(const struct headrace_operation *op, struct headrace_message *message, void *c,
                                    const uint8_t *in, size_t in_bytes, size_t left, struct headrace_room out);

HR_FOLDED void hr_message_offer_nothing(const struct headrace_operation *op, struct headrace_windows *windows,
                                        enum headrace_role role) {
    if ((op->roles >> role & 1u) != 0) {
        hr_message_offer(windows, op->strings[role].size_port, NULL, 0);
        hr_message_offer(windows, op->strings[role].port, NULL, 0);
    }
}

HR_FOLDED void hr_message_own_room(const struct headrace_operation *op, struct headrace_windows *windows, enum headrace_role role) {
    if ((op->roles >> role & 1u) != 0) {
        hr_message_make_room(windows, op->strings[role].size_port, NULL, 0);
        hr_message_make_room(windows, op->strings[role].port, NULL, 0);
    }
}

/* A chunk of input, and nothing else: every port gets its tokens, since to have nothing is to be told so. */
HR_FOLDED void hr_message_offer_piece(const struct headrace_operation *op, struct headrace_windows *windows, const uint32_t *size,
                                      const uint8_t *in, size_t in_bytes) {
    hr_message_offer(windows, op->rekey, NULL, 0);
    hr_message_offer(windows, op->decrypt, NULL, 0);
    hr_message_offer_nothing(op, windows, HEADRACE_KEY);
    hr_message_offer_nothing(op, windows, HEADRACE_NONCE);
    hr_message_offer_nothing(op, windows, HEADRACE_IV);
    hr_message_offer_nothing(op, windows, HEADRACE_SECRET_NONCE);
    hr_message_offer_nothing(op, windows, HEADRACE_AD);
    hr_message_offer_nothing(op, windows, HEADRACE_TAG_IN);
    hr_message_offer(windows, op->strings[HEADRACE_INPUT].size_port, size, 1);
    hr_message_offer(windows, op->strings[HEADRACE_INPUT].port, in, in_bytes);
    windows->input = op->strings[HEADRACE_INPUT].port;
}

/* Whether a piece of a message that is under way comes to a network as it rests between whole blocks, and what comes of it then. */
HR_FOLDED bool hr_message_piece(const struct headrace_operation *op, headrace_take_whole *take, struct headrace_message *message,
                                void *c, const uint8_t *in, size_t in_bytes, const struct headrace_room *out, uint32_t *result) {
    struct headrace_windows windows;
    const uint32_t size = (uint32_t)in_bytes;
    uint32_t dropped[16], began;
    const bool streams = hr_message_streams(op);
    if (!hr_message_is_plain(op) || message->state != HR_OPEN || message->holds || in_bytes == 0 || in_bytes > HR_CHUNK_MOST ||
        (streams && (out->room < in_bytes || hr_message_overlap(in, in_bytes, out->bytes, out->room)))) {
        return false;
    }
    hr_message_offer_piece(op, &windows, &size, in, in_bytes);
    hr_message_own_room(op, &windows, HEADRACE_SECRET_NONCE_OUT);
    hr_message_own_room(op, &windows, HEADRACE_TAG);
    hr_message_make_room(&windows, op->verified, NULL, 0);
    if (streams) {
        hr_message_room_string(op, &windows, HEADRACE_OUTPUT, out, dropped);
    } else {
        hr_message_own_room(op, &windows, HEADRACE_OUTPUT);
    }
    began = take(c, &windows);
    if (began == HEADRACE_WHOLE_NOT) {
        return false;
    }
    if (streams) {
        *out->n_bytes = hr_message_made(&windows, op->strings[HEADRACE_OUTPUT].port, out->room);
    } else {
        hr_message_empty(out);
    }
    message->asked = in_bytes;
    message->taken = in_bytes;
    message->chunk = 0;
    message->input_bytes += in_bytes;
    *result = HEADRACE_OK;
    if (began != HEADRACE_WHOLE_DONE) {
        *result = headrace_message_update_on(op, message, c, in, in_bytes, windows.n_in[windows.input], *out);
    }
    return true;
}

/* The end of a message that is under way and has no more input, if it comes to a network as it rests between whole blocks, and what
   comes of it then. Not of one that is verified. */
HR_FOLDED bool hr_message_end(const struct headrace_operation *op, headrace_take_whole *take, struct headrace_message *message,
                              void *c, const struct headrace_room *rooms, uint32_t *result) {
    struct headrace_windows windows;
    const uint32_t size = HR_LAST_CHUNK;
    uint8_t verified = 0;
    uint32_t dropped[16], began;
    if (!hr_message_is_plain(op) || message->state != HR_OPEN || message->holds || hr_message_is_there(op->verified) ||
        !hr_message_allows(&op->strings[HEADRACE_INPUT], message->input_bytes) || !hr_message_has_room(op, rooms)) {
        return false;
    }
    hr_message_offer_piece(op, &windows, &size, NULL, 0);
    hr_message_room_string(op, &windows, HEADRACE_SECRET_NONCE_OUT, &rooms[HEADRACE_SECRET_NONCE_OUT], dropped);
    hr_message_room_string(op, &windows, HEADRACE_OUTPUT, &rooms[HEADRACE_OUTPUT], dropped);
    hr_message_room_string(op, &windows, HEADRACE_TAG, &rooms[HEADRACE_TAG], dropped);
    began = take(c, &windows);
    if (began == HEADRACE_WHOLE_NOT) {
        return false;
    }
    message->state = HR_ENDING;
    *result = hr_message_took(op, message, c, &windows, NULL, 0, rooms, verified, began);
    return true;
}

/* Whether a message that begins comes to a network as it rests with all before its input and with the first piece of that, and what
   comes of it then: the message is open. */
HR_FOLDED bool hr_message_first(const struct headrace_operation *op, headrace_take_whole *take, struct headrace_message *message,
                                void *c, const struct headrace_bytes *strings, const struct headrace_room *out, uint32_t *result) {
    const uint8_t *const in = strings[HEADRACE_INPUT].bytes;
    const size_t in_bytes = strings[HEADRACE_INPUT].n_bytes;
    struct headrace_windows windows;
    struct hr_message_words words;
    uint32_t dropped[16], began;
    if (!hr_message_is_plain(op) || !hr_message_streams(op) || op->single_chunk || in_bytes == 0 || out->room < in_bytes ||
        !hr_message_begins_as_usual(op, message, strings, out)) {
        return false;
    }
    hr_message_offer_all(op, &windows, strings, 0, &words);
    hr_message_own_room(op, &windows, HEADRACE_SECRET_NONCE_OUT);
    hr_message_own_room(op, &windows, HEADRACE_TAG);
    hr_message_make_room(&windows, op->verified, NULL, 0);
    hr_message_room_string(op, &windows, HEADRACE_OUTPUT, out, dropped);
    if (!hr_message_is_there(op->rekey)) {
        op->network->init(c, NULL);
    }
    began = take(c, &windows);
    if (began == HEADRACE_WHOLE_NOT) {
        return false;
    }
    *out->n_bytes = hr_message_made(&windows, op->strings[HEADRACE_OUTPUT].port, out->room);
    message->state = HR_OPEN;
    message->holds = false;
    message->asked = message->taken = in_bytes;
    message->chunk = 0;
    message->input_bytes = in_bytes;
    *result = HEADRACE_OK;
    if (began != HEADRACE_WHOLE_DONE) {
        *result = headrace_message_update_on(op, message, c, in, in_bytes, windows.n_in[windows.input], *out);
    }
    return true;
}

/* Messages that are under way together. */
#define HR_TOGETHER 64

/* One of many messages. */
struct hr_message_one {
    struct headrace_message *message;
    struct headrace_bytes strings[HEADRACE_ROLES];
    struct headrace_room rooms[HEADRACE_ROLES];
    size_t none; /* what is counted of outputs that there are not */
};

/* One of many messages by itself. */
uint32_t headrace_message_one_of_many(const struct headrace_operation *op, const struct headrace_contexts *contexts,
                                      const struct headrace_bytes_of_many *strings,
                                      const struct headrace_room_of_many *rooms, size_t number);

HR_FOLDED void hr_message_given(const struct headrace_operation *op, const struct headrace_bytes_of_many *strings,
                                enum headrace_role role, size_t number, struct hr_message_one *one) {
    const bool given = (op->roles >> role & 1u) != 0 && strings[role].n_bytes != NULL;
    one->strings[role].bytes = given ? strings[role].bytes[number] : NULL;
    one->strings[role].n_bytes = given ? strings[role].n_bytes[number] : 0;
}

HR_FOLDED void hr_message_taken(const struct headrace_operation *op, const struct headrace_room_of_many *rooms,
                                enum headrace_role role, size_t number, struct hr_message_one *one) {
    const bool taken = (op->roles >> role & 1u) != 0 && rooms[role].n_bytes != NULL;
    one->rooms[role].bytes = taken ? rooms[role].bytes[number] : NULL;
    one->rooms[role].room = taken ? rooms[role].room[number] : 0;
    one->rooms[role].n_bytes = taken ? rooms[role].n_bytes + number : &one->none;
}

/* Gives the strings of a message and returns the context of its network. */
HR_FOLDED void *hr_message_one_of_many(const struct headrace_operation *op, const struct headrace_contexts *contexts,
                                       const struct headrace_bytes_of_many *strings,
                                       const struct headrace_room_of_many *rooms, size_t number, struct hr_message_one *one) {
    uint8_t *const context = (uint8_t *)contexts->first + number * contexts->size;
    one->message = (struct headrace_message *)(void *)(context + contexts->message);
    hr_message_given(op, strings, HEADRACE_NONCE, number, one);
    hr_message_given(op, strings, HEADRACE_IV, number, one);
    hr_message_given(op, strings, HEADRACE_SECRET_NONCE, number, one);
    hr_message_given(op, strings, HEADRACE_AD, number, one);
    hr_message_given(op, strings, HEADRACE_SEED, number, one);
    hr_message_given(op, strings, HEADRACE_ENTROPY, number, one);
    hr_message_given(op, strings, HEADRACE_INPUT, number, one);
    hr_message_given(op, strings, HEADRACE_TAG_IN, number, one);
    hr_message_taken(op, rooms, HEADRACE_SECRET_NONCE_OUT, number, one);
    hr_message_taken(op, rooms, HEADRACE_OUTPUT, number, one);
    hr_message_taken(op, rooms, HEADRACE_TAG, number, one);
    return context;
}

/* Whether the input can go in beside that of others, without copies. */
HR_FOLDED bool hr_message_goes_along(const struct headrace_operation *op, headrace_streams *streams,
                                     const struct hr_message_one *one) {
    const struct headrace_bytes input = one->strings[HEADRACE_INPUT];
    const struct headrace_room output = one->rooms[HEADRACE_OUTPUT];
    return streams != NULL && input.n_bytes <= HR_CHUNK_MOST &&
           !(hr_message_streams(op) && hr_message_overlap(input.bytes, input.n_bytes, output.bytes, output.room));
}

/* Opens a message that goes along with others and gives what its network must be told. */
HR_FOLDED uint32_t hr_message_join(const struct headrace_operation *op, const struct hr_message_one *one, void *c,
                                   struct headrace_stream *stream) {
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

/* Many whole messages, as many at once as `streams` can, which may be null. `results` has one for each; returns the first that is not
   HEADRACE_OK. */
HR_FOLDED uint32_t hr_message_many(const struct headrace_operation *op, headrace_streams *streams,
                                   struct headrace_contexts contexts, const struct headrace_bytes_of_many *strings,
                                   const struct headrace_room_of_many *rooms, uint32_t *results) {
    const uint32_t input = op->strings[HEADRACE_INPUT].port;
    const uint32_t output = hr_message_streams(op) ? op->strings[HEADRACE_OUTPUT].port : HEADRACE_NO_PORT;
    struct headrace_stream together[HR_TOGETHER];
    size_t numbers[HR_TOGETHER];
    uint32_t all = HEADRACE_OK;
    for (size_t next = 0; next < contexts.count;) {
        size_t n_together = 0;
        for (; next < contexts.count && n_together < HR_TOGETHER; next++) {
            struct hr_message_one one = {0};
            void *const c = hr_message_one_of_many(op, &contexts, strings, rooms, next, &one);
            if (!hr_message_goes_along(op, streams, &one)) {
                results[next] = headrace_message_one_of_many(op, &contexts, strings, rooms, next);
                continue;
            }
            results[next] = hr_message_join(op, &one, c, &together[n_together]);
            if (results[next] == HEADRACE_OK) {
                numbers[n_together++] = next;
            }
        }
        if (n_together != 0) {
            streams(input, output, together, n_together);
        }
        for (size_t i = 0; i < n_together; i++) {
            const struct headrace_stream *const stream = &together[i];
            struct hr_message_one one = {0};
            void *const c = hr_message_one_of_many(op, &contexts, strings, rooms, numbers[i], &one);
            uint32_t result = stream->status == HEADRACE_IDLE ? HEADRACE_OK : HEADRACE_STUCK;
            if (result == HEADRACE_OK && hr_message_streams(op)) {
                *one.rooms[HEADRACE_OUTPUT].n_bytes = stream->made;
            }
            if (result == HEADRACE_OK) {
                result = hr_message_pump_whole(op, c, stream->in, stream->n_in, stream->taken, &one.rooms[HEADRACE_OUTPUT]);
            }
            results[numbers[i]] = hr_message_close_whole(op, one.message, c, one.strings, one.rooms, result);
        }
    }
    for (size_t i = 0; i < contexts.count && all == HEADRACE_OK; i++) {
        all = results[i];
    }
    return all;
}

#endif
