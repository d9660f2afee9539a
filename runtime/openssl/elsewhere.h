/*
 * Codes that are made of a hash or cipher that is not in this provider. OpenSSL fetches a code by its own name, before it says
 * what it is made of, so that a provider with one HMAC is asked for each; what it does not have another provider does for it.
 */
#ifndef HEADRACE_ELSEWHERE_H
#define HEADRACE_ELSEWHERE_H

#include "provider.h"

/* A context of another provider's code of that name; null where libcrypto cannot be reached or has none. */
void *headrace_elsewhere_new(struct headrace_provider *provider, const char *names);
void headrace_elsewhere_free(struct headrace_provider *provider, void *context);
void *headrace_elsewhere_dup(struct headrace_provider *provider, void *context);
/* What the functions of a code do, with that context. */
int headrace_elsewhere_init(struct headrace_provider *provider, void *context, const uint8_t *key, size_t key_bytes,
                            const OSSL_PARAM params[]);
int headrace_elsewhere_update(struct headrace_provider *provider, void *context, const uint8_t *in, size_t in_bytes);
int headrace_elsewhere_final(struct headrace_provider *provider, void *context, uint8_t *out, size_t *out_bytes, size_t room);
int headrace_elsewhere_set(struct headrace_provider *provider, void *context, const OSSL_PARAM params[]);
int headrace_elsewhere_get(struct headrace_provider *provider, void *context, OSSL_PARAM params[]);
/* When the provider goes. */
void headrace_elsewhere_end(struct headrace_provider *provider);

#endif
