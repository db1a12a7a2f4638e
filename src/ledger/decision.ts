/**
 * Commands and their decisions. A rule is pure: it takes the rows that it depends on and the time, and returns a
 * decision. It runs again on newer rows when its first decision could not be committed.
 */
import type { Instant } from "../std/clock.ts";
import type { Uuid } from "../std/id.ts";
import type { Done, Rejected, Result } from "../std/result.ts";
import type { Journal } from "./accounts.ts";
import type { Caller } from "./caller.ts";
import type { Key, RecordAddition, StateChange, StateRow, StateTable, UniqueIndex } from "./tables.ts";

/** Why a business rule says no: expected, and part of the interface. `code` is in snake_case. */
export interface Rejection {
  readonly code: string;
}

/** What an accepted command changes. Journals are applied in order, after the state rows. */
export interface Changes {
  readonly journals?: readonly Journal[];
  readonly states?: readonly StateChange[];
  readonly records?: readonly RecordAddition[];
}

export type Decision<Value, Why extends Rejection> = Accepted<Value> | Rejected<Why>;

export interface Accepted<Value> extends Done<Value> {
  readonly changes: Changes;
}

export const accept = <Value>(value: Value, changes: Changes): Accepted<Value> => ({ kind: "done", value, changes });

/** The rows that a command depends on, as they are when it is decided. */
export interface State {
  /** @returns undefined when there is no such row. @throws for a row that is not in `dependsOn`: a bug */
  get<Row extends StateRow>(table: StateTable<Row>, key: string): Row | undefined;
}

export type ClaimKind = "transfer" | "chain_deposit" | "conversion" | "order" | "nickname" | "opening" | "legal_hold";

/** The unique key of a claim. */
export function claimKey(claim: Pick<Claim, "customerId" | "kind" | "refId">): string {
  return `${claim.customerId}/${claim.kind}/${claim.refId}`;
}

/**
 * A ref_id that the command claims when it is accepted, so that a retry takes effect only once. Kept by a unique index
 * of the record's own table, or by a row of `claim` where it outlives its record, or precedes it.
 */
export interface Claim {
  readonly customerId: Uuid;
  readonly kind: ClaimKind;
  readonly refId: string;
  /** The record that the ref_id will identify. */
  readonly id: Uuid;
  /** The unique index that keeps it, and the values in it. If undefined, a row of `claim` does. */
  readonly keptBy?: { readonly index: UniqueIndex; readonly values: readonly string[] };
  /**
   * Look the ref_id up first, because it is probably taken, such as by a command that runs at every start. Otherwise a
   * ref_id is assumed to be free, and a taken one costs a failed batch.
   */
  readonly likelyTaken?: true;
  /** Which records have released the ref_id. If undefined, none. */
  readonly released?: Released;
}

/** Records of a table that were closed before this time. */
export interface Released {
  /** Has the columns customer_id, id and closed_at. */
  readonly table: string;
  readonly closedBefore: Instant;
}

type SettlementsOf = `settlements of ${string}`;

/** `Claimed`: `Claim` if it may claim ref_ids, `never` if it never does. */
export interface Command<Value, Why extends Rejection, Claimed extends Claim = never> {
  /**
   * The customer whose queue it joins. Never shed under load: `house`, for fills, expiries and halts, and the settlements of a
   * customer's conversions.
   */
  readonly queueKey: Uuid | "house" | SettlementsOf;
  readonly caller: Caller;
  readonly dependsOn: readonly Key[];
  readonly claims?: readonly Claimed[] | undefined;
  /**
   * Lock its rows before it is decided: for a rule that depends on the absence of rows. `inLockOrder` makes this sound.
   */
  readonly lock?: true;
  /** What it adds to its batch, in rows that it writes, if these are many more than it depends on. */
  readonly weight?: number;
  decide(state: State, now: Instant): Decision<Value, Why>;
}

/** Only a command that may claim a ref_id can find it taken. */
export type Outcome<Value, Why extends Rejection, Claimed extends Claim = never> =
  | Result<Value, Why>
  | (Claimed extends Claim ? Exists : never);

/** The ref_id belongs to this earlier record. */
export interface Exists {
  readonly kind: "exists";
  readonly id: Uuid;
}

/** A fault that becomes 503: nothing was committed, or a lookup by ref_id shows what was. */
export class Unavailable extends Error {
  override readonly name = "Unavailable";
}
