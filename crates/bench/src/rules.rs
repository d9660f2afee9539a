//! The rules of the referee, as data (`bench/peers.toml`): which peers there are, and which rows with what must be reached.

use serde::Deserialize;
use std::collections::BTreeMap;

/// Everything in the file.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Lengths of the strings beside the input, by parameter set.
    pub sets: BTreeMap<String, SetStrings>,
    /// Other implementations, by name.
    pub peers: BTreeMap<String, PeerSpec>,
    /// What is measured and what must come of it.
    pub rows: Vec<RowSpec>,
}

/// The file as it stands: a row may be about several sizes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    sets: BTreeMap<String, SetStrings>,
    peers: BTreeMap<String, PeerSpec>,
    rows: Vec<toml::Table>,
}

/// Keys of a row that may have a list: it stands for as many rows, whose titles have its values in the place of `{KEY}`.
const LISTED: [&str; 2] = ["bytes", "pieces"];

/// Rows with one value in the place of each list.
fn expanded(row: toml::Table) -> Vec<toml::Table> {
    LISTED.iter().fold(vec![row], |rows, key| {
        let each = rows.into_iter().flat_map(|row| match row.get(*key) {
            Some(toml::Value::Array(values)) => {
                let with = |value: &toml::Value| {
                    let mut row = row.clone();
                    if let (Some(toml::Value::String(title)), Some(number)) = (row.get_mut("title"), value.as_integer())
                    {
                        *title = title.replace(&format!("{{{key}}}"), &number.to_string());
                    }
                    row.insert((*key).to_owned(), value.clone());
                    row
                };
                values.iter().map(with).collect()
            }
            _ => vec![row],
        });
        each.collect()
    })
}

/// Lengths in bytes.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetStrings {
    /// Of the key.
    #[serde(default)]
    pub key: usize,
    /// Of the initial block or nonce.
    #[serde(default)]
    pub iv: usize,
}

/// A peer: where its adapter is and how the library behind it is found.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeerSpec {
    /// What people call it.
    pub title: String,
    /// The lowest version that counts.
    pub minimum: String,
    /// Source of the adapter, a file below `bench/peers`, to be compiled here.
    pub adapter: Option<String>,
    /// The adapter as a shared object, which is among the peers that were built.
    pub object: Option<String>,
    /// Folder among the peers that were built; it comes before what the system has.
    pub folder: Option<String>,
    /// What `pkg-config` calls the library.
    pub package: Option<String>,
    /// What the linker is told where there is no `pkg-config` file.
    #[serde(default)]
    pub libraries: Vec<String>,
    /// What the compiler is told beside that.
    #[serde(default)]
    pub flags: Vec<String>,
    /// How to get it.
    pub get: String,
    /// True for what computes nothing useful: it shows what the machine can do at most, and is never compared or ranked.
    #[serde(default)]
    pub bound: bool,
}

/// A row: operations, and what their figures must be.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowSpec {
    /// What it says.
    pub title: String,
    /// Parameter sets and operations, with the peers that must be there.
    pub measures: Vec<MeasureSpec>,
    /// What must be reached.
    #[serde(default)]
    pub must: Mark,
    /// What is wanted; neither: the row is only for comparison.
    #[serde(default)]
    pub goal: Mark,
    /// Bytes of the message that the row is about.
    #[serde(default = "sixteen_kib")]
    pub bytes: usize,
    /// Messages at once.
    #[serde(default = "one")]
    pub messages: usize,
    /// Bytes of the pieces that a message is given in; 0: it is given whole.
    #[serde(default)]
    pub pieces: usize,
    /// The variant of ours that counts; else the manifest's first.
    pub variant: Option<String>,
    /// True when ours must be declared constant-time: the first variant that is counts.
    #[serde(default)]
    pub constant_time: bool,
    /// What the compiler of ours is told instead of the flags for this machine.
    #[serde(default)]
    pub flags: Vec<String>,
    /// The features of the processor that ours may find when it asks for them at run time; all that there are when absent.
    pub features: Option<Vec<String>>,
}

fn sixteen_kib() -> usize {
    16 << 10
}

fn one() -> usize {
    1
}

/// Operations of a row: every set with every operation.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasureSpec {
    /// Parameter sets.
    pub sets: Vec<String>,
    /// Operations.
    pub operations: Vec<String>,
    /// Peers without which it is not measured.
    #[serde(default)]
    pub peers: Vec<String>,
    /// Peers that are measured where they are there.
    #[serde(default)]
    pub also: Vec<String>,
}

/// A mark to reach: all that it says must hold.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mark {
    /// The best peer's cycles over ours, at least.
    pub ratio: Option<f64>,
    /// Only these peers count for the ratio; else those of the row.
    #[serde(default)]
    pub of: Vec<String>,
    /// Another variant's cycles over ours, at least `ratio`.
    pub variant: Option<String>,
    /// Our cycles a byte, at most; for all parameter sets or by set.
    pub cycles_per_byte: Option<Figure>,
    /// Our cycles over those of the bound that is measured beside, at most.
    pub bound: Option<f64>,
}

impl Mark {
    /// Whether nothing is to be reached.
    pub fn is_none(&self) -> bool {
        self.ratio.is_none() && self.cycles_per_byte.is_none() && self.bound.is_none()
    }
}

/// A figure for all parameter sets, or one for each.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Figure {
    /// For all.
    One(f64),
    /// By set.
    BySet(BTreeMap<String, f64>),
}

impl Figure {
    /// The figure of a set.
    pub fn of(&self, set: &str) -> Option<f64> {
        match self {
            Figure::One(figure) => Some(*figure),
            Figure::BySet(figures) => figures.get(set).copied(),
        }
    }
}

impl Rules {
    /// Reads the file. Names that stand for nothing are errors.
    ///
    /// # Errors
    ///
    /// What is wrong, with its place where there is one.
    pub fn parse(text: &str) -> Result<Self, String> {
        let Written { sets, peers, rows } = toml::from_str(text).map_err(|error| error.to_string())?;
        let rows = rows.into_iter().flat_map(expanded).map(toml::Table::try_into);
        let rows = rows.collect::<Result<Vec<RowSpec>, _>>().map_err(|error| error.to_string())?;
        let rules = Rules { sets, peers, rows };
        for (name, peer) in &rules.peers {
            if peer.adapter.is_some() == peer.object.is_some() {
                return Err(format!("peer `{name}` has either an adapter or an object"));
            }
        }
        for row in &rules.rows {
            if row.messages > 1 && row.pieces > 0 {
                return Err(format!("row «{}» has several messages and pieces: one or the other", row.title));
            }
            if rules.rows.iter().filter(|other| other.title == row.title).count() > 1 {
                return Err(format!("two rows are called «{}»", row.title));
            }
            let wrong = |what: &str, name: &str| Err(format!("row «{}»: there is no {what} `{name}`", row.title));
            for measure in &row.measures {
                if let Some(set) = measure.sets.iter().find(|set| !rules.sets.contains_key(*set)) {
                    return wrong("set", set);
                }
                let named = measure.peers.iter().chain(&measure.also).chain(&row.must.of).chain(&row.goal.of);
                if let Some(peer) = named.into_iter().find(|peer| !rules.peers.contains_key(*peer)) {
                    return wrong("peer", peer);
                }
            }
        }
        Ok(rules)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shipped() -> Rules {
        Rules::parse(include_str!("../../../bench/peers.toml")).expect("the shipped rules can be read")
    }

    #[test]
    fn every_adapter_is_there_and_every_row_asks_for_something() {
        let rules = shipped();
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/peers");
        for (name, peer) in &rules.peers {
            if let Some(adapter) = &peer.adapter {
                assert!(folder.join(adapter).is_file(), "{name}: {adapter}");
            }
        }
        for row in &rules.rows {
            // What is shown for comparison only has nobody to be compared with by us.
            let shows = row.must.is_none() && row.goal.is_none() && row.measures.iter().all(|m| m.peers.is_empty());
            assert!(shows || !(row.must.is_none() || row.goal.is_none()), "{}", row.title);
            let needs_peers = row.must.ratio.is_some() && row.must.variant.is_none();
            assert!(!needs_peers || row.measures.iter().all(|m| !m.peers.is_empty()), "{}", row.title);
        }
    }

    #[test]
    fn a_list_stands_for_a_row_each() {
        let row = |more: &str| {
            format!(
                "[sets]\nx = {{}}\n[peers]\n[[rows]]\ntitle = '{{bytes}} in {{pieces}}'\n{more}\nmust = {{ cycles_per_byte = 1.0 }}\n\
                 goal = {{ cycles_per_byte = 1.0 }}\nmeasures = [{{ sets = ['x'], operations = ['hash'] }}]\n"
            )
        };
        let rules = Rules::parse(&row("bytes = [64, 256]\npieces = [1, 2]")).expect("it is right");
        let rows: Vec<(&str, usize, usize)> =
            rules.rows.iter().map(|row| (row.title.as_str(), row.bytes, row.pieces)).collect();
        assert_eq!(rows, [("64 in 1", 64, 1), ("64 in 2", 64, 2), ("256 in 1", 256, 1), ("256 in 2", 256, 2)]);
        assert!(Rules::parse(&row("bytes = ['a']")).is_err());
        assert!(
            Rules::parse(&row("pieces = 4\nmessages = 2")).is_err_and(|problem| problem.contains("one or the other"))
        );
        assert!(Rules::parse(&row("bytes = [64, 64]")).is_err_and(|problem| problem.contains("two rows")));
    }

    #[test]
    fn names_that_stand_for_nothing_are_errors() {
        let text = "sets = {}\npeers = {}\n[[rows]]\ntitle = 'x'\nmust = { ratio = 1.0 }\ngoal = { ratio = 1.0 }\nmeasures = [{ sets = ['aes'], operations = ['ctr'] }]\n";
        assert!(Rules::parse(text).is_err_and(|problem| problem.contains("`aes`")));
        assert!(Rules::parse("sets = 1").is_err());
    }
}
