/**
 * What a command is, and what its rule answers. A rule is pure: the rows that it rests on and the time come in, a
 * decision goes out. It is called again, on newer rows, when the first decision could not be saved.
 */
import type { Instant } from "../std/clock.ts";
import type { Uuid } from "../std/id.ts";
import type { Journal } from "./accounts.ts";
import type { Caller } from "./caller.ts";
import type { Key, RecordAddition, StateChange, StateRow, StateTable } from "./rows.ts";

/** Why a command is not carried out: expected, and part of the interface. `code` is a snake_case sentence. */
export interface Rejection {
  readonly code: string;
}

/** What an accepted command changes. Journals are applied in order, after the state rows. */
export interface Changes {
  readonly journals?: readonly Journal[];
  readonly states?: readonly StateChange[];
  readonly records?: readonly RecordAddition[];
}

export type Decision<Value, Why extends Rejection> =
  | { readonly accepted: true; readonly value: Value; readonly changes: Changes }
  | { readonly accepted: false; readonly rejection: Why };

export function accept<Value>(value: Value, changes: Changes): Decision<Value, never> {
  return { accepted: true, value, changes };
}

export function reject<Why extends Rejection>(refusal: Why): Decision<never, Why> {
  return { accepted: false, rejection: refusal };
}

/** The rows that a command said it rests on, as they stand when it is decided. */
export interface State {
  /** Undefined: there is no such row. Asking for a row that the command did not name is a bug. */
  get<Row extends StateRow>(table: StateTable<Row>, key: string): Row | undefined;
}

export type ClaimKind = "transfer" | "conversion" | "order" | "nickname" | "opening";

/** A ref_id in the claims' key order: what two commands must not both have. */
export function claimKey(claim: Pick<Claim, "customerId" | "kind" | "refId">): string {
  return `${claim.customerId}/${claim.kind}/${claim.refId}`;
}

/** A ref_id that the command takes when it is accepted: whoever has it has had the one effect. */
export interface Claim {
  readonly customerId: Uuid;
  readonly kind: ClaimKind;
  readonly refId: string;
  /** What the ref_id will lead to. */
  readonly id: Uuid;
  /**
   * It has probably been taken before, as everything that is done again at every start: it is looked up first. Without
   * this a ref_id counts as free until the database says otherwise, which costs a failed batch.
   */
  readonly again?: true;
  /** Whether the record that holds the ref_id has let go of it by now (orders, 24 h after closing). */
  readonly released?: (holder: Uuid) => Promise<boolean>;
}

export interface Command<Value, Why extends Rejection> {
  /** Whose turn in the queue it takes. `house`: settlements, fills and expiries, which are never refused for load. */
  readonly queueKey: Uuid | "house";
  /** Who asks for it: kept with what it writes. */
  readonly caller: Caller;
  readonly dependsOn: readonly Key[];
  readonly claim?: Claim | undefined;
  /**
   * Its rows are locked before it is decided: for a rule that rests on rows which are *not* there. See
   * `readKeys` for the order that makes this sound.
   */
  readonly lock?: true;
  decide(state: State, now: Instant): Decision<Value, Why>;
}

export type Outcome<Value, Why extends Rejection> =
  | { readonly kind: "done"; readonly value: Value }
  | { readonly kind: "rejected"; readonly rejection: Why }
  /** The ref_id was taken before, by this record. */
  | { readonly kind: "exists"; readonly id: Uuid };

/** The fault that a caller hears as 503: nothing was done, or the ref_id tells. */
export class Unavailable extends Error {
  override readonly name = "Unavailable";
}
