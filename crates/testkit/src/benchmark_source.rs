//! Source text for measuring how fast programs are read and checked: actors as people write them for ciphers and
//! decoders, with tables, functions, procedures, phases in a machine, and comments, in a mixture drawn from a seed.

use crate::rng::Rng;
use std::fmt::Write as _;

/// `n_actors` actors of exactly `n_lines` lines (at least 100) in package `bench`, as paths and texts.
pub fn actors(n_actors: usize, n_lines: usize, seed: u64) -> Vec<(String, String)> {
    let mut rng = Rng::new(seed);
    (0..n_actors)
        .map(|i| {
            let name = format!("Bench{i:03}");
            let text =
                Source { rng: rng.fork(), text: String::new(), lines: 0, functions: 0, tables: 0, procedures: 0 }
                    .actor(&name, n_lines.max(100));
            (format!("bench/{name}.cal"), text)
        })
        .collect()
}

struct Source {
    rng: Rng,
    text: String,
    lines: usize,
    functions: usize,
    tables: usize,
    procedures: usize,
}

/// Lines of an action, and of the schedule that names it.
const ACTION_LINES: usize = 22;

impl Source {
    fn line(&mut self, text: impl AsRef<str>) {
        self.text.push_str(text.as_ref());
        self.text.push('\n');
        self.lines += 1;
    }

    fn actor(mut self, name: &str, n_lines: usize) -> String {
        self.line("package bench;");
        self.line("");
        self.line(format!("// {name}: takes blocks of bytes and words, mixes them in phases, reports a check word."));
        self.line(format!("actor {name}(uint(size=32) Seed = 1, int CountedPaths = 8)"));
        self.line("  uint(size=8) Data, uint(size=32) Word, bool Last ==> uint(size=8) Out, uint(size=32) Check :");
        self.line("");
        self.line("  uint(size=32) state[16];");
        self.line("  uint(size=8) buffer[64];");
        self.line("  uint(size=32) check := 0;");
        self.line("  int(size=16) round := 0;");
        self.line("  bool busy := false;");
        self.line("");
        self.function();
        self.table();
        self.procedure();
        // What comes after: one action for every 60 lines, which leaves the rest to the other members.
        let n_actions = (n_lines / 60).max(2);
        let tail = n_actions * (ACTION_LINES + 1) + 16;
        while self.lines + tail + 24 < n_lines {
            match self.rng.weighted(&[50, 15, 35]) {
                0 => self.function(),
                1 => self.table(),
                _ => self.procedure(),
            }
        }
        for i in 0..n_actions {
            self.action(i, n_actions);
        }
        self.line("  schedule fsm phase0 :");
        for i in 0..n_actions {
            self.line(format!("    phase{i} (phase{i}.step) --> phase{};", (i + 1) % n_actions));
        }
        self.line("    phase0 (drain) --> phase0;");
        self.line("  end");
        self.line("");
        self.line("  priority");
        self.line("    phase0.step > drain;");
        self.line("  end");
        while self.lines + 1 < n_lines {
            self.line("  // Padding to the length that was asked for.");
        }
        self.line("end");
        self.text
    }

    fn hex(&mut self, digits: usize) -> String {
        let value = self.rng.bits();
        format!("0x{:0digits$x}", value >> (64 - 4 * digits as u32))
    }

    fn table(&mut self) {
        let t = self.tables;
        self.tables += 1;
        let wide = self.rng.chance(40);
        let (bits, digits, rows, per_row) = if wide { (32, 8, 8, 8) } else { (8, 2, 16, 16) };
        self.line(format!("  // Table {t} of the standard, row by row."));
        self.line(format!("  uint(size={bits}) TABLE{t}[{}] = [", rows * per_row));
        for row in 0..rows {
            let items: Vec<String> = (0..per_row).map(|_| self.hex(digits)).collect();
            let end = if row + 1 == rows { "" } else { "," };
            self.line(format!("    {}{end}", items.join(", ")));
        }
        self.line("  ];");
        self.line("");
    }

    /// An expression over 32-bit names, `depth` operators deep.
    fn expr(&mut self, names: &[&str], depth: u32) -> String {
        let leaf = |me: &mut Self| match me.rng.below(4) {
            0 => me.hex(4),
            _ => (*me.rng.pick(names).unwrap_or(&"1")).to_owned(),
        };
        if depth == 0 {
            return leaf(self);
        }
        let a = self.expr(names, depth - 1);
        let b = self.expr(names, depth - 1);
        match self.rng.below(8) {
            0 => format!("({a} & {b})"),
            1 => format!("({a} | {b})"),
            2 | 3 => format!("({a} ^ {b})"),
            4 | 5 => format!("({a} + {b})"),
            6 => {
                let n = self.rng.range(1, 31);
                format!("(({a} << {n}) | ({a} >> {}))", 32 - n)
            }
            _ => format!("(if {a} < {b} then {a} else {b} end)"),
        }
    }

    fn function(&mut self) {
        let f = self.functions;
        self.functions += 1;
        let e = self.expr(&["x", "y", "t", "Seed"], 2);
        self.line(format!("  // Mixes two words; step {f} of the schedule."));
        self.line(format!("  function mix{f}(uint(size=32) x, uint(size=32) y) --> uint(size=32)"));
        self.line("    var");
        let t = self.expr(&["x", "y"], 1);
        self.line(format!("      uint(size=32) t = {t}"));
        self.line("    :");
        let callee = self.rng.below(f.max(1));
        if f > 0 && self.rng.chance(50) {
            self.line(format!("    mix{callee}(x, t) ^ {e}"));
        } else {
            self.line(format!("    {e}"));
        }
        self.line("  end");
        self.line("");
    }

    fn procedure(&mut self) {
        let p = self.procedures;
        self.procedures += 1;
        let (f, t) = (self.rng.below(self.functions), self.rng.below(self.tables));
        let e = self.expr(&["a", "b", "check", "Seed"], 2);
        let n = self.rng.range(1, 31);
        self.line(format!("  /* Iteration {p} over the state: table look-up, rotation, feedback. */"));
        self.line(format!("  procedure iteration{p}(uint(size=32) words[16], uint(size=32) key)"));
        self.line("    var");
        self.line("      uint(size=32) a := key,");
        self.line("      uint(size=32) b,");
        self.line("      int(size=16) n := 0");
        self.line("    begin");
        self.line("      foreach int(size=16) i in 0 .. 15 do");
        self.line(format!("        b := mix{f}(words[i], a);"));
        self.line(format!("        a := {e};"));
        self.line(format!("        if (b & {}) = 0 and words[(i + 1) & 15] != a then", 1 << (n % 8)));
        self.line(format!("          words[i] := a ^ TABLE{t}[b & 63];"));
        self.line("        else");
        self.line(format!("          words[i] := (a << {n}) | (b >> {});", 32 - n));
        self.line("        end");
        self.line("      end");
        self.line("      while n < CountedPaths and n < 4 do");
        self.line(format!("        check := check + mix{f}(words[n], check);"));
        self.line("        n := n + 1;");
        self.line("      end");
        self.line("    end");
        self.line("");
    }

    fn action(&mut self, i: usize, n: usize) {
        let (p, f, t) = (self.rng.below(self.procedures), self.rng.below(self.functions), self.rng.below(self.tables));
        let before = self.lines;
        let mut text = String::new();
        let _ = write!(text, "  phase{i}.step: action Data:[bytes] repeat 16, Word:[key, tweak]");
        self.line(text);
        self.line("    ==> Out:[result] repeat 16, Check:[check]");
        self.line(format!("    guard round < {}, (key & 1) = 0 or not busy", 8 + n));
        self.line("    var");
        self.line("      uint(size=8) result[16] := [bytes[15 - k] ^ buffer[k] : for int(size=8) k in 0 .. 15],");
        self.line("      uint(size=32) acc := key");
        self.line("    do");
        self.line("      foreach int(size=8) k in 0 .. 15 do");
        self.line(format!("        acc := mix{f}(acc, bytes[k] + tweak);"));
        self.line(format!("        buffer[(k + 16 * ({i} & 3)) & 63] := result[k] ^ TABLE{t}[bytes[k] & 63];"));
        self.line("        state[k & 15] := state[k & 15] ^ acc;");
        self.line("      end");
        self.line(format!("      iteration{p}(state, acc);"));
        self.line("      round := (round + 1) & 7;");
        self.line("      busy := acc > tweak;");
        self.line("    end");
        if i == 0 {
            self.line("");
            self.line("  drain: action Last:[last] ==>");
            self.line("    do busy := last; end");
        }
        while self.lines < before + ACTION_LINES {
            self.line("");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::actors;
    use headrace_source::SourceMap;

    #[test]
    fn actors_have_the_length_asked_for_and_are_read_without_complaint() {
        let all = actors(5, 1000, 1);
        assert_eq!(all.len(), 5);
        for (path, text) in all {
            assert_eq!(text.lines().count(), 1000, "{path}");
            let mut sources = SourceMap::default();
            let file = sources.add(path.clone(), text.clone());
            let (tree, problems) = headrace_syntax::parse(file, &text);
            assert!(tree.is_some() && problems.is_empty(), "{path}: {problems:?}");
        }
    }
}
