/** What operators do: deposits and withdrawals that have steps, the steps, and legal holds. */
import type { Random } from "../support/random.ts";
import type { Client } from "./client.ts";
import type { OperatorKind, Shown } from "./lifecycles.ts";
import { amountAtRandom, DOLLARS, oneOf } from "./requests-at-random.ts";

/** What operators move and hold. The other coin is the same over HTTP at every moment, whatever they do. */
export const MOVED_BY_OPERATORS = [...DOLLARS, "ETH"] as const;
/** Deposits on a chain name one of so many transactions: some are taken. */
const CHAIN_TRANSACTIONS = 1_000;

/** A request with a ref_id, which may be sent again. */
export interface OperatorRequest {
  readonly kind: OperatorKind;
  readonly refId: string;
  readonly command: "request" | "place";
  readonly details: object;
  /** A transaction of a chain, which another deposit may have. */
  readonly namesTransaction: boolean;
}

export type Step =
  | { readonly to: "approved" }
  | { readonly to: "sent" | "completed"; readonly cryptoTxHash?: string }
  | { readonly to: "failed" | "cancelled"; readonly reason: string };

export function requestOfOperator(random: Random, refId: string, customers: readonly Client[]): OperatorRequest {
  const { id: customerId, profileIds } = oneOf(random, customers);
  const owner = { customerId, profileId: oneOf(random, profileIds) };
  const of = { ...owner, asset: oneOf(random, MOVED_BY_OPERATORS), amount: amountAtRandom(random), refId };
  if (random(4) === 0)
    return { kind: "legal_hold", refId, command: "place", details: { ...of, reason: refId }, namesTransaction: false };
  const isDeposit = random(5) < 2;
  const isWire = of.asset === "USD";
  const namesTransaction = isDeposit && !isWire;
  const transaction = namesTransaction
    ? { cryptoTxHash: `0x${random(CHAIN_TRANSACTIONS).toString(16)}`, cryptoTxIndex: "0" }
    : {};
  const details = {
    ...of,
    direction: isDeposit ? "CREDIT" : "DEBIT",
    type: `${isWire ? "WIRE" : "CRYPTO"}_${isDeposit ? "DEPOSIT" : "WITHDRAWAL"}`,
    details: isWire ? { memo: refId } : { memo: refId, cryptoNetwork: "ETHEREUM", ...transaction },
  };
  return { kind: "external_transfer", refId, command: "request", details, namesTransaction };
}

/** Mostly one that may follow, and sometimes any. */
export function stepAtRandom(random: Random, transfer: Shown, status: string, number: number): Step {
  const isDeposit = transfer.direction === "CREDIT";
  const next = NEXT_STEPS[isDeposit ? "ANNOUNCED" : status] ?? ANY_STEP;
  const to = oneOf(random, random(10) === 0 ? ANY_STEP : next);
  if (to === "failed" || to === "cancelled") return { to, reason: `reason ${number}` };
  const isOnChain = !isDeposit && transfer.asset !== "USD" && random(2) === 0;
  return to !== "approved" && isOnChain ? { to, cryptoTxHash: `0xabc${number}` } : { to };
}

const ANY_STEP: readonly Step["to"][] = ["approved", "sent", "completed", "failed", "cancelled"];

/** Some more often than others. */
const NEXT_STEPS: Readonly<Record<string, readonly Step["to"][]>> = {
  ANNOUNCED: ["completed", "completed", "failed"],
  REQUESTED: ["approved", "approved", "approved", "cancelled"],
  APPROVED: ["sent", "sent", "sent", "cancelled"],
  SENT: ["completed", "completed", "failed"],
};

/** Whether a record is of a deposit or a withdrawal. */
export const isExternal = ({ type }: Shown): boolean => /_(?:DEPOSIT|WITHDRAWAL)$/.test(String(type));
