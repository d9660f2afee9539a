//! Dependences within a clock cycle: what is computed before what, over assignments, processes, memories and instances.
//!
//! A combinational loop is a signal that depends on itself; everything else can be computed in an order, which the
//! simulator takes.

use crate::{Design, Expr, Module, SignalId, SignalKind, Stmt};
use std::collections::{BTreeMap, BTreeSet};

/// What computes signals of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Driver {
    Assign(usize),
    Process(usize),
    /// A read port of a memory.
    Read(usize, usize),
    Instance(usize),
}

/// A driver with the signals that it reads and those that it gives. Where an output of an instance depends on some of its
/// inputs only, `paths` has these.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) driver: Driver,
    pub(crate) reads: BTreeSet<SignalId>,
    pub(crate) gives: BTreeSet<SignalId>,
    pub(crate) paths: Vec<(SignalId, BTreeSet<SignalId>)>,
}

fn read_by(value: &Expr, reads: &mut BTreeSet<SignalId>) {
    value.signals(&mut |id| {
        reads.insert(id);
    });
}

fn of_block(block: &[Stmt], reads: &mut BTreeSet<SignalId>, gives: &mut BTreeSet<SignalId>) {
    for statement in block {
        statement.exprs().into_iter().for_each(|value| read_by(value, reads));
        if let Stmt::Assign(target, _) = statement {
            gives.insert(target.signal);
        }
        statement.blocks().into_iter().for_each(|block| of_block(block, reads, gives));
    }
}

/// All drivers of a module. `paths` says of the modules before it which inputs each output depends on.
pub(crate) fn nodes(module: &Module, design: &Design, paths: &[Paths]) -> Vec<Node> {
    let mut nodes = Vec::new();
    let mut push = |driver, reads: BTreeSet<SignalId>, gives: BTreeSet<SignalId>, paths| {
        // What a process itself gave before it read it.
        let reads = reads.difference(&gives).copied().collect();
        nodes.push(Node { driver, reads, gives, paths });
    };
    for (at, assign) in module.assigns.iter().enumerate() {
        let mut reads = BTreeSet::new();
        read_by(&assign.value, &mut reads);
        if reads.contains(&assign.signal) {
            // A loop of one: it stands as a path of its own, since what a driver gives it does not read.
            push(Driver::Assign(at), reads.clone(), BTreeSet::from([assign.signal]), vec![(assign.signal, reads)]);
        } else {
            push(Driver::Assign(at), reads, BTreeSet::from([assign.signal]), Vec::new());
        }
    }
    for (at, process) in module.processes.iter().enumerate() {
        let (mut reads, mut gives) = Default::default();
        of_block(&process.body, &mut reads, &mut gives);
        push(Driver::Process(at), reads, gives, Vec::new());
    }
    for (at, memory) in module.memories.iter().enumerate() {
        for (number, read) in memory.reads.iter().enumerate() {
            push(Driver::Read(at, number), BTreeSet::from([read.address]), BTreeSet::from([read.data]), Vec::new());
        }
    }
    for (at, instance) in module.instances.iter().enumerate() {
        let Some((number, inner)) = design.module(&instance.module) else { continue };
        let outside = |port: &str| instance.connections.iter().find(|one| one.port == port).map(|one| one.signal);
        let (mut reads, mut gives) = (BTreeSet::new(), BTreeSet::new());
        for (_, port) in inner.ports() {
            let Some(signal) = outside(&port.name) else { continue };
            if port.kind == SignalKind::Input {
                reads.insert(signal)
            } else {
                gives.insert(signal)
            };
        }
        let mut own = Vec::new();
        for (output, inputs) in paths.get(number).into_iter().flatten() {
            if let Some(signal) = outside(output) {
                own.push((signal, inputs.iter().filter_map(|input| outside(input)).collect()));
            }
        }
        // Both may be one signal; what counts are the paths.
        nodes.push(Node { driver: Driver::Instance(at), reads, gives, paths: own });
    }
    nodes
}

/// For each output of a module the inputs that it depends on within a cycle.
pub(crate) type Paths = BTreeMap<String, BTreeSet<String>>;

/// For each signal those that it is computed of at once.
pub(crate) fn direct(nodes: &[Node]) -> BTreeMap<SignalId, BTreeSet<SignalId>> {
    let mut all: BTreeMap<SignalId, BTreeSet<SignalId>> = BTreeMap::new();
    for node in nodes {
        if node.paths.is_empty() && !matches!(node.driver, Driver::Instance(_)) {
            for &signal in &node.gives {
                all.entry(signal).or_default().extend(&node.reads);
            }
        }
        for (signal, reads) in &node.paths {
            all.entry(*signal).or_default().extend(reads);
        }
    }
    all
}

/// Which inputs each output of a module depends on; or signals that depend on themselves.
pub(crate) fn paths(module: &Module, nodes: &[Node]) -> Result<Paths, Vec<SignalId>> {
    let direct = direct(nodes);
    let mut known: BTreeMap<SignalId, BTreeSet<SignalId>> = BTreeMap::new();
    let mut looped = Vec::new();
    for &signal in direct.keys() {
        reach(signal, &direct, &mut known, &mut Vec::new(), &mut looped);
    }
    if !looped.is_empty() {
        return Err(looped);
    }
    let name = |id: &SignalId| module.signal(*id).name.clone();
    let is_input = |id: &&SignalId| module.signal(**id).kind == SignalKind::Input;
    let outputs = module.ports().filter(|(_, port)| port.kind == SignalKind::Output);
    Ok(outputs
        .map(|(id, port)| {
            let inputs = known.get(&id).into_iter().flatten().filter(is_input).map(name).collect();
            (port.name.clone(), inputs)
        })
        .collect())
}

/// All signals that one depends on, itself left out.
fn reach(
    signal: SignalId,
    direct: &BTreeMap<SignalId, BTreeSet<SignalId>>,
    known: &mut BTreeMap<SignalId, BTreeSet<SignalId>>,
    way: &mut Vec<SignalId>,
    looped: &mut Vec<SignalId>,
) -> BTreeSet<SignalId> {
    if let Some(known) = known.get(&signal) {
        return known.clone();
    }
    if way.contains(&signal) {
        looped.push(signal);
        return BTreeSet::new();
    }
    way.push(signal);
    let mut all = BTreeSet::new();
    for &before in direct.get(&signal).into_iter().flatten() {
        all.insert(before);
        all.extend(reach(before, direct, known, way, looped));
    }
    way.pop();
    known.insert(signal, all.clone());
    all
}
