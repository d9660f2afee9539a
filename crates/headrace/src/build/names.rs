//! Names of projects, and the parameter sets that names of the library stand for.

use super::Build;
use crate::error::{Error, Result};
use headrace_ir::Network;
use headrace_library::catalog::{Library, OperationSpec};
use headrace_library::manifest::Manifest;
use headrace_targets::Target;
use std::sync::Arc;

/// That names which begin so are names of packages.
pub(super) fn check_prefix(prefix: &str, target: &Target) -> Result {
    if target.name != "rust" {
        return Err(Error::usage(format!(
            "--prefix: what target {} makes is no package with a prefix; rust's is",
            target.name
        )));
    }
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    if prefix.len() > MOST_PREFIX || !prefix.chars().all(fits) || prefix.starts_with(|c: char| !c.is_ascii_lowercase())
    {
        let wrong = prefix.escape_debug();
        return Err(Error::usage(format!(
            "--prefix `{wrong}`: it begins with a small letter and has small letters, digits, `-` and `_`, {MOST_PREFIX} at most"
        )));
    }
    Ok(())
}

/// Most bytes of the prefix of a package: registries take names of 64.
const MOST_PREFIX: usize = 32;

/// Whether a primitive or a parameter set of the library has that name.
pub fn is_of_library(library: &Library, name: &str) -> bool {
    let is_called =
        |manifest: &Manifest| manifest.primitive == name || manifest.sets.iter().any(|set| set.name == name);
    library.manifests().iter().any(is_called)
}

/// The targets that make one project of several parameter sets.
pub(super) fn gathering() -> String {
    let names: Vec<&str> =
        headrace_targets::ALL.iter().filter(|target| target.gathers).map(|target| target.name).collect();
    names.join(", ")
}

/// Most bytes of a name that is made of others.
const LONGEST_NAME: usize = 64;

/// What a project is called: as is asked for, as its only parameter set, or as what was named for it.
pub(super) fn project_name(build: &Build, sets: &[&str]) -> Result<String> {
    match (&build.name, sets) {
        (Some(name), _) => {
            let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || !name.chars().all(fits) {
                let wrong = name.escape_debug();
                return Err(Error::usage(format!(
                    "--name `{wrong}`: a name begins with a letter and has letters, digits, `-` and `_`"
                )));
            }
            // Files that projects ship with are called so.
            if spelled(name).starts_with("headrace") {
                return Err(Error::usage(format!("--name `{name}`: names that begin with `headrace` are taken")));
            }
            Ok(name.clone())
        }
        (None, [only]) => Ok((*only).to_owned()),
        (None, _) => {
            let name = build.networks.join("-");
            // Where everything is taken nobody reads it.
            if name.len() > LONGEST_NAME && build.target.name != "openssl" {
                return Err(Error::usage("--name NAME is wanted: the names of so many sets make none for a project"));
            }
            Ok(name)
        }
    }
}

/// A name as far as all languages tell it from others.
fn spelled(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// That no two things in a project of several sets would have one name.
pub(super) fn check_names(name: &str, offered: &[(OperationSpec, Arc<Network>)]) -> Result {
    let own = spelled(name);
    for (at, (spec, _)) in offered.iter().enumerate() {
        let full = spelled(&spec.full_name());
        if let Some((other, _)) = offered[..at].iter().find(|(other, _)| spelled(&other.full_name()) == full) {
            return Err(Error::usage(format!(
                "`{} {}` and `{} {}` would have one name in one project: build them apart",
                other.set, other.name, spec.set, spec.name
            )));
        }
        if [spelled(&spec.set), full].contains(&own) {
            return Err(Error::usage(format!(
                "--name `{name}`: the project cannot be called like `{}`, which is part of it",
                spec.set
            )));
        }
    }
    Ok(())
}

pub(super) fn not_of_library(name: &str) -> Error {
    Error::usage(format!("`{}` is no primitive and no parameter set of the library", name.escape_debug()))
}

/// The parameter sets that are meant: one, several for a target that gathers them, or all that have a place in it.
///
/// # Errors
///
/// A name that the library does not have, or that stands for several where one is wanted.
pub fn sets_of<'l>(library: &'l Library, names: &[String], target: &Target) -> Result<Vec<&'l str>> {
    let mut all: Vec<(&str, &str)> = Vec::new();
    for spec in library.operations() {
        if !all.contains(&(&spec.primitive, &spec.set)) {
            all.push((&spec.primitive, &spec.set));
        }
    }
    let mut sets: Vec<&str> = Vec::new();
    for name in names {
        // A parameter set may be called as its primitive.
        let mut found: Vec<&str> = all.iter().map(|(_, set)| *set).filter(|set| set == name).collect();
        if found.is_empty() {
            found.extend(all.iter().filter(|(primitive, _)| primitive == name).map(|(_, set)| *set));
        }
        if found.is_empty() {
            return Err(not_of_library(name));
        }
        if found.len() > 1 && !target.takes_all {
            let several = found.join(", ");
            let wanted = if target.gathers { "say which are wanted" } else { "one is wanted" };
            return Err(Error::usage(format!("`{name}` has several parameter sets; {wanted}: {several}")));
        }
        found.retain(|set| !sets.contains(set));
        sets.extend(found);
    }
    if names.is_empty() {
        let has_place =
            |set: &str| library.operations().iter().any(|spec| spec.set == set && !(target.offers)(spec).is_empty());
        sets = all.iter().map(|(_, set)| *set).filter(|set| has_place(set)).collect();
    }
    Ok(sets)
}
