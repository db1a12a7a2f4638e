/** A whole number from 0 to below `most`. */
export type Random = (most: number) => number;

/** The same numbers for the same seed (mulberry32). */
export function seeded(seed: number): Random {
  let state = seed;
  return (most) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % most;
  };
}
