import { expect, test } from "vitest";
import { BTCUSD } from "../../../test/support/exchange/btcusd.ts";
import { accountRow, profileOf, profileRow, type Row, stateOf } from "../../../test/support/states.ts";
import type { CustomerId } from "../../customers/customer-id.ts";
import type { Command, Rejection } from "../../ledger/decision.ts";
import { AdmissionControl } from "../../ledger/writer/command-admission.ts";
import { amountOf, ZERO } from "../../money/amount.ts";
import type { Instant } from "../../std/clock.ts";
import { IdSource } from "../../std/id.ts";
import type { Filled } from "../book/command-effect.ts";
import type { BookOrderId } from "../book/order.ts";
import { customerVolumeTable } from "../customer-volume.ts";
import { lowestId, NO_EXECUTION } from "../execution-id.ts";
import { marketHeadTable, marketTable } from "../market-state.ts";
import { type Order, type OrderId, orderKey, orderTable } from "../order.ts";
import { commitRound, type Round, takeOver } from "./takeover-and-round.ts";

const NOW = Date.parse("2026-11-21T09:30:00.000Z") as Instant;
const profile = profileOf("acme" as CustomerId);
const HEAD = { market: BTCUSD.code, fence: 4n, version: 9n, lastExecutionId: NO_EXECUTION, lastSequence: 7n };
const BID = {
  ...{
    id: new IdSource().next() as OrderId,
    profileId: profile.id,
    customerId: profile.customerId,
    market: BTCUSD.code,
  },
  ...{ side: "BUY", type: "LIMIT", price: amountOf("20000"), baseAmount: amountOf("1"), status: "OPEN" },
  ...{ held: amountOf("20070"), filled: ZERO, filledGross: ZERO, version: 3n },
} as unknown as Order;

/** A round that cancels the bid. */
const ROUND: Round = {
  head: HEAD,
  status: "OPEN",
  taken: new Map(),
  effects: [{ kind: "closed", order: BID.id as string as BookOrderId, status: "CANCELLED", reason: "requested" }],
  orders: new Map([[BID.id as string as BookOrderId, BID]]),
  requestedBy: new Map(),
};

interface Stored {
  readonly head?: object;
  readonly status?: string;
  readonly order?: object;
  readonly trading?: string;
}

const headRow = (more: object = {}): Row => [marketHeadTable, BTCUSD.code, { ...HEAD, ...more }];

function decided({ head = {}, status = "OPEN", order = {}, trading = "20070" }: Stored) {
  const market = { code: BTCUSD.code, status, version: 1n };
  const rows: Row[] = [
    headRow(head),
    [marketTable, BTCUSD.code, market],
    [orderTable, orderKey(profile.id, BID.id).key, { ...BID, ...order }],
    accountRow(profile, "USD", { trading }),
    profileRow(profile),
  ];
  return commitRound(BTCUSD, ROUND, NOW).decide(stateOf(...rows), NOW);
}

test("a round is committed if the stored rows are those that the book was built from", () => {
  const decision = decided({});
  expect(decision).toMatchObject({
    kind: "done",
    value: { head: { version: 10n }, orders: [{ status: "CANCELLED" }] },
  });
  expect(decided({ trading: "20070.01" }).kind).toBe("done");
});

test("a round is not committed with an order that expired more than two seconds ago, unless it only ends", () => {
  const id = BID.id as string as BookOrderId;
  const decidedAt = (sinceExpiry: number, effects: Round["effects"]) => {
    const order = { ...BID, status: "SUBMITTED", expirationDate: NOW - sinceExpiry };
    const market = { code: BTCUSD.code, status: "OPEN", version: 1n };
    const rows: Row[] = [
      headRow(),
      [marketTable, BTCUSD.code, market],
      [orderTable, orderKey(profile.id, BID.id).key, order],
      accountRow(profile, "USD", { trading: "20070" }),
      profileRow(profile),
    ];
    return commitRound(BTCUSD, { ...ROUND, effects }, NOW).decide(stateOf(...rows), NOW);
  };
  const triggered: Round["effects"] = [{ kind: "triggered", order: id }];
  expect(decidedAt(1_999, triggered).kind).toBe("done");
  expect(decidedAt(2_000, triggered)).toMatchObject({ kind: "rejected", rejection: { code: "stale", what: "expiry" } });
  expect(decidedAt(9_000, ROUND.effects).kind).toBe("done");
});

test("a round weighs more than the rows that it depends on", () => {
  const { weight, dependsOn } = commitRound(BTCUSD, ROUND, NOW);
  expect(weight).toBe(dependsOn.length + 3);
});

test("markets are opened and matched while the ledger admits nothing from customers", async () => {
  const admission = new AdmissionControl(0, 0);
  const admit = (command: Command<unknown, Rejection>) => admission.admit(command, NOW);
  for (const command of [takeOver(BTCUSD.code, 4n), commitRound(BTCUSD, ROUND, NOW)]) {
    await expect(admit({ ...command, queueKey: profile.customerId }).outcome).rejects.toThrow("too much is waiting");
    expect(admit(command).pending.isComplete).toBe(false);
  }
});

test.each<[string, string, Stored]>([
  ["head", "another engine has committed a round", { head: { version: 10n } }],
  ["head", "another engine has taken the market over", { head: { fence: 5n } }],
  ["market", "the operator has halted the market", { status: "HALTED" }],
  ["order", "the order was changed", { order: { version: 4n } }],
  ["hold", "less is held than the order holds", { trading: "20069.99" }],
])("the stored %s is stale: %s", (what, _why, stored) => {
  expect(decided(stored)).toEqual({ kind: "rejected", rejection: { code: "stale", what } });
});

test("a cancelled order is changed at the request of who asked for it", () => {
  const caller = { house: "maker" } as const;
  const round = { ...ROUND, requestedBy: new Map([[BID.id, caller]]) };
  const market = { code: BTCUSD.code, status: "OPEN", version: 1n };
  const state = stateOf(
    headRow(),
    [marketTable, BTCUSD.code, market as never],
    [orderTable, orderKey(profile.id, BID.id).key, BID],
    accountRow(profile, "USD", { trading: "20070" }),
  );
  const decision = commitRound(BTCUSD, round, NOW).decide(state, NOW);
  const states = decision.kind === "done" ? (decision.changes.states ?? []) : [];
  expect(states.map(({ table, requestedBy }) => [table.name, requestedBy])).toEqual([
    ["market_head", undefined],
    ["orders", caller],
  ]);
});

test("what two orders of a profile hold has to be held together", () => {
  const second = { ...BID, id: new IdSource().next() as OrderId };
  const bookId = ({ id }: Order) => id as string as BookOrderId;
  const both = [BID, second];
  const round: Round = {
    ...ROUND,
    effects: both.map((order) => ({ kind: "closed", order: bookId(order), status: "CANCELLED", reason: "requested" })),
    orders: new Map(both.map((order) => [bookId(order), order])),
  };
  const market = { code: BTCUSD.code, status: "OPEN", version: 1n };
  const decidedWith = (trading: string) => {
    const rows: Row[] = [
      headRow(),
      [marketTable, BTCUSD.code, market],
      ...both.map((order): Row => [orderTable, orderKey(profile.id, order.id).key, order]),
      accountRow(profile, "USD", { trading }),
      profileRow(profile),
    ];
    return commitRound(BTCUSD, round, NOW).decide(stateOf(...rows), NOW);
  };
  expect(decidedWith("40140").kind).toBe("done");
  expect(decidedWith("40139.99")).toEqual({ kind: "rejected", rejection: { code: "stale", what: "hold" } });
});

test("matches of a day whose volumes the round does not name are stale, and others are counted for both parties", () => {
  const terms = { takerRate: amountOf("0.0035"), makerRebate: amountOf("0.0003"), annotations: {} };
  const seller = { ...profileOf("globex" as CustomerId) };
  const ask = {
    ...{ ...BID, ...terms, id: new IdSource().next() as OrderId, profileId: seller.id, customerId: seller.customerId },
    ...{ side: "SELL", held: amountOf("1") },
  } as Order;
  const bid = { ...BID, ...terms };
  const [maker, taker] = [bid, ask].map(({ id }) => id as string as BookOrderId) as [BookOrderId, BookOrderId];
  // Half a bitcoin at 20,000 dollars, in the book's units.
  const filled = { kind: "filled", maker, taker, price: 2e10, lots: 5e7, cost: 10n ** 18n } as Filled;
  const orders = new Map([bid, ask].map((order) => [order.id as string as BookOrderId, order]));
  const market = { code: BTCUSD.code, status: "OPEN", version: 1n };
  const rows: Row[] = [
    headRow(),
    [marketTable, BTCUSD.code, market],
    ...[bid, ask].map((order): Row => [orderTable, orderKey(order.profileId, order.id).key, order]),
    accountRow(profile, "USD", { trading: "20070" }),
    accountRow(seller, "BTC", { trading: "1" }),
  ];
  const decidedAt = (now: number) =>
    commitRound(BTCUSD, { ...ROUND, effects: [filled], orders }, NOW).decide(stateOf(...rows), now as Instant);
  const decision = decidedAt(NOW);
  const volumes =
    decision.kind === "done"
      ? (decision.changes.states ?? []).filter(({ table }) => table === customerVolumeTable).map(({ row }) => row)
      : [];
  const day = { day: "2026-11-21", market: BTCUSD.code, gross: amountOf("10000"), version: 0n };
  expect(volumes).toEqual([bid, ask].map(({ customerId }) => ({ ...day, customerId })));
  const stale = { kind: "rejected", rejection: { code: "stale", what: "day" } };
  expect(decidedAt(NOW + 24 * 60 * 60_000)).toEqual(stale);
});

test("a market is taken over with a fencing token that is not below the last one", () => {
  const takenBy = (fence: bigint) => takeOver(BTCUSD.code, fence).decide(stateOf(headRow()), NOW);
  expect(takenBy(3n)).toEqual({ kind: "rejected", rejection: { code: "fenced" } });
  for (const fence of [4n, 5n]) expect(takenBy(fence)).toMatchObject({ kind: "done", value: { fence, version: 10n } });
});

test("volume is counted on each day that the matches of a round may have, also in a market that is ahead of the clock", () => {
  const [maker, taker] = ["maker", "taker"] as unknown as readonly [BookOrderId, BookOrderId];
  const filled = { kind: "filled", maker, taker } as Filled;
  const daysOf = (last: string, about: string): string[] => {
    const head = { ...HEAD, lastExecutionId: lowestId(Date.parse(last) as Instant) };
    const orders = new Map([maker, taker].map((id) => [id, BID]));
    const { dependsOn } = commitRound(
      BTCUSD,
      { ...ROUND, head, effects: [filled], orders },
      Date.parse(about) as Instant,
    );
    return dependsOn.flatMap(({ table, key }) => (table === customerVolumeTable ? (key.split("/")[1] ?? []) : []));
  };
  expect(daysOf("2026-11-20T09:30:00Z", "2026-11-21T09:30:00Z")).toEqual(["2026-11-21"]);
  expect(daysOf("2026-11-20T09:30:00Z", "2026-11-21T23:59:30Z")).toEqual(["2026-11-21", "2026-11-22"]);
  expect(daysOf("2026-11-20T09:30:00Z", "2026-11-22T00:00:30Z")).toEqual(["2026-11-21", "2026-11-22"]);
  expect(daysOf("2026-11-22T00:00:00Z", "2026-11-22T00:00:30Z")).toEqual(["2026-11-22"]);
  // A millisecond that is full ends early.
  expect(daysOf("2026-11-21T23:59:59.999Z", "2026-11-21T09:30:00Z")).toEqual(["2026-11-21", "2026-11-22"]);
});
