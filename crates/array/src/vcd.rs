//! Value change dumps (IEEE 1364, clause 18): what processors do when, for viewers of waveforms.
//!
//! Each processor is a scope with a bit that says whether its oscillator runs, two bits for what it does (0 executes, 1 NOP, 2
//! stalls, 3 halted), and the number of its task. Times are picoseconds at the nominal frequency.

use crate::design::Design;
use crate::simulate::{Outcome, State};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The dump of a simulation in which spells were kept, of the cycles of `window`.
pub fn vcd(design: &Design, outcome: &Outcome, mhz: f64, window: (u64, u64)) -> String {
    let mut text = format!(
        "$version headrace map $end\n$comment state: 0 executes, 1 NOP, 2 stalls, 3 halted $end\n$timescale 1 ps $end\n\
         $scope module {} $end\n",
        "array"
    );
    let mut changes: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for (at, core) in design.cores.iter().enumerate() {
        let [runs, state, task] = [0, 1, 2].map(|which| code(3 * at + which));
        let name: String = core.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let _ = write!(
            text,
            "$scope module {name} $end\n$var wire 1 {runs} oscillator $end\n$var wire 2 {state} state $end\n\
             $var integer 32 {task} task $end\n"
        );
        for (number, task) in core.tasks.iter().enumerate() {
            let _ = writeln!(text, "$comment task {number}: {} $end", design.tasks.tasks[task.index()].name);
        }
        text.push_str("$upscope $end\n");
        let mut known = (None, None, None);
        for spell in outcome.spells.get(at).into_iter().flatten() {
            let now = changes.entry(spell.from.max(window.0)).or_default();
            let is_running = spell.state != State::Halted;
            if known.0.replace(is_running) != Some(is_running) {
                now.push(format!("{}{runs}", u8::from(is_running)));
            }
            if known.1.replace(spell.state) != Some(spell.state) {
                let number = match spell.state {
                    State::Executes => "00",
                    State::Nop => "01",
                    State::Stalls => "10",
                    State::Halted => "11",
                };
                now.push(format!("b{number} {state}"));
            }
            if known.2.replace(spell.task) != Some(spell.task) {
                now.push(format!("b{:b} {task}", spell.task));
            }
        }
    }
    text.push_str("$upscope $end\n$enddefinitions $end\n");
    let picoseconds = |cycle: u64| (((cycle - window.0) as f64) * 1e6 / mhz).round() as u64;
    for (cycle, lines) in changes {
        let _ = writeln!(text, "#{}\n{}", picoseconds(cycle), lines.join("\n"));
    }
    let _ = writeln!(text, "#{}", picoseconds(window.1.max(window.0)));
    text
}

/// A short name of printable characters for each number.
fn code(mut number: usize) -> String {
    let mut text = String::new();
    loop {
        text.push(char::from(b'!' + (number % 94) as u8));
        number /= 94;
        if number == 0 {
            return text;
        }
        number -= 1;
    }
}
