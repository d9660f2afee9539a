//! `std.video.Display` without a screen: pictures go to the host, and those to be compared are held against the golden file,
//! plane after plane.

use crate::{Argument, Native, Parameter, Session, Stop, Word, bytes, compare, count};
use headrace_engine::{Host, Layout, Picture};

/// Ready for a picture, and enabled.
const FLAGS: i64 = 1 | 2;

/// What programs take for all pictures there are.
const ALL_PICTURES: i64 = -1;

const PICTURE: &[Parameter] = &[
    Parameter::Bytes("y"),
    Parameter::Bytes("u"),
    Parameter::Bytes("v"),
    Parameter::Scalar("width", Word::Int16),
    Parameter::Scalar("height", Word::Int16),
];

const SIZES: &[Parameter] = &[
    Parameter::Scalar("winWidth", Word::Int32),
    Parameter::Scalar("winHeight", Word::Int32),
    Parameter::Scalar("pictureWidth", Word::Int32),
    Parameter::Scalar("pictureHeight", Word::Int32),
];

pub(crate) static NATIVES: &[Native] = &[
    row("compareRGB_comparePicture", PICTURE, None, compare_rgb),
    row("compareRGB_init", &[], None, init_compare),
    row("compareYUV_comparePicture", PICTURE, None, compare_yuv),
    row("compareYUV_init", &[], None, init_compare),
    row("displayRGB444_displayPicture", PICTURE, None, show_rgb),
    row("displayRGB444_init", SIZES, None, nothing),
    row("displayRGB_displayPicture", PICTURE, None, show_rgb),
    row("displayRGB_displayRect", PICTURE, None, show_rgb),
    row("displayRGB_getEvent", &[], None, nothing),
    row("displayRGB_getFlags", &[], Some(Word::Uint8), flags),
    row("displayRGB_getNbFrames", &[], Some(Word::Int32), n_pictures),
    row("displayRGB_init", SIZES, None, nothing),
    row("displayYUV444_displayPicture", PICTURE, None, show_444),
    row("displayYUV444_init", SIZES, None, nothing),
    row("displayYUV_displayPicture", PICTURE, None, show_420),
    row("displayYUV_getEvent", &[], None, nothing),
    row("displayYUV_getFlags", &[], Some(Word::Uint8), flags),
    row("displayYUV_getNbFrames", &[], Some(Word::Int32), n_pictures),
    row("displayYUV_init", &[], None, nothing),
    row("fpsPrintInit", &[], None, nothing),
    row("fpsPrintNewPicDecoded", &[], None, nothing),
];

const fn row(name: &'static str, parameters: &'static [Parameter], result: Option<Word>, call: crate::Call) -> Native {
    Native { unit: "std.video.Display", name, parameters, result, call }
}

fn nothing(_: &mut Session, _: &mut dyn Host, _: &mut [Argument<'_>]) -> Result<i64, Stop> {
    Ok(0)
}

fn flags(_: &mut Session, _: &mut dyn Host, _: &mut [Argument<'_>]) -> Result<i64, Stop> {
    Ok(FLAGS)
}

fn n_pictures(_: &mut Session, host: &mut dyn Host, _: &mut [Argument<'_>]) -> Result<i64, Stop> {
    Ok(host.n_pictures().map_or(ALL_PICTURES, i64::from))
}

/// A program compares only when the user named a golden file.
fn init_compare(session: &mut Session, _: &mut dyn Host, _: &mut [Argument<'_>]) -> Result<i64, Stop> {
    session.golden_position = 0;
    session.pictures_compared = 0;
    Ok(0)
}

fn show_420(_: &mut Session, host: &mut dyn Host, arguments: &mut [Argument<'_>]) -> Result<i64, Stop> {
    show(host, arguments, Layout::Yuv420)
}

fn show_444(_: &mut Session, host: &mut dyn Host, arguments: &mut [Argument<'_>]) -> Result<i64, Stop> {
    show(host, arguments, Layout::Yuv444)
}

fn show_rgb(_: &mut Session, host: &mut dyn Host, arguments: &mut [Argument<'_>]) -> Result<i64, Stop> {
    show(host, arguments, Layout::Rgb)
}

/// Shows a picture of three planes, which its width and height come after.
fn show(host: &mut dyn Host, arguments: &mut [Argument<'_>], layout: Layout) -> Result<i64, Stop> {
    let (width, height) = (count(arguments, 3)?, count(arguments, 4)?);
    show_planes(host, arguments, layout, 0, width, height)
}

/// Shows a picture whose planes are the arguments from `first` on.
pub(crate) fn show_planes(
    host: &mut dyn Host,
    arguments: &mut [Argument<'_>],
    layout: Layout,
    first: usize,
    width: usize,
    height: usize,
) -> Result<i64, Stop> {
    let mut picture = Picture { width, height, layout, planes: [&[]; 3] };
    for (plane, argument) in arguments.iter().skip(first).take(layout.n_planes()).enumerate() {
        picture.planes[plane] = samples(argument, plane, &picture)?;
    }
    host.picture(&picture)?;
    Ok(0)
}

/// The samples of a plane, which lie at the beginning of a list.
fn samples<'s>(argument: &'s Argument<'_>, plane: usize, picture: &Picture<'_>) -> Result<&'s [u8], Stop> {
    let Argument::Bytes(list) = argument else {
        return Err(Stop::Error("a plane of a picture is not a list of bytes".to_owned()));
    };
    let (width, height) = picture.layout.plane(plane, picture.width, picture.height);
    let too_small = || {
        let (width, height) = (picture.width, picture.height);
        Stop::Error(format!("plane {plane} of a picture of {width}x{height} does not fit a list of {}", list.len()))
    };
    width.checked_mul(height).and_then(|size| list.get(..size)).ok_or_else(too_small)
}

fn compare_yuv(session: &mut Session, host: &mut dyn Host, arguments: &mut [Argument<'_>]) -> Result<i64, Stop> {
    compare_picture(session, host, arguments, Layout::Yuv420, ["Y", "U", "V"])
}

fn compare_rgb(session: &mut Session, host: &mut dyn Host, arguments: &mut [Argument<'_>]) -> Result<i64, Stop> {
    compare_picture(session, host, arguments, Layout::Rgb, ["R", "G", "B"])
}

fn compare_picture(
    session: &mut Session,
    host: &mut dyn Host,
    arguments: &mut [Argument<'_>],
    layout: Layout,
    names: [&str; 3],
) -> Result<i64, Stop> {
    if host.golden().is_err() {
        return Ok(0);
    }
    let (width, height) = (count(arguments, 3)?, count(arguments, 4)?);
    for (plane, name) in names.into_iter().enumerate() {
        let (row, rows) = layout.plane(plane, width, height);
        let list = bytes(arguments, plane)?;
        let Some(pixels) = row.checked_mul(rows).and_then(|size| list.get(..size)) else {
            return Err(Stop::Error(format!("a picture of {width}x{height} does not fit a list of {}", list.len())));
        };
        let picture = session.pictures_compared;
        compare::compare_at(session, host, pixels, &|at| {
            format!(" (picture {picture}, plane {name}, column {}, row {})", at % row.max(1), at / row.max(1))
        })?;
    }
    session.pictures_compared += 1;
    Ok(0)
}
