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
mod natives;
mod prepare;
mod run;
mod seal;
mod summary;
mod synth;
mod test;
mod use_primitive;

use crate::cli::{Cli, Command};
use crate::failure::{Failure, Outcome, Status};
use crate::output;
use crate::passphrase;
use crate::roots::{Roots, is_manifest, kind_of, read_source};
use crate::terminal::{Counts, Terminal};
use headrace_engine::Trap;
use headrace_frontend::{Expanded, Node, Session, SourceText, Top};
use headrace_ir::Network;
use headrace_library::catalog::Library;
use headrace_source::{Diagnostic, Label, Severity};
use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;

/// Exit status when the program itself is wrong; not one that a user's input is meant to bring about.
pub const INTERNAL_ERROR: u8 = 70;

/// The environment variable with the mebibytes that the variables of a network may take.
pub(crate) const STATE_MIB: &str = "HEADRACE_STATE_MIB";

/// What every command has at hand.
pub struct Context {
    /// Standard error.
    pub terminal: Terminal,
    /// Source roots.
    pub roots: Roots,
    /// What the front end has read.
    pub session: Session,
    /// Problems shown so far.
    counts: Cell<Counts>,
}

impl Context {
    /// Nothing read yet.
    pub fn new(terminal: Terminal, roots: Roots) -> Self {
        let mut session = Session::new();
        if let Some(mebibytes) = std::env::var(STATE_MIB).ok().and_then(|value| value.trim().parse::<u64>().ok()) {
            session.set_state_bytes(mebibytes.saturating_mul(1 << 20));
        }
        Self { terminal, roots, session, counts: Cell::default() }
    }

    /// Draws problems.
    pub fn show(&self, problems: &[Diagnostic]) {
        let new = self.terminal.show(&self.session.sources, problems);
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

    /// A problem of the command line, which has no place in a source.
    pub fn usage(&self, problem: &Diagnostic) -> Failure {
        let lines = std::iter::once(&problem.message).chain(&problem.notes).chain(&problem.help);
        Failure::usage(lines.map(String::as_str).collect::<Vec<_>>().join("\n  "))
    }

    /// A run-time error of a program, at its place.
    pub fn show_trap(&self, trap: &Trap) {
        let mut diagnostic =
            Diagnostic::error("", trap.message.clone()).note(format!("in instance {}, {}", trap.instance, trap.action));
        diagnostic.primary = trap.span.map(|span| Label { span, text: String::new() });
        self.show(&[diagnostic]);
    }

    /// What NETWORK on the command line means.
    pub fn top(&mut self, text: &str) -> Outcome<Top> {
        let path = Path::new(text);
        if text.contains('(') && !path.exists() {
            return Ok(Top::Expression(text.to_owned()));
        }
        if let Some(kind) = kind_of(path).filter(|_| path.exists() || !self.roots.knows(text)) {
            return self.top_of_file(path, kind);
        }
        if !text.contains('.') && !self.roots.knows(text) {
            match self.roots.named(text).as_slice() {
                [] => {}
                [one] => return Ok(Top::Name(one.clone())),
                several => {
                    let several = several.join(", ");
                    return Err(Failure::usage(format!("`{}` may mean {several}", text.escape_debug())));
                }
            }
        }
        Ok(Top::Name(text.to_owned()))
    }

    /// The entity in a file.
    pub fn top_of_file(&mut self, path: &Path, kind: headrace_frontend::SourceKind) -> Outcome<Top> {
        let text = read_source(path).map_err(Failure::wrong)?;
        Ok(match self.roots.adopt(path, &text, kind) {
            Some(name) => Top::Name(name),
            None => Top::Source(SourceText { display: path.display().to_string(), text, kind }, None),
        })
    }

    /// Parameters as `--set` gives them.
    pub fn parameters(texts: &[String]) -> Outcome<Vec<(String, String)>> {
        texts
            .iter()
            .map(|text| match text.split_once('=') {
                Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_owned(), value.trim().to_owned())),
                _ => Err(Failure::usage(format!("--set: `{}` is not of the form PARAM=VALUE", text.escape_debug()))),
            })
            .collect()
    }

    /// The flat network that NETWORK means, with problems shown.
    pub fn elaborate(&mut self, text: &str, parameters: &[String]) -> Outcome<Arc<Network>> {
        let parameters = Self::parameters(parameters)?;
        let top = self.top(text)?;
        let network = headrace_frontend::elaborate(&mut self.session, &self.roots, &top, &parameters);
        self.show_found()?;
        network.map(Arc::new).ok_or_else(Failure::said)
    }

    /// The hierarchy of what NETWORK means, with problems shown.
    pub fn hierarchy(&mut self, text: &str, parameters: &[String]) -> Outcome<Node> {
        let parameters = Self::parameters(parameters)?;
        let top = self.top(text)?;
        let node = headrace_frontend::hierarchy(&mut self.session, &self.roots, &top, &parameters);
        self.show_found()?;
        node.ok_or_else(Failure::said)
    }

    /// The network that NETWORK means with nothing left to resolve, and the inner networks that it needs.
    pub fn expand(&mut self, text: &str, parameters: &[String]) -> Outcome<Vec<Expanded>> {
        let parameters = Self::parameters(parameters)?;
        let top = self.top(text)?;
        let expanded = headrace_frontend::expand(&mut self.session, &self.roots, &top, &parameters);
        self.show_found()?;
        expanded.ok_or_else(|| Failure::wrong(format!("`{}` is not a network", text.escape_debug())))
    }

    /// Shows what the front end found and fails if there were errors. Warnings about the built-in library are for
    /// those who check it.
    fn show_found(&mut self) -> Outcome {
        let mut found = self.session.take_diagnostics();
        found.retain(|diagnostic| {
            let name = diagnostic.primary.as_ref().map_or("", |label| self.session.sources.name(label.span.file));
            diagnostic.severity == Severity::Error || !name.starts_with(crate::roots::BUILT_IN)
        });
        self.show(&found);
        let counts = self.counts();
        if found.iter().any(|diagnostic| diagnostic.severity == Severity::Error) {
            self.terminal.say(&counts.describe());
            return Err(Failure::said());
        }
        Ok(())
    }

    /// All manifests below the source roots, with problems shown.
    pub fn library(&mut self) -> Outcome<Library> {
        let texts = self.roots.texts(is_manifest, &["toml"]);
        let mut files = Vec::new();
        for (path, display, text) in texts {
            let id = self.session.sources.add(display, text.map_err(Failure::wrong)?);
            files.push((id, path));
        }
        let sources = &self.session.sources;
        let (library, problems) = Library::load(files.iter().map(|(id, path)| (*id, path.as_str(), sources.text(*id))));
        self.show(&problems);
        if self.has_errors() {
            self.terminal.say(&self.counts().describe());
            return Err(Failure::said());
        }
        Ok(library)
    }
}

/// Runs the command of a command line and returns the exit status.
pub fn dispatch(cli: Cli) -> u8 {
    let terminal = Terminal::new(cli.color);
    let mut context = Context::new(terminal, Roots::new(&cli.roots));
    context.session.orcc_widths = cli.orcc_widths;
    let context = &mut context;
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
        Err(failure) => {
            if !failure.message.is_empty() {
                terminal.error(&failure.message);
            }
            failure.status as u8
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
    if found { Err(Failure { status: Status::Wrong, message: String::new() }) } else { Ok(()) }
}
