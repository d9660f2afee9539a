//! Lowering of actions from the tree to typed form: patterns, guards, bodies and output expressions.

use crate::body::{Binding, Body, Folded, Operand};
use crate::builder::Builder;
use crate::session::EntityId;
use crate::types::{Elem, Ty, UNKNOWN};
use headrace_ir as ir;
use headrace_ir::{Expr, ExprKind, LocalId, LocalKind, OutputValue, Root, Stmt, StmtKind};
use headrace_source::{Diagnostic, Span};
use headrace_syntax::ast;
use std::collections::HashMap;

/// A port with its type while it is being checked.
pub(crate) struct PortSlot {
    pub name: String,
    pub ty: Ty,
    pub span: Span,
}

/// The ports of an entity by name.
pub(crate) struct Ports {
    pub list: Vec<PortSlot>,
    by_name: HashMap<ast::Text, usize>,
}

impl Ports {
    pub fn position(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }
}

impl Builder<'_> {
    /// The declared ports of one direction.
    pub fn ports(&mut self, decls: &[ast::PortDecl]) -> Ports {
        let mut ports = Ports { list: Vec::with_capacity(decls.len()), by_name: HashMap::new() };
        for decl in decls {
            let mut ty = self.ast_type(&decl.ty);
            if ty.is_list() {
                self.report(
                    Diagnostic::error("port-type", format!("the port `{}` is `{ty}`", decl.name.text))
                        .at(decl.ty.span, "a port carries numbers, `bool` or `String`")
                        .help("send the elements of a list one after the other, with `repeat`"),
                );
                ty = Ty::POISON;
            }
            if let Some(&first) = ports.by_name.get(&decl.name.text) {
                let first_span = ports.list[first].span;
                self.report(crate::members::duplicate(&decl.name, Some(first_span)));
            } else {
                ports.by_name.insert(decl.name.text.clone(), ports.list.len());
            }
            ports.list.push(PortSlot { name: decl.name.text.to_string(), ty, span: decl.name.span });
        }
        ports
    }

    /// Lowers an action or, without inputs, an initialiser.
    pub fn action(
        &mut self,
        home: EntityId,
        action: &ast::Action,
        initialize: bool,
        inputs: &Ports,
        outputs: &Ports,
    ) -> ir::Action {
        self.in_body(Body::new(home), |this| this.lower_action(action, initialize, inputs, outputs))
    }

    fn lower_action(&mut self, action: &ast::Action, initialize: bool, inputs: &Ports, outputs: &Ports) -> ir::Action {
        let kind = if initialize { "initialize" } else { "action" };
        let tag = action.tag.as_ref().map(|tag| tag.text.to_string());
        let name = tag.clone().unwrap_or_else(|| {
            let (line, _) = self.session.sources.position(action.head);
            format!("{kind}@{line}")
        });
        let consumes = self.patterns(action, inputs);
        for var in &action.vars {
            if !self.body.scope.contains_key(&var.name.text) {
                self.body.scope.insert(var.name.text.clone(), Binding::NotInGuard { span: var.name.span });
            }
        }
        let guard = self.guard(&action.guards, &consumes);
        let not_yet = |binding: &Binding| matches!(binding, Binding::NotInGuard { .. });
        self.body.scope.retain(|_, binding| !not_yet(binding));
        self.enter_locals();
        for var in &action.vars {
            self.declare_local(var);
        }
        self.stmts(&action.body);
        let produces = self.outputs(action, outputs);
        ir::Action {
            name,
            tag,
            consumes,
            produces,
            guard,
            locals: std::mem::take(&mut self.body.locals),
            body: std::mem::take(&mut self.body.out),
            annotations: crate::actor::annotations(&action.annotations),
            span: action.head,
        }
    }

    fn patterns(&mut self, action: &ast::Action, inputs: &Ports) -> Vec<ir::Pattern> {
        let mut consumes: Vec<ir::Pattern> = Vec::with_capacity(action.inputs.len());
        for pattern in &action.inputs {
            let port = self.port(&pattern.port, inputs, "input");
            if let Some(port) = port
                && consumes.iter().any(|earlier| earlier.port == port)
            {
                let message = format!("the action reads the port `{}` twice", pattern.port.text);
                self.error("duplicate-port", message, pattern.span, "join the names in one pattern");
            }
            let mut ty = port.map_or(Ty::POISON, |port| inputs.list[port].ty.clone());
            let repeat = pattern.repeat.as_ref().map(|repeat| self.repeat(repeat));
            if let Some(repeat) = repeat {
                ty.dims = vec![repeat];
            }
            let mut locals = Vec::with_capacity(pattern.names.len());
            for name in &pattern.names {
                let id = self.add_local(&name.text, ty.clone(), LocalKind::Pattern);
                self.check_hidden(name);
                self.bind(name, Binding::Local { id, assignable: true, span: name.span });
                locals.push(id);
            }
            if let Some(port) = port {
                consumes.push(ir::Pattern { port, locals, repeat: repeat.map(|repeat| repeat.max(1)) });
            }
        }
        consumes
    }

    fn port(&mut self, name: &ast::Name, ports: &Ports, direction: &str) -> Option<usize> {
        let found = ports.position(&name.text);
        if found.is_none() {
            let mut diagnostic =
                Diagnostic::error("unknown-port", format!("there is no {direction} port `{}`", name.text))
                    .at(name.span, "not declared in the head of the actor");
            if let Some(near) = crate::names::nearest(&name.text, ports.list.iter().map(|port| port.name.as_str())) {
                diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
            }
            self.report(diagnostic);
        }
        found
    }

    /// A repeat count; [`UNKNOWN`] also where it is wrong.
    fn repeat(&mut self, expr: &ast::Expr) -> u32 {
        match self.fold_int(expr, "the count of a `repeat`") {
            Folded::Known(count) => match count.to_u64() {
                Some(count) if (1..=ir::MAX_REPEAT).contains(&count) => count as u32,
                _ => {
                    self.error(
                        "repeat-out-of-range",
                        format!("`repeat {}`", crate::lists::short(&count)),
                        expr.span,
                        format!("must lie in 1 .. {}", ir::MAX_REPEAT),
                    );
                    UNKNOWN
                }
            },
            Folded::Unknown => UNKNOWN,
            Folded::Wrong => {
                self.taint += 1;
                UNKNOWN
            }
        }
    }

    fn guard(&mut self, guards: &[ast::Expr], consumes: &[ir::Pattern]) -> ir::Guard {
        self.body.guard = true;
        let mut lowered: Vec<(Vec<Stmt>, Expr)> = Vec::with_capacity(guards.len());
        for guard in guards {
            lowered.push(self.block(|this| this.condition(guard)));
        }
        self.body.guard = false;
        let mut result = ir::Guard::default();
        if lowered.iter().skip(1).all(|(stmts, _)| stmts.is_empty()) {
            for (stmts, condition) in lowered {
                result.before.extend(stmts);
                if !matches!(condition.kind, ExprKind::Bool(true)) {
                    result.conditions.push(condition);
                }
            }
        } else {
            // What a later condition needs is computed only where the earlier ones hold.
            let span = guards.first().map_or(Span::default(), |guard| guard.span);
            let holds = self.temporary(Ty::BOOL);
            let place = Self::local_place(holds, span);
            let mut inner: Vec<Stmt> = Vec::new();
            for (mut stmts, condition) in lowered.into_iter().rev() {
                let span = condition.span;
                stmts.push(Stmt { kind: StmtKind::Assign(place.clone(), condition), span });
                if !inner.is_empty() {
                    let test = Expr { kind: ExprKind::Load(place.clone()), span };
                    stmts.push(Stmt { kind: StmtKind::If(test, inner, Vec::new()), span });
                }
                inner = stmts;
            }
            result.before = inner;
            result.conditions.push(Expr { kind: ExprKind::Load(place), span });
        }
        let mut read = vec![false; self.body.locals.len()];
        let mut mark = |root: &mut Root| {
            if let Root::Local(id) = root
                && let Some(slot) = read.get_mut(id.index())
            {
                *slot = true;
            }
        };
        crate::visit::stmts(&mut result.before, &mut mark);
        result.conditions.iter_mut().for_each(|condition| crate::visit::expr(condition, &mut mark));
        result.peeks = consumes
            .iter()
            .flat_map(|pattern| &pattern.locals)
            .copied()
            .filter(|id: &LocalId| read.get(id.index()).copied().unwrap_or(false))
            .collect();
        result
    }

    fn outputs(&mut self, action: &ast::Action, outputs: &Ports) -> Vec<ir::Output> {
        let mut produces: Vec<ir::Output> = Vec::with_capacity(action.outputs.len());
        for output in &action.outputs {
            let port = self.port(&output.port, outputs, "output");
            if let Some(port) = port
                && produces.iter().any(|earlier| earlier.port == port)
            {
                let message = format!("the action writes the port `{}` twice", output.port.text);
                self.error("duplicate-port", message, output.span, "join the values in one expression");
            }
            let ty = port.map_or(Ty::POISON, |port| outputs.list[port].ty.clone());
            let repeat = output.repeat.as_ref().map(|repeat| self.repeat(repeat));
            // Orcc takes a single value for a list of one.
            let single = repeat == Some(1) && output.values.iter().all(|value| self.list_shape(value).is_empty());
            let repeat = repeat.filter(|_| !single);
            let mut values = Vec::with_capacity(output.values.len());
            for value in &output.values {
                let (effects, mark) = (self.body.effects, self.body.out.len());
                let next = match repeat {
                    None => {
                        let typed = self.expr(value);
                        let what = format!("the port `{}`", output.port.text);
                        Some(OutputValue::Scalar(self.convert(typed, ty.elem, &what)))
                    }
                    Some(repeat) => self.list_output(value, ty.elem, repeat),
                };
                if self.body.effects != effects {
                    self.keep_outputs(&mut values, ty.elem, mark);
                    for earlier in &mut produces {
                        let elem = outputs.list[earlier.port].ty.elem;
                        self.keep_outputs(&mut earlier.values, elem, mark);
                    }
                }
                values.extend(next);
            }
            if let Some(port) = port {
                produces.push(ir::Output { port, values, repeat: repeat.map(|repeat| repeat.max(1)) });
            }
        }
        produces
    }

    /// Keeps the values of outputs that were lowered before statements with effects.
    fn keep_outputs(&mut self, values: &mut [OutputValue], elem: Elem, mark: usize) {
        for value in values {
            if let OutputValue::Scalar(expr) = value {
                let span = expr.span;
                let taken = std::mem::replace(expr, crate::lists::int_expr(0, span));
                let mut typed = crate::body::Typed::of_type(Ty::scalar(elem), span);
                if let Elem::Int(bounds) = elem {
                    typed.bounds = bounds;
                }
                typed.value = Operand::Scalar(taken);
                let kept = self.spill(typed, mark);
                *expr = self.take(kept);
            }
        }
    }

    fn list_output(&mut self, value: &ast::Expr, elem: Elem, repeat: u32) -> Option<OutputValue> {
        let span = value.span;
        let named = matches!(value.kind, ast::ExprKind::Var(_) | ast::ExprKind::Index { .. });
        let (place, ty) = if named {
            let typed = self.expr(value);
            if typed.ty.is_poison() {
                return None;
            }
            match typed.value {
                Operand::List(place) => (Some(place), typed.ty),
                _ => (None, typed.ty),
            }
        } else {
            let dims = self.list_shape(value);
            if dims.len() == 1 {
                let ty = Ty { elem, dims };
                let local = self.temporary(ty.clone());
                let place = Self::local_place(local, span);
                self.assign_into(place.clone(), &ty, value);
                (Some(place), ty)
            } else {
                let typed = self.expr(value);
                if typed.ty.is_poison() {
                    return None;
                }
                (None, typed.ty)
            }
        };
        if ty.dims.len() != 1 || !ty.elem.converts_to(elem) {
            self.report(
                Diagnostic::error("type-mismatch", format!("with `repeat`, a list of `{elem}` is needed"))
                    .at(span, format!("this is `{ty}`")),
            );
            return None;
        }
        if let Some(&size) = ty.dims.first()
            && size != UNKNOWN
            && repeat != UNKNOWN
            && size < repeat
        {
            self.error(
                "list-too-short",
                format!("`repeat {repeat}` needs {repeat} elements, but the list has {size}"),
                span,
                format!("this is `{ty}`"),
            );
            return None;
        }
        let convert = if ty.elem == elem { None } else { elem.known() };
        place.map(|place| OutputValue::List { place, convert })
    }
}
