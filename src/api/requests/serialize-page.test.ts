import type { FastifyReply } from "fastify";
import { Type } from "typebox";
import { afterEach, expect, test } from "vitest";
import { ask, startToyApi, type ToyApi } from "../../../test/support/http/toy-api.ts";
import { ListOf } from "./schemas.ts";
import { serializePage } from "./serialize-page.ts";

let toy: ToyApi;
afterEach(() => toy.close());

const itemsOf = (count: number) => Array.from({ length: count }, (_, i) => ({ name: `€ "${i}" ],[` }));

/** A toy with a list of as many items as are asked for. `turns` counts turns of the event loop while one is answered. */
async function start(): Promise<{ turns: () => number }> {
  let turns = 0;
  toy = await startToyApi((api) => {
    const schema = {
      hide: true,
      params: Type.Object({ count: Type.String() }),
      response: { 200: ListOf(Type.Object({ name: Type.String() })) },
    };
    api.get("/list/:count", { config: { scope: "public" }, schema }, async (request, reply) => {
      const count = Number((request.params as { readonly count: string }).count);
      let isOver = false;
      reply.raw.once("close", () => {
        isOver = true;
      });
      const turn = (): void => {
        turns += 1;
        if (!isOver) setImmediate(turn);
      };
      turns = 0;
      setImmediate(turn);
      return { items: itemsOf(count), next_page_cursor: `after "${count}"` };
    });
  });
  return { turns: () => turns };
}

test("a long page is the same as a short one, but for its length", async () => {
  await start();
  const [short, ...long] = await Promise.all([25, 26, 50, 51, 1_000].map((count) => ask(toy, `/list/${count}`)));
  for (const [at, count] of [26, 50, 51, 1_000].entries()) {
    const { status, headers, body } = long[at] ?? {};
    expect([status, headers?.["content-type"]]).toEqual([short?.status, short?.headers["content-type"]]);
    expect(body).toEqual({ items: itemsOf(count), next_page_cursor: `after "${count}"` });
  }
});

test("while a long page is serialised other work has its turn", async () => {
  const { turns } = await start();
  await ask(toy, "/list/1000");
  expect(turns()).toBeGreaterThanOrEqual(40);
});

test("so it is for a list of another name, and what is no page is left to the route", async () => {
  let serialized = 0;
  const serialize = (body: unknown): string => {
    serialized += 1;
    return JSON.stringify(body);
  };
  const reply = { raw: {}, getSerializationFunction: () => serialize, type: () => reply } as unknown as FastifyReply;
  const events = { first_number: 7, events: itemsOf(60), next_page_cursor: "c" };
  expect(JSON.parse(String(await serializePage(events, reply)))).toEqual(events);
  // The page without events, and its slices.
  expect(serialized).toBe(4);
  for (const other of [undefined, null, "text", Buffer.from("a"), { asks: [], bids: [] }, { one: 1 }])
    expect(await serializePage(other, reply)).toBe(other);
  expect(serialized).toBe(4);
});

test("a long page is serialised no further once its caller has closed the connection", async () => {
  await start();
  const raw = { destroyed: false };
  let serialized = 0;
  const serialize = (body: unknown): string => {
    serialized += 1;
    raw.destroyed = serialized === 3;
    return JSON.stringify(body);
  };
  const reply = { raw, getSerializationFunction: () => serialize, type: () => reply } as unknown as FastifyReply;
  const page = serializePage({ items: itemsOf(1_000), next_page_cursor: "" }, reply);
  await expect(page).rejects.toMatchObject({ status: 503 });
  // The page without items, and two of its forty slices.
  expect(serialized).toBe(3);
});
