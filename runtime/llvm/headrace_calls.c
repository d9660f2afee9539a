/* See headrace_calls.h. */
#include "headrace_calls.h"

#include <stdarg.h>

enum { MOST_ARGUMENTS = 32 };

void headrace_print(struct headrace_control *control, const uint8_t *bytes, uint32_t n_bytes) {
    hr_print(control, (const char *)bytes, n_bytes);
}

void headrace_print_real(struct headrace_control *control, double value, uint32_t bits) {
    hr_print_real(control, value, (int)bits);
}

int64_t headrace_native(struct headrace_control *control, const char *name, uint32_t *stopped, uint32_t n_arguments,
                        uint32_t lists, ...) {
    struct headrace_argument arguments[MOST_ARGUMENTS] = {{0, NULL, 0, 0.0, NULL}};
    int64_t result = 0;
    va_list given;
    va_start(given, lists);
    for (uint32_t i = 0; i < n_arguments && i < MOST_ARGUMENTS; i++) {
        if ((lists >> i & 1u) != 0) {
            arguments[i].bytes = va_arg(given, uint8_t *);
            arguments[i].n_bytes = va_arg(given, uint32_t);
        } else {
            arguments[i].scalar = va_arg(given, int64_t);
        }
    }
    va_end(given);
    result = hr_native(control, 0, name, arguments, n_arguments);
    *stopped = control->stopped != 0;
    return result;
}

uint32_t headrace_calls_ended(struct headrace_control *control, uint32_t status) {
    enum { STOPPED_BY_HOST = 2, TOO_DEEP = 3 };
    if (status == TOO_DEEP) {
        hr_trap(control, HEADRACE_TRAP_DEPTH, 0, 10000, 0);
    }
    return status == STOPPED_BY_HOST || status == TOO_DEEP ? control->stopped : status;
}

void headrace_calls_inspect(const void *context, uint32_t *fills, uint32_t *states, uint32_t *blocked) {
    (void)context;
    (void)fills;
    (void)states;
    (void)blocked;
}

void headrace_calls_firings(const void *context, uint64_t *counts) {
    (void)context;
    (void)counts;
}
