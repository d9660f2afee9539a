/* Locks letters into boxes: an initial block, the letter under AES in counter mode, and an HMAC of both. A key is 16 bytes for
   the cipher and 32 for the HMAC. */
#include <aes128.h>
#include <hmac_sha256.h>
#include <sha256.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_BYTES = 16, MAC_KEY_BYTES = 32, IV_BYTES = 16, TAG_BYTES = 32, PIECE_BYTES = 1 << 16, REST_BYTES = 48 };

/* Large, and cleared before the program ends. */
static struct {
    struct aes128_ctr_context cipher;
    struct hmac_sha256_mac_context mac;
    struct hmac_sha256_verify_context verifier;
    struct sha256_hash_context hash;
    uint8_t key[KEY_BYTES + MAC_KEY_BYTES];
    uint8_t in[PIECE_BYTES], out[PIECE_BYTES + REST_BYTES];
} box;

/* What is being written, which a failure removes. */
static const char *unfinished;

static void clear(void) {
    volatile uint8_t *const bytes = (volatile uint8_t *)&box;
    aes128_ctr_clear(&box.cipher);
    hmac_sha256_mac_clear(&box.mac);
    hmac_sha256_verify_clear(&box.verifier);
    for (size_t i = 0; i < sizeof box; i++) {
        bytes[i] = 0;
    }
}

_Noreturn static void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    if (unfinished != NULL) {
        remove(unfinished);
    }
    clear();
    exit(1);
}

static void sure(uint32_t result, const char *what) {
    if (result != HEADRACE_OK) {
        fail("%s: result %u", what, (unsigned)result);
    }
}

static FILE *opened(const char *path, const char *mode) {
    FILE *const file = fopen(path, mode);
    if (file == NULL) {
        fail("%s cannot be opened", path);
    }
    return file;
}

/* Up to so many bytes; fewer at the end of the file only. */
static size_t read_some(FILE *file, const char *path, uint8_t *bytes, size_t count) {
    const size_t n = fread(bytes, 1, count, file);
    if (ferror(file)) {
        fail("%s cannot be read", path);
    }
    return n;
}

static void write_all(FILE *file, const char *path, const uint8_t *bytes, size_t count) {
    if (fwrite(bytes, 1, count, file) != count) {
        fail("%s cannot be written", path);
    }
}

static void finish(FILE *file, const char *path) {
    if (fclose(file) != 0) {
        fail("%s cannot be written", path);
    }
    unfinished = NULL;
}

static void read_key(const char *path) {
    FILE *const file = opened(path, "rb");
    const size_t bytes = read_some(file, path, box.key, sizeof box.key);
    if (bytes != sizeof box.key || getc(file) != EOF) {
        fail("%s does not have the %zu bytes of a key", path, sizeof box.key);
    }
    fclose(file);
    sure(aes128_ctr_key(&box.cipher, box.key, KEY_BYTES), "key");
}

static void fingerprint(const char *path) {
    FILE *const file = opened(path, "rb");
    uint8_t digest[32];
    size_t n, digest_bytes;
    sure(sha256_hash_init(&box.hash), "hash");
    while ((n = read_some(file, path, box.in, PIECE_BYTES)) != 0) {
        sure(sha256_hash_update(&box.hash, box.in, n), "hash");
    }
    fclose(file);
    sure(sha256_hash_final(&box.hash, digest, sizeof digest, &digest_bytes), "hash");
    for (size_t i = 0; i < digest_bytes; i++) {
        printf("%02x", digest[i]);
    }
    printf("  %s\n", path);
}

static void lock(const char *letter, const char *path) {
    FILE *const random = opened("/dev/urandom", "rb"), *const in = opened(letter, "rb"), *const out = opened(path, "wb");
    uint8_t iv[IV_BYTES], tag[TAG_BYTES];
    size_t n, bytes;
    unfinished = path;
    if (read_some(random, "/dev/urandom", iv, IV_BYTES) != IV_BYTES) {
        fail("the system has no random numbers");
    }
    fclose(random);
    sure(hmac_sha256_mac_key(&box.mac, box.key + KEY_BYTES, MAC_KEY_BYTES), "key");
    sure(hmac_sha256_mac_init(&box.mac), "mac");
    sure(aes128_ctr_init(&box.cipher, iv, IV_BYTES), "cipher");
    sure(hmac_sha256_mac_update(&box.mac, iv, IV_BYTES), "mac");
    write_all(out, path, iv, IV_BYTES);
    do {
        n = read_some(in, letter, box.in, PIECE_BYTES);
        sure(n != 0 ? aes128_ctr_update(&box.cipher, box.in, n, box.out, sizeof box.out, &bytes)
                    : aes128_ctr_final(&box.cipher, box.out, sizeof box.out, &bytes),
             "cipher");
        sure(hmac_sha256_mac_update(&box.mac, box.out, bytes), "mac");
        write_all(out, path, box.out, bytes);
    } while (n != 0);
    fclose(in);
    sure(hmac_sha256_mac_final(&box.mac, tag, sizeof tag, &bytes), "mac");
    write_all(out, path, tag, bytes);
    finish(out, path);
}

/* Reads a box twice, so that nothing of a letter is written of which the tag is wrong. */
static void open_box(const char *path, const char *letter) {
    FILE *const in = opened(path, "rb");
    uint8_t iv[IV_BYTES], tag[TAG_BYTES];
    size_t n, bytes;
    long left;
    if (fseek(in, 0, SEEK_END) != 0 || (left = ftell(in)) < IV_BYTES + TAG_BYTES) {
        fail("%s is too short for a box", path);
    }
    left -= TAG_BYTES;
    rewind(in);
    sure(hmac_sha256_verify_key(&box.verifier, box.key + KEY_BYTES, MAC_KEY_BYTES), "key");
    sure(hmac_sha256_verify_init(&box.verifier), "verifier");
    for (long to_do = left; to_do > 0; to_do -= (long)n) {
        n = read_some(in, path, box.in, to_do < PIECE_BYTES ? (size_t)to_do : PIECE_BYTES);
        sure(n != 0 ? hmac_sha256_verify_update(&box.verifier, box.in, n) : HEADRACE_INPUT_LENGTH, "verifier");
    }
    if (read_some(in, path, tag, TAG_BYTES) != TAG_BYTES ||
        hmac_sha256_verify_final(&box.verifier, tag, TAG_BYTES) != HEADRACE_OK) {
        fail("%s is not what was locked under this key", path);
    }
    rewind(in);
    FILE *const out = opened(letter, "wb");
    unfinished = letter;
    read_some(in, path, iv, IV_BYTES);
    sure(aes128_ctr_init(&box.cipher, iv, IV_BYTES), "cipher");
    left -= IV_BYTES;
    do {
        n = read_some(in, path, box.in, left < PIECE_BYTES ? (size_t)left : PIECE_BYTES);
        left -= (long)n;
        sure(n != 0 ? aes128_ctr_update(&box.cipher, box.in, n, box.out, sizeof box.out, &bytes)
                    : aes128_ctr_final(&box.cipher, box.out, sizeof box.out, &bytes),
             "cipher");
        write_all(out, letter, box.out, bytes);
    } while (n != 0);
    fclose(in);
    finish(out, letter);
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
    clear();
    return 0;
}
