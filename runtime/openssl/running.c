/* The state of a network under the messages of a context; see provider.h. */
#include "provider.h"

#include "headrace_whole.h"

/* Overlapping input goes through so many bytes. */
#define ASIDE 2048

bool headrace_has(const struct headrace_operation *operation, enum headrace_role role) {
    return (operation->roles >> role & 1u) != 0;
}

bool headrace_allows(const struct headrace_operation *operation, enum headrace_role role, size_t bytes) {
    return headrace_has(operation, role) ? hr_message_allows(&operation->strings[role], bytes) : bytes == 0;
}

void headrace_bounds(const struct headrace_operation *operation, enum headrace_role role, size_t bound, size_t *least, size_t *most) {
    *least = *most = 0;
    if (headrace_has(operation, role)) {
        const struct headrace_string *const string = &operation->strings[role];
        for (uint32_t i = 0; i < string->n_lengths; i++) {
            const struct headrace_lengths range = string->lengths[i];
            const size_t end = range.max < bound ? (size_t)range.max : bound;
            if (i == 0 || range.min < *least) {
                *least = (size_t)range.min;
            }
            if (end > *most) {
                *most = end;
            }
        }
    }
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

static void needs(const struct headrace_operation *operation, size_t *bytes, size_t *alignment) {
    if (operation != NULL) {
        *bytes = larger(*bytes, operation->network->size);
        *alignment = larger(*alignment, operation->network->alignment);
    }
}

static bool allocate(struct headrace_running *running) {
    size_t bytes = 0, alignment = 1;
    for (size_t i = 0; i < running->algorithm->n_rows; i++) {
        needs(running->algorithm->rows[i].forward, &bytes, &alignment);
        needs(running->algorithm->rows[i].backward, &bytes, &alignment);
    }
    running->memory_bytes = bytes + alignment - 1;
    running->memory = headrace_allocate(running->provider, running->memory_bytes);
    if (running->memory != NULL) {
        const uintptr_t at = (uintptr_t)running->memory;
        running->network = (uint8_t *)running->memory + (alignment - at % alignment) % alignment;
    }
    return running->memory != NULL;
}

int headrace_running_make(struct headrace_running *running, struct headrace_provider *provider,
                          const struct headrace_algorithm *algorithm) {
    running->provider = provider;
    running->algorithm = algorithm;
    running->operation = NULL;
    return allocate(running) ? 1 : headrace_raise(provider, HEADRACE_REASON_MEMORY);
}

int headrace_running_copy(struct headrace_running *running, const struct headrace_running *from) {
    *running = *from;
    running->messages = running->bytes = 0;
    if (!allocate(running)) {
        return headrace_raise(running->provider, HEADRACE_REASON_MEMORY);
    }
    if (running->operation != NULL) {
        const struct headrace_network *const network = running->operation->network;
        if (network->copy != NULL) {
            network->copy(running->network, from->network);
        } else {
            /* None has a host here. */
            memcpy(running->network, from->network, network->size);
        }
    }
    return 1;
}

void headrace_running_clear(struct headrace_running *running) {
    if (running->memory != NULL) {
        headrace_running_count(running);
        headrace_release(running->provider, running->memory, running->memory_bytes);
        running->memory = NULL;
    }
}

bool headrace_running_has_key(const struct headrace_running *running) {
    const struct headrace_network *const network = running->operation->network;
    return running->message.state == HR_NEW_KEY ||
           (running->message.state == HR_KEYED && (network->has_left == NULL || !network->has_left(running->network)));
}

void headrace_running_stop(struct headrace_running *running) {
    if (running->message.state == HR_OPEN || running->message.state == HR_ENDING) {
        running->message.state = HR_NO_KEY;
    }
}

void headrace_running_turn(struct headrace_running *running, const struct headrace_operation *operation) {
    if (running->operation != operation) {
        if (running->operation != NULL) {
            running->operation->network->clear(running->network);
        }
        running->operation = operation;
        running->message.state = HR_NO_KEY;
    }
}

void headrace_running_count(struct headrace_running *running) {
    struct headrace_count *const counts = &running->provider->counts[running->algorithm - headrace_algorithms];
    atomic_fetch_add_explicit(&counts->messages, running->messages, memory_order_relaxed);
    atomic_fetch_add_explicit(&counts->bytes, running->bytes, memory_order_relaxed);
    running->messages = running->bytes = 0;
}

int headrace_running_failed(struct headrace_running *running, uint32_t result) {
    static const enum headrace_reason reasons[] = {
        [HEADRACE_OK] = HEADRACE_REASON_NETWORK,       [HEADRACE_KEY_LENGTH] = HEADRACE_REASON_KEY_BYTES,
        [HEADRACE_STRING_LENGTH] = HEADRACE_REASON_IV_BYTES, [HEADRACE_INPUT_LENGTH] = HEADRACE_REASON_LENGTH,
        [HEADRACE_ROOM] = HEADRACE_REASON_ROOM,        [HEADRACE_ORDER] = HEADRACE_REASON_ORDER,
        [HEADRACE_STUCK] = HEADRACE_REASON_NETWORK,    [HEADRACE_REFUSED] = HEADRACE_REASON_FORGED,
    };
    return headrace_raise(running->provider, result <= HEADRACE_REFUSED ? reasons[result] : HEADRACE_REASON_NETWORK);
}

uint32_t headrace_running_pump(struct headrace_running *running, const uint8_t *in, size_t in_bytes, struct headrace_room out) {
    const struct headrace_operation *const op = running->operation;
    uint32_t result = HEADRACE_OK;
    if (!hr_message_streams(op) || !hr_message_overlap(in, in_bytes, out.bytes, out.room)) {
        result = hr_message_pump(op, running->network, in, in_bytes, 0, &out);
    } else {
        uint8_t aside[ASIDE];
        while (result == HEADRACE_OK && in_bytes != 0) {
            const size_t piece = in_bytes < ASIDE ? in_bytes : ASIDE;
            memcpy(aside, in, piece);
            result = hr_message_pump(op, running->network, aside, piece, 0, &out);
            in += piece;
            in_bytes -= piece;
        }
        running->provider->cleanse(aside, sizeof aside);
    }
    return result;
}

uint32_t headrace_running_update(struct headrace_running *running, const uint8_t *in, size_t in_bytes, struct headrace_room out) {
    const struct headrace_operation *const op = running->operation;
    headrace_running_took(running, in_bytes);
    while (in_bytes != 0) {
        const uint32_t size = in_bytes < HR_CHUNK_MOST ? (uint32_t)in_bytes : HR_CHUNK_MOST;
        uint32_t result = hr_message_put_word(op, running->network, op->strings[HEADRACE_INPUT].size_port, size);
        if (result == HEADRACE_OK) {
            result = headrace_running_pump(running, in, size, out);
        }
        if (result != HEADRACE_OK) {
            return hr_message_ended(op, &running->message, result);
        }
        running->message.input_bytes += size;
        in += size;
        in_bytes -= size;
    }
    return HEADRACE_OK;
}

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool headrace_is_among(const char *names, const char *name, size_t name_bytes) {
    while (names != NULL) {
        size_t i = 0;
        while (i < name_bytes && names[i] != 0 && names[i] != ':' && lower(names[i]) == lower(name[i])) {
            i++;
        }
        if (i == name_bytes && (names[i] == 0 || names[i] == ':')) {
            return true;
        }
        names = strchr(names, ':');
        names = names == NULL ? NULL : names + 1;
    }
    return false;
}

bool headrace_has_part(const struct headrace_algorithm *algorithm, const char *part) {
    const size_t bytes = strlen(part);
    const char *at = algorithm->names;
    for (;;) {
        const size_t here = strcspn(at, "-:");
        if (here == bytes && memcmp(at, part, bytes) == 0) {
            return true;
        }
        if (at[here] != '-') {
            return false;
        }
        at += here + 1;
    }
}
