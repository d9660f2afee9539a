//! Tables of results in Markdown, for documents and the terminal.

use crate::results::{Ratio, Results, Row, Verdict};
use std::fmt::Write as _;

/// Marks where a generated table begins in a document; what follows, up to [`END`], is replaced.
pub fn begin(name: &str) -> String {
    format!("<!-- generated: {name} -->")
}

/// Marks where a generated table ends.
pub const END: &str = "<!-- end of generated -->";

/// The document with the part between the marks of `name` replaced; `None` when the marks are not there.
pub fn replace(document: &str, name: &str, content: &str) -> Option<String> {
    let begin = begin(name);
    let from = document.find(&begin)? + begin.len();
    let to = from + document[from..].find(END)?;
    Some(format!("{}\n{}\n{}", &document[..from], content.trim_end(), &document[to..]))
}

/// What stands between the marks of `name`; `None` when they are not there.
pub fn content<'d>(document: &'d str, name: &str) -> Option<&'d str> {
    let begin = begin(name);
    let from = document.find(&begin)? + begin.len();
    let to = from + document[from..].find(END)?;
    Some(&document[from..to])
}

/// A figure with three significant digits or more.
pub fn figure(value: f64) -> String {
    match value.abs() {
        size if !size.is_finite() => "–".into(),
        size if size >= 100.0 => group(value),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.01 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

/// The same for one that may not be there.
pub fn figure_of(value: Option<f64>) -> String {
    figure(value.unwrap_or(f64::NAN))
}

/// A whole number with thin groups of three digits.
fn group(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    if value < 0.0 { format!("-{grouped}") } else { grouped }
}

/// All rows.
pub fn rows(rows: &[Row]) -> String {
    let mut text = String::from(
        "| primitive | operation | variant | implementation | compiled by | MB/s median | MB/s best | cycles/byte | spread |\n\
         |---|---|---|---|---|--:|--:|--:|--:|\n",
    );
    for row in rows {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {:.1} % |",
            row.primitive,
            row.operation,
            row.variant,
            row.implementation,
            row.engine,
            figure_of(row.mb_per_s_median),
            figure_of(row.mb_per_s_best),
            figure_of(row.cycles_per_byte_median),
            100.0 * row.spread
        );
    }
    text
}

/// All comparisons with their goals.
pub fn ratios(ratios: &[Ratio]) -> String {
    let mut text = String::from("| what | compiled by | measured | goal | reached |\n|---|---|--:|--:|---|\n");
    for ratio in ratios {
        let unit = if ratio.unit.is_empty() { String::new() } else { format!(" {}", ratio.unit) };
        let _ = writeln!(
            text,
            "| {} | {} | {}{unit} | {} {}{unit} | {} |",
            ratio.name,
            ratio.engine,
            figure(ratio.value),
            if ratio.at_most { "≤" } else { "≥" },
            figure(ratio.goal),
            if ratio.is_met() { "yes" } else { "no" }
        );
    }
    text
}

/// What the referee says, row by row.
pub fn verdicts(verdicts: &[Verdict]) -> String {
    let mut text = String::from(
        "| row | operation | bytes | ours, cycles/byte | best other | cycles/byte | ratio | must | goal | |\n|---|---|--:|--:|---|--:|--:|---|---|---|\n",
    );
    for verdict in verdicts {
        let _ = writeln!(
            text,
            "| {} | {} {} | {} | {} | {} | {} | {} | {} | {} | {}{} |",
            verdict.row,
            verdict.primitive,
            verdict.operation,
            verdict.load(),
            figure_of(verdict.ours),
            verdict.other,
            figure_of(verdict.others),
            figure_of(verdict.ratio),
            verdict.must,
            verdict.goal,
            verdict.status.word(),
            if verdict.note.is_empty() { String::new() } else { format!(" ({})", verdict.note) }
        );
    }
    text
}

/// The machine, in a sentence or two.
pub fn machine(results: &Results) -> String {
    let machine = &results.machine;
    let caches: Vec<String> =
        machine.caches.iter().map(|cache| format!("L{} {} {}", cache.level, cache.kind, cache.size)).collect();
    let versions: Vec<&str> = machine.versions.values().map(String::as_str).collect();
    format!(
        "{}, {} cores, {} ({}), {}; {}; {}. Measured {} at commit {}; what counts is {}.\n",
        machine.cpu,
        machine.cores,
        machine.clock_hz.map_or("no clock".into(), |hertz| format!("{:.2} GHz", hertz / 1e9)),
        machine.clock_source,
        caches.join(", "),
        machine.system,
        versions.join("; "),
        machine.date,
        machine.commit,
        machine.time
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures() {
        assert_eq!(figure(1234567.0), "1 234 567");
        assert_eq!(figure(385.4), "385");
        assert_eq!(figure(36.06), "36.1");
        assert_eq!(figure(0.8049), "0.80");
        assert_eq!(figure(f64::NAN), "–");
    }

    #[test]
    fn a_part_of_a_document_is_replaced() {
        let document = format!("before\n{}\nold\n{END}\nafter\n", begin("speed"));
        let new = replace(&document, "speed", "new\n").expect("the marks are there");
        assert_eq!(new, format!("before\n{}\nnew\n{END}\nafter\n", begin("speed")));
        assert_eq!(replace(&new, "speed", "new\n"), Some(new.clone()));
        assert_eq!(replace(&document, "other", "new"), None);
    }
}
