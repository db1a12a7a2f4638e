/** A bug of ours, never caused by input or a fault. */
export class AssertionFailed extends Error {
  override readonly name = "AssertionFailed";
}

/**
 * Throws `AssertionFailed` if a belief does not hold. Never catch it to carry on with the same work.
 * @param belief a sentence, or, on hot paths, a function that builds it
 */
export function assert(holds: boolean, belief: string | (() => string)): asserts holds {
  if (!holds) throw new AssertionFailed(typeof belief === "string" ? belief : belief());
}

/** For branches that the types exclude. */
export function unreachable(value: never): never {
  throw new AssertionFailed(`not reachable, but here is ${JSON.stringify(value)}`);
}

/** Asserts that a value is present. */
export function must<Value>(value: Value | undefined, belief: string | (() => string)): Value {
  assert(value !== undefined, belief);
  return value;
}
