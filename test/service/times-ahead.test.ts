/** Books in which a wrong clock of an older version has left times that have not come: everything goes on. */
import { pino } from "pino";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { formatReport } from "../../src/verify/report.ts";
import { verifyAll } from "../../src/verify/verify.ts";
import { expectBooksBalance } from "../support/books.ts";
import { Desk, limit, openPair, tell } from "../support/exchange/trading.ts";
import { freePort } from "../support/free-port.ts";
import { ANY_TIME_MS } from "../support/movements.ts";
import { type Answer, startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

const MONTH_MS = 30 * 86_400_000;
const HOUR_MS = 3_600_000;

let service: TestService;
/** Ann and Bob of the present, with what they had a month from now. */
let ann: Desk;
let bob: Desk;
/** Eve had nothing a month from now. */
let eve: Desk;
/** A sell of Ann's in the book, of a month from now. */
let resting: string;
let warnings: string[];

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + MONTH_MS });
  // Where nobody else listens until it is started again.
  const ports = { port: await freePort(), authPort: await freePort() };
  service = await startTestService({ ...ports, clockToleranceMs: ANY_TIME_MS });
  const [maker, taker] = await openPair(service, "BTCUSD", "BTC");
  await maker.place(limit("SELL", "1", "1000"));
  expect(tell(await taker.place(limit("BUY", "1", "1000")))).toBe("FILLED 1 at 1000");
  const newcomer = await service.customer();
  const empty = new Desk(service, newcomer, await service.profile(newcomer), taker.market);
  resting = (await maker.place(limit("SELL", "2", "2000", { ref_id: "again" }))).id;
  await service.stop();
  vi.useRealTimers();
  warnings = [];
  const log = pino({ level: "warn" }, { write: (line: string) => void warnings.push(JSON.parse(line).msg) });
  await service.another(ports, log);
  [ann, bob, eve] = await Promise.all([ofThePresent(maker), ofThePresent(taker), ofThePresent(empty)]);
});
afterEach(async () => {
  vi.useRealTimers();
  await expectBooksBalance(service.db.owner);
  await service.close();
});

async function ofThePresent({ customer, profileId, market }: Desk): Promise<Desk> {
  return new Desk(service, { ...customer, token: await service.token(customer) }, profileId, market);
}

async function transfer(from: Desk, to: Desk, kind = "internal"): Promise<Answer> {
  const body = { amount: "1", asset: "USD", from_profile_id: from.profileId, to_profile_id: to.profileId };
  return service.call("POST", `/v2/transfer/${kind}`, { as: from.customer.token, body });
}

async function get(path: string): Promise<Answer["body"]> {
  return (await service.call("GET", path, { as: ann.customer.token })).body;
}

const isOfNow = (time: string): boolean => Math.abs(Date.parse(time) - Date.now()) < 60_000;

const NOTES = ["\\d+ accounts have", "orders have", "transfers have", "the market BTCUSD has"].map((what) =>
  expect.stringMatching(
    new RegExp(
      `^${what} times in the future, up to \\S+Z, 720\\.0 h from now: .* see "Times in the future" in docs/runbook\\.md$`,
    ),
  ),
);

test("a node starts on a ledger with times a month ahead, warns, and writes present times", async () => {
  const ofTimes = () => warnings.filter((warning) => warning.includes("in the future"));
  await until("the node has warned", () => ofTimes().length >= NOTES.length);
  expect(ofTimes()).toEqual(NOTES);
  expect(await service.call("GET", "/readyz")).toMatchObject({ status: 200 });

  const mine = await service.call("POST", "/v2/profiles", { as: ann.customer.token, body: { nickname: "more" } });
  const more = new Desk(service, ann.customer, mine.body.id, ann.market);
  expect((await transfer(ann, more)).status).toBe(200);
  expect((await transfer(more, ann)).status).toBe(200);

  const soon = { time_in_force: "GTT", expiration_date: new Date(Date.now() + HOUR_MS).toISOString() };
  const placed = await bob.place(limit("BUY", "1", "500", soon));
  expect([tell(placed), placed.expiration_date]).toEqual(["OPEN", soon.expiration_date]);
  expect((await bob.cancel(placed.id)).status).toBe(200);
  expect(isOfNow((await bob.closed(placed.id)).modified_at)).toBe(true);

  // One that rests since then, and one of now.
  await ann.place(limit("SELL", "1", "1900"));
  expect(tell(await bob.place(limit("BUY", "2", "2000")))).toBe("FILLED 2 at 1950");
  expect((await ann.cancel(resting)).status).toBe(200);
  expect(tell(await ann.closed(resting))).toBe("CANCELLED 1 at 2000");
});

test("a conversion settles, balances are current, and verify passes with a note", async () => {
  const mint = { profile_id: ann.profileId, amount: "2", source_asset: "USD", target_asset: "USDG" };
  const conversions = "/v2/conversion/stablecoins";
  const { status, body } = await service.call("POST", conversions, { as: ann.customer.token, body: mint });
  expect(status).toBe(200);
  const settled = async () => (await get(`${conversions}/${body.id}`)).status === "SETTLED";
  await until("the conversion is settled", settled);
  const { created_at: createdAt, settled_at: settledAt } = await get(`${conversions}/${body.id}`);
  expect([createdAt, settledAt].map(isOfNow)).toEqual([true, true]);
  expect(Date.parse(settledAt)).toBeGreaterThanOrEqual(Date.parse(createdAt));

  for (const asset of ["USD", "USDG", "BTC"]) {
    const path = `/v2/profiles/${ann.profileId}/balances/${asset}`;
    const now = await get(path);
    expect(now.available, asset).not.toBe("0");
    // Clocks of clients differ by more than a request takes.
    expect(await get(`${path}?at=${new Date(Date.now() + 5_000).toISOString()}`), asset).toEqual(now);
  }

  // The records of a customer that has none but of the present hide nothing.
  expect((await transfer(ann, eve, "platform")).status).toBe(200);
  expect((await transfer(eve, ann, "platform")).status).toBe(200);
  const report = await verifyAll(service.db.database);
  expect([report.sound, report.notes]).toEqual([true, NOTES]);
  expect(formatReport(report.checks)).not.toContain("broken");
});

test("a ref_id released by a closed order goes to a later order, even if that has the lower id", async () => {
  expect((await ann.cancel(resting)).status).toBe(200);
  expect((await ann.closed(resting)).status).toBe("CANCELLED");
  // As if only its id had been made by a clock that was ahead. A day after an order is closed its ref_id is free.
  await service.db.owner.rows(
    "update orders set created_at = now() - interval '26 hours', closed_at = now() - interval '25 hours' where id = $1",
    [resting],
  );
  const later = await ann.place(limit("SELL", "1", "2000", { ref_id: "again" }));
  expect(later.status).toBe("OPEN");
  expect(later.id < resting).toBe(true);
  const { checks } = await verifyAll(service.db.database);
  expect(checks.find(({ check }) => check === "claims")?.broken).toBe(0);
});
