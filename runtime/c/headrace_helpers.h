/*
 * Helpers for one message where there are POSIX threads. Optional: whoever has threads of another kind, or some that wait
 * for work, fills in a `struct headrace_helpers` of their own.
 */
#ifndef HEADRACE_HELPERS_H
#define HEADRACE_HELPERS_H

#include "headrace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* So many threads, that of the caller among them: the others are started when there is enough to do, and have ended when
   the call is over. Where one cannot be started, those that are there do its work. */
struct headrace_helpers headrace_threads(uint32_t n_threads);

#ifdef __cplusplus
}
#endif

#endif
