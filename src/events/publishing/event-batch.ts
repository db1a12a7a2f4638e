/** What of a batch becomes events, and the order of the batches of several slots. */
import type { CustomerId } from "../../customers/customer-id.ts";
import type { RowChange } from "../../ledger/change-history.ts";
import type { Instant } from "../../std/clock.ts";
import type { Uuid } from "../../std/id.ts";
import type { TransferType } from "../../transfers/transfers.ts";

export interface EventBatch {
  readonly slot: number;
  readonly n: bigint;
  readonly at: Instant;
  /** What it made of rows that change, by table and key. */
  readonly written: ReadonlyMap<string, ReadonlyMap<string, RowChange>>;
  readonly transfers: readonly TransferSides[];
  readonly executions: readonly ExecutionKey[];
  /** The types of the deposits and withdrawals of which it has steps. */
  readonly steppedTypes: ReadonlyMap<string, TransferType>;
}

/** A batch with what it added. */
export type AddedBatch = Omit<EventBatch, "steppedTypes">;

/** Whose transfer it is, if it was complete when it was written. A side outside the platform is undefined. */
export interface TransferSides {
  readonly id: Uuid;
  readonly type: TransferType;
  readonly from: CustomerId | undefined;
  readonly to: CustomerId | undefined;
}

export interface ExecutionKey {
  readonly id: bigint;
  readonly customerId: CustomerId;
}

/** A batch without what it added, by which its place is decided. */
export type OrderedBatch = Pick<EventBatch, "slot" | "n" | "at" | "written">;

/** Of each slot, the last batch whose events are made. */
export type Heads = ReadonlyMap<number, bigint>;

export const NO_HEADS: Heads = new Map();

/**
 * Sorts by time, then slot. Never against the numbers of a slot, nor against the versions of an object: clocks of nodes
 * differ, so the later version may have the earlier time. The order of some batches does not depend on which later
 * ones are sorted with them.
 */
export function inOrder<Batch extends OrderedBatch>(batches: readonly Batch[]): Batch[] {
  const queues = queuesOf(batches);
  const waiting = new WaitingVersions([...queues.values()].flat().flatMap(({ versions }) => versions));
  const ordered: Batch[] = [];
  for (;;) {
    const next = firstReady(queues, waiting);
    if (next === undefined) return ordered;
    queues.get(next.batch.slot)?.shift();
    for (const version of next.versions) waiting.delete(version);
    ordered.push(next.batch);
  }
}

/** A version of an object. */
interface Version {
  readonly of: string;
  readonly version: bigint;
}

interface Queued<Batch> {
  readonly batch: Batch;
  /** That it made. Of an object that it changed several times, the last one. */
  readonly versions: readonly Version[];
}

/** The versions of batches that are not in order yet. Those of an object have gaps. */
class WaitingVersions {
  /** By object, the lowest last. */
  readonly #versions = new Map<string, bigint[]>();

  constructor(versions: readonly Version[]) {
    for (const { of, version } of versions) {
      const others = this.#versions.get(of);
      if (others === undefined) this.#versions.set(of, [version]);
      else others.push(version);
    }
    for (const one of this.#versions.values()) one.sort((a, b) => (a > b ? -1 : 1));
  }

  isLowest({ of, version }: Version): boolean {
    return this.#versions.get(of)?.at(-1) === version;
  }

  delete({ of, version }: Version): void {
    const versions = this.#versions.get(of) ?? [];
    versions.splice(versions.lastIndexOf(version), 1);
  }
}

type Queues<Batch> = Map<number, Queued<Batch>[]>;

function queuesOf<Batch extends OrderedBatch>(batches: readonly Batch[]): Queues<Batch> {
  const queues: Queues<Batch> = new Map();
  for (const batch of [...batches].sort((a, b) => a.slot - b.slot || (a.n < b.n ? -1 : 1))) {
    const queued = { batch, versions: versionsOf(batch.written) };
    const queue = queues.get(batch.slot);
    if (queue === undefined) queues.set(batch.slot, [queued]);
    else queue.push(queued);
  }
  return queues;
}

function versionsOf(written: OrderedBatch["written"]): Version[] {
  return [...written].flatMap(([table, changes]) =>
    [...changes].map(([key, { version }]) => ({ of: `${table}/${key}`, version })),
  );
}

/** In a sound chain one is always ready, because the batches have committed in some order. Otherwise the first goes on. */
function firstReady<Batch extends OrderedBatch>(
  queues: Queues<Batch>,
  waiting: WaitingVersions,
): Queued<Batch> | undefined {
  const first = [...queues.values()].flatMap((queue) => queue[0] ?? []);
  if (first.length < 2) return first[0];
  first.sort(({ batch: a }, { batch: b }) => a.at - b.at || a.slot - b.slot);
  return first.find(({ versions }) => versions.every((version) => waiting.isLowest(version))) ?? first[0];
}

/**
 * The longest beginning of these batches, in order, that depends on none that was not read: every version of an object
 * comes with the ones before it. A version in one slot may follow on one of another slot whose batch is later by at most
 * `skewMs`, by which clocks differ.
 *
 * @param unread slots that have more batches than were read
 */
export function safeBeginning<Batch extends OrderedBatch>(
  batches: readonly Batch[],
  unread: ReadonlySet<number>,
  skewMs: number,
): Batch[] {
  const lastRead = new Map<number, Instant>();
  for (const { slot, at } of batches) if (unread.has(slot)) lastRead.set(slot, at);
  const ordered = inOrder(batches);
  const end = ordered.findIndex((batch) =>
    [...unread].some((slot) => slot !== batch.slot && batch.at + skewMs >= (lastRead.get(slot) ?? -Infinity)),
  );
  return end === -1 ? ordered : ordered.slice(0, end);
}
