//! Lexemes to tree: recursive descent, one function a rule of the grammar.
//!
//! A rule that fails reports the problem, once, and returns `Err(Reported)`; the nearest rule that reads a sequence
//! (members, statements, sections) then skips to a place where the next element can start. So every problem of a file is
//! found in one go and none is found twice. Nesting is counted on the way down and the height of expressions on the way
//! up, so that neither reading a tree nor walking over it can exhaust a stack.

mod actor;
mod expr;
mod network;
mod stmt;
mod types;

pub(crate) use expr::binary_op;
pub(crate) use network::starts_section;

use headrace_source::{Diagnostic, FileId, Span};

use crate::ast::*;
use crate::lexer::{self, Kind, Lexeme};
use crate::problems::Problems;

/// The deepest nesting of parentheses, lists, types and statements.
pub const MAX_NESTING: u32 = 200;

/// Reads a `.cal` or `.nl` text; the keyword decides which. The file is `None` when there is not even the head of an
/// actor, a unit or a network; then at least one error says why.
pub fn parse(file: FileId, text: &str) -> (Option<File>, Vec<Diagnostic>) {
    let lexed = lexer::lex(file, text);
    let mut parser = Parser::new(file, text, lexed.lexemes, lexed.problems);
    let tree = parser.file();
    (tree, parser.problems.into_diagnostics(file))
}

/// A problem was found and reported.
struct Reported;

type Parsed<T> = Result<T, Reported>;

struct Parser<'a> {
    file: FileId,
    text: &'a str,
    lexemes: Vec<Lexeme>,
    at: usize,
    problems: Problems,
    /// First bytes of what the lexer has reported, in order.
    lexer_problems: Vec<u32>,
    /// Index of the lexeme at which the last problem was reported.
    last_problem: Option<usize>,
    nesting: u32,
    /// Height of the expression that was read last.
    height: u32,
    /// In a network the type of a generator may be left out.
    in_network: bool,
}

impl<'a> Parser<'a> {
    fn new(file: FileId, text: &'a str, lexemes: Vec<Lexeme>, problems: Problems) -> Self {
        let lexer_problems = problems.starts();
        Self {
            file,
            text,
            lexemes,
            at: 0,
            problems,
            lexer_problems,
            last_problem: None,
            nesting: 0,
            height: 0,
            in_network: false,
        }
    }

    // Looking

    fn lexeme(&self) -> Lexeme {
        self.ahead(0)
    }

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

    fn span_of(&self, lexeme: Lexeme) -> Span {
        Span { file: self.file, start: lexeme.start, end: lexeme.end }
    }

    fn span(&self) -> Span {
        self.span_of(self.lexeme())
    }

    fn text_of(&self, lexeme: Lexeme) -> &'a str {
        lexeme.text(self.text)
    }

    /// True when the current lexeme is the identifier `word`.
    fn is_word(&self, word: &str) -> bool {
        self.is(Kind::Ident) && self.text_of(self.lexeme()) == word
    }

    /// From `start` to the end of the lexeme before the current one.
    fn since(&self, start: Span) -> Span {
        match self.previous() {
            Some(previous) => start.to(self.span_of(previous)),
            None => start,
        }
    }

    fn previous(&self) -> Option<Lexeme> {
        self.at.checked_sub(1).map(|at| self.lexemes[at])
    }

    /// True when the lexeme at this index is the first one of its line.
    fn starts_line(&self, at: usize) -> bool {
        let Some(before) = at.checked_sub(1) else {
            return true;
        };
        let (from, to) = (self.lexemes[before].end, self.lexemes[at].start);
        self.text.as_bytes()[from as usize..to as usize].contains(&b'\n')
    }

    // Moving

    fn advance(&mut self) -> Lexeme {
        let lexeme = self.lexeme();
        if lexeme.kind != Kind::Eof {
            self.at += 1;
        }
        lexeme
    }

    fn eat(&mut self, kind: Kind) -> bool {
        let found = self.is(kind);
        if found {
            self.advance();
        }
        found
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, kind: Kind) -> Parsed<Span> {
        if self.is(kind) {
            let lexeme = self.advance();
            return Ok(self.span_of(lexeme));
        }
        if matches!(kind, Kind::LongArrow | Kind::DoubleArrow) {
            return self.other_arrow(kind);
        }
        Err(self.expected(&format!("`{}`", kind.fixed_text().unwrap_or("?"))))
    }

    /// An arrow that is drawn in another way is reported and taken as the one that is expected.
    fn other_arrow(&mut self, kind: Kind) -> Parsed<Span> {
        let start = self.span();
        let reported = self.expected(&format!("`{}`", kind.fixed_text().unwrap_or("?")));
        match self.kind() {
            Kind::LongArrow | Kind::DoubleArrow | Kind::FatArrow => {}
            Kind::Minus if self.ahead(1).kind == Kind::Gt => {
                self.advance();
            }
            _ => return Err(reported),
        }
        self.advance();
        Ok(self.since(start))
    }

    /// A `;` that is only missing before a line break, a closing word or the end is reported and taken as written.
    fn expect_semicolon(&mut self) -> Parsed<()> {
        if self.eat(Kind::Semicolon) {
            return Ok(());
        }
        let problem = self.expected_after("`;`");
        match self.kind() {
            Kind::End | Kind::Else | Kind::Elsif | Kind::Eof | Kind::CloseBrace => Ok(()),
            _ if self.starts_line(self.at) => Ok(()),
            _ => Err(problem),
        }
    }

    fn name(&mut self, what: &str) -> Parsed<Name> {
        if self.in_network && self.is(Kind::Str) {
            return self.quoted_name();
        }
        if !self.is(Kind::Ident) {
            return Err(self.expected(what));
        }
        let lexeme = self.advance();
        Ok(Name { text: self.text_of(lexeme).into(), span: self.span_of(lexeme) })
    }

    /// In networks a keyword in quotes is a name: XDF gives such names to instances and ports.
    fn quoted_name(&mut self) -> Parsed<Name> {
        let span = self.span();
        let text = self.string()?;
        if lexer::is_identifier(&text) {
            return Ok(Name { text, span });
        }
        self.problems.push(
            Diagnostic::error("syntax-error", format!("`{}` is not a name", lexer::shortened(&text)))
                .at(span, "a name has letters, digits and underscores"),
        );
        Err(Reported)
    }

    fn qualified_name(&mut self, what: &str) -> Parsed<QualifiedName> {
        let first = self.name(what)?;
        let mut name = QualifiedName { text: first.text, span: first.span };
        while self.is(Kind::Dot) && self.ahead(1).kind == Kind::Ident {
            self.advance();
            let part = self.advance();
            name.text.push('.');
            name.text.push_str(self.text_of(part));
            name.span = name.span.to(self.span_of(part));
        }
        Ok(name)
    }

    /// Elements with commas between them, at least one.
    fn comma_list<T>(&mut self, mut element: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut list = vec![element(self)?];
        while self.eat(Kind::Comma) {
            list.push(element(self)?);
        }
        Ok(list)
    }

    // Nesting

    /// Runs `rule` one level deeper; too deep is a problem.
    fn nested<T>(&mut self, rule: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.nesting >= MAX_NESTING {
            return Err(self.too_deep(self.span(), MAX_NESTING));
        }
        self.nesting += 1;
        let result = rule(self);
        self.nesting -= 1;
        result
    }

    fn too_deep(&mut self, span: Span, most: u32) -> Reported {
        // What follows cannot be told apart from more of the same, so reading ends here.
        self.report(
            Diagnostic::error("nesting-too-deep", format!("nested more than {most} deep"))
                .at(span, "")
                .help("give parts of it names of their own"),
        );
        self.at = self.lexemes.len() - 1;
        self.last_problem = Some(self.at);
        Reported
    }

    // Problems

    /// Adds a diagnostic, unless one was reported at the same lexeme or by the lexer just before it.
    fn report(&mut self, diagnostic: Diagnostic) -> Reported {
        if self.last_problem != Some(self.at) && !self.after_lexer_problem() {
            self.last_problem = Some(self.at);
            self.problems.push(diagnostic);
        }
        Reported
    }

    fn syntax_error(&mut self, span: Span, message: impl Into<String>, label: &str) -> Reported {
        self.report(Diagnostic::error("syntax-error", message).at(span, label))
    }

    /// True when something unreadable was left out before this lexeme, or the lexeme before is unreadable to its end.
    fn after_lexer_problem(&self) -> bool {
        let from = self.previous().map_or(0, |previous| previous.end);
        let to = self.lexeme().start;
        let next = self.lexer_problems.partition_point(|start| *start < from);
        self.after_unterminated_string() || self.lexer_problems.get(next).is_some_and(|start| *start < to)
    }

    /// What follows a string without an end is part of the string.
    fn after_unterminated_string(&self) -> bool {
        self.previous().is_some_and(|previous| {
            let text = self.text_of(previous);
            previous.kind == Kind::Str && (text.len() < 2 || text.as_bytes()[0] != text.as_bytes()[text.len() - 1])
        })
    }

    fn found(&self) -> String {
        let lexeme = self.lexeme();
        match lexeme.kind {
            Kind::Eof => "the end of the file".into(),
            Kind::Str => "a string".into(),
            kind if kind.is_keyword() => format!("the keyword `{}`", self.text_of(lexeme)),
            _ => format!("`{}`", lexer::shortened(self.text_of(lexeme))),
        }
    }

    fn expected(&mut self, what: &str) -> Reported {
        let message = format!("expected {what}, found {}", self.found());
        let span = self.span();
        self.syntax_error(span, message, &format!("{what} expected here"))
    }

    /// Like [`Self::expected`], pointing behind the last lexeme: for what is missing at the end of something.
    fn expected_after(&mut self, what: &str) -> Reported {
        let message = format!("expected {what}, found {}", self.found());
        let end = self.previous().map_or(0, |previous| previous.end as usize);
        self.syntax_error(Span::new(self.file, end, end), message, &format!("{what} is missing here"))
    }

    /// A construct of classic CAL or of another dialect.
    fn dropped(&mut self, span: Span, what: &str, help: &str) -> Reported {
        self.report(Diagnostic::error("dropped-construct", format!("RVC-CAL has no {what}")).at(span, "").help(help))
    }

    // The file

    fn file(&mut self) -> Option<File> {
        let start = Span::new(self.file, 0, 0);
        let mut package = None;
        let mut imports = Vec::new();
        let mut annotations = Vec::new();
        if self.is(Kind::Eof) {
            if self.problems.is_empty() {
                self.expected("`actor`, `unit` or `network`");
            }
            return None;
        }
        loop {
            let read = match self.kind() {
                Kind::Package => self.package().map(|name| {
                    package.get_or_insert(name);
                }),
                Kind::Import => self.import().map(|import| imports.push(import)),
                Kind::At => self.annotation().map(|annotation| annotations.push(annotation)),
                _ => break,
            };
            if read.is_err() {
                self.skip_to_entity();
            }
        }
        if !self.at_entity() {
            self.unknown_entity();
            while !self.at_entity() {
                if self.is(Kind::Eof) {
                    return None;
                }
                self.advance();
            }
        }
        let entity = self.nested(|parser| parser.entity()).ok()?;
        if !self.is(Kind::Eof) {
            let span = self.span();
            self.report(
                Diagnostic::error("syntax-error", "text after the end of the entity")
                    .at(span, "nothing may follow")
                    .help("a file holds one actor, unit or network"),
            );
        }
        let span = self.since(start);
        Some(File { package, imports, annotations, entity, span })
    }

    fn at_entity(&self) -> bool {
        let named = self.ahead(1).kind == Kind::Ident;
        named && (matches!(self.kind(), Kind::Actor | Kind::Unit) || self.is_word("network"))
    }

    fn unknown_entity(&mut self) {
        let span = self.span();
        if self.is_word("namespace") {
            self.dropped(span, "`namespace`", "write `package a.b;` and one entity a file");
        } else {
            self.expected("`actor`, `unit` or `network`");
        }
    }

    fn entity(&mut self) -> Parsed<Entity> {
        match self.kind() {
            Kind::Actor => Ok(Entity::Actor(self.actor()?)),
            Kind::Unit => Ok(Entity::Unit(self.unit()?)),
            _ => {
                self.in_network = true;
                Ok(Entity::Network(self.network()?))
            }
        }
    }

    fn package(&mut self) -> Parsed<QualifiedName> {
        self.advance();
        let name = self.qualified_name("the name of a package")?;
        self.expect_semicolon()?;
        Ok(name)
    }

    fn import(&mut self) -> Parsed<Import> {
        let start = self.span();
        self.advance();
        // StreamBlocks says what is imported; the name alone decides here.
        if (self.is_word("entity") || self.is(Kind::Var)) && self.ahead(1).kind == Kind::Ident {
            self.advance();
        }
        let name = self.qualified_name("a qualified name")?;
        let wildcard = self.is(Kind::Dot) && self.ahead(1).kind == Kind::Star;
        if wildcard {
            self.advance();
            self.advance();
        }
        self.expect_semicolon()?;
        let span = self.since(start);
        Ok(Import { name, wildcard, span })
    }

    fn skip_to_entity(&mut self) {
        while !self.at_entity() && !matches!(self.kind(), Kind::Import | Kind::Package | Kind::Eof) {
            if self.advance().kind == Kind::Semicolon {
                break;
            }
        }
    }

    fn annotations(&mut self) -> Parsed<Vec<Annotation>> {
        let mut annotations = Vec::new();
        while self.is(Kind::At) {
            annotations.push(self.annotation()?);
        }
        Ok(annotations)
    }

    fn annotation(&mut self) -> Parsed<Annotation> {
        let start = self.expect(Kind::At)?;
        let name = self.word("the name of an annotation")?;
        let mut args = Vec::new();
        if self.is(Kind::OpenParen) {
            self.advance();
            if !self.is(Kind::CloseParen) {
                args = self.comma_list(Self::annotation_arg)?;
            }
            self.expect(Kind::CloseParen)?;
        }
        let span = self.since(start);
        Ok(Annotation { name, args, span })
    }

    /// A name for which a keyword may stand too, as in `@initialize`.
    fn word(&mut self, what: &str) -> Parsed<Name> {
        if !self.kind().is_keyword() {
            return self.name(what);
        }
        let lexeme = self.advance();
        Ok(Name { text: self.text_of(lexeme).into(), span: self.span_of(lexeme) })
    }

    fn annotation_arg(&mut self) -> Parsed<AnnotationArg> {
        let name = self.word("the name of an argument")?;
        let mut value = None;
        if self.eat(Kind::Eq) {
            value = Some(match self.kind() {
                Kind::Str => self.string()?,
                Kind::Int | Kind::Real | Kind::Ident | Kind::True | Kind::False => {
                    let lexeme = self.advance();
                    self.text_of(lexeme).into()
                }
                _ => return Err(self.expected("a string")),
            });
        }
        let span = self.since(name.span);
        Ok(AnnotationArg { name, value, span })
    }

    /// A string literal, unescaped.
    fn string(&mut self) -> Parsed<Text> {
        if !self.is(Kind::Str) {
            return Err(self.expected("a string"));
        }
        let lexeme = self.advance();
        match lexer::unescape(self.text_of(lexeme)) {
            Ok(value) => Ok(value.into()),
            Err((from, to)) => {
                let start = lexeme.start as usize;
                self.problems.push(
                    Diagnostic::error("unknown-escape", "unknown escape in a string")
                        .at(Span::new(self.file, start + from, start + to), "")
                        .help("write \\\\ for a backslash"),
                );
                Ok(Text::new())
            }
        }
    }

    /// A word such as `endif` in the place of `end`, reported and taken as `end`.
    fn eat_closing_synonym(&mut self) -> bool {
        const CLOSED: [&str; 10] =
            ["action", "actor", "foreach", "function", "if", "initialize", "network", "priority", "procedure", "while"];
        let word = self.text_of(self.lexeme());
        let closes = self.is(Kind::Ident) && word.strip_prefix("end").is_some_and(|what| CLOSED.contains(&what));
        if closes {
            let span = self.span();
            self.dropped(span, &format!("`{word}`"), "close every construct with `end`");
            self.advance();
        }
        closes
    }

    /// The `end` of what was opened at `opener`. When it is missing, that is reported and reading goes on.
    fn expect_end(&mut self, what: &str, opener: Span) {
        if self.eat(Kind::End) || self.eat_closing_synonym() {
            return;
        }
        let found = self.found();
        let span = self.span();
        self.report(
            Diagnostic::error("syntax-error", format!("expected the `end` of the {what}, found {found}"))
                .at(span, "`end` expected here")
                .also(opener, format!("the {what} begins here")),
        );
    }
}
