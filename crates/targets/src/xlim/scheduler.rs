//! Lowering of action schedulers. The module that calls actions: the first whose tokens are there and whose guard holds, if
//! there is room.

use super::value::{Owner, Printer, StateKey, Val, escaped};
use headrace_ir::{Action, Int, IntType, LocalKind, Scalar};

/// Something that may fire in a state.
struct Candidate<'a> {
    action: &'a Action,
    /// Whose its guard's locals are.
    guard: Owner,
    /// The name of its module.
    name: String,
    next: usize,
}

impl<'a> Printer<'a> {
    /// Bits of the variable that holds the state, as far as one is needed.
    pub(super) fn state_type(&self) -> Option<Scalar> {
        let n_states = self.actor.initializers.len() + self.actor.schedule.states.len();
        let bits = u64::BITS - (n_states.max(2) as u64 - 1).leading_zeros();
        (n_states > 1).then_some(Scalar::Int(IntType::unsigned(bits)))
    }

    /// The number of the first state: initialisers have those before.
    pub(super) fn first_state(&self) -> usize {
        match self.actor.initializers.len() {
            0 => self.actor.schedule.initial.index(),
            _ => 0,
        }
    }

    fn entry(&self) -> usize {
        self.actor.initializers.len() + self.actor.schedule.initial.index()
    }

    /// The scheduler. `names` has the names of the modules of initialisers, then of actions.
    pub(super) fn scheduler(&mut self, names: &[String]) {
        let actor = self.actor;
        let state = self.state_type().map(|_| self.used_state(StateKey::Fsm));
        self.open("<module kind=\"action-scheduler\" name=\"action-scheduler\" autostart=\"true\">");
        let yes = self.fresh("always", Scalar::Bool);
        let name = self.name(&yes);
        self.line(&format!(
            "<operation kind=\"$literal_Integer\" value=\"1\"><port dir=\"out\" source=\"{name}\" typeName=\"bool\" size=\"1\"/></operation>"
        ));
        self.open("<module kind=\"loop\">");
        self.test(|_| yes.clone());
        self.open("<module kind=\"body\">");
        // Copied, so that no action of the next state is tried in the same iteration.
        let current =
            state.zip(self.state_type()).map(|(name, ty)| self.operation_on("noop", "", &[name], Some(("state", ty))));
        let n_initializers = actor.initializers.len();
        for (at, action) in actor.initializers.iter().enumerate() {
            let next = if at + 1 < n_initializers { at + 1 } else { self.entry() };
            let guard = Owner::GuardOfInitializer(at);
            let candidate = Candidate { action, guard, name: names[at].clone(), next };
            self.in_state(current.as_ref(), at, |printer| {
                let fires = printer.candidate(&candidate, &Val::bool(true));
                // What is not enabled is passed over.
                let iterations = printer.not(fires);
                printer.choose(
                    &iterations,
                    |printer| {
                        printer.go_to(next);
                        Vec::new()
                    },
                    |_| Vec::new(),
                    &|_| String::new(),
                );
            });
        }
        for (at, state) in actor.schedule.states.iter().enumerate().filter(|(_, state)| !state.tests.is_empty()) {
            let tests: Vec<Candidate> = state
                .tests
                .iter()
                .map(|test| Candidate {
                    action: &actor.actions[test.action.index()],
                    guard: Owner::Guard(test.action.index()),
                    name: names[n_initializers + test.action.index()].clone(),
                    next: n_initializers + test.next.index(),
                })
                .collect();
            self.in_state(current.as_ref(), n_initializers + at, |printer| {
                let mut open = Val::bool(true);
                for test in &tests {
                    let fires = printer.candidate(test, &open);
                    let other = printer.not(fires);
                    open = printer.both(open, other);
                }
            });
        }
        self.close("module");
        self.close("module");
        self.close("module");
    }

    /// What is done in a state.
    fn in_state(&mut self, current: Option<&Val>, number: usize, what: impl FnOnce(&mut Self)) {
        let Some(current) = current else { return what(self) };
        let number = Val::constant(Int::from(number as u64), current.ty);
        let is_here = self.operation("$eq", "", &[current, &number], Some(("here", Scalar::Bool)));
        self.choose(
            &is_here,
            |printer| {
                what(printer);
                Vec::new()
            },
            |_| Vec::new(),
            &|_| String::new(),
        );
    }

    fn go_to(&mut self, next: usize) {
        if let Some(ty) = self.state_type() {
            let state = self.used_state(StateKey::Fsm);
            let next = Val::constant(Int::from(next as u64), ty);
            self.operation("assign", &format!(" target=\"{state}\""), &[&next], None);
        }
    }

    /// Whether so many tokens are at a port, or whether there is room for them.
    fn enough(&mut self, port: &str, tokens: u64) -> Val {
        let port = format!(" portName=\"{}\"", escaped(port));
        if tokens == 1 {
            return self.operation("pinStatus", &port, &[], Some(("there", Scalar::Bool)));
        }
        let ty = Scalar::Int(IntType::signed(32));
        let there = self.operation("pinAvail", &port, &[], Some(("there", ty)));
        let needed = Val::constant(Int::from(tokens), ty);
        self.operation("$ge", "", &[&there, &needed], Some(("enough", Scalar::Bool)))
    }

    /// Tries an action where nothing before it was to fire; whether it is the one, be there room for it or not.
    fn candidate(&mut self, candidate: &Candidate<'a>, open: &Val) -> Val {
        let (actor, action) = (self.actor, candidate.action);
        let mut ready = open.clone();
        for pattern in &action.consumes {
            let there = self.enough(&actor.inputs[pattern.port].name, pattern.tokens());
            ready = self.both(ready, there);
        }
        let has_guard = !action.guard.conditions.is_empty();
        let fires = if has_guard {
            let holds =
                self.choose(&ready, |printer| vec![printer.guard(candidate)], |_| vec![Val::bool(false)], &|_| {
                    "holds".to_owned()
                });
            holds.into_iter().next().unwrap_or_else(|| Val::bool(false))
        } else {
            ready
        };
        self.choose(
            &fires,
            |printer| {
                let mut room = Val::bool(true);
                for output in &action.produces {
                    let there = printer.enough(&actor.outputs[output.port].name, output.tokens());
                    room = printer.both(room, there);
                }
                printer.choose(
                    &room,
                    |printer| {
                        printer.operation("taskCall", &format!(" target=\"{}\"", escaped(&candidate.name)), &[], None);
                        printer.go_to(candidate.next);
                        Vec::new()
                    },
                    |_| Vec::new(),
                    &|_| String::new(),
                )
            },
            |_| Vec::new(),
            &|_| String::new(),
        );
        fires
    }

    /// The guard of an action whose tokens are there.
    fn guard(&mut self, candidate: &Candidate<'a>) -> Val {
        let action = candidate.action;
        let is_plain = |at: usize| action.locals[at].kind == LocalKind::Plain;
        self.enter_guard(candidate.guard, action, &is_plain);
        for pattern in &action.consumes {
            if !pattern.locals.iter().any(|local| action.guard.peeks.contains(local)) {
                continue;
            }
            let port = &self.actor.inputs[pattern.port];
            let (name, ty) = (format!(" portName=\"{}\"", escaped(&port.name)), self.checked(port.ty, port.span));
            self.bind(pattern, &|printer, at, hint| {
                let at = printer.cast(at.clone(), Scalar::Int(IntType::signed(32)));
                printer.operation("pinPeek", &name, &[&at], Some((hint, ty)))
            });
        }
        self.statements(&action.guard.before);
        let mut holds = Val::bool(true);
        for condition in &action.guard.conditions {
            holds = self.lazily(&holds, condition, Val::bool(false));
        }
        self.leave();
        holds
    }

    /// The locals of a guard: those of its action that it needs, so that no list of the body is a list of the guard
    /// too.
    fn enter_guard(&mut self, owner: Owner, action: &'a Action, is_plain: &dyn Fn(usize) -> bool) {
        let written = &action.guard.before;
        let clear = |at: usize| is_plain(at) && !written.is_empty();
        self.enter(owner, &action.locals, Vec::new(), action.span, &clear);
    }
}
