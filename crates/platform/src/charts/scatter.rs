//! Scatter plots: points in the plane, with lines through them where wanted, on linear or logarithmic axes.

use super::COLOURS;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;

/// An axis.
#[derive(Clone, Debug)]
pub struct Axis {
    /// What is on it, with its unit.
    pub label: String,
    /// Whether it is logarithmic; all values on it must be positive then, others are left out.
    pub logarithmic: bool,
}

impl Axis {
    /// A linear axis.
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), logarithmic: false }
    }

    /// A logarithmic axis.
    pub fn logarithmic(label: impl Into<String>) -> Self {
        Self { label: label.into(), logarithmic: true }
    }
}

/// A point.
#[derive(Clone, Debug)]
pub struct Point {
    /// Where it is on the horizontal axis.
    pub x: f64,
    /// Where it is on the vertical axis.
    pub y: f64,
    /// What is written beside it; nothing where empty.
    pub label: String,
}

/// Points that belong together.
#[derive(Clone, Debug)]
pub struct Series {
    /// What they are, for the legend.
    pub name: String,
    /// Whether a line leads through them, in their order.
    pub line: bool,
    /// The points.
    pub points: Vec<Point>,
}

/// A scatter plot.
#[derive(Clone, Debug)]
pub struct Scatter {
    /// What stands above it.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What is drawn, the first below all others.
    pub series: Vec<Series>,
    /// Width and height in pixels.
    pub size: (u32, u32),
}

impl Scatter {
    /// The plot as SVG, empty where there is no point.
    pub fn svg(&self) -> String {
        let shown = |value: f64, axis: &Axis| value.is_finite() && (!axis.logarithmic || value > 0.0);
        let mut plot = self.clone();
        for series in &mut plot.series {
            series.points.retain(|point| shown(point.x, &self.x) && shown(point.y, &self.y));
        }
        let all = || plot.series.iter().flat_map(|series| &series.points);
        if all().next().is_none() {
            return String::new();
        }
        let x = range(all().map(|point| point.x), self.x.logarithmic);
        let y = range(all().map(|point| point.y), self.y.logarithmic);
        let mut svg = String::new();
        let drawn = match (self.x.logarithmic, self.y.logarithmic) {
            (true, true) => plot.draw(&mut svg, x.log_scale(), y.log_scale()),
            (true, false) => plot.draw(&mut svg, x.log_scale(), y),
            (false, true) => plot.draw(&mut svg, x, y.log_scale()),
            (false, false) => plot.draw(&mut svg, x, y),
        };
        // A text has room for everything: there is nothing that can fail.
        drawn.map_or_else(|_| String::new(), |()| svg)
    }

    fn draw<X, Y>(&self, svg: &mut String, x: X, y: Y) -> Result<(), Box<dyn std::error::Error>>
    where
        X: AsRangedCoord<Value = f64>,
        Y: AsRangedCoord<Value = f64>,
        X::CoordDescType: ValueFormatter<f64> + Ranged<ValueType = f64>,
        Y::CoordDescType: ValueFormatter<f64> + Ranged<ValueType = f64>,
    {
        let area = SVGBackend::with_string(svg, self.size).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(&self.title, ("sans-serif", 16))
            .margin(10)
            .margin_right(24)
            .x_label_area_size(38)
            .y_label_area_size(60)
            .build_cartesian_2d(x, y)?;
        chart
            .configure_mesh()
            .x_desc(&self.x.label)
            .y_desc(&self.y.label)
            .x_label_formatter(&|value| number(*value))
            .y_label_formatter(&|value| number(*value))
            .light_line_style(TRANSPARENT)
            .draw()?;
        for (series, colour) in self.series.iter().zip(COLOURS.iter().cycle()) {
            let colour = rgb(colour);
            let points = || series.points.iter().map(|point| (point.x, point.y));
            if series.line {
                chart.draw_series(LineSeries::new(points(), colour.stroke_width(2)))?;
            }
            let circles = points().map(|point| Circle::new(point, 4, colour.filled()));
            chart
                .draw_series(circles)?
                .label(&series.name)
                .legend(move |(x, y)| Circle::new((x + 8, y), 4, colour.filled()));
            let style = ("sans-serif", 11).into_font().color(&BLACK);
            chart.draw_series(series.points.iter().filter(|point| !point.label.is_empty()).map(|point| {
                EmptyElement::at((point.x, point.y)) + Text::new(point.label.clone(), (6, -12), style.clone())
            }))?;
        }
        if self.series.len() > 1 {
            chart.configure_series_labels().background_style(WHITE.mix(0.85)).border_style(BLACK.mix(0.3)).draw()?;
        }
        area.present()?;
        Ok(())
    }
}

/// The values with some air around them.
fn range(values: impl Iterator<Item = f64> + Clone, logarithmic: bool) -> std::ops::Range<f64> {
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), it| (low.min(it), high.max(it)));
    match logarithmic {
        true => low / 1.5..high * 2.0,
        false => {
            let air = if high > low { (high - low) * 0.08 } else { high.abs().max(1.0) * 0.1 };
            let begin = if low >= 0.0 && low < high / 2.0 { 0.0 } else { low - air };
            begin..high + 1.5 * air
        }
    }
}

/// A number with three figures.
fn number(value: f64) -> String {
    let digits = match value.abs() {
        0.0 => 0,
        size => (2 - size.log10().floor() as i32).clamp(0, 6) as usize,
    };
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn rgb(hex: &str) -> RGBColor {
    let part = |at: usize| hex.get(at..at + 2).and_then(|two| u8::from_str_radix(two, 16).ok()).unwrap_or(0);
    RGBColor(part(1), part(3), part(5))
}
