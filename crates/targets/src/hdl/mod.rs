//! Hardware description languages: what their targets share. Designs of networks, and known answers as tokens of ports.

mod tokens;

use crate::c::Options;
use crate::project::{Files, KnownAnswer, Recording, Told, on_all_processors};
use headrace_hardware::lower;
use headrace_ir::{Int, Network, Port};
use headrace_library::Role;
use headrace_library::catalog::OperationSpec;
use headrace_library::framing::{Message as Strings, MessageWriter, Tokens};
use headrace_program::names::snake_case;
use headrace_rtl::{Bits, Design, Module};
use headrace_source::Diagnostic;
use std::fmt::Write as _;
pub(crate) use tokens::{Message, Stream, first_count, streams_of, token_files};

/// The first line of files.
pub(crate) fn head(options: &Options) -> String {
    format!("Made by `{}`. Changes here will be lost.", options.command.replace('\n', " "))
}

/// The design of a network.
///
/// # Errors
///
/// What has no place in hardware, with where it stands.
fn design(network: &Network, options: &Options) -> Result<Design, Vec<Diagnostic>> {
    lower(network, &headrace_hardware::Options { fifo_tokens: options.fifo_tokens, ..Default::default() })
}

/// A design in a folder of its own, as build files know it.
pub(crate) struct Part {
    /// Its folder: empty, or with a slash behind.
    pub(crate) folder: String,
    /// Its top module.
    pub(crate) top: String,
    /// Its modules, each after those that it has instances of.
    pub(crate) modules: Vec<String>,
    /// The files of tokens that its bench reads.
    pub(crate) tokens: Vec<String>,
    /// What it is, as a sentence.
    pub(crate) about: String,
}

impl Part {
    pub(crate) fn of(design: &Design, folder: &str, about: String) -> Part {
        let modules: Vec<String> = design.modules.iter().map(|module| module.name.clone()).collect();
        Part {
            folder: folder.to_owned(),
            top: modules.last().cloned().unwrap_or_default(),
            modules,
            tokens: Vec::new(),
            about,
        }
    }

    /// The same with a bench, whose files these are.
    pub(crate) fn with_bench(mut self, files: &Files) -> Part {
        self.tokens = files.keys().filter(|path| path.ends_with(".hex")).cloned().collect();
        self
    }

    /// What its targets in the Makefile and its core are called.
    pub(crate) fn name(&self) -> String {
        if self.folder.is_empty() { snake_case(&self.top) } else { self.folder.trim_end_matches('/').to_owned() }
    }

    /// Its files with this ending.
    pub(crate) fn sources(&self, ending: &str) -> Vec<String> {
        self.modules.iter().map(|module| format!("{}rtl/{module}.{ending}", self.folder)).collect()
    }
}

/// How a language prints designs.
pub(crate) struct Printer {
    /// The modules of a design, below a folder.
    pub(crate) modules: fn(&Design, &str, &str) -> Files,
    /// A bench for a module with the files that it reads: what made it, its folder, what it tests, messages.
    pub(crate) bench: fn(&Module, &str, &str, &str, &[Message]) -> Files,
}

impl Printer {
    fn part(
        &self,
        design: &Design,
        part: Part,
        name: &str,
        messages: &[Message],
        head: &str,
        files: &mut Files,
    ) -> Part {
        files.extend((self.modules)(design, head, &part.folder));
        let bench =
            design.modules.last().map_or_else(Files::new, |top| (self.bench)(top, head, &part.folder, name, messages));
        let part = part.with_bench(&bench);
        files.extend(bench);
        part
    }

    /// Modules and bench of a network.
    ///
    /// # Errors
    ///
    /// What has no place in hardware, with where it stands.
    pub(crate) fn network<'n>(
        &self,
        network: &'n Network,
        recording: Option<&Recording>,
        options: &Options,
        files: &mut Files,
    ) -> Result<Vec<(Part, &'n Network)>, Vec<Diagnostic>> {
        let design = design(network, options)?;
        let part = Part::of(&design, "", format!("The network `{}`.", network.name));
        let name = part.name();
        let part = self.part(&design, part, &name, &[recorded(network, recording)], &head(options), files);
        Ok(vec![(part, network)])
    }

    /// Modules and bench of each operation, in a folder of its own.
    ///
    /// # Errors
    ///
    /// What has no place in hardware, with where it stands.
    pub(crate) fn operations<'n>(
        &self,
        operations: &[(&OperationSpec, &'n Network)],
        known: &[KnownAnswer],
        options: &Options,
        told: &Told<'_>,
        files: &mut Files,
    ) -> Result<Vec<(Part, &'n Network)>, Vec<Diagnostic>> {
        let head = head(options);
        let designs = on_all_processors(operations, |(spec, network)| {
            told(spec, None);
            design(network, options)
        });
        let (mut problems, mut parts) = (Vec::new(), Vec::new());
        for (at, (design, (spec, network))) in designs.into_iter().zip(operations).enumerate() {
            let design = match design {
                Ok(design) => design,
                Err(found) => {
                    problems.extend(found);
                    continue;
                }
            };
            let own = known.iter().filter(|answer| answer.operation == at);
            let messages: Vec<Message> = own.filter_map(|answer| message(spec, network, answer)).collect();
            let about = format!("`{}`, the network `{}`.", spec.full_name(), network.name);
            let part = Part::of(&design, &format!("{}/", spec.name), about);
            parts.push((self.part(&design, part, &spec.name, &messages, &head, files), *network));
        }
        if problems.is_empty() { Ok(parts) } else { Err(problems) }
    }
}

/// The ports of designs and what a stream is, for a README. `ending` is that of files of the language.
pub(crate) fn ports_text(parts: &[(Part, &Network)], ending: &str) -> String {
    let mut text = String::new();
    for (part, network) in parts {
        let _ = write!(
            text,
            "## `{}`\n\n{} The top is in `{}rtl/{}.{ending}`; `{}.core` describes it to FuseSoC.\n\n\
             | port | bits | direction |\n| --- | ---: | --- |\n",
            part.top,
            part.about,
            part.folder,
            part.top,
            part.name()
        );
        for (ports, direction) in [(&network.inputs, "in"), (&network.outputs, "out")] {
            for port in ports {
                let _ = writeln!(text, "| `{}` | {} | {direction} |", port.name, port.ty.width());
            }
        }
        text.push('\n');
    }
    text.push_str(
        "## Streams\n\nEach port of the network is a stream: `PORT_data`, `PORT_valid` and `PORT_ready`, with `_i` or `_o` behind. A token moves at\n\
         a rising edge of `clk_i` at which both valid and ready are set. Valid does not wait for ready, and stays until the token has\n\
         moved. `rst_ni` is active low and may come at any time; it must go at a rising edge. After it nothing has happened yet.\n\n\
         Each actor is a module, each connection a FIFO. What actors print is left out. Errors of a program, as an index outside\n\
         its list, are not reported.\n",
    );
    text
}

/// A description for FuseSoC. `language` is the type of files there.
pub(crate) fn core(part: &Part, head: &str, first: &[&str], ending: &str, language: &str, targets: &str) -> String {
    // Benches look for their files where they are started.
    let tokens = part.tokens.iter().map(|path| format!("      - {path}: {{file_type: user, copyto: {path}}}\n"));
    let tokens: String = tokens.collect();
    let sources = first.iter().map(|file| (*file).to_owned()).chain(part.sources(ending));
    let rtl: String = sources.map(|file| format!("      - {file}\n")).collect();
    let Part { folder, top, about, .. } = part;
    format!(
        "CAPI=2:\n# {head}\nname: headrace:generated:{name}:0.1.0\ndescription: \"{about}\"\n\nfilesets:\n  rtl:\n    files:\n{rtl}    \
         file_type: {language}\n  tb:\n    files:\n      - {folder}tb/{top}_tb.{ending}\n{tokens}    file_type: {language}\n\n\
         targets:\n  default: &default\n    filesets: [rtl]\n    toplevel: {top}\n{targets}",
        name = part.name().replace('-', "_"),
        about = about.replace('"', "'"),
    )
}

/// Stored tokens of a port as values.
fn values(bytes: &[u8], port: &Port) -> Vec<Bits> {
    let width = port.ty.width().max(1);
    let value = |token: &[u8]| Bits::of_signed(width, &Int::from_le_bytes(token, false).to_big());
    bytes.chunks_exact(port.ty.storage_bytes()).map(value).collect()
}

/// A recorded run; without one, a message that only begins.
fn recorded(network: &Network, recording: Option<&Recording>) -> Message {
    match recording {
        Some(Recording { inputs, outputs }) => Message {
            inputs: network.inputs.iter().zip(inputs).map(|(port, stream)| values(stream, port)).collect(),
            outputs: network.outputs.iter().zip(outputs).map(|(port, stream)| (values(stream, port), false)).collect(),
        },
        None => nothing(network),
    }
}

/// Nothing goes in, and what comes out is not compared.
fn nothing(network: &Network) -> Message {
    Message { inputs: vec![Vec::new(); network.inputs.len()], outputs: vec![(Vec::new(), true); network.outputs.len()] }
}

/// Whether a bench can try an answer: what the framing of messages refuses never comes to the network.
pub(crate) fn holds(spec: &OperationSpec, network: &Network, answer: &KnownAnswer) -> bool {
    message(spec, network, answer).is_some()
}

/// The tokens of a known answer. None for messages that the framing does not take, and where nothing is compared.
fn message(spec: &OperationSpec, network: &Network, answer: &KnownAnswer) -> Option<Message> {
    let mut strings = Strings::new();
    strings.words = u64::from(answer.words);
    answer.strings.iter().for_each(|(role, bytes)| strings.set(*role, bytes.clone()));
    let mut message = nothing(network);
    for part in MessageWriter::new(spec).whole(&strings).ok()? {
        let at = network.inputs.iter().position(|port| port.name == part.port)?;
        let width = network.inputs[at].ty.width().max(1);
        match part.tokens {
            Tokens::Bytes(bytes) => message.inputs[at].extend(bytes.iter().map(|&byte| Bits::new(width, byte))),
            Tokens::Words(words) => message.inputs[at].extend(words.iter().map(|&word| Bits::new(width, word))),
        }
    }
    let mut compared = false;
    match &answer.expected {
        Some(expected) => {
            for port in spec.outputs.iter().filter(|port| port.bits == 8) {
                let found = network.outputs.iter().position(|own| own.name == port.name);
                let Some((at, bytes)) = found.zip(expected.get(&port.role)) else { continue };
                // Of a tag the record may hold the first bytes only.
                let more = port.role == Role::Tag && port.sizes.fixed() != Some(bytes.len() as u64);
                message.outputs[at] = (values(bytes, &network.outputs[at]), more);
                compared = true;
            }
        }
        // What is refused says so.
        None => {
            let verified = spec.outputs.iter().find(|port| port.role == Role::Verified)?;
            let at = network.outputs.iter().position(|port| port.name == verified.name)?;
            message.outputs[at] = (vec![Bits::zero(network.outputs[at].ty.width().max(1))], false);
            compared = true;
        }
    }
    compared.then_some(message)
}
