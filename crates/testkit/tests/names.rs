//! Whatever things are called: words of a language in every role, in programs of every target.
//!
//! `HEADRACE_NAMES=all` takes all words of all languages on every target; without it, words of its own language, and of macros,
//! which are many and of one kind, a sample.

use headrace_driver::toolchains::find;
use headrace_targets::toolchain;
use headrace_testkit::printed::campaign::{Plan, held};
use headrace_testkit::printed::{named, names};

/// Words of a language in every role, in a program of a toolchain.
fn tested(name: &str, language: &str, compiler: Option<&str>) {
    let (printed, toolchain) = (named(name).expect("a language"), toolchain::named(name).expect("a toolchain"));
    let found = match find(toolchain, compiler) {
        Ok(found) => found,
        Err(why) => {
            eprintln!("not run: {name}: {why}");
            return;
        }
    };
    let is_all = std::env::var("HEADRACE_NAMES").is_ok_and(|asked| asked == "all");
    let is_macro = |word: &str| !word.contains(|c: char| c.is_ascii_lowercase()) && word.len() > 3;
    let words = if is_all {
        names::words()
    } else {
        let own = names::words_of(language);
        own.into_iter().enumerate().filter(|(at, word)| !is_macro(word) || at % 16 == 0).map(|(_, word)| word).collect()
    };
    assert!(words.len() > 80, "only {} words", words.len());
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
