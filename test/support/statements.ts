/** What a test sees of the statements that a pool is asked for. */
import type { Database, Queryable, Transaction } from "../../src/postgres/database.ts";

type Watcher = (database: Queryable, text: string, values: readonly unknown[] | undefined) => Promise<void>;

/**
 * Calls `watch` before each statement of the pool and of its transactions.
 * @returns what ends it
 */
export function watchStatements(database: Database, watch: Watcher): () => void {
  const own = { rows: database.rows, transaction: database.transaction };
  const watched = (queryable: Queryable): Queryable => ({
    rows: async (text, values, planned) => {
      await watch(queryable, text, values);
      return queryable.rows(text, values, planned);
    },
  });
  const [rows, transaction] = [own.rows.bind(database), own.transaction.bind(database)];
  database.rows = watched({ rows }).rows;
  database.transaction = (work, ...how) =>
    transaction(
      async (own) => {
        let last: Parameters<Transaction["commitWith"]> | undefined;
        const commitWith: Transaction["commitWith"] = (...statement) => {
          last = statement;
        };
        const value = await work({ ...watched(own), commitWith });
        if (last === undefined) return value;
        await watch(own, ...last);
        own.commitWith(...last);
        return value;
      },
      ...how,
    );
  return () => void Object.assign(database, own);
}
