//! Programs on trial: compiled, run once, and what came of it remembered.

use crate::compiler::{Compiler, default_cache};
use headrace_targets::c::kernel::Trials;
use libloading::Library;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Runs programs on this processor, and remembers by program, compiler and processor what came of them.
#[derive(Clone, Debug)]
pub struct LocalTrials {
    compiler: Compiler,
    folder: PathBuf,
    processor: String,
}

/// As projects are compiled when nobody says otherwise.
const FLAGS: &[&str] = &["-std=gnu11", "-O3", "-w"];

impl LocalTrials {
    /// Trials with a compiler, remembered in the cache folder of the user.
    pub fn new(compiler: Compiler) -> Self {
        Self::remembered_in(compiler, &default_cache().join("trials"))
    }

    /// Trials that are remembered in a folder.
    pub fn remembered_in(compiler: Compiler, folder: &Path) -> Self {
        let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = cpuinfo.lines().find(|line| line.starts_with("model name")).unwrap_or("unknown processor");
        Self { compiler, folder: folder.to_owned(), processor: model.to_owned() }
    }

    fn measure(&self, source: &str, flags: &[String]) -> Option<f64> {
        let path = self.compiler.library(source, &[], flags, &self.folder).ok()?;
        // SAFETY: the library is ours; loading it runs no code of its own.
        let library = unsafe { Library::new(&path) }.ok()?;
        // SAFETY: the text that was compiled defines the function with this type, and it returns.
        let came = unsafe {
            let trial: libloading::Symbol<unsafe extern "C" fn() -> f64> = library.get(b"headrace_trial").ok()?;
            trial()
        };
        drop(library);
        // The number is what is kept; a file that stays behind only takes room.
        let _ = std::fs::remove_file(&path);
        Some(came)
    }

    /// Keeps a number, whole or not at all.
    fn remember(&self, memory: &Path, came: f64) -> std::io::Result<()> {
        std::fs::create_dir_all(&self.folder)?;
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        writeln!(file, "{came}")?;
        file.persist(memory)?;
        Ok(())
    }
}

impl Trials for LocalTrials {
    fn run(&self, source: &str) -> Option<f64> {
        let flags: Vec<String> = FLAGS.iter().map(|&flag| flag.to_owned()).collect();
        let key = self.compiler.key(&format!("{}\n{source}", self.processor), &[], &flags);
        let memory = self.folder.join(format!("{key}.txt"));
        let remembered = std::fs::read_to_string(&memory).ok().and_then(|text| text.trim().parse().ok());
        let came = match remembered {
            Some(came) => came,
            // Compilers and processors may refuse; that is remembered too.
            None => {
                let came = self.measure(source, &flags).unwrap_or(-1.0);
                // A number that cannot be kept is measured again.
                let _ = self.remember(&memory, came);
                came
            }
        };
        (came >= 0.0).then_some(came)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_of_a_trial_is_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let Some(compiler) = Compiler::find() else { panic!("not run: no C compiler") };
        let trials = LocalTrials::remembered_in(compiler, folder.path());
        let program =
            |value: &str| format!("double headrace_trial(void);\ndouble headrace_trial(void) {{ return {value}; }}\n");
        assert_eq!(trials.run(&program("12.5")), Some(12.5));
        assert_eq!(trials.run(&program("-1")), None);
        assert_eq!(trials.run("no program"), None);
        // What is remembered is not measured again.
        let entries: Vec<PathBuf> =
            std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(entries.len(), 3);
        for entry in &entries {
            std::fs::write(entry, "7\n").unwrap();
        }
        assert_eq!(trials.run(&program("12.5")), Some(7.0));
    }
}
