//! Run-time support text of printed loops. What printed kernels expect above them.

use super::prelude_wide::wide;

/// Loads and stores of several bytes, operations whose meaning C leaves open for some operands, and what computes with
/// 128 bits.
pub fn prelude() -> String {
    let mut text = String::from(HEAD);
    for bits in [16, 32, 64] {
        text.push_str(&BYTES.replace('@', &bits.to_string()));
    }
    text.push_str(COPY);
    text.push_str(PATCH);
    text.push_str(&arithmetic());
    text.push_str(&wide());
    text.push_str(LEAF7);
    text.push_str("#endif\n");
    text
}

/// The operations of 32 and of 64 bits, which need nothing but the types.
pub fn arithmetic() -> String {
    let of = |bits: u32| ARITHMETIC.replace("$T", &format!("uint{bits}_t")).replace('@', &bits.to_string());
    [32, 64].map(of).concat()
}

const HEAD: &str = "\
#ifndef HEADRACE_KERNEL_H
#define HEADRACE_KERNEL_H
#include <stddef.h>
#include <stdint.h>
#if __STDC_HOSTED__
#include <string.h>
#endif

/* A value that is there before the next one that is held: compilers keep the order of what runs side by side. */
#if defined(__GNUC__) && defined(__x86_64__)
#define HR_HOLD(x) __asm__ __volatile__(\"\" : \"+r\"(x))
#else
#define HR_HOLD(x) ((void)(x))
#endif

/* Accesses before and after are not joined: a load of two elements waits where each was stored by itself shortly before. */
#ifdef __GNUC__
#define HR_ALONE() __asm__ __volatile__(\"\" ::: \"memory\")
#else
#define HR_ALONE() ((void)0)
#endif

/* Of iterations with many statements: they are not put side by side by compilers, which would take minutes for it. */
#if defined(__clang__)
#define HR_ONE_BY_ONE _Pragma(\"clang loop vectorize(disable) interleave(disable)\")
#define HR_SCALAR
#elif defined(__GNUC__)
#define HR_ONE_BY_ONE
#define HR_SCALAR __attribute__((optimize(\"no-tree-vectorize\")))
#else
#define HR_ONE_BY_ONE
#define HR_SCALAR
#endif

/* Part of what calls it, but where nothing is optimised: there long functions would become many times longer. */
#ifdef __OPTIMIZE__
#define HR_INLINED __attribute__((always_inline))
#else
#define HR_INLINED
#endif

";

/// What `__builtin_cpu_supports` has no name for in every compiler. The instruction takes long under a hypervisor.
const LEAF7: &str = "\
#if defined(__x86_64__) && defined(__GNUC__) && !defined(hr_supports_leaf7)
#include <cpuid.h>
/* Bits of EBX and ECX; asked once, and any thread finds the same. */
static inline int hr_leaf7(unsigned in_ecx, unsigned bit)
{
  static uint64_t known;
  uint64_t words = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (words == 0) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    (void)__get_cpuid_count(7, 0, &a, &b, &c, &d);
    /* Bit 4 of ECX is told by the operating system and not needed here: it says that the question was asked. */
    words = (uint64_t)c << 32 | b | (uint64_t)1 << 36;
    __atomic_store_n(&known, words, __ATOMIC_RELAXED);
  }
  return (int)(words >> (32 * in_ecx + bit) & 1);
}
#define hr_supports_leaf7(name, in_ecx, bit) hr_leaf7(in_ecx, bit)
#endif
";

/// Copies of few bytes, which take longer by a call: a half from each end, and halves may overlap.
const COPY: &str = "\
static inline void hr_copy_few(void *to, const void *from, size_t n)
{
  unsigned char *const t = (unsigned char *)to, low[8], high[8];
  const unsigned char *const f = (const unsigned char *)from;
  if (n > 16) {
    memcpy(t, f, n);
  } else if (n >= 8) {
    memcpy(low, f, 8);
    memcpy(high, f + n - 8, 8);
    memcpy(t, low, 8);
    memcpy(t + n - 8, high, 8);
  } else if (n >= 4) {
    memcpy(low, f, 4);
    memcpy(high, f + n - 4, 4);
    memcpy(t, low, 4);
    memcpy(t + n - 4, high, 4);
  } else {
    while (n-- != 0)
      t[n] = f[n];
  }
}

";

/// One store, for store-to-load forwarding: a load of all that several stores have written waits until these have reached the
/// cache.
const PATCH: &str = "\
/* Sixteen bytes by one store, as words with the first byte lowest. */
static inline void hr_put16(void *to, uint64_t low, uint64_t high)
{
#if defined(__GNUC__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  typedef uint64_t pair __attribute__((vector_size(16)));
  const pair v = {low, high};
  memcpy(to, &v, sizeof v);
#else
  hr_put_le64(to, low);
  hr_put_le64((unsigned char *)to + 8, high);
#endif
}

/* Sixteen bytes, of which some bits are kept and others set: as words with the first byte lowest. */
static inline void hr_patch16(void *to, const void *from, uint64_t keep0, uint64_t keep1, uint64_t set0, uint64_t set1)
{
#if defined(__GNUC__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  typedef uint64_t pair __attribute__((vector_size(16)));
  pair v;
  memcpy(&v, from, sizeof v);
  v = (v & (pair){keep0, keep1}) | (pair){set0, set1};
  memcpy(to, &v, sizeof v);
#else
  const uint64_t low = (hr_le64(from) & keep0) | set0;
  const uint64_t high = (hr_le64((const unsigned char *)from + 8) & keep1) | set1;
  hr_put16(to, low, high);
#endif
}

/* Sixteen bytes: those that are set, as words with the first byte lowest, and `n` of at least four, less than sixteen, that are
   copied to byte `skipped` and those behind it. */
static inline void hr_fill16(void *to, unsigned skipped, const void *from, unsigned n, uint64_t set0, uint64_t set1)
{
  const unsigned char *const f = (const unsigned char *)from;
  uint64_t low, high = 0;
  if (n >= 8) {
    low = hr_le64(f);
    if (n > 8)
      high = hr_le64(f + n - 8) >> (8 * (16 - n));
  } else {
    low = hr_le32(f) | (uint64_t)hr_le32(f + n - 4) << (8 * (n - 4));
  }
  if (skipped >= 8) {
    high = low << (8 * (skipped - 8));
    low = 0;
  } else if (skipped != 0) {
    high = high << (8 * skipped) | low >> (64 - 8 * skipped);
    low <<= 8 * skipped;
  }
  low |= set0;
  high |= set1;
  hr_put16(to, low, high);
}

";

const BYTES: &str = "\
static inline uint@_t hr_le@(const void *p)
{
  uint@_t v;
  memcpy(&v, p, sizeof v);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  v = __builtin_bswap@(v);
#endif
  return v;
}

static inline uint@_t hr_be@(const void *p)
{
  return __builtin_bswap@(hr_le@(p));
}

static inline void hr_put_le@(void *p, uint@_t v)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  v = __builtin_bswap@(v);
#endif
  memcpy(p, &v, sizeof v);
}

static inline void hr_put_be@(void *p, uint@_t v)
{
  hr_put_le@(p, __builtin_bswap@(v));
}

";

// Choices are made with masks: what is chosen by may be secret. `w` is the width of the value that is shifted.
const ARITHMETIC: &str = "\
static inline $T hr_select@($T c, $T a, $T b)
{
  return b ^ ((a ^ b) & (0 - c));
}

static inline $T hr_left@($T a, uint64_t n, unsigned w)
{
  return (a << (n & (@ - 1))) & (0 - ($T)(n < w));
}

static inline $T hr_right@($T a, uint64_t n, unsigned w)
{
  return (a >> (n & (@ - 1))) & (0 - ($T)(n < w));
}

static inline $T hr_right_signed@($T a, uint64_t n, unsigned w)
{
  unsigned m = (unsigned)(n ^ ((n ^ (w - 1)) & (0 - (uint64_t)(n > w - 1))));
  $T top = ($T)1 << (w - 1 - m);
  return ((a >> m) ^ top) - top;
}

static inline $T hr_rotate@($T a, uint64_t n, unsigned w)
{
  return a << (n & (w - 1)) | a >> ((0 - n) & (w - 1));
}

static inline $T hr_divide@($T a, $T b)
{
  return b ? a / b : 0;
}

static inline $T hr_remainder@($T a, $T b)
{
  return b ? a % b : 0;
}

";
