/**
 * Paging by keyset. A cursor says after which position the next page begins, and of which list: the customer's, with
 * these filters. It is opaque to callers and holds no state of ours, so it is valid for ever and on every node.
 */
import { createHash } from "node:crypto";
import type { FastifyRequest } from "fastify";
import { invalid } from "../problems/failing-fields.ts";

/** The list that a cursor belongs to. */
export interface CursorList {
  readonly customerId: string;
  readonly path: string;
  /** The query with its defaults. `limit` and `page_cursor` may differ from page to page. */
  readonly query: Readonly<Record<string, unknown>>;
}

export type CursorRejection = "unreadable" | "other_list";

/** Raised when what a cursor holds changes its meaning. */
const VERSION = 1;

export function encodeCursor(list: CursorList, position: readonly string[]): string {
  return Buffer.from(JSON.stringify([VERSION, digestOf(list), position])).toString("base64url");
}

export function decodeCursor(cursor: string, list: CursorList): readonly string[] | CursorRejection {
  const [version, digest, position, ...more] = listIn(cursor) ?? [];
  if (version !== VERSION || more.length > 0 || !isTexts(position)) return "unreadable";
  return digest === digestOf(list) ? position : "other_list";
}

function listIn(cursor: string): unknown[] | undefined {
  // Buffer skips what is not base64; a cursor of ours comes back as it was.
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
  return Array.isArray(value) && value.every((part) => typeof part === "string");
}

function digestOf({ customerId, path, query }: CursorList): string {
  const filters = Object.entries(query)
    .filter(([name, value]) => name !== "limit" && name !== "page_cursor" && value !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return createHash("sha256")
    .update(JSON.stringify([customerId, path, filters]))
    .digest("base64url")
    .slice(0, 16);
}

/** The page that a request asks for. */
export interface PageRequest<Position> {
  readonly limit: number;
  /** Where the page before ended; undefined on the first one. */
  readonly after: Position | undefined;
  readonly list: CursorList;
}

/**
 * Reads which page a request asks for. `read` makes the position of it, or answers undefined when the texts are none:
 * a cursor is not signed, so what it holds is only as good as what its sender made of it.
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
  if (position === "other_list") {
    throw invalid([{ field: "page_cursor", rule: "belongs to another list: the filters are those that it came with" }]);
  }
  const after = position === "unreadable" ? undefined : read(position);
  if (after === undefined) throw invalid([{ field: "page_cursor", rule: "is not a cursor of this service" }]);
  return { limit, after, list };
}

/** Makes the page out of one row more than it may have: the row too many tells that there is a next page. */
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
