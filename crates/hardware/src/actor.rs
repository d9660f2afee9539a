//! An actor as a module: its ports, windows on its inputs, the selection of actions, and the state machine of all.

use crate::Options;
use crate::action::{self, Lowered};
use crate::code::{Code, Home, Storage};
use crate::states::{self, Machine};
use crate::step::{Step, all_simple, is_nothing};
use headrace_analysis::ranges::Unit;
use headrace_ir::{Action, Actor, Port, Test};
use headrace_program::names::{Names, identifier};
use headrace_rtl::{Bits, CompareOp, Expr, Module, SignalId, SignalKind, Stmt, Target, index_bits};
use headrace_source::Diagnostic;
use std::collections::BTreeSet;

/// An input port.
#[derive(Clone, Debug)]
pub(crate) struct PortIn {
    pub(crate) data: SignalId,
    pub(crate) hands: HandsIn,
    /// Bits of a token.
    pub(crate) width: u32,
    /// Tokens that come at once.
    pub(crate) lanes: u32,
    pub(crate) window: Option<Window>,
}

/// How an input port says what is there and what goes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum HandsIn {
    /// A beat is there or is not, and goes or stays.
    Valid { valid: SignalId, ready: SignalId },
    /// So many tokens are there, and so many go.
    Counts { there: SignalId, take: SignalId },
}

/// Tokens that a port moves at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lanes {
    /// Always as many.
    Fixed(u32),
    /// Up to so many, as a [`crate::link::Link`] has them.
    UpTo(u32),
}

impl Default for Lanes {
    fn default() -> Self {
        Lanes::Fixed(1)
    }
}

impl Lanes {
    /// The most.
    pub(crate) fn most(self) -> u32 {
        match self {
            Lanes::Fixed(n) | Lanes::UpTo(n) => n,
        }
    }
}

/// How an instance is connected, as far as its module must know.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Wiring {
    /// Input ports that its own outputs feed.
    pub(crate) own: BTreeSet<usize>,
    /// Output ports that show what a datapath gives in the cycle in which it does.
    pub(crate) direct: BTreeSet<usize>,
    /// For each input port the tokens that come at once: a divisor of what each action takes, or any number.
    pub(crate) inputs: Vec<Lanes>,
    /// The same for each output port.
    pub(crate) outputs: Vec<Lanes>,
}

impl Wiring {
    /// The same for a module that always moves as many tokens as it ever does.
    pub(crate) fn fix(&mut self) {
        for lanes in self.inputs.iter_mut().chain(&mut self.outputs) {
            *lanes = Lanes::Fixed(lanes.most());
        }
    }
}

/// Tokens that are looked at before they are taken: a shift register, the next ones in the lowest bits. It counts transfers, of
/// as many tokens each as the port has lanes.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub(crate) tokens: SignalId,
    pub(crate) count: SignalId,
    capacity: u64,
}

/// An output port.
#[derive(Clone, Debug)]
pub(crate) struct PortOut {
    pub(crate) data: SignalId,
    pub(crate) valid: SignalId,
    pub(crate) ready: SignalId,
    /// Bits of a token.
    pub(crate) width: u32,
    /// Tokens that go at once,
    pub(crate) lanes: u32,
    /// and where they may be fewer, how many they are.
    pub(crate) count: Option<SignalId>,
}

/// The ports of an actor.
#[derive(Clone, Debug)]
pub(crate) struct Ports {
    pub(crate) inputs: Vec<PortIn>,
    pub(crate) outputs: Vec<PortOut>,
}

/// Most bits of a window, and of a burst that is kept until all of it is sent.
pub(crate) const MAX_WINDOW_BITS: u64 = 1 << 16;

/// Names of the signals of a port: data, valid, ready.
pub(crate) fn port_names(port: &str, is_input: bool) -> [String; 3] {
    let port = identifier(port);
    let (forth, back) = if is_input { ("i", "o") } else { ("o", "i") };
    [format!("{port}_data_{forth}"), format!("{port}_valid_{forth}"), format!("{port}_ready_{back}")]
}

/// Names of the signals of a port of an actor by the tokens that it moves at once: as [`port_names`]; of an input of [`Lanes::UpTo`]
/// data, tokens there, tokens taken; of such an output as of others, and behind them how many tokens go.
pub(crate) fn signal_names(port: &str, is_input: bool, lanes: Lanes) -> Vec<String> {
    let [data, valid, ready] = port_names(port, is_input);
    let port = identifier(port);
    match (lanes, is_input) {
        (Lanes::Fixed(_), _) => vec![data, valid, ready],
        (Lanes::UpTo(_), true) => vec![data, format!("{port}_there_i"), format!("{port}_take_o")],
        (Lanes::UpTo(_), false) => vec![data, valid, ready, format!("{port}_count_o")],
    }
}

/// The module of an actor under this name, where nothing is refused.
pub(crate) fn lower(
    actor: &Actor,
    name: &str,
    wiring: &Wiring,
    options: &Options,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Module> {
    let names = Names::of(&headrace_program::language::VERILOG);
    let mut code = Code::new(actor, options, Module::new(name), names);
    let ports = add_ports(&mut code, wiring);
    // What takes more tokens than a window holds has no bits that could be counted.
    if !code.diagnostics.is_empty() {
        diagnostics.append(&mut code.diagnostics);
        return None;
    }
    code.place_variables();
    let n_state_memories = code.memories.len();
    let fsm = (actor.schedule.states.len() > 1).then(|| {
        let bits = index_bits(actor.schedule.states.len() as u64);
        let fsm = code.variable("fsm", bits);
        code.resets.insert(fsm, Bits::new(bits, actor.schedule.initial.0));
        fsm
    });
    let ((), prologue) = code.inside(|code| prologue(code, &ports, n_state_memories));
    let mut blocks: Vec<Vec<Step>> = Vec::new();
    let select = selection(&mut code, &ports, fsm, &mut blocks);
    let select = settled(&mut code, &ports, &wiring.own, select);
    if !code.diagnostics.is_empty() {
        diagnostics.append(&mut code.diagnostics);
        return None;
    }
    code.module.about.push(format!("The actor {}.", actor.class));
    for (name, value) in &actor.parameters {
        if let headrace_ir::Value::Int(_) | headrace_ir::Value::Bool(_) = value {
            code.module.about.push(format!("{name} = {}", shown(value)));
        }
    }
    if code.prints {
        code.module.about.push(crate::LEAVES_OUT.to_owned());
    }
    let epilogue = fill_windows(&code, &ports);
    let machine = Machine { prologue: &prologue, select: &select, blocks: &blocks, epilogue, fsm };
    states::build(&mut code, &ports, &machine);
    Some(code.module)
}

fn shown(value: &headrace_ir::Value) -> String {
    match value {
        headrace_ir::Value::Int(value) => value.to_string(),
        headrace_ir::Value::Bool(value) => value.to_string(),
        _ => String::new(),
    }
}

fn add_ports(code: &mut Code<'_>, wiring: &Wiring) -> Ports {
    let actor = code.actor;
    let add = |code: &mut Code<'_>, name: &str, width: u32, kind: SignalKind| {
        let name = code.names.fresh(name);
        code.module.add(name, width, kind)
    };
    let mut plain = Vec::new();
    let lanes_of = |all: &[Lanes], at: usize| all.get(at).copied().unwrap_or_default();
    for (at, port) in actor.inputs.iter().enumerate() {
        let width = code.width(port.ty, port.span);
        let lanes = lanes_of(&wiring.inputs, at);
        let names = signal_names(&port.name, true, lanes);
        let data = add(code, &names[0], width * lanes.most(), SignalKind::Input);
        let bits = match lanes {
            Lanes::Fixed(_) => 1,
            Lanes::UpTo(most) => index_bits(u64::from(most) + 1),
        };
        let forth = add(code, &names[1], bits, SignalKind::Input);
        let back = add(code, &names[2], bits, SignalKind::Output);
        let hands = match lanes {
            Lanes::Fixed(_) => HandsIn::Valid { valid: forth, ready: back },
            Lanes::UpTo(_) => HandsIn::Counts { there: forth, take: back },
        };
        plain.push((data, hands, width, lanes.most()));
    }
    let mut outputs = Vec::new();
    for (at, port) in actor.outputs.iter().enumerate() {
        let width = code.width(port.ty, port.span);
        let lanes = lanes_of(&wiring.outputs, at);
        let names = signal_names(&port.name, false, lanes);
        outputs.push(PortOut {
            width,
            lanes: lanes.most(),
            data: add(code, &names[0], width * lanes.most(), SignalKind::Output),
            valid: add(code, &names[1], 1, SignalKind::Output),
            ready: add(code, &names[2], 1, SignalKind::Input),
            count: names
                .get(3)
                .map(|name| add(code, name, index_bits(u64::from(lanes.most()) + 1), SignalKind::Output)),
        });
    }
    let mut inputs = Vec::new();
    for ((at, port), (data, hands, width, lanes)) in actor.inputs.iter().enumerate().zip(plain) {
        let window = match hands {
            HandsIn::Valid { .. } => add_window(code, at, port, width, lanes),
            HandsIn::Counts { .. } => None,
        };
        inputs.push(PortIn { data, hands, width, lanes, window });
    }
    Ports { inputs, outputs }
}

/// The window of an input port of which an action takes several beats.
fn add_window(code: &mut Code<'_>, at: usize, port: &Port, width: u32, lanes: u32) -> Option<Window> {
    let tokens = code.actor.actions.iter().map(|action| action.consumed(at)).max().unwrap_or(0);
    let most = tokens / u64::from(lanes);
    let beat = width * lanes;
    (most > 1).then(|| {
        // One more than an action takes, so that the next tokens come while these go.
        let capacity = most + 1;
        if capacity * u64::from(beat) > MAX_WINDOW_BITS {
            let what = format!("actions that take {tokens} tokens of {width} bits at once");
            code.unsupported(port.span, &what, "take fewer tokens a firing and collect them in a list");
        }
        let capacity = capacity.min(MAX_WINDOW_BITS);
        let name = identifier(&port.name);
        let tokens = code.variable(&format!("{name}_tokens"), beat.saturating_mul(capacity as u32));
        let count = code.variable(&format!("{name}_count"), index_bits(capacity + 1));
        Window { tokens, count, capacity }
    })
}

/// What happens once: memories get what they begin with, initialisers fire.
fn prologue(code: &mut Code<'_>, ports: &Ports, n_memories: usize) {
    for number in 0..n_memories {
        let memory = code.memories[number].clone();
        let home = Home {
            storage: Storage::Memory(number),
            element: headrace_ir::Scalar::Bool,
            width: memory.width,
            len: memory.depth,
            row: 1,
        };
        let index = home.index_width();
        code.push(Step::Mark(format!("fill_{}", memory.name)));
        code.count("fill", memory.depth, |code, i| {
            let i = i.resized(false, index);
            let value = match memory.initial {
                Some(table) => Expr::lookup(table, i.clone(), memory.width),
                None => Expr::number(memory.width, 0),
            };
            code.push(Step::Write(number, i, value));
        });
    }
    for at in 0..code.actor.initializers.len() {
        let action = &code.actor.initializers[at];
        let lowered = action::lower(code, ports, Unit::Initializer(at), at);
        code.push(Step::Mark(action.name.clone()));
        code.push(comment(code, action));
        let Lowered { guard, steps, .. } = lowered;
        match guard {
            None => code.steps.extend(steps),
            Some((before, holds)) => {
                code.steps.extend(before);
                code.push_if(holds, steps, Vec::new());
            }
        }
    }
}

fn comment(code: &Code<'_>, action: &Action) -> Step {
    Step::Comment(format!("{}{}", action.name, code.actor.lines.behind(action.span)))
}

/// The selection of an action, by the state of the FSM.
fn selection(code: &mut Code<'_>, ports: &Ports, fsm: Option<SignalId>, blocks: &mut Vec<Vec<Step>>) -> Vec<Step> {
    let actor = code.actor;
    let mut uses = vec![0usize; actor.actions.len()];
    let tests = actor.schedule.states.iter().flat_map(|state| &state.tests);
    tests.for_each(|test| uses[test.action.index()] += 1);
    let lowered: Vec<Option<Lowered>> = (0..actor.actions.len())
        .map(|at| (uses[at] > 0).then(|| action::lower(code, ports, Unit::Action(at), at)))
        .collect();
    let of_actions = lowered.clone();
    let mut block_of = vec![None; actor.actions.len()];
    let mut fire = |code: &mut Code<'_>, at: usize, test: Test, lowered: &Lowered| -> Vec<Step> {
        let action = &actor.actions[test.action.index()];
        let mut steps = vec![comment(code, action)];
        let next = fsm.filter(|_| test.next.index() != at);
        let next = next.map(|fsm| {
            let width = code.module.signal(fsm).width;
            Step::Set(fsm, Expr::number(width, u64::from(test.next.0)))
        });
        if lowered.at_once {
            let mut all = lowered.steps.clone();
            all.extend(next);
            all.extend(follow_up(code, fsm, (action, test.next.index()), &of_actions));
            let ((), room) = code.inside(|code| code.push_if(lowered.room.clone(), all, Vec::new()));
            steps.extend(room);
            return steps;
        }
        steps.extend(next);
        steps.push(Step::Mark(action.name.clone()));
        if uses[test.action.index()] == 1 {
            steps.extend(lowered.steps.clone());
            return steps;
        }
        // Once for all states in which it stands.
        let block = *block_of[test.action.index()].get_or_insert_with(|| {
            blocks.push([vec![comment(code, action), Step::Mark(action.name.clone())], lowered.steps.clone()].concat());
            blocks.len() - 1
        });
        steps.push(Step::Jump(block));
        steps
    };
    let mut arms = Vec::new();
    for (at, state) in actor.schedule.states.iter().enumerate() {
        let mut steps: Vec<Step> = Vec::new();
        for test in state.tests.iter().rev() {
            let Some(lowered) = &lowered[test.action.index()] else { continue };
            let fired = fire(code, at, *test, lowered);
            let rest = std::mem::take(&mut steps);
            let ((), all) = code.inside(|code| match &lowered.guard {
                None => code.push_if(lowered.there.clone(), fired, rest),
                Some((before, holds)) if all_simple(before) => {
                    code.steps.extend(before.clone());
                    code.push_if(lowered.there.clone().and(holds.clone()), fired, rest);
                }
                Some((before, holds)) => {
                    let chosen = code.variable("chosen", 1);
                    code.push(Step::Set(chosen, Expr::bit(false)));
                    let mut inner = before.clone();
                    inner.push(Step::Set(chosen, holds.clone()));
                    code.push_if(lowered.there.clone(), inner, Vec::new());
                    let chosen = code.get(chosen);
                    code.push_if(chosen, fired, rest);
                }
            });
            steps = all;
        }
        arms.push((at as u64, steps));
    }
    match fsm {
        None => arms.pop().map_or(Vec::new(), |(_, steps)| steps),
        Some(fsm) => {
            // States in which nothing can fire need no arm.
            arms.retain(|(_, steps)| !is_nothing(steps));
            vec![Step::Case(fsm, arms, Vec::new())]
        }
    }
}

/// The firing that can only come next, in the same cycle: of the one action of the state behind, where it waits for nothing but
/// room, fires in a cycle, and moves nothing where the firing before it does. Where there is no room, it fires as ever when there is.
fn follow_up(
    code: &mut Code<'_>,
    fsm: Option<SignalId>,
    (before, state): (&Action, usize),
    lowered: &[Option<Lowered>],
) -> Vec<Step> {
    let actor = code.actor;
    let (Some(fsm), [test]) = (fsm, &actor.schedule.states[state].tests[..]) else { return Vec::new() };
    let action = &actor.actions[test.action.index()];
    let Some(lowered) = &lowered[test.action.index()] else { return Vec::new() };
    if !lowered.at_once || lowered.guard.is_some() || !action.consumes.is_empty() || action.produces.is_empty() {
        return Vec::new();
    }
    if action.produces.iter().any(|output| before.produced(output.port) > 0) {
        return Vec::new();
    }
    let mut steps = vec![comment(code, action)];
    steps.extend(lowered.steps.clone());
    let width = code.module.signal(fsm).width;
    steps.push(Step::Set(fsm, Expr::number(width, u64::from(test.next.0))));
    code.inside(|code| code.push_if(lowered.room.clone(), steps, Vec::new())).1
}

/// Selection that waits until all tokens that an actor sent to itself are in its window: that they are there, or not, is known
/// as soon as they are sent, and no matter of time.
fn settled(code: &mut Code<'_>, ports: &Ports, own: &BTreeSet<usize>, select: Vec<Step>) -> Vec<Step> {
    let mut on_their_way = Expr::bit(false);
    for (at, port) in ports.inputs.iter().enumerate() {
        if let (Some(window), HandsIn::Valid { valid, .. }) = (&port.window, port.hands)
            && own.contains(&at)
        {
            on_their_way = on_their_way.or(code.get(valid).and(window_ready(code, window)));
        }
    }
    let ((), all) = code.inside(|code| code.push_if(on_their_way.inverted(), select, Vec::new()));
    all
}

/// What comes in goes to the windows, whatever the state.
fn fill_windows(code: &Code<'_>, ports: &Ports) -> Vec<Stmt> {
    let mut statements = Vec::new();
    for port in &ports.inputs {
        let (Some(window), HandsIn::Valid { valid, ready }) = (&port.window, port.hands) else { continue };
        let (count, tokens) = (code.get(window.count), code.get(window.tokens));
        // The space that is free at the beginning of the cycle counts: so ready depends on registers alone. The reader of
        // `count` before it is assigned in this cycle is `ready`, which `states` puts in front.
        let bits = index_bits(u64::from(tokens.width)).max(1);
        let beat = port.width * port.lanes;
        let at = crate::place::times(count.clone().resized(false, bits), u64::from(beat));
        let add = vec![
            Stmt::Assign(Target { signal: window.tokens, part: Some((at, beat)) }, code.get(port.data)),
            Stmt::assign(window.count, count.clone().plus(Expr::number(count.width, 1))),
        ];
        let comes = code.get(valid).and(code.get(ready));
        statements.push(Stmt::If(comes, add, Vec::new()));
    }
    statements
}

/// Whether a window has room, at the beginning of a cycle.
pub(crate) fn window_ready(code: &Code<'_>, window: &Window) -> Expr {
    let count = code.get(window.count);
    let capacity = Expr::number(count.width, window.capacity);
    Expr::compare(CompareOp::Less, count, capacity)
}
