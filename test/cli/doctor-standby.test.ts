/** `parbook doctor` on a PostgreSQL 15 of its own, with a standby. */
import { expect, onTestFinished, test, vi } from "vitest";
import { readIdleSlots } from "../../src/service/doctor/log-archive.ts";
import { needsStandby, startPair } from "../support/postgres/standby.ts";
import { urlOf } from "../support/service.ts";
import { until } from "../support/until.ts";
import { examine, productionOfEachTest } from "./doctor-report.ts";

productionOfEachTest();

test("standbys, archive and durability of a PostgreSQL 15 with a standby", async (context) => {
  await needsStandby(context);
  const pair = await startPair();
  onTestFinished(() => pair.close());
  vi.stubEnv("PARBOOK_DATABASE_URL", urlOf(pair.primary));
  vi.stubEnv("PARBOOK_ACCEPT", "archive-off,archive-unbounded,checksums");
  const admin = pair.superuser();
  const set = async (setting: string, value: string): Promise<void> => {
    await admin.rows(`alter system set ${setting} = ${value}`);
    await admin.rows("select pg_reload_conf()");
    const read = () => admin.rows<{ now: string }>(`select current_setting('${setting}') as now`);
    await until(`${setting} is ${value}`, async () => `'${(await read())[0]?.now}'` === value);
  };
  const found = async (): Promise<string[]> => (await examine()).said.filter((line) => !line.startsWith("accepted"));
  expect(await found()).toEqual([
    "fatal fsync: the database runs with fsync=off",
    "warning one-standby: one standby is connected",
    "note unreadable: the role may not see which standbys confirm commits",
  ]);
  await set("fsync", "'on'");
  await set("full_page_writes", "'off'");
  await admin.rows("grant pg_monitor to parbook");
  expect(await found()).toEqual([
    "fatal full-page-writes: the database runs with full_page_writes=off",
    "warning one-standby: one standby is connected",
  ]);
  await set("full_page_writes", "'on'");
  await set("zero_damaged_pages", "'on'");
  await set("autovacuum", "'off'");
  await pair.stopStandby();
  expect(await found()).toEqual([
    "fatal damage-ignored: the database runs with zero_damaged_pages=on",
    "warning standby-away: commits wait for ANY 1 (standby), and no standby is connected",
    "warning autovacuum: autovacuum is off",
  ]);
  await set("zero_damaged_pages", "'off'");
  await set("autovacuum", "'on'");
  await set("synchronous_standby_names", "''");
  expect(await found()).toEqual(["warning no-standby: the database has no standby"]);
  await admin.rows("select pg_create_physical_replication_slot('kept', true)");
  expect(await readIdleSlots(pair.primary.database)).toEqual([{ name: "kept", bytes: expect.any(Number) }]);
});
