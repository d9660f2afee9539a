//! Scripts for Yosys: reading a core, mapping it, and writing what was mapped as Verilog again.
//!
//! The order of passes is the same for every core: tuned for one of them, figures would say nothing of the others.

use crate::CORE;
use crate::device::Device;

/// What a script calls the files that it reads and writes, all in the folder that it runs in.
pub mod files {
    /// The core as it was read, in the form of [`crate::netlist`].
    pub const READ: &str = "core.json";
    /// The same in the text form of Yosys.
    pub const INTERMEDIATE: &str = "core.il";
    /// The wrapper.
    pub const WRAPPER: &str = "wrap.v";
    /// The mapped design, in the form of [`crate::netlist`].
    pub const NETLIST: &str = "net.json";
    /// The library of cells, where there is one.
    pub const LIBRARY: &str = "cells.lib";
    /// The mapped core as Verilog.
    pub const MAPPED: &str = "mapped.v";
}

/// What is read.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// Files of Verilog or SystemVerilog, by their names in the folder, each after those that it needs.
    pub files: Vec<String>,
    /// The top module; none: the one that no other has an instance of.
    pub top: Option<String>,
    /// Parameters of the top, with values as Verilog writes them.
    pub parameters: Vec<(String, String)>,
}

/// Reads a core: one flat module, tables as logic, written as [`files::READ`] and [`files::INTERMEDIATE`].
///
/// Tables go before mapping: mapped as memories without a port for writing they end in block RAM, or nowhere. Names of files and
/// of the top must be plain ([`is_plain`]): they stand in the script as they are.
pub fn read(reading: &Reading) -> String {
    let mut lines = vec![format!("read_verilog -sv {}", reading.files.join(" "))];
    if let Some(top) = &reading.top {
        let set: String = reading.parameters.iter().map(|(name, value)| format!(" -set {name} {value}")).collect();
        if !set.is_empty() {
            lines.push(format!("chparam{set} {top}"));
        }
        lines.push(format!("hierarchy -check -top {top}"));
    } else {
        lines.push("hierarchy -check -auto-top".to_owned());
    }
    lines.extend(
        [
            "proc",
            "flatten",
            "opt_clean",
            "check",
            "memory -nomap -nordff",
            "memory_map -rom-only",
            "opt",
            "opt_clean",
            // What is said while a design is simulated is no logic.
            "chformal -remove",
            "delete t:$print t:$check",
        ]
        .map(str::to_owned),
    );
    lines.push(format!("write_json {}", files::READ));
    lines.push(format!("rename -top {CORE}"));
    lines.push(format!("write_rtlil {}", files::INTERMEDIATE));
    lines.join("\n") + "\n"
}

/// Maps a core inside its wrapper to the cells of a device, written as [`files::NETLIST`].
pub fn map(device: &Device) -> String {
    let Device { pass, .. } = device;
    let lines = match &device.library {
        // Gates have no place and route, and stay without the wrapper.
        Some(_) => vec![
            format!("read_rtlil {}", files::INTERMEDIATE),
            format!("{pass} -top {CORE}"),
            format!("dfflibmap -liberty {}", files::LIBRARY),
            format!("abc -liberty {}", files::LIBRARY),
            "opt_clean".to_owned(),
            // Cells of the library have ports then, and outputs are told from inputs.
            format!("read_liberty -lib -ignore_miss_func {}", files::LIBRARY),
        ],
        None => vec![
            format!("read_rtlil {}", files::INTERMEDIATE),
            format!("setattr -mod -set keep_hierarchy 1 {CORE}"),
            format!("read_verilog {}", files::WRAPPER),
            format!("{pass} -top wrap"),
        ],
    };
    lines.join("\n") + &format!("\nwrite_json {}\n", files::NETLIST)
}

/// Writes the core of [`files::NETLIST`] as Verilog, [`files::MAPPED`], in which it has this name.
pub fn write_mapped(top: &str) -> String {
    format!("read_json {}\ndelete wrap\nrename {CORE} {top}\nwrite_verilog -noattr {}\n", files::NETLIST, files::MAPPED)
}

/// The text form of a core without places in sources: where a line stands does not change what it means.
pub fn without_places(intermediate: &str) -> String {
    let lines = intermediate.split_inclusive('\n').filter(|line| !line.trim_start().starts_with("attribute \\src "));
    lines.collect()
}

/// Whether a name can stand in a script as it is.
pub fn is_plain(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '$');
    !name.is_empty() && !name.starts_with('-') && name.chars().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::named;

    #[test]
    fn a_script_reads_what_is_named_and_writes_what_the_next_one_reads() {
        let reading = Reading {
            files: vec!["0_a.v".into(), "1_b.sv".into()],
            top: Some("b".into()),
            parameters: vec![("W".into(), "32".into())],
        };
        let script = read(&reading);
        assert!(script.starts_with("read_verilog -sv 0_a.v 1_b.sv\nchparam -set W 32 b\nhierarchy -check -top b\n"));
        assert!(read(&Reading::default()).contains("-auto-top"));
        for device in crate::device::all() {
            let mapped = map(device);
            assert!(mapped.contains(files::INTERMEDIATE) && mapped.contains(&device.pass), "{mapped}");
            assert_eq!(mapped.contains("wrap"), device.library.is_none());
        }
        assert!(map(named("osu018").expect("it is there")).contains("dfflibmap"));
    }

    #[test]
    fn places_are_left_out_and_names_that_would_be_commands_are_not_plain() {
        assert_eq!(without_places("  attribute \\src \"a.v:1\"\n  wire \\x\n"), "  wire \\x\n");
        assert!(is_plain("0_core.v") && is_plain("$paramod"));
        assert!(["", "a b", "a;b", "-x", "a\nb", "a#b"].iter().all(|name| !is_plain(name)));
    }
}
