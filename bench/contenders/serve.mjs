// Processes messages in Node.js, as README.md says. The last arguments are key, initial block, input and output.

import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const bytes = (digits) => new Uint8Array(Buffer.from(digits === '-' ? '' : digits, 'hex'));

/** Processes messages with the function that `open` gives for a key and an initial block; `version` is what is said of it. */
export async function serve(open, version = '') {
  const [key, iv, from, to] = process.argv.slice(-4);
  const input = new Uint8Array(readFileSync(from));
  const message = await open(bytes(key), bytes(iv));
  const timed = (runs) => {
    const start = process.hrtime.bigint();
    for (let run = 0; run < runs; run += 1) message(input);
    return process.hrtime.bigint() - start;
  };
  console.log(`ready ${version}`);
  for await (const line of createInterface({ input: process.stdin })) {
    const runs = Number(line);
    if (runs === 0) writeFileSync(to, message(input));
    console.log(runs === 0 ? '0' : String(timed(runs)));
  }
}

/** A package among the peers that were built: what it exports, and its version. */
export async function peer(name) {
  const require = createRequire(join(process.env.HEADRACE_PEERS, 'npm', 'package.json'));
  const folder = join(process.env.HEADRACE_PEERS, 'npm', 'node_modules', name);
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return { exported: require(name), version };
}
