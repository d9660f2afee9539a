/* Operations whose messages are compared. */
#ifndef CASES_H
#define CASES_H

#include "headrace_message.h"

/* An operation, what takes its whole messages and its pieces, and, where messages must be made for it, the one that it undoes. */
struct one_case {
    const char *name;
    headrace_take_whole *const *take, *const *take_piece;
    const struct headrace_operation *const *operation;
    const struct headrace_operation *const *maker;
};

extern const struct one_case cases[];
extern const size_t n_cases;

#endif
