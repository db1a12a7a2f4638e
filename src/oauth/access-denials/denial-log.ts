/**
 * The log of access denials. Denials are recorded in memory, equal ones counted together, and written once a minute.
 * Past a bound on distinct denials, as in a flood from many addresses, the rest are counted in one row per kind.
 *
 * Denials that are not yet written are lost in a crash; the process log still has them. After thirty days they are removed,
 * though not by a clock that is wrong for a moment (`RemovalTime`).
 */
import type { Database } from "../../postgres/database.ts";
import type { Clock, Instant } from "../../std/clock.ts";
import { type IdSource, lowestId, type Uuid } from "../../std/id.ts";
import { pause } from "../../std/pause.ts";
import { type Poll, startPoll } from "../../std/poll.ts";
import { RemovalTime } from "../../std/removal-time.ts";
import type { AccessDenial, CountedDenial } from "./access-denial.ts";
import { insertDenials, removeDenials } from "./store.ts";

export { listDenials } from "./store.ts";

export interface DenialLogOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly onFailure: (error: unknown) => void;
  /** Of a monotonic clock. */
  readonly elapsedMs?: (() => number) | undefined;
}

const WRITE_INTERVAL_MS = 60_000;
const LAST_WRITE_LIMIT_MS = 5_000;
const LAST_WRITE_PAUSE_MS = 100;
/** Distinct denials per write. Past it, as many by kind and client, so that a flood hides no guesses; past that, by kind. */
const MAX_GROUPS = 100;
const RETENTION_MS = 30 * 24 * 60 * 60 * 1_000;
const REMOVAL_BATCH = 10_000;

export class DenialLog {
  readonly #options: DenialLogOptions;
  #groups = new Map<string, CountedDenial>();
  /** The write in progress. A failed write may have committed, so it is retried with the same ids. */
  #writing: (CountedDenial & { readonly id: Uuid })[] = [];
  readonly #removal: RemovalTime;
  #poll: Poll | undefined;

  constructor(options: DenialLogOptions) {
    this.#options = options;
    this.#removal = new RemovalTime(options.clock, options.elapsedMs);
  }

  start(everyMs = WRITE_INTERVAL_MS): void {
    this.#poll = startPoll(everyMs, () => this.write(), this.#options.onFailure);
  }

  /**
   * Writes what is left. Waits a few seconds for an unavailable database: a supervisor that signals all processes of a
   * unit has also stopped the embedded PostgreSQL, which is being restarted.
   */
  async stop(): Promise<void> {
    await this.#poll?.stop();
    const deadline = performance.now() + LAST_WRITE_LIMIT_MS;
    while (this.#writing.length + this.#groups.size > 0) {
      try {
        await this.write();
      } catch (error) {
        if (performance.now() > deadline) return this.#options.onFailure(error);
        await pause(LAST_WRITE_PAUSE_MS);
      }
    }
  }

  record(denial: AccessDenial): void {
    const now = this.#options.clock.now();
    const { kind, tokenId } = denial;
    // Truncated because callers choose these: one value too long for the table must not block the other rows.
    const clientId = denial.clientId?.slice(0, 100);
    const address = denial.address?.slice(0, 100);
    const operation = denial.operation?.slice(0, 200);
    this.#count({ kind, clientId, tokenId, address, operation, firstAt: now, lastAt: now, count: 1 });
  }

  /** Writes all recorded denials, oldest first. What fails stays recorded. */
  async write(): Promise<void> {
    const { database, ids } = this.#options;
    while (this.#writing.length + this.#groups.size > 0) {
      if (this.#writing.length === 0) {
        this.#writing = [...this.#groups.values()].map((group) => ({ ...group, id: ids.next() }));
        this.#groups = new Map();
      }
      await insertDenials(database, this.#writing);
      this.#writing = [];
    }
    const now = this.#removal.find();
    if (now !== undefined) await removeDenials(database, lowestId((now - RETENTION_MS) as Instant), REMOVAL_BATCH);
  }

  #count(more: CountedDenial): void {
    const key = keyOf(more);
    const known = this.#groups.get(key);
    const { kind, clientId, firstAt, lastAt, count } = more;
    if (known === undefined && this.#groups.size >= MAX_GROUPS && more.address !== undefined) {
      this.#count({ kind, clientId, firstAt, lastAt, count });
      return;
    }
    if (known === undefined && this.#groups.size >= 2 * MAX_GROUPS && clientId !== undefined) {
      this.#count({ kind, firstAt, lastAt, count });
      return;
    }
    this.#groups.set(key, known === undefined ? more : merge(known, more));
  }
}

/** Takes minimum and maximum, because the clock may have stepped back. */
function merge(known: CountedDenial, more: CountedDenial): CountedDenial {
  return {
    ...known,
    firstAt: Math.min(known.firstAt, more.firstAt) as Instant,
    lastAt: Math.max(known.lastAt, more.lastAt) as Instant,
    count: known.count + more.count,
  };
}

const keyOf = ({ kind, clientId, tokenId, address, operation }: AccessDenial): string =>
  JSON.stringify([kind, clientId, tokenId, address, operation]);
