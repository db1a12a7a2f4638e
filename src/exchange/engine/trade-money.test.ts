/** Rebates are paid from commissions: whatever the operator sets and customers trade, the house never adds to them. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { BTCUSD } from "../../../test/support/exchange/btcusd.ts";
import { checkTiers, type FeeRates, type FeeTier, tierFor } from "../../catalogue/fee-tiers.ts";
import type { ProfileId } from "../../ledger/accounts.ts";
import { type Amount, amountOf, formatAmount, multiplyExact, plus, ZERO } from "../../money/amount.ts";
import type { Order, OrderSide } from "../order.ts";
import { heldAsset, receivedAsset, shareOfHold, type Trade, tradeEntries, tradeOf } from "./trade-money.ts";

/** In units of 10^-4, including invalid rates. */
const rate = fc
  .oneof(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: 1_100 }))
  .map((units) => (BigInt(units) * 10n ** 14n) as Amount);
const tiers: fc.Arbitrary<FeeTier[]> = fc
  .uniqueArray(
    fc.record({ minimumGross: fc.bigInt({ min: 1n, max: 10n ** 24n }), takerRate: rate, makerRebate: rate }),
    {
      maxLength: 4,
      selector: (tier) => tier.minimumGross,
    },
  )
  .chain((higher) =>
    fc.record({ takerRate: rate, makerRebate: rate }).map((base) => [{ ...base, minimumGross: 0n }, ...higher]),
  )
  .map((all) => (all as FeeTier[]).toSorted((a, b) => (a.minimumGross < b.minimumGross ? -1 : 1)));
const admissible = tiers.filter((some) => checkTiers(some).kind === "done");

interface Step {
  /** The operator sets tiers before it. */
  readonly tiers: FeeTier[] | undefined;
  readonly maker: number;
  readonly taker: number;
  readonly side: OrderSide;
  readonly lots: bigint;
  readonly price: bigint;
  /** The maker's order was placed before the operator's last change. */
  readonly isOld: boolean;
}

const step: fc.Arbitrary<Step> = fc.record({
  tiers: fc.option(admissible, { nil: undefined, freq: 3 }),
  maker: fc.integer({ min: 0, max: 2 }),
  taker: fc.integer({ min: 3, max: 5 }),
  side: fc.constantFrom<OrderSide>("BUY", "SELL"),
  lots: fc.bigInt({ min: 1n, max: 10n ** 12n }),
  price: fc.bigInt({ min: 1n, max: 10n ** 12n }),
  isOld: fc.boolean(),
});

function orderOf(customer: number, side: OrderSide, rates: FeeRates, limit: Amount): Order {
  return { profileId: `${customer}` as unknown as ProfileId, side, price: limit, ...rates } as Order;
}

function feesOf(taker: Order, maker: Order, trade: Trade): Amount {
  return tradeEntries(BTCUSD, taker, maker, trade)
    .filter(({ owner }) => owner === "fees")
    .reduce((sum, { amount }) => plus(sum, amount), ZERO);
}

test("for any tiers, changes of tiers and trades, the fee account never goes below zero", () => {
  fc.assert(
    fc.property(admissible, fc.array(step, { maxLength: 30 }), (first, steps) => {
      let now = first;
      let before = first;
      let fees = ZERO;
      const traded = new Map<number, Amount>();
      for (const { tiers: next, maker, taker, side, lots, price, isOld } of steps) {
        if (next !== undefined) [before, now] = [now, next];
        const ratesOf = (customer: number, at: readonly FeeTier[]): FeeRates =>
          tierFor(at, traded.get(customer) ?? ZERO);
        const [amount, limit] = [lots * 10n ** 10n, price * 10n ** 12n] as [Amount, Amount];
        const gross = multiplyExact(amount, limit);
        const resting = orderOf(maker, side === "BUY" ? "SELL" : "BUY", ratesOf(maker, isOld ? before : now), limit);
        const coming = orderOf(taker, side, ratesOf(taker, now), limit);
        const trade = tradeOf(coming, resting, amount, gross);
        // With unchanged tiers rebates are paid in full.
        if (!isOld) expect(trade.rebate).toBe(multiplyExact(gross, resting.makerRebate));
        fees = plus(fees, feesOf(coming, resting, trade));
        expect(fees >= ZERO).toBe(true);
        for (const customer of [maker, taker]) traded.set(customer, plus(traded.get(customer) ?? ZERO, gross));
      }
    }),
    { numRuns: 300 },
  );
});

test("rejected tiers could pay more than they take", () => {
  fc.assert(
    fc.property(tiers, (some) => {
      const gross = amountOf("100");
      const rebates = some.map((tier) => multiplyExact(gross, tier.makerRebate));
      const commissions = some.map((tier) => multiplyExact(gross, tier.takerRate));
      const couldLose = rebates.some((rebate) => commissions.some((commission) => rebate > commission));
      const isRate = some.every(
        ({ takerRate, makerRebate }) => takerRate <= amountOf("0.1") && makerRebate <= amountOf("0.1"),
      );
      expect(checkTiers(some).kind === "done").toBe(isRate && !couldLose);
    }),
  );
});

const RATES: FeeRates = { takerRate: amountOf("0.0035"), makerRebate: amountOf("0.0003") };

/** "owner part +-amount asset" of each entry that moves something. */
function moved(taker: Order, maker: Order): string[] {
  const trade = tradeOf(taker, maker, amountOf("2"), amountOf("200"));
  return tradeEntries(BTCUSD, taker, maker, trade)
    .filter(({ amount }) => amount !== ZERO)
    .map(({ owner, asset, part, amount }) => `${owner} ${part} ${formatAmount(amount)} ${asset}`);
}

/** Two for 100 each: gross 200, commission 0.7, rebate 0.06. The buyer's limit is 110. */
const side = (owner: string, of: OrderSide, more: Partial<Order> = {}): Order =>
  ({ profileId: owner, side: of, price: amountOf(of === "BUY" ? "110" : "90"), ...RATES, ...more }) as unknown as Order;

test("a buying taker pays the commission, and gets the price improvement back at once", () => {
  expect(moved(side("taker", "BUY"), side("maker", "SELL"))).toEqual([
    "maker trading -2 BTC",
    "taker available 2 BTC",
    "taker trading -220.77 USD",
    "taker available 20.07 USD",
    "maker available 200.06 USD",
    "fees available 0.7 USD",
    "fees available -0.06 USD",
  ]);
});

test("a buying maker pays no commission, and gets the rebate and its savings", () => {
  expect(moved(side("taker", "SELL"), side("maker", "BUY"))).toEqual([
    "taker trading -2 BTC",
    "maker available 2 BTC",
    "maker trading -220.77 USD",
    "maker available 20.77 USD",
    "maker available 0.06 USD",
    "taker available 199.3 USD",
    "fees available 0.7 USD",
    "fees available -0.06 USD",
  ]);
});

test("a market buy pays its cost from its hold, and recipients receive the proceeds", () => {
  const taker = side("taker", "BUY", { price: undefined, recipientProfileId: "vault" as unknown as ProfileId });
  const maker = side("maker", "SELL", { recipientProfileId: "safe" as unknown as ProfileId });
  expect(moved(taker, maker)).toEqual([
    "maker trading -2 BTC",
    "vault available 2 BTC",
    "taker trading -200.7 USD",
    "safe available 200.06 USD",
    "fees available 0.7 USD",
    "fees available -0.06 USD",
  ]);
});

test("an order holds the asset that it gives, and receives the other", () => {
  const [buy, sell] = [side("a", "BUY"), side("a", "SELL")];
  expect([heldAsset(BTCUSD, buy), heldAsset(BTCUSD, sell)]).toEqual(["USD", "BTC"]);
  expect([receivedAsset(BTCUSD, buy), receivedAsset(BTCUSD, sell)]).toEqual(["BTC", "USD"]);
  const trade = { ...tradeOf(sell, buy, amountOf("2"), amountOf("200")) };
  expect(shareOfHold(side("a", "BUY", { price: undefined }), "maker", trade)).toBe(amountOf("200"));
  for (const role of ["maker", "taker"] as const) {
    expect(shareOfHold(sell, role, trade)).toBe(amountOf("2"));
    expect(shareOfHold(side("a", "SELL", { price: undefined }), role, trade)).toBe(amountOf("2"));
    // Two at its limit of 110, and the commission for as much.
    expect(shareOfHold(buy, role, trade)).toBe(amountOf("220.77"));
  }
  expect(shareOfHold(side("a", "BUY", { price: undefined }), "taker", trade)).toBe(amountOf("200.7"));
});
