//! Relocation of contexts: pointers into a context are rebased when it is copied. Contexts as copies of others. Between
//! calls windows lie on the buffers of their own context, so that they are moved along.

use super::Writer;
use std::fmt::Write as _;

impl Writer<'_> {
    /// The function that copies a context.
    pub(super) fn copy(&self) -> String {
        let prefix = self.prefix;
        let mut windows = String::new();
        for port in &self.network.inputs {
            let name = &port.name;
            let _ = writeln!(
                windows,
                "    s->in_{name} = s->in_{name}_there != 0 ? s->in_{name}_buffer + (from->in_{name} - from->in_{name}_buffer) : s->in_{name}_buffer;"
            );
        }
        format!(
            "static void {prefix}_any_copy(void *context, const void *other) {{
    struct {prefix} *const s = (struct {prefix} *)context;
    const struct {prefix} *const from = (const struct {prefix} *)other;
    *s = *from;
    s->helpers = NULL;
{windows}}}

"
        )
    }
}
