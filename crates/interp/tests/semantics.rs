//! Firing rules and exact arithmetic, on networks built by hand.

mod build;

use build::*;
use headrace_engine::{Blocked, CollectingHost, Engine, Outcome};
use headrace_interp::{Interpreter, Options, Order};
use headrace_ir::*;

fn adder() -> Actor {
    let mut add = action("add");
    add.locals = vec![pattern_local("x", Type::scalar(uint(8)))];
    add.consumes = vec![take(0, &[0])];
    add.produces = vec![give(0, vec![wrap(uint(8), binary(BinaryOp::Add, local(0), lit(1)))])];
    actor(vec![port("In", uint(8))], vec![port("Out", uint(8))], vec![add])
}

#[test]
fn a_byte_actor_adds_and_wraps() {
    let input: Vec<i64> = (0..3000).map(|at| at % 256).collect();
    let expected: Vec<i64> = input.iter().map(|byte| (byte + 1) % 256).collect();
    assert_eq!(run(single(adder()), &[&input]), [ints(&expected)]);
}

/// Every operator on values around the edges of every representation, against arbitrary precision.
#[test]
fn representations_agree_with_arbitrary_precision() {
    let widths = [1, 7, 8, 31, 32, 33, 62, 63, 64, 65, 127, 128, 200];
    let operators = [
        BinaryOp::Add,
        BinaryOp::Sub,
        BinaryOp::Mul,
        BinaryOp::Div,
        BinaryOp::Mod,
        BinaryOp::And,
        BinaryOp::Or,
        BinaryOp::Xor,
        BinaryOp::ShiftRight,
    ];
    let samples: [&[i64]; 2] = [
        &[0, 1, -1, 5, i64::MAX, i64::MIN, i64::MIN + 1, 1 << 32, -77, 12345678901, i64::MAX - 1, -2, 63],
        &[1, -1, 3, 7, i64::MIN, i64::MAX, 2, 64, 5, 1, -1, 33, 200],
    ];
    let mut compared = 0;
    for (position, &a) in widths.iter().enumerate() {
        for &b in &widths {
            for signed in 0..4 {
                let a = Scalar::Int(IntType { signed: signed & 1 == 1, width: a });
                let b = Scalar::Int(IntType { signed: signed & 2 == 2, width: b });
                let out =
                    Scalar::Int(IntType { signed: signed & 1 == 0, width: widths[(position + 5) % widths.len()] });
                for op in operators {
                    // Division and shifts get an operand for which they are defined.
                    let right = match op {
                        BinaryOp::Div | BinaryOp::Mod => {
                            binary(BinaryOp::Add, binary(BinaryOp::And, local(1), lit(0xffff_ffff_ffff)), lit(1))
                        }
                        BinaryOp::ShiftRight => binary(BinaryOp::And, local(1), lit(0xff)),
                        _ => local(1),
                    };
                    let value = binary(op, binary(BinaryOp::Mul, local(0), local(0)), right);
                    let network = operator(a, b, out, wrap(out, value));
                    let exact = Options { arbitrary_precision: true, ..Options::default() };
                    let fast = run_with(network.clone(), &samples, Options::default()).expect("no trap").0;
                    let slow = run_with(network, &samples, exact).expect("no trap").0;
                    assert_eq!(fast, slow, "{op:?} on {a} and {b} to {out}");
                    compared += fast[0].len();
                }
            }
        }
    }
    assert_eq!(compared, 13 * 13 * 4 * 9 * 13);
}

#[test]
fn shifts_left_wrap_to_their_type() {
    // The last two hold every value.
    let types = [
        (uint(32), 95),
        (uint(64), 127),
        (int(33), 64),
        (uint(8), 271),
        (int(64), 63),
        (uint(64), MAX_WIDTH + 64),
        (int(33), MAX_WIDTH + 33),
    ];
    for (value, shift_type) in types {
        let ty = IntType { signed: value.as_int().is_some_and(|int| int.signed), width: shift_type };
        for (count, counts) in [(uint(8), [0, 5, 63, 70, 94, 255]), (int(9), [-1, 5, 64, -33, -200, 100])] {
            for outer in [uint(64), int(20), uint(90)] {
                let shifted = expr(ExprKind::ShiftLeft(ty, Box::new(local(0)), Box::new(local(1))));
                let network = operator(value, count, outer, wrap(outer, shifted));
                let samples: [&[i64]; 2] = [&[-1, 3, i64::MIN, 255, 77, -5], &counts];
                let exact = Options { arbitrary_precision: true, ..Options::default() };
                assert_eq!(
                    run(network.clone(), &samples),
                    run_with(network, &samples, exact).expect("no trap").0,
                    "{value} << {count} to {ty} to {outer}"
                );
            }
        }
    }
}

#[test]
fn a_shift_too_far_is_told_where_the_whole_value_counts() {
    let too_far = |width| {
        let shifted = expr(ExprKind::ShiftLeft(IntType::unsigned(width), Box::new(local(0)), Box::new(local(1))));
        operator(uint(8), uint(16), uint(64), wrap(uint(64), shifted))
    };
    let samples: [&[i64]; 2] = [&[1], &[2049]];
    let trap = run_with(too_far(MAX_WIDTH + 8), &samples, Options::default()).expect_err("a trap");
    assert_eq!(trap.message, "left shift by more than 2048 where the value is not stored");
    assert_eq!(run(too_far(71), &samples), [ints(&[0])]);
}

#[test]
fn division_by_zero_is_told_with_its_place() {
    let network = operator(int(8), int(8), int(8), wrap(int(8), binary(BinaryOp::Div, local(0), local(1))));
    let trap = run_with(network, &[&[1], &[0]], Options::default()).expect_err("a trap");
    assert_eq!(trap.message, "division by zero");
    assert_eq!((trap.instance.as_str(), trap.action.as_str()), ("a", "fire"));
    assert!(trap.span.is_some());
}

#[test]
fn an_index_out_of_range_is_told() {
    let mut network = operator(int(8), int(8), int(8), lit(0));
    let actor = &mut network.actors[0];
    let table = Type::list(int(8), vec![4]);
    actor.variables = vec![variable("t", table.clone(), false, Value::zero(&table))];
    actor.actions[0].produces = vec![give(0, vec![element(Root::Actor(VariableId(0)), local(0))])];
    let trap = run_with(network.clone(), &[&[4], &[0]], Options::default()).expect_err("a trap");
    assert_eq!(trap.message, "index 4 is outside 0..3");
    let trap = run_with(network, &[&[-1], &[0]], Options::default()).expect_err("a trap");
    assert_eq!(trap.message, "index -1 is outside 0..3");
}

/// A merge that prefers its first input: time-dependent, so the order of its test list can be seen.
#[test]
fn the_first_enabled_action_fires() {
    let forward = |name: &str, input: usize| {
        let mut forward = action(name);
        forward.locals = vec![pattern_local("x", Type::scalar(uint(8)))];
        forward.consumes = vec![take(input, &[0])];
        forward.produces = vec![give(0, vec![local(0)])];
        forward
    };
    let ports = vec![port("A", uint(8)), port("B", uint(8))];
    let merge = actor(ports, vec![port("Out", uint(8))], vec![forward("a", 0), forward("b", 1)]);
    assert_eq!(run(single(merge), &[&[1, 2], &[7, 8]]), [ints(&[1, 2, 7, 8])]);
}

/// The chosen action lacks room, so the actor waits although a later one could fire.
#[test]
fn lack_of_room_blocks() {
    let mut two = action("two");
    two.produces = vec![give(0, vec![lit(1), lit(2)])];
    let mut count = action("count");
    count.produces = vec![give(1, vec![lit(9)])];
    let network = single(actor(vec![], vec![port("A", uint(8)), port("B", uint(8))], vec![two, count]));
    let mut engine = interpreter(network, Options { fifo_tokens: 5, ..Options::default() });
    assert_eq!(engine.run(None, &mut CollectingHost::default()), Ok(Outcome::Idle));
    assert_eq!(engine.firings(), [[2, 0]]);
    let report = engine.report();
    assert!(report.lacks_room());
    assert_eq!(report.waits[0].blocked, Blocked::Room { port: "A".into(), needed: 2, room: 1, reader: "A".into() });
    assert_eq!(report.waits.len(), 1);
    assert_eq!((report.leftovers[0].tokens, report.leftovers[0].capacity), (4, 5));
    let mut out = Vec::new();
    assert_eq!(engine.read(0, &mut out), 4);
    assert_eq!(engine.run(None, &mut CollectingHost::default()), Ok(Outcome::Idle));
    assert_eq!(engine.firings(), [[4, 0]]);
}

#[test]
fn a_guard_peeks_and_does_not_consume() {
    let mut even = action("even");
    even.locals = vec![pattern_local("x", Type::scalar(uint(8)))];
    even.consumes = vec![take(0, &[0])];
    even.guard = Guard {
        before: vec![],
        conditions: vec![compare(CompareOp::Equal, binary(BinaryOp::And, local(0), lit(1)), lit(0))],
        peeks: vec![LocalId(0)],
    };
    even.produces = vec![give(0, vec![local(0)])];
    let mut odd = even.clone();
    odd.name = "odd".into();
    odd.guard.conditions = vec![compare(CompareOp::NotEqual, binary(BinaryOp::And, local(0), lit(1)), lit(0))];
    odd.produces = vec![give(1, vec![local(0)])];
    let outputs = vec![port("Even", uint(8)), port("Odd", uint(8))];
    let network = single(actor(vec![port("In", uint(8))], outputs, vec![even, odd]));
    assert_eq!(run(network, &[&[1, 2, 3, 4, 4]]), [ints(&[2, 4, 4]), ints(&[1, 3])]);
}

#[test]
fn repeated_patterns_deal_tokens_round_robin() {
    let list = |n| Type::list(uint(8), vec![n]);
    let mut deal = action("deal");
    deal.locals = vec![pattern_local("a", list(3)), pattern_local("b", list(3))];
    deal.consumes = vec![Pattern { port: 0, locals: vec![LocalId(0), LocalId(1)], repeat: Some(3) }];
    let whole = |id| OutputValue::List { place: place(Root::Local(LocalId(id)), vec![]), convert: None };
    deal.produces = vec![
        Output { port: 0, values: vec![whole(0)], repeat: Some(2) },
        Output { port: 1, values: vec![whole(1), whole(0)], repeat: Some(3) },
    ];
    let outputs = vec![port("A", uint(8)), port("B", uint(8))];
    let network = single(actor(vec![port("In", uint(8))], outputs, vec![deal]));
    assert_eq!(run(network, &[&[1, 2, 3, 4, 5, 6, 7]]), [ints(&[1, 3]), ints(&[2, 1, 4, 3, 6, 5])]);
}

#[test]
fn all_enabled_initializers_run_in_order_and_wait_for_room() {
    let emit = |name: &str, value: i64| {
        let mut emit = action(name);
        emit.produces = vec![give(0, vec![lit(value), lit(value + 1)])];
        emit
    };
    let mut never = emit("never", 50);
    never.guard.conditions = vec![expr(ExprKind::Bool(false))];
    let mut initialised = adder();
    initialised.initializers = vec![emit("first", 10), never, emit("second", 20), emit("third", 30)];
    let mut engine = interpreter(single(initialised), Options { fifo_tokens: 4, ..Options::default() });
    let mut host = CollectingHost::default();
    assert_eq!(engine.write(0, &[1, 2]), 2);
    engine.run(None, &mut host).expect("no trap");
    let mut out = Vec::new();
    engine.read(0, &mut out);
    assert_eq!(out, [10, 11, 20, 21]);
    assert!(engine.report().waits.iter().any(|wait| wait.action == "third") || engine.report().waits.is_empty());
    engine.run(None, &mut host).expect("no trap");
    engine.read(0, &mut out);
    assert_eq!(out, [10, 11, 20, 21, 30, 31, 2, 3]);
    assert_eq!(engine.firings(), [[2]]);
}

#[test]
fn tokens_convert_on_their_way() {
    let mut network = single(adder());
    network.connections[1].via = vec![uint(4), int(4)];
    network.outputs[0].ty = int(16);
    assert_eq!(run(network, &[&[6, 7, 15, 23]]), [ints(&[7, -8, 0, -8])]);
}

#[test]
fn fan_out_copies_and_open_ends_drop() {
    let mut network = single(adder());
    network.outputs.push(port("Copy", uint(4)));
    network.connections.push(connection(at(0, 0), Endpoint::Boundary(1)));
    assert_eq!(run(network.clone(), &[&[20, 30]]), [ints(&[21, 31]), ints(&[5, 15])]);
    network.connections.truncate(1);
    let (streams, _) = run_with(network, &[&[20, 30]], Options::default()).expect("no trap");
    assert_eq!(streams, [ints(&[]), ints(&[])]);
}

/// A pipeline of adders with a split and a join: every order and FIFO size gives the same stream.
#[test]
fn orders_and_sizes_do_not_change_determinate_streams() {
    let mut join = action("join");
    join.locals = vec![pattern_local("a", Type::scalar(uint(8))), pattern_local("b", Type::list(uint(8), vec![2]))];
    join.consumes = vec![take(0, &[0]), Pattern { port: 1, locals: vec![LocalId(1)], repeat: Some(2) }];
    let sum = (0..2).fold(local(0), |sum, at| {
        binary(BinaryOp::Add, binary(BinaryOp::Mul, sum, lit(3)), element(Root::Local(LocalId(1)), lit(at)))
    });
    join.produces = vec![give(0, vec![wrap(uint(16), sum)])];
    let join = actor(vec![port("A", uint(8)), port("B", uint(8))], vec![port("Out", uint(16))], vec![join]);
    let network = Network {
        name: "N".into(),
        inputs: vec![port("In", uint(8))],
        outputs: vec![port("Out", uint(16))],
        actors: vec![adder(), join],
        instances: vec![instance("x", 0), instance("y", 0), instance("z", 0), instance("j", 1)],
        connections: vec![
            connection(Endpoint::Boundary(0), at(0, 0)),
            connection(Endpoint::Boundary(0), at(1, 0)),
            connection(at(1, 0), at(2, 0)),
            connection(at(0, 0), at(3, 0)),
            connection(at(2, 0), at(3, 1)),
            connection(at(3, 0), Endpoint::Boundary(0)),
        ],
        span: span(),
    };
    let input: Vec<i64> = (0..200).map(|at| at * 7 % 256).collect();
    let expected = {
        let mut network = network.clone();
        network.connections[3].fifo_tokens = Some(4096);
        run(network, &[&input])
    };
    assert_eq!(expected[0].len(), 100);
    for fifo_tokens in [128, 512] {
        for order in [Order::RoundRobin, Order::DemandDriven, Order::Random(1), Order::Random(2)] {
            let mut network = network.clone();
            network.connections[3].fifo_tokens = Some(200);
            let options = Options { fifo_tokens, order, ..Options::default() };
            assert_eq!(run_with(network, &[&input], options).expect("no trap").0, expected, "{order:?} {fifo_tokens}");
        }
    }
}

fn countdown(recursive_to: i64) -> Network {
    // f(n) = if n = 0 then 0 else f(n - 1) + 1 end
    let mut fire = action("fire");
    fire.locals = vec![pattern_local("x", Type::scalar(int(32)))];
    fire.consumes = vec![take(0, &[0])];
    let call = |argument| expr(ExprKind::Call(ProcedureId(0), vec![Argument::Value(argument)]));
    fire.produces = vec![give(0, vec![call(local(0))])];
    let mut actor = actor(vec![port("In", int(32))], vec![port("Out", int(32))], vec![fire]);
    let down = wrap(int(32), binary(BinaryOp::Sub, local(0), lit(1)));
    let value = expr(ExprKind::If(
        Box::new(compare(CompareOp::Equal, local(0), lit(recursive_to))),
        Box::new(lit(0)),
        Box::new(binary(BinaryOp::Add, call(down), lit(1))),
    ));
    actor.procedures = vec![Procedure {
        name: "f".into(),
        locals: vec![Local { name: "n".into(), ty: Type::scalar(int(32)), kind: LocalKind::Parameter }],
        n_parameters: 1,
        body: vec![],
        result: Some((int(32), wrap(int(32), value))),
        pure_function: true,
        annotations: vec![],
        span: span(),
    }];
    single(actor)
}

#[test]
fn recursion_is_bounded_and_not_by_the_stack() {
    assert_eq!(run(countdown(0), &[&[5000]]), [ints(&[5000])]);
    let trap = run_with(countdown(-1), &[&[1 << 30]], Options::default()).expect_err("a trap");
    assert_eq!(trap.message, "more than 10000 calls are open");
    assert_eq!(trap.action, "f");
}

#[test]
fn endless_loops_end() {
    let mut forever = action("forever");
    forever.body = vec![stmt(StmtKind::While { before: vec![], condition: expr(ExprKind::Bool(true)), body: vec![] })];
    let network = single(actor(vec![], vec![], vec![forever]));
    let options = Options { step_limit: Some(100_000), ..Options::default() };
    let trap = run_with(network.clone(), &[], options).expect_err("a trap");
    assert!(trap.message.contains("no end of the firing"), "{}", trap.message);
    let flag = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let options = Options { interrupt: Some(flag), ..Options::default() };
    assert_eq!(run_with(network, &[], options).expect_err("a trap").message, "interrupted");
}

#[test]
fn the_firing_limit_counts_each_call() {
    let mut idle = action("idle");
    idle.body = vec![];
    let mut engine = interpreter(single(actor(vec![], vec![], vec![idle])), Options::default());
    for round in 1..4 {
        assert_eq!(engine.run(Some(10), &mut CollectingHost::default()), Ok(Outcome::FiringLimit));
        assert_eq!(engine.firings(), [[10 * round]]);
    }
}

#[test]
fn foreach_assigns_and_ends() {
    // foreach i in 250 .. 255 with an 8-bit variable; the body skips one value.
    let mut fire = action("fire");
    fire.locals = vec![plain_local("i", Type::scalar(uint(8)))];
    let root = Root::Local(LocalId(0));
    fire.body = vec![stmt(StmtKind::Foreach {
        variable: LocalId(0),
        low: lit(250),
        high: lit(255),
        body: vec![
            stmt(StmtKind::Print { pieces: vec![PrintOperand { value: local(0), kind: uint(8) }], newline: true }),
            stmt(StmtKind::If(
                compare(CompareOp::Equal, local(0), lit(252)),
                vec![assign(root, vec![], lit(253))],
                vec![],
            )),
        ],
    })];
    let mut engine = interpreter(single(actor(vec![], vec![], vec![fire])), Options::default());
    let mut host = CollectingHost::default();
    assert_eq!(engine.run(Some(1), &mut host), Ok(Outcome::FiringLimit));
    assert_eq!(String::from_utf8_lossy(&host.printed), "250\n251\n252\n254\n255\n");
}

#[test]
fn natives_read_write_and_exit() {
    let mut copy = action("copy");
    copy.locals = vec![
        plain_local("b", Type::scalar(uint(8))),
        plain_local("n", Type::scalar(int(32))),
        plain_local("l", Type::list(uint(8), vec![2])),
    ];
    let native = |id: u32, result, arguments| stmt(StmtKind::CallNative { result, native: NativeId(id), arguments });
    copy.body = vec![
        native(0, None, vec![]),
        native(1, Some(LocalId(0)), vec![]),
        native(2, None, vec![Argument::Value(local(0))]),
        native(4, None, vec![Argument::List(place(Root::Local(LocalId(2)), vec![])), Argument::Value(lit(2))]),
        native(2, None, vec![Argument::Value(element(Root::Local(LocalId(2)), lit(1)))]),
        native(3, None, vec![Argument::Value(lit(3))]),
    ];
    let mut actor = actor(vec![], vec![], vec![copy]);
    let declare =
        |name: &str, parameters: Vec<Type>, result| Native { name: name.into(), parameters, result, span: span() };
    actor.natives = vec![
        declare("std.stdio.Source.source_init", vec![], None),
        declare("std.stdio.Source.source_readByte", vec![], Some(uint(8))),
        declare("std.stdio.Writer.Writer_write", vec![Type::scalar(uint(8))], None),
        declare("std.stdio.Exit.source_exit", vec![Type::scalar(int(32))], None),
        declare("std.stdio.Source.source_readNBytes", vec![Type::list(uint(8), vec![2]), Type::scalar(uint(32))], None),
    ];
    let mut engine = interpreter(single(actor), Options::default());
    let mut host = CollectingHost { source: vec![7, 8, 9], ..CollectingHost::default() };
    assert_eq!(engine.run(None, &mut host), Ok(Outcome::Exited(3)));
    assert_eq!(host.written, [7, 9]);
    assert_eq!(engine.run(None, &mut host), Ok(Outcome::Exited(3)));
}

#[test]
fn unknown_natives_are_told() {
    let mut actor = adder();
    actor.natives = vec![Native { name: "my.Unit.launch".into(), parameters: vec![], result: None, span: span() }];
    let problems = Interpreter::new(single(actor), Options::default()).expect_err("a diagnostic");
    assert_eq!(problems[0].slug, "unknown-native");
}

#[test]
fn natives_declared_otherwise_are_told() {
    let mut actor = adder();
    let name = "std.stdio.Source.source_readByte".into();
    actor.natives = vec![Native { name, parameters: vec![], result: None, span: span() }];
    let problems = Interpreter::new(single(actor), Options::default()).expect_err("a diagnostic");
    assert_eq!(problems[0].slug, "native-signature");
    assert_eq!(problems[0].notes, ["it is `function source_readByte() --> uint(size=8)`"]);
}

#[test]
fn native_actors_are_told() {
    let mut actor = actor(vec![], vec![port("Out", uint(8))], vec![]);
    actor.annotations = vec![Annotation { name: "native".into(), arguments: vec![] }];
    let problems = Interpreter::new(single(actor), Options::default()).expect_err("a diagnostic");
    assert_eq!(problems[0].slug, "unknown-native");
}

#[test]
fn the_report_tells_guards_tokens_and_leftovers() {
    let mut pair = action("pair");
    pair.locals = vec![pattern_local("x", Type::scalar(uint(8))), pattern_local("y", Type::scalar(uint(8)))];
    pair.consumes = vec![take(0, &[0, 1])];
    let mut big = action("big");
    big.locals = vec![pattern_local("x", Type::scalar(uint(8)))];
    big.consumes = vec![take(0, &[0])];
    big.guard = Guard {
        before: vec![],
        conditions: vec![compare(CompareOp::Greater, local(0), lit(100))],
        peeks: vec![LocalId(0)],
    };
    let network = single(actor(vec![port("In", uint(8))], vec![], vec![pair, big]));
    let mut engine = interpreter(network, Options::default());
    engine.write(0, &[1, 2, 200, 3]);
    engine.write(0, &[7]);
    assert_eq!(engine.run(None, &mut CollectingHost::default()), Ok(Outcome::Idle));
    let report = engine.report();
    assert_eq!(report.waits.len(), 2);
    assert_eq!(report.waits[0].blocked, Blocked::Tokens { port: "In".into(), needed: 2, there: 1 });
    assert_eq!((report.waits[1].action.as_str(), &report.waits[1].blocked), ("big", &Blocked::Guard));
    assert_eq!((report.leftovers.len(), report.leftovers[0].target.as_str()), (1, "a.In"));
    assert!(!report.lacks_room());
}

#[test]
fn an_interpreter_can_go_to_another_thread() {
    let mut engine = interpreter(single(adder()), Options::default());
    let outcome = std::thread::spawn(move || engine.run(None, &mut CollectingHost::default())).join();
    assert_eq!(outcome.expect("no panic"), Ok(Outcome::Idle));
}

#[test]
fn fifos_beyond_memory_are_refused() {
    let mut network = single(adder());
    network.connections[0].fifo_tokens = Some(u32::MAX);
    let problems = Interpreter::new(network, Options::default()).expect_err("a diagnostic");
    assert_eq!(problems[0].slug, "state-too-large");
}

#[test]
fn a_network_that_contradicts_itself_is_refused() {
    let mut network = single(adder());
    network.actors[0].actions[0].produces = vec![give(0, vec![local(7)])];
    let problems = Interpreter::new(network, Options::default()).expect_err("a diagnostic");
    assert_eq!(problems[0].slug, "malformed-network");
}
