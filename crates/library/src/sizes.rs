//! Legal sizes of byte strings: which lengths a primitive takes, and the sentence that says so.

use std::fmt;

/// Bytes of the nonces that protocols take wherever they may: RFC 5116, section 3.2.
pub(crate) const USUAL_NONCE_BYTES: u64 = 12;

/// One bound of a size in a manifest: a number of bytes, or the block of the cipher that a mode is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// A number of bytes.
    Bytes(u64),
    /// The block size of the cipher.
    Block,
}

/// A size as it stands in a manifest, before a mode has met its cipher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SizeRule {
    /// One of these.
    OneOf(Vec<Bound>),
    /// From `min` to `max`, in steps of `multiple` from zero.
    Range {
        /// Least.
        min: Bound,
        /// Greatest, where there is one.
        max: Option<Bound>,
        /// Every length is a multiple of it.
        multiple: Bound,
    },
}

impl SizeRule {
    /// Any length.
    pub fn any() -> Self {
        SizeRule::Range { min: Bound::Bytes(0), max: None, multiple: Bound::Bytes(1) }
    }

    /// The lengths meant when the block has `block_bytes`; `None` when a block is asked for and there is none.
    pub fn resolve(&self, block_bytes: Option<u64>) -> Option<Sizes> {
        let value = |bound: &Bound| match bound {
            Bound::Bytes(n) => Some(*n),
            Bound::Block => block_bytes,
        };
        Some(match self {
            SizeRule::OneOf(bounds) => {
                let mut sizes = bounds.iter().map(value).collect::<Option<Vec<u64>>>()?;
                sizes.sort_unstable();
                sizes.dedup();
                Sizes::OneOf(sizes)
            }
            SizeRule::Range { min, max, multiple } => Sizes::Range {
                min: value(min)?,
                max: match max {
                    Some(bound) => value(bound)?,
                    None => u64::MAX,
                },
                multiple: value(multiple)?.max(1),
            },
        })
    }
}

/// The legal lengths of a byte string, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// One of these, ascending.
    OneOf(Vec<u64>),
    /// `min..=max`, multiples of `multiple`.
    Range {
        /// Least.
        min: u64,
        /// Greatest; `u64::MAX` when there is no limit.
        max: u64,
        /// Every length is a multiple of it; at least 1.
        multiple: u64,
    },
}

impl Sizes {
    /// Any length.
    pub fn any() -> Self {
        Sizes::Range { min: 0, max: u64::MAX, multiple: 1 }
    }

    /// Exactly `bytes`.
    pub fn exactly(bytes: u64) -> Self {
        Sizes::OneOf(vec![bytes])
    }

    /// The length, where only one is legal. Such a string has no size companion.
    pub fn fixed(&self) -> Option<u64> {
        match self {
            Sizes::OneOf(sizes) => match sizes.as_slice() {
                [one] => Some(*one),
                _ => None,
            },
            Sizes::Range { min, max, .. } => (min == max).then_some(*min),
        }
    }

    /// Whether a string of `length` bytes is legal.
    pub fn allows(&self, length: u64) -> bool {
        match self {
            Sizes::OneOf(sizes) => sizes.contains(&length),
            Sizes::Range { min, max, multiple } => {
                (*min..=*max).contains(&length) && length.is_multiple_of((*multiple).max(1))
            }
        }
    }

    /// The greatest legal length; `u64::MAX` without a limit, 0 when none is legal.
    pub fn max(&self) -> u64 {
        match self {
            Sizes::OneOf(sizes) => sizes.iter().copied().max().unwrap_or(0),
            Sizes::Range { max, .. } => *max,
        }
    }

    /// The least legal length.
    pub fn min(&self) -> u64 {
        match self {
            Sizes::OneOf(sizes) => sizes.iter().copied().min().unwrap_or(0),
            Sizes::Range { min, multiple, .. } => min.checked_next_multiple_of((*multiple).max(1)).unwrap_or(*min),
        }
    }
}

fn bytes(n: u64) -> String {
    if n == 1 { "1 byte".into() } else { format!("{n} bytes") }
}

impl fmt::Display for Sizes {
    /// `16 bytes`, `16 or 24 bytes`, `1 to 56 bytes`, `a multiple of 16 bytes`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sizes::OneOf(sizes) => match sizes.split_last() {
                None => f.write_str("no size at all"),
                Some((last, [])) => f.write_str(&bytes(*last)),
                Some((last, rest)) => {
                    let rest: Vec<String> = rest.iter().map(u64::to_string).collect();
                    write!(f, "{} or {}", rest.join(", "), bytes(*last))
                }
            },
            Sizes::Range { min, max, multiple } => {
                let range = match (*min, *max) {
                    (0, u64::MAX) => None,
                    (min, u64::MAX) => Some(format!("at least {}", bytes(min))),
                    (0, max) => Some(format!("at most {}", bytes(max))),
                    (min, max) if min == max => Some(bytes(min)),
                    (min, max) => Some(format!("{min} to {}", bytes(max))),
                };
                match (range, *multiple) {
                    (None, 0 | 1) => f.write_str("any number of bytes"),
                    (Some(range), 0 | 1) => f.write_str(&range),
                    (None, m) => write!(f, "a multiple of {}", bytes(m)),
                    (Some(range), m) => write!(f, "{range}, a multiple of {m}"),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_is_legal() {
        let range = |min, max, multiple| Sizes::Range { min, max, multiple };
        assert_eq!(Sizes::exactly(1).to_string(), "1 byte");
        assert_eq!(Sizes::OneOf(vec![8, 16, 24]).to_string(), "8, 16 or 24 bytes");
        assert_eq!(range(1, 56, 1).to_string(), "1 to 56 bytes");
        assert_eq!(range(0, u64::MAX, 16).to_string(), "a multiple of 16 bytes");
        assert_eq!(range(0, 64, 8).to_string(), "at most 64 bytes, a multiple of 8");
        assert_eq!(Sizes::any().to_string(), "any number of bytes");
    }

    #[test]
    fn a_block_is_settled_by_the_cipher() {
        let rule = SizeRule::OneOf(vec![Bound::Block]);
        assert_eq!(rule.resolve(Some(8)), Some(Sizes::exactly(8)));
        assert_eq!(rule.resolve(None), None);
        let rule = SizeRule::Range { min: Bound::Bytes(0), max: None, multiple: Bound::Block };
        let sizes = rule.resolve(Some(16)).unwrap();
        assert!(sizes.allows(0) && sizes.allows(32) && !sizes.allows(33));
        assert_eq!(sizes.fixed(), None);
    }
}
