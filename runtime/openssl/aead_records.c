/*
 * Records of TLS 1.2 with ciphers that authenticate (RFC 5246, section 6.2.3.3; RFC 5288, RFC 6655, RFC 7905), and nonces that a
 * context makes by itself. libssl says what stands in front of a record and gives it whole, in its own place.
 */
#include "aead.h"

/* Nonces of GCM and CCM have a part that does not change and one that stands in front of each record. */
#define FIXED 4
#define EXPLICIT 8
#define LEAST_MADE 12

int headrace_aead_need_iv(struct aead *c) {
    if (c->protocol != PROTOCOL_GCM || c->had_iv) {
        return 1;
    }
    if (c->is_record || c->decrypts || c->iv_bytes < LEAST_MADE) {
        return raise_here(c, HEADRACE_REASON_IV);
    }
    if (!headrace_arbitrary(c->running.provider, c->iv, c->iv_bytes)) {
        return 0;
    }
    headrace_aead_renew(c, c->iv);
    return 1;
}

int headrace_aead_set_record_ad(struct aead *c, const uint8_t *ad, size_t bytes) {
    const size_t before = c->protocol == PROTOCOL_USUAL ? 0 : EXPLICIT;
    const size_t tag = c->protocol == PROTOCOL_CCM ? c->tag_bytes : AEAD_TAG_MOST;
    const size_t beside = before + (c->decrypts ? tag : 0);
    size_t length;
    if (c->protocol == PROTOCOL_OCB || ad == NULL || bytes != AEAD_RECORD_AD) {
        return raise_here(c, HEADRACE_REASON_TLS);
    }
    length = (size_t)ad[bytes - 2] << 8 | ad[bytes - 1];
    if (length < beside) {
        return raise_here(c, HEADRACE_REASON_LENGTH);
    }
    length -= beside;
    memcpy(c->record_ad, ad, bytes);
    c->record_ad[bytes - 2] = (uint8_t)(length >> 8);
    c->record_ad[bytes - 1] = (uint8_t)length;
    c->is_record = true;
    c->record_pad = tag;
    return 1;
}

int headrace_aead_set_fixed(struct aead *c, const uint8_t *fixed, size_t bytes) {
    if (fixed == NULL || c->protocol == PROTOCOL_OCB) {
        return raise_here(c, HEADRACE_REASON_IV_BYTES);
    }
    if (c->protocol != PROTOCOL_GCM) {
        if (bytes != (c->protocol == PROTOCOL_CCM ? FIXED : c->iv_bytes)) {
            return raise_here(c, HEADRACE_REASON_IV_BYTES);
        }
        memcpy(c->iv, fixed, bytes);
        if (c->protocol == PROTOCOL_USUAL) {
            headrace_aead_renew(c, c->iv);
        }
        return 1;
    }
    if (bytes == SIZE_MAX) {
        /* All of it. */
        memcpy(c->iv, fixed, c->iv_bytes);
    } else if (bytes < FIXED || bytes > c->iv_bytes || c->iv_bytes - bytes < EXPLICIT) {
        return raise_here(c, HEADRACE_REASON_IV_BYTES);
    } else {
        memcpy(c->iv, fixed, bytes);
        if (!c->decrypts && !headrace_arbitrary(c->running.provider, c->iv + bytes, c->iv_bytes - bytes)) {
            return 0;
        }
    }
    headrace_aead_renew(c, c->iv);
    c->makes_iv = true;
    return 1;
}

int headrace_aead_set_rest(struct aead *c, const uint8_t *rest, size_t bytes) {
    if (!c->makes_iv || !c->is_keyed || !c->decrypts || rest == NULL || bytes > c->iv_bytes) {
        return raise_here(c, HEADRACE_REASON_IV);
    }
    memcpy(c->iv + c->iv_bytes - bytes, rest, bytes);
    headrace_aead_renew(c, c->iv);
    return 1;
}

int headrace_aead_next_iv(struct aead *c, uint8_t *rest, size_t bytes) {
    if (!c->makes_iv || !c->is_keyed || rest == NULL || c->iv_bytes < EXPLICIT) {
        return raise_here(c, HEADRACE_REASON_IV);
    }
    headrace_aead_renew(c, c->iv);
    bytes = bytes == 0 || bytes > c->iv_bytes ? c->iv_bytes : bytes;
    memcpy(rest, c->iv + c->iv_bytes - bytes, bytes);
    for (size_t i = c->iv_bytes, carry = 1; i-- > c->iv_bytes - EXPLICIT && carry != 0;) {
        carry = ++c->iv[i] == 0;
    }
    return 1;
}

/* The nonce of the record; its explicit part stands there, or is put there. */
static int begin_record(struct aead *c, uint8_t *record) {
    if (c->protocol == PROTOCOL_GCM) {
        return c->decrypts ? headrace_aead_set_rest(c, record, EXPLICIT) : headrace_aead_next_iv(c, record, EXPLICIT);
    }
    if (c->protocol == PROTOCOL_CCM) {
        if (!c->decrypts) {
            memcpy(record, c->record_ad, EXPLICIT);
        }
        memcpy(c->iv + FIXED, record, EXPLICIT);
        headrace_aead_renew(c, c->iv);
        return 1;
    }
    headrace_aead_renew(c, c->iv);
    for (size_t i = 0; i < EXPLICIT; i++) {
        /* The number of the record. */
        c->nonce[c->iv_bytes - EXPLICIT + i] ^= c->record_ad[i];
    }
    return 1;
}

static void end_record(struct aead *c) {
    c->is_record = c->has_iv = false;
    c->had_iv = true;
    c->stage = OVER;
}

int headrace_aead_record(struct aead *c, uint8_t *out, size_t *out_bytes, size_t room, const uint8_t *in, size_t bytes) {
    const size_t before = c->protocol == PROTOCOL_USUAL ? 0 : EXPLICIT, tag = c->record_pad;
    const size_t announced = (size_t)c->record_ad[AEAD_RECORD_AD - 2] << 8 | c->record_ad[AEAD_RECORD_AD - 1];
    int good;
    if (!c->is_keyed || (c->protocol == PROTOCOL_USUAL && !c->had_iv) || in == NULL || out == NULL || (before != 0 && in != out) ||
        room < bytes || bytes < before + tag || (before == 0 && bytes != announced + tag)) {
        if (c->protocol == PROTOCOL_GCM) {
            /* What was said of the record goes with it. */
            end_record(c);
        }
        return raise_here(c, !c->is_keyed ? HEADRACE_REASON_KEY : HEADRACE_REASON_LENGTH);
    }
    good = begin_record(c, out);
    if (good) {
        const size_t text = bytes - before - tag;
        uint8_t code[AEAD_TAG_MOST];
        /* From here on it is a message like others. */
        c->is_record = false;
        memcpy(code, in + before + text, tag);
        good = headrace_aead_whole(c, c->record_ad, sizeof c->record_ad, out + before, in + before, text, code, tag);
        if (good && !c->decrypts) {
            memcpy(out + before + text, code, tag);
        }
        *out_bytes = !good ? 0 : c->decrypts ? text : bytes;
    }
    end_record(c);
    return good;
}
