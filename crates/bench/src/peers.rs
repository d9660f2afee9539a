//! Finding peers: the library behind an adapter by `pkg-config`, the adapter compiled against it and loaded; or an adapter
//! that was built before.

use crate::contender::Object;
use crate::rules::PeerSpec;
use headrace_private::{PrivateFolder, describe, processes, trust};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// A peer that is there, in a version that counts.
#[derive(Debug)]
pub struct Peer {
    /// Its name in the rules.
    pub name: String,
    /// What people call it, with its version.
    pub title: String,
    /// The loaded adapter.
    pub object: Arc<Object>,
    /// Where it lies.
    pub path: PathBuf,
    /// See [`PeerSpec::bound`].
    pub bound: bool,
    /// Where the adapter lies that was compiled; it goes with the peer.
    _folder: Option<PrivateFolder>,
}

/// Where peers are that were built: `HEADRACE_PEERS`, else `headrace/peers` in the cache of the user.
///
/// # Errors
///
/// There is no such place, or others could have put something there: what lies in it is executed.
pub fn built_folder() -> Result<PathBuf, String> {
    let folder = match std::env::var_os("HEADRACE_PEERS").filter(|value| !value.is_empty()) {
        Some(folder) => std::path::absolute(folder).map_err(|error| describe(&error))?,
        None => trust::user_cache().map_err(|why| format!("not built: {why}"))?.join("headrace").join("peers"),
    };
    if !folder.is_dir() {
        return Err("not built".into());
    }
    trust::is_unshared(&folder)?;
    Ok(folder)
}

/// Finds a peer. `sources` are the files of `bench/peers`, by name.
///
/// # Errors
///
/// Why it is not there.
pub fn find(name: &str, spec: &PeerSpec, sources: &[(&str, &[u8])]) -> Result<Peer, String> {
    let (path, folder) = match (&spec.adapter, &spec.object) {
        (Some(adapter), _) => {
            let folder = PrivateFolder::new()?;
            (compile(adapter, spec, sources, folder.path())?, Some(folder))
        }
        (_, Some(object)) => {
            let path = built_folder()?.join(object);
            if !path.is_file() {
                return Err("not built".into());
            }
            (path, None)
        }
        (None, None) => return Err("has no adapter".into()),
    };
    let object = Object::load(&path)?;
    if !is_at_least(&object.version, &spec.minimum) {
        return Err(format!("found {}, but {} or later is asked for", object.version, spec.minimum));
    }
    let title = format!("{} {}", spec.title, object.version);
    Ok(Peer { name: name.into(), title, object, path, bound: spec.bound, _folder: folder })
}

/// Compiles a program against the library of a peer, in a folder: for what is measured in a process of its own.
///
/// # Errors
///
/// Why there is none.
pub fn program(source: &str, spec: &PeerSpec, sources: &[(&str, &[u8])], folder: &Path) -> Result<PathBuf, String> {
    let (headers, libraries) = library_flags(spec)?;
    for (file, text) in sources {
        fs::write(folder.join(file), text).map_err(|error| error.to_string())?;
    }
    let made = folder.join(source.trim_end_matches(".c"));
    let mut command = Command::new("cc");
    command.current_dir(folder).args(["-O2", "-std=gnu11"]).args(&spec.flags).args(headers).arg(source);
    command.args(libraries).arg("-o").arg(&made);
    match processes::compile(&mut command) {
        Ok(_) => Ok(made),
        Err(said) => Err(does_not_compile(source, &said)),
    }
}

fn does_not_compile(source: &str, said: &str) -> String {
    let line = said.lines().find(|line| line.contains("error")).or_else(|| said.lines().next()).unwrap_or_default();
    format!("{source} does not compile: {line}")
}

/// Compiles an adapter in a folder.
fn compile(adapter: &str, spec: &PeerSpec, sources: &[(&str, &[u8])], folder: &Path) -> Result<PathBuf, String> {
    let is_cpp = adapter.ends_with(".cpp");
    let compiler = if is_cpp { "c++" } else { "cc" };
    let (headers, libraries) = library_flags(spec)?;
    for (file, text) in sources {
        fs::write(folder.join(file), text).map_err(|error| error.to_string())?;
    }
    let object = folder.join(format!("{adapter}.so"));
    let mut command = Command::new(compiler);
    command.current_dir(folder).args(["-O2", "-fPIC", "-shared", if is_cpp { "-std=c++17" } else { "-std=gnu11" }]);
    // Its own copy of a library must not mix with another that is loaded.
    command.args(["-Wl,-Bsymbolic", "-Wl,--exclude-libs,ALL"]).args(&spec.flags).args(headers).arg(adapter);
    command.args(libraries).arg("-o").arg(&object);
    let Err(said) = processes::compile(&mut command) else { return Ok(object) };
    Err(does_not_compile(adapter, &said))
}

/// What the compiler is told for headers, and what for libraries.
fn library_flags(spec: &PeerSpec) -> Result<(Vec<OsString>, Vec<OsString>), String> {
    let own = spec
        .folder
        .as_ref()
        .and_then(|folder| Some(built_folder().ok()?.join(folder)))
        .filter(|folder| folder.is_dir());
    let Some(package) = &spec.package else {
        let (mut headers, mut libraries) = (Vec::new(), Vec::new());
        if let Some(own) = &own {
            headers.extend(["-I".into(), own.join("include").into_os_string()]);
            let mut search = OsString::from("-L");
            search.push(own.join("lib"));
            let mut path = OsString::from("-Wl,-rpath,");
            path.push(own.join("lib"));
            libraries.extend([search, path]);
        }
        libraries.extend(spec.libraries.iter().map(|library| format!("-l{library}").into()));
        return Ok((headers, libraries));
    };
    let ask = |what: &str| {
        let mut command = Command::new("pkg-config");
        if let Some(own) = &own {
            command.env("PKG_CONFIG_PATH", own.join("lib/pkgconfig")).args(["--define-prefix", "--static"]);
        }
        let output = command.args([what, package]).output().map_err(|_| "there is no pkg-config".to_owned())?;
        if !output.status.success() {
            return Err(format!("pkg-config knows no `{package}`"));
        }
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(text.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    };
    let mut libraries = ask("--libs")?;
    if let Some(own) = &own {
        let mut path = OsString::from("-Wl,-rpath,");
        path.push(own.join("lib"));
        libraries.push(path);
    }
    Ok((ask("--cflags")?, libraries))
}

/// Whether a version is another or a later one, number by number.
fn is_at_least(version: &str, minimum: &str) -> bool {
    let numbers = |text: &str| -> Vec<u64> {
        let digits = text.trim_start_matches(|c: char| !c.is_ascii_digit());
        let end = digits.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(digits.len());
        digits[..end].split('.').map_while(|part| part.parse().ok()).collect()
    };
    let (version, minimum) = (numbers(version), numbers(minimum));
    !version.is_empty() && version >= minimum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        assert!(is_at_least("4.0.3", "4.0"));
        assert!(is_at_least("1.10.1", "1.9"));
        assert!(!is_at_least("3.0.22", "4.0"));
        assert!(!is_at_least("v1.3.0-dev", "2"));
        assert!(!is_at_least("unknown", "0"));
    }

    #[test]
    fn what_is_missing_says_why() {
        let spec = PeerSpec {
            title: "none".into(),
            minimum: "1".into(),
            adapter: Some("none.c".into()),
            object: None,
            folder: None,
            package: Some("no-such-package-anywhere".into()),
            libraries: Vec::new(),
            flags: Vec::new(),
            get: String::new(),
            bound: false,
        };
        assert!(find("none", &spec, &[]).is_err());
        let built = PeerSpec { adapter: None, object: Some("no such object".into()), ..spec };
        assert_eq!(find("none", &built, &[]).err().as_deref(), Some("not built"));
    }
}
