//! What OpenSSL calls the operations of sets, those that come from modes among them.

use super::{OperationSpec, REFERENCE};
use crate::manifest::{Manifest, OpensslName, Set};
use crate::spelling::nearest;
use headrace_source::Diagnostic;

/// The name of an operation without its direction.
fn without_direction(name: &str) -> &str {
    name.strip_suffix("-encrypt").or(name.strip_suffix("-decrypt")).unwrap_or(name)
}

/// The names of an operation of a set.
pub(super) fn of_operation(set: &Set, operation: &str) -> Vec<OpensslName> {
    let named = set.openssl.iter().filter(|names| names.operation == without_direction(operation));
    named.flat_map(|names| names.names.iter().cloned()).collect()
}

/// Whether all operations that have names are there; `own` are those of the primitive.
pub(super) fn check(manifest: &Manifest, own: &[&OperationSpec], problems: &mut Vec<Diagnostic>) {
    for set in &manifest.sets {
        let there = || own.iter().filter(|spec| spec.set == set.name).map(|spec| without_direction(&spec.name));
        for named in set.openssl.iter().filter(|named| !there().any(|name| name == named.operation)) {
            let wrong = format!("`{}` has no operation `{}`", set.name, named.operation.escape_debug());
            let mut diagnostic = Diagnostic::error(REFERENCE, wrong).at(named.span, "OpenSSL has names for it");
            if let Some(near) = nearest(&named.operation, there()) {
                diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
            }
            problems.push(diagnostic);
        }
    }
}
