//! Integer-to-decimal conversion. Decimal digits of integers, for printing.

use crate::function::FunctionBuilder;
use headrace_program::{BinaryOp, CompareOp, Expr, Function, Place, Print, Stmt, Type, VariableId};

fn print(f: &mut FunctionBuilder, digits: VariableId, from: Expr, count: Expr) {
    f.push(Stmt::Print(Print::Bytes(Place::variable(digits), from, count)));
}

/// Prints a `U64` after a minus sign, if the second parameter says so.
pub(crate) fn narrow(name: String) -> Function {
    let mut f = FunctionBuilder::new();
    let value = f.scalar_parameter("magnitude", Type::U64);
    let negative = f.scalar_parameter("negative", Type::Bool);
    let digits = f.array("digits", Type::U8, 21);
    let at = f.scalar("at", Type::U32);
    f.assign(at, Expr::u32(21));
    let ten = Expr::int(Type::U64, 10);
    let label = f.label();
    let outer = f.take();
    let here = f.read(at);
    f.assign(at, here.clone().minus(Expr::u32(1)));
    let digit = Expr::binary(BinaryOp::Rem, f.read(value), ten.clone()).plus(Expr::int(Type::U64, 48));
    f.store(digits, here.clone(), digit.to(Type::U8));
    let rest = Expr::binary(BinaryOp::Div, f.read(value), ten);
    f.assign(value, rest);
    let done = f.read(value).equals(Expr::int(Type::U64, 0));
    f.when(done, |f| f.push(Stmt::Break(label)));
    let body = f.restore(outer);
    f.push(Stmt::Loop(label, body));
    let negative = f.read(negative);
    f.when(negative, |f| {
        f.assign(at, here.clone().minus(Expr::u32(1)));
        f.store(digits, here.clone(), Expr::int(Type::U8, 45));
    });
    print(&mut f, digits, here.clone(), Expr::u32(21).minus(here));
    f.finish(name, "prints an integer", None)
}

/// Prints an integer of so many words.
pub(crate) fn wide(name: String, words: u32) -> Function {
    let mut f = FunctionBuilder::new();
    let a = f.reference("a", Type::U32, words, false);
    let magnitude = f.array("magnitude", Type::U32, words);
    // A word has 9.6 digits.
    let size = words * 10 + 2;
    let digits = f.array("digits", Type::U8, size);
    let top = f.at(a, Expr::u32(words - 1));
    let negative = f.named("negative", top.to(Type::I32).less(Expr::int(Type::I32, 0)));
    let carry = f.scalar("carry", Type::U64);
    let (one, zero) = (Expr::int(Type::U64, 1), Expr::int(Type::U64, 0));
    f.assign(carry, Expr::select(negative.clone(), one, zero.clone()));
    let flip = f.named("flip", Expr::select(negative.clone(), Expr::u32(u32::MAX), Expr::u32(0)));
    f.count("i", Expr::u32(words), |f, i| {
        let word = Expr::binary(BinaryOp::Xor, f.at(a, i.clone()), flip.clone());
        let sum = f.named("sum", word.to(Type::U64).plus(f.read(carry)));
        f.store(magnitude, i, sum.clone().to(Type::U32));
        f.assign(carry, sum.shifted_right(32));
    });
    let at = f.scalar("at", Type::U32);
    f.assign(at, Expr::u32(size));
    let here = f.read(at);
    let ten = Expr::int(Type::U64, 10);
    let label = f.label();
    let outer = f.take();
    let rest = f.scalar("rest", Type::U64);
    let any = f.scalar("any", Type::U32);
    f.assign(rest, zero);
    f.assign(any, Expr::u32(0));
    f.count("k", Expr::u32(words), |f, k| {
        let i = f.named("from_top", Expr::u32(words - 1).minus(k));
        let value = f.read(rest).shifted_left(32).or(f.at(magnitude, i.clone()).to(Type::U64));
        let value = f.named("part", value);
        let quotient = f.named("quotient", Expr::binary(BinaryOp::Div, value.clone(), ten.clone()).to(Type::U32));
        f.assign(rest, Expr::binary(BinaryOp::Rem, value, ten.clone()));
        f.store(magnitude, i, quotient.clone());
        let all = f.read(any).or(quotient);
        f.assign(any, all);
    });
    f.assign(at, here.clone().minus(Expr::u32(1)));
    let digit = f.read(rest).plus(Expr::int(Type::U64, 48)).to(Type::U8);
    f.store(digits, here.clone(), digit);
    let done = Expr::compare(CompareOp::Equal, f.read(any), Expr::u32(0));
    f.when(done, |f| f.push(Stmt::Break(label)));
    let body = f.restore(outer);
    f.push(Stmt::Loop(label, body));
    f.when(negative, |f| {
        f.assign(at, here.clone().minus(Expr::u32(1)));
        f.store(digits, here.clone(), Expr::int(Type::U8, 45));
    });
    print(&mut f, digits, here.clone(), Expr::u32(size).minus(here));
    f.finish(name, &format!("prints an integer of {words} words"), None)
}
