/** What each rule of docs/contract/orders.md#fees and #holds-and-settlement comes to, to the last decimal. */
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { Engines } from "../../src/exchange/engine/engines.ts";
import { matchJournalId } from "../../src/exchange/execution-id.ts";
import { formatAmount, minus } from "../../src/money/amount.ts";
import { expectBooksBalance } from "../support/books.ts";
import { expectOrdersAddUp, type OrderAsked, TestExchange, type Trader } from "../support/exchange/orders.ts";

let exchange: TestExchange;
let engines: Engines;

beforeAll(async () => {
  exchange = await TestExchange.open();
  engines = exchange.startEngines();
});

afterEach(async () => {
  await expectBooksBalance(exchange.db.database);
  await expectOrdersAddUp(exchange.db.database);
});

afterAll(async () => {
  await engines.stop();
  await exchange.close();
});

const limit = (side: OrderAsked["side"], base: string, price: string, more: Partial<OrderAsked> = {}): OrderAsked => ({
  market: "ETHUSD",
  side,
  base,
  price,
  ...more,
});

/** Places an order, and waits until the engine has done with it what it does at once. */
async function place(trader: Trader, asked: OrderAsked) {
  const id = await exchange.place(trader, asked);
  await exchange.untilDone();
  return id;
}

test("a resting buy holds remaining base x limit price x (1 + taker rate), and releases the commission that a maker does not pay", async () => {
  const buyer = await exchange.trader("buyer", "1000 USD");
  const seller = await exchange.trader("seller", "1 ETH");
  const fees = await exchange.fees("USD");

  const buy = await place(buyer, limit("BUY", "0.3", "1234.56"));
  expect(await exchange.balances(buyer.profileId)).toEqual({ USD: "628.335712 + 371.664288" });

  await place(seller, limit("SELL", "0.1", "1234.56", { timeInForce: "IOC" }));
  expect(await exchange.received(buy)).toBe("OPEN 0.1 for 123.456, holds 247.776192");
  // 0.1 x 1234.56 x 1.0035 = 123.888096 is let go of; 123.456 is paid; the rebate is 0.0003 x 123.456 = 0.0370368.
  expect(await exchange.balances(buyer.profileId)).toEqual({ USD: "628.8048448 + 247.776192", ETH: "0.1 + 0" });
  expect(await exchange.balances(seller.profileId)).toEqual({ ETH: "0.9 + 0", USD: "123.023904 + 0" });
  // The taker's commission of 0.432096, less the rebate.
  expect(formatAmount(minus(await exchange.fees("USD"), fees))).toBe("0.3950592");

  await exchange.askToCancel(buy);
  await exchange.untilDone();
  expect(await exchange.received(buy)).toBe("CANCELLED 0.1 for 123.456, holds 0");
  expect(await exchange.balances(buyer.profileId)).toEqual({ USD: "876.5810368 + 0", ETH: "0.1 + 0" });
});

test("a taker buy pays its commission from its hold, and the price improvement is released", async () => {
  const buyer = await exchange.trader("buyer", "1000 USD");
  const seller = await exchange.trader("seller", "1 ETH");
  const sell = await place(seller, limit("SELL", "0.5", "1000"));
  expect(await exchange.balances(seller.profileId)).toEqual({ ETH: "0.5 + 0.5" });

  const buy = await place(buyer, limit("BUY", "0.5", "1100"));
  expect(await exchange.received(buy)).toBe("FILLED 0.5 for 500, holds 0");
  expect(await exchange.received(sell)).toBe("FILLED 0.5 for 500, holds 0");
  expect(await exchange.balances(buyer.profileId)).toEqual({ USD: "498.25 + 0", ETH: "0.5 + 0" });
  // The seller is the maker: gross and rebate.
  expect(await exchange.balances(seller.profileId)).toEqual({ ETH: "0.5 + 0", USD: "500.15 + 0" });
});

test("the smallest amounts are exact to the 18th decimal", async () => {
  const buyer = await exchange.trader("buyer", "100000 USD");
  const seller = await exchange.trader("seller", "1000000000 PEPE");
  // 10 price decimals and 4 base decimals: gross has 14, and with rates of 4 all 18 are used.
  const rates = { takerRate: "0.0037", makerRebate: "0.0003" };
  const sell = await place(seller, {
    market: "PEPEUSD",
    side: "SELL",
    base: "123456.7891",
    price: "0.0000123457",
    ...rates,
  });
  const buy = await place(buyer, {
    market: "PEPEUSD",
    side: "BUY",
    base: "123456.7891",
    price: "0.0000123457",
    ...rates,
  });
  expect(await exchange.received(buy)).toBe("FILLED 123456.7891 for 1.52416048119187, holds 0");
  const bought = await exchange.execution(buy);
  const sold = await exchange.execution(sell);
  expect(formatAmount(bought.commission)).toBe("0.005639393780409919");
  expect(formatAmount(sold.rebate)).toBe("0.000457248144357561");
  expect((await exchange.balances(seller.profileId)).USD).toBe("1.524617729336227561 + 0");
});

test("a match makes an execution for each party; ids link both and the journal", async () => {
  const buyer = await exchange.trader("buyer", "1000 USD");
  const seller = await exchange.trader("seller", "1 ETH");
  const sell = await place(
    seller,
    limit("SELL", "0.25", "1000", { annotations: { identityId: "identity 7", identityAccountId: "account 7" } }),
  );
  const buy = await place(buyer, limit("BUY", "0.25", "1000"));
  const sold = await exchange.execution(sell);
  const bought = await exchange.execution(buy);
  expect(sold.id % 2n).toBe(0n);
  expect(bought.id).toBe(sold.id + 1n);
  expect(sold).toMatchObject({
    side: "SELL",
    annotations: { accountId: "account 7" },
    market: "ETHUSD",
    profileId: seller.profileId,
  });
  expect([sold, bought].map((one) => [formatAmount(one.commission), formatAmount(one.rebate)])).toEqual([
    ["0", "0.075"],
    ["0.875", "0"],
  ]);
  const journals = await exchange.db.database.rows<{ journal_id: string }>(
    "select distinct journal_id from posting where owner_id = $1 and asset = 'ETH' and cause = 'order_filled'",
    [buyer.profileId],
  );
  expect(journals).toEqual([{ journal_id: matchJournalId(sold.id) }]);
});

test("a market buy spends its quote amount plus commission, and the rest is released when it closes", async () => {
  const buyer = await exchange.trader("buyer", "1000 USD");
  const seller = await exchange.trader("seller", "1 ETH");
  await place(seller, limit("SELL", "0.1", "1000"));
  await place(seller, limit("SELL", "0.1", "1500"));

  // 100 of 200 at the first level, then floor(100 / 1500) lots of 10^-8: 0.06666666 for 99.99999.
  const buy = await place(buyer, { market: "ETHUSD", side: "BUY", type: "MARKET", timeInForce: "IOC", quote: "200" });
  expect(await exchange.received(buy)).toBe("FILLED 0.16666666 for 199.99999, holds 0");
  expect(await exchange.balances(buyer.profileId)).toEqual({ USD: "799.300010035 + 0", ETH: "0.16666666 + 0" });

  // One that takes all there is, and is cancelled with what is left.
  const rest = await place(buyer, { market: "ETHUSD", side: "BUY", type: "MARKET", timeInForce: "IOC", quote: "500" });
  expect(await exchange.received(rest)).toBe("CANCELLED 0.03333334 for 50.00001, holds 0");
  expect(await exchange.balances(buyer.profileId)).toEqual({ USD: "749.125 + 0", ETH: "0.2 + 0" });
  const none = await place(buyer, { market: "ETHUSD", side: "BUY", type: "MARKET", timeInForce: "IOC", quote: "500" });
  expect(await exchange.received(none)).toBe("REJECTED no_liquidity 0 for 0, holds 0");
});

test("a sell pays its recipient, a buy delivers to its recipient, and holds and rebates go back to who placed them", async () => {
  const buyer = await exchange.trader("buyer", "1000 USD");
  const seller = await exchange.trader("seller", "1 ETH");
  const vault = await exchange.profile(buyer.customerId, "NORMAL");
  const till = await exchange.profile(seller.customerId, "NORMAL");

  const buy = await place(buyer, limit("BUY", "0.2", "1000", { recipientProfileId: vault }));
  await exchange.expectAwaited(vault, 1);
  const sell = await place(seller, limit("SELL", "0.1", "1000", { recipientProfileId: till, timeInForce: "IOC" }));
  await exchange.expectAwaited(vault, 1);
  await exchange.expectAwaited(till, 0);
  expect(await exchange.received(sell)).toBe("FILLED 0.1 for 100, holds 0");
  expect(await exchange.balances(vault)).toEqual({ ETH: "0.1 + 0" });
  expect(await exchange.balances(till)).toEqual({ USD: "99.65 + 0" });
  expect(await exchange.balances(seller.profileId)).toEqual({ ETH: "0.9 + 0" });
  expect(await exchange.balances(buyer.profileId)).toEqual({ USD: "799.68 + 100.35" });

  await exchange.askToCancel(buy);
  await exchange.untilDone();
  await exchange.expectAwaited(vault, 0);
  expect(await exchange.balances(buyer.profileId)).toEqual({ USD: "900.03 + 0" });
});

test("a resting sell's rebate goes to its recipient with the proceeds", async () => {
  const buyer = await exchange.trader("buyer", "1000 USD");
  const seller = await exchange.trader("seller", "1 ETH");
  const till = await exchange.profile(seller.customerId, "NORMAL");
  await place(seller, limit("SELL", "0.1", "1000", { recipientProfileId: till }));
  await place(buyer, limit("BUY", "0.1", "1000"));
  expect(await exchange.balances(till)).toEqual({ USD: "100.03 + 0" });
});

test("a rebate never exceeds the commission of the same match", async () => {
  const buyer = await exchange.trader("buyer", "1000 USD");
  const seller = await exchange.trader("seller", "1 ETH");
  const sell = await place(seller, limit("SELL", "0.1", "1000", { makerRebate: "0.002" }));
  const fees = await exchange.fees("USD");
  await place(buyer, limit("BUY", "0.1", "1000", { takerRate: "0.001" }));
  expect(formatAmount((await exchange.execution(sell)).rebate)).toBe("0.1");
  expect(await exchange.fees("USD")).toBe(fees);
});

test("the unfilled part of an IOC is cancelled and released, and a FOK that cannot be filled moves nothing", async () => {
  const buyer = await exchange.trader("buyer", "1000 USD");
  const seller = await exchange.trader("seller", "1 ETH");
  const sell = await place(seller, limit("SELL", "0.1", "1000"));
  const fok = await place(buyer, limit("BUY", "0.2", "1000", { timeInForce: "FOK" }));
  expect(await exchange.received(fok)).toBe("CANCELLED 0 for 0, holds 0");
  expect(await exchange.received(sell)).toBe("OPEN 0 for 0, holds 0.1");
  const ioc = await place(buyer, limit("BUY", "0.2", "1000", { timeInForce: "IOC" }));
  expect(await exchange.received(ioc)).toBe("CANCELLED 0.1 for 100, holds 0");
  expect(await exchange.balances(buyer.profileId)).toEqual({ USD: "899.65 + 0", ETH: "0.1 + 0" });
});

test("a customer's own resting order that would match is cancelled, and its hold released", async () => {
  const trader = await exchange.trader("trader", "1000 USD, 1 ETH");
  const other = await exchange.trader("other", "1 ETH");
  const own = await place(trader, limit("SELL", "0.1", "1000"));
  const theirs = await place(other, limit("SELL", "0.1", "1000"));
  const buy = await place(trader, limit("BUY", "0.1", "1000"));
  expect(await exchange.received(own)).toBe("CANCELLED 0 for 0, holds 0");
  expect(await exchange.received(theirs)).toBe("FILLED 0.1 for 100, holds 0");
  expect(await exchange.received(buy)).toBe("FILLED 0.1 for 100, holds 0");
  expect(await exchange.balances(trader.profileId)).toEqual({ USD: "899.65 + 0", ETH: "1.1 + 0" });
});
