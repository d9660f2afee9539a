//! Runs the conformance programs on every engine: interpreted in every firing order and once in arbitrary precision, and
//! natively.

#[expect(dead_code, reason = "each test uses a part of it")]
#[path = "../../interp/tests/text/mod.rs"]
mod text;

mod sidecar;

use headrace_engine::Outcome;
use headrace_interp::{Interpreter, Options, Order};
use headrace_ir::{Int, Network, Port, RealType, Scalar, real};
use headrace_native::{Batch, Compiler};
use sidecar::{Seen, encode, run};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use toml::{Table, Value};

fn show(ty: Scalar, bytes: &[u8]) -> String {
    let tokens = bytes.chunks(ty.storage_bytes()).map(|token| match ty {
        Scalar::Bool => (token[0] != 0).to_string(),
        Scalar::Real(ty) => {
            let mut bits = [0; 8];
            bits[..token.len()].copy_from_slice(token);
            // All digits of a binary64, so that a sidecar can hold what is shown.
            real::format_real(real::from_bits(u64::from_le_bytes(bits), ty), RealType::Double)
        }
        Scalar::Int(int) => Int::from_le_bytes(token, int.signed).to_string(),
        Scalar::String => String::new(),
    });
    tokens.collect::<Vec<_>>().join(", ")
}

/// What differs from the sidecar.
fn judge(network: &Network, expected: &Table, seen: &Seen) -> Result<(), String> {
    let mut problems = String::new();
    match (&seen.outcome, expected.get("trap").and_then(Value::as_str)) {
        (Err(trap), Some(wanted)) if trap.message.contains(wanted) => return Ok(()),
        (Err(trap), _) => return Err(format!("trap: {} in {}", trap.message, trap.action)),
        (_, Some(wanted)) => return Err(format!("no trap `{wanted}`")),
        _ => {}
    }
    let streams = expected.get("out").and_then(Value::as_table).cloned().unwrap_or_default();
    for (port, stream) in network.outputs.iter().zip(&seen.streams) {
        let wanted = streams.get(&port.name).and_then(Value::as_array).cloned().unwrap_or_default();
        let wanted: Vec<u8> =
            wanted.iter().map(|value| encode(port.ty, value)).collect::<Result<Vec<_>, _>>()?.concat();
        if *stream != wanted {
            let (is, should) = (show(port.ty, stream), show(port.ty, &wanted));
            let _ = writeln!(problems, "{}: [{is}] and not [{should}]", port.name);
        }
    }
    let printed = String::from_utf8_lossy(&seen.host.printed);
    let wanted = expected.get("printed").and_then(Value::as_str).unwrap_or_default();
    if printed != wanted {
        let _ = writeln!(problems, "printed {printed:?} and not {wanted:?}");
    }
    let written = expected.get("written").and_then(Value::as_array).cloned().unwrap_or_default();
    let written: Vec<u8> = written.iter().filter_map(Value::as_integer).map(|byte| byte as u8).collect();
    if seen.host.written != written {
        let _ = writeln!(problems, "written {:?} and not {written:?}", seen.host.written);
    }
    let wanted = match (expected.get("exit").and_then(Value::as_integer), expected.contains_key("max_firings")) {
        (Some(status), _) => Outcome::Exited(status as i32),
        (None, true) => Outcome::FiringLimit,
        (None, false) => Outcome::Idle,
    };
    if seen.outcome != Ok(wanted) {
        let _ = writeln!(problems, "ended with {:?} and not {wanted:?}", seen.outcome);
    }
    let lacks_room = expected.get("lacks_room").and_then(Value::as_bool).unwrap_or(false);
    if seen.lacks_room != lacks_room && wanted == Outcome::Idle {
        let _ = writeln!(problems, "lacks room: {}", seen.lacks_room);
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// A program, what goes in and what must come out.
struct Case {
    name: String,
    network: Arc<Network>,
    inputs: Vec<Vec<u8>>,
    fifo_tokens: u32,
    orders: &'static [Order],
    expected: Table,
}

fn case(name: &str, expected: Table) -> Result<Case, String> {
    const KEYS: [&str; 13] = [
        "rule",
        "in",
        "out",
        "printed",
        "trap",
        "source",
        "golden",
        "written",
        "exit",
        "fifo",
        "lacks_room",
        "order",
        "max_firings",
    ];
    const ORDERS: [Order; 5] =
        [Order::RoundRobin, Order::DemandDriven, Order::Random(1), Order::Random(2), Order::Random(3)];
    if let Some(key) = expected.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(format!("unknown key `{key}`"));
    }
    let folders = vec![text::repository().join("tests/conformance"), text::repository()];
    let network = text::network(folders, name, &[])?;
    let given = expected.get("in").and_then(Value::as_table).cloned().unwrap_or_default();
    let known = |ports: &[Port], table: &Table| table.keys().all(|key| ports.iter().any(|port| port.name == *key));
    let out = expected.get("out").and_then(Value::as_table).cloned().unwrap_or_default();
    if !known(&network.inputs, &given) || !known(&network.outputs, &out) {
        return Err("a port that the network does not have".into());
    }
    let inputs = sidecar::inputs(&network, &expected)?;
    let fifo_tokens = expected.get("fifo").and_then(Value::as_integer).map_or(512, |n| n as u32);
    let orders: &[Order] = match expected.get("order").and_then(Value::as_str) {
        Some("fixed") => &ORDERS[..1],
        Some(other) => return Err(format!("order `{other}`")),
        None => &ORDERS,
    };
    Ok(Case { name: name.to_owned(), network: Arc::new(network), inputs, fifo_tokens, orders, expected })
}

/// All cases, by name.
fn cases() -> Vec<Case> {
    let folder = text::repository().join("tests/conformance");
    let mut cases = Vec::new();
    for entry in std::fs::read_dir(&folder).expect("the folder of programs").flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|ending| ending != "toml") {
            continue;
        }
        let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let sidecar = std::fs::read_to_string(&path).expect("a sidecar");
        let expected = sidecar.parse().map_err(|problem: toml::de::Error| problem.to_string());
        cases.push(expected.and_then(|expected| case(&name, expected)).unwrap_or_else(|why| panic!("{name}: {why}")));
    }
    assert!(cases.len() >= 60, "only {} programs were found", cases.len());
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    cases
}

/// Fails with everything that is wrong.
fn conclude(failures: &BTreeMap<String, String>, n_cases: usize) {
    for (name, problem) in failures {
        println!("{name}: {problem}");
    }
    assert!(failures.is_empty(), "{} of {n_cases} programs fail", failures.len());
}

#[test]
fn interpreted() {
    let cases = cases();
    let mut failures = BTreeMap::new();
    for case in &cases {
        for &order in case.orders {
            for arbitrary_precision in [false, true] {
                let options =
                    Options { fifo_tokens: case.fifo_tokens, order, arbitrary_precision, ..Options::default() };
                let result = Interpreter::new(case.network.clone(), options)
                    .map_err(|problems| format!("{problems:?}"))
                    .and_then(|mut engine| {
                        judge(
                            &case.network,
                            &case.expected,
                            &run(&case.network, &case.inputs, &case.expected, &mut engine),
                        )
                    });
                if let Err(problem) = result {
                    let how = format!("{order:?}, arbitrary precision {arbitrary_precision}");
                    failures.insert(case.name.clone(), format!("{how}: {problem}"));
                }
            }
        }
    }
    conclude(&failures, cases.len());
}

#[test]
fn native() {
    let Some(compiler) = Compiler::find() else {
        println!("not run: no C compiler");
        return;
    };
    let cases = cases();
    let prefixes: Vec<String> = cases.iter().map(|case| format!("conformance_{}", case.name)).collect();
    let networks: Vec<(&str, &Network, u32)> = prefixes
        .iter()
        .zip(&cases)
        .map(|(prefix, case)| (prefix.as_str(), case.network.as_ref(), case.fifo_tokens))
        .collect();
    let flags = ["-std=c11", "-O1", "-ffp-contract=off", "-Wall", "-Wextra", "-Wpedantic", "-Werror"];
    let cache = std::env::temp_dir().join(format!("headrace-conformance-{}", std::process::id()));
    let options = headrace_native::Options {
        checked: true,
        compiler: Some(compiler),
        flags: flags.map(str::to_owned).to_vec(),
        cache: Some(cache.clone()),
        ..headrace_native::Options::default()
    };
    let batch = Batch::compile(&networks, &options).unwrap_or_else(|problem| panic!("{problem}"));
    let mut failures = BTreeMap::new();
    for (at, case) in cases.iter().enumerate() {
        let result =
            batch.engine(at, case.network.clone()).map_err(|problem| problem.to_string()).and_then(|mut engine| {
                judge(&case.network, &case.expected, &run(&case.network, &case.inputs, &case.expected, &mut engine))
            });
        if let Err(problem) = result {
            failures.insert(case.name.clone(), problem);
        }
    }
    std::fs::remove_dir_all(&cache).expect("what was compiled can be removed");
    conclude(&failures, cases.len());
}
