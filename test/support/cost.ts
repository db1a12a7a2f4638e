import type { Queryable } from "../../src/postgres/database.ts";
import { must } from "../../src/std/assert.ts";

export interface Cost {
  readonly pages: number;
  readonly rows: number;
}

/** How many pages of the database the one statement that `read` runs touches, and how many rows it answers. */
export async function costOf(database: Queryable, read: (explaining: Queryable) => Promise<unknown>): Promise<Cost> {
  let cost: Cost | undefined;
  await read({
    rows: async <Row>(text: string, values?: readonly unknown[]): Promise<Row[]> => {
      const [answer] = await database.rows<{ "QUERY PLAN": [{ Plan: Record<string, number> }] }>(
        `explain (analyze, buffers, format json) ${text}`,
        values,
      );
      const plan = must(answer, "there is a plan")["QUERY PLAN"][0].Plan;
      const pages = (plan["Shared Hit Blocks"] ?? 0) + (plan["Shared Read Blocks"] ?? 0);
      cost = { pages, rows: plan["Actual Rows"] ?? 0 };
      return [];
    },
  });
  return must(cost, "the query was explained");
}
