//! Networks: instances with their arguments, and the connections between them, one level at a time.

use crate::actor;
use crate::body::{Binding, Folded};
use crate::builder::{Builder, ParamValue, check_imports};
use crate::hierarchy::{ActorNode, Child, End, Link, NetworkNode, Node, PortType};
use crate::members::{Loaded, Member};
use crate::session::{EntityId, Lookup, Session, SourceProvider};
use crate::types::{Bounds, Elem, Ty, UNKNOWN};
use headrace_ir as ir;
use headrace_ir::{Int, Value};
use headrace_source::{Diagnostic, Span};
use headrace_syntax::ast::{self, EntityExprKind, StructureKind, Text};
use std::collections::{BTreeMap, HashMap};
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
}

/// An instance that is still to be elaborated.
struct Request {
    name: String,
    class: Option<EntityId>,
    args: Vec<BoundArg>,
    attributes: Rc<Vec<ast::Attribute>>,
    span: Span,
}

/// The instances under one name of the `entities` section.
enum Instances {
    One(usize),
    Many(Vec<Instances>),
    Unknown,
}

/// One end of a connection before ports are looked up; `None` for an instance that is not known.
struct RawEnd {
    instance: Option<Option<usize>>,
    port: Text,
    span: Span,
}

struct RawLink {
    from: RawEnd,
    to: RawEnd,
    fifo_tokens: Option<u32>,
    attributes: Vec<ast::Attribute>,
    span: Span,
}

/// Elaborates networks; actors are shared between instances with equal parameters.
pub(crate) struct Elaborator<'a> {
    pub session: &'a mut Session,
    pub provider: &'a dyn SourceProvider,
    /// Actors without errors.
    pub actors: Vec<ir::Actor>,
    /// Parameters without a value are unknown, not missing.
    pub checking: bool,
    nodes: HashMap<String, Node>,
    in_progress: Vec<EntityId>,
    n_instances: usize,
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
        let Some(bound) = self.bind(&file, args, span, top) else {
            return Node::Unknown;
        };
        let key = key(class, &bound);
        if let Some(node) = self.nodes.get(&key) {
            return node.clone();
        }
        let node = match file.network() {
            None => self.actor(class, bound.values, &file),
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
                    return Node::Unknown;
                }
                self.in_progress.push(class);
                let node = stacker::maybe_grow(256 * 1024, 2 * 1024 * 1024, || {
                    self.network(class, bound.values, bound.entities, &file)
                });
                self.in_progress.pop();
                node
            }
        };
        self.nodes.insert(key, node.clone());
        node
    }

    fn report_at(&mut self, diagnostic: Diagnostic, span: Option<Span>, label: &str) {
        self.session.report(match span {
            Some(span) => diagnostic.at(span, label),
            None => diagnostic,
        });
    }

    fn actor(&mut self, class: EntityId, values: Vec<Option<ParamValue>>, file: &Loaded) -> Node {
        let Some(elaborated) = actor::elaborate(self.session, self.provider, class, values, self.checking) else {
            return Node::Unknown;
        };
        let index = elaborated.actor.map(|actor| {
            self.actors.push(actor);
            ir::ActorId(self.actors.len() as u32 - 1)
        });
        let ports = |ports: Vec<(String, Ty, Span)>| -> Vec<PortType> {
            ports.into_iter().map(|(name, ty, span)| PortType { name, elem: ty.elem, span }).collect()
        };
        Node::Actor(Rc::new(ActorNode {
            class: file.name.clone(),
            entity: class,
            inputs: ports(elaborated.signature.inputs),
            outputs: ports(elaborated.signature.outputs),
            index,
        }))
    }

    /// Matches arguments with parameters; `None` when they do not fit.
    fn bind(&mut self, file: &Loaded, args: Vec<BoundArg>, span: Option<Span>, top: bool) -> Option<Bound> {
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
        let mut bound = Bound { values: vec![None; params.len()], entities: vec![None; params.len()] };
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
        let mut missing = Vec::new();
        for (at, (param, is_entity, has_default)) in params.iter().enumerate() {
            if given[at].is_some() || *has_default {
                continue;
            }
            if top && self.checking {
                if *is_entity {
                    let unknown = EntityValue { class: None, args: Vec::new() };
                    bound.entities[at] = Some(Rc::new(unknown));
                } else {
                    bound.values[at] = Some(ParamValue::Unknown);
                }
            } else {
                missing.push(*param);
            }
        }
        if let Some(first) = missing.first() {
            let names: Vec<String> = missing.iter().map(|param| format!("`{}`", param.text)).collect();
            let plural = if missing.len() == 1 { "" } else { "s" };
            let message = format!("`{}` needs a value for its parameter{plural} {}", file.name, names.join(", "));
            let mut diagnostic = Diagnostic::error("missing-parameter", message);
            diagnostic = match span {
                Some(_) => diagnostic.also(first.span, "has no default"),
                None => diagnostic
                    .at(first.span, "has no default")
                    .help(format!("give a value, as in `--set {}=...`", first.text)),
            };
            self.report_at(diagnostic, span, "missing here");
            return None;
        }
        Some(bound)
    }

    fn network(
        &mut self,
        class: EntityId,
        values: Vec<Option<ParamValue>>,
        entities: Vec<Option<Rc<EntityValue>>>,
        file: &Loaded,
    ) -> Node {
        let Some(network) = file.network() else { return Node::Unknown };
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
        let inputs = scope.builder.ports(&network.inputs);
        let outputs = scope.builder.ports(&network.outputs);
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
        let Scope { requests, links, steps, .. } = scope;
        if steps > MAX_INSTANCES {
            return Node::Unknown;
        }
        self.n_instances += requests.len() + links.len();
        if self.n_instances > MAX_INSTANCES {
            self.session.report(
                Diagnostic::error("network-too-large", format!("more than {MAX_INSTANCES} instances and connections"))
                    .at(network.name.span, "in this network"),
            );
            return Node::Unknown;
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
        Node::Network(Rc::new(node))
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
            let source = node.source_elem(from);
            let target = node.target_elem(to);
            if let (Some(source), Some(target)) = (source, target) {
                self.check_types(source, target, link.span);
            }
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
            node.links.push(Link { from, to, fifo_tokens: link.fifo_tokens, span: link.span });
            node.link_attributes.push(link.attributes);
        }
        if !incomplete {
            self.warn_unconnected(node);
        }
    }

    fn check_types(&mut self, source: Elem, target: Elem, span: Span) {
        if !source.converts_to(target) {
            self.session.report(
                Diagnostic::error("type-mismatch", format!("`{source}` tokens cannot become `{target}`"))
                    .at(span, "the two ports do not go together"),
            );
            return;
        }
        if let (Elem::Int(from), Elem::Int(to)) = (source, target)
            && let (true, Some(to)) = (from.is_known(), to.int_type())
            && !from.fits(to)
        {
            self.session.report(
                Diagnostic::warning("narrowing-connection", format!("`{source}` tokens are cut down to `{target}`"))
                    .at(span, format!("not every `{source}` is a `{target}`"))
                    .help("convert in an actor if this is meant"),
            );
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

/// A network whose `entities` and `structure` are being evaluated.
struct Scope<'f, 'a> {
    builder: Builder<'a>,
    file: &'f Loaded,
    entities: Vec<Option<Rc<EntityValue>>>,
    requests: Vec<Request>,
    names: HashMap<Text, Instances>,
    links: Vec<RawLink>,
    steps: usize,
}

impl Scope<'_, '_> {
    fn default_entities(&mut self, network: &ast::Network) {
        self.entities.resize(network.params.len(), None);
        for (at, param) in network.params.iter().enumerate() {
            if let ast::NetworkParam::Entity { default: Some(default), .. } = param
                && self.entities[at].is_none()
            {
                self.entities[at] = self.entity_value(default).map(Rc::new);
            }
        }
    }

    fn too_large(&mut self, span: Span) -> bool {
        if self.steps == MAX_INSTANCES {
            self.builder.error(
                "network-too-large",
                format!("more than {MAX_INSTANCES} instances and connections"),
                span,
                "given up here",
            );
        }
        self.steps += 1;
        self.steps > MAX_INSTANCES
    }

    fn entity(&mut self, decl: &ast::EntityDecl) {
        if let Some(first) = self.names.get(&decl.name.text) {
            let first = match first {
                Instances::One(at) => Some(self.requests[*at].span),
                _ => None,
            };
            self.builder.report(crate::members::duplicate(&decl.name, first));
            return;
        }
        let attributes = Rc::new(self.attributes(&decl.attributes));
        let instances = self.instances(&decl.value, &decl.name.text, decl.name.span, &attributes);
        self.names.insert(decl.name.text.clone(), instances);
    }

    fn instances(
        &mut self,
        expr: &ast::EntityExpr,
        name: &str,
        name_span: Span,
        attributes: &Rc<Vec<ast::Attribute>>,
    ) -> Instances {
        match &expr.kind {
            EntityExprKind::Instance { .. } => {
                if self.too_large(expr.span) {
                    return Instances::Unknown;
                }
                let value = self.entity_value(expr);
                let (class, args) = value.map_or((None, Vec::new()), |value| (value.class, value.args));
                let span = name_span.to(expr.span);
                let attributes = attributes.clone();
                self.requests.push(Request { name: name.to_string(), class, args, attributes, span });
                Instances::One(self.requests.len() - 1)
            }
            EntityExprKind::If { branches, otherwise } => match self.branch(branches, otherwise) {
                Some(chosen) => self.instances(chosen, name, name_span, attributes),
                None => Instances::Unknown,
            },
            EntityExprKind::List { items, generators } => {
                let mut list = Vec::new();
                let mut known = true;
                self.each(generators, &mut |scope, complete| {
                    known &= complete;
                    for item in items {
                        let inner = format!("{name}_{}", list.len());
                        let instance = scope.instances(item, &inner, name_span, attributes);
                        list.push(instance);
                    }
                });
                if known { Instances::Many(list) } else { Instances::Unknown }
            }
            EntityExprKind::Error => Instances::Unknown,
        }
    }

    /// The branch that constant conditions choose.
    fn branch<'e>(
        &mut self,
        branches: &'e [(ast::Expr, ast::EntityExpr)],
        otherwise: &'e ast::EntityExpr,
    ) -> Option<&'e ast::EntityExpr> {
        for (condition, value) in branches {
            match self.builder.fold_bool(condition, "the condition") {
                Folded::Known(true) => return Some(value),
                Folded::Known(false) => {}
                Folded::Unknown | Folded::Wrong => return None,
            }
        }
        Some(otherwise)
    }

    /// Runs `f` for every step of the generators; with `false` once where their bounds are not known.
    fn each(&mut self, generators: &[ast::Generator], f: &mut dyn FnMut(&mut Self, bool)) {
        self.each_known(generators, true, f);
    }

    fn each_known(&mut self, generators: &[ast::Generator], known: bool, f: &mut dyn FnMut(&mut Self, bool)) {
        let Some((generator, rest)) = generators.split_first() else {
            return f(self, known);
        };
        let low = self.builder.fold_int(&generator.lower, "the bound of a generator");
        let high = self.builder.fold_int(&generator.upper, "the bound of a generator");
        let ty = self.builder.generator_type(generator);
        let outer = self.builder.body.scope.get(&generator.name.text).cloned();
        if outer.is_some() {
            let first = outer.as_ref().map(Binding::span);
            self.builder.report(crate::members::duplicate(&generator.name, first));
            return;
        }
        let span = generator.name.span;
        match (low, high) {
            (Folded::Known(low), Folded::Known(high)) => {
                let mut at = low;
                while at <= high {
                    if self.too_large(generator.span) {
                        break;
                    }
                    let binding = Binding::Constant { ty: ty.clone(), value: Some(Value::Int(at.clone())), span };
                    self.builder.body.scope.insert(generator.name.text.clone(), binding);
                    self.each_known(rest, known, f);
                    at = at.add(&Int::Small(1));
                }
            }
            (Folded::Wrong, _) | (_, Folded::Wrong) => {}
            _ => {
                let binding = Binding::Constant { ty, value: None, span };
                self.builder.body.scope.insert(generator.name.text.clone(), binding);
                self.each_known(rest, false, f);
            }
        }
        self.builder.body.scope.remove(&generator.name.text);
    }

    /// Evaluates an instantiation: the class and its arguments.
    fn entity_value(&mut self, expr: &ast::EntityExpr) -> Option<EntityValue> {
        match &expr.kind {
            EntityExprKind::Instance { class, args } => {
                let (entity, mut bound) = self.class(class)?;
                let mut own = Vec::with_capacity(args.len());
                let file = entity.map(|entity| self.builder.file(entity));
                for (position, arg) in args.iter().enumerate() {
                    let wants_entity = file.as_ref().is_some_and(|file| takes_entity(file, arg, position));
                    let value = self.argument(arg, wants_entity);
                    own.push(BoundArg { name: arg.name.as_ref().map(|name| name.text.clone()), value, span: arg.span });
                }
                bound.append(&mut own);
                Some(EntityValue { class: entity, args: bound })
            }
            EntityExprKind::If { branches, otherwise } => {
                let chosen = self.branch(branches, otherwise)?;
                self.entity_value(chosen)
            }
            EntityExprKind::List { .. } => {
                self.builder.error("argument-kind", "a list of entities is no entity", expr.span, "one is needed here");
                None
            }
            EntityExprKind::Error => None,
        }
    }

    fn argument(&mut self, arg: &ast::Arg, wants_entity: bool) -> ArgValue {
        if wants_entity || matches!(arg.value, ast::ArgValue::Entity(_)) {
            let Some(entity) = as_entity(&arg.value) else {
                self.builder.error("argument-kind", "an actor or network is needed here", arg.span, "this is a value");
                return ArgValue::Wrong;
            };
            return match self.entity_value(&entity) {
                Some(entity) => ArgValue::Entity(Rc::new(entity)),
                None => ArgValue::Wrong,
            };
        }
        match &arg.value {
            ast::ArgValue::Expr(expr) => match self.builder.fold_any(expr) {
                Folded::Known((value, ty)) => ArgValue::Value(ParamValue::Known(value, ty, expr.span)),
                Folded::Unknown => ArgValue::Value(ParamValue::Unknown),
                Folded::Wrong => ArgValue::Wrong,
            },
            ast::ArgValue::Entity(_) => ArgValue::Wrong,
        }
    }

    /// The class that a name stands for, and the arguments that an entity parameter brings along.
    fn class(&mut self, name: &ast::QualifiedName) -> Option<(Option<EntityId>, Vec<BoundArg>)> {
        if name.is_simple()
            && let Some(Member::EntityParam(at)) = self.file.members.get(&name.text)
        {
            let value = self.entities.get(*at as usize)?.as_ref()?;
            return Some((value.class, value.args.clone()));
        }
        let session = &mut *self.builder.session;
        let provider = self.builder.provider;
        let mut tried = Vec::new();
        if name.is_simple() && !self.file.package.is_empty() {
            tried.push(format!("{}.{}", self.file.package, name.text));
        }
        tried.push(name.text.to_string());
        if name.is_simple() {
            for import in &self.file.tree.imports {
                if import.wildcard {
                    tried.push(format!("{}.{}", import.name.text, name.text));
                } else if import.name.last() == name.text {
                    tried.push(import.name.text.to_string());
                }
            }
        }
        for candidate in &tried {
            match session.lookup(provider, candidate) {
                Lookup::Found(entity) => return Some((Some(entity), Vec::new())),
                Lookup::Broken => return None,
                Lookup::Missing => {}
            }
        }
        let diagnostic = missing_class(provider, &name.text, &tried);
        session.report(diagnostic.at(name.span, "not found"));
        None
    }

    fn structure(&mut self, stmt: &ast::StructureStmt) {
        match &stmt.kind {
            StructureKind::Connection { from, to, attributes } => {
                if self.too_large(stmt.span) {
                    return;
                }
                let from = self.end(from);
                let to = self.end(to);
                let fifo_tokens = self.buffer_size(attributes);
                let attributes = self.attributes(attributes);
                self.links.push(RawLink { from, to, fifo_tokens, attributes, span: stmt.span });
            }
            StructureKind::Foreach { generators, body } => {
                self.each(generators, &mut |scope, known| {
                    let before = scope.links.len();
                    for stmt in body {
                        scope.structure(stmt);
                    }
                    if !known {
                        scope.forget(before);
                    }
                });
            }
            StructureKind::If { branches, otherwise } => {
                for (condition, body) in branches {
                    match self.builder.fold_bool(condition, "the condition") {
                        Folded::Known(true) => {
                            body.iter().for_each(|stmt| self.structure(stmt));
                            return;
                        }
                        Folded::Known(false) => {}
                        Folded::Unknown | Folded::Wrong => {
                            let before = self.links.len();
                            body.iter().for_each(|stmt| self.structure(stmt));
                            otherwise.iter().for_each(|stmt| self.structure(stmt));
                            self.forget(before);
                            return;
                        }
                    }
                }
                otherwise.iter().for_each(|stmt| self.structure(stmt));
            }
        }
    }

    /// Makes connections that may or may not be there count as unknown.
    fn forget(&mut self, from: usize) {
        for link in &mut self.links[from..] {
            link.from.instance = None;
        }
    }

    /// Attributes with the constants of the network put in. Values that name something else belong to some tool.
    fn attributes(&mut self, attributes: &[ast::Attribute]) -> Vec<ast::Attribute> {
        let mut attributes = attributes.to_vec();
        for attribute in &mut attributes {
            let ast::AttributeValue::Value(expr) = &mut attribute.value else { continue };
            if self.is_own_constant(expr)
                && let Folded::Known((value, ty)) = self.builder.fold_any(expr)
                && let Some(literal) = crate::expand::literal(&value, &ty, expr.span)
            {
                *expr = literal;
            }
        }
        attributes
    }

    fn is_own_constant(&mut self, expr: &ast::Expr) -> bool {
        let mut queue = vec![expr];
        let mut variables = 0;
        while let Some(expr) = queue.pop() {
            match &expr.kind {
                ast::ExprKind::Var(name) | ast::ExprKind::Index { base: name, .. } => {
                    variables += 1;
                    let own = self.builder.body.scope.contains_key(&name.text)
                        || matches!(self.file.members.get(&name.text), Some(Member::Var(_) | Member::Param(_)));
                    if !own {
                        return false;
                    }
                }
                ast::ExprKind::Call { .. } | ast::ExprKind::Error => return false,
                _ => {}
            }
            crate::effects::children(expr, &mut queue);
        }
        variables > 0
    }

    fn buffer_size(&mut self, attributes: &[ast::Attribute]) -> Option<u32> {
        let attribute = attributes.iter().find(|attribute| attribute.name.text.eq_ignore_ascii_case("bufferSize"))?;
        let ast::AttributeValue::Value(expr) = &attribute.value else {
            self.builder.error(
                "buffer-size",
                "the size of a FIFO is a number of tokens",
                attribute.span,
                "not a number",
            );
            return None;
        };
        match self.builder.fold_int(expr, "the size of a FIFO") {
            Folded::Known(size) => match size.to_u64().and_then(|size| u32::try_from(size).ok()) {
                Some(size) if size > 0 => Some(size),
                _ => {
                    self.builder.error(
                        "buffer-size",
                        format!("a FIFO of {} tokens is not possible", crate::lists::short(&size)),
                        expr.span,
                        "must lie in 1 .. 4294967295",
                    );
                    None
                }
            },
            Folded::Unknown | Folded::Wrong => None,
        }
    }

    fn end(&mut self, port: &ast::PortRef) -> RawEnd {
        let instance = match &port.instance {
            None => Some(None),
            Some(instance) => self.instance(instance).map(Some),
        };
        RawEnd { instance, port: port.port.text.clone(), span: port.span }
    }

    fn instance(&mut self, instance: &ast::InstanceRef) -> Option<usize> {
        let Some(_) = self.names.get(&instance.name.text) else {
            let mut diagnostic =
                Diagnostic::error("unresolved-name", format!("there is no instance `{}`", instance.name.text))
                    .at(instance.name.span, "not declared under `entities`");
            let mut names: Vec<&str> = self.names.keys().map(Text::as_str).collect();
            names.sort_unstable();
            if let Some(near) = crate::names::nearest(&instance.name.text, names.into_iter()) {
                diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
            }
            self.builder.report(diagnostic);
            return None;
        };
        let mut indices = Vec::with_capacity(instance.indices.len());
        let mut known = true;
        for index in &instance.indices {
            match self.builder.fold_int(index, "the index of an instance") {
                Folded::Known(value) => indices.push((value, index.span)),
                Folded::Unknown | Folded::Wrong => known = false,
            }
        }
        if !known {
            return None;
        }
        let mut at = self.names.get(&instance.name.text)?;
        for (index, span) in &indices {
            match at {
                Instances::Many(list) => match index.to_u64().and_then(|index| list.get(index as usize)) {
                    Some(inner) => at = inner,
                    None => {
                        let size = list.len();
                        let message = format!("index {} of a list of {size} instances", crate::lists::short(index));
                        self.builder.error(
                            "index-out-of-range",
                            message,
                            *span,
                            format!("must lie in 0 .. {}", size as i64 - 1),
                        );
                        return None;
                    }
                },
                Instances::One(_) => {
                    let message = format!("`{}` is a single instance", instance.name.text);
                    self.builder.error("type-mismatch", message, *span, "has no index");
                    return None;
                }
                Instances::Unknown => return None,
            }
        }
        match at {
            Instances::One(at) => Some(*at),
            Instances::Unknown => None,
            Instances::Many(_) => {
                let message = format!("`{}` is a list of instances", instance.name.text);
                self.builder.error("type-mismatch", message, instance.name.span, "which one is meant?");
                None
            }
        }
    }
}

impl Builder<'_> {
    /// The value of a constant expression, scalar or list, and its type.
    fn fold_any(&mut self, expr: &ast::Expr) -> Folded<(Value, Ty)> {
        if self.list_shape(expr).is_empty() {
            return self.fold(expr, "an argument");
        }
        let ty = self.unreached(|this| match &expr.kind {
            ast::ExprKind::List { .. } => this.list_type(expr),
            _ => this.expr(expr).ty,
        });
        if ty.is_poison() {
            return Folded::Wrong;
        }
        let Some(known) = ty.known() else { return Folded::Unknown };
        if let Elem::Int(Bounds { width, .. }) = ty.elem
            && (width == UNKNOWN || width > ir::MAX_WIDTH)
        {
            return Folded::Unknown;
        }
        match self.fold_into(expr, &ty, &known) {
            Some(value) => Folded::Known((value, ty)),
            None => Folded::Unknown,
        }
    }
}

/// An argument as an entity; with positional arguments that is written like a call of a function.
fn as_entity(value: &ast::ArgValue) -> Option<ast::EntityExpr> {
    let ast::ArgValue::Expr(ast::Expr { kind: ast::ExprKind::Call { function, args }, span }) = value else {
        return value.as_entity();
    };
    let arg = |expr: &ast::Expr| ast::Arg { name: None, value: ast::ArgValue::Expr(expr.clone()), span: expr.span };
    let kind = EntityExprKind::Instance { class: function.clone(), args: args.iter().map(arg).collect() };
    Some(ast::EntityExpr { kind, span: *span })
}

/// True when the argument is for an entity parameter.
fn takes_entity(file: &Loaded, arg: &ast::Arg, position: usize) -> bool {
    let Some(network) = file.network() else { return false };
    let param = match &arg.name {
        Some(name) => network.params.iter().find(|param| param.name().text == name.text),
        None => network.params.get(position),
    };
    matches!(param, Some(ast::NetworkParam::Entity { .. }))
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
