/*
 * Support for networks whose instances are divided among partitions, each of which one thread runs.
 *
 * There is no thread library here: the host starts the threads and says how one of them waits and is woken. A FIFO
 * between two partitions has one writer and one reader; each publishes its own index with release order, once for many
 * firings, and looks at the other's when it begins to look for work. Published indices lie in cache lines of their own.
 *
 * When a run ends. A partition that finds nothing to fire says so (DROWSY), looks once more, and rests (IDLE). Whoever
 * publishes an index afterwards sees that and makes the partition active again before it can rest itself. `active` counts
 * the partitions that are not at rest, including those that somebody is about to wake; who brings it to zero knows that
 * nothing can fire anywhere, because every index that was ever published has been looked at.
 *
 * The thread of one partition, its home, also moves tokens across the boundary while the network runs, if the host gives it
 * a function for that. It does so when there is much to move, and before it rests; when something has happened at the
 * boundary since, it is woken once more after all others have come to rest.
 */
#ifndef HEADRACE_PARALLEL_H
#define HEADRACE_PARALLEL_H

#include "headrace.h"

#ifdef __cplusplus
#include <atomic>
typedef std::atomic<uint32_t> hr_atomic32;
typedef std::atomic<uint64_t> hr_atomic64;
#define HR_ALIGNED(bytes) alignas(bytes)
extern "C" {
#else
#include <stdatomic.h>
typedef _Atomic uint32_t hr_atomic32;
typedef _Atomic uint64_t hr_atomic64;
#define HR_ALIGNED(bytes) _Alignas(bytes)
#endif

/* What no two threads should write in at the same time. */
#define HR_LINE 64

/* How the threads of a run wait for each other; the host supplies it. */
struct headrace_waiting {
    void *user;
    /* Returns after the next `wake` of this partition, or after one since the last `wait`; may return earlier. */
    void (*wait)(void *user, uint32_t partition);
    void (*wake)(void *user, uint32_t partition);
    /* How often a partition looks for work before it waits; 0 where threads outnumber cores. */
    uint32_t spins;
};

/* What the threads know of a partition. */
struct headrace_member {
    HR_ALIGNED(HR_LINE) hr_atomic32 state;
    hr_atomic32 starved; /* something was enabled when no firing was left */
};

/* What the partitions of a network share. */
struct headrace_team {
    const struct headrace_waiting *waiting; /* null: one thread runs all of them */
    struct headrace_member *members;
    uint32_t n_members;
    uint32_t home;    /* the member that moves tokens across the boundary */
    bool fed;         /* it does so in this run */
    HR_ALIGNED(HR_LINE) hr_atomic32 active;
    hr_atomic32 unfed; /* something has happened at the boundary that nobody looked at */
    HR_ALIGNED(HR_LINE) hr_atomic32 over;
    hr_atomic32 due;   /* there is much to move across the boundary */
    hr_atomic64 budget; /* firings left, UINT64_MAX: no limit */
};

/* A network with partitions, for those who run it: `begin`, then `work` once for each partition, each in a thread of its
   own, then, when all have returned, `end`. In between nothing else may touch the context. With `fed`, the home partition
   is run by `feed` in the place of `work`, with a function that may write to inputs and read from outputs. */
struct headrace_partitions {
    uint32_t n_partitions;
    uint32_t home;   /* the partition that prints and calls natives, if one does; else one that reads an input */
    void (*begin)(void *context, const struct headrace_waiting *waiting, uint64_t max_firings, bool fed);
    void (*work)(void *context, uint32_t partition);
    /* `move` returns whether it moved any token. */
    void (*feed)(void *context, bool (*move)(void *user), void *user);
    /* Ends the run before its time; for `move`. */
    void (*halt)(void *context);
    /* A value of `enum headrace_status`. */
    uint32_t (*end)(void *context);
};

#ifndef __cplusplus

enum { HR_ACTIVE = 0, HR_DROWSY = 1, HR_IDLE = 2 };

/* Firings that a partition takes from those that are left; also how long a loop that moves no token goes unseen. */
#define HR_BUDGET (UINT64_C(1) << 18)

/* Fires what can fire in one partition and returns whether anything did. */
typedef bool (*hr_part)(void *context);

static inline void hr_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
    __asm__ volatile("yield");
#endif
}

static inline uint32_t hr_own(const hr_atomic32 *index) {
    return atomic_load_explicit(index, memory_order_relaxed);
}

static inline uint32_t hr_other(const hr_atomic32 *index) {
    return atomic_load_explicit(index, memory_order_acquire);
}

/* Lets the other side see an index, unless it has not moved. */
static inline void hr_publish(hr_atomic32 *index, uint32_t value) {
    if (hr_own(index) != value) {
        atomic_store_explicit(index, value, memory_order_release);
    }
}

/* Whether there are more tokens than there was room for. */
static inline void hr_want(hr_atomic32 *wanted, bool more) {
    if (hr_own(wanted) != (more ? 1u : 0u)) {
        atomic_store_explicit(wanted, more ? 1u : 0u, memory_order_relaxed);
    }
}

/* Looks at the index of the other side; true when it has moved since `seen`. */
static inline bool hr_has_moved(const hr_atomic32 *index, uint32_t *seen) {
    const uint32_t now = hr_other(index);
    const bool moved = now != *seen;
    *seen = now;
    return moved;
}

static inline void hr_wake_member(struct headrace_team *team, uint32_t member) {
    hr_atomic32 *const state = &team->members[member].state;
    uint32_t seen = atomic_load_explicit(state, memory_order_relaxed);
    while (seen != HR_ACTIVE) {
        const bool idle = seen == HR_IDLE;
        /* Counted first, so that it cannot rest again before it is counted. */
        if (idle) {
            atomic_fetch_add(&team->active, 1);
        }
        if (atomic_compare_exchange_strong(state, &seen, HR_ACTIVE)) {
            if (idle) {
                team->waiting->wake(team->waiting->user, member);
            }
            return;
        }
        if (idle) {
            atomic_fetch_sub(&team->active, 1);
        }
    }
}

/* Between the publication of indices and the look at who may wait for them. */
static inline void hr_published(const struct headrace_team *team) {
    if (team->waiting != NULL) {
        atomic_thread_fence(memory_order_seq_cst);
    }
}

/* Sees to it that a partition looks at what was published. */
static inline void hr_notify(struct headrace_team *team, uint32_t member) {
    if (team->waiting != NULL
        && atomic_load_explicit(&team->members[member].state, memory_order_relaxed) != HR_ACTIVE) {
        hr_wake_member(team, member);
    }
}

/* Something has happened at the boundary; `much`: enough to move tokens at once. */
static inline void hr_notify_home(struct headrace_team *team, bool much) {
    if (!team->fed) {
        return;
    }
    if (much && atomic_load_explicit(&team->due, memory_order_relaxed) == 0) {
        atomic_store_explicit(&team->due, 1, memory_order_relaxed);
        hr_published(team);
        hr_notify(team, team->home);
    } else if (!much && atomic_load_explicit(&team->unfed, memory_order_relaxed) == 0) {
        atomic_store_explicit(&team->unfed, 1, memory_order_relaxed);
    }
}

static inline bool hr_over(const struct headrace_team *team) {
    return atomic_load_explicit(&team->over, memory_order_relaxed) != 0;
}

static inline bool hr_due(const struct headrace_team *team) {
    return atomic_load_explicit(&team->due, memory_order_relaxed) != 0;
}

static inline void hr_take_budget(struct headrace_team *team, struct headrace_control *control) {
    uint64_t left = atomic_load_explicit(&team->budget, memory_order_relaxed);
    control->budget = HR_BUDGET;
    while (left != UINT64_MAX) {
        const uint64_t taken = left < HR_BUDGET ? left : HR_BUDGET;
        if (atomic_compare_exchange_weak(&team->budget, &left, left - taken)) {
            control->budget = taken;
            return;
        }
    }
}

static inline void hr_return_budget(struct headrace_team *team, struct headrace_control *control) {
    if (atomic_load_explicit(&team->budget, memory_order_relaxed) != UINT64_MAX) {
        atomic_fetch_add(&team->budget, control->budget);
    }
    control->budget = 0;
}

/* Fires in one partition until nothing can fire there, the program stops, or no firing is left. */
static inline bool hr_fire_all(struct headrace_team *team, uint32_t member, hr_part fire, void *context,
                               struct headrace_control *control) {
    bool fired = false;
    for (;;) {
        hr_take_budget(team, control);
        const bool had_budget = control->budget != 0;
        control->limited = 0;
        fired = fire(context) || fired;
        const bool limited = control->limited != 0;
        hr_return_budget(team, control);
        if (control->stopped != 0 || !limited || hr_over(team)) {
            atomic_store_explicit(&team->members[member].starved, 0, memory_order_relaxed);
            return fired;
        }
        if (!had_budget) {
            atomic_store_explicit(&team->members[member].starved, 1, memory_order_relaxed);
            return fired;
        }
    }
}

static inline void hr_finish(struct headrace_team *team) {
    atomic_store(&team->over, 1);
    for (uint32_t other = 0; other < team->n_members; other++) {
        team->waiting->wake(team->waiting->user, other);
    }
}

/* All are at rest, and only the caller knows. Those that lack firings go on if others left some. */
static inline void hr_all_at_rest(struct headrace_team *team) {
    do {
        bool starved = false;
        for (uint32_t member = 0; member < team->n_members; member++) {
            starved = starved || atomic_load(&team->members[member].starved) != 0;
        }
        const bool unfed = atomic_exchange(&team->unfed, 0) != 0;
        if (!unfed && (!starved || atomic_load(&team->budget) == 0)) {
            hr_finish(team);
            return;
        }
        /* The caller counts as active until it has woken all of them. */
        atomic_fetch_add(&team->active, 1);
        if (unfed) {
            hr_wake_member(team, team->home);
        }
        for (uint32_t member = 0; member < team->n_members; member++) {
            if (atomic_load(&team->members[member].starved) != 0) {
                hr_wake_member(team, member);
            }
        }
    } while (atomic_fetch_sub(&team->active, 1) == 1);
}

/* Before a run. A network that has stopped stays so. */
static inline void hr_start(struct headrace_team *team, struct headrace_member *members, uint32_t n_members,
                            uint32_t home, struct headrace_control *const *controls,
                            const struct headrace_waiting *waiting, uint64_t max_firings, bool fed) {
    team->waiting = waiting;
    team->members = members;
    team->n_members = n_members;
    team->home = home;
    team->fed = fed;
    atomic_store(&team->active, n_members);
    atomic_store(&team->over, 0);
    atomic_store(&team->unfed, 0);
    atomic_store(&team->due, 0);
    atomic_store(&team->budget, max_firings);
    for (uint32_t member = 0; member < n_members; member++) {
        atomic_store(&members[member].state, HR_ACTIVE);
        atomic_store(&members[member].starved, 0);
        if (controls[member]->stopped != 0) {
            atomic_store(&team->over, 1);
        }
    }
}

/* What the thread of a partition does in a run. `move`, if there is one, moves tokens across the boundary. */
static inline void hr_work(struct headrace_team *team, uint32_t member, hr_part fire, void *context,
                           struct headrace_control *control, hr_part move, void *user) {
    const struct headrace_waiting *const waiting = team->waiting;
    hr_atomic32 *const state = &team->members[member].state;
    uint32_t spins = 0;
    if (move != NULL) {
        (void)move(user);
    }
    while (!hr_over(team)) {
        bool fired = hr_fire_all(team, member, fire, context, control);
        if (control->stopped != 0) {
            hr_finish(team);
            return;
        }
        if (move != NULL && (!fired || hr_due(team))) {
            atomic_store_explicit(&team->due, 0, memory_order_relaxed);
            fired = move(user) || fired;
        }
        if (fired) {
            spins = 0;
            atomic_store_explicit(state, HR_ACTIVE, memory_order_relaxed);
            continue;
        }
        if (atomic_load_explicit(state, memory_order_relaxed) == HR_ACTIVE) {
            if (spins < waiting->spins) {
                spins++;
                hr_pause();
                continue;
            }
            atomic_store(state, HR_DROWSY);
            atomic_thread_fence(memory_order_seq_cst);
            continue;
        }
        uint32_t expected = HR_DROWSY;
        if (!atomic_compare_exchange_strong(state, &expected, HR_IDLE)) {
            continue;
        }
        if (atomic_fetch_sub(&team->active, 1) == 1) {
            hr_all_at_rest(team);
        }
        while (atomic_load(state) == HR_IDLE && !hr_over(team)) {
            waiting->wait(waiting->user, member);
        }
        spins = 0;
    }
}

/* All partitions in one thread, after `hr_start` without a way to wait. */
static inline void hr_work_alone(struct headrace_team *team, const hr_part *fires, void *context,
                                 struct headrace_control *const *controls) {
    for (bool any = !hr_over(team); any;) {
        any = false;
        for (uint32_t member = 0; member < team->n_members; member++) {
            any = hr_fire_all(team, member, fires[member], context, controls[member]) || any;
            if (controls[member]->stopped != 0) {
                return;
            }
        }
    }
}

/* How a run ended. From now on nobody waits. */
static inline uint32_t hr_status(struct headrace_team *team, struct headrace_control *const *controls) {
    bool starved = false;
    team->waiting = NULL;
    team->fed = false;
    for (uint32_t member = 0; member < team->n_members; member++) {
        if (controls[member]->stopped != 0) {
            return controls[member]->stopped;
        }
        starved = starved || atomic_load(&team->members[member].starved) != 0;
    }
    return starved ? HEADRACE_LIMIT : HEADRACE_IDLE;
}

#endif

#ifdef __cplusplus
}
#endif

#endif
