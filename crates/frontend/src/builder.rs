//! The surroundings of an instantiated entity: its variables and procedures as far as anything refers to them, and the
//! scope in which the expression that is being lowered stands.

use crate::body::{Binding, Body};
use crate::members::{Loaded, Member};
use crate::procedure::{ProcedureKey, ProcedureSlot, Signature};
use crate::session::{EntityId, Lookup, Session, SourceProvider};
use crate::types::Ty;
use headrace_ir as ir;
use headrace_ir::{Value, VariableId};
use headrace_source::{Diagnostic, Severity, Slug, Span};
use headrace_syntax::ast::{self, QualifiedName, Text};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

/// How far the value of an actor variable is known.
#[derive(Clone)]
pub(crate) enum VarValue {
    /// Its type is being looked at.
    Typing,
    NotYet,
    InProgress,
    /// Depends on something unknown, or was wrong and reported.
    Unknown,
    Known(Arc<Value>),
}

/// An actor variable that something refers to.
pub(crate) struct VarSlot {
    pub name: String,
    pub ty: Ty,
    /// The type in the representation; a stand-in where `ty` is unknown or wrong.
    pub ir_ty: ir::Type,
    pub mutable: bool,
    pub value: VarValue,
    pub home: EntityId,
    pub member: Member,
    pub span: Span,
}

/// What the parameter of an instance is.
#[derive(Clone)]
pub(crate) enum ParamValue {
    /// Given: a value, its type, and where it was given.
    Known(Value, Ty, Span),
    /// Not known in this check.
    Unknown,
}

/// What a name stands for.
pub(crate) enum Resolved {
    Local(Binding),
    Member(EntityId, Member),
    /// Not found, or not to be used; reported.
    Nothing,
}

/// The surroundings of one instantiated entity.
pub(crate) struct Builder<'a> {
    pub session: &'a mut Session,
    pub provider: &'a dyn SourceProvider,
    pub home: EntityId,
    /// By position in the parameter list of `home`.
    pub params: Vec<Option<ParamValue>>,
    pub variables: Vec<VarSlot>,
    variable_ids: HashMap<(EntityId, Member), VariableId>,
    /// Positions of the parameters that something needs.
    pub used_params: HashSet<u32>,
    pub procedures: Vec<ProcedureSlot>,
    pub procedure_ids: HashMap<ProcedureKey, ir::ProcedureId>,
    pub procedure_names: HashSet<String>,
    pub natives: Vec<ir::Native>,
    pub native_ids: HashMap<ProcedureKey, ir::NativeId>,
    pub signatures: HashMap<(EntityId, Member), Rc<Signature>>,
    pub effects: crate::effects::Effects,
    /// Names that something in `home` may assign to.
    pub written: crate::effects::Written,
    pub body: Body,
    /// Counts stand-ins that were used for unknown types.
    pub taint: u64,
    /// Above zero in code that a constant condition leaves out.
    pub dead: u32,
    /// Nesting of declarations that need one another.
    pub depth: u32,
    /// Counts constants that their types do not hold.
    pub n_changed: u64,
    /// Variables whose value is not what was written, or comes of such.
    pub changed: HashMap<VariableId, crate::fits::Changed>,
    /// Local constants of that kind, by where they are declared.
    pub changed_locals: HashSet<Span>,
    /// One of them that the expression uses which is being folded.
    pub used_changed: Option<crate::fits::Changed>,
}

/// Deepest nesting of declarations that need one another.
pub(crate) const MAX_DEPTH: u32 = 1000;

impl<'a> Builder<'a> {
    pub fn new(
        session: &'a mut Session,
        provider: &'a dyn SourceProvider,
        home: EntityId,
        params: Vec<Option<ParamValue>>,
    ) -> Self {
        let file = session.file(home);
        let written = crate::effects::written_names(&file);
        Self {
            session,
            provider,
            home,
            params,
            variables: Vec::new(),
            variable_ids: HashMap::new(),
            used_params: HashSet::new(),
            procedures: Vec::new(),
            procedure_ids: HashMap::new(),
            procedure_names: HashSet::new(),
            natives: Vec::new(),
            native_ids: HashMap::new(),
            signatures: HashMap::new(),
            effects: crate::effects::Effects::default(),
            written,
            body: Body::constant(home),
            taint: 0,
            dead: 0,
            depth: 0,
            n_changed: 0,
            changed: HashMap::new(),
            changed_locals: HashSet::new(),
            used_changed: None,
        }
    }

    pub fn file(&self, id: EntityId) -> Arc<Loaded> {
        self.session.file(id)
    }

    /// Reports an error.
    pub fn error(&mut self, slug: Slug, message: impl Into<String>, span: Span, label: impl Into<String>) {
        self.session.report(Diagnostic::error(slug, message).at(span, label));
    }

    pub fn report(&mut self, diagnostic: Diagnostic) {
        self.session.report(diagnostic);
    }

    /// Reports an error that depends on values or sizes, and is none where constant conditions leave the code out.
    pub fn error_if_reached(&mut self, slug: Slug, message: String, span: Span, label: String) {
        self.taint += 1;
        if self.dead == 0 {
            self.error(slug, message, span, label);
        }
    }

    // Names

    /// Looks for a member under a name as it is written in `home`, without reporting anything.
    pub fn find_member(&mut self, home: EntityId, name: &QualifiedName) -> Option<(EntityId, Member)> {
        find_member(self.session, self.provider, home, name)
    }

    /// Looks for a function or procedure in the same way.
    pub fn find_callable(&mut self, home: EntityId, name: &QualifiedName) -> Option<(EntityId, Member)> {
        find_callable(self.session, self.provider, home, name)
    }

    /// What a name stands for where something is called; not a function or procedure only if there is none.
    pub fn resolve_callable(&mut self, name: &QualifiedName) -> Resolved {
        match self.find_callable(self.body.home, name) {
            Some((entity, member)) => self.accessible(entity, member, name),
            None => self.resolve(name),
        }
    }

    /// What a name stands for in the current scope.
    pub fn resolve(&mut self, name: &QualifiedName) -> Resolved {
        let local = if name.is_simple() { self.body.scope.get(&name.text).cloned() } else { None };
        let home = self.body.home;
        match local {
            // A guard does not see what the local hides from the rest of the action.
            Some(Binding::NotInGuard { .. }) | None => {}
            Some(local) => return Resolved::Local(local),
        }
        match self.find_member(home, name) {
            Some((entity, member)) => self.accessible(entity, member, name),
            None if local.is_some() => local.map_or(Resolved::Nothing, Resolved::Local),
            None => {
                self.report_unresolved(name);
                Resolved::Nothing
            }
        }
    }

    /// A member, unless it is private to another file.
    fn accessible(&mut self, entity: EntityId, member: Member, name: &QualifiedName) -> Resolved {
        let file = self.file(entity);
        if let Member::Param(at) | Member::EntityParam(at) = member {
            self.used_params.insert(at);
        }
        if entity == self.body.home || file.unit().is_some() {
            return Resolved::Member(entity, member);
        }
        let message = format!("`{}` belongs to the {} `{}`", name.last(), file.kind(), file.name);
        self.report(
            Diagnostic::error("private-member", message)
                .at(name.span, "cannot be used from another file")
                .help("move what several files use to a unit"),
        );
        Resolved::Nothing
    }

    fn report_unresolved(&mut self, name: &QualifiedName) {
        let home = self.body.home;
        if broken_import(self.session, self.provider, home, name) {
            return;
        }
        let mut diagnostic = Diagnostic::error("unresolved-name", format!("`{}` is not declared", name.text))
            .at(name.span, "not found in this scope");
        if name.is_simple() {
            let file = self.file(home);
            let mut candidates: Vec<&str> = self.body.scope.keys().map(Text::as_str).collect();
            candidates.extend(file.members.keys().map(Text::as_str));
            candidates.sort_unstable();
            if let Some(near) = crate::names::nearest(&name.text, candidates.into_iter()) {
                diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
            }
        } else if let Some(qualifier) = name.qualifier()
            && let Lookup::Missing = self.session.lookup(self.provider, qualifier)
        {
            diagnostic = diagnostic.note(format!("there is no unit `{qualifier}`"));
            if let Some(near) = self.provider.similar(qualifier).first() {
                diagnostic = diagnostic.help(format!("did you mean `{near}.{}`?", name.last()));
            }
        }
        self.report(diagnostic);
    }

    // Variables

    /// The actor variable for a parameter, constant or state variable; its type is known afterwards.
    pub fn variable(&mut self, home: EntityId, member: Member, used_at: Span) -> Option<VariableId> {
        if let Some(&id) = self.variable_ids.get(&(home, member)) {
            if let VarSlot { value: VarValue::Typing, name, span, .. } = &self.variables[id.index()] {
                let message = format!("the type of `{name}` depends on `{name}` itself");
                let diagnostic = Diagnostic::error("cyclic-constant", message).at(*span, "declared here");
                self.report(diagnostic.also(used_at, "needed here for its type"));
            }
            return Some(id);
        }
        let file = self.file(home);
        let decl = file.var(member)?;
        let id = VariableId(self.variables.len() as u32);
        let foreign = home != self.home;
        let name = if foreign { format!("{}.{}", file.name, decl.name.text) } else { decl.name.text.to_string() };
        let constant = matches!(member, Member::Param(_))
            || decl.constant
            || foreign
            || file.actor().is_none()
            || !(self.written.assigned.contains(&decl.name.text)
                || is_list(decl) && self.written.passed.contains(&decl.name.text));
        self.variable_ids.insert((home, member), id);
        self.variables.push(VarSlot {
            name,
            ty: Ty::POISON,
            ir_ty: ir::Type::scalar(ir::Scalar::Bool),
            mutable: !constant,
            value: VarValue::Typing,
            home,
            member,
            span: decl.name.span,
        });
        if let (Member::Var(at), true) = (member, foreign)
            && let Some((ty, value, changed)) = self.session.unit_constants.get(&(home, at)).cloned()
        {
            let ir_ty = self.ir_type(&ty);
            let slot = &mut self.variables[id.index()];
            slot.ty = ty;
            slot.ir_ty = ir_ty;
            slot.value = value.map_or(VarValue::Unknown, VarValue::Known);
            if changed {
                self.mark_changed(id);
            }
            return Some(id);
        }
        let ty = self.nested(used_at, |this| this.in_body(Body::constant(home), |this| this.decl_type(decl)));
        let ty = ty.unwrap_or(Ty::POISON);
        let ir_ty = self.ir_type(&ty);
        let slot = &mut self.variables[id.index()];
        slot.ty = ty;
        slot.ir_ty = ir_ty;
        slot.value = VarValue::NotYet;
        Some(id)
    }

    /// A constant list of a body as a variable of the actor.
    pub fn add_table(&mut self, name: &str, ty: Ty, value: Value, span: Span) -> VariableId {
        let id = VariableId(self.variables.len() as u32);
        let ir_ty = self.ir_type(&ty);
        let members = self.file(self.home);
        let mut unique = format!("{name}_{}", id.0);
        while members.members.contains_key(unique.as_str()) {
            unique.push('_');
        }
        self.variables.push(VarSlot {
            name: unique,
            ty,
            ir_ty,
            mutable: false,
            value: VarValue::Known(Arc::new(value)),
            home: self.home,
            // No member has this position: there is no declaration to go back to.
            member: Member::Var(u32::MAX),
            span,
        });
        id
    }

    /// Computes the initial value of a variable, if it is not known yet.
    pub fn ensure_value(&mut self, id: VariableId, used_at: Span) -> Option<Arc<Value>> {
        if let Some(changed) = self.changed.get(&id) {
            self.used_changed = Some(changed.clone());
        }
        let slot = &mut self.variables[id.index()];
        match &slot.value {
            VarValue::Known(value) => return Some(value.clone()),
            // A type that depends on itself was reported.
            VarValue::Unknown | VarValue::Typing => return None,
            VarValue::InProgress => {
                slot.value = VarValue::Unknown;
                let (name, span) = (slot.name.clone(), slot.span);
                self.report(
                    Diagnostic::error("cyclic-constant", format!("the value of `{name}` depends on itself"))
                        .at(span, "declared here")
                        .also(used_at, "needed here to compute it"),
                );
                return None;
            }
            VarValue::NotYet => {}
        }
        slot.value = VarValue::InProgress;
        let (home, member, ty, ir_ty) = (slot.home, slot.member, slot.ty.clone(), slot.ir_ty.clone());
        let (n_changed, outer) = (self.n_changed, self.used_changed.take());
        let value = self.nested(used_at, |this| this.initial_value(home, member, &ty, &ir_ty)).flatten();
        if self.n_changed != n_changed || self.used_changed.is_some() {
            self.mark_changed(id);
        }
        self.used_changed = self.changed.get(&id).cloned().or(outer);
        let slot = &mut self.variables[id.index()];
        let value = match (&slot.value, value) {
            // A cycle was found on the way.
            (VarValue::Unknown, _) | (_, None) => None,
            (_, Some(value)) => Some(Arc::new(value)),
        };
        slot.value = value.clone().map_or(VarValue::Unknown, VarValue::Known);
        if let Member::Var(at) = member
            && self.file(home).unit().is_some()
        {
            let changed = self.changed.contains_key(&id);
            self.session.unit_constants.insert((home, at), (ty, value.clone(), changed));
        }
        value
    }

    fn initial_value(&mut self, home: EntityId, member: Member, ty: &Ty, ir_ty: &ir::Type) -> Option<Value> {
        let file = self.file(home);
        let decl = file.var(member)?;
        if let Member::Param(at) = member {
            match self.params.get(at as usize).cloned().flatten() {
                Some(ParamValue::Known(value, from, span)) => {
                    return self.convert_value(value, &from, ty, span);
                }
                Some(ParamValue::Unknown) => return None,
                None => {
                    // Missing arguments were reported where the entity is instantiated.
                    decl.value.as_ref()?;
                }
            }
        }
        let Some(value) = &decl.value else {
            let ty = ty.known()?;
            if ty.len() as u64 > crate::actor::MAX_SCALARS {
                let message = format!("a constant needs a list of {} elements", ty.len());
                let most = format!("at most {} are possible for that", crate::actor::MAX_SCALARS);
                self.error("list-too-large", message, decl.name.span, most);
                return None;
            }
            return Some(Value::zero(&ty));
        };
        let mut body = Body::constant(home);
        body.initial = true;
        self.in_body(body, |this| this.fold_into(value, ty, ir_ty))
    }

    /// Runs `f` one level deeper, on a stack that surely suffices; `None` when declarations nest too deeply.
    pub fn nested<T>(&mut self, at: Span, f: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.depth >= MAX_DEPTH {
            self.error(
                "too-deep",
                format!("more than {MAX_DEPTH} declarations need one another"),
                at,
                "the chain of declarations passes here",
            );
            return None;
        }
        self.depth += 1;
        let result = stacker::maybe_grow(256 * 1024, 2 * 1024 * 1024, || f(self));
        self.depth -= 1;
        Some(result)
    }

    /// Runs `f` with another body in place of the current one.
    pub fn in_body<T>(&mut self, body: Body, f: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::replace(&mut self.body, body);
        let dead = std::mem::take(&mut self.dead);
        let result = f(self);
        self.body = outer;
        self.dead = dead;
        result
    }

    // Types in the representation

    /// The type in the representation; what is unknown or wrong gets a stand-in, and what depends on it is never
    /// evaluated.
    pub fn ir_type(&mut self, ty: &Ty) -> ir::Type {
        match ty.known() {
            Some(ty) => ty,
            None => {
                self.taint += 1;
                ir::Type {
                    element: ty.elem.known().unwrap_or(ir::Scalar::Int(ir::IntType::signed(32))),
                    dims: ty.dims.iter().map(|&size| size.max(1)).collect(),
                }
            }
        }
    }
}

fn is_list(decl: &ast::VarDecl) -> bool {
    !decl.dims.is_empty() || matches!(decl.ty.kind, ast::TypeKind::List { .. })
}

/// Looks for a member under a name as it is written in `home`: an own one, an imported one, or one under its qualified
/// name.
pub(crate) fn find_member(
    session: &mut Session,
    provider: &dyn SourceProvider,
    home: EntityId,
    name: &QualifiedName,
) -> Option<(EntityId, Member)> {
    find(session, provider, home, name, |file| &file.members)
}

/// Looks for a function or procedure in the same way.
pub(crate) fn find_callable(
    session: &mut Session,
    provider: &dyn SourceProvider,
    home: EntityId,
    name: &QualifiedName,
) -> Option<(EntityId, Member)> {
    find(session, provider, home, name, |file| &file.callables)
}

fn find(
    session: &mut Session,
    provider: &dyn SourceProvider,
    home: EntityId,
    name: &QualifiedName,
    names: fn(&Loaded) -> &HashMap<Text, Member>,
) -> Option<(EntityId, Member)> {
    let file = session.file(home);
    if let Some(qualifier) = name.qualifier() {
        let Lookup::Found(entity) = session.lookup(provider, qualifier) else {
            return None;
        };
        return names(&session.file(entity)).get(name.last()).map(|&member| (entity, member));
    }
    if let Some(&member) = names(&file).get(&name.text) {
        return Some((home, member));
    }
    for wildcard in [false, true] {
        for import in file.tree.imports.iter().filter(|import| import.wildcard == wildcard) {
            let unit = if wildcard {
                import.name.text.as_str()
            } else if import.name.last() == name.text {
                import.name.qualifier()?
            } else {
                continue;
            };
            if let Lookup::Found(entity) = session.lookup(provider, unit)
                && let Some(&member) = names(&session.file(entity)).get(&name.text)
            {
                return Some((entity, member));
            }
        }
    }
    None
}

/// True when the name may come from an import that leads nowhere, which is then an error, or that was reported already.
fn broken_import(session: &mut Session, provider: &dyn SourceProvider, home: EntityId, name: &QualifiedName) -> bool {
    if let Some(qualifier) = name.qualifier() {
        return session.lookup(provider, qualifier) == Lookup::Broken;
    }
    let file = session.file(home);
    let mut broken = false;
    for import in &file.tree.imports {
        let unit = if import.wildcard { Some(import.name.text.as_str()) } else { import.name.qualifier() };
        let found = unit.map_or(Lookup::Missing, |unit| session.lookup(provider, unit));
        if import.wildcard && matches!(found, Lookup::Found(_)) || !import.wildcard && import.name.last() != name.text {
            continue;
        }
        broken = true;
        if found == Lookup::Missing {
            let mut diagnostic = missing_unit(session, provider, import);
            diagnostic.notes.insert(0, format!("`{}` may be of it", name.text));
            session.report(diagnostic);
        }
    }
    broken
}

/// That there is no such unit.
fn missing_unit(session: &mut Session, provider: &dyn SourceProvider, import: &ast::Import) -> Diagnostic {
    let ast::Import { name, wildcard, .. } = import;
    let unit = if *wildcard { Some(name.text.as_str()) } else { name.qualifier() };
    let whole = unit.unwrap_or(&name.text);
    let mut diagnostic =
        Diagnostic::error("unresolved-import", format!("there is no unit `{whole}`")).at(name.span, "not found");
    if !wildcard && matches!(session.lookup(provider, &name.text), Lookup::Found(_)) {
        diagnostic = diagnostic.help(format!("to import all of it, write `import {}.*;`", name.text));
    } else if let Some(near) = provider.similar(whole).first() {
        diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
    }
    for place in provider.places() {
        diagnostic = diagnostic.note(format!("looked in {place}"));
    }
    diagnostic
}

/// Reports the imports of a file that lead nowhere.
pub(crate) fn check_imports(session: &mut Session, provider: &dyn SourceProvider, file: &Loaded) {
    for import in &file.tree.imports {
        let ast::Import { name, wildcard, .. } = import;
        let unit = if *wildcard { Some(name.text.as_str()) } else { name.qualifier() };
        let found = unit.map_or(Lookup::Missing, |unit| session.lookup(provider, unit));
        let entity = match found {
            Lookup::Found(entity) => entity,
            Lookup::Broken => continue,
            Lookup::Missing => {
                // Programs import what they no longer use: it is an error where a name is missing.
                let mut diagnostic = missing_unit(session, provider, import);
                diagnostic.severity = Severity::Warning;
                session.report(diagnostic);
                continue;
            }
        };
        let target = session.file(entity);
        if target.unit().is_none() {
            session.report(
                Diagnostic::error("import-not-a-unit", format!("`{}` is no unit but: {}", target.name, target.kind()))
                    .at(name.span, "only members of units can be imported")
                    .help("actors and networks are instantiated in networks under their names, without an import"),
            );
        } else if !wildcard && !target.members.contains_key(name.last()) {
            let mut diagnostic = Diagnostic::error(
                "unresolved-import",
                format!("the unit `{}` has no member `{}`", target.name, name.last()),
            )
            .at(name.span, "not found");
            let mut candidates: Vec<&str> = target.members.keys().map(Text::as_str).collect();
            candidates.sort_unstable();
            if let Some(near) = crate::names::nearest(name.last(), candidates.into_iter()) {
                diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
            }
            session.report(diagnostic);
        }
    }
}
