/** Why a run returned. */
export declare const Status: {
  /** Nothing can fire until tokens come or are taken. */
  readonly IDLE: 0;
  /** The limit was reached. */
  readonly LIMIT: 1;
  /** The host stopped the program. */
  readonly STOPPED: 2;
  /** Calls nest too deep. */
  readonly TOO_DEEP: 3;
};

/** What networks that print or call native procedures need. */
export interface Host {
  /** Shows bytes. */
  print?(bytes: Uint8Array): void;
  /** Shows the shortest decimal that reads back the same in a format of 16, 32 or 64 bits. */
  printReal?(value: number, bits: number): void;
  /** A native procedure: its result, or nothing when the program is to stop. It may change lists of bytes. */
  native?(name: string, given: (bigint | Uint8Array)[]): bigint | number | undefined;
}
