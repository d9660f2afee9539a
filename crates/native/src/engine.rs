//! [`NativeEngine`]: a compiled network behind the interface that every engine has.

use crate::compiled::{self, Compiled, Job};
use crate::compiler::Compiler;
use crate::context::{Control, Host, Memory, Network as Table, Partitions};
use crate::crew::{Crew, Feeder};
use crate::fused::Streaming;
use crate::host::{self, Bridge};
use crate::library::Loaded;
use crate::supplied::Supplied;
use headrace_engine::texts;
use headrace_engine::{
    Blocked, Boundary, Engine, Fed, Host as EngineHost, Leftover, Outcome, Profile, Report, Trap, Wait,
};
use headrace_ir::{Action, ArithmeticError, Endpoint, InstanceId, Mapping, Network, Scalar};
use headrace_natives::Session;
use headrace_source::Diagnostic;
pub use headrace_targets::c::Member;
use headrace_targets::c::{self, TrapPlace};
use std::collections::HashSet;
use std::ffi::c_void;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How to compile.
#[derive(Clone, Debug)]
pub struct Options {
    /// Capacity of FIFOs whose source does not say one, in tokens.
    pub fifo_tokens: u32,
    /// Report run-time errors of the program, as the interpreter does.
    pub checked: bool,
    /// An index outside its list is none (`headrace_targets::c::Options::lenient_indices`).
    pub lenient_indices: bool,
    /// Count firings; without it `firings` gives zeros and a limit of firings is only approximate.
    pub count_firings: bool,
    /// Measure the time of each instance and how full FIFOs get; not for what several threads run.
    pub profile: bool,
    /// The compiler; `None`: the first that is found.
    pub compiler: Option<Compiler>,
    /// Flags of the compiler.
    pub flags: Vec<String>,
    /// Where libraries are kept; `None`: in the cache folder of the user, if that can be trusted.
    pub cache: Option<PathBuf>,
    /// For a network that is compiled alone, the partitions that threads run; `None`: one thread runs all of it.
    pub mapping: Option<Arc<Mapping>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            fifo_tokens: headrace_ir::DEFAULT_FIFO_TOKENS,
            checked: true,
            lenient_indices: false,
            count_firings: true,
            profile: false,
            compiler: None,
            flags: ["-std=c11", "-O3", "-ffp-contract=off"].map(str::to_owned).to_vec(),
            cache: None,
            mapping: None,
        }
    }
}

/// Why there is no native engine.
#[derive(Debug)]
pub enum NativeError {
    /// No C compiler was found.
    NoCompiler,
    /// The target cannot compile the network.
    Unsupported(Vec<Diagnostic>),
    /// The compiler refused the program, or what it made does not run here.
    Failed(String),
    /// What is around does not let it: no place for files, a compiler that is stopped or takes too long.
    Unable(String),
}

impl fmt::Display for NativeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NativeError::NoCompiler => match std::env::var("CC").ok().filter(|named| !named.is_empty()) {
                Some(named) => write!(f, "no C compiler: CC names `{}`, which does not answer", named.escape_debug()),
                None => f.write_str(
                    "no C compiler: none of gcc, clang and cc answers (on Debian: apt-get install gcc libc6-dev)",
                ),
            },
            NativeError::Unsupported(diagnostics) => match diagnostics.first() {
                Some(first) => f.write_str(&first.message),
                None => f.write_str("target c cannot compile the network"),
            },
            NativeError::Failed(message) | NativeError::Unable(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for NativeError {}

/// Several networks in one library.
#[derive(Debug)]
pub struct Batch {
    pub(crate) library: Arc<Loaded>,
    pub(crate) not_kept: Option<String>,
    pub(crate) tables: Vec<Table>,
    pub(crate) partitions: Vec<Option<Partitions>>,
    pub(crate) profiles: Vec<Option<ProfileFunction>>,
    pub(crate) places: Vec<Vec<TrapPlace>>,
    pub(crate) fifo_tokens: Vec<u32>,
}

impl Batch {
    /// Compiles networks together, each under a prefix that is an identifier of its own, and with the capacity of FIFOs
    /// whose source does not say one.
    ///
    /// # Errors
    ///
    /// No compiler, a network that the target cannot compile, or what the compiler said.
    pub fn compile(networks: &[(&str, &Network, u32)], options: &Options) -> Result<Batch, NativeError> {
        let members: Vec<Member<'_>> = networks
            .iter()
            .map(|&(prefix, network, fifo_tokens)| Member { prefix, network, fifo_tokens, mapping: None })
            .collect();
        Batch::compile_mapped(&members, options)
    }

    /// The same for networks that several threads may run.
    ///
    /// # Errors
    ///
    /// As [`Batch::compile`]; also a mapping that does not fit its network.
    pub fn compile_mapped(networks: &[Member<'_>], options: &Options) -> Result<Batch, NativeError> {
        let compiler = options.compiler.clone().or_else(Compiler::find).ok_or(NativeError::NoCompiler)?;
        let emit = c::Options {
            checked: options.checked,
            lenient_indices: options.lenient_indices,
            count_firings: options.count_firings,
            profile: options.profile,
            ..c::Options::default()
        };
        let c::Together { source, places } = c::emit_together(networks, &emit).map_err(|errors| {
            NativeError::Unsupported(errors.into_iter().flat_map(|(_, diagnostics)| diagnostics).collect())
        })?;
        let mut headers = c::RUNTIME.to_vec();
        headers.extend(networks.iter().any(|member| member.mapping.is_some()).then_some(c::RUNTIME_PARALLEL));
        let key = compiler.key(&source, &headers, &options.flags);
        let flags = &options.flags;
        let job = Job { compiler: &compiler, key: &key, source: &source, headers: &headers, flags };
        let Compiled { loaded: library, not_kept } = compiled::library(&job, options.cache.as_deref())?;
        let mut tables = Vec::with_capacity(networks.len());
        let mut partitions = Vec::with_capacity(networks.len());
        let mut profiles = Vec::with_capacity(networks.len());
        for member in networks {
            tables.push(table(&library, member.prefix)?);
            profiles.push(if options.profile && member.mapping.is_none() {
                let symbol = format!("{}_profile", member.prefix);
                // SAFETY: the symbol is a function of this type in what was printed with this option.
                let found = unsafe { library.get::<ProfileFunction>(symbol.as_bytes()).map(|found| *found) };
                Some(found.map_err(|error| missing(&symbol, error))?)
            } else {
                None
            });
            let symbol = format!("{}_partitions", member.prefix);
            partitions.push(match member.mapping {
                None => None,
                Some(_) => {
                    // SAFETY: the symbol is a constant of this type in the runtime's header.
                    let found = unsafe { library.get::<*const Partitions>(symbol.as_bytes()).map(|found| **found) };
                    Some(found.map_err(|error| missing(&symbol, error))?)
                }
            });
        }
        let fifo_tokens = networks.iter().map(|member| member.fifo_tokens).collect();
        Ok(Batch { library: Arc::new(library), not_kept, tables, partitions, profiles, places, fifo_tokens })
    }

    /// Takes networks from a shared library that has a `struct headrace_network` for each, `PREFIX_network`, however it was
    /// made. Run-time errors have no places then.
    ///
    /// # Errors
    ///
    /// When there is no such library, or one of the tables is not in it.
    ///
    /// # Safety
    ///
    /// The library must be what it says that it is: its tables are trusted.
    pub unsafe fn load(path: &Path, networks: &[(&str, u32)]) -> Result<Batch, NativeError> {
        Self::of_loaded(Loaded::from_path(path).map_err(NativeError::Failed)?, networks)
    }

    /// The same of a library that is loaded.
    pub(crate) fn of_loaded(library: Loaded, networks: &[(&str, u32)]) -> Result<Batch, NativeError> {
        let tables = networks.iter().map(|(prefix, _)| table(&library, prefix)).collect::<Result<Vec<_>, _>>()?;
        Ok(Batch {
            library: Arc::new(library),
            not_kept: None,
            tables,
            partitions: vec![None; networks.len()],
            profiles: vec![None; networks.len()],
            places: vec![Vec::new(); networks.len()],
            fifo_tokens: networks.iter().map(|(_, fifo_tokens)| *fifo_tokens).collect(),
        })
    }

    /// An engine for one of the networks, which must be the one that was compiled at this position.
    ///
    /// # Errors
    ///
    /// When there is no such position or no memory for the context.
    pub fn engine(&self, position: usize, network: impl Into<Arc<Network>>) -> Result<NativeEngine, NativeError> {
        let (Some(table), Some(places)) = (self.tables.get(position), self.places.get(position)) else {
            return Err(NativeError::Failed(format!("the batch has no network {position}")));
        };
        let memory = Memory::new(table.size, table.alignment)
            .ok_or_else(|| NativeError::Failed(format!("no memory for a context of {} bytes", table.size)))?;
        let mut bridge = Box::new(Bridge {
            host: None,
            session: Session::default(),
            error: None,
            supplied: None,
            texts: HashSet::new(),
        });
        let user: *mut Bridge = &mut *bridge;
        let host = Box::new(host::table(user));
        // SAFETY: the memory has the size and alignment that the table asks for; the host lives as long as the engine.
        unsafe { (table.init)(memory.pointer(), &*host) };
        let partitions = self.partitions.get(position).copied().flatten();
        Ok(NativeEngine {
            crew: None,
            alone: false,
            streaming: None,
            partitions: partitions.filter(|partitions| partitions.n_partitions > 1),
            profile: self.profiles.get(position).copied().flatten(),
            table: *table,
            memory,
            bridge,
            _host: host,
            _library: Arc::clone(&self.library),
            not_kept: self.not_kept.clone(),
            places: places.clone(),
            network: network.into(),
            fifo_tokens: self.fifo_tokens.get(position).copied().unwrap_or_default(),
            trap: None,
        })
    }
}

pub(crate) fn missing(symbol: &str, error: libloading::Error) -> NativeError {
    NativeError::Failed(format!("cannot find `{symbol}`: {error}"))
}

/// The table of the functions of a network.
pub(crate) fn table(library: &Loaded, prefix: &str) -> Result<Table, NativeError> {
    let symbol = format!("{prefix}_network");
    // SAFETY: the symbol is a constant of this type in the runtime's header.
    let table = unsafe { library.get::<*const Table>(symbol.as_bytes()).map(|table| **table) };
    table.map_err(|error| missing(&symbol, error))
}

/// A network that runs as compiled code.
pub struct NativeEngine {
    /// Before the context, which the threads use: dropped first.
    crew: Option<Crew>,
    /// Threads were not to be had; that is not tried again.
    alone: bool,
    /// What several threads can run.
    partitions: Option<Partitions>,
    /// Gives what was measured.
    profile: Option<ProfileFunction>,
    /// Fused code takes long inputs where they lie.
    pub(crate) streaming: Option<Streaming>,
    pub(crate) table: Table,
    pub(crate) memory: Memory,
    bridge: Box<Bridge>,
    _host: Box<Host>,
    _library: Arc<Loaded>,
    not_kept: Option<String>,
    places: Vec<TrapPlace>,
    network: Arc<Network>,
    fifo_tokens: u32,
    trap: Option<Trap>,
}

impl fmt::Debug for NativeEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NativeEngine").field("network", &self.network.name).finish_non_exhaustive()
    }
}

impl Drop for NativeEngine {
    fn drop(&mut self) {
        // SAFETY: the context is initialised and not used afterwards. It may hold keys.
        unsafe { (self.table.clear)(self.memory.pointer()) }
    }
}

/// The prefix of a network that is compiled alone.
pub(crate) const ALONE: &str = "network";

/// Tokens taken from an output at a time.
pub(crate) const READ_TOKENS: usize = 4096;

impl NativeEngine {
    /// Compiles a network, or finds it in the cache, and prepares it.
    ///
    /// # Errors
    ///
    /// No compiler, a network that the target cannot compile, or what the compiler said.
    pub fn new(network: impl Into<Arc<Network>>, options: &Options) -> Result<NativeEngine, NativeError> {
        let network = network.into();
        let mapping = options.mapping.as_ref();
        let member = Member { prefix: ALONE, network: &network, fifo_tokens: options.fifo_tokens, mapping };
        Batch::compile_mapped(&[member], options)?.engine(0, network)
    }

    /// Why what was compiled for it is not kept, and is compiled again the next time; `None` where it is kept.
    pub fn not_kept(&self) -> Option<&str> {
        self.not_kept.as_deref()
    }

    /// Natives that the user supplies, made for this network; they come before those that the platform has.
    pub fn supply(&mut self, supplied: Arc<Supplied>) {
        self.bridge.supplied = Some(supplied);
    }

    /// Threads that a run takes.
    pub fn threads(&self) -> usize {
        let helpers = self.streaming.as_ref().map_or(1, Streaming::threads);
        self.partitions.map_or(helpers, |partitions| partitions.n_partitions as usize)
    }

    /// A number that the library counts in a context beside what all networks have: what this function says,
    /// `uint64_t (const void *context)`. None where there is no such function.
    pub fn counted(&self, symbol: &str) -> Option<u64> {
        // SAFETY: a function of this name has this type, as the tables of the library are what they say.
        let found = unsafe { self._library.get::<unsafe extern "C" fn(*const c_void) -> u64>(symbol.as_bytes()) };
        // SAFETY: the context is initialised.
        found.ok().map(|count| unsafe { count(self.memory.pointer()) })
    }

    /// Puts the network back to its beginning.
    pub fn reset(&mut self) {
        self.bridge.session = Session::default();
        self.bridge.error = None;
        self.trap = None;
        let host: *const Host = &*self._host;
        // SAFETY: as in `Batch::engine`.
        unsafe { (self.table.init)(self.memory.pointer(), host) }
        self.streaming = self.streaming.take().map(|streaming| streaming.again(&self.table, &self.memory));
    }

    /// The threads, started at the first run in this thread. Without threads to be had, one runs all partitions.
    fn crew(&mut self) -> Option<&mut Crew> {
        let partitions = self.partitions?;
        if !self.alone && !self.crew.as_ref().is_some_and(Crew::is_here) {
            // Those of another thread end before there are new ones.
            self.crew = None;
            self.crew = Crew::new(partitions).ok();
            self.alone = self.crew.is_none();
        }
        self.crew.as_mut()
    }

    fn control(&self) -> &Control {
        // SAFETY: the context is initialised; the structure lies in it and nothing writes it while we look.
        unsafe { &*(self.table.control)(self.memory.pointer()) }
    }

    fn describe_trap(&mut self) -> Trap {
        let control = self.control();
        let record = control.trap;
        let instance = self.network.instances.get(control.instance as usize);
        let instance = instance.map(|instance| instance.name.clone()).unwrap_or_default();
        let place = self.places.get(record.place as usize).cloned();
        let message = match record.code {
            1 => format!("index {} is outside 0..{}", record.a, record.b - 1),
            2 => "division by zero".to_owned(),
            3 => "`mod` needs a positive modulus".to_owned(),
            4 if record.a < 0 => ArithmeticError::NegativeShift.to_string(),
            4 => ArithmeticError::ShiftTooFar.to_string(),
            5 => format!("more than {} calls are open", record.a),
            _ => self.bridge.error.take().unwrap_or_else(|| "a native could not do its work".to_owned()),
        };
        Trap {
            message,
            instance,
            action: place.as_ref().map(|place| place.name.clone()).unwrap_or_default(),
            span: place.map(|place| place.span),
        }
    }

    /// True where nothing is known of the network but its ports (`Shortcuts`): what is compiled may have instances all the same.
    fn has_only_ports(&self) -> bool {
        self.network.instances.is_empty() && self.network.connections.is_empty()
    }

    /// Fill of each FIFO, state and blocked action of each instance.
    fn inspect(&self) -> (Vec<u32>, Vec<u32>, Vec<u32>) {
        let mut fills = vec![0; self.network.connections.len()];
        let mut states = vec![0; self.network.instances.len()];
        let mut blocked = vec![0; self.network.instances.len()];
        // SAFETY: the arrays have an element for each FIFO and instance of the network that was compiled.
        unsafe {
            (self.table.inspect)(self.memory.pointer(), fills.as_mut_ptr(), states.as_mut_ptr(), blocked.as_mut_ptr());
        }
        (fills, states, blocked)
    }

    fn waits_of(&self, at: usize, fills: &[u32], state: u32, blocked: u32, waits: &mut Vec<Wait>) {
        let instance = &self.network.instances[at];
        let actor = self.network.actor_of(InstanceId(at as u32));
        let Some(state) = actor.schedule.states.get(state as usize) else { return };
        let mut add = |action: &Action, what: Blocked| {
            waits.push(Wait {
                instance: instance.name.clone(),
                state: state.name.clone(),
                action: action.name.clone(),
                blocked: what,
            });
        };
        for test in &state.tests {
            let action = &actor.actions[test.action.index()];
            if let Some(what) = self.lacking_tokens(at, action, fills) {
                add(action, what);
            } else if blocked == test.action.0 + 1 {
                if let Some(what) = self.lacking_room(at, action, fills) {
                    add(action, what);
                }
                return;
            } else {
                add(action, Blocked::Guard);
            }
        }
    }

    fn lacking_tokens(&self, instance: usize, action: &Action, fills: &[u32]) -> Option<Blocked> {
        let actor = self.network.actor_of(InstanceId(instance as u32));
        action.consumes.iter().find_map(|pattern| {
            let target = Endpoint::Instance(InstanceId(instance as u32), pattern.port);
            let fifo = self.network.connections.iter().position(|connection| connection.target == target);
            let there = fifo.map_or(0, |fifo| u64::from(fills[fifo]));
            (there < pattern.tokens()).then(|| Blocked::Tokens {
                port: actor.inputs[pattern.port].name.clone(),
                needed: pattern.tokens(),
                there,
            })
        })
    }

    fn lacking_room(&self, instance: usize, action: &Action, fills: &[u32]) -> Option<Blocked> {
        let actor = self.network.actor_of(InstanceId(instance as u32));
        action.produces.iter().find_map(|output| {
            let source = Endpoint::Instance(InstanceId(instance as u32), output.port);
            let readers = self.network.connections.iter().enumerate().filter(|(_, c)| c.source == source);
            let (room, reader) = readers
                .map(|(fifo, connection)| {
                    let capacity = self.network.capacity(connection, self.fifo_tokens);
                    (capacity.saturating_sub(u64::from(fills[fifo])), connection)
                })
                .min_by_key(|(room, _)| *room)?;
            (room < output.tokens()).then(|| Blocked::Room {
                port: actor.outputs[output.port].name.clone(),
                needed: output.tokens(),
                room,
                reader: self.network.describe(reader).1,
            })
        })
    }
}

/// The inputs and outputs of a context.
struct Ports<'a> {
    table: &'a Table,
    context: *mut c_void,
    network: &'a Network,
    streaming: Option<&'a mut Streaming>,
}

impl Boundary for Ports<'_> {
    fn write(&mut self, input: usize, tokens: &[u8]) -> usize {
        let Some(port) = self.network.inputs.get(input) else { return 0 };
        let n = tokens.len() / port.ty.storage_bytes();
        if let Some(streaming) = self.streaming.as_deref_mut().filter(|_| port.ty.width() == 8)
            && let Some(taken) = streaming.take(self.context, input, tokens)
        {
            return taken;
        }
        let mut pointers;
        let mut tokens = tokens;
        if port.ty == Scalar::String {
            pointers = tokens.to_vec();
            texts::to_pointers(&mut pointers);
            tokens = &pointers;
        }
        // SAFETY: the function reads bytes, as many as the tokens have, from any alignment.
        unsafe { (self.table.write)(self.context, input as u32, tokens.as_ptr().cast(), n) }
    }

    fn read(&mut self, output: usize, tokens: &mut Vec<u8>) -> usize {
        let Some(port) = self.network.outputs.get(output) else { return 0 };
        let bytes = port.ty.storage_bytes();
        let mut total = self.streaming.as_deref_mut().map_or(0, |streaming| streaming.give(output, tokens));
        loop {
            let start = tokens.len();
            tokens.reserve(READ_TOKENS * bytes);
            let target = tokens.spare_capacity_mut().as_mut_ptr().cast();
            // SAFETY: there is room for that many tokens, and the function initialises those that it returns.
            let n = unsafe {
                let n = (self.table.read)(self.context, output as u32, target, READ_TOKENS);
                tokens.set_len(start + n * bytes);
                n
            };
            if port.ty == Scalar::String {
                // SAFETY: what the program writes to such a port are texts, its own or those that were given to it.
                unsafe { texts::from_pointers(&mut tokens[start..]) };
            }
            total += n;
            if n < READ_TOKENS {
                return total;
            }
        }
    }
}

/// Firings after which an actor that moves no token lets the others have a turn: it may never come to rest, and what it has sent
/// before is for them to take.
const TURN: u64 = 1 << 24;

impl NativeEngine {
    fn ports(&mut self) -> Ports<'_> {
        let streaming = self.streaming.as_mut();
        Ports { table: &self.table, context: self.memory.pointer(), network: &self.network, streaming }
    }

    fn fire(
        &mut self,
        max_firings: Option<u64>,
        host: &mut dyn EngineHost,
        feeder: Option<Feeder<'_>>,
    ) -> Result<Outcome, Trap> {
        if let Some(trap) = &self.trap {
            return Err(trap.clone());
        }
        // SAFETY: only the lifetime changes; the pointer is taken away again below, before the borrow ends.
        let host: *mut (dyn EngineHost + 'static) =
            unsafe { std::mem::transmute::<*mut (dyn EngineHost + '_), *mut (dyn EngineHost + 'static)>(host) };
        self.bridge.host = Some(host);
        let context = self.memory.pointer();
        let status = match self.crew() {
            // SAFETY: the context is initialised and used by nobody else; it is one of this network.
            Some(crew) => unsafe { crew.run(context, max_firings.unwrap_or(u64::MAX), feeder) },
            None => loop {
                // SAFETY: as above.
                let status = unsafe { (self.table.run)(context, max_firings.unwrap_or(TURN)) };
                if status != host::LIMIT || max_firings.is_some() {
                    break status;
                }
            },
        };
        self.bridge.host = None;
        match status {
            host::EXITED => Ok(Outcome::Exited(self.control().exit_status)),
            host::TRAPPED => {
                let trap = self.describe_trap();
                self.trap = Some(trap.clone());
                Err(trap)
            }
            host::LIMIT => Ok(Outcome::FiringLimit),
            _ => Ok(Outcome::Idle),
        }
    }
}

/// Context, nanoseconds of each instance, marks of each FIFO.
type ProfileFunction = unsafe extern "C" fn(*const c_void, *mut u64, *mut u32);

impl Engine for NativeEngine {
    fn write(&mut self, input: usize, tokens: &[u8]) -> usize {
        self.ports().write(input, tokens)
    }

    fn read(&mut self, output: usize, tokens: &mut Vec<u8>) -> usize {
        self.ports().read(output, tokens)
    }

    fn run(&mut self, max_firings: Option<u64>, host: &mut dyn EngineHost) -> Result<Outcome, Trap> {
        self.fire(max_firings, host, None)
    }

    fn run_fed(
        &mut self,
        host: &mut dyn EngineHost,
        feed: &mut dyn FnMut(&mut dyn Boundary) -> Fed,
    ) -> Result<Outcome, Trap> {
        if self.crew().is_none() {
            return headrace_engine::alternate(self, None, host, feed);
        }
        let (table, network, context) = (self.table, self.network.clone(), self.memory.pointer());
        let halt = self.partitions.map(|partitions| partitions.halt);
        let mut feeder = || {
            let mut ports = Ports { table: &table, context, network: &network, streaming: None };
            match feed(&mut ports) {
                Fed::Something => true,
                Fed::Nothing => false,
                Fed::Stop => {
                    // SAFETY: called while the run lasts, by the one who feeds it.
                    halt.iter().for_each(|halt| unsafe { halt(context) });
                    false
                }
            }
        };
        self.fire(None, host, Some(&mut feeder))
    }

    fn report(&self) -> Report {
        if self.has_only_ports() {
            return Report::default();
        }
        let (fills, states, blocked) = self.inspect();
        let mut report = Report::default();
        for at in 0..self.network.instances.len() {
            self.waits_of(at, &fills, states[at], blocked[at], &mut report.waits);
        }
        for (connection, &tokens) in self.network.connections.iter().zip(&fills) {
            if tokens > 0 {
                let (source, target) = self.network.describe(connection);
                let capacity = self.network.capacity(connection, self.fifo_tokens);
                report.leftovers.push(Leftover { source, target, tokens: u64::from(tokens), capacity });
            }
        }
        report
    }

    fn firings(&self) -> Vec<Vec<u64>> {
        if self.has_only_ports() {
            return Vec::new();
        }
        let sizes: Vec<usize> = (0..self.network.instances.len())
            .map(|at| self.network.actor_of(InstanceId(at as u32)).actions.len())
            .collect();
        let mut flat = vec![0; sizes.iter().sum()];
        // SAFETY: one element for each action of each instance.
        unsafe { (self.table.firings)(self.memory.pointer(), flat.as_mut_ptr()) };
        let mut rest = flat.as_slice();
        sizes
            .into_iter()
            .map(|n| {
                let (own, others) = rest.split_at(n);
                rest = others;
                own.to_vec()
            })
            .collect()
    }

    fn profile(&self) -> Option<Profile> {
        let profile = self.profile?;
        let mut nanoseconds = vec![0u64; self.network.instances.len()];
        let mut marks = vec![0u32; self.network.connections.len()];
        // SAFETY: one element for each instance and for each connection of the network that was compiled.
        unsafe { profile(self.memory.pointer(), nanoseconds.as_mut_ptr(), marks.as_mut_ptr()) };
        let connections = self.network.connections.iter().zip(&marks);
        Some(Profile {
            times: nanoseconds.into_iter().map(Duration::from_nanos).collect(),
            most_tokens: connections.map(|(it, &mark)| c::is_profiled(it).then_some(u64::from(mark))).collect(),
        })
    }
}
