//! Mapping of networks to many-core arrays: legal, simulated, and held to the interpreter.
//!
//! A mapping is a result only when what it computes has been seen to be right: the simulator moves real words, and what leaves
//! the array is compared with what the interpreter gives for the same messages, token by token.

use crate::error::{Error, Result};
use headrace_array::design::{Design, design};
use headrace_array::energy::energy;
use headrace_array::isa::{self, Form, Generated};
use headrace_array::machine::Machine;
use headrace_array::mapping::{Answer, Mapping, Problem, Tokens};
use headrace_array::place::place;
use headrace_array::program::{Links, Orders};
use headrace_array::search::{Candidate, MOST_IN_FLIGHT, PIPELINE, Score, candidates, pipeline, pipelines};
use headrace_array::simulate::{Failed, Outcome, Setup, Waiting, simulate};
use headrace_array::tasks::{From, Tasks};
use headrace_array::transform::{self, Along};
use headrace_array::unroll::{Feed, Unfit, unroll};
use headrace_array::values::{Op, bounds, wrap};
use headrace_engine::Engine as _;
use headrace_exchange::SilentHost;
use headrace_interp::{Interpreter, Options};
use headrace_ir::{IntType, Network, Port, Scalar};
use headrace_platform::File;
use headrace_source::Diagnostic;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

pub use headrace_array as many_core;

/// Tokens of one message, by port.
pub type Message = Vec<Vec<i128>>;

/// What a message of a network is: for each input port, known tokens or how many there are of data.
#[derive(Clone, Debug)]
pub struct Shape {
    feeds: Vec<Feed>,
}

/// Where the cycles of tasks come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Costs {
    /// From measurements that the platform's file has.
    #[default]
    Published,
    /// From the programs that are generated for its processors, in the best form or in one.
    Isa(Option<Form>),
}

/// What is asked of a mapping.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Random messages that are simulated and compared; at least 8 are simulated.
    pub messages: usize,
    /// From which they follow.
    pub seed: u64,
    /// Cycles of which it is kept what each processor does when.
    pub window: Option<(u64, u64)>,
    /// Where the cycles of tasks come from.
    pub costs: Costs,
}

impl Default for Effort {
    fn default() -> Self {
        Self { messages: 64, seed: 1, window: None, costs: Costs::default() }
    }
}

/// A mapping that was simulated and found right.
pub struct Mapped {
    /// Tasks on processors.
    pub design: Design,
    /// What was simulated.
    pub setup: Setup,
    /// What came of it.
    pub outcome: Outcome,
    /// Programs of the processors, where they were generated.
    pub programs: Vec<Generated>,
    /// Known answers that were right.
    pub n_answers: usize,
    /// Random messages that came out as the interpreter has them.
    pub n_messages: usize,
    /// Column and row of each processor, where links over several tiles take longer than others.
    pub places: Option<Vec<[u32; 2]>>,
}

impl Shape {
    /// The shape of messages as a mapping says it.
    ///
    /// # Errors
    ///
    /// A port is missing or unknown, or a token does not fit its type.
    pub fn of(network: &Network, message: &BTreeMap<String, Tokens>) -> Result<Self> {
        let known = || network.inputs.iter().map(|port| port.name.as_str()).collect::<Vec<_>>().join(", ");
        if let Some(name) = message.keys().find(|name| !network.inputs.iter().any(|port| port.name == **name)) {
            return Err(Error::wrong(format!(
                "the message names an input `{name}`; `{}` has {}",
                network.name,
                known()
            )));
        }
        let mut feeds = Vec::new();
        for port in &network.inputs {
            let (low, high) = range(port.ty).ok_or_else(|| {
                Error::wrong(format!("input `{}` has tokens of {}; words of an array are integers", port.name, port.ty))
            })?;
            feeds.push(match message.get(&port.name) {
                None => {
                    return Err(Error::wrong(format!(
                        "the message does not say what comes in on `{}`; `{}` has {}",
                        port.name,
                        network.name,
                        known()
                    )));
                }
                Some(Tokens::Data(n)) => Feed::Data(*n),
                Some(Tokens::Known(tokens)) => {
                    let tokens: Vec<i128> = tokens.iter().map(|&token| i128::from(token)).collect();
                    if let Some(wrong) = tokens.iter().find(|token| !(low..=high).contains(*token)) {
                        return Err(Error::wrong(format!(
                            "{wrong} does not fit {}, the type of `{}`",
                            port.ty, port.name
                        )));
                    }
                    Feed::Known(tokens)
                }
            });
        }
        Ok(Self { feeds })
    }

    /// Tokens of a message at each input port; none where they are known beforehand.
    pub fn tokens(&self) -> Vec<Option<usize>> {
        let of = |feed: &Feed| match feed {
            Feed::Data(n) => Some(*n),
            Feed::Known(_) => None,
        };
        self.feeds.iter().map(of).collect()
    }

    /// The message of a known answer.
    ///
    /// # Errors
    ///
    /// It lacks a port, or has what are no tokens.
    pub fn of_answer(&self, network: &Network, answer: &Answer) -> std::result::Result<Message, String> {
        let given = |(feed, port): (&Feed, &Port)| match (feed, answer.inputs.get(&port.name)) {
            (Feed::Known(tokens), _) => Ok(tokens.clone()),
            (Feed::Data(_), Some(hex)) => tokens_of(hex, port.ty),
            (Feed::Data(0), None) => Ok(Vec::new()),
            (Feed::Data(_), None) => Err(format!("the answer of {} lacks `{}`", answer.source.get_ref(), port.name)),
        };
        self.feeds.iter().zip(&network.inputs).map(given).collect()
    }

    /// Random messages; tokens of the `same` ports are those of the first in all.
    pub fn random(&self, network: &Network, n: usize, seed: u64, same: &[usize]) -> Vec<Message> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.wrapping_mul(0x2545_f491_4f6c_dd1d)
        };
        let mut all: Vec<Message> = Vec::new();
        for at in 0..n {
            let mut message = Vec::new();
            for (port, feed) in self.feeds.iter().enumerate() {
                message.push(match feed {
                    Feed::Known(tokens) => tokens.clone(),
                    Feed::Data(_) if at > 0 && same.contains(&port) => all[0][port].clone(),
                    Feed::Data(n) => (0..*n).map(|_| random_token(network.inputs[port].ty, next())).collect(),
                });
            }
            all.push(message);
        }
        all
    }
}

fn range(ty: Scalar) -> Option<(i128, i128)> {
    match ty {
        Scalar::Bool => Some((0, 1)),
        Scalar::Int(int) if int.width <= 64 => Some(bounds(int)),
        _ => None,
    }
}

fn random_token(ty: Scalar, bits: u64) -> i128 {
    match ty {
        Scalar::Int(int) => wrap(i128::from(bits >> (64 - int.width.min(64))), int),
        _ => i128::from(bits >> 63),
    }
}

/// The interpreter's outputs for messages, one after the other in one run, by port.
///
/// # Errors
///
/// The program traps, or does not take all of a message.
pub fn expected(network: &Arc<Network>, messages: &[Message]) -> Result<Vec<Message>> {
    let mut engine = Interpreter::new(Arc::clone(network), Options::default()).map_err(Error::Refused)?;
    let mut all = Vec::new();
    for message in messages {
        let mut pending: Vec<Vec<u8>> = Vec::new();
        for (port, tokens) in network.inputs.iter().zip(message) {
            let size = port.ty.storage_bytes();
            pending.push(tokens.iter().flat_map(|token| token.to_le_bytes().into_iter().take(size)).collect());
        }
        let mut taken: Vec<Vec<u8>> = vec![Vec::new(); network.outputs.len()];
        loop {
            let mut moved = false;
            for (port, bytes) in pending.iter_mut().enumerate() {
                let n = engine.write(port, bytes) * network.inputs[port].ty.storage_bytes();
                moved |= n > 0;
                bytes.drain(..n);
            }
            if let Err(trap) = engine.run(None, &mut SilentHost) {
                return Err(Error::wrong(format!("the interpreter ends with: {trap}")));
            }
            for (port, bytes) in taken.iter_mut().enumerate() {
                moved |= engine.read(port, bytes) > 0;
            }
            if !moved {
                break;
            }
        }
        let outputs = taken.iter().zip(&network.outputs).map(|(bytes, port)| {
            bytes.chunks_exact(port.ty.storage_bytes()).map(|token| decode(token, port.ty)).collect()
        });
        all.push(outputs.collect());
    }
    Ok(all)
}

fn decode(token: &[u8], ty: Scalar) -> i128 {
    let raw = token.iter().take(16).rev().fold(0u128, |word, byte| word << 8 | u128::from(*byte)) as i128;
    match ty {
        Scalar::Int(int) => wrap(raw, int),
        _ => raw,
    }
}

/// A network along one message, as tasks.
///
/// # Errors
///
/// It cannot be unrolled: the diagnostic says where and why.
pub fn tasks(network: &Network, shape: &Shape) -> Result<Tasks> {
    unroll(network, &shape.feeds).map_err(|unfit| refused(&unfit))
}

/// The same with a shape that may be longer than what the network takes: what would be left at the end is not sent. The shape
/// that remains comes with the tasks.
///
/// # Errors
///
/// As [`tasks`].
pub fn tasks_of_what_is_taken(network: &Network, shape: &Shape) -> Result<(Shape, Tasks)> {
    let mut shape = shape.clone();
    let unfit = match unroll(network, &shape.feeds) {
        Ok(tasks) => return Ok((shape, tasks)),
        Err(unfit) if unfit.left.is_empty() => return Err(refused(&unfit)),
        Err(unfit) => unfit,
    };
    for (feed, left) in shape.feeds.iter_mut().zip(&unfit.left) {
        match feed {
            Feed::Known(tokens) => tokens.truncate(tokens.len() - left),
            Feed::Data(n) => *n -= left,
        }
    }
    let tasks = tasks(network, &shape)?;
    Ok((shape, tasks))
}

fn refused(unfit: &Unfit) -> Error {
    let mut diagnostic = Diagnostic::error("", unfit.problem.clone());
    if !unfit.instance.is_empty() {
        diagnostic = diagnostic.note(format!("in instance {}", unfit.instance));
    }
    match unfit.span {
        Some(span) => Error::Refused(vec![diagnostic.at(span, "")]),
        None => Error::Refused(vec![diagnostic]),
    }
}

/// What is wrong with the message of a mapping says in which file that stands.
pub(crate) fn of_file<T>(made: Result<T>, mapping: &Mapping) -> Result<T> {
    made.map_err(|error| match error {
        Error::Wrong(why) => Error::wrong(format!("{}: {why}", mapping.file.path)),
        Error::Refused(mut all) => {
            all.iter_mut().for_each(|one| one.notes.push(format!("the message is that of {}", mapping.file.path)));
            Error::Refused(all)
        }
        other => other,
    })
}

/// Maps a network as a file says, simulates it, and holds it to known answers and to the interpreter.
///
/// # Errors
///
/// The mapping is illegal, the array comes to no end, or what comes out is not what the interpreter gives.
pub fn map(network: &Arc<Network>, machine: &Machine, mapping: &Mapping, effort: Effort) -> Result<Mapped> {
    let message = mapping.written.message.as_ref();
    let message = message.ok_or_else(|| Error::wrong(format!("{}: `message` is missing", mapping.file.path)))?;
    let shape = of_file(Shape::of(network, message), mapping)?;
    let unrolled = of_file(tasks(network, &shape), mapping)?;
    let design = design(&unrolled, mapping, machine).map_err(|wrong| Error::wrong(wrong.to_string()))?;
    verified(network, &shape, machine, mapping, design, effort)
}

/// Simulates a design and holds it to known answers and to the interpreter.
///
/// # Errors
///
/// As [`map`].
pub fn verified(
    network: &Arc<Network>,
    shape: &Shape,
    machine: &Machine,
    mapping: &Mapping,
    design: Design,
    effort: Effort,
) -> Result<Mapped> {
    let same = same_ports(network, mapping);
    let wrong = |why: Problem| Error::wrong(mapping.wrong_of(&why).to_string());
    let general = |why: String| wrong(why.into());
    // Enough messages that half of them are the steady state, and whole periods.
    let n = effort.messages.max(8 * design.in_flight).next_multiple_of(design.in_flight);
    let places = places(&design, machine).map_err(&general)?;
    let mut n_answers = 0;
    for answer in &mapping.written.answer {
        let message = shape.of_answer(network, answer).map_err(&general)?;
        let messages = vec![message; design.in_flight];
        let (.., outcome) = run(&design, machine, places.as_deref(), &messages, None, effort.costs).map_err(&wrong)?;
        let came = by_port(network, &design, &messages[0], &outcome.outputs[0]).map_err(&general)?;
        for (port, tokens) in network.outputs.iter().zip(&came) {
            if let Some(hex) = answer.outputs.get(&port.name)
                && tokens_of(hex, port.ty).map_err(&general)? != *tokens
            {
                return Err(general(format!(
                    "output `{}` is not the known answer of {}",
                    port.name,
                    answer.source.get_ref()
                )));
            }
        }
        n_answers += 1;
    }
    let messages = shape.random(network, n, effort.seed, &same);
    let (setup, programs, outcome) =
        run(&design, machine, places.as_deref(), &messages, effort.window, effort.costs).map_err(&wrong)?;
    let want = expected(network, &messages)?;
    for (at, (message, want)) in messages.iter().zip(&want).enumerate() {
        let came = by_port(network, &design, message, &outcome.outputs[at]).map_err(&general)?;
        if came != *want {
            return Err(general(format!("message {at} comes out otherwise than from the interpreter")));
        }
    }
    Ok(Mapped { design, setup, outcome, programs, n_answers, n_messages: n, places })
}

/// Pipelines that fit after which no longer ones are tried.
const ENOUGH_PIPELINES: usize = 4;
/// Mappings that are tried before it is looked whether there are enough.
const TOGETHER: usize = 16;
/// Most pieces of a pipeline that are tried.
const MOST_PIECES: usize = 320;

/// A mapping that a search found, before it is held to the interpreter.
#[derive(Clone, Debug)]
pub struct Found {
    /// The mapping file.
    pub text: String,
    /// What it is, in a few words.
    pub about: String,
    /// How good it is.
    pub score: Score,
}

/// Goes through the family of mappings of a network, and gives all that are legal and fit, in no order of worth.
/// `status` hears how far it is.
///
/// # Errors
///
/// The network cannot be unrolled, or a port to fold is not there.
pub fn search(
    network: &Network,
    machine: &Machine,
    mapping: &Mapping,
    costs: Costs,
    status: &mut dyn FnMut(usize, usize),
) -> Result<Vec<Found>> {
    let written = &mapping.written;
    let message = written.message.as_ref();
    let message = message.ok_or_else(|| Error::wrong(format!("{}: `message` is missing", mapping.file.path)))?;
    let shape = Shape::of(network, message)?;
    let unrolled = tasks(network, &shape)?;
    let mut folded = unrolled.clone();
    let fold: Vec<String> = written.fold.iter().map(|port| port.get_ref().clone()).collect();
    transform::fold(&mut folded, &fold).map_err(Error::wrong)?;
    // What stands before changes and processors stays as it is written.
    let ends = ["\n[[change]]", "\n[[core]]", "\n[[answer]]"].map(|mark| mapping.file.text.find(mark));
    let head = &mapping.file.text[..ends.into_iter().flatten().min().unwrap_or(mapping.file.text.len())];
    let answers = mapping.file.text.find("\n[[answer]]").map_or("", |at| &mapping.file.text[at..]);
    let messages = shape.random(network, 8 * MOST_IN_FLIGHT, 1, &same_ports(network, mapping));
    let mut all = candidates(&folded);
    let mut n_family = all.len();
    if matches!(costs, Costs::Isa(_)) {
        let most = (*machine.grid.cores as usize).min(MOST_PIECES);
        // A pipeline of each task, from few long pieces to many short ones.
        let words = u64::from(*machine.core.program_words);
        let limits = (0..12).map(|step| words * (16 - step) / 16);
        all.extend(limits.flat_map(|limit| {
            let bits = *machine.core.word_bits;
            [false, true]
                .into_iter()
                .filter_map(|by_demand| pipelines(&folded, limit, by_demand, most, bits))
                .collect::<Vec<_>>()
        }));
        // Pipelines of the whole network, from as few pieces as fit to as many as there are processors.
        n_family = all.len();
        let mut sizes: Vec<usize> =
            (16..).map(|step| (1.13f64.powi(step)).round() as usize).take_while(|n| *n < most).collect();
        sizes.push(most);
        // Those of fewer pieces than their instructions take, a quarter more than there is room for, need not be tried.
        let mut whole = folded.clone();
        transform::gather(&mut whole, "all").map_err(Error::wrong)?;
        let least = [Along::Program, Along::Demand].map(|along| {
            let bits = *machine.core.word_bits;
            whole.find("all").and_then(|at| transform::pieces_for(&whole, at, words * 5 / 4, most, along, bits))
        });
        let fits = |n: usize, by_demand: bool| least[usize::from(by_demand)].is_some_and(|least| n >= least);
        let both = |n: usize| [false, true].into_iter().filter(move |&by_demand| fits(n, by_demand));
        all.extend(sizes.iter().flat_map(|&n| both(n).map(move |by_demand| pipeline(n, by_demand))));
    }
    let tried = |candidate: &Candidate| -> Vec<Found> {
        let mut found = Vec::new();
        let mut best = f64::INFINITY;
        let most = if candidate.loops { MOST_IN_FLIGHT } else { 1 };
        if candidate.n_cores > *machine.grid.cores as usize {
            return found;
        }
        for in_flight in 1..=most {
            let flight = if in_flight > 1 { format!("in_flight = {in_flight}\n") } else { String::new() };
            let text = format!("{}\n{flight}{}{answers}", head.trim_end(), candidate.text);
            let file = File::new(mapping.file.path.clone(), text);
            let tried = Mapping::read(&file).and_then(|tried| design(&unrolled, &tried, machine));
            let Ok(tried) = tried else { break };
            let n = messages.len() - messages.len() % in_flight;
            let Ok((setup, _, outcome)) = run(&tried, machine, None, &messages[..n], None, costs) else { break };
            let cycles = outcome.cycles_per_message;
            if cycles >= best {
                break;
            }
            best = cycles;
            let takes = energy(&tried, machine, &setup.channels, &outcome, None);
            let score = Score { cores: tried.cores.len(), cycles, energy: takes.nj_per_message };
            let about = match in_flight {
                1 => candidate.about.clone(),
                n => format!("{}, {n} messages in flight", candidate.about),
            };
            found.push(Found { text: file.text, about, score });
        }
        found
    };
    let mut found = Vec::new();
    let mut at = 0;
    while at < all.len() {
        status(at, all.len());
        let end = (at + TOGETHER).min(if at < n_family { n_family } else { all.len() });
        found.extend(on_all_processors(&all[at..end], &tried));
        let is_pipeline = |it: &&Found| it.about.starts_with(PIPELINE);
        // Beyond the first pipelines that fit, longer ones are faster by little and take more processors.
        if end > n_family && found.iter().filter(is_pipeline).count() >= ENOUGH_PIPELINES {
            break;
        }
        at = end;
    }
    Ok(found)
}

/// What becomes of each, in their order, on as many threads as there are processors.
fn on_all_processors(candidates: &[Candidate], tried: &(dyn Fn(&Candidate) -> Vec<Found> + Sync)) -> Vec<Found> {
    let n_threads = std::thread::available_parallelism().map_or(1, usize::from).min(candidates.len());
    let next = AtomicUsize::new(0);
    let work = || {
        let mut own = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(candidate) = candidates.get(at) else { return own };
            own.push((at, tried(candidate)));
        }
    };
    let mut all: Vec<(usize, Vec<Found>)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..n_threads).map(|_| scope.spawn(work)).collect();
        // A panic of one is a panic of all.
        let joined = threads.into_iter().map(|thread| thread.join());
        joined.flat_map(|own| own.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    });
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().flat_map(|(_, found)| found).collect()
}

fn same_ports(network: &Network, mapping: &Mapping) -> Vec<usize> {
    let fold = &mapping.written.fold;
    fold.iter().filter_map(|port| network.inputs.iter().position(|input| input.name == *port.get_ref())).collect()
}

/// Tokens in hexadecimal, as many digits each as their type takes.
fn tokens_of(hex: &str, ty: Scalar) -> std::result::Result<Vec<i128>, String> {
    let digits = ty.width().div_ceil(4) as usize;
    let hex: Vec<char> = hex.chars().filter(|c| !c.is_whitespace()).collect();
    if !hex.len().is_multiple_of(digits) {
        return Err(format!("{} hexadecimal digits are no whole tokens of {ty}", hex.len()));
    }
    let token = |digits: &[char]| {
        let text: String = digits.iter().collect();
        i128::from_str_radix(&text, 16).map_err(|_| format!("`{text}` is not hexadecimal"))
    };
    hex.chunks(digits).map(token).collect()
}

/// Where processors are, if times depend on it.
fn places(design: &Design, machine: &Machine) -> std::result::Result<Option<Vec<[u32; 2]>>, String> {
    let link = &machine.link;
    if *link.long_latency == *link.near_latency && *link.long_latency_per_tile == 0 {
        return Ok(None);
    }
    let orders = Orders::of(design, &|_| false, &|_| false);
    let links = Links::of(design, machine, &orders, None);
    place(design, machine, &links, 1).map(Some)
}

/// Simulates messages; parameters follow from the first of them.
fn run(
    design: &Design,
    machine: &Machine,
    places: Option<&[[u32; 2]]>,
    messages: &[Message],
    window: Option<(u64, u64)>,
    costs: Costs,
) -> std::result::Result<(Setup, Vec<Generated>, Outcome), Problem> {
    let parameters = design.tasks.parameter_values(&messages[0])?;
    let (setup, programs) = match costs {
        Costs::Published => (headrace_array::program::build(design, machine, &parameters, places)?, Vec::new()),
        Costs::Isa(form) => isa::build(design, machine, &parameters, places, form)?,
    };
    let outcome = simulate(&setup, messages, window).map_err(|failed| explain(design, &failed))?;
    Ok((setup, programs, outcome))
}

/// What leaves, by port: words of the array, and what is known without it.
///
/// # Errors
///
/// Tokens are missing from which something known follows.
pub fn by_port(
    network: &Network,
    design: &Design,
    message: &Message,
    left: &[i128],
) -> std::result::Result<Message, String> {
    let parameters = design.tasks.parameter_values(message)?;
    let mut position = 0;
    let mut all = Vec::new();
    for (stream, port) in design.tasks.outputs.iter().zip(&network.outputs) {
        let mut tokens = Vec::new();
        for wire in &stream.wires {
            let known = design.tasks.values.constant(wire.value).or_else(|| parameters.get(&wire.value).copied());
            // Words have no sign of their own: the value has.
            let (width, is_signed) = design.tasks.values.width(wire.value);
            let signed = |value: i128| {
                let value = if is_signed { wrap(value, IntType::signed(width)) } else { value };
                port.ty.as_int().map_or(value, |ty| wrap(value, ty))
            };
            // What goes through without a task on its way.
            let direct = match (design.tasks.values.node(wire.value).op, wire.from) {
                (Op::Input(port, at), From::Outside(_)) => message[port as usize].get(at as usize).copied(),
                _ => None,
            };
            tokens.push(known.or(direct).unwrap_or_else(|| signed(left[position])));
            position += 1;
        }
        all.push(tokens);
    }
    Ok(all)
}

/// Why a simulation came to no end, with who waits for whom.
pub fn explain(design: &Design, failed: &Failed) -> Problem {
    match failed {
        Failed::Trap(core, why) => {
            let name = &design.cores[*core].name;
            Problem { text: format!("`{name}` cannot go on: {why}"), core: Some(name.clone()) }
        }
        Failed::Deadlock(cycle, waits) => {
            let name = |core: usize| design.cores[core].name.as_str();
            let wait = |it: &Waiting| {
                let for_what = if it.room { "room in the FIFO of" } else { "a word from" };
                let on = it.on.map_or("the outside", name);
                format!("\n  {} waits for {for_what} {on}, in {}", name(it.core), it.task)
            };
            let lines: String = waits.iter().take(40).map(wait).collect();
            let circle = circle(waits).iter().map(|&core| name(core)).collect::<Vec<_>>().join(" > ");
            let circle = if circle.is_empty() { circle } else { format!("\n  in a circle: {circle}") };
            format!(
                "deadlock after {cycle} cycles: processors wait for each other; deeper FIFOs may help{lines}{circle}"
            )
            .into()
        }
    }
}

/// A circle of those that wait, where there is one.
fn circle(waits: &[Waiting]) -> Vec<usize> {
    for first in waits {
        let mut path = vec![first.core];
        while let Some(next) = waits.iter().find(|it| Some(&it.core) == path.last()).and_then(|it| it.on) {
            if let Some(at) = path.iter().position(|core| *core == next) {
                let mut found = path.split_off(at);
                found.push(next);
                return found;
            }
            path.push(next);
        }
    }
    Vec::new()
}
