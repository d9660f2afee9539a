//! Arithmetic expressions of manifests: bounds that depend on the parameters of networks.
//!
//! ```
//! # use headrace_library::formula::Formula;
//! let bound = Formula::parse("64 * (2 ** 32 - COUNTER)").unwrap();
//! assert_eq!(bound.value(|name| (name == "COUNTER").then(|| "7".into())), Some(274877906496));
//! ```
//!
//! There are numbers, names of parameters, `block` for the bytes of a block, `+`, `-`, `*`, `**` and parentheses. A
//! parameter that is not given counts as 0.

use num_bigint::{BigInt, Sign};
use std::fmt;

/// The name of the bytes of a block.
pub const BLOCK: &str = "block";

/// Greatest exponent: more than any bound needs.
const MAX_EXPONENT: u32 = 4096;
/// Most parentheses in each other.
const MAX_DEPTH: usize = 32;

/// An expression with its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Formula {
    text: String,
    tree: Tree,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Tree {
    Number(BigInt),
    Name(String),
    Operation(char, Box<(Tree, Tree)>),
}

impl Formula {
    /// Reads one.
    ///
    /// # Errors
    ///
    /// What is wrong with the text, for the user to read.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > 1000 {
            return Err("the formula is longer than 1000 characters".into());
        }
        let mut parser = Parser { rest: text.trim_start(), depth: 0 };
        let tree = parser.sum()?;
        match parser.rest.chars().next() {
            None => Ok(Self { text: text.trim().into(), tree }),
            Some(c) => Err(format!("the formula goes on with `{}`, which fits nothing", c.escape_debug())),
        }
    }

    /// Its value where names have these texts: 0 where it would be negative, none where it is greater than 2^64 - 1, or
    /// where the text of a name is no number.
    pub fn value(&self, named: impl Fn(&str) -> Option<String>) -> Option<u64> {
        let value = self.tree.value(&named)?;
        if value.sign() == Sign::Minus { Some(0) } else { u64::try_from(value).ok() }
    }
}

impl Formula {
    /// The names in it.
    pub fn names(&self) -> Vec<&str> {
        fn walk<'t>(tree: &'t Tree, names: &mut Vec<&'t str>) {
            match tree {
                Tree::Number(_) => {}
                Tree::Name(name) => names.push(name),
                Tree::Operation(_, sides) => {
                    walk(&sides.0, names);
                    walk(&sides.1, names);
                }
            }
        }
        let mut names = Vec::new();
        walk(&self.tree, &mut names);
        names
    }
}

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Tree {
    fn value(&self, named: &dyn Fn(&str) -> Option<String>) -> Option<BigInt> {
        match self {
            Tree::Number(number) => Some(number.clone()),
            Tree::Name(name) => named(name).map_or(Some(BigInt::from(0)), |text| number(text.trim())),
            Tree::Operation(operator, sides) => {
                let (left, right) = (sides.0.value(named)?, sides.1.value(named)?);
                Some(match operator {
                    '+' => left + right,
                    '-' => left - right,
                    '*' => left * right,
                    _ => {
                        let exponent = u32::try_from(right).ok().filter(|exponent| *exponent <= MAX_EXPONENT)?;
                        (left.bits() * u64::from(exponent) <= 1 << 20).then(|| left.pow(exponent))?
                    }
                })
            }
        }
    }
}

/// A decimal or hexadecimal number, possibly negative.
pub(crate) fn number(text: &str) -> Option<BigInt> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits.trim_start()),
        None => (1, text),
    };
    let value = match digits.strip_prefix("0x") {
        Some(digits) => BigInt::parse_bytes(digits.as_bytes(), 16)?,
        None => BigInt::parse_bytes(digits.as_bytes(), 10)?,
    };
    Some(value * sign)
}

struct Parser<'t> {
    rest: &'t str,
    depth: usize,
}

impl Parser<'_> {
    fn takes(&mut self, sign: &str) -> bool {
        match self.rest.strip_prefix(sign) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    fn sum(&mut self) -> Result<Tree, String> {
        let mut left = self.product()?;
        loop {
            let operator = match () {
                () if self.takes("+") => '+',
                () if self.takes("-") => '-',
                () => return Ok(left),
            };
            left = Tree::Operation(operator, Box::new((left, self.product()?)));
        }
    }

    fn product(&mut self) -> Result<Tree, String> {
        let mut left = self.power()?;
        while !self.rest.starts_with("**") && self.takes("*") {
            left = Tree::Operation('*', Box::new((left, self.power()?)));
        }
        Ok(left)
    }

    fn power(&mut self) -> Result<Tree, String> {
        let base = self.atom()?;
        if !self.takes("**") {
            return Ok(base);
        }
        Ok(Tree::Operation('^', Box::new((base, self.atom()?))))
    }

    fn atom(&mut self) -> Result<Tree, String> {
        if self.takes("(") {
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                return Err(format!("the formula has more than {MAX_DEPTH} parentheses in each other"));
            }
            let inner = self.sum()?;
            self.depth -= 1;
            return if self.takes(")") { Ok(inner) } else { Err("a `)` is missing".into()) };
        }
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        match word.chars().next() {
            None => Err("the formula lacks a number or a name".into()),
            Some(c) if c.is_ascii_digit() => {
                number(word).map(Tree::Number).ok_or_else(|| format!("`{word}` is no number"))
            }
            Some(_) => Ok(Tree::Name(word.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Option<u64> {
        let named = |name: &str| match name {
            "N" => Some("0x10".into()),
            "NEGATIVE" => Some("-3".into()),
            "LIST" => Some("[1, 2]".into()),
            BLOCK => Some("2".into()),
            _ => None,
        };
        Formula::parse(text).expect("it is well formed").value(named)
    }

    #[test]
    fn formulas_mean_what_arithmetic_does() {
        for (text, expected) in [
            ("7", Some(7)),
            ("1 + 2 * 3", Some(7)),
            ("2 - 1 - 1", Some(0)),
            ("2 * 3 ** 2", Some(18)),
            ("(1 + 2) * N", Some(48)),
            ("5 - N", Some(0)),
            ("5 - NEGATIVE", Some(8)),
            ("5 + ABSENT", Some(5)),
            ("block * 2 ** (8 * block)", Some(131_072)),
            ("2 ** 64", None),
            ("2 ** 64 - 1", Some(u64::MAX)),
            ("2 ** 100000", None),
            ("LIST", None),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_formula_is_refused() {
        for text in ["", "1 +", "(1", "1)", "1 2", "0xg", "1 / 2", "* 1", &"(".repeat(100), &"1".repeat(2000)] {
            assert!(Formula::parse(text).is_err(), "{text}");
        }
    }
}
