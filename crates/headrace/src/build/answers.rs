//! What the tests of projects hold of known answers, for those who write projects and those who run them.

use crate::error::{Error, Result};
use crate::primitive::Runner;
use crate::workspace::Workspace;
use headrace_exchange::Running;
use headrace_interp::Interpreter;
use headrace_ir::Network;
use headrace_library::Role;
use headrace_library::catalog::{Library, OperationSpec};
use headrace_library::framing::{Message, Outcome};
use headrace_library::known_answers::{Answer, CallInput, Case, Plan, Verdict, cases};
use headrace_library::samples;
use headrace_library::vectors::VectorFile;
use headrace_source::FileId;
use headrace_targets::project::KnownAnswer;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Longest message in the test of a project, in bytes.
pub const MAX_ANSWER_BYTES: usize = 1 << 12;

/// A message and what must come of it, unless it is too long for the test of a project.
pub fn answer(
    operation: usize,
    spec: &OperationSpec,
    message: &Message,
    expected: Option<BTreeMap<Role, Vec<u8>>>,
) -> Option<KnownAnswer> {
    let inputs = spec.inputs.iter().filter(|port| !port.role.is_control());
    let strings: BTreeMap<Role, Vec<u8>> =
        inputs.filter_map(|port| Some((port.role, message.get(port.role)?.to_vec()))).collect();
    let fits = |strings: &BTreeMap<Role, Vec<u8>>| strings.values().all(|bytes| bytes.len() <= MAX_ANSWER_BYTES);
    let words = u32::try_from(message.words).unwrap_or(u32::MAX);
    let fit = fits(&strings) && expected.as_ref().is_none_or(fits);
    fit.then_some(KnownAnswer { operation, strings, words, expected })
}

/// What the test of a project can hold of a plan: messages that must be accepted or refused.
pub fn answers_of(operation: usize, spec: &OperationSpec, plan: &Plan) -> Vec<KnownAnswer> {
    let answer = |message: &Message, expected| answer(operation, spec, message, expected);
    let output = |bytes: Vec<u8>| Some(BTreeMap::from([(Role::Output, bytes)]));
    match plan {
        Plan::Accept(message, expected) => {
            if expected.iter().any(|string| string.skip > 0 || (string.leftmost && string.role != Role::Tag)) {
                return Vec::new();
            }
            let strings = expected.iter().map(|string| (string.role, string.bytes.clone()));
            answer(message, Some(strings.collect())).into_iter().collect()
        }
        Plan::Reject(message) => answer(message, None).into_iter().collect(),
        Plan::Words { message, words, .. } => {
            // The words from the first on, as far as they are known without a gap.
            let known = words.iter().zip(1..).take_while(|((number, _), at)| number == at).map(|((_, word), _)| word);
            let known: Vec<&Vec<u8>> = known.collect();
            if known.is_empty() {
                return Vec::new();
            }
            let mut first = message.clone();
            first.words = known.len() as u64;
            answer(&first, output(known.into_iter().flatten().copied().collect())).into_iter().collect()
        }
        // One after another on the same context; all or none.
        Plan::Requests(requests) => {
            let answers = requests.iter().map(|(message, made)| answer(message, made.clone().and_then(output)));
            answers.collect::<Option<Vec<_>>>().unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

/// The same of plans that say less than a project needs: words of a generator here and there, output from some byte on, or
/// its beginning. What the interpreter makes of the message is the answer, as long as it is what the plan says.
///
/// # Errors
///
/// Why projects do not hold it, or that the plan is wrong.
pub fn completed_answers(
    operation: usize,
    spec: &OperationSpec,
    network: &Arc<Network>,
    case: &Case,
) -> std::result::Result<Vec<KnownAnswer>, Unanswered> {
    let not_held = match &case.plan {
        Plan::Words { message, word_bytes, .. } => {
            let is_long = message.words.saturating_mul(*word_bytes as u64) > MAX_ANSWER_BYTES as u64;
            is_long.then_some(TOO_LONG)
        }
        Plan::Accept(..) => None,
        Plan::Reject(_) | Plan::Requests(_) => Some(TOO_LONG),
        Plan::Malformed(_) => Some("there is no message that a project could refuse"),
        Plan::Ports(..) => Some(NO_INTERFACE),
        Plan::Iterate(..) | Plan::ModeMonteCarlo { .. } | Plan::HashMonteCarlo { .. } => {
            Some("projects hold no chains of messages")
        }
    };
    if let Some(why) = not_held {
        return Err(Unanswered::NotHeld(why));
    }
    let mut answers = Vec::new();
    let verdict = case.perform(spec, |call| {
        let CallInput::Message(message) = &call.input else { return Err(()) };
        // What is too long for a project need not be run.
        answer(operation, spec, message, None).ok_or(())?;
        let engine = Interpreter::new(network.clone(), headrace_interp::Options::default()).map_err(drop)?;
        let made = Runner::new(spec, network, Box::new(engine)).perform(&call.input).map_err(drop)?;
        let Answer::Message(Outcome::Accepted(strings)) = &made else { return Err(()) };
        let expected = Some(strings.iter().cloned().collect());
        answers.push(answer(operation, spec, message, expected).ok_or(())?);
        Ok(made)
    });
    match verdict {
        Ok(Verdict::Passed) => Ok(answers),
        Ok(Verdict::Failed(why)) => Err(Unanswered::Wrong(format!("on the interpreter: {why}"))),
        Err(()) => Err(Unanswered::NotHeld(TOO_LONG)),
    }
}

/// Why there are no answers for a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unanswered {
    /// Projects do not hold such plans.
    NotHeld(&'static str),
    /// The interpreter makes something else of it.
    Wrong(String),
}

/// Whether answers say all that a plan says.
pub fn is_whole(plan: &Plan) -> bool {
    match plan {
        Plan::Words { words, period, .. } => {
            period.is_none() && words.iter().zip(1..).all(|((number, _), at)| *number == at)
        }
        _ => true,
    }
}

/// Why something is not tried: projects without the framing of messages refuse no messages.
pub const NO_FRAMING: &str = "refused by the framing of messages, which its projects lack";

/// Parts have ports and no messages.
pub const NO_INTERFACE: &str = "parts have no interface in projects";

/// Projects are for short messages.
pub const TOO_LONG: &str = "projects hold messages of up to 4 KiB";

impl Workspace {
    /// The library's known answers for these operations that projects can hold: single messages.
    ///
    /// # Errors
    ///
    /// A known-answer file that cannot be read. What is wrong inside one is told.
    pub fn known_answers(&mut self, library: &Library, scope: &[&OperationSpec]) -> Result<Vec<KnownAnswer>> {
        let mut answers = Vec::new();
        for (name, id) in self.read_vectors(library, scope)? {
            let (file, problems) = VectorFile::parse(id, self.session.sources.text(id).as_bytes());
            self.remark_problems(problems);
            for case in cases(library, &name, &file, scope).cases {
                let position = scope.iter().position(|spec| spec.set == case.set && spec.name == case.operation);
                let Some(operation) = position.filter(|_| case.arguments.is_empty()) else { continue };
                answers.extend(answers_of(operation, scope[operation], &case.plan));
            }
        }
        Ok(answers)
    }

    /// Reads the known-answer files of these operations: their names and texts.
    pub(crate) fn read_vectors(
        &mut self,
        library: &Library,
        scope: &[&OperationSpec],
    ) -> Result<Vec<(String, FileId)>> {
        let mut files = Vec::new();
        for manifest in
            library.manifests().iter().filter(|manifest| scope.iter().any(|spec| spec.folder == manifest.folder))
        {
            for path in library.vector_files(manifest) {
                let name = path.rsplit('/').next().unwrap_or(&path).to_owned();
                let Some((display, text)) = self.roots.text(&path) else {
                    return Err(Error::wrong(format!("the manifest names `{path}`, which is not there")));
                };
                files.push((name, self.session.sources.add(display, text.map_err(Error::Wrong)?)));
            }
        }
        Ok(files)
    }
}

/// What the interpreter makes of typical messages: for operations of which nobody has published answers.
pub(super) fn recorded_answers(operation: usize, spec: &OperationSpec, network: &Network) -> Vec<KnownAnswer> {
    let messages = samples::messages(spec).into_iter();
    messages.filter_map(|message| interpreted_answer(operation, spec, network, &message)).collect()
}

/// What the interpreter makes of a message, unless that is too long for the test of a project.
pub fn interpreted_answer(
    operation: usize,
    spec: &OperationSpec,
    network: &Network,
    message: &Message,
) -> Option<KnownAnswer> {
    let engine = Interpreter::new(network.clone(), headrace_interp::Options::default()).ok()?;
    let outcome = Running::new(spec, network, Box::new(engine)).perform(message).ok()?;
    let strings = match outcome {
        Outcome::Accepted(strings) => Some(strings.into_iter().collect()),
        Outcome::Rejected => None,
    };
    answer(operation, spec, message, strings)
}

/// The strings that the interpreter puts out of a message before it says whether it is authentic, whatever it says then: what a core
/// shows that leaves it to others to wait for the verdict.
pub(super) fn unverified_strings(
    spec: &OperationSpec,
    network: &Network,
    message: &Message,
) -> Option<BTreeMap<Role, Vec<u8>>> {
    let mut unverified = spec.clone();
    unverified.verifies = false;
    unverified.outputs.retain(|port| port.role != Role::Verified);
    let engine = Interpreter::new(network.clone(), headrace_interp::Options::default()).ok()?;
    match Running::new(&unverified, network, Box::new(engine)).perform(message).ok()? {
        Outcome::Accepted(strings) => Some(strings.into_iter().collect()),
        Outcome::Rejected => None,
    }
}
