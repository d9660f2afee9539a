//! What is done for every lane, in pieces: each is a function with a loop over the lanes, and what goes from piece to piece has
//! slots.

use super::CONTEXT;
use super::layout::{LaneSlots, SLOTS};
use crate::function::FunctionBuilder;
use headrace_program::{Expr, ExprKind, Place, RecordId, Root, Stmt, Type, VariableId};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// What is done for a lane.
pub(super) struct OneLane {
    /// Has its variables.
    pub f: FunctionBuilder,
    /// The one that says which lane it is.
    pub lane: VariableId,
    /// What it computes.
    pub statements: Vec<Stmt>,
    /// Variables that are elements which no lane changes: whoever reads one reads the element.
    pub elements: FxHashMap<VariableId, Expr>,
}

/// Statements by how many come before them at least: what is independent stands together.
pub(super) fn by_depth(statements: Vec<Stmt>) -> Vec<Stmt> {
    let mut depths: FxHashMap<VariableId, usize> = FxHashMap::default();
    let mut all: Vec<(usize, Stmt)> = Vec::new();
    for statement in statements {
        let mut depth = 0;
        reads(&statement, &mut |variable| depth = depth.max(depths.get(&variable).map_or(0, |depth| depth + 1)));
        if let Stmt::Assign(Place { root: Root::Variable(variable), .. }, _) = &statement {
            depths.insert(*variable, depth);
        }
        all.push((depth, statement));
    }
    all.sort_by_key(|one| one.0);
    all.into_iter().map(|one| one.1).collect()
}

/// Statements in pieces of not more than so many, where they are as many as that: each is a loop over the lanes.
pub(super) fn pieces(statements: &[Stmt], longest: usize) -> Vec<&[Stmt]> {
    let n_pieces = statements.len().div_ceil(longest).max(1);
    statements.chunks(statements.len().div_ceil(n_pieces).max(1)).collect()
}

/// What goes from piece to piece.
pub(super) struct Between {
    /// The slot of each variable that is read in a piece behind the one that gives it its value.
    slots: FxHashMap<VariableId, (Type, u32)>,
    /// Slots of each kind, with those that pieces have between them.
    pub n_slots: [u32; 2],
    /// Of each piece, the variables that are read from slots before, and stored to slots behind.
    reads: Vec<BTreeSet<VariableId>>,
    stores: Vec<BTreeSet<VariableId>>,
}

impl Between {
    pub fn of(pieces: &[&[Stmt]], n_slots: [u32; 2]) -> Self {
        let mut given: FxHashMap<VariableId, (usize, Type)> = FxHashMap::default();
        let mut last: FxHashMap<VariableId, usize> = FxHashMap::default();
        let mut between = Between {
            slots: FxHashMap::default(),
            n_slots,
            reads: Vec::new(),
            stores: vec![BTreeSet::new(); pieces.len()],
        };
        for (number, piece) in pieces.iter().enumerate() {
            let mut read = BTreeSet::new();
            for statement in *piece {
                reads(statement, &mut |variable| {
                    if given.get(&variable).is_some_and(|&(at, _)| at < number) {
                        read.insert(variable);
                        last.insert(variable, number);
                    }
                });
                if let Stmt::Assign(Place { root: Root::Variable(variable), .. }, value) = statement {
                    given.insert(*variable, (number, value.ty));
                }
            }
            between.reads.push(read);
        }
        for (&variable, (number, _)) in given.iter().filter(|(variable, _)| last.contains_key(variable)) {
            between.stores[*number].insert(variable);
        }
        // A slot is free again in the last piece that reads it: each lane does so before it stores.
        let mut free: [Vec<u32>; 2] = Default::default();
        for number in 0..pieces.len() {
            for variable in between.reads[number].iter().filter(|variable| last[variable] == number) {
                let (ty, slot) = between.slots[variable];
                free[usize::from(ty == Type::U64)].push(slot);
            }
            for variable in &between.stores[number] {
                let kind = usize::from(given[variable].1.bits() == 64);
                let slot = free[kind].pop().unwrap_or_else(|| {
                    between.n_slots[kind] += 1;
                    between.n_slots[kind] - 1
                });
                between.slots.insert(*variable, (SLOTS[kind], slot));
            }
        }
        between
    }

    /// The function of a piece.
    pub fn function(
        &self,
        number: usize,
        piece: &[Stmt],
        of: &OneLane,
        context: RecordId,
        slots: &LaneSlots,
    ) -> FunctionBuilder {
        let mut f = FunctionBuilder::new();
        f.record("context", context);
        let lane = f.scalar("lane", Type::U32);
        let slots = slots.of(lane);
        let place = |ty: Type| slots.fields[usize::from(ty == Type::U64)].map(|field| Place::field(CONTEXT, field));
        let mut renaming = Renaming { known: FxHashMap::from_iter([(CONTEXT, CONTEXT), (of.lane, lane)]), of: &of.f };
        let mut body = Vec::new();
        let mut read = BTreeSet::new();
        piece.iter().for_each(|statement| reads(statement, &mut |variable| _ = read.insert(variable)));
        for (variable, value) in read.iter().filter_map(|variable| Some((variable, of.elements.get(variable)?))) {
            let mut differs = false;
            variables(value, &mut |variable| differs |= variable == of.lane);
            let new = renaming.variable(*variable, &mut f);
            let statement = Stmt::Assign(Place::variable(new), renaming.expr(value, &mut f));
            // What is the same for all lanes is read once.
            if differs { body.push(statement) } else { f.push(statement) }
        }
        for variable in &self.reads[number] {
            let (ty, slot) = self.slots[variable];
            let Some(place) = place(ty) else { continue };
            let value = Expr::element(place, slots.index(Expr::u32(slot)), ty);
            let new = renaming.variable(*variable, &mut f);
            let value = value.to(of.f.type_of(*variable));
            body.push(Stmt::Assign(Place::variable(new), value));
        }
        for statement in piece {
            body.push(match statement {
                Stmt::Assign(target, value) => {
                    let value = renaming.expr(value, &mut f);
                    Stmt::Assign(renaming.place(target, &mut f), value)
                }
                Stmt::Store(target, index, value) => {
                    let (target, index) = (renaming.place(target, &mut f), renaming.expr(index, &mut f));
                    Stmt::Store(target, index, renaming.expr(value, &mut f))
                }
                other => other.clone(),
            });
        }
        for variable in &self.stores[number] {
            let (ty, slot) = self.slots[variable];
            let Some(place) = place(ty) else { continue };
            let new = renaming.variable(*variable, &mut f);
            let value = f.read(new).to(ty);
            body.push(Stmt::Store(place, slots.index(Expr::u32(slot)), value));
        }
        f.push(Stmt::Lanes { lane, count: slots.count, body });
        f
    }
}

/// The variables that a statement reads.
fn reads(statement: &Stmt, visit: &mut impl FnMut(VariableId)) {
    statement.exprs().into_iter().for_each(|expr| variables(expr, visit));
}

/// The variables that an expression reads.
fn variables(expr: &Expr, visit: &mut impl FnMut(VariableId)) {
    if let ExprKind::Read(Place { root: Root::Variable(variable), path }) = &expr.kind
        && path.is_empty()
    {
        visit(*variable);
    }
    expr.parts().into_iter().for_each(|part| variables(part, visit));
}

/// Variables of one function as those of another.
struct Renaming<'f> {
    known: FxHashMap<VariableId, VariableId>,
    of: &'f FunctionBuilder,
}

impl Renaming<'_> {
    fn variable(&mut self, variable: VariableId, f: &mut FunctionBuilder) -> VariableId {
        let ty = self.of.type_of(variable);
        *self.known.entry(variable).or_insert_with(|| f.scalar("v", ty))
    }

    fn place(&mut self, place: &Place, f: &mut FunctionBuilder) -> Place {
        let root = match place.root {
            Root::Variable(variable) => Root::Variable(self.variable(variable, f)),
            root @ Root::Table(_) => root,
        };
        Place { root, path: place.path.clone() }
    }

    fn expr(&mut self, expr: &Expr, f: &mut FunctionBuilder) -> Expr {
        let kind = match &expr.kind {
            ExprKind::Constant(value) => ExprKind::Constant(*value),
            ExprKind::Has(features) => ExprKind::Has(*features),
            ExprKind::Read(place) => ExprKind::Read(self.place(place, f)),
            ExprKind::Element(place, index) => ExprKind::Element(self.place(place, f), Box::new(self.expr(index, f))),
            ExprKind::Word(place, index, order) => {
                ExprKind::Word(self.place(place, f), Box::new(self.expr(index, f)), *order)
            }
            ExprKind::Unary(op, x) => ExprKind::Unary(*op, Box::new(self.expr(x, f))),
            ExprKind::Binary(op, a, b) => ExprKind::Binary(*op, Box::new(self.expr(a, f)), Box::new(self.expr(b, f))),
            ExprKind::Compare(op, a, b) => ExprKind::Compare(*op, Box::new(self.expr(a, f)), Box::new(self.expr(b, f))),
            ExprKind::Convert(x) => ExprKind::Convert(Box::new(self.expr(x, f))),
            ExprKind::Reinterpret(x) => ExprKind::Reinterpret(Box::new(self.expr(x, f))),
            ExprKind::Select(c, a, b) => {
                ExprKind::Select(Box::new(self.expr(c, f)), Box::new(self.expr(a, f)), Box::new(self.expr(b, f)))
            }
        };
        Expr { kind, ty: expr.ty }
    }
}
