//! Child processes with a limit on their time and on what they say, in process groups that are ended whole.

use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How a process came to its end.
#[derive(Debug)]
pub enum Ended {
    /// By itself, or by a signal of somebody else.
    With(ExitStatus),
    /// It took too long and was stopped.
    TooLate,
    /// It said too much and was stopped.
    TooMuch,
    /// It cannot be told.
    Lost(io::Error),
}

impl Ended {
    /// Whether it ended well.
    pub fn is_success(&self) -> bool {
        matches!(self, Ended::With(status) if status.success())
    }
}

/// The processes that run now, each the first of a group of its own; `None` when there are to be no more.
static RUNNING: Mutex<Option<Vec<u32>>> = Mutex::new(Some(Vec::new()));

/// Runs a command until it ends, for so long at most and while its outputs, which go to `said`, have so many bytes at most.
/// What it started ends with it where it is stopped.
///
/// # Errors
///
/// Why it cannot be started.
pub fn run(command: &mut Command, said: &File, most_bytes: u64, limit: Duration) -> io::Result<Ended> {
    command.stderr(said.try_clone()?);
    run_quietly(command, said, most_bytes, limit)
}

/// Runs a command without an input, as [`run`] does, and gives what it said, on both outputs.
///
/// # Errors
///
/// Why it cannot be started.
pub fn output(command: &mut Command, most_bytes: u64, limit: Duration) -> io::Result<(Ended, String)> {
    let said = scratch()?;
    let ended = run(command.stdin(Stdio::null()), &said, most_bytes, limit)?;
    Ok((ended, text_of(said, most_bytes)?))
}

/// The first line that a command says of itself on standard output, where it ends well and in time.
pub fn first_line(command: &mut Command) -> Option<String> {
    let said = scratch().ok()?;
    command.stdin(Stdio::null()).stderr(Stdio::null());
    let ended = run_quietly(command, &said, MOST_OF_ITSELF, ANSWERING).ok()?;
    if !ended.is_success() {
        return None;
    }
    Some(text_of(said, MOST_OF_ITSELF).ok()?.lines().next().unwrap_or_default().trim().to_owned())
}

/// Time in which a compiler makes a program that is measured.
const COMPILING: Duration = Duration::from_secs(600);

/// Runs a compiler, and gives what it said, also where it failed.
///
/// # Errors
///
/// What it said, or why it was not started or was stopped.
pub fn compile(command: &mut Command) -> Result<String, String> {
    match output(command, MOST_OF_ITSELF, COMPILING) {
        Ok((ended, said)) if ended.is_success() => Ok(said),
        Ok((Ended::TooLate, _)) => Err(format!("it took more than {} s", COMPILING.as_secs())),
        Ok((_, said)) => Err(said),
        Err(error) => Err(crate::describe(&error)),
    }
}

/// Bytes that a command says of itself, at most.
const MOST_OF_ITSELF: u64 = 1 << 20;

/// Time in which a command says what it is, even on a busy machine.
pub const ANSWERING: Duration = Duration::from_secs(30);

/// A file without a name.
fn scratch() -> io::Result<File> {
    #[cfg(target_os = "linux")]
    if let Ok(file) = rustix::fs::memfd_create("headrace", rustix::fs::MemfdFlags::CLOEXEC) {
        return Ok(File::from(file));
    }
    tempfile::tempfile()
}

fn text_of(mut said: File, most_bytes: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    said.rewind()?;
    said.take(most_bytes).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn run_quietly(command: &mut Command, said: &File, most_bytes: u64, limit: Duration) -> io::Result<Ended> {
    command.stdout(said.try_clone()?).process_group(0);
    let mut child = {
        // Whoever stops all processes sees this one, or it does not start.
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(running) = running.as_mut() else {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "the command is interrupted"));
        };
        let child = command.spawn()?;
        running.push(child.id());
        child
    };
    let ended = wait(&mut child, said, most_bytes, limit);
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    running.iter_mut().for_each(|running| running.retain(|other| *other != child.id()));
    Ok(ended)
}

fn wait(child: &mut Child, said: &File, most_bytes: u64, limit: Duration) -> Ended {
    let began = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ended::With(status),
            Ok(None) => {}
            Err(error) => return Ended::Lost(error),
        }
        let too_much = said.metadata().is_ok_and(|about| about.len() > most_bytes);
        if too_much || began.elapsed() >= limit {
            stop(child.id());
            let _ = child.wait();
            return if too_much { Ended::TooMuch } else { Ended::TooLate };
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

/// Has writing beyond a limit on the size of files fail, in this process and those that it starts, in the place of ending them:
/// what was written is removed then, and what needs no files goes on.
pub fn let_long_files_fail() {
    // SAFETY: no function is installed.
    let _ =
        unsafe { nix::sys::signal::signal(nix::sys::signal::Signal::SIGXFSZ, nix::sys::signal::SigHandler::SigIgn) };
}

/// Ends a process that leads a group of its own, with what it started.
pub fn stop(group: u32) {
    if let Some(group) = i32::try_from(group).ok().and_then(Pid::from_raw) {
        // It may have ended by itself.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// Ends all processes that run, and lets no more start: for the one who interrupts the command.
pub fn stop_all() {
    let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner).take();
    running.into_iter().flatten().for_each(stop);
}
