//! The sections of pages: what there is, operations, ports, modes.

use super::page::{TABLE, TABLE_END, document, file_name, text};
use crate::commands::summary::variants;
use headrace_bench::counts::Count;
use headrace_bench::results::Results;
use headrace_bench::summary::{Speeds, machine};
use headrace_bench::tables::{figure, figure_of};
use headrace_library::catalog::{Framing, Library, OperationSpec};
use headrace_library::manifest::{Manifest, Shape};
use headrace_library::{Class, PortSpec};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Shows only the rows of the index that have every word of what is typed.
const FILTER: &str = "<script>
const filter = document.getElementById('filter');
const nothing = document.getElementById('nothing');
const search = () => {
  const words = filter.value.toLowerCase().split(/\\s+/).filter(Boolean);
  let all = 0;
  for (const section of document.querySelectorAll('section')) {
    let shown = 0;
    for (const row of section.querySelectorAll('tr[data-words]')) {
      const text = `${row.textContent} ${row.dataset.words}`.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      shown += row.hidden ? 0 : 1;
    }
    section.hidden = shown === 0;
    all += shown;
  }
  nothing.hidden = all > 0;
};
filter.addEventListener('input', search);
filter.hidden = false;
search();
</script>
";

/// The page that leads to all others.
pub(super) fn index(library: &Library) -> String {
    let mut body = String::from(
        "<h1>Crypto Tools Library</h1>\n<p class=\"soft\">One dataflow source for every cipher. Each page comes from a manifest.</p>\n\
         <p><input id=\"filter\" type=\"search\" aria-label=\"Filter\" placeholder=\"filter: name, standard, operation, variant\" hidden></p>\n\
         <p id=\"nothing\" class=\"soft\" hidden>Nothing here has all of these words.</p>\n",
    );
    let families: BTreeSet<&str> = library.manifests().iter().map(|manifest| manifest.family.as_str()).collect();
    for family in families {
        let _ = write!(
            body,
            "<section>\n<h2>{}</h2>\n{TABLE}<tr><th>primitive</th><th>standard</th><th>parameter sets</th><th>variants</th></tr>\n",
            text(family)
        );
        for manifest in library.manifests().iter().filter(|manifest| manifest.family == family) {
            let sets: Vec<String> =
                manifest.sets.iter().map(|set| format!("<code>{}</code>", text(&set.name))).collect();
            let specs = library.operations().iter().filter(|spec| spec.folder == manifest.folder);
            let variants = if manifest.shape == Shape::Part { Vec::new() } else { variants(specs) };
            let _ = writeln!(
                body,
                "<tr data-words=\"{}\"><td><a href=\"{}\">{}</a></td><td>{}</td><td>{}</td><td>{}</td></tr>",
                text(&words(manifest)),
                text(&file_name(manifest)),
                text(&manifest.title),
                text(&manifest.standard),
                sets.join(" "),
                text(&variants.join(", "))
            );
        }
        let _ = writeln!(body, "{TABLE_END}</section>");
    }
    body.push_str(FILTER);
    document("Crypto Tools Library", &body)
}

/// What a primitive may be looked for by that its row does not show: its shape and its own operations.
fn words(manifest: &Manifest) -> String {
    let of_sets = manifest.sets.iter().flat_map(|set| &set.operations);
    let operations: BTreeSet<&str> =
        manifest.operations.iter().chain(of_sets).map(|operation| operation.name.as_str()).collect();
    let mut words = vec![manifest.family.as_str(), manifest.shape.name()];
    words.extend(operations);
    words.join(" ")
}

/// What results say of the speed of an operation.
pub(super) fn speeds(body: &mut String, spec: &OperationSpec, all: &[Results]) {
    for results in all {
        if let Some(speeds) = Speeds::of(results, &spec.set, &spec.name) {
            let sizes: String = speeds.sizes.iter().map(|size| format!("<th class=\"n\">{size} bytes</th>")).collect();
            let _ = writeln!(body, "{TABLE}<tr><th>MB/s, one core</th>{sizes}<th>compiled by</th></tr>");
            for line in &speeds.lines {
                let figures: String =
                    line.speeds.iter().map(|speed| format!("<td class=\"n\">{}</td>", figure_of(*speed))).collect();
                let name = match line.is_ours {
                    true => format!("<code>{}</code>", text(line.name)),
                    false => format!("{}, the fastest other library", text(line.name)),
                };
                let _ =
                    writeln!(body, "<tr><td>{name}</td>{figures}<td class=\"soft\">{}</td></tr>", text(line.engine));
            }
            let _ = writeln!(body, "{TABLE_END}<p class=\"soft\">{}</p>", text(&machine(results)));
        }
        let counts = results.counts.iter().flat_map(|counts| &counts.rows);
        let mine = |count: &&Count| (&count.primitive, &count.operation) == (&spec.set, &spec.name);
        instructions(body, &counts.filter(mine).filter(|count| count.implementation == "headrace").collect::<Vec<_>>());
    }
}

/// Instructions that were counted on processors that an emulator is.
fn instructions(body: &mut String, counts: &[&Count]) {
    let mut processors: Vec<&str> = Vec::new();
    let mut variants: Vec<&str> = Vec::new();
    for count in counts {
        if !processors.contains(&count.processor.as_str()) {
            processors.push(&count.processor);
        }
        if !variants.contains(&count.variant.as_str()) {
            variants.push(&count.variant);
        }
    }
    if variants.is_empty() {
        return;
    }
    let heads: String = processors.iter().map(|name| format!("<th class=\"n\">{}</th>", text(name))).collect();
    let _ = writeln!(body, "{TABLE}<tr><th>instructions a byte</th>{heads}</tr>");
    for variant in variants {
        let _ = write!(body, "<tr><td><code>{}</code></td>", text(variant));
        for processor in &processors {
            let found =
                counts.iter().find(|count| (count.variant.as_str(), count.processor.as_str()) == (variant, *processor));
            let _ = write!(body, "<td class=\"n\">{}</td>", figure(found.map_or(f64::NAN, |count| count.per_byte())));
        }
        body.push_str("</tr>\n");
    }
    body.push_str(TABLE_END);
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

/// The operations that a parameter set has through modes, and how fast they are.
pub(super) fn modes_of_set(
    body: &mut String,
    library: &Library,
    manifest: &Manifest,
    of_modes: &[&OperationSpec],
    all: &[Results],
) {
    if of_modes.is_empty() {
        return;
    }
    let measured = |spec: &OperationSpec| {
        all.iter().find_map(|results| Some((machine(results), Speeds::of(results, &spec.set, &spec.name)?)))
    };
    let first = of_modes.iter().find_map(|spec| measured(spec));
    // What stands below the table is true of all its rows.
    let about = |(machine, speeds): &(String, Speeds<'_>)| {
        let engine = speeds.ours().map_or("", |line| line.engine);
        format!("One core, messages of {} bytes, {engine}; {machine}", speeds.ranking_size())
    };
    let below = first.as_ref().map(about);
    let more = match below {
        Some(_) => "<th>variant</th><th class=\"n\">MB/s</th><th>fastest other library</th><th class=\"n\">MB/s</th>",
        None => "",
    };
    let _ = writeln!(body, "<h3>Modes of operation</h3>\n{TABLE}<tr><th>operation</th><th>mode</th>{more}</tr>");
    for spec in of_modes {
        let Some(mode) = mode_of(library, manifest, spec) else { continue };
        let _ = write!(
            body,
            "<tr><td><code>{} {}</code></td><td><a href=\"{}\">{}</a></td>",
            text(&spec.set),
            text(&spec.name),
            text(&file_name(mode)),
            text(&mode.title)
        );
        if below.is_some() {
            let found = measured(spec).filter(|found| Some(about(found)) == below);
            let speeds = found.as_ref().map(|(_, speeds)| speeds);
            for line in [speeds.and_then(Speeds::ours), speeds.and_then(Speeds::other)] {
                let speed = figure_of(speeds.zip(line).and_then(|(speeds, line)| speeds.ranked(line)));
                let name = line.map_or("", |line| line.name);
                let _ = write!(body, "<td>{}</td><td class=\"n\">{speed}</td>", text(name));
            }
        }
        body.push_str("</tr>\n");
    }
    body.push_str(TABLE_END);
    if let Some(below) = below {
        let _ = writeln!(body, "<p class=\"soft\">{}</p>", text(&below));
    }
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
    let _ = writeln!(
        body,
        "{TABLE}<tr><th>port</th><th>role</th><th>direction</th><th>width</th><th>length</th><th>class</th></tr>"
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
    body.push_str(TABLE_END);
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
