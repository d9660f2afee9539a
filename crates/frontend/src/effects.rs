//! What functions and procedures do besides computing: which reach a native, which write to a list parameter, and which
//! names of an actor are assigned at all.

use crate::builder::find_callable;
use crate::members::{Loaded, Member};
use crate::session::{EntityId, Session, SourceProvider};
use headrace_syntax::ast::{self, ExprKind, QualifiedName, StmtKind, Text};
use std::collections::{HashMap, HashSet};

/// A function or procedure of a file.
pub(crate) type Callable = (EntityId, Member);

/// A call with the parameters that it passes on: (position of the argument, name of the variable).
struct CallSite {
    callee: Callable,
    passed: Vec<(usize, Text)>,
}

#[derive(Default)]
struct Facts {
    native: bool,
    calls: Vec<CallSite>,
    assigned: HashSet<Text>,
    params: Vec<Text>,
}

/// Answers are kept, so that each body is looked at once.
#[derive(Default)]
pub(crate) struct Effects {
    facts: HashMap<Callable, Facts>,
    impure: HashMap<Callable, bool>,
    written: HashMap<(Callable, usize), bool>,
}

impl Effects {
    /// True when a call of the function may reach a native.
    pub fn reaches_native(&mut self, session: &mut Session, provider: &dyn SourceProvider, callable: Callable) -> bool {
        if let Some(&known) = self.impure.get(&callable) {
            return known;
        }
        let mut seen = HashSet::from([callable]);
        let mut queue = vec![callable];
        let mut result = false;
        while let Some(next) = queue.pop() {
            let facts = self.facts(session, provider, next);
            if facts.native {
                result = true;
                break;
            }
            for call in &facts.calls {
                if seen.insert(call.callee) {
                    queue.push(call.callee);
                }
            }
        }
        self.impure.insert(callable, result);
        result
    }

    /// True when the procedure, or one that it passes the list on to, may write to a list parameter.
    pub fn writes_param(
        &mut self,
        session: &mut Session,
        provider: &dyn SourceProvider,
        callable: Callable,
        param: usize,
    ) -> bool {
        if let Some(&known) = self.written.get(&(callable, param)) {
            return known;
        }
        let mut seen = HashSet::from([(callable, param)]);
        let mut queue = vec![(callable, param)];
        let mut result = false;
        while let Some((next, at)) = queue.pop() {
            let facts = self.facts(session, provider, next);
            let Some(name) = facts.params.get(at) else { continue };
            if facts.native || facts.assigned.contains(name) {
                result = true;
                break;
            }
            for call in &facts.calls {
                for (position, passed) in &call.passed {
                    if passed == name && seen.insert((call.callee, *position)) {
                        queue.push((call.callee, *position));
                    }
                }
            }
        }
        self.written.insert((callable, param), result);
        result
    }

    fn facts(&mut self, session: &mut Session, provider: &dyn SourceProvider, callable: Callable) -> &Facts {
        self.facts.entry(callable).or_insert_with(|| collect(session, provider, callable))
    }
}

fn collect(session: &mut Session, provider: &dyn SourceProvider, (entity, member): Callable) -> Facts {
    let file = session.file(entity);
    let mut facts = Facts::default();
    let mut calls: Vec<(&QualifiedName, &[ast::Expr])> = Vec::new();
    match member {
        Member::Function(at) => {
            let Some(function) = file.functions().get(at as usize) else { return facts };
            facts.native = function.body.is_none();
            facts.params = function.params.iter().map(|param| param.name.text.clone()).collect();
            for var in &function.vars {
                calls_in_decl(var, &mut calls);
            }
            if let Some(body) = &function.body {
                calls_in_expr(body, &mut calls);
            }
        }
        Member::Procedure(at) => {
            let Some(procedure) = file.procedures().get(at as usize) else { return facts };
            facts.native = procedure.body.is_none();
            facts.params = procedure.params.iter().map(|param| param.name.text.clone()).collect();
            for var in &procedure.vars {
                calls_in_decl(var, &mut calls);
            }
            let body = procedure.body.as_deref().unwrap_or(&[]);
            calls_in_block(body, &mut calls);
            assigned_in_block(body, &mut facts.assigned);
        }
        _ => {}
    }
    for (name, args) in calls {
        if let Some(callee) = find_callable(session, provider, entity, name) {
            let passed = args.iter().enumerate().filter_map(|(at, arg)| match &arg.kind {
                ExprKind::Var(name) | ExprKind::Index { base: name, .. } => Some((at, name.text.clone())),
                _ => None,
            });
            facts.calls.push(CallSite { callee, passed: passed.collect() });
        }
    }
    facts
}

type Calls<'t> = Vec<(&'t QualifiedName, &'t [ast::Expr])>;

fn calls_in_decl<'t>(var: &'t ast::VarDecl, calls: &mut Calls<'t>) {
    if let Some(value) = &var.value {
        calls_in_expr(value, calls);
    }
}

fn calls_in_expr<'t>(expr: &'t ast::Expr, calls: &mut Calls<'t>) {
    let mut queue = vec![expr];
    while let Some(expr) = queue.pop() {
        if let ExprKind::Call { function, args } = &expr.kind {
            calls.push((function, args));
        }
        children(expr, &mut queue);
    }
}

fn calls_in_block<'t>(stmts: &'t [ast::Stmt], calls: &mut Calls<'t>) {
    let mut queue: Vec<&ast::Stmt> = stmts.iter().collect();
    while let Some(stmt) = queue.pop() {
        match &stmt.kind {
            StmtKind::Assign { indices, value, .. } => {
                indices.iter().chain([value]).for_each(|expr| calls_in_expr(expr, calls));
            }
            StmtKind::Call { procedure, args } => {
                calls.push((procedure, args));
                args.iter().for_each(|expr| calls_in_expr(expr, calls));
            }
            StmtKind::If { branches, otherwise } => {
                for (condition, body) in branches {
                    calls_in_expr(condition, calls);
                    queue.extend(body);
                }
                queue.extend(otherwise);
            }
            StmtKind::While { condition, body } => {
                calls_in_expr(condition, calls);
                queue.extend(body);
            }
            StmtKind::Foreach { generator, body } => {
                calls_in_expr(&generator.lower, calls);
                calls_in_expr(&generator.upper, calls);
                queue.extend(body);
            }
        }
    }
}

/// Adds the operands of an expression.
pub(crate) fn children<'t>(expr: &'t ast::Expr, queue: &mut Vec<&'t ast::Expr>) {
    match &expr.kind {
        ExprKind::Index { indices, .. } => queue.extend(indices),
        ExprKind::Call { args, .. } => queue.extend(args),
        ExprKind::List { items, generators } => {
            queue.extend(items);
            for generator in generators {
                queue.extend([&generator.lower, &generator.upper]);
            }
        }
        ExprKind::If { branches, otherwise } => {
            for (condition, value) in branches {
                queue.extend([condition, value]);
            }
            queue.push(otherwise);
        }
        ExprKind::Unary { operand, .. } => queue.push(operand),
        ExprKind::Binary { left, right, .. } => queue.extend([&**left, &**right]),
        ExprKind::Bool(_)
        | ExprKind::Int(_)
        | ExprKind::Real { .. }
        | ExprKind::String(_)
        | ExprKind::Var(_)
        | ExprKind::Error => {}
    }
}

/// Adds the names that statements assign to.
fn assigned_in_block(stmts: &[ast::Stmt], names: &mut HashSet<Text>) {
    let mut queue: Vec<&ast::Stmt> = stmts.iter().collect();
    while let Some(stmt) = queue.pop() {
        match &stmt.kind {
            StmtKind::Assign { target, .. } => {
                names.insert(target.text.clone());
            }
            StmtKind::Call { .. } => {}
            StmtKind::If { branches, otherwise } => {
                branches.iter().for_each(|(_, body)| queue.extend(body));
                queue.extend(otherwise);
            }
            StmtKind::While { body, .. } | StmtKind::Foreach { body, .. } => queue.extend(body),
        }
    }
}

/// Names that an actor may write to, its own locals included.
#[derive(Default)]
pub(crate) struct Written {
    /// By assignment.
    pub assigned: HashSet<Text>,
    /// As an argument of a call, which matters for lists only.
    pub passed: HashSet<Text>,
}

/// Names that an actor may write to.
pub(crate) fn written_names(file: &Loaded) -> Written {
    let mut written = Written::default();
    let Some(actor) = file.actor() else { return written };
    let mut calls = Vec::new();
    for action in actor.actions.iter().chain(&actor.initializes) {
        assigned_in_block(&action.body, &mut written.assigned);
        calls_in_block(&action.body, &mut calls);
        action.vars.iter().for_each(|var| calls_in_decl(var, &mut calls));
        for output in &action.outputs {
            output.values.iter().for_each(|value| calls_in_expr(value, &mut calls));
        }
    }
    for procedure in &actor.procedures {
        let body = procedure.body.as_deref().unwrap_or(&[]);
        assigned_in_block(body, &mut written.assigned);
        calls_in_block(body, &mut calls);
        procedure.vars.iter().for_each(|var| calls_in_decl(var, &mut calls));
    }
    for function in &actor.functions {
        function.vars.iter().for_each(|var| calls_in_decl(var, &mut calls));
        if let Some(body) = &function.body {
            calls_in_expr(body, &mut calls);
        }
    }
    for (_, args) in calls {
        for arg in args {
            if let ExprKind::Var(name) | ExprKind::Index { base: name, .. } = &arg.kind {
                written.passed.insert(name.text.clone());
            }
        }
    }
    written
}
