//! Actions: patterns, guards, bodies, outputs.

use super::place::Address;
use super::{Block, Compiled, Context, Frame, Home, Run, Scope, Word, malformed};
use crate::fifo::{Cell, Fifo, convert};
use crate::machine::{Class, Extent, Fault, Machine};
use headrace_ir::{Action, Int, LocalKind, OutputValue, Scalar};

/// What an action takes from one port.
pub(crate) struct ConsumeCode {
    pub port: usize,
    pub tokens: u64,
    /// Tokens that each name takes.
    repeat: usize,
    /// Class of the tokens and position in the frame of each name, in order.
    names: Vec<(Class, usize)>,
}

impl ConsumeCode {
    /// Binds the names to the first tokens of the FIFO, which has enough of them and keeps them.
    #[inline]
    pub fn bind(&self, m: &mut Machine<'_>, fifo: &Fifo) {
        let n_names = self.names.len();
        for (position, &(class, at)) in self.names.iter().enumerate() {
            match class {
                Class::Wide => {
                    let at = m.frame.wides + at;
                    fifo.peek_wides(position, n_names, &mut m.memory.wides[at..at + self.repeat]);
                }
                _ => {
                    let at = m.frame.words + at;
                    fifo.peek_words(position, n_names, &mut m.memory.words[at..at + self.repeat]);
                }
            }
        }
    }
}

/// The guard of an action.
pub(crate) struct GuardCode {
    before: Block,
    conditions: Vec<Word>,
    /// Positions in [`ActionCode::consumes`] of the patterns to peek.
    pub peeks: Vec<usize>,
}

impl GuardCode {
    /// Whether the guard holds; the patterns it needs are bound.
    pub fn holds(&self, m: &mut Machine<'_>) -> Result<bool, Fault> {
        self.before.run(m)?;
        for condition in &self.conditions {
            if condition.get(m)? == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// What an action gives to one port.
pub(crate) struct ProduceCode {
    pub port: usize,
    pub tokens: u64,
    class: Class,
    values: Vec<Emitted>,
}

enum Emitted {
    Word(Word),
    Wide(Run<Int>),
    List(Address, Scalar, usize),
}

impl ProduceCode {
    /// Whether the tokens are wider than a word.
    pub fn is_wide(&self) -> bool {
        self.class == Class::Wide
    }

    /// Appends the tokens to the outgoing ones.
    #[inline]
    pub fn compute(&self, m: &mut Machine<'_>) -> Result<(), Fault> {
        if let [Emitted::List(..), ..] = self.values.as_slice() {
            return self.compute_lists(m);
        }
        for value in &self.values {
            match value {
                Emitted::Word(word) => {
                    let word = word.get(m)?;
                    m.outgoing.words.push(word);
                }
                Emitted::Wide(run) => {
                    let wide = run(m)?;
                    m.outgoing.wides.push(wide);
                }
                Emitted::List(..) => {}
            }
        }
        Ok(())
    }

    fn compute_lists(&self, m: &mut Machine<'_>) -> Result<(), Fault> {
        let mut lists = Vec::with_capacity(self.values.len());
        let mut n = 0;
        for value in &self.values {
            if let Emitted::List(address, to, repeat) = value {
                let at = match Class::of(address.ty.element) {
                    Class::Wide => address.locate(m, |extent| extent.wides)?,
                    _ => address.locate(m, |extent| extent.words)?,
                };
                lists.push((at, address.ty.element, *to));
                n = *repeat;
            }
        }
        match lists[..] {
            [(at, from, to)] if from == to => {
                match Class::of(from) {
                    Class::Wide => m.outgoing.wides.extend_from_slice(&m.memory.wides[at..at + n]),
                    _ => m.outgoing.words.extend_from_slice(&m.memory.words[at..at + n]),
                }
                return Ok(());
            }
            _ => {}
        }
        for element in 0..n {
            for &(at, from, to) in &lists {
                let cell = match Class::of(from) {
                    Class::Wide => Cell::Wide(m.memory.wides[at + element].clone()),
                    _ => Cell::Word(m.memory.words[at + element]),
                };
                match convert(from, to, cell) {
                    Cell::Word(word) => m.outgoing.words.push(word),
                    Cell::Wide(wide) => m.outgoing.wides.push(wide),
                }
            }
        }
        Ok(())
    }
}

/// A compiled action.
pub(crate) struct ActionCode {
    pub consumes: Vec<ConsumeCode>,
    pub guard: Option<GuardCode>,
    pub produces: Vec<ProduceCode>,
    pub body: Block,
    pub size: Extent,
    pub filled: Extent,
}

impl Context<'_> {
    pub(super) fn action(&self, action: &Action) -> Compiled<ActionCode> {
        let n_patterns = action.locals.iter().take_while(|local| local.kind == LocalKind::Pattern).count();
        let frame = Frame::new(&action.locals, n_patterns);
        let scope = Scope { context: self, frame: &frame };
        let span = action.span;
        let mut consumes = Vec::new();
        for pattern in &action.consumes {
            let Some(port) = self.actor.inputs.get(pattern.port) else {
                return malformed("an input port that does not exist", span);
            };
            let repeat = pattern.repeat.unwrap_or(1) as usize;
            let mut names = Vec::new();
            for local in &pattern.locals {
                match frame.homes.get(local.index()) {
                    Some((Home::Frame(at), ty))
                        if ty.element == port.ty && ty.len() == repeat && local.index() < n_patterns =>
                    {
                        names.push((Class::of(ty.element), *at));
                    }
                    _ => return malformed("a pattern that does not fit its port", span),
                }
            }
            consumes.push(ConsumeCode { port: pattern.port, tokens: pattern.tokens(), repeat, names });
        }
        let guard = if action.guard.conditions.is_empty() && action.guard.before.is_empty() {
            None
        } else {
            let is_peeked = |position: usize| {
                action.consumes[position].locals.iter().any(|local| action.guard.peeks.contains(local))
            };
            Some(GuardCode {
                before: scope.block(&action.guard.before)?,
                conditions: action.guard.conditions.iter().map(|expr| scope.boolean(expr)).collect::<Compiled<_>>()?,
                peeks: (0..consumes.len()).filter(|&position| is_peeked(position)).collect(),
            })
        };
        let mut produces = Vec::new();
        for output in &action.produces {
            let Some(port) = self.actor.outputs.get(output.port) else {
                return malformed("an output port that does not exist", span);
            };
            let repeat = output.repeat.unwrap_or(1) as usize;
            let mut values = Vec::new();
            for value in &output.values {
                values.push(match value {
                    OutputValue::Scalar(expr) if output.repeat.is_none() => match Class::of(port.ty) {
                        Class::Wide => Emitted::Wide(scope.stored_wide(port.ty, expr)?),
                        _ => Emitted::Word(scope.stored_word(port.ty, expr)?),
                    },
                    OutputValue::List { place, .. } if output.repeat.is_some() => {
                        let address = scope.address(place)?;
                        if address.ty.dims.len() != 1
                            || address.ty.len() < repeat
                            || address.ty.element == Scalar::String
                        {
                            return malformed("an output list that is too short", span);
                        }
                        Emitted::List(address, port.ty, repeat)
                    }
                    _ => return malformed("an output of another kind", span),
                });
            }
            let class = Class::of(port.ty);
            produces.push(ProduceCode { port: output.port, tokens: output.tokens(), class, values });
        }
        let body = scope.block(&action.body)?;
        Ok(ActionCode { consumes, guard, produces, body, size: frame.size, filled: frame.filled })
    }
}
