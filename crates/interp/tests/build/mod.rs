//! Small programs in the representation, built by hand.

use headrace_engine::{CollectingHost, Engine, Outcome, Trap};
use headrace_interp::{Interpreter, Options};
use headrace_ir::*;
use headrace_source::Span;

pub fn span() -> Span {
    Span::default()
}

pub fn uint(width: u32) -> Scalar {
    Scalar::Int(IntType::unsigned(width))
}

pub fn int(width: u32) -> Scalar {
    Scalar::Int(IntType::signed(width))
}

pub fn port(name: &str, ty: Scalar) -> Port {
    Port { name: name.into(), ty, span: span() }
}

pub fn expr(kind: ExprKind) -> Expr {
    Expr { kind, span: span() }
}

pub fn lit(value: i64) -> Expr {
    expr(ExprKind::Int(Int::from(value)))
}

pub fn place(root: Root, indices: Vec<Expr>) -> Place {
    Place { root, indices, span: span() }
}

pub fn local(id: u32) -> Expr {
    expr(ExprKind::Load(place(Root::Local(LocalId(id)), vec![])))
}

pub fn element(root: Root, index: Expr) -> Expr {
    expr(ExprKind::Load(place(root, vec![index])))
}

pub fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    expr(ExprKind::Binary(op, Box::new(a), Box::new(b)))
}

pub fn compare(op: CompareOp, a: Expr, b: Expr) -> Expr {
    expr(ExprKind::Compare(op, Box::new(a), Box::new(b)))
}

pub fn wrap(ty: Scalar, value: Expr) -> Expr {
    let Scalar::Int(ty) = ty else { panic!("an integer type") };
    expr(ExprKind::Wrap(ty, Box::new(value)))
}

pub fn stmt(kind: StmtKind) -> Stmt {
    Stmt { kind, span: span() }
}

pub fn assign(root: Root, indices: Vec<Expr>, value: Expr) -> Stmt {
    stmt(StmtKind::Assign(place(root, indices), value))
}

pub fn pattern_local(name: &str, ty: Type) -> Local {
    Local { name: name.into(), ty, kind: LocalKind::Pattern }
}

pub fn plain_local(name: &str, ty: Type) -> Local {
    Local { name: name.into(), ty, kind: LocalKind::Plain }
}

pub fn variable(name: &str, ty: Type, mutable: bool, initial: Value) -> Variable {
    Variable { name: name.into(), ty, mutable, initial, span: span() }
}

pub fn action(name: &str) -> Action {
    Action {
        name: name.into(),
        tag: Some(name.into()),
        consumes: vec![],
        produces: vec![],
        guard: Guard::default(),
        locals: vec![],
        body: vec![],
        annotations: vec![],
        span: span(),
    }
}

/// Consumes one token of the port into each of the locals.
pub fn take(port: usize, locals: &[u32]) -> Pattern {
    Pattern { port, locals: locals.iter().map(|&id| LocalId(id)).collect(), repeat: None }
}

pub fn give(port: usize, values: Vec<Expr>) -> Output {
    Output { port, values: values.into_iter().map(OutputValue::Scalar).collect(), repeat: None }
}

/// An actor without FSM that tries its actions in order.
pub fn actor(inputs: Vec<Port>, outputs: Vec<Port>, actions: Vec<Action>) -> Actor {
    let tests = (0..actions.len()).map(|at| Test { action: ActionId(at as u32), next: StateId(0) }).collect::<Vec<_>>();
    Actor {
        class: "test.Actor".into(),
        parameters: vec![],
        inputs,
        outputs,
        variables: vec![],
        procedures: vec![],
        natives: vec![],
        initializers: vec![],
        actions,
        schedule: Schedule { states: vec![State { name: String::new(), tests }], initial: StateId(0) },
        priorities: vec![],
        annotations: vec![],
        lines: headrace_ir::Lines::default(),
        span: span(),
    }
}

pub fn connection(source: Endpoint, target: Endpoint) -> Connection {
    Connection { source, target, via: vec![], fifo_tokens: None, is_registered: false, span: span() }
}

pub fn at(instance: u32, port: usize) -> Endpoint {
    Endpoint::Instance(InstanceId(instance), port)
}

pub fn instance(name: &str, actor: u32) -> Instance {
    Instance { name: name.into(), path: vec![name.into()], actor: ActorId(actor), alternative: None, span: span() }
}

/// A network of one instance whose ports are those of the network.
pub fn single(actor: Actor) -> Network {
    let connections = (0..actor.inputs.len())
        .map(|port| connection(Endpoint::Boundary(port), at(0, port)))
        .chain((0..actor.outputs.len()).map(|port| connection(at(0, port), Endpoint::Boundary(port))))
        .collect();
    Network {
        name: "test.Network".into(),
        inputs: actor.inputs.clone(),
        outputs: actor.outputs.clone(),
        actors: vec![actor],
        instances: vec![instance("a", 0)],
        connections,
        span: span(),
    }
}

pub fn interpreter(network: Network, options: Options) -> Interpreter {
    Interpreter::new(network, options).expect("a network that can be run")
}

/// Feeds all inputs, runs to the end and returns all outputs, as integers.
pub fn run_with(
    network: Network,
    inputs: &[&[i64]],
    options: Options,
) -> Result<(Vec<Vec<Int>>, CollectingHost), Trap> {
    let types: Vec<Scalar> = network.inputs.iter().map(|port| port.ty).collect();
    let out_types: Vec<Scalar> = network.outputs.iter().map(|port| port.ty).collect();
    let mut engine = interpreter(network, options);
    let mut host = CollectingHost::default();
    let mut left: Vec<Vec<u8>> = inputs
        .iter()
        .zip(&types)
        .map(|(tokens, ty)| tokens.iter().flat_map(|&token| Int::from(token).to_le_bytes(ty.storage_bytes())).collect())
        .collect();
    let mut outputs = vec![Vec::new(); out_types.len()];
    loop {
        let mut moved = 0;
        for (port, bytes) in left.iter_mut().enumerate() {
            let n = engine.write(port, bytes);
            bytes.drain(..n * types[port].storage_bytes());
            moved += n;
        }
        let outcome = engine.run(None, &mut host)?;
        for (port, out) in outputs.iter_mut().enumerate() {
            moved += engine.read(port, out);
        }
        if moved == 0 || outcome != Outcome::Idle {
            break;
        }
    }
    let streams = outputs
        .iter()
        .zip(&out_types)
        .map(|(bytes, ty)| {
            let signed = ty.as_int().is_some_and(|int| int.signed);
            bytes.chunks(ty.storage_bytes()).map(|token| Int::from_le_bytes(token, signed)).collect()
        })
        .collect();
    Ok((streams, host))
}

pub fn run(network: Network, inputs: &[&[i64]]) -> Vec<Vec<Int>> {
    run_with(network, inputs, Options::default()).expect("no trap").0
}

pub fn ints(values: &[i64]) -> Vec<Int> {
    values.iter().map(|&value| Int::from(value)).collect()
}

/// `action In:[a], In2:[b] ==> Out:[value]` over locals 0 and 1.
pub fn operator(a: Scalar, b: Scalar, out: Scalar, value: Expr) -> Network {
    let mut fire = action("fire");
    fire.locals = vec![pattern_local("a", Type::scalar(a)), pattern_local("b", Type::scalar(b))];
    fire.consumes = vec![take(0, &[0]), take(1, &[1])];
    fire.produces = vec![give(0, vec![value])];
    single(actor(vec![port("A", a), port("B", b)], vec![port("Out", out)], vec![fire]))
}
