//! Lists of effects and loops lowered to programs, against what they mean: a network with a control automaton of few
//! states.

#[path = "kernel/effects.rs"]
mod effects;
#[expect(dead_code, reason = "each test uses a part of it")]
#[path = "kernel/loops.rs"]
mod loops;
#[path = "kernel/random.rs"]
mod random;

use headrace_ir::{IntType, Network, Port, Scalar};
use headrace_lowering::{Lanes, Options, lower_fused};
use headrace_program::evaluate::{Machine, NoHost, Outside};
use headrace_program::{FunctionId, Module, Stmt, verify};
use headrace_source::Span;
use headrace_transform::control::{Automaton, ControlState, CountedLoop, Holds, Step};
use headrace_transform::kernel::evaluate::{World, run, run_loop};
use headrace_transform::kernel::{Effect, Graph, Loop, Object, ObjectId, Transition};
use random::Random;

/// Bits of tokens of the input and output ports; the first has bytes.
const PORTS: &[u32] = &[8, 1, 32, 64, 13];

/// Tokens of each port.
const TOKENS: u64 = 24;

fn port(name: String, width: u32) -> Port {
    Port { name, ty: Scalar::Int(IntType::unsigned(width)), span: Span::default() }
}

/// A network without actors, with one port more that shows what objects hold.
fn network(inputs: &[u32], outputs: &[u32]) -> Network {
    let ports = |like: &str, widths: &[u32]| -> Vec<Port> {
        widths.iter().enumerate().map(|(at, &width)| port(format!("{like}{at}"), width)).collect()
    };
    let mut outputs = ports("out", outputs);
    outputs.push(port("elements".to_owned(), 64));
    Network {
        name: "test.Network".to_owned(),
        inputs: ports("in", inputs),
        outputs,
        actors: Vec::new(),
        instances: Vec::new(),
        connections: Vec::new(),
        span: Span::default(),
    }
}

fn state(step: Step, loops: Vec<CountedLoop>) -> ControlState {
    ControlState { step, loops, description: String::new(), fsm: Vec::new(), fills: Vec::new(), known: Vec::new() }
}

/// A kernel that shows what objects hold, on the last port: low and high 64 bits of each element.
fn shows(graph: &mut Graph, objects: &[Object], n_inputs: usize, n_outputs: usize) -> Transition {
    let mut effects = Vec::new();
    for (at, object) in objects.iter().enumerate().filter(|(_, object)| object.persistent) {
        for index in 0..object.length {
            let index = graph.number(index as u128, 32);
            let element = graph.entry(ObjectId(at as u32), index, object.width);
            let element = graph.zero_extend(element, 128);
            for lo in [0, 64] {
                let value = graph.extract(element, lo, 64);
                effects.push(Effect::Output { port: n_outputs as u32, offset: effects.len() as u64, value });
            }
        }
    }
    let mut produces = vec![0; n_outputs];
    produces.push(effects.len() as u64);
    Transition { effects, consumes: vec![0; n_inputs], produces }
}

/// What came out of a program.
struct Shown {
    tokens: Vec<Vec<u64>>,
    /// Iterations of loops run side by side in it.
    has_lanes: bool,
}

/// The automaton lowered, and what comes out of it for what the world has: all tokens of each port, elements last; or
/// why it is not.
fn shown(network: &Network, automaton: &Automaton, world: &World, options: &Options) -> Result<Shown, String> {
    let module = lower_fused(network, automaton, options)?;
    assert_eq!(verify(&module), Vec::<String>::new());
    let mut machine = Machine::new(&module);
    machine.limit_steps(10_000_000);
    let mut call =
        |function, arguments: &mut [Outside<'_>]| machine.call(function, arguments, &mut NoHost).expect("it runs");
    let Module { interface, .. } = &module;
    let write = |call: &mut dyn FnMut(FunctionId, &mut [Outside<'_>]) -> u64| {
        interface.inputs.iter().zip(&world.inputs).all(|(input, tokens)| {
            let mut tokens: Vec<u64> = tokens.iter().map(|&token| token as u64).collect();
            let n = tokens.len() as u64;
            call(input.write, &mut [Outside::Context, Outside::Slice(&mut tokens), Outside::Value(n)]) == n
        })
    };
    // The context has been used before: tokens wait at all of its ports.
    for is_used in [false, true] {
        call(interface.init, &mut [Outside::Context]);
        assert!(write(&mut call));
        assert_eq!(call(interface.run, &mut [Outside::Context, Outside::Value(1000)]), 0);
        if !is_used {
            write(&mut call);
        }
    }
    let mut all = Vec::new();
    for output in &interface.outputs {
        let n = call(output.waiting, &mut [Outside::Context]);
        let mut tokens = vec![0; n as usize];
        call(output.read, &mut [Outside::Context, Outside::Slice(&mut tokens), Outside::Value(n)]);
        all.push(tokens);
    }
    let has_lanes = module.functions.iter().any(|function| matches!(function.body[..], [Stmt::Lanes { .. }]));
    Ok(Shown { tokens: all, has_lanes })
}

/// The same of a world in which it was done.
fn expected(world: &World, objects: &[Object]) -> Vec<Vec<u64>> {
    let ports = world.outputs.iter().map(|tokens| tokens.iter().map(|&token| token as u64).collect());
    let persistent = world.objects.iter().zip(objects).filter(|(_, object)| object.persistent);
    let elements = persistent.flat_map(|(elements, _)| elements);
    let words = elements.flat_map(|&element| [element as u64, (element >> 64) as u64]);
    ports.chain([words.collect()]).collect()
}

#[test]
fn random_effects_do_what_they_mean() {
    let mut random = Random::new(1);
    let mut n_lowered = 0;
    for number in 0..400 {
        let effects::Case { mut graph, objects, effects } = effects::case(&mut random, PORTS);
        let mut world = World {
            inputs: PORTS.iter().map(|&width| (0..TOKENS).map(|_| random.bits(width)).collect()).collect(),
            consumed: vec![0; PORTS.len()],
            outputs: vec![Vec::new(); PORTS.len()],
            objects: Vec::new(),
        };
        for object in &objects {
            let elements = (0..object.length).map(|_| if object.persistent { random.bits(object.width) } else { 0 });
            world.objects.push(elements.collect());
        }
        // Tokens that nothing is said of are 0.
        let mut all = Vec::new();
        for (port, &width) in (0..).zip(PORTS) {
            let value = graph.number(0, width);
            all.extend((0..TOKENS).map(|offset| Effect::Output { port, offset, value }));
        }
        all.extend(effects);
        let mut produces = vec![TOKENS; PORTS.len()];
        produces.push(0);
        let kernel = Transition { effects: all.clone(), consumes: vec![0; PORTS.len()], produces };
        let elements = shows(&mut graph, &objects, PORTS.len(), PORTS.len());
        let automaton = Automaton {
            parts: Vec::new(),
            open: None,
            graph: graph.clone(),
            holds: vec![Holds::Local; objects.len()],
            initial: world.objects.clone(),
            objects: objects.clone(),
            states: vec![
                state(Step::Go { transition: kernel, target: 1 }, Vec::new()),
                state(Step::Go { transition: elements, target: 2 }, Vec::new()),
                state(Step::End, Vec::new()),
            ],
            paths: Vec::new(),
        };
        let shown = match shown(&network(PORTS, PORTS), &automaton, &world, &Options::default()) {
            Ok(shown) => shown,
            Err(why) => {
                assert_eq!(why, "a division of more than 64 bits");
                continue;
            }
        };
        n_lowered += 1;
        assert!(run(&graph, &all, &mut world, &mut 100_000));
        assert_eq!(shown.tokens, expected(&world, &objects), "case {number}: {all:#?}");
    }
    assert!(n_lowered > 200, "only {n_lowered} were lowered");
}

/// How iterations may run side by side: not at all, few or many of them, all that is done at once or in pieces.
const LANES: [Option<Lanes>; 4] = [
    None,
    Some(Lanes { count: 2, longest: None }),
    Some(Lanes { count: 3, longest: Some(7) }),
    Some(Lanes { count: 6, longest: Some(1) }),
];

/// Runs a loop on random tokens; says whether iterations ran side by side.
fn try_loop(name: &str, body: &Loop, random: &mut Random) -> bool {
    let mut has_lanes = false;
    for (iterations, lanes) in [2, 3, 7].into_iter().flat_map(|iterations| LANES.map(|lanes| (iterations, lanes))) {
        let tokens =
            |(n, width): &(u64, u32), random: &mut Random| (0..n * iterations).map(|_| random.bits(*width)).collect();
        let mut world = World {
            inputs: body.consumes.iter().map(|port| tokens(port, random)).collect(),
            consumed: vec![0; body.consumes.len()],
            outputs: vec![Vec::new(); body.produces.len()],
            objects: Vec::new(),
        };
        for object in &body.objects {
            world.objects.push((0..object.length).map(|_| random.bits(object.width)).collect());
        }
        let widths = |ports: &[(u64, u32)]| -> Vec<u32> { ports.iter().map(|port| port.1).collect() };
        let (inputs, outputs) = (widths(&body.consumes), widths(&body.produces));
        let mut graph = Graph::new();
        let kernel = shows(&mut graph, &body.objects, inputs.len(), outputs.len());
        let counted = CountedLoop::of(body.clone());
        let automaton = Automaton {
            parts: Vec::new(),
            open: None,
            graph,
            holds: vec![Holds::Local; body.objects.len()],
            initial: world.objects.clone(),
            objects: body.objects.clone(),
            states: vec![
                state(Step::Go { transition: kernel, target: 1 }, vec![counted]),
                state(Step::End, Vec::new()),
            ],
            paths: Vec::new(),
        };
        let options = Options { lanes, factor_rotations: iterations == 3, ..Options::default() };
        let shown = shown(&network(&inputs, &outputs), &automaton, &world, &options)
            .unwrap_or_else(|why| panic!("{name}: {why}"));
        run_loop(body, &mut world, iterations);
        assert_eq!(shown.tokens, expected(&world, &body.objects), "{name}, {iterations} iterations, {lanes:?}");
        has_lanes |= shown.has_lanes;
    }
    has_lanes
}

#[test]
fn loops_do_what_they_mean() {
    let mut random = Random::new(2);
    let mut side_by_side = |name: &str, body: &Loop| assert!(try_loop(name, body, &mut random), "{name}");
    side_by_side("rotating", &loops::rotating(5));
    side_by_side("beside", &loops::beside(3, true));
    side_by_side("waiting", &loops::waiting(40));
    side_by_side("delayed", &loops::delayed(30));
    try_loop("rotating", &loops::rotating(5), &mut random);
    try_loop("substitution", &loops::substitution(3, true), &mut random);
    try_loop("beside", &loops::beside(3, true), &mut random);
    try_loop("waiting", &loops::waiting(3), &mut random);
    try_loop("delayed", &loops::delayed(1), &mut random);
    try_loop("chained", &loops::chained(), &mut random);
    try_loop("counting", &loops::counting(), &mut random);
    try_loop("overflowing", &loops::overflowing(), &mut random);
    for n in [4, 16] {
        let body = loops::feistel(&mut random, n);
        try_loop("feistel", &body, &mut random);
    }
    for number in 0..60 {
        let body = loops::random_loop(&mut random, 16, 128, 60);
        try_loop(&format!("random {number}"), &body, &mut random);
    }
}
