//! Tools of targets: which are here, and their commands, with limits on time and on what they say.

use crate::error::describe;
use headrace_bench::machine::version_of;
use headrace_private::PrivateFolder;
use headrace_private::processes::{self, Ended};
use headrace_targets::project::Files;
use headrace_targets::toolchain::{ITSELF, Step, Tool, Toolchain};
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The tools of a toolchain that are here.
#[derive(Clone, Debug)]
pub struct Found {
    /// A command for each tool.
    pub commands: Vec<String>,
    /// What the first one says of itself.
    pub version: String,
}

/// The tools of a toolchain, with this one in the place of the first if one is named; `command` is the command `headrace`, where
/// somebody has it.
///
/// # Errors
///
/// Which is missing, and the package that has it.
pub fn find(toolchain: &Toolchain, compiler: Option<&str>, command: Option<&Path>) -> Result<Found, String> {
    let mut found = Found { commands: Vec::new(), version: String::new() };
    for (at, tool) in toolchain.tools.iter().enumerate() {
        if tool.commands == ITSELF.commands {
            let command = command.ok_or("nobody says where the command `headrace` is")?;
            found.commands.push(command.display().to_string());
            found.version = format!("headrace {}", env!("CARGO_PKG_VERSION"));
            continue;
        }
        let named = compiler.filter(|_| at == 0);
        let candidates: Vec<&str> = named.map_or_else(|| tool.commands.to_vec(), |named| vec![named]);
        let mut here = candidates.iter().filter_map(|command| Some((*command, version_of(command)?)));
        let Some((command, version)) = here.find(|(_, version)| is_new_enough(version, tool)) else {
            if tool.package.is_empty() {
                found.commands.push(String::new());
                continue;
            }
            let of = if tool.oldest > 0 { format!(" of version {} or newer", tool.oldest) } else { String::new() };
            let names = candidates.join(" or ");
            return Err(format!("no {names}{of} on the path (apt-get install {})", tool.package));
        };
        if at == 0 {
            found.version = version;
        }
        // Processes start in other folders.
        let is_place = command.contains('/');
        let place = is_place.then(|| fs::canonicalize(command).ok()).flatten();
        found.commands.push(place.map_or_else(|| command.to_owned(), |path| path.display().to_string()));
    }
    Ok(found)
}

/// Whether the first number of a version is large enough.
fn is_new_enough(version: &str, tool: &Tool) -> bool {
    let digits = version.trim_start_matches(|c: char| !c.is_ascii_digit());
    let digits: String = digits.chars().take_while(char::is_ascii_digit).collect();
    tool.oldest == 0 || digits.parse::<u32>().is_ok_and(|first| first >= tool.oldest)
}

/// Most bytes that a command may say; of more, these are read.
const MOST_SAID: u64 = 16 << 20;

/// What a command said, and what went wrong, if anything did.
#[derive(Clone, Debug)]
pub struct Said {
    /// Both of its outputs.
    pub text: String,
    /// Why it cannot be relied on.
    pub problem: Option<String>,
}

impl Said {
    /// The problem, with the end of what was said.
    pub fn complaint(&self) -> Option<String> {
        let problem = self.problem.as_ref()?;
        let lines: Vec<&str> = self.text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        let end = lines[lines.len().saturating_sub(8)..].join("\n    ");
        Some(if end.is_empty() { problem.clone() } else { format!("{problem}:\n    {end}") })
    }
}

/// Runs a command in a folder, for so long at most. What it started ends with it.
pub fn run(step: &Step, folder: &Path, limit: Duration) -> Said {
    let failed = |problem: String| Said { text: String::new(), problem: Some(problem) };
    let Some((program, arguments)) = step.words.split_first() else { return failed("there is no command".into()) };
    let said = match tempfile::NamedTempFile::new_in(folder) {
        Ok(said) => said,
        Err(error) => return failed(format!("{}: {}", folder.display(), describe(&error))),
    };
    // A program in the folder is found wherever this process is.
    let mut command = match program.strip_prefix("./") {
        Some(inside) => Command::new(folder.join(inside)),
        None => Command::new(program),
    };
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    command.envs(step.variables.iter().map(|(name, value)| (name, value.as_str())));
    let words = step.words.join(" ");
    let ended = match said.reopen().and_then(|out| processes::run(&mut command, &out, MOST_SAID, limit)) {
        Ok(ended) => ended,
        Err(error) => return failed(format!("`{words}` cannot be started: {}", describe(&error))),
    };
    let problem = match ended {
        Ended::With(status) if status.success() => None,
        Ended::With(status) => Some(format!("`{words}` ended with {status}")),
        Ended::TooLate => Some(format!("`{words}` took more than {} s", limit.as_secs())),
        Ended::TooMuch => Some(format!("`{words}` said more than {} MiB", MOST_SAID >> 20)),
        Ended::Lost(error) => Some(format!("`{words}`: {}", describe(&error))),
    };
    Said { text: head_of(said.path()), problem }
}

fn head_of(path: &Path) -> String {
    use std::io::Read;
    let mut bytes = Vec::new();
    // What cannot be read was not said.
    let _ = File::open(path).and_then(|file| file.take(MOST_SAID).read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Writes files below a folder.
///
/// # Errors
///
/// What cannot be written.
pub fn write_files(folder: &Path, files: &Files) -> Result<(), String> {
    for (path, bytes) in files {
        let path = folder.join(path);
        let made = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, bytes));
        made.map_err(|error| format!("{}: {}", path.display(), describe(&error)))?;
    }
    Ok(())
}

/// A folder for what tools make, which goes with its owner.
///
/// # Errors
///
/// Why there is none.
pub fn workshop() -> Result<PrivateFolder, String> {
    PrivateFolder::new()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    fn tool(oldest: u32) -> Tool {
        Tool { commands: &["no-such-tool"], oldest, package: "none" }
    }

    #[test]
    fn versions_are_compared_by_their_first_number() {
        assert!(is_new_enough("Debian clang version 16.0.6 (27+b1)", &tool(15)));
        assert!(!is_new_enough("Debian clang version 14.0.6", &tool(15)));
        assert!(is_new_enough("v18.19.0", &tool(18)));
        assert!(!is_new_enough("no number", &tool(1)));
        assert!(is_new_enough("no number", &tool(0)));
    }

    #[cfg(unix)]
    #[test]
    fn a_command_that_fails_or_takes_too_long_says_so() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let shell = |text: &str, limit: u64| {
            run(&Step::new(["sh", "-c", text]).with("WORD", "told"), folder.path(), Duration::from_millis(limit))
        };
        let said = shell("echo $WORD; echo of it >&2", 60_000);
        assert_eq!((said.text.as_str(), said.problem.as_deref()), ("told\nof it\n", None));
        let complaint = shell("echo why; exit 3", 60_000).complaint().expect("it failed");
        assert!(complaint.contains("exit status: 3") && complaint.contains("why"), "{complaint}");
        let began = Instant::now();
        let complaint = shell("sleep 60 & sleep 60", 300).complaint().expect("it failed");
        assert!(complaint.contains("took more than"), "{complaint}");
        assert!(began.elapsed() < Duration::from_secs(30));
        let complaint = run(&Step::new(["./nothing"]), folder.path(), Duration::from_secs(1)).complaint();
        assert!(complaint.is_some_and(|text| text.contains("cannot be started")));
    }
}
