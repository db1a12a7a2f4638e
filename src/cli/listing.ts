/** Bounded lists, which say when they are truncated. */
import type { CommandResult } from "./command.ts";
import { table } from "./terminal.ts";

export const LIST_LIMIT = 1_000;

/**
 * @param found Up to `LIST_LIMIT + 1` items: the extra one shows that there are more.
 * @param next How to get the next page, given the last item shown.
 */
export function listing<Item>(
  found: readonly Item[],
  head: readonly string[],
  rowOf: (item: Item) => readonly string[],
  next?: (last: Item) => string,
): CommandResult {
  const items = found.slice(0, LIST_LIMIT);
  const last = items.at(-1);
  const more = found.length > items.length;
  const lines = table(head, items.map(rowOf));
  if (more) lines.push(`Only the first ${LIST_LIMIT} are shown.`);
  if (more && next !== undefined && last !== undefined) lines.push(next(last));
  return { json: { items, more }, prose: lines };
}
