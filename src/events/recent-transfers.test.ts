import { expect, test } from "vitest";
import { ALL_MARKETS } from "../../test/support/events.ts";
import type { CustomerId } from "../customers/customer-id.ts";
import { textRow } from "../ledger/tables.ts";
import { addedRows } from "../ledger/writer/batch.ts";
import { amountOf } from "../money/amount.ts";
import type { Instant } from "../std/clock.ts";
import type { Uuid } from "../std/id.ts";
import { type Transfer, transferTable } from "../transfers/transfer.ts";
import { createEvents } from "./events.ts";
import { RecentTransfers } from "./recent-transfers.ts";

const [acme, shop, other] = ["acme", "shop", "other"] as CustomerId[];

/** From acme to the shop. */
const transfer = (id: string): Transfer => ({
  id: id as Uuid,
  customerId: acme as CustomerId,
  type: "PLATFORM_TRANSFER",
  hasSteps: undefined,
  fromProfileId: "p" as Transfer["fromProfileId"],
  fromAnnotations: { accountId: "a", identityId: undefined, metadata: { purpose: "rent", at: "home" } },
  toProfileId: "q" as Transfer["toProfileId"],
  toCustomerId: shop,
  toAnnotations: { accountId: undefined, identityId: undefined, metadata: undefined },
  asset: "USD" as Transfer["asset"],
  amount: amountOf("12.5"),
  refId: "r",
  cryptoNetwork: undefined,
  destinationAddress: undefined,
  cryptoTxHash: undefined,
  cryptoTxIndex: undefined,
  notionalValue: undefined,
  memo: "m",
  createdAt: 1_763_717_400_123 as Instant,
});

const added = (...rows: Transfer[]) => ({
  records: [
    addedRows(
      transferTable,
      rows.map((row) => ({ row, caller: 0 })),
    ),
  ],
});

test("a transfer of a followed customer, on either side, is what was written", () => {
  for (const customerId of [acme, shop] as CustomerId[]) {
    const recent = new RecentTransfers();
    recent.follow(customerId);
    recent.add(added(transfer("1"), transfer("2")));
    expect([recent.find("1" as Uuid), recent.find("3" as Uuid)]).toEqual([transfer("1"), undefined]);
  }
});

test("nothing is kept of customers whom nobody follows, nor once the last has stopped", () => {
  const recent = new RecentTransfers();
  recent.add(added(transfer("1")));
  const ends = [recent.follow(acme as CustomerId), recent.follow(acme as CustomerId)];
  recent.follow(other as CustomerId)();
  recent.add(added(transfer("2")));
  ends.pop()?.();
  expect([recent.find("1" as Uuid), recent.find("2" as Uuid)?.id]).toEqual([undefined, "2"]);
  ends.pop()?.();
  expect(recent.find("2" as Uuid)).toBeUndefined();
  recent.follow(other as CustomerId);
  recent.add(added(transfer("3")));
  expect(recent.find("3" as Uuid)).toBeUndefined();
});

test("the oldest are dropped beyond a number of characters", () => {
  const characters = textRow(transferTable.columns, transfer("1")).join("").length + 1;
  const recent = new RecentTransfers(2 * characters);
  recent.follow(acme as CustomerId);
  recent.add(added(transfer("1"), transfer("2")));
  recent.add(added(transfer("3")));
  expect(["1", "2", "3"].map((id) => recent.find(id as Uuid)?.id)).toEqual([undefined, "2", "3"]);
});

test("the transfers of a customer are kept while somebody waits for its news", () => {
  const recent = new RecentTransfers();
  const database = { rows: async () => [], history: "" };
  const events = createEvents({ database, catalogue: ALL_MARKETS, transfers: {} as never, recentTransfers: recent });
  const stop = events.onNews(acme as CustomerId, () => undefined);
  recent.add(added(transfer("1")));
  expect(recent.find("1" as Uuid)).toEqual(transfer("1"));
  stop();
  recent.add(added(transfer("2")));
  expect([recent.find("1" as Uuid), recent.find("2" as Uuid)]).toEqual([undefined, undefined]);
});
