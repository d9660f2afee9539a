//! From source to running code: how long it takes until the whole AES-CTR network has processed its first message, from
//! nothing: no cache, no tuning, the C compiler included.

use super::{Measured, ours, referee};
use crate::cli::BenchArgs;
use crate::commands::Context;
use crate::failure::Outcome;
use headrace::Error;
use headrace::engines::c_compiler;
use headrace_bench::contender::{Prepared, ROOM_BYTES};
use headrace_bench::contest::noise;
use headrace_bench::results::{Machine, Row, Status, Subject, Verdict};
use std::time::Instant;

/// What is compiled.
const SET: &str = "aes128";
/// See [`SET`].
const OPERATION: &str = "ctr";
/// Times that it is done; the fastest counts.
const RUNS: usize = 5;
/// Seconds that it may take, and that it should.
const MUST: f64 = 5.0;
/// See [`MUST`].
const GOAL: f64 = 1.0;

/// Measures with every compiler.
pub fn measure(context: &mut Context, arguments: &BenchArgs, _: &Machine) -> Outcome<Measured> {
    let compilers = match arguments.compilers.as_slice() {
        [] => vec![c_compiler()?.name()],
        named => named.to_vec(),
    };
    let rules = referee::rules()?;
    let strings = referee::strings(&rules, SET);
    let mut measured = Measured::default();
    for compiler in compilers {
        let mut seconds = Vec::new();
        let mut variant = String::new();
        let mut engine = String::new();
        for _ in 0..RUNS {
            let start = Instant::now();
            // Nothing that was read before is known to it.
            let mut fresh = Context::new(context.terminal, context.workspace.unread());
            let library = fresh.library()?;
            let spec = library.operation(SET, OPERATION);
            let spec = spec.ok_or_else(|| Error::wrong(format!("the library has no `{SET} {OPERATION}`")))?;
            let first = spec.variant(None).ok_or_else(|| Error::wrong("there is no variant"))?;
            let made = ours::compile(&mut fresh, spec, first, &ours::Build::native(&compiler))?;
            let message = noise(64, 3);
            let mut output = vec![0; 64 + ROOM_BYTES];
            let opened = Prepared::open(&made.object, &format!("{SET} {OPERATION}"), &strings);
            opened
                .and_then(|mut opened| opened.run(&message, &mut output))
                .ok_or_else(|| Error::wrong(format!("{SET} {OPERATION} fails")))?;
            seconds.push(start.elapsed().as_secs_f64());
            variant = made.variant.clone();
            engine = made.engine.clone();
        }
        let best = headrace_bench::measure::least(&seconds);
        let status = match best {
            best if best <= GOAL => Status::Goal,
            best if best <= MUST => Status::Must,
            _ => Status::Missed,
        };
        measured.verdicts.push(Verdict {
            row: "Compile time, source to running code, cold".into(),
            primitive: SET.into(),
            operation: OPERATION.into(),
            variant: format!("{variant}, {engine}"),
            bytes: 64,
            streams: 1,
            pieces: 0,
            ours: None,
            other: String::new(),
            others: None,
            ratio: None,
            must: format!("≤ {MUST} s"),
            goal: format!("≤ {GOAL} s"),
            status,
            note: format!("{best:.2} s"),
        });
        let subject = Subject {
            primitive: SET.into(),
            operation: format!("compile {OPERATION}"),
            variant,
            implementation: "headrace".into(),
            engine,
            // It is the whole that takes time, whatever the message has.
            bytes: 0,
            verified: None,
        };
        measured.rows.push(Row::new(subject, seconds, None));
    }
    Ok(measured)
}
