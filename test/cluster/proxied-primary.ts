/** Whether the proxy in front of the databases knows which one is the primary. */
import type { Database } from "../../src/postgres/database.ts";

/** Twice as many as there are databases. */
const TIMES = 6;

/** The proxy takes every server for the primary until it has checked, and asks them in turn. */
export async function areAllPrimary(database: Database): Promise<boolean> {
  for (let times = 0; times < TIMES; times += 1) {
    const client = await database.connect({}).catch(() => undefined);
    if (client === undefined) return false;
    // The proxy ends the connections of a server once it knows that it is not the primary.
    const isPrimary = await client.query("select 1 where not pg_is_in_recovery()").then(
      ({ rows }) => rows.length === 1,
      () => false,
    );
    await client.end().catch(() => undefined);
    if (!isPrimary) return false;
  }
  return true;
}
