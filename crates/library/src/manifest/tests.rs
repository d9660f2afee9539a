use super::*;
use crate::mapping::{Argument, Condition, Conversion, Feedback, Form, Kind, Target};
use crate::sizes::Bound;

/// The messages, each with the text at its place.
fn problems(text: &str) -> Vec<String> {
    Manifest::parse(FileId(0), "ctl/block/x/primitive.toml", text)
        .1
        .iter()
        .map(|problem| {
            let span = problem.primary.as_ref().expect("a place").span;
            let cut = text.get(span.start as usize..span.end as usize).expect("a place in the text");
            let help = problem.help.as_deref().unwrap_or_default();
            format!("{}: {} @ {cut} {help}", problem.slug, problem.message).trim_end().to_owned()
        })
        .collect()
}

const CIPHER: &str = r#"
title = "X"
shape = "block-cipher"
standard = "S"
weaknesses = "W"
[sets.x64]
key = { bytes = [16, 24] }
block_bytes = 8
[sets.x64.operations.encrypt]
network = "Encrypt(N = 4)"
variants = { lut = { network = "other.Lut", constant_time = true }, standard = {} }
[sets.x64.operations.decrypt]
network = "Decrypt"
[[vectors]]
file = "x.rsp"
where = { Mode = "CBC", IV = true }
operation = "decrypt"
set = "x64"
kind = "monte-carlo"
feedback = "keystream"
direction = { field = "Direction", forward = "E", inverse = "D" }
fields = { CT = "Output || Tag", Z = "Output^7" }
args = { ROUNDS = "Rounds", MASK = { field = "Param", after = "mask ", form = "hex" } }
convert = { Key = "reverse" }
ignore = ["Kind"]
[ports.Schluessel]
role = "Key"
width = 32
class = "public"
[hardware]
rounds = 48
state_bits = 64
"#;

#[test]
fn reads_everything_that_a_manifest_can_say() {
    let (manifest, found) = Manifest::parse(FileId(3), "./ctl/block/x/primitive.toml", CIPHER);
    assert_eq!(found, []);
    let manifest = manifest.unwrap();
    assert_eq!((manifest.folder.as_str(), manifest.package.as_str()), ("ctl/block/x", "ctl.block.x"));
    assert_eq!((manifest.primitive.as_str(), manifest.family.as_str()), ("x", "block"));
    assert_eq!(manifest.weaknesses.as_deref(), Some("W"));
    let [set] = manifest.sets.as_slice() else { panic!() };
    assert_eq!((set.name.as_str(), set.block_bytes), ("x64", Some(8)));
    assert_eq!(set.sizes, [(Role::Key, SizeRule::OneOf(vec![Bound::Bytes(16), Bound::Bytes(24)]))]);
    let [encrypt, decrypt] = set.operations.as_slice() else { panic!() };
    assert_eq!(encrypt.network.to_string(), "ctl.block.x.Encrypt(N = 4)");
    assert_eq!(decrypt.network.to_string(), "ctl.block.x.Decrypt");
    let [lut, standard] = encrypt.variants.as_slice() else { panic!() };
    assert_eq!(lut.network.as_ref().unwrap().to_string(), "other.Lut");
    assert!(lut.constant_time && !standard.constant_time);
    assert_eq!((standard.name.as_str(), &standard.network), ("standard", &None));
    let [vectors] = manifest.vectors.as_slice() else { panic!() };
    assert_eq!(
        vectors.conditions,
        [("Mode".into(), Condition::Is("CBC".into())), ("IV".into(), Condition::Present(true))]
    );
    assert_eq!((vectors.kind, vectors.feedback), (Kind::MonteCarlo, Feedback::KeyStream));
    assert_eq!(vectors.sets, ["x64"]);
    let argument = |field: &str, after: &str, form| Argument { field: field.into(), after: after.into(), form };
    assert_eq!(
        vectors.arguments,
        [
            ("ROUNDS".into(), argument("Rounds", "", Form::Decimal)),
            ("MASK".into(), argument("Param", "mask ", Form::Hex))
        ]
    );
    assert_eq!(vectors.conversions, [("Key".into(), Conversion::Reverse)]);
    assert_eq!(vectors.ignored, ["Kind"]);
    let target = |name: &str| &vectors.fields.iter().find(|(field, _)| field == name).unwrap().1;
    assert_eq!(*target("CT"), Target::Strings(vec![Role::Output, Role::Tag]));
    assert_eq!(*target("Z"), Target::Iterated(7));
    assert_eq!(*target("PT"), Target::Strings(vec![Role::Input]), "the defaults stay");
    let [port] = manifest.ports.as_slice() else { panic!() };
    assert_eq!((port.role, port.bits, port.class), (Role::Key, Some(32), Some(Class::Public)));
    assert_eq!(manifest.hardware, Some(Hardware { rounds: Some(48), state_bits: Some(64) }));
}

#[test]
fn all_problems_are_reported_at_their_places() {
    let text = r#"
title = 7
shape = "block-cipher"
standard = ""
nonsense = 1
[sets.X64]
key = { byte = 16 }
block_bytes = 0
operations.encrypt = { netwrok = "E" }
operations.decrypt = { network = "D(" }
[sets.y]
key = [16, "block"]
operations.encrypt = { network = "E", iv = 1 }
operations.own-mode = { network = "E", iv = { min = 2, max = 1 }, single_chunk = "yes" }
[[vectors]]
file = "../x"
operation = "encrypt"
set = "z"
kind = "monte"
fields = { CT = "Ouput" }
"#;
    assert_eq!(
        problems(text),
        [
            "manifest-value: `title` must be a text in quotes @ 7",
            "manifest-value: `standard` is empty @ \"\"",
            "manifest-value: `X64` cannot be the name of a parameter set: it has up to 64 lower-case letters, digits, `-` and `_` @ X64",
            "manifest-value: `block_bytes` must be 1 to 65536 @ 0",
            "manifest-value: `key` says nothing about sizes @ { byte = 16 }",
            "manifest-unknown-key: `key` has no key `byte` @ byte did you mean `bytes`?",
            "manifest-value: an operation has no `network` @ { netwrok = \"E\" }",
            "manifest-unknown-key: an operation has no key `netwrok` @ netwrok did you mean `network`?",
            "manifest-value: the list of arguments does not end with `)` @ \"D(\"",
            "manifest-value: \"block\" has no meaning where `block_bytes` is not given @ \"block\"",
            "manifest-value: the set `y` of a block-cipher has no `block_bytes` @ [sets.y]",
            "manifest-unknown-key: an operation has no key `iv` @ iv",
            "manifest-value: `single_chunk` must be `true` or `false` @ \"yes\"",
            "manifest-value: `min` (2) is greater than `max` (1) @ { min = 2, max = 1 }",
            "manifest-value: `file` is the name of a file in the folder `vectors` beside the manifest @ \"../x\"",
            "manifest-value: `kind` must be `single` or `monte-carlo` @ \"monte\"",
            "manifest-value: `Ouput` is not a string of a message @ \"Ouput\"",
            "manifest-unknown-key: the manifest of a block-cipher has no key `nonsense` @ nonsense",
        ]
    );
}

#[test]
fn every_syntax_error_is_reported() {
    let found = problems("title = \nshape == 1\n[sets\n");
    assert!(found.len() >= 3, "{found:#?}");
    assert!(found.iter().all(|problem| problem.starts_with("manifest-syntax")), "{found:#?}");
}

#[test]
fn shapes_are_checked() {
    let found = problems("title = \"T\"\nshape = \"blockcipher\"\nstandard = \"S\"\n");
    assert_eq!(found.len(), 1);
    assert!(found[0].ends_with("did you mean `block-cipher`?"), "{found:?}");
    let found = problems("title = \"T\"\nshape = \"mode\"\nstandard = \"S\"\n[sets.x]\nkey = 1\n");
    assert_eq!(found.len(), 2, "a mode has operations and no sets: {found:#?}");
    let found = problems("title = \"T\"\nshape = \"part\"\nstandard = \"S\"\n");
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn variants_have_one_default() {
    for variants in ["{}", "{ a = {}, b = {} }", "{ a = { network = \"A\" } }"] {
        let text =
            CIPHER.replace("{ lut = { network = \"other.Lut\", constant_time = true }, standard = {} }", variants);
        let found = problems(&text);
        assert_eq!(found.len(), 1, "{found:#?}");
        assert!(found[0].contains("exactly one variant"), "{found:?}");
    }
}

#[test]
fn survives_junk() {
    let nested = format!("a = {}", "[".repeat(100_000));
    let dotted = format!("{}a = 1", "a.".repeat(100_000));
    let long = "#".repeat(2 << 20);
    for junk in ["", "\0", "[", "=", "[[vectors]]", "sets = 3\nshape = \"hash\"", &nested, &dotted, &long] {
        let found = Manifest::parse(FileId(0), "", junk).1;
        assert!(!found.is_empty(), "{}", junk.get(..40).unwrap_or(junk));
    }
    // Every beginning of a sound manifest, cut anywhere.
    for end in (0..CIPHER.len()).filter(|end| CIPHER.is_char_boundary(*end)) {
        Manifest::parse(FileId(0), "a/b", &CIPHER[..end]);
    }
}

#[test]
fn reads_the_names_in_the_jca() {
    let with = |names: &str| CIPHER.replace("block_bytes = 8\n", &format!("block_bytes = 8\n{names}\n"));
    let (manifest, found) = Manifest::parse(FileId(0), "ctl/block/x/primitive.toml", &with("jca = \"Xede:TripleX\""));
    assert_eq!(found, []);
    assert_eq!(manifest.unwrap().sets[0].jca.names, ["Xede", "TripleX"]);
    assert_eq!(problems(&with("jca = \"X:\"")), ["manifest-value: `X:` cannot be a name in the JCA @ \"X:\""]);
    let table = with("jca = { names = \"Xede\", keys = \"X:XX\", parameters = \"IvParameterSpec\", block = 8 }");
    let (manifest, found) = Manifest::parse(FileId(0), "ctl/block/x/primitive.toml", &table);
    assert_eq!(found, []);
    let jca = manifest.unwrap().sets[0].jca.clone();
    assert_eq!((jca.names, jca.keys), (vec!["Xede".to_owned()], vec!["X".to_owned(), "XX".to_owned()]));
    assert_eq!((jca.parameters.as_deref(), jca.block_bytes), (Some("IvParameterSpec"), Some(8)));
    assert_eq!(
        problems(&with("jca = { parameters = \"IV\" }")),
        ["manifest-value: no service takes parameters of the class `IV` @ \"IV\""]
    );
}

#[test]
fn reads_the_names_in_openssl() {
    let with = |names: &str| CIPHER.replace("block_bytes = 8\n", &format!("block_bytes = 8\n{names}\n"));
    let text = with(
        r#"openssl.cbc = ["X-CBC:X", { name = "X2-CBC", key = 16, arguments = { N = 8 } }]
openssl.mac = { name = "XMAC(X-CBC:X)", block = 64, size = 20, iv = 12 }"#,
    );
    let (manifest, found) = Manifest::parse(FileId(0), "ctl/block/x/primitive.toml", &text);
    assert_eq!(found, []);
    let names = &manifest.unwrap().sets[0].openssl;
    let name = |name: &str| OpensslName {
        name: name.to_owned(),
        of: None,
        key_bytes: None,
        block_bytes: None,
        output_bytes: None,
        iv_bytes: None,
        least_tag_bytes: None,
        arguments: Vec::new(),
    };
    let other =
        OpensslName { key_bytes: Some(16), arguments: vec![("N".to_owned(), "8".to_owned())], ..name("X2-CBC") };
    assert_eq!((names[0].operation.as_str(), &names[0].names), ("cbc", &vec![name("X-CBC:X"), other]));
    let of = OpensslName {
        of: Some("X-CBC:X".to_owned()),
        block_bytes: Some(64),
        output_bytes: Some(20),
        iv_bytes: Some(12),
        least_tag_bytes: None,
        ..name("XMAC")
    };
    assert_eq!((names[1].operation.as_str(), &names[1].names), ("mac", &vec![of]));
    assert_eq!(
        problems(&with("openssl = { cbc = \"X CBC\", ctr = { name = \"X-CTR\", keys = 16 }, ecb = { key = 8 } }")),
        [
            "manifest-value: `X CBC` cannot be a name in OpenSSL @ \"X CBC\"",
            "manifest-unknown-key: a name in OpenSSL has no key `keys` @ keys did you mean `key`?",
            "manifest-value: a name in OpenSSL has no `name` @ { key = 8 }",
        ]
    );
}
