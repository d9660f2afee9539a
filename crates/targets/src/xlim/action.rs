//! Lowering of actions to XLIM modules. Actions as modules: tokens are read, the body is done, tokens are written.

use super::value::{Binding, List, Owner, Printer, Val, escaped};
use headrace_ir::{Action, BinaryOp, Int, LocalId, LocalKind, Output, OutputValue, Pattern};

impl<'a> Printer<'a> {
    /// The module of an action, or of an initialiser.
    pub(super) fn action(&mut self, owner: Owner, action: &'a Action, name: &str) {
        self.open(&format!("<module kind=\"action\" name=\"{}\" autostart=\"false\">", escaped(name)));
        let is_plain = |at: usize| action.locals[at].kind == LocalKind::Plain;
        self.enter(owner, &action.locals, Vec::new(), action.span, &is_plain);
        for pattern in &action.consumes {
            let port = &self.actor.inputs[pattern.port];
            let (name, ty) = (format!(" portName=\"{}\"", escaped(&port.name)), self.checked(port.ty, port.span));
            self.bind(pattern, &|printer, _, hint| printer.operation("pinRead", &name, &[], Some((hint, ty))));
        }
        self.statements(&action.body);
        for output in &action.produces {
            self.output(output);
        }
        self.leave();
        self.close("module");
    }

    /// Binds the names of a pattern to tokens, which `token` gives one after the other.
    pub(super) fn bind(&mut self, pattern: &'a Pattern, token: &dyn Fn(&mut Self, &Val, &str) -> Val) {
        let Some(repeat) = pattern.repeat else {
            for (at, local) in pattern.locals.iter().enumerate() {
                let hint = self.local_name(*local);
                let value = token(self, &Val::int(Int::from(at as u64)), &hint);
                self.set_local(*local, value);
            }
            return;
        };
        let names = pattern.locals.len() as u64;
        let lists: Vec<List> = pattern.locals.iter().filter_map(|local| self.bound_list(*local)).collect();
        self.counted(u64::from(repeat), |printer, i| {
            for (k, list) in lists.iter().enumerate() {
                let first = printer.binary(BinaryOp::Mul, i.clone(), Val::int(Int::from(names)));
                let at = printer.binary(BinaryOp::Add, first, Val::int(Int::from(k as u64)));
                let value = token(printer, &at, "token");
                printer.store_element(list, i.clone(), value);
            }
        });
    }

    fn local_name(&self, id: LocalId) -> String {
        self.frames.last().map_or(String::new(), |frame| frame.locals[id.index()].name.clone())
    }

    fn bound_list(&self, id: LocalId) -> Option<List> {
        match &self.frames.last()?.bindings[id.index()] {
            Binding::List(list) => Some(list.clone()),
            Binding::Scalar(_) => None,
        }
    }

    fn output(&mut self, output: &'a Output) {
        let port = &self.actor.outputs[output.port];
        let (name, ty) = (format!(" portName=\"{}\"", escaped(&port.name)), self.checked(port.ty, port.span));
        let mut lists = Vec::new();
        for value in &output.values {
            match value {
                OutputValue::Scalar(expr) => {
                    let value = self.expr(expr);
                    let value = self.cast(value, ty);
                    self.operation("pinWrite", &name, &[&value], None);
                }
                OutputValue::List { place, .. } => lists.push(self.list(place)),
            }
        }
        if lists.is_empty() {
            return;
        }
        self.counted(u64::from(output.repeat.unwrap_or(1)), |printer, i| {
            for list in &lists {
                let value = printer.element(list, i.clone());
                let value = printer.cast(value, ty);
                printer.operation("pinWrite", &name, &[&value], None);
            }
        });
    }
}
