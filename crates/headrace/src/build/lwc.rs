//! Building of cores with the LWC hardware API.

use super::{Build, Told, refused};
use crate::error::{Error, Result};
use crate::operation::no_such_variant;
use crate::workspace::Workspace;
use headrace_library::Role;
use headrace_library::catalog::{Library, OperationSpec};
use headrace_library::lwc::{Core, MAX_SEGMENT_BYTES, Script, Sealed};
use headrace_targets::project::{Files, KnownAnswer};

/// Known answers in the bench of a project, at most: each makes several messages, and simulators are slow.
const MOST_ANSWERS: usize = 48;

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
        let [set] = sets else {
            return Err(Error::usage(format!(
                "--shape lwc makes one parameter set a core: name one of {}",
                sets.join(", ")
            )));
        };
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
        let (mut offered, mut variants) = (Vec::new(), Vec::new());
        for spec in core.operations() {
            let variant = spec.variant(build.variant.as_deref()).ok_or_else(|| no_such_variant(spec))?;
            variants.push(variant.network.clone());
            offered.push((spec.clone(), self.network(&variant.network.to_string(), &[])?));
        }
        let network = core.network(&variants).ok_or_else(|| Error::wrong(format!("`{set}` has no network")))?;
        let network = self.network(&network.to_string(), &[])?;
        let answers = self.answers_for(library, &offered, build)?;
        let script = script(&core, &answers).map_err(|why| Error::usage(format!("--shape lwc: {why}")))?;
        told(0, 1);
        let options = build.options()?;
        let made = of_lwc(title, &core, &network, &script, &options);
        told(1, 1);
        self.say(&options);
        refused(made)
    }
}

/// Messages of known answers: those of an authenticated cipher are encrypted, decrypted, and decrypted with a tag that is not theirs,
/// in which one bit is wrong, another one each time.
fn script(core: &Core<'_>, answers: &[KnownAnswer]) -> std::result::Result<Script, String> {
    let mut script = Script::default();
    match core {
        Core::Aead { sizes, .. } => {
            let mut all: Vec<Sealed<'_>> = answers.iter().filter_map(sealed).collect();
            if all.iter().any(|message| message.plaintext.len() != message.ciphertext.len()) {
                return Err(
                    "there are ciphertexts that are not as long as their plaintexts, which its segments must be".into(),
                );
            }
            let [key, nonce, tag] = [sizes.key, sizes.nonce, sizes.tag].map(|size| size as usize);
            all.retain(|one| one.key.len() == key && one.nonce.len() == nonce && one.tag.len() == tag);
            all.retain(|one| one.ad.len().max(one.plaintext.len()) <= MAX_SEGMENT_BYTES);
            for (number, message) in spread(&all).enumerate() {
                script.encrypt(message);
                script.decrypt(message, message.tag);
                let mut forged = message.tag.to_vec();
                let bit = number * 13 % (8 * tag);
                forged[bit / 8] ^= 1 << (bit % 8);
                script.decrypt(message, &forged);
            }
        }
        Core::Hash { .. } => {
            let all: Vec<(&[u8], &[u8])> = answers
                .iter()
                .filter_map(|answer| Some((string(answer, Role::Input)?, made(answer, Role::Output)?)))
                .filter(|(message, _)| message.len() <= MAX_SEGMENT_BYTES)
                .collect();
            spread(&all).for_each(|(message, digest)| script.hash(message, digest));
        }
    }
    Ok(script)
}

/// Some of many, from the first to the last.
fn spread<T>(all: &[T]) -> impl Iterator<Item = &T> {
    let n = all.len().min(MOST_ANSWERS);
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
        ad: string(answer, Role::Ad)?,
        plaintext: string(answer, Role::Input)?,
        ciphertext: made(answer, Role::Output)?,
        tag: made(answer, Role::Tag)?,
    })
}
