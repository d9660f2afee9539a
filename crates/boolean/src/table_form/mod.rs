//! The normal form of look-up tables over GF(2): what is non-linear in a table, separated from what is not.
//!
//! A table of n bits to m is written as
//!
//! ```text
//! T(x) = M · S(x)  ^  A · x  ^  c        S: n -> k bits, M: m x k, A: m x n, c: m bits
//! ```
//!
//! where the k functions of S are a basis of all XORs of output bits of T *modulo affine functions*: k is as small as can be,
//! and 0 for a table that happens to be affine. S is made unique by Gauss and Jordan's elimination on the algebraic normal
//! forms, the monomials of the highest degree first, the constant and the linear ones left out. So tables that differ by an
//! invertible matrix behind them, by an affine function added to them, by repeated or missing outputs that span the same,
//! have the *same* S, and it can be computed once for all of them:
//!
//! ```
//! use headrace_boolean::table_form::TableForm;
//! let multiply = TableForm::of_entries(2, 1, &[0, 0, 0, 1]).unwrap(); // x0 & x1
//! let either = TableForm::of_entries(2, 2, &[0b10, 0b11, 0b01, 0b01]).unwrap(); // x0 | x1, and !x1
//! assert_eq!(multiply.nonlinear(), either.nonlinear());
//! assert_eq!(either.output().to_string(), "1\n.\n"); // x0 | x1 = (x0 & x1) ^ x0 ^ x1: the product goes to output 0
//! assert_eq!(either.linear().to_string(), "11\n.1\n");
//! assert_eq!(either.constant().to_string(), ".1");
//! ```
//!
//! S stands on the inputs that it depends on only (the *support*), so that a table of more inputs that ignores some of them
//! has the S of the smaller one. Equivalence that also changes the inputs is not looked for here.
//!
//! `merge` goes the other way: it puts a linear map that follows tables into them.

mod merge;

pub use merge::{Lookup, MergeCost, MergedTables, Prices, SubstitutionLayer};

use crate::matrix::{AffineMap, BitMatrix, BitVector};
use crate::truth_table::Table;
use std::fmt;

/// Tables of at most this many inputs have a form: 65 536 entries.
pub const MAX_FORM_INPUTS: usize = 16;

/// What is not a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormError {
    /// More than [`MAX_FORM_INPUTS`].
    TooManyInputs(usize),
    /// Not 2^n_inputs entries.
    Length {
        /// What there should be.
        expected: usize,
        /// What there is.
        found: usize,
    },
}

impl fmt::Display for FormError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FormError::TooManyInputs(n) => write!(f, "{n} inputs; forms are made for at most {MAX_FORM_INPUTS}"),
            FormError::Length { expected, found } => {
                write!(f, "a table has {expected} entries, one for each input; here are {found}")
            }
        }
    }
}

impl std::error::Error for FormError {}

/// The non-linear part of a table: functions that are linearly independent modulo affine ones, in the unique form that the
/// module describes. Two tables need the same non-linear work exactly when these are equal.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Nonlinear {
    n_inputs: usize,
    functions: Vec<BitVector>,
}

impl Nonlinear {
    /// How many inputs it has; it depends on each of them.
    pub fn n_inputs(&self) -> usize {
        self.n_inputs
    }

    /// k: how many functions there are.
    pub fn n_functions(&self) -> usize {
        self.functions.len()
    }

    /// Function `j`, as the bits of its truth table, that for input 0 first.
    pub fn functions(&self) -> &[BitVector] {
        &self.functions
    }

    /// The values of the functions at `x`.
    pub fn at(&self, x: usize) -> BitVector {
        BitVector::from_bits(self.functions.iter().map(|f| f.get(x)))
    }

    /// The highest degree of a function; 0 when there is none.
    pub fn degree(&self) -> u32 {
        let highest = |f: &BitVector| normal_form(f).ones().map(|monomial| monomial.count_ones()).max().unwrap_or(0);
        self.functions.iter().map(highest).max().unwrap_or(0)
    }

    /// The functions as a table, where they are few and small enough for one.
    pub fn table(&self) -> Option<Table> {
        if self.functions.len() > 64 {
            return None;
        }
        let entries: Vec<u64> = (0..1_usize << self.n_inputs).map(|x| self.at(x).to_u128() as u64).collect();
        Table::new(self.n_inputs, self.functions.len(), &entries).ok()
    }
}

/// A table as `M · S(x) ^ A · x ^ c`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TableForm {
    n_inputs: usize,
    support: Vec<usize>,
    nonlinear: Nonlinear,
    output: BitMatrix,
    linear: BitMatrix,
    constant: BitVector,
}

/// A table through another one on the same inputs, see [`TableForm::through`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Through {
    /// What is done to the outputs of the other table.
    pub output: BitMatrix,
    /// What is added of the inputs.
    pub linear: BitMatrix,
    /// What is added.
    pub constant: BitVector,
}

impl TableForm {
    /// The form of a table of at most 128 outputs, from its entries.
    pub fn of_entries(n_inputs: usize, n_outputs: usize, entries: &[u128]) -> Result<TableForm, FormError> {
        check(n_inputs, entries.len())?;
        let functions: Vec<BitVector> = (0..n_outputs)
            .map(|i| BitVector::from_bits(entries.iter().map(|entry| i < 128 && entry >> i & 1 != 0)))
            .collect();
        TableForm::of_functions(n_inputs, &functions)
    }

    /// The form of a table.
    pub fn of_table(table: &Table) -> TableForm {
        let functions: Vec<BitVector> = (0..table.n_outputs())
            .map(|i| BitVector::from_bits(table.entries().iter().map(|entry| entry >> i & 1 != 0)))
            .collect();
        form(table.n_inputs(), &functions)
    }

    /// The form of the table with these outputs, each as the 2^n_inputs bits of its truth table.
    pub fn of_functions(n_inputs: usize, functions: &[BitVector]) -> Result<TableForm, FormError> {
        check(n_inputs, if n_inputs <= MAX_FORM_INPUTS { 1 << n_inputs } else { 0 })?;
        functions.iter().try_for_each(|f| check(n_inputs, f.len()))?;
        Ok(form(n_inputs, functions))
    }

    /// The form of all of these tables on the same inputs as one: their outputs one after the other. Its S serves all of them.
    pub fn join(forms: &[&TableForm]) -> Result<TableForm, FormError> {
        let n_inputs = forms.iter().map(|form| form.n_inputs).max().unwrap_or(0);
        let functions: Vec<BitVector> = forms.iter().flat_map(|form| form.functions()).collect();
        TableForm::of_functions(n_inputs, &functions)
    }

    /// n: the number of inputs.
    pub fn n_inputs(&self) -> usize {
        self.n_inputs
    }

    /// m: the number of outputs.
    pub fn n_outputs(&self) -> usize {
        self.constant.len()
    }

    /// Which inputs S reads: its input `i` is input `support()[i]` of the table.
    pub fn support(&self) -> &[usize] {
        &self.support
    }

    /// S.
    pub fn nonlinear(&self) -> &Nonlinear {
        &self.nonlinear
    }

    /// M.
    pub fn output(&self) -> &BitMatrix {
        &self.output
    }

    /// A.
    pub fn linear(&self) -> &BitMatrix {
        &self.linear
    }

    /// c.
    pub fn constant(&self) -> &BitVector {
        &self.constant
    }

    /// The table as an affine map, when it is one.
    pub fn as_affine(&self) -> Option<AffineMap> {
        (self.nonlinear.n_functions() == 0)
            .then(|| AffineMap::new(self.linear.clone(), self.constant.clone()).ok())
            .flatten()
    }

    /// The inputs that the table depends on, linearly or not, lowest first.
    pub fn used_inputs(&self) -> Vec<usize> {
        let mut used = self.linear.used_columns();
        self.support.iter().for_each(|&i| used.set(i, true));
        used.ones().collect()
    }

    /// The entry for `x`.
    pub fn at(&self, x: usize) -> BitVector {
        let inner = self.support.iter().enumerate().fold(0, |inner, (to, from)| inner | (x >> from & 1) << to);
        let values = self.nonlinear.at(inner);
        let input = BitVector::from_u128(self.n_inputs, x as u128);
        BitVector::from_bits(
            (0..self.n_outputs())
                .map(|i| self.output.row(i).dot(&values) ^ self.linear.row(i).dot(&input) ^ self.constant.get(i)),
        )
    }

    /// The outputs as truth tables.
    pub fn functions(&self) -> Vec<BitVector> {
        let entries: Vec<BitVector> = (0..1_usize << self.n_inputs).map(|x| self.at(x)).collect();
        (0..self.n_outputs()).map(|i| BitVector::from_bits(entries.iter().map(|entry| entry.get(i)))).collect()
    }

    /// This table from the outputs of another one: `T(x) = output · R(x) ^ linear · x ^ constant`, when there is such a way.
    /// `R` reads the same inputs, or, when it has just as many inputs as this table's S, those of the support.
    ///
    /// This is how a table that has a linear map merged into it is led back to the plain one, for which there may be a
    /// circuit or an instruction.
    pub fn through(&self, reference: &TableForm) -> Option<Through> {
        let places: Vec<usize> = if reference.n_inputs == self.n_inputs {
            (0..self.n_inputs).collect()
        } else if reference.n_inputs == self.support.len() {
            self.support.clone()
        } else {
            return None;
        };
        let read: Vec<usize> = reference.support.iter().map(|&i| places[i]).collect();
        // The functions of both non-linear parts on all inputs: rows of normal forms.
        let rows = |nonlinear: &Nonlinear, support: &[usize]| {
            let spread = |monomial: usize| {
                support.iter().enumerate().fold(0, |wide, (from, to)| wide | (monomial >> from & 1) << to)
            };
            let row = |f: &BitVector| {
                let mut wide = BitVector::zero(1 << self.n_inputs);
                normal_form(f).ones().for_each(|monomial| wide.set(spread(monomial), true));
                wide
            };
            let rows: Vec<BitVector> = nonlinear.functions.iter().map(row).collect();
            BitMatrix::from_rows(1 << self.n_inputs, &rows)
        };
        // output · (M_R · S_R) = M · S, transposed to find the first factor.
        let have = reference.output.multiply(&rows(&reference.nonlinear, &read)).ok()?;
        let want = self.output.multiply(&rows(&self.nonlinear, &self.support)).ok()?;
        let output = have.transpose().solve_matrix(&want.transpose())?.transpose();
        let inputs = BitMatrix::from_fn(reference.n_inputs, self.n_inputs, |i, j| places[i] == j);
        let linear = output.multiply(&reference.linear).ok()?.multiply(&inputs).ok()?.add(&self.linear).ok()?;
        let constant = output.apply(&reference.constant).ok()?.xor(&self.constant);
        Some(Through { output, linear, constant })
    }
}

fn check(n_inputs: usize, found: usize) -> Result<(), FormError> {
    if n_inputs > MAX_FORM_INPUTS {
        return Err(FormError::TooManyInputs(n_inputs));
    }
    if found != 1 << n_inputs {
        return Err(FormError::Length { expected: 1 << n_inputs, found });
    }
    Ok(())
}

/// The algebraic normal form of a truth table, and the truth table of a normal form: Möbius' transform undoes itself. Bit
/// `u` of a normal form says whether the product of the inputs in `u` is a term.
fn normal_form(function: &BitVector) -> BitVector {
    const MASKS: [u64; 6] = [
        0x5555_5555_5555_5555,
        0x3333_3333_3333_3333,
        0x0f0f_0f0f_0f0f_0f0f,
        0x00ff_00ff_00ff_00ff,
        0x0000_ffff_0000_ffff,
        0x0000_0000_ffff_ffff,
    ];
    let mut words = function.words().to_vec();
    for word in &mut words {
        for (level, mask) in MASKS.iter().enumerate() {
            *word ^= (*word & mask) << (1 << level);
        }
    }
    let mut distance = 1;
    while distance < words.len() {
        for i in 0..words.len() {
            if i & distance != 0 {
                words[i] ^= words[i ^ distance];
            }
        }
        distance *= 2;
    }
    BitVector::from_words(function.len(), &words)
}

/// The form of functions of `n_inputs` inputs each.
fn form(n_inputs: usize, functions: &[BitVector]) -> TableForm {
    let forms: Vec<BitVector> = functions.iter().map(normal_form).collect();
    let constant = BitVector::from_bits(forms.iter().map(|f| f.get(0)));
    let linear = BitMatrix::from_fn(functions.len(), n_inputs, |i, j| forms[i].get(1 << j));
    // The columns of the elimination: the monomials that are neither constant nor linear, the highest degrees first.
    let mut monomials: Vec<usize> = (0..1_usize << n_inputs).filter(|m| m.count_ones() > 1).collect();
    monomials.sort_by_key(|monomial| (std::cmp::Reverse(monomial.count_ones()), *monomial));
    let rows: Vec<BitVector> =
        forms.iter().map(|f| BitVector::from_bits(monomials.iter().map(|&monomial| f.get(monomial)))).collect();
    let rows = BitMatrix::from_rows(monomials.len(), &rows);
    let echelon = rows.echelon();
    let k = echelon.pivots.len();
    let reduced: Vec<Vec<usize>> =
        (0..k).map(|i| echelon.reduced.ones_in_row(i).map(|column| monomials[column]).collect()).collect();
    // A row of the original is the XOR of the reduced rows in whose pivot columns it has ones.
    let output = BitMatrix::from_fn(functions.len(), k, |i, j| rows.get(i, echelon.pivots[j]));

    let used = reduced.iter().flatten().fold(0, |used, monomial| used | monomial);
    let support: Vec<usize> = (0..n_inputs).filter(|i| used >> i & 1 != 0).collect();
    let narrow = |monomial: usize| {
        support.iter().enumerate().fold(0, |narrow, (to, from)| narrow | (monomial >> from & 1) << to)
    };
    let functions = reduced
        .iter()
        .map(|terms| {
            let mut f = BitVector::zero(1 << support.len());
            terms.iter().for_each(|&monomial| f.set(narrow(monomial), true));
            normal_form(&f)
        })
        .collect();
    let nonlinear = Nonlinear { n_inputs: support.len(), functions };
    TableForm { n_inputs, support, nonlinear, output, linear, constant }
}

#[cfg(test)]
mod tests;
