//! Actions: the tokens that they look at, take and make, their guards, and what a firing does.

use crate::actor::{HandsIn, PortIn, PortOut, Ports};
use crate::code::{Code, Frame, Slot, Storage};
use crate::place::{Location, times};
use crate::step::{Step, all_simple};
use headrace_analysis::assigned;
use headrace_analysis::ranges::Unit;
use headrace_ir::{Action, IntType, LocalKind, Output, OutputValue, Pattern, Root, Scalar};
use headrace_program::names::identifier;
use headrace_rtl::{CompareOp, Expr, SignalId, index_bits};

/// An action, lowered.
#[derive(Clone, Debug)]
pub(crate) struct Lowered {
    /// Its tokens are there.
    pub(crate) there: Expr,
    /// What the guard needs first, and whether it holds.
    pub(crate) guard: Option<(Vec<Step>, Expr)>,
    /// There is room for what it makes: counts only where it fires in one cycle.
    pub(crate) room: Expr,
    /// What a firing does.
    pub(crate) steps: Vec<Step>,
    /// It fires in one cycle.
    pub(crate) at_once: bool,
}

impl PortIn {
    /// Whether so many tokens are there.
    fn there(&self, code: &Code<'_>, n: u64) -> Expr {
        match (&self.window, self.hands) {
            (None, HandsIn::Valid { valid, .. }) => code.get(valid),
            (None, HandsIn::Counts { there, .. }) => {
                let there = code.get(there);
                Expr::compare(CompareOp::LessEqual, Expr::number(there.width, n), there)
            }
            (Some(window), _) => {
                let count = code.get(window.count);
                let n = Expr::number(count.width, n / u64::from(self.lanes));
                Expr::compare(CompareOp::LessEqual, n, count)
            }
        }
    }

    /// The next tokens from one on, so many, the first in the lowest bits.
    fn tokens(&self, code: &Code<'_>, from: u32, n: u32) -> Expr {
        let all = code.get(self.window.as_ref().map_or(self.data, |window| window.tokens));
        all.slice(from * self.width, n * self.width)
    }

    /// The token whose number is computed.
    fn token(&self, code: &Code<'_>, number: Expr) -> Expr {
        let all = self.window.as_ref().map_or(self.data, |window| window.tokens);
        let whole = code.module.signal(all).width;
        let at = times(number.resized(false, index_bits(u64::from(whole)).max(1)), u64::from(self.width));
        Expr::part(all, whole, at, self.width)
    }

    /// Takes so many.
    fn take(&self, code: &mut Code<'_>, n: u32) {
        let Some(window) = &self.window else {
            return code.push(match self.hands {
                HandsIn::Valid { ready, .. } => Step::Set(ready, Expr::bit(true)),
                HandsIn::Counts { take, .. } => {
                    let bits = code.module.signal(take).width;
                    Step::Set(take, Expr::number(bits, u64::from(n)))
                }
            });
        };
        let (tokens, count) = (code.get(window.tokens), code.get(window.count));
        let bits = n * self.width;
        let rest = if bits >= tokens.width {
            Expr::number(tokens.width, 0)
        } else {
            tokens.clone().slice(bits, tokens.width - bits).resized(false, tokens.width)
        };
        code.push(Step::Set(window.tokens, rest));
        let n = Expr::number(count.width, u64::from(n / self.lanes));
        code.push(Step::Set(window.count, count.minus(n)));
    }
}

impl PortOut {
    /// Tokens go out in this cycle.
    fn put(&self, code: &mut Code<'_>, value: Expr) {
        for (signal, value) in self.beat(code, value) {
            code.push(Step::Set(signal, value));
        }
    }

    /// What its signals are when these tokens go.
    pub(crate) fn beat(&self, code: &Code<'_>, value: Expr) -> Vec<(SignalId, Expr)> {
        let tokens = u64::from(value.width / self.width);
        let count = self.count.map(|count| (count, Expr::number(code.module.signal(count).width, tokens)));
        let data = (self.data, value.resized(false, self.lanes * self.width));
        [data, (self.valid, Expr::bit(true))].into_iter().chain(count).collect()
    }

    /// Whether so many tokens go in one beat.
    fn holds(&self, tokens: u64) -> bool {
        match self.count {
            Some(_) => tokens <= u64::from(self.lanes),
            None => tokens == u64::from(self.lanes),
        }
    }
}

/// Lowers an action. An initialiser never fires at once: it waits for room by itself.
pub(crate) fn lower(code: &mut Code<'_>, ports: &Ports, unit: Unit, at: usize) -> Lowered {
    let actor = code.actor;
    let is_initializer = matches!(unit, Unit::Initializer(_));
    let action = if is_initializer { &actor.initializers[at] } else { &actor.actions[at] };
    code.prefix = format!("{}_", identifier(&action.name));
    let slots = code.slots(unit, &action.locals, action.span);
    code.frame = Frame { locals: &action.locals, slots };
    let mut there = Expr::bit(true);
    for pattern in &action.consumes {
        there = there.and(ports.inputs[pattern.port].there(code, pattern.tokens()));
    }
    let guard = (!action.guard.conditions.is_empty()).then(|| guard(code, ports, action));
    let mut room = Expr::bit(true);
    for output in &action.produces {
        room = room.and(code.get(ports.outputs[output.port].ready));
    }
    let ((), bound) = code.inside(|code| {
        let used =
            |local: usize| assigned::in_block(&action.body, local).any() || assigned::in_outputs(action, local).any();
        clear(code, action, &used);
        for pattern in &action.consumes {
            bind(code, &ports.inputs[pattern.port], pattern, &used);
        }
    });
    let ((), taken) = code.inside(|code| {
        for pattern in &action.consumes {
            ports.inputs[pattern.port].take(code, pattern.tokens() as u32);
        }
    });
    let ((), body) = code.inside(|code| code.block(&action.body));
    let single = |output: &Output| ports.outputs[output.port].holds(output.tokens());
    let may_be_at_once = !is_initializer && all_simple(&bound) && all_simple(&body);
    let mut put = None;
    if may_be_at_once && action.produces.iter().all(single) {
        let ((), puts) = code.inside(|code| {
            for output in &action.produces {
                let value = burst(code, output);
                ports.outputs[output.port].put(code, value);
            }
        });
        put = Some(puts).filter(|puts| all_simple(puts));
    }
    let at_once = put.is_some();
    let steps = match put {
        Some(puts) => [bound, body, puts, taken].concat(),
        None => {
            let ((), outs) = code.inside(|code| {
                for output in &action.produces {
                    emit(code, output, &ports.outputs[output.port]);
                }
            });
            [bound, taken, body, outs].concat()
        }
    };
    code.prefix = String::new();
    code.frame = Frame { locals: &[], slots: Vec::<Slot>::new() };
    Lowered { there, guard, room, steps, at_once }
}

/// Zeros for locals that are read before anything is assigned to them.
fn clear(code: &mut Code<'_>, action: &Action, used: &dyn Fn(usize) -> bool) {
    for (number, local) in action.locals.iter().enumerate() {
        let is_plain = local.kind == LocalKind::Plain && local.ty.element != Scalar::String;
        if is_plain && used(number) && !assigned::assigned_first_in_action(action, number) {
            code.zero(number);
        }
    }
}

fn guard(code: &mut Code<'_>, ports: &Ports, action: &Action) -> (Vec<Step>, Expr) {
    let (holds, before) = code.inside(|code| {
        let used = |local: usize| assigned::in_guard(action, local).any();
        clear(code, action, &used);
        for pattern in &action.consumes {
            bind(code, &ports.inputs[pattern.port], pattern, &used);
        }
        code.block(&action.guard.before);
        let mut all = Expr::bit(true);
        for condition in &action.guard.conditions {
            let node = code.node(condition);
            let (value, before) = code.inside(|code| code.truth(&node));
            if all_simple(&before) {
                code.steps.extend(before);
                all = all.and(value);
                continue;
            }
            // Conditions are evaluated in order: those before this one decide whether it is evaluated at all.
            let holds = code.variable(&format!("{}holds", code.prefix), 1);
            code.push(Step::Set(holds, all.clone()));
            let mut block = before;
            block.push(Step::Set(holds, value));
            let so_far = code.get(holds);
            code.push_if(so_far.clone(), block, Vec::new());
            all = so_far;
        }
        all
    });
    (before, holds)
}

/// Gives the variables of a pattern that are used the values of the tokens.
fn bind(code: &mut Code<'_>, port: &PortIn, pattern: &Pattern, used: &dyn Fn(usize) -> bool) {
    let names = pattern.locals.len() as u32;
    for (at, local) in pattern.locals.iter().enumerate() {
        if !used(local.index()) {
            continue;
        }
        let at = at as u32;
        let (home, _) = code.root_home(Root::Local(*local));
        let place = Location { at: Expr::number(home.index_width(), 0), home };
        let Some(repeat) = pattern.repeat else {
            let value = port.tokens(code, at, 1);
            code.store(&place, value);
            continue;
        };
        let whole = if names == 1 {
            port.tokens(code, 0, repeat)
        } else {
            Expr::concat((0..repeat).rev().map(|i| port.tokens(code, i * names + at, 1)).collect())
        };
        if !code.store_all(&place, repeat, whole) {
            let bits = index_bits(u64::from(repeat) * u64::from(names)).max(1);
            code.count("token", repeat, |code, i| {
                let number = times(i.clone().resized(false, bits), u64::from(names));
                let value = port.token(code, number.plus(Expr::number(bits, u64::from(at))));
                code.store(&place.behind(i), value);
            });
        }
    }
}

/// The value of an output that is one token.
fn token(code: &mut Code<'_>, ty: Scalar, value: &OutputValue) -> Expr {
    match value {
        OutputValue::Scalar(value) => {
            let node = code.node(value);
            code.value_as(&node, ty)
        }
        OutputValue::List { place, .. } => {
            let location = code.locate(place);
            element(code, &location, ty)
        }
    }
}

/// An element of a list as a token of the type.
fn element(code: &mut Code<'_>, location: &Location, ty: Scalar) -> Expr {
    let signed = matches!(location.home.element, Scalar::Int(IntType { signed: true, .. }));
    let value = code.load(location);
    value.resized(signed, ty.width().max(1))
}

/// All tokens of an output as one value, the first in the lowest bits.
fn burst(code: &mut Code<'_>, output: &Output) -> Expr {
    let ty = code.actor.outputs[output.port].ty;
    let width = ty.width().max(1);
    let Some(rounds) = output.repeat else {
        let tokens: Vec<Expr> = output.values.iter().map(|value| token(code, ty, value)).collect();
        return Expr::concat(tokens.into_iter().rev().collect());
    };
    let mut lists = Vec::new();
    for value in &output.values {
        if let OutputValue::List { place, .. } = value {
            lists.push(code.locate(place));
        }
    }
    if let [list] = &lists[..]
        && list.home.element == ty
        && let Some(all) = code.load_all(list, rounds)
    {
        return all;
    }
    let n = lists.len() as u32;
    if lists.iter().any(|list| matches!(list.home.storage, Storage::Memory(_))) {
        let all = code.variable(&format!("{}burst", code.prefix), width * n * rounds);
        let bits = index_bits(u64::from(width) * u64::from(n) * u64::from(rounds)).max(1);
        code.push(Step::Set(all, Expr::number(width * n * rounds, 0)));
        code.count("token", rounds, |code, i| {
            for (at, list) in lists.iter().enumerate() {
                let value = element(code, &list.behind(i.clone()), ty);
                let token = times(i.clone().resized(false, bits), u64::from(n));
                let token = token.plus(Expr::number(bits, at as u64));
                code.push(Step::SetPart(all, times(token, u64::from(width)), width, value));
            }
        });
        return code.get(all);
    }
    let mut tokens = Vec::new();
    for i in 0..rounds {
        for list in &lists {
            let bits = list.home.index_width();
            tokens.push(element(code, &list.behind(Expr::number(bits, u64::from(i))), ty));
        }
    }
    Expr::concat(tokens.into_iter().rev().collect())
}

/// Makes the tokens of an output, one after the other, or so many at once.
fn emit(code: &mut Code<'_>, output: &Output, port: &PortOut) {
    let ty = code.actor.outputs[output.port].ty;
    let PortOut { lanes, count, .. } = *port;
    if lanes > 1 {
        let value = burst(code, output);
        let whole = value.width;
        let beat = if count.is_some() { whole } else { lanes * ty.width().max(1) };
        let all = code.variable(&format!("{}burst", code.prefix), whole);
        code.push(Step::Set(all, value));
        let beats = whole / beat;
        if beats == 1 {
            let value = code.get(all);
            return code.push(Step::Emit(output.port, value));
        }
        let bits = index_bits(u64::from(beats)).max(1);
        let counter = code.variable(&format!("{}sent", code.prefix), bits);
        code.push(Step::Set(counter, Expr::number(bits, 0)));
        let at = code.get(counter).resized(false, index_bits(u64::from(whole)).max(1));
        let value = Expr::part(all, whole, times(at, u64::from(beat)), beat);
        let values = vec![value];
        return code.push(Step::EmitAll { port: output.port, counter, turn: None, rounds: beats, values });
    }
    let Some(rounds) = output.repeat else {
        // All are computed before one of them is out: what computes them may use the same variables.
        for value in &output.values {
            let value = token(code, ty, value);
            let kept = code.named("token", value);
            code.push(Step::Emit(output.port, kept));
        }
        return;
    };
    let lists: Vec<Location> = output
        .values
        .iter()
        .filter_map(|value| match value {
            OutputValue::List { place, .. } => {
                let location = code.locate(place);
                let at = code.named("list_at", location.at);
                Some(Location { home: location.home, at })
            }
            OutputValue::Scalar(_) => None,
        })
        .collect();
    let bits = index_bits(u64::from(rounds)).max(1);
    let like = format!("{}sent", code.prefix);
    let counter = code.variable(&like, bits);
    code.push(Step::Set(counter, Expr::number(bits, 0)));
    let now = code.get(counter);
    let mut values = Vec::new();
    let ((), before) = code.inside(|code| {
        for list in &lists {
            values.push(element(code, &list.behind(now.clone()), ty));
        }
    });
    if before.is_empty() {
        let turn = (lists.len() > 1).then(|| {
            let bits = index_bits(lists.len() as u64);
            let turn = code.variable(&format!("{}turn", code.prefix), bits);
            code.push(Step::Set(turn, Expr::number(bits, 0)));
            turn
        });
        code.push(Step::EmitAll { port: output.port, counter, turn, rounds, values });
        return;
    }
    // What lies in memories is read word by word.
    let more = code.variable(&format!("{}more", code.prefix), 1);
    let mut body = before;
    for value in values {
        body.push(Step::Emit(output.port, value));
    }
    let last = Expr::number(bits, u64::from(rounds) - 1);
    body.push(Step::Set(more, Expr::compare(CompareOp::NotEqual, now.clone(), last)));
    body.push(Step::Set(counter, now.plus(Expr::number(bits, 1))));
    let again = code.get(more);
    code.push(Step::Repeat { body, again });
}
