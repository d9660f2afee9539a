//! `headrace check`.

use super::Context;
use crate::cli::CheckArgs;
use crate::failure::{Failure, Outcome};
use crate::roots::{MANIFEST, files_below, is_manifest, kind_of, read_source};
use crate::terminal::plural;
use headrace_exchange::check_ports;
use headrace_frontend::Top;
use headrace_library::catalog::{Framing, Library, REFERENCE};
use headrace_library::manifest::{Manifest, Shape};
use headrace_library::mapping::VectorMapping;
use headrace_source::{Diagnostic, FileId};
use std::collections::BTreeSet;
use std::path::Path;

/// Checks files, folders and networks, and shows all problems at once.
pub fn check(context: &mut Context, arguments: &CheckArgs) -> Outcome {
    let mut tops = Vec::new();
    let (mut unreadable, mut beside, mut below) = (0, 0, 0);
    let only_folders = arguments.inputs.iter().all(|input| Path::new(input).is_dir());
    for input in &arguments.inputs {
        let path = Path::new(input);
        if path.is_dir() {
            let files =
                files_below(path, &["cal", "nl", "xdf"]).map_err(|error| Failure::io(path.display(), &error))?;
            below += files.len();
            for file in files {
                unreadable += usize::from(!add_file(context, &file, &mut tops));
            }
            let read = context.session.sources.len();
            let (own, failed) = check_manifests(context, path)?;
            beside += context.session.sources.len() - read - own;
            below += own;
            unreadable += failed;
        } else {
            tops.push(context.top(input)?);
        }
    }
    for top in &tops {
        let Some(network) = headrace_frontend::check(&mut context.session, &context.roots, top) else { continue };
        for problem in network.actors.iter().flat_map(headrace_analysis::narrowed::diagnostics) {
            context.session.report(problem);
        }
    }
    let problems = context.session.take_diagnostics();
    context.show(&problems);
    let counts = context.counts();
    if !arguments.quiet || counts.errors > 0 {
        let found = counts.describe();
        let found = if found.is_empty() { "no problems".to_owned() } else { found };
        // What files of folders need from elsewhere was looked at for them only.
        let looked_at = if only_folders { below } else { context.session.sources.len() - beside };
        context.terminal.say(&format!("{found} in {}", plural(looked_at, "file")));
    }
    super::fail_if(counts.errors + unreadable > 0)
}

/// Checks the manifests below a folder, together with those of the source roots, which have the modes and ciphers that they
/// may speak of; only their own problems are shown. Gives how many were read, and how many cannot be, which is said.
fn check_manifests(context: &mut Context, folder: &Path) -> Outcome<(usize, usize)> {
    let found = files_below(folder, &["toml"]).map_err(|error| Failure::io(folder.display(), &error))?;
    let found: Vec<_> =
        found.into_iter().filter(|file| file.file_name().is_some_and(|name| name == MANIFEST)).collect();
    if found.is_empty() {
        return Ok((0, 0));
    }
    let mut files = Vec::new();
    let (mut unreadable, mut readable) = (0, Vec::new());
    for file in &found {
        match read_source(file) {
            Ok(text) => {
                let id = context.session.sources.add(file.display().to_string(), text);
                files.push((id, context.roots.below(file)));
                readable.push(file);
            }
            Err(message) => {
                context.terminal.error(&message);
                unreadable += 1;
            }
        }
    }
    let own: Vec<FileId> = files.iter().map(|(id, _)| *id).collect();
    for (path, display, text) in context.roots.texts(is_manifest, &["toml"]) {
        // What stands below the folder may be what a root has, too.
        let here = files.iter().any(|(_, own)| *own == path || own.ends_with(&format!("/{path}")));
        if let (false, Ok(text)) = (here, text) {
            files.push((context.session.sources.add(display, text), path));
        }
    }
    let sources = &context.session.sources;
    let (library, problems) = Library::load(files.iter().map(|(id, path)| (*id, path.as_str(), sources.text(*id))));
    let of_own = |problem: &Diagnostic| problem.primary.as_ref().is_none_or(|label| own.contains(&label.span.file));
    let mut problems: Vec<Diagnostic> = problems.into_iter().filter(of_own).collect();
    // An answer that one manifest lacks says nothing about the networks of the next.
    let is_sound = problems.is_empty();
    for manifest in library.manifests() {
        let Some(at) = own.iter().position(|id| *id == manifest.file) else { continue };
        let beside = readable[at].parent().unwrap_or(Path::new("."));
        problems.extend(missing_answers(manifest, beside));
        if is_sound {
            check_networks(context, &library, manifest, beside)?;
        }
    }
    context.show(&problems);
    Ok((own.len(), unreadable))
}

/// The known-answer files that a manifest names and that are not there.
fn missing_answers(manifest: &Manifest, folder: &Path) -> Vec<Diagnostic> {
    let is_missing = |mapping: &&VectorMapping| !folder.join("vectors").join(&mapping.file).is_file();
    let missing = manifest.vectors.iter().filter(is_missing);
    let problem = |mapping: &VectorMapping| {
        let file = mapping.file.escape_debug();
        Diagnostic::error(REFERENCE, format!("there is no known-answer file `vectors/{file}`"))
            .at(mapping.span, "named here")
    };
    missing.map(problem).collect()
}

/// Checks the networks that a manifest names, with the arguments that stand there: those of a mode with the first cipher that
/// has it.
fn check_networks(context: &mut Context, library: &Library, manifest: &Manifest, folder: &Path) -> Outcome {
    let own = manifest.sets.iter().flat_map(|set| set.operations.iter().map(move |own| (Some(&set.name), own)));
    let of_mode = manifest.operations.iter().map(|own| (None, own));
    let mut seen = BTreeSet::new();
    for (set, operation) in own.chain(of_mode) {
        let spec = library.operations().iter().find(|spec| {
            spec.name == operation.name
                && set.is_none_or(|set| *set == spec.set)
                && (manifest.shape == Shape::Mode || spec.folder == manifest.folder)
        });
        let Some(spec) = spec else { continue };
        for variant in &spec.variants {
            let name = variant.network.entity.rsplit('.').next().unwrap_or_default();
            // Below no source root a package is not what the folders are called; what stands beside is there all the same.
            let is_beside = ["nl", "cal", "xdf"].iter().any(|ending| folder.join(format!("{name}.{ending}")).is_file());
            if !seen.insert(variant.network.to_string()) || (is_beside && !context.roots.knows(&variant.network.entity))
            {
                continue;
            }
            let (roots, top) = (&context.roots, Top::Expression(variant.network.to_string()));
            let network = headrace_frontend::elaborate(&mut context.session, roots, &top, &[]);
            if let Some(network) = network
                && spec.framing != Framing::Bare
                && let Err(problem) = check_ports(spec, &network)
            {
                context.show(&[Diagnostic::error(REFERENCE, problem).at(operation.span, "this operation")]);
            }
        }
    }
    Ok(())
}

/// Adds a file of a folder; false when it cannot be read, which is said.
fn add_file(context: &mut Context, file: &Path, tops: &mut Vec<Top>) -> bool {
    let Some(kind) = kind_of(file) else { return true };
    match context.top_of_file(file, kind) {
        Ok(top) => {
            tops.push(top);
            true
        }
        Err(failure) => {
            context.terminal.error(&failure.message);
            false
        }
    }
}
