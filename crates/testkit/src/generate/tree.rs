//! The generator's own program tree. It is a tree of text with holes: just enough structure that a shrinker can
//! take items away and put simpler expressions in place of larger ones, whatever file they stand in.
//!
//! The tree itself never changes. What was taken away stands in [`Cuts`], so that a shrunk program is its seed
//! and a short list of cuts.

use std::collections::{BTreeMap, BTreeSet};

/// Names an item or an expression of a program, in order of creation.
pub type NodeId = u32;

/// What a shrinker has done to a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cuts {
    /// Items that are left out.
    pub removed: BTreeSet<NodeId>,
    /// Expressions that are replaced.
    pub replaced: BTreeMap<NodeId, Cut>,
}

impl Cuts {
    /// One line for each cut, for a file.
    pub fn to_text(&self) -> String {
        let removed = self.removed.iter().map(|id| format!("remove {id}\n"));
        let replaced = self.replaced.iter().map(|(id, cut)| match cut {
            Cut::Simplest => format!("simplest {id}\n"),
            Cut::Operand(i) => format!("operand {id} {i}\n"),
        });
        removed.chain(replaced).collect()
    }

    /// Reads what [`Cuts::to_text`] wrote; `None` of anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let mut cuts = Self::default();
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                ["remove", id] => {
                    cuts.removed.insert(id.parse().ok()?);
                }
                ["simplest", id] => {
                    cuts.replaced.insert(id.parse().ok()?, Cut::Simplest);
                }
                ["operand", id, i] => {
                    cuts.replaced.insert(id.parse().ok()?, Cut::Operand(i.parse().ok()?));
                }
                _ => return None,
            }
        }
        Some(cuts)
    }
}

/// What stands in the place of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The simplest expression of its type.
    Simplest,
    /// The operand with this number.
    Operand(usize),
}

/// An expression of a generated program.
#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub id: NodeId,
    pub kind: Kind,
    /// Written in parentheses where none are needed.
    pub parens: bool,
    pub sort: Sort,
}

/// Which expressions may stand in for each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    Int,
    Bool,
    /// A list, or anything else without a simplest form.
    Other,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// A name or a literal.
    Leaf(String),
    Unary(&'static str, Box<Expr>),
    Binary(&'static str, Box<Expr>, Box<Expr>),
    /// Conditions with their values, and the value of `else`.
    If(Vec<(Expr, Expr)>, Box<Expr>),
    Call(String, Vec<Expr>),
    Index(String, Vec<Expr>),
    /// Elements, then generators as text.
    List(Vec<Expr>, Vec<String>),
}

const POSTFIX: u8 = 20;

/// Binding strength of a binary operator, as in section 4 of the language reference.
fn strength(op: &str) -> u8 {
    match op {
        "or" | "||" => 1,
        "and" | "&&" => 2,
        "|" => 3,
        "^" => 4,
        "&" => 5,
        "=" | "!=" => 6,
        "<" | "<=" | ">" | ">=" => 7,
        "<<" | ">>" => 8,
        "+" | "-" => 9,
        _ => 10,
    }
}

impl Expr {
    /// Operands that could stand in for the whole.
    pub fn operands(&self) -> Vec<&Expr> {
        match &self.kind {
            Kind::Leaf(_) => Vec::new(),
            Kind::Unary(_, e) => vec![e],
            Kind::Binary(_, l, r) => vec![l, r],
            Kind::If(arms, other) => {
                let mut out: Vec<&Expr> = vec![other];
                for (c, v) in arms {
                    out.push(v);
                    out.push(c);
                }
                out
            }
            Kind::Call(_, args) | Kind::Index(_, args) | Kind::List(args, _) => args.iter().collect(),
        }
    }

    fn print(&self, cuts: &Cuts, out: &mut String) -> u8 {
        match cuts.replaced.get(&self.id) {
            Some(Cut::Simplest) => {
                out.push_str(if self.sort == Sort::Bool { "false" } else { "0" });
                return POSTFIX;
            }
            Some(Cut::Operand(i)) => {
                if let Some(e) = self.operands().get(*i) {
                    return e.print(cuts, out);
                }
            }
            None => {}
        }
        if self.parens {
            out.push('(');
            self.print_kind(cuts, out);
            out.push(')');
            return POSTFIX;
        }
        self.print_kind(cuts, out)
    }

    fn print_at(&self, least: u8, cuts: &Cuts, out: &mut String) {
        let at = out.len();
        if self.print(cuts, out) < least {
            out.insert(at, '(');
            out.push(')');
        }
    }

    fn print_kind(&self, cuts: &Cuts, out: &mut String) -> u8 {
        match &self.kind {
            Kind::Leaf(text) => {
                out.push_str(text);
                if text.starts_with('-') { POSTFIX - 1 } else { POSTFIX }
            }
            Kind::Unary(op, e) => {
                out.push_str(op);
                if op.ends_with(|c: char| c.is_alphabetic()) {
                    out.push(' ');
                }
                e.print_at(POSTFIX, cuts, out);
                POSTFIX - 1
            }
            Kind::Binary(op, l, r) => {
                let own = strength(op);
                l.print_at(own, cuts, out);
                out.push(' ');
                out.push_str(op);
                out.push(' ');
                r.print_at(own + 1, cuts, out);
                own
            }
            Kind::If(arms, other) => {
                for (i, (c, v)) in arms.iter().enumerate() {
                    out.push_str(if i == 0 { "if " } else { " elsif " });
                    c.print(cuts, out);
                    out.push_str(" then ");
                    v.print(cuts, out);
                }
                out.push_str(" else ");
                other.print(cuts, out);
                out.push_str(" end");
                POSTFIX
            }
            Kind::Call(name, args) => {
                out.push_str(name);
                print_list("(", args, ")", cuts, out);
                POSTFIX
            }
            Kind::Index(name, at) => {
                out.push_str(name);
                for e in at {
                    out.push('[');
                    e.print(cuts, out);
                    out.push(']');
                }
                POSTFIX
            }
            Kind::List(elements, generators) => {
                print_list("[", elements, "", cuts, out);
                if !generators.is_empty() {
                    out.push_str(" : ");
                    out.push_str(&generators.join(", "));
                }
                out.push(']');
                POSTFIX
            }
        }
    }
}

fn print_list(open: &str, items: &[Expr], close: &str, cuts: &Cuts, out: &mut String) {
    out.push_str(open);
    for (i, e) in items.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        e.print(cuts, out);
    }
    out.push_str(close);
}

/// A piece of a file.
#[derive(Clone, Debug)]
pub(crate) enum Doc {
    Text(String),
    Expr(Expr),
    Seq(Vec<Doc>),
    /// Ends the line.
    Line,
    /// Set one step further to the right.
    Nest(Vec<Doc>),
    /// Left out as soon as one of these is removed.
    Item(Vec<NodeId>, Box<Doc>),
    /// `open`, the items that are still there with `sep` between them, `close`; nothing if no item is left.
    Joined {
        open: &'static str,
        sep: &'static str,
        close: &'static str,
        items: Vec<Doc>,
    },
}

impl Doc {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Prints the piece without what was cut.
    pub fn render(&self, cuts: &Cuts) -> String {
        let mut printer = Printer { out: String::new(), indent: 0, cuts };
        printer.doc(self);
        printer.out
    }

    /// Every item and every expression below, outermost first.
    pub fn visit<'a>(&'a self, item: &mut dyn FnMut(NodeId), expr: &mut dyn FnMut(&'a Expr)) {
        match self {
            Self::Text(_) | Self::Line => {}
            Self::Expr(e) => visit_expr(e, expr),
            Self::Seq(docs) | Self::Nest(docs) | Self::Joined { items: docs, .. } => {
                for d in docs {
                    d.visit(item, expr);
                }
            }
            Self::Item(ids, body) => {
                for id in ids {
                    item(*id);
                }
                body.visit(item, expr);
            }
        }
    }
}

fn visit_expr<'a>(e: &'a Expr, f: &mut dyn FnMut(&'a Expr)) {
    f(e);
    for o in e.operands() {
        visit_expr(o, f);
    }
}

struct Printer<'c> {
    out: String,
    indent: usize,
    cuts: &'c Cuts,
}

impl Printer<'_> {
    fn start(&mut self) {
        if self.out.is_empty() || self.out.ends_with('\n') {
            for _ in 0..self.indent {
                self.out.push_str("  ");
            }
        }
    }

    fn text(&mut self, text: &str) {
        if !text.is_empty() {
            self.start();
            self.out.push_str(text);
        }
    }

    fn is_cut(&self, doc: &Doc) -> bool {
        matches!(doc, Doc::Item(ids, _) if ids.iter().any(|id| self.cuts.removed.contains(id)))
    }

    fn doc(&mut self, doc: &Doc) {
        match doc {
            Doc::Text(text) => self.text(text),
            Doc::Expr(e) => {
                let mut text = String::new();
                e.print(self.cuts, &mut text);
                self.text(&text);
            }
            Doc::Seq(docs) => docs.iter().for_each(|d| self.doc(d)),
            Doc::Line => self.out.push('\n'),
            Doc::Nest(docs) => {
                self.indent += 1;
                docs.iter().for_each(|d| self.doc(d));
                self.indent -= 1;
            }
            Doc::Item(_, body) => {
                if !self.is_cut(doc) {
                    self.doc(body);
                }
            }
            Doc::Joined { open, sep, close, items } => {
                let mut first = true;
                for item in items {
                    if self.is_cut(item) {
                        continue;
                    }
                    self.text(if first { open } else { sep });
                    first = false;
                    self.doc(item);
                }
                if !first {
                    self.text(close);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(id: NodeId, text: &str) -> Box<Expr> {
        Box::new(Expr { id, kind: Kind::Leaf(text.into()), parens: false, sort: Sort::Int })
    }

    fn binary(id: NodeId, op: &'static str, l: Box<Expr>, r: Box<Expr>) -> Box<Expr> {
        Box::new(Expr { id, kind: Kind::Binary(op, l, r), parens: false, sort: Sort::Int })
    }

    #[test]
    fn parentheses_keep_the_tree() {
        let e = binary(9, "-", leaf(0, "a"), binary(8, "-", leaf(1, "b"), leaf(2, "c")));
        assert_eq!(Doc::Expr(*e).render(&Cuts::default()), "a - (b - c)");
        let e = binary(9, "&", binary(8, "=", leaf(0, "a"), leaf(1, "b")), leaf(2, "c"));
        assert_eq!(Doc::Expr(*e).render(&Cuts::default()), "a = b & c");
    }

    #[test]
    fn cuts_remove_and_replace() {
        let e = binary(9, "*", leaf(0, "a"), binary(8, "+", leaf(1, "b"), leaf(2, "c")));
        let doc = Doc::Joined {
            open: "var ",
            sep: ", ",
            close: ";",
            items: vec![Doc::Item(vec![20], Box::new(Doc::text("x"))), Doc::Item(vec![21], Box::new(Doc::Expr(*e)))],
        };
        let mut cuts = Cuts::default();
        assert_eq!(doc.render(&cuts), "var x, a * (b + c);");
        cuts.replaced.insert(8, Cut::Operand(1));
        cuts.removed.insert(20);
        assert_eq!(doc.render(&cuts), "var a * c;");
        assert_eq!(Cuts::parse(&cuts.to_text()), Some(cuts.clone()));
        cuts.replaced.insert(9, Cut::Simplest);
        assert_eq!(doc.render(&cuts), "var 0;");
        cuts.removed.insert(21);
        assert_eq!(doc.render(&cuts), "");
    }
}
