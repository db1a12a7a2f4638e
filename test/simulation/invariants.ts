/**
 * What has to hold after every commit, looked at on the rows that it touches: rows carry on from those before them, the
 * chain links, and what is kept aside is what is asked for. None of it knows what was wanted: that is the model's.
 */
import { conversionTable } from "../../src/conversions/store.ts";
import { profileTable } from "../../src/customers/profiles/profiles.ts";
import { customerVolumeTable } from "../../src/exchange/customer-volume.ts";
import { executionTable } from "../../src/exchange/execution.ts";
import { marketHeadTable, marketTable } from "../../src/exchange/market-state.ts";
import { orderTable } from "../../src/exchange/order.ts";
import { PARTS, postingTable } from "../../src/ledger/accounts.ts";
import { addedRows, contentDigest, linkHash, NO_HASH, voidHash } from "../../src/ledger/lane/batch.ts";
import { type AnyRecordTable, type AnyStateTable, digestOf } from "../../src/ledger/rows.ts";
import { amountOf } from "../../src/money/amount.ts";
import type { Instant } from "../../src/std/clock.ts";
import { transferTable } from "../../src/transfers/store.ts";
import { assets, markets } from "./fixtures.ts";
import { CLOCK_TOLERANCE_MS } from "./simulated-node.ts";
import type { Commit } from "./simulated-postgres.ts";
import type { Row, Tables } from "./tables.ts";

class LawBroken extends Error {
  override readonly name = "LawBroken";
}

export function law(holds: boolean, words: string): asserts holds {
  if (!holds) throw new LawBroken(words);
}

const RECORDS: readonly AnyRecordTable[] = [executionTable, postingTable, transferTable];
const STATES: readonly AnyStateTable[] = [
  conversionTable,
  marketTable,
  marketHeadTable,
  orderTable,
  profileTable,
  customerVolumeTable,
];

/** By its text: amounts of rows. */
export const units = (value: unknown): bigint => amountOf(String(value));

/** By how much a node may have measured wrongly how far its clock is from the database's. */
export const MEASURED_WRONGLY_MS = 100;

export function checkCommit(commit: Commit, tables: Tables): void {
  checkRecordsStay(commit);
  checkTimes(commit);
  checkAccounts(commit);
  checkStates(commit);
  checkEngine(commit);
  for (const { table, row, before } of commit.changes) {
    if (table === "batch" && before === undefined && row !== undefined) checkLink(row, commit, tables);
  }
  checkHolds(commit, tables);
  if (commit.changes.some(({ table, row }) => table === "account" && row?.house !== null)) checkHouse(tables);
}

function checkRecordsStay({ changes }: Commit): void {
  for (const { table, key, before } of changes) {
    const isRecord = ["batch", "posting", "transfer", "execution"].includes(table);
    law(!isRecord || before === undefined, `${table} ${key} is written once and stays`);
  }
}

/**
 * No row is of a time that has not come yet, but for what clocks may be wrong by, whatever a node's clock says; and nothing
 * ends before it has begun.
 */
function checkTimes({ changes }: Commit): void {
  for (const { table, key, row, writtenAt } of changes) {
    if (row === undefined || table === "lease") continue;
    for (const column of Object.keys(row).filter((name) => name === "at" || name.endsWith("_at"))) {
      const at = row[column];
      if (at === null) continue;
      const aheadMs = Number(at) - writtenAt;
      law(aheadMs <= CLOCK_TOLERANCE_MS + MEASURED_WRONGLY_MS, `${table} ${key} is of ${column} ${aheadMs} ms ahead`);
      law(
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
  for (const [key, sum] of sums) law(sum === 0n, `journal ${key} sums to zero, not to ${sum}`);
  let followed = 0;
  for (const { table, key, row, before } of changes) {
    if (table !== "account" || row === undefined) continue;
    const own = postings.filter(({ owner_id, asset }) => `${owner_id}/${asset}` === key);
    followed += own.length;
    checkAccount(key, before, row, own);
  }
  law(followed === postings.length, "every posting has its account in its batch");
}

function checkAccount(key: string, before: Row | undefined, row: Row, postings: Row[]): void {
  postings.sort((a, b) => Number(a.seq) - Number(b.seq));
  const parts = Object.fromEntries(PARTS.map((part) => [part, before === undefined ? 0n : units(before[part])]));
  let seq = BigInt(String(before?.seq ?? 0));
  let at = Number(before?.at ?? 0);
  for (const posting of postings) {
    seq += 1n;
    law(BigInt(String(posting.seq)) === seq, `account ${key}: posting ${posting.seq} stands where ${seq} is due`);
    const part = String(posting.part);
    parts[part] = (parts[part] ?? 0n) + units(posting.amount);
    for (const each of PARTS) {
      law(units(posting[each]) === parts[each], `account ${key}: posting ${seq} leaves ${each} at ${posting[each]}`);
    }
    law(Number(posting.at) >= at, `account ${key}: posting ${seq} is not earlier than the one before it`);
    at = Number(posting.at);
  }
  law(BigInt(String(row.seq)) === seq, `account ${key} has the number of its last posting, ${seq}, not ${row.seq}`);
  for (const part of PARTS)
    law(units(row[part]) === parts[part], `account ${key} has what its postings make of ${part}`);
  const owes = ["world", "reserve", "issuance"].includes(String(row.house));
  law(owes || (parts.available ?? 0n) >= 0n, `account ${key} has ${row.available} available`);
  law((parts.trading ?? 0n) >= 0n && (parts.pending ?? 0n) >= 0n, `account ${key} has ${row.trading}, ${row.pending}`);
}

const CLOSED = ["SETTLED", "FILLED", "CANCELLED", "REJECTED", "EXPIRED"];

function checkStates({ changes }: Commit): void {
  for (const { table, key, row, before } of changes) {
    if (row === undefined || !("seq" in row) || table === "posting") continue;
    const [was, is] = [BigInt(String(before?.seq ?? 0)), BigInt(String(row.seq))];
    law(is > was, `${table} ${key} numbers on from ${was}, but has ${is}`);
    const wasClosed = table !== "market" && CLOSED.includes(String(before?.status));
    law(!wasClosed, `${table} ${key} is ${before?.status} and never changes again`);
    if (table === "market_head") law(is === was + 1n, `${table} ${key} numbers on by one for every command`);
  }
}

/** The engine's numbers only rise, and every order is taken under one of its own. */
function checkEngine({ changes }: Commit): void {
  for (const { table, key, row, before } of changes) {
    if (table !== "market_head" || row === undefined) continue;
    for (const column of ["fence", "last_sequence", "last_execution_id"]) {
      law(BigInt(String(row[column])) >= BigInt(String(before?.[column] ?? 0)), `${column} of ${key} never steps back`);
    }
    for (const order of changes) {
      if (order.table !== "orders" || order.row?.sequence === null || order.before?.sequence !== null) continue;
      const isNew = BigInt(String(order.row?.sequence)) > BigInt(String(before?.last_sequence ?? 0));
      law(isNew, `order ${order.key} is taken with a number of its own, not ${order.row?.sequence}`);
    }
  }
}

/** A batch carries on the chain of its slot, and its hash is that of what is stored. */
function checkLink(batch: Row, commit: Commit, tables: Tables): void {
  const [slot, n] = [Number(batch.slot), BigInt(String(batch.n))];
  const name = `batch ${slot}/${n}`;
  const before = n === 0n ? undefined : tables.get("batch", `${slot}/${n - 1n}`);
  law(n === 0n || before !== undefined, `${name} has its predecessor`);
  const previous = (before?.hash as Buffer | undefined) ?? NO_HASH;
  if (batch.void === true) {
    law(voidHash(previous, slot, n).equals(batch.hash as Buffer), `${name} has the hash of a void one`);
    law(commit.changes.length === 1, `${name} is void and changes nothing`);
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
  law(linkHash(previous, slot, n, digest).equals(batch.hash as Buffer), `${name} hashes to its hash`);
  checkDigests(name, changes, commit);
  checkCallers(name, callers, changes, commit);
}

function checkDigests(name: string, changes: string | undefined, commit: Commit): void {
  const noted = JSON.parse(changes ?? "{}") as Record<string, Record<string, string>>;
  for (const table of STATES) {
    for (const change of commit.changes) {
      if (change.table !== table.name || change.row === undefined) continue;
      const row = table.read(change.row);
      const digest = `${row.seq} ${digestOf(table, row)}`;
      const own = noted[table.name]?.[table.keyOf(row)];
      law(own?.startsWith(digest) === true, `${name} has the digest of ${table.name} ${change.key}`);
    }
  }
}

/** Everything that a batch writes says who asked for it. */
function checkCallers(name: string, callers: string | undefined, changes: string | undefined, commit: Commit): void {
  const count = (JSON.parse(callers ?? "[]") as unknown[]).length;
  const isOne = (number: unknown): boolean => Number.isInteger(number) && Number(number) < count;
  for (const { table, key, row } of commit.changes) {
    law(table !== "transfer" || isOne(row?.caller), `${name} says who asked for transfer ${key}`);
  }
  const noted = JSON.parse(changes ?? "{}") as Record<string, Record<string, string>>;
  for (const [key, entry] of Object.values(noted).flatMap((rows) => Object.entries(rows))) {
    const numbers = entry.split(" ").slice(2).map(Number);
    law(numbers.length > 0 && numbers.every(isOne), `${name} says who asked for the change of ${key}`);
  }
}

/** What the touched profiles keep aside is what their open orders and created conversions hold. */
function checkHolds({ changes }: Commit, tables: Tables): void {
  const touched = changes.some(({ table }) => ["account", "orders", "conversion"].includes(table));
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
  for (const account of tables.rows("account")) {
    if (account.house !== null) continue;
    for (const part of ["trading", "pending"] as const) {
      const key = `${part} ${account.owner_id}/${account.asset}`;
      const asked = held.get(key) ?? 0n;
      law(units(account[part]) === asked, `${key} is ${account[part]}, but what holds it comes to ${asked}`);
    }
  }
}

/** Over all slots: the reserve backs what is issued, which profiles hold; fees are not overdrawn; nothing appears. */
function checkHouse(tables: Tables): void {
  const sum = (asset: string, of: (row: Row) => boolean): bigint =>
    tables
      .rows("account")
      .filter((row) => row.asset === asset && of(row))
      .reduce((total, row) => total + units(row.available) + units(row.trading) + units(row.pending), 0n);
  let supply = 0n;
  for (const { code, kind } of assets) {
    law(sum(code, () => true) === 0n, `${code} sums to zero over all accounts`);
    law(sum(code, (row) => row.house === "fees") >= 0n, `fees in ${code} are not overdrawn`);
    const issued = -sum(code, (row) => row.house === "issuance");
    law(kind === "stablecoin" || issued === 0n, `${code} is issued, though it is no stablecoin`);
    if (kind !== "stablecoin") continue;
    law(issued === sum(code, (row) => row.house === null), `${code} that is issued is what profiles hold`);
    supply += issued;
  }
  law(sum("USD", (row) => row.house === "reserve") === supply, "the reserve is what is issued");
}
