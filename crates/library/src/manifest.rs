//! The typed model of `primitive.toml`.
//!
//! Everything derived about a primitive (tests, benchmarks, interfaces, pages) comes from here. A key that no code
//! reads does not exist: unknown keys are errors. All problems of a text are reported at once.
//!
//! A block cipher, with all that can be said of one:
//!
//! ```
//! # use headrace_library::manifest::Manifest;
//! # let text = r#"
//! title = "Triple DES"
//! shape = "block-cipher"
//! standard = "SP 800-67 rev. 2, section 3"
//! weaknesses = "64-bit blocks: no more than 2^20 blocks under one key"
//!
//! [sets.tdes]
//! key = { bytes = [16, 24] }          # also 16, [16, 24], { min = 1, max = 56, multiple = 8 }
//! block_bytes = 8
//! [sets.tdes.operations.encrypt]      # modes are added to `encrypt` and `decrypt` by the catalog
//! network = "TdesEncrypt(ROUNDS = 48)"    # a name without a dot lives in this folder's package
//! variants = { standard = {}, boolean = { network = "TdesBoolean(ROUNDS = 48)", constant_time = true } }
//! [sets.tdes.operations.decrypt]      # the variant without a network of its own is the default
//! network = "TdesDecrypt"             # may say: inverse, decrypt (token of a combined network), single_chunk
//!
//! [ports.Schluessel]                  # only ports that differ from the conventions
//! role = "Key"
//! width = 64
//! class = "secret"
//!
//! [[vectors]]                         # several entries may be for one file
//! file = "tdes.rsp"
//! operation = "cbc-encrypt"           # and its inverse
//! set = "tdes"                        # or `sets`; without it the length of the key decides
//! where = { Mode = "CBC", IV = true } # value, or presence
//! direction = { field = "Direction", forward = "ENCRYPT", inverse = "DECRYPT" }
//! kind = "monte-carlo"                # AESAVS 6.4; SHAVS 6.4 for a hash
//! feedback = "ciphertext"             # "keystream" for OFB
//! fields = { CT = "Output", CT100 = "Output^100" }    # over the defaults; targets: `mapping::Target`
//! args = { ROUNDS = "Rounds", MASK = { field = "Param", after = "mask ", form = "hex" } }
//! convert = { Key = "reverse" }       # `reverse-N`, `leftmost`
//! ignore = ["Kind"]                   # every other field must mean something
//!
//! [hardware]
//! rounds = 48
//! state_bits = 64
//! # "#;
//! # let (_, problems) = Manifest::parse(Default::default(), "ctl/block/tdes/primitive.toml", text);
//! # assert!(problems.is_empty(), "{problems:#?}");
//! ```
//!
//! A network argument (`args`; of a block cipher, of its own network) is the number that stands in a field, or in what follows the text `after` that begins
//! it; its `form` is `decimal`, `hex` or `powers` (`16 14 13 11`, the sum of these powers of two, as taps of a
//! polynomial are given).
//!
//! A mode has operations instead of sets. Its networks have the parameters `Cipher` (an entity) and `BLOCK_BYTES`, and
//! `KEY_SIZE = true` is added where the length of the key varies and `KeySize` comes before it:
//!
//! ```
//! # use headrace_library::manifest::Manifest;
//! # let text = r#"
//! title = "Cipher block chaining mode"
//! shape = "mode"
//! standard = "SP 800-38A, section 6.2"
//!
//! [operations.cbc-encrypt]
//! network = "CbcEncrypt"
//! cipher = "encrypt"                  # the operation that stands for `Cipher`
//! iv = "block"                        # sizes: nonce, iv, input, output
//! input = { multiple = "block" }
//! block_bytes = [8, 16]               # only for such ciphers
//!
//! [operations.cbc-pad-decrypt]
//! network = "CbcPadDecrypt"
//! cipher = "decrypt"
//! iv = "block"
//! input = { min = "block", multiple = "block" }
//! verifies = true                     # its network has `Verified`; no variant is constant in time then
//! # "#;
//! # let (manifest, problems) = Manifest::parse(Default::default(), "ctl/mode/cbc/primitive.toml", text);
//! # assert!(problems.is_empty(), "{problems:#?}");
//! # assert_eq!(manifest.unwrap().operations.iter().map(|operation| operation.verifies).collect::<Vec<_>>(), [false, true]);
//! ```
//!
//! Of other shapes the names of operations tell which verify: `verify`, `decode`, and `decrypt` of an AEAD.
//!
//! A generator makes words of `output` bytes from a `seed`, anew for each request. One that gives a size `entropy` too
//! goes on from request to request, as those of SP 800-90A do: `Rekey` says whether a seed comes with the request,
//! `Reseed` whether entropy does, and `Verified` whether the request was served; of one that was refused nothing comes
//! out. `words` bounds how many words one request may ask for, and `ad` is the additional input. Records hold the
//! strings of their requests as `Seed1`, `Entropy1`, `Ad1`, `Output1`, `Seed2`, … (targets `Seed#1`, …); a request
//! without `SeedN` goes on, and one without `EntropyN` is not reseeded. Of an invalid record (`Result = FAIL`) it is
//! the last request that is to be refused. A field of bits (`Bits`) can be the words of a generator of bytes, first
//! bit most significant.
//!
//! ```
//! # use headrace_library::manifest::Manifest;
//! # let text = r#"
//! title = "Hash_DRBG"
//! shape = "generator"
//! standard = "SP 800-90A, section 10.1.1"
//!
//! [sets.hash-drbg-sha256]
//! seed = { min = 48 }
//! entropy = { min = 32 }
//! ad = { max = 4096 }
//! words = { max = 65536 }
//! output = 1
//! operations.generate.network = "HashDrbg"
//!
//! [ports.Served]
//! role = "Verified"
//! # "#;
//! # let (_, problems) = Manifest::parse(Default::default(), "ctl/prng/hash_drbg/primitive.toml", text);
//! # assert!(problems.is_empty(), "{problems:#?}");
//! ```
//!
//! In a set of an AEAD, `nonce_and_length_bytes = 15` says that nonce and number of input bytes share 15 bytes (CCM).
//! `tag_parameter = "TAG_BYTES"` says that `tag` is what this network parameter can be, which alone is the length of a
//! tag: whoever sends a message does not choose how much of its tag counts. The network's ports are those of a string of
//! variable length.
//!
//! An operation of authenticated encryption can name a network that does it and its inverse on blocks, for cores of hardware:
//! `blocks = { network = "AsconBlocks", bytes = 8, pads = true }` (`ctl.parts.lwc.AeadBlocks` has its ports; blocks have 16 bytes
//! where nothing is said; with `pads` strings of whole blocks have an empty block behind them; `ad_front` are bytes that the first
//! block of associated data begins with and that something else has, and with `each_front` each of them; with `ahead` the network is
//! told before the last of them whether there is a text).
//!
//! Where more input than so much would bring back what may occur once only, as the blocks of a key stream whose counter comes
//! round, `input_limit` of a set or an operation says how many bytes there may be, from the parameters of the network:
//! `input_limit = "64 * (2 ** 32 - COUNTER)"` ([`crate::formula`]). More is refused.
//!
//! A codec can say what its texts are made of, so that who gives it other bytes is told where they stand, and which set takes
//! them: `alphabet = "A-Za-z0-9+/="`, `tolerant = "base64-mime"`.
//!
//! What programs ask OpenSSL for stands in `openssl`, by operations without their directions: names with colons between
//! them, behind them in brackets those of the hash or cipher of which a program says by a parameter that it wants it; or a
//! table, or a list of these, where the name is for keys of one length or for networks with other arguments, or where
//! programs want to know the `block` of a hash or, where it gives any number of bytes, the usual `size`, or where they say
//! how much of a `tag` counts, at least so many bytes (the network's `LEAST_TAG_BYTES`). A code of any `size` takes a
//! message that ends in `right_encode` of that (SP 800-185, section 2.3.1), which the provider puts there:
//! `openssl = { cbc = { name = "DES-EDE3-CBC", key = 24 }, ecb = "DES-EDE3-ECB:DES-EDE3" }`, `openssl.mac =
//! "HMAC(SHA2-256:SHA-256)"`, `openssl.aead = ["AES-128-CCM", { name = "AES-128-CCM", arguments = { TAG_BYTES = 12 } }]`.
//!
//! The names of services of the JCA follow from that of the set; others that programs in Java ask for stand in `jca`, those of
//! a block cipher without mode and padding: `jca = "DESede:TripleDES"`. Where the JDK itself has such services, a table says
//! what else programs expect of them, what `keys` may be called, the class of `parameters` that alone is taken, and the size of
//! a `block` that an AEAD tells: `jca = { keys = "AES:Rijndael", parameters = "GCMParameterSpec", block = 16 }`.
//!
//! Sets of other shapes give the sizes of their strings (`key nonce iv secret_nonce ad seed entropy words input output
//! tag`, those that the shape has), operations may differ from their set in them; a part has operations with
//! `network`, `inputs` and `outputs` only.

mod read;
mod read_names;
mod read_vectors;

use headrace_source::{Diagnostic, FileId, Span};

use crate::formula::Formula;
use crate::instantiation::Instantiation;
use crate::mapping::VectorMapping;
use crate::ports::{Class, Role};
use crate::sizes::SizeRule;

/// What a primitive is, which decides its ports and the interfaces derived for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Shape {
    /// A core that transforms blocks.
    BlockCipher,
    /// A mode of operation: message operations for every block cipher.
    Mode,
    /// Key stream added to a message.
    StreamCipher,
    /// Message to digest.
    Hash,
    /// Key and message to tag.
    Mac,
    /// Authenticated encryption with associated data.
    Aead,
    /// A seed to a sequence of words.
    Generator,
    /// Bytes to text and back.
    Codec,
    /// Networks that others are made of, with the ports they happen to have.
    Part,
}

impl Shape {
    /// All shapes with the names that manifests use.
    pub const ALL: [(&'static str, Shape); 9] = [
        ("block-cipher", Shape::BlockCipher),
        ("mode", Shape::Mode),
        ("stream-cipher", Shape::StreamCipher),
        ("hash", Shape::Hash),
        ("mac", Shape::Mac),
        ("aead", Shape::Aead),
        ("generator", Shape::Generator),
        ("codec", Shape::Codec),
        ("part", Shape::Part),
    ];

    /// Name in manifests.
    pub fn name(self) -> &'static str {
        Shape::ALL.iter().find(|(_, shape)| *shape == self).map_or("", |(name, _)| name)
    }
}

/// One manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The text it was read from.
    pub file: FileId,
    /// Its folder below the source root, `ctl/block/aes`.
    pub folder: String,
    /// The package of that folder, `ctl.block.aes`.
    pub package: String,
    /// Last part of the folder: the name of the primitive.
    pub primitive: String,
    /// The part before it: its family. Empty for a folder of its own.
    pub family: String,
    /// What it is called.
    pub title: String,
    /// What it is.
    pub shape: Shape,
    /// Where it is defined.
    pub standard: String,
    /// What its user must know.
    pub weaknesses: Option<String>,
    /// Parameter sets, in the order of the text.
    pub sets: Vec<Set>,
    /// The operations of a mode or a part, in the order of the text.
    pub operations: Vec<Operation>,
    /// Ports that differ from the defaults.
    pub ports: Vec<PortOverride>,
    /// Known-answer files.
    pub vectors: Vec<VectorMapping>,
    /// Figures for hardware.
    pub hardware: Option<Hardware>,
}

/// A parameter set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    /// What people call it.
    pub name: String,
    /// Place of the name.
    pub span: Span,
    /// Legal sizes, by role.
    pub sizes: Vec<(Role, SizeRule)>,
    /// Size of a block, for block ciphers.
    pub block_bytes: Option<u64>,
    /// How many bytes the nonce and the number of input bytes share (CCM), so that a long nonce is for short messages.
    pub nonce_and_length_bytes: Option<u64>,
    /// The network parameter that says how many bytes a tag has; `sizes` says what it may be.
    pub tag_parameter: Option<String>,
    /// The most bytes of input that there may be with the arguments of a network.
    pub input_limit: Option<Formula>,
    /// Of a codec, the bytes that its texts are made of.
    pub alphabet: Vec<u8>,
    /// Of a codec, the set that takes texts with other bytes among them.
    pub tolerant: Option<String>,
    /// Its own operations, in the order of the text.
    pub operations: Vec<Operation>,
    /// What OpenSSL calls its operations, those of modes among them.
    pub openssl: Vec<OpensslNames>,
    /// What the JCA has to know of it that does not follow from its own name.
    pub jca: Jca,
}

/// What programs in Java expect of the services of a set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Jca {
    /// Further names, those of a block cipher without mode and padding.
    pub names: Vec<String>,
    /// What keys may be called, as the JDK's own services have it; any name where nothing stands here.
    pub keys: Vec<String>,
    /// The class of parameters that the JDK's own service takes and no other; where nothing stands here, any that fits.
    pub parameters: Option<String>,
    /// What is told to be the size of a block, of an AEAD.
    pub block_bytes: Option<u64>,
}

/// What OpenSSL calls an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpensslNames {
    /// Name of the operation, or of both directions without `-encrypt` and `-decrypt`.
    pub operation: String,
    /// Place of that.
    pub span: Span,
    /// Each with what it says.
    pub names: Vec<OpensslName>,
}

/// What OpenSSL calls an operation, of keys of one length or with arguments that decide it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpensslName {
    /// All its names, with colons between them.
    pub name: String,
    /// Those of the hash or cipher that it is made of, where programs choose that by a parameter.
    pub of: Option<String>,
    /// The only length of a key, where the set has several.
    pub key_bytes: Option<u64>,
    /// Bytes that it takes at once, of a hash: programs ask for it.
    pub block_bytes: Option<u64>,
    /// Bytes of a digest where programs ask for no number of them.
    pub output_bytes: Option<u64>,
    /// The length of nonces that the arguments make.
    pub iv_bytes: Option<u64>,
    /// The shortest tag that a program may have verified, where the length of a tag is the program's affair.
    pub least_tag_bytes: Option<u64>,
    /// Arguments of the network.
    pub arguments: Vec<(String, String)>,
}

/// An operation of a set, or of a mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Its name.
    pub name: String,
    /// Place of the name.
    pub span: Span,
    /// The network of the default variant, qualified.
    pub network: Instantiation,
    /// All variants, in the order of the text; the one that has no network of its own is the default.
    pub variants: Vec<Variant>,
    /// For a mode: the operation of the block cipher that it is given.
    pub cipher: Option<String>,
    /// For a mode: whether it can refuse a message, as one does that checks padding. Other shapes say it by the names
    /// of their operations.
    pub verifies: bool,
    /// The operation that undoes it, where the name does not say it.
    pub inverse: Option<String>,
    /// The `Decrypt` token to send to a combined network.
    pub decrypt: Option<bool>,
    /// Whether the input must be sent as one chunk.
    pub single_chunk: bool,
    /// Of authenticated encryption: the network that works on blocks in both directions.
    pub blocks: Option<Blocks>,
    /// The most bytes of input that there may be with the arguments of a network; over that of the set.
    pub input_limit: Option<Formula>,
    /// Legal sizes, by role, over those of the set.
    pub sizes: Vec<(Role, SizeRule)>,
    /// For a mode: the block sizes that it is defined for.
    pub block_bytes: Option<SizeRule>,
    /// For a part: its input ports, which no framing is put around.
    pub inputs: Vec<String>,
    /// For a part: its output ports.
    pub outputs: Vec<String>,
}

/// An authenticated cipher on blocks, both directions in one, as cores of hardware have it (`ctl.parts.lwc.AeadBlocks`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// The network, qualified.
    pub network: Instantiation,
    /// Bytes of a block.
    pub bytes: u64,
    /// Bytes of the first block of associated data that are something else.
    pub ad_front: u64,
    /// So they are of each of its blocks.
    pub each_front: bool,
    /// Whether a text is empty is told ahead of its blocks.
    pub ahead: bool,
    /// Strings of whole blocks have an empty block behind them.
    pub pads: bool,
}

/// A way of writing the same operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// `standard`, `lut`, `boolean`, …
    pub name: String,
    /// Its network, qualified; `None`: that of the operation.
    pub network: Option<Instantiation>,
    /// Whether it claims to run in constant time.
    pub constant_time: bool,
}

impl Variant {
    /// The only variant of an operation that names none.
    fn standard() -> Self {
        Variant { name: "standard".into(), network: None, constant_time: false }
    }
}

/// What a manifest says about one port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortOverride {
    /// Name in the network.
    pub name: String,
    /// Its role.
    pub role: Role,
    /// Width of a token.
    pub bits: Option<u32>,
    /// Public or secret.
    pub class: Option<Class>,
}

/// What a hardware target wants to know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hardware {
    /// Rounds of one block.
    pub rounds: Option<u64>,
    /// Bits of state that a round carries to the next.
    pub state_bits: Option<u64>,
}

/// Whether an operation of a block cipher is its core; all others are message operations.
pub(crate) fn is_core(operation: &str) -> bool {
    matches!(operation, "encrypt" | "decrypt")
}

impl Manifest {
    /// Reads the text of the manifest at `path` (`ctl/block/aes/primitive.toml`, below its source root, with `/`).
    /// The manifest is there whenever enough of it could be understood to be useful; it is trustworthy only when
    /// no diagnostic is an error.
    pub fn parse(file: FileId, path: &str, text: &str) -> (Option<Manifest>, Vec<Diagnostic>) {
        read::manifest(file, path, text)
    }
}

#[cfg(test)]
mod tests;
