/* See elsewhere.h. The functions of libcrypto are those of the library that has loaded the provider, which is linked to nothing. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_NOLOAD */
#endif
#include "elsewhere.h"

#include <dlfcn.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

#ifdef __APPLE__
#define LIBRARY "libcrypto.3.dylib"
#else
#define LIBRARY "libcrypto.so.3"
#endif

/* Functions that are looked up by name. */
#define FUNCTIONS(each)                                                                                                       \
    each(OSSL_LIB_CTX_new_child) each(OSSL_LIB_CTX_free) each(EVP_MAC_fetch) each(EVP_MAC_free) each(EVP_MAC_CTX_new)         \
        each(EVP_MAC_CTX_free) each(EVP_MAC_CTX_dup) each(EVP_MAC_init) each(EVP_MAC_update) each(EVP_MAC_final)              \
            each(EVP_MAC_CTX_set_params) each(EVP_MAC_CTX_get_params)

#define MEMBER(name) __typeof__(&(name)) name;
#define LOOK_UP(name) *(void **)&made->name = dlsym(made->library, #name);
#define IS_THERE(name) &&made->name != NULL

struct headrace_elsewhere {
    void *library;
    OSSL_LIB_CTX *context; /* has the other providers of the program */
    FUNCTIONS(MEMBER)
};

static void forget(struct headrace_provider *provider, struct headrace_elsewhere *made) {
    if (made->context != NULL) {
        made->OSSL_LIB_CTX_free(made->context);
    }
    if (made->library != NULL) {
        dlclose(made->library);
    }
    headrace_release(provider, made, sizeof *made);
}

/* What is looked up once; another thread may have been faster. */
static struct headrace_elsewhere *found(struct headrace_provider *provider) {
    struct headrace_elsewhere *made = atomic_load(&provider->elsewhere), *none = NULL;
    if (made != NULL) {
        return made;
    }
    made = headrace_allocate(provider, sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    made->library = dlopen(LIBRARY, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    if (made->library != NULL) {
        FUNCTIONS(LOOK_UP)
        if (true FUNCTIONS(IS_THERE)) {
            made->context = made->OSSL_LIB_CTX_new_child(provider->core, provider->offered);
        }
    }
    if (made->context == NULL || !atomic_compare_exchange_strong(&provider->elsewhere, &none, made)) {
        forget(provider, made);
        return none;
    }
    return made;
}

void headrace_elsewhere_end(struct headrace_provider *provider) {
    if (provider->elsewhere != NULL) {
        forget(provider, provider->elsewhere);
    }
}

void *headrace_elsewhere_new(struct headrace_provider *provider, const char *names) {
    struct headrace_elsewhere *const e = found(provider);
    char name[32];
    const size_t bytes = strcspn(names, ":");
    EVP_MAC_CTX *context = NULL;
    if (e != NULL && bytes < sizeof name) {
        EVP_MAC *mac;
        memcpy(name, names, bytes);
        name[bytes] = 0;
        mac = e->EVP_MAC_fetch(e->context, name, "provider!=headrace");
        context = mac == NULL ? NULL : e->EVP_MAC_CTX_new(mac);
        e->EVP_MAC_free(mac);
    }
    return context;
}

void headrace_elsewhere_free(struct headrace_provider *provider, void *context) {
    if (context != NULL) {
        found(provider)->EVP_MAC_CTX_free(context);
    }
}

void *headrace_elsewhere_dup(struct headrace_provider *provider, void *context) {
    return found(provider)->EVP_MAC_CTX_dup(context);
}

int headrace_elsewhere_init(struct headrace_provider *provider, void *context, const uint8_t *key, size_t key_bytes,
                            const OSSL_PARAM params[]) {
    return found(provider)->EVP_MAC_init(context, key, key_bytes, params);
}

int headrace_elsewhere_update(struct headrace_provider *provider, void *context, const uint8_t *in, size_t in_bytes) {
    return found(provider)->EVP_MAC_update(context, in, in_bytes);
}

int headrace_elsewhere_final(struct headrace_provider *provider, void *context, uint8_t *out, size_t *out_bytes, size_t room) {
    return found(provider)->EVP_MAC_final(context, out, out_bytes, room);
}

int headrace_elsewhere_set(struct headrace_provider *provider, void *context, const OSSL_PARAM params[]) {
    return found(provider)->EVP_MAC_CTX_set_params(context, params);
}

int headrace_elsewhere_get(struct headrace_provider *provider, void *context, OSSL_PARAM params[]) {
    return found(provider)->EVP_MAC_CTX_get_params(context, params);
}
