//! Shows generated programs: `headrace-testkit show SEED` prints the files and input of one case,
//! `headrace-testkit write SEED DIR` writes them below a folder, `headrace-testkit bench-source DIR` writes the
//! actors that `check` is measured on.

use headrace_testkit::benchmark_source;
use headrace_testkit::generate::{Cuts, Knobs, generate};
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "usage: headrace-testkit show SEED | write SEED DIR | bench-source DIR";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["show", seed] => show(seed),
        ["write", seed, dir] => number(seed)
            .and_then(|seed| write(Path::new(dir), &generate(seed, &Knobs::default()).texts(&Cuts::default()))),
        ["bench-source", dir] => write(Path::new(dir), &benchmark_source::actors(100, 1000, 1)),
        _ => Err(USAGE.to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("`{text}` is not a number\n{USAGE}"))
}

fn show(seed: &str) -> Result<(), String> {
    let case = generate(number(seed)?, &Knobs::default());
    for (path, text) in case.texts(&Cuts::default()) {
        println!("==> {path} <==\n{text}");
    }
    for stream in &case.inputs {
        let tokens: Vec<String> = stream.tokens.iter().map(ToString::to_string).collect();
        println!("{} {:?}: {}", stream.port, stream.scalar, tokens.join(","));
    }
    Ok(())
}

fn write(dir: &Path, files: &[(String, String)]) -> Result<(), String> {
    for (path, text) in files {
        let path = dir.join(path);
        let parent = path.parent().unwrap_or(dir);
        std::fs::create_dir_all(parent)
            .and_then(|()| std::fs::write(&path, text))
            .map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}
