/*
 * Devices that run loops of a message whose iterations do not need each other: one work item for each iteration.
 *
 * A device is handed to functions as helpers are (`..._message_helped`). It runs the wide loops; key set-up, the beginning and
 * the end of a message stay with the processor, and so does everything that is too short or that the device refuses. What
 * secrets were on it is overwritten before a call returns. A device serves one thread at a time.
 */
#ifndef HEADRACE_DEVICE_H
#define HEADRACE_DEVICE_H

#include "headrace.h"

#ifdef __cplusplus
extern "C" {
#endif

struct headrace_device;

/* Opens the device that `wanted` names: `gpu`, `cpu`, `accelerator`, a number in the order of the system, or a part of a name.
   Null: what the environment variable HEADRACE_DEVICE names, or the first GPU, or the first device of any kind. Returns null
   where there is none, with the reason in `why`, which has room for `why_bytes` bytes. */
struct headrace_device *headrace_device_open(const char *wanted, char *why, size_t why_bytes);

/* Overwrites what the device holds and gives it back; null: nothing. */
void headrace_device_close(struct headrace_device *device);

/* What the device calls itself. */
const char *headrace_device_name(const struct headrace_device *device);

/* The last function that failed, and how; empty: none has. A loop that failed there has run on the processor. */
const char *headrace_device_error(const struct headrace_device *device);

/* Iterations that the device has run. */
uint64_t headrace_device_iterations(const struct headrace_device *device);

/* Loops that take and make fewer bytes than that are left to the processor; 1 MiB unless it is said. */
void headrace_device_least_bytes(struct headrace_device *device, size_t bytes);

/* What a launch moves of a port at most; unless it is said 8 MiB, and 128 KiB a core where the device is a processor. */
void headrace_device_launch_bytes(struct headrace_device *device, size_t bytes);

/* The device as helpers of a message. */
struct headrace_helpers headrace_device_helpers(struct headrace_device *device);

/* --- for generated code ----------------------------------------------------------------------------------------- */

/* Ports of a loop at most. */
#define HEADRACE_LOOP_PORTS 8

/* The kernels of a network; what it is depends on the kind of device. */
struct headrace_kernels;

/* Where the tokens of a port are, or where they go, and the bytes of an iteration. */
struct headrace_tokens {
    const void *in;
    void *out;
    size_t bytes;
};

/* Iterations of a loop, with the pointers of its kernel in order. */
struct headrace_iterations {
    const struct headrace_kernels *kernels;
    uint32_t kernel;
    uint32_t n_ports;
    size_t iterations;
    struct headrace_tokens ports[HEADRACE_LOOP_PORTS];
};

/* Whether helpers are a device that is worth asking. */
bool headrace_device_takes(const struct headrace_helpers *helpers, const struct headrace_iterations *all);

/* Runs iterations there; where it returns false, they must be run here. */
bool headrace_device_runs(const struct headrace_helpers *helpers, const struct headrace_iterations *all, const void *given,
                          size_t given_bytes);

#ifdef __cplusplus
}
#endif

#endif
