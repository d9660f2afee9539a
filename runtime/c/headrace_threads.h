/*
 * Threads for networks with partitions, where there are POSIX threads. Optional: whoever has threads of another kind does
 * what headrace_threads.c does, with them.
 */
#ifndef HEADRACE_THREADS_H
#define HEADRACE_THREADS_H

#include "headrace_parallel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fires until nothing can fire, one thread a partition, the calling one among them. Returns a value of
   `enum headrace_status`, or -1 when there are no threads to be had; then nothing has been fired. */
int headrace_run_threads(const struct headrace_partitions *partitions, void *context, uint64_t max_firings);

#ifdef __cplusplus
}
#endif

#endif
