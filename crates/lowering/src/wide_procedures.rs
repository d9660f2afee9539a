//! Multi-word arithmetic as procedures. Procedures on integers of a fixed number of words: sums, products, logic, shifts,
//! comparisons. The result comes first.

use crate::function::FunctionBuilder;
use headrace_program::{BinaryOp, CompareOp, Expr, Function, Stmt, Type, UnaryOp, VariableId};

/// A logical operator.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bitwise {
    And,
    Or,
    Xor,
}

fn result_and(f: &mut FunctionBuilder, operands: &[&str], words: u32) -> Vec<VariableId> {
    let mut all = vec![f.reference("r", Type::U32, words, true)];
    all.extend(operands.iter().map(|name| f.reference(name, Type::U32, words, false)));
    all
}

pub(crate) fn bitwise(name: String, op: Bitwise, words: u32) -> Function {
    let mut f = FunctionBuilder::new();
    let all = result_and(&mut f, &["a", "b"], words);
    let op = match op {
        Bitwise::And => BinaryOp::And,
        Bitwise::Or => BinaryOp::Or,
        Bitwise::Xor => BinaryOp::Xor,
    };
    f.count("i", Expr::u32(words), |f, i| {
        let value = Expr::binary(op, f.at(all[1], i.clone()), f.at(all[2], i.clone()));
        f.store(all[0], i, value);
    });
    f.finish(name, &format!("logic of {words} words"), None)
}

pub(crate) fn add(name: String, words: u32) -> Function {
    let mut f = FunctionBuilder::new();
    let all = result_and(&mut f, &["a", "b"], words);
    let carry = f.scalar("carry", Type::U64);
    f.count("i", Expr::u32(words), |f, i| {
        let sum = f.at(all[1], i.clone()).to(Type::U64).plus(f.at(all[2], i.clone()).to(Type::U64));
        let sum = f.named("sum", sum.plus(f.read(carry)));
        f.store(all[0], i, sum.clone().to(Type::U32));
        f.assign(carry, sum.shifted_right(32));
    });
    f.finish(name, &format!("the sum of {words} words"), None)
}

pub(crate) fn sub(name: String, words: u32) -> Function {
    let mut f = FunctionBuilder::new();
    let all = result_and(&mut f, &["a", "b"], words);
    let borrow = f.scalar("borrow", Type::U64);
    f.count("i", Expr::u32(words), |f, i| {
        let difference = f.at(all[1], i.clone()).to(Type::U64).minus(f.at(all[2], i.clone()).to(Type::U64));
        let difference = f.named("difference", difference.minus(f.read(borrow)));
        f.store(all[0], i, difference.clone().to(Type::U32));
        f.assign(borrow, difference.shifted_right(63));
    });
    f.finish(name, &format!("the difference of {words} words"), None)
}

pub(crate) fn mul(name: String, words: u32) -> Function {
    let mut f = FunctionBuilder::new();
    let all = result_and(&mut f, &["a", "b"], words);
    let fill = Stmt::Fill {
        target: headrace_program::Place::variable(all[0]),
        at: Expr::u32(0),
        count: Expr::u32(words),
        value: Expr::u32(0),
    };
    f.push(fill);
    let carry = f.scalar("carry", Type::U64);
    f.count("i", Expr::u32(words), |f, i| {
        f.assign(carry, Expr::int(Type::U64, 0));
        let rest = Expr::u32(words).minus(i.clone());
        f.count("j", rest, |f, j| {
            let at = f.named("at", i.clone().plus(j.clone()));
            let product = f.at(all[1], i.clone()).to(Type::U64).times(f.at(all[2], j).to(Type::U64));
            let sum = product.plus(f.at(all[0], at.clone()).to(Type::U64)).plus(f.read(carry));
            let sum = f.named("sum", sum);
            f.store(all[0], at, sum.clone().to(Type::U32));
            f.assign(carry, sum.shifted_right(32));
        });
    });
    f.finish(name, &format!("the low {words} words of a product"), None)
}

/// By a count of up to all bits.
pub(crate) fn shift_left(name: String, words: u32) -> Function {
    let mut f = FunctionBuilder::new();
    let all = result_and(&mut f, &["a"], words);
    let count = f.scalar_parameter("count", Type::U32);
    let whole = f.named("whole", f.read(count).shifted_right(5));
    let bits = f.named("bits", f.read(count).and(Expr::u32(31)));
    // Shifting by 32 less the bits in two steps is right for no bits, too.
    let back = f.named("back", Expr::u32(31).minus(bits.clone()));
    let fill = Stmt::Fill {
        target: headrace_program::Place::variable(all[0]),
        at: Expr::u32(0),
        count: Expr::u32(words),
        value: Expr::u32(0),
    };
    f.push(fill);
    let i = f.scalar("i", Type::U32);
    f.assign(i, whole.clone());
    let at = f.read(i);
    f.repeat_while(at.clone().less(Expr::u32(words)), |f| {
        let from = f.named("from", at.clone().minus(whole.clone()));
        let high = Expr::binary(BinaryOp::ShiftLeft, f.at(all[1], from.clone()), bits.clone());
        let below = f.scalar("below", Type::U32);
        f.assign(below, Expr::u32(0));
        f.when(Expr::compare(CompareOp::Greater, from.clone(), Expr::u32(0)), |f| {
            let word = f.at(all[1], from.clone().minus(Expr::u32(1))).shifted_right(1);
            f.assign(below, Expr::binary(BinaryOp::ShiftRight, word, back.clone()));
        });
        let value = high.or(f.read(below));
        f.store(all[0], at.clone(), value);
        f.assign(i, at.clone().plus(Expr::u32(1)));
    });
    f.finish(name, &format!("{words} words shifted left"), None)
}

/// By a count below the number of bits; the sign comes in.
pub(crate) fn shift_right(name: String, words: u32) -> Function {
    let mut f = FunctionBuilder::new();
    let all = result_and(&mut f, &["a"], words);
    let count = f.scalar_parameter("count", Type::U32);
    let whole = f.named("whole", f.read(count).shifted_right(5));
    let bits = f.named("bits", f.read(count).and(Expr::u32(31)));
    let back = f.named("back", Expr::u32(31).minus(bits.clone()));
    let top = f.at(all[1], Expr::u32(words - 1));
    let sign = f.named("sign", top.to(Type::I32).shifted_right(31).to(Type::U32));
    f.count("i", Expr::u32(words), |f, i| {
        let from = f.named("from", i.clone().plus(whole.clone()));
        let low = f.scalar("low", Type::U32);
        let high = f.scalar("high", Type::U32);
        for (target, more) in [(low, 0), (high, 1)] {
            f.assign(target, sign.clone());
            let at = from.clone().plus(Expr::u32(more));
            f.when(at.clone().less(Expr::u32(words)), |f| {
                let word = f.at(all[1], at.clone());
                f.assign(target, word);
            });
        }
        let low = Expr::binary(BinaryOp::ShiftRight, f.read(low), bits.clone());
        let high = Expr::binary(BinaryOp::ShiftLeft, f.read(high).shifted_left(1), back.clone());
        f.store(all[0], i, low.or(high));
    });
    f.finish(name, &format!("{words} words shifted right"), None)
}

pub(crate) fn compare(name: String, words: u32) -> Function {
    let mut f = FunctionBuilder::new();
    let a = f.reference("a", Type::U32, words, false);
    let b = f.reference("b", Type::U32, words, false);
    let one = Expr::int(Type::I32, 1);
    let minus_one = Expr::unary(UnaryOp::Negate, one.clone());
    let i = f.scalar("i", Type::U32);
    f.assign(i, Expr::u32(words));
    // The highest words have a sign; with their first bit turned over they compare as the others do.
    let flip = f.scalar("flip", Type::U32);
    f.assign(flip, Expr::u32(1 << 31));
    let at = f.read(i);
    f.repeat_while(Expr::compare(CompareOp::Greater, at.clone(), Expr::u32(0)), |f| {
        f.assign(i, at.clone().minus(Expr::u32(1)));
        let x = f.named("x", Expr::binary(BinaryOp::Xor, f.at(a, at.clone()), f.read(flip)));
        let y = f.named("y", Expr::binary(BinaryOp::Xor, f.at(b, at.clone()), f.read(flip)));
        f.assign(flip, Expr::u32(0));
        f.when(Expr::compare(CompareOp::NotEqual, x.clone(), y.clone()), |f| {
            let order = Expr::select(x.clone().less(y.clone()), minus_one.clone(), one.clone());
            f.push(Stmt::Return(Some(order)));
        });
    });
    f.push(Stmt::Return(Some(Expr::int(Type::I32, 0))));
    f.finish(name, &format!("-1, 0 or 1, as {words} words compare"), Some(Type::I32))
}

pub(crate) fn count(name: String, words: u32) -> Function {
    let mut f = FunctionBuilder::new();
    let a = f.reference("a", Type::U32, words, false);
    let above = f.scalar("above", Type::U32);
    let first = f.at(a, Expr::u32(0));
    f.assign(above, first.clone().shifted_right(31));
    f.count("i", Expr::u32(words - 1), |f, i| {
        let all = f.read(above).or(f.at(a, i.plus(Expr::u32(1))));
        f.assign(above, all);
    });
    let large = Expr::compare(CompareOp::NotEqual, f.read(above), Expr::u32(0));
    f.push(Stmt::Return(Some(Expr::select(large, Expr::u32(i32::MAX as u32), first))));
    f.finish(name, "a shift count, at most 2^31 - 1", Some(Type::U32))
}
