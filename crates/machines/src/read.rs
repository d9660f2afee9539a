//! Reading files of machines: their kinds, their keys, and how they refer to each other.

use crate::cost_model::Instruction;
use crate::figure::Number;
use crate::{CostModel, Device, Fabric, Kind, Machines, scalar, simd};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;

/// What is wrong with the file of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The machine, after which its file is called.
    pub name: String,
    /// The line, where the problem is on one.
    pub line: Option<usize>,
    /// What is wrong, and what to do.
    pub problem: String,
}

impl Wrong {
    fn new(name: &str, problem: impl Into<String>) -> Self {
        Self { name: name.to_owned(), line: None, problem: problem.into() }
    }
}

impl std::fmt::Display for Wrong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "machine file {}.toml", self.name)?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        write!(f, ": {}", self.problem)
    }
}

impl std::error::Error for Wrong {}

/// Machines from their files, each a name and a text.
///
/// # Errors
///
/// The first file that is wrong: its kind, its keys, its values, or what it refers to.
pub fn read<S: AsRef<str>>(files: &[(S, S)]) -> Result<Machines, Wrong> {
    let mut of_kind: Vec<(Kind, &str, &str)> = Vec::new();
    for (name, text) in files {
        let (name, text) = (name.as_ref(), text.as_ref());
        of_kind.push((parse::<Kinded>(name, text)?.kind, name, text));
    }
    let of = |kind: Kind| of_kind.iter().filter(move |one| one.0 == kind).map(|&(_, name, text)| (name, text));
    let cost_models = of(Kind::CostModel)
        .map(|(name, text)| cost_model(name, text).map(Arc::new))
        .collect::<Result<Vec<_>, Wrong>>()?;
    let costs = |name: &str, wanted: &str| {
        let found = cost_models.iter().find(|costs| costs.name == wanted).cloned();
        found.ok_or_else(|| Wrong::new(name, format!("`costs` names {wanted}, and there is no {wanted}.toml")))
    };
    let mut scalars = Vec::new();
    for (name, text) in of(Kind::Scalar) {
        let file: scalar::File = parse(name, text)?;
        let costs = costs(name, &file.costs)?;
        scalars.push(file.machine(name, costs));
    }
    scalars.sort_by_key(|machine| machine.word_bits);
    let mut simd = Vec::new();
    for (name, text) in of(Kind::Simd) {
        let file: simd::File = parse(name, text)?;
        let costs = costs(name, &file.costs)?;
        simd.push(file.machine(name, costs).map_err(|problem| Wrong::new(name, problem))?);
    }
    simd.sort_by_key(place);
    if let Some(both) = simd.windows(2).find(|both| place(&both[0]) == place(&both[1])) {
        return Err(Wrong::new(&both[1].name, format!("`rank` is that of {}, too; one must be higher", both[0].name)));
    }
    let mut fabrics = of(Kind::Fabric).map(|(name, text)| fabric(name, text)).collect::<Result<Vec<_>, Wrong>>()?;
    fabrics.sort_by_key(|fabric| fabric.lut_inputs.value);
    let mut devices = of(Kind::Device)
        .map(|(name, text)| Ok(Device { name: name.to_owned(), ..parse(name, text)? }))
        .collect::<Result<Vec<_>, Wrong>>()?;
    devices.sort_by_cached_key(|device| (device.place.is_none(), device.library.is_some(), device.name.clone()));
    for (kind, is_there) in [("scalar", !scalars.is_empty()), ("fabric", !fabrics.is_empty())] {
        if !is_there {
            return Err(Wrong::new("*", format!("there is no machine of kind `{kind}`; passes choose by one")));
        }
    }
    Ok(Machines { cost_models, scalars, simd, fabrics, devices })
}

fn cost_model(name: &str, text: &str) -> Result<CostModel, Wrong> {
    let costs = CostModel { name: name.to_owned(), ..parse(name, text)? };
    let takes_time = |it: &Instruction| it.latency.is_usable() && it.cycles.is_usable();
    match costs.instruction.iter().find(|(_, it)| !takes_time(it)) {
        Some((instruction, _)) => {
            let problem = format!("`latency` and `cycles` of `instruction.{instruction}` must be more than 0");
            Err(Wrong::new(name, problem))
        }
        None => Ok(costs),
    }
}

fn fabric(name: &str, text: &str) -> Result<Fabric, Wrong> {
    let fabric = Fabric { name: name.to_owned(), ..parse(name, text)? };
    match fabric.lut_inputs.value {
        2..=8 => Ok(fabric),
        inputs => Err(Wrong::new(name, format!("`lut_inputs` is {inputs}; look-up tables have from 2 to 8"))),
    }
}

fn place(level: &simd::Machine) -> (simd::Architecture, u32) {
    (level.architecture, level.rank)
}

/// What tells how the rest is read.
#[derive(Deserialize)]
struct Kinded {
    kind: Kind,
}

fn parse<T: DeserializeOwned>(name: &str, text: &str) -> Result<T, Wrong> {
    toml::from_str(text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start));
        Wrong { line: before.map(|before| 1 + before.matches('\n').count()), ..Wrong::new(name, error.message()) }
    })
}
