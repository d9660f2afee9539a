// A run on the interpreter, again.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { Context, Status } from '../index.js';

const recorded = JSON.parse(await readFile(new URL('./recorded.json', import.meta.url), 'utf8'));

test('the streams are those of the interpreter', { skip: recorded === null && 'none was recorded: its streams would not tell' }, () => {
  const context = new Context();
  const left = recorded.inputs.map(({ element, values }) => elements(element, values));
  const made = recorded.outputs.map(() => []);
  for (let moved = 1; moved > 0; ) {
    moved = 0;
    recorded.inputs.forEach(({ words }, port) => {
      const n = context.write(port, left[port]);
      left[port] = left[port].subarray(n * words);
      moved += n;
    });
    assert.equal(context.run(), Status.IDLE);
    recorded.outputs.forEach((_, port) => {
      const tokens = context.read(port);
      made[port].push(...Array.from(tokens, String));
      moved += tokens.length;
    });
  }
  recorded.outputs.forEach(({ values }, port) => assert.deepEqual(made[port], values));
});

function elements(element, values) {
  const big = element.endsWith('64');
  const kinds = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, u64: BigUint64Array };
  const signed = { i8: Int8Array, i16: Int16Array, i32: Int32Array, i64: BigInt64Array };
  return { ...kinds, ...signed }[element].from(values, big ? BigInt : Number);
}
