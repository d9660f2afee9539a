/*
 * The running initial block of modes of operation: what OpenSSL calls the updated IV. It follows from the text and the
 * ciphertext that pass by, so that networks need not tell it: in CBC and CFB it is ciphertext, in OFB the XOR of both, in CTR
 * it counts.
 */
#include "cipher.h"

#include "headrace_whole.h"

static size_t block_of(const struct cipher *c) {
    return c->iv_bytes;
}

void headrace_feedback_before(const struct cipher *c, const uint8_t *in, size_t bytes, struct headrace_fed *fed) {
    const size_t block = block_of(c), n = bytes < block ? bytes : block;
    const bool is_wanted = c->feedback == FEEDBACK_OFB || (c->decrypts && c->feedback != FEEDBACK_NONE && c->feedback != FEEDBACK_COUNTER);
    if (is_wanted && c->feedback != FEEDBACK_OWN) {
        memcpy(fed->tail + block - n, in + bytes - n, n);
    }
}

/* `blocks` are added to a big-endian counter. */
static void count(uint8_t *counter, size_t counter_bytes, uint64_t blocks) {
    for (size_t i = counter_bytes; i-- > 0 && blocks != 0;) {
        blocks += counter[i];
        counter[i] = (uint8_t)blocks;
        blocks >>= 8;
    }
}

void headrace_feedback_after(struct cipher *c, const uint8_t *out, size_t bytes, const struct headrace_fed *fed) {
    const size_t block = block_of(c), n = bytes < block ? bytes : block;
    const uint8_t *const ciphertext = c->decrypts ? fed->tail + block - n : out + bytes - n;
    if (c->feedback == FEEDBACK_NONE || c->feedback == FEEDBACK_OWN || bytes == 0) {
        return;
    }
    if (c->feedback == FEEDBACK_COUNTER) {
        count(c->now, block, (c->number + bytes + block - 1) / block - (c->number != 0));
    } else if (c->feedback == FEEDBACK_CBC || c->feedback == FEEDBACK_CFB8) {
        memmove(c->now, c->now + n, block - n);
        memcpy(c->now + block - n, ciphertext, n);
        return;
    } else {
        const size_t first = c->number + bytes - n;
        for (size_t i = 0; i < n; i++) {
            c->now[(first + i) % block] = c->feedback == FEEDBACK_CFB ? ciphertext[i] : fed->tail[block - n + i] ^ out[bytes - n + i];
        }
    }
    c->number = (c->number + bytes) % block;
}

int headrace_feedback_now(const struct cipher *c, uint8_t now[BLOCK_MOST]) {
    const size_t block = block_of(c), left = block - c->number;
    memcpy(now, c->now, BLOCK_MOST);
    if (c->number != 0 && (c->feedback == FEEDBACK_CFB || c->feedback == FEEDBACK_OFB) && c->is_open) {
        /* Zeros through a copy of the network give the rest of the key stream. */
        static const uint8_t zeros[BLOCK_MOST];
        struct headrace_running copy;
        size_t made = 0;
        uint32_t result;
        if (!headrace_running_copy(&copy, &c->running)) {
            return 0;
        }
        result = headrace_message_update(copy.operation, &copy.message, copy.network, zeros, left,
                                         (struct headrace_room){now + c->number, left, &made});
        headrace_running_clear(&copy);
        if (result != HEADRACE_OK || made != left) {
            return headrace_raise(c->running.provider, HEADRACE_REASON_NETWORK);
        }
    }
    return 1;
}

void headrace_feedback_stolen(const struct cipher *c, const uint8_t *ciphertext, size_t bytes, uint8_t now[BLOCK_MOST]) {
    const size_t block = block_of(c), rest = bytes % block == 0 ? block : bytes % block;
    /* CS1 ends in it; CS3 swaps the last two, and CS2 does where they are not whole. */
    const char form = c->row->of == NULL ? '1' : c->row->of[strlen(c->row->of) - 1];
    const bool is_swapped = bytes > block && (form == '3' || (form == '2' && rest != block));
    memcpy(now, ciphertext + bytes - block - (is_swapped ? rest : 0), block);
}
