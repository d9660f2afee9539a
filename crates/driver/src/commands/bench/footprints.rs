//! Footprints on microcontrollers, of small projects as `headrace build --small` makes them and of other libraries, compiled alike
//! for processors without an operating system. What a linker keeps of a program that begins in an adapter is what an
//! implementation costs; a user-mode emulator with a plugin counts the instructions. All outputs of an operation must agree.

use super::embedded::{self, LIMIT};
use super::{Measured, footprint_rules};
use crate::cli::BenchArgs;
use crate::commands::Context;
use crate::failure::Outcome;
use headrace::Error;
use headrace::toolchains::{run, workshop, write_files};
use headrace_bench::footprints::{Contender, Footprint, FootprintRules, Footprints, Processor};
use headrace_bench::machine::version_of;
use headrace_bench::peers::built_folder;
use headrace_bench::results::Machine;
use headrace_targets::c::project::Files;
use headrace_targets::toolchain::Step;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// Where the files of this measurement lie among those that are packed.
const PACKED: &str = "bench/embedded/bare/";

/// What every program has beside its implementation.
const SHARED: &[&str] = &["contender.h", "libc.c", "start.c"];

/// A processor whose compiler is here.
struct Place<'r> {
    spec: &'r Processor,
    version: String,
    /// The plugin that its emulator takes; none where nothing counts.
    plugin: Option<PathBuf>,
}

/// An implementation whose sources are here.
struct Sources {
    implementation: String,
    /// Names of files, in the workshop or elsewhere.
    files: Vec<String>,
    include: Vec<String>,
}

/// Measures everything that the rules name, as far as it is here.
pub fn measure(context: &mut Context, _: &BenchArgs, machine: &Machine) -> Outcome<Measured> {
    let rules = footprint_rules()?;
    let folder = workshop().map_err(Error::wrong)?;
    let folder = folder.path();
    let mut files = Files::new();
    for name in SHARED.iter().copied().chain(rules.contenders.iter().map(|contender| contender.adapter.as_str())) {
        files
            .insert(name.to_owned(), headrace::embedded::file(&format!("{PACKED}{name}")).unwrap_or_default().to_vec());
    }
    write_files(folder, &files).map_err(Error::wrong)?;
    let mut missing = Vec::new();
    let mut places = Vec::new();
    for spec in &rules.processors {
        match place(spec, &rules, folder) {
            Ok((place, why)) => {
                missing.extend(why.map(|why| format!("instructions and stack on {}: {why}", spec.name)));
                places.push(place);
            }
            Err(why) => missing.push(format!("everything on {}: {why}", spec.name)),
        }
    }
    let mut rows = Vec::new();
    // What an operation gives for each number of bytes, by whoever was first.
    let mut outputs: BTreeMap<(String, String, u64), String> = BTreeMap::new();
    let mut known: BTreeMap<String, Sources> = BTreeMap::new();
    for contender in &rules.contenders {
        let name = match contender.library.as_deref() {
            None => contender.primitive.clone(),
            Some(library) => {
                let variant = if contender.variant.is_empty() { "" } else { ", " };
                format!("{} of {library}{variant}{}", contender.primitive, contender.variant)
            }
        };
        context.terminal.status(&format!("measuring {name}"));
        let key = format!("{:?} {:?} {:?}", contender.library, contender.sources, contender.build);
        if !known.contains_key(&key) {
            match sources(contender, folder, known.len()) {
                Ok(found) => drop(known.insert(key.clone(), found)),
                Err(why) if contender.library.is_some() => {
                    missing.push(format!("{name}: {why}"));
                    continue;
                }
                Err(why) => return Err(Error::wrong(format!("{name}: {why}"))),
            }
        }
        let Some(sources) = known.get(&key) else { continue };
        for place in &places {
            if !contender.only.is_empty() && !contender.only.contains(&place.spec.name) {
                continue;
            }
            match of_contender(contender, sources, place, &rules, folder, &mut outputs) {
                Ok(row) => rows.push(row),
                Err(Wrong::Output(why)) => {
                    return Err(Error::wrong(format!("{name} on {}: {why}", place.spec.name)));
                }
                Err(Wrong::Compiler(why)) => {
                    missing.push(format!("{name} on {}: it does not compile: {}", place.spec.name, reason(&why)));
                }
            }
        }
    }
    let order = |row: &Footprint| rules.processors.iter().position(|one| one.name == row.processor);
    rows.sort_by_key(order);
    let footprints =
        Footprints { date: machine.date.clone(), commit: machine.commit.clone(), bytes: rules.bytes, rows, missing };
    Ok(Measured { footprints: Some(footprints), ..Measured::default() })
}

/// The first error of a compiler or a linker, without the place where it found it, which is another on each machine.
fn reason(said: &str) -> &str {
    let marked = |line: &'_ str| line.contains("error:") || line.contains("undefined reference");
    let line = said.lines().find(|line| marked(line)).or_else(|| said.lines().last()).unwrap_or_default();
    line.split_once("error: ").or_else(|| line.rsplit_once(": ")).map_or(line, |(_, what)| what).trim()
}

/// Why there is no row.
enum Wrong {
    /// The program cannot be made.
    Compiler(String),
    /// It does something else than others.
    Output(String),
}

/// Looks for the compiler of a processor and for an emulator that counts, whose absence is a reason beside it.
fn place<'r>(
    spec: &'r Processor,
    rules: &FootprintRules,
    folder: &Path,
) -> Result<(Place<'r>, Option<String>), String> {
    let version = version_of(&spec.compiler)
        .ok_or_else(|| format!("no {} on the path (apt-get install {})", spec.compiler, spec.package))?;
    let mut place = Place { spec, version, plugin: None };
    let Some(emulator) = &spec.emulator else {
        return Ok((place, Some("no emulator runs its programs without a machine around them".into())));
    };
    if version_of(emulator).is_none() {
        return Ok((place, Some(format!("no {emulator} on the path (apt-get install qemu-user)"))));
    }
    let ends = Files::from([("nothing.c".to_owned(), NOTHING.to_vec())]);
    write_files(folder, &ends)?;
    let program = program(&place, rules, &["nothing.c".into()], &[], "start", Some(0));
    embedded::said(&program.named("nothing"), folder)?;
    let step = Step::new([emulator.as_str(), "./nothing"]);
    match embedded::plugin(&step, folder) {
        Ok(plugin) => place.plugin = Some(plugin),
        Err(why) => return Ok((place, Some(format!("{emulator} does not count instructions: {why}")))),
    }
    Ok((place, None))
}

/// An implementation of nothing.
const NOTHING: &[u8] =
    b"#include \"contender.h\"\nsize_t contender(const uint8_t *secrets, uint8_t *data, size_t n)\n{\n    (void)secrets;\n    (void)data;\n    return n;\n}\n";

/// Finds or makes the sources of an implementation.
fn sources(contender: &Contender, folder: &Path, number: usize) -> Result<Sources, String> {
    let Some(library) = &contender.library else {
        let made = format!("ours{number}");
        let itself =
            std::env::current_exe().map_err(|error| format!("this program does not know its place: {error}"))?;
        let words = [itself.display().to_string(), "build".into()].into_iter().chain(contender.build.iter().cloned());
        let words = words.chain(["--target", "c", "--small", "-o", &made].map(str::to_owned));
        embedded::said(&Step::new(words.collect::<Vec<_>>()), folder)?;
        let own = folder.join(&made).join("src");
        let files = listed(&own, "c")?;
        return Ok(Sources { implementation: "headrace".into(), files, include: vec![own.display().to_string()] });
    };
    let peers = built_folder().map_err(|why| why.to_string())?.join("embedded").join(library);
    let version = fs::read_to_string(peers.join("version"))
        .map_err(|_| format!("it is not here: `scripts/peers.sh embedded` fetches it to {}", peers.display()))?;
    let mut files = Vec::new();
    for source in &contender.sources {
        match source.rsplit_once("/*.") {
            Some((below, extension)) => files.extend(listed(&peers.join(below), extension)?),
            None => files.push(peers.join(source).display().to_string()),
        }
    }
    let include = contender.include.iter().map(|below| peers.join(below).display().to_string()).collect();
    Ok(Sources { implementation: version.trim().to_owned(), files, include })
}

/// The files of a folder with an extension.
fn listed(folder: &Path, extension: &str) -> Result<Vec<String>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut files: Vec<String> = paths
        .filter(|path| path.extension() == Some(OsStr::new(extension)))
        .map(|path| path.display().to_string())
        .collect();
    files.sort();
    Ok(files)
}

/// A command of a compiler, without what it makes.
struct Compile(Vec<String>);

impl Compile {
    fn named(&self, name: &str) -> Step {
        Step::new(self.0.iter().cloned().chain(["-o".to_owned(), name.to_owned()]).collect::<Vec<_>>())
    }
}

/// What makes a program that begins in a function: with so many bytes the one that runs, else the one whose size counts.
fn program(
    place: &Place<'_>,
    rules: &FootprintRules,
    files: &[String],
    include: &[String],
    entry: &str,
    bytes: Option<u64>,
) -> Compile {
    let mut words = vec![place.spec.compiler.clone()];
    words.extend(place.spec.flags.iter().chain(&rules.flags).cloned());
    words.extend(["-I.".to_owned(), "-nostdlib".into(), "-Wl,--gc-sections".into(), format!("-Wl,-e,{entry}")]);
    words.extend(include.iter().map(|folder| format!("-I{folder}")));
    words.extend(bytes.into_iter().flat_map(|n| [format!("-DBYTES={n}"), "start.c".to_owned()]));
    words.extend(files.iter().cloned());
    words.extend(["libc.c".to_owned(), "-lgcc".into()]);
    Compile(words)
}

/// Measures an implementation on a processor.
fn of_contender(
    contender: &Contender,
    sources: &Sources,
    place: &Place<'_>,
    rules: &FootprintRules,
    folder: &Path,
    outputs: &mut BTreeMap<(String, String, u64), String>,
) -> Result<Footprint, Wrong> {
    let files: Vec<String> = sources.files.iter().cloned().chain([contender.adapter.clone()]).collect();
    let compiled = |entry: &str, bytes, name: &str| {
        let step = program(place, rules, &files, &sources.include, entry, bytes).named(name);
        embedded::said(&step, folder).map_err(Wrong::Compiler)
    };
    compiled("contender", None, "sizes")?;
    let sections = Step::new([place.spec.size.as_str(), "-A", "sizes"]);
    let (flash, memory) = sizes(&embedded::said(&sections, folder).map_err(Wrong::Compiler)?);
    let mut row = Footprint {
        processor: place.spec.name.clone(),
        compiler: format!(
            "{} {}",
            place.version,
            place.spec.flags.iter().chain(&rules.flags).cloned().collect::<Vec<_>>().join(" ")
        ),
        primitive: contender.primitive.clone(),
        operation: contender.operation.clone(),
        implementation: sources.implementation.clone(),
        variant: contender.variant.clone(),
        flash,
        memory,
        stack: None,
        instructions: None,
    };
    let (Some(plugin), Some(emulator)) = (&place.plugin, &place.spec.emulator) else { return Ok(row) };
    let mut instructions = [0; 2];
    for (at, &n) in rules.bytes.iter().enumerate() {
        compiled("start", Some(n), "runs")?;
        let step = embedded::counting(&Step::new([emulator.as_str(), "./runs"]), plugin);
        let said = run(&step, folder, LIMIT);
        if let Some(why) = said.complaint() {
            return Err(Wrong::Output(why));
        }
        let told = |what: &str| said.text.lines().find_map(|line| line.strip_prefix(what)).map(str::to_owned);
        let (Some(counted), Some(stack)) = (embedded::counted(&said.text), told("stack ")) else {
            return Err(Wrong::Output("the program does not say what it did".into()));
        };
        let shown = format!("{:?} {:?}", told("digest "), told("bytes "));
        let first =
            outputs.entry((contender.primitive.clone(), contender.operation.clone(), n)).or_insert(shown.clone());
        if *first != shown {
            return Err(Wrong::Output(format!("gives another result for {n} bytes")));
        }
        instructions[at] = counted;
        row.stack = u64::from_str_radix(&stack, 16).ok();
    }
    row.instructions = Some(instructions);
    Ok(row)
}

/// Bytes of flash and of memory by a list of sections: what begins with a value takes both.
fn sizes(listed: &str) -> (u64, u64) {
    let (mut flash, mut memory) = (0, 0);
    for line in listed.lines() {
        let mut words = line.split_whitespace();
        let (Some(section), Some(Ok(bytes))) = (words.next(), words.next().map(str::parse::<u64>)) else { continue };
        let is = |names: &[&str]| names.iter().any(|name| section.starts_with(name));
        if is(&[".text", ".rodata", ".srodata", ".data", ".sdata", ".init", ".ARM.ex"]) {
            flash += bytes;
        }
        if is(&[".data", ".sdata", ".bss", ".sbss"]) {
            memory += bytes;
        }
    }
    (flash, memory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_adapter_is_packed_and_every_operation_is_measured_of_ours_first() {
        let rules = footprint_rules().expect("the rules are read");
        let mut seen: Vec<&str> = Vec::new();
        for contender in &rules.contenders {
            assert!(
                headrace::embedded::file(&format!("{PACKED}{}", contender.adapter)).is_some(),
                "{}",
                contender.adapter
            );
            if !seen.contains(&contender.primitive.as_str()) {
                assert!(contender.library.is_none(), "{}", contender.primitive);
                seen.push(&contender.primitive);
            }
        }
        assert!(SHARED.iter().all(|name| headrace::embedded::file(&format!("{PACKED}{name}")).is_some()));
    }

    #[test]
    fn reasons_name_no_place() {
        assert_eq!(
            reason("`cc x.c` ended with 1:\n  /a/x.c:1:2: fatal error: y.h: No such file\n   1 |"),
            "y.h: No such file"
        );
        assert_eq!(
            reason("ld: /a/x.o: in function `f':\nx.c:(.text+2): undefined reference to `g'\n"),
            "undefined reference to `g'"
        );
    }

    #[test]
    fn variables_with_values_take_flash_and_memory() {
        let listed = "sizes  :\nsection   size    addr\n.text     2256   32768\n.data        8   65536\n.bss       128   65544\n.comment    69       0\nTotal     2461\n";
        assert_eq!(sizes(listed), (2264, 136));
    }
}
