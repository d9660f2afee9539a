//! Machines as data: what programs and designs are made for.
//!
//! A machine is a file below `machines/`, called after it, and read with the program; a new one is a new file. `kind` says
//! what else is in it:
//!
//! | kind | what it is | type |
//! | --- | --- | --- |
//! | `cost-model` | what operations take on a processor | [`cost_model::CostModel`] |
//! | `scalar` | words without vectors | [`scalar::Machine`] |
//! | `simd` | a level of a processor's vector unit | [`simd::Machine`] |
//! | `fabric` | what operations take of FPGAs with such look-up tables | [`fabric::Fabric`] |
//! | `device` | an FPGA or a library of cells, and the tools that map to it | [`device::Device`] |
//!
//! ```toml
//! # What it is and where its numbers are from, in a few words.
//! kind = "simd"
//! about = "x86-64 with AVX2"      # for lists
//! architecture = "x86-64"
//! rank = 1                        # among the levels of the architecture, the least first
//! costs = "zen4"                  # the file with what operations take
//! …
//! ```
//!
//! Fields of the types are the keys of the files, and say in which unit a number is. One that is estimated or measured
//! stands with its source, as `{ value = 0.6, source = "…" }`. An unknown key is an error.

pub mod cost_model;
pub mod device;
pub mod fabric;
pub mod figure;
mod read;
pub mod scalar;
pub mod simd;

pub use cost_model::CostModel;
pub use device::Device;
pub use fabric::Fabric;
pub use read::{Wrong, read};

use serde::{Deserialize, Serialize};
use simd::Architecture;
use std::sync::{Arc, LazyLock};

static FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// What a machine is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// What operations take on a processor.
    CostModel,
    /// Words without vectors.
    Scalar,
    /// A level of a vector unit.
    Simd,
    /// What operations take of an FPGA.
    Fabric,
    /// What logic synthesis maps to.
    Device,
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Kind::CostModel => "cost model",
            Kind::Scalar => "scalar",
            Kind::Simd => "SIMD level",
            Kind::Fabric => "fabric",
            Kind::Device => "device",
        })
    }
}

/// Machines by their kinds.
#[derive(Clone, Debug)]
pub struct Machines {
    cost_models: Vec<Arc<CostModel>>,
    /// Those with the shortest words first; there is one.
    scalars: Vec<scalar::Machine>,
    /// By architecture and rank, the least first.
    simd: Vec<simd::Machine>,
    /// Those with the smallest look-up tables first; there is one.
    fabrics: Vec<Fabric>,
    /// Those that are placed first, libraries of cells last.
    devices: Vec<Device>,
}

/// A machine of any kind.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(untagged)]
pub enum Machine<'m> {
    /// What operations take on a processor.
    CostModel(&'m CostModel),
    /// Words without vectors.
    Scalar(&'m scalar::Machine),
    /// A level of a vector unit.
    Simd(&'m simd::Machine),
    /// What operations take of an FPGA.
    Fabric(&'m Fabric),
    /// What logic synthesis maps to.
    Device(&'m Device),
}

impl<'m> Machine<'m> {
    /// Its name, which is that of its file, its kind, and what it is, for readers.
    pub fn description(self) -> (&'m str, Kind, &'m str) {
        match self {
            Machine::CostModel(it) => (&it.name, it.kind, &it.about),
            Machine::Scalar(it) => (&it.name, it.kind, &it.about),
            Machine::Simd(it) => (&it.name, it.kind, &it.about),
            Machine::Fabric(it) => (&it.name, it.kind, &it.about),
            Machine::Device(it) => (&it.name, it.kind, &it.about),
        }
    }
}

/// The machines that the program comes with.
pub fn machines() -> &'static Machines {
    // Not what a user writes: tests read the same files.
    static ALL: LazyLock<Machines> = LazyLock::new(|| read(FILES).unwrap_or_else(|wrong| panic!("{wrong}")));
    &ALL
}

impl Machines {
    /// All of them, kind after kind.
    pub fn all(&self) -> impl Iterator<Item = Machine<'_>> {
        let levels = self.simd.iter().map(Machine::Simd);
        let processors = self.scalars.iter().map(Machine::Scalar).chain(levels);
        let cost_models = self.cost_models.iter().map(|costs| Machine::CostModel(costs));
        let hardware = self.fabrics.iter().map(Machine::Fabric).chain(self.devices.iter().map(Machine::Device));
        processors.chain(cost_models).chain(hardware)
    }

    /// Machines without vectors, those with the shortest words first.
    pub fn scalars(&self) -> &[scalar::Machine] {
        &self.scalars
    }

    /// What operations take where nothing is known of the processor: on the machine with the longest words.
    pub fn usual_costs(&self) -> &CostModel {
        &self.scalars[self.scalars.len() - 1].costs
    }

    /// The levels of an architecture, the least first.
    pub fn levels(&self, architecture: Architecture) -> &[simd::Machine] {
        let begin = self.simd.partition_point(|level| level.architecture < architecture);
        let end = self.simd.partition_point(|level| level.architecture <= architecture);
        &self.simd[begin..end]
    }

    /// The fabric with the smallest look-up tables: what is planned for it fits others.
    pub fn fabric(&self) -> &Fabric {
        &self.fabrics[0]
    }

    /// What logic synthesis maps to: those that are placed first, libraries of cells last.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }
}
