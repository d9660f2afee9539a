//! Code generation for size. Networks as small C, for microcontrollers: each instance is a function that fires once, and a loop
//! calls them until nothing fires any more.
//!
//! There is no automaton beside it and no ring: a FIFO is an array with a count, as long as it ever gets, and lies on
//! the stack of the call where it is empty whenever the network rests. Strings that come in whole are read where the
//! caller has them, and what comes out goes to where the caller wants it. Operations of one project share what is the
//! same in their networks: actors, and, where their contexts are alike, the functions of instances.
//!
//! | file | what is settled there |
//! | --- | --- |
//! | `fifos` | where the tokens of each connection lie |
//! | `layout` | the context and the buffers of operations that share them |
//! | `firing` | the function of an instance |

mod fifos;
mod firing;
mod layout;

use super::functions::Definition;
use super::inlined;
use super::network::{ActorText, actor_functions, actor_init, has_init};
use super::plan::{Plan, Tables};
use super::text::{Fixed, Name, Text, joined, text};
use super::{Options, PlaceTable, names::Names};
pub(crate) use fifos::{Fifo, Lies, Place};
use headrace_analysis::topology;
use headrace_ir::{Actor, Endpoint, Network};
use headrace_library::catalog::OperationSpec;
use headrace_source::Diagnostic;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::RefCell;
use std::collections::hash_map::Entry;
use std::fmt::Write as _;

/// The context of an operation, in its functions.
pub(crate) const CONTEXT: Fixed = Fixed("c");

/// The buffers of a call.
pub(crate) const FLOW: Fixed = Fixed("f");

/// What a FIFO held while typical messages went through its network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fill {
    /// The most tokens at once.
    pub most: u64,
    /// The most tokens while the network rested: between the calls of its user.
    pub at_rest: u64,
}

/// What was in a network while typical messages went through it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// Of each FIFO, in the order of the connections.
    pub fifos: Vec<Fill>,
    /// The most bytes of a message that had gone in and not come out between two calls.
    pub held_back: u64,
}

/// Who lets networks run to see what their FIFOs hold.
pub trait Fills: std::fmt::Debug + Send + Sync {
    /// What the network of an operation holds if its functions are called with typical messages in any pieces.
    ///
    /// # Errors
    ///
    /// Why that cannot be told, as a sentence without a full stop.
    fn of_operation(&self, spec: &OperationSpec, network: &Network) -> Result<Occupancy, String>;
}

/// Which ports of a network the functions of an operation leave out of account, by their positions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ports {
    /// Input ports whose tokens are bytes that the caller has in one piece.
    pub(crate) strings: Vec<usize>,
    /// One of them whose bytes are read before output goes where they lie, and how many bytes may come out beyond those
    /// that a call gives: those that the network held back before.
    pub(crate) in_place: Option<(usize, u64)>,
    /// Output ports of which nobody wants the tokens.
    pub(crate) dropped: Vec<usize>,
}

/// A network to print.
pub(crate) struct Member<'a> {
    /// Beginning of the names of its functions.
    pub(crate) prefix: String,
    pub(crate) network: &'a Network,
    pub(crate) fills: Vec<Fill>,
    pub(crate) ports: Ports,
}

/// A printed network: `PREFIX_init`, and `PREFIX_run`, which gives whether all that was given has been taken.
pub(crate) struct PrintedMember {
    /// The type of its context; that of the buffers of a call ends in `_flow`.
    pub(crate) context: String,
    /// Where the tokens of each connection lie.
    pub(crate) fifos: Vec<Fifo>,
    /// Bytes of the stack that the buffers of a call take.
    pub(crate) flow_bytes: u64,
}

/// Printed networks.
pub(crate) struct PrintedSmall {
    /// Types.
    pub(crate) declarations: String,
    /// Definitions.
    pub(crate) definitions: String,
    pub(crate) members: Vec<PrintedMember>,
}

/// An estimate of how long a network gets as small C, in no unit.
pub fn estimate(network: &Network) -> usize {
    const INSTANCE: usize = 40;
    let actors: usize = network.actors.iter().map(inlined::size).sum();
    actors + INSTANCE * network.instances.len()
}

/// Prints the networks of the operations of a project; names of types and shared functions begin with `prefix`.
pub(crate) fn print(
    members: &[Member<'_>],
    prefix: &str,
    options: &Options,
    places: &RefCell<PlaceTable>,
    diagnostics: &RefCell<Vec<Diagnostic>>,
) -> PrintedSmall {
    let mut names = Names::default();
    for taken in ["network", "flow"] {
        names.fresh(&format!("{prefix}_{taken}"));
    }
    let mut tables = Tables::default();
    let (actors, numbers) = distinct(members);
    let mut plans = Vec::new();
    let mut texts = Vec::new();
    for actor in &actors {
        let short = actor.class.rsplit('.').next().unwrap_or(&actor.class);
        let actor_prefix = names.fresh_actor(&format!("{prefix}_{short}"));
        let mut plan = Plan::new(actor, options, actor_prefix, places, diagnostics, &mut names, &mut tables);
        texts.push(actor_functions(actor, &mut plan, &mut names));
        plans.push(plan);
    }
    let layouts = layout::lay_out(members, &numbers, &plans, prefix);
    let mut declarations = String::new();
    plans.iter().for_each(|plan| declarations.push_str(&layout::actor_types(plan)));
    layouts.groups.iter().for_each(|group| declarations.push_str(&group.text));
    let mut printer =
        Printer { plans: &plans, texts: &texts, names, known: FxHashMap::default(), fired: Vec::new(), diagnostics };
    let mut runs = String::new();
    let mut printed = Vec::new();
    for (at, member) in members.iter().enumerate() {
        let own = &layouts.members[at];
        let calls = printer.instances(member, &numbers[at], own, &layouts.groups[own.group].name);
        let group = &layouts.groups[own.group];
        runs.push_str(&run(member, &numbers[at], &plans, own, &group.name, &calls));
        printed.push(PrintedMember {
            context: group.name.clone(),
            fifos: own.fifos.clone(),
            flow_bytes: group.flow_bytes,
        });
    }
    let (mut definitions, names_used) = shared_functions(&texts, &printer.fired);
    plans.iter().for_each(|plan| definitions.push_str(&actor_init(plan)));
    definitions.push_str(&runs);
    let definitions = tables.named(&names_used) + &definitions;
    PrintedSmall { declarations, definitions, members: printed }
}

/// The functions of actors that others call, and those; what several actors have word for word, as they do what they
/// import, is there once. With every name in them.
fn shared_functions(texts: &[ActorText], fired: &[(Name, firing::Definition)]) -> (String, FxHashSet<Name>) {
    let called: FxHashSet<Name> = fired.iter().flat_map(|(_, definition)| definition.names()).cloned().collect();
    let mut known: FxHashMap<(String, Definition), Name> = FxHashMap::default();
    let mut renamed: FxHashMap<Name, Name> = FxHashMap::default();
    let mut names_used = FxHashSet::default();
    let mut out = String::new();
    for text in texts {
        for function in text.functions.called(&called) {
            // Callees have come before, so that their names are what they will be.
            let own = function.definition.renamed(&renamed);
            let nameless = own.renamed(&FxHashMap::from_iter([(function.name.clone(), Name::default())]));
            match known.entry((function.comment.clone(), nameless)) {
                Entry::Occupied(entry) => drop(renamed.insert(function.name.clone(), entry.get().clone())),
                Entry::Vacant(entry) => {
                    entry.insert(function.name.clone());
                    names_used.extend(own.names().cloned());
                    let _ = write!(out, "{}{own}", function.comment);
                }
            }
        }
    }
    for (name, definition) in fired {
        let definition = definition.renamed(&renamed);
        names_used.extend(definition.names().cloned());
        let _ = write!(out, "static bool {name}{definition}");
    }
    (out, names_used)
}

/// The different actors of all networks, and for each network the numbers of its actors among them.
fn distinct<'a>(members: &'a [Member<'_>]) -> (Vec<&'a Actor>, Vec<Vec<usize>>) {
    let mut actors: Vec<&Actor> = Vec::new();
    let mut numbers = Vec::new();
    for member in members {
        let mut own = Vec::new();
        for actor in &member.network.actors {
            let known = actors.iter().position(|known| *known == actor);
            own.push(known.unwrap_or(actors.len()));
            if known.is_none() {
                actors.push(actor);
            }
        }
        numbers.push(own);
    }
    (actors, numbers)
}

struct Printer<'p> {
    plans: &'p [Plan<'p>],
    texts: &'p [ActorText],
    names: Names,
    /// Functions by all of their definitions but the name.
    known: FxHashMap<firing::Definition, Name>,
    /// The same in their order.
    fired: Vec<(Name, firing::Definition)>,
    diagnostics: &'p RefCell<Vec<Diagnostic>>,
}

impl Printer<'_> {
    /// Prints the functions of the instances of a network; gives for each instance the call of its own.
    fn instances(
        &mut self,
        member: &Member<'_>,
        numbers: &[usize],
        layout: &layout::MemberLayout,
        context: &str,
    ) -> Vec<String> {
        let wirings: Vec<firing::Wiring> = (0..member.network.instances.len())
            .map(|at| firing::Wiring::of(member.network, at, &layout.fifos))
            .collect();
        let mut calls = Vec::new();
        for (at, instance) in member.network.instances.iter().enumerate() {
            let actor = numbers[instance.actor.index()];
            let (plan, text) = (&self.plans[actor], &self.texts[actor]);
            // Several instances that are wired alike have one function, which is told where their tokens lie.
            let alike = wirings
                .iter()
                .zip(&member.network.instances)
                .filter(|(other, also)| also.actor == instance.actor && other.is_like(&wirings[at]));
            let shared = alike.count() > 1;
            let place = layout.instances[at].as_ref().map(|field| text![CONTEXT, "->", field]);
            let function = firing::function(&wirings[at], plan, text, context, place.as_ref(), shared);
            if function.uses_control {
                self.diagnostics.borrow_mut().push(
                    Diagnostic::error(
                        "unsupported-by-target",
                        format!(
                            "`{}` calls natives, prints or calls itself, which small C does not have",
                            instance.name
                        ),
                    )
                    .at(instance.span, "of this instance"),
                );
            }
            let name = match self.known.get(&function.definition) {
                Some(name) => name.clone(),
                None => {
                    let like = if shared { &plan.prefix } else { &instance.name };
                    let base = if shared { format!("{like}_fire") } else { format!("{context}_fire_{like}") };
                    let name = Name::from(self.names.fresh(&base));
                    self.fired.push((name.clone(), function.definition.clone()));
                    self.known.insert(function.definition, name.clone());
                    name
                }
            };
            calls.push(format!("{name}({})", function.arguments));
        }
        calls
    }
}

/// `PREFIX_init` and `PREFIX_run` of a network.
fn run(
    member: &Member<'_>,
    numbers: &[usize],
    plans: &[Plan<'_>],
    layout: &layout::MemberLayout,
    context: &str,
    calls: &[String],
) -> String {
    let Member { network, prefix, .. } = member;
    let mut out = format!("static void {prefix}_init(struct {context} *c) {{\n    memset(c, 0, sizeof *c);\n");
    for (instance, field) in network.instances.iter().zip(&layout.instances) {
        let plan = &plans[numbers[instance.actor.index()]];
        if let Some(field) = field.as_ref().filter(|_| has_init(plan)) {
            let _ = writeln!(out, "    {}_init(&c->{field});", plan.prefix);
        }
    }
    let _ = writeln!(
        out,
        "}}\n\n/* Fires as long as anything can. Gives whether what was given has been taken. */\nstatic bool {prefix}_run(struct {context} *c, struct {context}_flow *f) {{\n    bool again;\n    do {{\n        again = false;"
    );
    layout.fifos.iter().filter_map(Fifo::refill).for_each(|refill| out.push_str(&refill));
    // One firing of each after the other: who reads has its turn before what is written piles up.
    let order = topology::sources_first(network);
    let mut left = order.as_slice();
    while let [first, rest @ ..] = left {
        let reads_parts = layout.fifos.iter().any(|fifo| {
            fifo.is_right_aligned() && matches!(fifo.target, Endpoint::Instance(reader, _) if reader.index() == *first)
        });
        if !reads_parts {
            let _ = writeln!(out, "        again |= {};", calls[*first]);
            left = rest;
            continue;
        }
        // It fires several times for each firing before it, and so do those behind it: a loop of their own.
        let behind = behind(network, *first);
        let n = 1 + rest.iter().take_while(|at| behind.contains(at)).count();
        let (inner, others) = left.split_at(n);
        out.push_str("        for (bool more = true; more; again |= more) {\n            more = false;\n");
        inner.iter().for_each(|at| {
            let _ = writeln!(out, "            more |= {};", calls[*at]);
        });
        out.push_str("        }\n");
        left = others;
    }
    let passing = layout.fifos.iter().filter(|fifo| fifo.place() == Some(Place::Passing)).map(Fifo::count);
    let windows = layout.fifos.iter().flat_map(|fifo| {
        let given = fifo.is_input_window().then(|| fifo.count());
        given.into_iter().chain(fifo.window().map(|window| text![window, ".n"]))
    });
    let (passing, windows): (Vec<Text>, Vec<Text>) = (passing.collect(), windows.collect());
    let rests = if passing.len() > MOST_COUNTS {
        // They lie one after the other, and what others have among them is not used.
        let sum = if windows.is_empty() { String::new() } else { format!("({}) == 0 && ", joined(&windows, " | ")) };
        format!("{sum}!hr_small_any(&f->n, sizeof f->n)")
    } else {
        let all: Vec<Text> = passing.into_iter().chain(windows).collect();
        format!("({}) == 0", if all.is_empty() { text!["0"] } else { joined(&all, " | ") })
    };
    let _ = writeln!(out, "    }} while (again);\n    return {rests};\n}}\n");
    out
}

/// The instances that tokens of one get to, itself left out where no way leads back.
fn behind(network: &Network, from: usize) -> FxHashSet<usize> {
    let mut known = FxHashSet::default();
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        for connection in &network.connections {
            if let (Endpoint::Instance(source, _), Endpoint::Instance(target, _)) =
                (connection.source, connection.target)
                && source.index() == at
                && known.insert(target.index())
            {
                open.push(target.index());
            }
        }
    }
    known
}

/// The most counts that are read one by one: for more, a loop is shorter.
const MOST_COUNTS: usize = 8;
