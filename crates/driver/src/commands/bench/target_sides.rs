//! Those who take turns for one operation in all targets: our C, projects of targets with what stands beside them
//! (`headrace_targets::contender`), and what users of their languages have.

use super::ours::{Build, Compiled, generate};
use crate::commands::Context;
use crate::failure::Outcome;
use headrace::Error;
use headrace::embedded;
use headrace::toolchains::{self, Found};
use headrace_bench::contender::{Object, Prepared, ROOM_BYTES, Strings};
use headrace_bench::contest::{Entrant, Inputs, Load, Side};
use headrace_bench::peers::built_folder;
use headrace_bench::program::{Program, Start, is_here};
use headrace_bench::results::Status;
use headrace_bench::target_rules::TargetPeer;
use headrace_ir::Network;
use headrace_library::catalog::{OperationSpec, VariantSpec};
use headrace_private::PrivateFolder;
use headrace_targets::contender::{Contender, Made, PROJECT, Subject};
use headrace_targets::toolchain::Step;
use headrace_targets::{Options, Target};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// How long a tool may take to build a project.
const PATIENCE: Duration = Duration::from_secs(600);

/// What all sides process.
pub struct Work<'w> {
    /// The operation.
    pub spec: &'w OperationSpec,
    /// The way of writing it that is taken.
    pub variant: &'w VariantSpec,
    /// Its network.
    pub network: &'w Arc<Network>,
    /// Key and initial block or nonce.
    pub strings: Strings,
    /// The message.
    pub message: Vec<u8>,
}

impl Work<'_> {
    /// Parameter set and operation, as rules and adapters call them.
    pub fn name(&self) -> String {
        format!("{} {}", self.spec.set, self.spec.name)
    }

    /// An operation of a loaded object as a side.
    fn loaded(&self, object: &Arc<Object>) -> Result<Side, (Status, String)> {
        let prepared = Prepared::open(object, &self.name(), &self.strings);
        let prepared = prepared.ok_or_else(|| match object.problem() {
            Some(lack) => (Status::NotMeasured, lack),
            None => (Status::Error, format!("has no {}", self.name())),
        })?;
        let load = Load { bytes: self.message.len(), messages: 1, piece: 0 };
        let inputs = Inputs::new(std::slice::from_ref(&self.message));
        Ok(Side::Loaded(Entrant::new(prepared, 2 * load.bytes, 1), inputs, load))
    }

    /// A program as a side, warm after so many seconds.
    fn program(&self, step: Step, folder: &Path, warm_seconds: f64) -> Result<(Side, String), String> {
        let mut variables: Vec<(String, String)> =
            step.variables.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        variables.extend(built_folder().ok().map(|folder| ("HEADRACE_PEERS".into(), folder.display().to_string())));
        let mut program = Program::start(&Start {
            words: step.words,
            variables,
            folder: folder.to_owned(),
            key: &self.strings.key,
            iv: &self.strings.iv,
            message: &self.message,
        })?;
        program.warm(warm_seconds)?;
        let version = program.version.clone();
        Ok((Side::Program(program), version))
    }
}

/// Who a side is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    /// Our C, by a compiler: without instructions of later machines, or with all that are here.
    C { compiler: String, plain: bool },
    /// The project of a target.
    Ours(&'static str),
    /// A peer of a target, by its title.
    Theirs(&'static str, String),
}

/// One of those who take turns.
pub struct Entry {
    /// Who it is.
    pub who: Who,
    /// What runs.
    pub side: Side,
    /// `headrace`, or the peer and its version.
    pub implementation: String,
    /// What it was compiled by.
    pub engine: String,
    /// Where it lies.
    _folder: Option<PrivateFolder>,
    /// Of our C.
    compiled: Option<Compiled>,
}

impl Entry {
    /// What it is called where several are named.
    pub fn name(&self) -> String {
        match self.who {
            Who::Theirs(..) => self.implementation.clone(),
            _ => self.engine.clone(),
        }
    }

    /// What our C makes of the first bytes of the message.
    ///
    /// # Errors
    ///
    /// That it is no C, or fails.
    pub fn of_short(&self, work: &Work, n_bytes: usize) -> Result<Vec<u8>, String> {
        let object = &self.compiled.as_ref().ok_or("this is no C")?.object;
        let mut prepared = Prepared::open(object, &work.name(), &work.strings).ok_or("our C refuses its key")?;
        let message = &work.message[..n_bytes.min(work.message.len())];
        let mut output = vec![0; 2 * message.len() + ROOM_BYTES];
        let n = prepared.run(message, &mut output).ok_or("our C fails")?;
        output.truncate(n);
        Ok(output)
    }
}

/// What our C is built with: for any machine, or for this one.
pub fn c_build(compiler: &str, plain: bool, fused: bool) -> Build {
    let native = Build { fused, ..Build::native(compiler) };
    if plain { Build { flags: vec!["-O3".into()], features: Some(Vec::new()), ..native } } else { native }
}

/// Our C, by each of the compilers, plain and best.
pub fn c_sides(context: &mut Context, work: &Work, compilers: &[String], fused: bool) -> Outcome<Vec<Entry>> {
    let mut projects = Vec::new();
    for compiler in compilers {
        for plain in [true, false] {
            let project = generate(context, work.spec, work.variant, &c_build(compiler, plain, fused))?;
            projects.push((Who::C { compiler: compiler.clone(), plain }, project));
        }
    }
    let compiled: Vec<_> = std::thread::scope(|scope| {
        let running: Vec<_> =
            projects.into_iter().map(|(who, project)| (who, scope.spawn(move || project.compile()))).collect();
        running.into_iter().map(|(who, thread)| (who, thread.join())).collect()
    });
    let mut entries = Vec::new();
    for (who, made) in compiled {
        let made = made.map_err(|_| Error::wrong("a thread that ran a compiler ended"))?.map_err(Error::wrong)?;
        entries.push(Entry {
            who,
            side: work.loaded(&made.object).map_err(|(_, why)| Error::wrong(why))?,
            implementation: "headrace".into(),
            engine: made.engine.clone(),
            _folder: None,
            compiled: Some(made),
        });
    }
    Ok(entries)
}

/// The project of a target.
///
/// # Errors
///
/// Why it takes no part: something that it needs is not there, or something is wrong.
pub fn ours(
    work: &Work,
    target: &'static Target,
    contender: &Contender,
    found: &Found,
    fused: bool,
    warm_seconds: f64,
) -> Result<Entry, (Status, String)> {
    let lacking = |why: String| (Status::NotMeasured, why);
    let wrong = |why: String| (Status::Error, why);
    let spec = work.spec;
    let command = format!("headrace bench targets --targets {}", target.name);
    let options = Options { command, fused, ..Options::default() };
    let operations = [(spec, &**work.network)];
    let project = (target.of_operations)(&spec.set, &spec.title, &operations, &[], &options, &|_, _| ());
    let project = project.map_err(|problems| {
        wrong(problems.first().map_or_else(|| "it cannot be printed".to_owned(), |problem| problem.message.clone()))
    })?;
    let subject = Subject { spec, project: &project, tools: &found.commands };
    let beside = (contender.files)(&subject).map_err(lacking)?;
    let folder = workshop().map_err(wrong)?;
    toolchains::write_files(&folder.path().join(PROJECT), &project).map_err(wrong)?;
    toolchains::write_files(folder.path(), &beside).map_err(wrong)?;
    build(&(contender.build)(&subject), folder.path()).map_err(wrong)?;
    let mut device = String::new();
    let side = match contender.made {
        Made::Object(path) => {
            let object = Object::load(&folder.path().join(path)).map_err(wrong)?;
            let side = work.loaded(&object)?;
            device = object.device().map_or_else(String::new, |device| format!(", on {device}"));
            side
        }
        Made::Program(run) => work.program(run(&subject), folder.path(), warm_seconds).map_err(wrong)?.0,
    };
    Ok(Entry {
        who: Who::Ours(target.name),
        side,
        implementation: "headrace".into(),
        engine: format!("{} by {}{device}", target.name, version(found)),
        _folder: Some(folder),
        compiled: None,
    })
}

/// What users of a target's language have.
///
/// # Errors
///
/// Why it takes no part.
pub fn theirs(work: &Work, target: &'static str, peer: &TargetPeer, warm_seconds: f64) -> Result<Entry, String> {
    let operation = work.name();
    let lacks = || format!("has no {operation}");
    let get = |problem: String| format!("{problem} ({})", peer.get);
    let (side, version, folder) = match &peer.object {
        Some(object) => {
            let path = built_folder().map_err(get)?.join(object);
            if !path.is_file() {
                return Err(get("not built".into()));
            }
            let object = Object::load(&path)?;
            (work.loaded(&object).map_err(|(_, why)| why)?, object.version.clone(), None)
        }
        None => {
            let arguments = peer.operations.get(&operation).ok_or_else(lacks)?;
            let commands = peer.build.iter().chain([&peer.run]).filter_map(|words| words.first());
            for command in commands {
                if !is_here(command) {
                    return Err(get(format!("no {command} on the path")));
                }
            }
            let folder = workshop()?;
            let steps: Vec<Step> = peer.build.iter().map(|words| Step::new(words.iter().cloned())).collect();
            build(&steps, folder.path())?;
            let step = Step::new(peer.run.iter().chain(arguments).cloned());
            let (side, version) = work.program(step, folder.path(), warm_seconds).map_err(get)?;
            (side, version, Some(folder))
        }
    };
    Ok(Entry {
        who: Who::Theirs(target, peer.title.clone()),
        side,
        implementation: format!("{} {version}", peer.title),
        engine: target.to_owned(),
        _folder: folder,
        compiled: None,
    })
}

/// What the first tool says of itself, with its name.
pub fn version(found: &Found) -> String {
    let command = found.commands.first().map_or("", String::as_str);
    let is_named = found.version.starts_with(|first: char| first.is_alphabetic()) && !found.version.starts_with('v');
    if is_named { found.version.clone() } else { format!("{command} {}", found.version) }
}

/// A folder with all that contenders may include.
fn workshop() -> Result<PrivateFolder, String> {
    let folder = toolchains::workshop()?;
    for prefix in ["bench/contenders/", "bench/peers/peer.h", "bench/rust-peers/abi.rs"] {
        for (path, text) in embedded::below(prefix) {
            let name = path.rsplit('/').next().unwrap_or(path);
            toolchains::write_files(folder.path(), &[(name.to_owned(), text.to_vec())].into())?;
        }
    }
    Ok(folder)
}

fn build(steps: &[Step], folder: &Path) -> Result<(), String> {
    steps.iter().try_for_each(|step| toolchains::run(step, folder, PATIENCE).complaint().map_or(Ok(()), Err))
}
