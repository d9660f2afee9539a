//! `headrace map`.

use super::Context;
use crate::cli::{CostName, FormName, MapArgs, ObjectiveName};
use crate::failure::Outcome;
use crate::output::{self, write_file};
use headrace::Error;
use headrace::array::{Costs, Effort, Found, Mapped, map as map_network, search};
use headrace::roots::read_source;
use headrace_array::isa::{Form, disassemble};
use headrace_array::machine::Machine;
use headrace_array::mapping::{Mapping, built_in};
use headrace_array::search::{Score, pareto};
use headrace_ir::Network;
use headrace_platform::File;
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

fn mapping(name: &str) -> Outcome<File> {
    if is_path(name) {
        return read(name);
    }
    built_in().iter().find(|file| file.name == name).cloned().ok_or_else(|| {
        let all: Vec<&str> = built_in().iter().map(|file| file.name.as_str()).collect();
        Error::usage(format!("there is no mapping `{name}`; there are {}; a file is named by its path", all.join(", ")))
    })
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
