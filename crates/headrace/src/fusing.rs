//! Operations of the library as fused code, in the place of an engine with a scheduler.
//!
//! What is not compiled yet is compiled when the time that was spent without it comes to that of compiling: then no more than
//! twice the least is spent, whatever comes (the ski-rental problem). What was spent on an operation in the
//! runs before is remembered, so that many short inputs count as a long one does.

use crate::engines::{self, Choice, Machine, NotStarted, Status, first_line, needed};
use crate::error::Result;
use crate::workspace::{Remark, Workspace};
use headrace_exchange::check_ports;
use headrace_ir::Network;
use headrace_library::catalog::OperationSpec;
use headrace_native::{Fused, FusedName, NativeError, Options};
use headrace_targets::automata::automaton_of_operation;
use std::sync::Arc;

/// Input from which on it takes less time to compile fused code first than to do without: a scheduler moves some tens of
/// megabytes a second, and compilers take some seconds.
const LONG_BYTES: u64 = 1 << 27;

/// What a run without fused code spends before its first byte, in bytes that a scheduler moves in that time: the network is
/// elaborated and printed.
pub const START_BYTES: u64 = 1 << 21;

/// When an operation runs as one program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FuseWhen {
    /// Where it was compiled before; else it is compiled first where the input is long, or was in all runs of it before.
    #[default]
    Auto,
    /// Whenever that can be.
    Always,
    /// Not at all.
    Never,
}

/// What decides whether fused code is used.
#[derive(Clone, Copy, Debug)]
pub struct Fusing {
    /// What is asked for.
    pub when: FuseWhen,
    /// Bytes of input, as far as they are known.
    pub known_bytes: u64,
    /// Bytes that runs before have had moved by a scheduler; [`u64::MAX`]: compiling has failed, and is not tried again for them.
    pub spent_bytes: u64,
    /// Threads that may be used.
    pub threads: u32,
    /// Capacity of FIFOs that ask for none, in tokens.
    pub fifo_tokens: u32,
    /// Whether compiled code is to run at all.
    pub native: bool,
}

/// What came of it.
pub enum Started {
    /// The engine, and what names its code.
    Fused(Machine, FusedName),
    /// Nothing is compiled yet, and not enough was spent without.
    NotYet,
    /// It is not asked for, or this is no operation of the library.
    No,
    /// It cannot be compiled.
    Failed,
}

impl Started {
    /// The engine, if that is it.
    pub fn machine(self) -> Option<Machine> {
        match self {
            Started::Fused(machine, _) => Some(machine),
            Started::NotYet | Started::No | Started::Failed => None,
        }
    }
}

/// Whether compiled code is to run at all: also where there is no compiler and somebody insists, who hears that then.
pub fn is_native(when: FuseWhen, choice: Choice) -> bool {
    engines::is_native(choice) || when == FuseWhen::Always && choice == Choice::Best
}

impl Fusing {
    /// Whether what is not there yet is compiled.
    fn compiles(&self) -> bool {
        let known = self.known_bytes;
        let spent = if self.spent_bytes == u64::MAX { 0 } else { self.spent_bytes };
        self.when == FuseWhen::Always || known.saturating_add(spent) >= LONG_BYTES
    }

    /// The engine with fused code, if that is to run. `find` finds the operation whose network it is.
    ///
    /// # Errors
    ///
    /// What the network has that no engine compiles, and what `find` says.
    pub fn start(
        &self,
        workspace: &mut Workspace,
        network: &Arc<Network>,
        find: impl FnOnce(&mut Workspace) -> Result<Option<OperationSpec>>,
        status: Status<'_>,
    ) -> Result<Started> {
        if self.when == FuseWhen::Never || !self.native {
            return Ok(Started::No);
        }
        let options = Options { fifo_tokens: self.fifo_tokens, ..Options::default() };
        // What cannot be compiled is said by the engine that is asked next.
        let fused = match Fused::new(Arc::clone(network), &options) {
            Ok(fused) => fused,
            Err(problem @ NativeError::NoCompiler) if self.when == FuseWhen::Always => {
                return Err(needed(&problem.into()));
            }
            Err(_) => return Ok(Started::Failed),
        };
        let ready = fused.is_ready();
        if !ready && !self.compiles() {
            return Ok(Started::NotYet);
        }
        let spec = if ready { None } else { find(workspace)? };
        match &spec {
            Some(spec) => status(&format!("compiling {}", spec.full_name())),
            None if ready => {}
            None => return Ok(Started::No),
        }
        let machine = self.engine(workspace, fused, network, spec.as_ref());
        status("");
        machine
    }

    fn engine(
        &self,
        workspace: &mut Workspace,
        fused: Fused,
        network: &Network,
        spec: Option<&OperationSpec>,
    ) -> Result<Started> {
        let name = fused.name();
        match fused.engine(self.threads, || automaton_of_operation(spec?, network).ok()) {
            Ok(None) => Ok(Started::Failed),
            Ok(Some(engine)) => {
                workspace.tell_what_is_not_kept(&engine);
                Ok(Started::Fused(Machine::Native(Box::new(engine)), name))
            }
            Err(NativeError::Unsupported(problems)) => {
                let why = NotStarted::Wrong(problems).describe();
                workspace.remark(Remark::Note(format!("this runs on its scheduler: {why}")));
                Ok(Started::Failed)
            }
            Err(problem) if self.when == FuseWhen::Always => Err(needed(&problem.into())),
            Err(problem) => {
                let why = problem.to_string();
                workspace.remark(Remark::Note(format!("this runs on its scheduler: {}", first_line(&why))));
                Ok(Started::Failed)
            }
        }
    }
}

impl Workspace {
    /// The operation of the library whose network this is, which somebody called so.
    ///
    /// # Errors
    ///
    /// The library is wrong.
    pub fn operation_of(&mut self, named: &str, network: &Network) -> Result<Option<OperationSpec>> {
        let library = self.library()?;
        let is_it = |entity: &str| entity == named || entity == network.name;
        let found = library.operations().iter().find(|spec| {
            spec.variants.iter().any(|variant| is_it(&variant.network.entity)) && check_ports(spec, network).is_ok()
        });
        Ok(found.cloned())
    }
}
