//! Code layout: which states stand in which function, after how often they are met, and tail merging among those that
//! are not.
//!
//! States that typical messages come through often are code of their own, one after the other. The others are many, one
//! for each number of bytes that may wait somewhere, and do the same as others in large part, but for where they go on.
//! So what does the same, by its structural key (`state_form`), stands once, and a table says for each state where it leads
//! to; and it is made small, not fast.

use super::Writer;
use super::state_form::{self, StateForm};
use super::suspension_points::Stops;
use super::template::{Hole, Template};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// States of a function: compilers take much longer for one with all of them.
const STATES: usize = 24;

/// One state in so many parts of samples, of those that the state is met in which most are, is often met.
const OFTEN: usize = 6;

/// Numbers of a table in C, in elements of 16 bits or, where that is not `wide`, as short as they may be.
fn table(name: &str, numbers: &[usize], wide: bool) -> String {
    let listed: Vec<String> = numbers.iter().map(usize::to_string).collect();
    let lines: Vec<String> = listed.chunks(24).map(|line| line.join(", ")).collect();
    let short = !wide && numbers.iter().all(|&number| number <= usize::from(u8::MAX));
    let ty = if short { "uint8_t" } else { "uint16_t" };
    format!("static const {ty} {name}[] = {{\n    {}\n}};\n", lines.join(",\n    "))
}

/// States that do the same.
struct Alike {
    /// Where it goes on by numbers in a row of a table.
    text: String,
    states: Vec<usize>,
}

impl Writer<'_> {
    /// Which states typical messages come through often: those of whole messages, those with loops, and those of many
    /// parts.
    pub(super) fn often(&self, whole: Option<&BTreeSet<usize>>) -> Vec<bool> {
        let states = &self.automaton.states;
        let met = self.met();
        let most = met.iter().max().copied().unwrap_or(0);
        let is_often = |at: usize| {
            !states[at].loops.is_empty() || whole.is_some_and(|whole| whole.contains(&at)) || met[at] * OFTEN >= most
        };
        (0..states.len()).map(is_often).collect()
    }

    /// The states that whole messages come through, and those with loops.
    pub(super) fn core(&self, whole: &BTreeSet<usize>) -> Vec<bool> {
        let states = self.automaton.states.iter().enumerate();
        states.map(|(at, state)| !state.loops.is_empty() || whole.contains(&at)).collect()
    }

    /// In how many parts of samples each state is met.
    fn met(&self) -> Vec<usize> {
        let mut met = vec![0; self.automaton.states.len()];
        for &at in self.automaton.parts.iter().flat_map(|part| &part.states) {
            met[at] += 1;
        }
        met
    }

    /// States by the functions that they stand in: those that follow one another in one, the ways of loops first, because
    /// going from function to function takes as long as a state.
    fn together(&self, often: &[usize]) -> Vec<Vec<usize>> {
        let met = self.met();
        let mut open: BTreeSet<usize> = often.iter().copied().collect();
        let mut first: Vec<usize> = often.to_vec();
        first.sort_by_key(|&at| (self.automaton.states[at].loops.is_empty(), Reverse(met[at]), at));
        let mut functions: Vec<Vec<usize>> = Vec::new();
        for start in first {
            let (mut states, mut next) = (Vec::new(), vec![start]);
            while let Some(at) = next.pop().filter(|_| states.len() < STATES) {
                if !open.remove(&at) {
                    continue;
                }
                states.push(at);
                let mut targets = Vec::new();
                self.automaton.states[at].step.transitions(&mut |_, target| targets.push(target));
                // The last is taken first.
                targets.sort_by_key(|&target| (met[target], Reverse(target)));
                next.extend(targets);
            }
            match functions.last_mut().filter(|last| last.len() + states.len() <= STATES) {
                Some(last) => last.extend(states),
                None if states.is_empty() => {}
                None => functions.push(states),
            }
        }
        functions
    }

    /// The functions of states, and the one that goes from function to function. Given are the texts of all states and, of those
    /// that are seldom met, what they do; what comes with the functions are the states for which others stand there.
    pub(super) fn steps(
        &self,
        blocks: &[Template],
        forms: Vec<Option<StateForm>>,
        hot: &[bool],
        stops: &mut Stops,
    ) -> (String, Vec<usize>) {
        let prefix = self.prefix;
        let often: Vec<usize> = (0..blocks.len()).filter(|&at| hot[at]).collect();
        let (alike, alone) = state_form::alike(forms);
        let alike: Vec<Alike> =
            alike.into_iter().map(|states| Alike { text: going_by_row(&blocks[states[0]]), states }).collect();
        let mut functions = self.together(&often);
        functions.extend(alone.chunks(STATES).map(<[usize]>::to_vec));
        let alone = functions;
        let shared: Vec<&[Alike]> = alike.chunks(STATES).collect();
        let mut function = vec![0; blocks.len()];
        for (number, states) in alone.iter().enumerate() {
            states.iter().for_each(|&at| function[at] = number);
        }
        let (mut class, mut row, mut rows) = (vec![0; blocks.len()], vec![0; blocks.len()], Vec::new());
        let mut merged = String::new();
        for (number, classes) in shared.iter().enumerate() {
            for (at, alike) in classes.iter().enumerate() {
                for &state in &alike.states {
                    (function[state], class[state], row[state]) = (alone.len() + number, at, rows.len());
                    rows.extend(blocks[state].holes().filter_map(|hole| match hole {
                        Hole::Go(target) => Some(target),
                        Hole::Here(_) => None,
                    }));
                }
            }
        }
        for (number, classes) in shared.iter().enumerate() {
            merged.push_str(&self.merged(alone.len() + number, classes));
        }
        stops.across(self.automaton, &function);
        let mut text = table(&format!("{prefix}_function"), &function, false);
        if !shared.is_empty() {
            text.push_str(&table(&format!("{prefix}_class"), &class, false));
            text.push_str(&table(&format!("{prefix}_row"), &row, false));
            text.push_str(&table(&format!("{prefix}_next"), &rows, true));
        }
        text.push('\n');
        for (number, states) in alone.iter().enumerate() {
            let cold = !states.iter().any(|&at| hot[at]);
            text.push_str(&self.in_a_row(number, states, blocks, &function, cold, stops));
        }
        text.push_str(&merged);
        let mut chosen = String::new();
        for number in 0..alone.len() + shared.len() {
            let _ = writeln!(
                chosen,
                "        case {number}:\n            status = {prefix}_steps_{number}(s, max_kernels);\n            break;"
            );
        }
        let _ = write!(
            text,
            "/* Goes on until input or room is missing, or so many transitions have run. */\nstatic uint32_t {prefix}_steps(struct {prefix} *s, uint64_t *max_kernels) {{\n    uint32_t status;\n    do {{\n        switch ({prefix}_function[s->state]) {{\n{chosen}        default:\n            return HEADRACE_IDLE;\n        }}\n    }} while (status == HR_OTHER);\n    return status;\n}}\n\n"
        );
        let shared = alike.iter().flat_map(|alike| alike.states.iter().skip(1).copied()).collect();
        (text, shared)
    }

    /// What a function of states ends with.
    fn ends(&self) -> String {
        let leave = self.behind.map_or(String::new(), |_| format!("leave:\n    {}_leave(s);\n", self.prefix));
        format!(
            "other:\n    *max_kernels = budget;\n    return HR_OTHER;\n{leave}full:\n    *max_kernels = budget;\n    return HEADRACE_IDLE;\ndry:\n    *max_kernels = budget;\n    return HEADRACE_DRY;\nlimit:\n    *max_kernels = budget;\n    return HEADRACE_LIMIT;\n}}\n\n"
        )
    }

    /// A function of states, each as code of its own.
    fn in_a_row(
        &self,
        number: usize,
        states: &[usize],
        blocks: &[Template],
        function: &[usize],
        cold: bool,
        stops: &Stops,
    ) -> String {
        let prefix = self.prefix;
        let cold = if cold { "HR_COLD " } else { "" };
        let mut text = format!(
            "/* Some states, until another one comes, or input or room is missing. */\nHR_APART {cold}static uint32_t {prefix}_steps_{number}(struct {prefix} *s, uint64_t *max_kernels) {{\n    uint64_t budget = *max_kernels;\n    switch (s->state) {{\n"
        );
        for &at in states {
            let description = crate::c::scheduler::comment(&self.automaton.states[at].description);
            let case = if stops.begins[at] { format!("case {at}: ") } else { String::new() };
            let block = blocks[at].filled(|hole| match hole {
                Hole::Here(state) => state.to_string(),
                Hole::Go(target) if function[target] == number => format!("goto at_{target};"),
                Hole::Go(target) => format!("{{ s->state = {target}; goto other; }}"),
            });
            let _ = write!(text, "    {case}/* {description} */\n    at_{at}:\n{block}");
        }
        text + "    default:\n        break;\n    }\n" + &self.ends()
    }

    /// A function of texts that several states have each.
    fn merged(&self, number: usize, classes: &[Alike]) -> String {
        let prefix = self.prefix;
        let mut text = format!(
            "/* States that do the same as others, and go on elsewhere. */\nHR_APART HR_COLD static uint32_t {prefix}_steps_{number}(struct {prefix} *s, uint64_t *max_kernels) {{\n    uint64_t budget = *max_kernels;\n    const uint16_t *next = NULL;\n    uint32_t at = s->state;\nagain:\n    next = {prefix}_next + {prefix}_row[at];\n    switch ({prefix}_class[at]) {{\n"
        );
        for (class, alike) in classes.iter().enumerate() {
            let _ = write!(text, "    case {class}:\n{}", alike.text);
        }
        let _ = write!(
            text,
            "    default:\n        break;\n    }}\nmoved:\n    s->state = at;\n    if ({prefix}_function[at] == {number}) {{\n        goto again;\n    }}\n"
        );
        text + &self.ends()
    }
}

/// The text of a state that goes on by numbers in a row of a table.
fn going_by_row(block: &Template) -> String {
    let mut n = 0;
    block.filled(|hole| match hole {
        Hole::Here(_) => "at".to_owned(),
        Hole::Go(_) => {
            n += 1;
            format!("{{\nat = next[{}];\ngoto moved;\n}}", n - 1)
        }
    })
}
