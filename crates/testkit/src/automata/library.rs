//! One operation of the library as its automaton: on its known answers, and on random messages against the interpreter where
//! there are few of those.

use super::engine::AutomatonEngine;
use super::read_again;
use crate::peers::campaign::{Engine::Interp, Ready};
use crate::peers::library::Shipped;
use crate::peers::messages::Messages;
use headrace_exchange::Running;
use headrace_ir::DEFAULT_FIFO_TOKENS;
use headrace_library::Role;
use headrace_library::catalog::OperationSpec;
use headrace_library::framing::{Message, Outcome};
use headrace_library::known_answers::{Answer, CallInput, Case, Plan, Verdict, cases};
use headrace_library::vectors::VectorFile;
use headrace_source::SourceMap;
use headrace_targets::automata::automaton_of_operation;
use headrace_transform::kernel::execute::Bounds;
use headrace_transform::kernel::verify::verify;
use std::cell::Cell;
use std::path::Path;
use std::time::{Duration, Instant};

/// Words of an operation that gives any number of them, at most.
const MOST_WORDS: u64 = 1024;

/// How much of an operation is compared.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// The longest message, in bytes.
    pub bytes: usize,
    /// Known answers at most, from the first to the last.
    pub answers: usize,
    /// Messages that are compared at least: where there are fewer known answers, random messages make up for them.
    pub messages: usize,
    /// Begins no further answer after this.
    pub time: Duration,
}

impl Default for Extent {
    /// All answers of at most 4 KiB, however long that takes, and no fewer than eight messages.
    fn default() -> Self {
        Extent { bytes: 4096, answers: usize::MAX, messages: 8, time: Duration::MAX }
    }
}

/// What was compared of an operation.
#[derive(Clone, Debug, Default)]
pub struct Compared {
    /// States of its automaton.
    pub states: usize,
    /// Why it is not complete, if it is not.
    pub open: Option<String>,
    /// Known answers that were computed.
    pub answers: usize,
    /// Random messages that came to what they do on the interpreter.
    pub messages: usize,
    /// Those of both for which the automaton was left.
    pub left: usize,
    /// Known answers that there was no time for.
    pub missing: usize,
}

/// Compares the automaton of an operation's first variant with its known answers, and with the interpreter on random
/// messages where these are few.
///
/// # Errors
///
/// What differs, or why it has no automaton.
pub fn operation(
    shipped: &Shipped,
    root: &Path,
    spec: &OperationSpec,
    extent: Extent,
) -> Result<Result<Compared, NoAutomaton>, String> {
    let variant = spec.variants.first().ok_or("it has no variant")?;
    let network = shipped.network(spec, &variant.name)?;
    let automaton = match automaton_of_operation(spec, &network) {
        Ok(automaton) => automaton,
        Err(why) => return Ok(Err(NoAutomaton(why.reason))),
    };
    let problems = verify(&automaton);
    if !problems.is_empty() {
        return Err(format!("its automaton is not as it must be: {problems:?}"));
    }
    let automaton = read_again(&automaton)?;
    let (states, open) = (automaton.states.len(), automaton.open.clone());
    let mut compared = Compared { states, open, ..Compared::default() };
    let begun = Instant::now();
    let leaves = Cell::new(false);
    let perform = |message: &Message| {
        leaves.set(false);
        let engine = AutomatonEngine::new(&network, &automaton, Bounds::default(), &leaves);
        Running::new(spec, &network, Box::new(engine)).perform(message)
    };
    let all = answers(shipped, root, spec, extent.bytes)?;
    let step = all.len().div_ceil(extent.answers.max(1)).max(1);
    for case in all.iter().step_by(step) {
        if begun.elapsed() > extent.time {
            compared.missing += 1;
            continue;
        }
        let verdict = case.perform(spec, |call| {
            let CallInput::Message(message) = &call.input else { return Err("a part".to_owned()) };
            perform(message).map(Answer::Message)
        })?;
        if let Verdict::Failed(why) = verdict {
            return Err(format!("record {}: {why}", case.count));
        }
        compared.answers += 1;
        compared.left += usize::from(leaves.get());
    }
    let mut judge = Judge::new(shipped, spec, &variant.name)?;
    for n in 0..extent.messages.saturating_sub(compared.answers) as u64 {
        if begun.elapsed() > extent.time {
            break;
        }
        let Some((message, expected)) = judge.message(n)? else { continue };
        let came = perform(&message).map_err(|why| format!("random message {n}: {why}"))?;
        if came != expected {
            return Err(format!("random message {n}: the interpreter says something else"));
        }
        compared.messages += 1;
        compared.left += usize::from(leaves.get());
    }
    Ok(Ok(compared))
}

/// Why an operation has no automaton, as a sentence without a full stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoAutomaton(pub String);

/// The interpreter on random messages of an operation, each by itself.
struct Judge<'j> {
    spec: &'j OperationSpec,
    alone: Ready<'j>,
    /// For an operation that verifies: what makes the messages that it takes.
    inverse: Option<Ready<'j>>,
}

impl<'j> Judge<'j> {
    fn new(shipped: &'j Shipped, spec: &'j OperationSpec, variant: &str) -> Result<Self, String> {
        let ready = |spec: &'j OperationSpec, variant: &str| {
            let ready = Ready::new(shipped, spec, variant, Interp, DEFAULT_FIFO_TOKENS)?;
            ready.ok_or_else(|| format!("the interpreter does not run `{}`", spec.full_name()))
        };
        let undone = spec.inverse.as_deref().filter(|_| spec.verifies);
        let undone = undone.and_then(|name| shipped.library.operation(&spec.set, name));
        let inverse = undone.and_then(|inverse| Some((inverse, &inverse.variants.first()?.name)));
        let inverse = inverse.map(|(inverse, variant)| ready(inverse, variant)).transpose()?;
        Ok(Judge { spec, alone: ready(spec, variant)?, inverse })
    }

    /// Message `n` and what it comes to; `None` where there is none of that number.
    fn message(&mut self, n: u64) -> Result<Option<(Message, Outcome)>, String> {
        let make = |message: &Message| self.inverse.as_ref()?.alone(message).ok();
        let inverse = self.inverse.as_ref().map(|inverse| (inverse.spec, &make as _));
        let Some(mut drawn) = Messages::new(self.spec, 0, inverse).draw(n) else { return Ok(None) };
        drawn.message.rekey = true;
        let outcome =
            self.alone.alone(&drawn.message).map_err(|why| format!("random message {n}, interpreted: {why}"))?;
        Ok(Some((drawn.message, outcome)))
    }
}

/// Whole messages among the known answers of an operation, of at most so many bytes.
fn answers(shipped: &Shipped, root: &Path, spec: &OperationSpec, most_bytes: usize) -> Result<Vec<Case>, String> {
    let manifest = shipped.library.manifests().iter().find(|manifest| manifest.folder == spec.folder);
    let mut found = Vec::new();
    for path in manifest.map_or_else(Vec::new, |manifest| shipped.library.vector_files(manifest)) {
        let bytes = std::fs::read(root.join(&path)).map_err(|error| format!("{path}: {error}"))?;
        let mut sources = SourceMap::default();
        let id = sources.add(path.clone(), String::from_utf8_lossy(&bytes).into_owned());
        let (file, _) = VectorFile::parse(id, &bytes);
        let name = path.rsplit('/').next().unwrap_or(&path).to_owned();
        let is_short = |case: &Case| match &case.plan {
            Plan::Accept(message, _) | Plan::Reject(message) => {
                let strings = [Role::Input, Role::Ad, Role::Seed];
                let bytes: usize = strings.iter().filter_map(|role| message.get(*role)).map(<[u8]>::len).sum();
                bytes <= most_bytes && message.words <= MOST_WORDS
            }
            _ => false,
        };
        let all = cases(&shipped.library, &name, &file, &[spec]).cases;
        found.extend(all.into_iter().filter(|case| case.arguments.is_empty() && is_short(case)));
    }
    Ok(found)
}
