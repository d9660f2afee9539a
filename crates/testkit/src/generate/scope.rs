//! What a generated expression or statement may name, and the budget that keeps programs small.

use super::Knobs;
use super::tree::{Expr, Kind, NodeId, Sort};
use super::types::{Bound, Ty};
use crate::rng::Rng;

/// A variable, constant, parameter, bound token or port-independent name.
#[derive(Clone, Debug)]
pub(crate) struct Var {
    pub name: String,
    pub ty: Ty,
    pub bound: Bound,
    /// May stand on the left of `:=`.
    pub assignable: bool,
    /// Known when the program is compiled.
    pub constant: bool,
    /// A list parameter that may be shorter than its type says: never used as a whole, indexed below `ty.dims[0]`.
    pub partial: bool,
    /// A state variable of the actor.
    pub state: bool,
}

impl Var {
    pub fn new(name: impl Into<String>, ty: Ty) -> Self {
        let bound = Bound::of(ty.scalar);
        Self { name: name.into(), ty, bound, assignable: true, constant: false, partial: false, state: false }
    }

    pub fn fixed(mut self) -> Self {
        self.assignable = false;
        self
    }
}

/// A function or procedure that may be called.
#[derive(Clone, Debug)]
pub(crate) struct Callable {
    pub name: String,
    pub params: Vec<Param>,
    /// `None` of a procedure.
    pub result: Option<Ty>,
    /// Rough number of operations of a call.
    pub cost: i64,
    /// Reads or writes state, so it cannot be used in constants.
    pub uses_state: bool,
    /// The first parameter bounds a recursion and must stay at or below this.
    pub depth: Option<u32>,
}

#[derive(Clone, Debug)]
pub(crate) struct Param {
    pub ty: Ty,
    /// Actual lists may be as short as this in the outermost dimension.
    pub shortest: u32,
    /// The procedure assigns to the caller's list.
    pub written: bool,
}

/// What is visible at a point.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    pub vars: Vec<Var>,
    pub callables: Vec<Callable>,
    /// How often the code at this point runs, roughly.
    pub times: i64,
    /// Loops around this point.
    pub loops: u32,
}

impl Scope {
    pub fn add(&mut self, var: Var) {
        self.vars.retain(|v| v.name != var.name);
        self.vars.push(var);
    }

    /// Only what folds at compile time, plus state variables when `state` (their initial values).
    pub fn constants(&self, state: bool) -> Self {
        let mut inner = self.clone();
        inner.vars.retain(|v| v.constant || (state && v.state));
        inner.callables.retain(|c| !c.uses_state && c.result.is_some());
        inner
    }

    /// Without what may not be seen in a function: nothing is assignable there.
    pub fn read_only(&self) -> Self {
        let mut inner = self.clone();
        inner.vars.iter_mut().for_each(|v| v.assignable = false);
        inner
    }
}

/// State of one generation: the random sequence, names, and the budget.
pub(crate) struct Builder<'k> {
    pub rng: Rng,
    pub knobs: &'k Knobs,
    next_node: NodeId,
    next_name: u32,
    /// Operations that the body being generated may still cost per run.
    pub budget: i64,
    /// Set when the code generated since it was cleared reads or writes state.
    pub touched_state: bool,
    /// Widest intermediate result.
    pub widest: u32,
    /// Widest variable.
    pub widest_variable: u32,
    /// Local variables that statements asked for.
    pub locals: Vec<super::tree::Doc>,
    /// What the lines of output of this actor begin with, if it may print.
    pub prints_as: Option<String>,
    /// Names of texts that may be printed.
    pub texts: Vec<String>,
}

impl<'k> Builder<'k> {
    pub fn new(rng: Rng, knobs: &'k Knobs) -> Self {
        Self {
            rng,
            knobs,
            next_node: 0,
            next_name: 0,
            budget: 0,
            touched_state: false,
            widest: 64,
            widest_variable: knobs.widest,
            locals: Vec::new(),
            prints_as: None,
            texts: Vec::new(),
        }
    }

    /// A node's identity.
    pub fn node(&mut self) -> NodeId {
        self.next_node += 1;
        self.next_node
    }

    /// A name that no other declaration of the program has.
    pub fn name(&mut self, stem: &str) -> String {
        self.next_name += 1;
        format!("{stem}{}", self.next_name)
    }

    /// How wide the next operations may get: mostly a little over a machine word.
    pub fn draw_widest(&mut self) {
        let most = self.knobs.widest;
        let drawn = match self.rng.weighted(&[50, 25, 15, 10]) {
            0 => 72,
            1 => 150,
            2 => 400,
            _ => most,
        };
        self.widest = drawn.min(most);
    }

    pub fn expr(&mut self, kind: Kind, sort: Sort) -> Expr {
        let parens = !matches!(kind, Kind::Leaf(_)) && self.rng.chance(25);
        Expr { id: self.node(), kind, parens, sort }
    }

    pub fn leaf(&mut self, text: impl Into<String>, sort: Sort) -> Expr {
        self.expr(Kind::Leaf(text.into()), sort)
    }

    pub fn binary(&mut self, op: &'static str, l: Expr, r: Expr, sort: Sort) -> Expr {
        self.expr(Kind::Binary(op, Box::new(l), Box::new(r)), sort)
    }

    /// Takes the cost of one operation from the budget; false when none is left.
    pub fn spend(&mut self, scope: &Scope, cost: i64) -> bool {
        self.budget -= scope.times.max(1).saturating_mul(cost);
        self.budget > 0
    }

    /// Whether a call of this cost still fits.
    pub fn affords(&self, scope: &Scope, cost: i64) -> bool {
        scope.times.max(1).saturating_mul(cost) <= self.budget / 2
    }
}
