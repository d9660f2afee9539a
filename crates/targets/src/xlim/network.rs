//! Printer of networks. Networks: names of designs, conversions between ports, and XDF.

use super::design::design;
use crate::project::Files;
use headrace_ir::{
    Action, Actor, ActorId, Connection, DEFAULT_FIFO_TOKENS, Endpoint, Expr, ExprKind, Guard, Instance, InstanceId,
    Local, LocalId, LocalKind, Network, Output, OutputValue, Pattern, Place, Port, Root, Scalar, Schedule, State,
    StateId, Test, Type,
};
use headrace_program::names::identifier;
use headrace_source::{Diagnostic, Span};
use headrace_syntax::ast::{self, AttributeValue, EntityExprKind, StructureKind, TypeKind};
use headrace_syntax::xdf;
use rustc_hash::FxHashSet;

/// The designs of a network and its XDF, all in `folder`, which ends in a slash unless it is empty.
pub(super) fn network(
    network: &Network,
    folder: &str,
    head: &str,
    fifo_tokens: u32,
    files: &mut Files,
) -> Result<(), Vec<Diagnostic>> {
    let network = &with_converters(network);
    let names = class_names(network);
    let mut problems = Vec::new();
    for (actor, name) in network.actors.iter().zip(&names) {
        match design(actor, name, head) {
            Ok(text) => _ = files.insert(format!("{folder}{name}.xlim"), text.into_bytes()),
            Err(found) => problems.extend(found),
        }
    }
    for port in network.inputs.iter().chain(&network.outputs) {
        if !matches!(port.ty, Scalar::Bool | Scalar::Int(_)) {
            let message = format!("XLIM cannot express the type {} of the port `{}`", port.ty, port.name);
            problems.push(Diagnostic::error("unsupported-by-target", message).at(port.span, "declared here"));
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let text = xdf::write(&tree(network, &names, fifo_tokens))?;
    let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
    let text = format!("{first}\n<!-- {} -->\n{rest}", head.replace("--", "- -"));
    files.insert(format!("{folder}network.xdf"), text.into_bytes());
    Ok(())
}

/// A name for each actor: the last word of its class, with a number where that was taken.
fn class_names(network: &Network) -> Vec<String> {
    // `network` is the file of the network; file systems may not tell capitals.
    let mut taken = FxHashSet::from_iter(["network".to_owned()]);
    let mut name = |actor: &Actor| {
        let wanted = identifier(actor.class.rsplit('.').next().unwrap_or(&actor.class));
        let mut name = wanted.clone();
        let mut number = 1;
        while !taken.insert(name.to_lowercase()) {
            number += 1;
            name = format!("{wanted}_{number}");
        }
        name
    };
    network.actors.iter().map(&mut name).collect()
}

/// Where tokens iteration the ports of inner networks that change them, an actor that does nothing else.
fn with_converters(network: &Network) -> Network {
    let mut network = network.clone();
    let mut taken: FxHashSet<String> = network.instances.iter().map(|instance| instance.name.clone()).collect();
    let mut connections = Vec::new();
    for connection in std::mem::take(&mut network.connections) {
        let mut source = connection.source;
        for &ty in &connection.via {
            let actor = network.actors.iter().position(|actor| actor.class == class_of(ty));
            let actor = actor.unwrap_or_else(|| {
                network.actors.push(converter(ty, connection.span));
                network.actors.len() - 1
            });
            let mut number = network.instances.len();
            let mut name = format!("convert_{number}");
            while !taken.insert(name.clone()) {
                number += 1;
                name = format!("convert_{number}");
            }
            let id = InstanceId(network.instances.len() as u32);
            let path = vec![name.clone()];
            network.instances.push(Instance {
                name,
                path,
                actor: ActorId(actor as u32),
                alternative: None,
                span: connection.span,
            });
            let target = Endpoint::Instance(id, 0);
            connections.push(Connection { source, target, via: Vec::new(), ..connection.clone() });
            source = target;
        }
        connections.push(Connection { source, via: Vec::new(), ..connection });
    }
    network.connections = connections;
    network
}

fn class_of(ty: Scalar) -> String {
    identifier(&format!("headrace.ConvertTo {ty}")).trim_end_matches('_').to_owned()
}

/// An actor that hands tokens on, as its ports hold them.
fn converter(ty: Scalar, span: Span) -> Actor {
    let port = |name: &str| Port { name: name.into(), ty, span };
    let local = LocalId(0);
    let place = Place { root: Root::Local(local), indices: Vec::new(), span };
    let token = Expr { kind: ExprKind::Load(place), span };
    let action = Action {
        name: "convert".into(),
        tag: None,
        consumes: vec![Pattern { port: 0, locals: vec![local], repeat: None }],
        produces: vec![Output { port: 0, values: vec![OutputValue::Scalar(token)], repeat: None }],
        guard: Guard::default(),
        locals: vec![Local { name: "token".into(), ty: Type::scalar(ty), kind: LocalKind::Pattern }],
        body: Vec::new(),
        annotations: Vec::new(),
        span,
    };
    let test = Test { action: headrace_ir::ActionId(0), next: StateId(0) };
    Actor {
        class: class_of(ty),
        parameters: Vec::new(),
        inputs: vec![port("In")],
        outputs: vec![port("Out")],
        variables: Vec::new(),
        procedures: Vec::new(),
        natives: Vec::new(),
        initializers: Vec::new(),
        actions: vec![action],
        schedule: Schedule { states: vec![State { name: String::new(), tests: vec![test] }], initial: StateId(0) },
        priorities: Vec::new(),
        annotations: Vec::new(),
        lines: headrace_ir::Lines::default(),
        span,
    }
}

fn tree(network: &Network, classes: &[String], fifo_tokens: u32) -> ast::Network {
    let name = |text: &str, span: Span| ast::Name { text: text.into(), span };
    let literal = |value: u64, span: Span| ast::Expr { kind: ast::ExprKind::Int(value.into()), span };
    let port = |port: &Port| {
        let size = |width: u32| Some(Box::new(literal(u64::from(width), port.span)));
        let kind = match port.ty {
            Scalar::Int(int) if int.signed => TypeKind::Int(size(int.width)),
            Scalar::Int(int) => TypeKind::Uint(size(int.width)),
            _ => TypeKind::Bool,
        };
        ast::PortDecl {
            annotations: Vec::new(),
            ty: ast::Type { kind, span: port.span },
            name: name(&port.name, port.span),
            attributes: Vec::new(),
            span: port.span,
        }
    };
    let entity = |instance: &Instance| {
        let span = instance.span;
        let class = ast::QualifiedName { text: classes[instance.actor.index()].as_str().into(), span };
        let kind = EntityExprKind::Instance { class, args: Vec::new() };
        let value = ast::EntityExpr { kind, span };
        ast::EntityDecl { name: name(&instance.name, span), value, attributes: Vec::new(), span }
    };
    let end = |endpoint: Endpoint, port: &Port, span: Span| {
        let instance = match endpoint {
            Endpoint::Boundary(_) => None,
            Endpoint::Instance(id, _) => {
                let name = name(&network.instances[id.index()].name, span);
                Some(ast::InstanceRef { name, indices: Vec::new() })
            }
        };
        ast::PortRef { instance, port: name(&port.name, span), span }
    };
    let wire = |connection: &Connection| {
        let span = connection.span;
        let capacity = network.capacity(connection, fifo_tokens);
        let attribute = || {
            let value = AttributeValue::Value(literal(capacity, span));
            ast::Attribute { name: name("bufferSize", span), value, span }
        };
        let is_usual = connection.fifo_tokens.is_none() && capacity == u64::from(DEFAULT_FIFO_TOKENS);
        let kind = StructureKind::Connection {
            from: end(connection.source, network.source_port(connection), span),
            to: end(connection.target, network.target_port(connection), span),
            attributes: (!is_usual).then(attribute).into_iter().collect(),
        };
        ast::StructureStmt { kind, span }
    };
    let short = network.name.rsplit('.').next().unwrap_or(&network.name);
    ast::Network {
        name: name(&identifier(short), network.span),
        params: Vec::new(),
        inputs: network.inputs.iter().map(port).collect(),
        outputs: network.outputs.iter().map(port).collect(),
        vars: Vec::new(),
        entities: network.instances.iter().map(entity).collect(),
        structure: network.connections.iter().map(wire).collect(),
        attributes: Vec::new(),
        span: network.span,
    }
}
