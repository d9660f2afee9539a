//! `headrace list`.

use super::{Context, summary};
use crate::cli::{ListArgs, Listing};
use crate::failure::Outcome;
use crate::output;
use headrace::engines::{self, Available};
use headrace::toolchains;
use headrace_bench::machine::version_of;
use headrace_library::catalog::{OperationSpec, VariantSpec};
use headrace_library::manifest::Shape;
use headrace_library::{Class, PortSpec};
use headrace_machines::Machine;
use headrace_machines::simd::Architecture;
use headrace_targets::toolchain::Toolchain;
use headrace_transform::passes::pass::{Pass, Property};
use headrace_transform::passes::pipelines::{self, Pipeline, Stage};
use serde_json::{Value, json};
use std::path::Path;

/// A row: what it is called, whether it can be used here, and what there is to say about it.
struct Row {
    name: String,
    here: bool,
    about: String,
    details: Value,
}

/// Lists what there is.
pub fn list(context: &mut Context, arguments: &ListArgs) -> Outcome {
    let rows = match arguments.what {
        Listing::Primitives => primitives(context)?,
        Listing::Engines => engines(),
        Listing::Targets => targets(),
        Listing::Peers => peers()?,
        Listing::Passes => passes(),
        Listing::Machines => machines(),
        Listing::Platforms => platforms(),
    };
    if arguments.json {
        let rows: Vec<Value> = rows
            .into_iter()
            .map(|row| json!({ "name": row.name, "here": row.here, "about": row.about, "details": row.details }))
            .collect();
        let text = serde_json::to_string_pretty(&rows).unwrap_or_default();
        return output::print(format!("{text}\n").as_bytes());
    }
    if rows.is_empty() {
        context.terminal.note("there are none yet");
    }
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
    for row in rows {
        let mark = if row.here { "" } else { "not here: " };
        output::print(format!("{:width$}  {mark}{}\n", row.name, row.about).as_bytes())?;
    }
    Ok(())
}

/// A row for every primitive with its parameter sets, what it can do, in which variants, where it is defined and what is
/// wrong with it; the details have every operation with its ports.
fn primitives(context: &mut Context) -> Outcome<Vec<Row>> {
    let library = context.library()?;
    let mut rows: Vec<Row> = Vec::new();
    for manifest in library.manifests().iter().filter(|manifest| manifest.shape != Shape::Part) {
        let mode = manifest.shape == Shape::Mode;
        let of_mode = |name: &str| mode && manifest.operations.iter().any(|operation| operation.name == name);
        let specs: Vec<&OperationSpec> =
            library.operations().iter().filter(|spec| spec.folder == manifest.folder || of_mode(&spec.name)).collect();
        let mut about = format!("{}: {}, {}", manifest.title, manifest.shape.name(), manifest.standard);
        if !mode {
            about.push_str(&format!(
                "\n  sets        {}",
                summary::unique(manifest.sets.iter().map(|set| set.name.clone())).join(", ")
            ));
        }
        about.push_str(&format!("\n  operations  {}", summary::operations(manifest, &specs).join(", ")));
        if !mode {
            about.push_str(&format!("\n  variants    {}", summary::variants(specs.iter().copied()).join(", ")));
        }
        if let Some(weaknesses) = &manifest.weaknesses {
            about.push_str(&format!("\n  weaknesses  {weaknesses}"));
        }
        let operations: Vec<Value> = specs.iter().map(|spec| operation(spec)).collect();
        let details = json!({
            "title": manifest.title, "shape": manifest.shape.name(), "family": manifest.family,
            "standard": manifest.standard, "weaknesses": manifest.weaknesses, "operations": operations,
        });
        rows.push(Row { name: manifest.folder.clone(), here: true, about, details });
    }
    Ok(rows)
}

fn operation(spec: &OperationSpec) -> Value {
    let port = |port: &PortSpec| {
        json!({
            "name": port.name, "role": port.role.name(), "bits": port.bits, "size_port": port.companion,
            "class": if port.class == Class::Secret { "secret" } else { "public" },
            "length": if port.role.is_control() { Value::Null } else { port.sizes.to_string().into() },
        })
    };
    let variant = |variant: &VariantSpec| json!({ "name": variant.name, "network": variant.network.to_string(), "constant_time": variant.constant_time });
    json!({
        "set": spec.set, "operation": spec.name,
        "inputs": spec.inputs.iter().map(port).collect::<Vec<_>>(),
        "outputs": spec.outputs.iter().map(port).collect::<Vec<_>>(),
        "variants": spec.variants.iter().map(variant).collect::<Vec<_>>(),
        "openssl": spec.openssl.iter().map(|name| &name.name).collect::<Vec<_>>(), "jca": spec.jca.names,
        "inverse": spec.inverse, "verifies": spec.verifies, "single_chunk": spec.single_chunk,
    })
}

/// A row for each pass, with what it requires and establishes, and one for each pipeline, with its passes.
fn passes() -> Vec<Row> {
    let properties = |all: &[Property]| all.iter().map(Property::to_string).collect::<Vec<_>>();
    let pass = |pass: &&Pass| {
        let lists = [("requires", pass.requires), ("establishes", pass.establishes), ("gives up", pass.gives_up)].map(
            |(word, all)| {
                if all.is_empty() { String::new() } else { format!("\n  {word:11} {}", properties(all).join(", ")) }
            },
        );
        let details = json!({
            "kind": "pass", "requires": properties(pass.requires), "establishes": properties(pass.establishes),
            "gives_up": properties(pass.gives_up),
        });
        Row { name: pass.name.to_owned(), here: true, about: format!("{}{}", pass.about, lists.concat()), details }
    };
    let pipeline = |pipeline: &&Pipeline| {
        let stages: Vec<String> = pipeline.stages.iter().map(Stage::to_string).collect();
        let about = format!("{}\n  {}", pipeline.about, stages.join(", "));
        let details = json!({ "kind": "pipeline", "passes": stages });
        Row { name: pipeline.name.to_owned(), here: true, about, details }
    };
    headrace_transform::passes::ALL.iter().map(pass).chain(pipelines::ALL.iter().map(pipeline)).collect()
}

/// A row for each machine: levels are here on processors of their architecture, devices where their cells are known; the details have its figures with their sources.
fn machines() -> Vec<Row> {
    let row = |machine: Machine| {
        let (name, kind, about) = machine.description();
        let details = serde_json::to_value(machine).unwrap_or_default();
        let here = match machine {
            Machine::Simd(level) => match level.architecture {
                Architecture::X86_64 => cfg!(target_arch = "x86_64"),
                Architecture::Aarch64 => cfg!(target_arch = "aarch64"),
            },
            Machine::Device(device) => device.library.as_ref().is_none_or(|library| Path::new(&library.path).exists()),
            Machine::CostModel(_) | Machine::Scalar(_) | Machine::Fabric(_) => true,
        };
        Row { name: name.to_owned(), here, about: format!("{kind}: {about}"), details }
    };
    headrace_machines::machines().all().map(row).collect()
}

/// A row for each platform that networks are mapped to; the details have its figures with their sources.
fn platforms() -> Vec<Row> {
    let row = |file: &headrace_platform::File| {
        let (here, about) = match file.head() {
            Ok(head) => (true, format!("{}: {}", head.kind, head.about)),
            Err(wrong) => (false, wrong.to_string()),
        };
        Row { name: file.name.clone(), here, about, details: file.parse().unwrap_or_default() }
    };
    headrace_platform::built_in().iter().map(row).collect()
}

fn engines() -> Vec<Row> {
    let row = |engine| {
        let (here, about) = match engines::availability(engine) {
            Available::Here(with) => (true, with),
            Available::Missing(why) => (false, why),
        };
        Row { name: engines::name(engine).into(), here, about, details: Value::Null }
    };
    engines::ALL.into_iter().map(row).collect()
}

fn targets() -> Vec<Row> {
    let row = |target: &headrace_targets::Target, toolchain: &Toolchain| {
        let found = toolchains::find(toolchain, None, super::itself().as_deref());
        let with = found.as_ref().map_or_else(|why| why.clone(), |found| found.version.clone());
        // What comes out is the same for all toolchains of a target.
        let about = match toolchain.name == target.name {
            true => format!("{}; {with}", target.about),
            false if toolchain.fused => format!("what target {} makes, run elsewhere; {with}", target.name),
            false => format!("what target {} makes with --unfused; {with}", target.name),
        };
        let tools: Vec<&[&str]> = toolchain.tools.iter().map(|tool| tool.commands).collect();
        Row {
            name: toolchain.name.into(),
            here: found.is_ok(),
            about,
            details: json!({ "tools": tools, "known_answers": target.known_answers, "target": target.name }),
        }
    };
    let rows =
        |target: &'static headrace_targets::Target| target.toolchains.iter().map(move |chain| row(target, chain));
    headrace_targets::ALL.iter().flat_map(rows).collect()
}

/// Independent implementations that measurements and the demonstration compare with.
fn peers() -> Outcome<Vec<Row>> {
    let openssl = version_of("openssl");
    let mut rows = vec![Row {
        name: "openssl".into(),
        here: openssl.is_some(),
        about: openssl.unwrap_or_else(|| "apt-get install openssl".into()),
        details: Value::Null,
    }];
    let adapters = super::bench::referee::adapters();
    for (name, spec) in super::bench::referee::rules()?.peers {
        let found = headrace_bench::peers::find(&name, &spec, &adapters);
        let details = json!({
            "title": spec.title, "minimum": spec.minimum, "get": spec.get, "bound": spec.bound,
            "version": found.as_ref().ok().map(|peer| peer.object.version.clone()), "problem": found.as_ref().err(),
        });
        let about = match &found {
            Ok(peer) => peer.title.clone(),
            Err(why) => format!("{} {} or later; {why}; {}", spec.title, spec.minimum, spec.get),
        };
        rows.push(Row { name, here: found.is_ok(), about, details });
    }
    Ok(rows)
}
