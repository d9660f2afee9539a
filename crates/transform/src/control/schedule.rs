//! Demand-driven scheduling of firings. Which firing comes next: the one that somebody waits for.
//!
//! Firing on demand keeps FIFOs as empty as the network allows: an actor fires when its tokens are needed for an output
//! of the network, or by an actor from which no output can be reached. Input is read only when nothing can be done
//! without it. In a determinate network any order gives the same streams, so this one may be chosen.

use super::NotFused;
use super::symbolic_execution::{Frame, State, Walk};
use super::wiring::Wiring;
use crate::kernel::{Effect, NodeId};
use headrace_ir::{Action, Endpoint, Expr, ExprKind, InstanceId, LocalId, OutputValue, Place, Root, Scalar, Test};
use std::collections::BTreeSet;

/// What came of an attempt to go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// An action has fired.
    Fired,
    /// Nothing can, whatever comes in.
    Blocked,
    /// Not before an input port has brought so many more tokens.
    Input { port: usize, tokens: usize },
    /// It depends on a condition that is not known.
    Fork(NodeId),
    /// It is long, and a transition that it could fire in has not begun with it.
    Long,
}

/// Scheduling above executing.
pub(crate) struct Scheduler<'a, 'n, 'g> {
    pub walk: Walk<'n, 'g>,
    pub wiring: &'a Wiring,
    /// Input ports that are read when an action lacks nothing else.
    late: &'g BTreeSet<usize>,
    /// Instances that are being asked, outermost first.
    asked: Vec<usize>,
    /// An input port that may be read now, and how many tokens.
    pub reading: Option<(usize, usize)>,
    /// Whether only what decides may fire, because what asks for it waits for input.
    ahead: bool,
    /// Which actions that are long have fired in this transition, as instance and action; none: nothing has fired. Such
    /// actions come first in a transition and once, and others after them only if they take their tokens, so that what
    /// takes long is the same in transitions of many states: what others take would be known from what this transition
    /// did.
    pub long: Option<Vec<(usize, usize)>>,
}

impl<'a, 'n, 'g> Scheduler<'a, 'n, 'g> {
    pub fn new(walk: Walk<'n, 'g>, wiring: &'a Wiring, late: &'g BTreeSet<usize>) -> Self {
        Scheduler { walk, wiring, late, asked: Vec::new(), reading: None, ahead: false, long: None }
    }

    /// Fires one action if any can, without input beyond what may be read.
    ///
    /// # Errors
    ///
    /// What cannot be in a transition.
    pub fn step(&mut self, state: &mut State, wanted: &mut Vec<(usize, usize)>) -> Result<Progress, NotFused> {
        wanted.clear();
        let mut fork = None;
        for &root in &self.wiring.roots {
            match self.advance(state, root)? {
                Progress::Fired => return Ok(Progress::Fired),
                Progress::Input { port, tokens } => {
                    if !wanted.iter().any(|want| want.0 == port) {
                        wanted.push((port, tokens));
                    }
                }
                Progress::Fork(condition) => fork = fork.or(Some(condition)),
                Progress::Long => return Ok(Progress::Long),
                Progress::Blocked => {}
            }
        }
        // What nobody waits for and nobody notices is done before anything has to be decided or read, so that tokens
        // that are only dropped do not pile up.
        for instance in 0..self.wiring.inputs.len() {
            if self.fire_silently(state, instance)? {
                return Ok(Progress::Fired);
            }
        }
        Ok(match (fork, wanted.first()) {
            (Some(condition), _) => Progress::Fork(condition),
            (None, Some(&(port, tokens))) => Progress::Input { port, tokens },
            (None, None) => Progress::Blocked,
        })
    }

    /// Fires an action of an instance, or one that it waits for.
    fn advance(&mut self, state: &mut State, instance: usize) -> Result<Progress, NotFused> {
        if self.asked.contains(&instance) {
            return Ok(Progress::Blocked);
        }
        let n_lists = state.lists.len();
        self.asked.push(instance);
        let result = self.advance_asked(state, instance);
        self.asked.pop();
        // Those of the firing.
        state.lists.truncate(n_lists);
        result
    }

    fn advance_asked(&mut self, state: &mut State, instance: usize) -> Result<Progress, NotFused> {
        let network = self.walk.network;
        let actor = network.actor_of(InstanceId(instance as u32));
        let entry = &actor.schedule.states[state.fsm[instance].index()];
        for test in &entry.tests {
            let action = &actor.actions[test.action.index()];
            match self.try_action(state, instance, action, test)? {
                Attempt::Disabled => {}
                Attempt::Result(progress) => return Ok(progress),
            }
        }
        Ok(Progress::Blocked)
    }

    /// Fires an action that makes no tokens, if it is certain that it is the next one and its tokens are there.
    fn fire_silently(&mut self, state: &mut State, instance: usize) -> Result<bool, NotFused> {
        let actor = self.walk.network.actor_of(InstanceId(instance as u32));
        let entry = &actor.schedule.states[state.fsm[instance].index()];
        let can_be_silent = |test: &Test| actor.actions[test.action.index()].produces.is_empty();
        if !entry.tests.iter().any(can_be_silent) {
            return Ok(false);
        }
        for test in &entry.tests {
            let action = &actor.actions[test.action.index()];
            let there = action.consumes.iter().all(|pattern| {
                self.wiring.inputs[instance][pattern.port]
                    .is_some_and(|connection| state.queues[connection].len() as u64 >= pattern.tokens())
            });
            if !there || !action.produces.is_empty() {
                // It may be the next one: only if its guard says no, the others have a chance.
                if action.guard.conditions.is_empty() {
                    return Ok(false);
                }
                if !self.is_disabled(state, instance, action)? {
                    return Ok(false);
                }
                continue;
            }
            let n_lists = state.lists.len();
            self.asked.push(instance);
            let result = self.try_action(state, instance, action, test);
            self.asked.pop();
            state.lists.truncate(n_lists);
            match result? {
                Attempt::Disabled => {}
                Attempt::Result(Progress::Fired) => return Ok(true),
                Attempt::Result(_) => return Ok(false),
            }
        }
        Ok(false)
    }

    /// Whether the guard of an action is known not to hold, by what needs no tokens or by tokens that are there.
    fn is_disabled(&mut self, state: &mut State, instance: usize, action: &Action) -> Result<bool, NotFused> {
        if !action.guard.before.is_empty() {
            return Ok(false);
        }
        let n_lists = state.lists.len();
        let mut frame = self.walk.frame(state, instance, &action.locals, action.span)?;
        let peeked = action
            .consumes
            .iter()
            .filter(|pattern| pattern.locals.iter().any(|local| action.guard.peeks.contains(local)));
        let there = peeked.into_iter().all(|pattern| {
            self.wiring.inputs[instance][pattern.port]
                .is_some_and(|connection| state.queues[connection].len() as u64 >= pattern.tokens())
        });
        if there {
            self.bind(state, instance, action, &mut frame, true);
        }
        let mut disabled = false;
        for condition in &action.guard.conditions {
            if !there && reads(condition, &action.guard.peeks) {
                continue;
            }
            let node = self.walk.condition(state, &frame, condition)?;
            if state.facts.decide(self.walk.graph, node) == Some(false) {
                disabled = true;
                break;
            }
        }
        state.lists.truncate(n_lists);
        Ok(disabled)
    }

    fn try_action(
        &mut self,
        state: &mut State,
        instance: usize,
        action: &Action,
        test: &Test,
    ) -> Result<Attempt, NotFused> {
        let mut frame = None;
        if !action.guard.conditions.is_empty() {
            // First what can be decided without tokens: an action that is disabled needs none.
            let mut early = self.walk.frame(state, instance, &action.locals, action.span)?;
            if action.guard.before.is_empty() {
                for condition in &action.guard.conditions {
                    if reads(condition, &action.guard.peeks) {
                        continue;
                    }
                    let node = self.walk.condition(state, &early, condition)?;
                    match state.facts.decide(self.walk.graph, node) {
                        Some(true) => {}
                        Some(false) => return Ok(Attempt::Disabled),
                        None => return Ok(Attempt::Result(Progress::Fork(node))),
                    }
                }
            }
            if !action.guard.peeks.is_empty() || !action.guard.before.is_empty() {
                for pattern in &action.consumes {
                    if pattern.locals.iter().any(|local| action.guard.peeks.contains(local))
                        && let Some(progress) = self.demand(state, instance, pattern.port, pattern.tokens())?
                    {
                        let decided = match progress {
                            Progress::Input { .. } | Progress::Blocked => self.decided(state, instance, action)?,
                            _ => None,
                        };
                        return Ok(decided.unwrap_or(Attempt::Result(progress)));
                    }
                }
                self.bind(state, instance, action, &mut early, true);
                self.walk.statements(state, &mut early, &action.guard.before)?;
                for condition in &action.guard.conditions {
                    let node = self.walk.condition(state, &early, condition)?;
                    match state.facts.decide(self.walk.graph, node) {
                        Some(true) => {}
                        Some(false) => return Ok(Attempt::Disabled),
                        None => return Ok(Attempt::Result(Progress::Fork(node))),
                    }
                }
            }
            frame = Some(early);
        }
        let decides = self.wiring.decide[instance][test.action.index()];
        match self.prepare(state, instance, action, decides)? {
            Some(progress) => return Ok(Attempt::Result(progress)),
            None if self.ahead && !decides => return Ok(Attempt::Result(Progress::Blocked)),
            None => {}
        }
        if self.wiring.long[instance][test.action.index()] {
            let own = (instance, test.action.index());
            match &mut self.long {
                Some(fired) if fired.contains(&own) || !self.wiring.is_fed_by(instance, fired) => {
                    return Ok(Attempt::Result(Progress::Long));
                }
                Some(fired) => fired.push(own),
                None => self.long = Some(vec![own]),
            }
        }
        let mut frame = match frame {
            Some(frame) => frame,
            None => self.walk.frame(state, instance, &action.locals, action.span)?,
        };
        self.bind(state, instance, action, &mut frame, false);
        self.consume(state, instance, action);
        self.walk.body(state, &mut frame, action)?;
        self.produce(state, instance, action, &frame)?;
        state.fsm[instance] = test.next;
        Ok(Attempt::Result(Progress::Fired))
    }

    /// What a guard says by the tokens that are there: other tokens may never come where it does not hold, as those of
    /// a string that another token says is not there. `None` where it holds so far.
    fn decided(&mut self, state: &mut State, instance: usize, action: &Action) -> Result<Option<Attempt>, NotFused> {
        let Action { guard, consumes, .. } = action;
        if !guard.before.is_empty() {
            return Ok(None);
        }
        let missing = |local: &LocalId| {
            let of = consumes.iter().find(|pattern| pattern.locals.contains(local));
            let connection = of.and_then(|pattern| Some((self.wiring.inputs[instance][pattern.port]?, pattern)));
            connection.is_none_or(|(at, pattern)| (state.queues[at].len() as u64) < pattern.tokens())
        };
        let missing: Vec<LocalId> = guard.peeks.iter().copied().filter(missing).collect();
        let there = guard.conditions.iter().take_while(|condition| !reads(condition, &missing));
        let there: Vec<&Expr> = there.filter(|condition| reads(condition, &guard.peeks)).collect();
        if there.is_empty() {
            return Ok(None);
        }
        let mut frame = self.walk.frame(state, instance, &action.locals, action.span)?;
        self.bind(state, instance, action, &mut frame, true);
        for condition in there {
            let node = self.walk.condition(state, &frame, condition)?;
            match state.facts.decide(self.walk.graph, node) {
                Some(true) => {}
                Some(false) => return Ok(Some(Attempt::Disabled)),
                None => return Ok(Some(Attempt::Result(Progress::Fork(node)))),
            }
        }
        Ok(None)
    }

    /// Makes sure that an action has its tokens and room for what it makes: `None` when it has, else what came of
    /// asking.
    ///
    /// Input of the network comes first: to read it nothing need have fired, so that the transition that begins with it
    /// also uses it, and nothing that was made for it waits from one transition to the next. But before it is read all
    /// is decided that can be without it: else a transition would end at a decision with the input in a FIFO, and the
    /// first block of a message be a transition of its own and not an iteration like all others. Input that is late is
    /// read when nothing else is missing.
    fn prepare(
        &mut self,
        state: &mut State,
        instance: usize,
        action: &Action,
        decides: bool,
    ) -> Result<Option<Progress>, NotFused> {
        let before = self.ahead;
        // What decides may have all that it needs.
        self.ahead &= !decides;
        let progress = self.ask(state, instance, action);
        self.ahead = before;
        progress
    }

    fn ask(&mut self, state: &mut State, instance: usize, action: &Action) -> Result<Option<Progress>, NotFused> {
        // What waits itself for what nothing is read for says nothing of what is to be read.
        let waits = self.ahead;
        let mut input = None;
        for turn in [Reads::First, Reads::Inside] {
            for pattern in &action.consumes {
                if self.reads(instance, pattern.port) == turn {
                    let progress = self.demand(state, instance, pattern.port, pattern.tokens())?;
                    if waits && turn == Reads::First && matches!(progress, Some(Progress::Input { .. })) {
                        input = input.or(Some(Progress::Blocked));
                    } else if let Some(progress) = self.unless_input(progress, &mut input) {
                        return Ok(Some(progress));
                    }
                }
            }
        }
        for output in &action.produces {
            for &connection in &self.wiring.outputs[instance][output.port] {
                let progress = self.make_room(state, connection, output.tokens())?;
                if let Some(progress) = self.unless_input(progress, &mut input) {
                    return Ok(Some(progress));
                }
            }
        }
        if input.is_none() {
            for pattern in &action.consumes {
                if self.reads(instance, pattern.port) == Reads::Last
                    && let Some(progress) = self.demand(state, instance, pattern.port, pattern.tokens())?
                {
                    return Ok(Some(if waits && matches!(progress, Progress::Input { .. }) {
                        Progress::Blocked
                    } else {
                        progress
                    }));
                }
            }
        }
        Ok(input)
    }

    /// What came of asking, unless that is only that input is missing: then what decides goes on.
    fn unless_input(&mut self, progress: Option<Progress>, input: &mut Option<Progress>) -> Option<Progress> {
        match progress {
            Some(Progress::Input { .. }) => {
                self.ahead = true;
                *input = progress;
                None
            }
            Some(Progress::Blocked) if input.is_some() => None,
            progress => progress,
        }
    }

    /// Fires an initialiser whose guard holds.
    pub fn initialize(&mut self, state: &mut State, instance: usize, action: &Action) -> Result<(), NotFused> {
        let n_lists = state.lists.len();
        let mut frame = self.walk.frame(state, instance, &action.locals, action.span)?;
        self.walk.statements(state, &mut frame, &action.guard.before)?;
        for condition in &action.guard.conditions {
            let node = self.walk.condition(state, &frame, condition)?;
            match state.facts.decide(self.walk.graph, node) {
                Some(true) => {}
                Some(false) => return Ok(()),
                None => return Err(NotFused::new("whether an initialiser fires is not known", action.span)),
            }
        }
        self.walk.body(state, &mut frame, action)?;
        self.produce(state, instance, action, &frame)?;
        state.lists.truncate(n_lists);
        Ok(())
    }

    fn reads(&self, instance: usize, port: usize) -> Reads {
        let source = self.wiring.inputs[instance][port].map(|at| self.walk.network.connections[at].source);
        match source {
            Some(Endpoint::Boundary(input)) if self.late.contains(&input) => Reads::Last,
            Some(Endpoint::Boundary(_)) => Reads::First,
            _ => Reads::Inside,
        }
    }

    /// Makes sure that a port has so many tokens: `None` when it has, else what came of asking for them.
    fn demand(
        &mut self,
        state: &mut State,
        instance: usize,
        port: usize,
        tokens: u64,
    ) -> Result<Option<Progress>, NotFused> {
        let Some(connection) = self.wiring.inputs[instance][port] else { return Ok(Some(Progress::Blocked)) };
        let there = state.queues[connection].len();
        let Some(missing) = (tokens as usize).checked_sub(there).filter(|&missing| missing > 0) else {
            return Ok(None);
        };
        match self.walk.network.connections[connection].source {
            Endpoint::Boundary(port) => {
                for &other in &self.wiring.boundary[port] {
                    if other != connection
                        && let Some(progress) = self.make_room(state, other, missing as u64)?
                        && !matches!(progress, Progress::Input { port: again, .. } if again == port)
                    {
                        return Ok(Some(progress));
                    }
                }
                if self.reading == Some((port, missing)) {
                    self.reading = None;
                    self.read_input(state, port, missing)?;
                    return Ok(None);
                }
                Ok(Some(Progress::Input { port, tokens: missing }))
            }
            Endpoint::Instance(source, _) => Ok(Some(self.advance(state, source.index())?)),
        }
    }

    /// Has the reader of a FIFO fire before the FIFO holds more tokens, if it can: what came of it, or `None` when it
    /// cannot and there is room, or nobody can take tokens now. FIFOs stay short this way, and states few: tokens that
    /// come one by one are not a state for each number of them.
    fn make_room(&mut self, state: &mut State, connection: usize, tokens: u64) -> Result<Option<Progress>, NotFused> {
        let Endpoint::Instance(reader, _) = self.walk.network.connections[connection].target else { return Ok(None) };
        let there = state.queues[connection].len() as u64;
        if there == 0 {
            return Ok(None);
        }
        let has_room = there + tokens <= self.wiring.room[connection];
        match self.advance(state, reader.index())? {
            Progress::Blocked => Ok(None),
            Progress::Input { .. } if has_room => Ok(None),
            progress => Ok(Some(progress)),
        }
    }

    fn read_input(&mut self, state: &mut State, port: usize, tokens: usize) -> Result<(), NotFused> {
        let ty = self.walk.network.inputs[port].ty;
        let width = token_width(ty).ok_or_else(|| {
            NotFused::new("a port is of a type that transitions do not have", self.walk.network.inputs[port].span)
        })?;
        for _ in 0..tokens {
            let offset = state.consumed[port] as i64;
            let token = self.walk.graph.input(port as u32, offset, width);
            state.consumed[port] += 1;
            for &connection in &self.wiring.boundary[port] {
                self.send(state, connection, token, ty)?;
            }
        }
        Ok(())
    }

    /// Puts a token of a type into a FIFO, or out.
    fn send(&mut self, state: &mut State, connection: usize, token: NodeId, ty: Scalar) -> Result<(), NotFused> {
        let network = self.walk.network;
        let described = &network.connections[connection];
        let mut token = token;
        let mut from = ty;
        for &to in described.via.iter().chain([&network.target_port(described).ty]) {
            token = self.walk.convert(state, token, from, to, described.span)?;
            from = to;
        }
        match described.target {
            Endpoint::Boundary(port) => {
                let offset = state.produced[port];
                state.produced[port] += 1;
                state.push(Effect::Output { port: port as u32, offset, value: token });
            }
            Endpoint::Instance(..) => state.queues[connection].push_back(token),
        }
        Ok(())
    }

    fn bind(&mut self, state: &mut State, instance: usize, action: &Action, frame: &mut Frame, only_peeked: bool) {
        for pattern in &action.consumes {
            let Some(connection) = self.wiring.inputs[instance][pattern.port] else { continue };
            let names = pattern.locals.len();
            let repeat = pattern.repeat.unwrap_or(1) as usize;
            if state.queues[connection].len() < names * repeat {
                continue;
            }
            for (position, &local) in pattern.locals.iter().enumerate() {
                if only_peeked && !action.guard.peeks.contains(&local) {
                    continue;
                }
                let tokens: Vec<NodeId> =
                    (0..repeat).filter_map(|at| state.queues[connection].get(at * names + position).copied()).collect();
                self.walk.bind(state, frame, local, &tokens);
            }
        }
    }

    fn consume(&mut self, state: &mut State, instance: usize, action: &Action) {
        for pattern in &action.consumes {
            if let Some(connection) = self.wiring.inputs[instance][pattern.port] {
                state.queues[connection].drain(..pattern.tokens() as usize);
            }
        }
    }

    fn produce(&mut self, state: &mut State, instance: usize, action: &Action, frame: &Frame) -> Result<(), NotFused> {
        let network = self.walk.network;
        let actor = network.actor_of(InstanceId(instance as u32));
        for output in &action.produces {
            let ty = actor.outputs[output.port].ty;
            let values = output.values.len();
            let repeat = output.repeat.unwrap_or(1) as usize;
            let mut tokens = vec![None; values * repeat];
            for (position, value) in output.values.iter().enumerate() {
                match value {
                    OutputValue::Scalar(expr) => {
                        tokens[position] = Some(self.walk.scalar(state, frame, expr, ty)?);
                    }
                    OutputValue::List { place, convert } => {
                        for at in 0..repeat {
                            let element = self.list_element(state, frame, place, at)?;
                            let element = match convert {
                                Some(to) => self.walk.convert(state, element.0, element.1, *to, place.span)?,
                                None => element.0,
                            };
                            tokens[at * values + position] = Some(element);
                        }
                    }
                }
            }
            for token in tokens.into_iter().flatten() {
                for &connection in &self.wiring.outputs[instance][output.port] {
                    self.send(state, connection, token, ty)?;
                }
            }
        }
        Ok(())
    }

    fn list_element(
        &mut self,
        state: &mut State,
        frame: &Frame,
        place: &Place,
        at: usize,
    ) -> Result<(NodeId, Scalar), NotFused> {
        let (list, start, _, ty) = self.walk.find(state, frame, place)?;
        match start {
            Ok(start) => Ok((self.walk.read(state, list, start + at), ty)),
            Err((index, _)) => {
                let width = self.walk.graph.width(index);
                let more = self.walk.graph.number(at as u128, width);
                let index = self.walk.graph.sum(index, more);
                Ok((self.walk.read_somewhere(state, list, index), ty))
            }
        }
    }
}

/// When an action asks for the tokens of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reads {
    /// Input of the network.
    First,
    /// What others make.
    Inside,
    /// Input of the network that is late.
    Last,
}

enum Attempt {
    /// The guard does not hold.
    Disabled,
    Result(Progress),
}

/// Bits of a token, if transitions have it.
pub(crate) fn token_width(ty: Scalar) -> Option<u32> {
    match ty {
        Scalar::Bool => Some(1),
        Scalar::Int(int) if int.width <= crate::kernel::graph::MAX_BITS => Some(int.width),
        _ => None,
    }
}

/// Whether a condition of a guard reads some of these variables.
fn reads(expr: &Expr, locals: &[LocalId]) -> bool {
    let place = |place: &Place| {
        matches!(place.root, Root::Local(local) if locals.contains(&local))
            || place.indices.iter().any(|index| reads(index, locals))
    };
    match &expr.kind {
        ExprKind::Load(at) => place(at),
        ExprKind::Call(_, arguments) => arguments.iter().any(|argument| match argument {
            headrace_ir::Argument::Value(value) => reads(value, locals),
            headrace_ir::Argument::List(at) => place(at),
        }),
        _ => expr.parts().into_iter().any(|part| reads(part, locals)),
    }
}
