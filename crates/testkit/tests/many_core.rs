//! Random networks on an array of small processors give what the interpreter gives: changed at random, put on processors at random,
//! with generated programs, words simulated.

use headrace::array::{Shape, expected, tasks};
use headrace_array::design::design;
use headrace_array::isa::build;
use headrace_array::machine::Machine;
use headrace_array::mapping::{Mapping, built_in};
use headrace_array::rtl::Array;
use headrace_array::simulate::simulate;
use headrace_platform::{File, find};
use headrace_testkit::mapped::{TRIES, clocked_machine, held_in_rtl, random_case, random_case_in_rtl, roomy};

/// Networks that are mapped; `headrace-testkit mapped --cases N` takes more.
const CASES: u64 = 300;

#[test]
fn random_networks_on_an_array_give_what_the_interpreter_gives() {
    let machine = roomy().expect("it is right");
    let mut n_mapped = 0;
    let mut seed = 0;
    while n_mapped < CASES && seed < CASES * TRIES {
        match random_case(seed, &machine) {
            Ok(mapped) => n_mapped += u64::from(mapped),
            Err(why) => panic!("seed {seed}: {why}\n  headrace-testkit mapped --cases 1 --seed {seed}"),
        }
        seed += 1;
    }
    assert!(n_mapped == CASES, "of {seed} networks only {n_mapped} could be mapped");
}

/// Networks on which code generation was wrong once, far from those above.
const FAILED: [u64; 3] = [218_956, 272_079, 262_545];

/// Networks that run as soft cores in RTL.
const CLOCKED: u64 = 40;

#[test]
fn soft_cores_do_what_the_simulator_does_cycle_for_cycle() {
    let machine = clocked_machine().expect("it is right");
    let mut n_mapped = 0;
    let mut seed = 1000;
    while n_mapped < CLOCKED && seed < 1000 + CLOCKED * TRIES {
        match random_case_in_rtl(seed, &machine) {
            Ok(mapped) => n_mapped += u64::from(mapped),
            Err(why) => panic!("seed {seed}: {why}"),
        }
        seed += 1;
    }
    assert!(n_mapped == CLOCKED, "of {seed} networks only {n_mapped} could be mapped");
}

/// A published mapping in RTL both ways, its key set up with it: the known answer, and cycles.
#[test]
fn a_published_mapping_runs_in_rtl() {
    let file = built_in().iter().find(|file| file.name == "lu9-offline").expect("it is there");
    let mapping = Mapping::read(file).expect("it is right");
    let machine = Machine::read(find("asap2").expect("it is there")).expect("it is right");
    let name = mapping.written.network.clone().expect("it has one");
    let network = headrace::Workspace::default().network(&name, &[]).expect("it is right");
    let shape = Shape::of(&network, mapping.written.message.as_ref().expect("it has one")).expect("it is right");
    let design = design(&tasks(&network, &shape).expect("it is right"), &mapping, &machine).expect("it is legal");
    let answer = shape.of_answer(&network, &mapping.written.answer[0]).expect("it is right");
    let key = network.inputs.iter().position(|port| port.name == "Key").expect("it has one");
    let mut messages: Vec<_> = std::iter::once(answer).chain(shape.random(&network, 3, 7, &[])).collect();
    let same = messages[0][key].clone();
    messages.iter_mut().for_each(|message| message[key].clone_from(&same));
    let want = expected(&network, &messages).expect("it ends");
    let parameters = design.tasks.parameter_values(&messages[0]).expect("all is there");
    let (setup, _) = build(&design, &machine, &parameters, None, None).expect("programs fit");
    let outcome = simulate(&setup, &messages, None).expect("it ends");
    let tokens = shape.tokens();
    let array = Array {
        network: &network,
        design: &design,
        setup: &setup,
        machine: &machine,
        tokens: &tokens,
        parameters: &parameters,
    };
    let held = held_in_rtl(&array, &messages, &want, &outcome.leaves, 40_000);
    assert_eq!(held, Ok(true));
}

#[test]
fn networks_that_failed_once_pass() {
    let machine = roomy().expect("it is right");
    for seed in FAILED {
        assert_eq!(random_case(seed, &machine), Ok(true), "seed {seed}");
    }
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
