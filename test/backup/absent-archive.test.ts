/** An archive of the log whose disk is not mounted, or that has lost a segment. */
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { expect, onTestFinished, test, vi } from "vitest";
import { type EmbeddedServer, startEmbedded } from "../../src/postgres/embedded/embedded.ts";
import { findArchiveGap } from "../../src/service/doctor/log-archive.ts";
import { until } from "../support/until.ts";

vi.setConfig({ testTimeout: 300_000 });

/** A place with a disk for the archive, and a database that begins there. */
function setUp() {
  const place = mkdtempSync(join(tmpdir(), "parbook-absent-"));
  onTestFinished(() => rmSync(place, { recursive: true, force: true, maxRetries: 10 }));
  // As root the database runs as somebody else, who has to get to the archive.
  chmodSync(place, 0o755);
  const within = (name: string): string => join(place, name);
  const disk = within("disk");
  const archive = join(disk, "wal");
  const makeDisk = () => mkdirSync(disk, { mode: 0o755 });
  makeDisk();
  const start = async () => {
    const server = await startEmbedded({
      ...{ directory: within("data"), walArchive: archive, log: () => undefined },
      // So that what is archived stays in pg_wal.
      settings: { wal_keep_size: "320MB" },
    });
    onTestFinished(() => server.stop());
    return server;
  };
  return { within, disk, archive, makeDisk, start };
}

/** @returns the segment that is archived by that */
async function write(server: EmbeddedServer, archive: string): Promise<string> {
  const client = new Client(server.connection("postgres", "postgres"));
  await client.connect();
  await client.query("create table if not exists kept (what text)");
  await client.query("insert into kept values ('this')");
  const { rows } = await client.query("select pg_walfile_name(pg_switch_wal()) as name");
  await client.end();
  await until(`${rows[0].name} is archived`, () => readdirSync(archive).includes(rows[0].name), 60);
  return rows[0].name;
}

test("a database whose archive is not mounted does not start, unless its operator wants a new one", async () => {
  const { within, disk, archive, makeDisk, start } = setUp();
  const server = await start();
  await write(server, archive);
  await server.stop();
  // A cleanup leaves no segments, and the archive is the one that it was.
  for (const name of readdirSync(archive).filter((one) => one.length === 24)) rmSync(join(archive, name));
  await (await start()).stop();

  renameSync(disk, within("not-mounted"));
  const mark = within("data/wal-archive");
  const missing = `the log of this database was archived before, and ${archive}/parbook-archive is missing: is the disk of the archive mounted, and PARBOOK_WAL_ARCHIVE right? For a new archive remove ${mark}, start, and take a backup at once (docs/backup.md)`;
  await expect(start()).rejects.toThrow(missing);
  makeDisk();
  await expect(start()).rejects.toThrow(missing);
  expect(readdirSync(disk)).toEqual([]);

  expect(readFileSync(mark, "utf8")).toBe(`${archive}\n`);
  rmSync(mark);
  await write(await start(), archive);
});

test("segments that the archive has lost are archived again from pg_wal, and what is in neither is found", async () => {
  const { within, archive, start } = setUp();
  const server = await start();
  const names: string[] = [];
  while (names.length < 4) names.push(await write(server, archive));
  await server.stop();
  const [, second = "", third = ""] = names;
  for (const name of [second, third]) rmSync(join(archive, name));
  rmSync(within(`data/postgres/pg_wal/${third}`));

  const again = await start();
  await until("what is left is archived again", () => readdirSync(archive).includes(second), 60);
  const config = { walArchive: archive, databaseUrl: undefined, dataDir: within("data") };
  const found = async () => (await findArchiveGap(config)).map(({ name, what }) => `${name}: ${what}`);
  expect(await found()).toEqual([`archive-gap: the archive ${archive} lacks ${third}`]);
  for (const name of readdirSync(archive).filter((one) => one < third && one.length === 24))
    rmSync(join(archive, name));
  expect(await found()).toEqual([]);
  await again.stop();
  renameSync(archive, within("not-mounted"));
  expect(await found()).toEqual([`archive-gap: the archive ${archive} is not there`]);
});
