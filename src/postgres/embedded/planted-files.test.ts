/** Links and pipes planted in the cluster by the server's user cannot mislead root. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { mkdir, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { takeBackup } from "./backup/backup.ts";
import { examineReplay, readArchive } from "./backup/wal-archive.ts";
import { checkVersion, removeCluster } from "./cluster.ts";
import { type EmbeddedServer, startEmbedded } from "./embedded.ts";
import { rotate } from "./log-file.ts";
import { readPostmasterPid, stopServer } from "./processes.ts";
import { openIn, readIn } from "./safe-open.ts";

const THROW_AWAY = { fsync: "off", shared_buffers: "8MB" };
const NOBODY = 65534;
/** Nobody else can be given a file, so only root can look after it. */
const asRoot = test.skipIf(process.getuid?.() !== 0);
const SECRET = "root's secret\n";

const place = mkdtempSync(join(tmpdir(), "parbook-planted-"));
const directory = join(place, "data");
const cluster = join(directory, "postgres");
const victim = join(place, "victim");

async function start(): Promise<EmbeddedServer> {
  const server = await startEmbedded({ directory, settings: THROW_AWAY, log: () => undefined });
  onTestFinished(() => server.stop());
  return server;
}

/** Done by another process of the server's user, in the cluster; `$1` is the victim. */
function plant(script: string): void {
  const { status, stderr } = spawnSync("/bin/sh", ["-ec", script, "sh", victim], {
    cwd: cluster,
    uid: NOBODY,
    gid: NOBODY,
    encoding: "utf8",
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
}

function expectVictimUntouched(): void {
  expect(readFileSync(victim, "utf8")).toBe(SECRET);
  expect(statSync(victim)).toMatchObject({ uid: 0, gid: 0, mode: 0o100600 });
}

beforeAll(async () => {
  const server = await startEmbedded({ directory, settings: THROW_AWAY, log: () => undefined });
  await server.stop();
});
afterAll(async () => {
  await stopServer(cluster);
  rmSync(place, { recursive: true, force: true });
});
beforeEach(() => writeFileSync(victim, SECRET, { mode: 0o600 }));

asRoot("a link beside a forged lock file leads the start to no other file", async () => {
  plant('ln -s "$1" postmaster.pid.new; printf "1\\nFORGED\\n/x\\n0\\n5432\\n" >postmaster.pid');
  await start();
  expectVictimUntouched();
});

asRoot("a lock file that is a link is no lock file", async () => {
  plant('ln -s "$1" postmaster.pid');
  expect(readPostmasterPid(cluster)).toBeUndefined();
  await start();
  expectVictimUntouched();
});

asRoot("a lock file that is a pipe holds up neither the stop nor the next start", async () => {
  const server = await start();
  plant("rm postmaster.pid; mkfifo postmaster.pid");
  await server.stop();
  await start();
  expect(readFileSync(join(cluster, "postmaster.pid"), "utf8")).toContain("ready");
});

asRoot("what a link for the version leads to is not quoted", async () => {
  plant('mv PG_VERSION kept; ln -s "$1" PG_VERSION');
  onTestFinished(() => plant("rm PG_VERSION; mv kept PG_VERSION"));
  const binaries = { initdb: "", postgres: "", major: 18 };
  await expect(checkVersion(directory, binaries)).rejects.toThrow(
    `${cluster}/PG_VERSION is, or is reached through, a symbolic link: move it back`,
  );
});

asRoot(
  "what is read in the cluster is a file that the server's user may read, and no longer than it may be",
  async () => {
    plant(`mkdir -p x/y; echo own >x/y/own; ln -s y x/link; ln -s "$1" x/victim; mkfifo x/pipe; touch x/taken`);
    onTestFinished(() => plant("rm -rf x"));
    writeFileSync(join(cluster, "x/roots"), SECRET, { mode: 0o600 });
    writeFileSync(join(cluster, "x/open"), "open", { mode: 0o644 });
    const read = (path: string, limit = 100) =>
      readIn(cluster, path, limit).then(String, (error: Error) => error.message);
    const link = "is, or is reached through, a symbolic link: move it back";
    expect(
      await Promise.all(
        ["x/y/own", "x/open", "x/gone", "x/link/own", "x/victim", "x/pipe", "x/roots"].map((path) => read(path)),
      ),
    ).toEqual([
      "own\n",
      "open",
      "undefined",
      `${cluster}/x/link/own ${link}`,
      `${cluster}/x/victim ${link}`,
      `${cluster}/x/pipe is not a file: remove it`,
      `${cluster}/x/roots does not belong to user ${NOBODY}, which PostgreSQL runs as: chown it`,
    ]);
    expect(await read("x/y/own", 3)).toBe(`${cluster}/x/y/own is longer than 3 bytes`);
    const file = await openIn(cluster, "x/y/own");
    await file?.close();
  },
);

asRoot("a backup has nothing that a link or a pipe leads to, nor files that the server cannot read", async () => {
  const server = await start();
  const backUp = (name: string) =>
    takeBackup({
      superuser: server.connection("postgres", "postgres"),
      dataDir: directory,
      target: join(place, name),
      readState: async () => ({ migration: "", heads: [] }) as never,
      onProgress: () => undefined,
    });
  writeFileSync(join(cluster, "roots"), SECRET, { mode: 0o600 });
  await expect(backUp("first")).rejects.toThrow("does not belong to user 65534");
  rmSync(join(cluster, "roots"));
  plant("mv global/pg_control kept; mkfifo global/pg_control");
  await expect(backUp("second")).rejects.toThrow("is not a file");
  plant("mv kept global/pg_control");
});

asRoot("a pipe for a history of the log does not hold up the end of a restore", async () => {
  plant("mkfifo pg_wal/000000FF.history");
  onTestFinished(() => plant("rm pg_wal/000000FF.history"));
  await expect(examineReplay(cluster, await readArchive(place, 0n, undefined), undefined)).rejects.toThrow(
    "is not a file",
  );
});

asRoot("a cluster is removed by its user, and what its links lead to stays", async () => {
  const made = join(place, "removed");
  await mkdir(join(made, "below"), { recursive: true });
  await symlink(victim, join(made, "below", "link"));
  spawnSync("chown", ["-hR", `${NOBODY}:${NOBODY}`, made]);
  await mkdir(join(made, "roots"));
  writeFileSync(join(made, "roots/kept"), "");
  // A file that its user cannot remove shows as whom it is done.
  await expect(removeCluster(made)).rejects.toThrow(/ENOTEMPTY|cannot be removed/);
  await rm(join(made, "roots"), { recursive: true });
  await removeCluster(made);
  expect(() => statSync(made)).toThrow("ENOENT");
  expectVictimUntouched();
});

asRoot("the server's log is neither written nor moved to where a link leads", async () => {
  const log = join(place, "some.log");
  await symlink(victim, log);
  await expect(rotate(log, 1)).rejects.toThrow("ELOOP");
  await rm(log);
  writeFileSync(log, "long");
  await symlink(victim, `${log}.1`);
  await rotate(log, 1);
  expect(readFileSync(`${log}.1`, "utf8")).toBe("long");
  expectVictimUntouched();
});
