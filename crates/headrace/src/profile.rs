//! Profiles of runs: the time and firings of each instance and the high-water mark of each FIFO, as a table and as a file,
//! from which a division among threads takes measured weights (`--weights`).

use crate::error::{Error, Result};
use crate::roots::read_source;
use headrace_engine::Profile;
use headrace_ir::Network;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

/// A profile as `run --profile=FILE` writes it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// Flat network that ran.
    network: String,
    /// What ran it.
    engine: String,
    /// Instances in the order of the network.
    instances: Vec<Instance>,
    /// FIFOs in the order of the network.
    fifos: Vec<Fifo>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Instance {
    instance: String,
    /// Time in its firings and in the tests before them.
    nanoseconds: u64,
    /// Firings of each action.
    firings: BTreeMap<String, u64>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fifo {
    source: String,
    target: String,
    /// Room, in tokens.
    capacity: u64,
    /// Most tokens that lay in it at once, where that was seen.
    most: Option<u64>,
}

impl Measured {
    /// What an engine measured of a network whose FIFOs hold `fifo_tokens` where they ask for nothing.
    pub fn of(network: &Network, engine: &str, profile: &Profile, firings: &[Vec<u64>], fifo_tokens: u32) -> Self {
        let instances = network.instances.iter().zip(&profile.times).zip(firings);
        let fifos = network.connections.iter().zip(&profile.most_tokens);
        Self {
            network: network.name.clone(),
            engine: engine.to_owned(),
            instances: instances
                .map(|((instance, time), counts)| {
                    let actions = &network.actors[instance.actor.index()].actions;
                    let mut firings = BTreeMap::new();
                    for (action, count) in actions.iter().zip(counts) {
                        *firings.entry(action.name.clone()).or_insert(0) += count;
                    }
                    let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
                    Instance { instance: instance.name.clone(), nanoseconds, firings }
                })
                .collect(),
            fifos: fifos
                .map(|(connection, most)| {
                    let (source, target) = network.describe(connection);
                    Fifo { source, target, capacity: network.capacity(connection, fifo_tokens), most: *most }
                })
                .collect(),
        }
    }

    /// As a table: instances by the time that they took, then FIFOs.
    pub fn text(&self) -> String {
        let total: u64 = self.instances.iter().map(|instance| instance.nanoseconds).sum();
        let mut instances: Vec<&Instance> = self.instances.iter().collect();
        instances.sort_by_key(|instance| std::cmp::Reverse(instance.nanoseconds));
        let mut text = format!("{:>12} {:>7} {:>14} {:>10}  instance\n", "ms", "%", "firings", "ns each");
        for instance in instances {
            let firings: u64 = instance.firings.values().sum();
            let share = 100.0 * instance.nanoseconds as f64 / total.max(1) as f64;
            let each = instance.nanoseconds.checked_div(firings).map_or(String::new(), |each| each.to_string());
            let milliseconds = instance.nanoseconds as f64 / 1e6;
            let _ = writeln!(text, "{milliseconds:>12.3} {share:>7.2} {firings:>14} {each:>10}  {}", instance.instance);
        }
        let _ = writeln!(text, "{:>12} {:>7}  FIFO", "most tokens", "room");
        for fifo in &self.fifos {
            let most = fifo.most.map_or("?".to_owned(), |most| most.to_string());
            let _ = writeln!(text, "{most:>12} {:>7}  {} --> {}", fifo.capacity, fifo.source, fifo.target);
        }
        text.pop();
        text
    }

    /// As JSON.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// A profile from a file.
    ///
    /// # Errors
    ///
    /// A file that cannot be read or is no profile.
    pub fn read(path: &Path) -> Result<Self> {
        let text = read_source(path).map_err(Error::wrong)?;
        serde_json::from_str(&text).map_err(|error| {
            Error::wrong(format!("{}: no profile as `run --profile=FILE` writes it: {error}", path.display()))
        })
    }

    /// Firings of each action and time of each instance of a network.
    ///
    /// # Errors
    ///
    /// The profile is of another network.
    pub fn weights(&self, network: &Network) -> Result<(Vec<Vec<u64>>, Vec<Duration>)> {
        let other = |what: String| {
            Error::wrong(format!("the profile is of `{}`, not of `{}`: {what}", self.network, network.name))
        };
        if self.instances.len() != network.instances.len() {
            let (there, here) = (self.instances.len(), network.instances.len());
            return Err(other(format!("{there} instances there, {here} here")));
        }
        let (mut firings, mut times) = (Vec::new(), Vec::new());
        for (measured, instance) in self.instances.iter().zip(&network.instances) {
            if measured.instance != instance.name {
                return Err(other(format!("`{}` stands where `{}` does here", measured.instance, instance.name)));
            }
            let actions = &network.actors[instance.actor.index()].actions;
            let counts: Option<Vec<u64>> =
                actions.iter().map(|action| measured.firings.get(&action.name).copied()).collect();
            firings.push(counts.ok_or_else(|| other(format!("`{}` has other actions", instance.name)))?);
            times.push(Duration::from_nanos(measured.nanoseconds));
        }
        Ok((firings, times))
    }

    /// The network with FIFOs that hold what lay in them at most.
    pub fn with_capacities(&self, network: &Network) -> Network {
        let mut network = network.clone();
        for (connection, fifo) in network.connections.iter_mut().zip(&self.fifos) {
            if let Some(most) = fifo.most {
                connection.fifo_tokens = u32::try_from(most.max(1)).ok();
            }
        }
        network
    }
}
