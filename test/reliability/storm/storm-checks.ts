/** What must hold after a storm. Each check throws what it found. */
import { existsSync } from "node:fs";
import type { Database, Queryable } from "../../../src/postgres/database.ts";
import { assert } from "../../../src/std/assert.ts";
import { findTimesAhead } from "../../../src/verify/times-ahead.ts";
import { expectBooksBalance } from "../../support/books.ts";
import { expectOrdersAddUp } from "../../support/exchange/orders.ts";
import type { AnsweredRequest } from "../client.ts";
import type { StormSite } from "./storm-site.ts";

const RECORDS = `select 'transfer' as kind, customer_id, ref_id from transfer
  union all select 'conversion', customer_id, ref_id from conversion
  union all select 'order', customer_id, ref_id from orders`;

/** The ref_ids that have more than one record. */
export function findDoubled(database: Queryable): Promise<unknown[]> {
  return database.rows(
    `select kind, customer_id, ref_id, count(*)::int as records from (${RECORDS}) as r
      where ref_id is not null group by 1, 2, 3 having count(*) > 1`,
  );
}

/** What was answered and has no record. */
export function findLost(database: Queryable, answered: readonly AnsweredRequest[]): Promise<unknown[]> {
  const column = (name: keyof AnsweredRequest): string[] => answered.map((one) => one[name]);
  return database.rows(
    `select kind, customer_id, ref_id collate "C" as ref_id
       from unnest($1::text[], $2::uuid[], $3::text[]) as a (kind, customer_id, ref_id)
     except select kind, customer_id, ref_id from (${RECORDS}) as r`,
    [column("kind"), column("customerId"), column("refId")],
  );
}

/** A ref_id has one effect. */
export async function expectOneEffect(database: Queryable): Promise<void> {
  const doubled = await findDoubled(database);
  assert(doubled.length === 0, `a ref_id has one effect: ${JSON.stringify(doubled.slice(0, 10))}`);
}

export async function expectBooks(database: Queryable): Promise<void> {
  await expectBooksBalance(database);
  await expectOrdersAddUp(database);
}

/** A wrong clock has left no times in the future. */
export async function expectNothingAhead(database: Database): Promise<void> {
  const notes = await findTimesAhead(database);
  assert(notes.length === 0, `no time is in the future: ${notes.join("; ")}`);
}

/**
 * Runs `parbook verify` against the checkpoint of the round before, and writes a new signed one.
 */
export async function expectSound(site: Pick<StormSite, "checkpoint" | "run">): Promise<void> {
  const { file, key } = site.checkpoint;
  const previous = existsSync(file) ? ["--checkpoint", file, "--key", `${key}.pub`] : [];
  for (const command of [
    ["verify", ...previous],
    ["checkpoint", "--key", key, "--file", file],
  ]) {
    const { exitCode, stdout, stderr } = await site.run(...command);
    assert(exitCode === 0, `verify and checkpoint succeed: ${stdout}${stderr}`);
  }
}

/**
 * Every index has all rows of its table in order, and every page can be read, according to PostgreSQL's amcheck.
 *
 * @returns the number of indexes
 */
export async function expectIndexesWhole(database: Queryable): Promise<number> {
  await database.rows("create schema if not exists amcheck");
  await database.rows("create extension if not exists amcheck schema amcheck");
  const damaged = await database.rows<{ name: string; damage: string }>(
    `select c.relname as name, v.msg as damage
       from pg_class c cross join lateral amcheck.verify_heapam(c.oid) v
      where c.relnamespace = 'public'::regnamespace and c.relkind = 'r'`,
  );
  assert(damaged.length === 0, `tables are whole: ${JSON.stringify(damaged)}`);
  const indexes = await database.rows<{ index: string }>(
    `select i.indexrelid::regclass::text as index, amcheck.bt_index_parent_check(i.indexrelid, true, true)::text
       from pg_index i join pg_class c on c.oid = i.indexrelid join pg_am a on a.oid = c.relam
      where a.amname = 'btree' and c.relpersistence <> 't' and i.indisready and i.indisvalid`,
  );
  assert(indexes.length > 100, `amcheck has checked the indexes, but there were ${indexes.length}`);
  return indexes.length;
}
