//! Diagnostics of runs: deadlocks and run-time errors in words.

use headrace_engine::Report;
use std::fmt::Write as _;

/// Most lines of a kind that are shown.
const MAX_LINES: usize = 40;

fn tokens(n: u64) -> String {
    if n == 1 { "1 token".into() } else { format!("{n} tokens") }
}

/// The report of a run that stopped: every action that could be next, and every FIFO that is not empty.
pub fn report(report: &Report) -> String {
    let mut text = String::from("nothing can fire; what waits for what:\n");
    lines(&mut text, report.waits.iter().map(ToString::to_string));
    if !report.leftovers.is_empty() {
        text.push_str("tokens left over:\n");
        lines(&mut text, leftovers(report));
    }
    text.pop();
    text
}

/// The FIFOs that are not empty, a line each.
pub fn leftovers(report: &Report) -> impl Iterator<Item = String> {
    report.leftovers.iter().map(|left| {
        format!("{} --> {}: {} (room for {})", left.source, left.target, tokens(left.tokens), left.capacity)
    })
}

fn lines(text: &mut String, lines: impl Iterator<Item = String>) {
    let mut more = 0;
    for (at, line) in lines.enumerate() {
        if at < MAX_LINES {
            let _ = writeln!(text, "  {line}");
        } else {
            more += 1;
        }
    }
    if more > 0 {
        let _ = writeln!(text, "  … and {more} more");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headrace_engine::{Blocked, Leftover, Wait};

    #[test]
    fn a_report_names_actor_action_port_and_counts() {
        let wait = |blocked| Wait { instance: "mix".into(), state: "run".into(), action: "col".into(), blocked };
        let text = report(&Report {
            waits: vec![
                wait(Blocked::Tokens { port: "In".into(), needed: 4, there: 1 }),
                wait(Blocked::Room { port: "Out".into(), needed: 1, room: 0, reader: "key.In".into() }),
                wait(Blocked::Guard),
            ],
            leftovers: vec![Leftover { source: "a.X".into(), target: "b.Y".into(), tokens: 3, capacity: 8 }],
        });
        assert_eq!(
            text,
            "nothing can fire; what waits for what:\n  mix.col (state run) needs 4 tokens on In, 1 there\n  \
             mix.col (state run) needs room for 1 token on Out, whose reader key.In leaves room for 0\n  \
             mix.col (state run) has its tokens, but its guard does not hold\ntokens left over:\n  \
             a.X --> b.Y: 3 tokens (room for 8)"
        );
    }
}
