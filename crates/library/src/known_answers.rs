//! Records of known-answer files to calls and expectations.
//!
//! A record becomes one case for every direction in which it can be checked. A case asks for one operation at a time
//! and is given what came of it, so that chains (Monte Carlo, iterated encryption) and single messages look alike to
//! an engine.

use std::borrow::Cow;

use headrace_source::{Slug, Span};

use crate::catalog::OperationSpec;
use crate::framing::{Message, Outcome};
use crate::monte_carlo::{Chain, HashChain, ModeChain};
use crate::ports::Role;

mod build;
mod entries;
pub use entries::{Cases, cases};

/// A record does not fit what the manifest says about its file.
pub const MAPPING: Slug = "known-answer-mapping";

/// One operation that an engine is to perform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Parameter set.
    pub set: String,
    /// Operation.
    pub operation: String,
    /// Network arguments that come from the record, over those of the manifest.
    pub arguments: Vec<(String, String)>,
    /// What is fed.
    pub input: CallInput,
}

/// What an operation is fed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallInput {
    /// The strings of a message.
    Message(Message),
    /// For a part: port and bytes, in the form that `headrace run` takes (`ceil(width/8)` little-endian bytes a token;
    /// 1-bit ports packed, most significant bit first).
    Ports(Vec<(String, Vec<u8>)>),
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Of a message.
    Message(Outcome),
    /// Of a part: port and bytes, in the same form.
    Ports(Vec<(String, Vec<u8>)>),
}

/// What a string must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// Which.
    pub role: Role,
    /// How many bytes come before those that are known. The input is given as many zeros in front.
    pub skip: usize,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Whether more may follow.
    pub leftmost: bool,
}

/// How a case is played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// One message, accepted with these strings.
    Accept(Message, Vec<Expected>),
    /// One message that must be rejected, or refused for its sizes.
    Reject(Message),
    /// A record that must be rejected and cannot even be cut into strings, for this reason.
    Malformed(String),
    /// Output fed back as input; after so many operations, these outputs, ascending.
    Iterate(Message, Vec<(u32, Vec<u8>)>),
    /// The inner loop of AESAVS 6.4 from this message to this last output.
    ModeMonteCarlo {
        /// Key, IV and first input.
        start: Message,
        /// Last output.
        last: Vec<u8>,
        /// Whether the register takes in input xor output.
        key_stream: bool,
        /// Whether the ciphertext is what comes out.
        encrypts: bool,
    },
    /// The inner loop of SHAVS 6.4 from a seed to a digest.
    HashMonteCarlo {
        /// First three messages.
        seed: Vec<u8>,
        /// Last digest.
        last: Vec<u8>,
    },
    /// The n-th words (from 1) of a generator, all of one size.
    Words {
        /// Seed and number of words.
        message: Message,
        /// Bytes of a word.
        word_bytes: usize,
        /// Number and value.
        words: Vec<(u64, Vec<u8>)>,
        /// A value that must not occur before this number, at which it must.
        period: Option<(u64, Vec<u8>)>,
    },
    /// Requests to a generator that goes on, one after another, each with what it must make; `None` when it must be
    /// refused.
    Requests(Vec<(Message, Option<Vec<u8>>)>),
    /// The ports of a part, fed and expected.
    Ports(Vec<(String, Vec<u8>)>, Vec<(String, Vec<u8>)>),
}

/// One thing that a record says about an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Index of the record in its file.
    pub record: usize,
    /// `Count` of the record.
    pub count: u64,
    /// Its place.
    pub span: Span,
    /// Parameter set.
    pub set: String,
    /// Operation.
    pub operation: String,
    /// Network arguments from the record.
    pub arguments: Vec<(String, String)>,
    /// How it is played.
    pub plan: Plan,
}

/// Whether a case holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It does.
    Passed,
    /// It does not, for this reason.
    Failed(String),
}

/// What is to be done next for a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Perform this and say what came of it.
    Perform(Call),
    /// The case is decided.
    Done(Verdict),
}

impl Case {
    /// Whether the case is a chain of many small calls, each made of the one before; all others make one call.
    pub fn is_chain(&self) -> bool {
        matches!(self.plan, Plan::Iterate(..) | Plan::ModeMonteCarlo { .. } | Plan::HashMonteCarlo { .. })
    }

    /// Begins to play the case; `spec` is the operation that it names.
    pub fn play<'c>(&'c self, spec: &'c OperationSpec) -> Play<'c> {
        let spec = match self.arguments.as_slice() {
            [] => Cow::Borrowed(spec),
            arguments => Cow::Owned(spec.with_arguments(arguments)),
        };
        let chain = match &self.plan {
            Plan::Iterate(start, _) => Some(Chain::Iterate(start.clone())),
            Plan::ModeMonteCarlo { start, key_stream, encrypts, .. } => {
                Some(Chain::Mode(ModeChain::new(start.clone(), *key_stream, *encrypts)))
            }
            Plan::HashMonteCarlo { seed, .. } => Some(Chain::Hash(HashChain::new(seed))),
            _ => None,
        };
        Play { case: self, spec, chain, n_answers: 0 }
    }

    /// Plays the case on an engine, given as a function that performs one call.
    pub fn perform<E>(
        &self,
        spec: &OperationSpec,
        mut engine: impl FnMut(Call) -> Result<Answer, E>,
    ) -> Result<Verdict, E> {
        let mut play = self.play(spec);
        let mut step = play.start();
        loop {
            match step {
                Step::Done(verdict) => return Ok(verdict),
                Step::Perform(call) => step = play.answer(&engine(call)?),
            }
        }
    }

    fn call(&self, input: CallInput) -> Step {
        Step::Perform(Call {
            set: self.set.clone(),
            operation: self.operation.clone(),
            arguments: self.arguments.clone(),
            input,
        })
    }
}

/// A case that is being played: [`Play::start`], then [`Play::answer`] until it is done.
pub struct Play<'c> {
    case: &'c Case,
    spec: Cow<'c, OperationSpec>,
    chain: Option<Chain>,
    n_answers: u32,
}

fn failed(message: impl Into<String>) -> Step {
    Step::Done(Verdict::Failed(message.into()))
}

impl Play<'_> {
    /// The first step.
    pub fn start(&mut self) -> Step {
        match &self.case.plan {
            Plan::Malformed(_) => Step::Done(Verdict::Passed),
            Plan::Ports(inputs, _) => self.case.call(CallInput::Ports(inputs.clone())),
            Plan::Reject(message) => {
                if message.check(&self.spec, false).is_empty() {
                    self.case.call(CallInput::Message(message.clone()))
                } else {
                    Step::Done(Verdict::Passed)
                }
            }
            Plan::Words { message, .. } => self.send(message.clone()),
            Plan::Requests(requests) => self.request(requests),
            Plan::Accept(message, expected) => {
                let mut message = message.clone();
                let skip = expected.iter().map(|want| want.skip).max().unwrap_or(0);
                if skip > 0 {
                    let mut input = vec![0; skip];
                    input.extend(message.get(Role::Input).unwrap_or_default());
                    message.set(Role::Input, input);
                }
                self.send(message)
            }
            Plan::Iterate(..) | Plan::ModeMonteCarlo { .. } | Plan::HashMonteCarlo { .. } => {
                match self.chain.as_ref().map(Chain::next) {
                    Some(message) => self.send(message),
                    None => failed("the chain is empty"),
                }
            }
        }
    }

    /// The step after an answer.
    pub fn answer(&mut self, answer: &Answer) -> Step {
        self.n_answers = self.n_answers.saturating_add(1);
        let outcome = match (answer, &self.case.plan) {
            (Answer::Ports(ports), Plan::Ports(_, expected)) => {
                return Step::Done(compare_ports(ports, expected));
            }
            (Answer::Message(outcome), _) => outcome,
            (Answer::Ports(_), _) => return failed("the engine answered with ports"),
        };
        match &self.case.plan {
            Plan::Reject(_) => Step::Done(match outcome {
                Outcome::Rejected => Verdict::Passed,
                Outcome::Accepted(_) => Verdict::Failed("accepted, but must be rejected".into()),
            }),
            Plan::Accept(_, expected) => Step::Done(compare(outcome, expected)),
            Plan::Requests(requests) => {
                let n = self.n_answers;
                let Some((_, expected)) = usize::try_from(n).ok().and_then(|n| requests.get(n.checked_sub(1)?)) else {
                    return failed("an answer that was not asked for");
                };
                match (outcome.get(Role::Output), expected) {
                    (None, Some(_)) => return failed(format!("request {n} was refused, but is valid")),
                    (Some(_), None) => return failed(format!("request {n} was served, but must be refused")),
                    (Some(got), Some(want)) => {
                        if let Some(difference) = difference(got, want) {
                            return failed(format!("output of request {n}: {difference}"));
                        }
                    }
                    (None, None) => {}
                }
                self.request(requests)
            }
            Plan::Words { word_bytes, words, period, .. } => {
                Step::Done(compare_words(outcome, *word_bytes, words, period.as_ref()))
            }
            Plan::Malformed(_) | Plan::Ports(..) => failed("an answer that was not asked for"),
            Plan::Iterate(..) | Plan::ModeMonteCarlo { .. } | Plan::HashMonteCarlo { .. } => self.link(outcome),
        }
    }

    fn link(&mut self, outcome: &Outcome) -> Step {
        let Some(output) = outcome.get(Role::Output) else {
            return failed(format!("operation {} has no output", self.n_answers));
        };
        let (due, end) = match &self.case.plan {
            Plan::Iterate(_, points) => (
                points.iter().find(|(n, _)| *n == self.n_answers).map(|(_, bytes)| bytes),
                points.last().map_or(0, |(n, _)| *n),
            ),
            Plan::ModeMonteCarlo { last, .. } => ((self.n_answers == 1000).then_some(last), 1000),
            Plan::HashMonteCarlo { last, .. } => ((self.n_answers == 1000).then_some(last), 1000),
            _ => (None, 0),
        };
        if let Some(due) = due
            && let Some(difference) = difference(output, due)
        {
            return failed(format!("output of operation {}: {difference}", self.n_answers));
        }
        if self.n_answers >= end {
            return Step::Done(Verdict::Passed);
        }
        let Some(chain) = &mut self.chain else {
            return failed("the chain is empty");
        };
        match chain.advance(output) {
            Ok(()) => {
                let message = chain.next();
                self.send(message)
            }
            Err(message) => failed(message),
        }
    }

    /// The next request to a generator, where one is left.
    fn request(&self, requests: &[(Message, Option<Vec<u8>>)]) -> Step {
        let next = usize::try_from(self.n_answers).ok().and_then(|n| requests.get(n));
        match next {
            None => Step::Done(Verdict::Passed),
            Some((message, None)) if !message.check(&self.spec, false).is_empty() => Step::Done(Verdict::Passed),
            Some((message, _)) => self.send(message.clone()),
        }
    }

    fn send(&self, message: Message) -> Step {
        match message.check(&self.spec, false).first() {
            None => self.case.call(CallInput::Message(message)),
            Some(problem) => failed(format!("refused: {}", problem.message)),
        }
    }
}

fn compare(outcome: &Outcome, expected: &[Expected]) -> Verdict {
    if *outcome == Outcome::Rejected {
        return Verdict::Failed("rejected, but is valid".into());
    }
    for want in expected {
        let Some(got) = outcome.get(want.role) else {
            return Verdict::Failed(format!("there is no `{}`", want.role.name()));
        };
        let Some(got) = got.get(want.skip..) else {
            return Verdict::Failed(format!("`{}` has only {} bytes", want.role.name(), got.len()));
        };
        let got = if want.leftmost { got.get(..want.bytes.len()).unwrap_or(got) } else { got };
        if let Some(difference) = difference(got, &want.bytes) {
            return Verdict::Failed(format!("`{}`: {difference}", want.role.name()));
        }
    }
    Verdict::Passed
}

fn compare_ports(got: &[(String, Vec<u8>)], expected: &[(String, Vec<u8>)]) -> Verdict {
    for (port, want) in expected {
        let got = got.iter().find(|(name, _)| name == port).map_or(&[][..], |(_, bytes)| bytes);
        if let Some(difference) = difference(got, want) {
            return Verdict::Failed(format!("`{port}`: {difference}"));
        }
    }
    Verdict::Passed
}

fn compare_words(
    outcome: &Outcome,
    word_bytes: usize,
    words: &[(u64, Vec<u8>)],
    period: Option<&(u64, Vec<u8>)>,
) -> Verdict {
    let Some(output) = outcome.get(Role::Output) else {
        return Verdict::Failed("there is no `Output`".into());
    };
    let got: Vec<&[u8]> = output.chunks_exact(word_bytes.max(1)).collect();
    let word = |n: u64| usize::try_from(n).ok().and_then(|n| got.get(n.checked_sub(1)?)).copied();
    for (n, want) in words {
        let Some(got) = word(*n) else {
            return Verdict::Failed(format!("word {n} did not come"));
        };
        if let Some(difference) = difference(got, want) {
            return Verdict::Failed(format!("word {n}: {difference}"));
        }
    }
    if let Some((n, seed)) = period {
        let first = got.iter().position(|word| word == seed);
        if first.and_then(|at| u64::try_from(at).ok()).map(|at| at + 1) != Some(*n) {
            return Verdict::Failed(format!(
                "the seed must come back as word {n} and not before; it {}",
                first.map_or("does not".into(), |at| format!("is word {}", at + 1))
            ));
        }
    }
    Verdict::Passed
}

/// Where two strings differ, with the bytes around; `None` when they are the same.
fn difference(got: &[u8], want: &[u8]) -> Option<String> {
    if got == want {
        return None;
    }
    let at = got.iter().zip(want).take_while(|(a, b)| a == b).count();
    let show = |bytes: &[u8]| {
        let from = at.saturating_sub(4);
        let part: String = bytes.iter().skip(from).take(16).map(|byte| format!("{byte:02x}")).collect();
        let before = if from > 0 { "…" } else { "" };
        let after = if bytes.len() > from + 16 { "…" } else { "" };
        format!("{before}{part}{after}")
    };
    let lengths = if got.len() == want.len() {
        String::new()
    } else {
        format!(" ({} bytes instead of {})", got.len(), want.len())
    };
    Some(format!("differs from byte {at}: {} instead of {}{lengths}", show(got), show(want)))
}

#[cfg(test)]
mod tests;
