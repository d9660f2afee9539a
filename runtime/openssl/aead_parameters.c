/* Parameters of ciphers that authenticate: what is told and set of a context. */
#include "aead.h"
#include "parameters.h"

#include <openssl/core_names.h>

/* A tag is given out as it is where its length is no part of the message, and cut. */
static int write_tag(struct aead *c, OSSL_PARAM *tag) {
    const bool of_any_length = c->protocol == PROTOCOL_GCM || c->protocol == PROTOCOL_USUAL;
    const size_t bytes = tag->data == NULL ? c->tag_bytes : tag->data_size;
    /* What there may be of a message that is ahead is the tag of another one, with the same nonce. */
    const bool has_none = c->decrypts || !c->is_tag_made || c->stage == AHEAD;
    if (has_none || bytes == 0 || bytes > AEAD_TAG_MOST || (!of_any_length && bytes != c->tag_bytes) ||
        !headrace_write_bytes(tag, c->tag, bytes)) {
        return raise_here(c, has_none ? HEADRACE_REASON_NO_TAG : HEADRACE_REASON_TAG_BYTES);
    }
    if (c->protocol == PROTOCOL_CCM) {
        /* It is fetched once. */
        c->is_tag_made = false;
    }
    return 1;
}

int headrace_aead_get(void *context, OSSL_PARAM params[]) {
    struct aead *const c = context;
    OSSL_PARAM *const tag = headrace_find(params, OSSL_CIPHER_PARAM_AEAD_TAG);
    OSSL_PARAM *const iv = headrace_find(params, OSSL_CIPHER_PARAM_IV);
    OSSL_PARAM *const updated = headrace_find(params, OSSL_CIPHER_PARAM_UPDATED_IV);
    OSSL_PARAM *const next = headrace_find(params, OSSL_CIPHER_PARAM_AEAD_TLS1_GET_IV_GEN);
    if ((iv != NULL || updated != NULL) && !headrace_aead_need_iv(c)) {
        return 0;
    }
    if (!headrace_write_number(headrace_find(params, OSSL_CIPHER_PARAM_KEYLEN), c->key_bytes) ||
        !headrace_write_number(headrace_find(params, OSSL_CIPHER_PARAM_IVLEN), c->iv_bytes) ||
        !headrace_write_number(headrace_find(params, OSSL_CIPHER_PARAM_AEAD_TAGLEN), c->tag_bytes) ||
        (c->protocol != PROTOCOL_OCB &&
         !headrace_write_number(headrace_find(params, OSSL_CIPHER_PARAM_AEAD_TLS1_AAD_PAD), c->record_pad)) ||
        !headrace_write_bytes(iv, c->iv, c->iv_bytes) || !headrace_write_bytes(updated, c->iv, c->iv_bytes)) {
        return raise_here(c, HEADRACE_REASON_PARAMETER);
    }
    if (next != NULL && c->protocol == PROTOCOL_GCM &&
        (next->data_type != OSSL_PARAM_OCTET_STRING || !headrace_aead_next_iv(c, next->data, next->data_size))) {
        return 0;
    }
    return tag == NULL ? 1 : write_tag(c, tag);
}

/* A tag to be verified, or only how long tags are. */
static int set_tag(struct aead *c, const OSSL_PARAM *tag) {
    const size_t bytes = tag->data_size, before = c->tag_bytes;
    const bool is_length = tag->data == NULL, has_begun = headrace_aead_has_begun(c);
    if (tag->data_type != OSSL_PARAM_OCTET_STRING || bytes == 0 || bytes > AEAD_TAG_MOST || (is_length && c->protocol == PROTOCOL_GCM) ||
        (!is_length && c->protocol == PROTOCOL_OCB && bytes != c->tag_bytes)) {
        return raise_here(c, HEADRACE_REASON_TAG_BYTES);
    }
    if (c->protocol == PROTOCOL_USUAL && bytes != AEAD_TAG_MOST) {
        return raise_here(c, HEADRACE_REASON_TAG_BYTES);
    }
    if (!is_length && !c->decrypts) {
        return raise_here(c, HEADRACE_REASON_NO_TAG);
    }
    /* Of CCM and OCB the message depends on it. */
    if (has_begun && bytes != c->tag_bytes && (c->protocol == PROTOCOL_CCM || c->protocol == PROTOCOL_OCB)) {
        return raise_here(c, HEADRACE_REASON_ORDER);
    }
    c->tag_bytes = bytes;
    if (c->chosen && headrace_aead_operation(c) == NULL) {
        c->tag_bytes = before;
        return raise_here(c, HEADRACE_REASON_TAG_BYTES);
    }
    if (!is_length) {
        memcpy(c->tag, tag->data, bytes);
        c->has_tag = true;
    }
    return 1;
}

static int set_iv_bytes(struct aead *c, const OSSL_PARAM *iv_bytes) {
    size_t number = 0;
    if (!headrace_read_number(iv_bytes, &number) || number > AEAD_IV_MOST ||
        !headrace_allows(headrace_aead_any(c), headrace_aead_iv_role(c), number)) {
        return raise_here(c, HEADRACE_REASON_IV_BYTES);
    }
    if (number != c->iv_bytes) {
        c->iv_bytes = number;
        c->has_iv = false;
        c->stage = c->stage == NOT_BEGUN ? NOT_BEGUN : FAILED;
    }
    return 1;
}

static int set(struct aead *c, const OSSL_PARAM params[]) {
    const OSSL_PARAM *const tag = headrace_given(params, OSSL_CIPHER_PARAM_AEAD_TAG);
    const OSSL_PARAM *const iv_bytes = headrace_given(params, OSSL_CIPHER_PARAM_IVLEN);
    const OSSL_PARAM *const key_bytes = headrace_given(params, OSSL_CIPHER_PARAM_KEYLEN);
    const OSSL_PARAM *const unverified = headrace_given(params, "release-unverified");
    const OSSL_PARAM *const head = headrace_given(params, OSSL_CIPHER_PARAM_AEAD_TLS1_AAD);
    const OSSL_PARAM *const fixed = headrace_given(params, OSSL_CIPHER_PARAM_AEAD_TLS1_IV_FIXED);
    const OSSL_PARAM *const rest = headrace_given(params, OSSL_CIPHER_PARAM_AEAD_TLS1_SET_IV_INV);
    const OSSL_PARAM *const strings[] = {head, fixed, rest};
    const bool has_records = c->protocol != PROTOCOL_OCB; /* what no suite of TLS has looks at none of this */
    size_t number = 0;
    for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++) {
        if (strings[i] != NULL && strings[i]->data_type != OSSL_PARAM_OCTET_STRING) {
            return raise_here(c, HEADRACE_REASON_PARAMETER);
        }
    }
    if (key_bytes != NULL && (!headrace_read_number(key_bytes, &number) || number != c->key_bytes)) {
        return raise_here(c, HEADRACE_REASON_KEY_BYTES);
    }
    if (unverified != NULL) {
        if (!headrace_read_number(unverified, &number) || headrace_aead_has_begun(c)) {
            return raise_here(c, HEADRACE_REASON_PARAMETER);
        }
        c->releases_unverified = number != 0;
    }
    return (tag == NULL || set_tag(c, tag)) && (iv_bytes == NULL || set_iv_bytes(c, iv_bytes)) &&
           (!has_records || head == NULL || headrace_aead_set_record_ad(c, head->data, head->data_size)) &&
           (!has_records || fixed == NULL || headrace_aead_set_fixed(c, fixed->data, fixed->data_size)) &&
           (c->protocol != PROTOCOL_GCM || rest == NULL || headrace_aead_set_rest(c, rest->data, rest->data_size));
}

int headrace_aead_set(void *context, const OSSL_PARAM params[]) {
    return params == NULL || params->key == NULL ? 1 : set(context, params);
}

const OSSL_PARAM *headrace_aead_gettable_here(const struct headrace_algorithm *algorithm) {
    static const OSSL_PARAM list[] = {
        HEADRACE_NUMBER(OSSL_CIPHER_PARAM_KEYLEN),
        HEADRACE_NUMBER(OSSL_CIPHER_PARAM_IVLEN),
        HEADRACE_NUMBER(OSSL_CIPHER_PARAM_AEAD_TAGLEN),
        HEADRACE_BYTES(OSSL_CIPHER_PARAM_IV),
        HEADRACE_BYTES(OSSL_CIPHER_PARAM_UPDATED_IV),
        HEADRACE_BYTES(OSSL_CIPHER_PARAM_AEAD_TAG),
        HEADRACE_NUMBER(OSSL_CIPHER_PARAM_AEAD_TLS1_AAD_PAD),
        HEADRACE_BYTES(OSSL_CIPHER_PARAM_AEAD_TLS1_GET_IV_GEN),
        HEADRACE_LAST,
    };
    (void)algorithm;
    return list;
}

const OSSL_PARAM *headrace_aead_settable(const struct headrace_algorithm *algorithm) {
    static const OSSL_PARAM list[] = {
        HEADRACE_NUMBER(OSSL_CIPHER_PARAM_KEYLEN),
        HEADRACE_NUMBER(OSSL_CIPHER_PARAM_IVLEN),
        HEADRACE_BYTES(OSSL_CIPHER_PARAM_AEAD_TAG),
        HEADRACE_BYTES(OSSL_CIPHER_PARAM_AEAD_TLS1_AAD),
        HEADRACE_BYTES(OSSL_CIPHER_PARAM_AEAD_TLS1_IV_FIXED),
        HEADRACE_BYTES(OSSL_CIPHER_PARAM_AEAD_TLS1_SET_IV_INV),
        HEADRACE_NUMBER("release-unverified"),
        HEADRACE_LAST,
    };
    (void)algorithm;
    return list;
}
