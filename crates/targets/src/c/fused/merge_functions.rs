//! Function merging: loops that are isomorphic up to the objects they access share one body. Loops that one function
//! runs, although they work on other objects: like parts of a network have like loops.
//!
//! What several loops share works on `struct PREFIX_shape_K`, a pointer for each object. A loop of its own has one that
//! points to its objects in the context, and what goes on around it: counters and tokens that no iteration needs.

use super::folded::{self, On};
use super::loops::{Outside, TUNED, Variant, plain};
use super::outlined_transitions::{ARM, Identity, X86, way};
use super::{KernelNames, Writer, memoized_powers, object_type};
use crate::c::kernel::{self, CFunction, LoopNames, Needs, Support, element_type, guarded};
use headrace_transform::kernel::{Carry, Loop, NodeId, ObjectId};
use headrace_transform::passes::canonical_form::Canonical;
use headrace_transform::passes::canonicalize_loop::{self, Key, Shape, canonicalize_loop};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::fmt::Write as _;

/// What one function runs.
pub(super) struct Unit<'a> {
    /// Its name.
    pub base: String,
    /// The type that `s` points to there.
    pub state: String,
    /// What it does.
    pub body: Cow<'a, Loop>,
    /// The loops that it runs, by their numbers in the automaton.
    pub members: Vec<usize>,
    /// Where they keep what it works on, in the same order; none: it is the function of its only loop.
    frames: Vec<Frame>,
}

/// What a loop is beside its shape.
struct Frame {
    objects: Vec<ObjectId>,
    rest: Option<Loop>,
}

/// All that is printed for loops.
pub(super) struct Units<'a> {
    /// Those that move most first.
    pub units: Vec<Unit<'a>>,
    /// Loops that do the same on the same objects as another one, and which.
    pub same: Vec<(usize, usize)>,
}

/// Pointers of a function of a loop: as further parameters and as arguments.
pub(super) fn parameters(body: &Loop) -> (String, String) {
    let listed = pointers(body);
    let parameters = listed.iter().map(|(parameter, _)| format!(", {parameter}"));
    (parameters.collect(), listed.iter().map(|(_, argument)| format!(", {argument}")).collect())
}

/// The pointers that a loop takes, to its tokens: declared, and by their names.
pub(super) fn pointers(body: &Loop) -> Vec<(String, String)> {
    let used = |ports: &[(u64, u32)]| -> Vec<(usize, u32)> {
        ports.iter().enumerate().filter(|(_, port)| port.0 > 0).map(|(at, port)| (at, port.1)).collect()
    };
    let inputs = used(&body.consumes).into_iter();
    let inputs = inputs.map(|(at, width)| (format!("const {} *in{at}", element_type(width)), format!("in{at}")));
    let outputs = used(&body.produces).into_iter();
    inputs.chain(outputs.map(|(at, width)| (format!("{} *out{at}", element_type(width)), format!("out{at}")))).collect()
}

impl Unit<'_> {
    /// Whether it works on `struct PREFIX_shape_K`.
    pub fn is_shared(&self) -> bool {
        !self.frames.is_empty()
    }

    /// What one of several loops of its shape has beside that.
    fn frame(&self, number: usize) -> Option<&Frame> {
        self.members.iter().zip(&self.frames).find(|(member, _)| **member == number).map(|(_, frame)| frame)
    }
}

impl Writer<'_> {
    /// Loops that do the same are one, and those of the same shape are too.
    pub(super) fn units<'a>(&self, bodies: &[&'a Loop]) -> Units<'a> {
        let mut by_size: Vec<usize> = (0..bodies.len()).collect();
        by_size.sort_by_key(|&at| {
            let body = bodies[at];
            let tokens: u64 = body.consumes.iter().chain(&body.produces).map(|port| port.0).sum();
            std::cmp::Reverse(tokens)
        });
        let mut known: FxHashMap<Identity, usize> = FxHashMap::default();
        let mut same = Vec::new();
        let mut shapes: FxHashMap<Key, usize> = FxHashMap::default();
        let mut all: Vec<Vec<(usize, Option<Shape>)>> = Vec::new();
        for number in by_size {
            let body = bodies[number];
            let other = *known.entry(Canonical::of_loop(body).into()).or_insert(number);
            if other != number {
                same.push((number, other));
                continue;
            }
            let is_whole = |id: &ObjectId| self.automaton.object(*id).lives_on();
            let own = canonicalize_loop::PASS.tried(|| canonicalize_loop(body));
            // What is kept of a multiplier lies beside it in the context, and nowhere else.
            let is_kept = |id: &ObjectId| memoized_powers::kept(self.automaton, self.automaton.object(*id)).is_some();
            let own = own.filter(|own| own.objects.iter().all(|id| is_whole(id) && !is_kept(id)));
            let next = all.len();
            let at = match &own {
                Some(own) => *shapes.entry(own.key.clone()).or_insert(next),
                None => next,
            };
            if at == next {
                all.push(Vec::new());
            }
            all[at].push((number, own));
        }
        let unit = |(at, alike): (usize, Vec<(usize, Option<Shape>)>)| {
            let prefix = self.prefix;
            let members: Vec<usize> = alike.iter().map(|(number, _)| *number).collect();
            let mut core = None;
            let mut frames = Vec::new();
            for own in alike.into_iter().filter_map(|(_, own)| own).filter(|_| members.len() > 1) {
                frames.push(Frame { objects: own.objects, rest: own.rest });
                core.get_or_insert((own.core, own.key));
            }
            match core {
                None => Unit {
                    base: format!("{prefix}_loop_{}", members[0]),
                    state: format!("struct {prefix}"),
                    body: Cow::Borrowed(bodies[members[0]]),
                    members,
                    frames,
                },
                Some((core, key)) => {
                    // What was measured here is not what others find.
                    let base = match self.trials {
                        Some(_) => format!("{prefix}_shape_{at}"),
                        None => folded::name(&format!("shape {key:?} {} {}", at < TUNED, self.always_plain())),
                    };
                    Unit { state: format!("const struct {base}"), base, body: Cow::Owned(core), members, frames }
                }
            }
        };
        Units { units: all.into_iter().enumerate().map(unit).collect(), same }
    }

    /// The shape of a context's objects, in braces.
    pub(super) fn shape_of(&self, unit: &Unit, number: usize, context: &str) -> String {
        let objects = unit.frame(number).into_iter().flat_map(|frame| &frame.objects);
        let fields: Vec<String> =
            objects.map(|&object| format!("{context}->{}", self.automaton.object(object).name)).collect();
        if fields.is_empty() { "{0}".to_owned() } else { format!("{{{}}}", fields.join(", ")) }
    }

    /// The call of what a loop leaves beside its shape, if there is something.
    pub(super) fn rest_of(&self, unit: &Unit, number: usize, context: &str, pointers: &str) -> String {
        match unit.frame(number).and_then(|frame| frame.rest.as_ref()) {
            None => String::new(),
            Some(_) => format!("{}_loop_{number}_rest({context}{pointers}, iterations);\n", self.prefix),
        }
    }

    /// The function that leaves what iterations of a loop leave beside its shape, if there is something.
    pub(super) fn rest_function(&self, unit: &Unit, number: usize) -> String {
        let Some(rest) = unit.frame(number).and_then(|frame| frame.rest.as_ref()) else { return String::new() };
        let prefix = self.prefix;
        let own = format!("{prefix}_loop_{number}");
        let (function, names) = (format!("{own}_rest"), self.loop_names(format!("{own}_table")));
        let named = LoopNames { function: &function, state: &format!("struct {prefix}"), names: &names };
        format!(
            "/* What iterations of loop {number} leave that none of them needs. */\n#ifdef __SIZEOF_INT128__\n{}#else\n{}#endif\n\n",
            kernel::skipped(rest, &named),
            kernel::sequential(rest, &named).text
        )
    }

    /// The function of a loop that runs that of its shape.
    pub(super) fn framed(&self, unit: &Unit, number: usize, body: &Loop) -> String {
        if !unit.is_shared() {
            return String::new();
        }
        let (prefix, shared) = (self.prefix, &unit.base);
        let own = format!("{prefix}_loop_{number}");
        let names = self.loop_names(format!("{own}_table"));
        let delays = body.carried.iter().filter(|one| one.carry == Carry::Delay);
        let delays: Vec<NodeId> = delays.map(|one| one.next).collect();
        let mut text = kernel::tables(&body.graph, &delays, &names);
        text.push_str(&self.rest_function(unit, number));
        let (parameters, arguments) = parameters(body);
        let shape = self.shape_of(unit, number, "s");
        let rest = self.rest_of(unit, number, "s", &arguments);
        let rest = if rest.is_empty() { rest } else { format!("    {rest}") };
        let _ = write!(
            text,
            "HR_APART static bool {own}(struct {prefix} *s{parameters}, size_t iterations) {{\n    const struct {shared} shape = {shape};\n    if (!{shared}(&shape{arguments}, iterations)) {{\n        return false;\n    }}\n{rest}    return true;\n}}\n\n"
        );
        text
    }

    /// The type that a shape works on.
    pub(super) fn shape_type(&self, unit: &Unit) -> String {
        let mut text = format!("/* What loops of one shape work on. */\nstruct {} {{\n", unit.base);
        for object in &unit.body.objects {
            let _ = writeln!(text, "    {} *{};", object_type(object), object.name);
        }
        if unit.body.objects.is_empty() {
            text.push_str("    uint8_t none; /* C has no empty structures */\n");
        }
        text + "};\n\n"
    }

    /// What the functions of a unit call things.
    pub(super) fn unit_names(&self, unit: &Unit) -> KernelNames<'_> {
        let names = self.loop_names(format!("{}_table", unit.base));
        match unit.is_shared() {
            true => KernelNames { on: Some(On::shape(&unit.body.objects)), ..names },
            false => KernelNames { shares: self.trials.is_none(), ..names },
        }
    }

    /// The function of iterations that run everywhere, for contexts of any type, and its call in this one, which stands apart
    /// where there are other ways: its frame would be theirs. `None` where it works on too much.
    fn everywhere(&self, unit: &Unit, function: &CFunction, is_only: bool) -> Option<String> {
        let body = unit.body.as_ref();
        if unit.is_shared() {
            return None;
        }
        // Windows are parameters.
        let form = Canonical { inputs: Vec::new(), ..Canonical::of_loop(body) };
        let on = self.on(&form, &body.objects, &[])?;
        let name = folded::name(&format!("loop {:?} {:?}", form.key, on.types()));
        let used = kernel::used_tables(&body.graph, &body.roots());
        let (working, tables) = self.with_tables(&on, &body.graph, &used);
        let names = KernelNames { on: Some(working), ..self.loop_names(String::new()) };
        let (own, state) = (format!("{name}_all"), format!("const struct {name}_on"));
        let printed = plain(body, &own, Outside { base: &own, state: &state, names: &names });
        let (parameters, arguments) = parameters(body);
        let declared = on.declared(&name);
        let shared = format!(
            "{tables}{declared}{}\nHR_SAME void {name}({state} *s{parameters}, size_t iterations) {{\n    {own}(s{arguments}, iterations);\n}}\n",
            printed.with_evidence()
        );
        let on = self.on_context(&on);
        Some(format!(
            "{}{} void {}({} *s{parameters}, size_t iterations) {{\n    const struct {name}_on on = {on};\n    {name}(&on{arguments}, iterations);\n}}\n",
            guarded(&name, &shared),
            if is_only { "static inline" } else { "HR_APART static" },
            function.name,
            unit.state
        ))
    }

    /// The functions, and the one that chooses among them, below what else stands `above` them for nobody else; `dropped`:
    /// some were left out, so that it is not what other programs have.
    pub(super) fn dispatched(
        &self,
        unit: &Unit,
        variants: &[Variant],
        arm: Option<&CFunction>,
        above: &[&Support],
        dropped: bool,
    ) -> String {
        let (own, body, state) = (&unit.base, unit.body.as_ref(), &unit.state);
        let names = self.unit_names(unit);
        let mut text = if unit.is_shared() { self.shape_type(unit) } else { String::new() };
        text += &kernel::tables(&body.graph, &body.roots(), &names);
        text.push_str(X86);
        above.iter().for_each(|support| text.push_str(support.text()));
        let others: Vec<&Variant> = variants.iter().filter(|variant| variant.needs != Needs::Nothing).collect();
        let last = variants.last().filter(|variant| variant.needs == Needs::Nothing);
        // Apart from the function that chooses, whose own frame would otherwise be theirs.
        let (parameters, arguments) = parameters(body);
        let apart = |function: &CFunction| match others.is_empty() {
            true => function.with_evidence(),
            false => format!(
                "HR_APART static void {}({state} *s{parameters}, size_t iterations);\n{}",
                function.name,
                function.with_evidence()
            ),
        };
        for variant in &others {
            text.push_str(&apart(&variant.function));
            text.push('\n');
        }
        // What few iterations take is another way, where some are worth while for many only.
        let mut least: Vec<u64> = others.iter().map(|variant| variant.least_iterations).filter(|&n| n > 0).collect();
        least.sort_unstable();
        least.dedup();
        let mut chosen = format!("{own}_way()");
        if !others.is_empty() {
            let supported: Vec<Option<&Needs>> = others.iter().map(|variant| Some(&variant.needs)).collect();
            text.push_str(&way(own, &supported));
        }
        for below in least.iter().rev() {
            let supported = others.iter().map(|variant| match variant.least_iterations < *below {
                true => Some(&variant.needs),
                false => None,
            });
            let supported: Vec<Option<&Needs>> = supported.collect();
            let name = format!("{own}_below_{below}");
            text.push_str(&way(&name, &supported));
            chosen = format!("iterations < {below} ? {name}_way() : {chosen}");
        }
        text.push_str("#endif\n");
        if let Some(arm) = arm {
            let _ = writeln!(text, "{ARM}{}#endif", arm.with_evidence());
        }
        text.push_str(&last.map_or(String::new(), |variant| {
            self.everywhere(unit, &variant.function, others.is_empty()).unwrap_or_else(|| apart(&variant.function))
        }));
        let linkage = match (unit.is_shared(), self.trials.is_none() && !dropped) {
            (true, true) => "HR_SAME",
            (true, false) => "HR_APART static",
            (false, _) => "static",
        };
        let _ = write!(text, "\n{linkage} bool {own}({state} *s{parameters}, size_t iterations) {{\n{X86}");
        if !others.is_empty() {
            let _ = writeln!(text, "    switch ({chosen}) {{");
            for (at, variant) in others.iter().enumerate() {
                let name = &variant.function.name;
                let _ = writeln!(
                    text,
                    "    case {}:\n        {name}(s{arguments}, iterations);\n        return true;",
                    at + 1
                );
            }
            text.push_str("    default:\n        break;\n    }\n");
        }
        text.push_str("#endif\n");
        if let Some(arm) = arm {
            let _ = write!(text, "{ARM}    {}(s{arguments}, iterations);\n    return true;\n#endif\n", arm.name);
        }
        match last {
            Some(last) => {
                let _ = write!(text, "    {}(s{arguments}, iterations);\n    return true;\n}}\n\n", last.function.name);
            }
            None => {
                text.push_str("    return false;\n}\n\n");
            }
        }
        text
    }
}
