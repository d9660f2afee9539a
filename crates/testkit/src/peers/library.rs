//! A loader of source trees: the library of a repository, read from its folder, with networks made ready to run.

use headrace_frontend::{Session, SourceKind, SourceProvider, SourceText, Top, elaborate};
use headrace_ir::Network;
use headrace_library::catalog::{Library, OperationSpec};
use headrace_source::{FileId, Severity, SourceMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Endings of source files and what they hold.
const KINDS: [(&str, SourceKind); 3] = [("cal", SourceKind::Cal), ("nl", SourceKind::Nl), ("xdf", SourceKind::Xdf)];

/// Manifests and sources below a folder.
pub struct Shipped {
    root: PathBuf,
    /// What the manifests say.
    pub library: Library,
}

impl SourceProvider for Shipped {
    fn find(&self, name: &str) -> Result<Option<SourceText>, String> {
        for (extension, kind) in KINDS {
            let path = self.root.join(format!("{}.{extension}", name.replace('.', "/")));
            if path.is_file() {
                let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
                return Ok(Some(SourceText { display: path.display().to_string(), text, kind }));
            }
        }
        Ok(None)
    }

    fn similar(&self, _: &str) -> Vec<String> {
        Vec::new()
    }

    fn places(&self) -> Vec<String> {
        vec![self.root.display().to_string()]
    }
}

impl Shipped {
    /// Reads the manifests below `ctl` of a folder; the message is everything wrong with them.
    pub fn read(root: &Path) -> Result<Self, String> {
        let mut paths = Vec::new();
        manifests(root, &root.join("ctl"), &mut paths).map_err(|error| format!("{}: {error}", root.display()))?;
        paths.sort();
        let mut sources = SourceMap::default();
        let mut files: Vec<(FileId, &str)> = Vec::new();
        for path in &paths {
            let text = std::fs::read_to_string(root.join(path)).map_err(|error| format!("{path}: {error}"))?;
            files.push((sources.add(path.clone(), text), path));
        }
        let (library, problems) = Library::load(files.iter().map(|(file, path)| (*file, *path, sources.text(*file))));
        let wrong: Vec<String> = problems
            .iter()
            .map(|problem| match &problem.primary {
                Some(label) => format!("{}: {}", sources.name(label.span.file), problem.message),
                None => problem.message.clone(),
            })
            .collect();
        if wrong.is_empty() { Ok(Shipped { root: root.to_owned(), library }) } else { Err(wrong.join("\n")) }
    }

    /// The network of a variant of an operation, with the ports that the operation needs.
    pub fn network(&self, spec: &OperationSpec, variant: &str) -> Result<Arc<Network>, String> {
        let variant = spec.variant(Some(variant)).ok_or_else(|| format!("there is no variant `{variant}`"))?;
        let mut session = Session::new();
        let network = elaborate(&mut session, self, &Top::Expression(variant.network.to_string()), &[]);
        let problems = session.take_diagnostics();
        if let Some(error) = problems.iter().find(|problem| problem.severity == Severity::Error) {
            return Err(format!("`{}`: {}", variant.network, error.message));
        }
        let network = network.ok_or_else(|| format!("`{}` is no network", variant.network))?;
        headrace_exchange::check_ports(spec, &network)?;
        Ok(Arc::new(network))
    }
}

fn manifests(root: &Path, folder: &Path, found: &mut Vec<String>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            manifests(root, &path, found)?;
        } else if path.file_name().is_some_and(|name| name == "primitive.toml") {
            let below = path.strip_prefix(root).unwrap_or(&path);
            let parts: Vec<_> = below.iter().map(|part| part.to_string_lossy()).collect();
            found.push(parts.join("/"));
        }
    }
    Ok(())
}
