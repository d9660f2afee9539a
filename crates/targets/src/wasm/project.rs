//! Packaging. Packages for npm: modules and classes, with their types, a test and a README around them.

use super::{answers, module, shape};
use crate::lowered::{lowered, lowered_operation};
use crate::options::Options;
use crate::project::{Files, KnownAnswer, OnOperation, Recording, on_all_processors};
use headrace_ir::Network;
use headrace_library::catalog::OperationSpec;
use headrace_lowering::{Lanes, Options as Lowering};
use headrace_program::names::identifier;
use headrace_program::{FunctionId, Module};
use headrace_source::Diagnostic;
use std::fmt::Write as _;

/// Several vectors: what is the same for all lanes is put into one before.
const LANES: Lanes = Lanes { count: 16, longest: None };

/// How operations are lowered.
const LOWERING: Lowering = Lowering::of(8192, LANES).in_place().with_nested_rotations();

/// The modules that packages ship with.
const NETWORK: (&str, &str, &str) = (
    "network",
    include_str!("../../../../runtime/wasm/network.js"),
    include_str!("../../../../runtime/wasm/network.d.ts"),
);
const MESSAGE: (&str, &str, &str) = (
    "message",
    include_str!("../../../../runtime/wasm/message.js"),
    include_str!("../../../../runtime/wasm/message.d.ts"),
);

/// The tests that they run.
const KNOWN_ANSWERS: &str = include_str!("../../../../runtime/wasm/known_answers.test.js");
const RECORDED: &str = include_str!("../../../../runtime/wasm/recorded.test.js");

/// What `#files` is with Node.js, and without.
const FILES: [(&str, &str); 2] = [
    ("files", include_str!("../../../../runtime/wasm/files.js")),
    ("no_files", include_str!("../../../../runtime/wasm/no_files.js")),
];

/// Whether packages have modules of this name beside those of operations.
pub(super) fn ships_with(name: &str) -> bool {
    [NETWORK.0, MESSAGE.0, FILES[0].0, FILES[1].0].contains(&name)
}

/// The wrapper of networks, for those who write their own around a module for Node.js.
pub const WRAPPER: [(&str, &str); 3] = [
    ("network.js", NETWORK.1),
    ("files.js", FILES[0].1),
    ("package.json", "{ \"type\": \"module\", \"imports\": { \"#files\": \"./files.js\" } }\n"),
];

fn head(options: &Options) -> String {
    format!("// Made by `{}`. Changes here will be lost.\n\n", options.command.replace('\n', " "))
}

/// The name of a package: small letters, digits and hyphens.
fn package_name(name: &str) -> String {
    identifier(name).to_lowercase().replace('_', "-").trim_end_matches('-').to_owned()
}

/// A network as a module: what it was lowered to, the text form, and the binary one.
pub struct Printed {
    /// What it was lowered to.
    pub lowered: Module,
    /// The text form.
    pub text: String,
    /// The binary form.
    pub binary: Vec<u8>,
}

/// Prints a network.
///
/// # Errors
///
/// What cannot be lowered, with its place, or what is larger than modules may be.
pub fn printed(network: &Network, options: &Options) -> Result<Printed, Vec<Diagnostic>> {
    encoded(network, lowered(network, options)?, options)
}

fn encoded(network: &Network, lowered: Module, options: &Options) -> Result<Printed, Vec<Diagnostic>> {
    let line = format!(";; Made by `{}`. Changes here will be lost.\n", options.command.replace('\n', " "));
    let text = module::module(&line, &lowered);
    let binary = wat::parse_str(&text).map_err(|error| {
        let why = format!("WebAssembly cannot hold the network `{}`: {error}", network.name);
        vec![Diagnostic::error("unsupported-by-target", why)]
    })?;
    Ok(Printed { lowered, text, binary })
}

/// The table of the ports of a network, for its wrapper.
pub fn ports(module: &Module) -> String {
    shape::ports(module)
}

/// What else its code is loaded with: the names of its natives, after a comma.
pub fn natives(module: &Module) -> String {
    shape::natives(module)
}

fn add_printed(files: &mut Files, name: &str, printed: &Printed) {
    files.insert(format!("src/{name}.wasm"), printed.binary.clone());
    files.insert(format!("src/{name}.wat"), printed.text.clone().into_bytes());
}

fn add_runtime(files: &mut Files, (name, code, types): (&str, &str, &str)) {
    files.insert(format!("src/{name}.js"), code.into());
    files.insert(format!("src/{name}.d.ts"), types.into());
}

/// A text in JSON.
fn json(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => drop(write!(out, "\\{c}")),
            c if c < ' ' => drop(write!(out, "\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out + "\""
}

fn add_package(files: &mut Files, name: &str, about: &str, command: &str, parts: &[String], example: &str) {
    let mut exports = String::from("    \".\": { \"types\": \"./index.d.ts\", \"default\": \"./index.js\" }");
    for part in parts {
        let _ = write!(
            exports,
            ",\n    \"./{part}\": {{ \"types\": \"./src/{part}.d.ts\", \"default\": \"./src/{part}.js\" }}"
        );
    }
    // Of conditions that hold the first counts, and for browsers both may.
    let conditions = "    \"#files\": {\n      \"browser\": \"./src/no_files.js\",\n      \"node\": \"./src/files.js\",\n      \
                 \"default\": \"./src/no_files.js\"\n    }";
    let manifest = format!(
        "{{\n  \"name\": {},\n  \"version\": \"0.1.0\",\n  \"description\": {},\n  \"private\": true,\n  \"type\": \"module\",\n  \
         \"sideEffects\": false,\n  \"exports\": {{\n{exports}\n  }},\n  \"imports\": {{\n{conditions}\n  }},\n  \"types\": \"./index.d.ts\",\n  \
         \"files\": [\"index.js\", \"index.d.ts\", \"src/*.js\", \"src/*.d.ts\", \"src/*.wasm\"],\n  \
         \"engines\": {{ \"node\": \">=18\" }},\n  \"scripts\": {{ \"test\": \"node --test test/test.js\" }}\n}}\n",
        json(name),
        json(about)
    );
    files.insert("package.json".into(), manifest.into_bytes());
    for (file, code) in FILES {
        files.insert(format!("src/{file}.js"), code.into());
    }
    let readme = format!(
        "# {name}\n\n{about} Made by `{command}`.\n\nNo dependency. The modules run wherever WebAssembly 2 (its vectors are used) and modules of ECMAScript do: in Node.js of\n\
         version 18 or newer, in browsers, in workers. `src/*.wat` is the text form of each module, for readers; it is not part of\n\
         what is published.\n\n\
         ```js\n{example}```\n\nContexts lie in the memory of their module and may hold secrets. `clear` overwrites them and gives the memory back; the\n\
         garbage collector does so too, some time after nobody holds one any more. What comes out belongs to the caller. Strings are\n\
         any view of memory, or memory itself. An error leaves an object as it was, unless its `code` is `REFUSED` (the message is over)\n\
         or `STUCK`.\n\nBundlers take the modules as they are, and `import.meta.url` beside which the `.wasm` files lie: those that copy no files want\n\
         `src/*.wasm` beside what they make. What they make for browsers has nothing of Node.js: the conditions of `imports` in\n\
         package.json settle how code is read.\n\n\
         ```\nnpm test\n```\n"
    );
    files.insert("README.md".into(), readme.into_bytes());
}

/// A package for a network: its class is `Context`.
///
/// # Errors
///
/// What cannot be lowered, with its place.
pub fn of_network(
    network: &Network,
    recording: Option<&Recording>,
    options: &Options,
) -> Result<Files, Vec<Diagnostic>> {
    let printed = printed(network, options)?;
    let lowered = &printed.lowered;
    let short = network.name.rsplit('.').next().unwrap_or(&network.name);
    let name = package_name(short);
    let about = format!("The network `{}` as a WebAssembly module.", network.name);
    let head = head(options);
    let own = |id: FunctionId| lowered.function(id).name.clone();
    let (mut methods, mut types) = (String::new(), String::new());
    let array = |element: headrace_program::Type| match element.name() {
        "u8" => "Uint8Array",
        "u16" => "Uint16Array",
        "u32" => "Uint32Array",
        "u64" => "BigUint64Array",
        "i8" => "Int8Array",
        "i16" => "Int16Array",
        "i32" => "Int32Array",
        "i64" => "BigInt64Array",
        "f32" => "Float32Array",
        _ => "Float64Array",
    };
    let several = |words: u32| {
        if words > 1 { format!(" of {words} elements each, least significant first") } else { String::new() }
    };
    for (at, port) in lowered.interface.inputs.iter().enumerate() {
        let (write, words) = (own(port.write), several(port.words));
        let about = format!("  /** Writes tokens{words} to `{}` and says for how many there was room. */\n", port.name);
        let _ = write!(methods, "\n{about}  {write}(tokens) {{\n    return this.write({at}, tokens);\n  }}\n");
        let _ = write!(types, "\n{about}  {write}(tokens: {}): number;\n", array(port.element));
    }
    for (at, port) in lowered.interface.outputs.iter().enumerate() {
        let (read, words) = (own(port.read), several(port.words));
        let about =
            format!("  /** Takes tokens{words} from `{}`, as many as are there and at most `most`. */\n", port.name);
        let _ = write!(methods, "\n{about}  {read}(most = Infinity) {{\n    return this.read({at}, most);\n  }}\n");
        let _ = write!(types, "\n{about}  {read}(most?: number): {};\n", array(port.element));
    }
    let index = format!(
        "{head}import {{ Network, load }} from './src/network.js';\n\nexport {{ Status }} from './src/network.js';\n\n\
         const code = await load(new URL('./src/{name}.wasm', import.meta.url){});\n\n{}\n\
         /** The whole state of the network `{}`: write tokens, run it, read tokens. It may hold secrets until `clear`. */\n\
         export class Context extends Network {{\n  constructor() {{\n    super(code, INPUTS, OUTPUTS);\n  }}\n{methods}}}\n",
        shape::natives(lowered),
        shape::ports(lowered),
        network.name.replace("*/", "* /")
    );
    let types = format!(
        "{head}import type {{ Host, Status }} from './src/network.js';\n\nexport {{ type Host, Status }} from './src/network.js';\n\n\
         /** The whole state of the network `{}`: write tokens, run it, read tokens. It may hold secrets until `clear`. */\n\
         export declare class Context {{\n  constructor();\n{types}\n  \
         /** Fires until nothing can fire, or until all instances had their turn `maxRounds` times. */\n  \
         run(maxRounds?: bigint, host?: Host): (typeof Status)[keyof typeof Status];\n\n  \
         /** Begins anew, as a new network does; memory may still hold what was, until `clear`. */\n  restart(): void;\n\n  \
         /** Overwrites all state and gives its memory back: nothing can be done with it any more. */\n  clear(): void;\n}}\n",
        network.name.replace("*/", "* /")
    );
    let mut files = Files::new();
    add_printed(&mut files, &name, &printed);
    add_runtime(&mut files, NETWORK);
    files.insert("index.js".into(), index.into_bytes());
    files.insert("index.d.ts".into(), types.into_bytes());
    files.insert("test/test.js".into(), RECORDED.into());
    files.insert("test/recorded.json".into(), answers::of_network(lowered, recording).into_bytes());
    let example = format!(
        "import {{ Context }} from '{name}';\n\nconst network = new Context();\nnetwork.run();\nnetwork.clear();\n"
    );
    add_package(&mut files, &name, &about, &options.command, &[], &example);
    Ok(files)
}

/// How a program uses the first of the operations.
fn example(name: &str, operations: &[&OperationSpec]) -> String {
    let Some(first) = operations.first() else { return String::new() };
    let class = shape::class_name(first);
    let many = format!("const operation = new {class}();\n// index.d.ts has its methods");
    match shape::function_name(operations, 0) {
        Some(once) => format!(
            "import {{ {class}, {once}, hex }} from '{name}';\n\n// A whole message:\n{}\n\n\
             // Many of them, or one in pieces:\n{many}.\noperation.clear();\n",
            shape::call_once(first, &once).unwrap_or_default()
        ),
        None => format!("import {{ {class} }} from '{name}';\n\n{many}\noperation.clear();\n"),
    }
}

/// A package for operations of parameter sets, each with its network: a class for each.
///
/// # Errors
///
/// What cannot be lowered, with its place.
pub fn of_operations(
    name: &str,
    title: &str,
    operations: &[(&OperationSpec, &Network)],
    known: &[KnownAnswer],
    options: &Options,
    on_operation: &OnOperation<'_>,
) -> Result<Files, Vec<Diagnostic>> {
    let name = package_name(name);
    let head = head(options);
    let listed: Vec<String> = operations.iter().map(|(spec, _)| format!("`{}`", spec.own_name())).collect();
    let about = format!("{title}: {} in WebAssembly.", listed.join(", "));
    let mut files = Files::new();
    let mut problems = Vec::new();
    let mut index = format!("{head}export {{ OperationError, hex }} from './src/message.js';\n");
    let mut parts = Vec::new();
    let specs: Vec<&OperationSpec> = operations.iter().map(|(spec, _)| *spec).collect();
    let encoded = on_all_processors(operations, |(spec, network)| {
        let (module, refused) = lowered_operation(spec, network, options, &LOWERING);
        on_operation(spec, refused);
        module.and_then(|module| encoded(network, module, options))
    });
    for (at, (printed, (spec, network))) in encoded.into_iter().zip(operations).enumerate() {
        let file = shape::file_name(spec);
        let once = shape::function_name(&specs, at);
        let once = once.as_deref();
        match printed {
            Ok(printed) => {
                add_printed(&mut files, &file, &printed);
                let text = shape::operation(&head, spec, once, network, &printed.lowered);
                files.insert(format!("src/{file}.js"), text.into_bytes());
            }
            Err(found) => problems.extend(found),
        }
        files.insert(format!("src/{file}.d.ts"), shape::types(&head, spec, once).into_bytes());
        let class = shape::class_name(spec);
        let exported = once.map_or(class.clone(), |once| format!("{class}, {once}"));
        let _ = writeln!(index, "export {{ {exported} }} from './src/{file}.js';");
        parts.push(file);
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    add_runtime(&mut files, NETWORK);
    add_runtime(&mut files, MESSAGE);
    files.insert("index.d.ts".into(), index.clone().into_bytes());
    files.insert("index.js".into(), index.into_bytes());
    files.insert("test/test.js".into(), KNOWN_ANSWERS.into());
    files.insert("test/known_answers.json".into(), answers::of_operations(operations, known).into_bytes());
    let example = example(&name, &specs);
    add_package(&mut files, &name, &about, &options.command, &parts, &example);
    Ok(files)
}
