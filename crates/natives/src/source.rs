//! `std.stdio.Source`: the input file, byte by byte, as often as the user asked for.

use crate::{Argument, Native, Parameter, Session, Stop, Word, bytes, count, scalar};
use headrace_engine::Host;

/// What `source_getNbLoop` says when the input is to be read without end: programs count down from it.
const WITHOUT_END: i64 = i32::MAX as i64;

pub(crate) static NATIVES: &[Native] = &[
    row("source_close", &[], None, nothing),
    row("source_decrementNbLoops", &[], None, decrement_loops),
    row("source_exit", &[Parameter::Scalar("status", Word::Int32)], None, exit),
    row("source_getNbLoop", &[], Some(Word::Uint32), loops),
    row("source_init", &[], None, init),
    row("source_isMaxLoopsReached", &[], Some(Word::Bool), is_last_loop_done),
    row("source_readByte", &[], Some(Word::Uint8), read_byte),
    row("source_readNBytes", &[Parameter::Room("out"), Parameter::Scalar("n", Word::Uint32)], None, read_bytes),
    row("source_rewind", &[], None, rewind),
    row("source_sizeOfFile", &[], Some(Word::Int32), size),
];

const fn row(name: &'static str, parameters: &'static [Parameter], result: Option<Word>, call: crate::Call) -> Native {
    Native { unit: "std.stdio.Source", name, parameters, result, call }
}

fn init(session: &mut Session, host: &mut dyn Host, _: &mut [Argument<'_>]) -> Result<i64, Stop> {
    host.source()?;
    session.source_position = 0;
    session.source_loops_done = 0;
    Ok(0)
}

fn nothing(_: &mut Session, _: &mut dyn Host, _: &mut [Argument<'_>]) -> Result<i64, Stop> {
    Ok(0)
}

/// Past the end the file starts over, which is what endless programs expect.
fn read_byte(session: &mut Session, host: &mut dyn Host, _: &mut [Argument<'_>]) -> Result<i64, Stop> {
    let file = host.source()?;
    let at = if session.source_position < file.len() { session.source_position } else { 0 };
    let Some(&byte) = file.get(at) else {
        return Err(Stop::Error("the input file is empty".to_owned()));
    };
    session.source_position = at + 1;
    Ok(i64::from(byte))
}

fn read_bytes(session: &mut Session, host: &mut dyn Host, arguments: &mut [Argument<'_>]) -> Result<i64, Stop> {
    let n = count(arguments, 1)?;
    let out = bytes(arguments, 0)?;
    let room = out.len();
    let Some(out) = out.get_mut(..n) else {
        return Err(Stop::Error(format!("{n} bytes do not fit a list of {room}")));
    };
    let file = host.source()?;
    let rest = file.get(session.source_position..).unwrap_or_default();
    let Some(read) = rest.get(..n) else {
        return Err(Stop::Error(format!("{n} bytes are wanted of the input file, of which {} are left", rest.len())));
    };
    out.copy_from_slice(read);
    session.source_position += n;
    Ok(0)
}

fn size(_: &mut Session, host: &mut dyn Host, _: &mut [Argument<'_>]) -> Result<i64, Stop> {
    let length = host.source()?.len();
    match i32::try_from(length) {
        Ok(length) => Ok(i64::from(length)),
        Err(_) => Err(Stop::Error(format!("the input file has {length} bytes, more than `source_sizeOfFile` can say"))),
    }
}

fn rewind(session: &mut Session, _: &mut dyn Host, _: &mut [Argument<'_>]) -> Result<i64, Stop> {
    session.source_position = 0;
    Ok(0)
}

fn decrement_loops(session: &mut Session, _: &mut dyn Host, _: &mut [Argument<'_>]) -> Result<i64, Stop> {
    session.source_loops_done = session.source_loops_done.saturating_add(1);
    Ok(0)
}

fn is_last_loop_done(session: &mut Session, host: &mut dyn Host, _: &mut [Argument<'_>]) -> Result<i64, Stop> {
    let loops = host.source_loops();
    Ok(i64::from(loops != 0 && session.source_loops_done >= loops))
}

fn loops(_: &mut Session, host: &mut dyn Host, _: &mut [Argument<'_>]) -> Result<i64, Stop> {
    Ok(match host.source_loops() {
        0 => WITHOUT_END,
        loops => i64::from(loops),
    })
}

fn exit(_: &mut Session, _: &mut dyn Host, arguments: &mut [Argument<'_>]) -> Result<i64, Stop> {
    Err(Stop::Exit(scalar(arguments, 0)? as i32))
}
