// Messages through generated networks: what stands between the methods of an operation and the ports of its network.
//
// An operation is described by a table: which string stands on which port, what lengths it may have. The functions here are
// the same for all of them. Tokens go in as there is room for them, and what comes out is collected.

import { Status } from './network.js';

const MESSAGES = {
  KEY_LENGTH: 'the key has a length that is not allowed',
  STRING_LENGTH: 'a string beside the input has a length that is not allowed',
  INPUT_LENGTH: 'the input has a length that is not allowed',
  ORDER: 'there is no key yet, or no message was begun',
  STUCK: 'the network stopped',
  REFUSED: 'the message is refused',
};

/**
 * Why there is no result. After `STUCK` the message is lost and its key, after `REFUSED` the message; after any other code, and
 * after an error of a type, everything is as it was before the call.
 */
export class OperationError extends Error {
  constructor(code) {
    super(MESSAGES[code]);
    this.name = 'OperationError';
    this.code = code;
  }
}

// The strings of a message, in the order in which they are given.
const KEY = 0;
const SEED = 5;
const ENTROPY = 6;
const INPUT = 7;
const TAG_IN = 8;
const SECRET_NONCE_OUT = 9;
const OUTPUT = 10;
const TAG = 11;

// What comes before the input.
const BEFORE_INPUT = [1, 2, 3, 4, SEED, ENTROPY];
// What comes out.
const OUTPUTS = [SECRET_NONCE_OUT, OUTPUT, TAG];

const NO_KEY = 0;
// A key is sent as soon as it is given; `Rekey` says of the next message that it is there already.
const NEW_KEY = 1;
const KEYED = 2;
const OPEN = 3;

// The top bit of a chunk size marks the last chunk of its string.
const LAST_CHUNK = 0x80000000;
const CHUNK_MOST = 0x40000000;

const NOTHING = new Uint8Array(0);

function sure(condition, code) {
  if (!condition) {
    throw new OperationError(code);
  }
}

/** An error of a type, with the code that those of Node.js have. */
function typeError(text) {
  return Object.assign(new TypeError(text), { code: 'ERR_INVALID_ARG_TYPE' });
}

const isBuffer = (value) =>
  value instanceof ArrayBuffer || (typeof SharedArrayBuffer !== 'undefined' && value instanceof SharedArrayBuffer);

function bytesOf(string) {
  if (string === undefined || string === null) {
    return NOTHING;
  }
  if (!ArrayBuffer.isView(string) && !isBuffer(string)) {
    throw typeError('strings are given as Uint8Array, any other view, or ArrayBuffer');
  }
  try {
    return isBuffer(string)
      ? new Uint8Array(string)
      : new Uint8Array(string.buffer, string.byteOffset, string.byteLength);
  } catch {
    // Its memory went elsewhere, by `postMessage` or `transfer`.
    throw typeError('the memory of a string is detached');
  }
}

/** A string in hexadecimal digits. */
export function hex(string) {
  return Array.from(bytesOf(string), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** The strings of a method that takes several. */
export function properties(strings) {
  if (typeof strings !== 'object' || strings === null || ArrayBuffer.isView(strings) || isBuffer(strings)) {
    throw typeError('several strings are given as properties of one object');
  }
  return strings;
}

/** One message in a context of its own. */
export function once(Own, work) {
  const own = new Own();
  try {
    return work(own);
  } finally {
    own.clear();
  }
}

/** What comes out, as it comes. */
class Collected {
  #room;
  length = 0;

  /** With room for so many bytes, which are those that will come where that is known. */
  constructor(nBytes = 0) {
    this.#room = nBytes === 0 ? NOTHING : new Uint8Array(nBytes);
  }

  /** Takes all that waits at an output and says how many bytes that were. */
  take(network, port) {
    const n = network.waiting(port);
    if (this.length + n > this.#room.length) {
      const room = new Uint8Array(Math.max(2 * this.#room.length, this.length + n));
      if (this.length > 0) {
        room.set(this.#room.subarray(0, this.length));
        this.#room.fill(0);
      }
      this.#room = room;
    }
    network.readInto(port, this.#room, this.length, n);
    this.length += n;
    return n;
  }

  /** Gives all of it away. */
  all() {
    const room = this.#room;
    if (this.length === room.length && room !== NOTHING) {
      this.#room = NOTHING;
      this.length = 0;
      return room;
    }
    const all = room.slice(0, this.length);
    this.forget();
    return all;
  }

  forget() {
    this.#room.fill(0);
    this.length = 0;
  }
}

/** An operation of the library with a context of its own. */
export class Operation {
  #network;
  #table;
  #state = NO_KEY;
  #inputBytes = 0;

  constructor(network, table) {
    this.#network = network;
    this.#table = table;
  }

  /** Overwrites the context, which may hold secrets: nothing can be done with it any more. */
  clear() {
    this.#state = NO_KEY;
    this.#network.clear();
  }

  // --- tokens in ---

  #run() {
    sure(this.#network.run() === Status.IDLE, 'STUCK');
  }

  #put(port, bytes) {
    let rest = bytes;
    while (rest.length > 0) {
      let n = this.#network.write(port, rest);
      if (n === 0) {
        this.#run();
        n = this.#network.write(port, rest);
        sure(n > 0, 'STUCK');
      }
      rest = rest.subarray(n);
    }
  }

  #putWord(port, word) {
    if (port !== null && !this.#network.writeWord(port, word)) {
      this.#run();
      sure(this.#network.writeWord(port, word), 'STUCK');
    }
  }

  #putString(role, bytes) {
    const string = this.#table.strings[role];
    if (string === null) {
      return;
    }
    if (string.sizes === null) {
      this.#put(string.port, bytes);
      return;
    }
    let rest = bytes;
    while (rest.length > CHUNK_MOST) {
      this.#putWord(string.sizes, CHUNK_MOST);
      this.#put(string.port, rest.subarray(0, CHUNK_MOST));
      rest = rest.subarray(CHUNK_MOST);
    }
    this.#putWord(string.sizes, LAST_CHUNK + rest.length);
    this.#put(string.port, rest);
  }

  // --- input and output together ---

  #streams() {
    const output = this.#table.strings[OUTPUT];
    return output !== null && output.sizes !== null;
  }

  /** Moves input in, and output that streams out, until all is taken and nothing moves any more. */
  #pump(input, out) {
    const { strings } = this.#table;
    const streams = this.#streams();
    let sent = 0;
    for (;;) {
      let moved = 0;
      if (strings[INPUT] !== null && sent < input.length) {
        moved = this.#network.write(strings[INPUT].port, input.subarray(sent));
        sent += moved;
      }
      this.#run();
      if (streams) {
        moved += out.take(this.#network, strings[OUTPUT].port) + this.#drop(strings[OUTPUT].sizes);
      }
      if (moved === 0 || (!streams && sent === input.length)) {
        break;
      }
    }
    sure(sent === input.length, 'STUCK');
  }

  /** Takes what nobody wants to know, and says how many tokens that were. */
  #drop(port) {
    const n = this.#network.waiting(port);
    return n === 0 ? 0 : this.#network.read(port).length;
  }

  #chunk(input, last, out) {
    this.#putWord(this.#table.strings[INPUT]?.sizes ?? null, last + input.length);
    this.#pump(input, out);
  }

  /** A string that came out whole. */
  #take(role, to) {
    const string = this.#table.strings[role];
    if (string === null) {
      return;
    }
    to.take(this.#network, string.port);
    if (string.sizes !== null) {
      this.#drop(string.sizes);
    }
    sure(this.#allows(role, to.length), 'STUCK');
  }

  /** A message that is not authentic was processed to its end like any other, so its key is still good. */
  #ending(work) {
    let isWhole = false;
    try {
      const result = work();
      isWhole = true;
      return result;
    } catch (error) {
      isWhole = error instanceof OperationError && error.code === 'REFUSED';
      throw error;
    } finally {
      this.#state = isWhole && this.#table.rekey !== null ? KEYED : NO_KEY;
    }
  }

  #allows(role, length) {
    const string = this.#table.strings[role];
    // Taken apart, the list would cost more than the comparisons.
    const fits = (bounds) => bounds[0] <= length && length <= bounds[1] && length % bounds[2] === 0;
    return string === null || string.lengths.some(fits);
  }

  // --- messages ---

  _key(given) {
    const table = this.#table;
    const key = bytesOf(given);
    sure(this.#allows(KEY, key.length), 'KEY_LENGTH');
    this.#state = NO_KEY;
    this.#network.restart();
    this.#putWord(table.rekey, 1);
    if (table.blockBytes !== 0) {
      // The key of a core comes with a burst: an empty one.
      this.#putWord(table.decrypt, Number(table.decrypts));
    }
    this.#putString(KEY, key);
    if (table.blockBytes !== 0) {
      this.#putWord(table.blocks, 0);
    }
    this.#state = table.blockBytes !== 0 ? KEYED : NEW_KEY;
  }

  /** All that comes before the input; `inputSize` is the token of an input that must be one chunk. */
  #begin(strings, inputSize) {
    const table = this.#table;
    const isGiven = (role) => strings[role] !== undefined && strings[role] !== null;
    const keyed = table.rekey !== null;
    const seeds = keyed && table.strings[SEED] !== null && isGiven(SEED);
    const state = this.#state;
    sure(!keyed || seeds || state === NEW_KEY || state === KEYED, 'ORDER');
    const isSent = (role) => {
      const goesOn = table.reseed !== null && (role === SEED || role === ENTROPY);
      return table.strings[role] !== null && (!goesOn || isGiven(role));
    };
    const before = BEFORE_INPUT.filter(isSent);
    for (const role of before) {
      sure(this.#allows(role, bytesOf(strings[role]).length), 'STRING_LENGTH');
    }
    this.#state = NO_KEY;
    if (!keyed || seeds) {
      this.#network.restart();
    }
    if (keyed && state !== NEW_KEY) {
      this.#putWord(table.rekey, Number(seeds));
    }
    this.#putWord(table.decrypt, Number(table.decrypts));
    this.#putWord(table.reseed, Number(isGiven(ENTROPY)));
    if (table.singleChunk) {
      this.#putWord(table.strings[INPUT]?.sizes ?? null, inputSize);
    }
    for (const role of before) {
      this.#putString(role, bytesOf(strings[role]));
    }
    this.#inputBytes = 0;
    this.#state = OPEN;
  }

  _begin(strings) {
    this.#begin(strings, 0);
  }

  _update(given) {
    const input = bytesOf(given);
    sure(this.#state === OPEN, 'ORDER');
    const out = new Collected(input.length);
    for (let at = 0; at < input.length; at += CHUNK_MOST) {
      const piece = input.subarray(at, at + CHUNK_MOST);
      try {
        this.#chunk(piece, 0, out);
      } catch (error) {
        this.#state = NO_KEY;
        throw error;
      }
      this.#inputBytes += piece.length;
    }
    return out.all();
  }

  /** All that follows the last input. */
  #finish(strings, rooms, isPumped) {
    const table = this.#table;
    const hasTag = table.strings[TAG_IN] !== null;
    this.#putString(TAG_IN, bytesOf(strings[TAG_IN]));
    if (hasTag || !isPumped) {
      this.#pump(NOTHING, rooms[OUTPUT]);
    }
    this.#take(SECRET_NONCE_OUT, rooms[SECRET_NONCE_OUT]);
    if (!this.#streams()) {
      this.#take(OUTPUT, rooms[OUTPUT]);
    }
    this.#take(TAG, rooms[TAG]);
    this.#verify();
  }

  #verify() {
    if (this.#table.verified !== null) {
      const verified = this.#network.readWord(this.#table.verified);
      sure(verified !== undefined, 'STUCK');
      sure(verified !== 0, 'REFUSED');
    }
  }

  /** What comes out at the end, by roles; the output has about so many bytes. */
  #rooms(nBytes, work) {
    const rooms = [];
    for (const role of OUTPUTS) {
      if (this.#table.strings[role] !== null) {
        rooms[role] = new Collected(role === OUTPUT ? nBytes : 0);
      }
    }
    try {
      work(rooms);
    } catch (error) {
      rooms.forEach((room) => room.forget());
      throw error;
    }
    return rooms.map((room) => room.all());
  }

  /** What came out, by roles. */
  _finalize(strings) {
    sure(this.#state === OPEN, 'ORDER');
    sure(this.#allows(INPUT, this.#inputBytes), 'INPUT_LENGTH');
    sure(this.#allows(TAG_IN, bytesOf(strings[TAG_IN]).length), 'STRING_LENGTH');
    return this.#ending(() =>
      this.#rooms(0, (rooms) => {
        this.#putWord(this.#table.strings[INPUT]?.sizes ?? null, LAST_CHUNK);
        this.#finish(strings, rooms, false);
      }),
    );
  }

  /** A whole message: what came out, by roles. */
  _whole(strings) {
    const table = this.#table;
    const input = bytesOf(strings[INPUT]);
    sure(this.#allows(INPUT, input.length) && (!table.singleChunk || input.length < LAST_CHUNK), 'INPUT_LENGTH');
    sure(this.#allows(TAG_IN, bytesOf(strings[TAG_IN]).length), 'STRING_LENGTH');
    this.#begin(strings, LAST_CHUNK + input.length);
    return this.#ending(() =>
      this.#rooms(this.#streams() ? input.length : 0, (rooms) => {
        if (table.singleChunk) {
          this.#pump(input, rooms[OUTPUT]);
        } else {
          let rest = input;
          while (rest.length > CHUNK_MOST) {
            this.#chunk(rest.subarray(0, CHUNK_MOST), 0, rooms[OUTPUT]);
            rest = rest.subarray(CHUNK_MOST);
          }
          this.#chunk(rest, LAST_CHUNK, rooms[OUTPUT]);
        }
        this.#finish(strings, rooms, true);
      }),
    );
  }

  /** Blocks of a core. */
  _blocks(given) {
    const table = this.#table;
    const input = bytesOf(given);
    sure(this.#state === KEYED, 'ORDER');
    const nBlocks = input.length / table.blockBytes;
    sure(Number.isInteger(nBlocks) && nBlocks <= 0xffffffff, 'INPUT_LENGTH');
    const out = new Uint8Array(input.length);
    return this.#ending(() => {
      this.#putWord(table.rekey, 0);
      this.#putWord(table.decrypt, Number(table.decrypts));
      this.#putWord(table.blocks, nBlocks);
      for (let sent = 0, got = 0; got < out.length; ) {
        const n = this.#network.write(table.strings[INPUT].port, input.subarray(sent));
        this.#run();
        const there = Math.min(this.#network.waiting(table.strings[OUTPUT].port), out.length - got);
        sure(n + there > 0, 'STUCK');
        this.#network.readInto(table.strings[OUTPUT].port, out, got, there);
        sent += n;
        got += there;
      }
      return out;
    });
  }

  /** Words of a generator. */
  _words(nWords, strings) {
    const table = this.#table;
    sure(Number.isInteger(nWords) && nWords >= 0 && nWords <= table.mostWords, 'INPUT_LENGTH');
    this.#begin(strings, 0);
    return this.#ending(
      () =>
        this.#rooms(0, (rooms) => {
          this.#putWord(table.blocks, nWords);
          for (;;) {
            this.#run();
            if (rooms[OUTPUT].take(this.#network, table.strings[OUTPUT].port) === 0) {
              break;
            }
          }
          this.#verify();
        })[OUTPUT],
    );
  }
}
