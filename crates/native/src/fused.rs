//! Networks as their control automata: compiled once, found again by what their scheduler is printed as, and fed from the
//! memory of whoever has the tokens.

use crate::compiled::{self, Compiled, Job};
use crate::compiler::Compiler;
use crate::context::{Helpers, Memory, Network as Table, Stream};
use crate::engine::{ALONE, Batch, NativeEngine, NativeError, Options, READ_TOKENS, missing, table};
use crate::library::Loaded;
use headrace_ir::Network;
use headrace_private::cache::UNFUSED;
use headrace_targets::c::{self, TrapPlace};
use headrace_transform::control::Automaton;
use std::cell::OnceCell;
use std::ffi::c_void;
use std::sync::Arc;
use std::time::UNIX_EPOCH;
use zeroize::Zeroizing;

/// Bytes that are worth a call of their own; fewer go through the buffer of the port.
const LEAST_BYTES: usize = 1 << 10;

/// Input that is taken at once, at most; output has twice the room, for what an operation adds. So much of both is still in the
/// caches when it is passed on.
const MOST_BYTES: usize = 1 << 18;

/// The same where several threads want something to do.
const MOST_BYTES_OF_THREADS: usize = 1 << 21;

/// A network that may have been compiled as a control automaton.
#[derive(Debug)]
pub struct Fused {
    network: Arc<Network>,
    compiler: Compiler,
    options: Options,
    /// Of what its scheduler is printed as: these come first in all that is made of the network.
    places: Vec<TrapPlace>,
    key: String,
    /// What was compiled before, once it was looked for.
    ready: OnceCell<Option<Loaded>>,
}

impl Fused {
    /// Finds out under which name it is kept.
    ///
    /// # Errors
    ///
    /// No compiler, or a network that the target cannot compile.
    pub fn new(network: Arc<Network>, options: &Options) -> Result<Self, NativeError> {
        let compiler = options.compiler.clone().or_else(Compiler::find).ok_or(NativeError::NoCompiler)?;
        let made = c::emit(&network, &emitted(options)).map_err(NativeError::Unsupported)?;
        let files = texts(&made);
        let own = format!("fused by {}", identity());
        let mut headers = borrowed(&files);
        headers.extend(c::RUNTIME_HELPERS);
        let key = compiler.key(&own, &headers, &options.flags);
        Ok(Self { network, compiler, options: options.clone(), places: made.places, key, ready: OnceCell::new() })
    }

    /// Whether an engine starts at once.
    pub fn is_ready(&self) -> bool {
        let look = || compiled::known(&compiled::cache(self.options.cache.as_deref()).ok()?, &self.key);
        self.ready.get_or_init(look).is_some()
    }

    /// An engine with so many threads; `None` where the network has no automaton that is printed. What is not there yet is
    /// compiled first.
    ///
    /// # Errors
    ///
    /// What the file system or the compiler said.
    pub fn engine(
        self,
        threads: u32,
        automaton: impl FnOnce() -> Option<Automaton>,
    ) -> Result<Option<NativeEngine>, NativeError> {
        self.is_ready();
        let compiled = match self.ready.into_inner().flatten() {
            Some(loaded) => Compiled { loaded, not_kept: None },
            None => {
                let cache = compiled::cache(self.options.cache.as_deref()).ok();
                if cache.as_ref().is_some_and(|cache| cache.get(&self.key, UNFUSED).is_some()) {
                    return Ok(None);
                }
                let emission =
                    automaton().map(|automaton| c::emit_with(&self.network, Some(&automaton), &emitted(&self.options)));
                let emission = emission.transpose().map_err(NativeError::Unsupported)?;
                let Some(made) = emission.filter(|made| made.fused) else {
                    // Where it cannot be written down, the next run looks again.
                    let _ = cache.map(|cache| cache.put(&self.key, UNFUSED, &[]));
                    return Ok(None);
                };
                let (source, headers) = sources(&made);
                let headers = borrowed(&headers);
                let mut flags = self.options.flags.clone();
                flags.push("-pthread".into());
                let (compiler, key, flags) = (&self.compiler, self.key.as_str(), flags.as_slice());
                let job = Job { compiler, key, source: &source, headers: &headers, flags };
                compiled::library(&job, self.options.cache.as_deref())?
            }
        };
        started(compiled, self.places, self.options.fifo_tokens, &self.network, threads).map(Some)
    }

    /// What names it when it has become an engine.
    pub fn name(&self) -> FusedName {
        FusedName { key: self.key.clone(), compiler: self.compiler.clone() }
    }
}

/// The name of a network that was compiled as a control automaton.
#[derive(Clone, Debug)]
pub struct FusedName {
    /// Under which it is kept.
    pub(crate) key: String,
    /// What has compiled it.
    pub(crate) compiler: Compiler,
}

/// An engine for fused code, with so many threads. Of the network nothing is needed but its ports: without its instances a report
/// says nothing.
///
/// # Errors
///
/// What the library says of itself, or no memory.
pub(crate) fn started(
    compiled: Compiled,
    places: Vec<TrapPlace>,
    fifo_tokens: u32,
    network: &Arc<Network>,
    threads: u32,
) -> Result<NativeEngine, NativeError> {
    let batch = batch(compiled, places, fifo_tokens)?;
    let mut engine = batch.engine(0, Arc::clone(network))?;
    engine.streaming = Streaming::new(&batch.library, network, &engine.table, &engine.memory, threads)?;
    Ok(engine)
}

impl Batch {
    /// Compiles a network as its control automaton, which runs instead of the scheduler wherever it can.
    ///
    /// # Errors
    ///
    /// As [`Batch::compile`].
    pub fn compile_fused(network: &Network, automaton: &Automaton, options: &Options) -> Result<Batch, NativeError> {
        let compiler = options.compiler.clone().or_else(Compiler::find).ok_or(NativeError::NoCompiler)?;
        let emit = c::Options { checked: false, count_firings: false, ..emitted(options) };
        let made = c::emit_with(network, Some(automaton), &emit).map_err(NativeError::Unsupported)?;
        let (source, headers) = sources(&made);
        let headers = borrowed(&headers);
        let (key, flags) = (compiler.key(&source, &headers, &options.flags), options.flags.as_slice());
        let job = Job { compiler: &compiler, key: &key, source: &source, headers: &headers, flags };
        batch(compiled::library(&job, options.cache.as_deref())?, made.places, options.fifo_tokens)
    }
}

/// How a network that runs alone is printed: engines have one message at a time.
fn emitted(options: &Options) -> c::Options {
    c::Options {
        prefix: Some(ALONE.to_owned()),
        many: false,
        fifo_tokens: options.fifo_tokens,
        checked: options.checked,
        ..c::Options::default()
    }
}

fn texts(made: &c::Emission) -> Vec<(String, String)> {
    let text = |(name, bytes): (&String, &Vec<u8>)| (name.clone(), String::from_utf8_lossy(bytes).into_owned());
    made.files.iter().map(text).collect()
}

fn borrowed(files: &[(String, String)]) -> Vec<(&str, &str)> {
    files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect()
}

/// One source text, helpers included, and the headers.
fn sources(made: &c::Emission) -> (String, Vec<(String, String)>) {
    let helpers = c::RUNTIME_HELPERS.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    let (sources, headers): (Vec<_>, Vec<_>) =
        texts(made).into_iter().chain(helpers).partition(|(name, _)| name.ends_with(".c"));
    (sources.into_iter().map(|(_, text)| text).collect(), headers)
}

fn batch(compiled: Compiled, places: Vec<TrapPlace>, fifo_tokens: u32) -> Result<Batch, NativeError> {
    let Compiled { loaded: library, not_kept } = compiled;
    let tables = vec![table(&library, ALONE)?];
    let (partitions, places, fifo_tokens) = (vec![None], vec![places], vec![fifo_tokens]);
    Ok(Batch {
        library: Arc::new(library),
        not_kept,
        profiles: vec![None; tables.len()],
        tables,
        partitions,
        places,
        fifo_tokens,
    })
}

/// What tells one build of this program from another: what an older one has printed is not taken for what this one prints.
pub(crate) fn identity() -> String {
    let about = std::env::current_exe().and_then(std::fs::metadata);
    let time = about.as_ref().ok().and_then(|about| about.modified().ok()?.duration_since(UNIX_EPOCH).ok());
    let bytes = about.map_or(0, |about| about.len());
    format!("{} {bytes} {}", env!("CARGO_PKG_VERSION"), time.unwrap_or_default().as_nanos())
}

/// A context that takes bytes where they lie, and what came out of it meanwhile.
pub(crate) struct Streaming {
    stream: Stream,
    /// The output whose bytes are put to `ready`.
    output: u32,
    /// Memory that changes places with that of whoever takes it, and is wiped at the end.
    ready: Zeroizing<Vec<u8>>,
    most_bytes: usize,
    helpers: Option<Box<Helpers>>,
}

impl Streaming {
    fn new(
        library: &Loaded,
        network: &Network,
        table: &Table,
        memory: &Memory,
        threads: u32,
    ) -> Result<Option<Self>, NativeError> {
        let output = network.outputs.iter().position(|port| port.ty.width() == 8);
        let (Some(stream), Some(output)) = (table.stream, output) else { return Ok(None) };
        let helpers = if threads > 1 && table.help.is_some() {
            // SAFETY: a function of this type in headrace_helpers.h.
            let make = unsafe { library.get::<unsafe extern "C" fn(u32) -> Helpers>(b"headrace_threads\0") };
            let make = make.map_err(|error| missing("headrace_threads", error))?;
            // SAFETY: it takes any number.
            Some(Box::new(unsafe { make(threads) }))
        } else {
            None
        };
        let most_bytes = if helpers.is_some() { MOST_BYTES_OF_THREADS } else { MOST_BYTES };
        let streaming = Self { stream, output: output as u32, ready: Zeroizing::default(), most_bytes, helpers };
        Ok(Some(streaming.again(table, memory)))
    }

    /// For a context that was put to its beginning.
    pub(crate) fn again(mut self, table: &Table, memory: &Memory) -> Self {
        self.ready.clear();
        if let (Some(help), Some(helpers)) = (table.help, &self.helpers) {
            // SAFETY: the context is one of this table; the helpers lie in a box that lives as long as the engine.
            unsafe { help(memory.pointer(), &**helpers) }
        }
        self
    }

    pub(crate) fn threads(&self) -> usize {
        self.helpers.as_ref().map_or(1, |helpers| helpers.n_threads as usize)
    }

    /// Runs with bytes for an input, if there are many: how many were taken.
    pub(crate) fn take(&mut self, context: *mut c_void, input: usize, bytes: &[u8]) -> Option<usize> {
        if bytes.len() < LEAST_BYTES {
            return None;
        }
        if self.ready.len() >= self.most_bytes {
            return Some(0);
        }
        let bytes = bytes.get(..self.most_bytes).unwrap_or(bytes);
        // Whoever takes it appends what waits in the buffer of the port, and has room for that without moving it.
        let most_ready = 2 * self.most_bytes;
        if self.ready.capacity() < most_ready + READ_TOKENS {
            let mut larger = Zeroizing::new(Vec::with_capacity(most_ready + READ_TOKENS));
            larger.extend_from_slice(&self.ready);
            self.ready = larger;
        }
        let left = most_ready - self.ready.len();
        let room = &mut self.ready.spare_capacity_mut()[..left];
        let (mut made, mut status) = (room.len(), 0);
        // SAFETY: the context is one of this function's; the buffers do not overlap, and it initialises the bytes that it
        // says were made.
        unsafe {
            let taken = (self.stream)(
                context,
                input as u32,
                bytes.as_ptr(),
                bytes.len(),
                self.output,
                room.as_mut_ptr().cast(),
                &mut made,
                &mut status,
            );
            let there = self.ready.len() + made;
            self.ready.set_len(there);
            Some(taken)
        }
    }

    /// Moves what is ready of an output.
    pub(crate) fn give(&mut self, output: usize, tokens: &mut Vec<u8>) -> usize {
        if output != self.output as usize || self.ready.is_empty() {
            return 0;
        }
        let n = self.ready.len();
        if tokens.is_empty() {
            std::mem::swap(tokens, &mut *self.ready);
        } else {
            tokens.append(&mut self.ready);
        }
        n
    }
}
