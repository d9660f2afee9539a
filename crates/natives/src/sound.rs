//! `std.audio.Audio` without a loudspeaker: samples go to the output file of `std.stdio.Writer`, where the user names one.

use crate::{Argument, Native, Parameter, Session, Stop, Word, scalar};
use headrace_engine::Host;

pub(crate) static NATIVES: &[Native] = &[
    row("audio_bufferFull", &[], Some(Word::Bool), nothing),
    row("audio_close", &[], None, nothing),
    row(
        "audio_initAudioFormat",
        &[
            Parameter::Scalar("SampleRate", Word::Uint32),
            Parameter::Scalar("SampleSizeInBits", Word::Uint32),
            Parameter::Scalar("Channels", Word::Uint32),
        ],
        None,
        nothing,
    ),
    row("audio_play", &[], None, nothing),
    row("audio_receive", &[Parameter::Scalar("data", Word::Uint8)], None, receive),
];

const fn row(name: &'static str, parameters: &'static [Parameter], result: Option<Word>, call: crate::Call) -> Native {
    Native { unit: "std.audio.Audio", name, parameters, result, call }
}

/// Also of a buffer: it is never full.
fn nothing(_: &mut Session, _: &mut dyn Host, _: &mut [Argument<'_>]) -> Result<i64, Stop> {
    Ok(0)
}

/// Without a file nobody listens, which is no error.
fn receive(_: &mut Session, host: &mut dyn Host, arguments: &mut [Argument<'_>]) -> Result<i64, Stop> {
    if host.has_writer() {
        host.writer_write(scalar(arguments, 0)? as u8)?;
    }
    Ok(0)
}
