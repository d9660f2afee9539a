//! Our side of a contest: the functions of a generated project, as its users call them, in a shared object with the
//! interface of all contenders.

use crate::commands::Context;
use crate::failure::Outcome;
use headrace::Error;
use headrace::toolchains::workshop;
use headrace_bench::contender::Object;
use headrace_library::catalog::{OperationSpec, VariantSpec};
use headrace_native::{Compiler, LocalTrials};
use headrace_private::PrivateFolder;
use headrace_private::processes;
use headrace_targets::c::Options;
use headrace_targets::c::contender::{Help, shim};
use headrace_targets::c::kernel::Trials;
use headrace_targets::c::project::{Files, of_operations};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// What the compiler is told, for the machine that it runs on.
pub const FLAGS: &[&str] = &["-O3", "-march=native"];

/// What ours is compiled with.
#[derive(Clone, Debug)]
pub struct Build {
    /// The compiler.
    pub compiler: String,
    /// Its flags.
    pub flags: Vec<String>,
    /// The features of the processor that may be found at run time; all when absent.
    pub features: Option<Vec<String>>,
    /// As control automata with fused kernels.
    pub fused: bool,
    /// Loops written as trials on this machine say.
    pub tuned: bool,
}

impl Build {
    /// For the machine that it runs on.
    pub fn native(compiler: &str) -> Self {
        let flags = FLAGS.iter().map(|flag| (*flag).to_owned()).collect();
        Self { compiler: compiler.into(), flags, features: None, fused: true, tuned: false }
    }

    /// How it stands in tables.
    pub fn name(&self) -> String {
        let limited = if self.features.is_some() { ", dispatch limited" } else { "" };
        let how = match (self.fused, self.tuned) {
            (false, _) => "unfused ",
            (true, true) => "tuned ",
            (true, false) => "",
        };
        format!("{how}c by {} {}{limited}", self.compiler, self.flags.join(" "))
    }

    /// A header that stands before everything and answers for the processor, where features are limited. It includes nothing:
    /// sources say first which parts of the system's headers they want.
    fn answers(&self) -> Option<String> {
        let features = self.features.as_ref()?;
        let allowed: Vec<String> =
            features.iter().map(|feature| format!("__builtin_strcmp(feature, \"{feature}\") == 0")).collect();
        let allowed = if allowed.is_empty() { "0".into() } else { allowed.join("\n        || ") };
        Some(format!(
            "static inline int allowed_feature(const char *feature)\n{{\n    return {allowed};\n}}\n\
             #define HR_ASKS_PROCESSOR 1\n\
             #define __builtin_cpu_supports(feature) allowed_feature(feature)\n\
             #define hr_supports_leaf7(feature, in_ecx, bit) allowed_feature(feature)\n"
        ))
    }
}

/// A variant of an operation, compiled and loaded.
#[derive(Debug)]
pub struct Compiled {
    /// The loaded object.
    pub object: Arc<Object>,
    /// Where it lies.
    pub path: PathBuf,
    /// Name of the variant.
    pub variant: String,
    /// Whether the manifest declares it constant-time.
    pub constant_time: bool,
    /// Compiler and flags.
    pub engine: String,
    /// Where it lies.
    _folder: PrivateFolder,
}

/// The generated project of a variant of an operation, before a compiler has seen it.
pub struct Generated {
    files: Files,
    shim: String,
    variant: String,
    constant_time: bool,
    build: Build,
}

/// Generates the project of a variant of an operation.
pub fn generate(
    context: &mut Context,
    spec: &OperationSpec,
    variant: &VariantSpec,
    build: &Build,
) -> Outcome<Generated> {
    let network = context.elaborate(&variant.network.to_string(), &[])?;
    let command = format!("headrace bench {}", spec.full_name());
    let trials = build.tuned.then(|| Compiler::named(&build.compiler)).flatten();
    let trials = trials.map(|compiler| Arc::new(LocalTrials::new(compiler)) as Arc<dyn Trials>);
    let options = Options { command, fused: build.fused, trials, ..Options::default() };
    let files =
        of_operations(&spec.set, &spec.title, &[(spec, &network)], &[], &options, &|_, _| ()).map_err(|problems| {
            context.show(&problems);
            Error::Told
        })?;
    Ok(Generated {
        files,
        shim: shim(spec, Help::Threads),
        variant: variant.name.clone(),
        constant_time: variant.constant_time,
        build: build.clone(),
    })
}

impl Generated {
    /// The files of a contender, to be compiled by others.
    pub fn sources(&self) -> Files {
        contender(&self.files, &self.shim)
    }

    /// Compiles and loads it. Needs nothing of the command: several may be compiled at a time.
    pub fn compile(&self) -> Result<Compiled, String> {
        let folder = workshop()?;
        let object = folder.path().join("ours.so");
        compile_files(&self.files, &self.shim, folder.path(), &object, &self.build)?;
        Ok(Compiled {
            object: Object::load(&object)?,
            path: object,
            variant: self.variant.clone(),
            constant_time: self.constant_time,
            engine: self.build.name(),
            _folder: folder,
        })
    }
}

/// Generates and compiles a variant of an operation.
pub fn compile(context: &mut Context, spec: &OperationSpec, variant: &VariantSpec, build: &Build) -> Outcome<Compiled> {
    generate(context, spec, variant, build)?.compile().map_err(Error::wrong)
}

/// The sources of a project with those of a contender around them, in one folder.
fn contender(files: &Files, shim: &str) -> Files {
    let sources = files.iter().filter_map(|(path, bytes)| Some((path.strip_prefix("src/")?.to_owned(), bytes.clone())));
    let header = headrace::embedded::file("bench/peers/peer.h").unwrap_or_default();
    let around = [("shim.c", shim.as_bytes()), ("peer.h", header)];
    sources.chain(around.map(|(name, bytes)| (name.to_owned(), bytes.to_vec()))).collect()
}

fn compile_files(files: &Files, shim: &str, folder: &Path, object: &Path, build: &Build) -> Result<(), String> {
    let Build { compiler, flags, .. } = build;
    let write = |name: &str, bytes: &[u8]| fs::write(folder.join(name), bytes).map_err(|error| error.to_string());
    let mut sources: Vec<OsString> = Vec::new();
    for (name, bytes) in contender(files, shim) {
        write(&name, &bytes)?;
        if name.ends_with(".c") {
            sources.push(name.into());
        }
    }
    let mut command = Command::new(compiler);
    if let Some(answers) = build.answers() {
        write("answers.h", answers.as_bytes())?;
        command.args(["-include", "answers.h"]);
    }
    command.current_dir(folder).args(["-std=c11", "-shared", "-fPIC", "-Wl,-Bsymbolic"]).args(flags);
    command.args(sources).arg("-o").arg(object).args(["-lm", "-pthread"]);
    let Err(said) = processes::compile(&mut command) else { return Ok(()) };
    let lines: Vec<&str> = said.lines().take(10).collect();
    Err(format!("{compiler} did not compile the project:\n{}", lines.join("\n")))
}
