/** A string of bytes: any view of memory, or memory itself. */
export type Bytes = ArrayBufferView | ArrayBufferLike;

/**
 * Why there is no result. After `STUCK` the message is lost and its key, after `REFUSED` the message; after any other code, and
 * after a `TypeError` (whose `code` is `ERR_INVALID_ARG_TYPE`), everything is as it was before the call. What is called after
 * `clear` throws, an error of the code `CLEARED` at the latest.
 */
export declare class OperationError extends Error {
  readonly code: 'KEY_LENGTH' | 'STRING_LENGTH' | 'INPUT_LENGTH' | 'ORDER' | 'STUCK' | 'REFUSED';
}

/** A string in hexadecimal digits. */
export declare function hex(string: Bytes): string;
