//! What a module means, by running it: for tests, and for whoever wants to know what a printer must print.
//!
//! All state lies in one list of 64-bit cells, an element of an array in each. What no verified program of a right lowering
//! does (an index outside its array, a division by zero, a shift by the width) is a [`Fault`] here, not something that
//! happens to work.

mod operators;

pub use operators::{binary, compare};

use crate::{
    Argument, Expr, ExprKind, FieldType, Function, FunctionId, Label, Module, NativeArgument, Place, Print, RealFormat,
    RecordId, Root, Stmt, VariableId, VariableKind,
};
use operators::{convert, unary};

/// The world outside.
pub trait Host {
    /// Shows bytes.
    fn print(&mut self, bytes: &[u8]);

    /// Shows the shortest decimal of a real.
    fn print_real(&mut self, value: f64, format: RealFormat);

    /// A native: its result, or nothing when the program is to stop.
    fn native(&mut self, name: &str, arguments: &mut [NativeValue]) -> Option<i64>;
}

/// An argument of a native.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NativeValue {
    /// A number.
    Value(i64),
    /// Bytes; what the native leaves here is stored back.
    Bytes(Vec<u8>),
}

/// A host that shows nothing and has no natives.
#[derive(Debug, Default)]
pub struct NoHost;

impl Host for NoHost {
    fn print(&mut self, _: &[u8]) {}

    fn print_real(&mut self, _: f64, _: RealFormat) {}

    fn native(&mut self, _: &str, _: &mut [NativeValue]) -> Option<i64> {
        None
    }
}

/// Something that no program does which keeps to the rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The function in which it happened.
    pub function: String,
    /// What happened.
    pub message: String,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (in {})", self.message, self.function)
    }
}

/// An argument from outside.
#[derive(Debug)]
pub enum Outside<'a> {
    /// The context.
    Context,
    /// A value, as [`crate::Type::extend`] says.
    Value(u64),
    /// A slice; what is written there is stored back.
    Slice(&'a mut Vec<u64>),
}

/// A module with a context that it works on.
pub struct Machine<'m> {
    module: &'m Module,
    /// Positions of fields in their records, and the cells of a record.
    fields: Vec<(Vec<usize>, usize)>,
    /// Positions of variables in frames, and the cells of a frame.
    frames: Vec<(Vec<usize>, usize)>,
    tables: Vec<usize>,
    cells: Vec<u64>,
    /// Where the next frame begins.
    top: usize,
    /// Statements that may still be executed.
    steps: u64,
}

/// Where a place lies, with the number of elements that an array has.
#[derive(Clone, Copy)]
struct Location {
    at: usize,
    len: usize,
}

enum Flow {
    Next,
    Break(Label),
    Continue(Label),
    Return(u64),
}

struct Frame<'m> {
    function: &'m Function,
    id: usize,
    base: usize,
}

type Result<T> = std::result::Result<T, Fault>;

impl<'m> Machine<'m> {
    /// A context that is zero throughout. The module must be one that [`crate::verify`] finds nothing in.
    pub fn new(module: &'m Module) -> Self {
        let mut fields: Vec<(Vec<usize>, usize)> = Vec::new();
        for record in &module.records {
            let mut size = 0;
            let mut at = Vec::new();
            for field in &record.fields {
                at.push(size);
                size += match field.ty {
                    FieldType::Scalar(_) => 1,
                    FieldType::Array(_, len) => len as usize,
                    FieldType::Record(id) => fields.get(id.index()).map_or(0, |record| record.1),
                };
            }
            fields.push((at, size));
        }
        let frames = module.functions.iter().map(|function| {
            let mut size = 0;
            let mut at = Vec::new();
            for variable in &function.variables {
                at.push(size);
                size += match variable.kind {
                    VariableKind::Scalar(_) | VariableKind::Record(_) | VariableKind::Reference { .. } => 1,
                    VariableKind::Array(_, len) => len as usize,
                    VariableKind::Vector(_) => 0,
                    VariableKind::Slice { .. } => 2,
                };
            }
            (at, size)
        });
        let frames = frames.collect();
        let mut cells = vec![0; fields.get(module.interface.context.index()).map_or(0, |record| record.1)];
        let mut tables = Vec::new();
        for table in &module.tables {
            tables.push(cells.len());
            cells.extend(&table.values);
        }
        let top = cells.len();
        Machine { module, fields, frames, tables, cells, top, steps: u64::MAX }
    }

    /// The same context as another machine of the module.
    pub fn clone_context(&mut self, other: &Machine<'m>) {
        self.cells[..self.top].copy_from_slice(&other.cells[..other.top]);
    }

    /// Ends with a fault after so many statements.
    pub fn limit_steps(&mut self, steps: u64) {
        self.steps = steps;
    }

    /// Calls a function from outside and gives its result, or 0 where it has none.
    ///
    /// # Errors
    ///
    /// What no right program does.
    pub fn call(&mut self, id: FunctionId, arguments: &mut [Outside<'_>], host: &mut dyn Host) -> Result<u64> {
        let module = self.module;
        let function = module.function(id);
        let base = self.top;
        let (positions, size) = self.frames[id.index()].clone();
        let mut end = base + size;
        let mut slices = Vec::new();
        self.cells.resize(end, 0);
        self.cells[base..end].fill(0);
        for (number, (variable, argument)) in function.parameters.iter().zip(arguments.iter()).enumerate() {
            let at = base + positions[variable.index()];
            match argument {
                Outside::Context => self.cells[at] = 0,
                Outside::Value(value) => self.cells[at] = *value,
                Outside::Slice(elements) => {
                    self.cells.extend_from_slice(elements);
                    self.cells[at] = end as u64;
                    self.cells[at + 1] = elements.len() as u64;
                    slices.push((number, end));
                    end += elements.len();
                }
            }
        }
        let before = std::mem::replace(&mut self.top, end);
        let frame = Frame { function, id: id.index(), base };
        let flow = self.block(&frame, &function.body, host);
        self.top = before;
        for (number, at) in slices {
            if let Some(Outside::Slice(elements)) = arguments.get_mut(number) {
                let n = elements.len();
                elements.copy_from_slice(&self.cells[at..at + n]);
            }
        }
        Ok(match flow? {
            Flow::Return(value) => value,
            _ => 0,
        })
    }

    fn fault<T>(&self, frame: &Frame<'_>, message: impl Into<String>) -> Result<T> {
        Err(Fault { function: frame.function.name.clone(), message: message.into() })
    }

    fn locate(&self, frame: &Frame<'_>, place: &Place) -> Location {
        let (mut at, len, mut record) = match place.root {
            Root::Table(table) => {
                return Location {
                    at: self.tables[table.index()],
                    len: self.module.tables[table.index()].values.len(),
                };
            }
            Root::Variable(variable) => {
                let own = frame.base + self.frames[frame.id].0[variable.index()];
                let there = self.cells.get(own).copied().unwrap_or_default() as usize;
                match frame.function.variables[variable.index()].kind {
                    VariableKind::Scalar(_) | VariableKind::Vector(_) => (own, 1, None),
                    VariableKind::Array(_, len) => (own, len as usize, None),
                    VariableKind::Record(id) => (there, 1, Some(id)),
                    VariableKind::Reference { len, .. } => (there, len as usize, None),
                    VariableKind::Slice { .. } => (there, self.cells[own + 1] as usize, None),
                }
            }
        };
        let mut size = len;
        for &field in &place.path {
            let Some(RecordId(id)) = record else { break };
            at += self.fields[id as usize].0[field as usize];
            (size, record) = match self.module.records[id as usize].fields[field as usize].ty {
                FieldType::Scalar(_) => (1, None),
                FieldType::Array(_, len) => (len as usize, None),
                FieldType::Record(id) => (1, Some(id)),
            };
        }
        Location { at, len: size }
    }

    fn cell(&self, frame: &Frame<'_>, place: &Place, index: &Expr) -> Result<usize> {
        let location = self.locate(frame, place);
        let index = self.value(frame, index)? as usize;
        if index >= location.len {
            return self.fault(frame, format!("index {index} of an array of {}", location.len));
        }
        Ok(location.at + index)
    }

    fn range(&self, frame: &Frame<'_>, place: &Place, from: &Expr, count: &Expr) -> Result<std::ops::Range<usize>> {
        let location = self.locate(frame, place);
        let (from, count) = (self.value(frame, from)? as usize, self.value(frame, count)? as usize);
        if from + count > location.len {
            return self.fault(frame, format!("{count} elements from {from} on of an array of {}", location.len));
        }
        Ok(location.at + from..location.at + from + count)
    }

    fn value(&self, frame: &Frame<'_>, expr: &Expr) -> Result<u64> {
        Ok(match &expr.kind {
            ExprKind::Constant(value) => *value,
            ExprKind::Read(place) => self.cells[self.locate(frame, place).at],
            ExprKind::Element(place, index) => self.cells[self.cell(frame, place, index)?],
            ExprKind::Word(place, index, order) => {
                let n_bytes = expr.ty.bytes();
                let bytes = self.range(frame, place, index, &Expr::u32(n_bytes))?;
                let shifted = (0..).zip(&self.cells[bytes]).map(|(i, byte)| byte << order.shift(i, n_bytes));
                shifted.fold(0, |word, byte| word | byte)
            }
            ExprKind::Unary(op, x) => unary(*op, expr.ty, self.value(frame, x)?),
            ExprKind::Binary(op, a, b) => {
                let (x, y) = (self.value(frame, a)?, self.value(frame, b)?);
                match binary(*op, expr.ty, x, y) {
                    Some(value) => value,
                    None => return self.fault(frame, format!("{op:?} of {x} and {y} as {}", expr.ty)),
                }
            }
            ExprKind::Compare(op, a, b) => u64::from(compare(*op, a.ty, self.value(frame, a)?, self.value(frame, b)?)),
            ExprKind::Convert(x) => convert(x.ty, expr.ty, self.value(frame, x)?),
            ExprKind::Reinterpret(x) => expr.ty.extend(self.value(frame, x)?),
            // No machine with features is imitated.
            ExprKind::Has(_) => 0,
            // Both, to find what is wrong with the one that is not wanted.
            ExprKind::Select(condition, yes, no) => {
                let (condition, yes, no) =
                    (self.value(frame, condition)?, self.value(frame, yes)?, self.value(frame, no)?);
                if condition != 0 { yes } else { no }
            }
        })
    }

    fn block(&mut self, frame: &Frame<'m>, block: &'m [Stmt], host: &mut dyn Host) -> Result<Flow> {
        for statement in block {
            match self.statement(frame, statement, host)? {
                Flow::Next => {}
                flow => return Ok(flow),
            }
        }
        Ok(Flow::Next)
    }

    fn assign(&mut self, frame: &Frame<'_>, variable: VariableId, value: u64) {
        let at = frame.base + self.frames[frame.id].0[variable.index()];
        self.cells[at] = value;
    }

    fn statement(&mut self, frame: &Frame<'m>, statement: &'m Stmt, host: &mut dyn Host) -> Result<Flow> {
        if self.steps == 0 {
            return self.fault(frame, "too many steps");
        }
        self.steps -= 1;
        match statement {
            Stmt::Assign(place, value) => {
                let value = self.value(frame, value)?;
                let at = self.locate(frame, place).at;
                self.cells[at] = value;
            }
            Stmt::Store(place, index, value) => {
                let value = self.value(frame, value)?;
                let at = self.cell(frame, place, index)?;
                self.cells[at] = value;
            }
            Stmt::StoreWord(place, index, value, order) => {
                let n_bytes = value.ty.bytes();
                let value = self.value(frame, value)?;
                let bytes = self.range(frame, place, index, &Expr::u32(n_bytes))?;
                for (i, byte) in (0..).zip(&mut self.cells[bytes]) {
                    *byte = value >> order.shift(i, n_bytes) & 255;
                }
            }
            // The last first: nobody may count on an order.
            Stmt::Lanes { lane, count, body } => {
                for value in (0..*count).rev() {
                    self.steps = self.steps.saturating_sub(1);
                    self.assign(frame, *lane, u64::from(value));
                    match self.block(frame, body, host)? {
                        Flow::Next => {}
                        flow => return Ok(flow),
                    }
                }
                self.assign(frame, *lane, 0);
            }
            Stmt::Copy { target, at, source, from, count } => {
                let source = self.range(frame, source, from, count)?;
                let target = self.range(frame, target, at, count)?;
                self.cells.copy_within(source, target.start);
            }
            Stmt::Fill { target, at, count, value } => {
                let value = self.value(frame, value)?;
                let range = self.range(frame, target, at, count)?;
                self.cells[range].fill(value);
            }
            Stmt::If(condition, yes, no) => {
                let block = if self.value(frame, condition)? != 0 { yes } else { no };
                return self.block(frame, block, host);
            }
            Stmt::While(label, condition, body) => {
                while self.value(frame, condition)? != 0 {
                    self.steps = self.steps.saturating_sub(1);
                    match self.block(frame, body, host)? {
                        Flow::Break(to) if to == *label => break,
                        Flow::Continue(to) if to == *label => {}
                        Flow::Next => {}
                        flow => return Ok(flow),
                    }
                }
            }
            Stmt::Loop(label, body) => loop {
                if self.steps == 0 {
                    return self.fault(frame, "too many steps");
                }
                self.steps -= 1;
                match self.block(frame, body, host)? {
                    Flow::Break(to) if to == *label => break,
                    Flow::Continue(to) if to == *label => {}
                    Flow::Next => {}
                    flow => return Ok(flow),
                }
            },
            Stmt::Break(label) => return Ok(Flow::Break(*label)),
            Stmt::Continue(label) => return Ok(Flow::Continue(*label)),
            Stmt::Switch(value, cases, rest) => {
                let value = self.value(frame, value)?;
                let found = cases.iter().find(|(case, _)| u64::from(*case) == value);
                return self.block(frame, found.map_or(rest, |(_, block)| block), host);
            }
            Stmt::Call { result, function, arguments } => {
                let value = self.inner_call(frame, *function, arguments, host)?;
                if let Some(result) = result {
                    self.assign(frame, *result, value);
                }
            }
            Stmt::Vector(_) => return self.fault(frame, "a vector on a machine that has none"),
            Stmt::Return(value) => {
                let value = value.as_ref().map_or(Ok(0), |value| self.value(frame, value))?;
                return Ok(Flow::Return(value));
            }
            Stmt::Print(print) => self.print(frame, print, host)?,
            Stmt::Native { native, arguments, result, stopped } => {
                self.native(frame, *native, arguments, *result, *stopped, host)?;
            }
        }
        Ok(Flow::Next)
    }

    fn inner_call(
        &mut self,
        frame: &Frame<'m>,
        id: FunctionId,
        arguments: &'m [Argument],
        host: &mut dyn Host,
    ) -> Result<u64> {
        let module = self.module;
        let function = module.function(id);
        let base = self.top;
        let size = self.frames[id.index()].1;
        self.cells.resize(base + size, 0);
        self.cells[base..].fill(0);
        for (variable, argument) in function.parameters.iter().zip(arguments) {
            let at = base + self.frames[id.index()].0[variable.index()];
            match argument {
                Argument::Value(value) => self.cells[at] = self.value(frame, value)?,
                Argument::Reference(place) => {
                    let location = self.locate(frame, place);
                    self.cells[at] = location.at as u64;
                    if matches!(function.variables[variable.index()].kind, VariableKind::Slice { .. }) {
                        self.cells[at + 1] = location.len as u64;
                    }
                }
            }
        }
        self.top = base + size;
        let inner = Frame { function, id: id.index(), base };
        let flow = self.block(&inner, &function.body, host);
        self.top = base;
        Ok(match flow? {
            Flow::Return(value) => value,
            _ => 0,
        })
    }

    fn bytes(&self, frame: &Frame<'_>, place: &Place, from: &Expr, count: &Expr) -> Result<Vec<u8>> {
        let range = self.range(frame, place, from, count)?;
        Ok(self.cells[range].iter().map(|&cell| cell as u8).collect())
    }

    fn print(&mut self, frame: &Frame<'_>, print: &Print, host: &mut dyn Host) -> Result<()> {
        match print {
            Print::Text(text) => match self.module.texts.get(self.value(frame, text)? as usize) {
                Some(text) => host.print(text.as_bytes()),
                None => return self.fault(frame, "a text that is not there"),
            },
            Print::Bytes(place, from, count) => host.print(&self.bytes(frame, place, from, count)?),
            Print::Real(value, format) => host.print_real(f64::from_bits(self.value(frame, value)?), *format),
        }
        Ok(())
    }

    fn native(
        &mut self,
        frame: &Frame<'_>,
        native: u32,
        arguments: &[NativeArgument],
        result: Option<VariableId>,
        stopped: VariableId,
        host: &mut dyn Host,
    ) -> Result<()> {
        let mut values = Vec::new();
        for argument in arguments {
            values.push(match argument {
                NativeArgument::Value(value) => NativeValue::Value(self.value(frame, value)? as i64),
                NativeArgument::Bytes(place, from, count) => NativeValue::Bytes(self.bytes(frame, place, from, count)?),
            });
        }
        let given = host.native(&self.module.natives[native as usize].name, &mut values);
        for (argument, value) in arguments.iter().zip(&values) {
            if let (NativeArgument::Bytes(place, from, count), NativeValue::Bytes(bytes)) = (argument, value) {
                let range = self.range(frame, place, from, count)?;
                self.cells[range].iter_mut().zip(bytes).for_each(|(cell, &byte)| *cell = u64::from(byte));
            }
        }
        self.assign(frame, stopped, u64::from(given.is_none()));
        if let Some(result) = result {
            self.assign(frame, result, given.unwrap_or(0) as u64);
        }
        Ok(())
    }
}

impl std::fmt::Debug for Machine<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Machine").field("module", &self.module.name).field("cells", &self.cells.len()).finish()
    }
}
