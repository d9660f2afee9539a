/*
 * A network that was cut into parts, behind the interface of one network. Some are programs, others circuits; tokens are
 * moved between them.
 */
#ifndef HEADRACE_PARTS_H
#define HEADRACE_PARTS_H

#include "headrace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A port of a part, whose tokens take `storage` bytes: that of the whole with this number, or the end of the connection between
   parts with this number. */
struct headrace_part_port {
    uint32_t storage;
    bool crosses;
    uint32_t number;
};

/* A part. */
struct headrace_part {
    const char *name;
    const struct headrace_network *network;
    const struct headrace_part_port *inputs;
    uint32_t n_inputs;
    const struct headrace_part_port *outputs;
    uint32_t n_outputs;
    const uint32_t *instances; /* which instances of the whole it has */
    uint32_t first_place;      /* of its places of run-time errors among all */
    /* Null in software, or: clock cycles in which it worked. */
    uint64_t (*cycles)(const void *context);
};

/* The whole. */
struct headrace_parts {
    const struct headrace_part *parts;
    uint32_t n_parts;
    const uint32_t *storage; /* of the tokens of each of its inputs */
};

/* Tokens on their way to an input. */
struct headrace_waiting {
    uint8_t *tokens;
    size_t n;    /* bytes */
    size_t room; /* bytes that there is memory for */
};

/* A whole that runs. Parts and what waits are on the heap, until `headrace_parts_clear`. */
struct headrace_together {
    struct headrace_control control;
    const struct headrace_parts *parts;
    void **contexts;
    struct headrace_waiting **waiting; /* for each part, for each of its inputs */
};

/* The functions of a whole: those of `struct headrace_network`, but that `init` takes the parts, too. */
void headrace_parts_init(void *context, const struct headrace_host *host, const struct headrace_parts *parts);
size_t headrace_parts_write(void *context, uint32_t port, const void *tokens, size_t n_tokens);
size_t headrace_parts_read(void *context, uint32_t port, void *tokens, size_t n_tokens);
uint32_t headrace_parts_run(void *context, uint64_t max_firings);
void headrace_parts_clear(void *context);
void headrace_parts_inspect(const void *context, uint32_t *fills, uint32_t *states, uint32_t *blocked);
void headrace_parts_firings(const void *context, uint64_t *counts);
const struct headrace_control *headrace_parts_control(const void *context);
void headrace_parts_copy(void *context, const void *other);
/* Says on standard error how many clock cycles circuits worked. */
void headrace_parts_tell(const void *context);

#ifdef __cplusplus
}
#endif

#endif
