//! Self-checking test benches in VHDL: what those in Verilog do, with the files of tokens read line by line.
//!
//! The generics `SEED` and `STALL` choose when tokens wait: in how many of a hundred cycles a port does not move.

use super::module::port_map;
use super::names::{Names, plain};
use crate::hdl::{Message, Stream, first_count, streams_of, token_files};
use headrace_rtl::{Design, Module, Timing};
use std::collections::BTreeMap;
use std::fmt::Write as _;

fn ty(width: u32) -> String {
    format!("std_logic_vector({} downto 0)", width - 1)
}

/// The bench of the top entity of a design, by the path of its file, with the files that it reads. `folder` is where it lies, `operation` what
/// it says that it tests.
pub(super) fn bench(
    design: &Design,
    head: &str,
    folder: &str,
    operation: &str,
    messages: &[Message],
) -> BTreeMap<String, Vec<u8>> {
    let Some(module) = design.modules.last() else { return BTreeMap::new() };
    let names = Names::of(module);
    let (inputs, outputs) = streams_of(module);
    let mut files = BTreeMap::new();
    token_files(module, folder, messages, &mut files);
    let (mut signals, mut locals, mut mapped) = (String::new(), String::new(), Vec::new());
    let (mut reset, mut begin, mut step, mut skip) = (String::new(), String::new(), String::new(), String::new());
    let mut done = Vec::new();
    if module.has_state(design) {
        mapped.extend(["clk_i => clk".to_owned(), "rst_ni => rst_n".to_owned()]);
    }
    // Of one bit, a signal at a port is no vector.
    let at_port = |width: u32| if width == 1 { "(0)" } else { "" };
    for (at, Stream { name, width }) in inputs.iter().enumerate() {
        let (digits, own) = (width.div_ceil(4) * 4, ty(*width));
        let _ = write!(
            signals,
            "  signal in{at}_data : {own} := (others => '0');\n  signal in{at}_valid : std_logic := '0';\n  \
             signal in{at}_ready : std_logic;\n"
        );
        let _ = write!(
            locals,
            "    file in{at}_file : text open read_mode is \"{folder}kat/{name}_in.hex\";\n    variable in{at}_left : natural;\n    \
             variable in{at}_word : std_logic_vector({} downto 0);\n",
            digits - 1
        );
        let _ = writeln!(reset, "      in{at}_valid <= '0';");
        let _ = writeln!(begin, "      next_count(in{at}_left, more);");
        let taken = taken(module, name);
        let _ = write!(
            step,
            "        if in{at}_valid = '1' and in{at}_ready = '1' then\n          idle := 0;\n{taken}        end if;\n        \
             if in{at}_valid = '0' or in{at}_ready = '1' then\n          draw(go);\n          in{at}_valid <= '0';\n          \
             if go and in{at}_left > 0 then\n            readline(in{at}_file, row);\n            hread(row, in{at}_word);\n            \
             in{at}_data <= in{at}_word({} downto 0);\n            in{at}_valid <= '1';\n            in{at}_left := in{at}_left - 1;\n          \
             end if;\n        end if;\n",
            width - 1
        );
        let _ = write!(
            skip,
            "      while in{at}_left > 0 loop\n        readline(in{at}_file, row);\n        in{at}_left := in{at}_left - 1;\n      \
             end loop;\n"
        );
        mapped.push(format!("{} => in{at}_data{}", names.spelled(&format!("{name}_data_i")), at_port(*width)));
        mapped.push(format!("{} => in{at}_valid", names.spelled(&format!("{name}_valid_i"))));
        mapped.push(format!("{} => in{at}_ready", names.spelled(&format!("{name}_ready_o"))));
    }
    for (at, Stream { name, width }) in outputs.iter().enumerate() {
        let (digits, own) = (width.div_ceil(4) * 4, ty(*width));
        let _ = write!(
            signals,
            "  signal out{at}_data : {own};\n  signal out{at}_valid : std_logic;\n  signal out{at}_ready : std_logic := '0';\n"
        );
        let _ = write!(
            locals,
            "    file out{at}_file : text open read_mode is \"{folder}kat/{name}_out.hex\";\n    variable out{at}_left : natural;\n    \
             variable out{at}_more : boolean;\n    variable out{at}_word : std_logic_vector({} downto 0);\n",
            digits - 1
        );
        let _ = writeln!(reset, "      out{at}_ready <= '0';");
        let _ = writeln!(begin, "      next_count(out{at}_left, out{at}_more);");
        let given = given(module, name);
        let _ = write!(
            step,
            "        if out{at}_valid = '1' and out{at}_ready = '1' then\n          idle := 0;\n          if out{at}_left > 0 then\n{given}            \
             readline(out{at}_file, row);\n            hread(row, out{at}_word);\n            out{at}_left := out{at}_left - 1;\n            \
             if out{at}_data /= out{at}_word({} downto 0) then\n              wrong := true;\n              \
             report \"message \" & integer'image(message) & \": a token of {name} is \" & to_hstring(out{at}_data) & \" and not \" & \
             to_hstring(out{at}_word) severity note;\n            end if;\n          elsif not out{at}_more then\n            wrong := true;\n            \
             report \"message \" & integer'image(message) & \": {name} has a token more\" severity note;\n          end if;\n        end if;\n        \
             draw(go);\n        if go then\n          out{at}_ready <= '1';\n        else\n          out{at}_ready <= '0';\n        end if;\n",
            width - 1
        );
        let _ = write!(
            skip,
            "      if out{at}_left > 0 then\n        wrong := true;\n      end if;\n      while out{at}_left > 0 loop\n        \
             readline(out{at}_file, row);\n        out{at}_left := out{at}_left - 1;\n      end loop;\n"
        );
        mapped.push(format!("{} => out{at}_data{}", names.spelled(&format!("{name}_data_o")), at_port(*width)));
        mapped.push(format!("{} => out{at}_valid", names.spelled(&format!("{name}_valid_o"))));
        mapped.push(format!("{} => out{at}_ready", names.spelled(&format!("{name}_ready_i"))));
        done.push(format!("out{at}_left = 0"));
    }
    let name = &module.name;
    let (timing_declared, timing_begins, timing_told) = timing(module);
    let done = if done.is_empty() { "true".to_owned() } else { done.join(" and ") };
    let text = format!(
        "-- {head}\n-- Known answers through {name}. SEED and STALL (a percentage) choose the stalls.\n\nlibrary ieee;\n\
         use ieee.std_logic_1164.all;\nuse ieee.numeric_std.all;\nuse std.textio.all;\n\nentity {tb} is\n  generic (\n    SEED : natural := 1;\n    \
         STALL : natural := 30;\n    TIMING : natural := 0\n  );\nend entity {tb};\n\narchitecture bench of {tb} is\n  signal clk : std_logic := '0';\n  \
         signal rst_n : std_logic := '0';\n{signals}begin\n  clk <= not clk after 5 ns;\n\n  dut : entity work.{entity}{mapped};\n\n  main : process\n    file counts_file : text open read_mode is \"{folder}kat/counts.hex\";\n    variable row : line;\n    \
         variable random : unsigned(31 downto 0);\n    variable go : boolean;\n    variable more : boolean;\n    variable wrong : boolean;\n    variable first : std_logic_vector(31 downto 0);\n    \
         variable idle : natural;\n    variable passed : natural := 0;\n    variable failed : natural := 0;\n{timing_declared}{locals}\n    \
         -- Whether a port moves: a xorshift generator.\n    procedure draw(variable moves : out boolean) is\n    begin\n      \
         random := random xor shift_left(random, 13);\n      random := random xor shift_right(random, 17);\n      \
         random := random xor shift_left(random, 5);\n      moves := to_integer(random(15 downto 0)) mod 100 >= STALL;\n    end procedure;\n\n    \
         -- How many tokens a port has, and whether more may come.\n    procedure next_count(variable n : out natural; variable others_come : out boolean) is\n      \
         variable word : std_logic_vector(31 downto 0);\n    begin\n      readline(counts_file, row);\n      hread(row, word);\n      \
         n := to_integer(unsigned(word(30 downto 0)));\n      others_come := word(31) = '1';\n    end procedure;\n  begin\n    \
         random := to_unsigned(SEED, 32) xor x\"9e3779b9\";\n    readline(counts_file, row);\n    hread(row, first);\n    \
         assert first = x\"{first:08x}\" report \"counts.hex is of another bench\" severity failure;\n    for message in 0 to {n} - 1 loop\n      rst_n <= '0';\n{reset}      \
         for cycle in 1 to 3 loop\n        wait until rising_edge(clk);\n      end loop;\n      rst_n <= '1';\n      wrong := false;\n      idle := 0;\n{timing_begins}{begin}      \
         loop\n        wait until rising_edge(clk);\n        idle := idle + 1;\n{timing_counts}{step}        \
         exit when wrong or idle > 1000000 or (idle > 1000 and {done});\n      end loop;\n{skip}      if wrong then\n        \
         failed := failed + 1;\n      else\n        passed := passed + 1;\n      end if;\n    end loop;\n{timing_told}    \
         write(row, string'(\"operation {operation}: \") & integer'image(passed) & \" passed, \" & integer'image(failed) & \" failed\");\n    \
         writeline(output, row);\n    std.env.finish;\n  end process;\nend architecture bench;\n",
        tb = plain(&format!("{name}_tb")),
        entity = plain(name),
        mapped = port_map(&mapped),
        n = messages.len(),
        first = first_count(messages.len()),
        timing_counts = if module.timing.is_some() { "        cycles := cycles + 1;\n" } else { "" },
    );
    files.insert(format!("{folder}tb/{name}_tb.vhd"), text.into_bytes());
    files
}

/// Blocks that may be under way at once while latency is measured.
const UNDER_WAY: usize = 64;

/// What measures when blocks come out: variables, what begins with a message, and what is said at the end.
fn timing(module: &Module) -> (String, String, String) {
    let Some(Timing { interval, output, input, latency }) = &module.timing else { return Default::default() };
    let declared = format!(
        "    -- What is measured of what the head of {name} says; 0 where nothing was.\n    type times is array (0 to {last}) of natural;\n    \
         variable cycles : natural := 0;\n    variable interval : natural := 0;\n    variable latency : natural := 0;\n    \
         variable taken_at : times := (others => 0);\n    variable given_at : natural := 0;\n    variable beats_in : natural;\n    \
         variable beats_out : natural;\n",
        name = module.name,
        last = UNDER_WAY - 1
    );
    let begins = "      beats_in := 0;\n      beats_out := 0;\n".to_owned();
    let differs = if module.timing.as_ref().is_some_and(Timing::is_exact) { "/=" } else { "<" };
    let told = [
        ("interval", "/=", interval, "initiation interval", &output.0),
        ("latency", differs, latency, "latency", &input.0),
    ];
    let told = told.map(|(name, differs, stated, what, port)| {
        format!(
            "    if TIMING /= 0 and {name} /= 0 and {name} {differs} {stated} then\n      failed := failed + 1;\n      \
             write(row, string'(\"the {what} at {port} is \") & integer'image({name}) & \" clock cycles and not {stated}\");\n      \
             writeline(output, row);\n    end if;\n"
        )
    });
    (declared, begins, told.concat())
}

/// When the last beat of a block was taken at an input.
fn taken(module: &Module, port: &str) -> String {
    let Some(Timing { input: (_, beats), .. }) = module.timing.as_ref().filter(|timing| timing.input.0 == port) else {
        return String::new();
    };
    format!(
        "          beats_in := beats_in + 1;\n          if beats_in mod {beats} = 0 then\n            \
         taken_at((beats_in / {beats} - 1) mod {UNDER_WAY}) := cycles;\n          end if;\n"
    )
}

/// When the first beat of a block was given at an output: how long after the one before, and after it was taken.
fn given(module: &Module, port: &str) -> String {
    let Some(Timing { output: (_, beats), .. }) = module.timing.as_ref().filter(|timing| timing.output.0 == port)
    else {
        return String::new();
    };
    let taken = format!("taken_at(beats_out / {beats} mod {UNDER_WAY})");
    format!(
        "            if beats_out mod {beats} = 0 then\n              \
         if beats_out /= 0 and (interval = 0 or cycles - given_at < interval) then\n                interval := cycles - given_at;\n              \
         end if;\n              if latency = 0 or cycles - {taken} < latency then\n                latency := cycles - {taken};\n              \
         end if;\n              given_at := cycles;\n            end if;\n            beats_out := beats_out + 1;\n"
    )
}
