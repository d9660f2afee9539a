//! Mapped networks against the interpreter: random networks of small actors on an array of small processors.
//!
//! Each is run along a message, changed at random, put on processors at random, and simulated with the words that generated
//! programs move. What leaves must be what the interpreter gives. Networks whose control depends on data have no place on an
//! array; they are passed over, as are those with operations that code generation refuses.

use crate::differential::program;
use crate::generate::{Cuts, Knobs, generate};
use crate::rng::Rng;
use headrace::array::{Message, Shape, by_port, expected, explain, tasks_of_what_is_taken};
use headrace::clocked::{Came, Clocked};
use headrace_array::design::{Core, Design};
use headrace_array::isa::{self, Form};
use headrace_array::machine::Machine;
use headrace_array::mapping::Tokens;
use headrace_array::rtl::Array;
use headrace_array::simulate::simulate;
use headrace_array::tasks::Tasks;
use headrace_array::transform::{self, Along, Split};
use headrace_array::values::TaskId;
use headrace_ir::Network;
use headrace_platform::find;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What code generation refuses.
const REFUSALS: [&str; 3] = ["has no instructions here", "more than", "its data takes"];

/// Networks that are generated for one that can be mapped, at most: about one of fourteen can.
pub const TRIES: u64 = 100;

/// Forms of programs that are asked for; none is the best one.
const FORMS: [Option<Form>; 5] =
    [Some(Form::Straight), Some(Form::Looped), Some(Form::Repeated), Some(Form::Rolled), None];

/// AsAP2 with memories in which random networks have room.
///
/// # Errors
///
/// Its file is wrong.
pub fn roomy() -> Result<Machine, String> {
    let file = find("asap2").map_err(|wrong| wrong.to_string())?;
    let mut machine = Machine::read(file).map_err(|wrong| wrong.to_string())?;
    machine.core.program_words.value = 1 << 20;
    machine.core.data_words.value = 1 << 20;
    machine.fifo.depth.value = 1 << 16;
    Ok(machine)
}

/// Changes a network at random. What is illegal is refused and changes nothing.
fn changed(tasks: &Tasks, rng: &mut Rng) -> Tasks {
    let mut tasks = tasks.clone();
    for _ in 0..rng.below(6) {
        if tasks.tasks.is_empty() {
            break;
        }
        let at = TaskId(rng.below(tasks.tasks.len()) as u32);
        let mut tried = tasks.clone();
        let pieces = 2 + rng.below(3);
        let done = match rng.below(7) {
            0 => transform::split(&mut tried, at, Split::Apart(pieces)),
            1 => transform::split(&mut tried, at, Split::Chain(pieces)),
            2 => transform::split(&mut tried, at, Split::Tables),
            3 => transform::absorb(&mut tried, at),
            4 => transform::behind(&mut tried, at, &format!("behind{}", tasks.tasks.len())),
            5 => transform::pipeline(
                &mut tried,
                at,
                pieces,
                if rng.below(2) == 0 { Along::Program } else { Along::Demand },
                16,
            ),
            _ => {
                let other = TaskId(rng.below(tasks.tasks.len()) as u32);
                transform::fuse(&mut tried, &[at, other]).map(|_| ())
            }
        };
        if done.is_ok() {
            tasks = tried;
        }
    }
    tasks
}

/// Tasks on processors at random, each processor with its tasks in their order.
fn placed(tasks: Tasks, machine: &Machine, rng: &mut Rng) -> Result<Design, String> {
    let n = 1 + rng.below(6);
    let mut own: Vec<Vec<TaskId>> = vec![Vec::new(); n];
    for at in 0..tasks.tasks.len() as u32 {
        own[rng.below(n)].push(TaskId(at));
    }
    // One in three arrays has processors of different clocks.
    let clocks = if rng.below(3) == 0 { [1.0, 0.5, 0.7, 1.0 / 3.0] } else { [1.0; 4] };
    let core = |((at, tasks), clock): ((usize, Vec<TaskId>), f64)| Core {
        name: format!("c{at}"),
        groups: (0..tasks.len()).collect(),
        tasks,
        place: None,
        merges: false,
        clock,
    };
    let cores = own.into_iter().enumerate().filter(|(_, tasks)| !tasks.is_empty());
    let cores = cores.map(|it| (it, clocks[rng.below(4)])).map(core).collect();
    let mut design = Design { tasks, cores, in_flight: 1, interleave: None, style: BTreeMap::new() };
    design.join(*machine.core.input_ports as usize)?;
    Ok(design)
}

/// Holds the soft cores of a design to the simulator: the same tokens, and words that leave in the same cycles.
///
/// # Errors
///
/// What differs. `Ok(false)`: the array has no place in RTL.
pub fn held_in_rtl(
    array: &headrace_array::rtl::Array<'_>,
    messages: &[Message],
    want: &[Message],
    leaves: &[(u64, u32)],
    most: u64,
) -> Result<bool, String> {
    let network = array.network;
    let Ok(design) = headrace_array::rtl::soft_cores(array) else { return Ok(false) };
    let came = tokens_in_rtl(network, &design, messages, want, most).map_err(|why| format!("soft cores: {why}"))?;
    if came.left != leaves {
        return Err(format!("in RTL words leave in cycles {:?}, in the simulator in {leaves:?}", came.left));
    }
    let design = headrace_array::rtl::state_machines(array)?;
    tokens_in_rtl(network, &design, messages, want, most).map_err(|why| format!("state machines: {why}"))?;
    Ok(true)
}

/// Runs an array in RTL, and holds its tokens to those that are wanted.
///
/// # Errors
///
/// What differs.
pub fn tokens_in_rtl(
    network: &Network,
    design: &headrace_rtl::Design,
    messages: &[Message],
    want: &[Message],
    most: u64,
) -> Result<Came, String> {
    let wanted: Vec<usize> =
        (0..network.outputs.len()).map(|port| want.iter().map(|message| message[port].len()).sum()).collect();
    let came = Clocked::new(design)?.run(network, messages, &wanted, most);
    came.gives(network, want)?;
    Ok(came)
}

/// Whether the network of a seed was mapped and compared; what cannot be mapped is passed over.
///
/// # Errors
///
/// What differs.
pub fn random_case(seed: u64, machine: &Machine) -> Result<bool, String> {
    case(seed, machine, false)
}

/// The same, with soft cores in RTL held to the simulator cycle by cycle; what does not fit them is passed over.
///
/// # Errors
///
/// What differs.
pub fn random_case_in_rtl(seed: u64, machine: &Machine) -> Result<bool, String> {
    case(seed, machine, true)
}

/// AsAP2 with memories in which some random networks have room, as soft cores.
///
/// # Errors
///
/// Its file is wrong.
pub fn clocked_machine() -> Result<Machine, String> {
    let mut machine = roomy()?;
    machine.core.program_words.value = 1 << 12;
    machine.core.data_words.value = 256;
    machine.fifo.depth.value = 256;
    Ok(machine)
}

fn case(seed: u64, machine: &Machine, clocked: bool) -> Result<bool, String> {
    let knobs = Knobs {
        prints: false,
        steady: true,
        widest: 40,
        instances: 3,
        tokens: 8,
        action_budget: 60,
        statements: 3,
        levels: 1,
        ..Knobs::default()
    };
    let case = generate(seed, &knobs);
    // What the front end refuses is no matter of mappings.
    let Ok(mut network) = program::elaborate(&case, &Cuts::default()) else { return Ok(false) };
    // Links of an array have lengths of their own: what is too short for the network is no matter here.
    network.connections.iter_mut().for_each(|connection| connection.fifo_tokens = None);
    let network = Arc::new(network);
    let mut rng = Rng::new(seed);
    let message: BTreeMap<String, Tokens> =
        case.inputs.iter().map(|stream| (stream.port.clone(), Tokens::Data(stream.tokens.len()))).collect();
    let Ok(shape) = Shape::of(&network, &message) else { return Ok(false) };
    let Ok((shape, unrolled)) = tasks_of_what_is_taken(&network, &shape) else { return Ok(false) };
    if unrolled.tasks.is_empty() || unrolled.tasks.len() > 200 || unrolled.values.len() > 20_000 {
        return Ok(false);
    }
    let messages: Vec<Message> = shape.random(&network, 2, seed + 1, &[]);
    let mut want = Vec::new();
    for message in &messages {
        // Each begins with a network that has just been made.
        let Ok(one) = expected(&network, std::slice::from_ref(message)) else { return Ok(false) };
        want.extend(one);
    }
    let changed = changed(&unrolled, &mut rng);
    for (message, want) in messages.iter().zip(&want) {
        for (what, tasks) in [("unrolled", &unrolled), ("changed", &changed)] {
            let came = tasks.run(message)?;
            if came != *want {
                return Err(format!("{what}: {came:?} for {want:?}"));
            }
        }
    }
    let design = placed(changed, machine, &mut rng)?;
    let form = FORMS[rng.below(FORMS.len())];
    let (setup, _) = match isa::build(&design, machine, &Default::default(), None, form) {
        Ok(built) => built,
        Err(why) if REFUSALS.iter().any(|refusal| why.text.contains(refusal)) => return Ok(false),
        Err(why) => return Err(why.into()),
    };
    let outcome = simulate(&setup, &messages, None).map_err(|failed| explain(&design, &failed))?;
    if clocked {
        let (tokens, parameters) = (shape.tokens(), Default::default());
        let array = Array {
            network: &network,
            design: &design,
            setup: &setup,
            machine,
            tokens: &tokens,
            parameters: &parameters,
        };
        return held_in_rtl(&array, &messages, &want, &outcome.leaves, 20_000);
    }
    for ((message, left), want) in messages.iter().zip(&outcome.outputs).zip(&want) {
        let came = by_port(&network, &design, message, left)?;
        if came != *want {
            return Err(format!("on the array, {form:?}: {came:?} for {want:?}"));
        }
    }
    Ok(true)
}
