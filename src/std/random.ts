import { randomFillSync } from "node:crypto";

/** A source of random bytes, replaceable in tests. */
export interface Random {
  /** Fills the array with random bytes. */
  fill(bytes: Uint8Array): void;
}

/** A system call costs a hundred times more than copying a few bytes, so bytes are fetched in bulk. */
const STORE_BYTES = 4_096;

/** The system's random source. Every byte is returned once and then erased. */
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
