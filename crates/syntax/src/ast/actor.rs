//! Actors: actions, schedules and priorities.

use headrace_source::Span;

use super::*;

/// `actor A(T p = d) T In ==> T Out : .. end`
#[derive(Clone, Debug, PartialEq)]
pub struct Actor {
    /// The name.
    pub name: Name,
    /// In order; `value` is the default.
    pub params: Vec<VarDecl>,
    /// Before the arrow.
    pub inputs: Vec<PortDecl>,
    /// After the arrow.
    pub outputs: Vec<PortDecl>,
    /// State variables and constants, in document order.
    pub vars: Vec<VarDecl>,
    /// In document order.
    pub functions: Vec<Function>,
    /// In document order.
    pub procedures: Vec<Procedure>,
    /// In document order.
    pub actions: Vec<Action>,
    /// In document order; without inputs.
    pub initializes: Vec<Action>,
    /// Which actions may follow which.
    pub schedule: Option<Schedule>,
    /// Of all `priority` blocks, in document order.
    pub priorities: Vec<Inequality>,
    /// From the keyword to `end`.
    pub span: Span,
}

/// `tag: action In:[x] ==> Out:[e] guard g var T t do .. end`, or the same with `initialize`.
#[derive(Clone, Debug, PartialEq)]
pub struct Action {
    /// Before it.
    pub annotations: Vec<Annotation>,
    /// Before the colon.
    pub tag: Option<Tag>,
    /// Input patterns, in order.
    pub inputs: Vec<InputPattern>,
    /// Output expressions, in order.
    pub outputs: Vec<OutputPattern>,
    /// All must hold.
    pub guards: Vec<Expr>,
    /// Of the `var` section and those at the start of `do`, in order.
    pub vars: Vec<VarDecl>,
    /// After `do`.
    pub body: Vec<Stmt>,
    /// The tag and the keyword: where a diagnostic about the action as a whole points.
    pub head: Span,
    /// From the annotations to `end`.
    pub span: Span,
}

/// `In:[x, y] repeat N`
#[derive(Clone, Debug, PartialEq)]
pub struct InputPattern {
    /// The port.
    pub port: Name,
    /// At least one.
    pub names: Vec<Name>,
    /// `N`
    pub repeat: Option<Expr>,
    /// The whole pattern.
    pub span: Span,
}

/// `Out:[e, f] repeat N`
#[derive(Clone, Debug, PartialEq)]
pub struct OutputPattern {
    /// The port.
    pub port: Name,
    /// At least one.
    pub values: Vec<Expr>,
    /// `N`
    pub repeat: Option<Expr>,
    /// The whole pattern.
    pub span: Span,
}

/// `schedule fsm` or `schedule regexp`
#[derive(Clone, Debug, PartialEq)]
pub enum Schedule {
    /// `schedule fsm s0 : s0 (a) --> s1; end`
    Fsm(Fsm),
    /// `schedule regexp (a b)* end`
    RegExp(RegExp),
}

/// A finite-state machine over actions.
#[derive(Clone, Debug, PartialEq)]
pub struct Fsm {
    /// The initial state.
    pub initial: Name,
    /// In document order.
    pub transitions: Vec<Transition>,
    /// From `schedule` to `end`.
    pub span: Span,
}

/// `source (tag, tag) --> target;`
#[derive(Clone, Debug, PartialEq)]
pub struct Transition {
    /// State before.
    pub source: Name,
    /// Prefixes of tags; at least one.
    pub tags: Vec<Tag>,
    /// State after.
    pub target: Name,
    /// The whole transition.
    pub span: Span,
}

/// A regular expression over actions.
#[derive(Clone, Debug, PartialEq)]
pub struct RegExp {
    /// Which one.
    pub kind: RegExpKind,
    /// Where it stands.
    pub span: Span,
}

/// The forms of a regular expression.
#[derive(Clone, Debug, PartialEq)]
pub enum RegExpKind {
    /// Any action whose tag has this prefix.
    Tag(Tag),
    /// One after the other; two or more.
    Sequence(Vec<RegExp>),
    /// One of them; two or more.
    Choice(Vec<RegExp>),
    /// `e*`
    Star(Box<RegExp>),
    /// `e?`
    Optional(Box<RegExp>),
}

/// `a > b > c;`
#[derive(Clone, Debug, PartialEq)]
pub struct Inequality {
    /// Prefixes of tags, highest first; at least two.
    pub tags: Vec<Tag>,
    /// The whole inequality.
    pub span: Span,
}
