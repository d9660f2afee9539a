use super::*;

/// A little library: a cipher, two modes, a hash, a MAC, an AEAD, a generator, a codec, a stream cipher and a part.
const MANIFESTS: [(&str, &str); 11] = [
    (
        "ctl/block/box/primitive.toml",
        r#"
title = "Box"
shape = "block-cipher"
standard = "S"
[sets.box128]
key = 16
block_bytes = 16
operations.encrypt = { network = "Encrypt(N = 4)", variants = { lut = { network = "Lut(N = 4)" }, plain = {} } }
operations.decrypt = { network = "Decrypt(N = 4)" }
[sets.boxvar]
key = { min = 1, max = 8 }
block_bytes = 8
operations.encrypt = { network = "Encrypt(N = 2)" }
operations.decrypt = { network = "Decrypt(N = 2)" }
[sets.both]
key = 2
block_bytes = 2
operations.encrypt = { network = "Both", decrypt = false }
operations.decrypt = { network = "Both", decrypt = true }
"#,
    ),
    (
        "ctl/mode/cbc/primitive.toml",
        r#"
title = "Chaining"
shape = "mode"
standard = "S"
[operations.cbc-encrypt]
network = "CbcEncrypt"
cipher = "encrypt"
iv = "block"
input = { multiple = "block" }
[operations.cbc-decrypt]
network = "CbcDecrypt"
cipher = "decrypt"
iv = "block"
input = { multiple = "block" }
"#,
    ),
    (
        "ctl/mode/ctr/primitive.toml",
        r#"
title = "Counter"
shape = "mode"
standard = "S"
[operations.ctr]
network = "Ctr(STEP = 1)"
cipher = "encrypt"
iv = "block"
inverse = "ctr"
block_bytes = 16
"#,
    ),
    (
        "ctl/hash/sum/primitive.toml",
        "title = \"Sum\"\nshape = \"hash\"\nstandard = \"S\"\n[sets.sum1]\noutput = 4\noperations.hash.network = \"Sum\"\n",
    ),
    (
        "ctl/mac/mark/primitive.toml",
        "title = \"Mark\"\nshape = \"mac\"\nstandard = \"S\"\n[sets.mark]\nkey = 4\ntag = [2, 4]\noperations.mac = { network = \"Mark\", tag = 4 }\noperations.verify.network = \"Verify\"\n",
    ),
    (
        "ctl/aead/seal/primitive.toml",
        "title = \"Seal\"\nshape = \"aead\"\nstandard = \"S\"\n[sets.seal]\nkey = 4\nnonce = { min = 1, max = 9 }\nnonce_and_length_bytes = 10\ntag = 4\nsecret_nonce = 2\noperations.aead-encrypt = { network = \"Seal\", single_chunk = true }\noperations.aead-decrypt.network = \"Open\"\n",
    ),
    (
        "ctl/prng/count/primitive.toml",
        "title = \"Count\"\nshape = \"generator\"\nstandard = \"S\"\n[sets.count16]\nseed = 2\noutput = 2\noperations.generate.network = \"Count\"\n[ports.State]\nrole = \"Output\"\nwidth = 16\nclass = \"secret\"\n",
    ),
    (
        "ctl/prng/draw/primitive.toml",
        "title = \"Draw\"\nshape = \"generator\"\nstandard = \"S\"\n[sets.draw]\nseed = { min = 2 }\nentropy = { min = 1 }\nad = { max = 4 }\nwords = { max = 8 }\noutput = 1\noperations.generate.network = \"Draw\"\n[ports.Served]\nrole = \"Verified\"\n",
    ),
    (
        "ctl/codec/pairs/primitive.toml",
        "title = \"Pairs\"\nshape = \"codec\"\nstandard = \"S\"\n[sets.pairs]\noperations.encode.network = \"E\"\noperations.decode.network = \"D\"\n",
    ),
    (
        "ctl/stream/pour/primitive.toml",
        "title = \"Pour\"\nshape = \"stream-cipher\"\nstandard = \"S\"\n[sets.pour]\nkey = 2\niv = [0, 1]\noperations.stream = { network = \"Pour(ROUNDS = 1)\", inverse = \"stream\" }\n",
    ),
    (
        "ctl/parts/tokens/primitive.toml",
        "title = \"Tokens\"\nshape = \"part\"\nstandard = \"S\"\n[operations.xor-8]\nnetwork = \"Xor(WIDTH = 8)\"\ninputs = [\"X\", \"Y\"]\noutputs = [\"Output\"]\n",
    ),
];

/// The little library with more `[[vectors]]` entries appended to the manifests in these folders.
pub(crate) fn library_with(more: &[(&str, &str)]) -> Library {
    let texts: Vec<(String, String)> = MANIFESTS
        .iter()
        .map(|(path, text)| {
            let added = more.iter().filter(|(folder, _)| path.contains(folder)).map(|(_, added)| *added);
            (path.to_string(), std::iter::once(*text).chain(added).collect())
        })
        .collect();
    let (library, problems) =
        Library::load(texts.iter().zip(0..).map(|((path, text), n)| (FileId(n), path.as_str(), text.as_str())));
    assert_eq!(problems, []);
    library
}

fn ports(list: &[PortSpec]) -> String {
    let shown: Vec<String> = list
        .iter()
        .map(|port| match &port.companion {
            Some(companion) => format!("{}/{companion}", port.name),
            None => port.name.clone(),
        })
        .collect();
    shown.join(" ")
}

#[test]
fn every_shape_has_the_ports_of_the_conventions() {
    let library = library_with(&[]);
    let shown: Vec<String> = library
        .operations()
        .iter()
        .map(|spec| format!("{}: {} ==> {}", spec.full_name(), ports(&spec.inputs), ports(&spec.outputs)))
        .collect();
    assert_eq!(
        shown,
        [
            "seal-aead-encrypt: Rekey Key Nonce/NonceSize SecretNonce Ad/AdSize Input/InputSize ==> SecretNonceOut Output/OutputSize Tag",
            "seal-aead-decrypt: Rekey Key Nonce/NonceSize SecretNonce Ad/AdSize Input/InputSize TagIn ==> SecretNonceOut Output/OutputSize Verified",
            "box128-encrypt: Rekey Key Blocks Input ==> Output",
            "box128-decrypt: Rekey Key Blocks Input ==> Output",
            "box128-cbc-encrypt: Rekey Key IV Input/InputSize ==> Output/OutputSize",
            "box128-cbc-decrypt: Rekey Key IV Input/InputSize ==> Output/OutputSize",
            "box128-ctr: Rekey Key IV Input/InputSize ==> Output/OutputSize",
            "boxvar-encrypt: Rekey Key/KeySize Blocks Input ==> Output",
            "boxvar-decrypt: Rekey Key/KeySize Blocks Input ==> Output",
            "boxvar-cbc-encrypt: Rekey Key/KeySize IV Input/InputSize ==> Output/OutputSize",
            "boxvar-cbc-decrypt: Rekey Key/KeySize IV Input/InputSize ==> Output/OutputSize",
            "both-encrypt: Rekey Decrypt Key Blocks Input ==> Output",
            "both-decrypt: Rekey Decrypt Key Blocks Input ==> Output",
            "pairs-encode: Input/InputSize ==> Output/OutputSize",
            "pairs-decode: Input/InputSize ==> Output/OutputSize Verified",
            "sum1-hash: Input/InputSize ==> Output",
            "mark-mac: Rekey Key Input/InputSize ==> Tag",
            "mark-verify: Rekey Key Input/InputSize TagIn/TagInSize ==> Verified",
            "tokens-xor-8:  ==> ",
            "count16-generate: Seed Blocks ==> State",
            "draw-generate: Rekey Ad/AdSize Seed/SeedSize Reseed Entropy/EntropySize Blocks ==> Output Served",
            "pour-stream: Rekey Key IV/IVSize Input/InputSize ==> Output/OutputSize",
        ]
    );
}

#[test]
fn modes_are_given_their_cipher_and_variants_follow() {
    let library = library_with(&[]);
    let networks = |set: &str, name: &str| -> Vec<String> {
        let spec = library.operation(set, name).unwrap();
        spec.variants.iter().map(|variant| format!("{}: {}", variant.name, variant.network)).collect()
    };
    assert_eq!(
        networks("box128", "ctr"),
        [
            "plain: ctl.mode.ctr.Ctr(STEP = 1, Cipher = ctl.block.box.Encrypt(N = 4), BLOCK_BYTES = 16)",
            "lut: ctl.mode.ctr.Ctr(STEP = 1, Cipher = ctl.block.box.Lut(N = 4), BLOCK_BYTES = 16)",
        ]
    );
    assert_eq!(
        networks("boxvar", "cbc-decrypt"),
        ["standard: ctl.mode.cbc.CbcDecrypt(Cipher = ctl.block.box.Decrypt(N = 2), BLOCK_BYTES = 8, KEY_SIZE = true)"]
    );
    assert!(library.operation("boxvar", "ctr").is_none(), "the mode is for blocks of 16 bytes only");
}

#[test]
fn sizes_inverses_and_classes_derive() {
    let library = library_with(&[]);
    let spec = |set: &str, name: &str| library.operation(set, name).unwrap();
    let cbc = spec("box128", "cbc-encrypt");
    assert_eq!(cbc.input(Role::Iv).unwrap().sizes, Sizes::exactly(16));
    assert!(!cbc.input(Role::Input).unwrap().sizes.allows(17));
    assert_eq!(cbc.title, "Box, Chaining");
    for (set, name, inverse) in [
        ("box128", "cbc-encrypt", Some("cbc-decrypt")),
        ("box128", "decrypt", Some("encrypt")),
        ("box128", "ctr", Some("ctr")),
        ("mark", "mac", Some("verify")),
        ("pairs", "decode", Some("encode")),
        ("sum1", "hash", None),
    ] {
        assert_eq!(spec(set, name).inverse.as_deref(), inverse, "{set} {name}");
    }
    assert!(spec("seal", "aead-decrypt").verifies && spec("pairs", "decode").verifies);
    assert!(!spec("box128", "cbc-decrypt").verifies && !spec("mark", "mac").verifies);
    let class = |set: &str, name: &str, role| {
        let spec = spec(set, name);
        spec.input(role).or(spec.output(role)).unwrap().class
    };
    assert_eq!(class("seal", "aead-encrypt", Role::Input), Class::Secret);
    assert_eq!(class("seal", "aead-encrypt", Role::Output), Class::Public);
    assert_eq!(class("seal", "aead-decrypt", Role::Input), Class::Public);
    assert_eq!(class("seal", "aead-decrypt", Role::Output), Class::Secret);
    assert_eq!(class("seal", "aead-decrypt", Role::Nonce), Class::Public);
    assert_eq!(class("box128", "encrypt", Role::Key), Class::Secret);
    let output = spec("count16", "generate").output(Role::Output).unwrap();
    assert_eq!((output.bits, output.class), (16, Class::Secret));
}

#[test]
fn both_directions_have_the_names_in_openssl() {
    let library = library_with(&[("block/box", "[sets.box128.openssl]\ncbc = \"BOX-128-CBC:BOX128\"\n")]);
    let names = |name: &str| -> Vec<&str> {
        let spec = library.operation("box128", name).expect("it is there");
        spec.openssl.iter().map(|name| name.name.as_str()).collect()
    };
    assert_eq!(names("cbc-encrypt"), ["BOX-128-CBC:BOX128"]);
    assert_eq!(names("cbc-decrypt"), ["BOX-128-CBC:BOX128"]);
    assert_eq!(names("ctr"), [""; 0]);
    assert_eq!(names("encrypt"), [""; 0]);
}

#[test]
fn words_of_commands_find_operations() {
    let library = library_with(&[]);
    let names = |words: &[&str]| -> Vec<String> {
        library.select(words).unwrap().iter().map(|spec| spec.full_name()).collect()
    };
    assert_eq!(names(&[]).len(), library.operations().len());
    assert_eq!(names(&["box"]).len(), 11);
    assert_eq!(names(&["box128"]).len(), 5);
    assert_eq!(names(&["box1"]), names(&["box128"]));
    assert_eq!(names(&["box128", "ctr"]), ["box128-ctr"]);
    assert_eq!(names(&["box128-ctr"]), ["box128-ctr"]);
    assert_eq!(names(&["box128-cbc"]), ["box128-cbc-encrypt", "box128-cbc-decrypt"]);
    assert_eq!(names(&["box128", "cbc", "ctr"]), ["box128-cbc-encrypt", "box128-cbc-decrypt", "box128-ctr"]);
    assert_eq!(names(&["box", "encrypt"]), ["box128-encrypt", "boxvar-encrypt", "both-encrypt"]);
    assert_eq!(names(&["sum", "box128", "ctr", "mark"]), ["box128-ctr", "sum1-hash", "mark-mac", "mark-verify"]);
    assert_eq!(names(&["tokens", "xor-8"]), ["tokens-xor-8"]);
}

#[test]
fn unknown_words_are_explained() {
    let library = library_with(&[]);
    let error = library.select(&["bix128"]).unwrap_err();
    assert_eq!(error.message, "there is no primitive or parameter set `bix128`");
    assert_eq!(error.help.as_deref(), Some("did you mean `box128`?"));
    let error = library.select(&["box128", "ctx"]).unwrap_err();
    assert!(error.message.contains("no operation of `box128`"), "{}", error.message);
    assert_eq!(error.help.as_deref(), Some("did you mean `ctr`?"));
    assert!(error.notes[0].contains("`cbc-decrypt`"), "{:?}", error.notes);
    assert!(library.select(&[""]).is_err());
    let error = Library::default().select(&["x"]).unwrap_err();
    assert_eq!(error.notes, ["the library is empty: no manifest was found"]);
}

#[test]
fn one_operation_is_found_or_the_choice_shown() {
    let library = library_with(&[]);
    assert_eq!(library.find("box128", Some("ctr")).unwrap().full_name(), "box128-ctr");
    assert_eq!(library.find("box128", Some("encrypt")).unwrap().full_name(), "box128-encrypt");
    assert_eq!(library.find("sum1", None).unwrap().full_name(), "sum1-hash");
    assert_eq!(library.find("box128-ctr", None).unwrap().full_name(), "box128-ctr");
    let error = library.find("box128", Some("cbc")).unwrap_err();
    assert_eq!(error.message, "`box128 cbc` means 2 operations; one is wanted");
    assert!(library.find("box", Some("encrypt")).is_err(), "two sets have it");

    // What there is not is said, with what may be meant.
    let refused = |set: &str, operation: &str| library.find(set, Some(operation)).unwrap_err();
    let error = refused("box128", "hash");
    assert_eq!(error.message, "`box128` has no operation `hash`");
    assert!(error.notes[0].contains("`ctr`"), "{:?}", error.notes);
    assert_eq!(error.help.as_deref(), Some("there is `sum1 hash`"));
    assert_eq!(refused("box128", "crt").help.as_deref(), Some("did you mean `ctr`?"));
    assert_eq!(refused("box", "nothing").help, None);
    assert_eq!(refused("bix128", "ctr").message, "there is no primitive or parameter set `bix128`");
    let named_apart = MANIFESTS[0].1.replace("boxvar", "box128-seal");
    let texts = MANIFESTS
        .iter()
        .zip(0..)
        .map(|((path, text), n)| (FileId(n), *path, if n == 0 { &*named_apart } else { text }));
    let (library, problems) = Library::load(texts);
    assert_eq!(problems, []);
    let help = library.find("box128", Some("seal")).unwrap_err().help.unwrap();
    assert!(help.starts_with("did you mean `box128-seal ") && help.ends_with('?'), "{help}");

    // The same primitive with its first set called as itself: that set is meant.
    let named_alike = MANIFESTS[0].1.replace("box128", "box");
    let (library, problems) = Library::load([(FileId(0), MANIFESTS[0].0, &*named_alike)]);
    assert_eq!(problems, []);
    assert_eq!(library.find("box", Some("encrypt")).unwrap().full_name(), "box-encrypt");
    assert_eq!(library.select(&["box", "encrypt"]).unwrap().len(), 3);
}

#[test]
fn dangling_references_and_double_names_are_found() {
    let block = MANIFESTS[0].1;
    let bad = block.replace("decrypt = {", "undo = {")
        + "[sets.box128.openssl]\ncbb = \"BOX\"\n"
        + "[[vectors]]\nfile = \"a.rsp\"\noperation = \"cbc-encrypted\"\nset = \"box128\"\n";
    let texts = [
        ("a/box", bad.as_str()),
        ("b/box", &block.replace("boxvar", "other").replace("both", "more")),
        ("mode/cbc", MANIFESTS[1].1),
        ("mode/cbc2", MANIFESTS[1].1),
    ];
    let paths: Vec<String> = texts.iter().map(|(folder, _)| format!("{folder}/primitive.toml")).collect();
    let (_, problems) = Library::load(
        texts.iter().zip(&paths).zip(0..).map(|(((_, text), path), n)| (FileId(n), path.as_str(), *text)),
    );
    let messages: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
    for expected in [
        "the set `box128` has no operation `decrypt`, which the mode operation `cbc-decrypt` asks for",
        "there are two parameter sets `box128`",
        "two modes have the operation `cbc-encrypt`",
        "`box` has no operation `cbc-encrypted`",
        "`box128` has no operation `cbb`",
    ] {
        assert!(messages.contains(&expected), "{expected}\n{messages:#?}");
    }
}

#[test]
fn a_cipher_that_only_encrypts_has_the_modes_that_ask_for_no_more() {
    let lines = MANIFESTS[0].1.lines().filter(|line| !line.starts_with("operations.decrypt"));
    let only: String = lines.flat_map(|line| [line, "\n"]).collect();
    let texts =
        [("a/primitive.toml", &*only), ("b/primitive.toml", MANIFESTS[1].1), ("c/primitive.toml", MANIFESTS[2].1)];
    let (library, problems) = Library::load(texts.iter().zip(0..).map(|((path, text), n)| (FileId(n), *path, *text)));
    assert_eq!(problems, []);
    let names: Vec<String> = library.select(&["box128"]).unwrap().iter().map(|spec| spec.full_name()).collect();
    assert_eq!(names, ["box128-encrypt", "box128-cbc-encrypt", "box128-ctr"]);
}

#[test]
fn a_broken_manifest_is_reported_once() {
    let broken = MANIFESTS[0].1.replace("operations.decrypt = { network", "operations.decrypt = { netwerk");
    let (_, problems) =
        Library::load([(FileId(0), "a/primitive.toml", &*broken), (FileId(1), "b/primitive.toml", MANIFESTS[1].1)]);
    assert!(!problems.is_empty());
    let slugs: Vec<&str> = problems.iter().map(|problem| problem.slug).collect();
    assert!(!slugs.contains(&REFERENCE), "the modes must not miss `decrypt` again: {problems:#?}");
}

#[test]
fn an_earlier_root_replaces_a_primitive() {
    let other = MANIFESTS[3].1.replace("output = 4", "output = 5");
    let (library, problems) = Library::load([
        (FileId(0), "x/sum/primitive.toml", &*other),
        (FileId(1), "x/sum/primitive.toml", MANIFESTS[3].1),
    ]);
    assert_eq!(problems, []);
    assert_eq!(library.manifests().len(), 1);
    let spec = library.operation("sum1", "hash").unwrap();
    assert_eq!(spec.output(Role::Output).unwrap().sizes, Sizes::exactly(5));
}

#[test]
fn vector_files_are_known_by_their_names() {
    let more = "[[vectors]]\nfile = \"sum_short.rsp\"\noperation = \"hash\"\n";
    let library = library_with(&[("hash/sum", &more.repeat(2))]);
    assert_eq!(library.mappings("sum_short").len(), 2);
    assert_eq!(library.mappings("/somewhere/sum_short.rsp").len(), 2);
    assert_eq!(library.mappings("sum").len(), 0);
    let manifest = library.manifests().iter().find(|manifest| manifest.primitive == "sum").unwrap();
    assert_eq!(library.vector_files(manifest), ["ctl/hash/sum/vectors/sum_short.rsp"]);
}

#[test]
fn a_mode_says_whether_it_can_refuse_a_message() {
    let box128 = MANIFESTS[0]
        .1
        .replace("\"Lut(N = 4)\"", "\"Lut(N = 4)\", constant_time = true")
        .replace("\"Decrypt(N = 4)\"", "\"Decrypt(N = 4)\", variants = { plain = { constant_time = true } }");
    let box128 = box128.as_str();
    let pad = r#"
title = "Padding"
shape = "mode"
standard = "S"
[operations.pad-encrypt]
network = "Pad"
cipher = "encrypt"
[operations.pad-decrypt]
network = "Unpad"
cipher = "decrypt"
verifies = true
"#;
    let texts = [(FileId(0), "ctl/block/box/primitive.toml", box128), (FileId(1), "ctl/mode/pad/primitive.toml", pad)];
    let (library, problems) = Library::load(texts);
    assert_eq!(problems, []);
    let spec = |name: &str| library.operation("box128", name).unwrap();
    assert!(spec("pad-decrypt").verifies && !spec("pad-encrypt").verifies);
    assert_eq!(ports(&spec("pad-decrypt").outputs), "Output/OutputSize Verified");
    // What it lets out depends on the plaintext.
    assert!(spec("pad-encrypt").variants[1].constant_time && !spec("pad-decrypt").variants[0].constant_time);

    let own =
        box128.replace("decrypt = { network = \"Decrypt(N = 2)\" }", "decrypt = { network = \"D\", verifies = true }");
    let (_, problems) = Library::load([(FileId(0), "ctl/block/box/primitive.toml", &*own)]);
    assert_eq!(
        problems.iter().map(|problem| problem.message.as_str()).collect::<Vec<_>>(),
        ["an operation has no key `verifies`"]
    );
}

#[test]
fn a_network_parameter_says_how_long_a_tag_is() {
    let cut = r#"
title = "Cut"
shape = "mac"
standard = "S"
[sets.cut]
key = 4
tag = [4, 8, 16]
tag_parameter = "TAG_BYTES"
operations.mac.network = "Cut(Cipher = a.B(N = 1), TAG_BYTES = 16)"
operations.verify.network = "Verify(Cipher = a.B(N = 1), TAG_BYTES = 16)"
"#;
    let (library, problems) = Library::load([(FileId(0), "ctl/mac/cut/primitive.toml", cut)]);
    assert_eq!(problems, []);
    let spec = library.operation("cut", "verify").unwrap();
    let tag = |spec: &OperationSpec| spec.input(Role::TagIn).unwrap().sizes.clone();
    assert_eq!(ports(&spec.inputs), "Rekey Key Input/InputSize TagIn/TagInSize", "its length could be another");
    assert_eq!((tag(spec), spec.forbidden_tag()), (Sizes::exactly(16), None));
    let with = |bytes: &str| spec.with_arguments(&[("TAG_BYTES".to_owned(), bytes.to_owned())]);
    assert_eq!((tag(&with("8")), with("8").forbidden_tag()), (Sizes::exactly(8), None));
    assert_eq!(with("8").variants[0].network.to_string(), "ctl.mac.cut.Verify(Cipher = a.B(N = 1), TAG_BYTES = 8)");
    let refused = with("7");
    assert!(!tag(&refused).allows(7) && !tag(&refused).allows(8));
    assert_eq!(refused.forbidden_tag(), Some(("TAG_BYTES", &Sizes::OneOf(vec![4, 8, 16]))));
}

#[test]
fn arguments_of_the_network_bound_the_input() {
    let counted = r#"
title = "Counted"
shape = "stream-cipher"
standard = "S"
[sets.counted]
key = 4
input_limit = "64 * (2 ** 32 - START)"
operations.stream.network = "Counted"
"#;
    let load = |text: &str| Library::load([(FileId(0), "ctl/stream/counted/primitive.toml", text)]);
    let (library, problems) = load(counted);
    assert_eq!(problems, []);
    let spec = library.operation("counted", "stream").unwrap();
    let with = |start: &str| spec.with_arguments(&[("START".to_owned(), start.to_owned())]);
    assert_eq!((spec.most_input(), with("0xffffffff").most_input()), (Some(1 << 38), Some(64)));
    assert_eq!((with("1").unclear_limit(), with("1 + 1").unclear_limit()), (None, Some("START")));
    let message = crate::framing::Message::new().with(Role::Key, [0; 4]);
    assert!(message.check_input(&with("0xffffffff"), 64).is_ok());
    let refused = message.check_input(&with("0xffffffff"), 65).unwrap_err();
    assert!(refused.message.contains("at most 64 bytes"), "{}", refused.message);
    assert!(!message.with(Role::Input, [0; 65]).check(&with("0xffffffff"), false).is_empty());
    let (_, problems) = load(&counted.replace("2 ** 32", "2 **"));
    assert_eq!(problems.len(), 1, "{problems:?}");
    // What is there and wrong is not called missing.
    for (wrong, message) in
        [("\"x\"", "must be a number of bytes"), ("-1", "from 0 to"), ("9223372036854775807", "from 0 to")]
    {
        let (_, problems) = load(&counted.replace("key = 4", &format!("key = {wrong}")));
        assert!(problems.len() == 1 && problems[0].message.contains(message), "{problems:?}");
    }
}
