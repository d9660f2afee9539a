//! Task graphs (homogeneous synchronous dataflow): a network unrolled along one message, a task for each firing.
//!
//! Which firings there are, and where each token comes from, is known once the control of a network is; what is left are
//! tasks with wires between them, each of which happens once a message. What is done to a network on its way to a machine is
//! done to this form: it stays a network of actors, each with its inputs, its computation and its outputs, and can be run
//! ([`Tasks::run`]).

use crate::values::{Id, Op, TaskId, Values};
use std::collections::{BTreeSet, HashMap};

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum From {
    /// An input port of the network.
    Outside(u32),
    /// A task that computed it or passes it on.
    Task(TaskId),
}

/// A value on its way to a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Wire {
    /// The value.
    pub value: Id,
    /// Who sends it.
    pub from: From,
}

/// A task.
#[derive(Clone, Debug)]
pub struct Task {
    /// Instance and action, with the number of the firing behind `#`, and with that of the piece behind `/`.
    pub name: String,
    /// What it does: the class of its actor and the action; those of pieces end in what was done.
    pub class: String,
    /// What it takes, in the order of its tokens.
    pub inputs: Vec<Wire>,
    /// What it gives, in the order of its tokens.
    pub outputs: Vec<Id>,
}

/// A stream that leaves the network.
#[derive(Clone, Debug)]
pub struct Stream {
    /// The output port.
    pub port: String,
    /// Its tokens.
    pub wires: Vec<Wire>,
}

/// A network as tasks.
#[derive(Clone, Debug)]
pub struct Tasks {
    /// Everything that is computed.
    pub values: Values,
    /// The tasks; wires lead from earlier to later ones.
    pub tasks: Vec<Task>,
    /// Names of the input ports.
    pub inputs: Vec<String>,
    /// What leaves.
    pub outputs: Vec<Stream>,
    /// Values that are known when the machine is loaded, such as what follows from a key that is kept; set for a run.
    pub parameters: BTreeSet<Id>,
}

impl Tasks {
    /// The values that a task computes, operands first: everything between its inputs and its outputs.
    pub fn body(&self, task: &Task) -> Vec<Id> {
        let given: BTreeSet<Id> = task.inputs.iter().map(|wire| wire.value).collect();
        self.cone(&task.outputs, &|id| given.contains(&id) || self.parameters.contains(&id))
    }

    /// The values from which others are computed, operands first, up to those where `stop` says so and constants.
    pub fn cone(&self, roots: &[Id], stop: &dyn Fn(Id) -> bool) -> Vec<Id> {
        let mut order = Vec::new();
        let mut seen = BTreeSet::new();
        let mut stack: Vec<(Id, bool)> = roots.iter().rev().map(|&id| (id, false)).collect();
        while let Some((id, is_done)) = stack.pop() {
            if is_done {
                order.push(id);
                continue;
            }
            let node = self.values.node(id);
            let is_leaf = matches!(node.op, Op::Input(..) | Op::Constant(_)) || stop(id);
            if is_leaf || !seen.insert(id) {
                continue;
            }
            stack.push((id, true));
            stack.extend(node.args.iter().rev().map(|&arg| (arg, false)));
        }
        order
    }

    /// The values that a task needs and does not compute, in the order in which it first needs them.
    pub fn needs(&self, outputs: &[Id], stop: &dyn Fn(Id) -> bool) -> Vec<Id> {
        let cone = self.cone(outputs, stop);
        let computed: BTreeSet<Id> = cone.iter().copied().collect();
        let mut needs = Vec::new();
        let mut seen = BTreeSet::new();
        let args = cone.iter().flat_map(|&id| &self.values.node(id).args);
        for &id in args.chain(outputs) {
            let is_known = self.values.constant(id).is_some() || self.parameters.contains(&id);
            if !computed.contains(&id) && !is_known && seen.insert(id) {
                needs.push(id);
            }
        }
        needs
    }

    /// Runs the tasks on tokens, and gives what leaves on each output port.
    ///
    /// # Errors
    ///
    /// Where a value is missing that a task takes, or an operation has no result.
    pub fn run(&self, inputs: &[Vec<i128>]) -> Result<Vec<Vec<i128>>, String> {
        let parameters = self.parameter_values(inputs)?;
        let mut sent: HashMap<Wire, i128> = HashMap::new();
        let fetch = |wire: &Wire, sent: &HashMap<Wire, i128>| -> Result<i128, String> {
            if let Some(&value) = parameters.get(&wire.value) {
                return Ok(value);
            }
            match (self.values.node(wire.value).op, wire.from) {
                (Op::Constant(value), _) => Ok(value),
                (Op::Input(port, at), From::Outside(from)) if port == from => {
                    let token = inputs.get(port as usize).and_then(|tokens| tokens.get(at as usize));
                    token.copied().ok_or_else(|| format!("input {port} has no token {at}"))
                }
                _ => sent.get(wire).copied().ok_or_else(|| "a value is taken from where it is not".to_owned()),
            }
        };
        for (at, task) in self.tasks.iter().enumerate() {
            let mut local: HashMap<Id, i128> = parameters.clone();
            for wire in &task.inputs {
                local.insert(wire.value, fetch(wire, &sent)?);
            }
            for id in self.body(task) {
                let value = self.compute(id, &local)?;
                local.insert(id, value);
            }
            for &id in &task.outputs {
                let value = match self.values.constant(id) {
                    Some(value) => value,
                    None => *local.get(&id).ok_or_else(|| format!("{} has no value to send", task.name))?,
                };
                sent.insert(Wire { value: id, from: From::Task(TaskId(at as u32)) }, value);
            }
        }
        self.outputs.iter().map(|stream| stream.wires.iter().map(|wire| fetch(wire, &sent)).collect()).collect()
    }

    fn compute(&self, id: Id, local: &HashMap<Id, i128>) -> Result<i128, String> {
        let node = self.values.node(id);
        let arg = |&arg: &Id| match self.values.constant(arg) {
            Some(value) => Ok(value),
            None => local.get(&arg).copied().ok_or_else(|| "an operand has not come".to_owned()),
        };
        let args: Vec<i128> = node.args.iter().map(arg).collect::<Result<_, String>>()?;
        self.values.evaluate(node.op, &args)
    }

    /// The values of the parameters for the tokens of a run.
    ///
    /// # Errors
    ///
    /// Where tokens are missing from which they follow.
    pub fn parameter_values(&self, inputs: &[Vec<i128>]) -> Result<HashMap<Id, i128>, String> {
        let roots: Vec<Id> = self.parameters.iter().copied().collect();
        let mut known: HashMap<Id, i128> = HashMap::new();
        let take = |id: Id, known: &mut HashMap<Id, i128>| -> Result<(), String> {
            if let Op::Input(port, at) = self.values.node(id).op {
                let token = inputs.get(port as usize).and_then(|tokens| tokens.get(at as usize)).copied();
                known.insert(id, token.ok_or_else(|| format!("input {port} has no token {at}"))?);
            }
            Ok(())
        };
        for &id in &roots {
            take(id, &mut known)?;
        }
        for id in self.cone(&roots, &|_| false) {
            for arg in self.values.node(id).args.clone() {
                take(arg, &mut known)?;
            }
            let value = self.compute(id, &known)?;
            known.insert(id, value);
        }
        known.retain(|id, _| self.parameters.contains(id));
        Ok(known)
    }

    /// The position of a task by its name.
    pub fn find(&self, name: &str) -> Option<TaskId> {
        self.tasks.iter().position(|task| task.name == name).map(|at| TaskId(at as u32))
    }

    /// Who takes what from each task: for each task, readers with the wire's value, in their order; the position after the
    /// last task stands for the outside.
    pub fn readers(&self) -> Vec<Vec<(usize, Id)>> {
        let mut readers = vec![Vec::new(); self.tasks.len()];
        let outside = self.outputs.iter().flat_map(|stream| &stream.wires).map(|wire| (self.tasks.len(), wire));
        let inside =
            self.tasks.iter().enumerate().flat_map(|(at, task)| task.inputs.iter().map(move |wire| (at, wire)));
        for (at, wire) in inside.chain(outside) {
            if let From::Task(from) = wire.from {
                readers[from.index()].push((at, wire.value));
            }
        }
        readers
    }
}
