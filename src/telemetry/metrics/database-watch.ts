/**
 * What only the database knows, looked at when somebody asks and at most once in ten seconds, however often and by how
 * many it is asked for. Who asks is not kept waiting: when there is no answer within half a second, or the look has
 * failed, then nothing is known, and the look goes on by itself.
 */
import type { DueConversions } from "../../conversions/due-conversions.ts";
import type { MarketQueue } from "../../exchange/markets/market-queues.ts";
import type { OutstandingSupply } from "../../ledger/outstanding-supply.ts";
import { pause } from "../../std/pause.ts";

export interface Seen {
  readonly backing: OutstandingSupply;
  readonly due: DueConversions;
  readonly markets: readonly MarketQueue[];
  /** The database's clock minus ours. */
  readonly clockSkewMs: number;
  /** Undefined: there is no archive of the log. */
  readonly archiveFailing: boolean | undefined;
}

const FRESH_MS = 10_000;
const PATIENCE_MS = 500;

export class DatabaseWatch {
  readonly #look: () => Promise<Seen>;
  readonly #freshMs: number;
  #looking: Promise<void> | undefined;
  #last: { readonly seen: Seen; readonly atMs: number } | undefined;
  #seen: Seen | undefined;

  constructor(look: () => Promise<Seen>, freshMs = FRESH_MS) {
    this.#look = look;
    this.#freshMs = freshMs;
  }

  /** As of the last refresh; undefined: the database did not answer. */
  get seen(): Seen | undefined {
    return this.#seen;
  }

  async refresh(): Promise<void> {
    if (!this.#isFresh) {
      this.#looking ??= this.#lookOnce();
      await Promise.race([this.#looking, pause(PATIENCE_MS)]);
    }
    this.#seen = this.#isFresh ? this.#last?.seen : undefined;
  }

  get #isFresh(): boolean {
    return this.#last !== undefined && performance.now() - this.#last.atMs < this.#freshMs;
  }

  async #lookOnce(): Promise<void> {
    try {
      this.#last = { seen: await this.#look(), atMs: performance.now() };
    } catch {
      // Whoever needs the database says why it is away.
    } finally {
      this.#looking = undefined;
    }
  }
}
