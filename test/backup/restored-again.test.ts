/** What was restored is restored again: with archives, and without, from what is left of them. */
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { expect, onTestFinished, test, vi } from "vitest";
import { takeBackup } from "../../src/postgres/embedded/backup/backup.ts";
import { restoreBackup } from "../../src/postgres/embedded/backup/restore.ts";
import type { Replayed } from "../../src/postgres/embedded/backup/wal-archive.ts";
import { type EmbeddedServer, startEmbedded } from "../../src/postgres/embedded/embedded.ts";
import { must } from "../../src/std/assert.ts";
import { answerOf, parbook, startService } from "../cli/parbook.ts";
import { until } from "../support/until.ts";
import { BusyCustomers } from "./busy-customers.ts";

vi.setConfig({ testTimeout: 300_000 });

function freshPlace(): string {
  const place = mkdtempSync(join(tmpdir(), "parbook-again-"));
  onTestFinished(() => rmSync(place, { recursive: true, force: true, maxRetries: 10 }));
  // As root the database runs as somebody else, who has to get to the archive.
  chmodSync(place, 0o755);
  return place;
}

async function sql(server: EmbeddedServer, ...texts: readonly string[]): Promise<unknown[]> {
  const client = new Client(server.connection("postgres", "postgres"));
  await client.connect();
  try {
    let rows: unknown[] = [];
    for (const text of texts) ({ rows } = await client.query(text));
    return rows;
  } finally {
    await client.end();
  }
}

/** As of a copy of the last segment that root has made, where the server runs as somebody else. */
async function expectUnreadableEndsRestore(
  archive: string,
  restore: (into: string) => Promise<unknown>,
): Promise<void> {
  const segments = readdirSync(archive).filter((name) => name.length === 24);
  const last = must(segments.sort().at(-1), "it has segments");
  const path = join(archive, last);
  const { uid, gid } = statSync(path);
  chownSync(path, 0, 0);
  chmodSync(path, 0o600);
  await expect(restore("unreadable")).rejects.toThrow(
    `could not restore file "${last}" from archive: child process exited with exit code 255: cp: cannot open '${path}' for reading: Permission denied`,
  );
  chownSync(path, uid, gid);
}

/** As of a mount that drops while the log is replayed. */
async function expectGoneEndsRestore(
  archive: string,
  restore: (into: string, replaying: () => void) => Promise<unknown>,
): Promise<void> {
  const segments = readdirSync(archive).filter((name) => name.length === 24);
  const last = must(segments.sort().at(-1), "it has segments");
  await expect(restore("gone", () => renameSync(archive, `${archive}.away`))).rejects.toThrow(
    `exit code 255: ls: cannot access '${join(archive, last)}': No such file or directory`,
  );
  renameSync(`${archive}.away`, archive);
}

const READ = "select what from kept order by what";

test("a database restored twice keeps what was answered between, whose archive the first one's cannot be", async () => {
  const place = freshPlace();
  const within = (name: string): string => join(place, name);
  const start = async (name: string, walArchive?: string): Promise<EmbeddedServer> => {
    const server = await startEmbedded({ directory: within(name), log: () => undefined, walArchive });
    onTestFinished(() => server.stop());
    return server;
  };
  /** Writes one row, and waits until the archive has it. */
  const write = async (server: EmbeddedServer, archive: string, what: string): Promise<void> => {
    await sql(server, `insert into kept values ('${what}')`);
    const [row] = (await sql(server, "select pg_walfile_name(pg_switch_wal()) as name")) as [{ name: string }];
    await until(`${row.name} is in the archive`, async () => readdirSync(archive).includes(row.name), 60);
  };
  const restore = (into: string, walArchive: string, replaying = () => {}): Promise<Replayed | undefined> =>
    restoreBackup(
      {
        ...{ backup: within("backup"), dataDir: within(into), walArchive, until: undefined },
        onProgress: () => undefined,
        showing: {
          copy: (work) => work({ begins: () => undefined, copied: () => undefined }),
          replay: (work) => {
            replaying();
            return work();
          },
        },
      },
      async ({ replayed }) => replayed,
    );
  const [former, own, both] = [within("former"), within("own"), within("both")];

  const first = await start("first", former);
  await sql(first, "create table kept (what text)");
  await takeBackup({
    ...{ superuser: first.connection("postgres", "postgres"), dataDir: within("first"), target: within("backup") },
    readState: async () => ({ migration: "", heads: [] }),
    onProgress: () => undefined,
  });
  await write(first, former, "1 after the backup");
  await first.stop();
  const ofFirst = readdirSync(former).sort();

  if (process.getuid?.() === 0) await expectUnreadableEndsRestore(former, (into) => restore(into, former));
  await expectGoneEndsRestore(former, (into, replaying) => restore(into, former, replaying));
  expect((await restore("second", former))?.gap).toBe(undefined);
  await expect(start("second", former)).rejects.toThrow(`the WAL archive ${former} has 00000001`);
  expect(readdirSync(former).sort()).toEqual(ofFirst);
  const second = await start("second", own);
  await write(second, own, "2 after the restore");
  await second.stop();
  // It is its own at the next start too.
  await (await start("second", own)).stop();
  await expect(start("first", own)).rejects.toThrow(`the WAL archive ${own} has 00000002`);
  // Restored anew, and as far: only what it has written tells it from the other one.
  await restore("another", former);
  await expect(start("another", own)).rejects.toThrow(`the WAL archive ${own} has 00000002`);

  // Before the restored database had a backup of its own, the two archives together have all.
  mkdirSync(both, { mode: 0o755 });
  for (const from of [former, own])
    for (const name of readdirSync(from)) {
      copyFileSync(join(from, name), join(both, name));
      chmodSync(join(both, name), 0o644);
    }
  expect((await restore("third", both))?.gap).toBe(undefined);
  expect(await sql(await start("third"), READ)).toEqual([
    { what: "1 after the backup" },
    { what: "2 after the restore" },
  ]);
  // Without the history, nothing says where the second one begins.
  rmSync(join(both, "00000002.history"));
  expect((await restore("fourth", both))?.gap).toEqual({ segment: "00000002.history", why: "is missing" });
});

test("a restored ledger that cannot be verified is kept, and does not start on the archive of the lost one", async () => {
  const place = freshPlace();
  const within = (name: string): string => join(place, name);
  const customers = new BusyCustomers();
  writeFileSync(within("customers.json"), customers.bootstrap);
  const at = (name: string) => ({
    ...{ PARBOOK_BOOTSTRAP: within("customers.json"), PARBOOK_DATA_DIR: within(name) },
    PARBOOK_WAL_ARCHIVE: within("wal"),
  });
  const service = await startService(at("data"));
  onTestFinished(async () => void (await service.end("SIGKILL")));
  await answerOf(at("data"), "backup", within("backup"));
  const deposit = ["--profile", customers.treasury, "--asset", "USD", "--amount", "111", "--ref-id", "kept"];
  const { id } = (await answerOf(at("data"), "deposit", ...deposit)) as { id: string };
  await service.end("SIGTERM");

  // What of the ledger was noted cannot be read.
  const file = join(within("backup"), "manifest.json");
  const noted = readFileSync(file, "utf8");
  const manifest = JSON.parse(noted);
  manifest.ledger.heads[0].n = "many";
  writeFileSync(file, JSON.stringify(manifest));
  const restoring = ["restore", within("backup"), "--into", within("restored"), "--wal", within("wal")];
  const { exitCode, stdout } = await parbook(at("data"), ...restoring, "--json");
  expect([exitCode, JSON.parse(stdout)]).toEqual([
    1,
    {
      ...{ data_dir: within("restored"), complete_to: manifest.complete_to },
      last_segment: expect.stringMatching(/^00000001[0-9A-F]{16}$/),
      not_verified: expect.stringContaining("Cannot convert many to a BigInt"),
    },
  ]);
  writeFileSync(file, noted);

  const archived = readdirSync(within("wal")).sort();
  const onFormer = await parbook(at("restored"), "verify");
  expect([onFormer.exitCode, onFormer.stderr]).toEqual([
    1,
    expect.stringContaining(`the WAL archive ${within("wal")} has 00000001`),
  ]);
  expect(readdirSync(within("wal")).sort()).toEqual(archived);
  const own = { ...at("restored"), PARBOOK_WAL_ARCHIVE: within("own") };
  const again = await parbook(own, "deposit", ...deposit);
  expect(again.stderr).toContain(`ref_id "kept" was already used for this: transfer ${id}`);
  expect(await answerOf(own, "verify")).toMatchObject({ sound: true });

  mkdirSync(within("empty"), { mode: 0o755 });
  const none = await parbook(
    at("data"),
    "restore",
    within("backup"),
    "--into",
    within("none"),
    "--wal",
    within("empty"),
  );
  expect(none).toEqual({
    ...{ exitCode: 1, stdout: "" },
    stderr: `nothing in ${within("empty")} continues this backup: is it its archive? Nothing was restored. Without --wal the backup alone is\n`,
  });
});
