//! Symbol tables of source files. A parsed file and the names that it defines.

use crate::session::{SourceKind, split_name};
use headrace_source::{Diagnostic, Span};
use headrace_syntax::ast::{self, Entity, Text};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// A named member of an entity, by its position among those of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Member {
    Param(u32),
    Var(u32),
    Function(u32),
    Procedure(u32),
    /// An entity parameter of a network.
    EntityParam(u32),
}

/// A parsed file.
pub(crate) struct Loaded {
    /// Qualified name.
    pub name: String,
    /// What stands before the last dot of the name.
    pub package: String,
    pub tree: ast::File,
    /// What has a value; a function or procedure where nothing else has its name.
    pub members: HashMap<Text, Member>,
    /// Functions and procedures, whose names are a world of their own.
    pub callables: HashMap<Text, Member>,
}

impl Loaded {
    /// Takes a tree in; `name` is where it was found and `file` what its file is called, if there is one, which must
    /// agree with what it says of itself.
    pub fn new(tree: ast::File, name: Option<&str>, file: Option<&str>, kind: SourceKind) -> (Self, Vec<Diagnostic>) {
        let mut problems = Vec::new();
        let own = tree.entity.name().clone();
        let own_package = tree.package.as_ref().map_or("", |package| package.text.as_str());
        let wrong_name = |base: &str| {
            Diagnostic::error("wrong-entity-name", format!("`{}` stands in a file named for `{base}`", own.text))
                .at(own.span, format!("must be `{base}`, as the file is"))
                .help("rename the entity or the file")
        };
        let (name, package) = match name {
            None => {
                // A text that no file holds may be called anything.
                if let Some(base) = file.filter(|base| *base != own.text && kind != SourceKind::Xdf) {
                    problems.push(wrong_name(base));
                }
                let dot = if own_package.is_empty() { "" } else { "." };
                (format!("{own_package}{dot}{}", own.text), own_package.to_string())
            }
            Some(found) => {
                let (package, base) = split_name(found, file.unwrap_or_default());
                if base != own.text && kind != SourceKind::Xdf {
                    problems.push(wrong_name(base));
                }
                if let Some(stated) = &tree.package
                    && stated.text != package
                {
                    let expected =
                        if package.is_empty() { "no package".to_string() } else { format!("package `{package}`") };
                    problems.push(
                        Diagnostic::error("wrong-package", format!("`{}` lies in the folder of {expected}", own.text))
                            .at(stated.span, "does not agree with the folder")
                            .help("the package is the folder path below the source root"),
                    );
                }
                (found.to_string(), package.to_string())
            }
        };
        let (members, callables) = members(&tree, &mut problems);
        (Self { name, package, tree, members, callables }, problems)
    }

    pub fn actor(&self) -> Option<&ast::Actor> {
        match &self.tree.entity {
            Entity::Actor(actor) => Some(actor),
            _ => None,
        }
    }

    pub fn unit(&self) -> Option<&ast::Unit> {
        match &self.tree.entity {
            Entity::Unit(unit) => Some(unit),
            _ => None,
        }
    }

    pub fn network(&self) -> Option<&ast::Network> {
        match &self.tree.entity {
            Entity::Network(network) => Some(network),
            _ => None,
        }
    }

    /// The declaration of a value parameter or variable.
    pub fn var(&self, member: Member) -> Option<&ast::VarDecl> {
        match (&self.tree.entity, member) {
            (Entity::Actor(actor), Member::Param(at)) => actor.params.get(at as usize),
            (Entity::Actor(actor), Member::Var(at)) => actor.vars.get(at as usize),
            (Entity::Unit(unit), Member::Var(at)) => unit.vars.get(at as usize),
            (Entity::Network(network), Member::Var(at)) => network.vars.get(at as usize),
            (Entity::Network(network), Member::Param(at)) => match network.params.get(at as usize) {
                Some(ast::NetworkParam::Value(var)) => Some(var),
                _ => None,
            },
            _ => None,
        }
    }

    pub fn functions(&self) -> &[ast::Function] {
        match &self.tree.entity {
            Entity::Actor(actor) => &actor.functions,
            Entity::Unit(unit) => &unit.functions,
            Entity::Network(_) => &[],
        }
    }

    pub fn procedures(&self) -> &[ast::Procedure] {
        match &self.tree.entity {
            Entity::Actor(actor) => &actor.procedures,
            Entity::Unit(unit) => &unit.procedures,
            Entity::Network(_) => &[],
        }
    }

    /// What follows the keyword: `actor`, `unit` or `network`.
    pub fn kind(&self) -> &'static str {
        match &self.tree.entity {
            Entity::Actor(_) => "actor",
            Entity::Unit(_) => "unit",
            Entity::Network(_) => "network",
        }
    }
}

fn members(tree: &ast::File, problems: &mut Vec<Diagnostic>) -> (HashMap<Text, Member>, HashMap<Text, Member>) {
    let mut table = Table::default();
    let mut callables = Table::default();
    match &tree.entity {
        Entity::Actor(actor) => {
            table.add_all(actor.params.iter().map(|param| &param.name), Member::Param);
            table.add_all(actor.vars.iter().map(|var| &var.name), Member::Var);
            callables.add_all(actor.functions.iter().map(|function| &function.name), Member::Function);
            callables.add_all(actor.procedures.iter().map(|procedure| &procedure.name), Member::Procedure);
        }
        Entity::Unit(unit) => {
            table.add_all(unit.vars.iter().map(|var| &var.name), Member::Var);
            callables.add_all(unit.functions.iter().map(|function| &function.name), Member::Function);
            callables.add_all(unit.procedures.iter().map(|procedure| &procedure.name), Member::Procedure);
        }
        Entity::Network(network) => {
            for (at, param) in network.params.iter().enumerate() {
                let member = match param {
                    ast::NetworkParam::Value(_) => Member::Param(at as u32),
                    ast::NetworkParam::Entity { .. } => Member::EntityParam(at as u32),
                };
                table.add(param.name(), member);
            }
            table.add_all(network.vars.iter().map(|var| &var.name), Member::Var);
        }
    }
    problems.append(&mut table.problems);
    problems.append(&mut callables.problems);
    for (name, member) in &callables.members {
        table.members.entry(name.clone()).or_insert(*member);
    }
    (table.members, callables.members)
}

#[derive(Default)]
struct Table {
    members: HashMap<Text, Member>,
    spans: HashMap<Text, Span>,
    problems: Vec<Diagnostic>,
}

impl Table {
    fn add_all<'n>(&mut self, names: impl Iterator<Item = &'n ast::Name>, member: impl Fn(u32) -> Member) {
        for (at, name) in names.enumerate() {
            self.add(name, member(at as u32));
        }
    }

    fn add(&mut self, name: &ast::Name, member: Member) {
        match self.members.entry(name.text.clone()) {
            Entry::Vacant(entry) => {
                entry.insert(member);
                self.spans.insert(name.text.clone(), name.span);
            }
            Entry::Occupied(_) => self.problems.push(duplicate(name, self.spans.get(&name.text).copied())),
        }
    }
}

/// The name is taken.
pub(crate) fn duplicate(name: &ast::Name, first: Option<Span>) -> Diagnostic {
    let diagnostic = Diagnostic::error("duplicate-name", format!("`{}` is declared twice", name.text))
        .at(name.span, "declared again here");
    match first {
        Some(span) => diagnostic.also(span, "first declared here"),
        None => diagnostic,
    }
}
