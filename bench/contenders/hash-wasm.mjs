// Messages for hash-wasm, whose objects are opened by the function of this name. Arguments: the name, then those of serve.mjs.

import { peer, serve } from './serve.mjs';

const { exported, version } = await peer('hash-wasm');
await serve(async () => {
  const hasher = await exported[process.argv[2]]();
  return (input) => hasher.init().update(input).digest('binary');
}, version);
