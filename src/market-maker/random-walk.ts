/**
 * A random walk that anybody can walk again: where it goes next depends on its seed, its name and the number of the step,
 * and on nothing else. Not on the time: a market on which nobody trades stands still.
 */
import { createHash } from "node:crypto";

export interface Walk {
  readonly seed: string;
  /** Walks of one seed that have different names go different ways. */
  readonly name: string;
  /** It stays within so many units on both sides of its start. */
  readonly band: number;
}

/** After so many steps it is so many units above its start. */
export interface Position {
  readonly step: number;
  readonly offset: number;
}

export const START: Position = { step: 0, offset: 0 };

/** One unit up or down, each as likely as the other; at the edge of the band, back. */
export function stepOn({ seed, name, band }: Walk, { step, offset }: Position): Position {
  const chance = createHash("sha256").update(`${seed}/${name}/${step}`).digest();
  const rises = offset <= -band || (offset < band && ((chance[0] as number) & 1) === 1);
  return { step: step + 1, offset: offset + (rises ? 1 : -1) };
}
