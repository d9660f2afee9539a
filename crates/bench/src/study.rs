//! Comparison with a published study of hardware cores: its cycles a block beside ours, and both orders by throughput for each LUT.
//!
//! A study is data (`bench/caesar.toml`): what it is, and for each core the parameter set that does the same. Ranks are compared by
//! Spearman's coefficient, which is 1 for the same order and -1 for the opposite one.

use crate::hardware::{Core, grouped, megahertz, plain};
use crate::tables::{figure, figure_of};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// A study.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// Authors, title, where it appeared.
    pub source: String,
    /// Its cores.
    pub core: Vec<StudiedCore>,
}

/// A core of a study.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudiedCore {
    /// The parameter set that does the same.
    pub set: String,
    /// The way of writing it that is compared, where it is not the first one of its manifest.
    #[serde(default)]
    pub variant: Option<String>,
    /// Bytes of a block of text.
    pub block_bytes: u64,
    /// Words of the ports, in bits.
    pub word_bits: u32,
    /// What the study says.
    #[serde(flatten)]
    pub published: Published,
}

/// What a study says of a core.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Published {
    /// Its name there.
    pub name: String,
    /// Clock cycles that a block takes in the core that was written by hand.
    pub cycles: u64,
    /// The same of the core that was made by high-level synthesis (HLS).
    pub hls_cycles: u64,
    /// Its place by throughput for each LUT, from 1 on, where the study has one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rank: Option<u64>,
}

impl Study {
    /// A study as a file has it.
    ///
    /// # Errors
    ///
    /// What is wrong with the file.
    pub fn parse(text: &str) -> Result<Self, String> {
        let study: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        for core in &study.core {
            if core.block_bytes == 0 || core.block_bytes > MOST_BLOCK_BYTES {
                return Err(format!("{}: block_bytes is from 1 to {MOST_BLOCK_BYTES}", core.set));
            }
        }
        Ok(study)
    }

    /// The core that does what a parameter set does.
    pub fn of(&self, set: &str) -> Option<&StudiedCore> {
        self.core.iter().find(|core| core.set == set)
    }
}

/// Most bytes of a block.
const MOST_BLOCK_BYTES: u64 = 1 << 12;

/// Cores beside what studies have of them, and the comparison of orders where there are two.
pub fn table(cores: &[&Core]) -> String {
    let mut text = String::from(
        "| core | in the study | block, bits | cycles a block, encryption | decryption | study: by hand | by HLS | a message more | LUTs | registers | levels | Fmax median, MHz | Mbit/s | Mbit/s a LUT | rank | study: rank |\n\
         |---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    let places = places(cores);
    for (core, place) in cores.iter().zip(&places) {
        let Some(published) = &core.published else { continue };
        let cycles = core.cycles.as_ref();
        let none = || figure(f64::NAN);
        let is_mapped = !core.device.is_empty();
        let of_device = |n: u64| if is_mapped { grouped(n) } else { none() };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            [core.primitive.as_str(), core.variant.as_str()].join(" ").trim_end(),
            published.name,
            cycles.map_or_else(none, |cycles| figure(cycles.block_bits as f64)),
            cycles.map_or_else(none, |cycles| plain(cycles.per_block)),
            core.inverse_cycles.as_ref().map_or_else(none, |cycles| plain(cycles.per_block)),
            published.cycles,
            published.hls_cycles,
            cycles.and_then(|cycles| cycles.per_message).map_or_else(none, plain),
            of_device(core.area.luts),
            of_device(core.area.registers),
            of_device(core.levels),
            megahertz(core.clock.as_ref().map(|clock| clock.median_mhz)),
            figure_of(core.median_megabits()),
            core.megabits_per_lut().map_or_else(none, |value| format!("{value:.3}")),
            place.map_or_else(none, |place| place.to_string()),
            published.rank.map_or_else(none, |rank| rank.to_string()),
        );
    }
    let pairs: Vec<(f64, f64)> = cores
        .iter()
        .filter_map(|core| Some((-core.megabits_per_lut()?, core.published.as_ref()?.rank? as f64)))
        .collect();
    if let Some(coefficient) = rank_correlation(&pairs) {
        let _ = writeln!(
            text,
            "\nBoth orders by throughput for each LUT, of {} cores: rank correlation (Spearman) {coefficient:.2}.",
            pairs.len()
        );
    }
    text
}

/// Places by throughput for each LUT, from 1 on, of cores of which it is known.
fn places(cores: &[&Core]) -> Vec<Option<usize>> {
    let values: Vec<Option<f64>> = cores.iter().map(|core| core.megabits_per_lut()).collect();
    let place = |own: &Option<f64>| own.map(|own| 1 + values.iter().flatten().filter(|other| **other > own).count());
    values.iter().map(place).collect()
}

/// Spearman's coefficient of pairs; none of fewer than three, or where all of one side are the same.
pub fn rank_correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    if pairs.len() < 3 {
        return None;
    }
    // Equal values share the middle of their places.
    let ranks = |values: Vec<f64>| -> Vec<f64> {
        let place = |own: &f64| {
            let below = values.iter().filter(|other| *other < own).count();
            let same = values.iter().filter(|other| *other == own).count();
            below as f64 + (same as f64 - 1.0) / 2.0
        };
        values.iter().map(place).collect()
    };
    let left = ranks(pairs.iter().map(|pair| pair.0).collect());
    let right = ranks(pairs.iter().map(|pair| pair.1).collect());
    let mean = (pairs.len() as f64 - 1.0) / 2.0;
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>();
    let scale = (product(&left, &left) * product(&right, &right)).sqrt();
    (scale > 0.0).then(|| product(&left, &right) / scale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hardware::{Area, Clock, Cycles};

    #[test]
    fn orders_are_compared_by_their_ranks() {
        assert_eq!(rank_correlation(&[(1.0, 1.0), (2.0, 4.0), (30.0, 9.0)]), Some(1.0));
        assert_eq!(rank_correlation(&[(3.0, 1.0), (2.0, 4.0), (1.0, 9.0)]), Some(-1.0));
        // Of a textbook: differences 1, 1, 0, 0 of four places.
        assert_eq!(rank_correlation(&[(1.0, 2.0), (2.0, 1.0), (3.0, 3.0), (4.0, 4.0)]), Some(0.8));
        assert_eq!(rank_correlation(&[(1.0, 1.0), (2.0, 2.0)]), None);
        assert_eq!(rank_correlation(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)]), None);
    }

    #[test]
    fn cores_stand_beside_what_a_study_says() {
        let text = "source = \"x\"\n[[core]]\nset = \"a\"\nname = \"A\"\nblock_bytes = 16\nword_bits = 32\ncycles = 11\nhls_cycles = 12\nrank = 2\n";
        let study = Study::parse(text).expect("it is right");
        let published = study.of("a").map(|core| core.published.clone());
        assert_eq!(published.as_ref().and_then(|published| published.rank), Some(2));
        let cycles = |per_block| Cycles { block_bits: 128, per_block, ..Cycles::default() };
        let core = Core {
            primitive: "a".into(),
            published,
            cycles: Some(cycles(11.0)),
            inverse_cycles: Some(cycles(13.5)),
            ..Core::default()
        };
        let placed = Core {
            device: "ecp5".into(),
            area: Area { luts: 1000, ..Area::default() },
            clock: Some(Clock::new(vec![(1, 100.0, String::new())])),
            ..core.clone()
        };
        let text = table(&[&core, &placed]);
        assert!(text.contains("| a | A | 128 | 11 | 13.50 | 11 | 12 | – | – | – | – | – | – | – | – | 2 |"), "{text}");
        assert!(text.contains("| 1 000 | 0 | 0 | 100.0 | 1 164 | 1.164 | 1 | 2 |"), "{text}");
        assert!(Study::parse("source = \"x\"\n[[core]]\nset = 1\n").is_err());
    }
}
