//! A bar on a terminal for what takes longer than a second.

use crate::terminal::Terminal;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::{Duration, Instant};

/// When the bar appears.
const PATIENCE: Duration = Duration::from_secs(1);

/// Shows how far something is.
#[derive(Debug)]
pub struct Progress {
    began: Instant,
    total: u64,
    shown: bool,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Progress towards `total` bytes, or without an end when it is 0.
    pub fn new(terminal: Terminal, total: u64) -> Self {
        Self { began: Instant::now(), total, shown: terminal.interactive, bar: None }
    }

    /// Tells that so many bytes are done.
    pub fn tell(&mut self, done: u64) {
        if !self.shown || self.began.elapsed() < PATIENCE {
            return;
        }
        let total = self.total;
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target((total > 0).then_some(total), ProgressDrawTarget::stderr());
            let template = if total > 0 {
                "{wide_bar} {bytes} of {total_bytes}, {binary_bytes_per_sec}, {eta}"
            } else {
                "{spinner} {bytes}, {binary_bytes_per_sec}"
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
