//! Affine equivalence of tables. Tables up to a linear map behind them.
//!
//! Tables of one *space* differ only by what linear map follows: an S-box and the tables that merge it with a linear
//! layer are one non-linear function, `T(x) = M * R(x) + A * x + c`, where `R` has as many outputs of the first table
//! met as there are independent ones modulo affine functions. [`TableForm`] finds M, A and c; here is what has been
//! met.
//!
//! Example: AES's S-box and each of the four tables that merge it with a column of the mixing matrix have one `R` of 8
//! functions; M is 8 x 8 for the one and 32 x 8 for the others, and A is 0.

use headrace_boolean::matrix::{BitMatrix, BitVector};
use headrace_boolean::table_form::{TableForm, Through};

/// Most bits of an index.
pub const MAX_INDEX_BITS: usize = 8;

/// A table as a linear map behind a function.
#[derive(Clone, Debug)]
pub struct InSpace {
    /// Number of the space; none where the table is affine.
    pub space: Option<usize>,
    /// The map: of the functions of the space, and of the bits of the index.
    pub map: Through,
}

/// The spaces met so far.
#[derive(Clone, Debug, Default)]
pub struct Spaces {
    /// R of each; its functions are 0 at 0.
    functions: Vec<TableForm>,
}

impl Spaces {
    /// The functions of a space by number.
    pub fn get(&self, number: usize) -> &TableForm {
        &self.functions[number]
    }

    /// A table of 2^n elements (n at most [`MAX_INDEX_BITS`]) in terms of a space, which is added if
    /// it is new. `None` for tables of other sizes.
    pub fn table_form(&mut self, elements: &[u128], width: u32) -> Option<InSpace> {
        let index_bits = elements.len().trailing_zeros() as usize;
        if !elements.len().is_power_of_two() || !(1..=MAX_INDEX_BITS).contains(&index_bits) {
            return None;
        }
        let form = TableForm::of_entries(index_bits, width as usize, elements).ok()?;
        if let Some(affine) = form.as_affine() {
            let output = BitMatrix::zero(width as usize, 0);
            let map = Through { output, linear: affine.matrix().clone(), constant: affine.constant().clone() };
            return Some(InSpace { space: None, map });
        }
        for (number, functions) in self.functions.iter().enumerate() {
            if functions.n_inputs() == index_bits
                && let Some(map) = form.through(functions)
            {
                return Some(InSpace { space: Some(number), map });
            }
        }
        let functions = independent(&form)?;
        let map = form.through(&functions)?;
        self.functions.push(functions);
        Some(InSpace { space: Some(self.functions.len() - 1), map })
    }
}

/// As many outputs of a table as are independent modulo affine functions, made 0 at 0.
fn independent(form: &TableForm) -> Option<TableForm> {
    let n_functions = form.nonlinear().n_functions();
    let mut rows: Vec<BitVector> = Vec::new();
    let mut chosen = Vec::new();
    for (output, function) in form.functions().into_iter().enumerate() {
        rows.push(form.output().row(output));
        if BitMatrix::from_rows(n_functions, &rows).rank() < rows.len() {
            rows.pop();
            continue;
        }
        let at_zero = function.get(0);
        chosen.push(BitVector::from_bits((0..function.len()).map(|x| function.get(x) ^ at_zero)));
    }
    TableForm::of_functions(form.n_inputs(), &chosen).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evaluate(spaces: &Spaces, form: &InSpace, x: usize) -> u128 {
        let functions = form.space.map(|space| spaces.get(space).at(x));
        let index = BitVector::from_u128(form.map.linear.n_columns(), x as u128);
        let mut value = 0;
        for bit in 0..form.map.constant.len() {
            let of_functions = functions.as_ref().is_some_and(|functions| form.map.output.row(bit).dot(functions));
            let sum = of_functions ^ form.map.linear.row(bit).dot(&index) ^ form.map.constant.get(bit);
            value |= u128::from(sum) << bit;
        }
        value
    }

    /// A permutation of bytes without structure.
    fn scrambled() -> Vec<u128> {
        let mut table: Vec<u128> = (0..256).collect();
        let mut state = 1u64;
        for i in (1..256).rev() {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            table.swap(i, (state >> 33) as usize % (i + 1));
        }
        table
    }

    #[test]
    fn tables_that_differ_by_what_follows_are_one_function() {
        let mut spaces = Spaces::default();
        let first = scrambled();
        // A linear map of 8 bits to 32 behind it, its index added, and a constant.
        let second: Vec<u128> = first.iter().map(|&y| y | (y ^ y << 1 & 0xff) << 8 | (y << 24) ^ 0x1234).collect();
        let third: Vec<u128> = first.iter().enumerate().map(|(x, &y)| y ^ x as u128).collect();
        let other: Vec<u128> = (0..256).map(|x: u128| first[((x * 5 + 1) & 255) as usize]).collect();
        let forms: Vec<InSpace> = [(&first, 8), (&second, 32), (&third, 8), (&other, 8)]
            .map(|(table, width)| spaces.table_form(table, width).expect("256 elements"))
            .to_vec();
        let numbers: Vec<Option<usize>> = forms.iter().map(|form| form.space).collect();
        assert_eq!(numbers, [Some(0), Some(0), Some(0), Some(1)]);
        for (form, table) in forms.iter().zip([&first, &second, &third, &other]) {
            for (x, &element) in table.iter().enumerate() {
                assert_eq!(evaluate(&spaces, form, x), element);
            }
        }
        // Nothing of the index where nothing was added.
        assert!(forms[0].map.linear.is_zero() && forms[1].map.linear.is_zero());
        assert!(!forms[2].map.linear.is_zero());
    }

    #[test]
    fn of_a_table_with_affine_outputs_only_the_others_are_functions() {
        let mut spaces = Spaces::default();
        let product: Vec<u128> =
            (0..16u128).map(|x| (x >> 1 ^ 1) & 3 | (x & x >> 1 & 1) << 2 | (x & x >> 1 & 1) << 3).collect();
        let form = spaces.table_form(&product, 4).expect("16 elements");
        assert_eq!(spaces.get(0).n_outputs(), 1);
        for (x, &element) in product.iter().enumerate() {
            assert_eq!(evaluate(&spaces, &form, x), element);
        }
    }

    #[test]
    fn affine_tables_have_no_space() {
        let mut spaces = Spaces::default();
        let table: Vec<u128> = (0..16u128).map(|x| x ^ x << 1 ^ 5).collect();
        let form = spaces.table_form(&table, 5).expect("16 elements");
        assert_eq!(form.space, None);
        for (x, &element) in table.iter().enumerate() {
            assert_eq!(evaluate(&spaces, &form, x), element);
        }
        assert!(spaces.table_form(&[1, 2, 3], 2).is_none());
    }
}
