//! Checking of sources: files, folders with their manifests, and networks, for all problems at once.

use crate::error::{Error, Result};
use crate::roots::{MANIFEST, files_below, is_manifest, kind_of, read_source};
use crate::workspace::{Remark, Workspace};
use headrace_exchange::check_ports;
use headrace_frontend::Top;
use headrace_library::catalog::{Framing, Library, REFERENCE};
use headrace_library::manifest::{Manifest, Shape};
use headrace_library::mapping::VectorMapping;
use headrace_source::{Diagnostic, FileId};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What a check came to.
#[derive(Clone, Debug)]
pub struct Checked {
    /// What was found, in the order in which it was; what a workspace has told before is not found again.
    pub found: Vec<Remark>,
    /// Files that were looked at: of folders, those below them, and else all that were read for it.
    pub n_files: usize,
}

impl Checked {
    /// The problems with places in sources.
    pub fn problems(&self) -> impl Iterator<Item = &Diagnostic> {
        self.found.iter().flat_map(Remark::problems)
    }

    /// Files that cannot be read, and why.
    pub fn unreadable(&self) -> impl Iterator<Item = &str> {
        self.found.iter().filter_map(|remark| match remark {
            Remark::Unreadable(why) => Some(why.as_str()),
            Remark::Problems(_) | Remark::Failed(_) | Remark::Note(_) => None,
        })
    }
}

/// How many files a folder has, and how many of others were read for it.
#[derive(Default)]
struct Looked {
    below: usize,
    beside: usize,
}

impl Workspace {
    /// Checks files, folders and networks, each as [`Workspace::top`] takes it: sources and manifests are parsed, names
    /// resolved, types checked.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let folder = tempfile::tempdir()?;
    /// let file = folder.path().join("Wrong.cal");
    /// std::fs::write(&file, "actor Wrong() int A ==> int B : action A:[x] ==> B:[y] end end")?;
    /// let checked = headrace::Workspace::default().check(&[&file.display().to_string()])?;
    /// assert!(checked.problems().any(|problem| problem.message.contains("`y`")));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// A folder or a file that is named cannot be read. What is wrong with sources is no error: it is what was found.
    pub fn check(&mut self, inputs: &[&str]) -> Result<Checked> {
        let (told, read) = (self.remarks.len(), self.session.sources.len());
        let mut tops = Vec::new();
        let mut looked = Looked::default();
        for input in inputs {
            let path = Path::new(input);
            match path.is_dir() {
                true => self.check_folder(path, &mut tops, &mut looked)?,
                false => tops.push(self.top(input)?),
            }
        }
        for top in &tops {
            let Some(network) = headrace_frontend::check(&mut self.session, &self.roots, top) else { continue };
            for problem in network.actors.iter().flat_map(headrace_analysis::narrowed::diagnostics) {
                self.session.report(problem);
            }
        }
        let problems = self.session.take_diagnostics();
        self.remark_problems(problems);
        // What files of folders need from elsewhere was looked at for them only.
        let only_folders = inputs.iter().all(|input| Path::new(input).is_dir());
        let n_files = if only_folders { looked.below } else { self.session.sources.len() - read - looked.beside };
        Ok(Checked { found: self.remarks.split_off(told), n_files })
    }

    /// The entities of a folder, and what is wrong with its manifests.
    fn check_folder(&mut self, folder: &Path, tops: &mut Vec<Top>, looked: &mut Looked) -> Result {
        let files = files_of(folder, &["cal", "nl", "xdf"])?;
        looked.below += files.len();
        for file in files {
            let Some(kind) = kind_of(&file) else { continue };
            match self.top_of_file(&file, kind) {
                Ok(top) => tops.push(top),
                Err(error) => self.remark(Remark::Unreadable(error.to_string())),
            }
        }
        let read = self.session.sources.len();
        let own = self.check_manifests(folder)?;
        looked.beside += self.session.sources.len() - read - own;
        looked.below += own;
        Ok(())
    }

    /// Checks the manifests below a folder, together with those of the source roots, which have the modes and ciphers that
    /// they may speak of; only their own problems are told. Gives how many were read.
    fn check_manifests(&mut self, folder: &Path) -> Result<usize> {
        let mut found = files_of(folder, &["toml"])?;
        found.retain(|file| file.file_name().is_some_and(|name| name == MANIFEST));
        if found.is_empty() {
            return Ok(0);
        }
        let (mut files, mut readable) = (Vec::new(), Vec::new());
        for file in &found {
            match read_source(file) {
                Ok(text) => {
                    let id = self.session.sources.add(file.display().to_string(), text);
                    files.push((id, self.roots.below(file)));
                    readable.push(file);
                }
                Err(why) => self.remark(Remark::Unreadable(why)),
            }
        }
        let own: Vec<FileId> = files.iter().map(|(id, _)| *id).collect();
        for (path, display, text) in self.roots.texts(is_manifest, &["toml"]) {
            // What stands below the folder may be what a root has, too.
            let here = files.iter().any(|(_, own)| *own == path || own.ends_with(&format!("/{path}")));
            if let (false, Ok(text)) = (here, text) {
                files.push((self.session.sources.add(display, text), path));
            }
        }
        let sources = &self.session.sources;
        let (library, problems) = Library::load(files.iter().map(|(id, path)| (*id, path.as_str(), sources.text(*id))));
        let of_own = |problem: &Diagnostic| problem.primary.as_ref().is_none_or(|label| own.contains(&label.span.file));
        let mut problems: Vec<Diagnostic> = problems.into_iter().filter(of_own).collect();
        // An answer that one manifest lacks says nothing about the networks of the next.
        let is_sound = problems.is_empty();
        for manifest in library.manifests() {
            let Some(at) = own.iter().position(|id| *id == manifest.file) else { continue };
            let beside = readable[at].parent().unwrap_or(Path::new("."));
            problems.extend(missing_answers(manifest, beside));
            if is_sound {
                self.check_networks(&library, manifest, beside);
            }
        }
        self.remark_problems(problems);
        Ok(own.len())
    }

    /// Checks the networks that a manifest names, with the arguments that stand there: those of a mode with the first cipher
    /// that has it.
    fn check_networks(&mut self, library: &Library, manifest: &Manifest, folder: &Path) {
        let own = manifest.sets.iter().flat_map(|set| set.operations.iter().map(move |own| (Some(&set.name), own)));
        let of_mode = manifest.operations.iter().map(|own| (None, own));
        let mut seen = BTreeSet::new();
        for (set, operation) in own.chain(of_mode) {
            let spec = library.operations().iter().find(|spec| {
                spec.name == operation.name
                    && set.is_none_or(|set| *set == spec.set)
                    && (manifest.shape == Shape::Mode || spec.folder == manifest.folder)
            });
            let Some(spec) = spec else { continue };
            for variant in &spec.variants {
                let name = variant.network.entity.rsplit('.').next().unwrap_or_default();
                // Below no source root a package is not what the folders are called; what stands beside is there all the same.
                let is_beside =
                    ["nl", "cal", "xdf"].iter().any(|ending| folder.join(format!("{name}.{ending}")).is_file());
                if !seen.insert(variant.network.to_string())
                    || (is_beside && !self.roots.knows(&variant.network.entity))
                {
                    continue;
                }
                let top = Top::Expression(variant.network.to_string());
                let network = headrace_frontend::elaborate(&mut self.session, &self.roots, &top, &[]);
                if let Some(network) = network
                    && spec.framing != Framing::Bare
                    && let Err(problem) = check_ports(spec, &network)
                {
                    let problem = Diagnostic::error(REFERENCE, problem).at(operation.span, "this operation");
                    self.remark_problems(vec![problem]);
                }
            }
        }
    }
}

fn files_of(folder: &Path, endings: &[&str]) -> Result<Vec<PathBuf>> {
    files_below(folder, endings).map_err(|error| Error::io(folder.display(), &error))
}

/// The known-answer files that a manifest names and that are not there.
fn missing_answers(manifest: &Manifest, folder: &Path) -> Vec<Diagnostic> {
    let is_missing = |mapping: &&VectorMapping| !folder.join("vectors").join(&mapping.file).is_file();
    let missing = manifest.vectors.iter().filter(is_missing);
    let problem = |mapping: &VectorMapping| {
        let file = mapping.file.escape_debug();
        Diagnostic::error(REFERENCE, format!("there is no known-answer file `vectors/{file}`"))
            .at(mapping.span, "named here")
    };
    missing.map(problem).collect()
}
