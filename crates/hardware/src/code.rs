//! The module of an actor as it grows: variables, where they lie, and the steps that are written.

use crate::Options;
use crate::step::Step;
use headrace_analysis::calls::Calls;
use headrace_analysis::ranges::{Interval, Ranges, Unit};
use headrace_ir::{Actor, Int, IntType, Local, LocalId, Root, Scalar, Type, Value};
use headrace_program::names::Names;
use headrace_rtl::{Bits, Expr, Module, SignalId, SignalKind, Table, TableId, index_bits};
use headrace_source::{Diagnostic, Span};
use std::collections::BTreeMap;

/// Where the elements of a variable lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    /// In one signal, the first element in the lowest bits.
    Signal(SignalId),
    /// In a memory of the actor, by number.
    Memory(usize),
    /// In a constant table.
    Table(TableId),
    /// Nowhere: a scalar that never changes.
    Constant(Bits),
}

/// A variable: where it lies and what it holds.
#[derive(Clone, Debug)]
pub(crate) struct Home {
    pub(crate) storage: Storage,
    /// What an element is.
    pub(crate) element: Scalar,
    /// Bits of an element.
    pub(crate) width: u32,
    /// Elements.
    pub(crate) len: u32,
    /// Elements of the source that one of these is: more than one only in a memory with a row in a word.
    pub(crate) row: u32,
}

/// A local of the action or procedure that is written.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) home: Home,
    /// Of a list that is a part of another: its first element there, in as many bits as an index of the whole has.
    pub(crate) offset: Option<Expr>,
    /// Values that it can have.
    pub(crate) range: Interval,
}

/// A memory of an actor.
#[derive(Clone, Debug)]
pub(crate) struct MemoryPlan {
    pub(crate) name: String,
    pub(crate) width: u32,
    pub(crate) depth: u32,
    /// The address that is read in the next cycle, and the word that the address of this cycle shows.
    pub(crate) read_address: SignalId,
    pub(crate) read_data: SignalId,
    pub(crate) write_enable: SignalId,
    pub(crate) write_address: SignalId,
    pub(crate) write_data: SignalId,
    /// What it holds at first, where that is not zero throughout.
    pub(crate) initial: Option<TableId>,
}

/// Locals of an action or procedure.
pub(crate) struct Frame<'a> {
    pub(crate) locals: &'a [Local],
    pub(crate) slots: Vec<Slot>,
}

/// The code of an actor.
pub(crate) struct Code<'a> {
    pub(crate) actor: &'a Actor,
    pub(crate) options: &'a Options,
    pub(crate) ranges: Ranges,
    pub(crate) calls: Calls,
    pub(crate) module: Module,
    pub(crate) names: Names,
    /// Where the variables of the actor lie.
    pub(crate) homes: Vec<Home>,
    pub(crate) memories: Vec<MemoryPlan>,
    /// Values that variables have before anything: of those that are kept and do not begin at zero.
    pub(crate) resets: BTreeMap<SignalId, Bits>,
    /// Signals that are variables, with the beginning of their names.
    pub(crate) variables: Vec<(SignalId, String)>,
    pub(crate) frame: Frame<'a>,
    /// Beginning of the names of locals.
    pub(crate) prefix: String,
    /// The slots of procedures, which all of their calls share.
    pub(crate) shared: BTreeMap<usize, Vec<Slot>>,
    pub(crate) steps: Vec<Step>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Something is printed.
    pub(crate) prints: bool,
    known_tables: Vec<(u32, Vec<Bits>, TableId)>,
}

/// Most elements of a list.
const MAX_ELEMENTS: usize = 1 << 20;

/// Most bits of a list.
const MAX_LIST_BITS: u64 = 1 << 30;

impl<'a> Code<'a> {
    pub(crate) fn new(actor: &'a Actor, options: &'a Options, module: Module, names: Names) -> Self {
        Self {
            actor,
            options,
            ranges: Ranges::with_guards(actor),
            calls: Calls::of(actor),
            module,
            names,
            homes: Vec::new(),
            memories: Vec::new(),
            resets: BTreeMap::new(),
            variables: Vec::new(),
            frame: Frame { locals: &[], slots: Vec::new() },
            prefix: String::new(),
            shared: BTreeMap::new(),
            steps: Vec::new(),
            diagnostics: Vec::new(),
            prints: false,
            known_tables: Vec::new(),
        }
    }

    // --- what is refused ---

    /// Says what has no place in hardware, and what to do about it.
    pub(crate) fn unsupported(&mut self, span: Span, what: &str, instead: &str) {
        let message = format!("hardware has no {what}: {instead}");
        if self.diagnostics.iter().all(|known| known.message != message) {
            self.diagnostics.push(Diagnostic::error("unsupported-by-target", message).at(span, "needed here"));
        }
    }

    // --- variables ---

    /// A variable of so many bits under a name like this. It is a register if it must be.
    pub(crate) fn variable(&mut self, like: &str, width: u32) -> SignalId {
        let base = self.names.fresh_with(like, &["_d", "_q"]);
        let id = self.module.add(base.clone(), width, SignalKind::Wire);
        self.variables.push((id, base));
        id
    }

    /// The value that a variable has at this point.
    pub(crate) fn get(&self, id: SignalId) -> Expr {
        self.module.get(id)
    }

    /// The value in a variable of its own, unless it is as good as one: for what is used several times.
    pub(crate) fn named(&mut self, like: &str, value: Expr) -> Expr {
        use headrace_rtl::ExprKind;
        match value.kind {
            ExprKind::Constant(_) => value,
            _ => {
                let id = self.variable(&format!("{}{like}", self.prefix), value.width);
                self.steps.push(Step::Set(id, value));
                self.get(id)
            }
        }
    }

    /// The bits of a scalar; reals and texts are refused.
    pub(crate) fn width(&mut self, scalar: Scalar, span: Span) -> u32 {
        match scalar {
            Scalar::Bool | Scalar::Int(_) => scalar.width(),
            Scalar::Real(_) => {
                self.unsupported(
                    span,
                    "reals",
                    "use integers as fixed-point numbers, or build this network for software",
                );
                1
            }
            Scalar::String => {
                self.unsupported(
                    span,
                    "texts",
                    "keep them out of variables and ports, or build this network for software",
                );
                1
            }
        }
    }

    /// A table of constants.
    pub(crate) fn table(&mut self, like: &str, width: u32, values: Vec<Bits>) -> TableId {
        if let Some((.., id)) = self.known_tables.iter().find(|(own, known, _)| *own == width && *known == values) {
            return *id;
        }
        let id = TableId(self.module.tables.len() as u32);
        let name = self.names.fresh(like);
        let index_width = index_bits(values.len() as u64).max(1);
        self.module.tables.push(Table { name, index_width, width, values: values.clone() });
        self.known_tables.push((width, values, id));
        id
    }

    /// A memory with a row of so many elements in a word, for a variable that begins with this value.
    fn place_rows(&mut self, like: &str, ty: &Type, row: u32, initial: &Value, span: Span) -> Home {
        let width = self.width(ty.element, span);
        let values = elements(initial, width);
        let whole = |row: &[Bits]| row.iter().rev().cloned().reduce(|high, low| high.concat(&low));
        let words: Vec<Bits> = values.chunks(row as usize).filter_map(whole).collect();
        let (width, len) = (width * row, ty.len() as u32 / row);
        let initial =
            words.iter().any(|word| !word.is_zero()).then(|| self.table(&format!("{like}_reset"), width, words));
        Home { storage: Storage::Memory(self.memory(like, width, len, initial)), element: ty.element, width, len, row }
    }

    /// Room for a variable of the type that changes, which begins with these values, zeros where there are none.
    pub(crate) fn place(&mut self, like: &str, ty: &Type, initial: Option<&Value>, span: Span) -> Home {
        let width = self.width(ty.element, span);
        if ty.len() > MAX_ELEMENTS {
            self.unsupported(span, "lists of more than a million elements", "use a smaller list");
            return Home { storage: Storage::Constant(Bits::zero(width)), element: ty.element, width, len: 1, row: 1 };
        }
        let len = ty.len() as u32;
        let whole = u64::from(width) * u64::from(len);
        if whole > MAX_LIST_BITS {
            self.unsupported(span, "lists of more than a gigabit", "use a smaller list, or narrower elements");
            return Home { storage: Storage::Constant(Bits::zero(width)), element: ty.element, width, len: 1, row: 1 };
        }
        let values = initial.map(|value| elements(value, width)).unwrap_or_default();
        let is_zero = values.iter().all(Bits::is_zero);
        let storage = if len > 1 && whole > self.options.register_bits {
            let initial = (!is_zero).then(|| self.table(&format!("{like}_reset"), width, values));
            Storage::Memory(self.memory(like, width, len, initial))
        } else {
            let id = self.variable(like, width * len);
            if !is_zero {
                let all = values.iter().rev().cloned().reduce(|high, low| high.concat(&low));
                self.resets.insert(id, all.unwrap_or(Bits::zero(width * len)));
            }
            Storage::Signal(id)
        };
        Home { storage, element: ty.element, width, len, row: 1 }
    }

    fn memory(&mut self, like: &str, width: u32, depth: u32, initial: Option<TableId>) -> usize {
        let name = self.names.fresh(like);
        let address = index_bits(u64::from(depth));
        let read_address = self.variable(&format!("{name}_raddr"), address);
        let wire = |code: &mut Self, what: &str, width: u32| {
            let name = code.names.fresh(&format!("{name}_{what}"));
            code.module.add(name, width, SignalKind::Wire)
        };
        let read_data = wire(self, "rdata", width);
        let write_enable = wire(self, "we", 1);
        let write_address = wire(self, "waddr", address);
        let write_data = wire(self, "wdata", width);
        self.memories.push(MemoryPlan {
            name,
            width,
            depth,
            read_address,
            read_data,
            write_enable,
            write_address,
            write_data,
            initial,
        });
        self.memories.len() - 1
    }

    /// Places the variables of the actor.
    pub(crate) fn place_variables(&mut self) {
        let actor = self.actor;
        for variable in &actor.variables {
            let name = variable.name.rsplit('.').next().unwrap_or(&variable.name).to_owned();
            let ty = &variable.ty;
            let is_text = ty.element == Scalar::String;
            let range = self.ranges.variable(self.homes.len(), ty.element);
            let ty = &narrowed(ty, &range);
            let is_large = u64::from(ty.element.width()) * ty.len() as u64 > self.options.register_bits;
            let is_possible = variable.mutable && ty.len() <= MAX_ELEMENTS && is_large;
            let row = is_possible.then(|| crate::rows::row_of(actor, self.homes.len(), self.options.register_bits));
            let home = if let Some(row) = row.flatten() {
                self.place_rows(&name, ty, row, &variable.whole_initial(), variable.span)
            } else if is_text && !variable.mutable {
                // Only prints read it, which are left out.
                Home { storage: Storage::Constant(Bits::zero(1)), element: ty.element, width: 1, len: 1, row: 1 }
            } else if variable.mutable {
                self.place(&name, ty, Some(&variable.initial), variable.span)
            } else {
                let width = self.width(ty.element, variable.span);
                let values = elements(&variable.whole_initial(), width);
                let len = values.len() as u32;
                let storage = if ty.is_list() {
                    Storage::Table(self.table(&name, width, values))
                } else {
                    Storage::Constant(values.into_iter().next().unwrap_or(Bits::zero(width)))
                };
                Home { storage, element: ty.element, width, len, row: 1 }
            };
            self.homes.push(home);
        }
    }

    /// Slots for the locals of a unit; parameters that are lists get theirs at each call.
    pub(crate) fn slots(&mut self, unit: Unit, locals: &[Local], span: Span) -> Vec<Slot> {
        let slot = |code: &mut Self, (at, local): (usize, &Local)| {
            let is_list_parameter = local.kind == headrace_ir::LocalKind::Parameter && local.ty.is_list();
            let home = if is_list_parameter || local.ty.element == Scalar::String {
                Home { storage: Storage::Constant(Bits::zero(1)), element: local.ty.element, width: 1, len: 1, row: 1 }
            } else {
                let range = code.ranges.local(unit, at, local.ty.element);
                code.place(&format!("{}{}", code.prefix, local.name), &narrowed(&local.ty, &range), None, span)
            };
            Slot { home, offset: None, range: code.ranges.local(unit, at, local.ty.element) }
        };
        locals.iter().enumerate().map(|local| slot(self, local)).collect()
    }

    /// Type of the variable at the root of a place.
    pub(crate) fn type_of(&self, root: Root) -> &'a Type {
        match root {
            Root::Actor(variable) => &self.actor.variables[variable.index()].ty,
            Root::Local(local) => &self.frame.locals[local.index()].ty,
        }
    }

    /// Values of a variable or of the elements of a list.
    pub(crate) fn root_range(&self, root: Root) -> Interval {
        match root {
            Root::Actor(variable) => {
                let ty = &self.actor.variables[variable.index()].ty;
                self.ranges.variable(variable.index(), ty.element)
            }
            Root::Local(local) => self.frame.slots[local.index()].range.clone(),
        }
    }

    /// Where a variable lies, and its first element there.
    pub(crate) fn root_home(&self, root: Root) -> (Home, Option<Expr>) {
        match root {
            Root::Actor(variable) => (self.homes[variable.index()].clone(), None),
            Root::Local(local) => {
                let slot = &self.frame.slots[local.index()];
                (slot.home.clone(), slot.offset.clone())
            }
        }
    }

    /// Gives a local a constant instead of a place, for one iteration of a loop that is written out; gives what it had.
    pub(crate) fn fix(&mut self, local: LocalId, value: &Int) -> Slot {
        let slot = &mut self.frame.slots[local.index()];
        let width = slot.home.width;
        let fixed = Slot {
            home: Home { storage: Storage::Constant(Bits::of_signed(width, &value.to_big())), ..slot.home.clone() },
            offset: None,
            range: Interval::of(value.clone()),
        };
        std::mem::replace(slot, fixed)
    }

    /// What `write` adds as a block of its own.
    pub(crate) fn inside<T>(&mut self, write: impl FnOnce(&mut Self) -> T) -> (T, Vec<Step>) {
        let outer = std::mem::take(&mut self.steps);
        let result = write(self);
        let block = std::mem::replace(&mut self.steps, outer);
        (result, block)
    }

    pub(crate) fn push(&mut self, step: Step) {
        self.steps.push(step);
    }

    /// A choice; without blocks that do nothing.
    pub(crate) fn push_if(&mut self, condition: Expr, yes: Vec<Step>, no: Vec<Step>) {
        match condition.value() {
            Some(value) if value.is_zero() => self.steps.extend(no),
            Some(_) => self.steps.extend(yes),
            None if yes.is_empty() && no.is_empty() => {}
            None if yes.is_empty() => self.push(Step::If(condition.inverted(), no, yes)),
            None => self.push(Step::If(condition, yes, no)),
        }
    }
}

/// The type of a scalar variable with no more bits than its values need.
fn narrowed(ty: &Type, range: &Interval) -> Type {
    let (width, signed) = crate::node::bits_of(range);
    match ty.element {
        Scalar::Int(own) if !ty.is_list() && width < own.width => Type::scalar(Scalar::Int(IntType { signed, width })),
        _ => ty.clone(),
    }
}

/// The elements of a value, in the width of one.
pub(crate) fn elements(value: &Value, width: u32) -> Vec<Bits> {
    match value {
        Value::List(values) => values.iter().flat_map(|value| elements(value, width)).collect(),
        Value::Bool(value) => vec![Bits::new(width, u8::from(*value))],
        Value::Int(value) => vec![Bits::of_signed(width, &value.to_big())],
        Value::Real(_) | Value::String(_) => vec![Bits::zero(width)],
    }
}
