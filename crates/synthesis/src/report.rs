//! Timing reports of nextpnr (`--report`): the clock frequency that was reached, and where the critical path is.

use serde::Deserialize;
use std::collections::BTreeMap;

/// What came of placing and routing once.
#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    /// Clock frequency, in MHz.
    pub fmax_mhz: f64,
    /// The critical path, where one is reported.
    pub critical: Option<Critical>,
}

/// A critical path.
#[derive(Clone, Debug, PartialEq)]
pub struct Critical {
    /// Where it begins and ends: inside of the core, or in the wrapper around it.
    pub ends: String,
    /// What cells take of it, in ns.
    pub logic_ns: f64,
    /// What wires take of it, in ns.
    pub route_ns: f64,
}

#[derive(Deserialize)]
struct Report {
    fmax: BTreeMap<String, Clock>,
    #[serde(default)]
    critical_paths: Vec<Path>,
}

#[derive(Deserialize)]
struct Clock {
    achieved: f64,
}

#[derive(Deserialize)]
struct Path {
    from: String,
    to: String,
    path: Vec<Segment>,
}

#[derive(Deserialize)]
struct Segment {
    delay: f64,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    from: Option<End>,
    #[serde(default)]
    to: Option<End>,
}

#[derive(Deserialize)]
struct End {
    cell: String,
}

/// Reads a report.
///
/// # Errors
///
/// That it is none, or that no path goes from clock edge to clock edge.
pub fn read(json: &str) -> Result<Timing, String> {
    let report: Report =
        serde_json::from_str(json).map_err(|error| format!("this is no report of nextpnr: {error}"))?;
    let fmax_mhz = report.fmax.values().map(|clock| clock.achieved).reduce(f64::min);
    let fmax_mhz = fmax_mhz.ok_or("nextpnr found no path between registers")?;
    // Of those that begin and end at the same edge of the same clock, the first is the longest.
    let clock = |end: &str| end.split_whitespace().last().map(str::to_owned);
    let is_whole = |path: &&Path| clock(&path.from) == clock(&path.to) && !path.path.is_empty();
    let critical = report.critical_paths.iter().find(is_whole).map(|path| critical(&path.path));
    Ok(Timing { fmax_mhz, critical })
}

fn critical(segments: &[Segment]) -> Critical {
    let place = |end: Option<&Option<End>>| match end.and_then(Option::as_ref) {
        Some(end) if end.cell.starts_with(INSIDE) => "core",
        Some(_) => "wrapper",
        None => "?",
    };
    let begins = place(segments.first().map(|segment| &segment.from));
    let ends = place(segments.last().map(|segment| &segment.to));
    let sum = |is_route: bool| {
        let those = segments.iter().filter(|segment| (segment.kind == "routing") == is_route);
        those.map(|segment| segment.delay).sum::<f64>()
    };
    Critical { ends: format!("{begins} to {ends}"), logic_ns: sum(false), route_ns: sum(true) }
}

/// How names of cells of the core begin in the flat design.
const INSIDE: &str = "core.";

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"{"fmax": {"$glbnet$clk": {"achieved": 132.5, "constraint": 250.0}},
        "critical_paths": [
            {"from": "<async>", "to": "posedge $glbnet$clk", "path": []},
            {"from": "posedge $glbnet$clk", "to": "posedge $glbnet$clk", "path": [
                {"delay": 0.5, "type": "clk-to-q", "from": {"cell": "core.s_TRELLIS_FF_Q", "port": "CLK", "loc": [1, 2]}, "to": {"cell": "core.s_TRELLIS_FF_Q", "port": "Q", "loc": [1, 2]}},
                {"delay": 1.25, "type": "routing", "from": {"cell": "core.s_TRELLIS_FF_Q", "port": "Q", "loc": [1, 2]}, "to": {"cell": "x", "port": "A", "loc": [1, 2]}},
                {"delay": 0.25, "type": "setup", "from": {"cell": "x", "port": "A", "loc": [1, 2]}, "to": {"cell": "caught_q_TRELLIS_FF_Q", "port": "DI", "loc": [1, 2]}}]}],
        "utilization": {}}"#;

    #[test]
    fn the_slowest_clock_and_the_first_path_between_its_edges_are_read() {
        let timing = read(REPORT).expect("it is a report");
        let critical = Critical { ends: "core to wrapper".into(), logic_ns: 0.75, route_ns: 1.25 };
        assert_eq!(timing, Timing { fmax_mhz: 132.5, critical: Some(critical) });
        assert!(read(r#"{"fmax": {}}"#).is_err_and(|why| why.contains("no path")) && read("[]").is_err());
    }
}
