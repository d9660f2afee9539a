//! Building of projects in the target languages, as files in memory.

pub mod answers;
mod array;
pub mod fills;
mod lwc;
mod names;
mod operations;
mod partitions;
pub mod recording;

pub use array::{Cores, OnArray};
pub use lwc::LwcCore;
pub use names::{is_of_library, sets_of};

use crate::engines::c_compiler;
use crate::error::{Error, Result};
use crate::workspace::{Remark, Workspace};
use fills::Interpreted;
use headrace_hardware::Datapath;
use headrace_ir::DEFAULT_FIFO_TOKENS;
use headrace_native::LocalTrials;
use headrace_source::Diagnostic;
use headrace_targets::c;
use headrace_targets::c::kernel::Trials;
use headrace_targets::c::small::Fills;
use headrace_targets::project::Files;
use headrace_targets::{Options, Target};
use headrace_transform::passes::manager::{LeftOut, leave_out};
use std::path::PathBuf;
use std::sync::Arc;

/// What a core of hardware has at its ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Shape {
    /// A stream, with valid and ready, for each port of its network.
    #[default]
    Stream,
    /// The LWC hardware API: authenticated ciphers in both directions, and hash functions.
    Lwc,
    /// AXI4-Stream with an AXI4-Lite control block: operations of parameter sets, in Verilog.
    Axi,
}

/// Capacity of FIFOs that ask for none in cores with the LWC hardware API, whose strings come one after the other, so that nothing waits
/// for long.
const LWC_FIFO_TOKENS: u32 = 16;

/// Levels of logic of iterations of a loop that such cores do in a clock cycle: those of a multiplication in GF(2^128) take as long
/// as a block cipher then.
const LWC_LOOP_LEVELS: u32 = 36;

/// Iterations of a loop that such cores have side by side, and assignments in all of them: blocks of some have 168 bytes.
const LWC_UNROLLED: (u32, usize) = (256, 4096);

/// What is built. Errors call its fields as the options of `headrace build`, which have their names.
#[derive(Clone, Debug)]
pub struct Build {
    /// The target language.
    pub target: &'static Target,
    /// A network, as [`Workspace::top`] takes it, or parameter sets of the library; for some targets all when empty.
    pub networks: Vec<String>,
    /// Values of the parameters of a network.
    pub parameters: Vec<(String, String)>,
    /// Capacity of FIFOs that ask for none, in tokens.
    pub fifo_tokens: u32,
    /// The way of writing the primitive; else the first of its manifest.
    pub variant: Option<String>,
    /// Operations of the parameter sets; all when empty.
    pub operations: Vec<String>,
    /// What the names of packages begin with, if not as usual; of target `rust`.
    pub prefix: Option<String>,
    /// What a project of parameter sets is called, if not as these.
    pub name: Option<String>,
    /// Firings are fused into kernels where control can be foreseen.
    pub fused: bool,
    /// As little code and memory as there can be: operations of the library, target `c`.
    pub small: bool,
    /// A program of a network, too; target `c`.
    pub main: bool,
    /// Loops are measured on this machine to choose how they are written, with the C compiler that is found here.
    pub tune: bool,
    /// How networks become hardware; FIFOs have the capacity from above.
    pub hardware: headrace_hardware::Options,
    /// What hardware has at its ports.
    pub shape: Shape,
    /// Bits of a word of public data, of shape [`Shape::Lwc`]; keys come in words of 32.
    pub word_bits: u32,
    /// An array of small processors that the network is put on, in hardware.
    pub mapping: Option<OnArray>,
    /// A mapping in XCF, which says what of a network becomes circuits that the rest, in C, works with.
    pub partitions: Option<PathBuf>,
    /// Passes that are left out, to find the one at fault: of all that this process compiles from then on.
    pub left_out: LeftOut,
}

/// Hears how many operations of how many are done, from any thread.
pub type Told<'a> = &'a (dyn Fn(u64, u64) + Sync);

/// The target of a name.
///
/// # Errors
///
/// There is none.
pub fn target(name: &str) -> Result<&'static Target> {
    headrace_targets::ALL.iter().find(|target| target.name == name).ok_or_else(|| {
        let known: Vec<&str> = headrace_targets::ALL.iter().map(|target| target.name).collect();
        Error::usage(format!("`{}` is no target; there are {}", name.escape_debug(), known.join(", ")))
    })
}

impl Build {
    /// Networks or parameter sets for a target, as usual.
    pub fn new(target: &'static Target, networks: &[&str]) -> Self {
        Self {
            target,
            networks: networks.iter().map(|name| (*name).to_owned()).collect(),
            parameters: Vec::new(),
            fifo_tokens: DEFAULT_FIFO_TOKENS,
            variant: None,
            operations: Vec::new(),
            prefix: None,
            name: None,
            fused: true,
            small: false,
            main: false,
            tune: false,
            hardware: headrace_hardware::Options::default(),
            shape: Shape::default(),
            word_bits: 32,
            mapping: None,
            partitions: None,
            left_out: LeftOut::default(),
        }
    }

    /// Makes sure that the target does what is asked for, before anything is read.
    ///
    /// # Errors
    ///
    /// What it does not do.
    pub fn check(&self) -> Result {
        let target = self.target;
        if self.tune && !target.tunes {
            return Err(Error::usage(format!("target {} prints no loops that could be tuned", target.name)));
        }
        if self.networks.is_empty() && !target.takes_all && self.mapping.is_none() {
            return Err(Error::usage("NETWORK is missing"));
        }
        self.prefix.iter().try_for_each(|prefix| names::check_prefix(prefix, target))?;
        if self.name.is_some() && target.takes_all {
            return Err(Error::usage(format!("--name: what target {} makes has a name of its own", target.name)));
        }
        if self.main && target.name != "c" {
            return Err(Error::usage(format!("--main: target {} makes no programs; c does", target.name)));
        }
        if self.small && target.name != "c" {
            return Err(Error::usage(format!("--small: target {} makes nothing small; c does", target.name)));
        }
        if let Some(on) = &self.mapping {
            if target.of_design.is_none() {
                let problem =
                    format!("--mapping makes hardware, and target {} makes none; verilog and vhdl do", target.name);
                return Err(Error::usage(problem));
            }
            if !hardware_words(&self.hardware).is_empty() || self.shape != Shape::Stream || self.name.is_some() {
                return Err(Error::usage(
                    "--mapping says what hardware is like; leave out what else says so, and --name",
                ));
            }
            if self.networks.len() > 1 || self.networks.is_empty() && on.mapping.written.network.is_none() {
                return Err(Error::usage("--mapping puts one network on an array; name one, here or in the mapping"));
            }
        }
        if let Some(path) = &self.partitions {
            let path = path.display();
            if target.name != "c" {
                return Err(Error::usage(format!(
                    "--mapping {path}: the parts in software are in C, those in hardware in Verilog; --target c makes both"
                )));
            }
            if self.networks.len() != 1 {
                return Err(Error::usage(format!("--mapping {path} is of one network; name one")));
            }
            if self.name.is_some() || self.small || self.shape != Shape::Stream {
                return Err(Error::usage("--name, --small, --shape: a network in parts has none of them"));
            }
        }
        let mut hardware = hardware_words(&self.hardware);
        hardware.extend(self.shape_words());
        if self.partitions.is_none() && !hardware.is_empty() && !matches!(target.name, "verilog" | "vhdl") {
            let what = hardware.join(" ");
            return Err(Error::usage(format!("{what}: target {} makes no hardware; verilog and vhdl do", target.name)));
        }
        if self.word_bits != 32 && self.shape != Shape::Lwc {
            return Err(Error::usage(
                "--word-bits: only cores with the LWC hardware API (--shape lwc) have such words",
            ));
        }
        if !(4..=32).contains(&(self.word_bits / 8)) || !self.word_bits.is_multiple_of(8) {
            return Err(Error::usage("--word-bits: words have whole bytes, 32 to 256 bits"));
        }
        if self.shape == Shape::Axi && target.name != "verilog" {
            return Err(Error::usage(format!("--shape axi: target {} has no such cores; verilog does", target.name)));
        }
        if self.leaves_out() && self.small {
            return Err(Error::usage("--passes, --pass-limit: small code goes through no passes"));
        }
        Ok(())
    }

    /// The words of a command line that ask for the ports.
    fn shape_words(&self) -> Option<String> {
        match self.shape {
            Shape::Stream => None,
            Shape::Lwc if self.word_bits != 32 => Some(format!("--shape lwc --word-bits {}", self.word_bits)),
            Shape::Lwc => Some("--shape lwc".to_owned()),
            Shape::Axi => Some("--shape axi".to_owned()),
        }
    }

    fn leaves_out(&self) -> bool {
        !self.left_out.passes.is_empty() || self.left_out.limit.is_some()
    }

    /// The command that makes the same files, which stands in their first line; where they go does not.
    pub fn command(&self) -> String {
        let mut words = vec!["headrace".to_owned(), env!("CARGO_PKG_VERSION").into(), "build".into()];
        let quoted = |name: &String| if name.contains(['(', ' ']) { format!("'{name}'") } else { name.clone() };
        words.extend(self.networks.iter().map(quoted));
        words.extend(["--target".into(), self.target.name.to_owned()]);
        words.extend(self.parameters.iter().flat_map(|(name, value)| ["--set".into(), format!("{name}={value}")]));
        words.extend(self.variant.iter().flat_map(|variant| ["--variant".to_owned(), variant.clone()]));
        words.extend(self.operations.iter().flat_map(|operation| ["--operation".to_owned(), operation.clone()]));
        words.extend(self.prefix.iter().flat_map(|prefix| ["--prefix".to_owned(), format!("'{prefix}'")]));
        words.extend(self.name.iter().flat_map(|name| ["--name".to_owned(), name.clone()]));
        words.extend((!self.fused).then(|| "--unfused".to_owned()));
        words.extend(self.small.then(|| "--small".to_owned()));
        words.extend(self.main.then(|| "--main".to_owned()));
        words.extend(self.tune.then(|| "--tune".to_owned()));
        words.extend(hardware_words(&self.hardware));
        words.extend(self.shape_words());
        if let Some(on) = &self.mapping {
            words.extend(["--mapping".to_owned(), on.mapping.file.name.clone()]);
            words.extend(["--platform".to_owned(), on.machine.name.clone()]);
            words.extend((on.cores == Cores::StateMachines).then(|| "--cores state-machines".to_owned()));
        }
        if let Some(path) = &self.partitions {
            words.extend(["--mapping".to_owned(), path.display().to_string()]);
        }
        let passes: Vec<String> = self.left_out.passes.iter().map(|name| format!("-{name}")).collect();
        words.extend((!passes.is_empty()).then(|| format!("--passes={}", passes.join(","))));
        words.extend(self.left_out.limit.map(|limit| format!("--pass-limit {limit}")));
        words.extend((self.fifo_tokens != DEFAULT_FIFO_TOKENS).then(|| format!("--fifo {}", self.fifo_tokens)));
        words.join(" ")
    }

    /// What targets are told.
    ///
    /// # Errors
    ///
    /// There is no C compiler to tune with.
    pub fn options(&self) -> Result<Options> {
        let trials = match self.tune {
            true => Some(Arc::new(LocalTrials::new(c_compiler()?)) as Arc<dyn Trials>),
            false => None,
        };
        let usual = Options::default();
        let (mut fifo_tokens, mut hardware) = (self.fifo_tokens, self.hardware);
        if self.shape == Shape::Lwc {
            fifo_tokens = if fifo_tokens == DEFAULT_FIFO_TOKENS { LWC_FIFO_TOKENS } else { fifo_tokens };
            hardware.loop_levels = if hardware.loop_levels == 0 { LWC_LOOP_LEVELS } else { hardware.loop_levels };
            (hardware.unrolled_iterations, hardware.unrolled_steps) = LWC_UNROLLED;
            hardware.rounds_at_entry = true;
        }
        Ok(Options {
            command: self.command(),
            package_prefix: self.prefix.clone().unwrap_or(usual.package_prefix),
            fifo_tokens,
            fused: self.fused,
            c: c::Options {
                trials,
                main: self.main,
                small: self.small.then(|| Arc::new(Interpreted) as Arc<dyn Fills>),
                ..usual.c
            },
            hardware,
            axi: self.shape == Shape::Axi,
            prefix: usual.prefix,
            automata: usual.automata,
            notes: usual.notes,
        })
    }
}

/// The words of a command line that ask for such hardware.
pub fn hardware_words(options: &headrace_hardware::Options) -> Vec<String> {
    let mut words = Vec::new();
    words.extend((options.datapath == Datapath::Always).then(|| "--datapath".to_owned()));
    words.extend((options.rounds_per_cycle != 1).then(|| format!("--rounds {}", options.rounds_per_cycle)));
    words.extend((options.stages != 0).then(|| format!("--stages {}", options.stages)));
    words.extend(options.wide_ports.then(|| "--wide-ports".to_owned()));
    words.extend((options.loop_levels != 0).then(|| format!("--loop-levels {}", options.loop_levels)));
    words
}

impl Workspace {
    /// Builds a project for a network, or for the operations of parameter sets: its files by their paths, nothing written.
    ///
    /// ```
    /// # fn main() -> headrace::Result {
    /// use headrace::build::{Build, target};
    /// let mut workspace = headrace::Workspace::default();
    /// let mut build = Build::new(target("c")?, &["ctl.parts.ascon.AsconPFolded"]);
    /// build.fused = false;
    /// let files = workspace.build(&build, &|_, _| {})?;
    /// assert!(files.contains_key("Makefile"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// What the target does not do; what is wrong with the network or the library.
    pub fn build(&mut self, build: &Build, told: Told<'_>) -> Result<Files> {
        build.check()?;
        if build.leaves_out() && !leave_out(build.left_out.clone()) {
            return Err(Error::usage(
                "--passes, --pass-limit: passes were left out in this process before, for all that it builds",
            ));
        }
        let library = self.library()?;
        let target = build.target;
        let files = match build.networks.as_slice() {
            named if let Some(on) = &build.mapping => {
                let name = named.first().or(on.mapping.written.network.as_ref()).cloned().unwrap_or_default();
                let network = self.network(&name, &build.parameters)?;
                let options = build.options()?;
                let files = array::project(&network, on, target, &options)?;
                self.say(&options);
                files
            }
            [network] if let Some(path) = &build.partitions => {
                if is_of_library(&library, network) {
                    return Err(Error::usage(format!(
                        "--mapping {} is of a network, as `headrace list primitives` names them; `{network}` is a parameter set",
                        path.display()
                    )));
                }
                let network = self.network(network, &build.parameters)?;
                let options = build.options()?;
                let files = self.build_parts(&network, path, &options)?;
                self.say(&options);
                files
            }
            [network] if build.small && !is_of_library(&library, network) => {
                return Err(Error::usage(
                    "--small makes operations of the library, whose messages say how full FIFOs get",
                ));
            }
            [network] if !is_of_library(&library, network) => {
                if let Some(shape) = build.shape_words() {
                    return Err(Error::usage(format!(
                        "{shape} is for parameter sets of the library, whose ports it knows; networks have streams"
                    )));
                }
                if build.name.is_some() {
                    return Err(Error::usage(
                        "--name is for parameter sets of the library; a network has its own name",
                    ));
                }
                if build.variant.is_some() || !build.operations.is_empty() {
                    return Err(Error::usage("--variant, --operation: only parameter sets of the library have them"));
                }
                let of_network = target.of_network.ok_or_else(|| names::not_of_library(network))?;
                let network = self.network(network, &build.parameters)?;
                let recording = recording::record(&network, build.fifo_tokens);
                let options = build.options()?;
                let files = refused(of_network(&network, recording.as_ref(), &options))?;
                self.say(&options);
                files
            }
            [_, _, ..] if !target.gathers => {
                return Err(Error::usage(format!(
                    "target {} makes a project of one parameter set at a time; {} make one of several",
                    target.name,
                    names::gathering()
                )));
            }
            _ if build.main => {
                return Err(Error::usage(
                    "--main makes a program of a network; of a primitive, name the network that is meant",
                ));
            }
            _ if !build.parameters.is_empty() => {
                return Err(Error::usage(
                    "--set is for parameters of a network; of a primitive, name the network that is meant, or its --variant",
                ));
            }
            networks => {
                let sets = sets_of(&library, networks, target)?;
                let name = names::project_name(build, &sets)?;
                match build.shape {
                    Shape::Stream | Shape::Axi => self.build_operations(&library, &sets, &name, build, told)?,
                    Shape::Lwc => self.build_lwc(&library, &sets, &name, build, told)?,
                }
            }
        };
        Ok(files)
    }

    /// What a target had to say about what it made.
    fn say(&mut self, options: &Options) {
        options.notes.taken().into_iter().for_each(|note| self.remark(Remark::Note(note)));
    }
}

/// What a target makes, or what it does not take.
fn refused(made: std::result::Result<Files, Vec<Diagnostic>>) -> Result<Files> {
    made.map_err(Error::Refused)
}
