//! The rules of `bench/targets.toml`, as data: which operations are measured in every target, and beside what.

use serde::Deserialize;
use std::collections::BTreeMap;

/// Everything in the file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetRules {
    /// What is measured.
    pub operations: Vec<OperationRule>,
    /// By the name of the target.
    pub targets: BTreeMap<String, TargetRule>,
}

/// An operation that is measured.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperationRule {
    /// Its parameter set.
    pub set: String,
    /// Its name.
    pub operation: String,
    /// The variant that is taken; else the manifest's first.
    pub variant: Option<String>,
}

/// What a target is compared with.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetRule {
    /// Compilers of our C, of which the first counts that is here.
    pub c: Vec<String>,
    /// How many times slower than our C it may be.
    pub slower: f64,
    /// Its programs find instructions of the processor when they run, as our C does: it is compared with that; else with plain C,
    /// which finds none.
    #[serde(default)]
    pub finds_instructions: bool,
    /// Bytes of its messages where the command names none, if they are not as long as those of other targets.
    pub bytes: Option<usize>,
    /// What users of the language have.
    #[serde(default)]
    pub peers: Vec<TargetPeer>,
}

/// What users of a language have: a shared object that was built, or a program.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetPeer {
    /// What people call it.
    pub title: String,
    /// It uses no instructions for cryptography, so that it is a mark to reach.
    #[serde(default)]
    pub software: bool,
    /// The share of its speed that is to be reached, if it is a mark although it uses such instructions.
    pub must: Option<f64>,
    /// The share that is aimed at; else all of it.
    pub goal: Option<f64>,
    /// The shared object, which is among the peers that were built.
    pub object: Option<String>,
    /// What builds the program, in a folder with the files of `bench/contenders`.
    #[serde(default)]
    pub build: Vec<Vec<String>>,
    /// What starts the program there.
    #[serde(default)]
    pub run: Vec<String>,
    /// What follows, by operation; others it does not have.
    #[serde(default)]
    pub operations: BTreeMap<String, Vec<String>>,
    /// How to get it.
    pub get: String,
}

impl TargetRules {
    /// Reads the file.
    ///
    /// # Errors
    ///
    /// What is wrong, with its place where there is one.
    pub fn parse(text: &str) -> Result<Self, String> {
        let rules: TargetRules = toml::from_str(text).map_err(|error| error.to_string())?;
        for (name, target) in &rules.targets {
            if target.c.is_empty() || target.slower.is_nan() || target.slower <= 0.0 {
                return Err(format!("target `{name}` is compared with no C"));
            }
            if let Some(peer) = target.peers.iter().find(|peer| peer.must.is_none() && peer.goal.is_some()) {
                return Err(format!("`{}` has a goal and nothing that must be", peer.title));
            }
            if let Some(peer) = target.peers.iter().find(|peer| peer.object.is_some() != peer.run.is_empty()) {
                return Err(format!("`{}` is either an object or a program", peer.title));
            }
        }
        Ok(rules)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_objects_or_programs() {
        let rules = |peer: &str| {
            let peer = format!("[[targets.x.peers]]\ntitle = 'p'\nget = ''\n{peer}\n");
            TargetRules::parse(&format!("operations = []\n[targets.x]\nc = ['cc']\nslower = 1.3\n{peer}"))
        };
        assert!(rules("object = 'p.so'").is_ok_and(|rules| rules.targets["x"].peers.len() == 1));
        assert!(rules("run = ['p']\noperations = { 'a b' = [] }").is_ok());
        assert!(rules("object = 'p.so'\nrun = ['p']").is_err());
        assert!(rules("run = ['p']\nmust = 0.9\ngoal = 1.1").is_ok());
        assert!(rules("run = ['p']\ngoal = 1.1").is_err());
        assert!(rules("").is_err());
        assert!(TargetRules::parse("operations = []\n[targets.x]\nc = []\nslower = 1.3\n").is_err());
    }
}
