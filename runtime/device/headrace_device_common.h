/* What devices of all kinds have in common: included where `struct headrace_device` stands, which has the fields `name`, `error`,
   `iterations`, `least_bytes` and `launch_bytes`. */
#ifndef HEADRACE_DEVICE_COMMON_H
#define HEADRACE_DEVICE_COMMON_H

const char *headrace_device_name(const struct headrace_device *device) {
    return device->name;
}

const char *headrace_device_error(const struct headrace_device *device) {
    return device->error;
}

uint64_t headrace_device_iterations(const struct headrace_device *device) {
    return device->iterations;
}

void headrace_device_least_bytes(struct headrace_device *device, size_t bytes) {
    device->least_bytes = bytes;
}

void headrace_device_launch_bytes(struct headrace_device *device, size_t bytes) {
    device->launch_bytes = bytes;
}

/* --- as helpers -------------------------------------------------------------------------------------------------- */

/* What the device does not run, the thread of the caller does. */
static void run(const struct headrace_helpers *helpers, uint32_t n_parts, void (*work)(void *job, uint32_t part), void *job) {
    (void)helpers;
    for (uint32_t part = 0; part < n_parts; part++) {
        work(job, part);
    }
}

static void rest(const struct headrace_helpers *helpers) {
    (void)helpers;
}

struct headrace_helpers headrace_device_helpers(struct headrace_device *device) {
    const struct headrace_helpers helpers = {device, 1, UINT32_MAX, run, rest};
    return helpers;
}

bool headrace_device_takes(const struct headrace_helpers *helpers, const struct headrace_iterations *all) {
    const struct headrace_device *device;
    size_t bytes = 0;
    if (helpers->run != run) {
        return false;
    }
    device = (const struct headrace_device *)helpers->user;
    for (uint32_t port = 0; port < all->n_ports; port++) {
        bytes += all->ports[port].bytes;
    }
    return all->iterations >= device->least_bytes / bytes + (device->least_bytes % bytes != 0);
}

#endif
