/* See test.h. The argument is the folder with the provider. */
#include "test.h"

OSSL_LIB_CTX *ours, *theirs;

static unsigned failures;

bool expect(bool holds, const char *algorithm, const char *what) {
    if (!holds) {
        failures++;
        fprintf(stderr, "FAILED: %s: %s\n", algorithm, what);
        ERR_print_errors_fp(stderr);
    }
    ERR_clear_error();
    return holds;
}

size_t below(size_t bound) {
    /* A linear congruential generator modulo 2^64 (Knuth's MMIX constants); its upper bits are the arbitrary ones. */
    static uint64_t state = 0x0123456789abcdefu;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(state >> 33) % bound;
}

void fill(uint8_t *bytes, size_t n_bytes) {
    for (size_t i = 0; i < n_bytes; i++) {
        bytes[i] = (uint8_t)below(256);
    }
}

size_t some_length(void) {
    switch (below(6)) {
    case 0:
        return below(4);
    case 1:
        return 16 * below(20);
    case 2:
        return below(TEXT_MOST);
    default:
        return below(300);
    }
}

size_t some_piece(size_t left) {
    const size_t piece = below(3) == 0 ? below(3000) : below(40);
    return piece < left && below(8) != 0 ? piece : left;
}

static OSSL_PROVIDER *load(OSSL_LIB_CTX *context, const char *name, bool must) {
    OSSL_PROVIDER *const provider = OSSL_PROVIDER_load(context, name);
    if (must) {
        expect(provider != NULL, name, "the provider is loaded");
    }
    ERR_clear_error();
    return provider;
}

int main(int n_arguments, char **arguments) {
    OSSL_PROVIDER *provider, *others[2];
    unsigned n = 0, alone = 0;
    size_t served = 0, bytes = 0;
    const char *name = NULL;
    OSSL_PARAM asked[] = {
        OSSL_PARAM_construct_size_t("served", &served),
        OSSL_PARAM_construct_size_t("served-bytes", &bytes),
        OSSL_PARAM_construct_utf8_ptr("name", (char **)&name, 0),
        OSSL_PARAM_construct_end(),
    };
    ours = OSSL_LIB_CTX_new();
    theirs = OSSL_LIB_CTX_new();
    if (n_arguments != 2 || ours == NULL || theirs == NULL || !OSSL_PROVIDER_set_default_search_path(ours, arguments[1])) {
        fprintf(stderr, "usage: test FOLDER\n");
        return 2;
    }
    provider = load(ours, "headrace", true);
    others[0] = load(theirs, "default", true);
    others[1] = load(theirs, "legacy", false);
    if (provider == NULL) {
        return 1;
    }
    expect(OSSL_PROVIDER_get_params(provider, asked) && name != NULL && served == 0, "provider", "nothing was served yet");
    n += test_ciphers(&alone);
    n += test_digests(&alone);
    n += test_macs(&alone);
    test_wrong_use();
    expect(n != 0, "provider", "it has algorithms");
    expect(OSSL_PROVIDER_get_params(provider, asked) && (n == alone || (served != 0 && bytes != 0)), "provider", "it counts what it served");
    expect(OSSL_PROVIDER_unload(provider), "provider", "it can be unloaded");
    for (size_t i = 0; i < 2; i++) {
        if (others[i] != NULL) {
            OSSL_PROVIDER_unload(others[i]);
        }
    }
    OSSL_LIB_CTX_free(ours);
    OSSL_LIB_CTX_free(theirs);
    printf("%u algorithms as in OpenSSL, %u of them alone here; %zu messages, %zu bytes; %u failures\n", n, alone, served, bytes,
           failures);
    return failures != 0;
}
