//! Compilation of an actor to closures.
//!
//! Every expression and statement becomes a closure over the [`Machine`]. Integer expressions are computed exactly in the
//! narrowest representation that holds all values that their operands' types allow ([`crate::range`]); nothing is moved,
//! merged or dropped.

mod action;
mod integer;
mod native;
mod operators;
mod place;
mod scalar;
mod stmt;

pub(crate) use action::ActionCode;

use crate::machine::{Class, Extent, Fault, Machine};
use headrace_ir::{Actor, Int, Local, LocalKind, Scalar, Type};
use headrace_source::Span;
use std::sync::Arc;

/// Code that gives a `T`.
pub(crate) type Run<T> = Box<dyn Fn(&mut Machine<'_>) -> Result<T, Fault> + Send + Sync>;

/// Boxes a closure as code.
fn code<T>(run: impl Fn(&mut Machine<'_>) -> Result<T, Fault> + Send + Sync + 'static) -> Run<T> {
    Box::new(run)
}

/// Statements in sequence.
#[derive(Default)]
pub(crate) struct Block(Vec<Run<()>>);

impl Block {
    #[inline]
    pub fn run(&self, m: &mut Machine<'_>) -> Result<(), Fault> {
        for statement in &self.0 {
            statement(m)?;
        }
        Ok(())
    }
}

/// Code that gives a word, with its commonest forms in the open so that what uses them needs no call.
pub(crate) enum Word {
    Const(i64),
    /// A word of the frame.
    Frame(usize),
    Code(Run<i64>),
}

impl Word {
    #[inline]
    pub fn get(&self, m: &mut Machine<'_>) -> Result<i64, Fault> {
        match self {
            Word::Const(value) => Ok(*value),
            Word::Frame(at) => Ok(m.memory.words[m.frame.words + at]),
            Word::Code(run) => run(m),
        }
    }
}

/// A representation that no front end makes: names a position that does not exist or mixes kinds.
#[derive(Clone, Debug)]
pub(crate) struct Malformed {
    pub message: &'static str,
    pub span: Span,
}

/// A result of compilation.
pub(crate) type Compiled<T> = Result<T, Malformed>;

fn malformed<T>(message: &'static str, span: Span) -> Compiled<T> {
    Err(Malformed { message, span })
}

/// Where a variable is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Home {
    /// A constant, at a fixed address.
    Fixed(usize),
    /// A state variable, relative to those of the instance.
    State(usize),
    /// A local, relative to the frame.
    Frame(usize),
    /// A list whose address is a word of the frame.
    Reference(usize),
}

/// Where the locals of an action or procedure are.
pub(crate) struct Frame {
    homes: Vec<(Home, Type)>,
    /// Size of the frame.
    pub size: Extent,
    /// End of the part that patterns or parameters fill; the rest starts at zero.
    pub filled: Extent,
}

impl Frame {
    /// The first `n_filled` locals are laid out first.
    fn new(locals: &[Local], n_filled: usize) -> Frame {
        let mut frame = Frame { homes: Vec::new(), size: Extent::default(), filled: Extent::default() };
        for (position, local) in locals.iter().enumerate() {
            let home = if local.kind == LocalKind::Parameter && local.ty.is_list() {
                let word = frame.size.words;
                frame.size.words += 1;
                Home::Reference(word)
            } else {
                Home::Frame(frame.size.allocate(&local.ty))
            };
            frame.homes.push((home, local.ty.clone()));
            if position + 1 == n_filled {
                frame.filled = frame.size;
            }
        }
        frame
    }
}

/// A compiled procedure.
pub(crate) struct ProcedureCode {
    pub name: String,
    pub body: Block,
    pub result: ResultCode,
}

/// The result of a function, in storage form.
pub(crate) enum ResultCode {
    None,
    Word(Word),
    Wide(Run<Int>),
    Text(Run<String>),
}

/// A compiled actor.
pub(crate) struct ActorCode {
    pub procedures: Vec<ProcedureCode>,
    pub initializers: Vec<ActionCode>,
    pub actions: Vec<ActionCode>,
    /// Size of the state of an instance.
    pub state: Extent,
}

/// What compilation needs to know of the actor.
pub(crate) struct Context<'a> {
    actor: &'a Actor,
    variables: Vec<(Home, Type)>,
    /// Types of function results, for calls of functions that are compiled later.
    results: Vec<Option<Scalar>>,
    frames: Vec<Arc<Frame>>,
    /// Computes all integers in the widest representation, to check the others against.
    widest: bool,
    /// Bare names of the natives that the host supplies.
    supplied: &'a [String],
}

/// The context and the locals of one action or procedure.
pub(crate) struct Scope<'a> {
    context: &'a Context<'a>,
    frame: &'a Frame,
}

/// Lays out the variables of an actor: constants at `fixed`, which grows, and state variables in the returned extent.
fn lay_out(actor: &Actor, fixed: &mut Extent) -> (Vec<(Home, Type)>, Extent) {
    let mut state = Extent::default();
    let variables = actor
        .variables
        .iter()
        .map(|variable| {
            let home = if variable.mutable {
                Home::State(state.allocate(&variable.ty))
            } else {
                Home::Fixed(fixed.allocate(&variable.ty))
            };
            (home, variable.ty.clone())
        })
        .collect();
    (variables, state)
}

/// Compiles an actor whose constants are to lie at `fixed`, which grows by them.
pub(crate) fn compile(actor: &Actor, fixed: &mut Extent, widest: bool, supplied: &[String]) -> Compiled<ActorCode> {
    let (variables, state) = lay_out(actor, fixed);
    let frames = actor
        .procedures
        .iter()
        .map(|procedure| Arc::new(Frame::new(&procedure.locals, procedure.n_parameters)))
        .collect();
    let results = actor.procedures.iter().map(|procedure| procedure.result.as_ref().map(|(ty, _)| *ty)).collect();
    let context = Context { actor, variables, results, frames, widest, supplied };
    let mut procedures = Vec::new();
    for (procedure, frame) in actor.procedures.iter().zip(&context.frames) {
        let scope = Scope { context: &context, frame };
        procedures.push(ProcedureCode {
            name: procedure.name.clone(),
            body: scope.block(&procedure.body)?,
            result: match &procedure.result {
                None => ResultCode::None,
                Some((ty, value)) => scope.result(*ty, value)?,
            },
        });
    }
    let initializers = actor.initializers.iter().map(|action| context.action(action)).collect::<Compiled<_>>()?;
    let actions = actor.actions.iter().map(|action| context.action(action)).collect::<Compiled<_>>()?;
    Ok(ActorCode { procedures, initializers, actions, state })
}

/// Where each variable of an actor is, for filling in initial values.
pub(crate) fn homes(actor: &Actor, fixed: &mut Extent) -> Vec<Home> {
    lay_out(actor, fixed).0.into_iter().map(|(home, _)| home).collect()
}

impl Scope<'_> {
    fn result(&self, ty: Scalar, value: &headrace_ir::Expr) -> Compiled<ResultCode> {
        Ok(match Class::of(ty) {
            Class::Word => ResultCode::Word(self.stored_word(ty, value)?),
            Class::Wide => ResultCode::Wide(self.stored_wide(ty, value)?),
            Class::Text => ResultCode::Text(self.text(value)?),
        })
    }
}
