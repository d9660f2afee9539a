//! `headrace convert`.

use super::Context;
use crate::cli::ConvertArgs;
use crate::failure::Outcome;
use crate::output::write_file;
use crate::project_folder::{self, Beside};
use headrace::Error;
use headrace::roots::{kind_of, read_source};
use headrace::words::plural;
use headrace_frontend::SourceKind;
use headrace_source::{Severity, SourceMap, Span};
use headrace_syntax::ast::{Entity, File, QualifiedName};
use headrace_syntax::{nl, parse, xdf};
use headrace_targets::project::Files;
use std::path::Path;

/// Reads one form of a network and writes the other.
pub fn convert(context: &mut Context, arguments: &ConvertArgs) -> Outcome {
    if arguments.expand {
        return expand(context, arguments);
    }
    let (from, to) = (&arguments.from, &arguments.to);
    let network_kind = |path: &Path| kind_of(path).filter(|kind| *kind != SourceKind::Cal);
    let (Some(from_kind), Some(to_kind)) = (network_kind(from), network_kind(to)) else {
        return Err(Error::usage("networks are converted from and to files that end in .nl and .xdf"));
    };
    let mut sources = SourceMap::default();
    let id = sources.add(from.display().to_string(), read_source(from).map_err(Error::wrong)?);
    let (tree, mut problems) = match from_kind {
        SourceKind::Xdf => xdf::read(id, &base_name(from), sources.text(id)),
        SourceKind::Nl | SourceKind::Cal => parse(id, sources.text(id)),
    };
    let mut converted = None;
    let is_sound = problems.iter().all(|problem| problem.severity != Severity::Error);
    if let Some(tree) = tree.filter(|_| is_sound) {
        let Entity::Network(network) = &tree.entity else {
            return Err(Error::wrong(format!("{}: only networks can be converted", from.display())));
        };
        let written = match to_kind {
            SourceKind::Xdf => xdf::write(network),
            SourceKind::Nl | SourceKind::Cal => {
                let text = nl::write(&with_package(context, tree, to));
                // Classes in XDF have names that no text can have.
                let id = sources.add(to.display().to_string(), text.clone());
                let (_, found) = parse(id, &text);
                match found.iter().any(|problem| problem.severity == Severity::Error) {
                    true => Err(found),
                    false => Ok(text),
                }
            }
        };
        match written {
            Ok(text) => converted = Some(text),
            Err(found) => problems.extend(found),
        }
    }
    let counts = context.terminal.show(&sources, &problems);
    match converted {
        Some(text) if counts.errors == 0 => write_file(to, text.as_bytes()),
        _ => Err(Error::wrong(format!("{} was not written", to.display()))),
    }
}

/// Writes a network and the copies of inner networks that it needs, each below its package.
fn expand(context: &mut Context, arguments: &ConvertArgs) -> Outcome {
    let networks = context.expand(&arguments.from.to_string_lossy(), &arguments.parameters)?;
    let mut files = Files::new();
    for expanded in networks {
        let Entity::Network(network) = &expanded.file.entity else { continue };
        match xdf::write(network) {
            Ok(text) => {
                files.insert(format!("{}.xdf", expanded.name.replace('.', "/")), text.into_bytes());
            }
            Err(problems) => {
                context.show(&problems);
                return Err(Error::Told);
            }
        }
    }
    project_folder::write(&arguments.to, &files, Beside::Others)?;
    context.terminal.say(&format!("{} below {}", plural(files.len(), "file"), arguments.to.display()));
    Ok(())
}

fn base_name(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

/// XDF has no package: it is where the file lies below its source root.
fn with_package(context: &Context, mut tree: File, to: &Path) -> File {
    if tree.package.is_none() {
        let span = Span::new(tree.span.file, 0, 0);
        tree.package =
            context.workspace.roots.package_of(to).map(|package| QualifiedName { text: package.as_str().into(), span });
    }
    tree
}
