//! A bar on a terminal for what takes longer than a second, and elsewhere a line now and then for pieces of work.

use crate::terminal::Terminal;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::{Duration, Instant};

/// When the bar appears.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often a line is written where there is no terminal.
const BETWEEN_LINES: Duration = Duration::from_secs(30);

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes that have gone through.
    Bytes,
    /// Pieces of work.
    Steps,
}

/// Shows how far something is.
#[derive(Debug)]
pub struct Progress {
    began: Instant,
    total: u64,
    unit: Unit,
    terminal: Terminal,
    /// When a line was written last.
    line: Instant,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Progress towards `total`, or without an end when it is 0.
    pub fn new(terminal: Terminal, total: u64, unit: Unit) -> Self {
        let now = Instant::now();
        Self { began: now, total, unit, terminal, line: now, bar: None }
    }

    /// Tells that so much is done.
    pub fn tell(&mut self, done: u64) {
        if !self.terminal.interactive {
            if self.unit == Unit::Steps && done < self.total && self.line.elapsed() >= BETWEEN_LINES {
                self.line = Instant::now();
                self.terminal.note(&format!("{done} of {} done", self.total));
            }
            return;
        }
        if self.began.elapsed() < PATIENCE {
            return;
        }
        let (total, unit) = (self.total, self.unit);
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target((total > 0).then_some(total), ProgressDrawTarget::stderr());
            let template = match (unit, total > 0) {
                (Unit::Bytes, true) => "{wide_bar} {bytes} of {total_bytes}, {binary_bytes_per_sec}, {eta}",
                (Unit::Bytes, false) => "{spinner} {bytes}, {binary_bytes_per_sec}",
                (Unit::Steps, true) => "{wide_bar} {pos} of {len}, {eta}",
                (Unit::Steps, false) => "{spinner} {pos}",
            };
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            bar
        });
        bar.set_position(done.min(if total > 0 { total } else { u64::MAX }));
    }

    /// Removes the bar.
    pub fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}
