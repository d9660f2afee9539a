//! Benchmark adapter for headers. Headers in measurements: a shared object over the class of an operation.

use super::name;
use super::shape::class_name;
use crate::contender::{Argument, Contender, Made, PROJECT, Subject, call};
use crate::project::Files;
use crate::toolchain::Step;
use headrace_library::Role;
use headrace_program::names::identifier;

pub(crate) const CONTENDER: Contender = Contender { files, build, made: Made::Object("contender.so") };

fn files(subject: &Subject<'_>) -> Result<Files, String> {
    let spec = subject.spec;
    let space = name(&identifier(&spec.set).to_lowercase());
    let given = call(spec, |argument| match argument {
        Argument::Iv => "context.iv",
        Argument::Input => "std::span(in, n_bytes)",
        // No result is longer than twice its input and the room behind it.
        Argument::Output => "std::span(out, 2 * n_bytes + 64)",
    })?;
    let key = spec.input(Role::Key).map_or(
        "        (void)strings;\n",
        |_| "        made->operation.key(std::span(strings->key, strings->key_bytes));\n",
    );
    let own = class_name(spec);
    let text = format!(
        "#include <headrace/{space}.hpp>\n\n#include <cstring>\n#include <exception>\n#include <memory>\n#include <span>\n#include <vector>\n\n\
         #include \"peer.h\"\n\nnamespace {{\n\nstruct Context {{\n    headrace::{space}::{own} operation;\n    std::vector<std::uint8_t> iv;\n}};\n\n}}  // namespace\n\n\
         const char *peer_version(void) {{\n    return \"{}\";\n}}\n\n\
         void *peer_open(const char *, const struct peer_strings *strings) {{\n    try {{\n        auto made = std::make_unique<Context>();\n        \
         if (strings->iv_bytes > 0)\n            made->iv.assign(strings->iv, strings->iv + strings->iv_bytes);\n{key}        return made.release();\n    \
         }} catch (const std::exception &) {{\n        return nullptr;\n    }}\n}}\n\n\
         size_t peer_run(void *given, const uint8_t *in, uint8_t *out, size_t n_bytes) {{\n    Context &context = *static_cast<Context *>(given);\n    \
         try {{\n        return context.operation.message({given});\n    }} catch (const std::exception &) {{\n        return PEER_FAILED;\n    }}\n}}\n\n\
         void peer_close(void *context) {{\n    delete static_cast<Context *>(context);\n}}\n",
        env!("CARGO_PKG_VERSION")
    );
    Ok(Files::from([("contender.cpp".to_owned(), text.into_bytes())]))
}

fn build(subject: &Subject<'_>) -> Vec<Step> {
    let include = format!("-I{PROJECT}/include");
    let flags = ["-std=c++20", "-O3", "-fPIC", "-shared", "-Wl,-Bsymbolic", &include, "contender.cpp"];
    vec![Step::new([subject.tool(0)].into_iter().chain(flags).chain(["-o", "contender.so"]))]
}
