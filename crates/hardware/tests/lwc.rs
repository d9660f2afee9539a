//! Whole messages through cores with the LWC hardware API: what comes out is what the interpreter makes, and a block of a long message
//! takes as many cycles as it has rounds, or one more.

use folders::Folders;
use headrace_engine::{CollectingHost, exhaust};
use headrace_frontend::{Session, Top, elaborate};
use headrace_hardware::{Options, lower};
use headrace_interp::Interpreter;
use headrace_ir::{Network, Port};
use headrace_rtl::simulate::Simulator;
use headrace_rtl::{Bits, verify};
use std::path::Path;

#[path = "../../frontend/tests/support/folders.rs"]
mod folders;

fn network(text: &str) -> Network {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut session = Session::new();
    let network = elaborate(&mut session, &Folders(vec![root]), &Top::Expression(text.to_owned()), &[]);
    network.unwrap_or_else(|| panic!("{:?}", session.take_diagnostics()))
}

/// What the interpreter makes of words at each input.
fn interpreted(network: &Network, inputs: &[Vec<u64>]) -> Vec<u64> {
    let mut engine = Interpreter::new(network.clone(), headrace_interp::Options::default()).expect("it starts");
    let mut host = CollectingHost::default();
    let bytes = |(port, words): (&Port, &Vec<u64>)| {
        words.iter().flat_map(|word| word.to_le_bytes()[..port.ty.storage_bytes()].to_vec()).collect()
    };
    let mut waiting: Vec<Vec<u8>> = network.inputs.iter().zip(inputs).map(bytes).collect();
    let mut outputs = vec![Vec::new(); 1];
    exhaust(&mut engine, network, &mut waiting, &mut outputs, &mut host).expect("it has no errors");
    let bytes = network.outputs[0].ty.storage_bytes();
    outputs[0]
        .chunks(bytes)
        .map(|token| token.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
        .collect()
}

/// What `headrace build --shape lwc` takes.
fn options() -> Options {
    Options {
        fifo_tokens: 16,
        loop_levels: 36,
        unrolled_iterations: 256,
        unrolled_steps: 4096,
        rounds_at_entry: true,
        ..Options::default()
    }
}

/// What the hardware makes of these words, without stalls, and the cycles in which words came that are the last of their message.
fn simulated(network: &Network, inputs: &[Vec<u64>], n_words: usize) -> (Vec<u64>, Vec<u64>) {
    let design = lower(network, &options()).expect("it has a place in hardware");
    assert_eq!(verify(&design), Vec::<String>::new());
    let mut simulator = Simulator::new(&design).expect("it is right");
    let mut at = vec![0; inputs.len()];
    let (mut words, mut ends) = (Vec::new(), Vec::new());
    simulator.reset();
    for cycle in 0..200_000 {
        for ((port, all), at) in network.inputs.iter().zip(inputs).zip(&at) {
            let word = all.get(*at);
            simulator.set(&format!("{}_data_i", port.name), Bits::new(port.ty.width(), word.copied().unwrap_or(0)));
            simulator.set(&format!("{}_valid_i", port.name), Bits::new(1, u32::from(word.is_some())));
        }
        simulator.set("Do_ready_i", Bits::new(1, 1u32));
        simulator.settle();
        let number = |name: &str| simulator.get(name).and_then(Bits::to_u64).expect("there is such a port");
        for ((port, all), at) in network.inputs.iter().zip(inputs).zip(&mut at) {
            *at += usize::from(*at < all.len() && number(&format!("{}_ready_o", port.name)) == 1);
        }
        if number("Do_valid_o") == 1 {
            let word = number("Do_data_o");
            words.push(word);
            if word >> (network.outputs[0].ty.width() - 1) == 1 {
                ends.push(cycle);
            }
            if words.len() == n_words {
                break;
            }
        }
        simulator.clock();
    }
    (words, ends)
}

/// Bytes of what goes in and out of a core.
#[derive(Clone, Copy)]
struct Sizes {
    word: u32,
    block: u32,
    /// Of each block of associated data that are something else.
    front: u32,
    key: u32,
    nonce: u32,
    tag: u32,
}

/// Words of 32 bits, and everything else is a block of 16 bytes.
const USUAL: Sizes = Sizes { word: 4, block: 16, front: 0, key: 16, nonce: 16, tag: 16 };

impl Sizes {
    /// A header or an instruction, in front of a word.
    fn front(self, header: u32) -> u64 {
        u64::from(header) << (8 * self.word - 32)
    }

    fn segment(self, kind: u32, flags: u32, bytes: u32, seed: u32) -> Vec<u64> {
        let data = |at: u32| u64::from(at + seed).wrapping_mul(0x9e37_79b9_9e37_79b1) >> (64 - 8 * self.word);
        let header = self.front((kind << 28) | (flags << 24) | bytes);
        std::iter::once(header).chain((0..bytes.div_ceil(self.word)).map(data)).collect()
    }
}

/// Clock cycles from the end of one message to that of the next one, for each message, where all of what comes out is right.
fn cycles_of_messages(name: &str, inputs: &[Vec<u64>]) -> Vec<u64> {
    let network = network(name);
    let wanted = interpreted(&network, inputs);
    let (words, ends) = simulated(&network, inputs, wanted.len());
    assert_eq!(words, wanted, "{name}");
    ends.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// Blocks of the last two messages, from whose difference follows what a block takes in a long one. Messages before them are short: of a
/// whole block, and with an end that is no block.
const BLOCKS: [u32; 2] = [9, 17];

/// A message of `bytes` bytes with `ad` bytes of associated data: its instruction is 2 to encrypt it, or 3 to decrypt it with a tag
/// that is wrong. The nonce comes of `seed`.
fn message(sizes: Sizes, instruction: u32, seed: u32, ad: u32, bytes: u32) -> Vec<u64> {
    let (text, flags) = if instruction == 2 { (4, 7) } else { (5, 6) };
    let mut words = vec![sizes.front(instruction << 28)];
    words.extend(sizes.segment(0xd, 2, sizes.nonce, seed));
    words.extend(sizes.segment(1, 2, ad, 5));
    words.extend(sizes.segment(text, flags, bytes, 7));
    if instruction == 3 {
        words.extend(sizes.segment(8, 3, sizes.tag, 9));
    }
    words
}

/// Messages behind the instruction for a key, and the key.
fn under_a_key(sizes: Sizes, messages: impl Iterator<Item = Vec<u64>>) -> Vec<Vec<u64>> {
    let pdi = std::iter::once(sizes.front(0x7000_0000)).chain(messages.flatten()).collect();
    vec![pdi, [vec![0x4000_0000], USUAL.segment(0xc, 7, sizes.key, 1)].concat()]
}

/// Messages that are encrypted, or decrypted and refused; one of the short ones has associated data.
fn aead(sizes: Sizes, instruction: u32) -> Vec<Vec<u64>> {
    let block = sizes.block;
    let all = [(block, 0), (2 * block + block / 2 - 1, block + 5), (BLOCKS[0] * block, 0), (BLOCKS[1] * block, 0)];
    under_a_key(sizes, all.into_iter().map(|(bytes, ad)| message(sizes, instruction, 3, ad, bytes)))
}

fn cycles_of_a_block(name: &str, inputs: &[Vec<u64>]) -> u64 {
    let cycles = cycles_of_messages(name, inputs);
    let [.., shorter, longer] = cycles[..] else { panic!("{cycles:?}") };
    // How far a message overlaps with the one before may differ by a few cycles.
    let more = u64::from(BLOCKS[1] - BLOCKS[0]);
    (longer - shorter + more / 2) / more
}

#[test]
fn ascon_takes_its_eight_rounds() {
    let core = "ctl.parts.lwc.Aead(Encrypt = ctl.aead.ascon.AsconEncrypt(), Decrypt = ctl.aead.ascon.AsconDecrypt())";
    assert_eq!(cycles_of_a_block(core, &aead(USUAL, 2)), 8);
    assert_eq!(cycles_of_a_block(core, &aead(USUAL, 3)), 8);
}

/// Messages in both directions, with empty strings and ends that are no block.
fn in_both_directions(sizes: Sizes) -> Vec<Vec<u64>> {
    let block = sizes.block;
    let all = [0, 1, 4, block - 1, block, block + 1, 2 * block + 7].into_iter().enumerate();
    let both = all.flat_map(|(number, bytes)| [2, 3].map(|instruction| (number as u32, bytes, instruction)));
    under_a_key(
        sizes,
        both.map(|(number, bytes, instruction)| {
            let ad = [0, block, 5, 2 * block + 1, 2 * block, 1][(number + instruction) as usize % 6];
            message(sizes, instruction, 3 + number, ad, bytes)
        }),
    )
}

/// The bytes of a segment by its number and those of a block of its string, where that has more.
type Cut = fn(u32, u32) -> u32;

impl Sizes {
    /// A string in segments, each but the last one of as many bytes as `cut` says of its number; those of no byte, too.
    fn in_segments(self, kind: u32, flags: u32, bytes: u32, seed: u32, cut: Cut) -> Vec<u64> {
        let (mut words, mut left) = (Vec::new(), bytes);
        let block = if kind == 1 { self.block - self.front } else { self.block };
        for number in 0.. {
            let some = cut(number + seed, block);
            if some > left || number == 6 {
                words.extend(self.segment(kind, flags, left, seed + number));
                break;
            }
            // The flags that say that it is the last one are those of the last one.
            words.extend(self.segment(kind, flags & 4, some, seed + number));
            left -= some;
        }
        words
    }
}

/// A string in one segment.
const WHOLE: Cut = |_, _| 1000;

/// Messages in both directions whose associated data and texts are in segments, with ends that are no word.
fn in_pieces(sizes: Sizes, cut: Cut) -> Vec<Vec<u64>> {
    let block = sizes.block;
    let all = [0, 4, block, block + 1, 2 * block, 2 * block + 7, 4 * block, 6 * block - 1].into_iter().enumerate();
    under_a_key(
        sizes,
        all.flat_map(|(number, bytes)| {
            let seed = number as u32;
            [2, 3].map(|instruction| {
                let (text, flags) = if instruction == 2 { (4, 7) } else { (5, 6) };
                let mut words = vec![sizes.front(instruction << 28)];
                words.extend(sizes.segment(0xd, 2, sizes.nonce, 3));
                let ad = [0, block + 5, block, 3 * block][number % 4];
                words.extend(sizes.in_segments(1, 2, ad, seed + instruction, cut));
                words.extend(sizes.in_segments(text, flags, bytes, seed, cut));
                if instruction == 3 {
                    words.extend(sizes.segment(8, 3, sizes.tag, 9));
                }
                words
            })
        }),
    )
}

/// The same without segments that are empty and not the last ones of their strings.
fn without_nothing(sizes: Sizes, inputs: &[Vec<u64>]) -> Vec<Vec<u64>> {
    let mut pdi = Vec::new();
    let mut words = inputs[0].iter().copied();
    // An instruction has no data; a header says how many words follow.
    let mut open = false;
    while let Some(word) = words.next() {
        let front = word >> (8 * sizes.word - 32);
        let data = if open { (front & 0xffff).div_ceil(u64::from(sizes.word)) } else { 0 };
        if !open || front & 0x300_ffff != 0 {
            pdi.push(word);
        }
        pdi.extend(words.by_ref().take(data as usize));
        open = if open { front >> 24 & 1 == 0 } else { front >> 29 == 1 };
    }
    vec![pdi, inputs[1].clone()]
}

/// Segments end where blocks end.
const CUTS: [Cut; 2] = [|_, block| block, |number, block| [block, 0, 2 * block][number as usize % 3]];

/// A core with one cipher on blocks makes what one with a cipher for each direction makes.
fn one_cipher_makes_what_two_make(one: &str, two: &str, sizes: Sizes, cycles: u64) {
    let core = network(one);
    for inputs in CUTS.map(|cut| in_pieces(sizes, cut)).into_iter().chain([in_both_directions(sizes)]) {
        let wanted = interpreted(&network(two), &without_nothing(sizes, &inputs));
        assert_eq!(interpreted(&core, &inputs), wanted, "{one}");
        assert_eq!(simulated(&core, &inputs, wanted.len()).0, wanted, "{one}");
    }
    a_cut_within_a_block_fails(one, sizes);
    if !one.contains("TAGLESS = true") {
        an_empty_tag_fails(one, sizes);
    }
    for instruction in [2, 3] {
        let taken = cycles_of_a_block(one, &aead(sizes, instruction));
        assert!(taken <= cycles, "{one}: {taken}");
    }
}

/// Whether a day is one of those on which a third of the ciphers on blocks is tried; all are with `HEADRACE_WHOLE=all`.
fn is_turn_of(cipher: &str) -> bool {
    let all = std::env::var("HEADRACE_WHOLE").is_ok_and(|what| what == "all");
    let days = std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs() / (24 * 60 * 60));
    all || cipher.bytes().map(u64::from).sum::<u64>() % 3 == days % 3
}

/// A cipher on blocks makes what its networks for messages make, in cores, and no block takes more cycles than so many.
fn cipher_on_blocks(cipher: &str, [encrypt, decrypt]: [&str; 2], more: &str, sizes: Sizes, cycles: u64) {
    if !is_turn_of(cipher) {
        return;
    }
    let Sizes { word, block, front, key, nonce, tag } = sizes;
    let long = if nonce.max(tag) > block { ", LONG = true" } else { "" };
    let own = format!("KEY_BYTES = {key}, TAG_BYTES = {tag}, WORD_BYTES = {word}");
    let front = if front > 0 { format!(", AD_FRONT = {front}, EACH_FRONT = true") } else { String::new() };
    let tagless = if more.contains("TAG_OUT_FRAMED") { ", TAGLESS = true" } else { "" };
    let one =
        format!("ctl.parts.lwc.AeadBlocks(Cipher = {cipher}, BLOCK_BYTES = {block}, {own}{long}{front}{tagless})");
    let two =
        format!("ctl.parts.lwc.Aead(Encrypt = {encrypt}, Decrypt = {decrypt}, NONCE_BYTES = {nonce}, {own}{more})");
    one_cipher_makes_what_two_make(&one, &two, sizes, cycles);
}

/// A message of which a string is cut within a block, which a core on blocks does not take, fails, and the messages behind it are as if
/// it were not there: they succeed.
fn a_cut_within_a_block_fails(core: &str, sizes: Sizes) {
    let whole = WHOLE;
    let cuts: [Cut; 3] =
        [|_, _| 3, |number, block| [3, block, 1, block / 2][number as usize % 4], |_, block| block - 1];
    let core = network(core);
    let [words, some, all_but_few] = cuts;
    for of in [[words, whole, whole], [whole, some, whole], [whole, whole, all_but_few], [some; 3]] {
        let misfit = |seed: u32, bytes: u32| {
            let mut words = vec![sizes.front(2 << 28)];
            words.extend(sizes.in_segments(0xd, 2, sizes.nonce, seed, of[0]));
            words.extend(sizes.in_segments(1, 2, sizes.block + 10, seed, of[1]));
            words.extend(sizes.in_segments(4, 7, bytes, seed, of[2]));
            words
        };
        let block = sizes.block;
        let good = message(sizes, 2, 3, block + 5, 2 * block + 7);
        let all = [good.clone(), misfit(0, block + 10), good.clone(), misfit(1, 2 * block), good];
        let messages = made_of(&core, sizes, all.into_iter());
        assert_eq!(statuses(sizes, &messages), [0x1e, 0x1f, 0x1e, 0x1f, 0x1e]);
        assert!(messages[0] == messages[2] && messages[0] == messages[4]);
    }
}

/// A message with a tag of no byte fails, and the one behind it succeeds.
fn an_empty_tag_fails(core: &str, sizes: Sizes) {
    // Of a tag of several blocks it is only the first.
    if sizes.tag > sizes.block {
        return;
    }
    let good = message(sizes, 2, 3, sizes.block + 5, 2 * sizes.block + 7);
    let without = message(Sizes { tag: 0, ..sizes }, 3, 3, sizes.block + 5, 2 * sizes.block + 7);
    let messages = made_of(&network(core), sizes, [good.clone(), without, good].into_iter());
    assert_eq!(statuses(sizes, &messages), [0x1e, 0x1f, 0x1e]);
    assert_eq!(messages[0], messages[2]);
}

/// What a core makes of each message, in the interpreter and in simulation.
fn made_of(core: &Network, sizes: Sizes, messages: impl Iterator<Item = Vec<u64>>) -> Vec<Vec<u64>> {
    let inputs = under_a_key(sizes, messages);
    let wanted = interpreted(core, &inputs);
    let (words, _) = simulated(core, &inputs, wanted.len());
    assert_eq!(words, wanted);
    words.split_inclusive(|word| word >> (8 * sizes.word) == 1).map(<[u64]>::to_vec).collect()
}

/// Success and failure of messages, as the API has them, behind the bit of a last word.
fn statuses(sizes: Sizes, messages: &[Vec<u64>]) -> Vec<u64> {
    messages.iter().filter_map(|message| message.last()).map(|word| word >> (8 * sizes.word - 4)).collect()
}

#[test]
fn ascon_on_blocks_takes_its_rounds_and_a_cycle() {
    let two = "ctl.parts.lwc.Aead(Encrypt = ctl.aead.ascon.AsconEncrypt(), Decrypt = ctl.aead.ascon.AsconDecrypt())";
    let one = "ctl.parts.lwc.AeadBlocks(Cipher = ctl.aead.ascon.AsconBlocks(), PADS = true)";
    one_cipher_makes_what_two_make(one, two, USUAL, 9);
}

#[test]
fn ascon128_on_blocks_has_blocks_of_two_words() {
    let parameters = "Permutation = ctl.parts.ascon.AsconP(FROM_FIRST = true), RATE_BYTES = 8, B_ROUNDS = 6, \
                      IV = 0x800c060000000000, SEPARATOR = 1, BIG_ENDIAN = true, PADDING = 0x80";
    let two = format!(
        "ctl.parts.lwc.Aead(Encrypt = ctl.aead.ascon.AsconEncrypt({parameters}), \
         Decrypt = ctl.aead.ascon.AsconDecrypt({parameters}))"
    );
    let one = format!(
        "ctl.parts.lwc.AeadBlocks(Cipher = ctl.aead.ascon.AsconBlocks({parameters}), BLOCK_BYTES = 8, LONG = true, \
         PADS = true)"
    );
    one_cipher_makes_what_two_make(&one, &two, Sizes { block: 8, ..USUAL }, 7);
}

#[test]
fn gcm_on_blocks_takes_as_long_as_its_cipher() {
    let cipher = "Cipher = ctl.block.aes.AesEncrypt(NK = 4)";
    let two = format!(
        "ctl.parts.lwc.Aead(Encrypt = ctl.aead.gcm.GcmEncrypt({cipher}), Decrypt = ctl.aead.gcm.GcmDecrypt({cipher}), \
         NONCE_BYTES = 12, NONCE_FRAMED = true, TAG_FRAMED = true)"
    );
    let one = format!("ctl.parts.lwc.AeadBlocks(Cipher = ctl.aead.gcm.GcmBlocks({cipher}))");
    one_cipher_makes_what_two_make(&one, &two, Sizes { nonce: 12, ..USUAL }, 10);
    // Key stream is made ahead, so that nothing needs to come through in the cycle in which it is made.
    let let_through = |network: &Network| {
        let design = lower(network, &options()).expect("it has a place in hardware");
        design.modules.iter().filter(|module| module.name.starts_with("headrace_direct_fifo_128x")).count()
    };
    let mut core = network(&one);
    assert_eq!(let_through(&core), 0);
    // Each burst is one block, which the network says by a constant: nothing counts them.
    let design = lower(&core, &options()).expect("it has a place in hardware");
    let mut signals = design.modules.iter().flat_map(|module| &module.signals);
    assert!(!signals.any(|signal| signal.name.contains("admission_outside")));
    core.connections.iter_mut().for_each(|connection| connection.is_registered = false);
    assert_ne!(let_through(&core), 0);
}

#[test]
fn ocb_on_blocks_has_one_cipher_for_both_directions() {
    let aes = "ctl.block.aes.AesEncrypt(NK = 4)";
    cipher_on_blocks(
        "ctl.aead.ocb3.OcbBlocks(Cipher = ctl.block.aes.AesRounds())",
        [
            &format!("ctl.aead.ocb3.OcbEncrypt(Cipher = {aes})"),
            &format!("ctl.aead.ocb3.OcbDecrypt(Cipher = {aes}, Inverse = ctl.block.aes.AesDecrypt(NK = 4))"),
        ],
        ", NONCE_FRAMED = true, TAG_FRAMED = true",
        Sizes { nonce: 12, ..USUAL },
        11,
    );
}

#[test]
fn tweakable_ciphers_on_blocks_have_one_for_both_directions() {
    let networks =
        |name: &str| ["Encrypt", "Decrypt"].map(|way| format!("ctl.aead.{}.{name}{way}()", name.to_lowercase()));
    let joltik = Sizes { block: 8, nonce: 4, tag: 8, ..USUAL };
    let nonces = |nonce| Sizes { nonce, ..USUAL };
    for (name, sizes, cycles) in [("Deoxys", nonces(8), 29), ("Joltik", joltik, 65), ("Scream", nonces(12), 11)] {
        let [encrypt, decrypt] = networks(name);
        let cipher = format!("ctl.aead.{}.{name}Blocks()", name.to_lowercase());
        cipher_on_blocks(&cipher, [&encrypt, &decrypt], "", sizes, cycles);
    }
}

#[test]
fn two_chains_on_blocks_take_as_long_as_a_cipher() {
    let aes = "Cipher = ctl.block.aes.AesEncrypt(NK = 4)";
    cipher_on_blocks(
        "ctl.aead.cloc.ClocBlocks(Cipher = ctl.block.aes.AesEncryptTwo(NK = 4), TAG_BYTES = 8)",
        ["Encrypt", "Decrypt"]
            .map(|way| format!("ctl.aead.cloc.Cloc{way}({aes}, TAG_BYTES = 8)"))
            .each_ref()
            .map(String::as_str),
        "",
        Sizes { nonce: 12, tag: 8, ..USUAL },
        11,
    );
}

/// A word that is no block has the end of one and the beginning of the next one.
#[test]
fn sponges_on_blocks_have_words_of_a_block() {
    let sizes = Sizes { word: 5, block: 5, key: 15, nonce: 15, tag: 15, ..USUAL };
    let hanuman = "(KEYED = false, AD_FIRST = 0, AD_MORE = 4, AD_LAST = 1, NO_AD = 0, TEXT = 1, FINAL = 0)";
    for (parameters, word, cycles) in [("()", 5, 7), ("()", 4, 7), (hanuman, 5, 13)] {
        let sizes = Sizes { word, ..sizes };
        let [cipher, encrypt, decrypt] = ["BlockDuplex", "DuplexEncrypt", "DuplexDecrypt"]
            .map(|name| format!("ctl.aead.primates.{name}{parameters}"));
        cipher_on_blocks(&cipher, [&encrypt, &decrypt], "", sizes, cycles);
    }
}

#[test]
fn online_ciphers_on_blocks_have_one_for_both_directions() {
    let [aes, inverse] = ["Encrypt", "Decrypt"].map(|way| format!("ctl.block.aes.Aes{way}(NK = 4)"));
    let rounds = "Cipher = ctl.block.aes.AesRounds()";
    cipher_on_blocks(
        &format!("ctl.aead.poet.PoetBlocks({rounds}, Chain = ctl.block.aes.AesChain())"),
        [
            &format!("ctl.aead.poet.PoetEncrypt(Cipher = {aes}, Hash = {aes})"),
            &format!("ctl.aead.poet.PoetDecrypt(Cipher = {aes}, Inverse = {inverse}, Hash = {aes})"),
        ],
        "",
        USUAL,
        11,
    );
    cipher_on_blocks(
        &format!("ctl.aead.copa.CopaBlocks({rounds})"),
        [
            &format!("ctl.aead.copa.CopaEncrypt(Cipher = {aes})"),
            &format!("ctl.aead.copa.CopaDecrypt(Cipher = {aes}, Inverse = {inverse})"),
        ],
        "",
        USUAL,
        11,
    );
}

const PAEQ: Sizes = Sizes { block: 46, front: 16, nonce: 12, ..USUAL };

#[test]
fn two_permutations_on_blocks_share_their_rounds() {
    cipher_on_blocks(
        "ctl.aead.paeq.PaeqBlocks()",
        ["ctl.aead.paeq.PaeqEncrypt()", "ctl.aead.paeq.PaeqDecrypt()"],
        ", TAG_FRAMED = true, TAG_OUT_FRAMED = true",
        PAEQ,
        21,
    );
}

/// No tag is that of a message of nothing at all; another message with it, or with a tag that is too short, is refused.
#[test]
fn tags_have_their_length() {
    let two = "ctl.parts.lwc.Aead(Encrypt = ctl.aead.paeq.PaeqEncrypt(), Decrypt = ctl.aead.paeq.PaeqDecrypt(), \
               NONCE_BYTES = 12, TAG_FRAMED = true, TAG_OUT_FRAMED = true)";
    let one = "ctl.parts.lwc.AeadBlocks(Cipher = ctl.aead.paeq.PaeqBlocks(), BLOCK_BYTES = 46, AD_FRONT = 16, \
               EACH_FRONT = true, TAGLESS = true)";
    let tags = [0, 15, 16].map(|tag| Sizes { tag, ..PAEQ });
    let strings = [(0, 0), (0, 30), (46, 0)];
    let messages = strings.iter().flat_map(|&(bytes, ad)| tags.map(|sizes| message(sizes, 3, 3, ad, bytes)));
    let inputs = under_a_key(PAEQ, messages.chain([message(PAEQ, 2, 3, 5, 5)]));
    let wanted = interpreted(&network(two), &inputs);
    assert_eq!(wanted.iter().filter(|&word| *word == 0x1_e000_0000).count(), 2);
    assert_eq!(interpreted(&network(one), &inputs), wanted);
}

/// The permutations of a message, of twelve rounds and of eight, are tasks that share their operators and registers.
#[test]
fn tasks_with_the_same_rounds_have_them_once() {
    let design = lower(&network("ctl.aead.ascon.AsconBlocks()"), &Options { wide_ports: true, ..Options::default() });
    let design = design.expect("it has a place in hardware");
    let registers = design.modules.iter().flat_map(|module| &module.signals);
    let bits: u32 = registers
        .filter(|signal| matches!(signal.kind, headrace_rtl::SignalKind::Register { .. }))
        .map(|signal| signal.width)
        .sum();
    // The state, which lies in the registers of the rounds, the key, a block that goes out and one that waits; apart they have 320 more.
    assert!((700..880).contains(&bits), "{bits} bits");
}

#[test]
fn sha256_takes_its_rounds_and_a_cycle() {
    let mut pdi = Vec::new();
    for bytes in [64, 150, BLOCKS[0] * 64, BLOCKS[1] * 64] {
        pdi.push(USUAL.front(0x8000_0000));
        pdi.extend(USUAL.segment(7, 7, bytes, 3));
    }
    assert_eq!(cycles_of_a_block("ctl.parts.lwc.Hash(Function = ctl.hash.sha2.Sha256())", &[pdi]), 65);
}

#[test]
fn gcm_takes_as_long_as_its_cipher() {
    let cipher = "Cipher = ctl.block.aes.AesEncrypt(NK = 4)";
    let core = format!(
        "ctl.parts.lwc.Aead(Encrypt = ctl.aead.gcm.GcmEncrypt({cipher}), Decrypt = ctl.aead.gcm.GcmDecrypt({cipher}), \
         NONCE_BYTES = 12, NONCE_FRAMED = true, TAG_FRAMED = true)"
    );
    let sizes = Sizes { nonce: 12, ..USUAL };
    assert_eq!(cycles_of_a_block(&core, &aead(sizes, 2)), 11);
    assert_eq!(cycles_of_a_block(&core, &aead(sizes, 3)), 11);
}
