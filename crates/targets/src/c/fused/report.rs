//! Optimization report of loops. What was printed for the loops of a network, for readers: each way to run one, where
//! it runs, and why it is right.

use super::loops::{Loops, ON_ARM, PrintedUnit, Variant};
use crate::c::kernel::work::Work;
use crate::c::kernel::{CFunction, Many};
use headrace_transform::kernel::Evidence;

/// A loop of an automaton as it was printed.
#[derive(Clone, Debug)]
pub struct PrintedLoop {
    /// Its number among those of the network.
    pub number: usize,
    /// Tokens of an iteration, for each input port of the network.
    pub consumes: Vec<u64>,
    /// Tokens of an iteration, for each output port of the network.
    pub produces: Vec<u64>,
    /// Whether iterations need not wait for each other.
    pub is_independent: bool,
    /// The ways to run it, those that are taken first if they can be first.
    pub ways: Vec<PrintedVariant>,
    /// The ways to run it for many messages at once.
    pub many: Vec<PrintedVariant>,
}

/// A way to run iterations of a loop.
#[derive(Clone, Debug)]
pub struct PrintedVariant {
    /// The way, which the name of its function ends in.
    pub name: String,
    /// Features that a processor must have.
    pub features: Vec<String>,
    /// How it was shown to do what the loop means.
    pub evidence: Vec<Evidence>,
    /// Cycles of an iteration, of each message where there are several, as the cost model has them: good for comparing.
    pub cycles: f64,
    /// What an iteration has to do by kind of operation, of each message where there are several.
    pub work: Work,
}

/// A way to run a loop that stands alone: a program that says how long it takes.
#[derive(Clone, Debug)]
pub struct OnTrial {
    /// The way.
    pub variant: PrintedVariant,
    /// The program: [`crate::c::kernel::trial`] has what it returns, for each message where there are several.
    pub source: String,
    /// Messages that it is for.
    pub messages: usize,
}

impl PrintedVariant {
    pub(super) fn new(function: &CFunction, way: &str, features: &[String], messages: usize) -> PrintedVariant {
        PrintedVariant {
            name: way.to_owned(),
            features: features.to_vec(),
            evidence: function.evidence.clone(),
            cycles: function.cycles / messages.max(1) as f64,
            work: match messages {
                0 | 1 => function.work.clone(),
                _ => function.work.clone().of_group(messages as f64),
            },
        }
    }
}

impl OnTrial {
    pub(super) fn of_many(way: &Many, source: String) -> OnTrial {
        let variant = PrintedVariant::new(&way.function, &way.way, way.needs.features(), way.lanes);
        OnTrial { variant, source, messages: way.lanes }
    }
}

/// What was printed.
pub(super) fn of(loops: &Loops) -> Vec<PrintedLoop> {
    let mut report = Vec::new();
    for PrintedUnit { unit, variants, arm, ways, .. } in &loops.units {
        let one = |variant: &Variant| PrintedVariant::new(&variant.function, &variant.way, variant.needs.features(), 1);
        let on_arm = |arm: &CFunction| PrintedVariant::new(arm, ON_ARM, &["aarch64".to_owned()], 1);
        for &number in &unit.members {
            let body = loops.bodies[number];
            report.push(PrintedLoop {
                number,
                consumes: body.consumes.iter().map(|port| port.0).collect(),
                produces: body.produces.iter().map(|port| port.0).collect(),
                is_independent: body.is_independent(),
                ways: variants.iter().map(one).chain(arm.iter().map(on_arm)).collect(),
                many: ways
                    .ways
                    .iter()
                    .map(|way| PrintedVariant::new(&way.function, &way.way, way.needs.features(), way.lanes))
                    .collect(),
            });
        }
    }
    report.sort_by_key(|one| one.number);
    report
}
