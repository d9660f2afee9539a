//! Storage layout, merged over operations. The contexts and buffers of operations. Those whose contexts are much the same have
//! one type, in which instances and FIFOs of one name have one place: so that what they do is the same code.

use super::fifos::{self, Fifo, Lies, Place};
use super::{Member, Plan};
use crate::c::ctype;
use crate::c::names::Names;
use crate::c::scheduler::comment;
use headrace_program::names::identifier;
use std::fmt::Write as _;

/// Operations that share a context.
pub(super) struct Group {
    /// The type of the context.
    pub(super) name: String,
    /// The types.
    pub(super) text: String,
    pub(super) flow_bytes: u64,
}

/// Where an operation has what is its own.
pub(super) struct MemberLayout {
    pub(super) group: usize,
    /// Of each instance its field; none where it keeps nothing.
    pub(super) instances: Vec<Option<String>>,
    /// Of each connection.
    pub(super) fifos: Vec<Fifo>,
}

pub(super) struct Layouts {
    pub(super) groups: Vec<Group>,
    pub(super) members: Vec<MemberLayout>,
}

/// An instance that some operations have.
struct Kept {
    name: String,
    actor: usize,
    field: String,
    bytes: u64,
}

/// What grows while operations join.
#[derive(Default)]
struct Union {
    instances: Vec<Kept>,
    fifos: Vec<Fifo>,
    members: Vec<usize>,
    /// Bytes of the smallest context that a member would have alone.
    alone: u64,
}

impl Union {
    fn bytes(&self) -> u64 {
        let fifos = self.fifos.iter().filter(|fifo| fifo.place() == Some(Place::Kept)).map(|fifo| fifo.bytes() + 1);
        self.instances.iter().map(|kept| kept.bytes).sum::<u64>() + fifos.sum::<u64>()
    }

    /// The same with another operation.
    fn with(&self, member: &Member<'_>, numbers: &[usize], plans: &[Plan<'_>], at: usize) -> Union {
        let mut union = Union {
            instances: self.instances.iter().map(Kept::again).collect(),
            fifos: self.fifos.clone(),
            members: self.members.iter().copied().chain([at]).collect(),
            alone: self.alone,
        };
        for instance in &member.network.instances {
            let actor = numbers[instance.actor.index()];
            let known = union.instances.iter().any(|kept| kept.name == instance.name && kept.actor == actor);
            if is_kept(&plans[actor]) && !known {
                let field = identifier(&instance.name);
                union.instances.push(Kept {
                    name: instance.name.clone(),
                    actor,
                    field,
                    bytes: state_bytes(&plans[actor]),
                });
            }
        }
        for fifo in fifos::lay_out(member.network, &member.fills, &member.ports) {
            match union.fifos.iter_mut().find(|known| known.is_one_with(&fifo)) {
                Some(known) => known.join(&fifo),
                None => union.fifos.push(fifo),
            }
        }
        union
    }
}

impl Kept {
    fn again(&self) -> Kept {
        Kept { name: self.name.clone(), actor: self.actor, field: self.field.clone(), bytes: self.bytes }
    }
}

/// Lays out the contexts of all operations. One joins others where none gets a context more than a quarter larger than
/// alone.
pub(super) fn lay_out(members: &[Member<'_>], numbers: &[Vec<usize>], plans: &[Plan<'_>], prefix: &str) -> Layouts {
    let mut unions: Vec<Union> = Vec::new();
    for (at, member) in members.iter().enumerate() {
        let mut alone = Union::default().with(member, &numbers[at], plans, at);
        alone.alone = alone.bytes();
        let joined = unions.iter_mut().find_map(|union| {
            let mut joined = union.with(member, &numbers[at], plans, at);
            joined.alone = union.alone.min(alone.alone);
            (4 * joined.bytes() <= 5 * joined.alone).then(|| *union = joined)
        });
        if joined.is_none() {
            unions.push(alone);
        }
    }
    let mut layouts = Layouts { groups: Vec::new(), members: Vec::new() };
    let mut placed: Vec<(usize, MemberLayout)> = Vec::new();
    for (number, mut union) in unions.into_iter().enumerate() {
        let name = if number == 0 { format!("{prefix}_network") } else { format!("{prefix}_network_{}", number + 1) };
        let mut names = Names::default();
        for taken in ["n", "none", "given", "tokens"] {
            names.fresh(taken);
        }
        union.instances.iter_mut().for_each(|kept| kept.field = names.fresh(&kept.field));
        union.fifos.iter_mut().for_each(|fifo| fifo.field = names.fresh(&fifo.field));
        for &at in &union.members {
            let member = &members[at];
            let field = |instance: &headrace_ir::Instance| {
                let actor = numbers[at][instance.actor.index()];
                let kept = union.instances.iter().find(|kept| kept.name == instance.name && kept.actor == actor);
                kept.map(|kept| kept.field.clone())
            };
            let instances = member.network.instances.iter().map(field).collect();
            let own = fifos::lay_out(member.network, &member.fills, &member.ports);
            let fifos = own.into_iter().map(|fifo| {
                let known = union.fifos.iter().find(|known| known.is_one_with(&fifo));
                known.map_or_else(|| fifo.clone(), |known| fifo.placed_as(known))
            });
            let layout = MemberLayout { group: number, instances, fifos: fifos.collect() };
            placed.push((at, layout));
        }
        let (text, flow_bytes) = types(&name, &union, plans);
        layouts.groups.push(Group { name, text, flow_bytes });
    }
    placed.sort_by_key(|(at, _)| *at);
    layouts.members = placed.into_iter().map(|(_, layout)| layout).collect();
    layouts
}

/// Whether an instance has anything to keep.
pub(super) fn is_kept(plan: &Plan<'_>) -> bool {
    plan.actor.schedule.states.len() > 1
        || !plan.actor.initializers.is_empty()
        || plan.has_scalars()
        || plan.has_lists()
}

/// About how many bytes that has.
fn state_bytes(plan: &Plan<'_>) -> u64 {
    let variables = plan.scalar_fields.iter().chain(&plan.list_variables);
    let bytes = variables.map(|(_, at)| {
        let ty = &plan.actor.variables[*at].ty;
        ctype::array_length(ty).unwrap_or(1) * ctype::element_bytes(ty.element)
    });
    2 + bytes.sum::<u64>()
}

/// The types of an actor.
pub(super) fn actor_types(plan: &Plan<'_>) -> String {
    let prefix = &plan.prefix;
    let mut text = String::new();
    if plan.has_scalars() {
        let _ = writeln!(text, "struct {prefix}_scalars {{");
        // Wide ones first, so that little lies unused between them.
        let mut fields: Vec<&(String, usize)> = plan.scalar_fields.iter().collect();
        fields.sort_by_key(|(_, at)| {
            let element = plan.actor.variables[*at].ty.element;
            std::cmp::Reverse(ctype::element_bytes(element))
        });
        for (name, at) in fields {
            let _ = writeln!(text, "    {};", ctype::declaration(&plan.actor.variables[*at].ty, name));
        }
        text.push_str("};\n\n");
    }
    if plan.has_lists() {
        let _ = writeln!(text, "struct {prefix}_lists {{");
        for field in plan.list_fields.borrow().iter() {
            let _ = writeln!(text, "    {field};");
        }
        text.push_str("};\n\n");
    }
    if !is_kept(plan) {
        return text;
    }
    let _ = writeln!(text, "struct {prefix} {{");
    if plan.has_scalars() {
        let _ = writeln!(text, "    struct {prefix}_scalars scalars;");
    }
    if plan.actor.schedule.states.len() > 1 {
        let bits = if plan.actor.schedule.states.len() > 256 { 16 } else { 8 };
        let _ = writeln!(text, "    uint{bits}_t state;");
    }
    if !plan.actor.initializers.is_empty() {
        text.push_str("    uint8_t started;\n");
    }
    if plan.has_lists() {
        let _ = writeln!(text, "    struct {prefix}_lists lists;");
    }
    text.push_str("};\n\n");
    text
}

/// The types of a context and of the buffers of a call, and how many bytes those have.
fn types(name: &str, union: &Union, plans: &[Plan<'_>]) -> (String, u64) {
    let mut out = format!(
        "/* What a network keeps between calls. Its fields are not part of the interface. */\nstruct {name} {{\n"
    );
    let (kept, others): (Vec<&Fifo>, Vec<&Fifo>) =
        union.fifos.iter().partition(|fifo| fifo.place() == Some(Place::Kept));
    // What is small comes first: instructions that reach far are longer.
    if !kept.is_empty() {
        let counts: String = kept.iter().map(|fifo| fifo.count_field()).collect();
        let _ = writeln!(out, "    struct {{\n{counts}    }} n;");
    }
    let mut instances: Vec<&Kept> = union.instances.iter().collect();
    instances.sort_by_key(|kept| kept.bytes);
    for Kept { name, actor, field, .. } in instances {
        let _ = writeln!(out, "    struct {} {field}; /* {} */", plans[*actor].prefix, comment(name));
    }
    kept.iter().for_each(|fifo| out.push_str(&fifo.tokens_field()));
    if kept.is_empty() && union.instances.is_empty() {
        out.push_str("    uint8_t none; /* nothing is kept */\n");
    }
    out.push_str("};\n\n");
    let _ = writeln!(out, "/* What it needs during one. */\nstruct {name}_flow {{");
    out.push_str("    struct {\n        uint8_t none; /* there may be no others */\n");
    let mut passing: Vec<&&Fifo> = others.iter().filter(|fifo| matches!(fifo.lies, Lies::Array(..))).collect();
    passing.iter().for_each(|fifo| out.push_str(&fifo.count_field()));
    out.push_str("    } n;\n");
    let mut bytes = 1;
    for fifo in &others {
        if let Some(field) = fifo.window_field() {
            bytes += 8;
            out.push_str(&field);
        }
    }
    let refilled: Vec<String> = union.fifos.iter().filter_map(Fifo::refilled_field).collect();
    if !refilled.is_empty() {
        bytes += 8 * refilled.len() as u64;
        let _ = writeln!(out, "    struct {{\n{}    }} given;", refilled.concat());
    }
    out.push_str("    uint8_t tokens[1]; /* what lies here and behind needs no beginning */\n");
    passing.sort_by_key(|fifo| fifo.bytes());
    for fifo in passing {
        bytes += fifo.bytes() + 1;
        out.push_str(&fifo.tokens_field());
    }
    out.push_str("};\n\n");
    (out, bytes)
}
