//! Storage layout of actors. What is settled about an actor before its functions are printed: where its variables lie, what its
//! procedures need, which of them call each other in a cycle.

use super::ctype;
use super::layout;
use super::names::Names;
use super::text::Name;
use super::{Options, PlaceTable};
use headrace_analysis::calls::Calls;
use headrace_analysis::ranges::Ranges;
use headrace_ir::{
    Action, Actor, Argument, Expr, ExprKind, Guard, Int, OutputValue, Place, Root, Scalar, Stmt, StmtKind, Type, Value,
};
use headrace_source::Diagnostic;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::RefCell;

/// Where a variable of an actor lies.
#[derive(Clone, Debug)]
pub enum Spelling {
    /// In a field of the scalar state.
    Scalar(String),
    /// In a field of the lists of the state.
    List(String),
    /// A constant table, its elements one after the other.
    Table(Name),
    /// A constant table with its dimensions kept, which nothing takes more than one row of at a time: C lets a pointer
    /// to an element go through its own row only.
    Grid(Name),
    /// Nowhere: a scalar that is printed as its value, or what nothing reads.
    Constant,
}

/// What callers of a procedure need to know.
#[derive(Clone, Debug, Default)]
pub struct ProcedureInfo {
    /// The C function; empty where nothing reaches it.
    pub name: Name,
    /// It takes the scalar state.
    pub uses_scalars: bool,
    /// It takes the lists.
    pub uses_lists: bool,
    /// It takes what the network shares.
    pub uses_control: bool,
    /// It can stop the program.
    pub stops: bool,
    /// It can call itself, directly or not.
    pub recursive: bool,
    /// For each parameter: it is a list that the procedure writes.
    pub writes: Vec<bool>,
}

/// Constant tables of a file, shared by content.
#[derive(Debug, Default)]
pub struct Tables {
    names: FxHashMap<(&'static str, String, String), Name>,
    /// Names and definitions, in order of first use.
    definitions: Vec<(Name, String)>,
}

impl Tables {
    /// The definitions of those whose names these are.
    pub fn named(self, names: &FxHashSet<Name>) -> String {
        self.definitions
            .into_iter()
            .filter(|(name, _)| names.contains(name))
            .map(|(_, definition)| definition)
            .collect()
    }

    /// The name of a table with this element type, size in brackets and content; `like` is the name wished for a new
    /// one.
    pub fn intern(&mut self, names: &mut Names, like: &str, element: Scalar, size: &str, content: String) -> Name {
        let key = (ctype::element(element), size.to_owned(), content);
        if let Some(name) = self.names.get(&key) {
            return name.clone();
        }
        let name = Name::from(names.fresh(like));
        let constant = ctype::constant(element);
        let definition = format!("static {constant}{name}{size} = {{{}\n}};\n\n", key.2);
        self.definitions.push((name.clone(), definition));
        self.names.insert(key, name.clone());
        name
    }
}

/// An actor, ready to be printed.
pub struct Plan<'a> {
    /// The actor.
    pub actor: &'a Actor,
    /// Values of its variables.
    pub ranges: Ranges,
    /// What the caller wants.
    pub options: &'a Options,
    /// Beginning of the names of its functions and types.
    pub prefix: String,
    /// Places of run-time errors.
    pub places: &'a RefCell<PlaceTable>,
    /// What cannot be compiled.
    pub diagnostics: &'a RefCell<Vec<Diagnostic>>,
    spellings: Vec<Spelling>,
    folded: Vec<Option<Value>>,
    procedures: Vec<ProcedureInfo>,
    /// Fields of the scalar state, as declarations.
    pub scalar_fields: Vec<(String, usize)>,
    /// Fields of the lists, as declarations; temporaries that are too large for the stack come after the variables.
    pub list_fields: RefCell<Vec<String>>,
    /// List variables that have fields, in order.
    pub list_variables: Vec<(String, usize)>,
    /// Names of list fields.
    pub list_names: RefCell<Names>,
}

impl<'a> Plan<'a> {
    /// Lays out an actor. Tables that its code reads go to `tables`.
    pub fn new(
        actor: &'a Actor,
        options: &'a Options,
        prefix: String,
        places: &'a RefCell<PlaceTable>,
        diagnostics: &'a RefCell<Vec<Diagnostic>>,
        names: &mut Names,
        tables: &mut Tables,
    ) -> Self {
        let ranges = Ranges::of(actor);
        let mut usage = Usage::of(actor);
        usage.solve(actor);
        let mut plan = Plan {
            actor,
            ranges,
            options,
            prefix,
            places,
            diagnostics,
            spellings: Vec::new(),
            folded: Vec::new(),
            procedures: Vec::new(),
            scalar_fields: Vec::new(),
            list_fields: RefCell::default(),
            list_variables: Vec::new(),
            list_names: RefCell::default(),
        };
        plan.place_variables(&usage, names, tables);
        for (at, procedure) in actor.procedures.iter().enumerate() {
            let recursive = usage.calls.is_recursive(at);
            plan.procedures.push(ProcedureInfo {
                name: if usage.reached[at] {
                    names.fresh(&format!("{}_{}", plan.prefix, procedure.name)).into()
                } else {
                    Name::default()
                },
                uses_scalars: recursive && !plan.scalar_fields.is_empty(),
                uses_lists: recursive && !plan.list_variables.is_empty(),
                uses_control: recursive,
                stops: recursive,
                recursive,
                writes: usage.parameters[at].clone(),
            });
        }
        plan
    }

    fn place_variables(&mut self, usage: &Usage, names: &mut Names, tables: &mut Tables) {
        let mut scalar_names = Names::default();
        for (at, variable) in self.actor.variables.iter().enumerate() {
            let written = usage.variables[at].1;
            let read = usage.variables[at].0;
            let element = variable.ty.element;
            let short = variable.name.rsplit('.').next().unwrap_or(&variable.name);
            let mut folded = None;
            let spelling = if variable.ty.is_list() && written {
                let name = self.list_names.borrow_mut().fresh(short);
                self.list_fields.borrow_mut().push(ctype::declaration(&variable.ty, &name).to_string());
                self.list_variables.push((name.clone(), at));
                Spelling::List(name)
            } else if written {
                let name = scalar_names.fresh(short);
                self.scalar_fields.push((name.clone(), at));
                Spelling::Scalar(name)
            } else if !read {
                Spelling::Constant
            } else if variable.ty.is_list() || ctype::is_wide(element) {
                let length = ctype::array_length(&variable.ty).unwrap_or(1);
                let like = format!("{}_{short}", self.prefix);
                let n_dims = variable.ty.dims.len();
                let by_rows = usage.fewest_indices[at].saturating_add(1) >= n_dims;
                let nested = n_dims > 1 && by_rows && !ctype::is_wide(element) && !self.options.lenient_indices;
                let (size, content) = if nested {
                    let sizes = variable.ty.dims.iter().map(|size| format!("[{size}]")).collect();
                    (sizes, nested_initializer(&variable.whole_initial(), &variable.ty))
                } else {
                    (format!("[{length}]"), initializer(&variable.whole_initial(), &variable.ty))
                };
                let name = tables.intern(names, &like, element, &size, content);
                if nested { Spelling::Grid(name) } else { Spelling::Table(name) }
            } else {
                folded = Some(variable.whole_initial().into_owned());
                Spelling::Constant
            };
            self.spellings.push(spelling);
            self.folded.push(folded);
        }
    }

    /// Where a variable lies.
    pub fn variable(&self, at: usize) -> &Spelling {
        &self.spellings[at]
    }

    /// The value of a scalar that never changes.
    pub fn folded(&self, place: &Place) -> Option<Value> {
        match place.root {
            Root::Actor(variable) if place.indices.is_empty() => self.folded[variable.index()].clone(),
            _ => None,
        }
    }

    /// What is known of a procedure.
    pub fn procedure(&self, at: usize) -> &ProcedureInfo {
        &self.procedures[at]
    }

    /// Records what was learnt by printing a procedure.
    pub fn set_procedure(&mut self, at: usize, info: ProcedureInfo) {
        self.procedures[at] = info;
    }

    /// Procedures that something reaches, callees before callers.
    pub fn procedure_order(&self) -> Vec<usize> {
        let usage = Usage::of(self.actor);
        usage.order()
    }

    /// True when the actor has scalar state.
    pub fn has_scalars(&self) -> bool {
        !self.scalar_fields.is_empty()
    }

    /// True when the actor has lists, or large temporaries.
    pub fn has_lists(&self) -> bool {
        !self.list_fields.borrow().is_empty()
    }
}

/// The same with braces around the inner lists.
fn nested_initializer(value: &Value, ty: &Type) -> String {
    let (Value::List(values), Some((_, inner))) = (value, ty.dims.split_first()) else {
        return initializer(value, ty);
    };
    if inner.is_empty() {
        return initializer(value, ty);
    }
    let inner = Type { element: ty.element, dims: inner.to_vec() };
    let rows = values.chunks(inner.len().max(1));
    rows.map(|row| format!("\n    {{{}}},", nested_initializer(&Value::List(row.to_vec()), &inner))).collect()
}

/// The elements of an initialiser in lines, without braces.
pub fn initializer(value: &Value, ty: &Type) -> String {
    let mut texts = Vec::with_capacity(ty.len());
    match value {
        Value::List(values) => texts.extend(values.iter().map(|value| element_text(value, ty.element))),
        value => texts.push(element_text(value, ty.element)),
    }
    layout::elements(texts.iter().map(String::as_str))
}

/// One element of an initialiser, as it is stored.
pub fn element_text(value: &Value, scalar: Scalar) -> String {
    match (value, scalar) {
        (Value::Bool(value), _) => value.to_string(),
        (Value::Int(value), Scalar::Int(ty)) => match ctype::storage_words(ty) {
            Some(words) => ctype::words_of(value, words),
            None => {
                let repr = ctype::Repr::of_storage(ty);
                if !ty.signed && ty.width <= 16 {
                    let digits = if ty.width <= 8 { 2 } else { 4 };
                    format!("0x{:0digits$x}", value.to_u64().unwrap_or(0))
                } else {
                    ctype::literal(value, repr)
                }
            }
        },
        (Value::Real(value), Scalar::Real(headrace_ir::RealType::Half)) => {
            format!("0x{:04x}", headrace_ir::real::to_bits(*value, headrace_ir::RealType::Half))
        }
        (Value::Real(value), Scalar::Real(headrace_ir::RealType::Float)) => {
            format!("(float){}", ctype::real_literal(*value))
        }
        (Value::Real(value), _) => ctype::real_literal(*value),
        (Value::String(text), _) => ctype::text_literal(text),
        _ => ctype::literal(&Int::ZERO, ctype::Repr::I32),
    }
}

/// Which variables are read and written, and who calls whom.
struct Usage {
    /// Read, written.
    variables: Vec<(bool, bool)>,
    /// For each procedure and parameter: a list that is written.
    parameters: Vec<Vec<bool>>,
    calls: Calls,
    roots: Vec<usize>,
    reached: Vec<bool>,
    /// For each variable of the actor, the fewest indices that a read of it has.
    fewest_indices: Vec<usize>,
    /// Lists passed on: (caller or none, root, callee, parameter).
    passed: Vec<(Option<usize>, Root, usize, usize)>,
}

impl Usage {
    fn of(actor: &Actor) -> Usage {
        let mut usage = Usage {
            variables: vec![(false, false); actor.variables.len()],
            parameters: actor.procedures.iter().map(|procedure| vec![false; procedure.n_parameters]).collect(),
            calls: Calls::of(actor),
            roots: Vec::new(),
            reached: vec![false; actor.procedures.len()],
            fewest_indices: vec![usize::MAX; actor.variables.len()],
            passed: Vec::new(),
        };
        for action in actor.initializers.iter().chain(&actor.actions) {
            usage.action(action);
        }
        // Procedures count only when something reaches them.
        let mut todo = usage.roots.clone();
        while let Some(at) = todo.pop() {
            let Some(procedure) = actor.procedures.get(at).filter(|_| !usage.reached[at]) else { continue };
            usage.reached[at] = true;
            usage.block(Some(at), &procedure.body);
            if let Some((_, value)) = &procedure.result {
                usage.expr(Some(at), value);
            }
            todo.extend(usage.calls.from(at));
        }
        usage
    }

    fn action(&mut self, action: &Action) {
        let Guard { before, conditions, .. } = &action.guard;
        self.block(None, before);
        conditions.iter().for_each(|condition| self.expr(None, condition));
        self.block(None, &action.body);
        for value in action.produces.iter().flat_map(|output| &output.values) {
            match value {
                OutputValue::Scalar(value) => self.expr(None, value),
                OutputValue::List { place, .. } => self.read(None, place),
            }
        }
    }

    fn read(&mut self, procedure: Option<usize>, place: &Place) {
        if let Root::Actor(variable) = place.root {
            self.variables[variable.index()].0 = true;
            let fewest = &mut self.fewest_indices[variable.index()];
            *fewest = place.indices.len().min(*fewest);
        }
        place.indices.iter().for_each(|index| self.expr(procedure, index));
    }

    fn mark_written(&mut self, procedure: Option<usize>, root: Root) -> bool {
        let flag = match (root, procedure) {
            (Root::Actor(variable), _) => &mut self.variables[variable.index()].1,
            (Root::Local(local), Some(procedure)) => match self.parameters[procedure].get_mut(local.index()) {
                Some(flag) => flag,
                None => return false,
            },
            (Root::Local(_), None) => return false,
        };
        let changed = !*flag;
        *flag = true;
        changed
    }

    fn written(&mut self, procedure: Option<usize>, place: &Place) {
        self.mark_written(procedure, place.root);
        place.indices.iter().for_each(|index| self.expr(procedure, index));
    }

    fn block(&mut self, procedure: Option<usize>, statements: &[Stmt]) {
        for statement in statements {
            match &statement.kind {
                StmtKind::Assign(place, value) => {
                    self.expr(procedure, value);
                    self.written(procedure, place);
                }
                StmtKind::Copy { target, source, .. } => {
                    self.read(procedure, source);
                    self.written(procedure, target);
                }
                StmtKind::If(condition, yes, no) => {
                    self.expr(procedure, condition);
                    self.block(procedure, yes);
                    self.block(procedure, no);
                }
                StmtKind::While { before, condition, body } => {
                    self.block(procedure, before);
                    self.expr(procedure, condition);
                    self.block(procedure, body);
                }
                StmtKind::Foreach { low, high, body, variable } => {
                    self.expr(procedure, low);
                    self.expr(procedure, high);
                    self.mark_written(procedure, Root::Local(*variable));
                    self.block(procedure, body);
                }
                StmtKind::Call { procedure: callee, arguments, result } => {
                    self.call(procedure, callee.index(), arguments);
                    if let Some(result) = result {
                        self.mark_written(procedure, Root::Local(*result));
                    }
                }
                StmtKind::CallNative { arguments, result, .. } => {
                    for argument in arguments {
                        match argument {
                            Argument::Value(value) => self.expr(procedure, value),
                            Argument::List(place) => {
                                self.read(procedure, place);
                                self.written(procedure, place);
                            }
                        }
                    }
                    if let Some(result) = result {
                        self.mark_written(procedure, Root::Local(*result));
                    }
                }
                StmtKind::Print { pieces, .. } => pieces.iter().for_each(|piece| self.expr(procedure, &piece.value)),
            }
        }
    }

    fn call(&mut self, caller: Option<usize>, callee: usize, arguments: &[Argument]) {
        if caller.is_none() {
            self.roots.push(callee);
        }
        for (parameter, argument) in arguments.iter().enumerate() {
            match argument {
                Argument::Value(value) => self.expr(caller, value),
                Argument::List(place) => {
                    self.read(caller, place);
                    self.passed.push((caller, place.root, callee, parameter));
                }
            }
        }
    }

    fn expr(&mut self, procedure: Option<usize>, expr: &Expr) {
        match &expr.kind {
            ExprKind::Load(place) => self.read(procedure, place),
            ExprKind::Call(callee, arguments) => self.call(procedure, callee.index(), arguments),
            _ => expr.parts().into_iter().for_each(|part| self.expr(procedure, part)),
        }
    }

    /// A list is written by whoever passes it to one that writes it.
    fn solve(&mut self, actor: &Actor) {
        let mutable = |root: Root| !matches!(root, Root::Actor(variable) if !actor.variables[variable.index()].mutable);
        loop {
            let mut changed = false;
            for (caller, root, callee, parameter) in self.passed.clone() {
                if self.parameters[callee].get(parameter) == Some(&true) && mutable(root) {
                    changed |= self.mark_written(caller, root);
                }
            }
            if !changed {
                return;
            }
        }
    }

    fn order(&self) -> Vec<usize> {
        let mut order = Vec::new();
        let mut seen = vec![false; self.reached.len()];
        for root in 0..self.reached.len() {
            if !self.reached[root] || seen[root] {
                continue;
            }
            // Depth first without recursion: a procedure is placed when all that it calls has been.
            let mut stack = vec![(root, 0)];
            seen[root] = true;
            while let Some((at, next)) = stack.pop() {
                match self.calls.from(at).get(next) {
                    Some(&callee) => {
                        stack.push((at, next + 1));
                        if !std::mem::replace(&mut seen[callee], true) {
                            stack.push((callee, 0));
                        }
                    }
                    None => order.push(at),
                }
            }
        }
        order
    }
}
