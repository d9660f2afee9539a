//! Two processors, one behind the other: clocks of their own, latency of links, halts, and dumps of what they do.

use headrace_array::design::{Core, Design};
use headrace_array::simulate::{Channel, Outcome, OutsideWord, Program, Setup, Step, simulate};
use headrace_array::tasks::{From, Stream, Task, Tasks, Wire};
use headrace_array::values::{TaskId, Values};
use headrace_array::vcd::vcd;
use std::collections::{BTreeMap, BTreeSet};

/// The first passes a word on, the second takes it and works three cycles.
fn setup(periods: [u64; 2], ticks: u64, latency: u64) -> Setup {
    let moved = |take: u32, put: Option<u32>, leaves: bool| Step::Move {
        take: vec![(take, 0)],
        compute: Vec::new(),
        put: put.map(|link| (link, 0)).into_iter().collect(),
        leave: if leaves { vec![(0, vec![0])] } else { Vec::new() },
    };
    let program = |steps: Vec<Step>| Program { steps, initial: vec![0], tasks: vec!["a".into()], ..Program::default() };
    let word = OutsideWord { message: 0, port: 0, at: 0, shift: 0, bits: 16 };
    Setup {
        programs: vec![program(vec![moved(0, Some(1), false)]), program(vec![moved(1, None, true), Step::Work(3, 0)])],
        channels: vec![
            Channel { from: None, to: 0, depth: 4, latency: 0 },
            Channel { from: Some(0), to: 1, depth: 4, latency },
        ],
        outside: vec![Some(vec![word]), None],
        n_outputs: 1,
        tables: Vec::new(),
        messages: 1,
        halt_after: 2,
        restart: 0,
        periods: periods.to_vec(),
        ticks,
    }
}

fn run(setup: &Setup) -> Outcome {
    let messages: Vec<Vec<Vec<i128>>> = (0..40).map(|n| vec![vec![n]]).collect();
    let outcome = simulate(setup, &messages, Some((0, 40))).expect("it comes to an end");
    assert!(outcome.outputs.iter().zip(0..).all(|(left, n)| *left == [n]));
    outcome
}

#[test]
fn a_slower_clock_and_a_longer_link_take_longer() {
    let usual = run(&setup([1, 1], 1, 7));
    assert_eq!((usual.cycles_per_message, usual.latency), (4.0, 9));
    // The clock of the second decides, in cycles at the nominal frequency.
    assert_eq!(run(&setup([840, 1680], 840, 7)).cycles_per_message, 8.0);
    assert_eq!(run(&setup([1120, 840], 840, 7)).cycles_per_message, 4.0);
    // Words on a link have their places in the FIFO at its end: four of them in the 21 cycles that each is on its way.
    let far = run(&setup([1, 1], 1, 19));
    assert_eq!((far.cycles_per_message, far.latency), (5.25, 21));
}

#[test]
fn a_dump_has_what_oscillators_do() {
    let outcome = run(&setup([1, 1], 1, 7));
    let task = |name: &str| Task { name: name.into(), class: "pass".into(), inputs: Vec::new(), outputs: Vec::new() };
    let mut values = Values::default();
    let value = values.input(0, 0, 0, 255);
    let wires = vec![Wire { value, from: From::Outside(0) }];
    let tasks = Tasks {
        values,
        tasks: vec![task("first"), task("second")],
        inputs: vec!["In".into()],
        outputs: vec![Stream { port: "Out".into(), wires }],
        parameters: BTreeSet::new(),
    };
    let core = |at: u32| Core {
        name: format!("P{at}"),
        tasks: vec![TaskId(at)],
        groups: vec![0],
        place: None,
        merges: false,
        clock: 1.0,
    };
    let cores = vec![core(0), core(1)];
    let design = Design { tasks, cores, in_flight: 1, interleave: None, style: BTreeMap::new() };
    let dump = vcd(&design, &outcome, 1000.0, (0, 40));
    for part in
        ["$timescale 1 ps $end", "$scope module P1 $end", "oscillator", "$comment task 0: second $end", "#40000"]
    {
        assert!(dump.contains(part), "{part}: {dump}");
    }
    // The second waits two cycles for its first word with its clock running, then its oscillator stops, and starts with the word.
    let changes: Vec<&str> =
        dump.lines().filter(|line| ["#", "0$", "1$"].iter().any(|it| line.starts_with(it))).collect();
    let stops = changes.iter().position(|line| *line == "0$").expect("it stops");
    assert_eq!(changes[stops - 1], "#2000");
    let starts = changes.iter().skip(stops).position(|line| *line == "1$").expect("it starts") + stops;
    assert_eq!(changes[starts - 1], "#8000");
}
