/* The kernels of a network in OpenCL C. */
#ifndef HEADRACE_OPENCL_H
#define HEADRACE_OPENCL_H

#include "headrace_device.h"

struct headrace_kernels {
    const char *source;
    size_t source_bytes;
    const char *const *names;
};

#endif
