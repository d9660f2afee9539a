//! Lowering of multi-word arithmetic. Integers beyond 64 bits: arrays of 32-bit words, least significant first, in two's
//! complement.
//!
//! Every operation makes a new array of the function, so that what a procedure writes is never what it reads.

use crate::annotated::Node;
use crate::code::Code;
use crate::machine::{class, holding, wide_words, words_of};
use crate::place::Location;
use crate::real::{whole, wide_real};
use crate::wide_division::division;
use crate::wide_procedures::{self as procedures, Bitwise};
use headrace_ir::{BinaryOp, ExprKind, Int, IntType, MAX_SHIFT, RealType};
use headrace_program::{Expr, Place, Root, Stmt, Type, VariableId, VariableKind};

/// Longest intermediate result, in words.
const MAX_WORDS: u32 = 2048;

fn elements(place: Place, at: Expr, source: Place, from: Expr, count: u32) -> Stmt {
    Stmt::Copy { target: place, at, source, from, count: Expr::u32(count) }
}

impl Code<'_, '_> {
    /// An array of `words` words that is the expression modulo 2^(32 words), so its value where it fits. It may be a
    /// variable of the program: it must not be written.
    pub(crate) fn wide(&mut self, node: &Node<'_>, words: u32) -> VariableId {
        if words > MAX_WORDS {
            self.building.unsupported(node.expr.span, "integers of more than 65536 bits");
            return self.word_array("wide", 1);
        }
        if let Some(value) = node.single() {
            let value = value.clone();
            return self.wide_constant(&value, words);
        }
        if let Some(ty) = holding(&node.range) {
            let value = self.low(node, ty);
            return self.widened(value, words);
        }
        self.wide_operation(node, words)
    }

    /// The same by the operation itself, whose value may fit in less.
    pub(crate) fn wide_operation(&mut self, node: &Node<'_>, words: u32) -> VariableId {
        match &node.expr.kind {
            ExprKind::Int(value) => self.wide_constant(value, words),
            ExprKind::Load(place) => {
                let scalar = self.type_of(place.root).element;
                let Some(have) = wide_words(scalar) else {
                    let value = self.load(place);
                    return self.widened(value, words);
                };
                if let Some(value) = self.plan.folded(place).cloned() {
                    let headrace_ir::Value::Int(value) = value else { return self.word_array("wide", words) };
                    return self.wide_constant(&value, words);
                }
                let signed = scalar.as_int().is_some_and(|ty| ty.signed);
                let location = self.locate(place);
                self.resized(&location, have, words, signed)
            }
            ExprKind::Call(procedure, arguments) => {
                let Some(scalar) = self.scalar_of(node.expr) else { return self.word_array("wide", words) };
                let Some(have) = wide_words(scalar) else {
                    let value = self.call_expression(*procedure, arguments);
                    return self.widened(value, words);
                };
                let returned = self.call_wide(procedure.index(), arguments, have);
                let signed = scalar.as_int().is_some_and(|ty| ty.signed);
                let location = Location { place: Place::variable(returned), at: None };
                self.resized(&location, have, words, signed)
            }
            ExprKind::Negate(_) => {
                let zero = self.wide_constant(&Int::ZERO, words);
                let x = self.wide(&node.kids[0], words);
                let id = self.procedure(&format!("wide_sub_{words}"), |name| procedures::sub(name, words));
                self.wide_call("negated", id, &[zero, x], words)
            }
            ExprKind::Complement(_) => {
                let ones = self.wide_constant(&Int::from(-1i64), words);
                let x = self.wide(&node.kids[0], words);
                let make = |name| procedures::bitwise(name, Bitwise::Xor, words);
                let id = self.procedure(&format!("wide_xor_{words}"), make);
                self.wide_call("complement", id, &[x, ones], words)
            }
            ExprKind::Binary(op, _, _) => self.wide_binary(node, *op, words),
            ExprKind::Wrap(ty, _) => {
                let x = &node.kids[0];
                if x.range.fits(*ty) || words * 32 <= ty.width {
                    return self.wide(x, words);
                }
                if ty.width <= 64 {
                    let value = self.wrapped(x, *ty);
                    return self.widened(value, words);
                }
                let own = ty.width.div_ceil(32);
                let low = self.wide(x, own);
                self.wide_wrapped(low, own, *ty, words)
            }
            ExprKind::ShiftLeft(ty, _, _) => self.wide_shift_left(node, *ty, words),
            ExprKind::If(..) => {
                let condition = self.value(&node.kids[0]);
                let chosen = self.word_array("chosen", words);
                let branch = |code: &mut Self, kid: &Node<'_>| {
                    let ((), block) = code.inside(|code| {
                        let value = code.wide(kid, words);
                        code.copy_words(chosen, value, words);
                    });
                    block
                };
                let yes = branch(self, &node.kids[1]);
                let no = branch(self, &node.kids[2]);
                self.push_if(condition, yes, no);
                chosen
            }
            _ => {
                self.malformed(node.expr.span);
                self.word_array("wide", words)
            }
        }
    }

    fn copy_words(&mut self, target: VariableId, source: VariableId, words: u32) {
        let zero = Expr::u32(0);
        self.push(elements(Place::variable(target), zero.clone(), Place::variable(source), zero, words));
    }

    pub(crate) fn wide_constant(&mut self, value: &Int, words: u32) -> VariableId {
        let table = self.building.table(&format!("words_{words}"), Type::U32, words_of(value, words));
        let name = self.word_array("constant", words);
        let zero = Expr::u32(0);
        self.push(elements(Place::variable(name), zero.clone(), Place::table(table), zero, words));
        name
    }

    /// A value of up to 64 bits in words.
    pub(crate) fn widened(&mut self, value: Expr, words: u32) -> VariableId {
        let name = self.word_array("wide", words);
        let signed = value.ty.is_signed();
        let value = value.to(if signed { Type::I64 } else { Type::U64 });
        let value = self.named("narrow", value);
        self.f.store(name, Expr::u32(0), value.clone().to(Type::U32));
        if words > 1 {
            self.f.store(name, Expr::u32(1), value.clone().shifted_right(32).to(Type::U32));
        }
        if words > 2 && signed {
            let fill = value.shifted_right(63).to(Type::U32);
            let target = Place::variable(name);
            self.push(Stmt::Fill { target, at: Expr::u32(2), count: Expr::u32(words - 2), value: fill });
        } else if words > 2 {
            let target = Place::variable(name);
            self.push(Stmt::Fill { target, at: Expr::u32(2), count: Expr::u32(words - 2), value: Expr::u32(0) });
        }
        name
    }

    /// `have` words from a place on as `words` words.
    pub(crate) fn resized(&mut self, location: &Location, have: u32, words: u32, signed: bool) -> VariableId {
        // A variable that is this integer and nothing else is not copied.
        if let Place { root: Root::Variable(variable), path } = &location.place
            && path.is_empty()
            && location.at.is_none()
            && have == words
            && self.f.kind(*variable) == VariableKind::Array(Type::U32, words)
        {
            return *variable;
        }
        let name = self.word_array("wide", words);
        let from = location.offset();
        let from = if from.is_plain() { from } else { self.named("at", from) };
        let n = have.min(words);
        self.push(elements(Place::variable(name), Expr::u32(0), location.place.clone(), from, n));
        if words > have {
            let fill = self.sign_of(name, have, signed);
            let target = Place::variable(name);
            self.push(Stmt::Fill { target, at: Expr::u32(have), count: Expr::u32(words - have), value: fill });
        }
        name
    }

    /// What the words after the first `have` are filled with.
    fn sign_of(&mut self, name: VariableId, have: u32, signed: bool) -> Expr {
        if !signed {
            return Expr::u32(0);
        }
        let top = self.f.at(name, Expr::u32(have - 1));
        let fill = top.to(Type::I32).shifted_right(31).to(Type::U32);
        self.named("sign", fill)
    }

    /// Words wrapped to a type of more than 64 bits, `own` of which hold it, as `words` words.
    pub(crate) fn wide_wrapped(&mut self, low: VariableId, own: u32, ty: IntType, words: u32) -> VariableId {
        let have = own.max(words);
        let name = self.word_array("wrapped", have);
        self.copy_words(name, low, own);
        let rest = ty.width % 32;
        if rest != 0 {
            let at = Expr::u32(own - 1);
            let top = self.f.at(name, at.clone());
            let cut = if ty.signed {
                top.to(Type::I32).shifted_left(32 - rest).shifted_right(32 - rest).to(Type::U32)
            } else {
                top.and(Expr::u32(u32::MAX >> (32 - rest)))
            };
            self.f.store(name, at, cut);
        }
        if have > own {
            let fill = self.sign_of(name, own, ty.signed);
            let target = Place::variable(name);
            self.push(Stmt::Fill { target, at: Expr::u32(own), count: Expr::u32(have - own), value: fill });
        }
        if have == words {
            return name;
        }
        let cut = self.word_array("wide", words);
        self.copy_words(cut, name, words);
        cut
    }

    pub(crate) fn wide_call(
        &mut self,
        like: &str,
        id: headrace_program::FunctionId,
        operands: &[VariableId],
        words: u32,
    ) -> VariableId {
        let name = self.word_array(like, words);
        let arguments = [name].iter().chain(operands).map(|&operand| whole(operand)).collect();
        self.f.call(None, id, arguments);
        name
    }

    fn wide_binary(&mut self, node: &Node<'_>, op: BinaryOp, words: u32) -> VariableId {
        let (a, b) = (&node.kids[0], &node.kids[1]);
        let bitwise = match op {
            BinaryOp::And => Some(("and", Bitwise::And)),
            BinaryOp::Or => Some(("or", Bitwise::Or)),
            BinaryOp::Xor => Some(("xor", Bitwise::Xor)),
            _ => None,
        };
        let id = match (op, bitwise) {
            (_, Some((like, op))) => {
                self.procedure(&format!("wide_{like}_{words}"), |name| procedures::bitwise(name, op, words))
            }
            (BinaryOp::Add, _) => self.procedure(&format!("wide_add_{words}"), |name| procedures::add(name, words)),
            (BinaryOp::Sub, _) => self.procedure(&format!("wide_sub_{words}"), |name| procedures::sub(name, words)),
            (BinaryOp::Mul, _) => self.procedure(&format!("wide_mul_{words}"), |name| procedures::mul(name, words)),
            (BinaryOp::Div | BinaryOp::Mod, _) => return self.wide_division(node, op, words),
            _ => {
                let have = exact_words(a).max(words);
                let x = self.wide(a, have);
                let count = self.shift_count(b, have * 32 - 1);
                let make = |name| procedures::shift_right(name, have);
                let id = self.procedure(&format!("wide_shift_right_{have}"), make);
                let shifted = self.wide_shift("shifted", id, x, count, have);
                return self.cut(shifted, have, words);
            }
        };
        let x = self.wide(a, words);
        let y = self.wide(b, words);
        self.wide_call("wide", id, &[x, y], words)
    }

    /// The first words of more.
    fn cut(&mut self, value: VariableId, have: u32, words: u32) -> VariableId {
        if have == words {
            return value;
        }
        let name = self.word_array("low", words);
        self.copy_words(name, value, words);
        name
    }

    fn wide_shift(
        &mut self,
        like: &str,
        id: headrace_program::FunctionId,
        x: VariableId,
        count: Expr,
        words: u32,
    ) -> VariableId {
        let name = self.word_array(like, words);
        self.f.call(None, id, vec![whole(name), whole(x), headrace_program::Argument::Value(count)]);
        name
    }

    fn wide_division(&mut self, node: &Node<'_>, op: BinaryOp, words: u32) -> VariableId {
        let (a, b) = (&node.kids[0], &node.kids[1]);
        // One bit more than the operands: the quotient of the least value by -1.
        let have = (exact_words(a).max(exact_words(b)) + 1).max(words);
        let x = self.wide(a, have);
        let y = self.wide(b, have);
        let like = if op == BinaryOp::Div { "div" } else { "mod" };
        let make = |name| division(name, op == BinaryOp::Div, have);
        let id = self.procedure(&format!("wide_{like}_{have}"), make);
        let value = self.wide_call(like, id, &[x, y], have);
        self.cut(value, have, words)
    }

    fn wide_shift_left(&mut self, node: &Node<'_>, ty: IntType, words: u32) -> VariableId {
        let (x, count) = (&node.kids[0], &node.kids[1]);
        let either_way = count.range.low.is_negative();
        if ty.width <= 64 && !(either_way && holding(&x.range).is_none()) {
            let value = self.low(node, class(ty.width));
            let value = crate::integer::wrap(value, ty);
            return self.widened(value, words);
        }
        let unwrapped = words * 32 <= ty.width || x.range.shift_left_fits(&count.range, ty);
        let own = ty.width.div_ceil(32);
        let mut have = if unwrapped { words } else { own };
        if either_way {
            // What is shifted out at the left may come back.
            have = have.max(exact_words(x));
        }
        let value = self.wide(x, have);
        let make = |name| procedures::shift_left(name, have);
        let id = self.procedure(&format!("wide_shift_left_{have}"), make);
        let shifted = if either_way {
            let count = self.either_count(count);
            let negative = count.clone().less(Expr::int(count.ty, 0));
            let chosen = self.word_array("chosen", have);
            let ((), back) = self.inside(|code| {
                let by = Expr::unary(headrace_program::UnaryOp::Negate, count.clone()).to(class(count.ty.bits()));
                let by = code.limited(by, have * 32 - 1);
                let make = |name| procedures::shift_right(name, have);
                let id = code.procedure(&format!("wide_shift_right_{have}"), make);
                let value = code.wide_shift("back", id, value, by, have);
                code.copy_words(chosen, value, have);
            });
            let ((), up) = self.inside(|code| {
                let by = code.limited(count.clone().to(class(count.ty.bits())), have * 32);
                let by = code.near(node, by, have);
                let value = code.wide_shift("shifted", id, value, by, have);
                code.copy_words(chosen, value, have);
            });
            self.push_if(negative, back, up);
            chosen
        } else {
            let by = self.shift_count(count, have * 32);
            let by = self.near(node, by, have);
            self.wide_shift("shifted", id, value, by, have)
        };
        if unwrapped {
            return self.cut(shifted, have, words);
        }
        if ty.width <= 64 {
            let location = Location { place: Place::variable(shifted), at: None };
            let low = self.low_of_words(&location, class(ty.width));
            let value = crate::integer::wrap(low, ty);
            return self.widened(value, words);
        }
        self.wide_wrapped(shifted, own, ty, words)
    }

    /// A count, or the limit where it is more, as a `U32`.
    fn limited(&mut self, count: Expr, limit: u32) -> Expr {
        let count = self.named("count", count);
        let limit_there = Expr::int(count.ty, u64::from(limit));
        let small = count.clone().less(limit_there);
        Expr::select(small, count.to(Type::U32), Expr::u32(limit))
    }

    /// The count of a left shift whose value as a whole counts: too large a one, which is an error, gives 0.
    fn near(&mut self, node: &Node<'_>, count: Expr, have: u32) -> Expr {
        if !node.shifts_too_far() || have * 32 <= MAX_SHIFT {
            return count;
        }
        let count = self.named("count", count);
        let far = Expr::u32(MAX_SHIFT).less(count.clone());
        Expr::select(far, Expr::u32(have * 32), count)
    }

    /// -1, 0 or 1 as an `I32`.
    pub(crate) fn wide_compare(&mut self, x: VariableId, y: VariableId, words: u32) -> Expr {
        let id = self.procedure(&format!("wide_compare_{words}"), |name| procedures::compare(name, words));
        let order = self.f.scalar("order", Type::I32);
        self.f.call(Some(order), id, vec![whole(x), whole(y)]);
        self.f.read(order)
    }

    /// A shift count: the value, or 2^31 - 1 where it is more or negative.
    pub(crate) fn wide_count(&mut self, x: VariableId, words: u32) -> Expr {
        let id = self.procedure(&format!("wide_count_{words}"), |name| procedures::count(name, words));
        let count = self.f.scalar("count", Type::U32);
        self.f.call(Some(count), id, vec![whole(x)]);
        self.f.read(count)
    }

    /// The nearest real of the format, not yet rounded to a half.
    pub(crate) fn wide_real(&mut self, x: VariableId, words: u32, ty: RealType) -> Expr {
        let format = if ty == RealType::Double { "double" } else { "float" };
        let ty = if ty == RealType::Double { ty } else { RealType::Float };
        let id = self.procedure(&format!("wide_{format}_{words}"), |name| wide_real(name, words, ty));
        let real = self.f.scalar("real", Type::F64);
        self.f.call(Some(real), id, vec![whole(x)]);
        self.f.read(real)
    }

    /// Stores words to a place.
    pub(crate) fn store_words(&mut self, location: &Location, value: VariableId, words: u32) {
        if location.place == Place::variable(value) {
            return;
        }
        let source = Place::variable(value);
        self.push(elements(location.place.clone(), location.offset(), source, Expr::u32(0), words));
    }
}

/// Words that hold the exact value in two's complement.
pub(crate) fn exact_words(node: &Node<'_>) -> u32 {
    u32::try_from(node.range.signed_bits().div_ceil(32)).unwrap_or(u32::MAX).clamp(2, MAX_WORDS + 1)
}
