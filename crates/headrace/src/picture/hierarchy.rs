//! Hierarchical graph layout, first part: nested blocks from the hierarchy that the front end knows.

use super::{Block, End, Level, Wire};
use headrace_frontend::{End as LinkEnd, Node, PortType};

/// The picture's levels for a network, with what its blocks contain down to `depth` levels; an actor alone is one block,
/// wired to pins of the same names.
pub(crate) fn nest(top: &Node, depth: usize) -> Level {
    if matches!(top, Node::Network(_)) {
        return level(top, depth);
    }
    let content = level(top, depth);
    let inputs = (0..content.inputs.len()).map(|pin| Wire { from: End::Border(pin), to: End::Block(0, pin) });
    let outputs = (0..content.outputs.len()).map(|pin| Wire { from: End::Block(0, pin), to: End::Border(pin) });
    Level {
        inputs: content.inputs.clone(),
        outputs: content.outputs.clone(),
        wires: inputs.chain(outputs).collect(),
        blocks: vec![Block { name: last_part(top.class()), class: last_part(top.class()), content }],
    }
}

fn last_part(class: &str) -> String {
    class.rsplit('.').next().unwrap_or_default().to_owned()
}

fn names(ports: &[PortType]) -> Vec<String> {
    ports.iter().map(|port| port.name.clone()).collect()
}

fn level(node: &Node, depth: usize) -> Level {
    let mut level = Level { inputs: names(node.inputs()), outputs: names(node.outputs()), ..Level::default() };
    let Node::Network(network) = node else { return level };
    let Some(below) = depth.checked_sub(1) else { return level };
    for child in &network.children {
        level.blocks.push(Block {
            name: child.name.clone(),
            class: last_part(child.node.class()),
            content: self::level(&child.node, below),
        });
    }
    let end = |end: LinkEnd| end.child.map_or(End::Border(end.port), |child| End::Block(child, end.port));
    level.wires = network.links.iter().map(|link| Wire { from: end(link.from), to: end(link.to) }).collect();
    level
}
