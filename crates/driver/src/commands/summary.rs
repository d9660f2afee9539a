//! What a primitive can do, in few words: for tables and lists.

use headrace_library::catalog::OperationSpec;
use headrace_library::manifest::{Manifest, Shape};

/// Words without repetitions, in the order of their first appearance.
pub(super) fn unique(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen: Vec<String> = Vec::new();
    for word in words {
        if !seen.contains(&word) {
            seen.push(word);
        }
    }
    seen
}

/// The operations of a primitive, both directions as one; what a block cipher has through modes, which are the same for
/// every cipher, is summed up.
pub(super) fn operations(manifest: &Manifest, specs: &[&OperationSpec]) -> Vec<String> {
    let own = |name: &str| {
        let named = |operations: &[headrace_library::manifest::Operation]| operations.iter().any(|op| op.name == name);
        manifest.shape != Shape::BlockCipher || manifest.sets.iter().any(|set| named(&set.operations))
    };
    let names = unique(specs.iter().filter(|spec| own(&spec.name)).map(|spec| spec.name.clone()));
    let mut operations = both_directions(&names);
    if specs.iter().any(|spec| !own(&spec.name)) {
        operations.push("all modes".into());
    }
    operations
}

/// `x-encrypt` and `x-decrypt` as `x-encrypt/decrypt`.
fn both_directions(operations: &[String]) -> Vec<String> {
    let other = |name: &String| name.strip_suffix("encrypt").map(|stem| format!("{stem}decrypt"));
    let undone: Vec<String> = operations.iter().filter_map(other).collect();
    let shown = operations.iter().filter(|name| !undone.contains(name));
    let both = |name: &String| match other(name) {
        Some(inverse) if operations.contains(&inverse) => format!("{name}/decrypt"),
        _ => name.clone(),
    };
    shown.map(both).collect()
}

/// Most operations that are named as exceptions.
const MOST_EXCEPTIONS: usize = 2;

/// The variants of operations, each once, with what is known of their time.
pub(super) fn variants<'l>(specs: impl Iterator<Item = &'l OperationSpec> + Clone) -> Vec<String> {
    let all = || specs.clone().flat_map(|spec| spec.variants.iter().map(move |variant| (spec, variant)));
    let told = |name: String| {
        let named = |constant_time: bool| {
            let mine = all().filter(|(_, variant)| variant.name == name && variant.constant_time == constant_time);
            unique(mine.map(|(spec, _)| spec.name.clone()))
        };
        let (constant, other) = (named(true), named(false));
        // Where an operation is among both, it depends on the parameter set.
        let is_clear = other.len() <= MOST_EXCEPTIONS && !other.iter().any(|name| constant.contains(name));
        match (constant.is_empty(), other.is_empty()) {
            (true, _) => name,
            (false, true) => format!("{name} (constant-time)"),
            (false, false) if is_clear => format!("{name} (constant-time but for {})", other.join(" and ")),
            (false, false) => format!("{name} (constant-time in part)"),
        }
    };
    unique(all().map(|(_, variant)| variant.name.clone())).into_iter().map(told).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_are_joined() {
        let names = ["ecb-encrypt", "ctr", "ecb-decrypt", "mac"].map(str::to_owned);
        assert_eq!(both_directions(&names), ["ecb-encrypt/decrypt", "ctr", "mac"]);
        assert_eq!(both_directions(&["decrypt".to_owned()]), ["decrypt"]);
        assert_eq!(unique(["b", "a", "b"].map(str::to_owned).into_iter()), ["b", "a"]);
    }
}
