//! Code generation for actors in XLIM: an actor as a whole.

use super::value::{Owner, Printer, StateKey, escaped, type_attributes};
use headrace_ir::{Actor, Int, Port, Scalar, Type, Value};
use headrace_source::Diagnostic;
use rustc_hash::FxHashSet;
use std::fmt::Write as _;

/// The text of a design.
pub(super) fn design(actor: &Actor, name: &str, head: &str) -> Result<String, Vec<Diagnostic>> {
    let mut printer = Printer::new(actor);
    for port in actor.inputs.iter().chain(&actor.outputs) {
        printer.checked(port.ty, port.span);
    }
    if let Some(port) = actor.outputs.iter().find(|port| actor.inputs.iter().any(|other| other.name == port.name)) {
        let what = format!("an input and an output that are both called `{}`", port.name);
        printer.unsupported(port.span, &what, "give one of them another name");
    }
    let names = task_names(actor);
    let modules = |printer: &mut Printer<'_>| std::mem::take(&mut printer.out);
    let mut bodies = String::new();
    let initializers = actor.initializers.iter().enumerate().map(|(at, action)| (Owner::Initializer(at), action));
    let actions = actor.actions.iter().enumerate().map(|(at, action)| (Owner::Action(at), action));
    for ((owner, action), name) in initializers.chain(actions).zip(&names) {
        printer.action(owner, action, name);
        let _ = writeln!(bodies, "\n  <!-- {} -->", remark(&action.name));
        bodies.push_str(&modules(&mut printer));
    }
    printer.scheduler(&names);
    let _ = write!(bodies, "\n{}", modules(&mut printer));
    if !printer.problems.is_empty() {
        return Err(printer.problems);
    }
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- {} -->\n<!-- The actor {}{}. -->\n<design name=\"{}\">\n",
        remark(head),
        remark(&actor.class),
        remark(&parameters(actor)),
        escaped(name)
    );
    for (dir, ports) in [("in", &actor.inputs), ("out", &actor.outputs)] {
        for Port { name, ty, .. } in ports {
            let (name, ty) = (escaped(name), type_attributes(*ty));
            let _ = writeln!(out, "  <actor-port name=\"{name}\" dir=\"{dir}\" {ty}/>");
        }
    }
    out.push('\n');
    // Not all that was at hand is used.
    for (key, name) in printer.states.iter().filter(|(_, name)| printer.used.contains(*name)) {
        state(&mut out, &printer, *key, name);
    }
    out.push_str(&bodies);
    out.push_str("</design>\n");
    Ok(out)
}

/// A text for a comment, in which no two hyphens may stand together.
fn remark(text: &str) -> String {
    text.replace("--", "- -").replace(['\n', '\r', '\0'], " ")
}

fn parameters(actor: &Actor) -> String {
    let shown = |(name, value): &(String, Value)| match value {
        Value::Int(value) => format!("{name} = {value}"),
        Value::Bool(value) => format!("{name} = {value}"),
        Value::Real(value) => format!("{name} = {value}"),
        Value::String(_) | Value::List(_) => format!("{name} = ..."),
    };
    if actor.parameters.is_empty() {
        return String::new();
    }
    format!("({})", actor.parameters.iter().map(shown).collect::<Vec<_>>().join(", "))
}

/// The names of the modules of initialisers and actions: their own, with a number where that was taken.
fn task_names(actor: &Actor) -> Vec<String> {
    let mut taken = FxHashSet::from_iter(["action-scheduler".to_owned()]);
    let all = actor.initializers.iter().chain(&actor.actions);
    all.map(|action| {
        let mut name = action.name.clone();
        let mut number = 1;
        while !taken.insert(name.clone()) {
            number += 1;
            name = format!("{}_{number}", action.name);
        }
        name
    })
    .collect()
}

fn state(out: &mut String, printer: &Printer<'_>, key: StateKey, name: &str) {
    let zero = |ty: &Type| (ty.clone(), Value::zero(ty));
    let (ty, value) = match key {
        StateKey::Variable(id) => {
            let variable = &printer.actor.variables[id.index()];
            (variable.ty.clone(), variable.whole_initial().into_owned())
        }
        StateKey::Local(owner, local) => {
            let actor = printer.actor;
            let locals = match owner {
                Owner::Action(at) | Owner::Guard(at) => &actor.actions[at].locals,
                Owner::Initializer(at) | Owner::GuardOfInitializer(at) => &actor.initializers[at].locals,
                Owner::Procedure(id) => &actor.procedures[id.index()].locals,
            };
            zero(&locals[local.index()].ty)
        }
        StateKey::Fsm => {
            let ty = Type::scalar(printer.state_type().unwrap_or(Scalar::Bool));
            (ty, Value::Int(Int::from(printer.first_state() as u64)))
        }
    };
    let attributes = type_attributes(ty.element);
    let leaf = |value: &Value| {
        let value = match value {
            Value::Int(value) => value.to_string(),
            Value::Bool(value) => i64::from(*value).to_string(),
            // No element of a list that is declared.
            _ => "0".to_owned(),
        };
        format!("<initValue {attributes} value=\"{value}\"/>")
    };
    let values = match &value {
        Value::List(values) => values.as_slice(),
        scalar => std::slice::from_ref(scalar),
    };
    if !ty.is_list() {
        let _ = writeln!(out, "  <stateVar name=\"{name}\">{}</stateVar>", leaf(&value));
        return;
    }
    let _ = writeln!(out, "  <stateVar name=\"{name}\">");
    list(out, &ty.dims, values, &leaf, 2);
    out.push_str("  </stateVar>\n");
}

/// A list of lists, a line for eight innermost elements.
fn list(out: &mut String, dims: &[u32], values: &[Value], leaf: &dyn Fn(&Value) -> String, depth: usize) {
    let indent = "  ".repeat(depth);
    let _ = writeln!(out, "{indent}<initValue typeName=\"List\">");
    match dims {
        [] | [_] => {
            for row in values.chunks(8) {
                let row: Vec<String> = row.iter().map(leaf).collect();
                let _ = writeln!(out, "{indent}  {}", row.join(""));
            }
        }
        [outer, inner @ ..] => {
            let size = (values.len() / (*outer).max(1) as usize).max(1);
            values.chunks(size).for_each(|part| list(out, inner, part, leaf, depth + 1));
        }
    }
    let _ = writeln!(out, "{indent}</initValue>");
}
