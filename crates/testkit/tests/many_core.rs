//! Random networks on an array of small processors give what the interpreter gives: changed at random, put on processors at random,
//! with generated programs, words simulated.

use headrace_array::machine::Machine;
use headrace_platform::{File, find};
use headrace_testkit::mapped::{TRIES, clocked_machine, random_case, random_case_in_rtl, roomy};

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
