//! Folders that `headrace build --target verilog` and `--target vhdl` make: their benches pass with stalls by chance, linters have
//! nothing to say, and what has no place in hardware is refused.

#[expect(dead_code, reason = "each test uses a part of it")]
mod projects;

use projects::{Folder, is_here, refused};
use std::path::Path;
use std::process::Command;

/// Whether a tool is there that says its version when it is asked like this.
fn answers(tool: &str, argument: &str) -> bool {
    let found = Command::new(tool).arg(argument).output().is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("not run: no {tool}");
    }
    found
}

fn tested(folder: &Folder, project: &Path, variables: &[&str]) -> String {
    let said = folder.run_in(project, Command::new("make").arg("-s").arg("test").args(variables));
    assert!(said.contains(" passed, 0 failed") && !said.contains(": 0 passed"), "{said}");
    said
}

#[test]
fn verilog_gives_known_answers_and_is_clean() {
    if !answers("iverilog", "-V") {
        return;
    }
    let folder = Folder::new();
    for what in [&["hex"][..], &["aes128", "--operation", "encrypt"]] {
        let project = folder.build("verilog", what);
        for stalls in [["SEED=1", "STALL=0"], ["SEED=2", "STALL=70"]] {
            let said = tested(&folder, &project, &stalls);
            assert!(!said.contains("warning"), "{said}");
        }
        if is_here("verilator") {
            folder.run_in(&project, Command::new("make").args(["-s", "lint"]));
            // What it compiles takes seconds for a small one, and more for others, which `headrace test --on verilog` has.
            if what[0] == "hex" {
                let mut make = Command::new("make");
                let said = folder.run_in(&project, make.args(["-s", "test-encode", "SIM=verilator", "STALL=40"]));
                assert!(said.contains("operation encode: ") && said.contains(" passed, 0 failed"), "{said}");
            }
        }
    }
}

#[test]
fn mapped_networks_are_arrays_of_soft_cores_or_of_state_machines() {
    refused(&["--mapping", "otop-offline", "--target", "c"], "target c makes none");
    if !answers("iverilog", "-V") {
        return;
    }
    let folder = Folder::new();
    for what in [&["--mapping", "nomerge-offline"][..], &["--mapping", "otop-online", "--cores", "state-machines"]] {
        let project = folder.build("verilog", what);
        let said = tested(&folder, &project, &["SEED=4", "STALL=40"]);
        assert!(!said.contains("warning"), "{said}");
        if is_here("verilator") {
            folder.run_in(&project, Command::new("make").args(["-s", "lint"]));
        }
    }
}

#[test]
fn cores_with_the_lwc_hardware_api_play_their_messages() {
    let folder = Folder::new();
    for (target, set, is_here) in
        [("verilog", "ascon-aead128", answers("iverilog", "-V")), ("vhdl", "sha256", is_here("ghdl"))]
    {
        let project = folder.build(target, &[set, "--shape", "lwc"]);
        let core = std::fs::read_to_string(project.join("lwc.core")).expect("there is one");
        assert!(core.contains("toplevel: LWC_tb") && core.contains("kat/pdi.txt"), "{core}");
        // GHDL takes minutes for all messages: here it only takes the core. scripts/lwc.sh plays them on it.
        if is_here && target == "vhdl" {
            folder.run_in(&project, Command::new("make").args(["-s", "build/lwc/analysed"]));
        } else if is_here {
            let said = tested(&folder, &project, &["SEED=3", "STALL=20"]);
            assert!(said.contains("operation lwc: "), "{said}");
            plays_pieces(&folder, &project);
        }
    }
}

/// A core that takes several segments plays messages of such, by the bench and by cocotb.
fn plays_pieces(folder: &Folder, project: &Path) {
    if has_cocotb() {
        for kat in ["kat", "kat/pieces"] {
            let mut python = Command::new("python3");
            let said = folder.run_in(project, python.arg("test/test_LWC.py").env("KAT", kat).env("MESSAGES", "24"));
            assert!(said.contains(" messages passed"), "{said}");
        }
    }
    let words = std::fs::read_to_string(project.join("kat/pieces/do.txt")).expect("there is one");
    assert!(words.contains("STT = F") && words.contains("HDR = 50000010"), "{words}");
    for file in ["pdi.txt", "sdi.txt", "do.txt"] {
        std::fs::copy(project.join("kat/pieces").join(file), project.join("kat").join(file)).expect("they are there");
    }
    tested(folder, project, &["SEED=4", "STALL=30"]);
}

/// Ciphertexts may be longer than their plaintexts: messages and cuts of them are those of the interpreter.
#[test]
fn cores_whose_ciphertexts_have_other_lengths_play_their_messages() {
    if !answers("iverilog", "-V") {
        return;
    }
    let folder = Folder::new();
    for set in ["ape120-v1", "minalpher"] {
        let project = folder.build("verilog", &[set, "--shape", "lwc"]);
        // Icarus takes far longer for such large cores, even with what the other one takes to compile.
        let compiled = is_here("verilator").then_some("SIM=verilator");
        let words: Vec<&str> = ["SEED=5", "STALL=20"].into_iter().chain(compiled).collect();
        assert!(tested(&folder, &project, &words).contains("operation lwc: "), "{set}");
    }
    let wide = ["minalpher", "--shape", "lwc", "--target", "verilog", "--word-bits", "64"];
    refused(&wide, "such cores have words of 32 bits");
}

/// Whether python3 has cocotb 2.
fn has_cocotb() -> bool {
    let found = Command::new("python3").args(["-c", "import cocotb_tools"]).output();
    found.is_ok_and(|output| output.status.success())
}

/// Wrappers for LiteX are Python, and where LiteX is there, each can be imported and made.
#[test]
fn wrappers_for_litex_are_modules() {
    let folder = Folder::new();
    for (set, shape) in [("hex", &[][..]), ("sha256", &["--shape", "axi"]), ("sha256", &["--shape", "lwc"])] {
        let project = folder.build("verilog", &[&[set], shape].concat());
        let files = std::fs::read_dir(&project).expect("it is there").flatten().map(|file| file.path());
        let wrappers: Vec<_> = files.filter(|path| path.to_string_lossy().ends_with("_litex.py")).collect();
        assert!(!wrappers.is_empty(), "{set}");
        for wrapper in wrappers {
            let said = folder.run(Command::new("python3").args(["-c", LITEX]).arg(wrapper));
            assert!(said.contains("made") || said.contains("no LiteX"), "{said}");
            if said.contains("no LiteX") {
                eprintln!("checked by its syntax only: no LiteX");
            }
        }
    }
}

/// Reads a wrapper, and makes its module where LiteX is there: all sources are files, and its Verilog has an instance of the top.
const LITEX: &str = r#"
import ast, importlib.util, os, sys
text = open(sys.argv[1]).read()
tree = ast.parse(text)
[made] = [node for node in tree.body if isinstance(node, ast.ClassDef)]
try:
    import litex.gen
except ImportError:
    sys.exit(print("no LiteX"))
spec = importlib.util.spec_from_file_location("wrapper", sys.argv[1])
wrapper = importlib.util.module_from_spec(spec)
spec.loader.exec_module(wrapper)
class Platform:
    def add_source(self, path):
        assert os.path.isfile(path), path
core = getattr(wrapper, made.name)(Platform())
from migen.fhdl import verilog
[top] = [node.args[0].value for node in ast.walk(tree) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Instance"]
assert f"{top} {top}(" in str(verilog.convert(core))
print("made")
"#;

#[test]
fn messages_that_are_refused_have_what_their_cipher_puts_out_of_them() {
    let folder = Folder::new();
    // One of them fills its last block up with the tag, so that it gives other bytes where that is wrong.
    for (set, needs_the_tag) in [("aes128-poet", true), ("ascon128-v1", false)] {
        let project = folder.build("verilog", &[set, "--shape", "lwc"]);
        let words = std::fs::read_to_string(project.join("kat/do.txt")).expect("there is one");
        let messages: Vec<Vec<&str>> = (words.split("#### ").skip(1))
            .map(|message| message.lines().filter(|line| line.contains(" = ")).collect())
            .collect();
        let is_refused = |message: &&[Vec<&str>]| message[1].last().is_some_and(|word| word.starts_with("STT = F"));
        let pairs: Vec<&[Vec<&str>]> = messages.windows(2).filter(is_refused).collect();
        assert!(pairs.len() > 20 && pairs.iter().all(|pair| pair[0].len() == pair[1].len()), "{set}");
        let differ = |pair: &&[Vec<&str>]| pair[0][..pair[0].len() - 1] != pair[1][..pair[1].len() - 1];
        assert_eq!(pairs.iter().any(differ), needs_the_tag, "{set}");
    }
}

#[test]
fn cores_at_buses_give_known_answers_by_registers_and_streams() {
    refused(&["hex", "--shape", "axi", "--target", "vhdl"], "target vhdl has no such cores; verilog does");
    refused(
        &["ctl.parts.ascon.AsconP()", "--shape", "axi", "--target", "verilog"],
        "is for parameter sets of the library",
    );
    if !answers("iverilog", "-V") {
        return;
    }
    let folder = Folder::new();
    let project = folder.build("verilog", &["hex", "--shape", "axi"]);
    for stalls in [["SEED=1", "STALL=0"], ["SEED=2", "STALL=60"]] {
        let said = tested(&folder, &project, &stalls);
        assert!(!said.contains("warning") && !said.contains("refused") && !said.contains("none"), "{said}");
    }
    if is_here("verilator") {
        folder.run_in(&project, Command::new("make").args(["-s", "lint"]));
        // Registers of all kinds: keys as bytes, flags, sizes.
        let project = folder.build("verilog", &["poly1305", "--operation", "mac", "--shape", "axi"]);
        folder.run_in(&project, Command::new("make").args(["-s", "lint"]));
    }
    if has_cocotb() {
        let said = folder.run_in(&project, Command::new("python3").arg("encode/test/test_HexEncode_axi.py"));
        assert!(said.contains("messages passed"), "{said}");
    }
}

#[test]
fn what_is_no_core_with_the_lwc_hardware_api_says_why() {
    let refuses = |what: &str, target: &str, why: &str| {
        refused(&[what, "--shape", "lwc", "--target", target], why);
    };
    refuses("aes128", "verilog", "authenticated encryption and decryption together");
    refuses("shake128", "verilog", "hash functions whose digests have one length");
    refuses("ctl.parts.ascon.AsconP()", "vhdl", "--shape lwc is for parameter sets of the library");
    refuses("sha256", "rust", "target rust makes no hardware");
}

#[test]
fn fusesoc_checks_and_simulates_what_was_built() {
    if !answers("fusesoc", "--version") || !answers("iverilog", "-V") || !is_here("verilator") {
        return;
    }
    let folder = Folder::new();
    let project = folder.build("verilog", &["hex", "--operation", "encode"]);
    for target in ["lint", "sim"] {
        let mut fusesoc = Command::new("fusesoc");
        fusesoc.args(["--cores-root", ".", "run", "--target", target, "headrace:generated:encode"]);
        let said = folder.run_in(&project, fusesoc.env("XDG_CONFIG_HOME", folder.path()));
        assert!(target == "lint" || said.contains(" passed, 0 failed"), "{said}");
    }
}

#[test]
fn vhdl_gives_known_answers() {
    if !is_here("ghdl") {
        return;
    }
    let folder = Folder::new();
    for what in [&["hex"][..], &["aes128", "--operation", "encrypt"]] {
        let project = folder.build("vhdl", what);
        for stalls in [["SEED=1", "STALL=0"], ["SEED=2", "STALL=70"]] {
            tested(&folder, &project, &stalls);
        }
    }
}

#[test]
fn networks_do_what_the_interpreter_does() {
    let folder = Folder::new();
    let (wide, tells) = (folder.write_wide(), folder.write_tells());
    if answers("iverilog", "-V") {
        for what in [&wide, &tells] {
            let project = folder.build("verilog", what);
            assert!(tested(&folder, &project, &[]).contains(": 1 passed"));
        }
    }
}

#[test]
fn what_is_printed_is_left_out_and_said() {
    let folder = Folder::new();
    let [tells] = folder.write_tells();
    for target in ["verilog", "vhdl"] {
        let mut build = Command::new(env!("CARGO_BIN_EXE_headrace"));
        let said = folder.run(build.args(["build", tells, "--target", target, "-o", target]));
        assert!(said.contains("note: What actors print is left out of these modules: `Tells_2`."), "{said}");
    }
}

#[test]
fn datapaths_of_several_rounds_and_wide_ports_give_known_answers() {
    let folder = Folder::new();
    for (target, is_there, options) in
        [("verilog", answers("iverilog", "-V"), &["--rounds", "2"][..]), ("vhdl", is_here("ghdl"), &["--wide-ports"])]
    {
        let project = folder.path().join(target);
        let mut build = Command::new(env!("CARGO_BIN_EXE_headrace"));
        build.args(["build", "des", "--operation", "encrypt", "--datapath", "--target", target]).args(options);
        folder.run(build.arg("-o").arg(&project));
        if is_there {
            tested(&folder, &project, &[]);
        }
    }
}

#[test]
fn names_and_shapes_that_are_rare_are_built_and_tested() {
    let folder = Folder::new();
    // Names that differ by capital letters alone, words of VHDL, and tokens of one bit.
    let alike = "actor entity() uint(size=8) a, uint(size=8) A ==> bool Is, uint(size=1) Odd:
            uint(size=8) rest := 3;
            List(type:uint(size=8), size=4) choose = [1, 2, 3, 4];
            action a:[x], A:[y] ==> Is:[x < y], Odd:[(rest + choose[x mod 4]) mod 2]
            var uint(size=8) unsigned := x * y do rest := rest + unsigned; end
        end";
    let silent =
        "actor Silent() uint(size=8) In ==> : uint(size=8) sum := 0; action In:[x] ==> do sum := sum + x; end end";
    let source = "actor headrace_pkg() ==> uint(size=8) Out: initialize ==> Out:[7] end end";
    let empty = "actor Empty() ==> : end";
    for (target, is_there) in [("verilog", answers("iverilog", "-V")), ("vhdl", is_here("ghdl"))] {
        for (name, text) in [("entity", alike), ("Silent", silent), ("headrace_pkg", source), ("Empty", empty)] {
            let file = format!("{name}.cal");
            folder.write(&file, text);
            let project = folder.path().join(target).join(name);
            let mut build = Command::new(env!("CARGO_BIN_EXE_headrace"));
            folder.run(build.args(["build", &file, "--target", target, "-o"]).arg(&project));
            if is_there {
                tested(&folder, &project, &[]);
            }
        }
    }
}

#[test]
fn benches_find_wrong_answers() {
    if !answers("iverilog", "-V") {
        return;
    }
    let folder = Folder::new();
    let project = folder.build("verilog", &["hex"]);
    let answers = project.join("encode/kat/Output_out.hex");
    let right = std::fs::read_to_string(&answers).expect("it is there");
    let at = right.rfind(|c: char| c.is_ascii_hexdigit()).expect("a digit");
    let other = if &right[at..=at] == "0" { "1" } else { "0" };
    std::fs::write(&answers, format!("{}{other}{}", &right[..at], &right[at + 1..])).expect("it is written");
    let output = Command::new("make").args(["-s", "test"]).current_dir(&project).output().expect("make starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success() && said.contains(", 1 failed"), "{said}");
}

#[test]
fn benches_assert_latency_and_initiation_interval() {
    let folder = Folder::new();
    for (target, is_there, options, head) in [
        ("verilog", answers("iverilog", "-V"), &[][..], ["16 clock cycles", "18 clock cycles"]),
        ("vhdl", is_here("ghdl"), &["--wide-ports"], ["16 clock cycles", "17 clock cycles"]),
    ] {
        let project = folder.path().join(target);
        let mut build = Command::new(env!("CARGO_BIN_EXE_headrace"));
        build.args(["build", "des", "--operation", "encrypt", "--target", target]).args(options);
        folder.run(build.arg("-o").arg(&project));
        let ending = if target == "vhdl" { "vhd" } else { "v" };
        let rtl =
            std::fs::read_to_string(project.join(format!("encrypt/rtl/DesEncrypt.{ending}"))).expect("it is there");
        let [interval, latency] = head;
        assert!(rtl.contains(&format!("Initiation interval: {interval}, from a block")), "{}", &rtl[..1000]);
        assert!(rtl.contains(&format!("Latency: {latency}, from the last beat")), "{}", &rtl[..1000]);
        if !is_there {
            continue;
        }
        tested(&folder, &project, &[]);
        // With other figures it fails.
        let bench = project.join(format!("encrypt/tb/DesEncrypt_tb.{ending}"));
        let right = std::fs::read_to_string(&bench).expect("it is there");
        for (figure, told) in [(interval, "initiation interval at Output is 16"), (latency, "latency at Input is ")] {
            let figure = figure.split(' ').next().unwrap_or_default();
            let wrong = match target {
                "vhdl" => right.replace(&format!("/= {figure} then"), "/= 77 then"),
                _ => right.replace(&format!(" = {figure};"), " = 77;"),
            };
            assert_ne!(wrong, right, "{figure} is nowhere in the bench");
            std::fs::write(&bench, wrong).expect("it is written");
            let output = Command::new("make").args(["-s", "test"]).current_dir(&project).output().expect("make starts");
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(!output.status.success() && said.contains(told), "{target}: {said}");
        }
        std::fs::write(&bench, right).expect("it is written");
    }
}

#[test]
fn hand_written_cores_pass_the_benches_of_ours() {
    if !answers("iverilog", "-V") {
        return;
    }
    let folder = Folder::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/rtl");
    for (what, inner, ours, core) in [
        (&["aes128", "--operation", "encrypt"][..], "encrypt/", "AesEncrypt", "aes_encrypt"),
        (&["des", "--operation", "encrypt"], "encrypt/", "DesEncrypt", "des_encrypt"),
        (&["ctl.hash.sha2.Sha2Compression(WORD_BITS = 32)"], "", "Sha2Compression", "sha256_compression"),
        (&["aes128-gcm", "--shape", "lwc"], "", "LWC", "aes_gcm"),
        (&["ascon-aead128", "--shape", "lwc"], "", "LWC", "ascon_aead128"),
    ] {
        let project = folder.path().join(core);
        let mut build = Command::new(env!("CARGO_BIN_EXE_headrace"));
        folder.run(build.args(["build", "--wide-ports", "--target", "verilog", "-o"]).arg(&project).args(what));
        // By the name of ours, in its place.
        let mut text = String::new();
        for file in std::fs::read_dir(root.join(core)).expect("it is there").flatten() {
            text += &std::fs::read_to_string(file.path()).expect("it is text");
        }
        let text = text.replace(&format!("module {core} ("), &format!("module {ours} ("));
        std::fs::write(project.join(format!("{inner}rtl/{ours}.v")), text).expect("it is written");
        tested(&folder, &project, &[]);
    }
}

#[test]
fn what_has_no_place_in_hardware_is_said() {
    let folder = Folder::new();
    let calls = "actor Calls() uint(size=8) In ==> uint(size=8) Out:
            function f(uint(size=8) n) --> uint(size=8) : if n = 0 then 0 else f(n - 1) + 1 end end
            action In:[x] ==> Out:[f(x)] end
        end";
    folder.write("Calls.cal", calls);
    let mut build = Command::new(env!("CARGO_BIN_EXE_headrace"));
    build.current_dir(folder.path()).args(["build", "Calls.cal", "--target", "verilog", "-o", "calls"]);
    let output = build.output().expect("the command starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("hardware has no procedures that call themselves") && said.contains("write it as a loop"),
        "{said}"
    );
    assert!(!folder.path().join("calls").exists(), "something was written");
}
