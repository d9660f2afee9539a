//! Networks: instances with their arguments, and the connections between them, one level at a time.

use crate::actor;
use crate::builder::{Builder, ParamValue, check_imports};
use crate::hierarchy::{ActorNode, Child, End, Link, NetworkNode, Node, PortType};
use crate::members::{Loaded, Member};
use crate::network_scope::Scope;
use crate::session::{EntityId, Lookup, Session, SourceProvider};
use crate::types::Ty;
use headrace_ir as ir;
use headrace_ir::Value;
use headrace_source::{Diagnostic, Span};
use headrace_syntax::ast::{self, Text};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

/// Most instances and connections that one network may come to.
pub(crate) const MAX_INSTANCES: usize = 1 << 18;

/// Deepest nesting of networks.
const MAX_NETWORK_DEPTH: usize = 64;

/// An actor or network as the value of an entity parameter.
pub(crate) struct EntityValue {
    /// Absent when it is not known in this check, or was wrong and reported.
    pub class: Option<EntityId>,
    pub args: Vec<BoundArg>,
}

/// An evaluated argument.
#[derive(Clone)]
pub(crate) struct BoundArg {
    pub name: Option<Text>,
    pub value: ArgValue,
    pub span: Span,
}

impl BoundArg {
    /// The name and the value of an argument that is a known value.
    fn as_value(&self) -> Option<(Option<Text>, Value, Ty)> {
        match &self.value {
            ArgValue::Value(ParamValue::Known(value, ty, _)) => Some((self.name.clone(), value.clone(), ty.clone())),
            _ => None,
        }
    }
}

/// The value of an argument.
#[derive(Clone)]
pub(crate) enum ArgValue {
    Value(ParamValue),
    Entity(Rc<EntityValue>),
    /// Wrong, and reported.
    Wrong,
}

/// A class with all its parameters, by position.
struct Bound {
    values: Vec<Option<ParamValue>>,
    entities: Vec<Option<Rc<EntityValue>>>,
    /// Positions of those that were given nothing and have no default; they are unknown.
    missing: Vec<usize>,
}

/// What a class with its arguments came to.
#[derive(Clone)]
struct Instantiated {
    node: Node,
    /// Positions of the parameters that something in it needs.
    used_params: Rc<HashSet<u32>>,
}

/// An instance that is still to be elaborated.
pub(crate) struct Request {
    pub name: String,
    pub class: Option<EntityId>,
    pub args: Vec<BoundArg>,
    pub attributes: Rc<Vec<ast::Attribute>>,
    pub span: Span,
}

/// The instances under one name of the `entities` section.
pub(crate) enum Instances {
    One(usize),
    Many(Vec<Instances>),
    Unknown,
}

/// One end of a connection before ports are looked up; `None` for an instance that is not known.
pub(crate) struct RawEnd {
    pub instance: Option<Option<usize>>,
    pub port: Text,
    pub span: Span,
}

pub(crate) struct RawLink {
    pub from: RawEnd,
    pub to: RawEnd,
    pub fifo_tokens: Option<u32>,
    pub is_registered: bool,
    pub attributes: Vec<ast::Attribute>,
    pub span: Span,
}

/// Elaborates networks; actors are shared between instances with equal parameters.
pub(crate) struct Elaborator<'a> {
    pub session: &'a mut Session,
    pub provider: &'a dyn SourceProvider,
    /// Actors without errors.
    pub actors: Vec<ir::Actor>,
    /// Parameters without a value are unknown, not missing.
    pub checking: bool,
    nodes: HashMap<String, Instantiated>,
    in_progress: Vec<EntityId>,
    n_instances: usize,
    /// Scalars that variables may still have.
    room: u64,
}

impl<'a> Elaborator<'a> {
    pub fn new(session: &'a mut Session, provider: &'a dyn SourceProvider, checking: bool) -> Self {
        Self {
            session,
            provider,
            actors: Vec::new(),
            checking,
            nodes: HashMap::new(),
            in_progress: Vec::new(),
            n_instances: 0,
            room: actor::MAX_SCALARS,
        }
    }

    /// Elaborates a class with arguments. `top` parameters may be unknown when checking.
    pub fn instantiate(&mut self, class: EntityId, args: Vec<BoundArg>, span: Option<Span>, top: bool) -> Node {
        let file = self.session.file(class);
        if file.unit().is_some() {
            let diagnostic =
                Diagnostic::error("not-instantiable", format!("`{}` is a unit, not an actor or network", file.name));
            self.report_at(diagnostic, span, "cannot be instantiated");
            return Node::Unknown;
        }
        let Some(bound) = self.bind(&file, args, top) else {
            return Node::Unknown;
        };
        let missing = bound.missing.clone();
        let Some(found) = self.instantiate_bound(class, bound, &file, span) else {
            return Node::Unknown;
        };
        if self.report_missing(&file, &missing, &found.used_params, span) { found.node } else { Node::Unknown }
    }

    fn instantiate_bound(
        &mut self,
        class: EntityId,
        bound: Bound,
        file: &Loaded,
        span: Option<Span>,
    ) -> Option<Instantiated> {
        let key = key(class, &bound);
        if let Some(found) = self.nodes.get(&key) {
            return Some(found.clone());
        }
        let (node, used_params) = match file.network() {
            None => self.actor(class, bound.values, file),
            Some(network) => {
                let depth = self.in_progress.len();
                let again = self.in_progress.iter().filter(|&&other| other == class).count();
                if depth >= MAX_NETWORK_DEPTH || again >= MAX_NETWORK_DEPTH / 4 {
                    let diagnostic = Diagnostic::error(
                        "recursive-network",
                        format!("the network `{}` contains itself without end", file.name),
                    )
                    .also(network.name.span, "declared here");
                    self.report_at(diagnostic, span, "instantiated again here");
                    return None;
                }
                self.in_progress.push(class);
                let found = stacker::maybe_grow(256 * 1024, 2 * 1024 * 1024, || {
                    self.network(class, bound.values, bound.entities, file)
                });
                self.in_progress.pop();
                found
            }
        };
        let found = Instantiated { node, used_params: Rc::new(used_params) };
        self.nodes.insert(key, found.clone());
        Some(found)
    }

    /// Says which parameters have no value; false when one of them is needed.
    fn report_missing(&mut self, file: &Loaded, missing: &[usize], used: &HashSet<u32>, span: Option<Span>) -> bool {
        let names: Vec<&ast::Name> = match (file.actor(), file.network()) {
            (Some(actor), _) => actor.params.iter().map(|param| &param.name).collect(),
            (_, Some(network)) => network.params.iter().map(ast::NetworkParam::name).collect(),
            _ => Vec::new(),
        };
        let is_used = |at: &&usize| used.contains(&(**at as u32));
        let needed: Vec<&ast::Name> = missing.iter().filter(is_used).map(|&at| names[at]).collect();
        let listed = |names: &[&ast::Name]| {
            let plural = if names.len() == 1 { "" } else { "s" };
            let names: Vec<String> = names.iter().map(|name| format!("`{}`", name.text)).collect();
            format!("parameter{plural} {}", names.join(", "))
        };
        let Some(first) = needed.first() else {
            let idle: Vec<&ast::Name> = missing.iter().map(|&at| names[at]).collect();
            if let Some(first) = idle.first() {
                let message = format!("`{}` has no value for its {}, and no use for it", file.name, listed(&idle));
                self.session.report(Diagnostic::warning("missing-parameter", message).at(first.span, "never used"));
            }
            return true;
        };
        let mut diagnostic = Diagnostic::error(
            "missing-parameter",
            format!("`{}` needs a value for its {}", file.name, listed(&needed)),
        );
        diagnostic = match span {
            Some(_) => diagnostic.also(first.span, "has no default"),
            None => diagnostic
                .at(first.span, "has no default")
                .help(format!("give a value, as in `--set {}=...`", first.text)),
        };
        self.report_at(diagnostic, span, "missing here");
        false
    }

    fn report_at(&mut self, diagnostic: Diagnostic, span: Option<Span>, label: &str) {
        self.session.report(match span {
            Some(span) => diagnostic.at(span, label),
            None => diagnostic,
        });
    }

    fn actor(&mut self, class: EntityId, values: Vec<Option<ParamValue>>, file: &Loaded) -> (Node, HashSet<u32>) {
        let Some(elaborated) =
            actor::elaborate(self.session, self.provider, class, values, self.checking, &mut self.room)
        else {
            return (Node::Unknown, HashSet::new());
        };
        let index = elaborated.actor.map(|actor| {
            self.actors.push(actor);
            ir::ActorId(self.actors.len() as u32 - 1)
        });
        let ports = |ports: Vec<(String, Ty, Span)>| -> Vec<PortType> {
            ports.into_iter().map(|(name, ty, span)| PortType { name, elem: ty.elem, span }).collect()
        };
        let node = ActorNode {
            class: file.name.clone(),
            entity: class,
            inputs: ports(elaborated.signature.inputs),
            outputs: ports(elaborated.signature.outputs),
            state_bytes: elaborated.state_bytes,
            index,
        };
        (Node::Actor(Rc::new(node)), elaborated.used_params)
    }

    /// Matches arguments with parameters; `None` when they do not fit.
    fn bind(&mut self, file: &Loaded, args: Vec<BoundArg>, top: bool) -> Option<Bound> {
        // (name, is an entity, has a default, declared at)
        let params: Vec<(&ast::Name, bool, bool)> = match (file.actor(), file.network()) {
            (Some(actor), _) => actor.params.iter().map(|param| (&param.name, false, param.value.is_some())).collect(),
            (_, Some(network)) => network
                .params
                .iter()
                .map(|param| match param {
                    ast::NetworkParam::Value(var) => (&var.name, false, var.value.is_some()),
                    ast::NetworkParam::Entity { name, default, .. } => (name, true, default.is_some()),
                })
                .collect(),
            _ => return None,
        };
        let mut bound =
            Bound { values: vec![None; params.len()], entities: vec![None; params.len()], missing: Vec::new() };
        let mut given: Vec<Option<Span>> = vec![None; params.len()];
        let mut fine = true;
        for (position, arg) in args.into_iter().enumerate() {
            let at = match &arg.name {
                Some(name) => params.iter().position(|(param, ..)| param.text == *name),
                None => (position < params.len()).then_some(position),
            };
            let Some(at) = at else {
                let ignored = self.session.is_xdf(arg.span);
                fine &= ignored;
                let message = match &arg.name {
                    Some(name) => format!("`{}` has no parameter `{name}`", file.name),
                    None => format!("`{}` has only {} parameters", file.name, params.len()),
                };
                let diagnostic = match ignored {
                    true => Diagnostic::warning("unknown-parameter", message),
                    false => Diagnostic::error("unknown-parameter", message),
                };
                let mut diagnostic = diagnostic
                    .at(arg.span, if ignored { "no such parameter: ignored" } else { "no such parameter" })
                    .also(file.tree.entity.name().span, "declared here");
                let names = params.iter().map(|(param, ..)| param.text.as_str());
                if let Some(near) = arg.name.as_ref().and_then(|name| crate::names::nearest(name, names)) {
                    diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
                }
                self.session.report(diagnostic);
                continue;
            };
            let (param, is_entity, _) = params[at];
            if let Some(first) = given[at].replace(arg.span) {
                fine = false;
                let message = format!("the parameter `{}` is given twice", param.text);
                self.session.report(
                    Diagnostic::error("duplicate-argument", message).at(arg.span, "again").also(first, "given here"),
                );
                continue;
            }
            match (arg.value, is_entity) {
                (ArgValue::Value(value), false) => bound.values[at] = Some(value),
                (ArgValue::Entity(entity), true) => bound.entities[at] = Some(entity),
                (ArgValue::Wrong, _) => fine = false,
                (_, is_entity) => {
                    fine = false;
                    let wanted = if is_entity { "an actor or network" } else { "a value" };
                    let message = format!("the parameter `{}` takes {wanted}", param.text);
                    self.session.report(
                        Diagnostic::error("argument-kind", message)
                            .at(arg.span, format!("{wanted} is needed"))
                            .also(param.span, "declared here"),
                    );
                }
            }
        }
        if !fine {
            return None;
        }
        for (at, (_, is_entity, has_default)) in params.iter().enumerate() {
            if given[at].is_some() || *has_default {
                continue;
            }
            if *is_entity {
                bound.entities[at] = Some(Rc::new(EntityValue { class: None, args: Vec::new() }));
            } else {
                bound.values[at] = Some(ParamValue::Unknown);
            }
            if !(top && self.checking) {
                bound.missing.push(at);
            }
        }
        Some(bound)
    }

    fn network(
        &mut self,
        class: EntityId,
        values: Vec<Option<ParamValue>>,
        entities: Vec<Option<Rc<EntityValue>>>,
        file: &Loaded,
    ) -> (Node, HashSet<u32>) {
        let Some(network) = file.network() else { return (Node::Unknown, HashSet::new()) };
        check_network_imports(self.session, self.provider, file);
        let mut scope = Scope {
            builder: Builder::new(self.session, self.provider, class, values),
            file,
            entities,
            requests: Vec::new(),
            names: HashMap::new(),
            links: Vec::new(),
            steps: 0,
        };
        scope.default_entities(network);
        let mut inputs = scope.builder.ports(&network.inputs);
        let mut outputs = scope.builder.ports(&network.outputs);
        let mut parameters = Vec::new();
        for (at, param) in network.params.iter().enumerate() {
            if let ast::NetworkParam::Value(var) = param
                && let Some(id) = scope.builder.variable(class, Member::Param(at as u32), var.name.span)
                && let Some(value) = scope.builder.ensure_value(id, var.name.span)
            {
                parameters.push((var.name.text.to_string(), (*value).clone()));
            }
        }
        for (at, var) in network.vars.iter().enumerate() {
            if let Some(id) = scope.builder.variable(class, Member::Var(at as u32), var.name.span) {
                scope.builder.ensure_value(id, var.name.span);
            }
        }
        for decl in &network.entities {
            scope.entity(decl);
        }
        for stmt in &network.structure {
            scope.structure(stmt);
        }
        let conditional = scope.conditional_ports(&network.structure);
        inputs.list.retain(|port| !conditional.contains(port.name.as_str()));
        outputs.list.retain(|port| !conditional.contains(port.name.as_str()));
        let Scope { requests, links, steps, builder, .. } = scope;
        let used_params = builder.used_params;
        if steps > MAX_INSTANCES {
            return (Node::Unknown, used_params);
        }
        self.n_instances += requests.len() + links.len();
        if self.n_instances > MAX_INSTANCES {
            self.session.report(
                Diagnostic::error("network-too-large", format!("more than {MAX_INSTANCES} instances and connections"))
                    .at(network.name.span, "in this network"),
            );
            return (Node::Unknown, used_params);
        }
        let mut children = Vec::with_capacity(requests.len());
        for request in requests {
            let values = request.args.iter().filter_map(BoundArg::as_value).collect();
            let node = match request.class {
                Some(class) => self.instantiate(class, request.args, Some(request.span), false),
                None => Node::Unknown,
            };
            let Request { name, attributes, span, .. } = request;
            children.push(Child { name, node, span, args: Rc::new(values), attributes });
        }
        let ports = |ports: crate::action::Ports| -> Vec<PortType> {
            let port =
                |port: crate::action::PortSlot| PortType { name: port.name, elem: port.ty.elem, span: port.span };
            ports.list.into_iter().map(port).collect()
        };
        let mut node = NetworkNode {
            class: file.name.clone(),
            entity: class,
            parameters,
            inputs: ports(inputs),
            outputs: ports(outputs),
            children,
            links: Vec::new(),
            link_attributes: Vec::new(),
            by_target: HashMap::new(),
            span: network.name.span,
        };
        self.connect(&mut node, links);
        (Node::Network(Rc::new(node)), used_params)
    }

    /// Looks up the ports of the connections and checks what they join.
    fn connect(&mut self, node: &mut NetworkNode, links: Vec<RawLink>) {
        let mut incomplete = false;
        for link in links {
            let from = self.end(node, &link.from, true);
            let to = self.end(node, &link.to, false);
            let (Some(from), Some(to)) = (from, to) else {
                incomplete = true;
                continue;
            };
            let at = node.links.len();
            if let Some(first) = node.by_target.get(&to) {
                let first = node.links[*first].span;
                self.session.report(
                    Diagnostic::error(
                        "two-connections-to-input",
                        format!("`{}` has two connections", node.describe_target(to)),
                    )
                    .at(link.span, "the second one")
                    .also(first, "the first one")
                    .help("an input takes tokens from one place; merge them in an actor"),
                );
                incomplete = true;
                continue;
            }
            node.by_target.insert(to, at);
            let RawLink { fifo_tokens, is_registered, span, .. } = link;
            node.links.push(Link { from, to, fifo_tokens, is_registered, span });
            node.link_attributes.push(link.attributes);
        }
        if !incomplete {
            self.warn_unconnected(node);
        }
    }

    fn end(&mut self, node: &NetworkNode, end: &RawEnd, source: bool) -> Option<End> {
        let instance = end.instance?;
        let (ports, owner): (&[PortType], String) = match instance {
            None => {
                let ports = if source { &node.inputs } else { &node.outputs };
                (ports, "the network".to_string())
            }
            Some(at) => {
                let child = &node.children[at];
                let ports = match &child.node {
                    Node::Unknown => return None,
                    Node::Actor(actor) => (&actor.inputs, &actor.outputs),
                    Node::Network(network) => (&network.inputs, &network.outputs),
                };
                (if source { ports.1 } else { ports.0 }, format!("`{}`", child.name))
            }
        };
        let found = ports.iter().position(|port| port.name == end.port.as_str());
        if let Some(port) = found {
            return Some(End { child: instance, port });
        }
        let direction = if source == instance.is_some() { "output" } else { "input" };
        let mut diagnostic =
            Diagnostic::error("unknown-port", format!("{owner} has no {direction} port `{}`", end.port))
                .at(end.span, "no such port");
        let names: Vec<&str> = ports.iter().map(|port| port.name.as_str()).collect();
        if let Some(near) = crate::names::nearest(&end.port, names.iter().copied()) {
            diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
        } else if !names.is_empty() {
            diagnostic = diagnostic.note(format!("its {direction} ports are {}", names.join(", ")));
        }
        self.session.report(diagnostic);
        None
    }

    fn warn_unconnected(&mut self, node: &NetworkNode) {
        let mut read = std::collections::HashSet::new();
        for link in &node.links {
            read.insert(link.from);
        }
        for (at, child) in node.children.iter().enumerate() {
            let (inputs, outputs) = match &child.node {
                Node::Unknown => continue,
                Node::Actor(actor) => (&actor.inputs, &actor.outputs),
                Node::Network(network) => (&network.inputs, &network.outputs),
            };
            let list = |ports: &[PortType], joined: &dyn Fn(End) -> bool| -> Vec<String> {
                let open = ports.iter().enumerate();
                let open = open.filter(|(port, _)| !joined(End { child: Some(at), port: *port }));
                open.map(|(_, port)| format!("`{}`", port.name)).collect()
            };
            let open_inputs = list(inputs, &|end| node.by_target.contains_key(&end));
            let open_outputs = list(outputs, &|end| read.contains(&end));
            if open_inputs.is_empty() && open_outputs.is_empty() {
                continue;
            }
            let mut all = open_inputs.clone();
            all.extend(open_outputs.iter().cloned());
            let mut diagnostic = Diagnostic::warning(
                "unconnected-port",
                format!("`{}` is not connected at {}", child.name, all.join(", ")),
            )
            .at(child.span, "declared here");
            if !open_inputs.is_empty() {
                diagnostic = diagnostic.note(format!("actions that read {} never fire", open_inputs.join(" or ")));
            }
            if !open_outputs.is_empty() {
                diagnostic = diagnostic.note(format!("tokens on {} are dropped", open_outputs.join(" and ")));
            }
            self.session.report(diagnostic);
        }
        for (port, input) in node.inputs.iter().enumerate() {
            if !read.contains(&End { child: None, port }) {
                self.session.report(
                    Diagnostic::warning("unconnected-port", format!("the input `{}` leads nowhere", input.name))
                        .at(input.span, "its tokens are dropped"),
                );
            }
        }
        for (port, output) in node.outputs.iter().enumerate() {
            if !node.by_target.contains_key(&End { child: None, port }) {
                self.session.report(
                    Diagnostic::warning("unconnected-port", format!("nothing leads to the output `{}`", output.name))
                        .at(output.span, "never has tokens"),
                );
            }
        }
    }
}

/// In a network an import may also name an entity, which can then be instantiated under its simple name.
fn check_network_imports(session: &mut Session, provider: &dyn SourceProvider, file: &Loaded) {
    let is_entity = |session: &mut Session, import: &ast::Import| {
        import.wildcard && session.lookup(provider, &import.name.text) == Lookup::Missing
            || !import.wildcard && session.lookup(provider, &import.name.text) != Lookup::Missing
    };
    if file.tree.imports.iter().all(|import| !is_entity(session, import)) {
        check_imports(session, provider, file);
    }
}

/// Evaluates an instantiation in the scope of a network, without the rest of it.
pub(crate) fn entity_argument(
    session: &mut Session,
    provider: &dyn SourceProvider,
    home: EntityId,
) -> Option<EntityValue> {
    let file = session.file(home);
    let network = file.network()?;
    let decl = network.entities.first()?;
    let mut scope = Scope {
        builder: Builder::new(session, provider, home, Vec::new()),
        file: &file,
        entities: Vec::new(),
        requests: Vec::new(),
        names: HashMap::new(),
        links: Vec::new(),
        steps: 0,
    };
    scope.entity_value(&decl.value)
}

/// A text that identifies a class with its parameters.
fn key(class: EntityId, bound: &Bound) -> String {
    use std::fmt::Write as _;
    fn values(out: &mut String, value: &Option<ParamValue>) {
        let _ = match value {
            Some(ParamValue::Known(value, ..)) => write!(out, "{value:?}"),
            Some(ParamValue::Unknown) => write!(out, "?"),
            None => write!(out, "-"),
        };
    }
    fn entity(out: &mut String, value: &EntityValue) {
        let _ = write!(out, "{:?}(", value.class);
        for arg in &value.args {
            let _ = write!(out, "{:?}=", arg.name);
            match &arg.value {
                ArgValue::Value(value) => values(out, &Some(value.clone())),
                ArgValue::Entity(inner) => entity(out, inner),
                ArgValue::Wrong => out.push('!'),
            }
            out.push(',');
        }
        out.push(')');
    }
    let mut out = format!("{}(", class.0);
    for value in &bound.values {
        values(&mut out, value);
        out.push(';');
    }
    for value in bound.entities.iter().flatten() {
        entity(&mut out, value);
    }
    out
}

/// No source root has the class.
pub(crate) fn missing_class(provider: &dyn SourceProvider, name: &str, tried: &[String]) -> Diagnostic {
    let mut diagnostic = Diagnostic::error("missing-class", format!("there is no actor or network `{name}`"));
    let mut near: BTreeMap<String, ()> = BTreeMap::new();
    for candidate in tried {
        near.extend(provider.similar(candidate).into_iter().map(|name| (name, ())));
    }
    let near: Vec<String> = near.into_keys().take(3).map(|name| format!("`{name}`")).collect();
    if !near.is_empty() {
        diagnostic = diagnostic.help(format!("did you mean {}?", near.join(" or ")));
    }
    if tried.len() > 1 {
        diagnostic = diagnostic.note(format!("tried {}", tried.join(", ")));
    }
    for place in provider.places() {
        diagnostic = diagnostic.note(format!("looked in {place}"));
    }
    diagnostic
}
