//! A block cipher's networks against plain C: whole blocks from memory to memory, compiled by the same compiler with the
//! same flags, in alternating runs.

use super::Measured;
use crate::cli::BenchArgs;
use crate::commands::Context;
use crate::failure::Outcome;
use headrace::Error;
use headrace::embedded;
use headrace::primitive::push;
use headrace_bench::measure::{Contender, speed_ratio, take_turns};
use headrace_bench::reference::Reference;
use headrace_bench::results::{Machine, Ratio, Row, Subject};
use headrace_engine::Engine;
use headrace_exchange::{SilentHost, input_named};
use headrace_ir::Network;
use headrace_library::Role;
use headrace_library::catalog::{Framing, Library, OperationSpec};
use headrace_library::framing::{Message, MessageWriter};
use headrace_native::{Compiler, NativeEngine, Options};
use std::cell::RefCell;
use std::sync::Arc;

/// The parameter set that is measured.
pub const SET: &str = "aes128";

/// How our implementation is called.
const OURS_NAME: &str = "headrace";

/// Bytes of a run.
const RUN_BYTES: usize = 4 << 20;
/// Bytes that are compared before anything is measured.
const COMPARED_BYTES: usize = 1 << 18;
/// Capacity of the FIFOs of our networks, in tokens.
const FIFO_TOKENS: u32 = 4096;

/// Key and plaintext of FIPS 197, appendix C.1, with the ciphertext.
const KEY: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
const PLAIN: [u8; 16] =
    [0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff];
const CIPHER: [u8; 16] =
    [0x69, 0xc4, 0xe0, 0xd8, 0x6a, 0x7b, 0x04, 0x30, 0xd8, 0xcd, 0xb7, 0x80, 0x70, 0xb4, 0xc5, 0x5a];

/// References by file: operation and variant that stand in the table, for the operation of ours whose output is equal.
const REFERENCES: &[(&str, &str, &str)] = &[
    ("aes128_ecb_tables.c", "encrypt", "plain loop"),
    ("aes128_ecb_ring.c", "encrypt", "ring of four steps"),
    ("aes128_ecb_openssl.c", "encrypt", "EVP"),
    ("aes128_ctr_openssl.c", "ctr", "EVP"),
];

/// Our operations and variants.
const OURS: &[(&str, &str)] = &[("encrypt", "lut"), ("encrypt", "standard"), ("ctr", "lut"), ("ctr", "standard")];

/// Operation and variant of a contender.
type Named = (&'static str, &'static str);

/// Goals: name, ours, the other, at least.
const GOALS: &[(&str, Named, Named, f64)] = &[
    ("look-up-table actor with byte ports / plain loop", ("encrypt", "lut"), ("encrypt", "plain loop"), 0.80),
    ("FIPS 197 network / hand-written ring", ("encrypt", "standard"), ("encrypt", "ring of four steps"), 0.90),
    ("CTR over the look-up-table actor / the actor alone", ("ctr", "lut"), ("encrypt", "lut"), 0.50),
];

/// Measures with every compiler.
pub fn measure(context: &mut Context, arguments: &BenchArgs, machine: &Machine) -> Outcome<Measured> {
    let library = context.library()?;
    let names: Vec<String> = match arguments.compilers.as_slice() {
        [] => ["gcc", "clang"].map(str::to_owned).to_vec(),
        named => named.to_vec(),
    };
    let mut measured = Measured::default();
    for name in &names {
        match Compiler::named(name) {
            Some(compiler) => {
                context.terminal.status(&format!("measuring {SET} with {name}"));
                let part = with_compiler(context, &library, &compiler, name, arguments.pairs as usize, machine)?;
                measured.rows.extend(part.rows);
                measured.ratios.extend(part.ratios);
            }
            None if arguments.compilers.is_empty() => context.terminal.note(&format!("not run: no {name}")),
            None => return Err(Error::missing(format!("there is no C compiler `{name}`"))),
        }
    }
    if measured.rows.is_empty() {
        return Err(Error::missing("there is no C compiler: apt-get install gcc libc6-dev"));
    }
    Ok(measured)
}

/// Encrypts all blocks of the first argument into the second.
type Encrypt<'a> = dyn FnMut(&[u8], &mut Vec<u8>) -> Result<(), String> + 'a;

/// One of those who are measured.
struct Entry<'a> {
    operation: &'static str,
    variant: &'static str,
    implementation: String,
    verified: String,
    encrypt: Box<Encrypt<'a>>,
}

fn with_compiler(
    context: &mut Context,
    library: &Library,
    compiler: &Compiler,
    name: &str,
    pairs: usize,
    machine: &Machine,
) -> Outcome<Measured> {
    let options = Options { fifo_tokens: FIFO_TOKENS, compiler: Some(compiler.clone()), ..Options::default() };
    let flags: Vec<&str> = options.flags.iter().map(String::as_str).filter(|flag| !flag.starts_with("-std")).collect();
    let engine = format!("{name} {}", options.flags.join(" "));
    let mut entries = references(name, &flags)?;
    for (operation, variant) in OURS {
        let spec = library.operation(SET, operation);
        let spec = spec.ok_or_else(|| Error::wrong(format!("the library has no `{SET} {operation}`")))?;
        entries.push(ours(context, spec, operation, variant, &options)?);
    }
    verify(&mut entries).map_err(Error::wrong)?;
    let input: Vec<u8> = (0..RUN_BYTES).map(|at| (at * 7 + at / 251) as u8).collect();
    let outputs: Vec<RefCell<Vec<u8>>> =
        entries.iter().map(|_| RefCell::new(Vec::with_capacity(RUN_BYTES + (1 << 16)))).collect();
    let mut contenders: Vec<Contender> = Vec::new();
    let mut heads = Vec::new();
    for (entry, output) in entries.into_iter().zip(&outputs) {
        let Entry { operation, variant, implementation, verified, mut encrypt } = entry;
        heads.push((operation, variant, implementation, verified));
        let input = &input;
        contenders.push(Box::new(move || encrypt(input, &mut output.borrow_mut())));
    }
    let times = take_turns(&mut contenders, pairs).map_err(Error::wrong)?;
    let seconds = |wanted: (&str, &str)| {
        let at = heads.iter().position(|(operation, variant, ..)| (*operation, *variant) == wanted)?;
        times.get(at)
    };
    let mut measured = Measured::default();
    for (goal, own, other, least) in GOALS {
        if let (Some(own), Some(other)) = (seconds(*own), seconds(*other)) {
            measured.ratios.push(Ratio {
                name: (*goal).into(),
                engine: engine.clone(),
                value: speed_ratio(own, other),
                goal: *least,
                at_most: false,
                unit: String::new(),
                pairs,
            });
        }
    }
    for ((operation, variant, implementation, verified), seconds) in heads.into_iter().zip(times.iter()) {
        let made = if implementation == OURS_NAME {
            format!("c by {engine}; FIFOs of {FIFO_TOKENS} tokens, run-time errors checked")
        } else {
            engine.clone()
        };
        let subject = Subject {
            primitive: SET.into(),
            operation: operation.into(),
            variant: variant.into(),
            implementation,
            engine: made,
            bytes: RUN_BYTES as u64,
            verified: Some(verified),
        };
        measured.rows.push(Row::new(subject, seconds.clone(), machine.clock_hz));
    }
    Ok(measured)
}

fn references<'a>(compiler: &str, flags: &[&str]) -> Outcome<Vec<Entry<'a>>> {
    let sources: Vec<(&str, &[u8])> = embedded::below("bench/reference/").collect();
    let mut entries = Vec::new();
    for (file, operation, variant) in REFERENCES {
        // In counter mode the counter starts at the plaintext of the standard, so that zeros become its ciphertext.
        let built = Reference::build(file, &sources, compiler, flags, &KEY, &PLAIN).map_err(Error::wrong)?;
        let Some(mut reference) = built else { continue };
        entries.push(Entry {
            operation,
            variant,
            implementation: reference.version.clone(),
            verified: "FIPS 197, C.1; equal outputs".into(),
            encrypt: Box::new(move |input, output| {
                output.resize(input.len(), 0);
                reference.encrypt(input, output)
            }),
        });
    }
    Ok(entries)
}

fn ours<'a>(
    context: &mut Context,
    spec: &OperationSpec,
    operation: &'static str,
    variant: &'static str,
    options: &Options,
) -> Outcome<Entry<'a>> {
    let found = spec.variant(Some(variant));
    let found = found.ok_or_else(|| Error::wrong(format!("`{}` has no variant `{variant}`", spec.full_name())))?;
    let network = context.elaborate(&found.network.to_string(), &[])?;
    let engine = NativeEngine::new(network.clone(), options).map_err(|error| Error::missing(error.to_string()))?;
    let mut burst = Burst::new(spec, network, Box::new(engine)).map_err(Error::wrong)?;
    Ok(Entry {
        operation,
        variant,
        implementation: OURS_NAME.into(),
        verified: "FIPS 197, C.1; equal outputs".into(),
        encrypt: Box::new(move |input, output| burst.encrypt(input, output)),
    })
}

/// Sends whole blocks through an engine, memory to memory. The key was sent before.
pub struct Burst {
    network: Arc<Network>,
    engine: Box<dyn Engine>,
    input: usize,
    output: usize,
    /// What comes before the bytes of a burst, by port; a count of bytes or blocks is filled in.
    head: Vec<(usize, Head)>,
    /// Outputs that only count and are not wanted.
    others: Vec<usize>,
    scratch: Vec<u8>,
}

enum Head {
    Fixed(Vec<u8>),
    Blocks,
    ChunkSize,
}

impl Burst {
    /// Sends the key with an empty message and prepares bursts that keep it. A mode's initial block is the plaintext of the
    /// standard.
    pub fn new(spec: &OperationSpec, network: Arc<Network>, mut engine: Box<dyn Engine>) -> Result<Self, String> {
        let mut writer = MessageWriter::new(spec);
        let mut message = Message::new().with(Role::Key, KEY).with(Role::Input, Vec::new());
        if spec.input(Role::Iv).is_some() {
            message.set(Role::Iv, PLAIN);
        }
        let first = writer.whole(&message).map_err(|problems| headrace::primitive::messages(&problems))?;
        let mut pending: Vec<headrace::feed::Pending> =
            network.inputs.iter().map(|port| headrace::feed::Pending::new(port.ty.storage_bytes())).collect();
        push(&network, &first, &mut pending)?;
        for (input, pending) in pending.iter_mut().enumerate() {
            let tokens = pending.buffer().clone();
            let size = network.inputs[input].ty.storage_bytes();
            if engine.write(input, &tokens) * size != tokens.len() {
                return Err("the first message does not fit".into());
            }
        }
        engine.run(None, &mut SilentHost).map_err(|trap| trap.to_string())?;
        let port = |name: &str| input_named(&network, name).ok_or_else(|| format!("there is no input `{name}`"));
        let output_named = |name: &str| network.outputs.iter().position(|port| port.name == name);
        let mut head = Vec::new();
        for spec_port in &spec.inputs {
            match spec_port.role {
                Role::Rekey => head.push((port(&spec_port.name)?, Head::Fixed(vec![0]))),
                Role::Iv => head.push((port(&spec_port.name)?, Head::Fixed(PLAIN.to_vec()))),
                Role::Blocks => head.push((port(&spec_port.name)?, Head::Blocks)),
                Role::Input => {
                    if let (Some(companion), Framing::Message) = (&spec_port.companion, spec.framing) {
                        head.push((port(companion)?, Head::ChunkSize));
                    }
                }
                _ => {}
            }
        }
        let input = spec.input(Role::Input).ok_or("there is no input")?;
        let output = spec.output(Role::Output).ok_or("there is no output")?;
        let output = output_named(&output.name).ok_or("there is no output port")?;
        let others: Vec<usize> = (0..network.outputs.len()).filter(|at| *at != output).collect();
        let mut scratch = Vec::new();
        for other in 0..network.outputs.len() {
            engine.read(other, &mut scratch);
        }
        Ok(Self { input: port(&input.name)?, output, head, others, scratch, network, engine })
    }

    /// Encrypts whole blocks; `output` is overwritten.
    pub fn encrypt(&mut self, input: &[u8], output: &mut Vec<u8>) -> Result<(), String> {
        for (port, head) in &self.head {
            let count;
            let tokens: &[u8] = match head {
                Head::Fixed(tokens) => tokens,
                Head::Blocks => {
                    count = ((input.len() / KEY.len()) as u32).to_le_bytes();
                    &count
                }
                Head::ChunkSize => {
                    count = (input.len() as u32 | headrace::inputs::LAST_CHUNK).to_le_bytes();
                    &count
                }
            };
            let size = self.network.inputs[*port].ty.storage_bytes();
            if self.engine.write(*port, tokens) * size != tokens.len() {
                return Err("the head of a burst does not fit".into());
            }
        }
        output.clear();
        let mut sent = 0;
        loop {
            let written = self.engine.write(self.input, &input[sent..]);
            sent += written;
            let ran = self.engine.run(None, &mut SilentHost);
            ran.map_err(|trap| trap.to_string())?;
            let read = self.engine.read(self.output, output);
            for other in &self.others {
                self.scratch.clear();
                self.engine.read(*other, &mut self.scratch);
            }
            if output.len() >= input.len() {
                return Ok(());
            }
            if written == 0 && read == 0 {
                return Err(format!("stuck after {} of {} bytes", output.len(), input.len()));
            }
        }
    }
}

/// Compares all outputs with each other and with the standard.
fn verify(entries: &mut [Entry]) -> Result<(), String> {
    let noise: Vec<u8> = (0..COMPARED_BYTES).map(|at| (at * at + at / 13) as u8).collect();
    let zeros = [0; CIPHER.len()];
    let mut expected: Vec<(&str, Vec<u8>)> = Vec::new();
    for entry in entries {
        let named = |problem: String| format!("{} ({}): {problem}", entry.implementation, entry.variant);
        let mut output = Vec::new();
        let block = if entry.operation == "encrypt" { &PLAIN } else { &zeros };
        (entry.encrypt)(block, &mut output).map_err(named)?;
        if output != CIPHER {
            return Err(named("does not encrypt the example of FIPS 197".into()));
        }
        (entry.encrypt)(&noise, &mut output).map_err(named)?;
        match expected.iter().find(|(operation, _)| *operation == entry.operation) {
            Some((_, first)) if *first != output => return Err(named("differs from the others".into())),
            Some(_) => {}
            None => expected.push((entry.operation, output)),
        }
    }
    Ok(())
}
