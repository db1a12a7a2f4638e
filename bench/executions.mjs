/**
 * What a page of executions costs at the first and at the last of many rows, and what paging through all of them does to
 * the memory of the process.
 *
 *   node bench/executions.mjs [--rows 5000000]
 *
 * The rows are made by SQL: executions of one customer, in ten profiles of three markets. All of them are read through
 * HTTP, 1,000 at a time, newest first. Garbage is collected before each look at the memory, every 50 pages.
 */
import { parseArgs } from "node:util";
import { median, printTable, withService } from "./service.mjs";

const { values } = parseArgs({ options: { rows: { type: "string", default: "5000000" } } });
const rows = Number(values.rows);
const AT_ONCE = 100_000;
const PAGE = 1_000;
/** Pages of which the median is taken at either end. */
const ENDS = 50;

report(await withService(run));

async function run({ customers: [customer], ask }) {
  for (let from = 0; from < rows; from += AT_ONCE) {
    await ask("rows", {
      text: `insert into execution (profile_id, id, customer_id, order_id, market, side, amount, price, commission,
                                    rebate, executed_at, slot, batch)
             select ('22222222-0000-7000-8000-' || lpad(to_hex(n % 10), 12, '0'))::uuid, n::bigint << 22, $1,
                    ('33333333-0000-7000-8000-' || lpad(to_hex(n / 4), 12, '0'))::uuid,
                    (array['BTCUSD', 'ETHUSD', 'LTCUSD'])[1 + n % 3], case n % 2 when 0 then 'BUY' else 'SELL' end::order_side,
                    0.25, 100 + n % 1000, 0.0875, 0, timestamptz '2020-01-01Z' + n * interval '1 ms', 1, n / 100
               from generate_series($2::int, $3::int) n`,
      values: [customer.id, from + 1, Math.min(rows, from + AT_ONCE)],
    });
  }
  await untilAnalyzed(ask);
  const memory = [await ask("memory")];
  const times = [];
  let [cursor, seen] = ["", 0];
  do {
    const started = performance.now();
    const page = await customer.call("GET", `/v2/executions?limit=${PAGE}&page_cursor=${encodeURIComponent(cursor)}`);
    times.push(performance.now() - started);
    seen += page.items.length;
    cursor = page.next_page_cursor;
    if (times.length % 50 === 0) memory.push(await ask("memory"));
  } while (cursor !== "");
  if (seen !== rows) throw new Error(`${seen} of ${rows} rows were seen`);
  return { first: median(times.slice(1, ENDS)), last: median(times.slice(-ENDS)), pages: times.length, memory };
}

/** A table that was empty a moment ago is read by plans for an empty one, until autovacuum has looked at it. */
async function untilAnalyzed(ask) {
  for (;;) {
    const [{ known }] = await ask("rows", {
      text: "select reltuples::bigint as known from pg_class where oid = 'execution'::regclass",
    });
    if (Number(known) > rows / 2) return;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

function report({ first, last, pages, memory }) {
  console.log(`Executions: ${rows.toLocaleString("en")} rows in ${pages.toLocaleString("en")} pages of ${PAGE}`);
  printTable(
    ["", "first", "last", "last : first"],
    [
      ["milliseconds for a page", first, last, last / first],
      memoryRow("memory that the process needs, MB", memory, "kept"),
      memoryRow("memory that it has, MB", memory, "resident"),
    ],
  );
}

/** It goes up and down with the garbage collector, so a tenth of the values is taken at either end. */
function memoryRow(name, memory, which) {
  const megabytes = memory.map((bytes) => bytes[which] / 1e6);
  // The first is from before paging.
  const tenth = Math.ceil(megabytes.length / 10);
  const [early, late] = [median(megabytes.slice(1, 1 + tenth)), median(megabytes.slice(-tenth))];
  return [name, early, late, late / early];
}
