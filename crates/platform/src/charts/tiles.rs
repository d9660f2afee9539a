//! Heat maps of a grid: a tile for each place, as dark as what happens there, with links between places.

use super::escape;
use std::fmt::Write as _;

/// A place of the grid.
#[derive(Clone, Debug)]
pub struct Tile {
    /// Column, from the left.
    pub x: u32,
    /// Row, from the top.
    pub y: u32,
    /// What is written in it, a line each.
    pub lines: Vec<String>,
    /// From 0 (nothing happens) to 1; none for a place that is not used.
    pub heat: Option<f64>,
    /// What a pointer over it shows.
    pub title: String,
}

/// A link between two places, in columns and rows.
#[derive(Clone, Debug)]
pub struct Link {
    /// Where it begins.
    pub from: (u32, u32),
    /// Where it leads.
    pub to: (u32, u32),
    /// From 0 (nothing goes through) to 1.
    pub load: f64,
    /// What a pointer over it shows.
    pub title: String,
}

/// A grid.
#[derive(Clone, Debug)]
pub struct Tiles {
    /// What stands above it.
    pub title: String,
    /// Columns and rows.
    pub size: (u32, u32),
    /// What heat is of, for the legend.
    pub heat: String,
    /// The places, unused ones too where they are to be seen.
    pub tiles: Vec<Tile>,
    /// Links.
    pub links: Vec<Link>,
}

const EDGE: u32 = 76;
const GAP: u32 = 22;
const TOP: u32 = 40;

impl Tiles {
    /// The grid as SVG.
    pub fn svg(&self) -> String {
        let step = EDGE + GAP;
        let (width, height) = (self.size.0.max(4) * step + GAP, self.size.1 * step + GAP + TOP + 34);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             font-family=\"sans-serif\" font-size=\"10\">\n<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" \
             markerWidth=\"7\" markerHeight=\"7\" markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 0 8 4 0 8z\" \
             fill=\"#335\"/></marker></defs>\n<rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n\
             <text x=\"{GAP}\" y=\"24\" font-size=\"16\">{}</text>\n",
            escape(&self.title)
        );
        let corner = |(x, y): (u32, u32)| (x * step + GAP, y * step + GAP / 2 + TOP);
        for tile in &self.tiles {
            let (x, y) = corner((tile.x, tile.y));
            let (fill, ink) = match tile.heat {
                Some(heat) => colour(heat),
                None => ("#f6f6f6".into(), "#999"),
            };
            let _ = write!(
                svg,
                "<g><title>{}</title><rect x=\"{x}\" y=\"{y}\" width=\"{EDGE}\" height=\"{EDGE}\" rx=\"5\" fill=\"{fill}\" \
                 stroke=\"#bbb\"/>",
                escape(&tile.title)
            );
            for (at, line) in (0..).zip(&tile.lines) {
                let _ = write!(
                    svg,
                    "<text x=\"{}\" y=\"{}\" fill=\"{ink}\">{}</text>",
                    x + 5,
                    y + 15 + 13 * at,
                    escape(line)
                );
            }
            svg.push_str("</g>\n");
        }
        for link in &self.links {
            let (from, to) = (corner(link.from), corner(link.to));
            let centre = |(x, y): (u32, u32)| (f64::from(x + EDGE / 2), f64::from(y + EDGE / 2));
            let ((x0, y0), (x1, y1)) = (centre(from), centre(to));
            let length = (x1 - x0).hypot(y1 - y0).max(1.0);
            let (dx, dy) = ((x1 - x0) / length, (y1 - y0) / length);
            // From edge to edge, a little beside the middle, so that both directions are seen.
            let reach = f64::from(EDGE) / 2.0 / dx.abs().max(dy.abs());
            let (px, py) = (-dy * 7.0, dx * 7.0);
            let (bx, by) = (x0 + dx * (reach - 2.0) + px, y0 + dy * (reach - 2.0) + py);
            let (ex, ey) = (x1 - dx * (reach - 2.0) + px, y1 - dy * (reach - 2.0) + py);
            let _ = writeln!(
                svg,
                "<path d=\"M{bx:.1} {by:.1} L{ex:.1} {ey:.1}\" stroke=\"#335\" stroke-opacity=\"0.75\" fill=\"none\" stroke-width=\"{:.1}\" \
                 marker-end=\"url(#arrow)\"><title>{}</title></path>",
                1.0 + 3.0 * link.load.clamp(0.0, 1.0),
                escape(&link.title)
            );
        }
        let y = height - 22;
        let _ = write!(svg, "<text x=\"{GAP}\" y=\"{}\" font-size=\"12\">{} 0</text>", y + 10, escape(&self.heat));
        let begin = GAP + 30 + 7 * self.heat.chars().count() as u32;
        for step in 0..20 {
            let (fill, _) = colour(f64::from(step) / 19.0);
            let _ =
                write!(svg, "<rect x=\"{}\" y=\"{y}\" width=\"9\" height=\"12\" fill=\"{fill}\"/>", begin + 9 * step);
        }
        let _ = write!(svg, "<text x=\"{}\" y=\"{}\" font-size=\"12\">1</text>\n</svg>\n", begin + 186, y + 10);
        svg
    }
}

/// From white over yellow to red, with the ink that is read on it.
fn colour(heat: f64) -> (String, &'static str) {
    let heat = heat.clamp(0.0, 1.0);
    let between = |stops: [f64; 3]| {
        let (from, to, part) = match heat < 0.5 {
            true => (stops[0], stops[1], heat * 2.0),
            false => (stops[1], stops[2], heat * 2.0 - 1.0),
        };
        (from + (to - from) * part).round() as u8
    };
    let ink = if heat > 0.7 { "#fff" } else { "#111" };
    let [r, g, b] = [[255.0, 254.0, 178.0], [255.0, 190.0, 24.0], [229.0, 90.0, 38.0]].map(between);
    (format!("#{r:02x}{g:02x}{b:02x}"), ink)
}
