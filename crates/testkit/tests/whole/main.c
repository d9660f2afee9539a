/* Messages under a key that is kept, which networks may take all at once, against the same ones under a new key, which go in
   string by string. What is linked with this says which operations there are: `cases`. */
#define _DEFAULT_SOURCE
#include "cases.h"
#include "headrace_whole.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Protocols have nonces of `NONCE` bytes where they may. */
enum { NONCE = 12, MOST = 5200, AROUND = 64, FILL = 0xa5, PAGE = 1 << 16, ARENA = 2 * PAGE };

/* Where strings of a role are: whoever reads beyond the end is stopped. */
static uint8_t *arenas[HEADRACE_ROLES];

static uint64_t seed = 1;

static size_t below(size_t n) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return n == 0 ? 0 : (size_t)(seed >> 16) % n;
}

/* --- what is counted of calls of `whole` --------------------------------------------------------------------------- */

static headrace_take_whole *original;
static size_t n_answers[3];

static uint32_t counted(void *context, struct headrace_windows *windows) {
    const uint32_t answer = original(context, windows);
    n_answers[answer]++;
    return answer;
}

/* The same of pieces. */
static headrace_take_whole *original_of_pieces;
static size_t n_pieces[3];

static uint32_t counted_piece(void *context, struct headrace_windows *windows) {
    const uint32_t answer = original_of_pieces(context, windows);
    n_pieces[answer]++;
    return answer;
}

/* --- messages ------------------------------------------------------------------------------------------------------ */

/* A context of an operation. */
struct side {
    struct headrace_operation operation;
    headrace_take_whole *take, *take_piece;
    struct headrace_message message;
    uint8_t key[64]; /* where operations expect it: behind the message */
    void *network;
};

/* The strings of a message. */
struct strings {
    struct headrace_bytes at[HEADRACE_ROLES];
};

/* Room for what comes out, with bytes around it that nobody may change. */
struct rooms {
    uint8_t *memory[HEADRACE_ROLES];
    size_t n_bytes[HEADRACE_ROLES];
    struct headrace_room at[HEADRACE_ROLES];
};

static bool has(const struct headrace_operation *op, int role) {
    return (op->roles >> role & 1u) != 0;
}

static void *memory(size_t n_bytes) {
    void *const bytes = malloc(n_bytes + (n_bytes == 0));
    if (bytes == NULL) {
        exit(2);
    }
    return bytes;
}

static struct side side_of(const struct headrace_operation *op, headrace_take_whole *take) {
    struct side side = {.operation = *op, .take = take, .message = {.state = HR_NO_KEY}};
    side.network = aligned_alloc(64, (op->network->size + 63) / 64 * 64);
    if (side.network == NULL) {
        exit(2);
    }
    /* A context may lie in any memory: what `init` forgets is a 1 in every field. */
    for (size_t at = 0; at < op->network->size / 4; at++) {
        ((uint32_t *)side.network)[at] = 1;
    }
    return side;
}

/* A legal length: mostly short ones, some long. */
static size_t length(const struct headrace_string *string) {
    const struct headrace_lengths range = string->lengths[below(string->n_lengths)];
    const size_t limits[] = {4, 71, 71, 71, 300, 700, MOST};
    const size_t most = range.max - range.min < MOST ? (size_t)(range.max - range.min) : MOST;
    const size_t wanted = limits[below(sizeof limits / sizeof *limits)];
    size_t more = below((wanted < most ? wanted : most) + 1);
    /* Whole blocks have ways of their own. */
    if (below(3) == 0) {
        more &= ~(size_t)15;
    }
    return (size_t)range.min + more / (size_t)range.multiple * (size_t)range.multiple;
}

static void put(struct strings *strings, int role, const uint8_t *bytes, size_t n_bytes) {
    uint8_t *const to = arenas[role] + (below(4) == 0 ? below(16) : ARENA - PAGE - n_bytes);
    for (size_t at = 0; at < n_bytes; at++) {
        to[at] = bytes == NULL ? (uint8_t)below(256) : bytes[at];
    }
    strings->at[role] = (struct headrace_bytes){to, n_bytes};
}

/* `is_empty`: without input, if that is legal. */
static void draw(struct strings *strings, const struct headrace_operation *op, bool is_empty) {
    for (int role = HEADRACE_NONCE; role <= HEADRACE_TAG_IN; role++) {
        if (has(op, role)) {
            const bool none = is_empty && role == HEADRACE_INPUT && hr_message_allows(&op->strings[role], 0);
            const bool usual = role == HEADRACE_NONCE && below(8) != 0 && hr_message_allows(&op->strings[role], NONCE);
            put(strings, role, NULL, none ? 0 : usual ? NONCE : length(&op->strings[role]));
        }
    }
}

static void make_room(struct rooms *rooms, const struct headrace_operation *op, size_t room, size_t off) {
    for (int role = HEADRACE_SECRET_NONCE_OUT; role < HEADRACE_ROLES; role++) {
        if (has(op, role)) {
            const size_t own = role == HEADRACE_OUTPUT ? room : 64;
            free(rooms->memory[role]);
            rooms->memory[role] = memory(own + off + AROUND);
            memset(rooms->memory[role], FILL, own + off + AROUND);
            rooms->at[role] = (struct headrace_room){rooms->memory[role] + off, own, &rooms->n_bytes[role]};
        }
    }
}

/* Whether the bytes behind the room are as they were. */
static bool kept_inside(const struct rooms *rooms, int role) {
    for (size_t at = 0; at < AROUND; at++) {
        if (rooms->at[role].bytes[rooms->at[role].room + at] != FILL) {
            return false;
        }
    }
    return true;
}

static void release(struct rooms *a, struct rooms *b) {
    for (int role = 0; role < HEADRACE_ROLES; role++) {
        free(a->memory[role]);
        free(b->memory[role]);
    }
}

/* Goes on with a copy of a context, of which nothing is left. */
static void move(struct side *side, struct side *spare) {
    struct side from = *side;
    headrace_message_copy(&side->operation, &spare->message, spare->network, &side->message, side->network);
    memset(from.network, FILL, side->operation.network->size);
    side->message = spare->message;
    memcpy(side->key, spare->key, sizeof side->key);
    side->network = spare->network;
    spare->network = from.network;
}

/* The same message in pieces, on the way from context to context. `n_bytes` of them are given: fewer are a message that nobody
   ends. */
static uint32_t pieces(struct side *side, struct side *spare, const struct headrace_bytes *strings,
                       const struct headrace_room *rooms, size_t n_bytes) {
    const struct headrace_operation *const op = &side->operation;
    const struct headrace_bytes input = strings[HEADRACE_INPUT];
    struct headrace_room rest[HEADRACE_ROLES];
    size_t sent = 0, made = 0, some = 0;
    uint32_t result = headrace_message_init(op, &side->message, side->network, strings);
    memcpy(rest, rooms, sizeof rest);
    while (result == HEADRACE_OK && sent < n_bytes) {
        const size_t left = n_bytes - sent, some_blocks = (1 + below(4)) * 64;
        const size_t n = below(4) != 0 && some_blocks <= left ? some_blocks : 1 + below(left);
        struct headrace_room out = {NULL, 0, NULL};
        if (hr_message_streams(op)) {
            out = (struct headrace_room){rooms[HEADRACE_OUTPUT].bytes + made, rooms[HEADRACE_OUTPUT].room - made, &some};
        }
        if (side->take_piece == NULL || !hr_message_piece(op, side->take_piece, &side->message, side->network, input.bytes + sent, n, &out, &result)) {
            result = headrace_message_update(op, &side->message, side->network, input.bytes + sent, n, out);
        }
        sent += n;
        made += some;
        if (result == HEADRACE_OK && below(4) == 0) {
            move(side, spare);
        }
    }
    if (result != HEADRACE_OK || sent < input.n_bytes) {
        return result;
    }
    if (has(op, HEADRACE_OUTPUT)) {
        rest[HEADRACE_OUTPUT].bytes += made;
        rest[HEADRACE_OUTPUT].room -= made;
    }
    result = headrace_message_final(op, &side->message, side->network, strings, rest);
    if (has(op, HEADRACE_OUTPUT)) {
        *rooms[HEADRACE_OUTPUT].n_bytes += made;
    }
    return result;
}

/* --- comparing ----------------------------------------------------------------------------------------------------- */

/* A whole message as functions of projects take it: those that are usual have code of their own. */
static uint32_t whole_message(struct side *side, const struct headrace_bytes *strings, const struct headrace_room *rooms) {
    const struct headrace_operation *const op = &side->operation;
    uint32_t result;
    if (hr_message_whole(op, side->take, &side->message, side->network, strings, rooms, &result)) {
        return result;
    }
    return hr_message_whole_other(op, &side->message, side->network, strings, rooms);
}

/* How many messages of an operation differ. */
static size_t compare(const struct one_case *one, size_t n_messages) {
    const struct headrace_operation *const op = *one->operation, *const making = one->maker == NULL ? NULL : *one->maker;
    struct side kept = side_of(op, *one->take == NULL ? NULL : counted), spare = side_of(op, NULL), fresh = side_of(op, *one->take);
    struct side maker = side_of(making == NULL ? op : making, NULL);
    uint8_t key[256];
    const size_t n_key = (size_t)op->strings[HEADRACE_KEY].lengths[0].min;
    size_t n_differ = 0, n_ok = 0, n_refused = 0, n_others = 0, n_empty = 0;
    memset(n_answers, 0, sizeof n_answers);
    memset(n_pieces, 0, sizeof n_pieces);
    original = *one->take;
    original_of_pieces = *one->take_piece;
    kept.take_piece = *one->take_piece == NULL ? NULL : counted_piece;
    for (size_t at = 0; at < sizeof key; at++) {
        key[at] = (uint8_t)below(256);
    }
    for (size_t number = 0; number < n_messages; number++) {
        struct strings strings = {{{NULL, 0}}};
        struct rooms a = {{NULL}, {0}, {{NULL, 0, NULL}}}, b = a;
        const size_t way = below(12), off = below(3) == 0 ? below(16) : 0;
        struct headrace_bytes own[HEADRACE_ROLES];
        uint32_t result, expected;
        size_t room;
        bool same;
        /* Empty messages come several in a row, too: what one leaves unread lies before the strings of the next. */
        n_empty = n_empty != 0 ? n_empty - 1 : below(16) == 0 ? 1 + below(6) : 0;
        draw(&strings, op, n_empty != 0);
        if (making != NULL) {
            draw(&strings, making, n_empty != 0);
            make_room(&a, making, strings.at[HEADRACE_INPUT].n_bytes + AROUND, 0);
            if (headrace_message_key(&maker.operation, &maker.message, maker.network, key, n_key) != HEADRACE_OK ||
                whole_message(&maker, strings.at, a.at) != HEADRACE_OK) {
                printf("%s: message %zu cannot be made\n", one->name, number);
                return 1;
            }
            if (has(making, HEADRACE_OUTPUT)) {
                put(&strings, HEADRACE_INPUT, a.at[HEADRACE_OUTPUT].bytes, a.n_bytes[HEADRACE_OUTPUT]);
            }
            if (has(making, HEADRACE_TAG)) {
                put(&strings, HEADRACE_TAG_IN, a.at[HEADRACE_TAG].bytes, a.n_bytes[HEADRACE_TAG]);
            }
            if (below(4) == 0) {
                const int role = has(op, HEADRACE_TAG_IN) && below(2) == 0 ? HEADRACE_TAG_IN : HEADRACE_INPUT;
                if (strings.at[role].n_bytes != 0) {
                    ((uint8_t *)(uintptr_t)strings.at[role].bytes)[below(strings.at[role].n_bytes)] ^= 1u << below(8);
                }
            }
        }
        /* Room for all of it, for just that, or for less. */
        room = strings.at[HEADRACE_INPUT].n_bytes;
        room = way == 0 ? below(room + 1) : way == 1 ? room : room + AROUND;
        make_room(&a, op, room, off);
        make_room(&b, op, room, 0);
        memcpy(own, strings.at, sizeof own);
        if (has(op, HEADRACE_OUTPUT) && hr_message_streams(op) && way >= 2 && way <= 4) {
            /* What goes in lies where output goes: the input itself, or what is read before it. */
            const int first = has(op, HEADRACE_IV) ? HEADRACE_IV : has(op, HEADRACE_NONCE) ? HEADRACE_NONCE : HEADRACE_AD;
            const int role = way == 2 || !has(op, first) || own[first].n_bytes > room ? HEADRACE_INPUT : first;
            memcpy(a.at[HEADRACE_OUTPUT].bytes, own[role].bytes, own[role].n_bytes);
            own[role].bytes = a.at[HEADRACE_OUTPUT].bytes;
        }
        if (way == 7 && (has(op, HEADRACE_TAG) || (has(op, HEADRACE_OUTPUT) && !hr_message_streams(op)))) {
            /* What is read lies where a tag or a digest goes, which comes when all is read. */
            const struct headrace_room last = a.at[has(op, HEADRACE_TAG) ? HEADRACE_TAG : HEADRACE_OUTPUT];
            const int roles[] = {HEADRACE_NONCE, HEADRACE_IV, HEADRACE_AD, HEADRACE_INPUT};
            const int role = roles[below(4)];
            if (has(op, role) && own[role].n_bytes <= last.room) {
                memcpy(last.bytes, own[role].bytes, own[role].n_bytes);
                own[role].bytes = last.bytes;
            }
        }
        if (headrace_message_key(op, &fresh.message, fresh.network, key, n_key) != HEADRACE_OK) {
            printf("%s: no key\n", one->name);
            return 1;
        }
        expected = whole_message(&fresh, strings.at, b.at);
        /* A key begins anew what pieces took from the ways of whole messages. */
        if ((kept.message.state != HR_KEYED && kept.message.state != HR_NEW_KEY) || below(8) == 0) {
            (void)headrace_message_key(op, &kept.message, kept.network, key, n_key);
        }
        if (way == 6 && !op->single_chunk && !op->withholds && own[HEADRACE_INPUT].n_bytes != 0) {
            /* A message that is given up: the next one, which is the same, has a key that is new. */
            (void)pieces(&kept, &spare, own, a.at, below(own[HEADRACE_INPUT].n_bytes));
            (void)headrace_message_key(op, &kept.message, kept.network, key, n_key);
        } else if (below(8) == 0) {
            move(&kept, &spare);
        }
        if ((way == 5 || way >= 10) && !op->single_chunk && !op->withholds) {
            result = pieces(&kept, &spare, own, a.at, own[HEADRACE_INPUT].n_bytes);
        } else {
            result = whole_message(&kept, own, a.at);
        }
        same = result == expected;
        for (int role = HEADRACE_SECRET_NONCE_OUT; same && role < HEADRACE_ROLES; role++) {
            if (has(op, role)) {
                same = kept_inside(&a, role) &&
                       (result != HEADRACE_OK || (a.n_bytes[role] == b.n_bytes[role] &&
                                                  memcmp(a.at[role].bytes, b.at[role].bytes, a.n_bytes[role]) == 0)) &&
                       (result != HEADRACE_REFUSED || !op->withholds || a.n_bytes[role] == 0);
            }
        }
        n_ok += result == HEADRACE_OK;
        n_refused += result == HEADRACE_REFUSED;
        n_others += result != HEADRACE_OK && result != HEADRACE_REFUSED;
        if (!same && n_differ++ < 4) {
            printf("%s: message %zu of %zu bytes differs: way %zu, results %u and %u\n", one->name, number,
                   strings.at[HEADRACE_INPUT].n_bytes, way, (unsigned)result, (unsigned)expected);
        }
        release(&a, &b);
    }
    printf("%s: %zu ok, %zu refused, %zu others, %zu at once, %zu begun, %zu not, %zu pieces at once, %zu begun, %zu not\n", one->name,
           n_ok, n_refused, n_others, n_answers[HEADRACE_WHOLE_DONE], n_answers[HEADRACE_WHOLE_ON], n_answers[HEADRACE_WHOLE_NOT],
           n_pieces[HEADRACE_WHOLE_DONE], n_pieces[HEADRACE_WHOLE_ON], n_pieces[HEADRACE_WHOLE_NOT]);
    headrace_message_clear(op, &kept.message, kept.network);
    for (size_t at = 0; at < op->network->size; at++) {
        if (((const uint8_t *)kept.network)[at] != 0) {
            printf("%s: byte %zu of a context is not wiped\n", one->name, at);
            n_differ++;
            break;
        }
    }
    free(kept.network);
    free(spare.network);
    free(fresh.network);
    free(maker.network);
    return n_differ;
}

int main(int n_arguments, char **arguments) {
    size_t n_differ = 0;
    for (int role = 0; role < HEADRACE_ROLES; role++) {
        arenas[role] = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (arenas[role] == MAP_FAILED || mprotect(arenas[role] + ARENA - PAGE, PAGE, PROT_NONE) != 0) {
            return 2;
        }
    }
    seed = n_arguments > 1 ? strtoull(arguments[1], NULL, 0) | 1u : 1;
    for (size_t at = 0; at < n_cases; at++) {
        n_differ += compare(&cases[at], n_arguments > 2 ? strtoull(arguments[2], NULL, 0) : 300);
    }
    return n_differ != 0;
}
