//! The engines by name: which there are, which can run here, and how one is started.

use crate::cli::EngineName;
use crate::commands::Context;
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use headrace_engine::Engine;
use headrace_interp::trace::{JsonLines, TraceSink, ValueChangeDump};
use headrace_interp::{Interpreter, Options, Order};
use headrace_ir::{DEFAULT_FIFO_TOKENS, Mapping, Network};
use headrace_native::{Batch, Compiler, NativeEngine, NativeError, Options as NativeOptions, Supplied};
use headrace_source::Diagnostic;
use headrace_xlim::XlimEngine;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// All engines, the one that judges the others first.
pub const ALL: [EngineName; 2] = [EngineName::Interp, EngineName::Native];

/// What the command line calls an engine.
pub fn name(engine: EngineName) -> &'static str {
    match engine {
        EngineName::Interp => "interp",
        EngineName::Native => "native",
    }
}

/// Whether an engine can run on this machine.
pub enum Available {
    /// Yes; with what.
    Here(String),
    /// No, for this reason.
    Missing(String),
}

/// Whether an engine can run on this machine. That a compiler is there says little: a program of a line is compiled and run.
pub fn availability(engine: EngineName) -> Available {
    match engine {
        EngineName::Interp => Available::Here("built in".into()),
        EngineName::Native => match Compiler::find() {
            Some(compiler) => match compiler.try_out() {
                Ok(()) => Available::Here(format!("{}: {}", compiler.name(), compiler.version)),
                Err(problem) => Available::Missing(first_line(&problem.to_string()).to_owned()),
            },
            None => Available::Missing(NativeError::NoCompiler.to_string()),
        },
    }
}

/// The first line of a message, which says what is the matter.
pub fn first_line(message: &str) -> &str {
    message.lines().next().unwrap_or_default()
}

/// The C compiler that is found first.
///
/// # Errors
///
/// There is none.
pub fn c_compiler() -> Outcome<Compiler> {
    Compiler::find().ok_or_else(|| Failure::missing("there is no C compiler: apt-get install gcc libc6-dev"))
}

/// How an engine is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The fastest that can run here.
    Best,
    /// This one.
    Named(EngineName),
}

/// Whether this choice comes to compiled code here.
pub fn is_native(choice: Choice) -> bool {
    match choice {
        Choice::Named(engine) => engine == EngineName::Native,
        Choice::Best => Compiler::find().is_some(),
    }
}

/// How an engine is started.
#[derive(Debug)]
pub struct Settings {
    /// Which one.
    pub choice: Choice,
    /// Capacity of FIFOs that ask for none, in tokens.
    pub fifo_tokens: u32,
    /// Firing order of the interpreter.
    pub order: Order,
    /// Where a trace goes.
    pub trace: Option<Output>,
    /// The instances whose firings it has, by position; `None`: all.
    pub traced: Option<Vec<bool>>,
    /// Whether the time of instances and how full FIFOs get is measured.
    pub profile: bool,
    /// Which instance runs on which thread, for the native engine.
    pub mapping: Option<Arc<Mapping>>,
    /// An index outside its list stands for the first element.
    pub lenient_indices: bool,
    /// Natives of the user.
    pub supplied: Option<Arc<Supplied>>,
}

impl Default for Settings {
    fn default() -> Self {
        let order = Order::RoundRobin;
        Self {
            choice: Choice::Best,
            fifo_tokens: DEFAULT_FIFO_TOKENS,
            order,
            trace: None,
            traced: None,
            profile: false,
            mapping: None,
            lenient_indices: false,
            supplied: None,
        }
    }
}

impl Settings {
    /// The engine that the user named, or the best.
    pub fn of(engine: Option<EngineName>) -> Self {
        Self { choice: engine.map_or(Choice::Best, Choice::Named), ..Self::default() }
    }
}

/// An engine that was started.
pub enum Machine {
    /// The interpreter.
    Interp(Box<Interpreter>, Option<SharedTrace>),
    /// Compiled code.
    Native(Box<NativeEngine>),
    /// What executes designs of XLIM.
    Xlim(Box<XlimEngine>),
}

impl Machine {
    /// What every engine offers.
    pub fn engine(&mut self) -> &mut dyn Engine {
        match self {
            Machine::Interp(interpreter, _) => interpreter.as_mut(),
            Machine::Native(native) => native.as_mut(),
            Machine::Xlim(xlim) => xlim.as_mut(),
        }
    }

    /// The same without what only this command knows of it.
    pub fn into_engine(self) -> Box<dyn Engine> {
        match self {
            Machine::Interp(interpreter, _) => interpreter,
            Machine::Native(native) => native,
            Machine::Xlim(xlim) => xlim,
        }
    }

    /// Threads that it runs on.
    pub fn threads(&self) -> usize {
        match self {
            Machine::Interp(..) | Machine::Xlim(_) => 1,
            Machine::Native(native) => native.threads(),
        }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Machine::Interp(..) => name(EngineName::Interp),
            Machine::Native(_) => name(EngineName::Native),
            Machine::Xlim(_) => "xlim",
        }
    }

    /// Completes the trace, if there is one, and makes it appear.
    pub fn finish_trace(&mut self) -> Outcome {
        if let Machine::Interp(interpreter, Some(trace)) = self {
            interpreter.finish_trace().map_err(|error| Failure::io("the trace", &error))?;
            trace.commit()?;
        }
        Ok(())
    }
}

/// Why an engine did not start.
pub enum NotStarted {
    /// The network is wrong.
    Wrong(Vec<Diagnostic>),
    /// A tool is missing.
    MissingTool(String),
    /// Something else went wrong.
    Failed(String),
    /// What is around does not let it: disk, temporary folders, time limits.
    Unable(String),
}

impl From<NativeError> for NotStarted {
    fn from(error: NativeError) -> Self {
        match error {
            NativeError::NoCompiler => NotStarted::MissingTool(error.to_string()),
            NativeError::Unsupported(diagnostics) => NotStarted::Wrong(diagnostics),
            NativeError::Failed(message) => NotStarted::Failed(message),
            NativeError::Unable(message) => NotStarted::Unable(message),
        }
    }
}

impl NotStarted {
    /// In one line.
    pub fn describe(&self) -> String {
        match self {
            NotStarted::Wrong(diagnostics) => crate::primitive::messages(diagnostics),
            NotStarted::MissingTool(message) | NotStarted::Failed(message) | NotStarted::Unable(message) => {
                message.clone()
            }
        }
    }
}

/// Who names compiled code hears what is in its way, and how it goes without.
pub fn needed(problem: &NotStarted) -> Failure {
    Failure::missing(format!("{}\n  `--engine interp` needs no C compiler", problem.describe()))
}

/// A network made ready for an engine, from which fresh engines come.
pub enum Factory {
    /// For the interpreter.
    Interp(Arc<Network>, u32),
    /// Compiled.
    Native(Arc<Network>, Box<Batch>),
}

impl Factory {
    /// Makes a network ready.
    pub fn new(engine: EngineName, network: &Arc<Network>, fifo_tokens: u32) -> Result<Self, NotStarted> {
        Ok(match engine {
            EngineName::Interp => Factory::Interp(network.clone(), fifo_tokens),
            EngineName::Native => {
                let options = NativeOptions { fifo_tokens, ..NativeOptions::default() };
                let batch = Batch::compile(&[("network", network.as_ref(), fifo_tokens)], &options)?;
                Factory::Native(network.clone(), Box::new(batch))
            }
        })
    }

    /// A fresh engine.
    pub fn engine(&self) -> Result<Box<dyn Engine>, NotStarted> {
        Ok(match self {
            Factory::Interp(network, fifo_tokens) => {
                let options = Options { fifo_tokens: *fifo_tokens, ..Options::default() };
                Box::new(Interpreter::new(network.clone(), options).map_err(NotStarted::Wrong)?)
            }
            Factory::Native(network, batch) => Box::new(batch.engine(0, network.clone())?),
        })
    }
}

/// Starts an engine for a network. `trace_path` decides the form of the trace.
pub fn start(context: &Context, network: &Arc<Network>, settings: Settings, trace_path: &Path) -> Outcome<Machine> {
    let engine = match settings.choice {
        Choice::Named(engine) => engine,
        Choice::Best if is_native(Choice::Best) => EngineName::Native,
        Choice::Best => {
            if std::env::var_os("CC").is_some_and(|named| !named.is_empty()) {
                context.terminal.note(&format!("this runs on the interpreter: {}", NativeError::NoCompiler));
            }
            EngineName::Interp
        }
    };
    let started = match engine {
        EngineName::Interp => start_interpreter(network, settings, trace_path)?,
        EngineName::Native => {
            // What is measured is what one thread does.
            let mapping = settings.mapping.clone().filter(|_| !settings.profile);
            let (fifo_tokens, profile) = (settings.fifo_tokens, settings.profile);
            let lenient_indices = settings.lenient_indices;
            let options = NativeOptions { fifo_tokens, profile, mapping, lenient_indices, ..NativeOptions::default() };
            context.terminal.status("compiling");
            let made = NativeEngine::new(network.clone(), &options);
            context.terminal.status("");
            match made.map_err(NotStarted::from) {
                Ok(mut native) => {
                    tell_what_is_not_kept(context, &native);
                    settings.supplied.clone().into_iter().for_each(|supplied| native.supply(supplied));
                    Ok(Machine::Native(Box::new(native)))
                }
                // Whoever did not ask for native code gets the engine that takes every program.
                Err(problem) if settings.choice == Choice::Best => {
                    let why = problem.describe();
                    context.terminal.note(&format!("this runs on the interpreter: {}", first_line(&why)));
                    start_interpreter(network, settings, trace_path)?
                }
                Err(problem) => Err(problem),
            }
        }
    };
    started.map_err(|problem| match problem {
        NotStarted::Wrong(diagnostics) => {
            context.show(&diagnostics);
            Failure::said()
        }
        problem => needed(&problem),
    })
}

/// Says why the next run has to compile again.
pub fn tell_what_is_not_kept(context: &Context, engine: &NativeEngine) {
    if let Some(why) = engine.not_kept() {
        context.terminal.note(&format!("compiled code is not kept for the next time: {why}"));
    }
}

fn start_interpreter(
    network: &Arc<Network>,
    settings: Settings,
    trace_path: &Path,
) -> Outcome<Result<Machine, NotStarted>> {
    let trace = settings.trace.map(|output| SharedTrace(Arc::new(Mutex::new(Some(output)))));
    let sink: Option<Box<dyn TraceSink>> = match &trace {
        None => None,
        Some(trace) => {
            let out = BufWriter::new(trace.clone());
            match trace_path.extension().and_then(|ending| ending.to_str()) {
                Some("vcd") => Some(Box::new(ValueChangeDump::new(out))),
                Some("json" | "jsonl") => Some(Box::new(JsonLines::new(out))),
                _ => return Err(Failure::usage("--trace: the file must end in .json, .jsonl or .vcd")),
            }
        }
    };
    let options = Options {
        fifo_tokens: settings.fifo_tokens,
        order: settings.order,
        trace: sink,
        traced: settings.traced,
        profile: settings.profile,
        lenient_indices: settings.lenient_indices,
        supplied: settings.supplied.map_or_else(Vec::new, |supplied| supplied.names()),
        ..Options::default()
    };
    let interpreter = Interpreter::new(network.clone(), options);
    Ok(interpreter.map(|interpreter| Machine::Interp(Box::new(interpreter), trace)).map_err(NotStarted::Wrong))
}

/// The file of a trace, held by the one who writes it and the one who makes it appear.
#[derive(Clone, Debug)]
pub struct SharedTrace(Arc<Mutex<Option<Output>>>);

impl SharedTrace {
    fn commit(&self) -> Outcome {
        let output = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        output.map_or(Ok(()), Output::commit)
    }
}

impl Write for SharedTrace {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut output = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match output.as_mut() {
            Some(output) => {
                output.write(bytes).map(|()| bytes.len()).map_err(|failure| io::Error::other(failure.message))
            }
            None => Err(io::Error::other("the trace is complete already")),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
