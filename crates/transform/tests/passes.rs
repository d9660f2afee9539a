//! File tests of passes: what passes make of a loop or of effects, as text.
//!
//! A file of `tests/passes` has remarks and sections, each of which begins with a line `== …`:
//!
//! ```text
//! == passes: sink-complements majority-cse        or: == pipeline: scalar-loop short
//! == instruction rotate-add                       of `select-instructions`: a loop whose input ports are the operands
//! == input
//! == expected
//! ```
//!
//! Here each input is verified, the passes run, what comes out is compared with what is expected, and both are run on random
//! tokens and elements. `BLESS=1 cargo test -p headrace-transform --test passes` writes what comes out.

use headrace_transform::kernel::evaluate::{World, run};
use headrace_transform::kernel::evidence::{agree, splitmix64};
use headrace_transform::kernel::graph::mask;
use headrace_transform::kernel::text::{read_block, read_loop};
use headrace_transform::kernel::verify::{verify_block, verify_loop};
use headrace_transform::kernel::{Block, Effect, Loop, Op};
use headrace_transform::passes;
use headrace_transform::passes::manager::{Manager, Moment};
use headrace_transform::passes::pass::{BlockRef, Code, Pass, Seen};
use headrace_transform::passes::pipelines::{self, Demand, Pipeline};
use headrace_transform::passes::select_instructions::{Choice, Meaning};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Draws of tokens and elements for effects.
const DRAWS: u64 = 8;

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/passes");
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).expect("it is there").map(|entry| entry.expect("it is there").path()).collect();
    files.sort();
    files
}

/// Sections of a file: the lines that they begin with, without `== `, and what stands in them.
fn sections(text: &str) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("== "), all.last_mut()) {
            (Some(head), _) => all.push((head.to_owned(), String::new())),
            (None, Some((_, text))) => text.extend([line, "\n"]),
            (None, None) => {}
        }
    }
    all
}

struct Case {
    passes: Vec<&'static Pass>,
    choice: Option<Choice>,
    input: Input,
    expected: String,
}

enum Input {
    Loop(Loop),
    Block(Block),
}

impl Input {
    fn read(text: &str) -> Input {
        if text.trim_start().starts_with("block") {
            let block = read_block(text).unwrap_or_else(|wrong| panic!("{wrong}"));
            assert_eq!(verify_block(&block), Vec::<String>::new());
            return Input::Block(block);
        }
        let body = read_loop(text).unwrap_or_else(|wrong| panic!("{wrong}"));
        assert_eq!(verify_loop(&body), Vec::<String>::new());
        Input::Loop(body)
    }

    fn seen(&self) -> Seen<'_> {
        match self {
            Input::Loop(body) => Seen::Loop(body),
            Input::Block(block) => Seen::Block(BlockRef::of(block)),
        }
    }

    /// Whether what passes made means the same.
    fn means(&self, made: &Code) -> bool {
        match (self, made) {
            (Input::Loop(old), Code::Loop(new)) => agree(old, new, 1, &|_, _| 0, &|_| {}),
            (Input::Loop(old), Code::Parts(parts)) => parts.agree_with(old),
            (Input::Block(old), Code::Block(new)) => (0..DRAWS).all(|seed| {
                let (mut meant, mut made) = (world(old, seed), world(old, seed));
                let own = new.objects.iter().skip(old.objects.len());
                made.objects.extend(own.map(|object| vec![0; object.length]));
                let runs = |block: &Block, world: &mut World| run(&block.graph, &block.effects, world, &mut 1_000_000);
                let both = runs(old, &mut meant) && runs(new, &mut made);
                made.objects.truncate(old.objects.len());
                both && meant.outputs == made.outputs && meant.objects == made.objects
            }),
            (Input::Loop(_), Code::Block(_)) | (Input::Block(_), Code::Loop(_) | Code::Parts(_)) => false,
        }
    }
}

/// Tokens that effects read, and elements.
fn world(block: &Block, seed: u64) -> World {
    let mut state = seed;
    let mut drawn =
        |width: u32| (u128::from(splitmix64(&mut state)) << 64 | u128::from(splitmix64(&mut state))) & mask(width);
    let mut world = World::default();
    for id in Effect::needed(&block.effects, &block.graph) {
        if let Op::Input { port, offset } = *block.graph.op(id) {
            let (port, at) = (port as usize, usize::try_from(offset).expect("tokens of this run"));
            world.inputs.resize(world.inputs.len().max(port + 1), Vec::new());
            let tokens = &mut world.inputs[port];
            tokens.resize(tokens.len().max(at + 1), 0);
            tokens[at] = drawn(block.graph.width(id));
        }
    }
    Effect::walk(&block.effects, &mut |effect| {
        if let Effect::Output { port, .. } = effect {
            world.outputs.resize(world.outputs.len().max(*port as usize + 1), Vec::new());
        }
    });
    world.consumed = vec![0; world.inputs.len()];
    world.objects = block.objects.iter().map(|one| (0..one.length).map(|_| drawn(one.width)).collect()).collect();
    world
}

fn meaning(name: &str, text: &str) -> Meaning {
    let body = read_loop(text).unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
    let operands = body.consumes.iter().map(|port| port.1).collect();
    Meaning { name: name.to_owned(), operands, result: body.outputs[0].2, graph: body.graph }
}

fn case(text: &str) -> Case {
    let sections = sections(text);
    let mut passes = Vec::new();
    let (mut meanings, mut input, mut expected) = (Vec::new(), None, String::new());
    for (head, text) in sections {
        if let Some(names) = head.strip_prefix("passes: ") {
            let pass = |name| Pass::named(name).unwrap_or_else(|| panic!("no pass {name}"));
            passes.extend(names.split_whitespace().map(pass));
        } else if let Some(pipeline) = head.strip_prefix("pipeline: ") {
            let (name, demands) = pipeline.split_once(' ').unwrap_or((pipeline, ""));
            let pipeline = Pipeline::named(name).unwrap_or_else(|| panic!("no pipeline {name}"));
            let demand = |word: &str| Demand::ALL.into_iter().find(|demand| demand.to_string() == word);
            let demands: Option<Vec<Demand>> = demands.split_whitespace().map(demand).collect();
            let demands = demands.unwrap_or_else(|| panic!("one of them is no demand"));
            passes.extend(pipeline.passes(&demands));
        } else if let Some(name) = head.strip_prefix("instruction ") {
            meanings.push(meaning(name, &text));
        } else {
            match head.as_str() {
                "input" => input = Some(Input::read(&text)),
                "expected" => expected = text,
                _ => panic!("no section {head}"),
            }
        }
    }
    let choice = (!meanings.is_empty()).then(|| Choice::new(meanings, |_| true));
    Case { passes, choice, input: input.expect("there is an input"), expected }
}

#[test]
fn passes_make_what_files_say_and_it_means_the_same() {
    let blesses = std::env::var_os("BLESS").is_some();
    let mut wrong = Vec::new();
    for path in files() {
        let text = fs::read_to_string(&path).expect("it can be read");
        let Case { passes, choice, input, expected } = case(&text);
        let mut manager = Manager { choice: choice.as_ref(), verifies: true, ..Manager::default() };
        let made = match manager.run(passes, input.seen()) {
            Err(fault) => format!("fault: {fault}\n"),
            Ok(None) => "unchanged\n".to_owned(),
            Ok(Some(code)) => {
                assert!(input.means(&code), "{}: the result means something else\n{}", path.display(), code.text());
                code.text()
            }
        };
        if made == expected {
            continue;
        }
        if blesses {
            let before = text.split("== expected").next().unwrap_or_default();
            fs::write(&path, format!("{before}== expected\n{made}")).expect("it can be written");
        } else {
            wrong.push(format!("{}: made\n{made}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "BLESS=1 writes what is made now:\n{}", wrong.concat());
}

#[test]
fn each_pass_has_a_file() {
    let mut tried: BTreeSet<&str> = BTreeSet::new();
    for path in files() {
        let text = fs::read_to_string(&path).expect("it can be read");
        let Case { passes, expected, .. } = case(&text);
        // One that shows what it does by itself.
        if let [pass] = passes.as_slice()
            && !expected.starts_with("unchanged")
        {
            tried.insert(pass.name);
        }
    }
    let all: BTreeSet<&str> = passes::ALL.iter().map(|pass| pass.name).collect();
    assert_eq!(tried, all);
}

#[test]
fn names_are_those_of_files_and_stand_once() {
    let names: Vec<&str> = passes::ALL.iter().map(|pass| pass.name).collect();
    assert_eq!(BTreeSet::from_iter(&names).len(), names.len());
    for pass in passes::ALL {
        let is_name = pass.name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        assert!(is_name && !pass.about.ends_with('.'), "{}: {}", pass.name, pass.about);
    }
    let pipelines: BTreeSet<&str> = pipelines::ALL.iter().map(|pipeline| pipeline.name).collect();
    assert_eq!(pipelines.len(), pipelines::ALL.len());
}

#[test]
fn observers_see_each_pass_before_and_after() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/passes/sink-complements.txt");
    let Case { input, .. } = case(&fs::read_to_string(path).expect("it can be read"));
    let mut seen = Vec::new();
    let mut observe = |pass: &'static Pass, moment: Moment, text: &str| {
        assert!(text.starts_with("loop {"), "{text}");
        seen.push((pass.name, moment));
    };
    let records = Some(Vec::new());
    let mut manager = Manager { verifies: true, observer: Some(&mut observe), records, ..Manager::default() };
    let passes =
        [passes::majority_cse::PASS.name, "sink-complements"].map(|name| Pass::named(name).expect("it is there"));
    assert!(manager.run(passes, input.seen()).expect("no fault").is_some());
    let records = manager.records.take().expect("they are kept");
    assert_eq!(records.iter().map(|record| record.after.is_some()).collect::<Vec<_>>(), [false, true]);
    drop(manager);
    assert_eq!(
        seen,
        [
            ("majority-cse", Moment::Before),
            ("majority-cse", Moment::Kept),
            ("sink-complements", Moment::Before),
            ("sink-complements", Moment::Changed),
        ]
    );
}
