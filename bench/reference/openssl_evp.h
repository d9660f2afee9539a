/* The part of OpenSSL's EVP interface that the references need, found at run time, so that neither headers nor a linker
 * flag are needed. */
#ifndef HEADRACE_OPENSSL_EVP_H
#define HEADRACE_OPENSSL_EVP_H

#include "reference.h"

#include <dlfcn.h>

struct evp {
    void *(*ctx_new)(void);
    const void *(*cipher)(void);
    int (*init)(void *ctx, const void *cipher, void *engine, const uint8_t *key, const uint8_t *iv);
    int (*set_padding)(void *ctx, int on);
    int (*update)(void *ctx, uint8_t *out, int *n_out, const uint8_t *in, int n_in);
    const char *(*version)(int what);
    void *ctx;
    uint8_t key[16], iv[16];
};

static struct evp evp;

static int evp_symbol(void *library, const char *name, void *slot)
{
    void *symbol = dlsym(library, name);
    *(void **)slot = symbol;
    return symbol != 0;
}

static int evp_setup(const char *cipher, const uint8_t key[16], const uint8_t iv[16])
{
    static const char *const names[] = {"libcrypto.so.3", "libcrypto.so.1.1", "libcrypto.so", "libcrypto.3.dylib"};
    void *library = 0;
    for (unsigned i = 0; i < sizeof names / sizeof *names && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return -1;
    int found = evp_symbol(library, "EVP_CIPHER_CTX_new", &evp.ctx_new)
        && evp_symbol(library, cipher, &evp.cipher)
        && evp_symbol(library, "EVP_EncryptInit_ex", &evp.init)
        && evp_symbol(library, "EVP_CIPHER_CTX_set_padding", &evp.set_padding)
        && evp_symbol(library, "EVP_EncryptUpdate", &evp.update)
        && evp_symbol(library, "OpenSSL_version", &evp.version);
    if (!found)
        return -1;
    for (int i = 0; i < 16; i++) {
        evp.key[i] = key[i];
        evp.iv[i] = iv[i];
    }
    evp.ctx = evp.ctx_new();
    return evp.ctx ? 0 : -1;
}

static int evp_run(const uint8_t *in, uint8_t *out, size_t n_bytes)
{
    enum { STEP = 1 << 30 };
    if (evp.init(evp.ctx, evp.cipher(), 0, evp.key, evp.iv) != 1 || evp.set_padding(evp.ctx, 0) != 1)
        return -1;
    while (n_bytes > 0) {
        int n = n_bytes < STEP ? (int)n_bytes : STEP, written = 0;
        if (evp.update(evp.ctx, out, &written, in, n) != 1 || written != n)
            return -1;
        in += n;
        out += n;
        n_bytes -= (size_t)n;
    }
    return 0;
}

#endif
