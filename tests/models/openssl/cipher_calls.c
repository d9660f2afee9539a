/* Sequences of calls on ciphers, run side by side; see ciphers.h. */
#include "ciphers.h"

#define KEY_MOST 64
#define IV_MOST 128
#define EXPLICIT 8

/* A message that is right: what a decryption is given, if not something arbitrary. */
struct prepared {
    bool is_good;
    uint8_t key[KEY_MOST], iv[IV_MOST];
    uint8_t text[TEXT_MOST], sealed[ROOM], tag[16], ad[64];
    size_t n_sealed;
    uint8_t record[ROOM]; /* of TLS */
    size_t n_record;
};

struct slot {
    EVP_CIPHER_CTX *context[2];
    struct seen seen;
};

static const struct sequence *running;
static struct prepared prepared;

static bool is_mode(const EVP_CIPHER *cipher, int mode) {
    return EVP_CIPHER_get_mode(cipher) == mode;
}

static bool does_seal(const EVP_CIPHER *cipher) {
    return (EVP_CIPHER_get_flags(cipher) & EVP_CIPH_FLAG_AEAD_CIPHER) != 0;
}

static void key_of(unsigned number, uint8_t *key) {
    bytes_of(100 + number, key, KEY_MOST);
}

static void iv_of(unsigned number, uint8_t *iv) {
    bytes_of(200 + number, iv, IV_MOST);
    if (number == 2) {
        /* Counters that come to their end. */
        memset(iv + 1, 0xff, 15);
    }
}

static void ad_of_record(uint8_t *ad, unsigned number, size_t bytes) {
    memset(ad, 0, 13);
    ad[7] = (uint8_t)number;
    ad[8] = 23;
    ad[9] = ad[10] = 3;
    ad[11] = (uint8_t)(bytes >> 8);
    ad[12] = (uint8_t)bytes;
}

/* Bytes that a record has beside its text. */
static size_t explicit_bytes(const EVP_CIPHER *cipher) {
    return is_mode(cipher, EVP_CIPH_GCM_MODE) || is_mode(cipher, EVP_CIPH_CCM_MODE) ? EXPLICIT : 0;
}

static size_t tag_of_record(const EVP_CIPHER *cipher) {
    return is_mode(cipher, EVP_CIPH_CCM_MODE) ? running->lengths[0] : 16;
}

static void set_tls(EVP_CIPHER_CTX *context, unsigned version, size_t mac, bool *good) {
    static const int versions[] = {0x0303, 0x0302, 0x0301, 0x0300};
    int number = versions[version % 4];
    OSSL_PARAM params[] = {OSSL_PARAM_construct_int(OSSL_CIPHER_PARAM_TLS_VERSION, &number),
                           OSSL_PARAM_construct_size_t(OSSL_CIPHER_PARAM_TLS_MAC_SIZE, &mac), OSSL_PARAM_construct_end()};
    *good = EVP_CIPHER_CTX_set_params(context, params) > 0;
}

/* The record of TLS that a decryption is given. */
static void prepare_record(const EVP_CIPHER *cipher, EVP_CIPHER_CTX *context) {
    const size_t before = explicit_bytes(cipher), text = running->lengths[2];
    uint8_t fixed[IV_MOST], ad[13];
    int n = 0;
    bool good = true;
    bytes_of(301, fixed, sizeof fixed);
    memcpy(prepared.record + before, prepared.text, text);
    EVP_CIPHER_CTX_reset(context);
    if (!does_seal(cipher)) {
        const size_t mac = running->lengths[0];
        good = EVP_CipherInit_ex2(context, cipher, prepared.key, prepared.iv, 1, NULL);
        set_tls(context, running->lengths[3], mac, &good);
        bytes_of(302, prepared.record + text, mac);
        good = good && EVP_CipherUpdate(context, prepared.record, &n, prepared.record, (int)(text + mac));
    } else {
        if (is_mode(cipher, EVP_CIPH_CCM_MODE)) {
            good = EVP_CipherInit_ex2(context, cipher, NULL, NULL, 1, NULL) &&
                   EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_IVLEN, 12, NULL) > 0 &&
                   EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, (int)running->lengths[0], NULL) > 0 &&
                   EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_CCM_SET_IV_FIXED, 4, fixed) > 0 &&
                   EVP_CipherInit_ex2(context, NULL, prepared.key, NULL, -1, NULL);
        } else if (is_mode(cipher, EVP_CIPH_GCM_MODE)) {
            good = EVP_CipherInit_ex2(context, cipher, prepared.key, NULL, 1, NULL) &&
                   EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_SET_IV_FIXED, 4, fixed) > 0;
            bytes_of(303, fixed + 4, 8);
            good = good && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_SET_IV_FIXED, -1, fixed) > 0;
        } else {
            good = EVP_CipherInit_ex2(context, cipher, prepared.key, prepared.iv, 1, NULL);
        }
        ad_of_record(ad, 0, before + text);
        good = good && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_TLS1_AAD, 13, ad) > 0 &&
               EVP_CipherUpdate(context, prepared.record, &n, prepared.record, (int)(before + text + tag_of_record(cipher)));
    }
    prepared.n_record = good && n > 0 ? (size_t)n : 0;
}

static void prepare(const EVP_CIPHER *cipher) {
    EVP_CIPHER_CTX *const context = EVP_CIPHER_CTX_new();
    const unsigned *const lengths = running->lengths;
    const bool is_ccm = is_mode(cipher, EVP_CIPH_CCM_MODE);
    int n = 0, more = 0;
    bool good, has_records = false;
    memset(&prepared, 0, sizeof prepared);
    key_of(0, prepared.key);
    iv_of(0, prepared.iv);
    bytes_of(1, prepared.text, sizeof prepared.text);
    bytes_of(2, prepared.ad, sizeof prepared.ad);
    good = EVP_EncryptInit_ex2(context, cipher, NULL, NULL, NULL);
    if (does_seal(cipher)) {
        good = good && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_IVLEN, (int)lengths[1], NULL) > 0 &&
               (!(is_ccm || is_mode(cipher, EVP_CIPH_OCB_MODE)) ||
                EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, (int)lengths[0], NULL) > 0) &&
               EVP_EncryptInit_ex2(context, NULL, prepared.key, prepared.iv, NULL) &&
               (!is_ccm || EVP_EncryptUpdate(context, NULL, &n, NULL, (int)lengths[2])) &&
               (lengths[3] == 0 || EVP_EncryptUpdate(context, NULL, &n, prepared.ad, (int)lengths[3]));
    } else {
        good = good && EVP_EncryptInit_ex2(context, NULL, prepared.key, prepared.iv, NULL);
    }
    n = 0;
    good = good && EVP_EncryptUpdate(context, prepared.sealed, &n, prepared.text, (int)lengths[2]) &&
           EVP_EncryptFinal_ex(context, prepared.sealed + n, &more);
    prepared.n_sealed = good ? (size_t)(n + more) : 0;
    prepared.is_good = good && (!does_seal(cipher) || EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, (int)lengths[0], prepared.tag) > 0);
    for (size_t i = 0; i < running->n; i++) {
        has_records = has_records || running->calls[i].kind == RECORD;
    }
    if (has_records) {
        prepare_record(cipher, context);
    }
    EVP_CIPHER_CTX_free(context);
    ERR_clear_error();
}

/* Nonces that a context makes by itself are arbitrary: both go on with another one. */
static void settle_iv(const struct slot *slot) {
    uint8_t iv[IV_MOST];
    bytes_of(320, iv, sizeof iv);
    EVP_CIPHER_CTX_ctrl(slot->context[OURS], EVP_CTRL_GCM_SET_IV_FIXED, -1, iv);
    EVP_CIPHER_CTX_ctrl(slot->context[THEIRS], EVP_CTRL_GCM_SET_IV_FIXED, -1, iv);
    ERR_clear_error();
}

static bool takes(unsigned kind) {
    return kind == UPDATE || kind == DIRECT || kind == RECORD;
}

static bool init(EVP_CIPHER_CTX *context, const struct call *call, EVP_CIPHER *cipher, bool with_cipher) {
    uint8_t key[KEY_MOST], iv[IV_MOST];
    unsigned yes = 1;
    OSSL_PARAM params[] = {OSSL_PARAM_construct_uint("release-unverified", &yes), OSSL_PARAM_construct_end()};
    key_of(call->c % 2, key);
    iv_of(call->c / 2 % 3, iv);
    return EVP_CipherInit_ex2(context, with_cipher ? cipher : NULL, (call->a & 2) != 0 ? key : NULL,
                              (call->a & 4) != 0 ? iv : NULL, call->b % 3 == 0 ? -1 : call->b % 3 == 1,
                              with_cipher && does_seal(cipher) && !running->verifies_first ? params : NULL) > 0;
}

/* What a call is given: prepared bytes from where the last ones ended, or arbitrary ones. */
static size_t given(const struct seen *seen, const struct call *call, uint8_t *in) {
    const bool is_ad = call->kind == AD;
    const uint8_t *const from = is_ad ? prepared.ad : seen->encrypts ? prepared.text : prepared.sealed;
    const size_t all = is_ad ? running->lengths[3] : seen->encrypts ? running->lengths[2] : prepared.n_sealed;
    const size_t at = is_ad ? seen->ad_at : seen->text_at;
    size_t n = call->a < TEXT_MOST ? call->a : TEXT_MOST;
    bytes_of(400 + call->a, in, TEXT_MOST);
    if ((call->b & 1) == 0 && at < all) {
        /* To the end, where a decryption has more than the text of a message. */
        n = n > all - at || (!is_ad && at + n >= running->lengths[2]) ? all - at : n;
        memcpy(in, from + at, n);
    }
    return n;
}

static void read_parameter(EVP_CIPHER_CTX *context, unsigned which, struct outcome *o) {
    uint8_t bytes[IV_MOST] = {0};
    const int iv_bytes = EVP_CIPHER_CTX_get_iv_length(context);
    const size_t n = iv_bytes > 0 ? (size_t)iv_bytes : 0;
    bool good = true;
    switch (which % 8) {
    case 0:
    case 6:
        good = n != 0 && EVP_CIPHER_CTX_get_updated_iv(context, bytes, n) > 0;
        break;
    case 1:
        good = n != 0 && EVP_CIPHER_CTX_get_original_iv(context, bytes, n) > 0;
        break;
    case 2:
        put_number(o, (uint64_t)(int64_t)EVP_CIPHER_CTX_get_num(context));
        break;
    case 3:
        put_number(o, (uint64_t)(int64_t)iv_bytes);
        break;
    case 4:
        put_number(o, (uint64_t)(int64_t)EVP_CIPHER_CTX_get_key_length(context));
        break;
    case 5:
        put_number(o, (uint64_t)(int64_t)EVP_CIPHER_CTX_get_tag_length(context));
        break;
    default:
        /* Too little room for it. */
        good = n > 1 && EVP_CIPHER_CTX_get_updated_iv(context, bytes, n - 1) > 0;
        break;
    }
    if (which % 8 <= 1 || which % 8 >= 6) {
        memcpy(o->bytes, bytes, n);
        o->n = good ? n : 0;
    }
    end_outcome(o, good);
}

/* Whether the lists of parameters have what those of OpenSSL have. */
static void look_at_lists(EVP_CIPHER_CTX *context, EVP_CIPHER_CTX *other, struct outcome *o) {
    const OSSL_PARAM *const own[] = {EVP_CIPHER_CTX_gettable_params(context), EVP_CIPHER_CTX_settable_params(context)};
    const OSSL_PARAM *const wanted[] = {EVP_CIPHER_CTX_gettable_params(other), EVP_CIPHER_CTX_settable_params(other)};
    for (size_t i = 0; i < 2; i++) {
        for (const OSSL_PARAM *p = wanted[i]; p != NULL && p->key != NULL; p++) {
            const OSSL_PARAM *const same = OSSL_PARAM_locate_const(own[i], p->key);
            o->bytes[o->n++] = (uint8_t)(same == NULL ? 0 : same->data_type);
        }
    }
    end_outcome(o, true);
}

static void record(const struct slot *slot, enum side side, const EVP_CIPHER *cipher, const struct call *call, struct outcome *o) {
    const size_t before = explicit_bytes(cipher), text = call->a < TEXT_MOST ? call->a : TEXT_MOST;
    size_t n = before + text + (does_seal(cipher) ? tag_of_record(cipher) : running->lengths[0]);
    int made = 0;
    bool good;
    bytes_of(500, o->bytes, ROOM);
    if (slot->seen.encrypts) {
        memcpy(o->bytes + before, prepared.text, text);
    } else if (call->b == 0) {
        memcpy(o->bytes, prepared.record, prepared.n_record);
        n = prepared.n_record;
    } else if (!does_seal(cipher)) {
        n += 16 - n % 16;
    }
    good = EVP_CipherUpdate(slot->context[side], o->bytes, &made, o->bytes, (int)n) > 0;
    o->n = made > 0 ? (size_t)made : 0;
    if (good && !slot->seen.encrypts && before != 0) {
        /* The text stands behind the part of the nonce. */
        o->n += before;
    }
    end_outcome(o, good);
}

static void act(const struct slot *slot, enum side side, EVP_CIPHER *cipher, const struct call *call, struct outcome *o) {
    EVP_CIPHER_CTX *const context = slot->context[side];
    static const char *const forms[] = {"CS1", "CS2", "CS3", "CS4"};
    static uint8_t in[ROOM];
    uint8_t bytes[IV_MOST];
    const bool has_blocks = EVP_CIPHER_get_block_size(cipher) > 1 && (does_seal(cipher) || !slot->seen.has_records);
    unsigned number = call->a;
    size_t n;
    int made = 0;
    bool good = true;
    begin_outcome(o);
    switch (call->kind) {
    case INIT:
        end_outcome(o, init(context, call, cipher, (call->a & 1) != 0 || !slot->seen.has_cipher));
        break;
    case UPDATE:
    case DIRECT:
        n = given(&slot->seen, call, in);
        /* In its own place OpenSSL spoils what it has a part of a block before. */
        if ((call->b & 2) != 0 && !(has_blocks && side == THEIRS)) {
            memcpy(o->bytes, in, n);
        }
        {
            const uint8_t *const from = (call->b & 2) != 0 && !(has_blocks && side == THEIRS) ? o->bytes : in;
            if (call->kind == UPDATE) {
                good = EVP_CipherUpdate(context, o->bytes, &made, from, (int)n) > 0;
            } else {
                made = EVP_Cipher(context, o->bytes, from, (unsigned)n);
                good = made >= 0;
            }
        }
        o->n = made > 0 ? (size_t)made : 0;
        end_outcome(o, good);
        break;
    case AD:
        n = given(&slot->seen, call, in);
        end_outcome(o, EVP_CipherUpdate(context, NULL, &made, in, (int)(n < 64 ? n : 64)) > 0);
        break;
    case LENGTH:
        n = call->a == 0 ? running->lengths[2] : call->a;
        end_outcome(o, EVP_CipherUpdate(context, NULL, &made, NULL, (int)n) > 0);
        break;
    case FINAL:
        good = EVP_CipherFinal_ex(context, o->bytes, &made) > 0;
        o->n = made > 0 ? (size_t)made : 0;
        end_outcome(o, good);
        break;
    case PADDING:
        end_outcome(o, EVP_CIPHER_CTX_set_padding(context, (int)call->a % 2) > 0);
        break;
    case KEYLEN:
        end_outcome(o, EVP_CIPHER_CTX_set_key_length(context, (int)call->a) > 0);
        break;
    case IVLEN:
        end_outcome(o, EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_IVLEN, (int)call->a, NULL) > 0);
        break;
    case SET_TAG:
        memcpy(bytes, prepared.tag, 16);
        memset(bytes + 16, 7, 32);
        bytes[call->a / 2 % 16] ^= call->b % 3 == 2;
        end_outcome(o, EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, (int)call->a, call->b % 3 == 1 ? NULL : bytes) > 0);
        break;
    case GET_TAG:
        good = EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, (int)call->a, o->bytes) > 0;
        o->n = call->a;
        end_outcome(o, good);
        break;
    case GET:
        read_parameter(context, call->a, o);
        break;
    case FIXED:
        bytes_of(300 + call->b, bytes, sizeof bytes);
        end_outcome(o, EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_SET_IV_FIXED, call->a == 0 ? -1 : (int)(call->a % 13), bytes) > 0);
        break;
    case IV_GEN:
        good = EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_IV_GEN, (int)call->a, o->bytes) > 0;
        o->n = call->a < 13 && is_mode(cipher, EVP_CIPH_GCM_MODE) ? call->a : 0;
        end_outcome(o, good);
        break;
    case IV_INV:
        bytes_of(310 + call->b, bytes, sizeof bytes);
        end_outcome(o, call->a <= 12 && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_SET_IV_INV, (int)call->a, bytes) > 0);
        break;
    case TLS_AD:
        n = explicit_bytes(cipher) + call->a + (slot->seen.encrypts ? 0 : tag_of_record(cipher));
        ad_of_record(bytes, call->b, n);
        made = EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_TLS1_AAD, 13, bytes);
        put_number(o, made > 0 ? (uint64_t)made : 0);
        end_outcome(o, made > 0);
        break;
    case RECORD:
        record(slot, side, cipher, call, o);
        break;
    case NUM:
        end_outcome(o, EVP_CIPHER_CTX_set_num(context, (int)number) > 0);
        break;
    case FORM: {
        OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_CIPHER_PARAM_CTS_MODE, (char *)forms[call->a % 4], 0),
                               OSSL_PARAM_construct_end()};
        end_outcome(o, EVP_CIPHER_CTX_set_params(context, params) > 0);
        break;
    }
    case TLS_SET:
        set_tls(context, call->a, call->b, &good);
        end_outcome(o, good);
        break;
    case TLS_MAC: {
        void *mac = NULL;
        OSSL_PARAM params[] = {OSSL_PARAM_construct_octet_ptr(OSSL_CIPHER_PARAM_TLS_MAC, &mac, call->a), OSSL_PARAM_construct_end()};
        good = EVP_CIPHER_CTX_get_params(context, params) > 0;
        /* Where padding is wrong it is an arbitrary one. */
        bytes_of(302, bytes, sizeof bytes);
        if (mac != NULL && call->a <= 64 && memcmp(mac, bytes, call->a) == 0) {
            o->n = call->a;
            memcpy(o->bytes, mac, o->n);
        }
        end_outcome(o, good);
        break;
    }
    case LISTS:
        look_at_lists(context, slot->context[THEIRS], o);
        break;
    default:
        end_outcome(o, true);
        break;
    }
}

/* What both have come to. */
static void learn(struct seen *seen, const struct call *call, const EVP_CIPHER *cipher, bool good, size_t given_bytes) {
    switch (call->kind) {
    case INIT:
        if ((call->a & 1) != 0 || !seen->has_cipher) {
            const bool before = seen->encrypts;
            *seen = (struct seen){.has_cipher = true, .encrypts = before};
            seen->tag_bytes = is_mode(cipher, EVP_CIPH_CCM_MODE) ? 12 : 16;
        }
        if (seen->has_begun && (call->a & 4) == 0 && ((call->a & 2) != 0 || (call->b % 3 != 0 && seen->encrypts != (call->b % 3 == 1)))) {
            seen->is_lost = true;
        }
        seen->is_head_spoilt = (seen->is_head_spoilt && (call->a & 4) == 0) || (seen->has_head && (call->a & 6) == 2);
        seen->is_continued = seen->is_continued || (seen->has_begun && (call->a & 6) == 0);
        if (call->b % 3 != 0) {
            seen->has_turned = seen->has_turned || (seen->is_keyed && seen->encrypts != (call->b % 3 == 1));
            seen->encrypts = call->b % 3 == 1;
        }
        if ((call->a & 2) != 0) {
            seen->is_keyed = true;
            seen->has_turned = false;
            seen->n_since = 0;
        }
        if ((call->a & 4) != 0) {
            seen->has_iv = true;
            seen->has_begun = seen->has_text = seen->is_over = seen->is_forged = seen->is_lost = seen->is_continued = seen->is_num_set = false;
            seen->n_since = 0;
        }
        seen->text_at = seen->ad_at = 0;
        break;
    case UPDATE:
    case DIRECT:
    case RECORD:
        seen->has_text = seen->has_text || given_bytes != 0 || call->kind == RECORD;
        seen->has_begun = seen->has_begun || seen->has_text || is_mode(cipher, EVP_CIPH_OCB_MODE);
        seen->is_over = seen->is_over || (call->kind == RECORD && seen->has_records && does_seal(cipher));
        seen->text_at += given_bytes;
        seen->n_since += given_bytes;
        seen->has_records = seen->has_records || call->kind == RECORD;
        break;
    case AD:
        seen->has_begun = true;
        seen->ad_at += given_bytes;
        break;
    case LENGTH:
        seen->has_begun = true;
        break;
    case FINAL:
        seen->is_over = seen->is_over || good;
        seen->is_forged = seen->is_forged || (!good && !seen->encrypts && does_seal(cipher));
        seen->is_tag_made = seen->is_tag_made || (good && seen->encrypts);
        seen->was_tag_lost = seen->was_tag_lost && !(good && seen->encrypts);
        break;
    case SET_TAG:
        seen->tag_bytes = good ? call->a : seen->tag_bytes;
        seen->is_tag_set = seen->is_tag_set || (good && call->b % 3 != 1);
        seen->is_head_spoilt = seen->is_head_spoilt || seen->has_head;
        seen->was_tag_lost = seen->was_tag_lost || seen->is_tag_made;
        break;
    case TLS_AD:
        seen->has_records = seen->has_head = true;
        seen->is_head_spoilt = false;
        break;
    case FIXED:
        seen->has_records = seen->has_records || good;
        seen->is_head_spoilt = seen->is_head_spoilt || seen->has_begun;
        break;
    case TLS_SET:
        seen->has_records = true;
        break;
    case NUM:
        seen->is_num_set = true;
        break;
    case FORM:
        seen->form = call->a % 4;
        break;
    default:
        break;
    }
}

static bool copy(struct slot *slots, size_t from, struct difference *difference) {
    struct slot *const to = &slots[1 - from];
    bool good[2];
    for (size_t side = 0; side < 2; side++) {
        begin_outcome(side == OURS ? &difference->mine : &difference->other);
        good[side] = EVP_CIPHER_CTX_copy(to->context[side], slots[from].context[side]) > 0;
        end_outcome(side == OURS ? &difference->mine : &difference->other, good[side]);
    }
    to->seen = slots[from].seen;
    return good[OURS] == good[THEIRS];
}

void run_cipher(const struct sequence *s, EVP_CIPHER *mine, EVP_CIPHER *other, struct difference *difference) {
    struct slot slots[N_SLOTS];
    size_t current = 0;
    memset(slots, 0, sizeof slots);
    running = s;
    difference->is_there = false;
    prepare(other);
    for (size_t i = 0; i < N_SLOTS; i++) {
        slots[i].context[OURS] = EVP_CIPHER_CTX_new();
        slots[i].context[THEIRS] = EVP_CIPHER_CTX_new();
    }
    for (size_t i = 0; i < s->n && !difference->is_there; i++) {
        struct slot *const slot = &slots[current];
        const struct call *const call = &s->calls[i];
        const struct seen before = slot->seen;
        static uint8_t in[ROOM];
        size_t n = 0;
        bool alike = true;
        if (call->kind == SWAP) {
            current = 1 - current;
            continue;
        }
        if (call->kind == RESET) {
            EVP_CIPHER_CTX_reset(slot->context[OURS]);
            EVP_CIPHER_CTX_reset(slot->context[THEIRS]);
            memset(&slot->seen, 0, sizeof slot->seen);
            continue;
        }
        if (call->kind != INIT && !slot->seen.has_cipher) {
            continue;
        }
        if (call->kind == COPY && slot->seen.has_records && !does_seal(other)) {
            /* OpenSSL 3.0 frees the code of a record twice then. */
            continue;
        }
        if (call->kind == FIXED && (int)(call->a % 13) > EVP_CIPHER_CTX_get_iv_length(slot->context[THEIRS])) {
            /* OpenSSL 3.0 writes beyond the nonce. */
            continue;
        }
        if ((call->kind == RECORD && !does_seal(other) && !slot->seen.has_records) ||
            (call->kind == DIRECT && (EVP_CIPHER_get_flags(other) & EVP_CIPH_FLAG_CTS) != 0)) {
            /* The one is no record, the other is CBC. */
            continue;
        }
        if ((call->kind == TLS_AD || call->kind == IV_GEN || call->kind == IV_INV || (takes(call->kind) && (call->kind == RECORD || slot->seen.has_head))) && EVP_CIPHER_CTX_get_iv_length(slot->context[THEIRS]) < 12 && does_seal(other) &&
            !is_mode(other, EVP_CIPH_OCB_MODE)) {
            /* No suite has such nonces. */
            continue;
        }
        if ((call->kind == LENGTH && !is_mode(other, EVP_CIPH_CCM_MODE)) || ((call->kind == DIRECT || call->kind == RECORD) && is_mode(other, EVP_CIPH_OCB_MODE)) ||
            (call->kind == UPDATE && (EVP_CIPHER_get_flags(other) & EVP_CIPH_FLAG_CTS) != 0 && !slot->seen.is_keyed)) {
            /* Nobody means these: without a length to tell it is another end, and OpenSSL's own takes what is not set up, spoils
               what is in its own place, or crashes. */
            continue;
        }
        if (call->kind == UPDATE || call->kind == DIRECT || call->kind == AD) {
            n = given(&slot->seen, call, in);
        }
        if (is_mode(other, EVP_CIPH_GCM_MODE) && slot->seen.encrypts && !slot->seen.has_iv && slot->seen.is_keyed && !slot->seen.has_records &&
            (takes(call->kind) || call->kind == AD || call->kind == FINAL)) {
            settle_iv(slot);
            slot->seen.has_iv = true;
        }
        if (call->kind == COPY) {
            alike = copy(slots, current, difference);
        } else {
            act(slot, OURS, mine, call, &difference->mine);
            act(slot, THEIRS, other, call, &difference->other);
            alike = are_alike(&difference->mine, &difference->other);
            learn(&slot->seen, call, other, difference->other.good, n);
        }
        if (call->kind == FIXED && is_mode(other, EVP_CIPH_GCM_MODE) && difference->other.good && slot->seen.encrypts) {
            settle_iv(slot);
        }
        if (!alike) {
            difference->is_there = true;
            difference->at = i;
            difference->known = known_cipher(s, other, call, &before, &difference->mine, &difference->other);
        }
    }
    for (size_t i = 0; i < N_SLOTS; i++) {
        EVP_CIPHER_CTX_free(slots[i].context[OURS]);
        EVP_CIPHER_CTX_free(slots[i].context[THEIRS]);
    }
}
