//! Stream and kernel view of an operation: its loops as kernels of a stream processor, and whether such a machine is worth it.

use headrace_ir::Network;
use headrace_kernel::Loop;
use headrace_library::catalog::OperationSpec;
use headrace_library::samples;
use headrace_stream::choose::{Way, kernel_of, ways};
use headrace_stream::kernel::{Kernel, Scheduling};
use headrace_stream::legalize::{NoForm, is_chain};
use headrace_stream::machine::Machine;
use headrace_stream::place::{Place, Placed};
use headrace_stream::program::Load;
use headrace_stream::reroll::{Rolled, rolled_of};
use headrace_stream::suits::{Change, Prediction, Verdict, by_the_papers_rule, changes, on_host, predict};
use headrace_stream::text;
use headrace_stream::words::Why;
use headrace_transform::control::{Automaton, Limits, automaton_of, hindrances};
use headrace_transform::passes::canonicalize_loop::canonicalize_loop;
use serde_json::{Value, json};
use std::fmt::Write as _;

pub use headrace_stream as stream;

/// The loops of an operation that kernels are made of, those with the most operations first, and why other tokens go through none.
pub struct Loops {
    /// Each of another shape.
    pub loops: Vec<Loop>,
    /// Reasons, as sentences without full stops.
    pub no_loop: Vec<String>,
}

/// The loops of an operation along its typical messages.
pub fn loops_of(spec: &OperationSpec, network: &Network) -> Loops {
    let ports = || network.inputs.iter().map(|port| port.name.as_str());
    let found = automaton_of(network, &samples::streams(spec, ports()), &Limits::default());
    match found {
        Ok(automaton) => loops_in(&automaton),
        Err(reason) => Loops { loops: Vec::new(), no_loop: vec![reason.reason] },
    }
}

/// The loops of a network of which no typical messages are known.
pub fn loops_of_network(network: &Network) -> Loops {
    match automaton_of(network, &[], &Limits::default()) {
        Ok(automaton) => loops_in(&automaton),
        Err(reason) => Loops { loops: Vec::new(), no_loop: vec![reason.reason] },
    }
}

fn loops_in(automaton: &Automaton) -> Loops {
    let mut met = Vec::new();
    let mut loops = Vec::new();
    for body in automaton.states.iter().flat_map(|state| &state.loops).map(|one| &one.body) {
        let key = canonicalize_loop(body).map(|shape| shape.key);
        if key.is_none() || !met.contains(&key) {
            met.push(key);
            loops.push(body.clone());
        }
    }
    loops.sort_by_key(|body| std::cmp::Reverse(body.graph.reachable(body.roots()).len()));
    let mut no_loop: Vec<String> = hindrances(automaton).into_iter().map(|one| one.reason).collect();
    no_loop.dedup();
    Loops { loops, no_loop }
}

/// A loop as a kernel of a machine.
pub struct View {
    /// The way that was taken, and the kernel.
    pub kernel: Result<(Made, Way), NoForm>,
    /// What the checking model says.
    pub prediction: Result<Prediction, NoForm>,
}

/// The view of a loop on a machine. Where microcode has no room for a kernel, its rounds become a loop.
pub fn view(body: &Loop, machine: &Machine) -> View {
    match ways(body, machine, false) {
        Ok(all) => {
            let prediction = Ok(predict(&all[0], machine));
            let made = match kernel_of(&all, machine, Scheduling::Modulo) {
                Ok((kernel, way)) => Ok((Made::Overlapped(Box::new(kernel)), way)),
                Err(reason) => match rolled_of(&all, machine) {
                    Ok((rolled, way)) => Ok((Made::Rolled(Box::new(rolled)), way.clone())),
                    Err(other) => Err(NoForm::new(format!("{reason}; {other}"))),
                },
            };
            View { prediction, kernel: made }
        }
        Err(reason) => View { kernel: Err(reason.clone()), prediction: Err(reason) },
    }
}

/// A kernel, of either kind.
pub enum Made {
    /// The next iteration begins while others go on.
    Overlapped(Box<Kernel>),
    /// Rounds are an inner loop, one record after the other.
    Rolled(Box<Rolled>),
}

impl Made {
    /// The code that it was made of.
    pub fn placed(&self) -> &Placed {
        match self {
            Made::Overlapped(kernel) => &kernel.placed,
            Made::Rolled(rolled) => &rolled.placed,
        }
    }

    /// Cycles from a record of a cluster to the next.
    pub fn interval(&self) -> usize {
        match self {
            Made::Overlapped(kernel) => kernel.schedule.ii,
            Made::Rolled(rolled) => rolled.interval(),
        }
    }

    /// The kernels that it consists of, each with its name and how often it runs for a record.
    pub fn phases(&self) -> Vec<(&'static str, usize, &Kernel)> {
        match self {
            Made::Overlapped(kernel) => vec![("", 1, kernel)],
            Made::Rolled(rolled) => vec![
                ("before rounds", 1, &rolled.before),
                ("round", rolled.rounds, &rolled.round),
                ("after rounds", 1, &rolled.after),
            ],
        }
    }

    /// Its stream program on so many records.
    pub fn load(&self, records: u64) -> Load {
        match self {
            Made::Overlapped(kernel) => Load::of(kernel, records),
            Made::Rolled(rolled) => rolled.load(records),
        }
    }

    /// Registers in a cluster.
    pub fn registers(&self) -> usize {
        match self {
            Made::Overlapped(kernel) => kernel.registers.words,
            Made::Rolled(rolled) => rolled.registers(),
        }
    }

    /// Words of microcode.
    pub fn microcode_words(&self) -> usize {
        match self {
            Made::Overlapped(kernel) => kernel.microcode_words(),
            Made::Rolled(rolled) => rolled.microcode_words(),
        }
    }
}

fn ports(network: &Network) -> (Vec<String>, Vec<String>) {
    let names = |ports: &[headrace_ir::Port]| ports.iter().map(|port| port.name.clone()).collect();
    (names(&network.inputs), names(&network.outputs))
}

/// What is asked of the text.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shown {
    /// Kernels in the manner of KernelC, stream programs in that of StreamC, and schedules.
    pub listing: bool,
}

/// The view of an operation, as text.
pub fn text(network: &Network, loops: &Loops, machine: &Machine, shown: Shown) -> String {
    let (inputs, outputs) = ports(network);
    let mut text = format!("streams on {}\n", machine.name);
    if loops.loops.is_empty() {
        text.push_str("  no kernel\n");
    }
    for (number, body) in loops.loops.iter().enumerate() {
        let View { kernel, prediction } = view(body, machine);
        match kernel {
            Err(reason) => {
                let _ = writeln!(text, "  kernel {number}: none: {reason}");
            }
            Ok((made, way)) => describe(&mut text, number, &made, &way, machine, &inputs, &outputs, shown),
        }
        if let Ok(prediction) = prediction {
            let _ = writeln!(
                text,
                "    the checking model: {:.3} cycles a byte, by {}",
                prediction.cycles_per_byte, prediction.limit
            );
        }
    }
    for reason in &loops.no_loop {
        let _ = writeln!(text, "  no kernel: {reason}");
    }
    text
}

#[allow(clippy::too_many_arguments)]
fn describe(
    text: &mut String,
    number: usize,
    made: &Made,
    way: &Way,
    machine: &Machine,
    inputs: &[String],
    outputs: &[String],
    shown: Shown,
) {
    let code = &made.placed().code;
    let _ = writeln!(text, "  kernel {number}, {}", way.form.name);
    let streams =
        code.inputs.iter().map(|one| (one, "in", inputs)).chain(code.outputs.iter().map(|one| (one, "out", outputs)));
    for (stream, direction, names) in streams {
        let port = names.get(stream.port as usize).map_or("a list of parts", String::as_str);
        let _ = writeln!(
            text,
            "    {direction} {port}: records of {} tokens of {} bits, {} words",
            stream.tokens, stream.token_bits, stream.words
        );
    }
    let count = |why: Why| code.carried.iter().filter(|one| one.why == why).count();
    for (why, what) in [
        (Why::Counts, "words that count: each cluster by itself"),
        (Why::RecordBefore, "words of the record before: from the cluster before"),
        (Why::Chain, "words of a chain: clusters take records of different channels"),
    ] {
        if count(why) > 0 {
            let _ = writeln!(text, "    carried: {} {what}", count(why));
        }
    }
    for (table, place) in code.tables.iter().zip(&made.placed().places) {
        let _ = writeln!(text, "    table {}: {} elements of {} bits, {place}", table.name, table.length, table.bits);
    }
    let load = made.load(0);
    let strip = load.strip(machine);
    let _ = writeln!(
        text,
        "    strips of {strip} records, each stream twice: {} of {} words of the stream register file",
        2 * strip * (load.words_in + load.words_out) + load.table_words,
        *machine.stream_registers.words
    );
    if let Made::Rolled(rolled) = made {
        let _ = writeln!(
            text,
            "    microcode has no room for it: {} rounds are a loop, records do not overlap; {} cycles a record",
            rolled.rounds,
            rolled.interval()
        );
    }
    for (phase, _, kernel) in made.phases() {
        let of = if phase.is_empty() { "an iteration".to_owned() } else { format!("phase `{phase}`") };
        describe_phase(text, &of, kernel, machine);
    }
    if let Made::Rolled(rolled) = made {
        let (registers, words) = (rolled.registers(), rolled.microcode_words());
        let most = *machine.registers.words;
        let _ = writeln!(text, "    all phases: {registers} registers of {most}, microcode {words} words");
    }
    let cycles = made.interval() as f64 / (f64::from(*machine.clusters) * way.bytes());
    let _ = writeln!(text, "    {cycles:.3} cycles a byte of all clusters");
    if shown.listing {
        let _ = writeln!(
            text,
            "\n{}",
            text::program_text(&format!("kernel{number}"), made.placed(), strip, inputs, outputs)
        );
        for (phase, _, kernel) in made.phases() {
            let name = format!("kernel{number} {phase}").trim_end().replace(' ', "_");
            let _ = writeln!(text, "{}", text::kernel_text(&name, kernel, machine, inputs, outputs));
            let _ = writeln!(text, "{}", text::listing(kernel, machine));
        }
    }
}

fn describe_phase(text: &mut String, of: &str, kernel: &Kernel, machine: &Machine) {
    let units = machine.unit.keys().zip(kernel.work(machine.unit.len()));
    let units: Vec<String> = units.filter(|(_, work)| *work > 0).map(|(name, work)| format!("{work} {name}")).collect();
    let units = if units.is_empty() { "none".to_owned() } else { units.join(", ") };
    let _ = writeln!(text, "    operations of {of}: {units}");
    let _ = writeln!(
        text,
        "    interval {} cycles (units {}, recurrence {}), {} from the first operation to the last result",
        kernel.schedule.ii,
        kernel.res_mii,
        kernel.rec_mii,
        kernel.length()
    );
    let registers = &kernel.registers;
    let _ = writeln!(
        text,
        "    {} registers of {}, {} values at once and {} that stand; microcode {} words",
        registers.words,
        *machine.registers.words,
        kernel.max_live,
        kernel.standing.len(),
        kernel.microcode_words()
    );
    if registers.overflow > 0 {
        let _ = writeln!(text, "    {} words beyond the local files that read them", registers.overflow);
    }
    if registers.conflicts > 0 {
        let _ = writeln!(text, "    {} results meet others at the port of a file", registers.conflicts);
    }
}

/// What the checking model says of an operation on a machine.
pub struct Suits {
    /// The machine.
    pub machine: String,
    /// The prediction for the loop with the most operations.
    pub prediction: Result<Prediction, NoForm>,
    /// Speed-up over the host.
    pub speedup: Option<f64>,
    /// What the paper's rule says.
    pub papers_rule: Option<bool>,
    /// What would make it faster.
    pub changes: Vec<Change>,
}

/// The verdicts on an operation, with the cycles a byte of the host.
pub fn suits(loops: &Loops, machines: &[Machine], host: &Machine) -> (Option<f64>, Vec<Suits>) {
    let Some(body) = loops.loops.first() else { return (None, Vec::new()) };
    let host_cycles = on_host(body, host).ok();
    let of = |machine: &Machine| match ways(body, machine, false) {
        Err(reason) => Suits {
            machine: machine.name.clone(),
            prediction: Err(reason),
            speedup: None,
            papers_rule: None,
            changes: Vec::new(),
        },
        Ok(all) => {
            let prediction = predict(&all[0], machine);
            let time = prediction.cycles_per_byte / machine.clock_mhz.value;
            Suits {
                machine: machine.name.clone(),
                speedup: host_cycles.map(|cycles| cycles / host.clock_mhz.value / time),
                papers_rule: Some(by_the_papers_rule(&all, machine)),
                changes: changes(body, &all[0], machine),
                prediction: Ok(prediction),
            }
        }
    };
    (host_cycles, machines.iter().map(of).collect())
}

/// The verdicts as text.
pub fn suits_text(loops: &Loops, host: &Machine, host_cycles: Option<f64>, all: &[Suits]) -> String {
    let mut text = match host_cycles {
        Some(cycles) => {
            format!("beside {}: {cycles:.2} cycles a byte at {} MHz, by the same model\n", host.name, *host.clock_mhz)
        }
        None => format!("beside {}: no figure\n", host.name),
    };
    if all.is_empty() {
        let reason = loops.no_loop.first().map_or("no tokens go through a loop", String::as_str);
        let _ = writeln!(text, "  no kernel: {reason}");
    }
    for one in all {
        match &one.prediction {
            Err(reason) => {
                let _ = writeln!(text, "  {}: no kernel: {reason}", one.machine);
            }
            Ok(prediction) => {
                let verdict = one
                    .speedup
                    .map_or("unknown".into(), |speedup| format!("{}, {speedup:.2} times", Verdict::of(speedup)));
                let _ = writeln!(
                    text,
                    "  {}: {verdict}; {:.3} cycles a byte, by {}{}",
                    one.machine,
                    prediction.cycles_per_byte,
                    prediction.limit,
                    if prediction.channels { "; each cluster needs a channel of its own" } else { "" }
                );
                let rule = match one.papers_rule {
                    Some(true) => "suitable",
                    _ => "unsuitable",
                };
                let _ = writeln!(text, "    by the rule of parallel records and tables in a scratchpad: {rule}");
                for change in &one.changes {
                    let _ = writeln!(text, "    with {}: {:.3} cycles a byte", change.what, change.cycles_per_byte);
                }
            }
        }
    }
    text
}

/// The verdicts for programs.
pub fn suits_json(host_cycles: Option<f64>, all: &[Suits]) -> Value {
    let with = |change: &Change| json!({ "with": change.what, "cycles_per_byte": change.cycles_per_byte });
    let of = |one: &Suits| match &one.prediction {
        Err(reason) => json!({ "platform": one.machine, "no_kernel": reason.to_string() }),
        Ok(prediction) => json!({
            "platform": one.machine,
            "cycles_per_byte": prediction.cycles_per_byte,
            "limit": prediction.limit.to_string(),
            "channels": prediction.channels,
            "speedup": one.speedup,
            "verdict": one.speedup.map(|speedup| Verdict::of(speedup).to_string()),
            "papers_rule": one.papers_rule,
            "changes": one.changes.iter().map(with).collect::<Vec<_>>(),
        }),
    };
    json!({ "host_cycles_per_byte": host_cycles, "platforms": all.iter().map(of).collect::<Vec<_>>() })
}

/// The view for programs.
pub fn json(network: &Network, loops: &Loops, machine: &Machine) -> Value {
    let (inputs, outputs) = ports(network);
    let of = |body: &Loop| match view(body, machine).kernel {
        Err(reason) => json!({ "no_kernel": reason.to_string() }),
        Ok((made, way)) => {
            let code = &made.placed().code;
            let stream = |one: &headrace_stream::words::Stream, names: &[String]| {
                let port = names.get(one.port as usize);
                json!({ "port": port, "tokens": one.tokens, "token_bits": one.token_bits, "words": one.words })
            };
            let table = |(table, place): (&headrace_stream::words::TableUse, &Place)| {
                json!({
                    "name": table.name, "elements": table.length, "bits": table.bits, "place": place.to_string(),
                })
            };
            let phase = |(name, runs, kernel): &(&'static str, usize, &Kernel)| {
                json!({
                    "name": name,
                    "runs": runs,
                    "interval": kernel.schedule.ii,
                    "res_mii": kernel.res_mii,
                    "rec_mii": kernel.rec_mii,
                    "length": kernel.length(),
                    "max_live": kernel.max_live,
                    "registers": kernel.registers.words,
                    "microcode_words": kernel.microcode_words(),
                })
            };
            let tables = code.tables.iter().zip(&made.placed().places);
            let mut said = json!({
                "form": way.form.name,
                "inputs": code.inputs.iter().map(|one| stream(one, &inputs)).collect::<Vec<_>>(),
                "outputs": code.outputs.iter().map(|one| stream(one, &outputs)).collect::<Vec<_>>(),
                "channels": is_chain(&way.form.body),
                "tables": tables.map(table).collect::<Vec<_>>(),
                "strip_records": made.load(0).strip(machine),
                "interval": made.interval(),
                "registers": made.registers(),
                "microcode_words": made.microcode_words(),
                "cycles_per_byte": made.interval() as f64 / (f64::from(*machine.clusters) * way.bytes()),
            });
            match &made {
                Made::Overlapped(kernel) => {
                    said["res_mii"] = json!(kernel.res_mii);
                    said["rec_mii"] = json!(kernel.rec_mii);
                    said["length"] = json!(kernel.length());
                    said["max_live"] = json!(kernel.max_live);
                }
                Made::Rolled(rolled) => {
                    said["rounds"] = json!(rolled.rounds);
                    said["phases"] = json!(made.phases().iter().map(phase).collect::<Vec<_>>());
                }
            }
            said
        }
    };
    json!({ "platform": machine.name, "kernels": loops.loops.iter().map(of).collect::<Vec<_>>(), "no_kernel": loops.no_loop })
}

/// A machine by the name of its platform, by the beginning of one if only one begins so, or by the path and text of a file.
///
/// # Errors
///
/// Where there is none, or something is wrong with it.
pub fn machine(name: &str, read: impl Fn(&str) -> Option<String>) -> Result<Machine, headrace_platform::Wrong> {
    if name.contains(['/', '.'])
        && let Some(text) = read(name)
    {
        return Machine::read(&headrace_platform::File::new(name, text));
    }
    let all = headrace_platform::built_in();
    let begin: Vec<&headrace_platform::File> = all.iter().filter(|file| file.name.starts_with(name)).collect();
    match (all.iter().find(|file| file.name == name), begin.as_slice()) {
        (Some(file), _) => Machine::read(file),
        (None, [file]) => Machine::read(file),
        _ => Machine::read(headrace_platform::find(name)?),
    }
}
