/* What every reference exports, so that the benchmark drives all of them alike.
 *
 * A reference is a shared object. It encrypts whole 16-byte blocks with AES-128 in the mode that its file names, and
 * starts afresh (counter, chaining value) at every call of `reference_run`.
 */
#ifndef HEADRACE_REFERENCE_H
#define HEADRACE_REFERENCE_H

#include <stddef.h>
#include <stdint.h>

/* Takes the key and, in modes that have one, the initial block (else unused). Returns 0, or -1 when the reference cannot
 * run on this machine. */
int reference_setup(const uint8_t key[16], const uint8_t iv[16]);

/* Encrypts `n_bytes`, a multiple of 16, from `in` to `out`. The buffers do not overlap. Returns 0 on success. */
int reference_run(const uint8_t *in, uint8_t *out, size_t n_bytes);

/* Name and version of the implementation, for the table. */
const char *reference_version(void);

#endif
