/** The operator takes deposits and withdrawals through their steps, and holds money (docs/withdrawals.md). */
import { userInfo } from "node:os";
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

const coins = (amount: string): string[] => ["--profile", profile, "--asset", "USDG", "--amount", amount];

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
  expect((await run(["transfer", "approve", id])).stdout).toBe(`transfer ${id} of 10 USD is approved\n`);
  expect(await json("transfer", "approve", id)).toMatchObject({
    status: "PENDING",
    status_details: { progress: { step: "APPROVED" } },
  });
  expect(await errorOf("transfer", "send", id, "--tx-index", "3")).toBe("--tx-index needs --tx-hash");
  expect(await errorOf("transfer", "send", id, "--tx-hash", "0xabc")).toBe(
    `--tx-hash is for a withdrawal on a chain, and ${id} is a WIRE_WITHDRAWAL`,
  );
  expect(await json("transfer", "send", id)).toMatchObject({
    status: "PENDING",
    status_details: { progress: { step: "SENT", message: "Sent, not confirmed yet" } },
  });
  const completed = await json<Record>("transfer", "complete", id);
  expect([completed.status, completed.status_details]).toEqual(["COMPLETED", undefined]);
});

test("a withdrawal on a chain is sent with its transaction", async () => {
  await json("deposit", ...coins("10"));
  const out = ["--network", "ETHEREUM", "--address", "0xab"];
  const { id } = await json<Record>("withdraw", ...coins("4"), ...out, "--pending");
  await json("transfer", "approve", id);
  const sent = { status: "PENDING", crypto_tx_hash: "0xabc", crypto_tx_index: "3" };
  expect(await json("transfer", "send", id, "--tx-hash", "0xabc", "--tx-index", "3")).toMatchObject(sent);
  expect(await json("transfer", "complete", id)).toMatchObject({ ...sent, status: "COMPLETED" });
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
  const { id: waiting } = await json<Record>(
    "withdraw",
    ...of("3"),
    "--pending",
    "--memo",
    "rent",
    "--ref-id",
    "rent-1",
  );
  const { id: approved } = await json<Record>("withdraw", ...of("4"), "--pending");
  await json("transfer", "approve", approved);
  const place = ["hold", "place", ...of("5"), "--reason", "court order 17", "--ref-id", "order-17"];
  const placed = await json<Record & { readonly placed_at: string; readonly placed_by: string }>(...place);
  const { id: held } = placed;
  expect(placed).toEqual({
    ...{ id: expect.any(String), profile_id: profile, asset: "USD", amount: "5", reason: "court order 17" },
    ...{ placed_by: userInfo().username, placed_at: expect.stringMatching(/Z$/) },
  });
  expect(await errorOf("hold", "place", ...of("5000"), "--reason", "too much")).toMatch(
    new RegExp(`^profile ${profile} has \\d+ USD available, but 5000 is needed$`),
  );
  const again = `ref_id "order-17" was already used, so nothing was held: legal hold ${held} is of 5 USD of profile ${profile}`;
  expect(await errorOf(...place)).toBe(again);
  expect(await json("hold", "list", "--profile", profile)).toEqual({
    ...{ customer_name: expect.any(String), profile_id: profile, nickname: "default" },
    items: [
      { reason: "approval", asset: "USD", amount: "3", id: waiting },
      { reason: "withdrawal", asset: "USD", amount: "4", id: approved },
      { reason: "legal", asset: "USD", amount: "5", id: held },
    ],
    more: false,
  });
  const reasons = (await run(["hold", "list", "--profile", profile])).stdout.trimEnd().split("\n");
  expect(reasons).toEqual([
    `held of default (${profile}) of Acme:`,
    expect.stringMatching(/^reason +amount +asset +id$/),
    expect.stringMatching(`^approval +3 +USD +${waiting}$`),
    expect.stringMatching(`^withdrawal +4 +USD +${approved}$`),
    expect.stringMatching(`^legal +5 +USD +${held}$`),
  ]);
  const withdrawal = { nickname: "default", type: "WIRE_WITHDRAWAL", asset: "USD", requested_at: expect.any(String) };
  const ours = { ...withdrawal, customer_name: "Acme", profile_id: profile };
  expect(await json("transfer", "list")).toEqual({
    items: [
      {
        ...{ ...withdrawal, id: theirs, customer_name: "Zenith", profile_id: expect.any(String) },
        ...{ status: "requested", amount: "1", memo: "" },
      },
      { ...ours, id: waiting, status: "requested", amount: "3", memo: "rent" },
      { ...ours, id: approved, status: "approved", amount: "4", memo: "" },
    ],
    more: false,
  });
  const lifted = await json<{ readonly lifted_at: string }>("hold", "lift", held);
  expect(lifted).toEqual({ ...placed, lifted_by: placed.placed_by, lifted_at: expect.stringMatching(/Z$/) });
  expect(lifted.lifted_at > placed.placed_at).toBe(true);
  expect(await errorOf(...place)).toBe(
    `${again}, which was lifted at ${lifted.lifted_at} by ${JSON.stringify(placed.placed_by)}`,
  );
  expect((await run(["hold", "lift", held])).stdout).toBe(`lifted 5 USD: legal hold ${held}\n`);
  const writesOf = async (...options: string[]) =>
    (
      await json<{ items: readonly { what: string; details: object; slot: number; batch: string }[] }>(
        ...["audit", "writes", ...options],
      )
    ).items;
  const hold = ["legal_hold", { amount: "5", asset: "USD", reason: "court order 17" }];
  const shown = async (...options: string[]) =>
    (await writesOf(...options)).map(({ what, details }) => [what, details]);
  expect(await shown("--id", held)).toEqual([hold, hold]);
  expect(await shown("--ref", "order-17")).toEqual([hold, hold]);
  expect(await shown("--ref", "order-17", "--id", waiting)).toEqual([]);
  const about = { type: "WIRE_WITHDRAWAL", amount: "4", asset: "USD" };
  expect(await shown("--id", approved)).toEqual([
    ["transfer", about],
    ["external_transfer", { ...about, status: "requested" }],
    ["external_transfer", { ...about, status: "approved" }],
  ]);
  expect(await shown("--ref", "rent-1", "--id", waiting)).toEqual([
    ["transfer", { ...about, amount: "3" }],
    ["external_transfer", { ...about, amount: "3", status: "requested" }],
  ]);
  const both = await writesOf("--id", held);
  const places = await db.owner.rows(
    "select slot, n::text as batch from batch where changes::text like $1 order by n",
    [`%${held}%`],
  );
  expect(both.map(({ slot, batch }) => ({ slot, batch }))).toEqual(places);
  expect(await writesOf("--id", held, "--after", `${both[0]?.slot}/${both[0]?.batch}`)).toEqual(both.slice(1));
  expect((await verifyAll(db.database)).sound).toBe(true);
});
