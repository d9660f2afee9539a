//! Code generation for networks with run-time scheduling. A network as C: the context, the functions that write, read and run
//! it, and the table through which those who handle many networks reach them.

mod actors;
mod boundary;
mod partition;
mod profile;

use crate::c::PrintedLoop;
use crate::c::ctype;
use crate::c::kernel::Items;
use crate::c::names::Names;
use crate::c::plan::{Plan, Tables};
use crate::c::scheduler::{Reader, Ring, Wiring, comment, scheduler};
use crate::c::{Options, PlaceTable};
use actors::actor_types;
pub(super) use actors::{ActorText, actor_functions, actor_init, has_init};
use headrace_analysis::topology;
use headrace_ir::{Connection, Endpoint, InstanceId, Mapping, Network, Scalar};
use headrace_program::names::identifier;
use headrace_source::Diagnostic;
pub use profile::is_profiled;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::RefCell;
use std::collections::hash_map::Entry;

/// Operands that are as long as what stands around a name in code of the scheduler: types, comments, checks, white space.
const NAME: usize = 9;

/// Elements of the largest ring.
const MAX_RING: u64 = 1 << 28;

/// A printed network: one part for a header, one for a source file.
pub struct PrintedNetwork {
    /// Types and prototypes.
    pub declarations: String,
    /// Definitions.
    pub definitions: String,
    /// Definitions of a second source file, for many messages at once; empty where there is nothing for them.
    pub of_many: String,
    /// Where the state lies.
    pub fields: Fields,
    /// What was printed for its loops; none where it runs on its scheduler.
    pub loops: Vec<PrintedLoop>,
    /// Kernels of devices that run some of them.
    pub kernels: Vec<Items>,
    /// Why the others have none, where devices were asked for.
    pub refused: Vec<String>,
    /// Whether it may leave its automaton.
    pub leaves: bool,
    /// Functions for whole messages and pieces.
    pub(crate) one_shot: OneShot,
    /// How long the definitions are, in operands.
    pub size: usize,
}

/// Functions that take a message, or a piece of one, with the boundary in registers, where there are such.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OneShot {
    /// That for whole messages.
    pub whole: Option<String>,
    /// That for pieces of whole blocks.
    pub piece: Option<String>,
    /// Whether that takes the ends of messages behind such, too: for each output port, whether something comes out of it then.
    pub ends: Option<Vec<bool>>,
}

impl OneShot {
    /// None.
    pub(crate) const NONE: Self = Self { whole: None, piece: None, ends: None };
}

/// The fields of a context that hold the state of a network.
#[derive(Debug, Default)]
pub struct Fields {
    /// For each instance, the field of each variable that has one: an expression after `context->`.
    pub variables: Vec<FxHashMap<usize, String>>,
    /// For each connection, its field, with `read`, `written` and `tokens`.
    pub fifos: Vec<String>,
    /// Words of `news`.
    pub n_news: usize,
}

/// Bytes that a thread moves through a FIFO to another before it publishes its index.
const SHARED_BYTES: u64 = 4096;

/// A FIFO of the network.
pub(super) struct Fifo {
    pub(super) field: String,
    pub(super) ring: Ring,
}

impl Fifo {
    /// Tokens in it, as an expression; between threads, for whoever moves tokens across the boundary.
    fn fill(&self) -> String {
        let field = &self.field;
        match self.ring.shared {
            None => format!("context->{field}.written - context->{field}.read"),
            Some(_) => format!("hr_other(&context->{field}.written) - hr_other(&context->{field}.read)"),
        }
    }

    /// The index of the side that moves tokens across the boundary, as an expression.
    fn index(&self, which: &str) -> String {
        let field = &self.field;
        match self.ring.shared {
            None => format!("context->{field}.{which}"),
            Some(_) => format!("hr_own(&context->{field}.{which})"),
        }
    }

    /// The statement that moves it.
    fn advance(&self, which: &str) -> String {
        let field = &self.field;
        match self.ring.shared {
            None => format!("context->{field}.{which} += (uint32_t)n_tokens;"),
            Some(_) => format!(
                "hr_publish(&context->{field}.{which}, hr_own(&context->{field}.{which}) + (uint32_t)n_tokens);"
            ),
        }
    }
}

/// Prints a network. Names of functions and types begin with `prefix`.
pub fn print(
    network: &Network,
    prefix: &str,
    options: &Options,
    places: &RefCell<PlaceTable>,
    diagnostics: &RefCell<Vec<Diagnostic>>,
) -> PrintedNetwork {
    let mut names = Names::default();
    let all =
        ["init", "run", "clear", "network", "write", "read", "inspect", "firings", "control", "part", "partitions"];
    for taken in all {
        names.fresh(&format!("{prefix}_{taken}"));
    }
    names.fresh(prefix);
    for port in network.inputs.iter().chain(&network.outputs) {
        for verb in ["write", "read", "waiting"] {
            names.fresh(&format!("{prefix}_{verb}_{}", port.name));
            names.fresh(&format!("{prefix}_{verb}_{}_bytes", port.name));
        }
    }
    let mut tables = Tables::default();
    let mapping = options.mapping.as_deref();
    let mut writer = Writer {
        network,
        prefix,
        options,
        mapping,
        rings: Vec::new(),
        ring_text: String::new(),
        ring_names: FxHashSet::default(),
    };
    writer.check_mapping(diagnostics);
    writer.lay_out_rings(diagnostics);
    for ring in &writer.rings {
        names.fresh(&ring.ring.name);
    }
    let mut actors = Vec::new();
    let mut plans = Vec::new();
    let prefixes: Vec<String> = network
        .actors
        .iter()
        .map(|actor| {
            let short = actor.class.rsplit('.').next().unwrap_or(&actor.class);
            names.fresh_actor(&format!("{prefix}_{short}"))
        })
        .collect();
    for (actor, actor_prefix) in network.actors.iter().zip(prefixes) {
        let mut plan = Plan::new(actor, options, actor_prefix.clone(), places, diagnostics, &mut names, &mut tables);
        actors.push(actor_functions(actor, &mut plan, &mut names));
        plans.push(plan);
    }
    let mut instance_runs = Vec::new();
    for (at, instance) in network.instances.iter().enumerate() {
        let wiring = writer.wiring(InstanceId(at as u32));
        let actor_at = instance.actor.index();
        let text = &mut actors[actor_at];
        let run = match text.schedulers.get(&wiring) {
            Some(run) => run.clone(),
            None => {
                let print = |name: &str| scheduler(&plans[actor_at], name, &wiring, &text.initializers, &text.actions);
                // FIFOs may differ in what this actor does not ask for.
                let run = match text.equal_schedulers.entry(print("").text) {
                    Entry::Occupied(known) => known.get().clone(),
                    Entry::Vacant(new) => {
                        let name = names.fresh(&format!("{}_fire", text.prefix));
                        let printed = print(&name);
                        text.scheduler_text.push_str(&printed.text);
                        text.scheduler_names.extend(printed.body.names().cloned());
                        text.scheduler_size += printed.body.names().count();
                        new.insert((name, printed.stops)).clone()
                    }
                };
                text.schedulers.insert(wiring, run.clone());
                run
            }
        };
        instance_runs.push(run);
    }
    let mut declarations = String::new();
    let mut definitions = String::new();
    let mut names_used = FxHashSet::default();
    let mut size = 0;
    declarations.push_str(&writer.ring_text);
    for (plan, text) in plans.iter().zip(&mut actors) {
        text.types = actor_types(plan, options);
        declarations.push_str(&text.types);
        definitions.push_str(&text.functions.called_by(&mut text.scheduler_names, &mut size));
        size += text.scheduler_size;
        names_used.extend(text.scheduler_names.drain());
        definitions.push_str(&text.scheduler_text);
        definitions.push_str(&actor_init(plan));
    }
    writer.context(&plans, &mut declarations);
    writer.functions(&plans, &instance_runs, &mut declarations, &mut definitions);
    let definitions = tables.named(&names_used) + &definitions;
    let mut fields = Fields { n_news: writer.news_words(), ..Fields::default() };
    for (at, instance) in network.instances.iter().enumerate() {
        let plan = &plans[instance.actor.index()];
        let scalars = plan.scalar_fields.iter().map(|(name, variable)| (*variable, format!("i{at}.scalars.{name}")));
        let lists = plan.list_variables.iter().map(|(name, variable)| (*variable, format!("i{at}.lists.{name}")));
        fields.variables.push(scalars.chain(lists).collect());
    }
    fields.fifos = writer.rings.iter().map(|fifo| fifo.field.clone()).collect();
    PrintedNetwork {
        declarations,
        definitions,
        of_many: String::new(),
        fields,
        loops: Vec::new(),
        kernels: Vec::new(),
        refused: Vec::new(),
        leaves: false,
        one_shot: OneShot::default(),
        size: NAME * size,
    }
}

pub(super) struct Writer<'a> {
    pub(super) network: &'a Network,
    pub(super) prefix: &'a str,
    pub(super) options: &'a Options,
    pub(super) mapping: Option<&'a Mapping>,
    pub(super) rings: Vec<Fifo>,
    ring_text: String,
    ring_names: FxHashSet<String>,
}

impl Writer<'_> {
    fn lay_out_rings(&mut self, diagnostics: &RefCell<Vec<Diagnostic>>) {
        let mut fields = Names::default();
        for connection in &self.network.connections {
            let capacity = self.network.capacity(connection, self.options.fifo_tokens);
            let scalar = self.network.target_port(connection).ty;
            let size = capacity.next_power_of_two();
            let words = u64::from(ctype::words(scalar));
            if size * words > MAX_RING {
                diagnostics.borrow_mut().push(
                    Diagnostic::error(
                        "unsupported-by-target",
                        format!("target c cannot compile a FIFO of {capacity} tokens"),
                    )
                    .at(connection.span, "of this connection")
                    .note(format!("a FIFO takes {MAX_RING} elements at most")),
                );
            }
            let (reads, writes) = self.bursts(connection);
            let read_aligned = aligned(&reads, size);
            let write_aligned = aligned(&writes, size);
            let shared = self.mapping.is_some_and(|mapping| mapping.crosses(connection)).then(|| {
                let wanted = (SHARED_BYTES / scalar.storage_bytes() as u64).min(capacity / 4);
                wanted.max(self.network.largest_burst(connection))
            });
            let mut tail = 0;
            for (bursts, aligned, writes) in [(&reads, read_aligned, false), (&writes, write_aligned, true)] {
                let others = writes && shared.is_some();
                if !aligned && !others {
                    tail = bursts.iter().copied().max().unwrap_or(1).saturating_sub(1).max(tail);
                }
            }
            let element = ctype::element(scalar);
            let short = if scalar == Scalar::String { "text" } else { element.trim_end_matches("_t") };
            let wide = if words > 1 { format!("x{words}") } else { String::new() };
            let more = if tail > 0 { format!("_{tail}") } else { String::new() };
            let apart = if shared.is_some() { "_shared" } else { "" };
            let name = format!("{}_fifo_{short}{wide}_{size}{more}{apart}", self.prefix);
            if self.ring_names.insert(name.clone()) {
                let indices = match shared {
                    None => "    uint32_t read;\n    uint32_t written;\n",
                    Some(_) => partition::INDICES,
                };
                let n_elements = (size + tail) * words;
                self.ring_text
                    .push_str(&format!("struct {name} {{\n{indices}    {element} tokens[{n_elements}];\n}};\n\n"));
            }
            let (_, target) = self.network.describe(connection);
            let (source, _) = self.network.describe(connection);
            let field = fields.fresh(&format!("{}_to_{}", identifier(&source), identifier(&target)));
            let ring = Ring { name, scalar, size, capacity, read_aligned, write_aligned, shared };
            self.rings.push(Fifo { field, ring });
        }
    }

    fn bursts(&self, connection: &Connection) -> (Vec<u64>, Vec<u64>) {
        let mut reads = Vec::new();
        let mut writes = Vec::new();
        if let Endpoint::Instance(instance, port) = connection.target {
            let actor = self.network.actor_of(instance);
            reads.extend(actor.actions.iter().map(|action| action.consumed(port)).filter(|&n| n > 0));
        }
        if let Endpoint::Instance(instance, port) = connection.source {
            let actor = self.network.actor_of(instance);
            let all = actor.actions.iter().chain(&actor.initializers);
            writes.extend(all.map(|action| action.produced(port)).filter(|&n| n > 0));
        }
        (reads, writes)
    }

    fn wiring(&self, instance: InstanceId) -> Wiring {
        let actor = self.network.actor_of(instance);
        let mut wiring =
            Wiring { inputs: vec![None; actor.inputs.len()], outputs: vec![Vec::new(); actor.outputs.len()] };
        for (connection, fifo) in self.network.connections.iter().zip(&self.rings) {
            if let Endpoint::Instance(target, port) = connection.target
                && target == instance
            {
                wiring.inputs[port] = Some(fifo.ring.clone());
            }
            if let Endpoint::Instance(source, port) = connection.source
                && source == instance
            {
                let back = connection_target(connection, instance);
                wiring.outputs[port].push(Reader { ring: fifo.ring.clone(), via: connection.via.clone(), back });
            }
        }
        wiring
    }

    /// The FIFOs of an instance in the order of the parameters of its scheduler.
    pub(super) fn arguments(&self, instance: InstanceId) -> Vec<String> {
        let actor = self.network.actor_of(instance);
        let mut inputs = vec![None; actor.inputs.len()];
        let mut outputs = vec![Vec::new(); actor.outputs.len()];
        for (connection, fifo) in self.network.connections.iter().zip(&self.rings) {
            let text = format!("&context->{}", fifo.field);
            if connection_target(connection, instance).is_some_and(|port| {
                inputs[port] = Some(text.clone());
                true
            }) { /* recorded */ }
            if let Endpoint::Instance(source, port) = connection.source
                && source == instance
            {
                outputs[port].push(text);
            }
        }
        inputs.into_iter().flatten().chain(outputs.into_iter().flatten()).collect()
    }

    pub(super) fn news_words(&self) -> usize {
        self.network.instances.len().div_ceil(64).max(1)
    }

    fn context(&self, plans: &[Plan<'_>], out: &mut String) {
        let prefix = self.prefix;
        out.push_str(&format!(
            "/* The whole state of a network. Its fields are not part of the interface. */\nstruct {prefix} {{\n"
        ));
        if let Some(mapping) = self.mapping {
            self.partition_fields(mapping, plans, out);
        } else {
            out.push_str(&format!(
                "    struct headrace_control control;\n    uint64_t news[{}]; /* instances that something happened to since they last ran */\n",
                self.news_words()
            ));
            for at in 0..self.network.instances.len() {
                self.instance_field(at, plans, "", out);
            }
            for fifo in &self.rings {
                out.push_str(&format!("    struct {} {};\n", fifo.ring.name, fifo.field));
            }
            out.push_str(&self.profile_fields());
        }
        out.push_str("};\n\n");
    }

    pub(super) fn instance_field(&self, at: usize, plans: &[Plan<'_>], align: &str, out: &mut String) {
        let instance = &self.network.instances[at];
        let ty = &plans[instance.actor.index()].prefix;
        out.push_str(&format!("    {align}struct {ty} i{at}; /* {} */\n", comment(&instance.name)));
    }

    fn functions(
        &self,
        plans: &[Plan<'_>],
        runs: &[(String, bool)],
        declarations: &mut String,
        definitions: &mut String,
    ) {
        let cold = self.options.attribute();
        let prefix = self.prefix;
        self.init(plans, declarations, definitions);
        let mut writes = Vec::new();
        for (at, port) in self.network.inputs.iter().enumerate() {
            writes.push(self.write(at, &port.name, port.ty, plans, declarations, definitions));
        }
        let mut reads = Vec::new();
        for (at, port) in self.network.outputs.iter().enumerate() {
            reads.push(self.read(at, &port.name, port.ty, declarations, definitions));
        }
        match self.mapping {
            None => self.run(runs, declarations, definitions),
            Some(mapping) => self.partitioned_run(mapping, runs, declarations, definitions),
        }
        declarations.push_str(&format!(
            "/* Overwrites the context, which may hold keys; use `{prefix}_init` before using it again. */\nvoid {prefix}_clear(struct {prefix} *context);\n\n/* The network for those who handle many. */\nextern const struct headrace_network {prefix}_network;\n\n"
        ));
        definitions.push_str(&format!(
            "{cold}void {prefix}_clear(struct {prefix} *context) {{\n    hr_wipe(context, sizeof *context);\n}}\n\n"
        ));
        self.table(&writes, &reads, definitions);
    }

    fn init(&self, plans: &[Plan<'_>], declarations: &mut String, definitions: &mut String) {
        let cold = self.options.attribute();
        let prefix = self.prefix;
        declarations.push_str(&format!(
            "/* Prepares a context. `host` may be null for a network that neither prints nor calls natives; it must outlive\n   the context. */\nvoid {prefix}_init(struct {prefix} *context, const struct headrace_host *host);\n\n"
        ));
        definitions.push_str(&format!(
            "{cold}void {prefix}_init(struct {prefix} *context, const struct headrace_host *host) {{\n    memset(context, 0, sizeof *context);\n"
        ));
        match self.mapping {
            None => definitions.push_str(
                "    context->control.host = host;\n    memset(context->news, 0xff, sizeof context->news);\n",
            ),
            Some(mapping) => definitions.push_str(&self.partition_init(mapping)),
        }
        for (at, instance) in self.network.instances.iter().enumerate() {
            let plan = &plans[instance.actor.index()];
            if has_init(plan) {
                definitions.push_str(&format!("    {}_init(&context->i{at});\n", plan.prefix));
            }
        }
        definitions.push_str("}\n\n");
    }

    pub(super) fn declare_run(&self, declarations: &mut String) {
        let prefix = self.prefix;
        let exact = if self.options.count_firings {
            "at most `max_firings` times"
        } else {
            "and returns after `max_firings` rounds at the latest"
        };
        declarations.push_str(&format!(
            "/* Fires until nothing can fire, {exact}; returns a value of `enum headrace_status`. */\nuint32_t {prefix}_run(struct {prefix} *context, uint64_t max_firings);\n\n"
        ));
    }

    fn run(&self, runs: &[(String, bool)], declarations: &mut String, definitions: &mut String) {
        let cold = self.options.attribute();
        let prefix = self.prefix;
        let words = self.news_words();
        self.declare_run(declarations);
        definitions.push_str(&self.profile_functions());
        let mut text = format!(
            "{cold}uint32_t {prefix}_run(struct {prefix} *context, uint64_t max_firings) {{\n    struct headrace_control *const control = &context->control;\n    uint64_t news[{words}];\n    if (control->stopped != 0) {{\n        return control->stopped;\n    }}\n    control->budget = max_firings;\n    control->limited = 0;\n    memcpy(news, context->news, sizeof news);\n"
        );
        let any: Vec<String> = (0..words)
            .map(|word| {
                let all = self.mask_of_all(word);
                format!("(news[{word}] & {all}) != 0")
            })
            .collect();
        let any_stops = runs.iter().any(|(_, stops)| *stops);
        text.push_str(&format!("    while ({}) {{\n", any.join(" || ")));
        if !self.options.count_firings {
            text.push_str("        if (control->budget == 0) {\n            control->limited = 1;\n            break;\n        }\n        control->budget--;\n");
        }
        for at in topology::sources_first(self.network) {
            text.push_str(&self.visit(at, &runs[at], None));
        }
        text.push_str("        if (control->limited != 0) {\n            break;\n        }\n    }\n");
        if any_stops {
            text.push_str("stopped:\n");
        }
        text.push_str("    if (control->limited != 0) {\n        memset(news, 0xff, sizeof news);\n    }\n    memcpy(context->news, news, sizeof news);\n    if (control->stopped != 0) {\n        return control->stopped;\n    }\n    return control->limited != 0 ? HEADRACE_LIMIT : HEADRACE_IDLE;\n}\n\n");
        definitions.push_str(&text);
    }

    fn mask_of_all(&self, word: usize) -> String {
        let n = self.network.instances.len();
        let here = n.saturating_sub(64 * word).min(64);
        let mask = if here == 64 { u64::MAX } else { (1u64 << here) - 1 };
        format!("UINT64_C({mask:#x})")
    }

    /// What `inspect` says of FIFOs and instances, which begin with what it asks for.
    fn inspected(&self) -> String {
        let prefix = self.prefix;
        let mut text = String::new();
        let fifos: Vec<String> = self.rings.iter().map(|fifo| fifo.field.clone()).collect();
        match self.rings.iter().all(|fifo| fifo.ring.shared.is_none()) {
            true => text += &for_pairs(prefix, "fifos", &fifos, "        fills[i] = pair[1] - pair[0];\n"),
            false => {
                for (at, fifo) in self.rings.iter().enumerate() {
                    text.push_str(&format!("    fills[{at}] = {};\n", fifo.fill()));
                }
            }
        }
        let instances: Vec<String> = (0..self.network.instances.len()).map(|at| format!("i{at}")).collect();
        let told = "        states[i] = pair[0];\n        blocked[i] = pair[1];\n";
        text + &for_pairs(prefix, "instances", &instances, told)
    }

    fn table(&self, writes: &[String], reads: &[String], definitions: &mut String) {
        let cold = self.options.attribute();
        let prefix = self.prefix;
        let mut text = format!(
            "{cold}static void {prefix}_any_init(void *context, const struct headrace_host *host) {{\n    {prefix}_init((struct {prefix} *)context, host);\n}}\n\n"
        );
        for (what, functions, constant) in [("write", writes, "const "), ("read", reads, "")] {
            text.push_str(&format!(
                "{cold}static size_t {prefix}_any_{what}(void *context, uint32_t port, {constant}void *tokens, size_t n_tokens) {{\n"
            ));
            if functions.is_empty() {
                text.push_str(
                    "    (void)context;\n    (void)port;\n    (void)tokens;\n    (void)n_tokens;\n    return 0;\n}\n\n",
                );
                continue;
            }
            text.push_str("    switch (port) {\n");
            for (at, function) in functions.iter().enumerate() {
                text.push_str(&format!(
                    "    case {at}: return {function}((struct {prefix} *)context, ({constant}unsigned char *)tokens, n_tokens);\n"
                ));
            }
            text.push_str("    default: return 0;\n    }\n}\n\n");
        }
        text.push_str(&format!(
            "{cold}static uint32_t {prefix}_any_run(void *context, uint64_t max_firings) {{\n    return {prefix}_run((struct {prefix} *)context, max_firings);\n}}\n\n{cold}static void {prefix}_any_clear(void *context) {{\n    {prefix}_clear((struct {prefix} *)context);\n}}\n\n"
        ));
        text.push_str(&format!(
            "{cold}static void {prefix}_any_inspect(const void *any, uint32_t *fills, uint32_t *states, uint32_t *blocked) {{\n    const struct {prefix} *const context = (const struct {prefix} *)any;\n    (void)context;\n    (void)fills;\n    (void)states;\n    (void)blocked;\n"
        ));
        text.push_str(&self.inspected());
        text.push_str("}\n\n");
        text.push_str(&format!(
            "{cold}static void {prefix}_any_firings(const void *any, uint64_t *counts) {{\n    const struct {prefix} *const context = (const struct {prefix} *)any;\n    (void)context;\n    (void)counts;\n"
        ));
        let mut at_count = 0;
        for (at, instance) in self.network.instances.iter().enumerate() {
            let n = self.network.actors[instance.actor.index()].actions.len();
            if n == 0 {
                continue;
            }
            if self.options.count_firings {
                text.push_str(&format!(
                    "    memcpy(counts + {at_count}, context->i{at}.firings, sizeof context->i{at}.firings);\n"
                ));
            } else {
                text.push_str(&format!("    memset(counts + {at_count}, 0, {n} * sizeof *counts);\n"));
            }
            at_count += n;
        }
        text.push_str("}\n\n");
        let control = match self.mapping {
            None => format!("    return &((const struct {prefix} *)context)->control;\n"),
            Some(mapping) => self.stopped_control(mapping),
        };
        text.push_str(&format!(
            "static const struct headrace_control *{prefix}_any_control(const void *context) {{\n{control}}}\n\n"
        ));
        text.push_str(&format!(
            "const struct headrace_network {prefix}_network = {{\n    {}, sizeof(struct {prefix}), _Alignof(struct {prefix}),\n    {prefix}_any_init, {prefix}_any_write, {prefix}_any_read, {prefix}_any_run, {prefix}_any_clear,\n    {prefix}_any_inspect, {prefix}_any_firings, {prefix}_any_control, NULL, NULL, NULL, NULL\n}};\n",
            ctype::text_literal(&self.network.name)
        ));
        definitions.push_str(&text);
    }
}

/// Statements for each place among `places` of a context, which begins with two words, `pair[0]` and `pair[1]`: shorter than
/// statements for each.
fn for_pairs(context: &str, list: &str, places: &[String], statements: &str) -> String {
    if places.is_empty() {
        return String::new();
    }
    let offsets: Vec<String> = places.iter().map(|place| format!("offsetof(struct {context}, {place})")).collect();
    format!(
        "    static const uint32_t {list}[] = {{{}}};\n    for (size_t i = 0; i < sizeof {list} / sizeof *{list}; i++) {{\n        uint32_t pair[2];\n        memcpy(pair, (const unsigned char *)any + {list}[i], sizeof pair);\n{statements}    }}\n",
        offsets.join(", ")
    )
}

fn connection_target(connection: &Connection, instance: InstanceId) -> Option<usize> {
    match connection.target {
        Endpoint::Instance(target, port) if target == instance => Some(port),
        _ => None,
    }
}

fn news(instance: usize) -> String {
    format!("context->news[{}] |= UINT64_C({:#x});", instance / 64, 1u64 << (instance % 64))
}

/// True when bursts of these sizes never reach across the end of a ring.
fn aligned(bursts: &[u64], size: u64) -> bool {
    let Some(&first) = bursts.first() else { return true };
    bursts.iter().all(|&burst| burst == first) && first.is_power_of_two() && size >= first
}
