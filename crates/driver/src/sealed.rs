//! Sealed files: encryption under a passphrase, in segments of which none can be changed, moved, left out or added unseen.
//!
//! docs/sealed-files.md has the format. The key comes from the passphrase by Argon2id (RFC 9106). The segments are those of
//! STREAM (Hoang, Reyhanitabar, Rogaway, Vizár: Online Authenticated-Encryption and its Nonce-Reuse Misuse-Resistance, 2015):
//! the nonce of each has its number and whether it is the last. Half of what Argon2id gives is in the header, so that a
//! passphrase is known to be wrong before anything is decrypted, and a file opens with one passphrase only: AEADs alone do not
//! bind a message to a key.
//!
//! What encrypts a segment is the caller's; here are no ciphers.

use argon2::{Algorithm, Argon2, Block, Params, Version};
use std::fmt;
use std::io::{self, Read};
use zeroize::{Zeroize, Zeroizing};

/// What a sealed file begins with.
const MAGIC: &[u8; 16] = b"headrace sealed\n";

/// The version of the format, the function that makes keys, the AEAD.
const KINDS: [u8; 3] = [1, 1, 1];

/// The exponent of the bytes of a segment.
const SEGMENT_BITS: u8 = 16;

/// Bytes of what is sealed in each segment but the last, which may have fewer.
pub const SEGMENT_BYTES: usize = 1 << SEGMENT_BITS;

/// Bytes that a segment has more when it is sealed.
pub const TAG_BYTES: usize = 16;

/// Bytes of a header before its check, and of that.
const PUBLIC_BYTES: usize = 55;
const CHECK_BYTES: usize = 32;

/// Bytes of a header.
pub const HEADER_BYTES: usize = PUBLIC_BYTES + CHECK_BYTES;

/// What making a key may cost at most, so that a file of somebody else does not take all memory or hours: kibibytes, and these
/// times passes.
const MOST_KIB: u32 = 4 << 20;
const MOST_WORK: u64 = 16 << 20;

/// Most lanes (RFC 9106, section 3.1).
const MOST_LANES: u32 = (1 << 24) - 1;

/// What it costs to make a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Kibibytes of memory.
    pub memory_kib: u32,
    /// Passes over it.
    pub passes: u32,
    /// Parts of it that could be worked on side by side.
    pub lanes: u32,
}

impl Default for Cost {
    /// The second recommended option of RFC 9106, section 4.
    fn default() -> Self {
        Self { memory_kib: 64 << 10, passes: 3, lanes: 4 }
    }
}

/// What the beginning of a sealed file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// What the key costs.
    pub cost: Cost,
    /// Random, so that a passphrase makes another key for each file.
    pub salt: [u8; 16],
    /// Random, the first bytes of all nonces.
    pub prefix: [u8; 7],
}

/// The key of one file, with what its header shows of it.
pub struct Keys {
    /// For the segments.
    pub key: Zeroizing<[u8; 32]>,
    check: [u8; CHECK_BYTES],
}

/// Why something is no sealed file, or does not open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// It does not begin as one.
    NotSealed,
    /// It ends within its header.
    NoHeader,
    /// It has a version, a function or an AEAD that this command does not know.
    Unknown(&'static str, u8),
    /// Making its key would cost too much.
    TooCostly(Cost),
    /// It asks for what the function that makes keys does not take.
    Cost(String),
    /// The passphrase is another, or the header was changed.
    Passphrase,
    /// A segment, counted from 1, is not what was sealed there.
    Segment(u64),
    /// It ends where the last segment should be.
    NoEnd,
    /// It has more segments than there are numbers.
    TooLong,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wrong::NotSealed => f.write_str("is no sealed file: it does not begin with `headrace sealed`"),
            Wrong::NoHeader => f.write_str("ends within its header: it was cut off"),
            Wrong::Unknown(what, number) => {
                write!(f, "has {what} {number}, which this version of the command does not know")
            }
            Wrong::TooCostly(Cost { memory_kib, passes, .. }) => {
                write!(
                    f,
                    "its header wants {memory_kib} KiB of memory {passes} times for the key, more than is granted"
                )
            }
            Wrong::Cost(why) => write!(f, "its header makes no key: {why}"),
            Wrong::Passphrase => f.write_str("the passphrase is wrong, or the header was changed"),
            Wrong::Segment(number) => {
                write!(
                    f,
                    "segment {number} is not what was sealed there: it was changed or moved, or the file was cut off behind it"
                )
            }
            Wrong::NoEnd => f.write_str("ends before its last segment: it was cut off"),
            Wrong::TooLong => f.write_str("is longer than 256 TiB, the most that can be sealed"),
        }
    }
}

impl Header {
    /// The bytes before the check.
    fn public(&self) -> [u8; PUBLIC_BYTES] {
        let mut bytes = [0; PUBLIC_BYTES];
        let mut at = 0;
        let mut put = |part: &[u8]| {
            bytes[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        };
        put(MAGIC);
        put(&KINDS);
        put(&[SEGMENT_BITS]);
        for number in [self.cost.memory_kib, self.cost.passes, self.cost.lanes] {
            put(&number.to_be_bytes());
        }
        put(&self.salt);
        put(&self.prefix);
        bytes
    }

    /// The header as it is written, which is the associated data of every segment, too.
    pub fn bytes(&self, keys: &Keys) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..PUBLIC_BYTES].copy_from_slice(&self.public());
        bytes[PUBLIC_BYTES..].copy_from_slice(&keys.check);
        bytes
    }

    /// Reads a header: what it says, and what it shows of the key.
    ///
    /// # Errors
    ///
    /// Why it is none that can be opened.
    pub fn parse(bytes: &[u8]) -> Result<(Self, [u8; CHECK_BYTES]), Wrong> {
        let begins = bytes.len().min(MAGIC.len());
        if bytes[..begins] != MAGIC[..begins] || bytes.is_empty() {
            return Err(Wrong::NotSealed);
        }
        let bytes: &[u8; HEADER_BYTES] = bytes.try_into().map_err(|_| Wrong::NoHeader)?;
        let mut rest = &bytes[MAGIC.len()..];
        let mut take = |n_bytes: usize| {
            let (part, left) = rest.split_at(n_bytes);
            rest = left;
            part
        };
        let known = KINDS.into_iter().chain([SEGMENT_BITS]);
        let names = ["version", "key derivation function", "AEAD", "segment size"];
        for ((name, known), found) in names.into_iter().zip(known).zip(take(4)) {
            if known != *found {
                return Err(Wrong::Unknown(name, *found));
            }
        }
        let mut number = || u32::from_be_bytes(take(4).try_into().unwrap_or_default());
        let cost = Cost { memory_kib: number(), passes: number(), lanes: number() };
        let header = Self {
            cost,
            salt: take(16).try_into().unwrap_or_default(),
            prefix: take(7).try_into().unwrap_or_default(),
        };
        Ok((header, take(CHECK_BYTES).try_into().unwrap_or_default()))
    }

    /// The keys that a passphrase makes.
    ///
    /// # Errors
    ///
    /// It would cost too much, or less than there can be.
    pub fn keys(&self, passphrase: &[u8]) -> Result<Keys, Wrong> {
        let Cost { memory_kib, passes, lanes } = self.cost;
        if memory_kib > MOST_KIB || u64::from(memory_kib) * u64::from(passes) > MOST_WORK {
            return Err(Wrong::TooCostly(self.cost));
        }
        if lanes > MOST_LANES {
            return Err(Wrong::Cost(format!("it has {lanes} lanes")));
        }
        let mut made = Zeroizing::new([0; 64]);
        let parameters = Params::new(memory_kib, passes, lanes, Some(made.len()));
        let parameters = parameters.map_err(|error| Wrong::Cost(error.to_string()))?;
        let mut blocks = vec![Block::default(); parameters.block_count()];
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, parameters);
        let hashed = argon2.hash_password_into_with_memory(passphrase, &self.salt, &mut *made, &mut blocks);
        // What the key was made of would make it again.
        blocks.iter_mut().zeroize();
        hashed.map_err(|error| Wrong::Cost(error.to_string()))?;
        let mut keys = Keys { key: Zeroizing::new([0; 32]), check: [0; CHECK_BYTES] };
        keys.key.copy_from_slice(&made[..32]);
        keys.check.copy_from_slice(&made[32..]);
        Ok(keys)
    }

    /// The nonce of a segment, counted from 0.
    ///
    /// # Errors
    ///
    /// There are no more numbers.
    pub fn nonce(&self, number: u64, last: bool) -> Result<[u8; 12], Wrong> {
        let number = u32::try_from(number).map_err(|_| Wrong::TooLong)?;
        let mut nonce = [0; 12];
        nonce[..7].copy_from_slice(&self.prefix);
        nonce[7..11].copy_from_slice(&number.to_be_bytes());
        nonce[11] = u8::from(last);
        Ok(nonce)
    }
}

impl Keys {
    /// Whether this is the key of a header, compared without showing how much of it agrees.
    pub fn fit(&self, check: &[u8; CHECK_BYTES]) -> bool {
        self.check.iter().zip(check).fold(0, |sum, (one, other)| sum | (one ^ other)) == 0
    }
}

/// Pieces of a stream, all of one size but the last.
pub struct Pieces<R> {
    from: R,
    ahead: Zeroizing<Vec<u8>>,
    size: usize,
    begun: bool,
}

impl<R: Read> Pieces<R> {
    /// Of this size.
    pub fn new(from: R, size: usize) -> Self {
        Self { from, ahead: Zeroizing::new(Vec::with_capacity(size)), size, begun: false }
    }

    /// Puts the next piece into `piece`, and says whether it is the last. One of an empty stream is empty.
    ///
    /// # Errors
    ///
    /// The stream cannot be read.
    pub fn next(&mut self, piece: &mut Zeroizing<Vec<u8>>) -> io::Result<bool> {
        if !self.begun {
            self.begun = true;
            fill(&mut self.from, &mut self.ahead, self.size)?;
        }
        std::mem::swap(piece, &mut self.ahead);
        self.ahead.clear();
        if piece.len() == self.size {
            fill(&mut self.from, &mut self.ahead, self.size)?;
        }
        Ok(self.ahead.is_empty())
    }
}

/// Reads so many bytes, or all there are.
pub fn fill(from: &mut impl Read, bytes: &mut Zeroizing<Vec<u8>>, size: usize) -> io::Result<()> {
    if bytes.capacity() < size {
        // Growing would leave copies that are not wiped.
        *bytes = Zeroizing::new(Vec::with_capacity(size));
    }
    bytes.clear();
    from.take(size as u64).read_to_end(bytes).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        let cost = Cost { memory_kib: 32, passes: 1, lanes: 1 };
        Header { cost, salt: *b"0123456789abcdef", prefix: *b"7 bytes" }
    }

    #[test]
    fn headers_are_read_as_they_are_written() {
        let keys = header().keys(b"passphrase").expect("that costs little");
        let bytes = header().bytes(&keys);
        let (read, check) = Header::parse(&bytes).expect("it is one");
        assert!(read == header() && keys.fit(&check));
        assert!(!header().keys(b"another").expect("that costs little").fit(&check));
        for length in 0..HEADER_BYTES {
            let wrong = Header::parse(&bytes[..length]).expect_err("it is cut off");
            assert_eq!(wrong, if length == 0 { Wrong::NotSealed } else { Wrong::NoHeader });
        }
        // Nothing of it can be changed unseen.
        for at in 0..HEADER_BYTES {
            let mut changed = bytes;
            changed[at] ^= 1;
            let opened =
                Header::parse(&changed).and_then(|(header, check)| Ok((header.keys(b"passphrase")?, header, check)));
            let same =
                opened.is_ok_and(|(keys, header, check)| keys.fit(&check) && header.bytes(&keys)[..] == bytes[..]);
            assert!(!same, "{at}");
        }
    }

    #[test]
    fn what_a_key_may_cost_is_bounded() {
        let with = |memory_kib, passes, lanes| Header { cost: Cost { memory_kib, passes, lanes }, ..header() };
        for header in [with(u32::MAX, 1, 1), with(MOST_KIB, 1000, 1), with(1 << 20, u32::MAX, 1)] {
            assert!(matches!(header.keys(b"x"), Err(Wrong::TooCostly(_))), "{header:?}");
        }
        for header in [with(0, 1, 1), with(32, 0, 1), with(32, 1, 0), with(32, 1, u32::MAX), with(8, 1, 2)] {
            assert!(matches!(header.keys(b"x"), Err(Wrong::Cost(_))), "{header:?}");
        }
    }

    #[test]
    fn nonces_are_those_of_stream() {
        let nonce = |number, last| header().nonce(number, last);
        assert_eq!(nonce(0, false), Ok(*b"7 bytes\0\0\0\0\0"));
        assert_eq!(nonce(0x0102_0304, true), Ok(*b"7 bytes\x01\x02\x03\x04\x01"));
        assert_eq!(nonce(1 << 32, true), Err(Wrong::TooLong));
    }

    #[test]
    fn pieces_know_which_is_the_last() {
        for (length, wanted) in [(0, vec![0]), (1, vec![1]), (4, vec![4]), (5, vec![4, 1]), (8, vec![4, 4])] {
            let text = vec![7; length];
            let mut pieces = Pieces::new(text.as_slice(), 4);
            let mut piece = Zeroizing::default();
            let mut lengths = Vec::new();
            loop {
                let last = pieces.next(&mut piece).expect("memory can be read");
                lengths.push(piece.len());
                if last {
                    break;
                }
            }
            assert_eq!(lengths, wanted, "{length}");
        }
    }
}
