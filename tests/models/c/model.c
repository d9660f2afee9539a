/*
 * Random sequences of calls of one operation in C, held to OpenSSL's EVP and to what the headers promise of each call.
 *
 * The operation comes from the flags of the compiler: OP and HEADER, KIND, and what OpenSSL calls it. The model knows a state
 * (no key, a key, a message under way, its end under way) and the whole message; what comes out must be a beginning of what
 * EVP makes of it, and all of that at the end. A sequence that fails is shown with its calls; `--seed` repeats it.
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include HEADER
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/core_names.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define HASH 1
#define MAC 2
#define CIPHER 3
#define SEAL 4
#define OPEN 5

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define CALL(name) JOIN(OP, JOIN(_, name))

#ifndef MOST_BYTES
#define MOST_BYTES 700 /* of a message */
#endif
enum { MOST = MOST_BYTES, CALLS = 40, LOG = 4096 };
#ifndef MULTIPLE
#define MULTIPLE 1 /* of the length of a message */
#endif
#ifndef KEY_BYTES
#define KEY_BYTES 0
#endif
#ifndef NONCE_BYTES
#define NONCE_BYTES 0
#endif
#ifndef PADDED
#define PADDED 0
#endif
#ifndef ENCRYPTS
#define ENCRYPTS (KIND != OPEN)
#endif
#define TAG_BYTES 16

static uint64_t seed;
static char calls[LOG];
static size_t n_calls;

static uint32_t any(uint32_t below) {
    seed += 0x9e3779b97f4a7c15u;
    uint64_t z = seed;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ (z >> 31)) >> 11) % below;
}

static void fill(uint8_t *bytes, size_t n) {
    for (size_t i = 0; i < n; i++) {
        bytes[i] = (uint8_t)any(256);
    }
}

static bool note(const char *what, uint32_t a, uint32_t b, uint32_t got, uint32_t wanted) {
    if (n_calls < LOG - 100) {
        n_calls += (size_t)snprintf(calls + n_calls, LOG - n_calls, "  %s %u %u -> %u", what, a, b, got);
        n_calls += (size_t)snprintf(calls + n_calls, LOG - n_calls, got == wanted ? "\n" : " and not %u\n", wanted);
    }
    return got == wanted;
}

/* What is known of a context. */
enum state { NO_KEY, KEYED, UNDER_WAY, ROOM_WANTED, ENDING };
struct known {
    enum state state;
    uint8_t key[64], nonce[16], ad[64];
    size_t ad_bytes;
    uint8_t in[MOST], out[2 * MOST];
    size_t n_in, n_out; /* given, and come out */
    size_t piece;       /* of the input, for which there was no room */
};

/* --- the peer --- */

static __attribute__((unused)) EVP_MD *md;
static __attribute__((unused)) EVP_MAC *mac;
static __attribute__((unused)) EVP_CIPHER *cipher;

static void sure(bool is) {
    if (!is) {
        fprintf(stderr, "OpenSSL has no %s\n", NAME);
        exit(4);
    }
}

static void open_peer(void) {
#if KIND == HASH
    sure((md = EVP_MD_fetch(NULL, NAME, NULL)) != NULL);
#elif KIND == MAC
    sure((mac = EVP_MAC_fetch(NULL, NAME, NULL)) != NULL);
#else
    sure((cipher = EVP_CIPHER_fetch(NULL, NAME, NULL)) != NULL);
#endif
}

/* What EVP makes of the whole message: how many bytes; or SIZE_MAX where it refuses it. */
static size_t peer(const struct known *known, const uint8_t *in, size_t n_in, uint8_t *out, uint8_t *tag) {
    size_t n_out = 0;
#if KIND == HASH
    unsigned n = 0;
    EVP_Digest(in, n_in, out, &n, md, NULL);
    n_out = n;
#elif KIND == MAC
    EVP_MAC_CTX *c = EVP_MAC_CTX_new(mac);
    OSSL_PARAM params[] = {
#ifdef DIGEST
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)DIGEST, 0),
#endif
#ifdef BELOW
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_CIPHER, (char *)BELOW, 0),
#endif
        OSSL_PARAM_construct_end()};
    EVP_MAC_init(c, known->key, KEY_BYTES, params);
    EVP_MAC_update(c, in, n_in);
    EVP_MAC_final(c, out, &n_out, 64);
    EVP_MAC_CTX_free(c);
#else
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    int n = 0, last = 0;
    bool good;
    EVP_CipherInit_ex2(c, cipher, NULL, NULL, ENCRYPTS, NULL);
#if KIND != CIPHER
    EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_IVLEN, NONCE_BYTES, NULL);
#endif
    EVP_CipherInit_ex2(c, NULL, known->key, known->nonce, ENCRYPTS, NULL);
    EVP_CIPHER_CTX_set_padding(c, PADDED);
#if KIND != CIPHER
    EVP_CipherUpdate(c, NULL, &n, known->ad, (int)known->ad_bytes);
#endif
#if KIND == OPEN
    EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, TAG_BYTES, tag);
#endif
    good = EVP_CipherUpdate(c, out, &n, in, (int)n_in) == 1 && EVP_CipherFinal_ex(c, out + n, &last) == 1;
#if KIND == SEAL
    EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, TAG_BYTES, tag);
#endif
    EVP_CIPHER_CTX_free(c);
    n_out = good ? (size_t)n + (size_t)last : SIZE_MAX;
#endif
    (void)known;
    (void)tag;
    return n_out;
}

/* --- the operation --- */

typedef struct CALL(context) context_t;

static context_t contexts[2];

#if KIND == CIPHER
#define STRINGS(k) , (k)->nonce, NONCE_BYTES
#define STREAMS 1
#elif KIND == SEAL || KIND == OPEN
#define STRINGS(k) , (k)->nonce, NONCE_BYTES, (k)->ad, (k)->ad_bytes
#define STREAMS 1
#else
#define STRINGS(k)
#define STREAMS 0
#endif
#define HAS_KEY (KIND != HASH)
#define IN_PIECES (KIND != OPEN)

static uint8_t buffer[4 * MOST], tag[64];
static size_t got, tag_got;

static uint32_t whole(context_t *c, const struct known *k, const uint8_t *in, size_t n, size_t room, size_t tag_room) {
    uint8_t *const out = in >= buffer && in < buffer + sizeof buffer ? buffer : buffer + 2 * MOST;
    (void)k;
    (void)tag_room;
    got = 7;
#if KIND == SEAL
    const uint32_t result = CALL(message)(c STRINGS(k), in, n, out, room, &got, tag, tag_room, &tag_got);
#elif KIND == OPEN
    const uint32_t result = CALL(message)(c STRINGS(k), in, n, tag, TAG_BYTES, out, room, &got);
#elif KIND == CIPHER
    const uint32_t result = CALL(message)(c STRINGS(k), in, n, out, room, &got);
#else
    const uint32_t result = CALL(message)(c, in, n, out, room, &got);
#endif
    if (out != buffer) {
        memmove(buffer, out, got < room ? got : room);
    }
    return result;
}

/* A whole message, in place or not, with enough room or not. */
static bool message(context_t *c, const struct known *known) {
    static struct known one;
    struct known *const k = &one;
    static uint8_t in[MOST], wanted[2 * MOST], wanted_tag[64];
    size_t n = any(3) == 0 ? any(40) : any(MOST);
    *k = *known;
    const bool wrong_length = MULTIPLE > 1 && any(8) == 0, in_place = STREAMS && any(3) == 0;
    n -= n % MULTIPLE;
    n += wrong_length ? 1 + any(MULTIPLE - 1) : 0;
    fill(in, n);
    fill(k->nonce, NONCE_BYTES);
    k->ad_bytes = any(3) == 0 ? 0 : any(sizeof k->ad);
    fill(k->ad, k->ad_bytes);
    size_t made;
#if KIND == OPEN
    /* A message that is authentic, most of the time. */
    {
        EVP_CIPHER_CTX *e = EVP_CIPHER_CTX_new();
        int a = 0, b = 0;
        EVP_EncryptInit_ex2(e, cipher, NULL, NULL, NULL);
        EVP_CIPHER_CTX_ctrl(e, EVP_CTRL_AEAD_SET_IVLEN, NONCE_BYTES, NULL);
        EVP_EncryptInit_ex2(e, NULL, k->key, k->nonce, NULL);
        EVP_EncryptUpdate(e, NULL, &a, k->ad, (int)k->ad_bytes);
        EVP_EncryptUpdate(e, wanted, &a, in, (int)n);
        EVP_EncryptFinal_ex(e, wanted + a, &b);
        EVP_CIPHER_CTX_ctrl(e, EVP_CTRL_AEAD_GET_TAG, TAG_BYTES, tag);
        EVP_CIPHER_CTX_free(e);
        memcpy(in, wanted, n);
        if (any(4) == 0) {
            tag[any(TAG_BYTES)] ^= (uint8_t)(1u << any(8));
        }
    }
    made = peer(k, in, n, wanted, tag);
#else
    made = wrong_length ? 0 : peer(k, in, n, wanted, wanted_tag);
#endif
    const bool refused = made == SIZE_MAX;
    size_t room = refused ? n : made;
    bool small = room > 0 && any(4) == 0, small_tag = KIND == SEAL && any(10) == 0;
    room = small ? any((uint32_t)room) : room + (any(2) ? 0 : any(50));
    uint32_t expected = wrong_length ? HEADRACE_INPUT_LENGTH
                        : small_tag || (small && !STREAMS) ? HEADRACE_ROOM
                        : HAS_KEY && k->state != KEYED ? HEADRACE_ORDER
                        : refused    ? HEADRACE_REFUSED
                        : small      ? HEADRACE_ROOM
                                     : HEADRACE_OK;
    if (in_place) {
        memcpy(buffer, in, n);
    }
    const uint32_t result = whole(c, k, in_place ? buffer : n == 0 && any(2) ? NULL : in, n, room, small_tag ? 15 : 16);
    bool good = note(in_place ? "message in place" : "message", (uint32_t)n, (uint32_t)room, result, expected);
    if (result == HEADRACE_OK) {
        good = good && got == made && memcmp(buffer, wanted, made) == 0;
        good = good && (KIND != SEAL || (tag_got == TAG_BYTES && memcmp(tag, wanted_tag, TAG_BYTES) == 0));
    } else if (result == HEADRACE_ROOM && STREAMS && !small_tag) {
        /* It says how much room is needed. */
        good = good && got == made;
    } else {
        good = good && got == 0;
    }
    return good;
}

static bool key(context_t *c, struct known *k) {
#if HAS_KEY
    uint8_t bytes[64];
    const bool wrong = any(6) == 0;
    fill(bytes, sizeof bytes);
#if KIND == MAC && defined DIGEST
    const size_t length = KEY_BYTES;
    (void)wrong;
    const uint32_t expected = HEADRACE_OK;
#else
    const size_t length = wrong ? KEY_BYTES + 1 : KEY_BYTES;
    const uint32_t expected = wrong ? HEADRACE_KEY_LENGTH : HEADRACE_OK;
#endif
    const uint32_t result = CALL(key)(c, bytes, length);
    if (result == HEADRACE_OK) {
        memcpy(k->key, bytes, KEY_BYTES);
        k->state = KEYED;
    }
    return note("key", (uint32_t)length, 0, result, expected);
#else
    (void)c;
    (void)k;
    return true;
#endif
}

static bool init(context_t *c, struct known *k) {
#if IN_PIECES
    struct known next = *k;
    fill(next.nonce, NONCE_BYTES);
    next.ad_bytes = any(3) == 0 ? 0 : any(sizeof next.ad);
    fill(next.ad, next.ad_bytes);
    next.n_in = next.n_out = 0;
    next.state = UNDER_WAY;
    const uint32_t result = CALL(init)(c STRINGS(&next));
    const uint32_t expected = HAS_KEY && k->state != KEYED ? HEADRACE_ORDER : HEADRACE_OK;
    if (result == HEADRACE_OK) {
        *k = next;
    }
    return note("init", 0, 0, result, expected);
#else
    (void)c;
    (void)k;
    return true;
#endif
}

/* What came out is a beginning of what must, as far as that is known. */
static bool update(context_t *c, struct known *k) {
#if IN_PIECES
    size_t n = any(3) == 0 ? any(4) : any(70);
    const bool again = k->state == ROOM_WANTED && any(4) != 0;
    if (k->n_in + n > MOST - 80) {
        return true;
    }
    if (again) {
        n = k->piece;
    }
    uint8_t *const in = k->in + k->n_in;
    if (!again) {
        fill(in, k->state == ROOM_WANTED ? 0 : n);
    }
#if STREAMS
    const size_t room = any(3) == 0 ? any((uint32_t)n + 40) : sizeof buffer;
    got = 7;
    const uint32_t result = CALL(update)(c, n == 0 && any(2) ? NULL : in, n, buffer, room, &got);
#else
    const size_t room = 0;
    const uint32_t result = CALL(update)(c, n == 0 && any(2) ? NULL : in, n);
    got = 0;
#endif
    uint32_t expected = k->state == UNDER_WAY || (k->state == ROOM_WANTED && n == k->piece) ? HEADRACE_OK : HEADRACE_ORDER;
    if (expected == HEADRACE_OK && STREAMS && result == HEADRACE_ROOM) {
        expected = got == room ? HEADRACE_ROOM : HEADRACE_OK;
    }
    if (result == HEADRACE_OK || result == HEADRACE_ROOM) {
        memcpy(k->out + k->n_out, buffer, got);
        k->n_out += got;
        k->piece = n;
        k->n_in += result == HEADRACE_OK ? n : 0;
        k->state = result == HEADRACE_OK ? UNDER_WAY : ROOM_WANTED;
    }
    return note("update", (uint32_t)n, (uint32_t)room, result, expected);
#else
    (void)c;
    (void)k;
    return true;
#endif
}

static bool final(context_t *c, struct known *k) {
#if IN_PIECES
    static uint8_t wanted[2 * MOST], wanted_tag[64];
    const bool is_long = k->n_in % MULTIPLE == 0, under_way = k->state == UNDER_WAY || k->state == ENDING;
    const size_t made = under_way && is_long ? peer(k, k->in, k->n_in, wanted, wanted_tag) : 0;
    const size_t left = made - (STREAMS ? k->n_out : 0);
    const bool small = under_way && is_long && left > 0 && any(3) == 0, small_tag = KIND == SEAL && any(6) == 0;
    const size_t room = small ? any((uint32_t)left) : left + any(20);
    got = 7;
#if KIND == SEAL
    const uint32_t result = CALL(final)(c, buffer, room, &got, tag, small_tag ? 3 : 16, &tag_got);
#else
    const uint32_t result = CALL(final)(c, buffer, room, &got);
#endif
    const uint32_t expected = !under_way           ? HEADRACE_ORDER
                              : !is_long           ? HEADRACE_INPUT_LENGTH
                              : small || small_tag ? HEADRACE_ROOM
                                                   : HEADRACE_OK;
    bool good = note("final", (uint32_t)room, small_tag, result, expected);
    if (result == HEADRACE_ROOM && STREAMS && !small_tag) {
        memcpy(k->out + k->n_out, buffer, got);
        k->n_out += got;
        k->state = ENDING;
        good = good && got == room;
    } else if (result == HEADRACE_OK) {
        memcpy(k->out + (STREAMS ? k->n_out : 0), buffer, got);
        const size_t all = (STREAMS ? k->n_out : 0) + got;
        good = good && all == made && memcmp(k->out, wanted, made) == 0;
        good = good && (KIND != SEAL || (tag_got == TAG_BYTES && memcmp(tag, wanted_tag, TAG_BYTES) == 0));
        k->state = HAS_KEY ? KEYED : NO_KEY;
    } else {
        good = good && got == 0;
    }
    return good;
#else
    (void)c;
    (void)k;
    return true;
#endif
}

/* The other context is made one like this and goes on from there. */
static bool copy(struct known *known, int *at) {
    CALL(copy)(&contexts[!*at], &contexts[*at]);
    known[!*at] = known[*at];
    if (any(2)) {
        CALL(clear)(&contexts[*at]);
        for (size_t i = 0; i < sizeof *contexts; i++) {
            if (((const uint8_t *)&contexts[*at])[i] != 0) {
                return note("clear", (uint32_t)i, 0, 1, 0);
            }
        }
        known[*at].state = NO_KEY;
    }
    *at = !*at;
    return note("copy", 0, 0, 0, 0);
}

static bool sequence(void) {
    static struct known known[2];
    int at = 0;
    n_calls = 0;
    memset(known, 0, sizeof known);
    for (int i = 0; i < 2; i++) {
        CALL(clear)(&contexts[i]);
    }
    for (uint32_t left = 1 + any(CALLS); left > 0; left--) {
        context_t *const c = &contexts[at];
        struct known *const k = &known[at];
        bool good = true;
        switch (any(10)) {
        case 0:
            good = k->state == NO_KEY || any(4) == 0 ? key(c, k) : true;
            break;
        case 1:
            good = copy(known, &at);
            break;
        case 2:
        case 3:
            /* One that begins a message of its own would end this one. */
            good = k->state <= KEYED || HAS_KEY ? message(c, k) : true;
            break;
        case 4:
        case 5:
            good = k->state <= KEYED || any(5) == 0 ? init(c, k) : final(c, k);
            break;
        case 6:
            good = k->state == NO_KEY ? key(c, k) : final(c, k);
            break;
        default:
            good = k->state <= KEYED && any(4) != 0 ? init(c, k) : update(c, k);
            break;
        }
        if (!good) {
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv) {
    uint64_t first = 1, most = 1000, n = 0, differences = 0;
    double seconds = 1e9;
    const clock_t began = clock();
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *const value = argv[i + 1];
        first = strcmp(argv[i], "--seed") == 0 ? strtoull(value, NULL, 10) : first;
        most = strcmp(argv[i], "--sequences") == 0 ? strtoull(value, NULL, 10) : most;
        seconds = strcmp(argv[i], "--seconds") == 0 ? strtod(value, NULL) : seconds;
    }
    open_peer();
    for (; n < most && (double)(clock() - began) / CLOCKS_PER_SEC < seconds; n++) {
        seed = first + n;
        if (!sequence()) {
            if (differences++ < 3) {
                printf("--seed %llu:\n%s", (unsigned long long)(first + n), calls);
            }
        }
    }
    printf("%s: %llu sequences, %llu differences\n", NAME, (unsigned long long)n, (unsigned long long)differences);
    return differences != 0;
}
