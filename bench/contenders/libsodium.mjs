// Messages for libsodium: of a hash the input, of a key stream the input, nonce and key. Arguments: the name of the function,
// then those of serve.mjs.

import { peer, serve } from './serve.mjs';

const { exported: sodium, version } = await peer('libsodium-wrappers-sumo');
await sodium.ready;
const own = sodium[process.argv[2]];
await serve((key, iv) => (key.length === 0 ? (input) => own(input) : (input) => own(input, iv, key)), version);
