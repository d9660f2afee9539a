//! Tiers of execution: the automaton first, and below it the scheduler of the network, where the automaton may be left.
//!
//! An automaton that is complete runs alone. What engines may ask of a network beside its tokens, fills and firings, is
//! known to the scheduler only: it says nothing of itself before it has come to run.

use super::{Behind, Writer};
use std::fmt::Write as _;

impl Writer<'_> {
    /// The functions that run the network, one of them until only input is missing.
    pub(super) fn runs(&self) -> String {
        let prefix = self.prefix;
        let mut text = match self.behind {
            Some(behind) => self.run_left(behind),
            None => format!(
                "/* As `run`, or `HEADRACE_DRY` when only input is missing. */
static uint32_t {prefix}_run_until_dry(struct {prefix} *s, uint64_t max_firings) {{
    return {prefix}_steps(s, &max_firings);
}}

"
            ),
        };
        let _ = write!(
            text,
            "static uint32_t {prefix}_any_run(void *context, uint64_t max_firings) {{
    const uint32_t status = {prefix}_run_until_dry((struct {prefix} *)context, max_firings);
    return status == HEADRACE_DRY ? HEADRACE_IDLE : status;
}}

static void {prefix}_any_clear(void *context) {{
    hr_wipe(context, sizeof(struct {prefix}));
}}

"
        );
        text
    }

    /// The same with a scheduler, to which input that waits goes first.
    fn run_left(&self, Behind { inner, .. }: Behind) -> String {
        let prefix = self.prefix;
        let mut text = format!(
            "/* Input that waits goes to the network, as much as it takes. */
HR_COLD static size_t {prefix}_hand_over(struct {prefix} *s) {{
    size_t moved, all = 0;
"
        );
        for (at, port) in self.network.inputs.iter().enumerate() {
            let name = &port.name;
            let _ = write!(
                text,
                "    do {{
        (void){prefix}_there_{name}(s, 1);
        moved = s->in_{name}_there == 0 ? 0 : {inner}_network.write(&s->scheduled, {at}, s->in_{name}, s->in_{name}_there);
        s->in_{name} += moved;
        s->in_{name}_there -= moved;
        all += moved;
    }} while (moved != 0);
"
            );
        }
        let _ = write!(
            text,
            "    return all;
}}

HR_APART HR_COLD static uint32_t {prefix}_run_left(struct {prefix} *s, uint64_t max_firings) {{
    uint32_t status;
    do {{
        (void){prefix}_hand_over(s);
        status = {inner}_run(&s->scheduled, max_firings);
    }} while (status == HEADRACE_IDLE && {prefix}_hand_over(s) != 0);
    return status;
}}

/* As `run`, or `HEADRACE_DRY` when only input is missing. */
static uint32_t {prefix}_run_until_dry(struct {prefix} *s, uint64_t max_firings) {{
    if (s->left == 0) {{
        const uint32_t status = {prefix}_steps(s, &max_firings);
        if (s->left == 0) {{
            return status;
        }}
    }}
    return {prefix}_run_left(s, max_firings);
}}

"
        );
        text
    }

    /// What engines may ask: all zero as long as no scheduler runs.
    pub(super) fn shown(&self) -> String {
        let prefix = self.prefix;
        let actions = self.network.instances.iter().map(|one| self.network.actors[one.actor.index()].actions.len());
        let n_actions: usize = actions.sum();
        let (n_fifos, n_instances) = (self.network.connections.len(), self.network.instances.len());
        let (mut inspects, mut counts, mut control) = (String::new(), String::new(), String::new());
        if let Some(Behind { inner, .. }) = self.behind {
            let left = |call: &str| {
                format!(
                    "    if (((const struct {prefix} *)context)->left != 0) {{\n        {call};\n        return;\n    }}\n"
                )
            };
            let scheduled = format!("&((const struct {prefix} *)context)->scheduled");
            inspects = left(&format!("{inner}_network.inspect({scheduled}, fills, states, blocked)"));
            counts = left(&format!("{inner}_network.firings({scheduled}, counts)"));
            control = format!(
                "    if (((const struct {prefix} *)context)->left != 0) {{\n        return {scheduled}.control;\n    }}\n"
            );
        }
        match self.has_control() {
            true => {
                let _ = writeln!(control, "    return &((const struct {prefix} *)context)->control;");
            }
            // Nothing stops its runs.
            false => control.push_str(
                "    static const struct headrace_control none = {0};\n    (void)context;\n    return &none;\n",
            ),
        }
        let has_left = self.behind.map_or(String::new(), |_| {
            format!(
                "static bool {prefix}_any_has_left(const void *context) {{\n    return ((const struct {prefix} *)context)->left != 0;\n}}\n\n"
            )
        });
        format!(
            "static void {prefix}_any_inspect(const void *context, uint32_t *fills, uint32_t *states, uint32_t *blocked) {{
    (void)context;
{inspects}    memset(fills, 0, {n_fifos} * sizeof *fills);
    memset(states, 0, {n_instances} * sizeof *states);
    memset(blocked, 0, {n_instances} * sizeof *blocked);
}}

static void {prefix}_any_firings(const void *context, uint64_t *counts) {{
    (void)context;
{counts}    memset(counts, 0, {n_actions} * sizeof *counts);
}}

static const struct headrace_control *{prefix}_any_control(const void *context) {{
{control}}}

{has_left}"
        )
    }
}
