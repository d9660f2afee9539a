//! Programs in Java.

use super::{Language, One, refused, rounds_before};
use headrace_program::language::JAVA as JAVA_WORDS;
use headrace_program::{Type, effects};
use headrace_targets::java::project::{of_network, of_network_in_methods};
use headrace_targets::project::Files;
use headrace_targets::toolchain::{Step, Toolchain};
use std::fmt::Write as _;

pub(super) const JAVA: Language = Language { name: "java", files, build, run };

fn element(ty: Type) -> &'static str {
    match ty.bits() {
        8 => "byte",
        16 => "short",
        32 => "int",
        _ => "long",
    }
}

/// A class that runs a network, begins anew, and shows what came of it.
fn runner(at: usize, one: &One) -> String {
    let interface = &one.module.interface;
    let (mut begin, mut moves, mut shows) = (String::new(), String::new(), String::new());
    for (number, port) in interface.inputs.iter().enumerate() {
        let digits: String = one.input(number).iter().map(|byte| format!("{byte:02x}")).collect();
        let (ty, write) = (element(port.element), JAVA_WORDS.spelled(&one.module.function(port.write).name));
        let _ = write!(
            begin,
            "        {ty}[] in_{number} = network_{at}.test.Streams.{ty}s(\"{digits}\");\n        int at_{number} = 0;\n"
        );
        let _ = write!(
            moves,
            "            n = context.{write}(in_{number}, at_{number}, (in_{number}.length - at_{number}) / {0});\n            \
             at_{number} += n * {0};\n            moved += n;\n",
            port.words
        );
    }
    let is_hosted = effects::reach_host(&one.module)[interface.run.index()];
    let host = if is_hosted { ", new Host()" } else { "" };
    let _ = writeln!(moves, "            if (context.run(-1L{host}).ordinal() != 0) throw new AssertionError();");
    for (number, port) in interface.outputs.iter().enumerate() {
        let (ty, read) = (element(port.element), JAVA_WORDS.spelled(&one.module.function(port.read).name));
        let _ = writeln!(begin, "        ByteArrayOutputStream out_{number} = new ByteArrayOutputStream();");
        let _ = write!(
            moves,
            "            {ty}[] tokens_{number} = new {ty}[{0} * 40 + 3];\n            n = context.{read}(tokens_{number}, 3, 40);\n            \
             for (int i = 0; i < n * {0}; i++) {{\n                for (int j = 0; j < {1}; j++) {{\n                    \
             out_{number}.write((byte) (tokens_{number}[i + 3] >> 8 * j));\n                }}\n            }}\n            moved += n;\n",
            port.words,
            port.element.bytes()
        );
        let _ = writeln!(shows, "        Main.show(\"{at} {number} \", out_{number});");
    }
    let before = rounds_before(at);
    format!(
        "import java.io.ByteArrayOutputStream;\n\nfinal class Run{at} {{\n    static final ByteArrayOutputStream PRINTED = new ByteArrayOutputStream();\n\n    \
         static final class Host implements network_{at}.Host {{\n        public void print(byte[] bytes, int from, int count) {{\n            \
         PRINTED.write(bytes, from, count);\n        }}\n\n        public void printReal(double value, int bits) {{}}\n\n        \
         public java.util.OptionalLong call(String name, Argument[] arguments) {{\n            return java.util.OptionalLong.empty();\n        }}\n    }}\n\n    \
         static void run() {{\n        network_{at}.Context context = new network_{at}.Context();\n        \
         run(context, {before});\n        context.restart();\n        PRINTED.reset();\n        run(context, Integer.MAX_VALUE);\n    }}\n\n    \
         private static void run(network_{at}.Context context, int rounds) {{\n{begin}        int moved = 1;\n        \
         for (int round = 0; moved != 0 && round < rounds; round++) {{\n            \
         moved = 0;\n            int n;\n{moves}        }}\n        if (rounds < Integer.MAX_VALUE) return;\n{shows}        Main.show(\"{at} printed \", PRINTED);\n    }}\n}}\n"
    )
}

/// Adds the classes of a network in a package of its own.
fn add_network(program: &mut Files, at: usize, one: &One) -> Result<(), String> {
    // Every other network in small methods.
    let options = one.options();
    let files = if (one.seed / 2).is_multiple_of(2) {
        of_network(&one.network, None, &options)
    } else {
        of_network_in_methods(&one.network, None, &options, 120)
    };
    let files = files.map_err(|problems| refused(one, &problems))?;
    let main = files.keys().find_map(|path| path.strip_prefix("src/main/java/headrace/")).unwrap_or_default();
    let package = main.split('/').next().unwrap_or_default().to_owned();
    for (path, text) in &files {
        let found = ["src/main/java/", "src/test/java/"].iter().find_map(|root| path.strip_prefix(root));
        let Some(path) = found.and_then(|path| path.strip_prefix(&format!("headrace/{package}/"))) else { continue };
        if path == "RecordedTest.java" {
            continue;
        }
        let text = String::from_utf8_lossy(text).replace(&format!("headrace.{package}"), &format!("network_{at}"));
        program.insert(format!("network_{at}/{path}"), text.into_bytes());
    }
    program.insert(format!("Run{at}.java"), runner(at, one).into_bytes());
    Ok(())
}

fn files(all: &[One]) -> Result<Files, String> {
    let mut program = Files::new();
    let mut calls = String::new();
    for (at, one) in all.iter().enumerate() {
        add_network(&mut program, at, one)?;
        let _ = writeln!(calls, "        Run{at}.run();");
    }
    let main = format!(
        "final class Main {{\n    static void show(String what, java.io.ByteArrayOutputStream bytes) {{\n        \
         System.out.println(what + java.util.HexFormat.of().formatHex(bytes.toByteArray()));\n    }}\n\n    \
         public static void main(String[] arguments) {{\n{calls}    }}\n}}\n"
    );
    program.insert("Main.java".into(), main.into_bytes());
    Ok(program)
}

fn build(tools: &[String]) -> Vec<Step> {
    let flags = ["--release", "17", "-Xlint:all", "-Werror", "-d", "classes", "Main.java"];
    vec![Step::new([tools[0].as_str()].into_iter().chain(flags))]
}

fn run(_: &Toolchain, tools: &[String]) -> Step {
    // Calls nest as deep as the program says, and no test waits for the virtual machine to warm up.
    Step::new([tools[1].as_str(), "-Xss256m", "-XX:TieredStopAtLevel=1", "-cp", "classes", "Main"])
}
