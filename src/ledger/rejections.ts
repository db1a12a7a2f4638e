/** Rejections that everything that moves money shares, and the checks that return them. */
import { type Amount, BALANCE_LIMIT, fitsPrecision, ZERO } from "../money/amount.ts";
import type { Asset, AssetCode } from "../money/asset.ts";
import { type Check, done, PASSED, type Result, reject } from "../std/result.ts";
import { type Account, accountKey, accountTable, type ProfileId, totalOf } from "./accounts.ts";
import type { Rejection, State } from "./decision.ts";

export interface UnknownAsset extends Rejection {
  readonly code: "unknown_asset";
  readonly field: string;
  readonly asset: string;
}

export interface ExceedPrecision extends Rejection {
  readonly code: "exceed_precision";
  /** Of an order: the field, and the market that allows fewer decimals than its assets. */
  readonly field?: "baseAmount" | "quoteAmount";
  readonly market?: string;
  readonly asset: AssetCode;
  readonly precision: number;
}

export interface InsufficientFunds extends Rejection {
  readonly code: "insufficient_funds";
  readonly profileId: ProfileId;
  readonly asset: AssetCode;
  readonly available: Amount;
  readonly needed: Amount;
}

/** The credit would lift the balance to 10^29. */
export interface BalanceTooLarge extends Rejection {
  readonly code: "balance_too_large";
  readonly profileId: ProfileId;
  readonly asset: AssetCode;
}

/** "too_precise": it has more decimals than the ledger, and so more than any asset. */
export type RequestedAmount = Amount | "too_precise";

/**
 * Fees leave balances with up to 18 decimals. A sender may send exactly all that it has, whatever its decimals: otherwise
 * the rest below the asset's precision could never leave.
 * @param all what the sender has available; undefined if nothing is sent
 */
export function checkPrecision(
  amount: RequestedAmount,
  asset: Asset,
  all?: Amount | undefined,
): Result<Amount, ExceedPrecision> {
  if (amount !== "too_precise" && (fitsPrecision(amount, asset.precision) || amount === all)) return done(amount);
  return reject({ code: "exceed_precision", asset: asset.code, precision: asset.precision });
}

/** Checks that the profile has enough available. */
export function checkFunds(
  state: State,
  profileId: ProfileId,
  asset: AssetCode,
  needed: Amount,
): Check<InsufficientFunds> {
  const available = availableOf(state, profileId, asset);
  return available >= needed ? PASSED : reject({ code: "insufficient_funds", profileId, asset, available, needed });
}

/** Checks that the credit fits. All three parts count, so that releasing a hold never overflows. */
export function checkRoom(
  state: State,
  profileId: ProfileId,
  asset: AssetCode,
  credit: Amount,
): Check<BalanceTooLarge> {
  const account = accountOf(state, profileId, asset);
  const total = account === undefined ? ZERO : totalOf(account);
  return total + credit < BALANCE_LIMIT ? PASSED : reject({ code: "balance_too_large", profileId, asset });
}

/** What a profile can send. */
export const availableOf = (state: State, profileId: ProfileId, asset: AssetCode): Amount =>
  accountOf(state, profileId, asset)?.available ?? ZERO;

export function accountOf(state: State, profileId: ProfileId, asset: AssetCode): Account | undefined {
  return state.get(accountTable, accountKey(profileId, asset).key);
}
