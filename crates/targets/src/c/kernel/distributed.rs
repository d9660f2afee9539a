//! Loop distribution in C: a loop as two, one over iterations that are independent of each other and one over what is
//! carried.
//!
//! ```text
//! f_first(s, in0, out0, n);   f_rest(s, in0, out0, n);
//! ```
//!
//! strip by strip, so many iterations at a time that their tokens stay in the first-level cache.

use super::loop_frame::{CFunction, LoopNames, head};
use super::machine::Machine;
use super::modular::modular;
use super::sequential::sequential;
use super::strategy::print_best;
use super::words::NotApplicable;
use headrace_transform::kernel::{Evidence, Loop};
use headrace_transform::passes::distribute_recurrence::{self, distribute_recurrence};
use headrace_transform::passes::distribution::{self, distribute};
use headrace_transform::passes::extract_reductions::{self, extract_reductions};
use std::fmt::Write as _;

/// Bytes of tokens that both loops go over before the next ones: half of most first-level caches.
const CHUNK: u64 = 16 << 10;

/// Values of the first part from which on it is worth a loop of its own.
const FEWEST_NODES: usize = 64;

/// What both parts are held to.
const EVIDENCE: &[Evidence] = &[Evidence::Test {
    what: "loops distributed",
    test: "crates/targets/tests/kernel_loops.rs distributed_loops_do_what_loops_mean",
}];

/// Prints a loop as two.
///
/// # Errors
///
/// Where a loop cannot be distributed.
pub fn distributed(body: &Loop, machine: &Machine, names: &LoopNames) -> Result<CFunction, NotApplicable> {
    let parts = distribution::PASS
        .tried(|| distribute(body))
        .ok_or_else(|| NotApplicable("tokens need what goes on from iteration to iteration".into()))?;
    if parts.independent.needed().len() < FEWEST_NODES {
        return Err(NotApplicable("what need not wait is short".into()));
    }
    let recurrence = distribute_recurrence::PASS.tried(|| distribute_recurrence(body));
    if recurrence.is_some() || extract_reductions::PASS.tried(|| extract_reductions(body)).is_some() {
        return Err(NotApplicable(
            "what goes on from iteration to iteration need not be computed iteration after iteration".into(),
        ));
    }
    let (first_name, rest_name) = (format!("{}_first", names.function), format!("{}_rest", names.function));
    let (_, ahead) = print_best(&parts.independent, machine, &LoopNames { function: &first_name, ..*names });
    let rest_names = LoopNames { function: &rest_name, ..*names };
    let rest = modular(&parts.serial, machine, &rest_names).unwrap_or_else(|_| sequential(&parts.serial, &rest_names));
    let mut text = format!("{}\n{}\n", ahead.text, rest.text);
    text.push_str(&head(body, Some(machine), names));
    let of_ports = |ports: &[(u64, u32)], letter: &str| -> String {
        let used = ports.iter().enumerate().filter(|(_, port)| port.0 > 0);
        used.map(|(port, _)| format!(", {letter}{port}")).collect()
    };
    let n_inputs = body.consumes.len();
    let all = of_ports(&body.consumes, "in") + &of_ports(&body.produces, "out");
    let (read, made) = parts.serial.consumes.split_at(n_inputs);
    let (first, second) = (
        format!("{first_name}(s{all}, n_);"),
        format!("{rest_name}(s{}{}, n_);", of_ports(read, "in"), of_ports(made, "out")),
    );
    // What reads no tokens that are made comes before they take the place of others.
    let in_order = if parts.reads_output { [&first, &second] } else { [&second, &first] };
    let bytes = |ports: &[(u64, u32)]| ports.iter().map(|(n, width)| n * u64::from(width.div_ceil(8))).sum::<u64>();
    let most = (CHUNK / (bytes(&body.consumes) + bytes(&body.produces)).max(1)).max(1);
    let _ = writeln!(
        text,
        "  while (iterations != 0) {{\n    const size_t n_ = iterations < {most} ? iterations : {most};\n    {}\n    {}\n    iterations -= n_;",
        in_order[0], in_order[1]
    );
    for (letter, ports) in [("in", &body.consumes), ("out", &body.produces)] {
        for (port, (n, _)) in ports.iter().enumerate().filter(|(_, port)| port.0 > 0) {
            let _ = writeln!(text, "    {letter}{port} += n_ * {n};");
        }
    }
    text.push_str("  }\n}\n");
    let (cycles, size) = (ahead.cycles + rest.cycles, ahead.size + rest.size);
    let support = ahead.support.iter().chain(&rest.support).cloned().collect();
    let work = ahead.work.before(1.0, &rest.work);
    let function = CFunction { name: names.function.to_owned(), text, support, cycles, size, work, ..ahead };
    Ok(function.shown_by(rest.evidence).shown_by(EVIDENCE.iter().cloned()))
}
