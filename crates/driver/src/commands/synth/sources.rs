//! Where the Verilog of cores comes from: networks, operations of the library, and files and folders of anybody; and the bench
//! that tells how many cycles messages take in each.

use super::simulation::TestBench;
use crate::cli::{ShapeName, SynthArgs};
use crate::commands::Context;
use crate::failure::Outcome;
use headrace::Error;
use headrace::build::answers::interpreted_answer;
use headrace::build::recording::{record, recorded};
use headrace::build::{self, Build};
use headrace::reading::read_at_most;
use headrace_bench::study::{Published, Study};
use headrace_ir::{Int, IntType, Network};
use headrace_library::Role;
use headrace_library::catalog::{Library, OperationSpec};
use headrace_library::framing::Message;
use headrace_library::samples;
use headrace_synthesis::script::{Reading, is_plain};
use headrace_targets::Target;
use headrace_targets::project::{Files, KnownAnswer, Recording};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Verilog that is measured.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// What it is, as its row says.
    pub(super) primitive: String,
    pub(super) operation: String,
    pub(super) variant: String,
    pub(super) implementation: String,
    /// What it does, too: the name of a core that is ours; empty where nobody says.
    pub(super) like: String,
    /// What a study has of it.
    pub(super) published: Option<Published>,
    /// The command that made it; empty for what a user has written.
    pub(super) made_by: String,
    /// Files that are read, by plain names.
    pub(super) files: Vec<(String, Vec<u8>)>,
    /// Files that these include.
    pub(super) included: Vec<(String, Vec<u8>)>,
    /// How they are read.
    pub(super) reading: Reading,
    /// The clock, where somebody says which it is.
    pub(super) clock: Option<String>,
    /// How many cycles messages take.
    pub(super) timing: Timing,
}

/// How it is known how many cycles messages take.
#[derive(Clone, Debug)]
pub(super) enum Timing {
    /// It is not.
    Unknown,
    /// The user says what a block takes.
    Given { bits: u64, cycles: u64 },
    /// It is measured.
    Measured(TestBench),
}

impl Source {
    /// What is read and what that includes.
    pub(super) fn all_files(&self) -> impl Iterator<Item = &(String, Vec<u8>)> {
        self.files.iter().chain(&self.included)
    }

    /// What messages call it.
    pub(super) fn name(&self) -> String {
        let names = [&self.primitive, &self.operation, &self.variant].map(String::as_str);
        names.into_iter().filter(|name| !name.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// A name for its folder.
    pub(super) fn folder(&self) -> String {
        let fits = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
        self.name().chars().map(fits).collect::<String>().trim_matches(['-', '.']).to_owned()
    }

    /// Where its cycles are measured.
    pub(super) fn test_bench(&self) -> Option<&TestBench> {
        match &self.timing {
            Timing::Measured(bench) => Some(bench),
            Timing::Unknown | Timing::Given { .. } => None,
        }
    }
}

/// Everything that is named on the command line, in its order.
pub(super) fn all(context: &mut Context, arguments: &SynthArgs) -> Outcome<Vec<Source>> {
    let library = context.library()?;
    if arguments.shape == ShapeName::Axi {
        return Err(Error::usage("--shape axi: cores are measured with streams or with the LWC hardware API"));
    }
    if arguments.shape != ShapeName::Lwc && (arguments.study.is_some() || arguments.word_bits.is_some()) {
        return Err(Error::usage("--study, --word-bits: they are about cores with the LWC hardware API (--shape lwc)"));
    }
    let study = arguments.study.as_deref().map(study).transpose()?;
    let mut sources = Vec::new();
    for name in &arguments.cores {
        if arguments.shape == ShapeName::Lwc {
            sources.extend(of_lwc(context, &library, name, study.as_ref(), arguments)?);
        } else if build::is_of_library(&library, name) {
            sources.extend(of_set(context, &library, name, arguments)?);
        } else if is_verilog(Path::new(name)) {
            sources.push(of_path(context, &library, Path::new(name), arguments)?);
        } else {
            sources.push(of_network(context, name, arguments)?);
        }
    }
    Ok(sources)
}

/// The target whose projects are measured.
fn target() -> Outcome<&'static Target> {
    build::target("verilog")
}

/// What `headrace build` would have been told.
fn build_of(arguments: &SynthArgs, name: &str, operation: Option<&str>) -> Outcome<Build> {
    let is_operation = operation.is_some();
    Ok(Build {
        parameters: if is_operation { Vec::new() } else { Context::parameters(&arguments.parameters)? },
        fifo_tokens: arguments.fifo,
        variant: arguments.variant.clone().filter(|_| is_operation),
        operations: operation.map(str::to_owned).into_iter().collect(),
        fused: !arguments.unfused,
        hardware: arguments.hardware.options(),
        shape: arguments.shape.into(),
        ..Build::new(target()?, &[name])
    })
}

/// The operations of a parameter set.
fn of_set(context: &mut Context, library: &Library, name: &str, arguments: &SynthArgs) -> Outcome<Vec<Source>> {
    if !arguments.parameters.is_empty() {
        return Err(Error::usage("--set is for networks and Verilog; parameter sets of the library have their values"));
    }
    let target = target()?;
    let mut sources = Vec::new();
    for set in build::sets_of(library, &[name.to_owned()], target)? {
        let all: Vec<&OperationSpec> = library.operations().iter().filter(|spec| spec.set == set).collect();
        let wanted =
            |spec: &&&OperationSpec| arguments.operations.is_empty() || arguments.operations.contains(&spec.name);
        let meant: Vec<&OperationSpec> =
            all.iter().filter(wanted).copied().filter(|spec| !(target.offers)(spec).is_empty()).collect();
        if meant.is_empty() {
            let known: Vec<&str> = all.iter().map(|spec| spec.name.as_str()).collect();
            return Err(Error::usage(format!(
                "`{set}` has no operation `{}` with an interface; there are {}",
                arguments.operations.join("`, `"),
                known.join(", ")
            )));
        }
        for spec in meant {
            sources.push(of_operation(context, library, spec, arguments)?);
        }
    }
    Ok(sources)
}

/// An operation of the library, with known answers and messages of several lengths in its bench.
fn of_operation(
    context: &mut Context,
    library: &Library,
    spec: &OperationSpec,
    arguments: &SynthArgs,
) -> Outcome<Source> {
    let target = target()?;
    let variant = spec.variant(arguments.variant.as_deref()).ok_or_else(|| {
        let known: Vec<&str> = spec.variants.iter().map(|variant| variant.name.as_str()).collect();
        Error::usage(format!("`{}` has no such variant; there are {}", spec.full_name(), known.join(", ")))
    })?;
    let network = context.elaborate(&variant.network.to_string(), &[])?;
    let answers = context.workspace.known_answers(library, &[spec]);
    let mut answers = context.told(answers)?;
    let is_short = |answer: &KnownAnswer| {
        let strings = answer.strings.values().chain(answer.expected.iter().flat_map(|expected| expected.values()));
        strings.map(Vec::len).sum::<usize>() <= MOST_KNOWN_BYTES
    };
    answers.retain(|answer| is_short(answer) && (target.holds)(spec, &network, answer));
    answers.truncate(MOST_KNOWN);
    let mut blocks = vec![None; answers.len()];
    let block_bytes = block_bytes(spec);
    for (n, message) in measured_messages(spec, block_bytes) {
        let answer = interpreted_answer(0, spec, &network, &message);
        if let Some(answer) = answer.filter(|answer| (target.holds)(spec, &network, answer)) {
            answers.push(answer);
            blocks.push(Some(n));
        }
    }
    let built = build_of(arguments, &spec.set, Some(&spec.name))?.options()?;
    let title = format!("{}, {}", spec.title, spec.set);
    let made = (target.of_operations)(&spec.set, &title, &[(spec, &network)], &answers, &built, &|_, _| {});
    let files = made.map_err(|problems| {
        context.show(&problems);
        Error::Told
    })?;
    let bits = block_bytes.map_or_else(|| word_bits(spec, &network), |bytes| 8 * bytes);
    let bench = TestBench::of_project(&files, &format!("{}/", spec.name), blocks, bits);
    Ok(Source {
        primitive: spec.set.clone(),
        operation: spec.name.clone(),
        variant: joined([variant.name.clone()].into_iter().chain(folding(arguments)).collect()),
        implementation: "headrace".into(),
        made_by: built.command,
        ..of_project(&files, &format!("{}/", spec.name), bench)
    })
}

/// A study in a file.
fn study(path: &Path) -> Outcome<Study> {
    let text = read(path)?;
    let study = Study::parse(&String::from_utf8_lossy(&text));
    study.map_err(|why| Error::wrong(format!("{}: {why}", path.display())))
}

/// Cores with the LWC hardware API of parameter sets, with known answers and messages of several lengths in their benches.
fn of_lwc(
    context: &mut Context,
    library: &Library,
    name: &str,
    study: Option<&Study>,
    arguments: &SynthArgs,
) -> Outcome<Vec<Source>> {
    if !arguments.parameters.is_empty() || arguments.like.is_some() || !arguments.block.is_empty() {
        return Err(Error::usage("--shape lwc: --set, --like and --block are for networks and Verilog"));
    }
    if !build::is_of_library(library, name) {
        return Err(Error::usage(format!("--shape lwc is for parameter sets of the library; `{name}` is none")));
    }
    let mut sources = Vec::new();
    for set in build::sets_of(library, &[name.to_owned()], target()?)? {
        let studied = study.and_then(|study| study.of(set));
        let mut specs = library.operations().iter().filter(|spec| spec.set == set);
        let usual = specs.clone().find_map(block_bytes).unwrap_or(USUAL_BLOCK);
        let bytes = studied.map_or(usual, |studied| studied.block_bytes);
        let word_bits = arguments.word_bits.or(studied.map(|studied| studied.word_bits)).unwrap_or(32);
        let operations = arguments.operations.clone();
        let variant = arguments.variant.clone().or_else(|| studied?.variant.clone());
        let build = Build { operations, word_bits, variant: variant.clone(), ..build_of(arguments, set, Some(""))? };
        build.check()?;
        let title = specs.next().map_or_else(String::new, |spec| format!("{}, {set}", spec.title));
        let core = context.workspace.lwc_core(library, &[set], &title, &build, Some(bytes), &|_, _| {});
        let core = context.told(core)?;
        let bench = TestBench::of_lwc(&core.files, &core.measured, 8 * bytes);
        sources.push(Source {
            primitive: set.to_owned(),
            operation: "lwc".into(),
            variant: joined(variant.into_iter().chain(folding(arguments)).collect()),
            implementation: "headrace".into(),
            published: studied.map(|studied| studied.published.clone()),
            made_by: build.command(),
            ..of_project(&core.files, "", bench)
        });
    }
    Ok(sources)
}

/// Known answers that the bench of a core holds, and their bytes.
const MOST_KNOWN: usize = 6;
const MOST_KNOWN_BYTES: usize = 512;

/// Blocks of messages whose cycles are measured.
const BLOCKS: [u64; 4] = [1, 3, 7, 15];

/// Bytes of a block where an operation has none of its own.
const USUAL_BLOCK: u64 = 64;

/// Bytes of what an operation takes at once; none for one that has no input.
fn block_bytes(spec: &OperationSpec) -> Option<u64> {
    let of_hash = spec.openssl.iter().find_map(|name| name.block_bytes);
    spec.input(Role::Input).map(|_| spec.block_bytes.or(of_hash).unwrap_or(USUAL_BLOCK))
}

/// Bits of what a generator gives at once.
fn word_bits(spec: &OperationSpec, network: &Network) -> u64 {
    let output = spec.output(Role::Output);
    let port = output.and_then(|output| network.outputs.iter().find(|port| port.name == output.name));
    port.map_or(8, |port| u64::from(port.ty.width()))
}

/// Messages by the number of their blocks.
fn measured_messages(spec: &OperationSpec, block_bytes: Option<u64>) -> Vec<(u64, Message)> {
    let Some(usual) = samples::messages(spec).into_iter().next() else { return Vec::new() };
    let with = |n: &u64| {
        let mut message = usual.clone();
        match (block_bytes, spec.input(Role::Input)) {
            (Some(bytes), Some(port)) => {
                let length = n * bytes;
                if !port.sizes.allows(length) {
                    return None;
                }
                // What the bytes are does not matter, as long as blocks differ.
                message.set(Role::Input, (0..length).map(|at| (at * 167 + at / 251 + n) as u8).collect::<Vec<_>>());
            }
            _ => message.words = *n,
        }
        message.check(spec, false).is_empty().then_some((*n, message))
    };
    BLOCKS.iter().filter_map(with).collect()
}

/// A network, in the bench that its recorded runs make: of blocks, where it is said what they are.
fn of_network(context: &mut Context, name: &str, arguments: &SynthArgs) -> Outcome<Source> {
    let network: Arc<Network> = context.elaborate(name, &arguments.parameters)?;
    let built = build_of(arguments, name, None)?.options()?;
    let mut recordings = Vec::new();
    let (mut blocks, mut bits) = (Vec::new(), 0);
    if arguments.block.is_empty() {
        recordings.extend(record(&network, arguments.fifo));
    } else {
        let (streams, block_bits) = block(&network, &arguments.block)?;
        bits = block_bits;
        for n in BLOCKS {
            if let Some(recording) = recorded(&network, arguments.fifo, tokens(&network, &streams, n)) {
                recordings.push(recording);
                blocks.push(Some(n));
            }
        }
        if recordings.len() < 2 {
            return Err(Error::wrong(format!("--block: nothing comes out of `{name}` for such blocks")));
        }
    }
    let all: Vec<&Recording> = recordings.iter().collect();
    let files = headrace_targets::verilog_of_network(&network, &all, &built).map_err(|problems| {
        context.show(&problems);
        Error::Told
    })?;
    let bench = TestBench::of_project(&files, "", blocks, bits);
    Ok(Source {
        primitive: network.name.clone(),
        variant: joined(folding(arguments)),
        implementation: "headrace".into(),
        made_by: built.command,
        timing: given(arguments).unwrap_or_else(|| bench.map_or(Timing::Unknown, Timing::Measured)),
        ..of_project(&files, "", None)
    })
}

/// Tokens of a block at a port: these, or so many arbitrary ones.
enum Tokens {
    These(Vec<i64>),
    Arbitrary(u64),
}

/// Most tokens of a block at a port.
const MOST_TOKENS: u64 = 1 << 16;

/// The tokens of a block at each port, and its bits: those of the arbitrary tokens at the port that has most.
fn block(network: &Network, said: &[String]) -> Outcome<(Vec<Tokens>, u64)> {
    let mut streams: Vec<Option<Tokens>> = network.inputs.iter().map(|_| None).collect();
    let wrong = |one: &str| Error::usage(format!("--block {one}: PORT=TOKENS is wanted, as in Rounds=24 or Input=*25"));
    for one in said {
        let (port, tokens) = one.split_once('=').ok_or_else(|| wrong(one))?;
        let known: Vec<&str> = network.inputs.iter().map(|port| port.name.as_str()).collect();
        let at = known.iter().position(|name| *name == port).ok_or_else(|| {
            Error::usage(format!("--block: `{}` has no input `{port}`; there are {}", network.name, known.join(", ")))
        })?;
        let tokens = match tokens.strip_prefix('*') {
            Some(n) => n.parse().ok().filter(|n| (1..=MOST_TOKENS).contains(n)).map(Tokens::Arbitrary),
            None => tokens.split(',').map(|token| token.parse().ok()).collect::<Option<_>>().map(Tokens::These),
        };
        streams[at] = Some(tokens.ok_or_else(|| wrong(one))?);
    }
    let bits = streams.iter().zip(&network.inputs).map(|(tokens, port)| match tokens {
        Some(Tokens::Arbitrary(n)) => n * u64::from(port.ty.width()),
        _ => 0,
    });
    let bits = bits.max().unwrap_or(0);
    let streams = streams.into_iter().zip(&network.inputs).map(|(tokens, port)| {
        tokens.ok_or_else(|| Error::usage(format!("--block: what comes at port `{}` is not said", port.name)))
    });
    Ok((streams.collect::<Outcome<_>>()?, bits))
}

/// The tokens of so many blocks, as they are stored.
fn tokens(network: &Network, streams: &[Tokens], blocks: u64) -> Vec<Vec<u8>> {
    // A linear congruential generator modulo 2^64 (Knuth's MMIX constants); its upper bits are the arbitrary ones.
    let mut state = blocks;
    let mut arbitrary = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state
    };
    let mut all = Vec::new();
    for (stream, port) in streams.iter().zip(&network.inputs) {
        let ty = port.ty.as_int().unwrap_or(IntType::unsigned(1));
        let store = |value: Int| value.wrap(ty).to_le_bytes(port.ty.storage_bytes());
        let mut stored = Vec::new();
        for _ in 0..blocks {
            match stream {
                Tokens::These(tokens) => stored.extend(tokens.iter().flat_map(|&token| store(Int::from(token)))),
                Tokens::Arbitrary(n) => (0..*n).for_each(|_| {
                    let value = (arbitrary() >> 32) << 32 | arbitrary() >> 32;
                    stored.extend(store(Int::from(value)));
                }),
            }
        }
        all.push(stored);
    }
    all
}

/// How rounds are folded, where that is not the usual way: rows of one network are told from each other by it.
fn folding(arguments: &SynthArgs) -> Vec<String> {
    let options = arguments.hardware.options();
    let usual = headrace_hardware::Options::default();
    let mut words = Vec::new();
    words.extend((options.rounds_per_cycle != usual.rounds_per_cycle).then(|| match options.rounds_per_cycle {
        0 => "all rounds in a cycle".to_owned(),
        n => format!("{n} rounds a cycle"),
    }));
    words.extend((options.stages != usual.stages).then(|| format!("{} stages", options.stages)));
    words
}

fn joined(words: Vec<String>) -> String {
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ")
}

/// The Verilog of a project in a folder of it.
fn of_project(files: &Files, folder: &str, bench: Option<TestBench>) -> Source {
    let rtl = format!("{folder}rtl/");
    let own = files.iter().filter_map(|(path, bytes)| Some((path.strip_prefix(&rtl)?, bytes)));
    let files: Vec<(String, Vec<u8>)> =
        own.enumerate().map(|(at, (name, bytes))| (format!("{at}_{name}"), bytes.clone())).collect();
    let reading = Reading {
        files: files.iter().map(|(name, _)| name.clone()).collect(),
        top: bench.as_ref().map(|bench| bench.dut.clone()),
        parameters: Vec::new(),
    };
    Source {
        primitive: String::new(),
        operation: String::new(),
        variant: String::new(),
        implementation: String::new(),
        like: String::new(),
        published: None,
        made_by: String::new(),
        files,
        included: Vec::new(),
        reading,
        clock: None,
        timing: bench.map_or(Timing::Unknown, Timing::Measured),
    }
}

/// What the user says of the cycles of Verilog.
fn given(arguments: &SynthArgs) -> Option<Timing> {
    Some(Timing::Given { bits: arguments.bits?, cycles: arguments.cycles? })
}

fn ending(path: &Path) -> &str {
    path.extension().and_then(|ending| ending.to_str()).unwrap_or_default()
}

/// Whether a path is of Verilog, and not of CAL.
fn is_verilog(path: &Path) -> bool {
    path.is_dir() || matches!(ending(path), "v" | "sv")
}

/// Most bytes of a file of Verilog.
const MOST_BYTES: u64 = 64 << 20;

fn read(path: &Path) -> Outcome<Vec<u8>> {
    read_at_most(path, MOST_BYTES).map_err(Error::wrong)
}

/// Files of a folder, sorted; not those below it.
fn listed(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let failed = |error: std::io::Error| Error::io(folder.display(), &error);
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_file() {
            all.push(path);
        }
    }
    all.sort();
    Ok(all)
}

/// Verilog in a file or a folder.
fn of_path(context: &mut Context, library: &Library, path: &Path, arguments: &SynthArgs) -> Outcome<Source> {
    let parameters = Context::parameters(&arguments.parameters)?;
    let plain = |name: &str, what: &str| match is_plain(name) {
        true => Ok(()),
        false => Err(Error::usage(format!(
            "{what} `{}`: a name with letters, digits, `_`, `-`, `.` and `$` is wanted",
            name.escape_debug()
        ))),
    };
    if !parameters.is_empty() && arguments.top.is_none() {
        return Err(Error::usage("--set: --top says whose parameters of the Verilog are meant"));
    }
    for (name, value) in &parameters {
        plain(name, "--set")?;
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '\'' | '_' | '-' | '"');
        if value.is_empty() || !value.chars().all(fits) {
            let wrong = value.escape_debug();
            return Err(Error::usage(format!("--set {name}: `{wrong}` is no number and no string of Verilog")));
        }
    }
    arguments.top.iter().try_for_each(|top| plain(top, "--top"))?;
    let folder = if path.is_dir() { path.to_owned() } else { path.parent().map(Path::to_owned).unwrap_or_default() };
    let inner = folder.join("rtl");
    let rtl = if path.is_dir() && inner.is_dir() { inner } else { folder.clone() };
    let in_folder = listed(if rtl.as_os_str().is_empty() { Path::new(".") } else { &rtl })?;
    let is_bench = |path: &&PathBuf| path.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with("_tb"));
    let is_source = |path: &&PathBuf| matches!(ending(path), "v" | "sv") && !is_bench(path);
    let wanted: Vec<PathBuf> = match path.is_dir() {
        true => in_folder.iter().filter(is_source).cloned().collect(),
        false => vec![path.to_owned()],
    };
    if wanted.is_empty() {
        return Err(Error::wrong(format!(
            "{}: there is no Verilog (.v, .sv) in it or in its folder rtl",
            path.display()
        )));
    }
    let mut files = Vec::new();
    for (at, file) in wanted.iter().enumerate() {
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        plain(&name, "the file")?;
        files.push((format!("{at}_{name}"), read(file)?));
    }
    let mut included = Vec::new();
    for file in in_folder.iter().filter(|file| matches!(ending(file), "vh" | "svh" | "h" | "inc" | "mem" | "hex")) {
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        included.push((name, read(file)?));
    }
    let mut alike = String::new();
    let mut bench = match (&arguments.like, path.is_dir()) {
        (Some(like), _) => {
            let (name, bench) = bench_of(context, library, like, arguments)?;
            alike = name;
            bench
        }
        // A core with other parameters is not the one that the bench of its folder knows.
        (None, true) if parameters.is_empty() || given(arguments).is_none() => TestBench::of_folder(&folder)?,
        (None, true) => None,
        (None, false) => None,
    };
    if !parameters.is_empty() && bench.is_some() {
        return Err(Error::usage(
            "--set: the bench knows no parameters; measure the core without it, by --bits and --cycles, or write them into the Verilog",
        ));
    }
    let top = arguments.top.clone().or_else(|| Some(bench.as_ref()?.dut.clone()).filter(|_| arguments.like.is_none()));
    if let Some(bench) = &mut bench {
        bench.is_new_verilog = files.iter().any(|(name, _)| name.ends_with(".sv"));
    }
    let absolute = std::path::absolute(path).map_err(|error| Error::io(path.display(), &error))?;
    let name = if path.is_dir() { absolute.file_name() } else { absolute.file_stem() };
    let name = name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(Source {
        primitive: name,
        operation: String::new(),
        variant: String::new(),
        implementation: path.display().to_string(),
        like: alike,
        published: None,
        made_by: String::new(),
        reading: Reading { files: files.iter().map(|(name, _)| name.clone()).collect(), top, parameters },
        files,
        included,
        clock: arguments.clock.clone(),
        timing: given(arguments).unwrap_or_else(|| bench.map_or(Timing::Unknown, Timing::Measured)),
    })
}

/// What Verilog is like, with its bench: an operation or a network of ours that has the same ports.
fn bench_of(
    context: &mut Context,
    library: &Library,
    like: &str,
    arguments: &SynthArgs,
) -> Outcome<(String, Option<TestBench>)> {
    let ours = if build::is_of_library(library, like) {
        let [operation] = arguments.operations.as_slice() else {
            return Err(Error::usage("--like: one --operation says whose bench is meant"));
        };
        let spec = library.operation(like, operation).ok_or_else(|| {
            Error::usage(format!("--like: the library has no `{} {}`", like.escape_debug(), operation.escape_debug()))
        })?;
        of_operation(context, library, spec, arguments)?
    } else {
        of_network(context, like, arguments)?
    };
    let name = ours.name();
    match ours.timing {
        Timing::Measured(bench) => Ok((name, Some(bench))),
        Timing::Given { .. } => Ok((name, None)),
        Timing::Unknown => Err(Error::wrong(format!("`{name}` has no bench"))),
    }
}
