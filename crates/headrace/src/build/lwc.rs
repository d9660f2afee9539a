//! Building of cores with the LWC hardware API.

use super::answers::{interpreted_answer, unverified_strings};
use super::{Build, Told, refused};
use crate::error::{Error, Result};
use crate::operation::no_such_variant;
use crate::workspace::Workspace;
use headrace_ir::Network;
use headrace_library::Role;
use headrace_library::catalog::{Library, OperationSpec};
use headrace_library::framing::Message;
use headrace_library::lwc::{Core, MAX_SEGMENT_BYTES, Script, Sealed};
use headrace_library::manifest::Blocks;
use headrace_library::samples;
use headrace_targets::project::{Files, KnownAnswer};
use std::collections::BTreeMap;

/// Known answers in the bench of a project, at most: each makes several messages, and simulators are slow.
const MOST_ANSWERS: usize = 48;

/// The same where messages are added by which cycles are measured.
const MOST_ANSWERS_MEASURED: usize = 12;

/// Known answers in several segments, at most.
const MOST_IN_PIECES: usize = 12;

/// Blocks of messages by which it is measured what a block takes.
const BLOCKS: [u64; 4] = [1, 5, 9, 17];

/// A core with the LWC hardware API, and what the last messages of its bench are.
#[derive(Clone, Debug, Default)]
pub struct LwcCore {
    /// Its project.
    pub files: Files,
    /// Messages by which it is measured what a block takes, in their order: the number in the bench, from 0 on, whether it is decrypted,
    /// and its blocks.
    pub measured: Vec<(usize, bool, u64)>,
    /// Operations of the core, encryption first.
    pub operations: Vec<String>,
}

impl Workspace {
    /// A project for the core that operations of a parameter set make.
    pub(super) fn build_lwc(
        &mut self,
        library: &Library,
        sets: &[&str],
        title: &str,
        build: &Build,
        told: Told<'_>,
    ) -> Result<Files> {
        Ok(self.lwc_core(library, sets, title, build, None, told)?.files)
    }

    /// The same, with messages of whole blocks of so many bytes at the end of its bench, by which it can be measured what a block takes:
    /// encrypted, decrypted, or hashed. What must come of them, the interpreter says. Known answers are fewer then.
    ///
    /// # Errors
    ///
    /// That the set makes no core, what the target does not do, or what is wrong with the network.
    pub fn lwc_core(
        &mut self,
        library: &Library,
        sets: &[&str],
        title: &str,
        build: &Build,
        block_bytes: Option<u64>,
        told: Told<'_>,
    ) -> Result<LwcCore> {
        let [set] = sets else {
            return Err(Error::usage(format!(
                "--shape lwc makes one parameter set a core: name one of {}",
                sets.join(", ")
            )));
        };
        if build.word_bits != 32 && build.target.name != "verilog" {
            let what =
                format!("--word-bits: cores of target {} have words of 32 bits; verilog has others", build.target.name);
            return Err(Error::usage(what));
        }
        let of_lwc = build.target.of_lwc.ok_or_else(|| {
            Error::usage(format!("--shape lwc: target {} makes no hardware; verilog and vhdl do", build.target.name))
        })?;
        // Who asks for one direction gets the other one, too.
        let is_named = |name: &String| build.operations.is_empty() || build.operations.contains(name);
        let is_meant = |spec: &&OperationSpec| {
            spec.set == **set && (is_named(&spec.name) || spec.inverse.as_ref().is_some_and(is_named))
        };
        let specs: Vec<&OperationSpec> = library.operations().iter().filter(is_meant).collect();
        let core = Core::of(&specs).map_err(|why| {
            let listed = specs.iter().map(|spec| spec.name.as_str()).collect::<Vec<_>>().join(", ");
            Error::usage(format!(
                "--shape lwc: {why}; `{set}` has {}",
                if listed.is_empty() { "none" } else { &listed }
            ))
        })?;
        if build.word_bits != 32 && matches!(core, Core::Hash { .. }) {
            return Err(Error::usage(format!(
                "--word-bits: `{set}` is a hash function, whose cores have words of 32 bits"
            )));
        }
        let (mut offered, mut variants) = (Vec::new(), Vec::new());
        for spec in core.operations() {
            let variant = spec.variant(build.variant.as_deref()).ok_or_else(|| no_such_variant(spec))?;
            variants.push(variant.network.clone());
            offered.push((spec.clone(), self.network(&variant.network.to_string(), &[])?));
        }
        let answers = self.answers_for(library, &offered, build)?;
        let differs = |message: Sealed<'_>| message.plaintext.len() != message.ciphertext.len();
        let framed = answers.iter().filter_map(sealed).any(differs);
        let network = core.network(&variants, build.word_bits, framed).ok_or_else(|| {
            Error::usage(format!(
                "--shape lwc: ciphertexts of `{set}` are not as long as their plaintexts; such cores have words of 32 bits, and no \
                 secret message number: leave --word-bits out, or build its operations as they are, without --shape"
            ))
        })?;
        let network = self.network(&network.to_string(), &[])?;
        let most = if block_bytes.is_some() { MOST_ANSWERS_MEASURED } else { MOST_ANSWERS };
        // What goes out of a message with a tag that is not its own.
        let refused_strings = |message: &Sealed<'_>, tag: &[u8]| {
            let (spec, network) = offered.get(1)?;
            let mut forged: Message = samples::messages(spec).pop()?;
            let strings = [
                (Role::Key, Some(message.key)),
                (Role::Nonce, Some(message.nonce)),
                (Role::SecretNonce, message.secret.map(|(_, encrypted)| encrypted)),
                (Role::Ad, Some(message.ad)),
                (Role::Input, Some(message.ciphertext)),
                (Role::TagIn, Some(tag)),
            ];
            strings.into_iter().for_each(|(role, bytes)| {
                if let Some(bytes) = bytes {
                    forged.set(role, bytes.to_vec());
                }
            });
            unverified_strings(spec, network, &forged)
        };
        let in_pieces = core.fitting_blocks(&variants, build.word_bits).filter(|_| !framed);
        let empty = Script::of_words(build.word_bits).framed(framed);
        let mut script = script(&core, &answers, most, empty, in_pieces, &refused_strings)
            .map_err(|why| Error::usage(format!("--shape lwc: {why}")))?;
        let measured = match (block_bytes, offered.first()) {
            (Some(bytes), Some((_, network))) => measured(&core, network, bytes, &mut script),
            _ => Vec::new(),
        };
        told(0, 1);
        let options = build.options()?;
        let made = of_lwc(title, &core, &network, &script, &options);
        told(1, 1);
        self.say(&options);
        let operations = offered.iter().map(|(spec, _)| spec.name.clone()).collect();
        Ok(LwcCore { files: refused(made)?, measured, operations })
    }
}

/// Adds messages of whole blocks; gives what [`LwcCore::measured`] says of them. In each direction the longest one comes first, with
/// which the key comes and what the other direction has kept waiting is done.
fn measured(core: &Core<'_>, network: &Network, block_bytes: u64, script: &mut Script) -> Vec<(usize, bool, u64)> {
    let operations = core.operations();
    let Some((spec, usual)) = operations.first().and_then(|spec| Some((*spec, samples::messages(spec).pop()?))) else {
        return Vec::new();
    };
    let with = |n: u64| -> Option<KnownAnswer> {
        let length = n * block_bytes;
        spec.input(Role::Input).filter(|port| port.sizes.allows(length))?;
        let mut message: Message = usual.clone();
        // What the bytes are does not matter, as long as blocks differ.
        message.set(Role::Input, (0..length).map(|at| (at * 167 + at / 251 + n) as u8).collect::<Vec<_>>());
        if let Core::Aead { sizes, .. } = core {
            let some = |size: u64| (0..size).map(|at| (at * 29 + 5) as u8).collect::<Vec<_>>();
            message.set(Role::Key, some(sizes.key));
            message.set(Role::Nonce, some(sizes.nonce));
            message.set(Role::Ad, Vec::new());
            if sizes.secret > 0 {
                message.set(Role::SecretNonce, some(sizes.secret));
            }
        }
        interpreted_answer(0, spec, network, &message)
    };
    let answers: Vec<(u64, KnownAnswer)> = BLOCKS.iter().filter_map(|n| Some((*n, with(*n)?))).collect();
    let mut measured = Vec::new();
    script.keep_keys();
    match core {
        Core::Aead { .. } => {
            let all: Vec<(u64, Sealed<'_>)> =
                answers.iter().filter_map(|(n, answer)| Some((*n, sealed(answer)?))).collect();
            for decrypts in [false, true] {
                for (at, (n, message)) in all.last().into_iter().chain(&all).enumerate() {
                    measured.extend((at > 0).then_some((script.messages(), decrypts, *n)));
                    if decrypts { script.decrypt(message) } else { script.encrypt(message) }
                }
            }
        }
        Core::Hash { .. } => {
            for (n, answer) in &answers {
                let Some((message, digest)) = string(answer, Role::Input).zip(made(answer, Role::Output)) else {
                    continue;
                };
                measured.push((script.messages(), false, *n));
                script.hash(message, digest);
            }
        }
    }
    measured
}

/// What goes out of a message with this tag, which is not its own.
type Refused<'a> = dyn Fn(&Sealed<'_>, &[u8]) -> Option<BTreeMap<Role, Vec<u8>>> + 'a;

/// Messages of known answers: those of an authenticated cipher are encrypted, decrypted, and decrypted with a tag that is not theirs,
/// in which one bit is wrong, another one each time. They are added to a script. `in_pieces` says which blocks there are, where strings
/// must be cut behind them.
fn script(
    core: &Core<'_>,
    answers: &[KnownAnswer],
    most: usize,
    mut script: Script,
    in_pieces: Option<&Blocks>,
    refused: &Refused<'_>,
) -> std::result::Result<Script, String> {
    match core {
        Core::Aead { sizes, .. } => {
            let mut all: Vec<Sealed<'_>> = answers.iter().filter_map(sealed).collect();
            let [key, nonce, tag] = [sizes.key, sizes.nonce, sizes.tag].map(|size| size as usize);
            let has_tag = |one: &Sealed<'_>| one.tag.len() == tag || one.tag.is_empty() && sizes.may_have_no_tag;
            all.retain(|one| one.key.len() == key && one.nonce.len() == nonce && has_tag(one));
            all.retain(|one| one.ad.len().max(one.plaintext.len()).max(one.ciphertext.len()) <= MAX_SEGMENT_BYTES);
            for (number, message) in spread(&all, most).enumerate() {
                script.encrypt(message);
                script.decrypt(message);
                if message.tag.is_empty() {
                    continue;
                }
                let mut forged = message.tag.to_vec();
                let bit = number * 13 % (8 * tag);
                forged[bit / 8] ^= 1 << (bit % 8);
                // Not always the plaintext: ciphers that need the tag to decrypt put out something else.
                let strings = refused(message, &forged)
                    .ok_or("the interpreter cannot say what goes out of a message with a wrong tag")?;
                let plaintext = strings.get(&Role::Output).map(Vec::as_slice).unwrap_or_default();
                script.refuse(message, &forged, plaintext, strings.get(&Role::SecretNonceOut).map(Vec::as_slice));
            }
            if let Some(blocks) = in_pieces {
                script.add_pieces(pieces(&all, script.word_bits() as u32, blocks));
            }
        }
        Core::Hash { .. } => {
            let all: Vec<(&[u8], &[u8])> = answers
                .iter()
                .filter_map(|answer| Some((string(answer, Role::Input)?, made(answer, Role::Output)?)))
                .filter(|(message, _)| message.len() <= MAX_SEGMENT_BYTES)
                .collect();
            spread(&all, most).for_each(|(message, digest)| script.hash(message, digest));
        }
    }
    Ok(script)
}

/// Messages in several segments of whole blocks, and between them some that are cut within a block, which fail.
fn pieces(all: &[Sealed<'_>], word_bits: u32, blocks: &Blocks) -> Script {
    let mut script = Script::of_words(word_bits);
    // What goes out of a secret message number under a nonce that is cut, nobody says.
    let empty = all.iter().find(|one| one.plaintext.is_empty() && one.secret.is_none());
    for message in spread(all, MOST_IN_PIECES) {
        script.encrypt_in_pieces(message, blocks);
        empty.into_iter().for_each(|one| script.misfit(one));
        script.encrypt(message);
    }
    script
}

/// Some of many, from the first to the last.
fn spread<T>(all: &[T], most: usize) -> impl Iterator<Item = &T> {
    let n = all.len().min(most);
    (0..n).map(move |at| &all[at * all.len() / n])
}

fn string(answer: &KnownAnswer, role: Role) -> Option<&[u8]> {
    answer.strings.get(&role).map(Vec::as_slice)
}

fn made(answer: &KnownAnswer, role: Role) -> Option<&[u8]> {
    answer.expected.as_ref()?.get(&role).map(Vec::as_slice)
}

/// The message of an answer that encrypts.
fn sealed(answer: &KnownAnswer) -> Option<Sealed<'_>> {
    (answer.operation == 0).then_some(())?;
    Some(Sealed {
        key: string(answer, Role::Key)?,
        nonce: string(answer, Role::Nonce)?,
        secret: string(answer, Role::SecretNonce).zip(made(answer, Role::SecretNonceOut)),
        ad: string(answer, Role::Ad)?,
        plaintext: string(answer, Role::Input)?,
        ciphertext: made(answer, Role::Output)?,
        tag: made(answer, Role::Tag)?,
    })
}
