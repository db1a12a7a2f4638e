import { randomFillSync } from "node:crypto";

/** Where chance comes from, so that a test can replay it. */
export interface Random {
  /** Fills the array with random bytes. */
  fill(bytes: Uint8Array): void;
}

export const systemRandom: Random = { fill: (bytes) => void randomFillSync(bytes) };
