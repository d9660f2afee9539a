//! Data-flow transfer functions of actions and statements: how values come into variables.

use super::slots::{Contents, Slot, Store, View, add};
use super::{ActorFlow, Decides, Dependence, Edge, Node, NodeId, Origin, Place, Scope};
use crate::effects::{self, Effects, written};
use headrace_ir::{
    Action, ActionId, Actor, Argument, Expr, Local, LocalId, LocalKind, OutputValue, ProcedureId, Root, Stmt, StmtKind,
    VariableId,
};
use headrace_source::Span;
use std::collections::BTreeSet;

/// Calls that nest deeper are not followed.
const MAX_CALL_DEPTH: usize = 64;

/// An actor with more nodes than this has its further calls not followed.
const MAX_NODES: usize = 1 << 21;

/// Sub-lists longer than this are not copied element by element.
const MAX_ELEMENTS: usize = 256;

/// The locals of an action or of a call.
struct Frame {
    scope: Scope,
    locals: Vec<View>,
}

/// Makes the graph of an actor.
pub(super) struct Builder<'a> {
    pub(super) actor: &'a Actor,
    pub(super) store: Store,
    flow: ActorFlow,
    effects: Vec<Effects>,
    frames: Vec<Frame>,
}

/// The graph of an actor.
pub(super) fn build(actor: &Actor) -> ActorFlow {
    let mut flow = ActorFlow {
        n_variables: actor.variables.len(),
        n_inputs: actor.inputs.len(),
        n_outputs: actor.outputs.len(),
        ..ActorFlow::default()
    };
    let ids = |len: usize| (0..len as u32).map(VariableId);
    flow.nodes.extend(
        ids(actor.variables.len())
            .zip(&actor.variables)
            .map(|(id, variable)| Node { origin: Origin::Variable(id), span: variable.span }),
    );
    flow.nodes
        .extend(actor.inputs.iter().enumerate().map(|(at, port)| Node { origin: Origin::Input(at), span: port.span }));
    flow.nodes.extend(
        actor.outputs.iter().enumerate().map(|(at, port)| Node { origin: Origin::Output(at), span: port.span }),
    );
    flow.nodes.push(Node { origin: Origin::State, span: actor.span });
    let actions = (0..).map(ActionId).zip(&actor.actions);
    flow.nodes.extend(actions.map(|(id, action)| Node { origin: Origin::Choice(id), span: action.span }));
    let effects = effects::of_procedures(actor);
    let mut builder = Builder { actor, store: Store::default(), flow, effects, frames: Vec::new() };
    for (at, action) in actor.initializers.iter().enumerate() {
        builder.action(action, Scope::Initializer(at), None);
    }
    for (id, action) in (0..).map(ActionId).zip(&actor.actions) {
        let choice = builder.flow.choice(id);
        builder.action(action, Scope::Action(id), Some(choice));
    }
    builder.schedule();
    builder.flow
}

impl Builder<'_> {
    fn node(&mut self, origin: Origin, span: Span) -> NodeId {
        self.flow.nodes.push(Node { origin, span });
        (self.flow.nodes.len() - 1) as NodeId
    }

    fn edge(&mut self, from: NodeId, to: NodeId, dependence: Dependence) {
        if from != to {
            self.flow.edges.push(Edge { from, to, dependence });
        }
    }

    /// A node that is computed from others; none when it is computed from nothing.
    fn computed(&mut self, origin: Origin, span: Span, from: &[NodeId]) -> Option<NodeId> {
        if from.is_empty() {
            return None;
        }
        let node = self.node(origin, span);
        from.iter().for_each(|&from| self.edge(from, node, Dependence::Data));
        Some(node)
    }

    /// Records that values decide something.
    pub(super) fn place(&mut self, decides: Decides, span: Span, nodes: Vec<NodeId>) {
        if let Some(frame) = self.frames.first().filter(|_| !nodes.is_empty()) {
            self.flow.places.push(Place { decides, span, scope: frame.scope, nodes });
        }
    }

    /// A variable as a whole.
    pub(super) fn root(&self, root: Root) -> View {
        match (root, self.frames.last()) {
            (Root::Local(local), Some(frame)) => frame.locals[local.index()].clone(),
            (Root::Actor(VariableId(at)) | Root::Local(LocalId(at)), _) => View {
                slot: at as usize,
                start: Some(0),
                index: Vec::new(),
                dims: self.actor.variables[at as usize].ty.dims.clone(),
            },
        }
    }

    fn local(&mut self, scope: Scope, id: LocalId, local: &Local, contents: Contents) -> View {
        let slot = Slot { origin: Origin::Local(scope, id), len: local.ty.len() };
        let slot = self.store.push(slot, contents);
        View { slot, start: Some(0), index: Vec::new(), dims: local.ty.dims.clone() }
    }

    fn action(&mut self, action: &Action, scope: Scope, choice: Option<NodeId>) {
        self.store = Store::default();
        for (id, variable) in (0..).map(VariableId).zip(&self.actor.variables) {
            let contents = Contents::of(variable.mutable.then(|| self.flow.variable(id)));
            self.store.push(Slot { origin: Origin::Assigned(id), len: variable.ty.len() }, contents);
        }
        let mut locals = Vec::new();
        for (id, local) in (0..).map(LocalId).zip(&action.locals) {
            let mut contents = Contents::default();
            if local.kind == LocalKind::Pattern
                && let Some(pattern) = action.consumes.iter().find(|pattern| pattern.locals.contains(&id))
            {
                let input = self.flow.input(pattern.port);
                contents = Contents::of(self.computed(Origin::Local(scope, id), action.span, &[input]));
            }
            locals.push(self.local(scope, id, local, contents));
        }
        self.frames = vec![Frame { scope, locals }];
        self.statements(&action.guard.before);
        for condition in &action.guard.conditions {
            let nodes = self.expr(condition);
            choice.iter().for_each(|&choice| nodes.iter().for_each(|&node| self.edge(node, choice, Dependence::Data)));
            self.place(Decides::Choice, condition.span, nodes);
        }
        self.statements(&action.body);
        for output in &action.produces {
            let port = self.flow.output(output.port);
            for value in &output.values {
                let nodes = match value {
                    OutputValue::Scalar(value) => self.expr(value),
                    OutputValue::List { place, .. } => {
                        let view = self.view(place);
                        self.read(&view)
                    }
                };
                nodes.iter().for_each(|&node| self.edge(node, port, Dependence::Data));
            }
            choice.iter().for_each(|&choice| self.edge(choice, port, Dependence::Control));
        }
        for (id, variable) in (0..).map(VariableId).zip(&self.actor.variables) {
            let node = self.flow.variable(id);
            let contents = std::mem::take(&mut self.store.contents[id.index()]);
            if variable.mutable && contents != Contents::of(Some(node)) {
                contents.all().for_each(|from| self.edge(from, node, Dependence::Data));
                choice.iter().for_each(|&choice| self.edge(choice, node, Dependence::Control));
            }
        }
        self.frames.clear();
    }

    /// What the order of tests and the states decide.
    fn schedule(&mut self) {
        let actor = self.actor;
        let state = self.flow.state();
        for entry in &actor.schedule.states {
            for (at, test) in entry.tests.iter().enumerate() {
                let choice = self.flow.choice(test.action);
                for earlier in &entry.tests[..at] {
                    let earlier = self.flow.choice(earlier.action);
                    self.edge(earlier, choice, Dependence::Control);
                }
                if actor.schedule.states.len() > 1 {
                    self.edge(state, choice, Dependence::Control);
                }
                if entry.tests.iter().any(|other| other.next != test.next) {
                    self.edge(choice, state, Dependence::Control);
                }
            }
        }
    }

    fn statements(&mut self, statements: &[Stmt]) {
        statements.iter().for_each(|statement| self.statement(statement));
    }

    fn statement(&mut self, statement: &Stmt) {
        let span = statement.span;
        match &statement.kind {
            StmtKind::Assign(place, value) => {
                let nodes = self.expr(value);
                let known = self.constant(value);
                let view = self.view(place);
                self.assign(&view, &nodes, span);
                if self.store.slots[view.slot].len == 1 {
                    self.store.contents[view.slot].known = known;
                }
            }
            StmtKind::Copy { target, source, .. } => {
                let (source, target) = (self.view(source), self.view(target));
                self.copy(&target, &source, span);
            }
            StmtKind::If(condition, then, otherwise) => self.branch(condition, then, otherwise, span),
            StmtKind::While { before, condition, body } => {
                let slots = self.written(&[before, body]);
                let joins = self.join_loop(&slots, span);
                self.statements(before);
                let nodes = self.expr(condition);
                self.place(Decides::Loop, condition.span, nodes.clone());
                let decides = self.computed(Origin::Condition, condition.span, &nodes);
                self.decide(decides, &joins);
                let at_exit: Vec<Contents> = slots.iter().map(|&slot| self.store.contents[slot].clone()).collect();
                self.statements(body);
                self.close_loop(&joins);
                for (slot, contents) in slots.into_iter().zip(at_exit) {
                    self.store.contents[slot] = contents;
                }
            }
            StmtKind::Foreach { variable, low, high, body } => self.foreach(*variable, [low, high], body, span),
            StmtKind::Call { result, procedure, arguments } => {
                let nodes = self.call(*procedure, arguments, span);
                if let Some(local) = result {
                    let view = self.root(Root::Local(*local));
                    self.assign(&view, &nodes, span);
                }
            }
            StmtKind::CallNative { result, arguments, .. } => {
                let nodes = self.opaque(arguments, None, span);
                if let Some(local) = result {
                    let view = self.root(Root::Local(*local));
                    self.assign(&view, &nodes, span);
                }
            }
            StmtKind::Print { pieces, .. } => pieces.iter().for_each(|piece| {
                self.expr(&piece.value);
            }),
        }
    }

    /// Stores a scalar, or the same nodes throughout a list.
    fn assign(&mut self, view: &View, nodes: &[NodeId], span: Span) {
        let Slot { origin, len } = self.store.slots[view.slot];
        let mut nodes = nodes.to_vec();
        add(&mut nodes, view.index.iter().copied());
        let size: usize = view.dims.iter().map(|&size| size as usize).product();
        match view.start {
            Some(0) if size >= len => {
                self.store.contents[view.slot] = Contents::of(self.computed(origin, span, &nodes));
            }
            Some(start) if size <= MAX_ELEMENTS => {
                let node = self.computed(origin, span, &nodes);
                self.store.contents[view.slot].elements.extend((start..start + size).map(|at| (at, node)));
            }
            _ => {
                add(&mut nodes, self.store.contents[view.slot].all());
                let joined = self.computed(origin, span, &nodes);
                self.store.contents[view.slot] = Contents::of(joined);
            }
        }
    }

    fn copy(&mut self, target: &View, source: &View, span: Span) {
        let size: usize = source.dims.iter().map(|&size| size as usize).product();
        let is_whole = target.start == Some(0) && size >= self.store.slots[target.slot].len;
        let Some(from) = source.start.filter(|_| is_whole && source.index.is_empty()) else {
            let nodes = self.read(source);
            let view = View { dims: source.dims.clone(), ..target.clone() };
            return self.assign(&view, &nodes, span);
        };
        let contents = self.store.contents[source.slot].clone();
        let origin = self.store.slots[target.slot].origin;
        let whole: Vec<NodeId> = contents.whole.into_iter().collect();
        let mut copied = Contents::of(self.computed(origin, span, &whole));
        copied.elements = contents.elements.range(from..from + size).map(|(at, node)| (at - from, *node)).collect();
        self.store.contents[target.slot] = copied;
    }

    /// The variables that statements may write.
    fn written(&self, parts: &[&[Stmt]]) -> BTreeSet<usize> {
        let mut slots = BTreeSet::new();
        for part in parts {
            written(part, &self.effects, &mut |root| {
                slots.insert(self.root(root).slot);
            });
        }
        slots
    }

    fn branch(&mut self, condition: &Expr, then: &[Stmt], otherwise: &[Stmt], span: Span) {
        if let Some(known) = self.constant(condition) {
            return self.statements(if known == headrace_ir::Int::ZERO { otherwise } else { then });
        }
        let nodes = self.expr(condition);
        self.place(Decides::Branch, condition.span, nodes.clone());
        let decides = self.computed(Origin::Condition, condition.span, &nodes);
        let slots = self.written(&[then, otherwise]);
        let before: Vec<Contents> = slots.iter().map(|&slot| self.store.contents[slot].clone()).collect();
        self.statements(then);
        let mut after_then = Vec::new();
        for (&slot, contents) in slots.iter().zip(before) {
            after_then.push(std::mem::replace(&mut self.store.contents[slot], contents));
        }
        self.statements(otherwise);
        for (slot, one) in slots.into_iter().zip(after_then) {
            let other = std::mem::take(&mut self.store.contents[slot]);
            self.store.contents[slot] = self.either(slot, &one, &other, decides, span);
        }
    }

    /// What is in a variable after one or the other branch.
    fn either(
        &mut self,
        slot: usize,
        one: &Contents,
        other: &Contents,
        decides: Option<NodeId>,
        span: Span,
    ) -> Contents {
        if one == other && one.known.is_some() {
            return one.clone();
        }
        let origin = self.store.slots[slot].origin;
        let mut join = |a: Option<NodeId>, b: Option<NodeId>| {
            if a == b && a.is_some() {
                return a;
            }
            let mut nodes: Vec<NodeId> = a.into_iter().collect();
            add(&mut nodes, b);
            if nodes.is_empty() && decides.is_none() {
                return None;
            }
            let node = self.node(origin, span);
            nodes.into_iter().for_each(|from| self.edge(from, node, Dependence::Data));
            decides.into_iter().for_each(|decides| self.edge(decides, node, Dependence::Control));
            Some(node)
        };
        let keys: BTreeSet<usize> = one.elements.keys().chain(other.elements.keys()).copied().collect();
        let elements = keys.into_iter().map(|at| (at, join(one.element(at), other.element(at)))).collect();
        Contents { whole: join(one.whole, other.whole), elements, known: None }
    }

    fn foreach(&mut self, variable: LocalId, bounds: [&Expr; 2], body: &[Stmt], span: Span) {
        let low = self.expr(bounds[0]);
        self.place(Decides::Loop, bounds[0].span, low.clone());
        let high = self.expr(bounds[1]);
        self.place(Decides::Loop, bounds[1].span, high.clone());
        let mut nodes = low.clone();
        add(&mut nodes, high);
        let decides = self.computed(Origin::Condition, bounds[1].span, &nodes);
        let counter = self.root(Root::Local(variable));
        self.assign(&counter, &low, span);
        let mut slots = self.written(&[body]);
        let is_assigned = !slots.insert(counter.slot);
        let joins = self.join_loop(&slots, span);
        self.decide(decides, &joins);
        if is_assigned {
            let nodes = self.read(&counter);
            self.place(Decides::Loop, span, nodes);
        }
        self.statements(body);
        self.close_loop(&joins);
        for (slot, node) in joins {
            self.store.contents[slot] = Contents::of(Some(node));
        }
    }

    /// A node for each variable at the head of a loop.
    fn join_loop(&mut self, slots: &BTreeSet<usize>, span: Span) -> Vec<(usize, NodeId)> {
        let mut joins = Vec::new();
        for &slot in slots {
            let node = self.node(self.store.slots[slot].origin, span);
            let contents = std::mem::replace(&mut self.store.contents[slot], Contents::of(Some(node)));
            contents.all().for_each(|from| self.edge(from, node, Dependence::Data));
            joins.push((slot, node));
        }
        joins
    }

    fn close_loop(&mut self, joins: &[(usize, NodeId)]) {
        for &(slot, node) in joins {
            let contents = self.store.contents[slot].clone();
            contents.all().for_each(|from| self.edge(from, node, Dependence::Data));
        }
    }

    fn decide(&mut self, decides: Option<NodeId>, joins: &[(usize, NodeId)]) {
        if let Some(decides) = decides {
            joins.iter().for_each(|&(_, node)| self.edge(decides, node, Dependence::Control));
        }
    }

    /// The nodes of the result of a call.
    pub(super) fn call(&mut self, id: ProcedureId, arguments: &[Argument], span: Span) -> Vec<NodeId> {
        if self.frames.len() > MAX_CALL_DEPTH || self.flow.nodes.len() > MAX_NODES {
            return self.opaque(arguments, Some(id), span);
        }
        let actor = self.actor;
        let procedure = &actor.procedures[id.index()];
        let scope = Scope::Procedure(id);
        let height = self.store.slots.len();
        let mut locals = Vec::new();
        for (local, argument) in (0..).map(LocalId).zip(arguments) {
            locals.push(match argument {
                Argument::List(place) => self.view(place),
                Argument::Value(value) => {
                    let nodes = self.expr(value);
                    let mut contents = Contents::of(self.computed(Origin::Local(scope, local), value.span, &nodes));
                    contents.known = self.constant(value);
                    self.local(scope, local, &procedure.locals[local.index()], contents)
                }
            });
        }
        for (id, local) in (0..).map(LocalId).zip(&procedure.locals).skip(arguments.len()) {
            let view = self.local(scope, id, local, Contents::default());
            locals.push(view);
        }
        self.frames.push(Frame { scope, locals });
        self.statements(&procedure.body);
        let nodes = procedure.result.as_ref().map_or_else(Vec::new, |(_, value)| self.expr(value));
        self.frames.pop();
        self.store.truncate(height);
        nodes
    }

    /// A call that is not followed: its result and all that it may write depend on all that it is given.
    fn opaque(&mut self, arguments: &[Argument], procedure: Option<ProcedureId>, span: Span) -> Vec<NodeId> {
        let effects = procedure.map(|id| self.effects[id.index()].clone());
        let mut nodes = Vec::new();
        let mut targets = Vec::new();
        for (at, argument) in arguments.iter().enumerate() {
            let more = match argument {
                Argument::Value(value) => self.expr(value),
                Argument::List(place) => {
                    let view = self.view(place);
                    let nodes = self.read(&view);
                    if effects.as_ref().is_none_or(|effects| effects.parameters.contains(&at)) {
                        targets.push(view);
                    }
                    nodes
                }
            };
            add(&mut nodes, more);
        }
        if let Some(effects) = effects {
            for (id, variable) in (0..).map(VariableId).zip(&self.actor.variables) {
                if variable.mutable {
                    add(&mut nodes, self.store.contents[id.index()].all());
                }
            }
            targets.extend(effects.variables.iter().map(|&variable| self.root(Root::Actor(variable))));
            self.place(Decides::Unknown, span, nodes.clone());
        }
        for target in targets {
            self.assign(&target, &nodes, span);
        }
        nodes
    }
}
