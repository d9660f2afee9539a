//! Actors, determinate by construction: in every state of an actor the choice among its actions depends on its own
//! state and on token values, never on which tokens happen to be there. The actions of a *group* are tried
//! together, and a group keeps to one of these rules:
//!
//! * *same*: all actions take the same number of tokens from each port, so guards may overlap and priorities may
//!   order them in any way;
//! * *selected*: guards exclude each other by the value of the first token of a port that all of them read, so
//!   token counts may differ;
//! * *modes*: guards exclude each other by a state variable;
//! * *burst*: one action loads a counter and takes tokens, another counts down and takes none;
//! * *source*: one action counts down from a constant and takes none.
//!
//! An action that takes no token has a counter that only it lowers, so every run ends.

use super::scope::{Builder, Callable, Scope, Var};
use super::tree::{Doc, Sort};
use super::types::{Bound, Scalar, Ty};

/// A port of a generated entity.
#[derive(Clone, Debug)]
pub(crate) struct PortSig {
    pub name: String,
    pub scalar: Scalar,
}

/// A parameter of a generated entity.
#[derive(Clone, Debug)]
pub(crate) struct ParamSig {
    pub name: String,
    pub scalar: Scalar,
    /// The only value that instances may give, where the entity was built on it.
    pub pinned: Option<i64>,
    /// May be left out.
    pub has_default: bool,
}

/// What a network needs to know of an entity to instantiate it.
#[derive(Clone, Debug)]
pub(crate) struct Entity {
    pub class: String,
    pub params: Vec<ParamSig>,
    /// Parameters that stand for entities, with what they stand for by default.
    pub entity_params: Vec<(String, String)>,
    pub ins: Vec<PortSig>,
    pub outs: Vec<PortSig>,
    /// Most tokens that a firing sends to one output.
    pub max_emit: u64,
    /// Most firings without input per firing with input, and in all for sources.
    pub burst: u64,
    /// May be instantiated once only.
    pub once: bool,
    /// Input, output and number of tokens that an external loop carries.
    pub feedback: Option<(usize, usize)>,
}

/// What is asked of an actor.
pub(crate) struct ActorSpec {
    pub package: String,
    pub name: String,
    pub ins: Vec<Scalar>,
    pub outs: Vec<Scalar>,
    /// At most one token per output and firing, and no bursts.
    pub slim: bool,
    pub feedback: bool,
    /// Takes one token and gives one token on every firing: may stand in a loop.
    pub relay: bool,
    pub imports: Vec<String>,
    /// Constants and functions that the imports make visible.
    pub visible: Scope,
    pub prints: bool,
    /// Stands alone: every parameter has a default.
    pub alone: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    Same,
    Selected,
    Modes,
    Burst,
    Source,
}

struct Action {
    /// The part of the tag below the group's, empty for none.
    tag: String,
    doc: Doc,
}

/// Actions that are tried together.
struct Group {
    tag: String,
    tags: Vec<String>,
    rule: Rule,
}

/// Tokens that an action takes of each port.
type Demand = Vec<(usize, u32)>;

/// What an action needs besides random parts.
#[derive(Default)]
struct Frame {
    guards: Vec<String>,
    /// Selector over the first token of a port: port, modulus, value.
    select: Option<(usize, i64, i64)>,
    random_guard: bool,
    epilogue: Vec<String>,
    /// Statement that sets a counter to a small computed number.
    load: Option<(String, i64)>,
}

struct ActorBuilder<'a, 'k> {
    b: &'a mut Builder<'k>,
    spec: &'a ActorSpec,
    ins: Vec<PortSig>,
    outs: Vec<PortSig>,
    scope: Scope,
    slim: bool,
    max_emit: u64,
    burst: u64,
    feedback: Option<(usize, usize, u32)>,
    members: Vec<Doc>,
    state: Vec<Doc>,
    groups: Vec<Group>,
    /// Actions get tags.
    tagged: bool,
    /// Counter of the untagged action that steps beside a machine, if there is one.
    aside: Option<String>,
}

impl Builder<'_> {
    /// An actor and its interface.
    pub fn actor(&mut self, spec: &ActorSpec) -> (Doc, Entity) {
        let mut ins: Vec<PortSig> = Vec::new();
        for scalar in &spec.ins {
            ins.push(PortSig { name: self.name("In"), scalar: *scalar });
        }
        let mut outs: Vec<PortSig> = Vec::new();
        for scalar in &spec.outs {
            outs.push(PortSig { name: self.name("Out"), scalar: *scalar });
        }
        let feedback = spec.feedback.then(|| {
            let scalar = Scalar::uint(super::types::draw_bits(&mut self.rng, 64));
            ins.push(PortSig { name: self.name("Back"), scalar });
            outs.push(PortSig { name: self.name("Loop"), scalar });
            (ins.len() - 1, outs.len() - 1, self.rng.range(1, 3) as u32)
        });
        self.prints_as = spec.prints.then(|| spec.name.clone());
        let scope = spec.visible.clone();
        let slim = spec.slim || spec.feedback || spec.relay;
        let mut a = ActorBuilder {
            b: self,
            spec,
            ins,
            outs,
            scope,
            slim,
            max_emit: 1,
            burst: 0,
            feedback,
            members: Vec::new(),
            state: Vec::new(),
            groups: Vec::new(),
            tagged: true,
            aside: None,
        };
        let built = a.build();
        self.prints_as = None;
        self.texts.clear();
        built
    }
}

impl ActorBuilder<'_, '_> {
    fn build(&mut self) -> (Doc, Entity) {
        let params = self.parameters();
        self.constants();
        let before = self.callables();
        self.state_variables();
        let after = self.callables();
        self.initializers();
        let tail = self.behaviour();

        let mut head = vec![Doc::text(format!("package {};", self.spec.package)), Doc::Line, Doc::Line];
        for import in &self.spec.imports {
            head.push(self.b.item(vec![Doc::text(format!("import {import};")), Doc::Line]));
        }
        if self.b.rng.chance(10) {
            head.push(Doc::text("@note(text=\"generated\", kept)"));
            head.push(Doc::Line);
        }
        head.push(Doc::text(format!("actor {}(", self.spec.name)));
        let shown: Vec<Doc> = params.iter().map(|p| p.1.clone()).collect();
        head.push(Doc::Joined { open: "", sep: ", ", close: "", items: shown });
        head.push(Doc::text(")"));
        head.push(Doc::Line);
        let ports = |me: &mut Self, list: &[PortSig]| {
            let texts: Vec<String> =
                list.iter().map(|p| format!("{} {}", p.scalar.text(&mut me.b.rng), p.name)).collect();
            me.b.name_sizes(&me.scope, texts.join(", "))
        };
        let ins = ports(self, &self.ins.clone());
        let outs = ports(self, &self.outs.clone());
        head.push(Doc::Nest(vec![Doc::text(format!("{ins} ==> {outs} :")), Doc::Line]));
        let state = std::mem::take(&mut self.state);
        let mut body = self.merge(vec![before, state, after]);
        let members = std::mem::take(&mut self.members);
        body = if self.b.rng.chance(70) {
            body.extend(members);
            body
        } else {
            self.merge(vec![body, members])
        };
        if self.b.rng.chance(85) {
            body.extend(tail);
        } else {
            body = self.merge(vec![tail, body]);
        }
        head.push(Doc::Nest(body.into_iter().flat_map(|d| [d, Doc::Line]).collect()));
        head.extend([Doc::text("end"), Doc::Line]);
        let entity = Entity {
            class: format!("{}.{}", self.spec.package, self.spec.name),
            params: params.into_iter().map(|p| p.0).collect(),
            entity_params: Vec::new(),
            ins: self.ins.clone(),
            outs: self.outs.clone(),
            max_emit: self.max_emit,
            burst: self.burst,
            once: self.spec.prints,
            feedback: self.feedback.map(|(i, o, _)| (i, o)),
        };
        (Doc::Seq(head), entity)
    }

    /// Merges lists at random, keeping the order within each.
    fn merge(&mut self, lists: Vec<Vec<Doc>>) -> Vec<Doc> {
        let mut lists: Vec<std::collections::VecDeque<Doc>> = lists.into_iter().map(Into::into).collect();
        let mut out = Vec::new();
        loop {
            lists.retain(|l| !l.is_empty());
            if lists.is_empty() {
                return out;
            }
            let at = self.b.rng.below(lists.len());
            out.extend(lists[at].pop_front());
        }
    }

    fn parameters(&mut self) -> Vec<(ParamSig, Doc)> {
        let mut out: Vec<(ParamSig, Doc)> = Vec::new();
        for _ in 0..self.b.rng.weighted(&[45, 30, 15, 10]) {
            let name = self.b.name("k");
            let pinned = self.b.rng.chance(35).then(|| self.b.rng.range(1, 6));
            let scalar = if pinned.is_some() {
                [Scalar::uint(8), Scalar::Int { signed: true, bits: 32 }][self.b.rng.below(2)]
            } else {
                super::types::draw_scalar(&mut self.b.rng, 64)
            };
            let ty = Ty::scalar(scalar);
            let has_default = pinned.is_some() || self.spec.alone || self.b.rng.chance(40);
            let mut doc = vec![Doc::text(ty.declare(&name, &mut self.b.rng))];
            if has_default {
                doc.push(Doc::text(" = "));
                let value = match pinned {
                    Some(v) => self.b.number(v).expr,
                    None => {
                        self.b.budget = 20;
                        self.b.widest = 72;
                        let constants = self.scope.constants(false);
                        self.b.value(&constants, &ty, 1)
                    }
                };
                doc.push(Doc::Expr(value));
            }
            let mut var = Var::new(name.clone(), ty).fixed();
            var.constant = true;
            if let Some(v) = pinned {
                var.bound = Bound::range(v, v);
            }
            self.scope.add(var);
            out.push((ParamSig { name, scalar, pinned, has_default }, Doc::Seq(doc)));
        }
        // A default may use earlier parameters, but a parameter without one may not follow one by position.
        out
    }

    fn constants(&mut self) {
        if self.spec.prints && self.b.rng.chance(40) {
            let name = self.b.name("text");
            let sign = if self.b.rng.chance(50) { "=" } else { ":=" };
            self.state.push(Doc::text(format!("String {name} {sign} \"<{name}>\";")));
            self.b.texts.push(name);
        }
        for _ in 0..self.b.rng.below(4) {
            let name = self.b.name("C");
            if self.b.rng.chance(45) {
                let v = self.b.rng.range(1, 8);
                let number = self.b.number(v).expr;
                let doc = vec![Doc::text(format!("uint(size=8) {name} = ")), Doc::Expr(number), Doc::text(";")];
                let mut var = Var::new(name, Ty::scalar(Scalar::uint(8))).fixed();
                var.constant = true;
                var.bound = Bound::range(v, v);
                self.scope.add(var);
                let doc = self.b.item(doc);
                self.state.push(doc);
                continue;
            }
            let ty = self.b.draw_type(50);
            let mut var = Var::new(name.clone(), ty.clone()).fixed();
            var.constant = true;
            let doc = self.initialised(&ty, &name, " = ", false);
            self.scope.add(var);
            self.state.push(doc);
        }
    }

    fn initialised(&mut self, ty: &Ty, name: &str, sign: &str, state: bool) -> Doc {
        self.b.budget = 60;
        self.b.draw_widest();
        let constants = self.scope.constants(state);
        let declared = self.b.declare(&constants, ty, name);
        let value = self.b.value(&constants, ty, 2);
        let doc = vec![Doc::text(declared), Doc::text(sign.to_owned()), Doc::Expr(value), Doc::text(";")];
        self.b.item(doc)
    }

    fn state_variables(&mut self) {
        for _ in 0..self.b.rng.below(5) {
            let ty = self.b.draw_type(55);
            let name = self.b.name("s");
            let doc = if self.b.rng.chance(65) {
                self.initialised(&ty, &name, " := ", true)
            } else {
                let text = self.b.declare(&self.scope.constants(false), &ty, &name);
                self.b.item(vec![Doc::text(text), Doc::text(";")])
            };
            let mut var = Var::new(name, ty);
            var.state = true;
            self.scope.add(var);
            self.state.push(doc);
        }
    }

    /// A state variable that random statements may read but not assign.
    fn protected(&mut self, stem: &str, scalar: Scalar, initial: i64, bound: Option<(i64, i64)>) -> String {
        let name = self.b.name(stem);
        let text = scalar.text(&mut self.b.rng);
        self.state.push(Doc::text(format!("{text} {name} := {initial};")));
        let mut var = Var::new(name.clone(), Ty::scalar(scalar)).fixed();
        var.state = true;
        if let Some((lo, hi)) = bound {
            var.bound = Bound::range(lo, hi);
        }
        self.scope.add(var);
        name
    }

    fn callables(&mut self) -> Vec<Doc> {
        let mut out = Vec::new();
        for _ in 0..self.b.rng.weighted(&[50, 30, 15, 5]) {
            let (doc, callable): (Doc, Callable) = if self.b.rng.chance(55) {
                let name = self.b.name("f");
                self.b.function(&self.scope, name)
            } else {
                let name = self.b.name("q");
                self.b.procedure(&self.scope, name)
            };
            self.scope.callables.push(callable);
            out.push(doc);
        }
        out
    }

    fn initializers(&mut self) {
        if let Some((_, out, n)) = self.feedback {
            let values: Vec<String> = (0..n).map(|_| self.b.rng.range(0, 1).to_string()).collect();
            let doc = Doc::text(format!("initialize ==> {}:[{}] end", self.outs[out].name, values.join(", ")));
            self.members.push(doc);
        }
        for _ in 0..self.b.rng.weighted(&[70, 20, 10]) {
            let random_guard = self.b.rng.chance(30) && !self.b.knobs.steady;
            let frame = Frame { random_guard, ..Frame::default() };
            let doc = self.action(&Vec::new(), &frame, "", true).doc;
            self.members.push(doc);
        }
    }

    /// The token counts of a group: most ports, small counts.
    fn demand(&mut self) -> Demand {
        let mut out = Vec::new();
        if self.spec.relay {
            return vec![(0, 1)];
        }
        for port in 0..self.ins.len() {
            match self.feedback {
                Some((back, _, n)) if back == port => {
                    out.push((port, self.b.rng.range(1, i64::from(n)) as u32));
                }
                _ => {
                    // A loop that needs nothing from outside would turn for ever.
                    if self.feedback.is_some() || self.b.rng.chance(88) {
                        out.push((port, [1, 1, 1, 1, 2, 2, 3, 4, 6][self.b.rng.below(9)]));
                    }
                }
            }
        }
        if out.is_empty() && !self.ins.is_empty() {
            out.push((self.b.rng.below(self.ins.len()), 1));
        }
        out
    }

    /// Actions and schedule; returns what comes after the actions.
    fn behaviour(&mut self) -> Vec<Doc> {
        if self.ins.is_empty() {
            self.group(Rule::Source);
            return self.schedule(1);
        }
        if self.feedback.is_some() {
            self.group(Rule::Same);
            return self.schedule(1);
        }
        if self.spec.relay {
            self.group(Rule::Same);
            return Vec::new();
        }
        match self.b.rng.weighted(&[45, 40, 15]) {
            0 => {
                let rule = self.draw_rule();
                self.tagged = self.b.rng.chance(60);
                self.group(rule);
                if self.tagged { self.schedule(1) } else { Vec::new() }
            }
            1 => {
                let n = 1 + self.b.rng.below(3);
                if self.b.rng.chance(25) {
                    self.step_aside();
                }
                for _ in 0..n {
                    let rule = self.draw_rule();
                    self.group(rule);
                }
                let n_states = n + self.b.rng.below(2);
                self.schedule(n_states)
            }
            _ => {
                let rule = if self.b.rng.chance(60) || self.b.knobs.steady { Rule::Same } else { Rule::Selected };
                self.group(rule);
                self.regexp()
            }
        }
    }

    /// An untagged action: eligible in every state of the machine and tried before the others.
    fn step_aside(&mut self) {
        let left = self.protected("pend", Scalar::uint(3), 2, Some((0, 2)));
        self.aside = Some(left.clone());
        let frame = Frame {
            guards: vec![format!("{left} > 0")],
            epilogue: vec![format!("{left} := {left} - 1;")],
            ..Frame::default()
        };
        let doc = self.action(&Vec::new(), &frame, "", false).doc;
        self.members.push(doc);
        self.burst = self.burst.max(2);
    }

    fn draw_rule(&mut self) -> Rule {
        let burst = if self.slim { 0 } else { 15 };
        let selected = if self.b.knobs.steady { 0 } else { 22 };
        [Rule::Same, Rule::Selected, Rule::Modes, Rule::Burst][self.b.rng.weighted(&[45, selected, 18, burst])]
    }

    fn group(&mut self, rule: Rule) {
        let tag = self.b.name("a");
        let mut frames: Vec<(Demand, Frame)> = Vec::new();
        let steady = self.b.knobs.steady;
        let n = if self.spec.relay || steady && rule == Rule::Same {
            1
        } else {
            1 + self.b.rng.weighted(&[30, 35, 25, 10])
        };
        match rule {
            Rule::Same => {
                let demand = self.demand();
                for i in 0..n {
                    // The last one is mostly unguarded, so that something fires.
                    let random_guard = i + 1 < n || (self.b.rng.chance(12) && !self.spec.relay && !steady);
                    frames.push((demand.clone(), Frame { random_guard, ..Frame::default() }));
                }
            }
            Rule::Selected => {
                let n = n.max(2);
                let port = self.b.rng.below(self.ins.len());
                for i in 0..n {
                    let mut demand = self.demand();
                    if !demand.iter().any(|(p, _)| *p == port) {
                        demand.insert(0, (port, 1));
                    }
                    let select = Some((port, n as i64, i as i64));
                    frames.push((demand, Frame { select, ..Frame::default() }));
                }
            }
            Rule::Modes => {
                let n = n.max(2);
                let scalar = [Scalar::uint(2), Scalar::uint(8), Scalar::Int { signed: true, bits: 16 }];
                let scalar = scalar[self.b.rng.below(3)];
                let mode = self.protected("m", scalar, 0, Some((0, n as i64 - 1)));
                for i in 0..n {
                    let demand = self.demand();
                    let guards = vec![format!("{mode} = {i}")];
                    let load = (!steady).then(|| (mode.clone(), n as i64));
                    let next = format!("{mode} := {};", (i + 1) % n);
                    let epilogue = if steady { vec![next] } else { Vec::new() };
                    frames.push((demand, Frame { guards, load, epilogue, ..Frame::default() }));
                }
            }
            Rule::Burst => {
                let left = self.protected("left", Scalar::uint(8), 0, Some((0, 5)));
                let demand = self.demand();
                let load = (!steady).then(|| (left.clone(), 6));
                let epilogue = if steady { vec![format!("{left} := {};", self.b.rng.range(0, 5))] } else { Vec::new() };
                frames
                    .push((demand, Frame { guards: vec![format!("{left} = 0")], load, epilogue, ..Frame::default() }));
                frames.push((
                    Vec::new(),
                    Frame {
                        guards: vec![format!("{left} > 0")],
                        epilogue: vec![format!("{left} := {left} - 1;")],
                        ..Frame::default()
                    },
                ));
                self.burst = self.burst.max(5);
            }
            Rule::Source => {
                let n_firings = self.b.rng.range(1, 20);
                let left = self.protected("left", Scalar::uint(8), n_firings, Some((0, n_firings)));
                frames.push((
                    Vec::new(),
                    Frame {
                        guards: vec![format!("{left} > 0")],
                        epilogue: vec![format!("{left} := {left} - 1;")],
                        ..Frame::default()
                    },
                ));
                self.burst = n_firings as u64;
            }
        }
        let mut tags = Vec::new();
        let single = frames.len() == 1;
        for (i, (demand, frame)) in frames.iter().enumerate() {
            // An action of a group without schedule needs no tag, and its neighbours may have one.
            let own = if !self.tagged && self.b.rng.chance(80) {
                String::new()
            } else if single && self.b.rng.chance(50) {
                tag.clone()
            } else if self.b.rng.chance(25) {
                format!("{tag}.b{i}.deep")
            } else {
                format!("{tag}.b{i}")
            };
            let action = self.action(demand, frame, &own, false);
            tags.push(action.tag);
            self.members.push(action.doc);
        }
        self.groups.push(Group { tag, tags, rule });
    }

    fn action(&mut self, demand: &Demand, frame: &Frame, tag: &str, initialize: bool) -> Action {
        self.b.draw_widest();
        self.b.budget = self.b.knobs.action_budget;
        self.b.locals.clear();
        let mut scope = self.scope.clone();
        scope.times = 1;
        let mut patterns = Vec::new();
        let mut select = String::new();
        for (port, count) in demand {
            let (text, vars, first) = self.pattern(*port, *count, &scope);
            for var in vars {
                scope.add(var);
            }
            if let Some((selected, modulus, value)) = frame.select
                && selected == *port
            {
                select = if self.ins[*port].scalar.is_bool() {
                    // Of more than two, only two can ever fire; the rest cover dead actions.
                    let not = if value == 0 { "not " } else { "" };
                    if value > 1 { "false".to_owned() } else { format!("{not}{first}") }
                } else {
                    format!("({first} mod {modulus}) = {value}")
                };
            }
            patterns.push(Doc::text(text));
        }
        let before = scope.clone();
        let mut locals = self.b.draw_locals(&mut scope, 3, 60);
        let mut guards: Vec<Doc> = Vec::new();
        if !select.is_empty() {
            guards.push(Doc::text(select));
        }
        guards.extend(frame.guards.iter().map(Doc::text));
        if frame.random_guard {
            let mut seen = before.read_only();
            // A local may hide a state variable, and a guard may not name a local.
            seen.vars.retain(|v| scope.vars.iter().any(|w| w.name == v.name && w.state == v.state));
            seen.times = 4;
            for _ in 0..1 + self.b.rng.weighted(&[80, 20]) {
                let e = self.b.boolean(&seen, 2);
                let guard = Doc::Expr(e);
                guards.push(self.b.item(vec![guard]));
            }
        }
        let n = 1 + self.b.rng.below(self.b.knobs.statements);
        let mut body = self.b.statements(&mut scope, n, 2);
        locals.append(&mut self.b.locals);
        if let Some((name, modulus)) = &frame.load {
            self.b.budget = self.b.budget.max(4);
            let e = self.b.int(&scope, 2).expr;
            let m = self.b.number(*modulus).expr;
            let e = self.b.binary("mod", e, m, Sort::Other);
            body.extend([Doc::text(format!("{name} := ")), Doc::Expr(e), Doc::text(";"), Doc::Line]);
        }
        if let (Some(left), false, false) = (self.aside.clone(), demand.is_empty(), tag.is_empty())
            && !self.b.knobs.steady
            && self.b.rng.chance(40)
        {
            self.b.budget = self.b.budget.max(4);
            let e = self.b.int(&scope, 1);
            let e = self.b.masked(e, 1).expr;
            body.extend([Doc::text(format!("{left} := ")), Doc::Expr(e), Doc::text(";"), Doc::Line]);
        }
        for line in &frame.epilogue {
            body.extend([Doc::text(line.clone()), Doc::Line]);
        }
        let outputs = self.outputs(demand, &scope, initialize);

        let mut doc = Vec::new();
        if !tag.is_empty() {
            doc.push(Doc::text(format!("{tag}: ")));
        }
        doc.push(Doc::text(if initialize { "initialize" } else { "action" }));
        doc.push(Doc::Joined { open: " ", sep: ", ", close: "", items: patterns });
        doc.push(Doc::text(" ==>"));
        doc.push(Doc::Joined { open: " ", sep: ", ", close: "", items: outputs });
        doc.push(Doc::Line);
        if !guards.is_empty() {
            doc.push(Doc::Nest(vec![Doc::Joined { open: "guard ", sep: ", ", close: "", items: guards }, Doc::Line]));
        }
        doc.extend(self.b.var_section(locals));
        if !body.is_empty() {
            doc.extend([Doc::text("do"), Doc::Line, Doc::Nest(body)]);
        }
        doc.push(Doc::text("end"));
        Action { tag: tag.to_owned(), doc: self.b.item(doc) }
    }

    /// `count` tokens of a port in one of the pattern's forms: the text, what it binds, the first token.
    fn pattern(&mut self, port: usize, count: u32, scope: &Scope) -> (String, Vec<Var>, String) {
        let PortSig { name: port, scalar } = self.ins[port].clone();
        let names = |me: &mut Self, n: u32| -> Vec<String> { (0..n).map(|_| me.b.name("x")).collect() };
        let groups: Vec<u32> = (1..=count).filter(|k| count.is_multiple_of(*k)).collect();
        let listed = count > 1 && self.b.rng.chance(55) || count == 1 && self.b.rng.chance(8);
        if !listed {
            let names = names(self, count);
            let vars = names.iter().map(|n| Var::new(n.clone(), Ty::scalar(scalar))).collect();
            return (format!("{port}:[{}]", names.join(", ")), vars, names[0].clone());
        }
        let k = groups[self.b.rng.below(groups.len())];
        let repeat = count / k;
        let names = names(self, k);
        let ty = Ty { scalar, dims: vec![repeat] };
        let vars = names.iter().map(|n| Var::new(n.clone(), ty.clone())).collect();
        let repeat = self.b.name_sizes(scope, format!("[{repeat}]"));
        let repeat = repeat.trim_matches(['[', ']']);
        (format!("{port}:[{}] repeat {repeat}", names.join(", ")), vars, format!("{}[0]", names[0]))
    }

    fn outputs(&mut self, demand: &Demand, scope: &Scope, initialize: bool) -> Vec<Doc> {
        let mut out = Vec::new();
        for port in 0..self.outs.len() {
            let PortSig { name, scalar } = self.outs[port].clone();
            let forced = match self.feedback {
                Some((back, to, _)) if to == port => {
                    if initialize {
                        continue;
                    }
                    // What a firing takes from the loop it puts back.
                    demand.iter().find(|(p, _)| *p == back).map(|(_, n)| *n)
                }
                _ => (self.spec.relay && !initialize).then_some(1),
            };
            if initialize && self.spec.relay {
                continue;
            }
            if forced.is_none() && !self.b.rng.chance(if initialize { 40 } else { 85 }) {
                continue;
            }
            let most = if self.slim { 1 } else { 4 };
            let n = forced.unwrap_or_else(|| self.b.rng.range(1, most) as u32);
            self.b.budget = self.b.budget.max(15);
            let mut doc = vec![Doc::text(format!("{name}:["))];
            let mut values = Vec::new();
            let listed = self.b.rng.chance(40);
            if listed {
                let divisors: Vec<u32> = (1..=n).filter(|k| n % k == 0).collect();
                let k = divisors[self.b.rng.below(divisors.len())];
                let repeat = n / k;
                for _ in 0..k {
                    let longer = if self.b.rng.chance(20) { self.b.rng.range(1, 3) as u32 } else { 0 };
                    let ty = Ty { scalar, dims: vec![repeat + longer] };
                    values.push(Doc::Expr(self.b.list(scope, &ty, 2)));
                }
                doc.push(Doc::Joined { open: "", sep: ", ", close: "", items: values });
                let count = self.b.name_sizes(scope, format!("[{repeat}]"));
                doc.push(Doc::text(format!("] repeat {}", count.trim_matches(['[', ']']))));
            } else {
                for _ in 0..n {
                    values.push(Doc::Expr(self.b.value(scope, &Ty::scalar(scalar), 3)));
                }
                doc.push(Doc::Joined { open: "", sep: ", ", close: "]", items: values });
            }
            self.max_emit = self.max_emit.max(u64::from(n));
            out.push(if forced.is_some() { Doc::Seq(doc) } else { self.b.item(doc) });
        }
        out
    }

    fn priorities(&mut self) -> Vec<Doc> {
        let mut lines = Vec::new();
        for g in &self.groups {
            if g.tags.len() < 2 {
                continue;
            }
            let same = g.rule == Rule::Same;
            let mut chain = g.tags.clone();
            if !same && !self.b.rng.chance(20) {
                continue;
            }
            if same && !self.b.rng.chance(65) {
                continue;
            }
            if self.b.rng.chance(25) {
                chain.reverse();
            }
            if chain.len() > 2 && self.b.rng.chance(40) {
                chain.remove(self.b.rng.below(chain.len()));
            }
            lines.push(format!("{};", chain.join(" > ")));
        }
        if self.groups.len() > 1 && self.b.rng.chance(30) {
            let tags: Vec<&str> = self.groups.iter().map(|g| g.tag.as_str()).collect();
            lines.push(format!("{};", tags.join(" > ")));
        }
        if lines.is_empty() {
            return Vec::new();
        }
        let lines: Vec<Doc> = lines.into_iter().map(|l| self.b.item(vec![Doc::text(l), Doc::Line])).collect();
        vec![Doc::Joined { open: "priority\n", sep: "", close: "end", items: lines }]
    }

    /// Without states, or `n` states of a machine over the groups.
    fn schedule(&mut self, n: usize) -> Vec<Doc> {
        let mut out = Vec::new();
        if n > 1 || self.b.rng.chance(15) {
            out.push(self.fsm(n));
        }
        out.extend(self.priorities());
        out
    }

    fn fsm(&mut self, n: usize) -> Doc {
        let states: Vec<String> = (0..n).map(|_| self.b.name("st")).collect();
        let mut lines = Vec::new();
        for (i, state) in states.iter().enumerate() {
            let at = if i < self.groups.len() { i } else { self.b.rng.below(self.groups.len()) };
            let next = |me: &mut Self| {
                if me.b.rng.chance(50) { (i + 1) % n } else { me.b.rng.below(n) }
            };
            let tags = self.groups[at].tags.clone();
            let split = tags.len() > 1 && self.b.rng.chance(50);
            let labels = if split { tags } else { vec![self.groups[at].tag.clone()] };
            if labels.len() > 1 && self.b.rng.chance(20) {
                let to = next(self);
                lines.push(format!("{state} ({}) --> {};", labels.join(", "), states[to]));
            } else {
                for label in labels {
                    let to = next(self);
                    let target = if n > 1 && self.b.rng.chance(3) { self.b.name("halt") } else { states[to].clone() };
                    lines.push(format!("{state} ({label}) --> {target};"));
                }
            }
        }
        let lines: Vec<Doc> = lines.into_iter().map(|l| self.b.item(vec![Doc::text(l), Doc::Line])).collect();
        Doc::Seq(vec![
            Doc::text(format!("schedule fsm {} :", states[0])),
            Doc::Line,
            Doc::Nest(lines),
            Doc::text("end"),
        ])
    }

    /// A regular expression over the tags of the only group; mostly one that never ends.
    fn regexp(&mut self) -> Vec<Doc> {
        let tags = self.groups[0].tags.clone();
        let mut text = self.regexp_part(&tags, 2);
        if self.b.rng.chance(80) {
            text = format!("({text})* ({})*", tags.join(" | "));
        }
        vec![Doc::text(format!("schedule regexp {text} end"))]
    }

    fn regexp_part(&mut self, tags: &[String], depth: u32) -> String {
        let tag = tags[self.b.rng.below(tags.len())].clone();
        if depth == 0 {
            return tag;
        }
        match self.b.rng.below(5) {
            0 => format!("({} {})", self.regexp_part(tags, depth - 1), self.regexp_part(tags, depth - 1)),
            1 => format!("({} | {})", self.regexp_part(tags, depth - 1), self.regexp_part(tags, depth - 1)),
            2 => format!("{}*", self.regexp_atom(tags, depth - 1)),
            3 => format!("{}?", self.regexp_atom(tags, depth - 1)),
            _ => tag,
        }
    }

    fn regexp_atom(&mut self, tags: &[String], depth: u32) -> String {
        format!("({})", self.regexp_part(tags, depth))
    }
}
