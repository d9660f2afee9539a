//! The period of a design as homogeneous synchronous dataflow with atomic tasks: a bound without words.
//!
//! Each task takes its cycles and begins when its processor is free and all that it needs is done; what a task gives is there
//! when it ends, links take no time, and merges cost nothing. The period is that of the event graph (its maximum cycle ratio;
//! Sriram and Bhattacharyya 2000, chapter 7), found by running the recurrences until they repeat. Words that go on before a
//! task ends make the array faster; links make it slower.

use crate::design::Design;
use crate::machine::Machine;
use crate::program::cost_of;
use crate::tasks::From;

/// Messages after which the period is taken.
const MESSAGES: usize = 64;

/// Cycles a message.
///
/// # Errors
///
/// There is no measured cost for a task, or the order of tasks on processors cannot be kept.
pub fn period(design: &Design, machine: &Machine) -> Result<f64, String> {
    let homes = design.homes();
    let tasks = &design.tasks.tasks;
    let mut cycles = Vec::new();
    for (task, &home) in tasks.iter().zip(&homes) {
        let cost = cost_of(design, machine, task)?;
        // Of a cost without a total, a word a cycle.
        let total = cost.cycles.unwrap_or(cost.before + cost.after + task.outputs.len() as u32);
        cycles.push(if design.cores[home].merges { 0 } else { u64::from(total) });
    }
    let in_flight = design.in_flight;
    let mut free = vec![0u64; design.cores.len()];
    let mut ends: Vec<u64> = Vec::new();
    for _ in 0..MESSAGES / in_flight.max(1) {
        // What each processor does next: its tasks, each for all messages in flight.
        let mut done: Vec<Vec<Option<u64>>> = vec![vec![None; in_flight]; tasks.len()];
        let mut next = vec![0usize; design.cores.len()];
        loop {
            let mut moved = false;
            for (core, at) in next.iter_mut().enumerate() {
                while let Some(task) = design.cores[core].tasks.get(*at / in_flight) {
                    let message = *at % in_flight;
                    let needs = tasks[task.index()].inputs.iter().filter_map(|wire| match wire.from {
                        From::Task(from) => Some(done[from.index()][message]),
                        From::Outside(_) => None,
                    });
                    let Some(ready) = needs.into_iter().try_fold(0, |latest, it| it.map(|it| it.max(latest))) else {
                        break;
                    };
                    let end = ready.max(free[core]) + cycles[task.index()];
                    done[task.index()][message] = Some(end);
                    free[core] = end;
                    *at += 1;
                    moved = true;
                }
            }
            if !moved {
                break;
            }
        }
        if next.iter().zip(&design.cores).any(|(at, core)| *at < core.tasks.len() * in_flight) {
            return Err("tasks on a processor wait for tasks behind them".into());
        }
        ends.push(done.iter().flatten().flatten().copied().max().unwrap_or(0));
    }
    let half = ends.len() / 2;
    Ok((ends[ends.len() - 1] - ends[half - 1]) as f64 / ((ends.len() - half) * in_flight) as f64)
}
