//! Structured statements of lowered programs: branches and loops inside each other, and no jumps but out of loops and to their next iteration.

use crate::{ByteOrder, Expr, FunctionId, Place, VariableId, VectorStmt};

/// Names a loop among those around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Label(pub u32);

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Stmt {
    /// Stores a scalar.
    Assign(Place, Expr),
    /// Stores an element of an array or slice; the index is a `U32` below its length.
    Store(Place, Expr, Expr),
    /// Stores a number, a `U32` or `U64`, as elements of an array of `U8`, from the index on: a `U32`, which does not wrap
    /// where it is a sum. All of them lie within the array.
    StoreWord(Place, Expr, Expr, ByteOrder),
    /// Copies elements from one array to another of the same element type, as if through a third. Offsets and count are
    /// `U32`; all elements lie within their arrays.
    Copy {
        /// Written.
        target: Place,
        /// First element there.
        at: Expr,
        /// Read.
        source: Place,
        /// First element there.
        from: Expr,
        /// How many.
        count: Expr,
    },
    /// Stores one value to several elements.
    Fill {
        /// Written.
        target: Place,
        /// First element.
        at: Expr,
        /// How many.
        count: Expr,
        /// What.
        value: Expr,
    },
    /// Two-way choice.
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// As long as the condition holds.
    While(Label, Expr, Vec<Stmt>),
    /// The block for every value of a `U32` below a number, in any order or at once: the block has nothing but `Assign`s to
    /// scalar variables, which are read after that in the same block only, and `Store`s, and no element that is stored for
    /// one value is read or stored for another. Indices that are sums do not wrap. The variable of the values is not
    /// assigned, and 0 behind it.
    Lanes {
        /// What has the values.
        lane: VariableId,
        /// How many there are.
        count: u32,
        /// What is done for each.
        body: Vec<Stmt>,
    },
    /// Again and again, until a `Break` or `Return`.
    Loop(Label, Vec<Stmt>),
    /// Leaves the loop of this label, which is around it in the same function.
    Break(Label),
    /// Goes on with the next round of the loop of this label.
    Continue(Label),
    /// The block of the value, a `U32`, or the last block. No block goes on into the next; values differ.
    Switch(Expr, Vec<(u32, Vec<Stmt>)>, Vec<Stmt>),
    /// Calls a function. Arguments for writing overlap with no other argument.
    Call {
        /// Where the result goes: a scalar of its type. A result may be left.
        result: Option<VariableId>,
        /// What is called.
        function: FunctionId,
        /// One for each parameter.
        arguments: Vec<Argument>,
    },
    /// Loads, stores or computes with vector registers.
    Vector(VectorStmt),
    /// Ends the function.
    Return(Option<Expr>),
    /// Shows something on the standard output of the host.
    Print(Print),
    /// Calls a function of the host. The host may read and write the arrays.
    Native {
        /// Position in [`crate::Module::natives`].
        native: u32,
        /// One for each argument.
        arguments: Vec<NativeArgument>,
        /// Where the result goes: an `I64`.
        result: Option<VariableId>,
        /// Becomes true when the program is to stop: a `Bool`.
        stopped: VariableId,
    },
}

/// An argument of a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Argument {
    /// A value of the type of the parameter.
    Value(Expr),
    /// A record, array or slice: whole, of just the type of the parameter.
    Reference(Place),
}

/// An argument of a native.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NativeArgument {
    /// An `I64`.
    Value(Expr),
    /// So many elements of an array of `U8`, from an offset on; both `U32`.
    Bytes(Place, Expr, Expr),
}

/// How many digits the shortest decimal of a real has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RealFormat {
    /// binary16
    Half,
    /// binary32
    Single,
    /// binary64
    Double,
}

impl RealFormat {
    /// How many bits it has.
    pub fn bits(self) -> u32 {
        match self {
            RealFormat::Half => 16,
            RealFormat::Single => 32,
            RealFormat::Double => 64,
        }
    }
}

/// What is shown. Integers and booleans were turned into bytes before.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Print {
    /// The text of this number, a `U32` that is a position in [`crate::Module::texts`].
    Text(Expr),
    /// So many elements of an array of `U8`, from an offset on; both `U32`.
    Bytes(Place, Expr, Expr),
    /// A real, an `F64` that is exact in the format: the shortest decimal that reads back the same.
    Real(Expr, RealFormat),
}

impl Stmt {
    /// The expressions in it, without those in its blocks.
    pub fn exprs(&self) -> Vec<&Expr> {
        match self {
            Stmt::Assign(_, value) | Stmt::If(value, ..) | Stmt::While(_, value, _) | Stmt::Switch(value, ..) => {
                vec![value]
            }
            Stmt::Store(_, index, value) | Stmt::StoreWord(_, index, value, _) => vec![index, value],
            Stmt::Copy { at, from, count, .. } => vec![at, from, count],
            Stmt::Fill { at, count, value, .. } => vec![at, count, value],
            Stmt::Call { arguments, .. } => {
                let values = arguments.iter().map(|argument| match argument {
                    Argument::Value(value) => Some(value),
                    Argument::Reference(_) => None,
                });
                values.flatten().collect()
            }
            Stmt::Return(value) => value.iter().collect(),
            Stmt::Vector(statement) => statement.exprs(),
            Stmt::Print(Print::Text(value) | Print::Real(value, _)) => vec![value],
            Stmt::Print(Print::Bytes(_, from, count)) => vec![from, count],
            Stmt::Native { arguments, .. } => {
                let values = arguments.iter().flat_map(|argument| match argument {
                    NativeArgument::Value(value) => vec![value],
                    NativeArgument::Bytes(_, from, count) => vec![from, count],
                });
                values.collect()
            }
            Stmt::Lanes { .. } | Stmt::Loop(..) | Stmt::Break(_) | Stmt::Continue(_) => Vec::new(),
        }
    }

    /// The blocks in it.
    pub fn blocks(&self) -> Vec<&[Stmt]> {
        match self {
            Stmt::If(_, yes, no) => vec![yes, no],
            Stmt::While(_, _, body) | Stmt::Loop(_, body) | Stmt::Lanes { body, .. } => vec![body],
            Stmt::Switch(_, cases, rest) => {
                cases.iter().map(|(_, block)| block.as_slice()).chain([rest.as_slice()]).collect()
            }
            _ => Vec::new(),
        }
    }
}
