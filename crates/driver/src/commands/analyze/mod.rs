//! `headrace analyze`.

mod partitions;
mod streams;

use super::{Context, fail_if};
use crate::cli::AnalyzeArgs;
use crate::failure::Outcome;
use crate::output;
use headrace::Error;
use headrace::analysis::automaton::{self, Passes};
use headrace::analysis::replay::replay;
use headrace::analysis::{Analysis, MAX_SHOWN, loops, of_manifest, of_names};
use headrace::operation::no_such_variant;
use headrace::roots::read_source;
use headrace::waiting;
use headrace::words::plural;
use headrace_analysis::constant_time::Classes;
use headrace_ir::Network;
use headrace_library::catalog::{OperationSpec, VariantSpec};
use headrace_targets::promela::environment::{self, Environment};
use serde_json::{Map, Value, json};
use std::path::Path;
use std::sync::Arc;

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
            return replay_firings(context, &network, &environment::of_network(&network), path, arguments.fifo);
        }
        if arguments.streams || !arguments.suits.is_empty() {
            let said = streams::show(arguments, None, &network)?;
            return match arguments.json {
                true => print_json(&Value::Object(said.json)),
                false => output::print(said.text.as_bytes()),
            };
        }
        if arguments.loops {
            return Err(Error::usage("--loops: only operations of the library say what typical messages are"));
        }
        if arguments.automaton {
            return output::print(automaton::of_network(&network, &asked(arguments))?.as_bytes());
        }
        let classes = of_names(&network, &arguments.secret, &arguments.public)?;
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
                return replay_firings(context, &network, &environment, path, arguments.fifo);
            }
            let about = About { spec: &spec, variant };
            if arguments.automaton {
                output::print(automaton::of_operation(&spec, &network, &asked(arguments))?.as_bytes())?;
                continue;
            }
            if arguments.streams || !arguments.suits.is_empty() {
                let shown = streams::show(arguments, Some(&spec), &network)?;
                if arguments.json {
                    let mut object = about.object();
                    object.extend(shown.json);
                    analysed.push(Value::Object(object));
                } else {
                    output::print(format!("{}\n{}", about.title(), shown.text).as_bytes())?;
                }
                continue;
            }
            if arguments.loops {
                let found = loops::of_operation(&spec, &network);
                let sources = &context.workspace.session.sources;
                if arguments.json {
                    let mut object = about.object();
                    let (all, no_loop) = loops::json(&network, sources, &found);
                    object.insert("loops".into(), all);
                    object.insert("no_loop".into(), no_loop);
                    analysed.push(Value::Object(object));
                } else {
                    let text = format!("{}\n{}", about.title(), loops::text(&network, sources, &found));
                    output::print(text.as_bytes())?;
                }
                continue;
            }
            let classes = of_manifest(&spec, &network);
            if arguments.json {
                let analysis = Analysis::new(&network, context.workspace.sources(), &classes);
                found_any |= !analysis.secrets.is_constant_time();
                analysed.push(as_json(&analysis, arguments, Some(about)));
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
        name => spec.variant(name.as_deref()).map(|variant| vec![variant]).ok_or_else(|| no_such_variant(spec)),
    }
}

/// What the command line asks of passes.
fn asked(arguments: &AnalyzeArgs) -> Passes<'_> {
    Passes {
        names: &arguments.passes,
        stop_after: arguments.stop_after.as_deref(),
        print_before: &arguments.print_before,
        print_after: &arguments.print_after,
    }
}

/// Runs a network as its model ran, and says whether it stops as that did.
fn replay_firings(
    context: &Context,
    network: &Arc<Network>,
    environment: &Environment,
    path: &Path,
    fifo_tokens: u32,
) -> Outcome {
    let text = read_source(path).map_err(Error::Wrong)?;
    let replayed = replay(network, environment, &path.display().to_string(), &text, fifo_tokens)?;
    output::print(replayed.text().as_bytes())?;
    match replayed.report() {
        None => Ok(()),
        Some(report) => {
            context.terminal.say(&waiting::report(report));
            Err(Error::Stopped(String::new()))
        }
    }
}

/// Prints the report on one network; true when it is not constant in time.
fn report(
    context: &mut Context,
    network: &Arc<Network>,
    classes: &Classes,
    arguments: &AnalyzeArgs,
    about: Option<About<'_>>,
) -> Outcome<bool> {
    let analysis = Analysis::new(network, context.workspace.sources(), classes);
    let found = !analysis.secrets.is_constant_time();
    if arguments.json {
        print_json(&as_json(&analysis, arguments, about))?;
        return Ok(found);
    }
    let mut text = match about {
        Some(about) => format!("{}\n", about.title()),
        None => String::new(),
    };
    if arguments.constant_time {
        text.push_str(&analysis.secrets_text());
        output::print(text.as_bytes())?;
        let mut shown = analysis.secret_diagnostics();
        let more = shown.len().saturating_sub(MAX_SHOWN);
        shown.truncate(MAX_SHOWN);
        context.show(&shown);
        if more > 0 {
            context.terminal.say(&format!("and {} more; --json has all", plural(more, "place")));
        }
    } else {
        text.push_str(&analysis.text());
        output::print(text.as_bytes())?;
        context.show(&analysis.diagnostics());
    }
    Ok(found)
}

fn as_json(analysis: &Analysis<'_>, arguments: &AnalyzeArgs, about: Option<About<'_>>) -> Value {
    let mut object = about.map(|about| about.object()).unwrap_or_default();
    object.extend(if arguments.constant_time { analysis.secrets_json() } else { analysis.json() });
    Value::Object(object)
}

fn print_json(value: &Value) -> Outcome {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    output::print(format!("{text}\n").as_bytes())
}
