//! Operations of lanes, counted by kind, beside the text that is printed for them.

use super::super::machine::{Machine, of_width};
use super::super::rows::Rows;
use super::super::vectors::{lie_together, merges};
use super::super::words::Layout;
use super::super::work::{self, Work};
use super::Printer;
use headrace_boolean::circuit::Signal;
use headrace_machines::cost_model::Elements;
use headrace_transform::kernel::graph::mask;
use headrace_transform::kernel::{NodeId, Op};
use headrace_transform::statements::Piece;

/// Operations by kind.
type Kinds = Vec<(&'static str, f64)>;

/// Values of gates stand beside those of nodes.
const GATES: u64 = 1 << 40;

/// And so does what is done beside a node.
const BESIDE: u64 = 1 << 41;

/// Registers that are not for values: what compilers keep for addresses of vectors and constants.
const OTHER_REGISTERS: usize = 1;

/// What words of a loop that control groups take: a sum, a comparison, and a jump.
const FRAME: f64 = 3.0;

impl Printer<'_> {
    /// A node as it is printed.
    pub(super) fn count_node(&mut self, id: NodeId) {
        let (kinds, beside) = self.kinds(id);
        let graph = &self.words.graph;
        let is_value = |id: &NodeId| !matches!(graph.op(*id), Op::Const(_));
        let operands: Vec<u64> = self.reads(id).into_iter().filter(is_value).map(|id| u64::from(id.0)).collect();
        if !beside.is_empty() {
            self.trace.value(BESIDE + u64::from(id.0), beside, operands.iter().copied());
        }
        self.trace.value(u64::from(id.0), kinds, operands);
    }

    /// A node that a gate has made.
    pub(super) fn count_output(&mut self, id: NodeId, signal: Signal, is_node: Option<NodeId>) {
        let from = is_node.map_or(GATES + signal.index() as u64, |id| u64::from(id.0));
        self.trace.value(u64::from(id.0), Vec::new(), [from]);
    }

    /// A gate as it is printed; its operands are signals, or nodes.
    pub(super) fn count_gate(&mut self, signal: Signal, operands: impl Iterator<Item = (Signal, Option<NodeId>)>) {
        let of =
            |(signal, node): (Signal, Option<NodeId>)| node.map_or(GATES + signal.index() as u64, |id| u64::from(id.0));
        let operands: Vec<u64> = operands.map(of).collect();
        self.trace.value(GATES + signal.index() as u64, vec![(work::LOGIC, 1.0)], operands);
    }

    /// What makes a node and is waited for, and what is done beside it.
    fn kinds(&self, id: NodeId) -> (Kinds, Kinds) {
        let mut kinds = self.kinds_of_wide(id);
        let shifts: f64 = kinds.iter().filter(|(kind, _)| *kind == work::SHIFT).map(|(_, count)| count).sum();
        if self.lane() != 8 || shifts == 0.0 {
            return (kinds, Vec::new());
        }
        // Bytes are shifted as words of 16 bits: by one number those of both halves at once, by many half by half, taken apart and
        // put together; halves do not wait for each other.
        let graph = &self.words.graph;
        let by_many = match graph.op(id) {
            Op::ShiftLeft(_, n) | Op::ShiftRight(_, n) | Op::RotateLeft(_, n) => graph.constant(*n).is_none(),
            _ => false,
        };
        if !by_many {
            kinds.push((work::LOGIC, shifts));
            return (kinds, Vec::new());
        }
        kinds.retain(|(kind, _)| *kind != work::SHIFT);
        kinds.extend([(work::SHUFFLE, 2.0), (work::SHIFT, 1.0)]);
        (kinds, vec![(work::SHUFFLE, 5.0 * shifts - 2.0), (work::SHIFT, 2.0 * shifts - 1.0)])
    }

    /// The same where lanes are wide enough for all operations that there are.
    fn kinds_of_wide(&self, id: NodeId) -> Kinds {
        let graph = &self.words.graph;
        let (width, lane) = (graph.width(id), self.lane());
        let cut = if width < lane { 1.0 } else { 0.0 };
        let bounded = |n: &NodeId| if graph.bounds(*n).1 < u128::from(width) { 0.0 } else { 2.0 };
        match graph.op(id) {
            Op::Const(_) | Op::Input { .. } => Vec::new(),
            Op::Add(..) | Op::Sub(..) => vec![(work::ADD, 1.0), (work::LOGIC, cut)],
            Op::Mul(..) => vec![(work::MULTIPLY, 1.0), (work::LOGIC, cut)],
            Op::ShiftLeft(_, n) | Op::ShiftRight(_, n) => vec![(work::SHIFT, 1.0), (work::LOGIC, cut + bounded(n))],
            Op::ShiftRightSigned(..) => vec![(work::SHIFT, 3.0), (work::LOGIC, 3.0)],
            Op::RotateLeft(..) if self.rotates() => vec![(work::SHIFT, 1.0)],
            Op::RotateLeft(..) => vec![(work::SHIFT, 2.0), (work::LOGIC, 1.0)],
            Op::Extract(a, lo) => {
                let whole = lo + width == graph.width(*a) || graph.bounds(*a).1 >> lo <= mask(width);
                vec![(work::SHIFT, if *lo == 0 { 0.0 } else { 1.0 }), (work::LOGIC, if whole { 0.0 } else { cut })]
            }
            Op::Concat(parts) => self.kinds_of_pieces(&self.outside.pieces(parts)),
            Op::SignExtend(_) => vec![(work::LOGIC, 1.0 + cut), (work::ADD, 1.0)],
            Op::Equal(..) | Op::Less(..) => vec![(work::LOGIC, 2.0)],
            Op::LessSigned(..) => vec![(work::LOGIC, 4.0)],
            Op::Select(..) => vec![(work::ADD, 1.0), (work::LOGIC, 2.0)],
            Op::Lookup(..) | Op::LookupBytes(..) | Op::Entry { .. } => match self.way_of_elements(id) {
                Some(Elements::Mapped) => vec![(work::AFFINE, 1.0)],
                Some(Elements::Gathered { lanes }) => vec![(work::GATHER, f64::from(lanes))],
                Some(Elements::Alone { lanes }) => {
                    vec![(work::WORD_LOAD, f64::from(lanes)), (work::SHUFFLE, 2.0 * f64::from(lanes))]
                }
                // Two of two registers each, by a mask that is made of the index.
                Some(Elements::Permuted) => vec![(work::PERMUTE, 2.0), (work::LOGIC, 2.0)],
                Some(Elements::Nibbles) => vec![(work::SHUFFLE, NIBBLES), (work::LOGIC, NIBBLES)],
                Some(Elements::Shuffled { sixteens }) => {
                    vec![(work::SHUFFLE, sixteens as f64), (work::LOGIC, sixteens as f64)]
                }
                None => Vec::new(),
            },
            _ => vec![(work::LOGIC, 1.0)],
        }
    }

    fn kinds_of_pieces(&self, pieces: &[Piece]) -> Kinds {
        if let Some((_, up, _)) = self.one_rotation(pieces) {
            return vec![(if self.rotates_by_shuffle(up) { work::SHUFFLE } else { work::SHIFT }, 1.0)];
        }
        let (mut shifts, mut shuffles) = (0.0, 0.0);
        for piece in pieces {
            match piece {
                Piece::Moved { shift, .. } if *shift != 0 => shifts += 1.0,
                Piece::Swapped { lo, at, .. } => {
                    shuffles += 1.0;
                    shifts += f64::from(u8::from(*lo != 0)) + f64::from(u8::from(*at != 0));
                }
                _ => {}
            }
        }
        // Masks are joined with what they are mixed into.
        vec![(work::SHIFT, shifts), (work::SHUFFLE, shuffles), (work::LOGIC, pieces.len() as f64 - 1.0)]
    }

    /// Rows of words of so many messages, which lie apart.
    fn rows_of_messages_work(&self, layout: &Layout, moves: &'static str) -> Work {
        let (bits, lane) = (self.machine.vector_bits, self.lane());
        let (n, messages) = (layout.words(lane) as f64, f64::from(bits / lane));
        let mut work = Work::default();
        if layout.bytes() >= BYTES_OF_VECTORS {
            work.add(moves, messages * (layout.bytes() as f64 / f64::from(bits / 8)).ceil());
            work.add(work::PERMUTE, n * messages.log2());
        } else {
            // A word of each message goes to its lane by itself, or comes from it: two operations.
            let word = if moves == work::LOAD { work::WORD_LOAD } else { work::WORD_STORE };
            work.add(word, n * messages);
            work.add(work::SHUFFLE, 2.0 * n * messages);
        }
        work
    }

    /// Rows of words that go to lanes (or back), with what is mixed into them.
    fn rows_work(&self, layout: &Layout, moves: &'static str, mixed: bool) -> Work {
        let (bits, lane) = (self.machine.vector_bits, self.lane());
        let n = layout.words(lane) as f64;
        let mut work = Work::default();
        if lie_together(layout, lane) {
            work.add(moves, n);
            work.add(work::PERMUTE, merges(layout, bits, lane) as f64);
        } else if let Some(rows) = Rows::new(layout, bits, lane) {
            work.add(moves, n);
            work.add(work::PERMUTE, rows.permutations() as f64);
        } else {
            let word = if moves == work::LOAD { work::WORD_LOAD } else { work::WORD_STORE };
            work.add(word, n * f64::from(bits / lane));
            work.add(work::SHUFFLE, n * f64::from(bits / lane));
        }
        if mixed {
            work.add(work::LOAD, n);
            work.add(work::LOGIC, n);
        }
        work
    }

    /// What an iteration of all messages has to do; `is_same` says which words stay the same from iteration to iteration.
    pub(super) fn work_of_messages(&mut self, n_in: usize, n_out: usize, is_same: impl Fn(u32) -> bool) -> Work {
        let words = self.words;
        let is_same = |value: u64| match u32::try_from(value).map(|id| words.graph.op(NodeId(id))) {
            Ok(Op::Input { port, .. }) => is_same(*port),
            // What does not differ from message to message.
            Ok(_) => true,
            Err(_) => false,
        };
        let trace = std::mem::take(&mut self.trace).repeated(is_same);
        let mut work = trace.work(registers(self.machine), work::usual_weight);
        for (ports, n, moves) in [(&words.inputs, n_in, work::LOAD), (&words.outputs, n_out, work::STORE)] {
            for layout in ports.iter().take(n).filter(|layout| layout.tokens > 0) {
                work.add_all(&self.rows_of_messages_work(layout, moves), 1.0);
            }
        }
        work.add(work::WORD, FRAME);
        Work { is_carried: true, ..work.of_group(1.0) }
    }

    /// What was printed has to do, with rows of so many ports: of a group of so many iterations.
    pub(super) fn work(&self, n_in: usize, n_out: usize, iterations: f64) -> Work {
        let words = self.words;
        let mut work = self.trace.work(registers(self.machine), work::usual_weight);
        let read: Vec<u32> = self.read_words().into_iter().map(|(port, _)| port).collect();
        for (port, layout) in words.inputs.iter().enumerate().take(n_in).filter(|(_, layout)| layout.tokens > 0) {
            if read.contains(&(port as u32)) {
                work.add_all(&self.rows_work(layout, work::LOAD, false), 1.0);
            }
        }
        for (port, layout) in words.outputs.iter().enumerate().take(n_out).filter(|(_, layout)| layout.tokens > 0) {
            work.add_all(&self.rows_work(layout, work::STORE, self.mixed[port].is_some()), 1.0);
        }
        work.add(work::WORD, FRAME);
        work.of_group(iterations)
    }
}

/// Bytes of a row of a message from which on it is moved by vectors.
const BYTES_OF_VECTORS: u64 = 16;

/// Shuffles of an element that is found by tables of nibbles, and what lies between them.
const NIBBLES: f64 = 11.0;

/// Registers for values.
pub(in crate::c::kernel) fn registers(machine: &Machine) -> usize {
    machine.vector_registers as usize - OTHER_REGISTERS
}

/// Those of the level of vectors of so many bits. What is narrower than the widest asks for their encoding, too.
pub(in crate::c::kernel) fn registers_of(bits: u32) -> usize {
    of_width(if bits == 128 { 128 } else { 512 }).map_or(1, registers)
}
