//! Code generation for states: decision trees as branches, states as cases of a switch. The automaton as switches in
//! loops: each case is a state.

use super::Writer;
use super::lists_in_registers::RepeatedFunctions;
use super::loops::Loops;
use super::one_shot::{Pieces, Trip};
use super::outlined_transitions::{CALL, KernelFunctions, is_long};
use super::state_form::StateForm;
use super::suspension_points::Stops;
use super::template::{Hole, Template};
use crate::c::kernel::{Support, element_type};
use headrace_transform::control::{Awaited, BlockCopy, Repeated, Step};
use headrace_transform::kernel::{Effect, Transition};
use headrace_transform::statements::{independent_components, outputs_early, size};
use std::collections::BTreeSet;
use std::fmt::{self, Write as _};

/// Size of a decision, a call, or an end.
const DECISION: usize = CALL;

/// Size of what is done to a port of which tokens are taken, or to which they go.
const PORT: usize = 16;

/// Where a step stands.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// Its state.
    pub state: usize,
    /// How far in.
    pub depth: usize,
}

impl Place {
    fn inside(self) -> Place {
        Place { depth: self.depth + 1, ..self }
    }

    /// Ends the run here.
    pub(super) fn stop(self, text: &mut Template, label: &str) {
        let pad = "    ".repeat(self.depth);
        self.stays(text, &pad);
        let _ = writeln!(text, "{pad}goto {label};");
    }

    /// Says in which state the run goes on.
    fn stays(self, text: &mut Template, pad: &str) {
        let _ = write!(text, "{pad}s->state = ");
        text.leave(Hole::Here(self.state));
        text.push_str(";\n");
    }
}

/// What leads back to each state many times.
#[derive(Clone, Copy)]
pub(super) struct Back<'a> {
    pub repeated: &'a [Vec<Repeated<'a>>],
    pub copies: &'a [Vec<BlockCopy<'a>>],
}

/// Size of a loop, and of what is repeated, where it stands in a state.
pub(super) const LOOP: usize = 120;

/// The automaton as text.
pub(super) struct PrintedStates {
    /// Functions of transitions.
    pub transitions: String,
    /// Functions of states, which come after those of transitions.
    pub states: String,
    /// The function for whole messages, which comes behind them.
    pub whole: String,
    /// That for pieces of whole blocks, which comes last.
    pub piece: String,
    /// See [`Pieces::ends`].
    pub ends: Option<Vec<bool>>,
    /// What they use that stands above loops.
    pub found: BTreeSet<Support>,
    /// The size of all of it, in operands.
    pub size: usize,
}

impl Writer<'_> {
    /// The function that goes from state to state until input or room is missing, and before it those for so many
    /// states each, and the function for whole messages, which may be empty.
    pub(super) fn states(&self, loops: &Loops) -> PrintedStates {
        let mut functions = KernelFunctions::below(loops.support());
        let mut n_loops = 0;
        let repeated = headrace_transform::control::repeated(self.automaton, self.network);
        let copies = headrace_transform::control::block_copies(self.automaton);
        let mut repeating = RepeatedFunctions::default();
        let stops = self.stops();
        let mut places = Stops::of(self.automaton);
        let back = Back { repeated: &repeated, copies: &copies };
        let trip = self.whole_trip(&places, back);
        let pieces = self.piece_trip(&places, back);
        let pieces = pieces.map(|pieces| self.with_ends(&places, back, trip.as_ref(), pieces));
        let hot = self.often(trip.as_ref().map(|(_, states)| states));
        // What a message comes through that is begun under another key or given in pieces is worth less code than the rest.
        let core = trip.as_ref().map(|(_, states)| self.core(states));
        let writer = &Writer { hot: Some(core.as_ref().unwrap_or(&hot)), ..*self };
        if let Some((_, states)) = &trip {
            places.after_whole(self.automaton, states);
        }
        if let Some(Pieces { states, .. }) = &pieces {
            places.after_whole(self.automaton, states);
        }
        let mut blocks = Vec::with_capacity(self.automaton.states.len());
        let mut sizes = Vec::with_capacity(self.automaton.states.len());
        let mut forms = Vec::with_capacity(self.automaton.states.len());
        for (number, state) in self.automaton.states.iter().enumerate() {
            let before = functions.size;
            let (mut block, place) = (Template::default(), Place { state: number, depth: 3 });
            if places.counts[number] {
                let _ = writeln!(block, "        if ({stops}) {{");
                place.stop(&mut block, "limit");
                block.push_str("        }\n        --budget;\n");
            }
            if places.traps[number] {
                place.stays(&mut block, "        ");
            }
            for counted in &state.loops {
                block.append(self.counted(counted, n_loops, number, loops.many.code(n_loops)));
                n_loops += 1;
                functions.size += LOOP;
            }
            for one in &repeated[number] {
                functions.size += LOOP;
                block.append(self.repeated(one, number, &mut repeating));
            }
            // Where few messages come through, text that states have in common is worth more.
            for copy in copies[number].iter().filter(|_| hot[number]) {
                functions.size += LOOP;
                block.append(self.block_copy(copy, number));
            }
            block.push_str("        {\n");
            let repeats = (!repeated[number].is_empty()).then_some(number);
            let form = || StateForm::begun(places.counts[number], places.traps[number], repeats);
            functions.form = (!hot[number]).then(form);
            writer.step(&state.step, place, &[], &mut functions, &mut block);
            block.push_str("        }\n");
            sizes.push(functions.size - before);
            blocks.push(block);
            forms.push(functions.form.take());
        }
        let (text, merged) = self.steps(&blocks, forms, &hot, &mut places);
        let mut of_trip = |of, trip: Option<_>| {
            trip.map_or_else(String::new, |trip| writer.whole_states(of, trip, back, &mut functions, &mut repeating))
        };
        let ends = pieces.as_ref().and_then(|pieces| pieces.ends.clone());
        let pieces = pieces.map(|pieces| (pieces.rests, pieces.states));
        let (whole, piece) = (of_trip(Trip::Message, trip), of_trip(Trip::Piece, pieces));
        let transitions = functions.text + &repeating.text;
        // What several states do stands once.
        let merged: usize = merged.into_iter().map(|state| sizes[state]).sum();
        let size = functions.size - merged + repeating.size;
        PrintedStates { transitions, states: text, whole, piece, ends, found: functions.found, size }
    }

    pub(super) fn step(
        &self,
        step: &Step,
        place: Place,
        before: &[Effect],
        functions: &mut KernelFunctions,
        text: &mut Template,
    ) {
        let depth = place.depth;
        let pad = "    ".repeat(depth);
        match step {
            Step::Branch { before: more, condition, then, otherwise } => {
                let all: Vec<Effect> = before.iter().chain(more).cloned().collect();
                // A port of the network that passes its tokens on at once does so with the transition, which asks for
                // room.
                let is_output = |effect: &Effect| matches!(effect, Effect::Output { .. });
                let needed: Vec<Effect> = all.iter().filter(|effect| !is_output(effect)).cloned().collect();
                if let Some(form) = &mut functions.form {
                    form.decides(self, &needed, *condition);
                }
                let _ = writeln!(text, "{pad}bool c{depth};\n{pad}{{");
                self.pointers(&needed, Some(*condition), depth + 1, text);
                text.push_str(&self.statements(&needed, vec![(format!("c{depth}"), *condition)], depth + 1));
                let _ = writeln!(text, "{pad}}}\n{pad}if (c{depth}) {{");
                functions.size += DECISION + size(&self.automaton.graph, &needed);
                self.step(then, place.inside(), &all, functions, text);
                let _ = writeln!(text, "{pad}}} else {{");
                functions.form.iter_mut().for_each(StateForm::otherwise);
                self.step(otherwise, place.inside(), &all, functions, text);
                let _ = writeln!(text, "{pad}}}");
            }
            Step::Wait(awaited) => {
                for one in awaited {
                    let Awaited { port, tokens, step } = one;
                    functions.form.iter_mut().for_each(|form| form.awaits(one));
                    functions.size += DECISION;
                    let name = &self.network.inputs[*port].name;
                    let _ = writeln!(text, "{pad}if ({}) {{", self.there(name, *tokens));
                    self.step(step, place.inside(), before, functions, text);
                    let _ = writeln!(text, "{pad}}}");
                }
                functions.form.iter_mut().for_each(StateForm::is_dry);
                place.stop(text, "dry");
            }
            Step::Go { transition, target } => self.transition(transition, place, *target, before, functions, text),
            Step::End => {
                functions.size += DECISION;
                functions.form.iter_mut().for_each(|form| form.ends(false));
                place.stop(text, "dry");
            }
            // Whoever finds the state goes on from there.
            Step::Deoptimize if self.whole.is_some() => place.stop(text, "full"),
            Step::Deoptimize => {
                functions.form.iter_mut().for_each(|form| form.ends(true));
                place.stop(text, "leave");
            }
        }
    }

    /// How long the text of a step is where it stands, without the functions that it calls.
    pub(super) fn step_size(&self, step: &Step, state: usize, before: &[Effect]) -> usize {
        match step {
            Step::Branch { before: more, then, otherwise, .. } => {
                let all: Vec<Effect> = before.iter().chain(more).cloned().collect();
                let both = self.step_size(then, state, &all) + self.step_size(otherwise, state, &all);
                DECISION + size(&self.automaton.graph, &all) + both
            }
            Step::Wait(awaited) => {
                let each = awaited.iter().map(|awaited| DECISION + self.step_size(&awaited.step, state, before));
                DECISION + each.sum::<usize>()
            }
            Step::Go { transition, target } => {
                let all: Vec<Effect> = before.iter().chain(&transition.effects).cloned().collect();
                let body = self.body(&all, (state, *target));
                let ports = transition.consumes.iter().chain(&transition.produces).filter(|n| **n > 0).count();
                PORT * ports + if is_long(&body) { DECISION } else { body.size }
            }
            Step::End | Step::Deoptimize => DECISION,
        }
    }

    /// The ports that effects read.
    pub(super) fn read_ports(
        &self,
        effects: &[Effect],
        more: Option<headrace_transform::kernel::NodeId>,
    ) -> BTreeSet<u32> {
        let mut roots = Effect::roots(effects);
        roots.extend(more);
        let graph = &self.automaton.graph;
        let port = |id| match graph.op(id) {
            headrace_transform::kernel::Op::Input { port, .. } => Some(*port),
            _ => None,
        };
        graph.reachable(roots).into_iter().filter_map(port).collect()
    }

    /// Pointers to the windows of the ports that effects read.
    pub(super) fn pointers(
        &self,
        effects: &[Effect],
        more: Option<headrace_transform::kernel::NodeId>,
        depth: usize,
        text: &mut impl fmt::Write,
    ) {
        let pad = "    ".repeat(depth);
        for port in self.read_ports(effects, more) {
            let port = &self.network.inputs[port as usize];
            let (ty, name) = (element_type(port.ty.width()), &port.name);
            let _ = writeln!(text, "{pad}const {ty} *const in_{name} = {};", self.window(&format!("in_{name}")));
        }
    }

    /// Goes to a state; which function that is in is settled by [`super::steps`].
    /// Lines but the first begin with `pad`.
    pub(super) fn go_to(&self, target: usize, pad: &str) -> Template {
        match self.whole {
            Some(states) if !states.contains(&target) => format!("s->state = {target};\n{pad}goto full;").into(),
            _ => {
                let mut text = Template::default();
                text.leave(Hole::Go(target));
                text
            }
        }
    }

    fn transition(
        &self,
        transition: &Transition,
        place: Place,
        target: usize,
        before: &[Effect],
        functions: &mut KernelFunctions,
        text: &mut Template,
    ) {
        let depth = place.depth;
        let way = (place.state, target);
        functions.form.iter_mut().for_each(|form| form.moves(transition));
        functions.size += PORT * transition.consumes.iter().chain(&transition.produces).filter(|n| **n > 0).count();
        let pad = "    ".repeat(depth);
        let produces = transition.produces.iter().zip(&self.network.outputs).filter(|(n, _)| **n > 0);
        for (n, port) in produces.clone() {
            let (ty, name) = (element_type(port.ty.width()), &port.name);
            let _ = writeln!(
                text,
                "{pad}{ty} *const out_{name} = {};\n{pad}if (out_{name} == NULL) {{",
                self.place_for(name, *n)
            );
            place.inside().stop(text, "full");
            let _ = writeln!(text, "{pad}}}");
        }
        let all: Vec<Effect> = before.iter().chain(&transition.effects).cloned().collect();
        let all = outputs_early(&self.automaton.graph, &all);
        let _ = writeln!(text, "{pad}{{");
        let inside = "    ".repeat(depth + 1);
        let objects = &self.automaton.objects;
        let mut parts = independent_components(&self.automaton.graph, objects, &all);
        if parts.len() > 1 {
            let form = self.body(&all, way).canonical(self);
            let is_whole = || {
                self.followed(transition, &all, "whole", || true)
                    .or_else(|| self.layered(transition, &all, "whole"))
                    .is_some()
            };
            if functions.is_whole(form, is_whole) {
                parts = vec![all];
            }
        }
        for part in parts {
            let body = self.body(&part, way);
            functions.form.iter_mut().for_each(|form| form.does(body.canonical(self)));
            if !is_long(&body) {
                self.pointers(&part, None, depth + 1, text);
                text.push_str(&body.statements(self, None, depth + 1));
                functions.size += body.size;
                continue;
            }
            if self.whole.is_some() {
                // Functions find their windows in the context.
                text.push_str(&self.windows_kept(&part, &inside));
            }
            let writes = |wanted: usize| {
                let mut found = false;
                Effect::walk(&part, &mut |effect| {
                    found |= matches!(effect, Effect::Output { port, .. } if *port as usize == wanted);
                });
                found
            };
            let ports: Vec<usize> = (0..transition.produces.len()).filter(|&port| writes(port)).collect();
            let faster = |functions: &mut KernelFunctions, name: &str| self.faster(transition, &part, name, functions);
            // Where the machine has something faster the statements are for others, which need not have them in full.
            let short = || self.short_body(&part);
            text.push_str(&functions.called(self, &body, &ports, &inside, faster, short));
        }
        let _ = writeln!(text, "{pad}}}");
        for (n, port) in transition.consumes.iter().zip(&self.network.inputs).filter(|(n, _)| **n > 0) {
            let name = &port.name;
            let window = self.window(&format!("in_{name}"));
            let _ = writeln!(text, "{pad}{window} += {n};\n{pad}{window}_there -= {n};");
        }
        for (n, port) in produces {
            let name = &port.name;
            let _ = writeln!(text, "{pad}{}", self.made(name, &format!("out_{name}"), &n.to_string()));
        }
        text.push_str(&pad);
        text.append(self.go_to(target, &pad));
        text.push_str("\n");
    }
}
