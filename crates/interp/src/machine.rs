//! What compiled code runs on: one memory for constants, state and frames, and the way to the world outside.
//!
//! Scalars of up to 64 bits, booleans and reals are 64-bit words: signed integers sign-extended, unsigned ones
//! zero-extended (so `uint(size=64)` is a bit pattern), reals as the bits of a binary64. Lists of them take only the
//! bytes that their elements need ([`Element`]), in a memory of bytes. Wider integers and strings have memories of
//! their own. A list is contiguous in the memory of its elements, and a reference to it is an address there.

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
/// Loop iterations and calls between two looks at the interrupt flag.
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

/// How the words of a list lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    Word,
}

impl Element {
    /// The narrowest form that holds all words of a type.
    pub fn of(scalar: Scalar) -> Element {
        match scalar {
            Scalar::Bool => Element::U8,
            Scalar::Int(int) => match (int.width, int.signed) {
                (0..=8, false) => Element::U8,
                (0..=8, true) => Element::I8,
                (9..=16, false) => Element::U16,
                (9..=16, true) => Element::I16,
                (17..=32, false) => Element::U32,
                (17..=32, true) => Element::I32,
                _ => Element::Word,
            },
            Scalar::Real(_) | Scalar::String => Element::Word,
        }
    }

    /// Bytes of an element.
    pub fn bytes(self) -> usize {
        match self {
            Element::U8 | Element::I8 => 1,
            Element::U16 | Element::I16 => 2,
            Element::U32 | Element::I32 => 4,
            Element::Word => 8,
        }
    }
}

/// The expression for each form of elements, which is a constant in it: how an element lies is settled when code is
/// made.
macro_rules! for_element {
    ($element:expr, $name:ident => $body:expr) => {
        for_element!(@ $element, $name => $body; U8 I8 U16 I16 U32 I32 Word)
    };
    (@ $element:expr, $name:ident => $body:expr; $($form:ident)*) => {
        match $element {
            $($crate::machine::Element::$form => {
                const $name: $crate::machine::Element = $crate::machine::Element::$form;
                $body
            })*
        }
    };
}
pub(crate) use for_element;

/// Positions in, or sizes of, the memories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    pub words: usize,
    /// In bytes.
    pub lists: usize,
    pub wides: usize,
    pub texts: usize,
}

impl Extent {
    /// Makes room for a variable and returns its position in the memory of its class.
    pub fn allocate(&mut self, ty: &Type) -> usize {
        if let (Class::Word, true) = (Class::of(ty.element), ty.is_list()) {
            let position = self.lists;
            self.lists = position.saturating_add(ty.len().saturating_mul(Element::of(ty.element).bytes()));
            return position;
        }
        let memory = match Class::of(ty.element) {
            Class::Word => &mut self.words,
            Class::Wide => &mut self.wides,
            Class::Text => &mut self.texts,
        };
        let position = *memory;
        *memory = memory.saturating_add(ty.len());
        position
    }

    /// The position in the memory that variables of a type lie in.
    pub fn of(&self, ty: &Type) -> usize {
        match Class::of(ty.element) {
            Class::Word if ty.is_list() => self.lists,
            Class::Word => self.words,
            Class::Wide => self.wides,
            Class::Text => self.texts,
        }
    }

    pub fn plus(self, other: Extent) -> Extent {
        Extent {
            words: self.words.saturating_add(other.words),
            lists: self.lists.saturating_add(other.lists),
            wides: self.wides.saturating_add(other.wides),
            texts: self.texts.saturating_add(other.texts),
        }
    }

    /// All memories together in words, as a measure of size.
    pub fn total(self) -> usize {
        self.words.saturating_add(self.lists / 8).saturating_add(self.wides).saturating_add(self.texts)
    }
}

/// The memories.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub words: Vec<i64>,
    pub lists: Vec<u8>,
    pub wides: Vec<Int>,
    pub texts: Vec<String>,
}

impl Memory {
    /// The word that an element at an address in the memory of lists stands for.
    #[inline(always)]
    pub fn element(&self, element: Element, at: usize) -> i64 {
        let bytes = &self.lists[at..];
        match element {
            Element::U8 => i64::from(bytes[0]),
            Element::I8 => i64::from(bytes[0] as i8),
            Element::U16 => bytes.first_chunk().map_or(0, |bytes| i64::from(u16::from_le_bytes(*bytes))),
            Element::I16 => bytes.first_chunk().map_or(0, |bytes| i64::from(i16::from_le_bytes(*bytes))),
            Element::U32 => bytes.first_chunk().map_or(0, |bytes| i64::from(u32::from_le_bytes(*bytes))),
            Element::I32 => bytes.first_chunk().map_or(0, |bytes| i64::from(i32::from_le_bytes(*bytes))),
            Element::Word => bytes.first_chunk().map_or(0, |bytes| i64::from_le_bytes(*bytes)),
        }
    }

    /// Stores a word of the elements' type at an address in the memory of lists.
    #[inline(always)]
    pub fn set_element(&mut self, element: Element, at: usize, word: i64) {
        match element {
            Element::U8 | Element::I8 => self.lists[at] = word as u8,
            Element::U16 | Element::I16 => self.lists[at..at + 2].copy_from_slice(&(word as u16).to_le_bytes()),
            Element::U32 | Element::I32 => self.lists[at..at + 4].copy_from_slice(&(word as u32).to_le_bytes()),
            Element::Word => self.lists[at..at + 8].copy_from_slice(&word.to_le_bytes()),
        }
    }

    /// Makes the memories at least this large.
    pub fn reserve(&mut self, extent: Extent) {
        if self.words.is_empty() {
            // Straight from the system, which gives pages only when they are touched.
            self.words = vec![0; extent.words];
        }
        if self.words.len() < extent.words {
            self.words.resize(extent.words, 0);
        }
        if self.lists.is_empty() {
            self.lists = vec![0; extent.lists];
        }
        if self.lists.len() < extent.lists {
            self.lists.resize(extent.lists, 0);
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
        self.lists[from.lists..to.lists].fill(0);
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
    /// An index outside its list is no error.
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

    /// Counts an iteration of a loop or a call, so that no program runs on unnoticed.
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
                Err(trap(format!("no end of the firing after {limit} loop iterations and calls"), span))
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
            || top.lists > self.memory.lists.len()
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
            lists: ample(top.lists, self.memory.lists.len()),
            wides: ample(top.wides, self.memory.wides.len()),
            texts: ample(top.texts, self.memory.texts.len()),
        });
        Ok(())
    }
}
