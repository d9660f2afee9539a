//! Networks: instances are added one after the other and read from the wires that are there, so that the graph has
//! no cycle except the loops that are built on purpose. Each network is an NL or an XDF file.

use super::actor::{ActorSpec, Entity, ParamSig, PortSig};
use super::network_text::{Arg, Connection, End, Instance, NetworkText};
use super::scope::Builder;
use super::tree::{Doc, NodeId};
use super::types::{Scalar, draw_bits, draw_scalar};
use super::unit::Unit;

/// Tokens that one wire may carry in a run, roughly.
const MOST_TOKENS: u64 = 500;

/// A source of tokens inside a network.
#[derive(Clone)]
struct Wire {
    from: End,
    scalar: Scalar,
    tokens: u64,
    uses: u32,
    /// Removing the instance removes the wire.
    node: Option<NodeId>,
}

/// A file of the program.
pub(crate) struct File {
    pub path: String,
    pub doc: Doc,
}

/// Everything that has been generated so far.
pub(crate) struct Library {
    pub files: Vec<File>,
    pub units: Vec<Unit>,
    pub entities: Vec<Entity>,
}

impl Library {
    fn add(&mut self, class: &str, extension: &str, doc: Doc) {
        self.files.push(File { path: format!("{}.{extension}", class.replace('.', "/")), doc });
    }
}

struct NetworkBuilder<'a, 'k> {
    b: &'a mut Builder<'k>,
    library: &'a mut Library,
    text: NetworkText,
    wires: Vec<Wire>,
    /// Sub-networks may be instantiated below this one.
    levels: u32,
    top: bool,
}

impl Builder<'_> {
    /// A network with these inputs; the token counts are what each input delivers.
    pub fn network(
        &mut self,
        library: &mut Library,
        name: &str,
        ins: &[(Scalar, u64)],
        levels: u32,
        top: bool,
    ) -> Entity {
        let nl = self.rng.chance(60);
        let package = if top || self.rng.chance(50) { "gen" } else { "gen.nets" };
        let mut n = NetworkBuilder {
            b: self,
            library,
            text: NetworkText::new(nl, package, name),
            wires: Vec::new(),
            levels,
            top,
        };
        n.build(ins)
    }
}

impl NetworkBuilder<'_, '_> {
    fn build(&mut self, ins: &[(Scalar, u64)]) -> Entity {
        for (scalar, tokens) in ins {
            let name = self.b.name("I");
            self.text.inputs.push(PortSig { name: name.clone(), scalar: *scalar });
            let from = End { instance: None, port: name };
            self.wires.push(Wire { from, scalar: *scalar, tokens: *tokens, uses: 0, node: None });
        }
        self.values();
        let n = 1 + self.b.rng.below(if self.top { self.b.knobs.instances } else { 3 });
        for _ in 0..n {
            match self.b.rng.weighted(&[66, 12, 10, 8, 4]) {
                1 if self.levels > 0 => self.sub_network(),
                2 => self.loop_pair(),
                3 => self.source(),
                4 => self.echo(),
                _ => self.instance(),
            }
        }
        self.outputs();
        self.entity_parameter();
        let total: u64 = ins.iter().map(|(_, n)| *n).max().unwrap_or(1).max(1);
        let most = self.text.outputs.iter().map(|o| o.tokens).max().unwrap_or(0);
        let class = format!("{}.{}", self.text.package, self.text.name);
        let doc = self.text.print(self.b);
        self.library.add(&class, if self.text.nl { "nl" } else { "xdf" }, doc);
        Entity {
            class,
            params: self.text.params.iter().map(|p| p.0.clone()).collect(),
            entity_params: self.text.entity_params.clone(),
            ins: self.text.inputs.clone(),
            outs: self.text.outputs.iter().map(|o| o.port.clone()).collect(),
            max_emit: most / total + 1,
            burst: 0,
            once: false,
            feedback: None,
        }
    }

    /// Parameters and constants of the network.
    fn values(&mut self) {
        let most = if self.top && !self.text.nl { 0 } else { 3 };
        for _ in 0..self.b.rng.below(most) {
            let name = self.b.name("P");
            let scalar = Scalar::Int { signed: self.b.rng.chance(50), bits: draw_bits(&mut self.b.rng, 32).max(4) };
            let default = (self.text.nl && (self.top || self.b.rng.chance(50))).then(|| self.b.rng.range(0, 7));
            let sig = ParamSig { name, scalar, pinned: None, has_default: default.is_some() };
            self.text.params.push((sig, default));
        }
        for _ in 0..self.b.rng.below(3) {
            let name = self.b.name("V");
            let value = if self.text.params.is_empty() || self.b.rng.chance(60) {
                Arg::Int(self.b.rng.range(0, 7))
            } else {
                let at = self.b.rng.below(self.text.params.len());
                Arg::Sum(self.text.params[at].0.name.clone(), self.b.rng.range(1, 3))
            };
            self.text.variables.push((name, value));
        }
    }

    fn arguments(&mut self, params: &[ParamSig]) -> Vec<(String, Arg)> {
        let mut out = Vec::new();
        for p in params {
            if p.has_default && self.b.rng.chance(40) {
                continue;
            }
            let mut names: Vec<String> = self.text.params.iter().map(|p| p.0.name.clone()).collect();
            names.extend(self.text.variables.iter().map(|v| v.0.clone()));
            let arg = match (p.pinned, p.scalar) {
                (Some(v), _) => Arg::Int(v),
                (_, Scalar::Bool) => Arg::Bool(self.b.rng.chance(50)),
                (_, Scalar::Int { signed, bits }) => match self.b.rng.pick(&names) {
                    Some(name) if self.b.rng.chance(40) => {
                        if self.b.rng.chance(50) {
                            Arg::Name(name.clone())
                        } else {
                            Arg::Sum(name.clone(), self.b.rng.range(1, 3))
                        }
                    }
                    _ => {
                        let most = (1i64 << bits.min(40).saturating_sub(u32::from(signed))) - 1;
                        let least = if signed { -most } else { 0 };
                        Arg::Int(self.b.rng.range(least, most))
                    }
                },
            };
            out.push((p.name.clone(), arg));
        }
        out
    }

    /// Makes the class of one instance a parameter with that class as its default.
    fn entity_parameter(&mut self) {
        if !self.text.nl || self.top || !self.b.rng.chance(25) {
            return;
        }
        let at = self.b.rng.below(self.text.instances.len());
        let name = self.b.name("E");
        let Some(instance) = self.text.instances.get_mut(at) else { return };
        // A default cannot have arguments that only the instance knows, but an instance may give more of them.
        let class = std::mem::replace(&mut instance.class, name.clone());
        self.text.entity_params.push((name, class));
    }

    /// Wires that can feed a port of this kind, the unread ones first in line.
    fn pick_wire(&mut self, is_bool: Option<bool>) -> Option<usize> {
        let fits = |w: &Wire| is_bool.is_none_or(|b| w.scalar.is_bool() == b) && w.tokens <= MOST_TOKENS;
        let all: Vec<usize> = (0..self.wires.len()).filter(|i| fits(&self.wires[*i])).collect();
        let unread: Vec<usize> = all.iter().copied().filter(|i| self.wires[*i].uses == 0).collect();
        let from = if !unread.is_empty() && self.b.rng.chance(75) { &unread } else { &all };
        let picked = self.b.rng.pick(from).copied();
        if let Some(i) = picked {
            self.wires[i].uses += 1;
        }
        picked
    }

    fn new_actor(&mut self, ins: Vec<Scalar>, outs: Vec<Scalar>, shape: Shape) -> Entity {
        let name = self.b.name("A");
        let package = ["gen", "gen.actors", "gen.actors.deep"][self.b.rng.below(3)];
        let units = std::mem::take(&mut self.library.units);
        let (imports, visible) = self.b.import(&units);
        self.library.units = units;
        let spec = ActorSpec {
            package: package.into(),
            name,
            ins,
            outs,
            slim: shape.slim,
            feedback: shape.feedback,
            relay: shape.relay,
            imports,
            visible,
            prints: self.top && self.b.knobs.prints && self.b.rng.chance(25),
            alone: false,
        };
        let (doc, entity) = self.b.actor(&spec);
        self.library.add(&entity.class, "cal", doc);
        if !entity.once && entity.feedback.is_none() {
            self.library.entities.push(entity.clone());
        }
        entity
    }

    fn draw_outs(&mut self, at_least: usize) -> Vec<Scalar> {
        let n = at_least + self.b.rng.weighted(&[40, 40, 20]);
        (0..n).map(|_| draw_scalar(&mut self.b.rng, self.b.knobs.widest)).collect()
    }

    /// A scalar that a token of this one converts to.
    fn relative(&mut self, scalar: Scalar) -> Scalar {
        if scalar.is_bool() || self.b.rng.chance(60) {
            return scalar;
        }
        Scalar::Int { signed: self.b.rng.chance(40), bits: draw_bits(&mut self.b.rng, self.b.knobs.widest) }
    }

    fn instance(&mut self) {
        let reusable: Vec<Entity> = self
            .library
            .entities
            .iter()
            .filter(|e| {
                e.ins.iter().all(|p| self.wires.iter().any(|w| w.scalar.is_bool() == p.scalar.is_bool()))
                    && !e.ins.is_empty()
                    && e.max_emit * (e.burst + 1) <= 4
            })
            .cloned()
            .collect();
        if !reusable.is_empty() && self.b.rng.chance(35) {
            let entity = reusable[self.b.rng.below(reusable.len())].clone();
            if self.text.nl && !entity.outs.is_empty() && self.b.rng.chance(30) {
                self.bank(&entity);
                return;
            }
            let feeds: Vec<Option<usize>> =
                entity.ins.iter().map(|p| self.pick_wire(Some(p.scalar.is_bool()))).collect();
            self.place(&entity, &feeds);
            return;
        }
        let n = if self.wires.is_empty() { 0 } else { 1 + self.b.rng.weighted(&[45, 40, 15]) };
        let feeds: Vec<Option<usize>> = (0..n).map(|_| self.pick_wire(None)).filter(|w| w.is_some()).collect();
        let ins: Vec<Scalar> = feeds.iter().flatten().map(|w| self.wires[*w].scalar).collect::<Vec<_>>();
        let ins = ins.into_iter().map(|s| self.relative(s)).collect();
        let most = feeds.iter().flatten().map(|w| self.wires[*w].tokens).max().unwrap_or(0);
        let at_least = usize::from(self.b.rng.chance(85));
        let outs = self.draw_outs(at_least);
        let entity = self.new_actor(ins, outs, Shape { slim: most > 120, ..Shape::default() });
        self.place(&entity, &feeds);
    }

    fn source(&mut self) {
        let outs = self.draw_outs(1);
        let entity = self.new_actor(Vec::new(), outs, Shape::default());
        self.place(&entity, &[]);
    }

    fn sub_network(&mut self) {
        let n = self.b.rng.range(1, 2);
        let feeds: Vec<Option<usize>> = (0..n).map(|_| self.pick_wire(None)).filter(|w| w.is_some()).collect();
        let ins: Vec<(Scalar, u64)> =
            feeds.iter().flatten().map(|w| (self.wires[*w].scalar, self.wires[*w].tokens.max(1))).collect();
        if ins.is_empty() {
            return;
        }
        let ins: Vec<(Scalar, u64)> = ins.into_iter().map(|(s, n)| (self.relative(s), n)).collect();
        let name = self.b.name("Net");
        let entity = self.b.network(self.library, &name, &ins, self.levels - 1, false);
        self.library.entities.push(entity.clone());
        self.place(&entity, &feeds);
    }

    /// An actor whose last output comes back to its last input, through a relay or directly.
    fn loop_pair(&mut self) {
        let Some(feed) = self.pick_wire(None) else { return self.source() };
        let scalar = self.wires[feed].scalar;
        let scalar = self.relative(scalar);
        let outs = self.draw_outs(1);
        let entity = self.new_actor(vec![scalar], outs, Shape { feedback: true, ..Shape::default() });
        let Some((back, to)) = entity.feedback else { return };
        let (node, name) = self.place(&entity, &[Some(feed)]);
        let out = End { instance: Some(name.clone()), port: entity.outs[to].name.clone() };
        let into = End { instance: Some(name), port: entity.ins[back].name.clone() };
        let carried = entity.outs[to].scalar;
        if self.b.rng.chance(40) {
            self.connect(out, into, &[node]);
            return;
        }
        let middle = self.relative(carried);
        let relay = self.new_actor(vec![middle], vec![carried], Shape { relay: true, ..Shape::default() });
        let (relay_node, relay_name) = self.place(&relay, &[None]);
        let relay_in = End { instance: Some(relay_name.clone()), port: relay.ins[0].name.clone() };
        let relay_out = End { instance: Some(relay_name), port: relay.outs[0].name.clone() };
        self.connect(out, relay_in, &[node, relay_node]);
        self.connect(relay_out, into, &[node, relay_node]);
    }

    /// An actor that goes first for what it sent to itself, which it must see at once: absent tokens decide there, and no
    /// order of firings does. Others may get copies of these tokens, too.
    fn echo(&mut self) {
        let Some(feed) = self.pick_wire(Some(false)) else { return self.source() };
        let scalar = self.relative(self.wires[feed].scalar);
        let back = Scalar::uint(draw_bits(&mut self.b.rng, 80));
        let out = Scalar::uint(draw_bits(&mut self.b.rng, 40));
        let (name, kept) = (self.b.name("A"), self.b.name("v"));
        let ports = ["In", "Back", "Loop", "Out"].map(|like| self.b.name(like));
        let [into, back_in, back_out, to] = &ports;
        let (takes, makes) = (self.b.rng.range(1, 3), self.b.rng.range(1, 4));
        let first = self.b.rng.below(3);
        let list = |n: i64, text: &dyn Fn(i64) -> String| (0..n).map(text).collect::<Vec<_>>().join(", ");
        let mut lines = vec![
            "package gen;".to_owned(),
            String::new(),
            format!(
                "actor {name}() {} {into}, {} {back_in} ==> {} {back_out}, {} {to} :",
                scalar.text(&mut self.b.rng),
                back.text(&mut self.b.rng),
                back.text(&mut self.b.rng),
                out.text(&mut self.b.rng),
            ),
            format!("    int {kept} := 1;"),
        ];
        if first > 0 {
            let tokens = list(first as i64, &|at| at.to_string());
            lines.push(format!("    initialize ==> {back_out}:[{tokens}] end"));
        }
        let pattern = list(takes, &|at| format!("x{at}"));
        let sum = (0..takes).map(|at| format!("x{at}")).collect::<Vec<_>>().join(" + ");
        lines.extend([
            format!("    back: action {back_in}:[{pattern}] ==> {to}:[{kept}] do {kept} := {kept} * 3 + {sum}; end"),
            format!(
                "    go: action {into}:[y] ==> {back_out}:[{}], {to}:[{kept} + y] do {kept} := {kept} + 1; end",
                list(makes, &|at| format!("y + {kept} * {at}"))
            ),
            "    priority back > go; end".to_owned(),
            "end".to_owned(),
        ]);
        let doc = Doc::Seq(lines.into_iter().flat_map(|line| [Doc::text(line), Doc::Line]).collect());
        let port = |name: &String, scalar| PortSig { name: name.clone(), scalar };
        let entity = Entity {
            class: format!("gen.{name}"),
            params: Vec::new(),
            entity_params: Vec::new(),
            ins: vec![port(into, scalar), port(back_in, back)],
            outs: vec![port(back_out, back), port(to, out)],
            max_emit: 1 + makes as u64,
            burst: 2,
            once: false,
            feedback: Some((1, 0)),
        };
        self.library.add(&entity.class, "cal", doc);
        let (node, instance) = self.place(&entity, &[Some(feed)]);
        let from = End { instance: Some(instance.clone()), port: back_out.clone() };
        let to = End { instance: Some(instance), port: back_in.clone() };
        let needs = vec![self.b.node(), node];
        self.text.connections.push(Connection { from: from.clone(), to, buffer: None, needs });
        if self.b.rng.chance(40) {
            let tokens = (self.wires[feed].tokens + 2) * makes as u64;
            self.wires.push(Wire { from, scalar: back, tokens, uses: 0, node: Some(node) });
        }
    }

    /// Adds an instance fed by these wires; its outputs become wires.
    fn place(&mut self, entity: &Entity, feeds: &[Option<usize>]) -> (NodeId, String) {
        let name = self.b.name("n");
        let node = self.b.node();
        let args = self.arguments(&entity.params);
        let mut args = args;
        for (name, class) in &entity.entity_params {
            if self.text.nl && self.b.rng.chance(60) {
                args.push((name.clone(), Arg::Entity(class.clone())));
            }
        }
        self.text.instances.push(Instance { name: name.clone(), class: entity.class.clone(), args, count: None, node });
        let mut most = 0;
        for (port, feed) in entity.ins.iter().zip(feeds) {
            let Some(feed) = feed else { continue };
            if self.b.rng.chance(1) {
                continue;
            }
            let wire = self.wires[*feed].clone();
            most = most.max(wire.tokens);
            let to = End { instance: Some(name.clone()), port: port.name.clone() };
            let nodes: Vec<NodeId> = wire.node.into_iter().chain([node]).collect();
            self.connect(wire.from, to, &nodes);
        }
        let tokens = (most * (1 + entity.burst)).max(entity.burst) * entity.max_emit;
        for (i, port) in entity.outs.iter().enumerate() {
            if entity.feedback.is_some_and(|(_, to)| to == i) {
                continue;
            }
            let from = End { instance: Some(name.clone()), port: port.name.clone() };
            self.wires.push(Wire { from, scalar: port.scalar, tokens, uses: 0, node: Some(node) });
        }
        (node, name)
    }

    /// An array of instances, in a chain or side by side. Only in NL.
    fn bank(&mut self, entity: &Entity) {
        let n = self.b.rng.range(2, 3) as u32;
        let feeds: Vec<Option<usize>> = entity.ins.iter().map(|p| self.pick_wire(Some(p.scalar.is_bool()))).collect();
        let name = self.b.name("bank");
        let node = self.b.node();
        let args = self.arguments(&entity.params);
        self.text.instances.push(Instance {
            name: name.clone(),
            class: entity.class.clone(),
            args,
            count: Some(n),
            node,
        });
        let chained = entity.ins[0].scalar.is_bool() == entity.outs[0].scalar.is_bool()
            && entity.max_emit * (entity.burst + 1) <= 2
            && self.b.rng.chance(60);
        let variable = self.b.name("j");
        let mut most = 0;
        for (i, (port, feed)) in entity.ins.iter().zip(&feeds).enumerate() {
            let Some(feed) = feed else { continue };
            let wire = self.wires[*feed].clone();
            most = most.max(wire.tokens);
            let nodes: Vec<NodeId> = wire.node.into_iter().chain([node]).collect();
            if chained && i == 0 {
                let to = End { instance: Some(format!("{name}[0]")), port: port.name.clone() };
                self.connect(wire.from, to, &nodes);
                let out = &entity.outs[0].name;
                self.text.lines.push((
                    vec![node],
                    format!(
                        "foreach int {variable} in 0 .. {} do {name}[{variable}].{out} --> {name}[{variable} + 1].{}; end",
                        n - 2,
                        port.name
                    ),
                ));
            } else {
                let from = wire.from.nl();
                self.text.lines.push((
                    nodes,
                    format!(
                        "foreach int {variable} in 0 .. {} do {from} --> {name}[{variable}].{}; end",
                        n - 1,
                        port.name
                    ),
                ));
            }
        }
        let factor = if chained { entity.max_emit.pow(n) } else { entity.max_emit };
        let tokens = (most * (1 + entity.burst)).max(entity.burst) * factor;
        for at in if chained { n - 1..n } else { 0..n } {
            for port in &entity.outs {
                let from = End { instance: Some(format!("{name}[{at}]")), port: port.name.clone() };
                self.wires.push(Wire { from, scalar: port.scalar, tokens, uses: 0, node: Some(node) });
            }
        }
    }

    fn connect(&mut self, from: End, to: End, nodes: &[NodeId]) {
        let buffer = self.b.rng.chance(15).then(|| self.b.rng.range(1, 40) as u32);
        let mut needs = vec![self.b.node()];
        needs.extend_from_slice(nodes);
        self.text.connections.push(Connection { from, to, buffer, needs });
    }

    /// Sends what nobody reads to the network's outputs; some of it is dropped.
    fn outputs(&mut self) {
        let mut chosen: Vec<usize> = Vec::new();
        for i in 0..self.wires.len() {
            let unread = self.wires[i].uses == 0;
            let instance = self.wires[i].from.instance.is_some();
            let percent = if unread && instance {
                85
            } else if unread {
                30
            } else {
                8
            };
            if chosen.len() < 6 && self.b.rng.chance(percent) {
                chosen.push(i);
            }
        }
        if chosen.is_empty() && !self.wires.is_empty() {
            chosen.push(self.wires.len() - 1);
        }
        for i in chosen {
            let wire = self.wires[i].clone();
            let name = self.b.name("O");
            let scalar = self.relative(wire.scalar);
            self.text.outputs.push(super::network_text::Output {
                port: PortSig { name: name.clone(), scalar },
                tokens: wire.tokens,
            });
            let to = End { instance: None, port: name };
            self.connect(wire.from, to, &wire.node.into_iter().collect::<Vec<_>>());
        }
    }
}

#[derive(Default)]
struct Shape {
    slim: bool,
    feedback: bool,
    relay: bool,
}
