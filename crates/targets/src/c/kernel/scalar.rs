//! Scalar code generation. A list of effects as statements of C, in the order that [`headrace_transform::statements`]
//! settles.

use super::expression::{Expressions, copy_name, literal, loaded_name, word, word_type};
use super::{Names, Outside};
use headrace_transform::kernel::{Effect, Graph, NodeId, Object, ObjectId, Op, TableId};
use headrace_transform::statements::{Order, Ordered, Place, Statement, Write, ordered};
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt::Write as _;

/// The C type of elements and tokens of a width: the smallest that holds it. `u128` is defined by the prelude.
pub fn element_type(width: u32) -> &'static str {
    match width {
        ..=8 => "uint8_t",
        9..=16 => "uint16_t",
        17..=32 => "uint32_t",
        33..=64 => "uint64_t",
        _ => "u128",
    }
}

/// A value of another type than that of elements of a width, as one of those.
pub(super) fn as_element(width: u32, value: &str) -> String {
    if width > 64 { value.to_owned() } else { format!("({})({value})", element_type(width)) }
}

/// Definitions of the tables that the roots need.
pub fn tables(graph: &Graph, roots: &[NodeId], names: &dyn Names) -> String {
    tables_but(graph, roots, names, &[])
}

/// The tables that the roots need, in the order of their numbers.
pub fn used_tables(graph: &Graph, roots: &[NodeId]) -> Vec<TableId> {
    let used = graph.reachable(roots.iter().copied()).into_iter().filter_map(|id| match graph.op(id) {
        Op::Lookup(table, _) => Some(*table),
        _ => None,
    });
    let mut used: Vec<_> = used.collect();
    used.sort_unstable_by_key(|table| table.0);
    used.dedup();
    used
}

/// Definitions of the tables that the roots need, but for some.
pub fn tables_but(graph: &Graph, roots: &[NodeId], names: &dyn Names, some: &[TableId]) -> String {
    let used: Vec<TableId> = used_tables(graph, roots).into_iter().filter(|id| !some.contains(id)).collect();
    definitions("static const", graph, &used, &|table| names.table(table))
}

/// Definitions of the tables that the roots need, which a dialect declares otherwise than as `static const`.
pub(super) fn tables_as(declared: &str, graph: &Graph, roots: &[NodeId], names: &dyn Names) -> String {
    definitions(declared, graph, &used_tables(graph, roots), &|table| names.table(table))
}

/// The definition of a table under this name.
pub fn tables_named(graph: &Graph, table: TableId, name: &str) -> String {
    definitions("static const", graph, &[table], &|_| name.to_owned())
}

fn definitions(declared: &str, graph: &Graph, used: &[TableId], name: &dyn Fn(TableId) -> String) -> String {
    let mut text = String::new();
    for &id in used {
        let table = graph.table(id);
        let _ = write!(text, "{declared} {} {}[{}] = {{", element_type(table.width), name(id), table.elements.len());
        for (i, &element) in table.elements.iter().enumerate() {
            text.push_str(if i == 0 {
                ""
            } else if i % 16 == 0 {
                ",\n  "
            } else {
                ","
            });
            match table.width {
                ..=16 => {
                    let _ = write!(text, "{element}");
                }
                17..=64 => text.push_str(&literal(element, word(table.width))),
                // Initial values are not computed.
                _ => {
                    let (high, low) = (element >> 64, element as u64);
                    let _ = write!(text, "HR_PAIR128({high:#x}ull, {low:#x}ull)");
                }
            }
        }
        text.push_str("};\n");
    }
    text
}

/// Statements that do what a list of effects says, indented by `depth` steps. Tables and the prelude stand above.
pub fn statements(graph: &Graph, objects: &[Object], effects: &[Effect], names: &dyn Names, depth: usize) -> String {
    statements_in_order(graph, objects, effects, names, depth, false)
}

/// The same; `by_number`: what tokens and elements need is computed in the order of the graph, not for one after the
/// other.
pub(super) fn statements_in_order(
    graph: &Graph,
    objects: &[Object],
    effects: &[Effect],
    names: &dyn Names,
    depth: usize,
    by_number: bool,
) -> String {
    let mut outside = Outside { graph, objects, names, stored: FxHashSet::default() };
    let order = if by_number { Order::ByNumber } else { Order::ByEffect };
    let Ordered { statements, copied, guarded } = ordered(&mut outside, effects, order);
    let (locals, loaded) = Default::default();
    let values = Expressions { outside: &outside, locals, loaded, copied, guarded };
    let (lists, text) = Default::default();
    let mut printer = Printer { outside: &outside, values, lists, text, depth, by_number, defined: 0 };
    printer.block(&statements);
    printer.text
}

struct Printer<'a> {
    outside: &'a Outside<'a>,
    values: Expressions<'a>,
    /// Lists that are local, named in the order in which they are declared.
    lists: FxHashMap<ObjectId, String>,
    text: String,
    depth: usize,
    /// Values that have a variable: they are named in this order, so that what does the same has the same text.
    defined: u32,
    /// Whether values are computed in the order of the graph.
    by_number: bool,
}

impl Printer<'_> {
    fn line(&mut self, text: &str) {
        for _ in 0..self.depth {
            self.text.push_str("  ");
        }
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn block(&mut self, block: &[Statement]) {
        block.iter().for_each(|statement| self.statement(statement));
    }

    fn nested(&mut self, block: &[Statement]) {
        self.depth += 1;
        self.block(block);
        self.depth -= 1;
    }

    fn object(&self, object: ObjectId) -> &Object {
        &self.outside.objects[object.0 as usize]
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::List(object) => {
                let name = format!("t{}_", self.lists.len());
                self.lists.insert(*object, name.clone());
                let object = self.object(*object);
                let line = format!("{} {name}[{}] = {{0}};", element_type(object.width), object.length);
                self.line(&line);
            }
            Statement::Copy(object) => {
                let object = self.object(*object);
                let name = copy_name(&object.name);
                let declared = format!("{} {name}[{}];", element_type(object.width), object.length);
                let from = self.outside.names.element(object, "0");
                self.line(&declared);
                self.line(&format!("memcpy({name}, &{from}, sizeof {name});"));
            }
            Statement::Ahead(number, object) => {
                let width = self.object(*object).width;
                let none = literal(0, word(width));
                let name = self.load(*number);
                self.line(&format!("{} {name} = {none};", word_type(width)));
            }
            Statement::Define { id, .. } => self.define(*id),
            Statement::Forget(ids) => ids.iter().for_each(|id| {
                self.values.locals.remove(id);
            }),
            Statement::Load { id, object, index, ahead } => {
                let text = self.element(*object, *index);
                let name = if *ahead { self.values.loaded.get(id).cloned() } else { None };
                let name = name.unwrap_or_else(|| self.load(*id));
                let text = if *ahead {
                    format!("{name} = {text};")
                } else {
                    format!("const {} {name} = {text};", word_type(self.object(*object).width))
                };
                self.line(&text);
            }
            Statement::Store { object, index, value } => {
                let text = format!("{} = {};", self.element(*object, *index), self.stored(*object, *value));
                self.line(&text);
            }
            Statement::Write(write) => {
                let text = self.write(write);
                self.line(&text);
            }
            Statement::Loop(inner) => {
                self.line("for (;;) {");
                self.nested(inner);
                self.line("}");
            }
            Statement::Leave(condition) => {
                let text = format!("if (!({})) break;", self.values.condition(*condition));
                self.line(&text);
            }
            Statement::Check { condition, index, length, span } => {
                let (condition, index) = (self.values.condition(*condition), self.values.value(*index));
                let text = self.outside.names.check(&condition, &index, *length, *span);
                self.line(&text);
            }
            Statement::If(condition, then, otherwise) => {
                let text = format!("if ({}) {{", self.values.condition(*condition));
                self.line(&text);
                self.nested(then);
                if !otherwise.is_empty() {
                    self.line("} else {");
                    self.nested(otherwise);
                }
                self.line("}");
            }
        }
    }

    fn stored(&self, object: ObjectId, value: NodeId) -> String {
        // Where the element has no bits above the width, C cuts.
        let width = self.outside.objects[object.0 as usize].width;
        match width {
            8 | 16 | 32 | 64 if self.outside.graph.width(value) == width => self.values.shifted(value, 0, width),
            _ => self.values.value(value),
        }
    }

    fn write(&self, write: &Write) -> String {
        match *write {
            Write::One { place: Place::Port(port), index, value } => {
                self.outside.names.output(port, index, &self.values.value(value))
            }
            Write::One { place: Place::Object(object), index, value } => {
                format!("{} = {};", self.known_element(object, &index.to_string()), self.stored(object, value))
            }
            Write::Copy { place, first, n_bytes, from, at } => {
                let (to, source) = (self.pointer(place, first, n_bytes as u32), self.source(from, at, n_bytes));
                format!("memcpy({to}, {source}, {n_bytes});")
            }
            Write::Filled { object, first, from, at, n_bytes, skipped, known } => {
                let (to, source) = (self.known_element(object, &first.to_string()), self.source(from, at, n_bytes));
                let [low, high] = [known as u64, (known >> 64) as u64];
                format!("hr_fill16(&{to}, {skipped}, {source}, {n_bytes}, {low:#x}ull, {high:#x}ull);")
            }
            Write::Patched { object, first, from, at, known, kept } => {
                let (to, from) =
                    (self.known_element(object, &first.to_string()), self.known_element(from, &at.to_string()));
                let words = [kept, known].map(|all| format!("{:#x}ull, {:#x}ull", all as u64, (all >> 64) as u64));
                format!("hr_patch16(&{to}, &{from}, {});", words.join(", "))
            }
            Write::Bytes { place, first, n_bytes, big, source, lo } => {
                let pointer = self.pointer(place, first, n_bytes);
                let value = self.values.shifted(source, lo, n_bytes * 8);
                format!("hr_put_{}{}({pointer}, {value});", if big { "be" } else { "le" }, n_bytes * 8)
            }
        }
    }

    /// Where bytes that are copied lie.
    fn source(&self, from: Place, at: i64, n_bytes: usize) -> String {
        match from {
            Place::Port(port) => self.outside.names.input_bytes(port, at, n_bytes as u32).unwrap_or_default(),
            Place::Object(object) => format!("&{}", self.known_element(object, &at.to_string())),
        }
    }

    /// Where bytes are written.
    fn pointer(&self, place: Place, first: u64, n_bytes: u32) -> String {
        match place {
            Place::Port(port) => self.outside.names.output_bytes(port, first, n_bytes).unwrap_or_default(),
            Place::Object(object) => format!("&{}", self.known_element(object, &first.to_string())),
        }
    }

    fn element(&self, object: ObjectId, index: NodeId) -> String {
        if let Some(near) = self.outside.names.element_near(object, index) {
            return near;
        }
        self.known_element(object, &self.values.position(index))
    }

    fn known_element(&self, id: ObjectId, index: &str) -> String {
        let object = &self.outside.objects[id.0 as usize];
        if object.persistent {
            return self.outside.names.element(object, index);
        }
        format!("{}[{index}]", self.lists.get(&id).unwrap_or(&object.name))
    }

    /// The name of what a load reads, in the order of loads.
    fn load(&mut self, id: u32) -> String {
        let name = loaded_name(self.values.loaded.len() as u32);
        self.values.loaded.insert(id, name.clone());
        name
    }

    /// Whether compilers may not compute a value at another place in the order of the graph: they would do one chain of
    /// operations after the other, to hold less in registers.
    fn is_held(&self, id: NodeId) -> bool {
        let graph = self.outside.graph;
        let computes = matches!(
            graph.op(id),
            Op::Xor(..) | Op::Add(..) | Op::Sub(..) | Op::And(..) | Op::Or(..) | Op::Mul(..) | Op::RotateLeft(..)
        );
        self.by_number && computes && graph.width(id) <= 64
    }

    /// Defines the variable of a value.
    fn define(&mut self, id: NodeId) {
        let text = self.values.value(id);
        let name = format!("v{}_", self.defined);
        self.defined += 1;
        let ty = word_type(self.outside.graph.width(id));
        if self.is_held(id) {
            self.line(&format!("{ty} {name} = {text};"));
            self.line(&format!("HR_HOLD({name});"));
        } else {
            self.line(&format!("const {ty} {name} = {text};"));
        }
        self.values.locals.insert(id, name);
    }
}
