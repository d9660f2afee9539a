//! Constants that their type cannot hold: what is stored is another number, which somebody has to be told.
//!
//! What is written as a bit pattern may use all bits of a type, whatever its sign: a number in hexadecimal or octal, a
//! complement, and a constant whose own type is no wider. Everything else must be a value of the type.

use crate::builder::Builder;
use crate::types::{Bounds, Elem, Ty};
use headrace_ir::{Int, IntType, MAX_WIDTH, Scalar, Type, Value, VariableId};
use headrace_source::{Diagnostic, Span};
use headrace_syntax::ast;

/// A constant whose value is not what was written.
#[derive(Clone)]
pub(crate) struct Changed {
    pub name: String,
    pub span: Span,
}

impl Builder<'_> {
    /// Warns of a constant that the type does not hold; `from` is the type that its value has where it comes from.
    pub fn check_fits(&mut self, value: &Int, ty: IntType, from: Option<Bounds>, span: Span) {
        if self.dead > 0 || value.fits(ty) || fits_other_sign(value, ty) && self.is_written_as_pattern(ty, from, span) {
            return;
        }
        self.n_changed += 1;
        let written = crate::lists::short(value);
        let kept = crate::lists::short(&value.clone().wrap(ty));
        let name = Ty::int(ty.into());
        let mut diagnostic =
            Diagnostic::warning("constant-does-not-fit", format!("{written} does not fit into `{name}`"))
                .at(span, format!("becomes {kept}"));
        let least = if value.is_negative() { value.complement() } else { value.clone() }.magnitude_bits();
        let bits = least + u64::from(ty.signed || value.is_negative());
        diagnostic = diagnostic.note(if value.is_negative() && !ty.signed {
            "an unsigned integer has no values below zero".to_owned()
        } else {
            format!("{written} needs {bits} bits, and the type has {}", ty.width)
        });
        let machine = machine_width(ty.width);
        if machine != ty.width && value.fits(IntType { signed: ty.signed, width: machine }) {
            diagnostic = diagnostic.help(format!(
                "a program written for Orcc, which keeps it in {machine} bits: add the option --orcc-widths"
            ));
        }
        self.report(diagnostic);
    }

    /// True when what is written there may use all bits of a type; `from` is the type that it has by itself.
    fn is_written_as_pattern(&self, ty: IntType, from: Option<Bounds>, span: Span) -> bool {
        let text = self.session.sources.text(span.file);
        let text = text.get(span.start as usize..span.end as usize).unwrap_or("");
        if text.contains('~') || numbers(text).any(|number| number.len() > 1 && number.starts_with('0')) {
            return true;
        }
        // Of a name, an element or a call, the type says what it is.
        let named = text.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && !text.contains(|c: char| " \t\r\n+-*/<>&|^".contains(c));
        named && from.is_some_and(|from| from.is_known() && from.width <= ty.width)
    }

    /// Warns of a value from outside that the type does not hold.
    pub fn check_value_fits(&mut self, value: &Value, from: &Ty, to: &Type, span: Span) {
        let Scalar::Int(ty) = to.element else { return };
        let from = match from.elem {
            Elem::Int(bounds) => Some(bounds),
            _ => None,
        };
        match value {
            Value::Int(value) => self.check_fits(value, ty, from, span),
            Value::List(values) => {
                // All elements are written in one place, which is looked at once.
                let mut is_pattern = None;
                let first = values.iter().find_map(|value| match value {
                    Value::Int(value) if !value.fits(ty) => {
                        let excused = fits_other_sign(value, ty)
                            && *is_pattern.get_or_insert_with(|| self.is_written_as_pattern(ty, from, span));
                        (!excused).then_some(value)
                    }
                    _ => None,
                });
                if let Some(value) = first.cloned() {
                    self.check_fits(&value, ty, from, span);
                }
            }
            _ => {}
        }
    }

    /// Warns of the numbers in a list of literals that its elements do not hold.
    pub fn check_table_fits(&mut self, expr: &ast::Expr, ty: IntType) {
        match &expr.kind {
            ast::ExprKind::List { items, .. } => items.iter().for_each(|item| self.check_table_fits(item, ty)),
            ast::ExprKind::Int(value) => self.check_fits(&Int::from(value.clone()), ty, None, expr.span),
            ast::ExprKind::Unary { op: ast::UnaryOp::Minus, operand } => {
                if let ast::ExprKind::Int(value) = &operand.kind {
                    self.check_fits(&Int::from(value.clone()).neg(), ty, None, expr.span);
                }
            }
            _ => {}
        }
    }

    /// Notes that a variable holds another number than was written, or one that comes of such.
    pub fn mark_changed(&mut self, id: VariableId) {
        let slot = &self.variables[id.index()];
        self.changed.insert(id, Changed { name: slot.name.clone(), span: slot.span });
    }

    /// Reports a size, a count or a bound that comes of a constant whose value is not what was written.
    pub fn report_changed(&mut self, what: &str, changed: &Changed, span: Span) {
        let message = format!("{what} comes of `{}`, whose value does not fit into its type", changed.name);
        self.report(
            Diagnostic::error("constant-does-not-fit", message)
                .at(span, "would be of another number than is written")
                .also(changed.span, "declared here")
                .help(
                    "give the constant a wider type; programs written for Orcc have such with the option --orcc-widths",
                ),
        );
    }
}

/// True when the bits of a type hold the value if they are read with the other signedness.
fn fits_other_sign(value: &Int, ty: IntType) -> bool {
    value.fits(IntType { signed: !ty.signed, width: ty.width })
}

/// The width in which Orcc's C code keeps an integer.
pub(crate) fn machine_width(width: u32) -> u32 {
    match width {
        0..=8 => 8,
        9..=16 => 16,
        17..=32 => 32,
        33..=64 => 64,
        _ => width.min(MAX_WIDTH),
    }
}

/// The numbers in a text, as they are written.
fn numbers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| word.starts_with(|c: char| c.is_ascii_digit()))
}
