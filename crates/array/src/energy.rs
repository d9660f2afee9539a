//! Energy and area: what a simulated design takes of the chip and of the battery.
//!
//! Power of a processor is that of its states, each by its share of the time (executing, stalled or in a NOP with its clock
//! running, halted), and that of its links by the words on them (Liu and Baas 2013, equations 3 to 6). Energy goes with a
//! power of the voltage.

use crate::design::Design;
use crate::machine::Machine;
use crate::simulate::{Channel, Outcome};
use serde::Serialize;

/// What a design takes at the nominal voltage and frequency.
#[derive(Clone, Debug, Serialize)]
pub struct Energy {
    /// Milliwatts of instructions.
    pub executing_mw: f64,
    /// Milliwatts of NOPs and stalls with the clock running.
    pub stalled_mw: f64,
    /// Milliwatts of leakage while oscillators stand.
    pub leakage_mw: f64,
    /// Milliwatts of links.
    pub links_mw: f64,
    /// Area of the processors, in square millimetres.
    pub area_mm2: f64,
    /// Nanojoules a message.
    pub nj_per_message: f64,
    /// Messages a second.
    pub messages_per_second: f64,
}

impl Energy {
    /// All milliwatts.
    pub fn total_mw(&self) -> f64 {
        self.executing_mw + self.stalled_mw + self.leakage_mw + self.links_mw
    }
}

/// Tiles between the ends of a link: 1 for neighbours, and where nothing is known.
pub fn tiles(channel: &Channel, places: Option<&[[u32; 2]]>) -> u32 {
    match (channel.from, places) {
        (Some(from), Some(places)) => {
            let (a, b) = (places[from], places[channel.to]);
            (a[0].abs_diff(b[0]) + a[1].abs_diff(b[1])).max(1)
        }
        _ => 1,
    }
}

/// What a design takes, from what its processors did in the steady state.
pub fn energy(
    design: &Design,
    machine: &Machine,
    channels: &[Channel],
    outcome: &Outcome,
    places: Option<&[[u32; 2]]>,
) -> Energy {
    let power = &machine.power;
    let time = outcome.cycles_per_message * outcome.steady as f64;
    let (mut executing, mut stalled, mut leakage) = (0.0, 0.0, 0.0);
    for (activity, core) in outcome.activity.iter().zip(&design.cores) {
        // A slower clock takes a lower voltage.
        let clock = core.clock;
        let scale = match clock {
            1.0 => 1.0,
            clock => at_voltage(machine, volts(machine, clock * *machine.clock.mhz)),
        };
        // What a processor waits for at the ends of the window is not whole: states have their shares of its own time.
        let busy = (activity.executed + activity.nops) as f64 / (time * clock);
        let idle = (1.0 - busy).max(0.0);
        let waits = (activity.stalled + activity.halted) as f64;
        let halted = if waits > 0.0 { idle * activity.halted as f64 / waits } else { 0.0 };
        executing += activity.executed as f64 / time * *power.active_mw * scale;
        stalled += (activity.nops as f64 / time + (idle - halted) * clock) * *power.stall_mw * scale;
        leakage += halted * *power.leakage_mw * scale;
    }
    let mut links = 0.0;
    for (channel, &words) in channels.iter().zip(&outcome.words) {
        let mw = match tiles(channel, places) {
            1 => *power.near_mw,
            tiles => f64::from(tiles) * *power.long_mw_per_tile,
        };
        links += words as f64 / time * mw;
    }
    let seconds = outcome.cycles_per_message / (*machine.clock.mhz * 1e6);
    let total = executing + stalled + leakage + links;
    Energy {
        executing_mw: executing,
        stalled_mw: stalled,
        leakage_mw: leakage,
        links_mw: links,
        area_mm2: design.cores.len() as f64 * *machine.grid.area_mm2_per_core,
        nj_per_message: total * seconds * 1e6,
        messages_per_second: 1.0 / seconds,
    }
}

/// Energy at a voltage as a part of that at the nominal one.
pub fn at_voltage(machine: &Machine, volts: f64) -> f64 {
    (volts / *machine.clock.volts).powf(*machine.clock.energy_exponent)
}

/// The lowest voltage at which a frequency in megahertz is reached, not below that of the lowest operating point.
pub fn volts(machine: &Machine, mhz: f64) -> f64 {
    let lowest = machine.clock.point.iter().map(|point| *point.volts).fold(*machine.clock.volts, f64::min);
    let (mut low, mut high) = (lowest, *machine.clock.volts);
    // The frequency rises with the voltage.
    for _ in 0..40 {
        let middle = (low + high) / 2.0;
        match frequency(machine, middle) < mhz {
            true => low = middle,
            false => high = middle,
        }
    }
    high
}

/// The frequency that is reached at a voltage, in megahertz: on the line through the operating points on both sides.
pub fn frequency(machine: &Machine, volts: f64) -> f64 {
    let mut points: Vec<(f64, f64)> = machine.clock.point.iter().map(|point| (*point.volts, *point.mhz)).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    match points.windows(2).find(|pair| volts <= pair[1].0).or_else(|| points.windows(2).last()) {
        Some(pair) => {
            let slope = (pair[1].1 - pair[0].1) / (pair[1].0 - pair[0].0);
            (pair[0].1 + slope * (volts - pair[0].0)).max(0.0)
        }
        None => *machine.clock.mhz,
    }
}
