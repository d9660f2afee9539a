// What `#files` is without Node.js: everything is fetched.

export const readFile = undefined;
