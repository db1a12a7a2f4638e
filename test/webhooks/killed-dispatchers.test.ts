/**
 * Two processes deliver in turn, and either is cut off from the database at any moment: each event is accepted, each object's
 * in order, and what comes twice has the same id.
 */
import { afterEach, beforeEach, expect, test } from "vitest";
import { pause } from "../../src/std/pause.ts";
import { until } from "../support/until.ts";
import { openSite, type Site, upTo } from "./site.ts";

const KILLS = Number(process.env.TEST_WEBHOOK_KILLS ?? 10);

let site: Site;
beforeEach(async () => {
  site = await openSite();
});
afterEach(() => site.close());

test("dispatchers are killed at any moment, and lose nothing", async () => {
  const profiles = [await site.profile(), await site.profile(), await site.profile(), await site.profile()];
  const first = (await site.lastNumber()) + 1;
  const orders = ["per_object", "any", "strict"] as const;
  const made = await Promise.all(
    orders.map(async (deliveryOrder) => {
      const receiver = await site.receiver();
      return { deliveryOrder, receiver, webhook: await site.webhook({ url: receiver.url, deliveryOrder }) };
    }),
  );
  for (const { receiver } of made) receiver.answer = () => (Math.random() < 0.1 ? 503 : 204);
  const nodes = [site.node(), site.node()];
  let isChanging = true;
  const changing = (async () => {
    while (isChanging) await site.change(...profiles);
  })();
  for (let kill = 0; kill < KILLS; kill += 1) {
    await pause(100 + Math.random() * 400);
    site.clock.aheadMs += 6_000;
    await nodes.shift()?.kill();
    nodes.push(site.node());
  }
  isChanging = false;
  await changing;
  for (const { receiver } of made) receiver.answer = () => 204;
  const last = await site.lastNumber();
  await until(
    "all is delivered",
    async () => {
      site.clock.aheadMs += 10_000;
      const states = await Promise.all(
        made.map(
          async ({ webhook }) => (await site.rows(webhook)).length + last - (await site.progress(webhook)).readTo,
        ),
      );
      return states.every((state) => state === 0);
    },
    60,
  );
  for (const { deliveryOrder, receiver } of made) {
    const accepted = receiver.accepted();
    expect(new Set(accepted)).toEqual(new Set(upTo(last, first)));
    const firsts = [...new Set(accepted)];
    if (deliveryOrder === "strict") expect(firsts).toEqual(upTo(last, first));
    const objectOf = new Map(
      receiver.received.flatMap(({ numbers, objects }) => numbers.map((n, i) => [n, objects[i]])),
    );
    if (deliveryOrder === "per_object")
      for (const profile of profiles) {
        const own = firsts.filter((number) => objectOf.get(number) === profile);
        expect(own).toEqual([...own].sort((x, y) => x - y));
      }
    const contents = new Map<string, string>();
    for (const { id, numbers } of receiver.received) {
      expect(contents.get(id) ?? String(numbers)).toBe(String(numbers));
      contents.set(id, String(numbers));
    }
  }
});
