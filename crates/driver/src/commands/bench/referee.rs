//! The referee: operations of generated projects and of other libraries side by side, in one process, with the same
//! messages; and what the rules (`bench/peers.toml`) say of the figures.

use super::{Measured, ours};
use crate::cli::BenchArgs;
use crate::commands::Context;
use crate::failure::Outcome;
use headrace::Error;
use headrace::embedded;
use headrace::engines::c_compiler;
use headrace_bench::contender::{Prepared, Strings, TAG_BYTES};
use headrace_bench::contest::{Entrant, Inputs, Load, Times, hold, noise};
use headrace_bench::cycles;
use headrace_bench::machine;
use headrace_bench::peers::{self, Peer};
use headrace_bench::results::{Row, Subject};
use headrace_bench::rules::{RowSpec, Rules};
use headrace_bench::verdict::{self, Ours, Theirs, judge};
use headrace_library::catalog::{Library, OperationSpec};
use ours::{Build, Compiled};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::thread;

/// Sizes of a message, in bytes.
const SIZES: &[usize] = &[64, 1 << 10, 16 << 10, 1 << 20, 16 << 20];

/// Sizes at which all outputs must be equal.
const COMPARED: &[usize] = &[64, 1 << 10, 16 << 10];

/// The rules that the command carries.
pub fn rules() -> Outcome<Rules> {
    Rules::parse(include_str!("../../../../../bench/peers.toml"))
        .map_err(|problem| Error::wrong(format!("bench/peers.toml: {problem}")))
}

/// The sources of the adapters, by file name.
pub fn adapters() -> Vec<(&'static str, &'static [u8])> {
    let folder = "bench/peers/";
    embedded::below(folder).map(|(path, text)| (path.trim_start_matches(folder), text)).collect()
}

/// One operation as one row asks for it.
struct Point<'r> {
    set: &'r str,
    operation: &'r str,
    row: &'r RowSpec,
    /// Peers that must be there.
    peers: &'r [String],
    /// Peers that take part where they are there.
    also: &'r [String],
}

/// Key and initial block or nonce of a parameter set.
pub fn strings(rules: &Rules, set: &str) -> Strings {
    let lengths = rules.sets.get(set).copied().unwrap_or_default();
    Strings { key: noise(lengths.key, 1), iv: noise(lengths.iv, 2) }
}

/// All that a session of measuring keeps.
struct Referee<'c> {
    context: &'c mut Context,
    arguments: &'c BenchArgs,
    library: &'c Library,
    rules: &'c Rules,
    compilers: Vec<String>,
    peers: BTreeMap<String, Result<Peer, String>>,
    /// What was compiled, by operation, variant, compiler and flags.
    compiled: BTreeMap<String, Rc<Compiled>>,
    measured: Measured,
}

/// Measures the rows of the operations that the words name; all of them when there are none. What `earlier` has stays, and
/// `keep` gets everything after each operation of each row, so that a session that ends early loses one at most.
pub fn measure(
    context: &mut Context,
    arguments: &BenchArgs,
    words: &[String],
    earlier: Measured,
    keep: &mut dyn FnMut(&Measured) -> Outcome,
) -> Outcome<Measured> {
    let rules = rules()?;
    let library = context.library()?;
    let selected: Vec<&str> = words.iter().map(String::as_str).collect();
    let scope = library.select(&selected).map_err(|problem| Error::unknown(&problem))?;
    let in_scope = |point: &Point| scope.iter().any(|spec| spec.set == point.set && spec.name == point.operation);
    let points: Vec<Point> = points(&rules).filter(in_scope).collect();
    if points.is_empty() && !words.is_empty() {
        return Err(Error::usage(format!("no row of the referee is about `{}`", words.join(" ").escape_debug())));
    }
    let compilers = match arguments.compilers.as_slice() {
        [] => vec![c_compiler()?.name()],
        named => named.to_vec(),
    };
    let library = &library;
    let mut referee = Referee {
        context,
        arguments,
        library,
        rules: &rules,
        compilers,
        peers: BTreeMap::new(),
        compiled: BTreeMap::new(),
        measured: earlier,
    };
    let count = points.len();
    for (at, point) in points.iter().enumerate() {
        if referee.has(point) {
            continue;
        }
        referee.context.terminal.status(&format!(
            "measuring {} {} ({} of {count})",
            point.set,
            point.operation,
            at + 1
        ));
        // What this processor does not have would end the command.
        let lacks = machine::lacks(point.row.features.as_deref().unwrap_or_default());
        if !lacks.is_empty() {
            referee.leave_out(point, &format!("has no {}", lacks.join(", ")));
            keep(&referee.measured)?;
            continue;
        }
        // Compilers may use all cores, what is measured stays on one.
        let compiled = referee.compile(point)?;
        cycles::pin();
        let outcome = referee.measure(point, &compiled);
        cycles::unpin();
        outcome?;
        let found =
            referee.peers.iter().filter_map(|(name, peer)| Some((name.clone(), peer.as_ref().ok()?.title.clone())));
        referee.measured.versions = found.collect();
        keep(&referee.measured)?;
    }
    Ok(referee.measured)
}

/// Every set with every operation of every row.
fn points(rules: &Rules) -> impl Iterator<Item = Point<'_>> {
    rules.rows.iter().flat_map(|row| {
        row.measures.iter().flat_map(move |measure| {
            measure.sets.iter().flat_map(move |set| {
                measure.operations.iter().map(move |operation| Point {
                    set,
                    operation,
                    row,
                    peers: &measure.peers,
                    also: &measure.also,
                })
            })
        })
    })
}

/// The operation that a row is about.
fn operation<'l>(library: &'l Library, point: &Point) -> Outcome<&'l OperationSpec> {
    let found = library.operation(point.set, point.operation);
    found.ok_or_else(|| Error::wrong(format!("the library has no `{} {}`", point.set, point.operation)))
}

/// How the messages of a row are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// One, by one call.
    Whole,
    /// One in pieces.
    Pieces,
    /// Many by one call.
    Many,
}

impl Way {
    fn of(row: &RowSpec) -> Self {
        match (row.messages, row.pieces) {
            (1, 0) => Way::Whole,
            (1, _) => Way::Pieces,
            _ => Way::Many,
        }
    }

    /// Whether a contender can be given messages so.
    fn is_there(self, prepared: &Prepared) -> bool {
        match self {
            Way::Whole => true,
            Way::Pieces => prepared.has_pieces(),
            Way::Many => prepared.has_many(),
        }
    }

    fn words(self) -> &'static str {
        match self {
            Way::Whole => "messages",
            Way::Pieces => "messages in pieces",
            Way::Many => "messages together",
        }
    }
}

/// Who takes part in a contest.
enum Side {
    Ours(usize),
    Theirs(String),
}

impl Referee<'_> {
    /// Whether an earlier session has judged the operation for the row.
    fn has(&self, point: &Point) -> bool {
        self.measured.verdicts.iter().any(|verdict| {
            (verdict.row.as_str(), verdict.primitive.as_str(), verdict.operation.as_str())
                == (point.row.title.as_str(), point.set, point.operation)
        })
    }

    /// Judges a row that cannot be measured here; why not.
    fn leave_out(&mut self, point: &Point, why: &str) {
        let missing = vec![("this processor".to_owned(), why.to_owned())];
        let found = verdict::Measured { missing, ..verdict::Measured::default() };
        let subject = verdict::Subject { set: point.set, operation: point.operation };
        self.measured.verdicts.push(judge(point.row, subject, "", &found));
    }

    fn measure(&mut self, point: &Point, compiled: &[Rc<Compiled>]) -> Outcome {
        let spec = operation(self.library, point)?;
        let strings = strings(self.rules, point.set);
        let mut found = verdict::Measured::default();
        let mut sides = Vec::new();
        let mut prepared = Vec::new();
        let operation = format!("{} {}", point.set, point.operation);
        let way = Way::of(point.row);
        for (at, ours) in compiled.iter().enumerate() {
            match Prepared::open(&ours.object, &operation, &strings) {
                Some(opened) if way.is_there(&opened) => {
                    sides.push(Side::Ours(at));
                    prepared.push(opened);
                }
                Some(_) => found.missing.push(("headrace".into(), format!("no function for {} yet", way.words()))),
                None => found.error = Some(format!("variant {} refuses its key", ours.variant)),
            }
        }
        for name in point.peers.iter().chain(point.also) {
            let required = point.peers.contains(name);
            match self.open_peer(name, &operation, &strings, way) {
                Ok(opened) => {
                    sides.push(Side::Theirs(name.clone()));
                    prepared.push(opened);
                }
                Err(why) if required => found.missing.push((name.clone(), why)),
                Err(_) => {}
            }
        }
        found.missing.dedup();
        let mut sizes: Vec<usize> = match self.arguments.sizes.as_slice() {
            // Many messages at once, and code for other machines, are about the size of the row.
            [] if way != Way::Whole || point.peers.is_empty() => vec![point.row.bytes],
            [] => SIZES.to_vec(),
            given => given.iter().filter_map(|size| usize::try_from(*size).ok()).collect(),
        };
        sizes.retain(|size| *size != point.row.bytes);
        sizes.push(point.row.bytes);
        if let Err(problem) = self.compare(point, spec, &sides, &mut prepared, compiled) {
            found.error = Some(problem);
        }
        for bytes in sizes {
            let load = Load { bytes, messages: point.row.messages, piece: point.row.pieces };
            let (names, times) = self.contest(point, spec, load, &sides, &mut prepared, compiled)?;
            let verified = (found.error.is_none() && sides.len() > 1).then(|| format!("equal outputs: {names}"));
            self.add_rows(point, load, &sides, compiled, &times, verified.as_deref());
            if bytes == point.row.bytes {
                for (side, times) in sides.iter().zip(times) {
                    match side {
                        _ if times.seconds.is_empty() => {
                            let failed = format!("fails on {bytes} bytes");
                            match side {
                                Side::Ours(_) => {
                                    found.error = Some(format!("{} {failed}", self.side_name(side, compiled)))
                                }
                                Side::Theirs(name) if point.peers.contains(name) => {
                                    found.missing.push((name.clone(), failed))
                                }
                                Side::Theirs(_) => {}
                            }
                        }
                        Side::Ours(at) => found.ours.push(Ours {
                            variant: compiled[*at].variant.clone(),
                            engine: compiled[*at].engine.clone(),
                            constant_time: compiled[*at].constant_time,
                            times,
                        }),
                        Side::Theirs(name) => {
                            let Some(Ok(peer)) = self.peers.get(name) else { continue };
                            let (title, bound) = (peer.title.clone(), peer.bound);
                            found.peers.push(Theirs { name: name.clone(), title, bound, times });
                        }
                    }
                }
            }
        }
        let first = spec.variants.first().map_or("", |variant| variant.name.as_str());
        let subject = verdict::Subject { set: point.set, operation: point.operation };
        self.measured.verdicts.push(judge(point.row, subject, first, &found));
        Ok(())
    }

    /// Every variant, by every compiler; those that no row before has needed are compiled at the same time.
    fn compile(&mut self, point: &Point) -> Outcome<Vec<Rc<Compiled>>> {
        let library = self.library;
        let spec = operation(library, point)?;
        let mut wanted = Vec::new();
        let mut generated = Vec::new();
        for compiler in &self.compilers {
            let BenchArgs { unfused, tune, .. } = *self.arguments;
            let features = point.row.features.clone();
            let mut build = Build { features, fused: !unfused, tuned: tune, ..Build::native(compiler) };
            if !point.row.flags.is_empty() {
                build.flags.clone_from(&point.row.flags);
            }
            for variant in spec.variants.iter().filter(|variant| variant.constant_time || !point.row.constant_time) {
                let key = format!("{} {} {build:?}", spec.full_name(), variant.network);
                if !self.compiled.contains_key(&key) {
                    generated.push((key.clone(), ours::generate(self.context, spec, variant, &build)?));
                }
                wanted.push(key);
            }
        }
        let compiled: Vec<_> = thread::scope(|scope| {
            let running: Vec<_> =
                generated.into_iter().map(|(key, project)| (key, scope.spawn(move || project.compile()))).collect();
            running.into_iter().map(|(key, thread)| (key, thread.join())).collect()
        });
        for (key, made) in compiled {
            let made = made.map_err(|_| Error::wrong("a thread that ran a compiler ended"))?;
            self.compiled.insert(key, Rc::new(made.map_err(Error::wrong)?));
        }
        Ok(wanted.iter().filter_map(|key| self.compiled.get(key).map(Rc::clone)).collect())
    }

    fn open_peer(&mut self, name: &str, operation: &str, strings: &Strings, way: Way) -> Result<Prepared, String> {
        let spec = self.rules.peers.get(name).ok_or("not in the rules")?;
        let found = self.peers.entry(name.to_owned()).or_insert_with(|| peers::find(name, spec, &adapters()));
        let peer = found.as_ref().map_err(|why| format!("{why} ({})", spec.get))?;
        let opened = Prepared::open(&peer.object, operation, strings);
        let opened = opened.ok_or_else(|| format!("{} has no `{operation}`", peer.title))?;
        if !way.is_there(&opened) {
            return Err(format!("{} takes no {}", peer.title, way.words()));
        }
        Ok(opened)
    }

    /// The messages of a load: noise, or what the inverse operation makes of noise, so that it is accepted.
    fn messages(&mut self, point: &Point, spec: &OperationSpec, load: Load) -> Outcome<Vec<Vec<u8>>> {
        let wants_made = spec.verifies || point.operation == "decode";
        let Some(inverse) = spec.inverse.as_deref().filter(|_| wants_made) else {
            return Ok((0..load.messages).map(|at| noise(load.bytes, 3 + at as u64)).collect());
        };
        let operation = format!("{} {inverse}", point.set);
        let strings = strings(self.rules, point.set);
        let names: Vec<String> = point.peers.iter().chain(point.also).cloned().collect();
        for name in names {
            let Ok(mut opened) = self.open_peer(&name, &operation, &strings, Way::Whole) else { continue };
            // Text of so many characters is made of fewer bytes.
            let plain = if point.operation == "decode" { load.bytes / 4 * 3 } else { load.bytes };
            let made = (0..load.messages).map(|at| {
                let inputs = Inputs::new(&[noise(plain, 3 + at as u64)]);
                let mut output = vec![0; 2 * load.bytes + 2 * TAG_BYTES + 64];
                let n = opened.run(inputs.first(plain)?, &mut output)?;
                output.truncate(n);
                Some(output)
            });
            if let Some(made) = made.collect() {
                return Ok(made);
            }
        }
        Err(Error::wrong(format!("nobody here can make messages for `{} {}`", point.set, point.operation)))
    }

    fn entrants(&self, prepared: &mut Vec<Prepared>, load: Load) -> Vec<Entrant> {
        prepared.drain(..).map(|one| Entrant::new(one, 2 * load.bytes + TAG_BYTES, load.messages)).collect()
    }

    /// Holds all outputs against each other.
    fn compare(
        &mut self,
        point: &Point,
        spec: &OperationSpec,
        sides: &[Side],
        prepared: &mut Vec<Prepared>,
        compiled: &[Rc<Compiled>],
    ) -> Result<(), String> {
        let bounds: Vec<bool> = sides.iter().map(|side| self.is_bound(side)).collect();
        for bytes in COMPARED {
            let load = Load { bytes: *bytes, messages: point.row.messages, piece: point.row.pieces };
            let messages = self.messages(point, spec, load).map_err(|error| error.to_string())?;
            let input = Load { bytes: messages.first().map_or(0, Vec::len), ..load };
            let inputs = Inputs::new(&messages);
            let mut entrants = self.entrants(prepared, load);
            let results: Vec<Option<Vec<Vec<u8>>>> =
                entrants.iter_mut().map(|entrant| entrant.results(&inputs, input)).collect();
            prepared.extend(entrants.into_iter().map(|entrant| entrant.prepared));
            let counted = || results.iter().zip(sides).zip(&bounds).filter(|(_, bound)| !**bound).map(|(pair, _)| pair);
            let Some(first) = counted().find_map(|(result, _)| result.as_ref()) else { continue };
            for (result, side) in counted() {
                let name = self.side_name(side, compiled);
                match result {
                    None => return Err(format!("{name} fails on {bytes} bytes")),
                    Some(result) if result != first => {
                        let (against, _) = counted()
                            .next()
                            .map_or(("the first".into(), 0), |(_, side)| (self.side_name(side, compiled), 0));
                        return Err(format!("outputs differ on {bytes} bytes: {name} and {against}"));
                    }
                    Some(_) => {}
                }
            }
        }
        Ok(())
    }

    fn is_bound(&self, side: &Side) -> bool {
        matches!(side, Side::Theirs(name) if self.rules.peers.get(name).is_some_and(|peer| peer.bound))
    }

    fn side_name(&self, side: &Side, compiled: &[Rc<Compiled>]) -> String {
        match side {
            Side::Ours(at) => format!("headrace {}", compiled[*at].variant),
            Side::Theirs(name) => match self.peers.get(name) {
                Some(Ok(peer)) => peer.title.clone(),
                _ => name.clone(),
            },
        }
    }

    /// Lets all take turns. Gives the names of who took part, and their times.
    fn contest(
        &mut self,
        point: &Point,
        spec: &OperationSpec,
        load: Load,
        sides: &[Side],
        prepared: &mut Vec<Prepared>,
        compiled: &[Rc<Compiled>],
    ) -> Outcome<(String, Vec<Times>)> {
        let messages = self.messages(point, spec, load)?;
        let input = Load { bytes: messages.first().map_or(0, Vec::len), ..load };
        let inputs = Inputs::new(&messages);
        let mut entrants = self.entrants(prepared, load);
        let times = hold(&mut entrants, &inputs, input, self.arguments.pairs as usize);
        prepared.extend(entrants.into_iter().map(|entrant| entrant.prepared));
        let counted = sides.iter().filter(|side| !self.is_bound(side));
        let names: Vec<String> = counted.map(|side| self.side_name(side, compiled)).collect();
        Ok((names.join(", "), times))
    }

    fn add_rows(
        &mut self,
        point: &Point,
        load: Load,
        sides: &[Side],
        compiled: &[Rc<Compiled>],
        times: &[Times],
        verified: Option<&str>,
    ) {
        let streams = u32::try_from(load.messages).unwrap_or(u32::MAX);
        for (side, times) in sides.iter().zip(times).filter(|(_, times)| !times.seconds.is_empty()) {
            let (variant, implementation, engine) = match side {
                Side::Ours(at) => {
                    let ours = &compiled[*at];
                    (ours.variant.clone(), "headrace".to_owned(), ours.engine.clone())
                }
                Side::Theirs(_) if self.is_bound(side) => {
                    ("bound".into(), self.side_name(side, compiled), "native".into())
                }
                Side::Theirs(_) => ("library".into(), self.side_name(side, compiled), "native".into()),
            };
            let subject = Subject {
                primitive: point.set.into(),
                operation: point.operation.into(),
                variant,
                implementation,
                engine,
                bytes: load.bytes as u64,
                verified: verified.filter(|_| !self.is_bound(side)).map(str::to_owned),
            };
            let row = Row { pieces: load.piece as u64, ..Row::of_times(subject, times, streams) };
            // Rows of the rules may ask for the same measurement.
            let same = |other: &Row| {
                (&other.primitive, &other.operation, &other.variant, &other.implementation, &other.engine)
                    == (&row.primitive, &row.operation, &row.variant, &row.implementation, &row.engine)
                    && (other.bytes, other.streams, other.pieces) == (row.bytes, row.streams, row.pieces)
            };
            if !self.measured.rows.iter().any(same) {
                self.measured.rows.push(row);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Colour;
    use crate::terminal::Terminal;
    use headrace::Workspace;
    use headrace_library::Role;

    #[test]
    fn every_row_is_about_operations_of_the_library_with_strings_of_legal_lengths() {
        let mut context = Context::new(Terminal::new(Colour::Never), Workspace::default());
        let library = context.library().expect("the library can be read");
        let rules = rules().expect("the rules can be read");
        let mut seen = 0;
        for point in points(&rules) {
            let spec = library.operation(point.set, point.operation);
            let spec = spec.unwrap_or_else(|| panic!("{} {}", point.set, point.operation));
            let strings = strings(&rules, point.set);
            for (role, bytes) in [(Role::Key, strings.key), (Role::Iv, strings.iv.clone()), (Role::Nonce, strings.iv)] {
                if let Some(port) = spec.input(role) {
                    assert!(port.sizes.allows(bytes.len() as u64), "{}: {role:?}", spec.full_name());
                }
            }
            for variant in [&point.row.variant, &point.row.must.variant].into_iter().flatten() {
                assert!(spec.variant(Some(variant)).is_some(), "{}: {variant}", spec.full_name());
            }
            seen += 1;
        }
        assert!(seen > 50);
    }
}
