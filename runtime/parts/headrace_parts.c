/*
 * Parts of a network side by side: each runs until it rests, then tokens go where they are wanted, until nothing moves.
 */
#include "headrace_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Bytes that wait in front of an input at most. */
static const size_t ROOM = (size_t)1 << 20;

/* Bytes that are moved at a time: all tokens that there are fit. */
enum { AT_A_TIME = 1 << 16 };

static void *memory(size_t bytes) {
    void *const made = malloc(bytes == 0 ? 1 : bytes);
    if (made == NULL) {
        fputs("error: out of memory\n", stderr);
        exit(1);
    }
    return made;
}

/* Memory for a context; what is cleared is wiped by the part itself. */
static void *aligned(size_t bytes, size_t alignment) {
    const size_t least = alignment < sizeof(void *) ? sizeof(void *) : alignment;
    void *const made = aligned_alloc(least, (bytes + least - 1) / least * least);
    if (made == NULL) {
        fputs("error: out of memory\n", stderr);
        exit(1);
    }
    return made;
}

/* Gives memory back in which keys may have been. */
static void release(struct headrace_waiting *waiting) {
    if (waiting->room != 0) {
        hr_wipe(waiting->tokens, waiting->room);
    }
    free(waiting->tokens);
}

static void append(struct headrace_waiting *to, const void *tokens, size_t bytes) {
    if (to->n + bytes > to->room) {
        const size_t room = 2 * (to->n + bytes);
        uint8_t *const more = memory(room);
        if (to->n != 0) {
            memcpy(more, to->tokens, to->n);
        }
        release(to);
        to->tokens = more;
        to->room = room;
    }
    if (bytes != 0) {
        memcpy(to->tokens + to->n, tokens, bytes);
        to->n += bytes;
    }
}

void headrace_parts_init(void *context, const struct headrace_host *host, const struct headrace_parts *parts) {
    struct headrace_together *const whole = context;
    memset(whole, 0, sizeof *whole);
    whole->control.host = host;
    whole->parts = parts;
    whole->contexts = memory(parts->n_parts * sizeof *whole->contexts);
    whole->waiting = memory(parts->n_parts * sizeof *whole->waiting);
    for (uint32_t i = 0; i < parts->n_parts; i++) {
        const struct headrace_part *const part = &parts->parts[i];
        whole->contexts[i] = aligned(part->network->size, part->network->alignment);
        part->network->init(whole->contexts[i], host);
        whole->waiting[i] = memory(part->n_inputs * sizeof **whole->waiting);
        memset(whole->waiting[i], 0, part->n_inputs * sizeof **whole->waiting);
    }
}

size_t headrace_parts_write(void *context, uint32_t port, const void *tokens, size_t n_tokens) {
    struct headrace_together *const whole = context;
    const size_t storage = whole->parts->storage[port];
    size_t n = n_tokens;
    /* The fullest of those that read it decides; what nothing reads takes all. */
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < whole->parts->n_parts; i++) {
            const struct headrace_part *const part = &whole->parts->parts[i];
            for (uint32_t input = 0; input < part->n_inputs; input++) {
                struct headrace_waiting *const waiting = &whole->waiting[i][input];
                if (part->inputs[input].crosses || part->inputs[input].number != port) {
                    continue;
                }
                if (pass == 1) {
                    append(waiting, tokens, n * storage);
                } else {
                    const size_t room = waiting->n < ROOM ? (ROOM - waiting->n) / storage : 0;
                    n = room < n ? room : n;
                }
            }
        }
    }
    return n;
}

size_t headrace_parts_read(void *context, uint32_t port, void *tokens, size_t n_tokens) {
    struct headrace_together *const whole = context;
    for (uint32_t i = 0; i < whole->parts->n_parts; i++) {
        const struct headrace_part *const part = &whole->parts->parts[i];
        for (uint32_t output = 0; output < part->n_outputs; output++) {
            if (!part->outputs[output].crosses && part->outputs[output].number == port) {
                return part->network->read(whole->contexts[i], output, tokens, n_tokens);
            }
        }
    }
    return 0;
}

/* Gives a part what waits for it. Whether anything moved. */
static bool feed(struct headrace_together *whole, uint32_t at) {
    const struct headrace_part *const part = &whole->parts->parts[at];
    bool moved = false;
    for (uint32_t input = 0; input < part->n_inputs; input++) {
        struct headrace_waiting *const waiting = &whole->waiting[at][input];
        const size_t storage = part->inputs[input].storage;
        if (waiting->n != 0) {
            const size_t n = part->network->write(whole->contexts[at], input, waiting->tokens, waiting->n / storage);
            waiting->n -= n * storage;
            memmove(waiting->tokens, waiting->tokens + n * storage, waiting->n);
            moved = moved || n != 0;
        }
    }
    return moved;
}

/* Where a connection between parts leads to; null: nowhere. */
static struct headrace_waiting *end_of(struct headrace_together *whole, uint32_t number) {
    for (uint32_t i = 0; i < whole->parts->n_parts; i++) {
        const struct headrace_part *const part = &whole->parts->parts[i];
        for (uint32_t input = 0; input < part->n_inputs; input++) {
            if (part->inputs[input].crosses && part->inputs[input].number == number) {
                return &whole->waiting[i][input];
            }
        }
    }
    return NULL;
}

/* Takes what came out of a part to those that read it. Whether anything moved. */
static bool deliver(struct headrace_together *whole, uint32_t at) {
    const struct headrace_part *const part = &whole->parts->parts[at];
    uint64_t buffer[AT_A_TIME / 8];
    bool moved = false;
    for (uint32_t output = 0; output < part->n_outputs; output++) {
        const struct headrace_part_port *const port = &part->outputs[output];
        struct headrace_waiting *const to = port->crosses ? end_of(whole, port->number) : NULL;
        while (to != NULL && to->n < ROOM) {
            const size_t n = part->network->read(whole->contexts[at], output, buffer, sizeof buffer / port->storage);
            if (n == 0) {
                break;
            }
            append(to, buffer, n * port->storage);
            moved = true;
        }
    }
    hr_wipe(buffer, sizeof buffer);
    return moved;
}

uint32_t headrace_parts_run(void *context, uint64_t max_firings) {
    struct headrace_together *const whole = context;
    bool moved;
    do {
        moved = false;
        for (uint32_t i = 0; i < whole->parts->n_parts; i++) {
            const struct headrace_part *const part = &whole->parts->parts[i];
            uint32_t status;
            moved = feed(whole, i) || moved;
            status = part->network->run(whole->contexts[i], max_firings);
            moved = deliver(whole, i) || moved;
            if (status == HEADRACE_LIMIT) {
                return status;
            }
            if (status != HEADRACE_IDLE) {
                const struct headrace_host *const host = whole->control.host;
                whole->control = *part->network->control(whole->contexts[i]);
                whole->control.host = host;
                whole->control.instance = part->instances[whole->control.instance];
                whole->control.trap.place += part->first_place;
                return status;
            }
        }
    } while (moved);
    return HEADRACE_IDLE;
}

void headrace_parts_clear(void *context) {
    struct headrace_together *const whole = context;
    if (whole->parts == NULL) {
        return;
    }
    for (uint32_t i = 0; i < whole->parts->n_parts; i++) {
        const struct headrace_part *const part = &whole->parts->parts[i];
        part->network->clear(whole->contexts[i]);
        for (uint32_t input = 0; input < part->n_inputs; input++) {
            release(&whole->waiting[i][input]);
        }
        free(whole->contexts[i]);
        free(whole->waiting[i]);
    }
    free(whole->contexts);
    free(whole->waiting);
    memset(whole, 0, sizeof *whole);
}

void headrace_parts_inspect(const void *context, uint32_t *fills, uint32_t *states, uint32_t *blocked) {
    (void)context, (void)fills, (void)states, (void)blocked;
}

void headrace_parts_firings(const void *context, uint64_t *counts) {
    (void)context, (void)counts;
}

const struct headrace_control *headrace_parts_control(const void *context) {
    const struct headrace_together *const whole = context;
    return &whole->control;
}

void headrace_parts_copy(void *context, const void *other) {
    (void)context, (void)other;
    fputs("error: a network in parts cannot be copied\n", stderr);
    exit(1);
}

void headrace_parts_tell(const void *context) {
    const struct headrace_together *const whole = context;
    fflush(stdout);
    for (uint32_t i = 0; i < whole->parts->n_parts; i++) {
        const struct headrace_part *const part = &whole->parts->parts[i];
        if (part->cycles != NULL) {
            fprintf(stderr, "note: `%s` in hardware: %" PRIu64 " clock cycles\n", part->name, part->cycles(whole->contexts[i]));
        }
    }
}
