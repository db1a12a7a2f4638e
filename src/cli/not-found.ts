import { nearestName } from "../std/nearest-name.ts";

/** Ends a sentence about a name that is not there: with the one that was probably meant. */
export function hintFor(wrong: string, known: readonly string[], mostEdits?: number): string {
  const near = nearestName(wrong, known, mostEdits);
  return near === undefined ? "" : `: did you mean ${near}?`;
}
