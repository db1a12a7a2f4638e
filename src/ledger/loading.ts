import type { Queryable } from "../postgres/database.ts";
import type { Deciding } from "./deciding.ts";
import { readKeys } from "./rows.ts";
import type { Slot } from "./slot.ts";
import type { Steps, Waiting } from "./waiting.ts";

/** Reads the rows that commands rest on and that the lane does not remember: all that are missing at a time together. */
export class Loading {
  readonly #database: Queryable;
  readonly #deciding: Deciding;
  readonly #slot: Slot;
  readonly #most: number;
  readonly #steps: Steps;
  #waiting: Waiting[] = [];
  #isReading = false;

  /** `most`: commands whose rows are read at once. */
  constructor(database: Queryable, deciding: Deciding, slot: Slot, most: number, steps: Steps) {
    this.#database = database;
    this.#deciding = deciding;
    this.#slot = slot;
    this.#most = most;
    this.#steps = steps;
  }

  /** The command is admitted again when its rows are known. */
  read(waiting: Waiting): void {
    this.#waiting.push(waiting);
    if (!this.#isReading) void this.#readAll();
  }

  async #readAll(): Promise<void> {
    this.#isReading = true;
    while (this.#waiting.length > 0) {
      // What arrives in the same turn of the event loop is read together.
      await new Promise(setImmediate);
      await this.#readSome(this.#waiting.splice(0, this.#most).filter((waiting) => !waiting.answered));
    }
    this.#isReading = false;
  }

  async #readSome(some: readonly Waiting[]): Promise<void> {
    try {
      const { epoch } = this.#deciding;
      const keys = some.flatMap((waiting) => this.#deciding.unknown(waiting));
      const rows = await readKeys(this.#database, keys, this.#slot.number, "none");
      if (epoch === this.#deciding.epoch) this.#deciding.learn(keys, rows, some);
      for (const waiting of some) this.#steps.admit(waiting);
    } catch (error) {
      for (const waiting of some) this.#steps.fail(waiting, error);
    }
  }
}
