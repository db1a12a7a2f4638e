/** What becomes of commits that wait for the standby when nobody waits for them any more. */
import { expect, onTestFinished, test } from "vitest";
import { Database, OutcomeUnknown } from "../../src/postgres/database.ts";
import { needsStandby, startPair } from "../support/postgres/standby.ts";
import { until } from "../support/until.ts";

test("no session waits for the standby once its caller has given up, so there is room for others", async (context) => {
  await needsStandby(context);
  const pair = await startPair();
  onTestFinished(() => pair.close());
  const { connection } = pair.primary;
  const database = new Database({ connection, maxConnections: 4, onIdleError: () => undefined, responseMs: 500 });
  onTestFinished(() => database.close());
  await pair.stopStandby();
  const write = "select pg_logical_emit_message(true, 'parbook', '')";
  for (const commit of [
    () => database.rows(write),
    () => database.commits.rows(write),
    () => database.transaction((transaction) => transaction.rows(write)),
  ])
    await expect(commit()).rejects.toThrow(OutcomeUnknown);
  await until("no session waits", async () => (await pair.waiting(/./)).length === 0);
  expect(await database.rows("select 1 as one")).toEqual([{ one: 1 }]);
});
