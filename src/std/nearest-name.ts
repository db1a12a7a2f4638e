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
  const most = mostEdits ?? Math.max(1, Math.floor(wanted.length / 3));
  const [nearest] = known
    .map((name) => ({ name, distance: distanceBetween(wanted, plain(name)) }))
    .filter(({ distance }) => distance <= most)
    .sort((a, b) => a.distance - b.distance);
  if (nearest?.distance === 0) return nearest.name;
  return known.find((name) => wanted !== "" && plain(name).startsWith(`${wanted}.`)) ?? nearest?.name;
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

/** Levenshtein's distance: how many characters must be inserted, deleted or replaced. */
function distanceBetween(one: string, other: string): number {
  let above = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (const [row, letter] of [...one].entries()) {
    const current = [row + 1];
    for (let at = 1; at <= other.length; at += 1) {
      const replaced = (above[at - 1] ?? 0) + (letter === other[at - 1] ? 0 : 1);
      current.push(Math.min(replaced, (above[at] ?? 0) + 1, (current[at - 1] ?? 0) + 1));
    }
    above = current;
  }
  return above[other.length] ?? 0;
}
