import type { Queryable } from "../../postgres/database.ts";
import { readKeys } from "../rows.ts";
import type { Deciding } from "./deciding.ts";
import { MicroBatcher } from "./micro-batcher.ts";
import type { PendingCommand, Steps } from "./pending-command.ts";
import type { Slot } from "./slot.ts";

/** Reads rows that commands depend on and that are not in memory, in micro-batches. */
export class Loading {
  readonly #database: Queryable;
  readonly #deciding: Deciding;
  readonly #slot: Slot;
  readonly #steps: Steps;
  readonly #batcher: MicroBatcher<PendingCommand>;

  /** @param max commands per read */
  constructor(database: Queryable, deciding: Deciding, slot: Slot, max: number, steps: Steps) {
    this.#database = database;
    this.#deciding = deciding;
    this.#slot = slot;
    this.#steps = steps;
    this.#batcher = new MicroBatcher(max, (group) => this.#readSome(group.filter((pending) => !pending.isComplete)));
  }

  /** Admits the command again once its rows are known. */
  read(pending: PendingCommand): void {
    this.#batcher.add(pending);
  }

  async #readSome(some: readonly PendingCommand[]): Promise<void> {
    try {
      const { epoch } = this.#deciding;
      const keys = some.flatMap((pending) => this.#deciding.unknown(pending));
      const rows = await readKeys(this.#database, keys, this.#slot.number, "none");
      if (epoch === this.#deciding.epoch) this.#deciding.remember(keys, rows, some);
      for (const pending of some) this.#steps.admit(pending);
    } catch (error) {
      for (const pending of some) this.#steps.fail(pending, error);
    }
  }
}
