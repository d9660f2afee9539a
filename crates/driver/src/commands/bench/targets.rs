//! How fast operations are in the language of each target, beside what users of that language have and beside our C: all in
//! one run, in turn, with the same message. What takes part stands in `bench/targets.toml`.
//!
//! What is loaded into this process is called as its users call it; what is a program is asked how long it took, after it has
//! run long enough for compilers that compile meanwhile. Every call is a message of its own.

use super::target_sides::{Entry, Who, Work, c_sides, ours, theirs, version};
use super::{Measured, referee};
use crate::cli::BenchArgs;
use crate::commands::{Context, itself};
use crate::failure::Outcome;
use headrace::Error;
use headrace::primitive::Runner;
use headrace::toolchains::{self, Found};
use headrace_bench::contender::Strings;
use headrace_bench::contest::{Side, Times, hold_sides, noise};
use headrace_bench::cycles;
use headrace_bench::measure::{least, speed_ratio};
use headrace_bench::results::{Machine, Row, Status, Subject, Verdict};
use headrace_bench::tables::figure;
use headrace_bench::target_rules::{OperationRule, TargetPeer, TargetRule, TargetRules};
use headrace_interp::Interpreter;
use headrace_library::Role;
use headrace_library::catalog::OperationSpec;
use headrace_library::framing::{Message, Outcome as Processed};
use headrace_library::known_answers::{Answer, CallInput};
use headrace_native::Compiler;
use headrace_targets::Target;
use headrace_targets::contender::Contender;
use std::collections::BTreeMap;

/// Bytes of a message, where none are named.
const BYTES: usize = 16 << 10;

/// Bytes of the message that the interpreter processes too.
const JUDGED_BYTES: usize = 256;

/// Of a demonstration: seconds in which compilers that compile meanwhile do so, and turns whose best counts.
const WARM_SECONDS: f64 = 2.0;
const TURNS: usize = 5;

/// The rules that the command carries.
pub fn rules() -> Outcome<TargetRules> {
    TargetRules::parse(include_str!("../../../../../bench/targets.toml"))
        .map_err(|problem| Error::wrong(format!("bench/targets.toml: {problem}")))
}

/// A target that takes part.
struct Chosen<'r> {
    target: &'static Target,
    contender: Contender,
    rule: &'r TargetRule,
    /// Its tools, or which is missing.
    found: Result<Found, String>,
    /// The compiler of the C that it is compared with.
    c: Option<String>,
}

/// Measures every operation in every target.
pub fn measure(context: &mut Context, arguments: &BenchArgs, _: &Machine) -> Outcome<Measured> {
    let rules = rules()?;
    let lengths = referee::rules()?;
    let library = context.library()?;
    let targets = chosen(&rules, arguments)?;
    if targets.iter().all(|chosen| chosen.c.is_none()) {
        return Err(Error::missing("there is no C compiler: apt-get install gcc libc6-dev"));
    }
    let sizes = sizes(&targets, arguments);
    let mut measured = Measured { shows_rows: true, ..Measured::default() };
    for chosen in &targets {
        match &chosen.found {
            Ok(found) => _ = measured.versions.insert(chosen.target.name.into(), version(found)),
            Err(why) => context.terminal.note(&format!("{} is not measured: {why}", chosen.target.name)),
        }
    }
    for operation in operations(&rules, arguments)? {
        let spec = library.operation(&operation.set, &operation.operation);
        let name = format!("{} {}", operation.set, operation.operation);
        let spec = spec.ok_or_else(|| Error::usage(format!("the library has no `{}`", name.escape_debug())))?;
        let variant = spec.variant(operation.variant.as_deref());
        let variant = variant.ok_or_else(|| Error::wrong(format!("`{name}` has no such variant")))?;
        let network = context.elaborate(&variant.network.to_string(), &[])?;
        for (bytes, targets) in &sizes {
            let strings = referee::strings(&lengths, &operation.set);
            let work = Work { spec, variant, network: &network, strings, message: noise(*bytes, 3) };
            let part = one(context, arguments, &work, targets)?;
            measured.rows.extend(part.rows);
            measured.verdicts.extend(part.verdicts);
        }
    }
    Ok(measured)
}

/// How one operation does in the language of one target.
pub struct Speed {
    /// The target.
    pub target: &'static Target,
    /// What its language is compiled or run by, what comes of the message, and the seconds that it takes; or why there is nothing.
    pub made: Result<(String, Vec<u8>, f64), String>,
}

/// Builds an operation in the language of every target that can be measured and is found here, and runs it on a message in the
/// default variant, or in that of the rules. The best of some turns counts.
///
/// # Errors
///
/// The rules or the network of the operation are wrong.
pub fn speeds(context: &mut Context, spec: &OperationSpec, strings: Strings, message: &[u8]) -> Outcome<Vec<Speed>> {
    let rules = rules()?;
    let is_it = |rule: &&OperationRule| rule.set == spec.set && rule.operation == spec.name;
    let named = rules.operations.iter().find(is_it).and_then(|rule| rule.variant.as_deref());
    let variant = spec.variant(named).or(spec.variant(None));
    let variant = variant.ok_or_else(|| Error::wrong(format!("`{}` has no variant", spec.full_name())))?;
    let network = context.elaborate(&variant.network.to_string(), &[])?;
    let work = Work { spec, variant, network: &network, strings, message: message.to_vec() };
    let mut speeds = Vec::new();
    for target in headrace_targets::ALL {
        let (Some(contender), Some(toolchain)) = (target.contender, target.toolchains.first()) else { continue };
        context.terminal.status(&format!("building {} for {}", work.name(), target.name));
        let made = toolchains::find(toolchain, None, itself().as_deref()).and_then(|found| {
            let entry = ours(&work, target, &contender, &found, true, WARM_SECONDS).map_err(|(_, why)| why)?;
            let mut entries = [entry];
            let result = entries[0].side.result().ok_or("a run fails")?;
            let times = turns(&mut entries, TURNS);
            let seconds = times.first().filter(|times| !times.seconds.is_empty()).ok_or("a run fails")?;
            Ok((version(&found), result, least(&seconds.seconds)))
        });
        speeds.push(Speed { target, made });
    }
    Ok(speeds)
}

/// Lengths of messages, each with the targets that are measured with it.
fn sizes<'c, 'r>(targets: &'c [Chosen<'r>], arguments: &BenchArgs) -> BTreeMap<usize, Vec<&'c Chosen<'r>>> {
    let mut sizes: BTreeMap<usize, Vec<&Chosen>> = BTreeMap::new();
    let named: Vec<usize> = arguments.sizes.iter().filter_map(|size| usize::try_from(*size).ok()).collect();
    for chosen in targets {
        let own = [chosen.rule.bytes.unwrap_or(BYTES)];
        for size in if named.is_empty() { &own[..] } else { &named } {
            sizes.entry(*size).or_default().push(chosen);
        }
    }
    sizes
}

/// The targets that are named, else all that have rules.
fn chosen<'r>(rules: &'r TargetRules, arguments: &BenchArgs) -> Outcome<Vec<Chosen<'r>>> {
    let named = &arguments.targets;
    let has = |name: &String| rules.targets.contains_key(name);
    if let Some(unknown) = named.iter().find(|name| !has(name)) {
        let known: Vec<&str> = rules.targets.keys().map(String::as_str).collect();
        let unknown = unknown.escape_debug();
        return Err(Error::usage(format!("`{unknown}` is not measured; there are {}", known.join(", "))));
    }
    let mut targets = Vec::new();
    for target in headrace_targets::ALL {
        let (Some(contender), Some(rule)) = (target.contender, rules.targets.get(target.name)) else { continue };
        if !named.is_empty() && !named.iter().any(|name| name == target.name) {
            continue;
        }
        let found = match target.toolchains.first() {
            Some(toolchain) => toolchains::find(toolchain, None, itself().as_deref()),
            None => Err("nothing builds its projects".into()),
        };
        if let (Err(why), false) = (&found, named.is_empty()) {
            return Err(Error::missing(why.clone()));
        }
        let candidates = if arguments.compilers.is_empty() { &rule.c } else { &arguments.compilers };
        let c = candidates.iter().find(|name| Compiler::named(name).is_some()).cloned();
        targets.push(Chosen { target, contender, rule, found, c });
    }
    Ok(targets)
}

/// The operations that are named, else those of the rules.
fn operations(rules: &TargetRules, arguments: &BenchArgs) -> Outcome<Vec<OperationRule>> {
    if arguments.operations.is_empty() {
        return Ok(rules.operations.clone());
    }
    let rule = |named: &String| {
        let (set, operation) = named.trim().split_once(' ').ok_or_else(|| {
            Error::usage(format!("`{}` is not a parameter set and an operation", named.escape_debug()))
        })?;
        let known =
            rules.operations.iter().find(|rule| (rule.set.as_str(), rule.operation.as_str()) == (set, operation));
        let other = OperationRule { set: set.into(), operation: operation.into(), variant: None };
        Ok(known.cloned().unwrap_or(other))
    };
    arguments.operations.iter().map(rule).collect()
}

/// What came of one who was to take part.
type Attempt = Result<Times, (Status, String)>;

/// One operation with one message.
fn one(context: &mut Context, arguments: &BenchArgs, work: &Work, targets: &[&Chosen]) -> Outcome<Measured> {
    let name = work.name();
    let warm = f64::from(arguments.warm);
    let mut entries: Vec<Entry> = Vec::new();
    let mut absent: Vec<(Who, Status, String)> = Vec::new();
    for Chosen { target, contender, rule, found, .. } in targets {
        context.terminal.status(&format!("building {name} for {}", target.name));
        let who = Who::Ours(target.name);
        match found {
            Err(why) => absent.push((who, Status::NotMeasured, why.clone())),
            Ok(found) => match ours(work, target, contender, found, !arguments.unfused, warm) {
                Ok(entry) => entries.push(entry),
                Err((status, why)) => absent.push((who, status, why)),
            },
        }
        for peer in &rule.peers {
            match theirs(work, target.name, peer, warm) {
                Ok(entry) => entries.push(entry),
                Err(why) => absent.push((Who::Theirs(target.name, peer.title.clone()), Status::NotMeasured, why)),
            }
        }
    }
    let mut compilers: Vec<String> = targets.iter().filter_map(|chosen| chosen.c.clone()).collect();
    compilers.sort_unstable();
    compilers.dedup();
    if entries.is_empty() {
        // Of no interest then.
        let why = "nothing to compare it with";
        let c = |compiler: &String| Who::C { compiler: compiler.clone(), plain: true };
        absent.extend(compilers.iter().map(|compiler| (c(compiler), Status::NotMeasured, why.to_owned())));
    } else {
        context.terminal.status(&format!("compiling {name} in C"));
        // Ours in C is what the others are compared with, and comes first.
        entries.splice(..0, c_sides(context, work, &compilers, !arguments.unfused)?);
    }
    let judged = compare(work, &mut entries, &mut absent).map_err(Error::wrong)?;
    context.terminal.status(&format!("measuring {name} over {} bytes", work.message.len()));
    let times = turns(&mut entries, arguments.pairs as usize);
    for (entry, times) in entries.iter().zip(&times) {
        if times.seconds.is_empty() {
            absent.push((entry.who.clone(), Status::Error, "a run fails".into()));
        }
    }
    let mut measured = Measured::default();
    for (entry, times) in entries.iter().zip(&times).filter(|(_, times)| !times.seconds.is_empty()) {
        let variant = match &entry.who {
            Who::C { plain: true, .. } => format!("{}, plain", work.variant.name),
            Who::Theirs(..) => "library".into(),
            _ => work.variant.name.clone(),
        };
        let subject = Subject {
            primitive: work.spec.set.clone(),
            operation: work.spec.name.clone(),
            variant,
            implementation: entry.implementation.clone(),
            engine: entry.engine.clone(),
            bytes: work.message.len() as u64,
            verified: Some(judged.clone()),
        };
        measured.rows.push(Row::of_times(subject, times, 1));
    }
    let attempt = |who: &Who| -> Option<(String, Attempt)> {
        if let Some((_, status, why)) = absent.iter().find(|(other, ..)| other == who) {
            let title = match who {
                Who::Theirs(_, title) => title.clone(),
                Who::C { compiler, .. } => format!("c by {compiler}"),
                Who::Ours(_) => String::new(),
            };
            // Of several lines, which no table has room for, one is made.
            let words: Vec<&str> = why.split_whitespace().collect();
            return Some((title, Err((*status, words.join(" ")))));
        }
        let (entry, times) = entries.iter().zip(&times).find(|(entry, _)| entry.who == *who)?;
        let is_theirs = matches!(who, Who::Theirs(..));
        let name = if is_theirs { &entry.implementation } else { &entry.engine };
        Some((name.clone(), Ok(times.clone())))
    };
    for Chosen { target, rule, c, .. } in targets {
        let Some((engine, own)) = attempt(&Who::Ours(target.name)) else { continue };
        let blank = Blank { work, target: target.name, variant: format!("{}, {engine}", work.variant.name) };
        if let Some(compiler) = c {
            let plain = attempt(&Who::C { compiler: compiler.clone(), plain: true });
            let best = attempt(&Who::C { compiler: compiler.clone(), plain: false });
            measured.verdicts.extend(plain.map(|plain| blank.beside_c(&own, plain, best, rule)));
        }
        for peer in &rule.peers {
            let other = attempt(&Who::Theirs(target.name, peer.title.clone()));
            measured.verdicts.extend(other.map(|other| blank.beside_peer(&own, other, peer)));
        }
    }
    Ok(measured)
}

/// Every side on the core of this thread, in turn.
fn turns(entries: &mut [Entry], pairs: usize) -> Vec<Times> {
    if let Some(core) = cycles::pin() {
        for entry in entries.iter() {
            if let Side::Program(program) = &entry.side {
                program.pin(core);
            }
        }
    }
    let mut sides: Vec<&mut Side> = entries.iter_mut().map(|entry| &mut entry.side).collect();
    let times = hold_sides(&mut sides, pairs);
    cycles::unpin();
    times
}

/// Compares what comes of the message with what our C makes of it, and our C with the interpreter on a short message. Says
/// what was compared; those who differ take no part any more.
fn compare(work: &Work, entries: &mut Vec<Entry>, absent: &mut Vec<(Who, Status, String)>) -> Result<String, String> {
    let Some(first) = entries.first_mut() else { return Ok(String::new()) };
    let expected = first.side.result().ok_or("our C fails")?;
    if first.of_short(work, JUDGED_BYTES)? != judged(work)? {
        return Err(format!("{}: our C differs from the interpreter", work.name()));
    }
    let mut names = Vec::new();
    entries.retain_mut(|entry| {
        let result = entry.side.result();
        let is_equal = result.as_ref() == Some(&expected);
        if is_equal {
            names.push(entry.name());
        } else {
            let why = if result.is_none() { "a run fails" } else { "the output differs from that of our C" };
            absent.push((entry.who.clone(), Status::Error, why.into()));
        }
        is_equal
    });
    Ok(format!("equal outputs: {}; the interpreter's on a short message", names.join(", ")))
}

/// What the interpreter makes of the first bytes of the message.
fn judged(work: &Work) -> Result<Vec<u8>, String> {
    let Work { spec, network, .. } = work;
    let interpreter = Interpreter::new((*network).clone(), headrace_interp::Options::default());
    let interpreter = interpreter.map_err(|problems| headrace::primitive::messages(&problems))?;
    let mut message = Message::new().with(Role::Input, work.message[..JUDGED_BYTES.min(work.message.len())].to_vec());
    for (role, bytes) in [(Role::Key, &work.strings.key), (Role::Iv, &work.strings.iv), (Role::Nonce, &work.strings.iv)]
    {
        if spec.input(role).is_some() {
            message.set(role, bytes.clone());
        }
    }
    let made = Runner::new(spec, network, Box::new(interpreter)).perform(&CallInput::Message(message));
    let made = made.map_err(|_| "the interpreter does not process the message")?;
    let Answer::Message(Processed::Accepted(strings)) = made else { return Err("the message is refused".into()) };
    let string = strings.into_iter().find(|(role, _)| matches!(role, Role::Output | Role::Tag));
    string.map(|(_, bytes)| bytes).ok_or_else(|| "no string comes out".into())
}

/// What is said of a target, before it is said.
struct Blank<'b> {
    work: &'b Work<'b>,
    target: &'b str,
    variant: String,
}

impl Blank<'_> {
    /// Ours beside another: figures where both have them, else who is to blame.
    fn verdict(&self, own: &Attempt, (other, others): (String, &Attempt), against: &str) -> Verdict {
        let bytes = self.work.message.len() as f64;
        let per_byte = |attempt: &Attempt| attempt.as_ref().ok().map(|times| least(&times.cycles) / bytes);
        let ratio = match (own, others) {
            (Ok(own), Ok(others)) => Some(speed_ratio(&own.cycles, &others.cycles)),
            _ => None,
        };
        let (status, note) = match (own, others) {
            (Err((status, why)), _) => (*status, why.clone()),
            (_, Err((status, why))) => (*status, why.clone()),
            _ => (Status::Compared, String::new()),
        };
        Verdict {
            row: format!("{} beside {against}", self.target),
            primitive: self.work.spec.set.clone(),
            operation: self.work.spec.name.clone(),
            variant: self.variant.clone(),
            bytes: self.work.message.len() as u64,
            streams: 1,
            pieces: 0,
            ours: per_byte(own),
            other,
            others: per_byte(others),
            ratio,
            must: "–".into(),
            goal: "–".into(),
            status,
            note,
        }
    }

    /// The C counts that finds as many instructions as the target does; of the plain one it is said how far the best is ahead.
    fn beside_c(
        &self,
        own: &Attempt,
        plain: (String, Attempt),
        best: Option<(String, Attempt)>,
        rule: &TargetRule,
    ) -> Verdict {
        let slower = rule.slower;
        let ((engine, c), which) = match (&best, rule.finds_instructions) {
            (Some(best), true) => (best.clone(), "our C"),
            _ => (plain, "plain C"),
        };
        let mut verdict = self.verdict(own, (engine, &c), "our C");
        verdict.must = format!("≤ {slower} × the time of {which}");
        verdict.goal = format!("≤ 1 × the time of {which}");
        if let Some(ratio) = verdict.ratio {
            verdict.status = match ratio {
                ratio if ratio >= 1.0 => Status::Goal,
                ratio if ratio * slower >= 1.0 => Status::Must,
                _ => Status::Missed,
            };
        }
        if let (Ok(own), Some((_, Ok(best))), false) = (own, &best, rule.finds_instructions) {
            let times = figure(1.0 / speed_ratio(&own.cycles, &best.cycles));
            let cycles = figure(least(&best.cycles) / self.work.message.len() as f64);
            verdict.note = format!("{times} times the time of our best C here, {cycles} cycles/byte");
        }
        verdict
    }

    /// Peers without instructions for cryptography, and those of which rules say it, are marks to reach; the others are for
    /// comparison.
    fn beside_peer(&self, own: &Attempt, (title, other): (String, Attempt), peer: &TargetPeer) -> Verdict {
        let mut verdict = self.verdict(own, (title, &other), &peer.title);
        if peer.software {
            verdict.goal = "≥ 1 × this peer".into();
            if let Some(ratio) = verdict.ratio {
                verdict.status = if ratio >= 1.0 { Status::Goal } else { Status::Missed };
            }
        } else if let Some(must) = peer.must {
            let goal = peer.goal.unwrap_or(1.0);
            verdict.must = format!("≥ {must} × this peer");
            verdict.goal = format!("≥ {goal} × this peer");
            if let Some(ratio) = verdict.ratio {
                verdict.status = match ratio {
                    ratio if ratio >= goal => Status::Goal,
                    ratio if ratio >= must => Status::Must,
                    _ => Status::Missed,
                };
            }
        }
        verdict
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_target_that_takes_part_has_rules_and_every_rule_a_target() {
        let rules = rules().expect("the rules can be read");
        let takes_part = |target: &&Target| target.contender.is_some();
        let targets: BTreeSet<&str> =
            headrace_targets::ALL.iter().filter(takes_part).map(|target| target.name).collect();
        assert_eq!(targets, rules.targets.keys().map(String::as_str).collect());
    }
}
