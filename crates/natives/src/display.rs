//! `std.video.Display` without a screen: pictures are not shown, and those to be compared are held against the golden
//! file in planar YUV 4:2:0.

use crate::{Argument, Native, Parameter, Session, Stop, Word, bytes, compare, count};
use headrace_engine::Host;

/// Ready for a picture, and enabled.
const FLAGS: i64 = 1 | 2;

const PICTURE: &[Parameter] = &[
    Parameter::Bytes("y"),
    Parameter::Bytes("u"),
    Parameter::Bytes("v"),
    Parameter::Scalar("width", Word::Int16),
    Parameter::Scalar("height", Word::Int16),
];

pub(crate) static NATIVES: &[Native] = &[
    row("compareYUV_comparePicture", PICTURE, None, compare_picture),
    row("compareYUV_init", &[], None, init_compare),
    row("displayYUV_displayPicture", PICTURE, None, nothing),
    row("displayYUV_getFlags", &[], Some(Word::Uint8), flags),
    row("displayYUV_init", &[], None, nothing),
    row("fpsPrintInit", &[], None, nothing),
    row("fpsPrintNewPicDecoded", &[], None, nothing),
];

const fn row(name: &'static str, parameters: &'static [Parameter], result: Option<Word>, call: crate::Call) -> Native {
    Native { unit: "std.video.Display", name, parameters, result, call }
}

fn nothing(_: &mut Session, _: &mut dyn Host, _: &mut [Argument]) -> Result<i64, Stop> {
    Ok(0)
}

fn flags(_: &mut Session, _: &mut dyn Host, _: &mut [Argument]) -> Result<i64, Stop> {
    Ok(FLAGS)
}

/// A program compares only when the user named a golden file.
fn init_compare(session: &mut Session, _: &mut dyn Host, _: &mut [Argument]) -> Result<i64, Stop> {
    session.golden_position = 0;
    Ok(0)
}

fn compare_picture(session: &mut Session, host: &mut dyn Host, arguments: &mut [Argument]) -> Result<i64, Stop> {
    if host.golden().is_err() {
        return Ok(0);
    }
    let (width, height) = (count(arguments, 3)?, count(arguments, 4)?);
    let chroma = width.div_ceil(2) * height.div_ceil(2);
    for (plane, size) in [(0, width * height), (1, chroma), (2, chroma)] {
        let list = bytes(arguments, plane)?;
        let Some(pixels) = list.get(..size) else {
            return Err(Stop::Error(format!("a picture of {width}x{height} does not fit a list of {}", list.len())));
        };
        compare::compare(session, host, pixels)?;
    }
    Ok(0)
}
