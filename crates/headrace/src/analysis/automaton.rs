//! The control automaton of a network as text: what passes and targets start from; and what passes make of its loops and
//! transitions.
//!
//! Of an operation of the library it is the one that typical messages lead through; of any other network, which has
//! none, all that it may come to is explored.

use crate::error::{Error, Result};
use headrace_instructions::{choice, descriptions};
use headrace_ir::Network;
use headrace_library::catalog::OperationSpec;
use headrace_targets::automata::automaton_of_operation;
use headrace_transform::control::{Automaton, Limits, automaton_of};
use headrace_transform::kernel::{Block, Loop, text};
use headrace_transform::passes::manager::{Manager, Moment};
use headrace_transform::passes::pass::{BlockRef, Code, Form, Pass, Seen};
use headrace_transform::passes::pipelines::{Demand, Pipeline};
use headrace_transform::passes::select_instructions::Choice;
use headrace_transform::statements::Iterations;
use std::fmt::Write as _;

/// The automaton of an operation, or what passes make of it.
///
/// # Errors
///
/// Why there is none, or which pass is at fault.
pub fn of_operation(spec: &OperationSpec, network: &Network, asked: &Passes<'_>) -> Result<String> {
    let found = automaton_of_operation(spec, network).map_err(|refused| without(&refused.reason))?;
    shown(&found, asked)
}

/// The automaton of a network, or what passes make of it.
///
/// # Errors
///
/// Why there is none, or which pass is at fault.
pub fn of_network(network: &Network, asked: &Passes<'_>) -> Result<String> {
    let found = automaton_of(network, &[], &Limits::default()).map_err(|refused| without(&refused.reason))?;
    shown(&found, asked)
}

fn without(reason: &str) -> Error {
    Error::wrong(format!("it has no control automaton and runs on its scheduler: {reason}"))
}

fn shown(automaton: &Automaton, asked: &Passes<'_>) -> Result<String> {
    match asked.names.is_empty() {
        true => Ok(text::text(automaton)),
        false => Asked::of(asked)?.shown(automaton),
    }
}

/// What is asked of passes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Passes<'a> {
    /// Passes and pipelines, in order; where there are none, the automaton is shown as it is.
    pub names: &'a [String],
    /// The last that runs, if not the last of them.
    pub stop_after: Option<&'a str>,
    /// Those of which it is shown what they are given; `all`: of each.
    pub print_before: &'a [String],
    /// Those of which it is shown what they make, where they change something; `all`: of each.
    pub print_after: &'a [String],
}

/// The same, resolved.
struct Asked<'a> {
    passes: Vec<&'static Pass>,
    print_before: &'a [String],
    print_after: &'a [String],
    choice: Option<Choice>,
}

impl<'a> Asked<'a> {
    fn of(wanted: &Passes<'a>) -> Result<Self> {
        let mut passes: Vec<&'static Pass> = Vec::new();
        for name in wanted.names {
            match Pass::named(name) {
                Some(pass) => passes.push(pass),
                None => passes.extend(of_pipeline(name)?),
            }
        }
        let stands = |name: &str| passes.iter().any(|pass| pass.name == name);
        let printed = wanted.print_before.iter().chain(wanted.print_after).map(String::as_str);
        let named = printed.filter(|name| *name != "all").chain(wanted.stop_after);
        if let Some(name) = { named }.find(|name| !stands(name)) {
            return Err(Error::usage(format!("`{}` is none of the passes that run", name.escape_debug())));
        }
        if let Some(last) = wanted.stop_after {
            let n = passes.iter().position(|pass| pass.name == last).map_or(passes.len(), |at| at + 1);
            passes.truncate(n);
        }
        let selects = passes.iter().any(|pass| matches!(pass.form, Form::Instructions(_)));
        let choice = if selects { descriptions().ok().and_then(|all| choice(&all, |_| true).ok()) } else { None };
        Ok(Asked { passes, print_before: wanted.print_before, print_after: wanted.print_after, choice })
    }

    /// Loops, and transitions where passes take those, each behind a line that says what it is.
    fn shown(&self, automaton: &Automaton) -> Result<String> {
        let mut out = String::new();
        for (number, state) in automaton.states.iter().enumerate() {
            for (at, counted) in state.loops.iter().enumerate() {
                self.of_loop(&format!("state {number}, loop {at}"), &counted.body, &mut out)?;
            }
            let Some(of_blocks) = self.for_transitions() else { continue };
            let mut failed = None;
            state.step.transitions(&mut |transition, target| {
                let Automaton { graph, objects, .. } = automaton;
                let effects = transition.effects.as_slice();
                let block = BlockRef { graph, objects, effects, n_indexed: objects.len(), filled: &[] };
                let title = format!("state {number}, transition to {target}");
                if let Err(failure) = self.after(&title, of_blocks, Seen::Block(block), &mut out) {
                    failed.get_or_insert(failure);
                }
            });
            failed.map_or(Ok(()), Err)?;
        }
        Ok(out)
    }

    /// The passes, where all of them take effects.
    fn for_transitions(&self) -> Option<&[&'static Pass]> {
        self.passes.iter().all(|pass| takes_effects(pass)).then_some(&self.passes)
    }

    /// A loop after passes on loops, and what an iteration of that does after passes on effects, from the first pass on that
    /// takes nothing else.
    fn of_loop(&self, title: &str, body: &Loop, out: &mut String) -> Result {
        let is_of_effects = |pass: &&Pass| matches!(pass.form, Form::Block(_));
        let n = self.passes.iter().position(is_of_effects).unwrap_or(self.passes.len());
        let (of_loops, of_blocks) = self.passes.split_at(n);
        let made = self.after(title, of_loops, Seen::Loop(body), out)?;
        if of_blocks.is_empty() {
            return Ok(());
        }
        let body = match &made {
            None => body,
            Some(Code::Loop(body)) => body,
            Some(_) => {
                return Err(Error::wrong(format!("{}: comes behind a pass that makes parts", of_blocks[0].name)));
            }
        };
        let Iterations { graph, objects, effects, .. } = Iterations::of(body);
        let block = Block { graph, objects, effects, n_indexed: body.objects.len(), filled: Vec::new() };
        self.after(&format!("{title}, an iteration"), of_blocks, Seen::Block(BlockRef::of(&block)), out)?;
        Ok(())
    }

    /// Runs passes and writes what they make; `None` where that is what they were given.
    fn after(&self, title: &str, passes: &[&'static Pass], code: Seen<'_>, out: &mut String) -> Result<Option<Code>> {
        let mut printed = String::new();
        let asked = |names: &[String], pass: &Pass| names.iter().any(|name| name == "all" || name == pass.name);
        let mut observe = |pass: &'static Pass, moment: Moment, text: &str| {
            let _ = match moment {
                Moment::Before if asked(self.print_before, pass) => {
                    write!(printed, "# {title}, before {}\n{text}", pass.name)
                }
                Moment::Changed if asked(self.print_after, pass) => {
                    write!(printed, "# {title}, after {}\n{text}", pass.name)
                }
                _ => Ok(()),
            };
        };
        let prints = !self.print_before.is_empty() || !self.print_after.is_empty();
        let records = Some(Vec::new());
        let mut manager = Manager { choice: self.choice.as_ref(), verifies: true, records, ..Manager::default() };
        if prints {
            manager.observer = Some(&mut observe);
        }
        let made =
            manager.run(passes.iter().copied(), code).map_err(|fault| Error::wrong(format!("{title}: {fault}")))?;
        let records = manager.records.take().unwrap_or_default();
        let changed = records.iter().filter(|record| manager.changed.iter().any(|pass| pass.name == record.pass));
        let changed: Vec<String> = changed.map(ToString::to_string).collect();
        let changed = if changed.is_empty() { "as it was".to_owned() } else { format!("after {}", changed.join(", ")) };
        drop(manager);
        out.push_str(&printed);
        let _ = write!(out, "# {title}, {changed}\n{}", made.as_ref().map_or_else(|| code.text(), Code::text));
        Ok(made)
    }
}

fn takes_effects(pass: &Pass) -> bool {
    matches!(pass.form, Form::Block(_) | Form::Either(..))
}

/// The passes of a pipeline, behind whose name demands may stand: `scalar-iteration+short`.
fn of_pipeline(name: &str) -> Result<Vec<&'static Pass>> {
    let mut words = name.split('+');
    let pipeline = words.next().and_then(Pipeline::named);
    let demands: Option<Vec<Demand>> =
        words.map(|word| Demand::ALL.into_iter().find(|demand| demand.to_string() == word)).collect();
    match (pipeline, demands) {
        (Some(pipeline), Some(demands)) => Ok(pipeline.passes(&demands).collect()),
        _ => Err(Error::usage(format!(
            "`{}` is no pass and no pipeline; `headrace list passes` lists them",
            name.escape_debug()
        ))),
    }
}
