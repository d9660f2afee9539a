/* OpenSSL's AES-128 in CTR mode through EVP: whatever its authors found best for this processor. */
#include "openssl_evp.h"

int reference_setup(const uint8_t key[16], const uint8_t iv[16])
{
    return evp_setup("EVP_aes_128_ctr", key, iv);
}

int reference_run(const uint8_t *in, uint8_t *out, size_t n_bytes)
{
    return evp_run(in, out, n_bytes);
}

const char *reference_version(void)
{
    return evp.version ? evp.version(0) : "OpenSSL";
}
