//! Code generation for procedures and actions. The C functions of an actor: its procedures, and the guard and body of each
//! action.

use super::code::places::Pointer;
use super::code::{CONTROL, Code, Declaration, LISTS, SCALARS, stored};
use super::ctype;
use super::inlined;
use super::layout;
use super::plan::{Plan, ProcedureInfo};
use super::text::{Declared, Lines, Name, Text, listed, text};
use headrace_analysis::assigned::{self, Uses};
use headrace_analysis::filled;
use headrace_analysis::ranges::Unit;
use headrace_ir::{Action, Local, LocalId, LocalKind, Output, OutputValue, Place, Root, Scalar, Stmt, Type};
use rustc_hash::FxHashMap;
use std::fmt;

/// Nested calls of recursive procedures after which a program stops.
pub const MAX_DEPTH: u32 = 10_000;

/// Lists larger than this do not go on the stack.
const MAX_STACK_BYTES: u64 = 1 << 15;

/// The same for procedures that call themselves.
const MAX_RECURSIVE_BYTES: u64 = 128;

/// How a function takes a value that the scheduler gives it.
#[derive(Clone, Debug)]
pub struct Given {
    /// Position in [`Action::consumes`], and of the name in that pattern.
    pub pattern: (usize, usize),
}

/// A printed guard or body.
#[derive(Clone, Debug, Default)]
pub struct Printed {
    /// The C function; empty when there is nothing to call.
    pub name: Name,
    /// Pattern variables that it takes, in order.
    pub given: Vec<Given>,
    /// Takes the scalar state.
    pub uses_scalars: bool,
    /// Takes the lists.
    pub uses_lists: bool,
    /// Takes what the network shares.
    pub uses_control: bool,
    /// It can stop the program.
    pub stops: bool,
    /// The definition; none when there is nothing to call.
    pub definition: Option<Definition>,
}

impl Printed {
    /// Whether there is something to call.
    pub fn is_called(&self) -> bool {
        self.definition.is_some()
    }
}

/// The definition of a function.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Definition {
    /// What compilers are told about it.
    attribute: &'static str,
    storage: &'static str,
    result: &'static str,
    name: Name,
    parameters: Vec<Text>,
    body: Lines,
}

impl Definition {
    /// Every name in it but its own.
    pub fn names(&self) -> impl Iterator<Item = &Name> {
        self.body.names()
    }

    /// The same with names in the place of others.
    pub fn renamed(&self, names: &FxHashMap<Name, Name>) -> Definition {
        Definition {
            attribute: self.attribute,
            storage: self.storage,
            result: self.result,
            name: names.get(&self.name).unwrap_or(&self.name).clone(),
            parameters: self.parameters.clone(),
            body: self.body.renamed(names),
        }
    }
}

impl fmt::Display for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = format!("{} {} {}(", self.storage, self.result, self.name);
        let parameters: Vec<String> = self.parameters.iter().map(Text::to_string).collect();
        writeln!(f, "{}{}) {{\n{}}}\n", self.attribute, layout::parameters(&head, &parameters), self.body)
    }
}

struct Frame {
    parameters: Vec<Text>,
}

impl Code<'_> {
    fn shared_parameters(&mut self) -> Vec<Text> {
        let recursive = matches!(self.unit, Unit::Procedure(procedure) if self.plan.procedure(procedure).recursive);
        if !recursive {
            // What was asked for may have been folded away since.
            self.uses_scalars &= self.mentions(SCALARS);
            self.uses_lists &= self.mentions(LISTS);
            self.uses_control &= self.mentions(CONTROL);
        }
        let mut parameters = Vec::new();
        let prefix = &self.plan.prefix;
        if self.uses_scalars {
            parameters.push(text!["struct ", prefix, "_scalars *", SCALARS]);
        }
        if self.uses_lists {
            parameters.push(text!["struct ", prefix, "_lists *", LISTS]);
        }
        if self.uses_control {
            parameters.push(text!["struct headrace_control *", CONTROL]);
        }
        parameters
    }

    /// Declares the locals that are mentioned. `after` says what is done with a local after the statements.
    fn declare_locals(&mut self, statements: &[Stmt], after: &dyn Fn(usize) -> Uses) {
        for at in 0..self.locals.len() {
            let Local { name, ty, kind } = self.locals[at].clone();
            if kind != LocalKind::Plain || !self.slots[at].text.is_empty() {
                continue;
            }
            let inside = assigned::in_block(statements, at);
            let later = after(at);
            if !inside.any() && !later.any() {
                continue;
            }
            if !later.any() && !ty.is_list() && assigned::only_loop_variable(statements, at) {
                continue;
            }
            let first = if ty.is_list() {
                filled::filled_first(statements, at, &ty.dims, &|place| self.n_elements(place))
            } else {
                assigned::assigned_before(statements, at, later.any()) && !ctype::is_wide(ty.element)
            };
            self.declare(at, &name, &ty, !first);
        }
    }

    fn declare(&mut self, at: usize, name: &str, ty: &Type, zero: bool) {
        let bytes = ctype::array_length(ty).unwrap_or(0) * ctype::element_bytes(ty.element);
        let recursive = matches!(self.unit, Unit::Procedure(procedure) if self.plan.procedure(procedure).recursive);
        if bytes <= if recursive { MAX_RECURSIVE_BYTES } else { MAX_STACK_BYTES } {
            self.slots[at].text = text![self.temporary(name)];
            self.declare_local(LocalId(at as u32), zero);
            return;
        }
        if recursive {
            self.unsupported(
                self.plan.actor.span,
                "a recursive procedure with a list of more than 128 bytes of its own",
            );
        }
        let field = self.plan.list_names.borrow_mut().fresh(&format!("{}_{name}", self.name));
        self.plan.list_fields.borrow_mut().push(ctype::declaration(ty, &field).to_string());
        self.uses_lists = true;
        self.slots[at].text = text![LISTS, "->", field];
        if zero {
            self.line(text!["memset(", LISTS, "->", field, ", 0, sizeof ", LISTS, "->", field, ");"]);
        }
    }

    /// Elements of what a place stands for.
    fn n_elements(&self, place: &Place) -> usize {
        self.type_of(place.root).after_indices(place.indices.len()).len()
    }

    /// Parameters for the pattern variables that are used.
    fn give(&mut self, action: &Action, uses: &dyn Fn(usize) -> Uses) -> (Vec<Given>, Frame) {
        let mut given = Vec::new();
        let mut parameters = Vec::new();
        for (pattern_at, pattern) in action.consumes.iter().enumerate() {
            for (name_at, &local) in pattern.locals.iter().enumerate() {
                let Uses { read, written } = uses(local.index());
                if !read && !written {
                    continue;
                }
                given.push(Given { pattern: (pattern_at, name_at) });
                let Local { name, ty, .. } = self.locals[local.index()].clone();
                let spelled = self.temporary(&name);
                self.remember(&spelled, Declaration::Parameter);
                if ctype::array_length(&ty).is_none() {
                    parameters.push(ctype::declaration(&ty, Declared(&spelled)));
                    self.slots[local.index()].text = text![spelled];
                    continue;
                }
                parameters.push(ctype::pointer(ty.element, true, true, Declared(&spelled)));
                self.slots[local.index()].text = text![spelled];
                if written {
                    self.declare(local.index(), &name, &ty, false);
                    let own = self.slots[local.index()].text.clone();
                    self.line(text!["memcpy(", own.as_filled(), ", ", spelled, ", sizeof ", own, ");"]);
                }
            }
        }
        (given, Frame { parameters })
    }
}

fn definition(
    attribute: &'static str,
    result: &'static str,
    name: &Name,
    parameters: Vec<Text>,
    body: Lines,
) -> Definition {
    Definition { attribute, storage: "static inline", result, name: name.clone(), parameters, body }
}

/// The guard of an action as a function that returns whether it holds; without a name when it always does.
pub fn guard(plan: &Plan<'_>, unit: Unit, action: &Action, name: &Name) -> Printed {
    if action.guard.conditions.is_empty() {
        return Printed::default();
    }
    let mut code = Code::new(plan, unit, &action.name, &action.locals, "return false;");
    let uses = |local: usize| assigned::in_guard(action, local);
    let (given, frame) = code.give(action, &uses);
    let after = |local: usize| {
        action.guard.conditions.iter().fold(Uses::default(), |all, condition| Uses {
            read: all.read || assigned::in_expr(condition, local).read,
            written: all.written,
        })
    };
    code.declare_locals(&action.guard.before, &after);
    code.block(&action.guard.before);
    let mut texts = Vec::new();
    for (at, condition) in action.guard.conditions.iter().enumerate() {
        let node = code.node(condition);
        let (value, before) = code.capture(|code| code.value(&node));
        if !before.is_empty() {
            // Conditions are evaluated in order: those before this one decide whether it is evaluated at all.
            if !texts.is_empty() {
                let all = join_conditions(&std::mem::take(&mut texts));
                code.open(text!["if (!(", all, ")) {"]);
                code.line("return false;");
                code.close("}");
            }
            code.open("{");
            code.splice(before);
            code.open(text!["if (!(", value.text, ")) {"]);
            code.line("return false;");
            code.close("}");
            code.close("}");
        } else if value.truth != Some(true) {
            texts.push(value);
        }
        let _ = at;
    }
    let all = join_conditions(&texts);
    code.line(text!["return ", all, ";"]);
    let mut parameters = code.shared_parameters();
    parameters.extend(frame.parameters);
    let mut printed = Printed {
        name: name.clone(),
        given,
        uses_scalars: code.uses_scalars,
        uses_lists: code.uses_lists,
        uses_control: code.uses_control,
        stops: code.stops,
        ..Printed::default()
    };
    printed.definition = Some(definition(plan.options.attribute(), "bool", name, parameters, code.finish()));
    printed
}

fn join_conditions(values: &[super::code::value::Value]) -> Text {
    let mut values = values.iter();
    let Some(first) = values.next() else { return "true".into() };
    let all = values.fold(first.clone(), |all, value| {
        super::code::value::Value::infix("&&", &all, value, super::code::value::Kind::Bool)
    });
    all.text
}

/// The body of an action and its output expressions, as a function.
pub fn body(plan: &Plan<'_>, unit: Unit, action: &Action, name: &Name) -> Printed {
    let mut code = Code::new(plan, unit, &action.name, &action.locals, "return;");
    let uses = |local: usize| {
        let inside = assigned::in_block(&action.body, local);
        let later = assigned::in_outputs(action, local);
        Uses { read: inside.read || later.read, written: inside.written || later.written }
    };
    let (given, frame) = code.give(action, &uses);
    let mut parameters = frame.parameters;
    let mut pointers = Vec::new();
    let mut filled_in_place = vec![false; action.produces.len()];
    for (at, output) in action.produces.iter().enumerate() {
        let port = &plan.actor.outputs[output.port];
        let spelled = code.temporary(&port.name);
        parameters.push(ctype::pointer(port.ty, false, true, Declared(&spelled)));
        if let Some(local) = in_place(&code, action, output, port.ty) {
            code.slots[local.index()].text = text![spelled];
            filled_in_place[at] = true;
            let dims = &code.locals[local.index()].ty.dims;
            if !filled::filled_first(&action.body, local.index(), dims, &|place| code.n_elements(place)) {
                let elements = output.tokens() * u64::from(ctype::words(port.ty));
                code.line(text!["memset(", Declared(&spelled), ", 0, ", elements, " * sizeof *", spelled, ");"]);
            }
        }
        pointers.push(spelled);
    }
    code.declare_locals(&action.body, &|local| assigned::in_outputs(action, local));
    code.block(&action.body);
    for (at, output) in action.produces.iter().enumerate() {
        if !filled_in_place[at] {
            emit_output(&mut code, output, &pointers[at], plan.actor.outputs[output.port].ty);
        }
    }
    let mut all = code.shared_parameters();
    all.extend(parameters);
    let mut printed = Printed {
        name: name.clone(),
        given,
        uses_scalars: code.uses_scalars,
        uses_lists: code.uses_lists,
        uses_control: code.uses_control,
        stops: code.stops,
        definition: None,
    };
    let body = code.finish();
    if body.is_empty() {
        return Printed::default();
    }
    printed.definition = Some(definition(plan.options.attribute(), "void", name, all, body));
    printed
}

/// The local whose elements are exactly the tokens of the output, so that it can lie in the FIFO itself.
fn in_place(code: &Code<'_>, action: &Action, output: &Output, port: Scalar) -> Option<LocalId> {
    let [OutputValue::List { place, convert: None }] = output.values.as_slice() else { return None };
    let Root::Local(local) = place.root else { return None };
    let info = &code.locals[local.index()];
    let other_outputs = action
        .produces
        .iter()
        .flat_map(|output| &output.values)
        .filter(|value| matches!(value, OutputValue::List { place, .. } if place.root == Root::Local(local)))
        .count();
    (place.indices.is_empty()
        && info.kind == LocalKind::Plain
        && info.ty.element == port
        && info.ty.len() as u64 == output.tokens()
        && other_outputs == 1
        && code.slots[local.index()].text.is_empty())
    .then_some(local)
}

fn emit_output(code: &mut Code<'_>, output: &Output, pointer: &Name, port: Scalar) {
    let names = output.values.len();
    let words = ctype::words(port);
    for (at, value) in output.values.iter().enumerate() {
        match value {
            OutputValue::Scalar(value) => {
                let node = code.node(value);
                if let Scalar::Int(ty) = port
                    && words > 1
                {
                    let target = if at == 0 { text![pointer] } else { text!["&", pointer, "[", words, " * ", at, "]"] };
                    code.store_wide(&target, &node, ty);
                    continue;
                }
                let value = if matches!(port, Scalar::Int(_)) { code.exact(&node) } else { code.value(&node) };
                let text = stored(&value, port);
                code.line(text![Declared(pointer), "[", at, "] = ", text, ";"]);
            }
            OutputValue::List { place, convert } => {
                let from_scalar = code.type_of(place.root).element;
                let n = output.repeat.unwrap_or(1) as usize;
                let list = code.list_pointer(place);
                if names == 1 && convert.is_none() {
                    let element = ctype::element(port);
                    let elements = n as u64 * u64::from(words);
                    code.line(text![
                        "memcpy(",
                        Declared(pointer),
                        ", ",
                        list.text,
                        ", ",
                        elements,
                        " * sizeof(",
                        element,
                        "));"
                    ]);
                } else if names == 1 {
                    code.convert_list(&Pointer::named(pointer), port, &list, from_scalar, n);
                } else {
                    let i = code.temporary("i");
                    code.open(text!["for (size_t ", i, " = 0; ", i, " < ", n, "; ", i, "++) {"]);
                    let base = list.base();
                    let source = match ctype::words(from_scalar) {
                        1 => text![base, "[", i, "]"],
                        have => text!["&", base, "[", have, " * ", i, "]"],
                    };
                    let target = match words {
                        1 => text![pointer, "[", names, " * ", i, " + ", at, "]"],
                        words => text!["&", pointer, "[", words, " * (", names, " * ", i, " + ", at, ")]"],
                    };
                    code.convert(&target, port, &source, from_scalar);
                    code.close("}");
                }
            }
        }
    }
}

/// A procedure or function: its definition, and what callers need to know.
pub fn procedure(plan: &Plan<'_>, at: usize) -> (ProcedureInfo, String, Definition) {
    let source = &plan.actor.procedures[at];
    let mut info = plan.procedure(at).clone();
    let scalar = source.result.as_ref().map(|result| result.0);
    let wide_words = scalar.and_then(|scalar| match scalar {
        Scalar::Int(ty) => ctype::storage_words(ty),
        _ => None,
    });
    let leave = match scalar {
        None => "return;",
        Some(_) if wide_words.is_some() => "return;",
        Some(Scalar::Bool) => "return false;",
        Some(Scalar::String) => "return \"\";",
        Some(_) => "return 0;",
    };
    let mut code = Code::new(plan, Unit::Procedure(at), &source.name, &source.locals, leave);
    if info.recursive {
        code.uses_scalars = info.uses_scalars;
        code.uses_lists = info.uses_lists;
        code.uses_control = true;
        code.stops = true;
    }
    let mut parameters = Vec::new();
    let mut copies = Vec::new();
    let after =
        |local: usize| source.result.as_ref().map_or(Uses::default(), |(_, value)| assigned::in_expr(value, local));
    for (position, local) in source.locals.iter().take(source.n_parameters).enumerate() {
        let spelled = code.temporary(&local.name);
        code.remember(&spelled, Declaration::Parameter);
        if local.ty.is_list() {
            let constant = !info.writes.get(position).copied().unwrap_or(true);
            parameters.push(ctype::pointer(local.ty.element, constant, false, Declared(&spelled)));
        } else if ctype::is_wide(local.ty.element) {
            parameters.push(ctype::pointer(local.ty.element, true, false, Declared(&spelled)));
            copies.push((position, spelled.clone()));
        } else {
            parameters.push(ctype::declaration(&local.ty, Declared(&spelled)));
        }
        code.slots[position].text = text![spelled];
    }
    if info.recursive {
        if info.uses_scalars {
            code.line(text!["(void)", SCALARS, ";"]);
        }
        if info.uses_lists {
            code.line(text!["(void)", LISTS, ";"]);
        }
        code.check_depth(source.span, MAX_DEPTH);
        code.line(text![CONTROL, "->depth++;"]);
        code.leave = text![CONTROL, "->depth--; ", leave];
    }
    for (position, spelled) in copies {
        let ty = source.locals[position].ty.clone();
        code.declare(position, &source.locals[position].name, &ty, false);
        let own = code.slots[position].text.clone();
        code.line(text!["memcpy(", own.as_filled(), ", ", spelled, ", sizeof ", own, ");"]);
    }
    code.declare_locals(&source.body, &after);
    code.block(&source.body);
    let mut result_type = "void";
    let mut result_parameter = None;
    if let Some((scalar, value)) = &source.result {
        let node = code.node(value);
        match (wide_words, scalar) {
            (Some(_), Scalar::Int(ty)) => {
                let name = code.temporary("returned");
                code.store_wide(&text![name], &node, *ty);
                result_parameter = Some(text!["uint32_t *", Declared(&name)]);
                if info.recursive {
                    code.line(text![CONTROL, "->depth--;"]);
                }
            }
            _ => {
                let value = if matches!(scalar, Scalar::Int(_)) { code.exact(&node) } else { code.value(&node) };
                let text = stored(&value, *scalar);
                result_type = ctype::element(*scalar);
                if info.recursive {
                    let name = code.temporary("returned");
                    code.line(text!["const ", result_type, " ", Declared(&name), " = ", text, ";"]);
                    code.line(text![CONTROL, "->depth--;"]);
                    code.line(text!["return ", name, ";"]);
                } else {
                    code.line(text!["return ", text, ";"]);
                }
            }
        }
    } else if info.recursive {
        code.line(text![CONTROL, "->depth--;"]);
    }
    let mut all = code.shared_parameters();
    all.extend(parameters);
    all.extend(result_parameter);
    info.uses_scalars = code.uses_scalars;
    info.uses_lists = code.uses_lists;
    info.uses_control = code.uses_control;
    info.stops = code.stops;
    let body = code.finish();
    let name = info.name.clone();
    let shown = if all.is_empty() { "void".to_owned() } else { listed(&all).to_string() };
    let cold = plan.options.attribute();
    let prototype = format!("{cold}static inline {result_type} {name}({shown});\n");
    let is_folded = plan.options.small.is_some() && !info.recursive && inlined::is_folded(plan.actor, at);
    let storage = if is_folded { "HR_SMALL_FOLDED" } else { "static inline" };
    (info, prototype, Definition { attribute: cold, storage, result: result_type, name, parameters: all, body })
}
