/* Locks letters into boxes: an initial block, the letter under AES in counter mode, and an HMAC of both. A key is 16 bytes for
   the cipher and 32 for the HMAC. Whose algorithms these are, the configuration of OpenSSL decides. */
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/provider.h>
#include <openssl/rand.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_BYTES = 16, MAC_KEY_BYTES = 32, IV_BYTES = 16, TAG_BYTES = 32, PIECE_BYTES = 1 << 16 };

static unsigned char key[KEY_BYTES + MAC_KEY_BYTES], in_piece[PIECE_BYTES], out_piece[PIECE_BYTES + EVP_MAX_BLOCK_LENGTH];

/* What is being written, which a failure removes. */
static const char *unfinished;

_Noreturn static void fail(const char *subject, const char *problem) {
    fprintf(stderr, "%s %s\n", subject, problem);
    ERR_print_errors_fp(stderr);
    if (unfinished != NULL) {
        remove(unfinished);
    }
    OPENSSL_cleanse(key, sizeof key);
    OPENSSL_cleanse(in_piece, sizeof in_piece);
    OPENSSL_cleanse(out_piece, sizeof out_piece);
    exit(1);
}

static void sure(int is_done, const char *subject) {
    if (is_done <= 0) {
        fail(subject, "does not work");
    }
}

static void served(const char *algorithm, const OSSL_PROVIDER *provider) {
    fprintf(stderr, "%s: %s\n", algorithm, OSSL_PROVIDER_get0_name(provider));
}

static FILE *opened(const char *path, const char *mode) {
    FILE *const file = fopen(path, mode);
    if (file == NULL) {
        fail(path, "cannot be opened");
    }
    return file;
}

/* Up to so many bytes; fewer at the end of the file only. */
static size_t read_some(FILE *file, const char *path, unsigned char *bytes, size_t count) {
    const size_t n = fread(bytes, 1, count, file);
    if (ferror(file)) {
        fail(path, "cannot be read");
    }
    return n;
}

static void write_all(FILE *file, const char *path, const unsigned char *bytes, size_t count) {
    if (fwrite(bytes, 1, count, file) != count) {
        fail(path, "cannot be written");
    }
}

static void finish(FILE *file, const char *path) {
    if (fclose(file) != 0) {
        fail(path, "cannot be written");
    }
    unfinished = NULL;
}

static void read_key(const char *path) {
    FILE *const file = opened(path, "rb");
    if (read_some(file, path, key, sizeof key) != sizeof key || getc(file) != EOF) {
        fail(path, "does not have the 48 bytes of a key");
    }
    fclose(file);
}

static EVP_CIPHER_CTX *cipher_of(const unsigned char *iv, int encrypts) {
    EVP_CIPHER *const cipher = EVP_CIPHER_fetch(NULL, "AES-128-CTR", NULL);
    EVP_CIPHER_CTX *const context = EVP_CIPHER_CTX_new();
    sure(cipher != NULL && context != NULL, "AES-128-CTR");
    sure(EVP_CipherInit_ex2(context, cipher, key, iv, encrypts, NULL), "AES-128-CTR");
    served("AES-128-CTR", EVP_CIPHER_get0_provider(cipher));
    EVP_CIPHER_free(cipher);
    return context;
}

static EVP_MAC_CTX *new_mac(void) {
    EVP_MAC *const mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    EVP_MAC_CTX *const context = mac == NULL ? NULL : EVP_MAC_CTX_new(mac);
    const OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)"SHA256", 0),
        OSSL_PARAM_construct_end(),
    };
    sure(context != NULL && EVP_MAC_init(context, key + KEY_BYTES, MAC_KEY_BYTES, parameters), "HMAC");
    served("HMAC", EVP_MAC_get0_provider(mac));
    EVP_MAC_free(mac);
    return context;
}

static void fingerprint(const char *path) {
    FILE *const file = opened(path, "rb");
    EVP_MD *const hash = EVP_MD_fetch(NULL, "SHA256", NULL);
    EVP_MD_CTX *const context = EVP_MD_CTX_new();
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned digest_bytes = 0;
    size_t n;
    sure(hash != NULL && context != NULL && EVP_DigestInit_ex2(context, hash, NULL), "SHA256");
    while ((n = read_some(file, path, in_piece, PIECE_BYTES)) != 0) {
        sure(EVP_DigestUpdate(context, in_piece, n), "SHA256");
    }
    fclose(file);
    sure(EVP_DigestFinal_ex(context, digest, &digest_bytes), "SHA256");
    for (unsigned i = 0; i < digest_bytes; i++) {
        printf("%02x", digest[i]);
    }
    printf("  %s\n", path);
    served("SHA256", EVP_MD_get0_provider(hash));
    EVP_MD_CTX_free(context);
    EVP_MD_free(hash);
}

static void lock(const char *letter, const char *path) {
    FILE *const in = opened(letter, "rb"), *const out = opened(path, "wb");
    unsigned char iv[IV_BYTES], tag[TAG_BYTES];
    size_t n, tag_bytes;
    int bytes;
    unfinished = path;
    sure(RAND_bytes(iv, IV_BYTES), "the random generator");
    EVP_CIPHER_CTX *const cipher = cipher_of(iv, 1);
    EVP_MAC_CTX *const mac = new_mac();
    sure(EVP_MAC_update(mac, iv, IV_BYTES), "HMAC");
    write_all(out, path, iv, IV_BYTES);
    do {
        n = read_some(in, letter, in_piece, PIECE_BYTES);
        sure(n != 0 ? EVP_CipherUpdate(cipher, out_piece, &bytes, in_piece, (int)n) : EVP_CipherFinal_ex(cipher, out_piece, &bytes),
             "AES-128-CTR");
        sure(EVP_MAC_update(mac, out_piece, (size_t)bytes), "HMAC");
        write_all(out, path, out_piece, (size_t)bytes);
    } while (n != 0);
    fclose(in);
    sure(EVP_MAC_final(mac, tag, &tag_bytes, sizeof tag), "HMAC");
    write_all(out, path, tag, tag_bytes);
    finish(out, path);
    EVP_CIPHER_CTX_free(cipher);
    EVP_MAC_CTX_free(mac);
}

/* Reads a box twice, so that nothing of a letter is written of which the tag is wrong. */
static void open_box(const char *path, const char *letter) {
    FILE *const in = opened(path, "rb");
    unsigned char iv[IV_BYTES], tag[TAG_BYTES], made[TAG_BYTES];
    size_t n, tag_bytes;
    int bytes;
    long left;
    if (fseek(in, 0, SEEK_END) != 0 || (left = ftell(in)) < IV_BYTES + TAG_BYTES) {
        fail(path, "is too short for a box");
    }
    left -= TAG_BYTES;
    rewind(in);
    EVP_MAC_CTX *const mac = new_mac();
    for (long to_do = left; to_do > 0; to_do -= (long)n) {
        n = read_some(in, path, in_piece, to_do < PIECE_BYTES ? (size_t)to_do : PIECE_BYTES);
        sure(n != 0 && EVP_MAC_update(mac, in_piece, n), "HMAC");
    }
    sure(EVP_MAC_final(mac, made, &tag_bytes, sizeof made), "HMAC");
    EVP_MAC_CTX_free(mac);
    if (read_some(in, path, tag, TAG_BYTES) != TAG_BYTES || CRYPTO_memcmp(tag, made, TAG_BYTES) != 0) {
        fail(path, "is not what was locked under this key");
    }
    rewind(in);
    FILE *const out = opened(letter, "wb");
    unfinished = letter;
    read_some(in, path, iv, IV_BYTES);
    EVP_CIPHER_CTX *const cipher = cipher_of(iv, 0);
    left -= IV_BYTES;
    do {
        n = read_some(in, path, in_piece, left < PIECE_BYTES ? (size_t)left : PIECE_BYTES);
        left -= (long)n;
        sure(n != 0 ? EVP_CipherUpdate(cipher, out_piece, &bytes, in_piece, (int)n) : EVP_CipherFinal_ex(cipher, out_piece, &bytes),
             "AES-128-CTR");
        write_all(out, letter, out_piece, (size_t)bytes);
    } while (n != 0);
    fclose(in);
    finish(out, letter);
    EVP_CIPHER_CTX_free(cipher);
}

int main(int count, char **arguments) {
    const char *const command = count > 1 ? arguments[1] : "";
    if (strcmp(command, "fingerprint") == 0 && count == 3) {
        fingerprint(arguments[2]);
    } else if (strcmp(command, "lock") == 0 && count == 5) {
        read_key(arguments[2]);
        lock(arguments[3], arguments[4]);
    } else if (strcmp(command, "open") == 0 && count == 5) {
        read_key(arguments[2]);
        open_box(arguments[3], arguments[4]);
    } else {
        fprintf(stderr, "usage: strongbox fingerprint FILE | lock KEY LETTER BOX | open KEY BOX LETTER\n");
        return 2;
    }
    OPENSSL_cleanse(key, sizeof key);
    OPENSSL_cleanse(in_piece, sizeof in_piece);
    OPENSSL_cleanse(out_piece, sizeof out_piece);
    return 0;
}
