//! Lowering of procedures and calls, with their calling convention. Procedures and calls of them.
//!
//! A list is passed as what it begins with and an offset. Where it begins with a variable of the actor, the procedure
//! reaches that itself: one copy of it is lowered for each way in which lists are passed. So what a call takes by
//! reference never overlaps, whatever a program passes: lists of the same array of a caller become one array with
//! two offsets.

use crate::building::{Building, control};
use crate::code::Code;
use crate::machine::{machine, wide_words};
use crate::plan::{ListKey, ListRoot, Lowered, Need, Plan};
use crate::real::whole;
use headrace_analysis::assigned::Uses;
use headrace_analysis::ranges::Unit;
use headrace_ir::{self as ir, LocalId, ProcedureId};
use headrace_program::{self as program, Argument, Expr, Place, Root, Stmt, Type, VariableId, VariableKind};

/// Nested calls of procedures that call themselves after which a program stops.
const MAX_DEPTH: u32 = 10_000;

impl Code<'_, '_> {
    /// A call without its result.
    fn prepare(&mut self, procedure: usize, arguments: &[ir::Argument]) -> (Lowered, Vec<Argument>) {
        let callee = &self.plan.actor.procedures[procedure];
        let mut groups: Vec<VariableId> = Vec::new();
        let mut keys: Vec<ListKey> = Vec::new();
        let mut own = Vec::new();
        for (argument, parameter) in arguments.iter().zip(&callee.locals) {
            let scalar = parameter.ty.element;
            match argument {
                ir::Argument::Value(value) => {
                    let node = self.node(value);
                    own.push(match wide_words(scalar) {
                        Some(words) => whole(self.wide(&node, words)),
                        None => Argument::Value(self.stored_value(&node, scalar)),
                    });
                }
                ir::Argument::List(place) => {
                    let location = self.locate(place);
                    let offset = location.offset();
                    let is_whole = offset.constant() == Some(0);
                    keys.push((self.list_root(&location.place, &mut groups), is_whole));
                    if !is_whole {
                        own.push(Argument::Value(offset));
                    }
                }
            }
        }
        let lowered = lower_procedure(self.plan, self.building, procedure, &keys);
        let mut all = self.arguments_for(&lowered.needs);
        all.extend(groups.into_iter().map(whole));
        all.extend(own);
        (lowered, all)
    }

    fn list_root(&mut self, place: &Place, groups: &mut Vec<VariableId>) -> ListRoot {
        let variable = match place.root {
            Root::Table(table) => return ListRoot::Table(table),
            Root::Variable(variable) => variable,
        };
        let (ty, len) = match self.f.kind(variable) {
            VariableKind::Array(ty, len) | VariableKind::Reference { element: ty, len, .. } => (ty, len),
            // The state: no other record is passed with a list in it.
            _ => return ListRoot::Field(place.path.first().copied().unwrap_or(0)),
        };
        let number = groups.iter().position(|known| *known == variable).unwrap_or_else(|| {
            groups.push(variable);
            groups.len() - 1
        });
        ListRoot::Passed(number, ty, len)
    }

    /// A call of a function with a result of up to 64 bits, which is what variables of its type keep.
    pub(crate) fn call_expression(&mut self, procedure: ProcedureId, arguments: &[ir::Argument]) -> Expr {
        let scalar = self.plan.actor.procedures[procedure.index()].result.as_ref().map(|result| result.0);
        let Some(scalar) = scalar else { return Expr::bool(false) };
        let (lowered, all) = self.prepare(procedure.index(), arguments);
        let returned = self.f.scalar("returned", machine(scalar));
        self.f.call(Some(returned), lowered.id, all);
        if lowered.stops {
            self.leave_if_stopped();
        }
        self.f.read(returned)
    }

    /// A call of a function with a wide result.
    pub(crate) fn call_wide(&mut self, procedure: usize, arguments: &[ir::Argument], words: u32) -> VariableId {
        let (lowered, mut all) = self.prepare(procedure, arguments);
        let returned = self.word_array("returned", words);
        all.push(whole(returned));
        self.f.call(None, lowered.id, all);
        if lowered.stops {
            self.leave_if_stopped();
        }
        returned
    }

    /// A call as a statement.
    pub(crate) fn call_statement(&mut self, result: Option<LocalId>, id: ProcedureId, arguments: &[ir::Argument]) {
        let scalar = self.plan.actor.procedures[id.index()].result.as_ref().map(|result| result.0);
        let place = |local: LocalId, span| ir::Place { root: ir::Root::Local(local), indices: Vec::new(), span };
        let span = self.plan.actor.procedures[id.index()].span;
        match scalar.map(|scalar| (scalar, wide_words(scalar))) {
            None => {
                let (lowered, all) = self.prepare(id.index(), arguments);
                self.f.call(None, lowered.id, all);
                if lowered.stops {
                    self.leave_if_stopped();
                }
            }
            Some((_, Some(words))) => {
                let returned = self.call_wide(id.index(), arguments, words);
                if let Some(local) = result {
                    let location = self.locate(&place(local, span));
                    self.store_words(&location, returned, words);
                }
            }
            Some((_, None)) => {
                let returned = self.call_expression(id, arguments);
                if let Some(local) = result {
                    let kept = self.kept_type(ir::Root::Local(local));
                    let location = self.locate(&place(local, span));
                    self.store(location, returned.to(kept));
                }
            }
        }
    }
}

/// The copy of a procedure for lists that are passed like this.
fn lower_procedure(plan: &Plan<'_>, building: &mut Building, at: usize, keys: &[ListKey]) -> Lowered {
    let key = (at, keys.to_vec());
    if let Some(known) = plan.procedures.borrow().get(&key) {
        return known.clone();
    }
    let source = &plan.actor.procedures[at];
    let recursive = plan.calls.is_recursive(at);
    let name =
        building.names.fresh(&format!("{}_{}", plan.prefix, source.name.rsplit('.').next().unwrap_or("procedure")));
    let reserved = recursive.then(|| building.reserve());
    if let Some(id) = reserved {
        let needs = vec![Need::State, Need::Control];
        plan.procedures.borrow_mut().insert(key.clone(), Lowered { id, needs, stops: true });
    }
    let mut code = Code::new(plan, building, Some(Unit::Procedure(at)), &source.name, &source.locals);
    if recursive {
        code.recursive = true;
        code.state();
        code.control();
    }
    let groups = bind_parameters(&mut code, source, keys);
    let scalar = source.result.as_ref().map(|result| result.0);
    let wide_result = scalar.and_then(wide_words).map(|words| code.f.reference("result", Type::U32, words, true));
    let result_type = scalar.filter(|_| wide_result.is_none()).map(machine);
    code.leave = result_type.map(|ty| Expr { kind: program::ExprKind::Constant(0), ty });
    if recursive {
        code.enter();
    }
    let after = |local: usize| {
        source.result.as_ref().map_or(Uses::default(), |(_, value)| headrace_analysis::assigned::in_expr(value, local))
    };
    code.announce(&source.body, &after);
    code.block(&source.body);
    if let Some((scalar, value)) = &source.result {
        let node = code.node(value);
        match wide_result {
            Some(result) => {
                let words = crate::machine::words(*scalar);
                let value = code.wide(&node, words);
                let location = crate::place::Location { place: Place::variable(result), at: None };
                code.store_words(&location, value, words);
                if recursive {
                    code.exit();
                }
            }
            None => {
                let mut value = code.stored_value(&node, *scalar);
                if recursive {
                    value = code.named("value", value);
                    code.exit();
                }
                code.push(Stmt::Return(Some(value)));
            }
        }
    } else if recursive {
        code.exit();
    }
    for group in groups {
        let functions = &code.building.functions;
        let written = |id: program::FunctionId, at: usize| {
            let kind = functions[id.index()].parameter_kinds().nth(at);
            !matches!(kind, Some(VariableKind::Reference { mutable: false, .. }))
        };
        if !code.f.writes(group, &written) {
            code.f.make_constant(group);
        }
    }
    let about = format!("`{}` of {}{}", source.name, plan.actor.class, plan.actor.lines.behind(source.span));
    let stops = code.stops;
    let lowered = match reserved {
        Some(id) => Lowered { id, needs: code.finish_as(id, name, &about, result_type), stops: true },
        None => Lowered { stops, ..code.finish(name, &about, result_type) },
    };
    plan.procedures.borrow_mut().insert(key, lowered.clone());
    lowered
}

/// Gives parameters their variables; the arrays that are passed come first.
fn bind_parameters(code: &mut Code<'_, '_>, source: &ir::Procedure, keys: &[ListKey]) -> Vec<VariableId> {
    let parameters = &source.locals[..source.n_parameters];
    let mut groups: Vec<VariableId> = Vec::new();
    let lists = parameters.iter().filter(|local| local.ty.is_list());
    for ((root, _), local) in keys.iter().zip(lists) {
        if let ListRoot::Passed(number, ty, len) = root
            && *number == groups.len()
        {
            groups.push(code.f.reference(&local.name, *ty, *len, true));
        }
    }
    let mut keys = keys.iter();
    for (at, local) in parameters.iter().enumerate() {
        let place = if local.ty.is_list() {
            let Some((root, is_whole)) = keys.next() else { continue };
            if !is_whole {
                let offset = code.f.scalar_parameter(&format!("{}_at", local.name), Type::U32);
                code.slots[at].offset = Some(code.f.read(offset));
            }
            match root {
                ListRoot::Field(field) => code.state_field(*field),
                ListRoot::Table(table) => Place::table(*table),
                ListRoot::Passed(number, ..) => Place::variable(groups[*number]),
            }
        } else if let Some(words) = wide_words(local.ty.element) {
            let given = code.f.reference(&format!("{}_given", local.name), Type::U32, words, false);
            let own = code.word_array(&local.name, words);
            let zero = Expr::u32(0);
            code.push(Stmt::Copy {
                target: Place::variable(own),
                at: zero.clone(),
                source: Place::variable(given),
                from: zero,
                count: Expr::u32(words),
            });
            Place::variable(own)
        } else {
            Place::variable(code.f.scalar_parameter(&local.name, machine(local.ty.element)))
        };
        code.slots[at].place = Some(place);
    }
    groups
}

impl Code<'_, '_> {
    /// Counts a nested call, and stops where there are too many.
    fn enter(&mut self) {
        let place = self.control_field(control::DEPTH);
        let depth = Expr::read(place.clone(), Type::U32);
        let stopped = self.control_field(control::STOPPED);
        let stop =
            vec![Stmt::Assign(stopped, Expr::u32(program::Interface::TOO_DEEP)), Stmt::Return(self.leave.clone())];
        self.push(Stmt::If(depth.clone().at_least(Expr::u32(MAX_DEPTH)), stop, Vec::new()));
        self.push(Stmt::Assign(place, depth.plus(Expr::u32(1))));
        self.stops = true;
    }

    fn exit(&mut self) {
        let place = self.control_field(control::DEPTH);
        let depth = Expr::read(place.clone(), Type::U32);
        self.push(Stmt::Assign(place, depth.minus(Expr::u32(1))));
    }
}
