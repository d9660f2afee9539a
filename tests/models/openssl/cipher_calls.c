/* Sequences of calls on ciphers, run side by side; see ciphers.h. */
#include "ciphers.h"

struct slot {
    EVP_CIPHER_CTX *context[2];
    struct seen seen;
};

static const struct sequence *running;

/* Nonces that a context makes by itself are arbitrary: both go on with another one. */
static void settle_iv(const struct slot *slot) {
    uint8_t iv[IV_MOST];
    bytes_of(320, iv, sizeof iv);
    EVP_CIPHER_CTX_ctrl(slot->context[OURS], EVP_CTRL_GCM_SET_IV_FIXED, -1, iv);
    EVP_CIPHER_CTX_ctrl(slot->context[THEIRS], EVP_CTRL_GCM_SET_IV_FIXED, -1, iv);
    ERR_clear_error();
}

static bool init(EVP_CIPHER_CTX *context, const struct call *call, EVP_CIPHER *cipher, bool with_cipher) {
    uint8_t key[KEY_MOST], iv[IV_MOST];
    unsigned yes = 1;
    OSSL_PARAM params[] = {OSSL_PARAM_construct_uint("release-unverified", &yes), OSSL_PARAM_construct_end()};
    model_key(call->c % 2, key);
    model_iv(call->c / 2 % 3, iv);
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
    size_t n = n_of(call);
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
        put_list(o, own[i], wanted[i], true);
    }
    end_outcome(o, true);
}

static void record(const struct slot *slot, enum side side, const EVP_CIPHER *cipher, const struct call *call, struct outcome *o) {
    const size_t before = record_front(cipher), text = n_of(call);
    size_t n = before + text + (does_seal(cipher) ? record_tag(cipher) : running->lengths[0]);
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
        n = record_front(cipher) + call->a + (slot->seen.encrypts ? 0 : record_tag(cipher));
        record_ad(bytes, call->b, n);
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
        set_records(context, call->a, call->b, &good);
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

static void copy(struct slot *slots, size_t from, struct difference *difference) {
    struct slot *const to = &slots[1 - from];
    for (size_t side = 0; side < 2; side++) {
        struct outcome *const outcome = side == OURS ? &difference->mine : &difference->other;
        begin_outcome(outcome);
        end_outcome(outcome, EVP_CIPHER_CTX_copy(to->context[side], slots[from].context[side]) > 0);
    }
    to->seen = slots[from].seen;
}

/* Whether a program could mean a call, and OpenSSL's own neither crashes nor does what nobody can want. */
static bool is_meant(const struct slot *slot, const EVP_CIPHER *cipher, const struct call *call) {
    const struct seen *const seen = &slot->seen;
    const unsigned kind = call->kind;
    const int iv_bytes = seen->has_cipher ? EVP_CIPHER_CTX_get_iv_length(slot->context[THEIRS]) : 0;
    const bool is_ocb = is_mode(cipher, EVP_CIPH_OCB_MODE), steals = (EVP_CIPHER_get_flags(cipher) & EVP_CIPH_FLAG_CTS) != 0;
    const bool is_of_record = kind == TLS_AD || kind == IV_GEN || kind == IV_INV || kind == RECORD || (takes_text(kind) && seen->has_head);
    if (!seen->has_cipher) {
        return kind == INIT;
    }
    if (does_seal(cipher)) {
        return !(is_of_record && iv_bytes < 12 && !is_ocb) &&            /* no suite has such nonces */
               !(kind == FIXED && (int)(call->a % 13) > iv_bytes) &&     /* OpenSSL 3.0 writes beyond the nonce */
               !(kind == LENGTH && !is_mode(cipher, EVP_CIPH_CCM_MODE)) && /* another end */
               !(kind == DIRECT && call->a == 0) &&                      /* spoils associated data that goes on */
               !((kind == DIRECT || kind == RECORD) && is_ocb);          /* takes what is not set up, spoils what is in its own place */
    }
    return kind != LENGTH && !(kind == COPY && seen->has_records) && /* OpenSSL 3.0 frees the code of a record twice then */
           !(kind == RECORD && !seen->has_records) &&                /* none */
           !(steals && (kind == DIRECT || (kind == UPDATE && !seen->is_keyed))); /* CBC; crashes */
}

void run_cipher(const struct sequence *s, EVP_CIPHER *mine, EVP_CIPHER *other, struct difference *difference) {
    struct slot slots[N_SLOTS];
    size_t current = 0;
    memset(slots, 0, sizeof slots);
    running = s;
    difference->is_there = false;
    prepare(s, other);
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
        if (!is_meant(slot, other, call)) {
            continue;
        }
        if (call->kind == UPDATE || call->kind == DIRECT || call->kind == AD) {
            n = given(&slot->seen, call, in);
        }
        if (is_mode(other, EVP_CIPH_GCM_MODE) && slot->seen.encrypts && !slot->seen.has_iv && slot->seen.is_keyed &&
            !slot->seen.has_records && (takes_text(call->kind) || call->kind == AD || call->kind == FINAL)) {
            settle_iv(slot);
            slot->seen.has_iv = true;
        }
        if (call->kind == COPY) {
            copy(slots, current, difference);
        } else {
            act(slot, OURS, mine, call, &difference->mine);
            act(slot, THEIRS, other, call, &difference->other);
            learn_cipher(&slot->seen, call, other, difference->other.good, n);
        }
        if (call->kind == FIXED && is_mode(other, EVP_CIPH_GCM_MODE) && difference->other.good && slot->seen.encrypts) {
            settle_iv(slot);
        }
        compare(difference, i);
        if (difference->is_there) {
            difference->known = known_cipher(s, other, call, &before, &difference->mine, &difference->other);
        }
    }
    for (size_t i = 0; i < N_SLOTS; i++) {
        EVP_CIPHER_CTX_free(slots[i].context[OURS]);
        EVP_CIPHER_CTX_free(slots[i].context[THEIRS]);
    }
}
