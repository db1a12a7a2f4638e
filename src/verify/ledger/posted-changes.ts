/**
 * Rows whose versions post journals: the batch that wrote a version has the journal that the version requires and no other,
 * and each such journal belongs to a row that its batch wrote.
 */
import type { Entry, JournalCause } from "../../ledger/accounts.ts";
import type { RowChange } from "../../ledger/change-history.ts";
import { batchName, type StoredBatch } from "../../ledger/stored-batches.ts";
import { columnsOf, type SqlRecord, type StateRow, type StateTable } from "../../ledger/tables.ts";
import type { Database } from "../../postgres/database.ts";
import { parseUuid, siblingId, type Uuid } from "../../std/id.ts";
import type { Tally } from "../check.ts";
import type { BatchCheck } from "./chain.ts";
import { effectOn, profileEntries } from "./journals.ts";

/** What a step posts, on profile accounts. Its journal has the id of the row, or at the end the odd id beside it. */
export interface RequiredJournal {
  readonly id: Uuid;
  readonly cause: JournalCause;
  readonly entries: readonly Entry[];
  /** It may be of an earlier batch. */
  readonly optional?: boolean;
}

export interface PostedChanges<Row> {
  readonly check: string;
  /** The name of the table whose rows change. */
  readonly table: string;
  /** What a row is called in reports. */
  readonly name: string;
  /** Whether the journal belongs to a row of the table. */
  readonly isOwn: (cause: JournalCause, id: Uuid) => boolean;
  /** The last part of a row's key is its id. Of a row, only what never changes is used: it may be newer than the batch. */
  readonly read: (database: Database, keys: readonly (readonly string[])[]) => Promise<ReadonlyMap<Uuid, Row>>;
  /**
   * One batch may take several steps, of which it has only the last version.
   * @returns what is wrong with the version, or the journals that lead to it
   */
  readonly required: (row: Row, change: RowChange, batch: StoredBatch) => readonly RequiredJournal[] | string;
}

/** Reads rows of a table whose key is a profile and an id; a key that is neither finds none. */
export function readerByProfile<Row extends StateRow & { readonly id: Uuid }>(
  table: StateTable<Row>,
): PostedChanges<Row>["read"] {
  return async (database, keys) => {
    const known = keys.filter((key) => key.length === 2 && key.every((part) => parseUuid(part) !== undefined));
    const rows = await database.rows<SqlRecord>(
      `select ${columnsOf(table, "t.")}
         from ${table.name} t join unnest($1::uuid[], $2::uuid[]) as k(profile_id, id)
           on t.profile_id = k.profile_id and t.id = k.id`,
      [known.map(([profile]) => profile), known.map(([, id]) => id)],
    );
    return new Map(rows.map(table.read).map((row) => [row.id, row]));
  };
}

export function postedChangesCheck<Row>(of: PostedChanges<Row>): BatchCheck {
  return {
    check: of.check,
    examine: async (batches, database, tally) => {
      const written = batches.flatMap((batch) => [...(batch.written.get(of.table)?.keys() ?? [])]);
      const keys = [...new Set(written)].map((key) => key.split("/"));
      const rows = keys.length === 0 ? new Map<Uuid, Row>() : await of.read(database, keys);
      for (const batch of batches) checkBatch(of, batch, rows, tally);
    },
  };
}

function checkBatch<Row>(of: PostedChanges<Row>, batch: StoredBatch, rows: ReadonlyMap<Uuid, Row>, tally: Tally): void {
  const allowed = new Set<Uuid>();
  for (const [key, change] of batch.written.get(of.table) ?? []) {
    const id = key.split("/").at(-1) as Uuid;
    for (const each of [id, siblingId(id)]) allowed.add(each);
    const row = rows.get(id);
    // That a row is missing is found by another check.
    if (row === undefined) continue;
    tally.examined(1);
    for (const fault of faultsOf(of, row, id, change, batch)) tally.broken(`${of.name} ${key}`, fault);
  }
  for (const [id, [posting]] of batch.journals) {
    if (posting === undefined || !of.isOwn(posting.cause, id) || allowed.has(id)) continue;
    tally.broken(`journal ${id}`, `of ${batchName(batch)} belongs to a ${of.name} that the batch did not write`);
  }
}

function* faultsOf<Row>(
  { required: requiredBy, isOwn }: PostedChanges<Row>,
  row: Row,
  id: Uuid,
  change: RowChange,
  batch: StoredBatch,
): Iterable<string> {
  const required = requiredBy(row, change, batch);
  if (typeof required === "string") return yield required;
  const here = `version ${change.version} in ${batchName(batch)}`;
  for (const each of [id, siblingId(id)]) {
    const cause = batch.journals.get(each)?.[0]?.cause;
    if (cause === undefined || !isOwn(cause, each) || required.some((journal) => journal.id === each)) continue;
    yield `requires no ${cause} for ${here}, but there is one`;
  }
  for (const { id: journalId, cause, entries, optional } of required) {
    const postings = batch.journals.get(journalId) ?? [];
    if (optional === true && postings.length === 0) continue;
    const [wanted, posted] = [effectOn(entries), effectOn(profileEntries(postings))];
    const is = postings[0]?.cause;
    if (wanted !== posted) yield `requires ${wanted} for ${here}, but its journal posts ${posted}`;
    else if (is !== cause) yield `requires a ${cause} for ${here}, but its journal is a ${is}`;
  }
}
