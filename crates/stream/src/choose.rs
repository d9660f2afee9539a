//! Choice of a kernel: forms of a loop, places of tables, and orders of bytes in words, the one with the fewest cycles by bounds
//! that need no schedule.

use crate::kernel::{self, Kernel, Scheduling};
use crate::legalize::{NoForm, Options, legalize};
use crate::machine::Machine;
use crate::merge_tables::merge_tables;
use crate::multiply::with_multiplications;
use crate::place::{self, Choice, Placed};
use crate::trial::means_the_same;
use headrace_kernel::{Loop, ObjectId};
use headrace_transform::passes::canonicalize_loop::canonicalize_loop;
use headrace_transform::passes::split_iteration::split_iteration;
use headrace_transform::passes::tabulate::constant_tables;

/// The name of the form to which nothing was done.
pub const AS_WRITTEN: &str = "as it is";

/// A loop in one of its forms.
#[derive(Clone, Debug)]
pub struct Form {
    /// What was done to it, for readers.
    pub name: String,
    /// An iteration.
    pub body: Loop,
    /// Iterations of it that one of the loop is.
    pub per_iteration: u64,
    /// For each object of it that of the loop.
    pub objects: Vec<ObjectId>,
}

/// The forms of a loop: what iterations need, and the same in pieces, each with and without tables of bytes.
pub fn forms(body: &Loop) -> Vec<Form> {
    let own = || (body.clone(), (0..body.objects.len()).map(|at| ObjectId(at as u32)).collect());
    let (core, objects) = canonicalize_loop(body).map_or_else(own, |shape| (shape.core, shape.objects));
    let mut forms =
        vec![Form { name: AS_WRITTEN.into(), body: core.clone(), per_iteration: 1, objects: objects.clone() }];
    if let Some(split) = split_iteration(&core)
        && split.folded.is_empty()
        && split.rest.outputs.is_empty()
        && split.rest.is_independent()
    {
        let name = format!("in {} pieces", split.per_iteration);
        forms.push(Form { name, body: split.pieces, per_iteration: split.per_iteration, objects: objects.clone() });
    }
    // Not of what these make.
    for at in 0..forms.len() {
        if let Some(body) = merge_tables(&forms[at].body).filter(|body| means_the_same(&forms[at].body, body)) {
            let name = match at {
                0 => "with merged tables".into(),
                _ => format!("{}, with merged tables", forms[at].name),
            };
            forms.push(Form { name, body, ..forms[at].clone() });
        }
        if let Some(body) = constant_tables(&forms[at].body) {
            let name = match at {
                0 => "with tables of bytes".into(),
                _ => format!("{}, with tables of bytes", forms[at].name),
            };
            forms.push(Form { name, body, ..forms[at].clone() });
        }
    }
    forms
}

/// Bytes of messages that an iteration takes, or makes where it takes none.
pub fn bytes_of(body: &Loop) -> f64 {
    let bytes = |ports: &[(u64, u32)]| ports.iter().map(|&(n, bits)| n as f64 * f64::from(bits) / 8.0).sum::<f64>();
    let taken = bytes(&body.consumes);
    if taken > 0.0 { taken } else { bytes(&body.produces) }
}

/// A way to make a kernel, with what it takes at least.
#[derive(Clone, Debug)]
pub struct Way {
    /// The form of the loop.
    pub form: Form,
    /// Whether look-ups of tables that are rotations of others are rotations.
    pub shares: bool,
    /// Where tables are.
    pub choice: Choice,
    /// The code.
    pub placed: Placed,
    /// Cycles that each kind of unit asks for between iterations.
    pub bounds: Vec<usize>,
    /// The bound of recurrences.
    pub rec_mii: usize,
    /// Words of input and output streams of a record.
    pub stream_words: u64,
    /// Whether some shifts are multiplications.
    pub multiplies: bool,
}

impl Way {
    /// Whether tables are those of the program.
    pub fn is_as_written(&self) -> bool {
        self.form.name == AS_WRITTEN && !self.shares
    }

    /// Bytes of messages of an iteration of a cluster.
    pub fn bytes(&self) -> f64 {
        bytes_of(&self.form.body)
    }

    /// Cycles between iterations at least.
    pub fn interval(&self) -> usize {
        self.bounds.iter().copied().max().unwrap_or(1).max(self.rec_mii).max(1)
    }

    /// Cycles for a byte of all clusters together, by those bounds.
    pub fn cycles_per_byte(&self, machine: &Machine) -> f64 {
        self.interval() as f64 / (f64::from(*machine.clusters) * self.bytes())
    }
}

/// The ways to make a kernel of a loop, the one with the fewest cycles first.
///
/// # Errors
///
/// Why there is none.
pub fn ways(body: &Loop, machine: &Machine, channels: bool) -> Result<Vec<Way>, NoForm> {
    let mut found: Vec<Way> = Vec::new();
    let mut why = NoForm::new("there is no way");
    let orders = machine.big_endian.as_ref().map_or(vec![true, false], |order| vec![order.value]);
    for form in forms(body) {
        // The order of bytes in words does not change what is best for tables.
        let mut best_of_first: [Option<(usize, Choice)>; 2] = [None, None];
        for (number, &big_endian) in orders.iter().enumerate() {
            let options = Options { has: machine.has(), clusters: *machine.clusters, big_endian, channels };
            let code = match legalize(&form.body, options) {
                Ok(code) => code,
                Err(reason) => {
                    why = reason;
                    continue;
                }
            };
            let shared = place::share_rotated(&code, machine.has());
            for (shares, code) in [(false, Some(code)), (true, shared)] {
                let Some(code) = code else { continue };
                let mut all_fit = false;
                for choice in Choice::all(code.tables.len(), machine) {
                    // Nothing is reached faster than what lies in a scratchpad by itself.
                    if all_fit {
                        break;
                    }
                    let best = &mut best_of_first[usize::from(shares)];
                    if number > 0 && best.is_some_and(|(_, best)| best != choice) {
                        continue;
                    }
                    match place::place(&code, machine, choice)
                        .and_then(|placed| Ok((bounds(&placed, machine)?, placed)))
                    {
                        Ok(((bounds, rec_mii), placed)) => {
                            let most = bounds.iter().copied().max().unwrap_or(1).max(rec_mii);
                            if best.is_none_or(|(least, _)| most < least) {
                                *best = Some((most, choice));
                            }
                            let words =
                                placed.code.inputs.iter().chain(&placed.code.outputs).map(|stream| stream.words);
                            let stream_words = words.map(u64::from).sum();
                            all_fit = choice.whole == placed.code.tables.len() && machine.scratchpad.is_some();
                            let way = Way {
                                form: form.clone(),
                                shares,
                                choice,
                                placed,
                                bounds,
                                rec_mii,
                                stream_words,
                                multiplies: false,
                            };
                            found.extend(multiplying(&way, machine));
                            found.push(way);
                        }
                        Err(reason) => why = reason,
                    }
                }
            }
        }
    }
    if found.is_empty() {
        return Err(why);
    }
    let key = |way: &Way| way.cycles_per_byte(machine);
    let work = |way: &Way| way.bounds.iter().sum::<usize>() as f64 / way.bytes();
    found.sort_by(|a, b| key(a).total_cmp(&key(b)).then(work(a).total_cmp(&work(b))));
    Ok(found)
}

/// The same with shifts on idle multipliers, where that is faster.
fn multiplying(way: &Way, machine: &Machine) -> Option<Way> {
    let placed = with_multiplications(&way.placed, machine, &way.bounds)?;
    let (bounds, rec_mii) = bounds(&placed, machine).ok()?;
    let made = Way { placed, bounds, rec_mii, multiplies: true, ..way.clone() };
    (made.interval() < way.interval()).then_some(made)
}

/// The bounds of units, and that of recurrences.
fn bounds(placed: &Placed, machine: &Machine) -> Result<(Vec<usize>, usize), NoForm> {
    let selected = kernel::select(placed, machine, &Default::default())?;
    let problem = kernel::problem(&selected.ops, machine, false);
    let units = problem.bounds_of_units();
    let rec_mii = kernel::bound_of_recurrences(&problem);
    Ok((units, rec_mii))
}

/// Of the bound of the next way, what is not worth compiling it for.
const ENOUGH: f64 = 1.15;

/// Ways that are compiled at most.
const MOST_COMPILED: usize = 3;

/// The kernel of the best way that can be compiled, with the way.
///
/// # Errors
///
/// Why none can be.
pub fn kernel_of(ways: &[Way], machine: &Machine, scheduling: Scheduling) -> Result<(Kernel, Way), NoForm> {
    let mut why = NoForm::new("there is no way");
    // At last one whose tables are not spread: it may take longer, and holds less at once.
    let is_simple = |way: &&Way| way.placed.places.iter().all(|place| !matches!(place, place::Place::Spread { .. }));
    let mut best: Option<(Kernel, &Way)> = None;
    let pace = |kernel: &Kernel, way: &Way| kernel.schedule.ii as f64 / way.bytes();
    for way in ways.iter().take(MOST_COMPILED).chain(ways.iter().skip(MOST_COMPILED).find(is_simple)) {
        // The others are slower even at best.
        if best
            .as_ref()
            .is_some_and(|(kernel, other)| pace(kernel, other) <= ENOUGH * way.interval() as f64 / way.bytes())
        {
            break;
        }
        match kernel::compile(&way.placed, machine, scheduling) {
            Ok(kernel) => {
                if best.as_ref().is_none_or(|(other, its)| pace(&kernel, way) < pace(other, its)) {
                    best = Some((kernel, way));
                }
            }
            Err(reason) => why = reason,
        }
    }
    if let Some((kernel, way)) = best {
        return Ok((kernel, way.clone()));
    }
    Err(why)
}
