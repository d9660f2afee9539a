//! Memory shaping: which lists of lists lie in memories that have a row in a word.
//!
//! Where an actor reads and writes nothing but whole rows of a list that is too large for registers, a row is read in the time that
//! an element takes else.

use headrace_ir::{
    Action, Actor, Argument, Expr, ExprKind, Local, LocalKind, OutputValue, Place, Root, Stmt, StmtKind, Type,
};

/// How many elements a row of a variable of an actor has, where each mention of it copies one row from or to a list of at most
/// `most_bits` bits that has a place of its own; the rows are those of the first dimension.
pub(crate) fn row_of(actor: &Actor, variable: usize, most_bits: u64) -> Option<u32> {
    let ty = &actor.variables[variable].ty;
    if ty.dims.len() < 2 {
        return None;
    }
    let row: u64 = ty.dims.iter().skip(1).map(|&size| u64::from(size)).product();
    let fits = |ty: &Type| u64::from(ty.element.width()) * ty.len() as u64 <= most_bits;
    if row * u64::from(ty.element.width()) > most_bits {
        return None;
    }
    let mut mentions = Mentions { actor, variable, locals: &[], fits: &fits, rows: 0, all: 0 };
    let actions = actor.actions.iter().chain(&actor.initializers);
    actions.for_each(|action| mentions.of_action(action));
    for procedure in &actor.procedures {
        mentions.locals = &procedure.locals;
        mentions.of_block(&procedure.body);
        procedure.result.iter().for_each(|(_, value)| mentions.of_expr(value));
    }
    (mentions.rows > 0 && mentions.rows == mentions.all).then_some(row as u32)
}

/// How often a variable is mentioned, and how often as a row that is copied.
struct Mentions<'a> {
    actor: &'a Actor,
    variable: usize,
    /// Of the action or procedure that is read.
    locals: &'a [Local],
    fits: &'a dyn Fn(&Type) -> bool,
    rows: usize,
    all: usize,
}

impl<'a> Mentions<'a> {
    fn of_action(&mut self, action: &'a Action) {
        self.locals = &action.locals;
        self.of_block(&action.guard.before);
        action.guard.conditions.iter().for_each(|condition| self.of_expr(condition));
        self.of_block(&action.body);
        for value in action.produces.iter().flat_map(|output| &output.values) {
            match value {
                OutputValue::Scalar(value) => self.of_expr(value),
                OutputValue::List { place, .. } => self.of_place(place),
            }
        }
    }

    fn is_meant(&self, place: &Place) -> bool {
        matches!(place.root, Root::Actor(id) if id.index() == self.variable)
    }

    /// It is a row of the variable, and the other side a list in registers.
    fn is_row(&self, place: &Place, other: &Place) -> bool {
        let other = match other.root {
            Root::Actor(id) if id.index() != self.variable => &self.actor.variables[id.index()].ty,
            Root::Local(id) if self.locals[id.index()].kind == LocalKind::Plain => &self.locals[id.index()].ty,
            _ => return false,
        };
        let ty = &self.actor.variables[self.variable].ty;
        self.is_meant(place) && place.indices.len() == 1 && other.element == ty.element && (self.fits)(other)
    }

    fn of_place(&mut self, place: &Place) {
        self.all += usize::from(self.is_meant(place));
        place.indices.iter().for_each(|index| self.of_expr(index));
    }

    fn of_expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Load(place) => self.of_place(place),
            ExprKind::Call(_, arguments) => self.of_arguments(arguments),
            _ => expr.parts().into_iter().for_each(|part| self.of_expr(part)),
        }
    }

    fn of_arguments(&mut self, arguments: &[Argument]) {
        for argument in arguments {
            match argument {
                Argument::Value(value) => self.of_expr(value),
                Argument::List(place) => self.of_place(place),
            }
        }
    }

    fn of_block(&mut self, statements: &[Stmt]) {
        statements.iter().for_each(|statement| self.of_statement(statement));
    }

    fn of_statement(&mut self, statement: &Stmt) {
        match &statement.kind {
            StmtKind::Assign(place, value) => {
                self.of_place(place);
                self.of_expr(value);
            }
            StmtKind::Copy { target, source, convert } => {
                let is_row = convert.is_none() && (self.is_row(target, source) || self.is_row(source, target));
                self.rows += usize::from(is_row);
                self.of_place(target);
                self.of_place(source);
            }
            StmtKind::If(condition, yes, no) => {
                self.of_expr(condition);
                self.of_block(yes);
                self.of_block(no);
            }
            StmtKind::While { before, condition, body } => {
                self.of_block(before);
                self.of_expr(condition);
                self.of_block(body);
            }
            StmtKind::Foreach { low, high, body, .. } => {
                self.of_expr(low);
                self.of_expr(high);
                self.of_block(body);
            }
            StmtKind::Call { arguments, .. } | StmtKind::CallNative { arguments, .. } => self.of_arguments(arguments),
            // What is printed is left out.
            StmtKind::Print { .. } => {}
        }
    }
}
