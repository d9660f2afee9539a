//! Our side of a contest: the functions of a generated project, as its users call them, in a shared object with the
//! interface of all contenders.

use crate::commands::Context;
use crate::failure::{Failure, Outcome, describe};
use headrace_bench::contender::Object;
use headrace_library::Role;
use headrace_library::catalog::{Framing, OperationSpec, VariantSpec};
use headrace_native::{Compiler, LocalTrials};
use headrace_targets::c::Options;
use headrace_targets::c::kernel::Trials;
use headrace_targets::c::project::{Files, of_operations, operation_prefix, set_name};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use tempfile::TempDir;

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

    /// A header that stands before everything and answers for the processor, where features are limited.
    fn answers(&self) -> Option<String> {
        let features = self.features.as_ref()?;
        let allowed: Vec<String> =
            features.iter().map(|feature| format!("strcmp(feature, \"{feature}\") == 0")).collect();
        let allowed = if allowed.is_empty() { "0".into() } else { allowed.join("\n        || ") };
        Some(format!(
            "#include <string.h>\nstatic inline int allowed_feature(const char *feature)\n{{\n    return {allowed};\n}}\n\
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
    _folder: TempDir,
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
            Failure::said()
        })?;
    Ok(Generated {
        files,
        shim: shim(spec),
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
    pub fn compile(self) -> Result<Compiled, String> {
        let folder = tempfile::tempdir().map_err(|error| describe(&error))?;
        let object = folder.path().join("ours.so");
        compile_files(&self.files, &self.shim, folder.path(), &object, &self.build)?;
        Ok(Compiled {
            object: Object::load(&object)?,
            path: object,
            variant: self.variant,
            constant_time: self.constant_time,
            engine: self.build.name(),
            _folder: folder,
        })
    }
}

/// Generates and compiles a variant of an operation.
pub fn compile(context: &mut Context, spec: &OperationSpec, variant: &VariantSpec, build: &Build) -> Outcome<Compiled> {
    generate(context, spec, variant, build)?.compile().map_err(Failure::wrong)
}

/// The sources of a project with those of a contender around them, in one folder.
fn contender(files: &Files, shim: &str) -> Files {
    let sources = files.iter().filter_map(|(path, bytes)| Some((path.strip_prefix("src/")?.to_owned(), bytes.clone())));
    let header = crate::embedded::file("bench/peers/peer.h").unwrap_or_default();
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
    let output = command.output().map_err(|error| format!("{compiler}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = said.lines().take(10).collect();
    Err(format!("{compiler} did not compile the project:\n{}", lines.join("\n")))
}

/// The functions of `peer.h` over those of the project.
fn shim(spec: &OperationSpec) -> String {
    let set = set_name(&spec.set);
    let op = operation_prefix(&set, spec);
    let many = many(spec, &op);
    let extra = if many.is_empty() { String::new() } else { format!("    struct {op}_context many[MANY];\n") };
    let mut text = format!(
        "#define _POSIX_C_SOURCE 200112L\n#include \"{set}.h\"\n#include \"headrace_helpers.h\"\n#include \"peer.h\"\n#include <stdlib.h>\n#include <string.h>\n\n\
         {MANY}struct context {{\n    struct {op}_context operation;\n    unsigned n_threads;\n{extra}    uint8_t iv[64];\n    size_t iv_bytes;\n}};\n\n\
         const char *peer_version(void)\n{{\n    return \"{}\";\n}}\n\n",
        env!("CARGO_PKG_VERSION")
    );
    let key = match spec.input(Role::Key) {
        Some(_) => format!(
            "    if ({op}_key(&context->operation, strings->key, strings->key_bytes) != HEADRACE_OK) {{\n        free(context);\n        return NULL;\n    }}\n{}",
            if many.is_empty() {
                String::new()
            } else {
                format!(
                    "    for (size_t i = 0; i < MANY; i++)\n        (void){op}_key(&context->many[i], strings->key, strings->key_bytes);\n"
                )
            }
        ),
        None => String::new(),
    };
    let _ = write!(
        text,
        "void *peer_open(const char *operation, const struct peer_strings *strings)\n{{\n    void *made = NULL;\n    (void)operation;\n    \
         if (strings->iv_bytes > sizeof ((struct context *)0)->iv || posix_memalign(&made, 64, sizeof(struct context)) != 0)\n        return NULL;\n    \
         struct context *context = made;\n    memset(context, 0, sizeof *context);\n    context->iv_bytes = strings->iv_bytes;\n    \
         if (strings->iv_bytes > 0)\n        memcpy(context->iv, strings->iv, strings->iv_bytes);\n{key}    return context;\n}}\n\n"
    );
    let _ = write!(
        text,
        "size_t peer_run(void *given, const uint8_t *in, uint8_t *out, size_t n_bytes)\n{{\n    struct context *context = given;\n{}}}\n\n",
        body(spec, &op)
    );
    let _ = write!(
        text,
        "{many}void peer_threads(void *given, unsigned n_threads)\n{{\n    struct context *context = given;\n    context->n_threads = n_threads;\n}}\n\n\
         void peer_close(void *given)\n{{\n    struct context *context = given;\n    {op}_clear(&context->operation);\n    free(context);\n}}\n"
    );
    text
}

/// Messages that a call of `many` is given at most.
const MANY: &str = "enum { MANY = 64 };\n\n";

/// Many messages in a call; nothing where an operation does not have it.
fn many(spec: &OperationSpec, op: &str) -> String {
    if spec.framing == Framing::Core || spec.framing == Framing::Generator {
        return String::new();
    }
    let verifies = spec.input(Role::TagIn).is_some();
    let has_output = spec.output(Role::Output).is_some();
    // Lists of strings, their lengths, and what is set for each message.
    let (mut lists, mut set, mut arguments) = (String::new(), String::new(), String::new());
    for role in Role::ALL.into_iter().filter(|role| !role.is_control() && *role != Role::Key) {
        let port = if role.is_output() { spec.output(role) } else { spec.input(role) };
        let Some(port) = port else { continue };
        let name = format!("all_{}", port.role.name().replace('-', "_"));
        if role.is_output() {
            let (bytes, room) = match role {
                Role::Output => ("out[i]", "2 * n_bytes + 64"),
                Role::Tag if has_output => ("out[i] + n_bytes", "PEER_TAG_BYTES"),
                Role::Tag => ("out[i]", "64"),
                _ => ("NULL", "0"),
            };
            let _ = writeln!(lists, "    uint8_t *{name}[MANY];\n    size_t {name}_room[MANY], {name}_bytes[MANY];");
            let _ = writeln!(set, "        {name}[i] = {bytes};\n        {name}_room[i] = {room};");
            let _ = write!(arguments, ", {name}, {name}_room, {name}_bytes");
        } else {
            let (bytes, length) = match role {
                Role::Nonce | Role::Iv => ("context->iv", "context->iv_bytes"),
                Role::Input if verifies => ("in[i]", "n_bytes - PEER_TAG_BYTES"),
                Role::Input => ("in[i]", "n_bytes"),
                Role::TagIn => ("in[i] + n_bytes - PEER_TAG_BYTES", "PEER_TAG_BYTES"),
                _ => ("NULL", "0"),
            };
            let _ = writeln!(lists, "    const uint8_t *{name}[MANY];\n    size_t {name}_bytes[MANY];");
            let _ = writeln!(set, "        {name}[i] = {bytes};\n        {name}_bytes[i] = {length};");
            let _ = write!(arguments, ", {name}, {name}_bytes");
        }
    }
    let made = |role: Role| match spec.output(role) {
        Some(port) => format!(" + all_{}_bytes[0]", port.role.name().replace('-', "_")),
        None => String::new(),
    };
    format!(
        "size_t peer_run_many(void *given, const uint8_t *const *in, uint8_t *const *out, size_t n_bytes, unsigned n_messages)\n{{\n    \
         struct context *context = given;\n    uint32_t results[MANY];\n{lists}    if (n_messages == 0 || n_messages > MANY)\n        return PEER_FAILED;\n    \
         for (size_t i = 0; i < n_messages; i++) {{\n{set}    }}\n    \
         if ({op}_many(context->many, n_messages{arguments}, results) != HEADRACE_OK)\n        return PEER_FAILED;\n    \
         return 0{}{};\n}}\n\n",
        made(Role::Output),
        made(Role::Tag)
    )
}

/// One message, whole.
fn body(spec: &OperationSpec, op: &str) -> String {
    if spec.framing == Framing::Core {
        let block = spec.block_bytes.unwrap_or(1);
        return format!(
            "    return {op}_blocks(&context->operation, in, out, (uint32_t)(n_bytes / {block})) == HEADRACE_OK ? n_bytes : PEER_FAILED;\n"
        );
    }
    let verifies = spec.input(Role::TagIn).is_some();
    let text_bytes = if verifies { "n_bytes - PEER_TAG_BYTES" } else { "n_bytes" };
    let has_output = spec.output(Role::Output).is_some();
    let has_tag = spec.output(Role::Tag).is_some();
    let mut arguments = String::from("&context->operation");
    // The functions of a project take strings in the order of the roles; the key was given before.
    for role in Role::ALL.into_iter().filter(|role| !role.is_control() && *role != Role::Key) {
        let port = if role.is_output() { spec.output(role) } else { spec.input(role) };
        if port.is_none() {
            continue;
        }
        arguments.push_str(match role {
            Role::Nonce | Role::Iv => ", context->iv, context->iv_bytes",
            Role::Input => ", in, text_bytes",
            Role::TagIn => ", in + text_bytes, PEER_TAG_BYTES",
            // No result is longer than twice its input and the room behind it.
            Role::Output => ", out, 2 * n_bytes + 64, &out_bytes",
            Role::Tag if has_output => ", out + out_bytes_expected, PEER_TAG_BYTES, &tag_bytes",
            Role::Tag => ", out, 64, &tag_bytes",
            _ if role.is_output() => ", NULL, 0, &none_bytes",
            _ => ", NULL, 0",
        });
    }
    let helped = arguments.replacen("&context->operation", "&context->operation, &helpers", 1);
    let mut text = format!("    size_t text_bytes = {text_bytes}, out_bytes = 0, tag_bytes = 0, none_bytes = 0;\n");
    if has_tag && has_output {
        text.push_str("    size_t out_bytes_expected = text_bytes;\n");
    }
    let _ = write!(
        text,
        "    (void)none_bytes;\n    if (context->n_threads > 1) {{\n        const struct headrace_helpers helpers = headrace_threads(context->n_threads);\n        \
         if ({op}_message_helped({helped}) != HEADRACE_OK)\n            return PEER_FAILED;\n    }} else if ({op}_message({arguments}) != HEADRACE_OK) {{\n        return PEER_FAILED;\n    }}\n    return out_bytes + tag_bytes;\n"
    );
    text
}
