/* Codes that authenticate, of the model-based test; see model.h. */
#include "model.h"

#define MACS_MOST 96
#define KEY_MOST 64

enum { INIT, UPDATE, FINAL, FINAL_XOF, SET, SIZE, COPY, SWAP, AT_ONCE, LISTS };
static const char *const calls[] = {"init", "update", "final", "final-xof", "set", "size", "copy", "swap", "at-once", "lists"};

/* A code, with the hash or cipher that it is made of. */
struct made_of {
    EVP_MAC *mac[2];
    const char *parameter, *of; /* null: it is made of nothing that programs choose */
    size_t key_bytes;           /* 0: any */
    char name[96];
};
static struct made_of list[MACS_MOST];
static size_t n_listed;
static bool is_collected;

static void construct(OSSL_PARAM *params, const struct made_of *m) {
    params[0] = m->of == NULL ? OSSL_PARAM_construct_end() : OSSL_PARAM_construct_utf8_string(m->parameter, (char *)m->of, 0);
    params[1] = OSSL_PARAM_construct_end();
}

static bool takes(EVP_MAC *mac, const struct made_of *m, size_t key_bytes) {
    EVP_MAC_CTX *const context = EVP_MAC_CTX_new(mac);
    uint8_t key[KEY_MOST] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25};
    OSSL_PARAM params[3];
    bool good;
    construct(params, m);
    if (m->of != NULL) {
        static const uint8_t iv[12] = {1};
        params[1] = OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_IV, (void *)iv, 12);
        params[2] = OSSL_PARAM_construct_end();
    }
    good = EVP_MAC_init(context, key, key_bytes, params) > 0;
    EVP_MAC_CTX_free(context);
    ERR_clear_error();
    return good;
}

static void try_one(const struct made_of *m) {
    static const size_t lengths[] = {32, 16, 24};
    for (size_t i = 0; i < 3 && n_listed < MACS_MOST; i++) {
        if (takes(m->mac[0], m, lengths[i]) && takes(m->mac[1], m, lengths[i])) {
            struct made_of *const entry = &list[n_listed++];
            *entry = *m;
            entry->key_bytes = takes(m->mac[0], m, lengths[i] + 1) ? 0 : lengths[i];
            EVP_MAC_up_ref(m->mac[0]);
            EVP_MAC_up_ref(m->mac[1]);
            snprintf(entry->name, sizeof entry->name, "%s%s%s", EVP_MAC_get0_name(m->mac[0]), m->of == NULL ? "" : "/",
                     m->of == NULL ? "" : m->of);
            return;
        }
    }
}

static void with_digest(EVP_MD *digest, void *made) {
    struct made_of m = *(struct made_of *)made;
    m.parameter = OSSL_MAC_PARAM_DIGEST;
    m.of = EVP_MD_get0_name(digest);
    try_one(&m);
}

static void with_cipher(EVP_CIPHER *cipher, void *made) {
    struct made_of m = *(struct made_of *)made;
    m.parameter = OSSL_MAC_PARAM_CIPHER;
    m.of = EVP_CIPHER_get0_name(cipher);
    try_one(&m);
}

static void collect_one(EVP_MAC *mac, void *none) {
    struct made_of m = {.mac = {mac, EVP_MAC_fetch(theirs, EVP_MAC_get0_name(mac), NULL)}};
    const size_t before = n_listed;
    (void)none;
    if (m.mac[1] != NULL) {
        try_one(&m);
        if (n_listed == before) {
            EVP_MD_do_all_provided(theirs, with_digest, &m);
            EVP_CIPHER_do_all_provided(theirs, with_cipher, &m);
        }
    }
    EVP_MAC_free(m.mac[1]);
    ERR_clear_error();
}

static size_t collect(void) {
    if (!is_collected) {
        EVP_MAC_do_all_provided(ours, collect_one, NULL);
        is_collected = true;
    }
    return n_listed;
}

static const char *algorithm(size_t number) {
    return list[number].name;
}

static void some_call(struct sequence *s) {
    static const unsigned kinds[] = {INIT,      INIT, UPDATE, UPDATE, UPDATE, FINAL, FINAL,   FINAL,
                                     FINAL_XOF, SET,  SET,    SIZE,   COPY,   SWAP,  AT_ONCE, LISTS};
    const unsigned kind = kinds[below(sizeof kinds / sizeof kinds[0])];
    const unsigned length = kind == UPDATE || kind == AT_ONCE           ? some_length()
                            : kind == FINAL_XOF || below(6) == 0 ? below(500)
                                                                 : below(70);
    add_call(s, kind, length, below(2) == 0 ? 0 : below(64), below(4));
}

static void make(struct sequence *s) {
    add_call(s, INIT, below(70), 32, 1);
    for (unsigned i = 2 + below(CALLS_MOST - 4); i-- > 0;) {
        some_call(s);
    }
}

/* Bits of `b`: size, XOF, customization, nonce, key as a parameter, what it is made of. */
static size_t choose(const struct made_of *m, const struct call *call, OSSL_PARAM *params) {
    static size_t size;
    static int extends;
    static uint8_t custom[KEY_MOST], iv[KEY_MOST], key[KEY_MOST];
    size_t n = 0;
    size = call->a;
    extends = (int)(call->c & 1);
    bytes_of(call->c, custom, sizeof custom);
    bytes_of(10 + call->c, iv, sizeof iv);
    bytes_of(20 + call->c, key, sizeof key);
    if ((call->b & 32) != 0 && m->of != NULL) {
        params[n++] = OSSL_PARAM_construct_utf8_string(m->parameter, (char *)m->of, 0);
    }
    if ((call->b & 1) != 0) {
        params[n++] = OSSL_PARAM_construct_size_t(OSSL_MAC_PARAM_SIZE, &size);
    }
    if ((call->b & 2) != 0) {
        params[n++] = OSSL_PARAM_construct_int(OSSL_MAC_PARAM_XOF, &extends);
    }
    if ((call->b & 4) != 0) {
        params[n++] = OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_CUSTOM, custom, call->a % KEY_MOST);
    }
    if ((call->b & 8) != 0) {
        params[n++] = OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_IV, iv, 12 + call->c % 3);
    }
    if ((call->b & 16) != 0) {
        params[n++] = OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, key, m->key_bytes != 0 ? m->key_bytes : call->a % KEY_MOST);
    }
    params[n] = OSSL_PARAM_construct_end();
    return n;
}

static void act(EVP_MAC_CTX *context, EVP_MAC_CTX *wanted, size_t side, const struct made_of *m, const struct call *call,
                struct outcome *o) {
    static uint8_t in[TEXT_MOST];
    const size_t n = n_of(call);
    OSSL_PARAM params[8];
    uint8_t key[KEY_MOST];
    size_t made = 0, n_params = choose(m, call, params);
    bool good;
    begin_outcome(o);
    bytes_of(call->a, in, sizeof in);
    bytes_of(50 + call->c / 2, key, sizeof key);
    switch (call->kind) {
    case INIT:
        end_outcome(o, EVP_MAC_init(context, (call->c & 1) != 0 ? key : NULL,
                                    (call->c & 1) == 0 ? 0 : m->key_bytes != 0 ? m->key_bytes : call->a % KEY_MOST,
                                    n_params == 0 ? NULL : params) > 0);
        break;
    case UPDATE:
        end_outcome(o, EVP_MAC_update(context, in, n) > 0);
        break;
    case FINAL:
        good = EVP_MAC_final(context, o->bytes, &made, call->b == 63 ? call->a % 20 : ROOM) > 0;
        o->n = made <= ROOM ? made : 0;
        end_outcome(o, good);
        break;
    case FINAL_XOF:
        memset(o->bytes, 0, ROOM);
        good = EVP_MAC_finalXOF(context, o->bytes, call->a) > 0;
        o->n = call->a;
        end_outcome(o, good);
        break;
    case SET:
        end_outcome(o, EVP_MAC_CTX_set_params(context, params) > 0);
        break;
    case SIZE:
        put_number(o, EVP_MAC_CTX_get_mac_size(context));
        put_number(o, EVP_MAC_CTX_get_block_size(context));
        end_outcome(o, true);
        break;
    case AT_ONCE: {
        const uint8_t *const tag = EVP_Q_mac(side == 0 ? ours : theirs, EVP_MAC_get0_name(m->mac[0]), NULL, m->of, NULL, key,
                                             m->key_bytes != 0 ? m->key_bytes : 32, in, n, o->bytes, ROOM, &made);
        o->n = made <= ROOM ? made : 0;
        end_outcome(o, tag != NULL);
        break;
    }
    case LISTS: {
        const OSSL_PARAM *const own[] = {EVP_MAC_CTX_gettable_params(context), EVP_MAC_CTX_settable_params(context)};
        const OSSL_PARAM *const other[] = {EVP_MAC_CTX_gettable_params(wanted), EVP_MAC_CTX_settable_params(wanted)};
        for (size_t i = 0; i < 2; i++) {
            put_list(o, own[i], other[i], false);
        }
        end_outcome(o, true);
        break;
    }
    default:
        end_outcome(o, true);
        break;
    }
}

static const char *known(const struct made_of *m, const struct call *call, const struct outcome *mine, const struct outcome *other) {
    const bool is_refused = !mine->good && other->good;
    if (mine->good && !other->good && strncmp(m->name, "KMAC", 4) == 0 && (call->kind == INIT || call->kind == SET)) {
        return "keys-of-kmac";
    }
    if (call->kind == LISTS && strncmp(m->name, "HMAC", 4) == 0) {
        return "flags-of-hmac";
    }
    if (is_refused && strncmp(m->name, "GMAC", 4) == 0 && call->kind != INIT && call->kind != SET) {
        return "no-nonce";
    }
    return NULL;
}

static void run(const struct sequence *s, struct difference *difference) {
    const struct made_of *const m = &list[s->algorithm];
    EVP_MAC_CTX *contexts[N_SLOTS][2] = {{NULL}};
    struct outcome *const outcomes[] = {&difference->mine, &difference->other};
    bool has_begun[N_SLOTS] = {false}, is_over[N_SLOTS] = {false}, is_keyed[N_SLOTS] = {false};
    bool ends_twice;
    size_t current = 0;
    difference->is_there = false;
    for (size_t i = 0; i < N_SLOTS; i++) {
        contexts[i][0] = EVP_MAC_CTX_new(m->mac[0]);
        contexts[i][1] = EVP_MAC_CTX_new(m->mac[1]);
    }
    for (size_t i = 0; i < s->n && !difference->is_there; i++) {
        const struct call *const call = &s->calls[i];
        if (call->kind == SWAP) {
            current = 1 - current;
            continue;
        }
        /* OpenSSL's own crashes without what it is made of, and without a key. */
        if (is_over[current] && ((call->kind == UPDATE && call->a == 0) || call->kind == FINAL_XOF)) {
            continue;
        }
        if ((!has_begun[current] && call->kind != INIT) ||
            (!is_keyed[current] && (call->kind == UPDATE || call->kind == FINAL || call->kind == FINAL_XOF))) {
            continue;
        }
        ends_twice = is_over[current] && ((call->kind == UPDATE && call->a != 0) || call->kind == FINAL);
        for (size_t side = 0; side < (ends_twice ? 1 : 2); side++) {
            struct call made = *call;
            made.b |= has_begun[current] ? 0 : 32;
            if (call->kind == COPY) {
                begin_outcome(outcomes[side]);
                EVP_MAC_CTX_free(contexts[1 - current][side]);
                contexts[1 - current][side] = EVP_MAC_CTX_dup(contexts[current][side]);
                end_outcome(outcomes[side], contexts[1 - current][side] != NULL);
            } else {
                act(contexts[current][side], contexts[current][1], side, m, &made, outcomes[side]);
            }
        }
        if (ends_twice) {
            refuse(&difference->other);
        }
        compare(difference, i);
        if (difference->is_there) {
            difference->known = known(m, call, &difference->mine, &difference->other);
        }
        is_over[current] = ((call->kind == FINAL || call->kind == FINAL_XOF) && difference->other.good) ||
                           (is_over[current] && !(call->kind == INIT && difference->other.good));
        if (call->kind == SET && (call->b & 8) != 0 && difference->other.good && strncmp(m->name, "GMAC", 4) == 0) {
            /* And so does a nonce. */
            is_over[current] = false;
        }
        if (call->kind == SET && (call->b & 16) != 0 && difference->other.good && strncmp(m->name, "GMAC", 4) != 0 &&
            strncmp(m->name, "KMAC", 4) != 0) {
            /* A key begins another message, but for KMAC's. */
            is_over[current] = false;
        }
        if (difference->other.good && ((call->kind == INIT && (call->c & 1) != 0) ||
                                       ((call->kind == INIT || call->kind == SET) && (call->b & 16) != 0))) {
            is_keyed[current] = true;
        }
        if (call->kind == COPY) {
            has_begun[1 - current] = has_begun[current];
            is_over[1 - current] = is_over[current];
            is_keyed[1 - current] = is_keyed[current];
        }
        has_begun[current] = has_begun[current] || (call->kind == INIT && difference->other.good);
    }
    for (size_t i = 0; i < N_SLOTS; i++) {
        EVP_MAC_CTX_free(contexts[i][0]);
        EVP_MAC_CTX_free(contexts[i][1]);
    }
}

const struct family macs = {"codes", collect, algorithm, make, run, calls};
