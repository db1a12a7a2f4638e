/** The tables that verify covers, kept as they were made, so that each tampering begins with a ledger that nobody touched. */
import type { Queryable } from "../../src/postgres/database.ts";
import { COVERED } from "./covered-tables.ts";

/** First what refers to others. */
const TABLES = [...COVERED, "fee_tier", "fee_schedule", "market", "house_kind"];

export async function keepUntouched(owner: Queryable): Promise<void> {
  await owner.rows("create schema untouched");
  for (const table of TABLES) await owner.rows(`create table untouched.${table} as table ${table}`);
}

export async function restoreUntouched(owner: Queryable): Promise<void> {
  // Far quicker than truncating: the tables have few rows and many indexes.
  await owner.rows(TABLES.map((table) => `delete from ${table}`).join(";"));
  await owner.rows(
    TABLES.toReversed()
      .map((table) => `insert into ${table} table untouched.${table}`)
      .join(";"),
  );
}
