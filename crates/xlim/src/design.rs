//! Designs as data.

use headrace_ir::{CompareOp, Int, Scalar};
use headrace_source::Span;

/// A design: one actor.
#[derive(Clone, Debug, PartialEq)]
pub struct Design {
    /// Its name.
    pub name: String,
    /// Its ports, in document order.
    pub pins: Vec<Pin>,
    /// Its state variables.
    pub variables: Vec<StateVar>,
    /// Its modules.
    pub tasks: Vec<Task>,
}

impl Design {
    /// The port of a direction by its name.
    pub fn pin(&self, name: &str, output: bool) -> Option<usize> {
        self.pins.iter().position(|pin| pin.name == name && pin.output == output)
    }
}

/// A port of a design.
#[derive(Clone, Debug, PartialEq)]
pub struct Pin {
    /// Its name.
    pub name: String,
    /// Whether tokens leave by it.
    pub output: bool,
    /// Type of its tokens.
    pub ty: Scalar,
    /// Most tokens or places that the design asks for at once, as far as constants tell.
    pub burst: u64,
    /// Where it is declared.
    pub span: Span,
}

/// A state variable.
#[derive(Clone, Debug, PartialEq)]
pub struct StateVar {
    /// Its name in the design.
    pub name: String,
    /// Type of its elements.
    pub ty: Scalar,
    /// True for lists, which are read and written by index, over all dimensions.
    pub is_list: bool,
    /// Initial values; one for a scalar.
    pub initial: Vec<Int>,
}

/// A module at the top of a design.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Its name.
    pub name: String,
    /// Whether it runs from the start.
    pub autostart: bool,
    /// Types of the values that it computes.
    pub values: Vec<Scalar>,
    /// What it does.
    pub body: Vec<Item>,
}

/// Where an operand comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A value of the task.
    Value(usize),
    /// A scalar state variable, as it is when the operation is done.
    Variable(usize),
}

/// A part of a module.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// An operation.
    Operation(Operation),
    /// A choice.
    If {
        /// Operations of the test.
        test: Vec<Item>,
        /// What decides.
        decision: Source,
        /// When it holds.
        then: Vec<Item>,
        /// When it does not.
        otherwise: Vec<Item>,
        /// Values that depend on which it was.
        phis: Vec<Phi>,
    },
    /// A loop that tests first.
    Loop {
        /// Values that go from iteration to iteration.
        phis: Vec<Phi>,
        /// Operations of the test.
        test: Vec<Item>,
        /// What decides.
        decision: Source,
        /// The body.
        body: Vec<Item>,
    },
}

/// A value that has one of two sources: that of the first branch or from before the loop, and that of the second or
/// from the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phi {
    /// The value.
    pub value: usize,
    /// The sources.
    pub sources: [Source; 2],
}

/// An operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// What it does.
    pub kind: Kind,
    /// Its operands.
    pub sources: Vec<Source>,
    /// The value that it gives.
    pub value: Option<usize>,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of operations.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// `$literal_Integer`
    Literal(Int),
    /// `noop` and `cast`
    Convert,
    /// `signExtend`: the bit at this position, from 1, becomes the sign.
    SignExtend(u32),
    /// `$add`
    Add,
    /// `$sub`
    Sub,
    /// `$mul`
    Mul,
    /// `$div`, toward zero
    Div,
    /// `$mod`, with the sign of the dividend
    Mod,
    /// `$negate`
    Negate,
    /// `bitand`, and `$and` of any number of booleans
    And,
    /// `bitor`, `$or`
    Or,
    /// `bitxor`, `$xor`
    Xor,
    /// `bitnot`
    Complement,
    /// `$not`
    Not,
    /// `lshift`
    ShiftLeft,
    /// `rshift`, which keeps the sign
    ShiftRight,
    /// `urshift`, which takes its operand as bits
    ShiftRightBits,
    /// `$eq` and its relatives
    Compare(CompareOp),
    /// `$selector`
    Select,
    /// `pinRead`
    PinRead(usize),
    /// `pinWrite`
    PinWrite(usize),
    /// `pinPeek`
    PinPeek(usize),
    /// `pinStatus`
    PinStatus(usize),
    /// `pinAvail`
    PinAvail(usize),
    /// `var_ref`
    Load(usize),
    /// `assign` of a scalar
    Store(usize),
    /// `assign` of an element
    StoreElement(usize),
    /// `taskCall`
    TaskCall(usize),
    /// `yield`: others may go on
    Yield,
}
