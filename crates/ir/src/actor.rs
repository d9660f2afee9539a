//! Actors: ports, variables, procedures, actions and the order in which actions are tried.

use crate::{Expr, Lines, Place, Scalar, Stmt, Type, Value};
use headrace_source::Span;
use std::borrow::Cow;

macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);

        impl $name {
            /// The position in the table.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}
pub(crate) use index;

index!(
    /// Position in [`Actor::variables`].
    VariableId
);
index!(
    /// Position in the `locals` of an action or procedure.
    LocalId
);
index!(
    /// Position in [`Actor::procedures`].
    ProcedureId
);
index!(
    /// Position in [`Actor::natives`].
    NativeId
);
index!(
    /// Position in [`Actor::actions`].
    ActionId
);
index!(
    /// Position in [`Schedule::states`].
    StateId
);

/// `@name(key = value, flag)`, kept as written for those who act on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    /// Name without the `@`.
    pub name: String,
    /// Arguments; a flag has no value.
    pub arguments: Vec<(String, Option<String>)>,
}

/// A port of an actor or network. Never of type `String`.
#[derive(Clone, Debug, PartialEq)]
pub struct Port {
    /// Name, unique among the ports of one direction.
    pub name: String,
    /// Type of its tokens.
    pub ty: Scalar,
    /// Where it is declared.
    pub span: Span,
}

/// An instantiated actor.
#[derive(Clone, Debug, PartialEq)]
pub struct Actor {
    /// Qualified name of the class, such as `ctl.parts.Xor`.
    pub class: String,
    /// The parameters that it was instantiated with, in order of declaration.
    pub parameters: Vec<(String, Value)>,
    /// Input ports.
    pub inputs: Vec<Port>,
    /// Output ports.
    pub outputs: Vec<Port>,
    /// Constants and state variables: parameters, own ones and those of units, all that anything refers to.
    pub variables: Vec<Variable>,
    /// Functions and procedures with a body.
    pub procedures: Vec<Procedure>,
    /// Functions and procedures without one.
    pub natives: Vec<Native>,
    /// `initialize` actions in document order: each enabled one fires once, before anything else. They consume nothing.
    pub initializers: Vec<Action>,
    /// Actions in document order.
    pub actions: Vec<Action>,
    /// What may fire in which state.
    pub schedule: Schedule,
    /// Pairs (higher, lower) of the declared priorities, transitively closed.
    pub priorities: Vec<(ActionId, ActionId)>,
    /// Annotations of the actor.
    pub annotations: Vec<Annotation>,
    /// Where its actions and procedures are written, in words.
    pub lines: Lines,
    /// Where the actor's name is declared.
    pub span: Span,
}

/// A variable of an actor.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Name, unique in the actor (those of units are qualified by `.`).
    pub name: String,
    /// Type.
    pub ty: Type,
    /// False for constants, which nothing writes.
    pub mutable: bool,
    /// Value before the first firing. A list without elements stands for one of zeros, false or "", however long.
    pub initial: Value,
    /// Where it is declared.
    pub span: Span,
}

impl Variable {
    /// The value before the first firing with all elements that it stands for.
    pub fn whole_initial(&self) -> Cow<'_, Value> {
        match &self.initial {
            Value::List(values) if values.is_empty() => Cow::Owned(Value::zero(&self.ty)),
            whole => Cow::Borrowed(whole),
        }
    }
}

/// How a local gets its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalKind {
    /// Zero at first; statements assign it.
    Plain,
    /// Bound by an input pattern to the tokens that are consumed; the guard may read it.
    Pattern,
    /// A parameter of a procedure: a copy of a scalar, or a reference to a list.
    Parameter,
}

/// A local of an action or procedure.
#[derive(Clone, Debug, PartialEq)]
pub struct Local {
    /// Name; not unique: inner scopes and the front end's own temporaries repeat names.
    pub name: String,
    /// Type.
    pub ty: Type,
    /// How it gets its value.
    pub kind: LocalKind,
}

/// A function or procedure with a body.
#[derive(Clone, Debug, PartialEq)]
pub struct Procedure {
    /// Name, unique in the actor.
    pub name: String,
    /// Parameters are the first `n_parameters` locals.
    pub locals: Vec<Local>,
    /// Number of parameters.
    pub n_parameters: usize,
    /// Statements.
    pub body: Vec<Stmt>,
    /// For a function with a scalar result: its type and, evaluated after the body, its value, already wrapped. A function with a
    /// list result became a procedure with one more parameter, the last, which it fills.
    pub result: Option<(Scalar, Expr)>,
    /// True when it neither writes state or list parameters nor reaches a native or a print: only such functions are
    /// called in expressions.
    pub pure_function: bool,
    /// Annotations such as `inline`.
    pub annotations: Vec<Annotation>,
    /// Where it is declared.
    pub span: Span,
}

/// A function or procedure that the platform supplies.
#[derive(Clone, Debug, PartialEq)]
pub struct Native {
    /// Qualified name: unit or actor, then the function, such as `std.stdio.Source.source_readByte`.
    pub name: String,
    /// Types of the parameters.
    pub parameters: Vec<Type>,
    /// Type of the result, for functions.
    pub result: Option<Scalar>,
    /// Where it is declared.
    pub span: Span,
}

/// Tokens of one port that an action consumes.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    /// Position in [`Actor::inputs`].
    pub port: usize,
    /// The names bound, in order. Without `repeat` each is a scalar of the port's type; with `repeat n` each is a list
    /// of n, and token t goes to element `t / k` of name `t % k`, k being the number of names.
    pub locals: Vec<LocalId>,
    /// The repeat count, at least 1.
    pub repeat: Option<u32>,
}

impl Pattern {
    /// Tokens consumed by a firing.
    pub fn tokens(&self) -> u64 {
        self.locals.len() as u64 * u64::from(self.repeat.unwrap_or(1))
    }
}

/// What an output expression gives.
#[derive(Clone, Debug, PartialEq)]
pub enum OutputValue {
    /// A scalar, already wrapped to the type of the port.
    Scalar(Expr),
    /// A one-dimensional list with at least `repeat` elements; `convert` is set when its element type is not that of the port.
    List {
        /// The list.
        place: Place,
        /// Element type to convert to, if any conversion is needed.
        convert: Option<Scalar>,
    },
}

/// Tokens of one port that an action produces, from values as they are after the body.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// Position in [`Actor::outputs`].
    pub port: usize,
    /// The expressions: scalars without `repeat`, lists with it. With `repeat n` and k lists, token t is element
    /// `t / k` of list `t % k`.
    pub values: Vec<OutputValue>,
    /// The repeat count, at least 1.
    pub repeat: Option<u32>,
}

impl Output {
    /// Tokens produced by a firing.
    pub fn tokens(&self) -> u64 {
        self.values.len() as u64 * u64::from(self.repeat.unwrap_or(1))
    }
}

/// The guard of an action. Sees actor variables and pattern locals (peeked), writes only its own temporaries. May call
/// natives, any number of times.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Guard {
    /// Computes lists that the conditions need; mostly empty.
    pub before: Vec<Stmt>,
    /// All must hold; evaluated in order, stopping at the first that does not. Empty: always enabled.
    pub conditions: Vec<Expr>,
    /// Pattern locals that `before` or `conditions` read, so that nothing else needs to be peeked.
    pub peeks: Vec<LocalId>,
}

/// An action.
#[derive(Clone, Debug, PartialEq)]
pub struct Action {
    /// The dotted tag, or for untagged actions `action@LINE`; for initialisers `initialize@LINE` when untagged.
    pub name: String,
    /// The tag, if there is one.
    pub tag: Option<String>,
    /// Consumed tokens, one entry a port.
    pub consumes: Vec<Pattern>,
    /// Produced tokens, one entry a port.
    pub produces: Vec<Output>,
    /// The guard.
    pub guard: Guard,
    /// Locals: pattern variables first, then declared ones and temporaries (those of the guard included).
    pub locals: Vec<Local>,
    /// Initialisation of locals and statements, and what output expressions need computed.
    pub body: Vec<Stmt>,
    /// Annotations.
    pub annotations: Vec<Annotation>,
    /// Where the action begins (its head).
    pub span: Span,
}

impl Action {
    /// Tokens consumed on an input port.
    pub fn consumed(&self, port: usize) -> u64 {
        self.consumes.iter().filter(|pattern| pattern.port == port).map(Pattern::tokens).sum()
    }

    /// Tokens produced on an output port.
    pub fn produced(&self, port: usize) -> u64 {
        self.produces.iter().filter(|output| output.port == port).map(Output::tokens).sum()
    }
}

/// The states and what may fire in each. An actor without `schedule` has one state, named "".
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// All states.
    pub states: Vec<State>,
    /// The first one.
    pub initial: StateId,
}

/// A state.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Its name.
    pub name: String,
    /// Actions in the order in which they are tried: untagged ones in document order, then the others in an order that
    /// keeps to the priorities. Empty in a state in which the actor has ended.
    pub tests: Vec<Test>,
}

/// One entry of a test list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Test {
    /// The action.
    pub action: ActionId,
    /// The state after it has fired.
    pub next: StateId,
}
