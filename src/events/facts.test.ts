import { expect, test } from "vitest";
import type { CustomerId } from "../customers/customer-id.ts";
import type { RowChange } from "../ledger/change-history.ts";
import type { Instant } from "../std/clock.ts";
import type { Uuid } from "../std/id.ts";
import { factsOf } from "./facts.ts";
import type { EventBatch } from "./publishing/event-batch.ts";

const acme = "acme" as CustomerId;

const change = (key: Record<string, string>, values: Record<string, string>): RowChange =>
  ({ key, version: 2n, values, digest: "", callers: [] }) as unknown as RowChange;

const changes = (...of: RowChange[]) => new Map(of.map((one, place) => [String(place), one]));

test("within a batch come transfers, executions, what moved, and what became of whose money it was, each by its id", () => {
  const own = (id: string) => ({ profile_id: "desk", id });
  const batch: EventBatch = {
    ...{ slot: 1, n: 1n, at: 1 as Instant, steppedTypes: new Map([["9", "WIRE_DEPOSIT"]]) },
    written: new Map([
      [
        "profile",
        changes(change({ id: "shop" }, { status: "INACTIVE" }), change({ id: "desk" }, { status: "INACTIVE" })),
      ],
      ["orders", changes(change(own("6"), { status: "OPEN" }), change(own("5"), { status: "OPEN" }))],
      ["conversion", changes(change(own("4"), { status: "SETTLED" }), change(own("3"), { status: "SETTLED" }))],
      ["external_transfer", changes(change({ customer_id: acme, id: "9" }, { status: "completed" }))],
    ]),
    transfers: ["2", "1"].map((id) => ({ id: id as Uuid, type: "WIRE_DEPOSIT", from: undefined, to: acme })),
    executions: [20n, 7n].map((id) => ({ id, customerId: acme })),
  };
  const customers = new Map(["desk", "shop"].map((id) => [id, acme])) as never;
  const facts = [...factsOf([batch], { customers, states: new Map(), marketReaders: new Map() })].flat();
  expect(facts.map(({ type, objectId }) => `${type} ${objectId}`)).toEqual([
    ...["transfer.wire_deposit.completed 1", "transfer.wire_deposit.completed 2"],
    ...["execution.created 7", "execution.created 20"],
    "transfer.wire_deposit.completed 9",
    ...["conversion.settled 3", "conversion.settled 4"],
    ...["order.open 5", "order.open 6"],
    ...["profile.deactivated desk", "profile.deactivated shop"],
  ]);
});
