//! Pretty-printing of networks.

use super::super::printer::Mark;
use super::{BREAK, FILL, Layout, SOFT};
use crate::lexer::Kind;
use crate::parser::starts_section;

impl Layout<'_> {
    pub(super) fn network(&mut self) {
        self.head(true);
        while !self.is(Kind::End) && !self.is(Kind::Eof) {
            let start = self.at;
            self.line();
            match self.kind() {
                Kind::Var => {
                    self.lexeme();
                    self.begin(1);
                    self.mark(Mark::Opener);
                    while self.at_type() || self.is(Kind::At) {
                        self.line();
                        self.var_decl();
                        if !self.eat(Kind::Semicolon) {
                            self.eat(Kind::Comma);
                        }
                    }
                    self.end();
                }
                _ => match self.word() {
                    "entities" => self.entities(),
                    "structure" => {
                        self.lexeme();
                        self.begin(1);
                        self.mark(Mark::Opener);
                        self.structure();
                        self.end();
                    }
                    _ => {
                        self.lexeme();
                        self.attributes();
                    }
                },
            }
            if self.at == start {
                self.lexeme();
            }
        }
        self.begin(1);
        self.leading_comments(false);
        self.end();
        self.mark(Mark::Hard);
        self.eat(Kind::End);
    }

    /// True at the word of a section, not at an instance or port of that name.
    pub(super) fn at_section(&self) -> bool {
        starts_section(self.kind(), self.word(), self.ahead(1).kind)
    }

    pub(super) fn entities(&mut self) {
        self.lexeme();
        self.begin(1);
        self.mark(Mark::Opener);
        while matches!(self.kind(), Kind::Ident | Kind::Str) && !self.at_section() {
            self.line();
            self.begin(1);
            self.lexeme();
            self.space();
            self.eat(Kind::Eq);
            self.space();
            self.value_and_end(Self::entity);
            self.attributes();
            self.eat(Kind::Semicolon);
        }
        self.end();
    }

    pub(super) fn entity(&mut self) {
        match self.kind() {
            Kind::If => self.if_value(Self::entity),
            Kind::OpenBracket => self.list(Self::entity),
            _ => {
                self.dotted();
                if self.is(Kind::OpenParen) {
                    self.args();
                }
            }
        }
    }

    pub(super) fn args(&mut self) {
        self.begin(1);
        self.eat(Kind::OpenParen);
        let mut first = true;
        while !self.is(Kind::CloseParen) && !self.is(Kind::Eof) {
            let start = self.at;
            self.mark(if first { SOFT } else { FILL });
            first = false;
            if self.ahead(1).kind == Kind::Eq {
                self.lexeme();
                self.space();
                self.lexeme();
                self.space();
            }
            self.arg_value();
            self.eat(Kind::Comma);
            if self.at == start {
                self.lexeme();
            }
        }
        self.eat(Kind::CloseParen);
        self.end();
    }

    /// An expression, or an entity with arguments.
    pub(super) fn arg_value(&mut self) {
        let mut ahead = 0;
        while self.ahead(ahead).kind == Kind::Ident && self.ahead(ahead + 1).kind == Kind::Dot {
            ahead += 2;
        }
        let kinds = [0, 1, 2, 3].map(|more| self.ahead(ahead + more).kind);
        if kinds == [Kind::Ident, Kind::OpenParen, Kind::Ident, Kind::Eq] {
            self.entity();
        } else {
            self.expr();
        }
    }

    pub(super) fn structure(&mut self) {
        while matches!(self.kind(), Kind::Ident | Kind::Str | Kind::If | Kind::Foreach) && !self.at_section() {
            self.line();
            match self.kind() {
                Kind::If => self.if_block(Self::structure),
                Kind::Foreach => {
                    self.begin(1);
                    self.lexeme();
                    self.space();
                    loop {
                        if self.is(Kind::For) || self.is(Kind::Foreach) {
                            self.lexeme();
                            self.space();
                        }
                        self.generator();
                        if !self.eat(Kind::Comma) {
                            break;
                        }
                        self.mark(FILL);
                    }
                    self.space();
                    self.eat(Kind::Do);
                    self.end();
                    self.block(Self::structure);
                    self.eat(Kind::End);
                }
                _ => {
                    self.begin(1);
                    self.port_ref();
                    self.space();
                    self.eat(Kind::LongArrow);
                    self.mark(FILL);
                    self.port_ref();
                    self.end();
                    self.attributes();
                    self.eat(Kind::Semicolon);
                }
            }
        }
    }

    pub(super) fn port_ref(&mut self) {
        self.lexeme();
        self.indices();
        if self.eat(Kind::Dot) {
            self.lexeme();
        }
    }

    /// `{ a = 1; flag b; }`, if it is there.
    pub(super) fn attributes(&mut self) {
        if !self.is(Kind::OpenBrace) {
            return;
        }
        self.space();
        self.begin(0);
        self.begin(1);
        self.lexeme();
        while !self.is(Kind::CloseBrace) && !self.is(Kind::Eof) {
            let start = self.at;
            self.mark(BREAK);
            let kind = self.ahead(1).kind;
            let type_follows = self.word() == "type";
            let has_kind = matches!(kind, Kind::Ident | Kind::Str) || kind.is_keyword();
            if has_kind {
                self.lexeme();
                self.space();
            }
            self.lexeme();
            if self.is(Kind::Eq) {
                self.space();
                self.lexeme();
                self.space();
                if has_kind && type_follows {
                    self.ty();
                } else {
                    self.expr();
                }
            }
            if !self.eat(Kind::Semicolon) {
                self.eat(Kind::Comma);
            }
            if self.at == start {
                self.lexeme();
            }
        }
        self.leading_comments(false);
        self.end();
        self.mark(BREAK);
        self.eat(Kind::CloseBrace);
        self.end();
    }
}
