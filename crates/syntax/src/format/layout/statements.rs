//! Pretty-printing of statements and declarations.

use super::super::printer::Mark;
use super::Layout;
use crate::lexer::Kind;

impl Layout<'_> {
    pub(super) fn stmts(&mut self) {
        while !matches!(self.kind(), Kind::End | Kind::Else | Kind::Elsif | Kind::Eof) {
            let start = self.at;
            self.line();
            self.stmt();
            if self.at == start {
                self.lexeme();
            }
        }
    }

    pub(super) fn stmt(&mut self) {
        self.annotations(Mark::Space);
        match self.kind() {
            Kind::If => self.if_block(Self::stmts),
            Kind::While => {
                self.begin(1);
                self.lexeme();
                self.space();
                self.expr();
                self.space();
                self.eat(Kind::Do);
                self.end();
                self.block(Self::stmts);
                self.eat(Kind::End);
            }
            Kind::Foreach => {
                self.begin(1);
                self.lexeme();
                self.space();
                self.generator();
                self.space();
                self.eat(Kind::Do);
                self.end();
                self.block(Self::stmts);
                self.eat(Kind::End);
            }
            _ if self.at_type() => {
                self.var_decl();
                self.eat(Kind::Semicolon);
            }
            _ => {
                self.begin(1);
                self.dotted();
                if self.is(Kind::OpenParen) {
                    self.call_args();
                    self.end();
                } else {
                    self.indices();
                    self.space();
                    self.eat(Kind::Assign);
                    self.space();
                    self.value_and_end(Self::expr);
                }
                self.eat(Kind::Semicolon);
            }
        }
    }

    /// `if c then .. elsif d then .. else .. end` over statements or connections.
    pub(super) fn if_block(&mut self, body: fn(&mut Self)) {
        while matches!(self.kind(), Kind::If | Kind::Elsif) {
            self.begin(1);
            self.lexeme();
            self.space();
            self.expr();
            self.space();
            self.eat(Kind::Then);
            self.end();
            self.block(body);
        }
        if self.eat(Kind::Else) {
            self.block(body);
        }
        self.eat(Kind::End);
    }

    pub(super) fn ty(&mut self) {
        let list = self.is(Kind::ListType);
        self.lexeme();
        if !self.eat(Kind::OpenParen) {
            return;
        }
        if !list {
            self.size();
            self.eat(Kind::CloseParen);
            return;
        }
        while !self.is(Kind::CloseParen) && !self.is(Kind::Eof) {
            let start = self.at;
            if self.word() == "size" {
                self.size();
            } else {
                // `type:`
                self.lexeme();
                self.eat(Kind::Colon);
                self.ty();
            }
            if self.eat(Kind::Comma) {
                self.space();
            }
            if self.at == start {
                return;
            }
        }
        self.eat(Kind::CloseParen);
    }

    /// `size=E`
    pub(super) fn size(&mut self) {
        self.lexeme();
        self.eat(Kind::Eq);
        self.expr();
    }

    pub(super) fn var_decl(&mut self) {
        self.begin(1);
        self.annotations(Mark::Space);
        self.ty();
        self.space();
        self.lexeme();
        self.indices();
        if self.is(Kind::Eq) || self.is(Kind::Assign) {
            self.space();
            self.lexeme();
            self.space();
            self.value_and_end(Self::expr);
        } else {
            self.end();
        }
    }

    /// A value and the end of the group around it. The rows of a list are indented from the start of the line, not from
    /// where its continuation would be.
    pub(super) fn value_and_end(&mut self, value: fn(&mut Self)) {
        let list = self.is(Kind::OpenBracket);
        if list {
            self.end();
        }
        value(self);
        if !list {
            self.end();
        }
    }

    pub(super) fn indices(&mut self) {
        while self.eat(Kind::OpenBracket) {
            self.expr();
            self.eat(Kind::CloseBracket);
        }
    }

    pub(super) fn generator(&mut self) {
        self.annotations(Mark::Space);
        if self.ahead(1).kind != Kind::In {
            self.ty();
            self.space();
        }
        self.lexeme();
        self.space();
        self.eat(Kind::In);
        self.space();
        self.expr();
        self.space();
        self.eat(Kind::DotDot);
        self.space();
        self.expr();
    }
}
