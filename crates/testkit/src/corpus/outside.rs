//! A process with limits: ended when it takes too long or too much memory, with what it said on standard error.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How often memory and time are looked at.
const PERIOD: Duration = Duration::from_millis(5);

/// Most of standard error that is kept, in bytes.
const MAX_SAID: u64 = 1 << 20;

/// What a process may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Time by the clock.
    pub time: Duration,
    /// Resident memory, in bytes; looked at every few milliseconds.
    pub memory: u64,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, with a status.
    Status(i32),
    /// By a signal that it brought about.
    Signal,
    /// It took too long.
    Time,
    /// It took too much memory.
    Memory,
}

/// What a process came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it ended.
    pub end: End,
    /// Standard error.
    pub said: String,
    /// The most resident memory that was seen, in bytes.
    pub memory: u64,
}

/// Runs a command with nothing on standard input; standard output is dropped.
///
/// # Errors
/// It cannot be started.
pub fn run(command: &mut Command, limits: Limits) -> std::io::Result<Outcome> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    // With what it starts itself it is a group of its own, which ends as a whole.
    let mut process = std::os::unix::process::CommandExt::process_group(command, 0).spawn()?;
    let stderr = process.stderr.take();
    let said = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stderr) = stderr {
            // What does not fit is read and dropped, or the process would wait for ever.
            let _ = stderr.by_ref().take(MAX_SAID).read_to_end(&mut bytes);
            let _ = std::io::copy(&mut stderr, &mut std::io::sink());
        }
        String::from_utf8_lossy(&bytes).into_owned()
    });
    let began = Instant::now();
    let mut memory = 0;
    let end = loop {
        if let Some(status) = process.try_wait()? {
            break status.code().map_or(End::Signal, End::Status);
        }
        memory = memory.max(resident(process.id()));
        let over = match (began.elapsed() > limits.time, memory > limits.memory) {
            (true, _) => End::Time,
            (_, true) => End::Memory,
            _ => {
                std::thread::sleep(PERIOD);
                continue;
            }
        };
        headrace_private::processes::stop(process.id());
        process.wait()?;
        break over;
    };
    Ok(Outcome { end, said: said.join().unwrap_or_default(), memory })
}

/// The most resident memory that a process had so far, in bytes; 0 where the system does not say.
fn resident(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix("kB")).and_then(|kib| kib.trim().parse::<u64>().ok()).unwrap_or(0)
        * 1024
}

/// Says how far something is, where somebody may watch.
pub fn progress(text: &str) {
    // Nobody may read it.
    let _ = writeln!(std::io::stderr(), "{text}");
}

#[cfg(test)]
mod tests {
    use super::{End, Limits, run};
    use std::process::Command;
    use std::time::Duration;

    const LIMITS: Limits = Limits { time: Duration::from_secs(60), memory: 1 << 30 };

    #[test]
    fn what_ends_by_itself_is_told_from_what_does_not() {
        let shell = |script: &str, limits| run(Command::new("sh").args(["-c", script]), limits).expect("it starts");
        let done = shell("echo why >&2; exit 3", LIMITS);
        assert_eq!((done.end, done.said.as_str()), (End::Status(3), "why\n"));
        assert_eq!(shell("kill -9 $$", LIMITS).end, End::Signal);
        assert_eq!(shell("sleep 600", Limits { time: Duration::from_millis(30), ..LIMITS }).end, End::Time);
        assert_eq!(shell("sleep 600", Limits { memory: 1, ..LIMITS }).end, End::Memory);
    }
}
