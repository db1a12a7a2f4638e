/**
 * Every row of an append-only table belongs to an existing batch. The chain check finds rows that were removed or
 * changed; this one finds rows that were added outside any batch. A row and its batch become visible together, so one
 * statement sees both or neither.
 */

import type { AnyRecordTable } from "../../ledger/tables.ts";
import type { Database } from "../../postgres/database.ts";
import { IS_BETWEEN_PLACES, rangesOfTable } from "../../postgres/physical-order.ts";
import type { Examination, Tally } from "../check.ts";

const APPEND_ONLY_ROWS = "append-only rows";

export function recordsExamination(records: readonly AnyRecordTable[]): Examination {
  return {
    checks: [APPEND_ONLY_ROWS],
    reads: records.map(({ name }) => name),
    run: async (database, tally) => {
      for (const table of records) await walkTable(database, table, tally(APPEND_ONLY_ROWS));
    },
  };
}

/** Rows that never change do not move. */
async function walkTable(database: Database, table: AnyRecordTable, tally: Tally): Promise<void> {
  for await (const places of rangesOfTable(database, table.name)) {
    const groups = await database.rows<{ slot: number; batch: string; rows: number; found: "batch" | "void" | null }>(
      `with named as materialized (
         select slot, batch, count(*)::integer as rows from ${table.name}
          where ${IS_BETWEEN_PLACES} group by slot, batch)
       select named.slot, named.batch, named.rows, case when b.void then 'void' when not b.void then 'batch' end as found
         from named left join batch b on b.slot = named.slot and b.n = named.batch
        order by named.slot, named.batch`,
      places,
    );
    for (const { slot, batch, rows, found } of groups) {
      tally.examined(rows);
      tally.read(rows);
      if (found === "batch") continue;
      const named = `batch ${slot}/${batch}, which ${found === "void" ? "is void" : "does not exist"}`;
      tally.broken(table.name, `has ${rows} ${rows === 1 ? "row" : "rows"} of ${named}`);
    }
  }
}
