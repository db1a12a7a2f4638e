/** The commands about checkpoints, as processes, on a database of their own. */

import { createPrivateKey, generateKeyPairSync } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { formatInstant, type Instant } from "../../src/std/clock.ts";
import { readLastVerify } from "../../src/verify/last-verify.ts";
import { keyIdOf, readCheckpoint, signCheckpoint } from "../../src/verify/signed-checkpoint.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { newId } from "../support/movements.ts";
import { unwrap } from "../support/results.ts";
import { urlOf } from "../support/service.ts";
import { makeSmallBooks } from "../verify/small-ledger.ts";
import { run } from "./in-process.ts";
import { answerOf, parbook } from "./parbook.ts";

let db: TestDatabase;
let folder: string;
let settings: Record<string, string>;

beforeAll(async () => {
  db = await testDatabase();
  folder = await mkdtemp(join(tmpdir(), "parbook-checkpoint-"));
  settings = { PARBOOK_DATABASE_URL: urlOf(db), PARBOOK_DATA_DIR: folder, PARBOOK_LOG_LEVEL: "error" };
  for (const [name, value] of Object.entries(settings)) vi.stubEnv(name, value);
  const books = await makeSmallBooks(db.database);
  await books.close();
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await db.close();
  await rm(folder, { recursive: true, force: true });
});

test("a checkpoint is contained in the later ledger, or both commands say what is missing", async () => {
  const [key, file] = [join(folder, "books.key"), join(folder, "books.checkpoint")];
  const { key_id } = (await answerOf(settings, "checkpoint", "--new-key", key)) as { key_id: string };
  const checkpoint = ["checkpoint", "--key", key, "--file", file];
  const verify = ["verify", "--checkpoint", file, "--key", `${key}.pub`, "--max-age", "1h"];
  expect(await answerOf(settings, ...checkpoint)).toMatchObject({ file, key_id, heads: expect.any(Array) });
  expect(await answerOf(settings, ...checkpoint)).toMatchObject({ file, key_id, heads: expect.any(Array) });
  expect((await parbook(settings, ...verify)).stdout).toMatch(
    /^coin +outstanding supply +reserve \(USD\)\nPYUSD +500 +500\nUSDP +100 +100\n\ncheck /,
  );
  expect(await answerOf(settings, ...verify)).toMatchObject({
    sound: true,
    coins: expect.arrayContaining([{ coin: "USDG", supply: "0", reserve: "0" }]),
    had_checkpoint: true,
    checkpoint: { at: expect.any(String), key_id, signature_checked: true },
  });

  // As if the slot had been another one when its head was noted.
  const { ledgerId, at } = unwrap(readCheckpoint(await readFile(file, "utf8")));
  // For the metrics of the service.
  const finishedAt = expect.any(Number);
  const verified = { dataDir: folder, databaseUrl: urlOf(db) };
  expect(await readLastVerify(verified)).toEqual({ finishedAt, sound: true, checkpointAt: at });
  const unsigned = await run(["verify", "--checkpoint", file]);
  expect([unsigned.exitCode, unsigned.stdout.trimEnd().split("\n").slice(-2)]).toEqual([
    0,
    [
      `The chains were compared with the checkpoint of ${formatInstant(at)}, whose signature was not checked (no --key).`,
      "The ledger is sound.",
    ],
  ]);
  const privateKey = createPrivateKey(await readFile(key));
  const heads = [{ slot: 1, n: 0n, hash: Buffer.alloc(32) }];
  // One that was made later than now is not the one before, whatever its heads are.
  const later = (at + 86_400_000) as Instant;
  await writeFile(file, signCheckpoint({ ledgerId, at: later, heads }, privateKey));
  expect(await parbook(settings, ...checkpoint)).toEqual({
    exitCode: 1,
    stdout: "",
    stderr: `${file} is from the future: ${formatInstant(later)}\n`,
  });
  await writeFile(file, signCheckpoint({ ledgerId, at, heads }, privateKey));
  expect(await parbook(settings, ...checkpoint)).toEqual({
    exitCode: 1,
    stdout: "",
    stderr: `${file} contains batch 1/0, which the ledger lacks or has with another hash: it was rolled back or rewritten. For details: parbook verify --checkpoint ${file}\n`,
  });
  const { exitCode, stdout } = await parbook(settings, ...verify);
  expect(exitCode).toBe(1);
  expect(stdout).toContain("\nchain: batch 1/0 is not the batch in the checkpoint\n");
  expect(stdout).toMatch(
    new RegExp(
      `\nThe chains were compared with the checkpoint of \\S+, signed by key ${key_id}\\.\nThe ledger is not sound\\.\n$`,
    ),
  );
  expect(stdout).not.toContain("ends before");
  expect(await readLastVerify(verified)).toEqual({ finishedAt, sound: false, checkpointAt: at });

  // As after a restore to a moment before it.
  const lost = [{ slot: 1, n: 1_000_000n, hash: Buffer.alloc(32) }];
  await writeFile(file, signCheckpoint({ ledgerId, at, heads: lost }, privateKey));
  const behind = await parbook(settings, ...verify, "--json");
  expect(behind).toMatchObject({ exitCode: 1, stderr: "" });
  expect(JSON.parse(behind.stdout)).toMatchObject({ sound: false, checkpoint: { ledger_ends_before: true } });
  expect((await parbook(settings, ...verify)).stdout).toContain(
    "\nThe ledger ends before the checkpoint. If it was restored to an earlier moment, that is what the restore lost: ",
  );
});

test("a checkpoint of another ledger, that is too old or that another key has signed is rejected", async () => {
  const [key, file] = [join(folder, "own.key"), join(folder, "own.checkpoint")];
  await run(["checkpoint", "--new-key", key]);
  const make = ["checkpoint", "--key", key, "--file", file];
  const verify = ["verify", "--checkpoint", file, "--key", `${key}.pub`];
  expect((await run(make)).exitCode).toBe(0);
  const checkpoint = unwrap(readCheckpoint(await readFile(file, "utf8")));
  const privateKey = createPrivateKey(await readFile(key));
  const rejected = (why: string) => ({ exitCode: 1, stdout: "", stderr: `${file} ${why}\n` });

  const ledgerId = newId();
  await writeFile(file, signCheckpoint({ ...checkpoint, ledgerId }, privateKey));
  const foreign = rejected(`belongs to ledger ${ledgerId}, but this database is ${checkpoint.ledgerId}`);
  for (const argv of [make, verify]) expect(await run(argv)).toEqual(foreign);

  const at = (checkpoint.at - 3_600_000) as Instant;
  await writeFile(file, signCheckpoint({ ...checkpoint, at }, privateKey));
  expect(await run([...verify, "--max-age", "59m"])).toEqual(
    rejected(`is older than --max-age: it is from ${formatInstant(at)}`),
  );
  expect((await run([...verify, "--max-age", "2h"])).exitCode).toBe(0);

  const other = generateKeyPairSync("ed25519");
  await writeFile(file, signCheckpoint(checkpoint, other.privateKey));
  const signed = rejected(`is signed by key ${keyIdOf(other.publicKey)}, not by ${keyIdOf(privateKey)}`);
  for (const argv of [make, verify]) expect(await run(argv)).toEqual(signed);
});

test.each([
  [["checkpoint"], "give --key and --file, or --new-key alone"],
  [["checkpoint", "--key", "a"], "give --key and --file, or --new-key alone"],
  [["checkpoint", "--file", "a"], "give --key and --file, or --new-key alone"],
  [["checkpoint", "--new-key", "a", "--key", "b", "--file", "c"], "give --key and --file, or --new-key alone"],
  [["verify", "--key", "a"], "--key and --max-age need --checkpoint"],
  [["verify", "--max-age", "7d"], "--key and --max-age need --checkpoint"],
])("parbook %j is wrong usage", async (argv, why) => {
  expect(await run(argv)).toEqual({ exitCode: 2, stdout: "", stderr: `${why}\n` });
});

test("verify says when its result cannot be stored", async () => {
  const nowhere = { ...settings, PARBOOK_DATA_DIR: join(folder, "nowhere") };
  const { stdout, stderr } = await parbook(nowhere, "verify");
  expect(stdout).toContain("The ledger is sound.");
  expect(stderr).toContain("the result could not be stored in PARBOOK_DATA_DIR");
});
