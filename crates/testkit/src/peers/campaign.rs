//! Differential testing of one operation, from its first message to its verdict.

use super::chunks::cut;
use super::library::Shipped;
use super::messages::{Drawn, Messages};
use super::shrinking;
use super::summary::describe;
use crate::rng::Rng;
use headrace_exchange::Running;
use headrace_interp::{Interpreter, Options};
use headrace_ir::{DEFAULT_FIFO_TOKENS, Network};
use headrace_library::Role;
use headrace_library::catalog::OperationSpec;
use headrace_library::framing::{Message, Outcome};
use headrace_native::{Batch, Options as NativeOptions};
use headrace_peers::{Peer, peer};
use headrace_targets::automata::automaton_of_operation;
use std::sync::Arc;
use std::time::Instant;

/// What runs the networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Compiled code.
    Native,
    /// The interpreter.
    Interp,
    /// Compiled code of the control automaton, as projects have it.
    Fused,
}

impl Engine {
    /// All of them.
    pub const ALL: &[Engine] = &[Engine::Native, Engine::Interp, Engine::Fused];

    /// What the command line calls it.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Native => "native",
            Engine::Interp => "interp",
            Engine::Fused => "fused",
        }
    }

    /// What says what a message must come to where no peer does. Each engine is held to the one that is simpler.
    fn judge(self) -> Engine {
        if self == Engine::Fused { Engine::Native } else { Engine::Interp }
    }
}

/// What is to be done.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Messages for each operation, at least.
    pub messages: u64,
    /// Blocks of input of each operation, at least; bytes count as blocks of [`BLOCK_BYTES`] where there are none.
    pub blocks: u64,
    /// What they are made from.
    pub seed: u64,
    /// What runs them.
    pub engine: Engine,
    /// Only this variant.
    pub variant: Option<String>,
    /// When to begin nothing new.
    pub deadline: Option<Instant>,
    /// Capacity of FIFOs whose source does not say one.
    pub fifo_tokens: u32,
}

/// What came of one operation and variant.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// `aes128`.
    pub set: String,
    /// `ctr`.
    pub operation: String,
    /// `standard`.
    pub variant: String,
    /// Messages that went through the running network.
    pub messages: u64,
    /// Blocks of their inputs.
    pub blocks: u64,
    /// Those with a key of their own.
    pub rekeyed: u64,
    /// Those that were rejected, by both.
    pub rejected: u64,
    /// Those that the peer was asked for.
    pub with_peer: u64,
    /// Those that went through a fresh network on the judging engine as well.
    pub alone: u64,
    /// Those that fused code did not do alone: it had left its automaton for the scheduler when they ended.
    pub scheduled: u64,
    /// Chunks of their strings, where they were cut.
    pub chunks: u64,
    /// The peer; none if there is none.
    pub peer: Option<String>,
    /// How long it took.
    pub seconds: f64,
    /// Why it was not run, or not to its end.
    pub not_run: Option<String>,
    /// What went wrong.
    pub failure: Option<String>,
}

/// All of them.
#[derive(Clone, Debug, Default)]
pub struct Reports(pub Vec<Report>);

/// Bytes of a block of what has none of its own.
pub const BLOCK_BYTES: u64 = 16;

/// Messages that are under way at a time, at most.
const MOST_TOGETHER: usize = 6;

/// How often messages go through a network that has just been made, and how often nothing is cut, of a hundred times.
const FRESH_PERCENT: u32 = 30;
const WHOLE_PERCENT: u32 = 40;

/// Of the messages that no peer takes, those that go through a fresh network too: all of the first, then some.
const ALL_ALONE: u64 = 12;
const ONE_ALONE_IN: u64 = 50;

/// A network made ready, from which fresh engines come.
pub struct Ready<'r> {
    /// The operation.
    pub spec: &'r OperationSpec,
    /// Its network.
    pub network: Arc<Network>,
    batch: Option<Batch>,
    fifo_tokens: u32,
}

impl<'r> Ready<'r> {
    /// Makes the network of a variant ready for an engine; none where it keeps its run-time scheduler and is not fused.
    pub fn new(
        shipped: &Shipped,
        spec: &'r OperationSpec,
        variant: &str,
        engine: Engine,
        fifo_tokens: u32,
    ) -> Result<Option<Self>, String> {
        let network = shipped.network(spec, variant)?;
        // Most of the time is the compiler's.
        let flags = ["-std=c11", "-O1", "-ffp-contract=off"].map(str::to_owned).to_vec();
        let options = NativeOptions { fifo_tokens, flags, ..NativeOptions::default() };
        let batch = match engine {
            Engine::Interp => None,
            Engine::Native => Some(Batch::compile(&[("network", network.as_ref(), fifo_tokens)], &options)),
            Engine::Fused => {
                let Ok(automaton) = automaton_of_operation(spec, &network) else { return Ok(None) };
                Some(Batch::compile_fused(&network, &automaton, &options))
            }
        };
        let batch = batch.transpose().map_err(|error| error.to_string())?;
        Ok(Some(Ready { spec, network, batch, fifo_tokens }))
    }

    /// The operation on a fresh engine.
    pub fn start(&self) -> Result<Running<'_>, String> {
        let engine: Box<dyn headrace_engine::Engine> = match &self.batch {
            Some(batch) => Box::new(batch.engine(0, self.network.clone()).map_err(|error| error.to_string())?),
            None => {
                let options = Options { fifo_tokens: self.fifo_tokens, ..Options::default() };
                let interpreter = Interpreter::new(self.network.clone(), options);
                Box::new(interpreter.map_err(|problems| {
                    problems.first().map_or_else(|| "the network is malformed".into(), |p| p.message.clone())
                })?)
            }
        };
        Ok(Running::new(self.spec, &self.network, engine))
    }

    /// A message alone, in one chunk, through a fresh engine.
    pub fn alone(&self, message: &Message) -> Result<Outcome, String> {
        let mut message = message.clone();
        message.rekey = true;
        self.start()?.perform(&message)
    }
}

/// Runs one variant of an operation.
pub fn run(shipped: &Shipped, spec: &OperationSpec, variant: &str, plan: &Plan) -> Report {
    let began = Instant::now();
    let mut report = Report {
        set: spec.set.clone(),
        operation: spec.name.clone(),
        variant: variant.to_owned(),
        ..Report::default()
    };
    if plan.deadline.is_some_and(|deadline| began >= deadline) {
        report.not_run = Some("no time was left".into());
        return report;
    }
    if spec.input(Role::Entropy).is_some() {
        report.not_run = Some("it goes on from request to request; crates/testkit/tests/drbg.rs asks OpenSSL".into());
        return report;
    }
    let other = peer(&spec.set, &spec.name);
    report.peer = other.as_ref().map(Peer::name);
    if let Err(message) = all(shipped, spec, variant, plan, other.as_ref(), &mut report) {
        report.failure = Some(message);
    }
    report.seconds = began.elapsed().as_secs_f64();
    report
}

/// What a message must come to, and from whom that is known.
pub struct Judge<'j> {
    peer: Option<&'j Peer>,
    engine: Engine,
    alone: Ready<'j>,
}

/// Who says what a message must come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authority {
    /// The peer.
    Peer,
    /// A fresh network on the engine that judges.
    Alone,
}

impl Judge<'_> {
    /// What a message must come to: from the peer, or else from a fresh network if that is `wanted`.
    pub fn expect(&self, message: &Message, wanted: bool) -> Result<Option<(Outcome, Authority)>, String> {
        if let Some(outcome) = self.peer.and_then(|peer| peer.run(message)) {
            return Ok(Some((outcome, Authority::Peer)));
        }
        if !wanted {
            return Ok(None);
        }
        let outcome = self.alone.alone(message).map_err(|why| format!("alone on {}: {why}", self.engine.name()))?;
        Ok(Some((outcome, Authority::Alone)))
    }
}

fn all(
    shipped: &Shipped,
    spec: &OperationSpec,
    variant: &str,
    plan: &Plan,
    other: Option<&Peer>,
    report: &mut Report,
) -> Result<(), String> {
    let Some(ready) = Ready::new(shipped, spec, variant, plan.engine, plan.fifo_tokens)? else {
        report.not_run = Some("it keeps its run-time scheduler".into());
        return Ok(());
    };
    let engine = plan.engine.judge();
    let alone = Ready::new(shipped, spec, variant, engine, DEFAULT_FIFO_TOKENS)?;
    let judge = Judge { peer: other, engine, alone: alone.ok_or("no engine judges")? };
    // What an operation that verifies is given was made by its inverse: the peer's, or else our own.
    let undone = if spec.verifies { spec.inverse.as_deref() } else { None };
    let undone = undone.and_then(|name| shipped.library.operation(&spec.set, name));
    let maker_peer = undone.and_then(|inverse| peer(&inverse.set, &inverse.name));
    let maker_own = match undone {
        Some(inverse) => {
            let default = inverse.variants.first().map_or("standard", |variant| &variant.name);
            Ready::new(shipped, inverse, default, Engine::Interp, DEFAULT_FIFO_TOKENS)?
        }
        None => None,
    };
    let make = |message: &Message| -> Option<Outcome> {
        let made = maker_peer.as_ref().and_then(|peer| peer.run(message));
        made.or_else(|| maker_own.as_ref()?.alone(message).ok())
    };
    let messages = Messages::new(spec, plan.seed, undone.map(|inverse| (inverse, &make as _)));
    let mut running = ready.start()?;
    let mut together = Rng::new(plan.seed ^ 0x0070_6765_7468_6572);
    let mut n = 0;
    while n < plan.messages || report.blocks < plan.blocks {
        if plan.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            report.not_run = Some("no time was left for more".into());
            break;
        }
        let mut many = 1 + together.below(MOST_TOGETHER) as u64;
        if plan.blocks == 0 {
            many = many.min(plan.messages - n);
        }
        // A network behaves as what it was given first has it, for long: fused code may leave its automaton.
        let is_fresh = n > 0 && together.chance(FRESH_PERCENT);
        let is_whole = together.chance(WHOLE_PERCENT);
        if is_fresh {
            running = ready.start()?;
        }
        let mut under_way = Vec::new();
        for at in n..n + many {
            let mut drawn = messages.draw(at).ok_or_else(|| format!("message {at} could not be made"))?;
            drawn.message.rekey |= is_fresh && at == n;
            under_way.push(drawn);
        }
        let came = through(&mut running, spec, &under_way, is_whole, report);
        if plan.engine == Engine::Fused && has_fired(&mut running) {
            report.scheduled += many;
        }
        for (at, drawn) in under_way.iter().enumerate() {
            let number = n + at as u64;
            // The interpreter is slow.
            let is_quick = engine != Engine::Interp;
            let wanted = is_quick || number < ALL_ALONE || number.is_multiple_of(ONE_ALONE_IN);
            let expected = judge.expect(&drawn.message, wanted);
            let expected = expected.map_err(|why| failure(spec, variant, plan, number, drawn, &why))?;
            let problem = match (came.get(at), &expected) {
                (Some(Ok(outcome)), Some((expected, authority))) => {
                    differs(outcome, expected).map(|how| match authority {
                        Authority::Peer => format!("{how} (from the peer)"),
                        Authority::Alone => format!("{how} (from the message alone on {})", engine.name()),
                    })
                }
                (Some(Ok(_)), None) => None,
                (Some(Err(why)), _) => Some(why.clone()),
                (None, _) => Some("nothing came of it".into()),
            };
            let is_not_undone = || {
                let (Some(Ok(outcome)), Some(must)) = (came.get(at), &drawn.must) else { return None };
                Some(format!("{} (from how it was made)", differs(outcome, must)?))
            };
            let problem = problem.or_else(is_not_undone);
            if let Some(problem) = problem {
                let mut text = failure(spec, variant, plan, number, drawn, &problem);
                text.push_str(&shrinking::narrow(&ready, &judge, &messages, number));
                return Err(text);
            }
            report.messages += 1;
            let input_bytes = drawn.message.get(Role::Input).map_or(0, <[u8]>::len) as u64;
            report.blocks += input_bytes / spec.block_bytes.unwrap_or(BLOCK_BYTES);
            report.rekeyed += u64::from(drawn.message.rekey);
            match expected {
                Some((_, Authority::Peer)) => report.with_peer += 1,
                Some((_, Authority::Alone)) => report.alone += 1,
                None => {}
            }
            report.rejected += u64::from(came.get(at) == Some(&Ok(Outcome::Rejected)));
        }
        n += many;
    }
    Ok(())
}

/// Whether a scheduler fires actions: automata count none.
fn has_fired(running: &mut Running) -> bool {
    running.engine().firings().iter().flatten().any(|&n| n > 0)
}

/// Sends messages one behind the other, and what came of each until one failed.
fn through(
    running: &mut Running,
    spec: &OperationSpec,
    messages: &[Drawn],
    is_whole: bool,
    report: &mut Report,
) -> Vec<Result<Outcome, String>> {
    let mut came = Vec::new();
    let all: Result<(), String> = (|| {
        for drawn in messages {
            let mut data = running.tokens(&drawn.message).map_err(|problems| {
                problems.first().map_or_else(|| "the message was refused".into(), |p| p.message.clone())
            })?;
            if !is_whole {
                report.chunks += cut(spec, &mut data, &mut drawn.rng.clone()) as u64;
            }
            running.send(&data)?;
        }
        let ran = running.run();
        for drawn in messages {
            came.push(Ok(running.next(&drawn.message).map_err(|why| match &ran {
                Err(trap) => trap.clone(),
                Ok(()) => why,
            })?));
        }
        ran?;
        running.nothing_left()
    })();
    if let Err(why) = all {
        if came.len() == messages.len() {
            came.pop();
        }
        came.push(Err(why));
    }
    came
}

/// How two outcomes differ.
pub fn differs(came: &Outcome, expected: &Outcome) -> Option<String> {
    let (came, expected) = match (came, expected) {
        (Outcome::Rejected, Outcome::Rejected) => return None,
        (Outcome::Rejected, Outcome::Accepted(_)) => return Some("rejected what is to be accepted".into()),
        (Outcome::Accepted(_), Outcome::Rejected) => return Some("accepted what is to be rejected".into()),
        (Outcome::Accepted(_), Outcome::Accepted(strings)) => (came, strings),
    };
    for (role, bytes) in expected {
        let Some(other) = came.get(*role) else { return Some(format!("gave no `{}`", role.name())) };
        if other != bytes {
            let at = other.iter().zip(bytes).position(|(a, b)| a != b).unwrap_or(other.len().min(bytes.len()));
            return Some(format!(
                "`{}` has {} bytes and must have {}; it differs from byte {at}",
                role.name(),
                other.len(),
                bytes.len()
            ));
        }
    }
    None
}

fn failure(spec: &OperationSpec, variant: &str, plan: &Plan, number: u64, drawn: &Drawn, problem: &str) -> String {
    let engine =
        if plan.engine == Engine::Native { String::new() } else { format!(" --engine {}", plan.engine.name()) };
    let fifo =
        if plan.fifo_tokens == DEFAULT_FIFO_TOKENS { String::new() } else { format!(" --fifo {}", plan.fifo_tokens) };
    format!(
        "message {number}{}: {problem}\n  {}\n  repeat with: headrace-testkit peers {} {} --variant {variant} --seed {} --messages {}{engine}{fifo}",
        if drawn.forged { " (forged)" } else { "" },
        describe(&drawn.message),
        spec.set,
        spec.name,
        plan.seed,
        number + 1,
    )
}
