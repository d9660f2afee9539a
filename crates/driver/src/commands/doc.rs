//! `headrace doc`: reference pages of the library, from its manifests.

use super::Context;
use crate::cli::DocArgs;
use crate::failure::{Failure, Outcome};
use crate::output::{make_folder, write_file};
use crate::picture;
use crate::terminal::plural;
use headrace_bench::report::escape;
use headrace_library::catalog::{Framing, Library, OperationSpec};
use headrace_library::manifest::{Manifest, Shape};
use headrace_library::{Class, PortSpec};
use std::collections::BTreeSet;
use std::fmt::Write as _;

const STYLE: &str = "
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5c6b7d; --line: #d9e0e8; --paper: #fff; --code: #f3f6fa; --link: #2660a4; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8edf3; --soft: #9aa9ba; --line: #334150; --paper: #12181f; --code: #1b242e; --link: #7fb4ef; } }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 62rem; margin: 2rem auto; padding: 0 1.2rem; }
a { color: var(--link); } h1 { margin-bottom: 0; } h2 { margin-top: 2.2rem; } h3 { margin-top: 1.6rem; } .soft { color: var(--soft); }
table { border-collapse: collapse; } th, td { text-align: left; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--soft); font-weight: 600; font-size: .9rem; } code, pre { background: var(--code); border-radius: .25rem; } code { padding: .05rem .3rem; } pre { padding: .7rem 1rem; overflow-x: auto; }
figure { margin: 1rem 0; overflow-x: auto; } figure svg { max-width: 100%; height: auto; } .warning { border-left: 4px solid #c77700; padding-left: .8rem; }
";

/// Writes a page for every primitive, one for the parts, and an index.
pub fn doc(context: &mut Context, arguments: &DocArgs) -> Outcome {
    let library = context.library()?;
    make_folder(&arguments.output)?;
    let mut pages = 0;
    for manifest in library.manifests() {
        let page = primitive_page(context, &library, manifest)?;
        write_file(&arguments.output.join(file_name(manifest)), page.as_bytes())?;
        pages += 1;
    }
    write_file(&arguments.output.join("index.html"), index(&library).as_bytes())?;
    context.terminal.say(&format!("{} in {}", plural(pages + 1, "page"), arguments.output.display()));
    Ok(())
}

fn file_name(manifest: &Manifest) -> String {
    format!("{}.html", manifest.folder.replace('/', "-"))
}

fn page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{0}</title><style>{STYLE}</style></head><body>\n{body}</body></html>\n",
        escape(title)
    )
}

fn index(library: &Library) -> String {
    let mut body = String::from(
        "<h1>Crypto Tools Library</h1>\n<p class=\"soft\">One dataflow source for every cipher. Each page comes from a manifest.</p>\n",
    );
    let families: BTreeSet<&str> = library.manifests().iter().map(|manifest| manifest.family.as_str()).collect();
    for family in families {
        let _ = write!(
            body,
            "<h2>{}</h2>\n<table><tr><th>primitive</th><th>standard</th><th>parameter sets</th></tr>\n",
            escape(family)
        );
        for manifest in library.manifests().iter().filter(|manifest| manifest.family == family) {
            let sets: Vec<String> =
                manifest.sets.iter().map(|set| format!("<code>{}</code>", escape(&set.name))).collect();
            let _ = writeln!(
                body,
                "<tr><td><a href=\"{}\">{}</a></td><td>{}</td><td>{}</td></tr>",
                escape(&file_name(manifest)),
                escape(&manifest.title),
                escape(&manifest.standard),
                sets.join(" ")
            );
        }
        body.push_str("</table>\n");
    }
    page("Crypto Tools Library", &body)
}

fn primitive_page(context: &mut Context, library: &Library, manifest: &Manifest) -> Outcome<String> {
    let mut body = format!(
        "<p><a href=\"index.html\">Library</a></p>\n<h1>{}</h1>\n<p class=\"soft\">{}, {}</p>\n",
        escape(&manifest.title),
        escape(manifest.shape.name()),
        escape(&manifest.standard)
    );
    if let Some(weaknesses) = &manifest.weaknesses {
        let _ = writeln!(body, "<p class=\"warning\">{}</p>", escape(weaknesses));
    }
    if let Some((_, Ok(readme))) = context.roots.text(&format!("{}/README.md", manifest.folder)) {
        let _ = writeln!(body, "<details><summary>README</summary><pre>{}</pre></details>", escape(&readme));
    }
    let operations: Vec<&OperationSpec> =
        library.operations().iter().filter(|spec| spec.folder == manifest.folder).collect();
    if manifest.shape == Shape::Mode {
        mode_section(&mut body, library, manifest);
    }
    let mut drawn = BTreeSet::new();
    for set in operations.iter().map(|spec| spec.set.as_str()).collect::<BTreeSet<_>>() {
        let _ = writeln!(body, "<h2><code>{}</code></h2>", escape(set));
        for spec in operations.iter().filter(|spec| spec.set == set) {
            operation_section(context, &mut body, spec, &mut drawn)?;
        }
    }
    Ok(page(&manifest.title, &body))
}

/// A mode has operations only together with ciphers.
fn mode_section(body: &mut String, library: &Library, manifest: &Manifest) {
    body.push_str("<h2>Operations</h2>\n<ul>\n");
    for operation in &manifest.operations {
        let sets: Vec<String> = library
            .operations()
            .iter()
            .filter(|spec| spec.name == operation.name)
            .map(|spec| format!("<code>{} {}</code>", escape(&spec.set), escape(&spec.name)))
            .collect();
        let _ = writeln!(body, "<li><code>{}</code>, as in {}</li>", escape(&operation.name), sets.join(", "));
    }
    body.push_str("</ul>\n");
}

fn operation_section(
    context: &mut Context,
    body: &mut String,
    spec: &OperationSpec,
    drawn: &mut BTreeSet<String>,
) -> Outcome {
    let _ = writeln!(body, "<h3>{}</h3>", escape(&spec.name));
    if spec.framing != Framing::Bare {
        let options: Vec<String> = spec.inputs.iter().filter_map(option).collect();
        let _ = writeln!(
            body,
            "<pre>headrace use {} {} {} --in F --out G</pre>",
            escape(&spec.set),
            escape(&spec.name),
            escape(&options.join(" "))
        );
    }
    body.push_str("<table><tr><th>port</th><th>direction</th><th>width</th><th>length</th><th>class</th></tr>\n");
    for (ports, direction) in [(&spec.inputs, "in"), (&spec.outputs, "out")] {
        for port in ports.iter() {
            let companion =
                port.companion.as_ref().map(|name| format!(" and <code>{}</code>", escape(name))).unwrap_or_default();
            let class = if port.class == Class::Secret { "secret" } else { "public" };
            let length = if port.role.is_control() { String::new() } else { port.sizes.to_string() };
            let _ = writeln!(
                body,
                "<tr><td><code>{}</code>{companion}</td><td>{direction}</td><td>{}</td><td>{}</td><td>{class}</td></tr>",
                escape(&port.name),
                port.bits,
                escape(&length)
            );
        }
    }
    body.push_str("</table>\n");
    for variant in &spec.variants {
        let network = variant.network.to_string();
        let _ =
            writeln!(body, "<p>Variant <code>{}</code>: <code>{}</code></p>", escape(&variant.name), escape(&network));
        if spec.framing == Framing::Core && drawn.insert(variant.network.entity.clone()) {
            let top = context.hierarchy(&network, &[]).map_err(|failure| match failure.message.as_str() {
                "" => Failure::wrong(format!("`{network}` has errors")),
                _ => failure,
            })?;
            let _ = writeln!(body, "<figure>{}</figure>", picture::draw(&network, &top));
        }
    }
    Ok(())
}

/// How `headrace use` takes a string.
fn option(port: &PortSpec) -> Option<String> {
    use headrace_library::Role;
    let option = match port.role {
        Role::Key => "--key",
        Role::Iv => "--iv",
        Role::Nonce => "--nonce",
        Role::SecretNonce => "--secret-nonce",
        Role::Ad => "--ad",
        Role::Seed => "--seed",
        Role::Entropy => "--entropy",
        _ => return None,
    };
    Some(format!("{option} hex:…"))
}
