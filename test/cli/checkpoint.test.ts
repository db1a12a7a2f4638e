/** The commands about checkpoints, as processes, on a database of their own. */

import { createPrivateKey } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { formatInstant, type Instant } from "../../src/std/clock.ts";
import { readCheckpoint, signCheckpoint } from "../../src/verify/signed-checkpoint.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { unwrap } from "../support/results.ts";
import { urlOf } from "../support/service.ts";
import { makeSmallBooks } from "../verify/small-ledger.ts";
import { answerOf, parbook } from "./parbook.ts";

let db: TestDatabase;
let folder: string;
let settings: Record<string, string>;

beforeAll(async () => {
  db = await testDatabase();
  folder = await mkdtemp(join(tmpdir(), "parbook-checkpoint-"));
  settings = { PARBOOK_DATABASE_URL: urlOf(db), PARBOOK_LOG_LEVEL: "error" };
  const books = await makeSmallBooks(db.database);
  await books.close();
});
afterAll(async () => {
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
