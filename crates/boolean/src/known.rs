//! Circuits that are known already, as data: each file below `data/` has a table, what it is, and circuits for it with where
//! they come from. A test proves every one of them.
//!
//! ```toml
//! title = "what the function is, and where it is defined"
//! inputs = 4
//! outputs = 4
//! table = [ … ]            # entry x is the output for input x, bit 0 the lowest of each
//!
//! [[circuit]]
//! basis = "two-input"      # AND, OR, XOR, NOT and AND-NOT; or "three-input": every gate of three inputs as well
//! source = "who found it, and where"
//! text = """ … """         # as `circuit::text` reads it
//! ```

use crate::circuit::{Circuit, text};
use crate::truth_table::Table;
use std::sync::OnceLock;

/// The gates that a known circuit is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gates {
    /// AND, OR, XOR, NOT and AND-NOT.
    TwoInput,
    /// Every gate of three inputs as well.
    ThreeInput,
}

/// A circuit with where it comes from.
#[derive(Clone, Debug)]
pub struct KnownCircuit {
    /// The gates that it is made of.
    pub gates: Gates,
    /// Who found it, and where.
    pub source: String,
    /// The circuit.
    pub circuit: Circuit,
}

/// A function with circuits for it.
#[derive(Clone, Debug)]
pub struct Known {
    /// The name of its file.
    pub name: &'static str,
    /// What it is.
    pub title: String,
    /// Its table.
    pub table: Table,
    /// Circuits for it; there may be none, where others are found by way of it.
    pub circuits: Vec<KnownCircuit>,
    invariant: OnceLock<u64>,
}

impl Known {
    /// What its table shares with those that affine maps make of it, counted once.
    pub fn affine_invariant(&self) -> u64 {
        *self.invariant.get_or_init(|| self.table.affine_invariant())
    }
}

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        const FILES: &[(&str, &str)] = &[$(($name, include_str!(concat!("../data/", $name, ".toml")))),*];
    };
}

files![
    "aes_s",
    "aes_s_inverse",
    "ascon_s",
    "chi5",
    "des_s1",
    "des_s2",
    "des_s3",
    "des_s4",
    "des_s5",
    "des_s6",
    "des_s7",
    "des_s8",
    "gf16_inverse",
    "gf256_inverse",
    "serpent_s0",
    "serpent_s0_inverse",
    "serpent_s1",
    "serpent_s1_inverse",
    "serpent_s2",
    "serpent_s2_inverse",
    "serpent_s3",
    "serpent_s3_inverse",
    "serpent_s4",
    "serpent_s4_inverse",
    "serpent_s5",
    "serpent_s5_inverse",
    "serpent_s6",
    "serpent_s6_inverse",
    "serpent_s7",
    "serpent_s7_inverse",
    "twofish_q0",
    "twofish_q1",
    "whirlpool_e",
    "whirlpool_e_inverse",
    "whirlpool_r",
    "whirlpool_s",
];

/// Every known function, by name. A file that does not read is left out; a test shows that all do.
pub fn all() -> &'static [Known] {
    static ALL: OnceLock<Vec<Known>> = OnceLock::new();
    ALL.get_or_init(|| FILES.iter().filter_map(|(name, text)| read(name, text).ok()).collect())
}

/// Reads one file.
fn read(name: &'static str, source: &str) -> Result<Known, String> {
    let file: toml::Table = source.parse().map_err(|e: toml::de::Error| e.to_string())?;
    let string = |t: &toml::Table, key: &str| -> Result<String, String> {
        t.get(key).and_then(|v| v.as_str()).map(str::to_string).ok_or_else(|| format!("`{key}` is missing"))
    };
    let number = |key: &str| -> Result<usize, String> {
        let value = file.get(key).and_then(toml::Value::as_integer).ok_or_else(|| format!("`{key}` is missing"))?;
        usize::try_from(value).map_err(|_| format!("`{key}` is out of range"))
    };
    let entries: Option<Vec<u64>> = file
        .get("table")
        .and_then(toml::Value::as_array)
        .and_then(|list| list.iter().map(|v| u64::try_from(v.as_integer()?).ok()).collect());
    let entries = entries.ok_or("`table` is missing or not of numbers")?;
    let table = Table::new(number("inputs")?, number("outputs")?, &entries).map_err(|e| e.to_string())?;
    let mut circuits = Vec::new();
    for item in file.get("circuit").and_then(toml::Value::as_array).map_or(&[][..], Vec::as_slice) {
        let item = item.as_table().ok_or("a circuit is not a table of keys")?;
        let gates = match string(item, "basis")?.as_str() {
            "two-input" => Gates::TwoInput,
            "three-input" => Gates::ThreeInput,
            other => return Err(format!("there is no basis `{other}`")),
        };
        let circuit = text::read(&string(item, "text")?).map_err(|e| e.to_string())?;
        circuits.push(KnownCircuit { gates, source: string(item, "source")?, circuit });
    }
    Ok(Known { name, title: string(&file, "title")?, table, circuits, invariant: OnceLock::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_listed_and_reads() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/data");
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .expect("the folder of the data")
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().trim_end_matches(".toml").to_string())
            .collect();
        names.sort();
        let listed: Vec<&str> = FILES.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, listed);
        for (name, text) in FILES {
            if let Err(problem) = read(name, text) {
                panic!("{name}: {problem}");
            }
        }
        assert_eq!(all().len(), FILES.len());
    }

    #[test]
    fn every_circuit_computes_its_table_with_its_gates() {
        for known in all() {
            for c in &known.circuits {
                assert_eq!(c.circuit.prove(&known.table), Ok(()), "{}: {}", known.name, c.source);
                assert!(c.gates == Gates::ThreeInput || c.circuit.counts().lut3 == 0, "{}: {}", known.name, c.source);
                assert!(!c.source.is_empty());
            }
        }
    }
}
