use super::*;
use crate::catalog::Library;
use crate::catalog::tests::library_with;
use crate::framing::Message;
use crate::vectors::VectorFile;
use headrace_source::FileId;

/// What the toy primitives of the little library compute.
fn toy(call: &Call) -> Answer {
    let message = match &call.input {
        CallInput::Message(message) => message,
        CallInput::Ports(ports) => {
            let bytes = |name: &str| ports.iter().find(|(port, _)| port == name).map(|(_, bytes)| bytes.clone());
            let (x, y) = (bytes("X").unwrap_or_default(), bytes("Y").unwrap_or_default());
            return Answer::Ports(vec![("Output".into(), x.iter().zip(y).map(|(x, y)| x ^ y).collect())]);
        }
    };
    let get = |role| message.get(role).unwrap_or_default();
    let input = get(Role::Input);
    let sum = |bytes: &[u8]| bytes.iter().fold(1u32, |sum, byte| sum.wrapping_mul(31).wrapping_add((*byte).into()));
    let rounds = call.arguments.iter().find(|(name, _)| name == "ROUNDS");
    let rounds: usize = rounds.map_or(1, |(_, text)| text.parse().expect("a number"));
    let stream = |start: &[u8], length: usize| -> Vec<u8> {
        let mut state = start.to_vec();
        (0..length)
            .map(|at| {
                state.push(at as u8);
                sum(&state).to_be_bytes()[2].wrapping_mul(rounds as u8)
            })
            .collect()
    };
    let mixed = |start: &[u8], bytes: &[u8]| -> Vec<u8> {
        bytes.iter().zip(stream(start, bytes.len())).map(|(x, k)| x ^ k).collect()
    };
    let accepted = |strings: Vec<(Role, Vec<u8>)>| Answer::Message(Outcome::Accepted(strings));
    let one = |role, bytes: Vec<u8>| accepted(vec![(role, bytes)]);
    match call.operation.as_str() {
        "hash" => one(Role::Output, sum(input).to_be_bytes().to_vec()),
        "mac" => one(Role::Tag, sum(&[get(Role::Key), input].concat()).to_be_bytes().to_vec()),
        "verify" => {
            let tag = sum(&[get(Role::Key), input].concat()).to_be_bytes();
            if tag.starts_with(get(Role::TagIn)) { accepted(vec![]) } else { Answer::Message(Outcome::Rejected) }
        }
        "stream" => one(Role::Output, mixed(&[get(Role::Key), get(Role::Iv)].concat(), input)),
        "generate" => {
            let seed = u16::from_be_bytes(get(Role::Seed).try_into().expect("two bytes"));
            let words =
                (1..=message.words).flat_map(|n| (seed.wrapping_add((n as u16).wrapping_mul(8192))).to_be_bytes());
            one(Role::Output, words.collect())
        }
        "encode" => one(Role::Output, input.iter().flat_map(|byte| [byte >> 4 | 64, byte & 15 | 64]).collect()),
        "decode" => {
            if input.len() % 2 == 1 || input.iter().any(|byte| byte & 0xf0 != 64) {
                return Answer::Message(Outcome::Rejected);
            }
            one(Role::Output, input.chunks(2).map(|pair| pair[0] << 4 | pair[1] & 15).collect())
        }
        "aead-encrypt" | "aead-decrypt" => {
            let start = [get(Role::Key), get(Role::Nonce), get(Role::Ad)].concat();
            let output = mixed(&start, input);
            let plain = if call.operation == "aead-encrypt" { input } else { &output };
            let tag = sum(&[&start, plain].concat()).to_be_bytes().to_vec();
            let secret = mixed(&[1], get(Role::SecretNonce));
            if call.operation == "aead-decrypt" && tag != get(Role::TagIn) {
                return Answer::Message(Outcome::Rejected);
            }
            accepted(vec![(Role::SecretNonceOut, secret), (Role::Output, output), (Role::Tag, tag)])
        }
        "ecb-encrypt" | "encrypt" => one(Role::Output, input.iter().map(|byte| byte.wrapping_add(3)).collect()),
        "decrypt" => one(Role::Output, input.iter().map(|byte| byte.wrapping_sub(3)).collect()),
        other => panic!("{other}"),
    }
}

/// `count operation: verdict` of every case; then the problems.
fn play(library: &Library, name: &str, words: &[&str], text: &str) -> Vec<String> {
    let (file, problems) = VectorFile::parse(FileId(0), text.as_bytes());
    assert_eq!(problems, []);
    let scope = library.select(words).unwrap();
    let found = cases(library, name, &file, &scope);
    let mut shown: Vec<String> = found
        .cases
        .iter()
        .map(|case| {
            let spec = library.operation(&case.set, &case.operation).unwrap();
            let verdict = case.perform(spec, |call| Ok::<_, ()>(toy(&call))).unwrap();
            let verdict = match verdict {
                Verdict::Passed => "passed".to_owned(),
                Verdict::Failed(reason) => reason,
            };
            format!("{} {}-{}: {verdict}", case.count, case.set, case.operation)
        })
        .collect();
    shown.extend(found.problems.iter().map(|problem| problem.message.clone()));
    shown
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The string that the toy makes of a message.
fn made(operation: &str, role: Role, message: Message) -> String {
    let call =
        Call { set: String::new(), operation: operation.into(), arguments: vec![], input: CallInput::Message(message) };
    let Answer::Message(outcome) = toy(&call) else { panic!() };
    hex(outcome.get(role).unwrap())
}

#[test]
fn hashes_and_their_monte_carlo_chain() {
    let vectors = "[[vectors]]\nfile = \"sum.rsp\"\noperation = \"hash\"\n\
                   [[vectors]]\nfile = \"sum_monte.rsp\"\noperation = \"hash\"\nkind = \"monte-carlo\"\n";
    let library = library_with(&[("hash/sum", vectors)]);
    let digest = made("hash", Role::Output, Message::new().with(Role::Input, *b"ab"));
    let text = format!("Count = 1\nMsg = 6162\nMD = {digest}\n\nCount = 2\nMsg = 6163\nMD = {digest}\n");
    let shown = play(&library, "sum.rsp", &["sum"], &text);
    assert_eq!(shown[0], "1 sum1-hash: passed");
    assert!(shown[1].starts_with("2 sum1-hash: `Output`: differs from byte 3"), "{shown:?}");
    // SHAVS 6.4, written down once more: m_i = H(m_{i-3} || m_{i-2} || m_{i-1}).
    let mut m = vec![vec![1, 2, 3, 4]; 3];
    for i in 3..1003 {
        let joined = [m[i - 3].as_slice(), &m[i - 2], &m[i - 1]].concat();
        let digest = made("hash", Role::Output, Message::new().with(Role::Input, joined));
        m.push(crate::vectors::hex(&digest).unwrap());
    }
    let text = format!("Count = 0\nSeed = 01020304\nMD = {}\n", hex(&m[1002]));
    assert_eq!(play(&library, "sum_monte", &["sum"], &text), ["0 sum1-hash: passed"]);
    let text = format!("Count = 0\nSeed = 01020304\nMD = {}\n", hex(&m[1001]));
    assert!(play(&library, "sum_monte", &["sum"], &text)[0].contains("output of operation 1000: differs"));
}

#[test]
fn macs_are_made_and_verified_truncated_and_forged() {
    let vectors = "[[vectors]]\nfile = \"mark.rsp\"\noperation = \"mac\"\nconvert = { Mac = \"leftmost\" }\n";
    let library = library_with(&[("mac/mark", vectors)]);
    let tag = made("mac", Role::Tag, Message::new().with(Role::Key, *b"kkkk").with(Role::Input, *b"m"));
    let record =
        |count, tag: &str, more: &str| format!("Count = {count}\nKey = 6b6b6b6b\nMsg = 6d\nMac = {tag}\n{more}\n");
    let text = record(1, &tag, "")
        + &record(2, &tag[..4], "Taglen = 2\n")
        + &record(3, "0000", "Result = FAIL\n")
        + &record(4, &tag, "Result = FAIL\n")
        + &record(5, &tag[..2], "Result = FAIL\n");
    assert_eq!(
        play(&library, "mark.rsp", &["mark"], &text),
        [
            "1 mark-mac: passed",
            "1 mark-verify: passed",
            "2 mark-mac: passed",
            "2 mark-verify: passed",
            "3 mark-verify: passed",
            "4 mark-verify: accepted, but must be rejected",
            "5 mark-verify: passed",
        ]
    );
}

#[test]
fn sealed_messages_are_cut_at_the_tag() {
    let vectors = "[[vectors]]\nfile = \"seal.rsp\"\noperation = \"aead-encrypt\"\nfields = { CT = \"SecretNonceOut || Output || Tag\" }\n";
    let library = library_with(&[("aead/seal", vectors)]);
    let message = Message::new()
        .with(Role::Key, *b"kkkk")
        .with(Role::Nonce, *b"n")
        .with(Role::SecretNonce, [5, 6])
        .with(Role::Input, *b"plain");
    let part = |role| made("aead-encrypt", role, message.clone());
    let sealed = part(Role::SecretNonceOut) + &part(Role::Output) + &part(Role::Tag);
    let head = "Key = 6b6b6b6b\nNonce = 6e\nAD =\n";
    let text = format!(
        "Count = 1\n{head}NSEC = 0506\nPT = {plain}\nCT = {sealed}\n\n\
         Count = 2\n{head}CT = 00{rest}\nResult = FAIL\n\n\
         Count = 3\n{head}CT = 0000\nResult = FAIL\n\n\
         Count = 4\nKey = 6b6b6b6b\nNonce =\nAD =\nCT = {sealed}\nResult = FAIL\n\n\
         Count = 5\n{head}CT = {sealed}\nResult = FAIL\n\n\
         Count = 6\n{head}NSEC = 0506\nPT =\nCT = 0000\n",
        plain = hex(b"plain"),
        rest = &sealed[..sealed.len() - 2],
    );
    assert_eq!(
        play(&library, "seal.rsp", &["seal"], &text),
        [
            "1 seal-aead-encrypt: passed",
            "1 seal-aead-decrypt: passed",
            "2 seal-aead-decrypt: passed",
            "3 seal-aead-decrypt: passed",
            "4 seal-aead-decrypt: passed",
            "5 seal-aead-decrypt: accepted, but must be rejected",
            "a field of 2 bytes is to hold 6 and more",
        ]
    );
}

#[test]
fn streams_have_offsets_key_streams_parameters_and_byte_orders() {
    let vectors = "[[vectors]]\nfile = \"pour.rsp\"\noperation = \"stream\"\nwhere = { Rounds = false, Order = false }\n\
                   [[vectors]]\nfile = \"pour.rsp\"\noperation = \"stream\"\nwhere = { Rounds = true }\nargs = { ROUNDS = \"Rounds\" }\n\
                   [[vectors]]\nfile = \"pour.rsp\"\noperation = \"stream\"\nwhere = { Order = \"RFC\" }\nconvert = { Key = \"reverse\", KS = \"reverse-2\" }\n";
    let library = library_with(&[("stream/pour", vectors)]);
    let zeros = Message::new().with(Role::Key, [1, 2]).with(Role::Input, [0; 5]);
    let stream = made("stream", Role::Output, zeros);
    let bytes = crate::vectors::hex(&stream).unwrap();
    let doubled: Vec<u8> = bytes.iter().map(|byte| byte.wrapping_mul(2)).collect();
    let turned = hex(&[bytes[1], bytes[0], bytes[3], bytes[2], bytes[4]]);
    let text = format!(
        "Count = 1\nKey = 0102\nKS = {stream}\n\n\
         Count = 2\nKey = 0102\nOffset = 3\nPT = 0000\nCT = {tail}\n\n\
         Count = 3\nKey = 0102\nRounds = 2\nKS = {doubled}\n\n\
         Count = 4\nKey = 0201\nOrder = RFC\nKS = {turned}\n\n\
         Count = 5\nKey = 0102\nOrder = ABC\nKS = {stream}\n\n\
         Count = 6\nKey = 0102\nPad = none\nKS = {stream}\n\n\
         Count = 7\nKey = 0102\nIV = 07\nKS = {stream}\n\n\
         Count = 8\nKey = 010203\nKS = {stream}\n",
        tail = &stream[6..],
        doubled = hex(&doubled),
    );
    let shown = play(&library, "pour.rsp", &["pour"], &text);
    assert_eq!(
        shown[..5],
        [
            "1 pour-stream: passed",
            "2 pour-stream: passed",
            "2 pour-stream: passed",
            "3 pour-stream: passed",
            "4 pour-stream: passed",
        ]
    );
    assert!(shown[5].starts_with("7 pour-stream: `Output`: differs"), "{shown:?}");
    assert_eq!(shown[6], "8 pour-stream: refused: `Key` of `pour-stream` has 3 bytes; it must have 2 bytes");
    assert_eq!(
        shown[7..],
        ["record 5 fits no entry of the manifest for `pour`", "the manifest does not say what the field `Pad` is",]
    );
}

#[test]
fn what_the_network_says_already_is_no_argument() {
    let vectors =
        "[[vectors]]\nfile = \"pour.rsp\"\noperation = \"stream\"\nargs = { ROUNDS = \"Rounds\", N = \"Taglen\" }\n";
    let library = library_with(&[("stream/pour", vectors)]);
    let text = "Count = 1\nKey = 0102\nRounds = 1\nTaglen = 4\nKS = 00\n\n\
                Count = 2\nKey = 0102\nRounds = 2\nTaglen = 4\nKS = 00\n";
    let (file, _) = VectorFile::parse(FileId(0), text.as_bytes());
    let found = cases(&library, "pour.rsp", &file, &library.select(&["pour"]).unwrap());
    let arguments: Vec<_> = found.cases.iter().map(|case| case.arguments.clone()).collect();
    let argument = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(arguments, [vec![argument("N", "4")], vec![argument("ROUNDS", "2"), argument("N", "4")]]);
}

#[test]
fn generators_are_asked_for_as_many_words_as_are_known() {
    let vectors = "[[vectors]]\nfile = \"count.rsp\"\noperation = \"generate\"\nfields = { X = \"Output@5\" }\n";
    let library = library_with(&[("prng/count", vectors)]);
    let text = "Count = 1\nSeed = 0001\nOut = 2001 4001\nX = a001\nPeriod = 8\n\n\
                Count = 2\nSeed = 0001\nOut = 2001 4002\n\n\
                Count = 3\nSeed = 0001\nPeriod = 16\n";
    let shown = play(&library, "count", &["count"], text);
    assert_eq!(shown[0], "1 count16-generate: passed");
    assert!(shown[1].contains("word 2: differs from byte 1"), "{shown:?}");
    assert!(shown[2].contains("the seed must come back as word 16 and not before; it is word 8"), "{shown:?}");
}

#[test]
fn bits_are_the_words_of_a_generator_of_bytes() {
    let vectors = "[[vectors]]\nfile = \"count.rsp\"\noperation = \"generate\"\nfields = { Bits = \"OutputWords\" }\nignore = [\"Out\"]\n";
    let library = library_with(&[("prng/count", vectors)]);
    // The first byte of the first word, and the second: the toy does not care how they are cut.
    let text = "Count = 1\nSeed = 0001\nOut = ffff\nBits = 0010000000000001\n\n\
                Count = 2\nSeed = 0001\nBits = 0010000000000000\n\nCount = 3\nSeed = 0001\nBits = 001\n";
    let shown = play(&library, "count", &["count"], text);
    assert_eq!(shown[0], "1 count16-generate: passed");
    assert!(shown[1].contains("word 2: differs"), "{shown:?}");
    assert_eq!(shown[2], "`Bits` is no list of words, nor of bits that make whole bytes");
}

#[test]
fn requests_to_a_generator_go_on_from_one_to_the_next() {
    let library = library_with(&[("prng/draw", "[[vectors]]\nfile = \"draw.rsp\"\noperation = \"generate\"\n")]);
    let text = "Count = 1\nSeed1 = 0102\nOutput1 = 03\nAd2 = 10\nEntropy2 = 07\nOutput2 = 1a1b\nOutput3 = 1c\n\n\
                Count = 2\nSeed1 = 0102\nOutput1 = 03\nOutput2 = 05\n\n\
                Count = 3\nSeed1 = 0102\nOutput1 = 03\nOutput2 = 000000000000000000\nResult = FAIL\n\n\
                Count = 4\nSeed1 = ff00\nOutput1 = 00\nResult = FAIL\n\n\
                Count = 5\nSeed1 = 0102\nOutput1 = 03\nResult = FAIL\n\n\
                Count = 6\nSeed1 = 0102\nAd2 = 00\nOutput2 = 00\n\nCount = 7\nSeed1 = 01\nOutput1 = 00\n";
    let (file, problems) = VectorFile::parse(FileId(0), text.as_bytes());
    assert_eq!(problems, []);
    let scope = library.select(&["draw"]).unwrap();
    let cases = cases(&library, "draw", &file, &scope);
    assert_eq!(cases.problems.len(), 1);
    assert_eq!(cases.problems[0].message, "the record has no output of request 1");
    // The state is the sum of all that came in, and counts; a seed that begins with ff is refused.
    let mut state = 0u8;
    let shown: Vec<String> = (cases.cases.iter())
        .map(|case| {
            let verdict = case.perform(scope[0], |call| -> Result<Answer, ()> {
                let CallInput::Message(message) = &call.input else { panic!() };
                let sum = |role| message.get(role).unwrap_or_default().iter().fold(0u8, |sum, b| sum.wrapping_add(*b));
                if message.get(Role::Seed).is_some_and(|seed| seed[0] == 0xff) {
                    return Ok(Answer::Message(Outcome::Rejected));
                }
                state = if message.rekey { 0 } else { state };
                state =
                    state.wrapping_add(sum(Role::Seed)).wrapping_add(sum(Role::Entropy)).wrapping_add(sum(Role::Ad));
                let output = (0..message.words).map(|n| state + n as u8).collect();
                state += message.words as u8 - 1 + u8::from(!message.rekey);
                Ok(Answer::Message(Outcome::Accepted(vec![(Role::Output, output)])))
            });
            format!("{} {verdict:?}", case.count)
        })
        .collect();
    assert_eq!(
        shown,
        [
            "1 Ok(Passed)",
            "2 Ok(Failed(\"output of request 2: differs from byte 0: 03 instead of 05\"))",
            "3 Ok(Passed)",
            "4 Ok(Passed)",
            "5 Ok(Failed(\"request 1 was served, but must be refused\"))",
            "7 Ok(Failed(\"refused: `Seed` of `draw-generate` has 1 bytes; it must have at least 2 bytes\"))",
        ]
    );
}

#[test]
fn codecs_run_both_ways_and_refuse() {
    let library = library_with(&[("codec/pairs", "[[vectors]]\nfile = \"pairs.rsp\"\noperation = \"encode\"\n")]);
    let text = "Count = 1\nData = 12\nText = AB\n\nCount = 2\nText = A\nResult = FAIL\n\nCount = 3\nText = AB\nResult = FAIL\n";
    assert_eq!(
        play(&library, "pairs", &["pairs"], text),
        [
            "1 pairs-encode: passed",
            "1 pairs-decode: passed",
            "2 pairs-decode: passed",
            "3 pairs-decode: accepted, but must be rejected",
        ]
    );
}

#[test]
fn iterated_encryption_feeds_the_output_back() {
    let vectors = "[[vectors]]\nfile = \"box.rsp\"\noperation = \"encrypt\"\n";
    let library = library_with(&[("block/box", vectors)]);
    let block = |first: u32| format!("{:02x}", first & 255).repeat(16);
    let text = format!(
        "Count = 1\nKey = {}\nPT = {}\nCT = {}\nCT100 = {}\nCT1000 = {}\n",
        block(9),
        block(0),
        block(3),
        block(300),
        block(3000)
    );
    assert_eq!(
        play(&library, "box", &["box"], &text),
        ["1 box128-encrypt: passed", "1 box128-encrypt: passed", "1 box128-decrypt: passed"]
    );
    let wrong = text.replace(&block(300), &block(301));
    assert!(play(&library, "box", &["box"], &wrong)[0].contains("output of operation 100: differs from byte 0"));
    assert_eq!(play(&library, "box", &["box128", "decrypt"], &text), ["1 box128-decrypt: passed"]);
}

#[test]
fn parts_are_fed_by_port() {
    let vectors = "[[vectors]]\nfile = \"xor.rsp\"\noperation = \"xor-8\"\nwhere = { Kind = \"xor-8\" }\n";
    let library = library_with(&[("parts/tokens", vectors)]);
    let text = "Count = 1\nKind = xor-8\nX = 0f\nY = f1\nOutput = fe\n\nCount = 2\nKind = xor-8\nX = 0f\nY = 00\nOutput = ff\n\n\
                Count = 3\nKind = xor-8\nZ = 00\nOutput = 00\n";
    let shown = play(&library, "xor", &["tokens"], text);
    assert_eq!(shown[0], "1 tokens-xor-8: passed");
    assert_eq!(shown[1], "2 tokens-xor-8: `Output`: differs from byte 0: 0f instead of ff");
    assert_eq!(shown[2], "`Z` is neither an input nor an output of `tokens-xor-8`");
}

#[test]
fn a_file_that_no_manifest_names_is_for_what_was_asked_for() {
    let library = library_with(&[]);
    let digest = made("hash", Role::Output, Message::new().with(Role::Input, *b"ab"));
    let text = format!("Count = 1\nMsg = 6162\nMD = {digest}\n");
    assert_eq!(play(&library, "mine.rsp", &["sum"], &text), ["1 sum1-hash: passed"]);
    // `encrypt` is one of several, and the name of the file mentions it.
    let text = format!("Count = 1\nKey = {0}\nPT = {0}\nCT = {1}\n", "01".repeat(16), "04".repeat(16));
    assert_eq!(
        play(&library, "box_encrypt.rsp", &["box128"], &text),
        ["1 box128-encrypt: passed", "1 box128-decrypt: passed"]
    );
    let shown = play(&library, "mine.rsp", &["box128"], &text);
    assert_eq!(shown.len(), 1);
    assert!(shown[0].contains("its name does not say which operation it is for"), "{shown:?}");
}

#[test]
fn what_cannot_be_checked_is_a_problem() {
    let vectors = "[[vectors]]\nfile = \"box.rsp\"\noperation = \"encrypt\"\n\
                   [[vectors]]\nfile = \"mct.rsp\"\noperation = \"cbc-encrypt\"\nkind = \"monte-carlo\"\ndirection = { field = \"Direction\", forward = \"E\", inverse = \"D\" }\n\
                   [[vectors]]\nfile = \"args.rsp\"\noperation = \"encrypt\"\nargs = { N = \"Rounds\" }\n";
    let library = library_with(&[("block/box", vectors)]);
    let key = format!("Key = {}\n", "01".repeat(16));
    assert_eq!(
        play(&library, "box", &["box"], &format!("Count = 1\n{key}PT = {}\n", "00".repeat(16))),
        ["the record has no field for `Output` of `box128-encrypt`"]
    );
    assert_eq!(
        play(&library, "mct", &["box"], &format!("Count = 1\n{key}Direction = X\n")),
        ["`Direction` is neither `E` nor `D`"]
    );
    assert_eq!(
        play(&library, "mct", &["box"], &format!("Count = 1\n{key}")),
        ["there is no `Direction`, which says the direction"]
    );
    assert_eq!(
        play(&library, "mct", &["box"], &format!("Count = 1\n{key}Direction = E\nPT = 00\nCT = 00\n")),
        ["a Monte Carlo record needs `IV`"]
    );
    assert_eq!(
        play(&library, "args", &["box"], &format!("Count = 1\n{key}PT = {0}\nCT = {0}\n", "00".repeat(16))),
        ["there is no `Rounds`, which the parameter `N` is to have"]
    );
}
