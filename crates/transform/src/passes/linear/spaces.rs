//! Tables up to a linear map behind them.
//!
//! A table of n bits in and w out is w Boolean functions, and exclusive ors of these span a space. Tables with the same
//! space differ only by what linear map follows: an S-box and the tables that merge it with a linear layer are one
//! non-linear function, `T(x) = M * S(x) + A * x + c`. `S` is the reduced row echelon basis of the space (each function 0
//! at 0), so it depends on the space alone and not on how the table was written.
//!
//! Example: AES's S-box and each of the four tables that merge it with a column of the mixing matrix have one `S` of 8
//! functions; M is 8 x 8 for the one and 32 x 8 for the others.

use headrace_boolean::truth_table::Function;

/// Most bits of an index.
pub const MAX_INDEX_BITS: usize = 8;

/// A non-linear function without the linear map behind it.
#[derive(Clone, Debug)]
pub struct Space {
    /// Bits of the index.
    pub index_bits: usize,
    /// Functions that are 0 at 0, in reduced row echelon form.
    pub basis: Vec<Function>,
}

/// An output bit of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output {
    /// Bit j: function j of the space is a term.
    pub basis: u64,
    /// Bit i: bit i of the index is a term.
    pub index: u64,
    /// The constant.
    pub one: bool,
}

/// A table as a linear map behind a function.
#[derive(Clone, Debug)]
pub struct TableForm {
    /// Number of the space; none where the table is affine.
    pub space: Option<usize>,
    /// The output bits, the lowest first.
    pub outputs: Vec<Output>,
}

/// The spaces met so far.
#[derive(Clone, Debug, Default)]
pub struct Spaces {
    spaces: Vec<Space>,
}

impl Spaces {
    /// A space by number.
    pub fn get(&self, number: usize) -> &Space {
        &self.spaces[number]
    }

    /// A table of 2^n elements (n at most [`MAX_INDEX_BITS`]) in terms of a space, which is added if
    /// it is new. `None` for tables of other sizes.
    pub fn table_form(&mut self, elements: &[u128], width: u32) -> Option<TableForm> {
        let index_bits = elements.len().trailing_zeros() as usize;
        if !elements.len().is_power_of_two() || !(1..=MAX_INDEX_BITS).contains(&index_bits) {
            return None;
        }
        let functions: Vec<Function> = (0..width).map(|bit| component(elements, index_bits, bit)).collect();
        let variables: Vec<Function> = (0..index_bits).map(Function::variable).collect();
        let affine = Echelon::new(&variables, &[]);
        if functions.iter().all(|function| affine.coordinates(*function).is_some()) {
            let outputs = express(&functions, &affine, index_bits)?;
            return Some(TableForm { space: None, outputs });
        }
        for (number, space) in self.spaces.iter().enumerate().filter(|(_, space)| space.index_bits == index_bits) {
            // First without terms of the index: those make long forms of what follows.
            for with in [&[][..], &variables[..]] {
                let basis = Echelon::new(with, &space.basis);
                let whole = if with.is_empty() { 0 } else { index_bits };
                if let Some(outputs) = express(&functions, &basis, whole) {
                    return Some(TableForm { space: Some(number), outputs });
                }
            }
        }
        let normal: Vec<Function> = functions.iter().map(|function| at_zero_zero(*function)).collect();
        let own = Echelon::new(&[], &normal);
        let both = Echelon::new(&variables, &own.reduced());
        let basis = if both.rank() == own.rank() + index_bits {
            own.reduced()
        } else {
            // Some combination of outputs is affine: only the rest is a function of its own.
            let rest: Vec<Function> = normal.iter().map(|function| affine.rest(*function)).collect();
            Echelon::new(&[], &rest).reduced()
        };
        if basis.len() > 64 {
            return None;
        }
        let outputs = express(&functions, &Echelon::new(&[], &basis), 0)
            .or_else(|| express(&functions, &Echelon::new(&variables, &basis), index_bits))?;
        self.spaces.push(Space { index_bits, basis });
        Some(TableForm { space: Some(self.spaces.len() - 1), outputs })
    }
}

fn component(elements: &[u128], index_bits: usize, bit: u32) -> Function {
    let mut function = Function::ZERO;
    for x in 0..1usize << MAX_INDEX_BITS {
        function.set(x, elements[x & ((1 << index_bits) - 1)] >> bit & 1 == 1);
    }
    function
}

fn at_zero_zero(function: Function) -> Function {
    if function.at(0) { function ^ Function::ONE } else { function }
}

fn express(functions: &[Function], basis: &Echelon, variables: usize) -> Option<Vec<Output>> {
    let low = if variables == 0 { 0 } else { (1u128 << variables) - 1 };
    let outputs = functions.iter().map(|&function| {
        let coordinates = basis.coordinates(function)?;
        let basis = (coordinates >> variables) as u64;
        Some(Output { basis, index: (coordinates & low) as u64, one: function.at(0) })
    });
    outputs.collect()
}

/// Functions brought to echelon form, with how each came from those given.
struct Echelon {
    /// Leading input, function, and which of the given functions it is the exclusive or of.
    rows: Vec<(usize, Function, u128)>,
}

impl Echelon {
    fn new(first: &[Function], second: &[Function]) -> Echelon {
        let mut echelon = Echelon { rows: Vec::new() };
        for (number, &function) in first.iter().chain(second).enumerate() {
            let (rest, made) = echelon.reduce(at_zero_zero(function));
            let Some(lead) = leading(&rest) else { continue };
            let made = if number < 128 { made ^ (1 << number) } else { made };
            for row in &mut echelon.rows {
                if row.1.at(lead) {
                    row.1 = row.1 ^ rest;
                    row.2 ^= made;
                }
            }
            echelon.rows.push((lead, rest, made));
        }
        echelon.rows.sort_by_key(|row| row.0);
        echelon
    }

    fn rank(&self) -> usize {
        self.rows.len()
    }

    fn reduced(&self) -> Vec<Function> {
        self.rows.iter().map(|row| row.1).collect()
    }

    fn reduce(&self, mut function: Function) -> (Function, u128) {
        let mut made = 0;
        for (lead, row, from) in &self.rows {
            if function.at(*lead) {
                function = function ^ *row;
                made ^= from;
            }
        }
        (function, made)
    }

    fn rest(&self, function: Function) -> Function {
        self.reduce(at_zero_zero(function)).0
    }

    /// Which of the given functions a function is the exclusive or of, up to a constant.
    fn coordinates(&self, function: Function) -> Option<u128> {
        let (rest, made) = self.reduce(at_zero_zero(function));
        if rest == Function::ZERO { Some(made) } else { None }
    }
}

fn leading(function: &Function) -> Option<usize> {
    let word = function.0.iter().position(|&word| word != 0)?;
    Some(64 * word + function.0[word].trailing_zeros() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evaluate(spaces: &Spaces, form: &TableForm, x: usize) -> u128 {
        let mut value = 0;
        for (bit, output) in form.outputs.iter().enumerate() {
            let mut sum = output.one ^ ((output.index & x as u64).count_ones() % 2 == 1);
            if let Some(space) = form.space {
                for (j, function) in spaces.get(space).basis.iter().enumerate() {
                    sum ^= output.basis >> j & 1 == 1 && function.at(x);
                }
            }
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
        let forms: Vec<TableForm> = [(&first, 8), (&second, 32), (&third, 8), (&other, 8)]
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
        assert!(forms[0].outputs.iter().chain(&forms[1].outputs).all(|output| output.index == 0));
        assert!(forms[2].outputs.iter().any(|output| output.index != 0));
    }

    #[test]
    fn the_space_does_not_depend_on_which_table_came_first() {
        let first = scrambled();
        let second: Vec<u128> = first.iter().map(|&y| y ^ y >> 3 ^ 0x63).collect();
        let mut one = Spaces::default();
        one.table_form(&first, 8);
        let mut two = Spaces::default();
        two.table_form(&second, 8);
        assert_eq!(one.get(0).basis, two.get(0).basis);
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
