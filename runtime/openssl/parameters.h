/* Reading and writing of OSSL_PARAM, for a provider that is not linked to libcrypto. */
#ifndef HEADRACE_PARAMETERS_H
#define HEADRACE_PARAMETERS_H

#include <openssl/core.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether a parameter has that name. Names are short, and most differ at once: a call of `strcmp` takes longer. */
static inline bool headrace_is_named(const OSSL_PARAM *parameter, const char *name) {
    size_t i = 0;
    while (parameter->key[i] == name[i] && name[i] != 0) {
        i++;
    }
    return parameter->key[i] == name[i];
}

/* The parameter of that name, or null; `params` may be null. */
static inline const OSSL_PARAM *headrace_given(const OSSL_PARAM params[], const char *name) {
    for (; params != NULL && params->key != NULL; params++) {
        if (headrace_is_named(params, name)) {
            return params;
        }
    }
    return NULL;
}

static inline OSSL_PARAM *headrace_find(OSSL_PARAM params[], const char *name) {
    return (OSSL_PARAM *)headrace_given(params, name);
}

/* Numbers that are not negative; false for what is none. */
bool headrace_read_number(const OSSL_PARAM *parameter, size_t *value);
/* Texts, which need not end in a zero; null for what is none. */
const char *headrace_read_text(const OSSL_PARAM *parameter, size_t *bytes);

/* These do nothing, well, where the parameter is null: it was not asked for. */
bool headrace_write_number(OSSL_PARAM *parameter, uint64_t value);
bool headrace_write_text(OSSL_PARAM *parameter, const char *text);
bool headrace_write_bytes(OSSL_PARAM *parameter, const uint8_t *bytes, size_t n_bytes);

/* Entries of lists of what can be read or set. */
#define HEADRACE_NUMBER(name) {name, OSSL_PARAM_UNSIGNED_INTEGER, NULL, 0, 0}
#define HEADRACE_BYTES(name) {name, OSSL_PARAM_OCTET_STRING, NULL, 0, 0}
#define HEADRACE_TEXT(name) {name, OSSL_PARAM_UTF8_STRING, NULL, 0, 0}
#define HEADRACE_TEXT_POINTER(name) {name, OSSL_PARAM_UTF8_PTR, NULL, 0, 0}
#define HEADRACE_LAST {NULL, 0, NULL, 0, 0}

#endif
