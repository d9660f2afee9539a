/** Why there is no result. After any code but `REFUSED` the message is lost, and one under a key needs its key again. */
export declare class OperationError extends Error {
  readonly code: 'KEY_LENGTH' | 'STRING_LENGTH' | 'INPUT_LENGTH' | 'ORDER' | 'STUCK' | 'REFUSED';
}
