//! Whatever things are called: words of a language in every role, in programs of every target.
//!
//! A sample of the words of its own language on each; `HEADRACE_NAMES=1` takes the next, `HEADRACE_NAMES=all` all words of all
//! languages on every target.

use headrace::toolchains::find;
use headrace_targets::toolchain;
use headrace_testkit::printed::campaign::{Plan, held};
use headrace_testkit::printed::{named, names};

/// Words of a language in every role, in a program of a toolchain.
fn tested(name: &str, language: &str, compiler: Option<&str>) {
    let (printed, toolchain) = (named(name).expect("a language"), toolchain::named(name).expect("a toolchain"));
    let found = match find(toolchain, compiler, None) {
        Ok(found) => found,
        Err(why) => {
            eprintln!("not run: {name}: {why}");
            return;
        }
    };
    let asked = std::env::var("HEADRACE_NAMES").unwrap_or_default();
    let is_all = asked == "all";
    let words = if is_all {
        names::words()
    } else {
        // As many as go into one network of each role; macros are many and of one kind.
        let is_macro = |word: &str| !word.contains(|c: char| c.is_ascii_lowercase()) && word.len() > 3;
        let own: Vec<String> = names::words_of(language).into_iter().filter(|word| !is_macro(word)).collect();
        let step = own.len().div_ceil(names::MOST);
        let from = asked.parse::<usize>().unwrap_or(0) % step;
        own.into_iter().skip(from).step_by(step).collect()
    };
    assert!(words.len() > 30, "only {} words", words.len());
    let mut failures = Vec::new();
    for part in words.chunks(names::MOST * 6) {
        let all = names::networks(part).expect("the interpreter runs them");
        let roles: Vec<String> = (0..all.len())
            .map(|at| {
                format!(
                    "{:?} {:?}",
                    names::ROLES[at % names::ROLES.len()],
                    part.chunks(names::MOST).nth(at / names::ROLES.len())
                )
            })
            .collect();
        let wrong = held(printed, &found, Plan::default().limit, all);
        failures.extend(wrong.into_iter().map(|(at, why)| format!("{}\n{why}", roles[at as usize])));
    }
    assert!(failures.is_empty(), "{} fail:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn rust_takes_any_name() {
    tested("rust", "rust", None);
}

#[test]
fn cpp_takes_any_name() {
    tested("cpp", "cpp", None);
}

#[test]
fn java_takes_any_name() {
    tested("java", "java", None);
}

#[test]
fn webassembly_takes_any_name() {
    tested("wasm", "javascript", None);
}

#[test]
fn c_takes_any_name() {
    tested("c", "c", None);
}

#[test]
fn llvm_takes_any_name() {
    tested("llvm", "c", None);
}
