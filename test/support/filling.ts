/** Large tables, made by statements that take longer on a busy machine than the service gives any of its own. */
import type { Database, Queryable } from "../../src/postgres/database.ts";
import { until } from "./until.ts";

/**
 * Fills these tables, and has PostgreSQL look at them until everybody sees each page: while somebody else still reads, as
 * when it looks at them by itself, what was replaced stays, and every read costs more.
 */
export async function fill(
  owner: Database,
  tables: readonly string[],
  make: (filling: Queryable) => Promise<unknown>,
): Promise<void> {
  const session = await owner.connect({ application_name: "filling" });
  const rows = async <Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> =>
    (await session.query(text, [...values])).rows;
  try {
    await make({ rows });
    const isSeen = async (): Promise<boolean> => {
      await rows(`vacuum analyze ${tables.join()}`);
      const hidden = "select from pg_class where oid = any($1::text[]::regclass[]) and relallvisible < relpages";
      return (await rows(hidden, [tables])).length === 0;
    };
    await until("everybody sees each page", isSeen, 60);
  } finally {
    await session.end();
  }
}
