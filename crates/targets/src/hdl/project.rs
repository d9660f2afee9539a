//! Packaging. Folders: the designs of networks with what builds, tests and describes them.

use super::axi::Axi;
use super::litex::Wrapper;
use super::{Message, message, recorded, streams_of};
use crate::options::Options;
use crate::project::{Files, KnownAnswer, OnOperation, Recording, on_all_processors};
use headrace_hardware::lower;
use headrace_ir::Network;
use headrace_library::catalog::OperationSpec;
use headrace_program::names::snake_case;
use headrace_rtl::{Design, Module};
use headrace_source::Diagnostic;
use std::fmt::Write as _;

/// The first line of files.
pub(super) fn head(options: &Options) -> String {
    format!("Made by `{}`. Changes here will be lost.", options.command.replace('\n', " "))
}

/// The design of a network.
///
/// # Errors
///
/// What has no place in hardware, with where it stands.
pub(super) fn design(network: &Network, options: &Options) -> Result<Design, Vec<Diagnostic>> {
    lower(network, &options.of_hardware())
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
    /// Those of its modules whose actors print.
    printing: Vec<String>,
    /// Its bench asserts when blocks come out.
    pub(crate) is_timed: bool,
    /// Its ports as LiteX has them.
    pub(super) litex: Wrapper,
}

fn prints(module: &Module) -> bool {
    module.about.iter().any(|line| line == headrace_hardware::LEAVES_OUT)
}

impl Part {
    pub(super) fn of(design: &Design, folder: &str, about: String) -> Part {
        let modules: Vec<String> = design.modules.iter().map(|module| module.name.clone()).collect();
        Part {
            folder: folder.to_owned(),
            top: modules.last().cloned().unwrap_or_default(),
            modules,
            tokens: Vec::new(),
            is_timed: design.modules.last().is_some_and(|top| top.timing.is_some()),
            litex: design
                .modules
                .last()
                .map_or_else(Wrapper::default, |top| Wrapper::of_streams(&streams_of(top), top.has_state(design))),
            about,
            printing: design.modules.iter().filter(|one| prints(one)).map(|one| format!("`{}`", one.name)).collect(),
        }
    }

    /// The same with a bench, whose files these are.
    fn with_bench(mut self, files: &Files) -> Part {
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

/// A design that was made elsewhere, with what its folder needs.
pub struct MadeDesign<'a> {
    /// The design, whose top has the streams of `ports`.
    pub design: &'a Design,
    /// A network with these ports.
    pub ports: &'a Network,
    /// What its bench tries, each after a reset.
    pub recordings: &'a [Recording],
    /// What it is, as a sentence.
    pub about: String,
    /// What else the README says.
    pub text: String,
}

/// What a language adds to the folders of designs.
pub(crate) struct Language {
    /// Its name, for the README.
    pub(crate) name: &'static str,
    /// What files end in, and their type in descriptions for FuseSoC.
    pub(crate) ending: &'static str,
    pub(crate) file_type: &'static str,
    /// The modules of a design: what made it, its folder.
    pub(crate) modules: fn(&Design, &str, &str) -> Files,
    /// A bench for the top of a design with the files that it reads: what made it, its folder, what it tests, messages.
    pub(crate) bench: fn(&Design, &str, &str, &str, &[Message]) -> Files,
    /// What all designs of a folder are made of, too, by what made it.
    pub(crate) shared: fn(&str) -> Files,
    /// A file of `make` that tests designs, by what made it.
    pub(crate) makefile: fn(&[Part], &str) -> String,
    /// What `make` can do, for the README.
    pub(crate) commands: &'static str,
    /// What FuseSoC can do with a design.
    pub(crate) targets: fn(&Part) -> String,
    /// What begins a comment.
    pub(crate) comment: &'static str,
    /// The LWC hardware API.
    pub(crate) lwc: super::lwc::Texts,
}

impl Language {
    /// A folder for a network, whose bench has a message for each recorded run.
    ///
    /// # Errors
    ///
    /// What has no place in hardware, with where it stands.
    pub(crate) fn of_network(
        &self,
        network: &Network,
        recordings: &[&Recording],
        options: &Options,
    ) -> Result<Files, Vec<Diagnostic>> {
        let mut files = Files::new();
        let design = design(network, options)?;
        let part = Part::of(&design, "", format!("The network `{}`.", network.name));
        let name = part.name();
        let messages: Vec<Message> = match recordings {
            [] => vec![recorded(network, None)],
            all => all.iter().map(|recording| recorded(network, Some(recording))).collect(),
        };
        let part = self.part((&design, network), part, &name, &messages, options, &mut files);
        let title = part.top.clone();
        let text = ports_text(&[network], std::slice::from_ref(&part), self.ending, options);
        self.frame(&title, &text, &[part], options, &mut files);
        Ok(files)
    }

    /// A folder for a part of a network that was lowered before, with a run for its bench.
    pub(crate) fn of_part(
        &self,
        network: &Network,
        design: &Design,
        recording: Option<&Recording>,
        options: &Options,
    ) -> Files {
        let mut files = Files::new();
        let part = Part::of(design, "", format!("The part `{}` of a network.", network.name));
        let name = part.name();
        let part = self.part((design, network), part, &name, &[recorded(network, recording)], options, &mut files);
        let title = part.top.clone();
        let text = ports_text(&[network], std::slice::from_ref(&part), self.ending, options);
        self.frame(&title, &text, &[part], options, &mut files);
        files
    }

    /// A folder for operations of one parameter set, with one below it for each.
    ///
    /// # Errors
    ///
    /// What has no place in hardware, with where it stands.
    pub(crate) fn of_operations(
        &self,
        title: &str,
        operations: &[(&OperationSpec, &Network)],
        known: &[KnownAnswer],
        options: &Options,
        on_operation: &OnOperation<'_>,
    ) -> Result<Files, Vec<Diagnostic>> {
        let mut files = Files::new();
        let designs = on_all_processors(operations, |(spec, network)| {
            on_operation(spec, None);
            design(network, options)
        });
        let (mut problems, mut networks, mut parts) = (Vec::new(), Vec::new(), Vec::new());
        let mut more = String::new();
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
            if options.axi {
                match self.at_buses(spec, (&design, network), part, &messages, options, &mut files) {
                    Ok((part, text)) => {
                        parts.push(part);
                        more.push_str(&text);
                    }
                    Err(why) => {
                        let message = format!("`{}` has no place at buses: {why}", spec.full_name());
                        problems
                            .push(Diagnostic::error("unsupported-by-target", message).at(network.span, "this network"));
                    }
                }
                networks.push(*network);
                continue;
            }
            parts.push(self.part((&design, network), part, &spec.name, &messages, options, &mut files));
            networks.push(*network);
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let text = format!("{}{more}", ports_text(&networks, &parts, self.ending, options));
        self.frame(title, &text, &parts, options, &mut files);
        Ok(files)
    }

    /// An operation with AXI4-Stream and AXI4-Lite at its ports, and what the README says of these.
    fn at_buses(
        &self,
        spec: &OperationSpec,
        (design, network): (&Design, &Network),
        mut part: Part,
        messages: &[Message],
        options: &Options,
        files: &mut Files,
    ) -> Result<(Part, String), String> {
        let axi = Axi::of(spec, network, design)?;
        let (head, folder, ending) = (head(options), part.folder.clone(), self.ending);
        files.extend((self.modules)(design, &head, &folder));
        let messages: Vec<Message> = messages.iter().map(|message| message.in_beats(design, network)).collect();
        // The bench of the network tests a driver with its ports, which drives the core at its buses.
        let mut driven = design.clone();
        if let Some(top) = driven.modules.last_mut() {
            top.name = axi.top();
            top.timing = None;
            top.signals.iter_mut().for_each(|signal| signal.names.clear());
        }
        let mut bench = (self.bench)(&driven, &head, &folder, &spec.name, &messages);
        if let Some(text) = bench.get_mut(&format!("{folder}tb/{}_tb.{ending}", axi.top())) {
            let top = axi.top();
            let tested = String::from_utf8_lossy(text).replace(&format!("{top} dut ("), &format!("{top}_driver dut ("));
            *text = (tested + &axi.driver()).into_bytes();
        }
        for (module, text) in axi.runtime() {
            part.modules.push(module.to_owned());
            files.insert(format!("{folder}rtl/{module}.{ending}"), text.as_bytes().to_vec());
        }
        part.modules.push(axi.top());
        part.top = axi.top();
        part.is_timed = false;
        part.litex = axi.litex();
        files.insert(format!("{folder}rtl/{}.{ending}", axi.top()), axi.module(&head).into_bytes());
        let sources: Vec<String> = part.modules.iter().map(|module| format!("rtl/{module}.{ending}")).collect();
        files.insert(format!("{folder}test/test_{}.py", axi.top()), axi.cocotb(&head, &sources).into_bytes());
        let part = part.with_bench(&bench);
        files.extend(bench);
        Ok((part, axi.readme()))
    }

    /// A folder for a design that was made elsewhere, whose bench has a message for each recorded run.
    pub(crate) fn of_design(&self, made: &MadeDesign<'_>, options: &Options) -> Files {
        let MadeDesign { design, ports, recordings, about, text } = made;
        let mut files = Files::new();
        let part = Part::of(design, "", about.clone());
        let name = part.name();
        let messages: Vec<Message> = recordings.iter().map(|recording| recorded(ports, Some(recording))).collect();
        let part = self.part((design, ports), part, &name, &messages, options, &mut files);
        let title = part.top.clone();
        let text = format!("{}{STREAMS}\n{text}", ports_table(&[*ports], std::slice::from_ref(&part), self.ending));
        self.frame(&title, &text, &[part], options, &mut files);
        files
    }

    /// Modules and bench of a design.
    fn part(
        &self,
        (design, network): (&Design, &Network),
        part: Part,
        name: &str,
        messages: &[Message],
        options: &Options,
        files: &mut Files,
    ) -> Part {
        let head = head(options);
        files.extend((self.modules)(design, &head, &part.folder));
        let messages: Vec<Message> = messages.iter().map(|message| message.in_beats(design, network)).collect();
        let bench = (self.bench)(design, &head, &part.folder, name, &messages);
        let part = part.with_bench(&bench);
        files.extend(bench);
        part
    }

    /// What builds, tests and describes some designs. `text` is what the README says of them.
    pub(super) fn frame(&self, title: &str, text: &str, parts: &[Part], options: &Options, files: &mut Files) {
        let head = head(options);
        let shared = (self.shared)(&head);
        for part in parts {
            files.insert(format!("{}.core", part.name()), self.core(part, &head, &shared).into_bytes());
            let sources: Vec<String> = shared.keys().cloned().chain(part.sources(self.ending)).collect();
            let litex = part.litex.file(&head, &part.top, &part.about, &sources);
            files.insert(format!("{}_litex.py", part.name().replace('-', "_")), litex.into_bytes());
        }
        files.extend(shared);
        let readme = format!(
            "# {title}\n\n{}, made by `{}`.\n\n```\n{}```\n\n{text}",
            self.name,
            options.command.replace('\n', " "),
            self.commands
        );
        files.insert("README.md".into(), readme.into_bytes());
        files.insert("Makefile".into(), (self.makefile)(parts, &head).into_bytes());
    }

    /// A description for FuseSoC. `shared` are files that stand before those of the design.
    fn core(&self, part: &Part, head: &str, shared: &Files) -> String {
        let Language { ending, file_type, .. } = self;
        let targets = (self.targets)(part);
        // Benches look for their files where they are started.
        let tokens = part.tokens.iter().map(|path| format!("      - {path}: {{file_type: user, copyto: {path}}}\n"));
        let tokens: String = tokens.collect();
        let sources = shared.keys().cloned().chain(part.sources(ending));
        let rtl: String = sources.map(|file| format!("      - {file}\n")).collect();
        let Part { folder, top, about, .. } = part;
        format!(
            "CAPI=2:\n# {head}\nname: headrace:generated:{name}:0.1.0\ndescription: \"{about}\"\n\nfilesets:\n  rtl:\n    files:\n{rtl}    \
             file_type: {file_type}\n  tb:\n    files:\n      - {folder}tb/{top}_tb.{ending}\n{tokens}    file_type: {file_type}\n\n\
             targets:\n  default: &default\n    filesets: [rtl]\n    toplevel: {top}\n{targets}",
            name = part.name().replace('-', "_"),
            about = about.replace('"', "'"),
        )
    }
}

/// The ports of designs and what a stream is, for a README; what is left out of them is said elsewhere, too. `ending` is that of
/// files of the language.
fn ports_text(networks: &[&Network], parts: &[Part], ending: &str, options: &Options) -> String {
    let mut text = ports_table(networks, parts, ending);
    text.push_str(STREAMS);
    text.push_str(
        "\nWhat is one datapath is one module; of what is not, each actor is a module, each connection a FIFO. The first lines of a file say\n\
         what is in it, and of a datapath how many clock cycles it takes. Errors of a program, as an index outside its list, are not reported.\n",
    );
    let printing: Vec<&str> = parts.iter().flat_map(|part| &part.printing).map(String::as_str).collect();
    if !printing.is_empty() {
        let left_out = format!("What actors print is left out of these modules: {}.", printing.join(", "));
        let _ = writeln!(text, "\n{left_out}");
        options.notes.say(left_out);
    }
    text
}

/// What streams are, for a README.
const STREAMS: &str = "## Streams\n\nEach port of the network is a stream: `PORT_data`, `PORT_valid` and `PORT_ready`, with `_i` or `_o` behind. A token moves at\n\
     a rising edge of `clk_i` at which both valid and ready are set. Valid does not wait for ready, and stays until the token has\n\
     moved. `rst_ni` is an asynchronous reset, active low, whose release must be synchronous to `clk_i`. After it the network begins anew.\n";

/// The ports of designs, for a README.
fn ports_table(networks: &[&Network], parts: &[Part], ending: &str) -> String {
    let mut text = String::new();
    for (network, part) in networks.iter().zip(parts) {
        let _ = write!(
            text,
            "## `{}`\n\n{} The top is in `{}rtl/{}.{ending}`; `{}.core` describes it to FuseSoC, \
             `{}_litex.py` makes a module for LiteX of it.\n\n\
             | port | bits | direction |\n| --- | ---: | --- |\n",
            part.top,
            part.about,
            part.folder,
            part.top,
            part.name(),
            part.name().replace('-', "_")
        );
        for (ports, direction) in [(&network.inputs, "in"), (&network.outputs, "out")] {
            for port in ports {
                let _ = writeln!(text, "| `{}` | {} | {direction} |", port.name, port.ty.width());
            }
        }
        text.push('\n');
    }
    text
}
