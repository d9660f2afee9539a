//! Prints how many megabytes of RVC-CAL a second are parsed and formatted: `cargo run --release --example throughput`.

use std::time::Instant;

use headrace_source::FileId;

/// An actor of about a thousand lines of the usual mix.
fn actor(number: usize) -> String {
    let mut text = format!(
        "package bench.generated;\n\nimport bench.Constants.*;\n\n/** Actor {number}, generated. */\n\
         actor Generated{number}(int width = 8)\n    uint(size=8) In, int(size=16) Mode ==> uint(size=32) Out :\n\n"
    );
    for part in 0..40 {
        text.push_str(&format!(
            "    uint(size=32) table{part}[16] = [0x{part:08x}, 0x9e3779b9, 12, 077, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];\n\
             \x20   uint(size=32) total{part} := 0;\n\n\
             \x20   function mix{part}(uint(size=32) left, uint(size=32) right) --> uint(size=32) :\n\
             \x20       ((left << 5) | (left >> 27)) ^ (right + table{part}[left & 15])\n\
             \x20   end\n\n\
             \x20   // The value goes round once.\n\
             \x20   step{part}: action In:[value] repeat 4, Mode:[mode] ==> Out:[total{part}]\n\
             \x20   guard\n        mode = {part} and not (total{part} > 1000)\n\
             \x20   var\n        uint(size=32) sum := 0,\n        int index\n\
             \x20   do\n\
             \x20       foreach int i in 0 .. 3 do\n\
             \x20           sum := sum + mix{part}(value[i], total{part});\n\
             \x20           if sum > 255 then\n                sum := sum mod 256;\n\
             \x20           else\n                println(\"small: \" + sum);\n            end\n\
             \x20       end\n\
             \x20       total{part} := if mode = 0 then sum else sum + 1 end;\n\
             \x20   end\n\n"
        ));
    }
    text.push_str("    schedule fsm s0 :\n");
    for part in 0..40 {
        text.push_str(&format!("        s{part} (step{part}) --> s{};\n", (part + 1) % 40));
    }
    text.push_str("    end\n\n    priority\n        step0 > step1 > step2;\n    end\nend\n");
    text
}

fn main() {
    let texts: Vec<String> = (0..100).map(actor).collect();
    let bytes: usize = texts.iter().map(String::len).sum();
    let lines: usize = texts.iter().map(|text| text.lines().count()).sum();
    println!("{} actors, {lines} lines, {bytes} bytes", texts.len());
    report("parse", bytes, || {
        for text in &texts {
            let (file, diagnostics) = headrace_syntax::parse(FileId(0), text);
            assert!(file.is_some() && diagnostics.is_empty(), "{diagnostics:?}");
        }
    });
    report("format", bytes, || {
        for text in &texts {
            assert!(headrace_syntax::format::format(FileId(0), text).is_ok());
        }
    });
}

/// The best of seven runs.
fn report(what: &str, bytes: usize, mut run: impl FnMut()) {
    let times = (0..7).map(|_| {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64()
    });
    let best = times.fold(f64::INFINITY, f64::min);
    println!("{what}: {:.1} MB/s", bytes as f64 / best / 1e6);
}
