//! Files of machines: those that there are, what follows from a new one, and what is said of a wrong one.

use headrace_machines::simd::{Architecture, Dispatch};
use headrace_machines::{Machines, Wrong, machines, read};
use std::fs;
use std::path::Path;

/// Names and texts of all files.
fn files() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("machines");
    let paths = fs::read_dir(folder).expect("the folder is there").map(|entry| entry.expect("it can be listed").path());
    let file = |path: &Path| {
        let name = path.file_stem().and_then(|name| name.to_str()).expect("it has a name");
        (name.to_owned(), fs::read_to_string(path).expect("it can be read"))
    };
    paths.map(|path| file(&path)).collect()
}

/// The files with another one.
fn with(name: &str, text: &str) -> Result<Machines, Wrong> {
    let mut files = files();
    files.retain(|(other, _)| other != name);
    files.push((name.to_owned(), text.to_owned()));
    read(&files)
}

/// The text of a file with a part replaced.
fn changed(name: &str, from: &str, to: &str) -> Result<Machines, Wrong> {
    let (_, text) = files().into_iter().find(|(other, _)| other == name).expect("it is there");
    assert!(text.contains(from), "{name}.toml has no {from}");
    with(name, &text.replace(from, to))
}

fn levels(machines: &Machines) -> Vec<&str> {
    machines.levels(Architecture::X86_64).iter().map(|level| level.name.as_str()).collect()
}

#[test]
fn every_file_is_a_machine_of_the_program() {
    let mut names: Vec<&str> = machines().all().map(|machine| machine.description().0).collect();
    names.sort_unstable();
    let files = files();
    let mut of_files: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    of_files.sort_unstable();
    assert_eq!(names, of_files);
}

#[test]
fn a_level_that_is_a_new_file_takes_its_place_among_the_others() {
    let text = "kind = \"simd\"\nabout = \"a wider one\"\narchitecture = \"x86-64\"\nrank = 7\ndispatch = \"every-loop\"\n\
                features = [\"wide\"]\nvector_bits = 1024\nvector_registers = 32\nsource = \"a test\"\ncosts = \"zen4\"\n";
    let more = with("wide", text).unwrap_or_else(|wrong| panic!("{wrong}"));
    assert_eq!(levels(&more), [levels(machines()), vec!["wide"]].concat());
    let wide = more.levels(Architecture::X86_64).last().expect("there are levels");
    assert_eq!((wide.dispatch, wide.costs.name.as_str()), (Dispatch::EveryLoop, "zen4"));
}

#[test]
fn levels_stand_in_the_order_of_their_ranks() {
    assert_eq!(levels(machines()), ["v128", "avx2", "avx512", "avx512gfni"]);
    let arm = machines().levels(Architecture::Aarch64);
    assert_eq!(arm.iter().map(|level| level.name.as_str()).collect::<Vec<_>>(), ["neon"]);
    let bits = machines().scalars().iter().map(|machine| machine.word_bits);
    assert_eq!(bits.collect::<Vec<_>>(), [32, 64]);
    assert_eq!(machines().fabric().lut_inputs.value, 4);
}

#[test]
fn wrong_files_are_named_with_their_keys() {
    for (name, from, to, expected) in [
        ("avx2", "gather = true", "gathers = true", "unknown field `gathers`, expected one of"),
        ("zen4", "gate = {", "gait = {", "unknown field `gait`, expected"),
        ("avx2", "kind = \"simd\"", "kind = \"vliw\"", "unknown variant `vliw`, expected one of"),
        ("lut4", "value = 4, source", "value = 0, source", "`value` must be more than 0"),
        ("zen4", "source = \"one in a cycle\"", "source = \" \"", "`source` is empty"),
        ("zen4", ", source = \"one in a cycle\"", "", "missing field `source`"),
        (
            "zen4",
            "latency = 6.0",
            "latency = 0.0",
            "`latency` and `cycles` of `instruction.sha1rnds4` must be more than 0",
        ),
        ("lut4", "lut_inputs = { value = 4", "lut_inputs = { value = 40", "`lut_inputs` is 40"),
        ("avx2", "vector_bits = 256\n", "", "missing field `vector_bits`"),
        ("avx2", "vector_bits = 256", "vector_bits = 250", "`vector_bits` is 250"),
        ("avx2", "costs = \"zen4\"", "costs = \"zen\"", "`costs` names zen, and there is no zen.toml"),
        ("avx2", "rank = 1", "rank = 2", "`rank` is that of avx512, too"),
        ("avx2", "dispatch = \"every-loop\"\n", "", "a level is chosen when a program runs"),
    ] {
        let wrong = changed(name, from, to).err().unwrap_or_else(|| panic!("{name} is taken: {expected}"));
        assert!(wrong.name == name && wrong.problem.starts_with(expected), "{wrong}\ninstead of {name}: {expected}");
    }
    let wrong = with("other", "kind = \"simd\"\nabout = \"it\"\nwidth = 256\n").expect_err("an unknown key");
    assert!(wrong.to_string().starts_with("machine file other.toml, line 3: unknown field `width`"), "{wrong}");
    let nothing: [(&str, &str); 0] = [];
    assert!(read(&nothing).expect_err("no machines").to_string().contains("no machine of kind `scalar`"));
}
