//! Projects of operations of the library: which operations there are, in which variant, with which known answers.

use super::names::check_names;
use super::{Build, Told, refused};
use crate::error::{Error, Result};
use crate::operation::no_such_variant;
use crate::workspace::{Remark, Workspace};
use headrace_ir::Network;
use headrace_library::catalog::{Library, OperationSpec, VariantSpec};
use headrace_targets::automata::NotFused;
use headrace_targets::c::small::estimate;
use headrace_targets::project::{Files, KnownAnswer};
use std::sync::{Arc, Mutex, PoisonError};

/// An operation as the target offers it, with its network.
pub(super) type Offered = (OperationSpec, Arc<Network>);

impl Workspace {
    /// The operations of parameter sets that are asked for, or all that have a place in the target.
    pub(super) fn build_operations(
        &mut self,
        library: &Library,
        sets: &[&str],
        name: &str,
        build: &Build,
        told: Told<'_>,
    ) -> Result<Files> {
        let is_meant = |spec: &&OperationSpec| sets.contains(&spec.set.as_str());
        let specs: Vec<&OperationSpec> = library.operations().iter().filter(is_meant).collect();
        check_wanted(build, sets, &specs)?;
        let wanted: Vec<&OperationSpec> = specs.into_iter().filter(|spec| is_wanted(build, spec)).collect();
        let (offered, left_out) = self.offered(build, sets, &wanted)?;
        if offered.is_empty() {
            let listed = sets.join("`, `");
            return Err(Error::usage(format!("no operation of `{listed}` has an interface in this target yet")));
        }
        if sets.len() > 1 || name != sets[0] {
            check_names(name, &offered)?;
        }
        // Of everything nobody wants to hear what is left out.
        if !left_out.is_empty() && !build.networks.is_empty() {
            let left_out = left_out.join(", ");
            let note = format!("left out, because they have no interface in this target: {left_out}");
            self.remark(Remark::Note(note));
        }
        let answers = self.answers_for(library, &offered, build)?;
        let title = title(&offered, sets);
        let operations: Vec<(&OperationSpec, &Network)> =
            offered.iter().map(|(spec, network)| (spec, network.as_ref())).collect();
        let done = Mutex::new((0, Vec::new()));
        let total = operations.len() as u64;
        let one = |spec: &OperationSpec, not_fused: Option<NotFused>| {
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            done.0 += 1;
            done.1.extend(not_fused.map(|why| (spec.full_name(), why)));
            told(done.0, total);
        };
        told(0, total);
        let options = build.options()?;
        let made = (build.target.of_operations)(name, &title, &operations, &answers, &options, &one);
        for (name, why) in done.into_inner().unwrap_or_else(PoisonError::into_inner).1 {
            let note = self.keeps_scheduler(&name, &why);
            self.remark(Remark::Note(note));
        }
        self.say(&options);
        refused(made)
    }

    /// What the target offers of operations, each with its network, and the names of those of which that is nothing.
    fn offered(
        &mut self,
        build: &Build,
        sets: &[&str],
        wanted: &[&OperationSpec],
    ) -> Result<(Vec<Offered>, Vec<String>)> {
        let several = sets.len() > 1;
        let (mut offered, mut left_out) = (Vec::new(), Vec::new());
        for spec in wanted {
            let offers = (build.target.offers)(spec);
            if offers.is_empty() {
                left_out.push(if several { spec.full_name() } else { spec.name.clone() });
            }
            for mut offer in offers {
                offer.among_sets = several;
                let found = offer.variant(build.variant.as_deref());
                // Of several sets those have a variant that know it.
                let variant = found.or(offer.variant(None).filter(|_| several)).ok_or_else(|| no_such_variant(spec))?;
                let is_asked_for = build.variant.is_some() && found.is_some();
                let network = match build.small && !is_asked_for {
                    true => self.smallest(&offer, variant)?,
                    false => self.network(&variant.network.to_string(), &[])?,
                };
                offered.push((offer, network));
            }
        }
        Ok((offered, left_out))
    }

    /// The network of the variant that gets smallest, among those that are constant-time where the usual one is and not
    /// where it is not.
    fn smallest(&mut self, offer: &OperationSpec, usual: &VariantSpec) -> Result<Arc<Network>> {
        let mut all = Vec::new();
        for variant in offer.variants.iter().filter(|variant| variant.constant_time == usual.constant_time) {
            all.push(self.network(&variant.network.to_string(), &[])?);
        }
        let network = all.into_iter().min_by_key(|network| estimate(network));
        network.ok_or_else(|| Error::wrong(format!("`{}` has no variant", offer.full_name())))
    }

    /// Known answers for the test of a project: published ones, and what the interpreter makes of typical messages where
    /// nobody has published any.
    pub(super) fn answers_for(
        &mut self,
        library: &Library,
        offered: &[Offered],
        build: &Build,
    ) -> Result<Vec<KnownAnswer>> {
        if !build.target.known_answers {
            return Ok(Vec::new());
        }
        let operations: Vec<(&OperationSpec, &Network)> =
            offered.iter().map(|(spec, network)| (spec, network.as_ref())).collect();
        let scope: Vec<&OperationSpec> = operations.iter().map(|(spec, _)| *spec).collect();
        let mut answers = self.known_answers(library, &scope)?;
        for (at, (spec, network)) in operations.iter().enumerate() {
            if !answers.iter().any(|answer| answer.operation == at) {
                answers.extend(super::answers::recorded_answers(at, spec, network));
            }
        }
        Ok(answers)
    }

    /// That an operation is slower than it could be, and why.
    fn keeps_scheduler(&self, name: &str, refused: &NotFused) -> String {
        let sources = self.sources();
        let place = refused.span.map_or(String::new(), |span| {
            let (line, column) = sources.position(span);
            format!(" ({}:{line}:{column})", sources.name(span.file))
        });
        format!("`{name}` keeps the scheduler that fires actor after actor: {}{place}", refused.reason)
    }
}

fn is_wanted(build: &Build, spec: &OperationSpec) -> bool {
    build.operations.is_empty() || build.operations.contains(&spec.name)
}

/// Makes sure that what somebody names is there.
fn check_wanted(build: &Build, sets: &[&str], specs: &[&OperationSpec]) -> Result {
    let listed = sets.join("`, `");
    if let Some(wrong) = build.operations.iter().find(|name| !specs.iter().any(|spec| spec.name == **name)) {
        let known: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
        return Err(Error::usage(format!("`{listed}` has no operation `{wrong}`; there are {}", known.join(", "))));
    }
    let has_none = |set: &&&str| !specs.iter().any(|spec| spec.set == **set && is_wanted(build, spec));
    if let Some(without) = sets.iter().find(has_none).filter(|_| !build.target.takes_all) {
        let known: Vec<&str> =
            specs.iter().filter(|spec| spec.set == *without).map(|spec| spec.name.as_str()).collect();
        return Err(Error::usage(format!(
            "`{without}` has no operation `{}`; ask for one of its own by another --operation ({}), or leave it out",
            build.operations.join("`, `"),
            known.join(", ")
        )));
    }
    if let Some(variant) = build.variant.as_deref().filter(|_| sets.len() > 1)
        && !specs.iter().any(|spec| is_wanted(build, spec) && spec.variant(Some(variant)).is_some())
    {
        let mut known: Vec<&str> = Vec::new();
        specs.iter().flat_map(|spec| &spec.variants).for_each(|found| {
            if !known.contains(&found.name.as_str()) {
                known.push(&found.name);
            }
        });
        return Err(Error::usage(format!(
            "none of `{listed}` has a variant `{}`; there are {}",
            variant.escape_debug(),
            known.join(", ")
        )));
    }
    Ok(())
}

/// What a project is headed with: the titles of its primitives, and its sets.
fn title(offered: &[Offered], sets: &[&str]) -> String {
    let mut titles: Vec<&str> = Vec::new();
    for (spec, _) in offered {
        if !titles.contains(&spec.title.as_str()) && (sets.len() > 1 || titles.is_empty()) {
            titles.push(&spec.title);
        }
    }
    format!("{}, {}", titles.join("; "), sets.join(", "))
}
