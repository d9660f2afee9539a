/* One run of a network with partitions on POSIX threads. */
#include "headrace_threads.h"

#include <pthread.h>
#include <stdlib.h>

/* A partition waits here until somebody wakes it; a wake before the wait counts. */
struct seat {
    pthread_mutex_t mutex;
    pthread_cond_t woken_up;
    bool woken;
};

struct crew {
    struct seat *seats;
    const struct headrace_partitions *partitions;
    void *context;
    struct seat gate; /* opens when all threads are there, and the run has begun or will not */
    bool runs;
};

struct job {
    struct crew *crew;
    uint32_t partition;
    pthread_t thread;
};

static void wait_at(struct seat *seat) {
    pthread_mutex_lock(&seat->mutex);
    while (!seat->woken) {
        pthread_cond_wait(&seat->woken_up, &seat->mutex);
    }
    seat->woken = false;
    pthread_mutex_unlock(&seat->mutex);
}

static void wait_for(void *user, uint32_t partition) {
    wait_at(&((struct crew *)user)->seats[partition]);
}

static void wake_up(void *user, uint32_t partition) {
    struct seat *const seat = &((struct crew *)user)->seats[partition];
    pthread_mutex_lock(&seat->mutex);
    seat->woken = true;
    pthread_cond_signal(&seat->woken_up);
    pthread_mutex_unlock(&seat->mutex);
}

static void *serve(void *any) {
    const struct job *const job = (const struct job *)any;
    struct crew *const crew = job->crew;
    pthread_mutex_lock(&crew->gate.mutex);
    while (!crew->gate.woken) {
        pthread_cond_wait(&crew->gate.woken_up, &crew->gate.mutex);
    }
    pthread_mutex_unlock(&crew->gate.mutex);
    if (crew->runs) {
        crew->partitions->work(crew->context, job->partition);
    }
    return NULL;
}

static void open_gate(struct crew *crew, bool runs) {
    pthread_mutex_lock(&crew->gate.mutex);
    crew->gate.woken = true;
    crew->runs = runs;
    pthread_cond_broadcast(&crew->gate.woken_up);
    pthread_mutex_unlock(&crew->gate.mutex);
}

int headrace_run_threads(const struct headrace_partitions *partitions, void *context, uint64_t max_firings) {
    const uint32_t n = partitions->n_partitions;
    struct crew crew = {.partitions = partitions, .context = context};
    const struct headrace_waiting waiting = {&crew, wait_for, wake_up, 0};
    struct job *const jobs = (struct job *)calloc(n, sizeof *jobs);
    crew.seats = (struct seat *)calloc(n, sizeof *crew.seats);
    int status = -1;
    if (jobs != NULL && crew.seats != NULL) {
        pthread_mutex_init(&crew.gate.mutex, NULL);
        pthread_cond_init(&crew.gate.woken_up, NULL);
        for (uint32_t at = 0; at < n; at++) {
            pthread_mutex_init(&crew.seats[at].mutex, NULL);
            pthread_cond_init(&crew.seats[at].woken_up, NULL);
        }
        uint32_t started = 0;
        bool all = true;
        for (; all && started < n; started++) {
            jobs[started].crew = &crew;
            jobs[started].partition = started;
            if (started != partitions->home) {
                all = pthread_create(&jobs[started].thread, NULL, serve, &jobs[started]) == 0;
            }
        }
        if (all) {
            partitions->begin(context, &waiting, max_firings, false);
        } else {
            started--;
        }
        open_gate(&crew, all);
        if (all) {
            partitions->work(context, partitions->home);
        }
        for (uint32_t at = 0; at < started; at++) {
            if (at != partitions->home) {
                pthread_join(jobs[at].thread, NULL);
            }
        }
        if (all) {
            status = (int)partitions->end(context);
        }
        for (uint32_t at = 0; at < n; at++) {
            pthread_cond_destroy(&crew.seats[at].woken_up);
            pthread_mutex_destroy(&crew.seats[at].mutex);
        }
        pthread_cond_destroy(&crew.gate.woken_up);
        pthread_mutex_destroy(&crew.gate.mutex);
    }
    free(crew.seats);
    free(jobs);
    return status;
}
