//! The sections of pages: what there is, operations, ports, modes.

use super::page::{document, file_name, text};
use headrace_library::catalog::{Framing, Library, OperationSpec};
use headrace_library::manifest::{Manifest, Shape};
use headrace_library::{Class, PortSpec};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The page that leads to all others.
pub(super) fn index(library: &Library) -> String {
    let mut body = String::from(
        "<h1>Crypto Tools Library</h1>\n<p class=\"soft\">One dataflow source for every cipher. Each page comes from a manifest.</p>\n",
    );
    let families: BTreeSet<&str> = library.manifests().iter().map(|manifest| manifest.family.as_str()).collect();
    for family in families {
        let _ = write!(
            body,
            "<h2>{}</h2>\n<table><tr><th>primitive</th><th>standard</th><th>parameter sets</th><th>variants</th></tr>\n",
            text(family)
        );
        for manifest in library.manifests().iter().filter(|manifest| manifest.family == family) {
            let sets: Vec<String> =
                manifest.sets.iter().map(|set| format!("<code>{}</code>", text(&set.name))).collect();
            let specs = library.operations().iter().filter(|spec| spec.folder == manifest.folder);
            let variants: BTreeSet<(String, bool)> = match manifest.shape {
                Shape::Part => BTreeSet::new(),
                _ => specs
                    .flat_map(|spec| &spec.variants)
                    .map(|variant| (variant.name.clone(), variant.constant_time))
                    .collect(),
            };
            let variants: Vec<String> = variants
                .into_iter()
                .map(|(name, constant)| if constant { format!("{name} (constant-time)") } else { name })
                .collect();
            let _ = writeln!(
                body,
                "<tr><td><a href=\"{}\">{}</a></td><td>{}</td><td>{}</td><td>{}</td></tr>",
                text(&file_name(manifest)),
                text(&manifest.title),
                text(&manifest.standard),
                sets.join(" "),
                text(&variants.join(", "))
            );
        }
        body.push_str("</table>\n");
    }
    document("Crypto Tools Library", &body)
}

/// The mode that a cipher has an operation from; none for its own operations.
pub(super) fn mode_of<'l>(library: &'l Library, manifest: &Manifest, spec: &OperationSpec) -> Option<&'l Manifest> {
    if manifest.shape != Shape::BlockCipher
        || manifest.sets.iter().any(|set| set.name == spec.set && set.operations.iter().any(|op| op.name == spec.name))
    {
        return None;
    }
    library
        .manifests()
        .iter()
        .find(|mode| mode.shape == Shape::Mode && mode.operations.iter().any(|operation| operation.name == spec.name))
}

/// The operations that a parameter set has through modes.
pub(super) fn modes_of_set(body: &mut String, library: &Library, manifest: &Manifest, of_modes: &[&OperationSpec]) {
    if of_modes.is_empty() {
        return;
    }
    body.push_str("<h3>Modes of operation</h3>\n<table><tr><th>operation</th><th>mode</th></tr>\n");
    for spec in of_modes {
        let Some(mode) = mode_of(library, manifest, spec) else { continue };
        let _ = writeln!(
            body,
            "<tr><td><code>{} {}</code></td><td><a href=\"{}\">{}</a></td></tr>",
            text(&spec.set),
            text(&spec.name),
            text(&file_name(mode)),
            text(&mode.title)
        );
    }
    body.push_str("</table>\n");
}

/// A mode has operations only together with ciphers.
pub(super) fn mode(body: &mut String, library: &Library, manifest: &Manifest) {
    body.push_str("<h2>Operations</h2>\n<ul>\n");
    for operation in &manifest.operations {
        let specs = library.operations().iter().filter(|spec| spec.name == operation.name);
        let sets: Vec<String> = specs.map(|spec| format!("<code>{}</code>", text(&spec.set))).collect();
        let _ = writeln!(body, "<li><code>{}</code>, with {}</li>", text(&operation.name), sets.join(", "));
    }
    body.push_str("</ul>\n");
}

/// An operation of a parameter set's own.
pub(super) fn operation(body: &mut String, spec: &OperationSpec) {
    let name = if spec.framing == Framing::Bare { spec.name.clone() } else { format!("{} {}", spec.set, spec.name) };
    ports(body, &name, spec);
}

/// How an operation is used, and its ports.
pub(super) fn ports(body: &mut String, name: &str, spec: &OperationSpec) {
    let _ = writeln!(body, "<h3><code>{}</code></h3>", text(name));
    if spec.framing == Framing::Bare {
        let list =
            |names: &[String]| names.iter().map(|name| format!("<code>{}</code>", text(name))).collect::<Vec<_>>();
        let (inputs, outputs) = (list(&spec.bare.0), list(&spec.bare.1));
        let _ = writeln!(body, "<p>{} → {}</p>", inputs.join(", "), outputs.join(", "));
        return;
    }
    let options: Vec<String> = spec.inputs.iter().filter_map(option).collect();
    let _ = writeln!(
        body,
        "<pre>headrace use {} {} {} --in F --out G</pre>",
        text(&spec.set),
        text(&spec.name),
        text(&options.join(" "))
    );
    body.push_str(
        "<table><tr><th>port</th><th>role</th><th>direction</th><th>width</th><th>length</th><th>class</th></tr>\n",
    );
    for (ports, direction) in [(&spec.inputs, "in"), (&spec.outputs, "out")] {
        for port in ports.iter() {
            let companion =
                port.companion.as_ref().map(|name| format!(" and <code>{}</code>", text(name))).unwrap_or_default();
            let class = if port.class == Class::Secret { "secret" } else { "public" };
            let length = if port.role.is_control() { String::new() } else { port.sizes.to_string() };
            let _ = writeln!(
                body,
                "<tr><td><code>{}</code>{companion}</td><td>{}</td><td>{direction}</td><td>{}</td><td>{}</td><td>{class}</td></tr>",
                text(&port.name),
                text(port.role.name()),
                port.bits,
                text(&length)
            );
        }
    }
    body.push_str("</table>\n");
    if spec.verifies {
        body.push_str("<p>Nothing of the output is given before the message is verified.</p>\n");
    }
    if spec.single_chunk {
        body.push_str("<p>The whole input must be known before the first byte is processed.</p>\n");
    }
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
