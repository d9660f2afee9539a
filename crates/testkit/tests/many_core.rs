//! Random networks on an array of small processors give what the interpreter gives: changed at random, put on processors at random,
//! with generated programs, words simulated.

use headrace::array::{Message, Shape, expected, explain, tasks};
use headrace_array::design::{Core, Design};
use headrace_array::isa;
use headrace_array::machine::Machine;
use headrace_array::mapping::Tokens;
use headrace_array::simulate::simulate;
use headrace_array::tasks::Tasks;
use headrace_array::transform::{self, Along, Split};
use headrace_array::values::TaskId;
use headrace_ir::Network;
use headrace_platform::{File, find};
use headrace_testkit::differential::program;
use headrace_testkit::generate::{Cuts, Knobs, generate};
use headrace_testkit::rng::Rng;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Networks that are mapped, unless `HEADRACE_MAPPED_CASES` asks for more, from the seed `HEADRACE_MAPPED_FIRST` on.
const CASES: u64 = 12;

/// What code generation refuses. The last is a gap: an order is not found for some tasks that share a processor.
const REFUSALS: [&str; 3] = ["has no instructions here", "more than", "too few pointers or flags"];

/// Networks that are generated for one that can be mapped: about one of a hundred can, for control may not depend on data.
const TRIES: u64 = 300;

fn asked(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// AsAP2 with memories in which random networks have room.
fn roomy() -> Machine {
    let file = find("asap2").expect("it is there");
    let mut machine = Machine::read(file).expect("it is right");
    machine.core.program_words.value = 1 << 20;
    machine.core.data_words.value = 1 << 20;
    machine.fifo.depth.value = 1 << 16;
    machine
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
    let core = |(at, tasks): (usize, Vec<TaskId>)| Core {
        name: format!("c{at}"),
        groups: (0..tasks.len()).collect(),
        tasks,
        place: None,
        merges: false,
    };
    let cores = own.into_iter().enumerate().filter(|(_, tasks)| !tasks.is_empty()).map(core).collect();
    let mut design = Design { tasks, cores, in_flight: 1, interleave: None, style: BTreeMap::new() };
    design.join(*machine.core.input_ports as usize)?;
    Ok(design)
}

/// Whether a network was mapped and compared; what cannot be mapped is passed over.
fn random_case(seed: u64, machine: &Machine) -> Result<bool, String> {
    let knobs = Knobs {
        prints: false,
        widest: 40,
        instances: 3,
        tokens: 8,
        action_budget: 60,
        statements: 3,
        levels: 1,
        ..Knobs::default()
    };
    let case = generate(seed, &knobs);
    let network: Arc<Network> =
        Arc::new(program::elaborate(&case, &Cuts::default()).map_err(|verdict| verdict.to_string())?);
    let mut rng = Rng::new(seed);
    let message: BTreeMap<String, Tokens> =
        case.inputs.iter().map(|stream| (stream.port.clone(), Tokens::Data(stream.tokens.len()))).collect();
    let Ok(shape) = Shape::of(&network, &message) else { return Ok(false) };
    let Ok(unrolled) = tasks(&network, &shape) else { return Ok(false) };
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
    let form = isa::FORMS[rng.below(4)];
    let (setup, _) = match isa::build(&design, machine, &Default::default(), None, Some(form)) {
        Ok(built) => built,
        Err(why) if REFUSALS.iter().any(|refusal| why.contains(refusal)) => return Ok(false),
        Err(why) => return Err(why),
    };
    let outcome = simulate(&setup, &messages, None).map_err(|failed| explain(&design, &failed))?;
    for ((message, left), want) in messages.iter().zip(&outcome.outputs).zip(&want) {
        let came = headrace::array::by_port(&network, &design, message, left)?;
        if came != *want {
            return Err(format!("on the array, {form:?}: {came:?} for {want:?}"));
        }
    }
    Ok(true)
}

#[test]
fn random_networks_on_an_array_give_what_the_interpreter_gives() {
    let machine = roomy();
    let (n, first) = (asked("HEADRACE_MAPPED_CASES", CASES), asked("HEADRACE_MAPPED_FIRST", 0));
    let mut n_mapped = 0;
    let mut seed = first;
    while n_mapped < n && seed < first + n * TRIES {
        match random_case(seed, &machine) {
            Ok(mapped) => n_mapped += u64::from(mapped),
            Err(why) => panic!("seed {seed}: {why}\n  HEADRACE_MAPPED_CASES=1 HEADRACE_MAPPED_FIRST={seed}"),
        }
        seed += 1;
    }
    assert!(n_mapped == n, "of {} networks only {n_mapped} could be mapped", seed - first);
    println!("{n_mapped} of {} networks were mapped", seed - first);
}

#[test]
fn a_file_of_a_user_is_a_machine() {
    let text = &find("asap2").expect("it is there").text;
    let mine = File::new("mine.toml", text.replace("columns = { value = 13", "columns = { value = 20"));
    assert_eq!(*Machine::read(&mine).expect("it is right").grid.columns, 20);
    let wrong = File::new("mine.toml", text.replace("[fifo]\n", "[fifo]\nwidth = 3\n"));
    let said = Machine::read(&wrong).expect_err("it is wrong").to_string();
    assert!(said.contains("mine.toml:") && said.contains("unknown field `width`"), "{said}");
}
