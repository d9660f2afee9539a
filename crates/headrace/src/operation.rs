//! Operations of the library by name: found, started on an engine, performed on messages.

use crate::engines::EngineName;
use crate::engines::{Machine, Settings, Status};
use crate::error::{Error, Result};
use crate::fusing::{self, FuseWhen, Fusing, START_BYTES, Started};
use crate::shortcut::{Known, Memory};
use crate::workspace::Workspace;
use headrace_exchange::{Running, check_ports};
use headrace_ir::Network;
use headrace_library::catalog::{Framing, OperationSpec};
use headrace_library::framing::{Message, Outcome};
use std::sync::Arc;

/// Capacity of the FIFOs, in tokens: enough that a visit of the feeder moves many blocks.
pub const FIFO_TOKENS: u32 = 4096;

/// Which operation is used, and how.
#[derive(Clone, Debug, Default)]
pub struct Use {
    /// A parameter set, such as `aes128`.
    pub primitive: String,
    /// An operation, such as `ctr`, `cbc-decrypt`, `hash`.
    pub operation: String,
    /// The way of writing the primitive; else the first of its manifest.
    pub variant: Option<String>,
    /// Values of parameters of its network, such as `TAG_BYTES`.
    pub parameters: Vec<(String, String)>,
    /// The engine; else the fastest that can run here.
    pub engine: Option<EngineName>,
    /// When it runs as one program.
    pub fused: FuseWhen,
}

impl Use {
    /// An operation of a parameter set, as usual.
    pub fn new(primitive: &str, operation: &str) -> Self {
        Self { primitive: primitive.to_owned(), operation: operation.to_owned(), ..Self::default() }
    }
}

/// An operation that was found.
pub struct Found {
    /// The operation, with its parameters set.
    pub spec: OperationSpec,
    memory: Option<Memory>,
    /// What need not be made first.
    known: Option<(Arc<Network>, Machine)>,
}

/// What runs an operation.
pub struct Runner {
    /// The engine.
    pub machine: Machine,
    /// The network, or as much of it as its ports.
    pub network: Arc<Network>,
    /// Whether that is fused code.
    pub fused: bool,
    /// What is to be told when it has run.
    pub counts: Counts,
}

/// Where it is written down what was done in want of fused code, where that counts.
pub struct Counts(Option<Memory>);

impl Counts {
    /// So many bytes went through.
    pub fn spent(&self, bytes: u64) {
        if let Some(memory) = &self.0 {
            memory.spend(START_BYTES.saturating_add(bytes));
        }
    }
}

impl Workspace {
    /// Looks for an operation where it was started before, else in the library.
    ///
    /// # Errors
    ///
    /// There is no such operation or variant, or its parameters leave open what its messages are.
    pub fn find(&mut self, wanted: &Use) -> Result<Found> {
        let memory = Memory::of_use(self, wanted, FIFO_TOKENS);
        let known = memory.as_ref().and_then(|memory| memory.find(self));
        let (spec, known) = match known {
            Some(Known { spec, ports, machine }) => (spec, Some((ports, machine))),
            None => {
                let library = self.library()?;
                let found = library.find(&wanted.primitive, Some(&wanted.operation));
                let all = "`headrace list primitives` has all there is";
                (found.map_err(|problem| Error::unknown(&problem.note(all)))?.clone(), None)
            }
        };
        let spec = spec.with_arguments(&wanted.parameters);
        if spec.variant(wanted.variant.as_deref()).is_none() {
            return Err(no_such_variant(&spec));
        }
        Ok(Found { spec, memory, known })
    }

    /// Starts an operation, with so many bytes that are known to come.
    ///
    /// # Errors
    ///
    /// What is wrong with its network, or why the engine that is asked for cannot run.
    pub fn ready(&mut self, found: Found, wanted: &Use, known_bytes: u64, status: Status<'_>) -> Result<Runner> {
        let Found { spec, memory, known } = found;
        if let Some((network, machine)) = known {
            return Ok(Runner { machine, network, fused: true, counts: Counts(None) });
        }
        let variant = spec.variant(wanted.variant.as_deref()).ok_or_else(|| no_such_variant(&spec))?;
        let network = self.network(&variant.network.to_string(), &[])?;
        check_ports(&spec, &network).map_err(Error::Wrong)?;
        let settings = Settings { fifo_tokens: FIFO_TOKENS, ..Settings::of(wanted.engine) };
        let fusing = Fusing {
            when: wanted.fused,
            known_bytes,
            spent_bytes: memory.as_ref().map_or(0, Memory::spent),
            threads: 1,
            fifo_tokens: FIFO_TOKENS,
            native: fusing::is_native(wanted.fused, settings.choice),
        };
        let counts = match fusing.start(self, &network, |_| Ok(Some(spec.clone())), status)? {
            Started::Fused(machine, name) => {
                if let Some(memory) = memory {
                    memory.remember(self, &spec, &network, &name);
                }
                return Ok(Runner { machine, network, fused: true, counts: Counts(None) });
            }
            Started::NotYet => memory,
            Started::Failed => {
                // As often as it came to that again, compilers would be asked in vain.
                memory.iter().for_each(|memory| memory.spend(u64::MAX));
                None
            }
            Started::No => None,
        };
        let machine = self.start(&network, settings, status)?;
        Ok(Runner { machine, network, fused: false, counts: Counts(counts) })
    }

    /// Performs an operation on a message that is there whole: bytes in, bytes out. [`Workspace::transfer`] takes messages of
    /// any length.
    ///
    /// ```
    /// # fn main() -> headrace::Result {
    /// use headrace::engines::EngineName;
    /// use headrace::library::Role;
    /// use headrace::library::framing::{Message, Outcome};
    /// use headrace::operation::Use;
    /// let mut workspace = headrace::Workspace::default();
    /// let hash = Use { engine: Some(EngineName::Interp), ..Use::new("sha256", "hash") };
    /// let outcome = workspace.perform(&hash, &Message::new().with(Role::Input, *b"abc"))?;
    /// let Outcome::Accepted(strings) = outcome else { panic!("no hash refuses a message") };
    /// assert_eq!(strings[0].1[..4], [0xba, 0x78, 0x16, 0xbf]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// What is wrong with the message; that its network or engine fails. A message that is not authentic is no error: the
    /// outcome says so.
    pub fn perform(&mut self, wanted: &Use, message: &Message) -> Result<Outcome> {
        let found = self.find(wanted)?;
        found.takes_messages()?;
        let spec = found.spec.clone();
        let known_bytes = message.get(headrace_library::Role::Input).map_or(0, |input| input.len() as u64);
        let Runner { machine, network, counts, .. } = self.ready(found, wanted, known_bytes, &mut |_| {})?;
        let outcome = Running::new(&spec, &network, machine.into_engine()).perform(message);
        counts.spent(known_bytes);
        outcome.map_err(Error::Wrong)
    }
}

impl Found {
    /// Makes sure that the operation has messages, and that its parameters say what these are.
    ///
    /// # Errors
    ///
    /// It has none; a tag would be too short for it, or a limit is no number.
    pub fn takes_messages(&self) -> Result {
        let spec = &self.spec;
        if let Some((parameter, sizes)) = spec.forbidden_tag() {
            return Err(Error::usage(format!("--set: `{parameter}` of `{}` must be {sizes}", spec.full_name())));
        }
        if let Some(parameter) = spec.unclear_limit() {
            return Err(Error::usage(format!("--set: `{parameter}` of `{}` must be a plain number", spec.full_name())));
        }
        if spec.framing == Framing::Bare {
            return Err(Error::usage(format!("`{}` has no messages; `headrace run` runs it", spec.full_name())));
        }
        Ok(())
    }
}

/// That an operation has no variant of the name that was asked for.
pub fn no_such_variant(spec: &OperationSpec) -> Error {
    let known: Vec<&str> = spec.variants.iter().map(|variant| variant.name.as_str()).collect();
    Error::usage(format!("`{}` has no such variant; there are {}", spec.full_name(), known.join(", ")))
}
