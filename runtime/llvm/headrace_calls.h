/*
 * What modules in LLVM IR call: the host, as functions with parameters of fixed size, so that a module names no machine.
 *
 * The pointer that they are given is the `struct headrace_control` of the context; the host is found in it.
 */
#ifndef HEADRACE_CALLS_H
#define HEADRACE_CALLS_H

#include "headrace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Shows bytes. */
void headrace_print(struct headrace_control *control, const uint8_t *bytes, uint32_t n_bytes);

/* Shows the shortest decimal that reads back the same in a format of 16, 32 or 64 bits. */
void headrace_print_real(struct headrace_control *control, double value, uint32_t bits);

/* A native: its result. `*stopped` becomes 1 when the program is to stop, and 0 otherwise. Of each argument follows an
   `int64_t` or, where its bit is set in `lists`, a `uint8_t *` and a `uint32_t`, which says how many bytes there are. */
int64_t headrace_native(struct headrace_control *control, const char *name, uint32_t *stopped, uint32_t n_arguments,
                        uint32_t lists, ...);

/* What `run` of a `struct headrace_network` returns where that of a module returned this. */
uint32_t headrace_calls_ended(struct headrace_control *control, uint32_t status);

/* Modules keep no record of what these ask for: nothing is written. */
void headrace_calls_inspect(const void *context, uint32_t *fills, uint32_t *states, uint32_t *blocked);
void headrace_calls_firings(const void *context, uint64_t *counts);

#ifdef __cplusplus
}
#endif

#endif
