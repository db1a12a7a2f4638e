/** What a call answers that can be rejected. A fault or a bug is thrown instead. */

export interface Done<Value> {
  readonly kind: "done";
  readonly value: Value;
}

export interface Rejected<Why> {
  readonly kind: "rejected";
  readonly rejection: Why;
}

export type Result<Value, Why> = Done<Value> | Rejected<Why>;

export const done = <Value>(value: Value): Done<Value> => ({ kind: "done", value });

export const reject = <const Why>(rejection: Why): Rejected<Why> => ({ kind: "rejected", rejection });

/** A check that has passed. It has no value. */
export const PASSED = done(undefined);

/** Whether something holds, and if not, why. */
export type Check<Why> = Result<undefined, Why>;
