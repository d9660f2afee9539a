//! Rendering of laid-out graphs: nested blocks to SVG.

use super::layered::{Layout, Link, Node, place};
use super::{Block, End, Level};
use headrace_bench::report::escape;
use std::fmt::Write as _;

/// Height of the line with the name of a block.
const HEAD: f64 = 24.0;
/// Height of the second line, with the class of an actor.
const CLASS: f64 = 14.0;
/// Distance between pins.
const PIN_STEP: f64 = 17.0;
/// Blank space round the content of a block.
const MARGIN: f64 = 18.0;
/// Blank space beside the content of a block: room for the names of pins.
const SIDE: f64 = 12.0;
/// Width of a character of a name, and of a pin's name.
const NAME_CHARACTER: f64 = 7.4;
const PIN_CHARACTER: f64 = 5.7;

const STYLE: &str = "
  svg { font-family: ui-sans-serif, system-ui, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif; }
  .paper { fill: #ffffff; } .actor { fill: #f4f8fd; stroke: #7d9cc0; } .network { fill: #fbfbf8; stroke: #b9b39f; }
  .name { font-size: 12.5px; font-weight: 600; fill: #1c2836; } .class { font-size: 10.5px; fill: #5d7086; }
  .pin { font-size: 10px; fill: #5d7086; } .edge { font-size: 11.5px; font-weight: 600; fill: #1c2836; }
  .wire { fill: none; stroke: #45688f; stroke-width: 1.3; } .tip { fill: #45688f; } .title { font-size: 15px; font-weight: 650; fill: #1c2836; }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #12181f; } .actor { fill: #1c2a3a; stroke: #5580ab; } .network { fill: #171f28; stroke: #4c5a68; }
    .name, .edge, .title { fill: #e6edf5; } .class, .pin { fill: #9db0c4; } .wire { stroke: #82aedb; } .tip { fill: #82aedb; }
  }
";

/// A level with the places of everything in it.
struct Drawing<'a> {
    level: &'a Level,
    layout: Layout,
    blocks: Vec<Sized<'a>>,
}

/// A block with its size and the heights of its pins.
struct Sized<'a> {
    block: &'a Block,
    node: Node,
    inside: Option<Drawing<'a>>,
}

/// A complete document.
pub(crate) fn document(title: &str, level: &Level) -> String {
    let drawing = lay_out(level);
    let names = |names: &[String]| names.iter().map(|name| text_width(name, 6.6)).fold(0.0, f64::max);
    let (left, right) = (names(&level.inputs) + 26.0, names(&level.outputs) + 26.0);
    let (width, height) = (left + drawing.layout.width + right, drawing.layout.height + 62.0);
    let width = width.max(text_width(title, 9.0) + 30.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\">\n\
         <title>{0}</title>\n<style>{STYLE}</style>\n<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"6.5\" \
         markerHeight=\"6.5\" orient=\"auto\"><path class=\"tip\" d=\"M0 0.5 L8 4 L0 7.5 z\"/></marker></defs>\n\
         <rect class=\"paper\" width=\"100%\" height=\"100%\" rx=\"6\"/>\n<text class=\"title\" x=\"14\" y=\"24\">{0}</text>\n",
        escape(title)
    );
    for (name, y) in level.inputs.iter().zip(&drawing.layout.inputs) {
        let _ = writeln!(
            svg,
            "<text class=\"edge\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            left - 6.0,
            y + 46.0,
            escape(name)
        );
    }
    for (name, y) in level.outputs.iter().zip(&drawing.layout.outputs) {
        let x = left + drawing.layout.width + 6.0;
        let _ = writeln!(svg, "<text class=\"edge\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>", y + 46.0, escape(name));
    }
    draw(&mut svg, &drawing, left, 42.0, true);
    svg.push_str("</svg>\n");
    svg
}

fn text_width(text: &str, character: f64) -> f64 {
    text.chars().count() as f64 * character
}

fn lay_out(level: &Level) -> Drawing<'_> {
    let blocks: Vec<Sized> = level.blocks.iter().map(size).collect();
    let nodes: Vec<Node> = blocks.iter().map(|block| block.node.clone()).collect();
    let links: Vec<Link> = level.wires.iter().map(|wire| Link { from: wire.from, to: wire.to }).collect();
    let layout = place(&nodes, level.inputs.len(), level.outputs.len(), &links);
    Drawing { level, layout, blocks }
}

fn size(block: &Block) -> Sized<'_> {
    let longest = |names: &[String]| names.iter().map(|name| text_width(name, PIN_CHARACTER)).fold(0.0, f64::max);
    let head = text_width(&block.name, NAME_CHARACTER).max(text_width(&block.class, 6.2)) + 20.0;
    if block.content.blocks.is_empty() {
        let pins = longest(&block.content.inputs) + longest(&block.content.outputs) + 30.0;
        let n_pins = block.content.inputs.len().max(block.content.outputs.len());
        let heights = |n: usize| (0..n).map(|pin| HEAD + CLASS + PIN_STEP * (pin as f64 + 0.5)).collect();
        let node = Node {
            width: head.max(pins),
            height: HEAD + CLASS + PIN_STEP * n_pins as f64 + 5.0,
            inputs: heights(block.content.inputs.len()),
            outputs: heights(block.content.outputs.len()),
        };
        return Sized { block, node, inside: None };
    }
    let inside = lay_out(&block.content);
    let moved = |heights: &[f64]| heights.iter().map(|height| height + HEAD + MARGIN / 2.0).collect();
    let node = Node {
        width: head.max(inside.layout.width + 2.0 * SIDE),
        height: inside.layout.height + HEAD + 1.5 * MARGIN,
        inputs: moved(&inside.layout.inputs),
        outputs: moved(&inside.layout.outputs),
    };
    Sized { block, node, inside: Some(inside) }
}

/// Draws a level. A wire that leaves a block ends at its border without a tip, because it goes on outside.
fn draw(svg: &mut String, drawing: &Drawing, x: f64, y: f64, is_top: bool) {
    for (sized, (left, top)) in drawing.blocks.iter().zip(&drawing.layout.nodes) {
        draw_block(svg, sized, x + left, y + top);
    }
    for (wire, points) in drawing.level.wires.iter().zip(&drawing.layout.wires) {
        let has_tip = is_top || !matches!(wire.to, End::Border(_));
        let tip = if has_tip { " marker-end=\"url(#tip)\"" } else { "" };
        let _ = writeln!(svg, "<path class=\"wire\"{tip} d=\"{}\"/>", path(points, x, y));
    }
}

/// A line through the points, level at each of them. A wire against the direction turns round at both ends: there it
/// swings out by a fixed amount.
fn path(points: &[(f64, f64)], x: f64, y: f64) -> String {
    const SWING: f64 = 30.0;
    let runs_back = points.len() > 3 && points[2].0 < points[1].0;
    let mut d = String::new();
    for (at, (px, py)) in points.iter().map(|(px, py)| (px + x, py + y)).enumerate() {
        let Some((lx, ly)) = at.checked_sub(1).map(|before| (points[before].0 + x, points[before].1 + y)) else {
            let _ = write!(d, "M{px:.1} {py:.1}");
            continue;
        };
        let (out, into) = if runs_back && at == 1 {
            (lx.max(px) + SWING, lx.max(px) + SWING)
        } else if runs_back && at + 1 == points.len() {
            (lx.min(px) - SWING, lx.min(px) - SWING)
        } else {
            let middle = f64::midpoint(lx, px);
            (middle, middle)
        };
        if (ly - py).abs() < 0.05 && !(runs_back && (at == 1 || at + 1 == points.len())) {
            let _ = write!(d, " L{px:.1} {py:.1}");
        } else {
            let _ = write!(d, " C{out:.1} {ly:.1} {into:.1} {py:.1} {px:.1} {py:.1}");
        }
    }
    d
}

fn draw_block(svg: &mut String, sized: &Sized, x: f64, y: f64) {
    let (node, block) = (&sized.node, sized.block);
    let class = if sized.inside.is_some() { "network" } else { "actor" };
    let _ = writeln!(
        svg,
        "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"5\"/>",
        node.width, node.height
    );
    let (anchor, name_x) = if sized.inside.is_some() { ("start", x + 9.0) } else { ("middle", x + node.width / 2.0) };
    let name_y = y + 17.0;
    let _ = writeln!(
        svg,
        "<text class=\"name\" text-anchor=\"{anchor}\" x=\"{name_x:.1}\" y=\"{name_y:.1}\">{}</text>",
        escape(&block.name)
    );
    if let Some(inside) = &sized.inside {
        let class_x = name_x + text_width(&block.name, NAME_CHARACTER) + 6.0;
        let _ =
            writeln!(svg, "<text class=\"class\" x=\"{class_x:.1}\" y=\"{name_y:.1}\">{}</text>", escape(&block.class));
        draw(svg, inside, x + (node.width - inside.layout.width) / 2.0, y + HEAD + MARGIN / 2.0, false);
        stubs(svg, sized, inside, x, y);
        return;
    }
    if block.class != block.name {
        let _ = writeln!(
            svg,
            "<text class=\"class\" text-anchor=\"middle\" x=\"{name_x:.1}\" y=\"{:.1}\">{}</text>",
            name_y + 13.0,
            escape(&block.class)
        );
    }
    for (name, height) in block.content.inputs.iter().zip(&node.inputs) {
        let _ = writeln!(
            svg,
            "<text class=\"pin\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            x + 7.0,
            y + height + 3.5,
            escape(name)
        );
    }
    for (name, height) in block.content.outputs.iter().zip(&node.outputs) {
        let end = x + node.width - 7.0;
        let _ = writeln!(
            svg,
            "<text class=\"pin\" text-anchor=\"end\" x=\"{end:.1}\" y=\"{:.1}\">{}</text>",
            y + height + 3.5,
            escape(name)
        );
    }
}

/// Lines from the border of a block to where the wires of its content begin and end.
fn stubs(svg: &mut String, sized: &Sized, inside: &Drawing, x: f64, y: f64) {
    let side = (sized.node.width - inside.layout.width) / 2.0;
    let right = x + sized.node.width;
    for height in &sized.node.inputs {
        let _ = writeln!(svg, "<path class=\"wire\" d=\"M{x:.1} {0:.1} h{side:.1}\"/>", y + height);
    }
    for height in &sized.node.outputs {
        let _ = writeln!(svg, "<path class=\"wire\" d=\"M{:.1} {:.1} h{side:.1}\"/>", right - side, y + height);
    }
}
