/* The provider: what OpenSSL asks of one, errors, counters. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* secure_getenv, getentropy */
#endif
#include "provider.h"

#include "elsewhere.h"
#include "parameters.h"

#include <inttypes.h>
#include <openssl/core_names.h>
#include <openssl/params.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef __APPLE__
#include <sys/random.h>
#endif
#include <unistd.h>

static const OSSL_ITEM reasons[] = {
    {HEADRACE_REASON_KEY, "no key was given, or the one there was is used up"},
    {HEADRACE_REASON_KEY_BYTES, "the key has a length that is not allowed"},
    {HEADRACE_REASON_IV, "no initial block or nonce was given, or the one there was is used up"},
    {HEADRACE_REASON_IV_BYTES, "the initial block, nonce or other string has a length that is not allowed"},
    {HEADRACE_REASON_DIRECTION, "this direction is not in the provider, or none was chosen"},
    {HEADRACE_REASON_CHOICE, "no such hash, cipher or form is in the provider, or none was chosen"},
    {HEADRACE_REASON_PARAMETER, "a parameter has a value that is not allowed"},
    {HEADRACE_REASON_ROOM, "there is too little room for the output"},
    {HEADRACE_REASON_ORDER, "the message was not begun, or is over"},
    {HEADRACE_REASON_BLOCKS, "the message is not made of whole blocks"},
    {HEADRACE_REASON_PADDING, "the padding is wrong"},
    {HEADRACE_REASON_ONE_PIECE, "the message must be given in one piece"},
    {HEADRACE_REASON_LENGTH, "the message has a length that is not allowed"},
    {HEADRACE_REASON_TAG, "the tag must be given before the ciphertext, which is in one piece, or release-unverified be set"},
    {HEADRACE_REASON_TAG_BYTES, "tags of this length are not in the provider"},
    {HEADRACE_REASON_NO_TAG, "there is no tag, or none is wanted"},
    {HEADRACE_REASON_FORGED, "the message is not authentic"},
    {HEADRACE_REASON_TLS, "the record of TLS is none, or not for this cipher"},
    {HEADRACE_REASON_MEMORY, "there is no memory left"},
    {HEADRACE_REASON_ENTROPY, "the system gives no arbitrary bytes"},
    {HEADRACE_REASON_NETWORK, "the network stopped: a mistake in the provider"},
    {0, NULL},
};

static void put(struct headrace_provider *provider, enum headrace_reason reason, const char *format, ...) {
    va_list none;
    va_start(none, format);
    provider->vset_error(provider->core, reason, format, none);
    va_end(none);
}

int headrace_raise_at(struct headrace_provider *provider, enum headrace_reason reason, const char *file, int line,
                      const char *function) {
    if (provider->new_error != NULL && provider->set_error_debug != NULL && provider->vset_error != NULL) {
        provider->new_error(provider->core);
        provider->set_error_debug(provider->core, file, line, function);
        put(provider, reason, NULL);
    }
    return 0;
}

int headrace_arbitrary(struct headrace_provider *provider, uint8_t *bytes, size_t n_bytes) {
    return getentropy(bytes, n_bytes) == 0 ? 1 : headrace_raise(provider, HEADRACE_REASON_ENTROPY);
}

static uint64_t sum(const struct headrace_provider *provider, bool of_bytes) {
    uint64_t total = 0;
    for (size_t i = 0; i < headrace_n_algorithms; i++) {
        const struct headrace_count *const one = &provider->counts[i];
        total += atomic_load_explicit(of_bytes ? &one->bytes : &one->messages, memory_order_relaxed);
    }
    return total;
}

static const OSSL_PARAM *gettable(void *context) {
    static const OSSL_PARAM list[] = {
        HEADRACE_TEXT_POINTER(OSSL_PROV_PARAM_NAME),      HEADRACE_TEXT_POINTER(OSSL_PROV_PARAM_VERSION),
        HEADRACE_TEXT_POINTER(OSSL_PROV_PARAM_BUILDINFO), HEADRACE_NUMBER(OSSL_PROV_PARAM_STATUS),
        HEADRACE_NUMBER("served"),                        HEADRACE_NUMBER("served-bytes"),
        HEADRACE_LAST,
    };
    (void)context;
    return list;
}

static int get(void *context, OSSL_PARAM params[]) {
    const struct headrace_provider *const provider = context;
    return headrace_write_text(headrace_find(params, OSSL_PROV_PARAM_NAME), "Headrace") &&
           headrace_write_text(headrace_find(params, OSSL_PROV_PARAM_VERSION), headrace_version) &&
           headrace_write_text(headrace_find(params, OSSL_PROV_PARAM_BUILDINFO), provider->information) &&
           headrace_write_number(headrace_find(params, OSSL_PROV_PARAM_STATUS), 1) &&
           headrace_write_number(headrace_find(params, "served"), sum(provider, false)) &&
           headrace_write_number(headrace_find(params, "served-bytes"), sum(provider, true));
}

static const OSSL_ALGORITHM *query(void *context, int operation, int *no_cache) {
    const struct headrace_provider *const provider = context;
    *no_cache = 0;
    switch (operation) {
    case OSSL_OP_CIPHER:
        return provider->ciphers;
    case OSSL_OP_DIGEST:
        return provider->digests;
    case OSSL_OP_MAC:
        return provider->macs;
    default:
        return NULL;
    }
}

static const OSSL_ITEM *reason_strings(void *context) {
    (void)context;
    return reasons;
}

/* Appends what was served to the file that the environment names; not for programs that run with rights of others. */
static void report(const struct headrace_provider *provider) {
#ifdef __GLIBC__
    const char *const path = secure_getenv("HEADRACE_SERVED");
#else
    const char *const path = getenv("HEADRACE_SERVED");
#endif
    FILE *const file = path == NULL ? NULL : fopen(path, "a");
    if (file == NULL) {
        return;
    }
    for (size_t i = 0; i < headrace_n_algorithms; i++) {
        const struct headrace_algorithm *const algorithm = &headrace_algorithms[i];
        const uint64_t messages = atomic_load(&provider->counts[i].messages), bytes = atomic_load(&provider->counts[i].bytes);
        if (messages != 0) {
            fprintf(file, "%.*s %" PRIu64 " %" PRIu64 "\n", (int)strcspn(algorithm->names, ":"), algorithm->names, messages, bytes);
        }
    }
    fclose(file);
}

static size_t list_bytes(void) {
    return (headrace_n_algorithms + 1) * sizeof(OSSL_ALGORITHM);
}

static void forget(struct headrace_provider *provider) {
    OSSL_ALGORITHM *const lists[] = {provider->ciphers, provider->digests, provider->macs};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        if (lists[i] != NULL) {
            headrace_release(provider, lists[i], list_bytes());
        }
    }
    if (provider->counts != NULL) {
        headrace_release(provider, provider->counts, headrace_n_algorithms * sizeof *provider->counts);
    }
    headrace_release(provider, provider, sizeof *provider);
}

static void teardown(void *context) {
    report(context);
    headrace_elsewhere_end(context);
    forget(context);
}

static OSSL_ALGORITHM *algorithms(struct headrace_provider *provider, enum headrace_kind first, enum headrace_kind last) {
    OSSL_ALGORITHM *const list = headrace_allocate(provider, list_bytes());
    for (size_t i = 0, n = 0; list != NULL && i < headrace_n_algorithms; i++) {
        const struct headrace_algorithm *const algorithm = &headrace_algorithms[i];
        if (algorithm->kind >= first && algorithm->kind <= last) {
            list[n++] = (OSSL_ALGORITHM){algorithm->names, "provider=headrace", algorithm->functions, NULL};
        }
    }
    return list;
}

/* What `openssl.cnf` says in the section of the provider. */
static void configure(struct headrace_provider *provider, OSSL_FUNC_core_get_params_fn *get_params) {
    char *value = NULL;
    OSSL_PARAM asked[] = {
        {"release-unverified", OSSL_PARAM_UTF8_PTR, &value, sizeof value, OSSL_PARAM_UNMODIFIED},
        HEADRACE_LAST,
    };
    if (get_params != NULL && get_params(provider->core, asked) && value != NULL) {
        provider->releases_unverified = strcmp(value, "yes") == 0 || strcmp(value, "on") == 0 || strcmp(value, "1") == 0;
    }
}

static const OSSL_DISPATCH functions[] = {
    HEADRACE_ENTRY(OSSL_FUNC_PROVIDER_TEARDOWN, teardown),
    HEADRACE_ENTRY(OSSL_FUNC_PROVIDER_GETTABLE_PARAMS, gettable),
    HEADRACE_ENTRY(OSSL_FUNC_PROVIDER_GET_PARAMS, get),
    HEADRACE_ENTRY(OSSL_FUNC_PROVIDER_QUERY_OPERATION, query),
    HEADRACE_ENTRY(OSSL_FUNC_PROVIDER_GET_REASON_STRINGS, reason_strings),
    HEADRACE_END,
};

#ifdef __GNUC__
__attribute__((visibility("default")))
#endif
OSSL_provider_init_fn OSSL_provider_init;

int OSSL_provider_init(const OSSL_CORE_HANDLE *core, const OSSL_DISPATCH *in, const OSSL_DISPATCH **out, void **context) {
    struct headrace_provider found = {.core = core, .offered = in}, *provider;
    OSSL_FUNC_core_get_params_fn *get_params = NULL;
    for (; in->function_id != 0; in++) {
        switch (in->function_id) {
        case OSSL_FUNC_CORE_GET_PARAMS:
            get_params = OSSL_FUNC_core_get_params(in);
            break;
        case OSSL_FUNC_CORE_NEW_ERROR:
            found.new_error = OSSL_FUNC_core_new_error(in);
            break;
        case OSSL_FUNC_CORE_SET_ERROR_DEBUG:
            found.set_error_debug = OSSL_FUNC_core_set_error_debug(in);
            break;
        case OSSL_FUNC_CORE_VSET_ERROR:
            found.vset_error = OSSL_FUNC_core_vset_error(in);
            break;
        case OSSL_FUNC_CRYPTO_ZALLOC:
            found.zalloc = OSSL_FUNC_CRYPTO_zalloc(in);
            break;
        case OSSL_FUNC_CRYPTO_CLEAR_FREE:
            found.clear_free = OSSL_FUNC_CRYPTO_clear_free(in);
            break;
        case OSSL_FUNC_OPENSSL_CLEANSE:
            found.cleanse = OSSL_FUNC_OPENSSL_cleanse(in);
            break;
        default:
            break;
        }
    }
    if (found.zalloc == NULL || found.clear_free == NULL || found.cleanse == NULL) {
        return 0;
    }
    provider = headrace_allocate(&found, sizeof *provider);
    if (provider == NULL) {
        return 0;
    }
    *provider = found;
    provider->ciphers = algorithms(provider, HEADRACE_STREAM, HEADRACE_AEAD);
    provider->digests = algorithms(provider, HEADRACE_DIGEST, HEADRACE_DIGEST);
    provider->macs = algorithms(provider, HEADRACE_MAC, HEADRACE_MAC);
    provider->counts = headrace_allocate(provider, headrace_n_algorithms * sizeof *provider->counts);
    if (provider->ciphers == NULL || provider->digests == NULL || provider->macs == NULL || provider->counts == NULL) {
        forget(provider);
        return 0;
    }
    configure(provider, get_params);
    snprintf(provider->information, sizeof provider->information, "%zu algorithms", headrace_n_algorithms);
    *out = functions;
    *context = provider;
    return 1;
}
