import { randomFillSync } from "node:crypto";

/** Where chance comes from, so that a test can replay it. */
export interface Random {
  /** Fills the array with random bytes. */
  fill(bytes: Uint8Array): void;
}

/** Asking the system costs a hundred times what copying a few bytes does, so it is asked for many at once. */
const STORE_BYTES = 4_096;

/** The system's own. Every byte is given out once, and is gone from memory then. */
export class SystemRandom implements Random {
  readonly #store = new Uint8Array(STORE_BYTES);
  #used = STORE_BYTES;

  fill(bytes: Uint8Array): void {
    if (bytes.length > STORE_BYTES) {
      randomFillSync(bytes);
      return;
    }
    if (this.#used + bytes.length > STORE_BYTES) {
      randomFillSync(this.#store);
      this.#used = 0;
    }
    const end = this.#used + bytes.length;
    bytes.set(this.#store.subarray(this.#used, end));
    this.#store.fill(0, this.#used, end);
    this.#used = end;
  }
}

export const systemRandom: Random = new SystemRandom();
