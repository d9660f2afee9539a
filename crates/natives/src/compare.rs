//! `std.util.Compare`: output held against a golden file. The first difference is told and ends the program.

use crate::{Argument, Native, Parameter, Session, Stop, Word, bytes, count, scalar};
use headrace_engine::Host;

pub(crate) static NATIVES: &[Native] = &[
    row("compare_NBytes", &[Parameter::Bytes("bytes"), Parameter::Scalar("n", Word::Uint32)], compare_bytes),
    row(
        "compare_NBytesNext",
        &[Parameter::Bytes("bytes"), Parameter::Scalar("n", Word::Uint32), Parameter::Scalar("label", Word::Uint8)],
        find_bytes,
    ),
    row("compare_byte", &[Parameter::Scalar("byte", Word::Uint8)], compare_byte),
    row("compare_close", &[], nothing),
    row("compare_init", &[], init),
    row("compare_readByte", &[Parameter::Scalar("byte", Word::Uint8)], compare_byte),
];

const fn row(name: &'static str, parameters: &'static [Parameter], call: crate::Call) -> Native {
    Native { unit: "std.util.Compare", name, parameters, result: None, call }
}

fn init(session: &mut Session, host: &mut dyn Host, _: &mut [Argument<'_>]) -> Result<i64, Stop> {
    host.golden()?;
    session.golden_position = 0;
    Ok(0)
}

fn nothing(_: &mut Session, _: &mut dyn Host, _: &mut [Argument<'_>]) -> Result<i64, Stop> {
    Ok(0)
}

fn compare_byte(session: &mut Session, host: &mut dyn Host, arguments: &mut [Argument<'_>]) -> Result<i64, Stop> {
    let byte = scalar(arguments, 0)? as u8;
    compare(session, host, &[byte])
}

fn compare_bytes(session: &mut Session, host: &mut dyn Host, arguments: &mut [Argument<'_>]) -> Result<i64, Stop> {
    let n = count(arguments, 1)?;
    compare(session, host, first(bytes(arguments, 0)?, n)?)
}

/// Goes through the golden file in steps of `n` bytes until they are equal.
fn find_bytes(session: &mut Session, host: &mut dyn Host, arguments: &mut [Argument<'_>]) -> Result<i64, Stop> {
    let n = count(arguments, 1)?;
    let label = scalar(arguments, 2)?;
    let wanted = first(bytes(arguments, 0)?, n)?.to_vec();
    if n == 0 {
        return Ok(0);
    }
    loop {
        let golden = host.golden()?.get(session.golden_position..).unwrap_or_default();
        let Some(there) = golden.get(..n) else {
            host.complain(&format!(
                "the golden file has no {n} bytes like these from byte {}",
                session.golden_position
            ));
            return Err(Stop::Exit(1));
        };
        let equal = there == wanted;
        session.golden_position += n;
        if equal {
            return Ok(0);
        }
        if label != 0 {
            host.print(format!("{label} \n").as_bytes());
        }
    }
}

fn first(list: &[u8], n: usize) -> Result<&[u8], Stop> {
    list.get(..n).ok_or_else(|| Stop::Error(format!("{n} bytes are wanted of a list of {}", list.len())))
}

/// Compares what comes next in the golden file.
fn compare(session: &mut Session, host: &mut dyn Host, bytes: &[u8]) -> Result<i64, Stop> {
    compare_at(session, host, bytes, &|_| String::new())
}

/// The same of bytes whose positions have a meaning, which is told where they differ.
pub(crate) fn compare_at(
    session: &mut Session,
    host: &mut dyn Host,
    bytes: &[u8],
    place: &dyn Fn(usize) -> String,
) -> Result<i64, Stop> {
    let position = session.golden_position;
    let golden = host.golden()?.get(position..).unwrap_or_default();
    if golden.starts_with(bytes) {
        session.golden_position += bytes.len();
        return Ok(0);
    }
    let difference = bytes.iter().zip(golden).position(|(ours, theirs)| ours != theirs);
    let message = match difference {
        Some(at) => {
            let (ours, theirs, place) = (bytes[at], golden[at], place(at));
            format!("byte {} is 0x{ours:02x} and the golden file has 0x{theirs:02x}{place}", position + at)
        }
        None => format!("the golden file ends after {} bytes and more came", position + golden.len()),
    };
    host.complain(&message);
    Err(Stop::Exit(1))
}
