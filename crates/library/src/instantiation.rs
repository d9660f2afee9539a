//! Instantiation texts: `AesEncrypt(NK = 4)` as it stands in a manifest and is handed to the front end.
//!
//! Only the outer shape is read here, so that a folder's package can be put before a name and an argument be
//! replaced; what an argument means is the front end's business.

use num_bigint::BigUint;
use std::fmt;

/// An entity with arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instantiation {
    /// Name of the network or actor, qualified after the catalog has seen it.
    pub entity: String,
    /// Name and text of each argument, in order.
    pub arguments: Vec<(String, String)>,
}

fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_' || c == '$')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '$')
}

impl Instantiation {
    /// Reads `Name`, `a.b.Name` or `Name(X = value, …)`; the error says what is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (entity, rest) = match text.split_once('(') {
            Some((entity, rest)) => (entity.trim(), Some(rest)),
            None => (text, None),
        };
        if entity.is_empty() || !entity.split('.').all(is_name) {
            return Err(format!("`{}` is not the name of a network", entity.escape_default()));
        }
        let Some(rest) = rest else {
            return Ok(Instantiation { entity: entity.into(), arguments: Vec::new() });
        };
        let Some(inner) = rest.strip_suffix(')') else {
            return Err("the list of arguments does not end with `)`".into());
        };
        let mut arguments: Vec<(String, String)> = Vec::new();
        for part in split_arguments(inner)? {
            let (name, value) = part
                .split_once('=')
                .map(|(name, value)| (name.trim(), value.trim()))
                .ok_or_else(|| format!("the argument `{}` has no `=`", part.trim().escape_debug()))?;
            if !is_name(name) {
                return Err(format!("`{}` is not the name of a parameter", name.escape_debug()));
            }
            if value.is_empty() {
                return Err(format!("the argument `{name}` has no value"));
            }
            if arguments.iter().any(|(other, _)| other == name) {
                return Err(format!("the argument `{name}` occurs twice"));
            }
            arguments.push((name.into(), value.into()));
        }
        Ok(Instantiation { entity: entity.into(), arguments })
    }

    /// The same with `package` before a name that has none.
    pub fn qualified(mut self, package: &str) -> Self {
        if !package.is_empty() && !self.entity.contains('.') {
            self.entity = format!("{package}.{}", self.entity);
        }
        self
    }

    /// The same with one argument set or replaced; a number that stands there already stays as it is written.
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        let value = value.into();
        match self.arguments.iter_mut().find(|(other, _)| other == name) {
            Some((_, old)) if number(old).is_some_and(|old| number(&value) == Some(old)) => {}
            Some(argument) => argument.1 = value,
            None => self.arguments.push((name.into(), value)),
        }
        self
    }

    /// The same with an argument from a record set or replaced. What a record says of a mode's message it says of
    /// the block cipher, which stands in the argument `Cipher`, unless the mode has that argument itself.
    pub fn with_from_record(self, name: &str, value: impl Into<String>) -> Self {
        let own = self.arguments.iter().any(|(other, _)| other == name);
        let cipher = self.arguments.iter().find(|(other, _)| !own && other == "Cipher");
        match cipher.and_then(|(_, text)| Instantiation::parse(text).ok()) {
            Some(cipher) => self.with("Cipher", cipher.with_from_record(name, value).to_string()),
            None => self.with(name, value),
        }
    }
}

/// The number that a decimal or hexadecimal literal is.
fn number(text: &str) -> Option<BigUint> {
    match text.strip_prefix("0x") {
        Some(digits) => BigUint::parse_bytes(digits.as_bytes(), 16),
        None => BigUint::parse_bytes(text.as_bytes(), 10),
    }
}

/// Cuts at commas outside brackets and strings.
fn split_arguments(text: &str) -> Result<Vec<&str>, String> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let mut parts = Vec::new();
    let mut open = Vec::new();
    let mut start = 0;
    let mut in_string = false;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        if in_string {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match c {
            '"' => in_string = true,
            '(' => open.push(')'),
            '[' => open.push(']'),
            ')' | ']' if open.pop() != Some(c) => return Err(format!("`{c}` closes nothing")),
            ',' if open.is_empty() => {
                parts.push(text.get(start..at).unwrap_or_default());
                start = at + 1;
            }
            _ => {}
        }
    }
    if in_string {
        return Err("a string does not end".into());
    }
    if let Some(close) = open.last() {
        return Err(format!("a `{close}` is missing"));
    }
    parts.push(text.get(start..).unwrap_or_default());
    Ok(parts)
}

impl fmt::Display for Instantiation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.entity)?;
        if self.arguments.is_empty() {
            return Ok(());
        }
        f.write_str("(")?;
        for (at, (name, value)) in self.arguments.iter().enumerate() {
            write!(f, "{}{name} = {value}", if at == 0 { "" } else { ", " })?;
        }
        f.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_speaks_of_the_cipher_of_a_mode() {
        let mode = Instantiation::parse("a.Ecb(Cipher = b.Rc5(W = 16), BLOCK_BYTES = 4)").unwrap();
        let mode = mode.with_from_record("ROUNDS", "0");
        assert_eq!(mode.to_string(), "a.Ecb(Cipher = b.Rc5(W = 16, ROUNDS = 0), BLOCK_BYTES = 4)");
        let aead = Instantiation::parse("a.Gcm(Cipher = b.Rc5(W = 16), TAG_BYTES = 16)").unwrap();
        let aead = aead.with_from_record("TAG_BYTES", "12");
        assert_eq!(aead.to_string(), "a.Gcm(Cipher = b.Rc5(W = 16), TAG_BYTES = 12)");
        let core = Instantiation::parse("b.Rc5(ROUNDS = 12)").unwrap().with_from_record("ROUNDS", "0");
        assert_eq!(core.to_string(), "b.Rc5(ROUNDS = 0)");
    }

    #[test]
    fn reads_and_writes_arguments() {
        let text = r#"Ctr(Cipher = ctl.block.x.Y(NK = 4, L = [1, 2]), S = "a,)b\"", N = 3)"#;
        let read = Instantiation::parse(text).unwrap();
        assert_eq!(read.arguments.len(), 3);
        assert_eq!(read.arguments[0].1, "ctl.block.x.Y(NK = 4, L = [1, 2])");
        assert_eq!(read.to_string(), text);
        let read = read.qualified("ctl.mode.ctr").with("N", "5").with("M", "6");
        assert!(read.to_string().starts_with("ctl.mode.ctr.Ctr(Cipher"));
        assert!(read.to_string().ends_with("N = 5, M = 6)"));
        assert_eq!(read.clone().qualified("x"), read, "a qualified name keeps its package");
        let read = Instantiation::parse("Galois(MASK = 0xb400)").unwrap();
        assert_eq!(read.clone().with("MASK", "46080"), read, "a number stays as it is written");
    }

    #[test]
    fn refuses_what_is_no_instantiation() {
        for (text, message) in [
            ("", "is not the name of a network"),
            ("a..B", "is not the name of a network"),
            ("A(", "does not end"),
            ("A(x)", "has no `=`"),
            ("A(x = )", "has no value"),
            ("A(x = 1, x = 2)", "occurs twice"),
            ("A(x = (1)", "a `)` is missing"),
            ("A(x = 1))", "closes nothing"),
            ("A(x = \")", "a string does not end"),
        ] {
            let error = Instantiation::parse(text).unwrap_err();
            assert!(error.contains(message), "{text}: {error}");
        }
    }
}
