//! The cycle simulator: what a design means, cycle by cycle, with values of two states.
//!
//! Within a cycle everything is computed in an order in which nothing comes before what it depends on; a clock edge then
//! gives registers and memories their next values.

use crate::depend::{self, Driver, Node, Paths};
use crate::{
    BinaryOp, Bits, CompareOp, Design, Expr, ExprKind, Memory, Module, ShiftOp, SignalId, SignalKind, Stmt, UnaryOp,
};
use num_bigint::{BigInt, BigUint};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What an operator of two operands gives.
pub fn binary(op: BinaryOp, a: &Bits, b: &Bits) -> Bits {
    let width = a.width();
    let (x, y) = (a.value(), b.value());
    let none = BigUint::default();
    match op {
        BinaryOp::Add => Bits::new(width, x + y),
        BinaryOp::Sub => Bits::of_signed(width, &(BigInt::from(x.clone()) - BigInt::from(y.clone()))),
        BinaryOp::Mul => Bits::new(width, x * y),
        BinaryOp::Div | BinaryOp::Rem | BinaryOp::DivSigned | BinaryOp::RemSigned if *y == none => Bits::zero(width),
        BinaryOp::Div => Bits::new(width, x / y),
        BinaryOp::Rem => Bits::new(width, x % y),
        BinaryOp::DivSigned => Bits::of_signed(width, &(a.signed() / b.signed())),
        BinaryOp::RemSigned => Bits::of_signed(width, &(a.signed() % b.signed())),
        BinaryOp::And => Bits::new(width, x & y),
        BinaryOp::Or => Bits::new(width, x | y),
        BinaryOp::Xor => Bits::new(width, x ^ y),
    }
}

/// What a shift gives.
pub fn shift(op: ShiftOp, x: &Bits, count: &Bits) -> Bits {
    let width = x.width();
    let count = count.to_u64().unwrap_or(u64::MAX).min(u64::from(width));
    match op {
        ShiftOp::Left => Bits::new(width, x.value() << count),
        ShiftOp::Right => Bits::new(width, x.value() >> count),
        ShiftOp::RightSigned => Bits::of_signed(width, &(x.signed() >> count)),
    }
}

/// What a comparison gives.
pub fn compare(op: CompareOp, a: &Bits, b: &Bits) -> bool {
    match op {
        CompareOp::Equal => a == b,
        CompareOp::NotEqual => a != b,
        CompareOp::Less => a.value() < b.value(),
        CompareOp::LessEqual => a.value() <= b.value(),
        CompareOp::LessSigned => a.signed() < b.signed(),
        CompareOp::LessEqualSigned => a.signed() <= b.signed(),
    }
}

/// Something that is computed within a cycle.
enum Unit {
    /// Of the module of an instance: where its signals begin, and the driver.
    Logic(Arc<Module>, usize, Driver, usize),
    /// A port takes what the signal at it has: to, from.
    Copy(usize, usize),
}

/// A design that runs.
pub struct Simulator {
    units: Vec<Unit>,
    values: Vec<Bits>,
    /// Registers: the signal, its next value, its reset value.
    registers: Vec<(usize, usize, Bits)>,
    /// Memories with where the signals of their module begin.
    memories: Vec<(Memory, usize, Vec<Bits>)>,
    top: Arc<Module>,
    cycles: u64,
}

impl Simulator {
    /// The design after a reset.
    ///
    /// # Errors
    ///
    /// What [`crate::verify`] says of it.
    pub fn new(design: &Design) -> Result<Self, Vec<String>> {
        let problems = crate::verify(design);
        if design.modules.is_empty() || !problems.is_empty() {
            return Err(problems);
        }
        let mut paths: Vec<Paths> = Vec::new();
        let mut nodes: Vec<Vec<Node>> = Vec::new();
        for module in &design.modules {
            let own = depend::nodes(module, design, &paths);
            paths.push(depend::paths(module, &own).unwrap_or_default());
            nodes.push(own);
        }
        let modules: Vec<Arc<Module>> = design.modules.iter().cloned().map(Arc::new).collect();
        let simulator = Simulator::empty(modules.last().cloned().unwrap_or_default());
        let mut flat = Flat { design, modules: &modules, nodes: &nodes, simulator, edges: Vec::new() };
        flat.place(design.modules.len() - 1);
        let Flat { mut simulator, edges, .. } = flat;
        simulator.sort(edges);
        simulator.reset();
        Ok(simulator)
    }

    fn empty(top: Arc<Module>) -> Self {
        Self { units: Vec::new(), values: Vec::new(), registers: Vec::new(), memories: Vec::new(), top, cycles: 0 }
    }

    /// Puts units into an order in which each comes after all that give what it reads.
    fn sort(&mut self, edges: Vec<(Vec<usize>, Vec<usize>)>) {
        let mut giver: BTreeMap<usize, usize> = BTreeMap::new();
        for (unit, (_, gives)) in edges.iter().enumerate() {
            gives.iter().for_each(|&signal| {
                giver.insert(signal, unit);
            });
        }
        let mut order = Vec::new();
        let mut state = vec![0u8; edges.len()];
        for first in 0..edges.len() {
            let mut stack = vec![(first, 0)];
            while let Some((unit, next)) = stack.pop() {
                if next == 0 {
                    if state[unit] != 0 {
                        continue;
                    }
                    state[unit] = 1;
                }
                match edges[unit].0.get(next) {
                    None => {
                        state[unit] = 2;
                        order.push(unit);
                    }
                    Some(signal) => {
                        stack.push((unit, next + 1));
                        if let Some(&before) = giver.get(signal).filter(|&&before| state[before] == 0) {
                            stack.push((before, 0));
                        }
                    }
                }
            }
        }
        let mut units: Vec<Option<Unit>> = std::mem::take(&mut self.units).into_iter().map(Some).collect();
        self.units = order.into_iter().filter_map(|unit| units[unit].take()).collect();
    }

    /// Gives registers their reset values; memories hold zeros.
    pub fn reset(&mut self) {
        for (register, _, reset) in &self.registers {
            self.values[*register] = reset.clone();
        }
        for (memory, _, words) in &mut self.memories {
            words.fill(Bits::zero(memory.width));
        }
        self.cycles = 0;
        self.settle();
    }

    /// Rising edges since the reset.
    pub fn cycles(&self) -> u64 {
        self.cycles
    }

    fn port(&self, name: &str) -> Option<usize> {
        self.top.ports().find(|(_, port)| port.name == name).map(|(id, _)| id.index())
    }

    /// Gives an input of the top a value, which counts from the next [`Self::settle`] on. False where there is no such input
    /// of this width.
    pub fn set(&mut self, name: &str, value: Bits) -> bool {
        let found = self.port(name).filter(|&at| {
            self.top.signals[at].kind == SignalKind::Input && self.top.signals[at].width == value.width()
        });
        if let Some(at) = found {
            self.values[at] = value;
        }
        found.is_some()
    }

    /// The value of a port of the top.
    pub fn get(&self, name: &str) -> Option<&Bits> {
        self.port(name).map(|at| &self.values[at])
    }

    /// Computes everything from registers, memories and inputs.
    pub fn settle(&mut self) {
        let Simulator { units, values, memories, .. } = self;
        for unit in units.iter() {
            match unit {
                Unit::Copy(to, from) => values[*to] = values[*from].clone(),
                Unit::Logic(module, base, driver, first_memory) => match *driver {
                    Driver::Assign(at) => {
                        let assign = &module.assigns[at];
                        values[base + assign.signal.index()] = eval(module, values, *base, &assign.value);
                    }
                    Driver::Process(at) => run(module, values, *base, &module.processes[at].body),
                    Driver::Read(at, number) => {
                        let (memory, _, words) = &memories[first_memory + at];
                        let read = memory.reads[number];
                        let address = values[base + read.address.index()].to_u64();
                        let word = address.and_then(|address| words.get(address as usize));
                        values[base + read.data.index()] = word.cloned().unwrap_or(Bits::zero(memory.width));
                    }
                    Driver::Instance(_) => {}
                },
            }
        }
    }

    /// A rising edge; what follows from it is there at once. Gives whether anything that is kept changed: where it did not, and
    /// inputs stay as they are, nothing ever does.
    pub fn clock(&mut self) -> bool {
        self.settle();
        let mut changed = false;
        for (memory, base, words) in &mut self.memories {
            for write in &memory.writes {
                let value = |id: SignalId| &self.values[*base + id.index()];
                if !value(write.enable).is_zero()
                    && let Some(word) =
                        value(write.address).to_u64().and_then(|address| words.get_mut(address as usize))
                {
                    changed |= word != value(write.data);
                    *word = value(write.data).clone();
                }
            }
        }
        let next: Vec<Bits> = self.registers.iter().map(|(_, next, _)| self.values[*next].clone()).collect();
        for ((register, _, _), next) in self.registers.iter().zip(next) {
            changed |= self.values[*register] != next;
            self.values[*register] = next;
        }
        self.cycles += 1;
        self.settle();
        changed
    }
}

impl std::fmt::Debug for Simulator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} after {} cycles", self.top.name, self.cycles)
    }
}

struct Flat<'d> {
    design: &'d Design,
    /// The same modules, shared by the units of their instances.
    modules: &'d [Arc<Module>],
    nodes: &'d [Vec<Node>],
    simulator: Simulator,
    /// For each unit the signals that it reads and gives.
    edges: Vec<(Vec<usize>, Vec<usize>)>,
}

impl Flat<'_> {
    /// Places a module and its instances; gives where its signals begin.
    fn place(&mut self, number: usize) -> usize {
        let module = &self.design.modules[number];
        let base = self.simulator.values.len();
        let zeros = module.signals.iter().map(|signal| Bits::zero(signal.width));
        self.simulator.values.extend(zeros);
        for (at, signal) in module.signals.iter().enumerate() {
            if let SignalKind::Register { reset, next } = &signal.kind {
                self.simulator.registers.push((base + at, base + next.index(), reset.clone()));
            }
        }
        let first_memory = self.simulator.memories.len();
        for memory in &module.memories {
            self.simulator.memories.push((memory.clone(), base, vec![Bits::zero(memory.width); memory.depth as usize]));
        }
        for node in &self.nodes[number] {
            if let Driver::Instance(at) = node.driver {
                let instance = &module.instances[at];
                let Some((inner_number, inner)) = self.design.module(&instance.module) else { continue };
                let inner_base = self.place(inner_number);
                for connection in &instance.connections {
                    let Some(port) = inner.find(&connection.port) else { continue };
                    let (outside, inside) = (base + connection.signal.index(), inner_base + port.index());
                    let is_input = inner.signal(port).kind == SignalKind::Input;
                    let (to, from) = if is_input { (inside, outside) } else { (outside, inside) };
                    self.simulator.units.push(Unit::Copy(to, from));
                    self.edges.push((vec![from], vec![to]));
                }
                continue;
            }
            let global = |id: &SignalId| base + id.index();
            let module = Arc::clone(&self.modules[number]);
            self.simulator.units.push(Unit::Logic(module, base, node.driver, first_memory));
            self.edges.push((node.reads.iter().map(global).collect(), node.gives.iter().map(global).collect()));
        }
        base
    }
}

fn run(module: &Module, values: &mut [Bits], base: usize, block: &[Stmt]) {
    for statement in block {
        match statement {
            Stmt::Comment(_) => {}
            Stmt::Assign(target, value) => {
                let value = eval(module, values, base, value);
                let place = base + target.signal.index();
                values[place] = match &target.part {
                    None => value,
                    Some((at, _)) => {
                        let at = eval(module, values, base, at).to_u64().unwrap_or(u64::MAX);
                        values[place].replaced(at, &value)
                    }
                };
            }
            Stmt::If(condition, yes, no) => {
                let block = if eval(module, values, base, condition).is_zero() { no } else { yes };
                run(module, values, base, block);
            }
            Stmt::Case(value, arms, rest) => {
                let value = eval(module, values, base, value);
                let arm = arms.iter().find(|(case, _)| *case == value).map_or(rest, |(_, arm)| arm);
                run(module, values, base, arm);
            }
        }
    }
}

fn eval(module: &Module, values: &[Bits], base: usize, expr: &Expr) -> Bits {
    let of = |expr: &Expr| eval(module, values, base, expr);
    let width = expr.width;
    match &expr.kind {
        ExprKind::Constant(value) => value.clone(),
        ExprKind::Signal(id) => values[base + id.index()].clone(),
        ExprKind::Lookup(table, index) => {
            let index = of(index).to_u64().unwrap_or(u64::MAX);
            let found = usize::try_from(index).ok().and_then(|index| module.tables[table.index()].values.get(index));
            found.cloned().unwrap_or(Bits::zero(width))
        }
        ExprKind::Unary(UnaryOp::Not, x) => Bits::new(width, Bits::ones(width).value() ^ of(x).value()),
        ExprKind::Unary(UnaryOp::Negate, x) => Bits::of_signed(width, &-of(x).signed()),
        ExprKind::Binary(op, a, b) => binary(*op, &of(a), &of(b)),
        ExprKind::Shift(op, x, count) => shift(*op, &of(x), &of(count)),
        ExprKind::Compare(op, a, b) => Bits::new(1, u8::from(compare(*op, &of(a), &of(b)))),
        ExprKind::Select(condition, yes, no) => {
            if of(condition).is_zero() {
                of(no)
            } else {
                of(yes)
            }
        }
        ExprKind::Concat(parts) => {
            let mut parts = parts.iter();
            let first = parts.next().map_or(Bits::zero(width), of);
            parts.fold(first, |all, part| all.concat(&of(part)))
        }
        ExprKind::Slice(x, low) => of(x).slice(u64::from(*low), width),
        ExprKind::Part(id, low) => values[base + id.index()].slice(of(low).to_u64().unwrap_or(u64::MAX), width),
        ExprKind::Extend(signed, x) => of(x).resized(width, *signed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read;

    #[test]
    fn a_memory_behind_an_instance_keeps_what_it_is_given() {
        let text = "module store\n    input write_i: 1\n    input address_i: 2\n    input data_i: 8\n    output data_o: 8\n    \
                    memory words: 8 x 4\n        read address_i data_o\n        write write_i address_i data_i\n\
                    module top\n    input write_i: 1\n    input address_i: 2\n    output sum_o: 8\n    output count_o: 3\n    wire word: 8\n    \
                    wire more: 8\n    wire count_d: 3\n    register count_q: 3 = 3'h5 next count_d\n    instance u: store\n        \
                    write_i = write_i\n        address_i = address_i\n        data_i = more\n        data_o = word\n    \
                    assign more = add(word, zext(count_q, 8))\n    assign sum_o = word\n    assign count_o = count_q\n    \
                    assign count_d = add(count_q, 3'h1)\n";
        let design = read(text).expect("reads");
        let mut simulator = Simulator::new(&design).expect("is right");
        let bits = |width, value: u32| Bits::new(width, value);
        assert_eq!(simulator.get("count_o"), Some(&bits(3, 5)));
        assert!(simulator.set("write_i", bits(1, 1)) && simulator.set("address_i", bits(2, 2)));
        simulator.clock();
        assert_eq!(simulator.get("sum_o"), Some(&bits(8, 5)));
        simulator.clock();
        simulator.clock();
        assert_eq!(simulator.get("sum_o"), Some(&bits(8, 5 + 6 + 7)));
        assert_eq!(simulator.get("count_o"), Some(&bits(3, 0)));
        assert!(simulator.set("address_i", bits(2, 1)));
        simulator.settle();
        assert_eq!(simulator.get("sum_o"), Some(&bits(8, 0)));
        assert!(!simulator.set("address_i", bits(3, 1)));
        simulator.reset();
        assert_eq!((simulator.get("count_o"), simulator.cycles()), (Some(&bits(3, 5)), 0));
    }

    #[test]
    fn operators_mean_what_their_names_say() {
        let bits = |value: u32| Bits::new(4, value);
        for (op, a, b, wanted) in [
            (BinaryOp::Sub, 1, 3, 14),
            (BinaryOp::Mul, 7, 7, 1),
            (BinaryOp::Div, 14, 3, 4),
            (BinaryOp::DivSigned, 14, 3, 0),
            (BinaryOp::DivSigned, 9, 2, 13),
            (BinaryOp::RemSigned, 9, 2, 15),
            (BinaryOp::Rem, 9, 0, 0),
        ] {
            assert_eq!(binary(op, &bits(a), &bits(b)), bits(wanted), "{op:?} {a} {b}");
        }
        assert_eq!(shift(ShiftOp::RightSigned, &bits(9), &bits(1)), bits(12));
        assert_eq!(shift(ShiftOp::Left, &bits(9), &bits(15)), bits(0));
        assert!(compare(CompareOp::LessSigned, &bits(9), &bits(1)) && !compare(CompareOp::Less, &bits(9), &bits(1)));
    }
}
