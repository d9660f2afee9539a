//! Lowering of networks with run-time scheduling. A network: the context, how it begins, and the function that runs it.

use crate::Options;
use crate::boundary;
use crate::building::{Building, MAX_ELEMENTS, control};
use crate::firing::{Wire, Wiring};
use crate::function::FunctionBuilder;
use crate::machine::{elements, machine, words};
use crate::plan::{Home, Lowered, Need, Plan, array_length};
use crate::ring::{Ring, ring_record};
use crate::scheduler::scheduler;
use headrace_analysis::topology;
use headrace_ir::{Connection, Endpoint, InstanceId, Network, Scalar};
use headrace_program::{
    Argument, CompareOp, Expr, ExprKind, FieldType, FunctionId, Interface, Module, Place, RecordId, Root, Stmt, Type,
    VariableId,
};
use headrace_source::Diagnostic;
use rustc_hash::FxHashMap;

/// Where the parts of a network lie in its context.
pub(crate) struct Layout {
    pub(crate) context: RecordId,
    pub(crate) control: u32,
    /// For each instance, whether something happened to it since it last ran.
    pub(crate) news: u32,
    pub(crate) instances: Vec<u32>,
    /// For each connection.
    pub(crate) fifos: Vec<(u32, Ring)>,
}

/// A network with its scheduler.
pub(crate) struct Scheduled<'a> {
    pub(crate) plans: Vec<Plan<'a>>,
    pub(crate) layout: Layout,
    pub(crate) init: FunctionId,
    pub(crate) run: FunctionId,
    pub(crate) lacks_room: FunctionId,
}

pub(crate) fn lower(network: &Network, options: &Options) -> Result<Module, Vec<Diagnostic>> {
    let mut building = Building::new();
    let Scheduled { plans, layout, init, run, lacks_room } = scheduled(network, options, &mut building)?;
    let mut interface = Interface {
        context: layout.context,
        init,
        run,
        lacks_room,
        inputs: Vec::new(),
        outputs: Vec::new(),
        streams: Vec::new(),
    };
    for (at, port) in network.inputs.iter().enumerate() {
        interface.inputs.push(boundary::input(network, &plans, &layout, at, port, &mut building));
    }
    for (at, port) in network.outputs.iter().enumerate() {
        interface.outputs.push(boundary::output(network, &layout, at, port, &mut building));
    }
    if building.diagnostics.is_empty() { Ok(building.module(network, interface)) } else { Err(building.diagnostics) }
}

/// Lowers a network with its scheduler into a module, but for the functions that move tokens over its boundary.
pub(crate) fn scheduled<'a>(
    network: &'a Network,
    options: &Options,
    building: &mut Building,
) -> Result<Scheduled<'a>, Vec<Diagnostic>> {
    let ports = network.actors.iter().flat_map(|actor| actor.inputs.iter().chain(&actor.outputs));
    for port in ports.chain(&network.inputs).chain(&network.outputs).filter(|port| port.ty == Scalar::String) {
        building.unsupported(port.span, "ports of type String; C and the engines can");
    }
    let rings: Vec<Ring> =
        network.connections.iter().map(|connection| ring(network, connection, options, building)).collect();
    if !building.diagnostics.is_empty() {
        return Err(std::mem::take(&mut building.diagnostics));
    }
    let plans: Vec<Plan<'_>> = network.actors.iter().map(|actor| Plan::new(actor, building)).collect();
    let mut schedulers: FxHashMap<(usize, Wiring), Lowered> = FxHashMap::default();
    let mut runs = Vec::new();
    for (at, instance) in network.instances.iter().enumerate() {
        let actor = instance.actor.index();
        let (wiring, connections) = wiring(network, InstanceId(at as u32), &rings);
        let lowered = match schedulers.get(&(actor, wiring.clone())) {
            Some(known) => known.clone(),
            None => {
                let lowered = scheduler(&plans[actor], building, &wiring);
                schedulers.insert((actor, wiring), lowered.clone());
                lowered
            }
        };
        runs.push((lowered, connections));
    }
    if !building.diagnostics.is_empty() {
        return Err(std::mem::take(&mut building.diagnostics));
    }
    let layout = lay_out(network, &plans, rings, building);
    let init = init(network, &plans, &layout, building);
    let run = run(network, &layout, &runs, building);
    let lacks_room = lacks_room(network, &plans, &layout, building);
    if !building.diagnostics.is_empty() {
        return Err(std::mem::take(&mut building.diagnostics));
    }
    Ok(Scheduled { plans, layout, init, run, lacks_room })
}

fn ring(network: &Network, connection: &Connection, options: &Options, building: &mut Building) -> Ring {
    let scalar = network.target_port(connection).ty;
    let capacity = network.capacity(connection, options.fifo_tokens);
    let size = capacity.next_power_of_two();
    if size * u64::from(words(scalar)) > MAX_ELEMENTS {
        building.unsupported(connection.span, &format!("a FIFO of {capacity} tokens"));
        return Ring { record: RecordId(0), scalar, size: 1, capacity: 1, read_aligned: false, write_aligned: false };
    }
    let (reads, writes) = bursts(network, connection);
    let record = ring_record(building, scalar, size as u32);
    Ring {
        record,
        scalar,
        size: size as u32,
        capacity: capacity as u32,
        read_aligned: aligned(&reads, size),
        write_aligned: aligned(&writes, size),
    }
}

/// Sizes of the bursts that are read from and written to a connection, of which the boundary may take any.
fn bursts(network: &Network, connection: &Connection) -> (Vec<u64>, Vec<u64>) {
    let mut reads = vec![];
    let mut writes = vec![];
    if let Endpoint::Instance(instance, port) = connection.target {
        let actor = network.actor_of(instance);
        reads.extend(actor.actions.iter().map(|action| action.consumed(port)).filter(|&n| n > 0));
    }
    if let Endpoint::Instance(instance, port) = connection.source {
        let actor = network.actor_of(instance);
        let all = actor.actions.iter().chain(&actor.initializers);
        writes.extend(all.map(|action| action.produced(port)).filter(|&n| n > 0));
    }
    (reads, writes)
}

/// True when bursts of these sizes never reach across the end of a ring.
fn aligned(bursts: &[u64], size: u64) -> bool {
    let Some(&first) = bursts.first() else { return false };
    bursts.iter().all(|&burst| burst == first) && first.is_power_of_two() && size >= first
}

/// How an instance is wired, and which connections its FIFOs are, by number.
fn wiring(network: &Network, instance: InstanceId, rings: &[Ring]) -> (Wiring, Vec<usize>) {
    let actor = network.actor_of(instance);
    let mut wiring = Wiring { inputs: vec![None; actor.inputs.len()], outputs: vec![Vec::new(); actor.outputs.len()] };
    let mut inputs: Vec<(usize, usize)> = Vec::new();
    let mut outputs: Vec<(usize, usize)> = Vec::new();
    for (at, connection) in network.connections.iter().enumerate() {
        match connection.target {
            Endpoint::Instance(target, port) if target == instance => inputs.push((port, at)),
            _ => {}
        }
        match connection.source {
            Endpoint::Instance(source, port) if source == instance => outputs.push((port, at)),
            _ => {}
        }
    }
    inputs.sort_unstable();
    outputs.sort_unstable();
    let mut connections: Vec<usize> = Vec::new();
    let mut number = |at: usize| {
        connections.iter().position(|&known| known == at).unwrap_or_else(|| {
            connections.push(at);
            connections.len() - 1
        })
    };
    for (port, at) in inputs {
        wiring.inputs[port] = Some(Wire { number: number(at), ring: rings[at].clone(), via: Vec::new() });
    }
    for (port, at) in outputs {
        let via = network.connections[at].via.clone();
        wiring.outputs[port].push(Wire { number: number(at), ring: rings[at].clone(), via });
    }
    (wiring, connections)
}

fn lay_out(network: &Network, plans: &[Plan<'_>], rings: Vec<Ring>, building: &mut Building) -> Layout {
    let short = network.name.rsplit('.').next().unwrap_or(&network.name);
    let context = building.record(short, &format!("the whole state of {}", network.name), Vec::new());
    let record = FieldType::Record(building.control);
    let control = building.field(context, "control", record, "what all actors share");
    let n = network.instances.len().max(1) as u32;
    let ty = FieldType::Array(Type::Bool, n);
    let news = building.field(context, "news", ty, "instances that something happened to since they last ran");
    let instances = network
        .instances
        .iter()
        .map(|instance| {
            let plan = &plans[instance.actor.index()];
            building.field(context, &instance.name, FieldType::Record(plan.state), "")
        })
        .collect();
    let fifos = network
        .connections
        .iter()
        .zip(rings)
        .map(|(connection, ring)| {
            let (source, target) = network.describe(connection);
            let name = format!("{source}_to_{target}");
            (building.field(context, &name, FieldType::Record(ring.record), ""), ring)
        })
        .collect();
    Layout { context, control, news, instances, fifos }
}

/// A function that takes the context, under a name like this.
pub(crate) fn with_context(layout: &Layout) -> (FunctionBuilder, VariableId) {
    let mut f = FunctionBuilder::new();
    let context = f.record("context", layout.context);
    (f, context)
}

fn init(network: &Network, plans: &[Plan<'_>], layout: &Layout, building: &mut Building) -> FunctionId {
    let inits: Vec<Option<FunctionId>> = plans.iter().map(|plan| actor_init(plan, building)).collect();
    let zeroing = building.zeroing(layout.context);
    let (mut f, context) = with_context(layout);
    f.call(None, zeroing, vec![Argument::Reference(Place::variable(context))]);
    f.push(Stmt::Fill {
        target: Place::field(context, layout.news),
        at: Expr::u32(0),
        count: Expr::u32(network.instances.len().max(1) as u32),
        value: Expr::bool(true),
    });
    for (instance, &field) in network.instances.iter().zip(&layout.instances) {
        if let Some(id) = inits[instance.actor.index()] {
            f.call(None, id, vec![Argument::Reference(Place::field(context, field))]);
        }
    }
    let name = building.names.fresh("init");
    building.function(f.finish(name, "begins the network, whatever it was", None))
}

/// Values of variables that do not begin at zero.
fn actor_init(plan: &Plan<'_>, building: &mut Building) -> Option<FunctionId> {
    let actor = plan.actor;
    let mut f = FunctionBuilder::new();
    let state = f.record("state", plan.state);
    let mut any = false;
    if let Some(field) = plan.fsm
        && actor.schedule.initial.index() != 0
    {
        let initial = actor.schedule.initial.index() as u32;
        f.push(Stmt::Assign(Place::field(state, field), Expr::u32(initial)));
        any = true;
    }
    for (variable, home) in actor.variables.iter().zip(&plan.homes) {
        let Home::Field(field) = home else { continue };
        let place = Place::field(state, *field);
        let ty = machine(variable.ty.element);
        let values = elements(&variable.initial, variable.ty.element, &mut |text| building.text(text));
        let constant = |value: u64| Expr { kind: ExprKind::Constant(value), ty };
        let Some(&first) = values.first() else { continue };
        if values.iter().all(|&value| value == 0) {
            continue;
        }
        any = true;
        if array_length(&variable.ty).is_none() {
            f.push(Stmt::Assign(place, constant(first)));
        } else if values.iter().all(|&value| value == first) {
            let count = Expr::u32(values.len() as u32);
            f.push(Stmt::Fill { target: place, at: Expr::u32(0), count, value: constant(first) });
        } else {
            let count = Expr::u32(values.len() as u32);
            let name = variable.name.rsplit('.').next().unwrap_or(&variable.name);
            let table = building.table(&format!("{}_{name}", plan.prefix), ty, values);
            let source = Place { root: Root::Table(table), path: Vec::new() };
            f.push(Stmt::Copy { target: place, at: Expr::u32(0), source, from: Expr::u32(0), count });
        }
    }
    any.then(|| {
        let name = building.names.fresh(&format!("{}_init", plan.prefix));
        building.function(f.finish(name, &format!("begins an instance of {}", actor.class), None))
    })
}

fn run(network: &Network, layout: &Layout, runs: &[(Lowered, Vec<usize>)], building: &mut Building) -> FunctionId {
    let (mut f, context) = with_context(layout);
    let most = f.scalar_parameter("max_rounds", Type::U64);
    let shared = |field: u32| Place::field(context, layout.control).then(field);
    let stopped = Expr::read(shared(control::STOPPED), Type::U32);
    let is_stopped = Expr::compare(CompareOp::NotEqual, stopped.clone(), Expr::u32(0));
    f.push(Stmt::If(is_stopped.clone(), vec![Stmt::Return(Some(stopped.clone()))], Vec::new()));
    let most = f.read(most);
    f.push(Stmt::Assign(shared(control::BUDGET), most));
    f.push(Stmt::Assign(shared(control::LIMITED), Expr::bool(false)));
    f.push(Stmt::Assign(shared(control::DEPTH), Expr::u32(0)));
    let fired = f.scalar("fired", Type::Bool);
    let any = f.scalar("any", Type::Bool);
    let news = |at: usize| (Place::field(context, layout.news), Expr::u32(at as u32));
    let rounds = f.label();
    let outer = f.take();
    let left = Expr::read(shared(control::BUDGET), Type::U64);
    let none = left.clone().equals(Expr::int(Type::U64, 0));
    f.push(Stmt::If(
        none,
        vec![Stmt::Assign(shared(control::LIMITED), Expr::bool(true)), Stmt::Break(rounds)],
        Vec::new(),
    ));
    f.push(Stmt::Assign(shared(control::BUDGET), left.minus(Expr::int(Type::U64, 1))));
    f.assign(any, Expr::bool(false));
    for at in topology::sources_first(network) {
        let (lowered, connections) = &runs[at];
        let (place, index) = news(at);
        let has_news = Expr::element(place.clone(), index.clone(), Type::Bool);
        f.when(has_news, |f| {
            f.push(Stmt::Store(place, index, Expr::bool(false)));
            let arguments = lowered
                .needs
                .iter()
                .map(|need| {
                    let field = match need {
                        Need::State => layout.instances[at],
                        Need::Control => layout.control,
                        Need::Fifo(number) => layout.fifos[connections[*number]].0,
                    };
                    Argument::Reference(Place::field(context, field))
                })
                .collect();
            f.call(Some(fired), lowered.id, arguments);
            if lowered.stops {
                let stopped = stopped.clone();
                f.when(is_stopped.clone(), |f| f.push(Stmt::Return(Some(stopped))));
            }
            let now = f.read(fired);
            f.when(now, |f| {
                f.assign(any, Expr::bool(true));
                for other in topology::neighbours(network, at).into_iter().filter(|&other| other != at) {
                    let (place, index) = news(other);
                    f.push(Stmt::Store(place, index, Expr::bool(true)));
                }
            });
        });
    }
    let limited = Expr::read(shared(control::LIMITED), Type::Bool);
    let done = limited.clone().or(f.read(any).negated());
    f.when(done, |f| f.push(Stmt::Break(rounds)));
    let body = f.restore(outer);
    f.push(Stmt::Loop(rounds, body));
    f.when(limited, |f| {
        f.push(Stmt::Fill {
            target: Place::field(context, layout.news),
            at: Expr::u32(0),
            count: Expr::u32(network.instances.len().max(1) as u32),
            value: Expr::bool(true),
        });
        f.push(Stmt::Return(Some(Expr::u32(Interface::LIMIT))));
    });
    f.push(Stmt::Return(Some(Expr::u32(Interface::IDLE))));
    let name = building.names.fresh("run");
    building.function(f.finish(name, "fires until nothing can fire", Some(Type::U32)))
}

fn lacks_room(network: &Network, plans: &[Plan<'_>], layout: &Layout, building: &mut Building) -> FunctionId {
    let (mut f, context) = with_context(layout);
    let mut all = Expr::bool(false);
    for (instance, &field) in network.instances.iter().zip(&layout.instances) {
        let blocked = Place::field(context, field).then(plans[instance.actor.index()].blocked);
        let blocked = Expr::read(blocked, Type::U32);
        all = all.or(Expr::compare(CompareOp::NotEqual, blocked, Expr::u32(0)));
    }
    f.push(Stmt::Return(Some(all)));
    let name = building.names.fresh("lacks_room");
    building.function(f.finish(name, "whether an action that is enabled waits for room", Some(Type::Bool)))
}
