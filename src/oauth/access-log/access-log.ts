/**
 * The trail of refusals of authority. Nobody waits for it: a refusal is noted in memory, the same ones are counted
 * together, and once a minute what was noted is written as a group. When there are more kinds of them than the bound,
 * such as in a flood from many addresses, those that came too late are counted in one row for all.
 *
 * What is noted and not yet written is lost with the process: of a crash the log is the witness.
 */
import type { Database } from "../../postgres/database.ts";
import type { Clock, Instant } from "../../std/clock.ts";
import { type IdSource, lowestId, type Uuid } from "../../std/id.ts";
import { pause } from "../../std/pause.ts";
import { type Poll, startPoll } from "../../std/poll.ts";
import type { AccessDenial, CountedDenial } from "./access-denial.ts";
import { insertDenials, removeDenials } from "./store.ts";

export { listDenials as listRefusals } from "./store.ts";

export interface AccessLogOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly onFailure: (error: unknown) => void;
}

const WRITTEN_EVERY_MS = 60_000;
const LAST_WRITE_LIMIT_MS = 5_000;
const LAST_WRITE_PAUSE_MS = 100;
/** Rows that are written at once at most, beside one for what is past the bound of each kind. */
const MOST_GROUPS = 100;
const KEPT_MS = 30 * 24 * 60 * 60 * 1_000;
const REMOVED_AT_ONCE = 10_000;

export class AccessLog {
  readonly #options: AccessLogOptions;
  #groups = new Map<string, CountedDenial>();
  /** What is being written. It may be there already though the writing failed, so it is tried again under the same ids. */
  #writing: (CountedDenial & { readonly id: Uuid })[] = [];
  #poll: Poll | undefined;

  constructor(options: AccessLogOptions) {
    this.#options = options;
  }

  start(): void {
    this.#poll = startPoll(WRITTEN_EVERY_MS, () => this.write(), this.#options.onFailure);
  }

  /**
   * Writes what is left. A database that is away is waited for: a supervisor that signals every process of a unit has ended
   * the embedded one too, and it is being started again.
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

  note(refusal: AccessDenial): void {
    const now = this.#options.clock.now();
    const { kind, tokenId } = refusal;
    // Strangers choose these: what the table would not take must not keep the others out of it.
    const clientId = refusal.clientId?.slice(0, 100);
    const address = refusal.address?.slice(0, 100);
    const operation = refusal.operation?.slice(0, 200);
    this.#count({ kind, clientId, tokenId, address, operation, firstAt: now, lastAt: now, count: 1 });
  }

  /** What cannot be written stays noted, and is written before what comes after it. */
  async write(): Promise<void> {
    const { database, clock, ids } = this.#options;
    while (this.#writing.length + this.#groups.size > 0) {
      if (this.#writing.length === 0) {
        this.#writing = [...this.#groups.values()].map((group) => ({ ...group, id: ids.next() }));
        this.#groups = new Map();
      }
      await insertDenials(database, this.#writing);
      this.#writing = [];
    }
    await removeDenials(database, lowestId((clock.now() - KEPT_MS) as Instant), REMOVED_AT_ONCE);
  }

  #count(more: CountedDenial): void {
    const key = keyOf(more);
    const known = this.#groups.get(key);
    if (known === undefined && this.#groups.size >= MOST_GROUPS && more.address !== undefined) {
      const { kind, firstAt, lastAt, count } = more;
      this.#count({ kind, firstAt, lastAt, count });
      return;
    }
    this.#groups.set(key, known === undefined ? more : together(known, more));
  }
}

/** The clock may have stepped back between the two. */
function together(known: CountedDenial, more: CountedDenial): CountedDenial {
  return {
    ...known,
    firstAt: Math.min(known.firstAt, more.firstAt) as Instant,
    lastAt: Math.max(known.lastAt, more.lastAt) as Instant,
    count: known.count + more.count,
  };
}

const keyOf = ({ kind, clientId, tokenId, address, operation }: AccessDenial): string =>
  JSON.stringify([kind, clientId, tokenId, address, operation]);
