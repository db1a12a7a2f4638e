import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { CommanderError } from "commander";
import pg from "pg";
import { expect, test } from "vitest";
import { smallDisk } from "../../test/reliability/small-disk.ts";
import { required } from "../../test/support/required.ts";
import { notFound } from "../api/problems/problems.ts";
import { CatalogueError } from "../catalogue/fill-catalogue.ts";
import { Unavailable } from "../ledger/decision.ts";
import { DatabaseAway, OutcomeUnknown } from "../postgres/database.ts";
import { copyFileDurably, writeFileDurably } from "../postgres/embedded/copy-file.ts";
import { EmbeddedError } from "../postgres/embedded/embedded-error.ts";
import { SchemaError } from "../postgres/migrations.ts";
import { CannotDecrypt } from "../postgres/storage-encryption.ts";
import { BootstrapError } from "../service/bootstrap/bootstrap-file.ts";
import { InvalidSettings } from "../service/config/config.ts";
import { writeReadyFile } from "../service/data-directory.ts";
import { NoDatabase } from "../service/provide-database.ts";
import { SettingFileError } from "../service/setting-file.ts";
import { StartupError } from "../service/startup-error.ts";
import { ClockFault } from "../std/clock.ts";
import { writeAtomically } from "../std/write-atomically.ts";
import { writeNewKey } from "./auditing/checkpoint-and-key-files.ts";
import { CommandFailed, CommandRejected, WrongUsage } from "./command.ts";
import { failureOf } from "./failure.ts";
import { Interrupted } from "./interruption.ts";

test("wrong usage, settings and their files exit with 2, a rejection with 1", () => {
  const unreadable = "PARBOOK_TLS_KEY /key.pem cannot be read: EACCES";
  expect(failureOf(new SettingFileError(unreadable))).toEqual({ lines: [unreadable], exitCode: 2 });
  expect(failureOf(new StartupError("it is away"))).toEqual({ lines: ["it is away"], exitCode: 1 });
  expect(failureOf(new InvalidSettings(["PARBOOK_X is wrong"]))).toEqual({
    lines: ["Invalid settings; nothing was started:", "PARBOOK_X is wrong"],
    exitCode: 2,
  });
  expect(failureOf(new WrongUsage("set both"))).toEqual({ lines: ["set both"], exitCode: 2 });
  expect(failureOf(new CommandRejected("profile not found: 1"))).toEqual({
    lines: ["profile not found: 1"],
    exitCode: 1,
  });
  expect(failureOf(notFound("profile not found: 1"))).toEqual({ lines: ["profile not found: 1"], exitCode: 1 });
  expect(failureOf(new BootstrapError("customers.json is wrong:", "  it is"))).toEqual({
    lines: ["customers.json is wrong:", "  it is"],
    exitCode: 2,
  });
  expect(failureOf(new CatalogueError("catalogue.json is wrong"))).toEqual({
    lines: ["catalogue.json is wrong"],
    exitCode: 2,
  });
});

test("what was printed already is not said again, and an end keeps its exit code", () => {
  expect(failureOf(new CommandFailed())).toEqual({ lines: [], exitCode: 1 });
  expect(failureOf(new CommandFailed(2))).toEqual({ lines: [], exitCode: 2 });
  expect(failureOf(new CommanderError(0, "commander.help", ""))).toEqual({ lines: [], exitCode: 0 });
  expect(failureOf(new CommanderError(1, "commander.help", ""))).toEqual({ lines: [], exitCode: 2 });
  expect(failureOf(new Interrupted("run it again", 143))).toEqual({
    lines: ["interrupted: run it again"],
    exitCode: 143,
  });
});

test.each([
  new Unavailable("too many tests of webhooks at once"),
  new CannotDecrypt("no key decrypts it"),
  new ClockFault("the clock of this node is wrong"),
  new NoDatabase("there is no database"),
  new EmbeddedError("it does not start"),
  new SchemaError("the database lacks a migration"),
])("%s is one line for the operator", (error) => {
  expect(failureOf(error)).toEqual({ lines: [error.message], exitCode: 1 });
});

test("the innermost reason is shown for an unreachable database", () => {
  const rejected = new AggregateError([new Error("connect ECONNREFUSED ::1:5432"), new Error("another")]);
  const away = new DatabaseAway("the database cannot be reached", { cause: new Error("pool", { cause: rejected }) });
  expect(failureOf(away).lines).toEqual([
    "the database cannot be reached (connect ECONNREFUSED ::1:5432): start it, wait for a standby to take over, or correct PARBOOK_DATABASE_URL",
  ]);
});

test("a database without a connection left is not taken for one that is away", () => {
  const full = Object.assign(new pg.DatabaseError("sorry, too many clients already", 0, "error"), { code: "53300" });
  const away = new DatabaseAway("the database cannot be reached", { cause: full });
  const why = "the database has no connection left (sorry, too many clients already)";
  expect(failureOf(away).lines).toEqual([
    `${why}: run fewer commands at once, or raise max_connections, or the connection limit of role and database`,
  ]);
});

test("an unknown outcome comes with advice to check before repeating", () => {
  expect(failureOf(new OutcomeUnknown(new Error("read ECONNRESET")))).toEqual({
    lines: ["it is not known whether this was done (read ECONNRESET): check the outcome before you retry"],
    exitCode: 1,
  });
});

test("a file error names the file and the reason", async () => {
  await expect(readFile("/dev/null/demo.json").catch(failureOf)).resolves.toEqual({
    lines: ["/dev/null/demo.json cannot be used: not a directory (open: ENOTDIR)"],
    exitCode: 1,
  });
});

test("a full disk names the file, and partial files are removed", async (context) => {
  const disk = await smallDisk(1);
  required(context, disk === undefined ? "no file system can be mounted here" : undefined);
  if (disk === undefined) return;
  const at = (name: string): string => join(disk.path, name);
  const copied = join(await mkdtemp(join(tmpdir(), "parbook-failure-")), "copied");
  try {
    disk.fill();
    await writeFile(copied, "some text");
    const linesAfter = async (work: Promise<unknown>) => (await work.then(() => undefined, failureOf))?.lines;
    const full = (name: string) => [`${at(name)} cannot be used: no space left on device (write: ENOSPC)`];
    expect(await linesAfter(writeAtomically(at("whole"), "text"))).toEqual(full("whole"));
    expect(await linesAfter(writeReadyFile(disk.path, { baseUrl: "http://a", authUrl: "http://b" }))).toEqual(
      full("ready.json"),
    );
    expect(await linesAfter(writeNewKey(at("key")))).toEqual(full("key"));
    expect(await linesAfter(writeFileDurably(at("manifest.json"), "text"))).toEqual(full("manifest.json"));
    expect(await linesAfter(copyFileDurably(copied, at("copy")))).toEqual(full("copy"));
    expect((await readdir(disk.path)).sort()).toEqual(["ballast", "copy", "manifest.json"]);
  } finally {
    await disk.close();
    await rm(dirname(copied), { recursive: true });
  }
});

test("a line break in a value does not start a new line", () => {
  const forged = "x\nthe ledger is sound";
  expect(failureOf(new CommandRejected(`key not found: ${forged}`)).lines).toEqual([`key not found: ${forged}`]);
  expect(failureOf(new StartupError(`one ${forged}`, "two")).lines).toEqual([`one ${forged}`, "two"]);
  expect(failureOf(new BootstrapError("it is wrong:", `  ${forged}`)).lines).toEqual(["it is wrong:", `  ${forged}`]);
  expect(failureOf(new InvalidSettings([`PARBOOK_X ${forged}`])).lines[1]).toBe(`PARBOOK_X ${forged}`);
  expect(failureOf(new Error(forged)).lines[0]).toBe(`Error: ${forged}`);
});

test("an unexpected error is shown with its stack", () => {
  const { lines, exitCode } = failureOf(new TypeError("x is not a function"));
  expect(lines[0]).toBe("TypeError: x is not a function");
  expect(lines[1]).toMatch(/^ +at .*failure\.test\.ts/);
  expect(exitCode).toBe(1);
});
