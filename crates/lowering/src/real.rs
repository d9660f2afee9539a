//! Lowering of floating-point arithmetic. Reals: computed as `F64`, rounded to their format after each operation; halves are
//! kept as their bit patterns.

use crate::annotated::Node;
use crate::code::Code;
use crate::function::FunctionBuilder;
use crate::machine::holding;
use headrace_ir::RealType;
use headrace_program::{
    Argument, BinaryOp, CompareOp, Expr, Function, FunctionId, Place, Stmt, Type, UnaryOp, VariableId,
};

impl Code<'_, '_> {
    /// A value as variables of the format keep it; it is exact in the format.
    pub(crate) fn stored_real(&mut self, value: Expr, ty: RealType) -> Expr {
        match ty {
            RealType::Double => value,
            RealType::Float => value.to(Type::F32),
            RealType::Half => self.real_procedure("half_bits", half_bits, value, Type::U32).to(Type::U16),
        }
    }

    /// The value of a bit pattern.
    pub(crate) fn half_value(&mut self, bits: Expr) -> Expr {
        self.real_procedure("half_value", half_value, bits.to(Type::U32), Type::F64)
    }

    /// The nearest value of the format, ties to even.
    pub(crate) fn rounded(&mut self, value: Expr, ty: RealType) -> Expr {
        match ty {
            RealType::Double => value,
            RealType::Float => value.to(Type::F32).to(Type::F64),
            RealType::Half => self.real_procedure("half_rounded", half_rounded, value, Type::F64),
        }
    }

    /// An integer rounded once.
    pub(crate) fn int_to_real(&mut self, x: &Node<'_>, ty: RealType) -> Expr {
        if holding(&x.range).is_some() {
            let value = self.exact(x);
            return match ty {
                RealType::Float => value.to(Type::F32).to(Type::F64),
                _ => self.rounded(value.to(Type::F64), ty),
            };
        }
        let words = u32::try_from(x.range.signed_bits().div_ceil(32)).unwrap_or(u32::MAX);
        let value = self.wide(x, words);
        let value = self.wide_real(value, words, ty);
        self.rounded(value, ty)
    }

    fn real_procedure(&mut self, name: &str, make: fn(String) -> Function, argument: Expr, result: Type) -> Expr {
        let id = self.procedure(name, make);
        let returned = self.f.scalar("real", result);
        self.f.call(Some(returned), id, vec![Argument::Value(argument)]);
        self.f.read(returned)
    }

    /// A procedure of the program that belongs to no actor.
    pub(crate) fn procedure(&mut self, name: &str, make: impl FnOnce(String) -> Function) -> FunctionId {
        if let Some(&id) = self.building.procedures.get(name) {
            return id;
        }
        let fresh = self.building.names.fresh(name);
        let id = self.building.function(make(fresh));
        self.building.procedures.insert(name.to_owned(), id);
        id
    }
}

fn absolute(f: &mut FunctionBuilder, value: VariableId) -> Expr {
    let bits = f.read(value).reinterpret(Type::U64).and(Expr::int(Type::U64, i64::MAX as u64));
    f.named("magnitude", bits.reinterpret(Type::F64))
}

fn with_sign_of(value: Expr, magnitude: Expr) -> Expr {
    let sign = value.reinterpret(Type::U64).and(Expr::int(Type::U64, 1 << 63));
    magnitude.reinterpret(Type::U64).or(sign).reinterpret(Type::F64)
}

/// binary16 has 11 significant bits, its least exponent is -14 and its largest finite value 65504.
fn half_rounded(name: String) -> Function {
    let mut f = FunctionBuilder::new();
    let value = f.scalar_parameter("value", Type::F64);
    let magnitude = absolute(&mut f, value);
    let own = f.read(value);
    // Not a number, infinite, or zero.
    let finite = magnitude.clone().less(Expr::real(f64::INFINITY));
    let plain = finite.and(Expr::compare(CompareOp::Greater, magnitude.clone(), Expr::real(0.0)));
    f.when(plain.negated(), |f| f.push(Stmt::Return(Some(own.clone()))));
    let large = magnitude.clone().at_least(Expr::real(65520.0));
    f.when(large, |f| f.push(Stmt::Return(Some(with_sign_of(own.clone(), Expr::real(f64::INFINITY))))));
    // Adding and taking away a power of two whose unit in the last place is that of the result rounds to nearest even.
    let exponent = magnitude.clone().reinterpret(Type::U64).shifted_right(52);
    let exponent = f.named("exponent", exponent);
    let least = Expr::int(Type::U64, 1023 - 14);
    let exponent = Expr::select(exponent.clone().less(least.clone()), least, exponent);
    let bits = exponent.plus(Expr::int(Type::U64, 42)).shifted_left(52).or(Expr::int(Type::U64, 1 << 51));
    let anchor = f.named("anchor", bits.reinterpret(Type::F64));
    let rounded = f.named("rounded", magnitude.plus(anchor.clone()).minus(anchor));
    f.push(Stmt::Return(Some(with_sign_of(own, rounded))));
    f.finish(name, "the nearest binary16, ties to even", Some(Type::F64))
}

fn half_bits(name: String) -> Function {
    let mut f = FunctionBuilder::new();
    let value = f.scalar_parameter("value", Type::F64);
    let own = f.read(value);
    let bits = f.named("bits", own.reinterpret(Type::U64));
    let sign = bits.clone().shifted_right(48).to(Type::U32).and(Expr::u32(0x8000));
    let sign = f.named("sign", sign);
    let magnitude = absolute(&mut f, value);
    let not_a_number = Expr::compare(CompareOp::NotEqual, magnitude.clone(), magnitude.clone());
    f.when(not_a_number, |f| f.push(Stmt::Return(Some(sign.clone().or(Expr::u32(0x7e00))))));
    let infinite = Expr::compare(CompareOp::Equal, magnitude.clone(), Expr::real(f64::INFINITY));
    f.when(infinite, |f| f.push(Stmt::Return(Some(sign.clone().or(Expr::u32(0x7c00))))));
    let exponent = f.named("exponent", magnitude.clone().reinterpret(Type::U64).shifted_right(52).to(Type::U32));
    f.when(exponent.clone().less(Expr::u32(1023 - 14)), |f| {
        // A multiple of 2^-24: with 2^28 added, its place is fixed in the fraction.
        let moved = magnitude.clone().plus(Expr::real((1u64 << 28) as f64));
        let fraction = moved.reinterpret(Type::U64).to(Type::U32).and(Expr::u32(0x7ff));
        f.push(Stmt::Return(Some(sign.clone().or(fraction))));
    });
    let exponent = exponent.minus(Expr::u32(1023 - 15)).shifted_left(10);
    let fraction = bits.shifted_right(42).to(Type::U32).and(Expr::u32(0x3ff));
    f.push(Stmt::Return(Some(sign.or(exponent).or(fraction))));
    f.finish(name, "the bit pattern of a binary16", Some(Type::U32))
}

fn half_value(name: String) -> Function {
    let mut f = FunctionBuilder::new();
    let bits = f.scalar_parameter("bits", Type::U32);
    let own = f.read(bits);
    let exponent = f.named("exponent", own.clone().shifted_right(10).and(Expr::u32(0x1f)).to(Type::U64));
    let fraction = f.named("fraction", own.clone().and(Expr::u32(0x3ff)).to(Type::U64));
    let magnitude = f.scalar("magnitude", Type::F64);
    let zero = Expr::int(Type::U64, 0);
    let word = |value: Expr| value.reinterpret(Type::F64);
    f.either(
        exponent.clone().equals(zero.clone()),
        |f| {
            let small = fraction.clone().to(Type::F64).times(Expr::real(f64::powi(2.0, -24)));
            f.assign(magnitude, small);
        },
        |f| {
            f.either(
                exponent.clone().equals(Expr::int(Type::U64, 31)),
                |f| {
                    let infinity = Expr::int(Type::U64, f64::INFINITY.to_bits());
                    let nan = Expr::int(Type::U64, f64::NAN.to_bits());
                    f.assign(magnitude, word(Expr::select(fraction.clone().equals(zero.clone()), infinity, nan)));
                },
                |f| {
                    let high = exponent.clone().plus(Expr::int(Type::U64, 1023 - 15)).shifted_left(52);
                    f.assign(magnitude, word(high.or(fraction.clone().shifted_left(42))));
                },
            );
        },
    );
    let magnitude = f.read(magnitude);
    let negative = Expr::compare(CompareOp::NotEqual, own.and(Expr::u32(0x8000)), Expr::u32(0));
    let value = Expr::select(negative, Expr::unary(UnaryOp::Negate, magnitude.clone()), magnitude);
    f.push(Stmt::Return(Some(value)));
    f.finish(name, "the value of the bit pattern of a binary16", Some(Type::F64))
}

/// An integer of this many words, rounded to a format: to `precision` bits, ties to even.
pub(crate) fn wide_real(name: String, words: u32, ty: RealType) -> Function {
    let mut f = FunctionBuilder::new();
    let a = f.reference("a", Type::U32, words, false);
    let magnitude = f.array("magnitude", Type::U32, words);
    let top = f.at(a, Expr::u32(words - 1));
    let negative = f.named("negative", top.to(Type::I32).less(Expr::int(Type::I32, 0)));
    // The magnitude, by adding 1 to the complement.
    let carry = f.scalar("carry", Type::U64);
    f.assign(carry, Expr::select(negative.clone(), Expr::int(Type::U64, 1), Expr::int(Type::U64, 0)));
    let flip = f.named("flip", Expr::select(negative.clone(), Expr::u32(u32::MAX), Expr::u32(0)));
    f.count("i", Expr::u32(words), |f, i| {
        let word = Expr::binary(BinaryOp::Xor, f.at(a, i.clone()), flip.clone());
        let sum = word.to(Type::U64).plus(f.read(carry));
        f.assign(carry, sum);
        let low = f.read(carry).to(Type::U32);
        f.store(magnitude, i, low);
        let high = f.read(carry).shifted_right(32);
        f.assign(carry, high);
    });
    // The first 64 bits from the highest one on; a one in the last place stands for all below.
    let head = f.scalar("head", Type::U64);
    let shift = f.scalar("shift", Type::U32);
    let at = f.scalar("at", Type::U32);
    f.assign(at, Expr::u32(words * 32));
    let bit = |f: &FunctionBuilder, at: Expr| {
        let word = f.at(magnitude, at.clone().shifted_right(5));
        Expr::binary(BinaryOp::ShiftRight, word, at.and(Expr::u32(31))).and(Expr::u32(1))
    };
    let here = f.read(at);
    f.repeat_while(Expr::compare(CompareOp::Greater, here.clone(), Expr::u32(0)), |f| {
        f.assign(at, here.clone().minus(Expr::u32(1)));
        let one = f.named("one", bit(f, here.clone()));
        let full = f.read(head).at_least(Expr::int(Type::U64, 1 << 63));
        f.either(
            full,
            |f| {
                let more = f.read(shift).plus(Expr::u32(1));
                f.assign(shift, more);
                let sticky = f.read(head).or(one.clone().to(Type::U64));
                f.assign(head, sticky);
            },
            |f| {
                let next = f.read(head).shifted_left(1).or(one.clone().to(Type::U64));
                f.assign(head, next);
            },
        );
    });
    let value = f.scalar("value", Type::F64);
    let rounded = match ty {
        RealType::Double => f.read(head).to(Type::F64),
        _ => f.read(head).to(Type::F32).to(Type::F64),
    };
    f.assign(value, rounded);
    let n = f.read(shift);
    let scaled = f.read(value).times(Expr::real(2.0));
    f.count("doubling", n, |f, _| f.assign(value, scaled));
    if ty == RealType::Float {
        let narrow = f.read(value).to(Type::F32).to(Type::F64);
        f.assign(value, narrow);
    }
    let value = f.read(value);
    let result = Expr::select(negative, Expr::unary(UnaryOp::Negate, value.clone()), value);
    f.push(Stmt::Return(Some(result)));
    f.finish(name, &format!("an integer of {words} words as a real"), Some(Type::F64))
}

/// A reference to a whole variable.
pub(crate) fn whole(variable: VariableId) -> Argument {
    Argument::Reference(Place::variable(variable))
}
