//! Multi-buffer execution of networks: independent messages share one loop. Many messages through one network: their
//! contexts go on one after the other until they stand before the same loop, whose iterations then run for all of them
//! at once.
//!
//! A context with `many` set does not run a loop whose iterations need each other: it says which one (`many_loop`) and
//! how often it could (`many_iterations`), and stops. `streams` takes the loop that most contexts wait for and runs it
//! as often as the shortest of them allows; where there are too few for that to be faster, one context runs it alone.

use super::loops::{Loops, PrintedUnit};
use super::outlined_transitions::X86;
use super::{COLD, UNUSED, Writer};
use crate::c::kernel::{self, Many, element_type};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Contexts that are under way together.
const TOGETHER: usize = 64;

/// The ways to run a loop for many messages.
pub(super) struct ManyWays {
    /// The best for many first.
    pub ways: Vec<Many>,
    /// Cycles of an iteration of one message.
    pub alone: f64,
}

impl ManyWays {
    /// The fewest messages for which a way is the best of those after it; `None`: never.
    fn fewest(&self, way: usize) -> Option<usize> {
        let own = &self.ways[way];
        (2..=own.lanes).find(|&n| {
            let later = self.ways[way + 1..].iter().map(|other| other.cycles_for(n));
            own.cycles_for(n) < later.fold(self.alone * n as f64, f64::min)
        })
    }
}

/// A loop that runs for many messages at once.
pub(super) struct ManyLoop {
    /// Its number among the loops of the automaton.
    pub number: usize,
    /// What has the ways to run it.
    pub unit: usize,
}

/// Loops that run for many messages at once.
#[derive(Default)]
pub(super) struct ManyLoops {
    /// One for each way of going on.
    pub loops: Vec<ManyLoop>,
    /// For each loop of the automaton its position among them.
    pub of_loop: Vec<Option<usize>>,
}

impl ManyLoops {
    /// What `many_loop` is before a loop.
    pub fn code(&self, number: usize) -> Option<usize> {
        self.of_loop.get(number).copied().flatten().map(|at| at + 1)
    }
}

impl Writer<'_> {
    /// Fields of the context.
    pub(super) fn many_fields() -> &'static str {
        "    uint32_t many; /* 1: stops before loops that run for many contexts at once; 2: but not before the next */\n    uint32_t many_loop; /* the one that it stands before */\n    size_t many_iterations;\n"
    }

    /// The second source file: what many messages at once need, so that linkers take it where somebody asks for it and
    /// leave it out everywhere else. It has its own copies of short functions on the boundary.
    pub(super) fn of_many(&self, loops: &Loops) -> String {
        if loops.many.loops.is_empty() {
            return String::new();
        }
        let text = [COLD, UNUSED, &kernel::prelude(), &self.ports(), &self.lent()].concat();
        text + &self.many_loops(loops) + &self.streams(&loops.many)
    }

    /// `PREFIX_many_N(states, count)` for each loop: runs it for the first of them, which have most iterations to go,
    /// and says for how many.
    fn many_loops(&self, loops: &Loops) -> String {
        let prefix = self.prefix;
        let mut text = String::new();
        for PrintedUnit { unit, .. } in loops.units.iter().filter(|unit| !unit.ways.ways.is_empty()) {
            let names = self.loop_names(format!("{}_table", unit.base));
            text.push_str(&kernel::tables(&unit.body.graph, &unit.body.roots(), &names));
            if unit.is_shared() {
                text.push_str(&self.shape_type(unit));
            }
        }
        for ManyLoop { number, unit } in &loops.many.loops {
            text.push_str(&self.rest_function(&loops.units[*unit].unit, *number));
        }
        text.push_str(X86);
        let ways = || loops.units.iter().flat_map(|unit| &unit.ways.ways);
        let mut seen = BTreeSet::new();
        for support in ways().flat_map(|way| &way.function.support).filter(|support| seen.insert(*support)) {
            text.push_str(support.text());
        }
        for way in ways() {
            text.push_str(&way.function.with_evidence());
            text.push('\n');
        }
        text.push_str("#endif\n");
        for (at, ManyLoop { number, unit }) in loops.many.loops.iter().enumerate() {
            let (PrintedUnit { unit, ways: many, .. }, number) = (&loops.units[*unit], *number);
            let body = loops.bodies[number];
            let _ = writeln!(text, "static size_t {prefix}_many_{at}(struct {prefix} *const *states, size_t count) {{");
            let most = many.ways.iter().map(|way| way.lanes).max().unwrap_or(1);
            let (mut types, mut set, mut arguments, mut takes) =
                (String::new(), String::new(), String::new(), String::new());
            let consumes = body.consumes.iter().zip(&self.network.inputs).enumerate().filter(|(_, (n, _))| n.0 > 0);
            let mut of_one = String::new();
            for (number, ((n, width), port)) in consumes {
                let (ty, name) = (element_type(*width), &port.name);
                let _ = write!(of_one, ", in{number}[i]");
                let _ = writeln!(text, "    const {ty} *in{number}[{most}];");
                let _ = write!(types, ", const {ty} *const *");
                let _ = writeln!(set, "        in{number}[i] = states[i]->in_{name};");
                let _ = write!(arguments, ", in{number}");
                let _ = write!(
                    takes,
                    "        states[i]->in_{name} += iterations * {n};\n        states[i]->in_{name}_there -= iterations * {n};\n"
                );
            }
            let produces = body.produces.iter().zip(&self.network.outputs).enumerate().filter(|(_, (n, _))| n.0 > 0);
            for (number, ((n, width), port)) in produces {
                let (ty, name) = (element_type(*width), &port.name);
                let _ = write!(of_one, ", out{number}[i]");
                let _ = writeln!(text, "    {ty} *out{number}[{most}];");
                let _ = write!(types, ", {ty} *const *");
                let _ = writeln!(set, "        out{number}[i] = {prefix}_room_{name}(states[i], {n});");
                let _ = write!(arguments, ", out{number}");
                let _ = writeln!(takes, "        {prefix}_made_{name}(states[i], out{number}[i], iterations * {n});");
            }
            // What several loops share works on their objects.
            let mut given = "states";
            if unit.is_shared() {
                let (state, shape) = (&unit.base, self.shape_of(unit, number, "states[i]"));
                let _ = write!(text, "    struct {state} shapes[{most}];\n    const struct {state} *to[{most}];\n");
                let _ = write!(
                    set,
                    "        {{\n            const struct {state} shape = {shape};\n            shapes[i] = shape;\n            to[i] = &shapes[i];\n        }}\n"
                );
                given = "to";
                let rest = self.rest_of(unit, number, "states[i]", &of_one);
                if !rest.is_empty() {
                    takes.insert_str(0, &format!("        {rest}"));
                }
            }
            let state = &unit.state;
            let _ = write!(
                text,
                "    void (*run)({state} *const *{types}, size_t, size_t) = NULL;\n    size_t lanes = 1, iterations, i;\n{X86}"
            );
            for (number, way) in many.ways.iter().enumerate() {
                let Some(fewest) = many.fewest(number) else { continue };
                let _ = write!(
                    text,
                    "    if (run == NULL && count >= {fewest} && {}) {{\n        run = {};\n        lanes = {};\n    }}\n",
                    way.needs.condition(),
                    way.function.name,
                    way.lanes
                );
            }
            let _ = write!(
                text,
                "#endif\n    if (run == NULL) {{\n        return 0;\n    }}\n    count = count < lanes ? count : lanes;\n    iterations = states[count - 1]->many_iterations;\n    for (i = 0; i < count; i++) {{\n{set}    }}\n    run({given}{arguments}, count, iterations);\n    for (i = 0; i < count; i++) {{\n{takes}    }}\n    return count;\n}}\n\n"
            );
        }
        text
    }

    /// The function that takes many messages.
    fn streams(&self, all: &ManyLoops) -> String {
        let prefix = self.prefix;
        let n_loops = all.loops.len();
        let cases: String = (0..n_loops)
            .map(|at| format!("        case {at}:\n            n_gone = {prefix}_many_{at}(waiting, n_waiting);\n            break;\n"))
            .collect();
        format!(
            "/* Goes on with a message until its context stands before a loop again. What it waits for is noted where that of all others
   stands: contexts lie far apart, and loops of others drive them out of the cache. */
static void {prefix}_go_on(struct headrace_stream *stream, uint32_t *loop, size_t *iterations) {{
    struct {prefix} *const s = (struct {prefix} *)stream->context;
    s->many_loop = 0;
    stream->status = {prefix}_network.run(s, UINT64_MAX);
    *loop = s->many_loop;
    *iterations = s->many_iterations;
}}

static void {prefix}_streams(uint32_t input, uint32_t output, struct headrace_stream *streams, size_t count) {{
    struct {prefix} *waiting[{TOGETHER}];
    uint32_t loops[{TOGETHER}];
    size_t iterations[{TOGETHER}], order[{TOGETHER}], i, n_gone;
    for (; count > {TOGETHER}; streams += {TOGETHER}, count -= {TOGETHER}) {{
        {prefix}_streams(input, output, streams, {TOGETHER});
    }}
    for (i = 0; i < count; i++) {{
        struct {prefix} *const s = (struct {prefix} *)streams[i].context;
        {prefix}_stream_begin(s, input, streams[i].in, streams[i].n_in, output, streams[i].out, streams[i].n_out);
        s->many = 1;
        {prefix}_go_on(&streams[i], &loops[i], &iterations[i]);
    }}
    do {{
        size_t waits[{n_loops}] = {{0}}, most = 0, n_waiting = 0;
        for (i = 0; i < count; i++) {{
            if (loops[i] != 0) {{
                waits[loops[i] - 1]++;
            }}
        }}
        for (i = 1; i < {n_loops}; i++) {{
            most = waits[i] > waits[most] ? i : most;
        }}
        /* Those that wait for it, with most iterations to go first. */
        for (i = 0; i < count; i++) {{
            size_t at = n_waiting;
            if (loops[i] != most + 1) {{
                continue;
            }}
            for (; at > 0 && iterations[order[at - 1]] < iterations[i]; at--) {{
                order[at] = order[at - 1];
            }}
            order[at] = i;
            n_waiting++;
        }}
        for (i = 0; i < n_waiting; i++) {{
            waiting[i] = (struct {prefix} *)streams[order[i]].context;
        }}
        n_gone = 0;
        switch (most) {{
{cases}        default:
            break;
        }}
        if (n_gone == 0 && n_waiting > 0) {{
            waiting[0]->many = 2;
            n_gone = 1;
        }}
        for (i = 0; i < n_gone; i++) {{
            {prefix}_go_on(&streams[order[i]], &loops[order[i]], &iterations[order[i]]);
        }}
    }} while (n_gone != 0);
    for (i = 0; i < count; i++) {{
        struct {prefix} *const s = (struct {prefix} *)streams[i].context;
        s->many = 0;
        streams[i].made = streams[i].n_out;
        streams[i].taken = {prefix}_stream_end(s, input, streams[i].in, streams[i].n_in, output, &streams[i].made);
    }}
}}

"
        )
    }
}
