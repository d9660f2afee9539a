//! Whether a crate that is written somewhere lies in a workspace of cargo that it does not belong to.
//!
//! Such a crate must say that it belongs to none, or cargo builds neither; a member must not.

use crate::wildcards::fits;
use headrace::roots::read_source;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// What stands in the manifest of a crate that is none of its surroundings' business.
pub const APART: &str = "\n# It lies in a workspace that does not have it among its members; one that gets it must not find this.\n[workspace]\n";

/// Whether the nearest workspace around a folder neither has it among its members nor leaves it out.
pub fn is_stranger(folder: &Path) -> bool {
    let Ok(folder) = std::path::absolute(folder) else { return false };
    // Parts of it may not be there yet; what is, may be a link.
    let there = folder.ancestors().find_map(|part| Some((part.canonicalize().ok()?, folder.strip_prefix(part).ok()?)));
    let folder = there.map_or(folder.clone(), |(real, rest)| real.join(rest));
    for root in folder.ancestors().skip(1) {
        let Some(mut manifest) = manifest_of(root) else { continue };
        let Some(workspace) = manifest.remove("workspace") else { continue };
        let Ok(within) = folder.strip_prefix(root) else { continue };
        return !lists(&workspace, "members", |listed| is_like(listed, within))
            && !lists(&workspace, "exclude", |listed| within.starts_with(PathBuf::from(listed)));
    }
    false
}

/// The manifest in a folder. What is no regular file is none: a pipe under that name would wait for its other end.
fn manifest_of(folder: &Path) -> Option<Table> {
    let path = folder.join("Cargo.toml");
    if path.is_file() { read_source(&path).ok()?.parse().ok() } else { None }
}

fn lists(workspace: &Value, key: &str, has: impl Fn(&str) -> bool) -> bool {
    let listed = workspace.get(key).and_then(Value::as_array);
    listed.is_some_and(|listed| listed.iter().filter_map(Value::as_str).any(has))
}

/// Whether a path is one that a pattern stands for, part by part.
fn is_like(pattern: &str, path: &Path) -> bool {
    let parts: Vec<&str> = pattern.trim_start_matches("./").split('/').filter(|part| !part.is_empty()).collect();
    let own: Vec<String> = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    parts.len() == own.len() && parts.iter().zip(&own).all(|(pattern, part)| fits(pattern, part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_in_workspaces_of_others_are_found() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let within = |path: &str| is_stranger(&folder.path().join(path));
        let write = |text: &str| std::fs::write(folder.path().join("Cargo.toml"), text).expect("it is writable");
        assert!(!within("crate"));
        write("[package]\nname = \"one\"\n");
        assert!(!within("crate"));
        write("[workspace]\nmembers = [\"app\", \"crates/*\"]\nexclude = [\"made\"]\n");
        let strangers = ["crate", "crates", "crates/a/b", "app/inner"];
        assert!(strangers.iter().all(|path| within(path)), "{strangers:?}");
        let others = ["app", "crates/a", "made", "made/a"];
        assert!(!others.iter().any(|path| within(path)), "{others:?}");
        write("[workspace]\nmembers = [\"part-?\"]\n");
        assert!(!within("part-1") && within("part-12"));
    }
}
