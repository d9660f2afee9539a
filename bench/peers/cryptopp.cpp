/* Crypto++. */
#include "peer.h"

#define CRYPTOPP_ENABLE_NAMESPACE_WEAK 1
#include <cryptopp/aes.h>
#include <cryptopp/algparam.h>
#include <cryptopp/arc4.h>
#include <cryptopp/argnames.h>
#include <cryptopp/blowfish.h>
#include <cryptopp/ccm.h>
#include <cryptopp/chacha.h>
#include <cryptopp/config_ver.h>
#include <cryptopp/des.h>
#include <cryptopp/gcm.h>
#include <cryptopp/hmac.h>
#include <cryptopp/modes.h>
#include <cryptopp/rabbit.h>
#include <cryptopp/rc5.h>
#include <cryptopp/serpent.h>
#include <cryptopp/sha.h>
#include <cryptopp/twofish.h>
#include <cryptopp/whrlpool.h>
#include <memory>
#include <new>
#include <string>

namespace {

using namespace CryptoPP;

/* An operation with its key. */
struct Operation {
    virtual ~Operation() = default;
    virtual size_t run(const uint8_t *in, uint8_t *out, size_t n_bytes) = 0;
};

struct Strings {
    const uint8_t *key;
    size_t key_bytes;
    std::string iv;
    const byte *iv_bytes() const { return reinterpret_cast<const byte *>(iv.data()); }
};

/* Modes and stream ciphers. */
template <class Cipher> struct Streamed final : Operation {
    Cipher cipher;
    std::string iv;
    Streamed(const Strings &strings, const NameValuePairs &parameters) : iv(strings.iv)
    {
        if (cipher.IsResynchronizable())
            cipher.SetKey(strings.key, strings.key_bytes,
                          CombinedNameValuePairs(parameters, MakeParameters(Name::IV(), strings.iv_bytes())));
        else
            cipher.SetKey(strings.key, strings.key_bytes, parameters);
    }
    size_t run(const uint8_t *in, uint8_t *out, size_t n_bytes) override
    {
        if (cipher.IsResynchronizable())
            cipher.Resynchronize(reinterpret_cast<const byte *>(iv.data()), int(iv.size()));
        cipher.ProcessData(out, in, n_bytes);
        return n_bytes;
    }
};

/* Its key stream goes on, so the key is part of each run. */
struct Arc4 final : Operation {
    std::string key;
    explicit Arc4(const Strings &strings) : key(reinterpret_cast<const char *>(strings.key), strings.key_bytes) {}
    size_t run(const uint8_t *in, uint8_t *out, size_t n_bytes) override
    {
        Weak::ARC4 cipher(reinterpret_cast<const byte *>(key.data()), key.size());
        cipher.ProcessData(out, in, n_bytes);
        return n_bytes;
    }
};

template <class Hash> struct Hashed final : Operation {
    Hash hash;
    Hashed() = default;
    explicit Hashed(const Strings &strings) : hash(strings.key, strings.key_bytes) {}
    size_t run(const uint8_t *in, uint8_t *out, size_t n_bytes) override
    {
        hash.CalculateDigest(out, in, n_bytes);
        return hash.DigestSize();
    }
};

template <class Aead, bool ENCRYPTS> struct Sealed final : Operation {
    Aead aead;
    std::string iv;
    explicit Sealed(const Strings &strings) : iv(strings.iv)
    {
        aead.SetKeyWithIV(strings.key, strings.key_bytes, strings.iv_bytes(), strings.iv.size());
    }
    size_t run(const uint8_t *in, uint8_t *out, size_t n_bytes) override
    {
        const byte *nonce = reinterpret_cast<const byte *>(iv.data());
        if constexpr (ENCRYPTS) {
            aead.EncryptAndAuthenticate(out, out + n_bytes, PEER_TAG_BYTES, nonce, int(iv.size()), nullptr, 0, in,
                                        n_bytes);
            return n_bytes + PEER_TAG_BYTES;
        } else {
            size_t text = n_bytes - PEER_TAG_BYTES;
            return aead.DecryptAndVerify(out, in + text, PEER_TAG_BYTES, nonce, int(iv.size()), nullptr, 0, in, text)
                ? text
                : PEER_FAILED;
        }
    }
};

template <class Cipher>
Operation *in_mode(const std::string &mode, const Strings &s, const NameValuePairs &p = g_nullNameValuePairs)
{
    if (mode == "ecb-encrypt")
        return new Streamed<typename ECB_Mode<Cipher>::Encryption>(s, p);
    if (mode == "ecb-decrypt")
        return new Streamed<typename ECB_Mode<Cipher>::Decryption>(s, p);
    if (mode == "cbc-encrypt")
        return new Streamed<typename CBC_Mode<Cipher>::Encryption>(s, p);
    if (mode == "cbc-decrypt")
        return new Streamed<typename CBC_Mode<Cipher>::Decryption>(s, p);
    if (mode == "cfb-encrypt")
        return new Streamed<typename CFB_Mode<Cipher>::Encryption>(s, p);
    if (mode == "cfb-decrypt")
        return new Streamed<typename CFB_Mode<Cipher>::Decryption>(s, p);
    if (mode == "ofb")
        return new Streamed<typename OFB_Mode<Cipher>::Encryption>(s, p);
    if (mode == "ctr")
        return new Streamed<typename CTR_Mode<Cipher>::Encryption>(s, p);
    return nullptr;
}

Operation *open(const std::string &set, const std::string &name, const Strings &strings)
{
    if (set == "aes128" || set == "aes256")
        return in_mode<AES>(name, strings);
    if (set == "des")
        return in_mode<DES>(name, strings);
    if (set == "tdes")
        return in_mode<DES_EDE3>(name, strings);
    if (set == "blowfish")
        return in_mode<Blowfish>(name, strings);
    if (set == "twofish128")
        return in_mode<Twofish>(name, strings);
    if (set == "serpent128")
        return in_mode<Serpent>(name, strings);
    if (set == "rc5")
        return in_mode<RC5>(name, strings, MakeParameters(Name::Rounds(), 12));
    if (set == "arc4")
        return new Arc4(strings);
    if (set == "chacha20")
        return new Streamed<ChaChaTLS::Encryption>(strings, g_nullNameValuePairs);
    if (set == "rabbit-estream")
        return new Streamed<RabbitWithIV::Encryption>(strings, g_nullNameValuePairs);
    if (set == "sha1")
        return new Hashed<SHA1>;
    if (set == "sha256")
        return new Hashed<SHA256>;
    if (set == "whirlpool")
        return new Hashed<Whirlpool>;
    if (set == "hmac-sha1")
        return new Hashed<HMAC<SHA1>>(strings);
    if (set == "hmac-sha256")
        return new Hashed<HMAC<SHA256>>(strings);
    if (set == "aes128-gcm" && name == "aead-encrypt")
        return new Sealed<GCM<AES>::Encryption, true>(strings);
    if (set == "aes128-gcm" && name == "aead-decrypt")
        return new Sealed<GCM<AES>::Decryption, false>(strings);
    return nullptr;
}

} // namespace

const char *peer_version(void)
{
    static const std::string text = std::to_string(CRYPTOPP_MAJOR) + "." + std::to_string(CRYPTOPP_MINOR);
    return text.c_str();
}

void *peer_open(const char *operation, const struct peer_strings *strings)
{
    try {
        std::string text = operation;
        size_t space = text.find(' ');
        if (space == std::string::npos)
            return nullptr;
        Strings given{strings->key, strings->key_bytes,
                      std::string(reinterpret_cast<const char *>(strings->iv), strings->iv_bytes)};
        return open(text.substr(0, space), text.substr(space + 1), given);
    } catch (const std::exception &) {
        return nullptr;
    }
}

size_t peer_run(void *context, const uint8_t *in, uint8_t *out, size_t n_bytes)
{
    try {
        return static_cast<Operation *>(context)->run(in, out, n_bytes);
    } catch (const std::exception &) {
        return PEER_FAILED;
    }
}

void peer_close(void *context)
{
    delete static_cast<Operation *>(context);
}
