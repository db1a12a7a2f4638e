/**
 * A reproducible random walk: each step depends only on seed, name and step number, not on time.
 */
import { createHash } from "node:crypto";

export interface Walk {
  readonly seed: string;
  /** Distinguishes walks with the same seed. */
  readonly name: string;
  /** The maximum distance from the start, in units. */
  readonly band: number;
}

/** `offset` is in units above the start. */
export interface Position {
  readonly step: number;
  readonly offset: number;
}

export const START: Position = { step: 0, offset: 0 };

/** One unit up or down with equal probability; at the edge of the band, back. */
export function nextPosition({ seed, name, band }: Walk, { step, offset }: Position): Position {
  const chance = createHash("sha256").update(`${seed}/${name}/${step}`).digest();
  const rises = offset <= -band || (offset < band && ((chance[0] as number) & 1) === 1);
  return { step: step + 1, offset: offset + (rises ? 1 : -1) };
}
