//! Plans for GF(2) product recurrences with powers of the multiplier: how a product is computed with carry-less multiplications,
//! how many are under way at once, and what a machine must have for them.

use crate::NotApplicable;
use headrace_boolean::bilinear::carryless::{Plan, Prices, best_plan};
use headrace_transform::passes::distribute_recurrence::Recurrence;

/// Registers of a group, whose products are reduced together.
pub const REGISTERS: u32 = 8;

/// What turning the bits of bytes round costs without an instruction for it, in exclusive ors.
const REVERSE_BITS: f64 = 5.0;

/// The same with one: a little more than turning bytes round, which products that follow one another do without.
const REVERSE_BITS_AT_ONCE: f64 = 1.25;

/// What a machine must have, by the names that C compilers give it, for registers of 128, 256 or 512 bits.
pub fn features(bits: u32) -> &'static [&'static str] {
    match bits {
        128 => &["pclmul", "sse4.1", "ssse3"],
        // Not all that multiply in these turn bits round.
        256 => &["avx2", "pclmul", "vpclmulqdq"],
        _ => &["avx2", "avx512bw", "avx512dq", "avx512f", "avx512vl", "gfni", "pclmul", "vpclmulqdq"],
    }
}

/// Whether a machine that multiplies in registers of so many bits turns the bits of bytes round by one instruction.
pub fn turns_bits(bits: u32) -> bool {
    features(bits).contains(&"gfni")
}

/// How the product of a recurrence is computed in registers of so many bits, with powers of its multiplier.
///
/// # Errors
///
/// No plan computes it, or its factors are ordered differently and have no powers.
pub fn plan(recurrence: &Recurrence, bits: u32) -> Result<Plan, NotApplicable> {
    let reverse_bits = if turns_bits(bits) { REVERSE_BITS_AT_ONCE } else { REVERSE_BITS };
    let reductions = 128.0 / (f64::from(REGISTERS) * f64::from(bits));
    let prices = Prices { reverse_bits, reductions, ..Prices::default() };
    let plan = best_plan(&recurrence.product, &prices, true)
        .ok_or_else(|| NotApplicable("no plan computes the product of a recurrence".into()))?;
    let orders = plan.product.orders;
    if orders.x != orders.y || orders.y != orders.out {
        return Err(NotApplicable("a product whose factors are not ordered alike has no powers".into()));
    }
    Ok(plan)
}

/// Sixteen bytes as a number, the first one the least significant.
pub fn of_bytes(byte: impl Fn(u32) -> u8) -> u128 {
    (0..16).map(|at| u128::from(byte(at)) << (8 * at)).sum()
}
