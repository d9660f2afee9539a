//! Hash-consing of byte functions. Functions of a byte that are 0 for 0, each held once, and XOR sums of them.

use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Values of a byte.
pub const VALUES: usize = 256;

/// A function of a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionId(pub u32);

/// A byte of which sums are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ByteId(pub u32);

/// All functions.
pub struct Functions {
    all: Vec<Rc<[u128]>>,
    known: FxHashMap<Rc<[u128]>, FunctionId>,
    sums: FxHashMap<(FunctionId, FunctionId), Option<FunctionId>>,
}

/// A constant and functions of bytes, added without carries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sum {
    /// What it is where all bytes are 0.
    pub constant: u128,
    /// No function of these is 0.
    pub terms: BTreeMap<ByteId, FunctionId>,
}

impl Sum {
    /// A sum without bytes.
    pub fn constant(constant: u128) -> Self {
        Sum { constant, terms: BTreeMap::new() }
    }

    /// Whether no byte is in it.
    pub fn is_constant(&self) -> bool {
        self.terms.is_empty()
    }

    /// The only byte, and its function.
    pub fn single(&self) -> Option<(ByteId, FunctionId)> {
        let mut terms = self.terms.iter();
        terms.next().filter(|_| self.terms.len() == 1).map(|(&byte, &function)| (byte, function))
    }
}

impl Functions {
    /// None but the one that gives its byte, which is number 0.
    pub fn new() -> Self {
        let mut functions = Functions { all: Vec::new(), known: FxHashMap::default(), sums: FxHashMap::default() };
        functions.add((0..VALUES as u128).collect());
        functions
    }

    /// The byte itself.
    pub const IDENTITY: FunctionId = FunctionId(0);

    /// The function of these values, of which the first is 0; `None`: all are.
    pub fn add(&mut self, values: Vec<u128>) -> Option<FunctionId> {
        if values.iter().all(|&value| value == 0) {
            return None;
        }
        if let Some(&id) = self.known.get(values.as_slice()) {
            return Some(id);
        }
        let (values, id): (Rc<[u128]>, _) = (values.into(), FunctionId(self.all.len() as u32));
        self.known.insert(values.clone(), id);
        self.all.push(values);
        Some(id)
    }

    /// The values of a function.
    pub fn values(&self, id: FunctionId) -> Rc<[u128]> {
        self.all[id.0 as usize].clone()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// The sum of two sums.
    pub fn xor(&mut self, a: &Sum, b: &Sum) -> Sum {
        let mut sum = a.clone();
        sum.constant ^= b.constant;
        for (&byte, &function) in &b.terms {
            let both = match sum.terms.get(&byte) {
                Some(&other) => self.both(other, function),
                None => Some(function),
            };
            match both {
                Some(both) => _ = sum.terms.insert(byte, both),
                None => _ = sum.terms.remove(&byte),
            }
        }
        sum
    }

    fn both(&mut self, a: FunctionId, b: FunctionId) -> Option<FunctionId> {
        let key = (a.min(b), a.max(b));
        if let Some(&known) = self.sums.get(&key) {
            return known;
        }
        let (first, second) = (self.values(a), self.values(b));
        let both = self.add(first.iter().zip(second.iter()).map(|(a, b)| a ^ b).collect());
        self.sums.insert(key, both);
        both
    }

    /// An operation on a sum for which `of(a ^ b) ^ of(0)` is `of(a) ^ of(b)` whatever values the sum takes.
    pub fn map(&mut self, sum: &Sum, of: impl Fn(u128) -> u128) -> Sum {
        let constant = of(0);
        let mut terms = BTreeMap::new();
        for (&byte, &function) in &sum.terms {
            let values = self.values(function);
            if let Some(function) = self.add(values.iter().map(|&value| of(value) ^ constant).collect()) {
                terms.insert(byte, function);
            }
        }
        Sum { constant: of(sum.constant), terms }
    }

    /// A sum of one byte, for which all values are known.
    pub fn of_byte(&mut self, byte: ByteId, values: &[u128]) -> Sum {
        let constant = values.first().copied().unwrap_or(0);
        let function = self.add(values.iter().map(|&value| value ^ constant).collect());
        Sum { constant, terms: function.map(|function| (byte, function)).into_iter().collect() }
    }

    /// Values whose sums are all that a sum takes, without its constant: `None` if these are more than `most`.
    pub fn basis(&self, sum: &Sum, most: usize) -> Option<Vec<u128>> {
        let mut basis: Vec<u128> = Vec::new();
        for &function in sum.terms.values() {
            for &value in self.values(function).iter() {
                let rest = basis.iter().fold(value, |rest, &one| rest.min(rest ^ one));
                if rest != 0 {
                    if basis.len() == most {
                        return None;
                    }
                    basis.push(rest);
                }
            }
        }
        Some(basis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_functions_are_functions_of_sums() {
        let mut functions = Functions::new();
        let (x, y) = (ByteId(3), ByteId(7));
        let squares: Vec<u128> = (0..256).map(|value| (value * value) ^ 0x55).collect();
        let a = functions.of_byte(x, &squares);
        assert_eq!((a.constant, a.terms.len()), (0x55, 1));
        let b = functions.of_byte(y, &(0..256).collect::<Vec<u128>>());
        assert_eq!(b.single(), Some((y, Functions::IDENTITY)));
        let both = functions.xor(&a, &b);
        assert_eq!((both.constant, both.terms.len(), both.single()), (0x55, 2, None));
        // What is added twice is gone.
        let back = functions.xor(&both, &b);
        assert_eq!(back, a);
        let low = functions.map(&both, |value| value & 15 ^ 2);
        assert_eq!(low.constant, 0x55 & 15 ^ 2);
        assert_eq!(functions.values(low.terms[&x])[9], (81 ^ 0x55 ^ 0x55) & 15);
        assert_eq!(functions.basis(&b, 8).map(|basis| basis.len()), Some(8));
        assert_eq!(functions.basis(&b, 7), None);
    }
}
