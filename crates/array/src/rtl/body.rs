//! Task bodies as combinational logic: what a firing computes, as a module whose inputs are what it takes.
//!
//! Tasks that compute the same are one module, whatever their values are called: they are told by the canonical form of their
//! graph, in which what comes in is numbered as it is first needed.

use crate::tasks::Tasks;
use crate::values::{Id, Op};
use headrace_ir::CompareOp as How;
use headrace_rtl::{BinaryOp, Bits, CompareOp, Expr, Module, ShiftOp, SignalKind, Table, TableId, index_bits};
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;

/// What a task computes, with the values that stand for its inputs and outputs.
#[derive(Clone, Debug)]
pub struct Body {
    /// Values that come in, those known when the array is loaded among them, as they are first needed.
    pub inputs: Vec<Id>,
    /// Values that are sent.
    pub outputs: Vec<Id>,
    /// What is computed, operands first.
    cone: Vec<Id>,
    /// The form that is the same for all tasks that compute the same.
    pub form: String,
}

impl Body {
    /// What is computed of some outputs from what is given.
    pub fn of(tasks: &Tasks, outputs: &[Id], given: &BTreeSet<Id>) -> Self {
        let values = &tasks.values;
        let cone = tasks.cone(outputs, &|id| given.contains(&id) || tasks.parameters.contains(&id));
        let computed: HashMap<Id, usize> = cone.iter().enumerate().map(|(at, id)| (*id, at)).collect();
        let mut inputs: Vec<Id> = Vec::new();
        let mut form = String::new();
        let mut name = |id: Id| -> String {
            if let Some(known) = values.constant(id) {
                return format!("{known}");
            }
            if let Some(at) = computed.get(&id) {
                return format!("v{at}");
            }
            let at = inputs.iter().position(|known| *known == id).unwrap_or_else(|| {
                inputs.push(id);
                inputs.len() - 1
            });
            format!("i{at}:{:?}", values.width(id))
        };
        for &id in &cone {
            let node = values.node(id);
            let args: Vec<String> = node.args.iter().map(|&arg| name(arg)).collect();
            let _ = writeln!(form, "{:?}:{:?} {}", node.op, values.width(id), args.join(" "));
        }
        for &id in outputs {
            let _ = writeln!(form, "{}", name(id));
        }
        Self { inputs, outputs: outputs.to_vec(), cone, form }
    }

    /// The module of it.
    ///
    /// # Errors
    ///
    /// A value takes more than 126 bits.
    pub fn module(&self, tasks: &Tasks, name: &str, about: &str) -> Result<Module, String> {
        let mut logic = Logic { tasks, m: Module::new(name), known: HashMap::new(), tables: HashMap::new() };
        logic.m.about.push(about.to_owned());
        for (at, &id) in self.inputs.iter().enumerate() {
            let signal = logic.m.add(format!("in{at}_i"), tasks.values.width(id).0, SignalKind::Input);
            logic.known.insert(id, logic.m.get(signal));
        }
        for (at, &id) in self.cone.iter().enumerate() {
            let value = logic.computed(id)?;
            let signal = logic.m.add(format!("v{at}"), value.width, SignalKind::Wire);
            logic.m.assign(signal, value);
            logic.known.insert(id, logic.m.get(signal));
        }
        for (at, &id) in self.outputs.iter().enumerate() {
            let width = tasks.values.width(id).0;
            let signal = logic.m.add(format!("out{at}_o"), width, SignalKind::Output);
            let value = logic.at(id, width);
            logic.m.assign(signal, value);
        }
        headrace_rtl::drop_unread(&mut logic.m);
        Ok(logic.m)
    }
}

struct Logic<'t> {
    tasks: &'t Tasks,
    m: Module,
    known: HashMap<Id, Expr>,
    tables: HashMap<u32, TableId>,
}

impl Logic<'_> {
    /// A value in so many bits, cut or with its sign.
    fn at(&self, id: Id, width: u32) -> Expr {
        match self.tasks.values.constant(id) {
            Some(known) => Expr::constant(Bits::of_signed(width, &known.into())),
            None => {
                let signed = self.tasks.values.width(id).1;
                self.known.get(&id).cloned().unwrap_or(Expr::number(1, 0)).resized(signed, width)
            }
        }
    }

    /// Bits in which a value and another can be compared.
    fn common(&self, args: &[Id]) -> u32 {
        let bits = |id: &Id| match self.tasks.values.constant(*id) {
            Some(known) => 129 - if known < 0 { !known } else { known }.leading_zeros(),
            None => self.tasks.values.width(*id).0 + 1,
        };
        args.iter().map(bits).max().unwrap_or(1)
    }

    fn is_negative(&self, id: Id) -> bool {
        self.tasks.values.node(id).low < 0
    }

    fn computed(&mut self, id: Id) -> Result<Expr, String> {
        let values = &self.tasks.values;
        let node = values.node(id).clone();
        let (width, _) = values.width(id);
        if width > 126 {
            return Err(format!("a value takes {width} bits"));
        }
        let arg = |this: &Self, at: usize| this.at(node.args[at], width);
        let two = |this: &Self, op: BinaryOp| Expr::binary(op, arg(this, 0), arg(this, 1));
        Ok(match node.op {
            Op::Add => two(self, BinaryOp::Add),
            Op::Sub => two(self, BinaryOp::Sub),
            Op::Mul => two(self, BinaryOp::Mul),
            Op::And => two(self, BinaryOp::And),
            Op::Or => two(self, BinaryOp::Or),
            Op::Xor => two(self, BinaryOp::Xor),
            Op::Negate => arg(self, 0).negated(),
            Op::Complement => arg(self, 0).inverted(),
            Op::Div | Op::Mod => {
                let common = self.common(&node.args);
                let [x, y] = [0, 1].map(|at| self.at(node.args[at], common));
                match node.op {
                    Op::Div => Expr::binary(BinaryOp::DivSigned, x, y),
                    _ => {
                        let rest = Expr::binary(BinaryOp::RemSigned, x, y.clone());
                        let is_negative = rest.clone().slice(common - 1, 1);
                        Expr::select(is_negative, rest.clone().plus(y), rest)
                    }
                }
                .resized(true, width)
            }
            Op::ShiftRight => {
                let own = self.common(&node.args[..1]).max(width);
                self.right(node.args[0], own, self.count(node.args[1], false)).slice(0, width)
            }
            Op::ShiftLeft(ty) => {
                let left = Expr::shift(ShiftOp::Left, self.at(node.args[0], ty.width), self.count(node.args[1], false));
                let shifted = match self.is_negative(node.args[1]) {
                    false => left,
                    true => {
                        let own = self.common(&node.args[..1]).max(ty.width);
                        let right = self.right(node.args[0], own, self.count(node.args[1], true)).slice(0, ty.width);
                        let n = self.common(&node.args[1..]);
                        let back = self.at(node.args[1], n).slice(n - 1, 1);
                        Expr::select(back, right, left)
                    }
                };
                shifted.resized(ty.signed, width)
            }
            Op::Wrap(ty) => self.at(node.args[0], ty.width).resized(ty.signed, width),
            Op::Compare(how) => {
                let common = self.common(&node.args);
                let [x, y] = [0, 1].map(|at| self.at(node.args[at], common));
                let bit = match how {
                    How::Equal => Expr::compare(CompareOp::Equal, x, y),
                    How::NotEqual => Expr::compare(CompareOp::NotEqual, x, y),
                    How::Less => Expr::compare(CompareOp::LessSigned, x, y),
                    How::LessEqual => Expr::compare(CompareOp::LessEqualSigned, x, y),
                    How::Greater => Expr::compare(CompareOp::LessSigned, y, x),
                    How::GreaterEqual => Expr::compare(CompareOp::LessEqualSigned, y, x),
                };
                bit.resized(false, width)
            }
            Op::Select => {
                let condition = self.at(node.args[0], self.common(&node.args[..1])).is(0).inverted();
                Expr::select(condition, arg(self, 1), arg(self, 2))
            }
            Op::Table(table) => {
                let elements = values.table(table).to_vec();
                let index_width = index_bits(elements.len() as u64).max(1);
                let signed = elements.iter().any(|it| *it < 0);
                let bits = |it: &i128| 128 - (if *it < 0 { !*it } else { *it }).leading_zeros() + u32::from(signed);
                let own = elements.iter().map(bits).max().unwrap_or(1).max(1);
                let id = *self.tables.entry(table).or_insert_with(|| {
                    let values = elements.iter().map(|it| Bits::of_signed(own, &(*it).into())).collect();
                    self.m.tables.push(Table { name: format!("table{table}"), index_width, width: own, values });
                    TableId(self.m.tables.len() as u32 - 1)
                });
                Expr::lookup(id, self.at(node.args[0], index_width), own).resized(signed, width)
            }
            Op::Input(..) | Op::Constant(_) => return Err("a value is needed that never comes".into()),
        })
    }

    /// How far is shifted, without a sign; `back` where it is the other way.
    fn count(&self, id: Id, back: bool) -> Expr {
        let n = self.common(&[id]);
        let count = self.at(id, n);
        if back { count.negated() } else { count }
    }

    fn right(&self, id: Id, width: u32, count: Expr) -> Expr {
        let op = if self.is_negative(id) { ShiftOp::RightSigned } else { ShiftOp::Right };
        Expr::shift(op, self.at(id, width), count)
    }
}
