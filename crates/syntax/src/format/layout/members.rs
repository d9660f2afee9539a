//! Pretty-printing of members of actors and units.

use super::super::printer::Mark;
use super::{BREAK, FILL, Layout, SOFT};
use crate::lexer::Kind;

impl Layout<'_> {
    pub(super) fn members(&mut self) {
        self.block(|layout| {
            let mut after_block = false;
            let mut first = true;
            while !layout.is(Kind::End) && !layout.is(Kind::Eof) {
                let start = layout.at;
                let block = layout.is_block_member();
                if !first && (block || after_block) {
                    layout.mark(Mark::Blank);
                }
                layout.line();
                layout.member();
                after_block = block;
                first = false;
                if layout.at == start {
                    layout.lexeme();
                }
            }
        });
        self.lexeme();
    }

    /// True when the member at hand has sections of its own, so that empty lines set it apart.
    pub(super) fn is_block_member(&self) -> bool {
        let mut ahead = 0;
        loop {
            match self.ahead(ahead).kind {
                Kind::Schedule | Kind::Priority => return true,
                Kind::Begin | Kind::Do | Kind::Guard | Kind::Var => return true,
                Kind::Semicolon | Kind::End | Kind::Eof => return false,
                // `if` expressions end in an `end` too.
                Kind::If => {
                    let mut depth = 0;
                    loop {
                        match self.ahead(ahead).kind {
                            Kind::If => depth += 1,
                            Kind::End => depth -= 1,
                            Kind::Eof => return false,
                            _ => {}
                        }
                        if depth == 0 {
                            break;
                        }
                        ahead += 1;
                    }
                }
                _ => {}
            }
            ahead += 1;
        }
    }

    pub(super) fn member(&mut self) {
        self.annotations(Mark::Space);
        if self.word() == "native" && matches!(self.ahead(1).kind, Kind::Function | Kind::Procedure) {
            self.lexeme();
            self.space();
        }
        match self.kind() {
            Kind::Function => self.function(),
            Kind::Procedure => self.procedure(),
            Kind::Schedule => self.schedule(),
            Kind::Priority => self.priority(),
            _ if self.at_type() => {
                self.var_decl();
                self.eat(Kind::Semicolon);
            }
            _ => self.action(),
        }
    }

    pub(super) fn function(&mut self) {
        self.begin(0);
        self.begin(1);
        self.lexeme();
        self.space();
        self.lexeme();
        self.params(false);
        self.mark(FILL);
        self.eat(Kind::LongArrow);
        self.space();
        self.ty();
        if self.is(Kind::End) {
            self.end();
            self.kept_break(BREAK);
            self.lexeme();
            self.end();
            return;
        }
        if self.is(Kind::Var) {
            self.end();
            self.var_section();
            self.mark(Mark::Hard);
            self.eat(Kind::Colon);
        } else {
            self.space();
            self.eat(Kind::Colon);
            self.end();
        }
        self.begin(1);
        while self.at_type() || self.is(Kind::At) {
            self.line();
            self.annotations(Mark::Space);
            self.var_decl();
            self.eat(Kind::Semicolon);
        }
        self.kept_break(BREAK);
        self.expr();
        let broken = self.breaks_here();
        self.leading_comments(false);
        self.end();
        self.mark(if broken { Mark::Hard } else { BREAK });
        self.eat(Kind::End);
        self.end();
    }

    pub(super) fn procedure(&mut self) {
        self.begin(1);
        self.lexeme();
        self.space();
        self.lexeme();
        self.params(false);
        self.end();
        if self.is(Kind::End) {
            self.kept_break(Mark::Space);
            self.lexeme();
            return;
        }
        self.var_section();
        self.mark(Mark::Hard);
        // `begin`
        self.lexeme();
        self.block(Self::stmts);
        self.eat(Kind::End);
    }

    /// `var` and its variables, from a line of its own on.
    pub(super) fn var_section(&mut self) {
        while self.is(Kind::Var) {
            self.mark(Mark::Hard);
            self.lexeme();
            self.begin(1);
            self.mark(Mark::Opener);
            while self.at_type() || self.is(Kind::At) {
                self.line();
                self.annotations(Mark::Space);
                self.var_decl();
                if !self.eat(Kind::Comma) && !self.eat(Kind::Semicolon) {
                    break;
                }
            }
            self.leading_comments(false);
            self.end();
        }
    }

    pub(super) fn dotted(&mut self) {
        self.lexeme();
        while self.is(Kind::Dot) {
            self.lexeme();
            self.lexeme();
        }
    }

    pub(super) fn action(&mut self) {
        self.begin(1);
        if !self.is(Kind::Action) && !self.is(Kind::Initialize) {
            self.dotted();
            self.eat(Kind::Colon);
            self.space();
        }
        self.lexeme();
        if !self.is(Kind::DoubleArrow) {
            self.space();
            self.patterns();
        }
        self.mark(FILL);
        self.eat(Kind::DoubleArrow);
        if self.is(Kind::Ident) {
            self.space();
            self.patterns();
        }
        self.end();
        if self.is(Kind::End) {
            self.kept_break(Mark::Space);
            self.lexeme();
            return;
        }
        loop {
            match self.kind() {
                Kind::Guard => {
                    self.mark(Mark::Hard);
                    self.lexeme();
                    self.begin(1);
                    self.mark(Mark::Opener);
                    loop {
                        self.line();
                        self.expr();
                        if !self.eat(Kind::Comma) {
                            break;
                        }
                    }
                    self.leading_comments(false);
                    self.end();
                }
                Kind::Var => self.var_section(),
                Kind::Do => {
                    self.mark(Mark::Hard);
                    self.lexeme();
                    self.block(Self::stmts);
                    break;
                }
                _ => break,
            }
        }
        self.mark(Mark::Hard);
        self.eat(Kind::End);
    }

    /// `P:[x, y] repeat n, Q:[z]`
    pub(super) fn patterns(&mut self) {
        loop {
            // `P:[`
            self.lexeme();
            self.eat(Kind::Colon);
            self.begin(1);
            self.eat(Kind::OpenBracket);
            self.mark(SOFT);
            self.exprs();
            self.eat(Kind::CloseBracket);
            self.end();
            if self.is(Kind::Repeat) {
                self.space();
                self.lexeme();
                self.space();
                self.expr();
            }
            if !self.eat(Kind::Comma) {
                break;
            }
            self.kept_break(FILL);
        }
    }

    pub(super) fn schedule(&mut self) {
        self.lexeme();
        self.space();
        let regexp = self.is(Kind::Regexp);
        self.lexeme();
        if regexp {
            self.begin(1);
            self.kept_break(BREAK);
            self.regexp();
            self.leading_comments(false);
            self.end();
            self.kept_break(Mark::Space);
            self.eat(Kind::End);
            return;
        }
        self.space();
        self.lexeme();
        self.space();
        self.eat(Kind::Colon);
        self.block(|layout| {
            while !layout.is(Kind::End) && !layout.is(Kind::Eof) {
                layout.line();
                layout.transition();
            }
        });
        self.eat(Kind::End);
    }

    pub(super) fn transition(&mut self) {
        self.begin(1);
        self.lexeme();
        loop {
            self.space();
            self.eat(Kind::OpenParen);
            loop {
                self.dotted();
                if !self.eat(Kind::Comma) {
                    break;
                }
                self.mark(FILL);
            }
            self.eat(Kind::CloseParen);
            self.space();
            self.eat(Kind::LongArrow);
            self.space();
            self.lexeme();
            if !self.is(Kind::Bar) {
                break;
            }
            self.kept_break(FILL);
            self.lexeme();
        }
        self.end();
        self.eat(Kind::Semicolon);
    }

    /// Up to the `end` of the schedule.
    pub(super) fn regexp(&mut self) {
        let mut tight = true;
        while !self.is(Kind::End) && !self.is(Kind::Eof) {
            let attached =
                matches!(self.kind(), Kind::CloseParen | Kind::Star | Kind::StarStar | Kind::Question | Kind::Dot);
            if !attached && !tight {
                self.mark(FILL);
            }
            tight = matches!(self.kind(), Kind::OpenParen | Kind::Dot);
            self.lexeme();
        }
    }

    pub(super) fn priority(&mut self) {
        self.lexeme();
        self.block(|layout| {
            while !layout.is(Kind::End) && !layout.is(Kind::Eof) {
                layout.line();
                layout.begin(1);
                layout.dotted();
                while layout.is(Kind::Gt) {
                    layout.mark(FILL);
                    layout.lexeme();
                    layout.space();
                    layout.dotted();
                }
                layout.end();
                layout.eat(Kind::Semicolon);
            }
        });
        self.eat(Kind::End);
    }
}
