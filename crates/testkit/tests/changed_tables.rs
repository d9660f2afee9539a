//! Random actors that read and write a list at places which they compute, iteration after iteration: as fused code they
//! show what the interpreter shows, whatever counters begin with and however tokens come.

#[expect(dead_code, reason = "each test uses a part of it")]
#[path = "../../interp/tests/text/mod.rs"]
mod text;

use headrace_engine::{CollectingHost, Engine};
use headrace_interp::Interpreter;
use headrace_ir::Network;
use headrace_native::{Batch, Compiler, Options};
use headrace_targets::c::{self, emit_with};
use headrace_testkit::rng::Rng;
use headrace_transform::control::{Automaton, Limits, Sample, automaton_of};
use std::sync::Arc;

/// Actors, unless `HEADRACE_TABLE_CASES` asks for more.
const CASES: u64 = 12;

/// So that as many iterations as there may be run at once.
const FIFO_TOKENS: u32 = 8192;

/// An actor that fills a list and changes it, so many elements in each of so many iterations.
fn actor(seed: u64) -> (String, usize) {
    let rng = &mut Rng::new(seed);
    let mut of = |items: &[&str]| items[rng.below(items.len())].to_owned();
    let length: usize = of(&["16", "64", "256"]).parse().expect("a number");
    let per_iteration: usize = of(&["1", "1", "2", "3", "8", "16"]).parse().expect("a number");
    let (bits, counter_bits) = (of(&["8", "8", "8", "6", "12", "16"]), of(&["8", "8", "16", "5"]));
    let (step, low) = (of(&["1", "1", "1", "2", "3", "8"]), length - 1);
    let (before, after) = match of(&["before", "after"]).as_str() {
        "before" => (format!("i := i + {step};"), String::new()),
        _ => (String::new(), format!("i := i + {step};")),
    };
    let next = of(&["j + s_i", "j + s_i + x[n]", "s_i", "j + s_i + i", "(j ^ s_i) + 1"]);
    let first = of(&["s_j", "s_j", "s_i + s_j", "x[n]"]);
    let second = of(&["s_i", "s_i", "s_i ^ i", "j"]);
    let out =
        of(&["s[(s_i + s_j) & LOW]", "s[(i + 1) & LOW] + s_j", "s[(s_i ^ x[n]) & LOW]", "s[0] + s[(i + 5) & LOW]"]);
    let out = out.replace("LOW", &low.to_string());
    let name = format!("Table{seed}");
    let text = format!(
        "package tables;

actor {name}()
    uint(size=16) Size, uint(size=8) In ==> uint(size=8) Out :
    List(type:uint(size={bits}), size={length}) s;
    uint(size={counter_bits}) i;
    uint(size=8) j;
    uint(size=16) left;

    start: action Size:[size], In:[a, b] ==>
    do
        foreach int k in 0 .. {low} do
            s[k] := (k * (a | 1) + b) ^ (k >> 2);
        end
        i := a;
        j := b;
        left := size;
    end

    go: action In:[x] repeat {per_iteration} ==> Out:[y] repeat {per_iteration}
    guard
        left > 0
    var
        List(type:uint(size=8), size={per_iteration}) y,
        uint(size={bits}) s_i,
        uint(size={bits}) s_j
    do
        foreach int n in 0 .. {per_iteration} - 1 do
            {before}
            s_i := s[i & {low}];
            j := {next};
            s_j := s[j & {low}];
            s[i & {low}] := {first};
            s[j & {low}] := {second};
            y[n] := x[n] ^ ({out});
            {after}
        end
        left := left - 1;
    end

    finish: action ==>
    guard
        left = 0
    end

    schedule fsm idle :
        idle (start) --> run;
        run (go) --> run;
        run (finish) --> idle;
    end
end
"
    );
    (text, per_iteration)
}

/// Messages: a size, where a counter begins, and tokens.
fn messages(rng: &mut Rng, per_iteration: usize, sizes: &[usize]) -> Sample {
    let message = |&size: &usize| {
        let bytes = (0..2 + size * per_iteration).map(|_| rng.below(256) as u128).collect();
        vec![vec![size as u128], bytes]
    };
    sizes.iter().map(message).collect()
}

/// What comes out; `piece`: so many tokens are written at once.
fn shown(engine: &mut dyn Engine, messages: &Sample, piece: usize) -> Vec<u8> {
    let mut waiting = [Vec::new(), Vec::new()];
    for message in messages {
        waiting[0].extend(message[0].iter().flat_map(|&size| (size as u16).to_le_bytes()));
        waiting[1].extend(message[1].iter().map(|&byte| byte as u8));
    }
    let mut out = Vec::new();
    let mut host = CollectingHost::default();
    loop {
        let mut moved = 0;
        for (port, tokens) in waiting.iter_mut().enumerate() {
            let bytes = port ^ 1;
            let some = tokens.len().min(piece * (1 + bytes));
            let n = engine.write(port, &tokens[..some]);
            tokens.drain(..n * (1 + bytes));
            moved += n;
        }
        engine.run(None, &mut host).expect("nothing goes wrong");
        moved += engine.read(0, &mut out);
        if moved == 0 {
            return out;
        }
    }
}

fn explored(network: &Network, per_iteration: usize) -> Automaton {
    let sample = messages(&mut Rng::new(7), per_iteration, &[0, 3, 1, 20]);
    automaton_of(network, &[sample], &Limits::default()).expect("the control can be foreseen")
}

#[test]
fn lists_that_are_changed_pass_after_pass_hold_what_they_should() {
    if Compiler::find().is_none() {
        eprintln!("not run: native code (no C compiler)");
        return;
    }
    let asked = std::env::var("HEADRACE_TABLE_CASES").ok().and_then(|text| text.parse().ok());
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    std::fs::create_dir(folder.path().join("tables")).expect("it is writable");
    let (mut n_copied, mut n_known, mut n_near) = (0, 0, 0);
    for seed in 0..asked.unwrap_or(CASES) {
        let (source, per_iteration) = actor(seed);
        std::fs::write(folder.path().join(format!("tables/Table{seed}.cal")), &source).expect("it is writable");
        let network = text::network(vec![folder.path().to_owned()], &format!("tables.Table{seed}"), &[]);
        let network = Arc::new(network.unwrap_or_else(|problems| panic!("{problems}\n{source}")));
        let automaton = explored(&network, per_iteration);
        let printed = emit_with(&network, Some(&automaton), &c::Options::default()).expect("it can be printed");
        let has = |wanted: &str| printed.files.values().any(|file| String::from_utf8_lossy(file).contains(wanted));
        n_copied += usize::from(has("wide_"));
        n_near += usize::from(has("near"));
        let is_known = |line: &str| {
            let index = line.trim().strip_prefix("wide_").and_then(|rest| rest.split_once("_s["));
            index.is_some_and(|(_, index)| index.starts_with(|c: char| c.is_ascii_digit()))
        };
        let lines = |file: &Vec<u8>| String::from_utf8_lossy(file).lines().any(is_known);
        n_known += usize::from(printed.files.values().any(lines));
        let options = Options { fifo_tokens: FIFO_TOKENS, ..Options::default() };
        let batch = Batch::compile_fused(&network, &automaton, &options).expect("it compiles");
        let rng = &mut Rng::new(seed);
        for piece in [usize::MAX / 4, 100 + rng.below(1000)] {
            let sizes: Vec<usize> = [1, 7, 40, 300, 700].iter().map(|&size| size + rng.below(40)).collect();
            let messages = messages(rng, per_iteration, &sizes);
            let options = headrace_interp::Options::default();
            let mut judge = Interpreter::new((*network).clone(), options).expect("the network is well formed");
            let expected = shown(&mut judge, &messages, piece);
            assert_eq!(expected.len(), sizes.iter().sum::<usize>() * per_iteration);
            let mut engine = batch.engine(0, Arc::clone(&network)).expect("it loads");
            let seen = shown(&mut engine, &messages, piece);
            let first = seen.iter().zip(&expected).position(|(a, b)| a != b);
            assert!(seen == expected, "seed {seed}, pieces of {piece}: {first:?} of {}\n{source}", expected.len());
        }
    }
    eprintln!("{n_copied} lists copied, places near a counter in {n_near}, known in {n_known}");
    assert!(n_copied > 6 && n_near > 0 && n_known > 2, "what is to be tested is hardly there");
}
