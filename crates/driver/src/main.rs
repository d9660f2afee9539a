//! The command `headrace`.

use clap::Parser;
use headrace_driver::cli::Cli;
use headrace_driver::commands;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Room for deep recursion, beyond what the depth limits of the parts need.
const STACK_BYTES: usize = 256 << 20;

fn main() -> ExitCode {
    let cli = Cli::parse();
    commands::guard_against_interruption();
    std::panic::set_hook(Box::new(|panic| commands::report_internal_error(&panic.to_string())));
    let worker = std::thread::Builder::new().name("headrace".into()).stack_size(STACK_BYTES);
    let running = worker.spawn(move || commands::dispatch(cli));
    match running.map(|thread| thread.join()) {
        Ok(Ok(status)) => ExitCode::from(status),
        // The hook has said what happened.
        Ok(Err(_)) => ExitCode::from(commands::INTERNAL_ERROR),
        Err(error) => {
            eprintln!("error: no thread could be started: {error}");
            ExitCode::from(1)
        }
    }
}
