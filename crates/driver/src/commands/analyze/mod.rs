//! `headrace analyze`: one file a section of the report, each as text and as JSON.

mod automaton;
mod carried;
mod control;
mod fifos;
mod firings;
mod models;
mod order;
mod partitions;
mod period;
mod secrets;
mod ways;
mod work;

use super::{Context, fail_if};
use crate::cli::AnalyzeArgs;
use crate::failure::Outcome;
use crate::output;
use crate::terminal::plural;
use headrace::Error;
use headrace_analysis::constant_time::{self, Classes, Report};
use headrace_analysis::control::ControlSlice;
use headrace_analysis::schedule;
use headrace_analysis::{balance, flow};
use headrace_ir::{Network, Port};
use headrace_library::Class;
use headrace_library::catalog::{OperationSpec, VariantSpec};
use headrace_source::{Diagnostic, SourceMap};
use headrace_targets::promela::environment;
use serde_json::{Map, Value, json};
use std::path::Path;
use std::sync::Arc;

/// What is analysed, and what the sections share.
struct Subject<'a> {
    network: &'a Network,
    sources: &'a SourceMap,
    classes: Vec<headrace_analysis::rates::Class>,
    control: ControlSlice,
    balance: balance::Balance,
    periods: Vec<schedule::Outcome>,
    secrets: Report,
}

impl<'a> Subject<'a> {
    fn new(network: &'a Network, sources: &'a SourceMap, classes: &Classes) -> Self {
        let graph = flow::Network::of(network);
        let balance = balance::analyse(network);
        Subject {
            network,
            sources,
            classes: (0..network.actors.len()).map(|at| headrace_analysis::rates::classify_in(network, at)).collect(),
            control: headrace_analysis::control::of_flow(&graph),
            periods: schedule::analyse(network, &balance),
            balance,
            secrets: constant_time::of_flow(&graph, classes),
        }
    }

    /// Problems with a place in a source.
    fn diagnostics(&self) -> Vec<Diagnostic> {
        let mut found = balance::diagnostics(self.network, &self.balance);
        found.extend(schedule::diagnostics(self.network, &self.periods));
        found.extend(headrace_analysis::order_dependence::diagnostics(self.network));
        found
    }
}

/// A part of the report.
struct Section {
    /// Its key in JSON.
    key: &'static str,
    text: fn(&Subject<'_>) -> String,
    json: fn(&Subject<'_>) -> Value,
}

/// All parts, in the order in which they are shown.
const SECTIONS: [Section; 8] = [
    Section { key: "actors", text: models::text, json: models::json },
    Section { key: "control", text: control::text, json: control::json },
    Section { key: "periods", text: period::text, json: period::json },
    Section { key: "fifos", text: fifos::text, json: fifos::json },
    Section { key: "constant_time", text: secrets::text, json: secrets::json },
    Section { key: "work", text: work::text, json: work::json },
    Section { key: "carried", text: carried::text, json: carried::json },
    Section { key: "order_dependence", text: order::text, json: order::json },
];

/// Says of a network, or of operations of the library, what can be known before it runs.
pub fn analyze(context: &mut Context, arguments: &AnalyzeArgs) -> Outcome {
    let operations = operations(context, &arguments.network)?;
    let Some(operations) = operations else {
        if arguments.variant.is_some() {
            return Err(Error::usage("--variant: only operations of the library have variants"));
        }
        let network = context.elaborate(&arguments.network[0], &arguments.parameters)?;
        if let Some(n) = arguments.partitions {
            return partitions::show(arguments, &network, n);
        }
        if let Some(path) = &arguments.firings {
            return firings::replay(context, &network, &environment::of_network(&network), path, arguments.fifo);
        }
        if arguments.loops {
            return Err(Error::usage("--loops: only operations of the library say what typical messages are"));
        }
        if arguments.automaton {
            return output::print(automaton::of_network(&network, arguments)?.as_bytes());
        }
        let classes = classes_of_names(&network, arguments)?;
        let found = report(context, &network, &classes, arguments, None)?;
        return fail_if(arguments.constant_time && found);
    };
    if !arguments.secret.is_empty() || !arguments.public.is_empty() {
        return Err(Error::usage("--secret, --public: of operations of the library the manifest says which ports are"));
    }
    let mut found_any = false;
    let mut analysed = Vec::new();
    let parameters = Context::parameters(&arguments.parameters)?;
    for spec in &operations {
        let spec = spec.with_arguments(&parameters);
        for variant in variants(&spec, arguments)? {
            let network = context.elaborate(&variant.network.to_string(), &[])?;
            if let Some(n) = arguments.partitions {
                return partitions::show(arguments, &network, n);
            }
            if let Some(path) = &arguments.firings {
                let environment = environment::of_operation(&spec, &network);
                return firings::replay(context, &network, &environment, path, arguments.fifo);
            }
            let about = About { spec: &spec, variant };
            if arguments.automaton {
                output::print(automaton::of_operation(&spec, &network, arguments)?.as_bytes())?;
                continue;
            }
            if arguments.loops {
                let found = ways::of_operation(&spec, &network);
                let sources = &context.workspace.session.sources;
                if arguments.json {
                    let mut object = about.object();
                    let (loops, no_loop) = ways::json(&network, sources, &found);
                    object.insert("loops".into(), loops);
                    object.insert("no_loop".into(), no_loop);
                    analysed.push(Value::Object(object));
                } else {
                    let text = format!("{}\n{}", about.title(), ways::text(&network, sources, &found));
                    output::print(text.as_bytes())?;
                }
                continue;
            }
            let classes = classes_of_manifest(&spec, &network);
            if arguments.json {
                let subject = Subject::new(&network, &context.workspace.session.sources, &classes);
                found_any |= !subject.secrets.is_constant_time();
                analysed.push(as_json(&subject, arguments, Some(about)));
            } else {
                found_any |= report(context, &network, &classes, arguments, Some(about))?;
            }
        }
    }
    if arguments.json {
        print_json(&Value::Array(analysed))?;
    }
    fail_if(arguments.constant_time && found_any)
}

/// Which operation of the library is analysed.
#[derive(Clone, Copy)]
struct About<'a> {
    spec: &'a OperationSpec,
    variant: &'a VariantSpec,
}

impl About<'_> {
    fn title(&self) -> String {
        format!("{}, variant {}", self.spec.full_name(), self.variant.name)
    }

    /// What JSON says first.
    fn object(&self) -> Map<String, Value> {
        let mut object = Map::new();
        object.insert("primitive".into(), json!(self.spec.set));
        object.insert("operation".into(), json!(self.spec.name));
        object.insert("variant".into(), json!(self.variant.name));
        object.insert("declared_constant_time".into(), json!(self.variant.constant_time));
        object
    }
}

/// The operations that the words of the command line name, unless they are one network.
fn operations(context: &mut Context, words: &[String]) -> Outcome<Option<Vec<OperationSpec>>> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if let [word] = words[..]
        && (word.contains(['.', '(', '/']) || Path::new(word).exists() || context.workspace.roots.knows(word))
    {
        return Ok(None);
    }
    let library = context.library()?;
    match library.select(&words) {
        Ok(found) => Ok(Some(found.into_iter().filter(|spec| !spec.inputs.is_empty()).cloned().collect())),
        Err(_) if words.len() == 1 => Ok(None),
        Err(problem) => Err(Error::unknown(&problem)),
    }
}

/// The variants that are analysed: for the constant-time report all of them, else the default.
fn variants<'s>(spec: &'s OperationSpec, arguments: &AnalyzeArgs) -> Outcome<Vec<&'s VariantSpec>> {
    match &arguments.variant {
        None if arguments.constant_time => Ok(spec.variants.iter().collect()),
        name => spec.variant(name.as_deref()).map(|variant| vec![variant]).ok_or_else(|| {
            let known: Vec<&str> = spec.variants.iter().map(|variant| variant.name.as_str()).collect();
            Error::usage(format!("`{}` has no such variant; there are {}", spec.full_name(), known.join(", ")))
        }),
    }
}

fn classes_of_manifest(spec: &OperationSpec, network: &Network) -> Classes {
    let is = |class: Class| move |port: &Port| spec.class_of(&port.name).unwrap_or(Class::Secret) == class;
    Classes {
        secret_inputs: network.inputs.iter().map(is(Class::Secret)).collect(),
        public_outputs: network.outputs.iter().map(is(Class::Public)).collect(),
    }
}

/// The classes of a network that no manifest speaks of: by the names of its ports, and what the user says.
fn classes_of_names(network: &Network, arguments: &AnalyzeArgs) -> Outcome<Classes> {
    let ports = || network.inputs.iter().chain(&network.outputs);
    for name in arguments.secret.iter().chain(&arguments.public) {
        if !ports().any(|port| port.name == *name) {
            let known: Vec<&str> = ports().map(|port| port.name.as_str()).collect();
            let name = name.escape_debug();
            return Err(Error::usage(format!("`{name}` is no port; there are {}", known.join(", "))));
        }
    }
    let verifies = network.outputs.iter().any(|port| port.name == "Verified");
    let class = |port: &Port| match () {
        () if arguments.secret.contains(&port.name) => Class::Secret,
        () if arguments.public.contains(&port.name) => Class::Public,
        () => Class::of_name(&port.name, verifies),
    };
    Ok(Classes {
        secret_inputs: network.inputs.iter().map(|port| class(port) == Class::Secret).collect(),
        public_outputs: network.outputs.iter().map(|port| class(port) == Class::Public).collect(),
    })
}

/// Prints the report on one network; true when it is not constant in time.
fn report(
    context: &mut Context,
    network: &Arc<Network>,
    classes: &Classes,
    arguments: &AnalyzeArgs,
    about: Option<About<'_>>,
) -> Outcome<bool> {
    let subject = Subject::new(network, &context.workspace.session.sources, classes);
    let found = !subject.secrets.is_constant_time();
    if arguments.json {
        print_json(&as_json(&subject, arguments, about))?;
        return Ok(found);
    }
    let mut text = match about {
        Some(about) => format!("{}\n", about.title()),
        None => String::new(),
    };
    if arguments.constant_time {
        text.push_str(&secrets::text(&subject));
        output::print(text.as_bytes())?;
        let mut shown = constant_time::diagnostics(network, &subject.secrets);
        let more = shown.len().saturating_sub(secrets::MAX_SHOWN);
        shown.truncate(secrets::MAX_SHOWN);
        context.show(&shown);
        if more > 0 {
            context.terminal.say(&format!("and {} more; --json has all", plural(more, "place")));
        }
    } else {
        text.push_str(&format!("network {}\n", network.name));
        for section in &SECTIONS {
            let part = (section.text)(&subject);
            if !part.is_empty() {
                text.push('\n');
                text.push_str(&part);
            }
        }
        let problems = subject.diagnostics();
        output::print(text.as_bytes())?;
        context.show(&problems);
    }
    Ok(found)
}

fn as_json(subject: &Subject<'_>, arguments: &AnalyzeArgs, about: Option<About<'_>>) -> Value {
    let mut object = about.map(|about| about.object()).unwrap_or_default();
    object.insert("network".into(), json!(subject.network.name));
    for section in &SECTIONS {
        if !arguments.constant_time || section.key == "constant_time" {
            object.insert(section.key.into(), (section.json)(subject));
        }
    }
    Value::Object(object)
}

fn print_json(value: &Value) -> Outcome {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    output::print(format!("{text}\n").as_bytes())
}
