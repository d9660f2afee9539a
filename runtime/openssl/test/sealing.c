/* Ciphers that authenticate beside those of others: nonces and tags of many lengths, associated data in pieces, forgeries. */
#include "test.h"

#include <openssl/core_names.h>

#define AD_MOST 1000

/* A message and how it is given. */
struct message {
    const EVP_CIPHER *cipher;
    uint8_t key[64];
    uint8_t nonce[16];
    size_t nonce_bytes;
    size_t tag_bytes;
    uint8_t ad[AD_MOST];
    size_t ad_bytes;
    size_t text_bytes;
    bool in_pieces;
    bool releases; /* pieces come out before the tag was verified */
    bool copies;
};

static bool is_ccm(const struct message *m) {
    return EVP_CIPHER_get_mode(m->cipher) == EVP_CIPH_CCM_MODE;
}

/* All that comes before the text. */
static EVP_CIPHER_CTX *begun(const struct message *m, bool encrypts, const uint8_t *tag) {
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int n, release = 1;
    OSSL_PARAM params[] = {OSSL_PARAM_construct_int("release-unverified", &release), OSSL_PARAM_construct_end()};
    bool good = EVP_CipherInit_ex2(context, m->cipher, NULL, NULL, encrypts, NULL) &&
                EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_IVLEN, (int)m->nonce_bytes, NULL) > 0;
    if (EVP_CIPHER_get_mode(m->cipher) == EVP_CIPH_OCB_MODE) {
        /* How long it is comes first. */
        good = good && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, (int)m->tag_bytes, NULL) > 0;
    }
    if (EVP_CIPHER_get_mode(m->cipher) != EVP_CIPH_GCM_MODE || (!encrypts && !m->releases)) {
        good = good && (!encrypts && (m->releases || tag == NULL)
                            ? EVP_CIPHER_get_mode(m->cipher) != EVP_CIPH_OCB_MODE || EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, (int)m->tag_bytes, NULL) > 0
                            : EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, (int)m->tag_bytes, encrypts ? NULL : (void *)tag) > 0);
    }
    good = good && (!m->releases || encrypts || EVP_CIPHER_CTX_set_params(context, params) > 0) &&
           EVP_CipherInit_ex2(context, NULL, m->key, m->nonce, -1, NULL);
    if (is_ccm(m)) {
        good = good && EVP_CipherUpdate(context, NULL, &n, NULL, (int)m->text_bytes);
    }
    for (size_t at = 0, piece; at < m->ad_bytes && good; at += piece) {
        piece = m->in_pieces && !is_ccm(m) ? some_piece(m->ad_bytes - at) : m->ad_bytes;
        good = EVP_CipherUpdate(context, NULL, &n, m->ad + at, (int)piece);
    }
    if (!good) {
        EVP_CIPHER_CTX_free(context);
        return NULL;
    }
    return context;
}

static bool sealed(const struct message *m, const uint8_t *text, uint8_t *out, uint8_t *tag) {
    EVP_CIPHER_CTX *context = begun(m, true, NULL);
    bool good = context != NULL;
    size_t made = 0;
    int n = 0;
    for (size_t at = 0, piece = 0; (at < m->text_bytes || (at == 0 && is_ccm(m))) && good; at += piece) {
        piece = m->in_pieces && !is_ccm(m) ? some_piece(m->text_bytes - at) : m->text_bytes;
        good = EVP_CipherUpdate(context, out + made, &n, text + at, (int)piece);
        made += (size_t)n;
        if (good && m->copies && below(3) == 0) {
            EVP_CIPHER_CTX *const copy = EVP_CIPHER_CTX_new();
            good = EVP_CIPHER_CTX_copy(copy, context);
            EVP_CIPHER_CTX_free(context);
            context = copy;
        }
        if (m->text_bytes == 0) {
            break;
        }
    }
    good = good && EVP_CipherFinal_ex(context, out + made, &n) && made + (size_t)n == m->text_bytes &&
           EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, (int)m->tag_bytes, tag) > 0;
    EVP_CIPHER_CTX_free(context);
    return good;
}

static bool opened(const struct message *m, const uint8_t *text, const uint8_t *tag, uint8_t *out) {
    EVP_CIPHER_CTX *const context = begun(m, false, tag);
    bool good = context != NULL;
    size_t made = 0;
    int n = 0;
    for (size_t at = 0, piece = 0; (at < m->text_bytes || (at == 0 && is_ccm(m))) && good; at += piece) {
        piece = m->in_pieces && m->releases ? some_piece(m->text_bytes - at) : m->text_bytes;
        good = EVP_CipherUpdate(context, out + made, &n, text + at, (int)piece);
        made += good ? (size_t)n : 0;
        if (m->text_bytes == 0) {
            break;
        }
    }
    if (good && m->releases) {
        good = EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, (int)m->tag_bytes, (void *)tag) > 0;
    }
    good = good && EVP_CipherFinal_ex(context, out + made, &n) && made + (size_t)n == m->text_bytes;
    EVP_CIPHER_CTX_free(context);
    return good;
}

static void refuses(const struct message *m, const uint8_t *text, const uint8_t *tag, const char *what) {
    static uint8_t out[ROOM], nothing[ROOM];
    memset(out, 0, sizeof out);
    expect(!opened(m, text, tag, out), EVP_CIPHER_get0_name(m->cipher), what);
    if (!m->releases) {
        expect(memcmp(out, nothing, sizeof out) == 0, EVP_CIPHER_get0_name(m->cipher), "releases nothing of a forged message");
    }
}

static void compare_message(struct message *m, const EVP_CIPHER *mine, const EVP_CIPHER *other) {
    static uint8_t text[ROOM], wanted[ROOM], got[ROOM], back[ROOM];
    const char *const name = EVP_CIPHER_get0_name(mine);
    uint8_t tag[16], own_tag[16];
    fill(text, m->text_bytes);
    m->cipher = other;
    m->in_pieces = m->releases = m->copies = false;
    expect(sealed(m, text, wanted, tag), name, "another one");
    m->cipher = mine;
    expect(sealed(m, text, got, own_tag) && memcmp(got, wanted, m->text_bytes) == 0 && memcmp(own_tag, tag, m->tag_bytes) == 0, name,
           "encrypts in one piece");
    expect(opened(m, wanted, tag, back) && memcmp(back, text, m->text_bytes) == 0, name, "decrypts in one piece");
    m->in_pieces = m->copies = true;
    expect(sealed(m, text, got, own_tag) && memcmp(got, wanted, m->text_bytes) == 0 && memcmp(own_tag, tag, m->tag_bytes) == 0, name,
           "encrypts in pieces, copied");
    expect(opened(m, wanted, tag, back) && memcmp(back, text, m->text_bytes) == 0, name, "decrypts with associated data in pieces");
    for (int i = 0; i < (is_ccm(m) ? 1 : 2); i++) {
        uint8_t *const somewhere = wanted + (m->text_bytes == 0 ? 0 : below(m->text_bytes));
        const uint8_t bit = (uint8_t)(1u << below(8));
        m->releases = i == 1;
        if (m->releases) {
            expect(opened(m, wanted, tag, back) && memcmp(back, text, m->text_bytes) == 0, name, "decrypts in pieces");
        }
        tag[below(m->tag_bytes)] ^= bit;
        refuses(m, wanted, tag, "refuses another tag");
        memcpy(tag, own_tag, m->tag_bytes);
        if (m->text_bytes != 0) {
            *somewhere ^= bit;
            refuses(m, wanted, tag, "refuses another text");
            *somewhere ^= bit;
        }
        if (m->ad_bytes != 0) {
            m->ad[m->ad_bytes - 1] ^= bit;
            refuses(m, wanted, tag, "refuses other associated data");
            m->ad[m->ad_bytes - 1] ^= bit;
        }
    }
}

/* Whether a cipher works with these lengths. */
static bool takes(const EVP_CIPHER *cipher, struct message *m) {
    uint8_t text[16] = {0}, out[32], tag[16];
    const size_t text_bytes = m->text_bytes, ad_bytes = m->ad_bytes;
    bool good;
    m->cipher = cipher;
    m->text_bytes = sizeof text;
    m->ad_bytes = 0;
    good = sealed(m, text, out, tag);
    m->text_bytes = text_bytes;
    m->ad_bytes = ad_bytes;
    ERR_clear_error();
    return good;
}

/* In its own place, as a record of TLS 1.3 is. */
static void compare_in_place(const EVP_CIPHER *mine, const EVP_CIPHER *other) {
    static uint8_t text[ROOM], wanted[ROOM];
    struct message m = {.cipher = other, .nonce_bytes = 12, .tag_bytes = 16, .ad_bytes = 5, .text_bytes = below(TEXT_MOST)};
    uint8_t tag[16], own_tag[16];
    fill(text, m.text_bytes);
    fill(m.key, sizeof m.key);
    expect(sealed(&m, text, wanted, tag), EVP_CIPHER_get0_name(mine), "another one");
    m.cipher = mine;
    expect(sealed(&m, text, text, own_tag) && memcmp(text, wanted, m.text_bytes) == 0 && memcmp(tag, own_tag, 16) == 0,
           EVP_CIPHER_get0_name(mine), "encrypts in its place");
    memcpy(wanted, text, m.text_bytes);
    expect(opened(&m, text, tag, text) && opened(&m, wanted, tag, wanted) && memcmp(text, wanted, m.text_bytes) == 0,
           EVP_CIPHER_get0_name(mine), "decrypts in its place");
}

/* Messages of one context: what comes in one piece may be taken for all of it, and then there is more. */
static void compare_kept(const EVP_CIPHER *mine, const EVP_CIPHER *other) {
    static uint8_t text[ROOM], wanted[ROOM], got[ROOM];
    const char *const name = EVP_CIPHER_get0_name(mine);
    struct message m = {.nonce_bytes = 12, .tag_bytes = 16};
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    bool good;
    fill(m.key, sizeof m.key);
    good = EVP_EncryptInit_ex2(context, mine, NULL, NULL, NULL) && EVP_CIPHER_CTX_set_key_length(context, EVP_CIPHER_get_key_length(mine)) &&
           EVP_EncryptInit_ex2(context, NULL, m.key, NULL, NULL);
    for (int i = 0; i < 12; i++) {
        const bool in_pieces = i % 4 == 1 || i % 4 == 2;
        uint8_t *const out = !in_pieces && below(3) == 0 ? text : got;
        uint8_t tag[16], own_tag[16] = {0};
        size_t made = 0;
        int n = 0;
        m.ad_bytes = below(40);
        m.text_bytes = 1 + below(in_pieces ? 3000 : 2100);
        m.cipher = other;
        fill(m.nonce, sizeof m.nonce);
        fill(m.ad, m.ad_bytes);
        fill(text, m.text_bytes);
        expect(sealed(&m, text, wanted, tag), name, "another one");
        good = good && EVP_EncryptInit_ex2(context, NULL, NULL, m.nonce, NULL) &&
               (m.ad_bytes == 0 || EVP_EncryptUpdate(context, NULL, &n, m.ad, (int)m.ad_bytes));
        for (size_t at = 0, piece; at < m.text_bytes && good; at += piece) {
            piece = in_pieces ? some_piece(m.text_bytes - at) : m.text_bytes;
            good = EVP_EncryptUpdate(context, out + made, &n, text + at, (int)piece);
            made += (size_t)n;
            expect(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, own_tag) <= 0 || memcmp(tag, own_tag, 16) != 0, name,
                   "shows no tag before the end");
            ERR_clear_error();
            if (below(5) == 0) {
                EVP_CIPHER_CTX *const copy = EVP_CIPHER_CTX_new();
                good = good && EVP_CIPHER_CTX_copy(copy, context);
                EVP_CIPHER_CTX_free(context);
                context = copy;
            }
        }
        good = good && EVP_EncryptFinal_ex(context, out + made, &n) && made + (size_t)n == m.text_bytes &&
               EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, own_tag) > 0;
        expect(good && memcmp(tag, own_tag, 16) == 0 && memcmp(out, wanted, m.text_bytes) == 0, name,
               "encrypts message after message");
    }
    EVP_CIPHER_CTX_free(context);
}

void compare_sealing(const EVP_CIPHER *mine, const EVP_CIPHER *other) {
    static const size_t tags[] = {16, 12, 8, 14, 4};
    unsigned ways = 0;
    for (size_t t = 0; t < sizeof tags / sizeof tags[0]; t++) {
        for (size_t nonce = 1; nonce <= 16; nonce++) {
            struct message m = {.nonce_bytes = nonce, .tag_bytes = tags[t]};
            const bool usual = takes(other, &m);
            if (!usual || !takes(mine, &m)) {
                expect(!usual || tags[t] != 16 || nonce > 15, EVP_CIPHER_get0_name(mine), "takes nonces of every length");
                continue;
            }
            ways++;
            for (unsigned i = 0; i < (nonce == 12 ? 20 : 2); i++) {
                m.ad_bytes = below(3) == 0 ? 0 : below(2) == 0 ? below(40) : below(AD_MOST);
                m.text_bytes = below(8) == 0 ? 0 : some_length();
                fill(m.key, sizeof m.key);
                fill(m.nonce, sizeof m.nonce);
                fill(m.ad, m.ad_bytes);
                compare_message(&m, mine, other);
            }
        }
    }
    for (unsigned i = 0; i < 5; i++) {
        compare_in_place(mine, other);
    }
    if (EVP_CIPHER_get_mode(mine) != EVP_CIPH_CCM_MODE) {
        compare_kept(mine, other);
    }
    printf("%s: %u lengths of nonces and tags\n", EVP_CIPHER_get0_name(mine), ways);
    expect(ways != 0, EVP_CIPHER_get0_name(mine), "something can be compared");
}
