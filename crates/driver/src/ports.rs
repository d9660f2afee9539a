//! `PORT=SRC` and `PORT=DST` as they stand on the command line.

use crate::failure::Outcome;
use headrace::Error;
use std::path::PathBuf;

/// A port with what belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding<T> {
    /// Name of the port.
    pub port: String,
    /// True for `PORT:be=…`.
    pub big_endian: bool,
    /// Source or destination.
    pub end: T,
}

/// Where tokens come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A file.
    Path(PathBuf),
    /// Standard input.
    Standard,
    /// Bytes, from `hex:` or `text:`.
    Bytes(Vec<u8>),
    /// Token values, as written.
    Numbers(Vec<String>),
}

/// Where tokens go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// A file, or `-` for standard output.
    Path(PathBuf),
    /// Printed as hexadecimal bytes on a line.
    Hexadecimal,
    /// Printed as numbers on a line.
    Numbers,
}

/// Splits `PORT[:be]=REST`.
fn split(text: &str) -> Outcome<(String, bool, &str)> {
    let Some((port, rest)) = text.split_once('=') else {
        return Err(Error::usage(format!("`{}` is not of the form PORT=…", text.escape_debug())));
    };
    let (port, big_endian) = match port.split_once(':') {
        None => (port, false),
        Some((port, "be")) => (port, true),
        Some((port, "le")) => (port, false),
        Some((_, other)) => {
            let other = other.escape_debug();
            return Err(Error::usage(format!("`{other}` is no byte order; `be` and `le` are")));
        }
    };
    if port.is_empty() {
        return Err(Error::usage(format!("`{}` names no port", text.escape_debug())));
    }
    Ok((port.to_owned(), big_endian, rest))
}

/// Reads `PORT[:be]=SRC`.
pub fn input(text: &str) -> Outcome<Binding<Source>> {
    let (port, big_endian, rest) = split(text)?;
    let end = source(rest).map_err(|problem| Error::usage(format!("--in {port}: {problem}")))?;
    Ok(Binding { port, big_endian, end })
}

/// Reads `PORT[:be]=DST`.
pub fn output(text: &str) -> Outcome<Binding<Destination>> {
    let (port, big_endian, rest) = split(text)?;
    let end = destination(rest).map_err(|problem| Error::usage(format!("--out {port}: {problem}")))?;
    Ok(Binding { port, big_endian, end })
}

/// Reads SRC.
pub fn source(text: &str) -> Result<Source, String> {
    if let Some(digits) = text.strip_prefix("hex:") {
        return Ok(Source::Bytes(hexadecimal(digits)?));
    }
    if let Some(text) = text.strip_prefix("text:") {
        return Ok(Source::Bytes(text.as_bytes().to_vec()));
    }
    if let Some(numbers) = text.strip_prefix("int:") {
        let numbers = numbers.trim();
        let listed = numbers.split(',').map(|number| number.trim().to_owned());
        return Ok(Source::Numbers(if numbers.is_empty() { Vec::new() } else { listed.collect() }));
    }
    match text {
        "" => Err("a path, `-`, hex:…, text:… or int:… is missing".into()),
        "-" => Ok(Source::Standard),
        path => Ok(Source::Path(path.into())),
    }
}

/// Reads DST.
pub fn destination(text: &str) -> Result<Destination, String> {
    match text {
        "" => Err("a path, `-`, hex: or int: is missing".into()),
        "hex:" => Ok(Destination::Hexadecimal),
        "int:" => Ok(Destination::Numbers),
        path => Ok(Destination::Path(path.into())),
    }
}

/// Bytes from hexadecimal digits; blanks and underscores may stand between bytes.
pub fn hexadecimal(text: &str) -> Result<Vec<u8>, String> {
    let mut nibbles = Vec::with_capacity(text.len());
    for c in text.chars() {
        match c.to_digit(16) {
            Some(digit) => nibbles.push(digit as u8),
            None if c.is_whitespace() || c == '_' => {}
            None => return Err(format!("`{}` is not a hexadecimal digit", c.escape_debug())),
        }
    }
    if nibbles.len() % 2 != 0 {
        return Err(format!("{} hexadecimal digits do not make whole bytes", nibbles.len()));
    }
    Ok(nibbles.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources() {
        assert_eq!(source("hex:00 fF"), Ok(Source::Bytes(vec![0, 255])));
        assert_eq!(source("hex:"), Ok(Source::Bytes(vec![])));
        assert_eq!(source("text:a=b"), Ok(Source::Bytes(b"a=b".to_vec())));
        assert_eq!(source("int:1, -2"), Ok(Source::Numbers(vec!["1".into(), "-2".into()])));
        assert_eq!(source("int:"), Ok(Source::Numbers(vec![])));
        assert_eq!(source("-"), Ok(Source::Standard));
        assert_eq!(source("a/b"), Ok(Source::Path("a/b".into())));
        assert!(source("hex:0").is_err());
        assert!(source("hex:0x00").is_err());
        assert!(source("").is_err());
    }

    #[test]
    fn bindings() {
        let binding = input("Key:be=text:x=y").expect("well formed");
        assert_eq!(binding, Binding { port: "Key".into(), big_endian: true, end: Source::Bytes(b"x=y".to_vec()) });
        for wrong in ["Key", "=hex:00", "Key:xe=hex:00", "Key="] {
            assert!(input(wrong).is_err(), "{wrong}");
        }
        assert_eq!(output("Out=int:").ok().map(|binding| binding.end), Some(Destination::Numbers));
    }
}
