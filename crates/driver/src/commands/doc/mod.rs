//! `headrace doc`: reference pages of the library, from its manifests.

mod page;
mod sections;

use super::Context;
use crate::cli::DocArgs;
use crate::failure::Outcome;
use crate::project_folder::{self, Beside};
use headrace::Error;
use headrace::picture;
use headrace::words::plural;
use headrace_bench::results::Results;
use headrace_library::catalog::{Library, OperationSpec};
use headrace_library::manifest::{Manifest, Shape};
use headrace_targets::project::Files;
use page::{document, file_name, markdown, sentence, text};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Levels of networks that a picture shows, the drawn network itself counted; those below are closed boxes.
const PICTURE_DEPTH: usize = 3;

/// Writes a page for every primitive, one for the parts, and an index.
pub fn doc(context: &mut Context, arguments: &DocArgs) -> Outcome {
    let beside = if arguments.force { Beside::Force } else { Beside::Nothing };
    project_folder::check(&arguments.output, beside)?;
    let library = context.library()?;
    let results = arguments.results.iter().map(|path| super::bench::read_results(path)).collect::<Outcome<Vec<_>>>()?;
    let mut pages = Files::new();
    let n_pages = library.manifests().len() + 1;
    for (at, manifest) in library.manifests().iter().enumerate() {
        context.terminal.status(&format!("{at} of {}", plural(n_pages, "page")));
        let page = primitive_page(context, &library, manifest, &results)?;
        pages.insert(file_name(manifest), page.into_bytes());
    }
    pages.insert("index.html".into(), sections::index(&library).into_bytes());
    context.terminal.status("");
    project_folder::write(&arguments.output, &pages, beside)?;
    context.terminal.say(&format!("{} in {}", plural(n_pages, "page"), arguments.output.display()));
    Ok(())
}

fn primitive_page(
    context: &mut Context,
    library: &Library,
    manifest: &Manifest,
    results: &[Results],
) -> Outcome<String> {
    let mut body = format!(
        "<p><a href=\"index.html\">Library</a> / {}</p>\n<h1>{}</h1>\n<p class=\"soft\">{}, {}</p>\n",
        text(&manifest.family),
        text(&manifest.title),
        text(manifest.shape.name()),
        text(&manifest.standard)
    );
    if let Some(weaknesses) = &manifest.weaknesses {
        let _ = writeln!(body, "<p class=\"warning\"><strong>Weaknesses:</strong> {}</p>", sentence(weaknesses));
    }
    if let Some((_, Ok(readme))) = context.workspace.roots.text(&format!("{}/README.md", manifest.folder)) {
        let _ = writeln!(body, "<section class=\"readme\">{}</section>", markdown(&readme, library));
    }
    let operations: Vec<&OperationSpec> =
        library.operations().iter().filter(|spec| spec.folder == manifest.folder).collect();
    let mut drawn = BTreeSet::new();
    if manifest.shape == Shape::Mode {
        sections::mode(&mut body, library, manifest);
        // With the first cipher that it is for, in the place of all.
        for operation in &manifest.operations {
            let spec =
                library.operations().iter().find(|spec| spec.name == operation.name && !spec.variants.is_empty());
            if let Some(spec) = spec {
                sections::ports(&mut body, &format!("{} {}", spec.set, spec.name), spec);
                sections::speeds(&mut body, spec, results);
                pictures(context, &mut body, spec, &mut drawn)?;
            }
        }
    }
    for set in operations.iter().map(|spec| spec.set.as_str()).collect::<BTreeSet<_>>() {
        let _ = writeln!(body, "<h2 id=\"{0}\"><code>{0}</code></h2>", text(set));
        let (own, of_modes): (Vec<&OperationSpec>, Vec<&OperationSpec>) = operations
            .iter()
            .filter(|spec| spec.set == set)
            .partition(|spec| sections::mode_of(library, manifest, spec).is_none());
        for spec in own {
            sections::operation(&mut body, spec);
            sections::speeds(&mut body, spec, results);
            pictures(context, &mut body, spec, &mut drawn)?;
        }
        sections::modes_of_set(&mut body, library, manifest, &of_modes, results);
    }
    Ok(document(&manifest.title, &body))
}

/// Pictures of the networks of an operation that the page does not show yet.
fn pictures(context: &mut Context, body: &mut String, spec: &OperationSpec, drawn: &mut BTreeSet<String>) -> Outcome {
    for variant in &spec.variants {
        let network = variant.network.to_string();
        let constant_time = if variant.constant_time { ", constant-time" } else { "" };
        let _ = writeln!(
            body,
            "<p>Variant <code>{}</code>{constant_time}: <code>{}</code></p>",
            text(&variant.name),
            text(&network)
        );
        if drawn.insert(variant.network.entity.clone()) {
            let top = context.hierarchy(&network, &[]).map_err(|error| match error {
                Error::Told => Error::wrong(format!("`{network}` has errors")),
                error => error,
            })?;
            let _ = writeln!(body, "<figure>{}</figure>", picture::draw(&network, &top, PICTURE_DEPTH));
        }
    }
    Ok(())
}
