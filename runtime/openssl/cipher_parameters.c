/* Parameters of ciphers: what holds of all contexts, of ciphers that authenticate too, and what is told and set of one. */
#include "cipher.h"
#include "parameters.h"

#include <openssl/core_names.h>

/* Length of keys where a program has not said another. */
size_t headrace_usual_key(const struct headrace_row *row) {
    size_t least, most;
    headrace_bounds(headrace_any(row), HEADRACE_KEY, KEY_MOST, &least, &most);
    return row->key_bytes != 0 ? row->key_bytes : least < 16 && most >= 16 ? 16 : most;
}

size_t headrace_usual_iv(const struct headrace_algorithm *algorithm) {
    const struct headrace_operation *const operation = headrace_any(algorithm->rows);
    size_t least, most;
    headrace_bounds(operation, headrace_iv_role(operation), SIZE_MAX, &least, &most);
    /* What all authenticated ciphers of any length of nonces are used with. */
    return algorithm->kind == HEADRACE_AEAD && least <= 12 && most >= 12 ? 12 : most;
}

/* Numbers that OpenSSL has for modes. */
static unsigned mode(const struct headrace_algorithm *algorithm) {
    static const struct {
        const char *part;
        unsigned number;
    } modes[] = {
        {"ECB", 1}, {"CBC", 2}, {"CFB", 3}, {"CFB8", 3}, {"OFB", 4}, {"CTR", 5}, {"GCM", 6}, {"CCM", 7}, {"OCB", 0x10003},
    };
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        if (headrace_has_part(algorithm, modes[i].part)) {
            return modes[i].number;
        }
    }
    return 0;
}

/* A stream cipher of its own, with an initial block: ChaCha20. */
static bool is_stream_with_iv(const struct headrace_algorithm *algorithm) {
    return algorithm->kind == HEADRACE_STREAM && mode(algorithm) == 0 && headrace_usual_iv(algorithm) != 0;
}

int headrace_cipher_get_params(const struct headrace_algorithm *algorithm, OSSL_PARAM params[]) {
    const bool seals = algorithm->kind == HEADRACE_AEAD;
    return headrace_write_number(headrace_find(params, OSSL_CIPHER_PARAM_MODE), mode(algorithm)) &&
           headrace_write_number(headrace_find(params, OSSL_CIPHER_PARAM_KEYLEN), headrace_usual_key(algorithm->rows)) &&
           headrace_write_number(headrace_find(params, OSSL_CIPHER_PARAM_IVLEN), headrace_usual_iv(algorithm)) &&
           headrace_write_number(headrace_find(params, OSSL_CIPHER_PARAM_BLOCK_SIZE), algorithm->rows->block_bytes) &&
           headrace_write_number(headrace_find(params, OSSL_CIPHER_PARAM_AEAD), seals) &&
           headrace_write_number(headrace_find(params, OSSL_CIPHER_PARAM_CUSTOM_IV), seals) &&
           headrace_write_number(headrace_find(params, OSSL_CIPHER_PARAM_CTS), algorithm->kind == HEADRACE_ONE_PIECE) &&
           headrace_write_number(headrace_find(params, OSSL_CIPHER_PARAM_TLS1_MULTIBLOCK), 0) &&
           headrace_write_number(headrace_find(params, OSSL_CIPHER_PARAM_HAS_RAND_KEY), 0);
}

const OSSL_PARAM *headrace_cipher_gettable(void *provider) {
    static const OSSL_PARAM list[] = {
        HEADRACE_NUMBER(OSSL_CIPHER_PARAM_MODE),       HEADRACE_NUMBER(OSSL_CIPHER_PARAM_KEYLEN),
        HEADRACE_NUMBER(OSSL_CIPHER_PARAM_IVLEN),      HEADRACE_NUMBER(OSSL_CIPHER_PARAM_BLOCK_SIZE),
        HEADRACE_NUMBER(OSSL_CIPHER_PARAM_AEAD),       HEADRACE_NUMBER(OSSL_CIPHER_PARAM_CUSTOM_IV),
        HEADRACE_NUMBER(OSSL_CIPHER_PARAM_CTS),        HEADRACE_NUMBER(OSSL_CIPHER_PARAM_TLS1_MULTIBLOCK),
        HEADRACE_NUMBER(OSSL_CIPHER_PARAM_HAS_RAND_KEY), HEADRACE_LAST,
    };
    (void)provider;
    return list;
}

int headrace_cipher_get(void *context, OSSL_PARAM params[]) {
    const struct cipher *const c = context;
    OSSL_PARAM *const updated = headrace_find(params, OSSL_CIPHER_PARAM_UPDATED_IV);
    OSSL_PARAM *const mac = headrace_find(params, OSSL_CIPHER_PARAM_TLS_MAC);
    uint8_t now[BLOCK_MOST] = {0};
    bool good;
    if (updated != NULL && !headrace_feedback_now(c, now)) {
        return 0;
    }
    good = headrace_write_number(headrace_find(params, OSSL_CIPHER_PARAM_KEYLEN), c->key_bytes) &&
           headrace_write_number(headrace_find(params, OSSL_CIPHER_PARAM_IVLEN), c->iv_bytes) &&
           headrace_write_number(headrace_find(params, OSSL_CIPHER_PARAM_PADDING), c->is_padded) &&
           headrace_write_number(headrace_find(params, OSSL_CIPHER_PARAM_NUM), c->number) &&
           headrace_write_bytes(headrace_find(params, OSSL_CIPHER_PARAM_IV), c->iv, c->iv_bytes) &&
           /* Pointers are to what lasts as long as the context does. */
           headrace_write_bytes(updated, updated != NULL && updated->data_type == OSSL_PARAM_OCTET_PTR ? c->now : now, c->iv_bytes) &&
           headrace_write_bytes(mac, c->has_tls_mac ? c->tls_held : NULL, c->has_tls_mac ? c->tls_mac_bytes : 0) &&
           (c->running.algorithm->kind != HEADRACE_ONE_PIECE ||
            headrace_write_text(headrace_find(params, OSSL_CIPHER_PARAM_CTS_MODE), c->row->of));
    /* What is left of a block may be key stream. */
    c->running.provider->cleanse(now, sizeof now);
    return good ? 1 : headrace_raise(c->running.provider, HEADRACE_REASON_PARAMETER);
}

static bool set_form(struct cipher *c, const OSSL_PARAM *form) {
    size_t bytes = 0;
    const char *const name = headrace_read_text(form, &bytes);
    for (size_t i = 0; name != NULL && i < c->running.algorithm->n_rows; i++) {
        const struct headrace_row *const row = &c->running.algorithm->rows[i];
        if (headrace_is_among(row->of, name, bytes)) {
            if (row != c->row) {
                headrace_cipher_close(c);
            }
            c->row = row;
            return true;
        }
    }
    return false;
}

/* `num`: where nothing is fed back it only stands there; otherwise the rest of a block can be left out, but nothing used again. */
static int set_number(struct cipher *c, size_t number) {
    const bool counts = c->feedback == FEEDBACK_CFB || c->feedback == FEEDBACK_OFB || c->feedback == FEEDBACK_COUNTER;
    if (counts && number != c->number) {
        uint8_t now[BLOCK_MOST];
        if (number != 0) {
            return headrace_raise(c->running.provider, HEADRACE_REASON_PARAMETER);
        }
        if (!headrace_feedback_now(c, now)) {
            return 0;
        }
        headrace_cipher_close(c);
        memcpy(c->now, now, sizeof now);
        c->running.provider->cleanse(now, sizeof now);
    }
    c->number = number;
    return 1;
}

static int set_tls(struct cipher *c, const OSSL_PARAM *version, const OSSL_PARAM *mac_bytes) {
    size_t number = 0;
    if (c->running.algorithm->kind == HEADRACE_ONE_PIECE) {
        return headrace_raise(c->running.provider, HEADRACE_REASON_TLS);
    }
    if (version != NULL) {
        if (!headrace_read_number(version, &number) || number > UINT16_MAX) {
            return headrace_raise(c->running.provider, HEADRACE_REASON_PARAMETER);
        }
        c->tls_version = (unsigned)number;
    }
    if (mac_bytes != NULL) {
        if (!headrace_read_number(mac_bytes, &number) || number > sizeof c->tls_held) {
            return headrace_raise(c->running.provider, HEADRACE_REASON_PARAMETER);
        }
        c->tls_mac_bytes = number;
    }
    return 1;
}

static int set_key_bytes(struct cipher *c, const OSSL_PARAM *key_bytes) {
    size_t number = 0;
    if (!headrace_read_number(key_bytes, &number) || number > KEY_MOST || (c->row->key_bytes != 0 && number != c->row->key_bytes) ||
        !headrace_allows(headrace_any(c->row), HEADRACE_KEY, number)) {
        return headrace_raise(c->running.provider, HEADRACE_REASON_KEY_BYTES);
    }
    if (number != c->key_bytes) {
        c->key_bytes = number;
        c->is_keyed = false;
    }
    return 1;
}

int headrace_cipher_set(void *context, const OSSL_PARAM params[]) {
    struct cipher *const c = context;
    struct headrace_provider *const provider = c->running.provider;
    const OSSL_PARAM *const padding = headrace_given(params, OSSL_CIPHER_PARAM_PADDING);
    const OSSL_PARAM *const key_bytes = headrace_given(params, OSSL_CIPHER_PARAM_KEYLEN);
    const OSSL_PARAM *const iv_bytes = headrace_given(params, OSSL_CIPHER_PARAM_IVLEN);
    const OSSL_PARAM *const form = headrace_given(params, OSSL_CIPHER_PARAM_CTS_MODE);
    const OSSL_PARAM *const in_bits = headrace_given(params, OSSL_CIPHER_PARAM_USE_BITS);
    const OSSL_PARAM *const given = headrace_given(params, OSSL_CIPHER_PARAM_NUM);
    const OSSL_PARAM *const version = headrace_given(params, OSSL_CIPHER_PARAM_TLS_VERSION);
    const OSSL_PARAM *const mac_bytes = headrace_given(params, OSSL_CIPHER_PARAM_TLS_MAC_SIZE);
    size_t number = 0;
    if (headrace_given(params, OSSL_CIPHER_PARAM_ROUNDS) != NULL ||
        (in_bits != NULL && (!headrace_read_number(in_bits, &number) || number != 0))) {
        return headrace_raise(provider, HEADRACE_REASON_PARAMETER);
    }
    if (iv_bytes != NULL && is_stream_with_iv(c->running.algorithm) &&
        (!headrace_read_number(iv_bytes, &number) || number != c->iv_bytes)) {
        return headrace_raise(provider, HEADRACE_REASON_IV_BYTES);
    }
    if (padding != NULL) {
        if (!headrace_read_number(padding, &number)) {
            return headrace_raise(provider, HEADRACE_REASON_PARAMETER);
        }
        c->is_padded = number != 0;
    }
    if (form != NULL && (c->running.algorithm->kind != HEADRACE_ONE_PIECE || !set_form(c, form))) {
        return headrace_raise(provider, HEADRACE_REASON_CHOICE);
    }
    if (given != NULL && !headrace_read_number(given, &number)) {
        return headrace_raise(provider, HEADRACE_REASON_PARAMETER);
    }
    return (given == NULL || set_number(c, number)) &&
           ((version == NULL && mac_bytes == NULL) || set_tls(c, version, mac_bytes)) && (key_bytes == NULL || set_key_bytes(c, key_bytes));
}

const OSSL_PARAM *headrace_cipher_gettable_here(const struct headrace_algorithm *algorithm) {
    static const OSSL_PARAM list[] = {
        HEADRACE_NUMBER(OSSL_CIPHER_PARAM_KEYLEN), HEADRACE_NUMBER(OSSL_CIPHER_PARAM_IVLEN),
        HEADRACE_NUMBER(OSSL_CIPHER_PARAM_PADDING), HEADRACE_NUMBER(OSSL_CIPHER_PARAM_NUM),
        HEADRACE_BYTES(OSSL_CIPHER_PARAM_IV),      HEADRACE_BYTES(OSSL_CIPHER_PARAM_UPDATED_IV),
        {OSSL_CIPHER_PARAM_TLS_MAC, OSSL_PARAM_OCTET_PTR, NULL, 0, 0},
        HEADRACE_TEXT(OSSL_CIPHER_PARAM_CTS_MODE), HEADRACE_LAST,
    };
    (void)algorithm;
    return list;
}

/* libcrypto looks here whether keys have any length. As OpenSSL has it, ChaCha20 takes both of its lengths, though each is the
   only one. */
const OSSL_PARAM *headrace_cipher_settable(const struct headrace_algorithm *algorithm) {
    static const OSSL_PARAM list[] = {
        HEADRACE_NUMBER(OSSL_CIPHER_PARAM_IVLEN),        HEADRACE_NUMBER(OSSL_CIPHER_PARAM_KEYLEN),
        HEADRACE_NUMBER(OSSL_CIPHER_PARAM_PADDING),      HEADRACE_NUMBER(OSSL_CIPHER_PARAM_NUM),
        HEADRACE_NUMBER(OSSL_CIPHER_PARAM_USE_BITS),     HEADRACE_NUMBER(OSSL_CIPHER_PARAM_TLS_VERSION),
        HEADRACE_NUMBER(OSSL_CIPHER_PARAM_TLS_MAC_SIZE), HEADRACE_TEXT(OSSL_CIPHER_PARAM_CTS_MODE),
        HEADRACE_LAST,
    };
    const struct headrace_row *const row = algorithm->rows;
    size_t least, most;
    headrace_bounds(headrace_any(row), HEADRACE_KEY, KEY_MOST, &least, &most);
    return is_stream_with_iv(algorithm) ? list : row->key_bytes == 0 && least < most ? list + 1 : list + 2;
}
