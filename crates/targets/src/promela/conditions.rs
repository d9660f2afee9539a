//! Conditions that cannot be decided, by name.

use super::execute::{Execution, Known};
use headrace_analysis::ranges::root_type;
use headrace_ir::{Argument, CompareOp, Expr, ExprKind, Int, LocalKind, Pattern, Place, Root, Scalar};

impl<'a> Execution<'a> {
    pub(super) fn is_bool(&self, place: &Place) -> bool {
        let locals = self.frame_locals().unwrap_or_default();
        root_type(self.actor, locals, place.root).element == Scalar::Bool
    }

    /// The value of a condition as it is assumed; notes the condition where nothing is.
    pub(super) fn ask(&mut self, expr: &'a Expr) -> Known {
        if !self.asking {
            return None;
        }
        self.asking = false;
        let depends = self.depends.take();
        let (name, opposite) = self.condition(expr);
        self.asking = true;
        self.depends = depends;
        match self.assumed.get(&name) {
            Some(value) => Some(Int::from(u64::from(*value != opposite))),
            None => {
                self.depends.get_or_insert(name);
                None
            }
        }
    }

    /// The name of a condition, and whether the expression is its opposite.
    fn condition(&mut self, expr: &'a Expr) -> (String, bool) {
        let ExprKind::Compare(op, a, b) = &expr.kind else { return (self.name(expr), false) };
        let (a, b) = (self.name(a), self.name(b));
        let equal = |a: String, b: String| if a <= b { format!("{a} = {b}") } else { format!("{b} = {a}") };
        match op {
            CompareOp::Equal => (equal(a, b), false),
            CompareOp::NotEqual => (equal(a, b), true),
            CompareOp::Less => (format!("{a} < {b}"), false),
            CompareOp::GreaterEqual => (format!("{a} < {b}"), true),
            CompareOp::Greater => (format!("{b} < {a}"), false),
            CompareOp::LessEqual => (format!("{b} < {a}"), true),
        }
    }

    /// An expression in words: what is known as its value, tokens by port and position.
    fn name(&mut self, expr: &'a Expr) -> String {
        if let Some(value) = self.expr(expr) {
            return value.to_string();
        }
        match &expr.kind {
            ExprKind::Load(place) => self.place_name(place),
            ExprKind::Call(procedure, arguments) => {
                let actor = self.actor;
                let function = actor.procedures.get(procedure.index()).map_or("?", |procedure| &procedure.name);
                let arguments: Vec<String> = arguments
                    .iter()
                    .map(|argument| match argument {
                        Argument::Value(value) => self.name(value),
                        Argument::List(place) => self.place_name(place),
                    })
                    .collect();
                format!("{function}({})", arguments.join(", "))
            }
            ExprKind::Compare(..) => {
                let (name, opposite) = self.condition(expr);
                if opposite { format!("not ({name})") } else { format!("({name})") }
            }
            ExprKind::Binary(op, a, b) => format!("{op:?}({}, {})", self.name(a), self.name(b)),
            ExprKind::Wrap(ty, x) => format!("{ty}({})", self.name(x)),
            // Few guards have these: that they are the same form of the same operands is enough.
            kind => {
                let form = match kind {
                    ExprKind::ShiftLeft(ty, ..) => format!("shift {ty}"),
                    ExprKind::RealBinary(ty, op, ..) => format!("{op:?} {ty}"),
                    ExprKind::IntToReal(ty, _) | ExprKind::RealToReal(ty, _) => ty.to_string(),
                    ExprKind::Real(value, _) => value.to_string(),
                    ExprKind::String(text) => text.escape_default().to_string(),
                    ExprKind::Not(_) => "not".into(),
                    ExprKind::Negate(_) | ExprKind::RealNegate(_) => "minus".into(),
                    ExprKind::Complement(_) => "complement".into(),
                    ExprKind::And(..) => "and".into(),
                    ExprKind::Or(..) => "or".into(),
                    ExprKind::If(..) => "if".into(),
                    _ => "text".into(),
                };
                let parts: Vec<String> = expr.parts().into_iter().map(|part| self.name(part)).collect();
                format!("{form}({})", parts.join(", "))
            }
        }
    }

    fn place_name(&mut self, place: &'a Place) -> String {
        let mut name = match place.root {
            Root::Actor(variable) => self.actor.variables[variable.index()].name.clone(),
            Root::Local(local) => self.local_name(local.index()),
        };
        for index in &place.indices {
            let index = self.name(index);
            name.push_str(&format!("[{index}]"));
        }
        name
    }

    /// Pattern variables are named by their tokens, which all actions call the same; others are of their action.
    fn local_name(&self, local: usize) -> String {
        let Some(action) = self.action else { return format!("local {local}") };
        let position = |pattern: &Pattern| pattern.locals.iter().position(|name| name.index() == local);
        let found = action.consumes.iter().find_map(|pattern| Some((pattern, position(pattern)?)));
        match (found, action.locals.get(local).map(|local| local.kind)) {
            (Some((pattern, at)), Some(LocalKind::Pattern)) => {
                let port = &self.actor.inputs[pattern.port].name;
                let every = if pattern.repeat.is_some() { format!("/{}", pattern.locals.len()) } else { String::new() };
                if at == 0 && every.is_empty() { port.clone() } else { format!("{port}#{at}{every}") }
            }
            _ => format!("{}.{}", action.name, action.locals.get(local).map_or("?", |local| &local.name)),
        }
    }
}
