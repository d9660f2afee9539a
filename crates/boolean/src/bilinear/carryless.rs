//! Products modulo a polynomial of degree 64 or 128 with carry-less multiplications of 64 bits by 64.
//!
//! A plan has four parts, so that what is loop-invariant can stand outside the loop and what is linear can be shared:
//!
//! ```text
//! x ─ prepare_x ─┐
//!                ├─ multiply ─▶ unreduced ─ (XOR of many of these) ─▶ reduce ─▶ out
//! y ─ prepare_y ─┘
//! ```
//!
//! * *multiply*: by words of 64 bits (4 multiplications for degree 128), or by Karatsuba's identity (3).
//! * *reduce* from the top: the part above X^n is taken off, 64 bits at a time, by multiplying it with P's low part. For a P
//!   whose low part has more than 64 bits, by Barrett's quotient.
//! * *reduce* from the bottom, as Montgomery does: multiples of P clear the low half, which divides the product by X^n. It is
//!   what reversed bit orders ask for.
//!
//! What the reduction multiplies by and the product's own factor need not agree: one X too many or too few is a shift, anything
//! else goes into `prepare_y` as a product with a constant.
//!
//! Example, n = 64, P = X^64 + X^4 + X^3 + X + 1, from the top:
//!
//! ```text
//! z = x0 * y0               the product of 127 bits
//! q = z1 ^ hi(z1 * 0x1b)    the quotient z / P (Barrett; here X^128 / P = X^64 + 0x1b)
//! out = lo(z ^ q * 0x1b)
//! ```
//!
//! **Proof.** [`Program::computes`] follows through a program which values are constant, linear in `x`, linear in `y` or
//! bilinear, and then compares it with the map on all pairs of unit vectors; for a bilinear program that is all of it.

mod plan;
mod program;

pub use plan::{Multiplication, Plan, Reduction, best_plan, plans};
pub use program::{Half, Op, Prices, Program};
