//! Arrays as RTL: a mapped network as a clocked design whose streams are those of the network.
//!
//! The processors of a design become modules of their own, each link a FIFO with the latency of the simulator's, and at the edges tokens
//! become words and words tokens. The simulator is what the design is held to: the same words leave in the same cycles.
//!
//! | file | what is there |
//! | --- | --- |
//! | `encode` | instructions as words of program memory |
//! | `core` | a processor that executes them |
//! | `body`, `sequencer` | what tasks compute, as logic; a processor as a state machine that moves words through it |
//! | `link` | a link with its FIFO |
//! | `edge` | tokens to words, words to tokens |

mod body;
mod core;
mod edge;
mod encode;
mod link;
mod sequencer;

pub use encode::{Encoded, LITERALS, MODIFIERS};

use crate::design::Design as Mapped;
use crate::machine::Machine;
use crate::mapping::Problem;
use crate::program::{Links, Orders};
use crate::simulate::{Channel, OutsideWord, Setup};
use crate::tasks::From;
use crate::values::{Id, Op};
use edge::{Collected, Fed, FeedPort};
use headrace_ir::{Network, Scalar};
use headrace_rtl::{Bits, Connection, Design, Expr, Instance, Module, SignalId, SignalKind, index_bits};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What a design is made for.
pub struct Array<'a> {
    /// The network, of which the ports are.
    pub network: &'a Network,
    /// Tasks on processors.
    pub design: &'a Mapped,
    /// What is simulated.
    pub setup: &'a Setup,
    /// The machine.
    pub machine: &'a Machine,
    /// Tokens of a message at each input port; none where they are known beforehand.
    pub tokens: &'a [Option<usize>],
    /// Values of what is known when the array is loaded.
    pub parameters: &'a HashMap<Id, i128>,
}

/// A name that is an identifier, unlike those before.
fn named(names: &mut BTreeSet<String>, name: &str) -> String {
    let plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let plain = if plain.starts_with(|c: char| c.is_ascii_alphabetic()) { plain } else { format!("p_{plain}") };
    let mut fresh = plain.clone();
    let mut n = 1;
    while !names.insert(fresh.to_ascii_lowercase()) {
        n += 1;
        fresh = format!("{plain}_{n}");
    }
    fresh
}

/// The top module while it is written.
struct Top {
    m: Module,
    instances: Vec<Instance>,
}

impl Top {
    fn wire(&mut self, name: String, width: u32) -> SignalId {
        self.m.add(name, width, SignalKind::Wire)
    }

    fn connect(connections: &mut Vec<Connection>, port: impl Into<String>, signal: SignalId) {
        connections.push(Connection { port: port.into(), signal });
    }
}

/// A processor: its module, and what is around it.
struct Placed {
    name: String,
    /// The link at each input port.
    inputs: Vec<u32>,
    /// Links that it writes.
    outputs: Vec<u32>,
    /// Words that leave in a period: message, positions in its output, and which word of the value.
    leaves: Vec<(u32, Vec<u32>, u32)>,
}

/// Links, and the words of those from outside.
struct Wired {
    channels: Vec<Channel>,
    outside: Vec<Option<Vec<OutsideWord>>>,
}

/// The array as soft cores: as many cycles after the reset as data memory has words it is loaded, then it runs. Beside the network's
/// streams the top has `running_o`, and `leaves_o` with a bit for each processor of which a word leaves in this cycle.
///
/// # Errors
///
/// Processors have clocks of their own, oscillators take time to start, a program has no place in the instruction format, or a
/// token goes through without any processor.
pub fn soft_cores(array: &Array<'_>) -> Result<Design, Problem> {
    let Array { design, setup, machine, .. } = array;
    if design.cores.iter().any(|core| core.clock != 1.0) {
        return Err("processors have clocks of their own, and a design in RTL has one; leave out `clock`".into());
    }
    if setup.restart != 0 {
        return Err(
            "oscillators of this machine take cycles to start, and clocks of a design in RTL do not stop".into()
        );
    }
    let data_words = *machine.core.data_words;
    let mut parts = Design::default();
    let mut names = BTreeSet::new();
    let top_name = named(&mut names, array.network.name.rsplit('.').next().unwrap_or("array"));
    let mut placed = Vec::new();
    let mut address_bits = 1;
    for (core, program) in design.cores.iter().zip(&setup.programs) {
        let code = program.code.as_ref().ok_or("soft cores execute generated programs (`cost = \"isa\"`)")?;
        let name = named(&mut names, &format!("core_{}", core.name));
        let about = format!("Processor `{}`: {}.", core.name, program.tasks.join(", "));
        let module = core::module(&name, &about, code, data_words).map_err(|why| Problem::of(&core.name, &why))?;
        address_bits = address_bits.max(index_bits(u64::from(data_words)).max(7));
        parts.modules.push(module);
        let (inputs, outputs, leaves) = (code.inputs.clone(), code.outputs.clone(), code.leaves.clone());
        placed.push(Placed { name, inputs, outputs, leaves });
    }
    let wired = Wired { channels: setup.channels.clone(), outside: setup.outside.clone() };
    let boots = u64::from(data_words);
    let top = array.top(&mut parts, &mut names, top_name, (&placed, &wired), (address_bits, boots))?;
    parts.modules.push(top);
    Ok(parts)
}

/// The array as state machines, one a processor, with a FIFO a link: without programs, and without the latency of links that are
/// none on a chip of one clock. The streams of the top are those of [`soft_cores`].
///
/// # Errors
///
/// A value is too wide, or a token goes through without any processor.
pub fn state_machines(array: &Array<'_>) -> Result<Design, Problem> {
    let Array { design, machine, .. } = array;
    let mut parts = Design::default();
    let mut names = BTreeSet::new();
    let top_name = named(&mut names, array.network.name.rsplit('.').next().unwrap_or("array"));
    // Words are sent in the order in which they are needed: all orders take equally long.
    let orders = Orders::of(design, &|_| true, &|_| false);
    let mut links = Links::of(design, machine, &orders, None);
    links.channels.iter_mut().for_each(|channel| channel.latency = 0);
    let bits = *machine.core.word_bits;
    let mut outside: Vec<Option<Vec<OutsideWord>>> = vec![None; links.channels.len()];
    let mut bodies = sequencer::Bodies::default();
    let (mut placed, mut modules) = (Vec::new(), Vec::new());
    for (at, core) in design.cores.iter().enumerate() {
        let name = named(&mut names, &format!("core_{}", core.name));
        let made = sequencer::module(design, machine, (&orders, &links), array.parameters, (at, &name), &mut bodies);
        let made = made.map_err(|why| Problem::of(&core.name, &why))?;
        for (link, words) in made.outside {
            let word = |&(message, id, limb): &(u32, Id, u32)| {
                let (port, at) = match design.tasks.values.node(id).op {
                    Op::Input(port, at) => (port, at),
                    _ => (u32::MAX, 0),
                };
                OutsideWord { message, port, at, shift: limb * bits, bits }
            };
            outside[link] = Some(words.iter().map(word).collect());
        }
        modules.push(made.module);
        placed.push(Placed { name, inputs: made.inputs, outputs: made.outputs, leaves: made.leaves });
    }
    parts.modules = bodies.modules;
    parts.modules.extend(modules);
    let wired = Wired { channels: links.channels, outside };
    let top = array.top(&mut parts, &mut names, top_name, (&placed, &wired), (1, 1))?;
    parts.modules.push(top);
    Ok(parts)
}

impl Array<'_> {
    /// Feeders, links, collectors and processors, connected.
    fn top(
        &self,
        parts: &mut Design,
        names: &mut BTreeSet<String>,
        name: String,
        (placed, wired): (&[Placed], &Wired),
        (address_bits, boots): (u32, u64),
    ) -> Result<Module, String> {
        let bits = *self.machine.core.word_bits;
        let mut top = Top { m: Module::new(name), instances: Vec::new() };
        let about = format!("{} processors, {} links.", placed.len(), wired.channels.len());
        top.m.about.push(about);
        // Loading, then running.
        let load = top.wire("load".into(), 1);
        let running = top.m.add("running_o", 1, SignalKind::Output);
        let (boot, boot_next) = top.m.add_register("boot", Bits::zero(address_bits + 1));
        let is_done = top.m.get(boot).is(boots);
        top.m.assign(load, is_done.clone().inverted());
        top.m.assign(running, is_done.clone());
        let further = top.m.get(boot).plus(Expr::number(address_bits + 1, 1));
        let value = Expr::select(is_done, top.m.get(boot), further);
        top.m.assign(boot_next, value);
        let load_at = top.wire("load_at".into(), address_bits);
        let value = top.m.get(boot).slice(0, address_bits);
        top.m.assign(load_at, value);
        // Ends of each link: data, valid, take.
        let mut ends: Vec<[SignalId; 3]> = Vec::new();
        let mut begins: Vec<Option<[SignalId; 2]>> = Vec::new();
        for (at, channel) in wired.channels.iter().enumerate() {
            let end = [(bits, "data"), (1, "valid"), (1, "take")]
                .map(|(width, what)| top.wire(format!("link{at}_{what}"), width));
            ends.push(end);
            begins.push(
                channel.from.map(|_| [top.wire(format!("link{at}_put"), 1), top.wire(format!("link{at}_room"), 1)]),
            );
        }
        // Processors.
        let mut sends: Vec<(SignalId, Option<[SignalId; 3]>)> = Vec::new();
        for (core, one) in placed.iter().enumerate() {
            let mut connections = Vec::new();
            Top::connect(&mut connections, "load_i", load);
            Top::connect(&mut connections, "load_at_i", load_at);
            Top::connect(&mut connections, "run_i", running);
            for (port, link) in one.inputs.iter().enumerate() {
                for (what, signal) in ["data_i", "valid_i", "take_o"].iter().zip(ends[*link as usize]) {
                    Top::connect(&mut connections, format!("in{port}_{what}"), signal);
                }
            }
            let data = top.wire(format!("core{core}_data"), bits);
            Top::connect(&mut connections, "data_o", data);
            for (number, link) in one.outputs.iter().enumerate() {
                let [put, room] = begins[*link as usize].ok_or("a link has no beginning")?;
                Top::connect(&mut connections, format!("out{number}_put_o"), put);
                Top::connect(&mut connections, format!("out{number}_room_i"), room);
            }
            let leaves = (!one.leaves.is_empty()).then(|| {
                [
                    top.wire(format!("core{core}_leave"), 1),
                    top.wire(format!("core{core}_leave_at"), index_bits(one.leaves.len() as u64).max(1)),
                    top.wire(format!("core{core}_leave_room"), 1),
                ]
            });
            if let Some(signals) = leaves {
                for (what, signal) in ["leave_o", "leave_at_o", "leave_room_i"].iter().zip(signals) {
                    Top::connect(&mut connections, *what, signal);
                }
            }
            sends.push((data, leaves));
            let module = parts.module(&one.name).map(|(_, module)| module);
            let ports: BTreeSet<String> = module
                .map(|module| module.ports().map(|(_, signal)| signal.name.clone()).collect())
                .unwrap_or_default();
            connections.retain(|connection| ports.contains(&connection.port));
            top.instances.push(Instance { name: format!("i_{}", one.name), module: one.name.clone(), connections });
        }
        // Links between processors.
        for (at, channel) in wired.channels.iter().enumerate() {
            let (Some(from), Some([put, room])) = (channel.from, begins[at]) else { continue };
            let (depth, latency) = (channel.depth as u64, channel.latency);
            let name = link::name(bits, depth, latency);
            if parts.module(&name).is_none() {
                parts.modules.push(link::module(bits, depth, latency));
            }
            let [data, valid, take] = ends[at];
            let signals = [
                ("data_i", sends[from].0),
                ("put_i", put),
                ("room_o", room),
                ("data_o", data),
                ("valid_o", valid),
                ("take_i", take),
            ];
            let connections =
                signals.map(|(port, signal)| Connection { port: port.to_owned(), signal }).into_iter().collect();
            top.instances.push(Instance { name: format!("i_link{at}"), module: name, connections });
        }
        self.feed(parts, names, &mut top, wired, &ends)?;
        self.collect(parts, names, &mut top, placed, &sends)?;
        let Top { mut m, instances } = top;
        m.instances = instances;
        Ok(m)
    }

    /// Feeders for the links from outside.
    fn feed(
        &self,
        parts: &mut Design,
        names: &mut BTreeSet<String>,
        top: &mut Top,
        wired: &Wired,
        ends: &[[SignalId; 3]],
    ) -> Result<(), String> {
        let bits = *self.machine.core.word_bits;
        let in_flight = self.design.in_flight as u64;
        // Ready signals of the feeders of each port.
        let mut readies: BTreeMap<usize, Vec<SignalId>> = BTreeMap::new();
        let mut wanted: Vec<(usize, Vec<usize>, Vec<OutsideWord>)> = Vec::new();
        for (at, words) in wired.outside.iter().enumerate() {
            let Some(words) = words else { continue };
            if wired.channels[at].from.is_some() {
                continue;
            }
            let ports: BTreeSet<usize> = words.iter().map(|word| word.port as usize).collect();
            if let Some(port) = ports.iter().find(|port| self.tokens.get(**port).is_none_or(Option::is_none)) {
                return Err(format!("a word comes from input {port}, of which all is known"));
            }
            wanted.push((at, ports.into_iter().collect(), words.clone()));
        }
        let used: BTreeSet<usize> = wanted.iter().flat_map(|(_, ports, _)| ports.iter().copied()).collect();
        let mut streams: BTreeMap<usize, [SignalId; 3]> = BTreeMap::new();
        for &port in &used {
            let (name, ty) = (&self.network.inputs[port].name, self.network.inputs[port].ty);
            let data = top.m.add(format!("{name}_data_i"), ty.width().max(1), SignalKind::Input);
            let valid = top.m.add(format!("{name}_valid_i"), 1, SignalKind::Input);
            let ready = top.m.add(format!("{name}_ready_o"), 1, SignalKind::Output);
            streams.insert(port, [data, valid, ready]);
        }
        for (at, ports, words) in wanted {
            let [data, valid, take] = ends[at];
            if words.is_empty() {
                top.m.assign(data, Expr::number(bits, 0));
                top.m.assign(valid, Expr::bit(false));
                continue;
            }
            let name = named(names, &format!("feeder{at}"));
            let count = |port: usize| self.tokens[port].unwrap_or(1).max(1) as u64;
            let feeds: Vec<FeedPort> = ports
                .iter()
                .map(|&port| {
                    let ty = self.network.inputs[port].ty;
                    let signed = matches!(ty, Scalar::Int(int) if int.signed);
                    FeedPort { width: ty.width().max(1), signed, tokens: count(port) * in_flight }
                })
                .collect();
            let fed = |word: &OutsideWord| -> Fed {
                let port = word.port as usize;
                let own = ports.iter().position(|known| *known == port).unwrap_or(0);
                (own, u64::from(word.message) * count(port) + u64::from(word.at), word.shift)
            };
            let words: Vec<Fed> = words.iter().map(fed).collect();
            parts.modules.push(edge::feeder(&name, bits, &feeds, &words));
            let mut connections = Vec::new();
            for (own, &port) in ports.iter().enumerate() {
                let [input, ..] = streams[&port];
                let comes = top.wire(format!("feeder{at}_{own}_valid"), 1);
                let ready = top.wire(format!("feeder{at}_{own}_ready"), 1);
                readies.entry(port).or_default().push(ready);
                Top::connect(&mut connections, format!("port{own}_data_i"), input);
                Top::connect(&mut connections, format!("port{own}_valid_i"), comes);
                Top::connect(&mut connections, format!("port{own}_ready_o"), ready);
                // A token goes to all that need it, in one cycle.
                let [_, valid, all] = streams[&port];
                let value = top.m.get(valid).and(top.m.get(all));
                top.m.assign(comes, value);
            }
            for (what, signal) in [("data_o", data), ("valid_o", valid), ("take_i", take)] {
                Top::connect(&mut connections, what, signal);
            }
            top.instances.push(Instance { name: format!("i_{name}"), module: name, connections });
        }
        for (port, [.., ready]) in streams {
            let all = readies.get(&port).into_iter().flatten().map(|&one| top.m.get(one));
            let value = all.fold(Expr::bit(true), Expr::and);
            top.m.assign(ready, value);
        }
        Ok(())
    }

    /// Collectors for the output ports.
    fn collect(
        &self,
        parts: &mut Design,
        names: &mut BTreeSet<String>,
        top: &mut Top,
        placed: &[Placed],
        sends: &[(SignalId, Option<[SignalId; 3]>)],
    ) -> Result<(), String> {
        let bits = *self.machine.core.word_bits;
        let values = &self.design.tasks.values;
        // Which processor lets the word of a position go, and as the how manieth.
        let mut leaf: HashMap<(u32, u32, u32), (usize, u64)> = HashMap::new();
        for (core, one) in placed.iter().enumerate() {
            for (number, (message, positions, limb)) in one.leaves.iter().enumerate() {
                for &position in positions {
                    leaf.insert((*message, position, *limb), (core, number as u64));
                }
            }
        }
        let mut rooms: BTreeMap<usize, Vec<SignalId>> = BTreeMap::new();
        let mut position = 0;
        for (stream, port) in self.design.tasks.outputs.iter().zip(&self.network.outputs) {
            let width = port.ty.width().max(1);
            let begin = position;
            position += stream.wires.len() as u32;
            if stream.wires.is_empty() {
                continue;
            }
            let mut cores: Vec<usize> = Vec::new();
            let mut tokens = Vec::new();
            for message in 0..self.design.in_flight as u32 {
                for (at, wire) in (begin..).zip(&stream.wires) {
                    let known = values.constant(wire.value).or_else(|| self.parameters.get(&wire.value).copied());
                    if let Some(known) = known {
                        tokens.push(Collected::Known((known as u64) & (u64::MAX >> (64 - width.min(64)))));
                        continue;
                    }
                    if matches!((values.node(wire.value).op, wire.from), (Op::Input(..), From::Outside(_))) {
                        return Err(format!("a token of `{}` goes through without any processor", port.name));
                    }
                    let n = values.n_words(wire.value, bits) as u32;
                    let words: Option<Vec<(usize, u64)>> =
                        (0..n).map(|limb| leaf.get(&(message, at, limb)).copied()).collect();
                    let words = words.ok_or_else(|| format!("a word of `{}` never leaves", port.name))?;
                    let core = words[0].0;
                    let own = cores.iter().position(|known| *known == core).unwrap_or_else(|| {
                        cores.push(core);
                        cores.len() - 1
                    });
                    let (value_bits, signed) = values.width(wire.value);
                    let places = words.iter().map(|(_, number)| *number).collect();
                    tokens.push(Collected::Words(own, places, value_bits, signed));
                }
            }
            // What is known comes with a period, too.
            if cores.is_empty() {
                cores.extend(placed.iter().position(|one| !one.leaves.is_empty()));
            }
            let leaves: Vec<u64> = cores.iter().map(|&core| placed[core].leaves.len() as u64).collect();
            let name = named(names, &format!("collector_{}", port.name));
            parts.modules.push(edge::collector(&name, bits, width, &leaves, &tokens));
            let data = top.m.add(format!("{}_data_o", port.name), width, SignalKind::Output);
            let valid = top.m.add(format!("{}_valid_o", port.name), 1, SignalKind::Output);
            let ready = top.m.add(format!("{}_ready_i", port.name), 1, SignalKind::Input);
            let mut connections = Vec::new();
            for (own, &core) in cores.iter().enumerate() {
                let (word, leaves) = sends[core];
                let [leave, at, _] = leaves.ok_or("a processor lets no word go")?;
                let room = top.wire(format!("{name}_room{own}"), 1);
                rooms.entry(core).or_default().push(room);
                for (what, signal) in [("data_i", word), ("leave_i", leave), ("at_i", at), ("room_o", room)] {
                    Top::connect(&mut connections, format!("core{own}_{what}"), signal);
                }
            }
            for (what, signal) in [("data_o", data), ("valid_o", valid), ("ready_i", ready)] {
                Top::connect(&mut connections, what, signal);
            }
            top.instances.push(Instance { name: format!("i_{name}"), module: name, connections });
        }
        let mut strobes = Vec::new();
        for (core, (_, leaves)) in sends.iter().enumerate() {
            let Some([leave, _, room]) = leaves else { continue };
            let all = rooms.get(&core).into_iter().flatten().map(|&one| top.m.get(one));
            let value = all.fold(Expr::bit(true), Expr::and);
            top.m.assign(*room, value);
            strobes.push(top.m.get(*leave));
        }
        if !strobes.is_empty() {
            let out = top.m.add("leaves_o", strobes.len() as u32, SignalKind::Output);
            strobes.reverse();
            top.m.assign(out, Expr::concat(strobes));
        }
        Ok(())
    }
}
