//! Areas from a library of standard cells in the Liberty format: all that is read of it is `cell (NAME) { … area : N; … }`.

use crate::count::Counts;
use std::collections::BTreeMap;

/// The area of each cell, in the unit of the library.
pub fn areas(library: &str) -> BTreeMap<String, f64> {
    let mut areas = BTreeMap::new();
    let mut cell: Option<String> = None;
    for line in library.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("cell").map(str::trim_start).and_then(|rest| rest.strip_prefix('(')) {
            cell = rest.split(')').next().map(|name| name.trim().trim_matches('"').to_owned());
        }
        let area = line.strip_prefix("area").map(str::trim_start).and_then(|rest| rest.strip_prefix(':'));
        // The first area behind the name is that of the cell, not of one of its pins.
        if let (Some(area), Some(name)) = (area, &cell)
            && let Ok(area) = area.trim().trim_end_matches(';').trim().parse()
        {
            areas.insert(name.clone(), area);
            cell = None;
        }
    }
    areas
}

/// The area of a core in gate equivalents: in areas of the cell `gate`.
///
/// # Errors
///
/// The cell that the library does not have.
pub fn gate_equivalents(counts: &Counts, areas: &BTreeMap<String, f64>, gate: &str) -> Result<f64, String> {
    let of = |kind: &str| areas.get(kind).copied().ok_or_else(|| format!("the library has no area of `{kind}`"));
    let mut sum = 0.0;
    for (kind, n) in &counts.cells {
        sum += of(kind)? * *n as f64;
    }
    Ok(sum / of(gate)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_of_cells_are_read_and_added() {
        let text = "library (x) {\n  cell (NAND2X1) {\n    area : 24;\n    pin(A) { area : 3; }\n  }\n  cell (\"INVX1\") {\n    area : 16.5;\n";
        let areas = areas(text);
        assert_eq!(areas, BTreeMap::from([("INVX1".into(), 16.5), ("NAND2X1".into(), 24.0)]));
        let counts = Counts { cells: BTreeMap::from([("NAND2X1".into(), 2)]), ..Counts::default() };
        assert_eq!(gate_equivalents(&counts, &areas, "NAND2X1"), Ok(2.0));
        let other = Counts { cells: BTreeMap::from([("DFF".into(), 1)]), ..Counts::default() };
        assert!(gate_equivalents(&other, &areas, "NAND2X1").is_err_and(|why| why.contains("`DFF`")));
    }
}
