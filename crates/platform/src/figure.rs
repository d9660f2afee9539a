//! Figures with their sources: no number of a platform stands without where it comes from.

use serde::{Deserialize, Serialize};

/// A number and where it comes from. Which numbers are allowed (0, say) is up to who reads the platform.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked<T>", bound(deserialize = "T: Deserialize<'de>"))]
pub struct Figure<T> {
    /// The number, in the unit that the field says which has it.
    pub value: T,
    /// A data sheet, a paper with its table, a measurement, or what it was fitted to.
    pub source: String,
}

/// A statement that is no number, with its source.
pub type Text = Figure<String>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a value with where it comes from: `{ value = …, source = \"…\" }`")]
struct Unchecked<T> {
    value: T,
    source: String,
}

impl<T> TryFrom<Unchecked<T>> for Figure<T> {
    type Error = &'static str;

    fn try_from(Unchecked { value, source }: Unchecked<T>) -> Result<Self, Self::Error> {
        match source.trim().is_empty() {
            true => Err("`source` is empty; say where the number comes from"),
            false => Ok(Self { value, source }),
        }
    }
}

impl<T> std::ops::Deref for Figure<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}
