/* Which of the known differences a difference is: the names that the table has; see model.h. */
#include "ciphers.h"

/* Of ciphers that authenticate: ours refuses, and OpenSSL's does not. */
static const char *refused(const EVP_CIPHER *cipher, const struct call *call, const struct seen *before) {
    const bool is_ccm = EVP_CIPHER_get_mode(cipher) == EVP_CIPH_CCM_MODE;
    const bool goes_on = takes_text(call->kind) || call->kind == AD || call->kind == FINAL || call->kind == LENGTH;
    if (call->kind == SET_TAG) {
        return before->has_begun && is_ccm ? "ccm-order" : "tag-lengths";
    }
    if (call->kind == GET_TAG) {
        return !before->is_tag_made || before->was_tag_lost ? "tag-before-end" : is_ccm ? "tag-lengths" : NULL;
    }
    if (call->kind == RECORD && before->has_records) {
        return "records-whole";
    }
    if (!goes_on) {
        return NULL;
    }
    if (before->is_lost || before->is_over) {
        return "nonce-for-one-message";
    }
    if (before->is_forged) {
        return "after-a-forged-message";
    }
    if (is_ccm) {
        return "ccm-order";
    }
    if (!before->has_iv || !before->is_keyed) {
        return "no-nonce";
    }
    if (before->has_records && (call->kind == AD || before->is_head_spoilt)) {
        return "records-whole";
    }
    if (call->kind == AD && before->has_text) {
        return "associated-data-first";
    }
    if (call->kind == FINAL && !before->encrypts && !before->is_tag_set) {
        return "tag-is-needed";
    }
    return NULL;
}

const char *known_cipher(const struct sequence *sequence, const EVP_CIPHER *cipher, const struct call *call, const struct seen *before,
                         const struct outcome *mine, const struct outcome *other) {
    const bool seals = does_seal(cipher);
    const int mode = EVP_CIPHER_get_mode(cipher);
    const bool is_refused = !mine->good && other->good;
    if (call->kind == LISTS) {
        return strncmp(EVP_CIPHER_get0_name(cipher), "DES-", 4) == 0 ? "random-key" : NULL;
    }
    if (call->kind == GET && mode == EVP_CIPH_STREAM_CIPHER) {
        return "tells-more";
    }
    if (call->kind == GET && mode == EVP_CIPH_GCM_MODE && !before->has_iv && mine->good) {
        return "tells-more";
    }
    if (mode == EVP_CIPH_CCM_MODE && mine->good &&
        (call->kind == GET_TAG || call->kind == FINAL || call->kind == LENGTH || takes_text(call->kind))) {
        return "ccm-order";
    }
    if (mode == EVP_CIPH_OCB_MODE && before->has_turned) {
        return "turned-without-key";
    }
    if (mode == EVP_CIPH_OCB_MODE && before->is_continued) {
        return "ocb-goes-on";
    }
    if (seals && takes_text(call->kind) && mine->good && before->is_head_spoilt) {
        return "records-whole";
    }
    if (call->kind == GET_TAG && (before->has_records || before->was_tag_lost)) {
        return "tag-before-end";
    }
    if (mode == EVP_CIPH_OCB_MODE && before->is_forged) {
        return "after-a-forged-message";
    }
    if (seals) {
        const char *const name = is_refused ? refused(cipher, call, before) : NULL;
        const bool is_of_text = takes_text(call->kind) || call->kind == AD || call->kind == FINAL;
        return name == NULL && sequence->verifies_first && !before->encrypts && is_of_text ? "verified-first" : name;
    }
    if (before->has_turned && (mode == EVP_CIPH_ECB_MODE || mode == EVP_CIPH_CBC_MODE)) {
        return "turned-without-key";
    }
    if (mode == EVP_CIPH_STREAM_CIPHER && before->is_lost && is_refused && takes_text(call->kind)) {
        return "key-stream-once";
    }
    if (call->kind == NUM && is_refused) {
        return "num";
    }
    if (call->kind == KEYLEN && is_refused) {
        return "key-lengths";
    }
    if (call->kind == GET && !before->has_iv && before->has_records) {
        /* It went on with zeros. */
        return "no-nonce";
    }
    if (is_refused && !before->has_iv && (takes_text(call->kind) || call->kind == FINAL)) {
        return "no-nonce";
    }
    if (call->kind == DIRECT && is_refused && EVP_CIPHER_get_block_size(cipher) > 1) {
        return "direct";
    }
    return NULL;
}
