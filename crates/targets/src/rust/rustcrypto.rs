//! What crates offer to programs that are written against the traits of RustCrypto: types, their tests, and what the
//! manifest and the README say of them.

use super::shape::{module_name, type_name};
use super::traits::{Does, Init, TraitCrate, TraitType, Traits};
use crate::operation::{string_constant, string_number};
use crate::project::Files;
use headrace_library::Role;
use headrace_library::catalog::OperationSpec;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// A file that crates ship with: its name and its text.
type Support = (&'static str, &'static str);

macro_rules! source {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../../runtime/rust/rustcrypto/", $name, ".rs")))
    };
}

macro_rules! harness {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../../runtime/rust/test/rustcrypto/", $name, ".rs")))
    };
}

const SHARED: Support = source!("shared");
const IN_PLACE: Support = source!("in_place");
const BLOCKS: Support = source!("blocks");
const STREAM: Support = source!("stream");
const SUMS: Support = source!("sums");
const AUTHENTICATED: Support = source!("authenticated");

/// Functions that tests call with known answers.
const TESTS: [Support; 5] =
    [harness!("authenticated"), harness!("blocks"), harness!("digests"), harness!("stream"), harness!("tags")];

impl TraitCrate {
    fn name(self) -> &'static str {
        match self {
            TraitCrate::Aead => "aead",
            TraitCrate::Cipher => "cipher",
            TraitCrate::Digest => "digest",
        }
    }

    /// How manifests ask for it.
    fn dependency(self) -> &'static str {
        match self {
            TraitCrate::Aead => r#"{ version = "0.6", default-features = false, optional = true }"#,
            TraitCrate::Cipher => r#"{ version = "0.5", default-features = false, optional = true }"#,
            TraitCrate::Digest => r#"{ version = "0.11", default-features = false, optional = true }"#,
        }
    }

    /// Whether it can clear what it holds itself.
    fn has_zeroize(self) -> bool {
        self != TraitCrate::Aead
    }
}

/// What a type is made of.
fn sources(does: Does) -> &'static [Support] {
    match does {
        Does::Blocks { .. } | Does::Mode { .. } => &[IN_PLACE, BLOCKS],
        Does::Stream => &[IN_PLACE, STREAM],
        Does::Digest { .. } | Does::Tag { .. } => &[SUMS],
        Does::Authenticated { .. } => &[IN_PLACE, AUTHENTICATED],
    }
}

/// A use of a macro of `runtime/rust/rustcrypto`: the file, the macro, what it is given; and the traits that it brings.
struct Use {
    file: &'static str,
    own: &'static str,
    given: String,
    traits: &'static str,
}

fn uses(of: &TraitType) -> Vec<Use> {
    let name = &of.name;
    let fields: Vec<&str> = of.parts.iter().map(|part| part.field).collect();
    let first = fields[0];
    let mut uses = vec![Use { file: "shared", own: "named", given: format!("{name}, {:?}", of.called), traits: "" }];
    let mut add = |file, own, given, traits| uses.push(Use { file, own, given, traits });
    match of.init {
        Init::Default => {}
        Init::Key(key) if matches!(of.does, Does::Stream | Does::Mode { .. }) => {
            add("shared", "keyed_and_begun", format!("{name}.{first}, U{key}"), "`KeyInit`");
        }
        Init::Key(key) => {
            add("shared", "keyed", format!("{name} {{ {} }}, U{key}", fields.join(", ")), "`KeyInit`");
        }
        Init::KeyAndString(key, role, length) => {
            let string = string_constant(role);
            add("shared", "keyed_with", format!("{name}.{first}, U{key}, {string}: U{length}"), "`KeyIvInit`");
        }
    }
    match of.does {
        Does::Blocks { size } => {
            add("blocks", "blocks_of", format!("{name}, U{size}"), "");
            for &field in &fields {
                match field {
                    "encrypt" => add("blocks", "encrypts_blocks", format!("{name}.{field}"), "`BlockCipherEncrypt`"),
                    _ => add("blocks", "decrypts_blocks", format!("{name}.{field}"), "`BlockCipherDecrypt`"),
                }
            }
        }
        Does::Mode { size, decrypts } => {
            add("blocks", "blocks_of", format!("{name}, U{size}"), "");
            match decrypts {
                false => add("blocks", "encrypts_by_mode", format!("{name}.{first}"), "`BlockModeEncrypt`"),
                true => add("blocks", "decrypts_by_mode", format!("{name}.{first}"), "`BlockModeDecrypt`"),
            }
        }
        Does::Stream => add("stream", "adds_stream", format!("{name}.{first}"), "`StreamCipher`"),
        Does::Digest { size, block } => {
            if let Some(block) = block {
                add("sums", "takes_blocks", format!("{name}, U{block}"), "`BlockSizeUser`");
            }
            add("sums", "sums", format!("{name}.{first}, digest: U{size}"), "`Digest`");
            add("sums", "begins_anew", format!("{name}.{first}, digest"), "`FixedOutputReset`");
        }
        Does::Tag { size } => {
            add("sums", "sums", format!("{name}.{first}, tag: U{size}"), "`Mac`");
            if of.goes_on() {
                add("sums", "begins_anew", format!("{name}.{first}, tag"), "`FixedOutputReset`");
            }
        }
        Does::Authenticated { string, nonce, tag } => {
            let given = format!("{name} {{ encrypt, decrypt }}, {}: U{nonce}, U{tag}", string_constant(string));
            add("authenticated", "authenticates", given, "`AeadInOut` and with it `Aead`");
        }
    }
    uses
}

/// The files of a crate that belong to the traits; `tested` says which operations have known answers.
pub(super) fn add(
    files: &mut Files,
    head: &str,
    operations: &[&OperationSpec],
    traits: &Traits,
    tested: &BTreeSet<usize>,
) {
    if traits.types.is_empty() {
        return;
    }
    let mut supports: Vec<Support> = vec![SHARED];
    for support in traits.types.iter().flat_map(|of| sources(of.does)) {
        if !supports.contains(support) {
            supports.push(*support);
        }
    }
    for (name, source) in &supports {
        files.insert(format!("src/rustcrypto/{name}.rs"), (*source).into());
    }
    files.insert("src/rustcrypto/mod.rs".into(), module(head, operations, traits, &supports).into_bytes());
    let calls: Vec<_> = traits.types.iter().flat_map(|of| calls_of(of, operations, tested)).collect();
    for (name, test) in TESTS.iter().filter(|(name, _)| calls.iter().any(|call| call.file == *name)) {
        files.insert(format!("tests/rustcrypto/{name}.rs"), (*test).into());
    }
}

fn module(head: &str, operations: &[&OperationSpec], traits: &Traits, supports: &[Support]) -> String {
    let mut text = format!(
        "{head}//! What programs can take that are written against the traits of RustCrypto.\n//!\n\
         //! Each type holds operations of this crate, one for each direction that it has.\n\n"
    );
    for (name, _) in supports {
        let _ = writeln!(text, "mod {name};");
    }
    let crates = traits.crates();
    if let Some(first) = crates.first() {
        let _ = writeln!(text, "\npub(crate) use {}::common;", first.name());
    }
    if let Some(with_texts) = crates.iter().find(|known| **known != TraitCrate::Digest) {
        let _ = writeln!(text, "pub(crate) use {}::inout;", with_texts.name());
    }
    let used: BTreeSet<(&str, &str)> =
        traits.types.iter().flat_map(uses).map(|found| (found.file, found.own)).collect();
    for (file, own) in used {
        let _ = writeln!(text, "use {file}::{own};");
    }
    for of in &traits.types {
        let spec = operations[of.parts[0].operation];
        let listed: Vec<String> =
            of.parts.iter().map(|part| format!("[`crate::{}`]", type_name(operations[part.operation]))).collect();
        let _ = write!(text, "\n/// {}: {} behind traits.", spec.title, listed.join(" and "));
        for limit in &of.limits {
            let _ = write!(text, "\n/// Here {limit}.");
        }
        let more = if of.init == Init::Default { ", Default" } else { "" };
        let _ = write!(text, "\n#[derive(Clone, Debug{more})]\npub struct {} {{\n", of.name);
        for part in &of.parts {
            let _ = writeln!(text, "    {}: crate::{},", part.field, type_name(operations[part.operation]));
        }
        text.push_str("}\n\n");
        for found in uses(of) {
            let _ = writeln!(text, "{}!({});", found.own, found.given);
        }
        match of.does {
            Does::Digest { .. } => _ = writeln!(text, "impl digest::HashMarker for {} {{}}", of.name),
            Does::Tag { .. } => _ = writeln!(text, "impl digest::MacMarker for {} {{}}", of.name),
            _ => {}
        }
    }
    text
}

/// What the root of a crate has of them.
pub(super) fn root(traits: &Traits) -> String {
    if traits.types.is_empty() {
        return String::new();
    }
    let gate = "#[cfg(feature = \"rustcrypto\")]\n";
    let names: Vec<&str> = traits.types.iter().map(|of| of.name.as_str()).collect();
    let mut text = format!("\n{gate}mod rustcrypto;\n");
    for of_crate in traits.crates() {
        let _ = writeln!(text, "{gate}pub use {};", of_crate.name());
    }
    let _ = writeln!(text, "{gate}pub use rustcrypto::{{{}}};", names.join(", "));
    text
}

/// Features and dependencies of a crate.
pub(super) fn manifest(traits: &Traits, has_vectors: bool) -> String {
    let crates = traits.crates();
    let mut features = String::new();
    if !crates.is_empty() {
        let named: Vec<String> = crates.iter().map(|known| format!("\"dep:{}\"", known.name())).collect();
        let macs = traits.types.iter().any(|of| matches!(of.does, Does::Tag { .. }));
        let more = if macs { ", \"digest/mac\"" } else { "" };
        let simd = if has_vectors { ", \"simd\"" } else { "" };
        let _ = write!(features, "default = [\"rustcrypto\"{simd}]\nrustcrypto = [{}{more}]\n", named.join(", "));
    } else if has_vectors {
        features.push_str("default = [\"simd\"]\n");
    }
    let mut of_processors = "";
    if has_vectors {
        features.push_str(
            "# Instructions that a processor is found to have when the program runs. Without it, no code is unsafe.\n",
        );
        features.push_str("simd = [\"dep:cpufeatures\"]\n");
        of_processors = "\n[target.'cfg(target_arch = \"x86_64\")'.dependencies]\ncpufeatures = { version = \"0.3\", optional = true }\n";
    }
    let mut clears = vec!["\"dep:zeroize\"".to_owned()];
    clears.extend(
        crates.iter().filter(|known| known.has_zeroize()).map(|known| format!("\"{}?/zeroize\"", known.name())),
    );
    let mut dependencies = String::new();
    for known in &crates {
        let _ = writeln!(dependencies, "{} = {}", known.name(), known.dependency());
    }
    format!(
        "[features]\n{features}zeroize = [{}]\n\n[dependencies]\n{dependencies}\
         zeroize = {{ version = \"1\", default-features = false, optional = true }}\n{of_processors}",
        clears.join(", ")
    )
}

/// How a program of somebody else makes and calls a type.
fn example(crate_name: &str, of: &TraitType) -> String {
    let (own, from) = (&of.name, of.trait_crate().name());
    let (made_by, lengths, given) = match of.init {
        Init::Default => ("", String::new(), String::new()),
        Init::Key(key) => ("KeyInit", format!("let key = [0u8; {key}];\n"), "&key.into()".to_owned()),
        Init::KeyAndString(key, role, length) => {
            let string = string_constant(role).to_lowercase();
            let lengths = format!("let key = [0u8; {key}];\nlet {string} = [0u8; {length}];\n");
            ("KeyIvInit", lengths, format!("&key.into(), &{string}.into()"))
        }
    };
    let made = |name: &str| format!("let {name} = {own}::new({given});\n");
    let (called_by, calls) = match of.does {
        Does::Blocks { size } => {
            let (called, method) =
                if of.part("encrypt").is_some() { ("Encrypt", "encrypt") } else { ("Decrypt", "decrypt") };
            let calls = format!("let mut block = [0u8; {size}].into();\ncipher.{method}_block(&mut block);\n");
            (format!("BlockCipher{called}"), made("cipher") + &calls)
        }
        Does::Mode { size, decrypts } => {
            let (called, method) = if decrypts { ("Decrypt", "decrypt") } else { ("Encrypt", "encrypt") };
            let calls = format!("let mut block = [0u8; {size}].into();\ncipher.{method}_block(&mut block);\n");
            (format!("BlockMode{called}"), made("mut cipher") + &calls)
        }
        Does::Stream => {
            let calls = "let mut text = *b\"a message\";\ncipher.apply_keystream(&mut text);\n";
            ("StreamCipher".to_owned(), made("mut cipher") + calls)
        }
        Does::Digest { .. } => ("Digest".to_owned(), format!("let digest = {own}::digest(b\"a message\");\n")),
        Does::Tag { .. } => {
            let calls = "mac.update(b\"a message\");\nlet tag = mac.finalize().into_bytes();\n";
            ("Mac".to_owned(), made("mut mac") + calls)
        }
        Does::Authenticated { string, nonce, .. } => {
            let string = string_constant(string).to_lowercase();
            let calls = format!(
                "let {string} = [0u8; {nonce}];\nlet mut text = *b\"a message\";\n\
                 let tag = cipher.encrypt_inout_detached(&{string}.into(), b\"beside it\", text.as_mut_slice().into());\n\
                 let tag = tag.expect(\"texts of this length are encrypted\");\n"
            );
            ("AeadInOut".to_owned(), made("cipher") + &calls)
        }
    };
    let made_by = match (made_by, of.trait_crate()) {
        ("", _) => String::new(),
        // `digest` does not export this one itself.
        ("KeyIvInit", TraitCrate::Digest) => ", common::KeyIvInit".to_owned(),
        (made_by, _) => format!(", {made_by}"),
    };
    let traits = if made_by.is_empty() { called_by } else { format!("{{{called_by}{made_by}}}") };
    format!("```rust\nuse {crate_name}::{own};\nuse {crate_name}::{from}::{traits};\n\n{lengths}{calls}```\n")
}

/// What the README says of them.
pub(super) fn readme(crate_name: &str, operations: &[&OperationSpec], traits: &Traits) -> String {
    let mut text = String::new();
    if !traits.types.is_empty() {
        let names: Vec<String> = traits.crates().iter().map(|known| format!("`{}`", known.name())).collect();
        let _ = write!(
            text,
            "\n## Traits of RustCrypto\n\nThe feature `rustcrypto`, which is on unless `default-features = false`, has types \
             for programs that are written against\nthe traits of {}, which the crate exports again. No other feature brings \
             dependencies but `zeroize`,\nby whose trait `ZeroizeOnDrop` types say that they clear themselves.\n\n{}\n\
             | type | operations | traits | |\n| --- | --- | --- | --- |\n",
            names.join(" and "),
            traits.types.first().map_or(String::new(), |of| example(crate_name, of))
        );
        for of in &traits.types {
            let listed: Vec<String> =
                of.parts.iter().map(|part| format!("`{}`", operations[part.operation].own_name())).collect();
            let found: Vec<&str> = uses(of).iter().map(|found| found.traits).filter(|text| !text.is_empty()).collect();
            let _ = writeln!(
                text,
                "| `{}` | {} | {} | {} |",
                of.name,
                listed.join(", "),
                found.join(", "),
                of.limits.join("; ")
            );
        }
        if traits.types.iter().any(|of| matches!(of.does, Does::Blocks { .. } | Does::Authenticated { .. })) {
            text.push_str(
                "\nTraits of block ciphers and of authenticated encryption change nothing that they are called on, so each call \
                 works on a\ncopy of the keyed context, which is cleared afterwards: give many blocks to one call. Types can \
                 be shared among threads.\n",
            );
        }
    }
    if !traits.left_out.is_empty() {
        text.push_str("\nWithout traits:\n\n");
        for (name, reason) in &traits.left_out {
            let _ = writeln!(text, "* `{name}`: {reason}.");
        }
    }
    text
}

/// Known answers through the traits; `tested` says which operations have some.
pub(super) fn tests(operations: &[&OperationSpec], traits: &Traits, tested: &BTreeSet<usize>) -> String {
    let mut calls = String::new();
    let mut files = BTreeSet::new();
    // Traits through which tests make their types.
    let mut inits = BTreeSet::new();
    for of in &traits.types {
        let of_type = calls_of(of, operations, tested);
        if of_type.is_empty() {
            continue;
        }
        let own = module_name(operations[of.parts[0].operation]);
        let _ = write!(calls, "\n    #[test]\n    fn {own}() {{\n");
        for Call { file, text, makes } in of_type {
            files.insert(file);
            let _ = writeln!(calls, "        {file}::{text};");
            match of.init {
                Init::Key(_) if makes => drop(inits.insert((of.trait_crate().name(), "KeyInit"))),
                Init::KeyAndString(..) if makes => drop(inits.insert((of.trait_crate().name(), "KeyIvInit"))),
                _ => {}
            }
        }
        calls.push_str("    }\n");
    }
    if calls.is_empty() {
        return String::new();
    }
    let modules: String = files.iter().map(|file| format!("    mod {file};\n")).collect();
    let imports: String = inits.iter().map(|(of, init)| format!("    use {of}::common::{init};\n")).collect();
    format!(
        "\n/// The same through traits of RustCrypto.\n#[cfg(feature = \"rustcrypto\")]\nmod rustcrypto {{\n{modules}\n    use super::*;\n{imports}{calls}}}\n"
    )
}

/// The call of a test function.
struct Call {
    /// The file of the function.
    file: &'static str,
    text: String,
    /// Whether it makes values of the type by itself.
    makes: bool,
}

impl Call {
    /// One whose function makes values of the type.
    fn of_type(file: &'static str, text: String) -> Call {
        Call { file, text, makes: false }
    }

    /// One that is given what makes them.
    fn making(file: &'static str, text: String) -> Call {
        Call { file, text, makes: true }
    }
}

/// The calls of test functions for a type.
fn calls_of(of: &TraitType, operations: &[&OperationSpec], tested: &BTreeSet<usize>) -> Vec<Call> {
    let name = &of.name;
    let table = |field: &str| {
        let part = of.part(field).filter(|part| tested.contains(&part.operation))?;
        Some(module_name(operations[part.operation]).to_uppercase())
    };
    let key = string_number(Role::Key);
    // How a type is made from what an answer has.
    let made = match of.init {
        Init::KeyAndString(_, role, _) => {
            let number = string_number(role);
            format!("{name}::new_from_slices(answer.get({key}), answer.get({number})).unwrap()")
        }
        _ => format!("{name}::new_from_slice(answer.get({key})).unwrap()"),
    };
    let new = format!("|answer| {made}");
    let mut calls = Vec::new();
    match of.does {
        Does::Blocks { .. } => {
            calls.extend(table("encrypt").map(|table| Call::of_type("blocks", format!("encrypts::<{name}>({table})"))));
            calls.extend(table("decrypt").map(|table| Call::of_type("blocks", format!("decrypts::<{name}>({table})"))));
            if let (2, Some(table)) = (of.parts.len(), table("encrypt")) {
                calls.push(Call::of_type("blocks", format!("goes_back::<{name}>({table})")));
            }
        }
        Does::Mode { decrypts, .. } => {
            let function = if decrypts { "decrypts_by_mode" } else { "encrypts_by_mode" };
            calls.extend(table("cipher").map(|table| Call::making("blocks", format!("{function}({table}, {new})"))));
        }
        Does::Stream => {
            calls.extend(table("cipher").map(|table| Call::making("stream", format!("adds_stream({table}, {new})"))));
        }
        Does::Digest { .. } => {
            calls.extend(table("hash").map(|table| Call::of_type("digests", format!("digests::<{name}>({table})"))));
        }
        Does::Tag { .. } => {
            // What has an empty string in traits cannot have another.
            let spec = operations[of.parts[0].operation];
            let absent: Vec<String> = [Role::Nonce, Role::Iv]
                .into_iter()
                .filter(|&role| spec.input(role).is_some() && !matches!(of.init, Init::KeyAndString(..)))
                .map(|role| format!("answer.get({}).is_empty()", string_number(role)))
                .collect();
            let new = match absent.as_slice() {
                [] => format!("|answer| Some({made})"),
                absent => format!("|answer| {}.then(|| {made})", absent.join(" && ")),
            };
            if let Some(table) = table("mac") {
                calls.push(Call::making("tags", format!("authenticates({table}, {new})")));
                if of.goes_on() {
                    calls.push(Call::making("tags", format!("goes_on({table}, {new})")));
                }
            }
        }
        Does::Authenticated { string, .. } => {
            let number = string_number(string);
            calls.extend(
                table("encrypt")
                    .map(|table| Call::of_type("authenticated", format!("encrypts::<{name}>({table}, {number})"))),
            );
            calls.extend(
                table("decrypt")
                    .map(|table| Call::of_type("authenticated", format!("decrypts::<{name}>({table}, {number})"))),
            );
        }
    }
    calls
}
