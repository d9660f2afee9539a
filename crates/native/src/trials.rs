//! Programs on trial: compiled, run once, and what came of it remembered.

use crate::NativeError;
use crate::compiler::{Compiler, processor};
use crate::library::Loaded;
use headrace_private::cache::{Cache, TRIAL, default_place};
use headrace_private::limits::Limits;
use headrace_targets::c::kernel::Trials;
use std::path::{Path, PathBuf};

/// Runs programs on this processor, and remembers by program, compiler and processor what came of them.
#[derive(Clone, Debug)]
pub struct LocalTrials {
    compiler: Compiler,
    /// Where they are remembered; `None`: nowhere.
    folder: Option<PathBuf>,
    processor: String,
}

/// As projects are compiled when nobody says otherwise.
const FLAGS: &[&str] = &["-std=gnu11", "-O3", "-w"];

impl LocalTrials {
    /// Trials with a compiler, remembered in the cache folder of the user.
    pub fn new(compiler: Compiler) -> Self {
        Self { compiler, folder: default_place().ok().map(|place| place.join("trials")), processor: processor() }
    }

    /// Trials that are remembered in a folder.
    pub fn remembered_in(compiler: Compiler, folder: &Path) -> Self {
        Self { compiler, folder: Some(folder.to_owned()), processor: processor() }
    }

    /// What comes of a program: a number that is negative where the compiler refuses it, or the program itself does. `None`: it
    /// could not be tried now, which says nothing of another time.
    fn measure(&self, source: &str, flags: &[String]) -> Option<f64> {
        let limits = Limits::of_environment().ok()?;
        let bytes = match self.compiler.compile(source, &[], flags, limits.compiling) {
            Ok(bytes) => bytes,
            Err(NativeError::Failed(_)) => return Some(REFUSED),
            Err(_) => return None,
        };
        let library = Loaded::from_bytes(&bytes).ok()?;
        // SAFETY: the text that was compiled defines the function with this type, and it returns.
        unsafe {
            let trial: libloading::Symbol<unsafe extern "C" fn() -> f64> = library.get(b"headrace_trial").ok()?;
            Some(trial())
        }
    }
}

/// What is remembered of a program that the compiler refuses.
const REFUSED: f64 = -1.0;

impl Trials for LocalTrials {
    fn run(&self, source: &str) -> Option<f64> {
        let flags: Vec<String> = FLAGS.iter().map(|&flag| flag.to_owned()).collect();
        let key = self.compiler.key(&format!("{}\n{source}", self.processor), &[], &flags);
        let cache = || Cache::open(self.folder.as_deref()?, Limits::of_environment().ok()?).ok();
        let cache = cache();
        let text = cache.as_ref().and_then(|cache| String::from_utf8(cache.get(&key, TRIAL)?).ok());
        let came = match text.and_then(|text| text.trim().parse().ok()) {
            Some(came) => came,
            None => {
                let came = self.measure(source, &flags)?;
                // A number that cannot be kept is measured again.
                let _ = cache.map(|cache| cache.put(&key, TRIAL, format!("{came}\n").as_bytes()));
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
        let cache = Cache::open(folder.path(), Limits::of_environment().unwrap()).unwrap();
        let names = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
        assert_eq!(names.len(), 3);
        for name in &names {
            cache.put(name.strip_suffix(".trial").unwrap(), TRIAL, b"7\n").unwrap();
        }
        assert_eq!(trials.run(&program("12.5")), Some(7.0));
    }

    #[test]
    fn what_could_not_be_tried_is_tried_again() {
        let folder = tempfile::tempdir().unwrap();
        let Some(compiler) = Compiler::find() else { panic!("not run: no C compiler") };
        // Who took away the compiler may bring it back.
        let trials = LocalTrials::remembered_in(compiler.gone(), folder.path());
        assert_eq!(trials.run("double headrace_trial(void);\ndouble headrace_trial(void) { return 1; }\n"), None);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
