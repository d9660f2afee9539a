//! `headrace map`.

use super::Context;
use crate::cli::{CostName, FormName, MapArgs, ObjectiveName};
use crate::failure::Outcome;
use crate::output::{self, write_file};
use headrace::Error;
use headrace::array::{Costs, Effort, Found, Mapped, map as map_network, search};
use headrace::roots::read_source;
use headrace_array::energy::energy;
use headrace_array::isa::{Form, disassemble};
use headrace_array::machine::Machine;
use headrace_array::mapping::{Mapping, built_in};
use headrace_array::place::place;
use headrace_array::program::{Links, Orders};
use headrace_array::search::{Score, pareto};
use headrace_array::simulate::State;
use headrace_array::vcd::vcd;
use headrace_bench::report::escape;
use headrace_ir::Network;
use headrace_platform::File;
use headrace_platform::charts::{Lane, Link, Span, Tile, Tiles, Timeline};
use serde_json::{Value, json};
use std::path::Path;

/// Maps a network to an array, simulates it, and says what came of it.
pub fn map(context: &mut Context, arguments: &MapArgs) -> Outcome {
    let machine = Machine::read(&platform(&arguments.platform)?).map_err(|wrong| Error::wrong(wrong.to_string()))?;
    let file = mapping(&arguments.mapping)?;
    let mapping = Mapping::read(&file).map_err(|wrong| Error::wrong(wrong.to_string()))?;
    let name = arguments.network.clone().or_else(|| mapping.written.network.clone());
    let name = name.ok_or_else(|| Error::usage(format!("{} names no network; give one", file.path)))?;
    let network = context.elaborate(&name, &arguments.parameters)?;
    let form = arguments.form.map(|form| match form {
        FormName::Straight => Form::Straight,
        FormName::Looped => Form::Looped,
        FormName::Repeated => Form::Repeated,
        FormName::Rolled => Form::Rolled,
        FormName::Endless => Form::Endless,
    });
    let costs = match arguments.cost {
        CostName::Published => Costs::Published,
        CostName::Isa => Costs::Isa(form),
    };
    let effort = Effort { messages: arguments.messages as usize, seed: arguments.seed, window: None, costs };
    let mapping = match arguments.search {
        true => searched(context, arguments, &network, &machine, &mapping, costs)?,
        false => mapping,
    };
    let mapped = map_network(&network, &machine, &mapping, effort);
    let mapped = context.told(mapped)?;
    if arguments.html.is_some() || arguments.vcd.is_some() {
        // The same again, with what happens in some messages of the steady state kept.
        let first = map_network(&network, &machine, &mapping, Effort { messages: PICTURED, ..effort })?.outcome;
        let begin = first.done[PICTURED / 2 - 1];
        let window = (begin, begin + (3.0 * first.cycles_per_message) as u64 + 1);
        let pictured =
            map_network(&network, &machine, &mapping, Effort { messages: PICTURED, window: Some(window), ..effort })?;
        if let Some(path) = &arguments.html {
            write_file(path, page(&pictured, &machine, &mapping, window)?.as_bytes())?;
        }
        if let Some(path) = &arguments.vcd {
            write_file(path, vcd(&pictured.design, &pictured.outcome, *machine.clock.mhz, window).as_bytes())?;
        }
    }
    if arguments.json {
        let text = serde_json::to_string_pretty(&json(&mapped, &machine)).unwrap_or_default();
        return output::print(format!("{text}\n").as_bytes());
    }
    if arguments.listing {
        for (core, program) in mapped.design.cores.iter().zip(&mapped.programs) {
            let (executed, nops) = program.cycles;
            let code = &program.code;
            let about = format!(
                "; {}: {} words of program, {} of data, {executed} cycles and {nops} NOPs, {:?}\n",
                core.name,
                code.program_words(),
                code.memory.len(),
                program.form
            );
            output::print(format!("{about}{}", disassemble(&code.instructions)).as_bytes())?;
        }
    }
    output::print(text(&mapped, &machine).as_bytes())
}

/// The best mapping of the family, with the others that none is better than printed.
fn searched(
    context: &mut Context,
    arguments: &MapArgs,
    network: &Network,
    machine: &Machine,
    mapping: &Mapping,
    costs: Costs,
) -> Outcome<Mapping> {
    let terminal = context.terminal;
    let mut status = |at: usize, n: usize| terminal.status(&format!("trying mapping {} of {n}", at + 1));
    let found = search(network, machine, mapping, costs, &mut status);
    let found = context.told(found)?;
    context.terminal.status("");
    let worth = |found: &Found| {
        let Score { cores, cycles, energy } = found.score;
        match arguments.objective {
            ObjectiveName::Throughput => cycles,
            ObjectiveName::Cores => cores as f64,
            ObjectiveName::PerCore => cycles * cores as f64,
            ObjectiveName::Energy => energy,
        }
    };
    let best =
        found.iter().min_by(|a, b| worth(a).total_cmp(&worth(b)).then(a.score.cycles.total_cmp(&b.score.cycles)));
    let best = best.ok_or_else(|| {
        Error::wrong(format!("{}: no mapping of the family fits {}", mapping.file.path, machine.name))
    })?;
    let scores: Vec<Score> = found.iter().map(|found| found.score).collect();
    let mut text = format!("{} mappings are legal and fit; none is better in both than these:\n", found.len());
    for at in pareto(&scores) {
        let Score { cores, cycles, energy } = scores[at];
        text.push_str(&format!("{cores:>4} processors {cycles:>8.1} cycles {energy:>8.1} nJ  {}\n", found[at].about));
    }
    text.push_str(&format!("taken: {}\n", best.about));
    output::print(text.as_bytes())?;
    if let Some(path) = &arguments.write_mapping {
        write_file(path, best.text.as_bytes())?;
    }
    let path =
        arguments.write_mapping.as_ref().map_or_else(|| mapping.file.path.clone(), |path| path.display().to_string());
    Mapping::read(&File::new(path, best.text.clone())).map_err(|wrong| Error::wrong(wrong.to_string()))
}

fn is_path(name: &str) -> bool {
    name.ends_with(".toml") || name.contains(['/', '\\'])
}

fn read(path: &str) -> Outcome<File> {
    read_source(Path::new(path)).map(|text| File::new(path, text)).map_err(Error::Wrong)
}

/// A platform by its name or its path.
pub fn platform(name: &str) -> Outcome<File> {
    match is_path(name) {
        true => read(name),
        false => headrace_platform::find(name).cloned().map_err(|wrong| Error::usage(wrong.to_string())),
    }
}

/// A mapping by its name or its path.
pub fn mapping(name: &str) -> Outcome<File> {
    if is_path(name) {
        return read(name);
    }
    built_in().iter().find(|file| file.name == name).cloned().ok_or_else(|| {
        let all: Vec<&str> = built_in().iter().map(|file| file.name.as_str()).collect();
        Error::usage(format!("there is no mapping `{name}`; there are {}; a file is named by its path", all.join(", ")))
    })
}

/// Messages of which pictures are made.
const PICTURED: usize = 64;

/// Figures of a mapping.
fn json(mapped: &Mapped, machine: &Machine) -> Value {
    let outcome = &mapped.outcome;
    let takes = energy(&mapped.design, machine, &mapped.setup.channels, outcome, None);
    let core = |at: usize| {
        let (core, program) = (&mapped.design.cores[at], &mapped.setup.programs[at]);
        json!({
            "name": core.name, "joins": core.merges, "tasks": program.tasks,
            "program_words": program.program_words, "activity": outcome.activity[at],
        })
    };
    let link = |at: usize| {
        let channel = &mapped.setup.channels[at];
        let name = |core: usize| mapped.design.cores[core].name.clone();
        json!({ "from": channel.from.map(name), "to": name(channel.to), "words": outcome.words[at], "most": outcome.fills[at] })
    };
    json!({
        "platform": machine.name, "processors": mapped.design.cores.len(),
        "cycles_per_message": outcome.cycles_per_message, "latency": outcome.latency, "messages": outcome.steady,
        "known_answers": mapped.n_answers, "random_messages": mapped.n_messages,
        "area_mm2": takes.area_mm2, "mw": takes.total_mw(), "nj_per_message": takes.nj_per_message,
        "cores": (0..mapped.design.cores.len()).map(core).collect::<Vec<_>>(),
        "links": (0..mapped.setup.channels.len()).map(link).collect::<Vec<_>>(),
    })
}

/// The placed array and a timeline, in one page.
fn page(mapped: &Mapped, machine: &Machine, mapping: &Mapping, (begin, end): (u64, u64)) -> Outcome<String> {
    let (design, outcome) = (&mapped.design, &mapped.outcome);
    let orders = Orders::of(design, &|_| false, &|_| false);
    let links = Links::of(design, machine, &orders, None);
    let places = match &mapped.places {
        Some(places) => places.clone(),
        None => place(design, machine, &links, 1).map_err(Error::wrong)?,
    };
    let busy = |at: usize| {
        let activity = outcome.activity[at];
        (activity.executed + activity.nops) as f64 / (outcome.cycles_per_message * outcome.steady as f64)
    };
    let used = |[x, y]: [u32; 2]| places.iter().position(|place| *place == [x, y]);
    let columns = places.iter().map(|place| place[0]).max().unwrap_or(0) + 1;
    let rows = places.iter().map(|place| place[1]).max().unwrap_or(0) + 1;
    let tile = |x: u32, y: u32| match used([x, y]) {
        Some(at) => {
            let core = &design.cores[at];
            let lines = vec![core.name.chars().take(12).collect(), format!("{:.0} %", 100.0 * busy(at))];
            Tile { x, y, lines, heat: Some(busy(at)), title: mapped.setup.programs[at].tasks.join(", ") }
        }
        None => Tile { x, y, lines: Vec::new(), heat: None, title: String::new() },
    };
    let most = outcome.words.iter().copied().max().unwrap_or(1).max(1) as f64;
    let link = |(at, channel): (usize, &headrace_array::simulate::Channel)| {
        let (from, to) = (places[channel.from?], places[channel.to]);
        let words = outcome.words[at];
        let title = format!("{:.1} words a message", words as f64 / outcome.steady as f64);
        Some(Link { from: (from[0], from[1]), to: (to[0], to[1]), load: words as f64 / most, title })
    };
    let tiles = Tiles {
        title: format!("{} on {}", mapping.written.about, machine.name),
        size: (columns, rows),
        heat: "part of the time that a processor executes".into(),
        tiles: (0..rows).flat_map(|y| (0..columns).map(move |x| (x, y))).map(|(x, y)| tile(x, y)).collect(),
        links: mapped.setup.channels.iter().enumerate().filter_map(link).collect(),
    };
    let class = |state: State| match state {
        State::Executes => 0,
        State::Nop => 4,
        State::Stalls => 5,
        State::Halted => 6,
    };
    let lane = |(at, core): (usize, &headrace_array::design::Core)| Lane {
        name: core.name.chars().take(24).collect(),
        spans: outcome.spells[at]
            .iter()
            .map(|spell| Span {
                from: spell.from as f64,
                to: spell.to as f64,
                class: class(spell.state),
                title: mapped.setup.programs[at].tasks.get(spell.task as usize).cloned().unwrap_or_default(),
            })
            .collect(),
    };
    let mut classes = vec![String::new(); 7];
    for (state, name) in [(0, "executes"), (4, "NOP"), (5, "stalls"), (6, "halted")] {
        classes[state] = name.into();
    }
    let timeline = Timeline {
        title: "What processors do in the steady state".into(),
        unit: "cycle".into(),
        classes,
        lanes: design.cores.iter().enumerate().map(lane).collect(),
        window: (begin as f64, end as f64),
    };
    let title = escape(&mapping.written.about);
    let summary = escape(&text(mapped, machine));
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title></head>\n<body style=\"font-family: sans-serif\">\n\
         <h1>{title}</h1>\n<pre>{summary}</pre>\n{}\n{}\n</body></html>\n",
        tiles.svg(),
        timeline.svg()
    ))
}

fn text(mapped: &Mapped, machine: &Machine) -> String {
    let outcome = &mapped.outcome;
    format!(
        "{} processors of {}, {} of them to join streams\n{:.1} cycles a message, {} for the first\n{} known answers and {} random messages as the interpreter has them\n",
        mapped.design.cores.len(),
        machine.name,
        mapped.design.cores.iter().filter(|core| core.merges).count(),
        outcome.cycles_per_message,
        outcome.latency,
        mapped.n_answers,
        mapped.n_messages,
    )
}
