//! What was printed for the loops of a network, for readers: each way to run one, where it runs, and why it is right.

use super::loops::{Loops, PrintedUnit, Version};
use crate::c::kernel::CFunction;
use headrace_transform::kernel::Evidence;

/// A loop of an automaton as it was printed.
#[derive(Clone, Debug)]
pub struct PrintedLoop {
    /// Its number among those of the network.
    pub number: usize,
    /// Tokens of a pass, for each input port of the network.
    pub consumes: Vec<u64>,
    /// Tokens of a pass, for each output port of the network.
    pub produces: Vec<u64>,
    /// Whether passes need not wait for each other.
    pub is_independent: bool,
    /// The ways to run it, those that are taken first if they can be first.
    pub ways: Vec<PrintedWay>,
    /// The ways to run it for many messages at once.
    pub many: Vec<PrintedWay>,
}

/// A way to run passes of a loop.
#[derive(Clone, Debug)]
pub struct PrintedWay {
    /// The way: the end of the name of its function.
    pub name: String,
    /// Features that a processor must have.
    pub features: Vec<String>,
    /// How it was shown to do what the loop means.
    pub evidence: Vec<Evidence>,
}

impl PrintedWay {
    fn new(function: &CFunction, base: &str, supported: &str) -> PrintedWay {
        let name = function.name.strip_prefix(base).unwrap_or(&function.name);
        // Conditions name features as strings.
        let features = supported.split('"').skip(1).step_by(2).map(str::to_owned).collect();
        PrintedWay { name: name.trim_start_matches('_').to_owned(), features, evidence: function.evidence.clone() }
    }
}

/// What was printed.
pub(super) fn of(loops: &Loops) -> Vec<PrintedLoop> {
    let mut report = Vec::new();
    for PrintedUnit { unit, versions, arm, ways, .. } in &loops.units {
        let many = format!("{}_many", unit.base);
        let one = |version: &Version| PrintedWay::new(&version.function, &unit.base, &version.supported);
        let on_arm = |arm: &CFunction| PrintedWay {
            features: vec!["aarch64".to_owned()],
            ..PrintedWay::new(arm, &unit.base, "")
        };
        for &number in &unit.members {
            let body = loops.bodies[number];
            report.push(PrintedLoop {
                number,
                consumes: body.consumes.iter().map(|port| port.0).collect(),
                produces: body.produces.iter().map(|port| port.0).collect(),
                is_independent: body.is_independent(),
                ways: versions.iter().map(one).chain(arm.iter().map(on_arm)).collect(),
                many: ways.ways.iter().map(|way| PrintedWay::new(&way.function, &many, &way.supported)).collect(),
            });
        }
    }
    report.sort_by_key(|one| one.number);
    report
}
