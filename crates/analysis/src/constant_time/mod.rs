//! The constant-time report: where a secret shows in how long a network takes, or in what it touches.
//!
//! Forward information flow (Denning 1976) over the whole flat network, from the ports whose tokens are secret: through
//! variables, actors and FIFOs, by data and by control. Reported is every place where a secret decides a branch, the
//! bound of a loop, the choice of an action (and with it rates and states), an address in a list, or how long a
//! division takes, with the path that it came by. Shifts by secret counts, and `and` and `or` of operands that cost
//! nothing, are notes: machines and compilers differ.
//!
//! What leaves the network by a public output (a ciphertext, a tag, whether a message was verified) is no secret any more:
//! the stream that it leaves by is *declassified*, and the report says so.
//!
//! Example: `while x > 0 do n := n + 1; x := x >> 1; end` with a secret `x` takes as many rounds as `x` has bits: the
//! loop is a finding, and whatever is decided by `n` afterwards follows from it.

mod walk;

use crate::flow::{self, Decides, Origin, Place, Scope};
use headrace_ir::{Endpoint, InstanceId, Network};
use headrace_source::{Diagnostic, Severity, Span};
use std::collections::BTreeMap;
use walk::Walk;

/// Steps of a path that are shown; of a longer one those in the middle are left out.
const MAX_STEPS: usize = 10;

/// Which ports of a network carry secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Classes {
    /// For each input: whether its tokens are secret.
    pub secret_inputs: Vec<bool>,
    /// For each output: whether who measures sees its tokens anyway.
    pub public_outputs: Vec<bool>,
}

/// A step on the way of a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The instance; none at the edge of the network.
    pub instance: Option<InstanceId>,
    /// What holds the secret there: `instance.Port`, a variable.
    pub what: String,
    /// Where it gets it.
    pub span: Span,
}

/// A place where a secret decides something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it decides.
    pub decides: Decides,
    /// The expression.
    pub span: Span,
    /// The instances in which it does so; at least one.
    pub instances: Vec<InstanceId>,
    /// The action in which it is reached, in the first of them.
    pub scope: Scope,
    /// How the secret comes to the first of them: from the port of the network to the last variable.
    pub path: Vec<Step>,
    /// True when no secret is computed with there, but something that another finding decided.
    pub follows: bool,
}

impl Finding {
    /// True for what is told but does not break the claim of constant time.
    pub fn is_note(&self) -> bool {
        matches!(self.decides, Decides::Shift | Decides::Logic)
    }
}

/// A public output that something secret leaves by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declassified {
    /// Name of the output.
    pub port: String,
    /// `instance.Port`, where it comes from.
    pub source: String,
}

/// The report on a network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Names of the inputs that are secret.
    pub secret: Vec<String>,
    /// Names of the inputs that are public.
    pub public: Vec<String>,
    /// Places, those that hold by themselves first.
    pub findings: Vec<Finding>,
    /// Public outputs that secrets leave by.
    pub declassified: Vec<Declassified>,
}

impl Report {
    /// True when nothing but notes was found.
    pub fn is_constant_time(&self) -> bool {
        self.findings.iter().all(Finding::is_note)
    }
}

/// The report on a network.
pub fn analyse(network: &Network, classes: &Classes) -> Report {
    of_flow(&flow::Network::of(network), classes)
}

/// The report on a network whose graph is there already.
pub fn of_flow(graph: &flow::Network<'_>, classes: &Classes) -> Report {
    let network = graph.network;
    let is_secret = |at: usize| classes.secret_inputs.get(at).copied().unwrap_or(true);
    let mut report = Report::default();
    for (at, port) in network.inputs.iter().enumerate() {
        let list = if is_secret(at) { &mut report.secret } else { &mut report.public };
        list.push(port.name.clone());
    }
    let walk = Walk::new(graph, classes);
    for connection in &network.connections {
        if let (Endpoint::Boundary(port), Some(source)) = (connection.target, graph.ends(connection).0)
            && classes.public_outputs.get(port).copied().unwrap_or(false)
            && walk.is_secret(source)
        {
            let (source, port) = network.describe(connection);
            report.declassified.push(Declassified { port, source });
        }
    }
    let mut found: BTreeMap<(Span, Decides), Finding> = BTreeMap::new();
    for at in 0..network.instances.len() {
        let id = InstanceId(at as u32);
        for place in &graph.flow_of(id).places {
            let Some((node, rank)) = walk.first_secret(id, &place.nodes) else { continue };
            let follows = rank.1;
            match found.get_mut(&(place.span, place.decides)) {
                Some(finding) => {
                    if !finding.instances.contains(&id) {
                        finding.instances.push(id);
                    }
                    if finding.follows && !follows {
                        *finding = Finding {
                            instances: finding.instances.clone(),
                            ..finding_of(id, place, &walk, node, follows)
                        };
                    }
                }
                None => {
                    found.insert((place.span, place.decides), finding_of(id, place, &walk, node, follows));
                }
            }
        }
    }
    report.findings = found.into_values().collect();
    report.findings.sort_by_key(|finding| (finding.is_note(), finding.follows, finding.path.len()));
    report
}

fn finding_of(id: InstanceId, place: &Place, walk: &Walk<'_, '_>, node: flow::GlobalId, follows: bool) -> Finding {
    Finding {
        decides: place.decides,
        span: place.span,
        instances: vec![id],
        scope: place.scope,
        path: walk.path(node),
        follows,
    }
}

/// What is said of a place.
pub fn describe(decides: Decides) -> &'static str {
    match decides {
        Decides::Choice => "a secret decides which action fires",
        Decides::Loop => "a secret decides how often a loop runs",
        Decides::Branch => "a secret decides a branch",
        Decides::Conditional => "a secret decides which operand of `if` is evaluated",
        Decides::ShortCircuit => "a secret decides whether an operand of `and` or `or` is evaluated",
        Decides::Logic => "a compiler may branch on a secret operand of `and` or `or`",
        Decides::Address => "a secret decides an address in a list",
        Decides::Division => "a secret decides how long a division takes",
        Decides::Shift => "a secret decides by how many bits is shifted",
        Decides::Unknown => "a secret comes to calls that nest too deep to be followed",
    }
}

/// A word for a place, for JSON and for summaries.
pub fn name(decides: Decides) -> &'static str {
    match decides {
        Decides::Choice => "choice",
        Decides::Loop => "loop",
        Decides::Branch => "branch",
        Decides::Conditional => "conditional",
        Decides::ShortCircuit => "short-circuit",
        Decides::Logic => "logic",
        Decides::Address => "address",
        Decides::Division => "division",
        Decides::Shift => "shift",
        Decides::Unknown => "unknown",
    }
}

/// The name of the action or initializer in which something is.
pub fn action_name(network: &Network, instance: InstanceId, scope: Scope) -> String {
    let actor = network.actor_of(instance);
    match scope {
        Scope::Action(id) => actor.actions.get(id.index()).map_or_else(String::new, |action| action.name.clone()),
        Scope::Initializer(_) => "initialize".to_owned(),
        Scope::Procedure(id) => actor.procedures.get(id.index()).map_or_else(String::new, |found| found.name.clone()),
    }
}

/// A diagnostic for each finding that does not follow from another one, with the path as further places.
pub fn diagnostics(network: &Network, report: &Report) -> Vec<Diagnostic> {
    let shown = report.findings.iter().filter(|finding| !finding.follows);
    shown.map(|finding| diagnostic(network, finding)).collect()
}

fn diagnostic(network: &Network, finding: &Finding) -> Diagnostic {
    let mut diagnostic = Diagnostic::warning("secret-dependent", describe(finding.decides));
    if finding.is_note() {
        diagnostic.severity = Severity::Note;
    }
    let last = finding.path.last().map_or("a secret", |step| step.what.as_str());
    diagnostic = diagnostic.at(finding.span, format!("depends on {last}"));
    for (_, step) in shown_steps(&finding.path).into_iter().flatten() {
        if step.span != finding.span {
            diagnostic = diagnostic.also(step.span, step.what.clone());
        }
    }
    let steps: Vec<String> = shown_steps(&finding.path)
        .into_iter()
        .map(|step| step.map_or_else(|| "…".to_owned(), |(_, step)| step.what.clone()))
        .collect();
    diagnostic = diagnostic.note(format!("the secret comes by {}", steps.join(" → ")));
    let first = finding.instances.first().map_or(String::new(), |&id| {
        let instance = &network.instances[id.index()].name;
        format!("in instance {instance}, action {}", action_name(network, id, finding.scope))
    });
    let others = match finding.instances.len() {
        0 | 1 => String::new(),
        n => format!(", and in {} more", n - 1),
    };
    diagnostic.note(format!("{first}{others}"))
}

/// The steps of a path that are shown, with their numbers; `None` stands for what is left out.
pub fn shown_steps(path: &[Step]) -> Vec<Option<(usize, &Step)>> {
    let numbered = path.iter().enumerate().map(Some);
    if path.len() <= MAX_STEPS {
        return numbered.collect();
    }
    let (head, tail) = (MAX_STEPS / 2, path.len() - MAX_STEPS / 2);
    let mut shown: Vec<_> = numbered.clone().take(head).collect();
    shown.push(None);
    shown.extend(numbered.skip(tail));
    shown
}

/// The name of what a node is the value of, as a user knows it.
fn what(graph: &flow::Network<'_>, id: InstanceId, origin: Origin) -> Option<String> {
    let network = graph.network;
    let instance = &network.instances[id.index()];
    let actor = network.actor_of(id);
    match origin {
        Origin::Input(port) => Some(format!("`{}.{}`", instance.name, actor.inputs[port].name)),
        Origin::Output(port) => Some(format!("`{}.{}`", instance.name, actor.outputs[port].name)),
        Origin::Variable(variable) | Origin::Assigned(variable) => {
            Some(format!("`{}.{}`", instance.name, actor.variables[variable.index()].name))
        }
        Origin::Local(scope, local) => {
            let locals = match scope {
                Scope::Action(id) => &actor.actions[id.index()].locals,
                Scope::Initializer(at) => &actor.initializers[at].locals,
                Scope::Procedure(id) => &actor.procedures[id.index()].locals,
            };
            let name = locals[local.index()].name.as_str();
            (!name.is_empty()).then(|| format!("`{name}`"))
        }
        Origin::Choice(action) => Some(format!("the choice of `{}`", actor.actions[action.index()].name)),
        Origin::State => Some(format!("the state of `{}`", instance.name)),
        Origin::Condition => None,
    }
}
