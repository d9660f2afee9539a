//! Code generation for actors. The parts of a network's text that are an actor's: its functions, its type, how it begins.

use crate::c::Options;
use crate::c::ctype;
use crate::c::functions::{self, Definition};
use crate::c::names::Names;
use crate::c::plan::{Plan, element_text, initializer};
use crate::c::scheduler::{ActionFunctions, Wiring, comment};
use crate::c::text::Name;
use headrace_analysis::ranges::Unit;
use headrace_ir::{Actor, Int, Value};
use headrace_program::names::identifier;
use headrace_source::Span;
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt::Write as _;

pub(in crate::c) struct ActorText {
    pub prefix: String,
    pub types: String,
    pub functions: Functions,
    pub initializers: Vec<ActionFunctions>,
    pub actions: Vec<ActionFunctions>,
    pub schedulers: FxHashMap<Wiring, (String, bool)>,
    /// The same by their text, without their names.
    pub equal_schedulers: FxHashMap<String, (String, bool)>,
    pub scheduler_text: String,
    /// Names in that.
    pub scheduler_names: FxHashSet<Name>,
    /// How many, each as often as it is there.
    pub scheduler_size: usize,
}

pub(in crate::c) fn actor_functions(actor: &Actor, plan: &mut Plan<'_>, names: &mut Names) -> ActorText {
    // Callees before their callers.
    let mut all: Vec<Function> = Vec::new();
    for at in plan.procedure_order() {
        let (info, prototype, definition) = functions::procedure(plan, at);
        let procedure = &actor.procedures[at];
        all.push(Function {
            name: info.name.clone(),
            prototype: if info.recursive { prototype } else { String::new() },
            comment: source_comment("", &procedure.name, actor, procedure.span),
            definition,
        });
        plan.set_procedure(at, info);
    }
    let prefix = plan.prefix.clone();
    let mut print = |unit: Unit, action: &headrace_ir::Action, live: bool| {
        if !live {
            return ActionFunctions::default();
        }
        let name = Name::from(names.fresh(&format!("{prefix}_{}", identifier(&action.name))));
        let guard_name = Name::from(names.fresh(&format!("{name}_guard")));
        let functions = ActionFunctions {
            guard: functions::guard(plan, unit, action, &guard_name),
            body: functions::body(plan, unit, action, &name),
        };
        for (what, printed) in [("whether it fires: ", &functions.guard), ("", &functions.body)] {
            all.extend(printed.definition.clone().map(|definition| Function {
                name: printed.name.clone(),
                prototype: String::new(),
                comment: source_comment(what, &action.name, actor, action.span),
                definition,
            }));
        }
        functions
    };
    let initializers =
        actor.initializers.iter().enumerate().map(|(at, action)| print(Unit::Initializer(at), action, true)).collect();
    let tested: FxHashSet<usize> =
        actor.schedule.states.iter().flat_map(|state| &state.tests).map(|test| test.action.index()).collect();
    let actions = actor
        .actions
        .iter()
        .enumerate()
        .map(|(at, action)| print(Unit::Action(at), action, tested.contains(&at)))
        .collect();
    ActorText {
        prefix,
        types: String::new(),
        functions: Functions { class: actor.class.clone(), all },
        initializers,
        actions,
        schedulers: FxHashMap::default(),
        equal_schedulers: FxHashMap::default(),
        scheduler_text: String::new(),
        scheduler_names: FxHashSet::default(),
        scheduler_size: 0,
    }
}

/// A function as it is printed.
pub(in crate::c) struct Function {
    pub(in crate::c) name: Name,
    /// Of one that calls itself: others may come between.
    prototype: String,
    /// What it is in the source.
    pub(in crate::c) comment: String,
    pub(in crate::c) definition: Definition,
}

/// The functions of an actor, callees before their callers.
pub(in crate::c) struct Functions {
    class: String,
    all: Vec<Function>,
}

impl Functions {
    /// Those that code with these names calls, and that these call: what called others has been folded away. Every name in
    /// them is added, and to `size` how many there are.
    pub(super) fn called_by(&self, names: &mut FxHashSet<Name>, size: &mut usize) -> String {
        let called = self.called(names);
        let mut text = format!("/* --- {} --- */\n\n", comment(&self.class));
        called.iter().for_each(|function| text.push_str(&function.prototype));
        if called.iter().any(|function| !function.prototype.is_empty()) {
            text.push('\n');
        }
        for function in called {
            names.extend(function.definition.names().cloned());
            *size += function.definition.names().count();
            let _ = write!(text, "{}{}", function.comment, function.definition);
        }
        text
    }

    /// The same one by one, callees before their callers.
    pub(in crate::c) fn called(&self, names: &FxHashSet<Name>) -> Vec<&Function> {
        let mut named: FxHashSet<&Name> = names.iter().collect();
        let mut is_called = vec![false; self.all.len()];
        loop {
            let is_new = |at: &usize| !is_called[*at] && named.contains(&self.all[*at].name);
            let found: Vec<usize> = (0..self.all.len()).filter(is_new).collect();
            if found.is_empty() {
                break;
            }
            for at in found {
                is_called[at] = true;
                named.extend(self.all[at].definition.names());
            }
        }
        self.all.iter().zip(&is_called).filter_map(|(function, is_called)| is_called.then_some(function)).collect()
    }
}

/// What a function is in the source, and where.
fn source_comment(what: &str, name: &str, actor: &Actor, span: Span) -> String {
    format!("/* {what}{}{} */\n", comment(name), comment(&actor.lines.behind(span)))
}

pub(super) fn actor_types(plan: &Plan<'_>, options: &Options) -> String {
    let prefix = &plan.prefix;
    let mut text = String::new();
    if plan.has_scalars() {
        text.push_str(&format!("struct {prefix}_scalars {{\n"));
        for (name, at) in &plan.scalar_fields {
            text.push_str(&format!("    {};\n", ctype::declaration(&plan.actor.variables[*at].ty, name)));
        }
        text.push_str("};\n\n");
    }
    if plan.has_lists() {
        text.push_str(&format!("struct {prefix}_lists {{\n"));
        for field in plan.list_fields.borrow().iter() {
            text.push_str(&format!("    {field};\n"));
        }
        text.push_str("};\n\n");
    }
    text.push_str(&format!("struct {prefix} {{\n"));
    text.push_str("    uint32_t state;\n    uint32_t blocked;\n");
    if !plan.actor.initializers.is_empty() {
        text.push_str("    uint32_t started;\n");
    }
    if options.count_firings && !plan.actor.actions.is_empty() {
        text.push_str(&format!("    uint64_t firings[{}];\n", plan.actor.actions.len()));
    }
    if plan.has_scalars() {
        text.push_str(&format!("    struct {prefix}_scalars scalars;\n"));
    }
    if plan.has_lists() {
        text.push_str(&format!("    struct {prefix}_lists lists;\n"));
    }
    text.push_str("};\n\n");
    text
}

/// Sets what is not zero at first; the context was cleared before.
pub(in crate::c) fn actor_init(plan: &Plan<'_>) -> String {
    let mut lines = String::new();
    let mut tables = String::new();
    let initial = plan.actor.schedule.initial.index();
    if initial != 0 {
        lines.push_str(&format!("    self->state = {initial};\n"));
    }
    for (name, at) in &plan.scalar_fields {
        let variable = &plan.actor.variables[*at];
        if is_zero(&variable.initial) {
            continue;
        }
        if ctype::is_wide(variable.ty.element) {
            let content = initializer(&variable.initial, &variable.ty);
            let length = ctype::array_length(&variable.ty).unwrap_or(1);
            tables.push_str(&format!("    static const uint32_t initial_{name}[{length}] = {{{content}\n    }};\n"));
            lines
                .push_str(&format!("    memcpy(self->scalars.{name}, initial_{name}, sizeof self->scalars.{name});\n"));
        } else {
            let value = element_text(&variable.initial, variable.ty.element);
            lines.push_str(&format!("    self->scalars.{name} = {value};\n"));
        }
    }
    for (name, at) in &plan.list_variables {
        let variable = &plan.actor.variables[*at];
        if is_zero(&variable.initial) {
            continue;
        }
        let constant = ctype::constant(variable.ty.element);
        let length = ctype::array_length(&variable.ty).unwrap_or(1);
        let content = initializer(&variable.initial, &variable.ty);
        tables.push_str(&format!("    static {constant}initial_{name}[{length}] = {{{content}\n    }};\n"));
        lines.push_str(&format!("    memcpy(self->lists.{name}, initial_{name}, sizeof self->lists.{name});\n"));
    }
    if lines.is_empty() {
        return String::new();
    }
    let cold = plan.options.attribute();
    format!("{cold}static void {0}_init(struct {0} *self) {{\n{tables}{lines}}}\n\n", plan.prefix)
}

pub(in crate::c) fn has_init(plan: &Plan<'_>) -> bool {
    !actor_init(plan).is_empty()
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Bool(value) => !value,
        Value::Int(value) => *value == Int::ZERO,
        Value::Real(value) => value.to_bits() == 0,
        Value::String(text) => text.is_empty(),
        Value::List(values) => values.iter().all(is_zero),
    }
}
