import type { Queryable } from "../../postgres/database.ts";
import { readKeys } from "../rows.ts";
import type { Deciding } from "./deciding.ts";
import { MicroBatcher } from "./micro-batcher.ts";
import type { PendingCommand, Steps } from "./pending-command.ts";
import type { Slot } from "./slot.ts";

/** Reads the rows that commands rest on and that the lane does not remember: all that are missing at a time together. */
export class Loading {
  readonly #database: Queryable;
  readonly #deciding: Deciding;
  readonly #slot: Slot;
  readonly #steps: Steps;
  readonly #batcher: MicroBatcher<PendingCommand>;

  /** `most`: commands whose rows are read at once. */
  constructor(database: Queryable, deciding: Deciding, slot: Slot, most: number, steps: Steps) {
    this.#database = database;
    this.#deciding = deciding;
    this.#slot = slot;
    this.#steps = steps;
    this.#batcher = new MicroBatcher(most, (group) => this.#readSome(group.filter((waiting) => !waiting.answered)));
  }

  /** The command is admitted again when its rows are known. */
  read(waiting: PendingCommand): void {
    this.#batcher.add(waiting);
  }

  async #readSome(some: readonly PendingCommand[]): Promise<void> {
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
