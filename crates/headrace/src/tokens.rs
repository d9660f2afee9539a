//! Encoding of tokens: as they are given and got outside, against how engines store them.
//!
//! Outside, a token of w bits takes ceil(w/8) bytes, little-endian unless something else is asked for, the excess bits zero;
//! 1-bit tokens are packed into bytes, most significant first. A text is a line. Inside, [`Scalar::storage_bytes`] says how
//! many bytes a token takes.

use headrace_engine::texts;
use headrace_ir::{Int, RealType, Scalar};
use num_bigint::BigInt;

/// How the tokens of one port look outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoding {
    scalar: Scalar,
    big_endian: bool,
}

/// Turns bytes into stored tokens, in pieces of any size.
#[derive(Debug)]
pub struct Decoder {
    encoding: Encoding,
    /// Bytes of a token that is not complete yet.
    rest: Vec<u8>,
    /// Tokens so far, for messages.
    n_tokens: u64,
}

/// Turns stored tokens into bytes, in pieces of any size.
#[derive(Debug)]
pub struct Encoder {
    encoding: Encoding,
    /// Bits of a byte that is not complete yet, and how many.
    bits: u8,
    n_bits: u32,
}

impl Encoding {
    /// The encoding of a port's tokens.
    pub fn new(scalar: Scalar, big_endian: bool) -> Self {
        Self { scalar, big_endian }
    }

    /// The type of the tokens.
    pub fn scalar(self) -> Scalar {
        self.scalar
    }

    /// Bytes of a token outside; `None` for packed bits.
    pub fn token_bytes(self) -> Option<usize> {
        match self.scalar.width() {
            1 => None,
            width => Some(width.div_ceil(8) as usize),
        }
    }

    /// True when bytes outside are the stored tokens already.
    fn is_identity(self) -> bool {
        if self.scalar == Scalar::String {
            return false;
        }
        let whole = self.scalar.width().is_multiple_of(8) && self.token_bytes() == Some(self.scalar.storage_bytes());
        whole && (!self.big_endian || self.scalar.storage_bytes() == 1)
    }

    fn signed(self) -> bool {
        self.scalar.as_int().is_some_and(|int| int.signed)
    }

    /// Appends the stored form of a token given by its outside bytes, least significant first; excess bits must be zero.
    fn store(self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
        let width = self.scalar.width() as usize;
        let excess = bytes.last().map_or(0, |top| if width.is_multiple_of(8) { 0 } else { top >> (width % 8) });
        if excess != 0 {
            return Err(format!("has bits set beyond the {width} of its type"));
        }
        let negative =
            self.signed() && bytes.get((width - 1) / 8).is_some_and(|byte| byte >> ((width - 1) % 8) & 1 == 1);
        let start = out.len();
        out.extend_from_slice(bytes);
        if let (true, Some(top)) = (negative && !width.is_multiple_of(8), out.last_mut()) {
            *top |= 0xffu8 << (width % 8);
        }
        out.resize(start + self.scalar.storage_bytes(), if negative { 0xff } else { 0 });
        Ok(())
    }
}

impl Decoder {
    /// A decoder at the beginning of a stream.
    pub fn new(encoding: Encoding) -> Self {
        Self { encoding, rest: Vec::new(), n_tokens: 0 }
    }

    /// True when each byte is a stored token.
    pub fn is_bytewise(&self) -> bool {
        self.encoding.is_identity() && self.encoding.scalar.storage_bytes() == 1
    }

    /// Appends the stored tokens that `bytes` complete.
    pub fn decode(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
        if self.encoding.scalar == Scalar::String {
            for line in bytes.split_inclusive(|&byte| byte == b'\n') {
                let text = line.strip_suffix(b"\n").unwrap_or(line);
                // What has no lines may have no end, either.
                if self.rest.len() + text.len() > texts::MAX_TEXT_BYTES {
                    let (number, most) = (self.n_tokens + 1, texts::MAX_TEXT_BYTES);
                    return Err(format!("line {number}: a token of type String has at most {most} bytes"));
                }
                self.rest.extend_from_slice(text);
                if text.len() < line.len() {
                    self.line(out)?;
                }
            }
            return Ok(());
        }
        if self.is_bytewise() {
            self.n_tokens += bytes.len() as u64;
            out.extend_from_slice(bytes);
            return Ok(());
        }
        let Some(size) = self.encoding.token_bytes() else {
            let one = if self.encoding.signed() { 0xff } else { 1 };
            out.extend(bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| (byte >> bit & 1) * one)));
            self.n_tokens += 8 * bytes.len() as u64;
            return Ok(());
        };
        let joined;
        let mut all = bytes;
        if !self.rest.is_empty() {
            self.rest.extend_from_slice(bytes);
            joined = std::mem::take(&mut self.rest);
            all = &joined;
        }
        let whole = all.len() / size * size;
        if self.encoding.is_identity() {
            out.extend_from_slice(&all[..whole]);
            self.n_tokens += (whole / size) as u64;
        } else {
            let mut token = Vec::with_capacity(size);
            for chunk in all[..whole].chunks_exact(size) {
                token.clear();
                token.extend_from_slice(chunk);
                if self.encoding.big_endian {
                    token.reverse();
                }
                let stored = self.encoding.store(&token, out);
                stored.map_err(|problem| format!("token {} {problem}", self.n_tokens))?;
                self.n_tokens += 1;
            }
        }
        self.rest = all[whole..].to_vec();
        Ok(())
    }

    /// A line that has come is a token.
    fn line(&mut self, out: &mut Vec<u8>) -> Result<(), String> {
        let stored = store_text(&self.rest, out);
        self.rest.clear();
        self.n_tokens += 1;
        stored.map_err(|problem| format!("line {}: {problem}", self.n_tokens))
    }

    /// Checks that the stream ended at the end of a token; a last line needs no end.
    pub fn finish(&mut self, out: &mut Vec<u8>) -> Result<(), String> {
        if self.encoding.scalar == Scalar::String {
            return if self.rest.is_empty() { Ok(()) } else { self.line(out) };
        }
        match (self.rest.len(), self.encoding.token_bytes()) {
            (0, _) | (_, None) => Ok(()),
            (rest, Some(size)) => {
                Err(format!("ends inside a token: {rest} of the {size} bytes of token {} are there", self.n_tokens))
            }
        }
    }
}

impl Encoder {
    /// An encoder at the beginning of a stream.
    pub fn new(encoding: Encoding) -> Self {
        Self { encoding, bits: 0, n_bits: 0 }
    }

    /// True when stored tokens are the bytes outside.
    pub fn is_identity(&self) -> bool {
        self.encoding.is_identity()
    }

    /// Appends the outside bytes of stored tokens; `tokens` holds whole ones.
    pub fn encode(&mut self, tokens: &[u8], out: &mut Vec<u8>) {
        if self.encoding.is_identity() {
            out.extend_from_slice(tokens);
            return;
        }
        let storage = self.encoding.scalar.storage_bytes();
        if self.encoding.scalar == Scalar::String {
            for token in tokens.chunks_exact(storage) {
                out.extend_from_slice(shown_text(token));
                out.push(b'\n');
            }
            return;
        }
        let Some(size) = self.encoding.token_bytes() else {
            for token in tokens {
                self.bits = self.bits << 1 | token & 1;
                self.n_bits += 1;
                if self.n_bits == 8 {
                    out.push(self.bits);
                    self.n_bits = 0;
                }
            }
            return;
        };
        let excess = self.encoding.scalar.width() % 8;
        for token in tokens.chunks_exact(storage) {
            let start = out.len();
            out.extend_from_slice(&token[..size]);
            if let (true, Some(top)) = (excess != 0, out.last_mut()) {
                *top &= 0xff >> (8 - excess);
            }
            if self.encoding.big_endian {
                out[start..].reverse();
            }
        }
    }

    /// Appends the last bits, filled up with zeros, and returns how many bits of them are filling.
    pub fn finish(&mut self, out: &mut Vec<u8>) -> u32 {
        if self.n_bits == 0 {
            return 0;
        }
        let filling = 8 - self.n_bits;
        out.push(self.bits << filling);
        self.n_bits = 0;
        filling
    }
}

/// Appends the stored form of a text.
pub fn store_text(text: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
    out.extend(texts::number_of(text)?.to_le_bytes());
    Ok(())
}

/// The text that a stored token stands for.
fn shown_text(token: &[u8]) -> &'static [u8] {
    texts::text_of(u64::from_le_bytes(first_bytes(token))).to_bytes()
}

/// Appends the stored form of a number (`-3`, `0xff`, `true`, `1.5` for reals).
pub fn store_number(text: &str, scalar: Scalar, out: &mut Vec<u8>) -> Result<(), String> {
    let text = text.trim();
    match scalar {
        Scalar::Bool => {
            let value = match text {
                "true" | "1" => 1,
                "false" | "0" => 0,
                _ => return Err(format!("`{}` is neither true nor false", text.escape_debug())),
            };
            out.push(value);
        }
        Scalar::Real(real) => {
            let value: f64 = text.parse().map_err(|_| format!("`{}` is not a number", text.escape_debug()))?;
            match real {
                RealType::Double => out.extend(value.to_le_bytes()),
                RealType::Float => out.extend((value as f32).to_le_bytes()),
                RealType::Half => out.extend(half_bits(value).to_le_bytes()),
            }
        }
        Scalar::Int(int) => {
            let value = parse_integer(text).ok_or_else(|| format!("`{}` is not an integer", text.escape_debug()))?;
            if !value.fits(int) {
                return Err(format!("{text} is outside the range of {int}"));
            }
            out.extend(value.to_le_bytes(scalar.storage_bytes()));
        }
        Scalar::String => store_text(text.as_bytes(), out)?,
    }
    Ok(())
}

/// Longest number that is read: more digits than the widest type has.
const MAX_DIGITS: usize = 4096;

/// A decimal, `0x` hexadecimal or `0b` binary integer, possibly negative.
fn parse_integer(text: &str) -> Option<Int> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (radix, digits) = match digits.get(..2) {
        Some("0x" | "0X") => (16, &digits[2..]),
        Some("0b" | "0B") => (2, &digits[2..]),
        _ => (10, digits),
    };
    if digits.is_empty() || digits.len() > MAX_DIGITS || !digits.chars().all(|digit| digit.is_digit(radix)) {
        return None;
    }
    let value = Int::from(BigInt::parse_bytes(digits.as_bytes(), radix)?);
    Some(if negative { value.neg() } else { value })
}

/// The stored token as a number.
pub fn show_number(token: &[u8], scalar: Scalar) -> String {
    match scalar {
        Scalar::Bool => u8::from(token.first().is_some_and(|byte| byte & 1 == 1)).to_string(),
        Scalar::Real(RealType::Double) => f64::from_le_bytes(first_bytes(token)).to_string(),
        Scalar::Real(RealType::Float) => f32::from_le_bytes(first_bytes(token)).to_string(),
        Scalar::Real(RealType::Half) => half_value(u16::from_le_bytes(first_bytes(token))).to_string(),
        Scalar::Int(int) => Int::from_le_bytes(token, int.signed).to_string(),
        Scalar::String => String::from_utf8_lossy(shown_text(token)).into_owned(),
    }
}

fn first_bytes<const N: usize>(token: &[u8]) -> [u8; N] {
    let mut bytes = [0; N];
    for (to, from) in bytes.iter_mut().zip(token) {
        *to = *from;
    }
    bytes
}

/// The nearest binary16 of a number, ties to even.
fn half_bits(value: f64) -> u16 {
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    let magnitude = value.abs();
    if magnitude.is_nan() {
        return 0x7e00;
    }
    // 2^-24 is the unit of subnormal numbers; from 2^-14 on, the unit doubles with every power of two.
    let exponent = if magnitude < 2f64.powi(-14) { -14 } else { (magnitude.to_bits() >> 52) as i32 - 1023 };
    if exponent > 15 {
        return sign | 0x7c00;
    }
    let units = (magnitude / 2f64.powi(exponent - 10)).round_ties_even() as u16;
    sign | (((exponent + 14) as u16) << 10).wrapping_add(units)
}

/// The number that a binary16 stands for.
fn half_value(bits: u16) -> f64 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let fraction = f64::from(bits & 0x3ff);
    sign * match bits >> 10 & 31 {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        exponent => (1024.0 + fraction) * 2f64.powi(i32::from(exponent) - 25),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headrace_ir::IntType;

    fn uint(width: u32) -> Scalar {
        Scalar::Int(IntType::unsigned(width))
    }

    fn int(width: u32) -> Scalar {
        Scalar::Int(IntType::signed(width))
    }

    fn there_and_back(scalar: Scalar, big_endian: bool, outside: &[u8], stored: &[u8]) {
        let encoding = Encoding::new(scalar, big_endian);
        for step in 1..=outside.len() {
            let mut decoder = Decoder::new(encoding);
            let mut tokens = Vec::new();
            for piece in outside.chunks(step) {
                decoder.decode(piece, &mut tokens).expect("the bytes are tokens of the type");
            }
            decoder.finish(&mut tokens).expect("the bytes are whole tokens");
            assert_eq!(tokens, stored, "{scalar} in steps of {step}");
        }
        let (mut encoder, mut bytes) = (Encoder::new(encoding), Vec::new());
        for token in stored.chunks(scalar.storage_bytes()) {
            encoder.encode(token, &mut bytes);
        }
        assert_eq!(encoder.finish(&mut bytes), 0);
        assert_eq!(bytes, outside, "{scalar}");
    }

    #[test]
    fn tokens_of_many_widths() {
        there_and_back(uint(8), false, &[1, 2, 255], &[1, 2, 255]);
        there_and_back(uint(8), true, &[1, 2, 255], &[1, 2, 255]);
        there_and_back(uint(5), false, &[31, 0], &[31, 0]);
        there_and_back(int(5), false, &[31, 15], &[0xff, 15]);
        there_and_back(uint(12), false, &[0x34, 0x0f], &[0x34, 0x0f]);
        there_and_back(uint(12), true, &[0x0f, 0x34], &[0x34, 0x0f]);
        there_and_back(int(12), false, &[0x34, 0x0f], &[0x34, 0xff]);
        there_and_back(uint(24), true, &[1, 2, 3, 4, 5, 6], &[3, 2, 1, 0, 6, 5, 4, 0]);
        there_and_back(int(32), true, &[0xff, 0xff, 0xff, 0xfe], &[0xfe, 0xff, 0xff, 0xff]);
        there_and_back(int(65), false, &[0, 0, 0, 0, 0, 0, 0, 0, 1], &[0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255]);
        there_and_back(Scalar::Bool, false, &[0b1010_0001], &[1, 0, 1, 0, 0, 0, 0, 1]);
        there_and_back(int(1), false, &[0b1000_0001], &[255, 0, 0, 0, 0, 0, 0, 255]);
    }

    #[test]
    fn lines_are_texts() {
        let encoding = Encoding::new(Scalar::String, false);
        for step in 1..8 {
            let (mut decoder, mut tokens, mut shown) = (Decoder::new(encoding), Vec::new(), Vec::new());
            for piece in "one\n\nzwölf".as_bytes().chunks(step) {
                decoder.decode(piece, &mut tokens).expect("lines are texts");
            }
            decoder.finish(&mut tokens).expect("the last line needs no end");
            assert_eq!(tokens.len(), 3 * Scalar::String.storage_bytes());
            Encoder::new(encoding).encode(&tokens, &mut shown);
            assert_eq!(String::from_utf8_lossy(&shown), "one\n\nzwölf\n");
        }
        let longest = [&vec![b'x'; texts::MAX_TEXT_BYTES][..], b"\n"].concat();
        assert_eq!(Decoder::new(encoding).decode(&longest, &mut Vec::new()), Ok(()));
        let (mut decoder, mut out) = (Decoder::new(encoding), Vec::new());
        let refused = (0..100).find_map(|_| decoder.decode(&[0; 1 << 14], &mut out).err());
        assert!(refused.is_some_and(|problem| problem.starts_with("line 1: ") && problem.contains("at most")));
        assert!(decoder.rest.len() <= texts::MAX_TEXT_BYTES && out.is_empty());
    }

    #[test]
    fn excess_bits_and_broken_tokens_are_refused() {
        let mut out = Vec::new();
        let problem = Decoder::new(Encoding::new(uint(5), false)).decode(&[3, 32], &mut out);
        assert_eq!(problem, Err("token 1 has bits set beyond the 5 of its type".into()));
        let mut decoder = Decoder::new(Encoding::new(uint(32), false));
        decoder.decode(&[0; 6], &mut out).expect("any bytes are tokens of 32 bits");
        assert!(decoder.finish(&mut out).is_err());
    }

    #[test]
    fn a_last_byte_of_bits_is_filled_up() {
        let (mut encoder, mut bytes) = (Encoder::new(Encoding::new(Scalar::Bool, false)), Vec::new());
        encoder.encode(&[1, 0, 1], &mut bytes);
        assert_eq!(encoder.finish(&mut bytes), 5);
        assert_eq!(bytes, [0b1010_0000]);
    }

    #[test]
    fn numbers() {
        let stored = |text: &str, scalar| {
            let mut out = Vec::new();
            store_number(text, scalar, &mut out).map(|()| out)
        };
        assert_eq!(stored("-1", int(12)), Ok(vec![255, 255]));
        assert_eq!(stored("0xfff", uint(12)), Ok(vec![255, 15]));
        assert_eq!(stored("true", Scalar::Bool), Ok(vec![1]));
        assert!(stored("-1", uint(12)).is_err());
        assert!(stored("4096", uint(12)).is_err());
        assert!(stored("2048", int(12)).is_err());
        assert!(stored("--1", int(12)).is_err());
        assert!(stored("", int(12)).is_err());
        assert!(stored("+1", int(12)).is_err());
        assert!(stored(&"9".repeat(100_000), uint(4096)).is_err());
        assert_eq!(show_number(&[0xfe, 0xff], int(12)), "-2");
        for text in ["0", "1", "-1", "0.5", "65504", "0.00006103515625", "-0.25", "0.333251953125"] {
            let bytes = stored(text, Scalar::Real(RealType::Half)).expect("a number");
            assert_eq!(show_number(&bytes, Scalar::Real(RealType::Half)), text);
        }
        assert_eq!(stored("65520", Scalar::Real(RealType::Half)), Ok(vec![0x00, 0x7c]));
    }
}
