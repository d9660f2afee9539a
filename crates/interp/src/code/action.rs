//! Compilation of actions to closures: patterns, guards, bodies, outputs.

use super::place::Address;
use super::{Block, Compiled, Context, Frame, Home, Run, Scope, Word, malformed};
use crate::fifo::{Cell, Fifo, convert};
use crate::machine::{Class, Element, Extent, Fault, Machine, trap};
use headrace_engine::texts;
use headrace_ir::{Action, Int, LocalKind, OutputValue, Scalar, Type};
use headrace_source::Span;

/// What an action takes from one port.
pub(crate) struct ConsumeCode {
    pub port: usize,
    pub tokens: u64,
    /// Tokens that each name takes.
    repeat: usize,
    /// Class of the tokens and position in the frame of each name, in order.
    names: Vec<(Name, usize)>,
}

/// Which memory the tokens of a name go to.
#[derive(Clone, Copy)]
enum Name {
    Word,
    /// A list of words.
    List(Element),
    Wide,
    Text,
}

impl Name {
    fn of(ty: &Type) -> Self {
        match Class::of(ty.element) {
            Class::Word if ty.is_list() => Name::List(Element::of(ty.element)),
            Class::Word => Name::Word,
            Class::Wide => Name::Wide,
            Class::Text => Name::Text,
        }
    }
}

impl ConsumeCode {
    /// Binds the names to the first tokens of the FIFO, which has enough of them and keeps them.
    #[inline]
    pub fn bind(&self, m: &mut Machine<'_>, fifo: &Fifo) {
        let n_names = self.names.len();
        for (position, &(name, at)) in self.names.iter().enumerate() {
            match name {
                Name::Text => {
                    let at = m.frame.texts + at;
                    let mut numbers = vec![0; self.repeat];
                    fifo.peek_words(position, n_names, &mut numbers);
                    for (text, number) in m.memory.texts[at..at + self.repeat].iter_mut().zip(numbers) {
                        *text = texts::text_of(number as u64).to_string_lossy().into_owned();
                    }
                }
                Name::Wide => {
                    let at = m.frame.wides + at;
                    fifo.peek_wides(position, n_names, &mut m.memory.wides[at..at + self.repeat]);
                }
                Name::Word => {
                    let at = m.frame.words + at;
                    fifo.peek_words(position, n_names, &mut m.memory.words[at..=at]);
                }
                Name::List(element) => {
                    let at = m.frame.lists + at;
                    let words = fifo.words(position, n_names).take(self.repeat);
                    for (n, word) in words.enumerate() {
                        m.memory.set_element(element, at + n * element.bytes(), word);
                    }
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
    span: Span,
}

enum Emitted {
    Word(Word),
    Wide(Run<Int>),
    Text(Run<String>, Span),
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
                Emitted::Text(run, span) => {
                    let text = run(m)?;
                    m.outgoing.words.push(token(&text, *span)?);
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
                lists.push((address.locate_any(m)?, address.ty.element, *to));
                n = *repeat;
            }
        }
        match lists[..] {
            [(at, from, to)] if from == to => {
                match Class::of(from) {
                    Class::Wide => m.outgoing.wides.extend_from_slice(&m.memory.wides[at..at + n]),
                    Class::Text => {
                        for text in &m.memory.texts[at..at + n] {
                            m.outgoing.words.push(token(text, self.span)?);
                        }
                    }
                    Class::Word => {
                        let element = Element::of(from);
                        let places = (0..n).map(|n| at + n * element.bytes());
                        m.outgoing.words.extend(places.map(|at| m.memory.element(element, at)));
                    }
                }
                return Ok(());
            }
            _ => {}
        }
        for element in 0..n {
            for &(at, from, to) in &lists {
                let cell = match Class::of(from) {
                    Class::Wide => Cell::Wide(m.memory.wides[at + element].clone()),
                    Class::Text => Cell::Word(token(&m.memory.texts[at + element], self.span)?),
                    Class::Word => {
                        let packed = Element::of(from);
                        Cell::Word(m.memory.element(packed, at + element * packed.bytes()))
                    }
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

/// A text as a token.
fn token(text: &str, span: Span) -> Result<i64, Fault> {
    texts::number_of(text.as_bytes()).map(|number| number as i64).map_err(|problem| trap(problem, span))
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
                        names.push((Name::of(ty), *at));
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
                        Class::Text => Emitted::Text(scope.text(expr)?, expr.span),
                        Class::Word => Emitted::Word(scope.stored_word(port.ty, expr)?),
                    },
                    OutputValue::List { place, .. } if output.repeat.is_some() => {
                        let address = scope.address(place)?;
                        let is_text = |scalar: Scalar| Class::of(scalar) == Class::Text;
                        if address.ty.dims.len() != 1
                            || address.ty.len() < repeat
                            || is_text(address.ty.element) != is_text(port.ty)
                        {
                            return malformed("an output list that is too short", span);
                        }
                        Emitted::List(address, port.ty, repeat)
                    }
                    _ => return malformed("an output of another kind", span),
                });
            }
            let class = Class::of(port.ty);
            produces.push(ProduceCode { port: output.port, tokens: output.tokens(), class, values, span });
        }
        let body = scope.block(&action.body)?;
        Ok(ActionCode { consumes, guard, produces, body, size: frame.size, filled: frame.filled })
    }
}
