/**
 * Every row of an append-only table belongs to an existing batch. The chain check finds rows that were removed or
 * changed; this one finds rows that were added outside any batch. A row and its batch become visible together, so one
 * statement sees both or neither.
 */

import type { AnyRecordTable } from "../../ledger/tables.ts";
import type { Database } from "../../postgres/database.ts";
import type { Examination, Tally } from "../check.ts";

/** Blocks per page: 4 MB. */
const BLOCKS = 512;

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

/** In physical order, which needs no index: rows that never change do not move. */
async function walkTable(database: Database, table: AnyRecordTable, tally: Tally): Promise<void> {
  const [size] = await database.rows<{ blocks: number }>(
    "select (pg_relation_size($1::regclass) / current_setting('block_size')::integer)::integer as blocks",
    [table.name],
  );
  for (let block = 0; block < (size?.blocks ?? 0); block += BLOCKS) {
    const groups = await database.rows<{ slot: number; batch: string; rows: number; found: "batch" | "void" | null }>(
      `with named as materialized (
         select slot, batch, count(*)::integer as rows from ${table.name}
          where ctid >= $1::text::tid and ctid < $2::text::tid group by slot, batch)
       select named.slot, named.batch, named.rows, case when b.void then 'void' when not b.void then 'batch' end as found
         from named left join batch b on b.slot = named.slot and b.n = named.batch
        order by named.slot, named.batch`,
      [`(${block},0)`, `(${block + BLOCKS},0)`],
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
