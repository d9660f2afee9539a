//! Designs: modules and what they are made of.

use crate::{Bits, Expr, Stmt};

macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);

        impl $name {
            /// The position in the table.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

index!(
    /// Position in [`Module::signals`].
    SignalId
);
index!(
    /// Position in [`Module::tables`].
    TableId
);

/// A hierarchy of modules.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Design {
    /// Modules, each after those that it has instances of. The last is the top.
    pub modules: Vec<Module>,
}

impl Design {
    /// The module of this name, with its position.
    pub fn module(&self, name: &str) -> Option<(usize, &Module)> {
        self.modules.iter().enumerate().find(|(_, module)| module.name == name)
    }
}

/// A module: ports, state and logic.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Module {
    /// Name, unique in the design.
    pub name: String,
    /// What it is, for readers: lines.
    pub about: Vec<String>,
    /// When blocks come out, where that is the same for all of them.
    pub timing: Option<Timing>,
    /// Ports, wires and registers.
    pub signals: Vec<Signal>,
    /// Constant tables.
    pub tables: Vec<Table>,
    /// Memories.
    pub memories: Vec<Memory>,
    /// Assignments that always hold.
    pub assigns: Vec<Assign>,
    /// Processes.
    pub processes: Vec<Process>,
    /// Instances of other modules.
    pub instances: Vec<Instance>,
}

/// When blocks come out of a module while nothing stalls at its ports. A block is so many beats of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timing {
    /// The initiation interval: clock cycles from the first beat of a block out to that of the next one, at least.
    pub interval: u32,
    /// The stream that blocks come out of, and beats of a block there.
    pub output: (String, u32),
    /// The stream that they come in by, and beats of a block there.
    pub input: (String, u32),
    /// The latency: clock cycles from the last beat of a block in to the first one of it out, at least.
    pub latency: u32,
}

impl Timing {
    /// Whether some block has exactly the latency; else each of them may wait, collected, for the one before.
    pub fn is_exact(&self) -> bool {
        self.input.1 == 1 || self.input.1 >= self.interval
    }
}

/// A port, wire or register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signal {
    /// Name, unique in the module.
    pub name: String,
    /// Bits, at least one.
    pub width: u32,
    /// Where its value comes from.
    pub kind: SignalKind,
    /// What it is, for readers; may be empty.
    pub about: String,
    /// Names of some of its values, for readers: states of a state machine.
    pub names: Vec<(Bits, String)>,
}

/// Where the value of a signal comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignalKind {
    /// From outside.
    Input,
    /// From inside, to the outside.
    Output,
    /// From inside.
    Wire,
    /// From the clock cycle before: what `next` was, or `reset` while the reset is active.
    Register {
        /// The value while the reset is active.
        reset: Bits,
        /// What it holds next; of the same width.
        next: SignalId,
    },
}

/// A constant table, which logic looks values up in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Name, unique in the module.
    pub name: String,
    /// Bits of an index.
    pub index_width: u32,
    /// Bits of an element.
    pub width: u32,
    /// The elements, at least one and at most as many as there are indices.
    pub values: Vec<Bits>,
}

/// A memory: reads show the addressed word in the same cycle, writes happen at the end of it. It holds anything at first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Name, unique in the module.
    pub name: String,
    /// Bits of a word.
    pub width: u32,
    /// Words, at least two.
    pub depth: u32,
    /// Read ports.
    pub reads: Vec<MemoryRead>,
    /// Write ports; of several that write one word in one cycle, the last counts.
    pub writes: Vec<MemoryWrite>,
    /// What it is, for readers; may be empty.
    pub about: String,
}

/// A read port. An address has as many bits as the last word needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryRead {
    /// Which word.
    pub address: SignalId,
    /// The wire that shows it.
    pub data: SignalId,
}

/// A write port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryWrite {
    /// Whether anything is written: one bit.
    pub enable: SignalId,
    /// Which word.
    pub address: SignalId,
    /// What is written.
    pub data: SignalId,
}

/// A signal that always is the value of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assign {
    /// The signal.
    pub signal: SignalId,
    /// The value.
    pub value: Expr,
}

/// Combinational logic as statements that are run in order in every cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Name, unique in the module.
    pub name: String,
    /// What it does.
    pub body: Vec<Stmt>,
}

/// An instance of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Name, unique in the module.
    pub name: String,
    /// Name of its module.
    pub module: String,
    /// What its ports are connected to, each once.
    pub connections: Vec<Connection>,
}

/// A port of an instance and the signal at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Name of the port.
    pub port: String,
    /// The signal of the module around the instance.
    pub signal: SignalId,
}

impl Module {
    /// A module without anything in it.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// The signal of this number.
    pub fn signal(&self, id: SignalId) -> &Signal {
        &self.signals[id.index()]
    }

    /// The signal of this name.
    pub fn find(&self, name: &str) -> Option<SignalId> {
        self.signals.iter().position(|signal| signal.name == name).map(|at| SignalId(at as u32))
    }

    /// One signal more.
    pub fn add(&mut self, name: impl Into<String>, width: u32, kind: SignalKind) -> SignalId {
        let signal = Signal { name: name.into(), width, kind, about: String::new(), names: Vec::new() };
        self.signals.push(signal);
        SignalId(self.signals.len() as u32 - 1)
    }

    /// A register `NAME_q` with its next value `NAME_d`, in this order.
    pub fn add_register(&mut self, name: &str, reset: Bits) -> (SignalId, SignalId) {
        let width = reset.width();
        let next = self.add(format!("{name}_d"), width, SignalKind::Wire);
        let register = self.add(format!("{name}_q"), width, SignalKind::Register { reset, next });
        (register, next)
    }

    /// The value of a signal.
    pub fn get(&self, id: SignalId) -> Expr {
        Expr::signal(id, self.signal(id).width)
    }

    /// An assignment more.
    pub fn assign(&mut self, signal: SignalId, value: Expr) {
        self.assigns.push(Assign { signal, value });
    }

    /// Ports, in order.
    pub fn ports(&self) -> impl Iterator<Item = (SignalId, &Signal)> {
        let all = self.signals.iter().enumerate().map(|(at, signal)| (SignalId(at as u32), signal));
        all.filter(|(_, signal)| matches!(signal.kind, SignalKind::Input | SignalKind::Output))
    }

    /// True when it or an instance in it keeps anything from cycle to cycle.
    pub fn has_state(&self, design: &Design) -> bool {
        self.signals.iter().any(|signal| matches!(signal.kind, SignalKind::Register { .. }))
            || !self.memories.is_empty()
            || self
                .instances
                .iter()
                .any(|instance| design.module(&instance.module).is_some_and(|(_, module)| module.has_state(design)))
    }
}
