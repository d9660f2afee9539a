//! Trees of programs from elsewhere: what `headrace check` says of each file, and what becomes of files that are changed
//! at random.
//!
//! Both run the command itself, as users do, each time with limits on time and memory. Which folders are source roots is
//! found out from the packages that the files declare.

pub mod mutate;
pub mod outside;
pub mod survey;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Deepest folder that is searched.
const MAX_DEPTH: usize = 64;

/// The programs of a tree.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// Files that end in `.cal`, `.nl` or `.xdf`, sorted.
    pub files: Vec<PathBuf>,
    /// Folders below which packages lie, sorted.
    pub roots: Vec<PathBuf>,
}

impl Tree {
    /// Looks through a folder; what cannot be read is passed over, as are hidden folders and build outputs.
    pub fn of(folder: &Path) -> Self {
        let mut files = Vec::new();
        collect(folder, 0, &mut files);
        files.sort();
        let roots: BTreeSet<PathBuf> = files.iter().filter_map(|file| declared_root(file)).collect();
        Self { files, roots: roots.into_iter().collect() }
    }

    /// The roots for a file, in the order in which they are to be searched: those that it lies below, then the others, first
    /// those that are nearest to it.
    pub fn roots_for(&self, file: &Path) -> Vec<&Path> {
        let shared = |root: &Path| root.components().zip(file.components()).take_while(|(a, b)| a == b).count();
        let mut roots: Vec<&Path> = self.roots.iter().map(PathBuf::as_path).collect();
        roots.sort_by_key(|root| (!file.starts_with(root), std::cmp::Reverse(shared(root))));
        roots
    }
}

fn collect(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let name = entry.file_name();
            let skipped = name.to_string_lossy().starts_with('.') || path.join("CACHEDIR.TAG").exists();
            if depth < MAX_DEPTH && !skipped {
                collect(&path, depth + 1, files);
            }
        } else if kind(&path).is_some() {
            files.push(path);
        }
    }
}

/// The ending of a file that holds a program.
pub fn kind(file: &Path) -> Option<&'static str> {
    let ending = file.extension()?.to_str()?;
    ["cal", "nl", "xdf"].into_iter().find(|known| *known == ending)
}

/// The folder above those of the package that a file declares, if it lies in folders of these names.
fn declared_root(file: &Path) -> Option<PathBuf> {
    if kind(file) == Some("xdf") {
        return None;
    }
    let bytes = std::fs::read(file).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let mut words = text.lines().map(str::trim_start).find_map(|line| line.strip_prefix("package "))?.split(';');
    let mut root = file.parent()?;
    for part in words.next()?.trim().rsplit('.') {
        if root.file_name()?.to_str()? != part {
            return None;
        }
        root = root.parent()?;
    }
    Some(root.to_owned())
}

#[cfg(test)]
mod tests {
    use super::Tree;

    #[test]
    fn packages_say_where_roots_are() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().expect("it has one")).expect("the folder is writable");
            std::fs::write(path, text).expect("the folder is writable");
        };
        write("one/src/p/q/A.cal", "// a\npackage p.q;\nactor A() ==> : end");
        write("two/B.cal", "package wrong;\nactor B() ==> : end");
        write("two/src/r/C.cal", "package r;\nactor C() ==> : end");
        write("two/src/r/Net.xdf", "<XDF/>");
        let tree = Tree::of(folder.path());
        assert_eq!(tree.files.len(), 4);
        assert_eq!(tree.roots, [folder.path().join("one/src"), folder.path().join("two/src")]);
        let roots = tree.roots_for(&folder.path().join("two/src/r/Net.xdf"));
        assert_eq!(roots[0], folder.path().join("two/src"));
    }
}
