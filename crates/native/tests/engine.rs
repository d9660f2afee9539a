//! The engine on a network built by hand: `y := x + 1` on bytes.

use headrace_engine::{Blocked, CollectingHost, Engine, Outcome};
use headrace_ir::{
    Action, ActionId, Actor, ActorId, BinaryOp, Connection, Endpoint, Expr, ExprKind, Guard, Instance, InstanceId, Int,
    IntType, Lines, Local, LocalId, LocalKind, Network, Output, OutputValue, Pattern, Place, Port, Root, Scalar,
    Schedule, State, StateId, Test, Type,
};
use headrace_native::{Batch, Compiler, NativeEngine, NativeError, Options};
use headrace_source::Span;

const BYTE: IntType = IntType::unsigned(8);

fn adder() -> Network {
    let span = Span::default();
    let expr = |kind| Expr { kind, span };
    let x = expr(ExprKind::Load(Place { root: Root::Local(LocalId(0)), indices: Vec::new(), span }));
    let one = expr(ExprKind::Int(Int::from(1i64)));
    let sum = expr(ExprKind::Binary(BinaryOp::Add, Box::new(x), Box::new(one)));
    let port = |name: &str| Port { name: name.into(), ty: Scalar::Int(BYTE), span };
    let action = Action {
        name: "add".into(),
        tag: Some("add".into()),
        consumes: vec![Pattern { port: 0, locals: vec![LocalId(0)], repeat: None }],
        produces: vec![Output {
            port: 0,
            values: vec![OutputValue::Scalar(expr(ExprKind::Wrap(BYTE, Box::new(sum))))],
            repeat: None,
        }],
        guard: Guard::default(),
        locals: vec![Local { name: "x".into(), ty: Type::scalar(Scalar::Int(BYTE)), kind: LocalKind::Pattern }],
        body: Vec::new(),
        annotations: Vec::new(),
        span,
    };
    let actor = Actor {
        class: "test.Adder".into(),
        parameters: Vec::new(),
        inputs: vec![port("In")],
        outputs: vec![port("Out")],
        variables: Vec::new(),
        procedures: Vec::new(),
        natives: Vec::new(),
        initializers: Vec::new(),
        actions: vec![action],
        schedule: Schedule {
            states: vec![State { name: String::new(), tests: vec![Test { action: ActionId(0), next: StateId(0) }] }],
            initial: StateId(0),
        },
        priorities: Vec::new(),
        annotations: Vec::new(),
        lines: Lines::default(),
        span,
    };
    let connection =
        |source, target| Connection { source, target, via: Vec::new(), fifo_tokens: None, is_registered: false, span };
    let own = Endpoint::Instance(InstanceId(0), 0);
    Network {
        name: "test.Adder".into(),
        inputs: vec![port("In")],
        outputs: vec![port("Out")],
        actors: vec![actor],
        instances: vec![Instance {
            name: "adder".into(),
            path: vec!["adder".into()],
            actor: ActorId(0),
            alternative: None,
            span,
        }],
        connections: vec![connection(Endpoint::Boundary(0), own), connection(own, Endpoint::Boundary(0))],
        span,
    }
}

/// Options with a cache of the test's own; `None` without a compiler, which is told.
fn options(name: &str) -> Option<Options> {
    if Compiler::find().is_none() {
        eprintln!("not run: no C compiler");
        return None;
    }
    let cache = std::env::temp_dir().join(format!("headrace-native-{name}-{}", std::process::id()));
    Some(Options { cache: Some(cache), ..Options::default() })
}

fn cache_of(options: &Options) -> &std::path::Path {
    options.cache.as_deref().expect("it was named")
}

#[test]
fn tokens_go_through_and_what_waits_is_told() {
    let Some(options) = options("tokens") else { return };
    let options = Options { fifo_tokens: 4, ..options };
    let mut engine = NativeEngine::new(adder(), &options).expect("it compiles");
    let mut host = CollectingHost::default();
    assert_eq!(engine.write(0, &[1, 2, 255, 4, 5, 6]), 4);
    assert_eq!(engine.run(None, &mut host), Ok(Outcome::Idle));
    assert_eq!(engine.write(0, &[5, 6]), 2);
    assert_eq!(engine.run(None, &mut host), Ok(Outcome::Idle));
    let report = engine.report();
    assert!(matches!(&report.waits[0].blocked, Blocked::Room { needed: 1, room: 0, reader, .. } if reader == "Out"));
    assert_eq!(report.leftovers.len(), 2);
    let mut tokens = Vec::new();
    assert_eq!(engine.read(0, &mut tokens), 4);
    assert_eq!(engine.run(Some(1), &mut host), Ok(Outcome::FiringLimit));
    assert_eq!(engine.run(None, &mut host), Ok(Outcome::Idle));
    assert_eq!(engine.read(0, &mut tokens), 2);
    assert_eq!(tokens, [2, 3, 0, 5, 6, 7]);
    assert_eq!(engine.firings(), [[6]]);
    engine.reset();
    assert_eq!(engine.firings(), [[0]]);
    std::fs::remove_dir_all(cache_of(&options)).expect("the cache can be removed");
}

#[test]
fn what_was_compiled_is_found_again() {
    let Some(options) = options("cache") else { return };
    let networks = [("first", &adder(), 16), ("second", &adder(), 4)];
    let batch = Batch::compile(&networks, &options).expect("it compiles");
    let entries = || std::fs::read_dir(cache_of(&options)).expect("there is a cache").count();
    assert_eq!(entries(), 1);
    Batch::compile(&networks, &options).expect("it is found");
    assert_eq!(entries(), 1);
    let other = Options { flags: vec!["-std=c11".into(), "-O1".into()], ..options.clone() };
    Batch::compile(&networks, &other).expect("it compiles");
    assert_eq!(entries(), 2);
    let mut engine = batch.engine(1, adder()).expect("there is a second network");
    assert_eq!(engine.write(0, &[0; 9]), 4);
    assert!(batch.engine(2, adder()).is_err());
    std::fs::remove_dir_all(cache_of(&options)).expect("the cache can be removed");
}

#[test]
fn a_compiler_that_refuses_is_an_error_with_its_words() {
    assert_eq!(Compiler::named("headrace-no-such-compiler"), None);
    let Some(options) = options("refuses") else { return };
    let options = Options { flags: vec!["-fno-such-flag-at-all".into()], ..options };
    let error = NativeEngine::new(adder(), &options).expect_err("there is no such flag");
    assert!(matches!(&error, NativeError::Failed(said) if said.contains("no-such-flag")), "{error}");
    assert_eq!(std::fs::read_dir(cache_of(&options)).expect("there is a cache").count(), 0);
    std::fs::remove_dir_all(cache_of(&options)).expect("the cache can be removed");
}
