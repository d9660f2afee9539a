//! What can be known of a network before it runs: one file a section of the report, each as text and as JSON.

pub mod automaton;
mod carried;
mod classes;
mod control;
mod fifos;
pub mod loops;
mod models;
mod order;
mod period;
pub mod replay;
mod secrets;
pub mod streams;
mod work;

pub use classes::{of_manifest, of_names};
pub use secrets::MAX_SHOWN;

use headrace_analysis::constant_time::{self, Classes, Report};
use headrace_analysis::control::ControlSlice;
use headrace_analysis::rates::{Class, classify_in};
use headrace_analysis::{balance, flow, order_dependence, schedule};
use headrace_ir::Network;
use headrace_source::{Diagnostic, SourceMap};
use serde_json::{Map, Value, json};

/// What is known of a network.
///
/// ```
/// # fn main() -> headrace::Result {
/// use headrace::analysis::{Analysis, of_names};
/// let mut workspace = headrace::Workspace::default();
/// let network = workspace.network("ctl.parts.ascon.AsconP", &[])?;
/// let classes = of_names(&network, &[], &["Rounds".into()])?;
/// let analysis = Analysis::new(&network, workspace.sources(), &classes);
/// assert!(analysis.secrets.is_constant_time());
/// assert_eq!(analysis.json()["network"], "ctl.parts.ascon.AsconP");
/// # Ok(())
/// # }
/// ```
pub struct Analysis<'a> {
    /// The network.
    pub network: &'a Network,
    /// The texts that it comes from.
    pub sources: &'a SourceMap,
    /// Model of computation and rates, by actor.
    pub classes: Vec<Class>,
    /// What each state variable and FIFO reaches: choices, loops, branches, addresses.
    pub control: ControlSlice,
    /// How often instances with fixed rates fire.
    pub balance: balance::Balance,
    /// A period of each island of these.
    pub periods: Vec<schedule::Outcome>,
    /// Whether a secret shows in time.
    pub secrets: Report,
}

/// A part of the report.
struct Section {
    /// Its key in JSON.
    key: &'static str,
    text: fn(&Analysis<'_>) -> String,
    json: fn(&Analysis<'_>) -> Value,
}

/// The key of the section on secrets.
const SECRETS: &str = "constant_time";

/// All parts, in the order in which they are shown.
const SECTIONS: [Section; 8] = [
    Section { key: "actors", text: models::text, json: models::json },
    Section { key: "control", text: control::text, json: control::json },
    Section { key: "periods", text: period::text, json: period::json },
    Section { key: "fifos", text: fifos::text, json: fifos::json },
    Section { key: SECRETS, text: secrets::text, json: secrets::json },
    Section { key: "work", text: work::text, json: work::json },
    Section { key: "carried", text: carried::text, json: carried::json },
    Section { key: "order_dependence", text: order::text, json: order::json },
];

impl<'a> Analysis<'a> {
    /// Analyses a network, some of whose ports are secret or public.
    pub fn new(network: &'a Network, sources: &'a SourceMap, classes: &Classes) -> Self {
        let graph = flow::Network::of(network);
        let balance = balance::analyse(network);
        Self {
            network,
            sources,
            classes: (0..network.actors.len()).map(|at| classify_in(network, at)).collect(),
            control: headrace_analysis::control::of_flow(&graph),
            periods: schedule::analyse(network, &balance),
            balance,
            secrets: constant_time::of_flow(&graph, classes),
        }
    }

    /// Problems with a place in a source, secrets apart.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let mut found = balance::diagnostics(self.network, &self.balance);
        found.extend(schedule::diagnostics(self.network, &self.periods));
        found.extend(order_dependence::diagnostics(self.network));
        found
    }

    /// Places where a secret shows.
    pub fn secret_diagnostics(&self) -> Vec<Diagnostic> {
        constant_time::diagnostics(self.network, &self.secrets)
    }

    /// The report for people.
    pub fn text(&self) -> String {
        let mut text = format!("network {}\n", self.network.name);
        for part in SECTIONS.iter().map(|section| (section.text)(self)).filter(|part| !part.is_empty()) {
            text.push('\n');
            text.push_str(&part);
        }
        text
    }

    /// What it says of secrets alone.
    pub fn secrets_text(&self) -> String {
        secrets::text(self)
    }

    /// The report for programs: an object with the name of the network and a member for each section.
    pub fn json(&self) -> Map<String, Value> {
        self.sections(|_| true)
    }

    /// The same with what it says of secrets alone.
    pub fn secrets_json(&self) -> Map<String, Value> {
        self.sections(|key| key == SECRETS)
    }

    fn sections(&self, is_wanted: impl Fn(&str) -> bool) -> Map<String, Value> {
        let wanted = SECTIONS.iter().filter(|section| is_wanted(section.key));
        let sections = wanted.map(|section| (section.key.to_owned(), (section.json)(self)));
        std::iter::once(("network".to_owned(), json!(self.network.name))).chain(sections).collect()
    }
}
