import { afterEach, expect, test } from "vitest";
import { ask, COMMON_HEADERS, problem, startToyApi, type ToyApi } from "../../../test/support/toy-api.ts";
import { healthRoutes } from "./health.ts";

let toy: ToyApi;
afterEach(() => toy.close());

const JSON_ANSWER = { ...COMMON_HEADERS, "content-type": "application/json; charset=utf-8", "x-request-id": "r-1" };

test("a process that serves is alive, and ready when all checks hold", async () => {
  toy = await startToyApi((api) => healthRoutes(api, { database: async () => true, migrations: async () => true }));
  const alive = await ask(toy, "/healthz", { token: null });
  expect(alive).toEqual({ status: 200, headers: JSON_ANSWER, body: { status: "alive" } });
  const ready = await ask(toy, "/readyz", { token: null });
  expect(ready).toEqual({ status: 200, headers: JSON_ANSWER, body: { status: "ready" } });
});

test("readiness names every check that does not hold, one that throws included", async () => {
  toy = await startToyApi((api) =>
    healthRoutes(api, {
      database: async () => {
        throw new Error("away");
      },
      lane: async () => true,
      migrations: async () => false,
    }),
  );
  expect(await ask(toy, "/readyz", { token: null })).toEqual(
    problem(503, "Service Unavailable", "not ready: database, migrations", { headers: { "retry-after": "1" } }),
  );
  expect((await ask(toy, "/healthz")).status).toBe(200);
});
