import { Type } from "typebox";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ask, problem, startToyApi, type ToyApi } from "../../../test/support/http/toy-api.ts";
import { done, reject } from "../../std/result.ts";
import { decodeCursor, encodeCursor, page, pageRequest } from "./paging.ts";
import { ListOf, ListQuery } from "./schemas.ts";

const NUMBERS = [1, 2, 3, 4, 5];
const LIST = { customerId: "c-1", path: "/v2/toys", query: { nickname: "a", limit: 2, page_cursor: "" } };

let toy: ToyApi;
beforeAll(async () => {
  toy = await startToyApi((api) => {
    for (const path of ["/v2/numbers", "/v2/others"])
      api.get(
        path,
        {
          config: { scope: "transfer:read_transfer" },
          schema: {
            hide: true,
            querystring: ListQuery({ odd: Type.Optional(Type.Boolean()) }, { standard: 2, maximum: 10 }),
            response: { 200: ListOf(Type.String()) },
          },
        },
        async (request) => {
          const wanted = pageRequest(request, request.query, ([number]) =>
            /^\d+$/.test(number ?? "") ? Number(number) : undefined,
          );
          const matching = NUMBERS.filter((number) => !request.query.odd || number % 2 === 1);
          const rows = matching.filter((number) => number > (wanted.after ?? 0)).slice(0, wanted.limit + 1);
          return page(rows, wanted, (number) => [String(number)], String);
        },
      );
  });
});
afterAll(() => toy.close());

interface NumbersPage {
  readonly items: string[];
  readonly next_page_cursor: string;
}
const numbers = async (query: string) => (await ask(toy, `/v2/numbers?${query}`)).body as NumbersPage;

test("the pages of a list are its rows, each once, and the last cursor is empty", async () => {
  const pages: string[][] = [];
  let cursor = "";
  do {
    const { items, next_page_cursor } = await numbers(`page_cursor=${cursor}`);
    pages.push(items);
    cursor = next_page_cursor;
  } while (cursor !== "");
  expect(pages).toEqual([["1", "2"], ["3", "4"], ["5"]]);
});

test("a last page that is exactly full has an empty cursor, and so has an empty list", async () => {
  expect(await numbers("limit=5")).toEqual({ items: ["1", "2", "3", "4", "5"], next_page_cursor: "" });
  const nothing = page([], { limit: 2, after: undefined, list: LIST }, () => [], String);
  expect(nothing).toEqual({ items: [], next_page_cursor: "" });
});

test("limit may differ between pages, the filters may not", async () => {
  const { next_page_cursor: cursor } = await numbers("odd=true&limit=1");
  expect(await numbers(`limit=10&odd=true&page_cursor=${cursor}`)).toEqual({ items: ["3", "5"], next_page_cursor: "" });
  const rule = "belongs to another list: send the same filters as for the first page";
  for (const elsewhere of [`/v2/numbers?page_cursor=${cursor}`, `/v2/others?odd=true&page_cursor=${cursor}`]) {
    expect(await ask(toy, elsewhere)).toEqual(
      problem(400, "Bad Request", `page_cursor ${rule}`, { meta: { errors: [{ field: "page_cursor", rule }] } }),
    );
  }
});

test("a cursor that cannot be read, or has an invalid position, is 400", async () => {
  const rule = "is not a cursor of this service";
  const expected = problem(400, "Bad Request", `page_cursor ${rule}`, {
    meta: { errors: [{ field: "page_cursor", rule }] },
  });
  const { next_page_cursor: good } = await numbers("");
  const forged = JSON.parse(Buffer.from(good, "base64url").toString());
  forged[2] = ["drop table"];
  const cursors = ["x", "e30", "bm90IEpTT04", `${good}=`, `${good}!`, inBase64(forged)];
  for (const cursor of cursors) expect(await ask(toy, `/v2/numbers?page_cursor=${cursor}`)).toEqual(expected);
});

const inBase64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

test("a cursor with extra parts, or a position that is not made of texts, cannot be read", () => {
  const [version, digest] = JSON.parse(Buffer.from(encodeCursor(LIST, ["7"]), "base64url").toString());
  expect(decodeCursor(inBase64([version, digest, ["7"]]), LIST)).toEqual(done(["7"]));
  for (const wrong of [
    [version, digest, ["7"], 1],
    [version, digest, "7"],
    [version, digest, ["7", 7]],
    [version, digest, ["7\0"]],
    [version, digest],
  ]) {
    expect([wrong, decodeCursor(inBase64(wrong), LIST)]).toEqual([wrong, reject("unreadable")]);
  }
});

test("an old cursor stays readable, in whatever order its filters come", () => {
  const ofBefore = "WzEsInhqYzJhcTZBR2tGUndLR0giLFsiNyJdXQ";
  const filters = { status: "OPEN", market: "BTCUSD", order: "ASC" };
  const list = { customerId: "c-1", path: "/v2/toys", query: filters };
  expect(encodeCursor(list, ["7"])).toBe(ofBefore);
  const otherwise = { order: "ASC", market: "BTCUSD", status: "OPEN" };
  expect(decodeCursor(ofBefore, { ...list, query: otherwise })).toEqual(done(["7"]));
});

test("a cursor is bound to the customer, the path and the filters, but not to limit, cursor and waiting time", () => {
  const cursor = encodeCursor(LIST, ["2026-11-21T09:30:00.000Z", "7"]);
  const position = ["2026-11-21T09:30:00.000Z", "7"];
  expect(decodeCursor(cursor, LIST)).toEqual(done(position));
  expect(
    decodeCursor(cursor, {
      ...LIST,
      query: { page_cursor: "x", limit: 3, wait_millis: 5, nickname: "a", other: undefined },
    }),
  ).toEqual(done(position));
  expect(decodeCursor(cursor, { ...LIST, customerId: "c-2" })).toEqual(reject("other_list"));
  expect(decodeCursor(cursor, { ...LIST, path: "/v2/others" })).toEqual(reject("other_list"));
  expect(decodeCursor(cursor, { ...LIST, query: { nickname: "b" } })).toEqual(reject("other_list"));
  expect(decodeCursor(cursor, { ...LIST, query: { nickname: ["a"] } })).toEqual(reject("other_list"));
  const ofTheNextVersion = JSON.parse(Buffer.from(cursor, "base64url").toString());
  ofTheNextVersion[0] = 2;
  expect(decodeCursor(Buffer.from(JSON.stringify(ofTheNextVersion)).toString("base64url"), LIST)).toEqual(
    reject("unreadable"),
  );
});
