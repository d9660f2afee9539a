//! Stimulus and reference files. Tokens in files: what goes into the ports of a module, and what must come out, as benches read
//! it in any language.

use headrace_ir::{Network, Port};
use headrace_rtl::{Bits, Design, Module, SignalKind};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Tokens that go into the ports of a module, and those that must come out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message {
    /// For each input of the network.
    pub(crate) inputs: Vec<Vec<Bits>>,
    /// For each output of the network the first tokens, and whether more may come.
    pub(crate) outputs: Vec<(Vec<Bits>, bool)>,
}

impl Message {
    /// The same with as many tokens in one as the streams of a design move at once, the first in the lowest bits; what is less than
    /// that at the end is left out.
    pub(crate) fn in_beats(&self, design: &Design, network: &Network) -> Message {
        let Some(module) = design.modules.last() else { return self.clone() };
        let (inputs, outputs) = streams_of(module);
        let beats = |tokens: &[Bits], stream: &Stream, port: &Port| {
            let n = (stream.width / port.ty.width().max(1)).max(1) as usize;
            let beat =
                |tokens: &[Bits]| tokens.iter().skip(1).fold(tokens[0].clone(), |beat, token| token.concat(&beat));
            if n == 1 { tokens.to_vec() } else { tokens.chunks_exact(n).map(beat).collect() }
        };
        let ins = self.inputs.iter().zip(&inputs).zip(&network.inputs);
        let outs = self.outputs.iter().zip(&outputs).zip(&network.outputs);
        Message {
            inputs: ins.map(|((tokens, stream), port)| beats(tokens, stream, port)).collect(),
            outputs: outs.map(|(((tokens, more), stream), port)| (beats(tokens, stream, port), *more)).collect(),
        }
    }
}

/// A stream of a module, by the beginning of the names of its signals.
pub(crate) struct Stream {
    pub(crate) name: String,
    pub(crate) width: u32,
}

/// The streams into a module, and those out of it.
pub(crate) fn streams_of(module: &Module) -> (Vec<Stream>, Vec<Stream>) {
    let all = |kind: &SignalKind, data: &str| {
        let ports = module.ports().filter(|(_, port)| port.kind == *kind);
        let stream = |name: &str, width| Stream { name: name.to_owned(), width };
        ports.filter_map(|(_, port)| Some(stream(port.name.strip_suffix(data)?, port.width))).collect()
    };
    (all(&SignalKind::Input, "_data_i"), all(&SignalKind::Output, "_data_o"))
}

/// More may come, in the counts of a message.
const MORE: u64 = 1 << 31;

/// What the counts begin with, so that a bench which does not find its files fails instead of comparing nothing.
pub(crate) fn first_count(n_messages: usize) -> u64 {
    0x5eed_0000 + n_messages as u64 % 0x1_0000
}

/// Files of tokens below `kat/` of a folder, a token a line in hexadecimal digits: `PORT_in.hex`, `PORT_out.hex`, and
/// `counts.hex`, which says of each message how many tokens each input and each output has, with the highest bit where more may
/// come, behind a line with [`first_count`]. Gives the numbers of lines, by name.
pub(crate) fn token_files(
    module: &Module,
    folder: &str,
    messages: &[Message],
    files: &mut BTreeMap<String, Vec<u8>>,
) -> BTreeMap<String, usize> {
    let (inputs, outputs) = streams_of(module);
    let mut lines = BTreeMap::new();
    let mut add = |name: String, width: u32, tokens: Vec<Bits>| {
        let digits = width.div_ceil(4) as usize;
        let mut text: String =
            tokens.iter().fold(String::new(), |text, token| text + &format!("{:0>digits$x}\n", token.value()));
        // No language has an array without elements.
        if tokens.is_empty() {
            let _ = writeln!(text, "{:0>digits$}", 0);
        }
        files.insert(format!("{folder}kat/{name}.hex"), text.into_bytes());
        lines.insert(name, tokens.len().max(1));
    };
    let mut counts = vec![Bits::new(32, first_count(messages.len()))];
    for message in messages {
        counts.extend(message.inputs.iter().map(|tokens| Bits::new(32, tokens.len() as u64)));
        let outputs = message.outputs.iter();
        counts.extend(outputs.map(|(tokens, more)| Bits::new(32, tokens.len() as u64 | if *more { MORE } else { 0 })));
    }
    add("counts".to_owned(), 32, counts);
    for (at, stream) in inputs.iter().enumerate() {
        let all = messages.iter().flat_map(|message| message.inputs[at].iter().cloned());
        add(format!("{}_in", stream.name), stream.width, all.collect());
    }
    for (at, stream) in outputs.iter().enumerate() {
        let all = messages.iter().flat_map(|message| message.outputs[at].0.iter().cloned());
        add(format!("{}_out", stream.name), stream.width, all.collect());
    }
    lines
}
