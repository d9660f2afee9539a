//! Multi-word division by shifting and subtracting. Division of integers of a fixed number of words: bit by bit, on magnitudes.

use crate::function::FunctionBuilder;
use headrace_program::{BinaryOp, CompareOp, Expr, Function, Stmt, Type, VariableId};

/// Writes the magnitude of `a` to `target` and gives whether `a` is negative.
fn magnitude(f: &mut FunctionBuilder, target: VariableId, a: VariableId, words: u32) -> Expr {
    let top = f.at(a, Expr::u32(words - 1));
    let negative = f.named("negative", top.to(Type::I32).less(Expr::int(Type::I32, 0)));
    negate_if(f, target, a, negative.clone(), words);
    negative
}

/// `target = -a` or `target = a`; they may be the same.
fn negate_if(f: &mut FunctionBuilder, target: VariableId, a: VariableId, negative: Expr, words: u32) {
    let carry = f.scalar("carry", Type::U64);
    let (one, zero) = (Expr::int(Type::U64, 1), Expr::int(Type::U64, 0));
    f.assign(carry, Expr::select(negative.clone(), one, zero));
    let flip = f.named("flip", Expr::select(negative, Expr::u32(u32::MAX), Expr::u32(0)));
    f.count("i", Expr::u32(words), |f, i| {
        let word = Expr::binary(BinaryOp::Xor, f.at(a, i.clone()), flip.clone());
        let sum = f.named("sum", word.to(Type::U64).plus(f.read(carry)));
        f.store(target, i, sum.clone().to(Type::U32));
        f.assign(carry, sum.shifted_right(32));
    });
}

/// The quotient toward zero, or the residue that is not negative; 0 where there is none.
pub(crate) fn division(name: String, quotient: bool, words: u32) -> Function {
    let mut f = FunctionBuilder::new();
    let r = f.reference("r", Type::U32, words, true);
    let a = f.reference("a", Type::U32, words, false);
    let b = f.reference("b", Type::U32, words, false);
    let dividend = f.array("dividend", Type::U32, words);
    let divisor = f.array("divisor", Type::U32, words);
    let rest = f.array("rest", Type::U32, words);
    let difference = f.array("difference", Type::U32, words);
    let zero = Expr::u32(0);
    f.push(Stmt::Fill {
        target: headrace_program::Place::variable(r),
        at: zero.clone(),
        count: Expr::u32(words),
        value: zero.clone(),
    });
    let minus_a = magnitude(&mut f, dividend, a, words);
    let minus_b = magnitude(&mut f, divisor, b, words);
    let any = f.scalar("any", Type::U32);
    f.count("i", Expr::u32(words), |f, i| {
        let all = f.read(any).or(f.at(divisor, i));
        f.assign(any, all);
    });
    let none = f.read(any).equals(zero.clone());
    let none = if quotient { none } else { none.or(minus_b.clone()) };
    f.when(none, |f| f.push(Stmt::Return(None)));
    let bit = f.scalar("bit", Type::U32);
    f.assign(bit, Expr::u32(words * 32));
    let at = f.read(bit);
    f.repeat_while(Expr::compare(CompareOp::Greater, at.clone(), zero.clone()), |f| {
        f.assign(bit, at.clone().minus(Expr::u32(1)));
        let word = f.at(dividend, at.clone().shifted_right(5));
        let next = Expr::binary(BinaryOp::ShiftRight, word, at.clone().and(Expr::u32(31))).and(Expr::u32(1));
        let carry = f.scalar("carry", Type::U32);
        f.assign(carry, next);
        f.count("i", Expr::u32(words), |f, i| {
            let word = f.named("word", f.at(rest, i.clone()));
            let moved = word.clone().shifted_left(1).or(f.read(carry));
            f.store(rest, i, moved);
            f.assign(carry, word.shifted_right(31));
        });
        let borrow = f.scalar("borrow", Type::U64);
        f.assign(borrow, Expr::int(Type::U64, 0));
        f.count("i", Expr::u32(words), |f, i| {
            let less = f.at(rest, i.clone()).to(Type::U64).minus(f.at(divisor, i.clone()).to(Type::U64));
            let less = f.named("less", less.minus(f.read(borrow)));
            f.store(difference, i, less.clone().to(Type::U32));
            f.assign(borrow, less.shifted_right(63));
        });
        let fits = f.read(borrow).equals(Expr::int(Type::U64, 0));
        f.when(fits, |f| {
            f.push(Stmt::Copy {
                target: headrace_program::Place::variable(rest),
                at: zero.clone(),
                source: headrace_program::Place::variable(difference),
                from: zero.clone(),
                count: Expr::u32(words),
            });
            if quotient {
                let word = f.named("word_at", at.clone().shifted_right(5));
                let one = Expr::binary(BinaryOp::ShiftLeft, Expr::u32(1), at.clone().and(Expr::u32(31)));
                let with = f.at(r, word.clone()).or(one);
                f.store(r, word, with);
            }
        });
    });
    if quotient {
        let negative = Expr::binary(BinaryOp::Xor, minus_a, minus_b);
        let negative = f.named("opposite", negative);
        negate_if(&mut f, r, r, negative, words);
    } else {
        // What is left of a negative dividend counts from the modulus down, unless nothing is left.
        let left = f.scalar("left", Type::U32);
        f.count("i", Expr::u32(words), |f, i| {
            let all = f.read(left).or(f.at(rest, i));
            f.assign(left, all);
        });
        let down = minus_a.and(Expr::compare(CompareOp::NotEqual, f.read(left), zero));
        let down = f.named("down", down);
        let borrow = f.scalar("borrow", Type::U64);
        f.count("i", Expr::u32(words), |f, i| {
            let own = f.at(rest, i.clone());
            let less = f.at(divisor, i.clone()).to(Type::U64).minus(own.clone().to(Type::U64));
            let less = f.named("less", less.minus(f.read(borrow)));
            f.store(r, i, Expr::select(down.clone(), less.clone().to(Type::U32), own));
            f.assign(borrow, less.shifted_right(63));
        });
    }
    let about = if quotient { "a quotient toward zero" } else { "a residue that is not negative" };
    f.finish(name, about, None)
}
