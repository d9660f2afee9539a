//! Pretty-printing of expressions.

use super::super::printer::Mark;
use super::{BREAK, FILL, Layout, SOFT};
use crate::lexer::Kind;
use crate::parser::binary_op;

impl Layout<'_> {
    pub(super) fn expr(&mut self) {
        self.begin(0);
        self.unary();
        while binary_op(self.kind()).is_some() {
            self.mark(FILL);
            self.lexeme();
            self.space();
            self.unary();
        }
        self.end();
    }

    pub(super) fn exprs(&mut self) {
        self.expr();
        while self.eat(Kind::Comma) {
            self.kept_break(FILL);
            self.expr();
        }
    }

    pub(super) fn unary(&mut self) {
        match self.kind() {
            Kind::Minus | Kind::Tilde | Kind::Hash => {
                self.lexeme();
                self.postfix();
            }
            Kind::Not => {
                self.lexeme();
                self.space();
                self.postfix();
            }
            _ => self.postfix(),
        }
    }

    pub(super) fn postfix(&mut self) {
        self.annotations(Mark::Space);
        match self.kind() {
            Kind::Ident => {
                self.dotted();
                if self.is(Kind::OpenParen) {
                    self.call_args();
                } else {
                    self.indices();
                }
            }
            Kind::OpenParen => {
                self.begin(1);
                self.lexeme();
                self.expr();
                self.eat(Kind::CloseParen);
                self.end();
            }
            Kind::OpenBracket => self.list(Self::expr),
            Kind::If => self.if_value(Self::expr),
            Kind::Int | Kind::Real | Kind::Str | Kind::True | Kind::False => self.lexeme(),
            _ => {}
        }
    }

    pub(super) fn call_args(&mut self) {
        self.begin(1);
        self.eat(Kind::OpenParen);
        if !self.is(Kind::CloseParen) {
            self.mark(SOFT);
            self.expr();
            while self.eat(Kind::Comma) {
                self.mark(FILL);
                self.expr();
            }
        }
        self.eat(Kind::CloseParen);
        self.end();
    }

    /// `[a, b : for ...]` over expressions or entities. Line breaks of the text are kept.
    pub(super) fn list(&mut self, item: fn(&mut Self)) {
        self.begin(0);
        self.begin(1);
        self.eat(Kind::OpenBracket);
        self.kept_break(SOFT);
        item(self);
        while self.eat(Kind::Comma) {
            self.kept_break(FILL);
            item(self);
        }
        if self.is(Kind::Colon) {
            self.mark(FILL);
            self.lexeme();
            self.space();
            loop {
                self.eat(Kind::For);
                self.space();
                self.generator();
                if !self.eat(Kind::Comma) {
                    break;
                }
                self.mark(FILL);
            }
        }
        let broken = self.breaks_here();
        self.leading_comments(false);
        self.end();
        if broken {
            self.mark(Mark::Hard);
        }
        self.eat(Kind::CloseBracket);
        self.end();
    }

    /// `if c then a else b end` over expressions or entities.
    pub(super) fn if_value(&mut self, value: fn(&mut Self)) {
        self.begin(0);
        while matches!(self.kind(), Kind::If | Kind::Elsif) {
            self.mark(Mark::Indent);
            self.lexeme();
            self.space();
            self.expr();
            self.space();
            self.eat(Kind::Then);
            self.mark(BREAK);
            value(self);
            self.end();
            self.mark(BREAK);
        }
        self.mark(Mark::Indent);
        self.eat(Kind::Else);
        self.mark(BREAK);
        value(self);
        self.end();
        self.mark(BREAK);
        self.eat(Kind::End);
        self.end();
    }
}
