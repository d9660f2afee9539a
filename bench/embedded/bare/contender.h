/* The interface between an implementation that is measured and the program that measures it: one function, so that what a linker
 * keeps of a program that begins there is what the implementation costs. */
#ifndef CONTENDER_H
#define CONTENDER_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of keys and nonces, which come first. */
enum { SECRETS = 64 };

/* Makes of a message of n bytes what comes out, in place, and gives how many bytes that has. Contexts are static, so that they
 * count as memory. */
size_t contender(const uint8_t *secrets, uint8_t *data, size_t n);

#endif
