//! Operations of the library as fused code, in the place of an engine with a scheduler.

use crate::cli::FuseWhen;
use crate::commands::Context;
use crate::engines::{self, Choice, Machine, NotStarted, first_line, needed, tell_what_is_not_kept};
use crate::failure::Outcome;
use headrace_exchange::check_ports;
use headrace_ir::Network;
use headrace_library::catalog::OperationSpec;
use headrace_native::{Fused, NativeError, Options};
use headrace_targets::automata::automaton_of_operation;
use std::sync::Arc;

/// Input from which on it takes less time to compile fused code first than to do without: a scheduler moves some tens of
/// megabytes a second, and compilers take some seconds.
const LONG_BYTES: u64 = 1 << 27;

/// What decides whether fused code is used.
#[derive(Clone, Copy, Debug)]
pub struct Fusing {
    /// What the user says.
    pub when: FuseWhen,
    /// Bytes of input, as far as they are known.
    pub known_bytes: u64,
    /// Threads that may be used.
    pub threads: u32,
    /// Capacity of FIFOs that ask for none, in tokens.
    pub fifo_tokens: u32,
    /// Whether compiled code is to run at all.
    pub native: bool,
}

/// Whether compiled code is to run at all: also where there is no compiler and the user insists, who hears that then.
pub fn is_native(when: FuseWhen, choice: Choice) -> bool {
    engines::is_native(choice) || when == FuseWhen::Always && choice == Choice::Best
}

impl Fusing {
    /// Whether what is not there yet is compiled.
    fn compiles(&self) -> bool {
        self.when == FuseWhen::Always || self.known_bytes >= LONG_BYTES
    }

    /// The engine with fused code, if that is to run. `find` finds the operation whose network it is.
    ///
    /// # Errors
    ///
    /// What the network has that no engine compiles, and what `find` says.
    pub fn start(
        &self,
        context: &mut Context,
        network: &Arc<Network>,
        find: impl FnOnce(&mut Context) -> Outcome<Option<OperationSpec>>,
    ) -> Outcome<Option<Machine>> {
        if self.when == FuseWhen::Never || !self.native {
            return Ok(None);
        }
        let options = Options { fifo_tokens: self.fifo_tokens, ..Options::default() };
        // What cannot be compiled is said by the engine that is asked next.
        let fused = match Fused::new(Arc::clone(network), &options) {
            Ok(fused) => fused,
            Err(problem @ NativeError::NoCompiler) if self.when == FuseWhen::Always => {
                return Err(needed(&problem.into()));
            }
            Err(_) => return Ok(None),
        };
        let ready = fused.is_ready();
        if !ready && !self.compiles() {
            return Ok(None);
        }
        let spec = if ready { None } else { find(context)? };
        match &spec {
            Some(spec) => context.terminal.status(&format!("compiling {}", spec.full_name())),
            None if ready => {}
            None => return Ok(None),
        }
        let machine = self.engine(context, fused, network, spec.as_ref());
        context.terminal.status("");
        machine
    }

    fn engine(
        &self,
        context: &Context,
        fused: Fused,
        network: &Network,
        spec: Option<&OperationSpec>,
    ) -> Outcome<Option<Machine>> {
        match fused.engine(self.threads, || automaton_of_operation(spec?, network).ok()) {
            Ok(engine) => {
                engine.iter().for_each(|engine| tell_what_is_not_kept(context, engine));
                Ok(engine.map(|engine| Machine::Native(Box::new(engine))))
            }
            Err(NativeError::Unsupported(problems)) => {
                let why = NotStarted::Wrong(problems).describe();
                context.terminal.note(&format!("this runs on its scheduler: {why}"));
                Ok(None)
            }
            Err(problem) if self.when == FuseWhen::Always => Err(needed(&problem.into())),
            Err(problem) => {
                let why = problem.to_string();
                context.terminal.note(&format!("this runs on its scheduler: {}", first_line(&why)));
                Ok(None)
            }
        }
    }
}

/// The operation whose network this is, and what the user called it.
///
/// # Errors
///
/// The library is wrong.
pub fn operation(context: &mut Context, named: &str, network: &Network) -> Outcome<Option<OperationSpec>> {
    let library = context.library()?;
    let is_it = |entity: &str| entity == named || entity == network.name;
    let found = library.operations().iter().find(|spec| {
        spec.variants.iter().any(|variant| is_it(&variant.network.entity)) && check_ports(spec, network).is_ok()
    });
    Ok(found.cloned())
}
