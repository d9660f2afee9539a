//! Figures with their sources: no number of a machine stands without where it comes from.

use serde::{Deserialize, Serialize};

/// A positive number and where it comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked<T>", bound(deserialize = "T: Number + Deserialize<'de>"))]
pub struct Figure<T> {
    /// The number, in the unit that the field says which has it.
    pub value: T,
    /// A measurement, a table of a manual, or what it was estimated from.
    pub source: String,
}

/// Types of figures.
pub trait Number: Copy {
    /// Whether it is more than nothing, and finite.
    fn is_usable(self) -> bool;
}

impl Number for f64 {
    fn is_usable(self) -> bool {
        self > 0.0 && self.is_finite()
    }
}

impl Number for u32 {
    fn is_usable(self) -> bool {
        self > 0
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Unchecked<T> {
    value: T,
    source: String,
}

impl<T: Number> TryFrom<Unchecked<T>> for Figure<T> {
    type Error = &'static str;

    fn try_from(Unchecked { value, source }: Unchecked<T>) -> Result<Self, Self::Error> {
        match value.is_usable() {
            true if !source.trim().is_empty() => Ok(Self { value, source }),
            true => Err("`source` is empty; say where the number comes from"),
            false => Err("`value` must be more than 0"),
        }
    }
}
