/** The export as a process of its own: what it writes goes to another program, so there may be nothing else in it. */
import { generateKeyPairSync } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { exportJournals } from "../../src/accounting/export.ts";
import { systemClock } from "../../src/std/clock.ts";
import { keyIdOf, signCheckpoint } from "../../src/verify/signed-checkpoint.ts";
import { takeCheckpoint } from "../../src/verify/take-checkpoint.ts";
import { expectBooksBalance } from "../support/books.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { newId } from "../support/movements.ts";
import { required } from "../support/required.ts";
import { urlOf } from "../support/service.ts";
import { makeSmallBooks } from "../verify/small-ledger.ts";
import { run } from "./in-process.ts";
import { parbook, parbookInto } from "./parbook.ts";

let db: TestDatabase;
let folder: string;

beforeAll(async () => {
  db = await testDatabase();
  folder = await mkdtemp(join(tmpdir(), "parbook-export-"));
});
afterAll(async () => {
  await db.close();
  await rm(folder, { recursive: true, force: true });
});

async function exported(): Promise<string> {
  let text = "";
  for await (const piece of exportJournals(db.database, "beancount")) text += piece;
  return text;
}

test("the export covers the ledger as it is, or as of a checkpoint that it contains", async () => {
  const settings = { PARBOOK_DATABASE_URL: urlOf(db), PARBOOK_LOG_LEVEL: "error" };
  const books = await makeSmallBooks(db.database);
  const checkpoint = await takeCheckpoint(db.database, systemClock.now());
  const before = await exported();
  await books.transfer("1");
  await books.close();
  const now = await exported();
  expect(now).not.toBe(before);

  const { privateKey } = generateKeyPairSync("ed25519");
  const [ours, theirs] = [join(folder, "ours"), join(folder, "theirs")];
  await writeFile(ours, signCheckpoint(checkpoint, privateKey));
  const ledgerId = newId();
  await writeFile(theirs, signCheckpoint({ ...checkpoint, ledgerId }, privateKey));
  const command = ["export", "--format", "beancount"];
  expect(await parbook(settings, ...command)).toMatchObject({ exitCode: 0, stdout: now });
  expect(await parbook(settings, ...command, "--checkpoint", ours)).toMatchObject({ exitCode: 0, stdout: before });
  const { exitCode, stdout, stderr } = await parbook(settings, ...command, "--checkpoint", theirs);
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
  expect(stderr).toContain(`${theirs} belongs to ledger ${ledgerId}, but this database is ${checkpoint.ledgerId}\n`);

  // Those in this process come before anything is written.
  for (const [name, value] of Object.entries(settings)) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
  const rejected = async (...argv: string[]) => {
    const { exitCode, stdout, stderr } = await run([...command, ...argv]);
    expect(stdout).toBe("");
    return [exitCode, stderr];
  };
  const [lost, key] = [join(folder, "lost"), join(folder, "key.pub")];
  const heads = checkpoint.heads.map((head) => ({ ...head, hash: Buffer.alloc(32) }));
  await writeFile(lost, signCheckpoint({ ...checkpoint, heads }, privateKey));
  expect(await rejected("--checkpoint", lost)).toEqual([
    1,
    `the ledger does not contain ${lost}. For details: parbook verify --checkpoint ${lost}\n`,
  ]);
  const other = generateKeyPairSync("ed25519").publicKey;
  await writeFile(key, other.export({ type: "spki", format: "pem" }));
  expect(await rejected("--checkpoint", ours, "--key", key)).toEqual([
    1,
    `${ours} is signed by key ${keyIdOf(privateKey)}, not by ${keyIdOf(other)}\n`,
  ]);
  expect(await rejected("--key", key)).toEqual([2, "--key needs --checkpoint\n"]);
  await expectBooksBalance(db.database);
});

test("an export to a full disk fails with one line", async (context) => {
  required(context, existsSync("/dev/full") ? undefined : "there is no /dev/full");
  const settings = { PARBOOK_DATABASE_URL: urlOf(db), PARBOOK_LOG_LEVEL: "error" };
  expect(await parbookInto("/dev/full", settings, "export", "--format", "beancount")).toEqual({
    exitCode: 1,
    stdout: "",
    stderr: "standard output cannot be used: no space left on device (write: ENOSPC)\n",
  });
  // Of what was done before, only the result is lost.
  expect(await parbookInto("/dev/full", settings, "customer", "create", "--name", "Full disk")).toEqual({
    exitCode: 1,
    stdout: "",
    stderr: "the command succeeded, but its result could not be written (ENOSPC)\n",
  });
});

test("an export goes on without the row of a house account, and names it by its id", async () => {
  const owners = await db.owner.rows<{ owner_id: string }>(
    "delete from account where house = 'issuance' and available <> 0 returning owner_id",
  );
  const text = await exported();
  expect(owners.length).toBeGreaterThan(0);
  for (const { owner_id } of owners) expect(text).toContain(`Equity:Unknown:House-${owner_id}`);
});
