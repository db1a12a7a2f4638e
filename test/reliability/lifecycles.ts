/** What must hold between two responses about one transfer, conversion or order, whatever happened in between. */
import { deepStrictEqual } from "node:assert/strict";
import { type Amount, amountOf } from "../../src/money/amount.ts";
import { assert } from "../../src/std/assert.ts";

export type Kind = "transfer" | "conversion" | "order";

/** A record as the API shows it. */
export interface Shown extends Readonly<Record<string, unknown>> {
  readonly id: string;
  readonly profile_id: string;
  readonly ref_id?: string;
  readonly status: string;
}

export interface Lifecycle {
  readonly kind: Kind;
  /** A closed record no longer changes. */
  isClosed(record: Shown): boolean;
  /** The service still has to process it. */
  isPending(record: Shown): boolean;
  expectFollows(before: Shown, now: Shown): void;
}

/** What a status can become (docs/contract/conversions.md#conversion-states, orders.md#states). Others are closed. */
type Follows = Readonly<Record<string, readonly string[]>>;

const CONVERSION_FOLLOWS: Follows = { CREATED: ["CREATED", "SETTLED", "CANCELLED"] };

const ORDER_FOLLOWS: Follows = {
  PENDING_SUBMISSION: ["PENDING_SUBMISSION", "SUBMITTED", "OPEN", "FILLED", "CANCELLED", "REJECTED"],
  SUBMITTED: ["SUBMITTED", "OPEN", "FILLED", "CANCELLED", "REJECTED"],
  OPEN: ["OPEN", "FILLED", "CANCELLED"],
};

export const LIFECYCLES: Readonly<Record<Kind, Lifecycle>> = {
  transfer: lifecycle("transfer", {}, "", []),
  conversion: lifecycle("conversion", CONVERSION_FOLLOWS, "CREATED", [
    "status",
    "updated_at",
    "settled_at",
    "cancelled_at",
  ]),
  order: lifecycle(
    "order",
    ORDER_FOLLOWS,
    "PENDING_SUBMISSION",
    [
      ...["status", "amount_filled", "volume_weighted_average_price", "modified_at", "is_triggered"],
      ...["reject_reason", "cancel_reason"],
    ],
    expectOrderFollows,
  ),
};

function lifecycle(
  kind: Kind,
  follows: Follows,
  waiting: string,
  changing: readonly string[],
  expectMore: (before: Shown, now: Shown, what: string) => void = () => undefined,
): Lifecycle {
  const isClosed = ({ status }: Shown): boolean => follows[status] === undefined;
  return {
    kind,
    isClosed,
    isPending: ({ status }) => status === waiting,
    expectFollows: (before, now) => {
      if (isClosed(before)) {
        deepStrictEqual(now, before, `a closed ${kind} no longer changes`);
        return;
      }
      const what = `${JSON.stringify(before)} became ${JSON.stringify(now)}`;
      for (const field of new Set([...Object.keys(before), ...Object.keys(now)])) {
        if (!changing.includes(field)) deepStrictEqual(now[field], before[field], `${field}: ${what}`);
      }
      assert(follows[before.status]?.includes(now.status) ?? false, `a status follows: ${what}`);
      expectMore(before, now, what);
    },
  };
}

function expectOrderFollows(before: Shown, now: Shown, what: string): void {
  const [was, is]: [Amount, Amount] = [amountOf(String(before.amount_filled)), amountOf(String(now.amount_filled))];
  assert(is >= was, `what was filled stays filled: ${what}`);
  assert(now.is_triggered === true || before.is_triggered === false, `a stop stays triggered: ${what}`);
  assert(String(now.modified_at) >= String(before.modified_at), `time does not step back: ${what}`);
  assert(now.status !== "REJECTED" || is === 0n, `what is rejected has filled nothing: ${what}`);
  assert(now.status !== "FILLED" || is > 0n, `what is filled has traded: ${what}`);
}

/** The executions of each order add up to what it has filled. */
export function expectExecuted(
  orders: readonly Shown[],
  executions: readonly { readonly order_id: string; readonly amount: string }[],
): void {
  const executed = new Map<string, bigint>();
  for (const { order_id: id, amount } of executions) executed.set(id, (executed.get(id) ?? 0n) + amountOf(amount));
  for (const { id, amount_filled: filled } of orders) {
    assert((executed.get(id) ?? 0n) === amountOf(String(filled)), `the executions of order ${id} add up to ${filled}`);
    executed.delete(id);
  }
  assert(executed.size === 0, "every execution is of an order that is listed");
}
