//! A list of effects as statements of C.
//!
//! A value that is read more than once is a local variable, others stand where they are read. What an element held at the
//! beginning is read before anything is stored to its object; where no such place exists (an index that is loaded later),
//! the object is copied first.

use super::Names;
use super::expression::{Expressions, copy_name, literal, loaded_name, word_type};
use super::pieces::{Outside, Place};
use super::place::{Block, Plan, Point, Scopes, Step, Write};
use headrace_transform::kernel::{Effect, Graph, NodeId, Object, ObjectId, Op};
use std::collections::{HashMap, HashSet};
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

/// Definitions of the tables that the roots need.
pub fn tables(graph: &Graph, roots: &[NodeId], names: &dyn Names) -> String {
    let used = graph.reachable(roots.iter().copied()).into_iter().filter_map(|id| match graph.op(id) {
        Op::Lookup(table, _) => Some(*table),
        _ => None,
    });
    let mut used: Vec<_> = used.collect();
    used.sort_unstable_by_key(|table| table.0);
    used.dedup();
    let mut text = String::new();
    for id in used {
        let table = graph.table(id);
        let _ = write!(
            text,
            "static const {} {}[{}] = {{",
            element_type(table.width),
            names.table(id),
            table.elements.len()
        );
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
                width => text.push_str(&literal(element, if width <= 32 { 32 } else { width.max(64) })),
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

/// The same; `by_number`: what tokens and elements need is computed in the order of the graph, not for one after the other.
pub(super) fn statements_in_order(
    graph: &Graph,
    objects: &[Object],
    effects: &[Effect],
    names: &dyn Names,
    depth: usize,
    by_number: bool,
) -> String {
    let mut stored = HashSet::new();
    Effect::walk(effects, &mut |effect| {
        if let Effect::Store { object, .. } = effect {
            stored.insert(*object);
        }
    });
    let outside = Outside { graph, objects, names, stored };
    let mut scopes = Scopes::default();
    let block = scopes.block(&outside, effects, None);
    let plan = Plan::new(&outside, &scopes, &block);
    let mut copied = HashSet::new();
    loop {
        let mut printer = Printer { by_number, ..Printer::new(&outside, &scopes, &plan, copied, depth) };
        printer.declare(&block);
        printer.block(&block);
        if printer.to_copy.is_empty() {
            return printer.text;
        }
        // It turned out that contents must be kept: print again with copies.
        copied = printer.values.copied;
        copied.extend(printer.to_copy);
    }
}

struct Printer<'a> {
    outside: &'a Outside<'a>,
    scopes: &'a Scopes,
    plan: &'a Plan,
    values: Expressions<'a>,
    /// Variables of each open scope.
    defined: Vec<Vec<NodeId>>,
    /// How often each node has been given a variable.
    definitions: HashMap<NodeId, u32>,
    /// Nodes that stand at steps with scopes inside.
    at_points: HashMap<Point, Vec<NodeId>>,
    /// Elements at the beginning that are not read yet, of objects that are stored to.
    entries: HashMap<ObjectId, Vec<NodeId>>,
    /// Variables of loads that are declared at the top.
    shared_loads: HashSet<u32>,
    to_copy: HashSet<ObjectId>,
    text: String,
    depth: usize,
    /// Whether values are computed in the order of the graph.
    by_number: bool,
}

impl<'a> Printer<'a> {
    fn new(
        outside: &'a Outside<'a>,
        scopes: &'a Scopes,
        plan: &'a Plan,
        copied: HashSet<ObjectId>,
        depth: usize,
    ) -> Printer<'a> {
        let mut at_points: HashMap<Point, Vec<NodeId>> = HashMap::new();
        let mut entries: HashMap<ObjectId, Vec<NodeId>> = HashMap::new();
        for (&id, &point) in &plan.points {
            if let Op::Entry { object, .. } = outside.graph.op(id)
                && outside.objects[object.0 as usize].persistent
                && !copied.contains(object)
            {
                entries.entry(*object).or_default().push(id);
            }
            if plan.locals.contains(&id) && !plan.changing.contains(&id) {
                at_points.entry(point).or_default().push(id);
            }
        }
        at_points.values_mut().chain(entries.values_mut()).for_each(|ids| ids.sort_unstable());
        let guarded = plan.early.clone();
        let values = Expressions { outside, locals: HashMap::new(), copied, guarded };
        Printer {
            outside,
            scopes,
            plan,
            values,
            defined: Vec::new(),
            definitions: HashMap::new(),
            at_points,
            entries,
            shared_loads: HashSet::new(),
            to_copy: HashSet::new(),
            text: String::new(),
            depth,
            by_number: false,
        }
    }

    fn line(&mut self, text: &str) {
        for _ in 0..self.depth {
            self.text.push_str("  ");
        }
        self.text.push_str(text);
        self.text.push('\n');
    }

    /// What stands above the first statement: arrays of this kernel, copies, and variables of loads that are read
    /// outside of their scope.
    fn declare(&mut self, block: &Block) {
        let mut local = Vec::new();
        let mut loads = Vec::new();
        survey(block, &mut local, &mut loads);
        local.sort_unstable();
        local.dedup();
        for object in local {
            let object = &self.outside.objects[object.0 as usize];
            if !object.persistent {
                let line = format!("{} {}[{}] = {{0}};", element_type(object.width), object.name, object.length);
                self.line(&line);
            }
        }
        let mut copied: Vec<ObjectId> = self.values.copied.iter().copied().collect();
        copied.sort_unstable();
        for id in copied {
            let object = &self.outside.objects[id.0 as usize];
            let name = copy_name(&object.name);
            self.line(&format!("{} {name}[{}];", element_type(object.width), object.length));
            let from = self.outside.names.element(object, "0");
            self.line(&format!("memcpy({name}, &{from}, sizeof {name});"));
        }
        for (number, object, scope) in loads {
            let readers = self.plan.dependents.get(&number);
            let mut points = readers.into_iter().flatten().filter_map(|id| self.plan.points.get(id));
            if points.any(|&point| self.scopes.seen_from(point, scope).is_none()) {
                self.shared_loads.insert(number);
                let width = self.outside.objects[object.0 as usize].width;
                self.line(&format!("{} {} = 0;", word_type(width), loaded_name(number)));
            }
        }
    }

    fn block(&mut self, block: &Block) {
        self.defined.push(Vec::new());
        for (position, step) in block.steps.iter().enumerate() {
            let point = Point { scope: block.scope, step: position };
            if matches!(step, Step::Loop(_) | Step::If(..)) || self.by_number && matches!(step, Step::Writes(_)) {
                for id in self.at_points.get(&point).cloned().unwrap_or_default() {
                    self.need(id);
                }
            }
            self.read_entries(step, point);
            self.step(step);
        }
        for id in self.defined.pop().unwrap_or_default() {
            self.values.locals.remove(&id);
        }
    }

    /// Reads what elements held at the beginning, where the step may change them and somebody asks later.
    fn read_entries(&mut self, step: &Step, at: Point) {
        let (stored, _) = step.touches();
        let mut stored: Vec<ObjectId> = stored.into_iter().collect();
        stored.sort_unstable();
        for object in stored {
            let Some(waiting) = self.entries.get(&object) else { continue };
            let (later, kept): (Vec<NodeId>, Vec<NodeId>) = waiting.iter().copied().partition(|id| {
                let point = self.plan.points.get(id).and_then(|&point| self.scopes.seen_from(point, at.scope));
                point.is_some_and(|point| match step {
                    Step::If(..) => point.step > at.step,
                    _ => point.step >= at.step,
                })
            });
            self.entries.insert(object, kept);
            for id in later {
                if self.values.locals.contains_key(&id) {
                    continue;
                }
                let Op::Entry { index, .. } = self.outside.graph.op(id) else { continue };
                let same_scope = self.plan.points.get(&id).is_some_and(|point| point.scope == at.scope);
                let constant = self.outside.graph.constant(*index).is_some();
                if constant || same_scope && !self.plan.changing.contains(&id) {
                    if !constant {
                        // It may stand before what makes sure that there is such an element.
                        self.values.guarded.insert(id);
                    }
                    self.need(id);
                } else {
                    self.to_copy.insert(object);
                }
            }
        }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Load { id, .. } if !self.plan.dependents.contains_key(id) => {}
            Step::Load { id, object, index } => {
                self.need_place(*object, *index);
                let text = self.element(*object, *index);
                let name = loaded_name(*id);
                let text = if self.shared_loads.contains(id) {
                    format!("{name} = {text};")
                } else {
                    format!("const {} {name} = {text};", word_type(self.outside.objects[object.0 as usize].width))
                };
                self.line(&text);
                self.forget(&[*id]);
            }
            Step::Store { object, index, value } => {
                self.need_place(*object, *index);
                self.need(*value);
                let text = format!("{} = {};", self.element(*object, *index), self.stored(*object, *value));
                self.line(&text);
            }
            Step::Writes(writes) => {
                for write in writes {
                    if let Some(source) = write.source() {
                        self.need(source);
                    }
                    let text = self.write(write);
                    self.line(&text);
                }
            }
            Step::Loop(inner) => {
                let (_, loads) = step.touches();
                self.forget(&loads);
                self.line("for (;;) {");
                self.nested(inner);
                self.line("}");
            }
            Step::Leave(condition) => {
                self.need(*condition);
                let text = format!("if (!({})) break;", self.values.condition(*condition));
                self.line(&text);
            }
            Step::Check { condition, index, length, span } => {
                self.need(*condition);
                self.need(*index);
                let (condition, index) = (self.values.condition(*condition), self.values.value(*index));
                let text = self.outside.names.check(&condition, &index, *length, *span);
                self.line(&text);
            }
            Step::If(condition, then, otherwise) => {
                self.need(*condition);
                let text = format!("if ({}) {{", self.values.condition(*condition));
                self.line(&text);
                self.nested(then);
                if !otherwise.steps.is_empty() {
                    self.line("} else {");
                    self.nested(otherwise);
                }
                self.line("}");
            }
        }
    }

    fn nested(&mut self, block: &Block) {
        self.depth += 1;
        self.block(block);
        self.depth -= 1;
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
                let source = match from {
                    Place::Port(port) => self.outside.names.input_bytes(port, at, n_bytes as u32).unwrap_or_default(),
                    Place::Object(object) => format!("&{}", self.known_element(object, &at.to_string())),
                };
                format!("memcpy({}, {source}, {n_bytes});", self.pointer(place, first, n_bytes as u32))
            }
            Write::Bytes { place, first, n_bytes, big, source, lo } => {
                let pointer = self.pointer(place, first, n_bytes);
                let value = self.values.shifted(source, lo, n_bytes * 8);
                format!("hr_put_{}{}({pointer}, {value});", if big { "be" } else { "le" }, n_bytes * 8)
            }
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

    fn known_element(&self, object: ObjectId, index: &str) -> String {
        let object = &self.outside.objects[object.0 as usize];
        if object.persistent {
            return self.outside.names.element(object, index);
        }
        format!("{}[{index}]", object.name)
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

    /// Forgets variables that depend on loads which are done again.
    fn forget(&mut self, loads: &[u32]) {
        for number in loads {
            let Some(dependents) = self.plan.dependents.get(number) else { continue };
            let old: Vec<NodeId> = self.values.locals.keys().filter(|id| dependents.contains(id)).copied().collect();
            for id in old {
                self.values.locals.remove(&id);
            }
        }
    }

    /// Defines the variables that an element at a place that is not known reads.
    fn need_place(&mut self, object: ObjectId, index: NodeId) {
        if self.outside.names.element_near(object, index).is_none() {
            self.need(index);
        }
    }

    /// Defines the variables that an expression of the node reads.
    fn need(&mut self, root: NodeId) {
        let mut missing = Vec::new();
        let mut seen = HashSet::new();
        let mut open = vec![root];
        while let Some(id) = open.pop() {
            if self.values.locals.contains_key(&id) || !seen.insert(id) {
                continue;
            }
            if self.plan.locals.contains(&id) {
                missing.push(id);
            }
            open.extend(self.outside.reads(id));
        }
        missing.sort_unstable();
        for id in missing {
            if let Op::Entry { object, .. } = self.outside.graph.op(id)
                && self.values.copied.contains(object)
                && self.plan.locals.contains(&id)
            {
                // Reads of a copy can stand anywhere.
                continue;
            }
            let text = self.values.value(id);
            let definitions = self.definitions.entry(id).or_default();
            *definitions += 1;
            let name = if *definitions == 1 { format!("v{}_", id.0) } else { format!("v{}_{definitions}_", id.0) };
            let ty = word_type(self.outside.graph.width(id));
            if self.is_held(id) {
                self.line(&format!("{ty} {name} = {text};"));
                self.line(&format!("HR_HOLD({name});"));
            } else {
                self.line(&format!("const {ty} {name} = {text};"));
            }
            self.values.locals.insert(id, name);
            if let Some(scope) = self.defined.last_mut() {
                scope.push(id);
            }
        }
    }
}

fn survey(block: &Block, objects: &mut Vec<ObjectId>, loads: &mut Vec<(u32, ObjectId, usize)>) {
    for step in &block.steps {
        match step {
            Step::Load { id, object, .. } => {
                objects.push(*object);
                loads.push((*id, *object, block.scope));
            }
            Step::Store { object, .. } => objects.push(*object),
            Step::Writes(writes) => objects.extend(writes.iter().filter_map(|write| match write.place() {
                Place::Object(object) => Some(object),
                Place::Port(_) => None,
            })),
            Step::Loop(inner) => survey(inner, objects, loads),
            Step::If(_, then, otherwise) => {
                survey(then, objects, loads);
                survey(otherwise, objects, loads);
            }
            Step::Leave(_) | Step::Check { .. } => {}
        }
    }
}
