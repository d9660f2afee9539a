// What printed networks need of C++, and the world outside of them.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <variant>

// Functions for processors with features, which are asked for when the program runs. Without, nothing but C++20 is left.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(HEADRACE_NO_SIMD)
#define HEADRACE_SIMD 1
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace headrace {

static_assert(sizeof(int) == 4, "integers of 32 bits are computed as int");

/// Why a run returned.
enum class Status : std::uint32_t {
    /// Nothing can fire until tokens come or are taken.
    idle,
    /// The limit was reached.
    limit,
    /// The host stopped the program.
    stopped,
    /// Calls nest too deep.
    too_deep,
};

/// An argument of a native procedure: a number, or a list of bytes that the native may change.
using Argument = std::variant<std::int64_t, std::span<std::uint8_t>>;

/// What networks that print or call native procedures need.
class Host {
public:
    virtual ~Host() = default;

    /// Shows bytes.
    virtual void print(std::span<const std::uint8_t> bytes) = 0;

    /// Shows the shortest decimal that reads back the same in a format of 16, 32 or 64 bits.
    virtual void print_real(double value, int bits) = 0;

    /// A native procedure: its result, or nothing when the program is to stop.
    virtual std::optional<std::int64_t> native(std::string_view name, std::span<Argument> arguments) = 0;
};

#if defined(HEADRACE_SIMD)
/// A bit of leaf 7 of `cpuid`: a feature that not every compiler has a name for.
inline bool has_leaf7(bool in_ecx, unsigned bit) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && ((in_ecx ? c : b) >> bit & 1u) != 0;
}
#endif

/// Overwrites an object, also where nothing reads it any more.
template <class T>
void overwrite(T& object) noexcept {
    static_assert(std::is_trivially_copyable_v<T>);
#if defined(__GNUC__)
    std::memset(static_cast<void*>(&object), 0, sizeof object);
    // What lies there might be read here, as far as the compiler knows.
    __asm__ __volatile__("" : : "r"(&object) : "memory");
#else
    volatile unsigned char* at = reinterpret_cast<volatile unsigned char*>(&object);
    for (std::size_t n = 0; n < sizeof object; ++n) {
        at[n] = 0;
    }
#endif
}

/// The same of bytes.
inline void overwrite_bytes(std::span<std::uint8_t> bytes) noexcept {
    for (std::uint8_t& byte : bytes) {
        *const_cast<volatile std::uint8_t*>(&byte) = 0;
    }
}

inline std::span<const std::uint8_t> bytes_of(std::string_view text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

/// Copies elements, as if through a third array.
template <class T>
void copy_elements(T* to, const T* from, std::uint32_t count) {
    if (count != 0) {
        std::memmove(to, from, count * sizeof(T));
    }
}

/// Bytes as a word, the least significant first.
template <class T>
constexpr T load_little(const std::uint8_t* from) {
    T word{};
    for (unsigned i = 0; i < sizeof(T); ++i) {
        word |= static_cast<T>(from[i]) << (8 * i);
    }
    return word;
}

/// Bytes as a word, the most significant first.
template <class T>
constexpr T load_big(const std::uint8_t* from) {
    T word{};
    for (unsigned i = 0; i < sizeof(T); ++i) {
        word |= static_cast<T>(from[i]) << (8 * (sizeof(T) - 1 - i));
    }
    return word;
}

/// The bytes of a word, the least significant first.
template <class T>
constexpr void store_little(std::uint8_t* to, T word) {
    for (unsigned i = 0; i < sizeof(T); ++i) {
        to[i] = static_cast<std::uint8_t>(word >> (8 * i));
    }
}

/// The bytes of a word, the most significant first.
template <class T>
constexpr void store_big(std::uint8_t* to, T word) {
    for (unsigned i = 0; i < sizeof(T); ++i) {
        to[i] = static_cast<std::uint8_t>(word >> (8 * (sizeof(T) - 1 - i)));
    }
}

template <class T>
constexpr T wrapping_add(T a, T b) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
}

template <class T>
constexpr T wrapping_subtract(T a, T b) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(static_cast<U>(a) - static_cast<U>(b)));
}

template <class T>
constexpr T wrapping_multiply(T a, T b) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(static_cast<U>(a) * static_cast<U>(b)));
}

template <class T>
constexpr T wrapping_negate(T a) {
    return wrapping_subtract(T{0}, a);
}

}  // namespace headrace
