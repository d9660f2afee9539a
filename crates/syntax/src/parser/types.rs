//! Parser of types and of declarations of variables.

use super::{Parsed, Parser};
use crate::ast::*;
use crate::lexer::Kind;

impl Parser<'_> {
    /// True where a type can start. `half` and `double` are names unless a name follows.
    pub(super) fn at_type(&self) -> bool {
        match self.kind() {
            Kind::Bool | Kind::IntType | Kind::UintType | Kind::Float | Kind::StringType | Kind::ListType => true,
            Kind::Ident => self.at_floating_type() && self.ahead(1).kind == Kind::Ident,
            _ => false,
        }
    }

    fn at_floating_type(&self) -> bool {
        self.is_word("half") || self.is_word("double")
    }

    pub(super) fn ty(&mut self) -> Parsed<Type> {
        self.nested(Self::type_here)
    }

    fn type_here(&mut self) -> Parsed<Type> {
        let start = self.span();
        let kind = match self.kind() {
            Kind::Bool => TypeKind::Bool,
            Kind::Float => TypeKind::Float,
            Kind::StringType => TypeKind::String,
            Kind::IntType | Kind::UintType => {
                let signed = self.advance().kind == Kind::IntType;
                let size = self.size_argument()?.map(Box::new);
                return Ok(Type {
                    kind: if signed { TypeKind::Int(size) } else { TypeKind::Uint(size) },
                    span: self.since(start),
                });
            }
            Kind::ListType => {
                self.advance();
                return self.list_type(start);
            }
            Kind::Ident if self.is_word("half") => TypeKind::Half,
            Kind::Ident if self.is_word("double") => TypeKind::Double,
            _ => return Err(self.expected("a type")),
        };
        self.advance();
        Ok(Type { kind, span: start })
    }

    /// `(size=E)`, if it is there.
    fn size_argument(&mut self) -> Parsed<Option<Expr>> {
        if !self.eat(Kind::OpenParen) {
            return Ok(None);
        }
        let size = self.size()?;
        self.expect(Kind::CloseParen)?;
        Ok(Some(size))
    }

    /// `size=E`
    fn size(&mut self) -> Parsed<Expr> {
        if !self.eat_word("size") {
            return Err(self.expected("`size=`"));
        }
        self.expect(Kind::Eq)?;
        self.expr()
    }

    fn list_type(&mut self, start: headrace_source::Span) -> Parsed<Type> {
        self.expect(Kind::OpenParen)?;
        let size_first = self.is_word("size");
        let mut size = None;
        if size_first {
            size = Some(self.size()?);
            self.expect(Kind::Comma)?;
        }
        if !self.eat_word("type") {
            return Err(self.expected("`type:`"));
        }
        if !self.eat(Kind::Colon) {
            return Err(self.expected("`:`"));
        }
        let element = self.ty()?;
        let size = match size {
            Some(size) => size,
            None => {
                self.expect(Kind::Comma)?;
                self.size()?
            }
        };
        self.expect(Kind::CloseParen)?;
        Ok(Type { kind: TypeKind::List { element: Box::new(element), size: Box::new(size) }, span: self.since(start) })
    }

    /// `T name[d0][d1]`, with annotations and without a value.
    pub(super) fn var_head(&mut self) -> Parsed<VarDecl> {
        let start = self.span();
        let annotations = self.annotations()?;
        for word in ["const", "mutable", "external", "alias"] {
            if self.is_word(word) {
                let span = self.span();
                return Err(self.dropped(
                    span,
                    &format!("`{word}`"),
                    "`T x = e;` declares a constant, `T x := e;` a variable",
                ));
            }
        }
        let ty = self.ty()?;
        let name = self.name("the name of a variable")?;
        let mut dims = Vec::new();
        while self.eat(Kind::OpenBracket) {
            dims.push(self.expr()?);
            self.expect(Kind::CloseBracket)?;
        }
        let span = self.since(start);
        Ok(VarDecl { annotations, ty, name, dims, value: None, constant: false, span })
    }

    /// `T name = e` or `T name := e` or `T name`
    pub(super) fn var_decl(&mut self) -> Parsed<VarDecl> {
        let mut var = self.var_head()?;
        let constant = self.is(Kind::Eq);
        if constant || self.is(Kind::Assign) {
            self.advance();
            var.constant = constant;
            var.value = Some(self.expr()?);
            var.span = self.since(var.span);
        }
        Ok(var)
    }

    /// The parameters of a function or procedure, with parentheses.
    pub(super) fn params(&mut self) -> Parsed<Vec<VarDecl>> {
        self.expect(Kind::OpenParen)?;
        let mut params = Vec::new();
        if !self.is(Kind::CloseParen) {
            params = self.comma_list(Self::var_head)?;
        }
        self.expect(Kind::CloseParen)?;
        Ok(params)
    }

    /// The variables after `var`, if it is there: separated by commas; semicolons are taken too, since both are in use.
    pub(super) fn var_section(&mut self, vars: &mut Vec<VarDecl>) -> Parsed<()> {
        while self.eat(Kind::Var) {
            vars.push(self.var_decl()?);
            loop {
                let separated = self.eat(Kind::Comma)
                    || (self.is(Kind::Semicolon) && {
                        self.advance();
                        self.at_type() || self.is(Kind::At)
                    });
                if !separated {
                    break;
                }
                vars.push(self.var_decl()?);
            }
        }
        Ok(())
    }
}
