//! The library's own manifests and AES vectors, played through the cases on an independent AES: mapping, directions,
//! framing and Monte Carlo chains are right before any engine is asked.

mod loading;

use std::collections::{BTreeMap, BTreeSet};

use aes::{Aes128, Aes192, Aes256};
use cipher::generic_array::GenericArray;
use cipher::{BlockDecrypt, BlockEncrypt, KeyInit};
use headrace_library::Role;
use headrace_library::catalog::{Library, OperationSpec};
use headrace_library::framing::{LAST_CHUNK, Message, MessageReader, MessageWriter, PortData, Tokens};
use headrace_library::known_answers::{Answer, Call, CallInput, Verdict, cases};
use headrace_library::vectors::VectorFile;
use headrace_source::FileId;
use loading::{library, root};

enum Aes {
    Short(Box<Aes128>),
    Middle(Box<Aes192>),
    Long(Box<Aes256>),
}

impl Aes {
    fn new(key: &[u8]) -> Aes {
        match key.len() {
            16 => Aes::Short(Box::new(Aes128::new_from_slice(key).unwrap())),
            24 => Aes::Middle(Box::new(Aes192::new_from_slice(key).unwrap())),
            32 => Aes::Long(Box::new(Aes256::new_from_slice(key).unwrap())),
            n => panic!("a key of {n} bytes reached the engine"),
        }
    }

    fn encrypt(&self, block: &[u8]) -> Vec<u8> {
        let mut block = GenericArray::clone_from_slice(block);
        match self {
            Aes::Short(aes) => aes.encrypt_block(&mut block),
            Aes::Middle(aes) => aes.encrypt_block(&mut block),
            Aes::Long(aes) => aes.encrypt_block(&mut block),
        }
        block.to_vec()
    }

    fn decrypt(&self, block: &[u8]) -> Vec<u8> {
        let mut block = GenericArray::clone_from_slice(block);
        match self {
            Aes::Short(aes) => aes.decrypt_block(&mut block),
            Aes::Middle(aes) => aes.decrypt_block(&mut block),
            Aes::Long(aes) => aes.decrypt_block(&mut block),
        }
        block.to_vec()
    }
}

fn xor(a: &[u8], b: &[u8]) -> Vec<u8> {
    a.iter().zip(b).map(|(a, b)| a ^ b).collect()
}

/// What the oracle knows: the modes of SP 800-38A.
const MODES: [&str; 6] = ["ecb-encrypt", "cbc-encrypt", "cfb8-encrypt", "cfb-encrypt", "ofb", "ctr"];

/// SP 800-38A, by the names of the library.
fn run(operation: &str, key: &[u8], iv: &[u8], input: &[u8]) -> Vec<u8> {
    let aes = Aes::new(key);
    let mut register = iv.to_vec();
    let mut out = Vec::new();
    let segment = if operation.starts_with("cfb8") { 1 } else { 16 };
    for x in input.chunks(segment) {
        let y = match operation {
            "encrypt" | "ecb-encrypt" => aes.encrypt(x),
            "decrypt" | "ecb-decrypt" => aes.decrypt(x),
            "cbc-encrypt" => aes.encrypt(&xor(x, &register)),
            "cbc-decrypt" => xor(&aes.decrypt(x), &register),
            _ => xor(x, &aes.encrypt(&register)),
        };
        match operation {
            "cbc-encrypt" | "cfb-encrypt" | "cfb8-encrypt" => register.extend(&y),
            "cbc-decrypt" | "cfb-decrypt" | "cfb8-decrypt" => register.extend(x),
            "ofb" => register.extend(xor(x, &y)),
            "ctr" => {
                let next = u128::from_be_bytes(register.clone().try_into().unwrap()).wrapping_add(1);
                register.extend(next.to_be_bytes());
            }
            _ => {}
        }
        register.drain(..register.len() - iv.len());
        out.extend(y);
    }
    out
}

/// The edge of a network that knows AES: takes tokens, keeps the key, gives tokens.
struct Engine<'l> {
    spec: &'l OperationSpec,
    key: Vec<u8>,
}

impl Engine<'_> {
    fn tokens(&mut self, fed: &[PortData]) -> Vec<PortData> {
        let mut ports: BTreeMap<&str, (Vec<u8>, Vec<u64>)> = BTreeMap::new();
        for data in fed {
            let port = ports.entry(&data.port).or_default();
            match &data.tokens {
                Tokens::Bytes(bytes) => port.0.extend(bytes),
                Tokens::Words(words) => port.1.extend(words),
            }
        }
        let mut take = |name: &str| ports.remove(name).unwrap_or_default();
        if take("Rekey").1.first() == Some(&1) {
            self.key = take("Key").0;
        }
        let input = take("Input").0;
        let iv = take("IV").0;
        let sizes = take("InputSize").1;
        let blocks = take("Blocks").1;
        assert!(ports.is_empty(), "unexpected ports {:?}", ports.keys());
        let output = run(&self.spec.name, &self.key, &iv, &input);
        let mut out = Vec::new();
        if matches!(self.spec.name.as_str(), "encrypt" | "decrypt") {
            assert_eq!(blocks.iter().sum::<u64>() * 16, input.len() as u64);
        } else {
            let told: u64 = sizes.iter().map(|token| token & (LAST_CHUNK - 1)).sum();
            assert_eq!(told, input.len() as u64);
            assert_eq!(sizes.iter().filter(|token| **token >= LAST_CHUNK).count(), 1);
            assert!(sizes.last().is_some_and(|token| *token >= LAST_CHUNK));
            out.push(PortData { port: "OutputSize".into(), tokens: Tokens::Words(sizes) });
        }
        out.push(PortData { port: "Output".into(), tokens: Tokens::Bytes(output) });
        out
    }

    /// A message through writer, engine and reader, its input cut into pieces of `piece` bytes.
    fn message(&mut self, message: &Message, piece: usize) -> Answer {
        let mut writer = MessageWriter::new(self.spec);
        let mut fed = writer.begin(message).unwrap();
        let input = message.get(Role::Input).unwrap();
        let mut at = 0;
        while input.len() - at > piece {
            fed.extend(writer.chunk(&input[at..at + piece], false).unwrap());
            at += piece;
        }
        fed.extend(writer.chunk(&input[at..], true).unwrap());
        let mut reader = MessageReader::new(self.spec);
        reader.expect(input.len() as u64);
        for data in self.tokens(&fed) {
            reader.push(&data.port, &data.tokens).unwrap();
        }
        assert!(reader.missing().is_empty(), "{:?}", reader.missing());
        Answer::Message(reader.finish().unwrap())
    }
}

/// Plays a file on the oracle; cases passed, records seen.
fn play(library: &Library, name: &str, scope: &[&OperationSpec], piece: usize) -> (usize, usize) {
    let path = root().join("ctl/block/aes/vectors").join(name);
    let (file, problems) = VectorFile::parse(FileId(0), &std::fs::read(&path).unwrap());
    assert!(problems.is_empty(), "{name}: {problems:#?}");
    let cases = cases(library, name, &file, scope);
    assert!(cases.problems.is_empty(), "{name}: {:#?}", cases.problems);
    for case in &cases.cases {
        let spec = library.operation(&case.set, &case.operation).unwrap();
        let mut engine = Engine { spec, key: Vec::new() };
        let verdict = case.perform(spec, |call: Call| -> Result<Answer, ()> {
            let CallInput::Message(message) = &call.input else { panic!("no message") };
            Ok(engine.message(message, piece))
        });
        assert_eq!(verdict, Ok(Verdict::Passed), "{name}, record {}, {}", case.count, case.operation);
    }
    (cases.cases.len(), file.records.len())
}

#[test]
fn every_record_of_every_file_passes_in_both_directions() {
    let library = library(&[]);
    let manifest = library.manifests().iter().find(|manifest| manifest.primitive == "aes").unwrap();
    let scope = library.select(&["aes"]).unwrap();
    let known = manifest.vectors.iter().filter(|entry| MODES.contains(&entry.operation.as_str()));
    let files: BTreeSet<&str> = known.map(|entry| entry.file.as_str()).collect();
    assert!(files.len() >= 19, "{files:?}");
    for name in files {
        let (n_cases, n_records) = play(&library, name, &scope, 1 << 20);
        let directions = if name == "aes_mct.rsp" { 1 } else { 2 };
        assert_eq!(n_cases, n_records * directions, "{name}");
    }
}

#[test]
fn pieces_of_any_size_make_no_difference() {
    let library = library(&[]);
    let scope = library.select(&["aes128"]).unwrap();
    for piece in [1, 5, 16, 17] {
        for name in ["aes128_ctr.rsp", "aes128_cbc.rsp", "aes128_cfb8.rsp"] {
            play(&library, name, &scope, piece);
        }
    }
}

#[test]
fn the_core_passes_the_ecb_records_under_another_name() {
    let library = library(&[]);
    // A file that no manifest names is for the one operation that was asked for.
    let scope = library.select(&["aes192 encrypt"]).unwrap_or_default();
    assert!(scope.is_empty(), "words are words");
    let scope = library.select(&["aes192", "encrypt"]).unwrap();
    assert_eq!(scope.len(), 1);
    let bytes = std::fs::read(root().join("ctl/block/aes/vectors/aes192_ecb.rsp")).unwrap();
    let (file, _) = VectorFile::parse(FileId(0), &bytes);
    let cases = cases(&library, "some_other_name.rsp", &file, &scope);
    assert!(cases.problems.is_empty(), "{:#?}", cases.problems);
    assert_eq!(cases.cases.len(), file.records.len());
    for case in &cases.cases {
        assert_eq!((case.set.as_str(), case.operation.as_str()), ("aes192", "encrypt"));
        let mut engine = Engine { spec: scope[0], key: Vec::new() };
        let verdict = case.perform(scope[0], |call: Call| -> Result<Answer, ()> {
            let CallInput::Message(message) = &call.input else { panic!("no message") };
            Ok(engine.message(message, 7))
        });
        assert_eq!(verdict, Ok(Verdict::Passed));
    }
}

/// A case that an engine fails must fail: one bit of one output is wrong.
#[test]
fn a_wrong_bit_is_seen() {
    let library = library(&[]);
    let scope = library.select(&["aes128"]).unwrap();
    for name in ["aes128_cbc.rsp", "aes_mct.rsp"] {
        let bytes = std::fs::read(root().join("ctl/block/aes/vectors").join(name)).unwrap();
        let (file, _) = VectorFile::parse(FileId(0), &bytes);
        for case in cases(&library, name, &file, &scope).cases {
            let spec = library.operation(&case.set, &case.operation).unwrap();
            let mut n_calls = 0;
            let verdict = case.perform(spec, |call: Call| -> Result<Answer, ()> {
                let CallInput::Message(message) = &call.input else { panic!("no message") };
                let mut out = run(
                    &call.operation,
                    message.get(Role::Key).unwrap(),
                    message.get(Role::Iv).unwrap_or_default(),
                    message.get(Role::Input).unwrap(),
                );
                n_calls += 1;
                if n_calls == 1 {
                    *out.last_mut().unwrap() ^= 1;
                }
                let outcome = headrace_library::framing::Outcome::Accepted(vec![(Role::Output, out)]);
                Ok(Answer::Message(outcome))
            });
            let Ok(Verdict::Failed(reason)) = verdict else { panic!("{name}, record {}", case.count) };
            assert!(reason.contains("differs from byte"), "{reason}");
        }
    }
}
