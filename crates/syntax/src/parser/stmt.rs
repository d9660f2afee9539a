//! Statements, and the way back to the next one after a wrong one.

use headrace_source::{Diagnostic, Span};

use super::{Parsed, Parser, Reported};
use crate::ast::*;
use crate::lexer::Kind;

impl Parser<'_> {
    /// True at a word that starts a member of an actor, so that an `end` must be missing before it.
    pub(super) fn at_member_word(&self) -> bool {
        matches!(
            self.kind(),
            Kind::Action | Kind::Initialize | Kind::Function | Kind::Procedure | Kind::Schedule | Kind::Priority
        ) || self.at_tagged_action()
    }

    /// True at `tag.tag: action`.
    pub(super) fn at_tagged_action(&self) -> bool {
        // Inside a name there is no tag; without this test, skipping a long name would take quadratic time.
        if self.previous().is_some_and(|previous| previous.kind == Kind::Dot) {
            return false;
        }
        let mut ahead = 0;
        while self.ahead(ahead).kind == Kind::Ident {
            match self.ahead(ahead + 1).kind {
                Kind::Dot => ahead += 2,
                Kind::Colon => {
                    return matches!(self.ahead(ahead + 2).kind, Kind::Action | Kind::Initialize);
                }
                _ => return false,
            }
        }
        false
    }

    /// Declarations at the start of a body, each with a semicolon.
    pub(super) fn leading_vars(&mut self, vars: &mut Vec<VarDecl>) {
        while self.at_type() || (self.is(Kind::At) && self.type_follows_annotations()) {
            let read = self.var_decl().and_then(|var| {
                vars.push(var);
                self.expect_semicolon()
            });
            if read.is_err() {
                self.skip_statement();
            }
        }
    }

    fn type_follows_annotations(&mut self) -> bool {
        let (at, problems) = (self.at, self.problems.mark());
        let last_problem = self.last_problem;
        let follows = self.annotations().is_ok() && self.at_type();
        self.at = at;
        self.last_problem = last_problem;
        self.problems.forget_since(problems);
        follows
    }

    /// Statements up to a word that closes them, which is left.
    pub(super) fn stmts(&mut self) -> Vec<Stmt> {
        let mut stmts = Vec::new();
        loop {
            let start = self.at;
            match self.kind() {
                Kind::End | Kind::Else | Kind::Elsif | Kind::Eof => return stmts,
                _ if self.at_member_word() => return stmts,
                Kind::Semicolon => {
                    let span = self.span();
                    self.syntax_error(span, "there is no empty statement", "surplus `;`");
                    self.advance();
                }
                Kind::Ident if self.is_closing_synonym() => return stmts,
                Kind::Begin => self.block(),
                Kind::Var => {
                    self.misplaced_variable();
                    if self.var_section(&mut Vec::new()).is_err() {
                        self.skip_statement();
                    }
                }
                _ if self.at_type() => {
                    self.misplaced_variable();
                    if self.var_decl().and_then(|_| self.expect_semicolon()).is_err() {
                        self.skip_statement();
                    }
                }
                _ => match self.nested(Self::stmt) {
                    Ok(Some(stmt)) => stmts.push(stmt),
                    Ok(None) => {
                        // Annotations of the next member.
                        self.at = start;
                        return stmts;
                    }
                    Err(Reported) => {
                        self.skip_statement();
                        if self.at == start {
                            self.advance();
                        }
                    }
                },
            }
        }
    }

    /// A block of classic CAL, read for the problems inside.
    fn block(&mut self) {
        let opener = self.span();
        self.dropped(opener, "blocks inside statements", "declare variables at the start of the action or procedure");
        self.advance();
        let inner = self.nested(|parser| {
            parser.stmts();
            Ok(())
        });
        if inner.is_ok() {
            self.expect_end("block", opener);
        }
    }

    fn is_closing_synonym(&self) -> bool {
        // A statement goes on after its first name; `endif` stands alone.
        self.text_of(self.lexeme()).starts_with("end")
            && !matches!(self.ahead(1).kind, Kind::Assign | Kind::OpenBracket | Kind::OpenParen | Kind::Dot | Kind::Eq)
    }

    /// Skips to the end of a statement, or to a word before which one must end.
    pub(super) fn skip_statement(&mut self) {
        let start = self.at;
        let mut depth = 0u32;
        if self.after_unterminated_string() && self.starts_line(start) {
            return;
        }
        loop {
            match self.kind() {
                Kind::Eof => return,
                Kind::Semicolon if depth == 0 => {
                    self.advance();
                    return;
                }
                Kind::End if depth > 0 => depth -= 1,
                Kind::End => return,
                Kind::Else | Kind::Elsif if depth == 0 => return,
                Kind::If | Kind::While | Kind::Foreach => {
                    if self.at > start && self.starts_line(self.at) {
                        return;
                    }
                    depth += 1;
                }
                _ if self.at_member_word() => return,
                _ => {}
            }
            self.advance();
        }
    }

    /// One statement; `None` when the annotations were those of a member that follows.
    fn stmt(&mut self) -> Parsed<Option<Stmt>> {
        let start = self.span();
        let annotations = self.annotations()?;
        let kind = match self.kind() {
            Kind::If => self.if_stmt()?,
            Kind::While => {
                let opener = self.span();
                self.advance();
                let condition = self.expr_before(Kind::Do)?;
                let body = self.stmts();
                self.expect_end("`while`", opener);
                StmtKind::While { condition, body }
            }
            Kind::Foreach | Kind::For => {
                let opener = self.span();
                if self.advance().kind == Kind::For {
                    self.problems.push(
                        Diagnostic::error("syntax-error", "a loop statement begins with `foreach`")
                            .at(opener, "`foreach` expected here")
                            .help("`for` is the word in list comprehensions"),
                    );
                }
                let generator = self.generator();
                let generator = self.recover_before(Kind::Do, generator)?;
                let body = self.stmts();
                self.expect_end("`foreach`", opener);
                let generator = generator.unwrap_or_else(|| unreadable_generator(opener));
                StmtKind::Foreach { generator, body }
            }
            Kind::Ident if !self.at_type() => self.assign_or_call()?,
            _ if !annotations.is_empty() && self.at_member_word() => return Ok(None),
            _ => return Err(self.expected("a statement")),
        };
        let span = self.since(start);
        Ok(Some(Stmt { annotations, kind, span }))
    }

    fn misplaced_variable(&mut self) -> Reported {
        let span = self.span();
        self.report(
            Diagnostic::error("syntax-error", "a declaration among statements")
                .at(span, "a statement is expected here")
                .help("declare variables before the first statement"),
        )
    }

    /// An expression and the word behind it. When the expression is wrong, the word is looked for.
    pub(super) fn expr_before(&mut self, word: Kind) -> Parsed<Expr> {
        let start = self.span();
        let expr = self.expr();
        Ok(self.recover_before(word, expr)?.unwrap_or(Expr { kind: ExprKind::Error, span: start }))
    }

    /// The `word` (`then` or `do`) behind what was read. When that or the word was wrong, the word is looked for: `Ok(None)`
    /// when one of the two stands before the end of the statement.
    pub(super) fn recover_before<T>(&mut self, word: Kind, read: Parsed<T>) -> Parsed<Option<T>> {
        let read = read.and_then(|read| self.expect(word).map(|_| read));
        if let Ok(read) = read {
            return Ok(Some(read));
        }
        loop {
            match self.kind() {
                // `then` and `do` are easily mixed up.
                Kind::Then | Kind::Do => {
                    self.advance();
                    return Ok(None);
                }
                Kind::Semicolon | Kind::End | Kind::Eof => return Err(Reported),
                Kind::If | Kind::While | Kind::Foreach if self.starts_line(self.at) => {
                    return Err(Reported);
                }
                _ if self.at_member_word() => return Err(Reported),
                _ => self.advance(),
            };
        }
    }

    fn if_stmt(&mut self) -> Parsed<StmtKind> {
        let opener = self.span();
        let mut branches = Vec::new();
        let mut otherwise = Vec::new();
        loop {
            // `if` or `elsif`
            self.advance();
            let condition = self.expr_before(Kind::Then)?;
            branches.push((condition, self.stmts()));
            if !self.is(Kind::Elsif) {
                break;
            }
        }
        if self.eat(Kind::Else) {
            otherwise = self.stmts();
        }
        while matches!(self.kind(), Kind::Else | Kind::Elsif) {
            let span = self.span();
            self.report(
                Diagnostic::error("syntax-error", "a branch after `else`")
                    .at(span, "`else` comes last")
                    .also(opener, "the `if` begins here"),
            );
            if self.advance().kind == Kind::Elsif {
                self.expr_before(Kind::Then)?;
            }
            self.stmts();
        }
        self.expect_end("`if`", opener);
        Ok(StmtKind::If { branches, otherwise })
    }

    fn assign_or_call(&mut self) -> Parsed<StmtKind> {
        let name = self.qualified_name("a statement")?;
        if self.is(Kind::OpenParen) {
            let args = self.call_args()?;
            if self.is(Kind::OpenBracket) || self.is(Kind::Assign) {
                return Err(self.expected("`;`"));
            }
            self.expect_semicolon()?;
            return Ok(StmtKind::Call { procedure: name, args });
        }
        let indices = self.indices()?;
        match self.kind() {
            Kind::Assign => {}
            _ if matches!(&*name.text, "return" | "break" | "continue" | "goto") => {
                return Err(self.dropped(
                    name.span,
                    &format!("`{}`", name.text),
                    "use `if` and the condition of the loop",
                ));
            }
            Kind::Eq | Kind::EqEq => {
                let span: Span = self.span();
                self.report(
                    Diagnostic::error("syntax-error", "an assignment is written `:=`")
                        .at(span, "expected `:=`")
                        .help("`=` compares, and defines constants"),
                );
            }
            _ if indices.is_empty() => return Err(self.expected("`:=` or `(`")),
            _ => return Err(self.expected("`:=`")),
        }
        self.advance();
        let value = self.expr()?;
        self.expect_semicolon()?;
        Ok(StmtKind::Assign { target: name, indices, value })
    }
}

/// Stands for the head of a loop that could not be read.
pub(super) fn unreadable_generator(span: Span) -> Generator {
    let unreadable = Expr { kind: ExprKind::Error, span };
    Generator { ty: None, name: Name { text: Text::new(), span }, lower: unreadable.clone(), upper: unreadable, span }
}
