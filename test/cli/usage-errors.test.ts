import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { run } from "./in-process.ts";
import { dataDirectory, parbook, parbookUnread } from "./parbook.ts";

const ANY_PORTS = { PARBOOK_PORT: "0", PARBOOK_AUTH_PORT: "0" };

let data: Awaited<ReturnType<typeof dataDirectory>>;

beforeAll(async () => {
  data = await dataDirectory();
});

afterAll(() => data.remove());

test("invalid settings are reported together, and nothing is started", async () => {
  const settings = { PARBOOK_PORT: "http", PARBOOK_MODE: "test", PARBOOK_DATABSE_URL: "x" };
  expect(await parbook({ ...settings, PARBOOK_DATA_DIR: data.path }, "start")).toEqual({
    exitCode: 2,
    stdout: "",
    stderr: [
      "Invalid settings; nothing was started:",
      '  PARBOOK_MODE "test" is not one of sandbox, production',
      '  PARBOOK_PORT "http" is not a whole number from 0 to 65535',
      "  PARBOOK_DATABSE_URL is not a setting of Parbook: did you mean PARBOOK_DATABASE_URL?",
      "",
    ].join("\n"),
  });
});

test("a reader that closes early, such as `head`, ends a command silently", async () => {
  expect(await parbookUnread({ PARBOOK_DATA_DIR: data.path }, "--help")).toEqual({
    exitCode: 0,
    stdout: "",
    stderr: "",
  });
});

test("wrong usage is reported before anything is started", async () => {
  const settings = { PARBOOK_DATA_DIR: data.path };
  const answers = await Promise.all([
    parbook(settings, "deposit", "--profile", "17", "--asset", "USD", "--amount", "1"),
    parbook(settings, "client", "create", "--customer", "0190d5a4-0000-7000-8000-000000000002", "--scopes", "all"),
  ]);
  for (const { exitCode, stdout } of answers) expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
  expect(answers[0]?.stderr).toMatch(/^error: option '--profile <id>' argument '17' is invalid. Not a UUID.\n/);
  expect(answers[1]?.stderr).toMatch(
    /"all" is not a scope. Use \* for all, or one or more of api_creds:delete_credentials, api_creds:read_/,
  );
});

test("an unreachable database is reported in one line", async () => {
  const database = { PARBOOK_DATABASE_URL: "postgres://parbook@127.0.0.1:1/parbook" };
  const settings = { ...ANY_PORTS, ...database, PARBOOK_DATA_DIR: data.path };
  expect(await parbook(settings, "start")).toEqual({
    exitCode: 1,
    stdout: "",
    stderr:
      "the database cannot be reached (connect ECONNREFUSED 127.0.0.1:1): start it, wait for a standby to take over, or correct PARBOOK_DATABASE_URL\n",
  });
});

test("an unusable data directory is reported in one line", async () => {
  const file = join(data.path, "file");
  await writeFile(file, "");
  const other = join(data.path, "other");
  await mkdir(join(other, "postgres"), { recursive: true });
  await writeFile(join(other, "postgres", "letter.txt"), "Dear Ann");
  const [below, foreign] = await Promise.all([
    parbook({ ...ANY_PORTS, PARBOOK_DATA_DIR: join(file, "data") }, "start"),
    parbook({ ...ANY_PORTS, PARBOOK_DATA_DIR: other }, "start"),
  ]);
  expect(below).toEqual({
    exitCode: 1,
    stdout: "",
    stderr: `the data directory ${file}/data cannot be written (ENOTDIR): give this user write access, or set PARBOOK_DATA_DIR to another one\n`,
  });
  expect(foreign).toEqual({
    exitCode: 1,
    stdout: "",
    stderr: `${other}/postgres is not empty and holds no PostgreSQL database: move it away, or set PARBOOK_DATA_DIR to another directory\n`,
  });
});

test("ports in use are named together, before a database is made", async () => {
  const taken = [createServer(), createServer()];
  const ports = await Promise.all(
    taken.map(async (server) => {
      await once(server.listen(0, "127.0.0.1"), "listening");
      return (server.address() as AddressInfo).port;
    }),
  );
  const directory = join(data.path, "new");
  const settings = { PARBOOK_DATA_DIR: directory, PARBOOK_PORT: String(ports[0]), PARBOOK_AUTH_PORT: String(ports[1]) };
  try {
    expect(await parbook(settings, "start")).toEqual({
      exitCode: 1,
      stdout: "",
      stderr: [
        `port ${ports[0]} on 127.0.0.1 is in use: stop what uses it, or set PARBOOK_PORT to another one`,
        `  port ${ports[1]} on 127.0.0.1 is in use: stop what uses it, or set PARBOOK_AUTH_PORT to another one`,
        "",
      ].join("\n"),
    });
    expect(existsSync(directory)).toBe(false);
  } finally {
    for (const server of taken) server.close();
  }
});

test("what has another name here is answered with that name, and a wrong coin with the flag that was given", async () => {
  const settings = { PARBOOK_DATA_DIR: data.path };
  const [tour, version, coin] = await Promise.all([
    parbook(settings, "tour"),
    parbook(settings, "version", "--json"),
    parbook(settings, "--coin", "acme"),
  ]);
  const rejected = (stderr: string) => ({ exitCode: 2, stdout: "", stderr });
  expect(tour).toEqual(rejected("there is no command tour: see parbook demo\n"));
  expect(version).toEqual(rejected("there is no command version: see parbook --version\n"));
  expect(coin).toEqual(
    rejected(
      "error: option '--coin <code>' argument 'acme' is invalid. Must be a code of 2 to 13 capitals or digits, such as ACMEUSD.\n(use --help for usage)\n",
    ),
  );
});

const DATABASE = "postgres://parbook@127.0.0.1:1/parbook";

test.each<[string[], Record<string, string>, string]>([
  [
    ["migrate"],
    { PARBOOK_MODE: "production", PARBOOK_DATABASE_URL: DATABASE },
    "set PARBOOK_MIGRATE_URL to the address of the database as the owner of its tables",
  ],
  [
    ["restore", "backup", "--until", "2026-11-21T14:05:00Z"],
    {},
    "--until needs --wal: a backup alone restores to the time it ended",
  ],
  [["restore", "backup", "--wal", "/mnt/a b"], {}, "--wal: the path may contain only letters, digits and ._-/"],
])("parbook %j is wrong usage before anything is opened", async (argv, settings, why) => {
  for (const [name, value] of Object.entries({ PARBOOK_DATA_DIR: join(data.path, "none"), ...settings }))
    vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(await run(argv)).toEqual({ exitCode: 2, stdout: "", stderr: `${why}\n` });
  expect(existsSync(join(data.path, "none"))).toBe(false);
});
