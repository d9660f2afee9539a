//! Thread-level speculation: a thread runs a loop from a guessed entry state, and what it did counts once that state
//! turns out right. Loops whose iterations need each other, of networks that have several of them, each with objects of
//! its own: the parts of a message that they take lie one behind the other, and helpers run the later ones ahead of
//! time.
//!
//! A helper goes the same way through the states with a copy of the context, because decisions rarely depend on what
//! such loops leave. It leaves out the long loops of the others (counters go on, everything else is stale), runs those
//! that are its own, and writes down what each began with and left. Whoever has the context comes to the same loop
//! later. If it begins with the same elements, tokens and number of iterations, what it leaves is known; otherwise the
//! helpers are told to stop, and nothing was lost but their time. So nothing has to be known of the network, and
//! nothing is believed.

use super::parallel_for::{Divided, pointers};
use super::ports::streams;
use super::{Writer, object_type};
use headrace_transform::kernel::{Carry, Loop, ObjectId, Op};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Long loops of a call that are written down.
const CLAIMS: usize = 16;

/// Bytes of a context that is copied to stacks.
const MOST_BYTES: usize = 1 << 18;

/// Elements that lie one beside the other: object, first, how many.
type Run = (ObjectId, usize, usize);

/// Whether a loop can be one of several that run at the same time.
fn is_chain(body: &Loop) -> bool {
    !body.is_independent() && body.produces.iter().all(|port| port.0 == 0)
}

/// Elements in runs.
fn runs(elements: &BTreeSet<(ObjectId, usize)>) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for &(object, index) in elements {
        match runs.last_mut() {
            Some((last, first, n)) if *last == object && *first + *n == index => *n += 1,
            _ => runs.push((object, index, 1)),
        }
    }
    runs
}

impl Writer<'_> {
    /// Whether helpers run loops ahead: where some need their own iterations only.
    pub(super) fn runs_ahead(&self) -> bool {
        let loops = self.automaton.states.iter().flat_map(|state| &state.loops).map(|counted| &counted.body);
        let chains: BTreeSet<Vec<ObjectId>> = loops
            .filter(|body| is_chain(body))
            .map(|body| {
                let chained = body.carried.iter().filter(|one| one.carry == Carry::True);
                chained.map(|one| one.object).collect::<BTreeSet<ObjectId>>().into_iter().collect()
            })
            .collect();
        chains.len() > 1
    }

    /// Fields of the context.
    pub(super) fn ahead_fields(&self) -> String {
        if !self.runs_ahead() {
            return String::new();
        }
        format!(
            "    struct {}_ahead *ahead; /* null: nobody runs ahead */\n    uint32_t ahead_who; /* 0: the context itself; otherwise the number of a helper */\n    uint32_t ahead_at; /* long loops so far */\n",
            self.prefix
        )
    }

    /// When a run stops before a state: helpers do when they are told to.
    pub(super) fn stops(&self) -> &'static str {
        if self.runs_ahead() { "HR_STOPS" } else { "budget == 0" }
    }

    /// Elements that a loop begins with, and those that it leaves.
    fn elements(&self, body: &Loop) -> (Vec<Run>, Vec<Run>) {
        let mut read = BTreeSet::new();
        for id in body.needed() {
            if let Op::Entry { object, index } = body.graph.op(id) {
                match body.graph.constant(*index) {
                    Some(at) => _ = read.insert((*object, at as usize)),
                    None => read.extend((0..self.automaton.object(*object).length).map(|at| (*object, at))),
                }
            }
        }
        let left = body.carried.iter().map(|one| (one.object, one.index)).collect();
        (runs(&read), runs(&left))
    }

    /// `PREFIX_loop_N_divided` for loops whose iterations need each other.
    pub(super) fn ahead(&self, loops: &[(&Loop, Divided)]) -> String {
        let prefix = self.prefix;
        let (chains, others): (Vec<_>, Vec<_>) =
            loops.iter().partition(|(body, _)| self.runs_ahead() && is_chain(body));
        let mut text = String::new();
        for (_, divided) in others {
            let _ = writeln!(text, "#define {prefix}_loop_{0}_divided {prefix}_loop_{0}", divided.number);
        }
        if chains.is_empty() {
            return text;
        }
        let all: Vec<(Vec<Run>, Vec<Run>)> = chains.iter().map(|(body, _)| self.elements(body)).collect();
        let (mut structs, mut before, mut after) = (String::new(), String::new(), String::new());
        for ((_, divided), (read, left)) in chains.iter().zip(&all) {
            let number = divided.number;
            for (name, runs) in [("before", read), ("after", left)] {
                let _ = writeln!(
                    structs,
                    "struct {prefix}_loop_{number}_{name} {{\n    uint8_t none; /* C has no empty structures */"
                );
                for (at, (object, _, n)) in runs.iter().enumerate() {
                    let ty = object_type(self.automaton.object(*object));
                    let _ = writeln!(structs, "    {ty} e{at}[{n}];");
                }
                structs.push_str("};\n\n");
            }
            let _ = writeln!(before, "        struct {prefix}_loop_{number}_before loop_{number};");
            let _ = writeln!(after, "        struct {prefix}_loop_{number}_after loop_{number};");
        }
        let most = chains.iter().map(|(body, _)| pointers(body).len()).max().unwrap_or(0).max(1);
        let _ = write!(
            text,
            "{structs}/* A long loop. */
struct {prefix}_claim {{
    uint32_t state; /* 0: nobody has come; 1: the context runs it; 2: a helper will, and 3: has begun, and 4: has ended */
    uint32_t loop;
    size_t iterations;
    const void *pointers[{most}];
    union {{
{before}    }} before;
    union {{
{after}    }} after;
}};

#undef HR_STOPS
#define HR_STOPS (budget == 0 || (s->ahead_who != 0 && __atomic_load_n(&s->ahead->over, __ATOMIC_RELAXED) != 0))

/* What helpers and the context share. */
struct {prefix}_ahead {{
    const struct headrace_helpers *helpers;
    uint32_t over; /* helpers stop */
    struct {prefix}_claim claims[{CLAIMS}];
}};

"
        );
        for ((body, divided), (read, left)) in chains.iter().zip(&all) {
            text.push_str(&self.run_ahead(body, divided, read, left));
        }
        text
    }

    /// The functions of one of the loops.
    fn run_ahead(&self, body: &Loop, divided: &Divided, read: &[Run], left: &[Run]) -> String {
        let Divided { number, cycles, .. } = *divided;
        let prefix = self.prefix;
        let (own, skips, skipped) = self.skipped(body, number);
        let (mut parameters, mut given, mut noted, mut on) =
            (String::new(), String::new(), String::new(), String::new());
        let mut same = String::new();
        for (at, (ty, name, tokens)) in pointers(body).into_iter().enumerate() {
            let _ = write!(parameters, ", {ty}{name}");
            let _ = write!(given, ", {name}");
            let _ = writeln!(noted, "    claim->pointers[{at}] = {name};");
            let _ = writeln!(on, "            {name} += n * {tokens};");
            let _ = write!(same, " && claim->pointers[{at}] == {name}");
        }
        let (mut keep, mut compare, mut leave, mut take) = (String::new(), String::new(), String::new(), String::new());
        for (at, (object, first, n)) in read.iter().enumerate() {
            let name = &self.automaton.object(*object).name;
            let _ = writeln!(keep, "    memcpy(before->e{at}, s->{name} + {first}, sizeof before->e{at});");
            let _ = writeln!(
                compare,
                "    for (i = 0; i < {n}; i++) {{\n        differs |= before->e{at}[i] != s->{name}[{first} + i];\n    }}"
            );
        }
        for (at, (object, first, _)) in left.iter().enumerate() {
            let name = &self.automaton.object(*object).name;
            let _ = writeln!(leave, "    memcpy(after->e{at}, s->{name} + {first}, sizeof after->e{at});");
            let _ = writeln!(take, "    memcpy(s->{name} + {first}, after->e{at}, sizeof after->e{at});");
        }
        let can = divided.can();
        let cycles = (cycles.ceil() as u64).max(1);
        format!(
            "#ifdef __SIZEOF_INT128__
{skipped}
/* A helper runs it, unless it must stop, and says what it began with and left. */
static void {own}_claimed(struct {prefix} *s, struct {prefix}_claim *claim{parameters}, size_t iterations) {{
    struct {own}_before *const before = &claim->before.loop_{number};
    struct {own}_after *const after = &claim->after.loop_{number};
    const size_t most = s->ahead->helpers->start_cycles / {cycles}u + 1;
    size_t n;
    claim->loop = {number};
    claim->iterations = iterations;
{noted}{keep}    __atomic_store_n(&claim->state, 3, __ATOMIC_RELEASE);
    for (; iterations != 0; iterations -= n) {{
        if (__atomic_load_n(&s->ahead->over, __ATOMIC_RELAXED) != 0) {{
            return;
        }}
        n = iterations < most ? iterations : most;
        (void){own}(s{given}, n);
        {{
{on}        }}
    }}
{leave}    __atomic_store_n(&claim->state, 4, __ATOMIC_RELEASE);
}}

/* What a helper began with is what is there. Which elements differ shows in nothing. */
static bool {own}_same(const struct {prefix} *s, const struct {prefix}_claim *claim{parameters}, size_t iterations) {{
    const struct {own}_before *const before = &claim->before.loop_{number};
    uint32_t differs = 0;
    size_t i;
    if (!(claim->loop == {number} && claim->iterations == iterations{same})) {{
        return false;
    }}
{compare}    return differs == 0;
}}

static void {own}_taken(struct {prefix} *s, const struct {prefix}_claim *claim) {{
    const struct {own}_after *const after = &claim->after.loop_{number};
{take}}}

HR_APART static bool {own}_among(struct {prefix} *s{parameters}, size_t iterations) {{
    struct {prefix}_ahead *const ahead = s->ahead;
    struct {prefix}_claim *claim;
    uint32_t state = 0;
    bool can = {can}    if (iterations < ahead->helpers->start_cycles / {cycles}u || !can) {{
        return {own}(s{given}, iterations);
    }}
    claim = s->ahead_at < {CLAIMS} ? &ahead->claims[s->ahead_at] : NULL;
    if (s->ahead_who != 0) {{
        const bool mine = claim != NULL && s->ahead_at % ahead->helpers->n_threads == s->ahead_who;
        s->ahead_at++;
        if (mine && __atomic_compare_exchange_n(&claim->state, &state, 2, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {{
            {own}_claimed(s, claim{given}, iterations);
        }} else {{
            {skips}(s{given}, iterations);
        }}
        return true;
    }}
    s->ahead_at++;
    if (claim == NULL || __atomic_compare_exchange_n(&claim->state, &state, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {{
        return {own}(s{given}, iterations);
    }}
    while ((state = __atomic_load_n(&claim->state, __ATOMIC_ACQUIRE)) == 2) {{
        ahead->helpers->rest(ahead->helpers);
    }}
    if (!{own}_same(s, claim{given}, iterations)) {{
        __atomic_store_n(&ahead->over, 1, __ATOMIC_RELAXED);
        s->ahead = NULL;
        return {own}(s{given}, iterations);
    }}
    while (__atomic_load_n(&claim->state, __ATOMIC_ACQUIRE) != 4) {{
        ahead->helpers->rest(ahead->helpers);
    }}
    {own}_taken(s, claim);
    return true;
}}

static inline bool {own}_divided(struct {prefix} *s{parameters}, size_t iterations) {{
    return s->ahead == NULL ? {own}(s{given}, iterations) : {own}_among(s{given}, iterations);
}}
#else
#define {own}_divided {own}
#endif

"
        )
    }

    /// `PREFIX_run_helped`, as `PREFIX_run_until_dry` with helpers that run ahead.
    pub(super) fn run_helped(&self) -> String {
        let prefix = self.prefix;
        if !self.runs_ahead() {
            return format!("#define {prefix}_run_helped(s, n_in) {prefix}_run_until_dry(s, UINT64_MAX)\n\n");
        }
        let mut moved = String::new();
        for port in &self.network.inputs {
            let name = &port.name;
            let _ = write!(
                moved,
                "    if (own->in_{name}_there == 0) {{\n        own->in_{name} = own->in_{name}_buffer;\n    }} else if (job->in_{name}_from != SIZE_MAX) {{\n        own->in_{name} = own->in_{name}_buffer + job->in_{name}_from;\n    }}\n"
            );
        }
        if self.network.outputs.iter().any(streams) {
            moved.push_str(
                "    own->caller_out = NULL;\n    own->caller_out_room = 0;\n    own->caller_out_port = UINT32_MAX;\n",
            );
        }
        let (mut fields, mut set) = (String::new(), String::new());
        for port in &self.network.inputs {
            let name = &port.name;
            let _ = writeln!(
                fields,
                "    size_t in_{name}_from; /* where the window begins in the buffer, if it is there */"
            );
            let _ = writeln!(
                set,
                "    job.in_{name}_from = s->in_{name} >= s->in_{name}_buffer && s->in_{name} <= s->in_{name}_buffer + sizeof s->in_{name}_buffer / sizeof *s->in_{name}_buffer ? (size_t)(s->in_{name} - s->in_{name}_buffer) : SIZE_MAX;"
            );
        }
        let alone = if self.has_control() { "    own->control.host = NULL;\n" } else { "" };
        let not_left = if self.behind.is_some() { " && s->left == 0" } else { "" };
        format!(
            "struct {prefix}_helped {{
    struct {prefix} *s;
    struct {prefix} from; /* what it was when the helpers began */
    struct {prefix}_ahead ahead;
    uint32_t status;
{fields}}};

/* The context goes its way in the first part; the others are helpers that run ahead of it. */
static void {prefix}_helped_part(void *any, uint32_t part) {{
    struct {prefix}_helped *const job = (struct {prefix}_helped *)any;
    struct {prefix} copy, *own = &copy;
    uint64_t budget = UINT64_MAX;
    if (part == 0) {{
        job->s->ahead = &job->ahead;
        job->s->ahead_at = 0;
        job->status = {prefix}_run_until_dry(job->s, UINT64_MAX);
        job->s->ahead = NULL;
        __atomic_store_n(&job->ahead.over, 1, __ATOMIC_RELAXED);
        return;
    }}
    if (__atomic_load_n(&job->ahead.over, __ATOMIC_RELAXED) != 0) {{
        return;
    }}
    if (job->ahead.helpers->n_threads == 2) {{
        own = &job->from; /* which no other helper needs: pages that a thread has not touched yet cost time */
    }} else {{
        memcpy(own, &job->from, sizeof *own);
    }}
{moved}    own->helpers = NULL;
    own->many = 0;
{alone}    own->ahead = &job->ahead;
    own->ahead_who = part;
    own->ahead_at = 0;
    (void){prefix}_steps(own, &budget);
    if (own == &copy) {{
        hr_wipe(own, sizeof *own);
    }}
}}

HR_APART static uint32_t {prefix}_run_with(struct {prefix} *s) {{
    struct {prefix}_helped job;
    size_t at;
    memcpy(&job.from, s, sizeof job.from);
    job.s = s;
    job.ahead.helpers = s->helpers;
    job.ahead.over = 0;
    for (at = 0; at < {CLAIMS}; at++) {{
        job.ahead.claims[at].state = 0;
    }}
{set}    s->helpers->run(s->helpers, s->helpers->n_threads, {prefix}_helped_part, &job);
    hr_wipe(&job.from, sizeof job.from);
    hr_wipe(job.ahead.claims, sizeof job.ahead.claims);
    return job.status;
}}

/* As `run_until_dry`, with helpers where there are some and so much input is worth their while. */
static uint32_t {prefix}_run_helped(struct {prefix} *s, size_t n_in) {{
    const bool helped = s->helpers != NULL && s->helpers->n_threads > 1 && n_in > s->helpers->start_cycles{not_left};
    return helped && sizeof *s <= {MOST_BYTES} ? {prefix}_run_with(s) : {prefix}_run_until_dry(s, UINT64_MAX);
}}

"
        )
    }
}
