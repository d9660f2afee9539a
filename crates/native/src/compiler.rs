//! The system's C compiler: which one it is, what decides what it makes, and how it is run.

use crate::NativeError;
use headrace_private::limits::Limits;
use headrace_private::processes::{self, ANSWERING, Ended};
use headrace_private::{PrivateFolder, describe, places};
use rustix::fs::{Access, access};
use sha2::{Digest as _, Sha256};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, UNIX_EPOCH};

/// Where programs are looked for when nobody says.
const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// What compilers are called when nobody names one.
const USUAL: [&str; 3] = ["gcc", "clang", "cc"];

/// Most bytes that a compiler may say.
const MOST_SAID: u64 = 1 << 20;

/// Most bytes of a library.
const MOST_LIBRARY_BYTES: u64 = 1 << 29;

/// Lines of what a compiler says that are passed on.
const LINES: usize = 20;

/// Where less is free, a compiler that failed may have done so for lack of room.
const ROOM_BYTES: u64 = 64 << 20;

/// What else changes what compilers make of the same command.
const VARIABLES: [&str; 7] =
    ["CPATH", "C_INCLUDE_PATH", "LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX", "CCC_OVERRIDE_OPTIONS", "SDKROOT"];

/// A C compiler that was found and answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiler {
    /// The path of the program, and arguments of its own if `CC` has some.
    command: Vec<OsString>,
    /// As it was named.
    name: String,
    /// First line of what it says of its version.
    pub version: String,
    /// Which file it is, and in which state.
    file: String,
}

/// Why one attempt to compile came to nothing.
enum Refused {
    /// In another place it may do.
    Place(String),
    /// Nowhere.
    Anywhere(NativeError),
}

/// What comes of an attempt in the first place for temporary files that does.
fn in_some_place<T>(attempt: impl Fn(&Path) -> Result<T, Refused>) -> Result<T, NativeError> {
    let mut first = None;
    for place in places() {
        match attempt(&place) {
            Ok(made) => return Ok(made),
            Err(Refused::Anywhere(error)) => return Err(error),
            Err(Refused::Place(why)) => first = first.or(Some(why)),
        }
    }
    let why = first.unwrap_or_default();
    Err(NativeError::Unable(format!("there is no place for temporary files: {why} (TMPDIR names one)")))
}

impl Compiler {
    /// The compiler that `CC` names, else the first of `gcc`, `clang`, `cc` that is there. It is looked for once.
    pub fn find() -> Option<Compiler> {
        static FOUND: OnceLock<Option<Compiler>> = OnceLock::new();
        let look = || match std::env::var_os("CC").filter(|words| !words.is_empty()) {
            Some(words) => Compiler::from_command(words_of(words)),
            None => USUAL.iter().find_map(|name| Compiler::named(name)),
        };
        FOUND.get_or_init(look).clone()
    }

    /// Whether `CC` names one, so that somebody misses it where [`Compiler::find`] finds none.
    pub fn is_named() -> bool {
        std::env::var_os("CC").is_some_and(|words| !words.is_empty())
    }

    /// The compiler of this name or path, if it answers.
    pub fn named(name: &str) -> Option<Compiler> {
        Compiler::from_command(vec![OsString::from(name)])
    }

    fn from_command(words: Vec<OsString>) -> Option<Compiler> {
        let mut compiler = Compiler::unasked(words)?;
        let limit = Limits::of_environment().map_or(ANSWERING, |limits| limits.compiling.min(ANSWERING));
        let (ended, said) = compiler.run(|command| command.arg("--version"), limit).ok()?;
        if !ended.is_success() {
            return None;
        }
        compiler.version = said.lines().next().unwrap_or_default().trim().to_owned();
        Some(compiler)
    }

    /// The program that is there, of which nobody knows whether it answers.
    fn unasked(words: Vec<OsString>) -> Option<Compiler> {
        let name = words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
        let program = located(words.first()?)?;
        let about = fs::metadata(&program).ok()?;
        let time = about.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
        let place = fs::canonicalize(&program).unwrap_or_else(|_| program.clone());
        let file = format!("{} {} {} {}", program.display(), place.display(), about.len(), time.as_nanos());
        let command: Vec<OsString> = std::iter::once(program.into()).chain(words.into_iter().skip(1)).collect();
        Some(Compiler { command, name, version: String::new(), file })
    }

    /// What [`Compiler::find`] asks first, not asked: starting it takes longer than all else that a short command does.
    pub(crate) fn first() -> Option<Compiler> {
        match std::env::var_os("CC").filter(|words| !words.is_empty()) {
            Some(words) => Compiler::unasked(words_of(words)),
            None => USUAL.iter().find_map(|name| Compiler::unasked(vec![OsString::from(name)])),
        }
    }

    /// The same without its version, which follows from which file it is.
    pub(crate) fn unversioned(&self) -> Compiler {
        Compiler { version: String::new(), ..self.clone() }
    }

    /// Whether it is the program that was not asked.
    pub(crate) fn is(&self, unasked: &Compiler) -> bool {
        self.command == unasked.command && self.file == unasked.file
    }

    /// The command as it is shown.
    pub fn name(&self) -> String {
        self.name.clone()
    }

    /// Runs it with arguments: how it ended, and what it said.
    fn run(
        &self,
        arguments: impl FnOnce(&mut Command) -> &mut Command,
        limit: Duration,
    ) -> io::Result<(Ended, String)> {
        let Some((program, own)) = self.command.split_first() else { return Err(io::ErrorKind::NotFound.into()) };
        let mut command = Command::new(program);
        command.args(own).env("LC_ALL", "C");
        if std::env::var_os("PATH").is_none() {
            // A compiler looks there for assembler and linker.
            command.env("PATH", USUAL_PATH);
        }
        processes::output(arguments(&mut command), MOST_SAID, limit)
    }

    /// Compiles one source text to a shared library, in a folder that nobody else can enter. Gives its bytes.
    ///
    /// # Errors
    ///
    /// What the file system or the compiler said.
    pub(crate) fn compile(
        &self,
        source: &str,
        headers: &[(&str, &str)],
        flags: &[String],
        limit: Duration,
    ) -> Result<Vec<u8>, NativeError> {
        in_some_place(|place| self.compile_in(place, source, headers, flags, limit))
    }

    /// A C file with everything that it includes, as the compiler sees it.
    ///
    /// # Errors
    ///
    /// What the file system or the compiler said.
    pub(crate) fn preprocessed(&self, file: &Path, flags: &[String], limit: Duration) -> Result<String, NativeError> {
        in_some_place(|place| {
            let folder = PrivateFolder::new_in(place).map_err(Refused::Place)?;
            let output = folder.path().join("whole.c");
            self.run_in(
                &folder,
                place,
                |command| command.args(flags).arg("-E").arg(file).arg("-o").arg(&output),
                limit,
            )?;
            fs::read_to_string(&output)
                .map_err(|error| Refused::Anywhere(NativeError::Unable(format!("{}: {}", self.name, describe(&error)))))
        })
    }

    fn compile_in(
        &self,
        place: &Path,
        source: &str,
        headers: &[(&str, &str)],
        flags: &[String],
        limit: Duration,
    ) -> Result<Vec<u8>, Refused> {
        let folder = PrivateFolder::new_in(place).map_err(Refused::Place)?;
        let told = |path: &Path, error: io::Error| format!("{}: {}", path.display(), describe(&error));
        for (name, text) in headers.iter().chain([&("network.c", source)]) {
            let path = folder.path().join(name);
            fs::write(&path, text).map_err(|error| Refused::Place(told(&path, error)))?;
        }
        let output = folder.path().join("network.so");
        let input = folder.path().join("network.c");
        self.run_in(
            &folder,
            place,
            |command| command.args(flags).args(["-shared", "-fPIC", "-o"]).arg(&output).arg(&input),
            limit,
        )?;
        let bytes = File::open(&output).and_then(|file| {
            let mut bytes = Vec::new();
            file.take(MOST_LIBRARY_BYTES).read_to_end(&mut bytes).map(|_| bytes)
        });
        match bytes {
            Ok(bytes) if !bytes.is_empty() => Ok(bytes),
            _ => Err(Refused::Anywhere(NativeError::Failed(format!(
                "{} says that it compiled the generated program, but has written nothing",
                self.name
            )))),
        }
    }

    /// Runs it on what is in a folder, in this place, where its own temporary files go, too.
    fn run_in(
        &self,
        folder: &PrivateFolder,
        place: &Path,
        arguments: impl FnOnce(&mut Command) -> &mut Command,
        limit: Duration,
    ) -> Result<(), Refused> {
        // What a compiler that is stopped leaves behind goes with the folder.
        let ran = self.run(|command| arguments(command).env("TMPDIR", folder.path()), limit);
        let name = &self.name;
        let unable = |why: String| Refused::Anywhere(NativeError::Unable(why));
        let failed = |why: String| Refused::Anywhere(NativeError::Failed(why));
        let (ended, said) = ran.map_err(|error| unable(format!("{name} cannot be started: {}", describe(&error))))?;
        let said = said.replace(&format!("{}/", folder.path().display()), "");
        let why = first_error(&said);
        match ended {
            Ended::With(status) if status.success() => Ok(()),
            Ended::With(status) => {
                if let Some(signal) = status.signal() {
                    return Err(unable(format!("{name} was ended by signal {signal}")));
                }
                if said.contains("signal terminated program") {
                    return Err(unable(format!("{name}: {why}")));
                }
                if lacks_room(place, &said) {
                    return Err(Refused::Place(format!("{}: {why}", place.display())));
                }
                let lines: Vec<&str> = said.lines().filter(|line| *line != why).take(LINES).collect();
                let rest = lines.iter().map(|line| format!("\n{line}")).collect::<String>();
                Err(failed(format!("{name} did not compile the generated program: {why}{rest}")))
            }
            Ended::TooLate => {
                let seconds = limit.as_secs();
                Err(unable(format!("{name} took more than {seconds} s (HEADRACE_COMPILE_SECONDS)")))
            }
            Ended::TooMuch => Err(failed(format!(
                "{name} did not compile the generated program: {why} (and more than {} MiB more)",
                MOST_SAID >> 20
            ))),
            Ended::Lost(error) => Err(unable(format!("{name}: {}", describe(&error)))),
        }
    }

    /// Compiles, loads and calls a program of a line.
    ///
    /// # Errors
    ///
    /// Why compiled code does not run here: no headers, no linker, no place for files, code for another machine.
    pub fn try_out(&self) -> Result<(), NativeError> {
        let text = "#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n#include <stdlib.h>\n#include <string.h>\n\
                    uint32_t headrace_tried(void);\nuint32_t headrace_tried(void) { return 4711; }\n";
        let limits = Limits::of_environment().map_err(NativeError::Unable)?;
        let bytes = self.compile(text, &[], &[], limits.compiling)?;
        let loaded = crate::library::Loaded::from_bytes(&bytes).map_err(|why| self.unloadable(&why))?;
        // SAFETY: the text that was compiled has a function of this type.
        let tried = unsafe { loaded.get::<unsafe extern "C" fn() -> u32>(b"headrace_tried") };
        let tried = tried.map_err(|error| self.unloadable(&error.to_string()))?;
        // SAFETY: as above; it only returns.
        if unsafe { tried() } == 4711 {
            return Ok(());
        }
        Err(NativeError::Failed(format!("what {} makes does not compute", self.name)))
    }

    /// What was made cannot be loaded.
    pub(crate) fn unloadable(&self, why: &str) -> NativeError {
        NativeError::Failed(format!("what {} made does not run here: {why}", self.name))
    }

    /// The name of what is made of a source text: a hash of all that decides what it is.
    pub(crate) fn key(&self, source: &str, headers: &[(&str, &str)], flags: &[String]) -> String {
        let mut hash = Hash::new(source, headers);
        flags.iter().for_each(|flag| hash.add(flag.as_bytes()));
        self.command.iter().for_each(|word| hash.add(word.as_bytes()));
        hash.add(self.version.as_bytes());
        hash.add(self.file.as_bytes());
        hash.add(std::env::consts::ARCH.as_bytes());
        let is_own = |word: &OsStr| word.to_string_lossy().contains("=native");
        if flags.iter().any(|flag| is_own(flag.as_ref())) || self.command.iter().any(|word| is_own(word)) {
            hash.add(processor().as_bytes());
        }
        for name in VARIABLES {
            let value = std::env::var_os(name).unwrap_or_default();
            hash.add(name.as_bytes());
            hash.add(value.as_bytes());
        }
        hash.name()
    }
}

/// The name of what texts decide alone, whatever compiler there is.
pub(crate) fn plain_key(source: &str, headers: &[(&str, &str)]) -> String {
    let mut hash = Hash::new(source, headers);
    hash.add(std::env::consts::ARCH.as_bytes());
    hash.name()
}

/// What a name is made of.
struct Hash(Sha256);

impl Hash {
    fn new(source: &str, headers: &[(&str, &str)]) -> Self {
        let mut hash = Self(Sha256::new());
        hash.add(source.as_bytes());
        for (name, text) in headers {
            hash.add(name.as_bytes());
            hash.add(text.as_bytes());
        }
        hash
    }

    fn add(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    fn name(self) -> String {
        self.0.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Which processor this is, with what it can do.
pub(crate) fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let says = ["vendor_id", "cpu family", "model", "stepping", "flags", "Features", "CPU implementer", "CPU part"];
    let of_first = text.lines().take_while(|line| !line.is_empty());
    let lines = of_first.filter(|line| says.iter().any(|name| line.starts_with(name)));
    lines.collect::<Vec<_>>().join("\n")
}

/// The words of `CC`: one if there is such a file, for its name may have spaces.
fn words_of(text: OsString) -> Vec<OsString> {
    if text.as_bytes().contains(&b'/') && Path::new(&text).is_file() {
        return vec![text];
    }
    let words = text.as_bytes().split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    words.map(|word| OsString::from_vec(word.to_vec())).collect()
}

/// The path of a program, which is looked for where `PATH` says, in folders that do not depend on where the user is.
pub(crate) fn located(name: &OsStr) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| path.is_file() && access(path, Access::EXEC_OK).is_ok();
    if name.as_bytes().contains(&b'/') {
        return std::path::absolute(name).ok().filter(is_program);
    }
    let folders = std::env::var_os("PATH").unwrap_or_else(|| USUAL_PATH.into());
    std::env::split_paths(&folders)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(is_program)
}

/// The line that says best why a compiler failed.
fn first_error(said: &str) -> &str {
    let mut lines = said.lines().filter(|line| !line.trim().is_empty());
    let telling = |line: &&str| line.contains("error:") || line.contains("cannot ");
    said.lines().find(telling).or_else(|| lines.next()).unwrap_or("it does not say why")
}

/// Whether a compiler may have failed because there was no room for what it makes.
fn lacks_room(place: &Path, said: &str) -> bool {
    let free = rustix::fs::statvfs(place).map_or(u64::MAX, |about| about.f_bavail.saturating_mul(about.f_frsize));
    free < ROOM_BYTES || said.contains("No space left") || said.contains("quota exceeded")
}

#[cfg(test)]
impl Compiler {
    /// The same, whose program was removed since it was found.
    pub(crate) fn gone(mut self) -> Self {
        self.command = vec!["/nowhere/cc".into()];
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_decides_what_is_made_decides_its_name() {
        let compiler = |words: &[&str], version: &str, file: &str| Compiler {
            command: words.iter().map(OsString::from).collect(),
            name: words.join(" "),
            version: version.into(),
            file: file.into(),
        };
        let gcc = compiler(&["/usr/bin/gcc"], "gcc 12", "a");
        let of = |compiler: &Compiler, flag: &str| compiler.key("text", &[("h", "1")], &[flag.to_owned()]);
        let keys = [
            of(&gcc, "-O2"),
            of(&gcc, "-O3"),
            of(&compiler(&["/usr/bin/gcc"], "gcc 13", "a"), "-O2"),
            of(&compiler(&["/usr/bin/gcc"], "gcc 12", "b"), "-O2"),
            of(&compiler(&["/home/gcc"], "gcc 12", "a"), "-O2"),
            of(&compiler(&["/usr/bin/gcc", "-m32"], "gcc 12", "a"), "-O2"),
            gcc.key("text", &[("h", "2")], &["-O2".into()]),
            gcc.key("texth", &[("", "1")], &["-O2".into()]),
        ];
        for (at, key) in keys.iter().enumerate() {
            assert!(!keys[..at].contains(key), "{at}");
        }
        assert_eq!(keys[0], of(&gcc, "-O2"));
    }

    #[test]
    fn commands_are_taken_apart_where_they_are_no_file() {
        let words = |text: &str| words_of(text.into());
        assert_eq!(words(" gcc  -m32 "), ["gcc", "-m32"]);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("my cc");
        fs::write(&path, "").unwrap();
        assert_eq!(words_of(path.clone().into()), [path.into_os_string()]);
    }

    #[test]
    fn the_telling_line_is_found() {
        assert_eq!(
            first_error("in file\nx.c:1: fatal error: stdint.h: No such file\nmore"),
            "x.c:1: fatal error: stdint.h: No such file"
        );
        assert_eq!(first_error("\nodd\n"), "odd");
        assert_eq!(first_error(""), "it does not say why");
    }
}
