//! `headrace graph`.

use super::Context;
use crate::cli::GraphArgs;
use crate::failure::Outcome;
use crate::output::write_file;
use headrace::Error;
use headrace::picture;

/// Writes the picture of a network.
pub fn graph(context: &mut Context, arguments: &GraphArgs) -> Outcome {
    let ending = arguments.output.extension().map(|ending| ending.to_string_lossy().into_owned());
    if ending.as_deref().is_some_and(|ending| !ending.eq_ignore_ascii_case("svg")) {
        return Err(Error::usage(format!(
            "{}: pictures are written as SVG; the name must end in .svg or have no ending",
            arguments.output.display()
        )));
    }
    let top = context.hierarchy(&arguments.network, &arguments.parameters)?;
    write_file(&arguments.output, picture::draw(&arguments.network, &top, arguments.depth).as_bytes())
}
