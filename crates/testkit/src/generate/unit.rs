//! Units: constants, functions and procedures that several entities share, and the ways of naming them.

use super::scope::{Builder, Scope, Var};
use super::tree::Doc;

/// A unit, as those who import it see it.
pub(crate) struct Unit {
    pub qualified: String,
    /// Names are the members' own.
    pub members: Scope,
    pub doc: Doc,
}

impl Builder<'_> {
    /// A unit that may use the units before it.
    pub fn unit(&mut self, package: &str, earlier: &[Unit]) -> Unit {
        let name = self.name("Lib");
        let (imports, visible) = self.import(earlier);
        let mut scope = visible.clone();
        let mut docs = vec![Doc::text(format!("package {package};")), Doc::Line];
        for import in imports {
            docs.push(self.item(vec![Doc::text(format!("import {import};")), Doc::Line]));
        }
        docs.extend([Doc::text(format!("unit {name} :")), Doc::Line]);
        let mut body = Vec::new();
        let mut members = Scope::default();
        for _ in 0..1 + self.rng.below(3) {
            let constant = self.name("U");
            let ty = self.draw_type(45);
            self.budget = 60;
            self.draw_widest();
            let constants = scope.constants(false);
            let declared = self.declare(&constants, &ty, &constant);
            let value = self.value(&constants, &ty, 2);
            body.push(self.item(vec![
                Doc::text(format!("{declared} = ")),
                Doc::Expr(value),
                Doc::text(";"),
                Doc::Line,
            ]));
            let mut var = Var::new(constant, ty).fixed();
            var.constant = true;
            scope.add(var.clone());
            members.add(var);
        }
        for _ in 0..1 + self.rng.below(3) {
            let (doc, callable) = if self.rng.chance(65) {
                let f = self.name("uf");
                self.function(&scope, f)
            } else {
                let p = self.name("up");
                self.procedure(&scope, p)
            };
            scope.callables.push(callable.clone());
            members.callables.push(callable);
            body.push(doc);
            body.push(Doc::Line);
        }
        docs.extend([Doc::Nest(body), Doc::text("end"), Doc::Line]);
        Unit { qualified: format!("{package}.{name}"), members, doc: Doc::Seq(docs) }
    }

    /// Imports of some units, and the names that they make visible: by `.*`, one by one, or qualified at the place.
    pub fn import(&mut self, units: &[Unit]) -> (Vec<String>, Scope) {
        let mut imports = Vec::new();
        let mut visible = Scope::default();
        for unit in units {
            let way = self.rng.below(4);
            if way == 0 {
                continue;
            }
            if way == 1 {
                imports.push(format!("{}.*", unit.qualified));
            }
            let mut member = |name: &str, rng: &mut crate::rng::Rng| -> Option<String> {
                match way {
                    1 => Some(name.to_owned()),
                    2 => Some(format!("{}.{name}", unit.qualified)),
                    _ if rng.chance(70) => {
                        imports.push(format!("{}.{name}", unit.qualified));
                        Some(name.to_owned())
                    }
                    _ => None,
                }
            };
            for var in &unit.members.vars {
                if let Some(name) = member(&var.name, &mut self.rng) {
                    let mut var = var.clone();
                    var.name = name;
                    visible.add(var);
                }
            }
            for callable in &unit.members.callables {
                if let Some(name) = member(&callable.name, &mut self.rng) {
                    let mut callable = callable.clone();
                    callable.name = name;
                    visible.callables.push(callable);
                }
            }
        }
        (imports, visible)
    }
}
