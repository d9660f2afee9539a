//! The textual form of a network, for people and for golden tests: one line a declaration or statement, nothing left out
//! except spans. It is written, never read back.

use crate::{
    Action, Actor, Annotation, Argument, BinaryOp, CompareOp, Expr, ExprKind, Guard, Local, LocalId, Network,
    OutputValue, Place, PrintOperand, RealOp, Root, Scalar, Stmt, StmtKind, Type, Value, Variable,
};
use std::fmt::Write;

/// The text of a network.
pub fn network(network: &Network) -> String {
    let mut out = String::new();
    let ports = |ports: &[crate::Port]| {
        ports.iter().map(|port| format!("{} {}", port.ty, port.name)).collect::<Vec<_>>().join(", ")
    };
    line(&mut out, 0, format!("network {} {} ==> {}", network.name, ports(&network.inputs), ports(&network.outputs)));
    for instance in &network.instances {
        let class = network.actors.get(instance.actor.index()).map_or("?", |actor| &actor.class);
        let part = instance.alternative.as_ref().map_or(String::new(), |one| format!(" alternative {one}"));
        line(&mut out, 1, format!("instance {} = #{} {class}{part}", instance.name, instance.actor.0));
    }
    for connection in &network.connections {
        let (source, target) = network.describe(connection);
        let mut text = format!("{source} --> {target}");
        for via in &connection.via {
            let _ = write!(text, " via {via}");
        }
        if let Some(tokens) = connection.fifo_tokens {
            let _ = write!(text, " fifo {tokens}");
        }
        if connection.is_registered {
            text.push_str(" registered");
        }
        line(&mut out, 1, text);
    }
    for (at, each) in network.actors.iter().enumerate() {
        line(&mut out, 0, String::new());
        line(&mut out, 0, format!("#{at}"));
        out.push_str(&actor(each));
    }
    out
}

/// The text of an actor.
pub fn actor(actor: &Actor) -> String {
    let mut out = String::new();
    let ports = |ports: &[crate::Port]| {
        ports.iter().map(|port| format!("{} {}", port.ty, port.name)).collect::<Vec<_>>().join(", ")
    };
    annotations(&mut out, 0, &actor.annotations);
    let parameters: Vec<String> =
        actor.parameters.iter().map(|(name, value)| format!("{name} = {}", shown(value))).collect();
    line(
        &mut out,
        0,
        format!(
            "actor {}({}) {} ==> {}",
            actor.class,
            parameters.join(", "),
            ports(&actor.inputs),
            ports(&actor.outputs)
        ),
    );
    for variable in &actor.variables {
        let sign = if variable.mutable { ":=" } else { "=" };
        line(&mut out, 1, format!("{} {} {sign} {}", variable.ty, variable.name, initial(variable)));
    }
    for native in &actor.natives {
        let types: Vec<String> = native.parameters.iter().map(ToString::to_string).collect();
        let result = native.result.map_or(String::new(), |result| format!(" --> {result}"));
        line(&mut out, 1, format!("native {}({}){result}", native.name, types.join(", ")));
    }
    for procedure in &actor.procedures {
        annotations(&mut out, 1, &procedure.annotations);
        let text = Text { actor, locals: &procedure.locals };
        let n = procedure.n_parameters.min(procedure.locals.len());
        let parameters: Vec<String> = (0..n).map(|at| text.declaration(at)).collect();
        let keyword = if procedure.pure_function { "function" } else { "procedure" };
        let result = procedure.result.as_ref().map_or(String::new(), |(scalar, _)| format!(" --> {scalar}"));
        line(&mut out, 1, format!("{keyword} {}({}){result}", procedure.name, parameters.join(", ")));
        for at in n..procedure.locals.len() {
            line(&mut out, 2, format!("local {}", text.declaration(at)));
        }
        text.block(&mut out, 2, &procedure.body);
        if let Some((_, value)) = &procedure.result {
            line(&mut out, 2, format!("result {}", text.expr(value)));
        }
    }
    for action in &actor.initializers {
        self::action(&mut out, actor, action, "initialize");
    }
    for action in &actor.actions {
        self::action(&mut out, actor, action, "action");
    }
    for (at, state) in actor.schedule.states.iter().enumerate() {
        let mark = if actor.schedule.initial.index() == at { " initial" } else { "" };
        line(&mut out, 1, format!("state {at} {:?}{mark}", state.name));
        for test in &state.tests {
            let name = actor.actions.get(test.action.index()).map_or("?", |action| &action.name);
            line(&mut out, 2, format!("{name} --> {}", test.next.0));
        }
    }
    for (higher, lower) in &actor.priorities {
        let name = |id: &crate::ActionId| actor.actions.get(id.index()).map_or("?", |action| &action.name).to_string();
        line(&mut out, 1, format!("priority {} > {}", name(higher), name(lower)));
    }
    out
}

fn line(out: &mut String, depth: usize, text: String) {
    if !text.is_empty() {
        out.extend(std::iter::repeat_n("    ", depth));
        out.push_str(&text);
    }
    out.push('\n');
}

fn annotations(out: &mut String, depth: usize, annotations: &[Annotation]) {
    for annotation in annotations {
        let arguments: Vec<String> = annotation
            .arguments
            .iter()
            .map(|(name, value)| match value {
                Some(value) => format!("{name} = {value:?}"),
                None => name.clone(),
            })
            .collect();
        line(out, depth, format!("@{}({})", annotation.name, arguments.join(", ")));
    }
}

fn initial(variable: &Variable) -> String {
    match &variable.initial {
        Value::List(values) if values.is_empty() => {
            let zero = Value::zero(&Type::scalar(variable.ty.element));
            format!("[{} times {}]", variable.ty.len(), shown(&zero))
        }
        value => shown(value),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Real(value) => format!("{value:?}"),
        Value::String(text) => format!("{text:?}"),
        Value::List(values) => {
            let Some(first) = values.first().filter(|first| values.len() > 16 && values.iter().all(|v| v == *first))
            else {
                return format!("[{}]", values.iter().map(shown).collect::<Vec<_>>().join(", "));
            };
            format!("[{} times {}]", values.len(), shown(first))
        }
    }
}

fn action(out: &mut String, actor: &Actor, action: &Action, keyword: &str) {
    annotations(out, 1, &action.annotations);
    let text = Text { actor, locals: &action.locals };
    line(out, 1, format!("{keyword} {}", action.name));
    for pattern in &action.consumes {
        let port = actor.inputs.get(pattern.port).map_or("?", |port| &port.name);
        let names: Vec<String> = pattern.locals.iter().map(|id| text.local(*id)).collect();
        let repeat = pattern.repeat.map_or(String::new(), |repeat| format!(" repeat {repeat}"));
        line(out, 2, format!("{port}:[{}]{repeat}", names.join(", ")));
    }
    for at in 0..action.locals.len() {
        line(out, 2, format!("local {}", text.declaration(at)));
    }
    let Guard { before, conditions, peeks } = &action.guard;
    if !conditions.is_empty() || !before.is_empty() {
        let peeks: Vec<String> = peeks.iter().map(|id| text.local(*id)).collect();
        line(out, 2, format!("guard, peeks [{}]", peeks.join(", ")));
        text.block(out, 3, before);
        for condition in conditions {
            line(out, 3, text.expr(condition));
        }
    }
    line(out, 2, "do".to_string());
    text.block(out, 3, &action.body);
    for output in &action.produces {
        let port = actor.outputs.get(output.port).map_or("?", |port| &port.name);
        let values: Vec<String> = output
            .values
            .iter()
            .map(|value| match value {
                OutputValue::Scalar(value) => text.expr(value),
                OutputValue::List { place, convert } => {
                    format!("{}{}", text.place(place), convert.map_or(String::new(), |to| format!(" as {to}")))
                }
            })
            .collect();
        let repeat = output.repeat.map_or(String::new(), |repeat| format!(" repeat {repeat}"));
        line(out, 2, format!("==> {port}:[{}]{repeat}", values.join(", ")));
    }
}

struct Text<'a> {
    actor: &'a Actor,
    locals: &'a [Local],
}

impl Text<'_> {
    fn declaration(&self, at: usize) -> String {
        self.locals.get(at).map_or(String::new(), |local| format!("{} {}", local.ty, self.local(LocalId(at as u32))))
    }

    /// Names of locals repeat, so the number goes with them.
    fn local(&self, id: LocalId) -> String {
        self.locals.get(id.index()).map_or("?".to_string(), |local| format!("{}%{}", local.name, id.0))
    }

    fn place(&self, place: &Place) -> String {
        let mut text = match place.root {
            Root::Local(id) => self.local(id),
            Root::Actor(id) => self.actor.variables.get(id.index()).map_or("?".to_string(), |v| v.name.clone()),
        };
        for index in &place.indices {
            let _ = write!(text, "[{}]", self.expr(index));
        }
        text
    }

    fn arguments(&self, arguments: &[Argument]) -> String {
        let argument = |argument: &Argument| match argument {
            Argument::Value(value) => self.expr(value),
            Argument::List(place) => format!("ref {}", self.place(place)),
        };
        arguments.iter().map(argument).collect::<Vec<_>>().join(", ")
    }

    fn pieces(&self, pieces: &[PrintOperand]) -> String {
        pieces.iter().map(|piece| format!("{}: {}", self.expr(&piece.value), piece.kind)).collect::<Vec<_>>().join(", ")
    }

    fn block(&self, out: &mut String, depth: usize, body: &[Stmt]) {
        for stmt in body {
            stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.stmt(out, depth, stmt));
        }
    }

    fn stmt(&self, out: &mut String, depth: usize, stmt: &Stmt) {
        let converted = |convert: &Option<Scalar>| convert.map_or(String::new(), |to| format!(" as {to}"));
        let kept = |result: &Option<LocalId>| result.map_or(String::new(), |id| format!("{} := ", self.local(id)));
        match &stmt.kind {
            StmtKind::Assign(place, value) => {
                line(out, depth, format!("{} := {}", self.place(place), self.expr(value)));
            }
            StmtKind::Copy { target, source, convert } => {
                let text = format!("copy {} := {}{}", self.place(target), self.place(source), converted(convert));
                line(out, depth, text);
            }
            StmtKind::If(condition, then, otherwise) => {
                line(out, depth, format!("if {}", self.expr(condition)));
                self.block(out, depth + 1, then);
                if !otherwise.is_empty() {
                    line(out, depth, "else".to_string());
                    self.block(out, depth + 1, otherwise);
                }
            }
            StmtKind::While { before, condition, body } => {
                if !before.is_empty() {
                    line(out, depth, "before each test".to_string());
                    self.block(out, depth + 1, before);
                }
                line(out, depth, format!("while {}", self.expr(condition)));
                self.block(out, depth + 1, body);
            }
            StmtKind::Foreach { variable, low, high, body } => {
                let text = format!("foreach {} in {} .. {}", self.local(*variable), self.expr(low), self.expr(high));
                line(out, depth, text);
                self.block(out, depth + 1, body);
            }
            StmtKind::Call { result, procedure, arguments } => {
                let name = self.actor.procedures.get(procedure.index()).map_or("?", |procedure| &procedure.name);
                line(out, depth, format!("{}call {name}({})", kept(result), self.arguments(arguments)));
            }
            StmtKind::CallNative { result, native, arguments } => {
                let name = self.actor.natives.get(native.index()).map_or("?", |native| &native.name);
                line(out, depth, format!("{}native {name}({})", kept(result), self.arguments(arguments)));
            }
            StmtKind::Print { pieces, newline } => {
                let name = if *newline { "println" } else { "print" };
                line(out, depth, format!("{name}({})", self.pieces(pieces)));
            }
        }
    }

    fn expr(&self, expr: &Expr) -> String {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.expr_here(expr))
    }

    fn expr_here(&self, expr: &Expr) -> String {
        match &expr.kind {
            ExprKind::Int(value) => value.to_string(),
            ExprKind::Bool(value) => value.to_string(),
            ExprKind::Real(value, ty) => format!("{ty}({value:?})"),
            ExprKind::String(text) => format!("{text:?}"),
            ExprKind::Load(place) => self.place(place),
            ExprKind::Negate(x) | ExprKind::RealNegate(x) => format!("-({})", self.expr(x)),
            ExprKind::Complement(x) => format!("~({})", self.expr(x)),
            ExprKind::Not(x) => format!("not ({})", self.expr(x)),
            ExprKind::Binary(op, x, y) => format!("({} {} {})", self.expr(x), binary(*op), self.expr(y)),
            ExprKind::ShiftLeft(ty, x, y) => format!("{ty}({} << {})", self.expr(x), self.expr(y)),
            ExprKind::Wrap(ty, x) => format!("{ty}({})", self.expr(x)),
            ExprKind::Compare(op, x, y) => format!("({} {} {})", self.expr(x), comparison(*op), self.expr(y)),
            ExprKind::And(x, y) => format!("({} and {})", self.expr(x), self.expr(y)),
            ExprKind::Or(x, y) => format!("({} or {})", self.expr(x), self.expr(y)),
            ExprKind::If(x, y, z) => {
                format!("if {} then {} else {} end", self.expr(x), self.expr(y), self.expr(z))
            }
            ExprKind::Call(procedure, arguments) => {
                let name = self.actor.procedures.get(procedure.index()).map_or("?", |procedure| &procedure.name);
                format!("{name}({})", self.arguments(arguments))
            }
            ExprKind::IntToReal(ty, x) | ExprKind::RealToReal(ty, x) => format!("{ty}({})", self.expr(x)),
            ExprKind::RealBinary(ty, op, x, y) => {
                let op = match op {
                    RealOp::Add => "+",
                    RealOp::Sub => "-",
                    RealOp::Mul => "*",
                    RealOp::Div => "/",
                };
                format!("{ty}({} {op} {})", self.expr(x), self.expr(y))
            }
            ExprKind::Concat(pieces) => format!("text({})", self.pieces(pieces)),
        }
    }
}

fn binary(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "div",
        BinaryOp::Mod => "mod",
        BinaryOp::And => "&",
        BinaryOp::Or => "|",
        BinaryOp::Xor => "^",
        BinaryOp::ShiftRight => ">>",
    }
}

fn comparison(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Equal => "=",
        CompareOp::NotEqual => "!=",
        CompareOp::Less => "<",
        CompareOp::LessEqual => "<=",
        CompareOp::Greater => ">",
        CompareOp::GreaterEqual => ">=",
    }
}
