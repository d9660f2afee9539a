//! One-shot messages: a specialised path with the boundary in registers. Whole messages.
//!
//! Most messages find a network at rest, with nothing in its buffers, and leave it in the same state, or in one of a
//! few. Samples tell which these are and what messages come through. These states are printed once more, as a part of
//! the function for whole messages: windows on ports are local variables there, strings are read where they lie, and
//! what compilers know of a message - that its flag is false, that its size is one token - decides what can be decided.
//! Nothing of the boundary is stored: stores that wait behind those of a long loop are what a short way between two
//! loops costs most. What another way needs is left in the context as [`super::ports`] has it, for the automaton to go
//! on.
//!
//! Pieces of long messages have the same, in a function of their own: from the state in which whole blocks leave the
//! network, through its loop, and back; and from there to the end of a message that has no more text.

use super::Writer;
use super::lists_in_registers::RepeatedFunctions;
use super::outlined_transitions::KernelFunctions;
use super::states::{Back, LOOP, Place};
use super::superblock::{plainest, usual_way};
use super::suspension_points::Stops;
use super::template::{Hole, Template};
use headrace_transform::control::{Automaton, Part};
use headrace_transform::kernel::Effect;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Ports of a direction that a message may be given to (`HEADRACE_PORTS`).
const MOST_PORTS: usize = 16;

/// States of whole messages that are printed.
const MOST_STATES: usize = 64;

/// States beside those of messages that leave what they find, for one that only leads there.
const MOST_MORE: usize = 8;

/// Size of them.
const MOST_WHOLE: usize = 7_500;

/// Size of those of pieces.
const MOST_PIECE: usize = 2_500;

/// A state is one that messages rest in where one of so many messages finds it, of those that find the one that most
/// do.
const RESTS: usize = 4;

/// What comes through some states again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trip {
    /// Whole messages.
    Message,
    /// Pieces of messages.
    Piece,
}

/// Whether a part comes through none of the states that are to be avoided.
fn passes(part: &Part, avoided: &[bool]) -> bool {
    part.states.iter().all(|&at| !avoided.get(at).is_some_and(|avoided| *avoided))
}

/// The states that most messages find and leave, and states that such messages come through: those of the plainest with a
/// loop first, which is what a message of a few whole blocks is, then those of most messages, and all of each; none that
/// `avoided` names, and no more than [`MOST_WHOLE`] of what `sizes` says of each.
fn round_trip(automaton: &Automaton, avoided: &[bool], sizes: &[usize]) -> Option<(BTreeSet<usize>, BTreeSet<usize>)> {
    let fits = |part: &&Part| passes(part, avoided);
    let all: Vec<&Part> =
        automaton.parts.iter().filter(|part| part.states.len() > 1 && !part.is_piece).filter(fits).collect();
    let mut found: BTreeMap<usize, usize> = BTreeMap::new();
    for part in all.iter().filter(|part| part.from == part.to) {
        *found.entry(part.from).or_default() += 1;
    }
    let most = found.values().max().copied()?;
    let mut rests: BTreeSet<usize> = found.into_iter().filter(|(_, n)| n * RESTS >= most).map(|(at, _)| at).collect();
    let mut states: BTreeSet<usize> = BTreeSet::new();
    if let Some(part) = plainest(automaton, all.iter().copied().filter(|part| part.from == part.to))
        && part.states.len() <= MOST_STATES
        && size_of(part.states.iter().copied(), sizes) <= MOST_WHOLE
    {
        rests.insert(part.from);
        states.extend(&part.states);
    }
    // What is left behind by one may be what another finds.
    let goes = |part: &&&Part| rests.contains(&part.from) && rests.contains(&part.to);
    let mut trips: BTreeMap<&BTreeSet<usize>, usize> = BTreeMap::new();
    for part in all.iter().filter(goes) {
        *trips.entry(&part.states).or_default() += 1;
    }
    while let Some(trip) = next_trip(&mut trips, &states, sizes) {
        states.extend(trip);
    }
    let mut rests: BTreeSet<usize> = rests.intersection(&states).copied().collect();
    // What is given in pieces leaves other states, from which whole messages lead to those.
    let leads = |part: &&Part| rests.contains(&part.to) && !rests.contains(&part.from);
    let mut entries: Vec<&Part> = all.iter().filter(|part| leads(part)).copied().collect();
    let more = |part: &Part, states: &BTreeSet<usize>| part.states.difference(states).count();
    while let Some(at) = (0..entries.len()).min_by_key(|&at| more(entries[at], &states)) {
        let entry = entries.swap_remove(at);
        let n = more(entry, &states);
        let both = || states.union(&entry.states).copied();
        if n > MOST_MORE || states.len() + n > MOST_STATES || size_of(both(), sizes) > MOST_WHOLE {
            break;
        }
        states.extend(&entry.states);
        rests.insert(entry.from);
    }
    (!rests.is_empty()).then_some((rests, states))
}

/// States that pieces of whole blocks find and leave, and those that they come through: the plainest for each such state, as many as
/// there is room for, and first where most are.
fn piece_trip(automaton: &Automaton, avoided: &[bool], sizes: &[usize]) -> Option<(BTreeSet<usize>, BTreeSet<usize>)> {
    let fits = |part: &&Part| passes(part, avoided);
    let mut by_rest: BTreeMap<usize, Vec<&Part>> = BTreeMap::new();
    for part in automaton.parts.iter().filter(fits).filter(|part| part.is_piece && part.from == part.to) {
        by_rest.entry(part.from).or_default().push(part);
    }
    let mut pieces: Vec<(usize, &Part)> = by_rest
        .into_values()
        .filter_map(|parts| Some((parts.len(), plainest(automaton, parts.iter().copied())?)))
        .collect();
    pieces.sort_by_key(|(parts, piece)| (Reverse(*parts), piece.from));
    let (mut rests, mut states) = (BTreeSet::new(), BTreeSet::new());
    for (_, piece) in pieces {
        let both: BTreeSet<usize> = piece.states.union(&states).copied().collect();
        if both.len() <= MOST_STATES && size_of(both.iter().copied(), sizes) <= MOST_PIECE {
            states = both;
            rests.insert(piece.from);
        }
    }
    (!rests.is_empty()).then_some((rests, states))
}

/// What is printed for pieces.
pub(super) struct Pieces {
    /// The states that they find and leave.
    pub rests: BTreeSet<usize>,
    /// The states that they come through.
    pub states: BTreeSet<usize>,
    /// Whether the ends of messages are among that: for each output port, whether something comes out of it then.
    pub ends: Option<Vec<bool>>,
}

/// The same with the ends of messages that such states find and that leave one of the states `whole` of whole messages: the plainest
/// for each, if there is one for each and room for all.
fn with_ends(
    automaton: &Automaton,
    avoided: &[bool],
    sizes: &[usize],
    whole: &BTreeSet<usize>,
    (rests, states): (BTreeSet<usize>, BTreeSet<usize>),
) -> Pieces {
    let fits = |part: &&Part| passes(part, avoided);
    let end = |&rest: &usize| {
        let ends = automaton.parts.iter().filter(fits);
        let ends = ends.filter(|part| part.is_piece && part.from == rest && whole.contains(&part.to));
        ends.min_by_key(|part| part.states.len()).map(|part| &part.states)
    };
    let Some(ends) = rests.iter().map(end).collect::<Option<Vec<_>>>() else {
        return Pieces { rests, states, ends: None };
    };
    let ends: BTreeSet<usize> = ends.into_iter().flatten().copied().collect();
    let both: BTreeSet<usize> = ends.union(&states).copied().collect();
    if both.len() > MOST_STATES || size_of(both.iter().copied(), sizes) > MOST_PIECE {
        return Pieces { rests, states, ends: None };
    }
    let mut comes_out: Vec<bool> = Vec::new();
    let mut produced = |port: usize, tokens: u64| {
        comes_out.resize(comes_out.len().max(port + 1), false);
        comes_out[port] |= tokens > 0;
    };
    for state in ends.iter().map(|&at| &automaton.states[at]) {
        state.step.transitions(&mut |transition, _| {
            transition.produces.iter().enumerate().for_each(|(port, &tokens)| produced(port, tokens));
        });
        for counted in &state.loops {
            counted.body.produces.iter().enumerate().for_each(|(port, &(tokens, _))| produced(port, tokens));
        }
    }
    Pieces { rests, states: both, ends: Some(comes_out) }
}

/// The same with what other pieces come through that leave the states which they find, longer ones for example: as many as there is room
/// for, and first where fewest states are added.
fn with_others(automaton: &Automaton, avoided: &[bool], sizes: &[usize], mut pieces: Pieces) -> Pieces {
    let fits = |part: &&Part| passes(part, avoided);
    let others = automaton.parts.iter().filter(fits);
    let others = others.filter(|part| part.is_piece && part.from == part.to && pieces.rests.contains(&part.from));
    let mut others: BTreeSet<&BTreeSet<usize>> = others.map(|part| &part.states).collect();
    while let Some(&other) = others.iter().min_by_key(|other| other.difference(&pieces.states).count()) {
        others.remove(other);
        let both: BTreeSet<usize> = other.union(&pieces.states).copied().collect();
        if both.len() <= MOST_STATES && size_of(both.iter().copied(), sizes) <= MOST_PIECE {
            pieces.states = both;
        }
    }
    pieces
}

/// The size of states.
fn size_of(states: impl Iterator<Item = usize>, sizes: &[usize]) -> usize {
    states.map(|at| sizes.get(at).copied().unwrap_or(0)).sum()
}

/// Of state sets with the messages that come through each, the one that lets most more messages pass for each state
/// that is added; those that pass with `states` alone, and those for which there is no more room, are dropped.
fn next_trip<'s>(
    trips: &mut BTreeMap<&'s BTreeSet<usize>, usize>,
    states: &BTreeSet<usize>,
    sizes: &[usize],
) -> Option<&'s BTreeSet<usize>> {
    let fits = |trip: &BTreeSet<usize>| {
        (1..=MOST_STATES - states.len()).contains(&trip.difference(states).count())
            && size_of(trip.union(states).copied(), sizes) <= MOST_WHOLE
    };
    trips.retain(|trip, _| fits(trip));
    let gain = |trip: &BTreeSet<usize>| {
        let passes = |other: &BTreeSet<usize>| other.iter().all(|at| states.contains(at) || trip.contains(at));
        let messages: usize = trips.iter().filter(|(other, _)| passes(other)).map(|(_, n)| n).sum();
        (messages, trip.difference(states).count())
    };
    let gains = trips.keys().map(|&trip| (trip, gain(trip)));
    // The first of those that are as good: in the order of the numbers of states.
    let best = gains.reduce(|best, other| if other.1.0 * best.1.1 > best.1.0 * other.1.1 { other } else { best });
    best.map(|(trip, _)| trip)
}

impl Writer<'_> {
    /// The same with windows in the context.
    pub(super) fn in_context(&self) -> Self {
        Self { whole: None, ..*self }
    }

    /// The states where whole messages begin and all that they come through, if those are printed.
    pub(super) fn whole_trip(&self, stops: &Stops, back: Back) -> Option<(BTreeSet<usize>, BTreeSet<usize>)> {
        let few = self.network.inputs.len().max(self.network.outputs.len()) <= MOST_PORTS;
        // What may be stopped by an error says where.
        round_trip(self.automaton, &stops.traps, &self.whole_sizes(back)).filter(|_| few)
    }

    /// The states where pieces of whole blocks begin and all that they come through, if those are printed.
    pub(super) fn piece_trip(&self, stops: &Stops, back: Back) -> Option<(BTreeSet<usize>, BTreeSet<usize>)> {
        let few = self.network.inputs.len().max(self.network.outputs.len()) <= MOST_PORTS;
        piece_trip(self.automaton, &stops.traps, &self.whole_sizes(back)).filter(|_| few)
    }

    /// The same with the ends of messages behind them, which leave what the trip of whole messages finds, and with other pieces.
    pub(super) fn with_ends(
        &self,
        stops: &Stops,
        back: Back,
        whole: Option<&(BTreeSet<usize>, BTreeSet<usize>)>,
        pieces: (BTreeSet<usize>, BTreeSet<usize>),
    ) -> Pieces {
        let sizes = self.whole_sizes(back);
        let pieces = match whole {
            Some((rests, _)) => with_ends(self.automaton, &stops.traps, &sizes, rests, pieces),
            None => Pieces { rests: pieces.0, states: pieces.1, ends: None },
        };
        with_others(self.automaton, &stops.traps, &sizes, pieces)
    }

    fn whole_sizes(&self, back: Back) -> Vec<usize> {
        (0..self.automaton.states.len()).map(|at| self.whole_size(at, back)).collect()
    }

    /// The size of a state where whole messages come through it.
    fn whole_size(&self, at: usize, back: Back) -> usize {
        let state = &self.automaton.states[at];
        let repeats = state.loops.len() + back.repeated[at].len() + back.copies[at].len();
        LOOP * repeats + self.step_size(&state.step, at, &[])
    }

    /// Windows of local variables that functions find in the context.
    pub(super) fn windows_kept(&self, effects: &[Effect], pad: &str) -> String {
        let mut text = String::new();
        for port in self.read_ports(effects, None) {
            let name = &self.network.inputs[port as usize].name;
            let _ = writeln!(text, "{pad}s->in_{name} = w_in_{name};");
        }
        text
    }

    /// `PREFIX_any_whole` for a trip of messages, or `PREFIX_any_piece` for one of pieces.
    pub(super) fn whole_states(
        &self,
        of: Trip,
        (rests_in, states): (BTreeSet<usize>, BTreeSet<usize>),
        back: Back,
        functions: &mut KernelFunctions,
        repeating: &mut RepeatedFunctions,
    ) -> String {
        let prefix = self.prefix;
        let writer = Writer { whole: Some(&states), ..*self };
        let own = |&at: &usize| self.whole_size(at, back);
        let size = states.iter().map(own).sum::<usize>();
        let mut printed: BTreeMap<usize, [Template; 2]> = BTreeMap::new();
        let mut n_loops = 0;
        for (number, state) in self.automaton.states.iter().enumerate() {
            if !states.contains(&number) {
                n_loops += state.loops.len();
                continue;
            }
            let mut repeats = Template::default();
            for counted in &state.loops {
                repeats.append(writer.counted(counted, n_loops, number, None));
                n_loops += 1;
            }
            for one in &back.repeated[number] {
                repeats.append(writer.repeated(one, number, repeating));
            }
            for copy in &back.copies[number] {
                repeats.append(writer.block_copy(copy, number));
            }
            let mut step = Template::from("        {\n".to_owned());
            writer.step(&state.step, Place { state: number, depth: 3 }, &[], functions, &mut step);
            step.push_str("        }\n");
            printed.insert(number, [repeats, step]);
        }
        let mut text = String::new();
        let way = match of {
            Trip::Message => usual_way(self.automaton, &rests_in, &states).unwrap_or_default(),
            Trip::Piece => Vec::new(),
        };
        let more: usize = way.iter().map(own).sum();
        let way = if size + more > MOST_WHOLE { &[][..] } else { &way[..] };
        for (at, number) in way.iter().enumerate() {
            let next = way.get(at + 1);
            let [repeats, step] = &printed[number];
            let fill = |hole| match hole {
                Hole::Here(state) => state.to_string(),
                Hole::Go(target) if Some(&target) == next => format!("goto on_{target};"),
                Hole::Go(target) if target == *number => format!("goto behind_{target};"),
                Hole::Go(target) => format!("goto at_{target};"),
            };
            let _ =
                write!(text, "    on_{number}:\n{}    behind_{number}:\n{}", repeats.filled(fill), step.filled(fill));
        }
        for (number, [repeats, step]) in &printed {
            let fill = |hole| match hole {
                Hole::Here(state) => state.to_string(),
                Hole::Go(target) => format!("goto at_{target};"),
            };
            // A loop takes all that there is: nobody needs to ask again.
            let behind = |hole| match hole {
                Hole::Go(target) if target == *number => format!("goto past_{target};"),
                hole => fill(hole),
            };
            let _ =
                write!(text, "    at_{number}:\n{}    past_{number}:\n{}", repeats.filled(behind), step.filled(fill));
        }
        let listed: Vec<String> = rests_in.iter().map(usize::to_string).collect();
        let elsewhere: Vec<String> = rests_in.iter().map(|at| format!("s->state != {at}")).collect();
        let elsewhere = match &elsewhere[..] {
            [only] => only.clone(),
            several => format!("({})", several.join(" && ")),
        };
        let label = |at: usize| if way.first() == Some(&at) { format!("on_{at}") } else { format!("at_{at}") };
        let goes: String = rests_in.iter().skip(1).fold(String::new(), |mut goes, &at| {
            let _ = writeln!(goes, "    if (s->state == {at}) {{\n        goto {};\n    }}", label(at));
            goes
        });
        let first = label(rests_in.first().copied().unwrap_or(0));
        let listed = listed.join(" or ");
        let left = if self.behind.is_some() { " || s->left != 0" } else { "" };
        let (mut begin, mut over, mut end) = (String::new(), String::new(), String::new());
        for (at, (ty, name, size)) in self.input_buffers().into_iter().enumerate() {
            let _ = write!(
                begin,
                "    const {ty} *w_in_{name} = (const {ty} *)w->in[{at}];\n    size_t w_in_{name}_there = w->n_in[{at}];\n"
            );
            let _ = write!(over, "{}w_in_{name}_there", if at == 0 { "" } else { " | " });
            let _ = write!(
                end,
                "    if (w->input == {at}) {{\n        w->n_in[{at}] = w_in_{name}_there;\n    }} else if (w_in_{name}_there > {size}) {{\n        s->in_{name} = w_in_{name};\n        s->in_{name}_there = w_in_{name}_there;\n    }} else if (w_in_{name}_there != 0) {{\n        (void){prefix}_append_{name}(s, (const unsigned char *)w_in_{name}, w_in_{name}_there);\n    }}\n"
            );
        }
        for (at, (ty, name, size)) in self.output_buffers().into_iter().enumerate() {
            let _ = write!(
                begin,
                "    {ty} *w_out_{name} = w->out[{at}] != NULL ? ({ty} *)w->out[{at}] : s->out_{name}_buffer;\n    size_t w_out_{name}_room = w->out[{at}] != NULL ? w->n_out[{at}] : {size};\n"
            );
            let _ = write!(
                end,
                "    if (w->out[{at}] != NULL) {{\n        w->n_out[{at}] = w_out_{name}_room;\n    }} else {{\n        s->out_{name}_there = (uint32_t)({size} - w_out_{name}_room);\n    }}\n"
            );
        }
        // Nothing waits at any port: one question about all of them.
        let rests = if over.is_empty() && self.network.outputs.is_empty() {
            String::new()
        } else {
            format!(" || hr_any(s->waiting, {})", self.n_waiting())
        };
        let (about, name) = match of {
            Trip::Message => (
                format!(
                    "A message for a network that rests in state {listed}, on the ways of most messages: a part of the function for whole\n   messages."
                ),
                "whole",
            ),
            Trip::Piece => (
                format!("A piece of whole blocks, or the end behind such, for a network that rests in state {listed}."),
                "piece",
            ),
        };
        format!(
            "/* {about} */
HR_PART uint32_t {prefix}_any_{name}(void *context, struct headrace_windows *w) {{
    struct {prefix} *const s = (struct {prefix} *)context;
    uint32_t found;
    if ({elsewhere}{left} || s->helpers != NULL{rests}) {{
        return HEADRACE_WHOLE_NOT;
    }}
{begin}{goes}    goto {first};
{text}full:
    found = HEADRACE_WHOLE_ON;
    goto end;
dry:
    found = ({over}) == 0 ? HEADRACE_WHOLE_DONE : HEADRACE_WHOLE_ON;
end:
{end}    return found;
}}

"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headrace_transform::control::Step;

    /// Long trips of many messages come before short ones of few, and what has no room is left out.
    #[test]
    fn trips_of_most_messages_for_each_state_come_first() {
        let sets = [(0..10).collect(), (20..22).collect(), (0..MOST_STATES + 1).collect()];
        let [long, short, none]: [BTreeSet<usize>; 3] = sets;
        let mut trips = BTreeMap::from([(&long, 30), (&short, 5), (&none, 1000)]);
        assert_eq!(next_trip(&mut trips, &BTreeSet::new(), &[]), Some(&long));
        assert_eq!(next_trip(&mut trips, &long, &[]), Some(&short));
        let all = long.union(&short).copied().collect();
        assert_eq!(next_trip(&mut trips, &all, &[]), None);
    }

    #[test]
    fn messages_that_leave_what_they_find_are_kept() {
        let part = |states: &[usize]| Part {
            from: states[0],
            to: states[states.len() - 1],
            states: states.iter().copied().collect(),
            is_piece: false,
        };
        // The first message leaves another state, one finds nothing to do, and 7 is rarer than 5.
        let mut parts = vec![part(&[0, 1, 5]), part(&[5]), part(&[5, 2, 5]), part(&[7, 8, 7]), part(&[5, 3, 5])];
        parts.extend([5, 5, 5].map(|from| part(&[from, 2, from])));
        // One may stop in the middle, and one comes through too many.
        parts.extend([
            part(&[5, 4, 5]),
            Part { from: 5, to: 5, states: (5..5 + MOST_STATES).collect(), is_piece: false },
        ]);
        let automaton = Automaton { parts, ..Automaton::default() };
        let avoided = [false, false, false, false, true];
        assert_eq!(
            round_trip(&automaton, &avoided, &[]),
            Some((BTreeSet::from([0, 5]), BTreeSet::from([0, 1, 2, 3, 5])))
        );
        // Or one leads there.
        let mut parts = automaton.parts.clone();
        parts.push(part(&[6, 2, 5]));
        let leading = Automaton { parts, ..Automaton::default() };
        assert_eq!(
            round_trip(&leading, &avoided, &[]),
            Some((BTreeSet::from([0, 5, 6]), BTreeSet::from([0, 1, 2, 3, 5, 6])))
        );
        // Where 7 is found as often as that, messages may begin there, and go from one to the other.
        let mut parts = automaton.parts;
        parts.extend([part(&[7, 8, 7]), part(&[5, 6, 7])]);
        let automaton = Automaton { parts, ..Automaton::default() };
        let both = (BTreeSet::from([0, 5, 7]), BTreeSet::from([0, 1, 2, 3, 5, 6, 7, 8]));
        assert_eq!(round_trip(&automaton, &avoided, &[]), Some(both));
    }

    /// Pieces that leave the state that they find are kept, if they go round a loop; those of messages are no pieces, nor the other way.
    #[test]
    fn pieces_have_the_plainest_way_round_a_loop() {
        let part = |from: usize, to: usize, states: &[usize], is_piece: bool| Part {
            from,
            to,
            states: states.iter().copied().collect(),
            is_piece,
        };
        let automaton = super::super::superblock::tests::with_loops(vec![
            part(0, 0, &[0, 1, 2], false),
            part(0, 1, &[0, 1], true),
            part(1, 1, &[0, 1, 2], true),
            part(1, 1, &[1, 2], true),
            part(3, 3, &[3, 4], true),
        ]);
        assert_eq!(piece_trip(&automaton, &[], &[]), Some((BTreeSet::from([1]), BTreeSet::from([1, 2]))));
        assert_eq!(piece_trip(&automaton, &[], &[MOST_PIECE; 5]), None);
        assert_eq!(round_trip(&automaton, &[], &[]).map(|(rests, _)| rests), Some(BTreeSet::from([0])));
    }

    /// What takes pieces takes the end behind them, too, where each state that they rest in has one that leads to where messages begin.
    #[test]
    fn ends_stand_beside_pieces_where_every_rest_has_one() {
        let part = |states: &[usize]| Part {
            from: states[0],
            to: states[states.len() - 1],
            states: states.iter().copied().collect(),
            is_piece: true,
        };
        let mut automaton = super::super::superblock::tests::with_loops(vec![part(&[1, 0, 3]), part(&[1, 2, 0, 3])]);
        let Step::Wait(awaited) = &mut automaton.states[0].step else { panic!("no wait") };
        let Step::Go { transition, .. } = &mut awaited[1].step else { panic!("no way on") };
        transition.produces = vec![0, 16];
        let pieces = (BTreeSet::from([1]), BTreeSet::from([1, 2]));
        let with = |whole: &[usize], sizes: &[usize], pieces: &(BTreeSet<usize>, BTreeSet<usize>)| {
            with_ends(&automaton, &[], sizes, &whole.iter().copied().collect(), pieces.clone())
        };
        let found = with(&[3], &[], &pieces);
        assert_eq!((found.rests, found.states), (BTreeSet::from([1]), BTreeSet::from([0, 1, 2, 3])));
        assert_eq!(found.ends, Some(vec![false, true]));
        // The end leaves another state, there is no room for it, one of two states has none.
        let others = (BTreeSet::from([1, 4]), BTreeSet::from([1, 2, 4]));
        for (whole, sizes, pieces) in [(0, &[][..], &pieces), (3, &[MOST_PIECE; 5][..], &pieces), (3, &[][..], &others)]
        {
            let found = with(&[whole], sizes, pieces);
            assert_eq!((found.ends, &found.states), (None, &pieces.1));
        }
    }
}
