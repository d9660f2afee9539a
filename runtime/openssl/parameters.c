/* See parameters.h. */
#include "parameters.h"

#include <string.h>

bool headrace_read_number(const OSSL_PARAM *parameter, size_t *value) {
    uint64_t wide;
    if (parameter->data == NULL || (parameter->data_type != OSSL_PARAM_INTEGER && parameter->data_type != OSSL_PARAM_UNSIGNED_INTEGER)) {
        return false;
    }
    if (parameter->data_size == sizeof(uint32_t)) {
        uint32_t narrow;
        memcpy(&narrow, parameter->data, sizeof narrow);
        wide = narrow;
        if (parameter->data_type == OSSL_PARAM_INTEGER && narrow > INT32_MAX) {
            return false;
        }
    } else if (parameter->data_size == sizeof(uint64_t)) {
        memcpy(&wide, parameter->data, sizeof wide);
        if (parameter->data_type == OSSL_PARAM_INTEGER && wide > INT64_MAX) {
            return false;
        }
    } else {
        return false;
    }
    *value = (size_t)wide;
    return wide <= SIZE_MAX;
}

const char *headrace_read_text(const OSSL_PARAM *parameter, size_t *bytes) {
    const char *text = parameter->data;
    if (parameter->data_type == OSSL_PARAM_UTF8_PTR && text != NULL) {
        memcpy(&text, parameter->data, sizeof text);
    } else if (parameter->data_type != OSSL_PARAM_UTF8_STRING) {
        return NULL;
    }
    if (text != NULL) {
        const char *const end = memchr(text, 0, parameter->data_size);
        *bytes = end == NULL ? parameter->data_size : (size_t)(end - text);
    }
    return text;
}

bool headrace_write_number(OSSL_PARAM *parameter, uint64_t value) {
    const bool is_signed = parameter != NULL && parameter->data_type == OSSL_PARAM_INTEGER;
    if (parameter == NULL) {
        return true;
    }
    if (!is_signed && parameter->data_type != OSSL_PARAM_UNSIGNED_INTEGER) {
        return false;
    }
    if (parameter->data == NULL) {
        parameter->return_size = sizeof value;
        return true;
    }
    if (parameter->data_size == sizeof(uint32_t)) {
        const uint32_t narrow = (uint32_t)value;
        memcpy(parameter->data, &narrow, sizeof narrow);
        parameter->return_size = sizeof narrow;
        return value <= (is_signed ? INT32_MAX : UINT32_MAX);
    }
    if (parameter->data_size == sizeof value) {
        memcpy(parameter->data, &value, sizeof value);
        parameter->return_size = sizeof value;
        return !is_signed || value <= INT64_MAX;
    }
    return false;
}

bool headrace_write_text(OSSL_PARAM *parameter, const char *text) {
    const size_t bytes = strlen(text);
    if (parameter == NULL) {
        return true;
    }
    parameter->return_size = bytes;
    if (parameter->data == NULL) {
        return true;
    }
    if (parameter->data_type == OSSL_PARAM_UTF8_PTR) {
        memcpy(parameter->data, &text, sizeof text);
        return true;
    }
    if (parameter->data_type != OSSL_PARAM_UTF8_STRING || parameter->data_size < bytes) {
        return false;
    }
    memcpy(parameter->data, text, bytes);
    if (parameter->data_size > bytes) {
        ((char *)parameter->data)[bytes] = 0;
    }
    return true;
}

bool headrace_write_bytes(OSSL_PARAM *parameter, const uint8_t *bytes, size_t n_bytes) {
    if (parameter == NULL) {
        return true;
    }
    parameter->return_size = n_bytes;
    if (parameter->data == NULL) {
        return true;
    }
    if (parameter->data_type == OSSL_PARAM_OCTET_PTR) {
        memcpy(parameter->data, &bytes, sizeof bytes);
        return true;
    }
    if (parameter->data_type != OSSL_PARAM_OCTET_STRING || parameter->data_size < n_bytes) {
        return false;
    }
    if (n_bytes != 0) {
        memcpy(parameter->data, bytes, n_bytes);
    }
    return true;
}
