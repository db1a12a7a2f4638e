/** The markets that the interface names, each traded on once. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Amount, amountOf, formatAmount } from "../../../src/money/amount.ts";
import { expectBooksBalance } from "../../support/books.ts";
import { Desk, limit, tell } from "../../support/exchange/trading.ts";
import { startTestService, type TestService } from "../../support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());

/** docs/contract/market-data.md#markets. */
const MARKETS =
  "ETHEUR ETHSGD ETHUSD BTCEUR BTCSGD BTCUSD PLATFORMGUSD BCHUSD LTCUSD USDPUSD LINKUSD MATICUSD AAVEUSD UNIUSD PEPEUSD TRUMPUSD SHIBUSD ARBUSD BONKUSD ENAUSD MNTUSD ONDOUSD PENGUUSD QNTUSD RENDERUSD SKYUSD WIFUSD WLDUSD DOGEUSD AVAXUSD SUIUSD POLUSD XLMUSD BNBUSD".split(
    " ",
  );

test("every market of the contract trades within its own bounds", async () => {
  const { body } = await service.call("GET", "/v2/markets");
  expect(body.markets.map(({ market }: { market: string }) => market)).toEqual(MARKETS.toSorted());
  for (const { market, base_asset, quote_asset, tick, min_base_amount, max_base_amount } of body.markets) {
    const balances = { [base_asset]: min_base_amount, [quote_asset]: "5000000" };
    const [seller, buyer] = [await Desk.open(service, market, balances), await Desk.open(service, market, balances)];
    const price = formatAmount((amountOf(tick) * 2n) as Amount);
    const offTick = formatAmount(((amountOf(tick) * 5n) / 2n) as Amount);
    const rejected = [
      await buyer.send(limit("BUY", min_base_amount, offTick)),
      await buyer.send(limit("BUY", formatAmount((amountOf(min_base_amount) - 1n) as Amount), price)),
      await buyer.send(limit("BUY", `${max_base_amount}.1`, price)),
    ];
    expect(rejected.map(({ status, body: problem }) => [status, problem.meta.errors?.[0].field])).toEqual([
      [400, "price"],
      [400, "base_amount"],
      [400, "base_amount"],
    ]);
    const sell = await seller.place(limit("SELL", min_base_amount, price));
    const filled = `FILLED ${min_base_amount} at `;
    expect(tell(await buyer.place(limit("BUY", min_base_amount, price)))).toContain(filled);
    expect(tell(await seller.closed(sell.id))).toContain(filled);
  }
  await expectBooksBalance(service.db.owner);
});
