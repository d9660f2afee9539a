//! Elaboration, from sources to a flat network: what the front end is asked for.

use crate::flatten::flatten;
use crate::hierarchy::Node;
use crate::members::Member;
use crate::network::{ArgValue, BoundArg, Elaborator, EntityValue, entity_argument, missing_class};
use crate::session::{EntityId, Lookup, Session, SourceKind, SourceProvider, SourceText};
use headrace_ir::Network;
use headrace_source::{Diagnostic, Severity};

/// What is elaborated.
#[derive(Clone, Debug)]
pub enum Top {
    /// An entity by its qualified name.
    Name(String),
    /// A text, and the qualified name that its place below a source root gives it, if it lies below one.
    Source(SourceText, Option<String>),
    /// An instantiation: `ctl.mode.ctr.Ctr(Cipher = ctl.block.aes.Aes(NK = 4), KEY_BYTES = 16)`.
    Expression(String),
}

/// The flat network of `top`, with parameters given as (name, expression). `None` when there was an error, which
/// `session` then has.
pub fn elaborate(
    session: &mut Session,
    provider: &dyn SourceProvider,
    top: &Top,
    parameters: &[(String, String)],
) -> Option<Network> {
    let (node, actors, name) = instantiate(session, provider, top, parameters, false)?;
    let network = flatten(session, &name, &node, actors, true);
    if session.has_errors() { None } else { network }
}

/// The hierarchy of `top`, as [`elaborate`] takes it.
pub fn hierarchy(
    session: &mut Session,
    provider: &dyn SourceProvider,
    top: &Top,
    parameters: &[(String, String)],
) -> Option<Node> {
    let (node, actors, name) = instantiate(session, provider, top, parameters, false)?;
    // For what only the flat network shows.
    let _ = flatten(session, &name, &node, actors, true);
    if session.has_errors() { None } else { Some(node) }
}

/// Checks an actor, a unit or a network on its own: parameters without a default are unknown, and what depends on them
/// is checked as far as that goes.
///
/// What could be made of it comes back, without actors that depend on parameters that are not known; it is not to run.
pub fn check(session: &mut Session, provider: &dyn SourceProvider, top: &Top) -> Option<Network> {
    let (entity, args) = resolve(session, provider, top)?;
    let file = session.file(entity);
    if file.unit().is_some() {
        check_unit(session, provider, entity);
        return None;
    }
    let mut elaborator = Elaborator::new(session, provider, true);
    let node = elaborator.instantiate(entity, args, None, true);
    let actors = std::mem::take(&mut elaborator.actors);
    // For what only the flat network shows.
    flatten(session, &file.name, &node, actors, false)
}

fn instantiate(
    session: &mut Session,
    provider: &dyn SourceProvider,
    top: &Top,
    parameters: &[(String, String)],
    checking: bool,
) -> Option<(Node, Vec<headrace_ir::Actor>, String)> {
    let (entity, mut args) = resolve(session, provider, top)?;
    let mut wrong = false;
    for (name, value) in parameters {
        match parameter(session, provider, entity, name, value) {
            Some(arg) => {
                args.retain(|other| other.name != arg.name);
                args.push(arg);
            }
            None => wrong = true,
        }
    }
    if wrong {
        return None;
    }
    let name = session.file(entity).name.clone();
    let mut elaborator = Elaborator::new(session, provider, checking);
    let node = elaborator.instantiate(entity, args, None, true);
    let actors = std::mem::take(&mut elaborator.actors);
    Some((node, actors, name))
}

/// What messages call what the user typed: the beginning of the names of such texts. Whoever gives an argument there, or in a
/// manifest, means just that number.
pub(crate) const COMMAND_LINE: &str = "the command line";

/// The entity that is meant, and the arguments that come with it.
fn resolve(session: &mut Session, provider: &dyn SourceProvider, top: &Top) -> Option<(EntityId, Vec<BoundArg>)> {
    match top {
        Top::Name(name) => match session.lookup(provider, name) {
            Lookup::Found(entity) => Some((entity, Vec::new())),
            Lookup::Broken => None,
            Lookup::Missing => {
                session.report(missing_class(provider, name, std::slice::from_ref(name)));
                None
            }
        },
        Top::Source(source, name) => match session.load(source.clone(), name.as_deref()) {
            Lookup::Found(entity) => Some((entity, Vec::new())),
            Lookup::Broken | Lookup::Missing => None,
        },
        Top::Expression(text) => {
            let value = command_line(session, provider, COMMAND_LINE, text)?;
            Some((value.class?, value.args))
        }
    }
}

/// Evaluates an instantiation that stands outside of any file.
fn command_line(
    session: &mut Session,
    provider: &dyn SourceProvider,
    display: &str,
    text: &str,
) -> Option<EntityValue> {
    let source = SourceText {
        display: display.to_string(),
        text: format!("network CommandLine() ==> : entities top = {text}; structure end"),
        kind: SourceKind::Nl,
    };
    match session.load(source, None) {
        Lookup::Found(home) => entity_argument(session, provider, home),
        Lookup::Broken | Lookup::Missing => None,
    }
}

/// A parameter from the command line.
fn parameter(
    session: &mut Session,
    provider: &dyn SourceProvider,
    entity: EntityId,
    name: &str,
    value: &str,
) -> Option<BoundArg> {
    let file = session.file(entity);
    let known = match file.members.get(name) {
        Some(Member::Param(_) | Member::EntityParam(_)) => true,
        Some(_) | None => false,
    };
    if !known {
        let names: Vec<&str> = match (file.actor(), file.network()) {
            (Some(actor), _) => actor.params.iter().map(|param| param.name.text.as_str()).collect(),
            (_, Some(network)) => network.params.iter().map(|param| param.name().text.as_str()).collect(),
            _ => Vec::new(),
        };
        let mut diagnostic =
            Diagnostic::error("unknown-parameter", format!("`{}` has no parameter `{name}`", file.name));
        if let Some(near) = crate::names::nearest(name, names.iter().copied()) {
            diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
        } else if names.is_empty() {
            diagnostic = diagnostic.note("it has no parameters");
        } else {
            diagnostic = diagnostic.note(format!("its parameters are {}", names.join(", ")));
        }
        session.report(diagnostic);
        return None;
    }
    // An entity of that class shows whether the parameter takes a value or an entity.
    let before = session.diagnostics().iter().filter(|d| d.severity == Severity::Error).count();
    let mut class = file.name.as_str();
    if !class.split('.').all(headrace_syntax::is_name) {
        // A file is called like much that is no name in a program.
        class = "TopEntityOfCommandLine";
        session.alias(class, entity);
    }
    let text = format!("{class}({name} = {value})");
    let bound = command_line(session, provider, &format!("{COMMAND_LINE}, --set {name}"), &text)?;
    let after = session.diagnostics().iter().filter(|d| d.severity == Severity::Error).count();
    let arg = bound.args.into_iter().next_back()?;
    (before == after && !matches!(arg.value, ArgValue::Wrong)).then_some(arg)
}

fn check_unit(session: &mut Session, provider: &dyn SourceProvider, entity: EntityId) {
    let file = session.file(entity);
    crate::builder::check_imports(session, provider, &file);
    let Some(unit) = file.unit() else { return };
    let mut builder = crate::builder::Builder::new(session, provider, entity, Vec::new());
    for (at, var) in unit.vars.iter().enumerate() {
        if let Some(id) = builder.variable(entity, Member::Var(at as u32), var.name.span) {
            builder.ensure_value(id, var.name.span);
        }
    }
    for at in 0..unit.functions.len() {
        builder.check_callable(entity, Member::Function(at as u32));
    }
    for at in 0..unit.procedures.len() {
        builder.check_callable(entity, Member::Procedure(at as u32));
    }
}
