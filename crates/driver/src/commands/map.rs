//! `headrace map`.

use super::Context;
use crate::cli::{CostName, FormName, MapArgs};
use crate::failure::Outcome;
use crate::output;
use headrace::Error;
use headrace::array::{Costs, Effort, Mapped, map as map_network};
use headrace::roots::read_source;
use headrace_array::isa::{Form, disassemble};
use headrace_array::machine::Machine;
use headrace_array::mapping::{Mapping, built_in};
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
