//! Which variables of a function belong to one of its blocks: languages declare these where they are first given a
//! value, and where a block is a method of its own they need not lie in an object, where virtual machines store every
//! value.

use headrace_program::{
    Argument, Expr, ExprKind, Function, NativeArgument, Place, Print, Root, Stmt, VariableId, VariableKind,
};
use rustc_hash::{FxHashMap, FxHashSet};

/// How often variables are mentioned, and how often they are given a value.
#[derive(Default)]
struct Mentions {
    all: FxHashMap<VariableId, u32>,
    given: FxHashMap<VariableId, u32>,
}

impl Mentions {
    fn of(block: &[Stmt]) -> Self {
        let mut mentions = Self::default();
        mentions.block(block);
        mentions
    }

    fn count(&self, variable: VariableId) -> u32 {
        self.all.get(&variable).copied().unwrap_or(0)
    }

    fn variable(&mut self, variable: VariableId) {
        *self.all.entry(variable).or_default() += 1;
    }

    fn given(&mut self, variable: VariableId) {
        self.variable(variable);
        *self.given.entry(variable).or_default() += 1;
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
                match place.root {
                    Root::Variable(variable) => self.given(variable),
                    Root::Table(_) => {}
                }
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
                result.iter().for_each(|&variable| self.given(variable));
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
                result.iter().chain([stopped]).for_each(|&variable| self.given(variable));
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
            Stmt::Lanes { lane, .. } => self.given(*lane),
            Stmt::Vector(statement) => {
                statement.target().into_iter().for_each(|register| self.given(register));
                statement.operands().into_iter().for_each(|register| self.variable(register));
                statement.place().into_iter().for_each(|place| self.place(place));
                statement.exprs().into_iter().for_each(|expr| self.expr(expr));
            }
            Stmt::Loop(..) | Stmt::Break(_) | Stmt::Continue(_) => {}
        }
        statement.blocks().into_iter().for_each(|block| self.block(block));
    }
}

/// The scalars and vector registers that are mentioned in a block and nowhere else in their function, and are given a value there before they are
/// read: whenever the block is reached, what they were before does not matter.
fn locals(function: &Function, all: &Mentions, block: &[Stmt]) -> Vec<VariableId> {
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
            Stmt::Vector(statement) => {
                statement.operands().into_iter().for_each(|register| met.variable(register));
                statement.target()
            }
            _ => None,
        };
        if let Some(variable) = given
            && met.count(variable) == 0
            && here.count(variable) == all.count(variable)
            && matches!(function.variables[variable.index()].kind, VariableKind::Scalar(_) | VariableKind::Vector(_))
            && !function.is_parameter(variable)
        {
            found.push(variable);
        }
        met.statement(statement);
    }
    found
}

/// The variables of a function that are declared where they are first given a value, as its statements are printed.
pub(crate) struct Declared<'a> {
    function: &'a Function,
    mentions: Mentions,
    /// Those that belong to a block.
    inner: FxHashSet<VariableId>,
    /// Those of them that have been declared.
    met: FxHashSet<VariableId>,
}

impl<'a> Declared<'a> {
    /// All that can be.
    pub(crate) fn of(function: &'a Function) -> Self {
        let mut declared = Self::none_of(function);
        declared.within(&function.body);
        declared
    }

    /// None yet: blocks that keep variables to themselves are named later.
    pub(crate) fn none_of(function: &'a Function) -> Self {
        Self {
            function,
            mentions: Mentions::of(&function.body),
            inner: FxHashSet::default(),
            met: FxHashSet::default(),
        }
    }

    /// The variables that belong to a block, or to one inside it.
    pub(crate) fn within(&mut self, block: &[Stmt]) {
        self.inner.extend(locals(self.function, &self.mentions, block));
        for inner in block.iter().flat_map(Stmt::blocks) {
            self.within(inner);
        }
    }

    /// Whether a variable is declared where it is first given a value.
    pub(crate) fn is_inner(&self, variable: VariableId) -> bool {
        self.inner.contains(&variable)
    }

    /// Whether a variable is to be declared here, where it is given a value; after that it is.
    pub(crate) fn here(&mut self, variable: VariableId) -> bool {
        self.is_inner(variable) && self.met.insert(variable)
    }

    /// Whether there is one place only that gives a variable a value.
    pub(crate) fn is_given_once(&self, variable: VariableId) -> bool {
        self.mentions.given.get(&variable) == Some(&1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headrace_program::{Label, Type, Variable};

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
            features: None,
            body,
        };
        let all = Mentions::of(&function.body);
        assert_eq!(locals(&function, &all, &part), [own(0), own(2)]);
        let mut declared = Declared::of(&function);
        assert_eq!([0, 1, 2, 3].map(|number| declared.is_inner(own(number))), [true, false, true, true]);
        assert_eq!([0, 2, 3].map(|number| declared.is_given_once(own(number))), [true, true, false]);
        assert_eq!([declared.here(own(0)), declared.here(own(0)), declared.here(own(1))], [true, false, false]);
    }

    #[test]
    fn what_a_block_inside_begins_with_is_declared_there() {
        let own = VariableId;
        let read = |number: u32| Expr::read(Place::variable(own(number)), Type::U32);
        let assign = |number: u32, value: Expr| Stmt::Assign(Place::variable(own(number)), value);
        let inner = vec![assign(0, Expr::u32(1)), assign(1, read(0))];
        // What is read after the loop is declared before it, and what it counts on from.
        let body = vec![Stmt::Loop(Label(0), [inner, vec![assign(2, read(2))]].concat()), Stmt::Return(Some(read(1)))];
        let variable = |number: u32| Variable { name: format!("v{number}"), kind: VariableKind::Scalar(Type::U32) };
        let (name, variables) = ("f".to_owned(), (0..3).map(variable).collect());
        let (about, parameters, result) = (String::new(), Vec::new(), Some(Type::U32));
        let function = Function { name, about, variables, parameters, result, features: None, body };
        let declared = Declared::of(&function);
        assert_eq!([0, 1, 2].map(|number| declared.is_inner(own(number))), [true, false, false]);
    }
}
