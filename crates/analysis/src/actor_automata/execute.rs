//! Firings with as much as is known of their values: an abstract interpretation over constants (Kildall 1973).
//!
//! A scalar is an integer (a boolean is 0 or 1) or unknown; reals and text always are unknown. Where a branch cannot be
//! decided both are taken, and what differs afterwards is unknown; a loop that cannot be decided makes all that it
//! writes unknown. So whatever a firing does to values that are known here, it does to those of the network.
//!
//! Guards that cannot be decided depend on *conditions*: comparisons and calls with their unknown operands by name, the
//! same for all actions, so that `x > 3` in one guard and `x <= 3` in the other are one condition and its opposite.

use super::conditions::Condition;
use crate::ranges::root_type;
use headrace_ir::eval::int_binary;
use headrace_ir::{
    Action, Actor, Argument, BinaryOp, CompareOp, Expr, ExprKind, Guard, Int, Local, OutputValue, Place, ProcedureId,
    Root, Scalar, Stmt, StmtKind, Value,
};
use std::collections::BTreeMap;
use std::rc::Rc;

/// A scalar, if it is known.
pub type Known = Option<Int>;

/// Statements and expressions that one firing may take before nothing about it is known.
const MAX_STEPS: u64 = 1 << 20;

/// Deepest nesting of calls before nothing is known.
const MAX_CALLS: usize = 64;

/// What is assumed of conditions that cannot be decided.
pub type Assumptions = BTreeMap<Condition, bool>;

/// Whether a guard holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holds {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// That depends on this condition.
    Depends(Condition),
}

/// Where a local lies.
#[derive(Clone)]
enum Slot {
    Own(Vec<Known>),
    /// Elements of another variable, from an offset on if that is known.
    Part(Owner, Option<usize>),
}

/// The variable that a reference leads to.
#[derive(Clone, Copy)]
enum Owner {
    Variable(usize),
    Local { frame: usize, local: usize },
}

#[derive(Clone)]
struct Frame<'a> {
    slots: Vec<Slot>,
    locals: &'a [Local],
}

/// What statements change.
#[derive(Clone)]
struct Memory<'a> {
    variables: Vec<Rc<Vec<Known>>>,
    frames: Vec<Frame<'a>>,
}

impl Memory<'_> {
    /// Elements that a copy has.
    fn size(&self) -> u64 {
        let of_slot = |slot: &Slot| match slot {
            Slot::Own(elements) => elements.len(),
            Slot::Part(..) => 1,
        };
        let slots = self.frames.iter().flat_map(|frame| &frame.slots).map(of_slot);
        slots.sum::<usize>() as u64 + self.variables.len() as u64
    }
}

/// An actor with as much as is known of its variables.
pub struct Execution<'a> {
    pub(super) actor: &'a Actor,
    memory: Memory<'a>,
    steps: u64,
    pub(super) assumed: &'a Assumptions,
    /// Set while the conditions of a guard are evaluated, and what they turn out to depend on.
    pub(super) asking: bool,
    pub(super) depends: Option<Condition>,
    /// The action whose names conditions have.
    pub(super) action: Option<&'a Action>,
}

/// The elements of a folded value.
pub fn known_elements(value: &Value, n: usize) -> Vec<Known> {
    let scalar = |value: &Value| match value {
        Value::Bool(value) => Some(Int::from(u64::from(*value))),
        Value::Int(value) => Some(value.clone()),
        Value::Real(_) | Value::String(_) | Value::List(_) => None,
    };
    match value {
        Value::List(values) => values.iter().map(scalar).chain(std::iter::repeat(None)).take(n).collect(),
        value => vec![scalar(value); n],
    }
}

fn zeros(local: &Local) -> Vec<Known> {
    known_elements(&Value::zero(&headrace_ir::Type::scalar(local.ty.element)), local.ty.len())
}

impl<'a> Execution<'a> {
    /// `variables` has the elements of each variable of the actor.
    pub fn new(actor: &'a Actor, variables: Vec<Rc<Vec<Known>>>, assumed: &'a Assumptions) -> Self {
        let memory = Memory { variables, frames: Vec::new() };
        Execution { actor, memory, steps: MAX_STEPS, assumed, asking: false, depends: None, action: None }
    }

    /// The elements of each variable as they are now.
    pub fn into_variables(mut self) -> Vec<Rc<Vec<Known>>> {
        if self.steps == 0 {
            self.forget_variables();
        }
        self.memory.variables
    }

    fn open(&mut self, action: &'a Action, tokens: &[Vec<Known>]) {
        let mut slots: Vec<Slot> = action.locals.iter().map(|local| Slot::Own(zeros(local))).collect();
        for (pattern, tokens) in action.consumes.iter().zip(tokens) {
            let names = pattern.locals.len();
            for (at, token) in tokens.iter().enumerate() {
                let (name, element) = if pattern.repeat.is_some() { (at % names, at / names) } else { (at, 0) };
                if let Some(Slot::Own(elements)) = slots.get_mut(pattern.locals[name].index())
                    && let Some(element) = elements.get_mut(element)
                {
                    element.clone_from(token);
                }
            }
        }
        self.memory.frames = vec![Frame { slots, locals: &action.locals }];
        self.action = Some(action);
    }

    /// Whether an action is enabled by tokens: those of each of its patterns.
    pub fn guard(&mut self, action: &'a Action, tokens: &[Vec<Known>]) -> Holds {
        self.open(action, tokens);
        let Guard { before, conditions, .. } = &action.guard;
        self.block(before);
        self.asking = true;
        let mut outcome = Holds::Yes;
        for condition in conditions {
            self.depends = None;
            match self.expr(condition) {
                Some(value) if value == Int::ZERO => {
                    outcome = Holds::No;
                    break;
                }
                Some(_) => {}
                None => {
                    let name = self.depends.take();
                    let name =
                        name.unwrap_or_else(|| Condition::named(format!("guard of {}", self.action_name(action))));
                    outcome = match self.assumed.get(&name) {
                        Some(true) => continue,
                        Some(false) => Holds::No,
                        None => Holds::Depends(name),
                    };
                    break;
                }
            }
        }
        self.asking = false;
        outcome
    }

    /// Fires an action and gives the tokens of each of its outputs.
    pub fn fire(&mut self, action: &'a Action, tokens: &[Vec<Known>]) -> Vec<Vec<Known>> {
        self.open(action, tokens);
        self.block(&action.body);
        let mut produced = Vec::new();
        for output in &action.produces {
            let n = output.tokens() as usize;
            let k = output.values.len();
            let mut tokens = vec![None; n];
            for (name, value) in output.values.iter().enumerate() {
                match value {
                    OutputValue::Scalar(expr) => {
                        let value = self.expr(expr);
                        if let Some(token) = tokens.get_mut(name) {
                            *token = value;
                        }
                    }
                    OutputValue::List { place, convert } => {
                        let elements = self.read(place).unwrap_or_default();
                        for (element, value) in elements.into_iter().enumerate() {
                            if let Some(token) = tokens.get_mut(element * k + name) {
                                *token = converted(value, *convert);
                            }
                        }
                    }
                }
            }
            produced.push(if self.steps == 0 { vec![None; n] } else { tokens });
        }
        produced
    }

    fn spend(&mut self, steps: u64) -> bool {
        self.steps = self.steps.saturating_sub(steps);
        self.steps > 0
    }

    fn forget_variables(&mut self) {
        for (variable, elements) in self.actor.variables.iter().zip(&mut self.memory.variables) {
            if variable.mutable {
                *elements = Rc::new(vec![None; elements.len()]);
            }
        }
    }

    fn block(&mut self, statements: &'a [Stmt]) {
        for statement in statements {
            if !self.spend(1) {
                return;
            }
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &'a Stmt) {
        match &statement.kind {
            StmtKind::Assign(place, value) => {
                let value = self.expr(value);
                self.write(place, &[value]);
            }
            StmtKind::Copy { target, source, convert } => match self.read(source) {
                Some(elements) => {
                    let elements: Vec<Known> = elements.into_iter().map(|value| converted(value, *convert)).collect();
                    self.write(target, &elements);
                }
                None => self.forget(target.root),
            },
            StmtKind::If(condition, yes, no) => match self.expr(condition) {
                Some(value) if value == Int::ZERO => self.block(no),
                Some(_) => self.block(yes),
                None => {
                    self.spend(self.memory.size());
                    let before = self.memory.clone();
                    self.block(yes);
                    let taken = std::mem::replace(&mut self.memory, before);
                    self.block(no);
                    self.join(&taken);
                }
            },
            StmtKind::While { before, condition, body } => loop {
                self.block(before);
                match self.expr(condition) {
                    Some(value) if value == Int::ZERO => break,
                    Some(_) if self.spend(1) => self.block(body),
                    _ => {
                        self.forget_written(before);
                        self.forget_written(body);
                        break;
                    }
                }
            },
            StmtKind::Foreach { variable, low, high, body } => {
                let (low, high) = (self.expr(low), self.expr(high));
                self.foreach(Root::Local(*variable), low, high, body);
            }
            StmtKind::Call { result, procedure, arguments } => {
                let value = self.call(*procedure, arguments);
                if let Some(local) = result {
                    self.write_scalar(Root::Local(*local), value);
                }
            }
            StmtKind::CallNative { result, arguments, .. } => {
                for argument in arguments {
                    if let Argument::List(place) = argument {
                        self.forget(place.root);
                    }
                }
                if let Some(local) = result {
                    self.write_scalar(Root::Local(*local), None);
                }
            }
            StmtKind::Print { .. } => {}
        }
    }

    fn foreach(&mut self, variable: Root, low: Known, high: Known, body: &'a [Stmt]) {
        let ty = self.frame_locals().map(|locals| root_type(self.actor, locals, variable).element);
        let (Some(low), Some(high), Some(Scalar::Int(ty))) = (low, high, ty) else {
            self.forget_written(body);
            self.forget(variable);
            return;
        };
        if high < low {
            return;
        }
        self.write_scalar(variable, Some(low.wrap(ty)));
        loop {
            self.block(body);
            match self.scalar(variable) {
                Some(now) if now >= high => return,
                Some(now) if self.spend(1) => {
                    self.write_scalar(variable, Some(now.add(&Int::from(1u64)).wrap(ty)));
                }
                _ => {
                    self.forget_written(body);
                    self.forget(variable);
                    return;
                }
            }
        }
    }

    pub(super) fn frame_locals(&self) -> Option<&'a [Local]> {
        self.memory.frames.last().map(|frame| frame.locals)
    }

    /// What differs from the other way becomes unknown.
    fn join(&mut self, other: &Memory<'a>) {
        let meet = |mine: &mut [Known], others: &[Known]| {
            for (mine, other) in mine.iter_mut().zip(others) {
                if mine != other {
                    *mine = None;
                }
            }
        };
        for (mine, others) in self.memory.variables.iter_mut().zip(&other.variables) {
            if mine != others {
                meet(Rc::make_mut(mine).as_mut_slice(), others);
            }
        }
        for (mine, others) in self.memory.frames.iter_mut().zip(&other.frames) {
            for (mine, others) in mine.slots.iter_mut().zip(&others.slots) {
                if let (Slot::Own(mine), Slot::Own(others)) = (mine, others) {
                    meet(mine, others);
                }
            }
        }
    }

    /// All that statements may write becomes unknown.
    fn forget_written(&mut self, statements: &'a [Stmt]) {
        for statement in statements {
            match &statement.kind {
                StmtKind::Assign(place, _) | StmtKind::Copy { target: place, .. } => self.forget(place.root),
                StmtKind::If(_, yes, no) => {
                    self.forget_written(yes);
                    self.forget_written(no);
                }
                StmtKind::While { before, body, .. } => {
                    self.forget_written(before);
                    self.forget_written(body);
                }
                StmtKind::Foreach { variable, body, .. } => {
                    self.forget(Root::Local(*variable));
                    self.forget_written(body);
                }
                StmtKind::Call { result, arguments, .. } | StmtKind::CallNative { result, arguments, .. } => {
                    for argument in arguments {
                        if let Argument::List(place) = argument {
                            self.forget(place.root);
                        }
                    }
                    if let Some(local) = result {
                        self.forget(Root::Local(*local));
                    }
                    self.forget_variables();
                }
                StmtKind::Print { .. } => {}
            }
        }
    }

    fn owner(&self, root: Root) -> Option<(Owner, Option<usize>)> {
        match root {
            Root::Actor(variable) => Some((Owner::Variable(variable.index()), Some(0))),
            Root::Local(local) => {
                let frame = self.memory.frames.len().checked_sub(1)?;
                match self.memory.frames[frame].slots.get(local.index())? {
                    Slot::Own(_) => Some((Owner::Local { frame, local: local.index() }, Some(0))),
                    Slot::Part(owner, offset) => Some((*owner, *offset)),
                }
            }
        }
    }

    fn elements(&self, owner: Owner) -> Option<&[Known]> {
        match owner {
            Owner::Variable(at) => self.memory.variables.get(at).map(|elements| elements.as_slice()),
            Owner::Local { frame, local } => match self.memory.frames.get(frame)?.slots.get(local)? {
                Slot::Own(elements) => Some(elements),
                Slot::Part(..) => None,
            },
        }
    }

    fn elements_mut(&mut self, owner: Owner) -> Option<&mut Vec<Known>> {
        match owner {
            Owner::Variable(at) => self.memory.variables.get_mut(at).map(Rc::make_mut),
            Owner::Local { frame, local } => match self.memory.frames.get_mut(frame)?.slots.get_mut(local)? {
                Slot::Own(elements) => Some(elements),
                Slot::Part(..) => None,
            },
        }
    }

    /// Where a place begins, if that is known, and how many elements it has.
    fn place(&mut self, place: &'a Place) -> Option<(Owner, Option<usize>, usize)> {
        let locals = self.frame_locals()?;
        let ty = root_type(self.actor, locals, place.root).clone();
        let (owner, mut offset) = self.owner(place.root)?;
        let mut stride = ty.len();
        for (index, &size) in place.indices.iter().zip(&ty.dims) {
            stride /= size.max(1) as usize;
            let index = self.expr(index).and_then(|index| index.to_u64()).filter(|&index| index < u64::from(size));
            offset = offset.zip(index).map(|(offset, index)| offset + index as usize * stride);
        }
        Some((owner, offset, stride))
    }

    fn read(&mut self, place: &'a Place) -> Option<Vec<Known>> {
        let (owner, offset, n) = self.place(place)?;
        let offset = offset?;
        self.spend(n as u64);
        self.elements(owner)?.get(offset..offset + n).map(<[Known]>::to_vec)
    }

    fn write(&mut self, place: &'a Place, values: &[Known]) {
        let Some((owner, offset, _)) = self.place(place) else { return };
        self.spend(values.len() as u64);
        let Some(elements) = self.elements_mut(owner) else { return };
        match offset.and_then(|offset| elements.get_mut(offset..offset + values.len())) {
            Some(slots) => slots.clone_from_slice(values),
            None => elements.fill(None),
        }
    }

    fn write_scalar(&mut self, root: Root, value: Known) {
        if let Some((owner, Some(offset))) = self.owner(root)
            && let Some(slot) = self.elements_mut(owner).and_then(|elements| elements.get_mut(offset))
        {
            *slot = value;
        }
    }

    fn scalar(&self, root: Root) -> Known {
        let (owner, offset) = self.owner(root)?;
        self.elements(owner)?.get(offset?)?.clone()
    }

    fn forget(&mut self, root: Root) {
        if let Some((owner, _)) = self.owner(root)
            && let Some(elements) = self.elements_mut(owner)
        {
            elements.fill(None);
        }
    }

    fn call(&mut self, id: ProcedureId, arguments: &'a [Argument]) -> Known {
        let actor = self.actor;
        let procedure = actor.procedures.get(id.index())?;
        if self.memory.frames.len() >= MAX_CALLS {
            self.steps = 0;
            return None;
        }
        let mut slots = Vec::with_capacity(procedure.locals.len());
        for argument in arguments {
            slots.push(match argument {
                Argument::Value(value) => Slot::Own(vec![self.expr(value)]),
                Argument::List(place) => {
                    let (owner, offset, _) = self.place(place)?;
                    Slot::Part(owner, offset)
                }
            });
        }
        slots.extend(procedure.locals.iter().skip(arguments.len()).map(|local| Slot::Own(zeros(local))));
        self.memory.frames.push(Frame { slots, locals: &procedure.locals });
        let asking = std::mem::replace(&mut self.asking, false);
        self.block(&procedure.body);
        let value = procedure.result.as_ref().and_then(|(_, value)| self.expr(value));
        self.asking = asking;
        self.memory.frames.pop();
        value
    }

    pub(super) fn expr(&mut self, expr: &'a Expr) -> Known {
        if !self.spend(1) {
            return None;
        }
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.expr_here(expr))
    }

    fn expr_here(&mut self, expr: &'a Expr) -> Known {
        let bool = |value: bool| Some(Int::from(u64::from(value)));
        match &expr.kind {
            ExprKind::Int(value) => Some(value.clone()),
            ExprKind::Bool(value) => bool(*value),
            ExprKind::Load(place) => {
                match self.read(place).and_then(|elements| elements.into_iter().next().flatten()) {
                    None if self.is_bool(place) => self.ask(expr),
                    value => value,
                }
            }
            ExprKind::Negate(x) => Some(self.expr(x)?.neg()),
            ExprKind::Complement(x) => Some(self.expr(x)?.complement()),
            ExprKind::Not(x) => bool(self.expr(x)? == Int::ZERO),
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.expr(a), self.expr(b));
                let zero = |x: &Known| x.as_ref() == Some(&Int::ZERO);
                if matches!(op, BinaryOp::And | BinaryOp::Mul) && (zero(&a) || zero(&b)) {
                    return Some(Int::ZERO);
                }
                let (a, b) = (a?, b?);
                self.spend((a.magnitude_bits() + b.magnitude_bits()) / 64);
                int_binary(*op, &a, &b).ok()
            }
            ExprKind::ShiftLeft(ty, a, b) => {
                let (a, b) = (self.expr(a), self.expr(b));
                a?.shl(&b?, *ty).ok()
            }
            ExprKind::Wrap(ty, x) => Some(self.expr(x)?.wrap(*ty)),
            ExprKind::Compare(op, a, b) => {
                let (left, right) = (self.expr(a), self.expr(b));
                let (Some(left), Some(right)) = (left, right) else { return self.ask(expr) };
                bool(match op {
                    CompareOp::Equal => left == right,
                    CompareOp::NotEqual => left != right,
                    CompareOp::Less => left < right,
                    CompareOp::LessEqual => left <= right,
                    CompareOp::Greater => left > right,
                    CompareOp::GreaterEqual => left >= right,
                })
            }
            ExprKind::And(a, b) => match self.expr(a) {
                Some(value) if value == Int::ZERO => bool(false),
                Some(_) => self.expr(b),
                // What the left depends on is to be known before the right.
                None if self.asking => None,
                None => self.expr(b).filter(|value| *value == Int::ZERO),
            },
            ExprKind::Or(a, b) => match self.expr(a) {
                Some(value) if value != Int::ZERO => bool(true),
                Some(_) => self.expr(b),
                None if self.asking => None,
                None => self.expr(b).filter(|value| *value != Int::ZERO),
            },
            ExprKind::If(condition, a, b) => match self.expr(condition) {
                Some(value) if value == Int::ZERO => self.expr(b),
                Some(_) => self.expr(a),
                None if self.asking && self.depends.is_some() => None,
                None => {
                    let (a, b) = (self.expr(a), self.expr(b));
                    a.filter(|a| Some(a) == b.as_ref())
                }
            },
            ExprKind::Call(procedure, arguments) => {
                let is_bool = self.actor.procedures.get(procedure.index()).and_then(|p| p.result.as_ref());
                let is_bool = matches!(is_bool, Some((Scalar::Bool, _)));
                match self.call(*procedure, arguments) {
                    None if is_bool => self.ask(expr),
                    value => value,
                }
            }
            ExprKind::Real(..)
            | ExprKind::String(_)
            | ExprKind::IntToReal(..)
            | ExprKind::RealToReal(..)
            | ExprKind::RealBinary(..)
            | ExprKind::RealNegate(_)
            | ExprKind::Concat(_) => None,
        }
    }
}

fn converted(value: Known, convert: Option<Scalar>) -> Known {
    match convert {
        None | Some(Scalar::Bool) => value,
        Some(Scalar::Int(ty)) => value.map(|value| value.wrap(ty)),
        Some(Scalar::Real(_) | Scalar::String) => None,
    }
}
