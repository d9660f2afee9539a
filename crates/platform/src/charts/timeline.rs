//! Timelines (Gantt charts): what each of several does from when to when.

use super::{COLOURS, escape};
use std::fmt::Write as _;

/// A stretch of time.
#[derive(Clone, Debug)]
pub struct Span {
    /// When it begins, in the unit of the chart.
    pub from: f64,
    /// When it ends.
    pub to: f64,
    /// Which of the chart's `classes` it is.
    pub class: usize,
    /// What a pointer over it shows.
    pub title: String,
}

/// One that does something.
#[derive(Clone, Debug)]
pub struct Lane {
    /// What it is called.
    pub name: String,
    /// What it does, in time; where nothing is said, it is idle.
    pub spans: Vec<Span>,
}

/// A timeline.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// What stands above it.
    pub title: String,
    /// The unit of time, for the axis.
    pub unit: String,
    /// The kinds of spans, for the legend.
    pub classes: Vec<String>,
    /// Those that do something, from the top.
    pub lanes: Vec<Lane>,
    /// The first and the last time that is drawn.
    pub window: (f64, f64),
}

const LEFT: f64 = 150.0;
const WIDTH: f64 = 900.0;
const ROW: f64 = 18.0;
const TOP: f64 = 56.0;

impl Timeline {
    /// The chart as SVG.
    pub fn svg(&self) -> String {
        let (begin, end) = self.window;
        let length = (end - begin).max(f64::MIN_POSITIVE);
        let bottom = TOP + ROW * self.lanes.len() as f64;
        let (width, height) = (LEFT + WIDTH + 20.0, bottom + 40.0);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n\
             <text x=\"8\" y=\"22\" font-size=\"16\">{}</text>\n",
            escape(&self.title)
        );
        let mut x = LEFT;
        for (class, colour) in self.classes.iter().zip(COLOURS.iter().cycle()) {
            let _ = writeln!(
                svg,
                "<rect x=\"{x}\" y=\"34\" width=\"10\" height=\"10\" fill=\"{colour}\"/><text x=\"{}\" y=\"43\">{}</text>",
                x + 14.0,
                escape(class)
            );
            x += 30.0 + 7.0 * class.chars().count() as f64;
        }
        for (at, lane) in self.lanes.iter().enumerate() {
            let y = TOP + ROW * at as f64;
            let _ = writeln!(
                svg,
                "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text><path d=\"M{LEFT} {1} h{WIDTH}\" stroke=\"#e6e6e6\"/>",
                LEFT - 6.0,
                y + 12.0,
                escape(&lane.name)
            );
            for span in lane.spans.iter().filter(|span| span.to > begin && span.from < end) {
                let (from, to) = (span.from.max(begin), span.to.min(end));
                let title = match span.title.is_empty() {
                    true => String::new(),
                    false => format!("<title>{}</title>", escape(&span.title)),
                };
                let _ = writeln!(
                    svg,
                    "<rect x=\"{:.2}\" y=\"{:.1}\" width=\"{:.2}\" height=\"{:.1}\" fill=\"{}\">{title}</rect>",
                    LEFT + WIDTH * (from - begin) / length,
                    y + 2.0,
                    (WIDTH * (to - from) / length).max(0.2),
                    ROW - 4.0,
                    COLOURS[span.class % COLOURS.len()]
                );
            }
        }
        let step = nice_step(length / 10.0);
        let mut tick = (begin / step).ceil() * step;
        while tick <= end {
            let x = LEFT + WIDTH * (tick - begin) / length;
            let _ = writeln!(
                svg,
                "<path d=\"M{x:.1} {TOP} V{bottom}\" stroke=\"#999\" stroke-opacity=\"0.35\"/><text x=\"{x:.1}\" y=\"{}\" \
                 text-anchor=\"middle\">{tick}</text>",
                bottom + 14.0
            );
            tick += step;
        }
        let _ = write!(
            svg,
            "<text x=\"{}\" y=\"{}\">{}</text>\n</svg>\n",
            LEFT + WIDTH / 2.0,
            bottom + 32.0,
            escape(&self.unit)
        );
        svg
    }
}

/// The next of 1, 2, 5, 10, … that is no less.
fn nice_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0].map(|it| it * power).into_iter().find(|step| *step >= least).unwrap_or(10.0 * power)
}
