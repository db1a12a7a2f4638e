/**
 * Every version that was released, as it left a small database behind (`scripts/version-data.mjs`), is taken over by this
 * one: migrated by the real runner, answered as that version answered, and gone on with.
 */
import { readdir, readFile } from "node:fs/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { verifyAll } from "../../src/verify/verify.ts";
import { expectBooksBalance } from "../support/books.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { leftBehind } from "./left-behind.ts";

vi.setConfig({ testTimeout: 120_000 });

/** Named by the last migration that it has. */
const VERSIONS = (await readdir(new URL(".", import.meta.url))).filter((name) => /^[0-9]{4}$/.test(name)).sort();
const TREASURY = "0190d5a4-0000-7000-8000-000000000001";
const DESK = "0190d5a4-0000-7000-8000-000000000003";

/** What that version answered, by the customer who asked and the path. */
type Answers = Readonly<Record<"acme" | "desk", Readonly<Record<string, unknown>>>>;

describe.each(VERSIONS)("a database that version %s has left", (version) => {
  test("is migrated, answers as it did, and is gone on with", async () => {
    const left = await leftBehind(version);
    const heads = await left.heads();
    // Without engines and settlement, so that nothing is done before it is looked at.
    const service = await startTestService({ ...left.urls, roles: new Set(["api", "auth"]) });
    onTestFinished(() => service.close());
    const tokens = { acme: await tokenOf(service, "acme"), desk: await tokenOf(service, "desk") };
    await expectAnswersAsBefore(service, tokens, version);
    await expectBooksBalance(left.database);
    expect(await verifyAll(left.database, { checkpoint: heads })).toMatchObject({ sound: true });

    await service.another({ ...left.urls, roles: new Set(["engine", "worker"]) });
    await expectGoingOn(service, tokens);
    await expectBooksBalance(left.database);
    expect(await verifyAll(left.database, { checkpoint: heads })).toMatchObject({ sound: true });
    const [slot, n] = [heads[0]?.slot, heads[0]?.n];
    expect((await left.heads()).find((head) => head.slot === slot)?.n).toBeGreaterThan(n ?? 0n);
  });
});

const tokenOf = (service: TestService, name: string): Promise<string> =>
  service.token({ clientId: name, secret: `the secret of ${name}` });

async function expectAnswersAsBefore(
  service: TestService,
  tokens: Readonly<Record<"acme" | "desk", string>>,
  version: string,
): Promise<void> {
  const text = await readFile(new URL(`${version}/answers.json`, import.meta.url), "utf8");
  const answers = JSON.parse(text) as Answers;
  for (const name of ["acme", "desk"] as const) {
    const paths = Object.keys(answers[name]);
    const now: Record<string, unknown> = {};
    for (const path of paths) now[path] = (await service.call("GET", path, { as: tokens[name] })).body;
    expect(now).toEqual(answers[name]);
    expect(paths.length).toBeGreaterThan(10);
  }
}

/** The conversion that was under way is settled, and an order from then trades with one of now. */
async function expectGoingOn(service: TestService, tokens: Readonly<Record<"acme" | "desk", string>>): Promise<void> {
  const list = "/v2/conversion/stablecoins?ref_id=mint-2";
  await until(
    "the conversion is settled",
    async () => {
      const { body } = await service.call("GET", list, { as: tokens.acme });
      return body.items[0].status === "SETTLED";
    },
    60,
  );
  const bid = { side: "BUY", market: "BTCUSD", type: "LIMIT", base_amount: "0.25", price: "50000", ref_id: "buy-2" };
  const placed = await service.call("POST", `/v2/profiles/${TREASURY}/orders`, { as: tokens.acme, body: bid });
  const path = `/v2/profiles/${TREASURY}/orders/${placed.body.id}`;
  const order = async () => (await service.call("GET", path, { as: tokens.acme })).body;
  await until("the order is filled", async () => (await order()).status === "FILLED", 60);
  expect(await order()).toMatchObject({ amount_filled: "0.25" });
  const asks = await service.call("GET", "/v2/orders?ref_ids=ask-1", { as: tokens.desk });
  // Half a bitcoin and what a thousand dollars bought then, and a quarter now.
  expect(asks.body.items).toMatchObject([{ profile_id: DESK, status: "OPEN", amount_filled: "0.77" }]);
  // What was claimed then is claimed now.
  const again = await service.call("POST", "/v2/transfer/internal", {
    as: tokens.acme,
    body: {
      from_profile_id: TREASURY,
      to_profile_id: TREASURY.replace(/1$/, "2"),
      asset: "USD",
      amount: "1",
      ref_id: "internal-1",
    },
  });
  expect(again.body).toMatchObject({ status: 409, meta: { existing: { ref_id: "internal-1", amount: "100.5" } } });
}
