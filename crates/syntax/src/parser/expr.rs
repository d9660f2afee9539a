//! Parser of expressions, by precedence climbing.

use headrace_source::Diagnostic;
use num_bigint::BigInt;
use num_traits::Num;

use super::{Parsed, Parser};
use crate::ast::*;
use crate::lexer::Kind;

/// The longest number that is read: far more than the widest type holds.
const MAX_DIGITS: usize = 20_000;

/// The operator that a lexeme stands for between two operands.
pub(crate) fn binary_op(kind: Kind) -> Option<BinaryOp> {
    Some(match kind {
        Kind::Or | Kind::BarBar => BinaryOp::Or,
        Kind::And | Kind::AmpAmp => BinaryOp::And,
        Kind::Bar => BinaryOp::BitOr,
        Kind::Caret => BinaryOp::BitXor,
        Kind::Amp => BinaryOp::BitAnd,
        Kind::Eq | Kind::EqEq => BinaryOp::Eq,
        Kind::Ne => BinaryOp::Ne,
        Kind::Lt => BinaryOp::Lt,
        Kind::Le => BinaryOp::Le,
        Kind::Gt => BinaryOp::Gt,
        Kind::Ge => BinaryOp::Ge,
        Kind::Shl => BinaryOp::Shl,
        Kind::Shr => BinaryOp::Shr,
        Kind::Plus => BinaryOp::Add,
        Kind::Minus => BinaryOp::Sub,
        Kind::Star => BinaryOp::Mul,
        Kind::Slash => BinaryOp::Div,
        Kind::DivInt => BinaryOp::DivInt,
        Kind::Mod => BinaryOp::Mod,
        Kind::StarStar => BinaryOp::Pow,
        _ => return None,
    })
}

fn unary_op(kind: Kind) -> Option<UnaryOp> {
    Some(match kind {
        Kind::Minus => UnaryOp::Minus,
        Kind::Tilde => UnaryOp::BitNot,
        Kind::Not => UnaryOp::Not,
        Kind::Hash => UnaryOp::Length,
        _ => return None,
    })
}

impl Parser<'_> {
    pub(super) fn expr(&mut self) -> Parsed<Expr> {
        self.nested(|parser| parser.binary(1))
    }

    pub(super) fn exprs(&mut self) -> Parsed<Vec<Expr>> {
        let mut tallest = 0;
        let exprs = self.comma_list(|parser| {
            let expr = parser.expr()?;
            tallest = tallest.max(parser.height);
            Ok(expr)
        });
        self.height = tallest;
        exprs
    }

    /// Operators that bind at least as tightly as `loosest`.
    fn binary(&mut self, loosest: u8) -> Parsed<Expr> {
        let start = self.span();
        let mut left = self.unary()?;
        let mut height = self.height;
        while let Some(op) = binary_op(self.kind()) {
            if op.precedence() < loosest {
                break;
            }
            if self.is(Kind::EqEq) {
                let span = self.span();
                self.report(
                    Diagnostic::error("double-equals", "equality is a single `=`")
                        .at(span, "")
                        .help("write `a = b`; assignment is `:=`"),
                );
            }
            let sign = self.advance();
            let right = self.binary(op.precedence() + 1)?;
            height = height.max(self.height) + 1;
            if height > MAX_HEIGHT {
                return Err(self.too_deep(self.span_of(sign), MAX_HEIGHT));
            }
            left = Expr {
                kind: ExprKind::Binary { op, left: Box::new(left), right: Box::new(right) },
                span: self.since(start),
            };
        }
        self.height = height;
        Ok(left)
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let Some(op) = unary_op(self.kind()) else {
            return self.postfix();
        };
        let start = self.span();
        self.advance();
        if unary_op(self.kind()).is_some() {
            let span = self.span();
            self.syntax_error(span, "a unary operator takes no other unary operator", "parentheses are needed here");
            // The operand is read all the same, so that what follows is not lost.
            while unary_op(self.kind()).is_some() {
                self.advance();
            }
        }
        let operand = self.postfix()?;
        self.height += 1;
        Ok(Expr { kind: ExprKind::Unary { op, operand: Box::new(operand) }, span: self.since(start) })
    }

    fn postfix(&mut self) -> Parsed<Expr> {
        let start = self.span();
        if self.is(Kind::At) {
            // As in `@inline f(x)`: hints for other compilers, which say nothing about the value.
            self.annotations()?;
        }
        self.height = 1;
        let kind = match self.kind() {
            Kind::Ident => self.named()?,
            Kind::Int => self.int()?,
            Kind::Real => self.real(),
            Kind::Str => ExprKind::String(self.string()?),
            Kind::True | Kind::False => ExprKind::Bool(self.advance().kind == Kind::True),
            Kind::OpenBracket => self.list()?,
            Kind::If => self.conditional()?,
            Kind::OpenParen => {
                self.advance();
                let inner = self.expr()?;
                let height = self.height;
                self.expect(Kind::CloseParen)?;
                self.reject_index()?;
                self.height = height;
                return Ok(inner);
            }
            _ => return Err(self.expected("an expression")),
        };
        let span = self.since(start);
        Ok(Expr { kind, span })
    }

    /// A variable, an element of a list, or a call.
    fn named(&mut self) -> Parsed<ExprKind> {
        if self.is_word("old") && self.ahead(1).kind == Kind::Ident {
            let span = self.span();
            self.dropped(
                span,
                "`old`",
                "keep the earlier value in a local variable: those are initialised before the statements run",
            );
            self.advance();
        }
        let name = self.qualified_name("a name")?;
        match self.kind() {
            Kind::OpenParen => {
                let args = self.call_args()?;
                self.height += 1;
                self.reject_index()?;
                Ok(ExprKind::Call { function: name, args })
            }
            Kind::OpenBracket => {
                let indices = self.indices()?;
                self.height += 1;
                Ok(ExprKind::Index { base: name, indices })
            }
            _ => Ok(ExprKind::Var(name)),
        }
    }

    /// `(a, b)`; the height is that of the tallest argument.
    pub(super) fn call_args(&mut self) -> Parsed<Vec<Expr>> {
        self.expect(Kind::OpenParen)?;
        let mut args = Vec::new();
        self.height = 0;
        if !self.is(Kind::CloseParen) {
            args = self.exprs()?;
        }
        self.expect(Kind::CloseParen)?;
        Ok(args)
    }

    /// `[i][j]`, possibly none; the height is that of the tallest index.
    pub(super) fn indices(&mut self) -> Parsed<Vec<Expr>> {
        let mut indices = Vec::new();
        let mut tallest = 0;
        while self.eat(Kind::OpenBracket) {
            indices.push(self.expr()?);
            tallest = tallest.max(self.height);
            self.expect(Kind::CloseBracket)?;
        }
        self.height = tallest;
        Ok(indices)
    }

    fn reject_index(&mut self) -> Parsed<()> {
        if !self.is(Kind::OpenBracket) {
            return Ok(());
        }
        let span = self.span();
        Err(self.report(
            Diagnostic::error("syntax-error", "only a variable can be indexed")
                .at(span, "index of a value that is not a variable")
                .help("store the value in a local variable first"),
        ))
    }

    fn int(&mut self) -> Parsed<ExprKind> {
        let span = self.span();
        let lexeme = self.advance();
        let text = self.text_of(lexeme);
        if text.len() <= 18 && (text.len() == 1 || !text.starts_with('0')) {
            // Malformed numbers were reported by the lexer.
            return Ok(match text.parse::<u64>() {
                Ok(value) => ExprKind::Int(value.into()),
                Err(_) => ExprKind::Error,
            });
        }
        if text.len() > MAX_DIGITS {
            self.report(
                Diagnostic::error(
                    "literal-too-large",
                    format!("a number of {} digits; at most {MAX_DIGITS} are read", text.len()),
                )
                .at(span, ""),
            );
            return Ok(ExprKind::Error);
        }
        let (digits, radix) = match text.as_bytes() {
            [b'0', b'x' | b'X', ..] => (&text[2..], 16),
            [b'0', b'b' | b'B', ..] => (&text[2..], 2),
            [b'0', ..] => (text, 8),
            _ => (text, 10),
        };
        // `from_str_radix` takes underscores and signs; the lexer has reported both.
        if !digits.bytes().all(|digit| digit.is_ascii_alphanumeric()) {
            return Ok(ExprKind::Error);
        }
        if let Ok(value) = u64::from_str_radix(digits, radix) {
            return Ok(ExprKind::Int(value.into()));
        }
        Ok(BigInt::from_str_radix(digits, radix).map_or(ExprKind::Error, ExprKind::Int))
    }

    fn real(&mut self) -> ExprKind {
        let lexeme = self.advance();
        let text = self.text_of(lexeme);
        match text.parse() {
            Ok(value) => ExprKind::Real { value, text: text.into() },
            Err(_) => ExprKind::Error,
        }
    }

    fn list(&mut self) -> Parsed<ExprKind> {
        self.expect(Kind::OpenBracket)?;
        if self.is(Kind::CloseBracket) {
            let span = self.span();
            return Err(self.syntax_error(span, "a list has at least one element", ""));
        }
        let items = self.exprs()?;
        let mut height = self.height;
        let mut generators = Vec::new();
        if self.eat(Kind::Colon) {
            generators = self.generators()?;
            height = height.max(self.height);
        }
        if !self.is(Kind::CloseBracket) && !self.is(Kind::Comma) {
            return Err(self.expected("`,` or `]`"));
        }
        self.expect(Kind::CloseBracket)?;
        self.height = height + 1;
        Ok(ExprKind::List { items, generators })
    }

    /// `for T i in a .. b, for ...`
    pub(super) fn generators(&mut self) -> Parsed<Vec<Generator>> {
        let mut tallest = 0;
        let generators = self.comma_list(|parser| {
            parser.expect(Kind::For)?;
            let generator = parser.generator()?;
            tallest = tallest.max(parser.height);
            Ok(generator)
        });
        self.height = tallest;
        generators
    }

    /// `T i in a .. b`; in a network the type may be left out.
    pub(super) fn generator(&mut self) -> Parsed<Generator> {
        let start = self.span();
        self.annotations()?;
        let untyped = self.is(Kind::Ident) && self.ahead(1).kind == Kind::In;
        let ty = if untyped {
            if !self.in_network {
                let span = self.span();
                self.syntax_error(
                    span,
                    "the variable of a loop needs a type",
                    "write the type before the name, as in `int i`",
                );
            }
            None
        } else {
            Some(self.ty()?)
        };
        let name = self.name("the name of a variable")?;
        self.expect(Kind::In)?;
        let lower = self.expr()?;
        let height = self.height;
        self.expect(Kind::DotDot)?;
        let upper = self.expr()?;
        self.height = self.height.max(height);
        Ok(Generator { ty, name, lower, upper, span: self.since(start) })
    }

    fn conditional(&mut self) -> Parsed<ExprKind> {
        let opener = self.expect(Kind::If)?;
        let mut branches = Vec::new();
        let mut tallest = 0;
        loop {
            let condition = self.expr()?;
            tallest = tallest.max(self.height);
            self.expect(Kind::Then)?;
            let value = self.expr()?;
            tallest = tallest.max(self.height);
            branches.push((condition, value));
            if !self.eat(Kind::Elsif) {
                break;
            }
        }
        if self.is(Kind::End) {
            let span = self.span();
            return Err(self.report(
                Diagnostic::error("syntax-error", "an `if` expression needs an `else`")
                    .at(span, "`else` expected here")
                    .also(opener, "the expression begins here"),
            ));
        }
        self.expect(Kind::Else)?;
        let otherwise = self.expr()?;
        tallest = tallest.max(self.height);
        self.expect(Kind::End)?;
        self.height = tallest + 1;
        Ok(ExprKind::If { branches, otherwise: Box::new(otherwise) })
    }
}
