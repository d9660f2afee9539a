//! Pictures of networks: block diagrams whose boxes contain the networks that they stand for.
//!
//! Three steps, each in its file: `hierarchy` takes the nested blocks from the front end, `layered` gives every block of
//! one level its place (left to right, as the tokens go), `svg` draws.

mod hierarchy;
mod layered;
mod svg;

use headrace_frontend::Node;

/// The picture of a network as a complete SVG document. Networks more than `depth` levels down are closed boxes.
pub fn draw(title: &str, top: &Node, depth: usize) -> String {
    svg::document(title, &hierarchy::nest(top, depth))
}

/// One level of a picture: what a network contains.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Level {
    /// Names of the pins on the left border.
    pub inputs: Vec<String>,
    /// Names of the pins on the right border.
    pub outputs: Vec<String>,
    /// What stands inside.
    pub blocks: Vec<Block>,
    /// Connections.
    pub wires: Vec<Wire>,
}

/// A box: an actor, or a network with its content.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Block {
    /// Name of the instance.
    pub name: String,
    /// Class, without its package.
    pub class: String,
    /// What is inside; for an actor, only its pins.
    pub content: Level,
}

/// One end of a wire: a pin of the level's own border, or of a block in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum End {
    /// As a source: a pin on the left border; as a target: one on the right.
    Border(usize),
    /// Block and pin: as a source an output, as a target an input.
    Block(usize, usize),
}

/// A connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Wire {
    /// Where tokens come from.
    pub from: End,
    /// Where they go.
    pub to: End,
}
