/**
 * Lists of a customer's transfer records. A row of `transfer` is one or two of them: see transfer.ts. A record's id is
 * its row's, or the odd one beside it, so the order of rows is the order of records.
 */
import type { CustomerId } from "../customers/customer-id.ts";
import { joined, type ListOptions, type Sql, sql, statementOf, textOf } from "../customers/list-queries.ts";
import { type FilteredField, filteredAnnotations } from "../ledger/annotations.ts";
import { columnsOf, type SqlRecord } from "../ledger/tables.ts";
import { type Queryable, sqlTime } from "../postgres/database.ts";
import { COMMIT_MARKER } from "../postgres/durability.ts";
import { HISTORY } from "../postgres/history.ts";
import type { Instant } from "../std/clock.ts";
import { evenOf, instantOf, lowestId, siblingId, type Uuid } from "../std/id.ts";
import {
  type ExternalTransfer,
  externalTransferTable,
  STATUSES_OF,
  TRANSFER_STATUSES,
  type TransferStatus,
} from "./external-transfer.ts";
import {
  creditOf,
  type Direction,
  debitOf,
  formsOfHash,
  type RecordType,
  SIDES,
  TRANSFER_ANNOTATIONS,
  type Transfer,
  type TransferRecord,
  transferTable,
  typesOf,
  updatedAtOf,
} from "./transfer.ts";

/** A record's place in a list. */
export type RecordPosition = Pick<TransferRecord, "id"> & { readonly updatedAt: Instant };

type AnnotationFilters = {
  readonly [Field in FilteredField<typeof TRANSFER_ANNOTATIONS> as `${Field}s`]?: readonly string[] | undefined;
};

/** Filters combine with AND; what is undefined does not filter. */
export interface TransferFilter extends ListOptions<RecordPosition>, AnnotationFilters {
  /** Default: by creation, which is by id. */
  readonly orderBy?: "UPDATED_AT" | undefined;
  /** The customer's own: another's would be searched for in all transfers of the customer. */
  readonly profileIds?: readonly string[] | undefined;
  readonly ids?: readonly Uuid[] | undefined;
  /** Of the transaction on a chain, in any form. */
  readonly cryptoTxHashes?: readonly string[] | undefined;
  readonly refIds?: readonly string[] | undefined;
  readonly types?: readonly RecordType[] | undefined;
  readonly statuses?: readonly TransferStatus[] | undefined;
  /** Bounds on the time of the last change: `updatedFrom` is inclusive, `updatedBefore` exclusive. */
  readonly updatedFrom?: Instant | undefined;
  readonly updatedBefore?: Instant | undefined;
  /** Bounds on the id, and so on the creation time: `from` is inclusive, `before` exclusive. Both are even. */
  readonly from?: Uuid | undefined;
  readonly before?: Uuid | undefined;
}

/** One page of records. Of the row at which the page before ended none may be wanted. */
export async function listTransfers(database: Queryable, filter: TransferFilter): Promise<TransferRecord[]> {
  const { order, orderBy, limit } = filter;
  const branches = branchesOf(filter);
  if (branches.length === 0) return [];
  const updatedAt = orderBy === "UPDATED_AT" ? sql`coalesce(e.updated_at, t.created_at) ${textOf(order)}, ` : sql``;
  const { text, values } = statementOf(
    sql`select t.*, ${STEPS} from (${joined(branches, " union all ")}) as t ${WITH_STEPS}
         order by ${updatedAt}t.id ${textOf(order)} limit ${limit + 1}`,
  );
  const rows = await database.rows<SqlRecord>(text, values);
  const records = rows.flatMap((row) => {
    const [transfer, steps] = [transferTable.read(row), readSteps(row)];
    return [
      ...(row.debit === true ? [debitOf(transfer, steps)] : []),
      ...(row.credit === true ? [creditOf(transfer, steps)] : []),
    ];
  });
  const sign = order === "ASC" ? 1 : -1;
  const time = (record: TransferRecord): number => (orderBy === "UPDATED_AT" ? updatedAtOf(record) : 0);
  return records.sort((a, b) => sign * (time(a) - time(b) || (a.id < b.id ? -1 : 1))).slice(0, limit);
}

/** The columns of the row that says how far a transfer is. Some are called like the transfer's. */
const STEPS = textOf(externalTransferTable.columns.map(({ name }) => `e.${name} as steps_${name}`).join(", "));

const WITH_STEPS = textOf(
  "left join external_transfer e on t.has_steps and e.customer_id = t.customer_id and e.id = t.id",
);

function readSteps(row: SqlRecord): ExternalTransfer | undefined {
  if (row.has_steps !== true) return undefined;
  const names = externalTransferTable.columns.map(({ name }) => name);
  return externalTransferTable.read(Object.fromEntries(names.map((name) => [name, row[`steps_${name}`]])));
}

/** Whose transfer it is. One index probe per customer. */
export async function findTransferOwner(database: Queryable, id: Uuid): Promise<CustomerId | undefined> {
  const [row] = await database.rows<{ id: CustomerId }>(
    "select c.id from customer c join transfer t on t.customer_id = c.id and t.id = $1",
    [id],
  );
  return row?.id;
}

/** The deposits and withdrawals of all customers that have not ended, the oldest first. */
export async function listOpenTransfers(database: Queryable, limit: number): Promise<TransferRecord[]> {
  const { text, values } = statementOf(
    sql`select ${COLUMNS}, ${STEPS} from external_transfer e join transfer t on t.customer_id = e.customer_id and t.id = e.id
         where ${hasStatus(["PENDING"])} order by e.id limit ${limit}`,
  );
  return (await database.rows<SqlRecord>(text, values)).map((row) => readWithRecord(row).record);
}

/** The row of a transfer, which never changes. */
export async function findTransferRow(
  database: Queryable,
  customerId: CustomerId,
  id: Uuid,
): Promise<Transfer | undefined> {
  const [row] = await database.rows<SqlRecord>(
    `select ${columnsOf(transferTable)} from transfer where customer_id = $1 and id = $2`,
    [customerId, id],
  );
  return row && transferTable.read(row);
}

/** A transfer, and its record: that of a deposit or withdrawal, or the debit. */
export interface FoundTransfer {
  readonly transfer: Transfer;
  readonly record: TransferRecord;
  /** That in which it was found, as `HISTORY` names it. */
  readonly history: string;
}

/** The transfers that have these ref_ids of the customer's, once they are durable. At most one of each. */
export async function findByRefIds(
  database: Queryable,
  customerId: CustomerId,
  refIds: readonly string[],
): Promise<FoundTransfer[]> {
  const { text, values } = statementOf(
    sql`select ${COLUMNS}, ${STEPS}, ${textOf(COMMIT_MARKER)} as committed_behind, ${textOf(HISTORY)} as history
          from transfer t ${WITH_STEPS}
         where t.customer_id = ${customerId} and t.ref_id = any(${refIds}::text[])`,
  );
  const rows = await database.rows<SqlRecord & { readonly history: string }>(text, values);
  return rows.map((row) => ({ ...readWithRecord(row), history: row.history }));
}

function readWithRecord(row: SqlRecord): Omit<FoundTransfer, "history"> {
  const [transfer, steps] = [transferTable.read(row), readSteps(row)];
  const record = transfer.fromProfileId === undefined ? creditOf(transfer, steps) : debitOf(transfer, steps);
  return { transfer, record };
}

/** One of the customer's records. */
export async function findTransfer(
  database: Queryable,
  customerId: CustomerId,
  id: Uuid,
): Promise<TransferRecord | undefined> {
  const [record] = await listTransfers(database, { customerId, ids: [id], order: "ASC", limit: 1 });
  return record;
}

const COLUMNS = textOf(columnsOf(transferTable, "t."));

/** What records are found by in an index, whose order is that of the ids. */
interface Sought {
  readonly filter: "profileIds" | keyof AnnotationFilters;
  readonly column: string;
  readonly type: "text" | "uuid";
}

/** Those of each side, first what is rarest. */
const SOUGHT: Readonly<Record<Direction, readonly Sought[]>> = {
  DEBIT: [...annotationsSought("DEBIT"), { filter: "profileIds", column: "from_profile_id", type: "uuid" }],
  CREDIT: [...annotationsSought("CREDIT"), { filter: "profileIds", column: "to_profile_id", type: "uuid" }],
};

function annotationsSought(direction: Direction): Sought[] {
  return filteredAnnotations(TRANSFER_ANNOTATIONS).map(({ field }) => ({
    filter: `${field}s`,
    column: SIDES[direction][field].name,
    type: "text",
  }));
}

/** The places in which the rows are looked for. Each is read in the order of an index, and up to the limit. */
function branchesOf(filter: TransferFilter): Sql[] {
  const { statuses = TRANSFER_STATUSES, orderBy, after, updatedFrom, updatedBefore } = filter;
  const mayBeComplete = statuses.includes("COMPLETED");
  const isByUpdate = orderBy === "UPDATED_AT" || updatedFrom !== undefined || updatedBefore !== undefined;
  if (!isByUpdate) return mayBeComplete ? rowBranches({ ...filter, after: after?.id }) : [stepsBranch(filter)];
  const complete = rowBranches({
    ...filter,
    statuses: undefined,
    isComplete: true,
    // Not `&&`: 1970 began at 0.
    from: latest(filter.from, updatedFrom === undefined ? undefined : lowestId(updatedFrom)),
    before: earliest(filter.before, updatedBefore === undefined ? undefined : lowestId(updatedBefore)),
    after:
      after && orderBy === "UPDATED_AT" && instantOf(after.id) < after.updatedAt
        ? lowestId(after.updatedAt)
        : after?.id,
  });
  return [...(mayBeComplete ? complete : []), stepsBranch(filter)];
}

/** A filter whose position is a record's id, or one between those of records. */
interface RowFilter extends Omit<TransferFilter, "after"> {
  readonly after: Uuid | undefined;
  /** Only what was complete when it was written: such a record's id contains the time of its only change. */
  readonly isComplete?: true;
}

function rowBranches(filter: RowFilter): Sql[] {
  // Only the one who requested a transfer sees its ref_id.
  if (filter.refIds !== undefined) return [requestedBranch(filter)];
  if (filter.ids === undefined && filter.cryptoTxHashes !== undefined) return hashBranches(filter);
  const isBy = (sought: Sought) => filter[sought.filter] !== undefined;
  const [debit, credit] = [SOUGHT.DEBIT.find(isBy), SOUGHT.CREDIT.find(isBy)];
  if (filter.ids !== undefined || debit === undefined || credit === undefined)
    return [requestedBranch(filter), receivedBranch(filter)];
  const wanted = { ...filter, [debit.filter]: [...new Set(filter[debit.filter])] };
  return [...soughtBranches(wanted, debit, "DEBIT"), ...soughtBranches(wanted, credit, "CREDIT")];
}

/** To plan a branch takes a third of a millisecond: more values share one. */
const MOST_BRANCHES = 8;

/**
 * Those of some accounts, identities or profiles. Each of a few values has a branch of its own, so that the planner knows
 * how rare it is: a rare one is not looked for among all that its customer has. Of many, each is looked up in the index.
 */
function soughtBranches(filter: RowFilter, by: Sought, direction: Direction): Sql[] {
  return branchesBy(filter[by.filter] ?? [], by.type, (value) => soughtBranch(filter, by, value, direction));
}

function branchesBy(wanted: readonly string[], type: Sought["type"], branchOf: (value: Sql) => Sql): Sql[] {
  if (wanted.length <= MOST_BRANCHES) return wanted.map((value) => sql`(${branchOf(sql`${value}`)})`);
  return [
    sql`(select of_one.* from unnest(${wanted}::${textOf(type)}[]) as wanted(value)
           cross join lateral (${branchOf(textOf("wanted.value"))}) as of_one)`,
  ];
}

/**
 * Deposits and withdrawals by the transaction on a chain: those that name it in their row, and those that named it with a
 * later step, which counts instead.
 */
function hashBranches(filter: RowFilter): Sql[] {
  const hashes = formsOf(filter.cryptoTxHashes);
  const inRow = sql`(t.has_steps is null or not exists (select from external_transfer e
    where e.customer_id = t.customer_id and e.id = t.id and e.crypto_tx_hash is not null))`;
  const named = branchesBy(hashes, "text", (hash) =>
    hashBranch(
      filter,
      sql`transfer t where t.customer_id = ${filter.customerId} and t.crypto_tx_hash = ${hash} and ${inRow}`,
    ),
  );
  if (filter.isComplete === true) return named;
  const byStep = branchesBy(hashes, "text", (hash) =>
    hashBranch(
      filter,
      sql`external_transfer e join transfer t on t.customer_id = e.customer_id and t.id = e.id
           where e.customer_id = ${filter.customerId} and e.crypto_tx_hash = ${hash}`,
    ),
  );
  return [...named, ...byStep];
}

function hashBranch(filter: RowFilter, rows: Sql): Sql {
  const others = { ...filter, cryptoTxHashes: undefined };
  const [debit, credit] = [debitIs(others), creditIs(others)];
  const conditions = [...rowsWithin(filter), ...rowsFrom(filter), sql`(${isTrue(debit)} or ${isTrue(credit)})`];
  return sql`select ${COLUMNS}, ${isTrue([...debit, ...debitBehind(filter)])} as debit,
                    ${isTrue([...credit, ...creditBehind(filter)])} as credit
     from ${rows} and ${joined(conditions, " and ")} order by t.id ${textOf(filter.order)} limit ${filter.limit + 1}`;
}

/** From the row at which the page before ended, for the other record of it. */
function rowsFrom({ after, order }: RowFilter): Sql[] {
  if (after === undefined) return [];
  return [order === "ASC" ? sql`t.id >= ${evenOf(after)}` : sql`t.id <= ${after}`];
}

const formsOf = (hashes: readonly string[] = []): string[] => [...new Set(hashes.flatMap(formsOfHash))];

/** Whether the transaction that a row's record shows is a wanted one. */
function hasHash({ cryptoTxHashes }: Pick<TransferFilter, "cryptoTxHashes">): Sql[] {
  if (cryptoTxHashes === undefined) return [];
  return [
    sql`coalesce((select e.crypto_tx_hash from external_transfer e
      where t.has_steps and e.customer_id = t.customer_id and e.id = t.id), t.crypto_tx_hash) = any(${formsOf(cryptoTxHashes)}::text[])`,
  ];
}

/** What has steps, which only its requester sees: few among all transfers, in the order of an index of their own. */
function stepsBranch(filter: TransferFilter): Sql {
  const { customerId, order, orderBy, limit, after, statuses, updatedFrom, updatedBefore } = filter;
  const rows = [...rowsWithin({ ...filter, statuses: undefined })];
  const wanted = statuses === undefined ? [] : [hasStatus(statuses)];
  if (updatedFrom !== undefined) wanted.push(sql`e.updated_at >= ${sqlTime(updatedFrom)}`);
  if (updatedBefore !== undefined) wanted.push(sql`e.updated_at < ${sqlTime(updatedBefore)}`);
  const [key, position] =
    orderBy === "UPDATED_AT"
      ? [["e.updated_at", "e.id"], after && sql`${sqlTime(after.updatedAt)}, ${after.id}`]
      : [["e.id"], after && sql`${after.id}`];
  if (position !== undefined)
    wanted.push(sql`(${textOf(key.join(", "))}) ${textOf(order === "ASC" ? ">" : "<")} (${position})`);
  const [debit, credit] = [debitIs(filter), creditIs(filter)];
  return sql`(select ${COLUMNS}, ${isTrue(debit)} as debit, ${isTrue(credit)} as credit
     from external_transfer e join transfer t on t.customer_id = e.customer_id and t.id = e.id
    where e.customer_id = ${customerId} and ${joined([...wanted, ...rows], " and ")} and (${isTrue(debit)} or ${isTrue(credit)})
    order by ${textOf(key.map((column) => `${column} ${order}`).join(", "))} limit ${limit})`;
}

/** Written out, as the conditions of the indexes are. */
function hasStatus(statuses: readonly TransferStatus[]): Sql {
  const wanted = statuses.flatMap((status) => STATUSES_OF[status]);
  return textOf(`e.status in (${wanted.map((status) => `'${status}'`).join(", ")})`);
}

const latest = (one: Uuid | undefined, other: Uuid | undefined): Uuid | undefined =>
  one === undefined || (other !== undefined && other > one) ? other : one;
const earliest = (one: Uuid | undefined, other: Uuid | undefined): Uuid | undefined =>
  one === undefined || (other !== undefined && other < one) ? other : one;

/**
 * What the customer requested, on either side; and the row at which the page before ended, for the other record of it.
 * Each bound is stated once: the planner takes a condition that is stated twice for a rarer one.
 */
function requestedBranch(filter: RowFilter): Sql {
  const { customerId, order, limit } = filter;
  const [debit, credit] = [debitIs(filter), [sql`t.to_customer_id = ${customerId}`, ...creditIs(filter)]];
  const rows = [...rowsWithin(filter), ...rowsFrom(filter)];
  return sql`(select ${COLUMNS}, ${isTrue([...debit, ...debitBehind(filter)])} as debit,
                     ${isTrue([...credit, ...creditBehind(filter)])} as credit
     from transfer t
    where t.customer_id = ${customerId} and ${joined(rows, " and ")} and (${isTrue(debit)} or ${isTrue(credit)})
    order by t.id ${textOf(order)} limit ${limit + 1})`;
}

/** What other customers have sent. */
function receivedBranch(filter: RowFilter): Sql {
  const conditions = [...rowsWithin(filter), ...creditIs(filter), ...creditBehind(filter)];
  return sql`(select ${COLUMNS}, false, true from transfer t
    where t.to_customer_id = ${filter.customerId} and t.customer_id <> t.to_customer_id and ${joined(conditions, " and ")}
    ${pageOf(filter)})`;
}

/**
 * Those of one account, identity or profile, in the order of its index. A profile's customer is checked last, because it
 * makes the profile no rarer.
 */
function soughtBranch(filter: RowFilter, by: Sought, value: Sql, direction: Direction): Sql {
  const isDebit = direction === "DEBIT";
  const others = { ...filter, [by.filter]: undefined };
  const customer = sql`${textOf(isDebit ? "customer_id" : "to_customer_id")} = ${filter.customerId}`;
  const conditions = [
    sql`t.${textOf(by.column)} = ${value}`,
    ...(by.filter === "profileIds" ? [] : [sql`t.${customer}`]),
    ...rowsWithin(filter),
    ...(isDebit ? [...debitIs(others), ...debitBehind(filter)] : [...creditIs(others), ...creditBehind(filter)]),
  ];
  return sql`select * from (
      select ${COLUMNS}, ${textOf(String(isDebit))} as debit, ${textOf(String(!isDebit))} as credit from transfer t
       where ${joined(conditions, " and ")} ${pageOf(filter)}) as sought
     where sought.${customer}`;
}

function pageOf({ order, limit }: RowFilter): Sql {
  return sql`order by t.id ${textOf(order)} limit ${limit}`;
}

/** What holds for rows whichever of their records is meant. */
function rowsWithin({ ids, refIds, from, before, statuses, isComplete }: Omit<RowFilter, "after">): Sql[] {
  const conditions = [sql`true`];
  if (ids !== undefined) conditions.push(sql`t.id = any(${[...new Set(ids.map(evenOf))]}::uuid[])`);
  if (refIds !== undefined) conditions.push(sql`t.ref_id = any(${refIds}::text[])`);
  if (from !== undefined) conditions.push(sql`t.id >= ${from}`);
  if (before !== undefined) conditions.push(sql`t.id < ${before}`);
  if (isComplete === true) conditions.push(sql`t.has_steps is null`);
  if (statuses !== undefined && statuses.length < TRANSFER_STATUSES.length)
    conditions.push(sql`(t.has_steps is null or exists (select from external_transfer e
      where e.customer_id = t.customer_id and e.id = t.id and ${hasStatus(statuses)}))`);
  return conditions;
}

function sideIs(direction: Direction, filter: Omit<TransferFilter, "after">): Sql[] {
  return SOUGHT[direction].flatMap(({ filter: name, column, type }) => {
    const wanted = filter[name];
    return wanted === undefined ? [] : [sql`t.${textOf(column)} = any(${wanted}::${textOf(type)}[])`];
  });
}

/** Whether the row's debit is one of the wanted records. */
function debitIs(filter: Omit<TransferFilter, "after">): Sql[] {
  const { ids, types } = filter;
  const conditions = [sql`t.from_profile_id is not null`, ...sideIs("DEBIT", filter), ...hasHash(filter)];
  if (ids !== undefined) conditions.push(sql`t.id = any(${ids}::uuid[])`);
  if (types !== undefined) conditions.push(sql`t.type = any(${typesOf("DEBIT", types)}::transfer_type[])`);
  return conditions;
}

/** Whether it comes after the page before. */
function debitBehind({ after, order }: RowFilter): Sql[] {
  if (after === undefined) return [];
  return [order === "ASC" ? sql`t.id > ${after}` : sql`t.id < ${after}`];
}

/** Whether the row's credit is one of the wanted records. */
function creditIs(filter: Omit<TransferFilter, "after">): Sql[] {
  const { ids, refIds, types } = filter;
  const conditions = [sql`t.to_profile_id is not null`, ...sideIs("CREDIT", filter), ...hasHash(filter)];
  if (types !== undefined) conditions.push(sql`t.type = any(${typesOf("CREDIT", types)}::transfer_type[])`);
  if (refIds !== undefined) conditions.push(sql`t.from_profile_id is null`);
  if (ids !== undefined)
    conditions.push(
      sql`t.id = any(case when t.from_profile_id is null then ${ids}::uuid[] else ${ids.map(siblingId)}::uuid[] end)`,
    );
  return conditions;
}

/** Whether it comes after the page before. Its id is the row's if it has no debit, else the odd one beside it. */
function creditBehind({ after, order }: RowFilter): Sql[] {
  if (after === undefined) return [];
  const even = evenOf(after);
  if (order === "DESC") return [sql`t.id < ${even}`];
  if (after !== even) return [sql`t.id > ${even}`];
  return [sql`t.id >= ${even}`, sql`(t.id > ${even} or t.from_profile_id is not null)`];
}

const isTrue = (conditions: readonly Sql[]): Sql => sql`((${joined(conditions, " and ")}) is true)`;
