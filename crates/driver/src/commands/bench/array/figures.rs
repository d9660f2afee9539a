//! The evaluation's figures 12 to 17 of the publication, computed anew: as rows and as charts. The originals are lost.

use super::super::experiments::{Experiment, Line, experiment};
use super::{Bench, Published};
use crate::failure::Outcome;
use headrace_array::energy::{at_voltage, frequency};
use headrace_platform::charts::{Axis, Point, Scatter, Series};

/// Voltages of figures 13 and 14.
const VOLTS: [f64; 8] = [0.65, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3];

/// A chart with the name of its file.
pub type Chart = (&'static str, String);

fn point(x: f64, y: f64, label: impl Into<String>) -> Point {
    Point { x, y, label: label.into() }
}

/// A chart of some series.
fn chart(title: &str, x: Axis, y: Axis, series: Vec<Series>) -> String {
    Scatter { title: title.into(), x, y, series, size: (760, 520) }.svg()
}

impl Bench<'_> {
    /// Rows and charts of figures 12 to 17.
    pub(super) fn figures(&mut self, published: &Published) -> Outcome<(Experiment, Vec<Chart>)> {
        let mut lines = Vec::new();
        let mut charts = Vec::new();
        let has = *self.machine.grid.cores as usize;
        let nominal = *self.machine.clock.mhz;
        // Figure 12: throughput by processors, with copies as far as they fit.
        let mut copies: Vec<Series> = Vec::new();
        for n in [1_usize, 2, 4] {
            let mut points = Vec::new();
            for it in &published.design {
                let both = self.mapped(&format!("{}-offline", it.mapping))?;
                let cores = n * both.0.design.cores.len();
                let mbps = n as f64 * 128.0 * nominal / both.0.outcome.cycles_per_message;
                let what = format!("Figure 12: {}, {n} times: Mbit/s", it.name);
                let note = format!("{cores} processors");
                if cores > has {
                    let note = format!("{note} are more than there are");
                    lines.push(Line { what, published: None, here: None, tolerance: None, note });
                    continue;
                }
                lines.push(Line::new(what, None, mbps, None).note(note));
                points.push(point(cores as f64, mbps, if n == 1 { it.name.as_str() } else { "" }));
            }
            copies.push(Series { name: format!("{n} times"), line: false, points });
        }
        charts.push((
            "array-throughput.svg",
            chart(
                "Throughput by processors, keys offline (figure 12)",
                Axis::logarithmic("processors"),
                Axis::logarithmic("Mbit/s"),
                copies,
            ),
        ));
        // Figure 13: frequency and power of one processor by voltage.
        let mut curves = [Vec::new(), Vec::new()];
        for volts in VOLTS {
            let mhz = frequency(&self.machine, volts);
            let mw = *self.machine.power.active_mw * mhz / nominal * at_voltage(&self.machine, volts);
            let what = format!("Figure 13: a processor at {volts} V: MHz");
            lines.push(Line::new(what, None, mhz, None).note(format!("{mw:.2} mW where it executes in each cycle")));
            curves[0].push(point(volts, mhz, ""));
            curves[1].push(point(volts, mw, ""));
        }
        let [frequencies, powers] = curves;
        let curve = |name: &str, points| Series { name: name.into(), line: true, points };
        charts.push((
            "array-voltage.svg",
            chart(
                "A processor by voltage (figure 13)",
                Axis::linear("volts"),
                Axis::logarithmic("MHz, mW"),
                vec![curve("frequency, MHz", frequencies), curve("power, mW", powers)],
            ),
        ));
        // Figure 14: energy by voltage.
        let mut energies = Vec::new();
        for it in &published.design {
            let at_nominal = self.mapped(&format!("{}-offline", it.mapping))?.1.nj_per_message / 128.0;
            let all = VOLTS.map(|volts| (volts, at_nominal * at_voltage(&self.machine, volts)));
            let row = all.map(|(volts, nj)| format!("{volts} V: {nj:.2}")).join(", ");
            let what = format!("Figure 14: {}: nJ a bit at {} V", it.name, *self.machine.clock.volts);
            lines.push(Line::new(what, None, at_nominal, None).note(row));
            energies.push(curve(&it.name, all.map(|(volts, nj)| point(volts, nj, "")).to_vec()));
        }
        charts.push((
            "array-energy.svg",
            chart(
                "Energy by voltage, keys offline (figure 14)",
                Axis::linear("volts"),
                Axis::linear("nJ a bit"),
                energies,
            ),
        ));
        // Figure 16: what the published comparison scales by, beside the general rule.
        let to = published.software.last().map_or(65.0, |own| own.nm);
        let to_volts = published.scaling.iter().find(|it| it.nm == to).map_or(1.3, |it| it.volts);
        for it in &published.scaling {
            let what = format!("Figure 16: from {} nm, {} V to {to} nm, {to_volts} V: speed", it.nm, it.volts);
            let power = it.power.map_or(String::new(), |power| format!("; power times {power}"));
            let note = format!("by the general rule {:.3}{power}", it.nm / to);
            lines.push(Line::new(what, None, it.speed, None).note(note));
        }
        // Figure 17: performance an area by work an energy.
        let mut platforms = Vec::new();
        for it in &published.software {
            if let (Some(per_area), Some(energy)) = (it.scaled.mbps_per_mm2, it.scaled.nj_per_bit) {
                let per_energy = 1.0 / energy;
                let what = format!("Figure 17: {}: Gbit a joule", it.name);
                lines.push(Line::new(what, None, per_energy, None).note(format!("{per_area} Mbit/s a mm²")));
                platforms.push(point(per_energy, per_area, it.name.as_str()));
            }
        }
        charts.push((
            "array-platforms.svg",
            chart(
                "Throughput an area by work an energy (figure 17)",
                Axis::logarithmic("Gbit a joule"),
                Axis::logarithmic("Mbit/s a mm²"),
                vec![Series { name: "software on platforms".into(), line: false, points: platforms }],
            ),
        ));
        let notes = [
            "Figure 12 is at the nominal frequency with the simulated cycles; figure 15 is X11, and figure 17 has the scaled numbers of Table 5 (X12).",
            "Figure 16 was read by the publication from simulations of inverters: its factors are given, not found.",
        ];
        Ok((experiment("Figures 12 to 17", "what the lost figures show", lines, &notes), charts))
    }
}
