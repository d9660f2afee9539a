//! A watchdog that tells when an engine runs on and on without a token coming in or out.
//!
//! A network may run for ever on purpose, or because a loop in an action never ends. Neither is an error that could be told
//! from patience, so it is only told. Time spent waiting for whoever gives or takes tokens does not count.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often the watcher looks.
const LOOK: Duration = Duration::from_secs(1);

/// Looks that must find the engine in one and the same run before something is said.
const PATIENCE: u32 = 10;

/// Watches an engine; ends when dropped.
#[derive(Debug)]
pub struct Silence {
    watched: Arc<Watched>,
    watcher: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Watched {
    /// Odd while the engine runs; counts up at both ends of each run.
    runs: AtomicU64,
    over: AtomicBool,
}

impl Silence {
    /// Begins to watch; `say` is called once for each long run, from another thread, with how long it has lasted.
    pub fn watch(say: impl Fn(Duration) + Send + 'static) -> Self {
        Self::with(LOOK, say)
    }

    fn with(look: Duration, say: impl Fn(Duration) + Send + 'static) -> Self {
        let watched = Arc::new(Watched::default());
        let seen = Arc::clone(&watched);
        let watcher = std::thread::spawn(move || {
            let (mut last, mut looks) = (0, 0);
            while !seen.over.load(Ordering::Relaxed) {
                std::thread::park_timeout(look);
                let now = seen.runs.load(Ordering::Relaxed);
                looks = if now == last && now % 2 == 1 { looks + 1 } else { 0 };
                last = now;
                if looks == PATIENCE {
                    say(look * PATIENCE);
                }
            }
        });
        Self { watched, watcher: Some(watcher) }
    }

    /// To be called when the engine begins to run and when it returns.
    pub fn turn(&self) {
        self.watched.runs.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        self.watched.over.store(true, Ordering::Relaxed);
        if let Some(watcher) = self.watcher.take() {
            watcher.thread().unpark();
            // Only a panic in `say` could be reported here, and the panic hook has done so.
            let _ = watcher.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// What is said when the engine runs `turns` times in a row, `pause` each.
    fn said(turns: u32, pause: Duration) -> usize {
        let words = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&words);
        let silence = Silence::with(Duration::from_millis(20), move |word| {
            heard.lock().expect("no one panics").push(word);
        });
        for _ in 0..turns {
            silence.turn();
            std::thread::sleep(pause);
            silence.turn();
        }
        drop(silence);
        words.lock().expect("no one panics").len()
    }

    #[test]
    fn a_long_run_is_noticed_once_and_short_ones_are_not() {
        assert_eq!(said(1, Duration::from_millis(1500)), 1);
        assert_eq!(said(0, Duration::ZERO), 0);
        assert_eq!(said(2000, Duration::from_micros(200)), 0);
    }
}
