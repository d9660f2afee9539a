/* See headrace_helpers.h. */
#include "headrace_helpers.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

/* Threads that are started at most. */
enum { MOST = 64 };

/* Cycles until a thread has been started and works, and has ended: 50 microseconds or so. */
enum { START_CYCLES = 150000 };

/* Of a thread: a part may keep a copy of a context there. */
enum { STACK_BYTES = 1 << 20 };

/* Parts that wait for somebody. */
struct shared {
    void (*work)(void *job, uint32_t part);
    void *job;
    uint32_t n_parts;
    atomic_uint_least32_t next;
};

static void *serve(void *any) {
    struct shared *const shared = (struct shared *)any;
    for (;;) {
        const uint32_t part = atomic_fetch_add_explicit(&shared->next, 1, memory_order_relaxed);
        if (part >= shared->n_parts) {
            return NULL;
        }
        shared->work(shared->job, part);
    }
}

static void run(const struct headrace_helpers *helpers, uint32_t n_parts, void (*work)(void *job, uint32_t part), void *job) {
    pthread_t threads[MOST];
    struct shared shared = {.work = work, .job = job, .n_parts = n_parts};
    const uint32_t n_threads = helpers->n_threads < n_parts ? helpers->n_threads : n_parts;
    uint32_t n_started = 0;
    pthread_attr_t attributes;
    const bool asked = pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, STACK_BYTES) == 0;
    atomic_init(&shared.next, 0);
    while (asked && n_started + 1 < n_threads && pthread_create(&threads[n_started], &attributes, serve, &shared) == 0) {
        n_started++;
    }
    (void)serve(&shared);
    while (n_started != 0) {
        pthread_join(threads[--n_started], NULL);
    }
    if (asked) {
        (void)pthread_attr_destroy(&attributes);
    }
}

static void rest(const struct headrace_helpers *helpers) {
    (void)helpers;
    (void)sched_yield();
}

struct headrace_helpers headrace_threads(uint32_t n_threads) {
    const struct headrace_helpers helpers = {NULL, n_threads < MOST ? n_threads : MOST, START_CYCLES, run, rest};
    return helpers;
}
