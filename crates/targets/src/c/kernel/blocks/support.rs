//! Intrinsics behind portable names. Operations on registers by the names that printed loops on blocks use.

use std::fmt::Write as _;

/// Two values that are both there before one of them is used again. GCC would have all of one computation before the
/// other, however they stand; clang leaves them as they are.
pub(super) const TIED: &str = "#if defined(__GNUC__) && !defined(__clang__)
#define HR_TIED(a, b) __asm__(\"\" : \"+v\"(a), \"+v\"(b))
#else
#define HR_TIED(a, b) ((void)0)
#endif
";

/// What stands before instructions that have only an encoding from before AVX: compilers that may use AVX copy memory
/// by whole registers, and leave the upper halves of these in use.
pub(super) const CLEAR_UPPER: &str = "\
#if defined(__AVX__)
#define HR_CLEAR_UPPER() _mm256_zeroupper()
#else
#define HR_CLEAR_UPPER() ((void)0)
#endif
";

/// The definitions for registers of so many bits.
pub(super) fn support(bits: u32) -> String {
    let (v, prefix, whole) = match bits {
        128 => ("__m128i", "_mm", "si128"),
        256 => ("__m256i", "_mm256", "si256"),
        _ => ("__m512i", "_mm512", "si512"),
    };
    let mut text = String::from("#include <immintrin.h>\n");
    if bits != 128 {
        text.push_str("#define HR_LOAD128(p) _mm_loadu_si128((const __m128i *)(p))\n");
        text.push_str("#define HR_STORE128(p, x) _mm_storeu_si128((__m128i *)(p), x)\n");
    }
    let _ = writeln!(text, "#define HR_V{bits} {v}");
    let pointer = if bits == 512 { "void".to_owned() } else { v.to_owned() };
    let _ = writeln!(text, "#define HR_LOAD{bits}(p) {prefix}_loadu_{whole}((const {pointer} *)(p))");
    let _ = writeln!(text, "#define HR_STORE{bits}(p, x) {prefix}_storeu_{whole}(({pointer} *)(p), x)");
    let _ = writeln!(text, "#define HR_SHUFFLE{bits}(x, m) {prefix}_shuffle_epi8(x, m)");
    let _ = writeln!(text, "#define HR_SUM64_{bits}(a, b) {prefix}_add_epi64(a, b)");
    let _ = writeln!(text, "#define HR_SUM8_{bits}(a, b) {prefix}_add_epi8(a, b)");
    if bits == 512 {
        // What is masked out is neither read nor written.
        text.push_str("#define HR_FIRST512(n) ((__mmask8)((1u << 2 * (n)) - 1u))\n");
        text.push_str("#define HR_LOAD_FIRST512(p, m) _mm512_maskz_loadu_epi64(m, (const void *)(p))\n");
        text.push_str("#define HR_ONLY512(m, x) _mm512_maskz_mov_epi64(m, x)\n");
        // A load of what a mask has stored waits until it has left the queue of stores: whole registers go without.
        text.push_str("#define HR_STORE_FIRST512(p, m, x) ((m) == 0xff ? _mm512_storeu_si512((void *)(p), x) : _mm512_mask_storeu_epi64((void *)(p), m, x))\n");
    }
    // Compilers load again what they think is cheap to load.
    let class = if bits == 128 { "x" } else { "v" };
    let _ = writeln!(text, "#define HR_KEEP{bits}(x) __asm__(\"\" : \"+{class}\"(x))");
    match bits {
        128 => text.push_str("#define HR_LOAD_BEHIND128(p, before, m) ((m) != 0 ? HR_LOAD128(p) : (before))\n"),
        512 => text.push_str(
            "#define HR_LOAD_BEHIND512(p, before, m) _mm512_mask_loadu_epi64(before, (__mmask8)(m), (const void *)(p))\n",
        ),
        _ => {}
    }
    for name in ["xor", "and", "or"] {
        let _ = writeln!(text, "#define HR_{}{bits}(a, b) {prefix}_{name}_{whole}(a, b)", name.to_uppercase());
    }
    let all = match bits {
        128 => "_mm_loadu_si128((const __m128i *)(p))",
        256 => "_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(p)))",
        _ => "_mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(p)))",
    };
    let _ = writeln!(text, "#define HR_ALL{bits}(p) {all}");
    // Not through memory: a load of what two stores have just written would wait for them.
    let spread = match bits {
        128 => "x",
        256 => "_mm256_broadcastsi128_si256(x)",
        _ => "_mm512_broadcast_i32x4(x)",
    };
    let _ = writeln!(text, "#define HR_SPREAD{bits}(x) {spread}");
    let part = |x: &str, i: u32| match bits {
        128 => x.to_owned(),
        256 => format!("_mm256_extracti128_si256({x}, {i})"),
        _ => format!("_mm512_extracti32x4_epi32({x}, {i})"),
    };
    // The last part of the register before, then all but the last of this one.
    let delayed = match bits {
        128 => "before",
        256 => "_mm256_permute2x128_si256(before, x, 0x21)",
        _ => "_mm512_alignr_epi64(x, before, 6)",
    };
    let _ = writeln!(text, "#define HR_DELAYED{bits}(x, before) {delayed}");
    let n_parts = bits / 128;
    let pointers = (0..n_parts).map(|i| format!("p{i}")).collect::<Vec<_>>().join(", ");
    let load = |i: u32| format!("_mm_loadu_si128((const __m128i *)(p{i}))");
    let together = match bits {
        128 => load(0),
        256 => format!("_mm256_inserti128_si256(_mm256_castsi128_si256({}), {}, 1)", load(0), load(1)),
        _ => {
            let first = format!("_mm512_castsi128_si512({})", load(0));
            (1..4).fold(first, |all, i| format!("_mm512_inserti32x4({all}, {}, {i})", load(i)))
        }
    };
    let stores: Vec<String> =
        (0..n_parts).map(|i| format!("_mm_storeu_si128((__m128i *)(p{i}), {})", part("x", i))).collect();
    let _ = writeln!(text, "#define HR_TOGETHER{bits}({pointers}) {together}");
    let _ = writeln!(text, "#define HR_APART{bits}(x, {pointers}) ({})", stores.join(", "));
    let rows = (0..n_parts).map(|i| format!("(p) + {i} * (n)")).collect::<Vec<_>>().join(", ");
    let _ = writeln!(text, "#define HR_ROWS{bits}(p, n) HR_TOGETHER{bits}({rows})");
    let _ = writeln!(text, "#define HR_PUT_ROWS{bits}(p, n, x) HR_APART{bits}(x, {rows})");
    text
}
