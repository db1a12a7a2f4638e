/** What names the history of a database: it is another one whenever the database may lack what was in it before. */
import { expect, onTestFinished, test } from "vitest";
import { Database } from "../../src/postgres/database.ts";
import { HISTORY } from "../../src/postgres/history.ts";
import { needsStandby, startPair } from "../support/postgres/standby.ts";

const historyOf = async (database: Database): Promise<string> => {
  const ask = () => database.rows<{ history: string }>(`select ${HISTORY} as history`);
  // A connection that a restart has broken is found out by the first statement on it.
  const [row] = await ask().catch(ask);
  // Known with the first row that is read in it.
  expect(database.history).toBe(row?.history);
  return row?.history ?? "";
};

test("a history is one to all sessions, and another one after each start, each take-over, in a copy, and with new tables", async (context) => {
  await needsStandby(context);
  const pair = await startPair();
  onTestFinished(() => pair.close());
  const primary = pair.database();
  const histories = [await historyOf(primary)];
  expect(await historyOf(pair.owner())).toBe(histories[0]);
  expect(histories[0]).toMatch(/^[0-9a-f]{16}$/);
  for (const fault of ["fast restart", "immediate restart"] as const) {
    await pair.inject(fault);
    histories.push(await historyOf(primary));
  }
  // Its tables have the same ids.
  await pair.superuser().rows("select pg_terminate_backend(pid) from pg_stat_activity where datname = 'parbook'");
  await pair.superuser().rows("create database copy template parbook");
  const copy = new Database({
    connection: { ...pair.primary.ownerConnection, database: "copy" },
    maxConnections: 1,
    onIdleError: () => undefined,
  });
  histories.push(await historyOf(copy));
  await copy.close();
  // As a dump is loaded in place of what is there.
  await pair.owner().rows("create table copy (like migration)");
  await pair.owner().rows("drop table migration");
  await pair.owner().rows("alter table copy rename to migration");
  histories.push(await historyOf(primary));
  await pair.untilReplayed();
  await pair.failOver();
  histories.push(await historyOf(pair.database("standby")));
  expect(new Set(histories).size).toBe(6);
});
