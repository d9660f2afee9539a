//! Instruction selection for vector registers. Statements on registers become operations on vectors, which LLVM has as
//! instructions of its own or as intrinsic functions of the architecture.
//!
//! A register is a slot for a vector of numbers of 64 bits. What works on elements of another width takes it for a vector of
//! those in between.

use super::code::Code;
use headrace_instructions::llvm::{Spelling, spelling};
use headrace_program::{Expr, Place, VariableId, VectorOperand, VectorStmt};

/// The type of a register of so many bits, as elements of so many.
pub(super) fn vector(bits: u32, element: u32) -> String {
    format!("<{} x i{element}>", bits / element)
}

/// The type of a register in its slot.
pub(super) fn register(bits: u32) -> String {
    vector(bits, 64)
}

/// Positions in two vectors that a vector is made of.
fn mask(positions: impl Iterator<Item = u32>) -> String {
    let positions: Vec<String> = positions.map(|at| format!("i32 {at}")).collect();
    format!("<{} x i32> <{}>", positions.len(), positions.join(", "))
}

/// A vector that has a number in every element.
fn spread(count: u32, element: u32, number: u8) -> String {
    let elements: Vec<String> = (0..count).map(|_| format!("i{element} {number}")).collect();
    format!("<{}>", elements.join(", "))
}

/// An operand, and its type.
#[derive(Clone)]
struct Given {
    ty: String,
    value: String,
}

impl Given {
    fn text(&self) -> String {
        format!("{} {}", self.ty, self.value)
    }
}

impl Code<'_> {
    pub(super) fn vector(&mut self, statement: &VectorStmt) {
        let value = match statement {
            VectorStmt::Load { to, place, index } => {
                let (ty, (pointer, known)) = (register(self.bits(*to)), self.elements_at(place, index));
                self.define(&format!("load {ty}, ptr {pointer}{known}"))
            }
            VectorStmt::Store { place, index, from } => {
                let ty = register(self.bits(*from));
                let value = self.register(*from);
                let (pointer, known) = self.elements_at(place, index);
                return self.line(&format!("store {ty} {value}, ptr {pointer}{known}"));
            }
            VectorStmt::Set { low, high, .. } => {
                let (low, high) = (self.value(low), self.value(high));
                let first = self.define(&format!("insertelement <2 x i64> zeroinitializer, i64 {low}, i64 0"));
                self.define(&format!("insertelement <2 x i64> {first}, i64 {high}, i64 1"))
            }
            VectorStmt::Repeat { to, from } => {
                let (bits, from) = (self.bits(*to), self.register(*from));
                let mask = mask((0..bits / 64).map(|at| at % 2));
                self.define(&format!("shufflevector <2 x i64> {from}, <2 x i64> poison, {mask}"))
            }
            VectorStmt::Part { to, from, part } => {
                let (wide, narrow) = (self.bits(*to), register(self.bits(*from)));
                let from = self.register(*from);
                // Behind the two words are zeros.
                let positions =
                    (0..wide / 64).map(|at| if wide == 128 { 2 * u32::from(*part) + at } else { at.min(2) });
                self.define(&format!("shufflevector {narrow} {from}, {narrow} zeroinitializer, {}", mask(positions)))
            }
            VectorStmt::Move { from, .. } => self.register(*from),
            VectorStmt::Apply { to, instruction, operands } => {
                let name = self.shared.module.instructions.get(*instruction as usize);
                let Some(spelling) = name.and_then(|instruction| spelling(&instruction.name)) else { return };
                self.apply(spelling, self.bits(*to), operands)
            }
        };
        if let Some(to) = statement.target() {
            let (ty, own) = (register(self.bits(to)), &self.function.variables[to.index()].name);
            self.line(&format!("store {ty} {value}, ptr %{own}"));
        }
    }

    /// Bits of a register.
    fn bits(&self, register: VariableId) -> u32 {
        crate::vector::width(self.function, register)
    }

    /// The value of a register.
    fn register(&mut self, variable: VariableId) -> String {
        let (ty, own) = (register(self.bits(variable)), &self.function.variables[variable.index()].name);
        self.define(&format!("load {ty}, ptr %{own}"))
    }

    /// Where elements lie, and what is known of accesses to them.
    fn elements_at(&mut self, place: &Place, index: &Expr) -> (String, String) {
        let spot = self.spot(place, index);
        let known = self.known(&spot);
        (spot.pointer, known)
    }

    /// A value as a vector of elements of another width.
    fn cast(&mut self, value: String, bits: u32, from: u32, to: u32) -> String {
        if from == to {
            return value;
        }
        self.define(&format!("bitcast {} {value} to {}", vector(bits, from), vector(bits, to)))
    }

    fn apply(&mut self, spelling: &Spelling, bits: u32, operands: &[VectorOperand]) -> String {
        let element = spelling.element;
        let ty = vector(bits, element);
        let mut constant = 0;
        let mut given: Vec<Given> = Vec::new();
        for operand in operands {
            given.push(match operand {
                VectorOperand::Register(own) => {
                    let value = self.register(*own);
                    Given { ty: ty.clone(), value: self.cast(value, bits, 64, element) }
                }
                VectorOperand::Immediate(value) => {
                    constant = *value;
                    match spelling.each {
                        true => Given { ty: ty.clone(), value: spread(bits / element, element, *value) },
                        false => Given { ty: format!("i{}", spelling.constant), value: value.to_string() },
                    }
                }
            });
        }
        if let Some(order) = &spelling.order {
            given = order.iter().filter_map(|&at| given.get(at).cloned()).collect();
        }
        let value = match (&spelling.operator, spelling.function(bits), &given[..]) {
            (Some(operator), _, [a, b]) => self.define(&format!("{operator} {ty} {}, {}", a.value, b.value)),
            (_, Some(function), _) => {
                let types: Vec<&str> = given.iter().map(|given| given.ty.as_str()).collect();
                let declared = format!("declare {ty} @{function}({})", types.join(", "));
                self.shared.intrinsics.borrow_mut().insert(declared);
                let arguments: Vec<String> = given.iter().map(Given::text).collect();
                self.define(&format!("call {ty} @{function}({})", arguments.join(", ")))
            }
            _ => self.shuffled(spelling, bits, &given, u32::from(constant)),
        };
        self.cast(value, bits, element, 64)
    }

    /// A vector whose elements are elements of two others.
    fn shuffled(&mut self, spelling: &Spelling, bits: u32, given: &[Given], constant: u32) -> String {
        let ty = vector(bits, spelling.element);
        // Elements of 128 bits, and of a register.
        let (part, all) = (128 / spelling.element, bits / spelling.element);
        if spelling.parts {
            let n_parts = bits / 128;
            let chosen = |at: u32| match bits {
                256 => constant >> (4 * at) & 3,
                _ => (constant >> (2 * at) & 3) + if at < 2 { 0 } else { n_parts },
            };
            let mask = mask((0..all).map(|at| chosen(at / part) * part + at % part));
            return self.define(&format!("shufflevector {}, {}, {mask}", given[0].text(), given[1].text()));
        }
        let (operands, positions): ([String; 2], Vec<u32>) = match (&spelling.pick, spelling.window) {
            (Some(pick), _) => ([given[0].text(), given[1].text()], pick.clone()),
            (None, window) => {
                let operand = |at: i8| match usize::try_from(at) {
                    Ok(at) => given[at].text(),
                    Err(_) => format!("{ty} zeroinitializer"),
                };
                let first = if spelling.backwards { part - constant.min(part) } else { constant.min(part) };
                (window.unwrap_or([0, 0]).map(operand), (first..first + part).collect())
            }
        };
        let of_register = |at: u32| {
            let (in_part, from) = (positions[(at % part) as usize], at / part * part);
            if in_part < part { from + in_part } else { all + from + in_part - part }
        };
        let mask = mask((0..all).map(of_register));
        self.define(&format!("shufflevector {}, {}, {mask}", operands[0], operands[1]))
    }
}
