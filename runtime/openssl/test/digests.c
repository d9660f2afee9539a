/* Hashes beside those of others. */
#include "test.h"

#include <openssl/core_names.h>

static void compare(const EVP_MD *mine, const EVP_MD *other) {
    static uint8_t text[ROOM];
    const char *const name = EVP_MD_get0_name(mine);
    EVP_MD_CTX *const context = EVP_MD_CTX_new(), *copy = EVP_MD_CTX_new();
    expect(EVP_MD_get_size(mine) == EVP_MD_get_size(other), name, "size");
    expect(EVP_MD_get_block_size(mine) == EVP_MD_get_block_size(other), name, "block size");
    expect(((EVP_MD_get_flags(mine) ^ EVP_MD_get_flags(other)) & EVP_MD_FLAG_XOF) == 0, name, "any length or one");
    for (unsigned i = 0; i < 40; i++) {
        uint8_t wanted[EVP_MAX_MD_SIZE], got[EVP_MAX_MD_SIZE], copied[EVP_MAX_MD_SIZE];
        const size_t length = some_length();
        unsigned n_wanted = 0, n_got = 0, n_copied = 0;
        bool good;
        fill(text, length);
        expect(EVP_Digest(text, length, wanted, &n_wanted, other, NULL), name, "another one");
        good = EVP_Digest(text, length, got, &n_got, mine, NULL) && n_got == n_wanted && memcmp(got, wanted, n_got) == 0;
        expect(good, name, "in one piece");
        good = EVP_DigestInit_ex2(context, mine, NULL);
        for (size_t at = 0, piece; at < length && good; at += piece) {
            piece = some_piece(length - at);
            good = EVP_DigestUpdate(context, text + at, piece);
            if (good && below(4) == 0) {
                /* From here on with a copy, while the other one goes elsewhere. */
                good = EVP_MD_CTX_copy_ex(copy, context) && EVP_DigestUpdate(context, "other", 5) &&
                       EVP_DigestFinal_ex(context, copied, &n_copied) && EVP_MD_CTX_copy_ex(context, copy);
            }
        }
        good = good && EVP_DigestFinal_ex(context, got, &n_got) && n_got == n_wanted && memcmp(got, wanted, n_got) == 0;
        expect(good, name, "in pieces, copied");
    }
    if ((EVP_MD_get_flags(mine) & EVP_MD_FLAG_XOF) != 0) {
        static uint8_t wanted[3000], got[3000];
        for (unsigned i = 0; i < 20; i++) {
            const size_t length = some_length(), output = 1 + below(3000);
            bool good;
            fill(text, length);
            expect(EVP_DigestInit_ex2(context, other, NULL) && EVP_DigestUpdate(context, text, length) &&
                       EVP_DigestFinalXOF(context, wanted, output),
                   name, "another one");
            good = EVP_DigestInit_ex2(context, mine, NULL) && EVP_DigestUpdate(context, text, length) &&
                   EVP_DigestFinalXOF(context, got, output) && memcmp(got, wanted, output) == 0;
            expect(good, name, "of any length");
        }
    }
    EVP_MD_CTX_free(context);
    EVP_MD_CTX_free(copy);
}

struct counts {
    unsigned n, alone;
};

static void one(EVP_MD *mine, void *argument) {
    struct counts *const counts = argument;
    const char *const name = EVP_MD_get0_name(mine);
    EVP_MD *const other = EVP_MD_fetch(theirs, name, NULL);
    counts->n++;
    ERR_clear_error();
    if (other == NULL) {
        counts->alone++;
        printf("%s: not compared, nobody else here has it\n", name);
        return;
    }
    compare(mine, other);
    misuse_digest(mine);
    EVP_MD_free(other);
}

unsigned test_digests(unsigned *alone) {
    struct counts counts = {0, 0};
    EVP_MD_do_all_provided(ours, one, &counts);
    *alone += counts.alone;
    return counts.n;
}
