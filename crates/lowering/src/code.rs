//! Function builder for the code of an actor. A function of an actor as it grows: its variables, what is known of them, and
//! what it takes.

use crate::building::{Building, control};
use crate::function::FunctionBuilder;
use crate::machine::machine;
use crate::plan::{Home, Lowered, Need, Plan, array_length};
use headrace_analysis::assigned::{Uses, only_loop_variable};
use headrace_analysis::ranges::{Interval, Unit};
use headrace_ir::{self as ir, Int, Local, LocalId, Root, Scalar, Type};
use headrace_program as program;
use headrace_program::{Argument, CompareOp, Expr, FieldType, FunctionId, Place, RecordId, Stmt, VariableId};

/// Arrays larger than this lie in the state.
const MAX_LOCAL_BYTES: u64 = 1 << 15;

/// The same for procedures that call themselves.
const MAX_RECURSIVE_BYTES: u64 = 128;

/// Where a local lies.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    /// Nothing before it is first mentioned.
    pub(crate) place: Option<Place>,
    /// Of a list that is a part of an array: where it begins there.
    pub(crate) offset: Option<Expr>,
    /// The type that a scalar is kept in.
    pub(crate) ty: program::Type,
    /// Values that it can have.
    pub(crate) range: Interval,
}

/// A function that is being lowered.
pub(crate) struct Code<'a, 'b> {
    pub(crate) plan: &'a Plan<'a>,
    pub(crate) building: &'b mut Building,
    pub(crate) f: FunctionBuilder,
    /// Locals of the unit, and those that lowering adds.
    pub(crate) locals: Vec<Local>,
    pub(crate) slots: Vec<Slot>,
    /// The action or procedure.
    pub(crate) name: String,
    /// What a function returns after the program was stopped.
    pub(crate) leave: Option<Expr>,
    pub(crate) recursive: bool,
    /// It can stop the program.
    pub(crate) stops: bool,
    needs: Vec<(Need, VariableId)>,
    /// What comes before everything else.
    prologue: Vec<Stmt>,
    /// Locals that are mentioned by loops only that count with them.
    counters: Vec<bool>,
}

impl<'a, 'b> Code<'a, 'b> {
    pub(crate) fn new(
        plan: &'a Plan<'a>,
        building: &'b mut Building,
        unit: Option<Unit>,
        name: &str,
        locals: &[Local],
    ) -> Self {
        let slots = locals
            .iter()
            .enumerate()
            .map(|(at, local)| Slot {
                place: None,
                offset: None,
                ty: machine(local.ty.element),
                range: unit.map_or_else(
                    || headrace_analysis::ranges::of_scalar(local.ty.element),
                    |unit| plan.ranges.local(unit, at, local.ty.element),
                ),
            })
            .collect();
        Code {
            plan,
            building,
            f: FunctionBuilder::new(),
            locals: locals.to_vec(),
            slots,
            name: name.to_owned(),
            leave: None,
            recursive: false,
            stops: false,
            needs: Vec::new(),
            prologue: Vec::new(),
            counters: vec![false; locals.len()],
        }
    }

    /// Says what will be lowered, so that loops may count in variables of their own.
    pub(crate) fn announce(&mut self, statements: &[ir::Stmt], after: &dyn Fn(usize) -> Uses) {
        for at in 0..self.locals.len() {
            let plain = self.locals[at].kind == ir::LocalKind::Plain;
            self.counters[at] = plain && !after(at).any() && only_loop_variable(statements, at);
        }
    }

    /// True when nothing but loops that count with it mentions the local.
    pub(crate) fn loop_only(&self, local: LocalId) -> bool {
        self.counters.get(local.index()).copied().unwrap_or(false)
    }

    // --- what it takes ---

    /// The parameter for something that it takes.
    pub(crate) fn need(&mut self, need: Need, like: &str, record: RecordId) -> VariableId {
        if let Some((_, variable)) = self.needs.iter().find(|(known, _)| *known == need) {
            return *variable;
        }
        let variable = self.f.record(like, record);
        self.needs.push((need, variable));
        variable
    }

    pub(crate) fn state(&mut self) -> VariableId {
        self.need(Need::State, "state", self.plan.state)
    }

    pub(crate) fn control(&mut self) -> VariableId {
        self.need(Need::Control, "control", self.building.control)
    }

    /// A field of the state.
    pub(crate) fn state_field(&mut self, field: u32) -> Place {
        Place::field(self.state(), field)
    }

    /// A field of what all share.
    pub(crate) fn control_field(&mut self, field: u32) -> Place {
        Place::field(self.control(), field)
    }

    /// The function, and what its callers need to know.
    pub(crate) fn finish(self, name: String, about: &str, result: Option<program::Type>) -> Lowered {
        let Code { building, mut f, needs, stops, prologue, .. } = self;
        f.prepend(prologue);
        let needs = order_needs(&mut f, needs);
        let id = building.function(f.finish(name, about, result));
        Lowered { id, needs, stops }
    }

    /// The same for a function that has a number already.
    pub(crate) fn finish_as(
        self,
        id: FunctionId,
        name: String,
        about: &str,
        result: Option<program::Type>,
    ) -> Vec<Need> {
        let Code { building, mut f, needs, prologue, .. } = self;
        f.prepend(prologue);
        let needs = order_needs(&mut f, needs);
        building.functions[id.index()] = f.finish(name, about, result);
        needs
    }

    /// References for what a function takes.
    pub(crate) fn arguments_for(&mut self, needs: &[Need]) -> Vec<Argument> {
        needs
            .iter()
            .map(|need| {
                let variable = match need {
                    Need::State => self.state(),
                    Need::Control => self.control(),
                    Need::Fifo(_) => match self.needs.iter().find(|(known, _)| known == need) {
                        Some((_, variable)) => *variable,
                        None => self.state(),
                    },
                };
                Argument::Reference(Place::variable(variable))
            })
            .collect()
    }

    // --- blocks ---

    /// What `write` adds as a block of its own.
    pub(crate) fn inside<T>(&mut self, write: impl FnOnce(&mut Self) -> T) -> (T, Vec<Stmt>) {
        let outer = self.f.take();
        let result = write(self);
        let block = self.f.restore(outer);
        (result, block)
    }

    pub(crate) fn push(&mut self, statement: Stmt) {
        self.f.push(statement);
    }

    pub(crate) fn extend(&mut self, block: Vec<Stmt>) {
        block.into_iter().for_each(|statement| self.f.push(statement));
    }

    /// A choice; without blocks that do nothing.
    pub(crate) fn push_if(&mut self, condition: Expr, yes: Vec<Stmt>, no: Vec<Stmt>) {
        match condition.constant() {
            Some(0) => self.extend(no),
            Some(_) => self.extend(yes),
            None if yes.is_empty() && no.is_empty() => {}
            None if yes.is_empty() => self.push(Stmt::If(condition.negated(), no, yes)),
            None => self.push(Stmt::If(condition, yes, no)),
        }
    }

    /// The value in a variable, unless it is as good as one: for what is used several times.
    pub(crate) fn named(&mut self, like: &str, value: Expr) -> Expr {
        self.f.named(like, value)
    }

    /// Leaves the function when the program was stopped.
    pub(crate) fn leave_if_stopped(&mut self) {
        self.stops = true;
        let stopped = Expr::read(self.control_field(control::STOPPED), program::Type::U32);
        let leave = Stmt::Return(self.leave.clone());
        let condition = Expr::compare(CompareOp::NotEqual, stopped, Expr::u32(0));
        self.push(Stmt::If(condition, vec![leave], Vec::new()));
    }

    // --- variables ---

    /// Type of the variable at the root of a place.
    pub(crate) fn type_of(&self, root: Root) -> &Type {
        match root {
            Root::Actor(variable) => &self.plan.actor.variables[variable.index()].ty,
            Root::Local(local) => &self.locals[local.index()].ty,
        }
    }

    /// Values of a variable or of the elements of a list.
    pub(crate) fn root_range(&self, root: Root) -> Interval {
        match root {
            Root::Actor(variable) => {
                let ty = &self.plan.actor.variables[variable.index()].ty;
                self.plan.ranges.variable(variable.index(), ty.element)
            }
            Root::Local(local) => self.slots[local.index()].range.clone(),
        }
    }

    /// Where a variable lies, and from which element on.
    pub(crate) fn root_place(&mut self, root: Root) -> (Place, Option<Expr>) {
        match root {
            Root::Actor(variable) => match self.plan.homes[variable.index()].clone() {
                Home::Field(field) => (self.state_field(field), None),
                Home::Table(table) => (Place::table(table), None),
                Home::Constant(_) => {
                    // Only a list that is too large to be anywhere, which was reported.
                    let blocked = self.plan.blocked;
                    (self.state_field(blocked), None)
                }
            },
            Root::Local(local) => {
                if self.slots[local.index()].place.is_none() {
                    self.declare(local);
                }
                let slot = &self.slots[local.index()];
                (slot.place.clone().unwrap_or(Place::variable(VariableId(0))), slot.offset.clone())
            }
        }
    }

    /// The type that a scalar is kept in where it lies.
    pub(crate) fn kept_type(&self, root: Root) -> program::Type {
        match root {
            Root::Local(local) => self.slots[local.index()].ty,
            Root::Actor(_) => machine(self.type_of(root).element),
        }
    }

    /// Gives a local its variable. What is declared here is zero at the beginning of the function.
    fn declare(&mut self, local: LocalId) {
        let Local { name, ty, .. } = self.locals[local.index()].clone();
        let place = self.own_place(&name, &ty);
        self.slots[local.index()].place = Some(place);
    }

    /// A variable of the type that begins at zero: of the function, or of the state where it is large.
    pub(crate) fn own_place(&mut self, like: &str, ty: &Type) -> Place {
        let element = machine(ty.element);
        let Some(length) = array_length(ty) else {
            return Place::variable(self.f.scalar(like, element));
        };
        let bytes = length * u64::from(element.bytes());
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        if bytes <= MAX_LOCAL_BYTES {
            if self.recursive && bytes > MAX_RECURSIVE_BYTES {
                let span = self.plan.actor.span;
                self.building.unsupported(span, "a recursive procedure with a list of more than 128 bytes of its own");
            }
            return Place::variable(self.f.array(like, element, length));
        }
        if self.recursive {
            let span = self.plan.actor.span;
            self.building.unsupported(span, "a recursive procedure with a list of more than 128 bytes of its own");
        }
        let name = format!("{}_{like}", self.name);
        let field = self.building.field(self.plan.state, &name, FieldType::Array(element, length), "for one call only");
        let place = self.state_field(field);
        let zero = Expr { kind: program::ExprKind::Constant(0), ty: element };
        self.prologue.push(Stmt::Fill {
            target: place.clone(),
            at: Expr::u32(0),
            count: Expr::u32(length),
            value: zero,
        });
        place
    }

    /// A local that lowering adds.
    pub(crate) fn add_local(&mut self, like: &str, scalar: Scalar, range: Interval) -> LocalId {
        let id = LocalId(self.locals.len() as u32);
        let ty = Type::scalar(scalar);
        self.locals.push(Local { name: like.to_owned(), ty, kind: headrace_ir::LocalKind::Plain });
        self.slots.push(Slot { place: None, offset: None, ty: machine(scalar), range });
        id
    }

    /// An array of words of this function.
    pub(crate) fn word_array(&mut self, like: &str, words: u32) -> VariableId {
        self.f.array(like, program::Type::U32, words.max(1))
    }

    /// Reports something that is in no checked program.
    pub(crate) fn malformed(&mut self, span: headrace_source::Span) -> Expr {
        self.building.unsupported(span, "an expression whose operands are of the wrong kind");
        Expr::int(program::Type::I32, 0)
    }

    /// The constant in the type.
    pub(crate) fn constant(&self, value: &Int, ty: program::Type) -> Expr {
        Expr::int(ty, crate::machine::low_64(value))
    }
}

/// Puts what a function takes of instance and network before its own parameters.
fn order_needs(f: &mut FunctionBuilder, mut needs: Vec<(Need, VariableId)>) -> Vec<Need> {
    needs.sort_by_key(|(need, _)| match need {
        Need::State => (0, 0),
        Need::Fifo(number) => (1, *number),
        Need::Control => (2, 0),
    });
    f.order_parameters(&needs.iter().map(|(_, variable)| *variable).collect::<Vec<_>>());
    needs.into_iter().map(|(need, _)| need).collect()
}
