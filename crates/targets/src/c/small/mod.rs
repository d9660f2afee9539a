//! A network as small C, for microcontrollers: each instance is a function that fires once, and a loop calls them until nothing
//! fires any more.
//!
//! There is no automaton beside it and no ring: a FIFO is an array with a count, as long as it ever gets, and lies on the stack of
//! the call where it is empty whenever the network rests. Strings that come in whole are read where the caller has them, and
//! what comes out goes to where the caller wants it.
//!
//! | file | what is settled there |
//! | --- | --- |
//! | `fifos` | where the tokens of each connection lie |
//! | `firing` | the function of an instance |

mod fifos;
mod firing;

use super::network::{actor_functions, actor_init, has_init};
use super::plan::{Plan, Tables};
use super::{Options, PlaceTable, ctype, names::Names};
pub(crate) use fifos::{Fifo, Lies, Place};
use headrace_analysis::topology;
use headrace_ir::Network;
use headrace_library::catalog::OperationSpec;
use headrace_source::Diagnostic;
use rustc_hash::FxHashSet;
use std::cell::RefCell;
use std::fmt::Write as _;

/// What a FIFO held while typical messages went through its network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fill {
    /// The most tokens at once.
    pub most: u64,
    /// The most tokens while the network rested: between the calls of its user.
    pub at_rest: u64,
}

/// Who lets networks run to see what their FIFOs hold.
pub trait Fills: std::fmt::Debug + Send + Sync {
    /// What each FIFO of the network of an operation holds, in the order of its connections, if its functions are called with
    /// typical messages in any pieces.
    ///
    /// # Errors
    ///
    /// Why that cannot be told, as a sentence without a full stop.
    fn of_operation(&self, spec: &OperationSpec, network: &Network) -> Result<Vec<Fill>, String>;
}

/// Which ports of a network the functions of an operation leave out of account, by their positions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ports {
    /// Input ports whose tokens are bytes that the caller has in one piece.
    pub(crate) strings: Vec<usize>,
    /// Output ports of which nobody wants the tokens.
    pub(crate) dropped: Vec<usize>,
}

/// A printed network.
pub(crate) struct PrintedSmall {
    /// Types.
    pub(crate) declarations: String,
    /// Definitions.
    pub(crate) definitions: String,
    /// Where the tokens of each connection lie.
    pub(crate) fifos: Vec<Fifo>,
    /// Bytes of the stack that the buffers of a call take.
    pub(crate) flow_bytes: u64,
}

/// Prints the network of an operation; names of functions and types begin with `prefix`. `PREFIX_run` gives whether all that
/// was given has been taken.
pub(crate) fn print(
    network: &Network,
    prefix: &str,
    options: &Options,
    fills: &[Fill],
    ports: &Ports,
    places: &RefCell<PlaceTable>,
    diagnostics: &RefCell<Vec<Diagnostic>>,
) -> PrintedSmall {
    let mut names = Names::default();
    for taken in ["init", "run", "clear", "flow"] {
        names.fresh(&format!("{prefix}_{taken}"));
    }
    names.fresh(prefix);
    let mut tables = Tables::default();
    let fifos = fifos::lay_out(network, fills, ports);
    let mut plans = Vec::new();
    let mut texts = Vec::new();
    for actor in &network.actors {
        let short = actor.class.rsplit('.').next().unwrap_or(&actor.class);
        let actor_prefix = names.fresh_actor(&format!("{prefix}_{short}"));
        let mut plan = Plan::new(actor, options, actor_prefix, places, diagnostics, &mut names, &mut tables);
        texts.push(actor_functions(actor, &mut plan, &mut names));
        plans.push(plan);
    }
    let functions: Vec<String> =
        network.instances.iter().map(|instance| names.fresh(&format!("{prefix}_fire_{}", instance.name))).collect();
    let mut fired = Vec::new();
    for (at, instance) in network.instances.iter().enumerate() {
        let plan = &plans[instance.actor.index()];
        let text = &texts[instance.actor.index()];
        let function = firing::function(network, at, plan, text, &fifos, prefix, &functions[at]);
        if function.uses_control {
            diagnostics.borrow_mut().push(
                Diagnostic::error(
                    "unsupported-by-target",
                    format!("`{}` calls natives, prints or calls itself, which small C does not have", instance.name),
                )
                .at(instance.span, "of this instance"),
            );
        }
        fired.push(function.text);
    }
    let mut declarations = String::new();
    let mut definitions = String::new();
    for (at, (plan, text)) in plans.iter().zip(&texts).enumerate() {
        declarations.push_str(&actor_types(plan));
        let own: String = network
            .instances
            .iter()
            .zip(&fired)
            .filter(|(instance, _)| instance.actor.index() == at)
            .map(|(_, text)| text.as_str())
            .collect();
        definitions.push_str(&text.functions.called_by(&own));
        definitions.push_str(&actor_init(plan));
    }
    context(network, prefix, &plans, &fifos, &mut declarations);
    let flow_bytes = flow(prefix, &fifos, &mut declarations);
    fired.iter().for_each(|text| definitions.push_str(text));
    run(network, prefix, &plans, &fifos, &functions, &mut definitions);
    let words: FxHashSet<&str> = super::code::words_of(&definitions).collect();
    let tables = tables.definitions.into_iter().filter(|(name, _)| words.contains(name.as_str()));
    let definitions = tables.map(|(_, definition)| definition).collect::<String>() + &definitions;
    PrintedSmall { declarations, definitions, fifos, flow_bytes }
}

/// Whether an instance has anything to keep.
fn is_kept(plan: &Plan<'_>) -> bool {
    plan.actor.schedule.states.len() > 1
        || !plan.actor.initializers.is_empty()
        || plan.has_scalars()
        || plan.has_lists()
}

fn actor_types(plan: &Plan<'_>) -> String {
    let prefix = &plan.prefix;
    let mut text = String::new();
    if plan.has_scalars() {
        let _ = writeln!(text, "struct {prefix}_scalars {{");
        // Wide ones first, so that little lies unused between them.
        let mut fields: Vec<&(String, usize)> = plan.scalar_fields.iter().collect();
        fields.sort_by_key(|(_, at)| {
            let element = plan.actor.variables[*at].ty.element;
            std::cmp::Reverse(ctype::element_bytes(element))
        });
        for (name, at) in fields {
            let _ = writeln!(text, "    {};", ctype::declaration(&plan.actor.variables[*at].ty, name));
        }
        text.push_str("};\n\n");
    }
    if plan.has_lists() {
        let _ = writeln!(text, "struct {prefix}_lists {{");
        for field in plan.list_fields.borrow().iter() {
            let _ = writeln!(text, "    {field};");
        }
        text.push_str("};\n\n");
    }
    if !is_kept(plan) {
        return text;
    }
    let _ = writeln!(text, "struct {prefix} {{");
    if plan.has_scalars() {
        let _ = writeln!(text, "    struct {prefix}_scalars scalars;");
    }
    if plan.actor.schedule.states.len() > 1 {
        let bits = if plan.actor.schedule.states.len() > 256 { 16 } else { 8 };
        let _ = writeln!(text, "    uint{bits}_t state;");
    }
    if !plan.actor.initializers.is_empty() {
        text.push_str("    uint8_t started;\n");
    }
    if plan.has_lists() {
        let _ = writeln!(text, "    struct {prefix}_lists lists;");
    }
    text.push_str("};\n\n");
    text
}

fn context(network: &Network, prefix: &str, plans: &[Plan<'_>], fifos: &[Fifo], out: &mut String) {
    let _ = writeln!(
        out,
        "/* What a network keeps between calls. Its fields are not part of the interface. */\nstruct {prefix} {{"
    );
    for (at, instance) in network.instances.iter().enumerate() {
        let plan = &plans[instance.actor.index()];
        if is_kept(plan) {
            let _ = writeln!(out, "    struct {} i{at}; /* {} */", plan.prefix, super::scheduler::comment(&instance.name));
        }
    }
    let kept: Vec<&Fifo> = fifos.iter().filter(|fifo| fifo.place() == Some(Place::Kept)).collect();
    kept.iter().for_each(|fifo| out.push_str(&fifo.tokens_field()));
    if !kept.is_empty() {
        let counts: String = kept.iter().map(|fifo| fifo.count_field()).collect();
        let _ = writeln!(out, "    struct {{\n{counts}    }} n;");
    }
    out.push_str("    uint8_t made; /* nothing may be kept */\n};\n\n");
}

/// The buffers of one call; gives how many bytes they have.
fn flow(prefix: &str, fifos: &[Fifo], out: &mut String) -> u64 {
    let mut bytes = 0;
    let _ = writeln!(out, "/* What it needs during one. */\nstruct {prefix}_flow {{");
    for fifo in fifos {
        if let Some(field) = fifo.window_field() {
            bytes += 8;
            out.push_str(&field);
        }
    }
    let passing: Vec<&Fifo> = fifos.iter().filter(|fifo| fifo.place() == Some(Place::Passing)).collect();
    out.push_str("    struct {\n        uint8_t none; /* there may be no others */\n");
    passing.iter().for_each(|fifo| out.push_str(&fifo.count_field()));
    out.push_str("    } n;\n");
    // What is addressed most often lies where short instructions reach.
    let mut by_size = passing.clone();
    by_size.sort_by_key(|fifo| fifo.bytes());
    for fifo in by_size {
        bytes += fifo.bytes() + 1;
        out.push_str(&fifo.tokens_field());
    }
    out.push_str("};\n\n");
    bytes
}

fn run(
    network: &Network,
    prefix: &str,
    plans: &[Plan<'_>],
    fifos: &[Fifo],
    functions: &[String],
    out: &mut String,
) {
    let _ = writeln!(
        out,
        "static void {prefix}_init(struct {prefix} *c) {{\n    memset(c, 0, sizeof *c);"
    );
    for (at, instance) in network.instances.iter().enumerate() {
        let plan = &plans[instance.actor.index()];
        if has_init(plan) {
            let _ = writeln!(out, "    {}_init(&c->i{at});", plan.prefix);
        }
    }
    out.push_str("}\n\n");
    let _ = writeln!(
        out,
        "/* Fires as long as anything can. Gives whether what was given has been taken. */\nstatic bool {prefix}_run(struct {prefix} *c, struct {prefix}_flow *f) {{\n    bool again;\n    do {{\n        again = false;"
    );
    for at in topology::sources_first(network) {
        let _ = writeln!(
            out,
            "        while ({}(c, f)) {{\n            again = true;\n        }}",
            functions[at]
        );
    }
    let empty: Vec<String> = fifos
        .iter()
        .filter(|fifo| fifo.place() == Some(Place::Passing) || fifo.is_input_window())
        .map(Fifo::count)
        .collect();
    let _ = writeln!(
        out,
        "    }} while (again);\n    return ({}) == 0;\n}}\n",
        if empty.is_empty() { "0".to_owned() } else { empty.join(" | ") }
    );
}
