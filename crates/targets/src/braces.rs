//! Statements in languages that took their blocks, braces and semicolons from C.
//!
//! What they have in common is printed here; what each spells its own way is a method of [`Braces`].

use headrace_program::{
    Argument, ByteOrder, Expr, FunctionId, Label, Module, NativeArgument, Place, Print, Root, Stmt, VariableId,
    VectorStmt,
};

/// Text that grows line by line, indented.
#[derive(Default)]
pub(crate) struct Lines {
    pub(crate) text: String,
    pub(crate) depth: usize,
}

impl Lines {
    /// Nothing yet, as deep as this.
    pub(crate) fn at(depth: usize) -> Self {
        Self { text: String::new(), depth }
    }

    pub(crate) fn line(&mut self, text: &str) {
        self.text.push_str(&"    ".repeat(self.depth));
        self.text.push_str(text);
        self.text.push('\n');
    }

    /// `head {`, and deeper from here on.
    pub(crate) fn open(&mut self, head: &str) {
        self.line(&if head.is_empty() { "{".to_owned() } else { format!("{head} {{") });
        self.depth += 1;
    }

    /// `}`, with what follows it.
    pub(crate) fn close(&mut self, rest: &str) {
        self.depth -= 1;
        self.line(&format!("}}{rest}"));
    }
}

/// A printer of statements.
pub(crate) trait Braces {
    /// Where lines go.
    fn lines(&mut self) -> &mut Lines;
    /// A scalar.
    fn place(&self, place: &Place) -> String;
    /// A variable where it is given a value, if not by a call this one: with its declaration, where that is here.
    fn given(&mut self, variable: VariableId, value: Option<&Expr>) -> String;
    /// An expression that stands by itself.
    fn expr(&self, expr: &Expr) -> String;
    fn store(&mut self, target: &Place, index: &Expr, value: &Expr);
    fn store_word(&mut self, target: &Place, index: &Expr, value: &Expr, order: ByteOrder);
    fn lanes(&mut self, lane: VariableId, count: u32, body: &[Stmt]);
    fn copy(&mut self, target: (&Place, &Expr), source: (&Place, &Expr), count: &Expr);
    fn fill(&mut self, target: (&Place, &Expr), count: &Expr, value: &Expr);
    fn repeat(&mut self, own: Label, condition: Option<&Expr>, body: &[Stmt]);
    fn leave(&mut self, to: Label);
    fn again(&mut self, to: Label);
    fn switch(&mut self, value: &Expr, cases: &[(u32, Vec<Stmt>)], rest: &[Stmt]);
    fn call(&mut self, result: Option<VariableId>, function: FunctionId, arguments: &[Argument]);
    /// A statement on vector registers; of languages that have none, programs have no such statements.
    fn vector(&mut self, statement: &VectorStmt);
    fn print(&mut self, print: &Print);
    fn native(&mut self, native: u32, arguments: &[NativeArgument], result: Option<VariableId>, stopped: VariableId);

    /// Whether what follows a statement is to be printed: some languages refuse what cannot be reached.
    fn goes_on(&self, _: &Stmt) -> bool {
        true
    }

    fn block(&mut self, block: &[Stmt]) {
        self.in_turn(block);
    }

    /// One statement after the other, all here.
    fn in_turn(&mut self, block: &[Stmt]) {
        for statement in block {
            self.statement(statement);
            if !self.goes_on(statement) {
                break;
            }
        }
    }

    fn end(&mut self, value: Option<&Expr>) {
        let text = value.map_or("return;".to_owned(), |value| format!("return {};", self.expr(value)));
        self.lines().line(&text);
    }

    fn braced(&mut self, head: &str, block: &[Stmt]) {
        self.lines().open(head);
        self.block(block);
        self.lines().close("");
    }

    fn statement(&mut self, statement: &Stmt) {
        self.plain(statement);
    }

    /// A statement as it is in all of these languages.
    fn plain(&mut self, statement: &Stmt) {
        match statement {
            Stmt::Assign(place, value) => {
                let text = self.expr(value);
                let target = match place.root {
                    Root::Variable(variable) if place.path.is_empty() => self.given(variable, Some(value)),
                    _ => self.place(place),
                };
                self.lines().line(&format!("{target} = {text};"));
            }
            Stmt::Store(target, index, value) => self.store(target, index, value),
            Stmt::StoreWord(target, index, value, order) => self.store_word(target, index, value, *order),
            Stmt::Lanes { lane, count, body } => self.lanes(*lane, *count, body),
            Stmt::Copy { target, at, source, from, count } => self.copy((target, at), (source, from), count),
            Stmt::Fill { target, at, count, value } => self.fill((target, at), count, value),
            Stmt::If(condition, yes, no) => {
                let head = format!("if ({})", self.expr(condition));
                self.lines().open(&head);
                self.block(yes);
                if !no.is_empty() {
                    self.lines().depth -= 1;
                    self.lines().open("} else");
                    self.block(no);
                }
                self.lines().close("");
            }
            Stmt::While(own, condition, body) => self.repeat(*own, Some(condition), body),
            Stmt::Loop(own, body) => self.repeat(*own, None, body),
            Stmt::Break(to) => self.leave(*to),
            Stmt::Continue(to) => self.again(*to),
            Stmt::Switch(value, cases, rest) => self.switch(value, cases, rest),
            Stmt::Call { result, function, arguments } => self.call(*result, *function, arguments),
            Stmt::Return(value) => self.end(value.as_ref()),
            Stmt::Vector(statement) => self.vector(statement),
            Stmt::Print(print) => self.print(print),
            Stmt::Native { native, arguments, result, stopped } => {
                self.native(*native, arguments, *result, *stopped);
            }
        }
    }
}

/// A name like this for the class around what is printed, which no record in it has as its language spells them.
pub(crate) fn free_of_records(module: &Module, like: &str, spelled: fn(&str) -> String) -> String {
    let mut own = like.to_owned();
    while module.records.iter().any(|record| spelled(&record.name) == own) {
        own.push('_');
    }
    own
}

/// The first letter large, and nothing that ends a comment.
pub(crate) fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map_or(String::new(), |first| first.to_uppercase().to_string());
    (first + letters.as_str()).replace('\n', " ").replace("*/", "* /")
}
