//! Which variables and FIFOs carry control: what a state of the automaton may know.
//!
//! A value is control if it may reach a guard or the bounds of a loop, through any number of assignments and FIFOs. That a
//! value is data costs nothing but a state that knows less.

use headrace_ir::{
    Action, Actor, Argument, Endpoint, Expr, ExprKind, InstanceId, LocalId, Network, OutputValue, Place, Root, Stmt,
    StmtKind,
};
use std::collections::HashSet;

/// Control variables and FIFOs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tracked {
    /// For each instance, whether each variable is control.
    pub variables: Vec<Vec<bool>>,
    /// Whether the tokens of each connection are control.
    pub connections: Vec<bool>,
}

/// A name inside of one action or procedure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Name {
    Actor(usize),
    /// Body (actions, initialisers, then procedures) and local.
    Local(usize, LocalId),
}

impl Tracked {
    /// Finds them by going backwards from guards and loop bounds until nothing is added.
    pub fn of(network: &Network) -> Tracked {
        let mut tracked = Tracked {
            variables: network
                .instances
                .iter()
                .map(|instance| vec![false; network.actors[instance.actor.index()].variables.len()])
                .collect(),
            connections: vec![false; network.connections.len()],
        };
        loop {
            let mut changed = false;
            for instance in 0..network.instances.len() {
                changed |= tracked.instance(network, instance);
            }
            if !changed {
                return tracked;
            }
        }
    }

    fn instance(&mut self, network: &Network, instance: usize) -> bool {
        let actor = network.actor_of(InstanceId(instance as u32));
        let mut flow = Flow { actor, control: HashSet::new(), changed: true };
        for (at, _) in self.variables[instance].iter().enumerate().filter(|(_, control)| **control) {
            flow.control.insert(Name::Actor(at));
        }
        // Outputs that lead to control.
        let leads = |port: usize| {
            network.connections.iter().enumerate().any(|(at, connection)| {
                connection.source == Endpoint::Instance(InstanceId(instance as u32), port) && self.connections[at]
            })
        };
        let control_ports: Vec<bool> = (0..actor.outputs.len()).map(leads).collect();
        let actions: Vec<&Action> = actor.actions.iter().chain(&actor.initializers).collect();
        while flow.changed {
            flow.changed = false;
            for (body, action) in actions.iter().enumerate() {
                flow.statements(body, &action.guard.before);
                for condition in &action.guard.conditions {
                    flow.reads(body, condition);
                }
                flow.statements(body, &action.body);
                for output in action.produces.iter().filter(|output| control_ports[output.port]) {
                    for value in &output.values {
                        match value {
                            OutputValue::Scalar(expr) => flow.reads(body, expr),
                            OutputValue::List { place, .. } => flow.reads_place(body, place),
                        }
                    }
                }
            }
            for (at, procedure) in actor.procedures.iter().enumerate() {
                flow.statements(actions.len() + at, &procedure.body);
            }
        }
        let mut changed = false;
        for name in &flow.control {
            if let Name::Actor(at) = *name {
                let control = &mut self.variables[instance][at];
                changed |= !*control;
                *control = true;
            }
        }
        for (body, action) in actions.iter().enumerate() {
            for pattern in &action.consumes {
                if pattern.locals.iter().any(|&local| flow.control.contains(&Name::Local(body, local))) {
                    let target = Endpoint::Instance(InstanceId(instance as u32), pattern.port);
                    for (at, connection) in network.connections.iter().enumerate() {
                        if connection.target == target && !self.connections[at] {
                            self.connections[at] = true;
                            changed = true;
                        }
                    }
                }
            }
        }
        changed
    }
}

struct Flow<'a> {
    actor: &'a Actor,
    control: HashSet<Name>,
    changed: bool,
}

impl Flow<'_> {
    fn name(&self, body: usize, root: Root) -> Name {
        match root {
            Root::Actor(variable) => Name::Actor(variable.index()),
            Root::Local(local) => Name::Local(body, local),
        }
    }

    fn add(&mut self, name: Name) {
        self.changed |= self.control.insert(name);
    }

    fn is_control(&self, body: usize, root: Root) -> bool {
        self.control.contains(&self.name(body, root))
    }

    fn statements(&mut self, body: usize, statements: &[Stmt]) {
        // Backwards, because values flow forwards.
        for statement in statements.iter().rev() {
            match &statement.kind {
                StmtKind::Assign(place, value) => {
                    if self.is_control(body, place.root) {
                        self.reads(body, value);
                        place.indices.iter().for_each(|index| self.reads(body, index));
                    }
                }
                StmtKind::Copy { target, source, .. } => {
                    if self.is_control(body, target.root) {
                        self.reads_place(body, source);
                    }
                }
                StmtKind::If(condition, then, otherwise) => {
                    self.statements(body, then);
                    self.statements(body, otherwise);
                    if self.assigns_control(body, then) || self.assigns_control(body, otherwise) {
                        self.reads(body, condition);
                    }
                }
                StmtKind::While { before, condition, body: inner } => {
                    self.reads(body, condition);
                    self.statements(body, inner);
                    self.statements(body, before);
                }
                StmtKind::Foreach { low, high, body: inner, .. } => {
                    self.reads(body, low);
                    self.reads(body, high);
                    self.statements(body, inner);
                }
                StmtKind::Call { result, procedure, arguments } => {
                    let wanted = result.is_some_and(|local| self.is_control(body, Root::Local(local)));
                    self.call(body, procedure.index(), arguments, wanted);
                }
                StmtKind::CallNative { .. } | StmtKind::Print { .. } => {}
            }
        }
    }

    fn assigns_control(&self, body: usize, statements: &[Stmt]) -> bool {
        statements.iter().any(|statement| match &statement.kind {
            StmtKind::Assign(place, _) | StmtKind::Copy { target: place, .. } => self.is_control(body, place.root),
            StmtKind::If(_, then, otherwise) => {
                self.assigns_control(body, then) || self.assigns_control(body, otherwise)
            }
            StmtKind::While { body: inner, .. } | StmtKind::Foreach { body: inner, .. } => {
                self.assigns_control(body, inner)
            }
            StmtKind::Call { result, arguments, .. } => {
                result.is_some_and(|local| self.is_control(body, Root::Local(local)))
                    || arguments.iter().any(|argument| match argument {
                        Argument::List(place) => self.is_control(body, place.root),
                        Argument::Value(_) => false,
                    })
            }
            StmtKind::CallNative { .. } | StmtKind::Print { .. } => false,
        })
    }

    /// Arguments and parameters of a call are the same value, both ways.
    fn call(&mut self, body: usize, procedure: usize, arguments: &[Argument], wanted: bool) {
        let callee = self.actor.actions.len() + self.actor.initializers.len() + procedure;
        if wanted && let Some((_, value)) = &self.actor.procedures[procedure].result {
            self.reads(callee, value);
        }
        for (at, argument) in arguments.iter().enumerate() {
            let parameter = Name::Local(callee, LocalId(at as u32));
            match argument {
                Argument::Value(value) => {
                    if self.control.contains(&parameter) {
                        self.reads(body, value);
                    }
                }
                Argument::List(place) => {
                    if self.is_control(body, place.root) {
                        self.add(parameter);
                    }
                    if self.control.contains(&parameter) {
                        self.reads_place(body, place);
                    }
                }
            }
        }
    }

    fn reads_place(&mut self, body: usize, place: &Place) {
        let name = self.name(body, place.root);
        self.add(name);
        place.indices.iter().for_each(|index| self.reads(body, index));
    }

    fn reads(&mut self, body: usize, expr: &Expr) {
        match &expr.kind {
            ExprKind::Load(place) => self.reads_place(body, place),
            ExprKind::Negate(a)
            | ExprKind::Complement(a)
            | ExprKind::Not(a)
            | ExprKind::Wrap(_, a)
            | ExprKind::IntToReal(_, a)
            | ExprKind::RealToReal(_, a)
            | ExprKind::RealNegate(a) => self.reads(body, a),
            ExprKind::Binary(_, a, b)
            | ExprKind::ShiftLeft(_, a, b)
            | ExprKind::Compare(_, a, b)
            | ExprKind::And(a, b)
            | ExprKind::Or(a, b)
            | ExprKind::RealBinary(_, _, a, b) => {
                self.reads(body, a);
                self.reads(body, b);
            }
            ExprKind::If(c, a, b) => [c, a, b].into_iter().for_each(|part| self.reads(body, part)),
            ExprKind::Call(procedure, arguments) => self.call(body, procedure.index(), arguments, true),
            ExprKind::Concat(operands) => operands.iter().for_each(|operand| self.reads(body, &operand.value)),
            ExprKind::Int(_) | ExprKind::Bool(_) | ExprKind::Real(..) | ExprKind::String(_) => {}
        }
    }
}
