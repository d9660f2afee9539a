/* Ciphers of the model-based test: what is called, and in which order it makes sense; see model.h. */
#include "ciphers.h"

#define CIPHERS_MOST 256

static EVP_CIPHER *list[2][CIPHERS_MOST];
static size_t n_listed;
static bool is_collected;

static void collect_one(EVP_CIPHER *cipher, void *none) {
    EVP_CIPHER *const other = EVP_CIPHER_fetch(theirs, EVP_CIPHER_get0_name(cipher), NULL);
    (void)none;
    if (other != NULL && n_listed < CIPHERS_MOST) {
        EVP_CIPHER_up_ref(cipher);
        list[OURS][n_listed] = cipher;
        list[THEIRS][n_listed++] = other;
    }
    ERR_clear_error();
}

static size_t collect(void) {
    if (!is_collected) {
        EVP_CIPHER_do_all_provided(ours, collect_one, NULL);
        is_collected = true;
    }
    return n_listed;
}

static const char *algorithm(size_t number) {
    return EVP_CIPHER_get0_name(list[OURS][number]);
}

static const char *const calls[] = {
    [INIT] = "init",         [UPDATE] = "update",   [AD] = "associated-data", [LENGTH] = "length",   [FINAL] = "final",
    [PADDING] = "padding",   [KEYLEN] = "keylen",   [IVLEN] = "ivlen",        [SET_TAG] = "set-tag", [GET_TAG] = "get-tag",
    [GET] = "get",           [COPY] = "copy",       [SWAP] = "swap",          [FIXED] = "iv-fixed",  [IV_GEN] = "iv-gen",
    [IV_INV] = "iv-inv",     [TLS_AD] = "tls-aad",  [RECORD] = "record",      [NUM] = "num",         [FORM] = "cts-mode",
    [TLS_SET] = "tls-params", [TLS_MAC] = "tls-mac", [DIRECT] = "direct",      [LISTS] = "lists",     [RESET] = "reset",
};

static void some_call(struct sequence *s, const EVP_CIPHER *cipher) {
    static const unsigned of_all[] = {INIT, INIT, INIT,    UPDATE, UPDATE, FINAL,  GET,   GET,
                                      COPY, SWAP, PADDING, KEYLEN, NUM,    DIRECT, LISTS, RESET};
    static const unsigned of_sealing[] = {AD, AD, SET_TAG, GET_TAG, IVLEN, LENGTH, FIXED, IV_GEN, IV_INV, TLS_AD, RECORD};
    const bool seals = does_seal(cipher);
    const unsigned all = sizeof of_all / sizeof of_all[0], sealing = sizeof of_sealing / sizeof of_sealing[0];
    const unsigned kind = seals && below(2) == 0 ? of_sealing[below(sealing)] : of_all[below(all)];
    static const unsigned lengths[] = {0, 1, 4, 5, 7, 8, 12, 13, 15, 16, 17, 24, 32};
    const unsigned length = lengths[below(sizeof lengths / sizeof lengths[0])];
    switch (kind) {
    case INIT:
        add_call(s, INIT, below(16) == 0 ? 1 + below(7) : 2 * below(4), below(3) == 0 ? 1 + below(2) : 0, below(6));
        break;
    case UPDATE:
    case DIRECT:
        add_call(s, kind, some_length(), below(4), 0);
        break;
    case AD:
        add_call(s, AD, below(60), below(2), 0);
        break;
    case LENGTH:
        add_call(s, LENGTH, below(3) == 0 ? below(50) : 0, 0, 0);
        break;
    case SET_TAG:
        add_call(s, SET_TAG, below(3) != 0 ? s->lengths[0] : length, below(3), 0);
        break;
    case GET_TAG:
        add_call(s, GET_TAG, below(3) != 0 ? s->lengths[0] : length, 0, 0);
        break;
    case TLS_AD:
        add_call(s, TLS_AD, below(60), below(4), 0);
        break;
    case RECORD:
        add_call(s, RECORD, below(80), below(2), 0);
        break;
    default:
        add_call(s, kind, length, below(4), 0);
        break;
    }
}

/* The message in pieces, or most of it. */
static void add_text(struct sequence *s, unsigned kind) {
    unsigned left = kind == AD ? s->lengths[3] : s->lengths[2];
    while (left != 0 || below(8) == 0) {
        const unsigned piece = below(2) == 0 ? left : below(left + 1);
        add_call(s, kind, piece, below(4) == 0 ? 2 : 0, 0);
        left -= piece;
        if (below(10) == 0) {
            break;
        }
    }
}

/* What a program would do with a cipher that authenticates. */
static void sealing(struct sequence *s, const EVP_CIPHER *cipher) {
    const unsigned mode = (unsigned)EVP_CIPHER_get_mode(cipher), decrypts = below(2);
    const bool is_ccm = mode == EVP_CIPH_CCM_MODE;
    add_call(s, INIT, 1, 1 + decrypts, 0);
    if (s->lengths[1] != 12 || is_ccm || below(4) == 0) {
        add_call(s, IVLEN, s->lengths[1], 0, 0);
    }
    if (is_ccm || mode == EVP_CIPH_OCB_MODE) {
        add_call(s, SET_TAG, s->lengths[0], 1, 0);
    }
    for (unsigned again = 0; again == 0 || below(3) == 0; again++) {
        add_call(s, INIT, again == 0 || below(3) == 0 ? 6 : 4, 0, again == 0 ? 0 : 2 * below(3));
        if (decrypts) {
            add_call(s, SET_TAG, s->lengths[0], 0, 0);
        }
        if (is_ccm && (s->lengths[3] != 0 || below(2) == 0)) {
            add_call(s, LENGTH, 0, 0, 0);
        }
        add_text(s, AD);
        if (below(8) == 0) {
            add_call(s, UPDATE, below(20), 0, 0);
            add_call(s, INIT, 0, 0, 0);
        }
        if (is_ccm) {
            add_call(s, UPDATE, s->lengths[2], below(4) == 0 ? 2 : 0, 0);
        } else {
            add_text(s, UPDATE);
        }
        add_call(s, FINAL, 0, 0, 0);
        if (!decrypts) {
            add_call(s, GET_TAG, s->lengths[0], 0, 0);
        }
    }
}

/* What libssl does for records of TLS 1.2. */
static void records(struct sequence *s, const EVP_CIPHER *cipher) {
    const unsigned mode = (unsigned)EVP_CIPHER_get_mode(cipher), decrypts = below(2);
    const bool is_ccm = mode == EVP_CIPH_CCM_MODE, is_gcm = mode == EVP_CIPH_GCM_MODE;
    s->lengths[0] = is_ccm && below(2) == 0 ? 8 : 16;
    s->lengths[1] = 12;
    if (is_gcm) {
        add_call(s, INIT, 3, 1 + decrypts, 0);
        add_call(s, FIXED, below(6) == 0 ? below(14) : 4, 1, 0);
    } else if (is_ccm) {
        add_call(s, INIT, 1, 1 + decrypts, 0);
        add_call(s, IVLEN, 12, 0, 0);
        add_call(s, SET_TAG, s->lengths[0], 1, 0);
        add_call(s, FIXED, 4, 1, 0);
        add_call(s, INIT, 2, 0, 0);
    } else {
        add_call(s, INIT, 7, 1 + decrypts, 0);
        if (below(3) == 0) {
            add_call(s, FIXED, 12, 1, 0);
        }
    }
    for (unsigned i = 1 + below(3); i-- > 0;) {
        add_call(s, TLS_AD, s->lengths[2], below(6) == 0 ? 1 + below(3) : 0, 0);
        add_call(s, RECORD, s->lengths[2], below(6) == 0, 0);
    }
}

/* Records of suites with CBC. */
static void padded_records(struct sequence *s) {
    const unsigned decrypts = below(2), mac = below(4) == 0 ? 0 : 20, version = below(4);
    add_call(s, INIT, 7, 1 + decrypts, 0);
    add_call(s, TLS_SET, version, mac, 0);
    s->lengths[0] = mac;
    s->lengths[3] = version;
    for (unsigned i = 1 + below(2); i-- > 0;) {
        add_call(s, RECORD, s->lengths[2], below(4) == 0, 0);
        if (decrypts) {
            add_call(s, TLS_MAC, mac, 0, 0);
        }
    }
}

static void plain(struct sequence *s, const EVP_CIPHER *cipher) {
    const unsigned decrypts = below(2);
    add_call(s, INIT, 1, 1 + decrypts, 0);
    if ((EVP_CIPHER_get_flags(cipher) & EVP_CIPH_FLAG_CTS) != 0) {
        add_call(s, FORM, below(4), 0, 0);
    }
    if (below(4) == 0) {
        add_call(s, PADDING, below(2), 0, 0);
    }
    for (unsigned again = 0; again == 0 || below(3) == 0; again++) {
        add_call(s, INIT, again == 0 ? 6 : 2 * below(4), again != 0 && below(4) == 0 ? 1 + below(2) : 0, again == 0 ? 0 : below(6));
        add_text(s, UPDATE);
        add_call(s, GET, below(8), 0, 0);
        if (below(6) != 0) {
            add_call(s, FINAL, 0, 0, 0);
        }
    }
}

static void make(struct sequence *s) {
    const EVP_CIPHER *const cipher = list[OURS][s->algorithm];
    const unsigned mode = (unsigned)EVP_CIPHER_get_mode(cipher);
    const bool seals = does_seal(cipher);
    static const unsigned of_ccm[] = {16, 16, 12, 8, 4, 6, 10, 14}, of_gcm[] = {16, 16, 16, 12, 13, 4, 8, 3};
    s->lengths[0] = mode == EVP_CIPH_CCM_MODE ? of_ccm[below(8)] : mode == EVP_CIPH_GCM_MODE ? of_gcm[below(8)] : 16;
    if (mode == EVP_CIPH_OCB_MODE && below(3) == 0) {
        s->lengths[0] = below(2) == 0 ? 8 + 4 * below(2) : below(17);
    }
    s->lengths[1] = mode == EVP_CIPH_CCM_MODE ? 7 + below(7)
                    : mode == EVP_CIPH_OCB_MODE && below(2) == 0 ? 1 + below(15)
                    : mode == EVP_CIPH_GCM_MODE && below(3) == 0 ? 1 + below(20)
                                                                  : 12;
    s->verifies_first = seals && below(6) == 0;
    s->lengths[2] = some_length();
    s->lengths[3] = below(3) == 0 ? 0 : below(40);
    if (seals && below(3) == 0) {
        records(s, cipher);
    } else if (seals) {
        sealing(s, cipher);
    } else if (mode == EVP_CIPH_CBC_MODE && (EVP_CIPHER_get_flags(cipher) & EVP_CIPH_FLAG_CTS) == 0 && below(3) == 0) {
        padded_records(s);
    } else {
        plain(s, cipher);
    }
    /* And what no program should do. */
    for (unsigned i = below(5); i-- > 0 && s->n < CALLS_MOST;) {
        struct call call;
        const size_t at = 1 + below((unsigned)s->n);
        some_call(s, cipher);
        call = s->calls[s->n - 1];
        memmove(&s->calls[at + 1], &s->calls[at], (s->n - 1 - at) * sizeof call);
        s->calls[at] = call;
    }
    if (below(6) == 0) {
        const size_t at = below((unsigned)s->n);
        memmove(&s->calls[at], &s->calls[at + 1], (s->n - at - 1) * sizeof s->calls[0]);
        s->n--;
    }
}

static void run(const struct sequence *s, struct difference *difference) {
    run_cipher(s, list[OURS][s->algorithm], list[THEIRS][s->algorithm], difference);
}

const struct family ciphers = {"ciphers", collect, algorithm, make, run, calls};
