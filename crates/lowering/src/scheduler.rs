//! Lowering of run-time schedulers. The scheduler of an actor: one function that fires as long as it can.
//!
//! Each state lists its actions in the order in which they are tried. The first whose tokens are there and whose guard holds
//! fires; when it lacks room, the actor waits.

use crate::building::{Building, control};
use crate::code::Code;
use crate::firing::{Wire, Wiring, fire, guard};
use crate::plan::{Lowered, Plan};
use headrace_analysis::ranges::Unit;
use headrace_ir::{Action, Test};
use headrace_program::names::identifier;
use headrace_program::{CompareOp, Expr, Label, Place, Stmt, Type, VariableId};
use rustc_hash::FxHashMap;

struct Scheduler<'a, 'b> {
    plan: &'a Plan<'a>,
    code: Code<'a, 'b>,
    wiring: &'a Wiring,
    firing: Label,
    fired: VariableId,
    /// Guard and action, for those that stand in several states.
    known: FxHashMap<Unit, (Option<Lowered>, Lowered)>,
}

/// Lowers the scheduler for instances of an actor that are wired like this.
pub(crate) fn scheduler(plan: &Plan<'_>, building: &mut Building, wiring: &Wiring) -> Lowered {
    let name = building.names.fresh(&format!("{}_run", plan.prefix));
    let mut code = Code::new(plan, building, None, "", &[]);
    code.leave = Some(Expr::bool(false));
    let fired = code.f.scalar("fired", Type::Bool);
    let firing = code.f.label();
    let mut scheduler = Scheduler { plan, code, wiring, firing, fired, known: FxHashMap::default() };
    scheduler.all();
    let mut code = scheduler.code;
    let result = code.f.read(fired);
    code.push(Stmt::Return(Some(result)));
    let about = format!("fires an instance of {} as long as it can", plan.actor.class);
    code.finish(name, &about, Some(Type::Bool))
}

impl Scheduler<'_, '_> {
    fn all(&mut self) {
        let blocked = self.code.state_field(self.plan.blocked);
        self.code.push(Stmt::Assign(blocked, Expr::u32(0)));
        self.initializers();
        let actor = self.plan.actor;
        let states: Vec<Vec<Stmt>> = actor
            .schedule
            .states
            .iter()
            .enumerate()
            .map(|(at, state)| {
                let outer = self.code.f.take();
                for test in &state.tests {
                    let number = test.action.index();
                    let action = &actor.actions[number];
                    self.attempt(action, Unit::Action(number), number, Some((*test, at)));
                }
                self.code.f.restore(outer)
            })
            .collect();
        let body = match self.plan.fsm {
            None => states.into_iter().next().unwrap_or_default(),
            Some(field) => {
                let state = Expr::read(self.code.state_field(field), Type::U32);
                let mut states = states;
                let last = states.pop().unwrap_or_default();
                let cases = states.into_iter().enumerate().map(|(at, block)| (at as u32, block)).collect();
                vec![Stmt::Switch(state, cases, last)]
            }
        };
        let mut body = body;
        if body.is_empty() {
            return;
        }
        body.push(Stmt::Break(self.firing));
        self.code.push(Stmt::Loop(self.firing, body));
    }

    fn initializers(&mut self) {
        let Some(field) = self.plan.started else { return };
        let actor = self.plan.actor;
        for (at, action) in actor.initializers.iter().enumerate() {
            let place = self.code.state_field(field);
            let here = Expr::read(place.clone(), Type::U32).equals(Expr::u32(at as u32));
            let outer = self.code.f.take();
            self.attempt(action, Unit::Initializer(at), actor.actions.len() + at, None);
            self.code.push(Stmt::Assign(place, Expr::u32(at as u32 + 1)));
            let block = self.code.f.restore(outer);
            self.code.push(Stmt::If(here, block, Vec::new()));
        }
    }

    /// What leaves when nothing more fires: from initialisers, before the loop.
    fn leave(&mut self, initializer: bool) -> Stmt {
        if initializer {
            let fired = self.code.f.read(self.fired);
            Stmt::Return(Some(fired))
        } else {
            Stmt::Break(self.firing)
        }
    }

    fn stopped(&mut self, initializer: bool) {
        let stopped = Expr::read(self.code.control_field(control::STOPPED), Type::U32);
        let leave = self.leave(initializer);
        self.code.stops = true;
        let condition = Expr::compare(CompareOp::NotEqual, stopped, Expr::u32(0));
        self.code.push(Stmt::If(condition, vec![leave], Vec::new()));
    }

    fn call(&mut self, lowered: &Lowered, result: Option<VariableId>) {
        let arguments = self.code.arguments_for(&lowered.needs);
        self.code.f.call(result, lowered.id, arguments);
    }

    fn wire(&mut self, wire: &Wire, port: &str) -> Place {
        self.code.fifo(wire, port)
    }

    fn functions(&mut self, action: &Action, unit: Unit) -> (Option<Lowered>, Lowered) {
        if let Some(known) = self.known.get(&unit) {
            return known.clone();
        }
        let name = format!("{}_{}", self.plan.prefix, identifier(&action.name));
        let guard = guard(self.plan, self.code.building, unit, action, self.wiring, &name);
        let fire = fire(self.plan, self.code.building, unit, action, self.wiring, &name);
        self.known.insert(unit, (guard.clone(), fire.clone()));
        (guard, fire)
    }

    /// Fires the action if it is enabled. `test`, and the state in which it stands, are absent for initialisers.
    fn attempt(&mut self, action: &Action, unit: Unit, number: usize, test: Option<(Test, usize)>) {
        let actor = self.plan.actor;
        let initializer = test.is_none();
        let mut enabled = Expr::bool(true);
        for pattern in &action.consumes {
            // Nothing ever comes: the action never fires.
            let Some(wire) = &self.wiring.inputs[pattern.port] else { return };
            let fifo = self.wire(wire, &actor.inputs[pattern.port].name);
            let there = self.code.ring_fill(&fifo).at_least(Expr::u32(pattern.tokens() as u32));
            enabled = enabled.and(there);
        }
        for output in &action.produces {
            for wire in &self.wiring.outputs[output.port] {
                self.wire(wire, &actor.outputs[output.port].name);
            }
        }
        let (guard, fire) = self.functions(action, unit);
        let outer = self.code.f.take();
        self.room(action, number, initializer);
        let moves = action.consumes.iter().any(|pattern| self.wiring.inputs[pattern.port].is_some())
            || action.produces.iter().any(|output| !self.wiring.outputs[output.port].is_empty());
        // Only firings that move no token can go on without end.
        if !initializer && !moves {
            self.spend();
        }
        self.call(&fire, None);
        if fire.stops {
            self.stopped(initializer);
        }
        self.code.f.assign(self.fired, Expr::bool(true));
        if let Some((Test { next, .. }, at)) = test {
            if let Some(field) = self.plan.fsm
                && next.index() != at
            {
                let place = self.code.state_field(field);
                self.code.push(Stmt::Assign(place, Expr::u32(next.index() as u32)));
            }
            self.code.push(Stmt::Continue(self.firing));
        }
        let fired = self.code.f.restore(outer);
        let Some(guard) = guard else {
            return self.code.push_if(enabled, fired, Vec::new());
        };
        let outer = self.code.f.take();
        let holds = self.code.f.scalar("holds", Type::Bool);
        self.call(&guard, Some(holds));
        if guard.stops {
            self.stopped(initializer);
        }
        let condition = self.code.f.read(holds);
        self.code.push_if(condition, fired, Vec::new());
        let guarded = self.code.f.restore(outer);
        self.code.push_if(enabled, guarded, Vec::new());
    }

    /// Waits where there is no room for what the action makes.
    fn room(&mut self, action: &Action, number: usize, initializer: bool) {
        let mut lacking = Expr::bool(false);
        for output in &action.produces {
            for wire in &self.wiring.outputs[output.port] {
                let fifo = self.wire(wire, &self.plan.actor.outputs[output.port].name);
                let most = wire.ring.capacity - output.tokens() as u32;
                let fill = self.code.ring_fill(&fifo);
                lacking = lacking.or(Expr::compare(CompareOp::Greater, fill, Expr::u32(most)));
            }
        }
        let blocked = self.code.state_field(self.plan.blocked);
        let mark = Stmt::Assign(blocked, Expr::u32(number as u32 + 1));
        let leave = self.leave(initializer);
        self.code.push_if(lacking, vec![mark, leave], Vec::new());
    }

    /// One of the firings that are left.
    fn spend(&mut self) {
        let budget = self.code.control_field(control::BUDGET);
        let limited = self.code.control_field(control::LIMITED);
        let left = Expr::read(budget.clone(), Type::U64);
        let none = left.clone().equals(Expr::int(Type::U64, 0));
        let stop = vec![Stmt::Assign(limited, Expr::bool(true)), Stmt::Break(self.firing)];
        self.code.push(Stmt::If(none, stop, Vec::new()));
        self.code.push(Stmt::Assign(budget, left.minus(Expr::int(Type::U64, 1))));
    }
}
