//! Contenders that are programs of their own, because their languages do not link with others: they process a message as often
//! as they are told and say how long that took (`bench/contenders/README.md`).

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How long a program may take for an answer.
const PATIENCE: Duration = Duration::from_secs(120);

/// Seconds of a batch while a program becomes as fast as it gets.
const WARM_BATCH: f64 = 0.05;

/// How a program is started.
#[derive(Clone, Debug, Default)]
pub struct Start<'a> {
    /// The program and its first arguments.
    pub words: Vec<String>,
    /// Variables of its environment.
    pub variables: Vec<(String, String)>,
    /// The folder that it is started in.
    pub folder: PathBuf,
    /// What it is about: the key.
    pub key: &'a [u8],
    /// The initial block or nonce.
    pub iv: &'a [u8],
    /// The message.
    pub message: &'a [u8],
}

/// A program that runs and waits.
#[derive(Debug)]
pub struct Program {
    child: Child,
    commands: Option<ChildStdin>,
    answers: Receiver<String>,
    result: PathBuf,
    complaints: PathBuf,
    /// The version that it gives itself.
    pub version: String,
}

impl Program {
    /// Starts a program. Its folder is given a file with the message, what comes of it, and what it complains of: one
    /// program a folder.
    ///
    /// # Errors
    ///
    /// Why it does not run.
    pub fn start(start: &Start<'_>) -> Result<Self, String> {
        let (program, arguments) = start.words.split_first().ok_or("there is no command")?;
        let at = |name: &str| start.folder.join(name);
        let (message, result, complaints) = (at("message"), at("result"), at("complaints"));
        let failed = |error: std::io::Error| format!("`{program}`: {error}");
        fs::write(&message, start.message).map_err(failed)?;
        let mut command = Command::new(program);
        command.args(arguments).args([digits(start.key), digits(start.iv)]).arg(&message).arg(&result);
        command.envs(start.variables.iter().cloned()).current_dir(&start.folder);
        let errors = File::create(&complaints).map_err(failed)?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
        let mut child = command.spawn().map_err(failed)?;
        let (commands, said) = (child.stdin.take(), child.stdout.take());
        let (sender, answers) = channel();
        thread::spawn(move || {
            let lines = said.map(BufReader::new).into_iter().flat_map(|said| said.lines().map_while(Result::ok));
            // Whoever does not listen any more has what was wanted.
            lines.for_each(|line| _ = sender.send(line));
        });
        let mut started = Self { child, commands, answers, result, complaints, version: String::new() };
        let line = started.answer()?;
        let version = line.strip_prefix("ready").ok_or_else(|| format!("`{program}` said `{line}`"))?;
        started.version = version.trim().to_owned();
        Ok(started)
    }

    fn answer(&mut self) -> Result<String, String> {
        self.answers.recv_timeout(PATIENCE).map_err(|_| {
            let complaints = fs::read_to_string(&self.complaints).unwrap_or_default();
            let line = complaints.lines().find(|line| !line.trim().is_empty()).unwrap_or("it says nothing");
            format!("the program ended or takes too long: {line}")
        })
    }

    /// Seconds of so many messages.
    ///
    /// # Errors
    ///
    /// That it failed.
    pub fn seconds(&mut self, n_runs: usize) -> Result<f64, String> {
        let commands = self.commands.as_mut().ok_or("the program was ended")?;
        writeln!(commands, "{n_runs}").and_then(|()| commands.flush()).map_err(|error| error.to_string())?;
        let line = self.answer()?;
        let nanoseconds: f64 = line.trim().parse().map_err(|_| format!("the program said `{line}`"))?;
        Ok(nanoseconds * 1e-9)
    }

    /// What comes of the message.
    ///
    /// # Errors
    ///
    /// That it failed.
    pub fn result(&mut self) -> Result<Vec<u8>, String> {
        self.seconds(0)?;
        fs::read(&self.result).map_err(|error| error.to_string())
    }

    /// Processes messages for so many seconds, so that compilers that compile while a program runs have done so.
    ///
    /// # Errors
    ///
    /// That it failed.
    pub fn warm(&mut self, seconds: f64) -> Result<(), String> {
        let began = Instant::now();
        let mut n_runs = 1;
        while began.elapsed().as_secs_f64() < seconds {
            let took = self.seconds(n_runs)?;
            let wanted = n_runs as f64 * WARM_BATCH / took.max(1e-9);
            n_runs = (wanted as usize).clamp(1, 2 * n_runs);
        }
        Ok(())
    }

    /// Keeps all its threads on a core, where the system does that.
    pub fn pin(&self, core: usize) {
        crate::cycles::pin_process(self.child.id(), core);
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It ends when its input does; what still computes then is ended. Whether that can fail nobody needs to know.
        drop(self.commands.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Hexadecimal digits, `-` for none.
fn digits(bytes: &[u8]) -> String {
    if bytes.is_empty() { "-".into() } else { bytes.iter().map(|byte| format!("{byte:02x}")).collect() }
}

/// Whether a program is on the path, or at this place.
pub fn is_here(program: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    Path::new(program).components().count() > 1 && Path::new(program).is_file()
        || std::env::split_paths(&paths).any(|folder| folder.join(program).is_file())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(folder: &Path, text: &str) -> Result<Program, String> {
        let words = ["sh", "-c", text, "sh"].map(str::to_owned).to_vec();
        let folder = folder.to_path_buf();
        Program::start(&Start { words, folder, key: &[0xab, 1], message: b"text", ..Start::default() })
    }

    #[test]
    fn a_program_is_asked_line_by_line() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let text = "echo ready 1.2; while read n; do if [ $n = 0 ]; then { echo \"$1 $2\"; cat \"$3\"; } >\"$4\"; fi; echo $((n * 1000)); done";
        let mut program = shell(folder.path(), text).expect("there is a shell");
        assert_eq!(program.version, "1.2");
        assert_eq!(program.seconds(5), Ok(5e-6));
        assert_eq!(program.result(), Ok(b"ab01 -\ntext".to_vec()));
        assert_eq!(program.warm(0.01), Ok(()));
    }

    #[test]
    fn what_goes_wrong_is_said() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let complaint = |text: &str| shell(folder.path(), text).err().unwrap_or_default();
        assert!(complaint("echo none").contains("said `none`"));
        assert!(complaint("echo no class >&2; exit 1").contains("no class"));
        let mut program = shell(folder.path(), "echo ready; read n; echo many").expect("there is a shell");
        assert!(program.seconds(1).is_err_and(|problem| problem.contains("`many`")));
    }
}
