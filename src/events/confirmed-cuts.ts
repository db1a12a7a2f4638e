/**
 * Which cuts the synchronous standby has, too. A cut can be read before that: when the wait for the standby is interrupted,
 * as by the end of a primary that has lost its lease, it is committed on that server only. Events that were told from it
 * would be lost with the server, and their numbers given to others. So it is told once something that was committed after
 * it is on the standby (docs/decisions/0022-answered-means-on-the-standby.md), in the history of the database in which it
 * was read: in another one its number may be that of another cut.
 */
import { DatabaseAway, DatabaseReadOnly, type QueryableWithHistory } from "../postgres/database.ts";
import { waitForStandby } from "../postgres/durability.ts";

export class ConfirmedCuts {
  readonly #database: QueryableWithHistory;
  /** That of what follows. */
  #history = "";
  #last = 0n;
  /** The last one that somebody has read. */
  #wanted = 0n;
  #waiting: Promise<void> | undefined;

  constructor(database: QueryableWithHistory) {
    this.#database = database;
  }

  /** This process has published it, which was confirmed. */
  published(cut: bigint): void {
    this.#forgetFormerHistory();
    if (cut > this.#last) this.#last = cut;
  }

  /**
   * Resolves when the cut is on the standby. One commit confirms what all have read by then.
   * @param history in which it was read
   * @throws DatabaseAway if another history has begun since
   */
  async confirm(cut: bigint, history: string): Promise<void> {
    this.#forgetFormerHistory();
    this.#expect(history);
    if (cut > this.#wanted) this.#wanted = cut;
    while (cut > this.#last) {
      this.#waiting ??= this.#wait().finally(() => {
        this.#waiting = undefined;
      });
      await this.#waiting;
      this.#expect(history);
    }
  }

  #forgetFormerHistory(): void {
    const { history } = this.#database;
    if (history === this.#history) return;
    [this.#history, this.#last, this.#wanted] = [history, 0n, 0n];
  }

  #expect(history: string): void {
    if (this.#database.history !== history) throw new DatabaseAway("another server has taken over, or was restarted");
  }

  async #wait(): Promise<void> {
    const [wanted, history] = [this.#wanted, this.#history];
    try {
      // A former primary has become a standby, and still has what it committed alone.
      if (!(await waitForStandby(this.#database))) throw new DatabaseReadOnly("events are confirmed on a primary only");
      this.#expect(history);
    } catch (error) {
      // All who wait fail. What they have read may be on a former primary only: no later commit confirms it.
      this.#wanted = this.#last;
      throw error;
    }
    this.published(wanted);
  }
}
