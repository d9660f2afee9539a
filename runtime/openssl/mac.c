/* Message authentication codes. */
#include "parameters.h"
#include "provider.h"

#include "headrace_whole.h"

#include <openssl/core_names.h>

/* A string of any length that is kept for further messages. */
struct kept {
    uint8_t *bytes; /* null: none was given */
    size_t n_bytes;
};

struct mac {
    struct headrace_running running;
    const struct headrace_row *row; /* null: programs must choose one */
    struct kept key, iv;
};

static void forget(struct headrace_provider *provider, struct kept *kept) {
    if (kept->bytes != NULL) {
        headrace_release(provider, kept->bytes, kept->n_bytes + 1);
    }
    kept->bytes = NULL;
    kept->n_bytes = 0;
}

static int keep(struct headrace_provider *provider, struct kept *kept, const uint8_t *bytes, size_t n_bytes) {
    /* An empty string is there, too. */
    uint8_t *const own = headrace_allocate(provider, n_bytes + 1);
    if (own == NULL) {
        return headrace_raise(provider, HEADRACE_REASON_MEMORY);
    }
    if (n_bytes != 0) {
        memcpy(own, bytes, n_bytes);
    }
    forget(provider, kept);
    *kept = (struct kept){own, n_bytes};
    return 1;
}

void *headrace_mac_new(void *provider, const struct headrace_algorithm *algorithm) {
    struct mac *const c = headrace_allocate((struct headrace_provider *)provider, sizeof *c);
    if (c == NULL || !headrace_running_make(&c->running, provider, algorithm)) {
        headrace_mac_free(c);
        return NULL;
    }
    c->row = algorithm->rows->of == NULL ? algorithm->rows : NULL;
    return c;
}

void headrace_mac_free(void *context) {
    struct mac *const c = context;
    if (c != NULL) {
        forget(c->running.provider, &c->key);
        forget(c->running.provider, &c->iv);
        headrace_running_clear(&c->running);
        headrace_release(c->running.provider, c, sizeof *c);
    }
}

static int keep_copy(struct headrace_provider *provider, struct kept *kept, const struct kept *from) {
    return from->bytes == NULL || keep(provider, kept, from->bytes, from->n_bytes);
}

void *headrace_mac_dup(void *context) {
    const struct mac *const from = context;
    struct headrace_provider *const provider = from->running.provider;
    struct mac *const c = headrace_allocate(provider, sizeof *c);
    if (c == NULL) {
        return NULL;
    }
    c->row = from->row;
    if (!headrace_running_copy(&c->running, &from->running) || !keep_copy(provider, &c->key, &from->key) ||
        !keep_copy(provider, &c->iv, &from->iv)) {
        headrace_mac_free(c);
        return NULL;
    }
    return c;
}

static enum headrace_role iv_role(const struct headrace_operation *operation) {
    return headrace_has(operation, HEADRACE_NONCE) ? HEADRACE_NONCE : HEADRACE_IV;
}

static int begin(struct mac *c) {
    struct headrace_running *const running = &c->running;
    struct headrace_provider *const provider = running->provider;
    struct headrace_bytes strings[HEADRACE_ROLES] = {{0}};
    const struct headrace_operation *operation;
    uint32_t result = HEADRACE_OK;
    if (c->row == NULL) {
        return headrace_raise(provider, HEADRACE_REASON_CHOICE);
    }
    operation = c->row->forward;
    if (c->key.bytes == NULL) {
        return headrace_raise(provider, HEADRACE_REASON_KEY);
    }
    if ((c->row->key_bytes != 0 && c->key.n_bytes != c->row->key_bytes) || !headrace_allows(operation, HEADRACE_KEY, c->key.n_bytes)) {
        return headrace_raise(provider, HEADRACE_REASON_KEY_BYTES);
    }
    if (headrace_has(operation, iv_role(operation))) {
        if (c->iv.bytes == NULL && !headrace_allows(operation, iv_role(operation), 0)) {
            return headrace_raise(provider, HEADRACE_REASON_IV);
        }
        strings[iv_role(operation)] = (struct headrace_bytes){c->iv.bytes, c->iv.n_bytes};
    }
    headrace_running_turn(running, operation);
    headrace_running_stop(running);
    if (running->message.state != HR_NEW_KEY && running->message.state != HR_KEYED) {
        result = headrace_message_key(operation, &running->message, running->network, c->key.bytes, c->key.n_bytes);
    }
    if (result == HEADRACE_OK) {
        result = headrace_message_init(operation, &running->message, running->network, strings);
    }
    if (result != HEADRACE_OK) {
        return headrace_running_failed(running, result);
    }
    if (headrace_has(operation, HEADRACE_NONCE)) {
        /* It is for one message. */
        forget(provider, &c->iv);
    }
    headrace_running_began(running);
    return 1;
}

static int set_key(struct mac *c, const uint8_t *key, size_t key_bytes) {
    c->running.message.state = HR_NO_KEY;
    return keep(c->running.provider, &c->key, key, key_bytes);
}

int headrace_mac_init(void *context, const unsigned char *key, size_t key_bytes, const OSSL_PARAM params[]) {
    struct mac *const c = context;
    return headrace_mac_set(c, params) && (key == NULL || set_key(c, key, key_bytes)) && begin(c);
}

int headrace_mac_update(void *context, const unsigned char *in, size_t in_bytes) {
    struct mac *const c = context;
    size_t none = 0;
    uint32_t result;
    if (c->running.message.state != HR_OPEN) {
        return headrace_raise(c->running.provider, HEADRACE_REASON_ORDER);
    }
    result = headrace_running_update(&c->running, in, in_bytes, (struct headrace_room){NULL, 0, &none});
    return result == HEADRACE_OK ? 1 : headrace_running_failed(&c->running, result);
}

static size_t size(const struct mac *c) {
    size_t least = 0, most = 0;
    if (c->row != NULL) {
        headrace_bounds(c->row->forward, HEADRACE_TAG, SIZE_MAX, &least, &most);
    }
    return most;
}

int headrace_mac_final(void *context, unsigned char *out, size_t *out_bytes, size_t room) {
    struct mac *const c = context;
    struct headrace_running *const running = &c->running;
    const struct headrace_bytes strings[HEADRACE_ROLES] = {{0}};
    const struct headrace_room rooms[HEADRACE_ROLES] = {[HEADRACE_TAG] = {out, size(c), out_bytes}};
    uint32_t result;
    *out_bytes = 0;
    if (running->message.state != HR_OPEN) {
        return headrace_raise(running->provider, HEADRACE_REASON_ORDER);
    }
    if (room < size(c)) {
        return headrace_raise(running->provider, HEADRACE_REASON_ROOM);
    }
    result = headrace_message_final(running->operation, &running->message, running->network, strings, rooms);
    return result == HEADRACE_OK ? 1 : headrace_running_failed(running, result);
}

int headrace_mac_get(void *context, OSSL_PARAM params[]) {
    return headrace_write_number(headrace_find(params, OSSL_MAC_PARAM_SIZE), size(context));
}

static int choose(struct mac *c, const OSSL_PARAM *what) {
    const struct headrace_algorithm *const algorithm = c->running.algorithm;
    size_t bytes = 0;
    const char *const name = headrace_read_text(what, &bytes);
    for (size_t i = 0; name != NULL && i < algorithm->n_rows; i++) {
        if (headrace_is_among(algorithm->rows[i].of, name, bytes)) {
            c->row = &algorithm->rows[i];
            return 1;
        }
    }
    return headrace_raise(c->running.provider, HEADRACE_REASON_CHOICE);
}

static int keep_given(struct mac *c, struct kept *kept, const OSSL_PARAM *given) {
    if (given->data == NULL || (given->data_type != OSSL_PARAM_OCTET_STRING && given->data_type != OSSL_PARAM_UTF8_STRING)) {
        return headrace_raise(c->running.provider, HEADRACE_REASON_PARAMETER);
    }
    return keep(c->running.provider, kept, given->data, given->data_size);
}

int headrace_mac_set(void *context, const OSSL_PARAM params[]) {
    struct mac *const c = context;
    struct headrace_provider *const provider = c->running.provider;
    static const char *const choices[] = {OSSL_MAC_PARAM_DIGEST, OSSL_MAC_PARAM_CIPHER};
    static const char *const strings[] = {OSSL_MAC_PARAM_IV, OSSL_MAC_PARAM_CUSTOM};
    const OSSL_PARAM *const key = headrace_given(params, OSSL_MAC_PARAM_KEY);
    const OSSL_PARAM *const length = headrace_given(params, OSSL_MAC_PARAM_SIZE);
    const OSSL_PARAM *const extends = headrace_given(params, OSSL_MAC_PARAM_XOF);
    size_t number = 0;
    for (size_t i = 0; i < 2; i++) {
        const OSSL_PARAM *const what = headrace_given(params, choices[i]);
        const OSSL_PARAM *const string = headrace_given(params, strings[i]);
        if (what != NULL && c->running.algorithm->rows->of != NULL && !choose(c, what)) {
            return 0;
        }
        if (string != NULL && !keep_given(c, &c->iv, string)) {
            return 0;
        }
    }
    if (headrace_given(params, OSSL_MAC_PARAM_TLS_DATA_SIZE) != NULL) {
        return headrace_raise(provider, HEADRACE_REASON_TLS);
    }
    if (length != NULL && (!headrace_read_number(length, &number) || number != size(c))) {
        return headrace_raise(provider, HEADRACE_REASON_TAG_BYTES);
    }
    if (extends != NULL && (!headrace_read_number(extends, &number) || number != 0)) {
        return headrace_raise(provider, HEADRACE_REASON_PARAMETER);
    }
    if (key != NULL) {
        c->running.message.state = HR_NO_KEY;
        return keep_given(c, &c->key, key);
    }
    return 1;
}

const OSSL_PARAM *headrace_mac_gettable(void *context, void *provider) {
    static const OSSL_PARAM list[] = {HEADRACE_NUMBER(OSSL_MAC_PARAM_SIZE), HEADRACE_LAST};
    (void)context;
    (void)provider;
    return list;
}

const OSSL_PARAM *headrace_mac_settable(void *context, void *provider) {
    static const OSSL_PARAM list[] = {
        HEADRACE_TEXT(OSSL_MAC_PARAM_DIGEST), HEADRACE_TEXT(OSSL_MAC_PARAM_CIPHER), HEADRACE_TEXT(OSSL_MAC_PARAM_PROPERTIES),
        HEADRACE_BYTES(OSSL_MAC_PARAM_KEY),   HEADRACE_BYTES(OSSL_MAC_PARAM_IV),    HEADRACE_BYTES(OSSL_MAC_PARAM_CUSTOM),
        HEADRACE_NUMBER(OSSL_MAC_PARAM_SIZE), HEADRACE_NUMBER(OSSL_MAC_PARAM_XOF),  HEADRACE_LAST,
    };
    (void)context;
    (void)provider;
    return list;
}
