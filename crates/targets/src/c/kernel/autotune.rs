//! Autotuning: variants are timed on the processor at hand. Loops on trial: programs that run a printed loop alone and
//! say how long its iterations take.
//!
//! What a loop costs is estimated from its words; which of two ways of printing it is faster on a processor, the
//! processor knows best.

use super::loop_frame::CFunction;
use super::machine::Needs;
use super::messages::Many;
use super::prelude::prelude;
use super::scalar::{element_type, tables};
use super::{LoopNames, Names};
use headrace_source::Span;
use headrace_transform::kernel::{Loop, Object, TableId};
use std::fmt::{Debug, Write as _};

/// Something that can run programs in C where they will be used.
pub trait Trials: Debug + Send + Sync {
    /// What `double headrace_trial(void)` of a source text returns; `None` where it cannot be compiled or run, or
    /// returns something negative.
    fn run(&self, source: &str) -> Option<f64>;
}

/// Names outside of a loop that stands alone: ports and elements by their numbers and names. The number tells the
/// tables of one loop from those of another.
pub struct Alone(pub usize);

impl Names for Alone {
    fn input(&self, port: u32, offset: i64) -> String {
        format!("in{port}[{offset}]")
    }
    fn output(&self, port: u32, offset: u64, value: &str) -> String {
        format!("out{port}[{offset}] = {value};")
    }
    fn element(&self, object: &Object, index: &str) -> String {
        format!("s->{}[{index}]", object.name)
    }
    fn check(&self, condition: &str, _index: &str, _length: usize, _span: Span) -> String {
        format!("if (!({condition})) return;")
    }
    fn table(&self, table: TableId) -> String {
        format!("table{}_{}", self.0, table.0)
    }
}

/// How a loop on trial is to be printed; the function may have another name.
pub const ON_TRIAL: LoopNames = LoopNames { function: "f", state: "struct s", names: &Alone(0) };

/// Bytes that the iterations of a trial take or make: those of a long message that stays in the nearest caches.
const BYTES: u64 = 16 << 10;

/// Iterations of a trial.
fn iterations_of(body: &Loop) -> u64 {
    let bits = |ports: &[(u64, u32)]| ports.iter().map(|&(tokens, width)| tokens * u64::from(width)).sum::<u64>();
    let most = bits(&body.consumes).max(bits(&body.produces)).max(1);
    (8 * BYTES / most).clamp(64, 1 << 16)
}

/// A source text whose `double headrace_trial(void)` returns the nanoseconds of an iteration, the least of many runs;
/// -1 where a processor does not have what it needs. The function has been printed with [`ON_TRIAL`].
pub fn trial(body: &Loop, printed: &CFunction, needs: &Needs) -> String {
    program(body, printed, needs, 1)
}

/// The same of a loop for many messages at once: the nanoseconds of an iteration of one of them.
pub fn trial_of_many(body: &Loop, many: &Many) -> String {
    program(body, &many.function, &many.needs, many.lanes)
}

fn program(body: &Loop, printed: &CFunction, needs: &Needs, messages: usize) -> String {
    let (n_iterations, supported) = (iterations_of(body).div_ceil(messages as u64), needs.condition());
    let mut text = format!("#define _POSIX_C_SOURCE 199309L\n#include <time.h>\n{}", prelude());
    printed.support.iter().for_each(|needed| text.push_str(needed.text()));
    text.push_str("struct s {\n");
    for object in &body.objects {
        let _ = writeln!(text, "    {} {}[{}];", element_type(object.width), object.name, object.length);
    }
    // A structure has members.
    text.push_str("    int unused;\n};\n");
    text.push_str(&tables(&body.graph, &body.roots(), &Alone(0)));
    text.push_str(&printed.text);
    let _ = writeln!(text, "\nstatic struct s on_trial[{messages}];");
    let function = &printed.name;
    let mut fill = String::new();
    let mut filled = |array: &str, n: u64, width: u32| {
        // A linear congruential generator modulo 2^64 (Knuth's MMIX constants); its upper bits are the arbitrary ones.
        let ty = element_type(width);
        let _ = write!(
            fill,
            "    for (size_t i = 0; i < {n}; i++) {{\n        arbitrary = arbitrary * 6364136223846793005u + 1442695040888963407u;\n        \
             {array}[i] = ({ty})(({ty})(arbitrary >> 24) & (({ty})-1 >> (8 * sizeof({ty}) - {width})));\n    }}\n"
        );
    };
    for object in &body.objects {
        for message in 0..messages {
            filled(&format!("on_trial[{message}].{}", object.name), object.length as u64, object.width);
        }
    }
    let mut arguments = vec![if messages > 1 { "states" } else { "on_trial" }.to_owned()];
    let mut pointers = String::new();
    if messages > 1 {
        let _ = write!(
            pointers,
            "    struct s *states[{messages}];\n    for (size_t i = 0; i < {messages}; i++) states[i] = &on_trial[i];\n"
        );
    }
    for (letter, ports) in [("in", &body.consumes), ("out", &body.produces)] {
        for (port, &(tokens, width)) in ports.iter().enumerate().filter(|(_, port)| port.0 > 0) {
            let (ty, name, n) = (element_type(width), format!("{letter}{port}"), tokens * n_iterations);
            let _ = writeln!(text, "static {ty} {name}[{messages}][{n}];");
            if letter == "in" {
                (0..messages).for_each(|message| filled(&format!("{name}[{message}]"), n, width));
            }
            if messages == 1 {
                arguments.push(format!("{name}[0]"));
                continue;
            }
            let constant = if letter == "in" { "const " } else { "" };
            let _ = write!(
                pointers,
                "    {constant}{ty} *of_{name}[{messages}];\n    for (size_t i = 0; i < {messages}; i++) of_{name}[i] = {name}[i];\n"
            );
            arguments.push(format!("of_{name}"));
        }
    }
    if messages > 1 {
        arguments.push(messages.to_string());
    }
    let arguments = arguments.join(", ");
    let _ = write!(
        text,
        "static double now(void)
{{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}}
double headrace_trial(void);
double headrace_trial(void)
{{
    const size_t iterations = {n_iterations};
    if (!({supported}))
        return -1;
    uint64_t arbitrary = 1;
{fill}{pointers}    double best = 1e300, start = now();
    for (int run = 0; run < 2000 && now() - start < 4e7; run++) {{
        double began = now();
        {function}({arguments}, iterations);
        double took = now() - began;
        best = took < best ? took : best;
    }}
    return best / (double)iterations / {messages};
}}
"
    );
    text
}
