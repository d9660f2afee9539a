//! Messages whose only purpose is to be typical: what a compiler lets a network do to see which way its control goes.
//!
//! The bytes do not matter, lengths and cuts do: short and long messages around the edges of blocks, in one chunk and in
//! several, empty chunks, keys kept and renewed.

use crate::catalog::{Framing, OperationSpec};
use crate::framing::{Message, MessageWriter, PortData, Tokens};
use crate::ports::{PortSpec, Role};
use crate::sizes::USUAL_NONCE_BYTES;

/// Messages one after another, whole or in parts, and of each part the tokens of each input port.
pub type Stream = Vec<Vec<Vec<u128>>>;

/// Lengths in bytes around multiples of `block`, and a long one.
fn lengths(port: &PortSpec, block: u64) -> Vec<u64> {
    let (min, max) = (port.sizes.min(), port.sizes.max());
    let edges =
        [0, 1, 3, block - 1, block, block + 1, 2 * block - 1, 2 * block, 5 * block + 2, 20 * block, 0, 9 * block];
    let mut lengths: Vec<u64> = Vec::new();
    for edge in edges {
        let wanted = (min + edge).min(max);
        // The next legal length, if there is one nearby.
        if let Some(legal) = (wanted..=max.min(wanted + 4 * block)).find(|&length| port.sizes.allows(length)) {
            lengths.push(legal);
        }
    }
    lengths
}

/// Lengths with all that may be left over behind the last block, as far as [`lengths`] has no such ones. A program can
/// count what is left over byte by byte, and only small blocks are worth a message for each number.
fn remainders(port: &PortSpec, block: u64) -> Vec<u64> {
    let met: Vec<u64> = lengths(port, block).iter().map(|length| length % block).collect();
    let all = if block <= MOST_REMAINDERS { 2 * block..3 * block } else { 0..0 };
    all.filter(|length| !met.contains(&(length % block)) && port.sizes.allows(*length)).collect()
}

/// Bytes of a block of which all remainders are tried.
const MOST_REMAINDERS: u64 = 16;

/// Reproducible bytes.
fn bytes(n: u64, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..n)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 24) as u8
        })
        .collect()
}

/// Typical messages of an operation as tokens of the input ports of its network, in the order of their names here; a port
/// that the operation does not name gets none. Each stream begins with a network that has just been made.
pub fn streams<'a>(spec: &OperationSpec, ports: impl IntoIterator<Item = &'a str>) -> Vec<Stream> {
    all_streams(spec, ports, Among { chunks: true, ..Among::default() })
}

/// Those of [`streams`] whose messages come at once: the first of them.
pub fn uncut_streams<'a>(spec: &OperationSpec, ports: impl IntoIterator<Item = &'a str>) -> Vec<Stream> {
    all_streams(spec, ports, Among::default())
}

/// As [`streams`], and in further ones what goes with a text has every length.
pub fn thorough_streams<'a>(spec: &OperationSpec, ports: impl IntoIterator<Item = &'a str>) -> Vec<Stream> {
    all_streams(spec, ports, Among { chunks: true, every_length_beside: true })
}

/// Messages in pieces of whole blocks, as long messages of programs mostly come: streams of two under one key, each piece a part of its
/// stream.
pub fn pieces_of_blocks<'a>(spec: &OperationSpec, ports: impl IntoIterator<Item = &'a str>) -> Vec<Stream> {
    let ports: Vec<&str> = ports.into_iter().collect();
    let Some(port) = spec.input(Role::Input).filter(|_| spec.framing == Framing::Message && !spec.single_chunk) else {
        return Vec::new();
    };
    let block = spec.block_bytes.unwrap_or(128);
    let each = PIECE_BLOCKS * block;
    let Some(length) = legal(port, block, PIECES * each) else { return Vec::new() };
    let cuts = Cuts::Pieces { first: each, each, then_nothing: true };
    let beside: &[u64] = if spec.inputs.iter().any(may_be_empty) { &BESIDE_PIECES } else { &[0] };
    let kind = Kind { apart: true, tag_last: true, ..Kind::default() };
    let turns = |beside: u64| [0, KEPT].map(|number| Turn { number, length, beside: Some(beside), cuts });
    beside.iter().map(|&beside| stream(spec, block, &ports, &turns(beside), kind)).collect()
}

/// Messages in pieces that end anywhere, each of which comes when nothing can be done with those before: as programs give them that
/// read a file or a network: streams of a few messages, each piece a part of them.
pub fn pieces_of_any_length<'a>(spec: &OperationSpec, ports: impl IntoIterator<Item = &'a str>) -> Vec<Stream> {
    let ports: Vec<&str> = ports.into_iter().collect();
    let block = spec.block_bytes.unwrap_or(MOST_REMAINDERS);
    let Turns { in_pieces, .. } = turns(spec, block);
    let has_beside = spec.inputs.iter().any(may_be_empty);
    // What is left over of the one has nothing to do with what is of the other, so both are met in all ways by and by.
    let each_with = |(at, turn): (usize, &Turn)| {
        let length = (at * STEP) as u64 % (2 * block + 1);
        Turn { beside: has_beside.then_some(length), ..*turn }
    };
    let turns: Vec<Turn> = in_pieces.iter().enumerate().map(each_with).collect();
    let streams = turns.chunks(MESSAGES_IN_PIECES).zip(apart(spec).into_iter().cycle());
    streams.map(|(turns, kind)| stream(spec, block, &ports, turns, kind)).collect()
}

/// The same of a few pieces that end in the middle of blocks: what a network finds when the first piece comes has to do with what came
/// before it, not with what comes.
pub fn pieces_of_half_blocks<'a>(spec: &OperationSpec, ports: impl IntoIterator<Item = &'a str>) -> Vec<Stream> {
    let ports: Vec<&str> = ports.into_iter().collect();
    let has_pieces = spec.framing == Framing::Message && !spec.single_chunk;
    let Some(port) = spec.input(Role::Input).filter(|_| has_pieces) else { return Vec::new() };
    let block = spec.block_bytes.unwrap_or(MOST_REMAINDERS);
    let each = PIECE_BLOCKS * block + block / 2;
    let Some(length) = legal(port, block, PIECES * each) else { return Vec::new() };
    let cuts = Cuts::Pieces { first: each, each, then_nothing: false };
    let beside = if spec.inputs.iter().any(may_be_empty) { &BESIDE_PIECES[..] } else { &[] };
    let besides = std::iter::once(None).chain(beside.iter().copied().map(Some));
    let streams = besides.flat_map(|beside| {
        let turns = [0, KEPT].map(|number| Turn { number, length, beside, cuts });
        apart(spec).map(|kind| stream(spec, block, &ports, &turns, kind))
    });
    streams.collect()
}

/// How messages come in pieces: a host may give all that comes before a text when it has the first piece of it, and at once.
fn apart(spec: &OperationSpec) -> [Kind; 2] {
    let kind = Kind { apart: true, tag_last: spec.input(Role::TagIn).is_some(), ..Kind::default() };
    [kind, Kind { first_with_head: true, ..kind }]
}

/// A stream of one message for each number, with a text that is cut by chance, as those of small numbers among
/// [`pieces_of_any_length`] are. Others tell how much of what a network does those have met.
pub fn cut_by_chance<'a>(
    spec: &OperationSpec,
    ports: impl IntoIterator<Item = &'a str>,
    block: u64,
    numbers: std::ops::Range<u64>,
) -> Vec<Stream> {
    let ports: Vec<&str> = ports.into_iter().collect();
    let Some(port) = spec.input(Role::Input) else { return Vec::new() };
    let message = |number| {
        let (length, cuts) = cut_anywhere(port, block, number)?;
        let turn = Turn { number: number as usize, length, beside: None, cuts };
        Some(stream(spec, block, &ports, &[turn], Kind { apart: true, tag_last: true, ..Kind::default() }))
    };
    numbers.filter_map(message).collect()
}

/// Messages that keep their key, but the first ones, with texts and associated data of all kinds of lengths: none of them is what a
/// program sends most, and programs send any of them.
pub fn kept_streams<'a>(spec: &OperationSpec, ports: impl IntoIterator<Item = &'a str>) -> Vec<Stream> {
    let ports: Vec<&str> = ports.into_iter().collect();
    let block = spec.block_bytes.unwrap_or(MOST_REMAINDERS);
    let Some(text) = spec.input(Role::Input).filter(|_| spec.inputs.iter().any(may_be_empty)) else {
        return Vec::new();
    };
    let texts = [0, 1, block, 3 * block, 4 * block + 3].into_iter().filter_map(|more| legal(text, block, more));
    let pairs = texts.flat_map(|length| [1, block, 3 * block + 5].map(|beside| (length, beside)));
    let turns: Vec<Turn> = pairs
        .enumerate()
        .map(|(at, (length, beside))| Turn {
            number: RENEWED * at + KEPT,
            length,
            beside: Some(beside),
            cuts: Cuts::None,
        })
        .collect();
    let tag_last: &[bool] = if spec.input(Role::TagIn).is_some() { &[true, false] } else { &[false] };
    let mut streams = Vec::new();
    for &tag_last in tag_last {
        // Any of them may be the first, too, and brings the key then.
        let first = (0..turns.len()).map(|at| &turns[at..turns.len().min(at + FIRST_MESSAGES)]);
        let ways = std::iter::once(&turns[..]).chain(first);
        streams.extend(ways.map(|turns| stream(spec, block, &ports, turns, Kind { tag_last, ..Kind::default() })));
    }
    streams
}

/// Streams of messages as programs send them, none of which is a sample: under one key, each text of any length up to some blocks,
/// with associated data of any length up to the longest header of a usual protocol; at once or, `in_pieces`, in pieces of one
/// length, as those of a buffer are. One for each number.
pub fn ordinary_messages<'a>(
    spec: &OperationSpec,
    ports: impl IntoIterator<Item = &'a str>,
    in_pieces: bool,
    numbers: std::ops::Range<u64>,
) -> Vec<Stream> {
    let ports: Vec<&str> = ports.into_iter().collect();
    let block = spec.block_bytes.unwrap_or(64);
    let turn = |number: u64, at: u64| {
        let random = bytes(6, number * ORDINARY_MESSAGES + at + 1);
        let below = |n: u64, from: usize| u64::from(u16::from_le_bytes([random[from], random[from + 1]])) % n;
        let length =
            spec.input(Role::Input).map_or(Some(0), |port| legal(port, block, below(ORDINARY_BLOCKS * block, 0)))?;
        let each = 1 + below(ORDINARY_BLOCKS * block / 2, 4);
        let cuts = Cuts::Pieces { first: each, each, then_nothing: random[4].is_multiple_of(2) };
        let cuts = if in_pieces { cuts } else { Cuts::None };
        // The first brings the key, the others keep it.
        let number = RENEWED * (10 + (number * ORDINARY_MESSAGES + at) as usize) + if at > 0 { KEPT } else { 0 };
        Some(Turn { number, length, beside: Some(below(ORDINARY_BESIDE, 2)), cuts })
    };
    let one = |number: u64| {
        let turns: Vec<Turn> = (0..ORDINARY_MESSAGES).filter_map(|at| turn(number, at)).collect();
        let apart = Kind { apart: in_pieces, first_with_head: number % 4 < 2, ..Kind::default() };
        stream(spec, block, &ports, &turns, Kind { tag_last: in_pieces || number % 2 == 1, ..apart })
    };
    numbers.map(one).collect()
}

/// Messages of such a stream, blocks of their texts and bytes of their associated data.
const ORDINARY_MESSAGES: u64 = 6;
const ORDINARY_BLOCKS: u64 = 20;
const ORDINARY_BESIDE: u64 = 64;

/// What is among the messages beside the usual ones.
#[derive(Clone, Copy, Debug, Default)]
struct Among {
    /// Those in a few chunks.
    chunks: bool,
    /// Every length of what goes with a text.
    every_length_beside: bool,
}

/// The sizes of blocks that an operation may have: its own, or those that are usual, and the rates of sponges.
fn blocks(spec: &OperationSpec) -> Vec<u64> {
    spec.block_bytes.map_or_else(|| vec![16, 64, 128, 136], |block| vec![block])
}

fn all_streams<'a>(spec: &OperationSpec, ports: impl IntoIterator<Item = &'a str>, among: Among) -> Vec<Stream> {
    let ports: Vec<&str> = ports.into_iter().collect();
    let blocks = blocks(spec);
    // Also message after message under one key, of which only the text is there.
    let plain: &[bool] = if spec.inputs.iter().any(may_be_empty) { &[false, true] } else { &[false] };
    // A host that verifies may be told the tag last.
    let tag_last: &[bool] = if spec.input(Role::TagIn).is_some() { &[true, false] } else { &[false] };
    let kinds = |&tag_last: &bool| plain.iter().map(move |&plain| Kind { plain, tag_last, ..Kind::default() });
    let mut kinds: Vec<Kind> = tag_last.iter().flat_map(kinds).collect();
    if other_nonce(spec).is_some() {
        kinds.push(Kind { other_nonce: true, ..kinds[0] });
    }
    let mut streams = Vec::new();
    // Whole messages come first, so that what is known of states is what those know.
    for cut in [false, true].into_iter().filter(|cut| !cut || among.chunks) {
        for (&block, &kind) in blocks.iter().flat_map(|block| kinds.iter().map(move |kind| (block, kind))) {
            let Turns { whole, left_over, in_chunks, .. } = turns(spec, block);
            let (others, all) = match cut {
                false => (whole.clone(), [whole, left_over].concat()),
                true => (in_chunks.clone(), [whole, in_chunks].concat()),
            };
            streams.push(stream(spec, block, &ports, &all, kind));
            // What a network is given first tells what it does from then on: any message may be the first.
            let first = (usize::from(!cut)..others.len()).map(|at| &others[at..others.len().min(at + FIRST_MESSAGES)]);
            streams.extend(first.map(|turns| stream(spec, block, &ports, turns, kind)));
            if among.every_length_beside && !cut && !kind.plain {
                let beside = beside(spec, block);
                streams.extend(beside.iter().map(|turns| stream(spec, block, &ports, turns, kind)));
            }
        }
    }
    streams
}

/// Bytes of what goes with texts that come in pieces: none, as in TLS 1.2, and a block of most ciphers.
const BESIDE_PIECES: [u64; 3] = [0, 13, 16];

/// Blocks of a piece, and pieces of a message, where these are samples by themselves.
const PIECE_BLOCKS: u64 = 20;
const PIECES: u64 = 3;

/// How the messages of a stream are given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Kind {
    /// They keep their key and have the text only.
    plain: bool,
    /// The tag to be verified comes when nothing more can be done with what comes before it.
    tag_last: bool,
    /// Their nonces are [`other_nonce`]s, where they have the choice.
    other_nonce: bool,
    /// Each piece of a text comes when nothing more can be done with those before it.
    apart: bool,
    /// But the first: it comes with all that is before the text.
    first_with_head: bool,
}

/// A message of a stream.
#[derive(Clone, Copy, Debug)]
struct Turn {
    /// What its strings other than the text are made from.
    number: usize,
    /// Bytes of its text.
    length: u64,
    /// Bytes of strings that go with the text and may be left out, if not those that the number says.
    beside: Option<u64>,
    /// The chunks that it comes in.
    cuts: Cuts,
}

/// How a text is cut into chunks.
#[derive(Clone, Copy, Debug)]
enum Cuts {
    /// Not at all.
    None,
    /// Into parts of it, with an empty one among them.
    Parts,
    /// First a piece of so many bytes, then pieces of another length as long as there are such.
    Pieces {
        first: u64,
        each: u64,
        /// Whether the last chunk is an empty one, not what is left over.
        then_nothing: bool,
    },
    /// Anywhere, as the number says, into pieces of about so many bytes at most; some of them end where a block does.
    Anywhere { number: u64, most: u64, block: u64 },
}

impl Cuts {
    /// Where the chunks of a text of so many bytes end but the last.
    fn ends(self, length: u64) -> Vec<u64> {
        match self {
            Cuts::None => Vec::new(),
            Cuts::Parts => vec![length / 3, length / 3, length - length / 4],
            Cuts::Pieces { first, each, then_nothing } => {
                let mut ends: Vec<u64> = (0..).map(|n| first + n * each).take_while(|&end| end < length).collect();
                ends.extend(then_nothing.then_some(length));
                ends
            }
            Cuts::Anywhere { number, most, block } => {
                let mut end = 0;
                let random = bytes(2 * length + 2, number ^ 0x5eed);
                let ends = random.chunks_exact(2).map(|step| {
                    end += u64::from(u16::from_le_bytes([step[0], step[1]])) / 4 % (most + 1);
                    // One in four ends where a block does.
                    if step[0] % 4 == 0 {
                        end = end.next_multiple_of(block);
                    }
                    end
                });
                // Every other message ends in an empty chunk.
                ends.take_while(|&end| end < length).chain((number % 2 == 0).then_some(length)).collect()
            }
        }
    }
}

/// Messages by how they are cut.
struct Turns {
    whole: Vec<Turn>,
    /// Whole ones that leave more over behind their last block.
    left_over: Vec<Turn>,
    in_chunks: Vec<Turn>,
    /// In pieces as programs make them of long messages.
    in_pieces: Vec<Turn>,
}

fn turns(spec: &OperationSpec, block: u64) -> Turns {
    let lengths = input_lengths(spec, block);
    let n = lengths.len();
    let turn = |lengths: Vec<u64>, first: usize, cuts: Cuts| -> Vec<Turn> {
        let numbered = lengths.into_iter().enumerate();
        numbered.map(|(at, length)| Turn { number: first + at, length, beside: None, cuts }).collect()
    };
    // The shortest texts may come under a key that is there as well as long ones.
    let shortest = spec
        .input(Role::Input)
        .into_iter()
        .flat_map(|port| legal(port, block, 0).into_iter().chain(legal(port, block, block)));
    let kept = shortest.enumerate().map(|(at, length)| Turn {
        number: RENEWED * (n + at) + KEPT,
        length,
        beside: None,
        cuts: Cuts::None,
    });
    let left_over = spec.input(Role::Input).map_or_else(Vec::new, |port| remainders(port, block));
    let has_pieces = spec.framing == Framing::Message && !spec.single_chunk;
    let cut = spec.input(Role::Input).filter(|_| has_pieces);
    let by_chance = if block <= MOST_REMAINDERS { MOST_ANYWHERE } else { FEWER_ANYWHERE };
    let in_pieces = cut.map_or_else(Vec::new, |port| pieces(port, block, by_chance));
    let numbered = in_pieces.into_iter().enumerate();
    Turns {
        whole: turn(lengths.clone(), 0, Cuts::None).into_iter().chain(kept).collect(),
        left_over: turn(left_over, 2 * n, Cuts::None),
        in_chunks: turn(lengths, n, Cuts::Parts),
        in_pieces: numbered.map(|(at, (length, cuts))| Turn { number: at, length, beside: None, cuts }).collect(),
    }
}

/// Lengths of texts that come in pieces, and how: pieces that end where blocks do, pieces that end anywhere and go over
/// the end of a block or do not, one byte at a time; the last of them full, not full, or empty; and so many texts that are
/// cut by chance.
fn pieces(port: &PortSpec, block: u64, by_chance: u64) -> Vec<(u64, Cuts)> {
    let mut all = Vec::new();
    let mut add = |wanted: u64, first: u64, each: u64, then_nothing: bool| {
        all.extend(legal(port, block, wanted).map(|length| (length, Cuts::Pieces { first, each, then_nothing })));
    };
    for then_nothing in [false, true] {
        add(9 * block, 2 * block, block, then_nothing);
        add(20 * block, 0, 4 * block, then_nothing);
        // What is left over grows by one with each, or becomes one less.
        for each in [block + 1, 3 * block + 1, 2 * block - 1] {
            add((MOST_REMAINDERS + 2) * each, each, each, then_nothing);
        }
        add(2 * block + 3, 1, 1, then_nothing);
    }
    // Whatever is left over, the end may come, or less than a block, or the rest of it.
    for rest in 1..block.min(MOST_REMAINDERS) {
        add(2 * block + rest, 2 * block + rest, block, true);
        add(2 * block + rest + 1, 2 * block + rest, block, false);
        add(4 * block, block + rest, block - rest, false);
    }
    // What comes at the same time as something else is found by chance.
    all.extend((0..by_chance).filter_map(|number| cut_anywhere(port, block, number)));
    all
}

/// The length of a text that has at least so many bytes more than the shortest, if there is one within a block.
fn legal(port: &PortSpec, block: u64, more: u64) -> Option<u64> {
    let wanted = port.sizes.min() + more;
    (wanted..=wanted + block).find(|&length| length <= port.sizes.max() && port.sizes.allows(length))
}

/// A text that is cut by chance, as its number says.
fn cut_anywhere(port: &PortSpec, block: u64, number: u64) -> Option<(u64, Cuts)> {
    let most = [2, block, 2 * block + block / 2, 3 * block, 9 * block][(number / 2) as usize % 5];
    let length = legal(port, block, 2 * block + number * 7 % (4 * block))?;
    Some((length, Cuts::Anywhere { number, most, block }))
}

/// One in so many messages keeps its key.
const RENEWED: usize = 3;

/// The number of that one among them.
const KEPT: usize = 2;

/// Messages that are cut by chance where a block is small: each number of bytes that may be left over is a state.
const MOST_ANYWHERE: u64 = 320;

/// The same for other blocks: their remainders are mostly no states of their own.
const FEWER_ANYWHERE: u64 = 40;

/// Messages of which what goes with the text has each length up to two blocks, one after another: as the first ones of a
/// network, and with keys that are kept and renewed. Which length of the text each comes with is another one each time.
fn beside(spec: &OperationSpec, block: u64) -> Vec<Vec<Turn>> {
    let beside = spec.inputs.iter().find(|port| may_be_empty(port)).filter(|_| block <= MOST_REMAINDERS);
    let (Some(text), Some(beside)) = (spec.input(Role::Input), beside) else { return Vec::new() };
    let (texts, besides) = (all_lengths(text, 3 * block), all_lengths(beside, 2 * block));
    let mut streams = Vec::new();
    for (time, first) in (0..TEXTS_BESIDE).flat_map(|time| (0..besides.len()).map(move |first| (time, first))) {
        let turn = |at: usize| Turn {
            // The second of them keeps its key.
            number: 1 + at,
            length: texts[(first + (BESIDE_MESSAGES * time + at) * STEP) % texts.len()],
            beside: Some(besides[(first + at * STEP) % besides.len()]),
            cuts: Cuts::None,
        };
        if !texts.is_empty() {
            streams.push((0..BESIDE_MESSAGES).map(turn).collect());
        }
    }
    streams
}

/// Every legal length that is at most so much more than the least.
fn all_lengths(port: &PortSpec, more: u64) -> Vec<u64> {
    let min = port.sizes.min();
    (min..=port.sizes.max().min(min + more)).filter(|&length| port.sizes.allows(length)).collect()
}

/// Lengths of texts that each length of what goes with them comes with in each place.
const TEXTS_BESIDE: usize = 3;

/// Messages of such a stream.
const BESIDE_MESSAGES: usize = 3;

/// How many lengths further that of the next message is.
const STEP: usize = 5;

/// Messages of a stream of those in pieces that end anywhere.
const MESSAGES_IN_PIECES: usize = 8;

/// Messages of the streams that begin in another way than the first.
const FIRST_MESSAGES: usize = 2;

fn input_lengths(spec: &OperationSpec, block: u64) -> Vec<u64> {
    spec.input(Role::Input).map_or_else(|| vec![0; 6], |port| lengths(port, block))
}

/// Whether a string goes with the text and may be left out.
fn may_be_empty(port: &PortSpec) -> bool {
    port.role == Role::Ad && port.sizes.allows(0)
}

/// Bytes of the nonces that programs take where they do not take the usual ones: a block, or as many of it as there may be
/// (PyCryptodome takes 16 bytes for GCM and EAX, 15 for OCB; Bluetooth 13 for CCM).
fn other_nonce(spec: &OperationSpec) -> Option<u64> {
    let sizes = &spec.input(Role::Nonce)?.sizes;
    let most = sizes.max().min(spec.block_bytes.unwrap_or(MOST_REMAINDERS));
    (sizes.allows(USUAL_NONCE_BYTES) && sizes.allows(most) && most != USUAL_NONCE_BYTES).then_some(most)
}

/// Everything about the message of a turn but its input; `plain` ones have no string beside it that may be left out.
fn head(spec: &OperationSpec, block: u64, turn: usize, beside: Option<u64>, kind: Kind) -> Message {
    let plain = kind.plain;
    let mut message = Message::new();
    message.words = [0, 1, 2, 7, 40][turn % 5];
    for port in &spec.inputs {
        if matches!(port.role, Role::Input | Role::Rekey | Role::Decrypt | Role::Blocks | Role::Reseed) {
            continue;
        }
        let legal = match port.role {
            Role::Nonce if port.sizes.allows(USUAL_NONCE_BYTES) => {
                vec![other_nonce(spec).filter(|_| kind.other_nonce && turn % 4 != 3).unwrap_or(USUAL_NONCE_BYTES)]
            }
            _ if plain && may_be_empty(port) => vec![0],
            _ if may_be_empty(port) && beside.is_some() => beside.into_iter().collect(),
            _ => lengths(port, block),
        };
        if let Some(&n) = legal.get(turn % legal.len().max(1)) {
            message.set(port.role, bytes(n, turn as u64 + 1));
        }
    }
    message
}

/// The input of a turn.
fn input(length: u64, turn: usize) -> Vec<u8> {
    bytes(length, turn as u64 + 101)
}

/// Typical messages of an operation, each of which says its key.
pub fn messages(spec: &OperationSpec) -> Vec<Message> {
    let block = spec.block_bytes.unwrap_or(64);
    let turns = input_lengths(spec, block).into_iter().enumerate();
    let message = |(turn, length)| {
        let mut message = head(spec, block, turn, None, Kind::default());
        if spec.input(Role::Input).is_some() {
            message.set(Role::Input, input(length, turn));
        }
        message
    };
    turns.map(message).filter(|message| message.check(spec, false).is_empty()).collect()
}

/// Messages of some turns.
fn stream(spec: &OperationSpec, block: u64, ports: &[&str], turns: &[Turn], kind: Kind) -> Stream {
    let Kind { plain, tag_last, .. } = kind;
    let tag = spec.input(Role::TagIn).filter(|_| tag_last);
    let of_tag = |name: &str| tag.is_some_and(|tag| tag.name == name || tag.companion.as_deref() == Some(name));
    let mut writer = MessageWriter::new(spec);
    let mut stream = Stream::new();
    for &Turn { number: turn, length, beside, cuts } in turns {
        let mut message = head(spec, block, turn, beside, kind);
        message.rekey = turn % RENEWED != KEPT && !plain || stream.is_empty();
        let Ok(begin) = writer.begin(&message) else { continue };
        let mut pieces = vec![begin];
        if spec.input(Role::Input).is_some() {
            let input = input(length, turn);
            // Others take no chunks.
            let cuts = if spec.framing == Framing::Message { cuts } else { Cuts::None };
            let mut from = 0;
            let mut whole = true;
            for to in cuts.ends(length).into_iter().map(Some).chain([None]) {
                let last = to.is_none();
                let to = to.map_or(input.len(), |end| end as usize).max(from);
                match writer.chunk(&input[from..to], last) {
                    Ok(data) => pieces.push(data),
                    Err(_) => whole = false,
                }
                from = to;
            }
            if !whole {
                continue;
            }
        }
        let piece_of = |at: usize| if kind.apart { at.saturating_sub(usize::from(kind.first_with_head)) } else { 0 };
        let n_parts = piece_of(pieces.len() - 1) + 1 + usize::from(tag.is_some());
        let mut parts: Vec<Vec<Vec<u128>>> = vec![vec![Vec::new(); ports.len()]; n_parts];
        let of_pieces = pieces.into_iter().enumerate();
        for (piece, PortData { port, tokens }) in
            of_pieces.flat_map(|(piece, all)| all.into_iter().map(move |one| (piece, one)))
        {
            let Some(at) = ports.iter().position(|name| *name == port) else { continue };
            let part = if of_tag(&port) { n_parts - 1 } else { piece_of(piece) };
            let all = &mut parts[part][at];
            match tokens {
                Tokens::Bytes(bytes) => all.extend(bytes.into_iter().map(u128::from)),
                Tokens::Words(words) => all.extend(words.into_iter().map(u128::from)),
            }
        }
        stream.extend(parts);
    }
    stream
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::tests::library_with;

    #[test]
    fn what_goes_with_a_text_has_every_length_in_every_place() {
        let library = library_with(&[]);
        let with_ad = |spec: &&OperationSpec| spec.inputs.iter().any(may_be_empty) && spec.input(Role::Input).is_some();
        let spec = library.operations().iter().find(with_ad).expect("an operation with associated data");
        let block = 16;
        let streams = beside(spec, block);
        for place in 0..BESIDE_MESSAGES {
            let texts = |length: u64| {
                let turns = streams.iter().map(|turns| turns[place]).filter(|turn| turn.beside == Some(length));
                turns.map(|turn| turn.length).collect::<std::collections::BTreeSet<u64>>()
            };
            assert!((0..=2 * block).all(|length| texts(length).len() == TEXTS_BESIDE), "{place}");
        }
        assert!(streams.iter().all(|turns| turns[1].number % RENEWED == KEPT && turns[2].number % RENEWED != KEPT));
    }

    #[test]
    fn the_shortest_texts_come_with_a_key_that_is_kept() {
        let library = library_with(&[]);
        for spec in library.operations().iter().filter(|spec| spec.input(Role::Input).is_some()) {
            let port = spec.input(Role::Input).expect("a text");
            let kept: Vec<u64> = turns(spec, 16)
                .whole
                .iter()
                .filter(|turn| turn.number % RENEWED == KEPT)
                .map(|turn| turn.length)
                .collect();
            for more in [0, 16] {
                assert!(legal(port, 16, more).is_none_or(|length| kept.contains(&length)), "{more}: {kept:?}");
            }
        }
    }

    #[test]
    fn pieces_are_of_a_length_and_end_in_what_is_left_or_in_nothing() {
        let cuts = |then_nothing| Cuts::Pieces { first: 3, each: 4, then_nothing };
        assert_eq!(cuts(false).ends(12), [3, 7, 11]);
        assert_eq!(cuts(true).ends(12), [3, 7, 11, 12]);
        assert_eq!(cuts(false).ends(3), [] as [u64; 0]);
        assert_eq!(Cuts::None.ends(12), [] as [u64; 0]);
    }

    #[test]
    fn pieces_of_blocks_come_one_by_one() {
        let library = library_with(&[]);
        let has_text = |spec: &&OperationSpec| spec.framing == Framing::Message && spec.input(Role::Input).is_some();
        let spec = library.operations().iter().filter(has_text).find(|spec| !spec.single_chunk).expect("an operation");
        let text = spec.input(Role::Input).expect("a text");
        let streams = pieces_of_blocks(spec, [text.name.as_str()]);
        let block = spec.block_bytes.unwrap_or(128);
        for stream in &streams {
            let pieces = stream.iter().filter(|part| part[0].len() as u64 == PIECE_BLOCKS * block).count() as u64;
            assert_eq!(pieces, 2 * PIECES, "two messages");
        }
        assert!(!streams.is_empty());
    }

    #[test]
    fn texts_cut_by_chance_end_at_every_place_in_a_block() {
        let block = 16;
        let all = (0..MOST_ANYWHERE).flat_map(|number| Cuts::Anywhere { number, most: 40, block }.ends(100));
        let places: std::collections::BTreeSet<u64> = all.map(|end| end % block).collect();
        assert_eq!(places.len() as u64, block);
        let ends = Cuts::Anywhere { number: 2, most: 40, block }.ends(100);
        assert!(ends.is_sorted() && ends.last() == Some(&100));
    }

    #[test]
    fn tags_come_with_their_messages_and_after_them() {
        let library = library_with(&[]);
        let verifying = library.operations().iter().find_map(|spec| Some((spec, spec.input(Role::TagIn)?)));
        let (spec, tag) = verifying.expect("an operation that verifies");
        let input = spec.input(Role::Input).expect("it has a text");
        let companion = |port: &PortSpec| port.companion.clone().unwrap_or_else(|| port.name.clone());
        let ports = [companion(input), companion(tag)];
        let (mut together, mut apart) = (0, 0);
        for part in streams(spec, ports.iter().map(String::as_str)).iter().flatten() {
            match (part[0].is_empty(), part[1].is_empty()) {
                (false, false) => together += 1,
                (true, false) => apart += 1,
                (false, true) => {}
                (true, true) => panic!("a part of nothing"),
            }
        }
        assert!(together > 20 && apart > 20, "{together} {apart}");
    }
}
