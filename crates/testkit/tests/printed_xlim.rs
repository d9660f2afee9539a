//! Networks written in XLIM, read again and executed by what knows nothing of the writer: they must show what the interpreter
//! shows.

#[expect(dead_code, reason = "each test uses a part of it")]
#[path = "../../interp/tests/text/mod.rs"]
mod text;

mod support;

use headrace_engine::Engine;
use headrace_exchange::Running;
use headrace_interp::Order;
use headrace_ir::{DEFAULT_FIFO_TOKENS, Network};
use headrace_library::catalog::OperationSpec;
use headrace_library::samples;
use headrace_source::{Diagnostic, FileId, Span};
use headrace_syntax::ast::Entity;
use headrace_syntax::xdf;
use headrace_targets::Options;
use headrace_targets::project::Files;
use headrace_targets::xlim::project::of_network;
use headrace_testkit::differential::{Stopped, difference, interpreted, observe, program};
use headrace_testkit::generate::{Cuts, Knobs, generate};
use headrace_testkit::peers::library::Shipped;
use headrace_xlim::{Design, XlimEngine, XlimNetwork, read};
use std::sync::Arc;

/// Random networks, unless `HEADRACE_PRINTED_CASES` asks for more, from the seed `HEADRACE_PRINTED_FIRST` on.
const CASES: u64 = 40;

/// Instructions of one run.
const STEPS: u64 = 50_000_000;

fn messages(problems: &[Diagnostic]) -> String {
    problems.iter().map(|problem| problem.message.clone()).collect::<Vec<_>>().join("; ")
}

/// What lies in a folder, as a network that runs.
fn engine(files: &Files) -> Result<XlimEngine, String> {
    let text = |name: &str| String::from_utf8(files[name].clone()).expect("text");
    let (tree, problems) = xdf::read(FileId(0), "network", &text("network.xdf"));
    let Some(Entity::Network(network)) = tree.map(|tree| tree.entity) else { return Err(messages(&problems)) };
    let mut design = |class: &str, _: Span| -> Result<Design, Vec<Diagnostic>> {
        let text = text(&format!("{class}.xlim"));
        let (design, problems) = read(FileId(0), &text);
        design.ok_or_else(|| {
            let at = problems.first().and_then(|problem| problem.primary.as_ref()).map_or(0, |label| label.span.start);
            println!("{class}: {}", &text[at as usize..(at as usize + 200).min(text.len())]);
            problems
        })
    };
    let network = XlimNetwork::of_xdf(&network, &mut design).map_err(|problems| messages(&problems))?;
    Ok(XlimEngine::new(network, headrace_xlim::Options { fifo_tokens: DEFAULT_FIFO_TOKENS, step_limit: Some(STEPS) }))
}

fn written(network: &Network, fifo_tokens: u32) -> Result<Files, Vec<Diagnostic>> {
    of_network(network, None, &Options { fifo_tokens, ..Options::default() })
}

/// Whether the network was compared; it is not where the format lacks something.
fn random_case(seed: u64) -> Result<bool, String> {
    let knobs = Knobs { prints: false, ..Knobs::default() };
    let case = generate(seed, &knobs);
    let network = Arc::new(program::elaborate(&case, &Cuts::default()).map_err(|verdict| verdict.to_string())?);
    let fifo_tokens = if seed.is_multiple_of(2) { DEFAULT_FIFO_TOKENS } else { 1 + (seed / 2 % 8) as u32 };
    let files = match written(&network, fifo_tokens) {
        Ok(files) => files,
        Err(problems) if problems.iter().all(|problem| problem.message.starts_with("XLIM cannot express")) => {
            return Ok(false);
        }
        Err(problems) => return Err(messages(&problems)),
    };
    let mut engine = engine(&files)?;
    let mut shown = observe(&mut engine, &network, &case.inputs).map_err(|stopped| match stopped {
        Stopped::Trapped(message) => message,
        Stopped::RanAway => "ran away".to_owned(),
    })?;
    let mut expected = interpreted::interpret(&network, &case.inputs, Order::RoundRobin, fifo_tokens, false)
        .map_err(|verdict| verdict.to_string())?;
    // Initialisers and actors that convert fire too; how far a run gets that lacks room is up to the sizes of all FIFOs.
    shown.firings.clear();
    expected.firings.clear();
    shown.lacks_room = expected.lacks_room;
    match difference(&expected, &shown, !expected.lacks_room) {
        Some(text) => Err(text),
        None => Ok(true),
    }
}

#[test]
fn random_networks_show_what_the_interpreter_shows() {
    let asked = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let first: u64 = asked("HEADRACE_PRINTED_FIRST").unwrap_or(0);
    let cases = asked("HEADRACE_PRINTED_CASES").unwrap_or(CASES);
    let mut compared = 0;
    let mut failures = Vec::new();
    for seed in first..first + cases {
        match random_case(seed) {
            Ok(was) => compared += u64::from(was),
            Err(why) => failures.push(format!("seed {seed}: {why}")),
        }
    }
    println!("{compared} of {cases} networks were compared");
    assert!(failures.is_empty(), "{} fail:\n{}", failures.len(), failures.join("\n"));
    assert!(compared * 2 >= cases, "only {compared} of {cases} networks can be written");
}

/// The first messages of an operation, on both.
fn operation(shipped: &Shipped, spec: &OperationSpec) -> Result<(), String> {
    let network = shipped.network(spec, &spec.variants[0].name)?;
    let files = written(&network, DEFAULT_FIFO_TOKENS).map_err(|problems| messages(&problems))?;
    for message in samples::messages(spec).iter().take(2) {
        let wanted = support::running(spec, &network).perform(message);
        let shown = Running::new(spec, &network, Box::new(engine(&files)?) as Box<dyn Engine>).perform(message);
        if shown != wanted {
            return Err(format!("{shown:?} and not {wanted:?}"));
        }
    }
    Ok(())
}

#[test]
fn operations_of_several_shapes_show_what_the_interpreter_shows() {
    let shipped = Shipped::read(&text::repository()).expect("the library");
    let mut failures = Vec::new();
    for (set, name) in [
        ("hex", "encode"),
        ("aes128", "encrypt"),
        ("aes128", "cbc-pad-decrypt"),
        ("sha256", "hash"),
        ("chacha20", "stream"),
        ("aes128-cmac", "mac"),
        ("ascon-aead128", "aead-decrypt"),
        ("lfsr16-galois", "generate"),
    ] {
        let found = shipped.library.operations().iter().find(|spec| spec.set == set && spec.name == name);
        let Some(spec) = found else {
            let own = shipped.library.operations().iter().filter(|spec| spec.set == set);
            let names: Vec<&str> = own.map(|spec| spec.name.as_str()).collect();
            failures.push(format!("{set} has no {name}; it has {names:?}"));
            continue;
        };
        if let Err(why) = operation(&shipped, spec) {
            failures.push(format!("{set} {name}: {why}"));
        }
    }
    assert!(failures.is_empty(), "{} fail:\n{}", failures.len(), failures.join("\n"));
}
