//! The LWC hardware API: which operations of a parameter set make a core with it, and messages as words at its ports.
//!
//! The API (GMU, "Hardware API for Lightweight Cryptography", version 1.2; its predecessor is IACR ePrint 2016/626) has three streams
//! of 32-bit words: public data and instructions in (`pdi`), keys in (`sdi`), and data out (`do`). A message is an instruction and
//! segments; a segment is a header of type, flags and length in bytes, and its data in words, the first byte in the top bits, the
//! last word filled up with zeros. What a core must be able to do follows from the roles and sizes of the ports of its operations.

use crate::catalog::{Framing, OperationSpec};
use crate::instantiation::Instantiation;
use crate::manifest::{Blocks, Shape};
use crate::sizes::USUAL_NONCE_BYTES;
use crate::{PortSpec, Role};
use std::fmt::Write as _;

/// Most bytes of a segment. Strings of messages that are made here are segments, each of them.
pub const MAX_SEGMENT_BYTES: usize = 0xffff;

/// Bytes of a segment of text that goes out of a core whose ciphertexts are not always as long as their plaintexts; the last one of a
/// text has fewer.
pub const SEGMENT_BYTES: usize = 32;

/// Most words of a block in cores on blocks.
const MOST_BLOCK_WORDS: u64 = 32;

/// Instructions and status words, in the top four bits.
const ENCRYPT: u32 = 0x2;
const DECRYPT: u32 = 0x3;
const LOAD_KEY: u32 = 0x4;
const ACTIVATE_KEY: u32 = 0x7;
const HASH: u32 = 0x8;
const SUCCESS: u32 = 0xe;
const FAILURE: u32 = 0xf;

/// Types of segments.
const AD: u32 = 0x1;
const PLAINTEXT: u32 = 0x4;
const CIPHERTEXT: u32 = 0x5;
const HASH_MESSAGE: u32 = 0x7;
const TAG: u32 = 0x8;
const DIGEST: u32 = 0x9;
const KEY: u32 = 0xc;
const NONCE: u32 = 0xd;
const SECRET: u32 = 0xe;
const ENCRYPTED_SECRET: u32 = 0xf;

/// Flags of segments: the last one that carries data, the last one of its type, the last one of its message.
const END_OF_INPUT: u32 = 4;
const END_OF_TYPE: u32 = 2;
const LAST: u32 = 1;

/// A core with the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Core<'a> {
    /// An authenticated cipher, both directions.
    Aead {
        /// The operation that encrypts.
        encrypt: &'a OperationSpec,
        /// The one that decrypts and verifies.
        decrypt: &'a OperationSpec,
        /// Bytes of a key, a nonce and a tag.
        sizes: AeadSizes,
    },
    /// A hash function.
    Hash {
        /// The operation.
        hash: &'a OperationSpec,
        /// Bytes of a digest.
        digest_bytes: u64,
    },
}

/// Sizes of strings that have one size in a core, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AeadSizes {
    /// Of a key.
    pub key: u64,
    /// Of a nonce.
    pub nonce: u64,
    /// Of a tag.
    pub tag: u64,
    /// Of a secret message number; 0 where there is none.
    pub secret: u64,
    /// There are messages without a tag.
    pub may_have_no_tag: bool,
}

/// The ports of an operation have these roles, and their names.
fn has_ports(spec: &OperationSpec, inputs: &[Role], outputs: &[Role]) -> bool {
    let are = |ports: &[PortSpec], roles: &[Role]| {
        ports.len() == roles.len()
            && ports.iter().all(|port| roles.contains(&port.role) && port.name == port.role.name())
    };
    spec.framing == Framing::Message && are(&spec.inputs, inputs) && are(&spec.outputs, outputs)
}

/// The one size that strings of a port have in a core: the only legal one, else the preferred one (0: none) if it is legal, else
/// the greatest.
fn size_of(port: &PortSpec, preferred: u64) -> Option<u64> {
    let chosen = port.sizes.fixed().unwrap_or(match preferred > 0 && port.sizes.allows(preferred) {
        true => preferred,
        false => port.sizes.max(),
    });
    (1..=MAX_SEGMENT_BYTES as u64).contains(&chosen).then_some(chosen)
}

impl<'a> Core<'a> {
    /// The core that some operations of one parameter set make: an authenticated cipher, or a hash function.
    ///
    /// # Errors
    ///
    /// That they make none, and what would, as a sentence without a full stop.
    pub fn of(operations: &[&'a OperationSpec]) -> Result<Self, String> {
        use Role::{Ad, Input, Key, Nonce, Output, Rekey, SecretNonce, SecretNonceOut, Tag, TagIn, Verified};
        // With a secret message number, or without one.
        let has = |spec: &OperationSpec, inputs: &[Role], outputs: &[Role]| {
            has_ports(spec, inputs, outputs)
                || has_ports(spec, &[inputs, &[SecretNonce]].concat(), &[outputs, &[SecretNonceOut]].concat())
        };
        let encrypt = operations.iter().find(|spec| has(spec, &[Rekey, Key, Nonce, Ad, Input], &[Output, Tag]));
        let is_decryption = |spec: &&&OperationSpec| {
            has(spec, &[Rekey, Key, Nonce, Ad, Input, TagIn], &[Output, Verified])
                && encrypt.is_some_and(|encrypt| encrypt.inverse.as_ref() == Some(&spec.name))
        };
        if let Some((encrypt, decrypt)) = encrypt.zip(operations.iter().find(is_decryption)) {
            let size = |role: Role, preferred: u64| {
                let port = encrypt.input(role).or(encrypt.output(role));
                port.and_then(|port| size_of(port, preferred)).ok_or_else(|| format!("`{}` has no size", role.name()))
            };
            let tag = encrypt.tag_parameter.as_ref().map(|(_, sizes)| sizes.max());
            let sizes = AeadSizes {
                key: size(Key, 0)?,
                nonce: size(Nonce, USUAL_NONCE_BYTES)?,
                tag: tag.map_or_else(|| size(Tag, 0), Ok)?,
                secret: encrypt.input(SecretNonce).map_or(Ok(0), |_| size(SecretNonce, 0))?,
                may_have_no_tag: encrypt
                    .output(Tag)
                    .is_some_and(|port| port.companion.is_some() && port.sizes.allows(0)),
            };
            return Ok(Core::Aead { encrypt, decrypt, sizes });
        }
        let hash = operations.iter().find(|spec| has_ports(spec, &[Input], &[Output]) && spec.shape == Shape::Hash);
        let digest = hash.and_then(|hash| hash.output(Output)?.sizes.fixed());
        match hash.zip(digest) {
            Some((hash, digest_bytes)) => Ok(Core::Hash { hash, digest_bytes }),
            None => {
                Err("the LWC hardware API is for authenticated encryption and decryption together, with key, nonce, \
                 associated data and tag, and for hash functions whose digests have one length"
                    .to_owned())
            }
        }
    }

    /// Its operations: encryption before decryption.
    pub fn operations(&self) -> Vec<&'a OperationSpec> {
        match self {
            Core::Aead { encrypt, decrypt, .. } => vec![encrypt, decrypt],
            Core::Hash { hash, .. } => vec![hash],
        }
    }

    /// Its network, with words of so many bits and with the networks of these variants of its operations in it, in their order. `framed`
    /// says that ciphertexts are not always as long as their plaintexts, for which there have to be words of 32 bits, a tag of one length
    /// and no secret message number.
    pub fn network(&self, variants: &[Instantiation], word_bits: u32, framed: bool) -> Option<Instantiation> {
        let network = |entity: &str| Instantiation { entity: format!("ctl.parts.lwc.{entity}"), arguments: Vec::new() };
        Some(match (self, variants) {
            (Core::Aead { sizes, .. }, [sealing, _])
                if !framed && self.fitting_blocks(variants, word_bits).is_some() =>
            {
                let blocks = self.blocks(sealing)?;
                let core = network("AeadBlocks").with("Cipher", blocks.network.to_string());
                let numbers = [
                    ("BLOCK_BYTES", blocks.bytes, 16),
                    ("AD_FRONT", blocks.ad_front, 0),
                    ("KEY_BYTES", sizes.key, 16),
                    ("TAG_BYTES", sizes.tag, 16),
                    ("SECRET_BYTES", sizes.secret, 0),
                    ("WORD_BYTES", u64::from(word_bits / 8), 4),
                ];
                let core = numbers
                    .iter()
                    .filter(|(_, value, usual)| value != usual)
                    .fold(core, |core, (name, value, _)| core.with(name, value.to_string()));
                let are_long = sizes.nonce.max(sizes.tag) > blocks.bytes;
                let told = [
                    ("LONG", are_long),
                    ("PADS", blocks.pads),
                    ("EACH_FRONT", blocks.each_front),
                    ("AHEAD", blocks.ahead),
                    ("TAGLESS", sizes.may_have_no_tag),
                ];
                told.iter().filter(|(_, holds)| *holds).fold(core, |core, (name, _)| core.with(name, "true"))
            }
            (Core::Aead { encrypt, decrypt, sizes }, [sealing, opening]) => {
                let with_tag = |network: &Instantiation| match &encrypt.tag_parameter {
                    Some((name, _)) => network.clone().with(name, sizes.tag.to_string()),
                    None => network.clone(),
                };
                let has_size = |spec: &OperationSpec, role: Role| {
                    spec.input(role).is_some_and(|port| port.companion.is_some()).to_string()
                };
                let framed_out = encrypt.output(Role::Tag).is_some_and(|port| port.companion.is_some());
                if framed && (word_bits != 32 || sizes.secret > 0 || framed_out) {
                    return None;
                }
                let core = network(if framed { "FramedAead" } else { "Aead" })
                    .with("Encrypt", with_tag(sealing).to_string())
                    .with("Decrypt", with_tag(opening).to_string())
                    .with("KEY_BYTES", sizes.key.to_string())
                    .with("NONCE_BYTES", sizes.nonce.to_string())
                    .with("TAG_BYTES", sizes.tag.to_string())
                    .with("KEY_FRAMED", has_size(encrypt, Role::Key))
                    .with("NONCE_FRAMED", has_size(encrypt, Role::Nonce))
                    .with("TAG_FRAMED", has_size(decrypt, Role::TagIn));
                if framed {
                    return Some(core.with("SEGMENT_BYTES", SEGMENT_BYTES.to_string()));
                }
                let other = [
                    ("WORD_BYTES", u64::from(word_bits / 8), 4),
                    ("SECRET_BYTES", sizes.secret, 0),
                    ("TAG_OUT_FRAMED", u64::from(framed_out), 0),
                ];
                other.iter().filter(|(_, value, usual)| value != usual).fold(core, |core, (name, value, _)| {
                    core.with(name, if *name == "TAG_OUT_FRAMED" { "true".to_owned() } else { value.to_string() })
                })
            }
            (Core::Hash { digest_bytes, .. }, [hash]) => {
                network("Hash").with("Function", hash.to_string()).with("DIGEST_BYTES", digest_bytes.to_string())
            }
            _ => return None,
        })
    }

    /// The blocks, where [`Core::network`] with words of so many bits works on them: none ends in a word in which it begins, and they
    /// are not too many words, with what is left of one for the next block.
    pub fn fitting_blocks(&self, variants: &[Instantiation], word_bits: u32) -> Option<&'a Blocks> {
        let blocks = self.blocks(variants.first()?)?;
        let word_bytes = u64::from(word_bits / 8);
        let least_bytes = blocks.bytes - blocks.ad_front;
        let are_whole = [blocks.bytes, blocks.ad_front].iter().all(|bytes| bytes.is_multiple_of(word_bytes));
        let most_words = if are_whole { MOST_BLOCK_WORDS } else { MOST_BLOCK_WORDS - 1 };
        (least_bytes >= word_bytes && blocks.bytes.div_ceil(word_bytes) <= most_words).then_some(blocks)
    }

    /// The network that does both directions on blocks, where the one that encrypts is the standard one.
    fn blocks(&self, sealing: &Instantiation) -> Option<&'a Blocks> {
        let Core::Aead { encrypt, .. } = self else { return None };
        let is_standard = encrypt.variants.first().is_some_and(|variant| variant.network == *sealing);
        encrypt.blocks.as_ref().filter(|_| is_standard)
    }

    /// What it is, with the sizes that it has, as a sentence.
    pub fn about(&self) -> String {
        match self {
            Core::Aead { encrypt, sizes: AeadSizes { key, nonce, tag, .. }, .. } => format!(
                "`{}`, encryption and decryption; keys have {key} bytes, nonces {nonce}, tags {tag}.",
                encrypt.set
            ),
            Core::Hash { hash, digest_bytes } => format!("`{}`; digests have {digest_bytes} bytes.", hash.set),
        }
    }
}

/// A message through an authenticated cipher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sealed<'a> {
    /// Key, nonce, associated data.
    pub key: &'a [u8],
    /// The nonce.
    pub nonce: &'a [u8],
    /// The secret message number, and what it is encrypted, where there is one.
    pub secret: Option<(&'a [u8], &'a [u8])>,
    /// The associated data.
    pub ad: &'a [u8],
    /// The plaintext.
    pub plaintext: &'a [u8],
    /// The ciphertext.
    pub ciphertext: &'a [u8],
    /// The tag.
    pub tag: &'a [u8],
}

/// The files `pdi.txt`, `sdi.txt` and `do.txt` that benches of the API read, in the form of `cryptotvgen`: lines of words, and
/// comments. Headers and instructions are in the first four bytes of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    pdi: Words,
    sdi: Words,
    output: Words,
    /// Messages so far,
    messages: usize,
    /// and the key of the last one.
    key: Vec<u8>,
    /// Keys come where they are others, and never again.
    keeps_keys: bool,
    /// Texts go out in segments of [`SEGMENT_BYTES`].
    framed: bool,
    /// Messages in several segments, for cores that take them in whole blocks.
    pieces: Option<Box<Script>>,
}

/// A file, with the bytes of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Words {
    text: String,
    word_bytes: usize,
}

impl Script {
    /// A script without messages, for words of public data of so many bits.
    pub fn of_words(word_bits: u32) -> Self {
        let file = |bits: u32| Words { text: String::new(), word_bytes: (bits / 8).max(4) as usize };
        Script {
            pdi: file(word_bits),
            sdi: file(32),
            output: file(word_bits),
            messages: 0,
            key: Vec::new(),
            keeps_keys: false,
            framed: false,
            pieces: None,
        }
    }

    /// The same for a core whose ciphertexts are not always as long as their plaintexts, if it is one.
    #[must_use]
    pub fn framed(self, framed: bool) -> Self {
        Script { framed, ..self }
    }

    /// The same, with messages in several segments in files of their own.
    pub fn add_pieces(&mut self, pieces: Script) {
        self.pieces = Some(Box::new(pieces));
    }

    /// Messages in several segments.
    pub fn pieces(&self) -> Option<&Script> {
        self.pieces.as_deref()
    }

    /// A text that goes out, and the flags of its last segment.
    fn text(&mut self, kind: u32, flags: u32, bytes: &[u8]) {
        let whole = if self.framed { bytes.len() / SEGMENT_BYTES * SEGMENT_BYTES } else { 0 };
        let (front, rest) = bytes.split_at(whole);
        front.chunks(SEGMENT_BYTES).for_each(|some| self.output.segment(kind, 0, some));
        self.output.segment(kind, flags, rest);
    }

    /// Bits of a word of public data.
    pub fn word_bits(&self) -> usize {
        8 * self.pdi.word_bytes
    }

    /// How many messages there are.
    pub fn messages(&self) -> usize {
        self.messages
    }

    /// Keys come only where they are others than before from now on: messages of the same form take the same time.
    pub fn keep_keys(&mut self) {
        self.keeps_keys = true;
    }

    /// The files by their names. `head` says what made them.
    pub fn files(&self, head: &str) -> [(&'static str, String); 3] {
        let all = [("pdi.txt", &self.pdi.text), ("sdi.txt", &self.sdi.text), ("do.txt", &self.output.text)];
        all.map(|(name, text)| (name, format!("# {head}\n{text}\n###EOF\n")))
    }

    /// A message to encrypt.
    pub fn encrypt(&mut self, message: &Sealed<'_>) {
        self.begin(ENCRYPT, "ENC", message);
        let secret = message.secret.map(|(secret, _)| (SECRET, secret));
        let strings =
            [Some((NONCE, message.nonce)), secret, Some((AD, message.ad)), Some((PLAINTEXT, message.plaintext))];
        self.pdi.segments(strings, LAST);
        if let Some((_, encrypted)) = message.secret {
            self.output.segment(ENCRYPTED_SECRET, END_OF_TYPE, encrypted);
        }
        self.text(CIPHERTEXT, END_OF_TYPE, message.ciphertext);
        self.output.segment(TAG, END_OF_TYPE | LAST, message.tag);
        self.output.word("STT", SUCCESS << 28);
    }

    /// A message to encrypt whose associated data and text come in several segments of whole blocks, as a core on blocks takes them;
    /// one of them is empty, for which nothing goes out.
    pub fn encrypt_in_pieces(&mut self, message: &Sealed<'_>, blocks: &Blocks) {
        self.begin(ENCRYPT, "ENC", message);
        self.pdi.segment(NONCE, END_OF_TYPE, message.nonce);
        if let Some((secret, encrypted)) = message.secret {
            self.pdi.segment(SECRET, END_OF_TYPE, secret);
            self.output.segment(ENCRYPTED_SECRET, END_OF_TYPE, encrypted);
        }
        let later = blocks.bytes - if blocks.each_front { blocks.ad_front } else { 0 };
        let ad = [blocks.bytes - blocks.ad_front, 0, 2 * later];
        self.pdi.pieces(AD, END_OF_TYPE, message.ad, &ad);
        self.pdi.pieces(PLAINTEXT, END_OF_TYPE | LAST, message.plaintext, &[blocks.bytes, 0, 2 * blocks.bytes]);
        self.output.pieces(CIPHERTEXT, END_OF_TYPE, message.ciphertext, &[blocks.bytes, 2 * blocks.bytes]);
        self.output.segment(TAG, END_OF_TYPE | LAST, message.tag);
        self.output.word("STT", SUCCESS << 28);
    }

    /// A message without text to decrypt, whose nonce is cut, which a core on blocks answers by failure.
    pub fn misfit(&mut self, message: &Sealed<'_>) {
        self.begin(DECRYPT, "DEC", message);
        let (front, rest) = message.nonce.split_at(1);
        self.pdi.segment(NONCE, 0, front);
        self.pdi.segment(NONCE, END_OF_TYPE, rest);
        self.pdi.segment(AD, END_OF_TYPE, message.ad);
        self.pdi.segment(CIPHERTEXT, END_OF_TYPE, &[]);
        self.pdi.segment(TAG, END_OF_TYPE | LAST, message.tag);
        self.output.segment(PLAINTEXT, END_OF_TYPE | LAST, &[]);
        self.output.word("STT", FAILURE << 28);
    }

    /// A message to decrypt, which comes with its own tag.
    pub fn decrypt(&mut self, message: &Sealed<'_>) {
        let secret = message.secret.map(|(secret, _)| secret);
        self.open(message, message.tag, message.plaintext, secret, SUCCESS);
    }

    /// A message to decrypt, which comes with a tag that is not its own: `plaintext` and `secret` go out before it is refused. They are
    /// not those of the message where a cipher needs the tag to decrypt.
    pub fn refuse(&mut self, message: &Sealed<'_>, tag: &[u8], plaintext: &[u8], secret: Option<&[u8]>) {
        self.open(message, tag, plaintext, secret, FAILURE);
    }

    fn open(&mut self, message: &Sealed<'_>, tag: &[u8], plaintext: &[u8], secret: Option<&[u8]>, status: u32) {
        self.begin(DECRYPT, "DEC", message);
        let encrypted = message.secret.map(|(_, encrypted)| (ENCRYPTED_SECRET, encrypted));
        let strings =
            [Some((NONCE, message.nonce)), encrypted, Some((AD, message.ad)), Some((CIPHERTEXT, message.ciphertext))];
        self.pdi.segments(strings, 0);
        self.pdi.segment(TAG, END_OF_TYPE | LAST, tag);
        if let Some(secret) = secret {
            self.output.segment(SECRET, END_OF_TYPE, secret);
        }
        self.text(PLAINTEXT, END_OF_TYPE | LAST, plaintext);
        self.output.word("STT", status << 28);
    }

    /// A message to hash.
    pub fn hash(&mut self, message: &[u8], digest: &[u8]) {
        self.comment(HASH, &format!("op=HASH, data={}", message.len()));
        self.pdi.word("INS", HASH << 28);
        let flags = if message.is_empty() { 0 } else { END_OF_INPUT };
        self.pdi.segment(HASH_MESSAGE, flags | END_OF_TYPE | LAST, message);
        self.output.segment(DIGEST, END_OF_TYPE | LAST, digest);
        self.output.word("STT", SUCCESS << 28);
    }

    /// The key, where it is another one than before, or may be left out but this time is not, and the instruction.
    fn begin(&mut self, instruction: u32, name: &str, message: &Sealed<'_>) {
        self.comment(instruction, &format!("op={name}, AD={}, data={}", message.ad.len(), message.plaintext.len()));
        if self.key != message.key || !self.keeps_keys && self.messages.is_multiple_of(3) {
            self.sdi.word("INS", LOAD_KEY << 28);
            self.sdi.segment(KEY, END_OF_INPUT | END_OF_TYPE | LAST, message.key);
            self.pdi.word("INS", ACTIVATE_KEY << 28);
            self.key = message.key.to_vec();
        }
        self.pdi.word("INS", instruction << 28);
    }

    /// What stands before a message. The benches of the API take the line behind `# TB :` as its number.
    fn comment(&mut self, instruction: u32, what: &str) {
        self.messages += 1;
        let number = self.messages;
        let _ = writeln!(self.pdi.text, "\n#### MsgID={number}, {what}");
        let id = number % 256;
        let _ = writeln!(self.output.text, "\n#### MsgID={number}, {what}\n# TB :{instruction:X}{id:02X}{id:02X}");
    }
}

impl Words {
    /// Segments of a message, of which the last one of all that carries data says so; `flags` are those of the last one.
    fn segments(&mut self, all: [Option<(u32, &[u8])>; 4], flags: u32) {
        let all: Vec<(u32, &[u8])> = all.into_iter().flatten().collect();
        let last_data = all.iter().rposition(|(_, bytes)| !bytes.is_empty()).unwrap_or(0);
        for (at, (kind, bytes)) in all.iter().enumerate() {
            let end = if at == last_data { END_OF_INPUT } else { 0 };
            let last = if at + 1 == all.len() { flags } else { 0 };
            self.segment(*kind, end | last | END_OF_TYPE, bytes);
        }
    }

    /// A string in segments of so many bytes each, and a last one; `flags` are those of that.
    fn pieces(&mut self, kind: u32, flags: u32, bytes: &[u8], lengths: &[u64]) {
        let mut rest = bytes;
        for &length in lengths {
            let (front, behind) = rest.split_at(rest.len().min(length as usize));
            if behind.is_empty() {
                break;
            }
            self.segment(kind, 0, front);
            rest = behind;
        }
        self.segment(kind, flags, rest);
    }

    fn segment(&mut self, kind: u32, flags: u32, bytes: &[u8]) {
        self.word("HDR", (kind << 28) | (flags << 24) | bytes.len() as u32);
        for data in bytes.chunks(self.word_bytes) {
            self.line("DAT", data);
        }
    }

    /// A word that says something in its first four bytes.
    fn word(&mut self, what: &str, value: u32) {
        self.line(what, &value.to_be_bytes());
    }

    /// A line with a word of these bytes, and zeros behind them.
    fn line(&mut self, what: &str, bytes: &[u8]) {
        let _ = write!(self.text, "{what} = ");
        for at in 0..self.word_bytes {
            let _ = write!(self.text, "{:02X}", bytes.get(at).copied().unwrap_or(0));
        }
        self.text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of some lines of the files of a script.
    fn words(script: &Script, wanted: fn(&str) -> bool) -> [String; 3] {
        script.files("").map(|(_, text)| {
            let words = text.lines().filter(|line| wanted(line));
            words.map(|line| line.split(" = ").nth(1).unwrap_or("").to_owned()).collect::<Vec<_>>().join(" ")
        })
    }

    #[test]
    fn messages_are_words_as_the_api_has_them() {
        let mut script = Script::of_words(32);
        let message = Sealed {
            key: &[1, 2, 3, 4],
            nonce: &[5; 4],
            secret: None,
            ad: &[6; 5],
            plaintext: &[],
            ciphertext: &[],
            tag: &[7; 4],
        };
        script.encrypt(&message);
        script.refuse(&message, &[7, 7, 7, 6], &[], None);
        let [pdi, sdi, output] = words(&script, |line| !line.is_empty() && !line.starts_with('#'));
        assert_eq!(sdi, "40000000 C7000004 01020304");
        let encryption = "70000000 20000000 D2000004 05050505 16000005 06060606 06000000 43000000";
        let decryption = "30000000 D2000004 05050505 16000005 06060606 06000000 52000000 83000004 07070706";
        assert_eq!(pdi, format!("{encryption} {decryption}"));
        assert_eq!(output, "52000000 83000004 07070707 E0000000 43000000 F0000000");
    }

    #[test]
    fn texts_of_other_lengths_go_out_in_segments_of_one_length() {
        let mut script = Script::of_words(32).framed(true);
        let (plaintext, ciphertext) = ([6; SEGMENT_BYTES + 1], [7; 2 * SEGMENT_BYTES]);
        let message = Sealed {
            key: &[1; 4],
            nonce: &[5; 4],
            secret: None,
            ad: &[],
            plaintext: &plaintext,
            ciphertext: &ciphertext,
            tag: &[8; 4],
        };
        script.encrypt(&message);
        script.decrypt(&message);
        let [pdi, _, output] = words(&script, |line| line.starts_with("HDR") || line.starts_with("STT"));
        assert_eq!(pdi, "D2000004 12000000 47000021 D2000004 12000000 56000040 83000004");
        assert_eq!(output, "50000020 50000020 52000000 83000004 E0000000 40000020 43000001 E0000000");
    }

    #[test]
    fn strings_in_pieces_are_cut_behind_blocks() {
        let mut script = Script::of_words(32);
        let message = Sealed {
            key: &[1; 4],
            nonce: &[5; 12],
            secret: None,
            ad: &[6; 18],
            plaintext: &[],
            ciphertext: &[],
            tag: &[8; 4],
        };
        let network = Instantiation { entity: String::new(), arguments: Vec::new() };
        let blocks = Blocks { network, bytes: 16, ad_front: 0, each_front: false, ahead: false, pads: false };
        script.encrypt_in_pieces(&message, &blocks);
        script.misfit(&message);
        let [pdi, _, output] = words(&script, |line| line.starts_with("HDR") || line.starts_with("STT"));
        let pieces = "D200000C 10000010 10000000 12000002 43000000";
        assert_eq!(pdi, format!("{pieces} D0000001 D200000B 12000012 52000000 83000004"));
        assert_eq!(output, "52000000 83000004 E0000000 43000000 F0000000");
    }

    #[test]
    fn wide_words_have_headers_in_front() {
        let mut script = Script::of_words(40);
        let secret: (&[u8], &[u8]) = (&[8; 2], &[9; 2]);
        let message = Sealed {
            key: &[1; 4],
            nonce: &[5; 6],
            secret: Some(secret),
            ad: &[],
            plaintext: &[],
            ciphertext: &[],
            tag: &[7; 5],
        };
        script.encrypt(&message);
        let [pdi, sdi, output] = words(&script, |line| !line.is_empty() && !line.starts_with('#'));
        assert_eq!(sdi, "40000000 C7000004 01010101");
        let head = "7000000000 2000000000 D200000600 0505050505 0500000000 E600000200 0808000000";
        assert_eq!(pdi, format!("{head} 1200000000 4300000000"));
        assert_eq!(output, "F200000200 0909000000 5200000000 8300000500 0707070707 E000000000");
    }
}
