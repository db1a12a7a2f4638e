/**
 * The market maker of sandbox mode: an ordinary customer that keeps a two-sided book on a few markets, so that whoever
 * tries the API has somebody to trade with. It deposits, places, cancels and reads by the same commands as everybody.
 *
 * It makes one pass after the other, each of which compares its orders with the ladders that it wants (`desk.ts`), and
 * comes out as one of:
 *   standing_by  another process makes the markets.
 *   at_work      orders were placed or cancelled, or are not on the book yet, or not off it.
 *   settled      every ladder rests, but for markets that refuse orders, which are left alone for a while. Until somebody
 *                trades nothing is written: a pass a second reads a few rows.
 *   failed       the database is away, or something else went wrong. The next pass waits for longer each time.
 *
 * The lease is for peace, not for safety: what a maker places that was paused past its end, its successor withdraws.
 *
 * On stop the orders stay. A process that is killed leaves them too, so a start has to take them over in any case; they
 * go on filling orders on other nodes, and a restart places nothing anew.
 */
import type { Database } from "../postgres/database.ts";
import { LEASE_MS, type Lease, releaseLease, renewLease, takeLease } from "../postgres/leases.ts";
import { WakeSignal } from "../std/bell.ts";
import { type Desks, type DesksParts, MAKER, openDesks } from "./desks.ts";

export type { MakerEvent } from "./desks.ts";

export interface MakerParts extends DesksParts {
  readonly database: Database;
  /** Names this process among all that share the database. */
  readonly holder: string;
}

type Standing = "standing_by" | "at_work" | "settled" | "failed";

/** How long until the next pass: the first of a row, and at most. It doubles while the passes come out the same. */
const PAUSES_MS: Readonly<Record<Standing, readonly [first: number, longest: number]>> = {
  standing_by: [1_000, 1_000],
  at_work: [100, 1_000],
  settled: [1_000, 1_000],
  failed: [1_000, 30_000],
};
const LEASE = "sandbox_maker";
/** How long a start waits for the ladders. They come later where no engine serves the markets. */
const READY_LIMIT_MS = 10_000;

export class Maker {
  readonly #parts: MakerParts;
  readonly #end = new WakeSignal();
  #lease: Lease | undefined;
  /** By the clock that never steps. */
  #renewAt = 0;
  #desks: Desks | undefined;
  #stopping = false;
  #running: Promise<void> | undefined;

  constructor(parts: MakerParts) {
    this.#parts = parts;
  }

  /** Answers when the ladders rest or another process sees to them, and after ten seconds whatever has come of it. */
  async start(): Promise<void> {
    const ready = new WakeSignal();
    this.#running ??= this.#run(() => ready.ring());
    await ready.wait(READY_LIMIT_MS);
  }

  /** Ends with the pass that is under way. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#end.ring();
    await this.#running;
    await this.#release();
  }

  /** For a sandbox that is to have no maker any more: takes away what an earlier one has left on the books. */
  async withdraw(): Promise<void> {
    if ((await this.#parts.customers.find(MAKER)) === undefined || !(await this.#holdsLease())) return;
    await (await openDesks(this.#parts)).withdraw();
    await this.#release();
  }

  async #run(ready: () => void): Promise<void> {
    let before: Standing | undefined;
    let pauseMs = 0;
    while (!this.#stopping) {
      const standing = await this.#tryPass();
      if (standing === "settled" || standing === "standing_by") ready();
      const [first, longest] = PAUSES_MS[standing];
      pauseMs = standing === before ? Math.min(2 * pauseMs, longest) : first;
      before = standing;
      await this.#end.wait(pauseMs);
    }
  }

  async #tryPass(): Promise<Standing> {
    try {
      if (!(await this.#holdsLease())) return "standing_by";
      this.#desks ??= await openDesks(this.#parts);
      return await this.#desks.pass();
    } catch (error) {
      this.#parts.log({ kind: "pass_failed", error: error instanceof Error ? error : new Error(String(error)) });
      return "failed";
    }
  }

  async #holdsLease(): Promise<boolean> {
    if (this.#lease !== undefined && performance.now() < this.#renewAt) return true;
    const { database, holder } = this.#parts;
    const isKept = this.#lease !== undefined && (await renewLease(database, this.#lease, LEASE_MS));
    if (!isKept) {
      // Whoever had it meanwhile has moved the prices on.
      this.#desks = undefined;
      this.#lease = await takeLease(database, LEASE, holder, LEASE_MS);
    }
    this.#renewAt = performance.now() + LEASE_MS / 3;
    return this.#lease !== undefined;
  }

  /** Where it cannot be let go of, it ends by itself. */
  async #release(): Promise<void> {
    if (this.#lease !== undefined) await releaseLease(this.#parts.database, this.#lease).catch(() => undefined);
    this.#lease = undefined;
  }
}
