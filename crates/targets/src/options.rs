//! What a target is asked for, whatever its language; what only some languages are asked stands in their own options.

use crate::automata::Automata;
use crate::c;
use crate::project::Notes;
use headrace_hardware::Datapath;

/// What the caller wants.
#[derive(Clone, Debug)]
pub struct Options {
    /// The command and version that make the files, for their first line.
    pub command: String,
    /// Beginning of all names; `None`: made from the name of the network.
    pub prefix: Option<String>,
    /// Beginning of the names of packages, so that nobody takes them for another's: of the crates of target `rust`.
    pub package_prefix: String,
    /// Capacity of FIFOs whose source does not say one, in tokens.
    pub fifo_tokens: u32,
    /// Operations of the library run as control automata where they can; in hardware, networks are datapaths where they
    /// can.
    pub fused: bool,
    /// Where automata that were found are kept for other targets; `None`: nowhere.
    pub automata: Option<Automata>,
    /// Where what there is to say about a project goes.
    pub notes: Notes,
    /// What code in C is like, but for what stands above.
    pub c: c::Options,
    /// What designs in hardware are like, how much of a loop is written out and what one clock cycle does, but for what stands
    /// above.
    pub hardware: headrace_hardware::Options,
    /// Operations of the library have AXI4-Stream and AXI4-Lite at their ports, in Verilog.
    pub axi: bool,
}

impl Default for Options {
    fn default() -> Self {
        let c = c::Options::default();
        Self {
            command: c.command.clone(),
            prefix: None,
            package_prefix: "headrace-".to_owned(),
            fifo_tokens: c.fifo_tokens,
            fused: true,
            automata: None,
            notes: Notes::default(),
            c,
            hardware: headrace_hardware::Options::default(),
            axi: false,
        }
    }
}

impl Options {
    /// All that code in C is asked for.
    pub fn of_c(&self) -> c::Options {
        c::Options {
            command: self.command.clone(),
            prefix: self.prefix.clone(),
            fifo_tokens: self.fifo_tokens,
            fused: self.fused,
            automata: self.automata.clone(),
            notes: self.notes.clone(),
            ..self.c.clone()
        }
    }

    /// All that designs in hardware are asked for.
    pub fn of_hardware(&self) -> headrace_hardware::Options {
        let datapath = if self.fused { self.hardware.datapath } else { Datapath::Never };
        headrace_hardware::Options { fifo_tokens: self.fifo_tokens, datapath, ..self.hardware }
    }
}
