/**
 * What must hold after every commit, checked on the rows that it touches: versions increase, the hash chain links, and holds
 * equal open orders and conversions. What the commands should do is the model's part.
 */
import { isDeepStrictEqual } from "node:util";
import { orderTable } from "../../../src/exchange/order.ts";
import { PARTS } from "../../../src/ledger/accounts.ts";
import { type RowChange, readChanges, replayVersions } from "../../../src/ledger/change-history.ts";
import { namesOf } from "../../../src/ledger/columns.ts";
import { digestOf, type StateRow } from "../../../src/ledger/tables.ts";
import { addedRows, contentDigest, linkHash, NO_HASH, voidHash } from "../../../src/ledger/writer/batch.ts";
import { amountOf } from "../../../src/money/amount.ts";
import { must } from "../../../src/std/assert.ts";
import type { Instant } from "../../../src/std/clock.ts";
import { LANE_TABLES } from "../../../src/verify/lane-tables.ts";
import { hashedTables } from "../../../src/verify/ledger/chain.ts";
import { assets, markets } from "../fixtures.ts";
import type { Commit } from "../postgres/simulated-postgres.ts";
import { keyOfRow, pick, type Row, type Tables } from "../postgres/tables.ts";
import { CLOCK_TOLERANCE_MS } from "../simulated-node.ts";

class InvariantViolation extends Error {
  override readonly name = "InvariantViolation";
}

export function invariant(holds: boolean, message: string): asserts holds {
  if (!holds) throw new InvariantViolation(message);
}

const RECORDS = hashedTables(LANE_TABLES.records);
const DIGESTED = LANE_TABLES.states.filter(({ digested }) => digested);

/** An amount of a row, in units of 10^-18. */
export const units = (value: unknown): bigint => amountOf(String(value));

/** The error with which a node measures the offset between its clock and the database's. */
export const MEASURED_WRONGLY_MS = 100;

export function checkCommit(commit: Commit, tables: Tables): void {
  checkRecordsStay(commit);
  checkTimes(commit);
  checkAccounts(commit);
  checkStates(commit);
  checkDeactivations(commit, tables);
  checkEngine(commit);
  for (const { table, row, before } of commit.changes) {
    if (table === "batch" && before === undefined && row !== undefined) checkLink(row, commit, tables);
  }
  checkHolds(commit, tables);
  checkDerivedOrders(commit, tables);
  if (commit.changes.some(({ table, row }) => table === "account" && row?.house !== null)) checkHouse(tables);
}

function checkRecordsStay({ changes }: Commit): void {
  for (const { table, key, before } of changes) {
    const isRecord = table === "batch" || RECORDS.some(({ name }) => name === table);
    invariant(!isRecord || before === undefined, `${table} ${key} is written once and stays`);
  }
}

/**
 * No row is from the future, within the clock tolerance, whatever a node's clock says; and nothing ends before it begins.
 */
function checkTimes({ changes }: Commit): void {
  for (const { table, key, row, writtenAt } of changes) {
    if (row === undefined || table === "lease") continue;
    for (const column of Object.keys(row).filter((name) => name === "at" || name.endsWith("_at"))) {
      const at = row[column];
      if (at === null) continue;
      const aheadMs = Number(at) - writtenAt;
      invariant(
        aheadMs <= CLOCK_TOLERANCE_MS + MEASURED_WRONGLY_MS,
        `${table} ${key} is of ${column} ${aheadMs} ms ahead`,
      );
      invariant(
        row.created_at === undefined || Number(at) >= Number(row.created_at),
        `${table} ${key} is not created after its ${column}`,
      );
    }
  }
}

/** Postings number on, each leaves what it found and its own amount, and the last is what the account says. */
function checkAccounts({ changes }: Commit): void {
  const postings = changes.flatMap(({ table, row }) => (table === "posting" && row !== undefined ? [row] : []));
  const sums = new Map<string, bigint>();
  for (const { journal_id, asset, amount } of postings) {
    const key = `${journal_id} ${asset}`;
    sums.set(key, (sums.get(key) ?? 0n) + units(amount));
  }
  for (const [key, sum] of sums) invariant(sum === 0n, `journal ${key} sums to zero, not to ${sum}`);
  let followed = 0;
  for (const { table, key, row, before } of changes) {
    if (table !== "account" || row === undefined) continue;
    const own = postings.filter(({ owner_id, asset }) => `${owner_id}/${asset}` === key);
    followed += own.length;
    checkAccount(key, before, row, own);
  }
  invariant(followed === postings.length, "every posting has its account in its batch");
}

function checkAccount(key: string, before: Row | undefined, row: Row, postings: Row[]): void {
  postings.sort((a, b) => Number(a.version) - Number(b.version));
  const parts = Object.fromEntries(PARTS.map((part) => [part, before === undefined ? 0n : units(before[part])]));
  let version = BigInt(String(before?.version ?? 0));
  let at = Number(before?.at ?? 0);
  for (const posting of postings) {
    version += 1n;
    invariant(
      BigInt(String(posting.version)) === version,
      `account ${key}: posting ${posting.version} stands where ${version} is due`,
    );
    const part = String(posting.part);
    parts[part] = (parts[part] ?? 0n) + units(posting.amount);
    for (const each of PARTS) {
      invariant(
        units(posting[each]) === parts[each],
        `account ${key}: posting ${version} leaves ${each} at ${posting[each]}`,
      );
    }
    invariant(Number(posting.at) >= at, `account ${key}: posting ${version} is not earlier than the one before it`);
    at = Number(posting.at);
  }
  invariant(
    BigInt(String(row.version)) === version,
    `account ${key} has the number of its last posting, ${version}, not ${row.version}`,
  );
  for (const part of PARTS)
    invariant(units(row[part]) === parts[part], `account ${key} has what its postings make of ${part}`);
  const owes = ["world", "reserve", "issuance"].includes(String(row.house));
  invariant(row.may_be_negative === (row.house === null ? null : owes), `account ${key} has the sign of its kind`);
  invariant(owes || (parts.available ?? 0n) >= 0n, `account ${key} has ${row.available} available`);
  invariant(
    (parts.trading ?? 0n) >= 0n && (parts.pending ?? 0n) >= 0n,
    `account ${key} has ${row.trading}, ${row.pending}`,
  );
}

const CLOSED = ["SETTLED", "FILLED", "CANCELLED", "REJECTED", "EXPIRED", "completed", "failed", "cancelled"];

function checkStates({ changes }: Commit): void {
  for (const { table, key, row, before } of changes) {
    if (row === undefined || !("version" in row) || table === "posting") continue;
    const [was, is] = [BigInt(String(before?.version ?? 0)), BigInt(String(row.version))];
    const isMarked = table === "account" && before !== undefined && row.last_deactivation !== before.last_deactivation;
    invariant(is > was || (is === was && isMarked), `${table} ${key} follows version ${was}, but has ${is}`);
    const wasClosed = table !== "market" && CLOSED.includes(String(before?.status));
    const wasLifted = table === "legal_hold" && before !== undefined && before.lifted_at !== null;
    invariant(!wasClosed && !wasLifted, `${table} ${key} is ${before?.status ?? "lifted"} and no longer changes`);
    if (table === "market_head") invariant(is === was + 1n, `${table} ${key} increases by one with every command`);
  }
}

/** Every account of a profile says when it was deactivated last, in the batch that deactivates it too. */
function checkDeactivations({ changes }: Commit, tables: Tables): void {
  const touched = new Set(
    changes.flatMap(({ table, row }) => (table === "profile" ? row?.id : table === "account" ? row?.owner_id : [])),
  );
  for (const { table, key, row, before } of changes) {
    if (table !== "profile" || row === undefined || row.status === before?.status || before === undefined) continue;
    const last = row.status === "INACTIVE" ? row.version : before.last_deactivation;
    invariant(row.last_deactivation === last, `profile ${key} was deactivated last at ${last}`);
  }
  for (const account of tables.rows("account")) {
    if (!touched.has(account.owner_id)) continue;
    const last = tables.get("profile", String(account.owner_id))?.last_deactivation ?? "0";
    const name = `${account.owner_id}/${account.asset}`;
    invariant(
      account.last_deactivation === last,
      `account ${name} says ${account.last_deactivation}, its profile ${last}`,
    );
  }
}

/** The engine's numbers only increase, and every order has a sequence of its own. */
function checkEngine({ changes }: Commit): void {
  for (const { table, key, row, before } of changes) {
    if (table !== "market_head" || row === undefined) continue;
    for (const column of ["fence", "last_sequence", "last_execution_id"]) {
      invariant(
        BigInt(String(row[column])) >= BigInt(String(before?.[column] ?? 0)),
        `${column} of ${key} never decreases`,
      );
    }
    for (const order of changes) {
      if (order.table !== "orders" || order.row?.sequence === null || order.before?.sequence !== null) continue;
      const isNew = BigInt(String(order.row?.sequence)) > BigInt(String(before?.last_sequence ?? 0));
      invariant(isNew, `order ${order.key} has a sequence of its own, not ${order.row?.sequence}`);
    }
  }
}

/** A batch continues the hash chain of its slot, and its hash is that of the stored rows. */
function checkLink(batch: Row, commit: Commit, tables: Tables): void {
  const [slot, n] = [Number(batch.slot), BigInt(String(batch.n))];
  const name = `batch ${slot}/${n}`;
  const before = n === 0n ? undefined : tables.get("batch", `${slot}/${n - 1n}`);
  invariant(n === 0n || before !== undefined, `${name} has its predecessor`);
  const previous = (before?.hash as Buffer | undefined) ?? NO_HASH;
  if (batch.void === true) {
    invariant(voidHash(previous, slot, n).equals(batch.hash as Buffer), `${name} has the hash of a void one`);
    invariant(commit.changes.length === 1, `${name} is void and changes nothing`);
    return;
  }
  const records = RECORDS.flatMap((table) => {
    const rows = commit.changes.flatMap(({ table: name, row }) =>
      name === table.name && row !== undefined
        ? [{ row: table.read(row), caller: (row.caller as number | null | undefined) ?? undefined }]
        : [],
    );
    return rows.length === 0 ? [] : [addedRows(table, rows)];
  });
  const changes = (batch.changes as string | null) ?? undefined;
  const callers = (batch.callers as string | null) ?? undefined;
  const digest = contentDigest({ at: batch.at as Instant, records, changes, callers });
  invariant(linkHash(previous, slot, n, digest).equals(batch.hash as Buffer), `${name} has the hash of its content`);
  checkDigests(name, changes, commit);
  checkCallers(name, callers, changes, commit);
}

function checkDigests(name: string, changes: string | undefined, commit: Commit): void {
  const noted = readChanges(changes);
  for (const table of DIGESTED) {
    for (const { table: of, key, row: record } of commit.changes) {
      if (of !== table.name || record === undefined) continue;
      const row = table.read(record);
      const own = noted.get(table.name)?.get(table.keyOf(row));
      const fits = own?.version === row.version && own?.digest === digestOf(table, row);
      invariant(fits, `${name} has the digest of ${table.name} ${key}`);
    }
  }
}

/**
 * Every version of every row can be replayed from the chain: with the digest that its batch gave it, and at last the row
 * as it is.
 */
export function checkHistory(tables: Tables): void {
  const histories = new Map<string, RowChange[]>();
  for (const { changes } of tables.rows("batch")) {
    for (const [table, rows] of readChanges((changes as string | null) ?? undefined)) {
      for (const [key, change] of rows) {
        const name = `${table} ${key}`;
        histories.set(name, [...(histories.get(name) ?? []), change]);
      }
    }
  }
  for (const table of DIGESTED) {
    for (const record of tables.rows(table.name)) {
      const row: StateRow = table.read(record);
      const name = `${table.name} ${table.keyOf(row)}`;
      const changes = (histories.get(name) ?? []).sort((a, b) => Number(a.version - b.version));
      histories.delete(name);
      const versions = [...replayVersions(table, record, changes)];
      for (const { change, digest } of versions)
        invariant(digest === change.digest, `version ${change.version} of ${name} is replayed as it was`);
      const last = versions.at(-1)?.texts;
      const isOpened = last === undefined && table.openedOutsideBatches === true && row.version === 1n;
      const fits = table.hashed.every((column) => column.text(row) === (last?.get(column.name) ?? null));
      invariant(isOpened || fits, `${name} is as it is replayed`);
    }
  }
  invariant(histories.size === 0, `what is replayed is there: ${[...histories.keys()][0]}`);
}

/** Every change of a batch has its caller. */
function checkCallers(name: string, callers: string | undefined, changes: string | undefined, commit: Commit): void {
  const count = (JSON.parse(callers ?? "[]") as unknown[]).length;
  const isOne = (number: unknown): boolean => Number.isInteger(number) && Number(number) < count;
  for (const { table, key, row } of commit.changes) {
    invariant(table !== "transfer" || isOne(row?.caller), `${name} has the caller of transfer ${key}`);
  }
  for (const [key, { callers: numbers }] of [...readChanges(changes).values()].flatMap((rows) => [...rows])) {
    invariant(numbers.length > 0 && numbers.every(isOne), `${name} has the caller of the change of ${key}`);
  }
}

const HOLDING = ["account", "orders", "conversion", "external_transfer", "legal_hold"];

/** Holds equal open orders, created conversions, open withdrawals and legal holds. */
function checkHolds({ changes }: Commit, tables: Tables): void {
  const touched = changes.some(({ table }) => HOLDING.includes(table));
  if (!touched) return;
  const held = new Map<string, bigint>();
  const hold = (part: string, owner: unknown, asset: unknown, amount: unknown): void => {
    const key = `${part} ${owner}/${asset}`;
    held.set(key, (held.get(key) ?? 0n) + units(amount));
  };
  for (const order of tables.rows("orders")) {
    const market = markets.find(({ code }) => code === order.market);
    hold("trading", order.profile_id, order.side === "BUY" ? market?.quote : market?.base, order.held);
  }
  for (const conversion of tables.rows("conversion")) {
    if (conversion.status === "CREATED")
      hold("pending", conversion.profile_id, conversion.source_asset, conversion.amount);
  }
  for (const { customer_id, id, status } of tables.rows("external_transfer")) {
    const transfer = tables.get("transfer", `${customer_id}/${id}`);
    const isOpen = ["requested", "approved", "sent"].includes(String(status));
    if (isOpen && transfer?.from_profile_id !== null)
      hold("pending", transfer?.from_profile_id, transfer?.asset, transfer?.amount);
  }
  for (const { profile_id, asset, amount, lifted_at } of tables.rows("legal_hold"))
    if (lifted_at === null) hold("pending", profile_id, asset, amount);
  for (const account of tables.rows("account")) {
    if (account.house !== null) continue;
    for (const part of ["trading", "pending"] as const) {
      const key = `${part} ${account.owner_id}/${account.asset}`;
      const needed = held.get(key) ?? 0n;
      invariant(units(account[part]) === needed, `${key} is ${account[part]}, but its holds sum to ${needed}`);
    }
  }
}

/** The status decides in which of the two derived tables an order has its row, with its values. */
const DERIVED: Readonly<Record<string, readonly string[]>> = {
  pending_order: ["PENDING_SUBMISSION"],
  booked_order: ["OPEN", "SUBMITTED"],
};

function checkDerivedOrders({ changes }: Commit, tables: Tables): void {
  for (const { name, columns } of orderTable.projections) {
    const statuses = must(DERIVED[name], `${name} is known`);
    for (const { table, row, before } of changes) {
      const changed = row ?? before;
      if ((table !== "orders" && table !== name) || changed === undefined) continue;
      const order = tables.get("orders", keyOfRow("orders", changed));
      const isWanted = order !== undefined && statuses.includes(String(order.status));
      const wanted = isWanted ? pick(order, namesOf(columns)) : undefined;
      const stored = tables.get(name, keyOfRow(name, changed));
      invariant(isDeepStrictEqual(stored, wanted), `${name} has order ${changed.id} as it is`);
    }
  }
}

/**
 * Over all slots: the reserve of each coin equals its supply, which profiles hold; fees are not overdrawn; every asset sums to
 * zero.
 */
function checkHouse(tables: Tables): void {
  const sum = (asset: string, of: (row: Row) => boolean): bigint =>
    tables
      .rows("account")
      .filter((row) => row.asset === asset && of(row))
      .reduce((total, row) => total + units(row.available) + units(row.trading) + units(row.pending), 0n);
  for (const { code, kind } of assets) {
    invariant(sum(code, () => true) === 0n, `${code} sums to zero over all accounts`);
    invariant(sum(code, (row) => row.house === "fees") >= 0n, `fees in ${code} are not overdrawn`);
    const issued = -sum(code, (row) => row.house === "issuance");
    const reserve = sum("USD", (row) => row.house === "reserve" && row.coin === code);
    invariant(reserve === issued, `the reserve of ${code} is its supply`);
    invariant(kind === "stablecoin" || issued === 0n, `${code} is issued, though it is no stablecoin`);
    if (kind !== "stablecoin") continue;
    invariant(issued === sum(code, (row) => row.house === null), `the supply of ${code} is what profiles hold`);
  }
  const reserves = sum("USD", (row) => row.house === "reserve" && !assets.some(({ code }) => code === row.coin));
  invariant(reserves === 0n, "every reserve is of a coin");
}
