//! Linear forms over GF(2). Exclusive ors of bits.

use std::rc::Rc;

/// An exclusive or of source bits and perhaps 1. Two forms are equal where they are the same function of the sources.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Form {
    /// Numbers of source bits, each once, ascending.
    terms: Option<Rc<[u32]>>,
    /// Whether 1 is added.
    one: bool,
}

impl Form {
    /// 0.
    pub const ZERO: Form = Form { terms: None, one: false };

    /// A constant.
    pub fn constant(one: bool) -> Form {
        Form { terms: None, one }
    }

    /// One source bit.
    pub fn bit(source: u32) -> Form {
        Form { terms: Some(Rc::from([source])), one: false }
    }

    /// From terms in any order; what occurs twice is gone.
    pub fn of(mut terms: Vec<u32>, one: bool) -> Form {
        terms.sort_unstable();
        let mut kept: Vec<u32> = Vec::with_capacity(terms.len());
        for term in terms {
            if kept.last() == Some(&term) {
                kept.pop();
            } else {
                kept.push(term);
            }
        }
        Form::sorted(kept, one)
    }

    fn sorted(terms: Vec<u32>, one: bool) -> Form {
        Form { terms: if terms.is_empty() { None } else { Some(terms.into()) }, one }
    }

    /// The source bits.
    pub fn terms(&self) -> &[u32] {
        self.terms.as_deref().unwrap_or(&[])
    }

    /// Whether 1 is added.
    pub fn one(&self) -> bool {
        self.one
    }

    /// The value, if it depends on nothing.
    pub fn known(&self) -> Option<bool> {
        if self.terms.is_none() { Some(self.one) } else { None }
    }

    /// The form with another constant.
    pub fn with_one(&self, one: bool) -> Form {
        Form { terms: self.terms.clone(), one }
    }

    /// The exclusive or of two forms.
    pub fn xor(&self, other: &Form) -> Form {
        let one = self.one ^ other.one;
        let (a, b) = match (&self.terms, &other.terms) {
            (_, None) => return self.with_one(one),
            (None, _) => return other.with_one(one),
            (Some(a), Some(b)) => (a, b),
        };
        let mut merged = Vec::with_capacity(a.len() + b.len());
        let (mut i, mut j) = (0, 0);
        while i < a.len() && j < b.len() {
            match a[i].cmp(&b[j]) {
                std::cmp::Ordering::Less => {
                    merged.push(a[i]);
                    i += 1;
                }
                std::cmp::Ordering::Greater => {
                    merged.push(b[j]);
                    j += 1;
                }
                std::cmp::Ordering::Equal => {
                    i += 1;
                    j += 1;
                }
            }
        }
        merged.extend_from_slice(&a[i..]);
        merged.extend_from_slice(&b[j..]);
        Form::sorted(merged, one)
    }
}

#[cfg(test)]
mod tests {
    use super::Form;

    #[test]
    fn what_occurs_twice_is_gone() {
        let ab = Form::of(vec![7, 3, 3, 5], true);
        assert_eq!(ab.terms(), [5, 7]);
        let sum = ab.xor(&Form::of(vec![5, 9], true));
        assert_eq!((sum.terms(), sum.one()), (&[7, 9][..], false));
        assert_eq!(sum.xor(&sum), Form::ZERO);
    }
}
