import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { testDatabase } from "../support/database.ts";
import { urlOf } from "../support/service.ts";
import { dataDirectory, parbook, parbookUnread, readReady } from "./parbook.ts";

// Each command is a process of its own, which on a busy machine takes seconds to come up.
vi.setConfig({ testTimeout: 120_000 });

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
  const settings = { PARBOOK_DATA_DIR: data.path, PARBOOK_DATABASE_URL: "postgres://parbook@127.0.0.1:1/parbook" };
  expect(await parbook(settings, "start")).toEqual({
    exitCode: 1,
    stdout: "",
    stderr:
      "the database cannot be reached (connect ECONNREFUSED 127.0.0.1:1): start it, or correct PARBOOK_DATABASE_URL\n",
  });
});

test("an unusable data directory is reported in one line", async () => {
  const file = join(data.path, "file");
  await writeFile(file, "");
  const other = join(data.path, "other");
  await mkdir(join(other, "postgres"), { recursive: true });
  await writeFile(join(other, "postgres", "letter.txt"), "Dear Ann");
  const [below, foreign] = await Promise.all([
    parbook({ PARBOOK_DATA_DIR: join(file, "data") }, "start"),
    parbook({ PARBOOK_DATA_DIR: other }, "start"),
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

test("a port in use is reported in one line, and everything started is stopped", async () => {
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const { port } = taken.address() as { port: number };
  const db = await testDatabase();
  try {
    const ended = await parbook(
      {
        PARBOOK_DATA_DIR: data.path,
        PARBOOK_DATABASE_URL: urlOf(db),
        PARBOOK_MIGRATE_URL: urlOf(db, "owner"),
        PARBOOK_PORT: String(port),
        PARBOOK_AUTH_PORT: "0",
        PARBOOK_LOG_LEVEL: "error",
      },
      "start",
    );
    expect(ended).toEqual({
      exitCode: 1,
      stdout: "",
      stderr: `port ${port} on 127.0.0.1 is in use: stop what uses it, or set PARBOOK_PORT to another one\n`,
    });
    expect(await readReady(data.path)).toBe(undefined);
  } finally {
    taken.close();
    await db.close();
  }
});
