//! `std.util.Simulation`: what programs do with results that nobody wants, and cycles that only a processor of their own counts.

use crate::{Argument, Native, Parameter, Session, Stop, Word};
use headrace_engine::Host;

pub(crate) static NATIVES: &[Native] =
    &[row("print_cyclecount", &[]), row("throw_away", &[Parameter::Scalar("value", Word::Int32)])];

const fn row(name: &'static str, parameters: &'static [Parameter]) -> Native {
    Native { unit: "std.util.Simulation", name, parameters, result: None, call: nothing }
}

fn nothing(_: &mut Session, _: &mut dyn Host, _: &mut [Argument<'_>]) -> Result<i64, Stop> {
    Ok(0)
}
