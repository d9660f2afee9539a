//! The bodies of modules: operations, choices and loops, with what their names mean.

use crate::design::{Item, Kind, Operation, Phi, Pin, Source, StateVar};
use crate::operations::{Gives, Takes, computing, wrong_operands};
use crate::read::{Names, Reader, elements, is_remark};
use headrace_ir::{CompareOp, Int, Scalar};
use roxmltree::Node;
use std::collections::{HashMap, HashSet};

/// What is known of the values of a module at the top while it is read.
pub(crate) struct Body<'a> {
    reader: &'a mut Reader,
    pins: &'a mut Vec<Pin>,
    variables: &'a [StateVar],
    names: &'a Names,
    autostart: &'a [bool],
    /// Types of the values so far.
    pub(crate) types: Vec<Scalar>,
    /// Tasks that are called.
    pub(crate) called: HashSet<usize>,
    /// Values that can be seen here, the innermost module last.
    visible: Vec<HashMap<String, usize>>,
    /// Names of all values of the module.
    taken: HashSet<String>,
    /// Values that are constants.
    literals: HashMap<usize, Int>,
    /// Values that are the answer of `pinAvail`.
    available: HashMap<usize, usize>,
}

/// The element and the output of a `PHI`.
type Pending<'a, 'input> = (Node<'a, 'input>, usize);

impl<'b> Body<'b> {
    pub(crate) fn new(
        reader: &'b mut Reader,
        pins: &'b mut Vec<Pin>,
        variables: &'b [StateVar],
        names: &'b Names,
        autostart: &'b [bool],
    ) -> Self {
        Self {
            reader,
            pins,
            variables,
            names,
            autostart,
            types: Vec::new(),
            called: HashSet::new(),
            visible: vec![HashMap::new()],
            taken: HashSet::new(),
            literals: HashMap::new(),
            available: HashMap::new(),
        }
    }

    fn wrong(&mut self, node: Node, message: impl Into<String>) {
        self.reader.wrong(node, message);
    }

    /// The parts of a module. `decision` is filled by the modules inside that decide.
    pub(crate) fn items(&mut self, module: Node, decision: &mut Option<Source>) -> Vec<Item> {
        stacker::maybe_grow(128 << 10, 1 << 20, || self.items_of(module, decision))
    }

    fn items_of(&mut self, module: Node, decision: &mut Option<Source>) -> Vec<Item> {
        let mut items = Vec::new();
        for child in elements(module) {
            match child.tag_name().name() {
                "operation" => items.extend(self.operation(child).map(Item::Operation)),
                "module" => self.module(child, &mut items),
                "PHI" => self.wrong(child, "`PHI` belongs into a module of kind if or loop"),
                _ if is_remark(child) => {}
                other => self.wrong(child, format!("a module has no element `{other}`")),
            }
        }
        if let Some(name) = module.attribute("decision") {
            match self.source(module, name) {
                Some((source, Scalar::Bool)) => *decision = Some(source),
                Some((_, ty)) => self.wrong(module, format!("the decision `{name}` is {ty}; a bool decides")),
                None => {}
            }
        }
        items
    }

    fn module(&mut self, module: Node, items: &mut Vec<Item>) {
        match self.reader.attribute(module, "kind") {
            Some("if") => items.extend(self.choice(module)),
            Some("loop") => items.extend(self.repetition(module)),
            // What happens in an order that does not matter happens in this one.
            Some("block" | "mutex") => {
                self.visible.push(HashMap::new());
                items.extend(self.items(module, &mut None));
                self.visible.pop();
            }
            Some(kind @ ("test" | "then" | "else" | "body")) => {
                self.wrong(module, format!("a module of kind {kind} belongs into one of kind if or loop"));
            }
            Some(kind) => self.wrong(module, format!("`{kind}` is no kind of an inner module")),
            None => {}
        }
    }

    /// The parts of a choice or a loop by their kinds, and its `PHI`.
    fn parts<'a, 'i>(
        &mut self,
        module: Node<'a, 'i>,
        kinds: [&str; 3],
    ) -> ([Option<Node<'a, 'i>>; 3], Vec<Node<'a, 'i>>) {
        let mut found = [None; 3];
        let mut phis = Vec::new();
        for child in elements(module) {
            let kind = child.attribute("kind").unwrap_or_default();
            match child.tag_name().name() {
                "PHI" => phis.push(child),
                "module" => match kinds.iter().position(|known| *known == kind) {
                    Some(at) if found[at].is_none() => found[at] = Some(child),
                    Some(_) => self.wrong(child, format!("a second module of kind {kind}")),
                    None => self.wrong(child, format!("`{kind}` has no place here")),
                },
                _ if is_remark(child) => {}
                other => self.wrong(child, format!("`{other}` has no place here")),
            }
        }
        (found, phis)
    }

    fn test(&mut self, module: Node, test: Option<Node>) -> Option<(Vec<Item>, Source)> {
        let Some(test) = test else {
            self.wrong(module, "the module of kind test is missing");
            return None;
        };
        let mut decision = None;
        let items = self.items(test, &mut decision);
        if test.attribute("decision").is_none() {
            self.wrong(test, "a test names its `decision`");
        }
        Some((items, decision?))
    }

    /// A branch or body, and the values that it defines.
    fn scope(&mut self, module: Option<Node>) -> (Vec<Item>, HashMap<String, usize>) {
        self.visible.push(HashMap::new());
        let items = module.map_or_else(Vec::new, |module| self.items(module, &mut None));
        (items, self.visible.pop().unwrap_or_default())
    }

    fn choice(&mut self, module: Node) -> Option<Item> {
        let ([test, then, otherwise], phis) = self.parts(module, ["test", "then", "else"]);
        let (test, decision) = self.test(module, test)?;
        if then.is_none() {
            self.wrong(module, "the module of kind then is missing");
        }
        let (then, of_then) = self.scope(then);
        let (otherwise, of_else) = self.scope(otherwise);
        let phis = phis.into_iter().filter_map(|phi| {
            let (value, ty) = self.phi_output(phi)?;
            let [first, second] = self.phi_inputs(phi, [Some("then"), Some("else")])?;
            let first = self.source_among(phi, first, Some(&of_then), ty);
            let second = self.source_among(phi, second, Some(&of_else), ty);
            self.define(phi, value, ty).map(|value| Some(Phi { value, sources: [first?, second?] }))?
        });
        let phis = phis.collect();
        Some(Item::If { test, decision, then, otherwise, phis })
    }

    fn repetition(&mut self, module: Node) -> Option<Item> {
        let ([test, body, _], phis) = self.parts(module, ["test", "body", ""]);
        let mut begun: Vec<(Pending, Option<Source>, String, Scalar)> = Vec::new();
        let mut outputs = Vec::new();
        for phi in phis {
            let Some((name, ty)) = self.phi_output(phi) else { continue };
            let Some([first, second]) = self.phi_inputs(phi, [None, None]) else { continue };
            let first = self.source_among(phi, first, None, ty);
            outputs.push((phi, name, ty, first, second.to_owned()));
        }
        // All begin together: none sees another as it begins.
        for (phi, name, ty, first, second) in outputs {
            let Some(value) = self.define(phi, name, ty) else { continue };
            begun.push(((phi, value), first, second, ty));
        }
        let (test, decision) = self.test(module, test)?;
        if body.is_none() {
            self.wrong(module, "the module of kind body is missing");
        }
        let (body, of_body) = self.scope(body);
        let mut phis = Vec::new();
        for ((phi, value), first, second, ty) in begun {
            let second = self.source_among(phi, &second, Some(&of_body), ty);
            phis.extend(first.zip(second).map(|(first, second)| Phi { value, sources: [first, second] }));
        }
        Some(Item::Loop { phis, test, decision, body })
    }

    /// The ports of an element in a direction.
    fn ports<'a, 'i>(&mut self, node: Node<'a, 'i>) -> (Vec<Node<'a, 'i>>, Vec<Node<'a, 'i>>) {
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        for child in elements(node) {
            match (child.tag_name().name(), child.attribute("dir")) {
                ("port", Some("in")) => inputs.push(child),
                ("port", Some("out")) => outputs.push(child),
                ("port", _) => self.wrong(child, "`dir` is in or out"),
                _ if is_remark(child) => {}
                (other, _) => self.wrong(child, format!("`{}` has no element `{other}`", node.tag_name().name())),
            }
        }
        (inputs, outputs)
    }

    fn phi_output<'a>(&mut self, phi: Node<'a, '_>) -> Option<(&'a str, Scalar)> {
        let (_, outputs) = self.ports(phi);
        let [output] = outputs.as_slice() else {
            self.wrong(phi, "`PHI` has one output");
            return None;
        };
        let ty = self.reader.ty(*output)?;
        Some((self.reader.attribute(*output, "source")?, ty))
    }

    /// The two sources of a `PHI`, in the order of their qualifiers where it has these.
    fn phi_inputs<'a>(&mut self, phi: Node<'a, '_>, order: [Option<&str>; 2]) -> Option<[&'a str; 2]> {
        let (inputs, _) = self.ports(phi);
        let [first, second] = inputs.as_slice() else {
            self.wrong(phi, format!("`PHI` has two inputs, not {}", inputs.len()));
            return None;
        };
        let swapped = order[0].is_some() && first.attribute("qualifier") == order[1];
        let (first, second) = if swapped { (second, first) } else { (first, second) };
        for (input, wanted) in [first, second].into_iter().zip(order) {
            if wanted.is_some() && input.attribute("qualifier").is_some_and(|own| Some(own) != wanted) {
                self.wrong(*input, "the inputs of this `PHI` are qualified by then and else");
                return None;
            }
        }
        Some([self.reader.attribute(*first, "source")?, self.reader.attribute(*second, "source")?])
    }

    /// A source that may also be among values of a module that has ended.
    fn source_among(
        &mut self,
        node: Node,
        name: &str,
        ended: Option<&HashMap<String, usize>>,
        ty: Scalar,
    ) -> Option<Source> {
        let (source, own) = match ended.and_then(|ended| ended.get(name)) {
            Some(&value) => (Source::Value(value), self.types[value]),
            None => self.source(node, name)?,
        };
        if (own == Scalar::Bool) != (ty == Scalar::Bool) {
            self.wrong(node, format!("`{name}` is {own}, the output is {ty}"));
            return None;
        }
        Some(source)
    }

    /// What a name means here.
    fn source(&mut self, node: Node, name: &str) -> Option<(Source, Scalar)> {
        if let Some(&value) = self.visible.iter().rev().find_map(|scope| scope.get(name)) {
            return Some((Source::Value(value), self.types[value]));
        }
        match self.names.variables.get(name) {
            Some(&at) if !self.variables[at].is_list => Some((Source::Variable(at), self.variables[at].ty)),
            Some(_) => {
                self.wrong(node, format!("`{name}` is a list; `var_ref` reads its elements"));
                None
            }
            None => {
                let why = if self.taken.contains(name) { "is not seen here" } else { "is not defined before this" };
                self.wrong(node, format!("the source `{name}` {why}"));
                None
            }
        }
    }

    fn define(&mut self, node: Node, name: &str, ty: Scalar) -> Option<usize> {
        if !self.taken.insert(name.to_owned()) {
            self.wrong(node, format!("`{name}` is assigned twice"));
            return None;
        }
        if self.names.variables.contains_key(name) {
            self.wrong(node, format!("`{name}` is a state variable; `assign` changes it"));
            return None;
        }
        let value = self.types.len();
        self.types.push(ty);
        self.visible.last_mut()?.insert(name.to_owned(), value);
        Some(value)
    }

    fn operation(&mut self, node: Node) -> Option<Operation> {
        let name = self.reader.attribute(node, "kind")?;
        let (inputs, outputs) = self.ports(node);
        let mut operands = Vec::new();
        for input in &inputs {
            let source = self.reader.attribute(*input, "source")?;
            operands.push(self.source(*input, source)?);
        }
        let types: Vec<Scalar> = operands.iter().map(|(_, ty)| *ty).collect();
        let sources: Vec<Source> = operands.iter().map(|(source, _)| *source).collect();
        let output = match outputs.as_slice() {
            [] => None,
            [one] => Some((*one, self.reader.ty(*one)?)),
            [_, second, ..] => {
                self.wrong(*second, format!("`{name}` has more than one output"));
                return None;
            }
        };
        let result = output.map(|(_, ty)| ty);
        let (kind, gives) = self.kind(node, name, &types, result)?;
        let wanted = match gives {
            None => None,
            Some(Gives::Any) => result,
            Some(Gives::Int) => result.filter(|ty| *ty != Scalar::Bool),
            Some(Gives::Bool) => result.filter(|ty| *ty == Scalar::Bool),
            Some(Gives::Same) => result.filter(|ty| (*ty == Scalar::Bool) == (types.last() == Some(&Scalar::Bool))),
        };
        match (gives, output, wanted) {
            (None, Some((port, _)), _) => {
                self.wrong(port, format!("`{name}` has no output"));
                return None;
            }
            (Some(_), None, _) => {
                self.wrong(node, format!("`{name}` has one output"));
                return None;
            }
            (Some(_), Some((port, ty)), None) => {
                self.wrong(port, format!("`{name}` does not give {ty} here"));
                return None;
            }
            _ => {}
        }
        let value = match output {
            Some((port, ty)) => {
                let source = self.reader.attribute(port, "source")?;
                Some(self.define(port, source, ty)?)
            }
            None => None,
        };
        self.note_bursts(&kind, &sources, value);
        Some(Operation { kind, sources, value, span: self.reader.span(node) })
    }

    /// What an operation is, with its operands checked.
    fn kind(
        &mut self,
        node: Node,
        name: &str,
        types: &[Scalar],
        result: Option<Scalar>,
    ) -> Option<(Kind, Option<Gives>)> {
        let (kind, takes, gives) = match name {
            "$literal_Integer" => {
                let Some(ty) = result else {
                    self.wrong(node, "a literal has one output");
                    return None;
                };
                (Kind::Literal(self.reader.value(node, ty)?), Takes::Nothing, Some(Gives::Any))
            }
            "signExtend" => {
                let size = self
                    .reader
                    .attribute(node, "size")?
                    .parse()
                    .ok()
                    .filter(|size| (1..=crate::MAX_SIZE).contains(size));
                let Some(size) = size else {
                    self.wrong(node, "the attribute `size` is no number of bits");
                    return None;
                };
                (Kind::SignExtend(size), Takes::Int, Some(Gives::Int))
            }
            "pinRead" | "pinPeek" | "pinWrite" | "pinStatus" | "pinAvail" => {
                return self.pin_kind(node, name, types, result);
            }
            "var_ref" => {
                let at = self.variable(node, "name", true)?;
                self.same_kind(node, self.variables[at].ty, result)?;
                (Kind::Load(at), Takes::Int, Some(Gives::Any))
            }
            "assign" => {
                let is_list = types.len() == 2;
                let at = self.variable(node, "target", is_list)?;
                self.same_kind(node, self.variables[at].ty, types.last().copied())?;
                if is_list {
                    self.check(node, name, Takes::Int, &types[..1])?;
                    return Some((Kind::StoreElement(at), None));
                }
                (Kind::Store(at), Takes::Any, None)
            }
            "taskCall" => {
                let target = self.reader.attribute(node, "target")?;
                let Some(&task) = self.names.tasks.get(target) else {
                    self.wrong(node, format!("there is no module `{target}`"));
                    return None;
                };
                if self.autostart[task] {
                    self.wrong(node, format!("the module `{target}` starts by itself"));
                    return None;
                }
                self.called.insert(task);
                (Kind::TaskCall(task), Takes::Nothing, None)
            }
            "yield" => (Kind::Yield, Takes::Nothing, None),
            _ => match computing(name) {
                Some((kind, takes, gives)) => (kind, takes, Some(gives)),
                None => {
                    self.wrong(node, format!("`{name}` is no operation that is known"));
                    return None;
                }
            },
        };
        self.check(node, name, takes, types)?;
        if kind == Kind::Convert && result == Some(Scalar::Bool) && types.first() != Some(&Scalar::Bool) {
            self.wrong(node, "an integer does not convert to bool; `$ne` compares it with zero");
            return None;
        }
        Some((kind, gives))
    }

    fn pin_kind(
        &mut self,
        node: Node,
        name: &str,
        types: &[Scalar],
        result: Option<Scalar>,
    ) -> Option<(Kind, Option<Gives>)> {
        let port = self.reader.attribute(node, "portName")?;
        let find = |output| self.pins.iter().position(|pin: &Pin| pin.name == port && pin.output == output);
        let found = match name {
            "pinRead" | "pinPeek" => find(false),
            "pinWrite" => find(true),
            _ => find(false).or_else(|| find(true)),
        };
        let Some(at) = found else {
            self.wrong(node, format!("there is no port `{port}` for `{name}`"));
            return None;
        };
        let ty = self.pins[at].ty;
        let (kind, takes, gives) = match name {
            "pinRead" => (Kind::PinRead(at), Takes::Nothing, Some(Gives::Any)),
            "pinPeek" => (Kind::PinPeek(at), Takes::Int, Some(Gives::Any)),
            "pinWrite" => (Kind::PinWrite(at), Takes::Any, None),
            "pinStatus" => (Kind::PinStatus(at), Takes::Nothing, Some(Gives::Bool)),
            _ => (Kind::PinAvail(at), Takes::Nothing, Some(Gives::Int)),
        };
        self.check(node, name, takes, types)?;
        match name {
            "pinRead" | "pinPeek" => self.same_kind(node, ty, result)?,
            "pinWrite" => self.same_kind(node, ty, types.first().copied())?,
            _ => {}
        }
        Some((kind, gives))
    }

    fn variable(&mut self, node: Node, attribute: &str, is_list: bool) -> Option<usize> {
        let name = self.reader.attribute(node, attribute)?;
        let found = self.names.variables.get(name).copied();
        match found {
            None => self.wrong(node, format!("there is no state variable `{name}`")),
            Some(at) if self.variables[at].is_list == is_list => return Some(at),
            Some(_) if is_list => self.wrong(node, format!("the state variable `{name}` is no list")),
            Some(_) => self.wrong(node, format!("the state variable `{name}` is a list; an index is missing")),
        }
        None
    }

    /// Integers for integers, booleans for booleans.
    fn same_kind(&mut self, node: Node, ty: Scalar, other: Option<Scalar>) -> Option<()> {
        if other.is_some_and(|other| (other == Scalar::Bool) != (ty == Scalar::Bool)) {
            self.wrong(node, format!("this is {ty}, not {}", other.map_or(String::new(), |other| other.to_string())));
            return None;
        }
        Some(())
    }

    fn check(&mut self, node: Node, name: &str, takes: Takes, types: &[Scalar]) -> Option<()> {
        if let Some(wanted) = wrong_operands(takes, types) {
            let types: Vec<String> = types.iter().map(ToString::to_string).collect();
            let types = if types.is_empty() { "nothing".to_owned() } else { types.join(", ") };
            self.wrong(node, format!("`{name}` takes {wanted}, not {types}"));
            return None;
        }
        Some(())
    }

    /// Keeps in mind how many tokens or places are asked for at once.
    fn note_bursts(&mut self, kind: &Kind, sources: &[Source], value: Option<usize>) {
        let literal = |at: usize| match sources.get(at) {
            Some(Source::Value(value)) => self.literals.get(value).and_then(Int::to_u64),
            _ => None,
        };
        match (kind, value) {
            (Kind::Literal(number), Some(value)) => _ = self.literals.insert(value, number.clone()),
            (Kind::PinAvail(pin), Some(value)) => _ = self.available.insert(value, *pin),
            (Kind::Compare(CompareOp::GreaterEqual), _) => {
                let Some(Source::Value(first)) = sources.first() else { return };
                if let (Some(&pin), Some(most)) = (self.available.get(first), literal(1)) {
                    self.pins[pin].burst = self.pins[pin].burst.max(most.min(1 << 30));
                }
            }
            (Kind::PinPeek(pin), _) => {
                if let Some(index) = literal(0) {
                    self.pins[*pin].burst = self.pins[*pin].burst.max(index.min(1 << 30) + 1);
                }
            }
            _ => {}
        }
    }
}
