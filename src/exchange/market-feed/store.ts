/** The feed's SQL. */
import type { MarketCode } from "../../catalogue/market.ts";
import { amountOf, formatAmount } from "../../money/amount.ts";
import type { Queryable } from "../../postgres/database.ts";
import { HISTORY } from "../../postgres/history.ts";
import type { ExecutionId } from "../execution.ts";
import { type Match, type MatchRow, readMatch } from "../market-data/store.ts";
import type { OrderSide } from "../order.ts";
import type { BookChange, LevelChange } from "./book-change.ts";

type StoredLevel = readonly [OrderSide, string, string];

/** A change, and the history of the database in which it was committed. */
export interface CommittedChange extends BookChange {
  readonly history: string;
}

/**
 * Stores changes. Idempotent: in one history a version belongs to one change. Those of another history are dropped: there
 * the version is of another change.
 */
export async function addChanges(database: Queryable, changes: readonly CommittedChange[]): Promise<void> {
  await database.rows(
    `insert into book_change (market, version, levels, at)
     select market, version, levels::json, clock_timestamp()
       from unnest($1::text[], $2::bigint[], $3::text[], $4::text[]) as c(market, version, levels, history)
      where history = ${HISTORY}
     on conflict do nothing`,
    [
      changes.map(({ market }) => market),
      changes.map(({ version }) => version),
      changes.map(({ levels }) => JSON.stringify(levels.map(storedLevel))),
      changes.map(({ history }) => history),
    ],
  );
}

/** Removes old changes, oldest first, `most` per market at a time. */
export async function removeChanges(database: Queryable, olderThanMs: number, most: number): Promise<number> {
  const removed = await database.rows(
    `delete from book_change c
      using market m cross join lateral (
        select version, at from book_change where market = m.code order by version limit $2) old
      where c.market = m.code and c.version = old.version
        and old.at < clock_timestamp() - $1 * interval '1 millisecond'
     returning 1`,
    [olderThanMs, most],
  );
  return removed.length;
}

/** The stored changes after a version. */
export interface FoundChanges {
  /** The current order book version. A change up to it that is missing here is not stored yet, or is lost. */
  readonly head: bigint;
  /** In version order, possibly with gaps. */
  readonly changes: readonly BookChange[];
}

/** The first `most` changes after each market's version. */
export async function readChanges(
  database: Queryable,
  after: ReadonlyMap<MarketCode, bigint>,
  most: number,
): Promise<Map<MarketCode, FoundChanges>> {
  const rows = await database.rows<{
    market: MarketCode;
    head: string;
    version: string | null;
    levels: readonly StoredLevel[];
  }>(
    `select f.market, coalesce(h.version, 0) as head, c.version, c.levels
       from unnest($1::text[], $2::bigint[]) as f(market, version)
       left join market_head h on h.market = f.market
       left join lateral (
         select version, levels from book_change
          where market = f.market and version > f.version and h.version > f.version
          order by version limit $3) c on true
      order by f.market, c.version`,
    [[...after.keys()], [...after.values()], most],
  );
  const found = new Map<MarketCode, { head: bigint; changes: BookChange[] }>();
  for (const { market, head, version, levels } of rows) {
    const of = found.get(market) ?? { head: BigInt(head), changes: [] };
    found.set(market, of);
    if (version !== null) of.changes.push({ market, version: BigInt(version), levels: levels.map(readLevelChange) });
  }
  return found;
}

/** The first `most` matches after each market's id, in id order. */
export async function readMatches(
  database: Queryable,
  after: ReadonlyMap<MarketCode, ExecutionId>,
  most: number,
): Promise<Map<MarketCode, Match[]>> {
  const rows = await database.rows<MatchRow & { market: MarketCode }>(
    `select f.market, m.id, m.side, m.price, m.amount
       from unnest($1::text[], $2::bigint[]) as f(market, id)
      cross join lateral (
         select id, side, price, amount from execution
          where market = f.market and (id & 1) = 1 and id > f.id order by id limit $3) m
      order by f.market, m.id`,
    [[...after.keys()], [...after.values()], most],
  );
  const found = new Map<MarketCode, Match[]>();
  for (const row of rows) {
    const matches = found.get(row.market) ?? [];
    found.set(row.market, matches);
    matches.push(readMatch(row));
  }
  return found;
}

const storedLevel = ({ side, price, amount }: LevelChange): StoredLevel => [
  side,
  formatAmount(price),
  formatAmount(amount),
];

const readLevelChange = ([side, price, amount]: StoredLevel): LevelChange => ({
  side,
  price: amountOf(price),
  amount: amountOf(amount),
});
