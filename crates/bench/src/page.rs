//! Results as one self-contained page: what the referee says, and for every operation who is how fast at which size.

use crate::report::{STYLE, escape};
use crate::results::{Results, Row, Status};
use crate::tables::{figure, figure_of, machine};
use plotters::prelude::*;
use std::fmt::Write as _;

/// Rows of verdicts are long: they take the width that there is, and scroll where that is too little.
const OWN_STYLE: &str = "body { max-width: 92rem; } p, h2 { overflow-wrap: anywhere; } .verdicts { font-size: .88rem; } .verdicts td:not(.n) { min-width: 6rem; }\n";

/// Size of a plot.
const PLOT: (u32, u32) = (760, 420);

/// Colours of ours, and of the others in turn.
const OURS: RGBColor = RGBColor(20, 110, 180);
const OTHERS: [RGBColor; 6] = [
    RGBColor(200, 80, 40),
    RGBColor(60, 150, 80),
    RGBColor(150, 90, 170),
    RGBColor(170, 140, 30),
    RGBColor(110, 110, 110),
    RGBColor(30, 160, 160),
];

/// The page.
///
/// # Errors
///
/// What the plotting library says.
pub fn page(results: &Results) -> Result<String, String> {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Headrace beside other libraries</title><style>{STYLE}{OWN_STYLE}</style></head><body>\n<h1>Headrace beside other libraries</h1>\n<p class=\"lead\">{}</p>\n",
        escape(&machine(results))
    );
    verdicts(&mut page, results);
    ratios(&mut page, results);
    let mut operations: Vec<(&str, &str, u32, u64)> = Vec::new();
    for row in &results.rows {
        let operation = (row.primitive.as_str(), row.operation.as_str(), row.streams, row.pieces);
        if !operations.contains(&operation) {
            operations.push(operation);
        }
    }
    for (primitive, name, streams, pieces) in operations {
        let same = |row: &&Row| {
            (row.primitive.as_str(), row.operation.as_str(), row.streams, row.pieces)
                == (primitive, name, streams, pieces)
        };
        let rows: Vec<&Row> = results.rows.iter().filter(same).collect();
        operation(&mut page, &rows, streams, pieces)?;
    }
    page.push_str("</body></html>\n");
    Ok(page)
}

fn verdicts(page: &mut String, results: &Results) {
    if results.verdicts.is_empty() {
        return;
    }
    let count = |status: Status| results.verdicts.iter().filter(|verdict| verdict.status == status).count();
    let _ = write!(
        page,
        "<h2>What must be reached</h2>\n<p>{} goals reached, {} musts reached, {} missed, {} not measured, {} wrong. A ratio is the other side's cycles over ours: above 1 we are ahead.</p>\n\
         <div class=\"scroll\"><table class=\"verdicts\"><thead><tr><th>row</th><th>operation</th><th class=\"n\">bytes</th><th class=\"n\">ours, cycles/byte</th><th>best other</th><th class=\"n\">cycles/byte</th><th class=\"n\">ratio</th><th>must</th><th>goal</th><th></th></tr></thead><tbody>\n",
        count(Status::Goal),
        count(Status::Must),
        count(Status::Missed),
        count(Status::NotMeasured),
        count(Status::Error)
    );
    for verdict in &results.verdicts {
        let class = match verdict.status {
            Status::Goal | Status::Must => "yes",
            Status::Missed | Status::Error => "no",
            Status::NotMeasured | Status::Compared => "off",
        };
        let note = if verdict.note.is_empty() {
            String::new()
        } else {
            format!("<br><span class=\"off\">{}</span>", escape(&verdict.note))
        };
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td>{} {}<br><span class=\"off\">{}</span></td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td><td>{}</td><td><span class=\"{class}\">{}</span>{note}</td></tr>",
            escape(&verdict.row),
            escape(&verdict.primitive),
            escape(&verdict.operation),
            escape(&verdict.variant),
            verdict.load(),
            figure_of(verdict.ours),
            escape(&verdict.other),
            figure_of(verdict.others),
            figure_of(verdict.ratio),
            escape(&verdict.must),
            escape(&verdict.goal),
            verdict.status.word()
        );
    }
    page.push_str("</tbody></table></div>\n");
}

fn ratios(page: &mut String, results: &Results) {
    if results.ratios.is_empty() {
        return;
    }
    page.push_str("<div class=\"scroll\"><table><thead><tr><th>what</th><th>compiled by</th><th class=\"n\">measured</th><th class=\"n\">goal</th><th></th></tr></thead><tbody>\n");
    for ratio in &results.ratios {
        let (class, word) = if ratio.is_met() { ("yes", "reached") } else { ("no", "missed") };
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td>{}</td><td class=\"n\">{} {}</td><td class=\"n\">{} {}</td><td class=\"{class}\">{word}</td></tr>",
            escape(&ratio.name),
            escape(&ratio.engine),
            figure(ratio.value),
            escape(&ratio.unit),
            if ratio.at_most { "≤" } else { "≥" },
            figure(ratio.goal)
        );
    }
    page.push_str("</tbody></table></div>\n");
}

/// The name of a row in a plot.
fn label(row: &Row) -> String {
    if row.implementation == "headrace" { format!("headrace, {}", row.variant) } else { row.implementation.clone() }
}

/// One operation: a table at the size that most rows have, and a plot over sizes.
fn operation(page: &mut String, rows: &[&Row], streams: u32, pieces: u64) -> Result<(), String> {
    let Some(first) = rows.first() else { return Ok(()) };
    let together = match (streams, pieces) {
        (1, 0) => String::new(),
        (1, pieces) => format!(", in pieces of {pieces} bytes"),
        (streams, _) => format!(", {streams} messages at once"),
    };
    let title = format!("{} {}{together}", first.primitive, first.operation);
    let sizes: Vec<u64> = {
        let mut sizes: Vec<u64> = rows.iter().map(|row| row.bytes).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    };
    let size = if sizes.contains(&(16 << 10)) { 16 << 10 } else { sizes.last().copied().unwrap_or(0) };
    let mut at_size: Vec<&&Row> = rows.iter().filter(|row| row.bytes == size).collect();
    // Those without the figure come last.
    let order = |row: &Row| row.cycles_per_byte_median.unwrap_or(f64::INFINITY);
    at_size.sort_by(|a, b| order(a).total_cmp(&order(b)));
    let _ = write!(
        page,
        "<h2>{}</h2>\n<div class=\"scroll\"><table><thead><tr><th>{size} bytes</th><th>compiled by</th><th class=\"n\">cycles/byte</th><th class=\"n\">best</th><th class=\"n\">MB/s</th><th class=\"n\">spread</th><th>MB/s</th></tr></thead><tbody>\n",
        escape(&title)
    );
    let fastest = at_size.iter().filter_map(|row| row.mb_per_s_median).fold(0.0, f64::max);
    for row in at_size {
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td class=\"off\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{:.1} %</td><td class=\"graph\"><div class=\"bar\" style=\"width:{:.1}%\"></div></td></tr>",
            escape(&label(row)),
            escape(&row.engine),
            figure_of(row.cycles_per_byte_median),
            figure_of(row.cycles_per_byte_best),
            figure_of(row.mb_per_s_median),
            100.0 * row.spread,
            row.mb_per_s_median.map_or(0.0, |speed| 100.0 * speed / fastest)
        );
    }
    page.push_str("</tbody></table></div>\n");
    if rows.iter().any(|row| !row.separate_cycles.is_empty()) {
        let plot = separate_runs(rows).map_err(|error| error.to_string())?;
        let _ = writeln!(page, "<figure>{plot}</figure>");
    }
    if let (true, Some(least), Some(most)) = (sizes.len() > 1, sizes.first(), sizes.last()) {
        let plot = over_sizes(rows, *least as f64, *most as f64).map_err(|error| error.to_string())?;
        let _ = writeln!(page, "<figure>{plot}</figure>");
    }
    Ok(())
}

/// A line of a plot: its name, whether it is ours, its points.
type Line = (String, bool, Vec<(f64, f64)>);

/// Cycles a byte over sizes, both logarithmic: a line for each implementation.
fn over_sizes(rows: &[&Row], least: f64, most: f64) -> Result<String, Box<dyn std::error::Error>> {
    let figures = || rows.iter().filter_map(|row| row.cycles_per_byte_median).filter(|value| *value > 0.0);
    let (low, high) = (figures().fold(f64::INFINITY, f64::min), figures().fold(0.0, f64::max));
    if low > high {
        return Ok(String::new());
    }
    let mut lines: Vec<Line> = Vec::new();
    for row in rows.iter().filter(|row| row.separate_cycles.is_empty()) {
        let Some(cycles) = row.cycles_per_byte_median else { continue };
        let point = (row.bytes as f64, cycles);
        let name = format!("{}, {}", label(row), row.engine);
        match lines.iter_mut().find(|(known, ..)| *known == name) {
            Some((_, _, points)) => points.push(point),
            None => lines.push((name, row.implementation == "headrace", vec![point])),
        }
    }
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, PLOT).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .margin(8)
            .x_label_area_size(34)
            .y_label_area_size(56)
            .build_cartesian_2d((least..most * 64.0).log_scale(), (low / 1.5..high * 1.5).log_scale())?;
        chart
            .configure_mesh()
            .x_desc("bytes")
            .y_desc("cycles a byte")
            .x_label_formatter(&|value| format!("{value}"))
            .y_label_formatter(&|value| figure(*value))
            .light_line_style(TRANSPARENT)
            .draw()?;
        let mut others = OTHERS.iter().cycle();
        for (name, is_ours, mut points) in lines {
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            let colour = if is_ours { OURS } else { others.next().copied().unwrap_or(BLACK) };
            let width = if is_ours { 3 } else { 1 };
            let end = points.last().copied();
            chart.draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(width)))?;
            chart.draw_series(points.iter().map(|point| Circle::new(*point, 3, colour.filled())))?;
            let short = name.split(", c by").next().unwrap_or(&name).trim_end_matches(", native").to_owned();
            let style = ("sans-serif", 12).into_font().color(&colour);
            chart.draw_series(end.map(|(x, y)| Text::new(short, (x * 1.3, y * 1.04), style)))?;
        }
        area.present()?;
    }
    Ok(svg)
}

/// Cycles a byte of runs that were processes of their own, in the order in which they took place: a line for each contender.
fn separate_runs(rows: &[&Row]) -> Result<String, Box<dyn std::error::Error>> {
    let rows: Vec<&&Row> = rows.iter().filter(|row| !row.separate_cycles.is_empty()).collect();
    let figures =
        |row: &Row| -> Vec<f64> { row.separate_cycles.iter().map(|cycles| cycles / row.bytes as f64).collect() };
    let all: Vec<f64> = rows.iter().flat_map(|row| figures(row)).collect();
    let (low, high) = (crate::measure::least(&all), all.iter().copied().fold(0.0, f64::max));
    let n_runs = rows.iter().map(|row| row.separate_cycles.len()).max().unwrap_or(0);
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, PLOT).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .margin(8)
            .x_label_area_size(34)
            .y_label_area_size(56)
            .build_cartesian_2d(1.0..n_runs as f64 * 1.4, (low / 1.3..high * 1.3).log_scale())?;
        chart
            .configure_mesh()
            .x_desc("separate run")
            .y_desc("cycles a byte")
            .x_label_formatter(&|run| format!("{run}"))
            .y_label_formatter(&|value| figure(*value))
            .light_line_style(TRANSPARENT)
            .draw()?;
        let mut others = OTHERS.iter().cycle();
        for row in rows {
            let is_ours = row.implementation == "headrace";
            let colour =
                if is_ours && row.variant == "standard" { OURS } else { others.next().copied().unwrap_or(BLACK) };
            let points: Vec<(f64, f64)> = (1..).map(f64::from).zip(figures(row)).collect();
            chart.draw_series(LineSeries::new(points.iter().copied(), colour))?;
            let style = ("sans-serif", 12).into_font().color(&colour);
            let end = (n_runs as f64 * 1.02, crate::measure::median(&figures(row)));
            chart.draw_series(std::iter::once(Text::new(label(row), end, style)))?;
        }
        area.present()?;
    }
    Ok(svg)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Subject;

    #[test]
    fn a_page_has_a_plot_for_an_operation_with_sizes() {
        let row = |bytes, implementation: &str| Row {
            cycles_per_byte_median: Some(2.0),
            ..Row::new(
                Subject {
                    primitive: "x<y".into(),
                    operation: "hash".into(),
                    implementation: implementation.into(),
                    bytes,
                    ..Subject::default()
                },
                vec![1e-6],
                Some(1e9),
            )
        };
        let results = Results {
            machine: crate::machine::describe(&[], std::path::Path::new(".")),
            rows: vec![row(64, "headrace"), row(1024, "headrace"), row(64, "other"), row(1024, "other")],
            ..Results::default()
        };
        let mut separate = results.clone();
        separate.rows.iter_mut().for_each(|row| row.separate_cycles = vec![100.0, 120.0, 110.0]);
        assert!(page(&separate).expect("it can be drawn").contains("separate run"));
        let page = page(&results).expect("it can be drawn");
        assert!(page.contains("<svg") && page.contains("polyline"));
        assert!(page.contains("x&lt;y") && !page.contains("x<y"));
    }
}
