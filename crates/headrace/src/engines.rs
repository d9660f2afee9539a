//! The engines by name: which there are, which can run here, and how one is started.

use crate::codesign::{Clocked, Together};
use crate::error::{Error, Result};
use crate::primitive::messages;
use crate::workspace::{Remark, Workspace};
use headrace_engine::Engine;
use headrace_interp::trace::TraceSink;
use headrace_interp::{Interpreter, Options, Order};
use headrace_ir::{DEFAULT_FIFO_TOKENS, Mapping, Network};
use headrace_native::{Batch, Compiler, NativeEngine, NativeError, Options as NativeOptions, Supplied};
use headrace_source::Diagnostic;
use headrace_xlim::XlimEngine;
use std::sync::Arc;

/// An engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineName {
    /// The interpreter, which defines what a program means.
    Interp,
    /// Generated C, compiled on this machine by the compiler that `CC` names, or else is found on the path.
    Native,
}

/// All engines, the one that judges the others first.
pub const ALL: [EngineName; 2] = [EngineName::Interp, EngineName::Native];

/// What an engine is called.
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
pub fn c_compiler() -> Result<Compiler> {
    Compiler::find().ok_or_else(|| Error::MissingTool("there is no C compiler: apt-get install gcc libc6-dev".into()))
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
pub struct Settings {
    /// Which one.
    pub choice: Choice,
    /// Capacity of FIFOs that ask for none, in tokens.
    pub fifo_tokens: u32,
    /// Firing order of the interpreter.
    pub order: Order,
    /// Hears of every firing; of the interpreter.
    pub trace: Option<Box<dyn TraceSink>>,
    /// The instances whose firings it has, by position; `None`: all.
    pub traced: Option<Vec<bool>>,
    /// Whether the time of instances and how full FIFOs get is measured.
    pub profile: bool,
    /// Which instance runs on which thread, for the native engine.
    pub mapping: Option<Arc<Mapping>>,
    /// An index outside its list stands for the first element.
    pub lenient_indices: bool,
    /// Natives that the caller supplies.
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
    /// The engine that is named, or the best.
    pub fn of(engine: Option<EngineName>) -> Self {
        Self { choice: engine.map_or(Choice::Best, Choice::Named), ..Self::default() }
    }
}

/// An engine that was started.
pub enum Machine {
    /// The interpreter.
    Interp(Box<Interpreter>),
    /// Compiled code.
    Native(Box<NativeEngine>),
    /// What executes designs of XLIM.
    Xlim(Box<XlimEngine>),
    /// Parts in software and in hardware.
    Together(Box<Together>),
}

impl Machine {
    /// What every engine offers.
    pub fn engine(&mut self) -> &mut dyn Engine {
        match self {
            Machine::Interp(interpreter) => interpreter.as_mut(),
            Machine::Native(native) => native.as_mut(),
            Machine::Xlim(xlim) => xlim.as_mut(),
            Machine::Together(together) => together.as_mut(),
        }
    }

    /// The same to look at.
    pub fn shown(&self) -> &dyn Engine {
        match self {
            Machine::Interp(interpreter) => interpreter.as_ref(),
            Machine::Native(native) => native.as_ref(),
            Machine::Xlim(xlim) => xlim.as_ref(),
            Machine::Together(together) => together.as_ref(),
        }
    }

    /// What parts in hardware did so far.
    pub fn clocked(&self) -> Vec<Clocked> {
        if let Machine::Together(together) = self { together.clocked() } else { Vec::new() }
    }

    /// The same, owned.
    pub fn into_engine(self) -> Box<dyn Engine> {
        match self {
            Machine::Interp(interpreter) => interpreter,
            Machine::Native(native) => native,
            Machine::Xlim(xlim) => xlim,
            Machine::Together(together) => together,
        }
    }

    /// Threads that it runs on.
    pub fn threads(&self) -> usize {
        match self {
            Machine::Interp(_) | Machine::Xlim(_) | Machine::Together(_) => 1,
            Machine::Native(native) => native.threads(),
        }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Machine::Interp(_) => name(EngineName::Interp),
            Machine::Native(_) => name(EngineName::Native),
            Machine::Xlim(_) => "xlim",
            Machine::Together(_) => "codesign",
        }
    }

    /// Completes the trace, if there is one.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn finish_trace(&mut self) -> Result {
        match self {
            Machine::Interp(interpreter) => interpreter.finish_trace().map_err(|error| Error::io("the trace", &error)),
            Machine::Native(_) | Machine::Xlim(_) | Machine::Together(_) => Ok(()),
        }
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
            NotStarted::Wrong(diagnostics) => messages(diagnostics),
            NotStarted::MissingTool(message) | NotStarted::Failed(message) | NotStarted::Unable(message) => {
                message.clone()
            }
        }
    }
}

/// Who names compiled code hears what is in its way, and how it goes without.
pub fn needed(problem: &NotStarted) -> Error {
    Error::MissingTool(format!("{}\n  `--engine interp` needs no C compiler", problem.describe()))
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
    pub fn new(engine: EngineName, network: &Arc<Network>, fifo_tokens: u32) -> std::result::Result<Self, NotStarted> {
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
    pub fn engine(&self) -> std::result::Result<Box<dyn Engine>, NotStarted> {
        Ok(match self {
            Factory::Interp(network, fifo_tokens) => {
                let options = Options { fifo_tokens: *fifo_tokens, ..Options::default() };
                Box::new(Interpreter::new(network.clone(), options).map_err(NotStarted::Wrong)?)
            }
            Factory::Native(network, batch) => Box::new(batch.engine(0, network.clone())?),
        })
    }
}

/// Hears what takes long while it does; an empty text when it is over.
pub type Status<'a> = &'a mut dyn FnMut(&str);

impl Workspace {
    /// Starts an engine for a network.
    ///
    /// ```
    /// # fn main() -> headrace::Result {
    /// use headrace::engines::{EngineName, Settings};
    /// let mut workspace = headrace::Workspace::default();
    /// let network = workspace.network("ctl.parts.ascon.AsconP", &[])?;
    /// let machine = workspace.start(&network, Settings::of(Some(EngineName::Interp)), &mut |_| {})?;
    /// assert_eq!(machine.name(), "interp");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The engine that is named does not take the network, or cannot run here. Whoever asks for the best gets one that can.
    pub fn start(&mut self, network: &Arc<Network>, settings: Settings, status: Status<'_>) -> Result<Machine> {
        let engine = match settings.choice {
            Choice::Named(engine) => engine,
            Choice::Best if is_native(Choice::Best) => EngineName::Native,
            Choice::Best => {
                if Compiler::is_named() {
                    self.remark(Remark::Note(format!("this runs on the interpreter: {}", NativeError::NoCompiler)));
                }
                EngineName::Interp
            }
        };
        let started = match engine {
            EngineName::Interp => start_interpreter(network, settings),
            EngineName::Native => {
                status("compiling");
                let made = start_native(network, &settings);
                status("");
                match made {
                    Ok(native) => {
                        self.tell_what_is_not_kept(&native);
                        Ok(Machine::Native(Box::new(native)))
                    }
                    // Whoever did not ask for native code gets the engine that takes every program.
                    Err(problem) if settings.choice == Choice::Best => {
                        let why = problem.describe();
                        self.remark(Remark::Note(format!("this runs on the interpreter: {}", first_line(&why))));
                        start_interpreter(network, settings)
                    }
                    Err(problem) => Err(problem),
                }
            }
        };
        started.map_err(|problem| match problem {
            NotStarted::Wrong(diagnostics) => Error::Refused(diagnostics),
            problem => needed(&problem),
        })
    }

    /// Says why the next run has to compile again.
    pub(crate) fn tell_what_is_not_kept(&mut self, engine: &NativeEngine) {
        if let Some(why) = engine.not_kept() {
            self.remark(Remark::Note(format!("compiled code is not kept for the next time: {why}")));
        }
    }
}

fn start_native(network: &Arc<Network>, settings: &Settings) -> std::result::Result<NativeEngine, NotStarted> {
    let options = NativeOptions {
        fifo_tokens: settings.fifo_tokens,
        profile: settings.profile,
        // What is measured is what one thread does.
        mapping: settings.mapping.clone().filter(|_| !settings.profile),
        lenient_indices: settings.lenient_indices,
        ..NativeOptions::default()
    };
    let mut native = NativeEngine::new(network.clone(), &options)?;
    settings.supplied.clone().into_iter().for_each(|supplied| native.supply(supplied));
    Ok(native)
}

fn start_interpreter(network: &Arc<Network>, settings: Settings) -> std::result::Result<Machine, NotStarted> {
    let options = Options {
        fifo_tokens: settings.fifo_tokens,
        order: settings.order,
        trace: settings.trace,
        traced: settings.traced,
        profile: settings.profile,
        lenient_indices: settings.lenient_indices,
        supplied: settings.supplied.map_or_else(Vec::new, |supplied| supplied.names()),
        ..Options::default()
    };
    let interpreter = Interpreter::new(network.clone(), options).map_err(NotStarted::Wrong)?;
    Ok(Machine::Interp(Box::new(interpreter)))
}
