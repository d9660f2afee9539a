/* Encryption by Ascon-AEAD128 of ascon-c as a contender: all of its variants have the interface of NIST's call. */
#include "contender.h"

int crypto_aead_encrypt(unsigned char *c, unsigned long long *clen, const unsigned char *m, unsigned long long mlen,
                        const unsigned char *ad, unsigned long long adlen, const unsigned char *nsec,
                        const unsigned char *npub, const unsigned char *k);

size_t contender(const uint8_t *secrets, uint8_t *data, size_t n)
{
    unsigned long long n_out = 0;
    const int failed = crypto_aead_encrypt(data, &n_out, data, n, secrets, 5, NULL, secrets + 32, secrets);
    return failed ? 0 : (size_t)n_out;
}
