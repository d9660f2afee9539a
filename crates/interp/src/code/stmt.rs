//! Compilation of statements to closures. Each statement of the representation becomes a function that does it to the machine.

use super::integer::Number;
use super::{Block, Compiled, Home, Run, Scope, Word, code, malformed};
use crate::fifo::{Cell, convert, word_to_int, wrap_word};
use crate::machine::{Class, Element, Machine, for_element};
use headrace_ir::{Argument, Expr, Int, IntType, LocalId, Place, ProcedureId, Root, Scalar, Stmt, StmtKind, Type};
use headrace_source::Span;

impl Scope<'_> {
    pub(super) fn block(&self, statements: &[Stmt]) -> Compiled<Block> {
        stacker::maybe_grow(1 << 16, 1 << 20, || {
            statements.iter().map(|statement| self.statement(statement)).collect::<Compiled<_>>().map(Block)
        })
    }

    fn statement(&self, statement: &Stmt) -> Compiled<Run<()>> {
        let span = statement.span;
        match &statement.kind {
            StmtKind::Assign(place, value) => self.assign(place, value),
            StmtKind::Copy { target, source, convert } => self.copy(target, source, *convert),
            StmtKind::If(condition, then, otherwise) => {
                let condition = self.boolean(condition)?;
                let (then, otherwise) = (self.block(then)?, self.block(otherwise)?);
                Ok(code(move |m| if condition.get(m)? != 0 { then.run(m) } else { otherwise.run(m) }))
            }
            StmtKind::While { before, condition, body } => {
                let before = self.block(before)?;
                let condition = self.boolean(condition)?;
                let body = self.block(body)?;
                Ok(code(move |m| {
                    loop {
                        m.tick(span)?;
                        before.run(m)?;
                        if condition.get(m)? == 0 {
                            return Ok(());
                        }
                        body.run(m)?;
                    }
                }))
            }
            StmtKind::Foreach { variable, low, high, body } => self.foreach(*variable, low, high, body, span),
            StmtKind::Call { result, procedure, arguments } => {
                self.call_statement(*result, *procedure, arguments, span)
            }
            StmtKind::CallNative { result, native, arguments } => self.call_native(*result, *native, arguments, span),
            StmtKind::Print { pieces, newline } => {
                let pieces = self.pieces(pieces)?;
                let newline = *newline;
                Ok(code(move |m| {
                    let mut text = String::new();
                    for piece in &pieces {
                        piece.show(m, &mut text)?;
                    }
                    if newline {
                        text.push('\n');
                    }
                    m.host.print(text.as_bytes());
                    Ok(())
                }))
            }
        }
    }

    fn assign(&self, place: &Place, value: &Expr) -> Compiled<Run<()>> {
        let ty = self.place_type(place)?;
        if ty.is_list() {
            return malformed("an assignment to a list", place.span);
        }
        let is_constant = match place.root {
            Root::Actor(id) => !self.context.actor.variables.get(id.index()).is_some_and(|variable| variable.mutable),
            Root::Local(_) => false,
        };
        if is_constant {
            return malformed("an assignment to a constant", place.span);
        }
        match Class::of(ty.element) {
            Class::Word => {
                let value = self.stored_word(ty.element, value)?;
                self.store_word(place, value)
            }
            Class::Wide => {
                let value = self.stored_wide(ty.element, value)?;
                let address = self.address(place)?;
                Ok(code(move |m: &mut Machine<'_>| {
                    let value = value(m)?;
                    let at = address.locate(m, |extent| extent.wides)?;
                    m.memory.wides[at] = value;
                    Ok(())
                }))
            }
            Class::Text => {
                let value = self.text(value)?;
                let address = self.address(place)?;
                Ok(code(move |m: &mut Machine<'_>| {
                    let value = value(m)?;
                    let at = address.locate(m, |extent| extent.texts)?;
                    m.memory.texts[at] = value;
                    Ok(())
                }))
            }
        }
    }

    fn store_word(&self, place: &Place, value: Word) -> Compiled<Run<()>> {
        let mut address = self.address(place)?;
        let offset = address.offset;
        let Some(element) = address.element else {
            return Ok(match address.home {
                Home::Frame(at) => {
                    let at = at + offset;
                    match value {
                        Word::Code(run) => code(move |m| {
                            let value = run(m)?;
                            m.memory.words[m.frame.words + at] = value;
                            Ok(())
                        }),
                        value => code(move |m| {
                            let value = value.get(m)?;
                            m.memory.words[m.frame.words + at] = value;
                            Ok(())
                        }),
                    }
                }
                Home::State(at) => {
                    let at = at + offset;
                    code(move |m| {
                        let value = value.get(m)?;
                        m.memory.words[m.state.words + at] = value;
                        Ok(())
                    })
                }
                _ => code(move |m: &mut Machine<'_>| {
                    let value = value.get(m)?;
                    let at = address.locate(m, |extent| extent.words)?;
                    m.memory.words[at] = value;
                    Ok(())
                }),
            });
        };
        if address.indices.is_empty() {
            macro_rules! element {
                (|$m:ident| $base:expr) => {
                    for_element!(element, ELEMENT => code(move |$m| {
                        let value = value.get($m)?;
                        let at = $base + offset;
                        $m.memory.set_element(ELEMENT, at, value);
                        Ok(())
                    }))
                };
            }
            return Ok(match address.home {
                Home::Fixed(home) => element!(|m| home),
                Home::State(home) => element!(|m| m.state.lists + home),
                Home::Frame(home) => element!(|m| m.frame.lists + home),
                Home::Reference(home) => element!(|m| m.memory.words[m.frame.words + home] as usize),
            });
        }
        if let Some((index, reach)) = address.only_index() {
            macro_rules! element {
                (|$m:ident| $base:expr) => {
                    for_element!(element, ELEMENT => code(move |$m| {
                        let value = value.get($m)?;
                        let index = index.get($m)?;
                        let at = $base + reach.at($m, index)?;
                        $m.memory.set_element(ELEMENT, at, value);
                        Ok(())
                    }))
                };
            }
            return Ok(match address.home {
                Home::Fixed(home) => element!(|m| home),
                Home::State(home) => element!(|m| m.state.lists + home),
                Home::Frame(home) => element!(|m| m.frame.lists + home),
                Home::Reference(home) => element!(|m| m.memory.words[m.frame.words + home] as usize),
            });
        }
        Ok(code(move |m: &mut Machine<'_>| {
            let value = value.get(m)?;
            let at = address.locate(m, |extent| extent.lists)?;
            m.memory.set_element(element, at, value);
            Ok(())
        }))
    }

    fn copy(&self, target: &Place, source: &Place, to: Option<Scalar>) -> Compiled<Run<()>> {
        let from = self.address(source)?;
        let into = self.address(target)?;
        let n = from.ty.len().min(into.ty.len());
        let (source_type, target_type) = (from.ty.element, into.ty.element);
        if to.is_none() && Class::of(source_type) != Class::of(target_type) {
            return malformed("a copy between lists of different elements", target.span);
        }
        if to.is_some() || source_type != target_type {
            let (source_element, target_element) = (Element::of(source_type), Element::of(target_type));
            return Ok(code(move |m: &mut Machine<'_>| {
                let (from, into) = (from.locate_any(m)?, into.locate_any(m)?);
                for at in 0..n {
                    let cell = match Class::of(source_type) {
                        Class::Word => Cell::Word(m.memory.element(source_element, from + at * source_element.bytes())),
                        _ => Cell::Wide(m.memory.wides[from + at].clone()),
                    };
                    match convert(source_type, target_type, cell) {
                        Cell::Word(word) => {
                            m.memory.set_element(target_element, into + at * target_element.bytes(), word);
                        }
                        Cell::Wide(wide) => m.memory.wides[into + at] = wide,
                    }
                }
                Ok(())
            }));
        }
        Ok(match Class::of(source_type) {
            Class::Word => {
                let n_bytes = n * Element::of(source_type).bytes();
                code(move |m: &mut Machine<'_>| {
                    let (from, into) = (from.locate_any(m)?, into.locate_any(m)?);
                    m.memory.lists.copy_within(from..from + n_bytes, into);
                    Ok(())
                })
            }
            Class::Wide => code(move |m: &mut Machine<'_>| {
                let (from, into) = (from.locate_any(m)?, into.locate_any(m)?);
                for at in 0..n {
                    m.memory.wides[into + at] = m.memory.wides[from + at].clone();
                }
                Ok(())
            }),
            Class::Text => code(move |m: &mut Machine<'_>| {
                let (from, into) = (from.locate_any(m)?, into.locate_any(m)?);
                for at in 0..n {
                    m.memory.texts[into + at] = m.memory.texts[from + at].clone();
                }
                Ok(())
            }),
        })
    }

    fn foreach(&self, variable: LocalId, low: &Expr, high: &Expr, body: &[Stmt], span: Span) -> Compiled<Run<()>> {
        let Some((Home::Frame(at), ty)) = self.frame.homes.get(variable.index()) else {
            return malformed("a loop variable that does not exist", span);
        };
        let (at, Scalar::Int(ty)) = (*at, ty.element) else {
            return malformed("a loop variable that is not an integer", span);
        };
        let (low, high) = (self.integer(low)?, self.integer(high)?);
        let body = self.block(body)?;
        let word_type = ty.width <= 63 || (ty.signed && ty.width == 64);
        if word_type && matches!((&low.number, &high.number), (Number::Word(_), Number::Word(_))) {
            if let (Number::Word(low), Number::Word(high)) = (low.number, high.number) {
                return Ok(code(move |m| {
                    let low = low.get(m)?;
                    let high = high.get(m)?;
                    if high < low {
                        return Ok(());
                    }
                    m.memory.words[m.frame.words + at] = wrap_word(ty, low);
                    loop {
                        m.tick(span)?;
                        body.run(m)?;
                        let slot = m.frame.words + at;
                        let value = m.memory.words[slot];
                        if value >= high {
                            return Ok(());
                        }
                        m.memory.words[slot] = wrap_word(ty, value + 1);
                    }
                }));
            }
            return malformed("loop bounds of two kinds", span);
        }
        let (low, high) = (low.big(), high.big());
        let one = Int::from(1i64);
        Ok(code(move |m: &mut Machine<'_>| {
            let low = low(m)?;
            let high = high(m)?;
            if high < low {
                return Ok(());
            }
            set_int(m, at, ty, low);
            loop {
                m.tick(span)?;
                body.run(m)?;
                let value = get_int(m, at, ty);
                if value >= high {
                    return Ok(());
                }
                set_int(m, at, ty, value.add(&one));
            }
        }))
    }

    /// Where a scalar local lies.
    pub(super) fn local(&self, local: LocalId, span: Span) -> Compiled<(usize, Type)> {
        match self.frame.homes.get(local.index()) {
            Some((Home::Frame(at), ty)) if !ty.is_list() => Ok((*at, ty.clone())),
            _ => malformed("a local that does not exist", span),
        }
    }

    fn call_statement(
        &self,
        result: Option<LocalId>,
        procedure: ProcedureId,
        arguments: &[Argument],
        span: Span,
    ) -> Compiled<Run<()>> {
        let call = self.call(procedure, arguments, span)?;
        let Some(local) = result else {
            return Ok(call.nothing());
        };
        let (at, ty) = self.local(local, span)?;
        let given = self.context.results.get(procedure.index()).copied().flatten();
        if given.map(Class::of) != Some(Class::of(ty.element)) {
            return malformed("a result of another kind", span);
        }
        Ok(match Class::of(ty.element) {
            Class::Word => {
                let run = call.word();
                code(move |m| {
                    let value = run(m)?;
                    m.memory.words[m.frame.words + at] = value;
                    Ok(())
                })
            }
            Class::Wide => {
                let run = call.wide();
                code(move |m| {
                    let value = run(m)?;
                    m.memory.wides[m.frame.wides + at] = value;
                    Ok(())
                })
            }
            Class::Text => {
                let run = call.text();
                code(move |m| {
                    let value = run(m)?;
                    m.memory.texts[m.frame.texts + at] = value;
                    Ok(())
                })
            }
        })
    }
}

fn get_int(m: &Machine<'_>, at: usize, ty: IntType) -> Int {
    if ty.width <= 64 {
        word_to_int(ty, m.memory.words[m.frame.words + at])
    } else {
        m.memory.wides[m.frame.wides + at].clone()
    }
}

fn set_int(m: &mut Machine<'_>, at: usize, ty: IntType, value: Int) {
    if ty.width <= 64 {
        m.memory.words[m.frame.words + at] = wrap_word(ty, crate::fifo::low_word(&value));
    } else {
        m.memory.wides[m.frame.wides + at] = value.wrap(ty);
    }
}
