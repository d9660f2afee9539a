//! Instrumentation for a profile: the time of each instance, and the high-water mark of each FIFO.
//!
//! The clock is read around the turn of an instance, in which it fires until it waits, so what is measured costs little beside
//! it. A FIFO is fullest before its reader's turn or after its writer's; one from an actor to itself is not measured.

use super::Writer;
use headrace_ir::{Connection, Endpoint};
use std::fmt::Write as _;

impl Writer<'_> {
    /// Fields of the context for what is measured.
    pub(super) fn profile_fields(&self) -> String {
        if !self.options.profile {
            return String::new();
        }
        let (times, marks) = (self.network.instances.len().max(1), self.rings.len().max(1));
        format!("    uint64_t nanoseconds[{times}];\n    uint32_t marks[{marks}];\n")
    }

    /// The clock, and the function that gives what was measured.
    pub(super) fn profile_functions(&self) -> String {
        if !self.options.profile {
            return String::new();
        }
        let prefix = self.prefix;
        let (times, marks) = (self.network.instances.len(), self.rings.len());
        format!(
            "#include <time.h>\n\nstatic uint64_t {prefix}_now(void) {{\n    struct timespec now;\n    (void)timespec_get(&now, TIME_UTC);\n    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;\n}}\n\nvoid {prefix}_profile(const void *any, uint64_t *nanoseconds, uint32_t *marks);\n\nvoid {prefix}_profile(const void *any, uint64_t *nanoseconds, uint32_t *marks) {{\n    const struct {prefix} *const context = (const struct {prefix} *)any;\n    memcpy(nanoseconds, context->nanoseconds, {times} * sizeof *nanoseconds);\n    memcpy(marks, context->marks, {marks} * sizeof *marks);\n}}\n\n"
        )
    }

    /// Statements before and after the turn of an instance.
    pub(in crate::c) fn profile_of_turn(&self, instance: usize) -> (String, String) {
        if !self.options.profile {
            return (String::new(), String::new());
        }
        let is_it = |end: Endpoint| matches!(end, Endpoint::Instance(id, _) if id.index() == instance);
        let (mut before, mut after) = (String::new(), String::new());
        for (at, (connection, fifo)) in self.network.connections.iter().zip(&self.rings).enumerate() {
            let field = &fifo.field;
            let mark = format!(
                "            if (context->{field}.written - context->{field}.read > context->marks[{at}]) {{\n                context->marks[{at}] = context->{field}.written - context->{field}.read;\n            }}\n"
            );
            match (is_it(connection.source), is_it(connection.target)) {
                (true, false) => after.push_str(&mark),
                (false, true) => before.push_str(&mark),
                _ => {}
            }
        }
        let _ = writeln!(before, "            const uint64_t began{instance} = {}_now();", self.prefix);
        let time =
            format!("            context->nanoseconds[{instance}] += {}_now() - began{instance};\n", self.prefix);
        (before, time + &after)
    }
}

/// Whether the marks of a FIFO are true: not of one from an actor to itself.
pub fn is_profiled(connection: &Connection) -> bool {
    match (connection.source, connection.target) {
        (Endpoint::Instance(from, _), Endpoint::Instance(to, _)) => from != to,
        _ => true,
    }
}
