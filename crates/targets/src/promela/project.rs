//! Packaging. Projects: models, with what runs Spin on them.

use super::environment;
use super::model::{model, order_matters};
use crate::options::Options;
use crate::project::{Files, KnownAnswer, OnOperation, Recording};
use headrace_analysis::actor_automata::environment::Environment;
use headrace_analysis::actor_automata::{Abstraction, Fifo, analyse};
use headrace_ir::Network;
use headrace_library::catalog::OperationSpec;
use headrace_program::names::identifier;
use headrace_source::Diagnostic;
use std::fmt::Write as _;

/// Runs Spin.
const CHECK: &str = include_str!("../../../../runtime/promela/check.sh");

/// Bytes of a state that a model may have beside its FIFOs.
const BESIDE_FIFOS: u64 = 4096;

/// A model among those of a project.
struct Model {
    name: String,
    /// What is checked beside the absence of deadlock, and with which switches.
    switches: &'static str,
    text: String,
    vector_bytes: u64,
    about: String,
}

fn head(network: &Network, environment: &Environment, abstraction: &Abstraction, command: &str) -> String {
    let mut text = format!(
        "/* Made by `{}`. Changes here will be lost.\n   The network {}",
        command.replace('\n', " "),
        network.name
    );
    let unlimited: Vec<&str> = (network.inputs.iter().zip(&environment.unlimited))
        .filter(|(_, unlimited)| **unlimited)
        .map(|(port, _)| port.name.as_str())
        .collect();
    let n = environment.messages.len();
    let _ = match (n, unlimited.is_empty()) {
        (0, true) => write!(text, ", which takes nothing in"),
        (0, false) => write!(text, ", with any number of tokens at {}", unlimited.join(", ")),
        (_, true) => write!(text, ", with any messages of {n} kinds one after another"),
        (_, false) => write!(
            text,
            ", with any messages of {n} kinds one after another, and any number of tokens at {}",
            unlimited.join(", ")
        ),
    };
    text.push_str(". Data have no values here.");
    if !abstraction.unknown.is_empty() {
        let _ = write!(
            text,
            "\n   They decide, but have too many values to be told apart: {}.",
            abstraction.unknown.join(", ")
        );
    }
    // What comes from elsewhere must not end the comment.
    let inner = text[2..].replace("*/", "* /");
    format!("/*{inner} */\n\n")
}

fn of(
    network: &Network,
    environment: &Environment,
    name: &str,
    about: String,
    options: &Options,
) -> Result<Model, Vec<Diagnostic>> {
    let abstraction = analyse(network, environment, options.fifo_tokens)?;
    let head = head(network, environment, &abstraction, &options.command);
    let bytes = |fifo: &Fifo| 4 + if fifo.values.is_some() { fifo.capacity } else { 0 };
    let vector_bytes = abstraction.fifos.iter().flatten().map(bytes).sum::<u64>() + BESIDE_FIFOS;
    let switches = if order_matters(network) { " -DEVERY_ORDER" } else { "" };
    let text = model(&head, network, environment, &abstraction);
    Ok(Model { name: identifier(name), switches, text, vector_bytes, about })
}

fn project(title: &str, models: Vec<Model>, options: &Options) -> Files {
    let mut files = Files::new();
    let made = format!("# Made by `{}`. Changes here will be lost.\n\n", options.command.replace('\n', " "));
    let names: Vec<&str> = models.iter().map(|model| model.name.as_str()).collect();
    let vector = models.iter().map(|model| model.vector_bytes).max().unwrap_or(BESIDE_FIFOS);
    let mut rules = String::new();
    for model in &models {
        let _ = write!(
            rules,
            "deadlock-{name}:\n\t@sh check.sh deadlock {name} $(SWITCHES)\n\n\
             overflow-{name}:\n\t@sh check.sh overflow {name}{} $(SWITCHES)\n\n",
            model.switches,
            name = model.name
        );
    }
    let of = |what: &str| names.iter().map(|name| format!("{what}-{name}")).collect::<Vec<_>>().join(" ");
    let makefile = format!(
        "{made}# make test: no deadlock; make overflow: FIFOs hold what is written where writers do not wait.\n\
         # SWITCHES: -DEVERY_ORDER, -DMESSAGES=N, -DTOKENS=N; check.sh says what they are.\n\
         export VECTOR ?= {vector}\n\ntest: {deadlock}\n\noverflow: {overflow}\n\n{rules}clean:\n\trm -rf build\n\n\
         .PHONY: test overflow clean {deadlock} {overflow}\n",
        deadlock = of("deadlock"),
        overflow = of("overflow"),
    );
    let mut listed = String::new();
    for model in &models {
        let _ = writeln!(listed, "* `{}.pml`: {}", model.name, model.about);
    }
    let readme = format!(
        "# {title}\n\nModels in PROMELA, made by `{}`. Spin and a C compiler check them:\n\n\
         ```\nmake test        # no deadlock\n\
         make overflow    # FIFOs hold what is written where writers do not wait\n```\n\n{listed}\n\
         ## What is modelled\n\n\
         Each actor is a process, each FIFO a number of tokens that it may hold. Only what decides which action fires has values:\n\
         states of FSMs, some variables, and tokens like sizes and round numbers. All other data have none, and where a choice\n\
         depends on them, either way is gone. A choice of messages comes in, one after another in any order, any number of them;\n\
         their strings may hold anything. What comes out is taken at once.\n\n\
         A *deadlock* is a stop at which tokens that come in find no room, an action that is enabled waits for room, or actors\n\
         wait for tokens from each other in a cycle. A network at which nothing more comes in may stop otherwise, and one with\n\
         a source that never waits does not stop at all. Models do\n\
         all that their networks do, so none in a model is none in the network, with these messages and sizes of FIFOs. A\n\
         deadlock that depends on choices of data may be one of the model alone: `headrace analyze NETWORK --firings FILE`\n\
         runs the network with the same messages and says whether it stops.\n\n\
         Firings of two actors lead to the same state in either order unless an actor chooses by what has come so far, so not\n\
         every order is looked at; `SWITCHES=-DEVERY_ORDER` does that, where there is time and memory.\n\n\
         An *overflow* is asked of writers that do not wait, as in hardware without back pressure, with one reader, any,\n\
         slower than all else, and a number of messages (`SWITCHES=-DMESSAGES=3`).\n\n\
         ## What comes of it\n\n\
         `build/MODEL-deadlock.firings` has the way to a deadlock: `message N` and `give PORT N` for what comes in, `fire\n\
         INSTANCE.ACTION`, `find INSTANCE true: CONDITION` where a choice depends on data; after `rest` what is left in which FIFO\n\
         (`left`), what waits for room (`room`) or tokens (`wait`: those that are there, those needed), inputs that found no\n\
         room (`undelivered`), and who waits in a cycle (`cycle`).\n",
        options.command.replace('\n', " ")
    );
    for model in models {
        files.insert(format!("{}.pml", model.name), model.text.into_bytes());
    }
    files.insert("check.sh".into(), CHECK.into());
    files.insert("Makefile".into(), makefile.into_bytes());
    files.insert("README.md".into(), readme.into_bytes());
    files
}

/// A model of a network. No run of it is needed.
///
/// # Errors
///
/// Actors that are too large to be modelled, with their places.
pub fn of_network(
    network: &Network,
    _recording: Option<&Recording>,
    options: &Options,
) -> Result<Files, Vec<Diagnostic>> {
    let short = network.name.rsplit('.').next().unwrap_or(&network.name);
    let about = format!("the network `{}`", network.name);
    let model = of(network, &environment::of_network(network), short, about, options)?;
    Ok(project(short, vec![model], options))
}

/// Models of operations, each with messages as its manifest says.
///
/// # Errors
///
/// Actors that are too large to be modelled, with their places.
pub fn of_operations(
    name: &str,
    title: &str,
    operations: &[(&OperationSpec, &Network)],
    _known: &[KnownAnswer],
    options: &Options,
    told: &OnOperation<'_>,
) -> Result<Files, Vec<Diagnostic>> {
    let mut models = Vec::new();
    let mut problems = Vec::new();
    for (spec, network) in operations {
        told(spec, None);
        let about = format!("`{}`, the network `{}`", spec.full_name(), network.name);
        match of(network, &environment::of_operation(spec, network), &spec.name, about, options) {
            Ok(model) => models.push(model),
            Err(found) => problems.extend(found),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(project(&format!("{title} ({name})"), models, options))
}
