//! The `entities` and the `structure` of a network: which instances there are, with which arguments, and which
//! connections are asked for.

use crate::body::{Binding, Folded};
use crate::builder::Builder;
use crate::builder::ParamValue;
use crate::members::{Loaded, Member};
use crate::network::{
    ArgValue, BoundArg, EntityValue, Instances, MAX_INSTANCES, RawEnd, RawLink, Request, missing_class,
};
use crate::session::{EntityId, Lookup};
use crate::types::{Bounds, Elem, Ty, UNKNOWN};
use headrace_ir as ir;
use headrace_ir::{Int, Value};
use headrace_source::{Diagnostic, Span};
use headrace_syntax::ast::{self, EntityExprKind, StructureKind, Text};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// A network whose `entities` and `structure` are being evaluated.
pub(crate) struct Scope<'f, 'a> {
    pub builder: Builder<'a>,
    pub file: &'f Loaded,
    pub entities: Vec<Option<Rc<EntityValue>>>,
    pub requests: Vec<Request>,
    pub names: HashMap<Text, Instances>,
    pub links: Vec<RawLink>,
    pub steps: usize,
}

impl Scope<'_, '_> {
    pub fn default_entities(&mut self, network: &ast::Network) {
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

    pub fn entity(&mut self, decl: &ast::EntityDecl) {
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
    pub fn entity_value(&mut self, expr: &ast::EntityExpr) -> Option<EntityValue> {
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
            self.builder.used_params.insert(*at);
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

    pub fn structure(&mut self, stmt: &ast::StructureStmt) {
        match &stmt.kind {
            StructureKind::Connection { from, to, attributes } => {
                if self.too_large(stmt.span) {
                    return;
                }
                let from = self.end(from);
                let to = self.end(to);
                let fifo_tokens = self.buffer_size(attributes);
                let is_registered = self.is_registered(attributes);
                let attributes = self.attributes(attributes);
                self.links.push(RawLink { from, to, fifo_tokens, is_registered, attributes, span: stmt.span });
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

    /// The ports of the network whose only connections stand where this instantiation does not come: in a branch that
    /// is not taken, in a loop without a pass. The instantiation does not have these ports, so that one network can
    /// have a port for some parameters only (a key's length for ciphers whose keys vary).
    pub fn conditional_ports<'s>(&self, structure: &'s [ast::StructureStmt]) -> HashSet<&'s str> {
        let mut ports = HashSet::new();
        let mut queue: Vec<&ast::StructureStmt> = structure.iter().collect();
        while let Some(stmt) = queue.pop() {
            match &stmt.kind {
                StructureKind::Connection { from, to, .. } => {
                    let own = [from, to].into_iter().filter(|end| end.instance.is_none());
                    ports.extend(own.map(|end| end.port.text.as_str()));
                }
                StructureKind::Foreach { body, .. } => queue.extend(body),
                StructureKind::If { branches, otherwise } => {
                    queue.extend(branches.iter().flat_map(|(_, body)| body).chain(otherwise));
                }
            }
        }
        for link in &self.links {
            for end in [&link.from, &link.to] {
                // An end of an unknown instance may be one of the network.
                if matches!(end.instance, None | Some(None)) {
                    ports.remove(end.port.as_str());
                }
            }
        }
        ports
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

    fn is_registered(&mut self, attributes: &[ast::Attribute]) -> bool {
        let Some(attribute) = attributes.iter().find(|attribute| attribute.name.text == "registered") else {
            return false;
        };
        if attribute.value != ast::AttributeValue::Flag {
            let what = "a connection is registered or not";
            self.builder.error("registered", what, attribute.span, "not a flag: write `flag registered;`");
        }
        true
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
        let Elem::Int(Bounds { width, .. }) = ty.elem else {
            return match self.fold_into(expr, &ty, &known) {
                Some(value) => Folded::Known((value, ty)),
                None => Folded::Unknown,
            };
        };
        if width == UNKNOWN {
            return Folded::Unknown;
        }
        // Elements are exact here; the parameter has a type for them.
        let widest = Ty { elem: Elem::Int(Bounds::signed(ir::MAX_WIDTH)), dims: ty.dims.clone() };
        let Some(known) = widest.known() else { return Folded::Unknown };
        match self.fold_into(expr, &widest, &known) {
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
