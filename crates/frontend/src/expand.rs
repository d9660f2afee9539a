//! Networks with everything resolved that only the text form has: lists of instances, `foreach`, `if`, entity parameters.
//!
//! The hierarchy stays. An inner network that has nothing to resolve is referred to under its own name, with its
//! arguments; of any other, a copy is made for its arguments, without parameters and under a name of its own.

use crate::elaborate::{Top, hierarchy};
use crate::hierarchy::{End, NetworkNode, Node, PortType};
use crate::session::{EntityId, Session, SourceProvider};
use crate::types::Ty;
use headrace_ir::{Scalar, Value};
use headrace_source::Span;
use headrace_syntax::ast::{self, Text};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// A network with nothing left to resolve.
#[derive(Clone, Debug)]
pub struct Expanded {
    /// Its qualified name.
    pub name: String,
    /// The network as a file, package included.
    pub file: ast::File,
}

/// `top` with parameters given as (name, expression), and the copies of inner networks that it refers to. The first is
/// `top` itself, under its own name. `None` when there was an error, which `session` then has, or when `top` is no
/// network.
pub fn expand(
    session: &mut Session,
    provider: &dyn SourceProvider,
    top: &Top,
    parameters: &[(String, String)],
) -> Option<Vec<Expanded>> {
    let Node::Network(node) = hierarchy(session, provider, top, parameters)? else {
        return None;
    };
    let mut expander = Expander { session, provider, names: HashMap::new(), taken: HashSet::new(), out: Vec::new() };
    expander.taken.insert(node.class.clone());
    expander.names.insert(Rc::as_ptr(&node), node.class.clone());
    expander.network(&node, &node.class)?;
    Some(expander.out)
}

struct Expander<'s> {
    session: &'s mut Session,
    provider: &'s dyn SourceProvider,
    /// The name under which each network is referred to.
    names: HashMap<*const NetworkNode, String>,
    taken: HashSet<String>,
    out: Vec<Expanded>,
}

impl Expander<'_> {
    /// Adds the network and, after it, those that it refers to.
    fn network(&mut self, node: &NetworkNode, name: &str) -> Option<()> {
        let (package, base) = name.rsplit_once('.').unwrap_or(("", name));
        let span = node.span;
        let source = self.session.file(node.entity);
        let declared = source.network()?;
        let mut inner: Vec<(Rc<NetworkNode>, String)> = Vec::new();
        let mut entities = Vec::with_capacity(node.children.len());
        for child in &node.children {
            let copied = match &child.node {
                Node::Network(network) if self.needs_copy(network) => {
                    let (copy, new) = self.copy_name(network);
                    if new {
                        inner.push((network.clone(), copy.clone()));
                    }
                    Some(copy)
                }
                _ => None,
            };
            let args = if copied.is_some() { Vec::new() } else { self.arguments(child) };
            let class = copied.unwrap_or_else(|| child.node.class().to_string());
            let kind = ast::EntityExprKind::Instance { class: qualified(&class, child.span), args };
            entities.push(ast::EntityDecl {
                name: simple(&child.name, child.span),
                value: ast::EntityExpr { kind, span: child.span },
                attributes: child.attributes.to_vec(),
                span: child.span,
            });
        }
        let structure = node.links.iter().zip(&node.link_attributes).map(|(link, attributes)| {
            let from = port_ref(node, link.from, true, link.span);
            let to = port_ref(node, link.to, false, link.span);
            let kind = ast::StructureKind::Connection { from, to, attributes: attributes.clone() };
            ast::StructureStmt { kind, span: link.span }
        });
        let network = ast::Network {
            name: simple(base, span),
            params: Vec::new(),
            inputs: ports(&node.inputs, &declared.inputs)?,
            outputs: ports(&node.outputs, &declared.outputs)?,
            vars: Vec::new(),
            entities,
            structure: structure.collect(),
            attributes: declared.attributes.clone(),
            span,
        };
        let file = ast::File {
            package: (!package.is_empty()).then(|| qualified(package, span)),
            imports: Vec::new(),
            annotations: source.tree.annotations.clone(),
            entity: ast::Entity::Network(network),
            span: source.tree.span,
        };
        self.out.push(Expanded { name: name.to_string(), file });
        for (network, name) in inner {
            self.network(&network, &name)?;
        }
        Some(())
    }

    /// The arguments of an instance as they stand in the source, with their values.
    fn arguments(&self, child: &crate::hierarchy::Child) -> Vec<ast::Arg> {
        let params = child.node.entity().map_or(Vec::new(), |entity| self.parameter_names(entity));
        let arg = |(position, (name, value, ty)): (usize, &(Option<Text>, Value, Ty))| {
            let name = name.clone().or_else(|| params.get(position).cloned())?;
            let expr = literal(value, ty, child.span)?;
            Some(ast::Arg {
                name: Some(ast::Name { text: name, span: child.span }),
                value: ast::ArgValue::Expr(expr),
                span: child.span,
            })
        };
        child.args.iter().enumerate().filter_map(arg).collect()
    }

    fn parameter_names(&self, entity: EntityId) -> Vec<Text> {
        let file = self.session.file(entity);
        match (file.actor(), file.network()) {
            (Some(actor), _) => actor.params.iter().map(|param| param.name.text.clone()).collect(),
            (_, Some(network)) => network.params.iter().map(|param| param.name().text.clone()).collect(),
            _ => Vec::new(),
        }
    }

    /// True when the network, or one in it, has something to resolve.
    fn needs_copy(&self, node: &NetworkNode) -> bool {
        let file = self.session.file(node.entity);
        let Some(network) = file.network() else { return false };
        let plain_entity = |decl: &ast::EntityDecl| match &decl.value.kind {
            ast::EntityExprKind::Instance { args, .. } => {
                args.iter().all(|arg| matches!(arg.value, ast::ArgValue::Expr(_)))
            }
            _ => false,
        };
        let plain = network.params.iter().all(|param| matches!(param, ast::NetworkParam::Value(_)))
            && network.entities.iter().all(plain_entity)
            && network.structure.iter().all(|stmt| matches!(stmt.kind, ast::StructureKind::Connection { .. }));
        !plain
            || node.children.iter().any(|child| match &child.node {
                Node::Network(inner) => self.needs_copy(inner),
                _ => false,
            })
    }

    /// The name of the copy of a network, and whether it is new.
    fn copy_name(&mut self, node: &Rc<NetworkNode>) -> (String, bool) {
        if let Some(name) = self.names.get(&Rc::as_ptr(node)) {
            return (name.clone(), false);
        }
        let mut n = 1;
        let name = loop {
            let candidate = format!("{}_{n}", node.class);
            let exists = !matches!(self.provider.find(&candidate), Ok(None));
            if !exists && self.taken.insert(candidate.clone()) {
                break candidate;
            }
            n += 1;
        };
        self.names.insert(Rc::as_ptr(node), name.clone());
        (name, true)
    }
}

fn simple(text: &str, span: Span) -> ast::Name {
    ast::Name { text: text.into(), span }
}

fn qualified(text: &str, span: Span) -> ast::QualifiedName {
    ast::QualifiedName { text: text.into(), span }
}

fn port_ref(node: &NetworkNode, end: End, source: bool, span: Span) -> ast::PortRef {
    let child = end.child.and_then(|child| node.children.get(child));
    let ports = match (child, source) {
        (Some(child), true) => child.node.outputs(),
        (Some(child), false) => child.node.inputs(),
        (None, true) => &node.inputs,
        (None, false) => &node.outputs,
    };
    let port = ports.get(end.port).map_or("", |port| port.name.as_str());
    let instance = child.map(|child| ast::InstanceRef { name: simple(&child.name, span), indices: Vec::new() });
    ast::PortRef { instance, port: simple(port, span), span }
}

fn ports(ports: &[PortType], declared: &[ast::PortDecl]) -> Option<Vec<ast::PortDecl>> {
    let port = |port: &PortType| {
        let declared = declared.iter().find(|declared| declared.name.text == port.name.as_str())?;
        Some(ast::PortDecl {
            annotations: declared.annotations.clone(),
            ty: scalar_type(port.scalar()?, port.span),
            name: simple(&port.name, port.span),
            attributes: declared.attributes.clone(),
            span: port.span,
        })
    };
    ports.iter().map(port).collect()
}

fn scalar_type(scalar: Scalar, span: Span) -> ast::Type {
    let size = |width: u32| Some(Box::new(ast::Expr { kind: ast::ExprKind::Int(width.into()), span }));
    let kind = match scalar {
        Scalar::Bool => ast::TypeKind::Bool,
        Scalar::Int(int) if int.signed => ast::TypeKind::Int(size(int.width)),
        Scalar::Int(int) => ast::TypeKind::Uint(size(int.width)),
        Scalar::Real(headrace_ir::RealType::Half) => ast::TypeKind::Half,
        Scalar::Real(headrace_ir::RealType::Float) => ast::TypeKind::Float,
        Scalar::Real(headrace_ir::RealType::Double) => ast::TypeKind::Double,
        Scalar::String => ast::TypeKind::String,
    };
    ast::Type { kind, span }
}

/// A value as an expression of literals.
pub(crate) fn literal(value: &Value, ty: &Ty, span: Span) -> Option<ast::Expr> {
    let kind = match value {
        Value::Bool(value) => ast::ExprKind::Bool(*value),
        Value::Int(value) if value.is_negative() => {
            let operand = ast::Expr { kind: ast::ExprKind::Int(value.neg().to_big()), span };
            ast::ExprKind::Unary { op: ast::UnaryOp::Minus, operand: Box::new(operand) }
        }
        Value::Int(value) => ast::ExprKind::Int(value.to_big()),
        Value::Real(value) if !value.is_finite() => return None,
        Value::Real(value) if value.is_sign_negative() => {
            let operand = literal(&Value::Real(-value), ty, span)?;
            ast::ExprKind::Unary { op: ast::UnaryOp::Minus, operand: Box::new(operand) }
        }
        Value::Real(value) => ast::ExprKind::Real { value: *value, text: format!("{value:?}").into() },
        Value::String(text) => ast::ExprKind::String(text.as_str().into()),
        Value::List(values) => {
            let inner = ty.after_indices(1);
            let n_items = *ty.dims.first()? as usize;
            let per_item = values.len().checked_div(n_items)?.max(1);
            let items: Option<Vec<ast::Expr>> = values
                .chunks(per_item)
                .map(|chunk| match chunk {
                    [single] if !inner.is_list() => literal(single, &inner, span),
                    several => literal(&Value::List(several.to_vec()), &inner, span),
                })
                .collect();
            ast::ExprKind::List { items: items?, generators: Vec::new() }
        }
    };
    Some(ast::Expr { kind, span })
}
