/* See headrace_device.h: devices of OpenCL 1.2 and later. */
#define CL_TARGET_OPENCL_VERSION 120
#include "headrace_opencl.h"

#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    SLOTS = 2,                  /* launches under way: one moves data while another computes */
    PROGRAMS = 32,              /* networks whose kernels are kept */
    LAUNCH_BYTES = 8 << 20,     /* of the largest port in a launch */
    LEAST_BYTES = 1 << 20,      /* of a loop that is worth moving */
    MOST_DEVICES = 64,
    GROUP = 64,                 /* iterations of a group */
    PROCESSOR_BYTES = 128 << 10 /* of the largest port in a launch, for each core of a processor: what its caches hold */
};

struct program {
    const struct headrace_kernels *kernels;
    cl_program program;
};

struct buffer {
    cl_mem memory;
    size_t bytes;
};

struct slot {
    cl_command_queue queue;
    struct buffer buffers[HEADRACE_LOOP_PORTS];
};

struct headrace_device {
    cl_device_id id;
    cl_context context;
    struct slot slots[SLOTS];
    struct program programs[PROGRAMS];
    size_t n_programs;
    size_t least_bytes;
    size_t launch_bytes;
    uint64_t iterations;
    bool is_processor; /* a group is one work item that runs all its iterations */
    char name[128];
    char error[1024];
};

static const char *error_name(cl_int code) {
    switch (code) {
    case CL_DEVICE_NOT_FOUND: return "CL_DEVICE_NOT_FOUND";
    case CL_DEVICE_NOT_AVAILABLE: return "CL_DEVICE_NOT_AVAILABLE";
    case CL_COMPILER_NOT_AVAILABLE: return "CL_COMPILER_NOT_AVAILABLE";
    case CL_MEM_OBJECT_ALLOCATION_FAILURE: return "CL_MEM_OBJECT_ALLOCATION_FAILURE";
    case CL_OUT_OF_RESOURCES: return "CL_OUT_OF_RESOURCES";
    case CL_OUT_OF_HOST_MEMORY: return "CL_OUT_OF_HOST_MEMORY";
    case CL_BUILD_PROGRAM_FAILURE: return "CL_BUILD_PROGRAM_FAILURE";
    case CL_INVALID_VALUE: return "CL_INVALID_VALUE";
    case CL_INVALID_DEVICE: return "CL_INVALID_DEVICE";
    case CL_INVALID_CONTEXT: return "CL_INVALID_CONTEXT";
    case CL_INVALID_COMMAND_QUEUE: return "CL_INVALID_COMMAND_QUEUE";
    case CL_INVALID_MEM_OBJECT: return "CL_INVALID_MEM_OBJECT";
    case CL_INVALID_BUILD_OPTIONS: return "CL_INVALID_BUILD_OPTIONS";
    case CL_INVALID_KERNEL_NAME: return "CL_INVALID_KERNEL_NAME";
    case CL_INVALID_KERNEL_ARGS: return "CL_INVALID_KERNEL_ARGS";
    case CL_INVALID_ARG_SIZE: return "CL_INVALID_ARG_SIZE";
    case CL_INVALID_WORK_GROUP_SIZE: return "CL_INVALID_WORK_GROUP_SIZE";
    case CL_INVALID_BUFFER_SIZE: return "CL_INVALID_BUFFER_SIZE";
    case -1001: return "CL_PLATFORM_NOT_FOUND_KHR";
    default: return "an error";
    }
}

/* Notes what failed, and says whether something did. */
static bool failed(struct headrace_device *device, const char *function, cl_int code) {
    if (code == CL_SUCCESS) {
        return false;
    }
    (void)snprintf(device->error, sizeof device->error, "%s: %s (%d)", function, error_name(code), (int)code);
    return true;
}

/* --- which device ------------------------------------------------------------------------------------------------ */

static cl_uint all_devices(cl_device_id *devices, cl_int *code) {
    cl_platform_id platforms[MOST_DEVICES];
    cl_uint n_platforms = 0, n = 0;
    *code = clGetPlatformIDs(MOST_DEVICES, platforms, &n_platforms);
    for (cl_uint i = 0; *code == CL_SUCCESS && i < n_platforms && i < MOST_DEVICES && n < MOST_DEVICES; i++) {
        cl_uint found = 0;
        if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, MOST_DEVICES - n, devices + n, &found) == CL_SUCCESS) {
            n += found < MOST_DEVICES - n ? found : MOST_DEVICES - n;
        }
    }
    return n;
}

static cl_device_type type_of(cl_device_id device) {
    cl_device_type type = 0;
    (void)clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    return type;
}

static size_t n_cores(cl_device_id device) {
    cl_uint n = 1;
    (void)clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof n, &n, NULL);
    return n;
}

/* A device can be used when it computes as the processor does and can compile. */
static bool is_usable(cl_device_id device) {
    cl_bool little = CL_FALSE, available = CL_FALSE, compiles = CL_FALSE;
    (void)clGetDeviceInfo(device, CL_DEVICE_ENDIAN_LITTLE, sizeof little, &little, NULL);
    (void)clGetDeviceInfo(device, CL_DEVICE_AVAILABLE, sizeof available, &available, NULL);
    (void)clGetDeviceInfo(device, CL_DEVICE_COMPILER_AVAILABLE, sizeof compiles, &compiles, NULL);
    return little && available && compiles;
}

static bool is_wanted(cl_device_id device, cl_uint number, const char *wanted) {
    char name[256] = "";
    char *end;
    const unsigned long asked = strtoul(wanted, &end, 10);
    if (end != wanted && *end == '\0') {
        return asked == number;
    }
    if (strcmp(wanted, "gpu") == 0) {
        return (type_of(device) & CL_DEVICE_TYPE_GPU) != 0;
    }
    if (strcmp(wanted, "cpu") == 0) {
        return (type_of(device) & CL_DEVICE_TYPE_CPU) != 0;
    }
    if (strcmp(wanted, "accelerator") == 0) {
        return (type_of(device) & CL_DEVICE_TYPE_ACCELERATOR) != 0;
    }
    (void)clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name - 1, name, NULL);
    return strstr(name, wanted) != NULL;
}

static cl_device_id choose(const cl_device_id *devices, cl_uint n, const char *wanted) {
    for (cl_uint i = 0; i < n; i++) {
        if (is_usable(devices[i]) && (wanted == NULL || is_wanted(devices[i], i, wanted))) {
            return devices[i];
        }
    }
    return NULL;
}

struct headrace_device *headrace_device_open(const char *wanted, char *why, size_t why_bytes) {
    cl_device_id devices[MOST_DEVICES];
    cl_int code = CL_SUCCESS;
    const cl_uint n = all_devices(devices, &code);
    struct headrace_device *device = NULL;
    cl_device_id id;
    wanted = wanted != NULL ? wanted : getenv("HEADRACE_DEVICE");
    id = wanted != NULL ? choose(devices, n, wanted) : choose(devices, n, "gpu");
    id = wanted != NULL || id != NULL ? id : choose(devices, n, NULL);
    if (id == NULL) {
        if (n == 0 || wanted == NULL) {
            (void)snprintf(why, why_bytes, "there is no device of OpenCL that could be used");
        } else {
            (void)snprintf(why, why_bytes, "no device of OpenCL that could be used is `%s`", wanted);
        }
        return NULL;
    }
    device = (struct headrace_device *)calloc(1, sizeof *device);
    if (device == NULL) {
        (void)snprintf(why, why_bytes, "there is no memory");
        return NULL;
    }
    device->id = id;
    device->least_bytes = LEAST_BYTES;
    device->is_processor = (type_of(id) & CL_DEVICE_TYPE_CPU) != 0;
    device->launch_bytes = device->is_processor ? n_cores(id) * PROCESSOR_BYTES : LAUNCH_BYTES;
    (void)clGetDeviceInfo(id, CL_DEVICE_NAME, sizeof device->name - 1, device->name, NULL);
    device->context = clCreateContext(NULL, 1, &id, NULL, NULL, &code);
    if (!failed(device, "clCreateContext", code)) {
        for (int i = 0; i < SLOTS && code == CL_SUCCESS; i++) {
            device->slots[i].queue = clCreateCommandQueue(device->context, id, 0, &code);
            (void)failed(device, "clCreateCommandQueue", code);
        }
    }
    if (code != CL_SUCCESS) {
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
    for (int i = 0; i < SLOTS; i++) {
        struct slot *const slot = &device->slots[i];
        /* What they held has been overwritten when a call returned. */
        for (int port = 0; port < HEADRACE_LOOP_PORTS; port++) {
            if (slot->buffers[port].memory != NULL) {
                (void)clReleaseMemObject(slot->buffers[port].memory);
            }
        }
        if (slot->queue != NULL) {
            (void)clReleaseCommandQueue(slot->queue);
        }
    }
    for (size_t i = 0; i < device->n_programs; i++) {
        (void)clReleaseProgram(device->programs[i].program);
    }
    if (device->context != NULL) {
        (void)clReleaseContext(device->context);
    }
    free(device);
}

#include "headrace_device_common.h"

/* --- kernels ----------------------------------------------------------------------------------------------------- */

static cl_program program_of(struct headrace_device *device, const struct headrace_kernels *kernels) {
    char options[64] = "-cl-std=CL1.2";
    cl_int code = CL_SUCCESS;
    cl_program program;
    for (size_t i = 0; i < device->n_programs; i++) {
        if (device->programs[i].kernels == kernels) {
            return device->programs[i].program;
        }
    }
    program = clCreateProgramWithSource(device->context, 1, (const char **)&kernels->source, &kernels->source_bytes, &code);
    if (failed(device, "clCreateProgramWithSource", code)) {
        return NULL;
    }
    if (device->is_processor) {
        (void)snprintf(options, sizeof options, "-cl-std=CL1.2 -DHR_ITERATIONS_EACH=%uu", (unsigned)GROUP);
    }
    code = clBuildProgram(program, 1, &device->id, options, NULL, NULL);
    if (failed(device, "clBuildProgram", code)) {
        const size_t used = strlen(device->error);
        char log[4096] = "";
        if (clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL) == CL_SUCCESS) {
            (void)snprintf(device->error + used, sizeof device->error - used, ": %.900s", log);
        }
        (void)clReleaseProgram(program);
        return NULL;
    }
    if (device->n_programs == PROGRAMS) {
        (void)clReleaseProgram(device->programs[--device->n_programs].program);
    }
    device->programs[device->n_programs].kernels = kernels;
    device->programs[device->n_programs++].program = program;
    return program;
}

/* Room for so many bytes at least. */
static bool has_room(struct headrace_device *device, struct buffer *buffer, size_t bytes) {
    cl_int code = CL_SUCCESS;
    if (buffer->bytes >= bytes) {
        return true;
    }
    if (buffer->memory != NULL) {
        (void)clReleaseMemObject(buffer->memory);
        buffer->bytes = 0;
    }
    buffer->memory = clCreateBuffer(device->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    if (failed(device, "clCreateBuffer", code)) {
        buffer->memory = NULL;
        return false;
    }
    buffer->bytes = bytes;
    return true;
}

/* One launch: iterations `first` to `first + n - 1`. The row before those of each port is that of the iteration before. */
static bool launch(struct headrace_device *device, struct slot *slot, cl_kernel kernel, cl_mem given,
                   const struct headrace_iterations *all, size_t first, size_t n) {
    const cl_ulong first_number = first;
    const cl_uint n_iterations = (cl_uint)n;
    const size_t group = device->is_processor ? 1 : GROUP, items = (n + GROUP - 1) / GROUP * group;
    cl_uint argument = 0;
    cl_int code = clSetKernelArg(kernel, argument++, sizeof given, &given);
    for (uint32_t port = 0; port < all->n_ports && code == CL_SUCCESS; port++) {
        const struct headrace_tokens *const tokens = &all->ports[port];
        const size_t before = first == 0 ? 0 : tokens->bytes;
        cl_mem *const memory = &slot->buffers[port].memory;
        if (!has_room(device, &slot->buffers[port], (n + 1) * tokens->bytes)) {
            return false;
        }
        if (tokens->in != NULL) {
            code = clEnqueueWriteBuffer(slot->queue, *memory, CL_FALSE, tokens->bytes - before, n * tokens->bytes + before,
                                        (const char *)tokens->in + first * tokens->bytes - before, 0, NULL, NULL);
            if (failed(device, "clEnqueueWriteBuffer", code)) {
                return false;
            }
        }
        code = clSetKernelArg(kernel, argument++, sizeof *memory, memory);
    }
    code = code != CL_SUCCESS ? code : clSetKernelArg(kernel, argument++, sizeof first_number, &first_number);
    code = code != CL_SUCCESS ? code : clSetKernelArg(kernel, argument, sizeof n_iterations, &n_iterations);
    if (failed(device, "clSetKernelArg", code)) {
        return false;
    }
    code = clEnqueueNDRangeKernel(slot->queue, kernel, 1, NULL, &items, &group, 0, NULL, NULL);
    if (code == CL_INVALID_WORK_GROUP_SIZE || code == CL_INVALID_WORK_ITEM_SIZE) {
        /* Groups of the device, or for this kernel, are smaller: it chooses. */
        code = clEnqueueNDRangeKernel(slot->queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL);
    }
    if (failed(device, "clEnqueueNDRangeKernel", code)) {
        return false;
    }
    for (uint32_t port = 0; port < all->n_ports; port++) {
        const struct headrace_tokens *const tokens = &all->ports[port];
        if (tokens->out == NULL) {
            continue;
        }
        code = clEnqueueReadBuffer(slot->queue, slot->buffers[port].memory, CL_FALSE, tokens->bytes, n * tokens->bytes,
                                   (char *)tokens->out + first * tokens->bytes, 0, NULL, NULL);
        if (failed(device, "clEnqueueReadBuffer", code)) {
            return false;
        }
    }
    return !failed(device, "clFlush", clFlush(slot->queue));
}

/* Waits for what is under way in a slot. */
static bool finished(struct headrace_device *device, struct slot *slot) {
    return !failed(device, "clFinish", clFinish(slot->queue));
}

static bool wiped(struct headrace_device *device, cl_command_queue queue, cl_mem memory, size_t bytes) {
    const cl_uchar zero = 0;
    return !failed(device, "clEnqueueFillBuffer",
                   clEnqueueFillBuffer(queue, memory, &zero, sizeof zero, 0, bytes, 0, NULL, NULL));
}

/* All iterations, launch after launch, and what they left on the device overwritten. */
static bool run_all(struct headrace_device *device, cl_kernel kernel, cl_mem given, size_t given_bytes,
                    const struct headrace_iterations *all) {
    size_t each = device->launch_bytes, first = 0;
    bool good = true;
    for (uint32_t port = 0; port < all->n_ports; port++) {
        const size_t fit = device->launch_bytes / all->ports[port].bytes;
        each = fit < each ? fit : each;
    }
    each = each / GROUP * GROUP == 0 ? GROUP : each / GROUP * GROUP;
    for (unsigned at = 0; good && first < all->iterations; at = (at + 1) % SLOTS) {
        const size_t left = all->iterations - first, n = left < each ? left : each;
        struct slot *const slot = &device->slots[at];
        good = finished(device, slot) && launch(device, slot, kernel, given, all, first, n);
        first += n;
    }
    /* Nothing is overwritten before all launches have ended: every one reads what is given. */
    for (unsigned at = 0; at < SLOTS; at++) {
        good = finished(device, &device->slots[at]) && good;
    }
    for (unsigned at = 0; at < SLOTS; at++) {
        struct slot *const slot = &device->slots[at];
        for (uint32_t port = 0; port < all->n_ports; port++) {
            if (slot->buffers[port].memory != NULL) {
                good = wiped(device, slot->queue, slot->buffers[port].memory, slot->buffers[port].bytes) && good;
            }
        }
        if (at == 0) {
            good = wiped(device, slot->queue, given, given_bytes) && good;
        }
        good = finished(device, slot) && good;
    }
    return good;
}

bool headrace_device_runs(const struct headrace_helpers *helpers, const struct headrace_iterations *all, const void *given,
                          size_t given_bytes) {
    struct headrace_device *const device = (struct headrace_device *)helpers->user;
    const cl_program program = program_of(device, all->kernels);
    cl_int code = CL_SUCCESS;
    cl_kernel kernel;
    cl_mem memory;
    bool good = false;
    if (program == NULL) {
        return false;
    }
    kernel = clCreateKernel(program, all->kernels->names[all->kernel], &code);
    if (failed(device, "clCreateKernel", code)) {
        return false;
    }
    memory = clCreateBuffer(device->context, CL_MEM_READ_WRITE, given_bytes, NULL, &code);
    if (!failed(device, "clCreateBuffer", code)) {
        code = clEnqueueWriteBuffer(device->slots[0].queue, memory, CL_TRUE, 0, given_bytes, given, 0, NULL, NULL);
        good = !failed(device, "clEnqueueWriteBuffer", code) && run_all(device, kernel, memory, given_bytes, all);
        (void)clReleaseMemObject(memory);
    }
    (void)clReleaseKernel(kernel);
    device->iterations += good ? all->iterations : 0;
    return good;
}
