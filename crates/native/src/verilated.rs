//! Circuits as native code: what Verilator makes of a design, compiled with its bridge, cached and loaded like generated C.

use crate::NativeError;
use crate::compiled;
use crate::compiler::{located, plain_key};
use crate::engine::{Batch, NativeEngine};
use crate::library::Loaded;
use headrace_ir::Network;
use headrace_private::cache::LIBRARY;
use headrace_private::limits::Limits;
use headrace_private::processes::{self, Ended};
use headrace_private::{PrivateFolder, describe};
use headrace_rtl::Design;
use headrace_targets::codesign::{self, Circuit};
use headrace_targets::project::Files;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// What functions of a circuit that is compiled alone are called.
const ALONE: &str = "circuit";

/// The oldest version whose models can be told to be at rest.
const OLDEST: u32 = 5;

/// Most bytes that tools may say.
const MOST_SAID: u64 = 16 << 20;

/// Lines of what they said that are passed on.
const LINES: usize = 12;

/// Verilator, with what it needs to compile its models.
#[derive(Clone, Debug)]
pub struct Verilator {
    command: PathBuf,
    version: String,
}

impl Verilator {
    /// The one on the path, if it is new enough and make and a C++ compiler are there, too.
    pub fn find() -> Option<Self> {
        let command = located(OsStr::new("verilator"))?;
        located(OsStr::new("make")).zip(located(OsStr::new("c++")))?;
        let version = processes::first_line(Command::new(&command).arg("--version"))?;
        let number: String =
            version.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
        (number.parse::<u32>().ok()? >= OLDEST).then_some(Self { command, version })
    }

    /// The circuit of a network, after a reset. [`NativeEngine::counted`] says of `circuit_cycles` how many clock cycles it has
    /// worked.
    ///
    /// # Errors
    ///
    /// What a tool or the file system said.
    pub fn engine(&self, network: &Arc<Network>, design: &Design) -> Result<NativeEngine, NativeError> {
        let files = codesign::library(&Circuit { prefix: ALONE, network, design }, "headrace run");
        let texts: Vec<(&str, String)> =
            files.iter().map(|(path, bytes)| (path.as_str(), String::from_utf8_lossy(bytes).into_owned())).collect();
        let headers: Vec<(&str, &str)> = texts.iter().map(|(path, text)| (*path, text.as_str())).collect();
        let key = plain_key(&format!("{} {}", self.command.display(), self.version), &headers);
        let cache = compiled::cache(None);
        let known = cache.as_ref().ok().and_then(|cache| compiled::known(cache, &key));
        let loaded = match known {
            Some(loaded) => loaded,
            None => {
                let bytes = self.compiled(&files)?;
                let loaded = Loaded::from_bytes(&bytes).map_err(NativeError::Failed)?;
                // What is not kept is made again the next time.
                let _ = cache.and_then(|cache| cache.put(&key, LIBRARY, &bytes));
                loaded
            }
        };
        Batch::of_loaded(loaded, &[(ALONE, headrace_ir::DEFAULT_FIFO_TOKENS)])?.engine(0, Arc::clone(network))
    }

    /// The bytes of the library that a folder makes.
    fn compiled(&self, files: &Files) -> Result<Vec<u8>, NativeError> {
        let limit = Limits::of_environment().map_err(NativeError::Unable)?.compiling;
        let folder = PrivateFolder::new().map_err(NativeError::Unable)?;
        let told = |path: &Path, error: std::io::Error| {
            NativeError::Unable(format!("{}: {}", path.display(), describe(&error)))
        };
        for (path, bytes) in files {
            let path = folder.path().join(path);
            let made = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, bytes));
            made.map_err(|error| told(&path, error))?;
        }
        let library = format!("build/{ALONE}.so");
        let mut command = Command::new("make");
        command.arg(format!("VERILATOR={}", self.command.display())).arg(&library).current_dir(folder.path());
        command.env("TMPDIR", folder.path()).env_remove("MAKEFLAGS");
        let (ended, said) = processes::output(&mut command, MOST_SAID, limit)
            .map_err(|error| NativeError::Unable(format!("make cannot be started: {}", describe(&error))))?;
        match ended {
            Ended::With(status) if status.success() => {}
            Ended::TooLate => {
                let seconds = limit.as_secs();
                return Err(NativeError::Unable(format!(
                    "Verilator took more than {seconds} s (HEADRACE_COMPILE_SECONDS)"
                )));
            }
            _ => {
                let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
                let end = lines[lines.len().saturating_sub(LINES)..].join("\n");
                return Err(NativeError::Failed(format!("the circuit was not compiled by {}:\n{end}", self.version)));
            }
        }
        let path = folder.path().join(library);
        fs::read(&path).map_err(|error| told(&path, error))
    }
}
