//! Lexemes to marks: walks over a text without syntax errors as the grammar does.
//!
//! A rule here reads the same lexemes as its namesake in the parser. Should one read too little, the rest is passed on as
//! it stands; the comparison in the parent module then still holds.

mod expressions;
mod members;
mod networks;
mod statements;

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
        // Annotations stand before the entity, and in some texts before the package too.
        let mut annotated = false;
        while matches!(self.kind(), Kind::Package | Kind::Import | Kind::At) {
            if self.is(Kind::At) {
                self.line();
                self.annotations(Mark::Space);
                annotated = true;
                continue;
            }
            annotated = false;
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
        if !annotated {
            self.line();
        }
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
}
