/**
 * Which cuts the synchronous standby has, too. A cut can be read before that: when the wait for the standby is interrupted,
 * as by the end of a primary that has lost its lease, it is committed on that server only. Events that were told from it
 * would be lost with the server, and their numbers given to others. So it is told once something that was committed after
 * it is on the standby (docs/decisions/0022-answered-means-on-the-standby.md).
 */
import { DatabaseReadOnly, type Queryable } from "../postgres/database.ts";
import { waitForStandby } from "../postgres/durability.ts";

export class ConfirmedCuts {
  readonly #database: Queryable;
  #last = 0n;
  /** The last one that somebody has read. */
  #wanted = 0n;
  #waiting: Promise<void> | undefined;

  constructor(database: Queryable) {
    this.#database = database;
  }

  /** This process has published it, which was confirmed. */
  published(cut: bigint): void {
    if (cut > this.#last) this.#last = cut;
  }

  /** Resolves when the cut, which has been read, is on the standby. One commit confirms what all have read by then. */
  async confirm(cut: bigint): Promise<void> {
    if (cut > this.#wanted) this.#wanted = cut;
    while (cut > this.#last) {
      this.#waiting ??= this.#wait().finally(() => {
        this.#waiting = undefined;
      });
      await this.#waiting;
    }
  }

  async #wait(): Promise<void> {
    const wanted = this.#wanted;
    try {
      // A former primary has become a standby, and still has what it committed alone.
      if (!(await waitForStandby(this.#database))) throw new DatabaseReadOnly("events are confirmed on a primary only");
    } catch (error) {
      // All who wait fail. What they have read may be on a former primary only: no later commit confirms it.
      this.#wanted = this.#last;
      throw error;
    }
    this.published(wanted);
  }
}
