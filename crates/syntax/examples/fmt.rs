//! Formats standard input: `cargo run --example fmt < Actor.cal`.

use std::io::Read;

fn main() {
    let mut text = String::new();
    if let Err(error) = std::io::stdin().read_to_string(&mut text) {
        eprintln!("{error}");
        return;
    }
    match headrace_syntax::format::format(headrace_source::FileId(0), &text) {
        Ok(output) => print!("{output}"),
        Err(problems) => eprintln!("{problems:#?}"),
    }
}
