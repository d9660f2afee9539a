//! `std.image.DisplayGray` and `std.image.DisplayRGB`: single pictures shown, with a mouse that never moves.

use crate::{Argument, Native, Parameter, Session, Stop, Word, count, display};
use headrace_engine::{Host, Layout};

const WIDTH: Parameter = Parameter::Scalar("width", Word::Uint32);
const HEIGHT: Parameter = Parameter::Scalar("height", Word::Uint32);
const MOUSE: Parameter = Parameter::Unused("mousePositions");

pub(crate) static NATIVES: &[Native] = &[
    row("std.image.DisplayGray", "displayGray", &[WIDTH, HEIGHT, Parameter::Bytes("grayArr"), MOUSE], gray),
    row(
        "std.image.DisplayGray",
        "getXY",
        &[Parameter::Scalar("x", Word::Uint32), Parameter::Scalar("y", Word::Uint32)],
        nothing,
    ),
    row("std.image.DisplayGray", "initDisplayGray", &[WIDTH, HEIGHT], nothing),
    row(
        "std.image.DisplayRGB",
        "displayRGB",
        &[WIDTH, HEIGHT, Parameter::Bytes("rArr"), Parameter::Bytes("gArr"), Parameter::Bytes("bArr"), MOUSE],
        rgb,
    ),
    row("std.image.DisplayRGB", "initDisplayRGB", &[WIDTH, HEIGHT], nothing),
];

const fn row(unit: &'static str, name: &'static str, parameters: &'static [Parameter], call: crate::Call) -> Native {
    Native { unit, name, parameters, result: None, call }
}

fn nothing(_: &mut Session, _: &mut dyn Host, _: &mut [Argument<'_>]) -> Result<i64, Stop> {
    Ok(0)
}

fn gray(_: &mut Session, host: &mut dyn Host, arguments: &mut [Argument<'_>]) -> Result<i64, Stop> {
    let (width, height) = (count(arguments, 0)?, count(arguments, 1)?);
    display::show_planes(host, arguments, Layout::Gray, 2, width, height)
}

fn rgb(_: &mut Session, host: &mut dyn Host, arguments: &mut [Argument<'_>]) -> Result<i64, Stop> {
    let (width, height) = (count(arguments, 0)?, count(arguments, 1)?);
    display::show_planes(host, arguments, Layout::Rgb, 2, width, height)
}
