//! Regions as datapaths: a network whose control is finite and complete becomes one module, with one datapath and one control unit.
//!
//! Actors as modules pay a clock cycle for each token that an actor hands to the next. A cipher, a permutation or a compression function
//! is known whole: its control automaton says which tokens come in, what is computed of them, and what comes out. Rounds, which the
//! automaton has one after the other, are found again ([`runs`]) and done one a cycle by operators that all of them share ([`plan`]);
//! what was only kept because computing it again seemed dear is computed beside them ([`rematerialize`]).
//!
//! ```text
//!   stream ─▶ beat ─▶ cycle 0: into registers ─▶ cycles 1 to n: a round each ─▶ beat ─▶ stream
//!                     (with the last cycle of the block before)
//! ```
//!
//! | file | what is there |
//! | --- | --- |
//! | `region` | the automaton as states and tasks; what is refused |
//! | `chain` | tasks that follow each other without waiting as one |
//! | `elements`, `minimize` | elements that are always the same, states in which the same may happen |
//! | `complements` | constants of rounds that were added bit by bit |
//! | `products` | products with constants that are wires |
//! | `rematerialize` | values that are computed again instead of kept |
//! | `functions` | bitwise functions that differ from round to round, as one table |
//! | `reassociate` | sums in the order in which their terms come |
//! | `runs` | where values repeat, iteration after iteration |
//! | `estimate` | logic and levels of values, on the fabric of an FPGA |
//! | `overlap` | the next block in, when the last one goes out |
//! | `pipeline` | a task in stages, a block in each cycle |
//! | `beside` | what begins together |
//! | `plan` | operators, cycles, registers between them |
//! | `follow` | rounds of a task that are those of another one |
//! | `share` | operators that several tasks of one cycle share |
//! | `bind` | operators and registers that several tasks of more cycles use in turn |
//! | `rings` | values chosen by the cycle, in registers that turn |
//! | `decide` | conditions that are computed a cycle before |
//! | `values` | the datapath: values of a plan as logic and registers |
//! | `choose` | choices between values that have much in common |
//! | `streams` | ports: beats of several tokens made of tokens, and taken apart |
//! | `control` | states, cycles, and what starts when: the module |

mod beside;
mod bind;
mod chain;
mod choose;
mod complements;
mod control;
mod decide;
mod elements;
mod estimate;
mod follow;
mod functions;
mod minimize;
mod overlap;
mod pipeline;
mod plan;
mod products;
mod reassociate;
mod region;
mod rematerialize;
mod rings;
mod runs;
mod share;
mod streams;
mod values;

use crate::Options;
use crate::network::ModuleNames;
use bind::Binding;
use estimate::{registers, weight};
use functions::Sequence;
use headrace_ir::Network;
use headrace_kernel::NodeId;
use headrace_rtl::{Design, Module};
use plan::Plan;
use region::Region;
use std::collections::BTreeSet;

/// Logic of a region that is done in one cycle, at most, in bits: what is larger must have rounds.
const MOST_AT_ONCE: u64 = 12_000;

/// The same where a round is a task.
const MOST_IN_ROUND: u64 = 24_000;

/// Logic of a datapath, at most, in bits.
const MOST: u64 = 100_000;

/// A network that becomes a datapath, and how.
pub(crate) struct Unit {
    network: Network,
    region: Region,
    plans: Vec<Plan>,
    /// Operators that several tasks use in turn.
    binding: Binding,
    /// Tokens that are taken at once at each input port, 0 where none are,
    taken: Vec<u64>,
    /// and given at each output port.
    given: Vec<u64>,
}

impl Unit {
    /// The datapath of a network. Where what it gives decides what comes next, there is no next block when it gives the last one, and
    /// nothing to overlap.
    ///
    /// # Errors
    ///
    /// Why it is none, or not worth it, as a sentence without a full stop.
    pub(crate) fn of(network: &Network, options: &Options, is_fed_back: bool) -> Result<Self, String> {
        let region = Region::of(network)?.without_dead_stores().with_products_as_wires();
        if region.tasks.is_empty() {
            return Err("nothing in it ever fires".to_owned());
        }
        let of = |region: Region| {
            let region = region.without_dead_stores().with_merged_elements().without_copies().with_fewest_states();
            let region = region.with_whole_complements();
            Self::of_region(network, region, options, is_fed_back)
        };
        match region.chained().map(of) {
            Some(Ok(unit)) => Ok(unit),
            _ => of(region),
        }
    }

    fn of_region(network: &Network, region: Region, options: &Options, is_fed_back: bool) -> Result<Self, String> {
        let (taken, given) = control::beats(network, &region)?;
        if options.stages > 0 {
            return Self::in_stages(network, region, options.stages, (taken, given));
        }
        // Where a block cannot come in with the last round of the one before, it comes in with its own first one.
        let is_wanted = is_fed_back && options.rounds_at_entry && options.rounds_per_cycle == 1;
        let begun = is_wanted.then(|| region.with_rounds_begun()).flatten();
        let forms = begun.into_iter().chain([region]);
        let mut units = forms.map(|form| Self::of_form(form, options, is_fed_back));
        let first = units.next().unwrap_or_else(|| Err("it has no form".to_owned()));
        let (region, plans, binding) = first.or_else(|reason| units.next().unwrap_or(Err(reason)))?;
        Ok(Self { network: network.clone(), region, plans, binding, taken, given })
    }

    /// A region as it is best, with its plans and the operators that these share.
    fn of_form(region: Region, options: &Options, is_fed_back: bool) -> Result<(Region, Vec<Plan>, Binding), String> {
        let has_begun = !region.begins.is_empty();
        let (region, plans) = planned(region, options.rounds_per_cycle);
        // Tasks of several cycles overlap by themselves.
        let may_overlap = !is_fed_back && plans.iter().all(|plan| plan.last == 0);
        let overlapped = may_overlap.then(|| region.overlapped()).flatten();
        let (mut region, mut plans) = match overlapped {
            Some(region) => planned(region, options.rounds_per_cycle),
            None => with_early_sums((region, plans), options.rounds_per_cycle),
        };
        if options.rounds_per_cycle > 0 {
            bind::align(&mut region, &mut plans, options.rounds_per_cycle);
        }
        let mut region = share::shared(region, &mut plans);
        if options.rounds_per_cycle == 0 {
            region.begin_beside(&plans);
        }
        region.decide_early(&plans);
        control::check(&region, &plans)?;
        let n_loops = plans.iter().filter(|plan| plan.last > 0).count();
        let binding = Binding::of(&region.graph, &plans);
        let area = area(&region, &plans).saturating_sub(binding.saved);
        // What puts the last round out has one of its own where others may work on what just came in.
        let n_rounds = if has_begun { 2 } else { 1 };
        let (most, hint) = match (n_loops, options.rounds_per_cycle) {
            (_, 0) => (u64::MAX, ""),
            (0, _) if (0..region.tasks.len()).any(|task| region.is_round(task)) => {
                (n_rounds * MOST_IN_ROUND, ", more than a round should have")
            }
            (0, _) => (MOST_AT_ONCE, ", and no rounds were found in it"),
            _ => (MOST, ""),
        };
        if area > most {
            return Err(format!("its datapath would have {area} bits of logic{hint}"));
        }
        Ok((region, plans, binding))
    }

    /// The datapath with the task that has the most logic in so many stages.
    fn in_stages(
        network: &Network,
        region: Region,
        stages: u32,
        (taken, given): (Vec<u64>, Vec<u64>),
    ) -> Result<Self, String> {
        let mut region = region.rematerialized().unwrap_or(region);
        let mut plans = plans_of(&mut region, 0);
        let largest = (plans.iter().enumerate()).max_by_key(|(_, plan)| plan.area);
        let (task, _) = largest.ok_or("nothing in it ever fires")?;
        let own = &region.tasks[task];
        if own.produces.iter().all(|n| *n == 0) {
            return Err("what has most of its logic puts nothing out, and has no stages".to_owned());
        }
        let kept: Vec<NodeId> = own.stores.iter().map(|store| store.2).collect();
        plans[task] = Plan::pipelined(&region.graph, &own.roots(), &kept, stages);
        let late = region.tasks[task].stores.iter().find(|store| plans[task].time(&region.graph, store.2) > 0);
        if let Some((object, ..)) = late {
            let name = &region.objects[object.0 as usize].name;
            return Err(format!("a block needs what the one before leaves in `{name}`, so that it has no stages"));
        }
        region.begin_beside(&plans);
        region.decide_early(&plans);
        control::check(&region, &plans)?;
        Ok(Self { network: network.clone(), region, plans, binding: Binding::default(), taken, given })
    }

    /// For each task the tokens that it takes and gives at each port.
    pub(crate) fn rates(&self) -> impl Iterator<Item = (&[u64], &[u64])> {
        self.region.tasks.iter().map(|task| (task.consumes.as_slice(), task.produces.as_slice()))
    }

    /// Clock cycles of its longest task.
    pub(crate) fn longest(&self) -> u32 {
        self.plans.iter().map(|plan| plan.last).max().unwrap_or(0)
    }

    /// Whether what is given at an output port depends in no cycle on what comes in that cycle.
    pub(crate) fn gives_blindly(&self, port: usize) -> bool {
        let gives = |task: &usize| self.region.tasks[*task].produces[port] > 0;
        (0..self.plans.len()).filter(gives).all(|task| self.plans[task].last > 0 || self.region.is_blind(task))
    }

    /// The module under this name. `lanes` of a side (0 in, 1 out) and a port are the tokens that its stream moves at once, of the
    /// tokens of a beat, which are a multiple of them.
    /// Output ports of `direct` show what is given in the cycle in which it is.
    pub(crate) fn module(
        &self,
        name: &str,
        lanes: impl Fn(usize, usize, u64) -> u64,
        direct: &BTreeSet<usize>,
    ) -> Module {
        let mut module = control::module(self, name, &lanes, direct);
        headrace_rtl::drop_unread(&mut module);
        module
    }
}

/// The design of a network as one datapath.
///
/// # Errors
///
/// As [`Unit::of`].
pub(crate) fn lower(network: &Network, options: &Options) -> Result<Design, String> {
    let unit = Unit::of(network, options, false)?;
    let name = ModuleNames::default().fresh(network.name.rsplit('.').next().unwrap_or(&network.name));
    let module = unit.module(&name, |_, _, tokens| if options.wide_ports { tokens } else { 1 }, &BTreeSet::new());
    Ok(Design { modules: vec![module] })
}

/// The region as it is smallest, with a plan for each of its tasks.
fn planned(region: Region, unrolled: u32) -> (Region, Vec<Plan>) {
    let mut forms = vec![region];
    forms.extend(forms[0].rematerialized());
    let size = |(region, plans): &(Region, Vec<Plan>)| area(region, plans) + registers(region.held_bits());
    let with_plans = |mut region: Region| {
        let plans = plans_of(&mut region, unrolled);
        (region, plans)
    };
    // Rounds that are done one after the other by the same operators have to be alike; those that stand one behind the other may differ.
    let alike = |(region, plans): (Region, Vec<Plan>)| {
        let tasks = if unrolled > 0 { 0..region.tasks.len() } else { 0..0 };
        let all = tasks.flat_map(|task| Sequence::ALL.map(|sequence| (task, sequence)));
        all.fold((region, plans), |best, (task, sequence)| {
            let other = best.0.with_function_tables(task, sequence).map(with_plans);
            other.filter(|other| size(other) < size(&best)).unwrap_or(best)
        })
    };
    let mut all = forms.into_iter().map(|form| alike(with_plans(form)));
    let first = all.next().unwrap_or_default();
    // Of equally small ones the last.
    all.fold(first, |best, other| if size(&other) <= size(&best) { other } else { best })
}

/// The region with its sums in another order, where its rounds are shorter then.
fn with_early_sums((region, plans): (Region, Vec<Plan>), unrolled: u32) -> (Region, Vec<Plan>) {
    let Some(mut other) = region.reassociated(&plans) else { return (region, plans) };
    let others = plans_of(&mut other, unrolled);
    let longest = |plans: &[Plan]| plans.iter().map(|plan| plan.depth).max().unwrap_or(0);
    let n_cycles = |plans: &[Plan]| plans.iter().map(|plan| plan.last).collect::<Vec<_>>();
    let is_better = longest(&others) < longest(&plans)
        && n_cycles(&others) <= n_cycles(&plans)
        && 10 * area(&other, &others) <= 11 * area(&region, &plans);
    if is_better { (other, others) } else { (region, plans) }
}

/// A plan for each task. Where a round is a task, because a token says how many there are, what repeats within one is no round: it is
/// done in one cycle, unless that is too much.
fn plans_of(region: &mut Region, unrolled: u32) -> Vec<Plan> {
    let roots: Vec<Vec<NodeId>> = region.tasks.iter().map(region::Task::roots).collect();
    let has_rounds = (0..region.tasks.len()).any(|task| region.is_round(task));
    let plan = |roots: &Vec<NodeId>| {
        if has_rounds && unrolled == 1 {
            let at_once = Plan::of(&mut region.graph, roots, 0);
            if at_once.area <= MOST_IN_ROUND {
                return at_once;
            }
        }
        Plan::of(&mut region.graph, roots, unrolled as usize)
    };
    roots.iter().map(plan).collect()
}

/// The logic of all tasks; what several compute in the cycle in which they begin is there once.
fn area(region: &Region, plans: &[Plan]) -> u64 {
    let long: u64 = plans.iter().filter(|plan| plan.last > 0).map(|plan| plan.area).sum();
    let at_once = region.tasks.iter().zip(plans).filter(|(_, plan)| plan.last == 0);
    let roots = at_once.flat_map(|(task, _)| task.roots());
    long + region.graph.reachable(roots).into_iter().map(|id| weight(&region.graph, id)).sum::<u64>()
}
