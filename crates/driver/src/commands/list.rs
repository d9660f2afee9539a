//! `headrace list`.

use super::Context;
use crate::cli::{ListArgs, Listing};
use crate::engines::{self, Available};
use crate::failure::Outcome;
use crate::output;
use headrace_bench::machine::version_of;
use headrace_library::catalog::Framing;
use serde_json::{Value, json};

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
        Listing::Peers => peers(),
        Listing::Platforms | Listing::Passes => Vec::new(),
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

fn primitives(context: &mut Context) -> Outcome<Vec<Row>> {
    let library = context.library()?;
    let mut rows: Vec<Row> = Vec::new();
    for spec in library.operations().iter().filter(|spec| spec.framing != Framing::Bare) {
        let variants: Vec<&str> = spec.variants.iter().map(|variant| variant.name.as_str()).collect();
        rows.push(Row {
            name: format!("{} {}", spec.set, spec.name),
            here: true,
            about: format!("{} ({})", spec.title, variants.join(", ")),
            details: json!({ "set": spec.set, "operation": spec.name, "primitive": spec.primitive, "variants": variants }),
        });
    }
    Ok(rows)
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
    let row = |target: &headrace_targets::Target| {
        let tool = target.tools.iter().find_map(|tool| version_of(tool));
        let missing = || format!("{}; to build it, one of {}", target.about, target.tools.join(", "));
        let about = tool.as_ref().map_or_else(missing, |tool| format!("{}; {tool}", target.about));
        Row { name: target.name.into(), here: tool.is_some(), about, details: json!({ "tools": target.tools }) }
    };
    headrace_targets::ALL.iter().map(row).collect()
}

/// Independent implementations that measurements and the demonstration compare with.
fn peers() -> Vec<Row> {
    let openssl = version_of("openssl");
    vec![Row {
        name: "openssl".into(),
        here: openssl.is_some(),
        about: openssl.unwrap_or_else(|| "apt-get install openssl".into()),
        details: Value::Null,
    }]
}
