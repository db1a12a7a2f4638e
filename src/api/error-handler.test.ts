/** The responses when the database fails: a real server that breaks off its statements. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type TestDatabase, testDatabase } from "../../test/support/database.ts";
import { ask, problem, startToyApi, type ToyApi } from "../../test/support/http/toy-api.ts";
import { OutcomeUnknown, type Queryable } from "../postgres/database.ts";
import type { Api } from "./server.ts";

let testing: TestDatabase;
let toy: ToyApi;
beforeAll(async () => {
  testing = await testDatabase();
  toy = await startToyApi((api) => {
    readingRoutes(api);
    unknownOutcomes(api);
  });
});
afterAll(async () => {
  await toy.close();
  await testing.close();
});

function readingRoutes(api: Api): void {
  const read = (path: string, work: (transaction: Queryable) => Promise<unknown>) =>
    api.get(path, { config: { scope: "public" }, schema: { hide: true } }, () => testing.database.transaction(work));
  read("/v2/slow", async (transaction) => {
    await transaction.rows("set local statement_timeout = 20");
    return transaction.rows("select pg_sleep(60)");
  });
  read("/v2/locked", async (transaction) => {
    await transaction.rows("set local lock_timeout = 20");
    return transaction.rows("select id from profile");
  });
  read("/v2/mistaken", (transaction) => transaction.rows("select 1 / 0"));
}

function unknownOutcomes(api: Api): void {
  const route = { config: { scope: "public" as const }, schema: { hide: true } };
  const fail = async () => {
    throw new OutcomeUnknown(new Error("the connection broke behind the commit"));
  };
  api.get("/v2/unknown", route, fail);
  api.post("/v2/unknown", route, fail);
  api.put("/v2/unknown", route, fail);
  api.delete("/v2/unknown", route, fail);
}

const unavailable = (detail: string) =>
  problem(503, "Service Unavailable", detail, { headers: { "retry-after": "1" } });

test.each(["POST", "PUT", "DELETE"])(
  "a %s whose commit may have been done says so, and a GET that nothing was read",
  async (method) => {
    expect(await ask(toy, "/v2/unknown", { method, token: null })).toEqual(
      unavailable("it is not known whether this was done: check the outcome before you retry"),
    );
    expect(await ask(toy, "/v2/unknown")).toEqual(unavailable("the database cannot be reached"));
  },
);

const TOOK_TOO_LONG = problem(503, "Service Unavailable", "the database took too long", {
  headers: { "retry-after": "1" },
});

test("a statement that took too long is 503, to be tried again", async () => {
  expect(await ask(toy, "/v2/slow")).toEqual(TOOK_TOO_LONG);
  expect(toy.logged.at(-1)).toMatchObject({ level: 40, msg: "request failed: fault", err: { code: "57014" } });
});

test("a lock that was not to be had in time is 503, to be tried again", async () => {
  await testing.owner.transaction(async (holder) => {
    await holder.rows("lock table profile in access exclusive mode");
    expect(await ask(toy, "/v2/locked")).toEqual(TOOK_TOO_LONG);
  });
  expect(toy.logged.at(-1)).toMatchObject({ level: 40, msg: "request failed: fault", err: { code: "55P03" } });
});

test("any other database error is a bug, and its text is not revealed", async () => {
  expect(await ask(toy, "/v2/mistaken")).toEqual(
    problem(500, "Internal Server Error", "internal error: quote the request_id when you report it"),
  );
  expect(toy.logged.at(-1)).toMatchObject({ level: 50, msg: "request failed: bug", err: { code: "22012" } });
});
