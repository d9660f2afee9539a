//! The system's C compiler and the cache of what it made.

use sha2::{Digest as _, Sha256};
use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

/// A C compiler that was found and answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiler {
    /// The program, with arguments of its own if `CC` has some.
    command: Vec<OsString>,
    /// First line of what it says of its version.
    pub version: String,
}

impl Compiler {
    /// The compiler that `CC` names, else the first of `gcc`, `clang`, `cc` that is there.
    pub fn find() -> Option<Compiler> {
        if let Some(words) = std::env::var_os("CC").filter(|words| !words.is_empty()) {
            let words: Vec<OsString> = words.to_string_lossy().split_whitespace().map(OsString::from).collect();
            return Compiler::from_command(words);
        }
        ["gcc", "clang", "cc"].iter().find_map(|name| Compiler::named(name))
    }

    /// The compiler of this name or path, if it answers.
    pub fn named(name: &str) -> Option<Compiler> {
        Compiler::from_command(vec![OsString::from(name)])
    }

    fn from_command(command: Vec<OsString>) -> Option<Compiler> {
        let (program, arguments) = command.split_first()?;
        let output = Command::new(program).args(arguments).arg("--version").stdin(Stdio::null()).output().ok()?;
        if !output.status.success() {
            return None;
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let version = text.lines().next().unwrap_or_default().trim().to_owned();
        Some(Compiler { command, version })
    }

    /// The command as it is shown.
    pub fn name(&self) -> String {
        let words: Vec<_> = self.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        words.join(" ")
    }

    /// Compiles one source text to a shared library, or finds what was made before. Gives the path of the library.
    ///
    /// # Errors
    ///
    /// What the file system or the compiler said.
    pub fn library(
        &self,
        source: &str,
        headers: &[(&str, &str)],
        flags: &[String],
        cache: &Path,
    ) -> Result<PathBuf, String> {
        self.library_as(&self.key(source, headers, flags), source, headers, flags, cache)
    }

    /// The same under a name that says what it is made of.
    pub(crate) fn library_as(
        &self,
        key: &str,
        source: &str,
        headers: &[(&str, &str)],
        flags: &[String],
        cache: &Path,
    ) -> Result<PathBuf, String> {
        let library = cache.join(format!("{key}.so"));
        if library.is_file() {
            return Ok(library);
        }
        let told = |path: &Path, error: std::io::Error| format!("cannot write {}: {error}", path.display());
        std::fs::create_dir_all(cache).map_err(|error| told(cache, error))?;
        // Another process may make the same entry: each writes to a folder of its own and moves the result into place.
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let work = cache.join(format!("{key}.{}.{number}", std::process::id()));
        std::fs::create_dir_all(&work).map_err(|error| told(&work, error))?;
        let result = self.compile_in(&work, source, headers, flags);
        let result = result.and_then(|made| {
            std::fs::rename(&made, &library).map_err(|error| told(&library, error))?;
            Ok(library)
        });
        // What is left of a failed attempt is no loss.
        let _ = std::fs::remove_dir_all(&work);
        result
    }

    fn compile_in(
        &self,
        work: &Path,
        source: &str,
        headers: &[(&str, &str)],
        flags: &[String],
    ) -> Result<PathBuf, String> {
        for (name, text) in headers {
            write(&work.join(name), text)?;
        }
        let input = work.join("network.c");
        write(&input, source)?;
        let output = work.join("network.so");
        let (program, arguments) = self.command.split_first().ok_or("no compiler is named")?;
        let made = Command::new(program)
            .args(arguments)
            .args(flags)
            .args(["-shared", "-fPIC", "-o"])
            .arg(&output)
            .arg(&input)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("cannot start {}: {error}", self.name()))?;
        if made.status.success() {
            return Ok(output);
        }
        let said = String::from_utf8_lossy(&made.stderr);
        let lines: Vec<&str> = said.lines().take(20).collect();
        Err(format!("{} did not compile the generated program:\n{}", self.name(), lines.join("\n")))
    }

    /// The name of what is made of a source text.
    pub(crate) fn key(&self, source: &str, headers: &[(&str, &str)], flags: &[String]) -> String {
        let mut hash = Sha256::new();
        let mut add = |text: &str| {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        };
        add(source);
        for (name, text) in headers {
            add(name);
            add(text);
        }
        flags.iter().for_each(|flag| add(flag));
        add(&self.name());
        add(&self.version);
        hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    let told = |error| format!("cannot write {}: {error}", path.display());
    let mut file = std::fs::File::create(path).map_err(told)?;
    file.write_all(text.as_bytes()).map_err(told)
}

/// The cache folder of the user.
pub fn default_cache() -> PathBuf {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    named("XDG_CACHE_HOME")
        .or_else(|| named("HOME").map(|home| home.join(".cache")))
        .unwrap_or_else(std::env::temp_dir)
        .join("headrace")
}
