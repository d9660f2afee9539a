//! `headrace graph`.

use super::Context;
use crate::cli::GraphArgs;
use crate::failure::Outcome;
use crate::output::write_file;
use crate::picture;

/// Writes the picture of a network.
pub fn graph(context: &mut Context, arguments: &GraphArgs) -> Outcome {
    let top = context.hierarchy(&arguments.network, &arguments.parameters)?;
    write_file(&arguments.output, picture::draw(&arguments.network, &top, arguments.depth).as_bytes())
}
