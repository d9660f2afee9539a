//! Programs in C++.

use super::{Language, One, refused, rounds_before};
use headrace_program::language::CPP as CPP_WORDS;
use headrace_program::{Type, effects};
use headrace_targets::cpp::project::of_network;
use headrace_targets::project::Files;
use headrace_targets::toolchain::{Step, Toolchain};
use std::fmt::Write as _;

pub(super) const CPP: Language = Language { name: "cpp", files, build, run };

/// What every program has beside its networks.
const HARNESS: &str = r#"
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

static void show(const char* what, const std::vector<std::uint8_t>& bytes) {
    std::printf("%s ", what);
    for (const std::uint8_t byte : bytes) {
        std::printf("%02x", byte);
    }
    std::printf("\n");
}

/// A host of any network, which collects what is printed.
template <class Host, class Argument>
struct Collected final : Host {
    std::vector<std::uint8_t> printed;

    void print(std::span<const std::uint8_t> bytes) override { printed.insert(printed.end(), bytes.begin(), bytes.end()); }
    void print_real(double, int) override {}
    std::optional<std::int64_t> native(std::string_view, std::span<Argument>) override { return std::nullopt; }
};
"#;

fn ctype(ty: Type) -> String {
    let sign = if ty.is_signed() { "" } else { "u" };
    format!("std::{sign}int{}_t", ty.bits())
}

/// The functions that run a network, begin anew, and show what came of it.
fn runner(at: usize, one: &One) -> String {
    let interface = &one.module.interface;
    let (mut begin, mut moves, mut shows) = (String::new(), String::new(), String::new());
    for (number, port) in interface.inputs.iter().enumerate() {
        let bytes: String = one.input(number).iter().map(|byte| format!("{byte},")).collect();
        let (ty, write) = (ctype(port.element), CPP_WORDS.spelled(&one.module.function(port.write).name));
        let _ = write!(
            begin,
            "    const std::vector<std::uint8_t> stored_{number}{{{bytes}}};\n    \
             std::vector<{ty}> in_{number}(stored_{number}.size() / sizeof({ty}));\n    \
             if (!stored_{number}.empty()) std::memcpy(in_{number}.data(), stored_{number}.data(), stored_{number}.size());\n    \
             std::span<const {ty}> left_{number}(in_{number});\n"
        );
        let _ = write!(
            moves,
            "        n = context.{write}(left_{number});\n        left_{number} = left_{number}.subspan(n * {});\n        moved += n;\n",
            port.words
        );
    }
    let is_hosted = effects::reach_host(&one.module)[interface.run.index()];
    let host = if is_hosted { ", host" } else { "" };
    let _ = writeln!(moves, "        if (context.run(UINT64_MAX{host}) != Status::idle) std::exit(3);");
    for (number, port) in interface.outputs.iter().enumerate() {
        let (ty, read) = (ctype(port.element), CPP_WORDS.spelled(&one.module.function(port.read).name));
        let _ = writeln!(begin, "    std::vector<std::uint8_t> out_{number};");
        let _ = write!(
            moves,
            "        {{\n            std::array<{ty}, {0} * 40> tokens{{}};\n            n = context.{read}(tokens);\n            \
             const auto* first = reinterpret_cast<const std::uint8_t*>(tokens.data());\n            \
             out_{number}.insert(out_{number}.end(), first, first + n * {0} * sizeof({ty}));\n            moved += n;\n        }}\n",
            port.words
        );
        let _ = writeln!(shows, "    show(\"{at} {number}\", out_{number});");
    }
    let before = rounds_before(at);
    format!(
        "\nstatic void run_{at}(network_{at}::Context& context, int rounds) {{\n    using namespace network_{at};\n    \
         Collected<network_{at}::Host, network_{at}::Argument> host;\n{begin}    std::size_t moved = 1;\n    \
         for (int round = 0; moved != 0 && round < rounds; ++round) {{\n        moved = 0;\n        \
         [[maybe_unused]] std::size_t n = 0;\n{moves}    }}\n    if (rounds < INT32_MAX) {{\n        return;\n    }}\n{shows}    \
         show(\"{at} printed\", host.printed);\n}}\n\n\
         static void run_{at}() {{\n    const auto context = std::make_unique<network_{at}::Context>();\n    \
         run_{at}(*context, {before});\n    context->restart();\n    run_{at}(*context, INT32_MAX);\n}}\n"
    )
}

/// Adds the headers of a network in a folder and a namespace of its own.
fn add_network(program: &mut Files, at: usize, one: &One) -> Result<(), String> {
    let files = of_network(&one.network, None, &one.options()).map_err(|problems| refused(one, &problems))?;
    for (path, text) in files {
        let Some((space, path)) = path.strip_prefix("include/headrace/").and_then(|path| path.split_once('/')) else {
            continue;
        };
        let text = String::from_utf8_lossy(&text).replace(&format!("headrace::{space}"), &format!("network_{at}"));
        program.insert(format!("network_{at}/{path}"), text.into_bytes());
    }
    Ok(())
}

fn files(all: &[One]) -> Result<Files, String> {
    let mut program = Files::new();
    let (mut includes, mut functions, mut calls) = (String::new(), String::new(), String::new());
    for (at, one) in all.iter().enumerate() {
        add_network(&mut program, at, one)?;
        let _ = writeln!(includes, "#include \"network_{at}/network.hpp\"");
        let _ = writeln!(calls, "    run_{at}();");
        functions.push_str(&runner(at, one));
    }
    let main = format!("{includes}{HARNESS}{functions}\nint main() {{\n{calls}}}\n");
    program.insert("main.cpp".into(), main.into_bytes());
    Ok(program)
}

fn build(tools: &[String]) -> Vec<Step> {
    let warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"];
    // What C++ leaves undefined must not happen, which needs no library of the compiler; indices are held to their arrays.
    let checks = [
        "-fsanitize=signed-integer-overflow,shift,integer-divide-by-zero,bounds,bool",
        "-fsanitize-undefined-trap-on-error",
        "-D_GLIBCXX_ASSERTIONS",
    ];
    let words = [tools[0].as_str(), "-std=c++20"].into_iter().chain(warnings).chain(checks);
    vec![Step::new(words.chain(["-o", "networks", "main.cpp"]))]
}

fn run(_: &Toolchain, _: &[String]) -> Step {
    Step::new(["./networks"])
}
