//! Instructions a byte on processors that QEMU is, of our operations and of references, compiled alike. What counts is the
//! difference between a long and a short message; a plugin of the emulator counts. All outputs of an operation must agree.

use super::{Measured, footprints, ours, referee};
use crate::cli::BenchArgs;
use crate::commands::Context;
use crate::failure::Outcome;
use headrace::Error;
use headrace::embedded;
use headrace::toolchains::{Found, find, run, workshop, write_files};
use headrace_bench::contender::Strings;
use headrace_bench::counts::{Count, CountRules, Counts, Processor};
use headrace_bench::results::Machine;
use headrace_library::catalog::OperationSpec;
use headrace_targets::c::project::Files;
use headrace_targets::toolchain::{self, Step, Toolchain};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest time of one command.
pub(super) const LIMIT: Duration = Duration::from_secs(600);

/// Versions of the interface of plugins, the newest first: an emulator takes those that it knows.
const INTERFACES: std::ops::RangeInclusive<u32> = 0..=9;

/// A processor whose tools are here.
struct Place<'r> {
    spec: &'r Processor,
    toolchain: &'static Toolchain,
    found: Found,
    /// The plugin that its emulator takes.
    plugin: PathBuf,
}

/// An implementation of an operation.
struct Contender {
    variant: String,
    implementation: String,
    files: Files,
    /// What its sources are written in.
    standard: &'static str,
}

/// Counts everything that the rules name, and measures footprints on microcontrollers.
pub fn measure(context: &mut Context, arguments: &BenchArgs, machine: &Machine) -> Outcome<Measured> {
    let counts = counts(context)?;
    Ok(Measured { counts, ..footprints::measure(context, arguments, machine)? })
}

/// Counts on processors with operating systems; nothing where none of their tools is here.
fn counts(context: &mut Context) -> Outcome<Option<Counts>> {
    let rules = rules()?;
    let folder = workshop().map_err(Error::wrong)?;
    let mut places = Vec::new();
    for spec in &rules.processors {
        match place(spec, folder.path()) {
            Ok(place) => places.push(place),
            Err(why) => context.terminal.note(&format!("nothing is counted on {}: {why}", spec.name)),
        }
    }
    let mut rows = Vec::new();
    if places.is_empty() {
        return Ok(None);
    }
    let peers = referee::rules()?;
    let library = context.library()?;
    for measure in &rules.measures {
        for (set, operation) in measure.sets.iter().flat_map(|set| measure.operations.iter().map(move |one| (set, one)))
        {
            let spec = library.operation(set, operation);
            let spec = spec.ok_or_else(|| Error::wrong(format!("the library has no `{set} {operation}`")))?;
            context.terminal.status(&format!("counting {}", spec.full_name()));
            let mut contenders = Vec::new();
            for variant in spec.variants.iter().filter(|variant| measure.variants.contains(&variant.name)) {
                let generated = ours::generate(context, spec, variant, &ours::Build::native("cc"))?;
                contenders.push(Contender {
                    variant: variant.name.clone(),
                    implementation: "headrace".into(),
                    files: generated.sources(),
                    standard: "-std=c11",
                });
            }
            for name in &measure.references {
                let peer = peers.peers.get(name).ok_or_else(|| Error::wrong(format!("no peer `{name}`")))?;
                let adapter = peer.adapter.as_deref().unwrap_or_default();
                let needed =
                    referee::adapters().into_iter().filter(|(file, _)| *file == adapter || file.ends_with(".h"));
                contenders.push(Contender {
                    variant: name.clone(),
                    implementation: peer.title.clone(),
                    files: needed.map(|(file, text)| (file.to_owned(), text.to_vec())).collect(),
                    standard: "-std=gnu11",
                });
            }
            let strings = referee::strings(&peers, set);
            rows.extend(of_operation(spec, &contenders, &places, &strings, rules.bytes).map_err(Error::wrong)?);
        }
    }
    Ok(Some(Counts { rows, publication: rules.publication }))
}

fn rules() -> Outcome<CountRules> {
    CountRules::parse(include_str!("../../../../../bench/embedded/rules.toml"))
        .map_err(|problem| Error::wrong(format!("bench/embedded/rules.toml: {problem}")))
}

/// Looks for the tools of a processor, and makes a plugin that its emulator takes.
fn place<'r>(spec: &'r Processor, folder: &Path) -> Result<Place<'r>, String> {
    let toolchain = toolchain::named(&spec.toolchain).ok_or_else(|| format!("no toolchain `{}`", spec.toolchain))?;
    let found = find(toolchain, None, None)?;
    let Some(emulator) = toolchain.emulator else { return Err(format!("`{}` has no emulator", toolchain.name)) };
    write_files(folder, &Files::from([("ends.c".to_owned(), ENDS.to_vec())]))?;
    said(&Step::new([found.commands[0].as_str(), "-O1", "ends.c", "-o", "ends"]), folder)?;
    debug_assert!(emulator.tool < found.commands.len());
    match plugin(&toolchain.running(&found.commands, "./ends"), folder) {
        Ok(plugin) => Ok(Place { spec, toolchain, found, plugin }),
        Err(why) => Err(format!("{} does not count instructions: {why}", found.commands[emulator.tool])),
    }
}

/// Runs a command in a folder, and gives what it said.
pub(super) fn said(step: &Step, folder: &Path) -> Result<String, String> {
    let said = run(step, folder, LIMIT);
    said.complaint().map_or(Ok(said.text), Err)
}

/// Makes a plugin that an emulator takes, which runs a program that ends.
pub(super) fn plugin(program: &Step, folder: &Path) -> Result<PathBuf, String> {
    write_files(folder, &Files::from([("count.c".to_owned(), packed("count.c"))]))?;
    let mut why = String::new();
    for interface in INTERFACES.rev() {
        let (plugin, defined) = (format!("count-{interface}.so"), format!("-DINTERFACE={interface}"));
        let host = ["cc", "-O2", "-shared", "-fPIC", &defined, "count.c", "-o", &plugin];
        said(&Step::new(host), folder)?;
        let plugin = folder.join(plugin);
        match said(&counting(program, &plugin), folder) {
            Ok(text) if counted(&text).is_some() => return Ok(plugin),
            Ok(text) => why = text,
            Err(problem) => why = problem,
        }
    }
    Err(why)
}

/// A program that does nothing.
const ENDS: &[u8] = b"int main(void) { return 0; }\n";

fn packed(name: &str) -> Vec<u8> {
    embedded::file(&format!("bench/embedded/{name}")).unwrap_or_default().to_vec()
}

/// The same command with a plugin in the emulator, which is its first word.
pub(super) fn counting(step: &Step, plugin: &Path) -> Step {
    let mut step = step.clone();
    step.words.splice(1..1, ["-plugin".to_owned(), plugin.display().to_string()]);
    step
}

/// What the plugin said.
pub(super) fn counted(said: &str) -> Option<u64> {
    said.lines().find_map(|line| line.strip_prefix("instructions ")?.trim().parse().ok())
}

/// Counts all implementations of an operation on all processors.
fn of_operation(
    spec: &OperationSpec,
    contenders: &[Contender],
    places: &[Place<'_>],
    strings: &Strings,
    bytes: [u64; 2],
) -> Result<Vec<Count>, String> {
    let full = format!("{} {}", spec.set, spec.name);
    let mut rows = Vec::new();
    let mut outputs: Option<Vec<String>> = None;
    for contender in contenders {
        for place in places {
            let whose = |why: String| format!("{full}, {} on {}: {why}", contender.variant, place.spec.name);
            let told = count(contender, place, &strings_header(&full, strings), bytes).map_err(whose)?;
            let (instructions, shown): (Vec<u64>, Vec<String>) = told.into_iter().unzip();
            if *outputs.get_or_insert_with(|| shown.clone()) != shown {
                return Err(whose("gives another result".into()));
            }
            rows.push(Count {
                processor: place.spec.name.clone(),
                compiler: format!("{} {}", place.found.version, place.spec.flags.join(" ")),
                primitive: spec.set.clone(),
                operation: spec.name.clone(),
                variant: contender.variant.clone(),
                implementation: contender.implementation.clone(),
                bytes,
                instructions: [instructions[0], instructions[1]],
            });
        }
    }
    Ok(rows)
}

/// Compiles one, and runs it with each number of bytes: instructions and what it shows.
fn count(
    contender: &Contender,
    place: &Place<'_>,
    strings: &str,
    bytes: [u64; 2],
) -> Result<Vec<(u64, String)>, String> {
    let folder = workshop()?;
    let mut files = contender.files.clone();
    files.insert("run.c".into(), packed("run.c"));
    files.insert("strings.h".into(), strings.as_bytes().to_vec());
    write_files(folder.path(), &files)?;
    let sources = files.keys().map(String::as_str).filter(|path| path.ends_with(".c"));
    let words = [place.found.commands[0].as_str(), contender.standard].into_iter();
    let words = words.chain(place.spec.flags.iter().map(String::as_str)).chain(sources);
    // Nothing of how libraries are found is counted then.
    said(&Step::new(words.chain(["-o", "run", "-static", "-lm", "-pthread"])), folder.path())?;
    let mut told = Vec::new();
    for n in bytes {
        let mut step = counting(&place.toolchain.running(&place.found.commands, "./run"), &place.plugin);
        step.words.push(n.to_string());
        let text = said(&step, folder.path())?;
        let instructions = counted(&text).ok_or("nothing was counted")?;
        told.push((instructions, text.lines().filter(|line| !line.starts_with("instructions ")).collect()));
    }
    Ok(told)
}

/// The strings of an operation for its program.
fn strings_header(operation: &str, strings: &Strings) -> String {
    let mut text = format!("#include <stdint.h>\n\n#define OPERATION \"{operation}\"\n");
    for (name, bytes) in [("key", &strings.key), ("iv", &strings.iv)] {
        // C has no empty arrays.
        let items: String = bytes.iter().map(|byte| format!("{byte},")).collect();
        let items = if items.is_empty() { "0".to_owned() } else { items };
        let _ = writeln!(text, "enum {{ {}_BYTES = {} }};", name.to_uppercase(), bytes.len());
        let _ = writeln!(text, "static const uint8_t {name}[] = {{{items}}};");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_is_in_the_library_and_on_toolchains_with_emulators() {
        let rules = rules().expect("the rules are read");
        let peers = referee::rules().expect("the rules of the referee are read");
        for processor in &rules.processors {
            let toolchain = toolchain::named(&processor.toolchain).expect("a toolchain");
            assert!(toolchain.emulator.is_some(), "{}", processor.name);
        }
        for measure in &rules.measures {
            assert!(measure.sets.iter().all(|set| peers.sets.contains_key(set)), "{:?}", measure.sets);
            assert!(measure.references.iter().all(|name| peers.peers.contains_key(name)), "{:?}", measure.references);
        }
        assert!(rules.publication.figures.iter().all(|one| {
            let of = |measure: &&headrace_bench::counts::Measure| {
                measure.sets.contains(&one.primitive) && measure.operations.contains(&one.operation)
            };
            rules.measures.iter().any(|measure| of(&measure))
        }));
    }

    #[test]
    fn the_plugin_is_heard_among_what_programs_say() {
        assert_eq!(counted("0123 4\ninstructions 29687\n"), Some(29687));
        assert_eq!(counted("instructions many\n"), None);
    }

    /// A program whose loop is known runs under each emulator that is here.
    #[test]
    fn instructions_of_a_known_loop_are_counted() {
        let rules = rules().expect("the rules are read");
        let folder = workshop().expect("a temporary folder can be made");
        // Ten instructions a byte and those of the loop, which no compiler can leave out.
        let known = "#include \"peer.h\"\nstatic char any;\nvoid *peer_open(const char *o, const struct peer_strings *s) { (void)o; (void)s; return &any; }\n\
            void peer_close(void *c) { (void)c; }\nsize_t peer_run(void *c, const uint8_t *in, uint8_t *out, size_t n) {\n(void)c; (void)in; out[0] = 1;\n\
            for (size_t i = 0; i < n; i++) __asm__ volatile(\"nop\\nnop\\nnop\\nnop\\nnop\\nnop\\nnop\\nnop\\nnop\\nnop\");\nreturn 1; }\n";
        let header = embedded::file("bench/peers/peer.h").expect("it is packed").to_vec();
        let files = Files::from([("known.c".into(), known.as_bytes().to_vec()), ("peer.h".into(), header)]);
        let contender =
            Contender { variant: "known".into(), implementation: "test".into(), files, standard: "-std=gnu11" };
        for processor in &rules.processors {
            let place = match place(processor, folder.path()) {
                Ok(place) => place,
                Err(why) => {
                    eprintln!("not run: {}: {why}", processor.name);
                    continue;
                }
            };
            let strings = strings_header("known", &Strings { key: Vec::new(), iv: Vec::new() });
            let told = count(&contender, &place, &strings, [1000, 3000]).expect("it runs");
            let per_byte = (told[1].0 - told[0].0) as f64 / 2000.0;
            assert!((12.0..=14.0).contains(&per_byte), "{}: {per_byte}", processor.name);
            assert_eq!(told[0].1, told[1].1);
        }
    }
}
