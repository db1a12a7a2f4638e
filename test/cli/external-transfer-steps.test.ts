/** The operator takes deposits and withdrawals through their steps, and holds money (docs/withdrawals.md). */
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { verifyAll } from "../../src/verify/verify.ts";
import { expectBooksBalance } from "../support/books.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { urlOf } from "../support/service.ts";
import { run } from "./in-process.ts";

interface Record {
  readonly id: string;
  readonly status: string;
  readonly status_details?: { readonly progress: { readonly step: string; readonly message: string } };
}

let db: TestDatabase;
let profile: string;
/** Another customer's, which was there before, with a withdrawal that waits. */
let theirs: string;
beforeAll(async () => {
  db = await testDatabase();
  vi.stubEnv("PARBOOK_DATABASE_URL", urlOf(db));
  vi.stubEnv("PARBOOK_LOG_LEVEL", "fatal");
  const other = await json<{ default_profile_id: string }>("customer", "create", "--name", "Zenith");
  const money = ["--profile", other.default_profile_id, "--asset", "USD"];
  await json("deposit", ...money, "--amount", "2");
  theirs = (await json<Record>("withdraw", ...money, "--amount", "1", "--pending")).id;
  const made = await json<{ default_profile_id: string }>("customer", "create", "--name", "Acme");
  profile = made.default_profile_id;
  await json("deposit", ...of("100"));
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await expectBooksBalance(db.owner);
  await db.close();
});

const of = (amount: string): string[] => ["--profile", profile, "--asset", "USD", "--amount", amount];

async function json<Of>(...argv: string[]): Promise<Of> {
  const { exitCode, stdout, stderr } = await run([...argv, "--json"]);
  expect([exitCode, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout);
}

async function errorOf(...argv: string[]): Promise<string> {
  const { exitCode, stderr } = await run(argv);
  expect(exitCode).toBe(1);
  return stderr.trim();
}

test("a withdrawal is requested, approved, sent and completed, and each step says how far it is", async () => {
  const requested = await json<Record>("withdraw", ...of("10"), "--pending");
  const { id } = requested;
  expect(requested).toMatchObject({
    status: "PENDING",
    status_details: { progress: { step: "REQUESTED", message: "Waiting for approval" } },
  });
  expect(await json("transfer", "approve", id)).toMatchObject({
    status: "PENDING",
    status_details: { progress: { step: "APPROVED" } },
  });
  expect(await json("transfer", "send", id, "--tx-hash", "0xabc")).toMatchObject({
    status: "PENDING",
    crypto_tx_hash: "0xabc",
    status_details: { progress: { step: "SENT", message: "Sent, not confirmed yet" } },
  });
  const completed = await json<Record>("transfer", "complete", id);
  expect([completed.status, completed.status_details]).toEqual(["COMPLETED", undefined]);
});

test("a withdrawal is cancelled with a reason, once", async () => {
  const { id } = await json<Record>("withdraw", ...of("10"), "--pending");
  const cancel = ["transfer", "cancel", id, "--reason", "asked for by phone"];
  const cancelled = await json<Record>(...cancel);
  expect(cancelled).toMatchObject({
    status: "FAILED",
    status_details: { progress: { step: "CANCELLED", message: "Cancelled: asked for by phone" } },
  });
  expect(await json(...cancel)).toEqual(cancelled);
  expect(await errorOf("transfer", "cancel", id, "--reason", "another")).toContain(
    "cancelled already, with other details",
  );
  expect(await errorOf("transfer", "complete", id)).toContain(
    `transfer ${id} is cancelled, and cannot become completed`,
  );
});

test("an announced deposit is completed, and has no transaction to learn", async () => {
  const { id } = await json<Record>("deposit", ...of("7"), "--pending");
  expect(await errorOf("transfer", "complete", id, "--tx-hash", "0xabc")).toContain("--tx-hash is not for a deposit");
  expect(await json("transfer", "complete", id)).toMatchObject({ status: "COMPLETED", direction: "CREDIT" });
});

test("a transfer that is not there, or was complete when it was recorded, takes no step", async () => {
  const { id } = await json<Record>("deposit", ...of("1"));
  expect(await errorOf("transfer", "approve", id)).toContain(`transfer ${id} was complete when it was recorded`);
  expect(await errorOf("transfer", "approve", profile)).toContain(`transfer not found: ${profile}`);
});

test("what is held of a profile has its reason, and a legal hold is placed once and lifted", async () => {
  const { id: waiting } = await json<Record>("withdraw", ...of("3"), "--pending");
  const { id: approved } = await json<Record>("withdraw", ...of("4"), "--pending");
  await json("transfer", "approve", approved);
  const place = ["hold", "place", ...of("5"), "--reason", "court order 17", "--ref-id", "order-17"];
  const { id: held } = await json<Record>(...place);
  expect(await errorOf(...place)).toContain(`ref_id "order-17" was already used for legal hold ${held}`);
  expect(await json("hold", "list", "--profile", profile)).toEqual({
    ...{ customer_name: expect.any(String), profile_id: profile, nickname: "default" },
    items: [
      { reason: "approval", asset: "USD", amount: "3", id: waiting },
      { reason: "withdrawal", asset: "USD", amount: "4", id: approved },
      { reason: "legal", asset: "USD", amount: "5", id: held },
    ],
    more: false,
  });
  interface Open {
    readonly id: string;
    readonly status: string;
    readonly customer_name: string;
  }
  const open = await json<{ items: readonly Open[] }>("transfer", "list");
  expect(open.items.map(({ id, status, customer_name: name }) => [id, status, name])).toEqual([
    [theirs, "requested", "Zenith"],
    [waiting, "requested", "Acme"],
    [approved, "approved", "Acme"],
  ]);
  expect(await json("hold", "lift", held)).toMatchObject({ lifted_at: expect.any(String) });
  const writes = await json<{ items: readonly { what: string }[] }>("audit", "writes", "--id", held);
  expect(writes.items.map(({ what }) => what)).toEqual(["legal_hold", "legal_hold"]);
  expect((await verifyAll(db.database)).sound).toBe(true);
});
