//! Loops: functions that run iterations, and how many iterations there are to run.

use super::blocks::ForFeatures;
use super::kernel::{KernelCode, Values};
use super::lanes::SideBySide;
use super::registers::ARCHITECTURE;
use super::value::{Value, or};
use super::{Functions, Fused};
use crate::building::Building;
use crate::function::FunctionBuilder;
use headrace_instructions::registers;
use headrace_program::{
    Argument, BinaryOp, CompareOp, Expr, ExprKind, FeatureSet, FeatureSetId, FunctionId, Place, Stmt, Type, VariableId,
};
use headrace_transform::control::{CountedLoop, CountedPath, CountedPaths, Next, Trips};
use headrace_transform::kernel::graph::mask;
use headrace_transform::kernel::{Block, Effect, Graph, Loop, ObjectId};
use headrace_transform::passes::coalesce_token_loads::{self, coalesce_token_loads};
use headrace_transform::passes::pass::BlockRef;
use headrace_transform::passes::peel_first_iteration::{self, Settled, peel_first_iteration};
use headrace_transform::passes::pipelines::{Demand, SCALAR_ITERATION, SCALAR_LOOP};
use headrace_transform::statements::{Iterations, Kept};
use headrace_vectorize::selection::MOST_NODES;

/// Most iterations that are run at once.
const MOST: u64 = 1 << 30;

/// Bits of the words that lanes compute in, mostly.
const LANE_BITS: u32 = 32;

/// Widths of vectors that some machines have, the widest first.
const WIDE: &[u32] = &[512, 256];

/// The width of vectors that few iterations take there.
const NARROW: u32 = 128;

/// What takes the context alone.
fn on_context() -> Vec<Argument> {
    vec![Argument::Reference(Place::variable(super::CONTEXT))]
}

/// The functions that run a loop, so many iterations each.
pub(super) struct Run {
    /// Any iterations.
    pub iterations: FunctionId,
    /// Iterations but the first, and what stores what is stored behind them, if that is not the same.
    pub others: Option<(FunctionId, FunctionId)>,
    /// The same for machines with features, the fastest first.
    pub for_features: Vec<ForFeatures>,
}

/// How many iterations of a loop there are to run.
pub(super) struct Limited {
    /// As many, a `U64`.
    pub iterations: VariableId,
    /// More than these are worth it.
    pub fewest: u64,
    /// The state behind the loop, and whether it was reached by these.
    pub ends: Option<(u32, VariableId)>,
}

impl Fused<'_> {
    /// The functions that run a loop.
    fn run_of(&self, body: &Loop, building: &mut Building, functions: &mut Functions) -> Run {
        let for_features = self.for_features(body, building, functions);
        let better = SCALAR_LOOP.on_loop(body, &self.demands(body, false));
        let body = better.as_ref().unwrap_or(body);
        let lanes = self.lanes.and_then(|own| self.side_by_side(own, None, body, building, functions));
        if lanes.is_none()
            && let Some(iterations) = self.distributed(body, building, functions)
        {
            return Run { iterations, others: None, for_features };
        }
        let iterations = self.iterations(body, lanes.as_slice(), None, building, functions);
        let peeled = || peel_first_iteration::PASS.tried(|| peel_first_iteration(body));
        let settled = if lanes.is_none() { peeled() } else { None };
        let others = settled.map(|Settled { body, behind }| {
            let values = Values { graph: &body.graph, objects: &body.objects };
            (self.iterations(&body, &[], None, building, functions), self.behind(values, &behind, building, functions))
        });
        Run { iterations, others, for_features }
    }

    /// Functions that run iterations on machines with features, the fastest first.
    fn for_features(&self, body: &Loop, building: &mut Building, functions: &mut Functions) -> Vec<ForFeatures> {
        if !self.vectors || body.graph.len() > MOST_NODES {
            return Vec::new();
        }
        let blocks = self.block_loops(body, building, functions);
        if !blocks.is_empty() {
            return blocks;
        }
        let products = self.product_loops(body, building, functions);
        if !products.is_empty() {
            return products;
        }
        let better = SCALAR_LOOP.on_loop(body, &self.demands(body, false));
        let lanes = self.wide_lanes(better.as_ref().unwrap_or(body), building, functions);
        if lanes.is_empty() { self.distributed_loops(body, building, functions) } else { lanes }
    }

    /// Functions that run iterations side by side on machines whose vectors are wider than those that all have.
    pub(super) fn wide_lanes(
        &self,
        body: &Loop,
        building: &mut Building,
        functions: &mut Functions,
    ) -> Vec<ForFeatures> {
        let Some(own) = self.lanes.filter(|_| self.vectors) else { return Vec::new() };
        let of = |&bits: &u32| {
            let names = registers::features(bits).iter().map(|&name| name.to_owned()).collect();
            let features = building.features(FeatureSet { architecture: ARCHITECTURE, names });
            // Few iterations take narrow vectors.
            let mut lanes = Vec::new();
            for count in [bits / LANE_BITS, NARROW / LANE_BITS] {
                let own = crate::Lanes { count, ..own };
                lanes.push(self.side_by_side(own, Some(features), body, building, functions)?);
            }
            let iterations = self.iterations(body, &lanes, Some(features), building, functions);
            Some(ForFeatures { features, iterations, not_first: false })
        };
        let found: Vec<ForFeatures> = WIDE.iter().filter_map(of).collect();
        if found.is_empty() {
            building.forget_unused_features();
        }
        found
    }

    /// A function that stores what is stored behind iterations.
    fn behind(
        &self,
        values: Values<'_>,
        effects: &[Effect],
        building: &mut Building,
        functions: &mut Functions,
    ) -> FunctionId {
        let mut code = KernelCode::new(self, building, values, None);
        let inputs = |code: &KernelCode<'_, '_>, port: usize| code.index(self.fields.inputs[port].first);
        code.open(effects, &[], &inputs, &|_, _| Expr::u32(0));
        code.effects(effects);
        code.close();
        let KernelCode { f, building, .. } = code;
        functions.add(building, f, "settle", "stores what iterations would have kept for the next", None)
    }

    /// A function that runs so many iterations, for machines with features, if some are given: tokens of the last are at the end
    /// of those of all.
    pub(super) fn iterations(
        &self,
        body: &Loop,
        lanes: &[SideBySide],
        features: Option<FeatureSetId>,
        building: &mut Building,
        functions: &mut Functions,
    ) -> FunctionId {
        let n_indexed = body.objects.len();
        let (cut, token_words) = coalesce_token_loads::PASS.tried(|| coalesce_token_loads(body)).unzip();
        let body = cut.as_ref().unwrap_or(body);
        let iterations = Iterations::of(body);
        let first_kept = iterations.first_kept();
        let Iterations { kept, graph, objects, effects } = iterations;
        let block = Block { graph, objects, effects, n_indexed, filled: Vec::new() };
        let better = SCALAR_ITERATION.on_block(BlockRef::of(&block), &self.demands(body, !lanes.is_empty()));
        let Block { graph, objects, effects, filled, .. } = better.unwrap_or(block);
        let values = Values { graph: &graph, objects: &objects };
        let mut code = KernelCode::new(self, building, values, None);
        code.filled = filled;
        code.token_words = token_words.unwrap_or_default();
        let n = code.f.scalar_parameter("n_iterations", Type::U32);
        let inputs = cursors(&mut code, "in", &body.consumes, |code, port| code.begin_of(port));
        let outputs = cursors(&mut code, "out", &body.produces, |code, port| {
            let buffer = &self.fields.outputs[port];
            code.index(buffer.first).plus(code.index(buffer.there))
        });
        let at = |cursors: &[Option<VariableId>], code: &KernelCode<'_, '_>, port: usize| {
            cursors[port].map_or(Expr::u32(0), |cursor| code.f.read(cursor))
        };
        for lanes in lanes {
            code.run_lanes(lanes, n, body, &inputs, &outputs);
        }
        // What is kept is read before the first iteration.
        for (i, kept) in kept.iter().enumerate() {
            for word in kept.words() {
                let value = code.kept_word(kept, word);
                code.keep(ObjectId((first_kept + i) as u32), word as u64, value);
            }
        }
        let outer = code.f.take();
        code.repeats = true;
        code.open(&effects, &[], &|code, port| at(&inputs, code, port), &|code, port| at(&outputs, code, port));
        code.effects(&effects);
        code.close();
        code.repeats = false;
        code.go_on(n, 1, body, &inputs, &outputs);
        let left = code.f.read(n);
        let block = code.f.restore(outer);
        let label = code.f.label();
        code.f.push(Stmt::While(label, Expr::compare(CompareOp::NotEqual, left, Expr::u32(0)), block));
        for (i, kept) in kept.iter().enumerate() {
            let object = ObjectId((first_kept + i) as u32);
            for word in kept.words() {
                code.store_kept_word(kept, object, word);
            }
        }
        let KernelCode { mut f, building, .. } = code;
        f.features = features;
        functions.add(building, f, "loop", "runs iterations of a loop", None)
    }

    /// What this loop asks passes for, in iterations one after the other or side by side.
    fn demands(&self, body: &Loop, in_lanes: bool) -> Vec<Demand> {
        let short = self.is_long(body).then_some(Demand::Short);
        let nested = (self.nests_rotations && !in_lanes).then_some(Demand::NestedRotations);
        [Some(Demand::SharedMajorities), short, nested].into_iter().flatten().collect()
    }

    /// Whether rounds of an iteration are loops.
    fn is_long(&self, body: &Loop) -> bool {
        self.most_values.is_some_and(|most| body.needed().len() > most)
    }

    /// Runs a loop as often as tokens, room and counters allow, and ends the function with what comes after it if that
    /// was often enough to be worth it.
    pub(super) fn counted(
        &self,
        counted: &CountedLoop,
        state: usize,
        f: &mut FunctionBuilder,
        building: &mut Building,
        functions: &mut Functions,
    ) -> Run {
        let body = &counted.body;
        let run = self.run_of(body, building, functions);
        let fields = &self.fields;
        let u64_of = |n: u64| Expr::int(Type::U64, n);
        let context = |field: u32| Place::field(super::CONTEXT, field);
        let index = |field: u32| Expr::read(context(field), Type::U32);
        let budget = Expr::read(context(fields.budget), Type::U64);
        let mut limits = Vec::new();
        for (&(n, _), buffer) in body.consumes.iter().zip(&fields.inputs).filter(|(port, _)| port.0 > 0) {
            limits.push(Expr::binary(BinaryOp::Div, index(buffer.there), Expr::u32(n as u32)));
        }
        for (port, (&(n, _), buffer)) in body.produces.iter().zip(&fields.outputs).enumerate() {
            if n == 0 {
                continue;
            }
            self.ask_for_room(f, port, n);
            let room = Expr::u32(buffer.size).minus(index(buffer.first)).minus(index(buffer.there));
            limits.push(Expr::binary(BinaryOp::Div, room, Expr::u32(n as u32)));
        }
        let is_near = budget.clone().less(u64_of(MOST));
        limits.push(Expr::select(is_near, budget.clone().plus(u64_of(1)), u64_of(MOST)));
        let Limited { iterations, fewest, ends } = self.limited(counted, &limits, f, building, functions);
        let read = f.read(iterations);
        let count = read.clone().to(Type::U32);
        f.when(Expr::compare(CompareOp::Greater, read.clone(), u64_of(fewest)), |f| {
            let runs = |f: &mut FunctionBuilder, iterations: FunctionId, count: Expr| {
                f.call(None, iterations, [on_context(), vec![Argument::Value(count.clone())]].concat());
                self.move_on(body, &count, f);
            };
            let one = || Expr::u32(1);
            let without = |f: &mut FunctionBuilder| match run.others {
                None => runs(f, run.iterations, count.clone()),
                Some((others, behind)) => {
                    runs(f, run.iterations, one());
                    f.when(one().less(count.clone()), |f| {
                        runs(f, others, count.clone().minus(one()));
                        f.call(None, behind, on_context());
                    });
                }
            };
            let with = |f: &mut FunctionBuilder, at: usize| match &run.for_features[at] {
                variant if variant.not_first => {
                    runs(f, run.iterations, one());
                    f.when(one().less(count.clone()), |f| runs(f, variant.iterations, count.clone().minus(one())));
                }
                variant => runs(f, variant.iterations, count.clone()),
            };
            let features: Vec<FeatureSetId> = run.for_features.iter().map(|variant| variant.features).collect();
            variants(f, &features, 0, &with, &without);
            let spent = budget.clone().minus(read.clone().minus(u64_of(1)));
            f.push(Stmt::Assign(context(fields.budget), spent));
            if let Some((target, ends)) = ends {
                let ends = f.read(ends);
                f.when(ends, |f| f.push(Stmt::Return(Some(Expr::u32(target)))));
            }
            f.push(Stmt::Return(Some(Expr::u32(state as u32))));
        });
        run
    }

    /// How often a loop can run, within limits and by its counters, which go on by as much where they are rounds.
    pub(super) fn limited(
        &self,
        counted: &CountedLoop,
        limits: &[Expr],
        f: &mut FunctionBuilder,
        building: &mut Building,
        functions: &mut Functions,
    ) -> Limited {
        let iterations = f.scalar("iterations", Type::U64);
        f.assign(iterations, Expr::int(Type::U64, MOST));
        let read = f.read(iterations);
        for limit in limits {
            let bound = f.named("bound", limit.clone().to(Type::U64));
            f.when(bound.clone().less(read.clone()), |f| f.assign(iterations, bound));
        }
        let (fewest, ends) = match &counted.rounds {
            None => {
                for trip in &counted.trips {
                    let bound = self.trips(&counted.body.graph, trip, building, functions);
                    let argument = Argument::Value(read.clone());
                    f.call(Some(iterations), bound, [on_context(), vec![argument]].concat());
                }
                (1, None)
            }
            // What rounds count has gone on by then.
            Some(rounds) => {
                let ends = rounds.last.as_ref().map(|last| (last.target as u32, f.scalar("ends", Type::Bool)));
                self.rounds(rounds, iterations, ends.map(|(_, ends)| ends), f, building, functions);
                (0, ends)
            }
        };
        Limited { iterations, fewest, ends }
    }

    /// Tokens of so many iterations are consumed and produced.
    fn move_on(&self, body: &Loop, count: &Expr, f: &mut FunctionBuilder) {
        let context = |field: u32| Place::field(super::CONTEXT, field);
        let index = |field: u32| Expr::read(context(field), Type::U32);
        for (&(n, _), buffer) in body.consumes.iter().zip(&self.fields.inputs).filter(|(port, _)| port.0 > 0) {
            let moved = f.named("moved", count.clone().times(Expr::u32(n as u32)));
            f.push(Stmt::Assign(context(buffer.first), index(buffer.first).plus(moved.clone())));
            f.push(Stmt::Assign(context(buffer.there), index(buffer.there).minus(moved)));
        }
        for (&(n, _), buffer) in body.produces.iter().zip(&self.fields.outputs).filter(|(port, _)| port.0 > 0) {
            let moved = count.clone().times(Expr::u32(n as u32));
            f.push(Stmt::Assign(context(buffer.there), index(buffer.there).plus(moved)));
        }
    }

    /// A function that makes a number of times not more than a bound allows.
    fn trips(&self, graph: &Graph, trip: &Trips, building: &mut Building, functions: &mut Functions) -> FunctionId {
        let values = Values { graph, objects: &self.automaton.objects };
        let mut code = KernelCode::new(self, building, values, None);
        let times = code.f.scalar_parameter("times", Type::U64);
        code.bound(trip, times);
        let result = code.f.read(times);
        code.f.push(Stmt::Return(Some(result)));
        let KernelCode { f, building, .. } = code;
        functions.add(
            building,
            f,
            "bound",
            "how often something can be done, if not more often than said",
            Some(Type::U64),
        )
    }

    /// Makes `iterations` those that the ways allow, and has their counters go on.
    fn rounds(
        &self,
        rounds: &CountedPaths,
        iterations: VariableId,
        ends: Option<VariableId>,
        f: &mut FunctionBuilder,
        building: &mut Building,
        functions: &mut Functions,
    ) {
        let ways: Vec<FunctionId> =
            rounds.ways.iter().map(|way| self.round(&rounds.graph, way, building, functions)).collect();
        let all = f.read(iterations);
        let left = f.scalar("left", Type::U64);
        let before = f.scalar("before", Type::U64);
        f.assign(left, all.clone());
        let take = |f: &mut FunctionBuilder, way: FunctionId| {
            let argument = Argument::Value(f.read(left));
            f.call(Some(left), way, [on_context(), vec![argument]].concat());
        };
        let label = f.label();
        let outer = f.take();
        for (number, &way) in ways.iter().enumerate() {
            take(f, way);
            // Only what another way does makes the first one possible again.
            if number == 0 {
                let now = f.read(left);
                f.assign(before, now);
            }
        }
        let (now, then) = (f.read(left), f.read(before));
        let none = now.clone().equals(Expr::int(Type::U64, 0));
        f.when(none.or(now.clone().equals(then.clone())), |f| f.push(Stmt::Break(label)));
        let body = f.restore(outer);
        f.push(Stmt::Loop(label, body));
        if let Some((last, ends)) = rounds.last.as_ref().zip(ends) {
            f.assign(before, now.clone());
            let way = self.round(&rounds.graph, &last.way, building, functions);
            take(f, way);
            f.assign(ends, Expr::compare(CompareOp::NotEqual, now.clone(), then));
        }
        f.assign(iterations, all.minus(now));
    }

    /// A function that takes a way as often as it can be taken within so many iterations, and gives how many are left.
    fn round(
        &self,
        graph: &Graph,
        way: &CountedPath,
        building: &mut Building,
        functions: &mut Functions,
    ) -> FunctionId {
        let mut graph = graph.clone();
        let mut effects = Vec::new();
        for update in &way.updates {
            if let Next::Value(value) = update.next {
                let index = graph.number(update.index as u128, 32);
                effects.push(Effect::Store { object: update.object, index, value });
            }
        }
        let values = Values { graph: &graph, objects: &self.automaton.objects };
        let mut code = KernelCode::new(self, building, values, None);
        let left = code.f.scalar_parameter("left", Type::U64);
        let times = code.f.scalar("times", Type::U64);
        let u64_of = |n: u64| Expr::int(Type::U64, n);
        let all = code.f.read(left);
        let most = Expr::binary(BinaryOp::Div, all.clone(), u64_of(way.iterations));
        let most = code.f.named("most", most);
        let most = match way.once {
            true => Expr::select(most.equals(u64_of(0)), u64_of(0), u64_of(1)),
            false => most,
        };
        code.f.assign(times, most);
        way.trips.iter().for_each(|trip| code.bound(trip, times));
        let read = code.f.read(times);
        let outer = code.f.take();
        code.effects(&effects);
        for update in &way.updates {
            if let Next::Step(step) = update.next {
                code.step(update.object, update.index as u32, step, &read);
            }
        }
        let next = all.clone().minus(read.clone().times(u64_of(way.iterations)));
        code.f.assign(left, next);
        let block = code.f.restore(outer);
        code.f.push(Stmt::If(Expr::compare(CompareOp::NotEqual, read, u64_of(0)), block, Vec::new()));
        code.f.push(Stmt::Return(Some(all)));
        let KernelCode { f, building, .. } = code;
        functions.add(building, f, "round", "counts iterations of a way, and says how many are left", Some(Type::U64))
    }
}

/// The first variant, from a number on, whose features the machine has, or what needs none.
pub(super) fn variants(
    f: &mut FunctionBuilder,
    features: &[FeatureSetId],
    at: usize,
    with: &dyn Fn(&mut FunctionBuilder, usize),
    without: &dyn Fn(&mut FunctionBuilder),
) {
    let Some(&first) = features.get(at) else { return without(f) };
    let has = Expr { kind: ExprKind::Has(first), ty: Type::Bool };
    f.either(has, |f| with(f, at), |f| variants(f, features, at + 1, with, without));
}

/// Where each port that iterations use is read or written.
pub(super) fn cursors(
    code: &mut KernelCode<'_, '_>,
    like: &str,
    ports: &[(u64, u32)],
    at: impl Fn(&KernelCode<'_, '_>, usize) -> Expr,
) -> Vec<Option<VariableId>> {
    let cursor = |(port, &(tokens, _)): (usize, &(u64, u32))| {
        (tokens > 0).then(|| {
            let cursor = code.f.scalar(like, Type::U32);
            let begin = at(code, port);
            code.f.assign(cursor, begin);
            cursor
        })
    };
    ports.iter().enumerate().map(cursor).collect()
}

impl KernelCode<'_, '_> {
    /// Moves cursors behind the tokens of so many iterations, which are done then.
    pub(super) fn go_on(
        &mut self,
        n: VariableId,
        n_done: u32,
        body: &Loop,
        inputs: &[Option<VariableId>],
        outputs: &[Option<VariableId>],
    ) {
        for (cursors, ports) in [(inputs, &body.consumes), (outputs, &body.produces)] {
            for (&cursor, &(tokens, _)) in cursors.iter().zip(ports) {
                if let Some(cursor) = cursor {
                    let next = self.f.read(cursor).plus(Expr::u32(tokens as u32 * n_done));
                    self.f.assign(cursor, next);
                }
            }
        }
        let left = self.f.read(n);
        self.f.assign(n, left.minus(Expr::u32(n_done)));
    }

    /// What is kept of an object, before the first iteration.
    pub(super) fn kept_word(&mut self, kept: &Kept, word: usize) -> Value {
        let element = |code: &mut Self, at: usize| code.element(kept.object, Expr::u32(at as u32));
        if kept.in_word == 1 {
            return element(self, word);
        }
        let n = kept.in_word as u32;
        let whole = (0..n).fold(Expr::u32(0), |whole, i| {
            let byte = element(self, kept.in_word * word + i as usize).low.to(Type::U32);
            or(whole, byte.shifted_left(8 * if kept.big { n - 1 - i } else { i }))
        });
        Value::one(whole, true)
    }

    /// What has become of it, after the last iteration: it is read as an element of `from`.
    pub(super) fn store_kept_word(&mut self, kept: &Kept, from: ObjectId, word: usize) {
        let value = self.element(from, Expr::u32(word as u32));
        if kept.in_word == 1 {
            return self.store(kept.object, Expr::u32(word as u32), value);
        }
        let n = kept.in_word as u32;
        for i in 0..n {
            let byte = value.low.clone().shifted_right(8 * if kept.big { n - 1 - i } else { i });
            let at = Expr::u32((kept.in_word * word) as u32 + i);
            self.store(kept.object, at, Value::one(byte, false));
        }
    }

    /// Makes a number of times not more than a bound allows.
    fn bound(&mut self, trip: &Trips, times: VariableId) {
        let now = self.f.read(times);
        let zero = Expr::int(Type::U64, 0);
        let value = self.value_after(&[], trip.node());
        if let Trips::Unless(_, holds) = trip {
            let met = Expr::compare(CompareOp::NotEqual, value.low.clone(), Expr::int(value.low.ty, 0));
            let stops = if *holds { met.negated() } else { met };
            return self.f.when(stops, |f| f.assign(times, zero));
        }
        if value.high.is_some() {
            return self.refuse("a counter of more than 64 bits");
        }
        let value = value.low.to(Type::U64);
        let (limit, step, above) = match trip {
            Trips::Above { limit, step, .. } => (*limit, *step, true),
            Trips::Below { limit, step, .. } => (*limit, *step, false),
            Trips::Unless(..) => return,
        };
        let (Ok(limit), Ok(step)) = (u64::try_from(limit), u64::try_from(step)) else {
            return self.refuse("a counter of more than 64 bits");
        };
        let [limit, step, one] = [limit, step, 1].map(|n| Expr::int(Type::U64, n));
        let (more, less) = if above { (value, limit) } else { (limit, value) };
        let difference = more.clone().minus(less.clone()).minus(one.clone());
        let counted = Expr::binary(BinaryOp::Div, difference, step).plus(one);
        // Where nothing is above, what was counted is not used.
        let any = less.less(more);
        let bound = self.f.named("bound", Expr::select(any, counted, zero));
        self.f.when(bound.clone().less(now), |f| f.assign(times, bound));
    }

    /// Adds to an element so often.
    fn step(&mut self, object: ObjectId, index: u32, step: u128, times: &Expr) {
        let width = self.object(object).width;
        if width > 64 {
            return self.refuse("a counter of more than 64 bits");
        }
        let value = self.element(object, Expr::u32(index)).low.to(Type::U64);
        let next = value.plus(times.clone().times(Expr::int(Type::U64, step as u64)));
        let next = Value::one(next, false).masked(mask(width)).cast(super::value::word(width));
        self.store(object, Expr::u32(index), next);
    }
}
