//! Identical code folding: functions that are equal up to what their objects are called are one, in a network, in a
//! project, and in a program of several.
//!
//! Parts of networks that were written once and stand in several places have transitions and loops that do the same on other
//! objects. So such functions do not get the context but a pointer for each object and window that they touch, transitions as
//! arguments, loops in `struct NAME_on`, and are called after what they do: `hr_same_` and a number that is computed from their
//! canonical form ([`headrace_transform::passes::canonical_form`]) and from what this variant prints above them: projects that other variants
//! wrote may be linked into the same program. Linkers keep one of those of the same name (weak symbols, hidden from whoever links
//! the whole); where there are none, each file has its own.

use super::{KernelNames, Writer, object_type};
use crate::c::kernel::{Shared, element_type, guarded, prelude, tables_named};
use headrace_transform::kernel::{Graph, Object, TableId};
use headrace_transform::passes::canonical_form::Canonical;
use rustc_hash::FxHashMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

/// Fields of a context that a function may touch: each is a pointer that is stored for a call.
pub(super) const MOST_FIELDS: usize = 12;

/// What a function for contexts of any type works on, and what it calls things.
#[derive(Clone, Debug, Default)]
pub(super) struct On {
    /// Objects by their names, with the types of their elements: `o0`, `o1`, … there.
    objects: Vec<(String, String)>,
    /// Input ports, and types of their tokens: `in0`, `in1`, … there.
    inputs: Vec<(u32, &'static str)>,
    /// Output ports: `out0`, `out1`, … there.
    outputs: Vec<u32>,
    /// The names of tables that stand above it.
    tables: FxHashMap<TableId, String>,
}

impl On {
    /// Objects of a shape, which are called `o0`, `o1`, … already.
    pub(super) fn shape(objects: &[Object]) -> On {
        let objects = objects.iter().map(|object| (object.name.clone(), object_type(object).to_owned()));
        On { objects: objects.collect(), ..On::default() }
    }

    /// The types of what stands there: all that functions need to know of it.
    pub(super) fn types(&self) -> Vec<&str> {
        self.objects.iter().map(|known| known.1.as_str()).chain(self.inputs.iter().map(|known| known.1)).collect()
    }

    /// The place of an object.
    pub(super) fn place(&self, object: &Object) -> Option<usize> {
        self.objects.iter().position(|known| known.0 == object.name)
    }

    /// An element of an object: loaded pointers, because what is stored to bytes could be stored to where the pointers lie.
    pub(super) fn element(&self, object: &Object, index: &str) -> Option<String> {
        Some(format!("on{}_[{index}]", self.place(object)?))
    }

    /// The window of an input port.
    pub(super) fn input(&self, port: u32) -> Option<String> {
        Some(format!("in{}", self.inputs.iter().position(|known| known.0 == port)?))
    }

    /// Where tokens of an output port go.
    pub(super) fn output(&self, port: u32) -> Option<String> {
        Some(format!("out{}", self.outputs.iter().position(|&known| known == port)?))
    }

    /// A table that stands above the function.
    pub(super) fn table(&self, table: TableId) -> Option<&String> {
        self.tables.get(&table)
    }

    /// What functions begin with.
    pub(super) fn entered(&self) -> String {
        let mut text = String::new();
        for (at, (_, ty)) in self.objects.iter().enumerate() {
            let _ = writeln!(text, "    {ty} *restrict const on{at}_ = s->o{at};");
        }
        text
    }

    /// The parameters of functions that are given all of it themselves: pointers in registers need not be waited for, as those
    /// of a structure that was stored just before.
    pub(super) fn parameters(&self) -> Vec<String> {
        let objects = self.objects.iter().enumerate().map(|(at, (_, ty))| format!("{ty} *restrict const on{at}_"));
        let inputs = self.inputs.iter().enumerate();
        objects.chain(inputs.map(|(at, (_, ty))| format!("const {ty} *restrict const in{at}"))).collect()
    }

    /// The type of a structure of pointers to the objects.
    pub(super) fn declared(&self, name: &str) -> String {
        let mut text = format!("/* What functions that do the same work on. */\nstruct {name}_on {{\n");
        for (at, (_, ty)) in self.objects.iter().enumerate() {
            let _ = writeln!(text, "    {ty} *o{at};");
        }
        if self.objects.is_empty() {
            text.push_str("    uint8_t none; /* C has no empty structures */\n");
        }
        text + "};\n\n"
    }
}

/// FNV-1a of 128 bits, from the hash of what comes before on.
fn hash(before: u128, text: &str) -> u128 {
    let prime: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    text.bytes().fold(before, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(prime))
}

/// A number for what something is that nothing else has, as 32 digits. What functions call that is not in their form is what
/// this variant prints above them.
fn number(what: &str) -> String {
    static VERSION: LazyLock<u128> = LazyLock::new(|| {
        let start: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
        hash(hash(start, env!("CARGO_PKG_VERSION")), &prelude())
    });
    format!("{:032x}", hash(*VERSION, what))
}

/// The name of what does this.
pub(super) fn name(identity: &str) -> String {
    format!("hr_same_{}", number(identity))
}

/// The name of a table that follows from what it holds.
fn table_name(graph: &Graph, table: TableId) -> String {
    let table = graph.table(table);
    format!("hr_table_{}", number(&format!("{} {:?}", table.width, table.elements)))
}

impl Writer<'_> {
    /// What a function of this form works on; `more` objects are touched in another variant of it. `None` where that is too
    /// much, or does not stand in the context.
    pub(super) fn on(&self, form: &Canonical, objects: &[Object], more: &[&Object]) -> Option<On> {
        let mut all: Vec<(String, String)> = Vec::new();
        let own = form.objects.iter().map(|object| &objects[object.0 as usize]).filter(|object| object.persistent);
        for object in own.chain(more.iter().copied()) {
            if !all.iter().any(|known| known.0 == object.name) {
                all.push((object.name.clone(), self.field_type(object)?));
            }
        }
        let width = |port: u32| self.network.inputs.get(port as usize).map(|port| element_type(port.ty.width()));
        let inputs = form.inputs.iter().map(|&port| Some((port, width(port)?)));
        let inputs: Vec<(u32, &'static str)> = inputs.collect::<Option<_>>()?;
        let fits = all.len() + inputs.len() <= MOST_FIELDS;
        fits.then(|| On { objects: all, inputs, outputs: form.outputs.clone(), tables: FxHashMap::default() })
    }

    /// The same with names for tables that follow from what they hold, and the definitions of these.
    pub(super) fn with_tables(&self, on: &On, graph: &Graph, used: &[TableId]) -> (On, String) {
        let tables: FxHashMap<TableId, String> = used.iter().map(|&table| (table, table_name(graph, table))).collect();
        let definition = |table: &TableId| guarded(&tables[table], &tables_named(graph, *table, &tables[table]));
        let definitions = used.iter().map(definition).collect();
        (On { tables, ..on.clone() }, definitions)
    }

    /// What a function works on, in a context `s`.
    pub(super) fn fields(&self, on: &On) -> Vec<String> {
        let objects = on.objects.iter().map(|(name, _)| format!("s->{name}"));
        let inputs = on.inputs.iter().map(|&(port, _)| format!("s->in_{}", self.network.inputs[port as usize].name));
        objects.chain(inputs).collect()
    }

    /// The same as an initializer.
    pub(super) fn on_context(&self, on: &On) -> String {
        let fields = self.fields(on);
        if fields.is_empty() { "{0}".to_owned() } else { format!("{{{}}}", fields.join(", ")) }
    }

    /// The type of an element of an object, if that is a list of the context.
    fn field_type(&self, object: &Object) -> Option<String> {
        let found = self.automaton.objects.iter().find(|known| known.lives_on() && known.name == object.name);
        found.map(|object| object_type(object).to_owned())
    }
}

impl KernelNames<'_> {
    /// A function that works on these objects of the context.
    pub(super) fn shared_function(&self, identity: &str, objects: &[&Object]) -> Option<Shared<'_>> {
        // It would work on what another one works on.
        if !self.shares || self.on.is_some() {
            return None;
        }
        let objects = objects.iter().map(|object| (object.name.clone(), object_type(object).to_owned()));
        let on = On { objects: objects.collect(), ..On::default() };
        let fields: Vec<String> = on.objects.iter().map(|(name, _)| format!("s->{name}")).collect();
        let name = name(identity);
        Some(Shared {
            above: on.declared(&name),
            on: format!("{{{}}}", fields.join(", ")),
            fields: on.objects.iter().map(|(_, ty)| ty.clone()).zip(fields).collect(),
            names: Box::new(self.working_on(on)),
            name,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_forms_differ() {
        assert_eq!(number("a").len(), 32);
        assert_ne!(number("a"), number("b"));
    }

    #[test]
    fn objects_and_ports_are_called_by_their_places() {
        let object = |name: &str| Object { name: name.into(), width: 8, length: 2, persistent: true, residue: None };
        let on = On {
            objects: vec![("b".into(), "uint8_t".into()), ("a".into(), "uint8_t".into())],
            inputs: vec![(3, "uint8_t")],
            outputs: vec![1, 4],
            ..On::default()
        };
        assert_eq!(on.element(&object("a"), "7"), Some("on1_[7]".to_owned()));
        assert_eq!((on.element(&object("c"), "7"), on.input(0)), (None, None));
        assert_eq!((on.input(3), on.output(4)), (Some("in0".to_owned()), Some("out1".to_owned())));
        assert!(on.declared("x").contains("struct x_on {\n    uint8_t *o0;\n    uint8_t *o1;\n}"));
        assert_eq!(
            on.parameters(),
            ["uint8_t *restrict const on0_", "uint8_t *restrict const on1_", "const uint8_t *restrict const in0"]
        );
    }
}
