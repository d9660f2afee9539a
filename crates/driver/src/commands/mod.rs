//! One file a command; here is what they share.

mod analyze;
mod bench;
mod build;
mod check;
mod completions;
mod convert;
mod demo;
mod doc;
mod explain;
mod format;
mod graph;
mod list;
mod man;
mod map;
mod natives;
mod prepare;
mod run;
mod seal;
mod summary;
mod synth;
mod test;
mod use_primitive;

use crate::cli::{Cli, Command};
use crate::failure::{self, Outcome};
use crate::output;
use crate::passphrase;
use crate::terminal::{Counts, Terminal};
use headrace::{Error, Remark, Settings, Workspace};
use headrace_engine::Trap;
use headrace_frontend::{Expanded, Node};
use headrace_ir::Network;
use headrace_library::catalog::Library;
use headrace_source::{Diagnostic, Label};
use std::cell::Cell;
use std::path::PathBuf;
use std::sync::Arc;

/// Exit status when the program itself is wrong; not one that a user's input is meant to bring about.
pub const INTERNAL_ERROR: u8 = 70;

/// The environment variable with the mebibytes that the variables of a network may take.
pub(crate) const STATE_MIB: &str = "HEADRACE_STATE_MIB";

/// What every command has at hand.
pub struct Context {
    /// Standard error.
    pub terminal: Terminal,
    /// Sources, and what was read of them.
    pub workspace: Workspace,
    /// Problems shown so far.
    counts: Cell<Counts>,
}

impl Context {
    /// Nothing shown yet.
    pub fn new(terminal: Terminal, workspace: Workspace) -> Self {
        Self { terminal, workspace, counts: Cell::default() }
    }

    /// Draws problems.
    pub fn show(&self, problems: &[Diagnostic]) {
        let new = self.terminal.show(self.workspace.sources(), problems);
        let old = self.counts.get();
        self.counts.set(Counts { errors: old.errors + new.errors, warnings: old.warnings + new.warnings });
    }

    /// True when an error was shown.
    pub fn has_errors(&self) -> bool {
        self.counts.get().errors > 0
    }

    /// Problems shown so far.
    pub fn counts(&self) -> Counts {
        self.counts.get()
    }

    /// Tells what the library has to say beside the results of what was asked of it.
    pub fn tell_remarks(&mut self) {
        let remarks = self.workspace.take_remarks();
        self.tell(remarks);
    }

    /// Tells remarks, one after the other.
    pub fn tell(&self, remarks: Vec<Remark>) {
        for remark in remarks {
            match remark {
                Remark::Failed(error) => {
                    if let Some(message) = failure::message(&self.shown(error)) {
                        self.terminal.error(&message);
                    }
                }
                Remark::Problems(problems) => self.show(&problems),
                Remark::Unreadable(why) => self.terminal.error(&why),
                Remark::Note(text) => self.terminal.note(&text),
            }
        }
    }

    /// What the library was asked for, with everything told that there is to say about it.
    pub fn told<T>(&mut self, result: Result<T, Error>) -> Outcome<T> {
        self.tell_remarks();
        result.map_err(|error| self.shown(error))
    }

    /// An error whose problems were drawn, where it has some.
    fn shown(&self, error: Error) -> Error {
        match error {
            Error::Sources(problems) if !problems.is_empty() => {
                self.show(&problems);
                self.terminal.say(&self.counts().describe());
            }
            Error::Sources(problems) | Error::Refused(problems) => self.show(&problems),
            error => return error,
        }
        Error::Told
    }

    /// A run-time error of a program, at its place.
    pub fn show_trap(&self, trap: &Trap) {
        let mut diagnostic =
            Diagnostic::error("", trap.message.clone()).note(format!("in instance {}, {}", trap.instance, trap.action));
        diagnostic.primary = trap.span.map(|span| Label { span, text: String::new() });
        self.show(&[diagnostic]);
    }

    /// Parameters as `--set` gives them.
    pub fn parameters(texts: &[String]) -> Outcome<Vec<(String, String)>> {
        texts
            .iter()
            .map(|text| match text.split_once('=') {
                Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_owned(), value.trim().to_owned())),
                _ => Err(Error::usage(format!("--set: `{}` is not of the form PARAM=VALUE", text.escape_debug()))),
            })
            .collect()
    }

    /// The flat network that NETWORK means, with problems shown.
    pub fn elaborate(&mut self, text: &str, parameters: &[String]) -> Outcome<Arc<Network>> {
        let network = self.workspace.network(text, &Self::parameters(parameters)?);
        self.told(network)
    }

    /// The hierarchy of what NETWORK means, with problems shown.
    pub fn hierarchy(&mut self, text: &str, parameters: &[String]) -> Outcome<Node> {
        let node = self.workspace.hierarchy(text, &Self::parameters(parameters)?);
        self.told(node)
    }

    /// The network that NETWORK means with nothing left to resolve, and the inner networks that it needs.
    pub fn expand(&mut self, text: &str, parameters: &[String]) -> Outcome<Vec<Expanded>> {
        let expanded = self.workspace.expand(text, &Self::parameters(parameters)?);
        self.told(expanded)
    }

    /// All manifests below the source roots, with problems shown.
    pub fn library(&mut self) -> Outcome<Library> {
        let library = self.workspace.library();
        self.told(library)
    }
}

/// What decides what names mean on a command line.
fn settings(cli: &Cli) -> Settings {
    let mebibytes = std::env::var(STATE_MIB).ok().and_then(|value| value.trim().parse::<u64>().ok());
    Settings {
        roots: cli.roots.clone(),
        library: library_folder(),
        orcc_widths: cli.orcc_widths,
        state_bytes: mebibytes.map(|mebibytes| mebibytes.saturating_mul(1 << 20)),
    }
}

/// Where this command is, unless it does not know.
fn itself() -> Option<PathBuf> {
    std::env::current_exe().ok()
}

/// The folder that the user wants in the place of the built-in library.
fn library_folder() -> Option<PathBuf> {
    std::env::var_os("HEADRACE_LIBRARY").filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Runs the command of a command line and returns the exit status.
pub fn dispatch(cli: Cli) -> u8 {
    let terminal = Terminal::new(cli.color);
    let context = &mut Context::new(terminal, Workspace::new(settings(&cli)));
    let outcome = match cli.command {
        Command::Check(arguments) => check::check(context, &arguments).map(|()| 0),
        Command::Run(arguments) => run::run(context, &arguments),
        Command::Use(arguments) => use_primitive::use_primitive(context, &arguments).map(|()| 0),
        Command::Seal(arguments) => seal::seal(context, &arguments).map(|()| 0),
        Command::Open(arguments) => seal::open(context, &arguments).map(|()| 0),
        Command::Prepare(arguments) => prepare::prepare(context, &arguments).map(|()| 0),
        Command::Test(arguments) => test::test(context, &arguments).map(|()| 0),
        Command::List(arguments) => list::list(context, &arguments).map(|()| 0),
        Command::Convert(arguments) => convert::convert(context, &arguments).map(|()| 0),
        Command::Fmt(arguments) => format::format(context, &arguments).map(|()| 0),
        Command::Graph(arguments) => graph::graph(context, &arguments).map(|()| 0),
        Command::Analyze(arguments) => analyze::analyze(context, &arguments).map(|()| 0),
        Command::Bench(arguments) => bench::bench(context, &arguments).map(|()| 0),
        Command::Map(arguments) => map::map(context, &arguments).map(|()| 0),
        Command::Synth(arguments) => synth::synth(context, &arguments).map(|()| 0),
        Command::Demo(arguments) => demo::demo(context, &arguments).map(|()| 0),
        Command::Doc(arguments) => doc::doc(context, &arguments).map(|()| 0),
        Command::Build(arguments) => build::build(context, &arguments).map(|()| 0),
        Command::Completions(arguments) => completions::completions(context, &arguments).map(|()| 0),
        Command::Explain(arguments) => explain::explain(context, &arguments).map(|()| 0),
        Command::Man(arguments) => man::man(&arguments).map(|()| 0),
    };
    // What was printed before a failure is seen, too.
    let flushed = output::flush_standard();
    match outcome.and_then(|status| flushed.map(|()| status)) {
        Ok(status) => status,
        Err(error) => {
            context.tell_remarks();
            let status = failure::status(&error);
            if let Some(message) = failure::message(&context.shown(error)) {
                terminal.error(&message);
            }
            status
        }
    }
}

/// When a signal ends the command, whoever sends it, what is half-written goes and what was printed is shown first. The exit
/// status is 128 and the number of the signal then, as shells have it.
#[cfg(unix)]
pub fn guard_against_interruption() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU};
    use signal_hook::iterator::Signals;
    headrace_private::processes::let_long_files_fail();
    // Without a handler the default action ends the command all the same; only temporary files with names stay.
    let ignored = ignored_signals();
    let wanted =
        [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
    let Ok(mut signals) = Signals::new(wanted) else { return };
    let guard = move || {
        if let Some(signal) = signals.forever().next() {
            passphrase::restore_terminal();
            headrace_private::processes::stop_all();
            output::remove_unfinished();
            output::flush_interrupted();
            std::process::exit(128 + signal);
        }
    };
    let _ = std::thread::Builder::new().name("signals".into()).spawn(guard);
}

/// The signals that whoever started the command wants ignored (`nohup`, a shell in the background), a bit each, the first
/// lowest; none where the system does not tell.
#[cfg(unix)]
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Where there are no signals, nothing is guarded against.
#[cfg(not(unix))]
pub fn guard_against_interruption() {}

/// Tells the user of a mistake in this program.
pub fn report_internal_error(what: &str) {
    eprintln!(
        "internal error: this is a mistake in headrace, not in your input\n{what}\n\
         Please report it with the command line, the input and these lines (headrace {}).",
        env!("CARGO_PKG_VERSION")
    );
    headrace_private::processes::stop_all();
    output::remove_unfinished();
}

/// Fails with status 1 when something was found that a message has been printed for.
pub fn fail_if(found: bool) -> Outcome {
    if found { Err(Error::Told) } else { Ok(()) }
}
