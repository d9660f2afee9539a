/* Messages and records of TLS that are right, made by OpenSSL's own: what decryptions are given; see ciphers.h. */
#include "ciphers.h"

struct prepared prepared;
static const struct sequence *running;

void model_key(unsigned number, uint8_t *key) {
    bytes_of(100 + number, key, KEY_MOST);
}

void model_iv(unsigned number, uint8_t *iv) {
    bytes_of(200 + number, iv, IV_MOST);
    if (number == 2) {
        /* Counters that come to their end. */
        memset(iv + 1, 0xff, 15);
    }
}

void record_ad(uint8_t *ad, unsigned number, size_t bytes) {
    memset(ad, 0, 13);
    ad[7] = (uint8_t)number;
    ad[8] = 23;
    ad[9] = ad[10] = 3;
    ad[11] = (uint8_t)(bytes >> 8);
    ad[12] = (uint8_t)bytes;
}

/* Bytes that a record has beside its text. */
size_t record_front(const EVP_CIPHER *cipher) {
    return is_mode(cipher, EVP_CIPH_GCM_MODE) || is_mode(cipher, EVP_CIPH_CCM_MODE) ? EXPLICIT : 0;
}

size_t record_tag(const EVP_CIPHER *cipher) {
    return is_mode(cipher, EVP_CIPH_CCM_MODE) ? running->lengths[0] : 16;
}

void set_records(EVP_CIPHER_CTX *context, unsigned version, size_t mac, bool *good) {
    static const int versions[] = {0x0303, 0x0302, 0x0301, 0x0300};
    int number = versions[version % 4];
    OSSL_PARAM params[] = {OSSL_PARAM_construct_int(OSSL_CIPHER_PARAM_TLS_VERSION, &number),
                           OSSL_PARAM_construct_size_t(OSSL_CIPHER_PARAM_TLS_MAC_SIZE, &mac), OSSL_PARAM_construct_end()};
    *good = EVP_CIPHER_CTX_set_params(context, params) > 0;
}

/* The record of TLS that a decryption is given. */
static void prepare_record(const EVP_CIPHER *cipher, EVP_CIPHER_CTX *context) {
    const size_t before = record_front(cipher), text = running->lengths[2];
    uint8_t fixed[IV_MOST], ad[13];
    int n = 0;
    bool good = true;
    bytes_of(301, fixed, sizeof fixed);
    memcpy(prepared.record + before, prepared.text, text);
    EVP_CIPHER_CTX_reset(context);
    if (!does_seal(cipher)) {
        const size_t mac = running->lengths[0];
        good = EVP_CipherInit_ex2(context, cipher, prepared.key, prepared.iv, 1, NULL);
        set_records(context, running->lengths[3], mac, &good);
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
        record_ad(ad, 0, before + text);
        good = good && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_TLS1_AAD, 13, ad) > 0 &&
               EVP_CipherUpdate(context, prepared.record, &n, prepared.record, (int)(before + text + record_tag(cipher)));
    }
    prepared.n_record = good && n > 0 ? (size_t)n : 0;
}

void prepare(const struct sequence *sequence, const EVP_CIPHER *cipher) {
    EVP_CIPHER_CTX *const context = EVP_CIPHER_CTX_new();
    const unsigned *const lengths = sequence->lengths;
    const bool is_ccm = is_mode(cipher, EVP_CIPH_CCM_MODE);
    int n = 0, more = 0;
    bool good, has_records = false;
    running = sequence;
    memset(&prepared, 0, sizeof prepared);
    model_key(0, prepared.key);
    model_iv(0, prepared.iv);
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
    if (good && does_seal(cipher)) {
        EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, (int)lengths[0], prepared.tag);
    }
    for (size_t i = 0; i < running->n; i++) {
        has_records = has_records || running->calls[i].kind == RECORD;
    }
    if (has_records) {
        prepare_record(cipher, context);
    }
    EVP_CIPHER_CTX_free(context);
    ERR_clear_error();
}
