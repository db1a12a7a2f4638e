/** Rebuilds all events from the cuts and the chain, with the same numbers and ids. */
import type { CustomerId } from "../../customers/customer-id.ts";
import type { Database, Queryable } from "../../postgres/database.ts";
import {
  endLease,
  hasLease,
  LEASE_MS,
  type Lease,
  releaseLease,
  renewLease,
  takeLease,
  tryTurn,
} from "../../postgres/leases.ts";
import { countRows, digestOfFacts, rowsOf } from "../event-rows.ts";
import { addRows, type Cut, deleteAllRows, findLastCut, readCuts, readFirstCut, removeRowsOfCuts } from "../store.ts";
import { readContent } from "./cut-content.ts";
import { NO_HEADS } from "./event-batch.ts";
import { EVENTS_LEASE } from "./publisher.ts";

/** Nothing was changed. The message is one line for the operator. */
export class RebuildFailed extends Error {
  override readonly name = "RebuildFailed";
}

export interface Rebuilt {
  readonly cuts: number;
  readonly events: number;
  /** From which cut on events are listed. Of those before only what later ones need was kept. */
  readonly firstListedCut: bigint;
}

/** How far it is. What it throws ends the rebuild, which then has changed nothing. */
export interface RebuildWatcher {
  begins(cuts: number): void;
  made(cuts: number): void;
}

const CUTS_AT_ONCE = 500;
const ATTEMPTS = 10;

/**
 * In one transaction: readers see the old events until it commits, and a rebuild that is killed has changed nothing. The
 * publisher is suspended meanwhile.
 *
 * @throws RebuildFailed when the chain does not say what the cuts do, another rebuild runs, or the lease cannot be taken
 */
export async function rebuildEvents(database: Database, holder: string, watcher?: RebuildWatcher): Promise<Rebuilt> {
  let lease: Lease | undefined;
  let renewal: NodeJS.Timeout | undefined;
  try {
    return await database.transaction(async (transaction) => {
      // Before the lease, which it would take from the other one.
      if (!(await tryTurn(transaction, "events rebuild")))
        throw new RebuildFailed("the events are being rebuilt already: let that end");
      const taken = await takeOver(database, holder);
      lease = taken;
      renewal = setInterval(() => void renewLease(database.commits, taken, LEASE_MS).catch(() => false), LEASE_MS / 3);
      watcher?.begins(Number((await findLastCut(transaction))?.number ?? 0));
      await deleteAllRows(transaction);
      const rebuilt = await addAll(transaction, watcher);
      const first = await readFirstCut(transaction);
      if (first > 1n) await removeRowsOfCuts(transaction, 1n, first - 1n, first);
      if (!(await hasLease(transaction, taken)))
        throw new RebuildFailed("another process has begun to publish events: try again");
      return { ...rebuilt, firstListedCut: first };
    }, "any time");
  } finally {
    clearInterval(renewal);
    if (lease !== undefined) await releaseLease(database.commits, lease).catch(() => undefined);
  }
}

/** Takes the lease from the publisher, whose next cut then fails. */
async function takeOver(database: Database, holder: string): Promise<Lease> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    await endLease(database.commits, EVENTS_LEASE);
    const lease = await takeLease(database.commits, EVENTS_LEASE, holder, LEASE_MS);
    if (lease !== undefined) return lease;
  }
  throw new RebuildFailed("the lease of the publisher could not be taken: try again");
}

async function addAll(
  database: Queryable,
  watcher: RebuildWatcher | undefined,
): Promise<Omit<Rebuilt, "firstListedCut">> {
  const numbers = new Map<CustomerId, bigint>();
  let before: Pick<Cut, "number" | "heads"> = { number: 0n, heads: NO_HEADS };
  let events = 0;
  for (;;) {
    const cuts = await readCuts(database, before.number + 1n, CUTS_AT_ONCE);
    for (const cut of cuts) {
      const { facts } = await readContent(database, before.heads, cut.heads, cut);
      if (facts.length !== cut.events || !digestOfFacts(facts).equals(cut.digest))
        throw new RebuildFailed(`event_cut ${cut.number} did not make what the chain says: run parbook verify`);
      const rows = rowsOf(facts, numbers);
      await addRows(database, cut, rows);
      countRows(numbers, rows);
      events += cut.events;
      before = cut;
      watcher?.made(1);
    }
    if (cuts.length < CUTS_AT_ONCE) return { cuts: Number(before.number), events };
  }
}
