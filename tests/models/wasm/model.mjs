// Random sequences of calls of operations as WebAssembly, held to node:crypto and to what the types promise of each call.
//
// The model knows whether there is a key and a message under way, and all of that message. After every error but `REFUSED` an
// object must be as it was, so that the model simply goes on. A sequence that differs is shown with its calls; `--seed` repeats it.
//
//   node model.mjs PACKAGE CLASS KIND NAME KEY_BYTES NONCE_BYTES [--seed N] [--sequences N] [--seconds N]

import { createCipheriv, createDecipheriv, createHash, createHmac } from 'node:crypto';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, className, kind, name, keyBytes, nonceBytes, ...flags] = process.argv.slice(2);
const flag = (own, usual) => {
  const at = flags.indexOf(`--${own}`);
  return at < 0 ? usual : Number(flags[at + 1]);
};
const first = flag('seed', 1);
const most = flag('sequences', 1000);
const until = performance.now() + 1000 * flag('seconds', 1e6);
const KEY = Number(keyBytes);
const NONCE = Number(nonceBytes);
const hasKey = kind !== 'hash';
const hasNonce = NONCE > 0;
const isAead = kind === 'seal' || kind === 'open';
const inPieces = kind !== 'open';
const nonceName = kind === 'cipher' ? 'iv' : 'nonce';

const operations = await import(pathToFileURL(resolve(folder, 'index.js')));
const Operation = operations[className];

// --- chance ---

let seed = 0n;
function any(below) {
  seed = BigInt.asUintN(64, seed + 0x9e3779b97f4a7c15n);
  let z = seed;
  z = BigInt.asUintN(64, (z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
  z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn);
  return Number((z ^ (z >> 31n)) >> 11n) % below;
}

const bytes = (n) => Uint8Array.from({ length: n }, () => any(256));

/** The same bytes in one of the forms that strings may have. */
function form(string) {
  const inside = new Uint8Array(string.length + 5);
  inside.set(string, 2);
  switch (any(5)) {
    case 0:
      return string.buffer.slice(string.byteOffset, string.byteOffset + string.length);
    case 1:
      return new DataView(inside.buffer, 2, string.length);
    case 2:
      return inside.subarray(2, 2 + string.length);
    case 3:
      return Buffer.from(string);
    default:
      return string;
  }
}

/** What is no string: it must be refused by an error with a code. */
function none() {
  const detached = new Uint8Array(8);
  structuredClone(detached.buffer, { transfer: [detached.buffer] });
  return [detached, detached.buffer, 'text', 7, [1, 2], {}][any(6)];
}

// --- the peer ---

function peer(known, input) {
  switch (kind) {
    case 'hash':
      return { out: createHash(name).update(input).digest() };
    case 'mac':
      return { out: createHmac(name, known.key).update(input).digest() };
    case 'open': {
      const cipher = createDecipheriv(name, known.key, known.nonce, { authTagLength: 16 });
      cipher.setAAD(known.ad).setAuthTag(known.tag);
      try {
        return { out: Buffer.concat([cipher.update(input), cipher.final()]) };
      } catch {
        return { refused: true };
      }
    }
    default: {
      const cipher = createCipheriv(name, known.key, known.nonce, isAead ? { authTagLength: 16 } : {});
      if (isAead) {
        cipher.setAAD(known.ad);
      }
      const out = Buffer.concat([cipher.update(input), cipher.final()]);
      return { out, tag: isAead ? cipher.getAuthTag() : undefined };
    }
  }
}

// --- sequences ---

class Difference extends Error {}

function same(a, b, what) {
  if (Buffer.compare(Buffer.from(a), Buffer.from(b)) !== 0) {
    throw new Difference(what);
  }
}

/** A call that must give this code, or undefined where it must succeed. */
function call(calls, what, code, work) {
  let got;
  let result;
  try {
    result = work();
  } catch (error) {
    got = error.code ?? `${error}`;
  }
  calls.push(`${what} -> ${got ?? 'done'}`);
  const codes = Array.isArray(code) ? code : [code];
  if (!codes.includes(got)) {
    throw new Difference(`${what}: ${got} and not ${codes}`);
  }
  return result;
}

function begun(known) {
  known.nonce = bytes(NONCE);
  known.ad = any(3) === 0 ? new Uint8Array(0) : bytes(any(40));
}

/** The strings that a message begins with, as a method takes them. */
function strings(known, more = {}) {
  const ad = known.ad.length === 0 && any(2) ? {} : { ad: form(known.ad) };
  return { [nonceName]: form(known.nonce), ...(isAead ? ad : {}), ...more };
}

function step(known, calls) {
  const { operation } = known;
  const dead = known.isCleared ? ['ORDER', 'CLEARED'] : undefined;
  const wrong = any(12) === 0;
  const ready = !hasKey || known.state === 'keyed';
  switch (any(8)) {
    case 0: {
      if (!hasKey || (known.state !== 'none' && any(4) !== 0)) {
        return;
      }
      const key = bytes(kind === 'mac' || any(5) !== 0 ? KEY : KEY + 1);
      if (wrong) {
        call(calls, 'key of no string', 'ERR_INVALID_ARG_TYPE', () => operation.key(none()));
        return;
      }
      const code = key.length !== KEY ? 'KEY_LENGTH' : dead;
      call(calls, `key ${key.length}`, code, () => operation.key(form(key)));
      if (code === undefined) {
        known.key = key;
        known.state = 'keyed';
      }
      return;
    }
    case 1:
    case 2: {
      if (!inPieces || (!hasKey && known.state === 'open' && any(3) !== 0)) {
        return;
      }
      const next = { ...known };
      begun(next);
      if (wrong && hasNonce && ready && !dead) {
        const bad = any(2) === 0;
        next.nonce = bad ? none() : bytes(NONCE + 1);
        const given = kind === 'cipher' ? next.nonce : { [nonceName]: next.nonce, ad: next.ad };
        // GCM takes nonces of many lengths.
        if (bad || !/gcm/.test(name)) {
          call(calls, 'init of a wrong string', bad ? 'ERR_INVALID_ARG_TYPE' : 'STRING_LENGTH', () => operation.init(given));
        }
        return;
      }
      const code = dead ?? (ready ? undefined : 'ORDER');
      const given = kind === 'cipher' ? [form(next.nonce)] : isAead ? [strings(next)] : [];
      call(calls, 'init', code, () => operation.init(...given));
      if (code === undefined) {
        Object.assign(known, next, { state: 'open', input: [], out: [] });
      }
      return;
    }
    case 3:
    case 4: {
      if (!inPieces) {
        return;
      }
      if (wrong) {
        call(calls, 'update of no string', 'ERR_INVALID_ARG_TYPE', () => operation.update(none()));
        return;
      }
      const piece = bytes(any(3) === 0 ? any(4) : any(90));
      const code = dead ?? (known.state === 'open' ? undefined : 'ORDER');
      const out = call(calls, `update ${piece.length}`, code, () => operation.update(form(piece)));
      if (code === undefined) {
        known.input.push(piece);
        known.out.push(out ?? new Uint8Array(0));
      }
      return;
    }
    case 5: {
      if (!inPieces) {
        return;
      }
      const code = dead ?? (known.state === 'open' ? undefined : 'ORDER');
      const made = call(calls, 'finalize', code, () => operation.finalize());
      if (code === undefined) {
        const wanted = peer(known, Buffer.concat(known.input));
        const out = made instanceof Uint8Array ? made : made.out;
        same(Buffer.concat([...known.out, out]), wanted.out, 'finalize');
        if (wanted.tag !== undefined) {
          same(made.tag, wanted.tag, 'the tag');
        }
        known.state = hasKey ? 'keyed' : 'none';
      }
      return;
    }
    case 6: {
      if (!hasKey && known.state === 'open') {
        return;
      }
      let input = bytes(any(3) === 0 ? any(4) : any(400));
      const one = { ...known };
      begun(one);
      if (kind === 'open' && one.key !== undefined) {
        const cipher = createCipheriv(name, one.key, one.nonce, { authTagLength: 16 }).setAAD(one.ad);
        input = Buffer.concat([cipher.update(input), cipher.final()]);
        one.tag = cipher.getAuthTag();
        one.tag[any(16)] ^= any(4) === 0 ? 1 << any(8) : 0;
      }
      one.tag ??= bytes(16);
      if (wrong) {
        const more = { input: none(), ...(kind === 'open' ? { tag: one.tag } : {}) };
        const given = hasNonce ? strings(one, more) : more.input;
        call(calls, 'message of no string', 'ERR_INVALID_ARG_TYPE', () => operation.message(given));
        return;
      }
      const wanted = ready && !dead ? peer(one, input) : {};
      const code = dead ?? (!ready ? 'ORDER' : wanted.refused ? 'REFUSED' : undefined);
      const more = { input: form(input), ...(kind === 'open' ? { tag: form(one.tag) } : {}) };
      const given = hasNonce ? strings(one, more) : more.input;
      const made = call(calls, `message ${input.length}`, code, () => operation.message(given));
      if (code === undefined) {
        same(made instanceof Uint8Array ? made : made.out, wanted.out, 'message');
        if (wanted.tag !== undefined) {
          same(made.tag, wanted.tag, 'the tag');
        }
      }
      return;
    }
    default:
      if (any(6) === 0) {
        call(calls, 'clear', undefined, () => operation.clear());
        Object.assign(known, { isCleared: true, state: 'none' });
      }
  }
}

let n = 0;
let differences = 0;
for (; n < most && performance.now() < until; n++) {
  seed = BigInt(first + n);
  const all = [0, 1].map(() => ({ operation: new Operation(), state: 'none', input: [], out: [], isCleared: false }));
  const calls = [];
  try {
    for (let left = 1 + any(40); left > 0; left--) {
      const which = any(2);
      calls.push(`${which}:`);
      step(all[which], calls);
    }
  } catch (error) {
    differences++;
    if (differences <= 3) {
      console.log(`--seed ${first + n}: ${error instanceof Difference ? error.message : error.stack}\n  ${calls.join(' ')}`);
    }
  }
  all.forEach(({ operation }) => operation.clear());
}
console.log(`${name}: ${n} sequences, ${differences} differences`);
process.exitCode = differences === 0 ? 0 : 1;
