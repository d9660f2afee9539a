//! Partitioned execution on several threads. A network whose instances are divided among partitions: the context with what
//! belongs to one thread apart from what belongs to another, and one function for each partition that fires what it can.
//!
//! `runtime/c/headrace_parallel.h` has what threads do with these functions, and how a run ends.

use super::{Fifo, Writer};
use crate::c::plan::Plan;
use crate::c::scheduler::comment;
use headrace_analysis::cut::{Share, shares};
use headrace_analysis::topology;
use headrace_ir::{Endpoint, InstanceId, Mapping};
use headrace_source::Diagnostic;
use std::cell::RefCell;

/// Beginning of the struct of a FIFO between threads. `..._seen` is what one side last saw of the index of the other.
pub(super) const INDICES: &str = "    HR_ALIGNED(HR_LINE) hr_atomic32 written;\n    uint32_t read_seen;\n    hr_atomic32 wanted; /* whoever writes at the boundary has more */\n    HR_ALIGNED(HR_LINE) hr_atomic32 read;\n    uint32_t written_seen;\n    HR_ALIGNED(HR_LINE)\n";

/// What the two ends of a connection must look at when a partition begins to look for work.
struct Watched<'a> {
    fifo: &'a Fifo,
    instance: usize,
    /// The instance reads: it waits for tokens.
    reads: bool,
}

/// Firings of an actor after which the others have a turn, where firings are counted.
const TURN: u32 = 1 << 20;

impl Writer<'_> {
    /// A mapping that this network can be printed for.
    pub(super) fn check_mapping(&self, diagnostics: &RefCell<Vec<Diagnostic>>) {
        let Some(mapping) = self.mapping else { return };
        let n = mapping.partitions.len();
        if mapping.of.len() != self.network.instances.len() || mapping.of.iter().any(|&partition| partition >= n) {
            diagnostics.borrow_mut().push(
                Diagnostic::error("unsupported-by-target", "the mapping is that of another network")
                    .at(self.network.span, "it names other instances or partitions"),
            );
        }
        if let Some((one, other)) = mapping.split_actors(self.network) {
            let name = |instance: InstanceId| &self.network.instances[instance.index()].name;
            let place = |instance: InstanceId| {
                mapping.partitions.get(mapping.partition(instance)).map_or("", String::as_str).to_owned()
            };
            diagnostics.borrow_mut().push(
                Diagnostic::error(
                    "unsupported-by-target",
                    format!("`{}` and `{}` print or call natives, in two partitions", name(one), name(other)),
                )
                .at(self.network.instances[other.index()].span, format!("this one is in `{}`", place(other)))
                .note(format!(
                    "`{}` is in `{}`; what they do outside has an order",
                    name(one),
                    place(one)
                )),
            );
        }
    }

    pub(super) fn partition_fields(&self, mapping: &Mapping, plans: &[Plan<'_>], out: &mut String) {
        let n = mapping.partitions.len();
        out.push_str(&format!(
            "    struct headrace_team team;\n    struct headrace_member members[{}];\n    struct {{\n        HR_ALIGNED(HR_LINE) struct headrace_control control;\n        uint64_t news[{}]; /* instances that something happened to since they last ran */\n    }} parts[{n}];\n",
            n,
            self.news_words()
        ));
        for share in shares(self.network, mapping) {
            let mut align = "HR_ALIGNED(HR_LINE) ";
            for instance in &share.instances {
                self.instance_field(instance.index(), plans, align, out);
                align = "";
            }
            for fifo in share.inside.iter().map(|&at| &self.rings[at]) {
                out.push_str(&format!("    {align}struct {} {};\n", fifo.ring.name, fifo.field));
                align = "";
            }
        }
        for (connection, fifo) in self.network.connections.iter().zip(&self.rings) {
            if fifo.ring.shared.is_some() || mapping.at(connection.source).is_none() {
                out.push_str(&format!("    struct {} {};\n", fifo.ring.name, fifo.field));
            }
        }
    }

    pub(super) fn partition_init(&self, mapping: &Mapping) -> String {
        format!(
            "    for (uint32_t part = 0; part < {}; part++) {{\n        context->parts[part].control.host = host;\n        memset(context->parts[part].news, 0xff, sizeof context->parts[part].news);\n    }}\n",
            mapping.partitions.len()
        )
    }

    /// The control of the partition that stopped, else of the first.
    pub(super) fn stopped_control(&self, mapping: &Mapping) -> String {
        let prefix = self.prefix;
        format!(
            "    const struct {prefix} *const own = (const struct {prefix} *)context;\n    for (uint32_t part = 0; part < {}; part++) {{\n        if (own->parts[part].control.stopped != 0) {{\n            return &own->parts[part].control;\n        }}\n    }}\n    return &own->parts[0].control;\n",
            mapping.partitions.len()
        )
    }

    /// The statements of a round that look after one instance.
    pub(super) fn visit(&self, at: usize, run: &(String, bool), mapping: Option<&Mapping>) -> String {
        let (function, stops) = run;
        let (word, bit) = (at / 64, 1u64 << (at % 64));
        let mut text = format!(
            "        if ((news[{word}] & UINT64_C({bit:#x})) != 0) {{ /* {} */\n            news[{word}] &= ~UINT64_C({bit:#x});\n",
            self.network.instances[at].name
        );
        if *stops {
            text.push_str(&format!("            control->instance = {at};\n"));
        }
        let (before_turn, after_turn) =
            if mapping.is_none() { self.profile_of_turn(at) } else { (String::new(), String::new()) };
        text.push_str(&before_turn);
        // Where each firing counts, an actor that goes on without end would leave nothing for those after it.
        let in_turns = self.options.count_firings && mapping.is_none();
        if in_turns {
            text.push_str(&format!(
                "            const uint64_t rest = control->budget;\n            const uint64_t turn = rest < {TURN}u ? rest : {TURN}u;\n            control->budget = turn;\n"
            ));
        }
        let mut arguments = vec![format!("&context->i{at}")];
        arguments.extend(self.arguments(InstanceId(at as u32)));
        arguments.push("control".to_owned());
        let call = format!("{function}({})", arguments.join(", "));
        let mut masks = vec![0u64; self.news_words()];
        let mut others = Vec::new();
        for neighbour in topology::neighbours(self.network, at) {
            match mapping {
                Some(mapping) if mapping.of[neighbour] != mapping.of[at] => others.push(mapping.of[neighbour]),
                _ => masks[neighbour / 64] |= 1 << (neighbour % 64),
            }
        }
        // It leaves after some tokens to publish its indices, though it could go on.
        if self.touches_shared(at) {
            masks[word] |= bit;
        }
        let mut after: String = masks
            .iter()
            .enumerate()
            .filter(|(_, mask)| **mask != 0)
            .map(|(word, mask)| format!("                news[{word}] |= UINT64_C({mask:#x});\n"))
            .collect();
        others.sort_unstable();
        others.dedup();
        let much = if mapping.is_some() { self.much_at_boundary(at) } else { Vec::new() };
        if !others.is_empty() || !much.is_empty() {
            after.push_str("                hr_published(&context->team);\n");
        }
        for other in others {
            after.push_str(&format!("                hr_notify(&context->team, {other});\n"));
        }
        if !much.is_empty() {
            let much = much.join("\n                    || ");
            after.push_str(&format!("                hr_notify_home(&context->team, {much});\n"));
        }
        if mapping.is_some() {
            after.push_str("                any = true;\n");
        }
        if after.is_empty() {
            text.push_str(&format!("            (void){call};\n"));
        } else {
            text.push_str(&format!("            if ({call}) {{\n{after}            }}\n"));
        }
        if in_turns {
            text.push_str(&format!(
                "            control->budget = rest - (turn - control->budget);\n            if (control->limited != 0 && control->budget != 0) {{\n                control->limited = 0;\n                news[{word}] |= UINT64_C({bit:#x});\n            }}\n"
            ));
        }
        text.push_str(&after_turn);
        if *stops {
            text.push_str("            if (control->stopped != 0) {\n                goto stopped;\n            }\n");
        }
        text.push_str("        }\n");
        text
    }

    /// For each FIFO of an instance at the boundary, when there is much to move: half of it, and somebody who would.
    fn much_at_boundary(&self, instance: usize) -> Vec<String> {
        let is = |endpoint: Endpoint| matches!(endpoint, Endpoint::Instance(own, _) if own.index() == instance);
        let mut much = Vec::new();
        for (connection, fifo) in self.network.connections.iter().zip(&self.rings) {
            let (field, half) = (&fifo.field, fifo.ring.capacity / 2);
            match (connection.source, connection.target) {
                (Endpoint::Boundary(_), target) if is(target) => {
                    much.push(format!(
                        "(hr_own(&context->{field}.wanted) != 0 && context->{field}.written_seen - hr_own(&context->{field}.read) <= {half}u)"
                    ));
                }
                (source, Endpoint::Boundary(_)) if is(source) => {
                    much.push(format!("hr_own(&context->{field}.written) - context->{field}.read_seen >= {half}u"));
                }
                _ => {}
            }
        }
        much
    }

    /// Lines that tell a partition what happened at the boundary, if anything did.
    pub(super) fn notify_from_boundary(&self, endpoint: Endpoint) -> Vec<String> {
        let Some(partition) = self.mapping.and_then(|mapping| mapping.at(endpoint)) else { return Vec::new() };
        vec![
            "if (n_tokens != 0) {".to_owned(),
            "    hr_published(&context->team);".to_owned(),
            format!("    hr_notify(&context->team, {partition});"),
            "}".to_owned(),
        ]
    }

    fn touches_shared(&self, instance: usize) -> bool {
        let touches = |endpoint: Endpoint| matches!(endpoint, Endpoint::Instance(own, _) if own.index() == instance);
        let mut connections = self.network.connections.iter().zip(&self.rings);
        connections.any(|(connection, fifo)| {
            fifo.ring.shared.is_some() && (touches(connection.source) || touches(connection.target))
        })
    }

    fn watched(&self, share: &Share) -> Vec<Watched<'_>> {
        let end = |&at: &usize| {
            let (reads, connection) = (share.entering.contains(&at), &self.network.connections[at]);
            match if reads { connection.target } else { connection.source } {
                Endpoint::Instance(instance, _) => {
                    Some(Watched { fifo: &self.rings[at], instance: instance.index(), reads })
                }
                Endpoint::Boundary(_) => None,
            }
        };
        share.entering.union(&share.leaving).filter_map(end).collect()
    }

    /// The partition of the thread that starts a run: the world outside belongs to that thread.
    fn home(&self, mapping: &Mapping) -> usize {
        let acting = Mapping::acting(self.network).first().map(|&instance| mapping.partition(instance));
        let mut inputs = self.network.connections.iter().filter(|c| matches!(c.source, Endpoint::Boundary(_)));
        acting.or_else(|| inputs.find_map(|connection| mapping.at(connection.target))).unwrap_or(0)
    }

    /// The functions of the partitions, and those that run them in one thread or in many.
    pub(super) fn partitioned_run(
        &self,
        mapping: &Mapping,
        runs: &[(String, bool)],
        declarations: &mut String,
        definitions: &mut String,
    ) {
        let cold = self.options.attribute();
        let prefix = self.prefix;
        let n = mapping.partitions.len();
        self.declare_run(declarations);
        declarations.push_str(&format!(
            "/* Its partitions, for a thread each. */\nextern const struct headrace_partitions {prefix}_partitions;\n\n"
        ));
        for (partition, share) in shares(self.network, mapping).iter().enumerate() {
            self.part(mapping, (partition, share), runs, definitions);
        }
        let parts: Vec<String> = (0..n).map(|at| format!("{prefix}_part_{at}")).collect();
        let controls: Vec<String> = (0..n).map(|at| format!("&context->parts[{at}].control")).collect();
        let controls = format!("    struct headrace_control *const controls[{n}] = {{{}}};\n", controls.join(", "));
        let home = self.home(mapping);
        definitions.push_str(&format!("static const hr_part {prefix}_parts[{n}] = {{{}}};\n\n", parts.join(", ")));
        definitions.push_str(&format!(
            "{cold}static void {prefix}_begin(void *any, const struct headrace_waiting *waiting, uint64_t max_firings,\n    bool fed) {{\n    struct {prefix} *const context = (struct {prefix} *)any;\n{controls}    hr_start(&context->team, context->members, {n}, {home}, controls, waiting, max_firings, fed);\n}}\n\n"
        ));
        definitions.push_str(&format!(
            "{cold}static void {prefix}_work(void *any, uint32_t partition) {{\n    struct {prefix} *const context = (struct {prefix} *)any;\n    hr_work(&context->team, partition, {prefix}_parts[partition], context, &context->parts[partition].control,\n            NULL, NULL);\n}}\n\n"
        ));
        definitions.push_str(&format!(
            "{cold}static void {prefix}_feed(void *any, bool (*move)(void *user), void *user) {{\n    struct {prefix} *const context = (struct {prefix} *)any;\n    hr_work(&context->team, {home}, {prefix}_parts[{home}], context, &context->parts[{home}].control, move, user);\n}}\n\n{cold}static void {prefix}_halt(void *any) {{\n    hr_finish(&((struct {prefix} *)any)->team);\n}}\n\n"
        ));
        definitions.push_str(&format!(
            "{cold}static uint32_t {prefix}_end(void *any) {{\n    struct {prefix} *const context = (struct {prefix} *)any;\n{controls}    return hr_status(&context->team, controls);\n}}\n\n"
        ));
        definitions.push_str(&format!(
            "{cold}uint32_t {prefix}_run(struct {prefix} *context, uint64_t max_firings) {{\n{controls}    {prefix}_begin(context, NULL, max_firings, false);\n    hr_work_alone(&context->team, {prefix}_parts, context, controls);\n    return {prefix}_end(context);\n}}\n\n"
        ));
        definitions.push_str(&format!(
            "const struct headrace_partitions {prefix}_partitions = {{\n    {n}, {home}, {prefix}_begin, {prefix}_work, {prefix}_feed, {prefix}_halt, {prefix}_end\n}};\n\n"
        ));
    }

    fn part(
        &self,
        mapping: &Mapping,
        (partition, share): (usize, &Share),
        runs: &[(String, bool)],
        definitions: &mut String,
    ) {
        let cold = self.options.attribute();
        let prefix = self.prefix;
        let words = self.news_words();
        let mut own = vec![0u64; words];
        for at in share.instances.iter().map(|instance| instance.index()) {
            own[at / 64] |= 1 << (at % 64);
        }
        // Whoever feeds leaves what it fires when there is much to move.
        let due = if partition == self.home(mapping) { " && !hr_due(&context->team)" } else { "" };
        let mut text = format!(
            "/* Partition {}. */\n{cold}static bool {prefix}_part_{partition}(void *any_context) {{\n    struct {prefix} *const context = (struct {prefix} *)any_context;\n    struct headrace_control *const control = &context->parts[{partition}].control;\n    uint64_t news[{words}];\n    bool any = false;\n    memcpy(news, context->parts[{partition}].news, sizeof news);\n    while (!hr_over(&context->team){due}) {{\n",
            comment(&mapping.partitions[partition])
        );
        for Watched { fifo, instance, reads } in self.watched(share) {
            let (index, seen) = if reads { ("written", "written_seen") } else { ("read", "read_seen") };
            let field = &fifo.field;
            text.push_str(&format!(
                "        if (hr_has_moved(&context->{field}.{index}, &context->{field}.{seen})) {{\n            news[{}] |= UINT64_C({:#x});\n        }}\n",
                instance / 64,
                1u64 << (instance % 64)
            ));
        }
        let idle: Vec<String> = own
            .iter()
            .enumerate()
            .filter(|(_, mask)| **mask != 0)
            .map(|(word, mask)| format!("(news[{word}] & UINT64_C({mask:#x})) == 0"))
            .collect();
        if !idle.is_empty() {
            text.push_str(&format!("        if ({}) {{\n            break;\n        }}\n", idle.join(" && ")));
        } else {
            text.push_str("        break;\n");
        }
        if !self.options.count_firings && !idle.is_empty() {
            text.push_str("        if (control->budget == 0) {\n            control->limited = 1;\n            break;\n        }\n        control->budget--;\n");
        }
        let is_member = |&at: &usize| share.instances.binary_search(&InstanceId(at as u32)).is_ok();
        let members = topology::sources_first(self.network).into_iter().filter(is_member);
        let mut stops = false;
        for at in members {
            stops |= runs[at].1;
            text.push_str(&self.visit(at, &runs[at], Some(mapping)));
        }
        if !idle.is_empty() {
            text.push_str("        if (control->limited != 0) {\n            break;\n        }\n");
        }
        text.push_str("    }\n");
        if stops {
            text.push_str("stopped:\n");
        }
        text.push_str(&format!(
            "    if (control->limited != 0) {{\n        memset(news, 0xff, sizeof news);\n    }}\n    memcpy(context->parts[{partition}].news, news, sizeof news);\n    return any;\n}}\n\n"
        ));
        definitions.push_str(&text);
    }
}
