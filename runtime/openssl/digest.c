/* Hashes, those of any length among them. */
#include "parameters.h"
#include "provider.h"

#include "headrace_whole.h"

#include <openssl/core_names.h>

struct digest {
    struct headrace_running running;
    size_t output_bytes;
};

static const struct headrace_row *row_of(const struct headrace_algorithm *algorithm) {
    return algorithm->rows;
}

/* Its output has any length. */
static bool extends(const struct headrace_algorithm *algorithm) {
    return hr_message_streams(row_of(algorithm)->forward);
}

int headrace_digest_get_params(const struct headrace_algorithm *algorithm, OSSL_PARAM params[]) {
    return headrace_write_number(headrace_find(params, OSSL_DIGEST_PARAM_BLOCK_SIZE), row_of(algorithm)->block_bytes) &&
           headrace_write_number(headrace_find(params, OSSL_DIGEST_PARAM_SIZE), row_of(algorithm)->output_bytes) &&
           headrace_write_number(headrace_find(params, OSSL_DIGEST_PARAM_XOF), extends(algorithm)) &&
           headrace_write_number(headrace_find(params, OSSL_DIGEST_PARAM_ALGID_ABSENT), 1);
}

const OSSL_PARAM *headrace_digest_gettable(void *provider) {
    static const OSSL_PARAM list[] = {
        HEADRACE_NUMBER(OSSL_DIGEST_PARAM_BLOCK_SIZE),   HEADRACE_NUMBER(OSSL_DIGEST_PARAM_SIZE), HEADRACE_NUMBER(OSSL_DIGEST_PARAM_XOF),
        HEADRACE_NUMBER(OSSL_DIGEST_PARAM_ALGID_ABSENT), HEADRACE_LAST,
    };
    (void)provider;
    return list;
}

void *headrace_digest_new(void *provider, const struct headrace_algorithm *algorithm) {
    struct digest *const c = headrace_allocate((struct headrace_provider *)provider, sizeof *c);
    if (c == NULL || !headrace_running_make(&c->running, provider, algorithm)) {
        headrace_digest_free(c);
        return NULL;
    }
    c->output_bytes = row_of(algorithm)->output_bytes;
    return c;
}

void headrace_digest_free(void *context) {
    struct digest *const c = context;
    if (c != NULL) {
        headrace_running_clear(&c->running);
        headrace_release(c->running.provider, c, sizeof *c);
    }
}

void *headrace_digest_dup(void *context) {
    const struct digest *const from = context;
    struct digest *const c = headrace_allocate(from->running.provider, sizeof *c);
    if (c == NULL) {
        return NULL;
    }
    *c = *from;
    if (!headrace_running_copy(&c->running, &from->running)) {
        headrace_digest_free(c);
        return NULL;
    }
    return c;
}

int headrace_digest_init(void *context, const OSSL_PARAM params[]) {
    struct digest *const c = context;
    struct headrace_running *const running = &c->running;
    const struct headrace_bytes strings[HEADRACE_ROLES] = {{0}};
    const struct headrace_operation *const operation = row_of(running->algorithm)->forward;
    uint32_t result;
    c->output_bytes = row_of(running->algorithm)->output_bytes;
    headrace_running_turn(running, operation);
    result = headrace_message_init(operation, &running->message, running->network, strings);
    if (result != HEADRACE_OK) {
        return headrace_running_failed(running, result);
    }
    headrace_running_began(running);
    /* What has one length takes none here, and OpenSSL does not mind. */
    return !extends(running->algorithm) || headrace_digest_set(c, params);
}

int headrace_digest_update(void *context, const unsigned char *in, size_t in_bytes) {
    struct digest *const c = context;
    size_t none = 0;
    uint32_t result;
    if (c->running.message.state != HR_OPEN) {
        return headrace_raise(c->running.provider, HEADRACE_REASON_ORDER);
    }
    result = headrace_running_update(&c->running, in, in_bytes, (struct headrace_room){NULL, 0, &none});
    return result == HEADRACE_OK ? 1 : headrace_running_failed(&c->running, result);
}

/* The first bytes of an output that has no end of its own. */
static uint32_t squeeze(struct digest *c, uint8_t *out, size_t *out_bytes) {
    struct headrace_running *const running = &c->running;
    const struct headrace_operation *const op = running->operation;
    const struct headrace_room room = {out, c->output_bytes, out_bytes};
    uint32_t result = hr_message_put_word(op, running->network, op->strings[HEADRACE_INPUT].size_port, HR_LAST_CHUNK);
    if (result == HEADRACE_OK) {
        result = hr_message_pump(op, running->network, NULL, 0, 0, &room);
    }
    running->message.state = HR_NO_KEY;
    if (result == HEADRACE_OK && *out_bytes < c->output_bytes) {
        return HEADRACE_INPUT_LENGTH;
    }
    return result == HEADRACE_ROOM ? HEADRACE_OK : result;
}

int headrace_digest_final(void *context, unsigned char *out, size_t *out_bytes, size_t room) {
    struct digest *const c = context;
    struct headrace_running *const running = &c->running;
    const struct headrace_bytes strings[HEADRACE_ROLES] = {{0}};
    const struct headrace_room rooms[HEADRACE_ROLES] = {[HEADRACE_OUTPUT] = {out, c->output_bytes, out_bytes}};
    uint32_t result;
    *out_bytes = 0;
    if (running->message.state != HR_OPEN) {
        return headrace_raise(running->provider, HEADRACE_REASON_ORDER);
    }
    /* Who has set a length has the room for it: libcrypto says how much there is for the usual one. */
    if (!extends(running->algorithm) && room < c->output_bytes) {
        return headrace_raise(running->provider, HEADRACE_REASON_ROOM);
    }
    result = extends(running->algorithm)
                 ? squeeze(c, out, out_bytes)
                 : headrace_message_final(running->operation, &running->message, running->network, strings, rooms);
    return result == HEADRACE_OK ? 1 : headrace_running_failed(running, result);
}

int headrace_digest_set(void *context, const OSSL_PARAM params[]) {
    struct digest *const c = context;
    const OSSL_PARAM *const length = headrace_given(params, OSSL_DIGEST_PARAM_XOFLEN);
    size_t number = 0;
    if (length != NULL) {
        if (!extends(c->running.algorithm) || !headrace_read_number(length, &number)) {
            return headrace_raise(c->running.provider, HEADRACE_REASON_PARAMETER);
        }
        c->output_bytes = number;
    }
    return 1;
}

const OSSL_PARAM *headrace_digest_settable(void *context, void *provider) {
    static const OSSL_PARAM list[] = {HEADRACE_NUMBER(OSSL_DIGEST_PARAM_XOFLEN), HEADRACE_LAST};
    (void)context;
    (void)provider;
    return list;
}
