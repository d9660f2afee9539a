/* See headrace_device.h: devices of CUDA; where the compiler is not nvcc, the processor stands for one. */
#include "headrace_cuda.h"

#include <stdio.h>
#include <stdlib.h>

#ifdef __CUDACC__
#include <cuda_runtime.h>
#endif

enum {
    SLOTS = 2,                  /* launches under way: one moves data while another computes */
    LAUNCH_BYTES = 8 << 20,     /* of the largest port in a launch */
    LEAST_BYTES = 1 << 20,      /* of a loop that is worth moving */
    MOST_ITERATIONS = 1 << 30   /* of a launch */
};

struct buffer {
    void *memory;
    size_t bytes;
};

struct slot {
    void *stream;
    struct buffer buffers[HEADRACE_LOOP_PORTS];
};

struct headrace_device {
    int number;
    struct slot slots[SLOTS];
    struct buffer given;
    size_t least_bytes;
    size_t launch_bytes;
    uint64_t iterations;
    char name[128];
    char error[256];
};

/* --- what there is of CUDA ------------------------------------------------------------------------------------------ */

/* Functions return null or what went wrong. */
#ifdef __CUDACC__

static const char *said(cudaError_t error) {
    return error == cudaSuccess ? NULL : cudaGetErrorName(error);
}

static int n_devices(void) {
    int n = 0;
    return cudaGetDeviceCount(&n) == cudaSuccess ? n : 0;
}

static void name_of(int number, char *name, size_t bytes) {
    struct cudaDeviceProp properties;
    if (cudaGetDeviceProperties(&properties, number) == cudaSuccess) {
        (void)snprintf(name, bytes, "%s", properties.name);
    }
}

static const char *use(int number) {
    return said(cudaSetDevice(number));
}

static const char *make_stream(void **stream) {
    cudaStream_t made = NULL;
    const cudaError_t error = cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking);
    *stream = (void *)made;
    return said(error);
}

static void end_stream(void *stream) {
    (void)cudaStreamDestroy((cudaStream_t)stream);
}

static const char *take(void **memory, size_t bytes) {
    return said(cudaMalloc(memory, bytes));
}

static void give_back(void *memory) {
    (void)cudaFree(memory);
}

static const char *to_device(void *to, const void *from, size_t bytes, void *stream) {
    return said(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, (cudaStream_t)stream));
}

static const char *from_device(void *to, const void *from, size_t bytes, void *stream) {
    return said(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, (cudaStream_t)stream));
}

static const char *overwrite(void *memory, size_t bytes, void *stream) {
    return said(cudaMemsetAsync(memory, 0, bytes, (cudaStream_t)stream));
}

static const char *launched(void) {
    return said(cudaGetLastError());
}

static const char *wait_for(void *stream) {
    return said(cudaStreamSynchronize((cudaStream_t)stream));
}

#else

static int n_devices(void) {
    return 1;
}

static void name_of(int number, char *name, size_t bytes) {
    (void)snprintf(name, bytes, "the processor in the place of a device, number %d", number);
}

static const char *use(int number) {
    (void)number;
    return NULL;
}

static const char *make_stream(void **stream) {
    *stream = NULL;
    return NULL;
}

static void end_stream(void *stream) {
    (void)stream;
}

static const char *take(void **memory, size_t bytes) {
    *memory = malloc(bytes);
    return *memory == NULL ? "there is no memory" : NULL;
}

static void give_back(void *memory) {
    free(memory);
}

static const char *to_device(void *to, const void *from, size_t bytes, void *stream) {
    (void)stream;
    memcpy(to, from, bytes);
    return NULL;
}

static const char *from_device(void *to, const void *from, size_t bytes, void *stream) {
    return to_device(to, from, bytes, stream);
}

static const char *overwrite(void *memory, size_t bytes, void *stream) {
    (void)stream;
    memset(memory, 0, bytes);
    return NULL;
}

static const char *launched(void) {
    return NULL;
}

static const char *wait_for(void *stream) {
    (void)stream;
    return NULL;
}

#endif

/* Notes what failed, and says whether something did. */
static bool failed(struct headrace_device *device, const char *what, const char *error) {
    if (error == NULL) {
        return false;
    }
    (void)snprintf(device->error, sizeof device->error, "%s: %s", what, error);
    return true;
}

/* --- which device --------------------------------------------------------------------------------------------------- */

static bool is_wanted(int device, const char *wanted) {
    char name[256] = "";
    char *end;
    const long asked = strtol(wanted, &end, 10);
    if (end != wanted && *end == '\0') {
        return asked == device;
    }
    name_of(device, name, sizeof name);
    return strcmp(wanted, "gpu") == 0 || strstr(name, wanted) != NULL;
}

struct headrace_device *headrace_device_open(const char *wanted, char *why, size_t why_bytes) {
    const int n = n_devices();
    struct headrace_device *device;
    int number = 0;
    wanted = wanted != NULL ? wanted : getenv("HEADRACE_DEVICE");
    while (number < n && wanted != NULL && !is_wanted(number, wanted)) {
        number++;
    }
    if (number >= n) {
        (void)snprintf(why, why_bytes, n == 0 ? "there is no device of CUDA" : "no device of CUDA is the one that is wanted");
        return NULL;
    }
    device = (struct headrace_device *)calloc(1, sizeof *device);
    if (device == NULL) {
        (void)snprintf(why, why_bytes, "there is no memory");
        return NULL;
    }
    device->number = number;
    device->least_bytes = LEAST_BYTES;
    device->launch_bytes = LAUNCH_BYTES;
    name_of(number, device->name, sizeof device->name);
    bool good = !failed(device, "device", use(number));
    for (int i = 0; i < SLOTS && good; i++) {
        good = !failed(device, "stream", make_stream(&device->slots[i].stream));
    }
    if (!good) {
        (void)snprintf(why, why_bytes, "%s", device->error);
        headrace_device_close(device);
        return NULL;
    }
    return device;
}

void headrace_device_close(struct headrace_device *device) {
    if (device == NULL) {
        return;
    }
    (void)use(device->number);
    for (int i = 0; i < SLOTS; i++) {
        struct slot *const slot = &device->slots[i];
        /* What they held has been overwritten when a call returned. */
        for (int port = 0; port < HEADRACE_LOOP_PORTS; port++) {
            give_back(slot->buffers[port].memory);
        }
        if (slot->stream != NULL) {
            end_stream(slot->stream);
        }
    }
    give_back(device->given.memory);
    free(device);
}

#include "headrace_device_common.h"

/* --- kernels -------------------------------------------------------------------------------------------------------- */

/* Room for so many bytes at least. */
static bool has_room(struct headrace_device *device, struct buffer *buffer, size_t bytes) {
    if (buffer->bytes >= bytes) {
        return true;
    }
    give_back(buffer->memory);
    buffer->memory = NULL;
    buffer->bytes = 0;
    if (failed(device, "memory", take(&buffer->memory, bytes))) {
        buffer->memory = NULL;
        return false;
    }
    buffer->bytes = bytes;
    return true;
}

/* One launch: iterations `first` to `first + n - 1`. The row before those of each port is that of the iteration before. */
static bool launch(struct headrace_device *device, struct slot *slot, const struct headrace_iterations *all, size_t first,
                   size_t n) {
    struct headrace_launch it;
    memset(&it, 0, sizeof it);
    it.given = device->given.memory;
    it.first = first;
    it.n = (uint32_t)n;
    it.stream = slot->stream;
    for (uint32_t port = 0; port < all->n_ports; port++) {
        const struct headrace_tokens *const tokens = &all->ports[port];
        const size_t before = first == 0 ? 0 : tokens->bytes;
        char *memory;
        if (!has_room(device, &slot->buffers[port], (n + 1) * tokens->bytes)) {
            return false;
        }
        memory = (char *)slot->buffers[port].memory;
        it.ports[port] = memory;
        if (tokens->in != NULL
            && failed(device, "copy to the device",
                      to_device(memory + tokens->bytes - before, (const char *)tokens->in + first * tokens->bytes - before,
                                n * tokens->bytes + before, slot->stream))) {
            return false;
        }
    }
    all->kernels->launches[all->kernel](&it);
    if (failed(device, "launch", launched())) {
        return false;
    }
    for (uint32_t port = 0; port < all->n_ports; port++) {
        const struct headrace_tokens *const tokens = &all->ports[port];
        if (tokens->out != NULL
            && failed(device, "copy from the device",
                      from_device((char *)tokens->out + first * tokens->bytes, (const char *)it.ports[port] + tokens->bytes,
                                  n * tokens->bytes, slot->stream))) {
            return false;
        }
    }
    return true;
}

static bool finished(struct headrace_device *device, const struct slot *slot) {
    return !failed(device, "kernel", wait_for(slot->stream));
}

/* All iterations, launch after launch, and what they left on the device overwritten. */
static bool run_all(struct headrace_device *device, const struct headrace_iterations *all, size_t given_bytes) {
    size_t each = MOST_ITERATIONS, first = 0;
    bool good = true;
    for (uint32_t port = 0; port < all->n_ports; port++) {
        const size_t fit = device->launch_bytes / all->ports[port].bytes;
        each = fit < each ? fit : each;
    }
    each = each < 64 ? 64 : each / 64 * 64;
    for (unsigned at = 0; good && first < all->iterations; at = (at + 1) % SLOTS) {
        const size_t left = all->iterations - first, n = left < each ? left : each;
        struct slot *const slot = &device->slots[at];
        good = finished(device, slot) && launch(device, slot, all, first, n);
        first += n;
    }
    for (unsigned at = 0; at < SLOTS; at++) {
        const struct slot *const slot = &device->slots[at];
        good = finished(device, slot) && good;
    }
    for (unsigned at = 0; at < SLOTS; at++) {
        const struct slot *const slot = &device->slots[at];
        for (uint32_t port = 0; port < all->n_ports; port++) {
            const struct buffer *const buffer = &slot->buffers[port];
            good = (buffer->memory == NULL
                    || !failed(device, "overwriting", overwrite(buffer->memory, buffer->bytes, slot->stream))) && good;
        }
        if (at == 0) {
            good = !failed(device, "overwriting", overwrite(device->given.memory, given_bytes, slot->stream)) && good;
        }
        good = finished(device, slot) && good;
    }
    return good;
}

bool headrace_device_runs(const struct headrace_helpers *helpers, const struct headrace_iterations *all, const void *given,
                          size_t given_bytes) {
    struct headrace_device *const device = (struct headrace_device *)helpers->user;
    void *const stream = device->slots[0].stream;
    bool good;
    if (failed(device, "device", use(device->number)) || !has_room(device, &device->given, given_bytes)) {
        return false;
    }
    good = !failed(device, "copy to the device", to_device(device->given.memory, given, given_bytes, stream))
           && finished(device, &device->slots[0]) && run_all(device, all, given_bytes);
    device->iterations += good ? all->iterations : 0;
    return good;
}
