// Known answers of each operation, whole and in pieces.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import * as operations from '../index.js';

// Of a tag the first bytes may be all that is known.
const TAG = 11;

const known = JSON.parse(await readFile(new URL('./known_answers.json', import.meta.url), 'utf8'));

for (const { name, operation: called, once, methods, answers } of known) {
  test(name, () => {
    const operation = new operations[name]();
    let judged = 0;
    const call = (answer, method, before = []) => {
      const { given, isPlain } = methods[method];
      const strings = given.map(([own, role]) => [own, bytes(answer.strings[role])]);
      const list = isPlain ? strings.map(([, string]) => string) : [Object.fromEntries(strings)];
      return operation[method](...before, ...list);
    };
    const made = (answer, method, result) => {
      const outputs = methods[method].made;
      return outputs.map(([own, role]) => [role, outputs.length === 1 ? result : result[own]]);
    };
    const judge = (answer, what, work) => {
      judged++;
      judgeCall(answer, what, () => {
        if (methods.key !== undefined) {
          call(answer, 'key');
        }
        return work();
      });
    };
    const judgeCall = (answer, what, work) => {
      let got;
      try {
        got = work();
      } catch (error) {
        assert.ok(error instanceof operations.OperationError, error);
        assert.ok(answer.refused && error.code !== 'STUCK', `${what}: ${error.message}`);
        return;
      }
      assert.ok(!answer.refused, `${what}: it was not refused`);
      for (const [role, string] of got) {
        const wanted = bytes(answer.strings[role]);
        if (wanted !== undefined) {
          const n = role === TAG ? Math.min(wanted.length, string.length) : string.length;
          assert.deepEqual(string.subarray(0, n), wanted, what);
        }
      }
    };
    answers.forEach((answer, at) => {
      for (const method of ['message', 'blocks', 'generate']) {
        if (methods[method] !== undefined) {
          const before = method === 'generate' ? [answer.words] : [];
          judge(answer, `${method} ${at}`, () => made(answer, method, call(answer, method, before)));
        }
      }
      if (once !== null) {
        judgeCall(answer, `${once} ${at}`, () => made(answer, 'message', inOneLine(answer)));
      }
      if (methods.update !== undefined) {
        judge(answer, `pieces ${at}`, () => inPieces(answer));
      }
    });

    /** By the function that has a context of its own. */
    function inOneLine(answer) {
      const keyed = methods.key !== undefined;
      const given = [...(methods.key?.given ?? []), ...methods.message.given];
      const strings = given.map(([own, role]) => [own, bytes(answer.strings[role])]);
      const plain = methods.message.isPlain && !keyed;
      return operations[once](...(plain ? strings.map(([, string]) => string) : [Object.fromEntries(strings)]));
    }

    /** Again, in pieces of 1, 2, 3, … bytes. */
    function inPieces(answer) {
      call(answer, 'init');
      const streamed = methods.update.made.map(([, role]) => role);
      const pieces = [];
      let rest = bytes(answer.strings[methods.update.given[0][1]]) ?? new Uint8Array(0);
      for (let piece = 1; rest.length > 0; piece++) {
        const made = operation.update(rest.subarray(0, piece));
        pieces.push(made ?? new Uint8Array(0));
        rest = rest.subarray(piece);
      }
      const last = made(answer, 'finalize', call(answer, 'finalize'));
      return last.map(([role, string]) => [role, streamed.includes(role) ? Buffer.concat([...pieces, string]) : string])
        .map(([role, string]) => [role, new Uint8Array(string)]);
    }

    operation.clear();
    const [first] = Object.keys(methods);
    assert.throws(() => call(answers[0], first, first === 'generate' ? [1] : []));
    console.log(`operation ${called}: ${judged} passed, 0 failed`);
  });
}

function bytes(hex) {
  return hex === undefined ? undefined : new Uint8Array(Buffer.from(hex, 'hex'));
}
