//! Calls of natives: of the table that the platform has, and of those that the user supplies.

use super::place::Address;
use super::{Compiled, Run, Scope, Word, code, malformed};
use crate::fifo::{self, Outgoing, wrap_word};
use crate::machine::{Class, Element, Fault, Machine, Stop, trap};
use headrace_engine::Argument as Given;
use headrace_ir::{Argument, LocalId, NativeId, Scalar};
use headrace_natives::{self as natives, Parameter};
use headrace_source::Span;

/// What is passed to a native.
enum Passed {
    Word(Word),
    Real(Word),
    Text(Run<String>),
    /// A list, and whether what the native leaves there is stored back.
    List(Address, bool),
}

/// What is laid out for one call.
enum Held {
    Word(i64),
    Real(f64),
    Text(String),
    /// Storage of a list, where it lies in the memory of its elements, and their type.
    Bytes(Vec<u8>, Option<(usize, Scalar)>),
    Texts(Vec<String>, usize),
}

impl Passed {
    fn hold(&self, m: &mut Machine<'_>) -> Result<Held, Fault> {
        Ok(match self {
            Passed::Word(word) => Held::Word(word.get(m)?),
            Passed::Real(word) => Held::Real(f64::from_bits(word.get(m)? as u64)),
            Passed::Text(text) => Held::Text(text(m)?),
            Passed::List(address, is_written) => {
                let (ty, n) = (address.ty.element, address.ty.len());
                if Class::of(ty) == Class::Text {
                    let at = address.locate(m, |extent| extent.texts)?;
                    return Ok(Held::Texts(m.memory.texts[at..at + n].to_vec(), at));
                }
                let (at, element) = (address.locate_any(m)?, Element::of(ty));
                let mut bytes = Vec::with_capacity(n * ty.storage_bytes());
                for n in 0..n {
                    fifo::encode_word(ty, m.memory.element(element, at + n * element.bytes()), &mut bytes);
                }
                Held::Bytes(bytes, is_written.then_some((at, ty)))
            }
        })
    }
}

impl Held {
    fn given(&mut self) -> Given<'_> {
        match self {
            Held::Word(word) => Given::Scalar(*word),
            Held::Real(real) => Given::Real(*real),
            Held::Text(text) => Given::Text(std::mem::take(text)),
            Held::Bytes(bytes, _) => Given::Bytes(bytes),
            Held::Texts(texts, _) => Given::Texts(texts),
        }
    }

    fn store(self, m: &mut Machine<'_>) {
        match self {
            Held::Bytes(bytes, Some((at, ty))) => {
                let mut words = Outgoing::default();
                fifo::decode(ty, &bytes, &mut words);
                let element = Element::of(ty);
                for (n, word) in words.words.into_iter().enumerate() {
                    m.memory.set_element(element, at + n * element.bytes(), word);
                }
            }
            Held::Texts(texts, at) => m.memory.texts[at..at + texts.len()].clone_from_slice(&texts),
            _ => {}
        }
    }
}

impl Scope<'_> {
    pub(super) fn call_native(
        &self,
        result: Option<LocalId>,
        native: NativeId,
        arguments: &[Argument],
        span: Span,
    ) -> Compiled<Run<()>> {
        let Some(declared) = self.context.actor.natives.get(native.index()) else {
            return malformed("a native that does not exist", span);
        };
        let bare = natives::bare_name(&declared.name).to_owned();
        let row = if self.context.supplied.contains(&bare) { None } else { natives::find(&bare) };
        if row.is_none() && !self.context.supplied.contains(&bare) {
            return malformed("a native that no platform supplies", span);
        }
        if arguments.len() != declared.parameters.len()
            || row.is_some_and(|row| row.parameters.len() != arguments.len())
        {
            return malformed("a native with the wrong number of arguments", span);
        }
        let mut passed = Vec::new();
        for (at, (argument, ty)) in arguments.iter().zip(&declared.parameters).enumerate() {
            let parameter = row.map(|row| row.parameters[at]);
            passed.push(match (argument, parameter) {
                (Argument::Value(value), Some(Parameter::Scalar(_, word))) => {
                    Passed::Word(self.stored_word(word.scalar(), value)?)
                }
                (Argument::Value(value), None) => match (ty.element, Class::of(ty.element)) {
                    (_, Class::Text) => Passed::Text(self.text(value)?),
                    (Scalar::Real(_), _) => Passed::Real(self.stored_word(ty.element, value)?),
                    (_, Class::Word) => Passed::Word(self.stored_word(ty.element, value)?),
                    (_, Class::Wide) => return malformed("an argument of another kind", span),
                },
                (Argument::List(place), parameter) if !matches!(parameter, Some(Parameter::Scalar(..))) => {
                    let address = self.address(place)?;
                    if Class::of(address.ty.element) == Class::Wide {
                        return malformed("a list of another kind", span);
                    }
                    Passed::List(address, parameter.is_none_or(Parameter::is_written))
                }
                _ => return malformed("an argument of another kind", span),
            });
        }
        let result = match result {
            Some(local) => {
                let (at, ty) = self.local(local, span)?;
                if Class::of(ty.element) == Class::Wide {
                    return malformed("a result of another kind", span);
                }
                Some((at, ty.element))
            }
            None => None,
        };
        let name = declared.name.clone();
        Ok(code(move |m: &mut Machine<'_>| {
            let mut held = passed.iter().map(|argument| argument.hold(m)).collect::<Result<Vec<_>, _>>()?;
            let mut given: Vec<Given<'_>> = held.iter_mut().map(Held::given).collect();
            let value = match row {
                Some(row) => (row.call)(&mut m.session, m.host, &mut given).map(Given::Scalar),
                None => m.host.call_supplied(&bare, &mut given).map_err(natives::Stop::Error),
            };
            let value = value.map_err(|stop| match stop {
                natives::Stop::Exit(status) => Box::new(Stop::Exit(status)),
                natives::Stop::Error(message) => trap(format!("{name}: {message}"), span),
            })?;
            drop(given);
            held.into_iter().for_each(|held| held.store(m));
            if let Some((at, ty)) = result {
                match (ty, value) {
                    (Scalar::Int(int), Given::Scalar(value)) => {
                        m.memory.words[m.frame.words + at] = wrap_word(int, value);
                    }
                    (Scalar::Bool, Given::Scalar(value)) => {
                        m.memory.words[m.frame.words + at] = i64::from(value != 0);
                    }
                    (Scalar::Real(real), Given::Real(value)) => {
                        m.memory.words[m.frame.words + at] = natives::real::round(value, real).to_bits() as i64;
                    }
                    (Scalar::String, Given::Text(text)) => m.memory.texts[m.frame.texts + at] = text,
                    _ => return Err(trap(format!("{name}: it gives something else than it is declared to"), span)),
                }
            }
            Ok(())
        }))
    }
}
