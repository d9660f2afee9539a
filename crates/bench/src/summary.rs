//! Speeds of one operation in few figures, as front pages and reference pages show them: ours in each variant, and the fastest of
//! the other libraries.

use crate::results::{Results, Row};
use crate::tables::{END, figure_of};
use std::fmt::Write as _;

/// Bytes of the message by which implementations are ranked, where it was measured.
const RANKED_AT: u64 = 16 << 10;

/// What `Row::variant` is of other libraries; a bound of the machine is none.
const LIBRARY: &str = "library";

/// How fast one implementation is.
#[derive(Clone, Debug, PartialEq)]
pub struct Line<'r> {
    /// The variant, or the library with its version.
    pub name: &'r str,
    /// Whether it is ours.
    pub is_ours: bool,
    /// By what it was compiled; of a library nothing is known.
    pub engine: &'r str,
    /// Megabytes (10^6) a second at each size, median.
    pub speeds: Vec<Option<f64>>,
}

/// How fast an operation is: one message on one thread, with one call.
#[derive(Clone, Debug, PartialEq)]
pub struct Speeds<'r> {
    /// Bytes of the messages.
    pub sizes: Vec<u64>,
    /// Which of the sizes ranks.
    ranked_at: usize,
    /// Ours, the fastest first, and the fastest of the others, if there are any.
    pub lines: Vec<Line<'r>>,
}

impl<'r> Speeds<'r> {
    /// What results say of an operation; nothing where none of ours was measured.
    pub fn of(results: &'r Results, primitive: &str, operation: &str) -> Option<Self> {
        let rows = || {
            results.rows.iter().filter(move |row| {
                (row.primitive.as_str(), row.operation.as_str()) == (primitive, operation)
                    && (row.streams, row.threads, row.pieces) == (1, 1, 0)
                    && row.mb_per_s_median.is_some()
            })
        };
        let mut sizes: Vec<u64> = rows().filter(|row| is_ours(row)).map(|row| row.bytes).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let ranked_at = sizes.iter().position(|size| *size == RANKED_AT).or(sizes.len().checked_sub(1))?;
        let mut lines: Vec<Line<'r>> = Vec::new();
        for row in rows().filter(|row| is_ours(row) || row.variant == LIBRARY) {
            let Some(size) = sizes.iter().position(|size| *size == row.bytes) else { continue };
            let (name, engine) =
                if is_ours(row) { (&row.variant, row.engine.as_str()) } else { (&row.implementation, "") };
            let same = |line: &Line<'_>| (line.name, line.is_ours, line.engine) == (name, is_ours(row), engine);
            let at = lines.iter().position(same).unwrap_or_else(|| {
                lines.push(Line { name, is_ours: is_ours(row), engine, speeds: vec![None; sizes.len()] });
                lines.len() - 1
            });
            let (speed, this) = (&mut lines[at].speeds[size], row.mb_per_s_median);
            *speed = if *speed < this { this } else { *speed };
        }
        let rank = |line: &Line<'_>| line.speeds[ranked_at].unwrap_or(0.0);
        // Ours come first; equal ones stay in the order of the results.
        lines.sort_by(|a, b| b.is_ours.cmp(&a.is_ours).then(rank(b).total_cmp(&rank(a))));
        let n_ours = lines.iter().take_while(|line| line.is_ours).count();
        lines.truncate(n_ours + 1);
        Some(Speeds { sizes, ranked_at, lines })
    }

    /// The fastest of ours.
    pub fn ours(&self) -> Option<&Line<'r>> {
        self.lines.first()
    }

    /// The fastest of the others.
    pub fn other(&self) -> Option<&Line<'r>> {
        self.lines.last().filter(|line| !line.is_ours)
    }

    /// Bytes of the message that ranks.
    pub fn ranking_size(&self) -> u64 {
        self.sizes[self.ranked_at]
    }

    /// The speed that ranks a line.
    pub fn ranked(&self, line: &Line<'_>) -> Option<f64> {
        line.speeds[self.ranked_at]
    }
}

fn is_ours(row: &Row) -> bool {
    row.implementation == "headrace"
}

/// The machine in a few words, and when it measured.
pub fn machine(results: &Results) -> String {
    let machine = &results.machine;
    let clock = machine.clock_hz.map_or(String::new(), |hertz| format!(", {:.2} GHz", hertz / 1e9));
    let (date, _) = machine.date.split_at_checked(10).unwrap_or((&machine.date, ""));
    format!("{}{clock}, {date}", machine.cpu)
}

/// What a mark for a table of speeds begins with; the operations follow, with commas between them.
const MARK: &str = "<!-- generated: speed of ";

/// The document with its tables of speeds renewed; `None` where it has no mark for one.
///
/// # Errors
///
/// A mark that does not end, or an operation that no result is about.
pub fn renew(document: &str, results: &[Results]) -> Result<Option<String>, String> {
    let (mut new, mut rest, mut found) = (String::with_capacity(document.len()), document, false);
    while let Some(at) = rest.find(MARK) {
        let named = &rest[at + MARK.len()..];
        let (names, after) = named.split_once(" -->").ok_or("a mark for speeds does not end")?;
        let end = after.find(END).ok_or_else(|| format!("the table of speeds has no `{END}`"))?;
        let _ = write!(new, "{}{names} -->\n{}", &rest[..at + MARK.len()], table(names, results)?);
        rest = &after[end..];
        found = true;
    }
    new.push_str(rest);
    Ok(found.then_some(new))
}

/// A row for each of these operations: our fastest variant and the fastest other library.
fn table(names: &str, results: &[Results]) -> Result<String, String> {
    let mut text = String::new();
    let mut about: Option<(&Results, u64, &str)> = None;
    for name in names.split(", ") {
        let (set, operation) = name.split_once(' ').ok_or_else(|| format!("`{name}` is no operation of a set"))?;
        let found = results.iter().find_map(|results| Some((results, Speeds::of(results, set, operation)?)));
        let (results, speeds) = found.ok_or_else(|| format!("no result is about `{name}`"))?;
        let ours = speeds.ours().ok_or_else(|| format!("no result of ours is about `{name}`"))?;
        let this = (results, speeds.ranking_size(), ours.engine);
        match about {
            // What stands below the table is true of all its rows.
            Some(first)
                if (first.0.machine.cpu.as_str(), first.1, first.2) != (&this.0.machine.cpu, this.1, this.2) =>
            {
                return Err(format!("`{name}` was not measured as those before it"));
            }
            _ => about = Some(this),
        }
        let other = speeds.other();
        let _ = writeln!(
            text,
            "| `{set}` {operation} | {} | {} | {} | {} |",
            ours.name,
            figure_of(speeds.ranked(ours)),
            other.map_or("–", |line| line.name),
            figure_of(other.and_then(|line| speeds.ranked(line)))
        );
    }
    let (results, size, engine) = about.ok_or("a mark for speeds names no operation")?;
    Ok(format!(
        "| operation | variant | MB/s | fastest other library | MB/s |\n|---|---|--:|---|--:|\n{text}\n\
         One core, messages of {size} bytes, {engine}; {}.\n",
        machine(results)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Subject;

    fn row(implementation: &str, variant: &str, bytes: u64, seconds: f64) -> Row {
        let subject = Subject {
            primitive: "one".into(),
            operation: "hash".into(),
            variant: variant.into(),
            implementation: implementation.into(),
            engine: "c".into(),
            bytes,
            verified: None,
        };
        Row::new(subject, vec![seconds], None)
    }

    fn results() -> Results {
        let mut rows = vec![
            row("headrace", "standard", 1000, 1e-6),
            row("headrace", "lut", 1000, 0.5e-6),
            row("slow 1", LIBRARY, 1000, 4e-6),
            row("fast 2", LIBRARY, 1000, 2e-6),
            row("bound of this machine", "bound", 1000, 0.1e-6),
            row("headrace", "lut", 10, 1e-6),
            row("headrace", "lut", 1000, 1e-9),
            row("headrace", "lut", 1000, 1e-9),
        ];
        rows[6].threads = 8;
        rows[7].pieces = 100;
        Results { rows, ..Results::default() }
    }

    #[test]
    fn ours_stand_before_the_fastest_other_and_only_whole_messages_on_one_thread_count() {
        let results = results();
        let speeds = Speeds::of(&results, "one", "hash").expect("it was measured");
        assert_eq!((speeds.sizes.as_slice(), speeds.ranking_size()), (&[10, 1000][..], 1000));
        let names: Vec<&str> = speeds.lines.iter().map(|line| line.name).collect();
        assert_eq!(names, ["lut", "standard", "fast 2"]);
        assert_eq!(speeds.lines[0].speeds, [Some(10.0), Some(2000.0)]);
        assert_eq!(speeds.lines[2].speeds, [None, Some(500.0)]);
        assert_eq!(Speeds::of(&results, "one", "mac"), None);
    }

    #[test]
    fn tables_stand_between_their_marks() {
        let mark = format!("{MARK}one hash -->");
        let document = format!("before\n{mark}\nold\n{END}\nafter\n");
        let new = renew(&document, &[results()]).expect("it is measured").expect("it has a mark");
        assert!(new.starts_with("before\n") && new.ends_with(&format!("{END}\nafter\n")) && !new.contains("old"));
        assert!(new.contains("| `one` hash | lut | 2 000 | fast 2 | 500 |"), "{new}");
        assert_eq!(renew(&new, &[results()]), Ok(Some(new.clone())));
        assert_eq!(renew("nothing", &[results()]), Ok(None));
        assert!(renew(&document.replace("hash", "mac"), &[results()]).is_err_and(|said| said.contains("`one mac`")));
    }
}
