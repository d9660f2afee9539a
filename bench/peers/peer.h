/* What every contender of the referee exports, so that all are set up and called alike: the adapters of libraries in this
 * folder and in ../rust-peers, and what `headrace bench` compiles around the functions of a generated project.
 *
 * An operation is named as in the Crypto Tools Library, parameter set and operation: "aes128 ctr". What goes in and what
 * comes out is the same for all:
 *
 *   block cipher in a mode, stream cipher   input                    -> as many bytes
 *   hash, MAC                               message                  -> digest or tag
 *   aead-encrypt                            plaintext                -> ciphertext, tag of 16 bytes
 *   aead-decrypt                            ciphertext, tag          -> plaintext
 *   encode, decode                          bytes, or their text     -> text, or its bytes
 *
 * Everything that depends on the key alone belongs into `peer_open`, which is not measured. Every run is a message of its
 * own: initial block, nonce and counters are as they were at first. Input and output do not overlap, both are aligned to 64
 * bytes, and behind the output there is room for 64 bytes more than the longest result. What `peer_open` gives is used by one
 * thread at a time, which may be any.
 */
#ifndef HEADRACE_PEER_H
#define HEADRACE_PEER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a run returns when it failed. */
#define PEER_FAILED ((size_t)-1)

/* Bytes of the tag of every AEAD. */
enum { PEER_TAG_BYTES = 16 };

/* The strings that stand beside the input: what an operation does not take is empty. `iv` is the initial block or nonce. */
struct peer_strings {
    const uint8_t *key;
    size_t key_bytes;
    const uint8_t *iv;
    size_t iv_bytes;
};

/* The version that runs, as three numbers with dots if it has them: "1.10.1". */
const char *peer_version(void);

/* Prepares an operation; null when the library does not have it. */
void *peer_open(const char *operation, const struct peer_strings *strings);

/* Only where more than the library may be missing: why the last `peer_open` gave null; empty: for no such reason. */
const char *peer_problem(void);

/* Only where a device computes: what the one of the last `peer_open` calls itself. */
const char *peer_device(void);

/* One message. Returns the bytes that came out, or PEER_FAILED. */
size_t peer_run(void *context, const uint8_t *in, uint8_t *out, size_t n_bytes);

/* Only where a library has it: `n_messages` messages of `n_bytes` bytes each, all under the same strings. Returns the bytes
 * that came out for each. */
size_t peer_run_many(void *context, const uint8_t *const *in, uint8_t *const *out, size_t n_bytes, unsigned n_messages);

/* Only where a library has it: one message as `peer_run` has it, its input given in pieces of `piece_bytes` bytes and what is
 * left, each by a call of the library. The tag of a message that is verified comes last. */
size_t peer_run_pieces(void *context, const uint8_t *in, uint8_t *out, size_t n_bytes, size_t piece_bytes);

/* Only where a library has it: from here on a message may take so many threads; one before it is called. */
void peer_threads(void *context, unsigned n_threads);

void peer_close(void *context);

#ifdef __cplusplus
}
#endif

#endif
