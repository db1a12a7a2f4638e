/** A belief that did not hold: a bug of ours, never something a caller or the world did. */
export class AssertionFailed extends Error {
  override readonly name = "BrokenBelief";
}

/**
 * Stops a bug where it is noticed. It is never caught to carry on with the same work. A belief that is worded with
 * values is given as a function where it is asked for often: it is only worded when it did not hold.
 */
export function assert(holds: boolean, belief: string | (() => string)): asserts holds {
  if (!holds) throw new AssertionFailed(typeof belief === "string" ? belief : belief());
}

/** For the branch that the types say cannot be reached. */
export function unreachable(value: never): never {
  throw new AssertionFailed(`not reachable, but here is ${JSON.stringify(value)}`);
}

/** The value that must be there: for look-ups whose key was made by the same code. */
export function must<Value>(value: Value | undefined, belief: string | (() => string)): Value {
  assert(value !== undefined, belief);
  return value;
}
