/* Botan 2. Its modes work in place, so a message is copied to where its result will be; ECB, CTR and key streams go from one
 * buffer to the other. */
#include "peer.h"

#include <botan/block_cipher.h>
#include <botan/cipher_mode.h>
#include <botan/hash.h>
#include <botan/mac.h>
#include <botan/stream_cipher.h>
#include <botan/version.h>
#include <cstring>
#include <memory>
#include <string>

namespace {

struct Operation {
    std::string iv;
    virtual ~Operation() = default;
    virtual size_t run(const uint8_t *in, uint8_t *out, size_t n_bytes) = 0;
    const uint8_t *iv_bytes() const { return reinterpret_cast<const uint8_t *>(iv.data()); }
};

struct Blocks final : Operation {
    std::unique_ptr<Botan::BlockCipher> cipher;
    bool encrypts = true;
    size_t run(const uint8_t *in, uint8_t *out, size_t n_bytes) override
    {
        size_t n_blocks = n_bytes / cipher->block_size();
        encrypts ? cipher->encrypt_n(in, out, n_blocks) : cipher->decrypt_n(in, out, n_blocks);
        return n_bytes;
    }
};

struct Streamed final : Operation {
    std::unique_ptr<Botan::StreamCipher> cipher;
    std::string key;
    size_t run(const uint8_t *in, uint8_t *out, size_t n_bytes) override
    {
        if (iv.empty())
            cipher->set_key(reinterpret_cast<const uint8_t *>(key.data()), key.size());
        else
            cipher->set_iv(iv_bytes(), iv.size());
        cipher->cipher(in, out, n_bytes);
        return n_bytes;
    }
};

struct Mode final : Operation {
    std::unique_ptr<Botan::Cipher_Mode> mode;
    size_t run(const uint8_t *in, uint8_t *out, size_t n_bytes) override
    {
        std::memcpy(out, in, n_bytes);
        mode->start(iv_bytes(), iv.size());
        return mode->process(out, n_bytes);
    }
};

template <class Kind> struct Hashed final : Operation {
    std::unique_ptr<Kind> hash;
    size_t run(const uint8_t *in, uint8_t *out, size_t n_bytes) override
    {
        hash->update(in, n_bytes);
        hash->final(out);
        return hash->output_length();
    }
};

const char *algorithm(const std::string &set)
{
    static const char *const names[][2] = {
        {"aes128", "AES-128"},     {"aes256", "AES-256"},       {"des", "DES"},
        {"tdes", "TripleDES"},     {"blowfish", "Blowfish"},    {"twofish128", "Twofish"},
        {"serpent128", "Serpent"}, {"sha1", "SHA-1"},           {"sha256", "SHA-256"},
        {"whirlpool", "Whirlpool"}, {"hmac-sha1", "HMAC(SHA-1)"}, {"hmac-sha256", "HMAC(SHA-256)"},
        {"arc4", "RC4"},           {"chacha20", "ChaCha(20)"},
    };
    for (const auto &name : names)
        if (set == name[0])
            return name[1];
    return nullptr;
}

std::unique_ptr<Operation> open(const std::string &set, const std::string &name, const peer_strings &strings)
{
    const char *found = algorithm(set);
    if (!found)
        return nullptr;
    std::string what = found;
    if (name == "hash") {
        auto made = std::make_unique<Hashed<Botan::HashFunction>>();
        made->hash = Botan::HashFunction::create_or_throw(what);
        return made;
    }
    if (name == "mac") {
        auto made = std::make_unique<Hashed<Botan::MessageAuthenticationCode>>();
        made->hash = Botan::MessageAuthenticationCode::create_or_throw(what);
        made->hash->set_key(strings.key, strings.key_bytes);
        return made;
    }
    if (name == "ecb-encrypt" || name == "ecb-decrypt") {
        auto made = std::make_unique<Blocks>();
        made->encrypts = name == "ecb-encrypt";
        made->cipher = Botan::BlockCipher::create_or_throw(what);
        made->cipher->set_key(strings.key, strings.key_bytes);
        return made;
    }
    if (name == "ctr" || name == "ofb" || name == "stream") {
        auto made = std::make_unique<Streamed>();
        std::string full = name == "stream" ? what : (name == "ctr" ? "CTR-BE(" : "OFB(") + what + ")";
        made->cipher = Botan::StreamCipher::create_or_throw(full);
        made->cipher->set_key(strings.key, strings.key_bytes);
        made->key.assign(reinterpret_cast<const char *>(strings.key), strings.key_bytes);
        return made;
    }
    if (name == "cbc-encrypt" || name == "cbc-decrypt" || name == "cfb-encrypt" || name == "cfb-decrypt") {
        auto made = std::make_unique<Mode>();
        bool encrypts = name.find("encrypt") != std::string::npos;
        std::string full = what + (name.compare(0, 3, "cbc") == 0 ? "/CBC/NoPadding" : "/CFB");
        made->mode = Botan::Cipher_Mode::create_or_throw(full, encrypts ? Botan::ENCRYPTION : Botan::DECRYPTION);
        made->mode->set_key(strings.key, strings.key_bytes);
        return made;
    }
    return nullptr;
}

} // namespace

const char *peer_version(void)
{
    static const std::string text = std::to_string(Botan::version_major()) + "." + std::to_string(Botan::version_minor())
        + "." + std::to_string(Botan::version_patch());
    return text.c_str();
}

void *peer_open(const char *operation, const struct peer_strings *strings)
{
    try {
        std::string text = operation;
        size_t space = text.find(' ');
        if (space == std::string::npos)
            return nullptr;
        auto made = open(text.substr(0, space), text.substr(space + 1), *strings);
        if (made && strings->iv_bytes > 0)
            made->iv.assign(reinterpret_cast<const char *>(strings->iv), strings->iv_bytes);
        return made.release();
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
