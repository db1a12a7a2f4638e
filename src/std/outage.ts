/** Reports the first of the failures in a row, and their number when they end. */
export class Outage {
  readonly #onBegun: (error: unknown) => void;
  readonly #onEnded: (failures: number) => void;
  #failures = 0;

  constructor(onBegun: (error: unknown) => void, onEnded: (failures: number) => void) {
    this.#onBegun = onBegun;
    this.#onEnded = onEnded;
  }

  failed(error: unknown): void {
    this.#failures += 1;
    if (this.#failures === 1) this.#onBegun(error);
  }

  succeeded(): void {
    const failures = this.#failures;
    this.#failures = 0;
    if (failures > 0) this.#onEnded(failures);
  }
}
