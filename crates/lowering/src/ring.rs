//! FIFOs as rings, and tokens to and from them.
//!
//! A ring has a power of two of tokens; both indices count on without end and are cut where an element is wanted, so
//! that their difference is the fill.

use crate::building::Building;
use crate::code::Code;
use crate::machine::{class, machine, wide_words, words};
use crate::place::Location;
use headrace_analysis::ranges::Interval;
use headrace_ir::{IntType, RealType, Scalar};
use headrace_program::{Expr, Field, FieldType, Place, RecordId, Stmt, Type, VariableId};

/// Fields of the record of a ring.
pub(crate) const READ: u32 = 0;
pub(crate) const WRITTEN: u32 = 1;
pub(crate) const TOKENS: u32 = 2;

/// A FIFO as the code that reads or writes it knows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Ring {
    pub(crate) record: RecordId,
    /// Type of its tokens.
    pub(crate) scalar: Scalar,
    /// Tokens of the ring, a power of two.
    pub(crate) size: u32,
    /// Tokens that it takes.
    pub(crate) capacity: u32,
    /// The reader never takes a burst across the end.
    pub(crate) read_aligned: bool,
    /// The writer never makes a burst across the end.
    pub(crate) write_aligned: bool,
}

/// The record of rings of this type and size.
pub(crate) fn ring_record(building: &mut Building, scalar: Scalar, size: u32) -> RecordId {
    let (element, words) = (machine(scalar), words(scalar));
    let wide = if words > 1 { format!("x{words}") } else { String::new() };
    let name = format!("Fifo_{element}{wide}_{size}");
    if let Some(at) = building.records.iter().position(|record| record.name == name) {
        return RecordId(at as u32);
    }
    let field = |name: &str, ty: FieldType, about: &str| Field { name: name.to_owned(), ty, about: about.to_owned() };
    let index = FieldType::Scalar(Type::U32);
    let fields = vec![
        field("read", index, "tokens that were read, modulo 2^32"),
        field("written", index, "tokens that were written, modulo 2^32"),
        field("tokens", FieldType::Array(element, size * words), "the ring"),
    ];
    building.record(&name, &format!("a FIFO of up to {size} tokens"), fields)
}

/// A token on its way.
#[derive(Clone, Debug)]
pub(crate) enum Token {
    /// As variables of its type keep it.
    Narrow(Expr),
    /// The words of it.
    Wide(VariableId),
}

impl Code<'_, '_> {
    /// An index of a ring.
    pub(crate) fn ring_index(&self, fifo: &Place, which: u32) -> Expr {
        Expr::read(fifo.clone().then(which), Type::U32)
    }

    /// Tokens in it.
    pub(crate) fn ring_fill(&self, fifo: &Place) -> Expr {
        self.ring_index(fifo, WRITTEN).minus(self.ring_index(fifo, READ))
    }

    /// The place of the token this far behind an index.
    pub(crate) fn ring_place(&self, ring: &Ring, fifo: &Place, which: u32, ahead: Expr) -> Location {
        let at = self.ring_index(fifo, which).plus(ahead).and(Expr::u32(ring.size - 1));
        let at = at.times(Expr::u32(words(ring.scalar)));
        Location { place: fifo.clone().then(TOKENS), at: Some(at) }
    }

    /// Moves an index on.
    pub(crate) fn ring_advance(&mut self, fifo: &Place, which: u32, tokens: Expr) {
        let next = self.ring_index(fifo, which).plus(tokens);
        self.push(Stmt::Assign(fifo.clone().then(which), next));
    }

    /// Copies tokens between a ring, from an index on, and an array of the same elements.
    pub(crate) fn ring_copy(&mut self, ring: &Ring, fifo: &Place, which: u32, array: &Location, tokens: &Expr) {
        let words = Expr::u32(words(ring.scalar));
        let aligned = if which == READ { ring.read_aligned } else { ring.write_aligned };
        let start = self.ring_place(ring, fifo, which, Expr::u32(0));
        let at = start.offset();
        let copy = |code: &mut Self, ring_at: Expr, array_at: Expr, count: Expr| {
            let (ring_place, array_place) = (start.place.clone(), array.place.clone());
            code.push(if which == READ {
                Stmt::Copy { target: array_place, at: array_at, source: ring_place, from: ring_at, count }
            } else {
                Stmt::Copy { target: ring_place, at: ring_at, source: array_place, from: array_at, count }
            });
        };
        if aligned {
            return copy(self, at, array.offset(), tokens.clone().times(words));
        }
        let at = self.named("ring_at", at);
        let count = self.named("n_elements", tokens.clone().times(words.clone()));
        let room = Expr::u32(ring.size).times(words).minus(at.clone());
        let room = self.named("to_end", room);
        let first = Expr::select(room.clone().less(count.clone()), room, count.clone());
        let first = self.named("n_first", first);
        copy(self, at, array.offset(), first.clone());
        let more = array.offset().plus(first.clone());
        copy(self, Expr::u32(0), more, count.minus(first));
    }

    /// The token at a place.
    pub(crate) fn token_at(&mut self, location: &Location, scalar: Scalar) -> Token {
        match wide_words(scalar) {
            Some(words) => {
                let signed = scalar.as_int().is_some_and(|ty| ty.signed);
                Token::Wide(self.resized(location, words, words, signed))
            }
            None => {
                let ty = machine(scalar);
                Token::Narrow(match &location.at {
                    None => Expr::read(location.place.clone(), ty),
                    Some(at) => Expr::element(location.place.clone(), at.clone(), ty),
                })
            }
        }
    }

    /// Stores a token.
    pub(crate) fn store_token(&mut self, location: Location, token: Token, scalar: Scalar) {
        match token {
            Token::Narrow(value) => self.store(location, value),
            Token::Wide(value) => self.store_words(&location, value, words(scalar)),
        }
    }

    /// A token of one type as one of another, as by a store.
    pub(crate) fn converted(&mut self, token: Token, from: Scalar, to: Scalar) -> Token {
        match (from, to, token) {
            (Scalar::Int(from), Scalar::Int(to), token) if from == to => token,
            (Scalar::Int(from), Scalar::Int(to), token) => self.converted_int(token, from, to),
            (Scalar::Real(from), Scalar::Real(to), Token::Narrow(value)) if from != to => {
                let value = self.unstored(value, Scalar::Real(from));
                let value = self.rounded(value, to);
                Token::Narrow(self.stored_real(value, to))
            }
            (Scalar::Int(from), Scalar::Real(to), token) => {
                let value = match token {
                    Token::Wide(value) => {
                        // One word more, so that the first bit is a sign in any case.
                        let have = words(Scalar::Int(from));
                        let location = Location { place: Place::variable(value), at: None };
                        let more = self.resized(&location, have, have + 1, from.signed);
                        self.wide_real(more, have + 1, to)
                    }
                    Token::Narrow(value) if to == RealType::Float => value.to(Type::F32).to(Type::F64),
                    Token::Narrow(value) => value.to(Type::F64),
                };
                let value = self.rounded(value, to);
                Token::Narrow(self.stored_real(value, to))
            }
            (_, _, token) => token,
        }
    }

    fn converted_int(&mut self, token: Token, from: IntType, to: IntType) -> Token {
        let target = Scalar::Int(to);
        let fits = Interval::of_type(from).fits(to);
        match (token, wide_words(target)) {
            (Token::Narrow(value), None) => {
                let value = value.to(class(to.width));
                let value = if fits { value } else { crate::integer::wrap(value, to) };
                Token::Narrow(value.to(machine(target)))
            }
            (Token::Wide(value), None) => {
                let location = Location { place: Place::variable(value), at: None };
                let low = self.low_of_words(&location, class(to.width));
                Token::Narrow(crate::integer::wrap(low, to).to(machine(target)))
            }
            (Token::Narrow(value), Some(words)) => {
                let value = self.widened(value, words);
                Token::Wide(if fits { value } else { self.wide_wrapped(value, words, to, words) })
            }
            (Token::Wide(value), Some(words)) => {
                let location = Location { place: Place::variable(value), at: None };
                let have = from.width.div_ceil(32);
                let value = self.resized(&location, have, words, from.signed);
                Token::Wide(if fits { value } else { self.wide_wrapped(value, words, to, words) })
            }
        }
    }

    /// A token through the ports that it passes to the FIFO.
    pub(crate) fn converted_through(&mut self, token: Token, from: Scalar, via: &[Scalar], to: Scalar) -> Token {
        let mut token = token;
        let mut scalar = from;
        for &next in via.iter().chain([&to]) {
            token = self.converted(token, scalar, next);
            scalar = next;
        }
        token
    }
}
