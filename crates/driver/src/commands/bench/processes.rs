//! Whole processes that take turns: ours and that of another tool, by time on the wall. What `command` and `tls` share.

use crate::failure::Outcome;
use headrace_bench::contest::Times;
use headrace_bench::cycles;
use headrace_bench::machine::version_of;
use headrace_bench::measure::{median, speed_ratio};
use headrace_bench::results::{Row, Status, Subject, Verdict};

/// What two processes do.
#[derive(Clone, Debug)]
pub struct Job {
    /// The row that it belongs to.
    pub row: &'static str,
    /// What is measured, apart from who does it.
    pub subject: Subject,
    /// What the other tool is called, with its version.
    pub other: String,
    /// What must be reached and should be, in speeds of the other.
    pub wanted: (f64, f64),
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    ours: Times,
    theirs: Times,
}

/// The version of `openssl`; `None` where it is not there.
pub fn openssl() -> Option<String> {
    let version = version_of("openssl")?;
    Some(version.split(" (Library").next().unwrap_or_default().to_owned())
}

/// Lets both run so many times. `run` gives seconds; its operand says whether it is ours that runs.
pub fn take_turns(pairs: u32, mut run: impl FnMut(bool) -> Outcome<f64>) -> Outcome<Turns> {
    let mut turns = Turns::default();
    let hertz = cycles::hertz();
    for _ in 0..pairs {
        for is_ours in [true, false] {
            let seconds = run(is_ours)?;
            let times = if is_ours { &mut turns.ours } else { &mut turns.theirs };
            times.seconds.push(seconds);
            times.cycles.push(seconds * hertz);
        }
    }
    Ok(turns)
}

impl Turns {
    /// Of two that took turns elsewhere.
    pub fn of(ours: Times, theirs: Times) -> Self {
        Self { ours, theirs }
    }
}

impl Job {
    /// A row of each.
    pub fn rows(&self, turns: &Turns) -> [Row; 2] {
        let row = |implementation: &str, times: &Times| {
            let subject = Subject { implementation: implementation.to_owned(), ..self.subject.clone() };
            Row::of_times(subject, times, 1)
        };
        [row(&self.subject.implementation, &turns.ours), row(&self.other, &turns.theirs)]
    }

    /// What is said of it where it was not measured, and why.
    pub fn not_measured(&self, why: &str) -> Verdict {
        let (must, goal) = self.wanted;
        Verdict {
            row: self.row.into(),
            primitive: self.subject.primitive.clone(),
            operation: self.subject.operation.clone(),
            variant: self.subject.variant.clone(),
            bytes: self.subject.bytes,
            streams: 1,
            pieces: 0,
            ours: None,
            other: self.other.clone(),
            others: None,
            ratio: None,
            must: format!("≥ {must:.2} × the other"),
            goal: format!("≥ {goal:.2} × the other"),
            status: Status::NotMeasured,
            note: why.to_owned(),
        }
    }

    /// What is said of it: the median of the pairs' ratios counts.
    pub fn verdict(&self, turns: &Turns) -> Verdict {
        let per_byte = |times: &Times| median(&times.cycles) / self.subject.bytes as f64;
        let milliseconds = |times: &Times| median(&times.seconds) * 1e3;
        let ratio = speed_ratio(&turns.ours.seconds, &turns.theirs.seconds);
        Verdict {
            ours: Some(per_byte(&turns.ours)),
            others: Some(per_byte(&turns.theirs)),
            ratio: Some(ratio),
            status: Status::of_ratio(ratio, self.wanted.0, self.wanted.1),
            ..self.not_measured(&format!(
                "{:.1} ms and {:.1} ms",
                milliseconds(&turns.ours),
                milliseconds(&turns.theirs)
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_as_fast_as_the_other_reaches_what_it_must() {
        let subject = Subject { primitive: "x".into(), bytes: 1 << 30, ..Subject::default() };
        let job = Job { row: "row", subject, other: "other".into(), wanted: (1.0, 2.0) };
        let judged = |ours: f64, theirs: f64| {
            let turns = take_turns(3, |is_ours| Ok(if is_ours { ours } else { theirs }));
            job.verdict(&turns.expect("both run")).status
        };
        assert_eq!(
            [judged(1.1, 1.0), judged(1.0, 1.0), judged(1.0, 2.0)],
            [Status::Missed, Status::Must, Status::Goal]
        );
        assert_eq!(job.not_measured("why").status, Status::NotMeasured);
    }
}
