/* Messages through EVP as connections send them: a program, unlike the adapters beside it, because who loads a provider has it in
 * the whole process.
 *
 *   evp PROVIDER CIPHER encrypt|decrypt BYTES MESSAGES
 *   evp version
 *
 * PROVIDER is the folder of the module "headrace", or "" for what the library brings itself. The key is kept; each message has 13
 * bytes of associated data, as records of TLS 1.2 have, and its nonce is set again. What is encrypted has a nonce of its own, what
 * is decrypted is one message again and again. Prints the seconds of the processor that a message takes, and the last text and its
 * tag as hexadecimal digits. */
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/provider.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { AD_BYTES = 13, NONCE_BYTES = 12, TAG_BYTES = 16, KEY_BYTES = 32 };

struct message {
    unsigned char nonce[NONCE_BYTES], ad[AD_BYTES], tag[TAG_BYTES];
    const unsigned char *in;
    unsigned char *out;
    int n_bytes;
};

static int run(EVP_CIPHER_CTX *context, int encrypts, struct message *m)
{
    int n = 0, last = 0;
    if (EVP_CipherInit_ex(context, NULL, NULL, NULL, m->nonce, encrypts) != 1)
        return 0;
    if (!encrypts && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, TAG_BYTES, m->tag) != 1)
        return 0;
    if (EVP_CipherUpdate(context, NULL, &n, m->ad, AD_BYTES) != 1
        || EVP_CipherUpdate(context, m->out, &n, m->in, m->n_bytes) != 1
        || EVP_CipherFinal_ex(context, m->out + n, &last) != 1 || n + last != m->n_bytes)
        return 0;
    return !encrypts || EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, TAG_BYTES, m->tag) == 1;
}

static EVP_CIPHER_CTX *keyed(EVP_CIPHER *cipher, int encrypts)
{
    unsigned char key[KEY_BYTES];
    for (int i = 0; i < KEY_BYTES; i++)
        key[i] = (unsigned char)(7 * i + 1);
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    if (context && EVP_CipherInit_ex(context, cipher, NULL, NULL, NULL, encrypts) == 1
        && EVP_CipherInit_ex(context, NULL, NULL, key, NULL, encrypts) == 1)
        return context;
    EVP_CIPHER_CTX_free(context);
    return NULL;
}

static int failed(const char *what)
{
    fprintf(stderr, "evp: %s\n", what);
    return 1;
}

int main(int n_arguments, char **arguments)
{
    if (n_arguments == 2 && strcmp(arguments[1], "version") == 0) {
        puts(OpenSSL_version(OPENSSL_VERSION_STRING));
        return 0;
    }
    if (n_arguments != 6)
        return failed("PROVIDER CIPHER encrypt|decrypt BYTES MESSAGES");
    const char *folder = arguments[1], *name = arguments[2];
    const int encrypts = strcmp(arguments[3], "encrypt") == 0, n_bytes = atoi(arguments[4]);
    const long messages = atol(arguments[5]);
    OSSL_LIB_CTX *library = OSSL_LIB_CTX_new();
    const char *which = "provider=default";
    if (folder[0] != 0) {
        which = "provider=headrace";
        if (OSSL_PROVIDER_set_default_search_path(library, folder) != 1 || !OSSL_PROVIDER_load(library, "headrace"))
            return failed("the provider cannot be loaded");
    }
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(library, name, which);
    if (!cipher)
        return failed("the provider does not have the cipher");
    unsigned char *plain = calloc(1, (size_t)n_bytes + 1), *text = calloc(1, (size_t)n_bytes + 1);
    EVP_CIPHER_CTX *sealer = keyed(cipher, 1), *opener = keyed(cipher, 0);
    if (!plain || !text || !sealer || !opener || n_bytes <= 0 || messages <= 0)
        return failed("nothing to do");
    for (int i = 0; i < n_bytes; i++)
        plain[i] = (unsigned char)(i ^ i >> 8);
    struct message sealed = {.in = plain, .out = text, .n_bytes = n_bytes};
    memset(sealed.ad, 0x17, sizeof sealed.ad);
    if (!run(sealer, 1, &sealed))
        return failed("a message cannot be encrypted");
    struct message opened = sealed;
    opened.in = text;
    opened.out = plain;
    EVP_CIPHER_CTX *context = encrypts ? sealer : opener;
    struct message *m = encrypts ? &sealed : &opened;
    struct timespec begin, end;
    /* The first ones load code and data. */
    for (long i = -messages / 16; i < messages; i++) {
        if (i == 0)
            clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
        if (encrypts)
            memcpy(m->nonce, &i, sizeof i < NONCE_BYTES ? sizeof i : NONCE_BYTES);
        if (!run(context, encrypts, m))
            return failed("a message fails");
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    const double seconds = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
    printf("%.12f ", seconds / (double)messages);
    for (int i = 0; i < n_bytes; i++)
        printf("%02x", m->out[i]);
    for (int i = 0; i < TAG_BYTES; i++)
        printf("%02x", m->tag[i]);
    puts("");
    return 0;
}
