/** A whole node whose clock is wrong: it changes nothing, says why wherever it is asked, and goes on by itself. */
import { afterEach, expect, test, vi } from "vitest";
import { noteTimesAhead } from "../../src/verify/times-ahead.ts";
import { expectBooksBalance } from "../support/books.ts";
import { scrape } from "../support/metrics.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

const MONTH_MS = 30 * 86_400_000;

let service: TestService;
afterEach(async () => {
  vi.useRealTimers();
  await expectBooksBalance(service.db.owner);
  await service.close();
});

const setClock = (aheadMs: number): void => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + aheadMs });
};

test("a node whose clock is a month ahead changes nothing and says why, and works within seconds of its being right", async () => {
  service = await startTestService({ metricsPort: 0 });
  const acme = await service.customer();
  const [from, to] = [await service.profile(acme, { USD: "10" }), await service.profile(acme, {})];
  const before = await service.db.owner.rows("select slot, n from batch order by 1, 2");
  const transfer = () =>
    service.call("POST", "/v2/transfer/internal", {
      as: acme.token,
      body: { amount: "1", asset: "USD", from_profile_id: from, to_profile_id: to },
    });
  setClock(MONTH_MS);
  const refused = await transfer();
  const words = /the clock of this node is 259(?:19|20)\d\d\.\d s ahead of the database's, and 2 s are allowed/;
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
  expect(refused.body.detail).toMatch(words);
  const ready = await service.call("GET", "/readyz");
  expect([ready.status, ready.body.detail]).toEqual([503, expect.stringMatching(/^not ready: clock \(the clock of/)]);
  expect(ready.body.detail).toMatch(words);
  const { text } = await scrape(service.service.metricsUrl);
  expect(text).toMatch(/^parbook_lane_clock_wrong 1$/m);
  expect(text).toMatch(/^parbook_http_unavailable_total\{reason="clock"\} 2$/m);
  expect(await service.db.owner.rows("select slot, n from batch order by 1, 2")).toEqual(before);
  vi.useRealTimers();
  // Nothing of the time that has not come is left behind.
  expect(await noteTimesAhead(service.db.database)).toEqual([]);
  await until("it is ready", async () => (await service.call("GET", "/readyz")).status === 200, 3);
  expect((await transfer()).status).toBe(200);
  const placed = await service.call("POST", `/v2/profiles/${from}/orders`, {
    as: acme.token,
    body: {
      ...{ market: "BTCUSD", side: "BUY", type: "LIMIT", base_amount: "0.001", price: "1000", time_in_force: "GTT" },
      expiration_date: new Date(Date.now() + 3_600_000).toISOString(),
    },
  });
  expect([placed.status, placed.body.status]).toEqual([200, "PENDING_SUBMISSION"]);
});
