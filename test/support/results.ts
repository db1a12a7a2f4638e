import type { Result } from "../../src/std/result.ts";

/** The value of a call that must not be rejected. */
export function unwrap<Value>(result: Result<Value, unknown>): Value {
  if (result.kind === "rejected") throw new Error(`rejected: ${JSON.stringify(result.rejection)}`);
  return result.value;
}
