//! What every value is computed from: the graph that the slice of control and the constant-time report both walk.
//!
//! One graph an actor, in static single assignment (Cytron et al. 1991): each assignment makes a node, and where two
//! assignments may have been the last one, a node joins them. Calls are followed at each place where they stand, so that a
//! rotation by a constant and one by a secret count are not mixed up. Example: `x := a + b; if c then x := 0 end`
//! makes the nodes `x1` (from `a` and `b`) and `x2` (data from `x1`, control from `c`).
//!
//! * *Data* edges: the value of one node is computed from that of the other, the index of a table look-up included.
//! * *Control* edges: the other node decides which assignment was the last one, how often a loop ran, or whether the
//!   action fired.
//! * *Places* are where a value decides something that shows in time: a guard, a branch, a bound, an address, …
//!
//! A list is one node, except that elements written with constant indices are kept apart until something is written
//! with another. State variables and ports are one node for all firings. An actor's graph is shared by its instances;
//! [`Network`] joins them by the FIFOs.

mod body;
mod expr;
mod slots;

use headrace_ir::{ActionId, Actor, Connection, Endpoint, InstanceId, LocalId, ProcedureId, VariableId};
use headrace_source::Span;

/// Position in [`ActorFlow::nodes`].
pub type NodeId = u32;

/// Where locals live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// An action.
    Action(ActionId),
    /// An initializer, by its position.
    Initializer(usize),
    /// A function or procedure.
    Procedure(ProcedureId),
}

/// What a node is the value of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// A state variable between firings.
    Variable(VariableId),
    /// Tokens that come at an input port.
    Input(usize),
    /// Tokens that leave by an output port.
    Output(usize),
    /// The state of the FSM.
    State,
    /// Whether an action fires.
    Choice(ActionId),
    /// A variable after an assignment inside a firing.
    Assigned(VariableId),
    /// A local after an assignment.
    Local(Scope, LocalId),
    /// The condition of a branch or a loop.
    Condition,
}

/// A value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// Of what.
    pub origin: Origin,
    /// Where it is made.
    pub span: Span,
}

/// How one value depends on another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dependence {
    /// It is computed from it.
    Data,
    /// It decides which value this is.
    Control,
}

/// A dependence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// On this.
    pub from: NodeId,
    /// Of this.
    pub to: NodeId,
    /// How.
    pub dependence: Dependence,
}

/// In which way a value shows in time at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Decides {
    /// Which action fires, and with it the rates and the next state.
    Choice,
    /// How often a loop runs.
    Loop,
    /// Which statements run.
    Branch,
    /// Which operand of `if … then … else` is evaluated.
    Conditional,
    /// Whether the right operand of `and` or `or` is evaluated.
    ShortCircuit,
    /// Whether an operand of `and` or `or` that costs next to nothing is evaluated: a compiler may make a branch of it.
    Logic,
    /// Where a list is read or written.
    Address,
    /// How long a division takes.
    Division,
    /// By how many bits is shifted: constant in time on most machines.
    Shift,
    /// Something unknown in a call that is too deep to be followed.
    Unknown,
}

/// A place where values decide something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// What they decide.
    pub decides: Decides,
    /// The expression that has the values.
    pub span: Span,
    /// The action in which it is reached.
    pub scope: Scope,
    /// The values.
    pub nodes: Vec<NodeId>,
}

/// The graph of an actor. Nodes of variables come first, then those of inputs, outputs, the state and the actions.
#[derive(Clone, Debug, Default)]
pub struct ActorFlow {
    /// Values.
    pub nodes: Vec<Node>,
    /// Dependences.
    pub edges: Vec<Edge>,
    /// Places where values decide something.
    pub places: Vec<Place>,
    n_variables: usize,
    n_inputs: usize,
    n_outputs: usize,
}

impl ActorFlow {
    /// The graph of an actor.
    pub fn of(actor: &Actor) -> Self {
        body::build(actor)
    }

    /// The node of a variable between firings.
    pub fn variable(&self, id: VariableId) -> NodeId {
        id.0
    }

    /// The node of an input port.
    pub fn input(&self, port: usize) -> NodeId {
        (self.n_variables + port) as NodeId
    }

    /// The node of an output port.
    pub fn output(&self, port: usize) -> NodeId {
        (self.n_variables + self.n_inputs + port) as NodeId
    }

    /// The node of the state of the FSM.
    pub fn state(&self) -> NodeId {
        (self.n_variables + self.n_inputs + self.n_outputs) as NodeId
    }

    /// The node of the choice of an action.
    pub fn choice(&self, action: ActionId) -> NodeId {
        self.state() + 1 + action.0
    }
}

/// A node of an instance.
pub type GlobalId = u32;

/// Nodes that follow one another, by the first of each.
#[derive(Clone, Debug, Default)]
struct Adjacency {
    first: Vec<u32>,
    links: Vec<(NodeId, Dependence)>,
}

impl Adjacency {
    fn new(n_nodes: usize, edges: &[Edge], key: impl Fn(&Edge) -> (NodeId, NodeId)) -> Self {
        let mut first = vec![0u32; n_nodes + 1];
        for edge in edges {
            first[key(edge).0 as usize + 1] += 1;
        }
        for at in 0..n_nodes {
            first[at + 1] += first[at];
        }
        let mut next = first.clone();
        let mut links = vec![(0, Dependence::Data); edges.len()];
        for edge in edges {
            let (from, to) = key(edge);
            links[next[from as usize] as usize] = (to, edge.dependence);
            next[from as usize] += 1;
        }
        Adjacency { first, links }
    }

    fn of(&self, node: NodeId) -> &[(NodeId, Dependence)] {
        &self.links[self.first[node as usize] as usize..self.first[node as usize + 1] as usize]
    }
}

/// The graph of a flat network.
pub struct Network<'a> {
    /// The network.
    pub network: &'a headrace_ir::Network,
    /// Graphs of the actors.
    pub actors: Vec<ActorFlow>,
    forward: Vec<Adjacency>,
    backward: Vec<Adjacency>,
    /// The first node of each instance; one more at the end.
    base: Vec<GlobalId>,
    /// For each port node of an instance, nodes at the other ends of its FIFOs.
    across: Vec<Vec<Vec<GlobalId>>>,
}

impl<'a> Network<'a> {
    /// The graph of a network.
    pub fn of(network: &'a headrace_ir::Network) -> Self {
        let actors: Vec<ActorFlow> = network.actors.iter().map(ActorFlow::of).collect();
        let forward =
            actors.iter().map(|flow| Adjacency::new(flow.nodes.len(), &flow.edges, |edge| (edge.from, edge.to)));
        let backward =
            actors.iter().map(|flow| Adjacency::new(flow.nodes.len(), &flow.edges, |edge| (edge.to, edge.from)));
        let (forward, backward) = (forward.collect(), backward.collect());
        let mut base = vec![0];
        let mut across = Vec::new();
        let mut next = 0;
        for instance in &network.instances {
            let flow = &actors[instance.actor.index()];
            next += flow.nodes.len() as GlobalId;
            base.push(next);
            across.push(vec![Vec::new(); flow.n_inputs + flow.n_outputs]);
        }
        let mut graph = Network { network, actors, forward, backward, base, across };
        for connection in &network.connections {
            let (source, target) = graph.ends(connection);
            for (one, other) in [(source, target), (target, source)] {
                if let (Some(one), Some(other)) = (one, other) {
                    let (instance, node) = graph.locate(one);
                    let port =
                        node as usize - graph.actors[network.instances[instance.index()].actor.index()].n_variables;
                    graph.across[instance.index()][port].push(other);
                }
            }
        }
        graph
    }

    /// Nodes in all.
    pub fn n_nodes(&self) -> usize {
        self.base.last().map_or(0, |&end| end as usize)
    }

    /// The nodes at the ends of a connection, those at the boundary left out.
    pub fn ends(&self, connection: &Connection) -> (Option<GlobalId>, Option<GlobalId>) {
        let source = match connection.source {
            Endpoint::Boundary(_) => None,
            Endpoint::Instance(instance, port) => Some(self.global(instance, self.flow_of(instance).output(port))),
        };
        let target = match connection.target {
            Endpoint::Boundary(_) => None,
            Endpoint::Instance(instance, port) => Some(self.global(instance, self.flow_of(instance).input(port))),
        };
        (source, target)
    }

    /// The graph of the actor of an instance.
    pub fn flow_of(&self, instance: InstanceId) -> &ActorFlow {
        &self.actors[self.network.instances[instance.index()].actor.index()]
    }

    /// The node of an instance, in the whole network.
    pub fn global(&self, instance: InstanceId, node: NodeId) -> GlobalId {
        self.base[instance.index()] + node
    }

    /// The instance of a node, and the node there.
    pub fn locate(&self, node: GlobalId) -> (InstanceId, NodeId) {
        let instance = self.base.partition_point(|&base| base <= node) - 1;
        (InstanceId(instance as u32), node - self.base[instance])
    }

    /// The node itself.
    pub fn node(&self, node: GlobalId) -> Node {
        let (instance, node) = self.locate(node);
        self.flow_of(instance).nodes[node as usize]
    }

    /// Nodes that depend on a node.
    pub fn dependents(&self, node: GlobalId) -> impl Iterator<Item = (GlobalId, Dependence)> + '_ {
        let (instance, local) = self.locate(node);
        let through = self.fifos(instance, local, |origin| matches!(origin, Origin::Output(_)));
        self.links(&self.forward, instance, local).chain(through)
    }

    /// Nodes that a node depends on.
    pub fn reasons(&self, node: GlobalId) -> impl Iterator<Item = (GlobalId, Dependence)> + '_ {
        let (instance, local) = self.locate(node);
        let through = self.fifos(instance, local, |origin| matches!(origin, Origin::Input(_)));
        self.links(&self.backward, instance, local).chain(through)
    }

    fn links<'s>(
        &'s self,
        all: &'s [Adjacency],
        instance: InstanceId,
        node: NodeId,
    ) -> impl Iterator<Item = (GlobalId, Dependence)> + 's {
        let base = self.base[instance.index()];
        let actor = self.network.instances[instance.index()].actor.index();
        all[actor].of(node).iter().map(move |&(node, dependence)| (base + node, dependence))
    }

    fn fifos(
        &self,
        instance: InstanceId,
        node: NodeId,
        wanted: impl Fn(Origin) -> bool,
    ) -> impl Iterator<Item = (GlobalId, Dependence)> + '_ {
        let flow = self.flow_of(instance);
        let others = if wanted(flow.nodes[node as usize].origin) {
            &self.across[instance.index()][node as usize - flow.n_variables][..]
        } else {
            &[]
        };
        others.iter().map(|&other| (other, Dependence::Data))
    }
}
