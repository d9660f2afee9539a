use super::*;
use crate::catalog::Library;
use crate::catalog::tests::library_with;

/// `port=tokens` for each piece: bytes as hex, words as numbers.
fn shown(data: &[PortData]) -> String {
    let pieces: Vec<String> = data
        .iter()
        .map(|data| match &data.tokens {
            Tokens::Bytes(bytes) => {
                let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                format!("{}={hex}", data.port)
            }
            Tokens::Words(words) => {
                let words: Vec<String> = words.iter().map(|word| format!("{word:#x}")).collect();
                format!("{}={}", data.port, words.join(","))
            }
        })
        .collect();
    pieces.join(" ")
}

fn whole(library: &Library, set: &str, name: &str, message: &Message) -> String {
    let spec = library.operation(set, name).unwrap();
    match MessageWriter::new(spec).whole(message) {
        Ok(data) => shown(&data),
        Err(problems) => problems.into_iter().map(|problem| problem.message).collect::<Vec<_>>().join("; "),
    }
}

fn block(n: usize) -> Vec<u8> {
    vec![0xab; n]
}

#[test]
fn messages_are_framed_by_the_conventions() {
    let library = library_with(&[]);
    let base = Message::new().with(Role::Key, block(16)).with(Role::Iv, block(16));
    let key = "ab".repeat(16);
    assert_eq!(
        whole(&library, "box128", "ctr", &base.clone().with(Role::Input, [1, 2, 3])),
        format!("Rekey=0x1 Key={key} IV={key} InputSize=0x80000003 Input=010203")
    );
    let mut again = base.clone().with(Role::Input, []);
    again.rekey = false;
    assert_eq!(
        whole(&library, "box128", "ctr", &again),
        format!("Rekey=0x0 IV={key} InputSize=0x80000000"),
        "the empty string is one token"
    );
    let short = Message::new().with(Role::Key, [1, 2]).with(Role::Iv, block(8)).with(Role::Input, block(8));
    assert_eq!(
        whole(&library, "boxvar", "cbc-encrypt", &short),
        "Rekey=0x1 KeySize=0x80000002 Key=0102 IV=abababababababab InputSize=0x80000008 Input=abababababababab"
    );
    let seal = Message::new()
        .with(Role::Key, block(4))
        .with(Role::Nonce, [9])
        .with(Role::SecretNonce, [7, 7])
        .with(Role::Input, [5])
        .with(Role::TagIn, block(4));
    assert_eq!(
        whole(&library, "seal", "aead-decrypt", &seal),
        "Rekey=0x1 Key=abababab NonceSize=0x80000001 Nonce=09 SecretNonce=0707 AdSize=0x80000000 InputSize=0x80000001 Input=05 TagIn=abababab"
    );
    let mut words = Message::new().with(Role::Seed, [1, 2]);
    words.words = 5;
    assert_eq!(whole(&library, "count16", "generate", &words), "Seed=0102 Blocks=0x5");
    assert_eq!(
        whole(&library, "sum1", "hash", &Message::new().with(Role::Input, [1])),
        "InputSize=0x80000001 Input=01"
    );
}

#[test]
fn cores_are_framed_in_bursts() {
    let library = library_with(&[]);
    let spec = library.operation("boxvar", "encrypt").unwrap();
    let message = Message::new().with(Role::Key, [1]);
    let mut writer = MessageWriter::new(spec);
    assert_eq!(shown(&writer.begin(&message).unwrap()), "");
    assert_eq!(shown(&writer.chunk(&[0; 5], false).unwrap()), "", "no whole block yet");
    assert_eq!(
        shown(&writer.chunk(&[1; 12], false).unwrap()),
        "Rekey=0x1 KeySize=0x80000001 Key=01 Blocks=0x2 Input=00000000000101010101010101010101"
    );
    assert_eq!(
        shown(&writer.chunk(&[2; 7], true).unwrap()),
        "Rekey=0x0 Blocks=0x1 Input=0102020202020202",
        "the key is sent once"
    );
    writer.begin(&message).unwrap();
    assert_eq!(shown(&writer.chunk(&[], true).unwrap()), "Rekey=0x1 KeySize=0x80000001 Key=01 Blocks=0x0 Input=");
    writer.begin(&message).unwrap();
    writer.chunk(&[0; 8], false).unwrap();
    let error = writer.chunk(&[0], true).unwrap_err();
    assert_eq!(error.message, "`Input` of `boxvar-encrypt` has 9 bytes; it must have a multiple of 8 bytes");
}

#[test]
fn a_combined_network_is_told_the_direction() {
    let library = library_with(&[]);
    let message = Message::new().with(Role::Key, [1, 2]).with(Role::Input, [3, 4]);
    assert_eq!(whole(&library, "both", "encrypt", &message), "Rekey=0x1 Decrypt=0x0 Key=0102 Blocks=0x1 Input=0304");
    assert_eq!(whole(&library, "both", "decrypt", &message), "Rekey=0x1 Decrypt=0x1 Key=0102 Blocks=0x1 Input=0304");
    let spec = library.operation("both", "decrypt").unwrap();
    let mut writer = MessageWriter::new(spec);
    writer.begin(&message).unwrap();
    writer.chunk(&[0; 2], false).unwrap();
    let second = shown(&writer.chunk(&[5, 6], true).unwrap());
    assert_eq!(second, "Rekey=0x0 Decrypt=0x1 Blocks=0x1 Input=0506", "every burst is told");
}

#[test]
fn chunks_end_with_the_top_bit() {
    let library = library_with(&[]);
    let spec = library.operation("sum1", "hash").unwrap();
    let mut writer = MessageWriter::new(spec);
    writer.begin(&Message::new()).unwrap();
    assert_eq!(shown(&writer.chunk(&[1, 2], false).unwrap()), "InputSize=0x2 Input=0102");
    assert_eq!(shown(&writer.chunk(&[], false).unwrap()), "");
    assert_eq!(shown(&writer.chunk(&[], true).unwrap()), "InputSize=0x80000000");
    assert!(writer.chunk(&[1], true).is_err(), "the message is over");
    // One chunk only, however the input comes.
    let spec = library.operation("seal", "aead-encrypt").unwrap();
    let mut writer = MessageWriter::new(spec);
    let message = Message::new()
        .with(Role::Key, block(4))
        .with(Role::Nonce, [9])
        .with(Role::SecretNonce, [7, 7])
        .with(Role::Ad, [3]);
    writer.begin(&message).unwrap();
    assert_eq!(shown(&writer.chunk(&[1, 2], false).unwrap()), "");
    assert_eq!(shown(&writer.chunk(&[3], true).unwrap()), "InputSize=0x80000003 Input=010203");
}

#[test]
fn illegal_sizes_are_refused_before_a_token_is_made() {
    let library = library_with(&[]);
    let message = Message::new().with(Role::Key, block(15)).with(Role::Input, block(17)).with(Role::Ad, []);
    assert_eq!(
        whole(&library, "box128", "cbc-encrypt", &message),
        "`Key` of `box128-cbc-encrypt` has 15 bytes; it must have 16 bytes; \
         `box128-cbc-encrypt` needs `IV` (16 bytes); \
         `Input` of `box128-cbc-encrypt` has 17 bytes; it must have a multiple of 16 bytes; \
         `box128-cbc-encrypt` takes no `Ad`"
    );
    let empty_nonce = Message::new().with(Role::Key, block(4)).with(Role::Nonce, []).with(Role::SecretNonce, [1, 1]);
    assert_eq!(
        whole(&library, "seal", "aead-encrypt", &empty_nonce),
        "`Nonce` of `seal-aead-encrypt` has 0 bytes; it must have 1 to 9 bytes"
    );
    let long_nonce =
        Message::new().with(Role::Key, block(4)).with(Role::Nonce, block(9)).with(Role::SecretNonce, [1, 1]);
    let spec = library.operation("seal", "aead-encrypt").unwrap();
    assert!(long_nonce.clone().with(Role::Input, vec![0; 255]).check(spec, false).is_empty());
    let problem = "`Input` of `seal-aead-encrypt` must have at most 255 bytes beside a nonce of this size";
    assert_eq!(whole(&library, "seal", "aead-encrypt", &long_nonce.clone().with(Role::Input, vec![0; 256])), problem);
    let mut writer = MessageWriter::new(spec);
    writer.begin(&long_nonce).unwrap();
    assert_eq!(shown(&writer.chunk(&[0; 200], false).unwrap()), "");
    assert_eq!(writer.chunk(&[0; 56], true).unwrap_err().message, problem);
}

fn bytes(port: &str, bytes: &[u8]) -> (String, Tokens) {
    (port.to_owned(), Tokens::Bytes(bytes.to_vec()))
}

fn words(port: &str, words: &[u64]) -> (String, Tokens) {
    (port.to_owned(), Tokens::Words(words.to_vec()))
}

#[test]
fn outputs_are_read_in_any_order_and_cut() {
    let library = library_with(&[]);
    let spec = library.operation("seal", "aead-encrypt").unwrap();
    let fed = [
        bytes("Output", &[1, 2]),
        words("OutputSize", &[1, 0]),
        bytes("Tag", &[9, 9]),
        words("OutputSize", &[0x8000_0002]),
        bytes("Output", &[3, 4, 5]),
        bytes("SecretNonceOut", &[6, 6]),
        bytes("Tag", &[9, 9, 8]),
    ];
    let mut reader = MessageReader::new(spec);
    for (port, tokens) in &fed {
        assert!(!reader.is_done());
        assert_eq!(reader.finish(), None);
        reader.push(port, tokens).unwrap();
    }
    let outcome = reader.finish().unwrap();
    assert_eq!(outcome.get(Role::Output), Some(&[1, 2, 3][..]));
    assert_eq!(outcome.get(Role::Tag), Some(&[9, 9, 9, 9][..]));
    assert_eq!(outcome.get(Role::SecretNonceOut), Some(&[6, 6][..]));
    // What came too early belongs to the next message.
    assert!(!reader.is_empty());
    reader.push("OutputSize", &Tokens::Words(vec![0x8000_0002])).unwrap();
    reader.push("SecretNonceOut", &Tokens::Bytes(vec![5, 5])).unwrap();
    assert_eq!(reader.missing(), ["`Tag` has 1 of 4"]);
    reader.push("Tag", &Tokens::Bytes(vec![8; 3])).unwrap();
    assert_eq!(reader.finish().unwrap().get(Role::Output), Some(&[4, 5][..]));
    assert!(reader.is_empty());
    assert!(reader.push("Nothing", &Tokens::Bytes(vec![])).is_err());
}

#[test]
fn output_can_be_taken_as_it_comes() {
    let library = library_with(&[]);
    let mut reader = MessageReader::new(library.operation("box128", "ctr").unwrap());
    reader.push("OutputSize", &Tokens::Words(vec![4])).unwrap();
    reader.push("Output", &Tokens::Bytes(vec![1, 2])).unwrap();
    assert_eq!(reader.take(), [1, 2]);
    assert_eq!(reader.missing(), ["`Output` has 2 bytes and the open chunk lacks 2"]);
    reader.push("Output", &Tokens::Bytes(vec![3, 4])).unwrap();
    assert_eq!(reader.missing(), ["`Output` has 4 bytes and no last chunk"]);
    reader.push("OutputSize", &Tokens::Words(vec![LAST_CHUNK])).unwrap();
    assert_eq!(reader.take(), [3, 4]);
    assert_eq!(reader.finish(), Some(Outcome::Accepted(vec![(Role::Output, vec![])])));
}

#[test]
fn bytes_as_they_are_pass_by_where_nothing_is_before_them() {
    let library = library_with(&[]);
    let mut reader = MessageReader::new(library.operation("box128", "ctr").unwrap());
    assert_eq!(reader.pass("Output", &[1, 2]), 0, "no chunk is open");
    reader.push("OutputSize", &Tokens::Words(vec![2, 3])).unwrap();
    assert_eq!((reader.pass("OutputSize", &[1, 2]), reader.pass("Tag", &[1])), (0, 0));
    assert_eq!(reader.pass("Output", &[1, 2, 3, 4]), 4);
    assert_eq!(reader.missing(), ["`Output` has 4 bytes and the open chunk lacks 1"]);
    assert_eq!(reader.pass("Output", &[5, 6]), 1);
    reader.push("Output", &Tokens::Bytes(vec![6])).unwrap();
    assert_eq!(reader.pass("Output", &[7]), 0, "a byte waits");
    reader.push("OutputSize", &Tokens::Words(vec![2])).unwrap();
    assert_eq!(reader.pass("Output", &[7]), 0, "a byte was not taken");
    assert_eq!(reader.take(), [6]);
    assert_eq!(reader.pass("Output", &[7]), 1);
    reader.push("OutputSize", &Tokens::Words(vec![LAST_CHUNK | 1])).unwrap();
    assert_eq!(reader.pass("Output", &[8, 9]), 1, "what follows is of the next message");
    assert_eq!(reader.finish(), Some(Outcome::Accepted(vec![(Role::Output, vec![])])));
    // Where the length is known.
    let mut reader = MessageReader::new(library.operation("box128", "encrypt").unwrap());
    reader.expect(16);
    assert_eq!((reader.pass("Output", &[1; 10]), reader.is_done()), (10, false));
    assert_eq!((reader.pass("Output", &[1; 10]), reader.is_done()), (6, true));
    // Words are no bytes.
    let mut reader = MessageReader::new(library.operation("count16", "generate").unwrap());
    reader.expect(4);
    assert_eq!(reader.pass("State", &[1, 2]), 0);
}

#[test]
fn memory_of_the_input_becomes_that_of_its_tokens() {
    let library = library_with(&[]);
    let spec = library.operation("box128", "ctr").unwrap();
    let message = Message::new().with(Role::Key, [1; 16]).with(Role::Iv, [2; 16]);
    let (mut lent, mut given) = (MessageWriter::new(spec), MessageWriter::new(spec));
    assert_eq!(lent.begin(&message).unwrap(), given.begin(&message).unwrap());
    for (bytes, last) in [(vec![3; 40], false), (vec![], false), (vec![4; 7], true)] {
        let mut memory = bytes.clone();
        let place = memory.as_ptr();
        let tokens = given.chunk_of(&mut memory, last).unwrap();
        assert_eq!(tokens, lent.chunk(&bytes, last).unwrap());
        assert!(memory.is_empty());
        let same = |part: &PortData| matches!(&part.tokens, Tokens::Bytes(bytes) if bytes.as_ptr() == place);
        assert_eq!(tokens.iter().any(same), !bytes.is_empty());
    }
}

#[test]
fn nothing_comes_out_unverified() {
    let library = library_with(&[]);
    let spec = library.operation("seal", "aead-decrypt").unwrap();
    for verified in [0, 1] {
        let mut reader = MessageReader::new(spec);
        for (port, tokens) in
            [bytes("SecretNonceOut", &[1, 1]), words("OutputSize", &[0x8000_0001]), bytes("Output", &[7])]
        {
            reader.push(&port, &tokens).unwrap();
        }
        assert_eq!(reader.take(), []);
        assert_eq!(reader.finish(), None);
        reader.push("Verified", &Tokens::Words(vec![verified])).unwrap();
        assert_eq!(reader.take(), []);
        let outcome = reader.finish().unwrap();
        if verified == 0 {
            assert_eq!(outcome, Outcome::Rejected);
        } else {
            assert_eq!(outcome.get(Role::Output), Some(&[7][..]));
        }
    }
}

#[test]
fn counted_outputs_end_by_count() {
    let library = library_with(&[]);
    let mut reader = MessageReader::new(library.operation("box128", "encrypt").unwrap());
    reader.expect(16);
    reader.push("Output", &Tokens::Bytes(vec![1; 20])).unwrap();
    assert_eq!(reader.finish().unwrap().get(Role::Output), Some(&[1; 16][..]));
    assert_eq!(reader.finish(), None, "the next burst was not announced");
    reader.expect(4);
    assert_eq!(reader.finish().unwrap().get(Role::Output), Some(&[1; 4][..]));
    reader.expect(0);
    assert!(reader.is_done());
    // Words of 16 bits, most significant byte first.
    let mut reader = MessageReader::new(library.operation("count16", "generate").unwrap());
    reader.expect(4);
    reader.push("State", &Tokens::Words(vec![0x0102, 0x0304])).unwrap();
    assert_eq!(reader.finish().unwrap().get(Role::Output), Some(&[1, 2, 3, 4][..]));
}

#[test]
fn generators_that_go_on_are_seeded_and_reseeded_when_wanted() {
    let library = library_with(&[]);
    let mut first = Message::new().with(Role::Seed, [1, 2]).with(Role::Ad, [3]);
    first.words = 5;
    let sent = whole(&library, "draw", "generate", &first);
    assert_eq!(sent, "Rekey=0x1 AdSize=0x80000001 Ad=03 SeedSize=0x80000002 Seed=0102 Reseed=0x0 Blocks=0x5");
    let mut next = Message::new().with(Role::Entropy, [9]);
    next.rekey = false;
    let sent = whole(&library, "draw", "generate", &next);
    assert_eq!(sent, "Rekey=0x0 AdSize=0x80000000 Reseed=0x1 EntropySize=0x80000001 Entropy=09 Blocks=0x0");
    next.words = 9;
    let spec = library.operation("draw", "generate").unwrap();
    let problems = next.check(spec, false);
    assert_eq!(problems[0].message, "9 words are asked for; one request is for at most 8");
    // A request that is refused has no output, and may be answered before it is said how much is expected.
    let mut reader = MessageReader::new(spec);
    reader.push("Served", &Tokens::Words(vec![0])).unwrap();
    reader.expect(3);
    assert_eq!(reader.finish(), Some(Outcome::Rejected));
    reader.expect(2);
    reader.push("Served", &Tokens::Words(vec![1])).unwrap();
    assert_eq!(reader.finish(), None);
    reader.push("Output", &Tokens::Bytes(vec![7, 8])).unwrap();
    assert_eq!(reader.finish().unwrap().get(Role::Output), Some(&[7, 8][..]));
}

#[test]
fn other_widths_keep_the_order_of_the_standard() {
    let port = |bits| PortSpec {
        role: Role::Input,
        name: "X".into(),
        bits,
        class: crate::ports::Class::Public,
        sizes: crate::sizes::Sizes::any(),
        companion: None,
    };
    assert_eq!(tokens(&port(1), &[0b1000_0010]), Ok(Tokens::Words(vec![1, 0, 0, 0, 0, 0, 1, 0])));
    assert_eq!(tokens(&port(32), &[1, 2, 3, 4]), Ok(Tokens::Words(vec![0x0102_0304])));
    assert!(tokens(&port(32), &[1, 2, 3]).is_err());
}

#[test]
fn an_announced_length_makes_one_chunk_of_many_pieces() {
    let library = library_with(&[]);
    let spec = library.operation("seal", "aead-encrypt").unwrap();
    let message = Message::new().with(Role::Key, block(4)).with(Role::Nonce, [9]).with(Role::SecretNonce, [7, 7]);
    let mut writer = MessageWriter::new(spec);
    writer.begin(&message).unwrap();
    writer.announce(3);
    assert_eq!(shown(&writer.chunk(&[1], false).unwrap()), "InputSize=0x80000003 Input=01");
    assert_eq!(shown(&writer.chunk(&[2, 3], true).unwrap()), "Input=0203");
    for (pieces, last) in [(&[1u8, 2, 3, 4][..], false), (&[1], true)] {
        writer.begin(&message).unwrap();
        writer.announce(3);
        assert!(writer.chunk(pieces, last).is_err());
    }
    writer.begin(&message).unwrap();
    writer.announce(0);
    assert_eq!(shown(&writer.chunk(&[], true).unwrap()), "InputSize=0x80000000");
}
