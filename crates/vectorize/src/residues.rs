//! Limbs for linear recurrences modulo a number: three of a width that suits products of 52 bits, and of 64.

use crate::NotApplicable;
use headrace_transform::kernel::Residue;

/// Bits of a limb where there are three.
pub const LIMB: u32 = 44;

/// Blocks from which on powers are worth computing.
pub const LEAST_BLOCKS: u64 = 12;

/// Whether three limbs suit a modulus: they hold it, a block is less than it, and what goes over the last limb is worth little in
/// the first.
///
/// # Errors
///
/// They do not.
pub fn suits(residue: Residue) -> Result<(), NotApplicable> {
    let bits = residue.bits;
    match (129..=3 * LIMB).contains(&bits) && residue.less << (3 * LIMB - bits) < 256 {
        true => Ok(()),
        false => Err(NotApplicable("no limbs suit its modulus".into())),
    }
}
