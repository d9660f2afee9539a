//! Reader of XLIM: an XML text becomes a design.

use crate::design::{Design, Pin, StateVar, Task};
use crate::modules::Body;
use headrace_ir::{Int, IntType, Scalar};
use headrace_source::{Diagnostic, FileId, Span};
use headrace_syntax::xml;
use roxmltree::{Document, Node, ParsingOptions};
use std::collections::{HashMap, HashSet};

/// The most XML nodes that are read: each takes some hundred bytes.
const MAX_NODES: u32 = 8_000_000;

/// The most digits of a number.
const MAX_DIGITS: usize = 20_000;

/// Longest text that is read.
const MAX_BYTES: usize = 1 << 28;

/// Elements that say something about a design without changing what it does.
const REMARKS: [&str; 2] = ["note", "config_option"];

/// Reads a design. `None` when it is wrong; then at least one problem says why, and where.
pub fn read(file: FileId, text: &str) -> (Option<Design>, Vec<Diagnostic>) {
    let mut reader = Reader { file, problems: Vec::new() };
    let design = reader.document(text);
    (design.filter(|_| reader.problems.is_empty()), reader.problems)
}

/// What reading needs everywhere.
#[derive(Debug)]
pub(crate) struct Reader {
    file: FileId,
    pub(crate) problems: Vec<Diagnostic>,
}

/// What modules may refer to.
#[derive(Debug, Default)]
pub(crate) struct Names {
    pub(crate) variables: HashMap<String, usize>,
    pub(crate) tasks: HashMap<String, usize>,
}

pub(crate) fn elements<'a, 'input: 'a>(
    node: Node<'a, 'input>,
) -> impl Iterator<Item = Node<'a, 'input>> + use<'a, 'input> {
    node.children().filter(Node::is_element)
}

pub(crate) fn is_remark(node: Node) -> bool {
    REMARKS.contains(&node.tag_name().name())
}

impl Reader {
    /// The tag of an element.
    pub(crate) fn span(&self, node: Node) -> Span {
        let range = node.range();
        let end = elements(node).next().map_or(range.end, |child| child.range().start);
        Span::new(self.file, range.start, end)
    }

    pub(crate) fn wrong(&mut self, node: Node, message: impl Into<String>) {
        // Enough to repair a file by, and no flood from one that is something else.
        if self.problems.len() < 100 {
            self.problems.push(Diagnostic::error("xlim-error", message).at(self.span(node), ""));
        }
    }

    pub(crate) fn attribute<'a>(&mut self, node: Node<'a, '_>, name: &str) -> Option<&'a str> {
        let found = node.attribute(name);
        if found.is_none() {
            self.wrong(node, format!("`{}` needs the attribute `{name}`", node.tag_name().name()));
        }
        found
    }

    /// The type that the attributes of an element say.
    pub(crate) fn ty(&mut self, node: Node) -> Option<Scalar> {
        let name = self.attribute(node, "typeName")?;
        let signed = match name {
            "bool" => return Some(Scalar::Bool),
            "int" => true,
            "uint" => false,
            _ => {
                let message = format!("`{name}` is no type of an operation; bool, int and uint are");
                self.wrong(node, message);
                return None;
            }
        };
        let size = self.attribute(node, "size")?;
        match size.parse().ok().filter(|width| (1..=crate::MAX_SIZE).contains(width)) {
            Some(width) => Some(Scalar::Int(IntType { signed, width })),
            None => {
                self.wrong(node, format!("`{size}` is no size; 1 to {} are", crate::MAX_SIZE));
                None
            }
        }
    }

    /// The integer in the attribute `value`, which its type must hold.
    pub(crate) fn value(&mut self, node: Node, ty: Scalar) -> Option<Int> {
        let text = self.attribute(node, "value")?;
        let digits = text.strip_prefix('-').unwrap_or(text);
        let is_number = !digits.is_empty() && digits.len() <= MAX_DIGITS && digits.bytes().all(|b| b.is_ascii_digit());
        let value = match (text, ty) {
            ("true", Scalar::Bool) => Some(Int::from(1i64)),
            ("false", Scalar::Bool) => Some(Int::ZERO),
            _ if is_number => text.parse::<num_bigint::BigInt>().ok().map(Int::from),
            _ => None,
        };
        let Some(value) = value else {
            self.wrong(node, "the attribute `value` is no integer");
            return None;
        };
        if !value.fits(ty.as_int().unwrap_or(IntType::unsigned(1))) {
            self.wrong(node, format!("the type {ty} does not hold this value"));
            return None;
        }
        Some(value)
    }

    fn document(&mut self, text: &str) -> Option<Design> {
        let place = |at: usize| Span::new(self.file, at, at);
        let problem = |slug, message: String, at| Some(Diagnostic::error(slug, message).at(place(at), ""));
        let found = if text.len() > MAX_BYTES {
            problem("file-too-large", format!("the file has {} bytes; at most {MAX_BYTES} are read", text.len()), 0)
        } else {
            xml::beyond_limits(text).and_then(|(slug, message, at)| problem(slug, message, at))
        };
        if let Some(found) = found {
            self.problems.push(found);
            return None;
        }
        let options = ParsingOptions { allow_dtd: false, nodes_limit: MAX_NODES };
        let document = match Document::parse_with_options(text, options) {
            Ok(document) => document,
            Err(error) => {
                let at = xml::offset_of(text, error.pos());
                self.problems.extend(problem("xml-error", format!("not well-formed XML: {error}"), at));
                return None;
            }
        };
        let root = document.root_element();
        if root.tag_name().name() != "design" {
            let message = format!("expected the element `design`, found `{}`", root.tag_name().name());
            self.wrong(root, message);
            return None;
        }
        self.design(root)
    }

    fn design(&mut self, root: Node) -> Option<Design> {
        let name = self.attribute(root, "name").unwrap_or_default().to_owned();
        let mut design = Design { name, pins: Vec::new(), variables: Vec::new(), tasks: Vec::new() };
        let mut names = Names::default();
        let mut modules = Vec::new();
        for child in elements(root) {
            match child.tag_name().name() {
                "actor-port" => self.pin(child, &mut design),
                "stateVar" => self.variable(child, &mut design, &mut names),
                "module" => {
                    // A module that nobody can call needs no name.
                    let name = child.attribute("name").unwrap_or_default();
                    if !name.is_empty() && names.tasks.insert(name.to_owned(), modules.len()).is_some() {
                        self.wrong(child, format!("there are two modules `{name}`"));
                    }
                    modules.push(child);
                }
                "internal-port" => self.wrong(child, "`internal-port` is not supported; a network can connect designs"),
                _ if is_remark(child) => {}
                other => self.wrong(child, format!("`design` has no element `{other}`")),
            }
        }
        let autostart: Vec<bool> = modules.iter().map(|module| module.attribute("autostart") == Some("true")).collect();
        let mut calls = Vec::new();
        for (at, &module) in modules.iter().enumerate() {
            match module.attribute("autostart") {
                Some("true" | "false") | None => {}
                Some(other) => self.wrong(module, format!("`autostart` is true or false, not `{other}`")),
            }
            let name = module.attribute("name").unwrap_or_default().to_owned();
            let mut body = Body::new(self, &mut design.pins, &design.variables, &names, &autostart);
            let items = body.items(module, &mut None);
            calls.push(body.called);
            design.tasks.push(Task { name, autostart: autostart[at], values: body.types, body: items });
        }
        if let Some(at) = circle(&calls) {
            self.wrong(modules[at], "modules that call one another in a circle never end");
        }
        Some(design)
    }

    fn pin(&mut self, node: Node, design: &mut Design) {
        let (Some(name), Some(dir)) = (self.attribute(node, "name"), self.attribute(node, "dir")) else { return };
        let Some(ty) = self.ty(node) else { return };
        let output = match dir {
            "in" => false,
            "out" => true,
            other => return self.wrong(node, format!("`dir` is in or out, not `{other}`")),
        };
        if design.pin(name, output).is_some() {
            self.wrong(node, format!("there are two ports `{name}`"));
        }
        let span = self.span(node);
        design.pins.push(Pin { name: name.to_owned(), output, ty, burst: 1, span });
    }

    fn variable(&mut self, node: Node, design: &mut Design, names: &mut Names) {
        let Some(name) = self.attribute(node, "name") else { return };
        let mut initial = elements(node).filter(|child| !is_remark(*child));
        let (Some(first), None) = (initial.next(), initial.next()) else {
            return self.wrong(node, "a state variable has one `initValue`");
        };
        let mut leaves = Leaves { ty: None, values: Vec::new() };
        let is_list = first.attribute("typeName") == Some("List");
        self.initial(first, &mut leaves);
        let Leaves { ty: Some(ty), values } = leaves else {
            return self.wrong(node, "a list has at least one element");
        };
        if names.variables.insert(name.to_owned(), design.variables.len()).is_some() {
            self.wrong(node, format!("there are two state variables `{name}`"));
        }
        design.variables.push(StateVar { name: name.to_owned(), ty, is_list, initial: values });
    }

    fn initial(&mut self, node: Node, leaves: &mut Leaves) {
        if node.tag_name().name() != "initValue" {
            return self.wrong(node, format!("expected `initValue`, found `{}`", node.tag_name().name()));
        }
        if node.attribute("typeName") == Some("List") {
            return elements(node).for_each(|child| self.initial(child, leaves));
        }
        let Some(ty) = self.ty(node) else { return };
        let Some(value) = self.value(node, ty) else { return };
        if *leaves.ty.get_or_insert(ty) != ty {
            return self.wrong(node, "the elements of a list have one type");
        }
        leaves.values.push(value);
    }
}

struct Leaves {
    ty: Option<Scalar>,
    values: Vec<Int>,
}

/// A task that reaches itself by calls.
fn circle(calls: &[HashSet<usize>]) -> Option<usize> {
    let mut left: HashSet<usize> = (0..calls.len()).collect();
    loop {
        let ends: Vec<usize> =
            left.iter().copied().filter(|&task| calls[task].iter().all(|called| !left.contains(called))).collect();
        if ends.is_empty() {
            return left.into_iter().min();
        }
        ends.iter().for_each(|end| _ = left.remove(end));
    }
}
