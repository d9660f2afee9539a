//! Code generation for vectors. Lanes: four or two of them are a vector of 128 bits, where all that they do is done to vectors;
//! else one follows the other.

use super::code::{Address, Code, value};
use headrace_program::{BinaryOp, Expr, ExprKind, Place, Root, Stmt, Type, UnaryOp, VariableId};
use std::collections::BTreeSet;

/// The vectors that lanes are put in.
#[derive(Clone, Copy)]
struct Shape {
    /// In the names of instructions.
    name: &'static str,
    lanes: u32,
    bits: u32,
}

const WORDS: Shape = Shape { name: "i32x4", lanes: 4, bits: 32 };
const DOUBLE_WORDS: Shape = Shape { name: "i64x2", lanes: 2, bits: 64 };

/// Lanes that are printed as vectors.
struct Vectors {
    shape: Shape,
    lane: VariableId,
    /// The number of the statement, which the names of its locals have.
    number: u32,
    /// Variables that every lane has a value of.
    own: BTreeSet<VariableId>,
    /// Variables that have one value for all, which is put into a vector before.
    uniform: BTreeSet<VariableId>,
}

/// The variables of a type that an expression reads.
fn read(expr: &Expr, bits: u32, found: &mut BTreeSet<VariableId>) {
    if let ExprKind::Read(Place { root: Root::Variable(variable), path }) = &expr.kind
        && path.is_empty()
        && expr.ty.bits() == bits
    {
        found.insert(*variable);
    }
    match &expr.kind {
        // Counts of shifts are no vectors, nor are indices.
        ExprKind::Binary(BinaryOp::ShiftLeft | BinaryOp::ShiftRight, x, _) => read(x, bits, found),
        ExprKind::Element(..) | ExprKind::Word(..) => {}
        _ => expr.parts().into_iter().for_each(|part| read(part, bits, found)),
    }
}

/// The shape for all values that differ from lane to lane, if one is.
fn shape(body: &[Stmt], count: u32) -> Option<Shape> {
    let of = |ty: Type| match ty {
        Type::U32 | Type::I32 => Some(WORDS),
        Type::U64 | Type::I64 => Some(DOUBLE_WORDS),
        _ => None,
    };
    let mut shapes = body.iter().map(|statement| match statement {
        Stmt::Assign(_, own) | Stmt::Store(_, _, own) => of(own.ty),
        _ => None,
    });
    let first = shapes.next()??;
    let same = shapes.all(|shape| shape.is_some_and(|shape| shape.bits == first.bits));
    (same && count.is_multiple_of(first.lanes)).then_some(first)
}

impl Code<'_> {
    /// The same for every lane.
    pub(super) fn lanes(&mut self, lane: VariableId, count: u32, body: &[Stmt]) {
        let number = self.number();
        let own = body.iter().filter_map(|statement| match statement {
            Stmt::Assign(Place { root: Root::Variable(variable), .. }, _) => Some(*variable),
            _ => None,
        });
        let own: BTreeSet<VariableId> = own.collect();
        let vectors = shape(body, count).map(|shape| {
            let mut uniform = BTreeSet::new();
            for statement in body {
                if let Stmt::Assign(_, value) | Stmt::Store(_, _, value) = statement {
                    read(value, shape.bits, &mut uniform);
                }
            }
            uniform.retain(|variable| *variable != lane && !own.contains(variable));
            Vectors { shape, lane, number, own, uniform }
        });
        let lines = vectors.as_ref().and_then(|vectors| {
            body.iter().map(|statement| self.vector_statement(vectors, statement)).collect::<Option<Vec<String>>>()
        });
        let name = self.variable(lane).to_owned();
        let vectors = vectors.filter(|_| lines.is_some());
        for variable in vectors.iter().flat_map(|vectors| vectors.own.iter().chain(&vectors.uniform)) {
            let local = self.vector_name(number, *variable);
            self.locals.push(format!("(local {local} v128)"));
        }
        if let Some(vectors) = &vectors {
            for variable in &vectors.uniform {
                let local = self.vector_name(number, *variable);
                let value = format!("({}.splat (local.get ${}))", vectors.shape.name, self.variable(*variable));
                self.line(&format!("(local.set {local} {value})"));
            }
        }
        self.line(&format!("(local.set ${name} (i32.const 0))"));
        self.open(&format!("(loop $lanes.{number}"));
        match lines {
            Some(lines) => lines.iter().for_each(|line| self.line(line)),
            None => self.block(body),
        }
        let step = vectors.map_or(1, |vectors| vectors.shape.lanes);
        let next = format!("(local.tee ${name} (i32.add (local.get ${name}) (i32.const {step})))");
        self.line(&format!("(br_if $lanes.{number} (i32.lt_u {next} (i32.const {count})))"));
        self.close();
        self.line(&format!("(local.set ${name} (i32.const 0))"));
    }

    fn vector_name(&self, number: u32, variable: VariableId) -> String {
        format!("$lanes.{number}.{}", self.variable(variable))
    }

    /// A statement for all lanes of a vector.
    fn vector_statement(&self, vectors: &Vectors, statement: &Stmt) -> Option<String> {
        match statement {
            Stmt::Assign(Place { root: Root::Variable(variable), .. }, own) => {
                let operand = self.vector(vectors, own)?;
                Some(format!("(local.set {} {operand})", self.vector_name(vectors.number, *variable)))
            }
            Stmt::Store(place, index, own) => {
                let address = self.of_lanes(vectors, place, index, own.ty)?;
                let operand = self.vector(vectors, own)?;
                Some(format!("(v128.store{} {operand})", address.operand()))
            }
            _ => None,
        }
    }

    /// Where elements lie that belong to one lane each, one behind the other.
    fn of_lanes(&self, vectors: &Vectors, place: &Place, index: &Expr, ty: Type) -> Option<Address> {
        let is_lane = |expr: &Expr| expr.kind == ExprKind::Read(Place::variable(vectors.lane));
        let goes_along = match &index.kind {
            _ if is_lane(index) => true,
            ExprKind::Binary(BinaryOp::Add, a, b) => {
                (is_lane(a) && b.constant().is_some()) || (is_lane(b) && a.constant().is_some())
            }
            _ => false,
        };
        (goes_along && ty.bits() == vectors.shape.bits).then(|| self.element_behind(place, index).0)
    }

    /// Whether an expression is the same for all lanes.
    fn is_uniform(vectors: &Vectors, expr: &Expr) -> bool {
        let differs = |place: &Place| match place.root {
            Root::Variable(variable) => variable == vectors.lane || vectors.own.contains(&variable),
            Root::Table(_) => false,
        };
        let own = match &expr.kind {
            ExprKind::Read(place) | ExprKind::Element(place, _) | ExprKind::Word(place, ..) => differs(place),
            _ => false,
        };
        !own && expr.parts().into_iter().all(|part| Self::is_uniform(vectors, part))
    }

    /// A value of every lane, if there are instructions for it.
    fn vector(&self, vectors: &Vectors, expr: &Expr) -> Option<String> {
        let Shape { name, lanes, bits } = vectors.shape;
        if expr.ty.bits() != bits || expr.ty.is_real() {
            return None;
        }
        if let Some(constant) = expr.constant() {
            let item = if bits == 32 { i64::from(constant as u32 as i32) } else { constant as i64 };
            return Some(format!("(v128.const {name}{})", format!(" {item}").repeat(lanes as usize)));
        }
        if let ExprKind::Read(Place { root: Root::Variable(variable), path }) = &expr.kind
            && path.is_empty()
            && vectors.uniform.contains(variable)
        {
            return Some(format!("(local.get {})", self.vector_name(vectors.number, *variable)));
        }
        if Self::is_uniform(vectors, expr) {
            return Some(format!("({name}.splat {})", self.expr(expr)));
        }
        match &expr.kind {
            ExprKind::Read(Place { root: Root::Variable(variable), .. }) if vectors.own.contains(variable) => {
                Some(format!("(local.get {})", self.vector_name(vectors.number, *variable)))
            }
            ExprKind::Element(place, index) => {
                let address = self.of_lanes(vectors, place, index, expr.ty)?;
                Some(format!("(v128.load{})", address.operand()))
            }
            ExprKind::Unary(op, x) => {
                let x = self.vector(vectors, x)?;
                Some(match op {
                    UnaryOp::Negate => format!("({name}.neg {x})"),
                    UnaryOp::Not => format!("(v128.not {x})"),
                })
            }
            ExprKind::Binary(op, a, b) => {
                if let Some(rotated) = self.rotated_by_bytes(vectors, expr) {
                    return Some(rotated);
                }
                let x = self.vector(vectors, a)?;
                let bitwise = |op: &str, y: String| Some(format!("(v128.{op} {x} {y})"));
                let shifted =
                    |op: &str| Self::is_uniform(vectors, b).then(|| format!("({name}.{op} {x} {})", self.expr(b)));
                match op {
                    BinaryOp::And => bitwise("and", self.vector(vectors, b)?),
                    BinaryOp::Or => bitwise("or", self.vector(vectors, b)?),
                    BinaryOp::Xor => bitwise("xor", self.vector(vectors, b)?),
                    BinaryOp::Add => Some(format!("({name}.add {x} {})", self.vector(vectors, b)?)),
                    BinaryOp::Sub => Some(format!("({name}.sub {x} {})", self.vector(vectors, b)?)),
                    BinaryOp::Mul => Some(format!("({name}.mul {x} {})", self.vector(vectors, b)?)),
                    BinaryOp::ShiftLeft => shifted("shl"),
                    BinaryOp::ShiftRight if expr.ty.is_signed() => shifted("shr_s"),
                    BinaryOp::ShiftRight => shifted("shr_u"),
                    BinaryOp::Div | BinaryOp::Rem => None,
                }
            }
            ExprKind::Convert(x) if value(x.ty) == value(expr.ty) => self.vector(vectors, x),
            _ => None,
        }
    }

    /// A rotation by whole bytes, which a shuffle does at once.
    fn rotated_by_bytes(&self, vectors: &Vectors, expr: &Expr) -> Option<String> {
        let ExprKind::Binary(BinaryOp::Or, a, b) = &expr.kind else { return None };
        let shifted = |expr: &Expr, wanted: BinaryOp| match &expr.kind {
            ExprKind::Binary(op, x, count) if *op == wanted => Some(((**x).clone(), count.constant()? as u32)),
            _ => None,
        };
        let (left, right) = (shifted(a, BinaryOp::ShiftLeft)?, shifted(b, BinaryOp::ShiftRight)?);
        let bits = vectors.shape.bits;
        let is_rotation = left.0 == right.0 && left.1 + right.1 == bits && !left.0.ty.is_signed();
        if !is_rotation || !left.1.is_multiple_of(8) || !left.0.is_plain() {
            return None;
        }
        let operand = self.vector(vectors, &left.0)?;
        let (n_bytes, by) = (bits / 8, left.1 / 8);
        let from = (0..16).map(|at| at / n_bytes * n_bytes + (at % n_bytes + n_bytes - by) % n_bytes);
        let from: String = from.map(|at| format!(" {at}")).collect();
        Some(format!("(i8x16.shuffle{from} {operand} {operand})"))
    }
}
