/**
 * Keyset pagination. A cursor holds the position after which the next page begins, and a digest of its list: customer,
 * path and filters. It is opaque to callers. The service keeps no state for it, so it never expires and any node reads it.
 */
import { createHash } from "node:crypto";
import type { FastifyRequest } from "fastify";
import { done, type Result, reject } from "../../std/result.ts";
import { invalid } from "../problems/failing-fields.ts";

/** The list that a cursor belongs to. */
export interface CursorList {
  readonly customerId: string;
  readonly path: string;
  /** The query with its defaults. `limit` and `page_cursor` may differ from page to page. */
  readonly query: Readonly<Record<string, unknown>>;
}

export type CursorRejection = "unreadable" | "other_list";

/** Incremented when the format of cursors changes. */
const VERSION = 1;

export function encodeCursor(list: CursorList, position: readonly string[]): string {
  return Buffer.from(JSON.stringify([VERSION, digestOf(list), position])).toString("base64url");
}

export function decodeCursor(cursor: string, list: CursorList): Result<readonly string[], CursorRejection> {
  const [version, digest, position, ...more] = listIn(cursor) ?? [];
  if (version !== VERSION || more.length > 0 || !isTexts(position)) return reject("unreadable");
  return digest === digestOf(list) ? done(position) : reject("other_list");
}

function listIn(cursor: string): unknown[] | undefined {
  // Buffer skips invalid characters. A genuine cursor survives the round trip.
  const bytes = Buffer.from(cursor, "base64url");
  if (bytes.toString("base64url") !== cursor) return undefined;
  try {
    const value: unknown = JSON.parse(bytes.toString("utf8"));
    return Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isTexts(value: unknown): value is string[] {
  // PostgreSQL has no NUL in texts, so none of a position.
  return Array.isArray(value) && value.every((part) => typeof part === "string" && !part.includes("\0"));
}

const NO_FILTERS: ReadonlySet<string> = new Set(["limit", "page_cursor", "wait_millis"]);

function digestOf({ customerId, path, query }: CursorList): string {
  const filters = Object.entries(query)
    .filter(([name, value]) => !NO_FILTERS.has(name) && value !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return createHash("sha256")
    .update(JSON.stringify([customerId, path, filters]))
    .digest("base64url")
    .slice(0, 16);
}

/** For the description of a list that has filters by time, of records that several nodes write. */
export const COMES_LATE =
  "A record comes once it is committed, seconds after its time: to follow the list by time, begin a minute back each time and drop the ids that you already have. Of `/v2/events` none comes late.";

export interface PageRequest<Position> {
  readonly limit: number;
  /** The end of the previous page; undefined for the first page. */
  readonly after: Position | undefined;
  readonly list: CursorList;
}

/**
 * Reads which page a request wants.
 * @param read parses the position in a cursor; returns undefined if it is invalid. Cursors are not signed.
 * @throws Problem 400 when the cursor is invalid or belongs to another list
 */
export function pageRequest<Position>(
  request: FastifyRequest,
  query: { readonly limit: number; readonly page_cursor?: string },
  read: (position: readonly string[]) => Position | undefined,
): PageRequest<Position> {
  const list = { customerId: request.grant.customerId, path: request.url.split("?", 1)[0] ?? "", query: { ...query } };
  const { limit, page_cursor: cursor = "" } = query;
  if (cursor === "") return { limit, after: undefined, list };
  const position = decodeCursor(cursor, list);
  if (position.kind === "rejected" && position.rejection === "other_list") {
    throw invalid([
      { field: "page_cursor", rule: "belongs to another list: send the same filters as for the first page" },
    ]);
  }
  const after = position.kind === "rejected" ? undefined : read(position.value);
  if (after === undefined) throw invalid([{ field: "page_cursor", rule: "is not a cursor of this service" }]);
  return { limit, after, list };
}

/** @param rows up to one more than the limit: the extra row shows that there is a next page */
export function page<Row, Item, Position>(
  rows: readonly Row[],
  { limit, list }: PageRequest<Position>,
  positionOf: (row: Row) => readonly string[],
  itemOf: (row: Row) => Item,
): { items: Item[]; next_page_cursor: string } {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const isLast = rows.length <= limit || last === undefined;
  return { items: shown.map(itemOf), next_page_cursor: isLast ? "" : encodeCursor(list, positionOf(last)) };
}
