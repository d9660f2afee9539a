//! Parallel loops: the iteration space of a loop without carried dependences is divided among threads. Loops whose
//! iterations do not need each other, run by several threads: each takes a range of the iterations.
//!
//! A thread begins with a copy of the objects that the loop reads, with counters and what is left of tokens as they are
//! before its first iteration. The context itself goes on when all have come to their ends, without running anything.

use super::Writer;
use super::outlined_transitions::{ARM, X86};
use crate::c::kernel::{self, LoopNames, element_type};
use headrace_transform::kernel::Loop;
use std::fmt::Write as _;

/// Ranges for each thread: one that begins late or is held up takes fewer, and all end at about the same time.
const RANGES: usize = 16;

/// Iterations of which ranges are multiples, where they are long enough.
const TOGETHER: usize = 64;

/// A loop, for those who may run it.
pub(super) struct Divided {
    /// Its number among the loops of the automaton.
    pub number: usize,
    /// The function that chooses among the ways to run it.
    pub chooses: String,
    /// So many ways are there to run it, and none may be for this machine; `None`: one always works.
    pub ways: Option<usize>,
    /// Whether one always works on AArch64.
    pub on_arm: bool,
    /// Cycles of an iteration, about.
    pub cycles: f64,
}

impl Divided {
    /// The value of `can`, which says whether this machine has a way to run the loop, and what follows to correct it.
    pub(super) fn can(&self) -> String {
        match self.ways {
            None => "true;\n".to_owned(),
            Some(ways) => {
                let x86 = format!("{X86}    can = {}_way() <= {ways};\n#endif\n", self.chooses);
                let arm = format!("{ARM}    can = true;\n#endif\n");
                let (x86, arm) =
                    (if ways > 0 { x86 } else { String::new() }, if self.on_arm { arm } else { String::new() });
                format!("false;\n{x86}{arm}")
            }
        }
    }
}

/// Pointers of a loop: type, name, tokens of an iteration.
pub(super) fn pointers(body: &Loop) -> Vec<(String, String, u64)> {
    let ports = |letter: &'static str, quality: &'static str, ports: &[(u64, u32)]| -> Vec<(String, String, u64)> {
        let used = ports.iter().enumerate().filter(|(_, port)| port.0 > 0);
        let pointer = |(at, &(n, width)): (usize, &(u64, u32))| {
            (format!("{quality}{} *", element_type(width)), format!("{letter}{at}"), n)
        };
        used.map(pointer).collect()
    };
    let mut all = ports("in", "const ", &body.consumes);
    all.extend(ports("out", "", &body.produces));
    all
}

impl Writer<'_> {
    /// What the functions of a loop are called, and the one that does nothing but count iterations: its name and
    /// itself.
    pub(super) fn skipped(&self, body: &Loop, number: usize) -> (String, String, String) {
        let own = format!("{}_loop_{number}", self.prefix);
        let (state, skips) = (format!("struct {}", self.prefix), format!("{own}_skipped"));
        let names = self.loop_names(format!("{own}_table"));
        let skipped = kernel::skipped(body, &LoopNames { function: &skips, state: &state, names: &names });
        (own, skips, skipped)
    }

    /// `PREFIX_loop_N_divided`, called as `PREFIX_loop_N` is, which has helpers run a part of the iterations where
    /// there are some and it is worth while. Its iterations must not need each other. `elsewhere`: a function that a
    /// device runs them by, and its call.
    pub(super) fn divided(&self, body: &Loop, divided: &Divided, elsewhere: Option<(String, String)>) -> String {
        let Divided { number, cycles, .. } = *divided;
        let prefix = self.prefix;
        let (own, skips, skipped) = self.skipped(body, number);
        let (mut fields, mut parameters, mut given, mut moved, mut from, mut set) =
            (String::new(), String::new(), String::new(), String::new(), String::new(), String::new());
        for (ty, name, tokens) in pointers(body) {
            let _ = writeln!(fields, "    {ty}{name};");
            let _ = write!(parameters, ", {ty}{name}");
            let _ = write!(given, ", {name}");
            let _ = write!(moved, ", job->{name} + first * {tokens}");
            let _ = write!(from, ", job->{name}");
            let _ = write!(set, ", {name}");
        }
        let (mut copy, mut wipe) = (String::new(), String::new());
        for object in kernel::touched(body) {
            let name = &self.automaton.object(object).name;
            let _ = writeln!(copy, "    memcpy(part.{name}, job->s->{name}, sizeof part.{name});");
            let _ = writeln!(wipe, "    hr_wipe(part.{name}, sizeof part.{name});");
        }
        let cycles = (cycles.ceil() as u64).max(1);
        let can = divided.can();
        let (elsewhere, device) = elsewhere.unwrap_or_default();
        format!(
            "#ifdef __SIZEOF_INT128__
/* What iterations of loop {number} leave that nobody has to run them for. */
{skipped}
struct {own}_job {{
    const struct {prefix} *s;
{fields}    size_t iterations;
    size_t each; /* of a part */
}};

static void {own}_part(void *any, uint32_t number) {{
    const struct {own}_job *const job = (const struct {own}_job *)any;
    const size_t first = number * job->each, left = job->iterations - first;
    struct {prefix} part;
{copy}    if (first != 0) {{
        {skips}(&part{from}, first);
    }}
    (void){own}(&part{moved}, left < job->each ? left : job->each);
{wipe}}}

HR_APART static bool {own}_among(struct {prefix} *s{parameters}, size_t iterations) {{
    const struct headrace_helpers *const helpers = s->helpers;
    bool can = {can}    if (helpers->n_threads < 2 || iterations < 2 || iterations < 2 * (helpers->start_cycles / {cycles}u) || !can) {{
        return {own}(s{given}, iterations);
    }}
    size_t each = iterations / {RANGES} / helpers->n_threads, least = helpers->start_cycles / {cycles}u / {RANGES};
    each = each < least ? least : each;
    each = each < {TOGETHER} ? each + 1 : (each + {TOGETHER} - 1) / {TOGETHER} * {TOGETHER};
    {{
        struct {own}_job job = {{s{set}, iterations, each}};
        helpers->run(helpers, (uint32_t)((iterations + each - 1) / each), {own}_part, &job);
    }}
    {skips}(s{given}, iterations);
    return true;
}}

{elsewhere}static inline bool {own}_divided(struct {prefix} *s{parameters}, size_t iterations) {{
    return s->helpers == NULL ? {own}(s{given}, iterations) : {device}{own}_among(s{given}, iterations);
}}
#else
#define {own}_divided {own}
#endif

"
        )
    }
}
