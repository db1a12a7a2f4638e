/** Lists that have a bound, and say when they end before everything is told: they would read as if that were all. */
import type { Answer } from "./command.ts";
import { table } from "./terminal.ts";

export const LISTED_AT_MOST = 1_000;

/**
 * Shows what was found. Whoever reads it asks for one more than is shown: that one tells that there is more. `next` says
 * how to see what comes behind the last one, where that can be asked for.
 */
export function listing<Item>(
  found: readonly Item[],
  head: readonly string[],
  rowOf: (item: Item) => readonly string[],
  next?: (last: Item) => string,
): Answer {
  const items = found.slice(0, LISTED_AT_MOST);
  const last = items.at(-1);
  const more = found.length > items.length;
  const lines = table(head, items.map(rowOf));
  if (more) lines.push(`These are the first ${LISTED_AT_MOST}: there are more.`);
  if (more && next !== undefined && last !== undefined) lines.push(next(last));
  return { json: { items, more }, prose: lines };
}
