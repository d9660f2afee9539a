//! What compiled code runs on: one memory for constants, state and frames, and the way to the world outside.
//!
//! Scalars of up to 64 bits, booleans and reals are 64-bit words: signed integers sign-extended, unsigned ones
//! zero-extended (so `uint(size=64)` is a bit pattern), reals as the bits of a binary64. Wider integers and strings have
//! memories of their own. A list is contiguous in the memory of its elements, and a reference to it is an address there.

use crate::code::ProcedureCode;
use headrace_engine::Host;
use headrace_ir::{Int, Scalar, Type};
use headrace_natives::Session;
use headrace_source::Span;
use std::sync::atomic::{AtomicBool, Ordering};

/// Calls that may be open at a time.
const MAX_DEPTH: u32 = 10_000;
/// Words that all frames together may take.
const MAX_STACK: usize = 1 << 26;
/// Loop passes and calls between two looks at the interrupt flag.
const FUEL: u32 = 4096;

/// Why code does not go on.
#[derive(Clone, Debug)]
pub(crate) enum Stop {
    /// A run-time error.
    Trap {
        message: String,
        span: Option<Span>,
        /// The innermost procedure that it happened in.
        procedure: Option<String>,
    },
    /// A native ended the program.
    Exit(i32),
}

/// Boxed, because it is rare and results should fit registers.
pub(crate) type Fault = Box<Stop>;

/// A run-time error at a place.
#[cold]
pub(crate) fn trap(message: impl Into<String>, span: Span) -> Fault {
    Box::new(Stop::Trap { message: message.into(), span: Some(span), procedure: None })
}

/// Which memory holds a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Word,
    Wide,
    Text,
}

impl Class {
    pub fn of(scalar: Scalar) -> Class {
        match scalar {
            Scalar::Int(int) if int.width > 64 => Class::Wide,
            Scalar::String => Class::Text,
            _ => Class::Word,
        }
    }
}

/// Positions in, or sizes of, the three memories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    pub words: usize,
    pub wides: usize,
    pub texts: usize,
}

impl Extent {
    /// Makes room for a variable and returns its position in the memory of its class.
    pub fn allocate(&mut self, ty: &Type) -> usize {
        let memory = match Class::of(ty.element) {
            Class::Word => &mut self.words,
            Class::Wide => &mut self.wides,
            Class::Text => &mut self.texts,
        };
        let position = *memory;
        *memory = memory.saturating_add(ty.len());
        position
    }

    pub fn plus(self, other: Extent) -> Extent {
        Extent {
            words: self.words.saturating_add(other.words),
            wides: self.wides.saturating_add(other.wides),
            texts: self.texts.saturating_add(other.texts),
        }
    }

    /// All memories together, as a measure of size.
    pub fn total(self) -> usize {
        self.words.saturating_add(self.wides).saturating_add(self.texts)
    }
}

/// The memories.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub words: Vec<i64>,
    pub wides: Vec<Int>,
    pub texts: Vec<String>,
}

impl Memory {
    /// Makes the memories at least this large.
    pub fn reserve(&mut self, extent: Extent) {
        if self.words.is_empty() {
            // Straight from the system, which gives pages only when they are touched.
            self.words = vec![0; extent.words];
        }
        if self.words.len() < extent.words {
            self.words.resize(extent.words, 0);
        }
        if self.wides.len() < extent.wides {
            self.wides.resize(extent.wides, Int::ZERO);
        }
        if self.texts.len() < extent.texts {
            self.texts.resize(extent.texts, String::new());
        }
    }

    /// Sets everything between two positions to zero, false, "".
    pub fn clear(&mut self, from: Extent, to: Extent) {
        self.words[from.words..to.words].fill(0);
        self.wides[from.wides..to.wides].fill(Int::ZERO);
        self.texts[from.texts..to.texts].fill(String::new());
    }
}

/// The state of a run, handed to every piece of code.
pub(crate) struct Machine<'a> {
    pub memory: Memory,
    /// Where the frame of the running action or procedure begins.
    pub frame: Extent,
    /// Where the state variables of the running instance begin.
    pub state: Extent,
    /// The end of all open frames.
    pub top: Extent,
    /// Procedures of the running actor.
    pub procedures: &'a [ProcedureCode],
    pub host: &'a mut dyn Host,
    pub session: Session,
    /// Outgoing tokens of the firing.
    pub outgoing: crate::fifo::Outgoing,
    /// An index outside its list stands for the first element.
    pub lenient_indices: bool,
    depth: u32,
    fuel: u32,
    steps: u64,
    step_limit: Option<u64>,
    stack_base: usize,
    interrupt: Option<&'a AtomicBool>,
}

impl<'a> Machine<'a> {
    pub fn new(
        memory: Memory,
        base: Extent,
        host: &'a mut dyn Host,
        session: Session,
        step_limit: Option<u64>,
        interrupt: Option<&'a AtomicBool>,
    ) -> Self {
        Machine {
            memory,
            frame: base,
            state: base,
            top: base,
            procedures: &[],
            host,
            session,
            outgoing: Default::default(),
            lenient_indices: false,
            depth: 0,
            fuel: FUEL,
            steps: 0,
            step_limit,
            stack_base: base.total(),
            interrupt,
        }
    }

    /// Starts a firing or a test of a guard: an empty stack at `base` and a full allowance of steps.
    pub fn begin(&mut self, base: Extent) {
        self.frame = base;
        self.top = base;
        self.depth = 0;
        self.steps = 0;
    }

    /// True when the run should end now.
    pub fn interrupted(&self) -> bool {
        self.interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// Counts a pass of a loop or a call, so that no program runs on unnoticed.
    #[inline]
    pub fn tick(&mut self, span: Span) -> Result<(), Fault> {
        self.fuel -= 1;
        if self.fuel == 0 { self.refuel(span) } else { Ok(()) }
    }

    #[cold]
    fn refuel(&mut self, span: Span) -> Result<(), Fault> {
        self.fuel = FUEL;
        self.steps += u64::from(FUEL);
        if self.interrupted() {
            return Err(trap("interrupted", span));
        }
        match self.step_limit {
            Some(limit) if self.steps > limit => {
                Err(trap(format!("no end of the firing after {limit} loop passes and calls"), span))
            }
            _ => Ok(()),
        }
    }

    /// Opens a frame above all others; its memory is there but holds anything.
    #[inline]
    pub fn open(&mut self, size: Extent, span: Span) -> Result<Extent, Fault> {
        let frame = self.top;
        let top = frame.plus(size);
        if self.depth >= MAX_DEPTH {
            return Err(trap(format!("more than {MAX_DEPTH} calls are open"), span));
        }
        if top.words > self.memory.words.len()
            || top.wides > self.memory.wides.len()
            || top.texts > self.memory.texts.len()
        {
            self.grow(top, span)?;
        }
        self.depth += 1;
        self.top = top;
        Ok(frame)
    }

    /// Closes the frame that begins at `frame`.
    #[inline]
    pub fn close(&mut self, frame: Extent) {
        self.depth -= 1;
        self.top = frame;
    }

    #[cold]
    fn grow(&mut self, top: Extent, span: Span) -> Result<(), Fault> {
        if top.total().saturating_sub(self.stack_base) > MAX_STACK {
            return Err(trap("the variables of all open calls need too much memory", span));
        }
        // Doubling, so that recursion does not copy the stack at every call.
        let ample = |need: usize, there: usize| if need > there { need.max(there + there / 2) } else { need };
        self.memory.reserve(Extent {
            words: ample(top.words, self.memory.words.len()),
            wides: ample(top.wides, self.memory.wides.len()),
            texts: ample(top.texts, self.memory.texts.len()),
        });
        Ok(())
    }
}
