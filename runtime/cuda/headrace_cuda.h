/* The kernels of a network in CUDA. */
#ifndef HEADRACE_CUDA_H
#define HEADRACE_CUDA_H

#include "headrace_device.h"

/* Iterations that a kernel runs: where on the device everything is. */
struct headrace_launch {
    const void *given;
    void *ports[HEADRACE_LOOP_PORTS];
    uint64_t first;
    uint32_t n;
    void *stream;
};

struct headrace_kernels {
    void (*const *launches)(const struct headrace_launch *launch);
};

#endif
