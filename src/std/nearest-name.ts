/** The name that a caller probably meant, for the rejection of an unknown one. */

/** A longer name is not compared: the distance takes the product of both lengths. */
const LONGEST = 48;

/**
 * The known name that is nearest to a wrong one: equal but for letter case and separators (`profileId`, `range[begin]`),
 * else the one that begins with it (`created_at`), else the one that fewest edits lead to.
 * @param mostEdits how many at most; default: a third of the letters
 * @returns undefined when none is near
 */
export function nearestName(wrong: string, known: readonly string[], mostEdits?: number): string | undefined {
  if (wrong.length > LONGEST) return undefined;
  const wanted = plain(wrong);
  const letters = [...wanted];
  const names = plainNames(known);
  let most = mostEdits ?? Math.max(1, Math.floor(wanted.length / 3));
  let nearest: string | undefined;
  for (const [at, name] of names.entries()) {
    const distance = distanceWithin(letters, name, most);
    if (distance === 0) return known[at];
    if (distance === undefined) continue;
    nearest = known[at];
    // Of two that are as near, the first.
    most = distance - 1;
  }
  const within = wanted === "" ? -1 : names.findIndex((name) => name.startsWith(`${wanted}.`));
  return within === -1 ? nearest : known[within];
}

const PLAIN_NAMES = new WeakMap<readonly string[], readonly string[]>();

/** Of each list only once: a request can have many wrong names, each compared with the same list. */
function plainNames(known: readonly string[]): readonly string[] {
  const names = PLAIN_NAMES.get(known) ?? known.map(plain);
  PLAIN_NAMES.set(known, names);
  return names;
}

/** `profileId`, `profile-id` and `PROFILE_ID` are `profile_id`; `range[begin]` is `range.begin`, `ids[0]` is `ids`. */
function plain(name: string): string {
  return name
    .replaceAll(/\[(\d*)\]/g, "")
    .replaceAll(/\[([^\]]*)\]/g, ".$1")
    .replaceAll(/([a-z\d])([A-Z])/g, "$1_$2")
    .replaceAll("-", "_")
    .toLowerCase();
}

/**
 * Levenshtein's distance: how many characters must be inserted, deleted or replaced.
 * @returns undefined if it is more than `most`
 */
function distanceWithin(letters: readonly string[], other: string, most: number): number | undefined {
  // Each edit changes the length by one at most.
  if (Math.abs(letters.length - other.length) > most) return undefined;
  // One row of the table, which each letter turns into the next.
  const row: number[] = [];
  for (let at = 0; at <= other.length; at += 1) row.push(at);
  for (const letter of letters) {
    let diagonal = row[0] as number;
    let left = diagonal + 1;
    let least = left;
    row[0] = left;
    for (let at = 1; at <= other.length; at += 1) {
      const above = row[at] as number;
      left = Math.min(diagonal + (letter === other[at - 1] ? 0 : 1), above + 1, left + 1);
      row[at] = left;
      diagonal = above;
      if (left < least) least = left;
    }
    // What follows adds to the least of a row, or leaves it.
    if (least > most) return undefined;
  }
  const distance = row[other.length] as number;
  return distance > most ? undefined : distance;
}
