/** Lists that have a bound, and say when they end before everything is told: they would read as if that were all. */
import { type Answer, table } from "./command.ts";

export const LISTED_AT_MOST = 1_000;

/** Shows what was found. Whoever reads it asks for one more than is shown: that one tells that there is more. */
export function listing<Item>(
  found: readonly Item[],
  head: readonly string[],
  rowOf: (item: Item) => readonly string[],
): Answer {
  const items = found.slice(0, LISTED_AT_MOST);
  const more = found.length > items.length;
  const shown = table(head, items.map(rowOf));
  return {
    json: { items, more },
    prose: more ? `${shown}\nThese are the first ${LISTED_AT_MOST}: there are more.` : shown,
  };
}
