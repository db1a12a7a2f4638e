/**
 * The states of objects that may still change, while cuts are read in order: for verify, of cuts whose events were removed,
 * where each state would otherwise have to be found in the whole chain.
 */
import { LAST_TYPES, objectTypeOf } from "../event-types.ts";
import type { Fact, State } from "../facts.ts";

/** Of more, those that have not changed for longest are forgotten, and read from the chain if they change again. */
const MOST = 200_000;

export class RememberedStates {
  readonly #states = new Map<string, State>();

  find(objectId: string): State | undefined {
    return this.#states.get(objectId);
  }

  /** @param facts of a cut, in order */
  note(facts: readonly Fact[]): void {
    for (const { type, objectId, state } of facts) {
      if (state === undefined || objectTypeOf(type) === "market") continue;
      this.#states.delete(objectId);
      if (!LAST_TYPES.includes(type)) this.#states.set(objectId, state);
    }
    for (const objectId of this.#states.keys()) {
      if (this.#states.size <= MOST) break;
      this.#states.delete(objectId);
    }
  }
}
