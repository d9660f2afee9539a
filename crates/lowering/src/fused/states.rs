//! A function for each state: decisions and transitions, and which state comes next.

use super::blocks::MorePorts;
use super::kernel::{KernelCode, Values};
use super::{CONTEXT, DRY, FAILED, FULL, Functions, Fused, LEFT};
use crate::building::Building;
use crate::function::FunctionBuilder;
use headrace_program::{Argument, CompareOp, Expr, ExprKind, FeatureSetId, FunctionId, Place, Stmt, Type};
use headrace_transform::control::{Awaited, Step, once};
use headrace_transform::kernel::{Effect, Loop, NodeId, ObjectId, Transition};
use headrace_transform::passes::pass::BlockRef;
use headrace_transform::passes::pipelines::{Demand, TRANSITION};
use headrace_transform::statements::{independent_components, outputs_early};
use headrace_vectorize::selection::MOST_NODES;
use headrace_vectorize::single_iteration::{FEWEST_NODES, holding, stores_as_tokens};
use headrace_vectorize::staged::{Source, Staged};

/// What a decision gives where an index was outside of its list.
const OUTSIDE: u32 = 2;

/// A state that is being lowered.
struct State<'s, 'a, 'b> {
    number: usize,
    fused: &'s Fused<'a>,
    f: FunctionBuilder,
    building: &'b mut Building,
    functions: &'b mut Functions,
}

impl Fused<'_> {
    /// The function of a state.
    pub(super) fn state(&self, number: usize, building: &mut Building, functions: &mut Functions) -> FunctionId {
        let mut f = FunctionBuilder::new();
        f.record("context", self.fields.context);
        let own = &self.automaton.states[number];
        // Lists of the context are no ports of functions here.
        for (at, counted) in own.loops.iter().enumerate().filter(|(_, counted)| !counted.has_windows()) {
            let run = self.counted(counted, number, &mut f, building, functions);
            self.runs.borrow_mut().push((number, at, run));
        }
        let mut state = State { number, fused: self, f, building, functions };
        state.step(&own.step, &[]);
        let State { f, building, functions, .. } = state;
        let about = if own.description.is_empty() { "a state" } else { &own.description };
        functions.add(building, f, &format!("state_{number}"), about, Some(Type::U32))
    }
}

impl State<'_, '_, '_> {
    fn give(&mut self, next: u32) {
        self.f.push(Stmt::Return(Some(Expr::u32(next))));
    }

    fn when(&mut self, condition: Expr, next: u32) {
        self.f.when(condition, |f| f.push(Stmt::Return(Some(Expr::u32(next)))));
    }

    fn call(&mut self, result: Option<headrace_program::VariableId>, function: FunctionId) {
        self.f.call(result, function, vec![Argument::Reference(Place::variable(CONTEXT))]);
    }

    fn inside(&mut self, step: &Step, before: &[Effect]) -> Vec<Stmt> {
        let outer = self.f.take();
        self.step(step, before);
        self.f.restore(outer)
    }

    /// Every way through a step ends the function.
    fn step(&mut self, step: &Step, before: &[Effect]) {
        match step {
            Step::Branch { before: more, condition, then, otherwise } => {
                let all: Vec<Effect> = before.iter().chain(more).cloned().collect();
                // A port of the network that passes its tokens on at once does so with the transition, which asks for
                // room.
                let is_output = |effect: &Effect| matches!(effect, Effect::Output { .. });
                let needed: Vec<Effect> = all.iter().filter(|effect| !is_output(effect)).cloned().collect();
                let decided = self.f.scalar("decided", Type::U32);
                let (function, checks) = self.decision(&needed, *condition);
                self.call(Some(decided), function);
                let value = self.f.read(decided);
                if checks {
                    self.when(value.clone().equals(Expr::u32(OUTSIDE)), FAILED);
                }
                let (then, otherwise) = (self.inside(then, &all), self.inside(otherwise, &all));
                self.f.push(Stmt::If(Expr::compare(CompareOp::NotEqual, value, Expr::u32(0)), then, otherwise));
            }
            Step::Wait(awaited) => {
                for Awaited { port, tokens, step } in awaited {
                    let there = Expr::read(Place::field(CONTEXT, self.fused.fields.inputs[*port].there), Type::U32);
                    let block = self.inside(step, before);
                    self.f.push(Stmt::If(there.at_least(Expr::u32(*tokens as u32)), block, Vec::new()));
                }
                self.give(DRY);
            }
            Step::Go { transition, target } => self.transition(transition, *target, before),
            Step::End => self.give(DRY),
            Step::Deoptimize => {
                if let Some(leave) = self.functions.leave {
                    self.call(None, leave);
                }
                self.give(LEFT);
            }
        }
    }

    /// The beginning of a transition or decision: what it reads and makes.
    fn opened<'k>(
        &'k mut self,
        values: Values<'k>,
        effects: &[Effect],
        more: &[NodeId],
        failed: Expr,
    ) -> KernelCode<'k, 'k> {
        let mut code = KernelCode::new(self.fused, self.building, values, Some(failed));
        let fields = &self.fused.fields;
        code.open(effects, more, &|code, port| code.index(fields.inputs[port].first), &|code, port| {
            code.index(fields.outputs[port].first).plus(code.index(fields.outputs[port].there))
        });
        code
    }

    /// A function that decides, and whether it checks indices.
    fn decision(&mut self, effects: &[Effect], condition: NodeId) -> (FunctionId, bool) {
        let mut code = self.opened(Values::of(self.fused.automaton), effects, &[condition], Expr::u32(OUTSIDE));
        let value = code.value_after(effects, condition).low;
        code.f.push(Stmt::Return(Some(value.to(Type::U32))));
        let KernelCode { f, checks, .. } = code;
        let about = "decides what comes next";
        (self.functions.add(self.building, f, "decision", about, Some(Type::U32)), checks)
    }

    /// A function that does what effects of a transition to a state say, and whether it checks indices.
    fn effects(&mut self, effects: &[Effect], target: usize) -> (FunctionId, bool) {
        let rolled = self.fused.brevity.rolled(effects, self.number, target);
        let automaton = self.fused.automaton;
        let (graph, objects) = (&automaton.graph, automaton.objects.as_slice());
        let block = match rolled.as_deref() {
            Some(rolled) => BlockRef::of(rolled),
            None => BlockRef { graph, objects, effects, n_indexed: objects.len(), filled: &[] },
        };
        let demands = if self.fused.nests_rotations { &[Demand::NestedRotations][..] } else { &[] };
        let better = TRANSITION.on_block(block, demands);
        let BlockRef { graph, objects, effects, .. } = better.as_ref().map_or(block, BlockRef::of);
        let values = Values { graph, objects };
        let mut code = self.opened(values, effects, &[], Expr::bool(false));
        code.effects(effects);
        code.close();
        if code.checks {
            code.f.push(Stmt::Return(Some(Expr::bool(true))));
        }
        let KernelCode { f, checks, .. } = code;
        let result = checks.then_some(Type::Bool);
        (self.functions.add(self.building, f, "transition", "what is done between two decisions", result), checks)
    }

    /// A function that does the same on vector registers, where it does so on blocks, and what it needs of the machine.
    fn on_registers(&mut self, transition: &Transition, effects: &[Effect]) -> Option<(FeatureSetId, FunctionId)> {
        let fused = self.fused;
        if let Some(body) = once(fused.automaton, fused.network, transition, effects) {
            if !(FEWEST_NODES..=MOST_NODES).contains(&body.graph.len()) {
                return None;
            }
            let mut one = |body: &Loop, stored: &[(ObjectId, usize)]| {
                let more = MorePorts { given: 0, stored: stored.to_vec() };
                fused.one_iteration(body, more, self.building, self.functions).ok()
            };
            // What reads elements only differs from iteration to iteration where these go on.
            let turned = stores_as_tokens(&body);
            let found = match &turned {
                Some((turned, stored)) => one(turned, stored).or_else(|| one(&holding(turned)?, stored)),
                None => one(&body, &[]),
            };
            return found.or_else(|| fused.product_once(&body, self.building, self.functions)).or_else(|| {
                fused.one_iteration(&holding(&body)?, MorePorts::default(), self.building, self.functions).ok()
            });
        }
        let source = Source::of(fused.automaton, fused.network, transition);
        let Staged { first, bytes, body, stored } = source.staged(effects, false)?;
        let more = MorePorts { given: bytes.len() as u32, stored };
        let (features, long) = fused.one_iteration(&body, more, self.building, self.functions).ok()?;
        let mut code = KernelCode::new(fused, self.building, Values::of(fused.automaton), None);
        let fields = &fused.fields;
        code.open(&first, &bytes, &|code, port| code.index(fields.inputs[port].first), &|code, port| {
            code.index(fields.outputs[port].first).plus(code.index(fields.outputs[port].there))
        });
        let array = code.f.array("staged", Type::U8, bytes.len() as u32);
        code.effects_and_bytes(&first, &bytes, array);
        code.close();
        let (context, given) = (Place::variable(CONTEXT), Place::variable(array));
        code.f.call(None, long, vec![Argument::Reference(context), Argument::Reference(given)]);
        if code.checks {
            return None;
        }
        let KernelCode { mut f, .. } = code;
        f.features = Some(features);
        let about = "what is done between two decisions, with blocks in registers";
        Some((features, self.functions.add(self.building, f, "staged", about, None)))
    }

    fn transition(&mut self, transition: &Transition, target: usize, before: &[Effect]) {
        let fused = self.fused;
        for (port, &n) in transition.produces.iter().enumerate().filter(|(_, n)| **n > 0) {
            let has_room = fused.ask_for_room(&mut self.f, port, n);
            self.when(has_room.negated(), FULL);
        }
        let all: Vec<Effect> = before.iter().chain(&transition.effects).cloned().collect();
        let all = outputs_early(&fused.automaton.graph, &all);
        if !all.is_empty() {
            for part in independent_components(&fused.automaton.graph, &fused.automaton.objects, &all) {
                let (function, checks) = self.effects(&part, target);
                if !checks {
                    let variant = fused.vectors.then(|| self.on_registers(transition, &part)).flatten();
                    let context = || vec![Argument::Reference(Place::variable(CONTEXT))];
                    match variant {
                        None => self.call(None, function),
                        Some((features, variant)) => {
                            let has = Expr { kind: ExprKind::Has(features), ty: Type::Bool };
                            self.f.either(
                                has,
                                |f| f.call(None, variant, context()),
                                |f| f.call(None, function, context()),
                            );
                        }
                    }
                    continue;
                }
                let fine = self.f.scalar("fine", Type::Bool);
                self.call(Some(fine), function);
                let fine = self.f.read(fine);
                self.when(fine.negated(), FAILED);
            }
        }
        let add = |f: &mut FunctionBuilder, field: u32, n: u64, less: bool| {
            let place = Place::field(CONTEXT, field);
            let (now, n) = (Expr::read(place.clone(), Type::U32), Expr::u32(n as u32));
            f.push(Stmt::Assign(place, if less { now.minus(n) } else { now.plus(n) }));
        };
        for (&n, buffer) in transition.consumes.iter().zip(&fused.fields.inputs).filter(|(n, _)| **n > 0) {
            add(&mut self.f, buffer.first, n, false);
            add(&mut self.f, buffer.there, n, true);
        }
        for (&n, buffer) in transition.produces.iter().zip(&fused.fields.outputs).filter(|(n, _)| **n > 0) {
            add(&mut self.f, buffer.there, n, false);
        }
        self.give(target as u32);
    }
}
