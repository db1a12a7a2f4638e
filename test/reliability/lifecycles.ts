/** What must hold between two responses about one record, whatever happened in between. */
import { deepStrictEqual } from "node:assert/strict";
import { type Amount, amountOf } from "../../src/money/amount.ts";
import { assert } from "../../src/std/assert.ts";

/** What customers make. */
export type Kind = "transfer" | "conversion" | "order";
/** What operators make: deposits and withdrawals that have steps, and legal holds. */
export type OperatorKind = "external_transfer" | "legal_hold";

/** A record as the API shows it, or a legal hold. */
export interface Shown extends Readonly<Record<string, unknown>> {
  readonly id: string;
  readonly profile_id: string;
  readonly ref_id?: string;
  readonly status: string;
}

export interface Lifecycle {
  readonly kind: Kind | OperatorKind;
  /** A closed record no longer changes. */
  isClosed(record: Shown): boolean;
  /** The service still has to process it. */
  isPending(record: Shown): boolean;
  /** Whether it can have got, or kept, this status since. A closed one keeps its own. */
  mayBecome(record: Shown, status: string): boolean;
  statusOf(record: Shown): string;
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

/** By the step where there is one (docs/contract/transfers.md). */
const EXTERNAL_TRANSFER_FOLLOWS: Follows = {
  REQUESTED: ["REQUESTED", "APPROVED", "SENT", "COMPLETED", "FAILED", "CANCELLED"],
  APPROVED: ["APPROVED", "SENT", "COMPLETED", "FAILED", "CANCELLED"],
  SENT: ["SENT", "COMPLETED", "FAILED"],
};

export const LIFECYCLES: Readonly<Record<Kind | OperatorKind, Lifecycle>> = {
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
  external_transfer: lifecycle(
    "external_transfer",
    EXTERNAL_TRANSFER_FOLLOWS,
    "",
    ["status", "status_details", "updated_at", "crypto_tx_hash"],
    expectExternalTransferFollows,
    stepOf,
  ),
  legal_hold: lifecycle("legal_hold", { HELD: ["HELD", "LIFTED"] }, "", ["status", "lifted_by"]),
};

function lifecycle(
  kind: Lifecycle["kind"],
  follows: Follows,
  waiting: string,
  changing: readonly string[],
  expectMore: (before: Shown, now: Shown, what: string) => void = () => undefined,
  statusOf: (record: Shown) => string = ({ status }) => status,
): Lifecycle {
  const isClosed = (record: Shown): boolean => follows[statusOf(record)] === undefined;
  const mayBecome = (record: Shown, status: string): boolean =>
    follows[statusOf(record)]?.includes(status) ?? status === statusOf(record);
  return {
    kind,
    isClosed,
    isPending: ({ status }) => status === waiting,
    mayBecome,
    statusOf,
    expectFollows: (before, now) => {
      if (isClosed(before)) {
        deepStrictEqual(now, before, `a closed ${kind} no longer changes`);
        return;
      }
      const what = `${JSON.stringify(before)} became ${JSON.stringify(now)}`;
      for (const field of new Set([...Object.keys(before), ...Object.keys(now)])) {
        if (!changing.includes(field)) deepStrictEqual(now[field], before[field], `${field}: ${what}`);
      }
      assert(mayBecome(before, statusOf(now)), `a status follows: ${what}`);
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

/** How far a deposit or a withdrawal is. */
function stepOf({ status, status_details: details }: Shown): string {
  return (details as { readonly progress: { readonly step: string } } | undefined)?.progress.step ?? status;
}

function expectExternalTransferFollows(before: Shown, now: Shown, what: string): void {
  assert(String(now.updated_at) >= String(before.updated_at), `time does not step back: ${what}`);
  const isDeposit = now.direction === "CREDIT";
  assert(!isDeposit || !["APPROVED", "SENT", "CANCELLED"].includes(stepOf(now)), `a deposit has these steps: ${what}`);
  const isNamed = before.crypto_tx_hash === undefined || now.crypto_tx_hash !== undefined;
  assert(isNamed, `a transaction that was named stays: ${what}`);
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
