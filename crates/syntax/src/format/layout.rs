//! Lexemes to marks: walks over a text without syntax errors as the grammar does.
//!
//! A rule here reads the same lexemes as its namesake in the parser. Should one read too little, the rest is passed on as
//! it stands; the comparison in the parent module then still holds.

use super::printer::Mark;
use crate::lexer::{Kind, Lexed, Lexeme};

/// A break that is a blank when flat.
const BREAK: Mark = Mark::Break { space: true, fill: false };
/// A break, only where the line is full.
const FILL: Mark = Mark::Break { space: true, fill: true };
/// A filling break that is nothing when flat.
const SOFT: Mark = Mark::Break { space: false, fill: true };

pub(super) fn layout(text: &str, lexed: &Lexed) -> Vec<Mark> {
    let mut layout = Layout {
        text,
        lexemes: &lexed.lexemes,
        comments: &lexed.comments,
        at: 0,
        comment_at: 0,
        last_end: 0,
        marks: Vec::with_capacity(lexed.lexemes.len() * 2),
        must_break: false,
    };
    layout.file();
    layout.marks
}

struct Layout<'a> {
    text: &'a str,
    lexemes: &'a [Lexeme],
    comments: &'a [Lexeme],
    at: usize,
    comment_at: usize,
    /// End of the last lexeme or comment that was passed on.
    last_end: u32,
    marks: Vec<Mark>,
    /// A line comment was passed on: nothing may follow on its line.
    must_break: bool,
}

impl Layout<'_> {
    // Looking

    fn ahead(&self, count: usize) -> Lexeme {
        let last = self.lexemes.len() - 1;
        self.lexemes[(self.at + count).min(last)]
    }

    fn kind(&self) -> Kind {
        self.ahead(0).kind
    }

    fn is(&self, kind: Kind) -> bool {
        self.kind() == kind
    }

    fn word(&self) -> &str {
        self.ahead(0).text(self.text)
    }

    fn newlines(&self, from: u32, to: u32) -> usize {
        self.text
            .as_bytes()
            .get(from as usize..to as usize)
            .unwrap_or(&[])
            .iter()
            .filter(|byte| **byte == b'\n')
            .count()
    }

    /// Start of the next lexeme or comment.
    fn next_start(&self) -> u32 {
        let lexeme = self.ahead(0).start;
        match self.comments.get(self.comment_at) {
            Some(comment) => comment.start.min(lexeme),
            None => lexeme,
        }
    }

    /// True when the text breaks the line here.
    fn breaks_here(&self) -> bool {
        self.must_break || self.newlines(self.last_end, self.next_start()) > 0
    }

    // Passing on

    fn mark(&mut self, mark: Mark) {
        if self.must_break {
            match mark {
                Mark::Break { .. } | Mark::Hard | Mark::Fresh => {
                    self.must_break = false;
                    self.marks.push(Mark::Hard);
                    return;
                }
                Mark::Text(..) | Mark::Comment(..) => {
                    self.must_break = false;
                    self.marks.push(Mark::Hard);
                }
                _ => {}
            }
        }
        self.marks.push(mark);
    }

    fn space(&mut self) {
        self.mark(Mark::Space);
    }

    fn begin(&mut self, levels: usize) {
        self.mark(Mark::Begin(levels));
    }

    fn end(&mut self) {
        self.mark(Mark::End);
    }

    /// A new line, after an empty one where the text has one, with the comments that stand before the next lexeme.
    fn line(&mut self) {
        self.mark(Mark::Hard);
        self.blank_line();
        self.leading_comments(true);
    }

    fn blank_line(&mut self) {
        if self.newlines(self.last_end, self.next_start()) > 1 {
            self.mark(Mark::Blank);
        }
    }

    /// A line break where the text has one, else `mark`.
    fn kept_break(&mut self, mark: Mark) {
        let mark = if self.breaks_here() { Mark::Hard } else { mark };
        self.mark(mark);
    }

    /// The next lexeme with the comments before it and those behind it on its line.
    fn lexeme(&mut self) {
        self.leading_comments(true);
        let lexeme = self.ahead(0);
        if lexeme.kind == Kind::Eof {
            return;
        }
        self.mark(Mark::Text(lexeme.start, lexeme.end));
        self.last_end = lexeme.end;
        self.at += 1;
        self.trailing_comments();
    }

    fn comment(&mut self, comment: Lexeme) {
        self.mark(Mark::Comment(comment.start, comment.end));
        self.must_break = comment.kind == Kind::LineComment;
        self.last_end = comment.end;
        self.comment_at += 1;
    }

    fn leading_comments(&mut self, before_lexeme: bool) {
        let next = self.ahead(0).start;
        while let Some(&comment) = self.comments.get(self.comment_at) {
            if comment.start > next {
                return;
            }
            if self.last_end == 0 || self.newlines(self.last_end, comment.start) > 0 {
                self.mark(Mark::Fresh);
                self.blank_line();
            } else if comment.start > self.last_end {
                self.space();
            }
            self.comment(comment);
            let following = self.next_start();
            if self.newlines(comment.end, following) > 0 {
                if before_lexeme || following < next {
                    self.mark(Mark::Hard);
                    self.blank_line();
                }
            } else if following > comment.end {
                self.space();
            }
        }
    }

    fn trailing_comments(&mut self) {
        let next = self.ahead(0).start;
        while let Some(&comment) = self.comments.get(self.comment_at) {
            let trails = comment.start < next
                && self.newlines(self.last_end, comment.start) == 0
                && self.newlines(comment.start, next) > 0;
            let ends_line = comment.kind == Kind::LineComment || {
                let following = self.comments.get(self.comment_at + 1);
                let following = following.map_or(next, |comment| comment.start.min(next));
                self.newlines(comment.end, following) > 0
            };
            if !trails || !ends_line {
                return;
            }
            self.space();
            self.comment(comment);
            self.must_break = true;
        }
    }

    /// What stands in a block, one level deeper, with the comments before the word that closes it.
    fn block(&mut self, rule: impl FnOnce(&mut Self)) {
        self.begin(1);
        self.mark(Mark::Opener);
        rule(self);
        self.leading_comments(false);
        self.end();
        self.mark(Mark::Hard);
    }

    fn eat(&mut self, kind: Kind) -> bool {
        let found = self.is(kind);
        if found {
            self.lexeme();
        }
        found
    }

    fn at_type(&self) -> bool {
        match self.kind() {
            Kind::Bool | Kind::IntType | Kind::UintType | Kind::Float | Kind::StringType | Kind::ListType => true,
            Kind::Ident => {
                matches!(self.word(), "half" | "double") && matches!(self.ahead(1).kind, Kind::Ident | Kind::Str)
            }
            _ => false,
        }
    }

    // The file

    fn file(&mut self) {
        while matches!(self.kind(), Kind::Package | Kind::Import) {
            self.line();
            let package = self.is(Kind::Package);
            while !self.is(Kind::Eof) && !self.is(Kind::Semicolon) {
                self.lexeme();
                let dotted = self.is(Kind::Dot) || self.is(Kind::Star) || self.is(Kind::Semicolon);
                let after_dot = self.at > 0 && self.lexemes[self.at - 1].kind == Kind::Dot;
                if !dotted && !after_dot {
                    self.space();
                }
            }
            self.eat(Kind::Semicolon);
            if package || self.kind() != Kind::Import {
                self.mark(Mark::Blank);
            }
        }
        self.line();
        self.annotations(Mark::Space);
        match self.kind() {
            Kind::Actor => self.actor(),
            Kind::Unit => self.unit(),
            _ => self.network(),
        }
        // Comments behind the entity, and whatever a rule has left.
        while !self.is(Kind::Eof) {
            self.space();
            self.lexeme();
        }
        self.leading_comments(false);
    }

    /// Annotations, each followed by a line break where the text has one.
    fn annotations(&mut self, otherwise: Mark) {
        while self.eat(Kind::At) {
            self.lexeme();
            if self.is(Kind::OpenParen) {
                self.tight_parens();
            }
            self.kept_break(otherwise);
        }
    }

    /// The arguments of an annotation: no blanks round `=`.
    fn tight_parens(&mut self) {
        self.eat(Kind::OpenParen);
        while !self.is(Kind::CloseParen) && !self.is(Kind::Eof) {
            let comma = self.is(Kind::Comma);
            self.lexeme();
            if comma {
                self.space();
            }
        }
        self.eat(Kind::CloseParen);
    }

    /// `actor A(params) In ==> Out :`; the keyword comes first.
    fn head(&mut self, is_network: bool) {
        self.begin(1);
        self.lexeme();
        self.space();
        self.lexeme();
        self.params(is_network);
        if self.is(Kind::DoubleArrow) {
            self.mark(BREAK);
        } else {
            self.mark(BREAK);
            self.ports(is_network);
            self.mark(BREAK);
        }
        self.eat(Kind::DoubleArrow);
        if !self.is(Kind::Colon) {
            self.space();
            self.ports(is_network);
        }
        self.space();
        self.eat(Kind::Colon);
        self.end();
    }

    fn ports(&mut self, is_network: bool) {
        self.begin(0);
        loop {
            self.annotations(Mark::Space);
            self.ty();
            self.space();
            self.lexeme();
            if is_network {
                self.attributes();
            }
            if !self.eat(Kind::Comma) {
                break;
            }
            self.kept_break(FILL);
        }
        self.end();
    }

    fn params(&mut self, is_network: bool) {
        self.begin(1);
        self.eat(Kind::OpenParen);
        let mut first = true;
        while !self.is(Kind::CloseParen) && !self.is(Kind::Eof) {
            let start = self.at;
            self.mark(if first { SOFT } else { FILL });
            first = false;
            if is_network && self.word() == "entity" && self.ahead(1).kind != Kind::Eq {
                self.lexeme();
                self.space();
                self.lexeme();
                if self.is(Kind::Eq) {
                    self.space();
                    self.lexeme();
                    self.space();
                    self.entity();
                }
            } else {
                self.var_decl();
            }
            self.eat(Kind::Comma);
            if self.at == start {
                self.lexeme();
            }
        }
        self.eat(Kind::CloseParen);
        self.end();
    }

    fn actor(&mut self) {
        self.head(false);
        self.members();
    }

    fn unit(&mut self) {
        self.lexeme();
        self.space();
        self.lexeme();
        self.space();
        self.eat(Kind::Colon);
        self.members();
    }

    // Members

    fn members(&mut self) {
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
    fn is_block_member(&self) -> bool {
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

    fn member(&mut self) {
        self.annotations(Mark::Space);
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

    fn function(&mut self) {
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

    fn procedure(&mut self) {
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
    fn var_section(&mut self) {
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

    fn dotted(&mut self) {
        self.lexeme();
        while self.is(Kind::Dot) {
            self.lexeme();
            self.lexeme();
        }
    }

    fn action(&mut self) {
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
    fn patterns(&mut self) {
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

    fn schedule(&mut self) {
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

    fn transition(&mut self) {
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
    fn regexp(&mut self) {
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

    fn priority(&mut self) {
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

    // Statements

    fn stmts(&mut self) {
        while !matches!(self.kind(), Kind::End | Kind::Else | Kind::Elsif | Kind::Eof) {
            let start = self.at;
            self.line();
            self.stmt();
            if self.at == start {
                self.lexeme();
            }
        }
    }

    fn stmt(&mut self) {
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
    fn if_block(&mut self, body: fn(&mut Self)) {
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

    // Declarations and types

    fn ty(&mut self) {
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
    fn size(&mut self) {
        self.lexeme();
        self.eat(Kind::Eq);
        self.expr();
    }

    fn var_decl(&mut self) {
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
    fn value_and_end(&mut self, value: fn(&mut Self)) {
        let list = self.is(Kind::OpenBracket);
        if list {
            self.end();
        }
        value(self);
        if !list {
            self.end();
        }
    }

    fn indices(&mut self) {
        while self.eat(Kind::OpenBracket) {
            self.expr();
            self.eat(Kind::CloseBracket);
        }
    }

    fn generator(&mut self) {
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

    // Expressions

    fn expr(&mut self) {
        self.begin(0);
        self.unary();
        while is_binary(self.kind()) {
            self.mark(FILL);
            self.lexeme();
            self.space();
            self.unary();
        }
        self.end();
    }

    fn exprs(&mut self) {
        self.expr();
        while self.eat(Kind::Comma) {
            self.kept_break(FILL);
            self.expr();
        }
    }

    fn unary(&mut self) {
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

    fn postfix(&mut self) {
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

    fn call_args(&mut self) {
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
    fn list(&mut self, item: fn(&mut Self)) {
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
    fn if_value(&mut self, value: fn(&mut Self)) {
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

    // Networks

    fn network(&mut self) {
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
    fn at_section(&self) -> bool {
        match self.kind() {
            Kind::Var => true,
            Kind::Ident => {
                matches!(self.word(), "entities" | "structure" | "attributes")
                    && !matches!(self.ahead(1).kind, Kind::Eq | Kind::LongArrow | Kind::Dot | Kind::OpenBracket)
            }
            _ => false,
        }
    }

    fn entities(&mut self) {
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

    fn entity(&mut self) {
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

    fn args(&mut self) {
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
    fn arg_value(&mut self) {
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

    fn structure(&mut self) {
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

    fn port_ref(&mut self) {
        self.lexeme();
        self.indices();
        if self.eat(Kind::Dot) {
            self.lexeme();
        }
    }

    /// `{ a = 1; flag b; }`, if it is there.
    fn attributes(&mut self) {
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

fn is_binary(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Or
            | Kind::BarBar
            | Kind::And
            | Kind::AmpAmp
            | Kind::Bar
            | Kind::Caret
            | Kind::Amp
            | Kind::Eq
            | Kind::EqEq
            | Kind::Ne
            | Kind::Lt
            | Kind::Le
            | Kind::Gt
            | Kind::Ge
            | Kind::Shl
            | Kind::Shr
            | Kind::Plus
            | Kind::Minus
            | Kind::Star
            | Kind::Slash
            | Kind::DivInt
            | Kind::Mod
            | Kind::StarStar
    )
}
