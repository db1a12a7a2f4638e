/** Every kind of order, from its placement over HTTP to what the market makes of it. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { verifyAll } from "../../../src/verify/verify.ts";
import { expectBooksBalance } from "../../support/books.ts";
import { expectOrdersAddUp } from "../../support/exchange/orders.ts";
import { Desk, type Told } from "../../support/exchange/trading.ts";
import { startTestService, type TestService } from "../../support/service.ts";

let service: TestService;
let maker: Desk;
let taker: Desk;
beforeAll(async () => {
  service = await startTestService();
  maker = await Desk.open(service, "ETHUSD", { USD: "100000000", ETH: "100000" });
  taker = await Desk.open(service, "ETHUSD", { USD: "100000000", ETH: "100000" });
});
afterAll(async () => {
  await expectBooksBalance(service.db.owner);
  await expectOrdersAddUp(service.db.owner);
  expect((await verifyAll(service.db.database)).checks.flatMap(({ first: fault }) => fault ?? [])).toEqual([]);
  await service.close();
});

const IN_AN_HOUR = new Date(Date.now() + 3_600_000).toISOString();
const STAMPS = {
  id: expect.stringMatching(/^[0-9a-f-]{36}$/),
  created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
  modified_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
};

describe("the 20 cells of type and time in force", () => {
  const SELL = { side: "SELL", type: "LIMIT", base_amount: "1", price: "1000" };
  let offer: Told;
  /** Nothing was traded above 1000, so a stop at 2000 waits. */
  beforeEach(async () => {
    offer = await maker.place(SELL);
  });
  const placed: string[] = [];
  /** What is closed says so, and stays as it is. */
  afterEach(async () => {
    for (const id of placed.splice(0)) {
      await taker.cancel(id);
      await taker.closed(id);
    }
    await maker.cancel(offer.id);
    await maker.closed(offer.id);
  });

  /** Each would trade 2, but only 1 is offered, at 1000; post-only bids below that. */
  const BUYS = {
    MARKET: { quote_amount: "2000" },
    LIMIT: { base_amount: "2", price: "1000" },
    POST_ONLY_LIMIT: { base_amount: "2", price: "999" },
    STOP_MARKET: { quote_amount: "2000", stop_price: "2000" },
    STOP_LIMIT: { base_amount: "2", price: "2100", stop_price: "2000" },
  } as const;

  const VALID: [keyof typeof BUYS, string, string, string][] = [
    ["MARKET", "IOC", "CANCELLED", "1"],
    ["MARKET", "default", "CANCELLED", "1"],
    ["LIMIT", "IOC", "CANCELLED", "1"],
    ["LIMIT", "GTC", "OPEN", "1"],
    ["LIMIT", "default", "OPEN", "1"],
    ["LIMIT", "GTT", "OPEN", "1"],
    ["LIMIT", "FOK", "CANCELLED", "0"],
    ["POST_ONLY_LIMIT", "IOC", "CANCELLED", "0"],
    ["POST_ONLY_LIMIT", "GTC", "OPEN", "0"],
    ["POST_ONLY_LIMIT", "default", "OPEN", "0"],
    ["POST_ONLY_LIMIT", "GTT", "OPEN", "0"],
    ["POST_ONLY_LIMIT", "FOK", "CANCELLED", "0"],
    ["STOP_MARKET", "GTC", "SUBMITTED", "0"],
    ["STOP_MARKET", "default", "SUBMITTED", "0"],
    ["STOP_MARKET", "GTT", "SUBMITTED", "0"],
    ["STOP_LIMIT", "GTC", "SUBMITTED", "0"],
    ["STOP_LIMIT", "default", "SUBMITTED", "0"],
    ["STOP_LIMIT", "GTT", "SUBMITTED", "0"],
  ];
  test.each(VALID)("%s %s: %s, %s filled", async (type, time, status, filled) => {
    const buy = { side: "BUY", type, ...BUYS[type] };
    const times = time === "default" ? {} : { time_in_force: time };
    const expiry = time === "GTT" ? { expiration_date: IN_AN_HOUR } : {};
    const order = await taker.place({ ...buy, ...times, ...expiry });
    placed.push(order.id);
    expect(order).toEqual({
      ...STAMPS,
      ...buy,
      ...expiry,
      profile_id: taker.profileId,
      market: "ETHUSD",
      status,
      quote_amount: "quote_amount" in buy ? buy.quote_amount : "",
      time_in_force: time === "default" ? (type === "MARKET" ? "IOC" : "GTC") : time,
      amount_filled: filled,
      volume_weighted_average_price: filled === "0" ? "0" : "1000",
      is_triggered: false,
      ...(status === "CANCELLED" && { cancel_reason: time === "FOK" ? "fill_or_kill" : "immediate_or_cancel" }),
    });
  });

  const TAKES = { MARKET: "IOC", STOP_MARKET: "GTC, GTT", STOP_LIMIT: "GTC, GTT" } as const;
  const INVALID: [keyof typeof TAKES, string][] = [
    ["MARKET", "GTC"],
    ["MARKET", "GTT"],
    ["MARKET", "FOK"],
    ["STOP_MARKET", "IOC"],
    ["STOP_MARKET", "FOK"],
    ["STOP_LIMIT", "IOC"],
    ["STOP_LIMIT", "FOK"],
  ];
  test.each(INVALID)("%s %s is rejected, and both fields are named", async (type, time) => {
    const expiry = time === "GTT" ? { expiration_date: IN_AN_HOUR } : {};
    const json = { side: "BUY", type, ...BUYS[type], time_in_force: time, ...expiry };
    const rule = `is not valid for a ${type} order, which takes ${TAKES[type]}`;
    const { status, body } = await taker.send(json);
    expect({ status, body }).toEqual({
      status: 400,
      body: {
        type: "about:blank",
        title: "Bad Request",
        status: 400,
        detail: `time_in_force "${time}" ${rule}`,
        meta: { errors: [{ field: "time_in_force", value: time, rule }] },
        request_id: expect.any(String),
      },
    });
  });
});

describe("an expiry is parsed as written", () => {
  const sell = {
    side: "SELL",

    type: "LIMIT",
    base_amount: "1",
    price: "900000",
    time_in_force: "GTT",
  };
  const cases: [string, string, string][] = [
    ["RFC 3339", "2036-11-21T09:30:00Z", "2036-11-21T09:30:00.000Z"],
    ["with an offset", "2036-11-21T11:30:00.25+02:00", "2036-11-21T09:30:00.250Z"],
    ["finer than a millisecond, which rounds up", "2036-11-21T09:30:00.000000001Z", "2036-11-21T09:30:00.001Z"],
    ["milliseconds", "2000000000001", "2033-05-18T03:33:20.001Z"],
    ["the last one", "253402300799999", "9999-12-31T23:59:59.999Z"],
    ["past the last millisecond of year 9999", "9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999Z"],
    ["the same with an offset", "9999-12-31T22:59:59.9991-01:00", "9999-12-31T23:59:59.999Z"],
  ];
  test.each(cases)("%s", async (_name, expiration_date, read) => {
    const order = await maker.place({ ...sell, expiration_date });
    expect(order).toMatchObject({ status: "OPEN", expiration_date: read });
    await maker.cancel(order.id);
  });

  test("an expiry less than ten seconds ahead makes a REJECTED order that holds nothing", async () => {
    const poor = await Desk.open(service, "ETHUSD", {});
    for (const ahead of [-1_000_000, 0, 10_000]) {
      // By the time that this arrives it is less than that ahead.
      const expiration_date = new Date(Date.now() + ahead).toISOString();
      const { status, body } = await poor.send({ ...sell, expiration_date });
      expect({ status, body }).toEqual({
        status: 200,
        body: {
          ...STAMPS,
          ...sell,
          expiration_date,
          profile_id: poor.profileId,
          market: "ETHUSD",
          status: "REJECTED",
          reject_reason: "gtt_too_soon",
          quote_amount: "",
          amount_filled: "0",
          volume_weighted_average_price: "0",
          is_triggered: false,
        },
      });
    }
    const long = "1970-01-01T00:00:00.000Z";
    const answer = await poor.send({ ...sell, expiration_date: "0" });
    expect(answer.body).toMatchObject({ status: "REJECTED", expiration_date: long });
  });
});
