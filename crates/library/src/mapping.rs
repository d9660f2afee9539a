//! How the records of a known-answer file become messages: the `[[vectors]]` entries of a manifest.

use headrace_source::Span;
use num_bigint::BigUint;

use crate::manifest::Shape;
use crate::ports::Role;

/// The most requests to a generator that one record makes.
pub const MAX_REQUESTS: u32 = 9;

/// What a field of a record is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// These strings one after another (`Output || Tag`); at most one of them has no fixed size.
    Strings(Vec<Role>),
    /// `Output^n`: what comes out when the output is fed back as input until the operation has run n times.
    Iterated(u32),
    /// `Output@n`: the n-th word (from 1) that a generator makes.
    Word(u64),
    /// `OutputWords`: the first words that a generator makes.
    Words,
    /// `Period`: after how many words the seed comes back.
    Period,
    /// `KeyStream`: the output for an input of zeros.
    KeyStream,
    /// `Skip`: number of output bytes that come before those of the record; the input begins with as many zeros.
    Skip,
    /// `TagBytes`: how many bytes the tag has, where the operation leaves it open.
    TagBytes,
    /// A string of the n-th request (from 1) to a generator that goes on: `Seed#1`, `Entropy#2`, `Ad#2`, `Output#2`.
    Request(u32, Role),
    /// The tokens of a port of a part, under its own name.
    Port(String),
}

impl Target {
    /// Reads the text of a target, which for a part is the name of a port; the error says what is wrong.
    pub fn parse(text: &str, of_part: bool) -> Result<Target, String> {
        if of_part {
            return Ok(Target::Port(text.to_owned()));
        }
        match text {
            "KeyStream" => return Ok(Target::KeyStream),
            "Skip" => return Ok(Target::Skip),
            "OutputWords" => return Ok(Target::Words),
            "TagBytes" => return Ok(Target::TagBytes),
            "Period" => return Ok(Target::Period),
            _ => {}
        }
        if let Some((role, number)) = text.split_once(['^', '@']) {
            if role.trim() != "Output" {
                return Err("only `Output` can stand before `^` and `@`".into());
            }
            let number: u32 = number
                .trim()
                .parse()
                .ok()
                .filter(|n| (1..=10_000_000).contains(n))
                .ok_or("a number from 1 to 10000000 must follow `^` and `@`")?;
            return Ok(if text.contains('^') { Target::Iterated(number) } else { Target::Word(number.into()) });
        }
        if let Some((name, number)) = text.split_once('#') {
            let role = Role::named(name.trim())
                .filter(|role| matches!(role, Role::Seed | Role::Entropy | Role::Ad | Role::Output))
                .ok_or("only `Seed`, `Entropy`, `Ad` and `Output` can stand before `#`")?;
            let number = number.trim().parse().ok().filter(|n| (1..=MAX_REQUESTS).contains(n));
            let number = number.ok_or_else(|| format!("a number from 1 to {MAX_REQUESTS} must follow `#`"))?;
            return Ok(Target::Request(number, role));
        }
        let mut roles = Vec::new();
        for name in text.split("||") {
            let name = name.trim();
            let role = Role::named(name)
                .filter(|role| !role.is_control() && *role != Role::TagIn)
                .ok_or_else(|| format!("`{}` is not a string of a message", name.escape_debug()))?;
            if roles.contains(&role) {
                return Err(format!("`{name}` occurs twice"));
            }
            roles.push(role);
        }
        Ok(Target::Strings(roles))
    }
}

/// A condition on a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The field has this value.
    Is(String),
    /// The field is there (`true`) or not (`false`).
    Present(bool),
}

/// What is done to a field's bytes before they are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conversion {
    /// `reverse`: last byte first.
    Reverse,
    /// `reverse-N`: every N bytes, and the rest, last byte first.
    ReverseBlocks(usize),
    /// `leftmost`: the field holds the first bytes of the string only, as many as it has.
    Leftmost,
}

impl Conversion {
    /// Reads the text of a conversion.
    pub fn parse(text: &str) -> Option<Conversion> {
        match text {
            "reverse" => Some(Conversion::Reverse),
            "leftmost" => Some(Conversion::Leftmost),
            _ => text
                .strip_prefix("reverse-")?
                .parse()
                .ok()
                .filter(|n| (1..=65536).contains(n))
                .map(Conversion::ReverseBlocks),
        }
    }

    /// Does it.
    pub fn apply(self, bytes: &mut [u8]) {
        match self {
            Conversion::Reverse => bytes.reverse(),
            Conversion::ReverseBlocks(size) => {
                bytes.chunks_mut(size.max(1)).for_each(<[u8]>::reverse);
            }
            Conversion::Leftmost => {}
        }
    }
}

/// What a record asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Kind {
    /// One message.
    #[default]
    Single,
    /// The inner loop of 1000 of AESAVS 6.4 (modes), or SHAVS 6.4 (hashes).
    MonteCarlo,
}

/// What the shift register of a mode takes in at each step of a Monte Carlo test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Feedback {
    /// The ciphertext (CBC, CFB).
    #[default]
    Ciphertext,
    /// Input xor output (OFB).
    KeyStream,
}

/// Where a network parameter takes its value from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// The field.
    pub field: String,
    /// What the value of the field must begin with, and is not part of the number.
    pub after: String,
    /// How the number is written.
    pub form: Form,
}

/// How a number is written in a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Form {
    /// `46080`.
    #[default]
    Decimal,
    /// `b400`.
    Hex,
    /// `16 14 13 11`: the sum of these powers of two, which stand for the powers of x in a polynomial.
    Powers,
}

impl Form {
    /// All forms with the names that manifests use.
    pub const ALL: [(&'static str, Form); 3] =
        [("decimal", Form::Decimal), ("hex", Form::Hex), ("powers", Form::Powers)];

    /// The number that is written so, where it is one.
    fn read(self, text: &str) -> Option<BigUint> {
        let all =
            |digits: fn(&u8) -> bool| !text.is_empty() && text.len() <= MAX_DIGITS && text.bytes().all(|b| digits(&b));
        match self {
            Form::Decimal => all(u8::is_ascii_digit).then(|| text.parse().ok())?,
            Form::Hex => all(u8::is_ascii_hexdigit).then(|| BigUint::parse_bytes(text.as_bytes(), 16))?,
            Form::Powers => {
                let mut sum = BigUint::ZERO;
                for power in text.split(' ') {
                    let power: u16 = power.parse().ok().filter(|power| *power <= MAX_POWER)?;
                    if sum.bit(power.into()) {
                        return None;
                    }
                    sum.set_bit(power.into(), true);
                }
                Some(sum)
            }
        }
    }
}

/// More digits than any parameter has.
const MAX_DIGITS: usize = 400;

/// A greater power than any polynomial has.
const MAX_POWER: u16 = 1024;

impl Argument {
    /// The parameter's value from the text of the field; the error says what is wrong with the text.
    pub fn value(&self, text: &str) -> Result<BigUint, String> {
        let rest = text.strip_prefix(&*self.after);
        let rest = rest.ok_or_else(|| format!("does not begin with `{}`", self.after.escape_debug()))?;
        self.form.read(rest).ok_or_else(|| {
            let wanted = match self.form {
                Form::Decimal => "decimal number",
                Form::Hex => "hexadecimal number",
                Form::Powers => "list of different powers with single spaces",
            };
            format!("is no {wanted}, and cannot be a parameter")
        })
    }
}

/// Which field says the direction, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Direction {
    /// The field.
    pub field: String,
    /// Its value for the operation of the entry.
    pub forward: String,
    /// Its value for the inverse.
    pub inverse: String,
}

/// One `[[vectors]]` entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VectorMapping {
    /// Its place in the manifest.
    pub span: Span,
    /// File name below the folder's `vectors`.
    pub file: String,
    /// The operation for records in the forward direction.
    pub operation: String,
    /// The parameter sets that it may belong to; empty: all. The key's length decides among them.
    pub sets: Vec<String>,
    /// All must hold for a record to belong to this entry.
    pub conditions: Vec<(String, Condition)>,
    /// Which direction a record is for; without it, every direction that can be checked.
    pub direction: Option<Direction>,
    /// What a record asks for.
    pub kind: Kind,
    /// For Monte Carlo tests of modes.
    pub feedback: Feedback,
    /// What the fields are, defaults included.
    pub fields: Vec<(String, Target)>,
    /// Network parameter and where it takes its value from.
    pub arguments: Vec<(String, Argument)>,
    /// Field and conversion.
    pub conversions: Vec<(String, Conversion)>,
    /// Fields without meaning here.
    pub ignored: Vec<String>,
}

/// Fields of every file that describe a record and select nothing.
pub const DESCRIPTIVE_FIELDS: [&str; 5] = ["Count", "Source", "Comment", "Type", "Result"];

/// What the fields of the format are when a manifest says nothing else. In a file with authenticated encryption
/// the ciphertext ends with the tag; in one of a generator, `Seed1`, `Entropy1`, `Ad1`, `Output1`, `Seed2`, … belong to
/// the request of that number.
pub fn default_fields(shape: Shape) -> Vec<(String, Target)> {
    let ciphertext = if shape == Shape::Aead {
        Target::Strings(vec![Role::Output, Role::Tag])
    } else {
        Target::Strings(vec![Role::Output])
    };
    let one = |role| Target::Strings(vec![role]);
    let n_requests = if shape == Shape::Generator { MAX_REQUESTS } else { 0 };
    let requests = (1..=n_requests).flat_map(|n| {
        [Role::Seed, Role::Entropy, Role::Ad, Role::Output]
            .map(|role| (format!("{}{n}", role.name()), Target::Request(n, role)))
    });
    [
        ("Key", one(Role::Key)),
        ("IV", one(Role::Iv)),
        ("Nonce", one(Role::Nonce)),
        ("NSEC", one(Role::SecretNonce)),
        ("AD", one(Role::Ad)),
        ("PT", one(Role::Input)),
        ("CT", ciphertext),
        ("CT100", Target::Iterated(100)),
        ("CT1000", Target::Iterated(1000)),
        ("Msg", one(Role::Input)),
        ("MD", one(Role::Output)),
        ("Mac", one(Role::Tag)),
        ("KS", Target::KeyStream),
        ("Offset", Target::Skip),
        ("Data", one(Role::Input)),
        ("Text", one(Role::Output)),
        ("Seed", one(Role::Seed)),
        ("Out", Target::Words),
        ("X100", Target::Word(100)),
        ("X1000", Target::Word(1000)),
        ("Period", Target::Period),
        ("Taglen", Target::TagBytes),
    ]
    .into_iter()
    .map(|(name, target)| (name.to_owned(), target))
    .chain(requests)
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_targets() {
        assert_eq!(
            Target::parse("SecretNonceOut || Output||Tag", false),
            Ok(Target::Strings(vec![Role::SecretNonceOut, Role::Output, Role::Tag]))
        );
        assert_eq!(Target::parse("Output^100", false), Ok(Target::Iterated(100)));
        assert_eq!(Target::parse("Output@1000", false), Ok(Target::Word(1000)));
        assert_eq!(Target::parse("KeyStream", false), Ok(Target::KeyStream));
        assert_eq!(Target::parse("Entropy#2", false), Ok(Target::Request(2, Role::Entropy)));
        for wrong in ["Rekey", "Tag^3", "Output^0", "Output@x", "", "Output||Output", "Key#1", "Seed#0", "Seed#10"] {
            assert!(Target::parse(wrong, false).is_err(), "{wrong}");
        }
    }

    #[test]
    fn arguments_are_numbers_in_three_forms() {
        let value = |form, text: &str| {
            let argument = Argument { field: "Param".into(), after: "taps ".into(), form };
            argument.value(text).map(|number| number.to_string())
        };
        assert_eq!(value(Form::Decimal, "taps 1664525"), Ok("1664525".into()));
        assert_eq!(value(Form::Hex, "taps b400"), Ok("46080".into()));
        assert_eq!(value(Form::Powers, "taps 16 14 13 11"), Ok((0x1_6800).to_string()));
        assert_eq!(value(Form::Hex, "mask b400"), Err("does not begin with `taps `".into()));
        for (form, wrong) in [
            (Form::Decimal, "taps "),
            (Form::Decimal, "taps -1"),
            (Form::Hex, "taps 0x1"),
            (Form::Powers, "taps 3 3"),
            (Form::Powers, "taps 3  1"),
            (Form::Powers, "taps 99999"),
        ] {
            assert!(value(form, wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn conversions_reverse_blocks_and_the_rest() {
        let mut bytes = [1, 2, 3, 4, 5];
        Conversion::parse("reverse-2").unwrap().apply(&mut bytes);
        assert_eq!(bytes, [2, 1, 4, 3, 5]);
        Conversion::parse("reverse").unwrap().apply(&mut bytes);
        assert_eq!(bytes, [5, 3, 4, 1, 2]);
        assert_eq!(Conversion::parse("reverse-0"), None);
        assert_eq!(Conversion::parse("rotate"), None);
    }
}
