//! Shows what an operation of the library is lowered to, for who writes a printer:
//! `cargo run --release -p headrace-testkit --example program -- aes128 ctr [VARIANT]`, in the root of the repository.

use headrace_testkit::peers::library::Shipped;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match shown(&words) {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn shown(words: &[String]) -> Result<String, String> {
    let (set, operation) = match words {
        [set, operation, ..] => (set, operation),
        _ => return Err("a parameter set and an operation are wanted".to_owned()),
    };
    let shipped = Shipped::read(Path::new("."))?;
    let spec = shipped.library.operation(set, operation).ok_or("there is no such operation")?;
    let variant = words.get(2).or(spec.variants.first().map(|variant| &variant.name)).ok_or("it has no network")?;
    let network = shipped.network(spec, variant)?;
    let module = headrace_lowering::lower(&network, &headrace_lowering::Options::default())
        .map_err(|problems| problems.iter().map(|problem| problem.message.clone()).collect::<Vec<_>>().join("\n"))?;
    Ok(headrace_program::text(&module))
}
