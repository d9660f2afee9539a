// Networks as WebAssembly modules: memory for contexts, tokens in and out, and the world outside.

/** Why a run returned. */
export const Status = Object.freeze({
  /** Nothing can fire until tokens come or are taken. */
  IDLE: 0,
  /** The limit was reached. */
  LIMIT: 1,
  /** The host stopped the program. */
  STOPPED: 2,
  /** Calls nest too deep. */
  TOO_DEEP: 3,
});

const ARRAYS = {
  u8: Uint8Array,
  u16: Uint16Array,
  u32: Uint32Array,
  u64: BigUint64Array,
  i8: Int8Array,
  i16: Int16Array,
  i32: Int32Array,
  i64: BigInt64Array,
  f32: Float32Array,
  f64: Float64Array,
};

/** What DataView calls elements. */
const KINDS = {
  u8: 'Uint8',
  u16: 'Uint16',
  u32: 'Uint32',
  u64: 'BigUint64',
  i8: 'Int8',
  i16: 'Int16',
  i32: 'Int32',
  i64: 'BigInt64',
};

/** As many rounds as there can be. */
const ALL_ROUNDS = -1n;

const PAGE = 65536;

/** Reads and compiles a module that lies beside the calling one. */
export async function load(url, natives = []) {
  return new Code(await WebAssembly.compile(await bytesAt(url)), natives);
}

async function bytesAt(url) {
  if (url.protocol === 'file:') {
    // By a name that package.json settles, so that bundlers for browsers see nothing of Node.js. A browser that takes the
    // modules as they are does not come here.
    const { readFile } = await import('#files');
    if (readFile !== undefined) {
      return readFile(url);
    }
  }
  const response = await fetch(url);
  if (!response.ok) {
    throw Object.assign(new Error(`${url}: ${response.status}`), { code: 'LOAD' });
  }
  return response.arrayBuffer();
}

/** A module with one memory, in which the contexts of all its networks lie. */
class Code {
  constructor(module, natives) {
    this.natives = natives;
    this.host = undefined;
    const host = {
      print: (address, n) => this.host?.print?.(this.bytes.slice(address, address + n)),
      print_real: (value, bits) => this.host?.printReal?.(value, bits),
      native: (number, address, n) => this.native(number, address, n),
    };
    this.exports = new WebAssembly.Instance(module, { host }).exports;
    this.buffer = this.exports.buffer.value;
    this.bufferBytes = this.exports.bufferBytes.value;
    this.contextBytes = this.exports.contextBytes.value;
    this.top = this.exports.stack.value;
    this.end = this.exports.contexts.value;
    this.free = [];
    this.see();
    // Contexts that nobody holds any more are overwritten and used again.
    this.registry = new FinalizationRegistry((context) => this.release(context));
  }

  /** Memory moves when it grows. */
  see() {
    this.bytes = new Uint8Array(this.exports.memory.buffer);
    this.view = new DataView(this.exports.memory.buffer);
  }

  take() {
    let context = this.free.pop();
    if (context === undefined) {
      context = this.end;
      const lacking = context + this.contextBytes - this.exports.memory.buffer.byteLength;
      if (lacking > 0) {
        // Where there is no more memory, this throws and nothing is taken.
        this.exports.memory.grow(Math.ceil(lacking / PAGE));
        this.see();
      }
      this.end = context + this.contextBytes;
    }
    return context;
  }

  release(context) {
    this.exports.erase(context);
    this.free.push(context);
  }

  native(number, address, n) {
    const given = [];
    for (let i = 0; i < n; i++) {
      const at = address + 16 * i;
      if (this.view.getInt32(at, true) === 0) {
        given.push(this.view.getBigInt64(at + 8, true));
      } else {
        const start = this.view.getUint32(at + 8, true);
        given.push(this.bytes.subarray(start, start + this.view.getUint32(at + 4, true)));
      }
    }
    const result = this.host?.native?.(this.natives[number], given);
    const stopped = result === undefined || result === null;
    this.view.setInt32(this.exports.native.value, stopped ? 1 : 0, true);
    return stopped ? 0n : BigInt.asIntN(64, BigInt(result));
  }
}

/** The whole state of a network: write tokens, run it, read tokens. */
export class Network {
  #code;
  #context;
  #inputs;
  #outputs;

  /** `inputs` and `outputs` say of each port its functions, its elements, and how many a token has. */
  constructor(code, inputs, outputs) {
    this.#code = code;
    this.#inputs = inputs;
    this.#outputs = outputs;
    this.#context = code.take();
    code.registry.register(this, this.#context, this);
    code.exports.prepare(this.#context);
  }

  #here() {
    if (this.#context === undefined) {
      throw Object.assign(new Error('the context was cleared and given back'), { code: 'CLEARED' });
    }
    return this.#context;
  }

  /** Begins anew, as a new network does; memory may still hold what was, until `clear`. */
  restart() {
    this.#code.exports.prepare(this.#here());
  }

  /** Overwrites all state, which may hold secrets, and gives its memory back: nothing can be done with it any more. */
  clear() {
    if (this.#context !== undefined) {
      this.#code.registry.unregister(this);
      this.#code.release(this.#context);
      this.#context = undefined;
    }
  }

  /** Fires until nothing can fire, or until all instances had their turn `maxRounds` times; gives a `Status`. */
  run(maxRounds = ALL_ROUNDS, host = undefined) {
    const code = this.#code;
    code.host = host;
    try {
      return code.exports.run(this.#here(), BigInt.asIntN(64, BigInt(maxRounds)));
    } finally {
      code.host = undefined;
      code.exports.stack.value = code.top;
    }
  }

  /** Writes tokens, an array of the elements of the port, and says for how many there was room. */
  write(number, tokens) {
    const port = this.#inputs[number];
    const { buffer, bufferBytes, exports } = this.#code;
    const write = exports[port.write];
    const most = Math.floor(bufferBytes / (ARRAYS[port.element].BYTES_PER_ELEMENT * port.words));
    const all = Math.floor(tokens.length / port.words);
    let written = 0;
    while (written < all) {
      const n = Math.min(all - written, most);
      const whole = n * port.words === tokens.length;
      const part = whole ? tokens : tokens.subarray(written * port.words, (written + n) * port.words);
      if (port.element === 'u8') {
        this.#code.bytes.set(part, buffer);
      } else {
        this.#buffer(port.element, part.length).set(part);
      }
      const taken = write(this.#here(), buffer, n);
      written += taken;
      if (taken < n) {
        break;
      }
    }
    return written;
  }

  /** How many tokens of an output there are. */
  waiting(number) {
    const { exports } = this.#code;
    return exports[this.#outputs[number].waiting](this.#here());
  }

  /** Takes at most `most` tokens that are there: an array of the elements of the port. */
  read(number, most = Infinity) {
    const port = this.#outputs[number];
    const waiting = Math.min(this.waiting(number), most);
    const tokens = new ARRAYS[port.element](waiting * port.words);
    this.readInto(number, tokens, 0, waiting);
    return tokens;
  }

  /** Takes `n` tokens, which are there, and puts their elements into an array of such from an index on. */
  readInto(number, tokens, at, n) {
    const port = this.#outputs[number];
    const { buffer, bufferBytes, exports } = this.#code;
    const read = exports[port.read];
    const room = Math.floor(bufferBytes / (ARRAYS[port.element].BYTES_PER_ELEMENT * port.words));
    for (let taken = 0; taken < n; ) {
      const some = read(this.#here(), buffer, Math.min(n - taken, room));
      tokens.set(this.#buffer(port.element, some * port.words), at + taken * port.words);
      taken += some;
    }
  }

  /** So many elements of what is shared with the module. */
  #buffer(element, n) {
    const { buffer, bytes, exports } = this.#code;
    return element === 'u8' ? bytes.subarray(buffer, buffer + n) : new ARRAYS[element](exports.memory.buffer, buffer, n);
  }

  /** Writes one number to an input of small integers; false when there is no room. */
  writeWord(number, word) {
    const { element, write } = this.#inputs[number];
    const { buffer, exports, view } = this.#code;
    view[`set${KINDS[element]}`](buffer, element.endsWith('64') ? BigInt(word) : word, true);
    return exports[write](this.#here(), buffer, 1) === 1;
  }

  /** Takes one number from an output of small integers. */
  readWord(number) {
    const { element, read } = this.#outputs[number];
    const { buffer, exports, view } = this.#code;
    return exports[read](this.#here(), buffer, 1) === 0 ? undefined : Number(view[`get${KINDS[element]}`](buffer, true));
  }
}
