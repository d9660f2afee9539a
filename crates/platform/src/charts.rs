//! Charts as SVG: scatter plots, heat maps and timelines.
//!
//! Values in, a text out that stands for itself in a page or a file. Nothing here knows what the numbers are of.

mod scatter;
mod tiles;
mod timeline;

pub use scatter::{Axis, Point, Scatter, Series};
pub use tiles::{Link, Tile, Tiles};
pub use timeline::{Lane, Span, Timeline};

/// Text as it may stand in SVG.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Colours that are told apart by those who do not see all (Okabe and Ito).
pub(crate) const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555", "#a09000"];
