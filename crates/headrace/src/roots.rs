//! Source roots: the folders below which packages lie, and the library that is built in.
//!
//! A package is a folder path below a root. Roots are searched in this order: those that are given, the folders that a file
//! given by its path implies, the built-in library (or, for those who work on it, a folder in its place).

use crate::embedded;
use crate::reading::read_at_most;
use headrace_frontend::{SourceKind, SourceProvider, SourceText};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Endings of source files, in the order in which they are tried.
const ENDINGS: [(&str, SourceKind); 3] = [("cal", SourceKind::Cal), ("nl", SourceKind::Nl), ("xdf", SourceKind::Xdf)];

/// Largest source file that is read.
const MAX_SOURCE_BYTES: u64 = 1 << 28;

/// Longest name of an entity, in bytes, as long as a path can be: what is looked for takes time and memory with the square of
/// the number of its parts, and names stand in files.
const MAX_NAME_BYTES: usize = 4096;

/// Deepest folder that is searched, against links that go round in circles.
const MAX_FOLDER_DEPTH: usize = 64;

/// Most ancestors of a given file that are tried as its root.
const MAX_ANCESTORS: usize = 16;

/// What stands before the names of files of the built-in library.
pub const BUILT_IN: &str = "<library>/";

/// The folders of the repository that are the library; what else stands beside them is not.
const LIBRARY_FOLDERS: [&str; 2] = ["ctl/", "std/"];

/// A source root.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Root {
    Folder(PathBuf),
    /// A folder that takes the place of the built-in library: a checkout of the repository, for instance.
    Library(PathBuf),
    BuiltIn,
}

/// All source roots of a workspace.
#[derive(Clone, Debug)]
pub struct Roots {
    given: Vec<Root>,
    implied: Vec<Root>,
    library: Root,
}

/// Why a source file cannot be read, in the words that users get.
pub fn read_source(path: &Path) -> Result<String, String> {
    let bytes = read_at_most(path, MAX_SOURCE_BYTES)?;
    decode(bytes).map_err(|at| format!("`{}` is not text: byte {at} does not belong to UTF-8", path.display()))
}

/// A source text from bytes. What is no UTF-8 is taken as ISO 8859-1, in which older programs have names in comments,
/// unless it holds control characters, which no text has; then where the first byte stands that is no UTF-8.
fn decode(bytes: Vec<u8>) -> Result<String, usize> {
    String::from_utf8(bytes).or_else(|error| {
        let bytes = error.as_bytes();
        if bytes.iter().any(|&byte| byte < 0x20 && !byte.is_ascii_whitespace()) {
            return Err(error.utf8_error().valid_up_to());
        }
        Ok(bytes.iter().map(|&byte| char::from(byte)).collect())
    })
}

/// How a source file is written, by its ending.
pub fn kind_of(path: &Path) -> Option<SourceKind> {
    let ending = path.extension()?.to_str()?;
    ENDINGS.iter().find(|(known, _)| *known == ending).map(|(_, kind)| *kind)
}

/// All files below a folder that have one of the endings, sorted; hidden folders, build outputs (`target`), pipes and sockets are
/// left out.
pub fn files_below(folder: &Path, endings: &[&str]) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    collect(folder, endings, 0, &mut found)?;
    found.sort();
    Ok(found)
}

fn collect(folder: &Path, endings: &[&str], depth: usize, found: &mut Vec<PathBuf>) -> io::Result<()> {
    if depth > MAX_FOLDER_DEPTH {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let kind = entry.file_type()?;
        if kind.is_dir() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if !name.starts_with('.') && (name != "target" || !path.join("CACHEDIR.TAG").exists()) {
                collect(&path, endings, depth + 1, found)?;
            }
        } else if path.extension().is_some_and(|ending| endings.iter().any(|wanted| ending == *wanted)) && !waits(&path)
        {
            found.push(path);
        }
    }
    Ok(())
}

/// Whether what lies at a path, through links, has another end that reading would wait for.
fn waits(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    fs::metadata(path).is_ok_and(|there| there.file_type().is_fifo() || there.file_type().is_socket())
}

/// True when every part of a dotted name is an identifier, so that it can be a path.
fn is_qualified_name(name: &str) -> bool {
    name.split('.').all(|part| {
        let mut characters = part.chars();
        characters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_' || c == '$')
            && characters.all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '$')
    })
}

/// True when a name can be that of an entity: parts with dots between them, of which none leads to another folder. Files
/// are called like much that is no identifier, and networks in XDF are found under any such name.
fn is_entity_name(name: &str) -> bool {
    name.len() <= MAX_NAME_BYTES
        && name
            .split('.')
            .all(|part| !part.is_empty() && !part.contains(|c: char| c.is_control() || "/\\:".contains(c)))
}

/// Where the entity of a name may lie below a root, without the ending: folders are packages, and the name of a file may
/// have dots of its own.
fn stems(name: &str) -> impl Iterator<Item = String> {
    let parts: Vec<&str> = if is_entity_name(name) { name.split('.').collect() } else { Vec::new() };
    (0..parts.len()).rev().map(move |file| {
        let mut folders: Vec<&str> = parts[..file].to_vec();
        let base = parts[file..].join(".");
        folders.push(&base);
        folders.join("/")
    })
}

/// What a manifest is called.
pub const MANIFEST: &str = "primitive.toml";

/// True for the path of a manifest below a root: of a file of that name whose folder can be a package.
pub fn is_manifest(path: &str) -> bool {
    let folder =
        path.strip_suffix(MANIFEST).and_then(|folder| folder.strip_suffix('/').or(folder.is_empty().then_some("")));
    folder.is_some_and(|folder| folder.is_empty() || is_qualified_name(&folder.replace('/', ".")))
}

/// The parts of the name in `package a.b;`, which stands before everything but blanks and comments.
fn declared_package(text: &str) -> Vec<String> {
    let mut rest = text.trim_start();
    loop {
        if let Some(comment) = rest.strip_prefix("//") {
            rest = comment.split_once('\n').map_or("", |(_, after)| after).trim_start();
        } else if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.split_once("*/").map_or("", |(_, after)| after).trim_start();
        } else {
            break;
        }
    }
    let clause = rest.strip_prefix("package").filter(|after| after.starts_with(char::is_whitespace));
    let name = clause.and_then(|clause| clause.split_once(';')).map_or("", |(name, _)| name.trim());
    if is_qualified_name(name) { name.split('.').map(str::to_owned).collect() } else { Vec::new() }
}

impl Roots {
    /// These folders, and the library: the built-in one, or that of a folder.
    pub fn new(given: &[PathBuf], library: Option<&Path>) -> Self {
        let library = library.map_or(Root::BuiltIn, |folder| Root::Library(folder.to_owned()));
        Self { given: given.iter().cloned().map(Root::Folder).collect(), implied: Vec::new(), library }
    }

    /// Finds out how a source file given by its path is called, and adds the root that this implies: the folder above
    /// those of its package. A network in XDF says no package; all folders above it are roots then. The name is given
    /// only if looking for it finds this very file.
    pub fn adopt(&mut self, file: &Path, text: &str, kind: SourceKind) -> Option<String> {
        let stem = file.file_stem()?.to_str()?;
        let absolute = std::path::absolute(file).ok()?;
        let folder = absolute.parent()?;
        let below_given = self.given.iter().find_map(|root| {
            let Root::Folder(root) = root else { return None };
            let below = folder.strip_prefix(std::path::absolute(root).ok()?).ok()?;
            Some(below.iter().map(|part| part.to_string_lossy().into_owned()).collect::<Vec<String>>())
        });
        let package = match below_given {
            Some(package) => package,
            None if kind == SourceKind::Xdf => {
                folder.ancestors().take(MAX_ANCESTORS).for_each(|root| self.imply(root));
                return None;
            }
            None => {
                let package = declared_package(text);
                let mut root = folder;
                for part in package.iter().rev() {
                    if root.file_name()?.to_str()? != part {
                        self.imply(folder);
                        return None;
                    }
                    root = root.parent()?;
                }
                self.imply(root);
                package
            }
        };
        let name = package.iter().map(String::as_str).chain([stem]).collect::<Vec<_>>().join(".");
        let found = self.locate(&name)?;
        (std::path::absolute(found).ok()? == absolute).then_some(name)
    }

    /// Adds a folder to the roots, as short as it can be written.
    fn imply(&mut self, folder: &Path) {
        let here = std::env::current_dir().unwrap_or_default();
        let short = match folder.strip_prefix(&here) {
            Ok(below) if below.as_os_str().is_empty() => PathBuf::from("."),
            Ok(below) => below.to_owned(),
            Err(_) => folder.to_owned(),
        };
        let root = Root::Folder(short);
        if !self.given.contains(&root) && !self.implied.contains(&root) {
            self.implied.push(root);
        }
    }

    /// The file that the entity of that name comes from, unless it is a built-in one.
    fn locate(&self, name: &str) -> Option<PathBuf> {
        match self.search(name)? {
            (Root::Folder(folder) | Root::Library(folder), path, _) => Some(folder.join(path)),
            (Root::BuiltIn, ..) => None,
        }
    }

    /// The first root that has an entity of that name, the path of its file below that, and how the file is written.
    fn search(&self, name: &str) -> Option<(&Root, String, SourceKind)> {
        let stems: Vec<String> = stems(name).collect();
        self.all().find_map(|root| {
            let paths = stems.iter().flat_map(|stem| ENDINGS.map(|(ending, kind)| (format!("{stem}.{ending}"), kind)));
            paths.into_iter().find(|(path, _)| root.has(path)).map(|(path, kind)| (root, path, kind))
        })
    }

    /// The package of a file below one of the given roots; none for a file elsewhere or right below a root.
    pub fn package_of(&self, file: &Path) -> Option<String> {
        let file = std::path::absolute(file).ok()?;
        self.given.iter().find_map(|root| {
            let Root::Folder(folder) = root else { return None };
            let below = file.parent()?.strip_prefix(std::path::absolute(folder).ok()?).ok()?;
            let package = below.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join(".");
            is_qualified_name(&package).then_some(package)
        })
    }

    /// The path of a file below the root that it stands in; below the working folder, or whole, when it is in none.
    pub fn below(&self, file: &Path) -> String {
        let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        let roots = self.all().filter_map(|root| match root {
            Root::Folder(folder) | Root::Library(folder) => std::path::absolute(folder).ok(),
            Root::BuiltIn => None,
        });
        let found =
            roots.chain(std::env::current_dir().ok()).find_map(|root| file.strip_prefix(root).ok().map(Path::to_owned));
        let below = found.unwrap_or(file);
        let parts = below.components().filter(|part| matches!(part, std::path::Component::Normal(_)));
        parts.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect::<Vec<_>>().join("/")
    }

    /// Whether nothing is looked for but in the built-in library.
    pub fn are_built_in(&self) -> bool {
        self.all().all(|root| *root == Root::BuiltIn)
    }

    fn all(&self) -> impl Iterator<Item = &Root> {
        self.given.iter().chain(&self.implied).chain(std::iter::once(&self.library))
    }

    /// The roots below which everything may be listed.
    fn listed(&self) -> impl Iterator<Item = &Root> {
        self.given.iter().chain(std::iter::once(&self.library))
    }

    /// True when a root has an entity of exactly this name.
    pub fn knows(&self, name: &str) -> bool {
        self.search(name).is_some()
    }

    /// The qualified names of all entities below the roots, without those that a file only implies.
    pub fn names(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        let mut add = |path: &str| {
            if let Some((stem, _)) = path.rsplit_once('.') {
                let name = stem.replace('/', ".");
                if is_entity_name(&name) {
                    names.insert(name);
                }
            }
        };
        for root in self.listed() {
            for (path, _) in root.files(&["cal", "nl", "xdf"]) {
                add(&path);
            }
        }
        names
    }

    /// The qualified names whose last part is `name`.
    pub fn named(&self, name: &str) -> Vec<String> {
        let ending = format!(".{name}");
        self.names().into_iter().filter(|known| known == name || known.ends_with(&ending)).collect()
    }

    /// All files below the roots that end in `.ending` (or are called so), as path below their root and text; a file of an
    /// earlier root hides one of the same path. What cannot be read is a message.
    pub fn texts(
        &self,
        is_wanted: impl Fn(&str) -> bool,
        endings: &[&str],
    ) -> Vec<(String, String, Result<String, String>)> {
        let mut seen = BTreeSet::new();
        let mut texts = Vec::new();
        for root in self.listed() {
            for (path, display) in root.files(endings) {
                if is_wanted(&path) && seen.insert(path.clone()) {
                    let text = root.read(&path);
                    texts.push((path, display, text));
                }
            }
        }
        texts
    }

    /// The text of the file with this path below the first root that has it.
    pub fn text(&self, path: &str) -> Option<(String, Result<String, String>)> {
        self.listed().find(|root| root.has(path)).map(|root| (root.display(path), root.read(path)))
    }
}

impl Root {
    fn display(&self, path: &str) -> String {
        match self {
            Root::Folder(folder) if folder == Path::new(".") => path.to_owned(),
            Root::Folder(folder) | Root::Library(folder) => folder.join(path).display().to_string(),
            Root::BuiltIn => format!("{BUILT_IN}{path}"),
        }
    }

    fn has(&self, path: &str) -> bool {
        match self {
            Root::Folder(folder) | Root::Library(folder) => folder.join(path).is_file(),
            Root::BuiltIn => embedded::file(path).is_some(),
        }
    }

    fn read(&self, path: &str) -> Result<String, String> {
        match self {
            Root::Folder(folder) | Root::Library(folder) => read_source(&folder.join(path)),
            Root::BuiltIn => {
                let bytes = embedded::file(path).ok_or_else(|| format!("`{path}` is not in the library"))?;
                String::from_utf8(bytes.to_vec()).map_err(|_| format!("`{path}` is not text"))
            }
        }
    }

    /// Path below the root and name to show of all files with one of the endings; what cannot be listed is passed over.
    fn files(&self, endings: &[&str]) -> Vec<(String, String)> {
        let below = |folder: &Path, start: &Path| -> Vec<(String, String)> {
            let found = files_below(start, endings).unwrap_or_default();
            let below = found.iter().filter_map(|file| {
                let parts: Vec<_> = file.strip_prefix(folder).ok()?.iter().map(|part| part.to_string_lossy()).collect();
                Some(parts.join("/"))
            });
            below.map(|path| (path.clone(), self.display(&path))).collect()
        };
        match self {
            Root::Folder(folder) => below(folder, folder),
            Root::Library(folder) => {
                LIBRARY_FOLDERS.iter().flat_map(|part| below(folder, &folder.join(part))).collect()
            }
            Root::BuiltIn => LIBRARY_FOLDERS
                .into_iter()
                .flat_map(embedded::below)
                .filter(|(path, _)| path.rsplit_once('.').is_some_and(|(_, ending)| endings.contains(&ending)))
                .map(|(path, _)| (path.to_owned(), self.display(path)))
                .collect(),
        }
    }
}

impl SourceProvider for Roots {
    fn find(&self, name: &str) -> Result<Option<SourceText>, String> {
        let Some((root, path, kind)) = self.search(name) else { return Ok(None) };
        Ok(Some(SourceText { display: root.display(&path), text: root.read(&path)?, kind }))
    }

    fn similar(&self, name: &str) -> Vec<String> {
        let last = name.rsplit('.').next().unwrap_or(name).to_lowercase();
        let most = (last.chars().count() / 3).max(1);
        let mut near: Vec<(usize, String)> = self
            .names()
            .into_iter()
            .filter_map(|known| {
                let distance = edit_distance(&last, &known.rsplit('.').next()?.to_lowercase(), most)?;
                Some((distance, known))
            })
            .collect();
        near.sort();
        near.into_iter().map(|(_, known)| known).take(5).collect()
    }

    fn places(&self) -> Vec<String> {
        self.all()
            .map(|root| match root {
                Root::Folder(folder) | Root::Library(folder) => folder.display().to_string(),
                Root::BuiltIn => "the built-in library".into(),
            })
            .collect()
    }
}

/// Number of insertions, deletions and replacements between two words, if it is at most `most` (Wagner and Fischer).
pub fn edit_distance(a: &str, b: &str, most: usize) -> Option<usize> {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > most || a.len().max(b.len()) > 256 {
        return None;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row.last().copied().filter(|distance| *distance <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_paths_below_a_root() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        fs::create_dir_all(folder.path().join("a/b")).expect("the folder is writable");
        fs::write(folder.path().join("a/b/Copy.cal"), "actor").expect("the folder is writable");
        let roots = Roots { given: vec![Root::Folder(folder.path().into())], implied: vec![], library: Root::BuiltIn };
        let found = roots.find("a.b.Copy").expect("it can be read").expect("it is there");
        assert_eq!(found.text, "actor");
        assert_eq!(found.kind, SourceKind::Cal);
        assert_eq!(roots.named("Copy"), ["a.b.Copy"]);
        assert!(roots.similar("a.b.Cpoy").contains(&"a.b.Copy".to_owned()) || roots.similar("Copi")[0] == "a.b.Copy");
        for missing in ["a.b.Other", "a..b", "", "..a", "a/b/Copy", "a\\b", "a.b.Copy.", "a.b.copy"] {
            assert!(roots.find(missing).expect("nothing to read").is_none(), "{missing}");
        }
        let long = format!("{}Copy", "a.".repeat(1 << 20));
        assert!(roots.find(&long).expect("nothing to read").is_none() && !roots.knows(&long));
    }

    #[test]
    fn files_of_any_name_are_found() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        fs::create_dir_all(folder.path().join("p-q")).expect("the folder is writable");
        let mut roots =
            Roots { given: vec![Root::Folder(folder.path().into())], implied: vec![], library: Root::BuiltIn };
        for stem in ["A-b", "1st", "two words", "ä", "v1.2", "a(b)"] {
            let file = folder.path().join(format!("p-q/{stem}.xdf"));
            fs::write(&file, "<XDF/>").expect("the folder is writable");
            let name = format!("p-q.{stem}");
            assert!(roots.find(&name).expect("it can be read").is_some(), "{name}");
            assert!(roots.knows(&name), "{name}");
            assert_eq!(roots.named(stem), [name.as_str()]);
            assert_eq!(roots.adopt(&file, "<XDF/>", SourceKind::Xdf).as_deref(), Some(name.as_str()));
        }
    }

    #[test]
    fn manifests_stand_in_packages() {
        for path in ["primitive.toml", "ctl/block/aes/primitive.toml"] {
            assert!(is_manifest(path), "{path}");
        }
        for path in ["tests/no-package/x/primitive.toml", "x.toml", "aprimitive.toml", "ctl/primitive.toml/x"] {
            assert!(!is_manifest(path), "{path}");
        }
    }

    #[test]
    fn older_texts_are_read() {
        assert_eq!(decode("é".into()).as_deref(), Ok("é"));
        assert_eq!(decode(b"// J\xe9r\xf4me\r\n".to_vec()).as_deref(), Ok("// Jérôme\r\n"));
        assert_eq!(decode(b"actor\xff\x00\x01".to_vec()), Err(5));
    }

    #[test]
    fn packages_are_found_after_comments() {
        assert_eq!(declared_package("// a;\n/* package x; */ package a.b ;\nactor"), ["a", "b"]);
        assert!(declared_package("packages a;").is_empty());
        assert!(declared_package("actor A() ==> : end").is_empty());
        assert!(declared_package("/* package a;").is_empty());
    }

    #[test]
    fn distances() {
        assert_eq!(edit_distance("kitten", "sitting", 3), Some(3));
        assert_eq!(edit_distance("kitten", "sitting", 2), None);
        assert_eq!(edit_distance("", "", 0), Some(0));
    }
}
