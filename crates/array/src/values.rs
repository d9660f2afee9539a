//! Data-flow graphs in single assignment: each value is computed once, from values before it.
//!
//! Integers are exact, as in the representation; `Wrap` and `ShiftLeft` say where one is cut to a type. Booleans are 0 and 1.
//! Every value knows its range (the least and the largest number that it can be), from which follows how many words it
//! takes on its way between processors.

use headrace_ir::{CompareOp, IntType};
use std::collections::HashMap;

/// Position of a value in [`Values`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(pub u32);

/// Position of a task: a firing of the network, or what became of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskId(pub u32);

impl TaskId {
    /// The position in the table.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// How a value is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// A token from outside: port and position in its stream.
    Input(u32, u32),
    /// A known number.
    Constant(i128),
    /// `-x`
    Negate,
    /// `~x`
    Complement,
    /// `x + y`
    Add,
    /// `x - y`
    Sub,
    /// `x * y`
    Mul,
    /// `x / y`, towards zero
    Div,
    /// `x mod y`, not negative
    Mod,
    /// `x & y`
    And,
    /// `x | y`
    Or,
    /// `x ^ y`
    Xor,
    /// `x >> y`, arithmetic
    ShiftRight,
    /// `x << y`, cut to the type
    ShiftLeft(IntType),
    /// `x` cut to the type
    Wrap(IntType),
    /// 1 where the comparison holds, else 0
    Compare(CompareOp),
    /// `y` where `x` is not 0, else `z`
    Select,
    /// An element of a table, by its position
    Table(u32),
}

/// A value.
#[derive(Clone, Debug)]
pub struct Node {
    /// How it is computed.
    pub op: Op,
    /// From what; as many as the operation takes.
    pub args: Vec<Id>,
    /// The least number that it can be.
    pub low: i128,
    /// The largest number that it can be.
    pub high: i128,
    /// The firing that computed it; none for constants and tokens from outside.
    pub task: Option<TaskId>,
}

/// All values of a network's run.
#[derive(Clone, Debug, Default)]
pub struct Values {
    nodes: Vec<Node>,
    tables: Vec<Vec<i128>>,
    known: HashMap<(Op, Vec<Id>, Option<TaskId>), Id>,
    /// For each value the lowest bits that matter, once that has been found out ([`Values::narrow`]).
    matters: Vec<u32>,
    table_of: HashMap<Vec<i128>, u32>,
}

/// Why a value cannot be computed.
pub type Why = String;

impl Values {
    /// A value.
    pub fn node(&self, id: Id) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// True before anything has run.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The elements of a table.
    pub fn table(&self, table: u32) -> &[i128] {
        &self.tables[table as usize]
    }

    /// The number that a value is, where it is known.
    pub fn constant(&self, id: Id) -> Option<i128> {
        match self.node(id).op {
            Op::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// Bits that a value takes, and whether it has a sign.
    pub fn width(&self, id: Id) -> (u32, bool) {
        let node = self.node(id);
        let bits = |value: i128| if value < 0 { 128 - (!value).leading_zeros() } else { 128 - value.leading_zeros() };
        let signed = node.low < 0;
        let whole = bits(node.low).max(bits(node.high)).max(1) + u32::from(signed);
        match self.matters.get(id.0 as usize) {
            Some(&matters) if matters > 0 && matters < whole => (matters, false),
            _ => (whole, signed),
        }
    }

    /// Finds out how many of the lowest bits of each value matter, where whole values leave: of a sum that is cut to a type
    /// behind, for instance, no more than the type has.
    pub fn narrow(&mut self, leave: &[Id]) {
        self.matters.clear();
        let mut matters = vec![0u32; self.nodes.len()];
        for &id in leave {
            matters[id.0 as usize] = u32::MAX;
        }
        for at in (0..self.nodes.len()).rev() {
            let (node, own) = (&self.nodes[at], matters[at]);
            if own == 0 {
                continue;
            }
            let constant = |position: usize| node.args.get(position).and_then(|&arg| self.constant(arg));
            for (position, &arg) in node.args.iter().enumerate() {
                let wanted = match node.op {
                    Op::Wrap(ty) => own.min(ty.width),
                    Op::Add | Op::Sub | Op::Mul | Op::Negate | Op::Complement | Op::Or | Op::Xor => own,
                    Op::And => match constant(1 - position).filter(|mask| *mask >= 0) {
                        Some(mask) => own.min((128 - mask.leading_zeros()).max(1)),
                        None => own,
                    },
                    // By a negative count it brings down what is above.
                    Op::ShiftLeft(ty) if position == 0 && constant(1).is_some_and(|by| by >= 0) => own.min(ty.width),
                    Op::Select if position > 0 => own,
                    _ => u32::MAX,
                };
                let known = &mut matters[arg.0 as usize];
                *known = (*known).max(wanted);
            }
        }
        self.matters = matters;
    }

    /// Words of so many bits that a value takes.
    pub fn n_words(&self, id: Id, word_bits: u32) -> usize {
        self.width(id).0.div_ceil(word_bits) as usize
    }

    /// A known number.
    pub fn known(&mut self, value: i128) -> Id {
        self.intern(Op::Constant(value), Vec::new(), value, value, None)
    }

    /// A token from outside, of a type.
    pub fn input(&mut self, port: u32, at: u32, low: i128, high: i128) -> Id {
        self.intern(Op::Input(port, at), Vec::new(), low, high, None)
    }

    /// A table of known numbers.
    pub fn table_of(&mut self, elements: Vec<i128>) -> u32 {
        let next = self.tables.len() as u32;
        *self.table_of.entry(elements).or_insert_with_key(|elements| {
            self.tables.push(elements.clone());
            next
        })
    }

    fn intern(&mut self, op: Op, args: Vec<Id>, low: i128, high: i128, task: Option<TaskId>) -> Id {
        let next = Id(self.nodes.len() as u32);
        let key = (op, args, task);
        if let Some(&id) = self.known.get(&key) {
            return id;
        }
        self.nodes.push(Node { op, args: key.1.clone(), low, high, task });
        self.known.insert(key, next);
        next
    }

    /// The result of an operation in a firing, folded where its operands are known.
    ///
    /// # Errors
    ///
    /// Where it has none (a division by what may be zero, an index that may be outside), or it may take more than 127 bits.
    pub fn apply(&mut self, op: Op, args: &[Id], task: TaskId) -> Result<Id, Why> {
        let all: Option<Vec<i128>> = args.iter().map(|&id| self.constant(id)).collect();
        if let Some(all) = all {
            let value = self.evaluate(op, &all)?;
            return Ok(self.known(value));
        }
        if let Op::ShiftLeft(ty) = op
            && let Some(by) = self.constant(args[1])
            && by < 0
        {
            // The other way.
            let by = self.known(by.saturating_neg().min(127));
            let shifted = self.apply(Op::ShiftRight, &[args[0], by], task)?;
            return self.apply(Op::Wrap(ty), &[shifted], task);
        }
        match self.simplified(op, args) {
            Some(simple) => Ok(simple),
            None => self.plain(op, args, task),
        }
    }

    /// The same, where nothing is taken for it that is there already.
    ///
    /// # Errors
    ///
    /// As [`Values::apply`].
    pub fn plain(&mut self, op: Op, args: &[Id], task: TaskId) -> Result<Id, Why> {
        let (low, high) = self.range(op, args)?;
        if low == high {
            return Ok(self.known(low));
        }
        Ok(self.intern(op, args.to_vec(), low, high, Some(task)))
    }

    /// A value that is there already and equals the result.
    fn simplified(&self, op: Op, args: &[Id]) -> Option<Id> {
        let constant = |at: usize| args.get(at).and_then(|&id| self.constant(id));
        let node = |at: usize| self.node(args[at]);
        match op {
            Op::Xor | Op::Or | Op::Add if constant(0) == Some(0) => Some(args[1]),
            Op::Xor | Op::Or | Op::Add | Op::Sub | Op::ShiftRight if constant(1) == Some(0) => Some(args[0]),
            Op::And => {
                let covers = |mask: i128, it: &Node| {
                    mask >= 0 && mask.count_ones() == mask.trailing_ones() && it.low >= 0 && it.high <= mask
                };
                let all_ones = |mask: i128| mask > 0 && mask.count_ones() == mask.trailing_ones();
                match (constant(0), constant(1)) {
                    (_, Some(mask)) if covers(mask, node(0)) => Some(args[0]),
                    (Some(mask), _) if covers(mask, node(1)) => Some(args[1]),
                    (_, Some(mask)) if all_ones(mask) => self.part(args[0], 0, mask.count_ones(), 0),
                    (Some(mask), _) if all_ones(mask) => self.part(args[1], 0, mask.count_ones(), 0),
                    _ => None,
                }
            }
            Op::Wrap(ty) => {
                let (low, high) = bounds(ty);
                let fits = (node(0).low >= low && node(0).high <= high).then_some(args[0]);
                fits.or_else(|| if ty.signed { None } else { self.part(args[0], 0, ty.width, 0) })
            }
            Op::ShiftRight => {
                let count = constant(1).and_then(|count| u32::try_from(count).ok())?;
                let bits = self.width(args[0]).0;
                (node(0).low >= 0 && count < bits).then(|| self.part(args[0], count, bits - count, 0)).flatten()
            }
            Op::ShiftLeft(ty) if constant(1) == Some(0) => self.simplified(Op::Wrap(ty), &args[..1]),
            Op::Mul if constant(1) == Some(1) => Some(args[0]),
            Op::Mul if constant(0) == Some(1) => Some(args[1]),
            Op::Select => match constant(0) {
                Some(0) => Some(args[2]),
                Some(_) => Some(args[1]),
                None => (args[1] == args[2]).then_some(args[1]),
            },
            _ => None,
        }
    }

    /// A value that is there already and is so many bits of another, from bit `from` on: a byte of a word that was put
    /// together from bytes, say.
    fn part(&self, id: Id, from: u32, width: u32, depth: u32) -> Option<Id> {
        let node = self.node(id);
        if from == 0 && node.low >= 0 && node.high >> width.min(126) == 0 {
            return Some(id);
        }
        if depth == 40 {
            return None;
        }
        let within = |id: Id, from: u32| self.part(id, from, width, depth + 1);
        let count = |id: Id| self.constant(id).and_then(|it| u32::try_from(it).ok()).filter(|it| *it < 120);
        match node.op {
            Op::Or | Op::Xor => {
                let [a, b] = [node.args[0], node.args[1]];
                match (self.is_zero(a, from, width, depth), self.is_zero(b, from, width, depth)) {
                    (true, false) => within(b, from),
                    (false, true) => within(a, from),
                    _ => None,
                }
            }
            Op::ShiftLeft(ty) if ty.width >= from + width => {
                let by = count(node.args[1]).filter(|by| *by <= from)?;
                within(node.args[0], from - by)
            }
            Op::ShiftRight => within(node.args[0], from + count(node.args[1])?),
            Op::Wrap(ty) if ty.width >= from + width => within(node.args[0], from),
            Op::And => {
                let (mask, other) = match (self.constant(node.args[0]), self.constant(node.args[1])) {
                    (_, Some(mask)) => (mask, node.args[0]),
                    (Some(mask), _) => (mask, node.args[1]),
                    _ => return None,
                };
                let wanted = ((1i128 << width.min(126)) - 1).checked_shl(from)?;
                (from + width < 120 && mask & wanted == wanted).then(|| within(other, from)).flatten()
            }
            _ => None,
        }
    }

    /// Whether so many bits of a value are known to be 0, from bit `from` on.
    fn is_zero(&self, id: Id, from: u32, width: u32, depth: u32) -> bool {
        let it = self.node(id);
        if it.low >= 0 && it.high >> from.min(126) == 0 {
            return true;
        }
        match it.op {
            Op::ShiftLeft(_) => self.constant(it.args[1]).is_some_and(|by| by >= i128::from(from + width)),
            Op::Or | Op::Xor if depth < 40 => it.args.iter().all(|&arg| self.is_zero(arg, from, width, depth + 1)),
            _ => false,
        }
    }

    fn range(&self, op: Op, args: &[Id]) -> Result<(i128, i128), Why> {
        let at = |position: usize| (self.node(args[position]).low, self.node(args[position]).high);
        let too_large = || "a number may take more than 127 bits".to_owned();
        let corners = |f: &dyn Fn(i128, i128) -> Option<i128>| -> Result<(i128, i128), Why> {
            let ((a, b), (c, d)) = (at(0), at(1));
            let all: Option<Vec<i128>> = [(a, c), (a, d), (b, c), (b, d)].iter().map(|&(x, y)| f(x, y)).collect();
            let all = all.ok_or_else(too_large)?;
            Ok((all.iter().copied().min().unwrap_or(0), all.iter().copied().max().unwrap_or(0)))
        };
        // All ones, as many as the larger takes.
        let ones = |value: i128| if value <= 0 { 0 } else { i128::MAX >> (value.leading_zeros() - 1) };
        Ok(match op {
            Op::Input(..) | Op::Constant(_) => return Err("an operand where none is taken".into()),
            Op::Negate => (-at(0).1, -at(0).0),
            Op::Complement => (!at(0).1, !at(0).0),
            Op::Add => corners(&i128::checked_add)?,
            Op::Sub => corners(&i128::checked_sub)?,
            Op::Mul => corners(&i128::checked_mul)?,
            Op::Div | Op::Mod => {
                let (low, high) = at(1);
                if low <= 0 && (high >= 0 || op == Op::Mod) {
                    return Err("a divisor may be zero, or a modulus not positive".into());
                }
                let most = at(0).0.abs().max(at(0).1.abs());
                match op {
                    Op::Mod => (0, high - 1),
                    _ if at(0).0 >= 0 && low > 0 => (0, at(0).1 / low),
                    _ => (-most, most),
                }
            }
            Op::And | Op::Or | Op::Xor => {
                let ((a, b), (c, d)) = (at(0), at(1));
                match (a >= 0, c >= 0, op) {
                    (true, true, Op::And) => (0, b.min(d)),
                    (true, true, _) => (0, ones(b.max(d))),
                    (true, false, Op::And) => (0, b),
                    (false, true, Op::And) => (0, d),
                    _ => {
                        let most =
                            ones([a, b, c, d].map(|it| if it < 0 { !it } else { it }).into_iter().max().unwrap_or(0));
                        (-most - 1, most)
                    }
                }
            }
            Op::ShiftRight => {
                let (low, high) = at(1);
                if low < 0 {
                    return Err("a shift may go by a negative count".into());
                }
                let by = |value: i128, count: i128| value >> count.min(127);
                let ends = [by(at(0).0, low), by(at(0).0, high), by(at(0).1, low), by(at(0).1, high)];
                (ends.into_iter().min().unwrap_or(0), ends.into_iter().max().unwrap_or(0))
            }
            Op::ShiftLeft(ty) => {
                let whole = at(1).0 == at(1).1 && (0..126).contains(&at(1).0);
                let by = |value: i128| value.checked_mul(1i128.checked_shl(at(1).0 as u32)?);
                match (whole.then(|| by(at(0).0)).flatten(), whole.then(|| by(at(0).1)).flatten()) {
                    (Some(low), Some(high)) if low >= bounds(ty).0 && high <= bounds(ty).1 => (low, high),
                    _ => bounds(ty),
                }
            }
            Op::Wrap(ty) => bounds(ty),
            Op::Compare(_) => (0, 1),
            Op::Select => {
                let ((a, b), (c, d)) = (at(1), at(2));
                (a.min(c), b.max(d))
            }
            Op::Table(table) => {
                let elements = self.table(table);
                if at(0).0 < 0 || at(0).1 >= elements.len() as i128 {
                    return Err(format!("an index may be {}, outside a list of {}", at(0).1, elements.len()));
                }
                let reached = &elements[at(0).0 as usize..=at(0).1 as usize];
                (reached.iter().copied().min().unwrap_or(0), reached.iter().copied().max().unwrap_or(0))
            }
        })
    }

    /// The result of an operation on numbers.
    ///
    /// # Errors
    ///
    /// Where it has none, or it takes more than 127 bits.
    pub fn evaluate(&self, op: Op, args: &[i128]) -> Result<i128, Why> {
        evaluate(op, args, &self.tables)
    }

    /// All tables, by their positions.
    pub fn tables(&self) -> &[Vec<i128>] {
        &self.tables
    }
}

/// The result of an operation on numbers, with the tables that it may name.
///
/// # Errors
///
/// Where it has none, or it takes more than 127 bits.
pub fn evaluate(op: Op, args: &[i128], tables: &[Vec<i128>]) -> Result<i128, Why> {
    let too_large = || "a number takes more than 127 bits".to_owned();
    let [x, y, z] = [0, 1, 2].map(|at| args.get(at).copied().unwrap_or(0));
    Ok(match op {
        Op::Input(..) => return Err("a token from outside is not computed".into()),
        Op::Constant(value) => value,
        Op::Negate => -x,
        Op::Complement => !x,
        Op::Add => x.checked_add(y).ok_or_else(too_large)?,
        Op::Sub => x.checked_sub(y).ok_or_else(too_large)?,
        Op::Mul => x.checked_mul(y).ok_or_else(too_large)?,
        Op::Div => x.checked_div(y).ok_or("division by zero")?,
        Op::Mod if y > 0 => x.rem_euclid(y),
        Op::Mod => return Err("a modulus is not positive".into()),
        Op::And => x & y,
        Op::Or => x | y,
        Op::Xor => x ^ y,
        Op::ShiftRight if y < 0 => return Err("a shift by a negative count".into()),
        Op::ShiftRight => x >> y.min(127),
        Op::ShiftLeft(ty) if y < 0 => wrap(x >> (-y).min(127), ty),
        Op::ShiftLeft(ty) => match y < i128::from(ty.width) {
            true => wrap(x.wrapping_shl(y as u32), ty),
            false => 0,
        },
        Op::Wrap(ty) => wrap(x, ty),
        Op::Compare(how) => i128::from(match how {
            CompareOp::Equal => x == y,
            CompareOp::NotEqual => x != y,
            CompareOp::Less => x < y,
            CompareOp::LessEqual => x <= y,
            CompareOp::Greater => x > y,
            CompareOp::GreaterEqual => x >= y,
        }),
        Op::Select => {
            if x != 0 {
                y
            } else {
                z
            }
        }
        Op::Table(table) => {
            let element = usize::try_from(x).ok().and_then(|at| tables.get(table as usize)?.get(at).copied());
            element.ok_or_else(|| format!("index {x} is outside its list"))?
        }
    })
}

/// The least and the largest number of a type of at most 126 bits; wider ones count as such.
pub fn bounds(ty: IntType) -> (i128, i128) {
    let width = ty.width.min(126);
    match ty.signed {
        true => (-(1 << (width - 1)), (1 << (width - 1)) - 1),
        false => (0, (1 << width) - 1),
    }
}

/// A number cut to a type of at most 126 bits.
pub fn wrap(value: i128, ty: IntType) -> i128 {
    let unused = 128 - ty.width.min(126);
    match ty.signed {
        true => value << unused >> unused,
        false => ((value as u128) << unused >> unused) as i128,
    }
}
