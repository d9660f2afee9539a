//! Projects for mapped networks: an array of small processors as a clocked design, with a bench on the interpreter's tokens.
//!
//! The design is held to the interpreter before anything is written: that of soft cores by simulating their programs, that of
//! state machines by running its tasks. What is folded is set up with the design: its tokens are those of the mapping's first known
//! answer.

use crate::array::{Costs, Effort, Message, Shape, expected, of_file, tasks, verified};
use crate::error::{Error, Result};
use headrace_array::design::design;
use headrace_array::machine::Machine;
use headrace_array::mapping::{Mapping, Problem};
use headrace_array::rtl::{Array, soft_cores, state_machines};
use headrace_ir::{Network, Port, Scalar};
use headrace_targets::project::{Files, Recording};
use headrace_targets::{MadeDesign, Options, Target};
use std::sync::Arc;

/// What a processor of an array becomes in hardware.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cores {
    /// A soft core, which executes a generated program in as many cycles as the simulator says.
    #[default]
    Programs,
    /// A state machine of its own.
    StateMachines,
}

/// A network on an array, as what is built.
#[derive(Clone, Debug)]
pub struct OnArray {
    /// Which task is on which processor.
    pub mapping: Mapping,
    /// The array.
    pub machine: Machine,
    /// What processors become.
    pub cores: Cores,
}

/// Messages that the bench tries beside known answers.
const RANDOM: usize = 6;

/// The project of a mapped network.
///
/// # Errors
///
/// The mapping is illegal, its programs do not fit, what it computes is not what the interpreter gives, or it has no place in a
/// clocked design.
pub(super) fn project(network: &Arc<Network>, on: &OnArray, target: &Target, options: &Options) -> Result<Files> {
    let of_design = target.of_design.ok_or_else(|| {
        Error::usage(format!("--mapping makes a design in hardware; target {} has none", target.name))
    })?;
    let OnArray { mapping, machine, cores } = on;
    let wrong = |why: Problem| Error::wrong(mapping.wrong_of(&why).to_string());
    let general = |why: String| wrong(why.into());
    let message = mapping.written.message.as_ref().ok_or_else(|| wrong("`message` is missing".into()))?;
    let shape = of_file(Shape::of(network, message), mapping)?;
    let unrolled = of_file(tasks(network, &shape), mapping)?;
    let design = design(&unrolled, mapping, machine).map_err(|wrong| Error::wrong(wrong.to_string()))?;
    // Messages: known answers with the same folded tokens, then random ones; whole periods of them.
    let folded = |port: &Port| mapping.written.fold.iter().any(|name| *name.get_ref() == port.name);
    let mut messages = answers(network, &shape, mapping).map_err(&general)?;
    let mut random = shape.random(network, RANDOM + design.in_flight, 1, &[]);
    if let Some(first) = messages.first().cloned() {
        let same = |message: &Message| {
            network.inputs.iter().zip(message.iter().zip(&first)).all(|(port, (a, b))| !folded(port) || a == b)
        };
        messages.retain(same);
        messages.extend(random);
    } else {
        messages.append(&mut random);
    }
    let first = messages[0].clone();
    for message in &mut messages {
        for ((port, tokens), known) in network.inputs.iter().zip(message).zip(&first) {
            if folded(port) {
                tokens.clone_from(known);
            }
        }
    }
    let n = messages.len() - messages.len() % design.in_flight;
    messages.truncate(n);
    let want = expected(network, &messages)?;
    let parameters = design.tasks.parameter_values(&first).map_err(&general)?;
    let tokens = shape.tokens();
    let (setup, cycles) = match cores {
        Cores::Programs => {
            let effort = Effort { messages: 16, costs: Costs::Isa(None), ..Effort::default() };
            verified(network, &shape, machine, mapping, design.clone(), effort)?;
            let built = headrace_array::isa::build(&design, machine, &parameters, None, None).map_err(&wrong)?;
            let many: Vec<Message> = messages.iter().cycle().take(16 * design.in_flight).cloned().collect();
            let outcome = headrace_array::simulate::simulate(&built.0, &many, None)
                .map_err(|failed| wrong(crate::array::explain(&design, &failed)))?;
            (built.0, Some(outcome.cycles_per_message))
        }
        Cores::StateMachines => {
            for (message, want) in messages.iter().zip(&want) {
                if design.tasks.run(message).map_err(&general)? != *want {
                    return Err(wrong("a message comes out otherwise than from the interpreter".into()));
                }
            }
            (headrace_array::simulate::Setup::default(), None)
        }
    };
    let array = Array { network, design: &design, setup: &setup, machine, tokens: &tokens, parameters: &parameters };
    let made = match cores {
        Cores::Programs => soft_cores(&array),
        Cores::StateMachines => state_machines(&array),
    }
    .map_err(&wrong)?;
    // Streams are those of tokens that are data and go into a processor.
    let top = made.modules.last();
    let has = |port: &Port| top.is_some_and(|top| top.find(&format!("{}_data_i", port.name)).is_some());
    let used: Vec<usize> = (0..network.inputs.len()).filter(|&at| has(&network.inputs[at])).collect();
    let mut ports = (**network).clone();
    ports.inputs = used.iter().map(|&at| network.inputs[at].clone()).collect();
    let whole: Vec<usize> = vec![design.in_flight, messages.len()];
    let recordings: Vec<Recording> =
        whole.iter().map(|&n| recording(network, &used, &messages[..n], &want[..n])).collect();
    let what = match cores {
        Cores::Programs => format!("{} soft cores, each with a program", design.cores.len()),
        Cores::StateMachines => format!("{} state machines, one a processor", design.cores.len()),
    };
    let about = format!("{}: {what}.", mapping.written.about);
    let text = text(network, mapping, &design, &first, &folded, cycles);
    Ok(of_design(&MadeDesign { design: &made, ports: &ports, recordings: &recordings, about, text }, options))
}

/// Known answers as messages.
fn answers(network: &Network, shape: &Shape, mapping: &Mapping) -> std::result::Result<Vec<Message>, String> {
    mapping.written.answer.iter().map(|answer| shape.of_answer(network, answer)).collect()
}

/// Tokens as an engine has them.
fn stored(ports: &[Port], at: usize, messages: &[Message]) -> Vec<u8> {
    let size = match ports[at].ty {
        Scalar::Int(_) | Scalar::Bool => ports[at].ty.storage_bytes(),
        _ => 0,
    };
    let tokens = messages.iter().flat_map(|message| &message[at]);
    tokens.flat_map(|token| token.to_le_bytes().into_iter().take(size)).collect()
}

fn recording(network: &Network, used: &[usize], messages: &[Message], want: &[Message]) -> Recording {
    Recording {
        inputs: used.iter().map(|&at| stored(&network.inputs, at, messages)).collect(),
        outputs: (0..network.outputs.len()).map(|at| stored(&network.outputs, at, want)).collect(),
    }
}

/// What the README says of an array.
fn text(
    network: &Network,
    mapping: &Mapping,
    design: &headrace_array::design::Design,
    first: &Message,
    folded: &dyn Fn(&Port) -> bool,
    cycles: Option<f64>,
) -> String {
    let mut text = format!(
        "## The array\n\nEach processor of the mapping `{}` is a module `core_NAME`, each link a FIFO; `feeder` modules put tokens into the order in which \
         processors take them, `collector` modules words that leave into that of tokens. `running_o` is set when processors are loaded; \
         `leaves_o` has a bit for each processor of which a word leaves the array in this cycle.\n\n| processor | tasks |\n| --- | --- |\n",
        mapping.file.name
    );
    for core in &design.cores {
        let names: Vec<&str> =
            core.tasks.iter().map(|task| design.tasks.tasks[task.index()].name.as_str()).take(6).collect();
        let more = if core.tasks.len() > 6 { ", …" } else { "" };
        text.push_str(&format!("| `{}` | {}{more} |\n", core.name, names.join(", ").replace('|', "/")));
    }
    if let Some(cycles) = cycles {
        text.push_str(&format!("\nA message takes {cycles:.1} clock cycles where others follow it without a pause.\n"));
    }
    for (port, tokens) in network.inputs.iter().zip(first).filter(|(port, _)| folded(port)) {
        let digits = port.ty.width().div_ceil(4) as usize;
        let hex: String = tokens.iter().map(|token| format!("{token:0digits$x}")).collect();
        text.push_str(&format!("\n`{}` is set up with the design: `{hex}`.\n", port.name));
    }
    text
}
