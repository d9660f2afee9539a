// How Node.js reads what lies beside a module. The package calls this `#files`; where it is bundled for a browser, that is
// `no_files.js`.

export { readFile } from 'node:fs/promises';
