//! `std.stdio.Writer`: the output file.

use crate::{Argument, Native, Parameter, Session, Stop, Word, scalar};
use headrace_engine::Host;

pub(crate) static NATIVES: &[Native] = &[
    Native { unit: "std.stdio.Writer", name: "Writer_close", parameters: &[], result: None, call: nothing },
    Native { unit: "std.stdio.Writer", name: "Writer_init", parameters: &[], result: None, call: nothing },
    Native {
        unit: "std.stdio.Writer",
        name: "Writer_write",
        parameters: &[Parameter::Scalar("byte", Word::Uint8)],
        result: None,
        call: write,
    },
];

/// The host opens the file at the first byte and closes it at the end.
fn nothing(_: &mut Session, _: &mut dyn Host, _: &mut [Argument<'_>]) -> Result<i64, Stop> {
    Ok(0)
}

fn write(_: &mut Session, host: &mut dyn Host, arguments: &mut [Argument<'_>]) -> Result<i64, Stop> {
    host.writer_write(scalar(arguments, 0)? as u8)?;
    Ok(0)
}
