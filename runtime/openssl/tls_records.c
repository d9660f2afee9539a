/*
 * Records of TLS with ciphers that do not authenticate (RFC 5246, sections 6.2.3.1 and 6.2.3.2): padding of its own kind, and a
 * code behind the text that libssl verifies. What is wrong with padding does not show in time: it is looked at as if it were of
 * the greatest length, and a code that is not there is an arbitrary one, which is wrong.
 */
#include "cipher.h"

#define PADDING_MOST 256
#define SSL3 0x0300u
#define TLS1 0x0301u

/* All ones where a < b, a >= b, a = b. */
static size_t below(size_t a, size_t b) {
    return (size_t)0 - ((a ^ ((a ^ b) | ((a - b) ^ b))) >> (sizeof a * 8 - 1));
}

static size_t not_below(size_t a, size_t b) {
    return ~below(a, b);
}

static size_t same(size_t a, size_t b) {
    const size_t x = a ^ b;
    return ~((size_t)0 - ((x | ((size_t)0 - x)) >> (sizeof x * 8 - 1)));
}

/* The code of a record whose text has `*bytes` bytes with it, a secret; the record had `all`. */
static int take_code(struct cipher *c, const uint8_t *record, size_t *bytes, size_t all, size_t good) {
    const size_t n = c->tls_mac_bytes;
    const size_t begin = all > n + PADDING_MOST ? all - n - PADDING_MOST : 0;
    uint8_t other[sizeof c->tls_held];
    size_t at;
    if (n == 0) {
        return good != 0 ? 1 : headrace_raise(c->running.provider, HEADRACE_REASON_PADDING);
    }
    if (!headrace_arbitrary(c->running.provider, other, n)) {
        return 0;
    }
    at = *bytes - n;
    memset(c->tls_held, 0, sizeof c->tls_held);
    for (size_t i = begin; i + n <= all; i++) {
        const uint8_t is_here = (uint8_t)same(i, at);
        for (size_t k = 0; k < n; k++) {
            c->tls_held[k] |= record[i + k] & is_here;
        }
    }
    for (size_t k = 0; k < n; k++) {
        c->tls_held[k] = (uint8_t)((c->tls_held[k] & good) | (other[k] & ~good));
    }
    c->running.provider->cleanse(other, sizeof other);
    c->has_tls_mac = true;
    *bytes = at;
    return 1;
}

/* Takes padding and code from a record; only what everybody sees in its length fails. */
static int unpad(struct cipher *c, uint8_t *record, size_t *bytes) {
    const size_t block = c->row->block_bytes, overhead = 1 + c->tls_mac_bytes, all = *bytes;
    size_t good, padding, looked_at;
    if (overhead > all) {
        return headrace_raise(c->running.provider, HEADRACE_REASON_LENGTH);
    }
    padding = record[all - 1];
    good = not_below(all, overhead + padding);
    if (c->tls_version == SSL3) {
        good &= not_below(block, padding + 1);
    } else {
        looked_at = all < PADDING_MOST ? all : PADDING_MOST;
        for (size_t i = 0; i < looked_at; i++) {
            const size_t counts = not_below(padding, i);
            good &= ~(counts & (padding ^ record[all - 1 - i]));
        }
        good = same(good & 0xff, 0xff);
    }
    *bytes -= good & (padding + 1);
    return take_code(c, record, bytes, all, good);
}

int headrace_cipher_record(struct cipher *c, uint8_t *record, size_t *out_bytes, size_t room, size_t bytes) {
    const size_t block = c->row->block_bytes;
    size_t before = 0;
    if (!c->decrypts) {
        const size_t padding = block - bytes % block;
        if (room < bytes + padding) {
            return headrace_raise(c->running.provider, HEADRACE_REASON_ROOM);
        }
        memset(record + bytes, c->tls_version == SSL3 ? 0 : (int)(padding - 1), padding);
        record[bytes + padding - 1] = (uint8_t)(padding - 1);
        bytes += padding;
    }
    if (bytes % block != 0) {
        return headrace_raise(c->running.provider, HEADRACE_REASON_BLOCKS);
    }
    c->has_tls_mac = false;
    if (!headrace_cipher_feed(c, record, bytes, record)) {
        return 0;
    }
    if (c->decrypts) {
        /* From TLS 1.1 on a record begins with an initial block of its own. */
        before = c->tls_version == SSL3 || c->tls_version == TLS1 ? 0 : block;
        if (bytes < before) {
            return headrace_raise(c->running.provider, HEADRACE_REASON_LENGTH);
        }
        bytes -= before;
        if (!unpad(c, record + before, &bytes)) {
            return 0;
        }
    }
    *out_bytes = bytes;
    return 1;
}

int headrace_cipher_split(struct cipher *c, const uint8_t *record, size_t *bytes) {
    c->has_tls_mac = false;
    if (*bytes < c->tls_mac_bytes) {
        return headrace_raise(c->running.provider, HEADRACE_REASON_LENGTH);
    }
    *bytes -= c->tls_mac_bytes;
    if (c->tls_mac_bytes != 0) {
        /* The record is the program's, which may be done with it when it asks for the code. */
        memset(c->tls_held, 0, sizeof c->tls_held);
        memcpy(c->tls_held, record + *bytes, c->tls_mac_bytes);
        c->has_tls_mac = true;
    }
    return 1;
}
