//! Messages through generated networks: what stands between the methods of an operation and the ports of its network.
//!
//! An operation is described by a table ([`Operation`]): which string stands on which port, what lengths it may have. The
//! functions here are the same for all of them. Tokens go in as there is room for them and out as there is room in the
//! caller's buffer, so no memory is needed beyond the network's own.

#![allow(dead_code, reason = "each operation uses the part of it that its shape needs")]

use crate::text::{Apart, Room, Text, wipe};

/// Why there is no result. After any but `Refused` the message is lost, and one under a key needs its key again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The key has a length that is not allowed.
    KeyLength,
    /// The initial block, nonce, associated data, seed or tag has.
    StringLength,
    /// The input has; or more words are asked for than a request may.
    InputLength,
    /// A buffer for output is too small.
    Room,
    /// No key or seed yet, or `update` or `finalize` without `init`.
    Order,
    /// The network stopped: a mistake of the network.
    Stuck,
    /// The message is not authentic or not well-formed, or the generator must be seeded anew: there is no output.
    Refused,
}

impl core::fmt::Display for Error {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Error::KeyLength => "the key has a length that is not allowed",
            Error::StringLength => "a string beside the input has a length that is not allowed",
            Error::InputLength => "the input has a length that is not allowed",
            Error::Room => "a buffer for output is too small",
            Error::Order => "there is no key yet, or no message was begun",
            Error::Stuck => "the network stopped",
            Error::Refused => "the message is refused",
        })
    }
}

impl core::error::Error for Error {}

/// What came of a call.
pub type Result<T> = core::result::Result<T, Error>;

/// What the printed networks of operations can do.
pub(crate) trait Network {
    /// As it begins.
    fn restart(&mut self);
    /// Writes bytes to an input and says how many there was room for.
    fn put(&mut self, port: usize, bytes: &[u8]) -> usize;
    /// Writes one token to an input; false when there is no room.
    fn put_word(&mut self, port: usize, word: u32) -> bool;
    /// Fires until nothing can fire; false when it was stopped.
    fn run(&mut self) -> bool;
    /// Whether it would go on if there were more room for output.
    fn wants_room(&mut self) -> bool;
    /// Takes bytes from an output and says how many there were.
    fn get(&mut self, port: usize, bytes: &mut [u8]) -> usize;
    /// Takes one token from an output.
    fn get_word(&mut self, port: usize) -> Option<u32>;
    /// Fires, takes bytes of an input and puts bytes of an output where these are wanted, without copies: says how many it took and
    /// how many it put; none where that cannot be done.
    fn stream(&mut self, _input: usize, _bytes: &[u8], _output: usize, _room: &mut [u8]) -> (usize, usize) {
        (0, 0)
    }
}

/// One legal range of lengths in bytes: from `min` to `max` in multiples of `multiple`.
pub(crate) struct Lengths {
    pub min: u64,
    pub max: u64,
    pub multiple: u64,
}

/// A string at the edge of a network.
pub(crate) struct Port {
    pub port: usize,
    /// Where its chunk sizes go, when its length can vary.
    pub sizes: Option<usize>,
    /// A length must be in one of these.
    pub lengths: &'static [Lengths],
}

impl Port {
    fn allows(&self, length: u64) -> bool {
        let fits = |range: &Lengths| range.min <= length && length <= range.max && length.is_multiple_of(range.multiple);
        self.lengths.iter().any(fits)
    }
}

/// The strings of a message, in the order in which they are given.
pub(crate) const KEY: usize = 0;
pub(crate) const NONCE: usize = 1;
pub(crate) const IV: usize = 2;
pub(crate) const SECRET_NONCE: usize = 3;
pub(crate) const AD: usize = 4;
pub(crate) const SEED: usize = 5;
pub(crate) const ENTROPY: usize = 6;
pub(crate) const INPUT: usize = 7;
pub(crate) const TAG_IN: usize = 8;
pub(crate) const SECRET_NONCE_OUT: usize = 9;
pub(crate) const OUTPUT: usize = 10;
pub(crate) const TAG: usize = 11;

/// An operation: what the ports of its network are for.
pub(crate) struct Operation {
    pub strings: [Option<Port>; 12],
    pub rekey: Option<usize>,
    pub decrypt: Option<usize>,
    pub reseed: Option<usize>,
    pub blocks: Option<usize>,
    pub verified: Option<usize>,
    /// That a generator makes at once.
    pub most_words: u32,
    /// Of a core; else 0.
    pub block_bytes: usize,
    /// What `decrypt` is told.
    pub decrypts: bool,
    /// The input must be one chunk.
    pub single_chunk: bool,
    /// Output is only for messages that are verified.
    pub withholds: bool,
}

/// The strings that are given, by their numbers from `KEY` to `TAG_IN`.
pub(crate) type Given<'a> = [Option<&'a [u8]>; 9];

/// Room for what comes out: `SECRET_NONCE_OUT`, `OUTPUT`, `TAG`.
pub(crate) type Rooms<'a> = [Room<'a>; 3];

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    NoKey,
    /// A key is sent as soon as it is given; `Rekey` says of the next message that it is there already.
    NewKey,
    Keyed,
    Open,
}

/// What a context holds beside its network.
#[derive(Clone)]
pub(crate) struct Message {
    input_bytes: u64,
    state: State,
}

impl Message {
    pub(crate) const NEW: Message = Message { input_bytes: 0, state: State::NoKey };
}

/// The top bit of a chunk size marks the last chunk of its string.
const LAST_CHUNK: u32 = 1 << 31;
const CHUNK_MOST: usize = 1 << 30;

/// Bytes of input from which on it is worth asking whether they can be taken where they lie.
const LONG: usize = 512;

/// The number of no port.
const NO_PORT: usize = usize::MAX;

/// An operation with its context, while a call works on it.
pub(crate) struct Flow<'a, F: Flows> {
    pub network: &'a mut F::Network,
    pub message: &'a mut Message,
}

/// What works on messages by an operation of its own.
pub(crate) trait Flows: Sized {
    type Network: Network;

    /// Known to compilers, so that what an operation has not takes no time.
    const OPERATION: &'static Operation;

    fn flow(&mut self) -> Flow<'_, Self>;
}

fn sure(condition: bool, error: Error) -> Result<()> {
    if condition { Ok(()) } else { Err(error) }
}

impl<F: Flows> Flow<'_, F> {
    // --- tokens in ---

    fn put(&mut self, port: usize, bytes: &[u8]) -> Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let mut n = self.network.put(port, rest);
            if n == 0 {
                sure(self.network.run(), Error::Stuck)?;
                n = self.network.put(port, rest);
                sure(n > 0, Error::Stuck)?;
            }
            rest = &rest[n..];
        }
        Ok(())
    }

    fn put_word(&mut self, port: Option<usize>, word: u32) -> Result<()> {
        let Some(port) = port else { return Ok(()) };
        if self.network.put_word(port, word) {
            return Ok(());
        }
        sure(self.network.run() && self.network.put_word(port, word), Error::Stuck)
    }

    fn put_flag(&mut self, port: Option<usize>, flag: bool) -> Result<()> {
        self.put_word(port, u32::from(flag))
    }

    /// A string that is known whole.
    fn put_string<const ROLE: usize>(&mut self, bytes: &[u8]) -> Result<()> {
        let Some(string) = &F::OPERATION.strings[ROLE] else { return Ok(()) };
        if string.sizes.is_none() {
            return self.put(string.port, bytes);
        }
        let mut rest = bytes;
        while rest.len() > CHUNK_MOST {
            let (chunk, more) = rest.split_at(CHUNK_MOST);
            self.put_word(string.sizes, CHUNK_MOST as u32)?;
            self.put(string.port, chunk)?;
            rest = more;
        }
        self.put_word(string.sizes, LAST_CHUNK | rest.len() as u32)?;
        self.put(string.port, rest)
    }

    // --- input and output together ---

    fn streams(&self) -> bool {
        F::OPERATION.strings[OUTPUT].as_ref().is_some_and(|output| output.sizes.is_some())
    }

    /// Moves `n_bytes` of input in, and output that streams out, until all is taken and nothing moves any more.
    fn pump(&mut self, n_bytes: usize, text: &mut impl Text) -> Result<()> {
        let streams = self.streams();
        let (mut sent, _) = self.straight(n_bytes, streams, text);
        loop {
            let mut moved = 0;
            if let Some(port) = &F::OPERATION.strings[INPUT] {
                let n = self.send(port.port, n_bytes - sent, text);
                sent += n;
                moved += n;
            }
            sure(self.network.run(), Error::Stuck)?;
            if let (Some(output), true) = (&F::OPERATION.strings[OUTPUT], streams) {
                moved += self.receive(output.port, text);
                while output.sizes.is_some_and(|port| self.network.get_word(port).is_some()) {
                    moved += 1;
                }
            }
            if moved == 0 || (sent == n_bytes && !(streams && self.network.wants_room())) {
                break;
            }
        }
        if let (Some(output), true) = (&F::OPERATION.strings[OUTPUT], streams)
            && text.room().is_empty()
        {
            self.nothing_more(output.port)?;
        }
        sure(sent == n_bytes, Error::Stuck)
    }

    /// Moves input that lies apart from output through the network without copies, as far as that goes: how much went in, and how
    /// much came out.
    fn straight(&mut self, n_bytes: usize, streams: bool, text: &mut impl Text) -> (usize, usize) {
        let (mut sent, mut got) = (0, 0);
        let Some(input) = F::OPERATION.strings[INPUT].as_ref().map(|input| input.port) else { return (0, 0) };
        if n_bytes < LONG {
            return (0, 0);
        }
        let output = F::OPERATION.strings[OUTPUT].as_ref().filter(|_| streams).map_or(NO_PORT, |output| output.port);
        while let Some((rest, room)) = text.apart() {
            let rest = &rest[..rest.len().min(n_bytes - sent)];
            let (taken, made) = match output {
                NO_PORT => self.network.stream(input, rest, output, &mut []),
                _ => self.network.stream(input, rest, output, room),
            };
            text.sent(taken);
            sent += taken;
            text.got(made);
            got += made;
            if taken + made == 0 {
                break;
            }
        }
        (sent, got)
    }

    /// Moves as much of `n_bytes` of input in as there is room for.
    fn send(&mut self, port: usize, n_bytes: usize, text: &mut impl Text) -> usize {
        let mut sent = 0;
        loop {
            let rest = text.rest();
            let n = self.network.put(port, &rest[..rest.len().min(n_bytes - sent)]);
            text.sent(n);
            sent += n;
            if n == 0 || sent == n_bytes {
                return sent;
            }
        }
    }

    /// Moves as much output out as there is, and room for.
    fn receive(&mut self, port: usize, text: &mut impl Text) -> usize {
        let mut received = 0;
        loop {
            let room = text.room();
            let n = if room.is_empty() { 0 } else { self.network.get(port, room) };
            if n == 0 {
                return received;
            }
            text.got(n);
            received += n;
        }
    }

    fn nothing_more(&mut self, port: usize) -> Result<()> {
        let mut more = [0];
        let n = self.network.get(port, &mut more);
        wipe(&mut more);
        sure(n == 0, Error::Room)
    }

    /// A further chunk of input.
    fn chunk(&mut self, n_bytes: usize, last: u32, text: &mut impl Text) -> Result<()> {
        let sizes = F::OPERATION.strings[INPUT].as_ref().and_then(|input| input.sizes);
        self.put_word(sizes, n_bytes as u32 | last)?;
        self.pump(n_bytes, text)
    }

    /// A string that came out whole.
    fn take<const ROLE: usize>(&mut self, text: &mut impl Text) -> Result<()> {
        let Some(string) = &F::OPERATION.strings[ROLE] else { return Ok(()) };
        let n_bytes = self.receive(string.port, text);
        if text.room().is_empty() {
            self.nothing_more(string.port)?;
        }
        while string.sizes.is_some_and(|port| self.network.get_word(port).is_some()) {}
        sure(string.allows(n_bytes as u64), Error::Stuck)
    }

    /// A message that is not authentic was processed to its end like any other, so its key is still good.
    fn ended<T>(&mut self, result: Result<T>) -> Result<T> {
        let whole = matches!(result, Ok(_) | Err(Error::Refused));
        self.message.state = if whole && F::OPERATION.rekey.is_some() { State::Keyed } else { State::NoKey };
        result
    }

    fn allows(&self, role: usize, length: u64) -> bool {
        F::OPERATION.strings[role].as_ref().is_none_or(|string| string.allows(length))
    }

    // --- messages ---

    /// Takes a key, which is used from the next message on.
    pub(crate) fn key(&mut self, key: &[u8]) -> Result<()> {
        let operation = F::OPERATION;
        self.message.state = State::NoKey;
        sure(self.allows(KEY, key.len() as u64), Error::KeyLength)?;
        self.network.restart();
        self.put_flag(operation.rekey, true)?;
        if operation.block_bytes != 0 {
            // The key of a core comes with a burst: an empty one.
            self.put_flag(operation.decrypt, operation.decrypts)?;
        }
        self.put_string::<KEY>(key)?;
        if operation.block_bytes != 0 {
            self.put_word(operation.blocks, 0)?;
        }
        self.message.state = if operation.block_bytes != 0 { State::Keyed } else { State::NewKey };
        Ok(())
    }

    /// Does what can be done with the key alone, so that copies of the context need not do it again.
    pub(crate) fn settle(&mut self) -> Result<()> {
        sure(self.network.run(), Error::Stuck)
    }

    /// Back to where no message has been begun; the key stays. One that was begun is ended, and its tag is nobody's.
    pub(crate) fn abandon(&mut self, nobodys: &mut [u8]) -> Result<()> {
        if !self.is_open() {
            return Ok(());
        }
        if F::OPERATION.rekey.is_none() {
            // The next message begins anew.
            self.message.state = State::NoKey;
            self.network.restart();
            return Ok(());
        }
        let result = self.finalize(&[None; 9], &mut [Room::default(), Room::default(), Room::new(nobodys)]);
        wipe(nobodys);
        result
    }

    /// A generator that goes on is sent neither seed nor entropy.
    fn is_sent<const ROLE: usize>(strings: &Given<'_>) -> bool {
        let goes_on = F::OPERATION.reseed.is_some() && (ROLE == SEED || ROLE == ENTROPY);
        F::OPERATION.strings[ROLE].is_some() && (!goes_on || strings[ROLE].is_some())
    }

    /// A string that comes before the input has a length that is allowed.
    fn sure_of<const ROLE: usize>(&self, strings: &Given<'_>) -> Result<()> {
        let length = strings[ROLE].map_or(0, <[u8]>::len) as u64;
        sure(!Self::is_sent::<ROLE>(strings) || self.allows(ROLE, length), Error::StringLength)
    }

    /// Sends such a string, if it is one that is sent.
    fn put_given<const ROLE: usize>(&mut self, strings: &Given<'_>) -> Result<()> {
        if Self::is_sent::<ROLE>(strings) { self.put_string::<ROLE>(strings[ROLE].unwrap_or_default()) } else { Ok(()) }
    }

    /// All that comes before the input; `input_size` is the token of an input that must be one chunk.
    pub(crate) fn begin(&mut self, strings: &Given<'_>, input_size: u32) -> Result<()> {
        let operation = F::OPERATION;
        let keyed = operation.rekey.is_some();
        let seeds = keyed && operation.strings[SEED].is_some() && strings[SEED].is_some();
        let state = self.message.state;
        sure(!keyed || seeds || matches!(state, State::NewKey | State::Keyed), Error::Order)?;
        self.sure_of::<NONCE>(strings)?;
        self.sure_of::<IV>(strings)?;
        self.sure_of::<SECRET_NONCE>(strings)?;
        self.sure_of::<AD>(strings)?;
        self.sure_of::<SEED>(strings)?;
        self.sure_of::<ENTROPY>(strings)?;
        self.message.state = State::NoKey;
        if !keyed || seeds {
            self.network.restart();
        }
        if keyed && state != State::NewKey {
            self.put_flag(operation.rekey, seeds)?;
        }
        self.put_flag(operation.decrypt, operation.decrypts)?;
        self.put_flag(operation.reseed, strings[ENTROPY].is_some())?;
        if operation.single_chunk {
            let sizes = operation.strings[INPUT].as_ref().and_then(|input| input.sizes);
            self.put_word(sizes, input_size)?;
        }
        self.put_given::<NONCE>(strings)?;
        self.put_given::<IV>(strings)?;
        self.put_given::<SECRET_NONCE>(strings)?;
        self.put_given::<AD>(strings)?;
        self.put_given::<SEED>(strings)?;
        self.put_given::<ENTROPY>(strings)?;
        self.message.input_bytes = 0;
        self.message.state = State::Open;
        Ok(())
    }

    /// Whether a message was begun that has not ended.
    pub(crate) fn is_open(&self) -> bool {
        self.message.state == State::Open
    }

    /// Takes a piece of input.
    pub(crate) fn update(&mut self, input: &[u8], out: &mut Room<'_>) -> Result<()> {
        self.update_text(&mut Apart { input, room: out }, input.len())
    }

    /// The same, wherever it lies.
    pub(crate) fn update_text(&mut self, text: &mut impl Text, n_bytes: usize) -> Result<()> {
        sure(self.is_open(), Error::Order)?;
        let mut rest = n_bytes;
        while rest > 0 {
            let piece = rest.min(CHUNK_MOST);
            let result = self.chunk(piece, 0, text);
            if result.is_err() {
                return self.ended(result);
            }
            self.message.input_bytes += piece as u64;
            rest -= piece;
        }
        Ok(())
    }

    /// All that follows the last input; rooms for `SECRET_NONCE_OUT` and `TAG`.
    fn finish(
        &mut self,
        strings: &Given<'_>,
        text: &mut impl Text,
        secret_nonce: &mut Room<'_>,
        tag: &mut Room<'_>,
        is_pumped: bool,
    ) -> Result<()> {
        let has_tag = F::OPERATION.strings[TAG_IN].is_some();
        self.put_string::<TAG_IN>(strings[TAG_IN].unwrap_or_default())?;
        if has_tag || !is_pumped {
            self.pump(0, text)?;
        }
        self.take::<SECRET_NONCE_OUT>(&mut Apart { input: &[], room: secret_nonce })?;
        if !self.streams() {
            self.take::<OUTPUT>(text)?;
        }
        self.take::<TAG>(&mut Apart { input: &[], room: tag })?;
        let Some(port) = F::OPERATION.verified else { return Ok(()) };
        let verified = self.network.get_word(port).ok_or(Error::Stuck)?;
        sure(verified != 0, Error::Refused)
    }

    fn tag_fits(&self, strings: &Given<'_>) -> bool {
        self.allows(TAG_IN, strings[TAG_IN].map_or(0, <[u8]>::len) as u64)
    }

    /// Ends a message that was begun.
    pub(crate) fn finalize(&mut self, strings: &Given<'_>, rooms: &mut Rooms<'_>) -> Result<()> {
        sure(self.is_open(), Error::Order)?;
        let result = self.finalize_open(strings, rooms);
        self.ended(result)
    }

    fn finalize_open(&mut self, strings: &Given<'_>, rooms: &mut Rooms<'_>) -> Result<()> {
        sure(self.allows(INPUT, self.message.input_bytes), Error::InputLength)?;
        sure(self.tag_fits(strings), Error::StringLength)?;
        let sizes = F::OPERATION.strings[INPUT].as_ref().and_then(|input| input.sizes);
        self.put_word(sizes, LAST_CHUNK)?;
        let [secret_nonce, output, tag] = rooms;
        self.finish(strings, &mut Apart { input: &[], room: output }, secret_nonce, tag, false)
    }

    /// A whole message.
    pub(crate) fn whole(&mut self, strings: &Given<'_>, rooms: &mut Rooms<'_>) -> Result<()> {
        let input = strings[INPUT].unwrap_or_default();
        let [secret_nonce, output, tag] = rooms;
        self.whole_text(strings, &mut Apart { input, room: output }, input.len(), secret_nonce, tag)
    }

    /// A whole message, wherever its text lies.
    pub(crate) fn whole_text(
        &mut self,
        strings: &Given<'_>,
        text: &mut impl Text,
        n_bytes: usize,
        secret_nonce: &mut Room<'_>,
        tag: &mut Room<'_>,
    ) -> Result<()> {
        let operation = F::OPERATION;
        let one_chunk = !operation.single_chunk || n_bytes < LAST_CHUNK as usize;
        sure(self.allows(INPUT, n_bytes as u64) && one_chunk, Error::InputLength)?;
        sure(self.tag_fits(strings), Error::StringLength)?;
        self.begin(strings, LAST_CHUNK | n_bytes as u32)?;
        let result = self.whole_input(text, n_bytes).and_then(|()| self.finish(strings, text, secret_nonce, tag, true));
        if result.is_err() && operation.withholds {
            text.clear();
            secret_nonce.clear();
            tag.clear();
        }
        self.ended(result)
    }

    fn whole_input(&mut self, text: &mut impl Text, n_bytes: usize) -> Result<()> {
        if F::OPERATION.single_chunk {
            return self.pump(n_bytes, text);
        }
        let mut rest = n_bytes;
        while rest > CHUNK_MOST {
            self.chunk(CHUNK_MOST, 0, text)?;
            rest -= CHUNK_MOST;
        }
        self.chunk(rest, LAST_CHUNK, text)
    }

    /// Blocks of a core.
    pub(crate) fn blocks(&mut self, input: &[u8], out: &mut [u8]) -> Result<()> {
        sure(out.len() == input.len(), Error::Room)?;
        self.blocks_text(&mut Apart { input, room: &mut Room::new(out) }, input.len())
    }

    /// The same, wherever they lie.
    pub(crate) fn blocks_text(&mut self, text: &mut impl Text, n_bytes: usize) -> Result<()> {
        let operation = F::OPERATION;
        sure(self.message.state == State::Keyed, Error::Order)?;
        let n_blocks = n_bytes / operation.block_bytes;
        sure(n_bytes.is_multiple_of(operation.block_bytes) && n_blocks <= u32::MAX as usize, Error::InputLength)?;
        let result = self.burst(text, n_blocks as u32, n_bytes);
        self.ended(result)
    }

    fn burst(&mut self, text: &mut impl Text, n_blocks: u32, n_bytes: usize) -> Result<()> {
        let operation = F::OPERATION;
        self.put_flag(operation.rekey, false)?;
        self.put_flag(operation.decrypt, operation.decrypts)?;
        self.put_word(operation.blocks, n_blocks)?;
        let (Some(from), Some(to)) = (&operation.strings[INPUT], &operation.strings[OUTPUT]) else {
            return Err(Error::Stuck);
        };
        let (mut sent, mut got) = self.straight(n_bytes, true, text);
        while got < n_bytes {
            let n_in = self.send(from.port, n_bytes - sent, text);
            sure(self.network.run(), Error::Stuck)?;
            let n_out = self.receive(to.port, text);
            sure(n_in + n_out > 0, Error::Stuck)?;
            sent += n_in;
            got += n_out;
        }
        Ok(())
    }

    /// Words of a generator.
    pub(crate) fn words(&mut self, n_words: u32, strings: &Given<'_>, out: &mut Room<'_>) -> Result<()> {
        sure(n_words <= F::OPERATION.most_words, Error::InputLength)?;
        match self.begin(strings, 0) {
            Err(error @ (Error::Order | Error::StringLength)) => return Err(error),
            Err(error) => return self.ended(Err(error)),
            Ok(()) => {}
        }
        let result = self.words_open(n_words, out);
        self.ended(result)
    }

    fn words_open(&mut self, n_words: u32, out: &mut Room<'_>) -> Result<()> {
        self.put_word(F::OPERATION.blocks, n_words)?;
        let Some(output) = &F::OPERATION.strings[OUTPUT] else { return Err(Error::Stuck) };
        let mut text = Apart { input: &[], room: out };
        loop {
            sure(self.network.run(), Error::Stuck)?;
            if text.room().is_empty() {
                self.nothing_more(output.port)?;
                break;
            }
            if self.receive(output.port, &mut text) == 0 {
                break;
            }
        }
        let Some(port) = F::OPERATION.verified else { return Ok(()) };
        let verified = self.network.get_word(port).ok_or(Error::Stuck)?;
        sure(verified != 0, Error::Refused)
    }
}
