/** Paths that are longer than any that there is. The router decodes a path before anybody has looked at the request. */
const LONGEST_PATH = 2_048;
/** No route has it. As long as a head may be: what a request counts depends on the length of its target. */
const NOWHERE = `/${"_".repeat(65_536)}`;

/**
 * The target of a request, where a path that no route has is replaced by one that costs nothing to route: to decode 60 KB of `%25`
 * takes 8 ms and megabytes, and hundreds of connections would all have theirs decoded in one turn of the event loop.
 */
export function withoutLongPath(target: string): string {
  const end = endOfPath(target);
  return end <= LONGEST_PATH ? target : NOWHERE.slice(0, end) + target.slice(end);
}

export const hasLongPath = (target: string): boolean => endOfPath(target) > LONGEST_PATH;

function endOfPath(target: string): number {
  if (target.length <= LONGEST_PATH) return target.length;
  const ends = ["?", "#"].map((end) => target.indexOf(end)).filter((at) => at !== -1);
  return Math.min(target.length, ...ends);
}
