//! Networks in NL, the text format.
//!
//! ```text
//! network Bank(int n = 4, entity Cipher = ctl.block.aes.AesEncrypt) uint(size=8) In ==> uint(size=8) Out :
//! attributes { string author = "me"; }
//! var
//!     int last = n - 1;
//! entities
//!     split = Split(n = n) { partition = "hw"; };
//!     bank = [Cipher(key = i) : for int i in 0 .. last];
//!     check = if n > 1 then Vote() else Pass() end;
//! structure
//!     In --> split.In { bufferSize = 64; };
//!     foreach int i in 0 .. last do
//!         split.Out --> bank[i].In;
//!     end
//!     check.Out --> Out;
//! end
//! ```
//!
//! Sections come in any order. The part `attributes` is about the network itself. Braces hold attributes of an instance,
//! a connection or a port, each with a semicolon; the word before the name says which of XDF's five kinds it is:
//!
//! | NL | XDF |
//! | --- | --- |
//! | `bufferSize = 64;` | `kind="Value"`: any expression |
//! | `flag native;` | `kind="Flag"` |
//! | `string note = "text";` | `kind="String"` |
//! | `type token = uint(size=8);` | `kind="Type"` |
//! | `custom layout = "<a x='1'/>";` | `kind="Custom"`: the XML inside |
//!
//! A name that is a keyword of CAL, as XDF files give to instances and ports, is written in quotes: `"in" --> a.x;`. The
//! name of an attribute may be any text in quotes.
//!
//! An argument of an instantiation is an expression, or an entity with arguments (`Ctr(Cipher = Aes(rounds = 10))`). What
//! reads `name(word = ...` is taken as the latter; a function of a comparison is written with parentheses, `f((a = b))`.

use headrace_source::Span;

use super::stmt::unreadable_generator;
use super::{Parsed, Parser, Reported};
use crate::ast::*;
use crate::lexer::Kind;

/// The words that start a part of a network.
const SECTIONS: [&str; 3] = ["entities", "structure", "attributes"];

/// True when a lexeme of this kind and text starts a part of a network, given the kind of the next one: an instance or a
/// port may have such a name, too.
pub(crate) fn starts_section(kind: Kind, word: &str, next: Kind) -> bool {
    let named = matches!(next, Kind::Eq | Kind::LongArrow | Kind::Dot | Kind::OpenBracket);
    match kind {
        Kind::Var => true,
        Kind::Ident => SECTIONS.contains(&word) && !named,
        _ => false,
    }
}

impl Parser<'_> {
    pub(super) fn network(&mut self) -> Parsed<Network> {
        let start = self.span();
        self.advance();
        let name = self.name("the name of the network")?;
        let mut network = Network {
            name,
            params: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            vars: Vec::new(),
            entities: Vec::new(),
            structure: Vec::new(),
            attributes: Vec::new(),
            span: start,
        };
        let head = self.network_head(&mut network);
        let colon = head.and_then(|()| self.expect(Kind::Colon).map(|_| ()));
        if colon.is_err() && !self.at_network_section() {
            self.skip_network_head();
        }
        self.sections(&mut network);
        self.expect_end("network", start);
        network.span = self.since(start);
        Ok(network)
    }

    fn network_head(&mut self, network: &mut Network) -> Parsed<()> {
        self.expect(Kind::OpenParen)?;
        if !self.is(Kind::CloseParen) {
            network.params = self.comma_list(Self::network_param)?;
        }
        self.expect(Kind::CloseParen)?;
        if !self.is(Kind::DoubleArrow) {
            network.inputs = self.comma_list(Self::network_port)?;
        }
        self.expect(Kind::DoubleArrow)?;
        if !self.is(Kind::Colon) && !self.at_network_section() {
            network.outputs = self.comma_list(Self::network_port)?;
        }
        Ok(())
    }

    fn network_param(&mut self) -> Parsed<NetworkParam> {
        let start = self.span();
        if !(self.is_word("entity") && self.ahead(1).kind == Kind::Ident) {
            return self.var_decl().map(NetworkParam::Value);
        }
        self.advance();
        let name = self.name("the name of a parameter")?;
        let default = if self.eat(Kind::Eq) { Some(self.entity_expr()?) } else { None };
        let span = self.since(start);
        Ok(NetworkParam::Entity { name, default, span })
    }

    fn network_port(&mut self) -> Parsed<PortDecl> {
        let mut port = self.port_decl()?;
        port.attributes = self.attributes()?;
        port.span = self.since(port.span);
        Ok(port)
    }

    fn at_network_section(&self) -> bool {
        starts_section(self.kind(), self.text_of(self.lexeme()), self.ahead(1).kind)
    }

    /// After a wrong head: to the first part.
    fn skip_network_head(&mut self) {
        while !self.at_network_section() && !matches!(self.kind(), Kind::End | Kind::Eof) {
            self.advance();
        }
    }

    fn sections(&mut self, network: &mut Network) {
        loop {
            let start = self.at;
            match self.kind() {
                Kind::End | Kind::Eof => return,
                Kind::Var if self.at_network_section() => {
                    self.advance();
                    self.network_vars(&mut network.vars);
                }
                Kind::Ident if self.at_network_section() => {
                    let word = self.advance();
                    match self.text_of(word) {
                        "entities" => self.entities(&mut network.entities),
                        "structure" => network.structure.extend(self.structure()),
                        _ => match self.attributes() {
                            Ok(attributes) => network.attributes.extend(attributes),
                            Err(Reported) => self.skip_network_head(),
                        },
                    }
                }
                _ => {
                    self.expected("`var`, `entities`, `structure`, `attributes` or `end`");
                    self.skip_network_head();
                }
            }
            if self.at == start {
                self.advance();
            }
        }
    }

    fn network_vars(&mut self, vars: &mut Vec<VarDecl>) {
        while self.at_type() || self.is(Kind::At) {
            let read = self.var_decl().and_then(|var| {
                vars.push(var);
                if self.eat(Kind::Comma) { Ok(()) } else { self.expect_semicolon() }
            });
            if read.is_err() {
                self.skip_line();
            }
        }
    }

    fn entities(&mut self, entities: &mut Vec<EntityDecl>) {
        while matches!(self.kind(), Kind::Ident | Kind::Str) && !self.at_network_section() {
            match self.entity_decl() {
                Ok(entity) => entities.push(entity),
                Err(Reported) => self.skip_line(),
            }
        }
    }

    /// After a wrong line of a network: behind its semicolon, or before the next part.
    fn skip_line(&mut self) {
        let mut depth = 0u32;
        loop {
            match self.kind() {
                Kind::Eof => return,
                Kind::Semicolon if depth == 0 => {
                    self.advance();
                    return;
                }
                // Attributes end in semicolons of their own.
                Kind::OpenBrace | Kind::If => depth += 1,
                Kind::CloseBrace => depth = depth.saturating_sub(1),
                Kind::End if depth > 0 => depth -= 1,
                Kind::End | Kind::Foreach => return,
                _ if self.at_network_section() && self.starts_line(self.at) => return,
                _ => {}
            }
            self.advance();
        }
    }

    fn entity_decl(&mut self) -> Parsed<EntityDecl> {
        let name = self.name("the name of an instance")?;
        self.expect(Kind::Eq)?;
        let value = self.entity_expr()?;
        let attributes = self.attributes()?;
        self.expect_semicolon()?;
        let span = self.since(name.span);
        Ok(EntityDecl { name, value, attributes, span })
    }

    fn entity_expr(&mut self) -> Parsed<EntityExpr> {
        self.nested(|parser| {
            let start = parser.span();
            let kind = match parser.kind() {
                Kind::If => parser.entity_if()?,
                Kind::OpenBracket => parser.entity_list()?,
                _ => parser.instantiation()?,
            };
            let span = parser.since(start);
            Ok(EntityExpr { kind, span })
        })
    }

    fn entity_if(&mut self) -> Parsed<EntityExprKind> {
        let mut branches = Vec::new();
        loop {
            // `if` or `elsif`
            self.advance();
            let condition = self.expr()?;
            self.expect(Kind::Then)?;
            branches.push((condition, self.entity_expr()?));
            if !self.is(Kind::Elsif) {
                break;
            }
        }
        if self.is(Kind::End) {
            let reported = self.expected("`else`");
            // This `end` is that of the choice, not of the network.
            self.advance();
            return Err(reported);
        }
        self.expect(Kind::Else)?;
        let otherwise = Box::new(self.entity_expr()?);
        self.expect(Kind::End)?;
        Ok(EntityExprKind::If { branches, otherwise })
    }

    fn entity_list(&mut self) -> Parsed<EntityExprKind> {
        self.expect(Kind::OpenBracket)?;
        let items = self.comma_list(Self::entity_expr)?;
        let mut generators = Vec::new();
        if self.eat(Kind::Colon) {
            generators = self.generators()?;
        }
        self.expect(Kind::CloseBracket)?;
        Ok(EntityExprKind::List { items, generators })
    }

    fn instantiation(&mut self) -> Parsed<EntityExprKind> {
        let class = self.qualified_name("the name of an actor or network")?;
        let mut args = Vec::new();
        if self.eat(Kind::OpenParen) {
            if !self.is(Kind::CloseParen) {
                args = self.comma_list(Self::arg)?;
            }
            self.expect(Kind::CloseParen)?;
        }
        Ok(EntityExprKind::Instance { class, args })
    }

    fn arg(&mut self) -> Parsed<Arg> {
        let start = self.span();
        let named = matches!(self.kind(), Kind::Ident | Kind::Str) && self.ahead(1).kind == Kind::Eq;
        let name = if named {
            let name = self.name("the name of a parameter")?;
            self.advance();
            Some(name)
        } else {
            None
        };
        let value =
            if self.at_entity_value() { ArgValue::Entity(self.entity_expr()?) } else { ArgValue::Expr(self.expr()?) };
        let span = self.since(start);
        Ok(Arg { name, value, span })
    }

    /// True at `a.b.C(word =`.
    fn at_entity_value(&self) -> bool {
        let mut ahead = 0;
        while self.ahead(ahead).kind == Kind::Ident {
            match self.ahead(ahead + 1).kind {
                Kind::Dot => ahead += 2,
                Kind::OpenParen => {
                    return self.ahead(ahead + 2).kind == Kind::Ident && self.ahead(ahead + 3).kind == Kind::Eq;
                }
                _ => return false,
            }
        }
        false
    }

    /// Statements of the structure, up to a word that closes them, which is left.
    fn structure(&mut self) -> Vec<StructureStmt> {
        let mut stmts = Vec::new();
        loop {
            let start = self.at;
            let more = match self.kind() {
                Kind::If | Kind::Foreach => true,
                Kind::Ident | Kind::Str => !self.at_network_section(),
                Kind::End | Kind::Else | Kind::Elsif | Kind::Eof | Kind::Var => false,
                _ => {
                    self.expected("a connection, `foreach`, `if` or `end`");
                    self.skip_line();
                    true
                }
            };
            if !more {
                return stmts;
            }
            if self.at > start {
                continue;
            }
            match self.nested(Self::structure_stmt) {
                Ok(stmt) => stmts.push(stmt),
                Err(Reported) => self.skip_line(),
            }
            if self.at == start {
                self.advance();
            }
        }
    }

    fn structure_stmt(&mut self) -> Parsed<StructureStmt> {
        let start = self.span();
        let kind = match self.kind() {
            Kind::Foreach => self.structure_foreach(start)?,
            Kind::If => self.structure_if(start)?,
            _ => {
                let from = self.port_ref()?;
                self.expect(Kind::LongArrow)?;
                let to = self.port_ref()?;
                let attributes = self.attributes()?;
                self.expect_semicolon()?;
                StructureKind::Connection { from, to, attributes }
            }
        };
        let span = self.since(start);
        Ok(StructureStmt { kind, span })
    }

    fn structure_foreach(&mut self, opener: Span) -> Parsed<StructureKind> {
        self.advance();
        let generators = self.comma_list(|parser| {
            // The comma of several heads may be followed by `foreach` or `for` again.
            if !parser.eat(Kind::Foreach) {
                parser.eat(Kind::For);
            }
            parser.generator()
        });
        let generators = self.recover_before(Kind::Do, generators)?;
        let body = self.structure();
        self.expect_end("`foreach`", opener);
        let generators = generators.unwrap_or_else(|| vec![unreadable_generator(opener)]);
        Ok(StructureKind::Foreach { generators, body })
    }

    fn structure_if(&mut self, opener: Span) -> Parsed<StructureKind> {
        let mut branches = Vec::new();
        loop {
            // `if` or `elsif`
            self.advance();
            let condition = self.expr_before(Kind::Then)?;
            branches.push((condition, self.structure()));
            if !self.is(Kind::Elsif) {
                break;
            }
        }
        let otherwise = if self.eat(Kind::Else) { self.structure() } else { Vec::new() };
        self.expect_end("`if`", opener);
        Ok(StructureKind::If { branches, otherwise })
    }

    /// `Port`, `instance.Port` or `bank[i][j].Port`
    fn port_ref(&mut self) -> Parsed<PortRef> {
        let first = self.name("a port")?;
        let indices = self.indices()?;
        if self.is(Kind::Dot) {
            self.advance();
            let port = self.name("the name of a port")?;
            if self.is(Kind::OpenBracket) {
                let span = self.span();
                return Err(self.dropped(span, "arrays of ports", "connect one port for each"));
            }
            let span = self.since(first.span);
            let instance = Some(InstanceRef { name: first, indices });
            return Ok(PortRef { instance, port, span });
        }
        if !indices.is_empty() {
            return Err(self.expected("`.` and the name of a port"));
        }
        Ok(PortRef { instance: None, span: first.span, port: first })
    }

    /// `{ a = 1; flag b; }`, if it is there.
    fn attributes(&mut self) -> Parsed<Vec<Attribute>> {
        let mut attributes = Vec::new();
        if !self.eat(Kind::OpenBrace) {
            return Ok(attributes);
        }
        while !self.is(Kind::CloseBrace) {
            let attribute = self.attribute().and_then(|attribute| {
                let separated = self.eat(Kind::Semicolon) || self.eat(Kind::Comma) || self.is(Kind::CloseBrace);
                if separated { Ok(attribute) } else { Err(self.expected_after("`;`")) }
            });
            match attribute {
                Ok(attribute) => attributes.push(attribute),
                Err(Reported) => self.skip_attribute()?,
            }
        }
        self.expect(Kind::CloseBrace)?;
        Ok(attributes)
    }

    /// After a wrong attribute: behind its semicolon or before the closing brace.
    fn skip_attribute(&mut self) -> Parsed<()> {
        loop {
            match self.kind() {
                Kind::CloseBrace => return Ok(()),
                Kind::Semicolon => {
                    self.advance();
                    return Ok(());
                }
                // The brace was never closed.
                Kind::Eof | Kind::End | Kind::LongArrow | Kind::Dot => return Err(Reported),
                _ => self.advance(),
            };
        }
    }

    fn attribute(&mut self) -> Parsed<Attribute> {
        let start = self.span();
        let kind = self.text_of(self.lexeme());
        let next = self.ahead(1).kind;
        let has_kind = self.is(Kind::Ident) && (matches!(next, Kind::Ident | Kind::Str) || next.is_keyword());
        if has_kind {
            self.advance();
        }
        let name = if self.is(Kind::Str) {
            let span = self.span();
            let text = self.string()?;
            Name { text, span }
        } else {
            self.word("the name of an attribute")?
        };
        let value = match kind {
            "flag" if has_kind => AttributeValue::Flag,
            "string" if has_kind => {
                self.expect(Kind::Eq)?;
                AttributeValue::String(self.string()?)
            }
            "custom" if has_kind => {
                self.expect(Kind::Eq)?;
                AttributeValue::Custom(self.string()?)
            }
            "type" if has_kind => {
                self.expect(Kind::Eq)?;
                AttributeValue::Type(self.ty()?)
            }
            _ if has_kind => {
                return Err(self.syntax_error(
                    start,
                    format!("`{kind}` is not a kind of attribute"),
                    "`flag`, `string`, `type`, `custom` or nothing expected here",
                ));
            }
            _ => {
                self.expect(Kind::Eq)?;
                AttributeValue::Value(self.expr()?)
            }
        };
        let span = self.since(start);
        Ok(Attribute { name, value, span })
    }
}
