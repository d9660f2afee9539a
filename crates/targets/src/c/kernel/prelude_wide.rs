//! What computes with 128 bits in printed kernels: operators where the compiler has integers of that size, and functions on
//! two halves where it has none, as for processors of 32 bits. `u128` itself stands in `headrace.h` as `hr_u128`, and here
//! for kernels that are compiled without it.

/// The type, and all operations on it.
pub(super) fn wide() -> String {
    [TYPE, "#ifdef __SIZEOF_INT128__\n", OPERATORS, "#else\n", HALVES, "#endif\n", BOTH].concat()
}

const TYPE: &str = "\
#ifndef HEADRACE_U128
#define HEADRACE_U128
#ifdef __SIZEOF_INT128__
__extension__ typedef unsigned __int128 hr_u128;
#else
typedef struct hr_u128 {
  uint64_t low, high;
} hr_u128;
#endif
#endif
typedef hr_u128 u128;

";

/// Macros: compilers see what they always saw.
const OPERATORS: &str = "\
#define HR_PAIR128(high, low) ((u128)(high) << 64 | (low))
#define hr_pair128(high, low) HR_PAIR128(high, low)
#define hr_wide128(a) ((u128)(a))
#define hr_bits128(a, from) ((uint64_t)((a) >> (from)))
#define hr_and128(a, b) ((a) & (b))
#define hr_or128(a, b) ((a) | (b))
#define hr_xor128(a, b) ((a) ^ (b))
#define hr_add128(a, b) ((a) + (b))
#define hr_sub128(a, b) ((a) - (b))
#define hr_mul128(a, b) ((a) * (b))
#define hr_shift_left128(a, n) ((a) << (n))
#define hr_shift_right128(a, n) ((a) >> (n))
#define hr_equal128(a, b) ((a) == (b))
#define hr_less128(a, b) ((a) < (b))

static inline u128 hr_divide128(u128 a, u128 b)
{
  return b ? a / b : 0;
}

static inline u128 hr_remainder128(u128 a, u128 b)
{
  return b ? a % b : 0;
}

";

// No branch depends on a value.
const HALVES: &str = "\
#define HR_PAIR128(high, low) {low, high}

static inline u128 hr_pair128(uint64_t high, uint64_t low)
{
  const u128 made = {low, high};
  return made;
}

static inline u128 hr_wide128(uint64_t a)
{
  return hr_pair128(0, a);
}

static inline u128 hr_and128(u128 a, u128 b)
{
  return hr_pair128(a.high & b.high, a.low & b.low);
}

static inline u128 hr_or128(u128 a, u128 b)
{
  return hr_pair128(a.high | b.high, a.low | b.low);
}

static inline u128 hr_xor128(u128 a, u128 b)
{
  return hr_pair128(a.high ^ b.high, a.low ^ b.low);
}

static inline u128 hr_add128(u128 a, u128 b)
{
  const uint64_t low = a.low + b.low;
  return hr_pair128(a.high + b.high + (low < a.low), low);
}

static inline u128 hr_sub128(u128 a, u128 b)
{
  return hr_pair128(a.high - b.high - (a.low < b.low), a.low - b.low);
}

static inline u128 hr_mul128(u128 a, u128 b)
{
  const uint64_t a0 = a.low & 0xffffffffu, a1 = a.low >> 32, b0 = b.low & 0xffffffffu, b1 = b.low >> 32;
  const uint64_t low = a0 * b0, left = a1 * b0 + (low >> 32), right = a0 * b1 + (left & 0xffffffffu);
  const uint64_t high = a1 * b1 + (left >> 32) + (right >> 32);
  return hr_pair128(high + a.low * b.high + a.high * b.low, right << 32 | (low & 0xffffffffu));
}

/* Of less than 128 bits. */
static inline u128 hr_shift_left128(u128 a, uint64_t n)
{
  const uint64_t far = 0 - (uint64_t)(n >> 6 & 1), m = n & 63;
  const uint64_t low = a.low << m, over = a.low >> 1 >> (63 - m);
  return hr_pair128((far & low) | (~far & (a.high << m | over)), ~far & low);
}

static inline u128 hr_shift_right128(u128 a, uint64_t n)
{
  const uint64_t far = 0 - (uint64_t)(n >> 6 & 1), m = n & 63;
  const uint64_t high = a.high >> m, over = a.high << 1 << (63 - m);
  return hr_pair128(~far & high, (far & high) | (~far & (a.low >> m | over)));
}

static inline uint64_t hr_bits128(u128 a, uint64_t from)
{
  return hr_shift_right128(a, from).low;
}

static inline uint32_t hr_equal128(u128 a, u128 b)
{
  return ((a.low ^ b.low) | (a.high ^ b.high)) == 0;
}

static inline uint32_t hr_less128(u128 a, u128 b)
{
  return (uint32_t)(a.high < b.high) | ((uint32_t)(a.high == b.high) & (uint32_t)(a.low < b.low));
}

/* Quotient and remainder, bit by bit; 0 where the divisor is. */
static inline u128 hr_divided128(u128 a, u128 b, u128 *rest)
{
  const uint64_t any = 0 - (uint64_t)((b.low | b.high) != 0);
  u128 quotient = {0, 0};
  rest->low = rest->high = 0;
  for (unsigned i = 128; i-- != 0;) {
    const uint64_t over = rest->high >> 63;
    *rest = hr_or128(hr_shift_left128(*rest, 1), hr_wide128(hr_bits128(a, i) & 1));
    const uint64_t takes = (over | !hr_less128(*rest, b)) & any & 1, all = 0 - takes;
    *rest = hr_sub128(*rest, hr_and128(b, hr_pair128(all, all)));
    quotient = hr_or128(hr_shift_left128(quotient, 1), hr_wide128(takes));
  }
  *rest = hr_and128(*rest, hr_pair128(any, any));
  return quotient;
}

static inline u128 hr_divide128(u128 a, u128 b)
{
  u128 rest;
  return hr_divided128(a, b, &rest);
}

static inline u128 hr_remainder128(u128 a, u128 b)
{
  u128 rest;
  (void)hr_divided128(a, b, &rest);
  return rest;
}

";

// Choices are made with masks: what is chosen by may be secret. `w` is the width of the value that is shifted.
const BOTH: &str = "\
static inline uint64_t hr_count(u128 n)
{
  const uint64_t low = hr_bits128(n, 0), many = hr_bits128(n, 64) | low >> 8;
  return (low | (0 - (uint64_t)(many != 0))) & 255;
}

static inline u128 hr_all128(uint64_t c)
{
  return hr_pair128(0 - c, 0 - c);
}

static inline u128 hr_select128(u128 c, u128 a, u128 b)
{
  return hr_xor128(b, hr_and128(hr_xor128(a, b), hr_all128(hr_bits128(c, 0))));
}

static inline u128 hr_left128(u128 a, uint64_t n, unsigned w)
{
  return hr_and128(hr_shift_left128(a, n & 127), hr_all128(n < w));
}

static inline u128 hr_right128(u128 a, uint64_t n, unsigned w)
{
  return hr_and128(hr_shift_right128(a, n & 127), hr_all128(n < w));
}

static inline u128 hr_right_signed128(u128 a, uint64_t n, unsigned w)
{
  const unsigned m = (unsigned)(n ^ ((n ^ (w - 1)) & (0 - (uint64_t)(n > w - 1))));
  const u128 top = hr_shift_left128(hr_wide128(1), w - 1 - m);
  return hr_sub128(hr_xor128(hr_shift_right128(a, m), top), top);
}

static inline u128 hr_rotate128(u128 a, uint64_t n, unsigned w)
{
  return hr_or128(hr_shift_left128(a, n & (w - 1)), hr_shift_right128(a, (0 - n) & (w - 1)));
}

static inline u128 hr_swap128(u128 v)
{
  return hr_pair128(__builtin_bswap64(hr_bits128(v, 0)), __builtin_bswap64(hr_bits128(v, 64)));
}

static inline u128 hr_le128(const void *p)
{
  return hr_pair128(hr_le64((const unsigned char *)p + 8), hr_le64(p));
}

static inline u128 hr_be128(const void *p)
{
  return hr_pair128(hr_be64(p), hr_be64((const unsigned char *)p + 8));
}

static inline void hr_put_le128(void *p, u128 v)
{
  hr_put_le64(p, hr_bits128(v, 0));
  hr_put_le64((unsigned char *)p + 8, hr_bits128(v, 64));
}

static inline void hr_put_be128(void *p, u128 v)
{
  hr_put_be64(p, hr_bits128(v, 64));
  hr_put_be64((unsigned char *)p + 8, hr_bits128(v, 0));
}

";
