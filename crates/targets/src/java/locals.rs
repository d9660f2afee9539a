//! Which variables of a function that is printed as several methods are variables of one of these: what is computed and read
//! in one place only need not lie in an object, where virtual machines store every value.

use headrace_program::{
    Argument, Expr, ExprKind, Function, NativeArgument, Place, Print, Root, Stmt, VariableId, VariableKind,
};
use std::collections::HashMap;

/// How often variables are mentioned.
#[derive(Default)]
pub(super) struct Mentions(HashMap<VariableId, u32>);

impl Mentions {
    pub(super) fn of(block: &[Stmt]) -> Self {
        let mut mentions = Self::default();
        mentions.block(block);
        mentions
    }

    fn count(&self, variable: VariableId) -> u32 {
        self.0.get(&variable).copied().unwrap_or(0)
    }

    fn variable(&mut self, variable: VariableId) {
        *self.0.entry(variable).or_default() += 1;
    }

    fn place(&mut self, place: &Place) {
        if let Root::Variable(variable) = place.root {
            self.variable(variable);
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Read(place) | ExprKind::Element(place, _) | ExprKind::Word(place, ..) => self.place(place),
            _ => {}
        }
        expr.parts().into_iter().for_each(|part| self.expr(part));
    }

    fn block(&mut self, block: &[Stmt]) {
        block.iter().for_each(|statement| self.statement(statement));
    }

    fn statement(&mut self, statement: &Stmt) {
        match statement {
            Stmt::Assign(place, value) => {
                self.place(place);
                self.expr(value);
            }
            Stmt::Store(place, index, value) | Stmt::StoreWord(place, index, value, _) => {
                self.place(place);
                self.expr(index);
                self.expr(value);
            }
            Stmt::Copy { target, at, source, from, count } => {
                [target, source].into_iter().for_each(|place| self.place(place));
                [at, from, count].into_iter().for_each(|expr| self.expr(expr));
            }
            Stmt::Fill { target, at, count, value } => {
                self.place(target);
                [at, count, value].into_iter().for_each(|expr| self.expr(expr));
            }
            Stmt::If(condition, ..) | Stmt::While(_, condition, _) => self.expr(condition),
            Stmt::Switch(value, ..) => self.expr(value),
            Stmt::Call { result, arguments, .. } => {
                result.iter().for_each(|&variable| self.variable(variable));
                for argument in arguments {
                    match argument {
                        Argument::Value(value) => self.expr(value),
                        Argument::Reference(place) => self.place(place),
                    }
                }
            }
            Stmt::Return(value) => value.iter().for_each(|value| self.expr(value)),
            Stmt::Print(Print::Text(value) | Print::Real(value, _)) => self.expr(value),
            Stmt::Print(Print::Bytes(place, from, count)) => {
                self.place(place);
                [from, count].into_iter().for_each(|expr| self.expr(expr));
            }
            Stmt::Native { arguments, result, stopped, .. } => {
                result.iter().chain([stopped]).for_each(|&variable| self.variable(variable));
                for argument in arguments {
                    match argument {
                        NativeArgument::Value(value) => self.expr(value),
                        NativeArgument::Bytes(place, from, count) => {
                            self.place(place);
                            [from, count].into_iter().for_each(|expr| self.expr(expr));
                        }
                    }
                }
            }
            Stmt::Lanes { lane, .. } => self.variable(*lane),
            Stmt::Loop(..) | Stmt::Break(_) | Stmt::Continue(_) => {}
        }
        statement.blocks().into_iter().for_each(|block| self.block(block));
    }
}

/// The scalars that are mentioned in a block and nowhere else in their function, and are given a value there before they are
/// read: whenever the block is reached, what they were before does not matter.
pub(super) fn locals(function: &Function, all: &Mentions, block: &[Stmt]) -> Vec<VariableId> {
    let here = Mentions::of(block);
    let mut found = Vec::new();
    let mut met = Mentions::default();
    for statement in block {
        let given = match statement {
            Stmt::Assign(Place { root: Root::Variable(variable), path }, value) if path.is_empty() => {
                met.expr(value);
                Some(*variable)
            }
            Stmt::Call { result: Some(variable), arguments, .. } => {
                let values = arguments.iter().filter_map(|argument| match argument {
                    Argument::Value(value) => Some(value),
                    Argument::Reference(_) => None,
                });
                values.for_each(|value| met.expr(value));
                Some(*variable)
            }
            _ => None,
        };
        if let Some(variable) = given
            && met.count(variable) == 0
            && here.count(variable) == all.count(variable)
            && matches!(function.variables[variable.index()].kind, VariableKind::Scalar(_))
            && !function.is_parameter(variable)
        {
            found.push(variable);
        }
        met.statement(statement);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use headrace_program::{Type, Variable};

    #[test]
    fn what_is_read_before_or_elsewhere_is_no_local() {
        let own = |number: u32| VariableId(number);
        let variable = |number: u32| Variable { name: format!("v{number}"), kind: VariableKind::Scalar(Type::U32) };
        let read = |number: u32| Expr::read(Place::variable(own(number)), Type::U32);
        let assign = |number: u32, value: Expr| Stmt::Assign(Place::variable(own(number)), value);
        let part = vec![
            assign(0, Expr::u32(1)),
            // Counts on from what it was.
            assign(1, read(1).plus(read(0))),
            assign(2, read(1)),
            // Is given a value here, but has one before.
            assign(3, read(2)),
        ];
        let body = [vec![assign(3, Expr::u32(7))], part.clone()].concat();
        let function = Function {
            name: "f".to_owned(),
            about: String::new(),
            variables: (0..4).map(variable).collect(),
            parameters: Vec::new(),
            result: None,
            body,
        };
        let all = Mentions::of(&function.body);
        assert_eq!(locals(&function, &all, &part), [own(0), own(2)]);
    }
}
