//! Partitionings of networks, as mapping files say them: which instance runs where.

use crate::network::{Connection, Endpoint, InstanceId, Network};
use crate::{Action, Actor, Stmt, StmtKind};

/// A division of the instances of a network among partitions, each of which one thread runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Mapping {
    /// Names of the partitions.
    pub partitions: Vec<String>,
    /// For each instance of the network, its partition.
    pub of: Vec<usize>,
}

impl Mapping {
    /// The mapping with `n` partitions, named `p0`, `p1`, …, and these places.
    pub fn numbered(n: usize, of: Vec<usize>) -> Mapping {
        Mapping { partitions: (0..n).map(|at| format!("p{at}")).collect(), of }
    }

    /// The partition of an instance.
    pub fn partition(&self, instance: InstanceId) -> usize {
        self.of.get(instance.index()).copied().unwrap_or(0)
    }

    /// The partition at an end of a connection; `None` at the boundary.
    pub fn at(&self, endpoint: Endpoint) -> Option<usize> {
        match endpoint {
            Endpoint::Boundary(_) => None,
            Endpoint::Instance(instance, _) => Some(self.partition(instance)),
        }
    }

    /// True when the two ends of a connection belong to different threads. The boundary belongs to none of the
    /// partitions, but to whoever feeds the network.
    pub fn crosses(&self, connection: &Connection) -> bool {
        self.at(connection.source) != self.at(connection.target)
    }

    /// Instances that act on the world outside, by printing or through natives. Their effects have an order, so all of
    /// them belong into one partition.
    pub fn acting(network: &Network) -> Vec<InstanceId> {
        let acts: Vec<bool> = network.actors.iter().map(acts_outside).collect();
        let instances = network.instances.iter().enumerate();
        instances
            .filter(|(_, instance)| acts.get(instance.actor.index()).copied().unwrap_or(false))
            .map(|(at, _)| InstanceId(at as u32))
            .collect()
    }

    /// Two instances in different partitions that both act on the world outside, if there are such.
    pub fn split_actors(&self, network: &Network) -> Option<(InstanceId, InstanceId)> {
        let acting = Mapping::acting(network);
        let (&first, rest) = acting.split_first()?;
        let other = rest.iter().find(|&&other| self.partition(other) != self.partition(first))?;
        Some((first, *other))
    }
}

/// True when something in the actor prints or calls a native.
fn acts_outside(actor: &Actor) -> bool {
    // Expressions call pure functions only.
    let in_action = |action: &Action| action.body.iter().chain(&action.guard.before).any(statement_acts);
    !actor.natives.is_empty()
        || actor.actions.iter().chain(&actor.initializers).any(in_action)
        || actor.procedures.iter().any(|procedure| procedure.body.iter().any(statement_acts))
}

fn statement_acts(statement: &Stmt) -> bool {
    match &statement.kind {
        StmtKind::Print { .. } | StmtKind::CallNative { .. } => true,
        StmtKind::If(_, yes, no) => yes.iter().chain(no).any(statement_acts),
        StmtKind::While { before, body, .. } => before.iter().chain(body).any(statement_acts),
        StmtKind::Foreach { body, .. } => body.iter().any(statement_acts),
        StmtKind::Assign(..) | StmtKind::Copy { .. } | StmtKind::Call { .. } => false,
    }
}
